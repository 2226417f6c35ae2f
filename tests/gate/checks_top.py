# SPDX-License-Identifier: GPL-2.0-only
"""top: who makes the I/O, against what each did and against the disks' own statistics."""
from __future__ import annotations

import os
from pathlib import Path

import checks_requests
import machine
import oracles
from harness import Gate, Skip, suite
from maps import Maps, number
from oracles import DiskStat
from tool import Top, Traces

MIB = 1 << 20


def idle(disk: machine.Disk) -> None:
    os.sync()
    machine.wait_for(lambda: not int(machine.get(disk.sys / "stat").split()[8]))


@suite("top.diskstats", 180)
def against_diskstats(gate: Gate) -> None:
    """The sum over all rows and intervals, by whatever key: direct, merged, split, flushed,
    discarded, written back, of a journal; and each request once, also if it spans two intervals."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    fs_disk = machine.loop(gate.stack, gate.kept, 96)
    # the tools begin one after the other, and nobody else shall read or write meanwhile
    point = machine.mounted(gate.stack, gate.kept, fs_disk, "ext4", "noatime,noinit_itable")
    idle(fs_disk)
    # by tid, name, cgroup and container it is the kernel's same rows; each tool that starts takes
    # half a minute on an emulated 7.x
    tops = {by: Top("--by", by, "0.3") for by in ("pid", "file")}
    with Traces(dict(tops)):
        before = {d: DiskStat.of(d) for d in (disk, fs_disk)}
        checks_requests.prime_requests(disk)
        checks_requests.journal_work(str(point))
        idle(disk)
        idle(fs_disk)
        deltas = {d: DiskStat.of(d) - before[d] for d in (disk, fs_disk)}
    for by, top in tops.items():
        for label, d in (("bare", disk), ("ext4", fs_disk)):
            oracles.compare_requests(gate, f"{by}.{label}", d, deltas[d], top, rows="rows",
                                     name_of="disk")
        gate.check(f"{by}.lost", not top.lost()["map_full"], intervals=len(top.objects), **top.lost())


def dd_called(gate: Gate, name: str) -> str:
    """dd under a name of its own."""
    program = machine.scratch(gate.kept) / name
    if not program.exists():
        program.write_bytes(Path(machine.run("which", "dd").strip()).read_bytes())
        program.chmod(0o755)
    return f"{program} status=none"


def dd(gate: Gate, name: str, *args: str) -> None:
    machine.run(*dd_called(gate, name).split(), *args)


def bytes_of(top: Top, disk: machine.Disk, name: str, op: str) -> tuple[int, int]:
    match = {"disk": disk.name, "comm": name, "op": op}
    return top.total("count", "rows", **match), top.total("bytes", "rows", **match)


@suite("top.processes")
def each_its_own(gate: Gate) -> None:
    """Processes that are gone when the interval ends, at once on a disk."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    reads = {"reader23": (23, 4096), "reader101": (101, 8192), "reader1009": (1009, 512)}
    with Top("0.3") as top:
        for name, (n, size) in reads.items():
            dd(gate, name, f"if={disk.path}", "of=/dev/null", "iflag=direct", f"bs={size}", f"count={n}")
        dd(gate, "writer53", "if=/dev/zero", f"of={disk.path}", "oflag=direct", "bs=8192", "count=53")
    for name, (n, size) in reads.items():
        got = bytes_of(top, disk, name, "R")
        gate.check(name, got == (n, n * size), count=got[0], bytes=got[1], wanted=n * size)
    got = bytes_of(top, disk, "writer53", "W")
    gate.check("writer53", got == (53, 53 * 8192), count=got[0], bytes=got[1], wanted=53 * 8192)


