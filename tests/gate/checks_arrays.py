# SPDX-License-Identifier: GPL-2.0-only
"""Arrays of md, and zram that writes pages back: the figures of the disks below."""
from __future__ import annotations

import os
from pathlib import Path

import fileio
import machine
import oracles
from harness import Gate, Skip, suite
from levels import Levels
from machine import Disk
from oracles import DiskStat
from tool import Trace

KIB, MIB, N = 1024, 1 << 20, 53
CHUNK = 64 * KIB


def md(gate: Gate, level: str, disks: list[Disk]) -> Disk:
    """An array without metadata, made as mdadm makes it."""
    machine.need_module(gate.kept, level)
    name = f"md_{level}"
    machine.put("/sys/module/md_mod/parameters/new_array", name)
    at = Path(f"/sys/block/{name}/md")
    gate.stack.callback(machine.put, at / "array_state", "clear")
    machine.put(at / "metadata_version", "none")
    machine.put(at / "level", level)
    machine.put(at / "raid_disks", len(disks))
    if level == "raid0":
        machine.put(at / "chunk_size", CHUNK)
    for slot, disk in enumerate(disks):
        machine.put(at / "new_dev", machine.get(f"/sys/block/{disk.name}/dev"))
        machine.put(at / f"dev-{disk.name}/size", 32 * KIB)  # in KiB
        machine.put(at / f"dev-{disk.name}/slot", slot)
    if level == "raid1":
        machine.put(at / "component_size", 32 * KIB)
        machine.put(at / "resync_start", "none")  # they are alike
    machine.put(at / "array_state", "active")
    with open(f"/dev/{name}", "rb"):  # the kernel looks for partitions
        pass
    return Disk(name)


# Since when a level counts what the array does, and clones the bios for that; before, it hands on those
# that it gets, and nothing tells when they are done.
COUNTED_SINCE = {"raid0": (5, 14), "raid1": (0, 0), "linear": (6, 6)}


def levels(gate: Gate) -> list[str]:
    try:
        machine.need_module(gate.kept, "linear")
    except Skip:  # Debian's from 6.8 on
        return ["raid0", "raid1"]
    return ["raid0", "raid1", "linear"]


@suite("devices.md", 240)
def arrays(gate: Gate) -> None:
    """A byte that is read is read from one disk, and in a mirror written to both."""
    gate.not_native("md")
    size = 2 * CHUNK  # both stripes of raid0
    made = {}
    for level in levels(gate):
        disks = [machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1) for _ in range(2)]
        made[level] = (md(gate, level, disks), disks)
    above = {disk: [array] for array, disks in made.values() for disk in disks}
    above |= {array: [] for level, (array, _) in made.items() if machine.release() >= COUNTED_SINCE[level]}
    with Levels(gate, above) as traced:
        for level, (array, _) in made.items():
            # of linear, 26 on the first disk, 27 on the second
            first = 32 * MIB - 26 * size if level == "linear" else 0
            fileio.read_at(array.path, [first + i * size for i in range(N)], size, os.O_DIRECT)
            fileio.write_at(array.path, [first + i * size for i in range(N)], size, os.O_DIRECT)
    for level, (array, disks) in made.items():
        shares = {"raid0": [N * CHUNK, N * CHUNK], "raid1": [N * size, N * size],
                  "linear": [26 * size, 27 * size]}[level]
        if array in above:
            traced.check_bytes(level, array, R=N * size, W=N * size)
            if level != "raid1":  # which need not read from its first disk
                traced.check_tree(level, array, disks[0])
        else:
            gate.check(f"{level}.none", not traced.trace.rows("requests", dev=array.name))
        for disk, share in zip(disks, shares):
            traced.check_bytes(f"{level}.{disk.name}", disk, W=share, **({} if level == "raid1" else {"R": share}))
        read = sum(traced.amount(disk, "R") for disk in disks)
        gate.check(f"{level}.read", read == N * size, bytes=read, wanted=N * size)


@suite("devices.parts")
def parts(gate: Gate) -> None:
    """md splits bios that cross a chunk, with an event or without: what is seen is what the array counts."""
    gate.not_native("md")
    if machine.release() < COUNTED_SINCE["raid0"]:
        raise Skip("this kernel's raid0 counts nothing")
    disks = [machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1) for _ in range(2)]
    array = md(gate, "raid0", [machine.dm_delay(gate.stack, gate.kept, disk, 1) for disk in disks])
    with Trace("--strict") as trace:
        before = DiskStat.of(array)
        for size in (CHUNK, MIB // 2):
            at = [4 * KIB + i * MIB // 2 for i in range(N)]
            fileio.read_at(array.path, at, size, os.O_DIRECT)
            fileio.write_at(array.path, at, size, os.O_DIRECT)
        stats = DiskStat.of(array) - before
    oracles.compare_requests(gate, "raid0", array, stats, trace)


def amount(trace: Trace, disk: Disk, op: str) -> int:
    return trace.total("bytes", "requests", dev=disk.name, op=op)


@suite("devices.zram")
def zram_written_back(gate: Gate) -> None:
    """zram reads pages that it wrote to its backing disk from this disk."""
    gate.not_native("zram")
    below = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=64)
    machine.need_module(gate.stack, "zram", "num_devices=1")
    at = Path("/sys/block/zram0")
    machine.put(at / "backing_dev", below.path)
    machine.put(at / "disksize", 16 * MIB)
    disk = Disk("zram0")
    gate.stack.callback(machine.put, at / "reset", 1)
    with open(disk.path, "r+b", buffering=0) as f:
        for _ in range(N):
            f.write(os.urandom(4096))
        os.fsync(f.fileno())
    with Trace("--by", "dev", "-d", disk.name, "-d", below.name) as trace:
        machine.put(at / "idle", "all")
        machine.put(at / "writeback", "idle")
        fileio.read_at(disk.path, [i * 4096 for i in range(N)], 4096, os.O_DIRECT)
    figures = {f"{d.name}.{op}": amount(trace, d, op) for d in (disk, below) for op in ("R", "W")}
    gate.check("bytes", figures == {"zram0.R": N * 4096, "zram0.W": 0, f"{below.name}.R": N * 4096,
                                    f"{below.name}.W": N * 4096}, **figures)
    parents = {str(row["parent"]) for row in trace.rows("requests", dev=below.name)}
    gate.check("parent", parents == {"['zram0']"}, found=str(parents))
