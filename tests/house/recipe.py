#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""recipe.py SECTION TREE [LEAVE_OUT]: follows a recipe of docs/ADD.md in a copy of the tree.

The first line of a block of code says where its other lines go: "FILE, the end of NAME", a macro's list or a struct,
or "FILE, the end of the table below HEADING". LEAVE_OUT: a file, or a name in it, whose blocks are not followed.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"^ *```(?:c|md)\n(.*?)\n *```$", re.S | re.M)
WHERE = re.compile(r"(?:/\* )?(\S+), the end of (.*?)(?: \*/)?$")


def at_end(text, name, lines):
    """@text with @lines as the last ones of the macro, struct or table called @name."""
    old = text.split("\n")
    if name.startswith("the table below "):
        at = old.index(name.removeprefix("the table below "))
        at = next(i for i in range(at, len(old)) if old[i].startswith("| "))
        at = next(i for i in range(at, len(old)) if not old[i].startswith("|"))
    elif name.startswith("struct "):
        at = next(i for i in range(old.index(name + " {"), len(old)) if old[i] == "};")
    else:
        at = next(i for i, line in enumerate(old) if line.startswith(f"#define {name}("))
        at = next(i for i in range(at, len(old)) if not old[i].endswith("\\"))
        lines = [line + " \\" for line in lines[:-1]] + lines[-1:]
        old[at] += " \\"
        at += 1
    return "\n".join(old[:at] + lines + old[at:])


def main(section, tree, leave_out=None):
    text = (tree / "docs/ADD.md").read_text()
    recipe = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.S | re.M)[1]
    followed = 0
    for block in BLOCK.findall(recipe):
        first, *lines = [line.strip() for line in block.split("\n")]
        file, name = WHERE.fullmatch(first).groups()
        if leave_out not in (file, name):
            path = tree / file
            path.write_text(at_end(path.read_text(), name, lines))
            followed += 1
    print(followed)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:])
