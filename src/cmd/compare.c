// SPDX-License-Identifier: GPL-2.0-only
/* compare.c - the differences between recordings, and whether chance explains them. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyse/compare.h"
#include "analyse/fail_if.h"
#include "base/reason.h"
#include "base/text.h"
#include "cmd/compare_inputs.h"
#include "common/breakdown_opts.h"
#include "common/recorded_stacks.h"
#include "common/recorded_symbols.h"
#include "common/recording_filter.h"
#include "host/newfile.h"
#include "run/cmd.h"
#include "run/filters.h"
#include "run/run.h"
#include "show/compare.h"
#include "show/progress.h"

enum { ROWS_SHOWN = 10, ROWS_SHOWN_MAX = 1000000 };

/* One side: its files, and the state of the thread reading them. */
struct side {
	const char *const *names;
	size_t n;
	struct series *runs; /* n of them; owned */
	struct recording_filter filter;
	struct series_conf conf;
	struct reason why;
	int status;                      /* 0; 1: something was damaged; -1: reading failed */
	uint64_t done_bytes;             /* of the files read */
	_Atomic uint64_t read_bytes;     /* and of the one being read */
	struct recorded_symbols symbols; /* read at once with those of the other side */
	struct compare_cmd *cmd;
};

struct compare_cmd {
	/* options */
	struct filters given;
	struct compare_inputs inputs;
	struct recording_part part;
	struct opt_strings fail_if, hide, symbols;
	const char *output;
	uint64_t rows_max;
	int by, detail;
	bool json, csv, fail_undecided;
	/* state */
	struct side sides[SIDES];
	struct fail_if limits[OPT_LIST_MAX];
	struct progress progress;
	FILE *out;
};

static const struct opt_choice by_choices[] = {
	BREAKDOWN_BY_ALL,
	{ "function", BY_FUNCTION },
	{ "line", BY_LINE },
	{ "library", BY_LIBRARY },
	{},
};

/* The last four are refused with a reason. */
static const struct opt_choice by_also[] = {
	BREAKDOWN_BY_ALSO,     { "dir", BY_DIR },       { "host", BY_HOST },
	{ "stack", BY_STACK }, { "client", BY_CLIENT }, {},
};

static const struct opt form_opts[] = {
	{ 0, "by", OPT_CHOICE(struct compare_cmd, by, by_choices), .arg = "KEY", .also = by_also,
	  .help = "a row per key" },
	{ 0, "hide", OPT_STRINGS(struct compare_cmd, hide), .arg = "LIB",
	  .help = "with --by function, line or library: this library is not the program's own "
		  "code: libsqlite3" },
	{ 0, "symbols", OPT_PATHS(struct compare_cmd, symbols), .arg = "DIR",
	  .help = SYMBOLS_HELP },
	{ 0, "fail-if", OPT_PATHS(struct compare_cmd, fail_if), .arg = "CHANGE",
	  .help = "exit with code 6 if a change is larger: 'fsync p99 +10%'" },
	{ 0, "fail-undecided", OPT_FLAG(struct compare_cmd, fail_undecided),
	  .help = "exit with code 6 if the runs do not decide a change of --fail-if, too" },
	{ 'v', "verbose", OPT_TIMES(struct compare_cmd, detail),
	  .help = "all figures of all rows, not only of those that changed" },
	{ 'n', "rows", OPT_UINT(struct compare_cmd, rows_max), .arg = "N", .min = 1,
	  .max = ROWS_SHOWN_MAX, .help = "at most this many rows in a table (default: 10)" },
	{ 'j', "json", OPT_FLAG(struct compare_cmd, json), .help = "one JSON object, times in ns" },
	{ 0, "csv", OPT_FLAG(struct compare_cmd, csv), .help = "a line for each figure" },
	{ 'o', "output", OPT_STRING(struct compare_cmd, output), .arg = "FILE",
	  .help = "write to this new file; - is the standard output (default)" },
	{},
};

static const struct opt_group groups[] = {
	{ "Inputs", compare_inputs_opts, offsetof(struct compare_cmd, inputs) },
	{ "Time", recording_part_opts, offsetof(struct compare_cmd, part) },
	{ "Filters", filter_opts, offsetof(struct compare_cmd, given) },
	{ "Format", form_opts, 0 },
	{},
};

