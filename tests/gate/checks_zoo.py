# SPDX-License-Identifier: GPL-2.0-only
"""Every way of fio to do I/O, against fio's own figures; and where threads of others sleep."""
from __future__ import annotations

import errno
import itertools
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import fileio
import machine
from checks_storm import leftovers
from harness import Gate, Skip, patience, suite
from oracles import Json
from tool import Trace

MS = 1_000_000
# ioengine and options, by what they are called here. With several at a time fio sees what is done only after it
# has submitted all that it may, so the device takes longer than that.
SINGLE = {"psync": "psync", "pvsync2": "pvsync2", "splice": "splice", "mmap-read": "mmap", "mmap-write": "mmap",
          "uring-1": "io_uring --iodepth=1", "hipri": "io_uring --iodepth=1 --hipri=1"}
QUEUED = {"uring-64": "io_uring --iodepth=64", "sqpoll": "io_uring --iodepth=16 --sqthread_poll=1",
          "fixed": "io_uring --iodepth=16 --fixedbufs=1 --registerfiles=1",
          "libaio": "libaio --iodepth=16", "posixaio": "posixaio --iodepth=8"}
# fio's threads have to wait for one another, or for the submission
SEEN_LATE = ("uring-64", "sqpoll", "libaio", "posixaio")
SINGLE_MS, QUEUED_MS = 5, 100
KINDS = {"splice": "copy", "mmap-read": "fault", "mmap-write": "fault", "libaio": "aio",
         **dict.fromkeys(("uring-1", "hipri", "uring-64", "sqpoll", "fixed"), "uring")}
BLOCKS = 64


def delayed(gate: Gate, ms: int, **settings: int) -> str:
    """A directory on ext4 on a device that takes @ms; on the machine itself, on a fast one."""
    try:
        disk = machine.null_blk(gate.stack, gate.kept, queue_mode=2, irqmode=2, completion_nsec=ms * MS,
                                memory_backed=1, size=96, **settings)
    except Skip:
        disk = machine.loop(gate.stack, gate.kept, 64)
    return str(machine.mounted(gate.stack, gate.kept, disk, "ext4", "noatime,nodelalloc"))


def ways(name: str) -> list[tuple[str, int]]:
    """Reads and writes, buffered and direct, as far as the engine has them; what is dirty comes last."""
    every = [("read", 0), ("read", 1), ("write", 1), ("write", 0)]
    if name == "hipri":
        return [way for way in every if way[1]]
    if name.startswith("mmap-"):  # only who is first finds nothing cached
        return [(name.removeprefix("mmap-"), 0)]
    return [way for way in every if name != "splice" or not way[1]]


class Jobs:
    """An engine's jobs of a run of fio, one for each way, and what it says of them."""

    def __init__(self, name: str, file: str, said: list[Json]) -> None:
        self.name, self.file = name, file
        self.error = max(job["error"] for job in said)
        self.done: list[Json] = [job[op] for job, (op, _) in zip(said, ways(name))]

    def mean(self, what: str) -> float:
        """The mean of @what over all ways to read or write."""
        return sum(way[what]["mean"] * way["total_ios"] for way in self.done) / (BLOCKS * len(self.done))


def run_all(files: dict[str, str]) -> list[Jobs]:
    """Runs each engine of fio on its file."""
    argv = ["fio", "--output-format=json", "--thread", "--bs=4k", f"--size={BLOCKS * 4}k"]
    for name, file in files.items():
        fileio.forget(file)
        for op, direct in ways(name):
            argv += [f"--name={name}", f"--filename={file}", f"--rw=rand{op}", f"--direct={direct}", "--stonewall",
                     *f"--ioengine={(SINGLE | QUEUED)[name]}".split()]
    out = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, timeout=240 * patience()).stdout
    said = json.loads(out[out.index("{"):])["jobs"]
    return [Jobs(name, file, [job for job in said if job["jobname"] == name]) for name, file in files.items()]


def is_write(row: Json) -> bool:
    return "write" in (row.get("call") or row["op"])


def compare_counts(gate: Gate, jobs: Jobs, rows: list[Json]) -> bool:
    kind = KINDS.get(jobs.name)
    apart = kind not in ("copy", "fault")  # where a read and a write are two kinds of operations
    wanted = {op: BLOCKS * sum(way[0] == op for way in ways(jobs.name)) for op in ("read", "write")}
    theirs = {op: sum(done["total_ios"] for done, way in zip(jobs.done, ways(jobs.name)) if way[0] == op)
              for op in wanted}
    ours = {op: sum(row["count"] for row in rows if is_write(row) == (op == "write")) for op in wanted}
    nbytes = 0 if kind == "fault" else 4096 * sum(wanted.values())  # a fault returns none
    alike = ours == theirs if apart else sum(ours.values()) == sum(theirs.values())
    return gate.check(f"{jobs.name}.counts",
                      alike and theirs == wanted and sum(row["bytes"] for row in rows) == nbytes and
                      not any(row["errors"] for row in rows), ours=str(ours), fio=str(theirs),
                      bytes=sum(row["bytes"] for row in rows), error=jobs.error)


