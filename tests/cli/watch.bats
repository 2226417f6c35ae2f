# SPDX-License-Identifier: GPL-2.0-only
# The recorder that is always on: one recording for each incident, its limits, and what is left of it when
# it is killed or the disk is full.
# shellcheck disable=SC2154 # bats sets them

load lib

setup() {
	need_root
	dir=$tmp/dir
	public=$(mktemp -d /tmp/XXXXXX)
}

teardown() {
	end_spawned
	rm -r "$public"
	if mountpoint -q "$tmp/small"; then umount "$tmp/small"; fi
}

# plant FILE TIMES PAUSE: a thread called "planted" reads 101 times from a file, then from a pipe to which
# nothing is written for 0.7 s, then 53 times from the file: so often, with pauses. The number of bytes
# from the pipe tells the incidents apart: 7, 8, 9 ...
plant() {
	"$python" - "$@" <<-'EOT'
		import os, sys, threading, time
		r, w = os.pipe()
		f = os.open(sys.argv[1], os.O_RDONLY)
		open("/proc/self/comm", "w").write("planted")
		for i in range(int(sys.argv[2])):
		    for k in range(101): os.pread(f, 1, k)
		    threading.Timer(0.7, lambda: os.write(w, b"x" * (7 + i))).start()
		    os.read(r, 100)
		    for k in range(53): os.pread(f, 1, k)
		    time.sleep(float(sys.argv[3]))
	EOT
}

# read_much COMM: so many reads, of lengths and at offsets which no compression makes small.
read_much() {
	"$python" -c 'import os, random, sys
open("/proc/self/comm", "w").write(sys.argv[1])
f = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(200003): os.pread(f, 1 + random.getrandbits(12), random.getrandbits(40))' "$1"
}

watching=(--all-files --comm planted --until "read>600ms" --keep 60 --after 1)

# recordings N: so many are in the directory, and nothing else.
recordings() {
	local all
	all=$(find "$dir" -mindepth 1 -maxdepth 1 | wc -l)
	(($(find "$dir" -maxdepth 1 -type f -name 'watch-*.ios' | wc -l) == $1 && all == $1))
}

# reader CODE FILE...: of the recordings, by the reader in Python, as a list r.
reader() {
	"$python" -c "import sys; sys.path.append('tests'); import capture
r = [capture.read(f) for f in sys.argv[1:]]
$1" "${@:2}"
}

