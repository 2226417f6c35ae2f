# SPDX-License-Identifier: GPL-2.0-only
"""A command inherits nothing from the tool: it has only what it would have without the tool."""
from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import machine
from harness import Gate, patience, suite
from tool import Trace, copy

# The aim is 0.3 s. On a machine that others use it may be more; detaching takes 1.5 s, and up to 4.
PROMPT_S, GONE_S = 0.75, 20
KERNEL = 3  # exit code: the kernel cannot do it

LIMITS = "ulimit -S -a; ulimit -H -a; ls /proc/self/fd; umask; cat /proc/self/oom_score_adj"


@suite("run.inherited")
def inherited(gate: Gate) -> None:
    """libbpf raises RLIMIT_MEMLOCK on kernels before 5.11."""
    said = machine.scratch(gate.kept) / "limits"
    alone = subprocess.run(["bash", "-c", LIMITS], capture_output=True, text=True, check=True,
                           stdin=subprocess.DEVNULL).stdout
    with Trace(command=["bash", "-c", f"({LIMITS}) >{said}"]) as trace:
        pass
    differ = set(alone.splitlines()) ^ set(said.read_text(encoding="utf-8").splitlines())
    gate.check("limits", not differ and trace.code == 0, differ="; ".join(sorted(differ)) or "none",
               limits=len(alone.splitlines()))


@suite("run.before-exec")
def before_exec(gate: Gate) -> None:
    """No operation before the command's exec is counted, on whatever file."""
    with Trace("-T", "syscall", "--all-files", "--by", "comm", command=["true"]) as trace:
        pass
    keys = {row["key"] for row in trace.rows()}
    gate.check("comms", keys == {"true"}, comms=",".join(sorted(map(str, keys))),
               operations=trace.total("count"))


def prompt_after(*argv: str) -> tuple[float, int]:
    """Seconds from the tool's last output until the tool has ended and nobody has its output open; its exit code."""
    with subprocess.Popen([copy(), *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as proc:
        assert proc.stdout
        last = time.monotonic()
        while os.read(proc.stdout.fileno(), 1 << 16):
            last = time.monotonic()
        code = proc.wait()
        return time.monotonic() - last, code


def tools() -> list[str]:
    """Processes of the gate's tool that have not ended."""
    found = []
    for exe in Path("/proc").glob("[0-9]*/exe"):
        try:
            found.append(os.readlink(exe))
        except OSError:
            continue  # it has ended, or is a kernel thread
    return [f for f in found if f == copy()]


@suite("run.prompt")
def prompt(gate: Gate) -> None:
    """The prompt is back soon after the result, and a little later nothing is left."""
    kept = str(machine.scratch(gate.kept) / "recording")
    commands = [["breakdown"], ["funcs", "vfs_read", "vfs_write", "vfs_open"]]
    if gate.native:  # no kernel takes longer for these than for all functions
        commands += [["breakdown", "-T", "vfs"], ["top", "-b"], ["record", "--force", "-o", kept]]
    for argv in commands:
        took, code = prompt_after(*argv, "-D", "0.3")
        gone = machine.wait_for(lambda: not tools(), GONE_S)
        name = ".".join(a.strip("-") for a in argv[:3 if argv[0] == "breakdown" else 1])
        if code == KERNEL:
            gate.skip(name, "functions cannot be probed here")
            continue
        gate.check(name, code == 0 and took <= PROMPT_S * patience() and gone, prompt_s=took, limit_s=PROMPT_S,
                   exit=code, gone=gone)
