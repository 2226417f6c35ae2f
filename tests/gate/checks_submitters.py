# SPDX-License-Identifier: GPL-2.0-only
"""Rows of requests by whoever submitted them: known programs read and write known files, all at the
same time, and each row has what its key did; together they are what the disk did."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import fileio
import machine
from harness import Broken, Gate, Skip, suite
from oracles import DiskStat
from places import place
from tool import Trace, Traces

READS = {"a": 23, "b": 41}
WRITTEN = 640 << 10
KEYS = ("pid", "tid", "comm", "file", "cgroup", "container")


def dd(*args: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["dd", "status=none", *args])


def found(trace: Trace, what: str, **match: Any) -> dict[str, int]:
    """The sums of @what of the requests, by key."""
    sums: dict[str, int] = {}
    for row in trace.rows("requests", **match):
        who = row["key"] or "nobody"
        sums[who] = sums.get(who, 0) + row[what]
    return sums


@suite("A1.submitters", 300)
def submitters(gate: Gate) -> None:
    there = place(gate, "ext4")
    files = {name: fileio.make_file(str(there.point / name), 1) for name in READS}
    written = str(there.point / "written")
    os.sync()
    asked = DiskStat.of(there.disk)
    # whatever operations are asked for, requests are all there; so most of these runs start faster
    few = {by: ("--op", "close") for by in KEYS if by not in ("pid", "file")}
    # where starts take long, others have requests by cgroup and by container, too
    keys = KEYS if gate.native else KEYS[:4]
    with Traces({by: Trace("--by", by, "-d", there.disk.name, *few.get(by, ())) for by in keys}) as traces:
        live = DiskStat.of(there.disk)
        readers = {name: dd(f"if={file}", "of=/dev/null", "bs=4k", f"count={READS[name]}", "iflag=direct")
                   for name, file in files.items()}
        writer = dd("if=/dev/zero", f"of={written}", "bs=64k", f"count={WRITTEN >> 16}")
        for process in (*readers.values(), writer):
            if process.wait():
                raise Broken(f"dd: exit {process.returncode}")
        os.sync()
    most, least = (DiskStat.of(there.disk) - before for before in (asked, live))
    for by in ("pid", "tid"):
        mine = {name: found(traces[by], "count", op="R").get(str(p.pid), 0) for name, p in readers.items()}
        called = {row["comm"] for row in traces[by].rows("requests")
                  if row["key"] in {str(p.pid) for p in readers.values()}}
        gate.check(by, mine == READS and called == {"dd"}, reads=str(mine), wanted=str(READS),
                   comm=",".join(map(str, called)))
    by_comm = found(traces["comm"], "count", op="R")
    gate.check("comm", by_comm.get("dd") == sum(READS.values()), reads=by_comm.get("dd"),
               wanted=sum(READS.values()))
    by_file = found(traces["file"], "count", op="R")
    gate.check("file.direct", {n: by_file.get(f) for n, f in files.items()} == READS,
               reads=str({n: by_file.get(f) for n, f in files.items()}), wanted=str(READS))
    # written back by a kernel thread: its data say of which file they are
    back = found(traces["file"], "bytes", op="W").get(written)
    gate.check("file.writeback", back == WRITTEN, bytes=back, wanted=WRITTEN)
    for by, trace in traces.by_name.items():
        sums = {op: sum(found(trace, "count", op=op).values()) for op in ("R", "W")}
        # if anything was written while they started, a run may have begun before it or behind it
        gate.check(f"{by}.sum", all(least.ios[op] <= n <= most.ios[op] for op, n in sums.items()),
                   requests=str(sums), diskstats=str(most.ios), once_live=str(least.ios),
                   lost=sum(trace.lost().values()))


@suite("A1.submitters.throttled")
def held_back(gate: Gate) -> None:
    """blk-throttle's own worker queues a throttled bio, whose request belongs to its submitter. Where that worker's
    function cannot be probed, the request is nobody's."""
    disk = machine.loop(gate.stack, gate.kept, 16)
    group = machine.few_ios(gate.stack, [disk], "read", 200)
    functions = os.path.exists("/sys/kernel/tracing/kprobe_events")
    command = f"echo $$ >{group}/cgroup.procs; exec dd if={disk.path} of=/dev/null bs=4k count=101 iflag=direct"
    with Trace("--by", "comm", "-d", disk.name, "--op", "close") as trace:
        subprocess.run(["sh", "-c", f"{command} status=none"], check=True)
    reads = found(trace, "count", op="R")
    gate.check("comm", sum(reads.values()) == 101 and set(reads) <= ({"dd"} if functions else {"dd", "nobody"}),
               found=str(reads))


@suite("A1.submitters.written-back")
def charged(gate: Gate) -> None:
    """Writeback by a kernel thread belongs to the cgroup which is charged for the pages."""
    gate.not_native("controllers in all cgroups")
    root, wanted = Path("/sys/fs/cgroup"), {"io", "memory"}
    if not wanted <= set(machine.get(root / "cgroup.controllers").split()):
        raise Skip("cgroup v2 has no io or memory controller")
    there, group = place(gate, "ext4"), machine.cgroup(gate.stack, "writer")
    for above in (root, group.parent):
        machine.put(above / "cgroup.subtree_control", "+io +memory")
    command = f"echo $$ >{group}/cgroup.procs; exec dd if=/dev/zero of={there.point}/charged bs=64k"
    with Trace("--by", "cgroup", "-d", there.disk.name, "--op", "close") as trace:
        subprocess.run(["sh", "-c", f"{command} count={WRITTEN >> 16} status=none"], check=True)
        os.sync()
    name = "/" + str(group.relative_to(root))
    size = found(trace, "bytes", op="W")
    gate.check("cgroup", size.get(name, 0) >= WRITTEN, found=str(size), wanted=f"{name}: >={WRITTEN}")
