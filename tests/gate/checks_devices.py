# SPDX-License-Identifier: GPL-2.0-only
"""Devices that lie on others: each knows those on it, and has its own time alone."""
from __future__ import annotations

import os
import subprocess

import fileio
import machine
import tool
from checks_record import Record, compare, report
from harness import Gate, suite
from levels import indented
from machine import Disk
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
    gate.check("time.upper", 16 * MS <= own <= 40 * MS, own_ms=own / MS, wanted="20")
    gate.check("time.lower", 10 * MS <= below <= 20 * MS, device_ms=below / MS, wanted="10")
    gate.check("time.sum", abs(own + below + lower["tag_mean_ns"] + lower["queue_mean_ns"] -
                               upper["device_mean_ns"]) <= 2, upper_ms=upper["device_mean_ns"] / MS)
