# SPDX-License-Identifier: GPL-2.0-only
"""Times on the machine itself: it is shared and its seconds drift, so only ratios count, of runs
that follow each other: base, tool, base, tool, ... and of these the one in the middle. The start is the
fastest of all: others only delay it."""
from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

ROUNDS = 9
READS = 40000
READY_TIMEOUT = 60.0
STOP_TIMEOUT = 30.0

BY_TRACEPOINT = """
tracepoint:syscalls:sys_enter_read { @s[tid] = nsecs }
tracepoint:syscalls:sys_exit_read /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s[tid]) }
"""


class Failed(Exception):
    """A tool does not run here; why."""


def commands(work: Path) -> dict[str, list[str]]:
    ours = [str(work / "iostrata"), "breakdown", "-j"]
    return {
        "floor": [str(work / "floor"), str(work / "floor.bpf.o"), "syscall", "vfs", "ext4",
                  "sched", "block"],
        "breakdown": ours,
        "breakdown -T syscall": [*ours, "-T", "syscall"],
        "breakdown -T blk": [*ours, "-T", "blk"],
        "breakdown --by file": [*ours, "--by", "file"],
        "breakdown --slowest 5": [*ours, "--slowest", "5"],
        "breakdown -p 1": [*ours, "-p", "1"],
        "serve": [str(work / "iostrata"), "serve", "--listen", "127.0.0.1:0"],
        "record": [str(work / "iostrata"), "record", "--force", "-o", str(work / "recording")],
        "libbpf-tools syscount -L": ["syscount", "-L"],
        "bpftrace tracepoint read": ["bpftrace", "-e", BY_TRACEPOINT],
    }


def _reads(work: Path) -> float:
    """ns of a cached 4 KiB read, when nothing disturbs it."""
    command = [work / "loop", "read", work / "file", str(READS)]
    line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    return float(line.stdout.split()[4])


def _cpu(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[11:13]


def _has_programs(pid: int) -> bool:
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if re.match("anon_inode:bpf[-_]", os.readlink(fd)):
                return True
    return False


def _said_tracing(errors: Path) -> bool:
    return any(line.startswith("tracing") for line in
               errors.read_text(encoding="utf-8", errors="replace").splitlines())


def _wait(tool: subprocess.Popen, errors: Path, says: bool) -> None:
    """Until it traces: it says so, or else it has programs and then nothing to do for a while."""
    deadline = time.monotonic() + READY_TIMEOUT
    before = None
    while time.monotonic() < deadline:
        if tool.poll() is not None:
            lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise Failed(lines[-1] if lines else f"it ended with {tool.returncode}")
        if says:
            if _said_tracing(errors):
                return
            time.sleep(0.001)
        else:
            now = _cpu(tool.pid)
            if now == before and _has_programs(tool.pid):
                return
            before = now
            time.sleep(0.5)
    raise Failed(f"it did not begin to trace in {READY_TIMEOUT:.0f} s")


def _memory(pid: int) -> tuple[int, int]:
    """The most that was resident; what it holds now: its own, and its maps, mapped or not."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    smaps = Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8")
    maps = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        text = info.read_text(encoding="utf-8")
        fields = dict(re.findall(r"^(\w+):\s+(\d+)$", text, re.MULTILINE))
        if "map_id" in fields:
            maps[fields["map_id"]] = int(fields["memlock"])
    hwm = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    own = sum(int(kib) for name, kib in re.findall(r"^[0-9a-f]+-\S+ \S+ \S+ \S+ \S+ *(.*)\n"
                                                   r"(?:\w+: .*\n)*?Rss: +(\d+) kB$", smaps,
                                                   re.MULTILINE) if "bpf-map" not in name)
    return int(hwm[1]) * 1024 if hwm else 0, own * 1024 + sum(maps.values())


@contextlib.contextmanager
def _running(command: list[str], work: Path, says: bool) -> Iterator[tuple[int, float]]:
    """A tool that traces; its pid and how long it took to come so far."""
    errors = work / "errors"
    with open(work / "output", "wb") as out, open(errors, "wb") as err:
        began = time.monotonic()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as tool:
            try:
                _wait(tool, errors, says)
                yield tool.pid, time.monotonic() - began
            finally:
                tool.send_signal(signal.SIGINT)
                try:
                    tool.wait(STOP_TIMEOUT)
                except subprocess.TimeoutExpired:
                    tool.kill()


def _round(command: list[str], work: Path, says: bool) -> dict:
    base = _reads(work)
    with _running(command, work, says) as (pid, start):
        cpu = int(Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[0])
        ns = _reads(work)
        peak, held = _memory(pid)
    written = (work / "recording").stat().st_size if "record" in command else 0
    base = (base + _reads(work)) / 2
    return {"base_ns": base, "ns": ns, "ratio": ns / base, "start_ns": start * 1e9,
            "start_cpu_ns": cpu, "peak_bytes": peak, "held_bytes": held,
            "op_bytes": written / READS}


def _measure(name: str, command: list[str], work: Path) -> dict:
    says = name.startswith(("breakdown", "floor", "record", "serve"))
    rounds: list[dict] = []
    if not shutil.which(command[0]):
        return {"failed": ["not installed"]}
    try:
        for _ in range(ROUNDS):
            rounds.append(_round(command, work, says))
    except (Failed, subprocess.SubprocessError) as why:
        return {"failed": [str(why)]}
    row: dict = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
    for key in ("start_ns", "start_cpu_ns"):
        row[key] = min(r[key] for r in rounds)
    row["extra_ns"] = statistics.median(r["ns"] - r["base_ns"] for r in rounds)
    row["failed"] = []
    if not says:
        row["start_ns"] = None
    return row


def run(work: Path) -> dict:
    """Rows and their figures."""
    rows = {}
    for name, command in commands(work).items():
        if sys.stderr.isatty():
            print(f"\r\033[K{name}", end="", file=sys.stderr, flush=True)
        rows[name] = _measure(name, command, work)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return {"kernel": os.uname().release, "rounds": ROUNDS, "rows": rows}
