# SPDX-License-Identifier: GPL-2.0-only
"""A1 through every way to ask, A5, and A8: many runs of the tool at once, of the same workloads.

So this is also the check that runs of the tool do not get into one another's way.
"""
from __future__ import annotations

import os
import shutil
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fileio
import machine
import oracles
from harness import Gate, suite
from oracles import DiskStat, Workload, all_kinds, classes_of, prime_counts
from places import place
from tool import Trace, Traces

Json = dict[str, Any]
# Operations through a descriptor of FILE count for FILE; those in BESIDE are not through one, and must not count.
ON_FILE = {"read": 23, "pread": 11, "write": 101, "osync": 3, "fsync": 7, "openat": 13, "close": 17,
           "fstat": 5, "sendfile": 3}
BESIDE = {"stat": 19, "bad_read": 5, "open_fail": 3, "unlink": 2, "ftruncate": 5}
PLAIN = {"read": 23, "pread": 11, "write": 101, "pwrite": 7, "fsync": 7, "openat": 13}
HALF = {"read": 23, "write": 101, "fsync": 7, "stat": 11, "openat": 13, "close": 5}


@dataclass
class Cast:
    """The processes that do I/O at the same time."""

    every: Workload  # every kind
    twins: list[Workload]  # two processes on one file
    plain: Workload  # what each layer sees once
    noise: Workload
    disk: machine.Disk
    file: str  # of the twins
    stat: DiskStat | None = None


def cast(gate: Gate) -> Cast:
    disk = machine.loop(gate.stack, gate.kept, 96)
    at = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    stack, file = gate.stack, f"{at}/twins"
    return Cast(every=Workload(stack, f"{at}/every", prime_counts(all_kinds())),
                twins=[Workload(stack, file, ON_FILE | BESIDE),
                       Workload(stack, file, {"read": 31, "write": 37})],
                plain=Workload(stack, f"{at}/plain", PLAIN),
                noise=Workload(stack, f"{at}/noise", {"read": 53, "write": 59, "stat": 61}, "-l", "3"),
                disk=disk, file=file)


def ask(c: Cast, commands: dict[str, list[str]]) -> Traces:
    """Where starting the tool takes seconds, runs that one run can stand for are left out, and
    commands are traced by call, which starts quickly."""
    pid, plain, quick = str(c.every.pid), str(c.plain.pid), machine.slowness() > 3
    traces = {
        "slowest": Trace("-p", pid, "--slowest", "1000"),
        "calls": Trace("-p", pid, "-T", "syscall"),
        "all_files": Trace("-p", pid, "--all-files", "0.1" if quick else "0.01"),
        "file": Trace("--file", c.file),
        "blk": Trace("-T", "blk", "-d", c.disk.name),
    }
    for name in probed_layers():
        if quick and name == "fs":  # ext4 can stand for it
            continue
        traces[f"layer_{name}"] = Trace("-T", name, "-p", plain)
    for name, argv in commands.items():
        traces[name] = Trace(*(["-T", "syscall"] if quick else []), command=argv)
    if not quick:
        traces |= {"pid": Trace("-p", pid), "intervals": Trace("-p", pid, "0.1"),
                   "op": Trace("--op", "write", "-p", pid, "--by", "comm")}
    return Traces(traces)


def probed_layers() -> list[str]:
    return ["vfs", "fs", "ext4"] if os.path.exists("/sys/kernel/tracing/kprobe_events") else []


def commands(gate: Gate) -> dict[str, list[str]]:
    """The same program twice, the second time with twice the operations: all its other I/O is the same in both runs."""
    program, at = oracles.program(oracles.WORKLOAD), machine.scratch(gate.kept)
    argv = {}
    for name, times in (("once", 1), ("twice", 2)):
        file = f"{at}/{name}"
        Path(file).write_bytes(b"x" * (1 << 20))
        argv[name] = ["sh", "-c", f"'{program}' -l {times} {file} " +
                      " ".join(f"{k}={n}" for k, n in HALF.items()) + " >/dev/null; true"]
    return argv


def act(c: Cast) -> None:
    before = DiskStat.of(c.disk)
    everybody = [c.noise, *c.twins, c.every, c.plain]
    for w in everybody:
        w.begin()
    for w in everybody:
        w.end()
    os.sync()
    c.stat = DiskStat.of(c.disk) - before


