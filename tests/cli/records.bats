# SPDX-License-Identifier: GPL-2.0-only
# report, compare, explain and export of long recordings, which tests/records.c makes: the CPU time and memory that each
# takes. CPU time is a program's own, the least of three: others may be at work.
# shellcheck disable=SC2016 # the shell's own that is started

load lib

# How slow this machine is: 1, or more where two million rounds of a loop take longer than 50 ms (a
# computer needs 30 to 70), as in an emulator or beside other work. There the recording is shorter, too.
setup_file() {
	cat >"$BATS_FILE_TMPDIR/slowness.py" <<-'EOT'
		import time
		def now():
		    begin = time.process_time()
		    for _ in range(2000000):
		        pass
		    return max(1, (time.process_time() - begin) / 0.05)
	EOT
	export PYTHONPATH=$BATS_FILE_TMPDIR
	slowness=$("$python" -B -c 'import slowness; print(min(slowness.now() for _ in range(3)))')
	operations=$((1000000 / (${slowness%.*} < 10 ? ${slowness%.*} : 10)))
	export operations long=$BATS_FILE_TMPDIR/long.ios
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$BATS_FILE_TMPDIR/records" tests/records.c \
		build/libiostrata.a -lzstd -lz
	"$BATS_FILE_TMPDIR/records" "$long" "$operations"
}

# costs SECONDS MB COMMAND...: so much CPU time at most, of a machine that is not slow, so much memory. How slow the
# machine is, is looked at before and after each of three tries: other work may begin at any time.
costs() {
	"$python" -B - "$@" <<-'EOT'
		import os, slowness, subprocess, sys
		seconds, mb, command = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
		least, most = 1e9, 0
		for _ in range(3):
		    before = slowness.now()
		    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
		    _, status, usage = os.wait4(child.pid, 0)
		    assert status == 0, status
		    slow = max(before, slowness.now())
		    least = min(least, (usage.ru_utime + usage.ru_stime) / slow)
		    most = max(most, usage.ru_maxrss / 1000)
		print(f"{least:.2f} of {seconds:.2f} s, {most:.1f} of {mb:.0f} MB: {' '.join(command)}")
		sys.exit(least > seconds or most > mb)
	EOT
}

@test "report: each option reads two million records a second" {
	# of a million operations and 100,000 requests
	for asked in "" "--by file" "--by tid -H" "--slowest 10" "--every 1" "--heat" "-j --op fsync"; do
		# shellcheck disable=SC2086 # words
		costs 0.55 64 "$iostrata" report $asked "$long"
	done
	costs 1.1 64 "$iostrata" report --events csv "$long"
	costs 1.8 64 sh -c 'rm -rf "$2" && exec "$0" export "$1" --to parquet -o "$2"' "$iostrata" "$long" "$tmp/parquet"
	(($(stat -c %s "$tmp/parquet/operations.parquet") < 20 * operations))
	expect 0 report -j "$long"
	json --argjson n "$operations" '([.ops[].count] | add) == $n and ([.requests[].count] | add) == ($n / 10 | ceil)'
}

@test "report: the same file under two names is refused" {
	"$BATS_FILE_TMPDIR/records" "$tmp/a.ios" 101
	ln "$tmp/a.ios" "$tmp/b.ios"
	ln -s a.ios "$tmp/c.ios"
	for other in a b c; do
		expect 2 report "$tmp/a.ios" "$tmp/$other.ios"
		says "'.*/a.ios' and '.*/$other.ios' are the same file" "records are counted twice"
	done
	cp "$tmp/a.ios" "$tmp/d.ios"
	expect 0 report -j "$tmp/a.ios" "$tmp/d.ios"
	json '([.ops[].count] | add) == 202'
}

@test "report: several recordings that are added up are reported" {
	"$BATS_FILE_TMPDIR/records" "$tmp/a.ios" 1009
	cp "$tmp/a.ios" "$tmp/b.ios"
	cd "$tmp"
	expect 0 report a.ios
	[[ $output == "recorded in a.ios for "* ]]
	expect 0 report a.ios b.ios
	[[ $output == "recorded in a.ios and 1 more for "* || $output == "recorded in b.ios and 1 more for "* ]]
}

