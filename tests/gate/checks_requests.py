# SPDX-License-Identifier: GPL-2.0-only
"""A1 for block requests: all that happens on a disk, against the disk's own statistics.

The comparison is stages.watch(); here is what gives it something to compare.
"""
from __future__ import annotations

import os
import threading

import fileio
import machine
from harness import Gate, Skip
from machine import Disk
from oracles import DiskStat
from places import place
from stages import Steps, stage, watch

MIB = 1 << 20
SPAN = 48 * MIB


def same_block_at_once(disk: Disk) -> None:
    """Several requests for the same sector of the same disk on their way at the same time."""
    readers = [threading.Thread(target=fileio.read_at,
                                args=(disk.path, [0] * 101, 4096, os.O_DIRECT)) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()


def prime_requests(disk: Disk) -> None:
    """Prime numbers of each kind of request, one kind after the other, on the bare disk."""
    fileio.read_at(disk.path, fileio.spread(101, 4096, SPAN), 4096, os.O_DIRECT)
    fileio.write_at(disk.path, fileio.spread(53, 8192, SPAN), 8192, os.O_DIRECT)
    for _ in range(7):
        fileio.write_at(disk.path, [0], 4096, sync=True)
    same_block_at_once(disk)
    # splits
    fileio.read_at(disk.path, [i * MIB for i in range(11)], MIB, os.O_DIRECT)
    # merges: sequential, through the page cache, written back in one go
    fileio.write_at(disk.path, [i * 65536 for i in range(67)], 65536, sync=True)
    fileio.forget(disk.path)
    fileio.read_at(disk.path, [i * 65536 for i in range(37)], 65536)
    fileio.write_at(disk.path, [i * 4096 for i in range(97, 0, -1)], 4096, sync=True)
    if int(machine.get(disk.sys / "queue/discard_granularity")):  # 5.10's loop has no other sign
        for i in range(5):
            fileio.discard(disk.path, i * 2 * MIB, MIB)


def bare(gate: Gate, label: str, disk: Disk, scheduler: str) -> Steps:
    disk.scheduler(scheduler)
    watch(gate, f"{label}.{scheduler}", disk)
    yield
    prime_requests(disk)
    yield


for _scheduler in ("none", "mq-deadline"):
    @stage(f"A1.requests.loop.{_scheduler}")
    def on_loop(gate: Gate, scheduler: str = _scheduler) -> Steps:
        yield from bare(gate, "loop", machine.loop(gate.stack, gate.kept, 64), scheduler)

    @stage(f"A1.requests.null_blk.{_scheduler}")
    def on_null_blk(gate: Gate, scheduler: str = _scheduler) -> Steps:
        disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, discard=1)
        yield from bare(gate, "null_blk", disk, scheduler)


@stage("A1.requests.zeroes")
def zeroes(gate: Gate) -> Steps:
    """A range of a disk is filled with zeroes without a page of them; where the file below cannot, as on
    overlayfs, the kernel writes pages when that has failed. The statistics have both as writes."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    if machine.get(disk.sys / "queue/write_zeroes_max_bytes") == "0":
        raise Skip("the loop device writes zeroes itself")
    yield
    before = DiskStat.of(disk)
    for i in range(5):
        fileio.on_range(disk.path, fileio.BLKZEROOUT, i * 3 * MIB, (i + 1) * 65536)
    stat = DiskStat.of(disk) - before
    trace = yield
    assert trace
    count, failed, size = (trace.total(what, "requests", op="WZ", dev=disk.name)
                           for what in ("count", "errors", "bytes"))
    writes, written = (trace.total(what, "requests", op="W", dev=disk.name) for what in ("count", "bytes"))
    gate.check("all", count + writes == stat.ios["W"] and size + written == 15 * 65536 and
               (count == failed > 0 and writes == 5 if failed else count == 5), zeroes=count, failed=failed,
               bytes=size, writes=writes, diskstats=stat.ios["W"])


@stage("A1.requests.zones")
def zones(gate: Gate) -> Steps:
    """Zones opened, closed, finished and reset, each by a request of its own, without data. The statistics
    have them as writes."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, zoned=1, zone_size=4)
    yield
    before = DiskStat.of(disk)
    zone = 4 * MIB // 512
    for what, n in ((fileio.BLKOPENZONE, 5), (fileio.BLKCLOSEZONE, 5), (fileio.BLKFINISHZONE, 3),
                    (fileio.BLKRESETZONE, 7)):
        for i in range(n):
            fileio.on_range(disk.path, what, i * zone, zone)
    stat = DiskStat.of(disk) - before
    trace = yield
    assert trace
    count, size = (trace.total(what, "requests", op="Z", dev=disk.name) for what in ("count", "bytes"))
    gate.check("all", count == 20 == stat.ios["W"] and not size, ours=count, bytes=size, diskstats=stat.ios["W"])


@stage("A1.requests.zram")
def on_zram(gate: Gate) -> Steps:
    disk = machine.zram(gate.stack, gate.kept, 64)
    watch(gate, "zram", disk, "RW")
    yield
    fileio.write_at(disk.path, fileio.spread(53, 8192, SPAN), 8192, os.O_DIRECT)
    fileio.read_at(disk.path, fileio.spread(101, 4096, SPAN), 4096, os.O_DIRECT)
    fileio.write_at(disk.path, [i * 65536 for i in range(7)], 65536, sync=True)
    yield


def journal_work(point: str) -> None:
    """The I/O of a file system: journal, its flushes and barriers, writeback."""
    for n in range(7):
        path = f"{point}/f{n}"
        with open(path, "wb") as f:
            f.write(b"x" * 12345)
            f.flush()
            os.fsync(f.fileno())
        os.rename(path, f"{path}.new")
    fileio.make_file(f"{point}/big", 5)
    fileio.read_at(f"{point}/big", fileio.spread(101, 4096, 5 * MIB), 4096, os.O_DIRECT)


for _fs in ("ext4", "xfs", "btrfs"):
    for _below in ("loop", "null_blk"):
        @stage(f"A1.requests.{_below}+{_fs}")
        def on_fs(gate: Gate, fs: str = _fs, below: str = _below) -> Steps:
            at = place(gate, fs, below)
            yield
            journal_work(str(at.point))
            yield
