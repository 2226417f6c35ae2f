# SPDX-License-Identifier: GPL-2.0-only
"""The gate's frame: suites of checks, the line that each check prints, and what must be undone."""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Callable, Iterator, TextIO, Union

Figure = Union[int, float, str]


def patience() -> float:
    """By how much a limit of time is longer here than on an idle machine. Limits only end what hangs, so the load may
    decide nothing. Guests do not see the load of the machine below: tests/vm/matrix tells them."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return max(1.0, load, float(os.environ.get("PATIENCE") or 1))


class Skip(Exception):
    """The machine lacks something that the suite needs; the text names the lacking thing."""


class Broken(Exception):
    """The tool, or a workload, failed in a way that makes all checks void."""


class TooLong(Exception):
    """A suite took longer than it may."""


@dataclass
class Result:
    name: str
    status: str
    figures: dict[str, Figure] = field(default_factory=dict)

    def line(self) -> str:
        shown = "  ".join(f"{k}={show(v)}" for k, v in self.figures.items())
        return f"{self.status:<4}  {self.name:<36}  {shown}".rstrip()


def show(value: Figure) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)


class Gate:
    """Takes the results. `stack` is undone at the end of a suite, `kept` at the end of the run."""

    def __init__(self, only: str | None, native: bool, results: TextIO | None) -> None:
        self.only = re.compile(only) if only else None
        self.native = native
        self.count = {"ok": 0, "FAIL": 0, "skip": 0}
        self.stack = contextlib.ExitStack()
        self.kept = contextlib.ExitStack()
        self.prefix = ""
        self._results = results
        self.held: list[Result] | None = None  # of the suite that runs

    def wants(self, name: str) -> bool:
        return not self.only or bool(self.only.search(name))

    def _add(self, result: Result) -> None:
        if self.held is None:
            self.tell(result)
        else:
            self.held.append(result)

    def tell(self, result: Result) -> None:
        """Counts and prints it."""
        self.count[result.status] += 1
        print(result.line(), flush=True)
        if self._results:
            json.dump(vars(result), self._results)
            self._results.write("\n")
            self._results.flush()

    def check(self, name: str, ok: bool, /, **figures: Figure) -> bool:
        self._add(Result(self.prefix + name, "ok" if ok else "FAIL", figures))
        return ok

    def fail(self, name: str, why: str) -> None:
        self._add(Result(self.prefix + name, "FAIL", {"why": why}))

    def skip(self, name: str, why: str) -> None:
        self._add(Result(self.prefix + name, "skip", {"why": why}))

    def not_native(self, what: str) -> None:
        if self.native:
            raise Skip(f"{what}: the rest of this machine would notice, so not with --native")

    @contextlib.contextmanager
    def guarded(self, name: str, limit_s: int) -> Iterator[None]:
        """An error inside becomes one line of output, and ends the block inside."""
        self.prefix = name + "."
        begin = time.monotonic()

        def on_alarm(_signo: int, _frame: FrameType | None) -> None:
            left = begin + limit_s * patience() - time.monotonic()
            if left <= 0:
                raise TooLong
            signal.setitimer(signal.ITIMER_REAL, left)  # the machine became busy meanwhile

        signal.signal(signal.SIGALRM, on_alarm)
        signal.alarm(limit_s)
        try:
            yield
        except Skip as why:
            self.skip("all", _one_line(str(why)))
        except TooLong as error:
            self.fail("all", f"not done after {time.monotonic() - begin:.0f} s, at {_where(error)}")
        except Exception as error:  # pylint: disable=broad-except
            self.fail("all", f"{type(error).__name__}: {_one_line(str(error))} at {_where(error)}")
        finally:
            signal.alarm(0)


@dataclass
class Suite:
    name: str
    limit_s: int
    run: Callable[[Gate], None]
    parts: list[str] = field(default_factory=list)  # names that --only may mean, too
    always: bool = False


SUITES: list[Suite] = []


def suite(name: str, limit_s: int = 240) -> Callable[[Callable[[Gate], None]], Callable[[Gate], None]]:
    """Registers a function that makes checks. A skip or failure of the whole function has the suite's name."""

    def register(run: Callable[[Gate], None]) -> Callable[[Gate], None]:
        SUITES.append(Suite(name, limit_s, run))
        return run

    return register


def _where(error: BaseException) -> str:
    """The place in the gate that the error came from."""
    here = Path(__file__).parent
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent == here]
    return " ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames[-2:])


def _one_line(text: str) -> str:
    return " / ".join(line.strip() for line in text.strip().splitlines())[:400]


class Stopwatch:
    """Prints the time of each suite on stderr if asked for, and the share spent on starting and ending the tool."""

    shown = False
    starts, of_tool = 0, 0.0  # so far; s

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.before = Stopwatch.starts, Stopwatch.of_tool
        self.start = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if not Stopwatch.shown:
            return
        starts, of_tool = Stopwatch.starts - self.before[0], Stopwatch.of_tool - self.before[1]
        tool = f", {of_tool:.1f} s of it for the tool's {starts} starts and ends" if starts else ""
        print(f"      {time.monotonic() - self.start:6.1f} s  {self.name}{tool}", file=sys.stderr, flush=True)


# A suite that failed on the machine itself is tried again: others use its CPUs, and some hypervisors' kernels lose hits
# of probes that were just attached (CONTRIBUTING.md). Each failure is printed, and so is the number of tries. Guests
# have no such excuse: there, only checks of times are measured once more (tests/vm/matrix).
NATIVE_TRIES = 3


def _worth_another_try(results: list[Result]) -> bool:
    """Figures were off. An error, a crash or a time-out ("why") is never hidden."""
    failed = [r for r in results if r.status == "FAIL"]
    return bool(failed) and not any("why" in r.figures for r in failed)


def run_suite(gate: Gate, todo: Suite) -> list[Result]:
    """The results of the suite, not yet printed."""
    gate.held = []
    with Stopwatch(todo.name), gate.guarded(todo.name, todo.limit_s), gate.stack:
        todo.run(gate)
    results, gate.held = gate.held, None
    return results


def run_suites(gate: Gate) -> None:
    again: list[str] = []
    for todo in SUITES:
        if not todo.always and not any(gate.wants(name) for name in [todo.name, *todo.parts]):
            continue
        results = run_suite(gate, todo)
        for _ in range(NATIVE_TRIES - 1 if gate.native else 0):
            if not _worth_another_try(results):
                break
            for first in (r for r in results if r.status == "FAIL"):
                print(f"      once more: {first.line()}", flush=True)
            again.append(todo.name)
            results = run_suite(gate, todo)
        for result in results:
            gate.tell(result)
    if again:
        print(f"      tried again: {' '.join(again)}", flush=True)
