#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""options.py IOSTRATA COMMAND...: lists commands and options which the manual, documents or help name, but nobody has.

Looked at are, in the manual and documents below the current directory: "iostrata COMMAND ..." up to the end of the
line or of the words in quotes, whose options must be of that command; "iostrata WORD" in quotes, or behind a prompt,
whose word must be a command; "*--option*" in the manual and "`--option`" in documents, which must be of any command.
Options of other programs are listed below.
"""
import pathlib
import re
import subprocess
import sys

# of setpriv(1), docker and podman, tests/mutate, and Node
OF_OTHERS = {"--inh-caps", "--ambient-caps", "--cap-add", "--security-opt", "--ulimit", "--cgroups", "--unit",
             "--perf-basic-prof", "--interpreted-frames-native-stack"}
OPTION = r"--[a-z][a-z-]*[a-z]|-[A-Za-z](?![\w-])"


def help_of(program, command):
    return subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout


def options(text):
    """The options that a help lists: its lines that begin with one."""
    return {o for line in re.findall(r"^ +(?:-\w, )?--[a-z-]+", text, re.M) for o in re.findall(OPTION, line)}


def uses(text, known):
    """(offset, command, options) of each command line in @text."""
    for m in re.finditer(r"\biostrata (%s)\b([^\n`*|;]*)" % "|".join(known), text):
        line = re.split(r" -- |'(?= |$|[.,)])(?!\S)", m.group(2))[0]
        yield m.start(), m.group(1), re.findall(r"(?<=\s)(%s)(?=[\s=,.)']|$)" % OPTION, line)


def not_commands(text, commands):
    """(offset, word) of each word that stands where a command does, in @text."""
    for m in re.finditer(r"(?:`|\*|^ *[#$] +)(?:sudo )?iostrata ([a-z]+)\b", text, re.M):
        if m.group(1) not in (*commands, "help"):
            yield m.start(), m.group(1)


def main(program, commands):
    helps = {c: help_of(program, c) for c in commands}
    known = {c: options(h) | {"-h", "--help", "-V", "--version"} for c, h in helps.items()}
    everywhere = set().union(*known.values(), OF_OTHERS)
    texts = [(f"iostrata {c} --help", h) for c, h in helps.items()]
    for path in sorted(p for g in ("man/*.scd", "*.md", "docs/**/*.md") for p in pathlib.Path(".").glob(g)):
        texts.append((path, path.read_text(encoding="utf-8")))
    for name, text in texts:
        def line_of(at, name=name, text=text):
            return name if isinstance(name, str) else f"{name}:{text.count(chr(10), 0, at) + 1}"
        for at, command, found in uses(text, known):
            for option in found:
                if option not in known[command]:
                    print(f"{line_of(at)}: iostrata {command} has no {option}")
        for at, word in not_commands(text, commands):
            print(f"{line_of(at)}: there is no command {word}")
        if not isinstance(name, str):
            for m in re.finditer(r"\*(--[a-z][a-z-]+)" if name.suffix == ".scd" else r"`(--[a-z][a-z-]+)", text):
                if m.group(1) not in everywhere:
                    print(f"{line_of(m.start())}: no command has {m.group(1)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