def plus(*parts: dict[str, tuple[int, int, int]]) -> dict[str, tuple[int, int, int]]:
    sums: dict[str, tuple[int, int, int]] = {}
    for part in parts:
        for op, (n, size, errors) in part.items():
            old = sums.get(op, (0, 0, 0))
            sums[op] = (old[0] + n, old[1] + size, old[2] + errors)
    return sums


def minus(a: dict[str, tuple[int, int, int]], b: dict[str, tuple[int, int, int]]
          ) -> dict[str, tuple[int, int, int]]:
    return plus(a, {op: (-n, -size, -errors) for op, (n, size, errors) in b.items()})


def on_pipes(w: Workload) -> dict[str, tuple[int, int, int]]:
    """The calls of "pipe", and the write of the JSON line itself."""
    calls = {"read": (0, 0, 0), "write": (1, len(w.line), 0)}
    for call, v in w.said["pipe"].items():
        calls = plus(calls, {call: (v["count"], v["bytes"], v["errors"])})
    return calls


def compare_processes(gate: Gate, c: Cast, t: Traces) -> None:
    every = c.every.classes()
    for name in ("pid", "intervals", "op", "slowest"):
        if name not in t.by_name:
            gate.skip(name, "starting the tool takes seconds here: slowest, all-files and A1.lists.ops "
                            "stand for it")
        elif name != "op":
            oracles.compare_classes(gate, name, classes_of(t[name]), every,
                                    objects=len(t[name].objects), lost=sum(t[name].lost().values()))
    n = len(t["all_files"].objects)
    gate.check("intervals.several", n > 1, n=n)
    # the read of stdin began before the trace did: that it ended unmatched is counted as lost (as are
    # returns from functions whose entry was missed, which loses no operation)
    lost = t["all_files"].lost()
    begun_before = {"read": (min(1, lost["unmatched_end"]), 1, 0)}
    oracles.compare_classes(gate, "all-files", plus(classes_of(t["all_files"]), begun_before),
                            plus(every, on_pipes(c.every)), **lost)
    if "op" in t.by_name:
        oracles.compare_classes(gate, "op", classes_of(t["op"], key="workload"),
                                {"write": every["write"]})


def compare_calls(gate: Gate, c: Cast, t: Traces) -> None:
    """Per call name: 48 of them, so only those that differ are shown."""
    theirs = {call: (v["count"], v["bytes"], v["errors"]) for call, v in c.every.said["calls"].items()}
    ours = {r["call"]: (r["count"], r["bytes"], r["errors"]) for r in t["calls"].rows("layers")}
    ours = {call: (t["calls"].total("count", "layers", call=call),
                   t["calls"].total("bytes", "layers", call=call),
                   t["calls"].total("errors", "layers", call=call)) for call in ours}
    wrong = {call: f"{ours.get(call)}!={theirs.get(call)}" for call in set(ours) | set(theirs)
             if ours.get(call) != theirs.get(call)}
    gate.check("calls", not wrong and len(theirs) > 30, calls=len(theirs),
               count=sum(v[0] for v in theirs.values()), **wrong)


def compare_file(gate: Gate, c: Cast, t: Traces) -> None:
    """Operations through a descriptor of the file count, whichever process makes them; others do not."""
    first, second = c.twins
    beside = {"read": (BESIDE["bad_read"], 0, BESIDE["bad_read"]),
              "open": (BESIDE["open_fail"], 0, BESIDE["open_fail"]),
              "meta": (BESIDE["stat"] + BESIDE["unlink"] + BESIDE["ftruncate"], 0, 0)}
    oracles.compare_classes(gate, "file", classes_of(t["file"]),
                            plus(minus(first.classes(), beside), second.classes()))


