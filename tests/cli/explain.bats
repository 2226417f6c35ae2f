# SPDX-License-Identifier: GPL-2.0-only
# explain, on recordings that tests/records.c makes with a known cause (tests/planted.h).
# shellcheck disable=SC2016 # jq's own

load lib

setup_file() {
	export made=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$made/records" tests/records.c build/libiostrata.a -lzstd -lz
	"$made/records" -c discard "$made/discard.ios" 20011
	"$made/records" -c file "$made/file.ios" 20011
	"$made/records" -c none "$made/none.ios" 20011
}

@test "explain: the cause is named first, with both counts and a command" {
	cd "$made"
	expect 0 explain discard.ios 'fsync>p99'
	echo "$output" >"$tmp/out"
	printable "$tmp/out"
	grep -v '^   iostrata report ' "$tmp/out" >"$tmp/lines"
	fits_80_columns "$tmp/lines"
	tr -s ' \n' ' ' <"$tmp/out" >"$tmp/line"
	grep -qE '^[0-9]+ of [0-9,]+ fsyncs took more than [0-9.]+ ms: on average [0-9.]+ ms, the others [0-9.]+ [mu]s\. ' \
		"$tmp/line"
	grep -qE ' [mu]s\. They waited for: device \+[0-9.]+ ms \([0-9]+ %\)' "$tmp/line"
	[[ $output == *$'\n1. beside discards on vda\n'* && $output == *"slow ones ("*") are in no finding."* ]]
	[[ $output == *"not in this recording: the CPU"* ]]
	[[ $output != *"chance would give"* && $output != *"the same operations were also"* ]]
	expect 0 explain -v discard.ios 'fsync>p99'
	tr -s ' \n' ' ' <<<"$output" >"$tmp/line"
	grep -qE ' others \([0-9.]+ %\): [0-9.]+ times as often, chance would give [0-9.]+, at most [0-9]+; p ' "$tmp/line"
	expect 0 explain -j discard.ios 'fsync>p99'
	json '.answer | test(" They waited for: device ") and
		test(" % of these were beside discards on vda, [0-9.]+ % of the others were[.]$")'
	json '.schema == "iostrata.explain/1" and .count > 3800 and
		.slow * 100 <= .count and .slow * 100 > .count - 200 and
		.threshold_ns > 10000000 and .window_ns < 2000000 and .tests > 100 and .missing[0] == "the CPU" and
		(.findings[0] | .attribute == "beside" and .coverage > 0.9 and .others_share < 0.1 and .lift > 9 and
			.p < 0.01 and .chance < .slow and .chance_at_most < .slow and .from_ns < .to_ns) and
		(.slow_strata.device / .slow > 10000000) and .others_strata.device / (.count - .slow) < 2000000'
	# once more, it says the same
	"$iostrata" explain -j discard.ios 'fsync>p99' | cmp - <(echo "$output")
}

@test "explain: counts, chance and verdicts are those of another program with the same method" {
	"$made/records" -c comm "$made/comm.ios" 20011
	for recording in comm file none; do
		"$python" tests/explain_ref.py "$iostrata" "$made/$recording.ios" 'fsync>p98' | tee -a "$tmp/told"
	done
	# a name, its processes and threads; a file and its directory
	[[ $(awk '{ print ($2 + 0 > 1) ($5 + 0 > 5) }' "$tmp/told" | xargs) == "11 11 01" ]] || { cat "$tmp/told"; false; }
}

