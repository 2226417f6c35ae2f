# SPDX-License-Identifier: GPL-2.0-only
"""The figures as text, and as tables for the README."""
from __future__ import annotations

# Kind of loop.c: what it is.
WORKLOADS = {
    "pread": "pread of a cached 4 KiB page, ext4",
    "read": "the same with read",
    "write": "pwrite of a cached 4 KiB page, ext4",
    "wback": "pwrite of a cached 4 KiB page and its write-back, a request each, ext4 on null_blk",
    "openclose": "open and close of a file, ext4",
    "fsync": "append of 8 bytes and fsync, ext4 on null_blk",
    "dread": "O_DIRECT read of 4 KiB, ext4 on null_blk",
    "uring": "the same by io_uring, one at a time",
    "fault": "fault on a mapped page of a file, which is cached",
    "anon": "fault on memory of no file",
    "getppid": "getppid, which is no I/O",
}
# In the README's table.
COLUMNS = {"pread": "read", "write": "write", "openclose": "open, close",
           "fsync": "append, fsync", "dread": "direct read", "getppid": "getppid"}
# The row of empty programs with which a row is compared; "floor" for a row that is not here.
FLOORS = {
    "breakdown -T syscall": "floor syscall",
    "breakdown -T vfs": "floor vfs",
    "breakdown -T ext4": "floor ext4",
    "breakdown -T blk": "floor blk",
    "funcs": "floor ext4",
    "funcs --probe kprobe": "floor ext4",
    "funcs --probe kprobe.session": "floor ext4",
    "funcs --tree": "floor ext4",
}
# The batch in the middle has nothing of the timer's ticks, but nothing either of the process to
# which these tools hand their events: for them, the mean.
MEAN_ROWS = {"perf trace -s", "record", "trace-cmd record", "perf record"}


def figure(rows: dict, row: str, workload: str) -> float | None:
    """Instructions an operation, None if not measured."""
    op = rows.get(row, {"ops": {}})["ops"].get(workload)
    return op and op["mean" if row in MEAN_ROWS else "median"]


def extra(rows: dict, row: str, workload: str) -> float | None:
    """How many of them are more than base."""
    with_tool, base = figure(rows, row, workload), figure(rows, "base", workload)
    return None if with_tool is None or base is None else with_tool - base


def bytes_an_op(rows: dict, row: str, workload: str) -> float | None:
    """Bytes an operation in the file that the row's tool writes; None if the tool writes no file."""
    return rows.get(row, {"ops": {}})["ops"].get(workload, {}).get("bytes")


def _ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a is not None and b and b >= 20 else "-"


def _number(value: float | None, form: str = ",d") -> str:
    return "-" if value is None else format(round(value), form)


def _bytes(value: float | None) -> str:
    return "" if value is None else f"  {value:.1f} bytes an op in its file"


def _workload_text(rows: dict, workload: str) -> list[str]:
    base = figure(rows, "base", workload)
    lines = ["", f"{WORKLOADS[workload]}: {_number(base)}",
             f"  {'':34}{'an op':>9}{'extra':>9}{'/base':>7}{'/floor':>7}{'/ours':>7}"]
    for name in rows:
        value, more = figure(rows, name, workload), extra(rows, name, workload)
        if name != "base" and value is not None:
            floor = extra(rows, FLOORS.get(name, "floor"), workload)
            lines.append(f"  {name:34}{_number(value):>9}{_number(more):>9}{_ratio(value, base):>7}"
                         f"{_ratio(more, floor):>7}"
                         f"{_ratio(more, extra(rows, 'breakdown', workload)):>7}"
                         f"{_bytes(bytes_an_op(rows, name, workload))}")
    return lines


def _mib(row: dict) -> str:
    if "peak_bytes" not in row:
        return f"{'-':>9}{'-':>9}"
    return f"{row['peak_bytes'] / 2**20:9.1f}{row['held_bytes'] / 2**20:9.1f}"


def _ms(ns: float | None) -> str:
    return _number(ns / 1e6 if ns else None)


def _failures(rows: dict) -> list[str]:
    return [f"failed: {name}: {why}" for name, row in rows.items() for why in row["failed"]]


