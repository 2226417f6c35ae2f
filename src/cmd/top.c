// SPDX-License-Identifier: GPL-2.0-only
/*
 * top.c - shows live which processes, files, disks or servers have the I/O; top_recording.c shows
 * a recording. The table and the screen are in src/top/.
 */
#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "cmd/top_recording.h"
#include "host/container_names.h"
#include "host/lookup.h"
#include "run/io.h"
#include "show/breakdown_text.h"
#include "show/screen.h"
#include "stacks/stack_join.h"
#include "top/top_print.h"
#include "top/top_screen.h"
#include "top/top_table.h"

enum { TEXT_WIDTH = 160 };

struct top {
	struct io_run io;
	/* options */
	int view;
	const char *sort;
	uint64_t max_rows;
	bool batch, no_clear, all_stacks;
	struct opt_strings hide;
	struct recorded_symbols symbols; /* of a recording */
	const char *file;                /* a recording to replay; NULL: live */
	/* state */
	enum by_key callers; /* BY_FUNCTION, BY_LINE or BY_LIBRARY: rows are of callers */
	bool screen, clear;
	struct top_names names;
	struct container_names containers;
	struct snapshot interval; /* the interval on the screen */
	struct top_total total;
	struct slow_op slowest[TOP_SLOWEST];
	struct top_key slowest_of; /* the row of .slowest, while the page of this row is open */
	struct top_ui ui;
	struct utsname uts;
	char load[64];
	uint64_t bpf_run_ns, bpf_run_cnt; /* with --overhead, up to the last interval; else 0 */
	char gone[256];                   /* vanished targets of filters; safe */
};

static const struct opt_choice by_choices[] = {
	{ "pid", TOP_PROCESS },
	{ "tid", TOP_THREAD },
	{ "comm", TOP_COMM },
	{ "file", TOP_FILE },
	{ "dev", TOP_DISK },
	{ "cgroup", TOP_CGROUP },
	{ "container", TOP_CONTAINER },
	{ "server", TOP_SERVER },
	{ "function", TOP_CALLER_FUNCTION },
	{ "line", TOP_CALLER_LINE },
	{ "library", TOP_CALLER_LIBRARY },
	{},
};

static const struct opt_choice by_also[] = {
	{ "process", TOP_PROCESS }, { "thread", TOP_THREAD }, { "command", TOP_COMM },
	{ "device", TOP_DISK },     { "disk", TOP_DISK },     {},
};

static const struct opt output_opts[] = {
	{ 0, "by", OPT_CHOICE(struct top, view, by_choices), .also = by_also, .arg = "KEY",
	  .help = "a row per key (default: pid; keys of the screen change it)" },
	{ 0, "sort", OPT_STRING(struct top, sort), .arg = "COLUMN", .columns = top_figure_columns,
	  .help = "the largest of this column first (default: bytes, of callers total); JSON is in "
		  "no order" },
	{ 'r', "rows", OPT_UINT(struct top, max_rows), .arg = "ROWS", .min = 1,
	  .help = "at most this many rows of text (default: 20)" },
	{ 'b', "batch", OPT_FLAG(struct top, batch), .help = "text, as without a terminal" },
	{ 'C', "no-clear", OPT_FLAG(struct top, no_clear),
	  .help = "do not clear the terminal before each table of text" },
	{ 0, "all-stacks", OPT_FLAG(struct top, all_stacks),
	  .help = "with --by function, line or library: take the user stack of each operation "
		  "(default: at most 200 a second for each CPU, from which the figures are "
		  "estimated)" },
	{ 0, "hide", OPT_STRINGS(struct top, hide), .arg = "LIB",
	  .help = "likewise: this library is not the program's own code, as the C library is not: "
		  "libsqlite3" },
	{ 0, "symbols", OPT_PATHS(struct top, symbols.places), .arg = "DIR",
	  .help = "of a recording, " SYMBOLS_HELP },
	{},
};

