# SPDX-License-Identifier: GPL-2.0-only
"""System calls about mapped memory: those that read or sync a file are operations, of that file."""
from __future__ import annotations

import ctypes
import mmap
import os

import fileio
import machine
import places
from harness import Gate, Skip, suite
from tool import Trace, is_missing

MIB = 1 << 20
POPULATE_READ, POPULATE_WRITE, RANDOM, MCL_CURRENT = 22, 23, 1, 1
# how often each is called, by what it is called
COUNTS = {"msync": 23, "mlock": 5, "mlock2": 7, "madvise": 13, "mmap": 11}

libc = ctypes.CDLL(None, use_errno=True)


def mapping(file: str | None, flags: int = 0) -> mmap.mmap:
    if not file:
        return mmap.mmap(-1, MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags)
    fd = os.open(file, os.O_RDWR)
    try:
        return mmap.mmap(fd, MIB, mmap.MAP_SHARED | flags)
    finally:
        os.close(fd)


def call(name: str, m: mmap.mmap, *args: int) -> None:
    here = ctypes.c_char.from_buffer(m)
    got = getattr(libc, name)(ctypes.c_void_p(ctypes.addressof(here)), ctypes.c_size_t(MIB), *args)
    if got:
        raise OSError(ctypes.get_errno(), name)


def use(file: str | None, times: int = 1) -> None:
    """Each so often, times @times; and some that read nothing, which are no operations."""
    m = mapping(file)
    for _ in range(times):
        for _ in range(COUNTS["msync"]):
            call("msync", m, 4)  # MS_SYNC
        for _ in range(COUNTS["mlock"]):
            call("mlock", m)
        for _ in range(COUNTS["mlock2"]):
            call("mlock2", m, 1)  # MLOCK_ONFAULT; without it the C library calls mlock
        for i in range(COUNTS["madvise"]):
            call("madvise", m, POPULATE_WRITE if i % 2 else POPULATE_READ)
            call("madvise", m, RANDOM)
        for _ in range(COUNTS["mmap"]):
            mapping(file, mmap.MAP_POPULATE).close()
            mapping(file).close()
    call("munlock", m)
    m.close()


def need_mappings() -> None:
    if is_missing("fault"):
        raise Skip("this kernel does not tell programs which file memory is of")


def calls(trace: Trace) -> dict[str, int]:
    """The number of each of the calls in COUNTS."""
    found: dict[str, int] = {}
    for row in trace.rows("layers"):
        if row["call"] in COUNTS:
            found[row["call"]] = found.get(row["call"], 0) + row["count"]
    return found


@suite("mapped.calls", 300)
def each_by_its_file(gate: Gate) -> None:
    """As often as each was called for that file, or for one below that directory; none of another file, nor
    of memory without one."""
    need_mappings()
    point = machine.mounted(gate.stack, gate.kept, machine.loop(gate.stack, gate.kept, 64), "ext4")
    layered = places.place(gate, "overlay").point
    other = fileio.make_file(f"{point}/other", 1)
    for name, at, chosen in (("file", f"{point}/mapped", "mapped"), ("directory", f"{point}/d/mapped", "d"),
                             ("overlay", f"{layered}/mapped", "mapped")):
        gate.prefix = f"mapped.calls.{name}."
        os.makedirs(os.path.dirname(at), exist_ok=True)
        file = fileio.make_file(at, 1)
        fs = "overlay" if name == "overlay" else "ext4"
        with Trace("-T", "syscall", "--by", "file", "--file",
                   f"{os.path.dirname(at).removesuffix('/d')}/{chosen}") as trace:
            use(file)
            use(other, 2)
            use(None, 3)
        rows = [row for row in trace.rows("layers") if row["call"] in COUNTS]
        gate.check("count", calls(trace) == COUNTS, wanted=str(COUNTS), found=str(calls(trace)))
        gate.check("place", all(row["key"] == file and row["fs"] == fs and not row["errors"] for row in rows),
                   rows=str([(row["key"], row["fs"], row["errors"]) for row in rows][:3]))
        gate.check("lost", not sum(trace.lost().values()), **trace.lost())


@suite("mapped.unknown", 300)
def without_a_file(gate: Gate) -> None:
    """Where no mapping can be looked up they have no file; mlockall has none anywhere."""
    file = fileio.make_file(f"{places.place(gate, 'ext4').point}/mapped", 1)
    blind = is_missing("fault")
    with Trace("-T", "syscall", "-p", str(os.getpid())) as trace:
        m = mapping(file)
        for _ in range(COUNTS["msync"]):
            call("msync", m, 4)
        m.close()
        for _ in range(3):
            libc.mlockall(MCL_CURRENT)
        libc.munlockall()
    fs = {row["call"]: (row["fs"], row["count"]) for row in trace.rows("layers")}
    gate.check("count", fs.get("mlockall") == (None, 3) and
               fs.get("msync") == (None if blind else "ext4", COUNTS["msync"]), blind=blind, found=str(fs))


@suite("mapped.read", 300)
def what_they_read(gate: Gate) -> None:
    """The bytes come from the device for them, and none for nobody."""
    need_mappings()
    point = machine.mounted(gate.stack, gate.kept, machine.loop(gate.stack, gate.kept, 64), "ext4")
    files = {name: fileio.make_file(f"{point}/{name}", 1) for name in ("mmap", "mlock", "madvise")}
    for file in files.values():
        fileio.forget(file)
    maps = {name: mapping(file) for name, file in files.items()}
    with Trace("--by", "file", "--file", str(point), "--slowest", "5", "--op", "meta") as trace:
        for name, file in files.items():
            if name == "mmap":
                mapping(file, mmap.MAP_POPULATE).close()
            else:
                call(name, maps[name], *[POPULATE_READ][:name == "madvise"])
    for m in maps.values():
        m.close()
    # munmap and the fstat of Python's mmap read nothing; where calls by path have no file, fstat has none, either
    slowest = sorted((r["path"], r["call"], r["len"], r["device_bytes"]) for r in trace.json["slowest"]
                     if r["call"] not in ("munmap", "newfstatat", "fstat"))
    gate.check("slowest", slowest == sorted((file, name, None if name == "mmap" else MIB, MIB)
                                            for name, file in files.items()), seen=str(slowest))
    for name, file in files.items():
        mine = {"op": "meta", "key": file}
        gate.check(f"{name}.bytes", trace.total("device_bytes", fs="ext4", **mine) == MIB and
                   trace.total("count", **mine) in ((2, 3) if name == "mmap" else (1,)),
                   ours=trace.total("device_bytes", **mine), wanted=MIB, count=trace.total("count", **mine))
