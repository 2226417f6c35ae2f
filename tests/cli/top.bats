# SPDX-License-Identifier: GPL-2.0-only
# Who makes the I/O: as text, as JSON, and on a real screen with all its keys.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets them; jq and the pane have their dollars

load lib
load tmux

setup() { need_root; }

teardown() {
	pane_end
	end_spawned
	[[ -z ${dir:-} ]] || rm -rf "${dir:?}"
}

# read_direct FILE COUNT: so many reads of 4 KiB that reach the disk, by a process named "reader"
read_direct() {
	cp "$(command -v dd)" "$dir/reader"
	"$dir/reader" if="$1" of=/dev/null iflag=direct bs=4096 count="$2" status=none
}

data() {
	dir=$(disk_dir)
	head -c 1M /dev/urandom >"$dir/data"
	sync "$dir/data"
}

top() { full_screen 'load .* in ' top "$@"; } # OPTIONS

@test "top: an unknown column for --sort is refused, and the columns are listed" {
	expect 2 top --sort size
	says "no column 'size'" 'pid, comm, io, bytes, avg, p99, queue, for, disk'
	expect 2 top -b --sort where
	says "no column 'where' in text: only the full screen has it" 'columns are pid, comm, io, bytes'
	expect 2 top -j --sort size
	says "no column 'size'" 'pid, comm, ops, .*bytes'
	expect 2 top --by colour
	says 'colour'
	expect 2 top --by server -d vda
	says 'requests to servers, and --disk does not filter them' 'breakdown --by server'
	expect 2 top -b --by server --sort where
	says "no column 'where'" 'server, pid, mount, io, bytes, avg, p99, queue'
}

@test "top: text has one table for each interval" {
	data
	to=$tmp/out start top -b 0.5
	read_direct "$dir/data" 23
	sleep 1
	finish INT
	((status == 0))
	grep -qE '^[0-9:]{8}\.[0-9] loadavg: [0-9.]+ [0-9.]+ [0-9.]+$' "$tmp/out"
	grep -qE '^ *PID +COMM +D +MAJ +MIN +DISK +I/O +Kbytes +AVGms( +VIA)?$' "$tmp/out"
	# whichever intervals it was in
	awk '$2 == "reader" && $3 == "R" { io += $7; kb += $8 }
		END { exit !(io == 23 && kb == 92) }' "$tmp/out" || { cat "$tmp/out"; false; }
	not grep -q '?' "$tmp/out"
	printable "$tmp/out"
	expect 0 top -b -r 3 0.2 3
	(($(grep -c loadavg <<<"$output") == 3))
}

@test "top: text sorted by the 99th percentile shows this column" {
	data
	to=$tmp/out start top -b --sort p99 0.5
	read_direct "$dir/data" 23
	sleep 1
	finish INT
	((status == 0))
	# a row's is not below its mean, but for the width of a bucket
	awk '$2 == "reader" && $3 == "R" { n++; bad += $(NF - 1) * 0.5 > $NF * 1.04 }
		END { exit !(n && !bad) }' "$tmp/out" || { cat "$tmp/out"; false; }
}

@test "top: JSON has operations and requests of an ended process" {
	data
	to=$tmp/out start top --json 0.5
	read_direct "$dir/data" 101
	sleep 1
	finish INT
	((status == 0))
	jq -s '[.[].rows[] | select(.comm == "reader" and .op == "R")] |
		{ count: map(.count) | add, bytes: map(.bytes) | add, disk: .[0].disk, pid: .[0].pid }' \
		"$tmp/out" >"$tmp/sum"
	command jq -e '.count == 101 and .bytes == 101 * 4096 and .disk != null and .pid > 0' "$tmp/sum"
	# dd reads nothing else from a file on a disk but its libraries
	json '[.ops[] | select(.comm == "reader" and .op == "read") | .count] | (add // 0) >= 0' "$tmp/out"
	json '.schema == "iostrata.top/1" and .by == "pid" and (.lost | add) != null' "$tmp/out"
	json '.rows | all(.total_ns == .tag_ns + .queue_ns + .device_ns)' "$tmp/out"
	json '.ops | all(.total_ns == ([.strata[] // 0] | add))' "$tmp/out"
}

