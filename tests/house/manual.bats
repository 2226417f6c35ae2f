# SPDX-License-Identifier: GPL-2.0-only
# The help, the manual and the documents name what is there, once, and in plain words. Needs build/iostrata.
# shellcheck disable=SC2016 # backquotes of documents

load lib

iostrata=build/iostrata

@test "each command and option named in the manual and documents exists" {
	none python3 -B tests/house/options.py "$iostrata" $(commands)
}

@test "a name of a missing command or option is found in each place" {
	here=$PWD
	cd "$BATS_TEST_TMPDIR"
	mkdir -p man docs
	cat >tool <<-'SH'
		#!/bin/sh
		echo "Options:"
		echo "  -o, --output=FILE  write here"
		[ "$1" != two ] || echo "      --slowest=N    these, but not --gone: see iostrata one --slowest"
		echo "Examples:"
		[ "$1" != one ] || echo "  iostrata one -o a --lost -- two --other"
	SH
	chmod +x tool
	printf '%s\n' 'With *--slowest* and *--slowset*;' '*iostrata two --slowest 5* | *iostrata one -n*' '```' \
		'docker --other' '```' >man/a.1.scd
	printf '%s\n' '`iostrata one -o x -- cc --slowest`, `iostrata two -o x | jq --slurp`' \
		'`iostrata two --outptu x`, `--slowest` and `--slowset`' '`iostrata three`, iostrata four, `iostrata help`' \
		'```' '$ sudo iostrata five' '# iostrata one' '```' >docs/a.md
	run -0 python3 -B "$here/tests/house/options.py" ./tool one two
	diff - <(sort <<<"$output") <<-'END'
		docs/a.md:2: iostrata two has no --outptu
		docs/a.md:2: no command has --slowset
		docs/a.md:3: there is no command three
		docs/a.md:5: there is no command five
		iostrata one --help: iostrata one has no --lost
		iostrata two --help: iostrata one has no --slowest
		man/a.1.scd:1: no command has --slowset
		man/a.1.scd:2: iostrata one has no -n
	END
}

# Rows "COMMAND PART: NAME" of all tables that the manual has.
table_rows() {
	for command in $(commands); do
		"$iostrata" --scdoc "$command" | while read -r part; do
			"$iostrata" --scdoc "$command" "columns of $part" 2>/dev/null |
				sed -n "s/^_.*_.*/$command columns of $part: &/p" || true
		done
	done
}

@test "no column is in a table twice" {
	table_rows >"$BATS_TEST_TMPDIR/rows"
	(($(wc -l <"$BATS_TEST_TMPDIR/rows") > 80))
	# a name in JSON, a title; "_title_ (name)" is both
	none awk -F ': ' '{ n = split($2, names, /[()]/); for (i = 1; i < 3 && i <= n; i++) {
			gsub(/^ +| +$|^_|_ *$/, "", names[i])
			if (names[i] != "" && seen[$1 ": " i ": " names[i]]++) print $1 ": " names[i]
		} }' "$BATS_TEST_TMPDIR/rows"
}

@test "the manual has each exit status" {
	sed -n 's/^\tEXIT_[A-Z]* = \([0-9]*\),.*/\1/p' src/base/reason.h | sort -n >"$BATS_TEST_TMPDIR/codes"
	(($(wc -l <"$BATS_TEST_TMPDIR/codes") > 5))
	sed -n '/^# EXIT STATUS/,/^# SIGNALS/s/^\*\([0-9]*\)\*$/\1/p' man/iostrata.1.scd |
		sort -nu >"$BATS_TEST_TMPDIR/told"
	none comm -23 <(sort "$BATS_TEST_TMPDIR/codes") <(sort "$BATS_TEST_TMPDIR/told")
	# and no other but success, and those of a shell
	[[ $(comm -13 <(sort "$BATS_TEST_TMPDIR/codes") <(sort "$BATS_TEST_TMPDIR/told") | tr '\n' ' ') == "0 126 127 " ]]
}

@test "the manual has each kind of operation, where they are explained and where --op takes them" {
	kinds=$("$iostrata" breakdown --op nosuch 2>&1 | sed -n 's/^hint: --op takes \(.*\), and system calls.*/\1/p' |
		sed 's/ and /, /; s/,//g')
	(($(wc -w <<<"$kinds") > 10))
	for heading in '# OPERATIONS' '## Which operations does --op choose?'; do
		sed -n "/^$heading/,/^#*# [A-Z].*[A-Z?]\$/p" man/iostrata.1.scd | sed 1d >"$BATS_TEST_TMPDIR/part"
		[[ $heading == '# OPERATIONS' ]] || sed -i '/^#/,$d' "$BATS_TEST_TMPDIR/part"
		for kind in $kinds; do
			grep -qw "_${kind}_" "$BATS_TEST_TMPDIR/part" || { echo "$heading: $kind"; false; }
		done
	done
}

@test "the README has each command" {
	for command in $(commands); do
		grep -q "^| \`iostrata $command[ \`]" README.md || { echo "$command"; false; }
	done
}

@test "the version stands in cmd.h, and all that repeats it agrees" {
	version=$(sed -n 's/^#define IOSTRATA_VERSION "\(.*\)"$/\1/p' src/run/cmd.h)
	[[ -n $version && $(build/iostrata --version) == "iostrata $version" ]]
	[[ $(sed -n '1s/^iostrata (\(.*\)) .*/\1/p' debian/changelog) == "$version" ]]
	[[ $(sed -n '/^## /{s/^## //p;q}' NEWS.md) == "$version" ]]
	images=$(grep -ohE "localhost/iostrata:[0-9.]+" iostrata.yaml docs/FLEET.md | sort -u)
	[[ $images == "localhost/iostrata:$version" ]]
}
