# SPDX-License-Identifier: GPL-2.0-only
"""A1 for operations: every class's count, bytes and errors are those of the workload."""
from __future__ import annotations

import fileio
import machine
import oracles
import tool
from harness import Gate, Skip, suite
from oracles import Process, Workload, all_kinds, prime_counts
from places import place
from stages import Steps, stage
from tool import Trace

FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "overlay")
# On a disk itself there are no names beside it, and nothing to be truncated.
FD_KINDS = ["read", "pread", "readv", "preadv", "preadv2", "write", "pwrite", "writev", "pwritev",
            "pwritev2", "dread", "rand_dread", "dwrite", "osync", "open", "openat", "close", "fsync",
            "fdatasync", "fstat", "stat", "pipe_read"]


def compare(gate: Gate, name: str, w: Workload, trace: Trace, fs: str) -> None:
    """Per class; and what is done through a descriptor is under the name of its file system."""
    oracles.compare_classes(gate, name, oracles.classes_of(trace, key=w.key), w.classes())
    named = oracles.classes_of(trace, key=w.key, fs=fs)
    reads = w.said["read"]["count"] - w.said["calls"].get("read", {}).get("errors", 0)
    gate.check(f"{name}.fs", named.get("read", (0,))[0] == reads, fs=fs, reads=reads,
               found=str(sorted({str(r["fs"]) for r in trace.rows(key=w.key)})))


for _fs in FILE_SYSTEMS:
    @stage(f"A1.counts.{_fs}")
    def all_kinds_on(gate: Gate, fs: str = _fs) -> Steps:
        at = place(gate, fs).point
        w = Workload(gate.stack, f"{at}/all", prime_counts(all_kinds()))
        threads = Workload(gate.stack, f"{at}/four", {"read": 23, "write": 101, "fsync": 7,
                                                      "open": 13, "stat": 11}, "-t", "4")
        yield
        w.go()
        threads.go()
        trace = yield
        assert trace
        compare(gate, "all", w, trace, fs)
        compare(gate, "4-threads", threads, trace, fs)


@stage("A1.counts.disk")
def on_the_disk(gate: Gate) -> Steps:
    disk = machine.loop(gate.stack, gate.kept, 16)
    w = Workload(gate.stack, disk.path, prime_counts(FD_KINDS))
    yield
    w.go()
    trace = yield
    assert trace
    oracles.compare_classes(gate, "all", oracles.classes_of(trace, key=w.key), w.classes())


@stage("A1.counts.32-bit")
def compat_calls(gate: Gate) -> Steps:
    file = fileio.make_file(f"{place(gate, 'ext4').point}/int80", 1)
    a = oracles.actor(gate.stack, "int80", file, bits=32 if tool.ARCH else 64)
    yield
    a.go()
    trace = yield
    assert trace
    oracles.compare_classes(gate, "all", oracles.classes_of(trace, key=a.key), a.classes())


# The kind of each call in the table; all other calls are meta. With the arguments -1, some are no operations.
CALL_KINDS = {
    "read": "read pread64 readv preadv preadv2", "write": "write pwrite64 writev pwritev pwritev2",
    "open": "open openat openat2 creat open_by_handle_at memfd_create memfd_secret mq_open fsopen fspick fsmount "
            "open_tree", "close": "close close_range",
    "fsync": "fsync fdatasync sync syncfs msync",
    "copy": "sendfile sendfile64 splice copy_file_range",
    "aio": "io_submit io_getevents io_pgetevents io_pgetevents_time64",
    "exec": "execve execveat", "lock": "flock",
    "": "dup dup2 dup3 fcntl fcntl64 lseek ioctl connect bind bpf munmap mremap remap_file_pages mbind",
}
KIND_OF = {call: kind for kind, calls in CALL_KINDS.items() for call in calls.split()}


@suite("A1.calls")
def every_call(gate: Gate) -> None:
    """Each call of the table, made by its number, is counted under its name and as its kind."""
    for bits in (64, 32):
        own = bool(tool.ARCH) and bits == 32
        try:
            p = Process(gate.stack, oracles.program(oracles.CALLER, bits if own else 64),
                        *(["32"] if bits == 32 and not own else []))
        except Skip as why:
            gate.skip(f"{bits}-bit", str(why))
            continue
        with Trace("-T", "syscall", "-p", str(p.pid)) as trace:
            said = p.go()
        wanted = {call: (kind, *counts) for call, counts in said.items()
                  if (kind := KIND_OF.get(call, "meta"))}
        ours = {row["call"]: (row["op"], row["count"], row["errors"]) for row in trace.rows("layers")}
        wrong = {call: f"{ours.get(call)}!={wanted.get(call)}" for call in set(ours) | set(wanted)
                 if ours.get(call) != wanted.get(call)}
        gate.check(f"{bits}-bit", not wrong and len(wanted) > 60, calls=len(wanted),
                   made=sum(n for _, n, _ in wanted.values()), **wrong)
