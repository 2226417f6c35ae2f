# SPDX-License-Identifier: GPL-2.0-only
"""Reads' bytes from the device, and their share of the bytes that the reads returned."""
from __future__ import annotations

import os

import fileio
import machine
from checks_record import Record, compare, report
from harness import Gate, suite
from oracles import DiskStat
from tool import Trace

PAGE = 4096
# pages of each read, how many reads, and whether the kernel reads ahead
PATTERNS = {"exact": (2, 101, False), "ahead": (1, 23, True), "cached": (1, 23, None)}


def rename(name: str) -> None:
    with open("/proc/self/comm", "w", encoding="ascii") as f:
        f.write(name)


def read_pages(fd: int, pages: int, reads: int, ahead: bool | None) -> None:
    """@reads in sequence; None: what the one before has left in the page cache."""
    if ahead is not None:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_NORMAL if ahead else os.POSIX_FADV_RANDOM)
    for i in range(reads):
        os.pread(fd, pages * PAGE, i * pages * PAGE)


def one_pattern(gate: Gate, trace: Trace, name: str, read_bytes: int) -> None:
    """A read's device_bytes are the disk's statistics; with readahead they exceed the returned bytes."""
    pages, reads, ahead = PATTERNS[name]
    row, = trace.rows(op="read", key=name)
    returned = pages * reads * PAGE
    gate.check(f"{name}.bytes", row["device_bytes"] == read_bytes and row["bytes"] == returned,
               found=row["device_bytes"], diskstats=read_bytes, returned=row["bytes"])
    wanted = {True: read_bytes > returned, False: read_bytes == returned, None: read_bytes == 0}[ahead]
    gate.check(f"{name}.ratio", wanted and
               abs(row["amplification"] - read_bytes / returned) < 1e-5, ratio=row["amplification"])


def quiet_stat(disk: machine.Disk) -> DiskStat:
    """The statistics of @disk once no request is in flight: readahead has completed, too."""
    machine.wait_until(lambda: not int(machine.get(disk.sys / "stat").split()[8]))
    return DiskStat.of(disk)


@suite("cache.amplified")
def amplification(gate: Gate) -> None:
    """Each pattern under a name of its own. Where there are disks that lie on others, each byte that
    was read passes two."""
    if gate.native:
        disk = machine.loop(gate.stack, gate.kept, 16)
    else:
        disk = machine.dm_linear(gate.stack, gate.kept, [
            machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=16)])
    file = fileio.make_file(f"{machine.mounted(gate.stack, gate.kept, disk, 'ext4')}/amplified", 1)
    read_bytes = {}
    gate.stack.callback(rename, machine.get("/proc/self/comm"))
    fd = os.open(file, os.O_RDONLY)
    with Record(machine.scratch(gate.kept) / "amplified.ios", "-j", "--breakdown", "--by", "comm",
                "--file", file, "-d", disk.name) as trace:
        for name, pattern in PATTERNS.items():
            before = quiet_stat(disk)
            rename(name)
            read_pages(fd, *pattern)
            read_bytes[name] = (quiet_stat(disk) - before).sectors["R"] * 512
    os.close(fd)
    for name, n in read_bytes.items():
        one_pattern(gate, trace, name, n)
    compare(gate, "report", trace.json, report("-j", "--by", "comm", str(trace.file))[0])
    listed = report("-j", "--slowest", "1000", "--op", "read", str(trace.file))[0]["slowest"]
    events = [e for e in report("--events", "json", str(trace.file))[1:] if (e["type"], e["op"]) == ("op", "read")]
    for name, n in read_bytes.items():
        found = [sum(r["device_bytes"] for r in rows if r["comm"] == name) for rows in (listed, events)]
        gate.check(f"{name}.each", found == [n, n], slowest=found[0], events=found[1], diskstats=n)


@suite("cache.slowest")
def of_each_read(gate: Gate) -> None:
    """Each of the slowest reads has its own device bytes; without readahead these are the returned bytes."""
    file = fileio.make_file(f"{machine.mounted(gate.stack, gate.kept, machine.loop(gate.stack, gate.kept, 16), 'ext4')}"
                            "/slowest", 1)
    fd = os.open(file, os.O_RDONLY)
    with Trace("--slowest", "1000", "--op", "read", "--file", file) as trace:
        for pattern in (PATTERNS["exact"], PATTERNS["cached"]):
            read_pages(fd, *pattern)
    os.close(fd)
    found = [r["device_bytes"] for r in trace.json["slowest"]]
    pages, reads, _ = PATTERNS["exact"]
    gate.check("bytes", sorted(found) == [0] * PATTERNS["cached"][1] + [pages * PAGE] * reads, found=sum(found),
               wanted=reads * pages * PAGE)
