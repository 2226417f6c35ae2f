# SPDX-License-Identifier: GPL-2.0-only
"""blktrace traces requests at the same time. The recording has each request of blktrace's, on the same sector,
dispatched and completed at the same time."""
from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Iterator

import fileio
import machine
from checks_record import Record, report
from harness import Broken, Gate, Skip, patience, suite

# struct blk_io_trace of the kernel's blktrace_api.h, and its actions
EVENT = struct.Struct("=IIQQIIIIIHH")
MAGIC, NOTIFY = 0x65617400, 0x400
REQUEUE, ISSUE, COMPLETE = 6, 7, 8
# A guest's CPUs take turns, and either tracer may be the one that has to wait in between.
NEAR_NS, GUEST_NEAR_NS, CLOSE_NS = 1_000_000, 20_000_000, 10_000

Times = dict[int, list[int]]  # by sector


class Seen:
    """The requests that blktrace saw, and their times."""

    def __init__(self) -> None:
        self.issued: Times = defaultdict(list)
        self.completed: Times = defaultdict(list)
        self.events = 0

    def add(self, when: int, sector: int, action: int) -> None:
        self.events += 1
        if action == ISSUE:
            self.issued[sector].append(when)
        elif action == REQUEUE and self.issued[sector]:
            self.issued[sector].pop()  # it is dispatched again
        elif action == COMPLETE:
            self.completed[sector].append(when)


def parse(data: bytes) -> Iterator[tuple[int, int, int]]:
    at = 0
    while at + EVENT.size <= len(data):
        magic, _, when, sector, _, action, _, _, _, _, more = EVENT.unpack_from(data, at)
        if magic & ~0xff != MAGIC:
            raise Broken("blktrace wrote what is no event")
        if not action >> 16 & NOTIFY:
            yield when, sector, action & 0xffff
        at += EVENT.size + more


def debugfs(stack: ExitStack) -> Path:
    """One of our own: the machine's may not be mounted, and stays as it is."""
    at = Path(machine.run("mktemp", "-d").strip())
    stack.callback(at.rmdir)
    machine.run("mount", "-t", "debugfs", "none", str(at))
    stack.callback(machine.unmount, at)
    return at


def is_traced(disk: machine.Disk) -> bool:
    try:
        return machine.get(disk.sys / "trace/enable") == "1"
    except OSError:  # on older kernels, while nobody has opened it
        return False


def need_permission(said: str) -> None:
    if "Operation not permitted" in said:
        raise Skip("this machine permits no blktrace, not even to root")


def wait_begun(proc: subprocess.Popen[str], disk: machine.Disk) -> None:
    machine.wait_until(lambda: is_traced(disk) or proc.poll() is not None, 20)
    if is_traced(disk):
        return
    proc.kill()
    said = proc.communicate()[0]
    need_permission(said)
    raise Broken(f"blktrace did not begin: {said}")


@contextmanager
def blktrace(stack: ExitStack, disk: machine.Disk, where: Path) -> Iterator[Seen]:
    if not shutil.which("blktrace"):
        raise Skip("no blktrace")
    to = where / f"blktrace.{disk.name}"
    to.mkdir()
    stack.callback(shutil.rmtree, to, ignore_errors=True)
    command = ["blktrace", "-r", str(debugfs(stack)), "-d", disk.path, "-D", str(to), "-o", "it",
               "-b", "1024", "-n", "16"]
    seen = Seen()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as proc:
        wait_begun(proc, disk)
        try:
            time.sleep(0.5)
            yield seen
        finally:
            proc.send_signal(signal.SIGINT)
            said = proc.communicate(timeout=60 * patience())[0]
    need_permission(said)
    if proc.returncode or re.findall(r"dropped (\d+)", said) != ["0"]:
        raise Broken(f"blktrace: exit {proc.returncode}: {said}")
    for when, sector, action in sorted(e for f in to.glob("it.blktrace.*") for e in parse(f.read_bytes())):
        seen.add(when, sector, action)


def nearest(times: list[Any], when: int, key: Any = lambda t: t) -> Any:
    return min(times, key=lambda t: abs(key(t) - when), default=None)


def join(gate: Gate, name: str, seen: Seen, events: list[dict[str, Any]]) -> None:
    """Each request of blktrace with one of ours, which then is no other's."""
    near = GUEST_NEAR_NS if not gate.native else NEAR_NS
    ours: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for e in events:
        at = e["start_ns"] + (e["tag_ns"] or 0) + (e["queue_ns"] or 0)
        ours[e["sector"] or 0].append((at, at + e["device_ns"]))
    n = sum(map(len, seen.issued.values()))
    joined, off, first = 0, [], ""
    for sector, issued in seen.issued.items():
        for when in issued:
            it = nearest(ours[sector], when, lambda t: t[0])
            done = nearest(seen.completed[sector], it[1]) if it else None
            if done is None or abs(it[0] - when) > near or abs(it[1] - done) > near:
                first = first or f"sector {sector} at {when}: {it}, {done}"
                continue
            ours[sector].remove(it)
            joined += 1
            off.append(max(abs(it[0] - when), abs(it[1] - done)))
    off.sort()
    close = sum(ns <= CLOSE_NS for ns in off)
    gate.check(name, n > 3000 and joined >= 0.999 * n and (not gate.native or close >= 0.99 * n),
               requests=n, joined=joined, share=f"{100 * joined / max(n, 1):.2f}%", within_10us=close,
               p99_us=off[len(off) * 99 // 100] / 1000 if off else "-", recorded=len(events), first=first)


def work(disk: machine.Disk, at: Path | None) -> None:
    """Small and large, direct and through a file system, with splits, merges and flushes."""
    fileio.read_at(disk.path, fileio.spread(2003, 4096, 48 << 20), 4096, os.O_DIRECT)
    fileio.read_at(disk.path, [i << 20 for i in range(11)], 1 << 20, os.O_DIRECT)
    if not at:
        fileio.write_at(disk.path, fileio.spread(1009, 4096, 48 << 20), 4096, os.O_DIRECT)
        return
    fileio.make_file(f"{at}/file", 8)
    fileio.write_at(f"{at}/file", fileio.spread(1009, 4096, 8 << 20), 4096, os.O_DIRECT)
    for i in range(23):
        fileio.write_at(f"{at}/file", [i << 12], 4096, sync=True)
    fileio.write_at(f"{at}/file", fileio.spread(503, 4096, 8 << 20), 4096, sync=True)


@suite("blktrace", 600)
def beside_blktrace(gate: Gate) -> None:
    scratch = machine.scratch(gate.kept)
    for kind in ("loop", "null_blk"):
        if kind == "loop":
            disk = machine.loop(gate.stack, gate.kept, 96)
            at = machine.mounted(gate.stack, gate.kept, disk, "ext4")
        elif gate.native:
            gate.skip(kind, "the rest of this machine would notice a module, so not with --native")
            continue
        else:
            disk, at = machine.null_blk(gate.stack, gate.kept, irqmode=2, completion_nsec=10000), None
        file = scratch / "blktrace.ios"
        with Record(file, "--requests", "-d", disk.name):
            with blktrace(gate.stack, disk, scratch) as seen:
                work(disk, at)
                os.sync()
                time.sleep(0.5)
        join(gate, kind, seen, [e for e in report("--events", "json", str(file))[1:] if e["type"] == "request"])
