# SPDX-License-Identifier: GPL-2.0-only
"""Compares the tables of README.md with those of a run (report.markdown): a figure there must be one
that a run of this tree shows. Rows of tools which are not installed here are left out."""
from __future__ import annotations

import re
from typing import Iterator

# How far off a figure may be: a share, and as much in any case. Guest instructions repeat exactly, but
# for what the disk interrupts; times on a machine which others use drift.
GUEST, NATIVE = (0.02, 30), (0.25, 3)


def _cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> dict[str, dict[str, list[str]]]:
    """Rows by their first cell, of each table by its head."""
    found: dict[str, dict[str, list[str]]] = {}
    head = ""
    for line in text.splitlines():
        if not line.startswith("|"):
            head = ""
        elif not head:
            head = "|".join(_cells(line))
            found[head] = {}
        elif not re.match(r"\|[-:|]+$", line):
            found[head][_cells(line)[0]] = _cells(line)[1:]
    return found


def _number(cell: str) -> float | None:
    return float(cell.replace(",", "")) if re.fullmatch(r"[-+]?[\d,]+(\.\d+)?", cell) else None


def _differ(ours: str, run: str, share: float, least: float) -> bool:
    a, b = _number(ours), _number(run)
    if a is None or b is None:
        return b is not None and ours != run
    return abs(a - b) > max(share * abs(b), least)


def differences(readme: str, run: str) -> Iterator[str]:
    """The differences between the README's figures and the run's, a line each."""
    theirs = tables(run)
    for head, rows in tables(readme).items():
        share, least = NATIVE if "start, ms" in head else GUEST
        columns = head.split("|")[1:]
        for name, cells in rows.items() if head in theirs else ():
            for column, ours, shown in zip(columns, cells, theirs[head].get(name, [])):
                if _differ(ours, shown, share, least):
                    yield f"README.md: {name}, {column}: {ours}; this run: {shown}"