static const struct opt args[] = {
	{ .arg = "FILE",
	  .type = OPT_TYPE_STRING,
	  .many = true,
	  .help = "BASE and NEW: recordings, or files of 'iostrata breakdown --json'; with "
		  "--at one recording" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata compare old.ios new.ios", "what changed, and in which layer" },
	{ "iostrata compare --base 'old-*.ios' --new 'new-*.ios'",
	  "three runs or more on each side" },
	{ "iostrata compare trace.ios --at 12:30:05", "before and after that moment" },
	{ "iostrata compare --by file old.ios new.ios", "in which files" },
	{ "iostrata compare --by function old.ios new.ios",
	  "in which functions that made the calls, of recordings with stacks" },
	{ "iostrata compare --base 'o*' --new 'n*' --fail-if 'fsync p99 +10%'", "guard a test" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata compare",
	.summary = "tell what differs between two recordings, beyond chance",
	.about = "Compares operations and requests of two sides, and splits each difference into "
		 "strata that add up to it. A difference is called sure only if chance does not "
		 "explain it. That needs three runs or more on each side: two runs alone may "
		 "differ as much although the work is the same.",
	.groups = groups,
	.args = args,
	.examples = examples,
};

static bool passes(void *arg, const struct recording *rec, struct stored_event *ev)
{
	struct side *s = arg;

	return recording_filter_passes(&s->filter, rec, ev);
}

static void begins(void *arg)
{
	struct side *s = arg;

	recording_filter_begin(&s->filter);
}

static int own_frame(void *arg, const struct catalog *c, const struct catalog_stack *s)
{
	struct side *side = arg;

	return recorded_own_frame(&side->cmd->hide, c, s);
}

static void progress_draw(struct compare_cmd *o)
{
	progress_show(&o->progress, o->sides[BASE].read_bytes + o->sides[NEW].read_bytes);
}

/* Both threads call this; the main one, which reads NEW, draws. */
static bool goes_on(void *arg, uint64_t bytes)
{
	struct side *s = arg;

	s->read_bytes = s->done_bytes + bytes;
	if (s == &s->cmd->sides[NEW])
		progress_draw(s->cmd);
	return !interrupt_came();
}

/* Each side has a separate filter: a filter keeps state, and the sides are read at once. */
static void filters_set(struct compare_cmd *o)
{
	char looked_for[FILTERS_TEXT], of_ops[64];

	filters_text(&o->given, looked_for, sizeof(looked_for));
	filters_of_ops(&o->given, false, of_ops, sizeof(of_ops));
	if (of_ops[0])
		run_say_of_ops(of_ops);
	for (int side = 0; side < SIDES; side++) {
		struct side *s = &o->sides[side];

		s->cmd = o;
		s->conf.by = o->by;
		s->conf.whole = !o->inputs.at;
		s->conf.own_frame = own_frame;
		s->symbols.places = o->symbols;
		s->conf.namer = recorded_symbols_namer(&s->symbols);
		s->conf.goes_on = goes_on;
		s->conf.arg = s;
		s->filter.given = o->given;
		recording_filter_init(&s->filter);
		if (!looked_for[0])
			continue;
		s->conf.passes = passes;
		s->conf.begins = begins;
	}
}

/* Sets the part of the time for each side. Returns 0, or -1 with @why. */
static int part_set(struct compare_cmd *o, struct reason *why)
{
	const struct recording_part *part = &o->part;
	uint64_t at = o->inputs.at_ns;

	if (recording_part_check(part, why))
		return -1;
	if (at && (at <= part->from_ns || (part->to_ns && at >= part->to_ns)))
		return reason_set(why, EXIT_USAGE, "--at %.60s is not between --from and --to",
				  o->inputs.at);
	for (int side = 0; side < SIDES; side++) {
		o->sides[side].conf.from_ns = part->from_ns;
		o->sides[side].conf.to_ns = part->to_ns;
	}
	if (at)
		o->sides[BASE].conf.to_ns = o->sides[NEW].conf.from_ns = at;
	return 0;
}

static int resolve(struct compare_cmd *o, char **rest, int n, struct reason *why)
{
	if (o->fail_undecided && !o->fail_if.n)
		return reason_set(why, EXIT_USAGE, "--fail-undecided needs --fail-if");
	if (o->json && o->csv)
		return reason_set(why, EXIT_USAGE, "--json and --csv are two forms: choose one");
	for (unsigned int i = 0; i < o->fail_if.n; i++)
		if (fail_if_parse(o->fail_if.at[i], &o->limits[i], why))
			return -1;
	if (o->by == BY_HOST)
		return breakdown_no_hosts(why);
	if (breakdown_check_recorded(o->by, why))
		return -1;
	if (o->by == BY_STACK)
		return breakdown_no_stacks(o->by, "compare", why);
	if (recorded_symbols_check(&o->symbols, why))
		return -1;
	if ((o->hide.n || o->symbols.n) && !BY_NEEDS_STACKS(o->by))
		return reason_set(why, EXIT_USAGE,
				  "%s is for --by function, --by line and --by library",
				  o->hide.n ? "--hide" : "--symbols");
	if (o->by == BY_DIR)
		return reason_set(why, EXIT_USAGE, "compare has --by file, not --by dir");
	if (filters_ops(&o->given, why))
		return -1;
	if (compare_inputs_set(&o->inputs, rest, n, why))
		return -1;
	if (part_set(o, why))
		return -1;
	for (int side = 0; side < SIDES; side++) {
		o->sides[side].names = o->inputs.names[side];
		o->sides[side].n = o->inputs.n[side];
		o->sides[side].runs = calloc(o->sides[side].n, sizeof(struct series));
		if (!o->sides[side].runs)
			return reason_no_memory(why);
	}
	o->out = newfile_output(o->output, stdout, why);
	if (!o->out)
		return -1;
	filters_set(o);
	return 0;
}

static int file_read(struct side *s, size_t i, struct reason *why)
{
	const char *name = s->names[i];
	FILE *f = infile_open(name, why);
	int got;

	if (!f)
		return -1;
	got = series_read(&s->runs[i], f, name, &s->conf, why);
	infile_close(f);
	s->done_bytes = s->read_bytes;
	return got;
}

static void *side_read(void *arg)
{
	struct side *s = arg;
	struct reason why;
	int got;

	for (size_t i = 0; i < s->n && s->status >= 0; i++) {
		got = file_read(s, i, &why);
		if (!got || (got > 0 && s->status))
			continue;
		s->status = got;
		s->why = why;
	}
	return NULL;
}

/* The size of all files, or 0 if not known. */
static uint64_t bytes_of(const struct compare_cmd *o)
{
	uint64_t sum = 0;
	struct stat st;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < o->sides[side].n; i++) {
			if (stat(o->sides[side].names[i], &st) || !S_ISREG(st.st_mode))
				return 0;
			sum += st.st_size;
		}
	}
	return sum;
}