def compare_layers(gate: Gate, c: Cast, t: Traces) -> None:
    plain = c.plain.classes()
    if not probed_layers():
        gate.skip("layers", "this kernel has no kprobes and no fentry")
    for name in probed_layers():
        if f"layer_{name}" not in t.by_name:
            continue
        rows = t[f"layer_{name}"].rows("layers")
        # a kernel has few kretprobes, and one that preempts itself refuses fentry's programs while
        # one is preempted: what was not seen is lost, but counted
        lost = sum(t[f"layer_{name}"].lost().values())
        for op in ("read", "write", "fsync", "open"):
            mine = [r for r in rows if r["op"] == op and r["fs"] == "ext4"]
            ours = tuple(sum(r[m] for r in mine) for m in ("count", "bytes", "errors"))
            found = ours == plain[op] or 0 < plain[op][0] - ours[0] <= lost
            gate.check(f"layer-{name}.{op}", found, calls="/".join(map(str, plain[op])),
                       layer="/".join(map(str, ours)), lost=lost,
                       fs=",".join(sorted({str(r["fs"]) for r in rows if r["op"] == op})))


def compare_commands(gate: Gate, t: Traces) -> None:
    """The difference between the two runs is the program's operations."""
    what = "layers" if t["once"].json["layers"] else "ops"
    once, twice = (classes_of(t[name], what) for name in ("once", "twice"))
    wanted = {"read": (23, 23 * 4096, 0), "write": (101, 101 * 4096, 0), "fsync": (7, 0, 0),
              "meta": (11, 0, 0), "open": (13, 0, 0), "close": (18, 0, 0)}
    # a program's own line of JSON goes to /dev/null
    found = {op: v for op, v in minus(twice, once).items() if v != (0, 0, 0)}
    oracles.compare_classes(gate, "command", found, wanted, exit=t["once"].code + t["twice"].code)