def compare_times(gate: Gate, jobs: Jobs, rows: list[Json]) -> None:
    """fio's latency is from before the submission until fio sees the end, its clat from after it. Where the
    device takes nearly all of it these are alike."""
    total = sum(row["total_ns"] for row in rows)
    mean, clat, lat = total / sum(row["count"] for row in rows), jobs.mean("clat_ns"), jobs.mean("lat_ns")
    least = 0.0
    if not gate.native and jobs.name != "hipri":  # polled requests have no delay
        slow = [direct or op == "read" or jobs.name == "mmap-write" for op, direct in ways(jobs.name)]
        from_device = sum(slow) / len(slow)
        least = 0.9 * from_device * (QUEUED_MS if jobs.name in QUEUED else SINGLE_MS) * MS
        if jobs.name not in SEEN_LATE:
            least = max(least, 0.9 * clat)
    gate.check(f"{jobs.name}.mean", least <= mean <= lat, ours_us=mean / 1000, least_us=least / 1000,
               fio_clat_us=clat / 1000, fio_lat_us=lat / 1000)
    unknown = ["sleep"] if KINDS.get(jobs.name) in ("uring", "aio") else ["sleep", "helper"]
    unexplained = sum(row["strata"][name] or 0 for row in rows for name in unknown)
    limit = 0.05 if jobs.name == "mmap-write" else 0.01  # a page that becomes dirty may wait for the journal
    gate.check(f"{jobs.name}.explained", unexplained <= limit * total, limit=f"{limit:.0%}",
               share=f"{unexplained / total:.2%}")


@suite("zoo.fio", 300)
def every_engine(gate: Gate) -> None:
    """Counts and bytes are fio's, whatever it calls; so are the times, and they are explained."""
    points = {"single": delayed(gate, SINGLE_MS, poll_queues=1), "queued": delayed(gate, QUEUED_MS)}
    files = {name: fileio.make_file(f"{points['single' if name in SINGLE else 'queued']}/{name}", 1)
             for name in (*SINGLE, *QUEUED)}
    os.sync()
    with Trace("--file", points["single"], "--file", points["queued"], "--by", "file") as trace:
        with ThreadPoolExecutor() as pool:  # fio waits most of the time
            done = list(pool.map(run_all, [{n: f for n, f in files.items() if n in some} for some in (SINGLE, QUEUED)]))
    for jobs in itertools.chain(*done):
        kinds = [KINDS[jobs.name]] if jobs.name in KINDS else ["read", "write"]
        if kinds[0] in trace.json["missing"]:
            gate.skip(jobs.name, "this kernel does not tell these operations")
        elif jobs.name == "hipri" and jobs.error == errno.EOPNOTSUPP:
            gate.skip(jobs.name, "this disk cannot be polled")
        else:
            rows = [row for row in trace.rows(key=jobs.file) if row["op"] in kinds]
            if compare_counts(gate, jobs, rows):
                compare_times(gate, jobs, rows)


@suite("zoo.waits")
def what_is_waited_for(gate: Gate) -> None:
    """Threads that are in each other's way sleep for locks; next to no sleep is left that is for none of the
    known reasons, and what is left is named."""
    disk = machine.loop(gate.stack, gate.kept, 256)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    stress = ["stress-ng", "--quiet", "--temp-path", str(point), "--timeout", "2"]
    fio = ["fio", "--output=/dev/null", "--size=16m", f"--filename={point}/one", "--bs=16k", "--time_based",
           "--runtime=2", "--rw=randwrite"]
    with Trace("--why", "--fs", "ext4") as trace:
        machine.run(*stress, "--iomix", "2", "--iomix-bytes", "32m")
        machine.run(*stress, "--dir", "2")
        machine.run(*fio, *(f"--name={name}" for name in ("a", "b", "c", "d")))
    if "lock" in trace.json["missing"]:
        raise Skip("this kernel does not tell of its locks")
    total, strata = trace.total("total_ns"), trace.strata()
    named = sum(row["total_ns"] for row in trace.rows("sleep_why") if row["what"])
    left = strata["sleep"] - named
    gate.check("lock", strata["lock"] >= total / 50, share=f"{strata['lock'] / total:.2%}", total_s=total / 1e9)
    gate.check("named", left <= total / 50, sleep=f"{strata['sleep'] / total:.2%}", not_named=f"{left / total:.2%}")


@suite("zoo.stress", 400)
def stressed(gate: Gate) -> None:
    """stress-ng's io_uring, both its ways of asynchronous I/O, and mapped files, at once: nothing is kept of
    what is no more, and nothing is lost."""
    disk = machine.loop(gate.stack, gate.kept, 256)
    point = machine.mounted(gate.stack, gate.kept, disk, "ext4")
    stressors = ("io-uring", "aio", "aiol", "mmap")
    names = ["stress-ng", *(f"stress-ng-{name}"[:15] for name in stressors)]
    with Trace("--comm", ",".join(names)) as trace:
        # some kernels know more of io_uring than stress-ng does, which then fails, but not before it was done
        seconds = "4" if gate.native else "2"
        run = subprocess.run(["stress-ng", "--quiet", "--temp-path", str(point), "--timeout", seconds, "--mmap-file",
                              *(word for name in stressors for word in (f"--{name}", "2"))], check=False)
        machine.wait_for(lambda: not any(leftovers(trace, disk).values()), 20)
        left = leftovers(trace, disk)
    lost, kinds = trace.lost(), {op: trace.total("count", op=op) for op in ("uring", "aio", "fault", "read", "write")}
    untold = left.pop("ios") if gate.native else 0
    gate.check("empty", not any(left.values()), untold=untold, status=run.returncode, **left)
    # natively a request whose completion no program saw; and a fault whose mapping others change while it is looked up
    known = lost["unmatched_requests"] + lost["unattributed"] if gate.native else 0
    gate.check("lost", sum(lost.values()) == known, **lost)
    gate.check("kinds", all(n or op in trace.json["missing"] for op, n in kinds.items()), **kinds)
