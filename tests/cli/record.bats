# SPDX-License-Identifier: GPL-2.0-only
# record and report: the file and its rights, what is refused, what is left when something goes wrong.

load lib

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	file=$tmp/a.ios
}

teardown() { end_spawned; }

# recorded FILE [ARGS]: of a command that reads 23 times
recorded() {
	need_root
	expect 0 record -o "$1" "${@:2}" -- dd if=/proc/self/exe of=/dev/null bs=512 count=23
}

@test "record and report: the counts are the command's" {
	recorded "$file"
	[[ $stderr == *"a.ios: "*" operations, "* ]]
	expect 0 report "$file"
	[[ $output == *"read ext4"* || $output == *"read "* ]]
	expect 0 report -j "$file"
	json '.schema == "iostrata.breakdown/1" and ([.ops[] | select(.op == "read") | .count] | add) >= 23'
	# compare tells totals of a command's runs, and rates of other recordings
	json '.command == "dd"'
}

@test "command lines: a recording has them, and a page has them if asked" {
	need_root
	expect 0 record -o "$file" -- sh -c 'dd if=/proc/self/exe of=/dev/null bs=512 count=23; sleep 1' 'secret$ word'
	expect 0 report -j --by pid "$file"
	json '[.ops[] | select(.comm == "sh") | .command][0] | contains("secret$ word")'
	expect 0 report -j --slowest 100 "$file"
	json '[.slowest[] | .command | select(. != null and contains("secret"))] | length > 0'
	# dd has ended before anybody looks
	expect 0 report -j --by pid "$file"
	json '[.ops[] | select(.comm == "dd") | .command][0] | test("^dd if=/proc/self/exe .*count=23$")'
	expect 0 breakdown -j --by pid -- sh -c 'dd if=/proc/self/exe of=/dev/null bs=512 count=23; true'
	json '[.ops[] | select(.comm == "dd") | .command][0] | test("^dd if=/proc/self/exe .*count=23$")'
	expect 0 report --html "$tmp/without.html" "$file"
	! grep -q "by-pid.*secret" "$tmp/without.html" || false
	! grep -q "command sh -c" "$tmp/without.html" || false
	expect 0 report --html "$tmp/with.html" --commands "$file"
	grep -q "command sh -c .*secret" "$tmp/with.html"
	expect 2 report --commands "$file"
	says "--commands is for --html"
	expect 0 record --no-commands -o "$tmp/none.ios" -- sh -c 'sleep 1; sleep 0.1' 'secret$ word'
	expect 0 report -j --by pid "$tmp/none.ios"
	json '[.ops[] | .command] | length > 0 and all(. == null)'
}

@test "record: the file is the caller's alone, and neither an existing file nor a link is overwritten" {
	need_root
	recorded "$file"
	[[ $(stat -c %a "$file") == 600 ]]
	expect 1 record -o "$file" -D 0.1
	says "cannot create '.*a.ios': File exists" "--force replaces it"
	ln -s "$tmp/elsewhere" "$tmp/link"
	expect 1 record -o "$tmp/link" -D 0.1
	says "cannot create"
	[[ ! -e $tmp/elsewhere ]]
	# what is replaced is the link, not what it leads to
	echo precious >"$tmp/elsewhere"
	recorded "$tmp/link" --force
	[[ ! -L $tmp/link && $(cat "$tmp/elsewhere") == precious ]]
	mkdir "$tmp/dir"
	expect 1 record --force -o "$tmp/dir" -D 0.1
	says "cannot create '.*dir': File exists" "--force replaces files, not directories"
	expect 1 record -o "$tmp/dir" -D 0.1
	says "cannot create '.*dir': File exists" "--force replaces files, not directories"
	expect 1 record -o "$tmp/none/file" -D 0.1
	says "cannot create '.*none/file': No such file or directory" "choose a directory that exists"
}

