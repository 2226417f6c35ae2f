#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""compare_ref.py IOSTRATA DIR: the method of docs/design/compare.md once more, in plain Python. It makes runs with
fixed figures in DIR, as files of breakdown --json, and prints where compare's verdicts differ from its own.

A run has operations and requests whose figures are drawn with fixed seeds: equal sides, longer strata, other numbers,
rows that some runs have not, sides of unequal size, and a drift over all runs."""
from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

STRATA = ("syscall", "device", "runq", "preempt")
EVENTS, LEAST_RUNS, LEAST, SHARE, PART, FLOOR = 10, 3, 0.01, 0.01, 0.1, 0.01
SURE, LIKELY = 0.01, 0.05
SECOND = ("p99", "p999", "requests")


# Student's distribution

def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    f = d
    for m in range(1, 2000):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + step * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + step / c
            c = c if abs(c) > tiny else tiny
            f *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return f


def t_p(t: float, df: float) -> float:
    """The probability of a value further from 0 than t."""
    a, b, x = df / 2, 0.5, df / (df + t * t)
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _fraction(a, b, x) / a if x < (a + 1) / (a + b + 2) else 1 - front * _fraction(b, a, 1 - x) / b


# The figures of a run

@dataclass
class Row:
    """A row of a run."""
    count: int = 0
    total: int = 0
    bytes: int = 0
    beside: int = 0
    strata: dict[str, int | None] | None = None
    hist: list[list[int]] | None = None


def percentile(row: Row, pct: float) -> float:
    rank, seen = row.count * pct / 100, 0
    for low, high, n in row.hist or []:
        if seen + n >= rank:
            return low + (high + 1 - low) * min(1, (rank - seen) / n)
        seen += n
    return 0


def number(run: dict, row: Row | None, figure: str) -> float | None:
    """A figure of one run; None: it has too few events."""
    count = row.count if row else 0
    if figure in ("rate", "count"):
        return count / run["s"]
    least = {"p50": 20, "p99": 100, "p999": 1000}.get(figure, EVENTS)
    if not row or count < least:
        return None
    if figure in ("p50", "p99", "p999"):
        return percentile(row, {"p50": 50, "p99": 99, "p999": 99.9}[figure])
    if figure == "mean":
        return row.total / count
    if figure == "bytes":
        return row.bytes / count
    if figure == "requests":
        return row.beside / count
    return ((row.strata or {}).get(figure) or 0) / count


def whole(run: dict, figure: str) -> float:
    rows = [row for key, row in run["rows"].items() if key[0] == "op"]
    if figure == "count":
        return sum(row.count for row in rows) / run["s"]
    waits = sum((row.strata or {}).get(name) or 0 for row in rows for name in ("runq", "preempt"))
    return (sum(row.total for row in rows) - (waits if figure == "nowait" else 0)) / run["s"]


# The tests

@dataclass
class Figure:
    """A test of one figure."""
    name: tuple[str, str, str, str]
    change: float
    p: float
    drift: float
    typical: tuple[float, float]
    start: float
    runs: int
    adjusted: float = 1.0
    drift_adjusted: float = 1.0
    verdict: str = "not judged"


def mean(x: list[float]) -> float:
    return sum(x) / len(x)


def variance(x: list[float]) -> float:
    return sum((one - mean(x)) ** 2 for one in x) / (len(x) - 1)


def drift(sides: list[list[tuple[int, float]]], floor: float) -> float:
    """The probability of the difference beside a straight line over the order of the runs."""
    rows = [(side, order, y) for side, values in enumerate(sides) for order, y in values]
    n = len(rows)
    middle = [mean([row[i] for row in rows]) for i in range(3)]
    s, o, y = ([row[i] - middle[i] for row in rows] for i in range(3))
    dot = lambda a, b: sum(i * j for i, j in zip(a, b))  # noqa: E731  pylint: disable=unnecessary-lambda-assignment
    det = dot(s, s) * dot(o, o) - dot(s, o) ** 2
    d = (dot(s, y) * dot(o, o) - dot(o, y) * dot(s, o)) / det
    c = (dot(o, y) * dot(s, s) - dot(s, y) * dot(s, o)) / det
    rest = sum((yy - d * ss - c * oo) ** 2 for ss, oo, yy in zip(s, o, y))
    return t_p(d / math.sqrt((rest / (n - 3) + floor) * dot(o, o) / det), n - 3)


def figure_of(base: list[dict], new: list[dict], name: tuple[str, str, str, str], blocked: float,
              row_mean: float) -> Figure | None:
    kind, *key, figure = name
    sides: list[list[tuple[int, float]]] = []
    for side in base, new:
        values = [(run["order"], whole(run, figure) if kind == "all" else
                   number(run, run["rows"].get((kind, *key)), figure)) for run in side]
        sides.append([(order, x) for order, x in values if x is not None])
    if min(len(side) for side in sides) < LEAST_RUNS:
        return None
    everything = mean([x for side in sides for _, x in side])
    start, floor = 0.0, FLOOR ** 2
    if figure in ("rate", "count"):
        start = mean([1 / run["s"] for run in base + new])
        floor = 1 / (everything / start + 1) ** 2
    elif figure in STRATA:
        start = LEAST * row_mean
    elif figure in ("bytes", "requests"):
        start = LEAST * everything
    if any(x + start <= 0 for side in sides for _, x in side):
        return None
    logs = [[(order, math.log(x + start)) for order, x in side] for side in sides]
    a, b = [y for _, y in logs[0]], [y for _, y in logs[1]]
    n, m = len(a), len(b)
    if n == m:
        df = float(n + m - 2)
        error = math.sqrt((((n - 1) * variance(a) + (m - 1) * variance(b)) / df + floor) * (1 / n + 1 / m))
    else:
        u, v = (variance(a) + floor) / n, (variance(b) + floor) / m
        error, df = math.sqrt(u + v), (u + v) ** 2 / (u * u / (n - 1) + v * v / (m - 1))
    change = mean(b) - mean(a)
    p = t_p(change / error, df)
    typical = mean([x for _, x in sides[0]]), mean([x for _, x in sides[1]])
    beyond = drift(logs, floor) if blocked > 0.5 and n + m >= 5 else p
    return Figure(name, change, p, beyond, typical, start, min(n, m))


def holm(p: list[float]) -> list[float]:
    most, adjusted = 0.0, [0.0] * len(p)
    for i, at in enumerate(sorted(range(len(p)), key=lambda at: p[at])):
        most = max(most, min(1.0, (len(p) - i) * p[at]))
        adjusted[at] = most
    return adjusted


def adjust(figures: list[Figure], least: tuple[float, float] = (0, 0)) -> None:
    for one, p, drift_p in zip(figures, holm([f.p for f in figures]), holm([f.drift for f in figures])):
        one.adjusted, one.drift_adjusted = max(p, least[0]), max(drift_p, least[1])


def is_worth(one: Figure, row_mean: float) -> bool:
    if abs(one.change) < math.log1p(LEAST):
        return False
    return one.name[3] not in STRATA or abs(one.typical[1] - one.typical[0]) >= LEAST * row_mean


def judge(one: Figure, row_mean: float, blocked: float) -> None:
    one.verdict = "not sure"
    if not is_worth(one, row_mean) or one.adjusted > LIKELY:
        return
    one.verdict = "sure" if one.adjusted <= SURE else "likely"
    if blocked > 0.5 and one.drift_adjusted > SURE:
        one.verdict = "likely" if one.drift_adjusted <= LIKELY else "drift"
    elif one.name[0] == "request" and one.runs < 5 and one.name[3] in ("rate", "count", "bytes"):
        one.verdict = "likely"


def shares(runs: list[dict], key: tuple[str, str, str]) -> tuple[float, float, float]:
    """A row's part of the events and of the time of its runs, and its events in a run."""
    counts, times, numbers = [], [], []
    for run in runs:
        same = [row for other, row in run["rows"].items() if other[0] == key[0]]
        row = run["rows"].get(key, Row())
        counts.append(row.count / max(1, sum(one.count for one in same)))
        times.append(row.total / max(1, sum(one.total for one in same)))
        numbers.append(row.count)
    return mean(counts), mean(times), mean(numbers)


