// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown.c - the command to sum up a run over all layers: where the time of I/O operations went.
 * Its tables are in common/breakdown_opts.h and show/.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/reason.h"
#include "common/breakdown_opts.h"
#include "host/container.h"
#include "host/container_names.h"
#include "host/limits.h"
#include "host/mounts.h"
#include "host/newfile.h"
#include "run/io.h"
#include "show/columns.h"
#include "show/page.h"

struct breakdown {
	struct io_run io;
	struct breakdown_opts opts;
	bool sites, helpers, append;
	bool stacks, folded, all_stacks;
	struct opt_strings hide;
	const char *html; /* the page; NULL: none */
	bool commands;    /* it shows command lines */
	/* state */
	FILE *out; /* the output */
	struct breakdown_view view;
	struct slow_op *slowest; /* biggest first, n_slowest of slowest_max */
	size_t n_slowest;
	struct utsname uts;
	struct container_names names;
};

/* These options need a live run: a recording has no such rows. */
static const struct opt more_opts[] = {
	{ 0, "why", OPT_FLAG(struct breakdown, sites),
	  .help = "where in the kernel threads slept, for sleeps without another explanation" },
	{ 0, "helpers", OPT_FLAG(struct breakdown, helpers),
	  .help = "the work of kernel threads and io_uring workers: requests, times, and the "
		  "processes that they worked for" },
	{ 0, "stacks", OPT_FLAG(struct breakdown, stacks),
	  .help = "which functions of programs called the operations with most time, and their "
		  "callers" },
	{ 0, "folded", OPT_FLAG(struct breakdown, folded),
	  .help = "in place of tables: a line for each user stack and stratum, for flame graphs" },
	{ 0, "all-stacks", OPT_FLAG(struct breakdown, all_stacks),
	  .help = "take the user stack of each operation (default: at most 200 a second for each "
		  "CPU, from which the figures are estimated)" },
	{ 0, "hide", OPT_STRINGS(struct breakdown, hide), .arg = "LIB",
	  .help = "with user stacks: this library is not the program's own code, as the C library "
		  "is not: libsqlite3" },
	{},
};

static const struct opt append_opts[] = {
	{ 0, "append", OPT_FLAG(struct breakdown, append),
	  .help = "with -o: add to the end of the file, if it exists" },
	{ 0, "html", OPT_STRING(struct breakdown, html), .arg = "OUT.html",
	  .help = "write a page for browsers to this new file: the answer, the slowest operations, "
		  "tables" },
	{ 0, "commands", OPT_FLAG(struct breakdown, commands), .help = PAGE_COMMANDS_HELP },
	{},
};

static const struct opt_group groups[] = {
	{ "Measurement", breakdown_measure_opts, offsetof(struct breakdown, opts) },
	{ "More tables", more_opts, 0 },
	{ "Output", breakdown_output_opts, offsetof(struct breakdown, opts) },
	{ "More output", append_opts, 0 },
	RUN_GROUPS,
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata breakdown", "everybody's I/O, until Ctrl-C" },
	{ "iostrata breakdown -- make -j8", "the I/O of a command and of all its descendants" },
	{ "iostrata breakdown -p 6681 1", "the I/O of a process, every second" },
	{ "iostrata breakdown --html page.html -- make", "a page to send to a colleague" },
	{ "iostrata breakdown --by file -D 10", "a row per file, for 10 seconds" },
	{ "iostrata breakdown --by file --pattern -p 6681",
	  "how a process reads and writes each file: sizes, and sequential or random" },
	{ "iostrata breakdown --slowest 5 --op fsync",
	  "the five slowest fsyncs, each with its strata" },
	{ "iostrata breakdown -T ext4",
	  "ext4 alone: a histogram per operation (where 'iostrata doctor' has file systems)" },
	{ "iostrata breakdown -T blk -d nvme0n1 -Q", "a disk's requests with their queue time" },
	{},
};

