# SPDX-License-Identifier: GPL-2.0-only
"""Registered last: what held in every row of every JSON of this run, see invariants.py."""
from __future__ import annotations

import invariants
from harness import SUITES, Gate, Suite


def every_row(gate: Gate) -> None:
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
