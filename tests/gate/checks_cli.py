# SPDX-License-Identifier: GPL-2.0-only
"""The tests of the command line where functions can be probed: on this machine make cli has them."""
from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import machine
import tool
from harness import Gate, suite
from places import place
from tool import ROOT

LINE = re.compile(r"(not ok|ok) \d+ (.*?)(?: # skip (.*))?$", re.MULTILINE)


def run_bats(file: Path, gate: Gate) -> None:
    if gate.native:
        return  # make cli
    files = ROOT / "build/test/tmp"  # where the tests make them: a guest's root is in memory
    files.mkdir(parents=True, exist_ok=True)
    machine.run("mount", "--bind", str(place(gate, "ext4").point), str(files))
    gate.stack.callback(machine.unmount, files)
    run = subprocess.run(["bats", "--tap", str(file)], cwd=ROOT, text=True, check=False,
                         env={**os.environ, "IOSTRATA": tool.copy(), "BATS_TEST_TIMEOUT": "900"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = LINE.findall(run.stdout)
    for status, name, skipped in found:
        short = re.sub(r"\W+", "-", name).strip("-").lower()
        if skipped:
            gate.skip(short, skipped)
        else:
            gate.check(short, status == "ok")
    planned = re.match(r"1\.\.(\d+)", run.stdout)
    gate.check("planned", planned and int(planned[1]) == len(found), ran=len(found), exit=run.returncode,
               **({"said": " ".join(run.stdout[-2000:].split())} if run.returncode else {}))


for path in sorted(ROOT.glob("tests/cli/*.bats")):
    suite(f"cli.{path.stem}", 1800)(functools.partial(run_bats, path))
