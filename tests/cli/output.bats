# SPDX-License-Identifier: GPL-2.0-only
# Output: files which cannot be written, the figures of tables and JSON, hostile names.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib

setup() { begin_in_dir; }

teardown() { end_in_dir; }

# A process that opens, writes, syncs, reads and closes 23 times.
work() { # FILE [COMMAND...]: how to run python
	local file=$1
	shift
	"${@:-$python}" - "$file" <<'PY'
import os, sys
for i in range(23):
    f = os.open(os.fsencode(sys.argv[1]), os.O_CREAT | os.O_RDWR)
    os.write(f, b"x" * 4096)
    os.fsync(f)
    os.pread(f, 4096, 0)
    os.close(f)
    os.stat(os.fsencode(sys.argv[1]))
PY
}
export -f work
export python

breakdown_of_work() { # FILE OPTIONS...: stdout to $tmp/out
	local file=$1
	shift
	"$iostrata" breakdown -o - "$@" -- bash -c 'work "$0"' "$file" >"$tmp/out" 2>"$tmp/err"
}

every_mode=('' -v -vv '--by file -v' '--by pid -vv'
	-H -m '-H -m' '--slowest 3' '--by pid' '--by comm' '--by file' '--by cgroup' '--by dev'
	'--by container' '--by cache' '-T syscall' '-T blk' '-T blk -Q -m' '--overhead' '--by file -m' '--slowest 3 -m'
	'--helpers' '--helpers -v' '--why' '--why -m')

@test "output: an stdout that cannot be written is an error" {
	for args in --help --version "breakdown --help" "breakdown --version" "doctor --help" doctor \
		"doctor --json" "doctor --probes" "breakdown -D 0.1" "breakdown -j -D 0.1" "breakdown 0.1 3"; do
		for to in /dev/full closed; do
			# shellcheck disable=SC2086 # words
			if [[ $to == closed ]]; then
				run bash -c '"$0" "$@" 2>&1 >&-' "$iostrata" $args
			else
				run bash -c '"$0" "$@" 2>&1 >/dev/full' "$iostrata" $args
			fi
			((status == 1)) || { echo "$args, $to: exit status $status"; false; }
			[[ $output == *"error: cannot write the output: "* ]] || {
				echo "$args, $to: said '$output'"
				false
			}
		done
	done
}

@test "output: a closed stdout is named in the error" {
	run bash -c '"$0" "$@" 2>&1 >&-' "$iostrata" breakdown -D 0.1
	[[ $output == *"cannot write the output: Bad file descriptor"* ]]
}

@test "output: an stdout that cannot be written gives 125 with a command" {
	run bash -c '"$0" "$@" 2>&1 >/dev/full' "$iostrata" breakdown -o - -- true
	((status == 125))
	[[ $output == *"error: cannot write the output: No space left on device"* ]]
}

@test "output: no empty file is left" {
	expect 127 breakdown -o "$tmp/file" -- nosuch-command-anywhere
	expect 126 breakdown -o "$tmp/file" -- /etc/passwd
	expect 1 breakdown -o "$tmp/file" -p "$(sh -c 'echo $$')" -D 0.1
	if [[ ! -e /sys/bus/event_source/devices/kprobe ]]; then
		expect 3 breakdown -T vfs -o "$tmp/file" -D 0.1
	fi
	expect 1 report -o "$tmp/file" "$tmp/nosuch"
	[[ ! -e $tmp/file ]]
	# what somebody else has put there stays
	: >"$tmp/theirs"
	expect 1 breakdown -o "$tmp/theirs" -D 0.1
	says "cannot create '.*/theirs': File exists" "remove it"
	expect 1 report -o "$tmp/theirs" "$tmp/nosuch"
	[[ -e $tmp/theirs ]]
	expect 1 breakdown -o /dev/full -D 0.1
	says "cannot create '/dev/full': File exists" "choose another name: this one is no file"
	# nor by what is ended before it has begun
	for time in 0.01 0.03 0.06 0.1 0.13 0.16 0.2 0.3; do
		run timeout "$time" "$iostrata" breakdown -o "$tmp/file"
		[[ ! -e $tmp/file || -s $tmp/file ]] || { echo "after $time s: $output"; false; }
		rm -f "$tmp/file"
	done
}

