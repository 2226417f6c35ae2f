# SPDX-License-Identifier: GPL-2.0-only
"""A6: time that was put in at a known place is found in that stratum; with A2 and A3 of the disks.

Each case is a run without and one with the time put in. At least 90 % of the difference between their times must be in
the stratum of the time put in.
"""
from __future__ import annotations

import contextlib
import math
import os
import time
from pathlib import Path
from typing import Callable, Iterator

import fileio
import machine
from checks_requests import prime_requests
from harness import Broken, Gate, Skip
from machine import Disk
from oracles import Process, Workload, actor
from places import place
from stages import Steps, Watched, stage, watch
from tool import Trace

MS = 1_000_000
SHARE = 0.9
BUSY = ("runq", "preempt")  # others had the CPU
ON_CPU = ("syscall", "vfs", "fs")
ALL = ("all",)


class Times:
    """The times of operations @op of one process, ns: their sum, and the sum of each stratum."""

    def __init__(self, trace: Trace, process: Process, op: str) -> None:
        self.process = process
        self.n = trace.total("count", op=op, key=process.key)
        self.total = trace.total("total_ns", op=op, key=process.key)
        self.strata = trace.strata(op=op, key=process.key)

    def of(self, strata: tuple[str, ...]) -> int:
        if self.n and any(name not in self.strata for name in strata if name not in (*ON_CPU, *ALL)):
            raise Broken(f"{'+'.join(strata)} is not measured")
        return self.total if strata == ALL else sum(self.strata.get(name, 0) for name in strata)

    def mean(self, strata: tuple[str, ...]) -> float:
        return self.of(strata) / max(1, self.n)

    def largest_others(self, strata: tuple[str, ...]) -> str:
        rest = sorted((-ns, name) for name, ns in self.strata.items() if name not in strata)
        return ",".join(f"{name}:{-ns / max(1, self.total):.2%}" for ns, name in rest[:2] if ns)


def compare_scheduler(gate: Gate, runs: list[Times], least_busy: float = 0) -> None:
    """Operations are not longer on a CPU than the scheduler says that their process was, beside interrupts
    and what a hypervisor took, which it leaves out, nor do they wait longer for one; and at least
    @least_busy of that, if they are all that it does after it has begun: the wait before the first of
    them, and those on the way to user space, are not theirs. (A PREEMPT_RT kernel takes the CPU away when a call
    returns, after its operation, wherever it can.) A hypervisor tells what it took by whole ticks, and where
    the waits fall is chance: of both, that run counts that agrees best."""
    if not runs[0].process.cpu_ns:
        raise Skip("this kernel has no schedstat")
    best = min(runs, key=lambda t: t.of(ON_CPU) / (1.15 * t.process.cpu_ns + t.process.taken_ns))
    cpu, taken = best.process.cpu_ns, best.process.taken_ns
    gate.check("scheduler.cpu", 0 < best.of(ON_CPU) <= 1.15 * cpu + taken, ours_ms=best.of(ON_CPU) / MS,
               schedstat_ms=cpu / MS, taken_ms=taken / MS, wanted="<=1.15, and what was taken")
    if least_busy:
        each = ((t.of(BUSY) / max(1, t.process.waited_ns), t.of(BUSY), t.process.waited_ns) for t in runs)
        ratio, ours, waited = min(each, key=lambda run: abs(1 - run[0]))
        least = 0.0 if Path("/sys/kernel/realtime").exists() else least_busy
        gate.check("scheduler.waited", least <= ratio <= 1.02, ours_ms=ours / MS, schedstat_ms=waited / MS,
                   ratio=ratio, wanted=f"{least}..1.02")


class Rounds:
    """Runs of both kinds in turn, each @n times. The shortest of each is compared: others that use
    the machine, and of an emulated one the machine below, make runs longer. But where a busy CPU is
    what is put in, that is the run that had most of it."""

    def __init__(self, n: int, base: Callable[[], Workload], slow: Callable[[], Workload]) -> None:
        self.base = [base() for _ in range(n)]
        self.slow = [slow() for _ in range(n)]

    def go(self) -> None:
        for base, slow in zip(self.base, self.slow):
            base.go()
            slow.go()

    def all_slow(self, trace: Trace, op: str) -> list[Times]:
        return [Times(trace, p, op) for p in self.slow]

    def times(self, trace: Trace, op: str, busy: bool = False) -> tuple[Times, Times]:
        base, slow = [Times(trace, p, op) for p in self.base], self.all_slow(trace, op)
        return (min(base, key=lambda t: t.total),
                max(slow, key=lambda t: t.of(BUSY)) if busy else min(slow, key=lambda t: t.total))


