# SPDX-License-Identifier: GPL-2.0-only
"""Unusual bios and requests: merged, requeued, or completed twice. No state of them is left, and each is counted
once."""
from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import fileio
import machine
import oracles
from checks_requests import prime_requests
from checks_storm import ios_of
from harness import Gate, Skip, suite
from machine import Disk
from maps import Maps
from oracles import DiskStat
from tool import Trace

MS = 1_000_000
XFS_MIB = 320  # what mkfs.xfs wants


def compare_left(gate: Gate, trace: Trace, disk: Disk) -> None:
    """The states of bios and requests of @disk that are left when all are done."""
    left = ios_of(Maps(trace.proc.pid), disk)
    gate.check("left", not left, states=left)


class Watched:
    """A trace of one disk, whose requests are then compared with its statistics."""

    def __init__(self, gate: Gate, disk: Disk, *args: str) -> None:
        self.gate, self.disk = gate, disk
        self.trace = Trace("-d", disk.name, "--strict", *args)

    def __enter__(self) -> Trace:
        self.quiet()
        self.before = DiskStat.of(self.disk)
        self.trace.start()
        self.gate.stack.callback(self.trace.kill)
        return self.trace

    def quiet(self) -> None:
        os.sync()

        def idle() -> bool:
            stat = self.disk.sys / "stat"
            before = machine.get(stat)
            time.sleep(0.2)
            return before == machine.get(stat) and not int(before.split()[8])

        machine.wait_until(idle, 10)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind:
            return
        self.quiet()
        stat = DiskStat.of(self.disk) - self.before
        compare_left(self.gate, self.trace, self.disk)
        self.trace.stop()
        oracles.compare_requests(self.gate, "requests", self.disk, stat, self.trace)
        # lost requests would be missing above
        self.gate.check("lost", not self.trace.lost_here(), **self.trace.lost())


@suite("bios.plain")
def plain(gate: Gate) -> None:
    disk = machine.loop(gate.stack, gate.kept, 64)
    disk.scheduler("mq-deadline")
    with Watched(gate, disk):
        prime_requests(disk)


def write_alone(disk: Disk, sector: int) -> threading.Thread:
    writer = threading.Thread(target=fileio.write_at,
                              args=(disk.path, [sector * 512], 4096, os.O_DIRECT))
    writer.start()
    time.sleep(0.1)
    return writer


@suite("bios.merged-away")
def merged_away(gate: Gate) -> None:
    """While the disk is busy, one write is put before another, and the request that they are is
    taken in by a third that has grown up to it."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, hw_queue_depth=1,
                            completion_nsec=900 * MS)
    disk.scheduler("mq-deadline")
    machine.put(disk.sys / "queue/nr_requests", 16)  # else twice the disk's depth: nobody gets to merge
    merges = DiskStat.of(disk).merges["W"]
    with Watched(gate, disk):
        # the first two are the disk's and the dispatcher's, and not merged
        for writer in [write_alone(disk, sector) for sector in (8000, 9000, 800, 792, 776, 784)]:
            writer.join()
    merges = DiskStat.of(disk).merges["W"] - merges
    if merges:
        gate.check("merged", merges == 3, merges=merges)
    else:
        gate.skip("merged", "this kernel merged none of the writes (6.12.117 with mq-deadline)")


@suite("bios.first-submitter")
def whose_is_merged(gate: Gate) -> None:
    """A write is put before another that waits: the request is of who submitted first, though the
    second's bio is the first of it."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, hw_queue_depth=1,
                            completion_nsec=900 * MS)
    disk.scheduler("mq-deadline")
    machine.put(disk.sys / "queue/nr_requests", 16)
    merges = DiskStat.of(disk).merges["W"]
    with Watched(gate, disk, "--by", "tid") as trace:
        # the first two are the disk's and the dispatcher's, and not merged
        writers = [write_alone(disk, sector) for sector in (8000, 9000, 800, 792)]
        for writer in writers:
            writer.join()
    if DiskStat.of(disk).merges["W"] == merges:
        raise Skip("this kernel did not merge the writes")
    found = {row["key"]: row["count"] for row in trace.rows("requests", op="W")}
    gate.check("owner", found == {str(w.native_id): 1 for w in writers[:3]}, found=str(found),
               wanted=str([w.native_id for w in writers[:3]]))


def many_extents(point: Path) -> None:
    """Frees many extents that are not contiguous, at once."""
    for n in range(202):
        with open(point / str(n), "wb") as f:
            f.write(b"x" * 65536)
            os.fsync(f.fileno())
    for n in range(0, 202, 2):
        os.unlink(point / str(n))
    os.sync()


@suite("bios.discards", 240)
def discards(gate: Gate) -> None:
    """A disk that takes many ranges with one discard (NVMe): the block layer merges them, without an
    event. XFS discards all that a checkpoint frees in one go."""
    disk = Disk("nvme0n1")
    if not disk.sys.exists() or int(machine.get(disk.sys / "size")) < XFS_MIB * 2048:
        raise Skip("no NVMe disk that is large enough")
    gate.not_native("writing to a disk that is not the gate's")
    with ExitStack() as mount:
        point = machine.mounted(mount, gate.kept, disk, "xfs", "noatime,discard")
        merges = DiskStat.of(disk).merges["D"]
        with Watched(gate, disk):
            many_extents(point)
        gate.check("merged", DiskStat.of(disk).merges["D"] > merges,
                   merges=DiskStat.of(disk).merges["D"] - merges)


@suite("bios.requeued")
def requeued(gate: Gate) -> None:
    """A driver that is busy at every fifth command. A request that is put back remains one request, and its requeues
    are counted: one each time until the host is no longer blocked, up to seven (SCSI_DEFAULT_HOST_BLOCKED). The request
    is in the queue until its driver accepts it."""
    disk, driver = machine.scsi_debug(gate.stack, gate.kept), Path("/sys/bus/pseudo/drivers/scsi_debug")
    with Trace("-T", "blk", "-d", disk.name) as trace:
        machine.put(driver / "opts", "0x8000")  # SDEBUG_OPT_HOST_BUSY
        machine.put(driver / "every_nth", 5)
        fileio.read_at(disk.path, fileio.spread(101, 4096, 1 << 24), 4096, os.O_DIRECT)
        machine.put(driver / "every_nth", 0)
    n, again = (trace.total(what, "requests", op="R") for what in ("count", "requeues"))
    gate.check("counted", n == 101 and 20 <= again <= 7 * 30, requests=n, requeues=again, wanted="20..210")
    queue, device = (trace.total(what, "requests", op="R") / MS for what in ("queue_ns", "device_ns"))
    gate.check("queued", queue > device, queue_ms=queue, device_ms=device)


def multipath(gate: Gate, path: Disk) -> Disk:
    machine.need_module(gate.kept, "dm_round_robin")
    return machine.dm(gate.stack, gate.kept, "dm_multipath", path.name,
                      f"0 {machine.get(path.sys / 'size')} multipath 0 0 1 1 round-robin 0 1 1 {path.path} 1")


@suite("bios.multipath")
def completed_twice(gate: Gate) -> None:
    """A request of dm-multipath's own is completed as its clone is, and once more with nothing."""
    gate.not_native("device mapper")
    path = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1)
    disk = multipath(gate, path)
    with Watched(gate, disk):
        fileio.read_at(disk.path, fileio.spread(101, 4096, 1 << 24), 4096, os.O_DIRECT)
        fileio.write_at(disk.path, fileio.spread(53, 8192, 1 << 24), 8192, os.O_DIRECT)