@test "top: without a terminal for a full screen, text is printed" {
	for term in dumb unknown-terminal ''; do
		run -0 script -qec "env TERM='$term' '$iostrata' top 0.2 1" /dev/null
		[[ $output == *loadavg:* && $output == *COMM* && $output != *error* ]] ||
			{ echo "TERM='$term': $output"; false; }
	done
	expect 0 top 0.2 1 </dev/null
	[[ $output == *loadavg:* ]]
}

@test "top: with a command, the table is text and the command has the terminal" {
	expect 7 top -- sh -c 'sleep 0.2; exit 7'
	[[ $stderr == *loadavg:* ]]
}

@test "top: each way to end restores the terminal" {
	pane 80 24
	local how
	for how in q INT TERM HUP SEGV ABRT QUIT; do
		rm -f "$tmp"/{after,status}
		types 'clear'
		top
		[[ $(terminal_state) == "alternate 1 cursor 0"* ]]
		case $how in
		q) keys q; screen_ended 0 ;;
		INT) keys C-c; screen_ended 0 ;;
		TERM | HUP) kill "-$how" "$screen_pid"; screen_ended 0 ;;
		*) kill "-$how" "$screen_pid"; screen_ended $((128 + $(kill -l "$how"))) ;;
		esac
	done
}

@test "top: Ctrl-Z gives the terminal to the shell, fg takes it back" {
	pane 80 24
	types '"$IOSTRATA" top' # stderr is the terminal
	wait_until shows 'load .* in '
	hides 'tracing'
	keys C-z
	wait_until shows 'Stopped'
	is_restored
	types 'echo "still $((1 + 1))"'
	wait_until shows '^still 2'
	types 'fg'
	wait_until shows 'load .* in '
	[[ $(flag alternate_on) == 1 ]]
	keys q
	wait_until is_restored
}

@test "top: the screen fits three sizes, and changes of the size" {
	data
	pane 80 24
	top 0.3
	local size
	for size in 40x10 200x60 80x24 40x10 80x24; do
		in_tmux resize-window -x "${size%x*}" -y "${size#*x}"
		sleep 0.7
		is_clean
		[[ $(screen | sed -n 3p) == *BYTES* ]] || { screen; false; }
		screen | sed -n 1p | grep -q 'by pid in [0-9]'
		# the foot, or what is said there, is the last line
		[[ -n $(screen | tail -n 1) ]]
	done
	keys q
	screen_ended 0
}

@test "top: the screen shows the figures that JSON has for the same I/O" {
	data
	pane 120 30
	top 0.3
	to=$tmp/out start top --json 0.3
	read_direct "$dir/data" 101
	sleep 1
	finish INT
	jq -s '[.[].rows[] | select(.comm == "reader")] | map(.count) | add' "$tmp/out" >"$tmp/count"
	[[ $(<"$tmp/count") == 101 ]]
	keys t
	wait_until shows 'per second of'
	keys t
	wait_until shows 'total of'
	types '/reader'
	wait_until shows 'with reader'
	wait_until shows 'reader .* 101 +404 KiB '
	(($(screen | grep -c 'reader .*KiB') == 1))
	keys q
	screen_ended 0
}

# In the pane: the screen of an interval that is made up, and its JSON in $tmp/json.
draw() {
	cc -std=gnu11 -D_GNU_SOURCE -Isrc -o "$tmp/drawn" tests/drawn.c build/libiostrata.a -lncursesw -lcap -ljansson -lm
	types 'clear; "$T/drawn" "$T/json"'
	wait_until shows 'load 1 2 3 by pid'
}

is_json() { keep_json "$tmp/json"; screen >"$tmp/shown"; "$python" tests/drawn.py "$tmp/json" "$@" <"$tmp/shown"; }

