# SPDX-License-Identifier: GPL-2.0-only
"""Runs iostrata. All JSON goes through objects(), which validates each line by its schema; intervals of breakdown and
top also go through invariants.py."""
from __future__ import annotations

import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Iterator

import invariants
from harness import Broken, Gate, Stopwatch, patience

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from schema import Json, objects  # noqa: E402  # pylint: disable=wrong-import-position

ARCH = os.environ.get("IOSTRATA_ARCH")  # for guests of another architecture: see tests/vm/matrix
BUILD = ROOT / "build" / ARCH / "static" if ARCH else ROOT / "build"
BUILT = Path(os.environ.get("IOSTRATA") or BUILD / "iostrata")
START_S, STOP_S = 120, 60
INCOMPLETE, TOOL_FAILED = 5, 125

# Abilities that some kernels lack, and doctor's names for them.
SPECIAL = {"aio": "libaio", "uring": "io_uring", "fault": "page faults", "vfs": "vfs"}
_copied: list[str] = []


def take(directory: Path) -> None:
    """Runs are of a copy: a build meanwhile makes no difference."""
    _copied.append(shutil.copy(BUILT, directory / "iostrata"))


def copy() -> str:
    return _copied[-1]


class Trace:
    """A run of `iostrata breakdown -j`; entered: its probes are live; left: it has ended."""

    tool = "breakdown"

    def __init__(self, *args: str, command: list[str] | None = None) -> None:
        self.args = list(args)
        self.argv = [copy(), self.tool, "-j", *self.args]
        if command:
            self.argv += ["--", *command]
        self.stderr = ""
        self.code = 0
        self.objects: list[Json] = []
        self._begin = 0.0
        self._asked = False  # to end
        self._proc: subprocess.Popen[str] | None = None

    @property
    def proc(self) -> subprocess.Popen[str]:
        assert self._proc
        return self._proc

    def join(self, other: Trace) -> None:
        """Is the run of @other, which is live."""
        self._proc, self.stderr = other.proc, other.stderr

    def launch(self, out: int | IO[str] = subprocess.PIPE) -> "Trace":
        Shared.end()  # else all would be probed twice
        self._begin = time.monotonic()
        self._proc = subprocess.Popen(self.argv, stdout=out, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, text=True, errors="surrogateescape")
        return self

    def wait_live(self) -> "Trace":
        begin = time.monotonic()
        try:
            self._wait_live()
        except BaseException:
            self.kill()
            raise
        Stopwatch.starts += 1
        Stopwatch.of_tool += time.monotonic() - begin
        return self

    def start(self) -> "Trace":
        return self.launch().wait_live()

    def _wait_live(self) -> None:
        assert self.proc.stderr
        begin = time.monotonic()
        fd = self.proc.stderr.fileno()
        seen = b""
        while not any(l.startswith(b"tracing") for l in seen.split(b"\n")[:-1]):
            ready, _, _ = select.select([fd], [], [], START_S)
            late = time.monotonic() - begin > START_S * patience()
            if not ready and not late:
                continue
            more = os.read(fd, 4096) if ready else b""
            if not more:
                waited_s = time.monotonic() - begin
                why = f": exit {self.proc.wait(STOP_S)}" if ready else f" said nothing for {waited_s:.0f} s"
                raise Broken(f"iostrata {' '.join(self.args)}{why} before 'tracing': {seen!r}")
            seen += more
        self.stderr = seen.decode(errors="surrogateescape")

    def kill(self) -> None:
        if self._proc:
            self._proc.kill()
            self._proc.communicate()

    def signal(self, signo: int) -> None:
        """Asks the tool to end, once: a second time would end it at once, without a result. Does nothing if the tool
        ends with its command."""
        if "--" not in self.argv and self.proc.poll() is None and not self._asked:
            self._asked = True
            self.proc.send_signal(signo)

    def end(self, *codes: int) -> str:
        """Ends the run, with 0 or one of @codes as its exit code; returns its output, if this is a pipe."""
        begin = time.monotonic()
        self.signal(signal.SIGINT)
        try:
            out, err = self.proc.communicate(timeout=STOP_S * patience())
        except BaseException:
            self.kill()
            raise
        if "--" not in self.argv:
            Stopwatch.of_tool += time.monotonic() - begin
        self.code = self.proc.returncode
        self.stderr += err
        self.judge(*codes)
        if "this kernel refuses" in self.stderr:
            raise Broken(f"iostrata {' '.join(self.args)}: {self.stderr}")
        return out or ""

    def stop(self) -> "Trace":
        """Ends the tool and reads its output."""
        self.output_parse(self.end())
        return self

    def judge(self, *more: int) -> None:
        """Raises unless the exit code is as expected: 0, one of @more, the command's status, or 5 with --strict."""
        good = {0, *more} | ({INCOMPLETE} if "--strict" in self.args else set())
        if "--" in self.argv and 0 <= self.code < TOOL_FAILED:
            return
        if self.code not in good:
            raise Broken(f"iostrata {' '.join(self.argv[1:])}: exit {self.code}: {self.stderr[-300:]}")

    def output_parse(self, out: str) -> None:
        wall_ns = int((time.monotonic() - self._begin) * 1e9)
        for one in objects(out):
            self.objects.append(one)
            self.look(one, wall_ns)
        if not self.objects:
            raise Broken(f"iostrata {' '.join(self.args)}: exit {self.code}, no JSON: {self.stderr}")

    def look(self, one: Json, wall_ns: int) -> None:
        invariants.look(one, wall_ns, " ".join(self.args))
        compare_missing(self.args, one["missing"])

    def __enter__(self) -> "Trace":
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind:
            self.kill()
        else:
            self.stop()

    # Parts of the run's output.

    @property
    def json(self) -> Json:
        return self.objects[-1]

    def rows(self, what: str = "ops", **match: Any) -> list[Json]:
        """The rows of all intervals whose members are as in @match; with -T syscall, operations are those."""
        if what == "ops" and "syscall" in self.args:
            what = "layers"
        return [row for one in self.objects for row in one[what] or []
                if all(row[k] == v for k, v in match.items())]

    def total(self, member: str, what: str = "ops", **match: Any) -> int:
        return sum(row[member] for row in self.rows(what, **match))

    def strata(self, **match: Any) -> dict[str, int]:
        """The sums of all strata that were measured: a stratum that is null is left out."""
        sums: dict[str, int] = {}
        for row in self.rows("ops", **match):
            for name, ns in row["strata"].items():
                if ns is not None:
                    sums[name] = sums.get(name, 0) + ns
        return sums

    def until_done(self, **match: Any) -> int:
        """The time of operations without the delays of a busy machine: waits for a CPU, and those between the end of a
        request and its thread."""
        spent = self.strata(**match)
        return sum(spent.values()) - sum(spent.get(name, 0) for name in ("complete", "runq", "preempt", "reap"))

    def lost(self) -> dict[str, int]:
        return {k: sum(o["lost"][k] for o in self.objects) for k in self.json["lost"]}

    def lost_here(self) -> int:
        """What was lost, but for what any program of the machine can cause: hits that the kernel refused, and faults
        of processes that were changing their mappings just then."""
        lost = self.lost()
        return sum(lost.values()) - lost["missed"] - lost["unattributed"]


