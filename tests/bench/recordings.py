# SPDX-License-Identifier: GPL-2.0-only
"""How many records a second the commands read that work on recordings, and in how much memory. CPU time
counts, the least of some runs: others only add to it. The memory of a child begins with that of this
interpreter, some 15 MB: less is shown as that."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

OPERATIONS = 1000000
REQUESTS = OPERATIONS // 10
ROUNDS = 5

TOP = Path(__file__).resolve().parents[2]


def commands(work: Path) -> dict[str, tuple[int, list[str]]]:
    """How many recordings each reads, and its command line."""
    tool, one, two = str(work / "iostrata"), str(work / "one.ios"), str(work / "two.ios")
    return {
        "report": (1, [tool, "report", one]),
        "report --by file": (1, [tool, "report", "--by", "file", one]),
        "compare": (2, [tool, "compare", one, two]),
        "compare --by file": (2, [tool, "compare", "--by", "file", one, two]),
        "explain": (1, [tool, "explain", one, "any>p99"]),
        "explain request": (1, [tool, "explain", one, "request>p99"]),
    }


def _make(work: Path) -> None:
    """Two recordings of different times."""
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-std=gnu11", "-D_GNU_SOURCE", f"-I{TOP}/src", "-o",
                    work / "records", TOP / "tests/records.c", TOP / "build/libiostrata.a", "-lzstd", "-lz"],
                   check=True)
    for name, seed in ("one", "1"), ("two", "2"):
        subprocess.run([work / "records", "-s", seed, work / f"{name}.ios", str(OPERATIONS)], check=True)


def _cost(command: list[str]) -> tuple[float, int]:
    """CPU time in s, and the most bytes that were resident."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
    if status:
        raise subprocess.CalledProcessError(status, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _measure(files: int, command: list[str]) -> dict:
    try:
        costs = [_cost(command) for _ in range(ROUNDS)]
    except subprocess.CalledProcessError as why:
        return {"failed": [str(why)]}
    least = min(cpu for cpu, _ in costs)
    return {"record_ns": least * 1e9 / (files * (OPERATIONS + REQUESTS)), "peak_bytes": max(m for _, m in costs),
            "failed": []}


def run(work: Path) -> dict:
    """Rows and their figures."""
    rows = {}
    _make(work)
    for name, (files, command) in commands(work).items():
        if sys.stderr.isatty():
            print(f"\r\033[K{name}", end="", file=sys.stderr, flush=True)
        rows[name] = _measure(files, command)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return rows