static const struct opt_columns columns[] = {
	{ "Operations", op_columns },
	{ "Requests", rq_columns },
	{ "Helpers", helper_columns },
	{ "Times of helpers", helper_time_columns },
	{ "Sleeps", site_columns },
	{ "Patterns", rq_pattern_columns },
	{},
};

static const struct opt_table table = {
	.name = "iostrata breakdown",
	.summary = "where every nanosecond of an I/O operation went",
	.about = "Accounts for each operation (read, write, open, close, fsync, copy, meta, uring, "
		 "aio, fault, served) as a whole: its time on CPU by layer, and its waits by their "
		 "cause. The parts are disjoint and add up to the operation's elapsed time.",
	.groups = groups,
	.args = run_args,
	.command = true,
	.examples = examples,
	.columns = columns,
	.terms = strata_terms,
	.terms_title = "Strata, by the state of the thread",
};

static struct breakdown *breakdown_of(struct run *r)
{
	return (struct breakdown *)r; /* its first member */
}

static int resolve_layer(struct breakdown *b, struct reason *why)
{
	struct session_conf *conf = &b->io.conf;

	if (!b->opts.layer || !breakdown_layer(b->opts.layer, &conf->layer))
		return 0;
	if (mounts_fs_kind(b->opts.layer) == FS_KIND_UNKNOWN) {
		reason_set(why, EXIT_FAILED, "no layer or file system '%.60s'", b->opts.layer);
		return reason_hint(why,
				   "layers are syscall, vfs, fs and blk; /proc/filesystems lists "
				   "the file systems");
	}
	conf->layer = LAYER_FS;
	conf->fs = b->opts.layer;
	return 0;
}

/* Checks the options about user stacks. Returns 0, or -1 with @why. */
static int resolve_stacks(const struct breakdown *b, bool json, struct reason *why)
{
	const char *name = b->folded ? "--folded" : b->stacks ? "--stacks" : NULL;
	const char *other = b->folded && json         ? "--json"
			    : b->folded && b->stacks  ? "--stacks"
			    : b->opts.by              ? "--by"
			    : b->opts.csv             ? "--csv"
			    : b->folded && b->helpers ? "--helpers"
			    : b->folded && b->sites   ? "--why"
			    : b->html                 ? "--html"
						      : NULL;
	bool needed = name || BY_NEEDS_STACKS(b->opts.by);

	if ((b->hide.n || b->all_stacks) && !needed)
		return reason_set(why, EXIT_USAGE, "%s is for --by function, --stacks and --folded",
				  b->hide.n ? "--hide" : "--all-stacks");
	if (needed && b->io.conf.layer != LAYER_OPS)
		return breakdown_whole_alone("user stacks are those of whole operations, -T is "
					     "about a layer",
					     why);
	if (!name || !other)
		return 0;
	return breakdown_stacks_alone(name, other, why);
}

/* An option that the page would ignore, or that asks for another output, or NULL if none is
 * given. */
static const char *not_for_page(const struct breakdown *b)
{
	const struct run_opts *run = &b->io.run.opts;
	struct breakdown_opts others = b->opts;
	const char *table;

	others.slowest_max = others.by = 0;
	table = breakdown_table_option(&others);
	return table              ? table
	       : run->json        ? "--json"
	       : b->opts.output   ? "-o"
	       : b->append        ? "--append"
	       : run->interval_ns ? "INTERVAL"
				  : NULL;
}

/* With --html, checks the options and sets those that the page implies. Returns 0, or -1 with
 * @why. */
static int resolve_page(struct breakdown *b, struct reason *why)
{
	const char *other = b->html ? not_for_page(b) : NULL;

	if (other) {
		reason_set(why, EXIT_USAGE, "--html and %s exclude one another", other);
		return reason_hint(
			why, "a page shows whole operations and one interval; browsers sort its "
			     "tables");
	}
	if (!b->html && b->commands)
		return reason_set(why, EXIT_USAGE, "--commands is for --html: tables have them");
	if (!b->html)
		return 0;
	if (newfile_is_standard(b->html))
		return reason_set(why, EXIT_USAGE, "--html needs the name of a file, not '-'");
	b->opts.output = b->html;
	b->opts.slowest_max = b->opts.slowest_max ? b->opts.slowest_max : PAGE_SLOWEST;
	return 0;
}

