# SPDX-License-Identifier: GPL-2.0-only
"""top beside other tools that tell processes' I/O apart, in the same seconds: the same processes, counts and bytes,
where the others are right. Tools that are not installed are skipped."""
from __future__ import annotations

import re
import time
from dataclasses import dataclass

import machine
import oracles
from checks_top import bytes_of, dd, idle
from harness import Gate, suite
from machine import Disk
from oracles import DiskStat
from peers import Peer, bcc_headers
from tool import Top

# The direct I/O of each process: its type, the number of requests, and the bytes of each.
DIRECT = {"reader1009": ("R", 1009, 4096), "reader53": ("R", 53, 65536), "writer101": ("W", 101, 8192)}
BUFFERED, BUFFERED_SIZE = "buffered", 67 * 65536
ALL_S = 600


@dataclass
class Row:
    """A row of biotop, whose Kbytes are rounded down."""

    comm: str
    op: str
    disk: str
    count: int
    kbytes: int


def biotop_rows(text: str) -> list[Row]:
    found = re.findall(r"^\d+ +(\S+) +([RW]) +\d+ +\d+ +(\S+) +(\d+) +(\d+)(?:\.\d+)? +[\d.]+ *$", text, re.M)
    return [Row(comm, op, disk, int(n), int(kb)) for comm, op, disk, n, kb in found]


def work(gate: Gate, disk: Disk) -> None:
    for name, (op, n, size) in DIRECT.items():
        if op == "R":
            dd(gate, name, f"if={disk.path}", "of=/dev/null", "iflag=direct", f"bs={size}", f"count={n}")
        else:
            dd(gate, name, "if=/dev/zero", f"of={disk.path}", "oflag=direct", f"bs={size}", f"count={n}")
    with open(disk.path, "rb"):  # nobody is the last to close it, and writes all back
        dd(gate, BUFFERED, "if=/dev/zero", f"of={disk.path}", "bs=65536", f"count={BUFFERED_SIZE >> 16}",
           "conv=notrunc")
        idle(disk)


def beside_biotop(gate: Gate, theirs: Peer) -> None:
    """Where the two tools differ, dd's own figures and the disk's statistics tell which tool is right."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1)
    idle(disk)
    with theirs, Top("-d", disk.name, "1") as top:
        before = DiskStat.of(disk)
        work(gate, disk)
        stat = DiskStat.of(disk) - before
    rows = biotop_rows(theirs.said())
    for name, (op, n, size) in DIRECT.items():
        got = bytes_of(top, disk, name, op)
        seen = [row for row in rows if row.comm == name]
        count, kbytes = sum(row.count for row in seen), sum(row.kbytes for row in seen)
        gate.check(name, got == (n, n * size) and (count, kbytes) == (n, n * size >> 10), ours=got[0],
                   theirs=count, bytes=got[1], their_kib=kbytes,
                   their_op="".join(sorted({row.op for row in seen})), our_op=op,
                   their_disk=",".join(sorted({row.disk for row in seen})))
    got = bytes_of(top, disk, BUFFERED, "W")
    others = {row.comm for row in rows} - set(DIRECT) - {BUFFERED}
    gate.check(BUFFERED, got[1] == BUFFERED_SIZE, bytes=got[1], wanted=BUFFERED_SIZE,
               their_kib=sum(row.kbytes for row in rows if row.comm == BUFFERED),
               their_others=",".join(sorted(others)) or "none")
    oracles.compare_requests(gate, "diskstats", disk, stat, top, rows="rows", name_of="disk")
    reads = sum(row.count for row in rows if row.op == "R")
    gate.check("reads", top.total("count", "rows", op="R", disk=disk.name) == stat.ios["R"],
               diskstats=stat.ios["R"], theirs=reads, their_writes=sum(r.count for r in rows if r.op == "W"))


@suite("top.peers.biotop", 240)
def biotop(gate: Gate) -> None:
    """biotop of libbpf-tools."""
    gate.not_native("probes functions that everybody calls")
    beside_biotop(gate, Peer(gate, "biotop", "-C", "-r", "1000", str(ALL_S), ready=None))


@suite("top.peers.bcc", 300)
def bcc_biotop(gate: Gate) -> None:
    """biotop of bcc: it compiles its program at the start, which takes a while and needs the kernel's headers."""
    gate.not_native("probes functions that everybody calls")
    bcc_headers(gate)
    beside_biotop(gate, Peer(gate, "biotop-bpfcc", "-C", "-r", "1000", str(ALL_S)))


# Reads and writes, and lives on for a while, since iotop's table has no ended processes. The process reads and writes
# once before: reading its own code is I/O, too.
WORKER = """
import mmap, os, sys, time
open("/proc/self/comm", "w").write("iotopped")
disk, rest = sys.argv[1], float(sys.argv[2])
page = mmap.mmap(-1, 65536)
def work():
    fd = os.open(disk, os.O_RDWR | os.O_DIRECT)
    for i in range(53):
        os.preadv(fd, [page], 65536 * i)
    for i in range(23):
        os.pwrite(fd, page, 65536 * i)
    os.close(fd)
    fd = os.open(disk, os.O_RDWR)
    for i in range(67):
        os.pwrite(fd, b"x" * 65536, 65536 * (100 + i))
    os.fsync(fd)
    os.close(fd)
work()
print("ready", flush=True)
sys.stdin.readline()
work()
time.sleep(rest)
print("{}", flush=True)
"""
READ, WRITTEN = 53 * 65536, (23 + 67) * 65536


@suite("top.peers.iotop", 240)
def iotop(gate: Gate) -> None:
    """iotop's figures are the kernel's for each process: bytes read, and bytes made dirty or written."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, memory_backed=1)
    theirs = Peer(gate, "iotop", "-b", "-a", "-k", "-P", "-qqq", "-d", "1", ready="")
    w = oracles.Process(gate.stack, "python3", "-c", WORKER, disk.path, str(3 + machine.slowness() / 2))
    idle(disk)
    with theirs, Top("-d", disk.name, "1") as top:
        machine.wait_until(lambda: f" {w.pid} " in f" {theirs.said()}", 60)
        time.sleep(1)
        w.go()
    found = re.findall(rf"^ *{w.pid} +\S+ +\S+ +([\d.]+) K +([\d.]+) K", theirs.said(), re.M)
    read, written = map(float, found[-1]) if found else (0.0, 0.0)
    mine = {op: top.total("bytes", "rows", disk=disk.name, pid=w.pid, op=op) for op in "RW"}
    gate.check("read", mine["R"] == READ == int(read * 1024), ours=mine["R"], theirs=int(read * 1024))
    gate.check("written", mine["W"] == WRITTEN == int(written * 1024), ours=mine["W"],
               theirs=int(written * 1024))
