# SPDX-License-Identifier: GPL-2.0-only
"""Actions left to somebody who has taken over the tool while it traces: see intruder.c."""
from __future__ import annotations

import errno
import json
import os
import subprocess

import oracles
from harness import Gate, suite

TOOLS_OWN = ("proc_read", "sys_read", "open_write")  # what it does itself, and must be let


def has_landlock() -> bool:
    """By a call that only asks for its version, landlock_create_ruleset(NULL, 0, VERSION)."""
    import ctypes  # pylint: disable=import-outside-toplevel

    return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


def attempts(*argv: str, **env: str) -> tuple[dict[str, int], dict[str, int]]:
    run = subprocess.run([oracles.program(oracles.INTRUDER), *argv], check=True, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         env={k: v for k, v in os.environ.items() if k[:5] != "SUDO_"} | env)
    before, after = run.stdout.splitlines()
    return json.loads(before), json.loads(after)


@suite("privilege", 60)
def privilege(gate: Gate) -> None:
    landlock = has_landlock()
    runs = {"root": attempts(), "sudo": attempts(SUDO_UID="1000", SUDO_GID="1000"),
            "cgroups": attempts("cgroups")}
    for name, (before, after) in runs.items():
        mine = {k: e for k, e in before.items() if k != "type"}
        let = {k for k, e in after.items() if not e and k not in TOOLS_OWN}
        if after["type"] != errno.EPERM:  # no terminal is there to type into
            let.add("type")
        # that capability reads all; only Landlock says where
        if name == "cgroups" and not landlock:
            let.discard("shadow_read")
        gate.check(f"{name}.before", not any(mine.values()), attempts=len(mine),
                   refused=",".join(k for k, e in mine.items() if e) or "none")
        gate.check(f"{name}.after", not let and not any(after[k] for k in TOOLS_OWN),
                   landlock=int(landlock), let=",".join(sorted(let)) or "none",
                   own_refused=",".join(k for k in TOOLS_OWN if after[k]) or "none")
