# SPDX-License-Identifier: GPL-2.0-only
"""--helpers: the work of kernel threads, and its clients."""
from __future__ import annotations

import contextlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import machine
import oracles
from checks_top import dd, idle
from harness import Gate, suite
from machine import Disk
from oracles import DiskStat
from tool import Json, Trace, Traces

COMMITS, WRITTEN, THROUGH, READ, SHARED = 7, 67 * 65536, 53 * 65536, 101 * 65536, 113 * 65536
# Makes the journal commit, by one name after the other.
RENAMED = f"""
import ctypes, os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for name in sys.argv[2:]:
    ctypes.CDLL(None).prctl(15, name.encode())
    for mode in range({COMMITS}):
        os.fchmod(fd, mode)
        os.fsync(fd)
"""


def forget(path: Path) -> None:
    """Drops a file's pages from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def work(gate: Gate, on: Disk, point: Path, disk: Disk, host: Path) -> None:
    for n in range(COMMITS):
        dd(gate, "committer", "if=/dev/zero", f"of={point}/{n}", "bs=4096", "count=5", "conv=fsync")
    machine.run("python3", "-c", RENAMED, f"{point}/r", "first", "second")
    dd(gate, "buffered", "if=/dev/zero", f"of={point}/b", "bs=65536", f"count={WRITTEN >> 16}")
    idle(on)
    through = ("oflag=direct", "conv=fsync", f"count={THROUGH >> 16}")
    dd(gate, "through-loop", "if=/dev/zero", f"of={disk.path}", "bs=65536", *through)
    for image in host.glob("loop.*"):
        forget(image)
    dd(gate, "reader", f"if={disk.path}", "of=/dev/null", "iflag=direct", "bs=65536", f"count={READ >> 16}")


def journal_waited(disk: Disk) -> int:
    """The time for which the thread of the journal on @disk waited for a CPU, by the scheduler's statistics, ns."""
    pid = machine.run("pgrep", f"^jbd2/{disk.name}-").strip()
    return int(machine.get(f"/proc/{pid}/schedstat").split()[1])


def total(rows: list[Json], member: str = "bytes", **match: Any) -> int:
    return sum(r[member] for r in rows if all(r[k] == v for k, v in match.items()))


def compare_submitters(gate: Gate, helpers: Trace, by_comm: Trace, disks: dict[str, Disk]) -> None:
    """Each request that a kernel thread submitted is in one row of helpers, and no other is."""
    for label, disk in disks.items():
        rows = helpers.rows("helpers", dev=disk.name)
        ours = {(r["comm"], r["op"]): total(rows, "count", comm=r["comm"], op=r["op"]) for r in rows}
        kernel = ("kworker", "jbd2", "loop", "ext4lazyinit")
        theirs = {(r["key"], r["op"]): r["count"] for r in by_comm.rows("requests", dev=disk.name)
                  if (r["key"] or "").startswith(kernel)}
        gate.check(f"{label}.all", ours == theirs and theirs, helpers=str(ours), by_comm=str(theirs))


def compare_filtered(gate: Gate, everybody: Trace, only: Trace, by_comm: Trace, on: Disk) -> None:
    """A filter passes the work of helpers for clients that pass the filter, beside the clients' own requests."""
    rows, match = only.rows("helpers"), {"dev": on.name, "for_comm": "committer"}
    others = [r for r in rows if r["for_comm"] != "committer"]
    want = total(everybody.rows("helpers"), "count", **match)
    got, own = total(rows, "count", **match), only.total("count", "requests", dev=on.name)
    wanted = by_comm.total("count", "requests", dev=on.name, key="committer")
    gate.check("filtered.helpers", got == want > 0 and not others, got=got, unfiltered=want, others=str(others[:3]))
    gate.check("filtered.own", own == wanted > 0, requests=own, by_comm=wanted)
    alien = [r for r in only.rows("helper_times") if r["for_comm"] != "committer"]
    gate.check("filtered.times", not alien and only.rows("helper_times"), others=str(alien[:3]))


