# SPDX-License-Identifier: GPL-2.0-only
# How the sources look. See CONTRIBUTING.md.
# shellcheck disable=SC2016 # awk's and grep's own dollars and backquotes

load lib

@test "the check for forbidden words fails if its files are missing" {
	none grep -n x /dev/null
	none finds x /dev/null
	! none grep -n x "$BATS_TEST_TMPDIR/absent" || false
	! none finds x "$BATS_TEST_TMPDIR/absent" || false
	! none finds x || false
}

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

# Functions with too many parameters, in FILES: "FILE:LINE: NAME".
many_parameters() {
	python3 - "$@" <<-'PY'
		import re, sys
		CALLED_BY_LIBRARY = {"debug_link_find"}
		DEFINED = re.compile(r"^[a-z][\w *]*?\b(\w+)\(((?:[^(){};]|\([^()]*\))*)\)\s*\{", re.M)
		for name in sys.argv[1:]:
		    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()),
		                  open(name, encoding="utf-8").read(), flags=re.S)
		    for m in DEFINED.finditer(text):
		        parameters = re.split(r",(?![^()]*\))", m.group(2))
		        bools = sum(bool(re.match(r"\s*(const )?bool \w+\s*$", p)) for p in parameters)
		        many = len(parameters) > 7 and m.group(1) not in CALLED_BY_LIBRARY
		        if many or bools > 1:
		            print(f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m.group(1)}")
	PY
}

@test "functions of user space have seven parameters at most, and one bool" {
	mapfile -t files < <(c_files | grep '^src/' | grep -v '^src/bpf/')
	none many_parameters "${files[@]}"
	printf '%s\n' 'static int a(int a, int b, int c, int d, int e, int f,' '	void (*g)(int, int), int h)' '{' '}' \
		'int b(bool a, bool b)' '{' '}' 'int c(bool a, int b, bool *c)' '{' '}' >"$BATS_TEST_TMPDIR/a.c"
	[[ $(many_parameters "$BATS_TEST_TMPDIR/a.c" | sed 's/.*://' | tr -d '\n') == ' a b' ]]
}

long_lines() { # COLUMNS TAB, files' names on stdin
	xargs -d '\n' awk -v max="$1" -v tab="$2" '{
		while ((at = index($0, "\t")))
			$0 = substr($0, 1, at - 1) sprintf("%*s", tab - (at - 1) % tab, "") substr($0, at + 1)
	}
	length > max { print FILENAME ":" FNR }'
}

@test "lines are short: C 100 columns, scripts 120" {
	c_files | long_lines 100 8 >"$BATS_TEST_TMPDIR/long"
	scripts | long_lines 120 4 >>"$BATS_TEST_TMPDIR/long"
	none cat "$BATS_TEST_TMPDIR/long"
}

@test "no blanks at the ends of lines, a newline at the ends of files" {
	mapfile -t files < <(files | grep -vE '^LICENSE')
	none grep -nE '[ 	]+$' "${files[@]}"
	[[ -z $(tail -qc 1 "${files[@]}") ]] || # which one?
		for file in "${files[@]}"; do
			[[ -z $(tail -c 1 "$file") ]] || { echo "$file"; false; }
		done
}

@test "C is formatted by clang-format" {
	mapfile -t files < <(c_files)
	none clang-format --dry-run "${files[@]}"
}

@test "a file of more than 1000 lines says why it is one" {
	for file in $(c_files | grep '^src/'); do
		(($(wc -l <"$file") <= 1000)) || head -n 12 "$file" | grep -qi 'one file' || { echo "$file"; false; }
	done
}

@test "every source says its licence" {
	{ c_files; scripts; files | grep -E '\.(js|mjs|css|ya?ml|service|fish|awk)$|^(Makefile|Containerfile)$'; } |
		sort -u | while read -r file; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-only' || echo "$file"
	done >"$BATS_TEST_TMPDIR/without"
	none cat "$BATS_TEST_TMPDIR/without"
}

@test "only the records' headers are also under the BSD licence" {
	mapfile -t files < <(c_files)
	[[ $(grep -lE '^/\* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause \*/$' "${files[@]}") == \
		$'src/cell.h\nsrc/event.h' ]]
}

