# SPDX-License-Identifier: GPL-2.0-only
"""Requests of libaio: each is an operation from io_submit() to its event, with its bytes, its owner
and all of its time; nothing of it is left behind. Where functions cannot be probed, libaio's calls
are operations instead."""
from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import fileio
import machine
import oracles
from checks_record import Record, compare, need_otf2, otf2_of, quiet_disk, report
from checks_uring import (cold_and_warm, compare_calls, compare_left, compare_lost, file_on_ext4, in_progress,
                          slow_disk, throttled)
from harness import Gate, Skip, suite
from oracles import QUEUER, Process, program
from tool import Trace, is_missing, shared

MS = 1_000_000
READS = 1009
OF_QUEUERS = "--by", "pid", "--comm", "queuer"


class Queuer(Process):
    """queuer.c"""

    kind = "aio"

    def __init__(self, gate: Gate, mode: str, file: str, reads: int = READS) -> None:
        super().__init__(gate.stack, program(QUEUER), mode, file, str(reads))


def supported() -> bool:
    return not is_missing("aio")


def need_functions() -> None:
    if not supported():
        raise Skip("this kernel's functions cannot be probed")


@suite("aio.calls")
def calls(gate: Gate) -> None:
    """Without functions, and with the layer of calls alone: each call of libaio is one."""
    file = file_on_ext4(gate)
    for layer in ("syscall",) if supported() else ("syscall", ""):
        gate.prefix = f"aio.calls.{layer or 'all'}."
        queuer = Queuer(gate, "all", file, 101)
        args = ["-T", layer] if layer else []
        with Trace("-p", str(queuer.pid), "--op", "aio", *args) as trace:
            queuer.go()
        said, rows = queuer.said, "layers" if layer else "ops"
        ours = {call: (trace.total("count", rows, op="aio", call=call),
                       trace.total("errors", rows, op="aio", call=call))
                for call in ("io_submit", "io_getevents")}
        gate.check("counts", ours == {"io_submit": (said["submits"], said["refused"]),
                                      "io_getevents": (said["waits"], 0)},
                   submits=said["submits"], refused=said["refused"], waits=said["waits"],
                   **{call: f"{n}/{errors}" for call, (n, errors) in ours.items()})


@suite("aio.all")
def all_kinds(gate: Gate) -> None:
    need_functions()
    queuer = Queuer(gate, "all", file_on_ext4(gate))
    with shared(gate, *OF_QUEUERS) as trace:
        queuer.go()
        compare_left(gate, trace)
    compare_calls(gate, trace, queuer, key=queuer.key)
    compare_lost(gate, trace, 0)
    spent = trace.strata(op="aio", call="fsync", key=queuer.key)
    gate.check("helper", spent["helper"] > 0, **spent)


@suite("aio.storm")
def storm(gate: Gate) -> None:
    """Many queues at once, more than there are CPUs, of all kinds."""
    need_functions()
    point = os.path.dirname(file_on_ext4(gate))
    queuers = [Queuer(gate, mode, fileio.make_file(f"{point}/{mode}{i}", 1), reads)
               for i in range(3)
               for mode, reads in (("all", READS), ("direct", READS), ("cached", READS), ("fsync", 53))]
    os.sync()
    with shared(gate, *OF_QUEUERS) as trace:
        for queuer in queuers:
            queuer.begin()
        for queuer in queuers:
            queuer.end()
        compare_left(gate, trace)
    if missed := trace.lost()["missed"]:
        # where programs can be preempted: a request of which one was refused is not counted
        done = sum(n for queuer in queuers for n, _, _ in queuer.said["aio"].values())
        counted = trace.total("count", op="aio")
        gate.check("counts", done - missed <= counted <= done, done=done, counted=counted, missed=missed)
        return
    for i, queuer in enumerate(queuers):
        gate.prefix = f"aio.storm.{i}."
        compare_calls(gate, trace, queuer, key=queuer.key)
    gate.prefix = "aio.storm."
    compare_lost(gate, trace, 0)


