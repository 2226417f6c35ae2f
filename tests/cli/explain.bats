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

@test "explain: callers are looked at if the recording has user stacks" {
	"$made/records" -t "$tmp/stacks.ios" 20011
	"$made/records" "$tmp/none.ios" 20011
	expect 0 explain -j "$tmp/stacks.ios" 'any>p95'
	json '[.missing[] | select(startswith("callers"))] == []'
	tests=$(command jq .tests <<<"$output")
	expect 0 explain -j "$tmp/none.ios" 'any>p95'
	json '[.missing[] | select(startswith("callers"))] == ["callers (record --stacks)"]'
	# 22 functions with their lines, one without a file, and two libraries are tests
	json ".tests < $tests and .tests + 60 > $tests"
	expect 0 explain -j "$tmp/stacks.ios" 'request>p95'
	json '[.missing[] | select(startswith("callers"))] == []'
	expect 2 explain "$tmp" 'any>p95' --hide libc
	[[ $stderr == "error: --hide is for one recording"* ]]
}

@test "explain: counts, chance and verdicts are those of another program with the same method" {
	"$made/records" -c comm "$made/comm.ios" 20011
	for recording in comm file none; do
		"$python" tests/explain_ref.py "$iostrata" "$made/$recording.ios" 'fsync>p98' | tee -a "$tmp/told"
	done
	# a name, its processes and threads; a file and its directory
	[[ $(awk '{ print ($2 + 0 > 1) ($5 + 0 > 5) }' "$tmp/told" | xargs) == "11 11 01" ]] || { cat "$tmp/told"; false; }
}

hosts_make() { # DIR: the hosts db1 to db23 with models A, B and C; fsyncs are slow on hosts with C
	local i model
	mkdir "$1"
	for i in {1..23}; do
		model=$(cut -c $((i % 3 + 1)) <<<ABC)
		# shellcheck disable=SC2046 # three words or none
		"$made/records" -h "db$i" -k "6.$((i % 2)).1" -d "$model" "$1/$i.ios" 2003 "$i" \
			$([[ $model == C ]] && echo "fsync device 300")
	done
}

