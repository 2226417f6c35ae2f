# SPDX-License-Identifier: GPL-2.0-only
"""Arrays of md, and zram that writes pages back: the disks below, and what each of them did."""
from __future__ import annotations

import os
from pathlib import Path

import fileio
import machine
from harness import Gate, suite
from machine import Disk
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


def amount(trace: Trace, disk: Disk, op: str) -> int:
    return trace.total("bytes", "requests", dev=disk.name, op=op)


@suite("devices.md", 240)
def arrays(gate: Gate) -> None:
    """A byte that is read is read from one disk, and in a mirror written to both."""
    gate.not_native("md")
    for level, copies in (("raid0", 1), ("raid1", 2)):
        disks = [machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1) for _ in range(2)]
        array = md(gate, level, disks)
        chosen = [arg for disk in (array, *disks) for arg in ("-d", disk.name)]
        size = 2 * CHUNK  # both stripes of raid0
        with Trace("--by", "dev", *chosen) as trace:
            fileio.read_at(array.path, [i * size for i in range(N)], size, os.O_DIRECT)
            fileio.write_at(array.path, [i * size for i in range(N)], size, os.O_DIRECT)
        gate.prefix = f"devices.md.{level}."
        for op, wanted in (("R", N * size), ("W", N * size * copies)):
            above, below = amount(trace, array, op), [amount(trace, disk, op) for disk in disks]
            gate.check(f"bytes.{op}", above == N * size and sum(below) == wanted and
                       (copies > 1 and op == "R" or min(below) == max(below)),
                       above=above, below=str(below), wanted=wanted)
        parents = {disk.name: {str(row["parent"]) for row in trace.rows("requests", dev=disk.name)} for disk in disks}
        gate.check("parent", all(found == {str([array.name])} for found in parents.values()), found=str(parents))
        own = [row for row in trace.rows("requests", dev=array.name)]
        gate.check("own", len(own) == 2 and all(0 < row["own_mean_ns"] < row["device_mean_ns"] for row in own),
                   rows=str([(row["own_mean_ns"], row["device_mean_ns"]) for row in own]))


@suite("devices.zram")
def zram_written_back(gate: Gate) -> None:
    """What zram has written to the disk behind it is read from there."""
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
