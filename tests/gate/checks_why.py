# SPDX-License-Identifier: GPL-2.0-only
"""--why: where threads were that slept for reasons that nothing else tells."""
from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import struct
import threading
import time

import machine
from harness import Gate, Skip, suite
from tool import Trace

MS = 1_000_000
PAGES, DELAY_MS = 11, 20
SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
UFFD_API, UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE = 0xAA, 0xC018AA3F, 0xC020AA00, 0xC020AA04


def watched_memory(gate: Gate) -> tuple[int, mmap.mmap]:
    """Pages that the returned descriptor tells of when they are first touched."""
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_USERFAULTFD.get(platform.machine(), -1), os.O_CLOEXEC)
    if fd < 0:
        raise Skip(f"no userfaultfd: {os.strerror(ctypes.get_errno())}")
    gate.stack.callback(os.close, fd)
    fcntl.ioctl(fd, UFFDIO_API, struct.pack("QQQ", UFFD_API, 0, 0))
    memory = mmap.mmap(-1, PAGES * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(fd, UFFDIO_REGISTER, struct.pack("QQQQ", start, len(memory), 1, 0))
    return fd, memory


def give_pages(fd: int) -> None:
    for _ in range(PAGES):
        touched = struct.unpack("QQQQ", os.read(fd, 32))[2]
        time.sleep(DELAY_MS / 1000)
        fcntl.ioctl(fd, UFFDIO_ZEROPAGE, struct.pack("QQQQ", touched & ~4095, 4096, 0, 0))


@suite("why.userfault")
def sleep_has_a_name(gate: Gate) -> None:
    """A read sleeps at each page of its buffer until another thread gives it one, and it is told where; and
    so it is of nearly all sleeps."""
    file = machine.scratch(gate.kept) / "into-watched"
    file.write_bytes(b"x" * PAGES * 4096)
    fd, memory = watched_memory(gate)
    with Trace("--why") as trace:
        giver = threading.Thread(target=give_pages, args=(fd,))
        giver.start()
        with open(file, "rb", buffering=0) as f:
            done = os.preadv(f.fileno(), [memory], 0)
        giver.join()
    rows = trace.rows("sleep_why", op="read", symbol="handle_userfault")
    count, total = (sum(row[m] for row in rows) for m in ("count", "total_ns"))
    nominal = PAGES * DELAY_MS * MS
    gate.check("slept", done == PAGES * 4096 and count == PAGES and total >= 0.9 * nominal,
               count=count, wanted=PAGES, total_ms=total / MS, nominal_ms=nominal / MS)
    gate.check("in-words", rows and all(row["what"] == "userfault" for row in rows))
    slept = trace.strata(op="read")["sleep"]
    named = sum(row["total_ns"] for row in trace.rows("sleep_why", op="read") if row["symbol"])
    gate.check("named", 0.9 * slept <= named, named_ms=named / MS, slept_ms=slept / MS)
