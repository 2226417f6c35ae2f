# SPDX-License-Identifier: GPL-2.0-only
# compare, on recordings that tests/records.c makes: a steady load whose times wander together.
# shellcheck disable=SC2016 # jq's own

load lib

setup_file() {
	export made=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_DIRNAME/../.." || return
	cc -O2 -std=gnu11 -D_GNU_SOURCE -Isrc -o "$made/records" tests/records.c build/libiostrata.a -lzstd -lz
	"$made/records" "$made/base.ios" 20011 1
	"$made/records" "$made/same.ios" 20011 2
	"$made/records" "$made/slow.ios" 20011 3 fsync device 10
	# five runs a side, recorded in turn
	for i in {1..5}; do
		"$made/records" -r $((100 * i + 10 * (i % 2))) "$made/old-$i.ios" 10007 $((100 + i))
		"$made/records" -r $((100 * i + 5)) "$made/same-$i.ios" 10007 $((200 + i))
		"$made/records" -r $((100 * i + 5)) "$made/new-$i.ios" 10007 $((300 + i)) fsync device 20
	done
}


# In every row the strata's differences add up to the mean's, and the three parts to the total's.
adds_up() { # FILE
	json '([.ops[], .requests[]] | length > 0 and all(
			([.strata[] | values | .diff_ns] | add) == .mean.diff_ns and
			.mean.diff_ns == .mean.new_ns - .mean.base_ns)) and
		(.change == null or (.change | .more_ns + .mix_ns + .slower_ns == .diff_ns))' "$@"
}

# compare's output, its lines joined.
joined() {
	tr -s ' \n' ' '
}

@test "compare: 20 % more in a stratum is sure, and named with its part" {
	expect 0 compare --base "$made/old-*.ios" --new "$made/new-*.ios"
	echo "$output" >"$tmp/out"
	fits_80_columns "$tmp/out"
	printable "$tmp/out"
	said=$(joined <"$tmp/out")
	[[ $said == "sure: all operations: "*"; fsync on ext4: time each +"*" us device)"*"; and "*" more "* ]]
	[[ $said == *" 5 runs of base, 5 of new, in turn. "*" figures judged together: of 100 comparisons of "* ]]
	grep -qE '^fsync on ext4: \+[0-9.]+ ms a run, [0-9]+ % of the change$' "$tmp/out"
	grep -qE '^  device .* \|#+ +sure$' "$tmp/out"
	# only what is told, unless all is asked for
	not grep -q '^write on ext4' "$tmp/out"
	grep -qE '^[0-9]+ rows without a shown difference; -v shows all figures$' "$tmp/out"
	not grep -q 'not judged' "$tmp/out"
	expect 0 compare --by file --base "$made/old-*.ios" --new "$made/new-*.ios"
	grep -qE '^[0-9]+ of these are below 1 % of a run: their number is not judged$' <<<"$output"
	expect 0 compare -v --base "$made/old-*.ios" --new "$made/new-*.ios"
	echo "$output" >"$tmp/out"
	fits_80_columns "$tmp/out"
	grep -q '^write on ext4' "$tmp/out"
	grep -qE '^  run queue .* not (sure|judged)$' "$tmp/out"
	expect 0 compare -j --base "$made/old-*.ios" --new "$made/new-*.ios"
	adds_up
	json '.schema == "iostrata.compare/2" and .method.name == "student" and .method.between_runs and
		.method.order == "in turn" and .doubts == [] and .one_side == [] and .work == [] and
		(.ops | map(select(.mean.sure) | .op)) == ["fsync"] and
		(.ops[] | select(.op == "fsync") | .mean.verdict == "sure" and .strata.device.sure and
			(.mean | .ratio_low < .ratio and .ratio < .ratio_high and .p_adjusted < 0.01) and
			(.strata.device |
				.low_ns < 180000 and .high_ns > 180000 and .p < 0.001 and .ratio == null)) and
		(.requests | map(select(.mean.sure) | .op)) == ["write"] and .whole.per_second'
}

