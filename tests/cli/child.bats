# SPDX-License-Identifier: GPL-2.0-only
# iostrata breakdown -- CMD: exit codes, who runs it, when.
# shellcheck disable=SC2154,SC2030,SC2031,SC2016 # bats sets them; jq and sh have dollars of their own

load lib

setup() { need_root; }

teardown() { end_spawned; }

writer() { # FILE
	while :; do
		echo text >"$1"
		sleep 0.002
	done
}

@test "command: its exit code is returned" {
	expect 0 breakdown -- true
	expect 1 breakdown -- false
	expect 7 breakdown -- sh -c 'exit 7'
	expect 255 breakdown -- sh -c 'exit 255'
}

@test "command: ended by a signal, it gives 128 plus the signal" {
	{
		expect 137 breakdown -o - -- sh -c 'kill -9 $$'
		[[ $output == traced* ]]
		expect 143 breakdown -- sh -c 'kill -15 $$'
		# whoever starts the tests in the background has INT ignored, which a command inherits
		run env --default-signal=INT "$iostrata" breakdown -- sh -c 'kill -2 $$'
		((status == 130))
	}
}

@test "command: one that cannot be executed gives 126, a missing one 127" {
	expect 127 breakdown -- "$tmp/nosuch"
	says "cannot execute.*No such file"
	expect 127 breakdown -- "ls -l"
	says "cannot execute 'ls -l'" "a command line in quotes needs a shell: -- sh -c"
	expect 127 breakdown -- cd /
	says "cannot execute 'cd'" "only a shell has this command: -- sh -c"
	expect 127 breakdown -- nosuch-command-anywhere
	says "cannot execute.*No such file"
	echo text >"$tmp/text"
	expect 126 breakdown -- "$tmp/text"
	says "cannot execute.*Permission denied"
	[[ $stderr != *tracing* ]]
	expect 126 breakdown -- "$tmp"
	says "cannot execute.*Permission denied"
}

@test "command: without PATH it is found where execvp(3) looks" {
	run --separate-stderr env -i "$iostrata" breakdown -- true
	((status == 0))
	run -127 --separate-stderr env -i "$iostrata" breakdown -- nosuch-command-anywhere
	says "cannot execute.*No such file"
	[[ $stderr != *tracing* ]]
}

@test "command: a failure of the tool gives 125, and the command does not run" {
	expect 125 breakdown -d nosuchdisk -- touch "$tmp/ran"
	says "no disk, mount or server is called"
	expect 125 breakdown -T nosuchlayer -- touch "$tmp/ran"
	says "no layer"
	[[ ! -e $tmp/ran ]]
}

@test "command: its arguments are passed unchanged" {
	expect 0 breakdown -D 60 -- printf '<%s>\n' -p --json 'a b' ''
	[[ $output == $'<-p>\n<--json>\n<a b>\n<>' ]]
}

@test "command: it has the caller's stdin, stdout, stderr and directory" {
	cd "$tmp"
	run --separate-stderr "$iostrata" breakdown -- sh -c 'cat; pwd; echo error >&2' <<<input
	[[ $output == $'input\n'"$tmp" ]]
	[[ $stderr == *$'\nerror\ntraced '* ]]
}

@test "command: a file or a pipe gets only its output, and tables go to stderr" {
	local tables=("breakdown" "top -b" "record --force --breakdown -o $tmp/a.ios") table
	for table in "${tables[@]}"; do
		# shellcheck disable=SC2086 # words
		"$iostrata" $table -- echo data >"$tmp/out" 2>"$tmp/err"
		[[ $(cat "$tmp/out") == data ]] || { echo "$table:"; cat "$tmp/out"; false; }
		grep -q '^traced echo\|loadavg' "$tmp/err"
	done
	# data for a program goes to stdout, and the command's output to stderr
	"$iostrata" breakdown -j -- echo data >"$tmp/out" 2>"$tmp/err"
	json '.command == "echo"' "$tmp/out"
	grep -qx data "$tmp/err"
	"$iostrata" breakdown -o - -- echo data >"$tmp/out"
	[[ $(cat "$tmp/out") == $'data\ntraced echo'* ]]
	on_terminal "$iostrata" breakdown -- echo data
	[[ $(cat "$tmp/out") == $'data\ntraced echo'* ]]
}

