# SPDX-License-Identifier: GPL-2.0-only
"""Requests of io_uring: each is an operation, with its bytes, its owner and all of its time, whoever
executed it; and nothing of it is left behind."""
from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import fileio
import machine
from checks_record import Record, compare, need_otf2, otf2_of, quiet_disk, report
from checks_storm import async_left
from checks_zoo import delayed
from harness import Gate, Skip, suite
from maps import Maps
from oracles import RINGER, Process, fio, program
from tool import Trace, is_missing, shared

MS = 1_000_000
READS = 1009
OF_RINGERS = "--by", "pid", "--comm", "ringer"
CALL_URING, TRANSFERS = 0x4000, (1, 2, 3, 4, 5, 8, 22, 23, 30, 60, 61)  # opcodes that are I/O operations


class Ringer(Process):
    """ringer.c"""

    kind = "uring"

    def __init__(self, gate: Gate, mode: str, file: str, reads: int = READS) -> None:
        super().__init__(gate.stack, program(RINGER), mode, file, str(reads))


def need_uring() -> None:
    if is_missing("uring"):
        raise Skip("this kernel's tracepoints do not tell the requests of io_uring apart")


def file_on_ext4(gate: Gate) -> str:
    disk = machine.loop(gate.stack, gate.kept, 64)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    file = fileio.make_file(f"{point}/rings", 1)
    os.sync()
    return file


