# SPDX-License-Identifier: GPL-2.0-only
# Uses which need no kernel: help, version, mistakes in the command line.
# shellcheck disable=SC2154 # bats sets them

load lib

# The names of all commands, from the help.
commands() {
	"$iostrata" --help | awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }'
}

@test "usage: --help lists the commands and fits the screen" {
	for arg in --help -h help; do
		expect 0 "$arg"
		[[ $output == *breakdown* && $output == *doctor* && -z $stderr ]]
		echo "$output" >"$tmp/help"
		fits_80_columns "$tmp/help"
	done
}

@test "usage: each command's --help has examples and fits the screen" {
	(($(commands | wc -l) > 10))
	for command in $(commands); do
		expect 0 "$command" --help
		[[ $output == "Usage: iostrata $command"* && $output == *Examples:* && -z $stderr ]]
		echo "$output" >"$tmp/help"
		fits_80_columns "$tmp/help"
		expect 0 "$command" -h
		[[ $output == "$(cat "$tmp/help")" ]]
	done
}

@test "usage: --version prints a name and a number" {
	expect 0 --version
	[[ $output =~ ^iostrata\ [0-9]+\.[0-9.]+$ ]]
	local version=$output
	expect 0 breakdown --version
	[[ $output == "$version" ]]
	expect 0 -V
	[[ $output == "$version" ]]
}

@test "usage: without a command, the help is shown, as an error" {
	expect 2
	[[ -z $output && $stderr == Usage:* ]]
}

@test "usage: an unknown command is named, made safe" {
	expect 2 frobnicate
	says "'frobnicate'" "--help"
	expect 2 -D 3
	says "'-D'" "'iostrata breakdown -D'"
	expect 2 $'a\e[31mb\xff'
	says '\\x1b.*\\xff'
	[[ $stderr != *$'\e'* ]]
}

@test "usage: an unknown option is named, made safe" {
	expect 2 breakdown --frobnicate
	says "'--frobnicate'" "iostrata breakdown --help"
	expect 2 breakdown -Z
	says "'-Z'"
	expect 2 breakdown $'--a\e]0;x'
	says '\\x1b'
	[[ $stderr != *$'\e'* ]]
}

@test "usage: a missing value, or a needless one, is refused" {
	expect 2 breakdown -p
	says "--pid needs a value: PID"
	expect 2 breakdown --json=1
	says "--json takes no value"
	expect 2 breakdown --comm ''
	says "''.*empty"
}

# Every option that takes a number, with what no number is.
@test "usage: wrong numbers in options are refused" {
	for option in --pid --slowest --duration --min; do
		for value in abc 1x x1 0x10 1e3 -1 +1 ' 1' '1 ' '' '1,' 99999999999999999999 \
			18446744073709551616; do
			# as pgrep(1) prints several
			[[ $option != --pid || $value != *' '* ]] || continue
			expect 2 breakdown "$option=$value"
			says "invalid value '.*' for $option: " \
				"iostrata breakdown --help|durations are like|as from pgrep|--slowest 5"
		done
	done
}

@test "usage: wrong arguments are refused" {
	for value in abc '' ./1; do
		expect 2 breakdown "$value"
		says "invalid value '$value' for INTERVAL: " "put -- before a command"
		expect 2 breakdown 1 "$value"
		says "invalid value '$value' for COUNT: " "put -- before a command"
	done
	for value in 1x 0x10 1e3 99999999999999999999; do
		expect 2 breakdown "$value"
		says "invalid value '$value' for INTERVAL: " "durations are like"
		expect 2 breakdown 1 "$value"
		says "invalid value '$value' for COUNT: " "iostrata breakdown --help"
	done
	for words in "nosuch" "1 nosuch" "1 2 nosuch"; do
		expect 2 top ./recording $words
		says "'nosuch'" "'./recording' is taken for a recording: after it come INTERVAL and COUNT; put -- before a"
	done
	expect 2 breakdown -- # nothing follows
	says "no command after --"
	expect 125 breakdown -p abc -- true # the other codes are the command's
	says "invalid value 'abc'"
	expect 2 breakdown 1 2 3
	says "unexpected argument '3'"
	expect 2 breakdown -1
	expect 2 breakdown 1 -1
	expect 2 doctor 1
	says "unexpected argument '1'"
}

@test "usage: numbers outside their limits are refused" {
	for args in --pid=0 --pid=2147483648 --slowest=0 --slowest=1001 --duration=0 0 0.001; do
		expect 2 breakdown "$args"
		says "must be .* or (more|less)"
	done
	expect 2 breakdown 1 0
	says "'0' for COUNT: must be 1 or more"
}