@test "compare: the same load twice has no sure difference, and what these runs would show is told" {
	expect 0 compare --base "$made/old-*.ios" --new "$made/same-*.ios"
	said=$(joined <<<"$output")
	[[ $said == "no difference shown: these runs would have shown +"*" % in I/O time a second, +"* ]]
	[[ $said == *" in 4 of 5 comparisons to see +50 % in I/O time a second: "* ]]
	expect 0 compare -j --base "$made/old-*.ios" --new "$made/same-*.ios"
	adds_up
	json '.method.sure == 0 and .method.tests > 15 and ([.ops[], .requests[] | .mean | .seen_ns > 0 and .p > 0] | all)'
	# once more, it says the same
	"$iostrata" compare -j --base "$made/old-*.ios" --new "$made/same-*.ios" | cmp - <(echo "$output")
}

# 15 equal runs: in turn, each four of them against four others. At most one of these comparisons may call anything
# sure. At least 9 of 10 with a planted 20 % must. Each run has 2,000 fsyncs.
@test "compare: chance is not called sure, and planted changes are found" {
	local i k sides claims=0 found=0 covered=0
	for ((i = 0; i < 15; i++)); do
		"$made/records" "$tmp/$i" 10007 $((1000 + i))
		"$made/records" "$tmp/slow-$i" 10007 $((3000 + i)) fsync device 20
	done
	for ((i = 0; i < 15; i++)); do
		sides=()
		for ((k = 0; k < 4; k++)); do
			sides+=(--base "$tmp/$(((i + k) % 15))" --new "$tmp/$(((i + k + 4 + i % 5) % 15))")
		done
		"$iostrata" compare -j "${sides[@]}" >"$tmp/json"
		grep -qE '"method":\{[^}]*"sure":0,' "$tmp/json" || (( ++claims ))
	done
	for ((i = 0; i < 10; i++)); do
		sides=()
		for ((k = 0; k < 4; k++)); do
			sides+=(--base "$tmp/$(((i + k) % 15))" --new "$tmp/slow-$(((i + k) % 15))")
		done
		"$iostrata" compare -j "${sides[@]}" >"$tmp/json"
		jq -r '.answer, (.ops[] | select(.op == "fsync").strata.device | .low_ns <= 180000 and .high_ns >= 180000)' \
			"$tmp/json" >"$tmp/told"
		! grep -qE '^sure: .*fsync on ext4: time each \+.* us device' "$tmp/told" || (( ++found ))
		! grep -qx true "$tmp/told" || (( ++covered ))
	done
	echo "claims $claims of 15, found $found of 10, covered $covered of 10"
	((claims <= 1 && found >= 9 && covered >= 8))
}

@test "compare: verdicts are those of another program with the same method" {
	"$python" tests/compare_ref.py "$iostrata" "$tmp"
}

@test "compare: one run a side tells other work, and does not judge times" {
	"$iostrata" report -j "$made/base.ios" | jq -c '.command = "made"' >"$tmp/base.json"
	"$iostrata" report -j --op fsync --op write "$made/slow.ios" | jq -c '.command = "made"' >"$tmp/new.json"
	expect 0 compare "$tmp/base.json" "$tmp/new.json"
	echo "$output" >"$tmp/out"
	fits_80_columns "$tmp/out"
	said=$(joined <"$tmp/out")
	[[ $said == "other work: "*" operations instead of 20,011 (-"*" %): read on ext4 "*" -> 0 times: "* ]]
	[[ $said == *" times: not judged with 1 and 1 runs. I/O time of a run: "*" to judge: 3 runs a side "* ]]
	expect 0 compare -j "$tmp/base.json" "$tmp/new.json"
	json '.method.name == "none" and (.method.between_runs | not) and .method.sure == 0 and
		(.work | map(.op)) == ["read"] and ([.ops[].mean.verdict] | unique) == ["too few"]'
	expect 0 compare "$made/base.ios" "$made/slow.ios"
	[[ $(joined <<<"$output") == "work: "*"/s operations instead of "*"not all of these are recordings of a command"* ]]
}

