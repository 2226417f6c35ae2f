# SPDX-License-Identifier: GPL-2.0-only
"""No wait falls out: cold commands on a slow disk, beside an oracle that notes each sleep of their threads."""
from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import machine
from checks_record import Record
from checks_server import Fuser
from harness import Broken, Gate, Skip, patience, suite
from sleeps import Oracle, Sleep

import capture  # which tool.py has put into the path

MS = 1_000_000
STRATA = capture.strata()
ON_CPU = ("syscall", "vfs", "fs")
KINDS_OUTSIDE = (14, 15, 16, 17)
LOSSES_OF_OPS = (0, 1, 2, 6)
MEMBARRIER = {"x86_64": 324, "aarch64": 283}[platform.machine()]
PYTHON = "/usr/bin/python3 -S -c"

# Each is run by a shell of its own, in a directory of the slow disk. "$disk", "$at": it, and where it is mounted.
FILL = """mkdir d; for i in $(seq 23); do head -c $((i * 997)) /dev/urandom >d/$i; done
cp /usr/bin/env prog; ln -s d/7 link
printf '#!%s/prog sh\\necho script\\n' "$at" >script; chmod 755 script; head -c 1500000 /dev/urandom >big; sync -f ."""
COLD = {
    "exec": "./prog true",
    "script": "./script",
    "cat": "cat d/*",
    "mapped": f"{PYTHON} 'import mmap; f = open(\"big\", \"rb\"); sum(mmap.mmap(f.fileno(), 0, prot=1)[::4096])'",
    "find": "find . -type f -size +1k",
    "list": "ls -lR .; readlink link; df .",
    "copy": "cp -r d e; sync -f .",
    "rename": "mv d/3 d/three; rm -r d/4 d/5; mkdir -p a/b/c; rmdir a/b/c; sync d",
    "dd": "dd if=/dev/zero of=x bs=64k count=7 conv=fsync status=none; dd if=x of=/dev/null iflag=direct status=none",
    "tar": "tar cf t d; sync t",
    "allocate": "fallocate -l 300000 y; truncate -s 1000 big; sync -d y",
    "attribute": f"{PYTHON} 'import os; os.setxattr(\"d/9\", \"user.x\", b\"y\" * 700); os.sync()'",
    "sqlite": f"{PYTHON} 'import sqlite3; c = sqlite3.connect(\"s\"); c.execute(\"create table t(a)\"); c.commit()'",
    "socket": f"{PYTHON} 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"d/sock\")'",
    "flock": "{ flock 9; sleep 0.1; } 9>l & sleep 0.05; flock l true; wait",
    "deleted": f"{PYTHON} 'import os; f = open(\"big\", \"r+b\"); os.unlink(\"big\"); f.read(); os._exit(0)'",
    "killed": f"""{PYTHON} '
import subprocess, time
p = subprocess.Popen("dd if=/dev/zero of=z bs=4k oflag=direct,dsync status=none".split())
time.sleep(0.2)
p.kill()
p.wait()'""",
    "vfork": f"{PYTHON} 'import subprocess; subprocess.run([\"./prog\", \"true\"], close_fds=False)'",
    "mmap_lock": f"""{PYTHON} '
import mmap, threading
f = open("x", "rb")
t = threading.Thread(target=lambda: mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE | 0x8000))
t.start()
while t.is_alive(): mmap.mmap(-1, 1 << 20)'""",
    "RCU": f"{PYTHON} 'import ctypes; ctypes.CDLL(None).syscall({MEMBARRIER}, 1, 0, 0)'",  # of all threads
}
WARM = ("socket", "flock", "mmap_lock", "RCU")  # need no cold files
# others may look at the mount meanwhile
UNMOUNT = 'cd /; for i in $(seq 50); do umount "$at" 2>/dev/null && break; sleep 0.1; done'
BETWEEN = UNMOUNT + '; mount -o noatime "$disk" "$at"; cd "$at"'


def script() -> str:
    lines = ["read go"]
    for name, command in COLD.items():
        quoted = command.replace("'", "'\\''")
        lines += [] if name in WARM else [BETWEEN]
        lines += [f"sh -c '{quoted}' || echo {name} failed >&2"]
    return "\n".join([*lines, UNMOUNT])


def slow_disk(gate: Gate) -> machine.Disk:
    machine.need_module(gate.kept, "loop")
    server = Fuser(gate, "keep", ms=1)
    path = machine.run("losetup", "--find", "--show", "--direct-io=on", server.file).strip()
    gate.stack.callback(machine.run, "losetup", "-d", path)
    return machine.Disk(path.removeprefix("/dev/"))


