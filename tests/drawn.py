#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""drawn.py JSON [per-second] <SCREEN: compares the figures and processes on a screen of top by process with top's JSON.
Differences are printed; then the status is 1."""
import json
import re
import sys


def digits(value: float) -> str:
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def of_units(value: float, step: float, names: str, limit: float) -> str:
    units = names.split()
    while value >= limit and len(units) > 1:
        value, units = value / step, units[1:]
    return f"{digits(value)} {units[0]}"


def time(ns: int) -> str:
    if ns < 1000:
        return f"{ns} ns"
    return f"{digits(ns / 1e9)} s" if ns >= 999.5e6 else of_units(ns / 1e3, 1e3, "us ms", 999.5)


def data(n: int) -> str:
    if not n:
        return "-"
    return f"{n} B" if n < 1024 else of_units(n / 1024, 1024, "KiB MiB GiB TiB", 1023.5)


def count(n: int) -> str:
    return f"{n:,}" if n < 10**6 else of_units(n / 1e6, 1e3, "M G", 999.5).replace(" ", "")


# The names on screens of the strata that have another one in JSON.
LABELS = {"complete": "wake-up", "runq": "run queue", "preempt": "preempted", "helper": "kernel thread"}


def ops_cells(op: dict, scale) -> dict[str, str]:
    if not op:
        return {"OPS": "0", "DATA": "-", "TIME": "-", "T99": "-", "WHERE": "-"}
    name, ns = max(op["strata"].items(), key=lambda item: item[1])
    return {"OPS": count(scale(op["count"])), "DATA": data(scale(op["bytes"])),
            "TIME": time(op["total_ns"] // op["count"]), "T99": time(op["p99_ns"]),
            "WHERE": f"{LABELS.get(name, name)} {100 * ns / op['total_ns']:.0f}%"}


def rqs_cells(rq: dict, scale) -> dict[str, str]:
    if not rq:
        return {"I/O": "0", "BYTES": "-", "AVG": "-", "P99": "-", "QUEUE": "-", "FOR": "-", "DISK": "-"}
    n = rq["count"]
    return {"I/O": count(scale(n)), "BYTES": data(scale(rq["bytes"])), "AVG": time(rq["total_ns"] // n),
            "P99": time(rq["p99_ns"]), "QUEUE": time((rq["tag_ns"] + rq["queue_ns"]) // n),
            "FOR": data(scale(rq["bytes"]) if rq["on_behalf"] else 0), "DISK": rq["disk"]}


def wanted(path: str, per_second: bool) -> dict[str, dict[str, str]]:
    """The cells of each process, by its id; it has at most one row of each kind."""
    with open(path, encoding="utf-8") as f:
        whole = json.load(f)

    def scale(n: int) -> int:
        return int(n * 1e9 / whole["duration_ns"] + 0.5) if per_second else n
    ops, rqs = ({row["pid"]: row for row in whole[side]} for side in ("ops", "rows"))
    return {str(pid): {"PID": str(pid), "COMM": (ops.get(pid) or rqs[pid])["comm"]} |
            ops_cells(ops.get(pid, {}), scale) | rqs_cells(rqs.get(pid, {}), scale)
            for pid in ops.keys() | rqs.keys()}


def main() -> int:
    lines = [re.split(r" {2,}", line.strip()) for line in sys.stdin]
    at = next((i for i, cells in enumerate(lines) if cells[0] == "PID"), None)
    if at is None:
        print("no line of titles yet")
        return 1
    titles = [title.rstrip("*") for title in lines[at]]
    rows = {cells[0]: dict(zip(titles, cells)) for cells in lines[at + 1:] if len(cells) == len(titles)}
    want = wanted(sys.argv[1], "per-second" in sys.argv[2:])
    wrong = [(pid, rows.get(pid), cells) for pid, cells in want.items() if rows.get(pid) != cells]
    for pid, shown, cells in wrong:
        print(f"{pid}: shown {shown}, in JSON {cells}")
    print(f"{len(want)} processes, {len(want) * len(titles)} figures")
    return bool(wrong or rows.keys() - want.keys() or len(want) < 40)


if __name__ == "__main__":
    sys.exit(main())