@test "watch: each incident is in exactly one recording, with the time before it" {
	start watch "${watching[@]}" -o "$dir"
	plant "$iostrata" 3 2.5
	wait_until recordings 3
	finish INT
	((status == 0))
	reader '
def slow(one): return [op["ret"] for op in one.ops if op["kind"] == 1 and op["ret"] >= 7]
assert [slow(one) for one in r] == [[7], [8], [9]], [slow(one) for one in r]
for n, one in enumerate(r):
    ops = sorted((op for op in one.ops if op["kind"] == 1), key=lambda op: op["start"])
    at = [op["ret"] for op in ops].index(7 + n)
    assert len(ops[:at]) >= 101 and len(ops[at + 1:]) >= 53, (at, len(ops))
    [trigger] = one.header["trigger"]
    assert trigger["condition"] == "read>600ms" and 600e6 <= trigger["value"] < 3e9, trigger
    assert len(one.ops) == one.end["ops"]
# nothing is in two, and nothing is missing in between
assert sum(len(one.ops) for one in r) >= 3 * (101 + 1 + 53)
times = [op["start"] for one in r for op in one.ops]
assert len(times) == len(set(times))
' "$dir"/*
	for one in "$dir"/*; do
		[[ $one =~ /watch-20[0-9]{6}T[0-9]{6}Z-read-over-600ms.ios$ ]]
		[[ $(stat -c %a "$one") == 600 ]]
	done
	expect 0 report "$one"
	[[ $stderr == *"written by watch: read>600ms"* ]]
	# recordings add up
	expect 0 report -j --op read "$dir"/*
	json '([.ops[].count] | add) >= 3 * 155'
}

@test "watch: a recording has --keep before and --after after the incident, and its time in the name" {
	start watch --all-files --comm planted --until 'read>600ms' --keep 3 --after 2 -o "$dir"
	"$python" -c 'import os, threading, time
open("/proc/self/comm", "w").write("planted")
r, w = os.pipe()
f = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(100):
    os.pread(f, 1, i)
    time.sleep(0.1)
threading.Timer(0.7, lambda: os.write(w, b"x")).start()
os.read(r, 1)'
	wait_until recordings 1
	finish INT
	reader '
import time
[one], h = r, r[0].header
[trigger] = h["trigger"]
kept = (trigger["monotonic_ns"] - min(op["start"] for op in one.ops)) / 1e9
assert 3 <= kept <= 8, kept # of 10 s; chunks are whole
at = (h["realtime_ns"] + trigger["monotonic_ns"] - h["monotonic_ns"]) / 1e9
assert any(time.strftime("watch-%Y%m%dT%H%M%SZ-", time.gmtime(at + off)) in sys.argv[1] for off in (-0.1, 0, 0.1)), at
' "$dir"/*
}

@test "watch: a long incident has one recording, and notes another condition" {
	start watch "${watching[@]}" --until 'any>650ms' --until 'fsync>1' -o "$dir"
	plant "$iostrata" 4 0.2
	finish INT
	((status == 0))
	recordings 1
	reader '
assert [t["condition"] for t in r[0].header["trigger"]] == ["read>600ms", "any>650ms"], r[0].header["trigger"]
' "$dir"/*
}

@test "watch: it says what a limit without a unit means, and what writes without a condition" {
	start watch --until 'fsync>100' -o "$dir"
	finish INT
	grep "a recording is written when one fsync takes longer than 100 s" "$tmp/err"
	grep "hint: .*fsync>100ms is in milliseconds" "$tmp/err"
	start watch --until 'fsync>1' --until 'errors>100' -o "$dir"
	finish INT
	grep "when one fsync takes longer than 1.00 s" "$tmp/err"
	! grep "hint:\|no --until" "$tmp/err" || false
	start watch -o "$dir"
	finish INT
	grep "no --until: only 'kill -USR1 $pid' writes recordings" "$tmp/err"
}

@test "watch: SIGUSR1 makes a recording at once, regardless of --at-most" {
	start watch --comm planted --at-most 1/d -o "$dir"
	plant "$iostrata" 1 0
	kill -USR1 "$pid"
	wait_until recordings 1
	open=$(find "/proc/$pid/fd" -type l | wc -l)
	kill -USR1 "$pid"
	wait_until recordings 2
	(($(find "/proc/$pid/fd" -type l | wc -l) == open))
	[[ $(ls "$dir") == watch-*-SIGUSR1*.ios*watch-*-SIGUSR1*.ios ]]
	not has_ended
	finish TERM
	((status == 0))
	reader 'assert sorted(one.end["ops"] > 0 for one in r) == [False, True]' "$dir"/*
}

@test "watch: SIGUSR1 and Ctrl-C do not wait for the end of an incident" {
	start watch --all-files --comm planted --until 'read>600ms' --after 60 -o "$dir"
	plant "$iostrata" 1 0
	wait_until grep -q '^read>600ms: one took' "$tmp/err"
	"$python" -c 'import os, threading
open("/proc/self/comm", "w").write("planted")
r, w = os.pipe()
threading.Timer(1.1, lambda: os.write(w, b"x")).start()
os.read(r, 1)'
	sleep 1 # records come
	kill -USR1 "$pid"
	wait_until recordings 1
	finish INT
	((status == 0))
	reader '
[met, asked] = r[0].header["trigger"]
assert (met["condition"], asked["condition"]) == ("read>600ms", "SIGUSR1")
assert met["value"] > 1e9, met # the longest
' "$dir"/*
	start watch --all-files --comm planted --until 'read>600ms' --after 60 -o "$dir"
	plant "$iostrata" 1 0
	wait_until grep -q '^read>600ms: one took' "$tmp/err"
	finish INT
	((status == 0))
	recordings 2
}

@test "watch: SIGUSR1 to all its processes, as by 'systemctl kill', makes one recording" {
	start watch --comm planted -o "$dir"
	for n in 1 2; do
		# shellcheck disable=SC2046 # words
		kill -USR1 "$pid" $(pgrep -P "$pid")
		wait_until recordings "$n"
	done
	finish INT
	((status == 0))
}

@test "watch: killing the writing process ends watch, so a service restarts" {
	start watch --comm planted -o "$dir"
	kill -KILL "$(pgrep -P "$pid")"
	ends_within 20
	((status == 1))
	grep -q '^error: cannot write recordings: the process that writes them was killed' "$tmp/err"
}

@test "watch: recordings that wait for a disk are all written" {
	start watch --comm planted -o "$dir"
	deputy=$(pgrep -P "$pid")
	spawned+=("$deputy")
	kill -STOP "$deputy"
	for _ in {1..101}; do
		kill -USR1 "$pid"
		sleep 0.04
	done
	plant "$iostrata" 1 0
	kill -CONT "$deputy"
	wait_until_quiet
	finish INT
	((status == 0))
	not grep -q error: "$tmp/err"
	reader 'assert sum(len(one.ops) for one in r) >= 155 and all(one.end for one in r), len(r)' "$dir"/*
}

# Waits until the directory has not changed for a second.
wait_until_quiet() {
	local before=
	while [[ $(ls -A "$dir") != "$before" ]]; do
		before=$(ls -A "$dir")
		sleep 1
	done
}

@test "watch: I/O of the writing processes meets no condition" {
	cp "$iostrata" "$tmp/watching" # its processes, and no others, are called so
	iostrata=$tmp/watching start watch --all-files --comm watching --until 'write>300ms' \
		--until 'read>300ms' --after 1 -o "$dir"
	deputy=$(pgrep -P "$pid")
	spawned+=("$deputy")
	read_much watching
	kill -STOP "$deputy"
	kill -USR1 "$pid"
	wait_until copies
	copy=$(pgrep -P "$pid" | grep -vx "$deputy")
	spawned+=("$copy")
	sleep 0.7
	kill -STOP "$copy"
	kill -CONT "$deputy" # which reads until the pipe is empty
	sleep 0.7
	kill -CONT "$copy"
	wait_until recordings 1
	sleep 2.5
	recordings 1
	finish INT
	((status == 0))
}

@test "watch: --at-most leaves incidents out, and says so" {
	start watch "${watching[@]}" --at-most 2/d -o "$dir"
	plant "$iostrata" 4 2.5
	finish INT
	((status == 0))
	recordings 2
	grep -q '^no recording: --at-most 2/d' "$tmp/err"
	grep -q '^2 incidents without a recording' "$tmp/err"
	start watch "${watching[@]}" --at-most 1/s -o "$dir"
	plant "$iostrata" 2 2.5
	finish INT
	recordings 4
}

@test "watch: --budget removes the oldest recordings, and no other file" {
	mkdir "$dir"
	for day in 1 2 3; do
		head -c 40000 "$iostrata" >"$dir/watch-2026010${day}T000000Z-any.ios"
	done
	for name in mine.ios watch-2026010xT000000Z-any.ios watch-20260101T000000Z-any.iso; do
		head -c 40000 "$iostrata" >"$dir/$name"
	done
	ln -s mine.ios "$dir/watch-20260101T000000Z-link"
	start watch --comm planted --budget 79K -o "$dir" # two old ones, and nearly nothing
	plant "$iostrata" 1 0
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	((status == 0))
	[[ -e $dir/mine.ios && -L $dir/watch-20260101T000000Z-link ]]
	[[ -e $dir/watch-2026010xT000000Z-any.ios && -e $dir/watch-20260101T000000Z-any.iso ]]
	[[ ! -e $dir/watch-20260101T000000Z-any.ios && -e $dir/watch-20260103T000000Z-any.ios ]]
	grep -q '^removed watch-20260101T000000Z-any.ios: --budget' "$tmp/err"
	(($(find "$dir" -type f -name 'watch-*.ios' ! -name '*010x*' -printf '%s\n' |
		awk '{ sum += $1 } END { print sum }') <= 80896))
}

@test "watch: --budget counts and removes tables as whole directories" {
	for day in 1 2; do
		mkdir -p "$dir/watch-2026010${day}T000000Z-any.tables"
		head -c 200000 /dev/zero >"$dir/watch-2026010${day}T000000Z-any.tables/operations.parquet"
	done
	start watch --comm planted --parquet --budget 300K -o "$dir"
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.tables: ' "$tmp/err"
	finish INT
	((status == 0))
	[[ $(cd "$dir" && echo *) == "watch-20260102T000000Z-any.tables watch-"*-SIGUSR1.tables ]]
	grep -q '^removed watch-20260101T000000Z-any.tables: --budget' "$tmp/err"
	start watch --comm planted --parquet --budget 1K -o "$dir"
	kill -USR1 "$pid"
	wait_until grep -q '^error: the tables are larger than --budget' "$tmp/err"
	finish INT
	((status == 1))
	[[ -z $(ls -A "$dir") ]]
}

program_ran() { grep -qs SigIgn "$public"/*.says; }

@test "watch: --run runs a program as the caller, with the file's name" {
	chmod 777 "$public" # bats' own directory is root's alone
	dir=$public
	cat >"$tmp/program" <<-EOT
		#!/bin/sh
		[ -f "\$1" ] && { id -un; id -Gn; echo "\$HOME"; grep -h '^\(CapEff\|SigIgn\)' /proc/self/status; } >"\$1.says"
		sleep 1
		exit 3
	EOT
	install -m 755 "$tmp/program" "$public/program"
	SUDO_USER=daemon SUDO_UID=1 SUDO_GID=1 start watch --comm planted -o "$dir" --run "$public/program"
	kill -USR1 "$pid"
	wait_until program_ran
	finish INT
	((status == 0))
	[[ $(head -n 3 "$dir"/*.says) == daemon$'\n'daemon*$'\n'/* ]]
	grep -q 'CapEff:.0000000000000000' "$dir"/*.says
	not grep -q '/root' "$dir"/*.says
	(((0x$(sed -n 's/^SigIgn:.//p' "$dir"/*.says) & 0x4203) == 0)) # HUP, INT, USR1, TERM end it
	[[ $(stat -c %U "$dir"/*.ios) == daemon ]]
	grep -q "^warning: '.*program' ended with status 3" "$tmp/err"
}

@test "watch: --run is called until it ends with 0, over restarts, and --run-then delete removes" {
	chmod 777 "$public"
	dir=$public/recordings
	cat >"$tmp/program" <<-'EOT'
		#!/bin/sh
		cd "${0%/*}" || exit
		echo "$(id -u) $1" >>calls
		test -e up
	EOT
	install -m 755 "$tmp/program" "$public/program"
	export SUDO_USER=daemon SUDO_UID=1 SUDO_GID=1
	start watch --comm planted -o "$dir" --run "$public/program" --run-then delete
	kill -USR1 "$pid"
	wait_until called 2 # again, though nothing else comes
	finish INT
	((status == 0))
	grep -q "^recordings wait for --run" "$tmp/err"
	[[ $(cd "$dir" && stat -c '%U %a' .watch-*.ios.waits watch-*.ios) == $'daemon 600\ndaemon 600' ]]
	expect 0 watch --status -o "$dir"
	[[ $output == "1 recording waits for the program of --run"$'\n'"watch-"*" failed calls, the last one "*" ago" ]]
	: >"$public/up"
	start watch --comm planted -o "$dir" --run "$public/program" --run-then delete
	wait_until is_empty
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	((status == 0))
	is_empty
	[[ $(cut -d' ' -f1 "$public/calls" | sort -u) == 1 && $(sort -u "$public/calls" | wc -l) == 2 ]]
	expect 0 watch --status -o "$dir"
	[[ $output == "0 recordings wait "* ]]
}

called() { (($(wc -l <"$public/calls") >= $1)); }
is_empty() { [[ -z $(ls -A "$dir") ]]; }

@test "watch: --budget removes a recording that waits for --run, and says so" {
	mkdir "$dir"
	for day in 1 2; do
		head -c 40000 "$iostrata" >"$dir/watch-2026010${day}T000000Z-any.ios"
		: >"$dir/.watch-2026010${day}T000000Z-any.ios.waits"
	done
	start watch --comm planted --budget 79K -o "$dir" --run /bin/false
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	((status == 0))
	grep -q '^removed watch-20260101T000000Z-any.ios: --budget; the program of --run has not ended with 0' "$tmp/err"
	[[ ! -e $dir/.watch-20260101T000000Z-any.ios.waits && -e $dir/.watch-20260102T000000Z-any.ios.waits ]]
}

@test "watch: killed at any moment, it leaves only complete files" {
	start watch --comm planted -o "$dir"
	plant "$iostrata" 1 0
	kill -USR1 "$pid"
	wait_until recordings 1
	kill -USR1 "$pid"
	sleep 0.$((RANDOM % 5))
	kill -9 "$pid"
	wait_until is_alone
	for one in "$dir"/*; do
		expect 0 report "$one"
	done
	# what a killed deputy leaves goes with the next start
	touch "$dir/.watch-4194999.part" "$dir/.watch-$$.part" # and what another watch is about to write stays
	start watch --comm planted -o "$dir"
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.*ios: ' "$tmp/err"
	finish INT
	[[ ! -e $dir/.watch-4194999.part && -e $dir/.watch-$$.part ]]
}

@test "watch: a recording with a killed writer is reported as incomplete, and the next one is written" {
	start_stuck
	kill -KILL "$(pgrep -P "$pid" | grep -vx "$deputy")"
	kill -CONT "$deputy"
	wait_until grep -q '^error: a recording is not complete: its writer ended' "$tmp/err"
	recordings 0
	kill -USR1 "$pid"
	wait_until recordings 1
	finish INT
	((status == 1))
}

# Whether no process of the tool has its directory open, and no file is half-written.
is_alone() { [[ -z $(find "$dir" -name '.*' -type f) ]]; }

# Starts watch, whose copy has a recording for a deputy that is stopped: $deputy.
start_stuck() {
	start watch --comm planted -o "$dir"
	read_much planted
	deputy=$(pgrep -P "$pid")
	spawned+=("$deputy")
	kill -STOP "$deputy"
	kill -USR1 "$pid"
	wait_until copies
}

# Whether a copy of the tool writes.
copies() { (($(pgrep -c -P "$pid") == 2)); }

@test "watch: a hanging disk does not stop the tracing, and after a kill no program stays" {
	start_stuck
	plant "$iostrata" 1 0
	[[ $(grep State "/proc/$pid/status") != *D* ]]
	ids=$(bpf_ids "$pid")
	[[ $ids == *prog* ]]
	kill -9 "$pid"
	wait_until gone "$ids"
	kill -CONT "$deputy"
	wait_until recordings 1
	reader 'assert len(r[0].ops) == r[0].end["ops"] >= 200003' "$dir"/*
}

@test "watch: a full disk is reported, --budget removes the oldest, and tracing goes on" {
	mkdir "$tmp/small"
	mount -t tmpfs -o size=200k tmpfs "$tmp/small"
	head -c 190000 /dev/zero >"$tmp/small/watch-20260101T000000Z-any.ios"
	local random='import os, random, sys
open("/proc/self/comm", "w").write("planted")
f = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(10007): os.pread(f, random.randrange(4096), random.randrange(1 << 40))'
	start watch --comm planted -o "$tmp/small"
	"$python" -c "$random"
	kill -USR1 "$pid"
	wait_until grep -q 'cannot write a recording.*No space left' "$tmp/err"
	rm "$tmp/small"/*
	kill -USR1 "$pid" # it goes on, and the records of the first are in no recording
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	kill -USR1 "$pid"
	wait_until eval '(($(grep -c "SIGUSR1.*ios: " "$tmp/err") == 2))'
	finish INT
	((status == 1))
	local gap='^warning: this recording begins .* not 60.0 s: the one before could not'
	(($(grep -c "$gap" "$tmp/err") == 1))
	rm "$tmp/small"/*
	head -c 190000 /dev/zero >"$tmp/small/watch-20260101T000000Z-any.ios"
	start watch --comm planted -o "$tmp/small" --budget 10M
	"$python" -c "$random"
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	((status == 0))
	grep -q '^removed watch-20260101T000000Z-any.ios: no space is left' "$tmp/err"
	reader 'assert len(r[0].ops) == r[0].end["ops"] >= 10007' "$tmp/small"/*
}

@test "watch: the recording in progress counts in the budget" {
	start watch --comm planted -o "$dir"
	read_much planted
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	size=$(stat -c %s "$dir"/*.ios)
	mkdir "$tmp/small" # with room for the budget, and half a recording more
	mount -t tmpfs -o size="$((size * 5 / 2))" tmpfs "$tmp/small"
	head -c "$((size * 7 / 4))" /dev/zero >"$tmp/small/watch-20260101T000000Z-any.ios"
	start watch --comm planted -o "$tmp/small" --budget "$((size * 2))"
	read_much planted
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	((status == 0))
	grep -q '^removed watch-20260101T000000Z-any.ios: --budget' "$tmp/err"
}

@test "watch: a removed directory is made again" {
	start watch --comm planted -o "$dir"
	rm -rf "$dir"
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.ios: ' "$tmp/err"
	finish INT
	((status == 0))
	recordings 1
	[[ $(stat -c %a "$dir") == 700 ]]
	grep -q "^warning: '.*/dir' was removed: made again" "$tmp/err"
}

