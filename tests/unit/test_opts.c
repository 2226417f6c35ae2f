// SPDX-License-Identifier: GPL-2.0-only
/* Valid and wrong command lines; help and manual from the same table. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opts.h"

#define assert_has(text, part) assert_non_null(strstr(text, part))

struct filters {
	uint64_t pid;
	const char *comm;
	uint64_t min_ns;
	struct opt_uints tids;
	struct opt_strings disks, files;
	unsigned int kinds;
};

struct my_opts {
	bool queued, json;
	int by;
	uint64_t duration_ns, interval_ns, count;
	struct filters filters;
};

static const struct opt_choice keys[] = { { "pid", 1 }, { "comm", 2 }, { "file", 3 }, {} };

static const struct opt_choice more_keys[] = { { "process", 1 }, {} };

static const struct opt filter_opts[] = {
	{ 'p', "pid", OPT_UINT(struct filters, pid), .arg = "PID", .min = 1, .max = 4194304,
	  .help = "trace this process only, with all its threads and none of its children" },
	{ 0, "comm", OPT_STRING(struct filters, comm), .arg = "NAME", .help = "only this name" },
	{ 0, "min", OPT_DURATION(struct filters, min_ns), .arg = "DUR", .help = "not faster" },
	{ 't', "tid", OPT_UINTS(struct filters, tids), .arg = "TID", .min = 1, .max = 99,
	  .help = "these threads" },
	{ 'd', "disk", OPT_STRINGS(struct filters, disks), .arg = "DISK", .help = "these disks" },
	{ 0, "file", OPT_PATHS(struct filters, files), .arg = "PATH", .help = "these files" },
	{ 0, "kind", OPT_CHOICES(struct filters, kinds, keys), .arg = "KIND", .help = "of these" },
	{}
};

static const struct opt output_opts[] = {
	{ 'Q', "queued", OPT_FLAG(struct my_opts, queued), .help = "include queue time" },
	{ 'j', "json", OPT_FLAG(struct my_opts, json), .help = "print JSON with [_*#] in it" },
	{ 0, "by", OPT_CHOICE(struct my_opts, by, keys), .also = more_keys, .arg = "KEY",
	  .help = "a row per key" },
	{ 'D', "duration", OPT_DURATION(struct my_opts, duration_ns), .arg = "DUR", .min = 1000,
	  .max = 3600000000000ull, .help = "end after this time" },
	{}
};

static const struct opt_group groups[] = { { "Filters", filter_opts,
					     offsetof(struct my_opts, filters) },
					   { "Output", output_opts, 0 },
					   {} };

static const struct opt interval_args[] = {
	{ .arg = "INTERVAL",
	  OPT_DURATION(struct my_opts, interval_ns),
	  .min = 1,
	  .help = "print this often" },
	{ .arg = "COUNT", OPT_UINT(struct my_opts, count), .min = 1, .help = "and so many times" },
	{}
};

static const struct opt_example examples[] = { { "tool cmd -p 1234", "what process 1234 does" },
					       {} };

static const struct opt_table table = {
	.name = "tool cmd",
	.summary = "show things",
	.about = "About all this.",
	.groups = groups,
	.args = interval_args,
	.command = true,
	.examples = examples,
};

static const struct opt pattern_args[] = {
	{ .arg = "PATTERN", .type = OPT_TYPE_STRING, .required = true, .many = true, .help = "x" },
	{}
};

static const struct opt_table patterns = {
	.name = "tool funcs",
	.summary = "count calls",
	.groups = groups,
	.args = pattern_args,
};

/* Parses the words of @line, which are separated by blanks ('' is the empty word). */
static int parse(const struct opt_table *t, const char *line, struct my_opts *o,
		 struct opts_result *res)
{
	static char words[256];
	static char *argv[32];
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	argv[0] = (char *)t->name;
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = strcmp(w, "''") ? w : "";
	argv[argc] = NULL;
	*o = (struct my_opts){};
	return opts_parse(t, argc, argv, o, res);
}

static void refused(const char *line, const char *error)
{
	struct opts_result res;
	struct my_opts o;

	assert_int_equal(parse(&table, line, &o, &res), -EINVAL);
	assert_string_equal(res.error, error);
	assert_true(strlen(res.hint) > 0);
}