def compare_added(gate: Gate, name: str, base: Times, slow: Times, strata: tuple[str, ...],
                  at_least_ns: float, beside: tuple[str, ...] = ()) -> None:
    """@at_least_ns: what was put in, per operation; less was measured: it was not put in, or lost.
    The time in @beside is left out. So is the time that others had the CPU, which is nobody's, unless this is put in;
    then the time on the CPU is left out: a thread with others on its CPU is slower there, too."""
    left_out = (*(ON_CPU if set(strata) & set(BUSY) else BUSY), *beside)
    added = slow.mean(ALL) - base.mean(ALL) - (slow.mean(left_out) - base.mean(left_out))
    found = slow.mean(strata) - base.mean(strata)
    share = found / added if added > 0 else 0.0
    gate.check(name, share >= SHARE and added >= at_least_ns, stratum="+".join(strata), share=share,
               wanted=f">={SHARE}", added_ms=added / MS, put_in_ms=f">={at_least_ns / MS:g}", n=slow.n,
               left_out_ms=slow.mean(left_out) / MS, others=slow.largest_others(strata))


def compare_share(gate: Gate, times: Times, nominal_ns: int) -> None:
    """90 % of all but the time that a busy CPU took is in device, and all that the disk takes, but for what
    the reader was still on a CPU of that."""
    device, cpu = times.of(("device",)), times.of(BUSY)
    least = max(1, times.n * nominal_ns - times.of(ON_CPU))
    share = device / max(1, times.total - cpu)
    gate.check("device-share", times.n > 0 and share >= SHARE and device >= least, share=share,
               wanted=f">={SHARE}", device_ms=device / max(1, times.n) / MS, nominal_ms=nominal_ns / MS,
               others=times.largest_others(("device",)))


def compare_nominal(gate: Gate, name: str, trace: Trace, entry: Watched, op: str, ns: int) -> None:
    """A2: no request was faster than the disk can be."""
    buckets = [b for r in trace.rows("requests", dev=entry.disk.name, op=op) for b in r["hist"]]
    fastest = min((b[1] for b in buckets), default=0)
    gate.check(f"{name}.A2.nominal", fastest >= ns, fastest_us=fastest / 1000, nominal_us=ns / 1000)


def compare_mean(gate: Gate, name: str, trace: Trace, entry: Watched, op: str,
                 bio_based: bool = False) -> None:
    """A3: the statistics count from the allocation of the request, so queue time is in theirs; and
    bio-based disks' are in jiffies of up to 4 ms, whose error of the mean (three sigma) is added. Between the two
    clocks the kernel takes up to 20 us, longer if emulated."""
    assert entry.delta
    n = max(1, entry.delta.ios[op])
    theirs = entry.delta.ms[op] * MS / n
    apart = difference(trace, entry, op)
    limit = max(theirs / 100, 20_000 * max(1, machine.slowness()) + MS / n)
    if bio_based:
        limit += 3 * 4 * MS / math.sqrt(6 * n)
    gate.check(f"{name}.A3.mean", theirs > 0 and abs(apart) <= limit, ours_us=(theirs + apart) / 1000,
               diskstats_us=theirs / 1000, difference_us=apart / 1000, limit_us=limit / 1000, n=n)


def difference(trace: Trace, entry: Watched, op: str) -> float:
    """Our mean of queue and device time minus the statistics', ns."""
    assert entry.delta
    rows = trace.rows("requests", dev=entry.disk.name, op=op)
    ours: int = sum(r["device_ns"] + (r["queue_ns"] or 0) for r in rows)
    return (ours - entry.delta.ms[op] * MS) / max(1, entry.delta.ios[op])


def agrees_best(trace: Trace, watched: list[Watched], op: str) -> Watched:
    """The disk of @watched whose statistics agree best: a preempted completion makes one disk's mean longer."""
    return min(watched, key=lambda entry: abs(difference(trace, entry, op)))


