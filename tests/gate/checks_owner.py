# SPDX-License-Identifier: GPL-2.0-only
"""A request's owner: a command owns the requests of all its threads, and no request of strangers."""
from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import fileio
import machine
import oracles
from harness import Broken, Gate, Skip, suite
from tool import Trace, Traces, is_missing

READS, SIZE = 101, 4096
WHO = ("plain", "async", "sqpoll", "orphan", "exec", "vfork", "daemon")
NO_URING = 77
CLONE3 = 435


def issuer(who: str, disk: machine.Disk, n: int = READS) -> list[str]:
    return [oracles.program(oracles.ISSUER), who, disk.path, str(n)]


def requests_of(trace: Trace, disk: machine.Disk) -> int:
    return trace.total("count", "requests", dev=disk.name, op="R")


@suite("owner.command")
def of_a_command(gate: Gate) -> None:
    """All at the same time on one disk, so that each has the others for strangers."""
    disk = machine.loop(gate.stack, gate.kept, 16)
    with Traces({who: Trace("-T", "blk", "-d", disk.name, command=issuer(who, disk))
                 for who in WHO}) as traces:
        pass
    for who, trace in traces.by_name.items():
        if trace.code == NO_URING:
            gate.skip(who, "no io_uring")
            continue
        n, size = requests_of(trace, disk), trace.total("bytes", "requests", dev=disk.name, op="R")
        gate.check(who, n == READS and size == READS * SIZE and not trace.code, requests=n,
                   reads=READS, bytes=size, exit=trace.code, lost=sum(trace.lost().values()))


@suite("owner.comm")
def of_a_name(gate: Gate) -> None:
    """io_uring's threads have names of their own."""
    disk = machine.loop(gate.stack, gate.kept, 16)
    with Trace("-T", "blk", "-d", disk.name, "--comm", "issuer") as trace:
        codes = {subprocess.run(issuer(who, disk), check=False).returncode for who in ("async", "sqpoll")}
    if NO_URING in codes:
        raise Skip("no io_uring")
    gate.check("uring", codes == {0} and requests_of(trace, disk) == 2 * READS,
               requests=requests_of(trace, disk), reads=2 * READS)


def born_as(pid: int, argv: list[str]) -> int:
    """A child of the id @pid, which must be free, executes @argv; its status."""
    libc = ctypes.CDLL(None, use_errno=True)
    ids = (ctypes.c_int32 * 1)(pid)
    args = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(ids), 1, 0)
    child = libc.syscall(CLONE3, args, len(args))
    if child == 0:
        try:
            os.execv(argv[0], argv)
        finally:
            os._exit(127)
    if child < 0:
        raise Broken(f"clone3 with pid {pid}: {os.strerror(ctypes.get_errno())}")
    return os.waitpid(child, 0)[1]


@suite("owner.id-again")
def id_used_again(gate: Gate) -> None:
    """A stranger gets the id of a child of the command that is dead."""
    disk = machine.loop(gate.stack, gate.kept, 16)
    dead, go = (machine.scratch(gate.kept) / name for name in ("dead", "go"))
    script = (f"true & echo $! >{dead}.new; wait; mv {dead}.new {dead}; "
              f"while [ ! -e {go} ]; do sleep 0.02; done")
    gate.stack.callback(go.touch)
    with Trace("-T", "blk", "-d", disk.name, command=["sh", "-c", script]) as trace:
        if not machine.wait_for(dead.exists, 30):
            raise Broken("the command did nothing")
        status = born_as(int(machine.get(dead)), issuer("plain", disk))
        go.touch()
    gate.check("stranger", not status and requests_of(trace, disk) == 0, status=status,
               requests=requests_of(trace, disk), reads=READS)


def limited(group: Path, who: str, disk: machine.Disk) -> list[str]:
    command = " ".join(issuer(who, disk))
    return ["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec {command}"]


@suite("owner.throttled")
def kept_back(gate: Gate) -> None:
    """Under io.max, a worker of blk-throttle queues the throttled bios. Their requests belong to the command, or are
    counted as nobody's; they always belong to its cgroup. The wait for them is throttle."""
    disk = machine.loop(gate.stack, gate.kept, 16)
    group = machine.few_ios(gate.stack, [disk], "read", 100)
    v2, functions = (group / "io.max").exists(), os.path.exists("/sys/kernel/tracing/kprobe_events")
    by_cgroup = Trace("-T", "blk", "-d", disk.name, *(["--cgroup", str(group)] if v2 else []))
    with by_cgroup:
        for who in ("plain", "async"):
            with Trace("-d", disk.name, command=limited(group, who, disk)) as trace:
                pass
            if trace.code == NO_URING:
                gate.skip(who, "no io_uring")
                continue
            n, nobodys = requests_of(trace, disk), trace.lost()["unattributed"]
            gate.check(who, n + nobodys == READS and bool(nobodys) != functions and not trace.code,
                       requests=n, unattributed=nobodys, reads=READS, exit=trace.code)
            if who == "async" and (not functions or is_missing("uring")):
                gate.skip("async.time", "nothing tells whose bio is kept back, or of requests of io_uring")
                continue
            ms = {name: ns / 1e6 for name, ns in trace.strata(op="read" if who == "plain" else "uring").items()}
            others = ms["sleep"] + ms["helper"] + ms["tag"]
            if ms["throttle"] <= 500 and trace.json["duration_ns"] > 2 * READS * 10**7:
                gate.skip(f"{who}.time", "not decided: this machine is slower than the limit")
                continue
            gate.check(f"{who}.time", ms["throttle"] > 500 and others <= ms["throttle"] / (20 if who == "plain" else 1),
                       throttle_ms=ms["throttle"], sleep_helper_tag_ms=others)
    n = requests_of(by_cgroup, disk)
    gate.check("cgroup" if v2 else "everybody", n == 2 * READS and not sum(by_cgroup.lost().values()),
               found=n, reads=2 * READS, **by_cgroup.lost())