def kernel_text(kernel: str, got: dict) -> str:
    """One kernel's figures."""
    rows = got["rows"]
    lines = [f"Linux {kernel}: guest instructions an operation ({got['seconds']:.0f} s)"]
    for workload in WORKLOADS:
        if figure(rows, "base", workload) is not None:
            lines += _workload_text(rows, workload)
    lines += ["", f"  {'':34}{'start 1e6':>9}{'peak MiB':>9}{'held MiB':>9}"]
    lines += [f"  {name:34}{_ms(row['start_cpu_ns']):>9}{_mib(row)}"
              for name, row in rows.items() if "start_cpu_ns" in row]
    lines += _failures(rows)
    if got["error"]:
        lines.append(f"failed: {got['error']}")
    return "\n".join(lines) + "\n"


def native_text(got: dict) -> str:
    """The machine's own figures."""
    lines = [f"this machine, Linux {got['kernel']}: read of a cached 4 KiB page",
             f"  {'':34}{'base ns':>9}{'extra':>9}{'/base':>7}{'start ms':>9}{'cpu ms':>9}"
             f"{'peak MiB':>9}{'held MiB':>9}"]
    lines += [f"  {name:34}{row['base_ns']:9.0f}{row['extra_ns']:9.0f}{row['ratio']:7.2f}"
              f"{_ms(row['start_ns']):>9}{_ms(row['start_cpu_ns']):>9}{_mib(row)}"
              for name, row in got["rows"].items() if not row["failed"]]
    lines += ["", f"  {'recordings':34}{'records/s':>11}{'ns':>7}{'MB':>6}"]
    lines += [f"  {name:34}{1e9 / row['record_ns']:>11,.0f}{row['record_ns']:>7.0f}{row['peak_bytes'] / 1e6:>6.0f}"
              for name, row in got["recordings"].items() if not row["failed"]]
    return "\n".join(lines + _failures(got["rows"]) + _failures(got["recordings"])) + "\n"


def checks_text(checks: list[dict], others: list[str] | None = None) -> str:
    """A line each, FAIL in front of what fails, and the sum, as tests/all wants it. @others fail."""
    failed, others = sum(c["fails"] for c in checks), others or []
    left_over = "".join(f"{'FAIL':6}{other}\n" for other in others)
    return left_over + "\n".join(f"{'FAIL' if c['fails'] else 'ok':6}{c['verdict']:8}{_number(c['figure']):>7}"
                     f" of {_number(c['budget']):>7}  {c['name']} (goal {_number(c['goal'])},"
                     f" reached {_number(c['reached'])})" for c in checks) + \
        f"\n{len(checks) - failed} passed, {failed + len(others)} failed, 0 skipped"


def _kernel_markdown(kernel: str, rows: dict) -> list[str]:
    lines = [f"Instructions more an operation, Linux {kernel} in a guest:", "",
             "| | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---:|" * len(COLUMNS),
             "| without any tool | " +
             " | ".join(_number(figure(rows, "base", w)) for w in COLUMNS) + " |"]
    for name, row in rows.items():
        if name == "base" or not row["ops"] or name.startswith("floor "):
            continue
        shown = {"floor": "empty programs on the same hooks"}.get(name, name)
        if name.startswith("breakdown") or name == "record":
            shown = f"**iostrata {name}**"
        lines.append(f"| {shown} | " +
                     " | ".join(_number(extra(rows, name, w), "+,d") for w in COLUMNS) + " |")
    return lines + [""]


def _native_markdown(got: dict) -> list[str]:
    lines = [f"A cached 4 KiB read on a real machine (Linux {got['kernel'].split('-')[0]}, "
             "tracepoints only):", "",
             "| | ns more | times base | start, ms | resident at most, MB | "
             "with its maps, MB |", "|---|---:|---:|---:|---:|---:|"]
    for name, row in got["rows"].items():
        if not row["failed"]:
            lines.append(f"| {name} | {row['extra_ns']:+.0f} | {row['ratio']:.2f} | "
                         f"{_ms(row['start_ns'])} | {row['peak_bytes'] / 1e6:.1f} | "
                         f"{row['held_bytes'] / 1e6:.1f} |")
    lines += ["", "Records of a recording that a command reads in a second of CPU time (explain reads each "
              "twice):", "", "| | records a second | resident at most, MB |", "|---|---:|---:|"]
    lines += [f"| {name} | {1e9 / row['record_ns']:,.0f} | {row['peak_bytes'] / 1e6:.0f} |"
              for name, row in got["recordings"].items() if not row["failed"]]
    return lines + [""]


def markdown(result: dict) -> str:
    """Tables for the README."""
    lines = []
    for kernel, got in result["kernels"].items():
        lines += _kernel_markdown(kernel, got["rows"])
    if "native" in result:
        lines += _native_markdown(result["native"])
    return "\n".join(lines)
