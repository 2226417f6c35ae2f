# SPDX-License-Identifier: GPL-2.0-only
"""A9: everything at once. More threads than CPUs do every kind of operation while processes and
threads come and go; all is counted, all adds up (every-row, at the end), and nothing stays behind.
STORM_SECONDS in the environment says for how long."""
from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any, Iterator

import fileio
import machine
import oracles
from checks_churn import CPU1
from harness import Gate, Skip, suite
from machine import Disk
from maps import Maps, number
from oracles import CLASSES, Process
from places import place
from tool import Trace

SECONDS = int(os.environ.get("STORM_SECONDS") or 10)
RINGS, LATE = 211, 41
MS = 1_000_000


def ios_of(maps: Maps, disk: Disk) -> int:
    """Bios and requests of @disk that are not done."""
    key, dev = maps.member("io_state", "key"), maps.member("io_state", "dev")
    major, minor = map(int, machine.get(disk.sys / "dev").split(":"))
    all_ios = [value for _, value in maps.elements("ios")] + maps.variable("io_slots")
    return sum(1 for io in all_ios
               if number(io, key, 8) and number(io, dev, 4) == major << 20 | minor)


def dead_helpers(maps: Maps) -> int:
    return sum(not Path(f"/proc/{int.from_bytes(key[:4], 'little')}").exists()
               for key, _ in maps.elements("helpers"))


def async_left(maps: Maps) -> dict[str, int]:
    """Requests of io_uring and libaio that are not done, and bios of such."""
    if not maps.has("async_ops"):
        return {}
    task = maps.member("async_op", "task")
    return {"async_ops": sum(any(slot[task:task + 8]) for _, slot in maps.elements("async_ops")),
            "async_bios": len(maps.elements("async_bios"))}


def leftovers(trace: Trace, disk: Disk) -> dict[str, int]:
    """The elements that maps still have for threads, and for I/O, that no longer exist."""
    maps = Maps(trace.proc.pid)
    return {"helpers": dead_helpers(maps), "ios": ios_of(maps, disk),
            "threads": len(maps.elements("task_owners")),
            "overflown": len(maps.elements("tasks_overflown")), **async_left(maps)}


def compare_counts(gate: Gate, trace: Trace, said: dict[str, Any]) -> None:
    """Exactly what was begun, but for calls of threads that were killed: one that had begun may have
    ended unseen by its thread, or be counted as lost, or not have come to the kernel any more. In
    guests nothing else is lost, but for hits that were refused, maybe of others; a kernel under some
    hypervisors leaves out tracepoints' hits for a while after they are attached, for all tools
    alike, and then requests are lost, too."""
    lost = trace.lost()
    counted = {op: trace.total("count", op=op) for op in CLASSES}
    wrong = {op: f"{said[op]['ended']}<={n}<={said[op]['begun']}" for op, n in counted.items()
             if not said[op]["ended"] <= n <= said[op]["begun"]}
    begun, ended = (sum(said[op][what] for op in CLASSES) for what in ("begun", "ended"))
    total = sum(counted.values()) + lost["unmatched_start"]
    gate.check("counts", not wrong and ended <= total <= begun + lost["missed"] and ended > 1000 and
               said["moves"] > 10,
               counted=sum(counted.values()), ended=ended, begun=begun, processes=said["processes"],
               threads=said["threads"], moves=said["moves"], wrong=str(wrong or "none"))
    gate.check("lost", not lost["map_full"] and not lost["ring"] and not lost["unmatched_end"], **lost)


@contextlib.contextmanager
def cpu_comes_and_goes(gate: Gate) -> Iterator[list[int]]:
    """In guests, takes a CPU away and gives it back, again and again. The list yielded has one element for each
    removal."""
    went: list[int] = []
    over = threading.Event()

    def toggle() -> None:
        while not over.wait(0.5):
            machine.put(CPU1, 0)
            went.append(1)
            over.wait(0.5)
            machine.put(CPU1, 1)

    if gate.native or not CPU1.exists():
        yield went
        return
    machine.setting(gate.stack, CPU1, 1)
    toggling = threading.Thread(target=toggle)
    toggling.start()
    try:
        yield went
    finally:
        over.set()
        toggling.join()


@suite("A9.storm", SECONDS + 170)
def storm(gate: Gate) -> None:
    slow = machine.slowness() > 5
    there = place(gate, "ext4")
    work = Process(gate.stack, oracles.program(oracles.STORM), str(there.point), str(SECONDS),
                   "4" if slow else "8", "6" if slow else "12")
    with Trace("--comm", "storm") as trace:
        before = leftovers(trace, there.disk)
        with cpu_comes_and_goes(gate) as went:
            said = work.go()
        os.sync()
        machine.wait_for(lambda: not any(leftovers(trace, there.disk).values()), 20)
        after = leftovers(trace, there.disk)
    figures = {what: f"{before[what]}->{n}" for what, n in after.items()}
    untold = after.pop("ios") if gate.native else 0
    gate.check("empty", not any(after.values()), **figures)
    if untold:
        gate.skip("empty.ios", f"{untold} requests whose end no program was called for: guests leave none")
    compare_counts(gate, trace, said)
    if CPU1.exists() and not gate.native:
        gate.check("cpus", len(went) >= 2, went_offline=len(went))


@suite("A9.helpers")
def helpers_end(gate: Gate) -> None:
    """Kernel threads that came and went, more than the map has room for natively."""
    file = fileio.make_file(str(machine.scratch(gate.kept) / "workers"), 1)
    rings = RINGS if machine.slowness() > 5 else 4 * RINGS
    work = Process(gate.stack, oracles.program(oracles.STORM), "workers", file, str(rings))
    with Trace("--file", file) as trace:
        said = work.go()
        machine.wait_for(lambda: not dead_helpers(Maps(trace.proc.pid)))
        maps = Maps(trace.proc.pid)
        dead, there = dead_helpers(maps), len(maps.elements("helpers"))
    gate.check("gone", not dead and there and not trace.lost()["map_full"], rings=said["good"],
               dead=dead, helpers=there, **trace.lost())


@suite("A7.late-waking")
def woken_late(gate: Gate) -> None:
    """A thread that completed its own bio long before wakes another: zram's bios are done when they have been
    submitted. The woken thread did not wait for this completion."""
    disk = machine.zram(gate.stack, gate.kept, 16)
    late = oracles.actor(gate.stack, "late", disk.path, str(LATE))
    with Trace("--all-files", "--comm", "gate-late") as trace:
        said = late.go()
    asleep, complete = (trace.strata(op="read").get(s, 0) for s in ("sleep", "complete"))
    if said["unswitched"] < LATE // 4:
        raise Skip(f"of {LATE} rounds only {said['unswitched']} without a switch")
    gate.check("complete", complete < said["unswitched"] * MS / 4 and asleep > 10 * LATE * MS,
               complete_ms=complete / MS, sleep_ms=asleep / MS, **said)
