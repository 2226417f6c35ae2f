# SPDX-License-Identifier: GPL-2.0-only
"""Edits of C sources, each by the name of a definition, an operation and words.

An edit quotes no path and no line, so it survives moves, merges of files and reformatting. A definition is a function,
a table, a macro or an enumerator, in any file under src. Its pieces are: statements; the parentheses of an if, while,
switch or for; elements of a table; the innermost parentheses of a macro. The words of a piece are its tokens, and those
of a case label before it. An edit changes every piece with all the words of the edit. An edit does not fit if it
changes no definition of its name, or more than one.
"""
from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

TOKEN = re.compile(r"""(?P<skip> \s+ | \\\n | /\*.*?\*/ | //[^\n]* )
    | (?P<macro> ^[ \t]*\#(?:\\\n|[^\n])* )
    | (?P<word> "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \w+ )
    | (?P<mark> \.\.\. | (?:<<|>>|[-+*/%&|^!=<>])= | -> | \+\+ | -- | && | \|\| | << | >> | . )""", re.X | re.S | re.M)
CLOSES = {"(": ")", "[": "]", "{": "}"}
HEADS = {"if", "while", "switch", "for"}
CONDITIONS = {"if", "while", "likely", "unlikely"}	# a condition is in the parentheses after them
ASSIGNS = {"=", "+=", "-=", "|=", "&=", "^=", "<<=", ">>="}


class Misfit(Exception):
    """An edit changes no definition of its name, or several."""


@dataclass(frozen=True)
class Token:
    text: str
    at: int
    is_word: bool = False

    @property
    def end(self) -> int:
        return self.at + len(self.text)


@dataclass(frozen=True)
class Piece:
    tokens: list[Token]
    label: list[Token]
    is_statement: bool = False

    def has(self, words: tuple[str, ...]) -> bool:
        return set(words) <= {t.text for t in self.label + self.tokens}


Change = tuple[int, int, str]	# from, to, instead
Operation = Callable[["Definition"], list[Change]]


@dataclass(frozen=True)
class Edit:
    """@do gives the changes of a definition called @name."""
    name: str
    do: Operation
    says: str


@functools.lru_cache(maxsize=None)
def scan(text: str, at: int = 0) -> list[Token]:
    """The tokens of @text, without comments; a directive of the preprocessor is one of them."""
    found = []
    for m in TOKEN.finditer(text):
        if m.lastgroup != "skip":
            found.append(Token(m[0], at + m.start(), m.lastgroup == "word"))
    return found


def closing(tokens: list[Token], at: int) -> int:
    """Where the bracket at @at is closed."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in CLOSES) - (tokens[i].text in CLOSES.values())
        if not depth:
            return i
    raise Misfit(f"'{tokens[at].text}' at {tokens[at].at} is not closed")


def opening(tokens: list[Token], at: int) -> int:
    """Where the bracket at @at was opened."""
    depth = 0
    for i in range(at, -1, -1):
        depth += (tokens[i].text in CLOSES.values()) - (tokens[i].text in CLOSES)
        if not depth:
            return i
    raise Misfit(f"'{tokens[at].text}' at {tokens[at].at} was not opened")


def statements(tokens: list[Token]) -> Iterator[Piece]:
    """The pieces of a function's body, without its braces."""
    at, label = 0, 0	# @label: where the labels before a statement begin
    while at < len(tokens):
        word, begin = tokens[at].text, at
        if word in ("case", "default"):
            while tokens[at].text != ":":
                at += 1
            at += 1
            continue
        if tokens[at].is_word and tokens[at + 1].text == ":":	# for goto
            at += 2
            continue
        if word in ("{", "}", "else", "do"):
            at, label = at + 1, at + 1
            continue
        if tokens[at].is_word and at + 1 < len(tokens) and tokens[at + 1].text == "(":
            end = closing(tokens, at + 1)
            if word in HEADS or tokens[min(end + 1, len(tokens) - 1)].text == "{":
                yield Piece(tokens[at + 2:end], tokens[label:at])
                at, label = end + 1, end + 1
                continue
        while tokens[at].text != ";":
            at = closing(tokens, at) + 1 if tokens[at].text in CLOSES else at + 1
        yield Piece(tokens[begin:at + 1], tokens[label:begin], True)
        at, label = at + 1, at + 1


def elements(tokens: list[Token]) -> Iterator[Piece]:
    """The elements of a table, or the arguments of a call."""
    at = begin = 0
    while at < len(tokens):
        if tokens[at].text == ",":
            yield Piece(tokens[begin:at], [])
            begin = at + 1
        at = closing(tokens, at) + 1 if tokens[at].text in CLOSES else at + 1
    if begin < len(tokens):
        yield Piece(tokens[begin:], [])