@test "record: under sudo the file belongs to the caller" {
	need_root
	chmod 711 "$tmp"
	SUDO_UID=12345 SUDO_GID=54321 SUDO_USER=nobody expect 0 record -o "$file" -D 0.2
	[[ $(stat -c %u:%g:%a "$file") == 12345:54321:600 ]]
}

@test "record: without -o, the file's name has the command and the time" {
	need_root
	cd "$tmp"
	expect 0 record -- true
	compgen -G "$tmp/iostrata-true-2*.ios"
}

@test "record: a recording through a pipe is complete" {
	need_root
	"$iostrata" record -o - -- dd if=/proc/self/exe of=/dev/null bs=512 count=23 2>/dev/null |
		"$iostrata" report -j - >"$tmp/json"
	json '([.ops[] | select(.op == "read") | .count] | add) >= 23' "$tmp/json"
	expect 125 record -o - --breakdown -- true
	says "exclude one another"
}

@test "record: a killed recorder leaves the written part, and report says that the rest is missing" {
	need_root
	start record -o "$file"
	for _ in 1 2 3; do
		dd if="$iostrata" of=/dev/null bs=4k count=101 2>/dev/null
		sleep 0.8
	done
	kill -9 "$pid"
	ends_within 10 || true
	expect 1 report "$file"
	[[ $output == *read* && $stderr == *"is cut off at byte "*": the rest is missing"* ]]
	expect 1 report --events csv "$file"
	(($(wc -l <<<"$output") > 100))
}

@test "record: a recorder killed early leaves the records up to then" {
	need_root
	start record -o "$file"
	dd if="$iostrata" of=/dev/null bs=4k count=101 2>/dev/null
	sleep 0.4
	kill -9 "$pid"
	ends_within 10 || true
	expect 1 report -j --comm dd --op read "$file"
	json '([.ops[].count] | add) >= 101'
}

@test "report: a file that is not a recording, or is damaged, is an error" {
	expect 1 report "$tmp/none"
	says "cannot open '.*none': No such file"
	expect 1 report "$iostrata"
	says "is not a recording" "'iostrata record' makes"
	expect 1 report /dev/null
	says "'/dev/null' is empty" "'iostrata record' makes"
	expect 1 report - </dev/null
	says "'-' is empty"
	expect 1 report - <<<"iostrat"
	says "'-' is not a recording"
	expect 1 report "$tmp"
	says "cannot read"
	recorded "$file"
	printf 'x' | dd of="$file" bs=1 seek=1000 conv=notrunc status=none
	expect 1 report "$file"
	[[ $stderr == "error: "*"is damaged at byte "* ]]
	# of nothing that could be read there is no table, which would say that there was no I/O
	recorded "$tmp/whole.ios"
	expect 0 report "$tmp/whole.ios"
	[[ -n $output ]]
	"$python" - "$tmp/whole.ios" "$tmp/early.ios" <<-END
		import sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at = data.index(b"CHNK", data.index(b"CHNK") + 4)
		data[at + 60:at + 68] = b"\xff" * 8
		open(sys.argv[2], "wb").write(data)
	END
	expect 1 report "$tmp/early.ios"
	says "is damaged at byte [0-9]*: "
	expect 1 report -j "$tmp/early.ios"
	json '.ops == []'
}