class Ops:
    """The recorded operations of a thread."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int, int]] = []  # begin, end, kind
        self.off_cpu = 0

    def add(self, row: capture.Row) -> None:
        strata = {name: row[name] for name in STRATA if name in row}
        self.spans.append((row["start"], row["start"] + sum(strata.values()), row["kind"]))
        self.off_cpu += sum(ns for name, ns in strata.items() if name not in ON_CPU)

    def within(self, begin: int, end: int, kinds: tuple[int, ...] = ()) -> int:
        """How much of the time was in operations."""
        return sum(max(0, min(end, e) - max(begin, b)) for b, e, kind in self.spans if not kinds or kind in kinds)


def run_cold(gate: Gate, file: Path) -> tuple[list[Sleep], dict[int, Ops]]:
    disk, oracle = slow_disk(gate), Oracle(gate)
    at = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    where = os.environ | {"at": str(at), "disk": disk.path}
    subprocess.run(["sh", "-c", FILL], cwd=at, env=where, check=True, timeout=60 * patience())
    shell = subprocess.Popen(["sh", "-c", script()], cwd=at, env=where, stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    gate.stack.callback(shell.kill)
    with Record(file, "--children", "-p", str(shell.pid)) as trace:
        oracle.begin(shell.pid)
        said = shell.communicate("go\n", timeout=100 * patience())[1]
        sleeps = oracle.end()
    machine.run("mount", "-o", "noatime", disk.path, str(at))  # the suite unmounts it
    if said:
        raise Broken(f"a command failed: {said}")
    recording, ops = trace.read(), defaultdict[int, Ops](Ops)
    for row in recording.ops:
        owner = recording.names.get((capture.THREAD, row["owner"]))
        if owner:
            ops[owner[0]["b"]].add(row)
    lost = [row for row in recording.losses if row["kind"] in LOSSES_OF_OPS]
    if lost:
        raise Broken(f"operations were lost: {lost}")
    return sleeps, ops


def print_outside(sleeps: list[Sleep], ops: dict[int, Ops]) -> None:
    outside: Counter[str] = Counter()
    for s in sleeps:
        outside[f"{s.comm}: {s.stack}"] += s.wake - s.off - ops[s.tid].within(s.off, s.wake)
    for where, ns in outside.most_common(7):
        print(f"      {ns / MS:.2f} ms outside: {where}", file=sys.stderr)


def compare_threads(gate: Gate, sleeps: list[Sleep], ops: dict[int, Ops]) -> None:
    """The time off the CPU within operations. In a guest that of all threads together: an emulated CPU takes up to 0.1
    ms for what is done about an event, and many sleeps there are as short."""
    off_cpu: Counter[int] = Counter()
    for s in sleeps:
        off_cpu[s.tid if gate.native else 0] += ops[s.tid].within(s.off, s.on)
    recorded: Counter[int] = Counter()
    for tid in {s.tid for s in sleeps}:
        recorded[tid if gate.native else 0] += ops[tid].off_cpu
    differ = {tid: abs(recorded[tid] - ns) / ns for tid, ns in off_cpu.items() if ns > 5 * MS}
    worst = max(differ, key=lambda tid: differ[tid], default=0)
    most = 0.01 if gate.native else 0.03
    gate.check("threads", len(differ) > (10 if gate.native else 0) and differ[worst] <= most, threads=len(differ),
               worst=differ.get(worst, 1.0), tid=worst, off_ms=off_cpu[worst] / MS,
               recorded_ms=recorded[worst] / MS, wanted=f"<={most}")


def compare_each(gate: Gate, sleeps: list[Sleep], ops: dict[int, Ops]) -> None:
    """In guests, the time off the CPU within operations thread by thread. Each begin and end of a sleep may be 0.1 ms
    off there. The machine below may stop an emulated CPU between the oracle's program and ours, so one thread in ten
    may be further off."""
    off_cpu, many = Counter[int](), Counter[int]()
    for s in sleeps:
        within = ops[s.tid].within(s.off, s.on)
        off_cpu[s.tid] += within
        many[s.tid] += within > 0
    apart = {tid: abs(ops[tid].off_cpu - ns) - 0.01 * ns - 0.2 * MS * many[tid] for tid, ns in off_cpu.items()
             if ns > 5 * MS}
    wrong = {tid: f"{ops[tid].off_cpu / MS:.2f} of {off_cpu[tid] / MS:.2f} ms, {many[tid]} sleeps"
             for tid, ns in apart.items() if ns > 0}
    gate.check("each-thread", len(apart) > 10 and len(wrong) <= len(apart) / 10, threads=len(apart),
               wrong=len(wrong), which=wrong or "none")


@suite("waits")
def no_wait_falls_out(gate: Gate) -> None:
    if not machine.knows_paths():
        raise Skip("where programs cannot look up mappings, sleeps outside of operations are none")
    sleeps, ops = run_cold(gate, machine.scratch(gate.kept) / "waits.ios")
    storage = [s for s in sleeps if s.for_storage]
    total = sum(s.wake - s.off for s in storage)
    outside = total - sum(ops[s.tid].within(s.off, s.wake) for s in storage)
    if not gate.check("outside", total > 100 * MS and outside <= 0.01 * total, sleeps=len(storage), total_ms=total / MS,
                      outside_ms=outside / MS, wanted="<=1%"):
        print_outside(storage, ops)
    compare_threads(gate, sleeps, ops)
    if not gate.native:
        compare_each(gate, sleeps, ops)
    planted = [s for s in sleeps if s.no_io and s.wake - s.off > MS / 20]
    wrong = [f"{s.comm}: {s.no_io}" for s in planted if ops[s.tid].within(s.off, s.wake, KINDS_OUTSIDE)]
    kinds = Counter(s.no_io for s in planted)
    gate.check("no-io", not wrong and kinds["vfork"] > 0 and kinds["RCU"] > 0, wrong=wrong or "none", **kinds)