def in_progress(gate: Gate, comm: str, start: Callable[[str], Process]) -> None:
    """16 requests whose device takes 4 s are told as such while they are there, with their owner."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=4000 * MS)
    process = start(disk.path)
    with shared(gate, "--by", "pid", "--comm", comm) as trace:
        process.begin()
        time.sleep(1)
    found = [one for one in trace.json["in_progress"] if one["op"] == process.kind]
    whose = {(one["pid"], one["comm"]) for one in found}
    gate.check("in-progress", len(found) == 16 and {pid for pid, _ in whose} == {process.pid} and
               sum(one["stratum"] == "device" for one in found) >= 12 and
               all(one["age_ns"] > 200 * MS for one in found), found=len(found), whose=sorted(whose),
               device=sum(one["stratum"] == "device" for one in found))


def compare_calls(gate: Gate, trace: Trace, process: Process, **match: object) -> None:
    """One line: count/bytes/errors of each opcode."""
    rows = trace.rows("ops", op=process.kind, **match)
    ours = {call: [sum(r[m] for r in rows if r["call"] == call) for m in ("count", "bytes", "errors")]
            for call in sorted({r["call"] for r in rows})}
    theirs = process.said[process.kind]
    figures = {call: "/".join(map(str, n)) + ("" if ours.get(call) == n else f"!={ours.get(call)}")
               for call, n in theirs.items()}
    gate.check("counts", ours == theirs, **figures)


def compare_left(gate: Gate, trace: Trace) -> None:
    left = async_left(Maps(trace.proc.pid))
    gate.check("left", not any(left.values()), **left)


def compare_lost(gate: Gate, trace: Trace, silent: int) -> None:
    """This machine's own tracepoints may lose hits; those of a guest do not. And its faults are looked up in
    mappings that other threads may be changing."""
    lost = trace.lost()
    of_machine = lost["unattributed"] + lost["unmatched_requests"] if gate.native else 0
    others = sum(lost.values()) - lost["unmatched_start"] - of_machine
    begun = lost["unmatched_start"]
    gate.check("lost", not others and (begun >= silent if gate.native else begun == silent),
               silent=silent, **lost)


def slow_disk(gate: Gate) -> machine.Disk:
    return machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=MS)


def throttled(gate: Gate, comm: str, limited: list[machine.Disk], starts: dict[str, Callable[[], Process]]) -> None:
    """Under io.max next to all of the time is throttle, though its own worker submits what was kept back."""
    group = machine.few_ios(gate.stack, limited, "read", 100)
    for name, start in starts.items():
        process = start()
        gate.prefix = f"{process.kind}.throttled.{name}."
        machine.put(group / "cgroup.procs", process.pid)
        with shared(gate, "--by", "pid", "--comm", comm) as trace:
            process.go()
            compare_left(gate, trace)
        mine = {"op": process.kind, "key": process.key}
        compare_calls(gate, trace, process, key=process.key)
        spent, total, read = trace.strata(**mine), trace.until_done(**mine), trace.total("bytes", **mine)
        gate.check("time", spent["throttle"] >= 0.8 * total and (spent["sleep"] + spent["helper"]) * 50 <= total,
                   total=total, **spent)
        gate.check("device-bytes", trace.total("device_bytes", **mine) == read > 0, bytes=read)


def cold_and_warm(gate: Gate, comm: str, file: str, start: Callable[[], Process]) -> Trace:
    """Misses and readahead at first, then only hits. The second run."""
    for name, cold in (("cold", True), ("warm", False)):
        if cold:
            fileio.forget(file)
        process = start()
        gate.prefix = f"{process.kind}.cached.{name}."
        with shared(gate, "--by", "cache", "--comm", comm, "--op", process.kind) as trace:
            process.go()
        compare_calls(gate, trace, process)
        by = {c: trace.total("count", cache=c) for c in ("hit", "miss", "readahead", "direct")}
        waited = by["miss"] + by["readahead"]
        gate.check("classes", (waited > 0) == cold and not by["direct"], **by)
    return trace


def follow(gate: Gate, mode: str) -> tuple[Trace, Ringer]:
    ringer = Ringer(gate, mode, file_on_ext4(gate))
    with shared(gate, *OF_RINGERS) as trace:
        ringer.go()
        compare_left(gate, trace)
    compare_calls(gate, trace, ringer, key=ringer.key)
    compare_lost(gate, trace, ringer.said["silent"])
    return trace, ringer


@suite("uring.all")
def all_kinds(gate: Gate) -> None:
    need_uring()
    trace, ringer = follow(gate, "all")
    spent = trace.strata(op="uring", call="read", key=ringer.key)
    gate.check("helper", spent["helper"] > 0, **spent)


@suite("uring.overflow")
def overflow(gate: Gate) -> None:
    """Completions that the ring has no room for."""
    need_uring()
    follow(gate, "overflow")


@suite("uring.storm")
def storm(gate: Gate) -> None:
    """Many rings at once, more than there are CPUs, of all kinds."""
    need_uring()
    point = os.path.dirname(file_on_ext4(gate))
    ringers = [Ringer(gate, mode, fileio.make_file(f"{point}/{mode}{i}", 1))
               for i in range(3) for mode in ("all", "direct", "poll", "cached")]
    os.sync()
    with shared(gate, *OF_RINGERS) as trace:
        for ringer in ringers:
            ringer.begin()
        for ringer in ringers:
            ringer.end()
        compare_left(gate, trace)
    if missed := trace.lost()["missed"]:
        # where programs can be preempted: a request of which one was refused is not counted
        done = sum(n for ringer in ringers for n, _, _ in ringer.said["uring"].values())
        counted = trace.total("count", op="uring")
        gate.check("counts", done - missed <= counted <= done, done=done, counted=counted, missed=missed)
        return
    for i, ringer in enumerate(ringers):
        gate.prefix = f"uring.storm.{i}."
        compare_calls(gate, trace, ringer, key=ringer.key)
    gate.prefix = "uring.storm."
    compare_lost(gate, trace, sum(ringer.said["silent"] for ringer in ringers))


@suite("uring.device")
def device(gate: Gate) -> None:
    """The device takes 10 ms; that is where the time is, in each way to submit and to complete."""
    need_uring()
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, hw_queue_depth=32,
                            completion_nsec=10 * MS)
    ringers = {mode: Ringer(gate, mode, disk.path, 101) for mode in ("direct", "poll")}
    with shared(gate, *OF_RINGERS) as trace:
        for ringer in ringers.values():
            ringer.go()
    for mode, ringer in ringers.items():
        gate.prefix = f"uring.device.{mode}."
        compare_calls(gate, trace, ringer, key=ringer.key)
        spent = trace.strata(op="uring", key=ringer.key)
        total = trace.until_done(op="uring", key=ringer.key)
        gate.check("time", spent["device"] >= 101 * 10 * MS and spent["device"] >= 0.5 * total,
                   mean_device_us=spent["device"] // 101_000, **spent)


@suite("uring.silent")
def silenced(gate: Gate) -> None:
    """A thread of the kernel polls; what a request without a completion reads is not the one's before it."""
    need_uring()
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=10 * MS)
    ringer = Ringer(gate, "silent", disk.path, 101)
    with shared(gate, *OF_RINGERS) as trace:
        ringer.go()
    compare_calls(gate, trace, ringer, key=ringer.key)
    compare_lost(gate, trace, ringer.said["silent"])
    done = sum(calls[0] for calls in ringer.said["uring"].values())
    unreaped = sum(o["unreaped"] for o in trace.objects)
    gate.check("unreaped", unreaped >= done if gate.native else unreaped == done, unreaped=unreaped, wanted=done)
    read, came = (trace.total(member, op="uring", key=ringer.key) for member in ("bytes", "device_bytes"))
    gate.check("device", read == came == 101 * 4096, read=read, device_bytes=came)


