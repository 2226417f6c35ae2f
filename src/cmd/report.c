// SPDX-License-Identifier: GPL-2.0-only
/*
 * report.c - shows recordings: as breakdown's tables, as heat maps, or record by
 * record. The order of the recordings is decided here; filters and time are in
 * common/recording_filter.h and report_time.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/join.h"
#include "base/reason.h"
#include "base/rows.h"
#include "base/snapshot.h"
#include "base/text.h"
#include "capture/event_row.h"
#include "capture/recording.h"
#include "capture/replay.h"
#include "cmd/report_page.h"
#include "cmd/report_time.h"
#include "common/breakdown_opts.h"
#include "common/recording_filter.h"
#include "host/container_names.h"
#include "host/newfile.h"
#include "run/cmd.h"
#include "run/filters.h"
#include "run/run.h"
#include "show/columns.h"
#include "show/events.h"
#include "show/heat.h"
#include "show/joined.h"
#include "show/joined_events.h"
#include "show/progress.h"
#include "trace/syscalls.h"

/* Heat maps (--heat): one of operations, one of requests. */
struct report_heat {
	struct heat ops, requests;
};

/* Adds @ev, an operation or a request of @rec. @first_ns: when the maps begin, CLOCK_REALTIME. */
static void report_heat_add(struct report_heat *h, const struct recording *rec,
			    const struct stored_event *ev, uint64_t first_ns)
{
	uint64_t real_ns =
		stored_event_end(ev) - rec->header.monotonic_ns + rec->header.realtime_ns;
	int64_t at = real_ns - first_ns;

	heat_add_at(ev->kind == CHUNK_OPS ? &h->ops : &h->requests, at < 0 ? 0 : at,
		    stored_event_total(ev));
}

/* Draws both maps, up to @end_ns after the beginning. The map of requests is left out if filters
 * cannot choose requests (@of_ops). Returns 0 or -errno. */
static int report_heat_print(FILE *out, struct report_heat *h, const char *of_ops, uint64_t end_ns)
{
	struct text_out o = { .f = out };
	int err = heat_text(out, &h->ops, "operations", end_ns);

	if (err || !*of_ops)
		return err ? err : heat_text(out, &h->requests, "requests", end_ns);
	text_put(&o, "requests: not shown, because only operations are filtered by %s\n", of_ops);
	return text_end(&o);
}

/* Order of the recordings: all are on one timeline, in the order of their beginnings. */

struct known {
	char *name;
	uint64_t began_ns; /* CLOCK_REALTIME; 0: not known */
	int given;         /* its position on the command line */
	dev_t dev;         /* with .ino, the identity of the file */
	ino_t ino;         /* 0: not known */
	bool no_recording; /* it is a file of something else */
	char *host, *argv; /* NULL: not known; owned */
};

static int compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return x->given - y->given;
}

/* Sets the beginning and the identity of @k. Returns the size of the file, or 0 if @k is no
 * file. */
static uint64_t look(struct known *k)
{
	struct recording rec;
	struct reason why;
	struct stat st;
	FILE *f;

	if (strcmp(k->name, "-") ? stat(k->name, &st) : fstat(STDIN_FILENO, &st))
		return 0;
	k->dev = st.st_dev;
	k->ino = st.st_ino;
	if (!strcmp(k->name, "-") || !S_ISREG(st.st_mode))
		return 0;
	f = fopen(k->name, "re");
	if (!f)
		return 0;
	if (!recording_open(&rec, f, k->name, &why)) {
		k->began_ns = rec.header.realtime_ns;
		k->host = rec.header.host ? strdup(rec.header.host) : NULL;
		k->argv = rec.header.argv ? strdup(rec.header.argv) : NULL;
	} else {
		k->no_recording = true;
	}
	recording_close(&rec);
	fclose(f);
	return st.st_size;
}

/* Fails if @list[@i] is the same file as one before it. Returns 0, or -1 with @why. */
static int order_check(const struct known *list, int i, struct reason *why)
{
	for (int j = 0; j < i; j++) {
		if (!list[i].ino || list[j].ino != list[i].ino || list[j].dev != list[i].dev)
			continue;
		reason_set(why, EXIT_USAGE, "'%.100s' and '%.100s' are the same file", list[j].name,
			   list[i].name);
		return reason_hint(why,
				   "name each recording once, or its records are counted twice");
	}
	return 0;
}