@suite("top.on-behalf")
def written_back(gate: Gate) -> None:
    """What is written back is of who made it dirty, even if that has ended, and not of who writes
    it back: a kernel thread, or who calls sync. What a process writes itself is its own."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    with Top("0.3") as top:
        dd(gate, "buffered", "if=/dev/zero", f"of={point}/a", "bs=65536", "count=67")
        dd(gate, "synced", "if=/dev/zero", f"of={point}/b", "bs=8192", "count=53", "conv=fsync")
        dd(gate, "direct", "if=/dev/zero", f"of={point}/c", "bs=4096", "count=101", "oflag=direct")
        idle(disk)
    wanted = {"buffered": 67 * 65536, "synced": 53 * 8192, "direct": 101 * 4096}
    for name, size in wanted.items():
        behalf = "writeback" if name == "buffered" else None
        match = {"disk": disk.name, "comm": name, "op": "W", "on_behalf": behalf}
        got = top.total("bytes", "rows", **match)
        gate.check(name, abs(got - size) <= size / 100, bytes=got, wanted=size, allowed="1%")
    workers = sum(row["bytes"] for row in top.rows("rows", disk=disk.name, op="W")
                  if (row["comm"] or "").startswith("kworker"))
    gate.check("kworker", workers <= sum(wanted.values()) / 100, bytes=workers, allowed="1%")


@suite("top.on-behalf.device")
def written_to_a_device(gate: Gate) -> None:
    """Of a block device each page is somebody's: who made it dirty, not who was the last on the
    device."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    wanted = {"first": 67 * 65536, "second": 101 * 65536}
    with open(disk.path, "rb"), Top("0.3") as top:  # nobody is the last to close it, and writes all back
        for seek, (name, size) in zip((0, 200), wanted.items()):
            dd(gate, name, "if=/dev/zero", f"of={disk.path}", "bs=65536", f"count={size >> 16}", f"seek={seek}",
               "conv=notrunc")
        idle(disk)
    for name, size in wanted.items():
        got = top.total("bytes", "rows", disk=disk.name, comm=name, op="W", on_behalf="writeback")
        gate.check(name, got == size, bytes=got, wanted=size)


@suite("top.dirtied-again")
def dirtied_again(gate: Gate) -> None:
    """Who is traced writes a file; later who is not traced writes the same pages: these are not of who
    wrote them first."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    with Top("--comm", "first", "0.3") as top:
        for name in ("first", "second"):
            dd(gate, name, "if=/dev/zero", f"of={point}/a", "bs=65536", "count=23", "conv=notrunc")
            idle(disk)
    got, size = bytes_of(top, disk, "first", "W")[1], 23 * 65536
    gate.check("first", abs(got - size) <= size / 100, bytes=got, wanted=size, allowed="1%")


def kept_back(top: Top) -> int:
    """Bios that blk-throttle has kept back and not yet queued, as far as the programs know."""
    maps = Maps(top.proc.pid)
    q = maps.member("io_state", "q")
    return sum(not number(io, q, 8) for _, io in maps.elements("ios"))


@suite("top.throttled")
def throttled_on_behalf(gate: Gate) -> None:
    """What one has made dirty and another writes back, blk-throttle keeps back. When that is over
    nothing is left of it, and later writes under the same limit are of those who make them."""
    if not os.path.exists("/sys/kernel/tracing/kprobe_events"):
        raise Skip("what blk-throttle keeps back is not seen here")
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    dd(gate, "before", "if=/dev/zero", f"of={point}/a", "bs=4096", "count=82", "conv=fsync")
    group = machine.few_ios(gate.stack, disk, "write", 40)
    idle(disk)
    dirty = (f"for i in $(seq 0 2 81); do {dd_called(gate, 'dirtier')} if=/dev/zero of={point}/a bs=4096 "
             f"count=1 conv=notrunc seek=$i; done; sync {point}/a")
    direct = (f"exec {dd_called(gate, 'direct')} if=/dev/zero of={point}/a bs=4096 count=53 conv=notrunc "
              f"oflag=direct")
    with Top("0.3") as top:
        machine.run("sh", "-c", f"echo $$ >{group}/cgroup.procs; {dirty}")
        idle(disk)
        left = kept_back(top)
        machine.run("sh", "-c", f"echo $$ >{group}/cgroup.procs; {direct}")
        idle(disk)
    got = bytes_of(top, disk, "dirtier", "W")
    gate.check("dirtier", got[1] == 41 * 4096, count=got[0], bytes=got[1], wanted=41 * 4096)
    gate.check("left", not left, states=left)
    got = bytes_of(top, disk, "direct", "W")
    gate.check("direct", got == (53, 53 * 4096), count=got[0], bytes=got[1], wanted=53 * 4096)
