# SPDX-License-Identifier: GPL-2.0-only
"""I/O of exactly known size and number, done by this process itself (which costs no start)."""
from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import struct
from typing import Iterable, Iterator

BLKDISCARD, BLKZEROOUT, FIFREEZE, FITHAW = 0x1277, 0x127F, 0xC0045877, 0xC0045878
BLKRESETZONE, BLKOPENZONE, BLKCLOSEZONE, BLKFINISHZONE = 0x40101283, 0x40101286, 0x40101287, 0x40101288


def aligned(size: int) -> mmap.mmap:
    buffer = mmap.mmap(-1, size)
    buffer.write(b"\xa5" * size)
    return buffer


def spread(n: int, size: int, span: int) -> list[int]:
    """@n different offsets, multiples of @size below @span, none next to the one before."""
    slots = span // size
    step = next(s for s in range(slots * 2 // 5 | 1, slots, 2) if _coprime(s, slots))
    return [i * step % slots * size for i in range(n)]


def _coprime(a: int, b: int) -> bool:
    while b:
        a, b = b, a % b
    return a == 1


def read_at(path: str, offsets: Iterable[int], size: int, flags: int = 0) -> int:
    """Bytes read."""
    buffer, fd, done = aligned(size), os.open(path, os.O_RDONLY | flags), 0
    try:
        for offset in offsets:
            done += os.preadv(fd, [buffer], offset)
    finally:
        os.close(fd)
    return done


def write_at(path: str, offsets: Iterable[int], size: int, flags: int = 0, sync: bool = False) -> int:
    """Bytes written; with @sync one fsync at the end."""
    buffer, fd, done = aligned(size), os.open(path, os.O_RDWR | flags), 0
    try:
        for offset in offsets:
            done += os.pwritev(fd, [buffer], offset)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)
    return done


def discard(path: str, offset: int, length: int) -> None:
    on_range(path, BLKDISCARD, offset, length)


def on_range(path: str, what: int, start: int, length: int) -> None:
    """An ioctl() that a range of a disk is for; zones' are in sectors."""
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.ioctl(fd, what, struct.pack("QQ", start, length))
    finally:
        os.close(fd)


def forget(path: str) -> None:
    """Drops all pages of a file that are not dirty from the page cache."""
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def make_file(path: str, mib: int) -> str:
    """A file of written blocks, clean and not cached."""
    with open(path, "wb") as f:
        for _ in range(mib):
            f.write(b"\x5a" * (1 << 20))
    forget(path)
    return path


@contextlib.contextmanager
def frozen(point: str) -> Iterator[None]:
    """Nobody can write to the file system at @point inside."""
    fd = os.open(point, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, FIFREEZE, 0)
        try:
            yield
        finally:
            fcntl.ioctl(fd, FITHAW, 0)
    finally:
        os.close(fd)