def exact_rank(values: list[int], percent: float) -> int:
    values = sorted(values)
    return values[max(0, -int(-percent * len(values) // 100) - 1)]


def compare_slowest(gate: Gate, c: Cast, t: Traces) -> None:
    """A5: with fewer operations than records are kept, every value is known exactly."""
    records: list[Json] = t["slowest"].json["slowest"]
    n = sum(r["count"] for r in t["slowest"].rows())
    gate.check("A5.records", len(records) == n < 1000, records=len(records), counted=n)
    worst, compared, wrong = 0.0, 0, []
    for row in t["slowest"].rows():
        values = [r["total_ns"] for r in records if (r["op"], r["fs"]) == (row["op"], row["fs"])]
        counts = [sum(low <= v <= high for v in values) for low, high, _ in row["hist"]]
        strata = {s: sum(r["strata"][s] or 0 for r in records
                         if (r["op"], r["fs"]) == (row["op"], row["fs"])) for s in row["strata"]}
        if counts != [b[2] for b in row["hist"]] or sum(values) != row["total_ns"] or \
                max(values, default=0) != row["max_ns"] or \
                any(ns != (row["strata"][s] or 0) for s, ns in strata.items()):
            wrong.append(f"{row['op']}/{row['fs']}: {counts} {sum(values)} {max(values)} {strata} is not "
                         f"{[b[2] for b in row['hist']]} {row['total_ns']} {row['max_ns']} {row['strata']}")
        for name, percent in (("p50_ns", 50), ("p90_ns", 90), ("p99_ns", 99), ("p999_ns", 99.9)):
            exact = exact_rank(values, percent)
            compared += 1
            worst = max(worst, abs(row[name] - exact) / max(1, exact))
    gate.check("A5.rows", not wrong, rows=len(t["slowest"].rows()), differ=",".join(wrong) or "none")
    gate.check("A5.percentiles", worst <= 1 / 32 and compared > 0, compared=compared,
               worst_error=f"{worst:.2%}", wanted="<=3.13%")
    mine = [r for r in records if r["tid"] == c.every.pid and r["pid"] == c.every.pid]
    named = [r for r in mine if r["op"] == "read" and str(r["path"]).endswith("/every")]
    gate.check("A5.record-names", len(mine) == n and len(named) >= 90, of_this_thread=len(mine),
               reads_of_this_file=len(named))


@suite("A1.ways", 200)
def ways_to_ask(gate: Gate) -> None:
    c = cast(gate)
    os.sync()
    with ask(c, commands(gate)) as traces:
        act(c)
    compare_processes(gate, c, traces)
    compare_calls(gate, c, traces)
    compare_file(gate, c, traces)
    assert c.stat
    oracles.compare_requests(gate, "requests", c.disk, c.stat, traces["blk"])
    compare_layers(gate, c, traces)
    compare_commands(gate, traces)
    compare_slowest(gate, c, traces)


@dataclass
class Crowd:
    """Four processes with a name of their own, each with a file and a cgroup."""

    who: list[oracles.Counted]
    files: list[str]
    groups: list[Path]
    disks: list[machine.Disk]

    def some(self, *numbers: int) -> dict[str, tuple[int, int, int]]:
        return plus(*(self.who[i].classes() for i in numbers))


def collisions(gate: Gate) -> Crowd:
    disks = [machine.loop(gate.stack, gate.kept, 96) for _ in range(2)]
    a, b = (machine.mounted(gate.stack, gate.kept, disk, "ext4") for disk in disks)
    files = [f"{a}/x/y/z/0", f"{a}/x/1", f"{a}/xx/2", f"{b}/3"]
    groups = [machine.cgroup(gate.stack, name) for name in ("a/below", "b", "c", "d")]
    who = []
    for i, file in enumerate(files):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        program = machine.scratch(gate.kept) / f"gate-{i}"
        shutil.copy(oracles.program(oracles.WORKLOAD), program)
        counts = (f"{kind}={n + 2 * i}" for kind, n in ON_FILE.items())
        who.append(oracles.Counted(gate.stack, str(program), "-w", file, *counts))
        machine.put(groups[i] / "cgroup.procs", who[i].pid)
    return Crowd(who, files, groups, disks)


@suite("A1.lists", 200)
def filter_lists(gate: Gate) -> None:
    """Each filter that takes several, with some of those that do I/O, and not the others."""
    c = collisions(gate)
    pid, at, disk = [str(w.pid) for w in c.who], c.files, [d.name for d in c.disks]
    slow = machine.slowness() > 3
    quick = ["-T", "syscall"] if slow else []
    everybody = ["-p", ",".join(pid)]
    by_pid = ["--by", "pid"]  # the workload has a child that removes what it made
    asked: dict[str, tuple[list[str], tuple[int, ...]]] = {
        "pids": ([*quick, "-p", f"{pid[0]},{pid[1]}", "-p", pid[3]], (0, 1, 3)),
        "comms": ([*quick, *by_pid, "--comm", "gate-0,gate-2", "--comm", "gate-3"], (0, 2, 3)),
        "cgroups": ([*quick, *everybody, "--cgroup", str(c.groups[0].parent), "--cgroup",
                     str(c.groups[2])], (0, 2)),
        "files": ([*quick, "--file", at[1], "--file", at[3]], (1, 3)),
        "directory": ([*quick, *by_pid, "--file", str(Path(at[1]).parent)], (0, 1)),
        "directories": ([*quick, *by_pid, "--file", str(Path(at[0]).parent), "--file",
                         str(Path(at[3]).parent), "--file", str(Path(at[2]).parent)], (0, 2, 3)),
        "disk": ([*quick, *everybody, "-d", disk[0]], (0, 1, 2)),
        "disks": ([*everybody, "-d", f"{disk[0]},{disk[1]}"], (0, 1, 2, 3)),
    }
    traces = {name: Trace(*args) for name, (args, _) in asked.items()}
    traces["ops"] = Trace(*quick, *everybody, "--op", "read,fsync", "--op", "open")
    for layer in probed_layers()[:2]:
        traces[f"directory-{layer}"] = Trace("-T", layer, *by_pid, "--file",
                                             str(Path(at[1]).parent))
    with Traces(traces) as t:
        for w in c.who:
            w.begin()
        for w in c.who:
            w.end()
    for name, (_, numbers) in asked.items():
        what = "layers" if t[name].json["layers"] else "ops"
        ours = [classes_of(t[name], what, key=p) for p in [*pid, None]]
        oracles.compare_classes(gate, name, plus(*ours), c.some(*numbers))
    every = c.some(0, 1, 2, 3)
    oracles.compare_classes(gate, "ops", classes_of(t["ops"], "layers" if quick else "ops"),
                            {op: every[op] for op in ("read", "fsync", "open")})
    for layer in probed_layers()[:2]:
        compare_layer_below(gate, t[f"directory-{layer}"], layer, c, range(2))


def compare_layer_below(gate: Gate, trace: Trace, layer: str, c: Crowd, numbers: range) -> None:
    """O_SYNC's writes sync, too."""
    wanted = {"open": sum(ON_FILE["openat"] + 2 * i for i in numbers),
              "fsync": sum(ON_FILE["fsync"] + ON_FILE["osync"] + 4 * i for i in numbers)}
    lost = sum(trace.lost().values())
    for op, n in wanted.items():
        ours = sum(trace.total("count", "layers", op=op, key=str(c.who[i].pid)) for i in numbers)
        gate.check(f"directory-{layer}.{op}", 0 <= n - ours <= lost, counted=ours, wanted=n,
                   lost=lost)


@suite("A1.btrfs")
def on_btrfs(gate: Gate) -> None:
    """Files of btrfs have a device number that no disk has: -d is the disk that it is on."""
    there = place(gate, "btrfs")
    mine = Workload(gate.stack, f"{there.point}/mine", PLAIN)
    beside = Workload(gate.stack, f"{there.point}/beside", {"read": 31, "write": 37, "fsync": 3})
    elsewhere = Workload(gate.stack, str(machine.scratch(gate.kept) / "elsewhere"), {"read": 53, "write": 59})
    everybody = [mine, beside, elsewhere]
    with Traces({"disk": Trace("-p", ",".join(str(w.pid) for w in everybody), "-d", there.disk.name),
                 "file": Trace("--file", f"{there.point}/mine")}) as t:
        for w in everybody:
            w.go()
    oracles.compare_classes(gate, "disk", classes_of(t["disk"]), plus(mine.classes(), beside.classes()))
    oracles.compare_classes(gate, "file", classes_of(t["file"]), mine.classes())


@suite("A1.queued")
def queue_included(gate: Gate) -> None:
    """-Q: histogram and maximum of requests have the wait for a tag and in the queue, too (every-row
    compares them with the sums)."""
    disk = machine.loop(gate.stack, gate.kept, 64)
    machine.put(disk.sys / "queue/nr_requests", 4)
    readers = [threading.Thread(target=fileio.read_at, args=(disk.path, [i << 20] * 23, 1 << 20, os.O_DIRECT))
               for i in range(13)]
    with Trace("-T", "blk", "-Q", "-d", disk.name) as trace:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    waited, device = (sum(trace.total(f"{part}_ns", "requests", op="R") for part in parts)
                      for parts in (("tag", "queue"), ("device",)))
    shown = sum(low * n for row in trace.rows("requests", op="R") for low, _, n in row["hist"])
    gate.check("shown", waited > device / 10 and shown > (waited + device) * 31 / 32, tag_and_queue_ms=waited / 1e6,
               device_ms=device / 1e6, shown_ms=shown / 1e6)


@suite("A8.overload")
def full_ring(gate: Gate) -> None:
    """More records than the ring holds while the tool cannot read them: rows stay exact, and lost records are
    counted."""
    file = str(machine.scratch(gate.kept) / "overload")
    w = Workload(gate.stack, file, {"pread": 5003})
    with Trace("-p", str(w.pid), "--slowest", "1000", "--strict") as trace:
        trace.proc.send_signal(signal.SIGSTOP)
        try:
            w.go()
        finally:
            trace.proc.send_signal(signal.SIGCONT)
    oracles.compare_classes(gate, "rows", classes_of(trace), w.classes())
    lost, records = trace.lost()["ring"], len(trace.json["slowest"])
    gate.check("ring", 0 < lost <= 5003 - records and records == 1000, lost=lost, records=records,
               operations=5003)
    gate.check("strict", trace.code == 5, exit=trace.code)


@suite("A8.rows")
def full_table(gate: Gate) -> None:
    """More keys than there is room for while the tool cannot take them: operations without a row are counted as
    lost."""
    n = 35023
    file = fileio.make_file(str(machine.scratch(gate.kept) / "full"), 1)
    keys = oracles.actor(gate.stack, "keys", file, str(n))
    with Trace("--by", "comm", "--file", file, "--op", "read") as trace:
        trace.proc.send_signal(signal.SIGSTOP)
        try:
            keys.go()
        finally:
            trace.proc.send_signal(signal.SIGCONT)
    counted, lost = trace.total("count"), trace.lost()["map_full"]
    gate.check("sum", counted + lost == n, counted=counted, lost=lost, reads=n, rows=len(trace.rows()))
    gate.check("some-lost", lost > 0, lost=lost)
