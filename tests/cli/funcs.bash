# SPDX-License-Identifier: GPL-2.0-only
# Functions which the tests of funcs share. tests/calls.c is a program which calls its functions a known number of
# times.
# shellcheck shell=bash disable=SC2034,SC2154,SC2016 # bats sets them and reads them

setup_file() {
	cc -O1 -fno-optimize-sibling-calls -pthread -o "$BATS_FILE_TMPDIR/calls" tests/calls.c
	cp "$BATS_FILE_TMPDIR/calls" "$BATS_FILE_TMPDIR/stripped"
	strip -s "$BATS_FILE_TMPDIR/stripped"
	truncate -s 4M "$BATS_FILE_TMPDIR/file"
}

setup() {
	need_root
	calls=$BATS_FILE_TMPDIR/calls
}

teardown() { end_spawned; }

# funcs_of_calls OPTIONS...: of the program; its own output goes elsewhere. Leaves $tmp/out, $tmp/err.
funcs_of_calls() {
	"$iostrata" funcs "$@" -- bash -c '"$0" /etc/passwd >"$1"' "$calls" "$tmp/said" >"$tmp/out" 2>"$tmp/err" || return
	[[ -s $tmp/out ]] || cp "$tmp/err" "$tmp/out" # a table
}

# The calls that calls.c announces.
counts='{"calls_top": 23, "calls_mid": 46, "calls_leaf": 233, "calls_again": 1111, "calls_tail": 101,
	"calls_throw": 13, "calls_catch": 13, "calls_die": 7}'

is_exact='(.functions | map({(.name): .count}) | add | del(.calls_deep)) == $counts
	and (.functions[] | select(.name == "calls_deep") | .count) == 64 and .lost.depth == 36
	and ([.functions[].unreturned] | add) == 20 and .missed == 0 and .lost.unmatched_end == 0'

has_probe() { # KIND
	"$iostrata" funcs --probe "$1" "$calls:calls_top" -D 0.01 >/dev/null 2>&1
}

# libc_copy: a C library that nobody runs, in $tmp; probing the real one would slow everybody down.
libc_copy() { cp "$(ldd "$iostrata" | awk '/libc\.so/ { print $3 }')" "$tmp/libc.so.6"; }
