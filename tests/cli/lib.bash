# SPDX-License-Identifier: GPL-2.0-only
# Functions which the tests of the command line share. Run from the top of the tree: bats tests/cli
# shellcheck shell=bash disable=SC2034,SC2154 # bats sets them and reads them

bats_require_minimum_version 1.7.0 # setup_suite.bash
iostrata=${IOSTRATA:-$PWD/build/iostrata}
tmp=$BATS_TEST_TMPDIR
# The program itself, and no wrapper that starts ten others.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
# As for the gate's suites on this machine (tests/gate/harness.py), a test that failed is tried again, and bats says so.
# A test that always fails has failed.
export BATS_TEST_RETRIES=2
if ((${BATS_TEST_TRY_NUMBER:-1} > 1)); then
	echo "# once more: $BATS_TEST_NAME" >&3
fi
export ASAN_OPTIONS=detect_leaks=0 # once it traces, the program may not look for them
unset SUDO_UID SUDO_GID SUDO_USER NO_COLOR
export LC_ALL=C.UTF-8
# script(1) runs its command with it; sh knows no exported functions.
export SHELL=$BASH

# By how much a limit of time is longer here than on an idle machine: limits only end what hangs.
patience() {
	local load
	read -r load _ </proc/loadavg
	echo $((${load%.*} / $(nproc) + 1))
}
BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-$((240 * $(patience)))}

# In a test "! command" fails nothing.
not() {
	! "$@" || { echo "should have failed: $*"; return 1; }
}

need_root() {
	((EUID == 0)) || skip "tracing needs root"
}

# with_caps CAPS COMMAND...: not root, but with these capabilities.
with_caps() {
	local caps=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"
}

# A file system that keeps data, for what is to be seen; bats' own directory may be in a tmpfs.
disk_dir() {
	mkdir -p build/test/tmp
	mktemp -d "$PWD/build/test/tmp/XXXXXX"
}

# For setup() and teardown() of a file whose tests are root's, and have such a directory: $dir.
begin_in_dir() {
	need_root
	dir=$(disk_dir)
}

end_in_dir() {
	end_spawned
	[[ -z ${dir:-} ]] || rm -rf "$dir"
}

# expect STATUS ARGS...: runs iostrata; its exit status is STATUS. Leaves $output and $stderr.
expect() {
	local want=$1
	shift
	if ((want == 127)); then # or bats warns
		run -127 --separate-stderr "$iostrata" "$@"
	else
		run --separate-stderr "$iostrata" "$@"
	fi
	if ((status != want)); then
		echo "iostrata $*: exit status $status, not $want; stderr: $stderr"
		return 1
	fi
}

