#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""engine.py duckdb|clickhouse SQL...: runs statements of SQL, which tests/engines has fetched.

Each argument is a statement; "-" reads statements from the standard input, each ended by a ";" at the
end of a line. Rows are printed with a tab between columns, NULL as \\N. Exit status: 0, 1 and the
engine's message if a statement fails, 3 if the engine is not there.
"""
from __future__ import annotations

import ctypes
import glob
import os
import sys
from typing import Callable

FETCHED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "engines")


class Failed(Exception):
    pass


def library(pattern: str) -> ctypes.CDLL:
    found = glob.glob(os.path.join(FETCHED, pattern))
    if not found:
        print("engine.py: not fetched; see tests/engines", file=sys.stderr)
        sys.exit(3)
    return ctypes.CDLL(found[0])


class DuckResult(ctypes.Structure):
    _fields_ = [("deprecated", ctypes.c_uint64 * 3), ("more", ctypes.c_void_p * 2), ("data", ctypes.c_void_p)]


def duckdb() -> Callable[[str], str]:
    lib = library("duckdb/node_modules/@duckdb/node-bindings-linux-*/libduckdb.so")
    lib.duckdb_value_varchar.restype = ctypes.c_void_p
    lib.duckdb_value_varchar.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
    lib.duckdb_result_error.restype = ctypes.c_char_p
    lib.duckdb_row_count.restype = lib.duckdb_column_count.restype = ctypes.c_uint64
    lib.duckdb_free.argtypes = [ctypes.c_void_p]
    database, connection = ctypes.c_void_p(), ctypes.c_void_p()
    if lib.duckdb_open(None, ctypes.byref(database)) or lib.duckdb_connect(database, ctypes.byref(connection)):
        raise Failed("cannot open a database")

    def cell(result: DuckResult, column: int, row: int) -> str:
        text = lib.duckdb_value_varchar(ctypes.byref(result), column, row)
        if not text:
            return "\\N"
        value = ctypes.string_at(text).decode()
        lib.duckdb_free(text)
        return value

    def query(sql: str) -> str:
        result = DuckResult()
        failed = lib.duckdb_query(connection, sql.encode(), ctypes.byref(result))
        if failed:
            raise Failed(lib.duckdb_result_error(ctypes.byref(result)).decode())
        columns = range(lib.duckdb_column_count(ctypes.byref(result)))
        rows = ["\t".join(cell(result, c, r) for c in columns) + "\n"
                for r in range(lib.duckdb_row_count(ctypes.byref(result)))]
        lib.duckdb_destroy_result(ctypes.byref(result))
        return "".join(rows)

    return query


def clickhouse() -> Callable[[str], str]:
    lib = library("clickhouse/node_modules/@chdb/lib-linux-*-gnu/libchdb.so")
    lib.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
    lib.chdb_query.restype = ctypes.c_void_p
    lib.chdb_query.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    lib.chdb_result_error.restype = ctypes.c_char_p
    lib.chdb_result_buffer.restype = ctypes.c_void_p
    lib.chdb_result_length.restype = ctypes.c_size_t
    for name in "result_error", "result_buffer", "result_length", "destroy_query_result":
        getattr(lib, f"chdb_{name}").argtypes = [ctypes.c_void_p]
    connection = lib.chdb_connect(1, (ctypes.c_char_p * 1)(b"clickhouse"))
    if not connection:
        raise Failed("cannot open a database")

    def query(sql: str) -> str:
        result = lib.chdb_query(connection[0], sql.encode(), b"TabSeparatedRaw")
        error = lib.chdb_result_error(result)
        if error:
            raise Failed(error.decode(errors="replace"))
        length = lib.chdb_result_length(result)
        text = ctypes.string_at(lib.chdb_result_buffer(result), length).decode() if length else ""
        lib.chdb_destroy_query_result(result)
        return text

    return query


def statements(arguments: list[str]) -> list[str]:
    if arguments != ["-"]:
        return arguments
    return [part for part in sys.stdin.read().split(";\n") if part.strip()]


def main() -> int:
    query = {"duckdb": duckdb, "clickhouse": clickhouse}[sys.argv[1]]()
    for sql in statements(sys.argv[2:]):
        try:
            sys.stdout.write(query(sql))
        except Failed as error:
            print(f"{error}\nin: {sql}", file=sys.stderr)
            return 1
    sys.stdout.flush()
    os._exit(0)  # the engines' threads are of no interest


if __name__ == "__main__":
    sys.exit(main())