@suite("helpers.all", 300)
def of_all_kinds(gate: Gate) -> None:
    """The journal's thread commits for the caller of fsync. The flusher writes for the dirtier, though another process
    called sync. A loop device's worker reads and writes the disk below for the user of the device."""
    on, below = (machine.loop(gate.stack, gate.kept, mib) for mib in (96, 96))
    point = machine.mounted(gate.stack, gate.kept, on, "ext4")
    host = machine.mounted(gate.stack, gate.kept, below, "ext4")
    disk = machine.loop(gate.stack, gate.kept, 32, host)
    machine.run("dd", "if=/dev/zero", f"of={disk.path}", "bs=1M", "count=16", "oflag=direct", "status=none")
    for d in (on, disk, below):
        idle(d)
    traces = {"helpers": Trace("--helpers")}
    if gate.native:  # each takes half a minute to start on an emulated 7.x
        traces["filtered"] = Trace("--helpers", "--comm", "committer")
        traces["by_comm"] = Trace("--by", "comm")
    with Traces(traces):
        before = DiskStat.of(on)
        # a kernel thread is known from its first sleep on: what it waits for a CPU before that is not
        dd(gate, "warmer", "if=/dev/zero", f"of={point}/warm", "bs=4096", "count=1", "conv=fsync")
        idle(on)
        waited = journal_waited(on)
        work(gate, on, point, disk, host)
        for d in (on, disk, below):
            idle(d)
        delta = DiskStat.of(on) - before
        waited = journal_waited(on) - waited
    trace = traces["helpers"]
    rows, times = trace.rows("helpers"), trace.rows("helper_times")
    oracles.compare_requests(gate, "requests", on, delta, trace)
    if gate.native:
        compare_submitters(gate, trace, traces["by_comm"], {"on": on, "below": below})
        compare_filtered(gate, trace, traces["filtered"], traces["by_comm"], on)

    journal = [r for r in rows if r["comm"].startswith(f"jbd2/{on.name}")]
    for name in ("committer", "first", "second"):
        got, everything = total(journal, for_comm=name), total(journal)
        # a commit is a descriptor, at least one block of metadata, and the commit block; on 5.10 one of the
        # three counts for who made the journal commit before
        gate.check(f"journal.{name}", got >= COMMITS * 2 * 1024, bytes=got, everything=everything)
    gate.check("journal.time", total(times, "cpu_ns", comm=journal[0]["comm"], for_comm="committer") > 0 and
               total(times, "waited_ns", comm=journal[0]["comm"], for_comm="committer") > 0)

    got = total(times, "runq_ns", comm=journal[0]["comm"])
    gate.check("journal.run-queue", got >= waited / 2 > 0, runq_ns=got, schedstat_ns=waited)

    got = total(rows, dev=on.name, for_comm="buffered", on_behalf="writeback", op="W", work="writeback")
    gate.check("flusher", abs(got - WRITTEN) <= WRITTEN / 100, bytes=got, wanted=WRITTEN, allowed="1%")

    got = total(rows, dev=below.name, for_comm="through-loop", op="W")
    gate.check("loop.write", got >= THROUGH, bytes=got, wanted=THROUGH)
    got = total(rows, dev=below.name, for_comm="reader", op="R")
    gate.check("loop.read", got >= READ, bytes=got, wanted=READ)
    names = {r["work"] or r["comm"] for r in rows if r["dev"] == below.name and r["for_comm"] == "reader"}
    gate.check("loop.name", names == {disk.name}, names=str(names), wanted=disk.name)
    ns = total(times, "cpu_ns", for_comm="reader")
    gate.check("loop.time", ns > 0, cpu_ns=ns)


@contextlib.contextmanager
def busy_cpus() -> Iterator[None]:
    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@suite("helpers.workers", 300)
def of_workers_in_a_throng(gate: Gate) -> None:
    """Two who use a loop device each, while CPUs are busy: a worker takes the other's work without being
    woken for it."""
    below = machine.loop(gate.stack, gate.kept, 96)
    host = machine.mounted(gate.stack, gate.kept, below, "ext4")
    disks = {name: machine.loop(gate.stack, gate.kept, 32, host) for name in ("first", "second")}
    for disk in disks.values():
        machine.run("dd", "if=/dev/zero", f"of={disk.path}", "bs=1M", "count=24", "oflag=direct", "status=none")
    for disk in (*disks.values(), below):
        idle(disk)
    for image in host.glob("loop.*"):
        forget(image)
    with Trace("--helpers") as trace:
        with busy_cpus(), ThreadPoolExecutor() as pool:
            for task in [pool.submit(dd, gate, name, f"if={disk.path}", "of=/dev/null", "iflag=direct", "bs=65536",
                                     f"count={SHARED >> 16}") for name, disk in disks.items()]:
                task.result()
            for disk in (*disks.values(), below):
                idle(disk)
    for name, disk in disks.items():
        rows = [r for r in trace.rows("helpers", dev=below.name, op="R") if disk.name in (r["work"], r["comm"])]
        got, everything = total(rows, for_comm=name), total(rows)
        gate.check(name, got == everything >= SHARED, bytes=got, everything=everything, wanted=SHARED)