@test "usage: a wrong choice is refused, and the choices are listed" {
	expect 2 breakdown --op frob
	says "no operation is called" "--op takes read, .*, fault, served, exec and lock, "
	expect 2 breakdown --by frob
	says "must be pid, .*, container, server, host, client, dir, function, line, library or stack"
}

@test "usage: --by takes the words of other tools, and they are not listed" {
	for word in process thread command device disk; do
		expect 2 breakdown --by "$word" -T blk
		says "--by has no meaning"
		expect 2 report --by "$word" -T blk nowhere.ios
		says "--by has no meaning"
	done
	expect 0 breakdown --help
	[[ $output == *"library or stack"$'\n'* ]]
	expect 2 breakdown --by proces
	says "invalid value 'proces'" "did you mean 'process'"
}

@test "usage: a word for a number tells where the word goes" {
	expect 2 breakdown -p postgres
	says "'postgres' for --pid: not a number" "pgrep; --comm takes names"
	expect 2 report --slowest trace.ios
	says "'trace.ios' for --slowest: not a number" "--slowest 5"
	cd "$tmp"
	expect 1 report 2.5
	says "cannot open '2.5'" "--every 2.5"
	expect 1 report 2x
	[[ $stderr != *--every* ]]
}

@test "usage: serve has no option about a command, because it runs none" {
	expect 0 serve --help
	[[ $output != *--system* ]]
	expect 2 serve --system
	says "unknown option '--system'"
	# options that another command has
	expect 2 report --helpers a.ios
	says "unknown option '--helpers'" "^hint: breakdown has --helpers: 'iostrata breakdown --help'$"
	expect 2 watch --stacks 'read>1s'
	says "unknown option '--stacks'" "^hint: breakdown, record and report have --stacks: "
	expect 2 breakdown --symbols=/usr/lib/debug
	says "unknown option '--symbols=" "^hint: top, report, compare, explain and export have --symbols: "
	expect 2 report --sybmols /usr/lib/debug a.ios
	says "unknown option '--sybmols'" "did you mean '--symbols'"
	# too many have it
	expect 2 explain --by function a.ios
	says "unknown option '--by'" "^hint: see 'iostrata explain --help'$"
}

@test "usage: contradicting options are refused" {
	expect 2 breakdown --depth 2 --by file
	says "--depth is about directories" "add --by dir"
	expect 2 compare --by dir a.ios b.ios
	says "compare has --by file"
	expect 2 breakdown --slowest 3 -T vfs
	says "--slowest .* -T" "leave out -T"
	expect 2 breakdown --by file -T blk
	says "--by .* -T blk"
	expect 2 breakdown --helpers -T blk
	says "--helpers .* -T"
	expect 2 breakdown --why -T vfs
	says "--why .* -T"
	expect 2 breakdown --helpers --by file
	says "--helpers and --by exclude one another" "iostrata top --by KEY"
	expect 2 breakdown --helpers --by container
	says "--helpers and --by exclude one another" "without --helpers, the table of requests has what kernel threads"
	expect 2 record --by file --requests -D 1
	says "--by has no meaning with --requests" "without --requests, requests have rows by key, too"
	expect 2 doctor -- true
	says "no command after --"
}

@test "usage: each command has a manual page with all its options" {
	local n=0
	for command in $(commands); do
		# hyphens may be escaped there
		sed 's/\\//g' "build/man/iostrata-$command.1" >"$tmp/man"
		"$iostrata" "$command" --help >"$tmp/help"
		grep -oE -- '--[a-z][a-z0-9-]+|^ +-[A-Za-z],' "$tmp/help" | tr -d ' ,' | sort -u >"$tmp/options"
		(($(wc -l <"$tmp/options") >= 3))
		while read -r option; do
			grep -qF -- "fB$option" "$tmp/man" || { echo "$command $option is not in the manual"; false; }
		done <"$tmp/options"
		grep -qF "iostrata-$command" build/man/iostrata.1 || { echo "no $command in the overview"; false; }
		n=$((n + 1))
	done
	((n == $(printf '%s\n' build/man/iostrata-*.1 | wc -l) && n >= 7))
}