@test "output: -o - with --json takes the standard output from the command" {
	cd "$tmp"
	expect 0 breakdown -o - -- true
	[[ $output == traced* && ! -e - ]]
	expect 0 breakdown -j -o - -- echo text
	json '.schema == "iostrata.breakdown/1"'
	[[ $stderr == *text* ]]
	expect 0 record -o a.ios -- true
	expect 0 report -o - a.ios
	[[ $output == "recorded in"* && ! -e - ]]
	# as ever, that it cannot be written is told
	run bash -c '"$0" "$@" 2>&1 >/dev/full' "$iostrata" report -o - a.ios
	((status == 1))
	[[ $output == *"cannot write the output"* ]]
}

@test "output: -o writes to a device or an open descriptor, and removes nothing" {
	for out in /dev/stderr /dev/fd/2; do
		"$iostrata" breakdown -D 0.1 -o "$out" 2>"$tmp/err"
		grep -q '^traced\|^no I/O' "$tmp/err"
	done
	"$iostrata" breakdown -D 0.1 -o >(cat >"$tmp/piped")
	wait_until grep -q '^traced\|^no I/O' "$tmp/piped"
	"$iostrata" record -D 0.1 -o /dev/null
	run -1 "$iostrata" breakdown -p 4194305 -o /dev/null
	[[ -c /dev/null ]]
	run -1 "$iostrata" breakdown -D 0.1 -o /dev/fd/99
	[[ $output == *"error: cannot create '/dev/fd/99': Bad file descriptor"* ]]
}

@test "output: a closed pipe ends the run" {
	begin=$SECONDS
	run --separate-stderr bash -c '"$0" breakdown 1 300 | head -n 1; echo "${PIPESTATUS[0]}"' "$iostrata"
	((SECONDS - begin < 290)) # all intervals take 300 s
	[[ ${lines[0]} =~ ^[0-9:]{8}([.][0-9]+)?, && ${lines[1]} == 0 ]]
	[[ $stderr =~ ^tracing[^$'\n']*$ ]]
	# a command goes on, and its exit code is there
	run --separate-stderr bash -c '"$0" breakdown -j 1 -- sh -c "sleep 3; exit 7" | head -n 1
		echo "${PIPESTATUS[0]}"' "$iostrata"
	[[ ${lines[1]} == 7 && $stderr == "tracing the command" ]]
}

@test "output: every line fits 80 columns" {
	name=$dir/$(printf 'a-long-name-%.0s' {1..19})$'\u6f22\u5b57'
	for mode in "${every_mode[@]}"; do
		# shellcheck disable=SC2086 # words
		on_terminal "$iostrata" breakdown $mode -- bash -c 'work "$0"' "$name"
		# all requests may be among the hits that some hypervisors lose after attaching
		! grep -q '^no I/O seen' "$tmp/out" ||
			on_terminal "$iostrata" breakdown $mode -- bash -c 'work "$0"' "$name"
		begins_with traced || { echo "in mode '$mode'"; false; }
		(($(wc -l <"$tmp/out") >= 3))
		fits_80_columns "$tmp/out" || { echo "in mode '$mode'"; false; }
	done
}

@test "output: colours are on terminals only, and not with NO_COLOR" {
	breakdown_of_work "$dir/file"
	not grep -q $'\e' "$tmp/out"
	TERM=xterm script -qec "$iostrata breakdown -- cat $dir/file" /dev/null </dev/null >"$tmp/terminal"
	grep -q $'\e\[' "$tmp/terminal"
	NO_COLOR=1 TERM=xterm script -qec "$iostrata breakdown -- cat $dir/file" /dev/null \
		</dev/null >"$tmp/terminal"
	grep -q traced "$tmp/terminal"
	not grep -q $'\e' "$tmp/terminal"
}