@suite("uring.merged")
def merged(gate: Gate) -> None:
    """Each bio of a request that several are merged into, behind or before the first, and each part of one
    that is split, tells its own operation when it is done."""
    need_uring()
    limits = {"merged": (25, 96), "fronted": (25, 96), "large": (404, 404)}
    disks = {mode: machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, hw_queue_depth=32,
                                    completion_nsec=10 * MS) for mode in limits}
    for disk in disks.values():
        disk.set("max_sectors_kb", 16)
    ringers = {mode: Ringer(gate, mode, disk.path, 101) for mode, disk in disks.items()}
    with shared(gate, *OF_RINGERS) as trace:
        for ringer in ringers.values():
            ringer.go()
        gate.prefix = "uring.merged."
        compare_left(gate, trace)
    for mode, (fewest, most) in limits.items():
        gate.prefix = f"uring.merged.{mode}."
        disk, ringer = disks[mode], ringers[mode]
        compare_calls(gate, trace, ringer, key=ringer.key)
        spent = trace.strata(op="uring", key=ringer.key)
        total = trace.total("total_ns", op="uring", key=ringer.key)
        requests = sum(r["count"] for r in trace.rows("requests", dev=disk.name))
        gate.check("time", spent["device"] >= 101 * 10 * MS and spent["sleep"] * 100 <= total and
                   fewest <= requests <= most, requests=requests, mean_device_us=spent["device"] // 101_000, **spent)


def compare_joined(gate: Gate, trace: Trace, ringer: Ringer, disk: machine.Disk, n: int) -> None:
    compare_calls(gate, trace, ringer, key=ringer.key)
    requests = {op: trace.total("count", "requests", dev=disk.name, op=op) for op in "WR"}
    gate.check("requests", requests["W"] == 2 * n <= 2 * requests["R"] <= 4 * n, **requests, wanted=n)
    for call, op, ops in ("write", "W", 2 * n), ("read", "R", 3 * n):
        spent = trace.strata(op="uring", key=ringer.key, call=call)
        total = trace.until_done(op="uring", key=ringer.key, call=call)
        # each operation's is that of the request that it became part of
        device = trace.total("device_ns", "requests", dev=disk.name, op=op) * ops / max(1, requests[op])
        gate.check(f"time.{call}", (spent["sleep"] + spent["tag"]) * 50 <= total and
                   0.9 * total <= spent["queue"] + spent["device"] and 0.9 * device <= spent["device"] <= 1.1 * device,
                   total=total, of_requests=device, **spent)


@suite("uring.joined")
def joined(gate: Gate) -> None:
    """A request that is merged into a younger one: all its time before the merge was in the queue, too. Once more on a
    device without requests, above a disk."""
    need_uring()
    n = 23
    disks = [machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, hw_queue_depth=1,
                              completion_nsec=20 * MS) for _ in range(2)]
    for disk in disks:
        disk.scheduler("mq-deadline")
        disk.set("nr_requests", 16)
    above = machine.dm_linear(gate.stack, gate.kept, disks[1:])
    ringers = [Ringer(gate, "joined", path, n) for path in (disks[0].path, above.path)]
    with shared(gate, *OF_RINGERS) as trace:
        for ringer in ringers:
            ringer.go()
    for prefix, ringer, disk in zip(("", "above."), ringers, disks):
        gate.prefix = f"uring.joined.{prefix}"
        compare_joined(gate, trace, ringer, disk, n)


