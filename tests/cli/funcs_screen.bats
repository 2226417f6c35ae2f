# SPDX-License-Identifier: GPL-2.0-only
# funcs on a real terminal: the screen and its keys, and that the terminal is as it was afterwards.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets them; the pane has its dollars

load lib
load tmux

setup_file() { cc -O1 -fno-optimize-sibling-calls -pthread -o "$BATS_FILE_TMPDIR/calls" tests/calls.c; }

setup() {
	need_root
	calls=$BATS_FILE_TMPDIR/calls
	export CALLS=$calls
	"$iostrata" funcs -D 0.01 "$calls:calls_top" >/dev/null 2>&1 || skip "no uprobes here"
	spawn bash -c 'while :; do "$0" /etc/passwd >/dev/null; sleep 0.05; done' "$calls"
}

teardown() {
	pane_end
	end_spawned
}

funcs() { full_screen 'functions by uprobe.* in ' funcs '"$CALLS:calls_*"' "$@"; } # OPTIONS

first_row() { screen | sed -n 4p; }

begins_with() { [[ $(first_row) == "$1"* ]]; }

@test "funcs: each way to end restores the terminal" {
	pane 80 24 "CALLS=$calls"
	local how
	for how in q INT TERM SEGV; do
		funcs 0.3
		[[ $(terminal_state) == "alternate 1 cursor 0"* ]]
		case $how in
		q) keys q; screen_ended 0 ;;
		INT) keys C-c; screen_ended 0 ;;
		TERM) kill -TERM "$screen_pid"; screen_ended 0 ;;
		SEGV) kill -SEGV "$screen_pid"; screen_ended 139 ;;
		esac
	done
	funcs 0.3 3 # the last of so many intervals
	screen_ended 0
}

@test "funcs: keys sort, reverse, scroll, pause and show the tree" {
	pane 80 24 "CALLS=$calls"
	funcs --tree 0.3
	wait_until shows '^    calls_leaf +[0-9]' # begins with the tree that was asked for
	keys t
	wait_until shows '^function .* total\* .*count|^function .*count.* total\*'
	is_clean
	keys Left # by count
	wait_until shows 'count\*'
	wait_until begins_with calls_again
	keys r
	wait_until begins_with calls_die
	keys '<' '<' r # by module, by name
	wait_until shows 'function\*'
	wait_until begins_with calls_again
	keys Down
	wait_until begins_with calls_again # all of it fits
	keys Space
	wait_until shows ', paused'
	screen >"$tmp/one"
	sleep 1
	screen >"$tmp/two"
	cmp "$tmp/one" "$tmp/two"
	keys Space
	wait_until hides ', paused'
	keys h
	wait_until shows 'iostrata funcs: keys'
	is_clean
	keys Escape -
	wait_until shows ' in 5[0-9][0-9] ms'
	keys q
	screen_ended 0
}

@test "funcs: the screen fits three sizes, and scrolls to further rows" {
	pane 80 24 "CALLS=$calls"
	funcs --sort count 0.2
	local size
	for size in 40x8 200x60 80x24 40x8; do
		in_tmux resize-window -x "${size%x*}" -y "${size#*x}"
		sleep 0.5
		is_clean
		wait_until shows '^function'
	done
	begins_with calls_again
	keys Down
	wait_until begins_with calls_leaf
	keys End
	wait_until hides '^calls_leaf'
	keys Home
	wait_until begins_with calls_again
	keys q
	screen_ended 0
}

@test "funcs: without an interval or a terminal, or with -b, text is printed" {
	run -0 script -qec "'$iostrata' funcs -b '$calls:calls_*' 0.2 2" /dev/null
	(($(grep -c 'a probe costs' <<<"$output") == 2))
	run -0 script -qec "env TERM=dumb '$iostrata' funcs '$calls:calls_*' 0.2 2" /dev/null
	(($(grep -c 'a probe costs' <<<"$output") == 2))
	run -0 script -qec "'$iostrata' funcs '$calls:calls_*' -D 0.2" /dev/null
	[[ $output == *'a probe costs'* ]]
	run -0 script -qec "'$iostrata' funcs --csv '$calls:calls_*' 0.2 1" /dev/null
	[[ $output == *'calls_leaf(),'* ]]
}

@test "funcs: a terminal shows a bar while many functions are attached" {
	cp "$(ldd "$iostrata" | awk '/libc\.so/ { print $3 }')" "$tmp/libc.so.6"
	run -0 script -qec "'$iostrata' funcs --probe uprobe '$tmp/libc.so.6:a*' -D 0.1" /dev/null
	grep -qE 'attaching \[\** *\] [0-9]+/[0-9]+' <<<"$output"
	grep -q $'\r\033\[Ktracing' <<<"$output"
}
