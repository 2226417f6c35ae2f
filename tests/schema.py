#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""schema.py FILE...

Validates what iostrata prints as JSON by the schemas in build/schema, which `make schema` makes. A line
names its schema; a line that names none has the schema of the line before it. For each file that is not
valid a line says where and why. Exit status: 0 all are valid, 1 not, 2 usage.
"""
from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any, Callable

# The package python3-fastjsonschema; the first python3 in PATH may be another than the system's.
sys.path.append("/usr/lib/python3/dist-packages")
import fastjsonschema  # noqa: E402  # pylint: disable=wrong-import-position

Json = dict[str, Any]
SCHEMAS = Path(__file__).resolve().parents[1] / "build/schema"
FOR_READERS = ("title", "description", "unit")


class Invalid(Exception):
    """A line has no schema, or is not as its schema says."""


def without_text(part: Any) -> Any:
    """@part without what only people read: every check in the generated code quotes its part of the schema."""
    if isinstance(part, list):
        return [without_text(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {k: without_text(v) for k, v in part.items() if k not in FOR_READERS or isinstance(v, dict)}


@functools.cache
def validator(name: str) -> Callable[[Any], Any]:
    """The validator of schema @name, such as "iostrata.top/1"."""
    file = SCHEMAS / (name.removeprefix("iostrata.").replace("/", "-") + ".json")
    if not name.startswith("iostrata.") or not file.is_file():
        raise Invalid(f"there is no schema {name!r}")
    made: Callable[[Any], Any] = fastjsonschema.compile(without_text(json.loads(file.read_text(encoding="utf-8"))))
    return made


def what_is_wrong(error: Any) -> str:
    """The path of the fault in a line ("data" is the line), and the kind of fault."""
    if error.rule == "required":
        lacking = [name for name in error.rule_definition if name not in error.value]
        return f"{error.name} has no {', '.join(lacking)}"
    if error.rule == "additionalProperties":
        undocumented = [name for name in error.value if name not in error.definition["properties"]]
        return f"{error.name} has {', '.join(undocumented)}, which its schema has not"
    return f"{error.message}, but is {str(error.value)[:300]}"


def check(one: Any, name: str) -> None:
    """Raises Invalid with the path of what is wrong if @one is not as schema @name says."""
    try:
        validator(name)(one)
    except fastjsonschema.JsonSchemaValueException as error:
        raise Invalid(f"{name}: {what_is_wrong(error)}") from None


def without_twins(members: list[tuple[str, Any]]) -> Json:
    """An object that has each of its members once."""
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        raise Invalid(f"there is more than one {next(name for name in names if names.count(name) > 1)}")
    return found


def objects(text: str) -> list[Json]:
    """The objects of @text, one a line. All are valid, else Invalid is raised."""
    found: list[Json] = []
    name = None
    for line in text.splitlines():
        one = json.loads(line, object_pairs_hook=without_twins)
        name = one.get("schema", name) if isinstance(one, dict) else name
        if not isinstance(name, str):
            raise Invalid(f"a line names no schema: {line[:300]}")
        check(one, name)
        found.append(one)
    return found


def main() -> int:
    wrong = 0
    if len(sys.argv) < 2:
        print("usage: schema.py FILE...", file=sys.stderr)
        return 2
    for file in sys.argv[1:]:
        try:
            objects(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError, Invalid) as error:
            print(f"{os.path.basename(file)}: {error}")
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