@suite("uring.unfinished")
def unfinished(gate: Gate) -> None:
    need_uring()
    in_progress(gate, "ringer", lambda path: Ringer(gate, "direct", path, 16))


@suite("uring.finish")
def finish(gate: Gate) -> None:
    """Completions that are polled for: no interrupt, and a thread that never waits."""
    need_uring()
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, poll_queues=1)
    ringer = Ringer(gate, "finish", disk.path)
    with shared(gate, *OF_RINGERS) as trace:
        ringer.go()
        compare_left(gate, trace)
    mine = {"op": "uring", "key": ringer.key}
    compare_calls(gate, trace, ringer, key=ringer.key)
    compare_lost(gate, trace, 0)
    spent, failed = trace.strata(**mine), trace.total("errors", **mine)
    gate.check("time", not failed and spent["device"] > 0 and spent["sleep"] * 100 <= sum(spent.values()),
               failed=failed, **spent)


@suite("uring.owner")
def owner(gate: Gate) -> None:
    """A thread of the kernel submits, others complete: they are its process's all the same."""
    need_uring()
    ringer = Ringer(gate, "poll", file_on_ext4(gate))
    with shared(gate, *OF_RINGERS) as trace:
        ringer.go()
    # other ringers, whose requests end late, may be in the same interval of a shared run
    compare_calls(gate, trace, ringer, key=ringer.key, comm="ringer")


@suite("uring.file")
def of_file(gate: Gate) -> None:
    """Chosen by file, also where a bio shows the file before the completion does."""
    need_uring()
    file = file_on_ext4(gate)
    chosen, other = Ringer(gate, "direct", file), Ringer(gate, "direct", fileio.make_file(f"{file}.other", 1))
    with Trace("--by", "pid", "--op", "uring", "--file", file) as trace:
        chosen.go()
        other.go()
    compare_calls(gate, trace, chosen, key=chosen.key)
    gate.check("others", not trace.rows(key=other.key), rows=len(trace.rows(key=other.key)))


@suite("uring.by-file")
def requests_by_file(gate: Gate) -> None:
    """Requests are for the file of the operation, whoever submits them: its thread, workers, or a thread of the
    kernel that polls, and goes on with reads of another file meanwhile."""
    need_uring()
    file = f"{delayed(gate, 2)}/rings"
    for mode in "all", "poll", "mixed":
        fileio.make_file(f"{file}.{mode}", 1)
    other = fileio.make_file(f"{file}.mixed.other", 8)
    os.sync()
    fileio.forget(other)
    with shared(gate, "--by", "file", "--comm", "ringer") as trace:
        for mode, reads in ("all", READS), ("poll", READS), ("mixed", 8):
            Ringer(gate, mode, f"{file}.{mode}", reads).go()
    # some of the ends of a machine's own requests call no program
    least = 0.9 if gate.native else 1
    for name, direct, most in (("all", READS * 4096, 2), ("poll", READS * 4096, 1), ("mixed", 8 * 4 * 4096, 1),
                               ("mixed.other", 8 << 20, 1)):
        gate.prefix = f"uring.by-file.{name}."
        seen = trace.total("bytes", "requests", op="R", key=f"{file}.{name}")
        gate.check("bytes", least * direct <= seen <= most * direct, wanted=direct, requests=seen)
    gate.prefix = "uring.by-file."
    came = trace.total("device_bytes", op="uring", key=f"{file}.mixed")
    gate.check("device-bytes", came == 8 * 4 * 4096, found=came)
    nobody = trace.total("count", "requests", op="R", key="(no file)")
    gate.check("none", not nobody, found=nobody)


@suite("uring.throttled")
def kept_back(gate: Gate) -> None:
    need_uring()
    if is_missing("aio"):  # which needs functions, too
        raise Skip("this kernel's functions cannot be probed, which tell whose bio is kept back")
    disk = slow_disk(gate)
    throttled(gate, "ringer", [disk],
              {mode: partial(Ringer, gate, mode, disk.path, 101) for mode in ("direct", "poll")})


@suite("uring.cached")
def cached(gate: Gate) -> None:
    """Misses and readahead at first, then only hits; no device, no wait."""
    need_uring()
    # a loop device may have read all of it natively before anybody waits
    file = (fileio.make_file(f"{machine.scratch(gate.kept)}/cold", 1) if gate.native
            else file_on_ext4(gate))
    cold_and_warm(gate, "ringer", file, lambda: Ringer(gate, "cached", file))