static const struct opt args[] = {
	{ .arg = "FILE",
	  OPT_STRING(struct top, file),
	  .no_duration = true,
	  .help = "replay this recording instead of tracing" },
	{ OPT_DURATION(struct top, io.run.opts.interval_ns), .arg = "INTERVAL", .min = 10000000,
	  .max = 1000000000000000000,
	  .help = "print after each interval of this length (seconds)" },
	{ OPT_UINT(struct top, io.run.opts.count), .arg = "COUNT", .min = 1,
	  .help = "end after this many intervals; a command goes on running" },
	{},
};

static const struct opt_group groups[] = {
	{ "Output", output_opts, 0 },
	RUN_GROUPS,
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata top", "a full screen, every second; h lists the keys" },
	{ "iostrata top -b 5 3", "three tables of text, one every 5 seconds" },
	{ "iostrata top --by cgroup --sort p99", "cgroups with slow requests first" },
	{ "iostrata top -d nvme0n1 --by file", "the files in use on a busy disk" },
	{ "iostrata top --by server", "how long file servers and FUSE daemons take to answer" },
	{ "iostrata top --by function -p 6681", "which functions of a program wait, each second" },
	{ "iostrata top --json 10 >top.json", "for a program to read" },
	{ "iostrata top trace.ios", "the same screen for a recording: arrows move in its time" },
	{},
};

static const struct opt_columns columns[] = {
	{ "Screen", top_figure_columns },
	{ "Disks", top_disk_columns },
	{ "Callers", top_caller_columns },
	{},
};

static const struct opt_table table = {
	.name = "iostrata top",
	.summary = "who makes the I/O, live",
	.about = "Shows both sides of each process: its operations on files, and its requests to "
		 "disks. --by server shows requests to file servers and FUSE daemons instead, and "
		 "--by function the operations of each function that called them. On a "
		 "terminal, top is a "
		 "full screen with keys; elsewhere, and with "
		 "-- CMD, it prints text like biotop(8): requests by process, disk and operation. "
		 "With "
		 "FILE, it shows a recording instead, at any time.",
	.groups = groups,
	.args = args,
	.command = true,
	.examples = examples,
	.columns = columns,
};

static struct top *top_of(struct run *r)
{
	return (struct top *)r; /* its first member */
}

/* Whether the output has column @name: text has only columns of requests. */
static bool has_column(const struct top *t, const char *name)
{
	bool whole = t->screen || t->io.run.opts.json;
	struct top_columns c = whole ? top_columns_whole(t->view) : top_columns_text(t->view, name);

	return columns_find(c.list, name);
}

static int sort_resolve(const struct top *t, struct reason *why)
{
	struct top_columns c = top_columns_whole(t->view);
	char names[256] = "";

	if (has_column(t, t->sort))
		return 0;
	for (const struct column *col = c.list; column_is(col); col++)
		if (col->name && has_column(t, col->name)) /* command lines have no order */
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 *names ? ", " : "", col->name);
	reason_set(why, EXIT_USAGE, "no column '%.60s'%s", t->sort,
		   columns_find(c.list, t->sort) ? " in text: only the full screen has it" : "");
	return reason_hint(why, "columns are %s", names);
}

/* Sets the key of callers, and checks the options about them. Returns 0, or -1 with @why. */
static int callers_check(struct top *t, struct reason *why)
{
	const char *name;

	t->callers = top_view_callers(t->view);
	if (!t->sort)
		t->sort = top_sort_usual(t->view);
	name = t->hide.n                           ? "--hide"
	       : t->all_stacks                     ? "--all-stacks"
	       : t->symbols.places.n && !t->screen ? "--symbols"
						   : NULL;
	if (t->callers || !name)
		return 0;
	return reason_set(why, EXIT_USAGE, "%s is for --by function, line and library", name);
}

static void stacks_set(struct top *t)
{
	t->io.conf.stacks = t->callers;
	t->io.stack_conf.hide = t->hide;
	if (!t->all_stacks)
		t->io.stack_conf.per_second = stacks_per_second();
}