def groups(tokens: list[Token]) -> Iterator[Piece]:
    """The innermost parentheses of a macro."""
    for at, token in enumerate(tokens):
        if token.text == "(":
            inside = tokens[at + 1:closing(tokens, at)]
            if "(" not in [t.text for t in inside]:
                yield Piece(inside, [])


@dataclass(frozen=True)
class Definition:
    """@kind: "function", "table", "macro" or "constant". @tokens: the body without braces; a constant's value."""
    kind: str
    tokens: list[Token]

    def pieces(self, words: tuple[str, ...]) -> list[Piece]:
        """The pieces with all of @words."""
        divide = {"function": statements, "macro": groups}.get(self.kind, elements)
        return [p for p in divide(self.tokens) if p.has(words)]

    def everything(self) -> tuple[int, int]:
        return self.tokens[0].at, self.tokens[-1].end


@dataclass(frozen=True)
class Block:
    """A #define, or braces at the top level of a file. @head: the tokens before them."""
    head: list[str]
    body: list[Token]


@functools.lru_cache(maxsize=None)
def blocks(text: str) -> list[Block]:
    found, tokens = [], []
    for token in scan(text):
        if not token.text.lstrip().startswith("#"):
            tokens.append(token)
        elif defined := re.match(r"\s*#\s*define\s+(\w+)", token.text):
            found.append(Block(["#", defined[1]], scan(token.text[defined.end():], token.at + defined.end())))
    at = begin = 0
    while at < len(tokens):
        here = tokens[at].text
        if here == "{":
            end = closing(tokens, at)
            found.append(Block([t.text for t in tokens[begin:at]], tokens[at + 1:end]))
            at = end
        at += 1
        if here in ("{", ";"):
            begin = at
    return found


def definitions(text: str, name: str) -> Iterator[Definition]:
    """The definitions of @name in a file."""
    for block in blocks(text):
        head, body = block.head, block.body
        if head == ["#", name]:
            yield Definition("macro", body)
        elif "enum" in head and "(" not in head:
            for piece in elements(body):
                if len(piece.tokens) > 2 and [t.text for t in piece.tokens[:2]] == [name, "="]:
                    yield Definition("constant", piece.tokens[2:])
        elif name in head[:-1] and body:
            after = {head[i + 1] for i, text in enumerate(head[:-1]) if text == name}
            if head[-1] == "=" and {"[", "="} & after:
                yield Definition("table", body)
            elif "(" in after or re.search(rf"\b[A-Z_]+ \( {name} [,)]", " ".join(head)):	# BPF_PROG(on_x, ...)
                yield Definition("function", body)


# The operations.

def _pieces_edit(name: str, words: tuple[str, ...], change: Callable[[Piece], list[Change]], says: str) -> Edit:
    return Edit(name, lambda d: [c for piece in d.pieces(words) for c in change(piece)],
                f"{says} {' '.join(words)}".strip())


def returns(name: str, value: str) -> Edit:
    """The function only returns @value."""
    return Edit(name, lambda d: [(*d.everything(), f"return {value};")] * (d.kind == "function"), f"returns {value}")


def constant(name: str, value: str) -> Edit:
    """The enumerator is @value."""
    return Edit(name, lambda d: [(*d.everything(), value)] * (d.kind == "constant"), f"constant {value}")


def drop(name: str, *words: str) -> Edit:
    """Statements with all of @words are dropped."""
    return _pieces_edit(name, words, lambda p: [(p.tokens[0].at, p.tokens[-1].end, ";")] * p.is_statement, "drop")


def word(name: str, old: str, new: str, *words: str) -> Edit:
    """@old is @new in pieces with all of @words."""
    return _pieces_edit(name, (old, *words), lambda p: [(t.at, t.end, new) for t in p.tokens if t.text == old],
                        f"word {new} for")


def swap(name: str, one: str, other: str, *words: str) -> Edit:
    """@one is @other, and the other way round, in pieces with all of @words."""
    pair = {one: other, other: one}
    return _pieces_edit(name, words, lambda p: [(t.at, t.end, pair[t.text]) for t in p.tokens if t.text in pair],
                        f"swap {one} {other}")


def sets(name: str, target: str, value: str, *words: str) -> Edit:
    """@value is assigned to @target (a variable, a member, an array's element) in pieces with all of @words."""
    def change(piece: Piece) -> list[Change]:
        tokens, found = piece.tokens, []
        for at, token in enumerate(tokens):
            left = at - 1
            if token.text in ASSIGNS and left >= 0 and tokens[left].text == "]":
                left = opening(tokens, left) - 1
            if token.text in ASSIGNS and left >= 0 and tokens[left].text == target:
                end = at + 1
                while end < len(tokens) and tokens[end].text not in (",", ";", ")", "}"):
                    end = closing(tokens, end) + 1 if tokens[end].text in CLOSES else end + 1
                found.append((tokens[at + 1].at, tokens[end - 1].end, value))
        return found
    return _pieces_edit(name, (target, *words), change, f"sets to {value}")