@test "top: each figure on the screen equals the JSON of its interval" {
	pane 200 60
	draw
	wait_until is_json
	keys t
	wait_until shows 'per second of'
	wait_until is_json per-second
	not is_json
	keys t
	wait_until shows 'total of'
	wait_until is_json
	keys '<' r
	wait_until shows 'I/O\*'
	wait_until is_json
	keys q
	wait_until is_restored
}

@test "top: NO_COLOR removes colours, and a plain locale leaves ASCII only" {
	local color=$'\e\\[(3[0-7]|38;5;[0-7])m'
	pane 200 60
	draw
	wait_until shows '1009 +naïve '
	types '/made-up-11' # it has both sides
	keys Home Enter
	wait_until shows '^pid .*, [0-9]+'
	has_color() { in_tmux capture-pane -p -e | grep -qE "$color"; }
	wait_until has_color
	keys q
	wait_until is_restored
	types 'export NO_COLOR=1 LC_ALL=C'
	draw
	wait_until shows '1009 +na(\?|\\xc3\\xaf)+ve '
	types '/made-up-11'
	keys Home Enter
	wait_until shows '^pid .*, [0-9]+'
	in_tmux capture-pane -p -e >"$tmp/shown"
	grep -q '#' "$tmp/shown"
	not grep -qE "$color" "$tmp/shown"
	keys q
	wait_until is_restored
}

@test "top: keys typed quickly all count, and open a row" {
	pane 80 24
	draw
	keys '>' '>' '>'
	wait_until shows 'QUEUE\*'
	keys '<' '<' '<' Down Enter
	wait_until shows '^pid made-up-[0-9]+, [0-9]+'
	screen | sed -n 3p >"$tmp/title"
	keys h
	wait_until shows 'iostrata top: keys'
	keys h
	wait_until hides 'iostrata top: keys'
	screen | sed -n 3p | cmp - "$tmp/title"
	# the selected row is not among those with the text
	keys Escape
	wait_until shows 'BYTES\*'
	keys / n a ï w BSpace Enter Enter
	wait_until shows '^pid naïve, 1009'
	keys Escape
	wait_until shows 'with naï$'
	keys Escape / x y Enter
	wait_until shows 'no row has this text'
	keys Escape v v v Home Enter
	wait_until shows '^[0-9.]+[MG]? requests?, [^;]*$|^[0-9,]+ requests?, [^;]*$'
	# an interval that is not over has the length that it had
	hides ', next '
	keys + +
	wait_until shows ' in .*, next 200 ms'
	keys q
	wait_until is_restored
}

# pid_at LINE: of the screen, beginning with 1
pid_at() { screen | sed -n "$1p" | awk '{ print $1 }'; }

@test "top: a click selects its row, and the wheel scrolls" {
	local fifth sixth
	pane 200 60
	draw
	[[ $(flag mouse_any_flag) == 1 ]]
	fifth=$(pid_at 8) sixth=$(pid_at 9)
	# button, column and line, each 32 more, as the pane's terminal type says: pressed, released
	in_tmux send-keys -l $'\e[M )(\e[M#)('
	keys Enter
	wait_until shows "^pid .*, $fifth"
	keys Escape
	wait_until shows 'BYTES\*'
	in_tmux send-keys -l $'\e[Ma)('
	keys Enter
	wait_until shows "^pid .*, $sixth"
	keys Escape q
	wait_until is_restored
}