@suite("aio.device")
def device(gate: Gate) -> None:
    """The device takes 10 ms; that is where the time is, however many are queued."""
    need_functions()
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, hw_queue_depth=32,
                            completion_nsec=10 * MS)
    queuers = {mode: Queuer(gate, mode, disk.path, 101) for mode in ("direct", "single")}
    with shared(gate, *OF_QUEUERS) as trace:
        for queuer in queuers.values():
            queuer.go()
    for mode, queuer in queuers.items():
        gate.prefix = f"aio.device.{mode}."
        compare_calls(gate, trace, queuer, key=queuer.key)
        spent = trace.strata(op="aio", key=queuer.key)
        total = trace.until_done(op="aio", key=queuer.key)
        gate.check("time", spent["device"] >= 101 * 10 * MS and spent["device"] >= 0.8 * total and
                   spent["sleep"] * 100 <= total, mean_device_us=spent["device"] // 101_000, **spent)


@suite("aio.unfinished")
def unfinished(gate: Gate) -> None:
    need_functions()
    in_progress(gate, "queuer", lambda path: Queuer(gate, "direct", path, 16))


@suite("aio.fsync")
def fsync(gate: Gate) -> None:
    """A kernel worker executes the request: the request's time is the worker's, by the worker's waits."""
    need_functions()
    queuer = Queuer(gate, "fsync", file_on_ext4(gate), 101)
    with shared(gate, *OF_QUEUERS) as trace:
        queuer.go()
        compare_left(gate, trace)
    compare_calls(gate, trace, queuer, key=queuer.key)
    spent = trace.strata(op="aio", call="fsync", key=queuer.key)
    total = trace.total("total_ns", op="aio", call="fsync", key=queuer.key)
    gate.check("time", spent["device"] > 0 and spent["helper"] > 0 and spent["sleep"] * 20 <= total,
               total=total, **spent)


@suite("aio.sync")
def sync(gate: Gate) -> None:
    """After the bios of a direct write, a kernel worker makes it durable. That is the worker's time:
    the log and its commit block, 10 ms each."""
    need_functions()
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, memory_backed=1, size=96,
                            completion_nsec=10 * MS)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    queuer = Queuer(gate, "sync", fileio.make_file(f"{point}/sync", 1), 53)
    os.sync()
    with shared(gate, *OF_QUEUERS) as trace:
        queuer.go()
        compare_left(gate, trace)
    mine = {"op": "aio", "key": queuer.key}
    compare_calls(gate, trace, queuer, key=queuer.key)
    spent, total = trace.strata(**mine), trace.total("total_ns", **mine)
    gate.check("time", spent["device"] >= 53 * 20 * MS and spent["complete"] * 20 <= total and
               spent["helper"] > 0, total=total, **spent)


@suite("aio.owner")
def owner(gate: Gate) -> None:
    """Interrupts and workers complete them: they are the submitter's all the same. (aio.all has them by its
    number, aio.fio by file.)"""
    need_functions()
    queuer = Queuer(gate, "all", file_on_ext4(gate), 101)
    with Trace("--by", "comm", "-p", str(queuer.pid), "--op", "aio") as trace:
        queuer.go()
    compare_calls(gate, trace, queuer, key="queuer")


@suite("aio.throttled")
def kept_back(gate: Gate) -> None:
    need_functions()
    disks = slow_disk(gate), slow_disk(gate)
    above, below = (machine.dm_linear(gate.stack, gate.kept, [disk]) for disk in disks)
    throttled(gate, "queuer", [above, disks[1]], {
        "above": partial(Queuer, gate, "direct", above.path, 101),
        "below": partial(Queuer, gate, "direct", below.path, 101)})