def compare(base: list[dict], new: list[dict]) -> tuple[list[Figure], float]:
    runs = base + new
    orders, sides = [run["order"] for run in runs], [0] * len(base) + [1] * len(new)
    so = sum((s - mean(sides)) * (o - mean(orders)) for s, o in zip(sides, orders))
    blocked = so * so / (sum((s - mean(sides)) ** 2 for s in sides) * sum((o - mean(orders)) ** 2 for o in orders))
    first, means = [], {("all", "", ""): 0.0}
    for figure in "time", "nowait", "count":
        first.append(figure_of(base, new, ("all", "", "", figure), blocked, 0))
    keys = sorted({key for run in runs for key in run["rows"]})
    for key in keys:
        has = [row for run in runs for row in [run["rows"].get(key)] if row and row.count >= EVENTS and row.total]
        row_mean = math.exp(mean([math.log(row.total / row.count) for row in has])) if has else 0.0
        means[key] = row_mean
        count, time, events = shares(runs, key)
        if count >= SHARE:
            first.append(figure_of(base, new, (*key, runs[0]["number"]), blocked, row_mean))
        if not all(any(key in run["rows"] for run in side) for side in (base, new)) or events < EVENTS:
            continue
        if count >= SHARE and any(run["rows"][key].bytes for run in runs if key in run["rows"]):
            first.append(figure_of(base, new, (*key, "bytes"), blocked, row_mean))
        for figure in ("mean", "p50", *STRATA) if time >= SHARE else ():
            if key[0] == "request" and figure in ("syscall", "runq", "preempt"):
                continue
            one = figure_of(base, new, (*key, figure), blocked, row_mean)
            if one and (figure in ("mean", "p50") or sum(one.typical) / 2 + one.start > PART * row_mean):
                first.append(one)
    judged = [one for one in first if one]
    adjust(judged)
    second = []
    for key in keys:
        moved = [one for one in judged if one.name[:3] == key and is_worth(one, means[key])]
        if not moved or min(one.adjusted for one in moved) > LIKELY:
            continue
        below = [one for one in (figure_of(base, new, (*key, figure), blocked, means[key]) for figure in SECOND
                                 if key[0] == "op" or figure != "requests") if one]
        adjust(below, (min(one.adjusted for one in moved), min(one.drift_adjusted for one in moved)))
        second += below
    for one in judged + second:
        judge(one, means[one.name[:3]], blocked)
    return judged + second, blocked


