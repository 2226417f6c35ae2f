#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""words.py: says where comments and texts of src, heads of tests, the manual and documents do not say their noun.

Of the words in comments and in the manual, at most 0.8 % are "that" and 0.2 % "what". No sentence begins with "One
that", "Those that", "What" or "Of", except questions. The head of a test is its first comment. Texts of src, the
manual and documents have no word that the glossary of docs/ARCHITECTURE.md gives up for another, as far as that word
has no other meaning.
"""
import itertools
import pathlib
import re
import sys

from names import COMMENT, split

MOST = {"that": 0.8, "what": 0.2}  # percent
GIVEN_UP = re.compile(r"\b(phases?|kept back)\b")
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*"((?:\\.|[^"\\\n])*)")*')
BEGINS = re.compile(r"(?:^[ \t]*(?:- )?|(?<=[.:;!?]\s))((?:One that|Those that|What|Of)\b[^.?!]*.?)", re.M)


def comments(text):
    """The comments of a C file as prose, with the numbers of their lines."""
    for line, comment in split(text)[1]:
        yield line, re.sub(r"^[ \t]*(/\*+|\*/?|//)[ \t]?|\*/$", "", comment, flags=re.M)


def head(text):
    """The first comment of a script or a C file, without its licence."""
    lines = [line for line in text.split("\n")[:40] if "SPDX" not in line and not line.startswith("#!")]
    if lines and lines[0].startswith("/*"):
        return next((comment for _, comment in comments("\n".join(lines))), "")
    first = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return "\n".join(re.sub(r"^# ?", "", line) for line in first)


def strings(text):
    """The strings of a C file, neighbours joined, with the numbers of their lines."""
    code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group().startswith("/") else m.group(), text)
    for m in STRING.finditer(code):
        joined = re.sub(r'"\s*"', "", m.group())[1:-1]
        if " " in joined:
            yield code.count("\n", 0, m.start()) + 1, joined


def prose(path, group):
    text = path.read_text(encoding="utf-8")
    if group == "heads":
        yield 2, head(text)
    elif group == "texts":
        yield from strings(text)
    elif path.suffix in (".c", ".h"):
        yield from comments(text)
    else:
        yield 1, re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)


def main(root):
    heads = [p for end in ("c", "h", "bats", "bash") for p in root.glob(f"tests/**/*.{end}")]
    texts = [p for p in root.glob("src/**/*.[ch]") if "bpf" not in p.parts]
    groups = {"comments": sorted(root.glob("src/**/*.[ch]")), "texts": sorted(texts), "heads": sorted(heads),
              "manual": sorted(root.glob("man/*.scd")),
              "documents": sorted([*root.glob("docs/**/*.md"), *root.glob("*.md")])}
    for group, paths in groups.items():
        words = []
        for path in paths:
            for line, text in prose(path, group):
                words += re.findall(r"[a-z']+", text.lower())
                if group in ("texts", "manual", "documents") and path.name != "ARCHITECTURE.md":
                    for m in GIVEN_UP.finditer(text):
                        print(f"{path.relative_to(root)}:{line + text.count(chr(10), 0, m.start())}: {m.group()}")
                for m in BEGINS.finditer(text):
                    if not m.group(1).endswith("?"):
                        at = line + text.count("\n", 0, m.start())
                        print(f"{path.relative_to(root)}:{at}: {' '.join(m.group(1).split())[:60]}")
        for word, most in MOST.items():
            share = 100 * words.count(word) / max(len(words), 1)
            if group in ("comments", "manual") and share > most:
                print(f"{group}: {share:.2f} % of the words are \"{word}\"")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
