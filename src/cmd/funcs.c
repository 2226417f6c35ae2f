// SPDX-License-Identifier: GPL-2.0-only
/*
 * funcs.c - counts and times functions. The run has another source than I/O: the session in
 * src/funcs/.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "funcs/func_print.h"
#include "funcs/func_screen.h"
#include "funcs/func_session.h"
#include "run/run.h"
#include "show/screen.h"
#include "show/view_parts.h"

enum { MOST_FUNCTIONS = 2000 };

struct funcs {
	struct run run;
	/* options */
	int by, sort, probe;
	uint64_t most, max;
	bool tree, folded, csv, list, histograms, milliseconds, batch;
	/* state */
	bool screen, killed_said;
	struct func_session *session;
	struct func_session_conf conf;
	struct funcs_view view;
	struct func_snapshot interval; /* the interval on the screen */
	struct funcs_ui ui;
	struct utsname uts;
};

static const struct opt_choice by_choices[] = {
	{ "pid", FUNC_ROWS_PID },
	{ "tid", FUNC_ROWS_TID },
	{ "comm", FUNC_ROWS_COMM },
	{ "cgroup", FUNC_ROWS_CGROUP },
	{},
};

static const struct opt_choice by_also[] = {
	{ "process", FUNC_ROWS_PID },
	{ "thread", FUNC_ROWS_TID },
	{ "command", FUNC_ROWS_COMM },
	{},
};

enum { SORT_TOTAL, SORT_SELF, SORT_COUNT, SORT_MEAN, SORT_MAX, SORT_P99 };

static const struct opt_choice sort_choices[] = {
	{ "total", SORT_TOTAL },
	{ "self", SORT_SELF },
	{ "count", SORT_COUNT },
	{ "mean", SORT_MEAN },
	{ "max", SORT_MAX },
	{ "p99", SORT_P99 },
	{},
};

enum {
	PROBE_BEST,
	KPROBE_SESSION,
	KPROBE_MULTI,
	FSESSION,
	FENTRY,
	KPROBE,
	UPROBE_SESSION,
	UPROBE_MULTI,
	UPROBE,
};

static const struct opt_choice probe_choices[] = {
	{ "kprobe.session", KPROBE_SESSION },
	{ "kprobe.multi", KPROBE_MULTI },
	{ "fsession", FSESSION },
	{ "fentry", FENTRY },
	{ "kprobe", KPROBE },
	{ "uprobe.session", UPROBE_SESSION },
	{ "uprobe.multi", UPROBE_MULTI },
	{ "uprobe", UPROBE },
	{},
};

static const struct opt measure_opts[] = {
	{ 0, "by", OPT_CHOICE(struct funcs, by, by_choices), .also = by_also, .arg = "KEY",
	  .help = "a row per function and key" },
	{ 0, "tree", OPT_FLAG(struct funcs, tree),
	  .help = "also the tree of calls among the traced functions" },
	{ 0, "subtract", OPT_FLAG(struct funcs, conf.subtract),
	  .help = "subtract the cost of the probes from the times" },
	{ 0, "probe", OPT_CHOICE(struct funcs, probe, probe_choices), .arg = "KIND",
	  .help = "how functions are probed (default: the best way of this kernel)" },
	{ 0, "risk-exceptions", OPT_FLAG(struct funcs, conf.risk_exceptions),
	  .help = "also trace user programs with exceptions: an exception thrown through a traced "
		  "function kills the program" },
	{ 0, "max", OPT_UINT(struct funcs, max), .arg = "N", .min = 1, .max = 100000,
	  .help = "at most this many functions (default: 2000)" },
	{},
};

static const struct opt output_opts[] = {
	{ 0, "list", OPT_FLAG(struct funcs, list),
	  .help = "only list the functions that match, with the reason if one cannot be traced" },
	{ 0, "sort", OPT_CHOICE(struct funcs, sort, sort_choices), .arg = "COLUMN",
	  .help = "the biggest of this column first (default: total)" },
	{ 'n', "rows", OPT_UINT(struct funcs, most), .arg = "N",
	  .help = "at most this many rows of a table, 0: all (default: 40)" },
	{ 'H', "histograms", OPT_FLAG(struct funcs, histograms),
	  .help = "a histogram for every row" },
	{ 'b', "batch", OPT_FLAG(struct funcs, batch), .help = "text, as without a terminal" },
	{ 'm', "milliseconds", OPT_FLAG(struct funcs, milliseconds),
	  .help = "times in milliseconds (default: the unit that fits)" },
	{ 0, "csv", OPT_FLAG(struct funcs, csv), .help = "lines of name(),count,total_us" },
	{ 0, "folded", OPT_FLAG(struct funcs, folded),
	  .help = "lines of a;b;c and the self time of c in ns, for flame graphs" },
	{},
};