def argument(name: str, callee: str, nth: int, value: str, *words: str) -> Edit:
    """Argument @nth (1 is the first) of calls of @callee is @value in pieces with all of @words."""
    def change(piece: Piece) -> list[Change]:
        found = []
        for at, token in enumerate(piece.tokens[:-1]):
            if token.text == callee and piece.tokens[at + 1].text == "(":
                given = list(elements(piece.tokens[at + 2:closing(piece.tokens, at + 1)]))
                if nth <= len(given):
                    found.append((given[nth - 1].tokens[0].at, given[nth - 1].tokens[-1].end, value))
        return found
    return _pieces_edit(name, (callee, *words), change, f"argument {nth} {value} of")


def always(name: str, *words: str) -> Edit:
    """The smallest part of a condition that has all of @words is true."""
    return _condition_edit(name, words, "1", "always")


def never(name: str, *words: str) -> Edit:
    """The smallest part of a condition that has all of @words is false."""
    return _condition_edit(name, words, "0", "never")


def negate(name: str, *words: str) -> Edit:
    """The smallest part of a condition that has all of @words is true where it was false."""
    return _condition_edit(name, words, None, "negate")


def _condition_edit(name: str, words: tuple[str, ...], value: str | None, says: str) -> Edit:
    def change(piece: Piece) -> list[Change]:
        found: list[Change] = []
        for begin, end in sorted({part for at in range(len(piece.tokens)) if piece.tokens[at].text == words[0]
                                  for part in _part_of_condition(piece, at)}):
            first, last = piece.tokens[begin].at, piece.tokens[end - 1].end
            if set(words) <= {t.text for t in piece.tokens[begin:end]}:
                found += [(first, last, value)] if value else [(first, first, "!("), (last, last, ")")]
        return found
    return _pieces_edit(name, words, change, says)


def _part_of_condition(piece: Piece, at: int) -> Iterator[tuple[int, int]]:
    """The smallest part of a condition around token @at, if there is one: from, to."""
    tokens = piece.tokens
    around: tuple[int, int] | None = (at, at + 1)
    while around:
        begin, end = _widened(tokens, *around)
        before = tokens[begin - 1].text if begin else ""
        after = tokens[end].text if end < len(tokens) else ""
        is_whole = not before and not after and not piece.is_statement
        is_between = before in ("&&", "||") or after in ("&&", "||", "?") or before == after == ";"	# of a for
        if is_whole or is_between or (before == "(" and begin > 1 and tokens[begin - 2].text in CONDITIONS):
            yield begin, end
            return
        around = _brackets_around(tokens, begin)


def _widened(tokens: list[Token], begin: int, end: int) -> tuple[int, int]:
    """As far as an operand of && can reach from there within the same brackets."""
    stops = {"&&", "||", "?", ":", ",", ";", "return"} | ASSIGNS
    while begin and tokens[begin - 1].text not in stops | set(CLOSES):
        begin = opening(tokens, begin - 1) if tokens[begin - 1].text in CLOSES.values() else begin - 1
    while end < len(tokens) and tokens[end].text not in stops | set(CLOSES.values()):
        end = closing(tokens, end) + 1 if tokens[end].text in CLOSES else end + 1
    return begin, end


def _brackets_around(tokens: list[Token], at: int) -> tuple[int, int] | None:
    """The innermost brackets around @at: from, to."""
    while at:
        at -= 1
        if tokens[at].text in CLOSES:
            return at, closing(tokens, at) + 1
        if tokens[at].text in CLOSES.values():
            at = opening(tokens, at)
    return None


# Applying edits to sources.

def applied(text: str, changes: list[Change]) -> str:
    for begin, end, new in sorted(changes, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def sources(tree: Path) -> dict[Path, str]:
    return {p: p.read_text(encoding="utf-8") for p in sorted((tree / "src").rglob("*.[ch]"))}


def apply(files: dict[Path, str], edits: list[Edit]) -> dict[Path, str]:
    """Applies @edits, one after the other. Returns the files of @files with a change, and their new text."""
    changed: dict[Path, str] = {}
    for edit in edits:
        found = []
        for path, text in (files | changed).items():
            if edit.name in text:	# before all of it is scanned
                new = [applied(text, c) for d in definitions(text, edit.name) if (c := edit.do(d))]
                found += [(path, n) for n in new if n != text]
        if len(found) != 1:
            raise Misfit(f"{edit.name}: {edit.says}: fits {len(found)} definitions")
        changed[found[0][0]] = found[0][1]
    return changed
