// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.c - shows recordings: as breakdown's tables, as heat maps, or record by record. Here are
 * the options, the way through all recordings, and what is said after them. The parts:
 *   report_order.h   the order of the recordings
 *   report_source.h  what they say of themselves
 *   report_time.h    the shown part of their time
 *   report_sums.h    what is added up for tables and maps
 *   report_list.h    the lists of --events and --joined
 *   report_page.h    the page of --html
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "analyse/join.h"
#include "base/names.h"
#include "base/reason.h"
#include "base/text.h"
#include "cmd/report_list.h"
#include "cmd/report_order.h"
#include "cmd/report_page.h"
#include "cmd/report_source.h"
#include "cmd/report_sums.h"
#include "cmd/report_time.h"
#include "common/breakdown_opts.h"
#include "common/recorded_symbols.h"
#include "common/recording_filter.h"
#include "host/newfile.h"
#include "run/cmd.h"
#include "run/filters.h"
#include "run/run.h"
#include "show/columns.h"
#include "show/events.h"
#include "show/joined.h"
#include "show/progress.h"

enum { SHOW_EVENTS = 16384 };

struct report {
	/* options */
	struct breakdown_opts opts;
	struct report_time time;
	struct recording_filter filter;
	struct report_page page;
	struct report_list list;
	bool json, strict, heat;
	bool stacks, folded; /* about user stacks */
	struct recorded_symbols symbols;
	unsigned int strict_but;       /* not for these losses: 1 << enum lost */
	char looked_for[FILTERS_TEXT]; /* the filters as text; hostile */
	char of_ops[64];               /* filters of operations alone: they choose no requests */
	/* the recordings */
	char **files; /* their names */
	size_t n_files;
	struct report_source source;
	struct progress progress;
	uint64_t done_bytes; /* size of the files read so far */
	bool is_only;        /* there is one recording */
	bool has_events;     /* an operation or request was read, chosen or not */
	bool is_cut;         /* a recording was read up to its damage */
	/* the result */
	struct report_sums sums;
	struct join join; /* with joins() */
	struct breakdown_view view;
	FILE *out;
};

static const struct opt_choice event_choices[] = {
	{ "text", EVENTS_TEXT },
	{ "csv", EVENTS_CSV },
	{ "json", EVENTS_JSON },
	{},
};

static const struct opt what_opts[] = {
	{ 0, "events", OPT_CHOICE(struct report, list.format, event_choices), .arg = "FORMAT",
	  .help = "list the operations and requests one by one" },
	{ 0, "joined", OPT_FLAG(struct report, list.joined),
	  .help = "with --events, list the NFS requests of a client which are joined with "
		  "operations of its server" },
	{ 0, "stacks", OPT_FLAG(struct report, stacks),
	  .help = "of recordings with user stacks: which functions of programs called the "
		  "operations with most time, and their callers" },
	{ 0, "folded", OPT_FLAG(struct report, folded),
	  .help = "in place of tables: a line for each user stack and stratum, for flame graphs" },
	{ 0, "hide", OPT_STRINGS(struct report, sums.stacks.hide), .arg = "LIB",
	  .help = "with user stacks: this library is not the program's own code: libsqlite3" },
	{ 0, "symbols", OPT_PATHS(struct report, symbols.places), .arg = "DIR",
	  .help = SYMBOLS_HELP },
	{ 0, "heat", OPT_FLAG(struct report, heat),
	  .help = "draw maps of the latency of operations and requests: time to the right, latency "
		  "upwards" },
	{ 0, "every", OPT_DURATION(struct report, time.every_ns), .arg = "DUR", .min = 1000000,
	  .help = "a table for each interval of this length" },
	{ 'j', "json", OPT_FLAG(struct report, json),
	  .help = "one JSON object per interval, times in ns" },
	{ 0, "strict", OPT_FLAG(struct report, strict),
	  .help = "exit with code 5 if anything was lost" },
	{ 0, "strict-but", OPT_CHOICES(struct report, strict_but, lost_choices), .arg = "LOSSES",
	  .help = STRICT_BUT_HELP },
	{},
};

static const struct opt_group groups[] = {
	{ "Measurement", breakdown_measure_opts, offsetof(struct report, opts) },
	{ "Output", breakdown_output_opts, offsetof(struct report, opts) },
	{ "Time", recording_part_opts, offsetof(struct report, time.part) },
	{ "Filters", filter_opts, offsetof(struct report, filter.given) },
	{ "Format", what_opts, 0 },
	{ "Page", report_page_opts, offsetof(struct report, page) },
	{},
};