@test "watch: losses are reported, in the recording and at the end" {
	start watch --comm planted --buffer 4 -o "$dir"
	"$python" -c 'import os
open("/proc/self/comm", "w").write("planted")
f = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(300007): os.pread(f, 1, i)'
	kill -USR1 "$pid"
	wait_until recordings 1
	kill -USR1 "$pid"
	wait_until recordings 2
	finish INT
	reader '
[end] = [one.end for one in r if one.end["lost"]["ops"]] # the other one lost nothing more
assert all(one.end["ops"] == len(one.ops) for one in r) and end["ops"] + end["lost"]["ops"] >= 300007, end
' "$dir"/*
	grep -q 'SIGUSR1.ios: .*, [0-9,]* lost' "$tmp/err"
	grep -q '^warning: lost [0-9,]* operations, 0 requests since the beginning' "$tmp/err"
}

@test "watch: too little memory for --keep is reported" {
	start watch --comm planted --memory 1 -o "$dir"
	read_much planted
	kill -USR1 "$pid"
	wait_until recordings 1
	finish INT
	((status == 0))
	grep -q '^warning: --memory 1 holds only .* before an incident' "$tmp/err"
	reader 'assert 1000 < len(r[0].ops) == r[0].end["ops"] < 200003' "$dir"/*
}

@test "watch: --parquet writes tables instead of recordings" {
	start watch --comm planted -o "$dir" --parquet
	plant "$iostrata" 1 0
	kill -USR1 "$pid"
	wait_until grep -q 'SIGUSR1.tables: ' "$tmp/err"
	finish INT
	((status == 0))
	[[ $(cd "$dir" && ls -A ./*) == losses.parquet$'\n'operations.parquet$'\n'requests.parquet ]]
	[[ $(ls -A "$dir") == watch-*-SIGUSR1.tables ]]
	[[ $(head -c 4 "$dir"/*/operations.parquet) == PAR1 ]]
}