static int resolve(struct run *r, struct reason *why)
{
	struct top *t = top_of(r);
	struct session_conf *conf = &t->io.conf;

	if (!r->opts.interval_ns)
		r->opts.interval_ns = NS_PER_S;
	t->screen = !t->batch && !r->opts.json && !r->command && screen_possible(stdin, stdout);
	t->clear = !t->no_clear && !r->opts.json && screen_possible(stdin, stdout);
	if (t->symbols.places.n)
		return reason_set(why, EXIT_USAGE,
				  "--symbols is for a recording: live, names come from files in "
				  "/usr/lib/debug, too");
	if (callers_check(t, why) || sort_resolve(t, why))
		return -1;
	if (t->view == TOP_SERVER && r->opts.filters.disks.n) {
		reason_set(why, EXIT_USAGE,
			   "--by server is about requests to servers, and --disk does not filter "
			   "them");
		return reason_hint(why, "'iostrata breakdown --by server -d MOUNT' shows the "
					"operations on a mount");
	}
	if (!t->screen && !r->opts.json && !t->callers &&
	    filters_check_requests(&r->opts.filters, "top's text", why))
		return reason_hint(why, "the full screen and --json have operations, too");
	conf->by = t->view == TOP_FILE ? BY_FILE : BY_THREAD;
	conf->cpu_whole = true;
	/* text shows requests alone; only the operation of a direct request tells its file, and
	 * requests to servers belong to operations */
	if (!t->screen && !r->opts.json && t->view != TOP_FILE && t->view != TOP_SERVER &&
	    !t->callers)
		conf->layer = LAYER_BLK;
	conf->tag_in_queue = conf->layer == LAYER_BLK;
	conf->queued = true; /* percentiles cover the same time as .total_ns */
	conf->rq_sums_only = !t->screen && !r->opts.json && strcmp(t->sort, "p99");
	conf->records = t->screen && !t->callers; /* they have no stacks */
	stacks_set(t);
	return 0;
}

/* Keeps the slowest operations of the row whose page is open. */
static void on_slow_op(void *arg, const struct sent_slow_op *sent)
{
	struct top *t = arg;
	size_t *n = &t->ui.data.n_slowest;
	struct slow_op *place = NULL, op;

	slow_op_set_sent(&op, sent);
	if (top_ui_record_wanted(&t->ui, &op))
		place = slowest_place(t->slowest, n, TOP_SLOWEST, op.total_ns);
	if (!place)
		return;
	*place = op;
	if (*n == TOP_SLOWEST)
		session_set_slow_ns(t->io.session, t->slowest[TOP_SLOWEST - 1].total_ns);
}

/* Enables records of slow operations only while the page of a row is open, and only of operations
 * slower than the mean of this row. */
static void records_follow(struct top *t)
{
	bool wanted = top_ui_row_open(&t->ui);
	const struct top_row *r = wanted ? top_ui_row(&t->ui) : NULL;

	if (wanted && !memcmp(&t->slowest_of, &t->ui.selected, sizeof(t->slowest_of)))
		return;
	t->ui.data.n_slowest = 0;
	t->slowest_of = wanted ? t->ui.selected : (struct top_key){};
	session_set_slow_ns(t->io.session,
			    r && r->ops.count ? r->ops.total_ns / r->ops.count : UINT64_MAX);
}

static void ui_fill(struct top *t)
{
	struct top_ui *ui = &t->ui;

	top_ui_init(ui, t->io.run.opts.interval_ns);
	ui->view = t->view;
	ui->by_file = t->names.by_file;
	ui->no_servers = t->io.run.lists.n_devs;
	ui->callers = t->callers ? t->view : 0;
	snprintf(ui->sort, sizeof(ui->sort), "%s", t->sort);
	ui->data.missing = session_missing(t->io.session);
	ui->data.names = &t->names;
	ui->data.slowest = t->slowest;
	ui->data.load = t->load;
	ui->data.gone = t->gone;
	ui->data.of_ops = t->io.of_ops;
}

static char *cgroup_path(void *arg, unsigned long long id)
{
	(void)arg;
	return lookup_cgroup(id);
}

/* Reads all files here: after the start, none can be opened. */
static int start(struct run *r, struct reason *why)
{
	struct top *t = top_of(r);

	uname(&t->uts);
	t->names.cgroup_path = cgroup_path;
	t->names.containers = &t->containers;
	t->names.by_file = t->view == TOP_FILE;
	ui_fill(t);
	if (!t->screen) {
		run_say_of_ops(t->io.of_ops);
		return 0;
	}
	session_on_slow_op(t->io.session, on_slow_op, t);
	session_set_slow_ns(t->io.session, UINT64_MAX);
	if (screen_open(stdin, stdout, !getenv("NO_COLOR"), why))
		return -1;
	r->keyboard = true;
	top_ui_draw(&t->ui);
	return 0;
}

