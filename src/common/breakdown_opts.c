// SPDX-License-Identifier: GPL-2.0-only
#include "common/breakdown_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/columns.h"
#include "base/names.h"
#include "base/opts.h"
#include "base/reason.h"
#include "host/container.h"
#include "host/directories.h"
#include "run/cmd.h"
#include "run/io.h"
#include "show/breakdown_csv.h"
#include "show/breakdown_json.h"
#include "show/breakdown_text.h"
#include "show/columns.h"
#include "show/stacks_text.h"
#include "show/view_parts.h"
#include "stacks/stack_join.h"
#include "trace/syscalls.h"

const struct opt_choice breakdown_by_choices[] = {
	BREAKDOWN_BY_ALL,          { "host", BY_HOST },         { "client", BY_CLIENT },
	{ "dir", BY_DIR },         { "function", BY_FUNCTION }, { "line", BY_LINE },
	{ "library", BY_LIBRARY }, { "stack", BY_STACK },       {},
};

const struct opt_choice breakdown_by_also[] = { BREAKDOWN_BY_ALSO, {} };

const struct opt_choice breakdown_by_recording[] = {
	BREAKDOWN_BY_ALL,
	{ "dir", BY_DIR },
	{},
};

const struct opt_choice breakdown_by_recording_also[] = {
	BREAKDOWN_BY_ALSO,       { "host", BY_HOST },
	{ "client", BY_CLIENT }, { "function", BY_FUNCTION },
	{ "line", BY_LINE },     { "library", BY_LIBRARY },
	{ "stack", BY_STACK },   {},
};

static const struct opt_choice layers[] = {
	{ "syscall", LAYER_SYSCALL },
	{ "vfs", LAYER_VFS },
	{ "fs", LAYER_FS },
	{ "blk", LAYER_BLK },
	{},
};

const struct opt breakdown_measure_opts[] = {
	{ 'T', "layer", OPT_STRING(struct breakdown_opts, layer), .arg = "LAYER", .known = layers,
	  .help = "only this layer: syscall, vfs, fs, a file system type (ext4 ...) or blk; each "
		  "operation has its total time and a histogram" },
	{ 'Q', "queued", OPT_FLAG(struct breakdown_opts, queued),
	  .help = "p99, max and histograms of requests include the time in tag and queue" },
	{ 0, "by", OPT_CHOICE(struct breakdown_opts, by, breakdown_by_choices), .arg = "KEY",
	  .also = breakdown_by_also,
	  .help = "a row per key; host is for recordings, client for live runs" },
	{ 0, "depth", OPT_UINT(struct breakdown_opts, depth), .arg = "N", .min = 1, .max = 1000,
	  .help = "with --by dir: directories at most this many levels below the root; /usr is 1" },
	{ 0, "slowest", OPT_UINT(struct breakdown_opts, slowest_max), .arg = "N", .min = 1,
	  .max = SLOWEST_MAX,
	  .no_number = "--slowest takes how many: --slowest 5, and then the rest",
	  .help = "show the N slowest operations, each with its strata, the longest first" },
	{ 0, "timeline", OPT_FLAG(struct breakdown_opts, timeline),
	  .help = "with --slowest: show the strata in the order of time, to scale" },
	{},
};

const struct opt breakdown_output_opts[] = {
	{ 'o', "output", OPT_STRING(struct breakdown_opts, output), .arg = "FILE",
	  .help = "write to this new file; - is the standard output (default, but with a command, "
		  "tables go to the standard error unless the standard output is a terminal)" },
	{ 'v', "verbose", OPT_TIMES(struct breakdown_opts, detail),
	  .help = "all operations, each with its strata; meta and fsync are split by call (stat, "
		  "unlink, fdatasync ...), also in JSON; -vv with --by: the strata for each row" },
	{ 0, "pattern", OPT_FLAG(struct breakdown_opts, pattern),
	  .help = "sizes, and shares of sequential, strided and random access: for the requests to "
		  "each disk; with --by file, also for the reads and writes of each file" },
	{ 'n', "rows", OPT_UINT(struct breakdown_opts, rows_max), .arg = "N", .min = 1,
	  .max = 1000000, .help = "at most this many rows in a table" },
	{ 0, "sort", OPT_STRING(struct breakdown_opts, sort), .arg = "COLUMN",
	  .columns = op_columns,
	  .help = "sort the operations (with -T blk: the requests) by this column, given by its "
		  "title or its name in JSON (default: total)" },
	{ 'H', "histograms", OPT_FLAG(struct breakdown_opts, histograms),
	  .help = "a histogram for every row" },
	{ 0, "csv", OPT_FLAG(struct breakdown_opts, csv),
	  .help = "a line for each row of operations and requests, with times in ns" },
	{ 0, "no-hist", OPT_FLAG(struct breakdown_opts, no_hist),
	  .help = "JSON without histograms: hist is null" },
	{ 'm', "milliseconds", OPT_FLAG(struct breakdown_opts, milliseconds),
	  .help = "times in milliseconds (default: the unit that fits)" },
	{},
};

