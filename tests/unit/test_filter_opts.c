// SPDX-License-Identifier: GPL-2.0-only
/* Filters as they are given, and as they are told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/reason.h"
#include "event.h"
#include "run/filters.h"

static const struct opt_group groups[] = { { "Whose I/O", filter_opts, 0 }, {} };
static const struct opt_table table = { .name = "test", .summary = "tests", .groups = groups };

static int parse(struct filters *f, int argc, const char *const argv[])
{
	static char words[40][64];
	char *list[41] = {};
	struct opts_result res = {};

	for (int i = 0; i < argc; i++) {
		strcpy(words[i], argv[i]);
		list[i] = words[i];
	}
	*f = (struct filters){};
	return opts_parse(&table, argc, list, f, &res);
}

#define KIND_IN_HELP(number, id, name, ...) assert_non_null(strstr(help, name));

static void the_help_of_op_names_each_kind(void **state)
{
	const char *help = "";

	(void)state;
	for (const struct opt *o = filter_opts; o->long_name; o++)
		help = !strcmp(o->long_name, "op") ? o->help : help;
	OP_LIST(KIND_IN_HELP)
}

/* A run or a report without the text would take a part of the I/O for all of it. */
static void the_text_has_each_filter(void **state)
{
	char option[64], text[FILTERS_TEXT];
	struct filters f;

	(void)state;
	for (const struct opt *o = filter_opts; o->long_name; o++) {
		const char *const argv[] = { "test", option, o->known ? "read" : "1" };

		snprintf(option, sizeof(option), "--%s", o->long_name);
		assert_int_equal(parse(&f, 3, argv), 0);
		filters_text(&f, text, sizeof(text));
		if (!strstr(text, option) && (!o->short_name || text[1] != o->short_name))
			fail_msg("filters_text() has no %s", option);
	}
}

static void every_option_has_its_place(void **state)
{
	static const char *const argv[] = {
		"test",   "-p",       "1,2147483647", "--pid",    "3",       "--comm",
		"dd",     "--cgroup", "/a,b",         "-d",       "sda,sdb", "--disk=sdc",
		"--fs",   "nfs,nfs4", "--op",         "read,aio", "--op",    "fault",
		"--file", "/f,g",     "--file",       "/h",       "--min",   "7us",
	};
	struct filters f;
	struct reason why;

	(void)state;
	assert_int_equal(parse(&f, 24, argv), 0);
	assert_int_equal(f.pids.n, 3);
	assert_int_equal(f.pids.at[1], 2147483647);
	assert_int_equal(f.comms.n, 1);
	assert_string_equal(f.comms.at[0], "dd");
	assert_int_equal(f.cgroups.n, 1);
	assert_string_equal(f.cgroups.at[0], "/a,b");
	assert_int_equal(f.disks.n, 3);
	assert_string_equal(f.disks.at[2], "sdc");
	assert_int_equal(f.fs.n, 2);
	assert_string_equal(f.fs.at[1], "nfs4");
	assert_int_equal(filters_ops(&f, &why), 0);
	assert_int_equal(f.ops, 1 << OP_READ | 1 << OP_AIO | 1 << OP_FAULT);
	assert_int_equal(f.only.kinds, 0);
	assert_int_equal(f.files.n, 2);
	assert_string_equal(f.files.at[0], "/f,g");
	assert_int_equal(f.min_ns, 7000);
}

/* A kind that is chosen as a whole has all its calls. */
static void operations_by_call(void **state)
{
	struct filters f = { .op_names = { { "fdatasync", "stat", "read" }, 3 } };
	struct reason why;

	(void)state;
	assert_int_equal(filters_ops(&f, &why), 0);
	assert_int_equal(f.ops, 1 << OP_FSYNC | 1 << OP_META | 1 << OP_READ);
	assert_int_equal(f.only.kinds, 1 << OP_FSYNC | 1 << OP_META);
	assert_int_equal(filters_check_kinds(&f, LAYER_SYSCALL, "syscall", &why), 0);
	assert_int_equal(filters_check_kinds(&f, LAYER_VFS, "vfs", &why), -1);
	assert_string_equal(why.error, "-T vfs knows no system calls: --op takes kinds of "
				       "operations");
	f.op_names.at[2] = "meta";
	assert_int_equal(filters_ops(&f, &why), 0);
	assert_int_equal(f.only.kinds, 1 << OP_FSYNC);
	f.op_names.at[2] = "fdatasnyc";
	assert_int_equal(filters_ops(&f, &why), -1);
	assert_string_equal(why.error, "no operation is called 'fdatasnyc'");
	assert_string_equal(why.hint, "did you mean 'fdatasync'?");
	assert_int_equal(why.exit, EXIT_USAGE);
	f.op_names.at[2] = "dup";
	assert_int_equal(filters_ops(&f, &why), -1);
}