# Runs with fixed figures

def bucket(ns: int) -> tuple[int, int]:
    """The first and the last value of the histogram's bucket: 32 for each power of two."""
    width = max(1, 1 << ns.bit_length() - 6) if ns >= 32 else 1
    return ns - ns % width, ns - ns % width + width - 1


def hist_of(times: list[int]) -> list[list[int]]:
    found: dict[tuple[int, int], int] = {}
    for t in times:
        found[bucket(t)] = found.get(bucket(t), 0) + 1
    return [[low, high, n] for (low, high), n in sorted(found.items())]


def made(rng: random.Random, spread: float, factors: dict, skip: set[str], order: int, command: bool) -> dict:
    """A run as an object of breakdown. @factors: by (operation, figure); @skip: operations that it has not; @command:
    whether it is a command's, so that its length is a result."""
    run = rng.lognormvariate(0, spread)
    ops, requests = [], []
    for op, count, syscall, device, size in (("read", 400, 900, 80000, 4096), ("write", 300, 2000, 0, 2048),
                                             ("fsync", 40, 9000, 700000, 0), ("open", 1300, 700, 0, 0),
                                             ("close", 9, 300, 0, 0)):
        count = round(count * factors.get((op, "count"), 1) * (1 + rng.choice((0, 0, 0.01))))
        strata = {"syscall": 0, "vfs": None, "device": 0, "runq": 0, "preempt": 0}
        times = []
        for _ in range(count if op not in skip else 0):
            parts = {"syscall": round(syscall * rng.lognormvariate(0, 0.2) * factors.get((op, "syscall"), 1)),
                     "device": round(device * rng.lognormvariate(0, 0.5) * run * factors.get((op, "device"), 1)),
                     "runq": round(rng.lognormvariate(0, 1) * 3000 * run) if rng.random() < 0.1 else 0}
            for name, value in parts.items():
                strata[name] += value
            times.append(64 + sum(parts.values()))
            strata["syscall"] += 64
        if times:
            ops.append({"op": op, "fs": "ext4", "key": None, "count": count, "errors": 0,
                        "bytes": round(size * count * factors.get((op, "bytes"), 1)), "requests": 0,
                        "total_ns": sum(times), "strata": strata, "hist": hist_of(times)})
    for op, code, count in ("read", "R", 390), ("write", "W", 80):
        times = [64 + round(70000 * rng.lognormvariate(0, 0.4) * run * factors.get((op, "device"), 1))
                 for _ in range(round(count * rng.choice((1, 1.1)) * factors.get((op, "requests"), 1)))]
        requests.append({"op": code, "dev": "vda", "key": None, "count": len(times), "errors": 0,
                         "bytes": 4096 * len(times), "tag_ns": 100, "queue_ns": 1000 * len(times),
                         "device_ns": sum(times), "hist": hist_of(times)})
    seconds = 100 + order
    return {"schema": "iostrata.breakdown/1", "kernel": "6.1",
            "time": f"2026-01-31T{12 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000+01:00",
            "command": "made" if command else None, "duration_ns": 800_000_000 + 1_000_000 * order, "missing": ["vfs"],
            "ops": ops, "requests": requests, "lost": {}}