def compare_device(gate: Gate, name: str, trace: Trace, disk: Disk, reads: Workload) -> None:
    """The device time of direct reads, on a disk without other readers, is a part of its requests' time: it ends with a
    request, and begins when the reading thread sleeps."""
    rows = trace.rows("requests", dev=disk.name, op="R")
    theirs = sum(r["device_ns"] for r in rows)
    ours = trace.strata(key=reads.key, op="read").get("device", 0)
    gate.check(f"{name}.device", theirs / 2 <= ours <= theirs > 0, of_reads_us=ours / 1000,
               of_requests_us=theirs / 1000, wanted="0.5..1")


def reader(gate: Gate, disk: Disk, n: int, *options: str) -> Workload:
    return Workload(gate.stack, disk.path, {"rand_dread": n}, *options)


def warm_up(disk: Disk) -> None:
    """An emulator translates a path of the kernel when it is first gone."""
    fileio.read_at(disk.path, fileio.spread(7, 4096, 1 << 24), 4096, os.O_DIRECT)


def slow_null_blk(gate: Gate, ms: int, **settings: int) -> Disk:
    return machine.null_blk(gate.stack, gate.kept, irqmode=2, completion_nsec=ms * MS, **settings)


def thirty_and_sixty(gate: Gate, label: str, mode: int) -> Steps:
    """(An emulated CPU with a busy host takes up to 1.6 ms for what the kernel does about a read.)"""
    disks = [slow_null_blk(gate, ms, queue_mode=mode) for ms in (30, 60)]
    # a bio-based null_blk keeps no statistics
    watched = [watch(gate, f"{label}.{ms}ms", d, "RW") if mode == 2 else Watched("", d, "")
               for ms, d in zip((30, 60), disks)]
    rounds = Rounds(3, lambda: reader(gate, disks[0], 11), lambda: reader(gate, disks[1], 11))
    yield
    warm_up(disks[0])
    rounds.go()
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "read")
    compare_added(gate, "plus-30ms", base, slow, ("device",), 20 * MS)
    compare_share(gate, base, 30 * MS)
    compare_nominal(gate, "30ms", trace, watched[0], "R", 30 * MS)
    compare_nominal(gate, "60ms", trace, watched[1], "R", 60 * MS)


@stage("A3.null_blk")
def mean_of_null_blk(gate: Gate) -> Steps:
    disks = [slow_null_blk(gate, 50, queue_mode=2) for _ in range(3)]
    watched = [watch(gate, f"delayed-null_blk.50ms.{n}", d) for n, d in enumerate(disks, 1)]
    readers = [reader(gate, disk, 11) for disk in disks]
    yield
    warm_up(disks[0])
    for r in readers:
        r.go()
    trace = yield
    assert trace
    for n in range(1, 3):
        compare_device(gate, f"50ms.{n}", trace, disks[n], readers[n])
    compare_mean(gate, "50ms", trace, agrees_best(trace, watched, "R"), "R")


@stage("A6.null_blk")
def null_blk_request_based(gate: Gate) -> Steps:
    yield from thirty_and_sixty(gate, "delayed-null_blk", 2)


@stage("A6.null_blk-bio")
def null_blk_bio_based(gate: Gate) -> Steps:
    yield from thirty_and_sixty(gate, "delayed-null_blk-bio", 0)


SCSI_DEBUG = "/sys/bus/pseudo/drivers/scsi_debug"
BAD_SECTOR, MEDIUM_ERRORS = 0x1234, 2  # where the driver has them, and how it is told to


def failing_reads(disk: Disk, n: int) -> int:
    """@n direct reads of a place that cannot be read; how many said so."""
    machine.put(f"{SCSI_DEBUG}/opts", MEDIUM_ERRORS)
    failed = 0
    for _ in range(n):
        try:
            fileio.read_at(disk.path, [BAD_SECTOR * 512], 512, os.O_DIRECT)
        except OSError:
            failed += 1
    machine.put(f"{SCSI_DEBUG}/opts", 0)
    return failed


def compare_errors(gate: Gate, trace: Trace, disk: Disk, failed: int) -> None:
    """Reads that failed are errors, as operations and as requests; that they are counted, without
    bytes, is part of the comparison with the disk's statistics."""
    operations = trace.total("errors", key=str(os.getpid()), op="read")
    requests = trace.total("errors", "requests", dev=disk.name, op="R")
    gate.check("errors", operations == requests == failed == 7, operations=operations,
               requests=requests, failed=failed)


