# SPDX-License-Identifier: GPL-2.0-only
"""Rows: none is lost however many there are, none is torn however short the interval, no counter
wraps however long the run; and what they take of the kernel's memory and of the tool's."""
from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import struct
import time
from pathlib import Path
from typing import Iterator

import fileio
import machine
import oracles
from checks_churn import CPU1
from harness import Gate, Skip, suite
from machine import get, run
from maps import listed
from oracles import Workload
from tool import Json, Trace

KEYS, KEYS_EMULATED, PIDS = 100_003, 34_019, 2503
MAX_RESIDENT_KB = 64 << 10
MAX_OWN_KB = 6 << 10  # while it traces; the kernel's symbols and types, read at the start, are some MiB each
# Maps that are allocated at once, by how many CPUs there may be; the last: as many as there are.
THREADS_MB = 6.1
RPC_MB = 1.2
MAX_MAPS_MB = ((2, 12.5), (8, 26), (1 << 20, 64))
DRAIN_S = 10  # DRAIN_CELLS_S in drain.c
BUCKETS = 1184  # HIST_N in cell.h
SYS_BPF, BPF_MAP_GET_FD_BY_ID = 321, 14
FULL = (1 << 32) - 1
PREEMPT = Path("/sys/kernel/debug/sched/preempt")


def resident_kb(pid: int) -> int:
    found = re.search(r"^VmHWM:\s*(\d+)", get(f"/proc/{pid}/status"), re.MULTILINE)
    assert found
    return int(found[1])


def own_kb(pid: int) -> int:
    """The process' anonymous memory, KiB: without pages of files and of maps."""
    found = re.search(r"^RssAnon:\s*(\d+)", get(f"/proc/{pid}/status"), re.MULTILINE)
    assert found
    return int(found[1])


def waited_ms(pid: int) -> float:
    """The time for which the process' first thread has waited for a CPU so far, ms."""
    return int(get(f"/proc/{pid}/schedstat").split()[1]) / 1e6


@suite("rows.keys", 300)
def many_keys(gate: Gate) -> None:
    """More keys, and sooner, than any map has room for. A map is full some 10 ms after the tool was woken to drain it.
    Natively others may hold it up so long, by taking its CPU or within the kernel: then what has no room is counted.
    The tool loses a few keys, unless it waited for a CPU."""
    file = fileio.make_file(str(machine.scratch(gate.kept) / "keys"), 1)
    n = KEYS if machine.slowness() < 3 else KEYS_EMULATED
    keys = oracles.actor(gate.stack, "keys", file, str(n))
    with Trace("-T", "syscall", "--by", "comm", "--file", file, "--op", "read") as trace:
        before = waited_ms(trace.proc.pid)
        said = keys.go()
        waited = waited_ms(trace.proc.pid) - before
        time.sleep(1)
        resident = resident_kb(trace.proc.pid)
    lost, counted = trace.lost(), trace.total("count")
    no_room = lost["map_full"] if gate.native and (waited >= 10 or lost["map_full"] <= n / 20) else 0
    gate.check("counted", said["reads"] == n == counted + no_room and counted == len(trace.rows()) and
               sum(lost.values()) == no_room, reads=said["reads"], counted=counted, rows=len(trace.rows()),
               waited_ms=waited, **lost)
    gate.check("memory", resident <= MAX_RESIDENT_KB, resident_kb=resident, wanted=f"<={MAX_RESIDENT_KB}")


@suite("rows.pids", 300)
def many_processes(gate: Gate) -> None:
    """More processes than a map that is preallocated used to have room for."""
    file = fileio.make_file(str(machine.scratch(gate.kept) / "pids"), 1)
    forks = oracles.actor(gate.stack, "forks", file, str(PIDS))
    with Trace("-T", "syscall", "--by", "pid", "--file", file, "--op", "read") as trace:
        said = forks.go()
    lost = trace.lost()
    if gate.native:  # requests of anybody's; see CONTRIBUTING.md
        del lost["unmatched_requests"]
    gate.check("counted", said["reads"] == PIDS == trace.total("count") and not any(lost.values()),
               reads=said["reads"], counted=trace.total("count"), rows=len(trace.rows()), **trace.lost())


def preempt_on_one_cpu(gate: Gate) -> None:
    """From now on threads are preempted everywhere, and only one CPU is online."""
    gate.not_native("a CPU that goes offline")
    if "full" not in get(PREEMPT) if PREEMPT.exists() else True:
        raise Skip("this kernel cannot be told to preempt itself")
    mode = re.search(r"\((\w+)\)", get(PREEMPT))
    assert mode
    machine.setting(gate.stack, PREEMPT, "full", mode[1])
    if CPU1.exists():
        machine.setting(gate.stack, CPU1, 0)