/* Waits for the thread reading BASE. */
static void side_wait(struct compare_cmd *o, pthread_t thread)
{
	struct timespec until;

	do {
		progress_draw(o);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
	} while (pthread_timedjoin_np(thread, NULL, &until));
}

/* Reads both sides at the same time. 0; the exit code after a message; negative: it is fatal. */
static int sides_read(struct compare_cmd *o)
{
	pthread_t thread;
	bool apart;
	int status = 0;

	progress_begin(&o->progress, stderr, bytes_of(o));
	apart = !pthread_create(&thread, NULL, side_read, &o->sides[BASE]);
	if (!apart)
		side_read(&o->sides[BASE]);
	side_read(&o->sides[NEW]);
	if (apart)
		side_wait(o, thread);
	progress_end(&o->progress);
	for (int side = 0; side < SIDES; side++) {
		struct side *s = &o->sides[side];

		/* the same file, or the way it is named, is wrong on both sides */
		if (s->status && !(status && (o->inputs.at || status == EXIT_USAGE)))
			status = cmd_fail(&s->why);
	}
	return o->sides[BASE].status < 0 || o->sides[NEW].status < 0 ? -status : status;
}

/* Refuses an --at or --from past the end. Returns 0, or -1 with @why. */
static int part_reached(const struct compare_cmd *o, struct reason *why)
{
	const struct series *after = &o->sides[NEW].runs[0];

	if (o->inputs.at && !after->duration_ns)
		return reason_set(why, EXIT_FAILED,
				  "--at %.60s is past the end of '%.100s', which is %s long",
				  o->inputs.at, after->name,
				  text_ns(o->part.from_ns + o->sides[BASE].runs[0].duration_ns).s);
	for (int side = 0; side < SIDES && o->part.from_ns; side++)
		for (size_t i = 0; i < o->sides[side].n; i++)
			if (!o->sides[side].runs[i].duration_ns)
				return recording_part_past(&o->part, o->sides[side].names[i], why);
	return 0;
}

