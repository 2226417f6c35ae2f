# SPDX-License-Identifier: GPL-2.0-only
"""The abilities of this machine, and disks, file systems and cgroups made for one suite or for the run.

Everything that is made is put onto an ExitStack in the same step, so it goes away on every exit. A lacking ability
raises Skip with the reason.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable

import leftovers
from harness import Broken, Skip, patience

CONFIGFS = Path("/sys/kernel/config")
_scratch: list[Path] = []
_kept: list[ExitStack] = []  # of the run


def run(*argv: str, timeout: float = 60) -> str:
    """Runs a program to its end; returns its output. A failed program raises RuntimeError with its output."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout * patience(), check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def put(path: Path | str, value: object) -> None:
    with open(path, "w", encoding="ascii") as f:
        f.write(f"{value}\n")


def get(path: Path | str) -> str:
    return Path(path).read_text(encoding="ascii", errors="replace").strip()


def call_ns() -> float:
    """How long a system call takes here that does nothing."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter_ns()
        for _ in range(1000):
            os.getppid()
        best = min(best, (time.perf_counter_ns() - start) / 1000)
    return best


def slowness() -> float:
    """How much longer a system call takes here than on a computer: about 1 there, 20 if emulated."""
    return call_ns() / 150


def release() -> tuple[int, ...]:
    """The kernel's, such as (6, 12)."""
    return tuple(map(int, os.uname().release.partition("-")[0].split(".")[:2]))


def knows_paths() -> bool:
    """Whether calls by path have a file, as plan_finds_mappings() has it."""
    return release() >= (5, 17) and "-rt-" not in os.uname().release


def wait_for(what: Callable[[], bool], seconds: float = 5) -> bool:
    """Waits for @what, longer on a busy machine; returns whether @what became true."""
    begin = time.monotonic()
    while not what():
        if time.monotonic() - begin > seconds * patience():
            return False
        time.sleep(0.01)
    return True


def wait_until(what: Callable[[], bool], seconds: float = 5) -> None:
    """Waits for @what, at most @seconds; raises if this never becomes true."""
    if not wait_for(what, seconds):
        raise Broken(f"waited in vain for {seconds} s")


def note(stack: ExitStack, path: Path | str, old: str) -> None:
    """Notes how to undo a change of the machine, in case this process is killed: see leftovers.py."""
    if _scratch:
        leftovers.note(stack, _scratch[0], path, old)


def setting(stack: ExitStack, path: Path | str, value: object, old: str | None = None) -> None:
    """Changes a setting of the machine until @stack is undone."""
    old = get(path) if old is None else old
    note(stack, path, old)
    put(path, value)
    stack.callback(put, path, old)


def _scratch_remove(where: Path) -> None:
    """Unless something is mounted there yet: then the next gate does it, which finds whose it was."""
    if not leftovers.mounts_below(where):
        shutil.rmtree(where, ignore_errors=True)


def scratch(kept: ExitStack) -> Path:
    """A directory on a disk (not a tmpfs where there is a choice), gone at the end of the run."""
    if not _scratch:
        base = "/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp"
        made = Path(run("mktemp", "-d", f"{base}/iostrata-gate.XXXXXX").strip())
        kept.callback(_scratch.clear)
        _kept[:] = [kept]
        kept.callback(_scratch_remove, made)
        leftovers.mark(made)
        _scratch.append(made)
    return _scratch[0]