/* A request has room for one key: its row's, or its helper's. */
static int no_key_of_helpers(unsigned int by, struct reason *why)
{
	reason_set(why, EXIT_USAGE,
		   "--helpers and --by exclude one another: rows of helpers have their clients as "
		   "key");
	if (by == BY_CGROUP || by == BY_CONTAINER)
		return reason_hint(why, "without --helpers, the table of requests has what kernel "
					"threads write in the row of the cgroup or container that "
					"made it");
	return reason_hint(why, "'iostrata top --by KEY' counts what kernel threads write for the "
				"process, cgroup or container that made it");
}

static int resolve(struct run *r, struct reason *why)
{
	struct breakdown *b = breakdown_of(r);
	struct session_conf *conf = &b->io.conf;

	if (resolve_page(b, why))
		return -1;
	if (resolve_layer(b, why) || breakdown_check(&b->opts, conf->layer, r->opts.json, why))
		return -1;
	if (conf->layer == LAYER_BLK && filters_check_requests(&r->opts.filters, "-T blk", why))
		return -1;
	if (filters_check_kinds(&r->opts.filters, conf->layer, b->opts.layer, why))
		return -1;
	if ((b->sites || b->helpers) && conf->layer != LAYER_OPS)
		return breakdown_whole_alone(
			b->sites ? "--why is about whole operations, -T about a layer"
				 : "--helpers is about whole operations, -T about a layer",
			why);
	if (resolve_stacks(b, r->opts.json, why))
		return -1;
	if (b->opts.by == BY_HOST)
		return breakdown_no_hosts(why);
	if (b->helpers && r->opts.filters.op_requests)
		return reason_set(why, EXIT_USAGE,
				  "--helpers and --op-requests exclude one another: helpers submit "
				  "their requests in no operation");
	if (b->helpers && b->opts.by)
		return no_key_of_helpers(b->opts.by, why);
	if (b->opts.csv && (b->sites || b->helpers)) {
		reason_set(why, EXIT_USAGE, "--csv and %s exclude one another",
			   b->sites ? "--why" : "--helpers");
		return reason_hint(why, "CSV has one table; --json has all");
	}
	if (conf->fs && r->opts.filters.fs.n)
		return reason_set(why, EXIT_USAGE, "-T %.60s and --fs exclude one another",
				  b->opts.layer);
	if (b->append && newfile_is_standard(b->opts.output))
		return reason_set(why, EXIT_USAGE, "--append has no meaning without -o FILE");
	r->own_stdout = !newfile_is_standard(b->opts.output);
	if (b->opts.slowest_max) {
		b->slowest = calloc(b->opts.slowest_max, sizeof(*b->slowest));
		if (!b->slowest)
			return reason_no_memory(why);
	}
	conf->by = breakdown_rows_by(&b->opts);
	conf->stacks = b->stacks || b->folded || BY_NEEDS_STACKS(b->opts.by);
	b->io.stack_conf.hide = b->hide;
	if (!b->all_stacks)
		b->io.stack_conf.per_second = stacks_per_second();
	conf->queued = b->opts.queued;
	conf->meta_calls = breakdown_meta_calls(&b->opts, conf->layer);
	conf->sites = b->sites;
	conf->helpers = b->helpers;
	conf->patterns = b->opts.pattern;
	conf->minor_faults = conf->hung = true;
	conf->records = conf->segments = b->opts.slowest_max;
	conf->whos = conf->layer == LAYER_OPS;
	conf->commands = (conf->records || conf->by == BY_PID) && (!b->html || b->commands);
	return 0;
}

