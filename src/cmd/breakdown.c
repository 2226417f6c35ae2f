// SPDX-License-Identifier: GPL-2.0-only
/* breakdown.c - one run, all layers: where the time of I/O operations went. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mounts.h"
#include "base/names.h"
#include "base/path.h"
#include "base/reason.h"
#include "cmd/tables.h"
#include "run/run.h"
#include "show/columns.h"

struct breakdown {
	struct run run;
	struct breakdown_opts opts;
	bool why, helpers;
	/* state */
	FILE *out; /* where output goes */
	struct breakdown_view view;
	struct op_record *slowest; /* biggest first, n_slowest of slowest_max */
	size_t n_slowest;
	struct utsname uts;
};

/* Not of a recording. */
static const struct opt more_opts[] = {
	{ 0, "why", OPT_FLAG(struct breakdown, why),
	  .help = "where in the kernel threads slept, if nothing else explains why" },
	{ 0, "helpers", OPT_FLAG(struct breakdown, helpers),
	  .help = "what kernel threads and io workers did, for how long, and for whom" },
	{},
};

static const struct opt_group groups[] = {
	{ "What to measure", breakdown_measure_opts, offsetof(struct breakdown, opts) },
	{ "Beside it", more_opts, 0 },
	{ "Output", breakdown_output_opts, offsetof(struct breakdown, opts) },
	RUN_GROUPS,
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata breakdown", "everybody's I/O, until Ctrl-C" },
	{ "iostrata breakdown -- make -j8", "of a command and all that it starts" },
	{ "iostrata breakdown -p 6681 1", "of a process, every second" },
	{ "iostrata breakdown --by file -D 10", "which files, for 10 seconds" },
	{ "iostrata breakdown --slowest 5 --op fsync",
	  "the five slowest fsyncs, and where their time went" },
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
	{ "Sleeps", why_columns },
	{ "Minor faults", minor_columns },
	{},
};

static const struct opt_table table = {
	.name = "iostrata breakdown",
	.summary = "where every nanosecond of an I/O operation went",
	.about = "Accounts for each operation (read, write, open, close, fsync, copy, meta, uring, "
		 "aio, fault) as a whole: its time on CPU by layer, and its waits by what they "
		 "were for. The parts are disjoint and add up to the operation's elapsed time.",
	.groups = groups,
	.args = run_args,
	.command = true,
	.examples = examples,
	.columns = columns,
	.terms = strata_terms,
	.terms_title = "What a thread was doing",
};

static struct breakdown *breakdown_of(struct run *r)
{
	return (struct breakdown *)r; /* its first member */
}

static int resolve_layer(struct breakdown *b, struct reason *why)
{
	struct session_conf *conf = &b->run.conf;

	if (!b->opts.layer || !breakdown_layer(b->opts.layer, &conf->layer))
		return 0;
	if (mounts_fs_kind(b->opts.layer) == FS_KIND_UNKNOWN) {
		reason_set(why, EXIT_FAILED, "no layer or file system '%.60s'", b->opts.layer);
		return reason_hint(why, "layers are syscall, vfs, fs and blk; file systems are "
					"those in /proc/filesystems");
	}
	conf->layer = LAYER_FS;
	conf->fs = b->opts.layer;
	return 0;
}

static int resolve(struct run *r, struct reason *why)
{
	struct breakdown *b = breakdown_of(r);

	if (resolve_layer(b, why) || breakdown_check(&b->opts, r->conf.layer, r->opts.json, why))
		return -1;
	if (r->conf.layer == LAYER_BLK && filters_check_requests(&r->opts.filters, "-T blk", why))
		return -1;
	if (filters_check_kinds(&r->opts.filters, r->conf.layer, b->opts.layer, why))
		return -1;
	if ((b->why || b->helpers) && r->conf.layer != LAYER_OPS)
		return reason_set(why, EXIT_USAGE, "%s is of whole operations, -T of a layer",
				  b->why ? "--why" : "--helpers");
	if (b->helpers && b->opts.by)
		return reason_set(why, EXIT_USAGE, "--helpers and --by exclude one another");
	if (r->conf.fs && r->opts.filters.fs)
		return reason_set(why, EXIT_USAGE, "-T %.60s and --fs exclude one another",
				  b->opts.layer);
	r->own_stdout = !newfile_is_standard(b->opts.output);
	if (b->opts.slowest_max) {
		b->slowest = calloc(b->opts.slowest_max, sizeof(*b->slowest));
		if (!b->slowest)
			return reason_set(why, EXIT_FAILED, "out of memory");
	}
	r->conf.by = breakdown_rows_by(&b->opts);
	r->conf.queued = b->opts.queued;
	r->conf.meta_calls = breakdown_meta_calls(&b->opts, r->conf.layer);
	r->conf.why = b->why;
	r->conf.helpers = b->helpers;
	r->conf.records = b->opts.slowest_max;
	r->conf.record_fs = r->opts.filters.fs;
	return 0;
}

static void view_fill(struct breakdown *b)
{
	struct breakdown_view *v = &b->view;
	const struct run *r = &b->run;

	uname(&b->uts);
	breakdown_view_fill(v, &b->opts, r->conf.layer, fileno(b->out));
	breakdown_view_run(v, r);
	v->why = b->why;
	v->helpers = b->helpers;
	v->kernel = b->uts.release;
}

/* Keeps the slowest operations, and raises the threshold once there are enough. */
static void on_record(void *arg, const struct op_record *rec)
{
	struct breakdown *b = arg;
	struct session *session = b->run.session;
	size_t max = b->opts.slowest_max;
	struct op_record *place = slowest_place(b->slowest, &b->n_slowest, max, rec->total_ns);

	if (!place)
		return;
	*place = *rec;
	if (b->n_slowest == max)
		session_set_slow_ns(session, b->slowest[max - 1].total_ns);
}

/* Of a run that does not come so far there is no file. */
static int start(struct run *r, struct reason *why)
{
	struct breakdown *b = breakdown_of(r);

	b->out = newfile_output(b->opts.output, stdout, why);
	if (!b->out)
		return -1;
	view_fill(b);
	if (r->opts.json && breakdown_has_requests(&b->view))
		run_say_of_ops(r->of_ops);
	session_on_record(r->session, on_record, r);
	return 0;
}

static int report(struct run *r, struct snapshot *sn)
{
	struct breakdown *b = breakdown_of(r);
	int err;

	b->view.until_ns = clock_day_ns();
	err = breakdown_put(b->out, r->opts.json, &b->view, sn, b->slowest, b->n_slowest);
	b->view.later = true;
	b->n_slowest = 0;
	session_set_slow_ns(r->session, 0);
	return err;
}

static const struct run_ops ops = { .resolve = resolve, .start = start, .report = report };

static int breakdown(int argc, char **argv)
{
	struct breakdown b = {};
	int status = run_main(&b.run, &ops, &cmd_breakdown, argc, argv);

	free(b.slowest);
	if (b.out)
		newfile_close(b.out, b.opts.output, false);
	return status;
}

const struct cmd cmd_breakdown = { "breakdown", &table, breakdown, true };