/* Whether several recordings are from one run of record, from one host, or from several. */
enum together { OF_ONE_RUN, OF_RUNS, OF_HOSTS };

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The files, as far as they are known before they are read. */
struct order {
	uint64_t bytes;  /* sum of the sizes; 0: not known */
	int recordings;  /* number of files that may be recordings */
	bool many_hosts; /* of the recordings, as far as known: no pipe tells its host yet */
};

static void order_fill(struct order *o, const struct known *list, int n)
{
	const struct known *first = NULL;

	for (int i = 0; i < n; i++) {
		if (list[i].no_recording)
			continue;
		if (o->recordings++)
			o->many_hosts |= !first->host || !same(list[i].host, first->host);
		else
			first = &list[i];
	}
}

/* Sorts the files @names by their beginning. Files with an unknown beginning, like pipes, come
 * first, in their order on the command line. 0; -1 with @why: a file is named twice. */
static int report_order(char **names, int n, struct order *ret, struct reason *why)
{
	struct known *list = calloc(n, sizeof(*list));
	struct order order = {};
	uint64_t sum = 0, size;
	bool all = true;
	int err = 0;

	if (!list)
		return reason_no_memory(why);
	for (int i = 0; i < n && !err; i++) {
		list[i] = (struct known){ .name = names[i], .given = i };
		size = look(&list[i]);
		err = order_check(list, i, why);
		all = all && size;
		sum += size;
	}
	if (!err) {
		qsort(list, n, sizeof(*list), compare);
		for (int i = 0; i < n; i++)
			names[i] = list[i].name;
		order.bytes = all ? sum : 0;
		order_fill(&order, list, n);
		*ret = order;
	}
	for (int i = 0; i < n; i++) {
		free(list[i].host);
		free(list[i].argv);
	}
	free(list);
	return err;
}

enum { SHOW_EVENTS = 16384 };

struct report {
	/* options */
	struct breakdown_opts opts;
	struct report_time time;
	struct recording_filter filter;
	struct report_page page;
	int events; /* enum events_format */
	bool json, strict, heat;
	bool joined; /* with .events: joined requests of NFS in place of records */
	/* state */
	char looked_for[FILTERS_TEXT]; /* the filters as text; hostile */
	char of_ops[64];               /* filters of operations alone: they choose no requests */
	bool no_reader;                /* the output's pipe was closed */
	bool is_only;                  /* there is one recording */
	bool of_hosts, of_runs;        /* the recordings read are of several hosts, or runs */
	char **files;                  /* their names */
	size_t n_files;
	int n_read;      /* number of recordings read, damaged ones included */
	bool has_events; /* an operation or request was read, chosen or not */
	FILE *out;       /* the output */
	struct breakdown_view view;
	struct replay replay;
	struct rows servers;               /* only requests to servers, of all recordings */
	uint64_t servers_hidden;           /* requests to servers that are not shown */
	struct join join;                  /* with joins() */
	struct event_names names;          /* of the recording being read */
	struct container_names containers; /* of all recordings */
	struct header header;              /* of the first file */
	struct missing missing;            /* of the first file */
	uint64_t lost;                     /* in the shown part, or perhaps in it */
	struct losses_sum whole, untimed;  /* of the whole recordings; those without a time */
	struct report_heat heats;
	struct progress progress;
	uint64_t done_bytes; /* size of the files read so far */
};

static const struct opt_choice event_choices[] = {
	{ "text", EVENTS_TEXT },
	{ "csv", EVENTS_CSV },
	{ "json", EVENTS_JSON },
	{},
};

