# SPDX-License-Identifier: GPL-2.0-only
# The layer rule: who may include, call and know what. See docs/ARCHITECTURE.md.

load lib

mapfile -t sources < <(ls src/*.c src/*/*.c | grep -v "^src/bpf/")
mapfile -t headers < <(ls src/*.h src/*/*.h | grep -v "^src/bpf/")
bpf=(src/bpf/*.h src/bpf/*.c)

# The processes of the tool: only these files fork, wait, execute and end one.
forking="src/run/child.c src/run/copy.c src/run/debuginfod.c src/run/deputy.c src/run/listener.c src/run/own.c \
src/run/program.c src/run/several.c src/run/stack_deputy.c"

but() { # FILES -- NAMES: the files without those
	local file names
	names=" ${*: -1} "
	for file in "${@:1:$#-1}"; do
		[[ $names == *" $file "* ]] || echo "$file"
	done
}

@test "event.h includes nothing" {
	none finds '#[ \t]*include' src/event.h
}

@test "cell.h includes event.h alone, and does no I/O" {
	[[ $(finds '#[ \t]*include' src/cell.h | sed 's/.*://') == '#include "event.h"' ]]
	none finds '(printf|fopen|open|read|write|malloc)[ ]*\(' src/cell.h
}

@test "only tracing code includes a skeleton" {
	[[ -n $(finds '\.skel\.h"' src/trace/plan.c) ]]
	mapfile -t others < <(printf '%s\n' "${sources[@]}" "${headers[@]}" | grep -vE '^src/(trace|funcs)/[a-z_]*\.c$')
	none finds '\.skel\.h' "${others[@]}"
	none finds 'trace(_functions)?\.skel\.h' src/funcs/*.c
}

@test "programs are known by their rows in the plan, not by pieces of their names" {
	none finds 'str(n?cmp|str|chr|rchr)[ ]*\([^)]*bpf_program__(section_)?name|find_program_by_name' src/trace/*.c
	# and every program has a row
	sed -n '/^struct trace_bpf {/,/^};/p' build/trace.skel.h |
		sed -n '/struct {/,/} progs;/s/.*struct bpf_program \*\(.*\);/\1/p' >"$BATS_TEST_TMPDIR/programs"
	(($(wc -l <"$BATS_TEST_TMPDIR/programs") > 50))
	rows=$(cc -E -P -Isrc -Ibuild -D_GNU_SOURCE src/trace/plan.c | tr -d " \n")
	while read -r program; do
		[[ $rows == *"progs.$program)"* ]] || { echo "$program"; false; }
	done <"$BATS_TEST_TMPDIR/programs"
}

# The folders that each may include from, beside its own and event.h and cell.h, which are for all.
may_include="
base
host base
trace host base bpf
capture host base
export host base capture
analyse host base capture
show host base capture analyse
top host base capture show
funcs host base bpf trace show
stacks host base funcs
serve host base show
run host base bpf trace stacks
common host base bpf trace capture analyse export show run stacks
mcp run
cmd host base bpf trace capture analyse export show top funcs stacks serve run common mcp
. host base run"

@test "no folder looks upwards, and includes name their folder" {
	awk -v table="$may_include" '
		function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }
		BEGIN {
			lines = split(table, line, "\n")
			for (i = 1; i <= lines; i++)
				for (j = split(line[i], word, " "); j; j--)
					allowed[word[1], word[j]] = 1
		}
		!/^#include "/ || $2 ~ /^(event|cell|terminfo|[a-z_]*\.skel)\.h$/ { next }
		{
			own = folder(substr(FILENAME, 5))
			there = (getline text <("src/" $2)) >= 0
			close("src/" $2)
			if (!there || !(folder($2) == own || (own, folder($2)) in allowed))
				print FILENAME ": " $2
		}' FS='"' "${sources[@]}" "${headers[@]}" >"$BATS_TEST_TMPDIR/upwards"
	none cat "$BATS_TEST_TMPDIR/upwards"
	mapfile -t others < <(printf '%s\n' "${sources[@]}" "${headers[@]}" | grep -vE '^src/(trace|funcs)/')
	none finds '#include <bpf/' "${others[@]}"
	# programs name their own folder nowhere, and nothing but the contract outside of it
	includes | awk '$1 ~ /^bpf\// && $2 !~ /^bpf\// && $2 !~ /^(event|cell)\.h$/' >"$BATS_TEST_TMPDIR/outside"
	none cat "$BATS_TEST_TMPDIR/outside"
	[[ $(includes | grep -c '^bpf/.* bpf/') -gt 50 ]]
}

@test "the map has each folder, below the folders from which it includes" {
	sed -n '/^## Folders/,/^## The model/s/^| \(`src[^|]*`\) |.*/\1/p' docs/ARCHITECTURE.md |
		awk '{ while (match($0, /`src\/[a-z]*/)) {
			print NR, substr($0, RSTART + 5, RLENGTH - 5)
			$0 = substr($0, RSTART + RLENGTH)
		} }' >"$BATS_TEST_TMPDIR/map" # rows "PLACE FOLDER"; src itself has no name
	diff <(awk 'NF == 2 { print $2 }' "$BATS_TEST_TMPDIR/map" | sort) <(cd src && ls -d -- */ | tr -d / | sort)
	awk 'NR == FNR { place[$2] = $1; next }
		$1 != "." { for (i = 2; i <= NF; i++) if (place[$i] >= place[$1]) print $1 ": " $i }
		' "$BATS_TEST_TMPDIR/map" - <<<"$may_include" >"$BATS_TEST_TMPDIR/upwards"
	none cat "$BATS_TEST_TMPDIR/upwards"
}