static void all_kinds_of_options(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(parse(&table, "-Qp 12 1 --by file --comm=x 5 -D 1.5ms", &o, &res), 0);
	assert_true(o.queued && !o.json);
	assert_int_equal(o.filters.pid, 12);
	assert_string_equal(o.filters.comm, "x");
	assert_int_equal(o.by, 3);
	assert_int_equal(o.duration_ns, 1500000);
	assert_int_equal(o.interval_ns, 1000000000);
	assert_int_equal(o.count, 5);
	assert_null(res.command);
}

static void nothing_given_changes_nothing(void **state)
{
	struct opts_result res;
	struct my_opts o, zero = {};

	(void)state;
	assert_int_equal(parse(&table, "", &o, &res), 0);
	assert_memory_equal(&o, &zero, sizeof(o));
}

static void command_begins_at_the_first_dashes(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(parse(&table, "-Q -- dd -j -- x", &o, &res), 0);
	assert_true(o.queued && !o.json);
	assert_string_equal(res.command[0], "dd");
	assert_string_equal(res.command[1], "-j");
	assert_string_equal(res.command[2], "--");
	assert_string_equal(res.command[3], "x");
	assert_null(res.command[4]);
	refused("--", "no command after --");
	refused("-p -- x", "--pid needs a value: PID");
}

static void help_and_version(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(parse(&table, "-Q -h --bad", &o, &res), OPTS_HELP);
	assert_int_equal(parse(&table, "--help", &o, &res), OPTS_HELP);
	assert_int_equal(parse(&table, "-V", &o, &res), OPTS_VERSION);
	assert_int_equal(parse(&table, "--version", &o, &res), OPTS_VERSION);
	assert_int_equal(parse(&table, "-- x --help", &o, &res), 0);
}

static void bad_numbers(void **state)
{
	(void)state;
	refused("-p abc", "invalid value 'abc' for --pid: not a number");
	refused("-p 1x", "invalid value '1x' for --pid: not a whole number");
	refused("-p .5", "invalid value '.5' for --pid: not a whole number");
	refused("-p 1.5", "invalid value '1.5' for --pid: not a whole number");
	refused("-p 0x10", "invalid value '0x10' for --pid: not a whole number");
	refused("-p -1", "invalid value '-1' for --pid: must not be negative");
	refused("-p +1", "invalid value '+1' for --pid: not a number");
	refused("--pid ''", "invalid value '' for --pid: empty");
	refused("-p 18446744073709551616",
		"invalid value '18446744073709551616' for --pid: too large");
	refused("-p 0", "invalid value '0' for --pid: must be 1 or more");
	refused("-p 4194305", "invalid value '4194305' for --pid: must be 4194304 or less");
}

static void bad_durations(void **state)
{
	(void)state;
	refused("-D abc", "invalid value 'abc' for --duration: not a number");
	refused("-D 1x", "invalid value '1x' for --duration: units are ns, us, ms, s, m, h");
	refused("-D 1S", "invalid value '1S' for --duration: units are ns, us, ms, s, m, h");
	refused("-D 1.", "invalid value '1.' for --duration: no digit after the point");
	refused("-D .", "invalid value '.' for --duration: not a number");
	refused("-D .s", "invalid value '.s' for --duration: not a number");
	refused("-D 1.5ns", "invalid value '1.5ns' for --duration: finer than a nanosecond");
	refused("-D 999ns", "invalid value '999ns' for --duration: must be 1.00 us or more");
	refused("-D 3600.1", "invalid value '3600.1' for --duration: must be 3600 s or less");
	refused("-D 99999999999h", "invalid value '99999999999h' for --duration: too large");
}

static void bad_options(void **state)
{
	(void)state;
	refused("--by dev", "invalid value 'dev' for --by: must be pid, comm or file");
	refused("--by proces", "invalid value 'proces' for --by: must be pid, comm or file");
	refused("--comm=", "invalid value '' for --comm: empty");
	refused("--frob", "unknown option '--frob'");
	refused("-x", "unknown option '-x'");
	refused("-Qx", "unknown option '-x'");
	refused("--json=1", "--json takes no value");
	refused("-D", "--duration needs a value: DUR");
	refused("-p \033[2J", "invalid value '\\x1b[2J' for --pid: not a number");
	refused("-p \\x1b", "invalid value '\\\\x1b' for --pid: not a number");
}