@suite("uring.record", 300)
def both_ways(gate: Gate) -> None:
    """Both sinks of the same run, row by row; and as an archive."""
    need_uring()
    at = file_on_ext4(gate)
    file = Path(machine.scratch(gate.kept) / "uring.ios")
    for key in ("", "pid", "file") if gate.native else ("file",):
        ringer = Ringer(gate, "all", at, 101)
        by = ["--by", key] if key else []
        with Record(file, "-j", "--breakdown", *by, *quiet_disk(at), "-p", str(ringer.pid)) as trace:
            ringer.go()
            os.sync()
        compare(gate, key or "plain", trace.json, report("-j", *by, str(file))[0])
    gate.prefix = "uring.record.otf2."
    as_otf2(gate, ringer, trace)


def as_otf2(gate: Gate, ringer: Ringer, trace: Record) -> None:
    """Requests overlap: those that transfer have a location without regions, the others are regions."""
    need_otf2()
    ops = trace.read().ops
    ours = sum(r["file"] > 0 and r["call"] - CALL_URING in TRANSFERS for r in ops)
    # of a descriptor that is none the disk is not known
    reads = sum(r["call"] == CALL_URING + 22 and r["ret"] < 1 << 63 for r in ops)
    count, _, errors = ringer.said["uring"]["read"]
    said, bad = otf2_of(trace.file, trace.file.with_suffix(".otf2"))
    blocks = sum(n for k, n in said["count"].items() if k.endswith(" BLOCK"))
    issued = said["count"].get("IoOperationIssued", 0) - blocks
    gate.check("sound", not said["problems"] and not bad and said["count"]["Enter"] == len(ops) - ours,
               problems=said["problems"], bad=bad, first=str(said["first"][:1]), calls=len(ops))
    gate.check("operations", issued == ours > 0 and reads == count - errors,
               transfers=ours, non_blocking=issued, reads=reads, wanted=count - errors)


@suite("uring.reap")
def taken(gate: Gate) -> None:
    """An operation lasts until its thread takes the completion, as fio's latency does: so the two agree at any
    depth. fio begins a little earlier, and ends a little later."""
    need_uring()
    file = fileio.make_file(f"{delayed(gate, 1)}/deep", 16)
    os.sync()
    for depth in (1, 8, 32, 128):
        with Trace("--comm", "fio", "--op", "uring,getevents") as trace:
            job = fio(f"--filename={file}", "--size=16m", "--rw=randread", "--bs=4k", "--direct=1",
                      "--ioengine=io_uring", f"--iodepth={depth}", "--number_ios=4001", "--time_based", "--runtime=4",
                      "--lat_percentiles=1")["read"]
        gate.prefix = f"uring.reap.{depth}."
        row, = trace.rows("ops", op="uring")
        gate.check("count", row["count"] == job["total_ios"], ours=row["count"], fio=job["total_ios"])
        mean, theirs = row["total_ns"] / row["count"], job["lat_ns"]["mean"]
        late = job["lat_ns"]["percentile"]["99.000000"]
        # an emulated CPU takes its time between fio's clock and the call
        apart = 2 * machine.call_ns() + 5000 + (0.03 if gate.native else 0.08) * theirs
        gate.check("mean", theirs - apart <= mean <= theirs, ours_us=mean / 1000, fio_us=theirs / 1000,
                   reap=f"{(row['strata']['reap'] or 0) / row['total_ns']:.1%}")
        gate.check("p99", abs(row["p99_ns"] - late) <= apart + 0.1 * late, ours_us=row["p99_ns"] / 1000,
                   fio_us=late / 1000)
        # its thread waits for the ring no longer than it runs; with one request, for most of its time, and then for
        # the device or, on a busy machine, for a CPU
        waits, wall = trace.total("total_ns", op="getevents"), job["runtime"] * MS
        spent = trace.strata(op="getevents")
        ready = spent["runq"] + spent["preempt"]
        enough = depth > 1 or (2 * waits >= row["total_ns"] and 2 * spent["device"] >= waits - ready)
        gate.check("waits", waits <= wall + 10 * MS and enough, waits=trace.total("count", op="getevents"),
                   total=waits, wall=wall, **spent)