static const struct opt args[] = {
	{ .arg = "FILE",
	  .type = OPT_TYPE_STRING,
	  .required = true,
	  .many = true,
	  .help = "recordings, shown on one timeline; - is the standard input" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata report trace.ios", "the tables of a recording" },
	{ "iostrata report --by file trace.ios", "a row per file" },
	{ "iostrata report --by function trace.ios",
	  "a row per function that made the calls (record --stacks)" },
	{ "iostrata report --by file --pattern trace.ios", "sizes, and sequential or random" },
	{ "iostrata report --from 10 --to 20 --every 1 trace.ios", "second by second" },
	{ "iostrata report --slowest 5 trace.ios",
	  "the five slowest operations, each with its strata" },
	{ "iostrata report --events csv trace.ios", "every operation and request" },
	{ "iostrata report --html page.html trace.ios", "a page to send to a colleague" },
	{ "iostrata report --html page.html --base old.ios new.ios",
	  "the same, with what differs from another recording" },
	{ "iostrata report client.ios server.ios",
	  "NFS: how much of a request's time is network, and how much is the server's disk" },
	{ "iostrata report --events csv --joined client.ios server.ios",
	  "the same, request by request" },
	{ "iostrata report --heat --op fsync trace.ios", "a map of slow fsyncs over time" },
	{},
};

static const struct opt_columns columns[] = { { "Patterns", rq_pattern_columns },
					      { "Joined", joined_columns },
					      {} };

static const struct opt_table table = {
	.name = "iostrata report",
	.summary = "show a recording in breakdown's tables",
	.about = "Prints the tables that 'iostrata breakdown' would have printed while 'iostrata "
		 "record' made the recording. A truncated or damaged recording is shown as far as "
		 "it can be read; then the exit code is 1. Ctrl-C shows the records read so far.",
	.groups = groups,
	.args = args,
	.examples = examples,
	.columns = columns,
};

/* Fails if --joined has no effect, or if an option leaves out a part of what is joined. Returns 0,
 * or -1 with @why. */
static int joined_check(const struct report *r, struct reason *why)
{
	char filters[FILTERS_TEXT];
	const char *part = r->time.part.from_ns ? "--from" : r->time.part.to_ns ? "--to" : NULL;

	if (!r->list.format) {
		reason_set(why, EXIT_USAGE, "--joined is for --events only");
		return reason_hint(why, "without --events, a table shows the joined requests");
	}
	filters_text(&r->filter.given, filters, sizeof(filters));
	if (filters[0] || part)
		return reason_set(why, EXIT_USAGE,
				  "--joined needs whole recordings, '%.60s' leaves out a part",
				  filters[0] ? filters : part);
	return 0;
}

/* The given option that needs user stacks, or NULL. */
static const char *stacks_option(const struct report *r)
{
	return r->folded                   ? "--folded"
	       : r->stacks                 ? "--stacks"
	       : r->opts.by == BY_FUNCTION ? "--by function"
	       : r->opts.by == BY_LINE     ? "--by line"
	       : r->opts.by == BY_LIBRARY  ? "--by library"
	       : r->opts.by == BY_STACK    ? "--by stack"
	       : r->sums.stacks.hide.n     ? "--hide"
					   : NULL;
}

/* Sets whether user stacks are added up, and checks the options about them. Returns 0, or -1 with
 * @why. */
static int stacks_check(struct report *r, enum layer layer, struct reason *why)
{
	const char *name = stacks_option(r);
	const char *other = r->list.format                            ? "--events"
			    : r->heat                                 ? "--heat"
			    : r->time.every_ns                        ? "--every"
			    : r->page.html                            ? "--html"
			    : layer != LAYER_OPS                      ? "-T"
			    : r->folded && r->json                    ? "--json"
			    : r->folded && r->stacks                  ? "--stacks"
			    : (r->folded || r->stacks) && r->opts.by  ? "--by"
			    : (r->folded || r->stacks) && r->opts.csv ? "--csv"
								      : NULL;

	if (name && other)
		return breakdown_stacks_alone(name, other, why);
	r->sums.with_stacks = !other || r->page.html;
	if (recorded_symbols_check(&r->symbols.places, why))
		return -1;
	if (r->symbols.places.n && !r->sums.with_stacks)
		return breakdown_stacks_alone("--symbols", other, why);
	return 0;
}

/* Fails if an option would be ignored because of another. Returns 0, or -1 with @why. */
static int check(struct report *r, enum layer layer, struct reason *why)
{
	const char *of_table = breakdown_table_option(&r->opts);

	if (breakdown_check_recorded(r->opts.by, why) || stacks_check(r, layer, why))
		return -1;
	if (r->opts.pattern && r->json)
		return reason_set(why, EXIT_USAGE,
				  "--pattern is about text: JSON always has these figures");
	if (filters_ops(&r->filter.given, why) || breakdown_check(&r->opts, layer, r->json, why))
		return -1;
	if (layer == LAYER_BLK && filters_check_requests(&r->filter.given, "-T blk", why))
		return -1;
	if (filters_check_kinds(&r->filter.given, layer, r->opts.layer, why))
		return -1;
	if (!of_table)
		of_table = r->json ? "--json" : r->time.every_ns ? "--every" : NULL;
	if (r->list.format && (of_table || r->heat))
		return reason_set(why, EXIT_USAGE,
				  "--events lists records, %s is about %s: choose one",
				  of_table ? of_table : "--heat", of_table ? "tables" : "maps");
	if (r->list.joined && joined_check(r, why))
		return -1;
	if (r->heat && of_table)
		return reason_set(why, EXIT_USAGE,
				  "--heat draws maps, %s is about tables: choose one", of_table);
	if (recording_part_check(&r->time.part, why))
		return -1;
	r->filter.by_file = breakdown_rows_by(&r->opts) == BY_FILE && !r->list.format && !r->heat;
	filters_of_ops(&r->filter.given, r->filter.by_file, r->of_ops, sizeof(r->of_ops));
	filters_text(&r->filter.given, r->looked_for, sizeof(r->looked_for));
	return 0;
}

/* An option for one table or form, which a page would ignore, or NULL if none is given. */
static const char *not_for_page(const struct report *r)
{
	struct breakdown_opts others = r->opts;
	const char *table;

	others.slowest_max = 0;
	table = breakdown_table_option(&others);
	return table              ? table
	       : r->json          ? "--json"
	       : r->list.format   ? "--events"
	       : r->heat          ? "--heat"
	       : r->time.every_ns ? "--every"
	       : r->opts.output   ? "-o"
				  : NULL;
}

static int resolve(struct report *r, char **names, int n, struct reason *why)
{
	enum layer layer = LAYER_OPS;

	if (r->opts.layer &&
	    (breakdown_layer(r->opts.layer, &layer) || layer == LAYER_VFS || layer == LAYER_FS)) {
		reason_set(why, EXIT_USAGE, "a recording has no times of '%.60s' alone",
			   r->opts.layer);
		return reason_hint(why, "-T syscall and -T blk can be shown; 'iostrata breakdown "
					"-T' measures the others");
	}
	if (report_page_check(&r->page, names, n, not_for_page(r), why) || check(r, layer, why))
		return -1;
	if (r->page.html) {
		r->opts.output = r->page.html;
		r->opts.slowest_max = r->opts.slowest_max ? r->opts.slowest_max : PAGE_SLOWEST;
	}
	r->out = newfile_output(r->opts.output, stdout, why);
	if (!r->out)
		return -1;
	if (r->list.format || r->json)
		run_say_of_ops(r->of_ops);
	r->sums.lost_but = r->strict_but;
	r->sums.replay.conf = (struct replay_conf){
		.layer = layer,
		.by = breakdown_rows_by(&r->opts),
		.queued = r->opts.queued,
		.meta_calls = breakdown_meta_calls(&r->opts, layer),
		.calls = r->page.html,
		.every_ns = r->time.every_ns,
		.slowest_max = r->opts.slowest_max,
		.commands = !r->page.html || r->page.commands,
		.patterns = r->json || r->opts.pattern,
		.slowest_fs = &r->filter.given.fs,
	};
	breakdown_view_fill(&r->view, &r->opts, layer, fileno(r->out));
	r->list.out = r->out;
	r->list.width = r->view.form.terminal ? r->view.form.width : 0;
	r->view.interval.every_ns = r->time.every_ns;
	r->view.form.stacks = r->stacks;
	r->view.form.folded = r->folded;
	r->view.chosen.min_ns = r->filter.given.min_ns;
	r->view.chosen.fs = r->filter.given.fs;
	r->view.chosen.of_ops = r->of_ops;
	r->view.chosen.processes =
		!r->filter.given.disks.n && filters_choose_processes(&r->filter.given);
	r->page.data.commands = r->page.commands;
	r->view.chosen.filters = r->looked_for[0] ? r->looked_for : NULL;
	recording_filter_init(&r->filter);
	return 0;
}

/* Adds an operation with its user stack. Returns 0, or -1 with @why. */
static int stack_add(struct report *r, const struct recording *rec, struct stored_event *ev,
		     struct reason *why)
{
	uint64_t end = stored_event_end(ev);

	if (end < rec->from_ns || end >= rec->to_ns ||
	    !recording_filter_passes(&r->filter, rec, ev))
		return 0;
	return recorded_stacks_add(&r->sums.stacks, &r->sums.replay, rec, ev)
		       ? reason_no_memory(why)
		       : 0;
}

static int event(struct report *r, const struct recording *rec, struct stored_event *ev,
		 struct reason *why)
{
	uint64_t end;
	int err = 0;

	if (ev->kind == CHUNK_STACKS)
		return stack_add(r, rec, ev, why);
	r->has_events = true;
	if (r->list.joined || !recording_filter_passes(&r->filter, rec, ev))
		return 0;
	if (!r->list.format && !r->heat)
		err = replay_add(&r->sums.replay, rec, ev, why);
	if (err || !(r->list.format || r->heat || r->page.html))
		return err;
	end = stored_event_end(ev);
	if (end < rec->from_ns || end >= rec->to_ns)
		return 0;
	if (r->page.html)
		return report_page_add(&r->page, rec, ev, r->sums.replay.conf.first_ns, why);
	if (!r->heat)
		return report_list_put(&r->list, rec, ev, why);
	report_sums_heat_add(&r->sums, rec, ev);
	return 0;
}

/* Whether all that was recorded is shown. Rows of requests to servers have no times, so they cannot
 * be shown for a part. */
static bool is_whole(const struct report *r)
{
	char filters[512];

	filters_text(&r->filter.given, filters, sizeof(filters));
	return !filters[0] && r->sums.replay.conf.layer == LAYER_OPS && !r->time.every_ns &&
	       !r->time.part.from_ns && !r->time.part.to_ns;
}

/* Whether requests of NFS are joined with the operations that served them. */
static bool joins(const struct report *r)
{
	return is_whole(r) && (!r->list.format || r->list.joined) && !r->heat && !r->page.html;
}

/* Adds what @rec tells at its end. Returns 0, or -1 with @why. */
static int totals_add(struct report *r, const struct recording *rec, struct reason *why)
{
	if (report_sums_end(&r->sums, rec, is_whole(r), why))
		return -1;
	if (rec->server_requests)
		join_end(&r->join, rec);
	catalog_container_names(&rec->catalog, &r->source.containers);
	if (r->page.html && page_data_end(&r->page.data, rec))
		return reason_no_memory(why);
	if (r->page.html)
		report_page_losses(&r->page, rec, r->sums.replay.conf.first_ns);
	return report_time_add(&r->time, rec) ? reason_no_memory(why) : 0;
}

/* Says why watch wrote the only recording. */
static void say_trigger(const struct report *r, const struct recording *rec)
{
	char safe[TEXT_SAFE_CAP(400)];
	const char *trigger = rec->header.trigger;

	if (!trigger || !r->is_only)
		return;
	text_safe_n(safe, sizeof(safe), trigger, strnlen(trigger, 400));
	cmd_say("written by watch: %s", safe);
}

/* Adds a record of any kind. Returns 0, or -1 with @why. */
static int record_add(struct report *r, const struct recording *rec, struct stored_event *ev,
		      struct reason *why)
{
	if (rec->server_requests && join_add(&r->join, rec, ev))
		return reason_no_memory(why);
	return ev->kind == CHUNK_SERVER_REQUESTS ? 0 : event(r, rec, ev, why);
}

/* Counts the recording @name, whose records follow. */
static void report_counted(struct report *r, const char *name)
{
	if (!r->source.n_read)
		r->view.source.recording = name;
	r->view.source.more_recordings = r->source.n_read++;
}

/* Begins with @rec, whose header was read. Returns 0, or -1 with @why. */
static int file_begin(struct report *r, struct recording *rec, struct reason *why)
{
	say_trigger(r, rec);
	if (report_source_add(&r->source, rec, why))
		return -1;
	report_source_view(&r->source, &r->view);
	r->time.first_ns = r->source.header.realtime_ns;
	r->sums.replay.conf.first_ns = r->time.first_ns + r->time.part.from_ns;
	if (r->page.html && page_data_begin(&r->page.data, rec))
		return reason_no_memory(why);
	report_time_window(&r->time, rec);
	recording_filter_begin(&r->filter);
	rec->server_requests = joins(r);
	rec->stacks = r->sums.with_stacks;
	if (r->sums.with_stacks)
		rec->namer = recorded_symbols_namer(&r->symbols);
	if ((stacks_option(r) || r->symbols.places.n) && recording_need_stacks(rec, why))
		return -1;
	r->sums.has_stacks |= rec->header.has_stacks;
	return rec->server_requests && join_begin(&r->join, rec) ? reason_no_memory(why) : 0;
}

/* Reads one recording. 0; 1 with @why: it is damaged; -1 with @why: report has to end. */
static int file_read(struct report *r, FILE *f, const char *name, struct reason *why)
{
	struct recording rec;
	struct stored_event ev;
	int got = recording_open(&rec, f, name, why), err = 0;
	unsigned int n = 0;

	if (!got) {
		report_counted(r, name);
		err = file_begin(r, &rec, why);
		while (!err && !interrupt_came() && (got = recording_next(&rec, &ev, why)) > 0) {
			err = record_add(r, &rec, &ev, why);
			if (n++ % SHOW_EVENTS == 0)
				progress_show(&r->progress, r->done_bytes + rec.reader.bytes);
		}
		if (!err)
			err = totals_add(r, &rec, why);
	}
	got *= !interrupt_came(); /* an interrupted read fails, but the file is not damaged */
	r->done_bytes += rec.reader.bytes;
	recording_filter_end(&r->filter, &rec);
	report_source_end(&r->source, &rec);
	report_list_end(&r->list);
	recording_close(&rec);
	return err ? err : got < 0;
}

/* Who comes from breakdown takes a number for an interval. Returns -1. */
static int file_refused(const char *name, struct reason *why)
{
	if (*name && !name[strspn(name, "0123456789.")])
		return reason_hint(why, "report takes files; for an interval: --every %.20s", name);
	return -1;
}

static int file_report(struct report *r, const char *name, struct reason *why)
{
	FILE *f = infile_open(name, why);
	int got;

	if (!f)
		return file_refused(name, why);
	got = file_read(r, f, name, why);
	infile_close(f);
	return got;
}

static int page_print(struct report *r, struct snapshot *sn)
{
	struct page p = { .view = &r->view,
			  .sn = sn,
			  .names = &r->source.containers,
			  .host = r->source.header.host,
			  .begin_ns = r->sums.replay.conf.first_ns,
			  .recordings = r->files,
			  .n_recordings = r->n_files,
			  .loads = &r->sums.loads,
			  .from_ns = r->time.part.from_ns };

	p.slowest = report_sums_slowest(&r->sums, 0, &p.n_slowest);
	return report_page_put(r->out, &r->page, &p, report_time_across(&r->time));
}

/* Sets what the view says of interval @i, of @duration_ns. */
static void view_interval_set(struct report *r, size_t i, uint64_t duration_ns)
{
	r->view.interval.later = i;
	r->view.interval.until_ns =
		r->time.first_ns + r->time.part.from_ns + i * r->time.every_ns + duration_ns;
	r->view.source.without_ns = r->time.without_ns;
}

static int interval_print(struct report *r, size_t i)
{
	const struct breakdown_output out = { r->out, r->json, &r->view, &r->source.containers };
	bool is_part = r->time.every_ns || r->time.part.from_ns || r->time.part.to_ns || r->is_cut;
	const struct slow_op *slowest;
	struct snapshot sn;
	size_t n_slowest;
	int err = report_sums_take(&r->sums, i, is_part, &sn);

	sn.duration_ns = report_time_interval(&r->time, i);
	sn.devices = r->sums.replay.conf.hosts ? NULL : &r->source.header.devices;
	view_interval_set(r, i, sn.duration_ns);
	/* disks of several hosts may have the same name */
	if (!err && !r->sums.replay.conf.hosts)
		err = snapshot_disks_sum(&sn);
	slowest = report_sums_slowest(&r->sums, i, &n_slowest);
	if (!err && r->page.html)
		err = page_print(r, &sn);
	else if (!err)
		err = breakdown_put(&out, &sn, slowest, n_slowest);
	snapshot_free(&sn);
	return err;
}

static int tables_print(struct report *r)
{
	size_t i = 0;
	int err;

	do {
		err = interval_print(r, i++);
	} while (!err && i < r->sums.replay.n_intervals);
	return err;
}

static int sums_print(struct report *r)
{
	if (!r->heat)
		return tables_print(r);
	return report_sums_heat_print(r->out, &r->sums, r->of_ops, report_time_across(&r->time));
}

static bool passes(void *arg, const struct recording *rec, struct stored_event *ev)
{
	return recording_filter_passes(arg, rec, ev);
}

static void begins(void *arg)
{
	recording_filter_begin(arg);
}

static bool goes_on(void *arg, uint64_t bytes)
{
	(void)arg;
	(void)bytes;
	return !interrupt_came();
}

/* Compares the recording @name with the recording of --base. Returns 0, or -1 with @why. */
static int page_compare(struct report *r, const char *name, struct reason *why)
{
	const struct series_conf conf = { .from_ns = r->time.part.from_ns,
					  .to_ns = r->time.part.to_ns,
					  .passes = passes,
					  .begins = begins,
					  .arg = &r->filter,
					  .goes_on = goes_on };

	return report_page_compare(&r->page, name, &conf, why);
}

/* Looks for what the slow operations have in common. Returns 0, or -1 with @why. */
static int page_explain(struct report *r, struct reason *why)
{
	const struct explain_conf conf = { .from_ns = r->time.part.from_ns,
					   .to_ns = r->time.part.to_ns,
					   .passes = passes,
					   .begins = begins,
					   .goes_on = goes_on,
					   .arg = &r->filter,
					   .call_name = r->view.source.call_name };
	int err = 0;

	if (!interrupt_came())
		err = report_page_explain(&r->page, r->files, r->n_files, &conf, why);
	return interrupt_came() ? 0 : err; /* then the page has what was read */
}

static void say_interrupted(const struct report *r)
{
	if (!interrupt_came())
		return;
	fprintf(stderr, "%swarning: interrupted after %s", isatty(STDERR_FILENO) ? "\n" : "",
		text_bytes(r->done_bytes).s);
	if (r->progress.total)
		fprintf(stderr, " of %s", text_bytes(r->progress.total).s);
	fprintf(stderr, "\n");
}

/* Tables have lost their rows of servers: says why, after them. On machines with FUSE most
 * recordings have such requests, and few users ask for them. */
static void say_hidden(const struct report *r)
{
	if (r->sums.servers_hidden && !r->list.format && !r->heat)
		cmd_say("%s request%s to servers %s in no table: filters, --from, --to, --every "
			"and -T do not apply to them",
			text_count(r->sums.servers_hidden).s, text_plural(r->sums.servers_hidden),
			r->sums.servers_hidden == 1 ? "is" : "are");
}

/* A file may be recorded with another path than the one given. */
static void say_alike(const struct report *r)
{
	char text[FILES_ALIKE * PATH_BYTES];

	if (recording_filter_hint(&r->filter, text, sizeof(text)))
		cmd_say("%s", text);
}

/* Several recordings are one table: says so, since their sums may mislead. */
static void say_together(const struct report *r)
{
	enum report_together together = r->source.together;
	uint64_t twice = 0, gap = 0;
	int n = r->source.n_read;

	if (n < 2 || r->list.format)
		return;
	report_time_gaps(&r->time, &twice, &gap);
	if (together == OF_HOSTS && r->opts.by != BY_HOST)
		cmd_say("%d recordings of several hosts are added up; --by host keeps them apart",
			n);
	else if (together != OF_HOSTS && twice)
		cmd_say("%d recordings are added up; %s in which they overlap are counted twice", n,
			text_ns(twice).s);
	else if (together == OF_RUNS)
		cmd_say("%d recordings are added up; the %s between them are not recorded", n,
			text_ns(gap).s);
	if (join_has_both(&r->join)) /* they are to be read together */
		return;
	if (n == 2 && (together == OF_RUNS || (together == OF_HOSTS && r->opts.by != BY_HOST)))
		cmd_say("hint: 'iostrata compare' shows their differences");
}

/* Joins the two sides of NFS, if there are both. Returns 0, or -1 with @why. */
static int join_sides(struct report *r, struct reason *why)
{
	if (!join_has_both(&r->join))
		return 0;
	if (join_make(&r->join))
		return reason_no_memory(why);
	r->view.joined = &r->join;
	return 0;
}

/* The exit code, after all is printed; @status: of the files read. */
static int report_status(const struct report *r, int status)
{
	return !status && (r->strict || r->strict_but) && r->sums.lost ? EXIT_INCOMPLETE : status;
}

/* Reads the @n recordings. Returns 0, or the exit code if one is damaged. Then @ret_goes_on tells
 * whether the rest is to be printed. */
static int files_read(struct report *r, char **names, int n, bool *ret_goes_on)
{
	struct reason why;
	int got, status = 0;

	*ret_goes_on = false;
	for (int i = 0; i < n && !interrupt_came(); i++) {
		got = file_report(r, names[i], &why);
		if (r->list.no_reader) /* the reader has seen enough */
			return status;
		if (!got)
			continue;
		progress_end(&r->progress);
		status = cmd_fail(&why);
		r->is_cut = true;
		if (got < 0)
			return status;
	}
	*ret_goes_on = true;
	return status;
}

/* Fails if --from or --base does not fit what was read. Returns 0, or -1 with @why. */
static int files_check(struct report *r, struct reason *why)
{
	if (!report_source_is_known(&r->source))
		return 0;
	if (!interrupt_came() && report_time_reached(&r->time, why))
		return -1;
	return page_compare(r, r->files[0], why) || page_explain(r, why) ? -1 : 0;
}

/* Prints what was read: joined requests, tables, maps or a page. @status: of the files read.
 * Returns the exit code. */
static int result_print(struct report *r, int status)
{
	struct reason why;
	int err = 0;

	if (r->list.joined) {
		if (status && !join_has_both(&r->join))
			return status;
		err = report_list_joined(&r->list, &r->join);
		return err ? err : report_status(r, status);
	}
	if (join_sides(r, &why))
		return cmd_fail(&why);
	/* without a first record, a table would look as if there had been no I/O */
	if (!r->list.format && report_source_is_known(&r->source) &&
	    (!status || r->has_events || r->json))
		err = sums_print(r);
	if (!err)
		say_hidden(r);
	if (!err)
		say_alike(r);
	if (!err)
		recorded_symbols_say(&r->symbols);
	err = cmd_written(err);
	return err ? err : report_status(r, status);
}

/* Reads all recordings and prints the result. Returns the exit code. */
static int report_files(struct report *r, char **names, int n)
{
	struct report_order order = {};
	struct reason why;
	bool goes_on;
	int err, status;

	if (report_order(names, n, &order, &why))
		return cmd_fail(&why);
	r->files = names;
	r->n_files = n;
	r->is_only = order.recordings == 1;
	r->sums.replay.conf.hosts = r->page.data.hosts = order.many_hosts;
	err = report_list_begin(&r->list);
	if (err)
		return cmd_written(err);
	if (!r->list.format ||
	    !isatty(fileno(r->out))) /* else the records are printed on the terminal */
		progress_begin(&r->progress, stderr, order.bytes);
	status = files_read(r, names, n, &goes_on);
	if (!goes_on)
		return status;
	progress_end(&r->progress);
	say_interrupted(r);
	r->sums.replay.conf.hosts = r->source.together == OF_HOSTS;
	say_together(r);
	return files_check(r, &why) ? cmd_fail(&why) : result_print(r, status);
}

static int report(int argc, char **argv)
{
	struct report r = { .source.containers.no_files = true };
	struct opts_result res;
	struct reason why;
	int status = cmd_parse(&cmd_report, argc, argv, &r, &res);

	if (status >= 0)
		return status;
	interrupt_catch();
	status = resolve(&r, res.rest, res.n_rest, &why) ? cmd_fail(&why)
							 : report_files(&r, res.rest, res.n_rest);
	report_sums_done(&r.sums);
	recorded_symbols_done(&r.symbols);
	join_done(&r.join);
	report_page_done(&r.page);
	report_source_done(&r.source);
	recording_filter_done(&r.filter);
	report_time_done(&r.time);
	if (r.out)
		newfile_close(r.out, r.opts.output, status);
	return status;
}

const struct cmd cmd_report = { "report", &table, report, false };
