# SPDX-License-Identifier: GPL-2.0-only
"""funcs: counts of calls that are known, and times that add up, by every kind of probe. SOAK_SECONDS
in the environment says how long its soak is."""
from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import fileio
import machine
import oracles
import tool
from harness import Broken, Gate, Skip, patience, suite
from places import place
from tool import Json, objects

KINDS = ("kprobe.session", "kprobe.multi", "fsession", "fentry", "kprobe")
USER_KINDS = ("uprobe.session", "uprobe.multi", "uprobe")
CANNOT = 3
# The calls that tests/calls.c announces; calls_deep is deeper than the calls that the tool keeps.
CALLS = {"calls_top": 23, "calls_mid": 46, "calls_leaf": 233, "calls_again": 1111,
         "calls_tail": 101, "calls_throw": 13, "calls_catch": 13, "calls_die": 7, "calls_deep": 64}
# Works when asked by a line on stdin, and sends itself no signals: every call which it makes is one asked for.
WORKER = """
import os, sys, time
over, file = sys.argv[1:3]
fd = os.open(file, os.O_RDWR)
print("ready", flush=True)
sys.stdin.readline()
for i in range(23):
    os.close(os.open(over, os.O_RDONLY))
for i in range(1009):
    os.pread(fd, 4096, 0)
for i in range(101):
    os.pwrite(fd, b"x" * 4096, 0)
for i in range(23):
    os.fsync(fd)
begin = time.monotonic_ns()
for i in range(23):
    time.sleep(0.02)
print('{"slept_ns": %d}' % (time.monotonic_ns() - begin), flush=True)
"""
# Writes, renames and removes files for so many seconds.
WRITER = """
import os, sys, time
base, seconds = sys.argv[1], float(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
end, syncs = time.monotonic() + seconds, 0
while time.monotonic() < end:
    name = f"{base}/soak.{syncs % 7}"
    fd = os.open(name, os.O_CREAT | os.O_RDWR)
    for i in range(11):
        os.pwrite(fd, b"x" * 5000, 5000 * i)
    os.fsync(fd)
    os.pread(fd, 5000, 0)
    os.ftruncate(fd, 100)
    os.close(fd)
    os.rename(name, name + ".new")
    os.unlink(name + ".new")
    os.listdir(base)
    syncs += 1
print('{"syncs": %d}' % syncs, flush=True)
"""
SOAK_S, INTERVALS = float(os.environ.get("SOAK_SECONDS") or 9), 9
# To attach all of them takes longer than the soak, where they are attached one by one.
SOAKED = ["ext4_*"] if "SOAK_SECONDS" in os.environ else ["ext4_file_*", "ext4_sync_*", "ext4_ev*"]
READS, WRITES, SYNCS, OPENS, SLEEPS = 1009, 101, 23, 23, 23
PATTERNS = ("ext4_file_read_iter", "ext4_file_write_iter", "ext4_sync_file", "do_dentry_open",
            "vfs_read", "vfs_write", "hrtimer_nanosleep")
# Functions that run in interrupts and idle threads, and functions that these interrupt.
OF_ALL = ("hrtimer_interrupt", "tick_do_update_jiffies64", "tick_program_event", "handle_irq_event",
          "blk_mq_submit_bio", "submit_bio", "vfs_read", "vfs_write", "ext4_file_write_iter",
          "ext4_sync_file")


class Funcs:
    """A run of `iostrata funcs -j`; entered: its probes are live; left: it has ended."""

    def __init__(self, *args: str) -> None:
        self.args = args
        self.json: Json = {}
        self.stderr = ""
        self.code = 0

    def __enter__(self) -> "Funcs":
        self.proc = subprocess.Popen([tool.copy(), "funcs", "-j", *self.args], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     stdin=subprocess.DEVNULL)
        assert self.proc.stderr
        for line in self.proc.stderr:
            self.stderr += line
            if line.startswith("tracing"):
                return self
        self.code = self.proc.wait()
        if self.code == CANNOT:
            raise Skip(self.stderr.splitlines()[0])
        raise Broken(f"funcs {' '.join(self.args)}: exit {self.code}: {self.stderr}")

    def __exit__(self, kind: object, *_: object) -> None:
        if self.proc.poll() is None and not kind:
            self.proc.send_signal(signal.SIGINT)
        if kind:
            self.proc.kill()
        out, err = self.proc.communicate(timeout=120 * patience())
        self.stderr += err
        self.code = self.proc.returncode
        if kind:
            return
        if self.code:
            raise Broken(f"funcs {' '.join(self.args)}: exit {self.code}: {self.stderr[-300:]}")
        self.take(out)

    def take(self, out: str) -> None:
        self.json = objects(out)[-1]

    def counts(self) -> dict[str, int]:
        sums: dict[str, int] = {}
        for row in self.json["functions"]:
            name = row["name"].split(".")[0]
            sums[name] = sums.get(name, 0) + row["count"]
        return sums

    def total_ns(self, name: str) -> int:
        return int(next(row["total_ns"] for row in self.json["functions"] if row["name"] == name))

    def sums(self) -> tuple[int, int]:
        """Self times of all, totals of the outermost calls."""
        return (sum(row["self_ns"] or 0 for row in self.json["functions"]),
                sum(row["total_ns"] for row in self.json["tree"] if row["depth"] == 0))

    def lost(self) -> str:
        return " ".join(f"{k}={v}" for k, v in self.json["lost"].items() if v) or "none"


