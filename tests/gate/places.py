# SPDX-License-Identifier: GPL-2.0-only
"""File systems that several stages share, each made when first asked for, gone after the run."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import machine
import stages
from harness import Gate, Skip
from machine import Disk

SIZE_MIB = {"ext4": 96, "xfs": 320, "btrfs": 144}


@dataclass
class Place:
    disk: Disk
    point: Path
    watched: stages.Watched


_made: dict[str, Place | str] = {}


def _make(gate: Gate, fs: str, below: str) -> Place:
    if fs == "overlay":
        lower = place(gate, "ext4", below)
        return Place(lower.disk, machine.overlay(gate.stack, gate.kept, lower.point), lower.watched)
    if below == "loop":
        disk = machine.loop(gate.stack, gate.kept, SIZE_MIB[fs])
    else:
        disk = machine.null_blk(gate.stack, gate.kept, size=SIZE_MIB[fs], queue_mode=2,
                                memory_backed=1)
    point = machine.mounted(gate.stack, gate.kept, disk, fs)
    return Place(disk, point, stages.watch(gate, f"{below}+{fs}", disk))


def place(gate: Gate, fs: str, below: str = "loop") -> Place:
    """@fs on a disk of kind @below, for the time of the suite; overlayfs on ext4 on that."""
    key = f"{below}+{fs}"
    if key not in _made:
        try:
            _made[key] = _make(gate, fs, below)
        except Skip as why:
            _made[key] = str(why)
        gate.stack.callback(_made.pop, key)
    made = _made[key]
    if isinstance(made, str):
        raise Skip(made)
    return made
