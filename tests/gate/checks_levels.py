# SPDX-License-Identifier: GPL-2.0-only
"""Disks that lie on others by device mapper, by a file on a partition, and by several paths: each byte
once a level."""
from __future__ import annotations

import os
from pathlib import Path

import fileio
import machine
from harness import Gate, Skip, suite
from levels import Levels
from machine import Disk
from tool import Trace

KIB, MIB = 1024, 1 << 20
READS, WRITES = 53, 31
BLOCK = 64 * KIB  # of the thin device


def null_blk(gate: Gate, mib: int = 16) -> Disk:
    return machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=mib)


def crypt(gate: Gate, below: Disk) -> Disk:
    machine.need_module(gate.kept, "crypto_null")
    return machine.dm(gate.stack, gate.kept, "dm_crypt", below.name,
                      f"0 {machine.get(below.sys / 'size')} crypt cipher_null-ecb - 0 {below.path} 0")


def thin(gate: Gate, meta: Disk, data: Disk) -> tuple[Disk, Disk]:
    """A device whose blocks are all there, and the pool that has them."""
    size = machine.get(data.sys / "size")
    pool = machine.dm(gate.stack, gate.kept, "dm_thin_pool", data.name,
                      f"0 {size} thin-pool {meta.path} {data.path} {BLOCK // 512} 0")
    machine.run("dmsetup", "message", machine.get(pool.sys / "dm/name"), "0", "create_thin 0")
    disk = machine.dm(gate.stack, gate.kept, "dm_thin_pool", f"{data.name}-thin",
                      f"0 {size} thin {pool.path} 0")
    fileio.write_at(disk.path, [i * BLOCK for i in range(READS)], BLOCK, os.O_DIRECT, sync=True)
    return disk, pool


def partition(gate: Gate, disk: Disk) -> Disk:
    """A partition of all of @disk but the first MiB."""
    size = int(machine.get(disk.sys / "size"))
    machine.run("addpart", disk.path, "1", "2048", str(size - 2048))
    gate.stack.callback(machine.run, "delpart", disk.path, "1")
    part = Disk(f"{disk.name}p1")
    if not machine.wait_for(lambda: os.path.exists(part.path)):
        raise Skip(f"no {part.path}")
    return part


