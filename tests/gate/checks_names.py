# SPDX-License-Identifier: GPL-2.0-only
"""Names of files: as the process that uses them sees them, whatever is mounted where; and one name
for one file, also when the number of an inode is used again."""
from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

import fileio
import machine
import oracles
import places
from checks_record import Record, report
from harness import Gate, Skip, suite
from machine import run
from tool import Trace, Traces, doctor, shared

REUSED, UNLINKED = 499, 23
BUSYBOX = "/bin/busybox"


def read(file: str) -> str:
    return f"head -c 3 <{file} >/dev/null\n"


def compare(gate: Gate, name: str, trace: Trace, wanted: set[str]) -> None:
    """The files that were read, and no other of those directories."""
    keys = {row["key"] for row in trace.rows(op="read")}
    top = os.path.commonpath([w for w in wanted if w.startswith("/var") or w.startswith("/tmp")])
    found = {k for k in keys if k in wanted or k.startswith(top + "/")}
    lost = trace.lost()["names"]
    gate.check(name, found == wanted and not lost, files=len(wanted), lost=lost,
               missed=",".join(sorted(wanted - found)) or "none",
               others=",".join(sorted(found - wanted)) or "none")


def fill(directory: Path, *names: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text(name, encoding="ascii")


def new_point(gate: Gate) -> Path:
    point = Path(run("mktemp", "-d", str(machine.scratch(gate.kept) / "mnt.XXXXXX")).strip())
    gate.stack.callback(point.rmdir)
    return point


def mount(gate: Gate, *argv: str) -> Path:
    point = new_point(gate)
    run("mount", *argv, str(point))
    gate.stack.callback(machine.unmount, point)
    return point


def types_of(module: str) -> bool:
    """Whether the kernel says what is where in structures of @module: before 5.11 it has it built in."""
    return Path("/sys/kernel/btf", module).exists() or not Path("/sys/module", module, "initstate").exists()


@suite("names.subvolumes")
def subvolumes(gate: Gate) -> None:
    """Two subvolumes of one btrfs at two places, one in the other, and a snapshot: their files have
    the same inode number, and the snapshot's have the same generation, too."""
    disk = machine.loop(gate.stack, gate.kept, places.SIZE_MIB["btrfs"])
    top = machine.mounted(gate.stack, gate.kept, disk, "btrfs")
    for name in ("@", "@home", "@home/inner"):
        run("btrfs", "subvolume", "create", str(top / name))
    for where, name in (("@/etc", "conf"), ("@home", "same"), ("@home/inner", "deep")):
        fill(top / where, name)
        run("btrfs", "filesystem", "sync", str(top))  # each of another generation
    run("btrfs", "subvolume", "snapshot", str(top / "@home"), str(top / "@snap"))
    root, home = (mount(gate, "-t", "btrfs", "-o", f"subvol={name}", disk.path)
                  for name in ("@", "@home"))
    files = {str(root / "etc/conf"), str(home / "same"), str(home / "inner/deep")}
    if types_of("btrfs"):
        files.add(str(top / "@snap/same"))
    with Trace("--by", "file", command=["sh", "-c", "".join(map(read, sorted(files)))]) as trace:
        pass
    compare(gate, "paths", trace, files)


@suite("names.mounts")
def mounts(gate: Gate) -> None:
    """Bind mounts, a mount that others do not see, one that moves below an open file, chroot."""
    at = places.place(gate, "ext4").point
    fill(at / "dir", "bound", "private", "moved", "plain")
    bound = mount(gate, "--bind", str(at / "dir"))
    private, before, after = (new_point(gate) for _ in range(3))
    script = read(f"{bound}/bound") + read(f"{at}/dir/plain") + f"""unshare -m sh -ec '
mount --bind {at}/dir {private}
{read(f"{private}/private")}
mount --bind {at}/dir {before}
exec 3<{before}/moved
mount --move {before} {after}
head -c 3 <&3 >/dev/null'
"""
    with Trace("-T", "syscall", "--by", "file", "--op", "read", command=["sh", "-ec", script]) as trace:
        pass
    compare(gate, "paths", trace, {f"{bound}/bound", f"{at}/dir/plain", f"{private}/private",
                                   f"{after}/moved"})
    gate.check("command", trace.code == 0, exit=trace.code)


@suite("names.chroot")
def chroot(gate: Gate) -> None:
    if not os.access(BUSYBOX, os.X_OK):
        raise Skip(f"no {BUSYBOX}")
    at = places.place(gate, "ext4").point
    fill(at / "jail" / "sub", "inside")
    shutil.copy(BUSYBOX, at / "jail" / "busybox")
    name = f"/sub/{os.getpid()}"
    (at / "jail" / "sub" / "inside").rename(at / "jail" / name[1:])
    script = f"chroot {at}/jail /busybox cat {name} >/dev/null"
    with Trace("-T", "syscall", "--by", "file", command=["sh", "-c", script]) as trace:
        pass
    keys = {row["key"] for row in trace.rows(fs="ext4") if str(os.getpid()) in row["key"]}
    gate.check("path", keys == {name}, seen=",".join(keys), wanted=name)


@suite("names.by-path")
def by_path(gate: Gate) -> None:
    """Calls by path: the file that they find, make, remove or miss, and its file system and directory."""
    at = places.place(gate, "ext4").point
    fill(at / "dir", "file", "gone")
    (at / "link").symlink_to("dir")
    calls = f"""import os
def fails(call, *args):
    try: call(*args)
    except OSError: pass
os.chdir("{at}")
for i in range(23): os.stat("link/file")
for i in range(7): fails(os.open, "link/missing/x", 0)
for i in range(5): fails(os.stat, "{at}/nothing")
os.rename("link/gone", "dir/new")
os.unlink(".//dir/new")
os.mkdir("dir/dir")
"""
    wanted = {f"{at}/dir/file": (23, 0), f"{at}/dir/missing/x (ENOENT)": (7, 7), f"{at}/nothing (ENOENT)": (5, 5),
              f"{at}/dir/gone": (1, 0), f"{at}/dir/new": (1, 0), f"{at}/dir/dir": (1, 0)}
    if not doctor()["files of paths"]:
        raise Skip("this kernel's look-up of paths cannot be probed")
    with Trace("-T", "syscall", "--by", "file", "--op", "open,meta", "--file", str(at),
               command=["python3", "-Sc", calls]) as trace:
        pass
    found: dict[str, tuple[int, int]] = {}
    for row in trace.rows(fs="ext4"):
        if row["key"].startswith(f"{at}/dir/") or "ENOENT" in row["key"]:
            count, errors = found.get(row["key"], (0, 0))
            found[row["key"]] = (count + row["count"], errors + row["errors"])
    gate.check("rows", found == wanted, found=found, wanted=wanted)


@suite("names.overlay")
def overlay(gate: Gate) -> None:
    at = places.place(gate, "overlay").point
    fill(at / "dir", "file")
    with Trace("-T", "syscall", "--by", "file", command=["sh", "-c", read(f"{at}/dir/file")]) as trace:
        pass
    compare(gate, "paths", trace, {f"{at}/dir/file"})


@suite("names.copied-up")
def copied_up(gate: Gate) -> None:
    """The call for which overlayfs copies a file to its upper layer says so, with the bytes; no other does."""
    at = Path(places.place(gate, "overlay").point)
    if not doctor()["files of paths"]:  # needs fentry, too
        raise Skip("functions cannot be probed here, or by kprobes alone")
    lower = at.parent / "lower"
    sizes = {"opened": 101 << 12, "changed": 23}
    for name, size in sizes.items():
        (lower / name).write_bytes(bytes(size))
    script = f"cat {at}/opened; : >> {at}/opened; : >> {at}/opened; chmod 600 {at}/changed; chmod 644 {at}/changed"
    with Trace("--fs", "overlay", "--slowest", "101", command=["sh", "-c", script]) as trace:
        pass
    found = sorted((r["op"], os.path.basename(r["path"]), r["copied_up"])
                   for r in trace.json["slowest"] if r["copied_up"])
    gate.check("bytes", found == [("meta", "changed", sizes["changed"]), ("open", "opened", sizes["opened"])],
               found=found)


@suite("names.deleted")
def deleted(gate: Gate) -> None:
    """Deleted before it was seen, and while it was: all rows of a file have one name, that of its
    unlink(), too, where calls by path have a file."""
    at = places.place(gate, "ext4").point
    gone = os.open(f"{at}/gone", os.O_CREAT | os.O_RDWR)
    os.unlink(f"{at}/gone")
    paths = [f"{at}/u{i}" for i in range(UNLINKED)]
    with Trace("-T", "syscall", "-p", str(os.getpid()), "--by", "file") as trace:
        os.write(gone, b"x")
        for path in paths:
            fd = os.open(path, os.O_CREAT | os.O_RDWR)
            os.unlink(path)
            os.write(fd, b"x")
            os.close(fd)
    os.close(gone)
    keys = [row["key"] for row in trace.rows(op="write", fs="ext4")]
    gate.check("before", f"{at}/gone (deleted)" in keys, seen=len(keys))
    rows = [(row["op"], row["key"], row["count"]) for row in trace.rows() if row["key"] in paths]
    ops = ["open", "write", "close"] + ["meta"] * machine.knows_paths()
    wanted = {(op, path, 1) for op in ops for path in paths}
    gate.check("meanwhile", len(rows) == len(wanted) and set(rows) == wanted, rows=len(rows),
               wanted=len(wanted), **trace.lost())


@suite("names.again")
def read_again(gate: Gate) -> None:
    """A file that is first seen when it is closed, by a name that goes away with that: the next who
    uses it reads its name again, for rows and for a recording."""
    at, file = places.place(gate, "ext4").point, machine.scratch(gate.kept) / "again.ios"
    names = [f"{at}/again{i}" for i in range(UNLINKED)]
    fill(at, *(f"first{i}" for i in range(UNLINKED)))
    firsts = [os.open(f"{at}/first{i}", os.O_RDONLY) for i in range(UNLINKED)]
    for i, name in enumerate(names):
        os.link(f"{at}/first{i}", name)
    fds = [os.open(name, os.O_RDONLY) for name in names]
    for i in range(UNLINKED):
        os.unlink(f"{at}/first{i}")
    me = str(os.getpid())
    with Traces({"rows": Trace("--by", "file", "-p", me), "record": Record(file, "-p", me)}) as traces:
        for first, fd in zip(firsts, fds):
            os.close(first)
            os.read(fd, 1)
    for fd in fds:
        os.close(fd)
    for way, one in (("rows", traces["rows"].json), ("record", report("-j", "--by", "file", str(file))[0])):
        keys = [row["key"] for row in one["ops"] if row["fs"] == "ext4"]
        if keys and all(key.endswith("(deleted)") for key in keys):
            gate.skip(way, "this kernel keeps a file until its close has returned")
            continue
        gate.check(way, sorted(keys) == sorted(names * 2) and not one["lost"]["names"], rows=len(keys),
                   wanted=2 * len(names), first=min(set(keys) - set(names), default="none"),
                   lost=one["lost"]["names"])


@suite("names.threads")
def of_threads(gate: Gate) -> None:
    """A process is called what its first thread is, a thread by its own name; and after execve by the
    new one, for requests, too."""
    disk = machine.loop(gate.stack, gate.kept, 16)

    def renamed() -> None:
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text("gate-other", encoding="ascii")
        fileio.read_at(disk.path, fileio.spread(101, 4096, 16 << 20), 4096, os.O_DIRECT)

    thread, me = threading.Thread(target=renamed), str(os.getpid())
    with Traces({by: Trace("--by", by, "-p", me, "-d", disk.name) for by in ("pid", "tid")}) as traces:
        thread.start()
        thread.join()
    wanted = {"pid": (me, machine.get(f"/proc/{me}/comm").strip()),
              "tid": (str(thread.native_id), "gate-other")}
    for by, trace in traces.by_name.items():
        for what in ("ops", "requests"):
            called = {(row["key"], row["comm"]) for row in trace.rows(what) if row["count"] >= 101}
            gate.check(f"{by}.{what}", called == {wanted[by]}, found=str(called), wanted=str(wanted[by]))
    program = ("import mmap, os, sys; os.preadv(os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), "
               "[mmap.mmap(-1, 4096)], 0); os.execvp('dd', sys.argv[2:])")
    argv = ["dd", f"if={disk.path}", "of=/dev/null", "bs=4k", "count=23", "iflag=direct", "status=none"]
    # without its operations, whose rows would name it, too
    with Trace("--op", "fsync", "--by", "tid", "-d", disk.name,
               command=[sys.executable, "-c", program, disk.path, *argv]) as trace:
        pass
    rows = {row["comm"]: row["count"] for row in trace.rows("requests", op="R")}
    gate.check("exec", rows == {"dd": 24}, found=str(rows))


@suite("names.together")
def together(gate: Gate) -> None:
    """Two threads that use a file for the first time at the same moment."""
    at = machine.scratch(gate.kept) / "together" / "a" / "b" / "c" / "d"
    fill(at, *map(str, range(REUSED)))
    readers = oracles.actor(gate.stack, "together", str(at), str(REUSED))
    with Trace("-T", "syscall", "-p", str(readers.pid), "--by", "file", "--op", "read") as trace:
        readers.go()
    counts = {row["key"]: row["count"] for row in trace.rows() if row["key"].rsplit("/")[-1].isdigit()}
    wanted = {f"{at}/{i}": 2 for i in range(REUSED)}
    wrong = sorted(set(counts) - set(wanted))
    gate.check("paths", counts == wanted, files=REUSED, wrong=len(wrong), first=",".join(wrong[:1]),
               **trace.lost())


@suite("names.anew")
def anew(gate: Gate) -> None:
    """A journal that is made anew 23 times is one row, with all its files; one of the same path in
    another directory is another."""
    at = places.place(gate, "ext4").point
    recording = machine.scratch(gate.kept) / "anew.ios"
    fill(at / "other", "journal")
    (at / "view").mkdir()
    script = f"""for i in $(seq 23); do echo >{at}/view/journal; head -c1 {at}/view/journal; rm {at}/view/journal; done
unshare -m sh -c 'mount --bind {at}/other {at}/view && head -c1 {at}/view/journal'"""
    with Trace("--by", "file", "--op", "read", command=["sh", "-c", script]) as live:
        pass
    with Record(recording, command=["sh", "-c", script]):
        pass
    shown = {"live": live.rows(fs="ext4"),
             "report": [row for row in report("-j", "--by", "file", "--op", "read", str(recording))[0]["ops"]
                        if row["fs"] == "ext4"]}
    for name, rows in shown.items():
        found = sorted((row["count"], row["files_count"], len({str(f) for f in row["files"]}))
                       for row in rows if row["key"].startswith(f"{at}/view/journal"))
        gate.check(name, found == [(1, 1, 1), (23, 23, 23)], found=str(found))


@suite("names.reuse", 200)
def reuse(gate: Gate) -> None:
    """Files that come and go, each with the inode of the one before."""
    for fs in ("ext4", "xfs", "btrfs", "overlay"):
        at = places.place(gate, fs).point
        if fs == "overlay" and not types_of(fs):
            gate.skip(fs, "the kernel's modules have no types, and it has no generations without")
            continue
        inodes = set()
        with shared(gate, "-p", str(os.getpid()), "--by", "file", "--op", "read") as trace:
            for i in range(REUSED):
                fd = os.open(f"{at}/f{i}", os.O_CREAT | os.O_RDWR)
                inodes.add(os.fstat(fd).st_ino)
                os.write(fd, b"x")
                os.pread(fd, 1, 0)
                os.close(fd)
                os.unlink(f"{at}/f{i}")
        counts = {row["key"]: row["count"] for row in trace.rows(fs=fs)}
        wanted = {f"{at}/f{i}": 1 for i in range(REUSED)}
        gate.check(fs, counts == wanted and not trace.lost()["names"], files=REUSED, rows=len(counts),
                   inodes=len(inodes), **trace.lost())