@suite("owner.throttled-parts")
def parts_kept_back(gate: Gate) -> None:
    """Under io.max what remains of a read that was split is kept back, too. The wait for that is
    throttle, and is said to be that while it lasts, as of a read that was not split."""
    if is_missing("aio"):  # which needs functions, too
        raise Skip("this kernel's functions cannot be probed, which tell whose bio is kept back")
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=1000000)
    linear = machine.dm_linear(gate.stack, gate.kept, [disk])
    disk.set("max_sectors_kb", 16)
    group = machine.few_ios(gate.stack, [disk], "read", 2)

    def reads(of: machine.Disk, size: str, count: int) -> list[str]:
        command = f"dd if={of.path} of=/dev/null bs={size} count={count} iflag=direct status=none"
        return ["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec {command}"]

    for name, of in (("alone", disk), ("below", linear)):
        with Trace("-d", f"{disk.name},{linear.name}", command=reads(of, "64k", 1)) as trace:
            pass
        ms = {name: ns / 1e6 for name, ns in trace.strata(op="read").items()}
        others = ms["tag"] + ms["sleep"] + ms["device"]
        gate.check(f"{name}.time", ms["throttle"] > 200 and others < ms["throttle"] / 5, **ms)
    readers = [subprocess.Popen(reads(*what, 1000)) for what in ((disk, "4k"), (disk, "64k"), (linear, "4k"))]
    for reader in readers:
        gate.stack.callback(reader.wait)
        gate.stack.callback(reader.kill)
    with Trace("-d", f"{disk.name},{linear.name}") as trace:
        time.sleep(4)
    found = {one["pid"]: one["stratum"] for one in trace.json["in_progress"]}
    gate.check("in-progress", len(found) >= 2 and set(found) <= {reader.pid for reader in readers} and
               set(found.values()) == {"throttle"}, found=list(found.values()))


@suite("owner.throttled-btrfs")
def kept_back_on_btrfs(gate: Gate) -> None:
    """A worker of btrfs wakes who waits, and had waits of its own meanwhile: the wait is throttle all the same."""
    if is_missing("aio"):
        raise Skip("this kernel's functions cannot be probed, which tell whose bio is kept back")
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=1000000, memory_backed=1,
                            size=512)
    disk.set("max_sectors_kb", 16)
    file = fileio.make_file(f"{machine.mounted(gate.stack, gate.kept, disk, 'btrfs')}/read", 1)
    os.sync()
    group = machine.few_ios(gate.stack, [disk], "read", 10)
    command = f"echo $$ >{group}/cgroup.procs && exec dd if={file} of=/dev/null bs=64k count=4 iflag=direct status=none"
    with Trace("-d", disk.name, "--fs", "btrfs", command=["sh", "-c", command]) as trace:
        pass
    ms = {name: ns / 1e6 for name, ns in trace.strata(op="read").items()}
    done = trace.until_done(op="read") / 1e6
    gate.check("time", ms["throttle"] > 200 and ms["throttle"] >= 0.8 * done, **ms)


@suite("owner.many-throttled")
def many_kept_back(gate: Gate) -> None:
    """Nothing is lost though more of what is written back is kept back than any table has room for."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, size=256)
    group = machine.few_ios(gate.stack, [disk], "write", 3000)
    script = (f"import os; open('{group}/cgroup.procs', 'w').write(str(os.getpid())); "
              f"f = os.open('{disk.path}', os.O_RDWR); "
              "[os.pwrite(f, b'x' * 4096, i * 8192) for i in range(9000)]; os.fsync(f)")
    with Trace("-d", disk.name) as trace:
        machine.run(sys.executable, "-c", script)
    n, lost = trace.total("count", "requests", dev=disk.name, op="W"), trace.lost()
    gate.check("lost", n >= 9000 and not sum(lost.values()), writes=n, **lost)


@suite("owner.unmatched")
def not_in_progress(gate: Gate) -> None:
    """Calls that end without having been seen to begin, or almost, and were not in progress when
    tracing began: those that seccomp denies, in younger threads; closed pipes, which nobody asked
    for, in an older thread that did nothing else."""
    file = machine.scratch(gate.kept) / "unmatched"
    file.write_bytes(b"x")
    denied, pipes = (oracles.actor(gate.stack, who, str(file), "23", source=oracles.ISSUER)
                     for who in ("denied", "pipes"))
    with Trace("-T", "syscall", "--comm", "issuer", "--strict") as trace:
        said = denied.go() | pipes.go()
    gate.check("none", not sum(trace.lost().values()) and not trace.code, exit=trace.code,
               **said, **trace.lost())