@test "report: a file that is no recording is not counted among the recordings" {
	for host in one other; do
		"$BATS_FILE_TMPDIR/records" -h "$host" "$tmp/$host.ios" 1009
	done
	: >"$tmp/empty.ios"
	cd "$tmp"
	for files in "one.ios empty.ios" "empty.ios one.ios" "empty.ios /dev/null one.ios"; do
		# shellcheck disable=SC2086 # words
		expect 1 report --by pid $files
		[[ $output == "recorded in one.ios for "* && $output != *one:* ]]
		[[ $stderr == "error: 'empty.ios' is empty"* && $stderr != *recordings\ * && $stderr != *compare* ]]
	done
	# a page has no hosts before the names of one host's disks
	expect 1 report --html page.html one.ios empty.ios
	not grep -q one:loop3 page.html
	for files in "one.ios other.ios empty.ios" "empty.ios other.ios one.ios"; do
		# shellcheck disable=SC2086 # words
		expect 1 report $files
		first=${files#empty.ios }
		[[ $output == "recorded in ${first%% *} and 1 more for "* ]]
		[[ $stderr == *$'\n'"2 recordings of several hosts are added up; "*$'\n'"hint: 'iostrata compare' shows "* ]]
	done
	# a damaged recording counts: its records up to the damage are shown
	head -c 9000 other.ios >cut.ios
	expect 1 report one.ios cut.ios
	[[ $output == "recorded in one.ios and 1 more for "* || $output == "recorded in cut.ios and 1 more for "* ]]
	[[ $stderr == *"2 recordings of several hosts are added up"* ]]
}

@test "report: the time of a damaged recording ends before the damage" {
	"$BATS_FILE_TMPDIR/records" "$tmp/whole.ios" 30011
	"$python" - "$tmp/whole.ios" "$tmp/bad.ios" >"$tmp/covered" <<-'EOT'
		import json, sys
		sys.path.append("tests")
		import capture
		whole = open(sys.argv[1], "rb").read()
		data = bytearray(whole)
		header, *rest = capture.chunks(whole)
		records = [c for c in rest if c.kind == capture.OPS]
		data[records[-1].offset + 60:records[-1].offset + 68] = b"\xff" * 8
		open(sys.argv[2], "wb").write(data)
		print(records[-2].last - json.loads(header.raw)["monotonic_ns"])
	EOT
	expect 1 report -j "$tmp/bad.ios"
	[[ $stderr == *"is damaged at byte "* ]]
	json "([.ops[].count] | add) == 16385 and .duration_ns == $(<"$tmp/covered")"
	expect 1 report "$tmp/bad.ios"
	[[ $output == *$'\n'"nothing lost in this part"* ]]
}

@test "report: recordings from pipes are kept apart by host" {
	for host in one other; do
		"$BATS_FILE_TMPDIR/records" -h "$host" "$tmp/$host.ios" 1009
	done
	expect 0 report -j --by pid <(cat "$tmp/one.ios") <(cat "$tmp/other.ios")
	[[ $stderr == *"2 recordings of several hosts are added up"* ]]
	json '[.ops[].key | split(":")[0]] | unique == ["one", "other"]'
	expect 0 report -j --by pid <(cat "$tmp/one.ios") "$tmp/one.ios"
	[[ $stderr == *"2 recordings are added up; "*" in which they overlap "* ]]
	json 'all(.ops[]; .key | contains(":") | not)'
}

@test "report: --heat maps only the filtered events" {
	"$BATS_FILE_TMPDIR/records" "$tmp/a.ios" 1009
	expect 0 report --heat "$tmp/a.ios"
	[[ $output == "operations: each"*$'\nrequests: each'* ]]
	expect 0 report --heat --op fsync "$tmp/a.ios"
	[[ $output == "operations: each"*$'\n\nrequests: not shown, because only operations are filtered by --op' ]]
	for option in -T=blk --by=file -v -n=3 --sort=count -H -m -Q --slowest=3 -j --every=1; do
		# shellcheck disable=SC2086 # words
		expect 2 report --heat ${option/=/ } "$tmp/a.ios"
		says "--heat draws maps, .* is about tables: choose one"
	done
	expect 2 report --heat --events csv "$tmp/a.ios"
}

@test "report: --csv has the rows and figures of JSON" {
	"$BATS_FILE_TMPDIR/records" "$tmp/a.ios" 5003
	for by in '' --by=file --by=pid; do
		"$iostrata" report --csv ${by:+"$by"} "$tmp/a.ios" >"$tmp/csv"
		"$iostrata" report -j ${by:+"$by"} "$tmp/a.ios" >"$tmp/json"
		"$python" - "$tmp/csv" "$tmp/json" <<-'EOT'
			import csv, json, sys
			rows, line = list(csv.DictReader(open(sys.argv[1]))), json.load(open(sys.argv[2]))
			assert [r["type"] for r in rows] == ["op"] * len(line["ops"]) + ["request"] * len(line["requests"])
			def name(r): return r.get("dev") or "", r["op"], r["key"] or "", str(r["count"]), str(r["max_ns"])
			for row, op in zip(sorted(rows, key=name), sorted(line["ops"] + line["requests"], key=name)):
			    figures = {n: v for n, v in op.items() if isinstance(v, int)}
			    figures |= {st + "_ns": ns for st, ns in op.get("strata", {}).items()}
			    for name, value in figures.items():
			        if name in row:
			            assert row[name] == ("" if value is None else str(value)), (name, row[name], value)
			assert "sleep_ns" in rows[0] and "requeues" in rows[0]
		EOT
	done
	# one line of titles, whatever the number of intervals
	"$iostrata" report --csv --every 1ms "$tmp/a.ios" >"$tmp/csv"
	[[ $(grep -c ^end_ns "$tmp/csv") == 1 && $(cut -d, -f1 "$tmp/csv" | sort -u | wc -l) -gt 2 ]]
	for other in -j -H --slowest=3 --pattern; do
		expect 2 report --csv "$other" "$tmp/a.ios"
		says "--csv and .* exclude one another"
	done
}

@test "report: requests that are not shown are reported, with a hint" {
	"$BATS_FILE_TMPDIR/records" "$tmp/a.ios" 1009
	"$iostrata" report -n 2 "$tmp/a.ios" >"$tmp/out"
	grep -qE '^[0-9]+ more, [0-9.]+ % of I/O; a larger -n shows them$' "$tmp/out"
	"$iostrata" report -v -n 2 "$tmp/a.ios" >"$tmp/out"
	grep -qE '^[0-9]+ more rows of operations; a larger -n shows them$' "$tmp/out"
	"$iostrata" report -n 101 "$tmp/a.ios" >"$tmp/out"
	not grep -q ' more' "$tmp/out"
	# and no line of what has no terminal is cut, whoever reads how much of it
	"$iostrata" report --by file "$tmp/a.ios" | cat >"$tmp/out"
	not grep -qF ... "$tmp/out"
}

# both_sides [OPTION...]: c.ios of the client and s.ios of the server.
both_sides() {
	"$BATS_FILE_TMPDIR/records" -n client -h client "$@" "$tmp/c.ios" 1009
	"$BATS_FILE_TMPDIR/records" -n server -h server -r 77 "$@" "$tmp/s.ios" 1009
}

@test "report: a client's NFS requests get the strata of the server's recording" {
	both_sides
	expect 0 report -j "$tmp/s.ios" "$tmp/c.ios"
	json '.joined.rows | map(.op) == ["READ", "WRITE"]'
	json '.joined.rows | map(.count) == [666, 334]'
	json '.joined.rows | map(.tag_ns + .queue_ns + .network_ns + (.strata | add) == .total_ns) == [true, true]'
	json '.joined.rows | map(.tag_ns / .count) == [7, 7]'
	json '.joined.rows | map(.queue_ns / .count) == [11, 11]'
	json '.joined.rows | map(.network_ns / .count) == [400000, 400000]'
	json '.joined.rows | map(.strata.device / .count) == [500000, 500000]'
	json '.joined.requests == {count: 1009, no_xid: 0, elsewhere: 9, outside: 0, alone: 0, longer: 0}'
	json '.joined.served == {count: 1000, no_xid: 0, elsewhere: 0, outside: 0, alone: 0, longer: 0}'
	expect 0 report "$tmp/c.ios" "$tmp/s.ios"
	[[ $stderr == "2 recordings of several hosts are added up; --by host keeps them apart" ]]
	flat=$(tr -s '\n ' ' ' <<<"$output")
	[[ $flat == *" NFS READ takes 1.00 ms at the client: 500 us server's device, 400 us network, "* ]]
	[[ $flat == *" network, 101 us server's cpu, rest 18 ns "* ]]
	[[ $flat == *" not joined: 9 of 1,009 NFS requests (9 to other servers)"* ]]
	[[ $output != *"not joined: "*" served operations"* ]]
	grep -qE '^request +count +client +tag +queue +network +s.fs +s.device$' <<<"$output"
	grep -qE '^WRITE +334 +1.00 ms +7 ns +11 ns +400 us +101 us +500 us$' <<<"$output"
	expect 0 report -n 1 "$tmp/c.ios" "$tmp/s.ios"
	[[ $output == *$'\n1 more; a larger -n shows them\ntimes are means of the joined requests; s. marks'* ]]
}

@test "report: one side alone, a part of the time, or a filter joins nothing" {
	both_sides
	for asked in "s.ios" "c.ios" "--op served c.ios s.ios" "--to 1 c.ios s.ios" "-T syscall c.ios s.ios" \
		"--every 1 c.ios s.ios"; do
		# shellcheck disable=SC2086 # words
		(cd "$tmp" && "$iostrata" report -j $asked >"$tmp/json")
		json 'has("joined") == false' "$tmp/json"
	done
	expect 0 report --events csv "$tmp/c.ios" "$tmp/s.ios"
	(($(wc -l <<<"$output") == 1001))
}

@test "report: --events with --joined lists the joined requests of NFS one by one" {
	both_sides
	cd "$tmp"
	"$iostrata" report -j s.ios c.ios >table
	expect 0 report --events json --joined s.ios c.ios
	[[ $stderr == "not joined: 9 of 1,009 NFS requests (9 to other servers)" ]]
	printf '%s\n' "$output" >list
	[[ $(head -n 1 list) == '{"schema":"iostrata.joined/1"}' ]]
	json '.schema or (.client == "client" and .server == "10.0.0.7" and .served_by == "server")' list
	json '.schema or (.tag_ns == 7 and .queue_ns == 11 and .network_ns == 400000)' list
	json '.schema or .tag_ns + .queue_ns + .network_ns + .served_ns == .total_ns' list
	json '.schema or ([to_entries[] | select(.key | test("^served_[a-z]+_ns$")) | .value] | add) ==
		.served_ns + .served_from_ns' list
	# an operation of the server is found by its begin
	"$iostrata" report --events json s.ios >served
	"$python" - <<-'EOT'
		import json
		rows = [json.loads(line) for line in open("list")][1:]
		table = json.load(open("table"))["joined"]["rows"]
		served = [json.loads(line) for line in open("served")][1:]
		assert len(rows) == 1000 and sum(row["op"] == "READ" for row in rows) == 666
		assert sum(row["total_ns"] for row in rows) == sum(row["total_ns"] for row in table)
		took = {one["start_ns"]: one["total_ns"] for one in served}
		assert all(took[row["served_from_ns"]] == row["served_ns"] for row in rows)
		json.dump(rows, open("rows", "w"))
	EOT
	expect 0 report --events csv --joined c.ios s.ios
	printf '%s\n' "$output" >list
	"$python" - <<-'EOT'
		import csv, json
		rows = list(csv.DictReader(open("list")))
		wanted = [{k: "" if v is None else str(v) for k, v in row.items()} for row in json.load(open("rows"))]
		assert rows == wanted, (rows[0], wanted[0])
	EOT
	expect 0 report --events text --joined c.ios s.ios
	grep -qE '^ +TIME +TOOK +TAG +QUEUE +NETWORK +SERVED +MOST OF SERVED +REQUEST +SERVER$' <<<"$output"
	(($(grep -cE '^ +0\.00[0-9]+ +1\.00 ms +7 ns +11 ns +400 us +60. us +500 us device +READ +10\.0\.0\.7$' \
		<<<"$output") == 666))
	expect 0 report --events csv --joined -o out.csv c.ios s.ios
	cmp out.csv list
	"$iostrata" report --events csv --joined c.ios s.ios | head -n 1 >first
	[[ $(head -n 1 list) == "$(<first)" ]]
	# both sides of what is not joined are told, and losses as ever
	"$BATS_FILE_TMPDIR/records" -n client -h client half.ios 505
	expect 0 report --events csv --joined half.ios s.ios
	[[ $stderr == "not joined: 5 of 505 NFS requests ("*$'\n'"not joined: 500 of 1,000 served operations ("* ]]
	expect 5 report --strict --events csv --joined c.ios s.ios
}

@test "report: --joined is refused if nothing can be joined" {
	both_sides
	: >"$tmp/empty.ios"
	cd "$tmp"
	expect 2 report --joined c.ios s.ios
	says "--joined is for --events only" "a table shows the joined requests"
	for part in "--op read" "--from 0.1" "--to 1"; do
		# shellcheck disable=SC2086 # words
		expect 2 report --events csv --joined $part c.ios s.ios
		says "--joined needs whole recordings, '${part% [0-9]*}' leaves out a part"
	done
	for files in "c.ios" "s.ios" "--strict s.ios"; do
		# shellcheck disable=SC2086 # words
		expect 1 report --events csv --joined $files
		says "nothing to join: a recording from an NFS client is missing, or one from its server" "give both recordings"
	done
	expect 1 report --events csv --joined c.ios empty.ios
	[[ $stderr == "error: 'empty.ios' is empty"* && $stderr != *"nothing to join"* && -z $output ]]
	expect 1 report --events csv --joined c.ios s.ios empty.ios
	(($(wc -l <<<"$output") == 1001))
}

@test "report: hostile names from a server are made safe" {
	both_sides -x
	expect 0 report "$tmp/c.ios" "$tmp/s.ios"
	not grep -q $'[\x01-\x09\x0b-\x1f\x7f]' <<<"$output"
	grep -q '^not joined: ' <<<"$output"
	COLUMNS=40 expect 0 report "$tmp/c.ios" "$tmp/s.ios"
	expect 0 report -j "$tmp/c.ios" "$tmp/s.ios"
	json '(.joined.rows | length) == 15 and .joined.rows[-1].op == null'
	json '(.joined.rows | map(select(.op_bytes)) | length) > 0'
	for format in text csv; do
		expect 0 report --events "$format" --joined "$tmp/c.ios" "$tmp/s.ios"
		not grep -q $'[\x01-\x09\x0b-\x1f\x7f]' <<<"$output"
		(($(wc -l <<<"$output") > 900))
	done
	expect 0 report --events json --joined "$tmp/c.ios" "$tmp/s.ios"
	tests/schema.py <(printf '%s\n' "$output")
	grep -q '"op_bytes":' <<<"$output"
	head -c 3000 "$tmp/s.ios" >"$tmp/cut.ios"
	expect 1 report "$tmp/c.ios" "$tmp/cut.ios"
}

@test "report, compare and export: text on a terminal fits its width" {
	"$BATS_FILE_TMPDIR/records" -x -h "$(printf 'x%.0s' {1..60})" "$tmp/a.ios" 1009
	"$BATS_FILE_TMPDIR/records" "$tmp/b.ios" 1009
	for asked in "" -v "--by file -v" "--by server" "--slowest 3 --timeline" --heat "--by file --pattern" "-T blk -Q" \
			"--from 1us" "--events text"; do
		# shellcheck disable=SC2086 # words
		on_terminal "$iostrata" report $asked "$tmp/a.ios"
		(($(wc -l <"$tmp/out") > 10))
		fits_80_columns "$tmp/out" || { echo "report $asked"; false; }
	done
	# all columns where there is room
	[[ $(head -n 1 "$tmp/out") == *" BYTES COMM "* ]]
	expect 0 report --events text "$tmp/a.ios"
	[[ $(head -n 1 <<<"$output") == *" BYTES "*" OFFSET "*" RESULT "*" TID COMM "* ]]
	# however long its kind is, each operation has its bytes in the same column
	awk '$2 == "op" && $6 == 4096 { print index($0, " 4096 ") }' <<<"$output" | sort -u >"$tmp/columns"
	(($(wc -l <"$tmp/columns") == 1 && $(grep -c ' served ' <<<"$output") > 0))
	on_terminal "$iostrata" compare -v "$tmp/a.ios" "$tmp/b.ios"
	fits_80_columns "$tmp/out"
	for format in otf2 parquet chrome; do
		script -qec "'$iostrata' export --to $format -o '$tmp/a-directory-of-$format' '$tmp/a.ios'" /dev/null \
			</dev/null | tr -d '\r' >"$tmp/out"
		(($(wc -w <"$tmp/out") > 3)) || [[ $format == chrome ]]
		fits_80_columns "$tmp/out" || { echo "export $format"; false; }
	done
}

@test "compare: two million records a second, by each of two threads" {
	cp "$long" "$tmp/copy.ios"
	# of two million operations and 200,000 requests
	for asked in "" "--by tid" "-j --op fsync"; do
		# shellcheck disable=SC2086 # words
		costs 1.5 64 "$iostrata" compare $asked "$long" "$tmp/copy.ios"
	done
	costs 3 96 "$iostrata" compare --by file "$long" "$tmp/copy.ios"
	expect 0 compare -j "$long" "$tmp/copy.ios"
	json --argjson n "$operations" '([.ops[].count | .base, .new] | add) == 2 * $n'
}

@test "explain: a million records a second, each of them twice" {
	for asked in 'any>p99' 'fsync>p99' 'request>p99' 'any>1us'; do
		costs 2.5 64 "$iostrata" explain "$long" "$asked"
	done
	expect 0 explain -j "$long" 'any>1ns'
	json --argjson n "$operations" '.count == $n and .slow == $n'
}

@test "export: a million operations in ten seconds" {
	costs 10 72 sh -c 'rm -rf "$2" && exec "$0" export "$1" --to otf2 -o "$2"' "$iostrata" "$long" "$tmp/otf2"
}

# recorded KIND: how many of that kind there are in a.ios
recorded() {
	"$python" -c 'import sys; sys.path.append("tests"); import capture
ops = capture.read(sys.argv[1]).ops
print(sum(r["kind"] == capture.OP_KINDS[sys.argv[2]] for r in ops))' "$tmp/a.ios" "$1"
}

@test "export: overlapping requests of io_uring and libaio are all exported" {
	local uring aio
	"$python" -c 'import otf2' 2>/dev/null || skip "no otf2 for $python"
	"$BATS_FILE_TMPDIR/records" "$tmp/a.ios" 20011
	uring=$(recorded uring) aio=$(recorded aio)
	((uring > 20 && aio > 20))
	expect 0 export "$tmp/a.ios" --to otf2 -o "$tmp/otf2"
	"$python" tests/otf2check.py "$tmp/otf2/traces.otf2" >"$tmp/json"
	# reads, and writes; 2002 of the operations issued are requests of the disk
	command jq -e --argjson r "$uring" --argjson w "$aio" '.problems == 0 and .count.Enter == 20011 - $r - $w and
		.count["asynchronous READ POSIX"] == $r and .count["asynchronous WRITE POSIX"] == $w and
		(.count["failed READ POSIX"] // 0) + (.count["failed WRITE POSIX"] // 0) > 0 and
		.count.IoOperationIssued <= 2002 + $r + $w' "$tmp/json"
}