@stage("A6.scsi_debug")
def scsi_debug(gate: Gate) -> Steps:
    """One SCSI disk, first without a delay (A1), then with 20 and with 40 ms, then with errors. (An emulated CPU takes
    up to 0.5 ms for what SCSI does about a read.)"""
    disk = machine.scsi_debug(gate.stack, gate.kept, lbpu=1)
    entry = watch(gate, "scsi_debug", disk)
    rounds = Rounds(3, lambda: reader(gate, disk, 11), lambda: reader(gate, disk, 11))
    yield
    for scheduler in ("none", "mq-deadline"):
        disk.scheduler(scheduler)
        prime_requests(disk)
    for processes, ms in ((rounds.base, 20), (rounds.slow, 40)):
        machine.put(f"{SCSI_DEBUG}/ndelay", ms * MS)
        for process in processes:
            process.go()
    failed = failing_reads(disk, 7)
    entry.failed_bytes = failed * 512
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "read")
    compare_added(gate, "plus-20ms", base, slow, ("device",), 10 * MS)
    compare_share(gate, base, 20 * MS)
    compare_errors(gate, trace, disk, failed)


@stage("A6.dm-delay")
def dm_delay(gate: Gate) -> Steps:
    """Below 50 ms, newer kernels have a thread that polls, and takes CPU and lock from the reader."""
    below = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1)
    disk = machine.dm_delay(gate.stack, gate.kept, below, 60)
    watch(gate, "below-dm-delay", below)
    entry = watch(gate, "dm-delay", disk, "RW")
    rounds = Rounds(3, lambda: reader(gate, below, 11), lambda: reader(gate, disk, 11))
    yield
    warm_up(disk)
    rounds.go()
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "read")
    compare_added(gate, "plus-60ms", base, slow, ("device",), 50 * MS)
    compare_nominal(gate, "60ms", trace, entry, "R", 45 * MS)  # jiffies lag behind
    compare_mean(gate, "60ms", trace, entry, "R", bio_based=True)


def seven_readers(gate: Gate, scheduler: str, stratum: str) -> Steps:
    """A disk that does one request at a time, in 10 ms, and who has to wait for it."""
    disk = slow_null_blk(gate, 10, queue_mode=2, hw_queue_depth=1)
    disk.scheduler(scheduler)
    if scheduler != "none":
        disk.set("nr_requests", 64)
    entry = watch(gate, f"depth-1.{scheduler}", disk)
    rounds = Rounds(3, lambda: reader(gate, disk, 11), lambda: reader(gate, disk, 3, "-t", "7"))
    yield
    rounds.go()
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "read")
    # each of them waits for most of the six others
    compare_added(gate, "seven-readers", base, slow, (stratum,), 30 * MS)
    rows = trace.rows("requests", dev=entry.disk.name, op="R")
    waited = sum(r[f"{stratum}_ns"] or 0 for r in rows)
    of_all = sum(Times(trace, p, "read").of((stratum,)) for p in rounds.base + rounds.slow)
    gate.check("requests", abs(waited - of_all) <= 0.1 * waited > 0, requests_ms=waited / MS,
               operations_ms=of_all / MS, wanted="+-10%")


@stage("A6.tag")
def tag_wait(gate: Gate) -> Steps:
    yield from seven_readers(gate, "none", "tag")


@stage("A6.queue")
def scheduler_queue(gate: Gate) -> Steps:
    yield from seven_readers(gate, "mq-deadline", "queue")


def lock_strata() -> tuple[str, ...]:
    """Where a wait for a lock is. Before 5.19 the kernel does not tell."""
    told = b"\0btf_trace_contention_begin\0" in Path("/sys/kernel/btf/vmlinux").read_bytes()
    return ("lock",) if told else ("sleep",)


@stage("A6.frozen")
def lock_of_another_task(gate: Gate) -> Steps:
    """A write into a frozen file system sleeps until whoever froze it lets go: 200 ms later. (An
    emulated CPU with a busy host took 9 ms for what follows the sleep.)"""
    at = place(gate, "xfs").point
    make = lambda: Workload(gate.stack, f"{at}/frozen", {"pwrite": 11})  # noqa: E731
    rounds = Rounds(3, make, make)
    yield
    for base, slow in zip(rounds.base, rounds.slow):
        base.go()
        with fileio.frozen(str(at)):
            slow.begin()
            time.sleep(0.2)
        slow.end()
    trace = yield
    assert trace
    compare_added(gate, "plus-200ms", *rounds.times(trace, "write"), lock_strata(), 100 * MS / 11)


