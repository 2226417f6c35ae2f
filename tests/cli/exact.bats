# SPDX-License-Identifier: GPL-2.0-only
# What is shown of operations that are known: how long, where in a file, by whom; and only those asked for.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib

setup() {
	need_root
	dir=$(disk_dir)
}

teardown() { rm -rf "${dir:?}"; }

# Python that reads 1, 2, 3 ... bytes of a pipe, each after so many ms; and 101 times without waiting.
delayed() { # OPTIONS... -- MS...
	local options=()
	while [[ $1 != -- ]]; do options+=("$1") && shift; done
	shift
	"$iostrata" breakdown -j --all-files --op read "${options[@]}" -- "$python" -c 'import os, sys, time
r, w = os.pipe()
if not os.fork():
    for i, ms in enumerate(sys.argv[1:]):
        time.sleep(int(ms) / 1000)
        os.write(w, b"x" * (i + 1))
    os._exit(0)
for i in range(len(sys.argv) - 1): os.read(r, i + 1)
for i in range(101):
    os.write(w, b"x")
    os.read(r, 1)' "$@" >"$tmp/out"
}

@test "--min: those that took as long, and no others" {
	delayed -- 300 300 300
	json '[.ops[] | select(.fs == "pipefs") | .count] == [104]' "$tmp/out"
	delayed --min 150ms -- 300 300 300
	json '[.ops[] | select(.fs == "pipefs") | .count] == [3]' "$tmp/out"
	json '[.ops[].hist[] | .[1] >= 150000000] | all' "$tmp/out"
}

@test "--slowest: those that took longest, in order" {
	delayed --slowest 3 -- 100 700 300 500 200
	json '[.slowest[].len] == [2, 4, 3]' "$tmp/out"
}

@test "--slowest: what, where, when and by whom" {
	head -c 200000 /dev/urandom >"$dir/file"
	"$iostrata" breakdown -j --slowest 1000 --op read --file "$dir/file" -- "$python" -c 'import json, mmap, os, sys
from threading import Thread, get_native_id
from time import monotonic_ns as now
def run():
    done = []
    def read(flags, size, offset):
        # only read(2) takes an aligned buffer, as O_DIRECT wants, and says where it reads
        file = os.fdopen(os.open(sys.argv[1], os.O_RDONLY | flags), "rb", buffering=0)
        file.seek(offset)
        buffer, before = memoryview(mmap.mmap(-1, 65536))[:size], now()
        file.readinto(buffer)
        done.append({"offset": offset, "len": size, "before": before, "after": now(), "flags": flags})
    for i in range(1, 12): read(os.O_DIRECT, 4096 * i, 4096 * (12 - i))
    for i in range(1, 24): read(0, 100 + i, 8192 + i)
    json.dump({"pid": os.getpid(), "tid": get_native_id(), "done": done}, open(sys.argv[2], "w"))
t = Thread(target=run)
t.start()
t.join()' "$dir/file" "$tmp/said" >"$tmp/out"
	"$python" - "$tmp/said" "$tmp/out" "$(stat -c %i "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)")" <<'PY'
import json, sys
said, out = (json.load(open(f)) for f in sys.argv[1:3])
found = sorted(out["slowest"], key=lambda r: r["start_ns"])
assert len(found) == len(said["done"]), (len(found), len(said["done"]))
for f, d in zip(found, said["done"]):
    assert (f["offset"], f["len"], f["result"]) == (d["offset"], d["len"], d["len"]), (f, d)
    assert (f["pid"], f["tid"]) == (said["pid"], said["tid"]) and f["pid"] != f["tid"], f
    assert d["before"] <= f["start_ns"] and f["start_ns"] + f["total_ns"] <= d["after"], (f, d)
    assert (f["requests"] > 0) == (f["cache"] in ("direct", "miss")), f
    assert (f["cache"] == "direct") == (d["flags"] > 0), (f, d)
    assert str(f["cgroup"]) == sys.argv[3], f
    assert f["device_bytes"] == f["len"] if d["flags"] else f["device_bytes"] % 4096 == 0, f
    assert (f["device_bytes"] > 0) == (f["requests"] > 0), f
PY
}

@test "--by dev: the device of the file" {
	echo text >"$dir/file"
	other=$(mktemp /dev/shm/XXXXXX)
	"$iostrata" breakdown -j --by dev --op read -- "$python" -c 'import sys
for i in range(23): open(sys.argv[1]).read()
for i in range(41): open(sys.argv[2]).read()' "$dir/file" "$other" >"$tmp/out"
	rm "$other"
	json '[.ops[] | select(.fs == "tmpfs")] | length == 1 and .[0].count >= 41 and .[0].key != "(no file)"' "$tmp/out"
	json '[.ops[].key] | unique | length >= 2' "$tmp/out"
}
