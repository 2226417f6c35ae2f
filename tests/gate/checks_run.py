# SPDX-License-Identifier: GPL-2.0-only
"""What a command gets from the tool: nothing that it would not have without."""
from __future__ import annotations

import subprocess
from pathlib import Path

import machine
from harness import Gate, suite
from tool import Trace

LIMITS = "ulimit -S -a; ulimit -H -a; ls /proc/self/fd; umask; cat /proc/self/oom_score_adj"


@suite("run.inherited")
def inherited(gate: Gate) -> None:
    """libbpf raises RLIMIT_MEMLOCK on kernels before 5.11."""
    said = machine.scratch(gate.kept) / "limits"
    alone = subprocess.run(["bash", "-c", LIMITS], capture_output=True, text=True, check=True,
                           stdin=subprocess.DEVNULL).stdout
    with Trace(command=["bash", "-c", f"({LIMITS}) >{said}"]) as trace:
        pass
    differ = set(alone.splitlines()) ^ set(said.read_text(encoding="utf-8").splitlines())
    gate.check("limits", not differ and trace.code == 0, differ="; ".join(sorted(differ)) or "none",
               limits=len(alone.splitlines()))


@suite("run.before-exec")
def before_exec(gate: Gate) -> None:
    """What happens before the command is executed is not counted, of whatever file it is."""
    with Trace("--all-files", "--by", "comm", command=["true"]) as trace:
        pass
    keys = {row["key"] for row in trace.rows()}
    gate.check("comms", keys == {"true"}, comms=",".join(sorted(map(str, keys))),
               operations=trace.total("count"))