static void gone_add(struct top *t, const char *kind, unsigned long long a, const char *rest)
{
	size_t len = strlen(t->gone);

	snprintf(t->gone + len, sizeof(t->gone) - len, "%s%s %llu%s", len ? ", " : "gone: ", kind,
		 a, rest);
}

/* Finds vanished targets of --pid, --disk and --cgroup. */
static void gone_look(struct top *t)
{
	const struct filter_lists *l = &t->io.run.lists;
	char path[64], minor[16];

	t->gone[0] = '\0';
	for (unsigned int i = 0; i < l->n_pids; i++) {
		snprintf(path, sizeof(path), "/proc/%u", l->pids[i]);
		if (access(path, F_OK))
			gone_add(t, "process", l->pids[i], "");
	}
	for (unsigned int i = 0; i < l->n_devs; i++) {
		snprintf(minor, sizeof(minor), ":%u", DEV_MINOR(l->devs[i]));
		snprintf(path, sizeof(path), "/sys/dev/block/%u%s", DEV_MAJOR(l->devs[i]), minor);
		if (DEV_MAJOR(l->devs[i]) && access(path, F_OK))
			gone_add(t, "disk", DEV_MAJOR(l->devs[i]), minor);
	}
	for (unsigned int i = 0; i < l->n_cgroups && t->io.conf.by == BY_THREAD; i++) {
		char *cgroup = lookup_cgroup(l->cgroups[i]);

		if (cgroup && cgroup[0] != '/')
			gone_add(t, "cgroup", l->cgroups[i], "");
		free(cgroup);
	}
}

/* "0.52 0.40 0.30": the first three words of /proc/loadavg. */
static void load_read(char *load, size_t cap)
{
	FILE *f = fopen("/proc/loadavg", "re");
	double a, b, c;

	snprintf(load, cap, "-");
	if (f && fscanf(f, "%lf %lf %lf", &a, &b, &c) == 3)
		snprintf(load, cap, "%.2f %.2f %.2f", a, b, c);
	if (f)
		fclose(f);
}

static int report_text(struct top *t, const struct snapshot *sn)
{
	char head[128];
	struct top_text v = {
		.view = t->view,
		.names = &t->names,
		.head = head,
		.sort = t->sort,
		.max_rows = t->max_rows,
		.width = TEXT_WIDTH,
		.clear = t->clear,
		.uncut = !isatty(fileno(t->io.run.out)),
		.gone = t->gone,
		.missing = session_missing(t->io.session),
	};

	snprintf(head, sizeof(head), "%s loadavg: %s",
		 text_clock(clock_day_ns(), t->io.run.opts.interval_ns).s, t->load);
	return top_text(t->io.run.out, &v, sn);
}

static int report_json(struct top *t, const struct snapshot *sn)
{
	struct top_json v = {
		.view = t->view,
		.names = &t->names,
		.kernel = t->uts.release,
		.until_ns = clock_day_ns(),
		.missing = session_missing(t->io.session),
	};

	return top_json(t->io.run.out, &v, sn);
}

/* Takes over the rows of @sn. While paused, the screen does not change, and only the total grows.
 */
static int report_screen(struct top *t, struct snapshot *sn)
{
	int err;

	if (!t->ui.presses.paused)
		snapshot_free(&t->interval); /* before the next interval is kept, to save memory */
	err = top_total_add(&t->total, sn);
	if (err || t->ui.presses.paused || t->ui.presses.quit)
		return err;
	t->interval = *sn;
	*sn = (struct snapshot){};
	t->ui.data.interval = &t->interval;
	t->ui.data.total = &t->total.sum;
	t->ui.data.day_ns = clock_day_ns();
	top_ui_new(&t->ui);
	return top_ui_draw(&t->ui);
}

