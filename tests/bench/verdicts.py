#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""verdicts.py [--record] DIR [WORK]: how often compare's verdicts are right, as a table for docs/design/compare.md.

DIR has recordings of verdicts_record.py; --record makes those that are missing, with files in WORK (a directory on a
disk; default DIR/work). Sides are drawn from equal runs at random, with a fixed seed, or taken in the order in which
they were recorded. What is planted is written into the figures of a run (report --json)."""
from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import verdicts_record

TOOL = str(Path(__file__).resolve().parents[2] / "build/iostrata")
SEED = 4711
DRAWS = 60  # of each program and size
PROGRAMS = [name.replace(" ", "-") for name in verdicts_record.PROGRAMS]
Sides = tuple[list[Path], list[Path]]


def compare(sides: Sides, *limits: str) -> dict:
    command = [TOOL, "compare", "-j"]
    for option, files in zip(("--base", "--new"), sides):
        command += [word for file in files for word in (option, str(file))]
    command += [word for limit in limits for word in ("--fail-if", limit)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode not in (0, 6):
        raise RuntimeError(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def figures(got: dict) -> Iterator[tuple[str, dict]]:
    """All figures, each with the name of its row."""
    for name in ("time", "nowait", "count"):
        if got["whole"][name]:
            yield "all", got["whole"][name]
    for row in got["ops"] + got["requests"]:
        name = f"{row['op']} {row.get('fs') or row.get('dev')}"
        for one in [*row.values(), *row["strata"].values()]:
            if isinstance(one, dict) and "verdict" in one:
                yield name, one
    for row in got["one_side"]:
        yield f"{row['op']} {row['where']}", row


@dataclass
class Count:
    """Of how many comparisons something was said."""
    of: int = 0
    words: dict[str, int] = field(default_factory=dict)

    def add(self, words: set[str]) -> None:
        self.of += 1
        for word in words:
            self.words[word] = self.words.get(word, 0) + 1

    def share(self, *words: str) -> str:
        n = sum(self.words.get(word, 0) for word in words)
        return f"{100 * n / max(1, self.of):.1f} %"

    def number(self, word: str) -> str:
        return f"{self.words.get(word, 0)} of {self.of}"


def verdicts(got: dict) -> set[str]:
    """The strongest verdict of any figure, and whether any was told a drift."""
    found = {one["verdict"] for _, one in figures(got)}
    strongest = "sure" if "sure" in found else "likely" if "likely" in found else "none"
    return {strongest} | (found & {"drift"})


def largest(run: Path) -> tuple[str, str]:
    """The operation with most time; faults come and go."""
    rows = json.loads(subprocess.run([TOOL, "report", "-j", run], stdout=subprocess.PIPE, check=True).stdout)["ops"]
    most = max((r for r in rows if r["op"] != "fault"), key=lambda r: r["total_ns"])
    return most["op"], most["fs"]


def waits_for_disk(dir_: Path, program: str) -> tuple[str, str] | None:
    """The operation with most time in devices, if that is a tenth of its time and it happens ten times a run."""
    sums: dict[tuple[str, str], list[int]] = {}
    files = sorted(dir_.glob(f"{program}-*.ios"))[::5]
    for file in files:
        for one in json.loads(subprocess.run([TOOL, "report", "-j", file], stdout=subprocess.PIPE,
                                             check=True).stdout)["ops"]:
            values = one["count"], one["total_ns"], one["strata"].get("device") or 0
            sums[one["op"], one["fs"]] = [a + b for a, b in zip(sums.get((one["op"], one["fs"]), [0, 0, 0]), values)]
    large = [(device, key) for key, (count, total, device) in sums.items()
             if key[0] != "fault" and count >= 10 * len(files) and device > total / 10]
    return max(large)[1] if large else None


def drawn(dir_: Path, program: str, sizes: tuple[int, int], rng: random.Random) -> Sides:
    files = rng.sample(sorted(dir_.glob(f"{program}-*.ios")), sum(sizes))
    return files[:sizes[0]], files[sizes[0]:]


def say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def equal(dir_: Path, sizes: tuple[int, int], rng: random.Random) -> tuple[Count, Count]:
    """What is said of equal runs, and of a limit that is exactly at their true change."""
    count, limit = Count(), Count()
    for program in PROGRAMS:
        op, fs = largest(dir_ / f"{program}-00.ios")
        for n in range(DRAWS):
            say(f"{program} {sizes} {n}")
            got = compare(drawn(dir_, program, sizes, rng), f"{op} {fs} mean +0%" if fs else f"{op} mean +0%")
            count.add(verdicts(got))
            limit.add({got["fail_if"][0]["state"]})
    return count, limit


def in_order(dir_: Path, n: int, turns: bool) -> tuple[Count, dict[str, int]]:
    """Windows of 2 n runs as they were recorded: one side after the other, or base, new, new, base."""
    count, by_program = Count(), {}
    for program in PROGRAMS:
        files = sorted(dir_.glob(f"{program}-*.ios"))
        for first in range(len(files) - 2 * n + 1):
            window = files[first:first + 2 * n]
            new = [i % 4 in (1, 2) if turns else i >= n for i in range(2 * n)]
            words = verdicts(compare(([f for f, is_new in zip(window, new) if not is_new],
                                      [f for f, is_new in zip(window, new) if is_new])))
            count.add(words)
            by_program[program] = by_program.get(program, 0) + ("sure" in words)
    return count, by_program


def delayed(dir_: Path, n: int, most: int) -> tuple[Count, Count]:
    """Windows of n runs a side with the two delays: what is said of device times, and of a guard."""
    count, guard = Count(), Count()
    base, new = (sorted(dir_.glob(f"disk-{side}-*.ios")) for side in ("base", "new"))
    for first in range(min(most, len(base) - n + 1)):
        got = compare((base[first:first + n], new[first:first + n]), "fsync ext4 mean +10%")
        count.add(verdicts(got))
        guard.add({got["fail_if"][0]["state"]})
    return count, guard


def plant(run: dict, op: str, fs: str, strata: tuple[str, ...] | None, by: float) -> dict:
    """A run whose operation has a longer stratum, or is longer in all (None). Its histogram stays."""
    run = json.loads(json.dumps(run))
    for row in run["ops"]:
        if (row["op"], row["fs"]) != (op, fs):
            continue
        for name, value in row["strata"].items():
            if value and (strata is None or name in strata):
                row["strata"][name] = round(value * by)
        row["total_ns"] = sum(value or 0 for value in row["strata"].values())
    return run


def planted(dir_: Path, n: int, strata: tuple[str, ...] | None, by: float, rng: random.Random) -> Count:
    """Whether the row in which it was planted is called sure, likely or neither."""
    count = Count()
    with tempfile.TemporaryDirectory() as temporary:
        for program in PROGRAMS:
            where = waits_for_disk(dir_, program) if strata else largest(dir_ / f"{program}-00.ios")
            if not where:
                continue
            op, fs = where
            for draw in range(DRAWS):
                say(f"planted {program} {n} {draw}")
                sides = drawn(dir_, program, (n, n), rng)
                made: Sides = ([], [])
                for side, files in enumerate(sides):
                    for i, file in enumerate(files):
                        run = json.loads(subprocess.run([TOOL, "report", "-j", file], stdout=subprocess.PIPE,
                                                        check=True).stdout)
                        to = Path(temporary) / f"{side}-{i}.json"
                        to.write_text(json.dumps(plant(run, op, fs, strata, by) if side else run) + "\n",
                                      encoding="ascii")
                        made[side].append(to)
                name = f"{op} {fs or None}"
                found = {one["verdict"] for row, one in figures(compare(made)) if row == name}
                count.add({"sure" if "sure" in found else "likely" if "likely" in found else "none"})
    return count


def apart(dir_: Path) -> tuple[float, float]:
    """How far pairs of equal runs are apart in their I/O time: the factor in the middle, and in 5 of 100."""
    ratios = []
    for program in PROGRAMS:
        totals = []
        for file in sorted(dir_.glob(f"{program}-*.ios")):
            rows = json.loads(subprocess.run([TOOL, "report", "-j", file], stdout=subprocess.PIPE, check=True).stdout)
            totals.append(sum(row["total_ns"] for row in rows["ops"]))
        ratios += [max(a, b) / min(a, b) for i, a in enumerate(totals) for b in totals[:i]]
    ratios.sort()
    return ratios[len(ratios) // 2], ratios[len(ratios) * 95 // 100]


def row(*cells: object) -> None:
    say("")
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(dir_: Path) -> None:
    rng = random.Random(SEED)
    runs = len(list(dir_.glob(f"{PROGRAMS[0]}-*.ios")))
    print(f"{runs} equal runs of {', '.join(verdicts_record.PROGRAMS)}\n")
    row("equal runs", "sure", "likely or sure", "a limit at the true change: broken", "held")
    row("---", "---:", "---:", "---:", "---:")
    for sizes in (3, 3), (5, 5), (10, 10), (3, 8):
        count, limit = equal(dir_, sizes, rng)
        row(f"{sizes[0]} and {sizes[1]}, drawn {count.of} times", count.share("sure"), count.share("sure", "likely"),
            limit.share("broken"), limit.share("held"))
    for n, turns in (10, False), (5, False), (10, True), (5, True):
        count, by_program = in_order(dir_, n, turns)
        told = ", ".join(f"{name} {times}" for name, times in by_program.items() if times)
        row(f"{n} {'and' if turns else 'then'} {n} in order{', in turn' if turns else ''}, {count.of} windows"
            f"{' (' + told + ')' if told else ''}", count.share("sure"), count.share("sure", "likely"), "", "")
    print()
    row("a difference", "runs a side", "sure", "likely or sure", "`fsync ext4 mean +10%` broken")
    row("---", "---:", "---:", "---:", "---:")
    for n in 3, 5, 10:
        count, guard = delayed(dir_, n, 20)
        row("a disk with 12 ms instead of 8 ms", n, count.number("sure"), f"{count.share('sure', 'likely')}",
            guard.number("broken"))
    for name, strata in ("device time of an operation +50 %", ("device",)), ("time of an operation +50 %", None):
        for n in 5, 10:
            count = planted(dir_, n, strata, 1.5, rng)
            row(name + ", planted", n, count.share("sure"), count.share("sure", "likely"), "")
    print("\nTwo equal runs: I/O time x{:.2g} apart in half of the pairs, x{:.2g} in 5 of 100".format(*apart(dir_)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--record", action="store_true", help="make the recordings that are missing")
    parser.add_argument("--runs", type=int, default=30, help="equal runs of each program [30]")
    parser.add_argument("dir", type=Path, metavar="DIR")
    parser.add_argument("work", type=Path, metavar="WORK", nargs="?")
    given = parser.parse_args()
    if given.record:
        verdicts_record.make(TOOL, given.dir.resolve(), (given.work or given.dir / "work").resolve(), given.runs)
    table(given.dir)


if __name__ == "__main__":
    main()
