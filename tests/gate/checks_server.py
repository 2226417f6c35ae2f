# SPDX-License-Identifier: GPL-2.0-only
"""Waits for a file server or a daemon: the stratum `server`, and the rows of servers. FUSE servers, one of
which takes its time; NFS and SMB over a network that does; the guest's own files."""
from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import fileio
import machine
import oracles
import tool
from checks_record import Record, report
from checks_serve import Metrics, Serve
from harness import Broken, Gate, Skip, patience, suite
from tool import Trace, ask_doctor, is_missing

import capture  # which tool.py has put into the path

MS = 1_000_000
FUSE, P9, SMB = 1, 2, 3  # protocols in recordings (docs/FORMAT.md)
READS, DELAY_MS, SIZE = 11, 10, 4096
NFS_DELAY_MS = 50  # each way
JOIN_DISK_MS, JOIN_NET_MS = 20, 10  # the latter each way
RESENT_DELAY_MS = 150  # each way: longer than it takes until a request is sent again
READERS, SLOTS = 7, 2
READ = ("READ", "READ_PLUS")
SMB_DELAY_MS = 10
COLD, COLD_SIZE = 7, 1 << 17
FILES = 101
ENDS_S = 30  # on a busy machine; a wait for a dead server would not end before the suite does


# Requests by kind: count, bytes sent and received, how often sent again.
Counts = dict[str, tuple[int, ...]]


class Fuser:
    """fuser.c, mounted until the end of the suite."""

    def __init__(self, gate: Gate, mode: str, *more: str, ms: int = DELAY_MS) -> None:
        fuse_module(gate)
        self.point = machine.scratch(gate.kept) / f"fuser-{mode}"
        self.point.mkdir(exist_ok=True)  # natively suites share the directory
        argv = [oracles.program(oracles.FUSER), str(self.point), mode, str(ms), *more]
        self._proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        gate.stack.callback(self.end)
        assert self._proc.stdout
        if self._proc.stdout.readline() != "ready\n":
            raise Broken(f"fuser does not come up: exit {self._proc.wait(5)}")

    @property
    def file(self) -> str:
        return str(self.point / "f")

    def stop(self) -> None:
        self._proc.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._proc.send_signal(signal.SIGCONT)

    def end(self) -> dict[str, tuple[int, int]]:
        """How often it has answered each kind of request, and the bytes."""
        if self._proc.poll() is not None:
            return {}
        lines = self._proc.communicate(timeout=20 * patience())[0].split("\n")
        return {kind: (int(count), int(size)) for kind, count, size in (l.split() for l in lines if l)}


def fuse_module(gate: Gate) -> None:
    if "\tfuse\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        machine.need_module(gate.stack, "fuse")


def need_hooks(what: str) -> None:
    finding = next(f for f in ask_doctor()["findings"] if f["what"] == what)
    if not finding["works"]:
        raise Skip(f"{what}: {finding['how']}")


def compare_strata(gate: Gate, name: str, strata: dict[str, int], nominal_ns: int,
                   before: dict[str, int] | None = None) -> None:
    """The injected time is the server's. Beside the strata @before, without injected time, nearly nothing is
    unexplained or a kernel thread's: a kernel thread takes milliseconds where the machine is emulated."""
    share = 0.1 if not gate.native else 0.03 if before else 0.01
    gate.check(f"{name}.share", strata["server"] >= 0.95 * nominal_ns, server_ms=strata["server"] / MS,
               put_in_ms=nominal_ns / MS)
    for other in ("helper", "sleep"):
        old = before[other] if before else 0
        gate.check(f"{name}.{other}", strata[other] - old <= share * nominal_ns, ms=strata[other] / MS,
                   before_ms=old / MS, put_in_ms=nominal_ns / MS)


def counted(trace: Trace) -> Counts:
    found: Counts = {}
    for row in (r for one in trace.objects for r in one.get("servers", [])):
        more = (row["count"], row["sent_bytes"], row["received_bytes"], row["resent"])
        found[row["op"]] = tuple(a + b for a, b in zip(found.get(row["op"], (0, 0, 0, 0)), more))
    return found


def read_cold(file: str) -> None:
    with open(file, "rb", buffering=0) as f:
        for _ in range(COLD):
            f.read(COLD_SIZE)


def compare_cold(gate: Gate, name: str, trace: Trace, fs: str) -> None:
    """No read that waited for the server is a hit, and no device is known."""
    rows = trace.rows("ops", op="read", fs=fs)
    waited = [r for r in rows if r["strata"]["server"] > MS]
    gate.check(f"{name}.cache", waited and all(r["cache"] in ("miss", "readahead") for r in waited),
               found=" ".join(sorted({str(r["cache"]) for r in waited})))
    gate.check(f"{name}.device", all(r["device_bytes"] is r["amplification"] is None for r in rows))


@suite("server.submit")
def submitted(gate: Gate) -> None:
    """A direct read of FUSE blocks io_uring_enter(), and a buffered one io_submit(), no matter how many requests are in
    flight: the time of threads has all waits, once. The thread lives no longer than fio's job."""
    daemon, reads = Fuser(gate, "sleep"), 101
    need_hooks("FUSE")
    for engine, direct, missing in (("io_uring", 1, "uring"), ("libaio", 0, "aio")):
        if is_missing(missing):
            continue  # without requests as operations, these are calls
        gate.prefix = f"server.submit.{engine}."
        with Trace("--comm", "fio", "--fs", "fuse") as trace:
            job = oracles.fio(f"--filename={daemon.file}", "--size=16m", "--rw=randread", "--bs=4k", "--iodepth=4",
                              f"--direct={direct}", "--invalidate=1", f"--ioengine={engine}",
                              f"--number_ios={reads}")["read"]
        row, = trace.rows("ops", op="submit")
        gate.check("count", row["count"] == job["total_ios"] == reads, ours=row["count"], fio=job["total_ios"])
        gate.check("server", row["strata"]["server"] >= reads * DELAY_MS * MS, **row["strata"])
        gate.check("threads", row["total_ns"] <= trace.json["thread_ns"] <= (job["runtime"] + 10) * MS,
                   ours_ms=trace.json["thread_ns"] / MS, submit_ms=row["total_ns"] / MS, fio_ms=job["runtime"])


def daemon_time(trace: Trace, daemon: Fuser) -> dict[str, Any]:
    """The row of READ, with "parts": the daemon's time by what its thread did."""
    row, = [r for r in trace.json["servers"] if r["op"] == "READ" and r["mount"] == str(daemon.point)]
    known: dict[str, Any] = row["daemon"] or {}
    if known:
        parts = known["strata"] | {"cpu": known["cpu_ns"], "before_read": known["before_read_ns"]}
        row["parts"] = {part: ns or 0 for part, ns in parts.items()}
    return row


