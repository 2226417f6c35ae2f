#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""explain_ref.py IOSTRATA RECORDING CONDITION: the chance of docs/design/explain.md once more, in plain Python.

It reads the operations one by one, counts the slow ones with each file, directory, process and command, and judges
each value by exchange within blocks of time and by all rotations one by one. It prints where explain's counts,
expectations and verdicts differ from its own, and how many values of either verdict it compared."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

from math import exp, lgamma, log, log1p
from pathlib import Path

import capture
from compare_ref import _fraction

BLOCKS, CELLS_EACH = 12, 16
LEAST, LEAST_SHARE, FALSE, SURE = 5, 0.05, 0.01, 1e-6
# the value of an operation, and the words of explain for it; processes and threads without their names
ATTRIBUTES = {
    "file": (lambda op: op["path"], "in file {}"),
    "directory": (lambda op: os.path.dirname(op["path"]), "in directory {}"),
    "process": (lambda op: op["pid"], "of process (pid {})"),
    "thread": (lambda op: op["tid"], "of thread (tid {})"),
    "comm": (lambda op: op["comm"], "of threads named {}"),
}


def binomial_above(k: float, n: float, share: float) -> float:
    """The probability of at least k of n, each with this share; k and n need not be whole."""
    if k <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    a, b, x = k, n - k + 1, share
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _fraction(a, b, x) / a if x < (a + 1) / (a + b + 2) else 1 - front * _fraction(b, a, 1 - x) / b


@dataclass
class Load:
    """The operations of a condition, in the order in which they began."""
    slow: list[bool]
    cells: list[int]

    def __post_init__(self) -> None:
        self.n, self.n_slow = len(self.slow), sum(self.slow)

    def sums(self, flags: list[bool], length: int) -> list[int]:
        """How many have their flag, by group of so many cells."""
        out = [0] * (BLOCKS * CELLS_EACH // length)
        for flag, cell in zip(flags, self.cells):
            out[cell // length] += flag
        return out


def expected(load: Load, has: list[bool]) -> float:
    groups = zip(load.sums(load.slow, CELLS_EACH), load.sums(has, CELLS_EACH), load.sums([True] * load.n, CELLS_EACH))
    return sum(slow * with_it / n for slow, with_it, n in groups if n)


def effect(load: Load, has: list[bool]) -> float:
    """By how much slow operations that come together count less."""
    share, largest = sum(has) / load.n, 1.0
    for length in (1, 2, 4, 8, 16):
        found = pairs = slow_pairs = 0.0
        for a, n, slow in zip(load.sums(has, length), load.sums([True] * load.n, length),
                              load.sums(load.slow, length)):
            found += (a - n * share) ** 2 - a * (1 - 2 * share) - n * share * share
            pairs += n * (n - 1) * share * (1 - share)
            slow_pairs += slow * (slow - 1)
        if pairs > 0:
            largest = max(largest, 1 + found / pairs * slow_pairs / load.n_slow)
    return min(largest, load.n_slow)


def at_most(n: int, share: float, together: float) -> int:
    """The first number that chance exceeds in at most one case of a hundred."""
    k = int(n * share)
    while k < n and binomial_above((k + 1) / together, n / together, share) > 0.01:
        k += 1
    return k


def rotated(load: Load, has: list[bool], overlap: int) -> float:
    """The share of all rotations in which at least so many slow ones have the value."""
    mask, n = sum(1 << i for i, h in enumerate(has) if h), load.n
    doubled = mask | mask << n
    slow = sum(1 << i for i, s in enumerate(load.slow) if s)
    return sum((doubled >> turn & slow).bit_count() >= overlap for turn in range(n)) / n


def judged(load: Load, has: list[bool]) -> dict:
    overlap = sum(h and s for h, s in zip(has, load.slow))
    mean, together = expected(load, has), effect(load, has)
    return {"slow": overlap, "others": sum(has) - overlap, "chance": mean,
            "chance_at_most": at_most(load.n_slow, mean / load.n_slow, together),
            "p": binomial_above(overlap / together, load.n_slow / together, mean / load.n_slow)
            if overlap > mean else 1.0}


def differences(load: Load, has: list[bool], mine: dict, theirs: dict) -> list[str]:
    """Where a finding is not what this program counts and judges."""
    out = [f"{key} {theirs[key]} instead of {mine[key]}" for key in ("slow", "others", "chance_at_most")
           if theirs[key] != mine[key]]
    if abs(theirs["chance"] - mine["chance"]) > 1e-5:
        out.append(f"chance {theirs['chance']} instead of {mine['chance']}")
    by_turn = rotated(load, has, mine["slow"])
    if by_turn > FALSE:
        out.append(f"found, with p {by_turn:.2g} by rotation")
    return out


def lines(*command: str) -> list[dict]:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main(program: str, recording: str, condition: str) -> int:
    told = lines(program, "explain", "--json", recording, condition)[0]
    op = condition.split(">")[0]
    ops = sorted((o for o in lines(program, "report", "--events", "json", recording)[1:]
                  if o["type"] == "op" and o["op"] == op), key=lambda o: o["start_ns"])
    header = next(c for c in capture.chunks(Path(recording).read_bytes()) if c.kind == capture.HEADER)
    begin = json.loads(header.raw)["monotonic_ns"]
    cell_ns, last = told["block_ns"] // CELLS_EACH, BLOCKS * CELLS_EACH - 1
    load = Load([o["total_ns"] > told["threshold_ns"] for o in ops],
                [min((o["start_ns"] - begin) // cell_ns, last) for o in ops])
    wrong = [] if (load.n, load.n_slow) == (told["count"], told["slow"]) else [f"{load.n} and {load.n_slow} operations"]
    said = {re.sub(r" \S+ \((?=[pt]id )", " (", f["text"]): f
            for finding in told["findings"] for f in (finding, *finding["same"])}
    found = left_out = 0
    for value_of, words in ATTRIBUTES.values():
        values = [value_of(o) for o in ops]
        for value in sorted({v for v, slow in zip(values, load.slow) if slow}):
            text, has = words.format(value), [v == value for v in values]
            mine, theirs = judged(load, has), said.get(text)
            if theirs:
                found += 1
                wrong += [f"{text}: {difference}" for difference in differences(load, has, mine, theirs)]
            elif mine["slow"] >= max(LEAST, LEAST_SHARE * load.n_slow):
                left_out += 1
                if mine["p"] * told["tests"] < SURE and mine["slow"] > load.n_slow / 2 and \
                        rotated(load, has, mine["slow"]) < SURE:
                    wrong.append(f"{text}: not found, with p {mine['p']:.2g}")
    for line in wrong:
        print(line)
    print(f"found {found}, not found {left_out}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
