# SPDX-License-Identifier: GPL-2.0-only
"""Containers made by hand, each of cgroups of its own, a mount namespace and a pid namespace, in which
a file of the same path is another: told apart by cgroup and container, live, later and on top. And
containers of podman, by their names."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import fileio
import machine
from checks_record import Record, report
from checks_serve import ANY_PORT, scrape, served_at
from harness import Broken, Gate, Skip, patience, suite
from places import place
from tool import ROOT, Json, Top, Trace, Traces

OUTSIDE, NONE = 11, "(no container)"
UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"


class Box:
    """A container: how its cgroups are called, and how often each of them reads its file."""

    def __init__(self, name: str, form: str, reads: dict[str, int]) -> None:
        self.id = hashlib.sha256(f"{name} {os.getpid()}".encode()).hexdigest()
        self.name, self.reads = name, reads
        self.path = form.format(self.id)

    def groups(self, gate: Gate) -> dict[Path, int]:
        return {machine.cgroup(gate.stack, f"{self.path}{below}"): n for below, n in self.reads.items()}

    def all(self) -> int:
        return sum(self.reads.values())


def boxes() -> list[Box]:
    """One as systemd's units are called, and a pod's of two cgroups as they are without it."""
    return [Box("first", "docker-{}.scope", {"": 23}),
            Box("second", f"kubepods/burstable/pod{UID}/{{}}", {"/init": 41, "/app": 13})]


def dd(file: str, n: int) -> str:
    return f"dd if={file} of=/dev/null bs=4k count={n} iflag=direct status=none"


def run_in(group: Path, script: str) -> None:
    subprocess.run(["sh", "-ec", f'echo $$ >"{group}/cgroup.procs"; {script}'], check=True)


def contained(group: Path, root: Path, point: Path, n: int) -> None:
    """Reads @point/file, which is @root's there, as process 1 of its namespace."""
    inside = f'mount --bind {root} {point}; test $$ = 1; {dd(f"{point}/file", n)}'
    run_in(group, f"exec unshare --mount --pid --fork sh -ec '{inside}'")