# says REGEX [HINT-REGEX]: stderr is one "error:" line that matches, and one "hint:" line if asked for; nothing is on
# stdout. Lines of a run that traces, before its error, are left out.
says() {
	local text
	text=$(grep -vE '^tracing|^[0-9]+ recordings are added up' <<<"$stderr")
	[[ -z $output ]] || { echo "unexpected output: $output"; return 1; }
	[[ $text == "error: "* && ${text%%$'\n'*} =~ $1 ]] || { echo "no error /$1/: $stderr"; return 1; }
	if [[ -z ${2:-} ]]; then return; fi
	[[ $text == *$'\n'"hint: "* && ${text#*$'\n'} =~ $2 ]] || { echo "no hint /$2/: $stderr"; return 1; }
}

# spawn COMMAND...: in the background until the test ends; leaves $spawned_pid.
spawned=()
spawn() {
	"$@" 3>&- 9>&- &
	spawned_pid=$!
	spawned+=("$spawned_pid")
}

# Ends all spawned commands; for teardown().
end_spawned() {
	local it
	for it in "${spawned[@]}"; do
		kill -9 "$it" 2>/dev/null || true
	done
	[[ -z ${fused:-} ]] || umount -l "$fused" 2>/dev/null || true
}

# Whether requests to daemons of FUSE can be traced here.
has_fuse() {
	[[ -e /dev/fuse ]] &&
		"$iostrata" doctor -j | command jq -e '.findings[] | select(.what == "FUSE") | .works' >/dev/null
}

# fuse: mounts a file system of the daemon "fuser" at $fused until the test ends; its file f has 16 MiB.
fuse() {
	fused=$tmp/fuse
	cc -O2 -o "$tmp/fuser" tests/gate/fuser.c
	mkdir "$fused"
	mkfifo "$tmp/open" # its stdin, which never ends
	spawn bash -c 'exec "$0" "$1" sleep 1 <>"$2"' "$tmp/fuser" "$fused" "$tmp/open" >"$tmp/fuser.said"
	wait_until grep -q ^ready "$tmp/fuser.said"
}

# start ARGS...: runs iostrata in the background, waits until it traces. Leaves $pid; its output
# goes to $tmp/out, or $to, and to $tmp/err. The shell lets what is in the background ignore INT.
start() {
	: >"$tmp/err"
	env --default-signal=HUP,INT,TERM "$iostrata" "$@" >"${to:-$tmp/out}" 2>"$tmp/err" 3>&- 9>&- &
	pid=$!
	spawned+=("$pid")
	wait_until tracing_or_gone
	kill -0 "$pid" || { cat "$tmp/err"; return 1; }
}

tracing_or_gone() { grep -q '^tracing' "$tmp/err" || ! kill -0 "$pid" 2>/dev/null; }

# finish SIGNAL: ends what start began; leaves $status.
finish() {
	kill "-$1" "$pid"
	status=0
	wait "$pid" || status=$?
}

# Whether what start began is over.
has_ended() { ! kill -0 "$pid" 2>/dev/null || grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; }

# ends_within SECONDS: what start began, later on a busy machine; leaves $status.
ends_within() {
	local begin=$SECONDS
	until has_ended || ((SECONDS - begin > $1 * $(patience))); do
		sleep 0.05
	done
	has_ended || { echo "still runs after $1 s"; return 1; }
	status=0
	wait "$pid" || status=$?
}

# wait_until COMMAND...: at most 20 s, longer on a busy machine
wait_until() {
	local begin=$SECONDS
	until ((SECONDS - begin > 20 * $(patience))); do
		! "$@" || return 0
		sleep 0.05
	done
	echo "waited in vain for: $*"
	return 1
}

# Ids of the BPF programs and links that process $1 holds, as "prog N" and "link N".
bpf_ids() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '
		/^prog_id:/ { print "prog", $2 } /^link_id:/ { print "link", $2 }' | sort -u
}

# gone IDS: none of them exists in the kernel any more
gone() {
	local kind id
	while read -r kind id; do
		! PATH=$PATH:/usr/sbin bpftool "$kind" show id "$id" >/dev/null 2>&1 || return 1
	done <<<"$1"
}

# Nothing in it but printable well-formed UTF-8 and newlines.
printable() { # FILE
	iconv -f UTF-8 -t UTF-8 "$1" >/dev/null || { echo "not UTF-8: $1"; return 1; }
	! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]' "$1" || { echo "control characters in $1"; return 1; }
}

fits_80_columns() { # FILE
	(($(wc -L <"$1") <= 80)) || { awk 'length > 80' "$1"; return 1; }
}

# on_terminal COMMAND...: what it shows on one of 80 columns, without colours, to $tmp/out, and its
# stderr to $tmp/err.
on_terminal() {
	local command
	printf -v command '%q ' "$@"
	NO_COLOR=1 TERM=xterm script -qec "stty cols 80 rows 24; $command 2>$tmp/err" /dev/null </dev/null |
		tr -d '\r' >"$tmp/out"
}

# begins_with TEXT: so does $tmp/out; else tells what is there.
begins_with() {
	[[ $(head -n 1 "$tmp/out") == "$1"* ]] && return
	head -n 20 "$tmp/out" "$tmp/err"
	return 1
}

# jq ARGS... [FILE]: the program, which reads JSON of iostrata; a copy of that is validated when all tests
# have ended, see setup_suite.bash. For other JSON: command jq.
jq() {
	local file=${*: -1}
	if [[ ! -f $file ]]; then
		file=$(mktemp "$tmp/stdin.XXXXXX")
		cat >"$file"
		set -- "$@" "$file"
	fi
	keep_json "$file"
	command jq "$@"
}

# keep_json FILE: keeps a copy, under a name that tells the test, and only one of the same content.
keep_json() {
	local name="${BATS_TEST_FILENAME##*/}: ${BATS_TEST_DESCRIPTION//\//_}"
	cp "$1" "$BATS_SUITE_TMPDIR/json/$name, $(cksum <"$1")"
}

# json [--arg NAME VALUE]... FILTER [FILE]: what FILTER says of the output, or of FILE, is true.
# Unlike "jq -e", which takes nothing at all for yes. Where not, what stands before the last == is shown.
json() {
	local file=${*: -1} filter
	if [[ -f $file ]]; then
		set -- "${@:1:$#-1}"
	else
		file=$tmp/json
		printf '%s\n' "$output" >"$file"
	fi
	if [[ ! -s $file || $(jq -s "${@:1:$#-1}" "map(${*: -1}) | length > 0 and all" "$file") != true ]]; then
		echo "not true: ${*: -1}"
		filter=${*: -1}
		jq -c "${@:1:$#-1}" "${filter% == *}" "$file" 2>/dev/null | head -c 2000
		return 1
	fi
}