static const struct opt who_opts[] = {
	{ 'p', "pid", OPT_UINTS(struct filters, pids), .arg = "PID", .min = 1, .max = 2147483647,
	  .no_number = "-p takes numbers, as from pgrep",
	  .help = "only this process, all its threads" },
	{ 0, "system", OPT_FLAG(struct filters, system),
	  .help = "with -- CMD: trace all processes, not only the command" },
	{},
};

static const struct opt_group groups[] = {
	{ "Measurement", measure_opts, 0 },
	{ "Output", output_opts, 0 },
	{ "Filters", who_opts, offsetof(struct run, opts.filters) },
	{ "Run", run_opts, 0 },
	{},
};

static const struct opt args[] = {
	{ OPT_STRING(struct funcs, conf.probe), .arg = "PATTERN", .required = true, .many = true,
	  .help = "functions: a glob, /regex/, MODULE:glob, PATH:glob or c:glob (the C library); "
		  "!PATTERN leaves functions out; INTERVAL and COUNT may follow, for a table "
		  "after each interval" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata funcs 'ext4_*'", "all functions of ext4, until Ctrl-C" },
	{ "iostrata funcs 'xfs:*' '!xfs_trans_*' 1",
	  "functions of a module, live, every second; h: keys" },
	{ "iostrata funcs --tree 'vfs_*' -- tar cf x /usr", "the tree of calls in a command" },
	{ "iostrata funcs --sort p99 -p 6681 'blk_*'", "functions called by a process" },
	{ "iostrata funcs '/^(vfs|ext4)_.*write/' --list",
	  "the functions that match the regular expression" },
	{ "iostrata funcs 'c:pread*' -p 6681", "functions of the C library" },
	{},
};

static const struct opt_columns columns[] = { { "Functions", funcs_columns }, {} };

static const struct opt_table table = {
	.name = "iostrata funcs",
	.summary = "count and time of every function that matches",
	.about = "Counts the calls of functions of the kernel, or of user programs and libraries, "
		 "and adds up their time: total includes everything called by a function, self "
		 "leaves out the traced functions called by it. Nested and recursive calls are "
		 "counted exactly.",
	.groups = groups,
	.args = args,
	.command = true,
	.examples = examples,
	.columns = columns,
};

static struct funcs *funcs_of(struct run *r)
{
	return (struct funcs *)r; /* its first member */
}

/* The name of a function begins neither with a digit, nor with a point and a digit. */
static bool is_number(const char *arg)
{
	return strspn(arg + (*arg == '.'), "0123456789") > 0;
}

static int numbers_read(struct run *r, int n, struct reason *why)
{
	uint64_t *values[] = { &r->opts.interval_ns, &r->opts.count };
	char **at = r->rest + r->n_rest - n;
	struct opts_wrong wrong;

	if (n > 2)
		return reason_set(why, EXIT_USAGE, "more than INTERVAL and COUNT: '%.60s'", at[2]);
	for (int i = 0; i < n; i++) {
		if (!opts_number(&run_args[i], at[i], values[i], &wrong))
			continue;
		reason_set(why, EXIT_USAGE, "invalid value '%.60s' for %s: %s", at[i],
			   run_args[i].arg, wrong.why);
		return reason_hint(why, "%s",
				   *wrong.hint ? wrong.hint : "see 'iostrata funcs --help'");
	}
	return 0;
}

static int arguments_read(struct funcs *f, struct reason *why)
{
	struct run *r = &f->run;
	int n = 0;

	while (n < r->n_rest && is_number(r->rest[r->n_rest - 1 - n]))
		n++;
	if (n == r->n_rest)
		return reason_set(why, EXIT_USAGE, "PATTERN is missing");
	f->conf.patterns = r->rest;
	f->conf.n_patterns = r->n_rest - n;
	return numbers_read(r, n, why);
}

static int options_check(const struct funcs *f, struct reason *why)
{
	bool tree = f->tree || f->folded;

	if (tree && f->by)
		return reason_set(why, EXIT_USAGE, "--by and a tree exclude one another");
	if (f->csv + f->folded + f->run.opts.json > 1)
		return reason_set(why, EXIT_USAGE,
				  "--json, --csv and --folded exclude one another");
	if (f->csv && f->by)
		return reason_set(why, EXIT_USAGE, "--csv has no column for --by");
	if (f->csv && f->tree)
		return reason_set(why, EXIT_USAGE, "--csv has no tree; --folded prints it");
	return 0;
}

static const char *name_of(const struct opt_choice *list, int value)
{
	for (const struct opt_choice *c = list; c->name; c++)
		if (c->value == value)
			return c->name;
	return NULL;
}

/* Draws a bar on a terminal, if there are many probes; the bar is removed when all are attached. */
static void say_attaching(size_t done, size_t all)
{
	enum { FEW = 16, STEP = 8, WIDTH = 40 };
	int stars = all ? done * WIDTH / all : WIDTH;

	if (all <= FEW || !isatty(STDERR_FILENO))
		return;
	if (done == all)
		fprintf(stderr, "\r\033[K");
	else if (done % STEP == 0)
		fprintf(stderr, "\rattaching [%.*s%*s] %zu/%zu", stars,
			"****************************************", WIDTH - stars, "", done, all);
	fflush(stderr);
}

static bool progress(size_t done, size_t all)
{
	say_attaching(done, all);
	return !run_interrupted();
}

/* The process may load or execute the file later. */
static void say_unused(unsigned int pid, const char *path)
{
	char safe[TEXT_SAFE_CAP(PATH_MAX)];

	text_safe(safe, sizeof(safe), path);
	cmd_say("process %u does not use '%s' now; /proc/%u/maps lists its files", pid, safe, pid);
}

static void conf_fill(struct funcs *f)
{
	struct func_session_conf *c = &f->conf;

	c->probe = name_of(probe_choices, f->probe);
	c->rows = f->tree || f->folded ? FUNC_ROWS_TREE : f->by;
	c->stats = f->run.opts.overhead;
	c->follow = f->run.follow;
	c->pids = f->run.lists.pids;
	c->n_pids = f->run.lists.n_pids;
	c->max = f->max;
	c->progress = progress;
	c->unused = say_unused;
	f->run.names_cgroups = f->by == FUNC_ROWS_CGROUP;
}

static void say_no_times(const struct func_list *l)
{
	char safe[TEXT_SAFE_CAP(512)];

	if (!l->no_times)
		return;
	text_safe(safe, sizeof(safe), l->no_times);
	cmd_say("times are not measured, calls are only counted: %s", safe);
}

/* Says so once if a traced process was killed, probably by probes. */
static void say_killed(struct funcs *f, const struct func_snapshot *sn)
{
	struct reason why;

	if (!sn->killed_by || f->killed_said)
		return;
	f->killed_said = true;
	reason_set(&why, EXIT_FAILED,
		   "process %u was killed by SIG%s, perhaps because of the probes: %s",
		   sn->killed_tgid, sigabbrev_np(sn->killed_by),
		   sn->killed_by == SIGABRT
			   ? "an exception thrown through a traced function ends a program"
			   : "a program which switches stacks crashes when its returns are probed");
	reason_hint(&why, "see FUNCTIONS OF PROGRAMS AND LIBRARIES in 'man iostrata-funcs'; "
			  "functions of the kernel can be traced: 'vfs_*'");
	cmd_warn(&why);
}

static int list(struct funcs *f, struct reason *why)
{
	struct func_list l;

	if (func_session_list(&f->conf, &l, why))
		return -1;
	say_no_times(&l);
	f->run.exit = cmd_written(func_list_text(stdout, &l));
	func_list_free(&l);
	return 1;
}

/* The screen needs an interval, and a terminal to which only the tool writes. */
static bool is_for_screen(const struct funcs *f)
{
	const struct run *r = &f->run;

	return r->opts.interval_ns && !r->command && !f->batch && !r->opts.json && !f->csv &&
	       !f->folded && !f->histograms && screen_possible(stdin, stdout);
}

static int resolve(struct run *r, struct reason *why)
{
	struct funcs *f = funcs_of(r);

	if (r->opts.strict_but)
		return reason_set(why, EXIT_USAGE,
				  "--strict-but is for losses of operations and requests");
	if (options_check(f, why) || arguments_read(f, why))
		return -1;
	conf_fill(f);
	f->screen = is_for_screen(f);
	r->stdout_taken = f->csv || f->folded;
	return f->list ? list(f, why) : 0;
}

static int open_session(struct run *r, struct reason *why)
{
	struct funcs *f = funcs_of(r);

	return func_session_open(&f->conf, &f->session, why);
}

static void close_session(struct run *r)
{
	struct func_session *s = funcs_of(r)->session;
	int hold;

	screen_close();
	hold = func_session_is_slow_to_close(s) ? child_hold_open() : -1;
	func_session_close(s);
	child_let_go(hold);
}

static void beat(struct run *r)
{
	func_session_beat(funcs_of(r)->session);
}

static int screen_start(struct funcs *f, struct reason *why)
{
	func_ui_init(&f->ui, &f->view, f->run.opts.interval_ns);
	f->ui.tree = f->tree;
	if (screen_open(stdin, stdout, !getenv("NO_COLOR"), why))
		return -1;
	f->run.keyboard = true;
	func_ui_draw(&f->ui);
	return 0;
}

/* The line "tracing ..." names the functions before the filters. */
static int start(struct run *r, struct reason *why)
{
	struct funcs *f = funcs_of(r);
	struct funcs_view *v = &f->view;
	char filters[sizeof(r->looked_for)];
	size_t n;

	uname(&f->uts);
	say_no_times(func_session_funcs(f->session));
	v->funcs = func_session_funcs(f->session);
	v->probe = func_session_probe(f->session);
	v->cost = func_session_cost(f->session);
	v->by = name_of(by_choices, f->by);
	v->sort = v->funcs->no_times ? "count" : name_of(sort_choices, f->sort);
	v->most = f->most;
	v->tree = f->tree || f->folded;
	v->subtract = f->conf.subtract;
	v->histograms = f->histograms;
	v->milliseconds = f->milliseconds;
	v->width = terminal_width(fileno(r->out));
	v->kernel = f->uts.release;
	v->every_ns = r->opts.interval_ns;
	n = func_traced(v->funcs);
	memcpy(filters, r->looked_for, sizeof(filters));
	snprintf(r->looked_for, sizeof(r->looked_for), "%s function%s by %s%s%.300s",
		 text_count(n).s, text_plural(n), v->probe, filters[0] ? ", " : "", filters);
	return f->screen ? screen_start(f, why) : 0;
}

/* Takes over the rows of @sn. While paused, the screen does not change. */
static int show(struct funcs *f, struct func_snapshot *sn)
{
	if (f->ui.presses.paused || f->ui.presses.quit)
		return 0;
	func_snapshot_free(&f->interval);
	f->interval = *sn;
	*sn = (struct func_snapshot){};
	f->ui.sn = &f->interval;
	f->ui.day_ns = f->view.until_ns;
	return func_ui_draw(&f->ui);
}

static int print(struct funcs *f, struct func_snapshot *sn)
{
	if (f->screen)
		return show(f, sn);
	if (f->run.opts.json)
		return func_json(f->run.out, &f->view, sn);
	if (f->csv)
		return func_csv(f->run.out, &f->view, sn);
	return (f->folded ? func_folded : func_text)(f->run.out, &f->view, sn);
}

static int report(struct run *r, struct reason *why)
{
	struct funcs *f = funcs_of(r);
	struct func_snapshot sn;
	uint64_t lost = 0;
	int err;

	if (func_session_snapshot(f->session, &sn, why))
		return -1;
	for (int i = 0; i < FUNC_LOSS_N; i++)
		lost += sn.lost[i];
	run_count_lost(r, lost);
	f->view.until_ns = clock_day_ns();
	err = print(f, &sn);
	say_killed(f, &sn);
	func_snapshot_free(&sn);
	return run_written(r, err, why);
}

static bool presses(struct run *r)
{
	struct funcs *f = funcs_of(r);
	struct presses *p = &f->ui.presses;

	if (!f->screen || !presses_handle(p))
		return p->quit; /* q may have been pressed at the end of an interval */
	r->opts.interval_ns = p->interval_ns;
	func_ui_draw(&f->ui);
	return p->quit;
}

static const struct run_source source = {
	.open = open_session,
	.open_sees_signals = true,
	.beat = beat,
	.report = report,
	.close = close_session,
};

static const struct run_ops ops = {
	.source = &source,
	.resolve = resolve,
	.start = start,
	.beat = presses,
};

static int funcs(int argc, char **argv)
{
	struct funcs f = { .max = MOST_FUNCTIONS, .most = 40 };
	int status = run_main(&f.run, &ops, &cmd_funcs, argc, argv);

	func_snapshot_free(&f.interval);
	return status;
}

const struct cmd cmd_funcs = { "funcs", &table, funcs, true };