static void no_process_has_such_a_pid(void **state)
{
	struct filters f;

	(void)state;
	assert_int_equal(parse(&f, 3, (const char *const[]){ "test", "-p", "0" }), -22);
	assert_int_equal(parse(&f, 3, (const char *const[]){ "test", "-p", "2147483648" }), -22);
}

static void only_two_have_short_names(void **state)
{
	(void)state;
	for (const struct opt *o = filter_opts; o->long_name; o++)
		assert_int_equal(o->short_name, !strcmp(o->long_name, "pid")    ? 'p'
						: !strcmp(o->long_name, "disk") ? 'd'
										: 0);
}

static void check_text(struct filters f, const char *all, const char *of_ops)
{
	char text[FILTERS_TEXT] = "before";

	filters_text(&f, text, sizeof(text));
	assert_string_equal(text, all);
	filters_of_ops(&f, false, text, sizeof(text));
	assert_string_equal(text, of_ops);
}

static void they_are_told_as_given(void **state)
{
	struct filters all = {
		.pids = { { 12, 13 }, 2 }, .comms = { { "dd", "cp" }, 2 },
		.cgroups = { { "/a" }, 1 }, .disks = { { "sda" }, 1 }, .fs = { { "ext4" }, 1 },
		.files = { { "/f" }, 1 }, .op_names = { { "read", "fault" }, 2 }, .min_ns = 7000,
		.all_files = true, .all_faults = true, .op_requests = true,
	}, many = {};

	(void)state;
	for (many.comms.n = 0; many.comms.n < OPT_LIST_MAX; many.comms.n++)
		many.comms.at[many.comms.n] = "a";
	check_text(many,
		   "--comm a --comm a --comm a --comm a --comm a --comm a --comm a --comm a "
		   "--comm a --comm a --comm a --comm a --comm a --comm a --comm a --comm a",
		   "");
	check_text((struct filters){}, "", "");
	check_text(all,
		   "-p 12 -p 13 --comm dd --comm cp --cgroup /a -d sda --fs ext4 --file /f "
		   "--op read --op fault --min 7.00 us --all-files --all-faults "
		   "--op-requests",
		   "--fs, --file, --min");
	check_text((struct filters){ .fs = { { "xfs" }, 1 } }, "--fs xfs", "--fs");
	check_text((struct filters){ .min_ns = 1 }, "--min 1 ns", "--min");
	check_text((struct filters){ .files = { { "/f" }, 1 } }, "--file /f", "--file");
	check_text((struct filters){ .op_names = { { "copy" }, 1 } }, "--op copy", "--op");
	check_text((struct filters){ .all_files = true }, "--all-files", "");
	check_text((struct filters){ .all_faults = true }, "--all-faults", "");
	check_text((struct filters){ .pids = { { 12 }, 1 }, .disks = { { "sda" }, 1 } },
		   "-p 12 -d sda", "");
}

/* The text of filters is cut off where there is no room. */
static void they_are_told_in_short(void **state)
{
	struct filters f = { .comms = { { "dd", "cp" }, 2 } };
	char text[FILTERS_TEXT] = { [12] = '#' };

	(void)state;
	filters_text(&f, text, 12);
	assert_string_equal(text, "--comm dd -");
	assert_int_equal(text[12], '#');
}

static void check_requests(struct filters f, const char *error)
{
	struct reason why = {};

	assert_int_equal(filters_check_requests(&f, "-T blk", &why), *error ? -1 : 0);
	assert_string_equal(why.error, error);
	assert_int_equal(why.exit, *error ? EXIT_USAGE : 0);
	assert_string_equal(why.hint,
			    *error ? "-p, --comm, --cgroup and -d filter requests; to see "
				     "operations, leave out -T blk"
				   : "");
}