/* Says that a limit has no row. The exit code. */
static int limit_absent(const struct fail_if *limit)
{
	struct reason why;

	reason_set(&why, EXIT_FAILED,
		   "--fail-if '%.100s' judges nothing: no such row is on both "
		   "sides",
		   limit->text);
	reason_hint(&why, "'iostrata compare -v' without --fail-if lists the rows");
	return cmd_fail(&why);
}

/* Judges --fail-if. The exit code: a limit that judges nothing guards nothing. */
static int limits_judge(struct compare_cmd *o, const struct compare *c)
{
	int status = 0, failed = 0;

	for (unsigned int i = 0; i < o->fail_if.n; i++) {
		enum fail_if_state state;
		struct reason why;

		if (fail_if_judge(&o->limits[i], c)) {
			reason_no_memory(&why);
			return cmd_fail(&why);
		}
		state = o->limits[i].result.state;
		if (state == FAIL_IF_BROKEN || (state == FAIL_IF_UNDECIDED && o->fail_undecided))
			failed = EXIT_CHANGED;
		if (state == FAIL_IF_ABSENT)
			status = limit_absent(&o->limits[i]);
	}
	return failed ? failed : status;
}

static int print(struct compare_cmd *o, const struct compare *c)
{
	struct compare_view v = {
		.c = c,
		.limits = o->limits,
		.n_limits = o->fail_if.n,
		.by = o->by,
		.at = o->inputs.at,
		.detail = o->detail,
		.rows_max = o->rows_max ? o->rows_max : ROWS_SHOWN,
		.color = cmd_wants_color(fileno(o->out)),
	};

	if (o->csv)
		return cmd_written(compare_csv(o->out, &v));
	return cmd_written(o->json ? compare_json(o->out, &v) : compare_text(o->out, &v));
}

/* The exit code. */
static int compare_files(struct compare_cmd *o)
{
	struct compare c = {};
	struct reason why;
	int damaged = sides_read(o), status, err;

	if (damaged < 0)
		return -damaged;
	for (int side = 0; side < SIDES; side++) {
		c.runs[side] = o->sides[side].runs;
		c.n_runs[side] = o->sides[side].n;
	}
	c.parts = o->inputs.at;
	if (part_reached(o, &why) || compare_runs(&c, &why)) {
		compare_done(&c);
		return cmd_fail(&why);
	}
	status = limits_judge(o, &c);
	err = print(o, &c);
	compare_done(&c);
	return err ? err : damaged ? damaged : status;
}

static void cmd_done(struct compare_cmd *o, int status)
{
	for (int side = 0; side < SIDES; side++) {
		struct side *s = &o->sides[side];

		for (size_t i = 0; i < s->n && s->runs; i++)
			series_done(&s->runs[i]);
		free(s->runs);
		recording_filter_done(&s->filter);
		recorded_symbols_done(&s->symbols);
	}
	compare_inputs_done(&o->inputs);
	if (o->out)
		newfile_close(o->out, o->output, status == EXIT_FAILED || status == EXIT_USAGE);
}

static int compare(int argc, char **argv)
{
	struct compare_cmd o = {};
	struct opts_result res;
	struct reason why;
	int status = cmd_parse(&cmd_compare, argc, argv, &o, &res);

	if (status >= 0)
		return status;
	interrupt_catch();
	status = resolve(&o, res.rest, res.n_rest, &why) ? cmd_fail(&why) : compare_files(&o);
	cmd_done(&o, status);
	return status;
}

const struct cmd cmd_compare = { "compare", &table, compare, false };
