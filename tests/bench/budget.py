# SPDX-License-Identifier: GPL-2.0-only
"""Compares figures with budget.json.

An entry says what is measured, and has
  goal     what it is to be (docs and issues promise it); null: nothing is promised
  reached  what it is; changed by hand, lower with what lowers it, higher only with a reason; null:
           not measured yet
Nothing may get worse: a figure may be up to TOLERANCE over what is reached, else the goal. Verdicts,
of which the last two fail:
  ok       as good as the goal
  behind   as good as before, which is not the goal
  over     worse than before
  missing  could not be measured
"""
from __future__ import annotations

import json
from pathlib import Path

import report

TOLERANCE = 1.02
USUAL_READ_NS = 690		# the base that times in budget.json are for


def _guest_figure(entry: dict, result: dict) -> float | None:
    rows = result["kernels"][entry["kernel"]]["rows"]
    if entry.get("what") == "start":  # millions of instructions, until it traces
        ns = rows.get(entry["row"], {}).get("start_cpu_ns")
        return None if ns is None else ns / 1e6
    return report.extra(rows, entry["row"], entry["workload"])


def _native_figure(entry: dict, result: dict) -> float | None:
    if entry["what"].startswith("record_"):  # of one record in a recording, or of all
        row = result["native"].get("recordings", {}).get(entry["row"], {"failed": ["not measured"]})
        ns = {"record_ns": lambda: row["record_ns"], "record_mb": lambda: row["peak_bytes"] / 1e6}
        return None if row["failed"] else ns[entry["what"]]()
    row = result["native"]["rows"].get(entry["row"], {"failed": ["not measured"]})
    if row["failed"]:
        return None
    figures = {"start_ms": lambda: row["start_ns"] / 1e6,
               "memory_mb": lambda: max(row["peak_bytes"], row["held_bytes"]) / 1e6,
               "op_bytes": lambda: row["op_bytes"],
               "read_ns": lambda: row["extra_ns"] * USUAL_READ_NS / row["base_ns"]}
    return figures[entry["what"]]()


def _verdict(entry: dict, figure: float | None, limit: float) -> str:
    if figure is None:
        return "missing"
    if figure > TOLERANCE * limit:
        return "over"
    return "behind" if entry["goal"] is not None and figure > TOLERANCE * entry["goal"] else "ok"


def _name(entry: dict) -> str:
    if "kernel" in entry:
        return f"{entry['row']}, {entry.get('workload', 'start')}, {entry['kernel']}"
    return f"{entry['row']}, {entry['what']}, native"


def check(file: Path, result: dict, partial: bool) -> list[dict]:
    """A verdict for each entry of what was run. @partial: not all rows were asked for."""
    checks = []
    for entry in json.loads(file.read_text(encoding="utf-8")):
        if "kernel" in entry and entry["kernel"] in result["kernels"]:
            figure = _guest_figure(entry, result)
        elif "kernel" not in entry and "native" in result:
            figure = _native_figure(entry, result)
        else:
            continue
        if figure is None and partial:
            continue
        limit = entry["goal"] if entry["reached"] is None else entry["reached"]
        checks.append({"name": _name(entry), "figure": figure, "budget": limit,
                       "goal": entry["goal"], "reached": entry["reached"],
                       "verdict": (verdict := _verdict(entry, figure, limit)),
                       "fails": verdict in ("over", "missing")})
    return checks