@test "explain: the command of a finding shows slow ones of it" {
	local command
	cd "$made"
	expect 0 explain -j file.ios 'read>p99'
	json '.findings[0] | .attribute == "file" and .text == "in file /d1/file-17"'
	command=$(echo "$output" | jq -r '.findings[0].command')
	[[ $command == "iostrata report file.ios --file /d1/file-17 --from "*"s --op read --min "*"us --slowest 5" ]]
	# shellcheck disable=SC2086 # words
	expect 0 ${command#iostrata } -j
	json '(.slowest | length > 0 and all(.path == "/d1/file-17" and .total_ns > 10000000))'
	expect 0 explain -j file.ios 'request vda>p99'
	command=$(echo "$output" | jq -r '.findings[0].command')
	[[ $command == *" -d vda "*" --events csv" ]]
	# shellcheck disable=SC2086 # words
	expect 0 ${command#iostrata }
	((${#lines[@]} > 1))
}

@test "explain: noise gives no finding" {
	for condition in 'read>p99' 'fsync>p95' 'write>p99'; do
		expect 0 explain "$made/none.ios" "$condition"
		[[ $(tr -s ' \n' ' ' <<<"$output") == *" properties none is more frequent among them than chance allows. "* ]]
	done
}

@test "explain: filters and --from, --to choose the operations" {
	expect 0 explain -j "$made/file.ios" 'read>5ms' -p 103 --comm cron
	json '.threshold_ns == 5000000 and .count > 500 and .count < 1500 and .findings[0].attribute == "file" and
		(.findings[0].command | contains(" -p 103 --comm cron --file /d1/file-17 "))'
	expect 0 explain -j "$made/file.ios" 'read>p99' --from 2 --to 7
	json '.count > 5500 and .count < 6500 and .duration_ns == 5000000000 and .findings[0].attribute == "file" and
		.findings[0].from_ns >= 1900000000 and .findings[0].to_ns <= 7100000000'
	# the filter's calls stay in the command; a kind is that of the condition
	expect 0 explain -j "$made/file.ios" 'read>p99' --op pread64 --fs ext4
	json '.findings[0].command | contains(" --fs ext4 --op pread64 --file ") and (contains("--op read") | not)'
	expect 0 explain -j "$made/file.ios" 'read>p99' --op read
	json '.findings[0].command | [match("--op"; "g")] | length == 1'
	expect 0 explain -j "$made/file.ios" 'read>p99' --op write
	json '.count == 0'
	expect 1 explain "$made/file.ios" 'read>p99' --from 1m
	says "--from 60.0 s is past the end of '.*file.ios'" "counts from the beginning"
	expect 2 explain "$made/file.ios" 'read>p99' --from 3 --to 2
	says "--to 2.00 s is not after --from 3.00 s"
	expect 2 explain "$made/file.ios" 'request>p99' --op read
	says "only operations are filtered by --op"
}

@test "explain: too few or no slow operations give a clear sentence" {
	local n
	for n in 0 1 2; do
		"$made/records" -c none "$tmp/$n.ios" "$n"
		expect 0 explain "$tmp/$n.ios" 'any>p99'
		not grep -iE '(^|[^a-z])-?(nan|inf)([^a-z]|$)' <<<"$output"
		expect 0 explain -j "$tmp/$n.ios" 'any>1ns'
		json --argjson n "$n" '.count == $n and .slow == $n and .findings == []'
	done
	expect 0 explain "$tmp/0.ios" 'any>p99'
	[[ $output == "This recording has no matching operations." ]]
	expect 0 explain "$tmp/1.ios" 'any>p99'
	[[ $output == "There are too few operations for this percentile: 1."* ]]
	expect 0 explain "$tmp/2.ios" 'any>1ns'
	[[ $(tr -s ' \n' ' ' <<<"$output") == *"All of them did, so there are no others to compare with."* ]]
	expect 0 explain "$made/file.ios" 'read>1h'
	[[ $output == "None of "*" reads took more than 3600 s."* ]]
	expect 0 explain "$made/file.ios" 'open>1ms'
	[[ $output == "This recording has no matching opens." ]]
}

@test "explain: unreadable files and wrong conditions are clear errors" {
	local a=$made/file.ios condition
	for condition in '' 'read' 'read>' 'read>p0' 'read>p100' 'read>p' 'read>x' 'frob>p99' 'requests>p99' \
		'read>p99x3' 'read p99>1ms over 5s' 'errors>0' 'queue>5 over 5s' '>p99'; do
		expect 2 explain "$a" "$condition"
		[[ $stderr == "error: "* ]]
	done
	expect 2 explain "$a" 'frob>p99'
	says "invalid condition 'frob>p99': no such operation" "'request vda>p99'"
	expect 2 explain "$a"
	expect 2 explain 'read>p99' "$a"
	says "'read>p99' is a condition: FILE stands before it"
	expect 0 explain "$a" 'request vdz>p99'
	[[ $output == "This recording has no matching requests of vdz." ]]
	expect 2 explain - 'read>p99'
	says "reads a recording twice" "write the recording to a file"
	mkfifo "$tmp/pipe"
	expect 2 explain "$tmp/pipe" 'read>p99'
	says "reads a recording twice" "write the recording to a file"
	expect 1 explain "$tmp/absent" 'read>p99'
	says "cannot open '.*/absent': No such file"
	expect 1 explain /etc/passwd 'read>p99'
	says "'/etc/passwd' is not a recording"
	head -c 300000 "$a" >"$tmp/cut.ios"
	expect 1 explain "$tmp/cut.ios" 'read>p99'
	[[ $output == "doubtful: $tmp/cut.ios is cut off or damaged"* && $stderr == *"is cut off at byte "* ]]
	head -c 20 "$a" >"$tmp/head.ios"
	expect 1 explain "$tmp/head.ios" 'read>p99'
	says "is cut off"
}

@test "explain: names are made safe" {
	"$made/records" -x "$tmp/hostile.ios" 10007
	cp "$tmp/hostile.ios" "$tmp/"$'a\e[31m.ios'
	expect 0 explain -v "$tmp/"$'a\e[31m.ios' 'any>p99'
	[[ $output == *'\x1b[31m'* && $output != *$'\e'* ]]
	expect 0 explain -j "$tmp/hostile.ios" 'any>p90'
}

@test "explain: JSON fits its schema" {
	"$made/records" -x "$tmp/all.ios" 3001
	"$iostrata" explain -j "$made/discard.ios" 'fsync>p99' >"$tmp/1"
	"$iostrata" explain -j "$tmp/all.ios" 'any>p90' >"$tmp/2"
	"$iostrata" explain -j "$made/file.ios" 'request>p99' >"$tmp/3"
	"$iostrata" explain -j "$made/file.ios" 'copy>1' >"$tmp/4"
	tests/schema.py "$tmp"/{1,2,3,4}
}
