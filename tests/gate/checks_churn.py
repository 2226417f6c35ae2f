# SPDX-License-Identifier: GPL-2.0-only
"""A1 and A8 while the machine changes under the tool: processes killed in a call, a fork storm with
few pids, CPUs and modules that come and go; and what a killed tool leaves behind."""
from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import fileio
import machine
import maps
import oracles
from harness import Gate, Skip, suite
from machine import get, put
from oracles import Workload, classes_of
from tool import Trace, Traces

FORKS, KILLED = 499, 7
DETACHED_S = 15
PID_MAX = Path("/proc/sys/kernel/pid_max")
CPU1 = Path("/sys/devices/system/cpu/cpu1/online")


def few_pids(gate: Gate) -> int:
    """As few as the kernel allows; what is there already keeps its own."""
    old = get(PID_MAX)
    for few in (400, 1100, 2100):
        with contextlib.suppress(OSError):
            machine.setting(gate.stack, PID_MAX, few)
            return few
    raise Skip(f"pid_max cannot be lowered from {old}")


def storm(gate: Gate, file: str) -> None:
    forks = oracles.actor(gate.stack, "forks", file, str(FORKS))
    few = few_pids(gate) if not gate.native else 0
    with Traces({"rows": Trace("-T", "syscall", "--file", file, "--op", "read"),
                 "pids": Trace("-T", "syscall", "--file", file, "--op", "read", "--by", "pid")}) as traces:
        said = forks.go()
    for name, trace in traces.by_name.items():
        count, lost = trace.total("count"), trace.lost()
        gate.check(name, said["reads"] == FORKS == count and not lost["map_full"],
                   reads=said["reads"], counted=count, pid_max=few or "as it was",
                   highest_pid=said["highest_pid"], rows=len(trace.rows()), **lost)


@suite("churn.forks")
def fork_storm(gate: Gate) -> None:
    storm(gate, fileio.make_file(str(machine.scratch(gate.kept) / "forks"), 1))


@suite("churn.killed")
def killed_in_a_call(gate: Gate) -> None:
    """Each of those reads has ended, or is counted as begun only; none is lost without a word."""
    file = fileio.make_file(str(machine.scratch(gate.kept) / "die"), 1)
    die = oracles.actor(gate.stack, "die", file, str(KILLED))
    with Trace("-T", "syscall", "--all-files", "--comm", "gate-die") as trace:
        die.go()
    on_file = trace.total("count", op="read") - trace.total("count", op="read", fs="pipefs")
    on_pipe, lost = trace.total("count", op="read", fs="pipefs"), trace.lost()
    gate.check("before", on_file == 3 * KILLED, counted=on_file, wanted=3 * KILLED)
    gate.check("killed", on_pipe + lost["unmatched_start"] == KILLED, ended=on_pipe,
               errors=trace.total("errors", op="read", fs="pipefs"), killed=KILLED, **lost)


@suite("churn.crowd")
def crowd(gate: Gate) -> None:
    """More threads in a read at once than there are slots for their states, and than a preallocated map of
    other things has room for."""
    file = machine.scratch(gate.kept) / "crowd"
    os.mkfifo(file)
    gate.stack.callback(file.unlink)
    threads = oracles.actor(gate.stack, "crowd", str(file), "7001", source=oracles.ISSUER)
    with Trace("--op", "read", "--all-files", "--file", str(file)) as trace:
        reads = threads.go()["reads"]
    ours, lost = trace.total("count", op="read"), trace.lost()
    missed = lost["missed"]  # by the kernel, of whomever; 5.10 does once in some runs
    gate.check("reads", reads - missed <= ours <= reads and sum(lost.values()) == missed, reads=reads, ours=ours,
               **lost)


@suite("churn.cpu")
def cpu_comes_and_goes(gate: Gate) -> None:
    gate.not_native("a CPU that goes offline")
    if not CPU1.exists():
        raise Skip("no second CPU that can go offline")
    file = str(machine.scratch(gate.kept) / "cpu")
    w = Workload(gate.stack, file, {"pread": 101, "pwrite": 53, "stat": 11}, "-t", "4", "-d", "3")
    machine.setting(gate.stack, CPU1, 1)
    with Trace("-p", str(w.pid)) as trace:
        w.begin()
        for _ in range(2):
            put(CPU1, 0)
            time.sleep(0.2)
            put(CPU1, 1)
            time.sleep(0.2)
        w.end()
    oracles.compare_classes(gate, "counts", classes_of(trace), w.classes(), offline="2 times",
                            **trace.lost())


def unload(module: str) -> str:
    """ "" if it is gone, or why not."""
    done = subprocess.run(["rmmod", module], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


@suite("churn.module")
def module_goes(gate: Gate) -> None:
    """A file system's module goes away while its functions are probed: the kernel refuses, or the
    tool goes on and says that something is missing."""
    gate.not_native("unloading modules")
    if not Path("/lib/modules", os.uname().release, "kernel/fs/xfs").exists():
        raise Skip("xfs is no module here")
    with ExitStack() as inner:
        machine.need_fs(inner, "xfs")
        disk = machine.null_blk(inner, gate.kept, queue_mode=2, memory_backed=1, size=320)
        with ExitStack() as mount:
            point = machine.mounted(mount, gate.kept, disk, "xfs")
            w = Workload(mount, f"{point}/module", {"pread": 23, "pwrite": 101})
            trace = Trace("--by", "pid").start()
            gate.stack.callback(trace.kill)
            w.go()
        refused = unload("xfs")
        trace.stop()
    oracles.compare_classes(gate, "counts", classes_of(trace, key=str(w.pid)), w.classes(),
                            exit=trace.code)
    if refused:
        gate.check("refused", refused.endswith("is in use") and "unloaded" not in trace.stderr,
                   refused=refused, told=trace.stderr.strip()[-80:])
    else:
        gate.check("noticed", "'xfs' was unloaded" in trace.stderr, told=trace.stderr.strip()[-80:])
    gone = machine.wait_for(lambda: not Path("/sys/module/xfs").exists() or not unload("xfs"), DETACHED_S)
    gate.check("unloaded-after", gone, how="functions are detached behind the prompt")


def ids_of(pid: int) -> dict[str, set[int]]:
    """Programs, maps and links that a process holds."""
    ids: dict[str, set[int]] = {"prog": set(), "map": set(), "link": set()}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)", info.read_text(), re.MULTILINE):
            ids[kind].add(int(number))
    return ids


def still_there(ids: dict[str, set[int]]) -> dict[str, int]:
    return {kind: len({one["id"] for one in maps.listed(kind)} & mine) for kind, mine in ids.items()}


@suite("churn.kill-9")
def killed_tool(gate: Gate) -> None:
    """Programs, maps and links of a tool that could not clean up."""
    trace = Trace("--slowest", "10").start()
    ids = ids_of(trace.proc.pid)
    held = still_there(ids)
    trace.proc.send_signal(signal.SIGKILL)
    trace.kill()
    machine.wait_for(lambda: not any(still_there(ids).values()), 20)
    left = still_there(ids)
    gate.check("left", not any(left.values()) and held["prog"] > 5 and held["map"] > 5,
               **{f"{kind}s": f"{held[kind]}->{left[kind]}" for kind in ids})
    file = fileio.make_file(str(machine.scratch(gate.kept) / "again"), 1)
    with Trace("-T", "syscall", "--file", file) as again:
        fileio.read_at(file, fileio.spread(23, 4096, 1 << 20), 4096)
    gate.check("again", again.total("count", op="read") == 23, reads=again.total("count", op="read"))
