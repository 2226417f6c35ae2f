# SPDX-License-Identifier: GPL-2.0-only
"""Numbers that are known from elsewhere: the kernel's disk statistics, fio, exact workloads."""
from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import machine
import tool
from harness import Broken, Figure, Gate, Skip, patience
from tool import ROOT, Trace

BUILD = tool.BUILD / "gate"
WORKLOAD = ROOT / "tests" / "workload.c"
CALLS = ROOT / "tests" / "calls.c"
ACTOR = Path(__file__).parent / "actor.c"
CALLER = Path(__file__).parent / "caller.c"
INTRUDER = Path(__file__).parent / "intruder.c"
LIBRARY = tool.BUILD / "libiostrata.a"
STORM = Path(__file__).parent / "storm.c"
ISSUER = Path(__file__).parent / "issuer.c"
RINGER = Path(__file__).parent / "ringer.c"
QUEUER = Path(__file__).parent / "queuer.c"
MAPPER = Path(__file__).parent / "mapper.c"
FUSER = Path(__file__).parent / "fuser.c"
# Where not this machine's own: for programs of 64 and of 32 bits.
CROSS = {"arm64": {64: "aarch64-linux-gnu", 32: "arm-linux-gnueabihf"}}
CANNOT = 77  # status of a program whose work this machine has no means for
CLASSES = ("read", "write", "open", "close", "fsync", "copy", "meta")

Json = dict[str, Any]


@dataclass
class DiskStat:
    """/sys/block/DISK/stat (Documentation/block/stat.rst): finished requests, sectors, ms."""

    ios: dict[str, int]
    sectors: dict[str, int]
    ms: dict[str, int]
    merges: dict[str, int]

    @staticmethod
    def of(disk: machine.Disk) -> "DiskStat":
        v = [int(x) for x in machine.get(disk.sys / "stat").split()] + [0] * 8
        return DiskStat(ios={"R": v[0], "W": v[4], "D": v[11], "F": v[15]},
                        sectors={"R": v[2], "W": v[6], "D": v[13], "F": 0},
                        ms={"R": v[3], "W": v[7], "D": v[14], "F": v[16]},
                        merges={"R": v[1], "W": v[5], "D": v[12], "F": 0})

    def __sub__(self, old: "DiskStat") -> "DiskStat":
        def less(new: dict[str, int], before: dict[str, int]) -> dict[str, int]:
            return {k: new[k] - before[k] for k in new}

        return DiskStat(less(self.ios, old.ios), less(self.sectors, old.sectors),
                        less(self.ms, old.ms), less(self.merges, old.merges))


def longest(disk: machine.Disk, op: str) -> int:
    """The longest request of type @op on @disk, bytes."""
    if op == "D":
        return int(machine.get(disk.sys / "queue/discard_max_bytes"))
    return int(machine.get(disk.sys / "queue/max_sectors_kb")) << 10


def compare_requests(gate: Gate, name: str, disk: machine.Disk, stat: DiskStat, trace: Trace,
                     types: str = "RWDF", failed_bytes: int = 0, rows: str = "requests",
                     name_of: str = "dev") -> None:
    """One line: count and bytes of each type against the statistics', which have no bytes of
    flushes, but those of reads that failed. @rows have the disk's name in @name_of. Natively, requests
    whose end nobody sees (CONTRIBUTING.md) may be missing, as many as are told to be lost, none longer
    than the disk takes them. A flush without data is a write of device mapper in the statistics, and
    nothing at all of md."""
    figures: dict[str, Figure] = {}
    same = True
    flushes = trace.total("count", rows, op="F", **{name_of: disk.name})
    as_writes, as_nothing = ((disk.sys / kind).is_dir() for kind in ("dm", "md"))
    if (as_writes or as_nothing) and not (disk.sys / "mq").is_dir():
        ios = dict(stat.ios, F=flushes, W=stat.ios["W"] - flushes * as_writes)
        stat = DiskStat(ios, stat.sectors, stat.ms, stat.merges)
    unended = trace.lost().get("unmatched_requests", 0) if gate.native else 0
    for op in types:
        count = trace.total("count", rows, op=op, **{name_of: disk.name})
        size = trace.total("bytes", rows, op=op, **{name_of: disk.name})
        their_size = stat.sectors[op] * 512 - (failed_bytes if op == "R" else 0)
        missing = stat.ios[op] - count
        if 0 < missing <= unended and (op == "F" or 0 < their_size - size <= missing * longest(disk, op)):
            figures[f"{op}_without_end"] = missing
            unended -= missing
        else:
            same &= not missing and (op == "F" or size == their_size)
        if count or stat.ios[op]:
            figures[op] = f"{count}=={stat.ios[op]}"
            if op != "F":
                figures[f"{op}_bytes"] = f"{size}=={their_size}"
    figures |= {f"{op}_merged": n for op, n in stat.merges.items() if n}
    gate.check(name, same and any(stat.ios[op] for op in types), **figures)