def read(line: dict, order: int) -> dict:
    """The run of a file, as compare reads it."""
    rows: dict[tuple[str, str, str], Row] = {}
    for row in line["ops"]:
        rows["op", row["op"], row["fs"]] = Row(row["count"], row["total_ns"], row["bytes"], 0, row["strata"],
                                               row["hist"])
    for row in line["requests"]:
        parts = {name: row[f"{name}_ns"] for name in ("tag", "queue", "device")}
        rows["request", {"R": "read", "W": "write"}[row["op"]], row["dev"]] = Row(
            row["count"], sum(parts.values()), row["bytes"], 0, parts, row["hist"])
    return {"rows": rows, "s": 1.0 if line["command"] else line["duration_ns"] / 1e9, "order": order,
            "number": "count" if line["command"] else "rate"}


# name: runs a side, spread of runs, factors of new, what new has not, how much each run is longer than the last
SCENARIOS: dict[str, tuple[tuple[int, int], float, dict, set[str], float]] = {
    "equal": ((3, 3), 0.1, {}, set(), 0),
    "equal, many": ((10, 10), 0.3, {}, set(), 0),
    "unequal sides": ((3, 8), 0.2, {("fsync", "device"): 3.0}, set(), 0),
    "longer device": ((5, 5), 0.1, {("fsync", "device"): 1.5, ("write", "device"): 1.5}, set(), 0),
    "longer syscall": ((5, 5), 0.1, {("open", "syscall"): 1.2}, set(), 0),
    "other number": ((3, 3), 0.05, {("read", "count"): 0.5, ("read", "requests"): 0.5}, set(), 0),
    "other size": ((5, 5), 0.05, {("write", "bytes"): 1.3}, set(), 0),
    "one side only": ((4, 4), 0.1, {}, {"open"}, 0),
    "drift": ((5, 5), 0.05, {}, set(), 0.08),
    "drift, and longer": ((8, 8), 0.02, {("fsync", "device"): 2.0}, set(), 0.03),
}


def told(got: dict) -> dict[tuple[str, str, str, str], dict]:
    """The judged figures of compare's JSON."""
    found = {("all", "", "", name): got["whole"][name] for name in ("time", "nowait", "count")}
    for kind, rows in ("op", got["ops"]), ("request", got["requests"]):
        for row in rows:
            key = kind, row["op"], row.get("fs") or row["dev"]
            for name, one in [*row.items(), *row["strata"].items()]:
                if isinstance(one, dict) and "verdict" in one:
                    found[(*key, name)] = one
    for row in got["one_side"]:
        found["request" if row["request"] else "op", row["op"], row["where"],
              "rate" if got["whole"]["per_second"] else "count"] = row
    return {name: one for name, one in found.items() if one["verdict"] not in ("not judged", "too few")}


def check(tool: str, work: Path, name: str, seed: int) -> tuple[int, set[str]]:
    """Prints the differences; how many there are, and the verdicts."""
    (n, m), spread, factors, skip, slope = SCENARIOS[name]
    in_turn = not slope
    rng = random.Random(seed)
    sides: tuple[list, list] = ([], [])
    order = sorted([(i * (1 / n if in_turn else 1), 0) for i in range(n)] +
                   [(i / m + 0.1 if in_turn else n + i, 1) for i in range(m)])
    command = [tool, "compare", "-j"]
    for at, (_, side) in enumerate(order):
        drifted = {key: value for key, value in factors.items() if side}
        for op in ("read", "write", "fsync") if slope else ():
            drifted[op, "device"] = drifted.get((op, "device"), 1) * (1 + slope * at)
        line = made(rng, spread, drifted, skip if side else set(), at, seed % 2 == 1)
        file = work / f"{name}-{seed}-{at}.json"
        file.write_text(json.dumps(line) + "\n", encoding="ascii")
        sides[side].append(read(line, at))
        command += ["--new" if side else "--base", str(file)]
    ours, blocked = compare(*sides)
    theirs = told(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    wrong = 0
    for one in ours:
        it = theirs.pop(one.name, None)
        if it and it["verdict"] == one.verdict and abs(it["p_adjusted"] - one.adjusted) < 2e-6:
            continue
        wrong += 1
        print(f"{name} {seed}: {one.name}: {one.verdict} {one.adjusted:.6f}, compare says "
              f"{it['verdict'] + ' ' + str(it['p_adjusted']) if it else 'nothing'}; blocked {blocked:.2f}")
    for key, it in theirs.items():
        wrong += 1
        print(f"{name} {seed}: {key}: not judged, compare says {it['verdict']}")
    return wrong, {one.verdict for one in ours}


def main() -> int:
    tool, work = sys.argv[1], Path(sys.argv[2])
    wrong, verdicts = 0, set()
    for name in SCENARIOS:
        for seed in range(2):
            n, found = check(tool, work, name, seed)
            wrong += n
            verdicts |= found
    missing = {"sure", "likely", "drift", "not sure"} - verdicts
    if missing:
        print(f"no figure is {', '.join(sorted(missing))}: the runs test too little")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
