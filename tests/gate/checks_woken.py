# SPDX-License-Identifier: GPL-2.0-only
"""The time up to the end of a request and the time after it go to different strata. The end matters only to threads
that wait for this request."""
from __future__ import annotations

import os
import threading

import fileio
import machine
from checks_inject import MS, slow_null_blk
from harness import Gate, suite
from machine import Disk
from tool import Json, Trace

READERS, DELAY_MS, TRIES = 31, 200, 6


def earliest_end(r: Json) -> int:
    """The earliest end of the request for which this read waited, ns."""
    return int(r["start_ns"] + sum(r["strata"][s] or 0 for s in ("tag", "queue", "device")))


def latest_end(r: Json) -> int:
    """The latest end of the request for which this read waited, ns."""
    return int(r["start_ns"] + r["total_ns"] - r["strata"]["complete"] - r["strata"]["runq"])


def read_the_same(fd: int, disk: Disk) -> None:
    """One thread begins to read a block, and then all others read the same block."""
    readers = [threading.Thread(target=os.pread, args=(fd, 4096, 8 << 20)) for _ in range(READERS)]
    for n, reader in enumerate(readers):
        reader.start()
        if not n:
            machine.wait_until(lambda: machine.get(disk.sys / "inflight").split() != ["0", "0"])
    for reader in readers:
        reader.join()


def wait_for_another(fd: int) -> None:
    """Reads ahead, and then reads an empty pipe, to which a timer writes only after the readahead is done."""
    here, there = os.pipe()
    os.posix_fadvise(fd, 16 << 20, 4096, os.POSIX_FADV_WILLNEED)
    threading.Timer(2 * DELAY_MS / 1000, os.write, (there, b"x")).start()
    os.read(here, 1)
    for end in (here, there):
        os.close(end)


@suite("A6.complete")
def woken_one_after_the_other(gate: Gate) -> None:
    """Many wait for one page. The request's end is the same for all of them; the time until it is one's
    turn to be woken comes after that. A request of an earlier call is not what a thread waits for."""
    disk = slow_null_blk(gate, DELAY_MS, queue_mode=2)
    waited: list[Json] = []
    for tries in range(1, TRIES + 1):
        fileio.forget(disk.path)
        with Trace("-p", str(os.getpid()), "--all-files", "--op", "read", "--slowest", "1000") as trace:
            fd = os.open(disk.path, os.O_RDONLY)
            gate.stack.callback(os.close, fd)
            read_the_same(fd, disk)
            wait_for_another(fd)
        found = [r for r in trace.json["slowest"] if r["fs"] == "bdev" and r["strata"]["device"]]
        waited = max(waited, found, key=len)
        if len(waited) > READERS / 2:
            break  # else a processor stood still just then: a completion is believed for some ms only
    strata = trace.strata(fs="pipefs", op="read")
    gate.check("own-request", strata["sleep"] >= DELAY_MS * MS and not strata["device"],
               sleep_ms=strata["sleep"] / MS, device_ms=strata["device"] / MS)
    if not gate.check("waited", len(waited) > READERS / 10, readers=len(waited), of=READERS, tries=tries):
        return
    first, last = (f([end(r) for r in waited]) for f, end in ((max, earliest_end), (min, latest_end)))
    complete = sum(r["strata"]["complete"] for r in waited)
    gate.check("end", first <= last and complete > 0, readers=len(waited),
               slack_us=(last - first) / 1000, complete_us=complete / 1000)