@test "usage: the manual has each list of columns, and each part of the tables" {
	for command in $(commands); do
		"$iostrata" --scdoc "$command" >"$tmp/parts"
		(($(wc -l <"$tmp/parts") >= 5))
		while read -r part; do
			grep -qxE "@$command ((members|columns) of )?$part@" man/*.scd || { echo "$command: $part"; false; }
		done <"$tmp/parts"
	done
	run "$iostrata" --scdoc breakdown "no such part"
	((status != 0))
}

@test "usage: a mistyped command, option, choice or column gets a suggestion" {
	expect 2 braekdown
	says "'braekdown'" "did you mean 'iostrata breakdown'"
	expect 2 breakdown --slowset 3
	says "'--slowset'" "did you mean '--slowest'.*iostrata breakdown --help"
	expect 2 breakdown --op raed
	says "'raed'" "did you mean 'read'"
	expect 2 breakdown --by chache
	says "'chache'" "did you mean 'cache'"
	expect 2 breakdown --sort totl
	says "'totl'" "did you mean 'total'"
	# what is like nothing gets no advice
	expect 2 breakdown --sort xyz
	[[ $stderr != *"did you mean"* ]]
}

# man_is SCRIPT: from now on $iostrata finds this man(1), and nothing else; none if SCRIPT is empty.
man_is() {
	mkdir -p "$tmp/bin"
	rm -f "$tmp/bin/man"
	if [[ $1 ]]; then
		printf '#!/bin/sh\n%s\n' "$1" >"$tmp/bin/man"
		chmod +x "$tmp/bin/man"
	fi
	printf '#!/bin/sh\nPATH=%q exec %q "$@"\n' "$tmp/bin" "$real" >"$tmp/iostrata"
	chmod +x "$tmp/iostrata"
	iostrata=$tmp/iostrata
}

@test "usage: help COMMAND opens the manual page, or prints --help" {
	real=$iostrata
	man_is '[ "$1" = -w ] && echo "/man1/$2.1" || echo "page: $*"'
	for command in breakdown doctor; do
		expect 0 help "$command"
		[[ $output == "page: iostrata-$command" && -z $stderr ]]
		expect 0 "$command" --help
		echo "$output" >"$tmp/$command"
	done
	# no man(1); no such page; a stand-in that says why there are no pages
	for script in '' 'exit 16' 'echo "no manual here"'; do
		man_is "$script"
		for command in breakdown doctor; do
			expect 0 help "$command"
			[[ $output == "$(cat "$tmp/$command")" ]]
			[[ $stderr == "warning: cannot open the manual page 'iostrata-$command': "*"hint: "* ]]
		done
	done
	expect 2 help brekdown
	says "'brekdown'" "did you mean 'iostrata breakdown'"
	expect 2 help breakdown $'report\e'
	says "unexpected argument 'report.x1b'" "one command"
}

@test "usage: man(1) finds the page" {
	man -w man >/dev/null 2>&1 || skip "there are no manual pages here"
	mkdir -p "$tmp/share/man1"
	cp build/man/iostrata-doctor.1 "$tmp/share/man1"
	MANPATH=$tmp/share expect 0 help doctor
	[[ $output == *SYNOPSIS*EXAMPLES* && -z $stderr ]]
}

@test "usage: help explains each stratum" {
	expect 0 breakdown --help
	for label in syscall vfs fs throttle tag queue device wake-up 'run queue' preempted 'kernel thread' sleep; do
		grep -qE "^  $label  +[a-z]+" <<<"$output" || { echo "$label"; false; }
	done
}

@test "usage: an option without effect is refused" {
	for args in "--by pid --by file" "-T vfs -T blk" "-D 1 -D 2"; do
		# shellcheck disable=SC2086 # words
		expect 2 breakdown $args
		says "is given twice"
	done
	expect 2 breakdown --system -D 1
	says "--system has no meaning without a command"
	expect 2 breakdown -Q -T vfs -D 1
	says "-Q is about requests, -T vfs shows none"
	for layer in syscall vfs fs; do
		expect 2 breakdown -T $layer --op read,fault -o "$tmp/none" -D 1
		says "-T $layer has no operations of kind fault"
		expect 2 breakdown -T $layer --all-faults -D 1
		says "--all-faults is about page faults, -T $layer has none"
	done
	[[ ! -e $tmp/none ]]
	expect 2 report -T syscall --op uring "$tmp/none"
	says "-T syscall has no operations of kind uring"
	expect 2 breakdown --op read,outside -D 1
	says "--op exit, core and outside are for recordings" "leave out --op"
	expect 2 record --op exit -o "$tmp/none" -D 1
	says "--op exit, core and outside are for recordings" "leave out --op"
	expect 2 breakdown --op getevents,aio -D 1
	says "--op getevents needs uring" "--op uring,getevents"
	expect 2 breakdown --op submit,getevents,read -D 1
	says "--op getevents needs uring"
	expect 2 breakdown --op submit,read -D 1
	says "--op submit needs uring or aio" "--op uring,aio,submit"
	for command in breakdown record "top -j"; do
		# shellcheck disable=SC2086 # words
		expect 2 $command --all-faults --op read -D 1
		says "--all-faults is about page faults, but --op leaves them out"
	done
	expect 2 breakdown -T ext4 --fs ext4 -D 1
	says "-T ext4 and --fs exclude one another"
	expect 2 breakdown --comm a-name-of-16-cha
	says "'a-name-of-16-cha': the kernel keeps 15" "--comm a-name-of-16-ch$"
}