static void bad_arguments(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	refused("1 2 3", "unexpected argument '3'");
	refused("0", "invalid value '0' for INTERVAL: must be 1 ns or more");
	refused("1 1.5", "invalid value '1.5' for COUNT: not a whole number");
	assert_int_equal(parse(&table, "dd if=x", &o, &res), -EINVAL);
	assert_string_equal(res.hint, "put -- before a command to run");
	assert_int_equal(parse(&table, "./dd if=x", &o, &res), -EINVAL);
	assert_string_equal(res.hint, "put -- before a command to run");
	assert_int_equal(parse(&table, "1e3", &o, &res), -EINVAL);
	assert_string_equal(res.hint, "durations are like 5, .5, 1.5s, 100us, 2m");
	assert_int_equal(parse(&table, "1 1e3", &o, &res), -EINVAL);
	assert_string_equal(res.hint, "see 'tool cmd --help'");
}

static void lists_add_up(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(
		parse(&table, "-t 7,5 --disk=a,bc --tid 9 -d d --file x,y --file z", &o, &res), 0);
	assert_int_equal(o.filters.tids.n, 3);
	assert_int_equal(o.filters.tids.at[0], 7);
	assert_int_equal(o.filters.tids.at[1], 5);
	assert_int_equal(o.filters.tids.at[2], 9);
	assert_int_equal(o.filters.disks.n, 3);
	assert_string_equal(o.filters.disks.at[0], "a");
	assert_string_equal(o.filters.disks.at[1], "bc");
	assert_string_equal(o.filters.disks.at[2], "d");
	/* as pgrep(1) and pidof(1) print numbers */
	assert_int_equal(parse(&table, "-t 7\n5\t\t9,\n3\n", &o, &res), 0);
	assert_int_equal(o.filters.tids.n, 4);
	assert_int_equal(o.filters.tids.at[0], 7);
	assert_int_equal(o.filters.tids.at[2], 9);
	assert_int_equal(o.filters.tids.at[3], 3);
	assert_int_equal(
		parse(&table, "-t 7,5 --disk=a,bc --tid 9 -d d --file x,y --file z", &o, &res), 0);
	/* a path may have a comma in it */
	assert_int_equal(o.filters.files.n, 2);
	assert_string_equal(o.filters.files.at[0], "x,y");
	assert_string_equal(o.filters.files.at[1], "z");
	assert_int_equal(parse(&table, "--kind file,pid --kind file", &o, &res), 0);
	assert_int_equal(o.filters.kinds, 1 << 3 | 1 << 1);
}

static void bad_lists(void **state)
{
	(void)state;
	refused("-t 1,x", "invalid value 'x' for --tid: not a number");
	refused("-t 1,", "invalid value '' for --tid: empty");
	refused("-t ,1", "invalid value '' for --tid: empty");
	refused("-t 1,,2", "invalid value '' for --tid: empty");
	refused("-t 1,100", "invalid value '100' for --tid: must be 99 or less");
	refused("-d a,", "invalid value '' for --disk: empty");
	refused("-d ''", "invalid value '' for --disk: empty");
	refused("--file ''", "invalid value '' for --file: empty");
	refused("--kind pid,frob", "invalid value 'frob' for --kind: must be pid, comm or file");
	refused("--kind ''", "invalid value '' for --kind: must be pid, comm or file");
	refused("-t 1,2,3,4,5,6,7,8 -t 9,10,11,12,13,14,15,16,17", "more than 16 values for --tid");
}

