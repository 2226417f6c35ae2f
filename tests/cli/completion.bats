# SPDX-License-Identifier: GPL-2.0-only
# Completion of half-typed command lines, in the shells themselves.
# shellcheck disable=SC2154 # bats sets them

load lib
load tmux.bash

setup_file() {
	make -s install DESTDIR="$BATS_FILE_TMPDIR/root" PREFIX=/usr >/dev/null
}

setup() {
	share=$BATS_FILE_TMPDIR/root/usr/share
	PATH=$BATS_FILE_TMPDIR/root/usr/bin:$PATH
	mkdir "$tmp/dir"
	touch "$tmp/dir/trace one.ios" "$tmp/dir/other"
	mkdir "$tmp/dir/traces"
}

teardown() { pane_end; }

words() { "$iostrata" --complete "$@" | cut -f1; }

need() {
	command -v "$1" >/dev/null || skip "there is no $1"
}

# completed LINE REGEX: what the shell makes of LINE and a tab, on its command line
completed() {
	keys C-u C-l
	wait_until hides 'iostrata'
	in_tmux send-keys -l -- "$1"
	keys Tab
	wait_until shows "^> $2" || { echo "'$1' is not made '$2', but:"; screen; return 1; }
}

# Every shell completes these words, once the shell is ready.
completes_words() {
	wait_until shows '^ready'
	completed "iostrata bre" "iostrata breakdown ?$"
	completed "iostrata help doc" "iostrata help doctor ?$"
	completed "iostrata breakdown --slow" "iostrata breakdown --slowest ?$"
	completed "iostrata breakdown --op fs" "iostrata breakdown --op fsync ?$"
	completed "iostrata breakdown --op=fs" "iostrata breakdown --op=fsync ?$"
	completed "iostrata breakdown --op read,fs" "iostrata breakdown --op read,fsync ?$"
	completed "iostrata breakdown -vp $$" "iostrata breakdown -vp $$ ?$"
	completed "iostrata report oth" "iostrata report other ?$"
	completed "iostrata report --output=oth" "iostrata report --output=other ?$"
	completed "iostrata report trace\\ o" "iostrata report trace\\\\ one.ios ?$"
	completed "iostrata record --otf2 tra" "iostrata record --otf2 traces/ ?$"
	completed "iostrata breakdown -j -- losetu" "iostrata breakdown -j -- losetup ?$"
	completed "iostrata breakdown -j -- cat oth" "iostrata breakdown -j -- cat other ?$"
}

@test "completion: the words are those of the option tables" {
	[[ $(words "" | tr '\n' ' ') == \
		"breakdown top funcs serve record watch report compare explain export doctor schema mcp help "* ]]
	[[ $(words "" | tail -n 2) == $'--help\n--version' ]]
	for command in breakdown top funcs serve record watch report compare explain export doctor schema; do
		"$iostrata" "$command" --help | grep -oE -- '^ +(-[A-Za-z], )?--[a-z][a-z0-9-]+' |
			grep -oE -- '--.*' | sort -u >"$tmp/help"
		words "$command" -- | grep -vx -- -- | sort -u | diff "$tmp/help" - || { echo "$command"; false; }
	done
	# what is wrong has no completion, and does no harm
	for args in "frob --x" "breakdown --frob=" "breakdown --json="; do
		# shellcheck disable=SC2086 # words
		expect 0 --complete $args
		[[ -z $output && -z $stderr ]]
	done
}

@test "completion: values depend on the option" {
	[[ $(words breakdown --by '' | xargs) == \
		"pid tid comm file cgroup dev cache container server host client dir function line library stack" ]]
	[[ $(words compare --by '' | xargs) == \
		"pid tid comm file cgroup dev cache container server function line library" ]]
	[[ $(words record --by '' | xargs) == "pid tid comm file cgroup dev cache container server dir" ]]
	[[ $(words breakdown --op=read,wr) == --op=read,write ]]
	[[ -z $(words breakdown --op read,rea) ]] # it is there already
	[[ $(words breakdown -T v) == vfs* && $(words breakdown -Tv) != *vfs* ]]
	[[ $(words report --sort to) == total_ns && $(words report --sort dev) == device_bytes ]]
	expect 2 top --json --sort nonsense
	for word in $(words top --sort ''); do
		[[ $stderr == *[\ ,]"$word"[,$'\n']* ]] || { echo "$word"; false; }
		(( ++n ))
	done
	((n == 11))
	[[ $(words breakdown -p $$) == *$$* ]]
	[[ $(words record --otf2 x) == :dirs && $(words report x) == :files ]]
	[[ $("$iostrata" --complete report --output=x) == ":files"$'\t'9 ]]
	[[ $("$iostrata" --complete breakdown -j -- make -) == ":command"$'\t'3 ]]
	[[ $(words export a.ios --) == *--to* ]] # its only file is there
}

@test "completion: names of processes are made safe" {
	cp "$(command -v sleep)" "$tmp/"$'a\e[31m'
	"$tmp/"$'a\e[31m' 60 3>&- &
	local pid=$!
	wait_until grep -q 31m "/proc/$pid/comm"
	run "$iostrata" --complete breakdown -p "$pid"
	kill "$pid"
	[[ $output == *"$pid"$'\ta\\x1b[31m'* && $output != *$'\e'* ]]
}

@test "completion: bash completes commands, options and values" {
	need tmux
	pane 100 30
	types "cd $tmp/dir; . $share/bash-completion/completions/iostrata; echo ready"
	completes_words
}

@test "completion: bash with the bash-completion package completes the same" {
	need tmux
	[[ -f /usr/share/bash-completion/bash_completion ]] || skip "there is no bash-completion"
	pane 100 30 "XDG_DATA_DIRS=$share"
	types "cd $tmp/dir; . /usr/share/bash-completion/bash_completion; echo ready"
	completes_words
}

@test "completion: zsh completes commands, options and values" {
	need tmux
	need zsh
	pane 100 30
	types "PS1='zsh> ' exec zsh -f"
	wait_until shows '^zsh>'
	types "fpath=($share/zsh/site-functions \$fpath); autoload -U compinit; compinit -D"
	types "cd $tmp/dir; PS1='> '; echo ready"
	completes_words
}

@test "completion: fish completes commands, options and values" {
	need tmux
	need fish
	pane 100 30 "HOME=$tmp" "XDG_DATA_DIRS=$share:/usr/share"
	types "exec fish --private -C 'function fish_prompt; echo \"> \"; end; function fish_greeting; end;
		cd $tmp/dir; echo ready'"
	completes_words
}
