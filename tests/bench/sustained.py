# SPDX-License-Identifier: GPL-2.0-only
"""The rate at which recorders keep up for a long time: reads of two processes at a constant rate, cached, direct
and by io_uring, all of which must be in what is recorded, or be told as lost. Rates are tried from the highest
down, for a short time; the highest without a loss is then held for as long as was asked for."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

RATES = (1_000_000, 500_000, 200_000, 100_000, 50_000, 20_000)  # of both processes together
TRY_SECONDS = 5
PROCESSES = 2
KEEP_SECONDS = 60  # of watch
LOADS = {"cached read": None, "direct read": ["--ioengine=psync"],
         "io_uring, depth 32": ["--ioengine=io_uring", "--iodepth=32"]}  # options of fio, or our pacer
SYSCALLS = ("syscalls:sys_enter_pread64", "syscalls:sys_exit_pread64")
URING = ("io_uring:io_uring_submit_req", "io_uring:io_uring_complete")


def commands(work: Path, load: str) -> dict[str, list[str]]:
    traced = URING if "uring" in load else SYSCALLS
    events = [word for one in traced for word in ("-e", one)]
    tool = str(work / "iostrata")
    return {
        "iostrata watch": [tool, "watch", "--until", "any>1h", "--keep", str(KEEP_SECONDS), "-o",
                           str(work / "recorded")],
        "iostrata record": [tool, "record", "-o", str(work / "recorded/all.ios")],
        "perf trace record": ["perf", "trace", "record", "-a", "-o", str(work / "recorded/perf.data")],
        "perf record": ["perf", "record", "-o", str(work / "recorded/perf.data"), "-a", *events],
        "trace-cmd record": ["trace-cmd", "record", "-o", str(work / "recorded/trace.dat"), *events],
        "lo2s": ["lo2s", "-A", "-o", str(work / "recorded/lo2s"), *[f"-t{one}" for one in traced]],
    }


def _cpu_seconds(pid: int) -> float:
    """The CPU time of process @pid, and of its children that have ended, s."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return sum(int(n) for n in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def _bytes(directory: Path) -> int:
    return sum(one.stat().st_size for one in directory.rglob("*") if one.is_file())


def _resident(pid: int) -> int:
    """The largest resident memory of process @pid so far, bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    hwm = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(hwm[1]) * 1024 if hwm else 0


def _told_lost(text: str) -> int:
    """The losses that a tool prints: "lost 17 operations", "1,234 events lost", "LOST 5 events"."""
    found = re.findall(r"(?i)\blost\s+([\d,]+)|([\d,]+) (?:events?|records?|operations?|requests?)\s+(?:were )?lost",
                       text)
    return sum(int((a or b).replace(",", "")) for a, b in found)


def _recorded(work: Path, name: str, load: str, disk: str) -> int | None:
    """How many operations of the readers are in a recording of ours; None: another tool's."""
    if not name.startswith("iostrata"):
        return None
    op = "uring" if "uring" in load else "read"
    files = [str(one) for one in sorted((work / "recorded").iterdir())]
    out = subprocess.run([str(work / "iostrata"), "report", "-j", "--file", disk, "--op", op, *files],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout
    return sum(row["count"] for row in json.loads(out)["ops"])


def _load(work: Path, load: str, disk: str, rate: int, seconds: float) -> int:
    """Reads at that rate; how many there were."""
    options = LOADS[load]
    if options:
        done = subprocess.run(["fio", "--name=reads", f"--filename={disk}", "--rw=randread", "--direct=1", "--bs=4k",
                               "--size=64m", f"--numjobs={PROCESSES}", f"--rate_iops={rate // PROCESSES}",
                               "--time_based", f"--runtime={seconds}", "--group_reporting",
                               "--output-format=json", *options], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["jobs"][0]["read"]["total_ios"]
    each = [subprocess.Popen([work / "pacer", disk, str(rate // PROCESSES), str(seconds)],
                             stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    return sum(int(one.communicate()[0]) for one in each)


def _end(tool: subprocess.Popen) -> None:
    tool.send_signal(signal.SIGINT)
    try:
        tool.wait(60)
    except subprocess.TimeoutExpired:
        tool.kill()


def _hold(work: Path, name: str, load: str, disk: str, rate: int, seconds: float) -> dict:
    recorded = work / "recorded"
    shutil.rmtree(recorded, ignore_errors=True)
    recorded.mkdir()
    command = commands(work, load)[name]
    with open(work / "errors", "wb") as errors, \
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors) as tool:
        try:
            time.sleep(2)
            if tool.poll() is not None:
                lines = (work / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                return {"failed": lines[-1] if lines else f"it ended with {tool.returncode}"}
            before = _cpu_seconds(tool.pid)
            n = _load(work, load, disk, rate, seconds)
            cpu, memory = _cpu_seconds(tool.pid) - before, _resident(tool.pid)
            if name == "iostrata watch":
                tool.send_signal(signal.SIGUSR1)
                time.sleep(2)
        finally:
            _end(tool)
    told = _told_lost((work / "errors").read_text(encoding="utf-8", errors="replace"))
    found = _recorded(work, name, load, disk)
    if found is not None and (name != "iostrata watch" or seconds < KEEP_SECONDS):
        told = max(told, n - found)
    return {"failed": None, "rate": n / seconds, "lost": told, "memory": memory, "cpu": cpu / seconds,
            "op_bytes": _bytes(recorded) / (found or n)}


def _measure(work: Path, name: str, load: str, disk: str, seconds: float) -> dict:
    if not shutil.which(commands(work, load)[name][0]):
        return {"failed": "not installed"}
    got: dict = {}
    for rate in RATES:
        got = _hold(work, name, load, disk, rate, min(TRY_SECONDS, seconds))
        if not got["failed"] and not got["lost"]:
            got = _hold(work, name, load, disk, rate, seconds)
        if got["failed"] or not got["lost"]:
            break
    return got


def run(work: Path, disk: str | None, seconds: float) -> dict:
    """Rows and their figures, by load and command. Direct reads are of @disk; None: of a file."""
    file = work / "file"
    file.write_bytes(bytes(64 << 20))
    rows = {}
    for load in LOADS:
        for name in commands(work, load):
            if sys.stderr.isatty():
                print(f"\r\033[K{load}, {name}", end="", file=sys.stderr, flush=True)
            rows[load, name] = _measure(work, name, load, disk if disk and LOADS[load] else str(file), seconds)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return rows


def text(rows: dict, seconds: float) -> str:
    """A table for the README."""
    lines = [f"Reads of two processes for {seconds:.0f} s:", "",
             "| | | operations/s | lost | CPUs | bytes an operation | resident at most, MB |",
             "|---|---|---:|---:|---:|---:|---:|"]
    for (load, name), row in rows.items():
        if row["failed"]:
            lines.append(f"| {load} | {name} | - | {row['failed']} | | | |")
        else:
            lines.append(f"| {load} | {name} | {row['rate']:,.0f} | {row['lost']:,} | {row['cpu']:.2f} | "
                         f"{row['op_bytes']:.1f} | {row['memory'] / 1e6:.0f} |")
    return "\n".join(lines) + "\n"
