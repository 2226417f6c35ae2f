# SPDX-License-Identifier: GPL-2.0-only
"""Recordings for verdicts.py: equal runs of five programs, one after the other, and runs on a disk with two delays,
in turn. A run takes 0.2 to 1 s; all together take some ten minutes on an idle machine."""
from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

DISK_MIB = 256
DELAYS_US = {"base": 8000, "new": 12000}
FIO = ("fio --name=run --directory={at} --filename=f --size=4m --rw=randrw --direct=1 --bs=4k --fsync={each} "
       "--number_ios={n} --norandommap --output=/dev/null")


def _shell(command: str, at: Path) -> None:
    subprocess.run(["sh", "-c", command], cwd=at, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def _insert(at: Path) -> str:
    rows = "".join(f"insert into t values({n}, hex(randomblob(100)));\n" for n in range(60))
    (at / "insert.sql").write_text(rows, encoding="ascii")
    _shell("rm -f db*; sqlite3 db 'create table t(a, b)'", at)
    return "sqlite3 db <insert.sql"


def _collect(at: Path) -> str:
    if not (at / "origin").exists():
        _shell("git init -q origin && cd origin && git config user.name a && git config user.email a@b.c && "
               "for i in $(seq 40); do seq $i 300 >f$i; git add . && git commit -qm $i; done", at)
    _shell("rm -rf work; cp -r origin work", at)
    return "git -C work gc -q"


def _build(at: Path) -> str:
    for n in range(4):
        (at / f"{n}.c").write_text(f"#include <stdio.h>\nint f{n}(void) {{ return printf(\"{n}\"); }}\n",
                                   encoding="ascii")
    _shell("rm -f *.o", at)
    return "for i in 0 1 2 3; do /usr/bin/gcc -c $i.c; done"


def _archive(at: Path) -> str:
    if not (at / "tree").exists():
        _shell("mkdir tree && for i in $(seq 300); do seq $i 2000 >tree/$i; done", at)
    _shell("rm -f tree.tar", at)
    return "tar cf tree.tar tree"


def _read_write(at: Path) -> str:
    return FIO.format(at=at, n=500, each=16)


# Each prepares a run, and gives the command that is recorded.
PROGRAMS: dict[str, Callable[[Path], str]] = {
    "sqlite3": _insert, "git gc": _collect, "gcc": _build, "tar": _archive, "fio": _read_write,
}


def _record(tool: str, command: str, at: Path, file: Path) -> None:
    subprocess.run([tool, "record", "-o", str(file), "--", "sh", "-c", command], cwd=at, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def equal(tool: str, out: Path, work: Path, runs: int) -> None:
    """Equal runs of each program, as files "PROGRAM-NN.ios". Those that are there stay."""
    for name, prepare in PROGRAMS.items():
        at = work / name.replace(" ", "-")
        at.mkdir(parents=True, exist_ok=True)
        for n in range(runs):
            file = out / f"{at.name}-{n:02}.ios"
            if file.exists():
                continue
            _record(tool, prepare(at), at, file)
            print(file.name, flush=True)


@contextmanager
def slow_disk(work: Path) -> Iterator[tuple[Path, Callable[[int], None]]]:
    """A file system on a disk with a delay: where it is mounted, and a function that sets the delay, us."""
    program, served, point = work / "slow_disk", work / "served", work / "mounted"
    subprocess.run(["cc", "-O2", "-o", program, Path(__file__).parent / "slow_disk.c"], check=True)
    served.mkdir(exist_ok=True)
    point.mkdir(exist_ok=True)
    with subprocess.Popen([program, served, str(DISK_MIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        assert server.stdin and server.stdout
        assert server.stdout.readline() == "ready\n"

        def delay(us: int) -> None:
            assert server.stdin and server.stdout
            server.stdin.write(f"{us}\n")
            server.stdin.flush()
            assert server.stdout.readline() == "ok\n"

        loop = subprocess.run(["losetup", "-f", "--show", "--direct-io=on", served / "disk"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
        try:
            subprocess.run(["mkfs.ext4", "-q", "-F", loop], check=True)
            subprocess.run(["mount", loop, point], check=True)
            yield point, delay
        finally:
            delay(0)
            subprocess.run(["umount", point], check=False)
            subprocess.run(["losetup", "-d", loop], check=True)
            server.stdin.close()
            server.wait()


def delayed(tool: str, out: Path, work: Path, runs: int) -> None:
    """Runs with each delay in turn (base, new, new, base ..), as files "disk-SIDE-NN.ios"."""
    with slow_disk(work) as (point, delay):
        command = FIO.format(at=point, n=80, each=2)
        delay(0)
        _shell(command, point)
        for n in range(runs):
            for side in ("base", "new") if n % 2 == 0 else ("new", "base"):
                file = out / f"disk-{side}-{n:02}.ios"
                if file.exists():
                    continue
                delay(DELAYS_US[side])
                _record(tool, command, point, file)
                print(file.name, flush=True)


def make(tool: str, out: Path, work: Path, runs: int) -> None:
    work.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    equal(tool, out, work, runs)
    delayed(tool, out, work, runs * 4 // 5)
    shutil.rmtree(work)
