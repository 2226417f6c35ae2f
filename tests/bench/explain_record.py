# SPDX-License-Identifier: GPL-2.0-only
"""Recordings for explain_causes.py: programs with a known cause of slowness, and programs without one, on this machine.
All together take some five minutes on an idle machine."""
from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from verdicts_record import slow_disk

Delay = Callable[[int], None]
READS = ("fio --name=reads --directory={at} --filename=data --size=32m --rw=randread --direct=1 --bs=4k --runtime={s} "
         "--time_based --norandommap --output=/dev/null")
WRITER = """
import os, sys, threading, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
end = time.monotonic() + float(sys.argv[2])
def large():
    other, data = os.open(sys.argv[1], os.O_RDWR), b"x" * (32 << 20)
    while time.monotonic() < end:
        os.pwrite(other, data, 1 << 20)
        time.sleep(0.6)
def small():
    while time.monotonic() < end:
        os.pwrite(fd, b"y" * 100, 0)
        time.sleep(0.004)
for what in [large] + 8 * [small]:
    threading.Thread(target=what).start()
"""
COLD = """
import os, random, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
random.seed(3)
pages = os.fstat(fd).st_size // 4096
for n in range(9001):
    at = 4096 * random.randrange(pages)
    if n % 31 == 0:
        os.posix_fadvise(fd, at & -65536, 65536, os.POSIX_FADV_DONTNEED)
    os.pread(fd, 4096, at)
    time.sleep(0.0002)
"""


@dataclass
class Real:
    """A recording with a cause: what is asked of it (of all threads of a name), and the words of which one must be in
    its finding."""
    name: str
    condition: str
    comm: str
    words: tuple[str, ...]
    make: Callable[[str, Path, Path, Path, Delay], None]


