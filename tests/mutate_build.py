# SPDX-License-Identifier: GPL-2.0-only
"""Builds mutants quickly: only what a changed file is in, and links only the tests that it is in.

All is built once, in build/mutate of a copy of the tree, without debugging information and warnings; then a mutant
costs the objects that its file is in. A change that compiles to the same objects is no mutant.
"""
from __future__ import annotations

import math
import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Iterator

from mutate_rules import Mutant

OUT = "build/mutate"
BPF = {"trace": "src/bpf/trace.bpf.c", "trace_functions": "src/bpf/trace.bpf.c", "func": "src/bpf/func.bpf.c"}
MAKE = ["make", "-s", f"O={OUT}", "OPT=-O1", "CFLAGS=-g0 -w"]
SAN = ["make", "-s", "SAN=1"]
PROGRAMS = "tests/unit/test_programs"	# unit tests that src/bpf is compiled into
LEAST_S = 5		# of CPU that a test may take; else ten times what it takes without a mutant
WALL = 30		# times that, by the clock: other work may have the CPUs
NOBODY = 65534


class NotBuilt(Exception):
    """The compiler, or the linker, refuses it."""


def run(argv: list[str], cwd: Path) -> None:
    done = subprocess.run(argv, cwd=cwd, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise NotBuilt(done.stderr[-2000:])


def _limits(cpu_s: float, memory: int) -> None:
    """A mutant may do anything: what it executes, allocates and writes is limited."""
    for what, most in ((resource.RLIMIT_CPU, math.ceil(cpu_s)), (resource.RLIMIT_DATA, memory),
                       (resource.RLIMIT_FSIZE, 1 << 28), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))	# tests may raise them again