@test "watch: a rate of errors is a condition" {
	start watch --all-files --comm planted --until 'read p50>300ms over 1s' --after 1 -o "$dir"
	plant "$iostrata" 1 0
	sleep 2
	recordings 0
	"$python" -c 'import os, threading
open("/proc/self/comm", "w").write("planted")
r, w = os.pipe()
for i in range(5):
    threading.Timer(0.4, lambda: os.write(w, b"x")).start()
    os.read(r, 1)'
	wait_until recordings 1
	finish INT
	[[ $(ls "$dir") == watch-*-read-p50-over-300ms-over-1s.ios ]]
}

@test "watch: a failure that ends a command is an incident" {
	expect 1 watch --until 'errors>0' -o "$dir" -- cat /proc/self/mem
	[[ $(ls "$dir") == watch-*-errors-over-0.ios ]]
	reader 'assert any(op["ret"] == (1 << 64) - 5 for op in r[0].ops)' "$dir"/*
}

@test "watch: contradicting options are refused" {
	for wrong in 10 /h 10/w 0/h 1001/h x/h; do
		expect 2 watch --at-most "$wrong"
		says "invalid --at-most '$wrong'" "10/h"
	done
	for wrong in G 0 5X 5GB 99999999999T; do
		expect 2 watch --budget "$wrong"
		says "invalid --budget '$wrong'" "5G"
	done
	expect 2 watch --until 'fsync p99>1'
	says "invalid condition 'fsync p99>1'" "over 10s"
	expect 1 watch --until 'request nosuch>1'
	says "no disk 'nosuch'" "lsblk"
	expect 2 watch --requests --until 'fsync>1'
	says "operations, which are not recorded"
	expect 2 watch -j # it prints no tables
	says "unknown option '-j'" "iostrata watch --help"
	expect 1 watch -o "$tmp/no/such"
	says "cannot write to '.*such': No such file or directory"
	expect 1 watch -o tests/cli/watch.bats
	says "cannot write to 'tests/cli/watch.bats': Not a directory"
	expect 2 watch -o "$dir" --run-then delete
	says "--run-then has no meaning without --run"
	expect 1 watch --status -o "$tmp/no/such"
	says "cannot open '.*such': No such file or directory"
	expect 1 watch -o "$dir" --run "$tmp/nothing"
	says "cannot execute '.*/nothing' \(--run\): No such file or directory"
	expect 1 watch -o "$dir" --run 'logger -t io'
	says "cannot execute 'logger -t io'" "without arguments"
	# a directory is not left behind by what did not begin
	expect 1 watch -o "$dir" --file "$tmp/nothing"
	[[ ! -e $dir ]]
}