@test "compare: runs recorded one side after the other are told apart from a drift" {
	local i
	for i in {1..5}; do
		"$made/records" -r "$i" "$tmp/a-$i.ios" 4001 $((100 + i)) fsync device $((6 * i))
		"$made/records" -r $((10 + i)) "$tmp/b-$i.ios" 4001 $((200 + i)) fsync device $((30 + 6 * i))
	done
	expect 0 compare --base "$tmp/a-*.ios" --new "$tmp/b-*.ios"
	said=$(joined <<<"$output")
	[[ $said == *"drift: all operations: I/O time a second +"*" and "*" more. One side was recorded "* ]]
	[[ $said == *"5 runs of base, 5 of new, one side after the other. "* ]]
	expect 0 compare -j --base "$tmp/a-*.ios" --new "$tmp/b-*.ios"
	json '.method.order == "one after the other" and .method.sure == 0 and
		(.ops[] | select(.op == "fsync") | .mean.verdict == "drift")'
}

@test "compare: three or more runs on a side are compared as runs" {
	local i
	for i in {1..8}; do
		"$made/records" "$tmp/old-$i.ios" 4001 $((100 + i))
		"$made/records" "$tmp/new-$i.ios" 4001 $((200 + i)) fsync device 20
	done
	expect 0 compare -j --base "$tmp/old-[1-3].ios" --new "$tmp/new-[1-3].ios"
	adds_up
	json '.method.name == "student" and .method.between_runs and (.base | length) == 3 and (.new | length) == 3 and
		.method.order == "unknown"'
	expect 0 compare -j --base "$tmp/old-[12].ios" --new "$tmp/new-*.ios"
	adds_up
	json '.method.name == "none" and (.method.text | startswith("Fewer than 3 runs on a side: "))'
	expect 0 compare -j --base "$tmp/old-[1-5].ios" --new "$tmp/new-*.ios"
	json '.method.name == "welch"'
	expect 0 compare --base "$tmp/old-[1-4].ios" --base "$tmp/old-[5-8].ios" --new "$tmp/new-*.ios"
	[[ $(joined <<<"$output") == "sure: "*"fsync on ext4: time each +"*"8 runs of base, 8 of new, "* ]]
	expect 1 compare --base "$tmp/none-*" --new "$tmp/new-*.ios"
	says "no file matches '.*/none-\*'"
	expect 1 compare --base "$tmp/none-*" --new "$tmp/neither-*"
	says "no file matches '.*/none-\*' and '.*/neither-\*'"
	# without quotes, in both orders, and with an option between them
	expect 0 compare -j --base "$tmp/old-[1-5].ios" --new "$tmp/new-[1-3].ios"
	quoted=$output
	for args in "--base $(echo "$tmp"/old-[1-5].ios) --new $(echo "$tmp"/new-[1-3].ios)" \
		"--new $(echo "$tmp"/new-[1-3].ios) -v --base $(echo "$tmp"/old-[1-5].ios)"; do
		expect 0 compare -j $args
		[[ $output == "$quoted" ]]
	done
	expect 2 compare "$tmp/old-2.ios" --base "$tmp/old-1.ios" --new "$tmp/new-*.ios"
	says "unexpected argument '.*old-2.ios'" "files follow --base or --new"
	expect 2 compare --base "$tmp/old-1.ios" "$tmp/new-1.ios"
	says "--base needs --new"
	expect 2 compare --base $(printf '%s ' {1..17}) --new "$tmp/new-*.ios"
	says "more than 16 values for --base" "quotes"
	expect 1 compare --base "$tmp/old-1.ios,$tmp/old-2.ios" --new "$tmp/new-*.ios"
	says "no file matches" "between several files are blanks"
	expect 2 compare --base "$tmp/old-*.ios"
	says "--base needs --new, and --new needs --base"
	expect 2 compare --base "$tmp/old-*.ios" --new "$tmp/old-1.ios"
	says "'.*/old-1.ios' is given twice" "each run is on one side only"
}