@stage("churn.killed-in-a-write")
def killed_in_a_write(gate: Gate) -> Steps:
    """A process that is killed in an uninterruptible sleep: its call ends when that does."""
    at = place(gate, "xfs").point
    killed = Workload(gate.stack, f"{at}/killed", {"pwrite": 11})
    yield
    with fileio.frozen(str(at)):
        killed.begin()
        time.sleep(0.05)
        killed.proc.kill()
    killed.proc.wait()
    trace = yield
    assert trace
    times = Times(trace, killed, "write")
    gate.check("write", times.n == 1 and times.total >= 25 * MS, writes=times.n, total_ms=times.total / MS,
               **trace.lost())


@stage("A6.inode-lock")
def inode_lock(gate: Gate) -> Steps:
    """A buffered writer waits for a direct writer, which has the inode locked."""
    disk = slow_null_blk(gate, 10, queue_mode=2, memory_backed=1, size=96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    file = f"{point}/locked"
    alone = Workload(gate.stack, file, {"pwrite": 5})
    holder = Workload(gate.stack, file, {"dwrite": 17})
    waiter = Workload(gate.stack, file, {"pwrite": 5})
    yield
    alone.go()
    holder.begin()
    machine.wait_until(lambda: machine.get(disk.sys / "inflight").split() != ["0", "0"])
    waiter.go()
    holder.end()
    trace = yield
    assert trace
    waited = Times(trace, waiter, "write")
    # before it sleeps it spins
    compare_added(gate, "waiter", Times(trace, alone, "write"), waited, lock_strata(), MS / 4, ON_CPU)
    others = waited.of(("tag", "queue", "device", "complete", "helper")) / max(1, waited.total)
    gate.check("not-the-disk", others <= 0.02, disk_or_helper=others, wanted="<=0.02",
               sleep=waited.of(("sleep",)) / max(1, waited.total),
               lock=waited.strata.get("lock", 0) / max(1, waited.total))


def with_cpu_taken(gate: Gate, rounds: Rounds, hogs: int, patient: bool) -> None:
    """Runs the base as it is, the others with @hogs on their CPU. A patient one does not take the
    CPU away from who has it."""
    cpu = max(os.sched_getaffinity(0))
    for base in rounds.base:
        base.go()
    busy = actor(gate.stack, "hogs", str(cpu), str(hogs))
    for victim in rounds.slow:
        os.sched_setaffinity(victim.pid, {cpu})
        os.setpriority(os.PRIO_PROCESS, victim.pid, 5)
        if patient:
            os.sched_setscheduler(victim.pid, os.SCHED_BATCH, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, victim.pid, 19)
        victim.go()
    busy.go()


@stage("A6.preempted")
def preempted(gate: Gate) -> Steps:
    """Long cached reads of a thread that shares its CPU with seven others. Each run loses the CPU some twenty times. So
    a wait before the first read, or after a read on the way to user space, hardly counts."""
    file = fileio.make_file(f"{place(gate, 'ext4').point}/preempted", 4)
    n = round(0.07 / seconds_of_a_long_read(file))
    rounds = Rounds(3, lambda: long_reads(gate, file, n), lambda: long_reads(gate, file, n))
    yield
    seconds_of_a_long_read(file)
    with_cpu_taken(gate, rounds, 7, False)
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "read", busy=True)
    compare_added(gate, "cached-reads", base, slow, BUSY, slow.mean(ALL) / 4)
    compare_scheduler(gate, rounds.all_slow(trace, "read"), 0.5)


def seconds_of_a_long_read(file: str) -> float:
    """While nobody else has the CPU: the fastest of some."""
    samples = []
    for _ in range(7):
        begin = time.monotonic()
        fileio.read_at(file, [i % 4 << 20 for i in range(31)], 1 << 20)
        samples.append((time.monotonic() - begin) / 31)
    return min(samples)


def long_reads(gate: Gate, file: str, n: int) -> Workload:
    return Workload(gate.stack, file, {"read": f"{n},size={1 << 20}"})