@test "watch: the service manager is notified when tracing has begun" {
	for socket in "$tmp/socket" "@iostrata-test-$$"; do
		spawn "$python" -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace("@", "\0"))
print("bound", flush=True)
print(s.recv(100).decode(), flush=True)' "$socket" >"$tmp/told"
		wait_until grep -q bound "$tmp/told"
		NOTIFY_SOCKET=$socket start watch --comm planted -o "$dir"
		wait_until grep -qx READY=1 "$tmp/told"
		finish INT
		((status == 0))
	done
}

@test "watch: the service is well-formed, and confined" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	ln -s "$iostrata" "$tmp/iostrata"
	sed "s,@BIN@,$tmp," systemd/iostrata-watch@.service >"$tmp/iostrata-watch@.service"
	run systemd-analyze verify --man=no "$tmp/iostrata-watch@db.service"
	[[ $status == 0 && -z $output ]] || { echo "$output"; false; }
	run systemd-analyze security --offline=true --no-pager --threshold=20 "$tmp/iostrata-watch@.service"
	((status == 0)) || { echo "$output"; false; }
}

@test "watch: the service's two capabilities are enough, and the program of --run has none" {
	chmod 777 "$public"
	dir=$public/recordings
	cat >"$tmp/program" <<-EOT
		#!/bin/sh
		grep '^Cap\(Eff\|Amb\)' /proc/self/status >"\$1.says"
	EOT
	install -m 755 "$tmp/program" "$iostrata" "$public"
	printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=%s \
		--ambient-caps=%s --no-new-privs "%s" "$@"\n' +bpf,+perfmon +bpf,+perfmon "$public/iostrata" >"$tmp/as-service"
	chmod 755 "$tmp/as-service"
	iostrata=$tmp/as-service start watch --comm planted -o "$dir" --run "$public/program"
	plant "$iostrata" 1 0
	kill -USR1 "$pid"
	wait_until has_said
	finish TERM
	((status == 0))
	[[ $(sort -u "$dir"/*.says) == *CapAmb:?0000000000000000$'\n'CapEff:?0000000000000000 ]]
	[[ $(stat -c %u:%a "$dir"/*.ios) == 65534:600 ]]
	reader 'assert len(r[0].ops) == r[0].end["ops"] >= 154' "$dir"/*.ios
}

has_said() { grep -qs CapAmb "$dir"/*.says; }