static void view_fill(struct breakdown *b)
{
	struct breakdown_view *v = &b->view;

	uname(&b->uts);
	breakdown_view_fill(v, &b->opts, b->io.conf.layer, fileno(b->out));
	breakdown_view_run(v, &b->io);
	v->sites = b->sites;
	v->helpers = b->helpers;
	v->form.stacks = b->stacks;
	v->form.folded = b->folded;
	v->source.kernel = b->uts.release;
}

static void slowest_clear(struct breakdown *b)
{
	for (; b->n_slowest; b->n_slowest--)
		slow_op_done(&b->slowest[b->n_slowest - 1]);
}

/* Keeps the slowest operations, and raises the threshold once there are enough. */
static void on_slow_op(void *arg, const struct sent_slow_op *sent)
{
	struct breakdown *b = arg;
	struct session *session = b->io.session;
	size_t max = b->opts.slowest_max;
	struct slow_op *place, op;

	slow_op_set_sent(&op, sent);
	place = slowest_place(b->slowest, &b->n_slowest, max, op.total_ns);
	if (!place)
		return;
	*place = op;
	if (!b->html || b->commands) {
		place->command = session_command(session, op.who.pid,
						 op.who.tid == op.who.pid ? op.who.comm : NULL);
		place->by_command =
			op.by.thread.who ? session_command(session, op.by.thread.pid, NULL) : NULL;
	}
	if (op.by.thread.who == WHO_LIMIT)
		place->by_limit =
			limit_of_cgroup(op.who.cgroup, limit_side(op.kind), op.by.thread.limit);
	if (b->n_slowest == max)
		session_set_slow_ns(session, b->slowest[max - 1].total_ns);
}

/* The output file is created here: a run with an earlier failure leaves no file. */
static int start(struct run *r, struct reason *why)
{
	struct breakdown *b = breakdown_of(r);

	if (b->append)
		b->out = newfile_append(b->opts.output, why);
	else
		b->out = newfile_output(b->opts.output, b->opts.output ? stdout : r->out, why);
	if (!b->out)
		return -1;
	view_fill(b);
	if (r->opts.json && breakdown_has_requests(&b->view))
		run_say_of_ops(b->io.of_ops);
	session_on_slow_op(b->io.session, on_slow_op, r);
	return 0;
}

static int page_print(struct breakdown *b, struct snapshot *sn)
{
	const struct page p = { .view = &b->view,
				.sn = sn,
				.slowest = b->slowest,
				.n_slowest = b->n_slowest,
				.names = &b->names,
				.host = b->uts.nodename,
				.begin_ns = b->view.interval.until_ns - sn->duration_ns };
	int err = breakdown_join(&b->view, sn, &b->names);
	char safe[TEXT_SAFE_CAP(256)];

	if (!b->commands)
		snapshot_forget_commands(sn);
	if (!err)
		err = page_put(b->out, &p);
	text_safe(safe, sizeof(safe), b->html);
	if (!err)
		cmd_say("%s: a page for browsers", safe);
	return err;
}

static int report(struct run *r, struct snapshot *sn)
{
	struct breakdown *b = breakdown_of(r);
	const struct breakdown_output out = { b->out, r->opts.json, &b->view, &b->names };
	int err;

	b->view.interval.until_ns = clock_day_ns();
	if (b->html)
		return page_print(b, sn);
	err = breakdown_put(&out, sn, b->slowest, b->n_slowest);
	b->view.interval.later = true;
	slowest_clear(b);
	session_set_slow_ns(b->io.session, 0);
	return err;
}

static const struct run_ops ops = { .source = &io_source, .resolve = resolve, .start = start };

static int breakdown(int argc, char **argv)
{
	struct breakdown b = { .io.report = report };
	int status = run_main(&b.io.run, &ops, &cmd_breakdown, argc, argv);

	slowest_clear(&b);
	free(b.slowest);
	container_names_done(&b.names);
	if (b.out)
		newfile_close(b.out, b.opts.output, false);
	return status;
}

const struct cmd cmd_breakdown = { "breakdown", &table, breakdown, true };
