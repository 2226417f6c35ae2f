# SPDX-License-Identifier: GPL-2.0-only
"""Other tools that trace, in the same run. Tools that are not installed are skipped."""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import machine
from harness import Gate, Skip

READY_S, END_S = 100, 60


def bcc_headers(gate: Gate) -> None:
    """bcc finds the kernel's headers through two links, which may have been left behind."""
    release = os.uname().release
    modules, headers = Path("/lib/modules") / release, Path("/usr/src/linux-headers-" + release)
    if (modules / "build").exists() or not headers.is_dir():
        return
    common = re.search(r"^include (.*)/Makefile$", (headers / "Makefile").read_text(encoding="utf-8"), re.M)
    # an overlay cannot be written to another, such as the guest's root
    over = Path(machine.run("mktemp", "-d", "/tmp/headers.XXXXXX").strip())
    gate.kept.callback(shutil.rmtree, over, ignore_errors=True)
    for name in ("upper", "work"):
        (over / name).mkdir()
    machine.run("mount", "-t", "overlay", "-o", f"lowerdir={modules},upperdir={over}/upper,workdir={over}/work",
                "none", str(modules))
    gate.kept.callback(machine.unmount, modules)
    (modules / "build").symlink_to(headers)
    (modules / "source").symlink_to(common[1] if common else headers)


class Peer:
    """Another tool that traces until it is interrupted, in a directory of its own. @ready is in the tool's output when
    its probes are live; None: the tool prints nothing, and is ready when it has programs and is idle."""

    def __init__(self, gate: Gate, *command: str, ready: str | None = "^(Tracing|Hit Ctrl)") -> None:
        if not shutil.which(command[0]):
            raise Skip(f"{command[0]} is not installed")
        self.command = command
        self.ready = ready
        self.cpu: list[str] = []
        self.dir = machine.scratch(gate.kept) / "peer"
        self.dir.mkdir(exist_ok=True)

    def __enter__(self) -> "Peer":
        with open(self.dir / "out", "w", encoding="utf-8") as out:
            # what they say is wanted line by line
            self.proc = subprocess.Popen(["env", "PYTHONUNBUFFERED=1", "stdbuf", "-oL", *self.command],
                                         stdout=out, stderr=subprocess.STDOUT,
                                         stdin=subprocess.DEVNULL, cwd=self.dir)
        end = time.monotonic() + READY_S
        while not self.is_ready():
            if self.proc.poll() is not None or time.monotonic() > end:
                self.proc.kill()
                self.proc.wait()
                raise Skip(f"{self.command[0]} does not start here: {self.said()[-200:].strip()}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self.proc.send_signal(signal.SIGINT)
        try:
            self.proc.wait(END_S)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()

    def is_ready(self) -> bool:
        if self.ready is not None:
            return re.search(self.ready, self.said(), re.M) is not None
        proc, before = Path("/proc", str(self.proc.pid)), self.cpu
        self.cpu = (proc / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[:13]
        return self.cpu[0] == "S" and self.cpu == before and \
            any(os.readlink(fd).startswith("anon_inode:bpf") for fd in (proc / "fd").iterdir())

    def said(self) -> str:
        return (self.dir / "out").read_text(encoding="utf-8", errors="replace")
