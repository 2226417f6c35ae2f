# SPDX-License-Identifier: GPL-2.0-only
"""The maps of a running tool's BPF programs, read from outside."""
from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import re
import struct
from pathlib import Path
from typing import Any, Callable

from machine import run

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
BPF_MAP_GET_FD_BY_ID, BPF_MAP_LOOKUP_BATCH = 14, 24
TRIES = 20

Json = dict[str, Any]


def _bpf(command: int, attr: bytes) -> int:
    buffer = ctypes.create_string_buffer(attr, 128)  # the kernel writes into it
    done: int = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, command, buffer, len(buffer))
    if done < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return done


def _map_fd(ident: int) -> int:
    return _bpf(BPF_MAP_GET_FD_BY_ID, struct.pack("=I", ident))


def _array(one: Json) -> list[tuple[bytes, bytes]]:
    """All elements at once: as text, 2,000 would take an emulated machine five seconds."""
    n, length = one["max_entries"], one["bytes_value"]
    size = (length + 7) & ~7
    keys, values, last = map(ctypes.create_string_buffer, (4 * n, size * n, 8))
    fd = _map_fd(one["id"])
    try:
        _bpf(BPF_MAP_LOOKUP_BATCH, struct.pack("=QQQQII", 0, *map(ctypes.addressof, (last, keys, values)), n, fd))
    finally:
        os.close(fd)
    key, value = keys.raw, values.raw
    return [(key[i * 4:i * 4 + 4], value[i * size:i * size + length]) for i in range(n)]


def _map_ids(pid: int) -> set[int]:
    ids = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            ids |= {int(i) for i in re.findall(r"^map_id:\s*(\d+)", info.read_text(), re.MULTILINE)}
    return ids


def _bpftool(*args: str) -> Any:
    """The JSON that bpftool prints. bpftool may first complain of a kernel older than itself."""
    text = run("bpftool", "-j", *args) or "[]"
    while True:
        found, end = json.JSONDecoder().raw_decode(text)
        if not isinstance(found, dict) or "error" not in found:
            return found
        text = text[end:].lstrip(", \n")


def listed(kind: str) -> list[Json]:
    """All programs, maps or links ("prog", "map", "link"). bpftool ends with an error if one goes away meanwhile."""
    found: list[Json] = []
    for left in reversed(range(TRIES)):
        try:
            found = _bpftool(kind, "list")
            break
        except RuntimeError:
            if not left:
                raise
    return found


class Maps:
    """The maps of process @pid. Elements are bytes: the kernel's types give the place of each member."""

    def __init__(self, pid: int) -> None:
        ids = _map_ids(pid)
        mine = [m for m in listed("map") if m["id"] in ids]
        self._maps = {m["name"]: m for m in mine if "name" in m}
        self._bss = next(m for name, m in self._maps.items() if name.endswith(".bss"))
        # the .bss itself does not tell; a map of a probe of libbpf has few types, and may go away meanwhile
        raws = []
        for btf in {m["btf_id"] for m in mine if "btf_id" in m}:
            with contextlib.suppress(RuntimeError):
                raws.append(_bpftool("btf", "dump", "id", str(btf), "format", "raw")["types"])
        self._types = {t["id"]: t for t in max(raws, key=len)}

    def has(self, name: str) -> bool:
        return name in self._maps

    def elements(self, name: str) -> list[tuple[bytes, bytes]]:
        def data(values: list[str]) -> bytes:
            return bytes(int(v, 16) for v in values)

        if self._maps[name]["type"] == "array":
            return _array(self._maps[name])
        # of an entry that is deleted meanwhile, bpftool has an error instead of the value
        return [(data(e["key"]), data(e["value"])) for e in _bpftool("map", "dump", "id", str(self._maps[name]["id"]))
                if "error" not in e["value"]]

    def _find(self, matches: Callable[[Json], bool]) -> Json:
        return next(t for t in self._types.values() if matches(t))

    def member(self, struct_name: str, member: str) -> int:
        """The offset of @member in @struct_name, bytes."""
        found = self._find(lambda t: t["kind"] == "STRUCT" and t["name"] == struct_name)
        return next(m["bits_offset"] for m in found["members"] if m["name"] == member) // 8

    def variable(self, name: str) -> list[bytes]:
        """The elements of an array that is no map of its own."""
        var = self._find(lambda t: t["kind"] == "VAR" and t["name"] == name)
        where = next(v for v in self._find(lambda t: t["name"] == ".bss")["vars"]
                     if v["type_id"] == var["id"])
        n = self._types[var["type_id"]]["nr_elems"]
        size = where["size"] // n
        fd = _map_fd(self._bss["id"])
        try:
            page = mmap.PAGESIZE
            length = (self._bss["bytes_value"] + page - 1) // page * page
            with mmap.mmap(fd, length, prot=mmap.PROT_READ) as memory:
                data = memory[where["offset"]:where["offset"] + where["size"]]
        finally:
            os.close(fd)
        return [data[i * size:(i + 1) * size] for i in range(n)]


def number(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset:offset + size], "little")