@test "output: JSON is one object per line, and its figures agree" {
	for mode in '' '-H' '--slowest 3' '--by pid' '--by comm' '--by file' '--by cgroup' '--by dev' \
		'--by container' '--by cache' '--helpers' '--why' '--overhead'; do
		# shellcheck disable=SC2086 # words
		breakdown_of_work "$dir/file" -j $mode
		[[ $(wc -l <"$tmp/out") == 1 ]]
		json '.schema == "iostrata.breakdown/1" and (.ops | length >= 5) and .duration_ns > 0' "$tmp/out"
		# the strata of every row add up to its time; bucket counts to its count; no time is negative
		json '[.ops[], .slowest[]?] | all(([.strata[] | select(. != null)] | add) == .total_ns
			and ([.strata[] | select(. != null)] | min) >= 0)' "$tmp/out"
		json '[.ops[], .requests[]] | all(([.hist[][2]] | add) == .count and .hist[-1][0] <= .max_ns
			and all(.hist[]; .[0] <= .[1]))' "$tmp/out"
		json '.ops | all(.p50_ns <= .p90_ns and .p90_ns <= .p99_ns and .p99_ns <= .p999_ns
			and .p999_ns <= .max_ns and .max_ns <= .total_ns)' "$tmp/out"
		json '.lost | keys == ["map_full", "missed", "names", "ops", "requests", "ring", "unattributed",
			"unmatched_end", "unmatched_requests", "unmatched_start"]' "$tmp/out"
	done
}