class Intervals(Funcs):
    """A run of `iostrata funcs -j` with an interval: a line of JSON for each interval; counts are the sums of all
    lines."""

    def __init__(self, *args: str) -> None:
        super().__init__(*args)
        self.lines: list[str] = []

    def interval(self) -> None:
        assert self.proc.stdout
        self.lines.append(self.proc.stdout.readline())

    def take(self, out: str) -> None:
        self.lines += out.splitlines()
        self.json = objects(self.lines[-1])[0]

    def counts(self) -> dict[str, int]:
        sums: dict[str, int] = {}
        for line in self.lines:
            self.json, = objects(line)
            for name, n in super().counts().items():
                sums[name] = sums.get(name, 0) + n
        return sums


def rss_of(pid: int) -> int:
    """The process' resident memory (VmRSS), KiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1])  # type: ignore[index]


def sums_agree(gate: Gate, name: str, trace: Funcs) -> None:
    """3 %: calls that are in progress at the end are in neither, but what they called is."""
    own, outermost = trace.sums()
    gate.check(f"{name}.self-is-total", abs(own - outermost) <= outermost * 0.03 and own > 0,
               self_ns=own, total_ns=outermost)


def histograms_agree(gate: Gate, name: str, trace: Funcs) -> None:
    wrong = [row["name"] for row in trace.json["functions"]
             if row["count"] - row["unreturned"] != sum(b[2] for b in row["hist"])]
    gate.check(f"{name}.histograms", not wrong, functions=len(trace.json["functions"]),
               wrong=" ".join(wrong) or "none")


def worker(gate: Gate, point: str = "") -> oracles.Process:
    """Starts WORKER, the process which the suites trace. Its file is on ext4: at @point if this is given."""
    base = point or place(gate, "ext4").point
    over = fileio.make_file(f"{place(gate, 'overlay').point}/over", 1)
    file = fileio.make_file(f"{base}/funcs", 1)
    return oracles.Process(gate.stack, "python3", "-c", WORKER, over, file)


def work(gate: Gate, *args: str) -> tuple[Funcs, int]:
    """Traces one run of the worker; returns the run, and the time which the worker says that it slept, ns."""
    w = worker(gate)
    with Funcs("-p", str(w.pid), *args) as trace:
        said = w.go()
    return trace, said["slept_ns"]


def compare(gate: Gate, kind: str, trace: Funcs) -> None:
    got = trace.counts()
    want = {"ext4_file_read_iter": READS, "ext4_file_write_iter": WRITES, "ext4_sync_file": SYNCS,
            "hrtimer_nanosleep": SLEEPS}
    # fentry cannot be on functions of modules whose types are not described
    refused = {row["name"] for row in trace.json["refused"]}
    wrong = [f"{name}={got.get(name)}" for name, n in want.items()
             if got.get(name) != n and name not in refused]
    if "do_dentry_open" in got and got["do_dentry_open"] != 2 * OPENS:
        wrong.append(f"do_dentry_open={got['do_dentry_open']}")
    gate.check(f"{kind}.counts", not wrong, wrong=" ".join(wrong) or "none", reads=READS,
               recursive=got.get("do_dentry_open", "not traceable"), refused=len(refused), lost=trace.lost())


def inner_opens(trace: Funcs) -> int:
    """Opens of the file below, from within those of the file above."""
    return sum(row["count"] for row in trace.json["tree"]
               if row["name"].startswith("do_dentry_open") and row["depth"] > 0)


@suite("funcs.kernel", 300)
def kernel(gate: Gate) -> None:
    percent: dict[str, float] = {}
    for kind in KINDS:
        try:
            trace, slept_ns = work(gate, "--probe", kind, "--tree", *PATTERNS)
        except Skip as why:
            gate.skip(kind, str(why))
            continue
        compare(gate, kind, trace)
        sums_agree(gate, kind, trace)
        histograms_agree(gate, kind, trace)
        if "do_dentry_open" in trace.counts():
            gate.check(f"{kind}.recursion", inner_opens(trace) == OPENS, inner=inner_opens(trace))
        gate.check(f"{kind}.probe", trace.json["probe"] == kind, probe=trace.json["probe"])
        percent[kind] = round(100 * trace.total_ns("hrtimer_nanosleep") / slept_ns, 2)
    if not percent:
        raise Skip("functions cannot be probed")
    gate.check("times", all(95 <= p <= 100 for p in percent.values()), **percent)


@suite("funcs.best", 240)
def best(gate: Gate) -> None:
    """Many functions of a module, without saying how."""
    trace, _ = work(gate, "ext4_fi*", "ext4_sy*")
    got = trace.counts()
    gate.check("counts", (got.get("ext4_file_read_iter"), got.get("ext4_sync_file")) == (READS, SYNCS),
               reads=got.get("ext4_file_read_iter"), syncs=got.get("ext4_sync_file"),
               probe=trace.json["probe"], functions=trace.stderr.split()[1])
    histograms_agree(gate, "many", trace)


@suite("funcs.instances")
def instances(gate: Gate) -> None:
    w = worker(gate)
    with Funcs("-p", str(w.pid), *PATTERNS) as first, Funcs("-p", str(w.pid), *PATTERNS) as second:
        w.go()
    gate.check("same", first.counts() == second.counts() and bool(first.counts()),
               **{k: v for k, v in first.counts().items()})


@suite("funcs.soak", 150 + int(1.5 * SOAK_S))
def soak(gate: Gate) -> None:
    """Minutes of a file system's functions while somebody writes: nothing grows, nothing is lost."""
    base = Path(place(gate, "ext4").point)
    w = oracles.Process(gate.stack, "python3", "-c", WRITER, str(base), str(SOAK_S))
    rss: list[int] = []
    with (Funcs("-p", str(w.pid), *SOAKED) as second,
          Intervals("-p", str(w.pid), *SOAKED, f"{SOAK_S / INTERVALS:.3f}") as first):
        w.begin()
        for _ in range(INTERVALS - 1):
            first.interval()
            rss.append(rss_of(first.proc.pid))
        said = w.end()
    counts = first.counts()
    gate.check("same", counts == second.counts() and counts.get("ext4_sync_file") == said["syncs"],
               functions=len(counts), calls=sum(counts.values()), lost=first.lost(),
               syncs=f"{counts.get('ext4_sync_file')}=={said['syncs']}", probe=first.json["probe"])
    third = INTERVALS // 3
    # pages of maps that are looked at for the first time count, too
    gate.check("memory", max(rss[-third:]) <= max(rss[:third]) + 512, kib=" ".join(map(str, rss)))
    sizes = [len(line) for line in first.lines[:INTERVALS - 1]]
    gate.check("output", max(sizes[-third:]) <= 1.2 * max(sizes[:third]),
               bytes=" ".join(map(str, sizes)))


