# SPDX-License-Identifier: GPL-2.0-only
# funcs: what it prints, and how it begins and ends. Functions of programs can be traced everywhere.
# shellcheck disable=SC2154,SC2016 # bats sets them; jq has dollars of its own

load lib
load funcs

@test "funcs: counts are exact with every kind of probe, for nesting, recursion, jumps and ending threads" {
	tried=0
	for probe in uprobe.session uprobe.multi uprobe; do
		has_probe "$probe" || continue
		((++tried))
		funcs_of_calls -j --probe "$probe" "$calls:calls_*"
		json --argjson counts "$counts" "$is_exact" "$tmp/out"
		json --arg probe "$probe" '.schema == "iostrata.funcs/1" and .probe == $probe' "$tmp/out"
	done
	((tried > 0)) || skip "no uprobes here"
}

@test "funcs: all self times add up to the totals of the outermost calls" {
	funcs_of_calls -j --tree "$calls:calls_*"
	json --argjson counts "$counts" "$is_exact" "$tmp/out"
	json '([.functions[].self_ns // 0] | add) as $self |
		([.tree[] | select(.depth == 0) | .total_ns] | add) == $self and $self > 0' "$tmp/out"
	json '.tree | map(select(.name == "calls_mid")) | length == 1 and .[0].depth == 1' "$tmp/out"
	# tail calls are below who jumped
	json '[.tree[] | select(.name == "calls_leaf") | [.depth, .count]] | sort ==
		[[0, 17], [1, 23], [1, 101], [2, 92]]' "$tmp/out"
	# nor is anything below a call that was left by a jump
	json '[.tree[] | select(.name == "calls_catch") | [.depth, .count]] == [[0, 13]]' "$tmp/out"
	# each row's count is that of its histogram
	json '.functions | all(.count - .unreturned == ([.hist[][2]] | add // 0))' "$tmp/out"
}

@test "funcs: times equal the program's measurements within 5 %" {
	# calls so long that the probes, which are in the program's own time, are less than that
	libc_copy
	"$iostrata" funcs -j "$tmp/libc.so.6:p*" -- bash -c 'LD_LIBRARY_PATH=$3 "$0" "$1" >"$2"' "$calls" \
		"$BATS_FILE_TMPDIR/file" "$tmp/said" "$tmp" >"$tmp/out" 2>"$tmp/err"
	json --slurpfile said "$tmp/said" '.functions[] | select(.name | startswith("pread")) | .count == 1009 and
		(.total_ns / .count / $said[0].pread_ns | . > 0.95 and . <= 1)' "$tmp/out"
}

@test "funcs: table, tree and histograms fit 80 columns" {
	funcs_of_calls --tree -H "$calls:calls_*"
	grep -qE '^calls_leaf +[^ ]+ +233 ' "$tmp/out"
	grep -qE '^calls_again +[^ ]+ +1,111 ' "$tmp/out"
	grep -qE '^    calls_leaf +92 ' "$tmp/out"
	grep -q '20 calls were not seen to return' "$tmp/out"
	grep -q '36 calls nested in more than 64 traced functions' "$tmp/out"
	grep -q 'a probe costs ' "$tmp/out"
	grep -q 'distribution' "$tmp/out"
	grep -q '^tracing the command, 9 functions by uprobe' "$tmp/err"
	fits_80_columns "$tmp/out"
	printable "$tmp/out"
}

@test "funcs: --csv and --folded have the formats of trace-cmd and of flame graphs" {
	funcs_of_calls --csv "$calls:calls_*"
	grep -qxE 'calls_mid\(\),46,[0-9]+\.[0-9]{3}' "$tmp/out"
	(($(wc -l <"$tmp/out") == 9))
	funcs_of_calls --folded "$calls:calls_*" '!calls_deep' '!calls_again'
	grep -qxE 'calls_top;calls_mid;calls_leaf [0-9]+' "$tmp/out"
	not grep -vE '^[a-z_;]+ [0-9]+$' "$tmp/out"
}

@test "funcs: --by has a row per thread, process or command, and --sort and -n apply" {
	funcs_of_calls -j --by tid "$calls:calls_die"
	json '.functions == []' "$tmp/out" # none of them returned
	funcs_of_calls -j --by comm "$calls:calls_*"
	json '[.functions[] | select(.name == "calls_leaf") | [.key, .count]] == [["calls", 233]]' "$tmp/out"
	json '.functions | all(.count == ([.hist[][2]] | add) and .total_ns >= ([.hist[] | .[0] * .[2]] | add)
		and .total_ns <= ([.hist[] | .[1] * .[2]] | add))' "$tmp/out"
	funcs_of_calls -n 2 --sort count "$calls:calls_*"
	grep -q '^7 more rows' "$tmp/out"
	grep -A1 '^function' "$tmp/out" | grep -q '^calls_again'
}