/* As "-t $(pgrep name)" has them, but an interval and a count stay what they are. */
static void numbers_after_a_list(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(parse(&table, "-t 7 1 5", &o, &res), 0);
	assert_int_equal(o.filters.tids.n, 1);
	assert_int_equal(o.interval_ns, 1000000000);
	assert_int_equal(o.count, 5);
	assert_int_equal(parse(&table, "-t 7 8 9 10 -j", &o, &res), 0);
	assert_int_equal(o.filters.tids.n, 4);
	assert_int_equal(o.filters.tids.at[3], 10);
	assert_int_equal(o.interval_ns, 0);
	assert_true(o.json);
	assert_int_equal(parse(&table, "1 -t 7 8 9 -- true", &o, &res), 0);
	assert_int_equal(o.filters.tids.n, 3);
	assert_int_equal(o.interval_ns, 1000000000);
	/* no interval in seconds: the limit of the option is told */
	assert_int_equal(parse(&table, "-t 7 301", &o, &res), -EINVAL);
	assert_has(res.error, "invalid value '301' for --tid: must be 99 or less");
	assert_int_equal(parse(&table, "-t 7 300", &o, &res), 0);
	assert_int_equal(o.interval_ns, 300000000000);
	assert_int_equal(parse(&table, "-t 7 301s", &o, &res), 0);
	assert_int_equal(o.filters.tids.n, 1);
	assert_int_equal(parse(&table, "-t 7", &o, &res), 0);
	/* without a command, they are names */
	assert_int_equal(parse(&patterns, "-t 7 8 9 10 301", &o, &res), 0);
	assert_int_equal(res.n_rest, 4);
}

static void check_hint(const char *line, const char *hint)
{
	struct opts_result res;
	struct my_opts o;

	assert_int_equal(parse(&table, line, &o, &res), -EINVAL);
	assert_has(res.error, "unknown option");
	if (strncmp(res.hint, hint, strlen(hint)))
		fail_msg("%s: '%s'", line, res.hint);
}

static void what_was_meant(void **state)
{
	(void)state;
	check_hint("--byy file", "did you mean '--by'?");
	check_hint("--dsk a", "did you mean '--disk'?");
	check_hint("--min-time 1", "did you mean '--min'?");
	check_hint("--duration-of-run=3", "did you mean '--duration'?");
	check_hint("--interval 3", "INTERVAL stands alone, without an option");
	check_hint("-json", "did you mean '--json'?");
	check_hint("-P 3", "did you mean '-p' (--pid)?");
	check_hint("-jx", "see 'tool cmd --help'");
	check_hint("--nothing", "see 'tool cmd --help'");
}

static void a_full_list_is_taken(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(parse(&table, "-t 1,2,3,4,5,6,7,8 -t 9,10,11,12,13,14,15,16", &o, &res),
			 0);
	assert_int_equal(o.filters.tids.n, OPT_LIST_MAX);
	assert_int_equal(o.filters.tids.at[OPT_LIST_MAX - 1], 16);
}

static void many_arguments(void **state)
{
	struct opts_result res;
	struct my_opts o;

	(void)state;
	assert_int_equal(parse(&patterns, "a* -p 7 b* -Q c*", &o, &res), 0);
	assert_int_equal(res.n_rest, 3);
	assert_string_equal(res.rest[0], "a*");
	assert_string_equal(res.rest[1], "b*");
	assert_string_equal(res.rest[2], "c*");
	assert_int_equal(o.filters.pid, 7);
	assert_true(o.queued);
	assert_int_equal(parse(&patterns, "-Q", &o, &res), -EINVAL);
	assert_string_equal(res.error, "PATTERN is missing");
	assert_int_equal(parse(&patterns, "x -Q -- -y -p", &o, &res), 0);
	assert_int_equal(res.n_rest, 3);
	assert_string_equal(res.rest[0], "x");
	assert_string_equal(res.rest[1], "-y");
	assert_string_equal(res.rest[2], "-p");
	assert_null(res.command);
}