def direct_loop(gate: Gate, below: Disk) -> Disk:
    """A loop device on a file on ext4, which it reads and writes past the page cache."""
    point = machine.mounted(gate.stack, gate.kept, below, "ext4")
    disk = machine.loop(gate.stack, gate.kept, 8, point)
    fileio.write_at(disk.path, [i * BLOCK for i in range(8 * MIB // BLOCK)], BLOCK, os.O_DIRECT, sync=True)
    machine.run("losetup", "--direct-io=on", disk.path)
    os.sync()
    return disk


@suite("devices.levels", 240)
def levels(gate: Gate) -> None:
    gate.not_native("device mapper")
    plain, data, whole = (null_blk(gate) for _ in range(3))
    encrypted = crypt(gate, plain)
    volume, pool = thin(gate, null_blk(gate), data)
    file = direct_loop(gate, partition(gate, whole))
    chains = {"crypt": (encrypted, plain), "thin": (volume, pool, data), "loop": (file, whole)}
    above = {disk: list(chain[i - 1:i]) for chain in chains.values() for i, disk in enumerate(chain)}
    with Levels(gate, above) as traced:
        for chain in chains.values():
            fileio.read_at(chain[0].path, [i * BLOCK for i in range(READS)], BLOCK, os.O_DIRECT)
            fileio.write_at(chain[0].path, [i * BLOCK for i in range(WRITES)], BLOCK, os.O_DIRECT)
    for name, chain in chains.items():
        for disk in chain:
            traced.check_bytes(f"{name}.{disk.name}", disk, R=READS * BLOCK, W=WRITES * BLOCK)
        traced.check_tree(name, *chain)
    waterfall(gate, file, whole)


def waterfall(gate: Gate, file: Disk, whole: Disk) -> None:
    """A slow read of a file on the loop device: the disks that it waited for, from the top down."""
    path = fileio.make_file(f"{machine.mounted(gate.stack, gate.kept, file, 'ext4')}/file", 1)
    with Trace("--slowest", "3", "--op", "read", "-d", file.name) as trace:
        fileio.read_at(path, fileio.spread(11, 4096, MIB), 4096, os.O_DIRECT)
    slowest = trace.json["slowest"]
    gate.check("waterfall", len(slowest) == 3 and all(
        r["disks"] == [[file.name], [whole.name]] and r["strata"]["device"] > 0 for r in slowest),
        found=str([(r["disks"], r["strata"]["device"]) for r in slowest]))


PCI = Path("/sys/bus/pci")


def with_paths(gate: Gate) -> tuple[Disk, list[Disk]]:
    """NVMe multipath: a disk, and its paths, which have no device files. No driver is bound to the disk's two
    controllers yet (tests/vm/boot)."""
    found = [p for p in PCI.glob("devices/*") if (p / "driver_override").exists() and
             machine.get(p / "driver_override") == "nobody"]
    if len(found) != 2:
        raise Skip("no NVMe disk with two paths (tests/vm/boot)")
    for controller in found:
        machine.setting(gate.stack, controller / "driver_override", "nvme")
        machine.put(PCI / "drivers_probe", controller.name)
        gate.stack.callback(machine.put, PCI / "drivers/nvme/unbind", controller.name)
    disks: list[str] = []

    def there() -> bool:
        disks[:] = [p.name for at in Path("/sys/class/nvme").glob("*") if machine.get(at / "serial") == "paths"
                    for p in at.glob("nvme*c*n1")]
        return len(disks) == 2

    if not machine.wait_for(there, 20):
        raise Skip(f"this kernel has no NVMe multipath: {disks}")
    disk = Disk(f"{disks[0].partition('c')[0]}n1")
    if not machine.wait_for(lambda: os.path.exists(disk.path)):
        raise Skip(f"no {disk.path}")
    return disk, [Disk(name) for name in disks]


@suite("devices.paths", 240)
def paths(gate: Gate) -> None:
    """The disk's requests are those of its paths together. The first write is so large that the kernel splits it."""
    gate.not_native("writing to a disk that is not the gate's")
    disk, ways = with_paths(gate)
    machine.put(f"/sys/class/nvme-subsystem/nvme-subsys{disk.name[4:-2]}/iopolicy", "round-robin")
    with Levels(gate, {disk: []}) as traced:
        # not earlier: the kernel looks for partitions while the tool starts
        before = [machine.get(way.sys / "stat").split() for way in ways]
        fileio.write_at(disk.path, [0], 4 * MIB, os.O_DIRECT)
        fileio.read_at(disk.path, fileio.spread(READS, 4096, MIB), 4096, os.O_DIRECT)
        fileio.write_at(disk.path, fileio.spread(WRITES, 8192, MIB), 8192, os.O_DIRECT)
        fileio.write_at(disk.path, [0], 4096, sync=True)
    stats = [[int(b) - int(a) for a, b in zip(old, machine.get(way.sys / "stat").split())]
             for old, way in zip(before, ways)]
    rows = {row["op"]: row for row in traced.trace.rows("requests")}
    for op, at, size in (("R", 0, READS * 4096), ("W", 4, 4 * MIB + WRITES * 8192 + 4096)):
        counts = [stat[at] for stat in stats]
        sectors = sum(stat[at + 2] for stat in stats)
        gate.check(op, rows[op]["count"] == sum(counts) and rows[op]["bytes"] == size == 512 * sectors and
                   min(counts) > 0, count=rows[op]["count"], paths=str(counts), bytes=rows[op]["bytes"],
                   statistics=512 * sectors, wanted=size)
    flushes = sum(stat[15] for stat in stats)
    found = rows["F"]["count"] if "F" in rows else 0
    gate.check("F", found == flushes, count=found, paths=flushes)
    gate.check("disk", {row["dev"] for row in traced.trace.rows("requests")} == {disk.name},
               found=str({row["dev"] for row in traced.trace.rows("requests")}))