@test "compare: --at compares before and after a moment" {
	expect 0 compare "$made/base.ios" --at 4s
	[[ $output == *$'\nbase before 4s: 4.00 s, '*$'\nnew after 4s: 6.01 s, '* ]]
	expect 0 compare -j "$made/base.ios" --at 4s
	adds_up
	json '.at == "4s" and .base[0].ops + .new[0].ops == 20011 and .base[0].requests > 5000 and
		.method.name == "blocks" and .method.sure == 0 and ([.. | .verdict? | select(. == "differs")] == [])'
	# the recording begins at 22:13:20 of UTC
	TZ=UTC expect 0 compare -j "$made/base.ios" --at 22:13:24
	json '.base[0].duration_ns == 4000000000'
	TZ=UTC expect 0 compare -j "$made/base.ios" --at 22:13:21.5
	json '.base[0].duration_ns == 1500000000'
	TZ=UTC expect 1 compare "$made/base.ios" --at 22:14
	says "--at 22:14 is past the end of '.*/base.ios', which is 10.0 s long"
	expect 1 compare "$made/base.ios" --at 0
	says "there is nothing before"
	for at in 25:00 1:60 12:00:61 x 1:2:3:4 12:00x -1; do
		expect 2 compare "$made/base.ios" --at="$at"
		says "invalid value '$at' for --at" "a time of day like 12:30:05"
	done
	expect 2 compare "$made/base.ios" "$made/same.ios" --at 4
	says "--at cuts one recording, 2 given"
	expect 2 compare - --at 4
	says "cannot read the standard input"
	mkfifo "$tmp/pipe"
	expect 2 compare "$tmp/pipe" --at 4
	says "--at reads its recording twice, and cannot read the pipe '.*/pipe'"
}

@test "compare: --from and --to compare a part of the time" {
	expect 0 compare -j --from 2 --to 6s "$made/base.ios" "$made/slow.ios"
	adds_up
	json '([.base[0], .new[0]] | all(.duration_ns == 4000000000 and .ops > 7500 and .ops < 8500)) and
		.method.name == "none"'
	expect 0 compare -j --from 2 --to 9 --at 5 "$made/base.ios"
	json '.base[0].duration_ns == 3000000000 and .new[0].duration_ns == 4000000000'
	expect 2 compare --from 5 --to 9 --at 5 "$made/base.ios"
	says "--at 5 is not between --from and --to"
	expect 2 compare --from 5 --to 4 "$made/base.ios" "$made/slow.ios"
	says "--to 4.00 s is not after --from 5.00 s"
	expect 1 compare --from 1m "$made/base.ios" "$made/slow.ios"
	says "--from 60.0 s is past the end of '.*/base.ios'" "counts from the beginning"
	"$iostrata" report -j "$made/base.ios" >"$tmp/base.json"
	expect 2 compare --from 1 "$tmp/base.json" "$made/slow.ios"
	says "a part of the time needs recordings, '.*base.json' holds sums"
}

@test "compare: on a terminal, long work shows its progress" {
	mkfifo "$tmp/slow"
	spawn sh -c 'exec >"$1"; head -c 100000 "$2"; sleep 3; tail -c +100001 "$2"' - "$tmp/slow" "$made/base.ios"
	TERM=xterm script -qec "stty cols 80; $iostrata compare $tmp/slow $made/same.ios" /dev/null </dev/null >"$tmp/out"
	grep -qE $'\r\e\\[K[0-9.]+ [KM]iB read' "$tmp/out"
	tr -d '\r' <"$tmp/out" | grep -qE '^base .*, 20,011 operations'
}

@test "compare: filters and --by choose the rows" {
	expect 0 compare -j --op read "$made/base.ios" "$made/slow.ios"
	json '[.ops[].op] == ["read"]'
	[[ $stderr == *"--op"* ]]
	expect 0 compare -j --by comm "$made/base.ios" "$made/slow.ios"
	adds_up
	json '.by == "comm" and ([.ops[].key] | unique | length) == 7'
	expect 0 compare -j --by file -p 102 "$made/base.ios" "$made/slow.ios"
	json '([.ops[].key] | unique | length) == 61 and all(.ops[].key; startswith("/made/file-"))'
	expect 0 compare -j --by pid "$made/base.ios" "$made/slow.ios"
	adds_up
	json '([.ops[] | [.key, .comm]] | unique | length) == 4 and all(.ops[].comm; startswith("thread-"))'
	expect 0 compare --by pid "$made/base.ios" "$made/slow.ios"
	[[ $output =~ $'\n'fsync\ on\ ext4\ of\ 10[0-3]\ \(thread-[1-7]\):\  ]]
	expect 0 compare -n 1 --by file "$made/base.ios" "$made/slow.ios"
	[[ $output == *" more rows; a larger -n shows them"* ]]
	expect 0 compare -j -p 4711 "$made/base.ios" "$made/slow.ios"
	json '.ops == [] and .answer == "nothing to compare: both sides have no operation and no request"'
}

