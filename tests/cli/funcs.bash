# SPDX-License-Identifier: GPL-2.0-only
# What the tests of funcs share: a program that calls its functions so many times, tests/calls.c.
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
	"$iostrata" funcs "$@" -- bash -c '"$0" /etc/passwd >"$1"' "$calls" "$tmp/said" >"$tmp/out" 2>"$tmp/err"
}
