# SPDX-License-Identifier: GPL-2.0-only
"""Rules that hold in every row of every JSON, for all options: parts of A2, A4 and A5.

Every object that the tool prints during a run of the gate is looked at; the last suite reports.
"""
from __future__ import annotations

from collections import Counter
from typing import Any

Json = dict[str, Any]
LIMIT = 1 << 63

rules = {
    "A2.range": "every time is an integer from 0 to the length of the run",
    "A4.sum": "the strata add up to total_ns, and none is above it",
    "A5.histogram": "the histogram counts every operation once; the maximum is in its last bucket, "
                    "the sum of all between those of the ends of their buckets",
    "A5.order": "p50 <= p90 <= p99 <= p999 <= max",
    "A1.rows": "a key has one row; errors <= count; a missing layer is null, never 0",
}
looked_at = dict.fromkeys(rules, 0)
violations: dict[str, list[str]] = {rule: [] for rule in rules}


def _expect(rule: str, ok: bool, where: str, what: object) -> None:
    looked_at[rule] += 1
    if not ok:
        violations[rule].append(f"{where}: {what}")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LIMIT


def _histogram(row: Json, total: int, where: str) -> None:
    hist, rule = row["hist"], "A5.histogram"
    least, most = (sum(b[end] * b[2] for b in hist) for end in (0, 1))
    _expect(rule, least <= total <= most, where, ("sum", least, total, most))
    _expect(rule, sum(b[2] for b in hist) == row["count"], where, ("count", row["count"], hist[:3]))
    before = -1
    for low, high, count in hist:
        _expect(rule, before < low <= high and count > 0 and high - low <= max(1, low // 32),
                where, ("bucket", low, high, count))
        before = high
    if hist:
        _expect(rule, hist[-1][0] <= row["max_ns"] <= hist[-1][1], where,
                ("max", row["max_ns"], hist[-1]))


WITHOUT_VFS = ("close", "meta", "uring", "aio", "fault", "served", "exec", "lock",
               "exit", "core", "outside", "getevents", "submit")


def _null_or_not(name: str, ns: int | None, missing: list[str], op: str) -> bool:
    """fs is also missing in the rows of a file system whose functions are not probed, vfs in those
    of operations that have no function of the VFS that is."""
    return ((ns is None) == (name in missing) or (name == "fs" and ns is None) or
            (name == "reap" and ns is None and op == "aio") or
            (name == "vfs" and ns is None and op in WITHOUT_VFS))


def _strata(row: Json, missing: list[str], where: str) -> None:
    strata = row["strata"]
    values = [ns for ns in strata.values() if ns is not None]
    _expect("A4.sum", sum(values) == row["total_ns"], where, (sum(values), row["total_ns"], strata))
    for name, ns in strata.items():
        _expect("A1.rows", _null_or_not(name, ns, missing, row["op"]), where, (name, ns, missing))
        _expect("A2.range", ns is None or _whole(ns) and ns <= row["total_ns"], where, (name, ns))


def _op_row(row: Json, missing: list[str], wall_ns: int, where: str) -> None:
    if row["op"] == "copy_to":  # the file to which a copy wrote; the times are those of the file it read
        _expect("A1.rows", row["count"] > 0 and _whole(row["bytes"]) and row["total_ns"] is None, where, row)
        return
    for name in ("count", "errors", "bytes", "total_ns", "max_ns"):
        _expect("A2.range", _whole(row[name]), where, (name, row[name]))
    _expect("A2.range", row["max_ns"] <= min(wall_ns, row["total_ns"]), where,
            ("max_ns", row["max_ns"], "total_ns", row["total_ns"], "wall", wall_ns))
    _expect("A2.range", row["total_ns"] <= row["max_ns"] * row["count"], where, ("total", row))
    _expect("A1.rows", 0 <= row["errors"] <= row["count"] > 0, where, ("errors", row["errors"]))
    order = [row["p50_ns"], row["p90_ns"], row["p99_ns"], row["p999_ns"], row["max_ns"]]
    _expect("A5.order", order == sorted(order), where, order)
    _histogram(row, row["total_ns"], where)
    if "strata" in row:
        _strata(row, missing, where)


def _request_row(row: Json, wall_ns: int, queued: bool, where: str) -> None:
    for name in ("count", "errors", "bytes", "requeues", "unqueued", "device_ns", "max_ns"):
        _expect("A2.range", _whole(row[name]), where, (name, row[name]))
    for name in ("tag_ns", "queue_ns"):
        _expect("A2.range", row[name] is None or _whole(row[name]), where, (name, row[name]))
    _expect("A2.range", row["max_ns"] <= wall_ns, where, ("max_ns", row["max_ns"], wall_ns))
    _expect("A1.rows", row["errors"] <= row["count"] > 0 and row["unqueued"] <= row["count"] and
            (row["outside"] is None or row["outside"] <= row["count"]), where,
            ("count", row["count"], row["errors"], row["unqueued"]))
    waited = (row["tag_ns"] or 0) + (row["queue_ns"] or 0) if queued else 0
    _histogram(row, row["device_ns"] + waited, where)


def _record(row: Json, missing: list[str], wall_ns: int, where: str) -> None:
    values = [ns for ns in row["strata"].values() if ns is not None]
    _expect("A4.sum", sum(values) == row["total_ns"], where, ("record", row))
    _expect("A2.range", _whole(row["total_ns"]) and row["total_ns"] <= wall_ns, where, row["total_ns"])
    for name, ns in row["strata"].items():
        _expect("A2.range", ns is None or _whole(ns) and ns <= row["total_ns"], where, (name, ns))
        _expect("A1.rows", _null_or_not(name, ns, missing, row["op"]), where, (name, ns))


def _helpers(one: Json, where: str) -> None:
    for row in one.get("helpers", []):
        spans = [row[name] for name in ("tag_ns", "queue_ns", "device_ns")]
        _expect("A4.sum", sum(ns or 0 for ns in spans) == row["total_ns"], where, row)
        _expect("A1.rows", 0 <= row["errors"] <= row["count"] > 0, where, row)
    for row in one.get("helper_times", []):
        _expect("A2.range", row["cpu_ns"] + row["waited_ns"] <= one["duration_ns"], where, row)
    for row in one.get("helpers", []) + one.get("helper_times", []):
        known = {row[name] is not None for name in ("for_pid", "for_comm", "on_behalf")}
        _expect("A1.rows", len(known) == 1 and row["pid"], where, row)
    for name in ("helpers", "helper_times"):
        _one_row_each([(r["pid"], r["comm"], r["work"], r["for_pid"], r["for_comm"], r["on_behalf"],
                        r.get("dev"), r.get("op")) for r in one.get(name, [])], where)


def _one_row_each(keys: list[Any], where: str) -> None:
    twice = sorted(str(key) for key, n in Counter(keys).items() if n > 1)
    _expect("A1.rows", not twice, where, ("twice", twice[:6]))


def look(one: Json, wall_ns: int, args: str) -> None:
    """Looks at @one, the output of a run with @args that lasted at most @wall_ns."""
    where = f"[{args}]"
    missing = one["missing"]
    _expect("A2.range", _whole(one["duration_ns"]) and one["duration_ns"] <= wall_ns, where,
            ("duration", one["duration_ns"], wall_ns))
    for row in one["ops"] + one["layers"]:
        _op_row(row, missing, wall_ns, f"{where} {row['op']} {row['fs']} {row['key']}")
    _one_row_each([(r["op"], r.get("call"), r["fs"], r["cache"], r["key"]) for r in one["ops"]], where)
    _one_row_each([(r["layer"], r.get("call"), r["op"], r["fs"], r["key"]) for r in one["layers"]],
                  where)
    for row in one["minor_faults"] or []:
        _expect("A1.rows", _whole(row["count"]) and row["count"] > 0, where, row)
    _one_row_each([(r["fs"], r["key"]) for r in one["minor_faults"] or []], where)
    for row in one["requests"] or []:
        _request_row(row, wall_ns, "-Q" in args.split(), f"{where} {row['dev']} {row['op']}")
    _one_row_each([(r["dev"], r["op"], r["key"]) for r in one["requests"] or []], where)
    for row in one.get("slowest") or []:
        _record(row, missing, wall_ns, f"{where} {row['call']} {row['path']}")
    _helpers(one, where)
    for name, value in one["lost"].items():
        _expect("A2.range", _whole(value), where, (name, value))


def look_at_top(one: Json, wall_ns: int, args: str) -> None:
    """Checks each row of @one, a line of JSON that top printed."""
    where = f"[top {args}]"
    for row in one["rows"]:
        spans = [row[name] for name in ("tag_ns", "queue_ns", "device_ns")]
        _expect("A2.range", all(map(_whole, spans)) and row["max_ns"] <= wall_ns, where, row)
        _expect("A4.sum", sum(spans) == row["total_ns"], where, row)
        _expect("A5.order", row["p99_ns"] <= row["max_ns"] <= row["total_ns"], where, row)
        _expect("A1.rows", 0 <= row["errors"] <= row["count"] > 0, where, row)
    for row in one["ops"]:
        _expect("A4.sum", sum(ns or 0 for ns in row["strata"].values()) == row["total_ns"], where, row)
        _expect("A5.order", row["p99_ns"] <= row["max_ns"] <= row["total_ns"], where, row)
    _one_row_each([(r["pid"], r["tid"], r["comm"], r["cgroup"], r["container"], r["file"], r["key"],
                    r["dev"], r["op"], r["on_behalf"]) for r in one["rows"]], where)
    for name, value in one["lost"].items():
        _expect("A2.range", _whole(value), where, (name, value))