def need_module(stack: ExitStack, name: str, *params: str) -> None:
    """Loads a module, if it is one and not there yet, and unloads it again."""
    if Path(f"/sys/module/{name.replace('-', '_')}").exists() and not params:
        return
    done = subprocess.run(["modprobe", name, *params], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skip(f"no {name}: {done.stderr or done.stdout}")
    note(stack, name, leftovers.UNLOAD)
    stack.callback(unload, name)


def unload(name: str) -> None:
    """Unloads a module, and modules that only this one needed, if nobody uses it."""
    subprocess.run(["modprobe", "-r", name], capture_output=True, check=False)


def need_fs(stack: ExitStack, fs: str) -> None:
    if not shutil.which(f"mkfs.{fs}"):
        raise Skip(f"no mkfs.{fs}")
    if f"\t{fs}\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        need_module(stack, fs)


class Disk:
    """A block device by its kernel name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = f"/dev/{name}"
        self.sys = Path("/sys/block", name)

    def set(self, attribute: str, value: object) -> None:
        put(self.sys / "queue" / attribute, value)

    def scheduler(self, name: str) -> None:
        if name not in get(self.sys / "queue/scheduler"):
            need_module(_kept[0], name)
        if name not in get(self.sys / "queue/scheduler"):
            raise Skip(f"{self.name} has no scheduler {name}")
        self.set("scheduler", name)


def _settle(disk: Disk) -> Disk:
    if not wait_for(lambda: os.path.exists(disk.path)):
        raise RuntimeError(f"no {disk.path}")
    return disk


def loop(stack: ExitStack, kept: ExitStack, mib: int, where: Path | None = None) -> Disk:
    need_module(kept, "loop")
    image = (where or scratch(kept)) / f"loop.{time.monotonic_ns()}"
    with open(image, "wb") as f:
        f.truncate(mib << 20)
    stack.callback(image.unlink)
    path = run("losetup", "--find", "--show", str(image)).strip()
    stack.callback(run, "losetup", "-d", path)
    return Disk(path.removeprefix("/dev/"))


def _null_blk_remove(where: Path) -> None:
    with contextlib.suppress(OSError):
        put(where / "power", 0)
    where.rmdir()


def null_blk(stack: ExitStack, kept: ExitStack, **settings: int) -> Disk:
    """A null_blk disk with @settings; by default 64 MiB, one queue, blocks of 512 bytes."""
    need_module(kept, "null_blk", "nr_devices=0")
    if not os.path.ismount(CONFIGFS):
        run("mount", "-t", "configfs", "config", str(CONFIGFS))
        kept.callback(unmount, CONFIGFS)
    n = next(n for n in range(64) if not os.path.exists(f"/sys/block/nullb{n}"))
    where = CONFIGFS / "nullb" / f"nullb{n}"
    note(stack, where, leftovers.RMDIR)
    where.mkdir()
    stack.callback(_null_blk_remove, where)
    for name, value in ({"size": 64, "blocksize": 512, "submit_queues": 1} | settings).items():
        if not (where / name).exists():
            raise Skip(f"null_blk has no {name}")
        put(where / name, value)
    put(where / "power", 1)
    if get(where / "queue_mode") != str(settings.get("queue_mode", 2)):
        raise Skip(f"null_blk has no queue_mode {settings['queue_mode']} any more")
    return _settle(Disk(f"nullb{get(where / 'index')}"))


def scsi_debug(stack: ExitStack, kept: ExitStack, **params: int) -> Disk:
    # stays, or the next host has the number of the first: 7.2 keeps something of that
    need_module(kept, "sd_mod")
    if Path("/sys/module/scsi_debug").exists():
        raise Skip("somebody else has loaded scsi_debug")
    given = {"dev_size_mb": 64, "delay": 0} | params
    need_module(stack, "scsi_debug", *(f"{k}={v}" for k, v in given.items()))
    found: list[Path] = []

    def look() -> bool:
        found[:] = Path("/sys/bus/pseudo/drivers/scsi_debug").glob("adapter*/host*/target*/*/block/*")
        return bool(found) and os.path.exists(f"/dev/{found[0].name}")

    if not wait_for(look, 10):
        raise RuntimeError("scsi_debug made no disk")
    return Disk(found[0].name)


def dm(stack: ExitStack, kept: ExitStack, module: str, name: str, table: str) -> Disk:
    """The device mapper's device for @table, with the target of @module."""
    need_module(kept, module)
    name = f"iostrata-gate-{os.getpid()}-{name}"
    run("dmsetup", "create", "--noudevsync", "--noudevrules", name, "--table", table)
    stack.callback(run, "dmsetup", "remove", "--noudevsync", "--noudevrules", name)
    minor = run("dmsetup", "info", "-c", "--noheadings", "-o", "minor", name).strip()
    return _settle(Disk(f"dm-{minor}"))


def dm_delay(stack: ExitStack, kept: ExitStack, below: Disk, ms: int) -> Disk:
    return dm(stack, kept, "dm_delay", below.name,
              f"0 {get(below.sys / 'size')} delay {below.path} 0 {ms}")


def dm_linear(stack: ExitStack, kept: ExitStack, disks: list[Disk]) -> Disk:
    """@disks one behind the other."""
    table, start = [], 0
    for disk in disks:
        size = int(get(disk.sys / "size"))
        table.append(f"{start} {size} linear {disk.path} 0")
        start += size
    return dm(stack, kept, "dm_mod", disks[0].name, "\n".join(table))


def zram(stack: ExitStack, kept: ExitStack, mib: int) -> Disk:
    control = Path("/sys/class/zram-control")
    if not control.exists():
        need_module(kept, "zram", "num_devices=1")
    number = get(control / "hot_add")
    note(stack, control / "hot_remove", number)
    stack.callback(put, control / "hot_remove", number)
    disk = Disk(f"zram{number}")
    put(disk.sys / "disksize", f"{mib}M")
    stack.callback(put, disk.sys / "reset", 1)
    return _settle(disk)


MKFS = {
    "ext4": ["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["-q", "-f", "-K"],
    "btrfs": ["-q", "-f", "-K"],
}


def unmount(point: Path) -> None:
    """Unmounts @point. The kernel closes files that a process had in io_uring only after the process has ended, and
    other programs of this machine look at mounts, so this is tried again. A mount that stays busy is unmounted when its
    last user is gone."""
    if not wait_for(lambda: subprocess.run(["umount", "-q", point], check=False,
                                           stderr=subprocess.DEVNULL).returncode == 0 or not point.is_mount(), 20):
        print(f"      {point} is busy: unmounted lazily", flush=True)
        run("umount", "--lazy", str(point))


def _quiet_ext4() -> str:
    """Options for it to do nothing by itself: it initializes tables, reads bitmaps ahead some seconds
    after the mount (since 5.13 unless told otherwise), and commits every five seconds."""
    return "noinit_itable,commit=600" + (",no_prefetch_block_bitmaps" if release() >= (5, 13) else "")


def _log_stays(stack: ExitStack) -> None:
    """Each half minute xfs writes to a log that is at rest, whether or not somebody counts just then:
    now every two hours."""
    setting(stack, "/proc/sys/fs/xfs/xfssyncd_centisecs", 720000)


def mounted(stack: ExitStack, kept: ExitStack, disk: Disk, fs: str, options: str = "noatime",
            make: tuple[str, ...] = ()) -> Path:
    """@disk with a new file system, mounted; nothing dirty is left behind. @make: more options of mkfs."""
    need_fs(kept, fs)
    if fs == "xfs":
        _log_stays(stack)
    if fs == "ext4":
        options = f"{_quiet_ext4()},{options}"
    run(f"mkfs.{fs}", *MKFS[fs], *make, disk.path)
    point = Path(run("mktemp", "-d", str(scratch(kept) / "mnt.XXXXXX")).strip())
    stack.callback(point.rmdir)
    run("mount", "-t", fs, "-o", options, disk.path, str(point))
    stack.callback(unmount, point)
    os.sync()
    return point


def overlay(stack: ExitStack, kept: ExitStack, below: Path) -> Path:
    """An overlayfs whose upper and lower layers are in @below."""
    if "\toverlay\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        need_module(kept, "overlay")
    dirs = {name: below / name for name in ("lower", "upper", "work", "merged")}
    for made in dirs.values():
        made.mkdir()
        stack.callback(shutil.rmtree, made, ignore_errors=True)
    run("mount", "-t", "overlay", "overlay", "-o",
        f"lowerdir={dirs['lower']},upperdir={dirs['upper']},workdir={dirs['work']}",
        str(dirs["merged"]))
    stack.callback(unmount, dirs["merged"])
    return dirs["merged"]


def _controllers(stack: ExitStack, group: Path, *names: str) -> None:
    """Enables controllers of cgroup v2 below @group, until @stack is undone."""
    control = group / "cgroup.subtree_control"
    for name in names:
        if name not in get(control).split():
            setting(stack, control, f"+{name}", f"-{name}")


def cpu_quota(stack: ExitStack, percent: int) -> Path:
    """The file to write a pid into, of a new cgroup that gets @percent of one CPU."""
    v2, v1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/cpu")
    name = f"iostrata-gate-{os.getpid()}"
    if (v2 / "cgroup.controllers").exists():
        if "cpu" not in get(v2 / "cgroup.controllers").split():
            raise Skip("cgroup v2 has no cpu controller")
        _controllers(stack, v2, "cpu")
        group = v2 / name
        group.mkdir()
        stack.callback(_cgroup_remove, group)
        put(group / "cpu.max", f"{percent * 1000} 100000")
    elif (v1 / "cpu.cfs_quota_us").exists():
        group = v1 / name
        group.mkdir()
        stack.callback(_cgroup_remove, group)
        put(group / "cpu.cfs_period_us", 100000)
        put(group / "cpu.cfs_quota_us", percent * 1000)
    else:
        raise Skip("no cgroup cpu controller")
    return group / "cgroup.procs"


def cgroup(stack: ExitStack, name: str) -> Path:
    """A new cgroup (v2), with as many above it as @name has slashes; it is left empty by whoever uses
    it."""
    found = run("findmnt", "-n", "-t", "cgroup2", "-o", "TARGET").split() if \
        "cgroup2" in Path("/proc/self/mounts").read_text(encoding="ascii", errors="replace") else []
    root = Path(found[0] if found else run("mktemp", "-d", f"{_scratch[0]}/cgroup.XXXXXX").strip())
    if not found:
        run("mount", "-t", "cgroup2", "none", str(root))
        stack.callback(root.rmdir)
        stack.callback(unmount, root)
    group = root / f"iostrata-gate-{os.getpid()}"
    for part in ["", *name.split("/")]:
        group = group / part
        if not group.exists():
            group.mkdir()
            stack.callback(_cgroup_remove, group)
    return group


def few_ios(stack: ExitStack, disks: list[Disk], op: str, per_second: int) -> Path:
    """A new cgroup, v2 if that has the io controller, that may "read" from each of @disks, or "write", so often."""
    v2, v1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/blkio")
    name = f"iostrata-gate-{os.getpid()}"
    if (v2 / "cgroup.controllers").exists():
        if "io" not in get(v2 / "cgroup.controllers").split():
            raise Skip("cgroup v2 has no io controller")
        # with the memory, what is written back is of the cgroup that wrote it
        memory = ["memory"] * ("memory" in get(v2 / "cgroup.controllers").split())
        _controllers(stack, v2, "io", *memory)
        root, file, limit = v2, "io.max", f"{op[0]}iops={per_second}"
    else:
        root, file, limit = v1, f"blkio.throttle.{op}_iops_device", str(per_second)
    if not root.exists():
        raise Skip("no cgroup io controller")
    group = root / name
    group.mkdir()
    stack.callback(_cgroup_remove, group)
    if not (group / file).exists():
        raise Skip(f"no {file}")
    for disk in disks:
        put(group / file, f"{get(disk.sys / 'dev')} {limit}")
    return group


def _cgroup_remove(group: Path) -> None:
    def removed() -> bool:
        try:
            group.rmdir()
        except OSError:
            return False
        return True

    wait_for(removed)
