#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""words.py: says where comments, texts of src, the manual and documents do not say their noun.

At most 0.8 % of the words in comments of src and in the manual are "that", and at most 0.2 % are "what". No sentence
begins with "One that", "Those that", "What" or "Of", except questions. This holds for all comments and docstrings of
src, of tests and of the Makefile, too. Texts of src, the manual and documents have no word that the glossary of
docs/ARCHITECTURE.md gives up for another, as far as that word has no other meaning.
"""
import ast
import io
import pathlib
import re
import sys
import tokenize

from names import COMMENT, split, tree

LIKE_C = (".c", ".h", ".js", ".mjs", ".css")  # as to comments
MOST = {"that": 0.8, "what": 0.2}  # percent
GIVEN_UP = re.compile(r"\b(phases?|kept back)\b")
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*"((?:\\.|[^"\\\n])*)")*')
BEGINS = re.compile(r"(?:^[ \t]*(?:- )?|(?<=[.:;!?]\s))((?:One that|Those that|What|Of)\b[^.?!]*.?)", re.M)


def comments(text):
    """The comments of a C file, or of one like it, as prose, with the numbers of their lines."""
    for line, comment in split(text)[1]:
        yield line, re.sub(r"^[ \t]*(/\*+|\*/?|//)[ \t]?|\*/$", "", comment, flags=re.M)


def blocks(found):
    """Comments of one line each, (line, text), as prose: those in neighbouring lines are one comment."""
    begin, lines = 0, []
    for line, text in [*found, (None, "")]:
        if lines and line != begin + len(lines):
            yield begin, "\n".join(lines)
            lines = []
        begin = begin if lines else line
        lines.append(text)


def comments_of_python(text):
    """The comments and docstrings of a Python file as prose, with the numbers of their lines."""
    found = [(t.start[0], t.string.lstrip("# "), t.line.strip() == t.string)
             for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    yield from blocks((line, comment) for line, comment, is_alone in found if is_alone)
    yield from ((line, comment) for line, comment, is_alone in found if not is_alone)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, node.body[0].value.value


def comments_of_script(text):
    """The comments of a script that begin with #, as prose, with the numbers of their lines."""
    lines = [(i, re.match(r"(.*?)(?:^|\s)#+(?:\s+(.*))?$", line)) for i, line in enumerate(text.split("\n"), 1)]
    yield from blocks((i, m[2] or "") for i, m in lines if m and not m[1].strip())
    yield from ((i, m[2]) for i, m in lines if m and m[1].strip() and m[2])


def strings(text):
    """The strings of a C file, neighbours joined, with the numbers of their lines."""
    code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group().startswith("/") else m.group(), text)
    for m in STRING.finditer(code):
        joined = re.sub(r'"\s*"', "", m.group())[1:-1]
        if " " in joined:
            yield code.count("\n", 0, m.start()) + 1, joined


def prose(path, group):
    text = path.read_text(encoding="utf-8")
    if group == "texts":
        yield from strings(text)
    elif path.suffix in LIKE_C:
        yield from comments(text)
    elif group == "others":
        is_python = path.suffix == ".py" or re.match(r"#!.*python", text)
        yield from (comments_of_python if is_python else comments_of_script)(text)
    else:
        yield 1, re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)


def main(root):
    files = [root / n for n in tree(root) if re.match(r"(src|tests|\.ci)/|Makefile$", n)]
    ours = [p for p in files if p.suffix in LIKE_C and p.is_relative_to(root / "src")]
    others = [p for p in files if p not in ours and p.suffix not in (".html", ".json", ".png")]
    texts = [p for p in root.glob("src/**/*.[ch]") if "bpf" not in p.parts]
    groups = {"comments": sorted(ours), "texts": sorted(texts), "others": sorted(others),
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