def _sh(command: str, at: Path, check: bool = True) -> None:
    subprocess.run(["sh", "-c", command], cwd=at, check=check, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def _record(tool: str, file: Path, at: Path, command: str) -> None:
    subprocess.run([tool, "record", "-o", file, "--", "sh", "-c", command], cwd=at, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _with(tool: str, file: Path, at: Path, command: str, meanwhile: Callable[[threading.Event], None]) -> None:
    """Records all of the machine while a command and something else run."""
    recorder = subprocess.Popen([tool, "record", "-o", file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    assert recorder.stderr
    recorder.stderr.readline()
    time.sleep(1)
    ended = threading.Event()
    other = threading.Thread(target=meanwhile, args=(ended,))
    other.start()
    _sh(command, at)
    ended.set()
    other.join()
    recorder.send_signal(2)
    recorder.communicate()


def _step(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    def later(ended: threading.Event) -> None:
        delay(3000)
        ended.wait(5)
        delay(9000)
    _with(tool, file, slow, READS.format(at=slow, s=8), later)


def _growth(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    def grows(ended: threading.Event) -> None:
        for n in range(160):
            delay(1500 + 60 * n)
            if ended.wait(0.05):
                break
    _with(tool, file, slow, READS.format(at=slow, s=8), grows)


def _pulses(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    def pulses(ended: threading.Event) -> None:
        while not ended.is_set():
            delay(2000)
            ended.wait(0.9)
            delay(12000)
            ended.wait(0.1)
    _with(tool, file, slow, READS.format(at=slow, s=12), pulses)


def _stall(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    def stalls(ended: threading.Event) -> None:
        delay(2000)
        ended.wait(4)
        delay(25000)
        ended.wait(0.4)
        delay(2000)
    _with(tool, file, slow, READS.format(at=slow, s=8), stalls)


def _rival(count: int, each: float) -> Callable[[str, Path, Path, Path, Delay], None]:
    def make(tool: str, file: Path, work: Path, slow: Path, delay: Delay) -> None:
        del work
        delay(1500)

        def rivals(ended: threading.Event) -> None:
            while not ended.wait(each):
                running = [subprocess.Popen(["dd", f"if={slow}/other", "of=/dev/null", "bs=512k", "iflag=direct"],
                                            stderr=subprocess.DEVNULL) for _ in range(count)]
                for one in running:
                    one.wait()
        _with(tool, file, slow, READS.format(at=slow, s=12), rivals)
    return make


def _once(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    delay(1500)

    def one(ended: threading.Event) -> None:
        ended.wait(4)
        running = [subprocess.Popen(["dd", f"if={slow}/other", "of=/dev/null", "bs=512k", "iflag=direct"],
                                    stderr=subprocess.DEVNULL) for _ in range(4)]
        for each in running:
            each.wait()
    _with(tool, file, slow, READS.format(at=slow, s=9), one)


def _sizes(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    delay(500)
    _record(tool, file, slow, f"fio --name=sizes --directory={slow} --filename=data --size=32m --rw=randread "
            "--direct=1 --bssplit=4k/97:1m/3 --number_ios=3000 --norandommap --output=/dev/null")


def _two_disks(tool: str, file: Path, work: Path, slow: Path, delay: Delay) -> None:
    delay(4000)
    _record(tool, file, work, f"""fio --output=/dev/null --rw=randread --direct=1 --bs=4k --norandommap --name=fast \
        --directory={work} --filename=data --size=32m --runtime=8 --time_based --rate_iops=800 \
        --name=slow --directory={slow} --filename=data --size=32m --runtime=8 --time_based --rate_iops=20""")


def _holder(tool: str, file: Path, work: Path, _slow: Path, _delay: Delay) -> None:
    (work / "writer.py").write_text(WRITER, encoding="ascii")
    _record(tool, file, work, f"python3 writer.py {work}/held 8")


def _cold(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    delay(2000)
    (slow / "cold.py").write_text(COLD, encoding="ascii")
    _sh("cat data >/dev/null", slow)
    _record(tool, file, slow, f"python3 cold.py {slow}/data")


def _fsyncs(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    """A program that syncs a line now and then, and every 2 s somebody who syncs 4 MiB."""
    delay(400)

    def writes(ended: threading.Event) -> None:
        while not ended.wait(1.6):
            _sh("dd if=/dev/zero of=large bs=1M count=40 conv=fsync", slow)
    _with(tool, file, slow, f"fio --name=log --directory={slow} --filename=log --size=4m --rw=write --bs=512 --fsync=1 "
          "--runtime=14 --time_based --rate_iops=100 --output=/dev/null", writes)


def _checkpoint(tool: str, file: Path, _work: Path, slow: Path, delay: Delay) -> None:
    """PostgreSQL under pgbench, and one checkpoint."""
    delay(0)
    at = slow / "postgres"
    shutil.rmtree(at, ignore_errors=True)
    at.mkdir()
    shutil.chown(at, "postgres")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    run = f"runuser -u postgres -- env PATH={programs}:$PATH PGHOST={at}"
    _sh(f"{run} initdb --wal-segsize=1 -D {at}/data && "
        f"{run} pg_ctl -D {at}/data -w -l {at}/log -o \"-c unix_socket_directories={at} -c listen_addresses= "
        f"-c checkpoint_timeout=1h -c max_wal_size=64MB\" start", at)
    try:
        _sh(f"{run} createdb bench && {run} pgbench -i -s 3 bench && {run} psql bench -c checkpoint", at)
        delay(700)

        def checkpoint(ended: threading.Event) -> None:
            ended.wait(6)
            _sh(f"{run} psql bench -c checkpoint", at)
        _with(tool, file, at, f"{run} pgbench -c 3 -T 14 bench", checkpoint)
    finally:
        _sh(f"{run} pg_ctl -D {at}/data -m immediate stop", at, check=False)


REAL = [
    Real("a step of the disk", "read>p75", "fio", ("since when all are slower",), _step),
    Real("a disk that slows down", "read>p75", "fio", ("grow slower",), _growth),
    Real("pulses of the disk", "read>10ms", "fio", ("one every", "each period of"), _pulses),
    Real("one stall of the disk", "read>15ms", "fio", ("in one incident",), _stall),
    Real("dd now and then", "read>p95", "fio", ("named dd on",), _rival(3, 1.5)),
    Real("many short dd", "read>p95", "fio", ("named dd on",), _rival(9, 2.5)),
    Real("dd once", "read>p97", "fio", ("named dd on",), _once),
    Real("large reads", "read>p97", "fio", ("of 1.00 MiB",), _sizes),
    Real("a slow disk of two", "read>p98", "fio", ("on disk loop", "/data", "mounted"), _two_disks),
    Real("a writer holds the file", "write>2ms", "python3", ("behind a write of 32.0 MiB",), _holder),
    Real("cold pages", "read>200us", "python3", ("of cache class miss", "with 1 request"), _cold),
    Real("another fsync", "fsync>p90", "fio", ("named dd on", "by dd", "writeback"), _fsyncs),
    Real("a checkpoint", "fsync>p95", "postgres", ("checkpointer", "postgres: check"), _checkpoint),
]


def _fio(tool: str, file: Path, at: Path) -> None:
    _record(tool, file, at, f"fio --name=a --directory={at} --size=64m --rw=randrw --direct=1 --bs=4k --fsync=16 "
            "--numjobs=3 --number_ios=4000 --norandommap --output=/dev/null")


def _buffered(tool: str, file: Path, at: Path) -> None:
    _record(tool, file, at, f"fio --name=b --directory={at} --size=128m --rw=randrw --bsrange=512-64k --numjobs=4 "
            "--nrfiles=5 --number_ios=5000 --fsync=64 --norandommap --output=/dev/null")


def _sqlite(tool: str, file: Path, at: Path) -> None:
    rows = "".join(f"insert into t values({n}, hex(randomblob({100 + n * 7919 % 3000})));\n" for n in range(900))
    (at / "rows.sql").write_text(rows, encoding="ascii")
    _sh("rm -f db*; sqlite3 db 'create table t(a, b)'", at)
    _record(tool, file, at, "sqlite3 db <rows.sql")


def _archive(tool: str, file: Path, at: Path) -> None:
    _sh("mkdir -p tree && for i in $(seq 900); do seq $i 2000 >tree/$i; done; sync; rm -f tree.tar", at)
    _record(tool, file, at, "tar cf tree.tar tree; sync; for n in 1 2 3; do cat tree/* >all; sync all; done")


def _mixed(tool: str, file: Path, at: Path) -> None:
    _record(tool, file, at, f"fio --name=m --directory={at} --size=24m --rw=randrw --numjobs=9 --direct=1 "
            "--bsrange=4k-64k --number_ios=1500 --norandommap --output=/dev/null")


BASES: dict[str, Callable[[str, Path, Path], None]] = {
    "fio": _fio, "buffered": _buffered, "sqlite": _sqlite, "tar": _archive, "mixed": _mixed,
}


def make(tool: str, out: Path, work: Path) -> None:
    """Makes the recordings that are missing."""
    work.mkdir(parents=True, exist_ok=True)
    work.chmod(0o755)
    out.mkdir(parents=True, exist_ok=True)
    for name, record in BASES.items():
        file = out / f"{name}.ios"
        if not file.exists():
            at = work / name
            at.mkdir(exist_ok=True)
            record(tool, file, at)
            print(file.name, flush=True)
    with slow_disk(work) as (slow, delay):
        _sh(f"for f in {slow}/data {work}/data; do dd if=/dev/urandom of=$f bs=1M count=32 conv=fsync; done; "
            f"cp {slow}/data {slow}/other; truncate -s 24M {slow}/other; sync", work)
        for real in REAL:
            file = out / f"{real.name.replace(' ', '-')}.ios"
            if file.exists():
                continue
            with suppress(subprocess.CalledProcessError):
                real.make(tool, file, work, slow, delay)
            print(file.name if file.exists() else f"{file.name} failed", flush=True)
            delay(0)
    if not os.environ.get("KEEP_WORK"):
        shutil.rmtree(work, ignore_errors=True)