@test "funcs: --subtract takes off the cost of the probes, and says so" {
	# the least of some runs: whatever else the machine does makes it more
	total='[.functions[] | select(.name == "calls_top") | .total_ns] | add'
	for i in 1 2 3; do
		funcs_of_calls -j "$calls:calls_*"
		jq "$total" "$tmp/out" >>"$tmp/with"
		funcs_of_calls -j --subtract "$calls:calls_*"
		json '.cost.subtracted' "$tmp/out"
		jq "$total" "$tmp/out" >>"$tmp/without"
	done
	(($(sort -n "$tmp/without" | head -n 1) < $(sort -n "$tmp/with" | head -n 1)))
	# off all times, so they still agree with one another
	sums='([.functions[].self_ns // 0] | add) as $self | ([.tree[] | select(.depth == 0) | .total_ns] | add) as $total'
	for i in 1 2 3 4 5; do
		funcs_of_calls -j --tree --subtract "$calls:calls_*"
		json '.functions | all(select(.count > .unreturned) | .min_ns <= .p50_ns and .min_ns <= .mean_ns and
			.mean_ns <= .max_ns and .p99_ns <= .max_ns and .total_ns >= ([.hist[] | .[0] * .[2]] | add))' "$tmp/out"
		json "$sums | \$self >= \$total" "$tmp/out"
		# what a probe costs was measured before: where it was dearer then, a caller's time is cut off at 0
		! json "$sums | \$self < \$total * 1.3 + 1000" "$tmp/out" || break
	done
	json "$sums | \$self < \$total * 1.3 + 1000" "$tmp/out"
	funcs_of_calls --subtract "$calls:calls_*"
	grep -q 'which is subtracted' "$tmp/out"
}

# A function without any work, and one that needs 97 ms of a CPU on which another program runs, too.
@test "funcs: --subtract tells waits for a CPU, and what is mostly probe has no rank" {
	cc -x c -O1 -fno-optimize-sibling-calls -o "$tmp/work" - <<-'END'
		#include <time.h>
		__attribute__((noinline)) void work_none(void) { __asm__ volatile(""); }
		__attribute__((noinline)) void work_97_ms(void)
		{
			struct timespec t = { 0 };

			while (t.tv_sec * 1000000000LL + t.tv_nsec < 97000000)
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		}
		int main(void)
		{
			work_97_ms();
			for (int i = 0; i < 2003; i++)
				work_none();
			return 0;
		}
	END
	cpu=$(taskset -cp $$ | sed 's/.*[: ,-]//')
	spawn taskset -c "$cpu" bash -c 'while :; do :; done'
	"$iostrata" funcs -j --subtract "$tmp/work:work_*" -- taskset -c "$cpu" "$tmp/work" >"$tmp/out" 2>"$tmp/err"
	json '.functions | map({(.name): .count}) | add == {"work_none": 2003, "work_97_ms": 1}' "$tmp/out"
	# what the thread had of the CPU before it entered is not in its time
	json '.functions[] | select(.name == "work_97_ms") | .preempted_ns > 0 and .probe_ns > 0 and
		(.total_ns - .preempted_ns | . > 80e6)' "$tmp/out"
	json '.cost.inside_ns as $probe | .functions[] | select(.name == "work_none") |
		.probe_ns > 0 and .probe_ns <= .count * ($probe + 1)' "$tmp/out"
	json '.functions | all(.mostly_probe == (2 * (.probe_ns + .preempted_ns) >= .total_ns + .probe_ns))' "$tmp/out"
	json '.functions | map(.mostly_probe) | . == sort' "$tmp/out"
	"$iostrata" funcs -j "$tmp/work:work_none" -- "$tmp/work" >"$tmp/out" 2>"$tmp/err"
	json '.functions[0] | .probe_ns == null and .preempted_ns == null' "$tmp/out"
}

@test "funcs: each call is in exactly one of the intervals" {
	spawn bash -c 'while :; do "$0" /etc/passwd >/dev/null; sleep 0.05; done' "$calls"
	expect 0 funcs -j "$calls:calls_top" 0.2 3
	[[ $(grep -c '' <<<"$output") == 3 ]]
	json '.functions | all(.count == ([.hist[][2]] | add) and .min_ns > 0 and .min_ns <= .p50_ns
		and .p50_ns <= .p99_ns and .p99_ns <= .max_ns and .self_ns == .total_ns)'
	expect 0 funcs "$calls:calls_top" 0.2 2
	# how long an interval really was is the machine's affair
	echo "$output"
	(($(grep -cE '^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]+, [0-9.]+ m?s$' <<<"$output") == 2))
	expect 2 funcs 'c:pread*' 1 2 3
	says 'more than INTERVAL and COUNT'
	expect 2 funcs 1
	says 'PATTERN is missing'
	expect 2 funcs 'c:pread*' 0
	says "'0' for INTERVAL: must be 10.0 ms or more" "iostrata funcs --help"
	expect 2 funcs 'c:pread*' 1x
	says "'1x' for INTERVAL: units are ns" "durations are like"
	expect 2 funcs 'c:pread*' 1 0
	says "'0' for COUNT: must be 1 or more" "iostrata funcs --help"
	expect 2 funcs 'c:pread*' 1 1.5
	says "'1.5' for COUNT: not a whole number"
}

