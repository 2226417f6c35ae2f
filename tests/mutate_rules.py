# SPDX-License-Identifier: GPL-2.0-only
"""Mutants by rule: which there are, and what each is called."""
from __future__ import annotations

import collections
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from mutate_edits import definitions, sources

NEIGHBOURS = (("q", "g"), ("g", "d"), ("d", "c"), ("tag_ns", "queue_ns"), ("queue_ns", "device_ns"),
              ("cpu_ns", "runq_ns"), ("pid", "tid"), ("tgid", "pid"), ("major", "minor"),
              ("offset", "len"), ("count", "errors"), ("total_ns", "max_ns"), ("first", "last"),
              ("from", "to"))
OPERATORS = ((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "),
             (" != ", " == "), (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "),
             (" += ", " -= "), (" |= ", " &= "), ("true", "false"), ("false", "true"))
STATEMENT = re.compile(r"^(\t+)(?!return|break|continue|goto|case|default|else|if|for|while|do\b|struct |enum |"
                       r"union |const |static |unsigned |int |u\d+ |s\d+ |bool |char |long |size_t |uint|"
                       r"barrier|__asm__)(?!\(void\))[*(]*\w[^{}]*;$")
CONDITION = re.compile(r"\b(if|while) \((.*)\)( \{)?$")
SWAP = re.compile(r"(?<![\w.>*&])([\w.>-]+) (-|<<|/) ([\w.>-]+)(?![\w.(\[-])")
NUMBER = re.compile(r"(?<![\w.\"%])(\d+)(?![\w.\"])")
BUFFER = re.compile(r"\t+(static )?(unsigned )?char \w+\[")	# that it is longer nobody notices
HASH = re.compile(r"\bhash\b|HASH_FACTOR|0x[0-9a-f]{16}ULL|\^.* >> ")	# another one is as good
SUMS = (" + ", " - ")
STATUS = re.compile(r"(GLOBAL )?int \w+\(")	# what a program, or a part of one, returns: nobody looks at it
OPTION = re.compile(r"\bCONF\(\w+\)")
TABLE = re.compile(r"^(static )?const .*= \{$")


@dataclass(frozen=True)
class Mutant:
    folder: str
    file: str
    line: int		# from 0
    rule: str
    old: str
    text: str		# the new line
    nth: int = 1	# of lines that are alike

    def name(self) -> str:
        """The mutant's name, which stays the same as long as its line does."""
        return f"{self.file}: {self.rule}: {self.old.strip()} -> {self.text.strip()}" + \
            (f" (#{self.nth})" if self.nth > 1 else "")

    def write(self, tree: Path) -> None:
        path = tree / self.file
        lines = path.read_text(encoding="utf-8").split("\n")
        lines[self.line] = self.text
        path.write_text("\n".join(lines), encoding="utf-8")


def balanced(text: str) -> bool:
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def changes(line: str) -> Iterator[tuple[str, str]]:
    """Rule and new text, for each way to change a line."""
    if STATEMENT.match(line) and balanced(line):
        yield "dropped", re.match(r"\t*", line).group() + ";"  # type: ignore[union-attr]
    found = CONDITION.search(line)
    if found and balanced(found[2]):
        for rule, new in (("negated", f"!({found[2]})"), ("always", f"({found[2]}) || 1")):
            if found[1] == "if" or rule == "negated":
                yield rule, f"{line[:found.start(2)]}{new}{line[found.end(2):]}"
    for old, new in OPERATORS:
        if HASH.search(line) and old in SUMS:
            continue
        for at in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)" if old.isalpha() else re.escape(old), line):
            yield f"{old.strip()} is {new.strip()}", line[:at.start()] + new + line[at.end():]
    for at in OPTION.finditer(line):
        yield "ignored", f"{line[:at.start()]}0{line[at.end():]}"
    for at in SWAP.finditer(line):
        yield "swapped", f"{line[:at.start()]}{at[3]} {at[2]} {at[1]}{line[at.end():]}"
    for at in [] if BUFFER.match(line) or HASH.search(line) else NUMBER.finditer(line):
        yield "one more", f"{line[:at.start()]}{int(at[1]) + 1}{line[at.end():]}"
    for one, other in NEIGHBOURS:
        for a, b in ((one, other), (other, one)):
            for at in re.finditer(rf"(?<=->|[\w)\]]\.){a}\b", line):
                yield "neighbour", line[:at.start()] + b + line[at.end():]


def bodies(text: str) -> Iterator[tuple[int, str, str]]:
    """The lines without a comment of functions and tables: number, line, and how the function begins."""
    inside = comment = False
    head = ""
    for n, line in enumerate(text.split("\n")):
        head = line if line[:1].isalpha() else head
        if line in ("{", "}", "};") or TABLE.match(line):
            inside = line.endswith("{")
        starts, ends = "/*" in line, "*/" in line
        if inside and not (comment or starts or line.endswith("\\") or line.lstrip().startswith("#")):
            yield n, line, head
        comment = (comment or starts) and not ends


def files_of(top: Path, names: tuple[str, ...]) -> list[Path]:
    """Each of @names is a pattern of files, or a function, which stands for the file that it is in."""
    found, all_files = [], sources(top)
    for name in names:
        at = sorted(top.glob(name)) if "/" in name else [
            p for p, text in all_files.items() if name in text
            for d in definitions(text, name) if d.kind == "function"]
        if "/" not in name and len(at) != 1:
            raise SystemExit(f"error: {len(at)} functions are called '{name}'")
        found += at
    return sorted(set(found))


def mutants_of(top: Path, folder: str, names: tuple[str, ...]) -> list[Mutant]:
    found = []
    for path in files_of(top, names):
        file = str(path.relative_to(top))
        seen: collections.Counter[str] = collections.Counter()
        for n, line, head in bodies(path.read_text(encoding="utf-8")):
            seen[line.strip()] += 1
            if line.strip() == "return 0;" and ".bpf." in file and STATUS.match(head):
                continue
            found += [Mutant(folder, file, n, rule, line, new, seen[line.strip()]) for rule, new in changes(line)]
    return found