@test "a command's files begin with its name, and no command knows another" {
	for file in src/cmd/*_*.[ch]; do
		command=${file#src/cmd/}
		[[ -e src/cmd/${command%%_*}.c ]] || { echo "$file"; false; }
	done
	mapfile -t all < <(commands)
	((${#all[@]} > 10))
	for command in src/cmd/*.c; do
		command=${command#src/cmd/}
		for other in "${all[@]}"; do
			[[ ${command%%[_.]*} != "$other" ]] || continue
			none finds "#[ \\t]*include \"cmd/$other(_|\.)" "src/cmd/$command"
		done
	done
	mapfile -t others < <(printf '%s\n' "${sources[@]}" "${headers[@]}" | grep -v '^src/cmd/')
	none finds '#[ \t]*include "cmd/' "${others[@]}"
	none finds 'extern.*cmd_' src/cmd/*.c
	# and nothing that is no command knows of commands, but for the run, which is one's whole life, and what they share
	mapfile -t others < <(but "${sources[@]}" "${headers[@]}" \
		"src/main.c src/run/cmd.c src/run/cmd.h src/run/run.h $(echo src/cmd/*.c src/common/*.c)")
	none finds '#[ \t]*include "run/cmd\.h"' "${others[@]}"
}

@test "the run knows sources, not the session of I/O: only io.c and io_stacks.c do" {
	mapfile -t others < <(printf '%s\n' src/run/*.[ch] | grep -vE '^src/run/io(_stacks)?\.[ch]$')
	[[ -n $(finds '#[ \t]*include "trace/session\.h"' src/run/io.h) ]]
	none finds '#[ \t]*include "(trace/[^s]|trace/s[^y]|run/io\.h)' "${others[@]}" # syscalls.h is a table
	none finds '(^|[^_a-z])session_[a-z]' "${others[@]}"
}

# Rows "FILE INCLUDED", both below src. Programs do not name their own folder.
includes() {
	grep -HE '^#[ \t]*include "' "${sources[@]}" "${headers[@]}" "${bpf[@]}" |
		sed -E 's,^src/([^:]*):#[ \t]*include "(.*)",\1 \2,; s,^(bpf/[^ ]* )([^/]*)$,\1bpf/\2,; s,\.\./,,'
}

@test "the guard of a header is its path" {
	for header in "${headers[@]}" "${bpf[@]}"; do
		guard=${header#src/}
		guard=${guard#bpf/} # programs do not name their own folder
		guard=IOSTRATA_${guard//[\/.]/_}
		[[ $header != *.h || $header == */vmlinux.h ]] || grep -qx "#ifndef ${guard^^}" "$header" || echo "$header"
	done >"$BATS_TEST_TMPDIR/others"
	none cat "$BATS_TEST_TMPDIR/others"
}