def program(source: Path, bits: int = 64) -> str:
    """A test's C program, built if it is not or is older than its source. INTRUDER calls the tool's
    own functions, CALLER has its tables."""
    made = BUILD / (source.stem + ("32" if bits == 32 else ""))
    own = [f"-I{ROOT}/src"]
    own += ["-D_GNU_SOURCE", str(LIBRARY), "-lcap", "-ljansson"] if source == INTRUDER else []
    needs = {INTRUDER: [LIBRARY], CALLER: list((ROOT / "src/trace").glob("calls_*.h")),
             FUSER: [ROOT / "tests/fuse_server.h"]}
    newest = max(f.stat().st_mtime for f in [source, *needs.get(source, [])])
    if not made.exists() or made.stat().st_mtime < newest:
        BUILD.mkdir(parents=True, exist_ok=True)
        compiler = [f"{CROSS[tool.ARCH][bits]}-gcc", "-static"] if tool.ARCH else ["gcc"]
        machine.run(*compiler, "-O2", "-Wall", "-pthread", "-o", f"{made}.new", str(source), *own)
        Path(f"{made}.new").rename(made)
    return str(made)


def build_all() -> None:
    for source in (WORKLOAD, CALLS, ACTOR, CALLER, INTRUDER, STORM, ISSUER, RINGER, QUEUER, MAPPER,
                   FUSER):
        program(source)
    if tool.ARCH:
        program(ACTOR, 32)
        program(CALLER, 32)


class Process:
    """A program that prints "ready", waits for a line on stdin, works, and prints a line of JSON. Or it prints which
    ability this machine lacks, and ends with CANNOT."""

    def __init__(self, stack: ExitStack, *argv: str) -> None:
        self.argv = argv
        self.said: Json = {}
        self.line = ""
        self._before = (0, 0, 0)
        self.cpu_ns = self.waited_ns = self.taken_ns = 0
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self._end)
        self._expect("ready")

    @property
    def pid(self) -> int:
        return self.proc.pid

    @property
    def key(self) -> str:
        """The key of this process' rows in `--by pid`."""
        return str(self.proc.pid)

    def _end(self) -> None:
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.communicate()

    def _expect(self, what: str) -> str:
        assert self.proc.stdout
        line = self.proc.stdout.readline()
        if line.startswith("no ") and self.proc.wait(timeout=60 * patience()) == CANNOT:
            raise Skip(f"this machine has {line.strip()}")
        if not line.startswith(what):
            raise Broken(f"{' '.join(self.argv)} said {line!r}, not {what!r}")
        return line

    def _schedstat(self) -> tuple[int, int]:
        """The time of the process' first thread on a CPU, and waiting for one, by the scheduler's statistics, ns."""
        try:
            cpu, waited, _ = machine.get(f"/proc/{self.pid}/schedstat").split()
        except FileNotFoundError:
            return 0, 0
        return int(cpu), int(waited)

    @staticmethod
    def _taken_ns() -> int:
        """The time that interrupts and a hypervisor took from all CPUs since the boot, in whole ticks, ns."""
        irq, softirq, steal = (int(n) for n in machine.get("/proc/stat").split("\n", 1)[0].split()[6:9])
        return (irq + softirq + steal) * 10**9 // os.sysconf("SC_CLK_TCK")

    def begin(self) -> None:
        self._before = (*self._schedstat(), self._taken_ns())
        assert self.proc.stdin
        self.proc.stdin.write("\n")
        self.proc.stdin.flush()

    def end(self) -> Json:
        self.line = self._expect("{")
        self.said = json.loads(self.line)
        after = (*self._schedstat(), self._taken_ns())
        self.cpu_ns, self.waited_ns, self.taken_ns = (b - a for a, b in zip(self._before, after))
        if self.proc.wait(timeout=60 * patience()):
            raise Broken(f"{' '.join(self.argv)}: exit {self.proc.returncode}: {self.said}")
        return self.said

    def go(self) -> Json:
        self.begin()
        return self.end()