int breakdown_layer(const char *text, enum layer *ret_layer)
{
	for (const struct opt_choice *c = layers; c->name; c++) {
		if (!strcmp(text, c->name)) {
			*ret_layer = c->value;
			return 0;
		}
	}
	return -ENOENT;
}

/* The columns by which --sort can sort. */
static const struct column *sorted_columns(enum layer layer)
{
	return layer == LAYER_BLK ? rq_columns : op_columns;
}

static int check_sort(const struct breakdown_opts *o, enum layer layer, struct reason *why)
{
	struct nearest meant = { .typed = o->sort };
	const struct column *columns = sorted_columns(layer);

	if (!o->sort || columns_find(columns, o->sort))
		return 0;
	for (const struct column *c = columns; column_is(c); c++)
		nearest_try(&meant, c->title ? c->title : c->name);
	reason_set(why, EXIT_USAGE, "no column '%.40s' to sort by", o->sort);
	if (meant.name)
		return reason_hint(why, "did you mean '%s'?", meant.name);
	return reason_hint(
		why, "columns are count, rate, bytes, p99, max ...: as in the title of the table");
}

/* Only rows of files and disks have patterns. Returns 0, or -1 with @why. */
static int check_pattern(const struct breakdown_opts *o, enum layer layer, struct reason *why)
{
	if (!o->pattern)
		return 0;
	if (layer != LAYER_OPS && layer != LAYER_BLK)
		return reason_set(why, EXIT_USAGE,
				  "--pattern is about files and disks, -T %.60s is not", o->layer);
	if (!o->by || o->by == BY_FILE || o->by == BY_DEV)
		return 0;
	reason_set(why, EXIT_USAGE, "--pattern is about files and disks, --by %s is not",
		   by_name(o->by));
	return reason_hint(why, "with --by file, --by dev or no --by");
}

/* CSV is one table, of the figures of rows alone. 0, or -1 with @why. */
static int check_csv(const struct breakdown_opts *o, bool json, struct reason *why)
{
	const char *other = json             ? "--json"
			    : o->slowest_max ? "--slowest"
			    : o->histograms  ? "-H"
			    : o->pattern     ? "--pattern"
					     : NULL;

	if (!o->csv || !other)
		return 0;
	reason_set(why, EXIT_USAGE, "--csv and %s exclude one another", other);
	return reason_hint(why, "--json has everything; 'iostrata report --events csv' has each "
				"operation");
}

int breakdown_whole_alone(const char *error, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "%s", error);
	return reason_hint(why, "leave out -T");
}

/* Fails: the requests of disks have rows by disk alone. Returns -1 with @why. */
static int no_keys_of_requests(const struct breakdown_opts *o, struct reason *why)
{
	const char *option = o->layer ? "-T blk" : "--requests";

	reason_set(why, EXIT_USAGE, "--by has no meaning with %s", option);
	return reason_hint(why, "without %s, requests have rows by key, too", option);
}

int breakdown_check(const struct breakdown_opts *o, enum layer layer, bool json, struct reason *why)
{
	if (o->slowest_max && layer != LAYER_OPS)
		return breakdown_whole_alone("--slowest shows whole operations, -T a layer", why);
	if (o->depth && o->by != BY_DIR) {
		reason_set(why, EXIT_USAGE, "--depth is about directories");
		return reason_hint(why, "add --by dir");
	}
	if (o->timeline && !o->slowest_max) {
		reason_set(why, EXIT_USAGE, "--timeline is about the operations of --slowest");
		return reason_hint(why, "add --slowest 5");
	}
	if (layer == LAYER_BLK && o->by && o->by != BY_HOST)
		return no_keys_of_requests(o, why);
	if (o->queued && layer != LAYER_OPS && layer != LAYER_BLK)
		return reason_set(why, EXIT_USAGE, "-Q is about requests, -T %s shows none",
				  o->layer);
	if (o->no_hist && !json)
		return reason_set(why, EXIT_USAGE, "--no-hist is about JSON: --json is missing");
	if (check_csv(o, json, why))
		return -1;
	if (check_pattern(o, layer, why))
		return -1;
	return check_sort(o, layer, why);
}

int breakdown_no_hosts(struct reason *why)
{
	reason_set(why, EXIT_USAGE, "--by host is for recordings of several hosts");
	return reason_hint(why, "'iostrata report --by host FILE...'");
}

int breakdown_check_recorded(int by, struct reason *why)
{
	if (by != BY_CLIENT)
		return 0;
	reason_set(why, EXIT_USAGE, "--by client is not for recordings, which have no clients");
	return reason_hint(why, "'iostrata breakdown --by client'");
}

int breakdown_no_stacks(int by, const char *command, struct reason *why)
{
	if (!BY_NEEDS_STACKS(by))
		return 0;
	reason_set(why, EXIT_USAGE, "%s has no --by %s", command, by_name(by));
	return reason_hint(why, "'iostrata record --stacks', then 'iostrata report --by %s'",
			   by_name(by));
}