def cpu_of_children() -> float:
    """Seconds of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_fails(argv: list[str], cwd: Path, cpu_s: float, memory: int = 4 << 30) -> str | None:
    """The first failed check of a test program, which is ended then; None if all checks pass."""
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with subprocess.Popen(argv, cwd=cwd, env=os.environ | {"TMPDIR": str(cwd / "tmp")}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                          preexec_fn=lambda: _limits(cpu_s, memory),
                          **as_nobody) as test:  # type: ignore[call-overload]
        try:
            return _wait(test, WALL * cpu_s)
        finally:
            try:
                os.killpg(test.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def _wait(test: subprocess.Popen[bytes], limit_s: float) -> str | None:
    name = Path(str(test.args[0])).name  # type: ignore[index]
    end, seen = time.monotonic() + limit_s, b""
    while True:
        ready, _, _ = select.select([test.stderr], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return f"{name} did not end"
        more = os.read(test.stderr.fileno(), 65536)  # type: ignore[union-attr]
        seen += more
        failed = re.search(rb"LINE   \] --- (\S+?): error|FAILED  \] ([a-z]\w+)", seen)
        if failed:
            return f"{name}: {(failed[1] or failed[2]).decode()}"
        if not more:
            status = test.wait(limit_s)
            if status == -signal.SIGXCPU:
                return f"{name} did not end"
            return f"{name}: exit {status}" if status else None


def copy_tree(top: Path, tree: Path) -> None:
    """With what is built in @top, but for what others make and remove there meanwhile."""
    skip = shutil.ignore_patterns(".git", "gate", "san", "debug", "static", "fuzz", "deb", "test", "__pycache__",
                                  "kept", "bench.*")
    shutil.copytree(top, tree, symlinks=True, dirs_exist_ok=True, ignore=lambda d, names: {
        n for n in skip(d, names) if Path(d) in (top, top / "build") or n in ("__pycache__", "kept")})


class Builder:
    """@tree is a copy, @top is the original, whose objects are kept for the next time."""

    def __init__(self, top: Path, tree: Path) -> None:
        self.top, self.tree = top, tree
        self.seconds: dict[str, float] = {}		# of CPU that each unit test takes
        self.members: dict[str, set[str]] = {}		# objects of the library in each
        self.sanitized: list[str] = []			# the compiler, once it was needed
        self.sound: set[str] = set()			# tests that pass with it
        self._make([*MAKE, f"{OUT}/iostrata"])
        copy_tree(top, tree)
        (tree / "tmp").mkdir()	# what a test that is ended leaves there goes with the tree
        (tree / "tmp").chmod(0o777)
        self.cc, self.libs, self.clang, self.bpftool = (shlex.split(x) for x in self._variables(MAKE))
        self.cc.append('-DOBJECTS_DIR="build/"')
        self.linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
        self.needs = self._needs()

    def _make(self, argv: list[str]) -> None:
        """In the original tree: it is there the next time."""
        jobs = len(os.sched_getaffinity(0))
        subprocess.run([*argv, f"-j{jobs}"], cwd=self.top, check=True, stdout=subprocess.DEVNULL)

    def _variables(self, make: list[str]) -> list[str]:
        show = "--eval=show: ; @echo '$(CC) $(CFLAGS_ALL)' ; echo '$(LIBS)'; echo '$(CLANG) $(BPF_CFLAGS)'; " \
            "echo '$(BPFTOOL)'"
        lines = subprocess.run([*make, show, "show"], cwd=self.tree, check=True, stdout=subprocess.PIPE, text=True)
        return lines.stdout.splitlines()[-4:]

    def _needs(self) -> dict[str, set[str]]:
        """The sources of the program, and what each is made of."""
        needs = {}
        for d in (self.tree / OUT).rglob("*.d"):
            if d.parent.name == "unit":
                continue
            words = d.read_text().replace("\\\n", " ").split("\n")[0].split()
            needs[words[1]] = {os.path.normpath(w) for w in words[1:]}
        return needs

    def object_of(self, source: str) -> str:
        if source.startswith("tests/"):
            return f"{OUT}/unit/{Path(source).stem}.o"
        return f"{OUT}/{source.removeprefix('src/')[:-2]}.o"

    def prepare_tests(self, files: set[str]) -> None:
        """Compiles and measures all unit tests; if @files are all of src/bpf, those that they are in."""
        programs = all(f.startswith("src/bpf/") for f in files)
        for path in sorted(self.top.glob(f"{PROGRAMS}*.c" if programs else "tests/unit/test_*.c")):
            source = str(path.relative_to(self.top))
            obj = self.object_of(source)
            run([*self.compiler(source), "-MM", source, "-o", f"{obj[:-2]}.d"], self.tree)
            words = (self.tree / obj).with_suffix(".d").read_text().replace("\\\n", " ").split()
            self.needs[source] = {os.path.normpath(w) for w in words[1:]}
            if programs and not files & self.needs[source]:
                continue
            run([*self.compiler(source), "-c", source, "-o", obj], self.tree)
            exe, traced = self.link(obj, [], ["-Wl,-t"])
            self.members[source] = self.objects_named(set(re.findall(r"libiostrata\.a\)?\(?([\w.]+\.o)", traced)))
            begin = cpu_of_children()
            why = test_fails([exe], self.tree, 100)
            if why:
                raise SystemExit(f"error: without a mutant, {why} fails")
            self.seconds[source] = cpu_of_children() - begin

    def objects_named(self, names: set[str]) -> set[str]:
        """The library's member objects called @names: an archive knows its members by their names alone."""
        return {self.object_of(s) for s in self.needs if s.startswith("src/") and Path(s).stem + ".o" in names}

    def link(self, main: str, changed: list[str], more: list[str]) -> tuple[str, str]:
        exe = main[:-2]
        done = subprocess.run([*self.cc, *self.linker, *more, main, *changed, f"{OUT}/libiostrata.a", "-lcmocka",
                               *self.libs, "-o", exe], cwd=self.tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if done.returncode:
            raise NotBuilt(done.stdout[-2000:])
        return f"./{exe}", done.stdout

    def sources_of(self, file: str) -> list[str]:
        """The sources to compile again after a change of @file: for a header, only those that name one of its
        functions."""
        users = [s for s, needs in self.needs.items() if file in needs]
        if not file.endswith(".h"):
            return users
        text = (self.top / file).read_text(encoding="utf-8")
        names = set(re.findall(r"^(?:static .*?|#define )?\b(\w+)\(", text, re.M))
        named = re.compile(rf"\b({'|'.join(names)})\b")
        fits = {n: bool(named.search((self.top / n).read_text(encoding="utf-8", errors="replace")))
                for s in users for n in self.needs[s] if n != file and n.startswith(("src/", "tests/"))}
        return [s for s in users if any(fits.get(n) for n in self.needs[s])]

    def compiler(self, source: str) -> list[str]:
        return [self.clang[0], *self.cc[1:], "-O0"] if source.startswith("tests/") else self.cc	# quicker by far

    def compile(self, source: str) -> bool:
        """Whether the object is another one than before; the new one is beside it."""
        obj = self.object_of(source)
        run([*self.compiler(source), "-c", source, "-o", f"{obj}.new"], self.tree)
        return (self.tree / f"{obj}.new").read_bytes() != (self.tree / obj).read_bytes()

    def changed(self, file: str, tests: bool) -> list[str]:
        """The sources of the program, or of @tests, whose objects differ; a mutant of @file is in the tree."""
        return [s for s in self.sources_of(file) if s.startswith("tests/") == tests and self.compile(s)]

    def tests_of(self, changed: list[str]) -> Iterator[tuple[str, set[str]]]:
        """The unit tests that something @changed is in, the quickest first, each with these objects."""
        objects = {self.object_of(s) for s in changed if s.startswith("src/")}
        for test in sorted(self.seconds, key=lambda t: self.seconds[t]):
            if objects & self.members[test] or test in changed:
                yield test, objects & self.members[test]

    def unit_verdict(self, changed: list[str]) -> str | None:
        """The first failed check of a unit test with the @changed objects; None if all pass."""
        for test, inside in self.tests_of(changed):
            main = self.object_of(test)
            exe, _ = self.link(main + (".new" if test in changed else ""), sorted(o + ".new" for o in inside), [])
            why = test_fails([exe], self.tree, max(LEAST_S, 10 * self.seconds[test]))
            if why:
                return why
        return None

    def programs_verdict(self, one: Mutant) -> tuple[bool, str | None]:
        """Whether @one, of src/bpf, which is in the tree, is in any unit test, and what that says of it: built one
        by one, since the first that fails is enough."""
        inside = False
        for test in sorted(self.seconds, key=lambda t: self.seconds[t]):
            if one.file in self.needs[test] and self.compile(test):
                inside = True
                why = self.unit_verdict([test])
                if why:
                    return True, why
        return inside, None

    def sanitized_verdict(self, changed: list[str]) -> str | None:
        """The first failed check with ASan and UBSan, which see leaks, too; None if all pass."""
        lib = str(self.top / "build/san/libiostrata.a")
        if not self.sanitized:
            self.sanitized = [*shlex.split(self._variables([*SAN])[0]), "-g1", "-w", '-DOBJECTS_DIR="build/"']
        for test, _ in self.tests_of(changed):
            exe = self.object_of(test)[:-2] + ".san"
            if test not in self.sound:
                made = f"build/san/unit/{Path(test).stem}"
                self._make([*SAN, made])
                shutil.copy(self.top / made, self.tree / exe)
                why = test_fails([f"./{exe}"], self.tree, 100, resource.RLIM_INFINITY)
                if why:
                    raise SystemExit(f"error: without a mutant, {why} fails under ASan")
                self.sound.add(test)
            sources = [s for s in changed if s.startswith("src/")]
            run([*self.sanitized, test, *sources, lib, "-lcmocka", *self.libs, "-o", exe], self.tree)
            why = test_fails([f"./{exe}"], self.tree, 100, resource.RLIM_INFINITY)
            if why:
                return f"sanitized {why}"
        return None

    def program(self, changed: list[str], to: Path) -> None:
        """The whole program with the changed objects."""
        objects = [f"{self.object_of(s)}.new" for s in changed if s.startswith("src/")]
        mains = [] if f"{OUT}/main.o.new" in objects else [f"{OUT}/main.o"]
        run([*self.cc, *self.linker, *mains, *objects, f"{OUT}/libiostrata.a", *self.libs, "-o", str(to)], self.tree)

    def bpf_changed(self, one: Mutant, names: list[str]) -> list[str]:
        """Compiles the objects of @names that @one, which is in the tree, is in: those that differ."""
        found = []
        for name in names:
            source = BPF[name]
            if one.file not in (self.tree / f"build/{name}.bpf.d").read_text():
                continue
            new = f"build/{name}.new"
            define = ["-DFUNCTIONS"] if name == "trace_functions" else []
            run([*self.clang, *define, "-w", "-c", source, "-o", f"{new}.full"], self.tree)
            run([*self.bpftool, "gen", "object", f"{new}.o", f"{new}.full"], self.tree)
            if self.bare(f"{new}.o") != self.bare(f"build/{name}.bpf.o"):
                found.append(name)
        return found

    def bare(self, obj: str) -> bytes:
        """The bytes of object @obj without BTF, which has the text of each source line."""
        argv = ["llvm-objcopy"] + [f"--remove-section={s}" for s in (".BTF", ".rel.BTF", ".BTF.ext", ".rel.BTF.ext")]
        run([*argv, obj, f"{obj}.bare"], self.tree)
        return (self.tree / f"{obj}.bare").read_bytes()

    def bpf_program(self, changed: list[str], to: Path) -> None:
        for name in BPF:
            made = f"build/{name}.new.o" if name in changed else f"build/{name}.bpf.o"
            run(["zstd", "-qf1", made, "-o", f"build/mutate/{name}.bpf.o.zst"], self.tree)
        source = next(s for s in self.needs if "OBJECTS_DIR" in (self.top / s).read_text(encoding="utf-8"))
        obj = self.object_of(source)
        flags = [f for f in self.cc if "OBJECTS_DIR" not in f]
        run([*flags, f'-DOBJECTS_DIR="{OUT}/"', "-c", source, "-o", f"{obj}.new"], self.tree)
        self.program([source], to)
