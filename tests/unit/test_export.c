// SPDX-License-Identifier: GPL-2.0-only
/* Handles of an archive: from an open's return to the beginning of the close. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/reason.h"
#include "base/filenames.h"
#include "capture/writer.h"
#include "export/otf2.h"

static const char header[] = "{\"monotonic_ns\":1000,\"realtime_ns\":5000,\"ops\":true,"
			     "\"requests\":true,\"vfs_ops\":[\"read\"]}";

/* By thread 1 or 2 of one process, on descriptor 5 of one file. */
static void add(struct writer *w, int thread, int kind, uint64_t start_ns, uint64_t end_ns)
{
	struct cap_op op = { .start_ns = start_ns, .owner = thread, .file = 1, .kind = kind,
			     .fs = CAP_FS_FIRST, .fd = 5, .ret = kind == OP_OPEN ? 5 : 0 };

	op.strata[ST_SYSCALL] = end_ns - start_ns;
	writer_op(w, &op);
}

static FILE *recording_of(void (*ops)(struct writer *w))
{
	struct cap_name thread = { NAME_THREAD, 1, 12, 12, 14, 2 };
	struct cap_name file = { NAME_FILE, 1, FILE_KEY(8 << 20, 0, 3), 99, CAP_FILE_COMPLETE, 2 };
	struct cap_name fs = { NAME_FS, CAP_FS_FIRST, 1 << OP_READ, 0, 0, 4 };
	FILE *f = tmpfile();
	struct writer w = {};

	assert_int_equal(writer_begin(&w, dup(fileno(f)), header), 0);
	writer_name(&w, &thread, "dd");
	thread.id = 2;
	thread.b = 13;
	writer_name(&w, &thread, "dd");
	writer_name(&w, &file, "f");
	writer_name(&w, &fs, "ext4");
	ops(&w);
	writer_close(&w);
	while (!writer_end(&w, "{\"ended\":\"ended\",\"ops\":1,\"lost\":{\"ops\":0}}"))
		;
	writer_done(&w);
	rewind(f);
	return f;
}

static const char *call_name(unsigned short call)
{
	(void)call;
	return "call";
}

static struct otf2_counts exported(void (*ops)(struct writer *w))
{
	char dir[] = "/tmp/test_export.XXXXXX", command[64];
	struct otf2_counts counts = {};
	FILE *f = recording_of(ops);
	struct reason why = {};

	assert_non_null(mkdtemp(dir));
	assert_int_equal(otf2_export(f, "it", dir, call_name, &counts, &why), 0);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	fclose(f);
	return counts;
}

static void one_after_the_other(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2100); /* was open before */
	add(w, 1, OP_CLOSE, 2200, 2300);
	add(w, 2, OP_OPEN, 2400, 2500);
	add(w, 2, OP_READ, 2600, 2700);
	add(w, 2, OP_CLOSE, 2800, 2900);
}

static void number_given_again_before_the_close_returns(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2100);
	add(w, 2, OP_OPEN, 2150, 2250);
	add(w, 1, OP_CLOSE, 2200, 2300);
	add(w, 2, OP_READ, 2600, 2700);
	add(w, 2, OP_CLOSE, 2800, 2900);
}

static void read_that_outlives_its_descriptor(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2400);
	add(w, 2, OP_OPEN, 2150, 2250);
	add(w, 2, OP_READ, 2600, 2700);
}

static void handles(void **state)
{
	(void)state;
	assert_int_equal(exported(one_after_the_other).handles, 2);
	assert_int_equal(exported(number_given_again_before_the_close_returns).handles, 2);
	assert_int_equal(exported(read_that_outlives_its_descriptor).handles, 2);
	assert_int_equal(exported(read_that_outlives_its_descriptor).ops, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handles),
	};

	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