@test "events: text, CSV and JSON have the same operations" {
	recorded "$file"
	ops=$("$python" -c 'import sys; sys.path.append("tests"); import capture
r = capture.read(sys.argv[1]); print(len(r.ops) + len(r.requests))' "$file")
	((ops > 23))
	expect 0 report --events text "$file"
	(($(wc -l <<<"$output") == ops + 1))
	printf '%s\n' "$output" >"$tmp/text"
	printable "$tmp/text"
	expect 0 report --events csv "$file"
	(($(wc -l <<<"$output") == ops + 1))
	"$python" -c 'import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert all(None not in r and None not in r.values() for r in rows)
assert sum(r["op"] == "read" and r["comm"] == "dd" for r in rows) >= 23
assert all(int(r["total_ns"]) == sum(int(v or 0) for k, v in r.items() if k.endswith("_ns") and
           k not in ("start_ns", "total_ns")) for r in rows if r["type"] == "op")' <<<"$output"
	expect 0 report --events json "$file"
	(($(wc -l <<<"$output") == ops + 1))
	[[ $(head -n 1 <<<"$output" | jq -r .schema) == iostrata.events/1 ]]
	(($(jq 'select(.op == "read" and .comm == "dd" and .result == 512) | .result' <<<"$output" | wc -l) >= 23))
}

@test "events: each possible file name is kept" {
	need_root
	dir=$(disk_dir)
	name=$(printf 'a\033[31m,"b\n\xff')
	: >"$dir/$name"
	expect 0 record -o "$file" -- cat "$dir/$name"
	for format in text csv json; do
		expect 0 report --events "$format" "$file"
		printf '%s\n' "$output" >"$tmp/out"
		printable "$tmp/out"
	done
	rm -r "$dir"
}

@test "report: --from, --to and --every show parts of the time" {
	need_root
	start record -o "$file" -p "$$"
	read -r _ <"$iostrata" || true
	sleep 1.2
	read -r _ <"$iostrata" || true
	finish INT
	expect 0 report -j --every 0.5 "$file"
	(($(wc -l <<<"$output") >= 3))
	expect 0 report -j --from 1 "$file"
	later=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 report -j --to 1 "$file"
	sooner=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 report -j "$file"
	all=$(jq '[.ops[].count] | add' <<<"$output")
	((later > 0 && sooner > 0 && later + sooner == all))
	# two files are one timeline
	cp "$file" "$tmp/copy.ios"
	expect 0 report -j "$file" "$tmp/copy.ios"
	[[ $(jq '[.ops[].count] | add' <<<"$output") == $((2 * all)) ]]
	expect 2 report --from 2 --to 1 "$file"
	says "--to 1.00 s is not after --from 2.00 s" "from the beginning of the recording"
}

@test "report: a time past the end is refused, with the recording's length" {
	recorded "$file"
	for args in "" "-j" "--heat" "--every 1" "--to 200"; do
		# shellcheck disable=SC2086 # words
		expect 1 report $args --from 101 "$file"
		says "--from 101 s is past the end: the recording is [0-9.]+ [mu]?s long$" "from the beginning"
	done
	expect 1 report --events json --from 101 "$file"
	[[ $stderr == *"is past the end"* ]]
	cp "$file" "$tmp/copy.ios"
	expect 1 report --from 101 "$file" "$tmp/copy.ios"
	says "the recordings are [0-9.]+ [mu]?s long$"
	# but not if another one begins later
	sleep 2
	recorded "$tmp/later.ios"
	expect 0 report -j --from 2 "$file" "$tmp/later.ios"
	json '.duration_ns > 0 and ([.ops[].count] | add) >= 23'
	expect 0 report --to 101 "$file"
}

@test "report: filters by process, --by and --min choose recorded operations" {
	need_root
	expect 0 record -o "$file" -- sh -c 'dd if=/proc/self/exe of=/dev/null bs=512 count=23; cat /etc/passwd'
	expect 0 report -j --comm dd --op read --by comm "$file"
	json '[.ops[] | [.op, .key]] | unique == [["read", "dd"]]'
	expect 0 report -j --comm cat,sh --by comm "$file"
	json '[.ops[].key] | unique == ["cat", "sh"]'
	pid=$("$iostrata" report --events csv "$file" | awk -F, '$1 ~ /op/ && !pid { pid = $18 } END { print pid }')
	expect 0 report -j -p "$pid" --by pid "$file"
	json '(.ops | length > 0) and ([.ops[].key] | unique | length == 1)'
	expect 0 report -j --min 100s "$file"
	json '.ops == []'
}

@test "report: options and figures that a recording cannot have are errors" {
	expect 2 report -T vfs "$file"
	says "no times of 'vfs' alone" "-T syscall and -T blk"
	expect 2 report --slowest 3 -T blk "$file"
	expect 2 record --json -D 0.1
	says "--breakdown"
	recorded "$file" --requests
	expect 0 report "$file"
	[[ $output == *"not measured: operations"* && $output != *"in I/O"* ]]
	expect 0 report -j "$file"
	json '.missing == ["calls"] and .io_ns == null and .strata.device == null'
	expect 0 report -T blk "$file"
}

@test "report: a recording's tables equal breakdown's for the same run" {
	need_root
	spawn "$python" -c 'import os
f = os.open("/proc/self/exe", os.O_RDONLY)
while True: os.pread(f, 1, 0)'
	expect 0 record --breakdown --json -o "$file" -p "$!" -D 1
	# what was just being done on a CPU at the end may be in one of them alone
	ops=$(jq '[.ops[].count] | add' <<<"$output")
	((ops > 10000))
	expect 0 report -j "$file"
	json --argjson ops "$ops" --argjson cpus "$(nproc)" '([.ops[].count] | add) - $ops | -$cpus <= . and . <= $cpus'
}

@test "record: a file at the limit of its size is an error, and its content is kept" {
	need_root
	spawn "$python" -c 'import os, random
f = os.open("/proc/self/exe", os.O_RDONLY)
while True: os.pread(f, random.randrange(4096), random.randrange(1 << 40))'
	run --separate-stderr bash -c 'ulimit -f 200; exec "$@"' - "$iostrata" record -o "$file" -D 1
	((status == 1))
	[[ $stderr == *"error: cannot write "*": File too large"* ]]
	expect 0 report "$file"
}

@test "record: --keep leaves only the last records, and --max-size limits the file" {
	need_root
	start record -o "$file" --keep 1
	dd if="$iostrata" of=/dev/null bs=512 count=1009 2>/dev/null
	sleep 3
	dd if="$iostrata" of=/dev/null bs=512 count=101 2>/dev/null
	finish INT
	"$python" - "$file" <<-EOT
		import sys; sys.path.append("tests"); import capture
		r = capture.read(sys.argv[1])
		assert r.end["dropped_ops"] >= 1009, r.end
		assert len(r.ops) == r.end["ops"] >= 101
	EOT
	# its time begins with what was kept, and so do rates
	expect 0 report -j --every 1 "$file"
	[[ $(jq -s 'map(.duration_ns) | add < 2900000000' <<<"$output") == true ]]
	[[ $(head -n 1 <<<"$output" | jq '.ops != []') == true ]]
	local random='import os, random
f = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(200003): os.pread(f, random.randrange(4096), random.randrange(1 << 40))'
	expect 0 record --force -o "$file" --max-size 1 -- "$python" -c "$random"
	[[ $stderr == *"warning: lost "*" operations"* ]]
	size=$(stat -c %s "$file")
	((900000 <= size && size <= 1100000))
	expect 5 record --strict --force -o "$file" --max-size 1 -- "$python" -c "$random"
}

# reader CODE FILE...: of the recordings, by the reader in Python, as a list r.
reader() {
	"$python" -c "import sys; sys.path.append('tests'); import capture
r = [capture.read(f) for f in sys.argv[1:]]
$1" "${@:2}"
}

@test "record: the files of a ring are recordings, and together one timeline" {
	need_root
	expect 0 record -o "$file" --max-size 1 --max-files 3 -- dd if="$iostrata" of=/dev/null bs=64 count=10007
	[[ $stderr == *"a.ios.*: "* ]]
	for i in 1 2 3; do
		[[ $(stat -c %a "$file.$i") == 600 ]]
		expect 0 report "$file.$i"
	done
	[[ ! -e $file ]]
	# a file that exists is no reason to leave others behind
	rm "$file".[12]
	expect 125 record -o "$file" --max-size 1 --max-files 3 -- true
	says "cannot create '.*a.ios.3': File exists" "--force replaces it"
	[[ ! -e $file.1 && ! -e $file.2 ]]
	# calls whose offsets and times are all over the place, so that they take room
	expect 0 record --force -o "$file" --max-size 1 --max-files 3 -- "$python" -c '
import os, random, sys
f = os.open(sys.argv[1], os.O_RDONLY)
for i in range(700001):
    os.pread(f, 1 + random.getrandbits(12), random.getrandbits(40))' "$iostrata"
	reader '
r.sort(key=lambda one: one.header["monotonic_ns"])
ops = [len(one.ops) for one in r]
assert ops == [one.end["ops"] for one in r] and min(ops) > 1009, ops
assert r[0].header["monotonic_ns"] < r[1].header["monotonic_ns"]
last = r[-1].end
assert last["dropped_ops"] > 0 == sum(one.end["lost"]["ops"] for one in r), last
assert sum(ops) + last["dropped_ops"] >= 700001
assert all(one.path(op["file"]) for one in r for op in one.ops[:101] if op["file"])
' "$file".[123]
	(($(stat -c %s "$file".[123] | sort -n | tail -n 1) <= 1100000))
	# in whatever order they are named
	expect 0 report -j --op read "$file".[123]
	one=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 report -j --op read --every 100s "$file".3 "$file".2 "$file".1
	[[ $(jq -s 'length' <<<"$output") == 1 && $(jq '[.ops[].count] | add' <<<"$output") == "$one" ]]
	((one > 3000))
}

@test "record: SIGUSR1 and a slow operation end a recording" {
	need_root
	start record -o "$file" --keep 60 -- sh -c 'read -r _ <"$0"; exec sleep 15' "$iostrata"
	sleep 0.5
	kill -USR1 "$pid"
	ends_within 10
	((status == 0))
	reader 'assert len(r[0].ops) == r[0].end["ops"] > 0' "$file"
	expect 0 record --force -o "$file" --keep 60 --until 'any>0ns' -D 60 -- sleep 3
	[[ $stderr == *"one took "*": any>0ns"* ]]
	expect 0 record --force -o "$file" --until 'fsync>50s' -D 0.5
	[[ $stderr != *"one took"* ]]
	# a number without a unit is in seconds, and the unit is told
	expect 0 record --force -o "$file" --until 'fsync>100' --until 'any>70000ms' -D 0.2
	[[ $stderr == *"the recording ends when one fsync takes longer than 100 s"* ]]
	[[ $stderr == *"the recording ends when one operation takes longer than 70.0 s"* ]]
	for wrong in 'fsync' '>1' 'fsyncs>1' 'fsync>' 'fsync>1x'; do
		expect 2 record -o "$file" --until "$wrong"
		says "invalid condition '$wrong'"
	done
	expect 2 record --requests --until 'fsync>1'
	says "operations, which are not recorded"
	expect 2 record --max-files 3
	says "--max-files" "--max-size"
	expect 2 record --max-files 3 --max-size 1 --keep 3
	says "--max-files and --keep exclude one another"
	expect 2 record --max-files 3 --max-size 1 -o -
}

@test "report: cgroups, disks and files have their recorded names" {
	need_root
	dir=$(disk_dir)
	mkdir "$dir/below"
	echo one >"$dir/below/one"
	echo two >"$dir/two"
	expect 0 record -o "$file" -- cat "$dir/below/one" "$dir/two" "$dir/two"
	rm -r "$dir"
	expect 0 report -j --by file --op open --file "$dir" "$file"
	json --arg d "$dir" '[.ops[] | [.key, .count]] | sort == [[$d + "/below/one", 1], [$d + "/two", 2]]'
	expect 0 report -j --by file --op open --file "$dir/below/" --file "$dir/tw" "$file"
	json --arg d "$dir" '[.ops[].key] == [$d + "/below/one"]'
	expect 0 report -j --by cgroup "$file"
	path=$(jq -r '.ops[0].key' <<<"$output")
	all=$(jq '[.ops[].count] | add' <<<"$output")
	expect 0 report -j --cgroup "$path" "$file"
	json --argjson n "$all" '([.ops[].count] | add) == $n'
	expect 0 report -j --cgroup "$path/nowhere" "$file"
	json '.ops == [] and .requests == []'
	expect 0 report -j --by container "$file"
	json --argjson n "$all" '([.ops[].count] | add) == $n and ([.ops[].key] | unique | length) == 1'
	disk=$("$iostrata" report -j --by dev --op open "$file" | jq -r '.ops[0].key')
	expect 0 report -j -d "$disk" --by dev "$file"
	json --arg d "$disk" '([.ops[].key] | unique) == [$d]'
	expect 0 report -j -d nosuch0 "$file"
	json '.ops == [] and .requests == []'
}

@test "report: a recording with requests only of the chosen ones says that no operation ended" {
	need_root
	dir=$(disk_dir)
	expect 0 record -o "$file" -- dd if=/dev/zero "of=$dir/f" bs=4096 count=23 oflag=direct
	for form in "" -v "--every 60"; do
		expect 0 report $form --file "$dir/nosuch" "$file"
		said=$(tr -s ' \n' ' ' <<<"$output") # lines are wrapped
		[[ $said == *"no operation ended (looked for --file $dir/nosuch)"*" write "* ]]
		expect 0 report $form --file "$dir/f" "$file"
		[[ $output != *"no operation ended"* && $output == *" write "* ]]
	done
}

@test "report: --heat draws a map of latencies" {
	recorded "$file"
	expect 0 report --heat --op read "$file"
	[[ $output == "operations: each column "*" |"* ]]
	printf '%s\n' "$output" >"$tmp/out"
	printable "$tmp/out"
	fits_80_columns "$tmp/out"
	expect 2 report --heat -j "$file"
	says "--heat"
}

# slow FILE FIFO SECONDS: FILE through FIFO, its end only after SECONDS.
slow() {
	local at
	at=$("$python" -c 'import sys; sys.path.append("tests"); import capture
print(next(c.offset for c in capture.chunks(open(sys.argv[1], "rb").read()) if c.kind == capture.END))' "$1")
	mkfifo "$2"
	spawn bash -c 'exec >"$2"; head -c "$0" "$1"; sleep "$3"; tail -c "+$(($0 + 1))" "$1"' "$at" "$1" "$2" "$3"
}

@test "report: Ctrl-C shows the part read so far" {
	recorded "$file"
	slow "$file" "$tmp/fifo" 60
	env --default-signal=INT "$iostrata" report "$tmp/fifo" >"$tmp/out" 2>"$tmp/err" 3>&- 9>&- &
	pid=$!
	spawned+=("$pid")
	sleep 1
	not has_ended
	finish INT
	((status == 0))
	grep -q '^read' "$tmp/out"
	grep -q '^warning: interrupted after ' "$tmp/err"
}

@test "report: after a second of work, a terminal shows the progress" {
	recorded "$file"
	slow "$file" "$tmp/fifo" 1.5
	script -qec "$iostrata report $tmp/fifo $file >$tmp/out" /dev/null </dev/null >"$tmp/shown"
	grep -q 'iB read' "$tmp/shown"
	# and not if it is none
	rm "$tmp/fifo"
	slow "$file" "$tmp/fifo" 1.5
	expect 0 report "$tmp/fifo" "$file"
	[[ $stderr == "2 recordings are added up; "*" in which they overlap "* && ${#stderr_lines[@]} -eq 1 ]]
}

@test "record --otf2 is record and export" {
	need_root
	expect 0 record --otf2 "$tmp/trace" -- dd if="$iostrata" of=/dev/null bs=512 count=23
	[[ $stderr == *"trace: "*" operations, "*" location"* ]]
	[[ $(cd "$tmp/trace" && echo *) == "traces traces.def traces.otf2" && $(stat -c %a "$tmp/trace") == 700 ]]
	if [[ -n $(type -p otf2-print) ]]; then
		(($(otf2-print "$tmp/trace/traces.otf2" | grep -c '^ENTER.*"read"') >= 23))
	fi
	expect 125 record --otf2 "$tmp/trace" -- true
	says "cannot make '.*trace': File exists" "must not exist yet"
	expect 127 record --otf2 "$tmp/none" -- "$tmp/nosuch"
	[[ ! -e $tmp/none ]]
	expect 2 record --otf2 "$tmp/none" -o "$file"
	says "--otf2 excludes -o, --force and --max-files"
	expect 2 record --otf2 "$tmp/none" --force
	says "--otf2 excludes -o, --force and --max-files"
	expect 3 record --otf2 "$tmp/three" -- sh -c 'exit 3'
	[[ -e $tmp/three/traces.otf2 ]]
	# Ctrl-C ends the recording, not what comes then
	start record --otf2 "$tmp/stopped" -p "$$"
	read -r _ <"$iostrata" || true
	finish INT
	((status == 0))
	[[ -e $tmp/stopped/traces.otf2 && ! -e $tmp/stopped/recording.ios ]]
	# under sudo all of it is the caller's, and made by him
	mkdir "$tmp/his"
	chown 12345:54321 "$tmp/his"
	chmod 711 "$tmp" "${tmp%/*}" "${tmp%/*/*}"
	SUDO_UID=12345 SUDO_GID=54321 SUDO_USER=nobody expect 0 record --otf2 "$tmp/his/trace" -D 0.3
	[[ -z $(find "$tmp/his" ! -uid 12345) && -e $tmp/his/trace/traces.otf2 ]]
}

@test "report: recordings of several hosts are kept apart, and adding them up is reported" {
	unshare --uts true || skip "no UTS namespaces"
	reads=(dd if=/proc/self/exe of=/dev/null bs=512 status=none)
	for host in "nodeA 23" "nodeB 101"; do
		unshare --uts bash -c 'hostname "$1"; shift; exec "$@"' - "${host% *}" \
			"$iostrata" record -o "$tmp/${host% *}.ios" -- "${reads[@]}" count="${host#* }"
	done
	expect 0 report -j --by host --op read --fs ext4 "$tmp/nodeA.ios" "$tmp/nodeB.ios"
	json '[.ops[] | .key] | sort == ["nodeA", "nodeB"]'
	[[ $stderr != *"added up"* ]]
	expect 0 report -j --by pid "$tmp/nodeA.ios" "$tmp/nodeB.ios"
	json '[.ops[] | .key | split(":")[0]] | unique == ["nodeA", "nodeB"]'
	json 'all(.requests[]; .dev | test("^node[AB]:"))'
	[[ $stderr == *"2 recordings of several hosts are added up; --by host"*"iostrata compare"* ]]
	expect 0 report --by host "$tmp/nodeA.ios" "$tmp/nodeB.ios"
	[[ $output == *$'\nnodeA '*$'\nnodeB '* || $output == *$'\nnodeB '*$'\nnodeA '* ]]
	# of one host: two runs, and the same run twice
	"$iostrata" record -o "$tmp/c.ios" -- true
	"$iostrata" record -o "$tmp/d.ios" -- cat /dev/null
	expect 0 report -j --by pid "$tmp/c.ios" "$tmp/d.ios"
	[[ $stderr == *"2 recordings are added up; the "*" between them are not recorded"* ]]
	json 'all(.ops[]; .key | contains(":") | not)'
	cp "$tmp/c.ios" "$tmp/e.ios"
	expect 0 report "$tmp/c.ios" "$tmp/e.ios"
	[[ $stderr == *"2 recordings are added up; "*" in which they overlap are counted twice"* ]]
	expect 2 breakdown --by host -D 0.1
	says "--by host is for recordings" "iostrata report --by host"
}

@test "record: --alternate records two commands in turn, in files that compare takes" {
	need_root
	cd "$tmp"
	expect 0 record --runs 3 --alternate -o a 'echo old >>order; dd if=/proc/self/exe of=/dev/null bs=512 count=23' \
		'echo new >>order; dd if=/proc/self/exe of=/dev/null bs=512 count=101'
	[[ $(tr '\n' ' ' <order) == "old new new old old new " && $(echo *.ios) == \
		"a-base-1.ios a-base-2.ios a-base-3.ios a-new-1.ios a-new-2.ios a-new-3.ios" ]]
	[[ $stderr == *"to compare: iostrata compare --base 'a-base-*.ios' --new 'a-new-*.ios'"* ]]
	expect 0 compare -j --base 'a-base-*.ios' --new 'a-new-*.ios'
	json '.method.order == "in turn" and (.whole.per_second | not) and
		([.ops[] | select(.op == "read" and .count.new - .count.base == 78) | .count.verdict] == ["sure"])'
	# nothing is overwritten, and nothing is recorded before that is known
	rm order
	expect 1 record --runs 3 --alternate -o a 'echo old >>order' 'echo new >>order'
	says "'a-base-1.ios' exists" "--force replaces it"
	[[ ! -e order ]]
}

@test "record: an operation that never ended is told" {
	need_root
	cc -O1 -o "$tmp/leaves" -x c - <<-'EOT'
		#include <fcntl.h>
		#include <setjmp.h>
		#include <signal.h>
		#include <sys/file.h>
		#include <unistd.h>
		static sigjmp_buf away;
		static void leave(int sig) { (void)sig; siglongjmp(away, 1); }
		/* A lock that another descriptor holds; the call would begin again, if the handler returned. */
		int main(int argc, char **argv)
		{
			struct sigaction action = { .sa_handler = leave, .sa_flags = SA_RESTART };
			int held = open(argv[argc - 1], O_RDWR | O_CREAT, 0600), wanted = open(argv[1], O_RDWR);
			flock(held, LOCK_EX);
			sigaction(SIGALRM, &action, NULL);
			if (!sigsetjmp(away, 1)) {
				ualarm(30000, 0);
				flock(wanted, LOCK_EX);
			}
			return 0;
		}
	EOT
	expect 0 record -o "$tmp/never.ios" -- "$tmp/leaves" "$(disk_dir)/lock"
	[[ $stderr == *$'\n'"warning: 1 operation began and was never seen to end"* ]]
}

@test "record: --runs records a command several times, and ends when it fails" {
	need_root
	cd "$tmp"
	expect 0 record --runs 2 -- dd if=/proc/self/exe of=/dev/null bs=512 count=23
	[[ $(echo *.ios) == "runs-1.ios runs-2.ios" ]]
	expect 7 record --runs 11 -o b -- sh -c 'echo x >>n; exit $((7 * ($(wc -l <n) > 1)))'
	[[ $(echo b-*.ios) == "b-01.ios b-02.ios" ]]
	[[ $stderr == *"recording 2 of 11, 'b-02.ios', ended with exit code 7: no further one is made"* ]]
	[[ $stderr == *"hint: if the command may fail: -- sh -c 'COMMAND; true'"* ]]
	for wrong in "--runs 2" "--alternate a b" "--runs 2 --alternate a" "--runs 2 --alternate a b c" \
			"--runs 2 -o - -- true" "--runs 2 --otf2 d -- true" "a"; do
		# shellcheck disable=SC2086 # words
		run "$iostrata" record $wrong
		[[ $status == 2 || $status == 125 ]] || { echo "$wrong: $status"; false; }
	done
}
