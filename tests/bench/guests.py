# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests/bench/guest in a guest, and makes a dictionary of its lines."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent

# Kinds of loop.c, and the number of operations of each; report.WORKLOADS describes the kinds.
FULL = ("clock:200 pread:2000 read:2000 write:2000 wback:600 openclose:1000 fsync:300 dread:600 "
        "uring:600 fault:2000 anon:2000 getppid:4000")
QUICK = ("clock:200 pread:2000 dread:300 uring:300 write:2000 openclose:500 fsync:200 fault:2000 anon:2000 "
         "getppid:4000")
QUICK_ROWS = ("breakdown|breakdown -T *|breakdown --by pid|breakdown --slowest 5|funcs|"
              "funcs --probe kprobe")
# On 5.10 a direct read goes through a worker and a softirq, and top follows their waking.
QUICK_5_10 = "clock:200 dread:300"
QUICK_ROWS_5_10 = "top|top -b"

# The calls of loop.c in the order of its output, by breakdown's names.
COUNTED = ("read", "write", "open", "fsync", "uring")
CALLS = COUNTED[:-1]
# The calls that a mode counts, if it does not count all.
COUNTS_ONLY = {"breakdown -T syscall": CALLS, "breakdown -T vfs": CALLS, "breakdown -T ext4": CALLS,
               "breakdown -T blk": (), "breakdown -p 1": (), "breakdown --op fsync": ("fsync",),
               "funcs": ("read",), "funcs --probe kprobe": ("read",), "funcs --tree": ("read",),
               "funcs --probe kprobe.session": ("read",), "funcs -p 1": (), "top": ("fsync",), "top -b": (),
               "serve": ()}
# Modes which count a read of io_uring as a read, too.
URING_READS = ("breakdown -T ext4", "funcs", "funcs --probe kprobe", "funcs --probe kprobe.session", "funcs --tree")


def _line(got: dict, fields: list[str]) -> None:
    what, name = fields[0], fields[1]
    row = got["rows"].setdefault(name, {"ops": {}, "calls": dict.fromkeys(COUNTED, 0), "seen": {},
                                        "failed": []})
    if what == "op":
        for op, n in zip(COUNTED, fields[7:]):
            row["calls"][op] += int(n)
        if not fields[2].startswith("-"):
            row["ops"][fields[2]] = {"n": int(fields[3]), "median": float(fields[4]),
                                     "mean": float(fields[5]), "best": float(fields[6])}
    elif what == "bytes":
        row["ops"][fields[2]]["bytes"] = int(fields[3]) / sum(row["calls"].values())
    elif what == "start":
        row["start_cpu_ns"] = int(fields[2])
    elif what == "memory":
        row["peak_bytes"], row["held_bytes"] = int(fields[2]), int(fields[3])
    elif what == "seen":
        row["seen"][fields[2]] = int(fields[3])
    elif what == "unseen":
        row["calls"][fields[2]] = 0
    elif what == "failed":
        row["failed"].append(fields[2] if len(fields) > 2 else "")


def is_ours(row: str) -> bool:
    """Whether @row is a mode of iostrata."""
    return row.startswith(("breakdown", "funcs", "top")) or row == "record"


def _miscounted(name: str, row: dict) -> list[str]:
    """The calls of each kind of which a tool of ours counted too many or too few."""
    wrong = []
    for op in COUNTED:
        calls = row["calls"][op] if op in COUNTS_ONLY.get(name, COUNTED) else 0
        if op == "read" and name in URING_READS:
            calls += row["calls"]["uring"]
        seen = row["seen"].get(op, 0)
        if seen != calls:
            wrong.append(f"it counted {seen} of {calls} {op} calls")
    return wrong


def fetch(kernel: str) -> None:
    """Fetches the kernel, and its headers for bcc, if they are not in the cache. boot complains if the kernel stays
    away."""
    fetched = 1
    if shutil.which("ext4dist-bpfcc"):
        fetched = subprocess.run([TESTS / "vm/fetch", "--headers", kernel], check=False,
                                 stdout=subprocess.DEVNULL).returncode
    if fetched:
        subprocess.run([TESTS / "vm/fetch", kernel], check=False, stdout=subprocess.DEVNULL)


def _read_lines(kernel: str, vm: subprocess.Popen, got: dict) -> None:
    for line in vm.stdout or ():
        fields = line.rstrip("\n").split("\t")
        if fields[0] == "start" and sys.stderr.isatty():
            print(f"\r\033[K{kernel}: {fields[1]}", end="", file=sys.stderr, flush=True)
        if len(fields) > 1:
            _line(got, fields)


def quick(kernel: str) -> tuple[str, str]:
    """Rows and workloads of the short bench."""
    return (QUICK_ROWS_5_10, QUICK_5_10) if kernel == "5.10" else (QUICK_ROWS, QUICK)


def run(kernel: str, work: Path, rows: str, workloads: str) -> dict:
    """Rows and their figures; "error" says why there are none or not all."""
    env = os.environ | {"ICOUNT": "0", "SMP": "1", "DISK": "0", "TMO": "1800"}
    command = [TESTS / "vm/boot", kernel, TESTS / "bench/guest", work, "base|" + rows, workloads]
    got: dict = {"rows": {}, "error": None}
    began = time.monotonic()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as vm:
        try:
            _read_lines(kernel, vm, got)
        except BaseException:
            vm.terminate()
            raise
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if vm.returncode:
        got["error"] = f"the guest ended with {vm.returncode}"
    for name, row in got["rows"].items():
        if is_ours(name) and row["ops"]:
            row["failed"] += _miscounted(name, row)
    got["seconds"] = round(time.monotonic() - began, 1)
    return got


def broken(result: dict) -> bool:
    """Whether a guest, or a mode of ours in it, did not run."""
    return any(got["error"] or any(is_ours(name) and row["failed"]
                                   for name, row in got["rows"].items())
               for got in result["kernels"].values())