@suite("funcs.interrupts", 240)
def interrupts(gate: Gate) -> None:
    """Functions of interrupts run over others, and over the idle threads; nobody is chosen."""
    gate.not_native("traces what everybody does")
    base = place(gate, "ext4").point
    for kind in KINDS:
        try:
            with Funcs("--probe", kind, "--tree", *OF_ALL) as trace:
                for i in range(3):
                    subprocess.run(["dd", "if=/dev/zero", f"of={base}/irq{i}", "bs=64k", "count=23",
                                    "conv=fsync", "status=none"], check=True, timeout=60 * patience())
        except Skip as why:
            gate.skip(kind, str(why))
            continue
        sums_agree(gate, kind, trace)
        histograms_agree(gate, kind, trace)
        timers = trace.counts().get("hrtimer_interrupt", 0)
        gate.check(f"{kind}.lives", timers > 0 and not trace.json["lost"]["rows"], timers=timers,
                   functions=len(trace.json["functions"]), lost=trace.lost())


@suite("funcs.user")
def user(gate: Gate) -> None:
    calls, said = oracles.program(oracles.CALLS), machine.scratch(gate.kept) / "said"
    tried = 0
    for kind in USER_KINDS:
        done = subprocess.run([tool.copy(), "funcs", "-j", "--tree", "--probe", kind,
                               f"{calls}:calls_*", "--", "bash", "-c", f"{calls} /etc/passwd >{said}"],
                              capture_output=True, text=True, timeout=60 * patience(), check=False)
        if "cannot probe functions" in done.stderr:
            gate.skip(kind, done.stderr.splitlines()[0])
            continue
        tried += 1
        trace = Funcs()
        trace.json = objects(done.stdout)[-1]
        gate.check(f"{kind}.counts", trace.counts() == CALLS, lost=trace.lost(),
                   wrong=str({k: v for k, v in trace.counts().items() if CALLS[k] != v}) or "none")
        sums_agree(gate, kind, trace)
    if not tried:
        raise Skip("no uprobes")
