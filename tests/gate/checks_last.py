# SPDX-License-Identifier: GPL-2.0-only
"""Registered last: what held in every row of every JSON of this run, see invariants.py; and whether
all programs that this kernel has hooks for load on it."""
from __future__ import annotations

import errno
import os
import re
import subprocess
from pathlib import Path

import invariants
import machine
import tool
from checks_blktrace import debugfs
from checks_record import Record
from harness import SUITES, Gate, Skip, Suite, suite
from places import place


def max_verified() -> tuple[int, int]:
    """A breakdown's and a recording's. Before 6.5 all is inlined, but for 6.1 of Debian; on 7.2 the verifier walks
    more than on others."""
    version = machine.release()
    if version == (6, 1):
        return 295_000, 570_000
    if version < (6, 5):
        return 380_000, 1_080_000
    return (300_000, 545_000) if version < (7, 0) else (430_000, 780_000)


@suite("programs", 300)
def programs(gate: Gate) -> None:
    """Each program that does not load has a reason of the tool's own: an errno of the kernel is none."""
    refusals = {os.strerror(e) for e in errno.errorcode}
    probes = tool.ask_doctor("--probes")["probes"]
    refused = [p["program"] for p in probes if not p["loads"] and p["why"] in refusals]
    gate.check("load", not refused and any(p["loads"] for p in probes), programs=len(probes),
               loaded=sum(p["loads"] for p in probes), refused=refused or "none")


# Abilities that kernels of tests/vm lack, by doctor's names. These kernels have all others; other kernels have all.
CANNOT = {
    "5.10": {"locks", "completion's end", "io_uring", "page faults", "module types", "interrupt level",
             "files of paths"},
    "6.1": {"completion's end"},
    "6.1-arm64": {"completion's end", "pages", "fentry", "page faults"},
    "6.12-rt": {"page faults", "preemption"},
    "7.2": {"preemption"},
}


@suite("programs.features")
def features(gate: Gate) -> None:
    """In guests: where the tool no longer finds out that it can do something, suites would only be skipped."""
    if gate.native:
        return
    name = ".".join(map(str, machine.release())) + ("-rt" if "-rt-" in os.uname().release else "")
    known = CANNOT.get(f"{name}-{tool.ARCH}" if tool.ARCH else name, set())
    # what depends on the modules that are loaded is left out
    missing = {what for what, works in tool.doctor().items() if not works}
    missing -= {"FUSE", "FUSE daemon", "NFS", "9p", "SMB", "NFS server", "SMB server"}
    gate.check("missing", missing == known, missing=sorted(missing) or "none", wanted=sorted(known) or "none")
    if machine.release() < (5, 17):
        compare_no_stacks(gate)


def compare_no_stacks(gate: Gate) -> None:
    """Where the kernel finds no mapping for a program, stacks are refused, with that reason."""
    done = subprocess.run([tool.copy(), "breakdown", "--by", "function", "-D", "0.1"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    said = done.stderr.strip()
    gate.check("no-stacks", done.returncode == 3 and "user stacks cannot be taken: this kernel cannot walk" in said,
               code=done.returncode, said=said[-200:] or "nothing")


def compare_verified(gate: Gate, name: str, trace: tool.Trace, limit: int) -> None:
    infos = [dict(re.findall(r"^(prog_id|verified_insns):\s*(\d+)", info.read_text(), re.MULTILINE))
             for info in Path(f"/proc/{trace.proc.pid}/fdinfo").iterdir()]
    walked = {i["prog_id"]: int(i["verified_insns"]) for i in infos if "verified_insns" in i}
    gate.check(name, 10_000 < sum(walked.values()) <= limit, programs=len(walked), walked=sum(walked.values()),
               most=max(walked.values()), wanted=f"<={limit}")
    compare_refused(gate, f"{name}.refused", trace)


def compare_refused(gate: Gate, name: str, trace: tool.Trace) -> None:
    """What doctor loads is of no use here: it depends on the options how much of the stack a program needs."""
    said = re.findall(r"warning: this kernel refuses (.*)", trace.stderr)
    gate.check(name, not said, refused=said or "none")


@suite("programs.verified")
def verified(gate: Gate) -> None:
    """How many instructions the verifier walks: most of the time from the start to "tracing". Where
    it cannot tell states apart that differ, that doubles with each branch."""
    with Record(machine.scratch(gate.kept) / "rows.ios", "-j", "--breakdown", "--by", "file") as trace:
        compare_refused(gate, "record.by-file.refused", trace)
    if machine.release() < (5, 16):
        raise Skip("before 5.16 the kernel does not tell")
    breakdown, record = max_verified()
    with tool.Trace() as trace:
        compare_verified(gate, "instructions", trace, breakdown)
    with Record(machine.scratch(gate.kept) / "verified.ios") as trace:
        compare_verified(gate, "record", trace, record)
    with tool.Trace("--by", "file", "--slowest", "3") as trace:
        compare_refused(gate, "by-file.refused", trace)


@suite("programs.kinds")
def kinds(gate: Gate) -> None:
    """Functions that no operation of those asked for goes through are not probed: of another kind, or of
    file systems without a disk."""
    disk = place(gate, "overlay").disk.name
    wanted = {("--op", "fault"): set(), ("--op", "write"): {"vfs_write", "vfs_fsync_range", "ext4_file_write_iter"},
              ("--op", "read", "-d", disk): {"vfs_read", "ext4_file_read_iter"}}
    told = Path("/sys/kernel/tracing/enabled_functions")
    if tool.is_missing("vfs") or not told.exists():
        raise Skip("functions cannot be probed here, or nobody tells which are")

    def probed() -> set[str]:
        functions = {line.split()[0] for line in told.read_text().splitlines() if line}
        return functions & {"vfs_read", "vfs_write", "vfs_open", "vfs_fsync_range", "iterate_dir",
                            "ext4_file_read_iter", "ext4_file_write_iter", "ovl_read_iter"}

    tool.Shared.end()  # the suite before may have left its run for the next
    for args, functions in wanted.items():
        machine.wait_until(lambda: not probed(), 60)  # a run's programs are removed after its end
        with tool.Trace(*args):
            found = probed()
        gate.check(f"{args[1]}.functions", found == functions, probed=sorted(found) or "none",
                   wanted=sorted(functions) or "none")


@suite("programs.returns")
def returns(gate: Gate) -> None:
    """Each function with a kprobe at its beginning has one at its end, too. Else the function's layer would seem to
    last after its return."""
    place(gate, "ext4")
    told = debugfs(gate.stack) / "kprobes/list"
    if tool.is_missing("vfs") or not told.exists():
        raise Skip("functions cannot be probed here, or nobody tells which are")
    with tool.Trace():
        lines = [line.split() for line in told.read_text().splitlines()]
    begin, end = ({line[2].partition("+")[0] for line in lines if line[1] == kind} for kind in "kr")
    if not begin:
        raise Skip("functions are not probed so here")
    gate.check("both", begin - {"aio_complete"} == end, begin=len(begin), end=len(end),
               differ=sorted(begin ^ end) or "none")


def every_row(gate: Gate) -> None:
    tool.Shared.end()
    gate.prefix = ""
    for rule, looked_at in invariants.looked_at.items():
        bad = invariants.violations[rule]
        name = f"{rule}.every-row"
        if not looked_at:
            gate.skip(name, "nothing was traced")
        elif bad:
            gate.check(name, False, looked_at=looked_at, violations=len(bad), first=bad[0])
        else:
            gate.check(name, True, looked_at=looked_at, violations=0)


SUITES.append(Suite("every-row", 60, every_row, always=True))