@test "compare: rows of one side only are listed" {
	"$made/records" "$tmp/all.ios" 3001
	expect 0 compare "$tmp/all.ios" "$made/base.ios"
	[[ $output == "doubtful: "*"events lost in "* && $output == *"Only in base: "*" on ext4 ("*"-v shows them"* ]]
	expect 0 compare -j "$tmp/all.ios" "$made/base.ios"
	adds_up
	json '([.one_side[] | select(.request | not) | .op] | sort | unique) ==
			["aio write", "close", "copy", "core", "exec", "exit", "fault", "getevents", "lock", "meta", "open",
			"outside", "served", "submit", "uring read"] and
		([.one_side[] | .side] | unique) == ["base"] and (.doubts | any(test("base is .* long, new")))'
	expect 0 compare -j --op read "$tmp/all.ios" "$made/base.ios"
	expect 0 compare --op close "$tmp/all.ios" "$made/base.ios"
	[[ $output == *"Only in base: close on ext4 ("* ]]
}

@test "compare: --fail-if is broken, held or undecided, alone" {
	local sides=(--base "$made/old-*.ios" --new "$made/new-*.ios")
	local same=(--base "$made/old-*.ios" --new "$made/same-*.ios")
	expect 6 compare "${sides[@]}" --fail-if 'fsync mean +5%'
	[[ $(joined <<<"$output") == *" fsync mean +5%: BROKEN: +"*" %, 95 % sure above +"* ]]
	expect 6 compare -j "${sides[@]}" --fail-if 'mean +5%' --fail-if 'read mean +60%' --fail-if 'fsync mean +18%'
	json '[.fail_if[].state] == ["broken", "held", "undecided"] and ([.fail_if[].by] | unique) == ["test"] and
		(.fail_if[2] | .holds > 0.18 and .ratio_low < 1.18 and .ratio_high > 1.18)'
	expect 6 compare "${sides[@]}" --fail-if 'request loop3 device +5%'
	expect 0 compare "${sides[@]}" --fail-if 'fsync mean +60%' --fail-if 'fsync mean -1%' --fail-if 'all count -20%'
	expect 6 compare --base "$made/new-*.ios" --new "$made/old-*.ios" --fail-if 'fsync mean -5%'
	# what is not decided fails only if that is asked for
	expect 0 compare "${same[@]}" --fail-if 'read mean +0.1%'
	said=$(joined <<<"$output")
	[[ $said == *" read mean +0.1%: undecided: "*" would decide it"*" these runs can hold limits from +"* ]]
	expect 6 compare "${same[@]}" --fail-if 'read mean +0.1%' --fail-undecided
	expect 2 compare "${same[@]}" --fail-undecided
	says "--fail-undecided needs --fail-if"
	# one run a side: numbers only
	expect 0 compare "$made/base.ios" "$made/slow.ios" --fail-if 'fsync mean +1%' --fail-if 'all count +50%'
	[[ $(joined <<<"$output") == *" fsync mean +1%: undecided: 1 and 1 runs; this figure needs 3 on each side "* ]]
	[[ $(joined <<<"$output") == *" all count +50%: held: "*" as counted; runs may differ "* ]]
	expect 0 compare "${sides[@]}" --fail-if 'fsync p99.9 +100%' --fail-if 'fsync bytes +0%'
	[[ $(joined <<<"$output") == *" fsync p99.9 +100%: held: "* ]]
	expect 1 compare "${sides[@]}" --fail-if 'open mean +1%'
	[[ $stderr == *"error: --fail-if 'open mean +1%' judges nothing: no such row is on both sides"* ]]
	for limit in '' 'fsync' 'fsync p98 +1%' 'fsync p99 1%' 'frob p99 +1%' 'all mean +1%'; do
		expect 2 compare "${sides[@]}" --fail-if "$limit"
		says "--fail-if"
	done
}

