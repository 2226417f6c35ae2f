# SPDX-License-Identifier: GPL-2.0-only
"""Recordings: `report` prints the figures that breakdown counted in the same run. Recorded and lost operations together
are those that happened."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import fileio
import machine
import tool
from harness import Broken, Figure, Gate, Skip, patience, suite
from oracles import DiskStat, Workload, all_kinds, prime_counts
from tool import Json, Trace, objects

import capture  # which tool.py has put into the path

SYSTEM_PYTHON = "/usr/bin/python3"  # which has the module of the system's package
OTF2_CHECK = Path(__file__).resolve().parents[1] / "otf2check.py"
CANNOT_WRITE = 1
KEYS = ("pid", "tid", "comm", "file", "cgroup", "container", "dev", "cache")
Row = dict[str, Any]


class Record(Trace):
    """A run of `iostrata record`."""

    def __init__(self, file: Path, *args: str, command: list[str] | None = None) -> None:
        super().__init__(*args, command=command)
        self.file = file
        self.argv = [tool.copy(), "record", "--force", "-o", str(file), *args]
        if command:
            self.argv += ["--", *command]

    def stop(self) -> "Record":
        if "--breakdown" in self.args or "--by" in self.args:
            super().stop()
            return self
        self.end(CANNOT_WRITE)
        return self

    def read(self) -> capture.Recording:
        return capture.read(self.file)


def report(*args: str) -> list[Json]:
    done = subprocess.run([tool.copy(), "report", *args], capture_output=True, text=True,
                          timeout=120 * patience(), check=False)
    if done.returncode:
        raise Broken(f"report {' '.join(args)}: exit {done.returncode}: {done.stderr}")
    return objects(done.stdout)


def rows_of(one: Json, kinds: tuple[str, ...]) -> list[str]:
    """Each row as one string, all of it but its pattern, which only recordings tell, and the command line: a recording
    has it from a process's first operation, a live table if the process is still there."""
    return sorted(json.dumps({k: v for k, v in row.items() if k not in ("pattern", "command")}, sort_keys=True)
                  for what in kinds for row in one[what] or [])


def compare(gate: Gate, name: str, live: Json, later: Json, *kinds: str) -> None:
    kinds = kinds or ("ops", "requests")
    a, b = rows_of(live, kinds), rows_of(later, kinds)
    differ = sorted(set(a) ^ set(b))
    same = a == b and live["duration_ns"] == later["duration_ns"] and live["missing"] == later["missing"]
    gate.check(name, same and bool(a), rows=len(a), differ=len(differ),
               operations=sum(r["count"] for r in live["ops"]), first=differ[0][:300] if differ else "")


def disk_with_files(gate: Gate) -> tuple[machine.Disk, str]:
    disk = machine.loop(gate.stack, gate.kept, 96)
    return disk, str(machine.mounted(gate.stack, gate.kept, disk, "ext4"))


def quiet_disk(file: str) -> list[str]:
    """The option that chooses the disk of @file alone: a recording, which ends later, may have more requests of other
    disks."""
    dev = os.stat(file).st_dev
    where = os.path.realpath(f"/sys/dev/block/{os.major(dev)}:{os.minor(dev)}")
    return ["-d", os.path.basename(where)]


@suite("A5.record", 300)
def both_ways(gate: Gate) -> None:
    """Both sinks of the same run: row by row, bit for bit, histograms included. No key takes another way on
    another kernel, so in guests one will do."""
    disk, at = disk_with_files(gate)
    file = machine.scratch(gate.kept) / "a5.ios"
    keys = ("", *KEYS) if gate.native else ("file",)
    for key in keys:
        w = Workload(gate.stack, f"{at}/all", prime_counts(all_kinds()), "-t", "2")
        by = ["--by", key] if key else []
        # until the work is done: at the end nothing more comes that only one of them would have
        with Record(file, "-j", "--breakdown", *by, "-d", disk.name) as trace:
            w.go()
            os.sync()
        compare(gate, key or "plain", trace.json, report("-j", *by, str(file))[0])
        if key == keys[0]:
            against_events(gate, file)
            by_reader(gate, trace)


