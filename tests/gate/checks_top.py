# SPDX-License-Identifier: GPL-2.0-only
"""top: the processes that make the I/O, against their own figures and the disks' statistics."""
from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import checks_requests
import machine
import oracles
from harness import Gate, suite
from oracles import DiskStat
from tool import Top, TopText, Traces, shared

MIB = 1 << 20


def idle(disk: machine.Disk) -> None:
    os.sync()
    machine.wait_until(lambda: not int(machine.get(disk.sys / "stat").split()[8]))


@suite("top.diskstats")
def against_diskstats(gate: Gate) -> None:
    """The sum over all rows and intervals, by whatever key: direct, merged, split, flushed,
    discarded, written back, of a journal; and each request once, also if it spans two intervals."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    fs_disk = machine.loop(gate.stack, gate.kept, 96)
    # the tools begin one after the other, and nobody else shall read or write meanwhile
    point = machine.mounted(gate.stack, gate.kept, fs_disk, "ext4")
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
    with shared(gate, kind=Top) as top:
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
    """Writeback belongs to the dirtier, even one that has ended, and not to the kernel thread, or caller of sync, that
    submits it. Direct writes belong to their process."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    with shared(gate, kind=Top) as top:
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


def helpers_bytes(top: Top, disk: machine.Disk, op: str) -> dict[str, int]:
    """Bytes in the rows of kernel threads that may work for others, by name."""
    names = ("kworker", "jbd2", "loop", "xfs")
    rows = [row for row in top.rows("rows", disk=disk.name, op=op)
            if (row["comm"] or "").startswith(names)]
    return {row["comm"]: row["bytes"] for row in rows}


@suite("top.helpers.journal")
def of_the_journal(gate: Gate) -> None:
    """The requests of the journal's thread belong to the thread which made it commit, and are marked as a helper's."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    with shared(gate, kind=Top) as top:
        for n in range(7):
            dd(gate, "committer", "if=/dev/zero", f"of={point}/{n}", "bs=4096", "count=5", "conv=fsync")
        idle(disk)
    own = top.total("bytes", "rows", disk=disk.name, comm="committer", op="W", on_behalf=None)
    journal = top.total("bytes", "rows", disk=disk.name, comm="committer", op="W", on_behalf="helper")
    everything = top.total("bytes", "rows", disk=disk.name, op="W")
    left = helpers_bytes(top, disk, "W")
    gate.check("own", own >= 7 * 5 * 4096, bytes=own, wanted=7 * 5 * 4096)
    # a commit is a descriptor, at least one block of metadata, and the commit block
    gate.check("journal", journal >= 7 * 3 * 1024, bytes=journal, everything=everything)
    gate.check("helpers", sum(left.values()) <= everything / 100, allowed="1%", **left)


@suite("top.helpers.loop")
def of_a_loop_device(gate: Gate) -> None:
    """The requests that a loop device's thread submits to the disk below belong to the writer of the device."""
    below = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, size=160)
    host = machine.mounted(gate.stack, gate.kept, below, "ext4")
    disk = machine.loop(gate.stack, gate.kept, 96, host)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    idle(below)
    with shared(gate, kind=Top) as top:
        dd(gate, "through-loop", "if=/dev/zero", f"of={point}/a", "bs=65536", "count=67", "conv=fsync")
        idle(disk)
        idle(below)
    size = 67 * 65536
    for label, d in (("loop", disk), ("below", below)):
        everything = top.total("bytes", "rows", disk=d.name, op="W")
        got = top.total("bytes", "rows", disk=d.name, comm="through-loop", op="W")
        left = helpers_bytes(top, d, "W")
        gate.check(label, got >= size, bytes=got, wanted=size, everything=everything)
        gate.check(f"{label}.helpers", sum(left.values()) <= everything / 100, allowed="1%", **left)


@suite("top.on-behalf.device")
def written_to_a_device(gate: Gate) -> None:
    """Each dirty page of a block device belongs to its dirtier, not to the last user of the device."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    wanted = {"first": 67 * 65536, "second": 101 * 65536}
    with open(disk.path, "rb"), shared(gate, kind=Top) as top:  # nobody is the last to close it, and writes all back
        for seek, (name, size) in zip((0, 200), wanted.items()):
            dd(gate, name, "if=/dev/zero", f"of={disk.path}", "bs=65536", f"count={size >> 16}", f"seek={seek}",
               "conv=notrunc")
        idle(disk)
    for name, size in wanted.items():
        got = top.total("bytes", "rows", disk=disk.name, comm=name, op="W", on_behalf="writeback")
        gate.check(name, got == size, bytes=got, wanted=size)


@suite("top.helpers.timer")
def of_a_timer(gate: Gate) -> None:
    """A commit of the journal's thread by its timer belongs to nobody else: not to the thread on the CPU when the
    timer's interrupt comes. Each CPU has such a thread."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4", "noatime,commit=1")
    idle(disk)
    with Top("0.3") as top, TopText("0.3") as text:
        busy = [oracles.actor(gate.stack, "hogs", str(cpu), "1") for cpu in os.sched_getaffinity(0)]
        for n in range(2):
            writes = DiskStat.of(disk).ios["W"]
            (point / str(n)).mkdir()
            machine.wait_until(lambda: DiskStat.of(disk).ios["W"] > writes)
            idle(disk)
        for hog in busy:
            hog.go()
    of_json = {row["comm"]: row["count"] for row in top.rows("rows", disk=disk.name, op="W")}
    of_text = {line["comm"]: line["count"] for line in text.lines if (line["disk"], line["op"]) == (disk.name, "W")}
    itself = {f"jbd2/{disk.name}-8", machine.get("/proc/self/comm")}  # and what sync writes
    # where nothing tells the level, who is interrupted in an operation is taken for the waker: no hog is in one
    level = platform.machine() != "x86_64" or re.search(r"\b(__preempt_count|pcpu_hot)$",
                                                        machine.get("/proc/kallsyms"), re.MULTILINE)
    others = set() if level else set(of_json) - {"actor"}
    for name, rows, allowed in (("json", of_json, itself | others), ("text", of_text, itself)):
        gate.check(name, rows and set(rows) <= allowed, **{str(comm): n for comm, n in rows.items()})


