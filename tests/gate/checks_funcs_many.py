# SPDX-License-Identifier: GPL-2.0-only
"""funcs on many functions, and on one that many threads are in: how long that takes, and what is told
of the calls that the kernel's probes miss."""
from __future__ import annotations

import re
import subprocess
import time

import machine
import oracles
import tool
from checks_funcs import KINDS, READS, Funcs, worker
from harness import Gate, Skip, patience, suite

MANY, FEWER = "ext4_*", "ext4_fi*"
MULTI = ("kprobe.session", "kprobe.multi")
USAGE = 2
# Seconds on a computer for FUNCTIONS functions. A guest takes longer, since system calls are slower there; and longer
# still if code is patched one function after another: the emulator translates this code again each time.
MULTI_S, SINGLE_S, END_S, FUNCTIONS, PATCHING = 1, 5, 1, 600, 4
SLEEPERS = 61
# Threads that are all in one call at once.
SLEEPER = """
import sys, threading, time
count = int(sys.argv[1])
meet = threading.Barrier(count)
def sleeper():
    meet.wait()
    time.sleep(1)
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=sleeper) for _ in range(count)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('{"slept": %d}' % count, flush=True)
"""


def listed_as_refused(kind: str, *patterns: str) -> list[str]:
    """Names that `--list` says would not be traced."""
    said = machine.run(tool.copy(), "funcs", "--list", "--probe", kind, *patterns)
    return re.findall(r"^(\S+).*: not traced: ", said, re.M)


@suite("funcs.attach", 300)
def attach(gate: Gate) -> None:
    """Seconds until functions of a module are probed, and until the result is there."""
    slow = machine.slowness()
    for kind in KINDS:
        w = worker(gate)
        # types of modules are not described everywhere: not all that are meant are of one
        patterns = (MANY if kind in MULTI else FEWER, "vfs_read")
        trace = Funcs("-p", str(w.pid), "--probe", kind, *patterns)
        begin = time.monotonic()
        try:
            with trace:
                live = time.monotonic()
                w.go()
                end = time.monotonic()
        except Skip as why:
            gate.skip(kind, str(why))
            continue
        ended = time.monotonic()
        n = int(trace.stderr.split()[1])
        limit = (MULTI_S if kind in MULTI else MULTI_S + SINGLE_S * PATCHING * n / FUNCTIONS) * slow
        gate.check(f"{kind}.time", live - begin <= limit and ended - end <= END_S * slow, functions=n,
                   live_s=live - begin, limit_s=limit, result_s=ended - end, slow=slow)
        refused = {row["name"]: row["why"] for row in trace.json["refused"]}
        reads = trace.counts().get("ext4_file_read_iter", 0)
        gate.check(f"{kind}.counts", reads == (0 if "ext4_file_read_iter" in refused else READS), reads=reads,
                   refused=len(refused), lost=trace.lost())
        # what it says beforehand; only the kernel knows which arguments it cannot take
        listed = set(listed_as_refused(kind, *patterns))
        wrong = {name for name in listed.symmetric_difference(refused)
                 if "arguments" not in refused.get(name, "")}
        gate.check(f"{kind}.list", not wrong, listed=len(listed), refused=len(refused),
                   wrong=" ".join(sorted(wrong)[:3]) or "none")


@suite("funcs.everything")
def everything(gate: Gate) -> None:
    """All functions of the kernel are too many, all of a kind are not."""
    done = subprocess.run([tool.copy(), "funcs", "*"], capture_output=True, text=True, timeout=60 * patience(),
                          check=False)
    gate.check("limit", done.returncode == USAGE and "--max" in done.stderr, exit=done.returncode,
               says=done.stderr.split("\n", maxsplit=1)[0])
    gate.not_native("slows down what everybody does")
    w = worker(gate)
    with Funcs("-p", str(w.pid), "vfs_re*") as trace:
        w.go()
    reads = trace.counts().get("vfs_read", 0)
    functions = int(trace.stderr.split()[1])
    gate.check("vfs", reads == READS and functions >= 5, functions=functions, probe=trace.json["probe"],
               reads=reads)


@suite("funcs.missed", 240)
def missed(gate: Gate) -> None:
    """More threads in a function than the kernel keeps returns of: each call is counted, or told as
    missed where a program sees no entry whose return it would not see."""
    tried = 0
    for kind in KINDS:
        w = oracles.Process(gate.stack, "python3", "-c", SLEEPER, str(SLEEPERS))
        try:
            with Funcs("-p", str(w.pid), "--probe", kind, "hrtimer_nanosleep") as trace:
                w.go()
        except Skip as why:
            gate.skip(kind, str(why))
            continue
        tried += 1
        (row,) = trace.json["functions"]
        count, lost = row["count"], trace.json["missed"]
        gate.check(kind, SLEEPERS in (count, count + lost), count=count, unreturned=row["unreturned"],
                   missed=lost)
    if not tried:
        raise Skip("functions cannot be probed")