@test "top: each key does its action" {
	data
	pane 100 24
	top 0.3
	keys h
	wait_until shows 'iostrata top: keys'
	keys h
	wait_until hides 'iostrata top: keys'
	local view
	for view in tid comm dev cgroup container server pid; do
		keys v
		wait_until shows "load .* by $view in "
	done
	keys V
	wait_until shows 'by server in'
	keys v
	wait_until shows 'BYTES\*'
	keys '<'
	wait_until shows 'I/O\*'
	keys '>'
	wait_until shows 'BYTES\*'
	keys ' '
	wait_until shows 'paused'
	screen >"$tmp/one"
	sleep 1
	screen >"$tmp/two"
	cmp "$tmp/one" "$tmp/two"
	keys ' '
	wait_until hides 'paused'
	keys -l '+'
	wait_until shows ' in 2[0-9][0-9] ms'
	keys -l '-'
	keys -l '-'
	wait_until shows ' in (1.0|99|98)'
	types '/no such name'
	wait_until shows 'with no such name'
	keys Escape
	wait_until hides 'with no such name'
	keys Down
	keys m
	keys Enter
	wait_until shows '^pid .*[0-9]+'
	keys Escape
	wait_until shows 'BYTES\*'
	keys q
	screen_ended 0
}

@test "top: hostile names are safe on the screen" {
	data
	local name=$'e\u0301\u202e\u4e2d\e[31m'
	pane 80 24
	top 0.3
	cat >"$tmp/named.py" <<'PY'
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, os.fsencode(sys.argv[2])[:15], 0, 0, 0)
end = time.monotonic() + 8
while time.monotonic() < end:
    os.close(os.open(sys.argv[1], os.O_RDONLY))
    time.sleep(0.01)
PY
	spawn "$python" "$tmp/named.py" "$dir/data" "$name"
	types '/[31m'
	wait_until shows 'e.*\\xe2\\x80'
	is_clean
	keys q
	screen_ended 0
}

@test "top: random keys and sizes do not crash the screen" {
	pane 80 24
	top 0.2
	local all=(q h v V '<' '>' r / ' ' t + - m M a 1 Up Down PPage NPage Home End Enter Escape BSpace
		Left Right Tab C-l F5)
	local i key
	RANDOM=4711
	for ((i = 0; i < ${RANDOM_KEYS:-1000}; i++)); do
		key=${all[RANDOM % ${#all[@]}]}
		[[ $key != q ]] || key=x
		keys "$key"
		((i % 50)) || in_tmux resize-window -x $((RANDOM % 200 + 2)) -y $((RANDOM % 60 + 1))
	done
	sleep 1
	kill -0 "$screen_pid"
	in_tmux resize-window -x 80 -y 24
	keys Enter Escape Escape h h Escape
	wait_until shows 'load'
	is_clean
	keys q
	screen_ended 0
}

@test "top: ended processes and removed disks are reported, and the screen goes on" {
	sleep 60 3>&- &
	local one=$!
	spawned+=("$one")
	sleep 60 3>&- &
	spawned+=("$!")
	pane 80 24
	top -p "$one,$!" 0.3
	hides 'gone'
	kill "$one"
	wait "$one" || true
	wait_until shows "gone: process $one"
	kill -0 "$screen_pid"
	keys q
	screen_ended 0
	to=$tmp/out start top -b -p "$!" 0.2
	kill "$!"
	wait_until has_ended
}

@test "top: an opened row shows its strata, latencies and slowest operations" {
	data
	cat >"$tmp/reads.py" <<'PY'
import ctypes, mmap, os, sys, time
ctypes.CDLL(None).prctl(15, b"looked-into", 0, 0, 0)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
end = time.monotonic() + 15
while time.monotonic() < end:
    os.preadv(fd, [page], 0)
    time.sleep(0.005)
PY
	spawn "$python" "$tmp/reads.py" "$dir/data"
	pane 80 30
	top 0.3
	types '/looked-into'
	wait_until shows 'looked-into .*vda|looked-into .*KiB'
	keys Down Enter
	wait_until shows '^pid looked-into, [0-9]+'
	wait_until shows '^device +[0-9.]+ % .*#'
	wait_until shows "^read .*$dir/data"
	wait_until shows 'latencies, a column per interval'
	wait_until shows 'times of operations'
	is_clean
	keys Escape
	wait_until hides '^pid looked-into'
	keys q
	screen_ended 0
}
