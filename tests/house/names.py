#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""names.py: lists functions and files named in comments, the manual and documents, but not found in the tree.

A function is written `name()`, and exists if its name is in the code of src or tests, or in vmlinux.h. A file is
written with a folder (`base/text.h`), or in backquotes; it may be named without the folder above. A name that begins
with a folder of the tree (`tests/vm/boot`) may be of any kind, a folder or a glob, too. Names of the kernel and of
libraries are listed, with their origin, in tests/house/names-elsewhere.
"""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\(\)")
FILE = re.compile(r"(?<![\w/.<-])((?:[\w.-]+/)+[\w.-]*\w\.(?:bpf\.)?(?:c|h|md|py|bats|txt|json))\b|"
                  r"`([\w.-]*\w\.(?:bpf\.)?(?:c|h|md|py|bats|txt|json))`|"
                  r"(?<![\w/.<-])(\w+(?:\.bpf)?\.[ch])\b")
PLACE = re.compile(r"(?<![\w/.<-])((?:completion|debian|docs|grafana|man|prometheus|src|systemd|tests)/[\w./*-]*[\w*])")
SCRIPT = re.compile(r"(^|/)Makefile$|\.(py|bats|bash|js|service)$")


def tree(root):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"],
                            cwd=root, capture_output=True, text=True)
    names = listed.stdout.split() if not listed.returncode else \
        [str(p.relative_to(root)) for p in root.rglob("*") if "build" not in p.parts]
    return [n for n in names if (root / n).is_file()]


def split(text):
    """The code of a C file, and its comments with the numbers of their lines."""
    comments = [(text.count("\n", 0, m.start()) + 1, m.group()) for m in COMMENT.finditer(text)
                if m.group().startswith("/")]
    return COMMENT.sub(lambda m: " " if m.group().startswith("/") else m.group(), text), comments


def pieces_of(name, text):
    """The prose of a file, with the numbers of its lines; and its code."""
    lines = list(enumerate(text.split("\n"), 1))
    if name.endswith((".md", ".scd")):
        return lines, ""
    if name.endswith((".c", ".h")):
        code, comments = split(text)
        return comments, text if name.endswith("vmlinux.h") else code
    if SCRIPT.search(name):
        return [(i, line) for i, line in lines if re.match(r"\s*(#|//|/?\*)", line)], text
    return [], text


def is_there(root, path):
    return (root / path).exists() or any(root.glob(path))


def main(root):
    files, words, texts = tree(root), set(), []
    for name in files:
        if not re.match(r"(src|tests|docs|man|systemd)/|[^/]*\.md$|Makefile$", name):
            continue
        pieces, code = pieces_of(name, (root / name).read_text(errors="replace"))
        texts.append((name, pieces))
        if re.match(r"(src|tests)/", name) and name != "tests/house/names-elsewhere":
            words.update(re.findall(r"\w+", code))
    elsewhere = set()
    for line in (root / "tests/house/names-elsewhere").read_text().split("\n"):
        elsewhere.update(line.split("#")[0].split())
    used, ends = set(), {"/".join(f.split("/")[i:]) for f in files for i in range(f.count("/") + 1)}
    for name, pieces in texts:
        for line, text in pieces:
            named = [(m, m.group(1) in words, m.group(1) + "()") for m in FUNCTION.finditer(text)]
            for m in FILE.finditer(text):
                path = next(g for g in m.groups() if g)
                named.append((m, path in ends, path))
            for m in PLACE.finditer(FILE.sub(lambda m: " " * len(m.group()), text)):
                named.append((m, is_there(root, m.group()) or m.group() in ends, m.group()))
            for m, there, what in named:
                if what in elsewhere and not there:
                    used.add(what)
                elif not there and not what.startswith("build/"):
                    print(f"{name}:{line + text.count(chr(10), 0, m.start())}: there is no {what}")
    for what in sorted(elsewhere - used):
        print(f"tests/house/names-elsewhere: nothing names {what}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