static int report(struct run *r, struct snapshot *sn)
{
	struct top *t = top_of(r);

	if (sn->has_overhead) {
		t->bpf_run_ns = sn->bpf_run_ns;
		t->bpf_run_cnt = sn->bpf_run_cnt;
	}
	if (t->callers && stack_join(sn, t->callers))
		return -ENOMEM;
	load_read(t->load, sizeof(t->load));
	gone_look(t);
	if (t->screen)
		return report_screen(t, sn);
	return r->opts.json ? report_json(t, sn) : report_text(t, sn);
}

static bool beat(struct run *r)
{
	struct top *t = top_of(r);
	struct presses *p = &t->ui.presses;

	if (!t->screen || !presses_handle(p))
		return p->quit; /* q may have been pressed at the end of an interval */
	r->opts.interval_ns = p->interval_ns;
	records_follow(t);
	top_ui_draw(&t->ui);
	return p->quit;
}

static const struct run_ops ops = {
	.source = &io_source,
	.resolve = resolve,
	.start = start,
	.beat = beat,
};

/* Replays the recording t->file. Returns the exit code. */
static int replay(struct top *t, char **command)
{
	const struct run_opts *o = &t->io.run.opts;
	const char *other = command          ? "a command"
			    : o->duration_ns ? "--duration"
			    : o->overhead    ? "--overhead"
			    : o->strict      ? "--strict"
			    : t->all_stacks  ? "--all-stacks"
			    : o->filters.system || o->filters.all_files || o->filters.all_faults ||
					    o->filters.op_requests || o->filters.children
				    ? "an option of the group 'Scope'"
				    : NULL;
	struct reason why;

	t->screen = !t->batch && !o->json && screen_possible(stdin, stdout);
	if (other) {
		reason_set(&why, EXIT_USAGE, "%s is for tracing, and '%.100s' is a recording",
			   other, t->file);
		return cmd_fail(&why);
	}
	if (recorded_symbols_check(&t->symbols.places, &why) || callers_check(t, &why) ||
	    sort_resolve(t, &why))
		return cmd_fail(&why);
	return top_replay_main(&(struct top_replay_conf){
		.file = t->file,
		.view = t->view,
		.sort = t->sort,
		.max_rows = t->max_rows,
		.interval_ns = o->interval_ns ? o->interval_ns : NS_PER_S,
		.count = o->count,
		.json = o->json,
		.screen = t->screen,
		.filters = &o->filters,
		.hide = t->hide,
		.symbols = &t->symbols,
	});
}

/* Copies of the arguments, which the parser moves and cuts; NULL without memory. Release with
 * free(). */
static char **args_copy(int argc, char **argv)
{
	size_t pointers = (argc + 1) * sizeof(char *), bytes = pointers;
	char **copies, *at;

	for (int i = 0; i < argc; i++)
		bytes += strlen(argv[i]) + 1;
	copies = malloc(bytes);
	if (!copies)
		return NULL;
	at = (char *)copies + pointers;
	for (int i = 0; i < argc; i++) {
		copies[i] = at;
		at = stpcpy(at, argv[i]) + 1;
	}
	copies[argc] = NULL;
	return copies;
}

/* Whether the arguments name a recording; then it is shown, with the exit code in @ret. */
static bool replayed(struct top *t, int argc, char **argv, int *ret)
{
	char **copies = args_copy(argc, argv);
	struct opts_result res;
	bool is_file = copies && !opts_parse(&table, argc, copies, t, &res) && t->file;

	if (is_file)
		*ret = replay(t, res.command);
	recorded_symbols_done(&t->symbols);
	free(copies);
	return is_file;
}

static int top(int argc, char **argv)
{
	struct top t = { .io.report = report, .max_rows = 20 }, look = t;
	int status;

	if (replayed(&look, argc, argv, &status))
		return status;
	status = run_main(&t.io.run, &ops, &cmd_top, argc, argv);

	screen_close();
	overhead_say(stderr, t.bpf_run_ns, t.bpf_run_cnt);
	top_ui_done(&t.ui);
	top_total_done(&t.total);
	snapshot_free(&t.interval);
	top_names_done(&t.names);
	container_names_done(&t.containers);
	return status;
}

const struct cmd cmd_top = { "top", &table, top, true };