@suite("A5.record-in-turn")
def in_turn(gate: Gate) -> None:
    """One thread reads files of two file systems in turn: each record is of the right one."""
    _, at = disk_with_files(gate)
    there = Path("/dev/shm/iostrata-gate.in-turn")
    gate.stack.callback(there.unlink)
    there.write_bytes(b"x" * 4096)
    file = machine.scratch(gate.kept) / "in-turn.ios"
    wanted = [f"{at}/all", str(there)]
    fds = [os.open(path, os.O_RDONLY | os.O_CREAT) for path in wanted]
    both = [arg for path in wanted for arg in ("--file", path)]
    with Record(file, "-j", "--breakdown", "--by", "file", "--op", "read", *both) as trace:
        for i in range(2 * 101):
            os.pread(fds[i % 2], 1024, 0)
    for fd in fds:
        os.close(fd)
    found = {row["fs"]: row["count"] for row in report("-j", "--by", "file", str(file))[0]["ops"]}
    gate.check("counts", found == {"ext4": 101, "tmpfs": 101}, **found)
    # of the requests, which are everybody's, the recording may have some more: it ends later
    compare(gate, "report", trace.json, report("-j", "--by", "file", str(file))[0], "ops")


def against_events(gate: Gate, file: Path) -> None:
    """Percentiles of the tables against those of the records: in the same bucket."""
    table = report("-j", "--by", "pid", str(file))[0]
    times: dict[tuple[str, str, str], list[int]] = {}
    for ev in report("--events", "json", str(file))[1:]:
        if ev["type"] == "op":
            times.setdefault((ev["op"], ev["fs"], str(ev["pid"])), []).append(ev["total_ns"])
            if sum(ev[f"{s}_ns"] or 0 for s in capture.STRATA) != ev["total_ns"]:
                gate.fail("sum", str(ev))
    bad, n = "", 0
    for row in table["ops"]:
        values = sorted(times.pop((row["op"], row["fs"], row["key"]), []))
        if len(values) != row["count"] or sum(values) != row["total_ns"]:
            bad = f"{row['op']} {row['count']}!={len(values)}"
            continue
        for member, pct in (("p50_ns", 50), ("p99_ns", 99), ("p999_ns", 99.9)):
            rank = max(1, -(-len(values) * pct // 100))
            exact = values[int(rank) - 1]
            n += 1
            if abs(row[member] - exact) > exact / 32 + 1:
                bad = f"{row['op']} {member} {row[member]} {exact}"
    gate.check("percentiles", not bad and not times and n > 0, compared=n, bad=bad,
               without_row=len(times))


def by_reader(gate: Gate, trace: Record) -> None:
    """A reader that was written from the description alone finds the same."""
    it = trace.read()
    counts = {op: trace.total("count", op=op) for op in capture.OP_KINDS}
    found = {op: sum(r["kind"] == k for r in it.ops) for op, k in capture.OP_KINDS.items()}
    ns = sum(sum(r[s] for s in capture.STRATA) for r in it.ops)
    assert it.end
    told_ns = sum(r["total_ns"] or 0 for r in trace.rows("ops"))  # a row copy_to has no times
    gate.check("reader", counts == found and ns == told_ns and
               it.end["requests"] == len(it.requests) == trace.total("count", "requests"),
               ops=len(it.ops), requests=len(it.requests), total_ns=ns, chunks=len(it.index))


def all_of_them(gate: Gate, name: str, trace: Record, w: Workload, **more: Figure) -> None:
    """Recorded and lost operations together are those of the workload, and nothing is there twice."""
    it = trace.read()
    assert it.end
    theirs = [r for r in it.ops if it.names[capture.THREAD, r["owner"]][0]["a"] == w.pid]
    different = len({(r["owner"], r["start"]) for r in theirs})
    done = sum(n for n, _, _ in w.classes().values())
    lost = it.end["lost"]["ops"]
    told = sum(r["count"] for r in it.losses if r["kind"] == capture.LOST["ops"])
    gate.check(name, len(theirs) + lost == done and different == len(theirs) and len(it.ops) == it.end["ops"] and
               told <= lost, done=done, recorded=len(theirs), different=different, lost=lost,
               told_in_place=told, exit=trace.code, **more)


@suite("A8.record", 300)
def nothing_unsaid(gate: Gate) -> None:
    disk, at = disk_with_files(gate)
    scratch = machine.scratch(gate.kept)
    file = scratch / "a8.ios"
    mix = {"read": 4001, "pwrite": 1009, "fstat": 503, "openat": 101}

    def work(*options: str) -> Workload:
        return Workload(gate.stack, f"{at}/all", mix, *options)

    w = work()
    os.sync()
    with Record(file, "-d", disk.name) as trace:
        before = DiskStat.of(disk)
        w.go()
        read_disk(disk)
        stat = DiskStat.of(disk) - before
    all_of_them(gate, "plain", trace, w, none_lost=int(not trace.read().losses))
    compare_requests(gate, trace, stat)
    if gate.native:  # no kernel does that in another way, and a start takes seconds in a guest
        w = work("-l", "3")
        with Record(file, "-p", w.key, "--buffer", "4") as trace:
            w.go()
        all_of_them(gate, "tiny-ring", trace, w)
    w = work("-l", "7")
    with Record(file, "-p", w.key, "--buffer", "512") as trace:
        trace.proc.send_signal(signal.SIGSTOP)
        w.begin()
        time.sleep(5)
        trace.proc.send_signal(signal.SIGCONT)
        w.end()
    all_of_them(gate, "stopped", trace, w)
    if gate.native:
        full_disk(gate, work("-l", "17"))


def full_disk(gate: Gate, w: Workload) -> None:
    small = machine.scratch(gate.kept) / "small"
    small.mkdir(exist_ok=True)
    machine.run("mount", "-t", "tmpfs", "-o", "size=128k", "none", str(small))
    gate.stack.callback(machine.unmount, small)
    command = [tool.copy(), "record", "--force", "-o", str(small / "full.ios"), "-p", w.key]
    trace = Record(small / "full.ios", "-p", w.key)
    trace.argv = command
    with trace:
        w.begin()
        # without a command it ends when the disk is full: what comes then nobody claims to know
        trace.proc.wait(timeout=60 * patience())
        w.end()
    it = trace.read()
    assert it.end
    gate.check("full", trace.code == 1 and it.end["ended"] == "full" and it.end["lost"]["ops"] > 0 and
               len(it.ops) == it.end["ops"] > 0, recorded=len(it.ops), lost=it.end["lost"]["ops"],
               exit=trace.code, said=trace.stderr.splitlines()[-1])


SPREAD = fileio.spread(101, 4096, 48 << 20)


def read_disk(disk: machine.Disk) -> None:
    """Reads the disk in small requests and in large ones."""
    fileio.read_at(disk.path, SPREAD, 4096, os.O_DIRECT)
    fileio.read_at(disk.path, [i << 20 for i in range(11)], 1 << 20, os.O_DIRECT)
    os.sync()
    time.sleep(0.3)


def compare_requests(gate: Gate, trace: Record, stat: DiskStat) -> None:
    """Every request of the disk is in the recording."""
    it = trace.read()
    reads = [r for r in it.requests if r["op"] == 0]
    size = sum(r["bytes"] for r in reads)
    sectors = {r["sector"] * 512 for r in reads if r["bytes"] == 4096}
    wanted = set(SPREAD)
    gate.check("requests", len(reads) == stat.ios["R"] and size == 512 * stat.sectors["R"] and
               wanted <= sectors, reads=len(reads), diskstats=stat.ios["R"], bytes=size,
               at_their_sectors=len(wanted & sectors))


def otf2_of(file: Path, to: Path) -> tuple[Json, str]:
    """The checker's result for the archive exported from a recording, and otf2-print's complaints about the archive."""
    shutil.rmtree(to, ignore_errors=True)  # of the first try
    done = subprocess.run([tool.copy(), "export", str(file), "--to", "otf2", "-o", str(to)],
                          capture_output=True, text=True, timeout=120 * patience(), check=False)
    if done.returncode:
        raise Broken(f"export: exit {done.returncode}: {done.stderr}")
    archive = str(to / "traces.otf2")
    shown = subprocess.run(["otf2-print", archive], capture_output=True, text=True, timeout=300 * patience(),
                           errors="replace", check=False)
    bad = [x for x in (shown.stdout + shown.stderr).splitlines() if "INVALID" in x or "rror" in x]
    checked = subprocess.run([SYSTEM_PYTHON, str(OTF2_CHECK), archive], capture_output=True, text=True,
                             timeout=300 * patience(), check=False)
    if not checked.stdout:
        raise Broken(f"otf2check: {checked.stderr[-300:]}")
    return json.loads(checked.stdout), "; ".join(bad[:3])


def need_otf2() -> None:
    if not shutil.which("otf2-print") or subprocess.run([SYSTEM_PYTHON, "-c", "import otf2"],
                                                        check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("no otf2-print, or no otf2 for the system's Python")


@suite("otf2", 300)
def as_otf2(gate: Gate) -> None:
    """Archives against the records that they are made of, the workload and the disk's statistics."""
    need_otf2()
    disk, at = disk_with_files(gate)
    scratch = machine.scratch(gate.kept)
    file = scratch / "otf2.ios"
    # opens and inherited descriptors, errors, short reads, splits and merges, several threads
    w = Workload(gate.stack, f"{at}/all", {**prime_counts(all_kinds()), "dread": "7,size=1048576"},
                 "-t", "4", "-s", "8388608")
    os.sync()
    with Record(file, "-d", disk.name) as trace:
        before = DiskStat.of(disk)
        w.go()
        fileio.make_file(f"{at}/written", 3)
        inherits = subprocess.run(["sh", "-c", f"exec 3<{at}/written; cat <&3; cat <&3"],
                                  stdout=subprocess.DEVNULL, check=False)
        os.sync()
        time.sleep(0.3)
        stat = DiskStat.of(disk) - before
    it = trace.read()
    said, bad = otf2_of(file, scratch / "otf2")
    ops = sum(r["kind"] in (1, 2, 5, 6) and (r["file"] > 0 or r["kind"] == 5) for r in it.ops)
    posix = sum(n for k, n in said["count"].items() if k.endswith(" POSIX"))
    gate.check("sound", not said["problems"] and not bad, problems=said["problems"], bad=bad,
               first=str(said["first"][:1]), events=sum(said["count"].values()), cat=inherits.returncode)
    gate.check("operations", posix == ops and said["count"]["Enter"] == len(it.ops) + len(it.handles),
               ops=ops, found=posix, calls=len(it.ops), handles=len(it.handles))
    device = said["bytes"][f"/dev/{disk.name}"]
    gate.check("requests", said["count"].get("READ BLOCK", 0) == stat.ios["R"] and
               device["READ"] == 512 * stat.sectors["R"] and device["WRITE"] == 512 * stat.sectors["W"],
               reads=stat.ios["R"], read=device["READ"], written=device["WRITE"],
               diskstats=f"{512 * stat.sectors['R']}/{512 * stat.sectors['W']}")
    per_file: dict[str, int] = {}
    for r in it.ops:
        if r["kind"] in (1, 2) and r["file"] and r["ret"] < 1 << 63:
            per_file[it.path(r["file"])] = per_file.get(it.path(r["file"]), 0) + r["ret"]
    wrong = [p for p, n in per_file.items()
             if sum(v for f, b in said["bytes"].items() for m, v in b.items()
                    if f == p and m != "FLUSH") < n]
    gate.check("bytes", not wrong and bool(per_file), files=len(per_file), wrong=str(wrong[:2]))


# A process changes the descriptors of a file, and its child changes the inherited ones.
DESCRIPTORS = """
import ctypes, fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
one = ctypes.CDLL(None).dup(fd)
two = os.dup(fd)
os.dup2(fd, 100)
os.dup2(two, 100)
os.dup2(fd, 101, inheritable=False)
fcntl.fcntl(fd, fcntl.F_DUPFD, 200)
for i in range(23):
    assert os.lseek(one, 4096 * i, os.SEEK_SET) == 4096 * i
os.close(two)
fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
fcntl.flock(fd, fcntl.LOCK_SH)
fcntl.flock(fd, fcntl.LOCK_EX)
if not os.fork():
    other = os.open(sys.argv[1], os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.lseek(100, 0, os.SEEK_SET)
        for _ in range(11):
            os.read(100, 101)
        os._exit(os.read(os.dup(101), 7) != b"")
    os._exit(3)
os._exit(os.waitstatus_to_exitcode(os.wait()[1]) != 1 or fcntl.flock(fd, fcntl.LOCK_UN) or
         fcntl.lockf(fd, fcntl.LOCK_EX) or fcntl.lockf(fd, fcntl.LOCK_UN) or 0)
"""


@suite("otf2.handles", 300)
def handles(gate: Gate) -> None:
    """Descriptors that are duplicated, inherited, moved and locked: each call is one event."""
    need_otf2()
    disk, at = disk_with_files(gate)
    scratch = machine.scratch(gate.kept)
    path = os.path.realpath(fileio.make_file(f"{at}/handled", 1))
    os.sync()
    with Record(scratch / "handles.ios", "-d", disk.name) as trace:
        done = subprocess.run([SYSTEM_PYTHON, "-c", DESCRIPTORS, path], check=False)
    said, bad = otf2_of(scratch / "handles.ios", scratch / "handles")
    gate.check("sound", not said["problems"] and not bad and not done.returncode,
               problems=said["problems"], bad=bad, first=str(said["first"][:2]), exit=done.returncode)
    theirs = {"IoDuplicateHandle": 7, "IoSeek": 24, "IoChangeStatusFlags": 1, "IoAcquireLock": 3,
              "IoReleaseLock": 3, "IoTryLock": 1}
    ours = {event: said["count"].get(f"{event} {path}", 0) for event in theirs}
    gate.check("events", ours == theirs, **{e: f"{ours[e]}=={n}" for e, n in theirs.items()})
    read = said["bytes"].get(path, {"READ": 0})["READ"]
    it = trace.read()
    gate.check("inherited", read == 11 * 101 + 7 and said["count"]["IoCreateHandle"] == 2, read=read,
               opened=said["count"]["IoCreateHandle"])
    gate.check("uncounted", all(r["kind"] == 15 for r in it.handles) and all(r["kind"] != 15 for r in it.ops),
               handles=len(it.handles), ops=len(it.ops))