/* The hint for a user who asks for user stacks and for option @other, or NULL if there is none. */
static const char *instead_of(const char *other)
{
	static const struct {
		const char *option, *hint;
	} all[] = {
		{ "--by", "--by function makes rows, --stacks a tree, --folded lines for graphs" },
		{ "--stacks", "--stacks draws a tree, --folded makes lines for flame graphs" },
		{ "--json", "--stacks --json has all stacks" },
		{ "--csv", "--by function --csv has a row for each caller" },
		{ "--events", "single operations have no stacks; leave out --events" },
		{ "--heat", "a map has no stacks; leave out --heat" },
		{ "--every", "choose a part of the time: --from 10 --to 20" },
		{ "--html", "a page has the callers anyway, if 'record --stacks' recorded them" },
		{ "--helpers", "--stacks goes with --helpers" },
		{ "--why", "--stacks goes with --why" },
		{ "-T", "only whole operations have user stacks; leave out -T" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].option, other))
			return all[i].hint;
	return NULL;
}

int breakdown_stacks_alone(const char *name, const char *other, struct reason *why)
{
	const char *hint = instead_of(other);

	reason_set(why, EXIT_USAGE, "%s and %s exclude one another", name, other);
	return hint ? reason_hint(why, "%s", hint) : -1;
}

enum by_key breakdown_rows_by(const struct breakdown_opts *o)
{
	if (BY_NEEDS_STACKS(o->by))
		return BY_NONE;
	return o->by == BY_CONTAINER ? BY_CGROUP : o->by == BY_DIR ? BY_FILE : o->by;
}

int breakdown_join(const struct breakdown_view *v, struct snapshot *sn,
		   struct container_names *names)
{
	if (v->by == BY_DIR)
		return directory_rows(sn, v->depth);
	if (BY_NEEDS_STACKS(v->by))
		return stack_join(sn, v->by);
	return v->by == BY_CONTAINER ? container_rows(sn, names) : 0;
}

int breakdown_put(const struct breakdown_output *out, struct snapshot *sn,
		  const struct slow_op *slowest, size_t n_slowest)
{
	int err = breakdown_join(out->view, sn, out->names);

	if (err)
		return err;
	if (out->view->form.folded)
		return stacks_folded(out->f, sn);
	if (out->view->form.csv)
		return breakdown_csv(out->f, out->view, sn);
	return (out->json ? breakdown_json : breakdown_text)(out->f, out->view, sn, slowest,
							     n_slowest);
}

bool breakdown_meta_calls(const struct breakdown_opts *o, enum layer layer)
{
	return o->detail && layer == LAYER_OPS && !o->by;
}

const char *breakdown_table_option(const struct breakdown_opts *o)
{
	const struct {
		const char *name;
		bool used;
	} all[] = {
		{ "--by", o->by },
		{ "-v", o->detail },
		{ "-n", o->rows_max },
		{ "--sort", o->sort },
		{ "-H", o->histograms },
		{ "-m", o->milliseconds },
		{ "-T", o->layer },
		{ "-Q", o->queued },
		{ "--slowest", o->slowest_max },
		{ "--timeline", o->timeline },
		{ "--no-hist", o->no_hist },
		{ "--pattern", o->pattern },
		{ "--csv", o->csv },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].used)
			return all[i].name;
	return NULL;
}

void breakdown_view_fill(struct breakdown_view *v, const struct breakdown_opts *o, enum layer layer,
			 int fd)
{
	v->layer = layer;
	v->layer_name = o->layer;
	v->by = o->by;
	v->depth = o->depth;
	v->form.csv = o->csv;
	v->queued = o->queued;
	v->form.timeline = o->timeline;
	v->form.milliseconds = o->milliseconds;
	v->form.histograms = o->histograms;
	v->form.no_hist = o->no_hist;
	v->form.pattern = o->pattern;
	v->form.detail = o->detail;
	v->form.rows_max = o->rows_max;
	v->form.sort = o->sort ? columns_find(sorted_columns(layer), o->sort) : NULL;
	v->form.width = terminal_width(fd);
	v->form.terminal = isatty(fd);
	v->form.color = cmd_wants_color(fd);
	v->source.call_name = syscall_names(MACHINE_OWN);
}

void breakdown_view_run(struct breakdown_view *v, const struct io_run *io)
{
	const struct run *r = &io->run;

	v->interval.every_ns = r->opts.interval_ns;
	v->chosen.min_ns = r->opts.filters.min_ns;
	v->source.command = r->follow ? r->command[0] : NULL;
	v->source.words = r->follow ? r->command : NULL;
	v->source.cpus = sysconf(_SC_NPROCESSORS_ONLN);
	v->chosen.filters = r->looked_for[0] ? r->looked_for : NULL;
	v->chosen.of_ops = io->of_ops;
	v->chosen.processes = !r->opts.filters.disks.n &&
			      (r->follow || filters_choose_processes(&r->opts.filters));
	v->chosen.fs = r->opts.filters.fs;
	if (io->conf.fs)
		v->chosen.fs = (struct opt_strings){ .at = { io->conf.fs }, .n = 1 };
	v->missing = session_missing(io->session);
}
