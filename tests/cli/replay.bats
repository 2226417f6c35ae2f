# SPDX-License-Identifier: GPL-2.0-only
# top FILE: the intervals of a recording have the figures of report, as JSON and on a real screen with all its keys.
# shellcheck disable=SC2154,SC2016 # bats sets them; jq has its dollars

load lib
load tmux

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$BATS_FILE_TMPDIR/records" tests/records.c \
		build/libiostrata.a -lzstd -lz
	# 30 s with slow reads of one file
	"$BATS_FILE_TMPDIR/records" -c file "$BATS_FILE_TMPDIR/a.ios" 60013
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	a=$BATS_FILE_TMPDIR/a.ios
}

teardown() { pane_end; }

# sums KEY: a line for each key and kind of operations, and of requests
sums='def ops(key): [.ops[] | {key: key, op, count, errors, bytes, total_ns, max_ns}] |
	group_by([.key, .op]) | map({key: .[0].key, op: .[0].op, count: (map(.count) | add),
	errors: (map(.errors) | add), bytes: (map(.bytes) | add),
	total_ns: (map(.total_ns) | add), max_ns: (map(.max_ns) | max)});
	def rqs(key): [.rows[]?, .requests[]? | {key: key, disk: (.disk // .dev), op, count, errors, bytes, device_ns}] |
		sort_by([.key, .disk, .op]);'

@test "replay: each second has the figures of report --from --to, by process, thread, command, cgroup and file" {
	for by in pid tid comm cgroup file; do
		"$iostrata" top --json --by "$by" "$a" >"$tmp/top"
		(($(wc -l <"$tmp/top") == 31)) || { wc -l "$tmp/top"; false; }
		key=.$by
		[[ $by != comm ]] || key=.comm
		for second in 0 7 13 29; do
			"$iostrata" report --json --by "$by" --from "$second" --to $((second + 1)) "$a" >"$tmp/report"
			sed -n $((second + 1))p "$tmp/top" >"$tmp/second"
			diff <(command jq -c "$sums ops($key | tostring)[]" "$tmp/second" | sort) \
				<(command jq -c "$sums ops(.key)[]" "$tmp/report" | sort)
			diff <(command jq -c "$sums rqs($key | tostring)[]" "$tmp/second" | sort) \
				<(command jq -c "$sums rqs(.key)[]" "$tmp/report" | sort)
			[[ $(command jq '.ops | length > 3' "$tmp/second") == true ]]
		done
	done
	# the whole is all of its seconds
	"$iostrata" report --json "$a" | command jq -c '[.ops[].count] | add' >"$tmp/whole"
	[[ $(command jq -s '[.[].ops[].count] | add' "$tmp/top") == $(<"$tmp/whole") ]]
	# filters are those of report
	"$iostrata" top --json --op fsync --file /d1 "$a" 5 3 | command jq -c '[.ops[].count] | add' >"$tmp/top"
	for from in 0 5 10; do
		"$iostrata" report --json --op fsync --file /d1 --from $from --to $((from + 5)) "$a" 2>/dev/null
	done | command jq -c '[.ops[].count] | add' | diff - "$tmp/top"
}

@test "replay: a damaged recording is shown up to the damage, and losses without a time are told" {
	"$BATS_FILE_TMPDIR/records" "$tmp/whole.ios" 30011
	# as tools wrote that did not note losses by time: without these chunks, and the index
	"$python" - "$tmp/whole.ios" "$tmp/untimed.ios" <<-'EOT'
		import sys
		sys.path.append("tests")
		import capture
		data = open(sys.argv[1], "rb").read()
		chunks = list(capture.chunks(data))
		ends = [c.offset for c in chunks[1:]] + [len(data)]
		kept = [data[c.offset:end] for c, end in zip(chunks, ends) if c.kind not in (capture.LOSSES, capture.INDEX)]
		open(sys.argv[2], "wb").write(data[:chunks[0].offset] + b"".join(kept))
	EOT
	expect 0 top --json "$tmp/untimed.ios"
	[[ $stderr == "warning: 11 events lost at unknown times are in no interval" ]]
	expect 0 top --json "$tmp/whole.ios"
	[[ -z $stderr && $(command jq -s 'map(.lost.ops) | add' <<<"$output") == 11 ]]
	head -c $(($(stat -c %s "$tmp/whole.ios") / 2)) "$tmp/whole.ios" >"$tmp/cut.ios"
	expect 1 report -j "$tmp/cut.ios"
	command jq '[.ops[].count] | add' <<<"$output" >"$tmp/report"
	expect 1 top --json "$tmp/cut.ios"
	[[ $stderr == *"error: "*cut.ios* ]]
	command jq -s '[.[].ops[].count] | add' <<<"$output" | diff - "$tmp/report"
	(($(<"$tmp/report") > 1009))
}

@test "replay: what is no recording, and options for tracing, are refused" {
	expect 1 top "$tmp/none.ios"
	says "cannot open '.*none.ios'"
	expect 1 top 5x
	says "cannot open '5x'" "an interval is a number of seconds"
	expect 1 top -b "$iostrata"
	says "is not a recording|no recording"
	expect 2 top -D 5 "$a"
	says "--duration is for tracing, and '.*a.ios' is a recording"
	expect 2 top --children -p 1 "$a"
	says "Scope"
	expect 2 top "$a" -- true
	says "a command is for tracing"
	expect 2 top --by server "$a"
	says "--by server is live only"
	expect 2 top -
	says "'-' is no file"
	expect 2 top "$a" 1 2 3
	says "unexpected argument '3'"
}

@test "replay: the screen steps, goes to a time, and finds the incidents of a condition" {
	pane 120 30
	full_screen '\+0 ns of 30\.0 s by pid in 1\.00 s' top "$a"
	keys Right
	wait_until shows '\+1\.00 s of 30'
	keys Right Left Left Left
	wait_until shows 'this is the beginning'
	keys g
	wait_until shows 'time: _'
	types 12.5
	wait_until shows '\+12\.0 s of 30'
	# the figures of this second
	"$iostrata" report --json --from 12 --to 13 "$a" >"$tmp/report"
	count=$(command jq '[.ops[].count] | add' "$tmp/report" | sed 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/')
	wait_until shows "^files: $count ops" || { screen; echo "not $count"; false; }
	keys g
	types 99
	wait_until shows 'this is its end'
	keys g
	types nonsense
	wait_until shows 'no time: 12.5'
	keys J
	wait_until shows 'no condition yet'
	keys /
	types 'read>nothing'
	wait_until shows "invalid condition 'read>nothing'"
	keys g
	types 0
	wait_until shows '\+0 ns of'
	# the incidents are those of the records: reads of more than 21 ms, less than a second apart
	wanted=$("$iostrata" report --events json "$a" | command jq -s '[.[] | select(.type == "op" and .op == "read" and
		.total_ns > 21000000) | .start_ns + .total_ns] | sort | [., [-2e9] + .[:-1]] | transpose |
		map(select(.[0] - .[1] > 1e9)) | length')
	((wanted > 1)) || { echo "$wanted incidents"; false; }
	keys /
	types 'read>21ms'
	wait_until shows "^$wanted incidents of read>21ms: J goes on"
	keys g
	types 0
	wait_until shows '\+0 ns of'
	keys J
	wait_until shows "incident [0-9]+ of $wanted, at \+"
	at=$(screen | grep -oE 'at \+[0-9.]+ m?s' | head -n 1)
	keys J
	wait_until hides "${at/+/\\+},"
	keys K
	wait_until shows "${at/+/\\+},"
	# all views, also of files
	keys v v v
	wait_until shows ' by file in '
	wait_until shows '/d1/file-'
	keys t t
	wait_until shows ' by file total of '
	keys t
	wait_until shows ' by file in '
	keys f
	types 'file-17'
	wait_until shows 'with file-17'
	keys Escape # an escape and a key at once would be another key
	wait_until hides 'with file-17'
	keys Enter
	wait_until shows '^file /d'
	keys Escape
	wait_until hides '^file /d'
	keys g
	types 0
	wait_until shows '\+0 ns of'
	keys + Space
	wait_until shows 'playing'
	wait_until hides '\+0 ns of'
	keys h
	wait_until shows 'the next incident'
	keys q
	screen_ended 0
}
