# SPDX-License-Identifier: GPL-2.0-only
"""Page faults on mapped files: each that reads or waits is an operation, with its file, its cache class
and all of its time; with --all-faults those that find their page are, too."""
from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import fileio
import machine
import places
from checks_rows import preempt_on_one_cpu
from checks_record import Record, compare, need_otf2, otf2_of, quiet_disk, report
from checks_uring import compare_lost
from harness import Gate, Skip, suite
from machine import Disk
from oracles import MAPPER, Process, program
from tool import Trace, is_missing, shared

MS = 1_000_000
FAULTS, FEW, STEP, THREADS, TURNS = 509, 23, 17 * 4096, 8, 199
MAPPED = {"op": "fault", "fs": "ext4"}


def need_faults() -> None:
    if is_missing("fault"):
        raise Skip("this kernel does not tell which file a page fault is on")


class Mapper(Process):
    """mapper.c"""

    def __init__(self, gate: Gate, mode: str, file: str, pages: int) -> None:
        super().__init__(gate.stack, program(MAPPER), mode, file, str(pages))


def big_file(gate: Gate, disk: Disk, pages: int) -> str:
    """On ext4, with room for @pages windows, clean and not cached."""
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    file = fileio.make_file(f"{point}/mapped", (pages + 1) * STEP // (1 << 20) + 1)
    os.sync()
    return file


def slow_disk(gate: Gate) -> Disk:
    return machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, memory_backed=1, size=96,
                            completion_nsec=10 * MS)


@contextmanager
def faults(gate: Gate, by: str, file: str, *args: str) -> Iterator[Trace]:
    """Traces the mappers' page faults; natively those on @file alone, for in a guest no other file is on ext4."""
    with shared(gate, "--by", by, "--comm", "mapper", "--op", "fault", *args,
                *(["--file", file] if gate.native else [])) as trace:
        yield trace


def classes(trace: Trace) -> dict[str, int]:
    return {c: trace.total("count", **MAPPED, cache=c) for c in ("hit", "miss", "readahead", "direct")}


@suite("fault.counts")
def counts(gate: Gate) -> None:
    """As the kernel counts them itself, and as long as the program that has them finds them."""
    need_faults()
    file = big_file(gate, machine.loop(gate.stack, gate.kept, 96), FAULTS)
    for name, args in (("reads", []), ("all", ["--all-faults"])):
        gate.prefix = f"fault.counts.{name}."
        fileio.forget(file)
        mapper = Mapper(gate, "twice", file, FAULTS)
        with faults(gate, "cache", file, *args) as trace:
            said = mapper.go()
        found, wanted = classes(trace), {"miss": FAULTS, "hit": FAULTS if args else 0}
        # of a fast disk, some reads are done before anybody waits
        late = wanted["miss"] - found["miss"]
        gate.check("count", said["major"] == FAULTS and 0 <= late <= FAULTS / 10 and
                   found["hit"] == wanted["hit"] + late and not found["readahead"] + found["direct"],
                   major=said["major"], late=late, **found)
        ours = trace.total("total_ns", **MAPPED)
        least = ours if args else trace.total("total_ns", **MAPPED, cache="miss")
        # theirs has the exception itself, two clocks, and what tracing it costs
        late = mapper.waited_ns + mapper.taken_ns
        gate.check("time", 0.25 * (said["ns"] - late) <= least <= said["ns"] * 1.01, ours_ms=ours / MS,
                   theirs_ms=said["ns"] / MS, late_ms=late / MS)
        compare_lost(gate, trace, 0)


