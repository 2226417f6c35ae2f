# SPDX-License-Identifier: GPL-2.0-only
"""Reads recordings, by docs/FORMAT.md alone."""
from __future__ import annotations

import ctypes
import ctypes.util
import functools
import json
import re
import struct
import zlib
from collections import namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

import schema

HEADER, NAMES, OPS, REQUESTS, LOSSES, END, INDEX, HANDLES, SERVER_REQUESTS, MACHINE = range(1, 11)
FORMAT = Path(__file__).resolve().parents[1] / "docs/FORMAT.md"
THREAD, FILE, CGROUP, DEVICE, FS, CONTAINER, TEXT = range(1, 8)
M64 = (1 << 64) - 1
HEAD = struct.Struct("<4sIIIIIQQ")

Row = dict[str, int]
Chunk = namedtuple("Chunk", "kind offset rows first last raw")
_zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
_zstd.ZSTD_decompress.restype = ctypes.c_size_t


class Damaged(Exception):
    """The file is damaged, or no recording."""


@functools.cache
def columns_of(kind: int) -> tuple[str, ...]:
    """The columns of a chunk, from the table below its heading in docs/FORMAT.md."""
    if kind == INDEX:
        return "offset", "kind", "rows", "first", "last"
    if kind == HANDLES:
        return columns_of(OPS)
    names, found = [], False
    for line in FORMAT.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            found = line.startswith("### ") and line.endswith(f"({kind})")
        elif found and line.startswith("| ") and line != "| column | meaning |":
            name, meaning = line.strip("| ").split(" | ", 1)
            names += (meaning.split(":")[0] if name.endswith(" strata") else name).split(", ")
        elif found and names:
            break
    assert len(set(names)) == len(names), names
    return tuple(names)


def strata() -> tuple[str, ...]:
    """The strata by their positions in segments: those of the row "13 strata", then those that tell their position."""
    text = FORMAT.read_text(encoding="utf-8")
    names = re.search(r"^\| 13 strata \| (.*): ns \|$", text, re.M)[1].split(", ")
    later = {int(at): name for name, at in re.findall(r"^\| (\w+) \| the stratum of position (\d+),", text, re.M)}
    assert sorted(later) == list(range(13, 13 + len(later))) and len(names) == 13, (names, later)
    return (*names, *(later[at] for at in sorted(later)))


def numbered(section: str) -> dict[str, int]:
    """The words of the row "kind" below a heading: "0 ring, 1 map_full". More about a word stands in parentheses."""
    text = FORMAT.read_text(encoding="utf-8")
    row = re.search(r"^\| kind \| (.*) \|$", text[text.index(f"\n### {section}"):], re.M)[1]
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", re.sub(r"\([^()]*\)", "", row))}


STRATA = strata()
OP_KINDS = numbered("Operations")
LOST = numbered("Losses")


def unpack(packed: bytes, length: int) -> bytes:
    raw = ctypes.create_string_buffer(length + 1)
    got = _zstd.ZSTD_decompress(raw, ctypes.c_size_t(length), packed, ctypes.c_size_t(len(packed)))
    if got != length:
        raise Damaged("payload")
    return raw.raw[:length]