@suite("aio.cached")
def cached(gate: Gate) -> None:
    """Misses and readahead at first, then only hits; all of it within io_submit()."""
    need_functions()
    file = file_on_ext4(gate)
    trace = cold_and_warm(gate, "queuer", file, lambda: Queuer(gate, "cached", file))
    spent = trace.strata(op="aio")
    on_cpu = sum(spent.get(st, 0) for st in ("syscall", "vfs", "fs"))
    others = sum(spent[st] for st in ("tag", "queue", "device", "complete", "helper", "sleep"))
    gate.check("inline", on_cpu > 0 and not others, on_cpu=on_cpu, others=others)


@suite("aio.fio")
def fio(gate: Gate) -> None:
    """fio's own counts and bytes."""
    need_functions()
    point = os.path.dirname(os.path.realpath(file_on_ext4(gate)))
    of = {"direct": ["--direct=1", "--iodepth=16"], "single": ["--direct=1", "--iodepth=1"],
          "buffered": ["--iodepth=16"]}
    files = {name: fileio.make_file(f"{point}/{name}", 1) for name in of}
    os.sync()
    with Trace("--by", "file", "--comm", "fio", "--op", "aio") as trace:
        jobs = oracles.fio_jobs([[f"--filename={files[name]}", *options] for name, options in of.items()],
                                "--ioengine=libaio", "--rw=randrw", "--bs=4k", "--size=1M", "--loops=3",
                                "--randrepeat=1", "--invalidate=0")
    for (name, file), job in zip(files.items(), jobs):
        gate.prefix = f"aio.fio.{name}."
        ours = {d: [trace.total(m, op="aio", call=call, key=file) for m in ("count", "bytes")]
                for d, call in (("read", "pread"), ("write", "pwrite"))}
        theirs = {d: [job[d]["total_ios"], job[d]["io_bytes"]] for d in ("read", "write")}
        gate.check("counts", ours == theirs and min(n for n, _ in ours.values()) > 0,
                   **{d: f"{ours[d]}=={theirs[d]}" for d in ours})


@suite("aio.record", 300)
def both_ways(gate: Gate) -> None:
    """Both sinks of the same run, row by row; and as an archive."""
    need_functions()  # else its operations are calls, which are on no disk, and of A5.record
    at = file_on_ext4(gate)
    file = Path(machine.scratch(gate.kept) / "aio.ios")
    for key in ("", "pid", "file") if gate.native else ("pid",):
        queuer = Queuer(gate, "all", at, 101)
        by = ["--by", key] if key else []
        with Record(file, "-j", "--breakdown", *by, *quiet_disk(at), "-p", str(queuer.pid)) as trace:
            queuer.go()
            os.sync()
        compare(gate, key or "plain", trace.json, report("-j", *by, str(file))[0])
    gate.prefix = "aio.record.otf2."
    as_otf2(gate, queuer, trace, os.path.realpath(at))


def as_otf2(gate: Gate, queuer: Queuer, trace: Record, path: str) -> None:
    """In an archive each is an operation that does not block, with its bytes and its error."""
    need_otf2()
    found, bad = otf2_of(trace.file, trace.file.with_suffix(".otf2"))
    gate.check("sound", not found["problems"] and not bad and not trace.read().losses,
               problems=found["problems"], bad=bad, first=str(found["first"][:1]))
    done, count = queuer.said["aio"], found["count"]
    for mode, calls_of in (("READ", ("pread", "preadv")), ("WRITE", ("pwrite", "pwritev")),
                           ("FLUSH", ("fsync", "fdsync"))):
        theirs = [sum(done[call][i] for call in calls_of) for i in range(3)]
        ours = [count.get(f"asynchronous {mode} POSIX", 0),
                count.get(f"bytes {mode} POSIX {path}", 0),
                count.get(f"failed {mode} POSIX", 0)]
        gate.check(mode.lower(), ours == theirs and theirs[0] > 0, count=theirs[0], bytes=theirs[1],
                   errors=theirs[2], ours=str(ours))