@test "a struct, enum or union has no typedef" {
	mapfile -t files < <(c_files | grep -vE '(^|/)vmlinux\.h$')
	[[ -n $(finds '^[ \t]*typedef ' "${files[@]}") ]] # of functions and vectors
	none finds '^[ \t]*typedef (struct|enum|union)[^(]*$' "${files[@]}"
}

@test "every file of src says what it is" {
	for file in src/*.[ch] src/*/*.[ch]; do
		[[ $file != *.c || ! -e ${file%.c}.h ]] || continue # its header says it
		sed -n '2,4p' "$file" | grep -qE '^(/\*| \*) ?'"${file##*/} - |^/\* ${file##*/} - " ||
			{ echo "$file"; false; }
	done
}

@test "no test is always skipped" {
	mapfile -t files < <(files | grep -E '\.(bats|py|c)$' | grep '^tests/')
	none grep -nP '^\tskip\b' "${files[@]}" # in no condition
	none awk '/^def / { first = 1; next } !NF || /"""/ { next }
		first && /^    raise Skip/ { print FILENAME ":" FNR ": " $0 } { first = 0 }' "${files[@]}"
	none grep -nP '^\s*(//|/\*) *cmocka_unit_test\(' "${files[@]}"
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

@test "the Makefile is the only build file" {
	files >"$BATS_TEST_TMPDIR/files"
	none grep -E '(^|/)(CMakeLists.txt|meson.build|configure|.*\.mk|GNUmakefile)$|/Makefile$' \
		"$BATS_TEST_TMPDIR/files"
}

@test "every kernel that is tested is in the README" {
	while read -r name _; do
		[[ -z $name || $name == \#* ]] || grep -qE "^\| *$name( |\|)" README.md || { echo "$name"; false; }
	done <tests/vm/kernels.txt
}

@test "measured tables name their commit" {
	grep -qE 'The figures are from commit [0-9a-f]{7},' README.md
	[[ -e .git ]] || skip "not in a repository"
	[[ $(git -c safe.directory='*' rev-parse --is-shallow-repository) == false ]] || skip "a shallow clone"
	for commit in $(grep -ohE ' (of|from) commit [0-9a-f]{7}' README.md docs/*.md | cut -d' ' -f4); do
		git -c safe.directory='*' merge-base --is-ancestor "$commit" HEAD
	done
}

# The README's costs on Linux 6.1, as far as the budget has them; since then, figures may be 5 % better or worse.
@test "the README's costs are what is reached" {
	python3 - <<-'END'
		import json, re
		of = {"read": "pread", "write": "write", "open, close": "openclose", "append, fsync": "fsync",
		      "direct read": "dread", "getppid": "getppid"}
		reached = {(b["row"], b["workload"]): b["reached"] for b in json.load(open("tests/bench/budget.json"))
		           if b.get("kernel") == "6.1" and "workload" in b}
		rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in open("README.md")]
		at = next(i for i, row in enumerate(rows) if "direct read" in row)
		head = rows[at]
		assert all(cell.strip("-:") == "" for cell in rows[at + 1]), "no table"
		shown = {(row[0].removeprefix("iostrata "), of[what]): int(figure.replace(",", ""))
		         for row in rows if row[:1] and row[0].startswith("iostrata ") and len(row) == len(head)
		         for what, figure in zip(head[1:], row[1:])}
		both = shown.keys() & reached.keys()
		wrong = [(*key, shown[key], reached[key]) for key in both
		         if abs(shown[key] - reached[key]) > max(20, reached[key] / 20)]
		assert len(both) >= 10 and not wrong, (len(both), wrong)
	END
}

@test "each command and file named in documents exists" {
	grep -ohE '`(src|tests|docs|man|\.ci)/[A-Za-z0-9_./*-]*`' README.md CONTRIBUTING.md docs/ARCHITECTURE.md |
		tr -d '`' | sort -u >"$BATS_TEST_TMPDIR/names"
	(($(wc -l <"$BATS_TEST_TMPDIR/names") >= 10))
	while read -r name; do
		compgen -G "$name" >/dev/null || { echo "$name"; false; }
	done <"$BATS_TEST_TMPDIR/names"
	grep -ohE '`make [a-z]+' README.md CONTRIBUTING.md docs/*.md docs/design/*.md |
		cut -d' ' -f2 | sort -u | while read -r target; do
		grep -qE "^([a-z]+ )*$target( [a-z]+)*:" Makefile || { echo "make $target"; false; }
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

@test "the manual pages are well-formed" {
	pages=(man/*.scd)
	((${#pages[@]} >= 9))
	for page in "${pages[@]}"; do
		built=${page%.scd}
		[[ -s build/$built ]]
		none grep -nE '^@|@$|@VERSION@' "build/$built"
		for heading in NAME SYNOPSIS DESCRIPTION EXAMPLES 'SEE ALSO'; do
			grep -qx "# $heading" "$page" || { echo "$page has no $heading"; false; }
		done
	done
	for command in $(commands); do
		[[ -f man/iostrata-$command.1.scd ]] || { echo "there is no page of $command"; false; }
	done
	# a page that another names is there
	grep -ohE '\*iostrata[a-z-]*\*\([0-9]\)' "${pages[@]}" | tr -d '*)' | tr '(' '.' |
		sort -u >"$BATS_TEST_TMPDIR/named"
	(($(wc -l <"$BATS_TEST_TMPDIR/named") == ${#pages[@]}))
	while read -r name; do
		[[ -f man/$name.scd ]] || { echo "$name"; false; }
	done <"$BATS_TEST_TMPDIR/named"
}

# A paragraph stands between code and headings, or is the text of an entry or item.
@test "paragraphs of the manual are short" {
	none awk 'FNR == 1 { code = n = 0 }
		/^```/ { code = !code; n = 0; next }
		code { next }
		length > 80 && !/^@/ { print FILENAME ":" FNR ": more than 80 columns" }
		!NF || /^[#@]/ { n = 0; next }
		/^- / || (/^\t/ && !entry) { n = 0 }
		{ entry = /^\t/ }
		++n == 7 { print FILENAME ":" FNR ": more than 6 lines" }' man/*.scd
}

@test "vmlinux.h fits the running kernel" {
	tests/vmlinux-check
}

@test "make names the architectures with tables" {
	run -2 env -u MAKEFLAGS -u MAKELEVEL make -n ARCH=ppc64le
	[[ $output == *"for x86_64 and arm64, not for ppc64le"* && ${#lines[@]} -eq 1 ]]
}

@test "each mutant fits the sources" {
	tests/mutants --check
}

@test "a mutant's edit finds its place by words, in each layout of the code" {
	PYTHONPATH=tests python3 -B - <<-'PY'
		from pathlib import Path
		from mutate_edits import *
		SOURCES = (r"""
		/* f(a) { } */
		enum { FIRST = 1, SECOND = 2 /* = 3 */ };
		#define LIST(X) X(one, A) \
			X(two, A)
		static const int table[] = { [1] = A, [2] = B };
		SEC("x") int BPF_PROG(on_x, int a) { if (unlikely(a || b(a, c))) return 1; return 0; }
		static inline int f(struct g *s, int a)
		{
			int r = a < 2 ? s->x : 0;

			if (!a && CONF(on))
				call(s, a + 1);
			switch (a) {
			case A:
				s->x = 1;
				break;
			case B:
				s->x[2] += s->y; // s->z
			}
			LL_FOREACH(s, t) {
				call(t, (struct g){ 1, 2 });
			}
		out:
			return r;
		}
		""", """enum {\nFIRST=1,\nSECOND=2};\n#define LIST(X) X(one,A) X(two,\\\nA)\nconst int table[]={[1]=A,
		[2]=B};SEC("x")int BPF_PROG(on_x,int a){if(unlikely(a||b(a,c)))return 1;return 0;}int f(struct g*s,int a){int
		r=a<2?s->x:0;if(!a&&CONF(on))call(s,a+1);switch(a){case A:s->x=1;break;case B:s->x[2]+=s->y;}LL_FOREACH(s,t)
		{call(t,(struct g){1,2});}out:return r;}""")

		def changed(edit, text):
		    try:
		        new = apply({Path("a.c"): text, Path("b.c"): "int other(int f) { return f; }"}, [edit])
		    except Misfit:
		        return None
		    return " ".join(t.text for t in scan(new[Path("a.c")])).split()

		def differs(edit):
		    """Words that are there instead of others."""
		    found = []
		    for text in SOURCES:
		        was, now = " ".join(t.text for t in scan(text)).split(), changed(edit, text)
		        if now is None:
		            return None
		        while was and now and was[0] == now[0]:
		            was, now = was[1:], now[1:]
		        while was and now and was[-1] == now[-1]:
		            was, now = was[:-1], now[:-1]
		        found.append(f"{' '.join(was)} -> {' '.join(now)}")
		    assert found[0] == found[1], found
		    return found[0]

		for edit, expected in (
		        (constant("SECOND", "9"), "2 -> 9"), (constant("f", "9"), None), (returns("table", "0"), None),
		        (returns("on_x", "2"), "if ( unlikely ( a || b ( a , c ) ) ) return 1 ; return 0 -> return 2"),
		        (word("table", "A", "C"), "A -> C"), (word("table", "A", "C", "2"), None),
		        (drop("f", "x", "A"), "s -> x = 1 -> "), (drop("f", "y"), "s -> x [ 2 ] += s -> y -> "),
		        (drop("f", "z"), None), (drop("f", "call", "t"), "call ( t , ( struct g ) { 1 , 2 } ) -> "),
		        (sets("f", "x", "0", "y"), "s -> y -> 0"), (sets("f", "r", "3"), "a < 2 ? s -> x : 0 -> 3"),
		        (argument("f", "call", 2, "0", "a"), "a + 1 -> 0"), (argument("f", "call", 3, "0"), None),
		        (never("f", "on"), "CONF ( on ) -> 0"), (always("f", "!"), "! a -> 1"), (never("f", "y"), None),
		        (never("f", "2"), "a < 2 -> 0"), (always("on_x", "c"), "b ( a , c ) -> 1"),
		        (negate("on_x", "b"), "b ( a , c -> ! ( b ( a , c )"),
		        (swap("f", "x", "y", "y"), "x [ 2 ] += s -> y -> y [ 2 ] += s -> x"),
		        (drop("nosuch", "x"), None)):
		    assert differs(edit) == expected, (edit.name, edit.says, differs(edit))
		two = {Path("a.c"): SOURCES[0], Path("b.c"): "int f(int a) { return 2; }"}
		assert len(apply(two, [drop("f", "y")])) == 1
		try:
		    apply(two, [returns("f", "0")])
		    raise SystemExit("one of two")
		except Misfit:
		    pass
	PY
}

@test "complaints of a guest's kernel are seen" {
	eval "$(grep "^complaints='.*'$" tests/vm/boot)"
	quiet='Spectre V2 : Spectre v2 / SpectreRSB mitigation: Filling RSB on context switch
NX (Execute Disable) protection: active
EXT4-fs (loop0): mounted filesystem with ordered data mode. Quota mode: none.
rcu: Hierarchical RCU implementation.'
	none grep -E "$complaints" <<<"$quiet"
	while read -r line; do
		grep -qE "$complaints" <<<"$line" || { echo "$line"; false; }
	done <<-'LINES'
		general protection fault, probably for non-canonical address 0xdead000000000108: 0000 [#1] SMP NOPTI
		Oops: general protection fault, maybe for address 0xffff88800: 0000 [#1] PREEMPT SMP
		general protection fault: 0000 [#1] SMP PTI
		invalid opcode: 0000 [#1] PREEMPT_RT SMP
		int3: 0000 [#2] SMP
		Internal error: synchronous external abort: 0000000096000010 [#1] SMP
		Unable to handle kernel paging request at virtual address dead000000000108
		kernel BUG at fs/ext4/inode.c:2721!
		BUG: kernel NULL pointer dereference, address: 0000000000000010
		watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [iostrata:312]
		WARNING: CPU: 1 PID: 312 at kernel/trace/bpf_trace.c:2301 perf_event_attach_bpf_prog+0x1
		UBSAN: array-index-out-of-bounds in block/blk-mq.c:17:3
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
		INFO: task fio:312 blocked for more than 120 seconds.
	LINES
}

program() { # FILE: Python that loads it as a module
	cat <<-PY
		import importlib.machinery, importlib.util, sys
		sys.dont_write_bytecode = True
		loader = importlib.machinery.SourceFileLoader("program", "$1")
		program = importlib.util.module_from_spec(importlib.util.spec_from_loader("program", loader))
		sys.modules["program"] = program
		loader.exec_module(program)
	PY
}

@test "a guest's suite is tried again for wrong times, in make test for any failure, never for a crash" {
	{ program tests/vm/matrix; cat; } <<-'PY' | python3 -
		def again(everything, name, figures="x=1"):
		    return program.worth_another_try(program.Check("FAIL", name, figures), everything)
		crashed = "why=Broken: iostrata breakdown -j: exit -11: tracing at tool.py:113"
		for name in ("A6.tag.seven-readers", "A7.ext4-on-loop.direct", "A3.loop.reads.A3.mean", "A4.fio.clat"):
		    assert again(False, name) and again(True, name) and not again(True, name, crashed), name
		for name in ("A1.counts.ext4.all", "A8.overload.ring", "A4.fio.count", "churn.forks.rows", "A9.storm.counts"):
		    assert not again(False, name) and again(True, name) and not again(True, name, crashed), name
		for name in ("kernel.messages", "A4.sum.every-row"):
		    assert not again(False, name) and not again(True, name), name
		for text in ("funcs -T vfs: exit 1: error", "iostrata --by pid 0.3: exit -11: tracing", "export: exit -6: ",
		        "iostrata --by pid: exit 1 before 'tracing': b''", "iostrata 0.3: exit 0 before it was asked to",
		        "iostrata doctor --probes: exit -11: ", "report -j --by file /tmp/x.ios: exit -11: "):
		    assert not again(True, "aio.all.all", f"why=Broken: {text} at tool.py:1"), text
		assert again(True, "A1.ways.all", "why=not done after 200 s, at tool.py:1")
	PY
}

@test "a check missing in a guest's second try has failed, unless the first try broke off there" {
	{ program tests/vm/matrix; cat; } <<-'PY' | python3 -
		from program import Check, Kernel
		why, figures = "why=Broken: x at tool.py:1", "read=1/4096/0!=2/8192/0"
		def after(first, *second, name="aio.all.all", ended=True):
		    def run_guest(kernel):
		        kernel.checks, kernel.ended = [Check(*c) for c in second], ended
		    program.run_guest = run_guest
		    kernel = Kernel("6.1", checks=[Check("FAIL", name, first)])
		    program.measure_again(kernel, True)
		    return [c.status for c in kernel.checks if c.status != "ok" or c.name == name]
		good = ("ok", "aio.all.counts", "x=1")
		assert after(why, good) == ["ok"]
		assert after(why, good, ended=False) == ["FAIL"]
		assert after(why, ("skip", "aio.all.all", "why=y")) == ["FAIL"]
		assert after(why, ("skip", "aio.all.all", "why=y"), name="aio.all.direct.all") == ["FAIL"]
		assert after(why, ("FAIL", "aio.all.all", why)) == ["FAIL"]
		assert after(figures, good) == after(figures, ("skip", "aio.all.all", "why=y")) == ["FAIL"]
		assert after(figures, ("ok", "aio.all.all", "x=1")) == ["ok"]
		assert after(figures, ("FAIL", "aio.all.direct.all", why)) == ["FAIL", "FAIL"]
	PY
}

@test "a killed part of make test is a failure, and the other parts count" {
	mkdir "$BATS_TEST_TMPDIR/tests"
	cp tests/all "$BATS_TEST_TMPDIR/tests"
	cat >"$BATS_TEST_TMPDIR/make" <<-'SH'
		#!/bin/bash
		[[ $2 != killed ]] || kill -9 "$(awk '{ print $4 }' "/proc/$PPID/stat")"
		echo "2 passed, 0 failed, 1 skipped"
	SH
	chmod +x "$BATS_TEST_TMPDIR/make"
	MAKE=$BATS_TEST_TMPDIR/make run -1 "$BATS_TEST_TMPDIR/tests/all" good + killed never + fine
	[[ ${lines[-1]} == "4 passed, 2 failed, 2 skipped" || ${lines[-1]} == "6 passed, 2 failed, 3 skipped" ]]
	[[ $(grep -c '1 failed, . skipped, broke off: exit status none$' <<<"$output") -eq 2 ]]
	[[ ${lines[-2]} =~ ^[0-9]+' s of wall time, '[0-9]+' s of CPU; slowest: '[a-z]+' '[0-9]+' s, '.*', '.*' s'$ ]]
}

@test "make test: parts which wait for an idle CPU wait no longer when the rest has ended" {
	((EUID == 0)) || skip "only root may change how a process is scheduled"
	mkdir "$BATS_TEST_TMPDIR/tests"
	cp tests/all "$BATS_TEST_TMPDIR/tests"
	cat >"$BATS_TEST_TMPDIR/make" <<-'SH'
		#!/bin/bash
		[[ $2 != waits ]] || for ((i = 0; i < 600; i++)); do
			! chrt -p $$ | grep SCHED_OTHER || break
			sleep 0.1
		done
		echo "1 passed, 0 failed, 0 skipped"
	SH
	chmod +x "$BATS_TEST_TMPDIR/make"
	MAKE=$BATS_TEST_TMPDIR/make run -0 "$BATS_TEST_TMPDIR/tests/all" waits '&' fine
	[[ $output == *SCHED_OTHER* && ${lines[-1]} == "2 passed, 0 failed, 0 skipped" ]]
}

@test "guests: a suite without a line of suites.txt, and a line without a suite, are refused" {
	{ program tests/vm/matrix; cat; } <<-'PY' | python3 -
		import subprocess
		listed = subprocess.run(["tests/gate/run", "--list"], stdout=subprocess.PIPE, text=True).stdout.split()
		def refused(listed):
		    try:
		        return not program.part_of("core", listed)
		    except ValueError as why:
		        return str(why)
		assert not refused(listed)
		assert refused(listed + ["new.suite"]) == "no line of suites.txt has the suite 'new.suite'"
		assert "no suite matches" in refused(["shared-run"])
	PY
}

@test "guests: one that hangs is ended, one that only takes long is not" {
	{ program tests/vm/matrix; cat; } <<-'PY' | python3 -
		import os, subprocess, tempfile, threading, time
		def status(script, quiet_s, load):
		    program.QUIET_S, program.patience = quiet_s, lambda: load
		    with tempfile.TemporaryFile("w+") as err:
		        guest = subprocess.Popen(["sh", "-c", script], stderr=err)
		        program.end_if_quiet(guest, [time.monotonic()], err)
		        guest.wait()
		        err.seek(0)
		        return guest.returncode, err.read()
		code, said = status("exec sleep 30", 1, 1)
		assert code == -15 and said.startswith("boot: the guest hangs: "), (code, said)
		assert status("sleep 3", 1, 30) == (0, "")
		assert status("for i in 1 2 3 4 5 6; do echo x >&2; sleep 1; done", 4, 1)[0] == 0
	PY
}

@test "a pattern that no suite matches is refused at once" {
	for pattern in nosuch '('; do
		run -2 tests/gate/run --only "$pattern"
		run -2 timeout 300 tests/vm/matrix --only "$pattern" 6.12
		run -2 timeout 300 tests/vm/matrix 6.1=^bare "6.12=$pattern"
		[[ $output == *"'$pattern'"* ]]
	done
	[[ $(tests/gate/run --list --only '^bare') == bare ]]
}

@test "the bench's budget judges only measured figures" {
	run -2 tests/bench/bench --no-guests nosuch
	PYTHONPATH=tests/bench python3 -B - <<-'PY'
		import json, pathlib, budget
		file = pathlib.Path("tests/bench/budget.json")
		entries = json.loads(file.read_text(encoding="utf-8"))
		def judged(**result):
		    return len(budget.check(file, {"kernels": {}} | result, False))
		native = sum("kernel" not in e for e in entries)
		guest = sum(e.get("kernel") == "6.1" for e in entries)
		assert native and guest and judged() == 0 and judged(native={"rows": {}}) == native
		assert judged(kernels={"6.1": {"rows": {}}}) == guest
		assert judged(kernels={"6.1": {"rows": {}}}, native={"rows": {}}) == guest + native
	PY
}

@test "scripts have --help, and refuse unknown arguments before they begin" {
	for refused in 'mutate -n -1 --list' 'mutate --again nosuch' 'mutate src/nosuch.c' 'mutants --check nosuch' \
			'mutants --check -K nosuch' 'demo nosuch' 'screens nosuch' tap; do
		# shellcheck disable=SC2086 # a program and its arguments
		run -2 timeout 300 tests/$refused
		[[ ${lines[-1]} == "${refused%% *}: "* ]]
	done
	for name in demo screens; do
		run -0 timeout 300 tests/$name --help
		[[ $output == "$name"* ]] && ((${#lines[@]} < 6))
	done
}

@test "a test run that broke off does not judge a mutant" {
	{ program tests/mutants; cat; } <<-'PY' | PYTHONPATH=tests python3 -
		def said(output, status):
		    try:
		        return len(program.failed_lines(output, status))
		    except program.Unsound:
		        return None
		ok, bad = "ok    a\n", "FAIL  b  x=1\n"
		assert said(ok + "1 passed, 0 failed, 0 skipped\n", 0) == 0
		assert said(ok + bad + "1 passed, 1 failed, 0 skipped\n", 2) == 1
		for output, status in ((ok, 0), (ok, 1), ("", 0), (ok + bad, 1), (bad, 99),
		        ("0 passed, 0 failed, 3 skipped\n", 0), (ok + "1 passed, 0 failed, 0 skipped\n", 99),
		        (ok + "1 passed, 1 failed, 0 skipped\n", 1), (bad + "0 passed, 1 failed, 0 skipped\n", 0),
		        ("1 passed, 0 failed, 0 skipped\n" + ok, 0)):
		    assert said(output, status) is None, (output, status)
	PY
}

@test "a sample with hardly any tried mutant is a failure" {
	{ program tests/mutate; cat; } <<-'PY' | PYTHONPATH=tests python3 -
		def status(**count):
		    return program.summary({"bpf": program.collections.Counter(count)})
		assert not any((status(noticed=7, survived=1), status(noticed=4, other=4), status(noticed=4, survived=4)))
		assert all((status(noticed=3, other=5), status(noticed=3, survived=5), status(other=8), status()))
	PY
}

@test "the limit for a mutant's test is CPU time, not elapsed time" {
	{ program tests/mutate_build.py; cat; } <<-'PY' | PYTHONPATH=tests python3 -
		def said(script):
		    return program.test_fails(["sh", "-c", script], program.Path("/"), 1)
		assert said("sleep 2") is None
		assert said("while :; do :; done") == "sh did not end"
		assert said("exit 3") == "sh: exit 3"
	PY
}

@test "mutants are made from each kind of source" {
	tests/mutate --list -n 0 >"$BATS_TEST_TMPDIR/mutants"
	(($(wc -l <"$BATS_TEST_TMPDIR/mutants") > 10000))
}

# Each is a file, or a file and the name of a test in it; of the gate, a suite.
@test "each test named by a promise exists" {
	tests/gate/run --list >"$BATS_TEST_TMPDIR/suites"
	# an item may have several lines
	awk '/^- / { on = 1 } !NF { on = 0 } on { printf "%s%s", /^- / ? "\n" : " ", $0 } END { print "" }' \
		docs/PROMISES.md | sed 's/  */ /g' | grep -oE '`tests/[^`]+`' | tr -d '`' >"$BATS_TEST_TMPDIR/named"
	(($(wc -l <"$BATS_TEST_TMPDIR/named") > 20))
	while read -r file name; do
		case $file in
		tests/gate) [[ -n $name ]] && grep -qxF -- "$name" "$BATS_TEST_TMPDIR/suites" ;;
		*.bats) grep -qF -- "@test \"$name\" {" "$file" ;;
		*.c) grep -qF -- "cmocka_unit_test($name)" "$file" ;;
		*) [[ -z $name && -f $file ]] ;;
		esac || { echo "$file $name"; false; }
	done <"$BATS_TEST_TMPDIR/named"
	# none is without
	none awk '/^## / { if (title && !held) print title; title = $0; held = 0 }
		/^- `tests\// { held = 1 } END { if (!held) print title }' docs/PROMISES.md
}
