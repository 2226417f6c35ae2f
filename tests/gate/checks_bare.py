# SPDX-License-Identifier: GPL-2.0-only
"""The static program where there is nothing else: a root with busybox, and the kernel's own files."""
from __future__ import annotations

import os
import pty
import shutil
import subprocess
import time
from pathlib import Path

import machine
import tool
from harness import Gate, Skip, patience, suite
from tool import objects

STATIC = tool.ROOT / "build" / f"iostrata-static-{os.uname().machine}"
LIMIT_BYTES = 7_400_000
WRITES = 101
WORK = ("/busybox", "dd", "if=/dev/zero", "of=/file", "bs=4k", f"count={WRITES}")
ENTER = """
cd "$1"; shift
mount -t proc proc proc; mount --rbind /sys sys; mount --bind /dev dev
exec chroot . /iostrata "$@"
"""


def make_root(gate: Gate) -> Path:
    busybox = shutil.which("busybox")
    if not busybox:
        raise Skip("there is no busybox")
    root = machine.scratch(gate.kept) / "bare"
    for name in ("proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "busybox")
    shutil.copy(STATIC, root / "iostrata")
    return root


def inside(root: Path, *args: str) -> list[str]:
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", str(root), *args]


def run(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(inside(root, *args), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60 * patience(), check=False)


def writes(text: str) -> int:
    ops = [row for one in objects(text) for row in one["ops"]]
    return sum(row["count"] for row in ops if row["op"] == "write")


def screen(root: Path, term: str) -> bytes:
    """The output of `iostrata top` on a terminal of type @term, until top ends after the key press "q"."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(inside(root, "top"), stdin=theirs, stdout=theirs, stderr=theirs,
                          env={"TERM": term, "PATH": os.environ["PATH"]}) as top:
        os.close(theirs)
        seen, end = b"", time.monotonic() + 40
        try:
            while time.monotonic() < end and top.poll() is None:
                seen += os.read(ours, 4096)
                if b"PID" in seen:
                    os.write(ours, b"q")
        except OSError:  # nobody has it open any more
            pass
        finally:
            if top.poll() is None and time.monotonic() >= end:
                top.kill()
            os.close(ours)
    return seen


@suite("bare", 240)
def bare(gate: Gate) -> None:
    if not STATIC.exists():
        raise Skip(f"no {STATIC.name} (make static)")
    gate.check("size", STATIC.stat().st_size < LIMIT_BYTES, bytes=STATIC.stat().st_size)
    root = make_root(gate)
    doctor = run(root, "doctor")
    gate.check("doctor", doctor.returncode == 0 and doctor.stdout.startswith("what "),
               code=doctor.returncode, lines=doctor.stdout.count("\n"))
    live = run(root, "breakdown", "-j", "--", *WORK)
    gate.check("breakdown", live.returncode == 0 and writes(live.stdout) == WRITES,
               code=live.returncode, writes=writes(live.stdout), wrote=WRITES)
    top = run(root, "top", "-b", "-C", "0.5", "2")
    gate.check("top", top.returncode == 0 and top.stdout.count("PID") == 2, code=top.returncode,
               tables=top.stdout.count("PID"))
    record = run(root, "record", "-o", "/trace.ios", "--", *WORK)
    report = run(root, "report", "-j", "/trace.ios")
    gate.check("record", record.returncode == 0 and writes(report.stdout) == WRITES,
               code=record.returncode, writes=writes(report.stdout), wrote=WRITES)
    export = run(root, "export", "/trace.ios", "--to", "otf2", "-o", "/trace")
    gate.check("export", export.returncode == 0 and (root / "trace/traces.otf2").exists(),
               code=export.returncode)
    terms = ("linux", "xterm-256color", "tmux-256color")
    for term in terms if gate.native else terms[:1]:  # a guest has nothing to add to the others
        seen = screen(root, term)
        gate.check(f"screen.{term}", b"PID" in seen and b"\x1b[H" in seen, bytes=len(seen))