@test "no headers include one another in a circle" {
	includes | grep -E '^[^ ]*\.h ' | tsort >"$BATS_TEST_TMPDIR/sorted" 2>"$BATS_TEST_TMPDIR/circles" || true
	none cat "$BATS_TEST_TMPDIR/circles"
	(($(wc -l <"$BATS_TEST_TMPDIR/sorted") > 50))
	grep -q '^bpf/wait\.bpf\.h$' "$BATS_TEST_TMPDIR/sorted"
}

@test "signals, descriptors to wait for and the child are the run's alone" {
	# but that who owns the terminal gives it back before a signal ends or stops the process, and
	# that commands which do not trace, and so have no run, can be interrupted
	mapfile -t others < <(but "${sources[@]}" \
		"src/run/run.c $forking src/main.c src/run/filters.c src/show/screen.c")
	none finds '(^|[^_a-z])(p?poll|p?select|epoll_p?wait2?|signal|sigaction|v?fork|kill)[ ]*\(' "${others[@]}"
	# manual.c becomes man(1); execve(2) in a text is no call
	mapfile -t others < <(but "${sources[@]}" "$forking src/cmd/manual.c")
	called='(^|[^_a-z])(wait|wait[34]|wait(p?)id|system|popen|posix_spawnp?|exec[lv][pe]*)[ ]*\(([^0-9]|$)'
	none finds "$called" "${others[@]}"
}

@test "the terminal is the screen's alone" {
	mapfile -t others < <(but "${sources[@]}" "${headers[@]}" "src/show/screen.c")
	[[ -n $(finds '(^|[^_a-z])tcsetattr[ ]*\(' src/show/screen.c) ]]
	none finds '(^|[^_a-z])(tc[gs]etattr|cfmakeraw|newterm|initscr)[ ]*\(|<(curses|term|termios)\.h>' "${others[@]}"
}

@test "only compat.bpf.h (arch_*.bpf.h for one architecture) and feature.c ask whether the kernel has something" {
	[[ -n $(finds 'bpf_core_[a-z_]*_exists' src/bpf/compat.bpf.h) ]]
	mapfile -t others < <(but "${bpf[@]}" "${sources[@]}" "${headers[@]}" \
		"src/bpf/compat.bpf.h src/trace/feature.c $(echo src/bpf/arch_*.bpf.h)")
	none finds 'bpf_core_[a-z_]*_exists|LINUX_KERNEL_VERSION|kconfig' "${others[@]}"
	# types with a flavour are known there alone, too
	none finds '___(pre_)?[0-9]' "${others[@]}"
}

@test "kernel versions decide nothing in user space" {
	none finds 'KERNEL_VERSION|uts\.release.*(sscanf|strto|strcmp|atoi)' "${sources[@]}"
}