@suite("top.dirtied-again")
def dirtied_again(gate: Gate) -> None:
    """A traced process writes a file. Later an untraced process writes the same pages: these writes do not belong to
    the first."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    with Top("--comm", "first", "0.3") as top:
        for name in ("first", "second"):
            dd(gate, name, "if=/dev/zero", f"of={point}/a", "bs=65536", "count=23", "conv=notrunc")
            idle(disk)
    got, size = bytes_of(top, disk, "first", "W")[1], 23 * 65536
    gate.check("first", abs(got - size) <= size / 100, bytes=got, wanted=size, allowed="1%")


@suite("top.text")
def as_text(gate: Gate) -> None:
    """Text is of requests alone, so no operation is traced, which tells in JSON whether a thread or an
    interrupt wakes a kernel thread: whose the requests are, and how many, must be known all the same."""
    disk = machine.loop(gate.stack, gate.kept, 96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    idle(disk)
    with TopText("0.3") as top:
        before = DiskStat.of(disk)
        for n in range(7):
            dd(gate, "committer", "if=/dev/zero", f"of={point}/{n}", "bs=4096", "count=5", "conv=fsync")
        # a shell whose page is written back before or after those of the program that it becomes
        buffered = f"{dd_called(gate, 'buffered')} if=/dev/zero of={point}/a bs=65536 count=67"
        machine.run("sh", "-c", f"echo >{point}/shell && exec {buffered}")
        dd(gate, "direct", "if=/dev/zero", f"of={point}/b", "bs=4096", "count=101", "oflag=direct")
        dd(gate, "reader", f"if={point}/b", "of=/dev/null", "bs=4096", "iflag=direct")
        idle(disk)
        # what one made dirty another reads again
        with open(f"{point}/a", "rb") as written:
            os.posix_fadvise(written.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        dd(gate, "rereader", f"if={point}/a", "of=/dev/null", "bs=65536")
        delta = DiskStat.of(disk) - before
    for op, done in delta.ios.items():
        got = top.sum_of("count", disk=disk.name, op=op)
        gate.check(f"diskstats.{op}", got == done, count=got, diskstats=done)
    got = top.sum_of("count", disk=disk.name, op="R", comm="reader")
    gate.check("reader", got == 101, count=got, wanted=101)
    via = {name: top.sum_of("kbytes", disk=disk.name, op="W", comm=name, via="writeback")
           for name in ("buffered", "reader")}
    gate.check("via", via["buffered"] >= 0.9 * 67 * 64 and not via["reader"], **via)
    got = top.sum_of("kbytes", disk=disk.name, op="R", comm="rereader")
    gate.check("rereader", got >= 67 * 64, kbytes=got, wanted=67 * 64)
    for name, kbytes in (("committer", 7 * 5 * 4), ("buffered", 67 * 64), ("direct", 101 * 4)):
        got = top.sum_of("kbytes", disk=disk.name, op="W", comm=name)
        writers = sorted({line["comm"] for line in top.lines if line["disk"] == disk.name and line["op"] == "W"})
        by = {comm: top.sum_of("kbytes", disk=disk.name, op="W", comm=comm) for comm in writers}
        gate.check(name, got >= kbytes * 0.99, kbytes=got, wanted=kbytes, allowed="1%", by=str(by))
    with open("/proc/kallsyms", encoding="utf-8") as symbols:
        level_known = any(line.split()[2] in ("__preempt_count", "pcpu_hot") for line in symbols)
    if not level_known:
        gate.skip("helpers", "without CONFIG_KALLSYMS_ALL nobody tells whom the journal works for")
        return
    left = sum(line["kbytes"] for line in top.lines
               if line["disk"] == disk.name and line["comm"].startswith(("kworker", "jbd2")))
    everything = top.sum_of("kbytes", disk=disk.name, op="W")
    gate.check("helpers", left <= everything / 100, kbytes=left, everything=everything, allowed="1%")