# The first functions are probed for a second when the last function is. They are not more, since removing the probes
# takes as long, after the test, and delays the next test.
@test "funcs: calls during the attaching are not in the first interval" {
	has_probe uprobe || skip "no uprobes here"
	libc_copy
	cp "$calls" "$tmp/calls"
	spawn bash -c 'while :; do "$0" /etc/passwd >/dev/null; sleep 0.05; done' "$tmp/calls"
	expect 0 funcs -j --probe uprobe "$tmp/calls:calls_top" "$tmp/libc.so.6:a*" 0.1 4
	jq -es '[.[] | [.functions[] | select(.name == "calls_top") | .count] | add // 0] |
		.[0] < 3 * (.[1:] | max)' <<<"$output"
}

@test "funcs: contradicting options and wrong limits are refused" {
	expect 2 funcs --tree --by pid vfs_read
	says 'exclude one another'
	expect 2 funcs --csv --tree vfs_read
	says '--folded prints it'
	expect 2 funcs --csv -j vfs_read
	says '--json, --csv and --folded exclude one another'
	expect 2 funcs --max 1 "$calls:calls_*"
	says '9 functions match, more than 1' "'--max 9' traces them all"
	expect 2 funcs --probe kprobe "$calls:calls_top"
	says 'kprobe does not probe functions of programs'
	expect 2 funcs --probe frob vfs_read
	says "'frob' for --probe"
}

@test "funcs: what is no regular file is refused as a program, and not opened" {
	mkfifo "$tmp/fifo"
	spawn sh -c 'exec 3>"$0"; : >"$1"' "$tmp/fifo" "$tmp/opened" # waits for a reader
	for file in "$tmp/fifo" /dev/null "$tmp"; do
		expect 1 funcs "$file:x" -D 0.1
		says "'$file' is no program or library"
	done
	[[ ! -e $tmp/opened ]]
	: <"$tmp/fifo"
	wait_until test -e "$tmp/opened"
}

@test "funcs: after a signal or kill -9 nothing stays in the kernel" {
	start funcs "$calls:calls_*"
	ids=$(bpf_ids "$pid")
	[[ -n $ids ]]
	finish INT
	((status == 0))
	grep -q 'no call of these functions was traced' "$tmp/out"
	wait_until gone "$ids"
	start funcs "$calls:calls_*"
	ids=$(bpf_ids "$pid")
	kill -9 "$pid"
	wait_until gone "$ids"
}

@test "funcs: a call still in progress is in no figure, and is not a loss" {
	libc_copy
	start funcs -j "$tmp/libc.so.6:clock_nanosleep"
	spawn env LD_LIBRARY_PATH="$tmp" sleep 100
	sleep 0.5
	LD_LIBRARY_PATH=$tmp sleep 0.01
	finish INT
	json '[.functions[].count] == [1] and .missed == 0 and all(.lost[]; . == 0)' "$tmp/out"
}

@test "funcs: Ctrl-C during the attaching ends at once, and nothing stays in the kernel" {
	has_probe uprobe || skip "no uprobes here"
	libc_copy
	env --default-signal=INT "$iostrata" funcs --probe uprobe --max 100000 "$tmp/libc.so.6:*" \
		>"$tmp/out" 2>"$tmp/err" 3>&- 9>&- &
	pid=$!
	spawned+=("$pid")
	wait_until holds_many
	ids=$(bpf_ids "$pid")
	kill -INT "$pid"
	ends_within 2
	((status == 1))
	grep -qx 'error: interrupted before anything was traced' "$tmp/err"
	[[ ! -s $tmp/out ]]
	wait_until gone "$ids"
}

holds_many() { (($(bpf_ids "$pid" | wc -l) > 60)); }

@test "funcs: many functions probed one by one are detached after the end, and the prompt does not wait" {
	has_probe uprobe || skip "no uprobes here"
	libc_copy
	start funcs --probe uprobe "$tmp/libc.so.6:ar*"
	ids=$(bpf_ids "$pid")
	(($(wc -l <<<"$ids") > 15))
	finish INT
	((status == 0))
	wait_until gone "$ids"
	# who reads the output is not kept waiting
	run -0 --separate-stderr timeout $((20 * $(patience))) "$iostrata" funcs --probe uprobe "$tmp/libc.so.6:ar*" -D 0.1
	[[ $output == traced* ]]
}

@test "funcs: two instances count the same" {
	start funcs -j "$calls:calls_*"
	funcs_of_calls -j "$calls:calls_*"
	cp "$tmp/out" "$tmp/second"
	sleep 0.5
	kill -INT "$pid"
	wait "$pid" || true
	json --argjson counts "$counts" "$is_exact" "$tmp/second"
}