@test "command: it starts after the probes are live" {
	"$iostrata" breakdown -o - -- sh -c 'echo command >&2' >"$tmp/out" 2>"$tmp/err"
	[[ $(cat "$tmp/err") == $'tracing the command\ncommand' ]]
	# the same with --json
	"$iostrata" breakdown -j -- sh -c 'echo command >&2' >"$tmp/out" 2>"$tmp/err"
	[[ $(cat "$tmp/err") == $'tracing the command\ncommand' ]]
}

@test "command: only it and its descendants are traced" {
	dir=$(disk_dir)
	spawn writer "$dir/other"
	export python
	# 23 fsyncs in a grandchild
	expect 0 breakdown -j --op fsync -- sh -c \
		'($python -c "import os, sys
f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for i in range(23): os.write(f, b\"x\"); os.fsync(f)" "$0")' "$dir/mine"
	[[ $(jq '[.ops[] | select(.op == "fsync") | .count] | add' <<<"$output") == 23 ]]
	expect 0 breakdown -j --op open --by comm -- true
	[[ $(jq '[.ops[] | select(.key != "true")] | length' <<<"$output") == 0 ]]
	end_spawned
	rm -r "$dir"
}

@test "command: with --system, other processes are traced, too" {
	dir=$(disk_dir)
	spawn writer "$dir/other"
	expect 0 breakdown -j --system --by pid -- sleep 0.3
	json --arg pid "$spawned_pid" '[.ops[] | select(.key == $pid)] | length > 0'
	end_spawned
	rm -r "$dir"
}

@test "command: under sudo it runs as the caller" {
	SUDO_USER=nobody SUDO_UID=65534 SUDO_GID=65534 expect 0 breakdown -- \
		sh -c 'id -u; id -g; id -G; touch /no || true; grep ^CapEff: /proc/self/status'
	[[ $output == $'65534\n65534\n65534\nCapEff:\t0000000000000000' ]]
}

@test "command: under sudo it has the caller's environment" {
	SUDO_USER=nobody SUDO_UID=65534 SUDO_GID=65534 HOME=/root USER=root LOGNAME=root SHELL=/bin/none \
		expect 0 breakdown -- env
	IFS=: read -r name _ _ _ _ home shell < <(getent passwd 65534)
	for line in "HOME=$home" "USER=$name" "LOGNAME=$name" "SHELL=$shell"; do
		grep -qxF "$line" <<<"$output"
	done
	HOME=/my/home expect 0 breakdown -- env
	grep -qxF HOME=/my/home <<<"$output"
}

@test "command: I/O of the tool before its start is not counted" {
	for user in '' nobody; do
		run --separate-stderr env ${user:+SUDO_USER=$user SUDO_UID=65534 SUDO_GID=65534} \
			"$iostrata" breakdown -j --all-files --by comm -- true
		json '[.ops[].key] | unique == ["true"]'
	done
}

@test "command: its end ends the tool, even if children go on" {
	expect 0 breakdown -- sh -c 'sleep 600 >/dev/null 2>&1 3>&- & echo $!'
	kill "${output%%$'\n'*}" # fails if the tool waited for the end of the child
}

@test "command: -D ends the tracing, and it goes on" {
	begin=$SECONDS
	"$iostrata" breakdown -o - -D 0.3 -- sh -c "sleep 2; touch '$tmp/done'" >"$tmp/out" 2>"$tmp/err" 3>&-
	grep -q '^traced' "$tmp/out"
	wait_until test -e "$tmp/done"
}

@test "command: COUNT ends the tracing, and the exit status is the tool's" {
	expect 0 breakdown 0.1 2 -- sh -c "sleep 1; touch '$tmp/done'; exit 7"
	wait_until test -e "$tmp/done"
	expect 0 breakdown --help
	[[ $(grep -cE '(time|intervals); a command goes\b' <<<"$output") == 2 ]]
}