@suite("rows.intervals")
def one_cpu(gate: Gate) -> None:
    """Threads that are preempted while they add to a row, on the only CPU that is online: nobody but
    a grace period waits for them."""
    preempt_on_one_cpu(gate)
    file = fileio.make_file(str(machine.scratch(gate.kept) / "preempted"), 1)
    w = Workload(gate.stack, file, {"pread": 101}, "-t", "3", "-d", "20")
    with Trace("-T", "vfs", "--file", file, "0.01") as trace:
        w.go()
    torn = [row for row in trace.rows("layers") if sum(b[2] for b in row["hist"]) != row["count"]]
    gate.check("torn", not torn and len(trace.objects) > 20, rows=len(trace.rows("layers")),
               torn=len(torn), intervals=len(trace.objects), missed=trace.lost()["missed"])


def maps_of(pid: int) -> list[Json]:
    """The maps that a process holds, with their sizes, one each."""
    wanted = ("map_id", "map_flags", "memlock", "value_size", "max_entries")
    maps = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s*(\S+)", info.read_text(), re.MULTILINE))
        if "map_id" in fields:
            maps[fields["map_id"]] = {k: int(fields[k], 0) for k in wanted}
    names = {m["id"]: m.get("name", "") for m in listed("map")}
    return [m | {"name": names.get(m["map_id"], "")} for m in maps.values()]


def possible_cpus() -> int:
    return int(get("/sys/devices/system/cpu/possible").split("-")[-1]) + 1


@suite("rows.memory")
def kernel_memory(gate: Gate) -> None:
    """The memory of maps which allocate all elements at once. Other maps (1: BPF_F_NO_PREALLOC) take only the memory of
    their elements."""
    limit = next(mb for cpus, mb in MAX_MAPS_MB if possible_cpus() <= cpus)
    for args in ((), ("-T", "syscall"), ("-T", "blk")):
        with Trace(*args) as trace:
            maps = [m for m in maps_of(trace.proc.pid) if not m["map_flags"] & 1]
            own = own_kb(trace.proc.pid)
        total = sum(m["memlock"] for m in maps) / 1e6
        names = {m["name"][:14] for m in maps}
        # before 6.1 the states of 8,192 threads, too; where SunRPC is loaded, slots and places of its requests
        most = limit + (THREADS_MB if "tasks_overflow" in names else 0) + (RPC_MB if "server_slots" in names else 0)
        big = {m["name"]: f"{m['memlock'] / 1e6:.1f}" for m in maps if m["memlock"] > 1e6}
        gate.check("-".join(args).strip("-") or "ops", 1 < total <= most, possible_cpus=possible_cpus(),
                   mb=total, wanted=f"<={most}", **big)
        gate.check("-".join((*args, "own")).strip("-"), own <= MAX_OWN_KB, kb=own, wanted=f"<={MAX_OWN_KB}")


@contextlib.contextmanager
def memory_of(one: Json) -> Iterator[mmap.mmap]:
    """A map that can be mapped, by its id."""
    attr = struct.pack("3I", one["map_id"], 0, 0)
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_MAP_GET_FD_BY_ID, attr, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    try:
        with mmap.mmap(fd, one["value_size"] * one["max_entries"]) as memory:
            yield memory
    finally:
        os.close(fd)


def fill_buckets(cells: Json, count: int) -> bool:
    """Makes the buckets of the row that has counted @count as full as they can be."""
    size = cells["value_size"]
    with memory_of(cells) as memory:
        for at in range(0, len(memory), size):
            if memory[at:at + 8] != struct.pack("Q", count):
                continue
            hist = at + size - 4 * BUCKETS
            full = [FULL if n else 0 for n in struct.unpack(f"{BUCKETS}I", memory[hist:at + size])]
            memory[hist:at + size] = struct.pack(f"{BUCKETS}I", *full)
            memory[at:at + 8] = struct.pack("Q", sum(full))
            return True
    return False


class Overfilled(Trace):
    """A run whose cells are written to by others, so its sums are not those of its histograms."""

    def look(self, one: Json, wall_ns: int) -> None:
        pass


@suite("rows.wrap")
def long_run(gate: Gate) -> None:
    """Buckets of 32 bits that are about to wrap when there is no interval."""
    file = fileio.make_file(str(machine.scratch(gate.kept) / "wrap"), 1)
    run("taskset", "-c", "0", "cat", file)
    argv = ("taskset", "-c", "0", oracles.program(oracles.WORKLOAD), file, "pread=1009")
    with Overfilled("--file", file, "--op", "read") as trace:
        cells = next(m for m in maps_of(trace.proc.pid) if m["name"] == "slot_cells")
        if cells["value_size"] < 4 * BUCKETS:
            raise Skip("histograms are apart from the cells here")
        run(*argv)
        filled = fill_buckets(cells, 1009)
        time.sleep(DRAIN_S + 8)  # an emulated machine has its CPUs from a busy one
        run(*argv)
    row = trace.rows(op="read")[0]
    in_hist = sum(b[2] for b in row["hist"])
    gate.check("counted", filled and row["count"] == in_hist > 1 << 32, count=row["count"],
               in_histogram=in_hist)
