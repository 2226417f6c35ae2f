# SPDX-License-Identifier: GPL-2.0-only
"""A gate that is killed leaves disks, mounts and cgroups; the next one removes them."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import leftovers
import machine
from harness import Gate, patience, suite

HERE = Path(__file__).resolve().parent

# This process makes disks, mounts and settings as a gate does, and then kills itself. Its command line makes it a
# gate's.
KILLED = """
import contextlib, fcntl, os, signal, sys
sys.path.insert(0, sys.argv[1])
import fileio, harness, machine
stack = kept = contextlib.ExitStack()
where = machine.scratch(kept)
machine.setting(stack, sys.argv[2], "changed")
machine.cgroup(stack, "inner")
point = machine.mounted(stack, kept, machine.loop(stack, kept, 16), "ext4")
fcntl.ioctl(os.open(point, os.O_RDONLY), fileio.FIFREEZE, 0)
paths = []
for make in (lambda: machine.zram(stack, kept, 16).sys, lambda: machine.null_blk(stack, kept).sys,
             lambda: machine.need_module(stack, "scsi_debug") or "/sys/module/scsi_debug"):
    with contextlib.suppress(harness.Skip):
        paths.append(make())
machine._scratch_remove(where)  # what is mounted there keeps it
print(where, os.getpid(), *paths, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@suite("swept", 60)
def swept(gate: Gate) -> None:
    mine = machine.scratch(gate.kept)
    setting = mine / "setting"
    setting.write_text("as before\n", encoding="ascii")
    killed = subprocess.run([sys.executable, "-c", KILLED, HERE, setting], check=False, text=True,
                            stdout=subprocess.PIPE, timeout=50 * patience())
    where, pid, *paths = killed.stdout.split()
    scratch = Path(where)
    boot = (scratch / "pid").read_text(encoding="ascii").split()[1]

    def left() -> dict[str, int]:
        return {"mounts": len(leftovers.mounts_below(scratch)),
                "loops": len(leftovers.loops_below(scratch)),
                "cgroups": len(leftovers.cgroups_of(pid)), "directories": int(scratch.exists()),
                "settings": int(machine.get(setting) != "as before"),
                "disks-and-modules": sum(os.path.exists(path) for path in paths)}

    before = left()
    found = leftovers.sweep()
    after = left()
    other = mine.parent / f"iostrata-gate.{os.getpid()}"  # below a guest, or before a boot
    other.mkdir()
    (other / "pid").write_text(f"{pid} another-{boot}\n", encoding="ascii")
    (other / "undo.0").write_text(f"{setting}\nwrong", encoding="ascii")
    gate.check("killed", all(before.values()), **before)
    gate.check("removed", not any(after.values()) and scratch in found, **after)
    gate.check("other-boot", other not in leftovers.sweep() and not other.exists() and
               machine.get(setting) == "as before", setting=machine.get(setting))
    gate.check("mine", mine.exists() and mine not in found, pid=os.getpid())