def sums(rows: list[Json]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        found[str(row["key"])] = found.get(str(row["key"]), 0) + row["count"]
    return found


def members(rows: list[Json]) -> set[tuple[str | None, ...]]:
    return {(row["key"], row["container"], row["runtime"], row["pod"]) for row in rows}


def path_of(group: Path) -> str:
    """The path of @group in /proc/PID/cgroup."""
    mounted = next(p for p in group.parents if os.path.ismount(p))
    return "/" + str(group.relative_to(mounted))


@suite("A1.containers", 300)
def containers(gate: Gate) -> None:
    there, file = place(gate, "ext4"), machine.scratch(gate.kept) / "containers.ios"
    made, point = boxes(), there.point / "point"
    for directory in (point, *(there.point / box.name for box in made)):
        directory.mkdir()
        fileio.make_file(str(directory / "file"), 1)
    os.sync()
    groups = {box.name: box.groups(gate) for box in made}
    of_disk = ("--op", "read", "-d", there.disk.name)
    keys = ("container", "cgroup", "file")
    traces: dict[str, Trace] = {by: Trace("--by", by, *of_disk) for by in keys}
    traces |= {"record": Record(file, "-d", there.disk.name, "-j", "--by", "container"),
               "top": Top("--by", "container", *of_disk, "0.5")}
    with Traces(traces):
        for box in made:
            for group, n in groups[box.name].items():
                contained(group, there.point / box.name, point, n)
        subprocess.run(dd(f"{point}/file", OUTSIDE).split(), check=True)
    wanted = {box.id: box.all() for box in made} | {NONE: OUTSIDE}
    for name, rows in {"live": traces["container"].rows(op="read"),
                       "requests": traces["container"].rows("requests", op="R"),
                       "recorded": traces["record"].rows(op="read"),
                       "report": report("-j", "--by", "container", "--op", "read", str(file))[0]["ops"],
                       "top": traces["top"].rows("ops", op="read"),
                       "top.requests": traces["top"].rows("rows", op="R")}.items():
        gate.check(name, sums(rows) == wanted, found=str(sums(rows)), wanted=str(wanted))
    whose = {(made[0].id, made[0].id, "docker", None), (made[1].id, made[1].id, None, UID),
             (NONE, None, None, None)}
    rows = traces["container"].rows(op="read") + traces["container"].rows("requests", op="R")
    gate.check("members", members(rows) == whose, found=str(members(rows)), wanted=str(whose))
    by_cgroup = sums(traces["cgroup"].rows(op="read"))
    paths = {path_of(group): n for box in made for group, n in groups[box.name].items()}
    others = {key: n for key, n in by_cgroup.items() if key not in paths}
    gate.check("cgroup", by_cgroup == paths | others and sum(others.values()) == OUTSIDE,
               found=str(by_cgroup), wanted=str(paths))
    # each file, and none twice: all have the same path
    by_file = sums(traces["file"].rows(op="read"))
    inodes = {(there.point / box.name / "file").stat().st_ino: box.all() for box in made}
    inodes[(point / "file").stat().st_ino] = OUTSIDE
    seen = {ino: sum(n for key, n in by_file.items() if key.startswith(f"{point}/file (inode {ino} on "))
            for ino in inodes}
    gate.check("file", seen == inodes and sum(by_file.values()) == sum(inodes.values()), found=str(by_file))
    events = [ev for ev in report("--events", "json", str(file))[1:] if ev["type"] == "op" and ev["op"] == "read"]
    found = {who: sum(ev["container"] == who for ev in events) for who in (*(box.id for box in made), None)}
    gate.check("events", found == {box.id: box.all() for box in made} | {None: OUTSIDE}, found=str(found))


@suite("A1.containers.gone")
def gone(gate: Gate) -> None:
    """A container that ends while it is traced is known by its name; one that is gone at once by its
    number, if that was too fast, and counted. Nothing of either is lost."""
    there = place(gate, "ext4")
    file = fileio.make_file(str(there.point / "file"), 1)
    os.sync()
    soon, once = (Box(name, "docker-{}.scope", {"": n}) for name, n in (("soon", 23), ("once", 41)))
    parent, numbers = machine.cgroup(gate.stack, "gone"), {}
    with Trace("--by", "container", "--op", "read", "-d", there.disk.name) as trace:
        for box in (soon, once):
            group = parent / box.path
            group.mkdir()
            numbers[box.name] = f"cgroup {group.stat().st_ino}"
            run_in(group, f"exec {dd(file, box.all())}")
            time.sleep(6 if box is soon else 0)
            machine.wait_until(lambda: not machine.get(group / "cgroup.procs"))
            group.rmdir()
        time.sleep(1)
    found = sums(trace.rows(op="read"))
    unnamed = numbers["once"] in found
    gate.check("soon", found.pop(soon.id, 0) == 23, found=str(found))
    gate.check("once", found == {numbers["once"] if unnamed else once.id: 41}, found=str(found))
    gate.check("counted", trace.json["unnamed_cgroups"] == unnamed, unnamed=trace.json["unnamed_cgroups"])


PODMAN = ROOT / "build/podman/usr"  # of tests/podman
STATIC = ROOT / "build" / f"iostrata-static-{os.uname().machine}"
IMAGE = "localhost/iostrata-gate:1"
IN_CONTAINERS = {"gate-first": 101, "gate-second": 1009}  # reads of 4096 bytes
SUM = re.compile(r'iostrata_operation_bytes_total\{op="read",fs="ext4",.*container="([^"]*)".*\} (\d+)')
TWO = 1 << 38 | 1 << 39  # CAP_PERFMON, CAP_BPF
CAPABILITIES = re.compile(r"Cap(?:Prm|Eff|Bnd|Inh|Amb):\t(\w+)")


class Podman:
    """podman with a storage for any file system, and cgroups without systemd."""

    argv = ["podman", "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none"]
    # its profile of 2022 forbids bpf() to all but CAP_SYS_ADMIN
    unfiltered = "--security-opt=seccomp=unconfined"

    def __init__(self, gate: Gate) -> None:
        files = (*PODMAN.glob("bin/*"), *PODMAN.glob("lib/*-linux-gnu/*.so*"))
        for file in files if not shutil.which("podman") else ():
            place_of = Path("/usr") / file.relative_to(PODMAN)
            if not place_of.exists():
                place_of.symlink_to(file)
                gate.stack.callback(place_of.unlink)
        if not shutil.which("podman"):
            raise Skip("no podman: tests/podman fetches it")
        policy = Path("/etc/containers/policy.json")
        if not policy.exists():
            policy.parent.mkdir(exist_ok=True)
            policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}', encoding="ascii")
        self.import_root(machine.scratch(gate.kept) / "image")

    def import_root(self, root: Path) -> None:
        """An image without files, for the programs of this machine."""
        (root / "usr").mkdir(parents=True)
        for name in ("lib", "lib64"):
            (root / name).symlink_to(f"usr/{name}")
        machine.run("tar", "-C", str(root), "-cf", f"{root}.tar", ".")
        self.run("import", f"{root}.tar", IMAGE)

    def build(self) -> str:
        """Makes the tool's image as `make image` does; returns its name."""
        if not STATIC.exists():
            raise Skip(f"no {STATIC.name} (make static)")
        said = machine.run("make", "-C", str(ROOT), "-o", "static", "image", f"CONTAINER_TOOL={' '.join(self.argv)}",
                           timeout=200)
        return re.findall(r"Successfully tagged (\S+)", said)[-1]

    def run(self, *args: str, errors: int = subprocess.PIPE) -> str:
        """Runs podman with @args to its end; returns its output. @errors: where its stderr goes."""
        done = subprocess.run([*self.argv, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                              text=True, timeout=100 * patience(), check=False)
        if done.returncode:
            raise Broken(f"podman {args[0]}: exit {done.returncode}: {done.stderr or done.stdout}")
        return done.stdout

    def fio(self, name: str, data: Path, n: int) -> int:
        """Bytes that fio says it read: @n blocks of the file @name, in a container of this name."""
        said = self.run("run", "--name", name, "--network=none", self.unfiltered, "-v=/usr:/usr:ro",
                        f"-v={data}:/data", IMAGE, "/usr/bin/fio", "--name=reads", f"--filename=/data/{name}",
                        "--rw=read", "--bs=4k", f"--size={n * 4096}", "--ioengine=psync", "--output-format=json")
        return int(json.loads(said[said.index("{"):])["jobs"][0]["read"]["io_bytes"])


class Served:
    """The tool in a container, as iostrata.yaml has it: two capabilities, a root to read."""

    def __init__(self, runtime: Podman, image: str) -> None:
        names = "/var/lib/containers/storage/vfs-containers"
        self.runtime, self.address = runtime, ""
        self.id = runtime.run("run", "-d", "--pid=host", "--network=host", "--read-only", "--cap-drop=all",
                              "--cap-add=BPF", "--cap-add=PERFMON", "--security-opt=no-new-privileges",
                              runtime.unfiltered, "-v=/sys/fs/cgroup:/sys/fs/cgroup:ro", f"-v={names}:{names}:ro",
                              image, "serve", "--listen", ANY_PORT, "--by", "container").strip()

    def said(self) -> str:
        return self.runtime.run("logs", self.id, errors=subprocess.STDOUT)

    def answers(self) -> bool:
        """Whether there is anything to scrape yet."""
        self.address = served_at(self.said())
        return bool(self.address and scrape(self.address))

    def end(self) -> str:
        """Ends the container; returns its log."""
        said = self.said()
        self.runtime.run("rm", "-f", self.id)
        return said

    def bytes_read(self) -> dict[str, int]:
        return {name: int(n) for name, n in SUM.findall(scrape(self.address))}

    def capabilities(self) -> list[set[int]]:
        """Capabilities of the tracing process, and of the listener: for each, those of its sets that are not empty."""
        tracer = self.runtime.run("inspect", "--format={{.State.Pid}}", self.id).strip()
        found = []
        for pid in (tracer, machine.get(f"/proc/{tracer}/task/{tracer}/children")):
            sets = CAPABILITIES.findall(machine.get(f"/proc/{pid}/status"))
            found.append({int(each, 16) for each in sets} - {0})
        return found


@suite("A1.containers.podman", 500)
def podman(gate: Gate) -> None:
    """The tool's image serves with two capabilities and nothing else. Containers have the names that podman gave
    them, and the bytes that fio says it read in each."""
    gate.not_native("images and containers of podman")
    runtime, there = Podman(gate), place(gate, "ext4")
    for name, n in IN_CONTAINERS.items():
        fileio.make_file(str(there.point / name), 4 * n // 1024 + 1)
    serve = Served(runtime, runtime.build())
    try:
        machine.wait_until(serve.answers, 120)
        wanted = {name: runtime.fio(name, there.point, n) for name, n in IN_CONTAINERS.items()}
        machine.wait_for(lambda: serve.bytes_read() == wanted, 10)
        found, capabilities = serve.bytes_read(), serve.capabilities()
    finally:
        said = serve.end()
    gate.check("bytes", found == wanted and wanted == {name: n * 4096 for name, n in IN_CONTAINERS.items()},
               found=str(found), wanted=str(wanted))
    # of the listener, only the bounding set has them
    gate.check("capabilities", capabilities == [{TWO}, {TWO}],
               found=str([[hex(each) for each in sets] for sets in capabilities]))
    gate.check("said", bool(served_at(said)) and "error" not in said,
               said=" / ".join(said.splitlines()))