def varints(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value & M64
            value = shift = 0


def varint(data: bytes, at: int) -> tuple[int, int]:
    end = at
    while data[end] & 0x80:
        end += 1
    return next(varints(data[at:end + 1])), end + 1


def column(code: int, data: bytes, rows: int) -> list[int]:
    if code == 2:
        return [next(varints(data))] * rows
    values = list(varints(data))
    if len(values) != rows:
        raise Damaged("column")
    if code == 1:
        last = 0
        for i, v in enumerate(values):
            last = values[i] = last + (v >> 1 ^ -(v & 1)) & M64
    return values


def columns(kind: int, rows: int, raw: bytes) -> tuple[list[Row], bytes]:
    names, found, text = columns_of(kind), [], b""
    n, at = varint(raw, 0)
    for _ in range(n):
        code, (length, begin) = raw[at], varint(raw, at + 1)
        at = begin + length
        if code == 3:
            text = raw[begin:at]
        else:
            found.append(column(code, raw[begin:at], rows))
    found += [[0] * rows] * (len(names) - len(found))
    return [dict(zip(names, row)) for row in zip(*found[:len(names)])], text


def ordered(row: Row, data: bytes) -> list[tuple[str, int]] | None:
    """The segments of an operation: stratum and ns, in their order; None: not known."""
    left, order = {s: row[s] for s in STRATA}, []
    if not data:
        order = [(s, row[s]) for s in STRATA if row[s]]
        return order if all(s in STRATA[:3] for s, _ in order) else None
    n = data[0]
    numbers = varints(data[1 + n:])
    for byte in data[1:1 + n]:
        stratum = STRATA[byte & 0x7F]
        order.append((stratum, left[stratum] if byte & 0x80 else next(numbers)))
        left[stratum] -= order[-1][1]
    merged = next(numbers) if n == 64 else 0
    wrong = min(left.values()) < 0 or any(left.values()) != bool(merged)
    if not 0 < n <= 64 or next(numbers, None) is not None or wrong:
        raise Damaged("segments")
    return order


def chunks(data: bytes) -> Iterator[Chunk]:
    if data[:8] != b"iostrata" or struct.unpack_from("<I", data, 8) != (1,):
        raise Damaged("no recording")
    at, kind = 16, HEADER
    while at < len(data) and kind != INDEX:
        if len(data) < at + 40:
            raise Damaged("cut off")
        magic, kind, packed, length, rows, crc, first, last = HEAD.unpack_from(data, at)
        if magic != b"CHNK" or zlib.crc32(data[at:at + 20] + bytes(4) + data[at + 24:at + 40]) != crc:
            raise Damaged("head")
        if len(data) < at + 40 + packed:
            raise Damaged("cut off")
        yield Chunk(kind, at, rows, first, last, unpack(data[at + 40:at + 40 + packed], length))
        at += 40 + packed


@dataclass
class Recording:
    header: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    ops: list[Row] = field(default_factory=list)
    orders: list[list[tuple[str, int]] | None] = field(default_factory=list)  # of ops; None: not known
    requests: list[Row] = field(default_factory=list)
    losses: list[Row] = field(default_factory=list)
    handles: list[Row] = field(default_factory=list)
    server_requests: list[Row] = field(default_factory=list)
    machine: list[Row] = field(default_factory=list)  # how busy it was
    index: list[Row] = field(default_factory=list)
    names: dict[tuple[int, int], tuple[Row, bytes]] = field(default_factory=dict)

    def path(self, file: int) -> str:
        row, text = self.names[FILE, file]
        parts = [p for p in text.split(b"\0") if p not in (b"", b"/")]
        return ("/" if row["c"] & 1 else ".../") + b"/".join(reversed(parts)).decode(errors="replace")


def read(path: str | Path) -> Recording:
    data, it = Path(path).read_bytes(), Recording()
    for chunk in chunks(data):
        if chunk.kind == HEADER:
            it.header = json.loads(chunk.raw)
            schema.check(it.header, "iostrata.capture/1")
        elif chunk.kind == END:
            it.end = json.loads(chunk.raw)
            schema.check(it.end, "iostrata.capture/1")
        elif chunk.kind in (NAMES, OPS, REQUESTS, LOSSES, INDEX, HANDLES, SERVER_REQUESTS, MACHINE):
            rows, text = columns(chunk.kind, chunk.rows, chunk.raw)
            if chunk.kind == NAMES:
                at = 0
                for row in rows:
                    it.names[row["type"], row["id"]] = row, text[at:at + row["length"]]
                    at += row["length"]
            else:
                at = 0
                for row in rows if chunk.kind == OPS else []:
                    it.orders.append(ordered(row, text[at:at + row["segments"]]))
                    at += row["segments"]
                {OPS: it.ops, REQUESTS: it.requests, LOSSES: it.losses,
                 HANDLES: it.handles, INDEX: it.index,
                 SERVER_REQUESTS: it.server_requests, MACHINE: it.machine}[chunk.kind].extend(rows)
    return it