def compare_daemon(gate: Gate, name: str, row: dict[str, Any], part: str) -> None:
    """The parts add up to the server's time, to the nanosecond. The injected time is in @part, and the daemon waits for
    nothing else but a CPU. An emulated machine takes a millisecond from the interrupt to the wake-up (complete)."""
    gate.check(f"{name}.split", row["daemon"] and row["daemon"]["count"] == row["count"] == READS,
               found=row["count"], missing=row["daemon_missing"])
    if not row["daemon"]:
        return
    nominal, parts = READS * DELAY_MS * MS, row["parts"]
    gate.check(f"{name}.sum", sum(parts.values()) == row["server_ns"], ours=sum(parts.values()),
               server=row["server_ns"])
    cpu = ("cpu", "runq", "preempt", "before_read") + (() if gate.native else ("complete",))
    other = sum(ns for p, ns in parts.items() if p not in (part, *cpu))
    gate.check(f"{name}.{part}", parts[part] >= 0.95 * nominal and other <= 0.05 * nominal, put_in_ms=nominal / MS,
               **{f"{p}_ms": f"{ns / MS:.3f}" for p, ns in parts.items() if ns})


@suite("server.daemon", 600)
def daemons(gate: Gate) -> None:
    """A FUSE daemon's time by part: sleep, CPU, disk, or another thread that answers."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=DELAY_MS * MS,
                            memory_backed=1, size=64)
    for mode, part in (("sleep", "sleep"), ("spin", "cpu"), ("disk", "device"), ("pass", "")):
        daemon = Fuser(gate, mode, str(disk.path))
        need_hooks("FUSE daemon")
        fileio.read_at(daemon.file, [READS * SIZE], SIZE, os.O_DIRECT)  # the daemon's code is read
        with Trace() as trace:
            fileio.read_at(daemon.file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        row = daemon_time(trace, daemon)
        if part:
            compare_daemon(gate, mode, row, part)
            gate.check(f"{mode}.told", not row["daemon_missing"], missing=row["daemon_missing"])
        else:
            gate.check(f"{mode}.unknown", row["count"] == READS and row["daemon"] is None and row["daemon_missing"],
                       found=row["count"], missing=row["daemon_missing"])
    daemon = Fuser(gate, "disk", str(disk.path))
    fileio.read_at(daemon.file, [READS * SIZE], SIZE, os.O_DIRECT)
    with Trace("--comm", "python3") as trace:  # the daemon's own operations are not traced
        fileio.read_at(daemon.file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
    compare_daemon(gate, "filtered", daemon_time(trace, daemon), "device")


@suite("server.fuse", 600)
def fuse(gate: Gate) -> None:
    for mode in ("sleep", "spin"):
        daemon = Fuser(gate, mode)
        need_hooks("FUSE")
        with Trace("--fs", "fuse", "--op", "read") as trace:
            fileio.read_at(daemon.file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        compare_strata(gate, mode, trace.strata(op="read", fs="fuse"), READS * DELAY_MS * MS)
        with Trace("--fs", "fuse", "--by", "cache") as trace:
            read_cold(daemon.file)
        compare_cold(gate, f"{mode}.cold", trace, "fuse")
        with Trace() as trace:
            fileio.read_at(daemon.file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        rows = [r for r in trace.json["servers"] if r["op"] == "READ" and r["mount"] == str(daemon.point)]
        gate.check(f"{mode}.count", [(r["count"], r["received_bytes"]) for r in rows] == [(READS, READS * (SIZE + 16))],
                   found=" ".join(f"{r['count']}/{r['received_bytes']}" for r in rows), wanted=READS)
    compare_recorded(gate, daemon)


def compare_recorded(gate: Gate, daemon: Fuser) -> None:
    """A report has the table of servers; if it cannot have the table, it says so."""
    file = machine.scratch(gate.kept) / "server.ios"
    with Record(file):
        fileio.read_at(daemon.file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
    whole, part = (subprocess.run([tool.copy(), "report", *args, str(file)], capture_output=True, text=True,
                                  check=False) for args in (["-j"], ["-j", "--op", "read"]))
    hidden = "to servers are in no table"
    rows = [row for one in tool.objects(whole.stdout) for row in one.get("servers", [])]
    reads = sum(row["count"] for row in rows if row["op"] == "READ" and row["mount"] == str(daemon.point))
    gate.check("recorded", reads == READS and hidden not in whole.stderr, found=reads, wanted=READS,
               rows=len(rows), stderr=whole.stderr)
    read = capture.read(file)
    sent = sum(read.names[capture.TEXT, r["op"]][1] == b"READ" and r["protocol"] == FUSE for r in read.server_requests)
    gate.check("one_by_one", sent == READS, found=sent, wanted=READS)
    shown = [row for one in tool.objects(part.stdout) for row in one.get("servers", [])]
    gate.check("hidden", not shown and hidden in part.stderr, rows=len(shown), stderr=part.stderr)


def compare_ones(gate: Gate, protocol: str, number: int, file: Path) -> None:
    """A recording has each request of this protocol that the report counts."""
    rows = [r for r in report("--json", str(file))[0]["servers"] if r["protocol"] == protocol]
    theirs = {r["op"]: r["count"] for r in rows}
    read = capture.read(file)
    ours = Counter(read.names[capture.TEXT, r["op"]][1].decode() for r in read.server_requests
                   if r["protocol"] == number)
    gate.check("one_by_one", sum(theirs.values()) > 0 and ours == theirs, ours=str(dict(ours)), theirs=str(theirs))


SFTP = "/usr/lib/openssh/sftp-server"


def sftp(gate: Gate) -> int:
    """The port at which a server of SFTP answers one client, without SSH."""
    listener = socket.create_server(("127.0.0.1", 0))
    gate.stack.callback(listener.close)

    def serve() -> None:
        conn = listener.accept()[0]
        with conn:
            subprocess.run([SFTP], stdin=conn, stdout=conn, check=False)

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


@suite("server.daemons", 300)
def daemons(gate: Gate) -> None:
    """Real daemons, each on the same directory: their rows have their names, and as many reads as were asked for."""
    fuse_module(gate)
    need_hooks("FUSE")
    of = machine.scratch(gate.kept) / "of"
    of.mkdir(exist_ok=True)
    (of / "f").write_bytes(os.urandom(READS * SIZE))
    for name in ("bindfs", "sshfs"):
        if not shutil.which(name) or not Path(SFTP).exists():
            gate.skip(name, "it is not installed (tests/setup)")
            continue
        point = machine.scratch(gate.kept) / name
        point.mkdir(exist_ok=True)
        argv = ["bindfs", str(of), str(point)] if name == "bindfs" else \
            ["sshfs", "-o", f"directport={sftp(gate)}", f"127.0.0.1:{of}", str(point)]
        machine.run(*argv)
        gate.stack.callback(quietly, "umount", "-l", str(point))
        with Trace() as trace:
            fileio.read_at(str(point / "f"), range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        rows = [r for r in trace.json["servers"] if r["mount"] == str(point)]
        reads = [(r["server"], r["count"], r["errors"], r["received_bytes"]) for r in rows if r["op"] == "READ"]
        gate.check(f"{name}.reads", reads == [(name, READS, 0, READS * (SIZE + 16))], found=str(reads), wanted=READS)
        comms = {Path(f"/proc/{r['pid']}/comm").read_text(encoding="ascii").strip() for r in rows}
        gate.check(f"{name}.daemon", comms == {name} and {r["protocol"] for r in rows} == {"fuse"}, found=str(comms))


@suite("server.hung")
def hung(gate: Gate) -> None:
    """A daemon that does nothing any more is named."""
    daemon = Fuser(gate, "sleep")
    need_hooks("FUSE")
    gate.stack.callback(daemon.go_on)
    with Trace() as trace:
        daemon.stop()
        reader = subprocess.Popen(["head", "-c", "1", daemon.file], stdout=subprocess.DEVNULL)
        where = Path(f"/proc/{reader.pid}/wchan")
        for _ in range(100):  # an emulated machine takes its time to begin
            time.sleep(0.1)
            if where.read_text(encoding="ascii") == "request_wait_answer":
                break
    daemon.go_on()
    reader.wait()
    rows = [r for r in trace.json["in_progress"] if r["comm"] == "head"]
    gate.check("named", [(r["stratum"], r["server"]) for r in rows] == [("server", str(daemon.point))],
               found=" ".join(f"{r['op']}/{r['stratum']}/{r['server']}" for r in rows) or "none")


@suite("server.9p")
def p9(gate: Gate) -> None:
    """The guest's own files, below an overlay: QEMU is the server."""
    gate.not_native("files of 9p")
    need_hooks("9p")
    names = sorted(str(f) for f in Path("/usr/share/doc").iterdir())[:FILES]
    with Trace("--op", "meta") as trace:
        Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
        for name in names:
            os.stat(name)
    strata = trace.strata(op="meta")
    gate.check("share", strata["server"] > 0 and strata["sleep"] + strata["helper"] <= 0.1 * strata["server"],
               **{s: strata[s] / MS for s in ("server", "sleep", "helper")})
    with Trace() as trace:
        for i in range(FILES):
            with suppress(FileNotFoundError):
                os.stat(f"/usr/share/doc/none{i}")
    rows = [r for r in trace.json["servers"] if r["protocol"] == "9p" and r["op"] == "Twalk"]
    found = [(r["server"], r["errors"], r["sent_bytes"]) for r in rows]
    gate.check("rows", found == [("host", FILES, None)] and rows[0]["server_ns"] >= rows[0]["max_ns"] > 0,
               found=str(found), wanted=FILES)
    recording = machine.scratch(gate.kept) / "server.ios"
    with Record(recording):
        for i in range(FILES):
            with suppress(FileNotFoundError):
                os.stat(f"/usr/share/doc/absent{i}")
    compare_ones(gate, "9p", P9, recording)