def ask_doctor(*args: str) -> Json:
    """The JSON of `iostrata doctor -j`."""
    done = subprocess.run([copy(), "doctor", "-j", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise Broken(f"iostrata doctor {' '.join(args)}: exit {done.returncode}: {done.stderr[-300:]}")
    return objects(done.stdout)[0]


@functools.cache
def doctor() -> dict[str, bool]:
    """Doctor's finding for each ability of this kernel; doctor is asked once."""
    return {finding["what"]: finding["works"] for finding in ask_doctor()["findings"]}


def is_missing(what: str) -> bool:
    """Whether this kernel cannot tell @what, one of SPECIAL."""
    return not doctor()[SPECIAL[what]]


def compare_missing(args: list[str], missing: list[str]) -> None:
    """A run with @args lacks the abilities that this kernel lacks by doctor. Nothing is compared if @args may be the
    reason."""
    if {"-T", "-d", "--fs", "--file"} & set(args):
        return
    asked = args[args.index("--op") + 1].split(",") if "--op" in args else SPECIAL
    for what in SPECIAL:
        if what in asked and (what in missing) != is_missing(what):
            raise Broken(f"iostrata {' '.join(args)} misses {missing}, but doctor says {doctor()}")


class Top(Trace):
    """A run of `iostrata top -j`: its requests are "rows"."""

    tool = "top"

    def look(self, one: Json, wall_ns: int) -> None:
        invariants.look_at_top(one, wall_ns, " ".join(self.args))


class TopText(Trace):
    """A run of `iostrata top -b`, which traces requests alone: the rows of its tables are lines."""

    tool = "top"

    def __init__(self, *args: str) -> None:
        super().__init__(*args)
        self.argv = [copy(), self.tool, "-b", "-r", "10000", *self.args]
        self.lines: list[Json] = []

    def output_parse(self, out: str) -> None:
        has_via = False
        for line in out.splitlines():
            if "AVGms" in line:
                has_via = line.endswith("VIA")
            fields = line.rsplit(maxsplit=8 if has_via else 7)  # a name may have spaces
            via = fields.pop() if has_via and fields else "-"
            if len(fields) == 8 and fields[2].isdigit() and fields[3].isdigit():
                who, op, _, _, disk, count, kbytes, _ = fields
                self.lines.append({"comm": who.strip().partition(" ")[2].strip(), "op": op, "disk": disk,
                                   "count": int(count), "kbytes": int(kbytes), "via": via})

    def sum_of(self, member: str, **match: Any) -> int:
        return sum(line[member] for line in self.lines
                   if all(line[k] == v for k, v in match.items()))


class Shared:
    """One run that suites with the same options use one after the other, each the intervals in which it
    worked: where the machine is emulated, starting the tool takes seconds."""

    INTERVAL_S, LIMIT_S = "0.3", 60
    live: Shared | None = None

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.file = tempfile.NamedTemporaryFile("r")  # pylint: disable=consider-using-with
        self.rest = ""  # the beginning of a line
        with open(self.file.name, "w", encoding="utf-8") as out:
            trace.launch(out).wait_live()
        Shared.live = self

    @staticmethod
    def end() -> None:
        """Ends the live run, if any, and checks its exit code and last output."""
        run, Shared.live = Shared.live, None
        if run:
            with run.file:
                run.trace.end()
                run.read()

    def read(self) -> bool:
        """Reads new output; returns whether the tool has printed another interval."""
        lines, newline, self.rest = (self.rest + self.file.read()).rpartition("\n")
        if newline:
            self.trace.output_parse(lines)
        return bool(newline)

    def next_interval(self) -> int:
        """Waits until all that has ended is told. How many intervals there were by then."""
        self.read()  # what it has told so far
        for _ in range(2):  # what it tells next may be of an interval that is over
            begin = time.monotonic()
            while not self.read():
                if self.trace.proc.poll() is not None:
                    Shared.end()  # says how, if not with 0
                    raise Broken(f"iostrata {' '.join(self.trace.args)}: exit 0 before it was asked to")
                if time.monotonic() - begin > self.LIMIT_S * patience():
                    raise Broken(f"iostrata {' '.join(self.trace.args)} tells of no more intervals")
                time.sleep(0.02)
        return len(self.trace.objects)


@contextmanager
def shared(gate: Gate, *args: str, kind: type[Trace] = Trace) -> Iterator[Trace]:
    """Gives several suites one run of the tool; natively, each suite has a run of its own. The options must tell the
    suites' I/O apart: processes are chosen by name, since suites start them during the run."""
    if not gate.native or kind is Top:
        args = *args, Shared.INTERVAL_S
    trace = kind(*args)
    if gate.native:
        with trace:
            yield trace
        return
    if not Shared.live or Shared.live.trace.argv != trace.argv:
        Shared(kind(*args))
    run = Shared.live
    assert run
    trace.join(run.trace)
    try:
        before = run.next_interval()
        yield trace
        run.next_interval()
        trace.objects = run.trace.objects[before:]
    except BaseException:
        Shared.live = None
        run.trace.kill()
        raise


class Traces:
    """Several at once: entered, all are live; left, all have ended. By name."""

    def __init__(self, traces: dict[str, Trace]) -> None:
        self.by_name = traces

    def __getitem__(self, name: str) -> Trace:
        return self.by_name[name]

    def __enter__(self) -> "Traces":
        try:
            for trace in self.by_name.values():
                trace.launch()
            for trace in self.by_name.values():
                trace.wait_live()
        except BaseException:
            self.kill()
            raise
        return self

    def kill(self) -> None:
        for trace in self.by_name.values():
            trace.kill()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind:
            self.kill()
            return
        for trace in self.by_name.values():
            trace.signal(signal.SIGINT)
        for trace in self.by_name.values():
            trace.stop()