@suite("fault.classes")
def of_each_class(gate: Gate) -> None:
    """The device takes 10 ms: that is where the time is, whoever began to read."""
    need_faults()
    file = big_file(gate, slow_disk(gate), FEW)
    for mode, cache in (("read", "miss"), ("ahead", "readahead")):
        gate.prefix = f"fault.classes.{mode}."
        fileio.forget(file)
        mapper = Mapper(gate, mode, file, FEW)
        with faults(gate, "cache", file) as trace:
            said = mapper.go()
        found = classes(trace)
        # of those that had to wait for a CPU, some find that the read is done: if before their fault, no
        # operation
        gate.check("count", FEW - FEW // 8 <= found[cache] <= sum(found.values()) <= FEW, **found)
        spent, total, done = trace.strata(**MAPPED), trace.total("total_ns", **MAPPED), trace.until_done(**MAPPED)
        # a thread that had to wait for a CPU comes to its next fault late, when a part of the read is over
        late = mapper.waited_ns + mapper.taken_ns
        # an emulated machine has milliseconds on the CPU
        others = sum(spent[st] for st in ("throttle", "tag", "queue", "helper", "sleep", "lock", "server"))
        gate.check("time", spent["device"] + late >= 0.8 * FEW * 10 * MS and others <= 0.2 * done and
                   0.8 * said["ns"] - late <= total <= said["ns"], total=total, theirs=said["ns"], late=late, **spent)


@suite("fault.interrupted", 240)
def interrupted(gate: Gate) -> None:
    """While each waits for its page, signals come, or io_uring's completions: the kernel lets it fault once
    more, and counts that one."""
    need_faults()
    file = big_file(gate, slow_disk(gate), FEW)
    for mode in ("alarm", "ring"):
        gate.prefix = f"fault.interrupted.{mode}."
        fileio.forget(file)
        mapper = Mapper(gate, mode, file, FEW)
        with faults(gate, "cache", file) as trace:
            said = mapper.go()
        found, spent = classes(trace), trace.strata(**MAPPED)
        # of those that had to wait for a CPU, some find that the read is done
        gate.check("count", found["miss"] + found["hit"] == FEW == sum(found.values()) and
                   found["hit"] <= FEW / 8, major=said["major"], **found)
        late = mapper.waited_ns + mapper.taken_ns
        gate.check("time", 0.8 * FEW * 10 * MS - late <= spent["device"] <= said["ns"] and
                   trace.total("errors", **MAPPED) == 0, theirs=said["ns"], late=late, **spent)


@suite("fault.place")
def place(gate: Gate) -> None:
    """The slowest are told with file and offset, and whose they are."""
    need_faults()
    disk = machine.loop(gate.stack, gate.kept, 96) if gate.native else slow_disk(gate)
    file = big_file(gate, disk, FEW)
    mapper = Mapper(gate, "read", file, FEW)
    with Trace("--by", "pid", "--slowest", "100", "--comm", "mapper", "--op", "fault") as trace:
        mapper.go()
    slowest = [r for r in trace.json["slowest"] if r["path"] == os.path.realpath(file)]
    offsets = sorted(r["offset"] for r in slowest)
    gate.check("offsets", offsets == [i * STEP for i in range(1, FEW + 1)], found=len(offsets), wanted=FEW)
    gate.check("call", all(r["call"] == "page_fault" and r["len"] is None for r in slowest),
               calls=str({r["call"] for r in slowest}))
    count = trace.total("count", op="fault", fs="ext4", key=mapper.key)
    gate.check("owner", count >= FEW, count=count, wanted=FEW)


@suite("fault.filters", 240)
def filters(gate: Gate) -> None:
    """By file, by disk, by operation, and none of memory without a file."""
    need_faults()
    file = big_file(gate, machine.loop(gate.stack, gate.kept, 96), FEW)
    other = fileio.make_file(f"{file}.other", os.path.getsize(file) >> 20)
    os.sync()
    for name, mode, wanted, args in (
            ("other-op", "read", 0, ["--op", "read"]),
            ("anonymous", "anon", 0, ["--op", "fault", "--all-faults"]),
            ("file", "write", FEW, ["--op", "fault", "--all-faults", "--file", file])):
        gate.prefix = f"fault.filters.{name}."
        with open(file, "rb") as f:
            f.read()
        mapper, beside = Mapper(gate, mode, file, FEW), Mapper(gate, mode, other, FEW)
        with Trace("-p", f"{mapper.pid},{beside.pid}", *args) as trace:
            faulted = [said["major"] + said["minor"] for said in (mapper.go(), beside.go())]
        of = {"fs": None} if mode == "anon" else {}
        got = trace.total("count", op="fault", **of)
        gate.check("count", got == wanted and min(faulted) >= FEW, count=got, wanted=wanted, faulted=str(faulted))


@suite("fault.overlay")
def overlay(gate: Gate) -> None:
    """overlayfs maps the file of a layer below. A fault still has the name by which the file was opened, as calls
    have."""
    need_faults()
    at = places.place(gate, "overlay").point
    file = fileio.make_file(f"{at}/mapped", (FEW + 1) * STEP // (1 << 20) + 1)
    os.sync()
    for name, chosen in (("file", file), ("directory", str(at))):
        gate.prefix = f"fault.overlay.{name}."
        fileio.forget(file)
        mapper = Mapper(gate, "read", file, FEW)
        with Trace("--by", "file", "--slowest", "100", "--op", "fault,read", "--file", chosen) as trace:
            mapper.go()
            fileio.read_at(file, [0], 4096)
        rows = {(r["op"], r["fs"], r["key"]): r["count"] for r in trace.rows() if r["op"] in ("fault", "read")}
        gate.check("rows", rows == {("fault", "overlay", file): FEW, ("read", "overlay", file): 1}, seen=str(rows))
        known = {(r["path"], r["dev"], r["ino"]) for r in trace.json["slowest"] if r["op"] in ("fault", "read")}
        stat = os.stat(file)
        gate.check("place", {k[0] for k in known} == {file} and {k[2] for k in known} == {stat.st_ino} and
                   len(known) == 1, seen=str(known))


def need_minor_faults(gate: Gate) -> None:
    need_faults()
    if gate.native and is_missing("vfs"):
        raise Skip("functions cannot be probed here, so faults that found their page are not counted")


@suite("fault.minor", 300)
def minor(gate: Gate) -> None:
    """Faults that find their page are counted as often as the kernel counts them, in the row of their file. So are
    faults on a shared mapping that is written: the kernel unlocks such a mapping before the fault is done."""
    need_minor_faults(gate)
    file = big_file(gate, machine.loop(gate.stack, gate.kept, 96), FAULTS)
    at = places.place(gate, "overlay").point
    layered = fileio.make_file(f"{at}/mapped", (FEW + 1) * STEP // (1 << 20) + 1)
    os.sync()
    for name, mode, n, wanted, file_of, by, of in (
            ("plain", "twice", FAULTS, FAULTS, file, "cache", {"fs": "ext4", "key": None}),
            ("class", "read", FEW, FEW, file, "cache", {"fs": "ext4", "key": None}),
            ("written", "write", FEW, FEW, file, "cache", {"fs": "ext4", "key": None}),
            ("file", "twice", FAULTS, FAULTS, file, "file", {"fs": "ext4", "key": file}),
            ("overlay", "read", FEW, FEW, layered, "file", {"fs": "overlay", "key": layered})):
        gate.prefix = f"fault.minor.{name}."
        if mode == "twice":
            fileio.forget(file_of)
        else:
            Path(file_of).read_bytes()
        mapper = Mapper(gate, mode, file_of, n)
        with faults(gate, by, file_of) as trace:
            said = mapper.go()
        ops, found = trace.total("count", op="fault", fs=of["fs"]), trace.total("count", "minor_faults", **of)
        # a guest's own root is on overlay, too
        everything = trace.total("count", "minor_faults", fs="ext4") if file_of == file else found
        # of a fast disk, some reads are done before anybody waits; of cached pages none reads
        gate.check("count", found == wanted == everything and
                   ops == (FAULTS if mode == "twice" else 0), found=found, wanted=wanted, operations=ops,
                   rows=str(trace.rows("minor_faults"))[:200], **said)
        compare_lost(gate, trace, 0)
    gate.prefix = "fault.minor."
    mapper = Mapper(gate, "anon", file, FEW)
    with Trace("-p", str(mapper.pid), "--op", "fault") as trace:
        mapper.go()
    gate.check("anonymous", trace.rows("minor_faults") and not trace.rows("minor_faults", fs=None),
               rows=str(trace.rows("minor_faults"))[:200])
    mapper = Mapper(gate, "read", file, FEW)
    with faults(gate, "cache", file, "--all-faults") as trace:
        mapper.go()
    gate.check("all", trace.total("count", **MAPPED) == FEW and trace.json["minor_faults"] is None,
               count=trace.total("count", **MAPPED))


@suite("fault.preempted", 240)
def preempted(gate: Gate) -> None:
    """Threads share a CPU. One is preempted while the program that ends a fault runs for it: those of
    the others go to its backup meanwhile, unless one is preempted in that, too, which is rare."""
    need_faults()
    preempt_on_one_cpu(gate)
    pages, threads = 163, 3
    file = big_file(gate, machine.loop(gate.stack, gate.kept, 96), threads * pages)
    Path(file).read_bytes()
    mapper = Mapper(gate, "again", file, pages)
    with Trace("--file", file, "--op", "fault") as trace:
        said = mapper.go()
    wanted, lost = threads * pages * TURNS, trace.lost()
    late = wanted - trace.total("count") - trace.total("count", "minor_faults")
    gate.check("count", -wanted / 1000 <= late <= wanted / 200 and late <= lost["missed"], late=late,
               wanted=wanted, **lost, **said)


@suite("fault.failed")
def failed(gate: Gate) -> None:
    """Beyond the end of the file there is no page: SIGBUS, a fault that failed."""
    need_faults()
    file = big_file(gate, machine.loop(gate.stack, gate.kept, 96), FEW)
    mapper = Mapper(gate, "gone", file, FEW)
    with faults(gate, "cache", file) as trace:
        if gate.native and is_missing("vfs"):  # only one of several tools learns of what these are
            alone = f"{trace.proc.pid}\n"
            if not machine.wait_for(lambda: machine.run("pgrep", "-x", "iostrata") == alone, 60):
                raise Skip("another iostrata is running, and may have taken what these are; guests have no other")
        said = mapper.go()
    ours = trace.total("count", **MAPPED), trace.total("errors", **MAPPED)
    gate.check("errors", ours == (FEW, FEW) and said["failed"] == FEW, count=ours[0], errors=ours[1],
               signals=said["failed"])
    compare_lost(gate, trace, 0)


@suite("fault.storm", 240)
def storm(gate: Gate) -> None:
    """More threads than CPUs; then processes that are killed in the middle, which is no loss."""
    need_faults()
    pages = 61
    file = big_file(gate, machine.loop(gate.stack, gate.kept, 96), THREADS * pages)
    mappers = [Mapper(gate, "threads", file, pages) for _ in range(3)]
    with faults(gate, "cache", file, "--all-faults") as trace:
        for mapper in mappers:
            mapper.begin()
        for mapper in mappers:
            mapper.end()
    wanted, got, lost = len(mappers) * THREADS * pages, trace.total("count", **MAPPED), trace.lost()
    # mappings that somebody was changing, also of other memory; and what was refused
    unknown, missed = lost.pop("unattributed"), lost.pop("missed")
    # two threads that need the same page table at once: one of them faults again
    gate.check("count", wanted - unknown - missed <= got <= wanted * 1.02 and got > wanted / 2, count=got,
               unknown=unknown, missed=missed, wanted=wanted)
    gate.check("lost", not any(lost.values()), **lost)
    gate.prefix = "fault.storm.killed."
    fileio.forget(file)
    mapper = Mapper(gate, "killed", file, pages)
    with Trace("--comm", "mapper") as trace:
        mapper.go()
    got = trace.total("count", op="fault")
    gate.check("some", got > 0, count=got)
    gate.check("lost", not trace.lost_here(), **trace.lost())


@suite("fault.record")
def both_ways(gate: Gate) -> None:
    """Both sinks of the same run, row by row; and in an archive each is a read of its file."""
    need_faults()
    at = big_file(gate, machine.loop(gate.stack, gate.kept, 96), FEW)
    scratch = machine.scratch(gate.kept)
    mapper = Mapper(gate, "read", at, FEW)
    with Record(scratch / "fault.ios", "-j", "--breakdown", "--by", "file", "-p", str(mapper.pid),
                "--file", at, "--op", "fault", *quiet_disk(at)) as trace:
        mapper.go()
        os.sync()
    asked = trace.total("count", "requests", op="R", key=os.path.realpath(at))
    gate.check("requests", asked == FEW, count=asked, wanted=FEW)
    compare(gate, "file", trace.json, report("-j", "--by", "file", str(scratch / "fault.ios"))[0])
    need_otf2()
    found, bad = otf2_of(scratch / "fault.ios", scratch / "fault.otf2")
    gate.check("sound", not found["problems"] and not bad, problems=found["problems"], bad=bad,
               first=str(found["first"][:1]))
    reads = found["count"].get("READ POSIX", 0)
    gate.check("otf2", reads == FEW, faults=reads, wanted=FEW)


@suite("fault.peers", 240)
def peers(gate: Gate) -> None:
    """Two runs at once find the file of each fault, also of one that a signal ends."""
    need_faults()
    point = os.path.dirname(big_file(gate, slow_disk(gate), FEW))
    mappers = {}
    for mode in ("read", "alarm", "gone"):
        file = fileio.make_file(f"{point}/{mode}", (FEW + 1) * STEP // (1 << 20) + 1)
        mappers[file] = Mapper(gate, mode, file, FEW)
    os.sync()
    args = "--by", "file", "--file", point, "--op", "fault"
    with Trace(*args) as first, Trace(*args) as second:
        for mapper in mappers.values():
            mapper.go()
    for file, mapper in mappers.items():
        gate.prefix = f"fault.peers.{os.path.basename(file)}."
        for name, trace in (("first", first), ("second", second)):
            count = trace.total("count", op="fault", key=file)
            gate.check(name, count == FEW, count=count, errors=trace.total("errors", op="fault", key=file),
                       **trace.lost(), **mapper.said)
