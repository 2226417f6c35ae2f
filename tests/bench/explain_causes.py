#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""explain_causes.py [--record] DIR [WORK]: how often explain names the cause of slowness, and how often it names
something where there is no cause, as tables for docs/design/explain.md.

DIR has the recordings of explain_record.py; --record makes those that are missing, with files in WORK (a directory on a
disk; default DIR/work). Causes are programs that disturb others, and times added to operations of a recording of
programs, with real noise (build/explain_judge, made by `make build/explain_judge`). Where there is no cause, times are
rotated in the order of operations. The seed is fixed, so the same recordings give the same tables."""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import explain_record

BUILD = Path(__file__).resolve().parents[2] / "build"
SEED = 4711
ACTORS = {"beside", "during", "holder", "process", "thread", "comm", "cgroup", "container"}
NO_CAUSES = {"time", "stratum", "step", "growth", "period"}  # rotated times keep their bursts and strata
# What is planted: the recording, the condition, the cause, and the words of which one must be in the finding.
PLANTED = [
    ("buffered", "read>p99", "file", "in file"),
    ("buffered", "write>p99", "file", "in file"),
    ("sqlite", "fsync>p99", "file", "in file"),
    ("tar", "any>p99", "size", "to less than|or more"),
    ("mixed", "read>p97", "process", "of process|of thread"),
    ("mixed", "write>p97", "file", "in file"),
    ("buffered", "read>p99", "size", "to less than|or more"),
    ("sqlite", "write>p99", "size", "to less than|or more"),
    ("mixed", "read>p99", "size", "to less than|or more"),
    ("fio", "read>p99", "offset", "at offsets"),
    ("buffered", "write>p99", "offset", "at offsets"),
    ("mixed", "write>p99", "offset", "at offsets"),
    ("buffered", "read>p99", "crossing", "across a multiple of 256 KiB"),
    ("buffered", "write>p99", "crossing", "across a multiple of 256 KiB"),
    ("mixed", "read>p99", "crossing", "across a multiple of 256 KiB"),
    ("fio", "read>p99", "sequence", "every 64th request"),
    ("sqlite", "fsync>p99", "sequence", "every 64th request"),
    ("buffered", "read>p99", "sequence", "every 64th request"),
    ("sqlite", "fsync>p99", "idle", "had been idle"),
    ("sqlite", "fsync>p99", "period", "one every|each period"),
    ("sqlite", "any>p99", "period", "one every|each period"),
    ("fio", "read>p99", "time", "in one incident"),
    ("buffered", "write>p99", "time", "in one incident"),
    ("fio", "read>p75", "step", "since when all are slower"),
    ("sqlite", "fsync>p75", "step", "since when all are slower"),
    ("fio", "read>p75", "growth", "grow slower"),
    ("mixed", "read>p75", "growth", "grow slower"),
]
# Where nothing is planted. A program in a loop is rotated in parts: see explain_judge.c.
ROTATED = [
    ("fio", "read>p99", "rotate"), ("fio", "any>p99", "rotate"), ("fio", "write>p95", "rotate"),
    ("fio", "fsync>p99", "rotate"), ("buffered", "read>p99", "rotate"), ("buffered", "any>p99", "rotate"),
    ("buffered", "write>p99", "rotate"), ("mixed", "read>p99", "rotate"), ("mixed", "any>p95", "rotate"),
    ("buffered", "read>p95", "rotate-parts"), ("sqlite", "fsync>p99", "rotate-parts"),
    ("sqlite", "any>p99", "rotate-parts"), ("sqlite", "write>p95", "rotate-parts"),
    ("tar", "read>p99", "rotate-parts"), ("tar", "any>p99", "rotate-parts"), ("tar", "write>p99", "rotate-parts"),
]


@dataclass
class Found:
    attribute: str
    text: str


def judge(file: Path, condition: str, cause: str, times: int = 1) -> list[list[Found]] | None:
    """The findings, of each time; None: the cause cannot be planted in this recording."""
    done = subprocess.run([BUILD / "explain_judge", file, condition, cause, str(SEED), str(times)], check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode == 3:
        return None
    done.check_returncode()
    lists: list[list[Found]] = [[]]
    for line in done.stdout.splitlines():
        parts = line.split("\t")
        if parts[0] == "end":
            lists.append([])
        elif parts[0] == "chosen":
            lists[-1].append(Found(parts[2], parts[6]))
    return lists[:-1]


def explained(file: Path, real: explain_record.Real) -> list[Found]:
    done = subprocess.run([BUILD / "iostrata", "explain", "-j", file, real.condition, "--comm", real.comm], check=True,
                          stdout=subprocess.PIPE, text=True)
    return [Found(one["attribute"], " ".join([one["text"], *(then["text"] for then in one["then"])]))
            for one in json.loads(done.stdout)["findings"]]


def row(name: str, asked: str, words: str, found: list[Found]) -> tuple[int, bool]:
    """Prints a row. The place of the cause, 0 if it was not found; whether somebody else is named first."""
    place = next((n for n, one in enumerate(found, 1) if re.search(words, one.text)), 0)
    wrong = bool(found) and place != 1 and found[0].attribute in ACTORS
    first = re.sub(r"/\S*/", ".../", found[0].text)[:70] if found else "nothing"
    print(f"| {name} | {asked} | {place or '-'} | {first} |", flush=True)
    return place, wrong


def causes(at: Path) -> None:
    print("| cause | asked | place | first finding |\n|---|---|---|---|")
    places = []
    for real in explain_record.REAL:
        file = at / f"{real.name.replace(' ', '-')}.ios"
        if file.exists():
            places.append(row(real.name, real.condition, "|".join(map(re.escape, real.words)), explained(file, real)))
    for base, condition, cause, words in PLANTED:
        lists = judge(at / f"{base}.ios", condition, cause)
        if lists is None:
            print(f"| {cause} in {base} | {condition} | not planted | |")
        else:
            places.append(row(f"{cause} in {base}", condition, words, lists[0]))
    print(f"\nfirst or second: {sum(place in (1, 2) for place, _ in places)} of {len(places)}; "
          f"somebody else first: {sum(wrong for _, wrong in places)}\n")


def controls(at: Path, times: int) -> None:
    print("| recording | asked | rotated | with a property | which |\n|---|---|---|---|---|")
    false, n = 0, 0
    for base, condition, how in ROTATED:
        lists = judge(at / f"{base}.ios", condition, how, times) or []
        wrong = [[one for one in found if one.attribute not in NO_CAUSES] for found in lists]
        texts = sorted({one.text[:50] for found in wrong for one in found})
        print(f"| {base} | {condition} | {len(lists)} | {sum(map(bool, wrong))} | {'; '.join(texts)} |", flush=True)
        false += sum(map(bool, wrong))
        n += len(lists)
    print(f"\nfalse: {false} of {n}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    if given.record:
        explain_record.make(str(BUILD / "iostrata"), given.dir, given.work or given.dir / "work")
    causes(given.dir)
    controls(given.dir, given.times)


if __name__ == "__main__":
    main()
