# SPDX-License-Identifier: GPL-2.0-only
"""funcs beside other tools that time functions, in the same run: the same counts, and about the same means. Tools that
are not installed are skipped."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

import machine
import oracles
from checks_funcs import READS, SYNCS, Funcs, worker
from harness import Gate, Skip, suite
from peers import Peer, bcc_headers

TRACING = Path("/sys/kernel/tracing")
COUNTED = {"ext4_file_read_iter": READS, "ext4_sync_file": SYNCS}
# This function takes so long that the cost of two tools' probes on one function does not show.
TIMED = "ext4_sync_file"


def slow_worker(gate: Gate) -> oracles.Process:
    """A worker whose disk takes 10 ms for each request."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, memory_backed=1, size=96,
                            completion_nsec=10_000_000)
    return worker(gate, str(machine.mounted(gate.stack, gate.kept, disk, "ext4")))


def compare(gate: Gate, name: str, ours: Funcs, func: str, count: int, mean_ns: float) -> None:
    want, mine = COUNTED[func], ours.counts().get(func, 0)
    gate.check(f"{name}.count", count == mine == want, theirs=count, ours=mine)
    if func == TIMED:
        own_ns = ours.total_ns(func) / mine if mine else 0
        gate.check(f"{name}.mean", 0.9 <= mean_ns / (own_ns or 1) <= 1.1, theirs_ns=int(mean_ns),
                   ours_ns=int(own_ns))


def log2_rows(text: str) -> list[tuple[int, int, int]]:
    """Low, high and count of the rows of a histogram."""
    rows = re.findall(r"^\s*(\d+) -> (\d+)\s*: (\d+)", text, re.M)
    return [(int(low), int(high), int(n)) for low, high, n in rows]


@suite("funcs.peers.funclatency", 240)
def funclatency(gate: Gate) -> None:
    """funclatency of libbpf-tools: its histogram has powers of two, and no mean."""
    gate.not_native("probes functions that everybody calls")
    for func, want in COUNTED.items():
        theirs = Peer(gate, "funclatency", func)
        w = slow_worker(gate)
        with theirs, Funcs(func) as ours:
            w.go()
        rows, mine = log2_rows(theirs.said()), ours.counts().get(func, 0)
        count = sum(n for _, _, n in rows)
        gate.check(f"{func}.count", count == mine == want, theirs=count, ours=mine)
        if func != TIMED:
            continue
        low, high = (sum(r[i] * r[2] for r in rows) / max(count, 1) for i in (0, 1))
        mean = ours.total_ns(func) / max(mine, 1)
        gate.check(f"{func}.mean", 0.9 * low <= mean <= 1.1 * high, from_ns=int(low), to_ns=int(high),
                   ours_ns=int(mean))


@suite("funcs.peers.bcc", 400)
def bcc(gate: Gate) -> None:
    """funclatency of bcc: it compiles its program at the start, which takes a while and needs the kernel's headers."""
    gate.not_native("probes functions that everybody calls")
    bcc_headers(gate)
    for func in COUNTED:
        theirs = Peer(gate, "funclatency-bpfcc", func)
        w = slow_worker(gate)
        with theirs, Funcs(func) as ours:
            w.go()
        said = re.search(r"avg = (\d+) nsecs, total: \d+ nsecs, count: (\d+)", theirs.said())
        compare(gate, func, ours, func, int(said[2]) if said else 0, float(said[1]) if said else 0)


@suite("funcs.peers.function_graph", 240)
def function_graph(gate: Gate) -> None:
    """trace-cmd's recording of each call."""
    gate.not_native("ftrace's tracer is everybody's")
    names = list(COUNTED)
    theirs = Peer(gate, "trace-cmd", "record", "-p", "function_graph", "--max-graph-depth", "1",
                  "-b", "8192", *(word for name in names for word in ("-l", name)))
    w = slow_worker(gate)
    # it gives up if /proc/kallsyms changes while it copies that, which our programs do as they come and go
    with Funcs(*names) as ours, theirs:
        w.go()
    text = subprocess.run(["trace-cmd", "report"], cwd=theirs.dir, capture_output=True, text=True,
                          check=False).stdout
    for name in names:
        took = [float(us) for us in re.findall(rf"([\d.]+) us +\| +{name}\(\);", text)]
        compare(gate, name, ours, name, len(took), 1000 * sum(took) / max(len(took), 1))


def profile(name: str) -> tuple[int, float]:
    """Hits, and mean time in ns, over all CPUs."""
    hits, total_us = 0, 0.0
    for stat in (TRACING / "trace_stat").glob("function*"):
        for line in stat.read_text(encoding="ascii").splitlines():
            words = line.split()
            if words and words[0] == name:
                hits, total_us = hits + int(words[1]), total_us + float(words[2])
    return hits, 1000 * total_us / max(hits, 1)


@suite("funcs.peers.profiler")
def profiler(gate: Gate) -> None:
    """ftrace's own."""
    gate.not_native("ftrace's profiler is everybody's")
    if not (TRACING / "function_profile_enabled").exists():
        raise Skip("this kernel has no function profiler")
    machine.setting(gate.stack, TRACING / "set_ftrace_filter", "\n".join(COUNTED), "")
    w = slow_worker(gate)
    with Funcs(*COUNTED) as ours:
        machine.setting(gate.stack, TRACING / "function_profile_enabled", 1, "0")
        w.go()
        machine.put(TRACING / "function_profile_enabled", 0)
    for name in COUNTED:
        hits, mean_ns = profile(name)
        compare(gate, name, ours, name, hits, mean_ns)
