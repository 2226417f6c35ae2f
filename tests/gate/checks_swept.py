# SPDX-License-Identifier: GPL-2.0-only
"""A gate that is killed leaves disks, mounts and cgroups; the next one removes them."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import leftovers
import machine
from harness import Gate, suite

HERE = Path(__file__).resolve().parent

# What its command line has makes it a gate's.
KILLED = """
import contextlib, fcntl, os, signal, sys
sys.path.insert(0, sys.argv[1])
import fileio, machine
stack = kept = contextlib.ExitStack()
where = machine.scratch(kept)
machine.setting(stack, sys.argv[2], "changed")
machine.cgroup(stack, "inner")
point = machine.mounted(stack, kept, machine.loop(stack, kept, 16), "ext4")
fcntl.ioctl(os.open(point, os.O_RDONLY), fileio.FIFREEZE, 0)
print(where, os.getpid(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@suite("swept", 60)
def swept(gate: Gate) -> None:
    mine = machine.scratch(gate.kept)
    setting = mine / "setting"
    setting.write_text("as before\n", encoding="ascii")
    killed = subprocess.run([sys.executable, "-c", KILLED, HERE, setting], check=False, text=True,
                            stdout=subprocess.PIPE, timeout=50)
    where, pid = killed.stdout.split()
    scratch = Path(where)

    def left() -> dict[str, int]:
        return {"mounts": len(leftovers.mounts_below(scratch)),
                "loops": len(leftovers.loops_below(scratch)),
                "cgroups": len(leftovers.cgroups_of(pid)), "directories": int(scratch.exists()),
                "settings": int(machine.get(setting) != "as before")}

    before = left()
    found = leftovers.sweep()
    after = left()
    gate.check("killed", all(before.values()), **before)
    gate.check("removed", not any(after.values()) and scratch in found, **after)
    gate.check("mine", mine.exists() and mine not in found, pid=os.getpid())
