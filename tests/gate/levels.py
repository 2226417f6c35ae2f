# SPDX-License-Identifier: GPL-2.0-only
"""Disks that lie on others, all traced at once: the figures and the levels of each."""
from __future__ import annotations

import subprocess

import machine
import tool
from checks_record import Record
from harness import Gate
from machine import Disk
from oracles import DiskStat


def indented(text: str) -> list[tuple[int, str]]:
    """How deep each disk stands in the table of requests, of those that read."""
    lines = text[text.index("\ndisk "):].splitlines()[2:]
    rows = [line for line in lines if line.split()[1:2] == ["read"]]
    return [((len(row) - len(row.lstrip())) // 2, row.split()[0]) for row in rows]


class Levels:
    """A recording of requests by disk. @above: of each disk, those that lie on it."""

    def __init__(self, gate: Gate, above: dict[Disk, list[Disk]]) -> None:
        self.gate, self.above = gate, above
        self.file = machine.scratch(gate.kept) / "levels.ios"
        chosen = [arg for disk in above for arg in ("-d", disk.name)]
        self.trace = Record(self.file, "-j", "--breakdown", "--by", "dev", *chosen)

    def __enter__(self) -> "Levels":
        self.before = {disk: DiskStat.of(disk) for disk in self.above}
        self.trace.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind:
            self.trace.kill()
            return
        self.after = {disk: DiskStat.of(disk) - self.before[disk] for disk in self.above}
        self.trace.stop()
        self.tree = indented(subprocess.run([tool.copy(), "report", "--by", "dev", "-v", str(self.file)],
                                            check=True, capture_output=True, text=True).stdout)
        self.gate.check("lost", not self.trace.lost_here(), **self.trace.lost())
        for disk, uppers in self.above.items():
            self.check_rows(disk, [upper.name for upper in uppers])

    def check_rows(self, disk: Disk, parents: list[str]) -> None:
        """Parents, and a submission that was seen; who has something below has a time of its own."""
        rows = [r for r in self.trace.rows("requests", dev=disk.name) if r["op"] in ("R", "W")]
        has_below = any(disk in uppers for uppers in self.above.values())
        self.gate.check(f"{disk.name}.rows", bool(rows) and all(
            r["parent"] == parents and not r["unqueued"] and
            (0 < r["own_mean_ns"] < r["device_mean_ns"] if has_below else r["own_mean_ns"] is None)
            for r in rows), found=str([(r["op"], r["parent"], r["unqueued"], r["own_mean_ns"],
                                        r["device_mean_ns"]) for r in rows]))

    def amount(self, disk: Disk, op: str) -> int:
        return self.trace.total("bytes", "requests", dev=disk.name, op=op)

    def check_bytes(self, name: str, disk: Disk, counted: bool = True, **wanted: int) -> None:
        """R and W, exactly; @counted: the kernel's statistics of that disk say the same."""
        found = {op: self.amount(disk, op) for op in wanted}
        theirs = {op: self.after[disk].sectors[op] * 512 for op in wanted}
        self.gate.check(f"{name}.bytes", found == wanted and (theirs == wanted if counted else not any(
            theirs.values())), disk=disk.name, found=str(found), statistics=str(theirs), wanted=str(wanted))

    def check_tree(self, name: str, *chain: Disk) -> None:
        """Each of them stands below the one before, one step further to the right."""
        found, wanted = self.tree, [(i, disk.name) for i, disk in enumerate(chain)]
        at = found.index(wanted[0]) if wanted[0] in found else 0
        self.gate.check(f"{name}.tree", found[at:at + len(wanted)] == wanted, found=str(found), wanted=str(wanted))