class Counted(Process):
    """A process whose JSON has its calls by class."""

    def classes(self) -> dict[str, tuple[int, int, int]]:
        """Count, bytes and errors of each class that it used."""
        return {c: (v["count"], v["bytes"], v["errors"]) for c in CLASSES
                if (v := self.said[c])["count"]}


class Workload(Counted):
    """tests/workload: exactly as many operations as asked for."""

    def __init__(self, stack: ExitStack, file: str, kinds: Mapping[str, int | str],
                 *options: str) -> None:
        super().__init__(stack, program(WORKLOAD), "-w", *options, file,
                         *(f"{kind}={n}" for kind, n in kinds.items()))


def actor(stack: ExitStack, *argv: str, source: Path = ACTOR, bits: int = 64) -> Counted:
    """actor.c, or issuer.c, which say what they can do."""
    return Counted(stack, program(source, bits), *argv)


def all_kinds() -> list[str]:
    """All kinds in the source of tests/workload: each new kind is tested at once."""
    kinds = re.findall(r'^\s*\{\s*"(\w+)", run_', WORKLOAD.read_text(encoding="utf-8"), re.MULTILINE)
    if len(kinds) < 40:
        raise Broken(f"only {len(kinds)} kinds found in {WORKLOAD}")
    return kinds


def prime_counts(kinds: list[str]) -> dict[str, int]:
    """23 reads, 101 writes, 7 fsyncs, and of all else some small prime or other."""
    primes = (3, 5, 11, 13, 17, 19, 29)
    counts = {kind: primes[i % len(primes)] for i, kind in enumerate(kinds)}
    return counts | {k: n for k, n in {"read": 23, "write": 101, "fsync": 7, "sync": 2}.items()
                     if k in counts}


def classes_of(trace: Trace, what: str = "ops", **match: Any) -> dict[str, tuple[int, int, int]]:
    """Count, bytes and errors of each class that the tool saw."""
    found = {}
    for op in CLASSES:
        rows = trace.rows(what, op=op, **match)
        if rows:
            found[op] = tuple(sum(r[m] for r in rows) for m in ("count", "bytes", "errors"))
    return found  # type: ignore[return-value]


def compare_classes(gate: Gate, name: str, ours: dict[str, tuple[int, int, int]],
                    theirs: dict[str, tuple[int, int, int]], **more: Figure) -> None:
    """One line: count/bytes/errors of each class, equal or not."""
    figures: dict[str, Figure] = {}
    for op in sorted(set(ours) | set(theirs)):
        a, b = ours.get(op, (0, 0, 0)), theirs.get(op, (0, 0, 0))
        text = "/".join(map(str, b))
        figures[op] = text if a == b else f"{'/'.join(map(str, a))}!={text}"
    gate.check(name, ours == theirs and bool(theirs), **figures, **more)


def fio_jobs(jobs: list[list[str]], *options: str) -> list[Json]:
    """The jobs of one fio run, one after the other: each has its own options, and those of all."""
    argv = ["fio", "--output-format=json", *options]
    for job in jobs:
        argv += ["--name=gate", "--stonewall", *job]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120 * patience())
    said: list[Json] = json.loads(done.stdout[done.stdout.index("{"):])["jobs"]
    return said


def fio(*options: str) -> Json:
    """The one job of a fio run."""
    return fio_jobs([list(options)])[0]