def timed_by_an_interrupt(gate: Gate) -> str:
    """A file or disk whose reads need no thread, that could be kept from the CPU as well."""
    try:
        return slow_null_blk(gate, 1, queue_mode=2).path
    except Skip:
        return fileio.make_file(str(machine.scratch(gate.kept) / "runq"), 4)


@stage("A6.runq")
def run_queue(gate: Gate) -> Steps:
    """Direct reads of a thread that is woken, but gets the CPU only when a busy one lets go."""
    file = timed_by_an_interrupt(gate)
    make = lambda: Workload(gate.stack, file, {"rand_dread": 53})  # noqa: E731
    rounds = Rounds(3, make, make)
    yield
    fileio.read_at(file, fileio.spread(7, 4096, 1 << 22), 4096, os.O_DIRECT)
    with_cpu_taken(gate, rounds, 2, True)
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "read", busy=True)
    # where the CPU is emulated, so is the disk, whose interrupt is later if the machine below is busy
    compare_added(gate, "direct-reads", base, slow, BUSY, MS / 4, () if gate.native else ("device",))
    compare_scheduler(gate, rounds.all_slow(trace, "read"), 0.2)  # it has the CPU back mostly when a read has ended


def throttles_on_the_way_out() -> bool:
    """Since 6.18 (kernel commit "sched/fair: Switch to task based throttle model"), and with PREEMPT_RT,
    who has used its quota loses the CPU when its call has ended."""
    return Path("/sys/kernel/realtime").exists() or \
        " throttle_cfs_rq_work\n" in Path("/proc/kallsyms").read_text(encoding="ascii")


@stage("A6.quota")
def cpu_quota(gate: Gate) -> Steps:
    """Cached reads in a cgroup that gets a twentieth of a CPU."""
    file = fileio.make_file(f"{place(gate, 'ext4').point}/quota", 4)
    procs = machine.cpu_quota(gate.stack, 5)
    victims = [long_reads(gate, file, 307) for _ in range(2)]
    yield
    fileio.read_at(file, [i % 4 << 20 for i in range(61)], 1 << 20)
    victims[0].go()
    machine.put(procs, victims[1].pid)
    victims[1].go()
    trace = yield
    assert trace
    base, slow = (Times(trace, v, "read") for v in victims)
    longer = victims[1].said["elapsed_ns"] - victims[0].said["elapsed_ns"]
    if slow.of(BUSY) - base.of(BUSY) < longer / 10 and throttles_on_the_way_out():
        raise Skip(f"this kernel takes the CPU away only on the way to user space: {longer / MS:.0f} "
                   f"ms longer, {(slow.of(BUSY) - base.of(BUSY)) / MS:.1f} ms of it in operations")
    compare_added(gate, "cached-reads", base, slow, BUSY, longer / 10 / slow.n)
    compare_scheduler(gate, [slow])


@contextlib.contextmanager
def few_dirty_pages() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name in ("dirty_ratio", "dirty_background_ratio"):  # which take the place of the bytes
            machine.setting(stack, f"/proc/sys/vm/{name}", machine.get(f"/proc/sys/vm/{name}"))
        machine.put("/proc/sys/vm/dirty_background_bytes", 1 << 20)
        machine.put("/proc/sys/vm/dirty_bytes", 2 << 20)
        yield


@stage("A6.throttle")
def throttled(gate: Gate) -> Steps:
    """Buffered writes, faster than the disk, with room for few dirty pages."""
    gate.not_native("few dirty pages")
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1, mbps=2, size=24)
    disk.set("max_sectors_kb", 32)  # what is more than a fiftieth of mbps would never be done
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    make = lambda: Workload(gate.stack, f"{point}/file", {"pwrite": f"3,size={1 << 20}"}, "-s",
                            str(3 << 20))  # noqa: E731
    rounds = Rounds(2, make, make)
    yield
    for fast, throttled_one in zip(rounds.base, rounds.slow):
        fast.go()
        os.sync()
        with few_dirty_pages():
            throttled_one.go()
            os.sync()
    trace = yield
    assert trace
    base, slow = rounds.times(trace, "write")
    # again and again it finds out, on a CPU, that it has to wait
    compare_added(gate, "buffered-writes", base, slow, ("throttle",), 10 * MS, ON_CPU)
    compare_scheduler(gate, rounds.all_slow(trace, "write"))

