# SPDX-License-Identifier: GPL-2.0-only
"""One run of the tool that serves many checks: in an emulated machine starting it takes seconds.

A stage is a generator: it prepares, yields, works while the trace is live, yields, and receives the
finished trace to compare with. Stages work one after the other, and each finds its own processes
by their pid, for the trace is `--by pid`. Every disk that a stage has watched is compared with the
kernel's statistics over the whole of the run, so all that any stage did there is compared.
"""
from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Callable, Generator, Optional

import harness
import oracles
from harness import Gate, Stopwatch
from machine import Disk, get, wait_until
from oracles import DiskStat
from tool import Trace

Steps = Generator[None, Optional[Trace], None]
StageFn = Callable[[Gate], Steps]
LIMIT_S = 60


@dataclass
class Stage:
    name: str
    make: StageFn
    steps: Optional[Steps] = None  # None: not begun, or over


@dataclass
class Watched:
    label: str
    disk: Disk
    types: str
    failed_bytes: int = 0  # of reads that failed: the statistics have them, too
    before: Optional[DiskStat] = None
    delta: Optional[DiskStat] = None


STAGES: list[Stage] = []
WATCHED: list[Watched] = []
_suite = harness.Suite("shared-run", 600, lambda gate: _run_all(gate))
harness.SUITES.append(_suite)


def stage(name: str) -> Callable[[StageFn], StageFn]:
    def register(make: StageFn) -> StageFn:
        STAGES.append(Stage(name, make))
        _suite.parts.append(name)
        return make

    return register


def watch(gate: Gate, label: str, disk: Disk, types: str = "RWDF") -> Watched:
    """Has all requests of @disk during the run compared; it must be idle when that starts."""
    entry = Watched(label, disk, types)
    WATCHED.append(entry)
    gate.stack.callback(WATCHED.remove, entry)
    return entry


def _step(gate: Gate, todo: Stage, what: str, trace: Trace | None = None) -> None:
    """Lets a stage go on until it yields or ends; whatever stops it is its one line."""
    if not todo.steps:
        return
    steps, todo.steps = todo.steps, None
    with Stopwatch(f"{todo.name}: {what}"), gate.guarded(todo.name, LIMIT_S):
        try:
            steps.send(trace)
        except StopIteration:
            return
        todo.steps = steps


def _quiet() -> None:
    """Until nothing is on its way to any disk, nor will be at once."""
    os.sync()

    def idle() -> bool:
        before = [get(w.disk.sys / "stat") for w in WATCHED]
        time.sleep(0.05)
        after = [get(w.disk.sys / "stat") for w in WATCHED]
        return before == after and not any(int(s.split()[8]) for s in after)

    wait_until(idle)


def _run_live(gate: Gate) -> Trace:
    with Stopwatch("shared-run: start the tool"):
        trace = Trace("--by", "pid").start()
    try:
        for entry in WATCHED:
            entry.before = DiskStat.of(entry.disk)
        for todo in STAGES:
            _step(gate, todo, "work")
        _quiet()
        for entry in WATCHED:
            assert entry.before
            entry.delta = DiskStat.of(entry.disk) - entry.before
    except BaseException:
        trace.kill()
        raise
    with Stopwatch("shared-run: stop the tool"):
        return trace.stop()


def _run_all(gate: Gate) -> None:
    for todo in STAGES:
        if gate.wants(todo.name) or gate.wants(_suite.name):
            todo.steps = todo.make(gate)
            _step(gate, todo, "prepare")
    _quiet()
    trace = _run_live(gate)
    gate.prefix = ""
    for entry in WATCHED:
        if entry.delta:
            oracles.compare_requests(gate, f"A1.requests.{entry.label}", entry.disk, entry.delta,
                                     trace, entry.types, entry.failed_bytes)
    for todo in STAGES:
        _step(gate, todo, "compare", trace)
    gate.prefix = ""
    lost = trace.lost()
    gate.check("A8.shared-run.lost", not lost["map_full"] and not lost["ring"], **lost)