@test "every difference between kernels says WHAT, WHEN and DROP" {
	what=$(grep -c '^ \* WHAT  ' src/bpf/compat.bpf.h)
	((what >= 5))
	[[ $(grep -c '^ \* WHEN  ' src/bpf/compat.bpf.h) == "$what" ]]
	[[ $(grep -c '^ \* DROP  ' src/bpf/compat.bpf.h) == "$what" ]]
	none awk '/^ \* WHEN  / && !/[0-9]+\.[0-9]+|WHEN  every version: / || /^ \* DROP  / && !/ kernel |DROP  never/' \
		src/bpf/compat.bpf.h
	# a type of another kernel outside of the pragma compiles, and its members are never looked for
	none awk '/attribute push/ { in_pragma = 1 } /attribute pop/ { in_pragma = 0 }
		/^struct [a-z_0-9]*___[a-z_0-9]* \{/ && !in_pragma' src/bpf/*.h
	# also of each function: it says so itself, or names the accessor that does
	awk '
		/^\/\*/ { said = "" }
		/^( \*|\/\*)/ { said = said $0 "\n"; next }
		/^static / {
			name = $0
			sub(/\(.*/, "", name)
			if ($0 ~ /\(\*const /) {
				name = $0
				sub(/.*\(\*const /, "", name)
				sub(/\).*/, "", name)
			}
			sub(/.*[ *]/, "", name)
			body = ""
			if (said ~ /WHAT  / && said ~ /WHEN  / && said ~ /DROP  /)
				told[name] = 1
			else if (match(said, /SAME  as [a-z_]+/))
				told[name] = substr(said, RSTART + 9, RLENGTH - 9) in told
			functions++
		}
		{ body = body $0 }
		/^}/ {
			if (body ~ /_exists|___|rdonly_cast|have_current_btf\(\)/ && name && !told[name])
				print name
			said = name = ""
		}
		END { if (functions < 20) print "functions: " functions }
	' src/bpf/compat.bpf.h >"$BATS_TEST_TMPDIR/untold"
	none cat "$BATS_TEST_TMPDIR/untold"
}

@test "exit() is called in main.c alone, _exit() where the run forks" {
	mapfile -t others < <(but "${sources[@]}" src/main.c)
	none finds '(^|[^_a-zA-Z])(exit|abort|err|errx)[ ]*\(' "${others[@]}"
	mapfile -t others < <(but "${sources[@]}" "$forking")
	none finds '(^|[^a-zA-Z])_exit[ ]*\(' "${others[@]}"
}

@test "commands print, the rest returns" {
	mapfile -t others < <(but "${sources[@]}" "src/main.c src/run/cmd.c src/run/run.c $(echo src/cmd/*.c)")
	none finds '(^|[^_a-zA-Z])(printf|perror|puts|putchar)[ ]*\(|(^|[^v])fprintf[ ]*\(std' "${others[@]}"
	none finds '(^|[^/])stdout' "${others[@]}"
	# messages of libbpf, if asked for, come from its own callback; the screen holds messages back while it is there
	mapfile -t others < <(but "${others[@]}" "src/trace/feature.c src/show/screen.c")
	none finds '(^|[^_a-zA-Z])(v?dprintf[ ]*\(|write[ ]*\(([12]|STD(OUT|ERR)_FILENO),)' "${others[@]}"
	none finds '(^|[^_a-zA-Z/])stderr' "${others[@]}"
}

@test "the kernel's types are those of vmlinux.h" {
	none finds '#[ \t]*include *<(linux|asm|sys|std)' "${bpf[@]}"
}

@test "programs of I/O stand in trace.bpf.c, and their maps in state.bpf.h" {
	mapfile -t others < <(but "${bpf[@]}" "src/bpf/state.bpf.h src/bpf/func.bpf.h")
	none finds 'SEC\("\.maps' "${others[@]}"
	mapfile -t others < <(but "${bpf[@]}" "src/bpf/trace.bpf.c src/bpf/func.bpf.c")
	none finds 'SEC\("\?' "${others[@]}"
}

@test "programs have no scratch per CPU" {
	# what a program keeps per CPU another may change under it; the mark and the rows may be
	[[ $(finds 'BPF_MAP_TYPE_PERCPU_ARRAY' "${bpf[@]}" | grep -vc 'vmlinux.h') -le 1 ]]
}

@test "an option's letter means the same in every command" {
	grep -hoE "\{ '[A-Za-z]', \"[a-z-]+\"" "${sources[@]}" | sort -u >"$BATS_TEST_TMPDIR/letters"
	(($(wc -l <"$BATS_TEST_TMPDIR/letters") >= 8))
	none bash -c "cut -d, -f1 '$BATS_TEST_TMPDIR/letters' | uniq -d"
}

# Before 6.4 the kernel may look for a fault's fix-up in the wrong one of two entries for the main
# function of a program that has others, finds no table there, and crashes (kernel commit
# 0108a4e9f358, "bpf: ensure main program has an extable"; not in 5.10). Functions end up in .text. The
# ones for bpf_find_vma() load through no pointer that could be bad, and neither does on_stack().
@test "programs call no BPF functions, except where the kernel allows it" {
	none bash -c "grep -nE '__noinline|\(noinline\)' ${bpf[*]} | grep -v '^src/bpf/function.bpf.h:'"
	for program in src/bpf/*.bpf.c; do
		readelf -sSW "build/$(basename "$program" .c).o" >"$BATS_TEST_TMPDIR/object" 2>/dev/null
		grep -q 'tp_btf/sched_process_exit' "$BATS_TEST_TMPDIR/object"
		text=$(sed -nE 's/^ *\[ *([0-9]+)\] \.text .*/\1/p' "$BATS_TEST_TMPDIR/object")
		none awk -v "text=$text" '$4 == "FUNC" && $7 == text &&
			$8 !~ /^(mapping_(look|note)|walk_(frame|note_mapping))$/' "$BATS_TEST_TMPDIR/object"
	done
}