static void requests_are_chosen_by_some(void **state)
{
	(void)state;
	check_requests((struct filters){}, "");
	check_requests((struct filters){ .pids = { { 12 }, 1 },
					 .comms = { { "dd" }, 1 },
					 .cgroups = { { "/a" }, 1 },
					 .disks = { { "sda" }, 1 } },
		       "");
	check_requests((struct filters){ .fs = { { "ext4" }, 1 }, .min_ns = 1 },
		       "-T blk is about requests, but only operations are filtered by --fs, --min");
	check_requests((struct filters){ .op_names = { { "read" }, 1 }, .all_files = true },
		       "-T blk is about requests, but only operations are filtered by --op");
	check_requests((struct filters){ .all_files = true },
		       "-T blk is about requests, --all-files about operations");
	check_requests((struct filters){ .all_faults = true },
		       "-T blk is about requests, --all-faults about operations");
}

/* A filter's refusal depends on this filter alone, not on the filter asked about before. */
static void requests_are_chosen_each_time(void **state)
{
	struct filters some = { .fs = { { "ext4" }, 1 }, .min_ns = 1 }, none = {};
	struct reason why = {};
	int refused, passed;

	(void)state;
	refused = filters_check_requests(&some, "-T blk", &why);
	passed = filters_check_requests(&none, "-T blk", &why);
	assert_int_equal(refused, -1);
	assert_int_equal(passed, 0);
}

static void check_kinds(struct filters f, enum layer layer, const char *name, const char *error)
{
	struct reason why = {};

	assert_int_equal(filters_check_kinds(&f, layer, name, &why), *error ? -1 : 0);
	assert_string_equal(why.error, error);
	assert_int_equal(why.exit, *error ? EXIT_USAGE : 0);
}

/* An operation of a kind that no call, or no function, of the layer is. */
static void a_layer_has_some_kinds(void **state)
{
	const unsigned int fs = 1 << OP_READ | 1 << OP_WRITE | 1 << OP_OPEN | 1 << OP_FSYNC;

	(void)state;
	check_kinds((struct filters){ .op_requests = true }, LAYER_SYSCALL, "syscall",
		    "--op-requests is about whole operations, -T syscall about a layer");
	check_kinds((struct filters){ .op_requests = true }, LAYER_OPS, NULL, "");
	check_kinds((struct filters){ .ops = ~0U, .all_faults = true }, LAYER_OPS, NULL, "");
	check_kinds((struct filters){}, LAYER_FS, "fs", "");
	check_kinds((struct filters){ .ops = fs }, LAYER_FS, "fs", "");
	check_kinds((struct filters){ .ops = fs | 1 << OP_COPY | 1 << OP_META }, LAYER_VFS, "vfs",
		    "");
	check_kinds((struct filters){ .ops = fs | 1 << OP_CLOSE | 1 << OP_AIO }, LAYER_SYSCALL,
		    "syscall", "");
	check_kinds((struct filters){ .ops = fs | 1 << OP_META }, LAYER_FS, "ext4",
		    "-T ext4 has no operations of kind meta");
	check_kinds((struct filters){ .ops = 1 << OP_CLOSE }, LAYER_VFS, "vfs",
		    "-T vfs has no operations of kind close");
	check_kinds((struct filters){ .ops = 1 << OP_FAULT }, LAYER_SYSCALL, "syscall",
		    "-T syscall has no operations of kind fault");
	check_kinds((struct filters){ .all_faults = true }, LAYER_SYSCALL, "syscall",
		    "--all-faults is about page faults, -T syscall has none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_help_of_op_names_each_kind),
		cmocka_unit_test(the_text_has_each_filter),
		cmocka_unit_test(every_option_has_its_place),
		cmocka_unit_test(operations_by_call),
		cmocka_unit_test(no_process_has_such_a_pid),
		cmocka_unit_test(only_two_have_short_names),
		cmocka_unit_test(they_are_told_as_given),
		cmocka_unit_test(they_are_told_in_short),
		cmocka_unit_test(requests_are_chosen_by_some),
		cmocka_unit_test(requests_are_chosen_each_time),
		cmocka_unit_test(a_layer_has_some_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
