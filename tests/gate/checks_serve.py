# SPDX-License-Identifier: GPL-2.0-only
"""serve: its sums against what was done, against one another, and against the disk's statistics."""
from __future__ import annotations

import os
import re
import urllib.request
from decimal import Decimal

import fileio
import machine
from harness import Gate, suite
from oracles import DiskStat
from places import place
from tool import Trace, copy

READS, WRITES = 1009, 101
SERIES = re.compile(r"(\w+)\{(.*)\} (\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')
ANY_PORT = "127.0.0.1:0"
SERVING = re.compile(r"^serving http://([^/]+)/", re.MULTILINE)
KINDS = {"R": "read", "W": "write"}


def served_at(said: str) -> str:
    """The address at which `serve`, which @said this, listens; "" if it does not."""
    found = SERVING.search(said)
    return found[1] if found else ""


def scrape(address: str) -> str:
    """Empty before the first second is over."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


class Metrics:
    """The series of one scrape."""

    def __init__(self, text: str) -> None:
        self.series = [(name, dict(LABEL.findall(labels)), Decimal(value))
                       for name, labels, value in SERIES.findall(text)]

    def total(self, name: str, **match: str) -> int:
        return int(sum(value for found, labels, value in self.series
                       if found == name and all(labels[k] == v for k, v in match.items())))

    def by_row(self, name: str, **match: str) -> dict[tuple[str, str], Decimal]:
        """The sums of series @name by operation and file system."""
        sums: dict[tuple[str, str], Decimal] = {}
        for found, labels, value in self.series:
            if found == name and all(labels[k] == v for k, v in match.items()):
                row = labels["op"], labels["fs"]
                sums[row] = sums.get(row, Decimal(0)) + value
        return sums


class Serve(Trace):
    """A run of `iostrata serve`, asked while it goes on."""

    def __init__(self, *args: str) -> None:
        super().__init__(*args)
        self.argv = [copy(), "serve", "--listen", ANY_PORT, *args]

    @property
    def address(self) -> str:
        return served_at(self.stderr)

    def metrics(self) -> Metrics:
        return Metrics(scrape(self.address))

    def output_parse(self, out: str) -> None:
        """Checks nothing: `serve` prints nothing."""


@suite("serve.sums", 300)
def sums(gate: Gate) -> None:
    there = place(gate, "ext4")
    file = fileio.make_file(str(there.point / "file"), 8)
    os.sync()
    with Serve("-d", there.disk.name) as serve:
        before = DiskStat.of(there.disk)
        fileio.read_at(file, fileio.spread(READS, 4096, 8 << 20), 4096, os.O_DIRECT)
        fileio.write_at(file, fileio.spread(WRITES, 8192, 8 << 20), 8192, sync=True)
        os.sync()

        def compared() -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
            """Count and bytes of requests by kind, ours and the statistics': now."""
            stat, found = DiskStat.of(there.disk) - before, serve.metrics()
            ours = {op: (found.total("iostrata_request_duration_seconds_count", op=op),
                         found.total("iostrata_request_bytes_total", op=op)) for op in KINDS.values()}
            return ours, {op: (stat.ios[kind], 512 * stat.sectors[kind]) for kind, op in KINDS.items()}

        def agree() -> bool:
            ours, theirs = compared()
            return ours == theirs

        machine.wait_for(agree, 30)
        ours, theirs = compared()
        found = serve.metrics()
    gate.check("diskstats", ours == theirs and theirs["read"][0] >= READS, found=str(ours), wanted=str(theirs))
    of = "iostrata_operation_duration_seconds"
    done = {op: (found.total(f"{of}_count", op=op, fs="ext4"),
                 found.total("iostrata_operation_bytes_total", op=op, fs="ext4")) for op in KINDS.values()}
    wanted = {"read": (READS, READS * 4096), "write": (WRITES, WRITES * 8192)}
    gate.check("operations", done == wanted, found=str(done), wanted=str(wanted))
    whole, strata = found.by_row(f"{of}_sum"), found.by_row("iostrata_operation_seconds_total")
    gate.check("strata", whole == strata and ("read", "ext4") in whole, rows=len(whole),
               apart=str({row: s for row, s in whole.items() if s != strata.get(row)}))
    counts, buckets = found.by_row(f"{of}_count"), found.by_row(f"{of}_bucket", le="+Inf")
    gate.check("buckets", counts == buckets and len(counts) == len(whole), rows=len(counts),
               possible_cpus=machine.get("/sys/devices/system/cpu/possible"))