static const struct opt what_opts[] = {
	{ 0, "events", OPT_CHOICE(struct report, events, event_choices), .arg = "FORMAT",
	  .help = "list the operations and requests one by one" },
	{ 0, "joined", OPT_FLAG(struct report, joined),
	  .help = "with --events, list the NFS requests of a client which are joined with "
		  "operations of its server" },
	{ 0, "heat", OPT_FLAG(struct report, heat),
	  .help = "draw maps of the latency of operations and requests: time to the right, latency "
		  "upwards" },
	{ 0, "every", OPT_DURATION(struct report, time.every_ns), .arg = "DUR", .min = 1000000,
	  .help = "a table for each interval of this length" },
	{ 'j', "json", OPT_FLAG(struct report, json),
	  .help = "one JSON object per interval, times in ns" },
	{ 0, "strict", OPT_FLAG(struct report, strict),
	  .help = "exit with code 5 if anything was lost" },
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

	if (!r->events) {
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

/* Fails if an option would be ignored because of another. Returns 0, or -1 with @why. */
static int check(struct report *r, enum layer layer, struct reason *why)
{
	const char *of_table = breakdown_table_option(&r->opts);

	if (r->opts.by == BY_CLIENT)
		return breakdown_no_clients(why);
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
	if (r->events && (of_table || r->heat))
		return reason_set(why, EXIT_USAGE,
				  "--events lists records, %s is about %s: choose one",
				  of_table ? of_table : "--heat", of_table ? "tables" : "maps");
	if (r->joined && joined_check(r, why))
		return -1;
	if (r->heat && of_table)
		return reason_set(why, EXIT_USAGE,
				  "--heat draws maps, %s is about tables: choose one", of_table);
	if (recording_part_check(&r->time.part, why))
		return -1;
	r->filter.by_file = breakdown_rows_by(&r->opts) == BY_FILE && !r->events && !r->heat;
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
	       : r->events        ? "--events"
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
	if (r->events || r->json)
		run_say_of_ops(r->of_ops);
	r->replay.conf = (struct replay_conf){
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
	r->view.interval.every_ns = r->time.every_ns;
	r->view.chosen.min_ns = r->filter.given.min_ns;
	r->view.chosen.fs = r->filter.given.fs;
	r->view.chosen.of_ops = r->of_ops;
	r->page.data.commands = r->page.commands;
	r->view.chosen.filters = r->looked_for[0] ? r->looked_for : NULL;
	recording_filter_init(&r->filter);
	return 0;
}

/* The header of the first recording counts for all. A figure missing in any recording is missing in
 * the sums. Returns 0, or -1 with @why. */
static int header_keep(struct report *r, struct recording *rec, struct reason *why)
{
	if (!rec->header.has_device_bytes)
		r->missing.device_bytes = "not recorded";
	if (r->header.monotonic_ns && r->header.machine != rec->header.machine)
		return reason_set(
			why, EXIT_FAILED,
			"the recordings are from machines with different numbers of system "
			"calls");
	if (r->header.monotonic_ns) {
		r->of_hosts |= !same(rec->header.host, r->header.host);
		r->of_runs |= !same(rec->header.argv, r->header.argv);
		return 0;
	}
	r->header = rec->header;
	r->header.n_mounts = 0; /* the mounts stay in @rec */
	r->header.mounts = NULL;
	r->header.devices = (struct devices){}; /* kept by file_read() at the end */
	r->header.trigger = NULL;               /* stays in @rec, as the mounts */
	r->header.host = rec->header.host ? strdup(rec->header.host) : NULL; /* rows need it, too */
	rec->header.kernel = rec->header.options = NULL;
	rec->header.boot_id = rec->header.argv = NULL;
	for (int i = 0; i < ST_N; i++) {
		r->missing.stratum[i] = r->header.stratum[i];
		rec->header.stratum[i] = NULL;
	}
	for (int i = 0; i < MISSING_IN_N; i++)
		rec->header.missing[i] = NULL;
	r->missing.syscalls = r->header.has_ops ? NULL : "not recorded";
	r->missing.requests = "not recorded";
	if (r->header.has_requests)
		r->missing.requests = r->header.missing[MISSING_IN_REQUESTS];
	r->missing.uring = r->header.missing[MISSING_IN_URING];
	r->missing.aio = r->header.missing[MISSING_IN_AIO];
	r->missing.faults = r->header.missing[MISSING_IN_FAULTS];
	r->missing.pages = r->header.missing[MISSING_IN_PAGES];
	r->missing.minor_faults = "not recorded";
	r->view.source.kernel = r->header.kernel;
	r->view.missing = &r->missing;
	r->view.source.call_name = syscall_names(r->header.machine);
	r->time.first_ns = r->header.realtime_ns;
	r->replay.conf.first_ns = r->time.first_ns + r->time.part.from_ns;
	return 0;
}

static struct events_form events_form(const struct report *r)
{
	return (struct events_form){ r->events, r->view.form.terminal ? r->view.form.width : 0 };
}

static int event(struct report *r, const struct recording *rec, struct stored_event *ev,
		 struct reason *why)
{
	const struct events_form form = events_form(r);
	uint64_t end;
	int err = 0;

	r->has_events = true;
	if (r->joined || !recording_filter_passes(&r->filter, rec, ev))
		return 0;
	if (!r->events && !r->heat)
		err = replay_add(&r->replay, rec, ev, why);
	if (err || !(r->events || r->heat || r->page.html))
		return err;
	end = stored_event_end(ev);
	if (end < rec->from_ns || end >= rec->to_ns)
		return 0;
	if (r->page.html)
		return report_page_add(&r->page, rec, ev, r->replay.conf.first_ns, why);
	if (r->heat) {
		report_heat_add(&r->heats, rec, ev, r->replay.conf.first_ns);
		return 0;
	}
	err = events_put(r->out, &form, rec, ev, syscall_names(rec->header.machine), &r->names);
	r->no_reader = err == -EPIPE;
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot write the output: %s", strerror(-err));
	return 0;
}

/* Whether all that was recorded is shown. Rows of requests to servers have no times, so they cannot
 * be shown for a part. */
static bool is_whole(const struct report *r)
{
	char filters[512];

	filters_text(&r->filter.given, filters, sizeof(filters));
	return !filters[0] && r->replay.conf.layer == LAYER_OPS && !r->time.every_ns &&
	       !r->time.part.from_ns && !r->time.part.to_ns;
}

/* Whether requests of NFS are joined with the operations that served them. */
static bool joins(const struct report *r)
{
	return is_whole(r) && (!r->events || r->joined) && !r->heat && !r->page.html;
}

/* Adds the requests to servers of a recording. Returns 0 or -ENOMEM. */
static int servers_add(struct report *r, const struct ending *e)
{
	struct server_row *row;
	struct server_key key;

	for (size_t i = 0; i < e->n_servers; i++) {
		const struct server_row *from = &e->servers[i];

		if (!is_whole(r)) {
			r->servers_hidden += from->sums.count;
			continue;
		}
		key = from->key;
		key.dev = from->mount ? mount_server_number(from->mount) : 0;
		row = rows_server(&r->servers, &key);
		if (!row)
			return -ENOMEM;
		if (!row->mount && from->mount)
			row->mount = strdup(from->mount);
		server_row_add(row, &from->sums);
		if (hist_merge(&row->hist, &from->hist))
			return -ENOMEM;
	}
	return 0;
}

static int totals_add(struct report *r, const struct recording *rec, struct reason *why)
{
	if (replay_end(&r->replay, rec, why))
		return -1;
	losses_untimed(&rec->losses, rec->ending.lost, r->untimed.lost);
	r->untimed.missed += rec->ending.missed;
	for (int i = 0; i < LOST_N; i++)
		r->whole.lost[i] += rec->ending.lost[i];
	r->whole.missed += rec->ending.missed;
	r->lost += recording_lost(rec);
	if (servers_add(r, &rec->ending))
		return reason_no_memory(why);
	if (rec->server_requests)
		join_end(&r->join, rec);
	catalog_container_names(&rec->catalog, &r->containers);
	if (r->page.html && page_data_end(&r->page.data, rec))
		return reason_no_memory(why);
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
	if (!r->n_read)
		r->view.source.recording = name;
	r->view.source.more_recordings = r->n_read++;
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
		say_trigger(r, &rec);
		err = header_keep(r, &rec, why);
		if (!err && r->page.html && page_data_begin(&r->page.data, &rec))
			err = reason_no_memory(why);
		report_time_window(&r->time, &rec);
		recording_filter_begin(&r->filter);
		rec.server_requests = joins(r);
		if (!err && rec.server_requests && join_begin(&r->join, &rec))
			err = reason_no_memory(why);
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
	if (!r->header.devices.n) {
		r->header.devices = rec.header.devices;
		rec.header.devices = (struct devices){};
	} else {
		devices_merge(&r->header.devices, &rec.header.devices);
	}
	event_names_done(&r->names);
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

static int page_print(struct report *r, struct snapshot *sn, const struct replay_interval *iv)
{
	struct page p = { .view = &r->view,
			  .sn = sn,
			  .slowest = iv->slowest,
			  .n_slowest = iv->n_slowest,
			  .names = &r->containers,
			  .host = r->header.host,
			  .begin_ns = r->replay.conf.first_ns,
			  .recordings = r->files,
			  .n_recordings = r->n_files,
			  .from_ns = r->time.part.from_ns };

	return report_page_put(r->out, &r->page, &p, report_time_across(&r->time));
}

/* Moves the requests to servers to @sn. It has none so far. */
static void servers_take(struct report *r, struct snapshot *sn)
{
	struct snapshot taken = {};

	rows_take(&r->servers, &taken);
	sn->servers = taken.servers;
	sn->n_servers = taken.n_servers;
}

/* Gives @sn the losses that are not of its time alone. A part of the time has those without a time
 * apart, and only once (@is_first). */
static void losses_put(const struct report *r, struct snapshot *sn, bool is_first)
{
	sn->is_part = r->time.every_ns || r->time.part.from_ns || r->time.part.to_ns;
	if (sn->is_part && is_first)
		sn->untimed = r->untimed;
	if (sn->is_part)
		return;
	memcpy(sn->lost, r->whole.lost, sizeof(sn->lost));
	sn->missed = r->whole.missed;
}

static int interval_print(struct report *r, size_t i)
{
	const struct breakdown_output out = { r->out, r->json, &r->view, &r->containers };
	struct replay_interval none = {}, *iv = &none;
	struct snapshot sn = {};
	int err = 0;

	if (i < r->replay.n_intervals) {
		iv = &r->replay.intervals[i];
		err = replay_take(&r->replay, i, &sn);
	}
	if (!i)
		servers_take(r, &sn);
	sn.duration_ns = report_time_interval(&r->time, i);
	sn.devices = r->replay.conf.hosts ? NULL : &r->header.devices;
	losses_put(r, &sn, !i);
	r->view.interval.later = i;
	r->view.source.without_ns = r->time.without_ns;
	r->view.interval.until_ns =
		r->time.first_ns + r->time.part.from_ns + i * r->time.every_ns + sn.duration_ns;
	if (!err && r->page.html)
		err = page_print(r, &sn, iv);
	else if (!err)
		err = breakdown_put(&out, &sn, iv->slowest, iv->n_slowest);
	snapshot_free(&sn);
	return err;
}

static int tables_print(struct report *r)
{
	size_t i = 0;
	int err;

	do {
		err = interval_print(r, i++);
	} while (!err && i < r->replay.n_intervals);
	return err;
}

static int sums_print(struct report *r)
{
	if (!r->heat)
		return tables_print(r);
	return report_heat_print(r->out, &r->heats, r->of_ops, report_time_across(&r->time));
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
	if (r->servers_hidden && !r->events && !r->heat)
		cmd_say("%s request%s to servers %s in no table: filters, --from, --to, --every "
			"and -T do not apply to them",
			text_count(r->servers_hidden).s, text_plural(r->servers_hidden),
			r->servers_hidden == 1 ? "is" : "are");
}

static enum together together_of(const struct report *r)
{
	return r->of_hosts ? OF_HOSTS : r->of_runs ? OF_RUNS : OF_ONE_RUN;
}

/* Several recordings are one table: says so, since their sums may mislead. */
static void say_together(const struct report *r)
{
	enum together together = together_of(r);
	uint64_t twice = 0, gap = 0;
	int n = r->n_read;

	if (n < 2 || r->events)
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

/* The list of --joined, while it is written. */
struct joined_list {
	struct text_out out;
	enum events_format format;
};

static void joined_tell(void *arg, const struct joined *one)
{
	struct joined_list *list = arg;

	joined_events_put(&list->out, list->format, one);
}

/* Lists the joined requests of NFS. Returns the exit code. */
static int joined_list(struct report *r)
{
	struct joined_list list = { { .f = r->out }, r->events };
	struct reason why;
	char rest[512];
	int code;

	if (!join_has_both(&r->join)) {
		reason_set(&why, EXIT_FAILED,
			   "nothing to join: a recording from an NFS client is missing, or one "
			   "from its server");
		reason_hint(&why,
			    "record on both hosts at the same time, and give both recordings");
		return cmd_fail(&why);
	}
	joined_events_head(&list.out, list.format);
	r->join.tell = joined_tell;
	r->join.tell_arg = &list;
	if (join_sides(r, &why))
		return cmd_fail(&why);
	code = cmd_written(text_end(&list.out));
	for (int side = 0; side < JOINED_SIDES && !code; side++)
		if (joined_rest(rest, sizeof(rest), &r->join, side))
			cmd_say("%s", rest);
	return code;
}

/* The exit code, after all is printed; @status: of the files read. */
static int report_status(const struct report *r, int status)
{
	return !status && r->strict && r->lost ? EXIT_INCOMPLETE : status;
}

/* Reads all recordings and prints the result. Returns the exit code. */
static int report_files(struct report *r, char **names, int n)
{
	struct reason why;
	const struct events_form form = events_form(r);
	int got, err, status = 0;
	struct order order = {};

	if (report_order(names, n, &order, &why))
		return cmd_fail(&why);
	r->files = names;
	r->n_files = n;
	r->replay.conf.hosts = r->page.data.hosts = order.many_hosts;
	err = r->events && !r->joined ? events_head(r->out, &form) : 0;
	if (!r->events ||
	    !isatty(fileno(r->out))) /* else the records are printed on the terminal */
		progress_begin(&r->progress, stderr, order.bytes);
	r->is_only = order.recordings == 1;
	for (int i = 0; i < n && !err && !interrupt_came(); i++) {
		got = file_report(r, names[i], &why);
		if (r->no_reader) /* the reader has seen enough */
			return status;
		if (!got)
			continue;
		progress_end(&r->progress);
		status = cmd_fail(&why);
		if (got < 0)
			return status;
	}
	progress_end(&r->progress);
	say_interrupted(r);
	r->replay.conf.hosts = r->of_hosts;
	say_together(r);
	if (!err && !interrupt_came() && r->header.monotonic_ns &&
	    report_time_reached(&r->time, &why))
		return cmd_fail(&why);
	if (!err && r->header.monotonic_ns && page_compare(r, names[0], &why))
		return cmd_fail(&why);
	if (r->joined) {
		err = status && !join_has_both(&r->join) ? status : joined_list(r);
		return err ? err : report_status(r, status);
	}
	if (join_sides(r, &why))
		return cmd_fail(&why);
	/* without a first record, a table would look as if there had been no I/O */
	if (!r->events && !err && r->header.monotonic_ns && (!status || r->has_events || r->json))
		err = sums_print(r);
	if (!err)
		say_hidden(r);
	err = cmd_written(err);
	return err ? err : report_status(r, status);
}

static int report(int argc, char **argv)
{
	struct report r = { .containers.no_files = true };
	struct opts_result res;
	struct reason why;
	int status = cmd_parse(&cmd_report, argc, argv, &r, &res);

	if (status >= 0)
		return status;
	interrupt_catch();
	status = resolve(&r, res.rest, res.n_rest, &why) ? cmd_fail(&why)
							 : report_files(&r, res.rest, res.n_rest);
	replay_done(&r.replay);
	rows_done(&r.servers);
	join_done(&r.join);
	container_names_done(&r.containers);
	report_page_done(&r.page);
	header_done(&r.header);
	recording_filter_done(&r.filter);
	report_time_done(&r.time);
	if (r.out)
		newfile_close(r.out, r.opts.output, status);
	return status;
}

const struct cmd cmd_report = { "report", &table, report, false };
