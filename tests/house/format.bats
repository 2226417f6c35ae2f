# SPDX-License-Identifier: GPL-2.0-only
# docs/FORMAT.md, from which others write readers, has the columns of the program's own tables.

load lib

# columns TABLE ARGUMENTS: the names of a table of columns in stored.h, those of a stratum by its name
columns() {
	cc -E -P -Isrc -Ibuild -D_GNU_SOURCE -x c - <<-C | tr -s ' ;' '\n' | sed -n 's/^COLUMN_//p'
		#include "capture/stored.h"
		#define NAME(name, ...) COLUMN_##name;
		#define STRATUM(id) COLUMN_STRATUM_##id;
		#define SECOND(id, name, ...) COLUMN_##name;
		$1($2)
	C
}

# kinds LIST ROW: the names of a list in event.h with their numbers: "ring 0"
kinds() {
	cc -E -P -Isrc -x c - <<-C | tr -s ';' '\n' | sed -n 's/^ *KIND *\([0-9A-Z_]*\) *"\(.*\)"$/\2 \1/p'
		#include "event.h"
		#define NUMBERED(number, id, name, ...) KIND number name;
		#define NAMED(id, name, ...) KIND LOST_##id name;
		$1($2)
	C
}

@test "FORMAT.md has each kind of operation and of loss, with its number" {
	kinds OP_LIST NUMBERED >"$BATS_TEST_TMPDIR/ops"
	kinds LOST_LIST NAMED | awk '{ print $1, NR - 1 }' >"$BATS_TEST_TMPDIR/losses"
	cd "$BATS_TEST_TMPDIR"
	PYTHONPATH=$OLDPWD/tests python3 -B - <<-'PY'
		import capture, pathlib
		for name, told in (("ops", capture.OP_KINDS), ("losses", capture.LOST)):
		    has = {n: int(k) for n, k in (line.split() for line in pathlib.Path(name).read_text().splitlines())}
		    assert len(has) > 7 and has == told, (name, has, told)
	PY
}

@test "FORMAT.md has the columns of all tables in their order, and the strata by their positions" {
	strata=$(sed -n '/^#define STRATUM_LIST(/,/^[^\t]*$/s/^\tROW(\([A-Z_]*\), \([a-z_]*\),.*/s,^STRATUM_\1$,\2,/p' \
		src/event.h)
	(($(wc -l <<<"$strata") >= 15))
	columns OP_COLUMNS "NAME, NAME, STRATUM" | sed "$strata" >"$BATS_TEST_TMPDIR/ops"
	columns REQUEST_COLUMNS "NAME, NAME" >"$BATS_TEST_TMPDIR/requests"
	sed 's/.*,\(.*\),$/\1/' <<<"$strata" >"$BATS_TEST_TMPDIR/strata"
	columns MACHINE_LOAD_LIST SECOND >"$BATS_TEST_TMPDIR/machine"
	cd "$BATS_TEST_TMPDIR"
	PYTHONPATH=$OLDPWD/tests python3 -B - <<-'PY'
		import capture, pathlib
		for name, told in (("ops", capture.columns_of(capture.OPS)), ("requests", capture.columns_of(capture.REQUESTS)),
		                   ("strata", capture.STRATA), ("machine", capture.columns_of(capture.MACHINE)[3:])):
		    has = pathlib.Path(name).read_text().split()
		    assert len(has) > 10 and has == list(told), (name, has, told)
	PY
}