static void durations(void **state)
{
	static const struct {
		const char *s;
		uint64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "5", 5000000000 },
		{ "5s", 5000000000 },
		{ "100us", 100000 },
		{ "1.5ms", 1500000 },
		{ "2m", 120000000000 },
		{ "1h", 3600000000000 },
		{ "7ns", 7 },
		{ "0.000000001", 1 },
		{ "0.1h", 360000000000 },
		{ "1.0ns", 1 },
		{ "0.00000000025h", 900 },
		{ "007", 7000000000 },
		{ ".5", 500000000 },
		{ ".25ms", 250000 },
		{ "18446744073709551615ns", UINT64_MAX },
		{ "18446744073.709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"",
		" ",
		" 1",
		"1 ",
		"1 s",
		"s",
		"-1",
		"+1",
		"1e3",
		"0x1",
		"1,5",
		"1..5",
		"1.5.5",
		"1.s",
		"inf",
		"nan",
		"1sec",
		"1 0",
		"18446744073709551616ns",
		"18446744073.709551616",
		"0.0000000001",
		"5124096h",
		".",
		".s",
		"..5",
		".5.5",
	};
	const char *why;
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(opts_duration(good[i].s, &ns, &why), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 4711;
		assert_true(opts_duration(bad[i], &ns, &why) < 0);
		assert_int_equal(ns, 4711);
	}
}

static void whole_numbers(void **state)
{
	static const char *const bad[] = { "",
					   " 1",
					   "1 ",
					   "-0",
					   "+0",
					   "1.0",
					   "0x1",
					   "1e1",
					   "18446744073709551616",
					   "99999999999999999999999" };
	const char *why;
	uint64_t v = 0;

	(void)state;
	assert_int_equal(opts_uint("18446744073709551615", &v, &why), 0);
	assert_int_equal(v, UINT64_MAX);
	assert_int_equal(opts_uint("000", &v, &why), 0);
	assert_int_equal(v, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(opts_uint(bad[i], &v, &why) < 0);
}

typedef int print_fn(FILE *f, const struct opt_table *t);

static char *print_to_text(print_fn *print)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(print(f, &table), 0);
	fclose(f);
	return text;
}

static void help_has_all_and_fits(void **state)
{
	char *text = print_to_text(opts_help);

	(void)state;
	assert_has(text, "Usage: tool cmd [OPTION]... [INTERVAL [COUNT]] [-- CMD ARGS]");
	assert_has(text, "  -p, --pid=PID             trace this process only, with");
	assert_has(text, "      --by=KEY              a row per key: pid, comm or file");
	assert_has(text, "  -t, --tid=TID,...         these threads\n");
	assert_has(text, "      --file=PATH           these files; may be repeated\n");
	assert_has(text, "      --kind=KIND,...       of these: pid, comm or file\n");
	assert_has(text, "  -h, --help");
	assert_has(text, "  tool cmd -p 1234\n        what process 1234 does\n");
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
	free(text);
}

static int print_manual(FILE *f, const struct opt_table *t)
{
	return opts_scdoc(f, t, "options");
}

static void manual_has_every_option(void **state)
{
	char *text = print_to_text(print_manual), name[64];

	(void)state;
	assert_int_equal(opts_scdoc(stdout, &table, "no such part"), -EINVAL);
	assert_int_equal(opts_scdoc(stdout, &table, "members of nothing"), -EINVAL);
	for (const struct opt_group *g = groups; g->opts; g++) {
		for (const struct opt *o = g->opts; o->long_name; o++) {
			snprintf(name, sizeof(name), "*--%s*", o->long_name);
			assert_has(text, name);
		}
	}
	assert_has(text, "*-p*, *--pid*=_PID_\n\tTrace this process only,");
	assert_has(text, "Print JSON with \\[\\_\\*\\#\\] in it.\n");
	free(text);
}

static void a_full_disk_is_reported(void **state)
{
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	if (!f) {
		print_message("skipped: there is no /dev/full\n");
		skip();
	}
	assert_int_equal(opts_help(f, &table), -ENOSPC);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_options),
		cmocka_unit_test(nothing_given_changes_nothing),
		cmocka_unit_test(command_begins_at_the_first_dashes),
		cmocka_unit_test(help_and_version),
		cmocka_unit_test(bad_numbers),
		cmocka_unit_test(bad_durations),
		cmocka_unit_test(bad_options),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(lists_add_up),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(numbers_after_a_list),
		cmocka_unit_test(what_was_meant),
		cmocka_unit_test(a_full_list_is_taken),
		cmocka_unit_test(many_arguments),
		cmocka_unit_test(durations),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(help_has_all_and_fits),
		cmocka_unit_test(manual_has_every_option),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