@test "compare: JSON files of breakdown and report are compared" {
	local n sums
	for n in base slow; do
		"$iostrata" report -j --every 0.5 "$made/$n.ios" >"$tmp/$n.json"
		"$iostrata" report -j "$made/$n.ios" >"$tmp/$n.1.json"
	done
	expect 0 compare -j "$tmp/base.json" "$tmp/slow.json"
	adds_up
	json '.method.name == "none" and .base[0].ops == 20011'
	expect 0 compare "$tmp/base.1.json" "$tmp/slow.1.json"
	[[ $(joined <<<"$output") == *"times: not judged with 1 and 1 runs. "* ]]
	# a recording has the same sums
	sums='[.ops[] | {op, count: .count.base, total: .total.base_ns, strata: (.strata | map_values(.base_ns))}]'
	"$iostrata" compare -j "$made/base.ios" "$tmp/slow.json" | jq -S "$sums | sort" >"$tmp/recording"
	"$iostrata" compare -j "$tmp/base.json" "$tmp/slow.json" | jq -S "$sums | sort" | diff "$tmp/recording" -
	expect 2 compare --by comm "$tmp/base.json" "$tmp/slow.json"
	says "--by needs recordings, '.*base.json' holds sums"
	expect 2 compare --comm one "$tmp/base.json" "$tmp/slow.json"
	says "a filter needs recordings"
}

@test "compare: CSV has a line for each figure" {
	expect 0 compare --csv --base "$made/old-*.ios" --new "$made/new-*.ios"
	[[ ${lines[0]} == kind,op,where,key,figure,unit,base,new,diff,low,high,p,verdict ]]
	echo "$output" | "$python" -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert len(rows) > 60
fsync = {r["figure"]: r for r in rows if r["op"] == "fsync"}
assert fsync["mean"]["verdict"] == fsync["device"]["verdict"] == "sure"
assert fsync["rate"]["verdict"] in ("sure", "likely", "not sure") and fsync["count"]["verdict"] == "not judged"
figures = "count rate mean p50 p99 p999 total bytes requests".split()
strata = [f for f in fsync if f not in figures]
assert "device" in strata and "lock" in strata
assert sum(int(fsync[s]["diff"]) for s in strata) == int(fsync["mean"]["diff"])
'
	expect 2 compare --csv -j "$made/base.ios" "$made/slow.ios"
	says "--json and --csv are two forms: choose one"
}

@test "compare: input that cannot be compared is a clear error" {
	local a=$made/base.ios
	"$made/records" "$tmp/empty.ios" 0 7
	"$made/records" "$tmp/one.ios" 1 7
	"$made/records" "$tmp/other.ios" 1 8
	head -c 150000 "$made/slow.ios" >"$tmp/cut.ios"
	head -c 20 "$made/slow.ios" >"$tmp/head.ios"
	expect 0 compare "$tmp/empty.ios" "$a"
	[[ $output == *"nothing to compare: base has no operation and no request"* ]]
	expect 0 compare "$tmp/one.ios" "$tmp/other.ios"
	[[ $output == "work: "* ]]
	not grep -iE '(^|[^a-z])-?(nan|inf)([^a-z]|$)' <<<"$output"
	cp "$a" "$tmp/copy.ios"
	expect 0 compare "$a" "$tmp/copy.ios"
	[[ $output == "base and new are the same: every figure is equal"* ]]
	expect 2 compare "$a" "$a"
	says "'.*' is given twice" "--at"
	ln -s "$a" "$tmp/link.ios"
	expect 2 compare "$a" "$tmp/link.ios"
	says "'.*' and '.*/link.ios' are one file" "--at"
	expect 1 compare "$a" "$tmp/cut.ios"
	[[ $output == "doubtful: $tmp/cut.ios is cut off or damaged"* && $stderr == *"is cut off at byte "* ]]
	expect 1 compare "$a" "$tmp/head.ios"
	says "is cut off"
	expect 1 compare "$a" /etc/passwd
	says "'/etc/passwd' is not a recording"
	echo '{"schema":"iostrata.top/1"}' >"$tmp/top.json"
	expect 1 compare "$a" "$tmp/top.json"
	says "is neither a recording nor of 'iostrata breakdown --json'"
	: >"$tmp/nothing"
	expect 1 compare "$a" "$tmp/nothing"
	says "'.*nothing' is empty"
	expect 1 compare "$tmp/absent" "$tmp/missing"
	[[ $stderr == *"cannot open '$tmp/absent': No such file"*"cannot open '$tmp/missing': No such file"* ]]
	expect 1 compare "$a" "$tmp/absent"
	says "cannot open '.*/absent': No such file"
	expect 2 compare "$a"
	says "two files are compared, BASE and NEW, 1 given"
	expect 2 compare
	says "two files are compared, BASE and NEW, 0 given"
	expect 0 compare - "$made/same.ios" <"$a"
}

