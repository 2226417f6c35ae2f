# SPDX-License-Identifier: GPL-2.0-only
"""Devices that lie on others: each knows those on it, and has its own time alone."""
from __future__ import annotations

import os
import subprocess

import fileio
import machine
import oracles
import tool
from checks_record import Record, compare, report
from harness import Gate, Skip, suite
from levels import indented
from machine import Disk
from oracles import DiskStat
from tool import Trace

MS = 1_000_000
READS = 11
KIB, MIB = 1024, 24  # as large as is the file below the loop device
WHOLE = [i * 64 * KIB for i in range(MIB * 16)]


def slow_stack(gate: Gate) -> tuple[Disk, Disk]:
    """A device that adds 20 ms to each read, and the disk of 10 ms below it."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=10 * MS,
                            memory_backed=1)
    return machine.dm_delay(gate.stack, gate.kept, disk, 20), disk


def file_stack(gate: Gate) -> tuple[Disk, Disk, list[Disk]]:
    """A loop device over a file on ext4, the linear device of that, and the two disks below."""
    disks = [machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=size)
             for size in (16, 64)]
    linear = machine.dm_linear(gate.stack, gate.kept, disks)
    point = machine.mounted(gate.stack, gate.kept, linear, "ext4")
    return machine.loop(gate.stack, gate.kept, MIB, point), linear, disks


@suite("devices.stacked", 240)
def stacked(gate: Gate) -> None:
    gate.not_native("device mapper")
    delay, slow = slow_stack(gate)
    loop, linear, disks = file_stack(gate)
    fileio.write_at(loop.path, WHOLE, 64 * KIB, os.O_DIRECT, sync=True)
    os.sync()
    names = [d.name for d in (delay, slow, loop, linear, *disks)]
    chosen = [arg for name in names for arg in ("-d", name)]
    file = machine.scratch(gate.kept) / "devices.ios"
    with Record(file, "-j", "--breakdown", "--by", "dev", *chosen) as trace:
        fileio.read_at(delay.path, fileio.spread(READS, 4 * KIB, 1 << 24), 4 * KIB, os.O_DIRECT)
        machine.put("/proc/sys/vm/drop_caches", 1)
        fileio.read_at(loop.path, WHOLE, 64 * KIB, os.O_DIRECT)
    check_parents(gate, trace, {delay: [], slow: [delay], loop: [], linear: [loop],
                                disks[0]: [linear], disks[1]: [linear]})
    check_times(gate, trace, delay, slow)
    compare(gate, "report", trace.json, report("-j", "--by", "dev", str(file))[0])
    text = subprocess.run([tool.copy(), "report", "--by", "dev", "-v", str(file)], capture_output=True,
                          text=True, check=True).stdout
    found = indented(text)
    for name, wanted in (("delay", [(0, delay.name), (1, slow.name)]),
                         ("file", [(0, loop.name), (1, linear.name)])):
        at = found.index(wanted[0]) if wanted[0] in found else 0
        gate.check(f"tree.{name}", found[at:at + 2] == wanted, tree=str(found))
    gate.check("tree.linear", all((2, d.name) in found for d in disks), tree=str(found))


def check_parents(gate: Gate, trace: Trace, wanted: dict[Disk, list[Disk]]) -> None:
    for disk, uppers in wanted.items():
        parents = [r["parent"] for r in trace.rows("requests", dev=disk.name, op="R")]
        gate.check(f"parent.{disk.name}", parents == [[u.name for u in uppers]], found=str(parents))


def check_times(gate: Gate, trace: Trace, delay: Disk, slow: Disk) -> None:
    """10 ms in the disk, 20 in what lies on it. Emulated CPUs and jiffies add to both, never less."""
    upper, lower = (trace.rows("requests", dev=d.name, op="R")[0] for d in (delay, slow))
    gate.check("counts", upper["count"] == lower["count"] == READS, upper=upper["count"],
               lower=lower["count"])
    own, below = upper["own_mean_ns"] or 0, lower["device_mean_ns"]
    gate.check("time.upper", 16 * MS <= own, own_ms=own / MS, wanted=">=16")
    gate.check("time.lower", 10 * MS <= below, device_ms=below / MS, wanted=">=10")
    gate.check("time.sum", abs(own + below + lower["tag_mean_ns"] + lower["queue_mean_ns"] -
                               upper["device_mean_ns"]) <= 2, upper_ms=upper["device_mean_ns"] / MS)


def striped(gate: Gate, disks: list[Disk]) -> Disk:
    size = sum(int(machine.get(d.sys / "size")) for d in disks)
    parts = " ".join(f"{d.path} 0" for d in disks)
    return machine.dm(gate.stack, gate.kept, "dm_mod", "striped", f"0 {size} striped {len(disks)} 128 {parts}")


def crypt(gate: Gate, disks: list[Disk]) -> Disk:
    size = machine.get(disks[0].sys / "size")
    return machine.dm(gate.stack, gate.kept, "dm_crypt", "crypt",
                      f"0 {size} crypt aes-xts-plain64 {'5a' * 32} 0 {disks[0].path} 0")


def thin(gate: Gate, disks: list[Disk]) -> Disk:
    """A thin volume of 16 MiB, in chunks of 64 KiB, all of them there already."""
    metadata, data = disks
    pool = machine.dm(gate.stack, gate.kept, "dm_thin_pool", "pool",
                      f"0 {machine.get(data.sys / 'size')} thin-pool {metadata.path} {data.path} 128 0")
    machine.run("dmsetup", "message", machine.get(pool.sys / "dm/name"), "0", "create_thin 0")
    volume = machine.dm(gate.stack, gate.kept, "dm_thin_pool", "thin", f"0 32768 thin {pool.path} 0")
    fileio.write_at(volume.path, WHOLE[:256], 64 * KIB, os.O_DIRECT, sync=True)
    return volume


def snapshot(gate: Gate, disks: list[Disk]) -> Disk:
    """A snapshot in chunks of 16 KiB, of which the first halves are its own."""
    origin, cow = disks
    size = machine.get(origin.sys / "size")
    volume = machine.dm(gate.stack, gate.kept, "dm_snapshot", "snapshot",
                        f"0 {size} snapshot {origin.path} {cow.path} N 32")
    fileio.write_at(volume.path, [i * 32 * KIB for i in range(64)], 16 * KIB, os.O_DIRECT, sync=True)
    return volume


def read_all_ways(disk: Disk) -> None:
    """Direct, by the page cache, by libaio and io_uring: 1 MiB at a time, and 128 KiB ahead."""
    fileio.read_at(disk.path, [i << 20 for i in range(READS)], 1 << 20, os.O_DIRECT)
    with open(disk.path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for _ in range(READS):
            file.read(1 << 20)
    oracles.fio_jobs([[f"--ioengine={engine}", "--iodepth=4"] for engine in ("libaio", "io_uring")],
                     f"--filename={disk.path}", "--rw=randread", "--bs=256k", "--direct=1", "--size=16m",
                     f"--number_ios={READS}", "--norandommap")


@suite("devices.mapped", 300)
def mapped(gate: Gate) -> None:
    """Device mapper splits bios: of each disk, what is seen is what the kernel counts, to the last byte."""
    gate.not_native("device mapper")
    for kind, n in ((striped, 2), (crypt, 1), (thin, 2), (snapshot, 2)):
        disks = [machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=32) for _ in range(n)]
        try:
            top = kind(gate, disks)
        except Skip as why:
            gate.skip(kind.__name__, str(why))
            continue
        os.sync()
        with Trace("--strict") as trace:
            before = {d: DiskStat.of(d) for d in (top, *disks)}
            read_all_ways(top)
            fileio.write_at(top.path, [i << 20 for i in range(READS)], 1 << 20, os.O_DIRECT)
            stats = {d: DiskStat.of(d) - before[d] for d in before}
        for name, disk in ((kind.__name__, top), *((f"{kind.__name__}.below", d) for d in disks)):
            if any(stats[disk].ios.values()):
                oracles.compare_requests(gate, name, disk, stats[disk], trace)
        lost = trace.lost()
        gate.check(f"{kind.__name__}.lost", sum(lost.values()) == lost["missed"], **lost)


@suite("devices.zoned", 120)
def zoned(gate: Gate) -> None:
    """A zone append writes data: btrfs on a zoned disk, by the disk's statistics."""
    gate.not_native("null_blk")
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=256, zoned=1, zone_size=4,
                            zone_nr_conv=0)
    point = machine.mounted(gate.stack, gate.kept, disk, "btrfs",
                            make=("-O", "zoned", "-d", "single", "-m", "single"))
    with Trace("--strict") as trace:
        before = DiskStat.of(disk)
        fileio.write_at(str(point / "file"), [i << 20 for i in range(READS)], 1 << 20, os.O_CREAT, sync=True)
        os.sync()
        stats = DiskStat.of(disk) - before
    oracles.compare_requests(gate, "append", disk, stats, trace)
    gate.check("no zone commands", not trace.rows("requests", dev=disk.name, op="Z"), writes=stats.ios["W"])
