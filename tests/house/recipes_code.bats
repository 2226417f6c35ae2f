# SPDX-License-Identifier: GPL-2.0-only
# The recipes of docs/ADD.md that have code: these are enough, or the compiler says what is missing. Needs build.

load lib

setup() { tree=$BATS_TEST_TMPDIR/tree; }

# A copy of what a program without BPF is built from; the programs are those of build, and never loaded.
copy() {
	mkdir -p "$tree/build" "$tree/docs" "$tree/tests/house"
	cp -r src Makefile "$tree"
	cp docs/ADD.md docs/FORMAT.md "$tree/docs"
	cp tests/capture.py tests/schema.py "$tree/tests"
	cp build/*.bpf.o build/*.skel.h build/*.zst build/terminfo.h build/page*.html "$tree/build"
}

# follow SECTION [LEAVE_OUT]
follow() { python3 -B tests/house/recipe.py "$1" "$tree" ${2:+"$2"}; }

# compile FILE: whether it does
compile() { (cd "$tree" && cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Isrc -Ibuild "$1"); }

@test "a stratum added by the recipe has its time in text, CSV, JSON and Parquet, and the total is right" {
	copy
	[[ $(follow "A stratum (tried, with code)") == 4 ]]
	touch "$tree"/build/*
	make -s -C "$tree" -j2 OPT=-O0 CFLAGS='-g0 -w' >"$BATS_TEST_TMPDIR/make" 2>&1 ||
		{ cat "$BATS_TEST_TMPDIR/make"; false; }
	cat >"$tree/make.c" <<-'C'
		#include <fcntl.h>
		#include "capture/intake.h"

		static void names(void *arg) {}
		static bool fs(void *arg, unsigned int slot, char *name, unsigned int *probed) { return false; }

		int main(int argc, char **argv)
		{
			struct writer w = {};
			struct intake in = { .w = &w, .names = names, .fs = fs, .end_ns = UINT64_MAX };
			struct sent_op_waited op = {
				.op = { .what = SENT_OP_WAITED, .kind = OP_FSYNC, .call = 74, .fs = SENT_FS_BDEV, .fd = 3,
					.who = { 7, 7, 0, "dd" }, .start_ns = 2000, .on_cpu = { 100, 0, 7 } },
				.waits[ST_FOO - SENT_ON_CPU] = 1000,
			};

			writer_begin(&w, open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600),
				     "{\"schema\":\"iostrata.capture/1\",\"version\":\"0\",\"argv\":[\"record\"],"
				     "\"kernel\":\"6.1\",\"machine\":\"x86_64\",\"host\":\"a\",\"boot_id\":\"b\","
				     "\"monotonic_ns\":1000,\"realtime_ns\":0,\"cpus\":2,\"ops\":true,"
				     "\"requests\":false,\"device_bytes\":false,\"server\":true,\"reap\":true,"
				     "\"foo\":true,\"missing\":{},\"vfs_ops\":[],\"devices\":[],\"mounts\":[]}");
			intake_record(&in, &op, sizeof(op));
			intake_end(&in);
			writer_close(&w);
			return !writer_end(&w, "{\"ended\":\"ended\",\"duration_ns\":9000,\"ops\":1,\"requests\":0,"
					       "\"lost\":{}}");
		}
	C
	cd "$tree"
	# shellcheck disable=SC2046 # the libraries
	cc -std=gnu11 -D_GNU_SOURCE -O0 -Isrc -Ibuild make.c build/libiostrata.a $(sed -n 's/^LIBS := //p' Makefile) -o make
	./make a.ios
	build/iostrata report -v a.ios >text
	cat text
	grep -q '^ *foo  *90\.3 %  *1\.00 us ' text
	grep -q '= total 1\.11 us$' text
	build/iostrata report -j a.ios >json
	build/iostrata report --events csv a.ios >csv
	build/iostrata report --events json a.ios >events
	build/iostrata export --to parquet -o tables a.ios 2>/dev/null
	PYTHONPATH=tests python3 -B - <<-'PY'
		import csv, json, pathlib, struct
		import capture
		row = json.load(open("json"))["ops"][0]
		assert (row["total_ns"], row["strata"]["foo"]) == (1107, 1000), row
		assert sum(ns or 0 for ns in row["strata"].values()) == 1107, row
		for row in (next(csv.DictReader(open("csv"))), json.loads(open("events").readlines()[-1])):
		    assert (int(row["total_ns"]), int(row["foo_ns"])) == (1107, 1000), row
		footer = pathlib.Path("tables/operations.parquet").read_bytes()
		footer = footer[-8 - struct.unpack("<I", footer[-8:-4])[0]:]
		for name, value in ((b"total_ns", 1107), (b"foo_ns", 1000)):  # the most and the least of the only row
		    assert footer[footer.rindex(name):][:96].count(struct.pack("<q", value)) == 2, (name, footer)
		row = next(capture.columns(c.kind, c.rows, c.raw)[0][0]  # its header has what no schema has
		           for c in capture.chunks(pathlib.Path("a.ios").read_bytes()) if c.kind == capture.OPS)
		assert sum(row[s] for s in capture.STRATA) == 1107 and row["foo"] == 1000, row
	PY
}

@test "a stratum without its column in recordings or in events does not compile, and the compiler says where it goes" {
	copy
	follow "A stratum (tried, with code)" OP_COLUMNS
	run ! compile src/capture/batch.c
	[[ $output == *"a stratum has no column in recordings: append STRATUM(...) to OP_COLUMNS"* ]]
	rm -r "$tree"
	copy
	follow "A stratum (tried, with code)" EVENT_COLUMNS
	run ! compile src/capture/event_row.c
	[[ $output == *"a stratum has no column of events: append STRATUM(...) to EVENT_COLUMNS"* ]]
}

@test "a column of events added by the recipe compiles, from the programs' record on" {
	copy
	[[ $(follow "A column of events (tried, with code)") == 4 ]]
	for file in src/capture/{batch,intake,event_row}.c src/show/joined_events.c; do
		compile "$file"
	done
}

@test "an architecture without its system calls does not compile, and with them it does" {
	copy
	sed -i 's|ROW(AARCH64, "aarch64")|& ROW(TRIED, "tried")|' "$tree/src/base/machine.h"
	run ! compile src/trace/syscalls.c
	[[ $output == *CALLS_TRIED* && $output == *SIGRETURNS_TRIED* ]]
	sed 's/AARCH64/TRIED/' "$tree/src/trace/calls_aarch64.h" >"$tree/src/trace/calls_tried.h"
	sed -i 's|#include "trace/calls_aarch64.h"|&\n#include "trace/calls_tried.h"|' "$tree/src/trace/syscalls.c"
	compile src/trace/syscalls.c
	compile src/base/machine.c
}

@test "a list of filters without its length in the programs does not compile" {
	copy
	sed -i 's/unsigned int n_pids, n_comms,/& n_tried,/' "$tree/src/bpf/conf.h"
	run ! compile src/trace/configure.c
	[[ $output == *"a list of filters has no length in the programs: set it in conf_set_lists()"* ]]
}
