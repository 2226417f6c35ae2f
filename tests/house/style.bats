# SPDX-License-Identifier: GPL-2.0-only
# How the sources look. See CONTRIBUTING.md.
# shellcheck disable=SC2016 # awk's and grep's own dollars and backquotes

load lib

# Lines in the body of each function: "LINES FILE:LINE".
function_lengths() {
	awk '/^\{$/ { begin = FNR } /^\}/ && begin { print FNR - begin - 1, FILENAME ":" begin; begin = 0 }' "$@" |
		sort -n
}

@test "functions are short: median 15 lines, p90 45, longest 90" {
	mapfile -t files < <(c_files)
	function_lengths "${files[@]}" >"$BATS_TEST_TMPDIR/lengths"
	n=$(wc -l <"$BATS_TEST_TMPDIR/lengths")
	((n > 100))
	median=$(sed -n "$(((n + 1) / 2))s/ .*//p" "$BATS_TEST_TMPDIR/lengths")
	p90=$(sed -n "$((n * 9 / 10))s/ .*//p" "$BATS_TEST_TMPDIR/lengths")
	echo "median $median, p90 $p90; longest:"
	tail -n 3 "$BATS_TEST_TMPDIR/lengths"
	((median <= 15 && p90 <= 45))
	none awk '$1 > 90' "$BATS_TEST_TMPDIR/lengths"
}

long_lines() { # COLUMNS TAB FILE
	expand -t "$2" "$3" | awk -v max="$1" -v file="$3" 'length > max { print file ":" FNR }'
}

@test "lines are short: C 100 columns, scripts 120" {
	c_files | while read -r file; do long_lines 100 8 "$file"; done >"$BATS_TEST_TMPDIR/long"
	scripts | while read -r file; do long_lines 120 4 "$file"; done >>"$BATS_TEST_TMPDIR/long"
	none cat "$BATS_TEST_TMPDIR/long"
}

@test "no blanks at the ends of lines, a newline at the ends of files" {
	mapfile -t files < <(files | grep -vE '^LICENSE')
	none grep -nE '[ 	]+$' "${files[@]}"
	for file in "${files[@]}"; do
		[[ ! -s $file || -z $(tail -c 1 "$file") ]] || { echo "$file"; false; }
	done
}

@test "C is indented by tabs" {
	mapfile -t files < <(c_files)
	none grep -nE '^ {4,}[^ *]' "${files[@]}"
}

@test "every source says its licence" {
	{ c_files; scripts; echo Makefile; } | while read -r file; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-only' || echo "$file"
	done >"$BATS_TEST_TMPDIR/without"
	none cat "$BATS_TEST_TMPDIR/without"
}

@test "the records' headers, and only they, may be used under the BSD licence, too" {
	mapfile -t files < <(c_files)
	[[ $(grep -lE '^/\* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause \*/$' "${files[@]}") == \
		$'src/cell.h\nsrc/event.h' ]]
}

@test "every file of src says what it is" {
	for file in src/*.h src/{base,trace,show}/*.h src/bpf/*.[ch] src/cmd/*.c; do
		sed -n '2,4p' "$file" | grep -qE '^(/\*| \*) ?'"${file##*/} - |^/\* ${file##*/} - " ||
			{ echo "$file"; false; }
	done
}

@test "nothing is left to be done" {
	mapfile -t files < <(files | grep -vE '^(LICENSE|tests/house/)')
	none grep -nwE 'TODO|FIXME|XXX|HACK' "${files[@]}"
}

@test "nothing tells where it was made" {
	mapfile -t files < <(files | grep -vE '^LICENSE')
	none grep -nE '(^|[^A-Za-z0-9_.~])/(wor[k]|hom[e]|User[s])/' "${files[@]}"
	# addresses of archives and registries come from the machine
	none grep -nEi '(de[b]|securit[y]|archiv[e]|snapsho[t])\.(debian|ubuntu)\.|pyp[i]\.org|crate[s]\.io|npmj[s]\.' \
		"${files[@]}"
}

@test "the Makefile is the only build file, of at most 200 lines" {
	(($(wc -l <Makefile) <= 200))
	files >"$BATS_TEST_TMPDIR/files"
	none grep -E '(^|/)(CMakeLists.txt|meson.build|configure|.*\.mk|GNUmakefile)$|/Makefile$' \
		"$BATS_TEST_TMPDIR/files"
}

@test "every kernel that is tested is in the README" {
	while read -r name _; do
		[[ -z $name || $name == \#* ]] || grep -qE "^\| *$name( |\|)" README.md || { echo "$name"; false; }
	done <tests/vm/kernels.txt
}

@test "every command and file that the documents name is there" {
	grep -ohE '`(src|tests|docs|man|\.ci)/[A-Za-z0-9_./*-]*`' README.md CONTRIBUTING.md docs/ARCHITECTURE.md |
		tr -d '`' | sort -u >"$BATS_TEST_TMPDIR/names"
	(($(wc -l <"$BATS_TEST_TMPDIR/names") >= 10))
	while read -r name; do
		compgen -G "$name" >/dev/null || { echo "$name"; false; }
	done <"$BATS_TEST_TMPDIR/names"
	grep -ohE '`make [a-z]+' README.md CONTRIBUTING.md | cut -d' ' -f2 | sort -u | while read -r target; do
		grep -qE "^$target:" Makefile || { echo "make $target"; false; }
	done
}

@test "scripts are well-formed" {
	mapfile -t files < <(scripts)
	for file in "${files[@]}"; do
		case $(head -n 1 "$file") in
		*python3*) python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" ;;
		*bash*) bash -n "$file" ;;
		esac
	done
}

@test "the manual page is well-formed" {
	scdoc <man/iostrata.1.scd >/dev/null
	[[ -s build/iostrata.1 ]]
	none grep -n '@[A-Z]*@' build/iostrata.1
}

@test "vmlinux.h is true of the running kernel" {
	tests/vmlinux-check
}

@test "no source file is longer than 400 lines" {
	mapfile -t files < <(c_files | grep '^src/' | grep -v vmlinux.h)
	((${#files[@]} > 60))
	none awk 'FNR == 401 { print FILENAME }' "${files[@]}"
}

@test "make names the architectures that there are tables for" {
	run -2 make -n ARCH=ppc64le
	[[ $output == *"for x86_64, arm64, riscv64 and s390x, not for ppc64le"* && ${#lines[@]} -eq 1 ]]
}

@test "each mutant fits the sources" {
	tests/mutants --check
}

@test "each mutant that is listed as equivalent is one" {
	tests/mutate --list -n 0 >"$BATS_TEST_TMPDIR/mutants"
	(($(wc -l <"$BATS_TEST_TMPDIR/mutants") > 10000))
	cut -f 1 tests/mutate-equivalent | sort -u >"$BATS_TEST_TMPDIR/listed"
	none grep -vxFf "$BATS_TEST_TMPDIR/mutants" "$BATS_TEST_TMPDIR/listed"
	none grep -v '	.' tests/mutate-equivalent
}
