# SPDX-License-Identifier: GPL-2.0-only
# The recipes of docs/ADD.md that are marked "tried", followed in one copy of the tree.

load lib

setup_file() {
	export copy=$BATS_FILE_TMPDIR/tree
	mkdir "$copy"
	# what the objects of the programs need is not edited, so they are not made again
	cp -a src Makefile "$copy"
	mkdir "$copy/build"
	find build -maxdepth 1 -type f ! -name '*.a' -exec cp -a -t "$copy/build" {} +
	for folder in src/*/; do
		[[ ! -d build/$(basename "$folder") ]] || cp -a "build/$(basename "$folder")" "$copy/build"
	done
	cd "$copy" || return
	python3 - <<-'PY'
		import pathlib, re
		def edit(path, old, new):
		    text = pathlib.Path(path).read_text(encoding="utf-8")
		    assert text.count(old) == 1, (path, old)
		    pathlib.Path(path).write_text(text.replace(old, new), encoding="utf-8")
		# a system call
		edit("src/trace/syscalls.c", "X(read, READ, ARG0, POS) ",
		     "X(read, READ, ARG0, POS) X(getcwd, META, NONE, NONE) ")
		edit("src/trace/calls_x86_64.h", "X(read, 0, 3) ", "X(read, 0, 3) X(getcwd, 79, 183) ")
		edit("src/trace/calls_aarch64.h", "X(read, 63, 3) ", "X(read, 63, 3) X(getcwd, 17, 183) ")
		# a column
		edit("src/show/columns.c", "const struct column op_columns[] = {\n", """
		const struct column op_columns[] = {
		\t{ "tried_ns", "tried", VALUE_TIME, .get = op_total, .max = 7, .optional = true,
		\t  .help = "time of a tried recipe" },
		""")
		# a metric
		edit("src/serve/metrics.c", '\tput_ops(&w);\n', """
		\tput_family(&w, "iostrata_tried", "counter", "Tried recipes.");
		\tput_one(&w, "_total", 23);
		\tput_ops(&w);
		""")
		# an option
		edit("src/cmd/export.c", "static const struct opt otf2_opts[] = {\n", """
		static const struct opt otf2_opts[] = {
		\t{ 0, "tried", OPT_FLAG(struct export, tried), .help = "try a recipe" },
		""")
		edit("src/cmd/export.c", "bool append, lean;", "bool append, lean, tried;")
		# an export format
		edit("src/cmd/export.c", '"files for blkparse and btt")',
		     '"files for blkparse and btt") X(TRIED, tried, false, "files of a recipe")')
		edit("src/cmd/export.c", "/* Some viewers refuse a file of 1 GB. */", """
		static int to_tried(const struct export *e, FILE *f, struct reason *why)
		{
		\t(void)f;
		\treturn reason_set(why, EXIT_FAILED, "tried '%s'", e->files[0]);
		}

		/* Some viewers refuse a file of 1 GB. */""")
		# a command
		pathlib.Path("src/cmd/tried.c").write_text("""
		#include "run/cmd.h"

		static const struct opt_table table = { .name = "iostrata tried", .summary = "try a recipe" };

		static int tried(int argc, char **argv)
		{
		\tstruct opts_result res;
		\tint status = cmd_parse(&cmd_tried, argc, argv, NULL, &res);

		\treturn status >= 0 ? status : 23;
		}

		const struct cmd cmd_tried = { "tried", &table, tried, false };
		""", encoding="utf-8")
		edit("src/run/cmd.h", "cmd_top, cmd_watch;", "cmd_top, cmd_watch, cmd_tried;")
		edit("src/main.c", "&cmd_doctor,", "&cmd_doctor, &cmd_tried,")
	PY
	# shellcheck disable=SC2119
	make OPT='-O0 -Wno-format-truncation' build/iostrata >"$BATS_FILE_TMPDIR/log" 2>&1 || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	cd "$OLDPWD" || return
}

@test "docs/ADD.md marks the recipes that are tried here, and no others" {
	diff <(sed -n 's/^## \(.*\) (tried)$/\1/p' docs/ADD.md) <(printf '%s\n' "A system call" \
		"A column of a table" "A metric" "An option" "An export format" "A command")
}

@test "a recipe is short: the programs of the kernel are not made again" {
	! grep BPF "$BATS_FILE_TMPDIR/log"
	grep -q "build/cmd/tried.o" "$BATS_FILE_TMPDIR/log"
}

@test "a system call added by its recipe is an operation" {
	mkdir -p "$BATS_TEST_TMPDIR/a"
	cat >"$BATS_TEST_TMPDIR/a/a.c" <<-'C'
		#include "trace/syscalls.h"

		#include <stdio.h>

		int main(void)
		{
			puts(syscall_names(MACHINE_X86_64)(79));
			puts(syscall_names(MACHINE_AARCH64)(17));
		}
	C
	cc -D_GNU_SOURCE -I"$copy/src" "$BATS_TEST_TMPDIR/a/a.c" "$copy/build/libiostrata.a" \
		-o "$BATS_TEST_TMPDIR/a/a" -Wl,--gc-sections
	[[ $("$BATS_TEST_TMPDIR/a/a") == getcwd$'\n'getcwd ]]
}

@test "a number without its system call does not build" {
	cp -a "$copy/src" "$BATS_TEST_TMPDIR/src"
	sed -i 's/X(getcwd, META, NONE, NONE) //' "$BATS_TEST_TMPDIR/src/trace/syscalls.c"
	run ! cc -std=gnu11 -D_GNU_SOURCE -I"$BATS_TEST_TMPDIR/src" -fsyntax-only "$BATS_TEST_TMPDIR/src/trace/syscalls.c"
	[[ $output == *getcwd* ]]
}

@test "a column added by its recipe is in the table of the manual" {
	run -0 "$copy/build/iostrata" --scdoc breakdown "columns of Operations"
	[[ $output == *_tried_*"Time of a tried recipe."* ]]
}

@test "a metric added by its recipe is written" {
	cat >"$BATS_TEST_TMPDIR/a.c" <<-'C'
		#include "serve/metrics.h"
		#include "serve/totals.h"
		#include "show/breakdown.h"

		int main(void)
		{
			static const struct missing missing;
			struct breakdown_view view = { .missing = &missing };
			struct totals totals = {};

			totals_init(&totals, BY_NONE, 20, 10, SERIES_MIN);
			return metrics_write(stdout, &(struct metrics){ &totals, "1", &view }, false);
		}
	C
	cc -D_GNU_SOURCE -I"$copy/src" "$BATS_TEST_TMPDIR/a.c" "$copy/build/libiostrata.a" -ljansson -lm -lpcre2-8 \
		-o "$BATS_TEST_TMPDIR/a" -Wl,--gc-sections
	run -0 "$BATS_TEST_TMPDIR/a"
	[[ $output == *$'\n'"iostrata_tried_total 23"* ]]
}

@test "an option and an export format added by their recipes are in the help, and work" {
	run -0 "$copy/build/iostrata" export -h
	[[ $output == *"--tried"*"try a recipe"* && $output == *"tried: files of a recipe"* ]]
	echo x >"$BATS_TEST_TMPDIR/x.ios"
	run -1 "$copy/build/iostrata" export "$BATS_TEST_TMPDIR/x.ios" --to tried -o "$BATS_TEST_TMPDIR/out"
	[[ $output == *"tried '"*"x.ios'"* ]]
}

@test "a command added by its recipe is in the help, and runs" {
	run -0 "$copy/build/iostrata" -h
	[[ $output == *"tried"*"try a recipe"* ]]
	run -23 "$copy/build/iostrata" tried
	run -0 "$copy/build/iostrata" tried -h
}
