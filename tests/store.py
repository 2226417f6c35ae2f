# SPDX-License-Identifier: GPL-2.0-only
"""store.py FILE ROUNDS: waits for a line. Then, in each round, save_index() syncs FILE once and save_rows() three
times, below 9 callers, a generator, and a function in C that calls Python again."""
import functools
import os
import sys
import threading


def save_index(fd):
    os.fdatasync(fd)


def save_rows(fd):
    for _ in range(3):
        os.fdatasync(fd)


def saves(fd):
    yield save_index(fd)
    yield save_rows(fd)


def down(depth, fd):
    if depth:
        down(depth - 1, fd)
    else:
        functools.reduce(lambda _, each: each, saves(fd), None)


def save_other(fd, over):
    while not over.is_set():
        os.fsync(fd)


if not sys.stdin.readline():
    sys.exit(1)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
end = threading.Event()
other = threading.Thread(target=save_other, args=(file, end))
if sys.argv[2].endswith(","):
    other.start()
for _ in range(int(sys.argv[2].rstrip(","))):
    down(8, file)
end.set()