@test "output: -T gives JSON for a single layer" {
	breakdown_of_work "$dir/file" -j -T syscall
	json '.ops == [] and (.layers | length > 0) and (.layers | all(.layer == "syscall" and .call != null))
		and ([.layers[] | select(.call == "fsync") | .count] | add) == 23' "$tmp/out"
	breakdown_of_work "$dir/file" -j -T blk
	json '.ops == [] and .layers == []' "$tmp/out"
	# a directory in memory has no requests
	[[ $(findmnt -n -o SOURCE -T "$dir") != /dev/* ]] ||
		json '.requests | map(select(.op == "W" and .count > 0)) | length > 0' "$tmp/out"
}

@test "output: counts equal the work done" {
	breakdown_of_work "$dir/file" -j --by file
	for op in write fsync read close; do
		json --arg f "$dir/file" --arg op $op \
			'[.ops[] | select(.key == $f and .op == $op) | .count] == [23]' "$tmp/out" ||
			{ jq -c '.ops[] | del(.hist, .strata)' "$tmp/out"; false; }
	done
	json --arg f "$dir/file" '[.ops[] | select(.key == $f and .op == "write") | .bytes] == [23 * 4096]' \
		"$tmp/out"
}

@test "output: a missing figure is null, and is in the list of missing ones" {
	breakdown_of_work "$dir/file" -j
	# fs also where none of a file system's functions is probed, vfs of operations that go through none of its own
	json '.missing as $m | .ops | all(.op as $op | .strata | to_entries | all((.value == null) == (.key | IN($m[]))
		or (.value == null and (.key == "fs" or .key == "vfs" and ($op | IN("close", "meta", "fault"))))))' \
		"$tmp/out"
	# and the text has a line about it
	missing=$(jq '.missing | length' "$tmp/out")
	breakdown_of_work "$dir/file" -v
	[[ $(grep -c '^not measured: ' "$tmp/out") -gt 0 || $missing == 0 ]]
	breakdown_of_work "$dir/file"
	[[ $(grep -c 'not measured: .*-v says why$' "$tmp/out") == 1 || $missing == 0 ]]
}

# A directory and a file in it; a name has no slash.
hostile=$'h\e[31m\n\x01\xff</script>&"\'\\\u202e'
hostile_safe='h\x1b[31m\x0a\x01\xff</script>&"'"'"'\\\xe2\x80\xae'
hostile_utf8=$'h\e[31m\n\x01\ufffd</script>&"\'\\\u202e'

@test "output: hostile file names are made safe in text" {
	mkdir "$dir/${hostile%/*}"
	for mode in '--by file' '--slowest 1000'; do
		# shellcheck disable=SC2086 # words
		breakdown_of_work "$dir/$hostile" $mode
		grep -qF "$hostile_safe" "$tmp/out"
		printable "$tmp/out"
	done
}

@test "output: hostile file names are made safe in JSON" {
	mkdir "$dir/${hostile%/*}"
	for mode in '--by file' '--slowest 1000'; do
		# shellcheck disable=SC2086 # words
		breakdown_of_work "$dir/$hostile" -j $mode
		printable "$tmp/out"
		jq -r '(.ops[].key, .slowest[]?.path) // empty' "$tmp/out" >"$tmp/names"
		printf '%s' "$hostile_utf8" >"$tmp/want"
		python3 -c 'import sys; sys.exit(open(sys.argv[2]).read() not in open(sys.argv[1]).read())' \
			"$tmp/names" "$tmp/want"
		# and its bytes, which another name could have been
		jq -r '(.ops[].key_bytes, .slowest[]?.path_bytes) // empty' "$tmp/out" | sort -u | base64 -d >"$tmp/bytes"
		[[ $(<"$tmp/bytes") == "$dir/$hostile" ]]
	done
}

@test "output: a file name that looks like an escape sequence stays distinct" {
	name='x\x1b[31m'
	breakdown_of_work "$dir/$name" --by file
	grep -qF '/x\\x1b[31m ' "$tmp/out"
	breakdown_of_work "$dir/$name" -j --by file
	json --arg f "$dir/$name" '[.ops[] | select(.key == $f)] | length > 3 and all(has("key_bytes") | not)' "$tmp/out"
	run --separate-stderr "$iostrata" breakdown --comm "$name" -D 0.1
	[[ $stderr$output == *'--comm x\\x1b[31m'* ]]
	expect 2 breakdown -p "$name"
	says "'x..x1b.31m'"
	expect 1 breakdown -d "$name"
	says "'x..x1b.31m'"
}

@test "output: an operation without a length has null" {
	"$iostrata" breakdown -j --slowest 1000 --op fsync -- bash -c 'work "$0"' "$dir/file" >"$tmp/out"
	json '.slowest | length == 23 and all(.len == null)' "$tmp/out"
	"$iostrata" breakdown -j --slowest 1000 --op write -- bash -c 'work "$0"' "$dir/file" >"$tmp/out"
	json --arg f "$dir/file" '[.slowest[] | select(.path == $f)] | length == 23 and all(.len == 4096)' "$tmp/out"
	"$iostrata" breakdown -o - --slowest 1000 --op fsync -- bash -c 'work "$0"' "$dir/file" >"$tmp/out"
	grep -q '^   result 0' "$tmp/out"
	not grep -q length "$tmp/out"
}

@test "output: hostile process names are made safe" {
	name=$'c\e[1m\xff</script>'
	echo text >"$dir/file"
	named=("$python" -c 'import os, sys
open("/proc/self/comm", "wb").write(os.fsencode(sys.argv[1]))
open(sys.argv[2]).read()' "$name" "$dir/file")
	for mode in '--by comm' '--slowest 1000'; do
		# shellcheck disable=SC2086 # words
		"$iostrata" breakdown -o - $mode -- "${named[@]}" >"$tmp/out"
		grep -qF 'c\x1b[1m\xff</script>' "$tmp/out"
		printable "$tmp/out"
		# shellcheck disable=SC2086 # words
		"$iostrata" breakdown -j $mode -- "${named[@]}" >"$tmp/out"
		printable "$tmp/out"
		json --arg name $'c\e[1m\ufffd</script>' '[.ops[].key, .slowest[]?.comm] | any(. == $name)' "$tmp/out"
		jq -r '(.ops[].key_bytes, .slowest[]?.comm_bytes) // empty' "$tmp/out" | sort -u | base64 -d >"$tmp/bytes"
		[[ $(<"$tmp/bytes") == "$name" ]]
	done
}

@test "output: hostile names in filters are made safe" {
	"$iostrata" breakdown --comm $'\e[31m\xff' -D 0.2 >"$tmp/out" 2>"$tmp/err"
	grep -qF -- '--comm \x1b[31m\xff' "$tmp/out"
	printable "$tmp/out"
	printable "$tmp/err"
	mkdir "$dir/${hostile%/*}"
	echo text >"$dir/$hostile"
	"$iostrata" breakdown --file "$dir/$hostile" -D 0.2 >"$tmp/out" 2>"$tmp/err"
	grep -qF "$hostile_safe" "$tmp/err"
	printable "$tmp/out"
	printable "$tmp/err"
}

@test "output: a run without I/O says so" {
	"$iostrata" breakdown --comm nobody-has-it -D 0.2 >"$tmp/out"
	grep -q '^no I/O seen in .*--comm nobody-has-it' "$tmp/out"
	"$iostrata" breakdown -j --comm nobody-has-it -D 0.2 >"$tmp/out"
	json '.ops == []' "$tmp/out"
}

# In a spreadsheet it may be a formula: iostrata(1) says so.
@test "--csv: a name that begins with = is written as it is" {
	cp "$(command -v dd)" "$tmp/=1+1"
	expect 0 breakdown --csv --by comm -o "$tmp/rows" -- "$tmp/=1+1" if=/proc/self/exe of=/dev/null count=23
	"$python" -c 'import csv, sys
assert "=1+1" in {cell for row in csv.reader(sys.stdin) for cell in row}' <"$tmp/rows"
}

@test "doctor: the table lists what works" {
	expect 0 doctor
	[[ $output =~ syscall\ +yes ]]
	verdict=$(sed -n '/^breakdown/,/^[^ b]/p' <<<"$output" | sed '$d' | tr -s ' \n' ' ')
	[[ $verdict == "breakdown, top and record work here"* ]]
	for command in funcs report export; do grep -qE "^[a-z, ]*\<$command\> .*works? " <<<"$output"; done
	for part in vfs 'file systems' waits block; do
		said=$(grep -cE "[:,] $part(,|$)" <<<"${verdict% }" || true)
		[[ $(grep -cE "^$part +no " <<<"$output") == "$said" ]]
	done
	echo "$output" >"$tmp/out"
	fits_80_columns "$tmp/out"
	printable "$tmp/out"
	expect 0 doctor -j
	json '.schema == "iostrata.doctor/1" and (.findings | map(select(.works)) | length > 3)'
	expect 0 doctor --probes
	[[ $output == *on_sys_enter* ]]
	echo "$output" >"$tmp/out"
	fits_80_columns "$tmp/out"
	expect 0 doctor --probes -j
	json '.probes | map(select(.loads)) | length > 10'
}

@test "--slowest: with --fs, operations on other file systems are not sent" {
	local file=/dev/shm/iostrata-slowest
	head -c 8192 /dev/zero >"$file"
	expect 0 breakdown -j --slowest 5 --fs tmpfs -- cmp "$file" "$file"
	json '.slowest | length > 0 and all(.fs == "tmpfs")'
	expect 0 breakdown -j --slowest 1000 --fs tmpfs -- dd if=/etc/passwd of=/dev/null bs=1 status=none
	json '(.slowest | all(.fs == "tmpfs")) and .lost.ring == 0'
	rm "$file"
}

@test "output: the time of day is in the caller's zone, read from a file" {
	[[ $(TZ=Asia/Tokyo date +%z) == +0900 ]] || skip "no zones are installed"
	TZ=Asia/Tokyo "$iostrata" breakdown -j 0.1 2 -- sleep 1 >"$tmp/out"
	json '.time | endswith("+09:00")' "$tmp/out"
	TZ=Asia/Tokyo "$iostrata" record --breakdown -j -o "$tmp/rec.ios" -- true >"$tmp/out"
	json '.time | endswith("+09:00")' "$tmp/out"
}

@test "intervals: an operation longer than its interval gives no share of thread time" {
	"$iostrata" breakdown -o - --all-files 0.4 -- sh -c 'sleep 1 | cat' >"$tmp/out"
	grep -q 's in I/O' "$tmp/out"
	[[ $(grep -oE '\([0-9]+ %' "$tmp/out" | tr -dc '0-9\n' | awk '$1 > 100' | wc -l) == 0 ]]
}

@test "output: --json works with -v, -n and --no-hist" {
	breakdown_of_work "$dir/file" -j -v
	json '[.ops[] | select(.op == "fsync") | .call] == ["fsync"]
		and ([.ops[] | select(.op == "meta") | .call] | length > 1 and all(. != null))
		and all(.ops[] | select(.op == "read"); has("call") | not)' "$tmp/out"
	breakdown_of_work "$dir/file" -j
	json 'all(.ops[]; has("call") | not) and (has("left_out") | not) and all(.ops[]; .hist | length > 0)' "$tmp/out"
	breakdown_of_work "$dir/file" -j -n 2 --no-hist
	json '(.ops | length) == 2 and (.requests | length) <= 2 and .left_out.ops >= 3 and all(.ops[]; .hist == null)
		and .io_ns > ([.ops[].total_ns] | add)' "$tmp/out"
	breakdown_of_work "$dir/file" -j -T syscall -n 1
	json '(.layers | length) == 1 and .left_out.layers >= 4' "$tmp/out"
	expect 2 breakdown --no-hist -D 0.1
	says "--no-hist is about JSON"
	expect 0 top -j 0.1 1
	json '.local_time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T")'
}

@test "operations: ioctls on file systems, mount, swapon and chdir are meta, other ioctls are not" {
	: >"$dir/file"
	"$iostrata" breakdown -j -v --op meta -o "$tmp/out" -- "$python" -c 'import ctypes, fcntl, os, sys
f = os.open(sys.argv[1], os.O_RDWR)
for i in range(23): fcntl.ioctl(f, 0x80086601, b"\0" * 8)
for i in range(101):
	try: fcntl.ioctl(f, 0x5401, b"\0" * 64)
	except OSError: pass
for i in range(7): os.chdir("/")
c = ctypes.CDLL(None)
for i in range(3): c.swapon(sys.argv[1].encode(), 0)
for i in range(5): c.mount(b"none", b"/nosuch", b"tmpfs", 0, None)' "$dir/file"
	json '[.ops[] | select(.call == "ioctl" and .fs != "proc") | .count] == [23]' "$tmp/out"
	json '[.ops[] | select(.call == "chdir") | .count] == [7]' "$tmp/out"
	json '[.ops[] | select(.call == "swapon") | .count, .errors] == [3, 3]' "$tmp/out"
	json '[.ops[] | select(.call == "mount") | .count, .errors] == [5, 5]' "$tmp/out"
}

@test "--append: the file's end is written to, even after it was truncated" {
	for i in 1 2; do
		expect 0 breakdown -j -D 0.1 -o "$tmp/log" --append
	done
	[[ $(wc -l <"$tmp/log") == 2 && $(stat -c %a "$tmp/log") == 600 ]]
	json '.schema == "iostrata.breakdown/1"' "$tmp/log"
	start breakdown -j 0.3 --append -o "$tmp/log"
	wait_until eval '(($(wc -l <"$tmp/log") > 3))'
	: >"$tmp/log"
	wait_until test -s "$tmp/log"
	finish INT
	json '.schema == "iostrata.breakdown/1"' "$tmp/log"
	ln -s "$tmp/log" "$tmp/link"
	expect 1 breakdown -D 0.1 --append -o "$tmp/link"
	says "cannot append to '.*link'" "regular file"
	expect 2 breakdown -D 0.1 --append
	says "--append has no meaning without -o FILE"
}

@test "--by pid: a process's title is its name" {
	echo text >"$dir/file"
	expect 0 breakdown -j --by pid --op read --file "$dir/file" -D 1 -- bash -c '
		exec -a "worker: writes all" "$0" -c "import os, sys, time
f = os.open(sys.argv[1], os.O_RDONLY)
for i in range(23): os.pread(f, 1, 0)
time.sleep(2)" "$1"' "$python" "$dir/file"
	json '[.ops[] | .title] == ["worker: writes all"]'
}
