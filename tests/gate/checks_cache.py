# SPDX-License-Identifier: GPL-2.0-only
"""How the page cache served each read and write: hit, miss, readahead, direct (`--by cache`)."""
from __future__ import annotations

import os
from typing import Iterable

import fileio
import machine
from harness import Gate, Skip, suite
from tool import Trace

PAGE = 4096
HITS, MISSES, DIRECT, AHEAD, WRITES, PARTIAL, DIRECT_WRITES = 23, 17, 13, 11, 29, 7, 5


def read_missing(fd: int, offsets: Iterable[int]) -> None:
    """Each page alone: no readahead, and nothing of it is cached."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for offset in offsets:
        os.pread(fd, PAGE, offset)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_NORMAL)


def read_begun(fd: int, offsets: Iterable[int]) -> None:
    """Each page while its read, which somebody else has begun, is on its way."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for offset in offsets:
        os.posix_fadvise(fd, offset, PAGE, os.POSIX_FADV_WILLNEED)
        os.pread(fd, PAGE, offset)


def every_class(file: str, slow: bool) -> dict[tuple[str, str], int]:
    """Reads and writes of each class of the page cache; returns their number by operation and class."""
    places = fileio.spread(101, PAGE, 4 << 20)
    fd = os.open(file, os.O_RDWR)
    try:
        read_missing(fd, places[:MISSES])
        for offset in (places[:MISSES] * 2)[:HITS]:
            os.pread(fd, PAGE, offset)
        if slow:
            read_begun(fd, places[40:40 + AHEAD])
        for offset in places[:WRITES]:
            os.pwrite(fd, b"w" * PAGE, offset)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for offset in places[60:60 + PARTIAL]:
            os.pwrite(fd, b"part of a page", offset + 100)
        os.fsync(fd)
    finally:
        os.close(fd)
    fileio.read_at(file, places[:DIRECT], PAGE, os.O_DIRECT)
    fileio.write_at(file, places[:DIRECT_WRITES], PAGE, os.O_DIRECT)
    done = {("read", "miss"): MISSES, ("read", "hit"): HITS, ("read", "direct"): DIRECT,
            ("write", "hit"): WRITES, ("write", "miss"): PARTIAL, ("write", "direct"): DIRECT_WRITES}
    return done | ({("read", "readahead"): AHEAD} if slow else {})


@suite("cache")
def cache_classes(gate: Gate) -> None:
    try:
        disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, memory_backed=1,
                                completion_nsec=10_000_000, size=96)
    except Skip as why:
        gate.skip("readahead", str(why))
        disk = machine.loop(gate.stack, gate.kept, 96)
    slow = disk.name.startswith("nullb")
    file = fileio.make_file(f"{machine.mounted(gate.stack, gate.kept, disk, 'ext4')}/cache", 4)
    with Trace("--by", "cache", "--op", "read,write", "--file", file) as trace:
        done = every_class(file, slow)
    found = {key: 0 for key in done}
    for r in trace.rows():
        if r["op"] in ("read", "write"):
            found[r["op"], r["cache"]] = found.get((r["op"], r["cache"]), 0) + r["count"]
    # who is kept from the CPU until a fast disk is done does not wait for it: that is no miss
    late = 0 if slow else 2
    for op, cache in sorted(set(done) | set(found)):
        n = done.get((op, cache), 0), found[op, cache]
        apart = late if cache in ("hit", "miss") else 0
        gate.check(f"{op}.{cache}", abs(n[0] - n[1]) <= apart, done=n[0], found=n[1])
    for op in ("read", "write"):
        n = tuple(sum(d[key] for key in d if key[0] == op) for d in (done, found))
        gate.check(f"{op}.all", n[0] == n[1], done=n[0], found=n[1])