@suite("server.virtiofs", 300)
def virtiofs(gate: Gate) -> None:
    """A directory of the machine which emulates this one: its daemon is no process here."""
    gate.not_native("a virtual machine with a daemon of virtiofs")
    machine.need_module(gate.stack, "virtiofs")
    need_hooks("FUSE")
    point = machine.scratch(gate.kept) / "virtiofs"
    point.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "virtiofs", "shared", str(point)], capture_output=True, check=False).returncode:
        raise Skip("no device of virtiofs (VIRTIOFS of tests/vm/boot)")
    gate.stack.callback(quietly, "umount", "-l", str(point))
    file = point / "f"
    file.write_bytes(os.urandom(READS * SIZE))
    with Trace() as trace:
        fileio.read_at(str(file), range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        fileio.write_at(str(file), range(0, COLD * SIZE, SIZE), SIZE, os.O_DIRECT, sync=True)
        for i in range(FILES):
            with suppress(FileNotFoundError):
                os.stat(point / f"none{i}")
    rows = {r["op"]: r for r in trace.json["servers"] if r["mount"] == str(point)}
    servers = {(r["server"], r["protocol"], r["pid"]) for r in rows.values()}
    gate.check("server", servers == {("virtiofs", "fuse", None)}, found=str(servers))
    for op, figure, wanted in (("READ", "received_bytes", READS * (SIZE + 16)), ("READ", "count", READS),
                               ("WRITE", "sent_bytes", COLD * (SIZE + 80)), ("WRITE", "count", COLD),
                               ("LOOKUP", "errors", FILES)):
        found = rows.get(op, {}).get(figure)
        gate.check(f"{op}.{figure}", found == wanted, found=found, wanted=wanted)
    read = rows.get("READ", {"server_ns": 0, "max_ns": 0})
    gate.check("time", read["server_ns"] >= read["max_ns"] > 0, ms=read["server_ns"] / MS, max_ms=read["max_ns"] / MS)
    gate.check("daemon", {(r["daemon"], r["daemon_missing"]) for r in rows.values()} ==
               {(None, "the daemon is no process of this machine")},
               found=" ".join(sorted({str(r["daemon_missing"]) for r in rows.values()})))
    # the daemon takes microseconds: the answer may be there before the thread sleeps
    strata = trace.strata(op="read", fs="virtiofs")
    gate.check("sleep", strata["sleep"] <= 0.1 * sum(strata.values()),
               **{f"{s}_ms": strata[s] / MS for s in ("syscall", "server", "sleep", "helper")})
    gate.check("lost", not trace.lost_here(), lost=str(trace.lost()))


def quietly(*argv: str) -> None:
    subprocess.run(argv, capture_output=True, check=False)


def served(gate: Gate, point: Path) -> None:
    """Exports @point from the namespace "server", at 10.99.0.1; this machine is 10.99.0.2."""
    inside = ("ip", "netns", "exec", "server")
    machine.run("ip", "netns", "add", "server")
    gate.stack.callback(quietly, "ip", "netns", "del", "server")
    machine.run("ip", "link", "add", "client0", "type", "veth", "peer", "name", "server0", "netns", "server")
    machine.run("ip", "addr", "add", "10.99.0.2/24", "dev", "client0")
    machine.run("ip", "link", "set", "client0", "up")
    machine.run(*inside, "ip", "addr", "add", "10.99.0.1/24", "dev", "server0")
    machine.run(*inside, "ip", "link", "set", "server0", "up")
    machine.run(*inside, "ip", "link", "set", "lo", "up")
    # the server ends with its mount of nfsd, and that with this process
    start = "mount -t nfsd nfsd /proc/fs/nfsd && exec \"$@\""
    serve = (sys.executable, str(Path(__file__).with_name("nfs_server.py")), str(point))
    proc = subprocess.Popen([*inside, "sh", "-c", start, "sh", *serve], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    gate.stack.callback(proc.communicate, timeout=60 * patience())
    assert proc.stdout
    if proc.stdout.readline() != "ready\n":
        raise Broken(f"nfsd does not come up: exit {proc.wait(5)}")


def tmpfs(gate: Gate) -> Path:
    """A file system which nfsd can export, unlike the guest's own."""
    export = machine.scratch(gate.kept) / "export"
    export.mkdir(exist_ok=True)
    machine.run("mount", "-t", "tmpfs", "export", str(export))
    gate.stack.callback(quietly, "umount", "-l", str(export))
    return export


def nfs_modules(gate: Gate) -> None:
    for module in ("nfsd", "nfs", "nfsv3", "nfsv4", "veth", "sch_netem"):
        machine.need_module(gate.stack, module)


def nfs_mounted(gate: Gate, export: Path, version: str = "4.2", **options: object) -> Path:
    """NFS on a file of 16 MiB."""
    point = machine.scratch(gate.kept) / "nfs"
    point.mkdir(exist_ok=True)
    if not (export / "f").exists():
        (export / "f").write_bytes(os.urandom(1 << 20) * 16)
        served(gate, export)
    options |= {"vers": version, "addr": "10.99.0.1", "sec": "sys"}
    if version == "3":
        options |= {"proto": "tcp", "port": 2049, "mountproto": "tcp", "mountport": 111, "mountvers": 3,
                    "mountaddr": "10.99.0.1", "nolock": ""}
    else:
        options["clientaddr"] = "10.99.0.2"
    machine.run("mount", "-i", "-t", "nfs" if version == "3" else "nfs4", "-o",
                ",".join(f"{name}={value}".rstrip("=") for name, value in options.items()),
                f"10.99.0.1:{export if version == '3' else '/'}", str(point), timeout=120)
    gate.stack.callback(quietly, "umount", "-f", str(point))
    return point


def slow_network(delay_ms: int, *more: str) -> None:
    for device in (("client0",), ("server0", "ip", "netns", "exec", "server")):
        machine.run(*device[1:], "tc", "qdisc", "replace", "dev", device[0], "root", "netem", "delay",
                    f"{delay_ms}ms", *more)


def mountstats(point: Path) -> Counts:
    """The requests of an NFS mount as the kernel counts them: per-op statistics of /proc/self/mountstats."""
    text = Path("/proc/self/mountstats").read_text(encoding="ascii")
    mine = next(part for part in text.split("device ") if f" mounted on {point} " in part)
    found = {}
    for line in mine.partition("per-op statistics")[2].splitlines():
        op, _, figures = line.strip().partition(": ")
        if figures:
            v = [int(x) for x in figures.split()]
            found[op] = v[0], v[3], v[4], v[1] - v[0]
    return found


def changed(before: Counts, after: Counts) -> Counts:
    """The requests counted between @before and @after."""
    return {op: tuple(b - a for a, b in zip(before[op], after[op])) for op in after if after[op] != before[op]}


def compare_mountstats(gate: Gate, name: str, trace: Trace, before: Counts, after: Counts) -> None:
    """Requests are those which the kernel has counted, whatever they are called: 4.2 may read by READ_PLUS. The
    kernel counts those for access lists (ACL) elsewhere."""
    theirs = changed(before, after)
    ours = {op: count for op, count in counted(trace).items() if not op.endswith("ACL")}
    gate.check(f"{name}.mountstats", ours == theirs, ours=str(ours), theirs=str(theirs))
    gate.check(f"{name}.reads", sum(count[0] for op, count in theirs.items() if op in READ) == READS,
               theirs=str(theirs), wanted=READS)


def exported(metrics: Metrics) -> Counts:
    """The requests of an NFS mount in the series of `serve`."""
    name = "iostrata_server_request"
    ops = {labels["op"] for found, labels, _ in metrics.series
           if found == f"{name}_errors_total" and labels["protocol"] == "nfs"}
    return {op: (metrics.total(f"{name}_duration_seconds_count", op=op, protocol="nfs"),
                 metrics.total(f"{name}_bytes_total", op=op, protocol="nfs", direction="sent"),
                 metrics.total(f"{name}_bytes_total", op=op, protocol="nfs", direction="received"),
                 metrics.total(f"{name}_resent_total", op=op, protocol="nfs"))
            for op in ops if not op.endswith("ACL")}


def compare_series(gate: Gate, point: Path, file: str) -> None:
    """The series of `serve` are what the kernel counts, and have the time of the network."""
    with Serve() as serve:
        before = mountstats(point)
        fileio.read_at(file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        theirs = changed(before, mountstats(point))
        machine.wait_for(lambda: exported(serve.metrics()) == theirs, 30)
        metrics = serve.metrics()
    gate.check("series.mountstats", exported(metrics) == theirs, ours=str(exported(metrics)), theirs=str(theirs))
    parts = [(labels["part"], float(value)) for name, labels, value in metrics.series
             if name == "iostrata_server_request_seconds_total" and labels["op"] in READ]
    gate.check("series.parts", sum(s for part, s in parts if part == "server") * 1000 >= 2 * READS * NFS_DELAY_MS and
               {part for part, _ in parts} == {"tag", "queue", "server"}, found=str(parts))


@suite("server.nfs", 600)
def nfs(gate: Gate) -> None:
    gate.not_native("a file server and a network")
    nfs_modules(gate)
    point = nfs_mounted(gate, tmpfs(gate))
    need_hooks("NFS")
    file = str(point / "f")
    os.stat(file)
    strata = []
    for _ in range(2):
        with Trace("--fs", "nfs4", "--op", "read") as trace:
            before = mountstats(point)
            fileio.read_at(file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
            after = mountstats(point)
        strata.append(trace.strata(op="read", fs="nfs4"))
        if len(strata) == 1:
            slow_network(NFS_DELAY_MS)
    compare_strata(gate, "direct", strata[1], READS * 2 * NFS_DELAY_MS * MS, strata[0])
    compare_mountstats(gate, "direct", trace, before, after)
    compare_series(gate, point, file)
    with Trace("--fs", "nfs4", "--by", "cache") as trace:
        read_cold(file)
        time.sleep(0.1)
    compare_cold(gate, "cold", trace, "nfs4")


def read_at_once(file: str) -> None:
    """As many readers as there are slots, several times over."""
    readers = [threading.Thread(target=fileio.read_at, args=(file, [i * SIZE], SIZE, os.O_DIRECT))
               for i in range(READERS)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()


def compare_slots(gate: Gate, name: str, file: str, fs: str) -> None:
    """The wait for a slot is tag, in operations and in the table of servers."""
    slow_network(NFS_DELAY_MS)
    with Trace("--fs", fs, "--op", "read") as trace:
        read_at_once(file)
    strata = trace.strata(op="read", fs=fs)
    rows = [r for one in trace.objects for r in one.get("servers", []) if r["op"] in READ]
    theirs = {s: sum(r[f"{s}_ns"] for r in rows) for s in ("tag", "server")}
    # readers begin one after the other where the machine is emulated: at least one of them waits for an answer
    gate.check(f"{name}.tag", theirs["tag"] >= 2 * NFS_DELAY_MS * MS, ms=theirs["tag"] / MS,
               wanted_ms=2 * NFS_DELAY_MS)
    for s in ("tag", "server"):
        gate.check(f"{name}.{s}.operations", abs(strata[s] - theirs[s]) <= 0.05 * sum(theirs.values()),
                   ms=strata[s] / MS, theirs_ms=theirs[s] / MS)
    # workers take milliseconds where the machine is emulated
    for s, share in (("sleep", 0.05), ("helper", 0.1)):
        gate.check(f"{name}.{s}", strata[s] <= share * sum(theirs.values()), ms=strata[s] / MS)


@suite("server.nfs3", 600)
def nfs3(gate: Gate) -> None:
    """Version 3: a network that loses packets and is slower than a request's timeout; few slots."""
    gate.not_native("a file server and a network")
    nfs_modules(gate)
    for name in ("tcp_max_slot_table_entries", "tcp_slot_table_entries"):
        machine.setting(gate.stack, f"/proc/sys/sunrpc/{name}", SLOTS)
    point = nfs_mounted(gate, tmpfs(gate), "3", timeo=2, retrans=7)
    need_hooks("NFS")
    file = str(point / "f")
    os.stat(file)
    strata = []
    for _ in range(2):
        with Trace("--fs", "nfs", "--op", "read") as trace:
            before = mountstats(point)
            fileio.read_at(file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
            after = mountstats(point)
        strata.append(trace.strata(op="read", fs="nfs"))
        if len(strata) == 1:
            slow_network(RESENT_DELAY_MS, "loss", "1%")
    compare_strata(gate, "resent", strata[1], READS * 2 * RESENT_DELAY_MS * MS, strata[0])
    compare_mountstats(gate, "resent", trace, before, after)
    gate.check("resent.often", counted(trace)["READ"][3] >= READS, found=counted(trace)["READ"][3], wanted=READS)
    compare_slots(gate, "slots", file, "nfs")


@suite("server.session", 300)
def session(gate: Gate) -> None:
    """Version 4.1: a session with few slots."""
    gate.not_native("a file server and a network")
    nfs_modules(gate)
    machine.setting(gate.stack, "/sys/module/nfs/parameters/max_session_slots", SLOTS)
    point = nfs_mounted(gate, tmpfs(gate), "4.1")
    need_hooks("NFS")
    os.stat(point / "f")
    compare_slots(gate, "slots", str(point / "f"), "nfs4")


def compare_before(gate: Gate, file: Path, opened: BinaryIO) -> None:
    """Threads which hung before the start are named, with their servers, and others are not."""
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=50 * MS, size=64)
    commands = [["head", "-c", "1"], ["stat", str(file.parent / "none")],
                ["dd", f"if={disk.path}", "of=/dev/null", "bs=4k", "iflag=direct"]]
    waiting = [subprocess.Popen(c, stdin=opened, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for c in commands]
    time.sleep(1)
    with Trace() as trace:
        time.sleep(2)
        asked = time.monotonic()
    ended = time.monotonic() - asked
    for process in waiting:
        process.kill()
        process.wait()
    rows = {r["comm"]: r for r in trace.json.get("in_progress_before", [])}
    found = {comm: tuple(r[m] for m in ("op", "fs", "stratum", "server", "file")) for comm, r in rows.items()}
    gate.check("before.read", found.get("head") == ("read", "nfs4", "server", "10.99.0.1:/", str(file)),
               found=str(found.get("head")))
    gate.check("before.stat", found.get("stat") == ("meta", "nfs4", "server", "10.99.0.1:/", commands[1][1]),
               found=str(found.get("stat")))
    gate.check("before.what", rows.get("stat", {}).get("what") == "NFS server",
               found=str(rows.get("stat", {}).get("symbol")))
    gate.check("before.short", "dd" not in rows and trace.total("count", op="read", fs="bdev") > 0,
               found=" ".join(sorted(rows)) or "none", reads=trace.total("count", op="read", fs="bdev"))
    gate.check("before.ends", ended <= ENDS_S * patience(), seconds=ended)


@suite("server.dead", 300)
def dead(gate: Gate) -> None:
    """A server that does not answer any more is named within 2 s, and Ctrl-C ends."""
    gate.not_native("a file server and a network")
    nfs_modules(gate)
    point = nfs_mounted(gate, tmpfs(gate))
    need_hooks("NFS")
    os.stat(point / "f")
    opened = gate.stack.enter_context(open(point / "f", "rb"))
    with Trace() as trace:
        machine.run("ip", "link", "set", "client0", "down")
        gate.stack.callback(quietly, "ip", "link", "set", "client0", "up")
        reader = subprocess.Popen(["head", "-c", "1", str(point / "f")], stdout=subprocess.DEVNULL)
        time.sleep(2)
        asked = time.monotonic()
    ended = time.monotonic() - asked
    reader.kill()
    reader.wait()
    rows = [r for r in trace.json["in_progress"] if r["comm"] == "head"]
    gate.check("named", [(r["stratum"], r["server"]) for r in rows] == [("server", "10.99.0.1:/")],
               found=" ".join(f"{r['op']}/{r['stratum']}/{r['server']}" for r in rows) or "none")
    gate.check("ends", ended <= ENDS_S * patience(), seconds=ended)
    compare_before(gate, point / "f", opened)


def nfsd_counts() -> tuple[int, int, int]:
    """Requests, bytes read and bytes written, as the kernel counts them for the server."""
    text = machine.run("ip", "netns", "exec", "server", "cat", "/proc/net/rpc/nfsd")
    lines = {words[0]: words[1:] for words in (line.split() for line in text.splitlines())}
    return int(lines["rpc"][0]), int(lines["io"][0]), int(lines["io"][1])


def drop_caches() -> None:
    os.sync()  # pages that are dirty stay
    Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")


def compare_disk_time(gate: Gate, trace: Trace) -> None:
    """Served operations add up, nothing else was traced, and the time of the disk is in `device`."""
    rows = trace.rows("ops", op="served")
    gate.check("sums", all(sum(ns or 0 for ns in r["strata"].values()) == r["total_ns"] for r in rows))
    gate.check("alone", all(r["op"] == "served" for r in trace.rows("ops")) and not sum(trace.lost().values()),
               lost=str(trace.lost()))
    strata = trace.strata(op="served", fs="ext4")
    gate.check("device", strata["device"] >= 0.9 * READS * DELAY_MS * MS, ms=strata["device"] / MS,
               put_in_ms=READS * DELAY_MS)
    gate.check("sleep", strata["sleep"] + strata["helper"] <= 0.1 * strata["device"],
               ms=(strata["sleep"] + strata["helper"]) / MS)


def compare_served(gate: Gate, file: Path) -> None:
    """Requests and their bytes are as many as the kernel counts; a name that is not there is an error."""
    drop_caches()
    with Trace("--op", "served") as trace:
        before = nfsd_counts()
        fileio.read_at(str(file), range(0, READS << 20, 1 << 20), SIZE, os.O_DIRECT)
        fileio.write_at(str(file), range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT, sync=True)
        for i in range(COLD):
            with suppress(FileNotFoundError):
                os.stat(file.parent / f"none{i}")
        after = nfsd_counts()
    requests, read, written = (b - a for a, b in zip(before, after))
    gate.check("count", trace.total("count", op="served") == requests >= 2 * READS + COLD,
               ours=trace.total("count", op="served"), theirs=requests)
    gate.check("bytes", trace.total("bytes", op="served") == read + written == 2 * READS * SIZE,
               ours=trace.total("bytes", op="served"), theirs=f"{read}/{written}")
    # at first nfsd may refuse to open files, as clients of before may claim theirs; then it is asked again
    gate.check("errors", trace.total("errors", op="served") >= COLD, found=trace.total("errors", op="served"),
               wanted=COLD)
    compare_disk_time(gate, trace)


def compare_keys(gate: Gate, file: Path, name: str, client: str = "10.99.0.2", fs: str = "nfs4") -> None:
    """Served operations have their client's address, or their file, as a key."""
    for key, wanted in (("client", client), ("file", name)):
        with Trace("--by", key) as trace:
            fileio.read_at(str(file), range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
        rows = [r for r in trace.rows("ops", op="served") if r["bytes"]]
        gate.check(f"{key}.name", {(r["key"] or "").endswith(wanted) for r in rows} == {True},
                   found=" ".join(sorted({str(r["key"]) for r in rows})), wanted=wanted)
        gate.check(f"{key}.bytes", sum(r["bytes"] for r in rows) == READS * SIZE,
                   found=sum(r["bytes"] for r in rows), wanted=READS * SIZE)
        others = [r for r in trace.rows("ops", op="read", fs=fs) if r["bytes"]]
        gate.check(f"{key}.local", key == "file" or {r["key"] for r in others} == {"(no client)"},
                   found=" ".join(sorted({str(r["key"]) for r in others})))


@suite("server.served", 600)
def served_requests(gate: Gate) -> None:
    """Requests that nfsd serves to a client in another network namespace."""
    gate.not_native("a file server and a network")
    nfs_modules(gate)
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=DELAY_MS * MS,
                            memory_backed=1, size=64)
    export = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    file = nfs_mounted(gate, export) / "f"
    need_hooks("NFS server")
    os.stat(file)
    compare_served(gate, file)
    compare_keys(gate, file, f"{export.name}/f")


def joined_of(*files: Path) -> tuple[dict[str, Any], str]:
    """The member "joined" of a report, and its text."""
    names = [str(f) for f in files]
    text = subprocess.run([tool.copy(), "report", *names], capture_output=True, text=True, check=True).stdout
    return report("--json", *names)[0].get("joined", {}), text


def compare_joined(gate: Gate, joined: dict[str, Any]) -> None:
    """The delays that were put in are where they belong, and nothing is added or left out."""
    rows = {r["op"]: r for r in joined["rows"]}
    read = [rows[op] for op in READ if op in rows]
    count = sum(r["count"] for r in read)
    longer = joined["requests"]["longer"]  # where nfsd lost the CPU after it had answered: not most of them
    least = max(READS - longer, READS // 2)
    gate.check("count", least <= count <= READS, found=count, wanted=READS, longer=longer)
    for name, ns, nominal in (("network", sum(r["network_ns"] for r in read), 2 * JOIN_NET_MS),
                              ("device", sum(r["strata"]["device"] for r in read), JOIN_DISK_MS)):
        ms = ns / MS / max(1, count)
        gate.check(name, ms >= 0.95 * nominal, ms=ms, put_in_ms=nominal)  # more where the machine is emulated
    writes = rows.get("WRITE", {"count": 0})["count"]
    gate.check("writes", least <= writes <= READS, found=writes, wanted=READS, longer=longer)
    gate.check("sums", all(r["tag_ns"] + r["queue_ns"] + r["network_ns"] + sum(ns or 0 for ns in r["strata"].values())
                           == r["total_ns"] for r in joined["rows"]))
    both = sum(r["count"] for r in joined["rows"])
    for side in ("requests", "served"):
        found = joined[side]
        gate.check(f"{side}.whole", sum(found.values()) == 2 * found["count"] - both, joined=both, found=str(found))
    gate.check("all", both + longer == joined["requests"]["count"], joined=both, found=str(joined["requests"]))


def compare_exported(gate: Gate, recording: Path) -> None:
    """Each recorded request is exported: the sums are those of the report, which the programs have summed up."""
    traces = machine.scratch(gate.kept) / "traces"
    subprocess.run([tool.copy(), "export", str(recording), "--to", "chrome", "-o", str(traces)], check=True)
    events = json.loads(gzip.decompress((traces / "trace.json.gz").read_bytes()))["traceEvents"]
    figures = ("tag_ns", "queue_ns", "server_ns")
    ours: dict[str, list[int]] = {}
    for e in events:
        if e["ph"] == "b" and e["cat"] == "nfs":
            of = ours.setdefault(e["name"], [0] * 4)
            ours[e["name"]] = [n + m for n, m in zip(of, [1] + [e["args"].get(f, 0) for f in figures])]
    theirs = {r["op"]: [r[f] for f in ("count",) + figures] for r in report("--json", str(recording))[0]["servers"]}
    gate.check("exported", ours == theirs and sum(ours.get(op, [0])[0] for op in READ) >= READS,
               ours=str(ours), theirs=str(theirs))
    tracks = {e["args"]["name"] for e in events if e["name"] == "process_name" and e["pid"] >= 1 << 31}
    gate.check("exported.server", tracks == {"10.99.0.1"}, found=str(tracks))


@suite("server.joined", 600)
def joined_requests(gate: Gate) -> None:
    """Two recordings, of the client's process and of nfsd, are one answer."""
    gate.not_native("a file server and a network")
    nfs_modules(gate)
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=JOIN_DISK_MS * MS,
                            memory_backed=1, size=64)
    file = nfs_mounted(gate, machine.mounted(gate.stack, gate.kept, disk, "ext4")) / "f"
    need_hooks("NFS server")
    need_hooks("NFS")
    os.stat(file)
    slow_network(JOIN_NET_MS)
    drop_caches()
    client, server, whole = (machine.scratch(gate.kept) / f"{n}.ios" for n in ("client", "server", "whole"))
    with Record(server, "--comm", "nfsd"), Record(client, "-p", str(os.getpid())):
        fileio.read_at(str(file), range(0, READS << 20, 1 << 20), SIZE, os.O_DIRECT)
        fileio.write_at(str(file), range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT, sync=True)
    joined, text = joined_of(client, server)
    compare_joined(gate, joined)
    ones = report("--events", "json", "--joined", str(client), str(server))[1:]
    wanted = [sum(r[figure] for r in joined["rows"]) for figure in ("count", "total_ns", "network_ns")]
    found = [len(ones), sum(one["total_ns"] for one in ones), sum(one["network_ns"] for one in ones)]
    gate.check("one-by-one", found == wanted, found=str(found), wanted=str(wanted))
    gate.check("text", " at the client: " in text and " network" in text, text=text[-2000:])
    for one in (client, server):
        gate.check(f"{one.stem}.alone", joined_of(one)[0] == {})
    with Record(whole):
        fileio.read_at(str(file), range(0, READS << 20, 1 << 20), SIZE, os.O_DIRECT)
    whole_of = joined_of(whole)[0]
    rows = whole_of["rows"]
    reads = sum(r["count"] for r in rows if r["op"] in READ) + whole_of["requests"]["longer"]
    gate.check("one", reads >= READS, found=str(rows)[:300])
    compare_exported(gate, whole)


# The namespace is the client's: smbd serves in the first one. No packet leaves this machine.
SMB_SERVER, SMB_CLIENT = "10.98.0.1", "10.98.0.2"
SMBD = f"""
[global]
\tnetbios name = SERVER
\tdisable netbios = yes
\tsmb ports = 445
\tinterfaces = {SMB_SERVER}/24
\tbind interfaces only = yes
\tload printers = no
\tpassdb backend = smbpasswd:{{files}}/passwords
\tprivate dir = {{files}}
\tlock directory = {{files}}
\tstate directory = {{files}}
\tcache directory = {{files}}
\tpid directory = {{files}}
\tncalrpc dir = {{files}}/ncalrpc
\tlog file = {{files}}/log
[share]
\tpath = {{point}}
\tread only = no
"""


def smb_network(gate: Gate) -> None:
    inside = ("ip", "netns", "exec", "client")
    machine.run("ip", "netns", "add", "client")
    gate.stack.callback(quietly, "ip", "netns", "del", "client")
    machine.run("ip", "link", "add", "server1", "type", "veth", "peer", "name", "client1", "netns", "client")
    machine.run("ip", "addr", "add", f"{SMB_SERVER}/24", "dev", "server1")
    machine.run("ip", "link", "set", "server1", "up")
    machine.run(*inside, "ip", "addr", "add", f"{SMB_CLIENT}/24", "dev", "client1")
    machine.run(*inside, "ip", "link", "set", "client1", "up")


def smb_served(gate: Gate, export: Path) -> None:
    """Exports @export as "share", for user root."""
    files = machine.scratch(gate.kept) / "samba"
    files.mkdir(exist_ok=True)
    conf = files / "smb.conf"
    conf.write_text(SMBD.format(files=files, point=export), encoding="ascii")
    subprocess.run(["smbpasswd", "-c", conf, "-s", "-a", "root"], input="secret\nsecret\n", text=True, check=True,
                   capture_output=True)
    daemon = subprocess.Popen(["smbd", "-F", "--no-process-group", "-s", str(conf)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    gate.stack.callback(daemon.wait, 60)
    gate.stack.callback(os.killpg, daemon.pid, signal.SIGTERM)


def smb_point(gate: Gate, *more: str) -> Path:
    """The share, mounted by SMB 3.1.1 with options @more."""
    point = machine.scratch(gate.kept) / "-".join(("smb", *more))
    point.mkdir(exist_ok=True)
    options = ",".join((f"ip={SMB_SERVER},username=root,password=secret,vers=3.1.1", *more))
    argv = ["nsenter", "--net=/run/netns/client", "mount", "-i", "-t", "cifs", "-o", options, f"//{SMB_SERVER}/share",
            str(point)]
    gate.stack.callback(quietly, "umount", "-f", str(point))
    machine.wait_until(lambda: subprocess.run(argv, capture_output=True, check=False).returncode == 0, 60)
    return point


def smb_mounted(gate: Gate, export: Path) -> Path:
    """A share of Samba, with a file of 16 MiB."""
    if not shutil.which("smbd"):
        raise Skip("no smbd (tests/setup)")
    for module in ("cifs", "veth", "sch_netem"):
        machine.need_module(gate.stack, module)
    (export / "f").write_bytes(os.urandom(1 << 20) * 16)
    smb_network(gate)
    smb_served(gate, export)
    return smb_point(gate)


def smb_slow() -> None:
    for device in (("server1",), ("client1", "ip", "netns", "exec", "client")):
        machine.run(*device[1:], "tc", "qdisc", "add", "dev", device[0], "root", "netem", "delay", f"{SMB_DELAY_MS}ms")


# As /proc/fs/cifs/Stats calls commands.
SMB_STATS = {"Creates": "CREATE", "Closes": "CLOSE", "Flushes": "FLUSH", "Reads": "READ", "Writes": "WRITE",
             "QueryDirectories": "QUERY_DIRECTORY", "QueryInfos": "QUERY_INFO", "SetInfos": "SET_INFO"}


def smb_stats() -> dict[str, int]:
    """Requests by command, as the kernel counts them for the share."""
    text = Path("/proc/fs/cifs/Stats").read_text(encoding="ascii").partition("\\share\n")[2]
    return {SMB_STATS[name]: int(count) for name, count in re.findall(r"(\w+): (\d+) total", text) if name in SMB_STATS}


def compare_commands(gate: Gate, point: Path) -> None:
    """Rows have as many requests as the kernel counts, and the time of the network in each."""
    time.sleep(1.5)  # files that were closed before are now closed on the server
    with Trace() as trace:
        before = smb_stats()
        fileio.read_at(str(point / "f"), range(0, READS << 20, 1 << 20), SIZE, os.O_DIRECT)
        fileio.write_at(str(point / "f"), range(0, COLD * SIZE, SIZE), SIZE, os.O_DIRECT, sync=True)
        os.listdir(point)
        for i in range(COLD):
            with suppress(FileNotFoundError):
                os.stat(point / f"none{i}")
        time.sleep(1.5)
        after = smb_stats()
    rows = [r for r in trace.json["servers"] if r["protocol"] == "smb"]
    ours = {r["op"]: r["count"] for r in rows}
    theirs = {op: after[op] - before[op] for op in after if after[op] != before[op]}
    # what was sent together with a CREATE that failed, and was to follow it, has no event of its end
    answered = {op: n - (COLD if op in ("QUERY_INFO", "CLOSE") else 0) for op, n in theirs.items()}
    gate.check("stats", {op: n for op, n in ours.items() if op in after} == answered and theirs["READ"] == READS and
               theirs["WRITE"] == COLD and "FLUSH" in theirs, ours=str(ours), theirs=str(theirs))
    gate.check("server", {r["server"] for r in rows} == {SMB_SERVER}, found=str({r["server"] for r in rows}))
    failed = {r["op"]: r["errors"] for r in rows if r["errors"]}
    gate.check("errors", failed.get("CREATE") == COLD and not {"READ", "WRITE", "QUERY_DIRECTORY"} & set(failed),
               found=str(failed), wanted=COLD)
    fastest = min(r["server_mean_ns"] for r in rows) / MS
    gate.check("mean", fastest >= 2 * SMB_DELAY_MS, ms=fastest, wanted=2 * SMB_DELAY_MS)
    unknown = {r[figure] for r in rows for figure in ("sent_bytes", "received_bytes", "tag_ns", "queue_ns", "mount")}
    gate.check("unknown", unknown == {None}, found=str(unknown))
    gate.check("lost", not trace.lost_here(), lost=str(trace.lost()))


@suite("server.smb", 600)
def smb(gate: Gate) -> None:
    """The client of SMB in a network namespace, and a server in another one."""
    gate.not_native("a file server and a network")
    point = smb_mounted(gate, tmpfs(gate))
    need_hooks("SMB")
    file = str(point / "f")
    smb_slow()
    with Trace("--fs", "cifs", "--op", "read", "--by", "server") as trace:
        fileio.read_at(file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
    compare_strata(gate, "direct", trace.strata(op="read", fs="cifs"), READS * 2 * SMB_DELAY_MS * MS)
    keys = {r["key"] for r in trace.rows("ops", op="read", fs="cifs")}
    gate.check("by", keys == {SMB_SERVER}, found=str(keys))
    compare_commands(gate, point)
    with Trace("--fs", "cifs", "--by", "cache") as trace:
        read_cold(file)
    compare_cold(gate, "cold", trace, "cifs")
    recording = machine.scratch(gate.kept) / "server.ios"
    with Record(recording):
        fileio.read_at(file, range(0, READS * SIZE, SIZE), SIZE, os.O_DIRECT)
    compare_ones(gate, "smb", SMB, recording)


def ksmbd_mounted(gate: Gate, export: Path) -> Path:
    """A share of the kernel's own server, with a file of 16 MiB."""
    for module in ("ksmbd", "cifs", "veth"):
        machine.need_module(gate.stack, module)
    (export / "f").write_bytes(os.urandom(1 << 20) * 16)
    smb_network(gate)
    serve = (sys.executable, str(Path(__file__).with_name("ksmbd_server.py")), str(export), "server1")
    proc = subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    gate.stack.callback(proc.communicate, timeout=60 * patience())
    assert proc.stdout
    if proc.stdout.readline() != "ready\n":
        raise Broken(f"ksmbd does not come up: exit {proc.wait(5)}")
    return smb_point(gate)


def io_of_share(point: Path) -> None:
    """READS reads, each of which needs the disk; COLD writes; COLD names that are not there."""
    drop_caches()
    fileio.read_at(str(point / "f"), range(0, READS << 20, 1 << 20), SIZE, os.O_DIRECT)
    fileio.write_at(str(point / "f"), range(0, COLD * SIZE, SIZE), SIZE, os.O_DIRECT, sync=True)
    for i in range(COLD):
        with suppress(FileNotFoundError):
            os.stat(point / f"none{i}")


def compare_ksmbd(gate: Gate, point: Path) -> None:
    """Reads and writes are as many as the client counts. A name that is not there is an error. The disk's time is
    device."""
    time.sleep(1.5)  # files that were closed before are now closed on the server
    with Trace("--op", "served") as trace:
        before = smb_stats()
        io_of_share(point)
        after = smb_stats()
    gate.check("stats", [after[op] - before[op] for op in ("READ", "WRITE")] == [READS, COLD],
               theirs=str({op: after[op] - before[op] for op in after}))
    gate.check("bytes", trace.total("bytes", op="served") == (READS + COLD) * SIZE,
               found=trace.total("bytes", op="served"), wanted=(READS + COLD) * SIZE)
    gate.check("errors", trace.total("errors", op="served") == COLD, found=trace.total("errors", op="served"),
               wanted=COLD)
    compare_disk_time(gate, trace)


def compare_calls(gate: Gate, name: str, point: Path, path: str) -> None:
    """Each operation has its command, file and result; of messages with several commands, the first. No operation is
    taken for one of NFS."""
    file = machine.scratch(gate.kept) / f"{name}.ios"
    time.sleep(1.5)
    with Record(file):
        before = smb_stats()
        io_of_share(point)
        after = smb_stats()
    ops = [e for e in report("--events", "json", str(file))[1:] if e.get("op") == "served"]
    calls = {call: sum(e["call"] == call for e in ops) for call in {e["call"] for e in ops}}
    theirs = {op: after[op] - before[op] for op in ("READ", "WRITE", "CREATE")}
    gate.check(f"{name}.calls", {op: calls.get(f"smb_{op.lower()}") for op in theirs} == theirs and
               theirs["READ"] == READS and theirs["WRITE"] == COLD and "smb_request" not in calls,
               ours=str(calls), theirs=str(theirs))
    moved = [e for e in ops if e["call"] in ("smb_read", "smb_write")]
    gate.check(f"{name}.each", all(e["result"] == SIZE and e["path"].endswith(path) for e in moved),
               found=str({(e["result"], e["path"]) for e in moved}))
    failed = [(e["call"], e["error"]) for e in ops if e["result"] < 0]
    gate.check(f"{name}.failed", failed == COLD * [("smb_create", "ENOENT")], found=str(failed))
    gate.check(f"{name}.sums", all(sum(e[f"{s}_ns"] or 0 for s in capture.STRATA) == e["total_ns"] for e in ops))
    gate.check(f"{name}.joined", "joined" not in report("--json", str(file))[0])


def compare_at_once(gate: Gate, point: Path) -> None:
    """Several readers and writers at once: each byte is counted once, or told as lost."""
    file = str(point / "f")
    with Trace("--op", "served") as trace:
        before = smb_stats()
        threads = [threading.Thread(target=work, args=(file, range(i << 20, (i << 20) + FILES * SIZE, SIZE), SIZE,
                                                       os.O_DIRECT))
                   for i in range(READERS) for work in (fileio.read_at, fileio.write_at)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = smb_stats()
    wanted = READERS * FILES
    gate.check("at-once.stats", [after[op] - before[op] for op in ("READ", "WRITE")] == [wanted, wanted], wanted=wanted,
               theirs=str({op: after[op] - before[op] for op in after}))
    lost = sum(trace.lost().values())
    found = trace.total("bytes", op="served")
    gate.check("at-once.bytes", 2 * wanted * SIZE - lost * SIZE <= found <= 2 * wanted * SIZE, found=found,
               wanted=2 * wanted * SIZE, lost=lost)
    gate.check("at-once.sums", all(sum(ns or 0 for ns in r["strata"].values()) == r["total_ns"]
                                   for r in trace.rows("ops", op="served")))
    # where the kernel preempts programs, a few ends are missed
    gate.check("at-once.lost", lost <= (0 if tool.doctor()["preemption"] else wanted // 50), lost=str(trace.lost()))


@suite("server.ksmbd", 600)
def ksmbd(gate: Gate) -> None:
    """The kernel's SMB server serves a client of another network namespace."""
    gate.not_native("a file server and a network")
    if machine.release() == (6, 1):
        raise Skip("the ksmbd of 6.1.192 fails at a client's first CREATE: opinfo_put() gets NULL")
    disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=DELAY_MS * MS,
                            memory_backed=1, size=64)
    export = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    point = ksmbd_mounted(gate, export)
    need_hooks("SMB server")
    compare_ksmbd(gate, point)
    compare_keys(gate, point / "f", f"{export.name}/f", SMB_CLIENT, "cifs")
    compare_calls(gate, "plain", point, f"{export.name}/f")
    compare_at_once(gate, point)
    machine.run("umount", str(point))
    compare_calls(gate, "sealed", smb_point(gate, "seal"), f"{export.name}/f")
