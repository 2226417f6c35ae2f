# SPDX-License-Identifier: GPL-2.0-only
"""The holder of the lock for which a slow operation waited."""
from __future__ import annotations

import re

import machine
from checks_inject import MS, lock_strata, slow_null_blk
from harness import Gate, Skip, suite
from oracles import Workload
from tool import Trace


def written_by(process: Workload) -> int:
    """Bytes that it has sent to a disk."""
    found = re.search(r"^write_bytes: (\d+)", machine.get(f"/proc/{process.pid}/io"), re.MULTILINE)
    assert found
    return int(found[1])


@suite("A6.lock-holder")
def lock_holder(gate: Gate) -> None:
    """One writes directly to a slow disk, with the inode locked; others want to write to that file. One
    of them may come between two of his writes."""
    if lock_strata() != ("lock",):
        raise Skip("before 5.19 the kernel does not tell of locks")
    disk = slow_null_blk(gate, 10, queue_mode=2, memory_backed=1, size=96)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    file = f"{point}/locked"
    holder = Workload(gate.stack, file, {"dwrite": 101})
    waiters = [Workload(gate.stack, file, {"pwrite": 1}) for _ in range(7)]
    with Trace("--slowest", "1000", "--op", "write") as trace:
        before = written_by(holder)
        holder.begin()
        machine.wait_until(lambda: written_by(holder) > before)
        for waiter in waiters:
            waiter.go()
        holder.end()
    pids = [w.pid for w in waiters]
    records = [r for r in trace.json["slowest"] if r["pid"] in pids and r["lock"]]
    longest = max((r["lock"] for r in records), key=lambda lock: lock["wait_ns"], default={})
    gate.check("named", longest.get("pid") == holder.pid and longest["op"] == "write", **longest,
               wanted=holder.pid)
    gate.check("waited", all(0 < r["lock"]["wait_ns"] <= r["strata"]["lock"] <= r["total_ns"]
                             for r in records) and longest.get("wait_ns", 0) > MS,
               longest_ms=longest.get("wait_ns", 0) / MS, records=len(records))
