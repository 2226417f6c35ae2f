# SPDX-License-Identifier: GPL-2.0-only
"""Finds and removes everything that a killed gate left on this machine.

All that a gate mounts, or attaches to loop devices, is in its scratch directory, which has its pid;
so have the names of its dm devices and cgroups. Settings that it changes, directories outside, disks
of zram and modules that it loads are noted there before (undo.N), for as long as they are to be undone.
"""
from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

BASES = (Path("/var/tmp"), Path("/tmp"))
RMDIR, UNLOAD = "rmdir", "modprobe -r"
_numbers = itertools.count()


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def mark(scratch: Path) -> None:
    """Notes in @scratch that this process owns the directory."""
    (scratch / "pid").write_text(f"{os.getpid()} {_boot()}\n", encoding="ascii")


def note(stack: ExitStack, scratch: Path, path: Path | str, old: str) -> None:
    """@path is to be set to @old, or removed (RMDIR, of a module UNLOAD), until @stack is undone. The caller puts the
    undoing onto @stack afterwards."""
    undo = scratch / f"undo.{next(_numbers)}"
    undo.write_text(f"{path}\n{old}", encoding="ascii")
    stack.callback(undo.unlink)


def _runs(pid: str) -> bool:
    try:
        return b"gate" in Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return False


def _try(*argv: str) -> bool:
    return subprocess.run(argv, check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def _output(*argv: str) -> str:
    try:
        return subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL).stdout
    except FileNotFoundError:
        return ""


def mounts_below(where: Path) -> list[str]:
    """The last one first."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    points = [line.split()[4] for line in lines]
    return [p for p in reversed(points) if p.startswith(f"{where}/")]


def loops_below(where: Path) -> list[str]:
    pairs = (line.split(None, 1) for line in _output("losetup", "-n", "-O", "NAME,BACK-FILE").splitlines())
    return [name for name, *file in pairs if file and file[0].startswith(f"{where}/")]


def cgroups_of(pid: str) -> list[Path]:
    """The cgroups of a gate, inner ones first."""
    roots = _output("findmnt", "-n", "-r", "-t", "cgroup,cgroup2", "-o", "TARGET").split()
    tops = [Path(root, f"iostrata-gate-{pid}") for root in roots]
    return [Path(where) for top in tops if top.is_dir()
            for where, _, _ in os.walk(top, topdown=False)]


def _cgroup_end(group: Path) -> None:
    for name in (group / "cgroup.procs").read_text(encoding="ascii").split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(name), 9)
    for _ in range(100):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.01)


def _undo(file: Path) -> None:
    path, _, old = file.read_text(encoding="ascii").partition("\n")
    if old == UNLOAD:
        _try("modprobe", "-r", path)
        return
    with contextlib.suppress(OSError):
        if old != RMDIR:
            Path(path).write_text(old + "\n", encoding="ascii")
            return
        with contextlib.suppress(OSError):
            Path(path, "power").write_text("0\n", encoding="ascii")  # a null_blk disk
        os.rmdir(path)


def _end(scratch: Path, pid: str) -> None:
    for group in cgroups_of(pid):
        _cgroup_end(group)
    for point in mounts_below(scratch):
        _try("fsfreeze", "--unfreeze", point)
        if not _try("umount", "-q", point):
            _try("umount", "-q", "--lazy", point)
    for name in re.findall(rf"^(iostrata-gate-{pid}-\S+)", _output("dmsetup", "ls"), re.MULTILINE):
        _try("dmsetup", "remove", "--force", "--noudevsync", "--noudevrules", name)
    for loop in loops_below(scratch):
        _try("losetup", "-d", loop)
    for file in sorted(scratch.glob("undo.*"), key=lambda f: -int(f.suffix[1:])):
        _undo(file)
    shutil.rmtree(scratch, ignore_errors=True)


def sweep() -> list[Path]:
    """Removes everything that ended gates left; returns their scratch directories. A gate of another boot (or, in a
    guest, of the machine below) has left only its directory."""
    swept = []
    for scratch in (path for base in BASES for path in base.glob("iostrata-gate.*")):
        with contextlib.suppress(OSError, ValueError):
            pid, boot = (scratch / "pid").read_text(encoding="ascii").split()
            if boot != _boot():
                shutil.rmtree(scratch, ignore_errors=True)
            elif not _runs(pid):
                _end(scratch, pid)
                swept.append(scratch)
    return swept