@test "explain: of many hosts, the bad disk model is named first, with a command" {
	local command
	cd "$tmp"
	hosts_make day
	expect 0 explain day/*.ios 'fsync>p99'
	fits_80_columns <(grep -v '^   iostrata explain ' <<<"$output")
	[[ $output == "23 hosts, 23 recordings. "*" They waited for: device +"* ]]
	[[ $output == *$'\n1. with disk model C\n'*" on 8 of 23 hosts: "*$'\n   none of those on other'* ]]
	[[ $output != *$'\n2. '* ]]
	[[ $output == *"13 more hosts: -v shows all"* && $output != *"p = "* ]]
	expect 0 explain -j day 'fsync>p99'
	json '.schema == "iostrata.fleet/1" and .recordings == 23 and .damaged == 0 and (.hosts | length == 23) and
		(.hosts | map(.slow) | add) as $slow | .slow == $slow and (.hosts | map(.count) | add) == .count and
		(.findings | length == 1) and (.findings[0] | .attribute == "model" and .hosts == 8 and
			.slow == $slow and .others_slow == 0 and .p < 0.01) and .missing == []'
	# the counts are those of the recordings, and the command works
	[[ $(echo "$output" | jq .count) == $(for f in day/*.ios; do "$iostrata" report -j "$f" --op fsync |
		jq '[.ops[].count] | add'; done | paste -sd+ | bc) ]]
	command=$(echo "$output" | jq -r '.findings[0].command')
	[[ $command == "iostrata explain day/"*".ios 'fsync>"*"us'" ]]
	eval "expect 0 ${command#iostrata }"
	[[ $output == *" fsyncs took more than "* ]]
}

@test "explain: of many hosts, one bad host is named, and equal hosts have no finding" {
	local i
	cd "$tmp"
	mkdir equal
	for i in {1..11}; do
		"$made/records" -h "db$i" -k "6.1.$((i / 11))" "equal/$i.ios" 2003 "$i"
	done
	expect 0 explain equal 'read>p99'
	tr -s ' \n' ' ' <<<"$output" >"$tmp/line"
	grep -qF " hosts and properties none is worse than chance allows. Nearest: " "$tmp/line"
	[[ $output == *$'\nNearest: on host '*", not certain."* ]]
	grep -qF "not in all of these recordings: disk models, firmware, schedulers and temperatures" "$tmp/line"
	rm equal/11.ios
	"$made/records" -h db11 -k 6.1.1 equal/11.ios 2003 11 read device 300
	expect 0 explain -v equal 'read>p99'
	[[ $output == *$'\n1. on host db11\n'*"; p "*"Only this host is with kernel 6.1.1."* ]]
	[[ $output == *"explain equal/11.ios 'read>"* ]]
	expect 0 explain equal/11.ios equal/10.ios equal/9.ios 'read>p99'
	tr -s ' \n' ' ' <<<"$output" >"$tmp/line"
	grep -q '^3 hosts, 3 recordings[.] .* To tell a bad host from chance needs 4 hosts[.] ' "$tmp/line"
}

@test "explain: of many hosts, damaged files and what is no recording are told" {
	cd "$tmp"
	hosts_make day
	head -c 20000 day/7.ios >cut && mv cut day/7.ios
	echo text >day/readme
	expect 1 explain day 'fsync>p99'
	[[ $stderr == "error: 'day/7.ios' is cut off"* ]]
	[[ $output == *"23 recordings, 1 of them damaged."*$'\n1. with disk model C\n'* ]]
	mkdir empty
	expect 1 explain empty 'fsync>p99'
	says "no recording is in directory 'empty'"
	expect 0 explain day/[1-6].ios 'fsync>p99'
	[[ $output != *"not in all of these"* ]]
	"$made/records" -h old day/1.ios.old 23
	expect 0 explain day/[1-6].ios day/1.ios.old 'fsync>p99' # one without models
	[[ $output == *"not in all of these recordings: disk models, "* ]]
	expect 2 explain day
	says "CONDITION is missing" "for example: iostrata explain trace.ios 'fsync>p99'"
	expect 2 explain 'fsync>p99' day
	says "'fsync>p99' is a condition: FILE stands before it"
	expect 0 explain day/[1-6].ios 'exec>1s'
	[[ $output == *"These recordings have no matching execs."* ]]
}

@test "explain: what is lost is told with its share" {
	cd "$tmp"
	"$made/records" -h db1 1.ios 3001
	"$made/records" -h db2 2.ios 307
	expect 0 explain 1.ios 'any>p90'
	[[ $output == "doubtful: 11 events lost of 3,313 (0.33 %) in 1.ios"$'\n'* ]]
	expect 0 explain 1.ios 2.ios 'any>p90'
	[[ $output == "doubtful: 22 events lost of 3,662 (0.6 %) in these recordings"$'\n'* ]]
	expect 0 explain --to 1 1.ios 'any>p90' # only the whole has a number of events
	[[ $output == "doubtful: 11 events lost in 1.ios"$'\n'* ]]
}

@test "explain: pipes are refused, and whoever writes into them does not notice" {
	cd "$tmp"
	mkfifo a b
	cat "$made/none.ios" >a &
	expect 2 explain a b 'any>p90'
	[[ $stderr == "error: explain reads a recording twice"* ]]
	timeout $((20 * $(patience))) cmp a "$made/none.ios"
}

@test "explain: a recording with two names, or a copy of it, counts once" {
	cd "$tmp"
	mkdir day
	"$made/records" -h db1 day/1.ios 101
	"$made/records" -h db2 day/2.ios 103
	ln day/1.ios day/3.ios
	cp day/2.ios day/4.ios
	expect 0 explain -j day day/2.ios ./day 'any>p90'
	json '.count == 204 and .recordings == 2'
	[[ $stderr == *"'day/1.ios' and 'day/3.ios' are the same file, and count once"* ]]
	[[ $stderr == *"'day/4.ios' is a copy of 'day/2.ios', and they count once"* ]]
	[[ $stderr == *"'day/2.ios' and './day/2.ios' are the same file, and count once"* ]]
	expect 0 explain day/1.ios day/3.ios 'any>p90' # one is left, and explained as one
	[[ $output == *"101 operations"* ]]
	cp day/1.ios day/4.ios
	expect 0 explain -j day/1.ios day/4.ios 'any>p90'
	json '.schema == "iostrata.explain/1" and .count == 101'
	"$made/records" -h db1 day/5.ios 107 # another one
	expect 0 explain -j day/1.ios day/5.ios 'any>p90'
	json '.count == 208'
}

@test "explain: Ctrl-C ends the scan of a directory" {
	cd "$tmp"
	mkdir day
	"$made/records" -h db1 day/1.ios 101
	command -v strace >/dev/null || skip "no strace"
	# whoever started the tests in the background has them ignore SIGINT
	run --separate-stderr -1 env --default-signal=INT strace -qqq -o trace -e trace=openat,getdents64 \
		-e inject=getdents64:signal=SIGINT:when=1 "$iostrata" explain day 'any>p90'
	says "error: interrupted"
	grep -q '"day"' trace
	! grep -q '1[.]ios' trace
}

@test "explain: of a directory, links and pipes are no recordings, and what cannot be read is told" {
	local i user=()
	cd "$tmp"
	mkdir -p day/below day/closed
	for i in 1 2 3; do "$made/records" -h "db$i" "day/$i.ios" 101; done
	mv day/3.ios day/below/
	ln -s 1.ios day/last.ios
	ln -s . day/below/again
	mkfifo day/pipe.ios
	ln -s day link
	for i in day link link/; do
		expect 0 explain -j "$i" 'any>p90'
		json '.recordings == 3 and .damaged == 0 and (.hosts | map(.file) | sort | .[0] | endswith("/1.ios"))'
	done
	chmod -R a+rX day
	chmod 0 day/2.ios day/closed
	chmod a+rx .
	if ((EUID == 0)); then user=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
	run --separate-stderr -1 "${user[@]}" "$iostrata" explain day 'any>p90'
	[[ $stderr == *"cannot read 'day/2.ios': Permission denied"* ]]
	[[ $stderr == *"cannot read 'day/closed': Permission denied"* ]]
	[[ $output == *"2 hosts, 2 recordings."* ]]
	chmod 700 day/2.ios day/closed
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