@test "compare: names are made safe, and doubts come first" {
	cp "$made/base.ios" "$tmp/"$'a\e[31m.ios'
	expect 0 compare "$tmp/"$'a\e[31m.ios' "$made/same.ios"
	[[ $output == *'\x1b[31m'* && $output != *$'\e'* ]]
}

@test "compare: JSON fits its schema" {
	"$made/records" "$tmp/all.ios" 3001
	"$iostrata" compare -j "$made/base.ios" "$made/slow.ios" --fail-if 'fsync p99 +50%' >"$tmp/1"
	"$iostrata" compare -j "$tmp/all.ios" "$made/slow.ios" --by comm >"$tmp/2"
	"$iostrata" compare -j "$made/base.ios" --at 3 >"$tmp/3"
	"$iostrata" report -j "$made/base.ios" >"$tmp/base.json"
	"$iostrata" compare -j "$tmp/base.json" "$made/slow.ios" >"$tmp/4"
	"$iostrata" compare -j --base "$made/old-*.ios" --new "$made/new-*.ios" --fail-if 'mean +1%' \
		--fail-if 'fsync mean +20%' --fail-if 'open mean +1%' >"$tmp/5" 2>/dev/null || true
	tests/schema.py "$tmp"/{1,2,3,4,5}
}

@test "compare --by function: figures are those of report, estimates are no work, stacks are needed" {
	"$made/records" -t -g 100 "$tmp/a.ios" 20011
	"$made/records" -t -g 100 "$tmp/b.ios" 10007
	"$iostrata" compare -j -n 1000 --by function "$tmp/a.ios" "$tmp/b.ios" >"$tmp/compared"
	for side in a b; do "$iostrata" report -j --by function "$tmp/$side.ios" >"$tmp/$side.json"; done
	"$python" - "$tmp/compared" "$tmp/a.json" "$tmp/b.json" <<-'END'
		import collections, json, sys
		compared, *reports = (json.load(open(name)) for name in sys.argv[1:])
		seen = 0
		for side, report in zip(("base", "new"), reports):
		    want = {(r["op"], r["fs"], r["key"].replace(" [prog]", "")): r
		        for r in report["ops"]}
		    for row in compared["ops"]:
		        if row["key"].startswith("("):
		            continue
		        of = want[row["op"], row["fs"], row["key"]]
		        assert row["total"][side + "_ns"] == of["total_ns"], (side, row, of)
		        assert row["count"][side] == of["count"], (side, row, of)
		        assert row["errors"][side] == of["errors"], (side, row, of)
		        assert round(row["bytes"][side] * row["count"][side]) == of["bytes"], (side, row, of)
		        seen += 1
		    told = f"within {report['stacks']['error_percent']:.1f} %"
		    assert any(side in d and told in d for d in compared["doubts"]), (told, compared["doubts"])
		assert seen > 13, seen
		assert not compared["work"], compared["work"]
		assert compared["by"] == "function"
	END
	adds_up "$tmp/compared"
	expect 0 compare --by line "$tmp/a.ios" "$tmp/b.ios" --fail-if 'fsync count +1%'
	[[ $output == *"numbers and times by caller in new are estimated"* && $output != *"other work: "* ]]
	expect 1 compare --by function "$made/base.ios" "$tmp/b.ios"
	[[ $stderr == *"base.ios' has no user stacks"* ]]
	expect 2 compare --by stack "$tmp/a.ios" "$tmp/b.ios"
	expect 2 compare --by function "$tmp/a.ios" <(cat "$tmp/b.ios")
	expect 2 compare --hide libc "$tmp/a.ios" "$tmp/b.ios"
	[[ $stderr == "error: --hide is for --by function, "* ]]
}
