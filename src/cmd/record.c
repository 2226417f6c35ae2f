// SPDX-License-Identifier: GPL-2.0-only
/*
 * record.c - writes every operation and request to a recording: options, messages, and the way of
 * records from the session to the files (record_files.h).
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/header.h"
#include "cmd/record_files.h"
#include "cmd/record_runs.h"
#include "common/archive.h"
#include "common/breakdown_opts.h"
#include "common/recorded_stacks.h"
#include "common/recorder.h"
#include "event.h"
#include "run/deputy.h"
#include "run/io.h"
#include "show/breakdown_text.h"

/*
 * The options --otf2, --parquet and --html: the run writes a recording inside of the directory, or
 * beside the page. The recording is exported after the run. The run drops the privileges to write
 * the files, so a deputy (run/deputy.h), forked before, exports the recording.
 */
struct record_otf2 {
	const char *dir;        /* or the page; NULL: none of the options is given */
	char recording[256];    /* the file to be exported */
	struct deputy exporter; /* the deputy; to be ended by deputy_end() */
};

static int prepare(void *arg)
{
	const struct record_otf2 *o = arg;

	return mkdir(o->dir, 0700) ? -errno : 0;
}

static void give_up(void *arg)
{
	const struct record_otf2 *o = arg;

	unlink(o->recording);
	rmdir(o->dir);
}

/* The page is made after the run, by a command that does not overwrite a file. */
static int prepare_page(void *arg)
{
	const struct record_otf2 *o = arg;
	struct stat st;

	return lstat(o->dir, &st) ? 0 : -EEXIST;
}

static void give_up_page(void *arg)
{
	const struct record_otf2 *o = arg;

	unlink(o->recording);
}

/* Makes the directory, sets .recording, and forks a deputy to do the work @w with @o after the run.
 * Returns 0, or -1 with @why. */
static int record_otf2_start(struct record_otf2 *o, const struct deputy_work *w, const char *ending,
			     struct reason *why)
{
	int err = 0;

	if (snprintf(o->recording, sizeof(o->recording), "%s%s", o->dir, ending) >=
	    (int)sizeof(o->recording))
		err = -ENAMETOOLONG;
	if (!err)
		err = deputy_start(&o->exporter, w);
	if (!err)
		return 0;
	reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", o->dir, strerror(-err));
	return err == -EEXIST ? reason_hint(why, "%s must not exist yet",
					    w->prepare == prepare ? "DIR" : "OUT.html")
			      : -1;
}

/* Messages about the progress and the result of the recording. */

/* On a terminal, replaces the line about the progress. */
static void line_begin(FILE *f)
{
	fprintf(f, "%s", isatty(fileno(f)) ? "\r\033[K" : "");
}

/* Prints the state @took_ns after the beginning. @lost: counted by the programs so far. */
static void record_say_progress(FILE *f, const struct record_files *files,
				const uint64_t lost[LOST_N], uint64_t took_ns)
{
	const struct writer *w = &files->w;
	uint64_t ops = w->ops + w->batches[CHUNK_OPS].columns.rows;
	uint64_t requests = w->requests + w->batches[CHUNK_REQUESTS].columns.rows;
	uint64_t sum = lost[LOST_OPS] + lost[LOST_REQUESTS] + w->lost_ops + w->lost_requests;

	line_begin(f);
	fprintf(f, "%.1f s: %s op%s, %s request%s, %s, %s, %s record%s lost", took_ns / 1e9,
		text_count(ops).s, text_plural(ops), text_count(requests).s, text_plural(requests),
		text_bytes(record_files_size(files).bytes).s, text_rate(ops, took_ns).s,
		text_count(sum).s, text_plural(sum));
}

/* Prints losses that record_say_end() has no other words for. Report tells lost names. */
static void record_say_others(FILE *f, const struct snapshot *sn)
{
	const unsigned int told =
		1U << LOST_OPS | 1U << LOST_REQUESTS | 1U << LOST_RING | 1U << LOST_NAMES;

	for (int i = 0; i <= LOST_N; i++) {
		uint64_t n = i < LOST_N ? sn->lost[i] : sn->missed;

		if (n && !(told & 1U << i) && lost_what(i, n))
			fprintf(f, "warning: %s %s\n", text_count(n).s, lost_what(i, n));
	}
}

/* Prints what was recorded, and what was lost by the programs (in @sn) or by the writer.
 * @for_export: an export names what it makes of the recording, and the recording is removed. */
static void record_say_end(FILE *f, const struct record_files *files, const struct snapshot *sn,
			   bool for_export)
{
	const uint64_t *lost = sn->lost;
	struct record_files_size size = record_files_size(files);
	const struct writer *w = &files->w;
	uint64_t ops = lost[LOST_OPS] + w->lost_ops;
	uint64_t requests = lost[LOST_REQUESTS] + w->lost_requests;
	uint64_t others = lost[LOST_RING] + w->lost_others;
	char safe[TEXT_SAFE_CAP(sizeof(files->name))], text[sizeof(safe) + 128];

	text_safe(safe, sizeof(safe),
		  for_export               ? "recorded"
		  : w->fd == STDOUT_FILENO ? "the standard output"
					   : files->name);
	line_begin(f);
	snprintf(text, sizeof(text), "%s%s: %s operation%s, %s request%s, %s", safe,
		 files->max_files ? ".*" : "", text_count(size.ops).s, text_plural(size.ops),
		 text_count(size.requests).s, text_plural(size.requests), text_bytes(size.bytes).s);
	text_message(f, text);
	if (ops || requests) {
		char of_ops[64], of_requests[64];

		text_share(of_ops, sizeof(of_ops), ops, ops + size.ops);
		text_share(of_requests, sizeof(of_requests), requests, requests + size.requests);
		fprintf(f, "warning: lost %s operation%s %s, %s request%s %s\n", text_count(ops).s,
			text_plural(ops), of_ops, text_count(requests).s, text_plural(requests),
			of_requests);
	}
	if (others)
		fprintf(f,
			"warning: lost %s record%s of descriptors (dup, lseek, fcntl) or of "
			"requests to servers\n",
			text_count(others).s, text_plural(others));
	record_say_others(f, sn);
}

/* The first chunk is written early: if record is killed soon, the file has records, too. */
enum {
	BUFFER_KIB = 8192,
	FIRST_FLUSH_NS = 100000000,
	FLUSH_NS = 1000000000,
	TELL_NS = 50000000, /* losses have times as fine as this, if records come */
};

struct record_run {
	struct io_run io;
	/* options */
	const char *file, *parquet, *html;
	struct record_otf2 otf2; /* --parquet and --html use the same */
	uint64_t buffer_kib, max_mib;
	struct opt_strings until;
	bool ops, requests, breakdown, stacks, all_stacks;
	struct breakdown_opts opts;
	struct record_runs runs;
	/* state */
	struct record_files files;
	struct recorder recorder;
	uint64_t start_ns, said_ns;
	bool until_said, ended, stacks_written;
	uint64_t stacks_late, stacks_late_ns; /* came after the others were written */
	struct breakdown_view view;
	struct utsname uts;
};

static const struct opt file_opts[] = {
	{ 'o', "output", OPT_STRING(struct record_run, file), .arg = "FILE",
	  .help = "write to this file (default: iostrata-COMMAND-TIME.ios); - is the standard "
		  "output" },
	{ 0, "otf2", OPT_STRING(struct record_run, otf2.dir), .arg = "DIR",
	  .help = "make this directory, with an OTF2 archive instead of a recording" },
	{ 0, "parquet", OPT_STRING(struct record_run, parquet), .arg = "DIR",
	  .help = "make this directory, with Parquet tables instead of a recording" },
	{ 0, "html", OPT_STRING(struct record_run, html), .arg = "OUT.html",
	  .help = "make a page for browsers ('iostrata report --html') instead of a recording" },
	{ 0, "force", OPT_FLAG(struct record_run, files.replace),
	  .help = "replace a file that exists" },
	{ 0, "max-size", OPT_UINT(struct record_run, max_mib), .arg = "MIB", .min = 1,
	  .max = 1 << 30, .help = "end when the file reaches this size" },
	{ 0, "max-files", OPT_UINT(struct record_run, files.max_files), .arg = "N", .min = 2,
	  .max = 1000,
	  .help = "with --max-size: when a file is full, go on in the next of FILE.1 to FILE.N; "
		  "after FILE.N, overwrite FILE.1" },
	{ 0, "runs", OPT_UINT(struct record_run, runs.n), .arg = "N", .min = 1, .max = 1000,
	  .help = "record the command N times: FILE-1.ios to FILE-N.ios (default of FILE: runs)" },
	{ 0, "alternate", OPT_FLAG(struct record_run, runs.alternate),
	  .help = "with --runs: record two commands of the shell in turn, N times each, for "
		  "compare: FILE-base-1.ios, FILE-new-1.ios" },
	{ 0, "keep", OPT_DURATION(struct record_run, files.keep_ns), .arg = "DUR",
	  .min = 1000000000,
	  .help = "keep only the records of the last DUR in memory, and write them at the end" },
	{ 0, "until", OPT_PATHS(struct record_run, until), .arg = "COND",
	  .help = "end when this condition is met, see iostrata(1): "
		  "'fsync>100ms', 'any>1', 'request vda>50ms', 'errors>0', 'fsync p99>50ms over "
		  "10s'" },
	{},
};

static const struct opt what_opts[] = {
	{ 0, "ops", OPT_FLAG(struct record_run, ops),
	  .help = "only operations; with --requests: both (default: both)" },
	{ 0, "requests", OPT_FLAG(struct record_run, requests),
	  .help = "only requests; with --ops: both" },
	{ 0, "breakdown", OPT_FLAG(struct record_run, breakdown),
	  .help = "also print breakdown's tables for this run; each option for tables implies this "
		  "option" },
	{ 0, "stacks", OPT_FLAG(struct record_run, stacks),
	  .help = "also user stacks: which function of the program made the call; for 'iostrata "
		  "report --by function'" },
	{ 0, "all-stacks", OPT_FLAG(struct record_run, all_stacks),
	  .help = "the user stack of each operation (default: at most 200 a second for each CPU)" },
	{ 0, "no-commands", OPT_FLAG(struct record_run, recorder.no_commands),
	  .help = RECORDER_NO_COMMANDS_HELP },
	{ 0, "by", OPT_CHOICE(struct record_run, opts.by, breakdown_by_recording), .arg = "KEY",
	  .also = breakdown_by_recording_also,
	  .help = "breakdown's tables with a row per key (by callers only in 'iostrata report')" },
	{ 0, "buffer", OPT_UINT(struct record_run, buffer_kib), .arg = "KIB", .min = 4,
	  .max = 4 << 20, .help = "memory for records not yet written (default: 8192)" },
	{},
};

static const struct opt args[] = {
	{ .arg = "OLD NEW",
	  .type = OPT_TYPE_STRING,
	  .many = true,
	  .help = "with --alternate: two commands of the shell" },
	{},
};

static const struct opt_group groups[] = {
	{ "Contents", what_opts, 0 },
	{ "File", file_opts, 0 },
	{ "Tables of --breakdown", breakdown_table_opts, offsetof(struct record_run, opts) },
	RUN_GROUPS,
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata record -- make -j8", "the I/O of a command and of all its descendants" },
	{ "iostrata record -o trace.ios -D 10", "all I/O, for 10 seconds" },
	{ "iostrata record --stacks -- ./program", "also which functions made the calls" },
	{ "iostrata record --requests -d nvme0n1", "a disk's requests" },
	{ "iostrata record --keep 60 -o last.ios", "the last minute before Ctrl-C" },
	{ "iostrata record --keep 60 --until 'fsync>100ms'", "the minute before a slow fsync" },
	{ "iostrata record --max-size 100 --max-files 5 -o a.ios", "the last 400 MiB or more" },
	{ "iostrata record --runs 5 --alternate './old' './new'", "five runs of each, in turn" },
	{ "iostrata record --otf2 trace -- make", "an archive for Vampir and other tools" },
	{ "iostrata record --parquet tables -- make", "tables for DuckDB and other engines" },
	{ "iostrata record --html make.html -- make", "a page to send to a colleague" },
	{ "iostrata record -o - -- dd if=a of=b | iostrata report -", "through a pipe" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata record",
	.summary = "record every operation and request in a file",
	.about = "Writes a record of each completed operation and each completed block request: "
		 "process, file or disk, begin, duration, and the time by layer. 'iostrata report' "
		 "shows the file. Lost records are counted, also in the file. SIGUSR1 ends the "
		 "recording, but not a command.",
	.groups = groups,
	.args = args,
	.command = true,
	.examples = examples,
};

static struct record_run *record_run_of(struct run *r)
{
	return (struct record_run *)r; /* its first member */
}

static int check_files(const struct record_run *rec, struct reason *why)
{
	const char *instead = rec->otf2.dir ? "--otf2" : rec->parquet ? "--parquet" : "--html";

	if (rec->files.max_files && !rec->max_mib) {
		reason_set(why, EXIT_USAGE, "--max-files needs the size of a file");
		return reason_hint(why, "--max-size MIB");
	}
	if (rec->files.max_files && rec->file && !strcmp(rec->file, "-"))
		return reason_set(why, EXIT_USAGE, "--max-files and -o - exclude one another");
	if ((rec->otf2.dir || rec->parquet || rec->html) &&
	    (rec->file || rec->files.max_files || rec->files.replace))
		return reason_set(why, EXIT_USAGE, "%s excludes -o, --force and --max-files",
				  instead);
	if (rec->html && *rec->html == '-') /* it would be an option of report */
		return reason_set(why, EXIT_USAGE, "--html needs the name of a file, not '%.60s'",
				  rec->html);
	if (!!rec->otf2.dir + !!rec->parquet + !!rec->html > 1)
		return reason_set(why, EXIT_USAGE, "%s and %s exclude one another", instead,
				  rec->html ? "--html" : "--parquet");
	if (rec->runs.n && (rec->otf2.dir || rec->parquet || rec->html || rec->files.max_files))
		return reason_set(why, EXIT_USAGE, "--runs excludes %s",
				  rec->files.max_files ? "--max-files" : instead);
	if (rec->files.max_files && rec->files.keep_ns)
		return reason_set(why, EXIT_USAGE, "--max-files and --keep exclude one another");
	return 0;
}

static int export_failed(const struct record_otf2 *o, struct reason *why)
{
	reason_hint(why, "'%.200s' is the recording: 'iostrata export' can read it", o->recording);
	return cmd_fail(why);
}

/* Runs in the deputy. */
static int otf2_work(void *arg)
{
	const struct record_otf2 *o = arg;
	const struct otf2_conf conf = { .dir = o->dir };
	struct otf2_counts counts = {};
	struct reason why;
	char *const files[] = { (char *)o->recording };
	int got = archive_write(files, 1, &conf, &counts, &why);

	if (got < 0)
		return export_failed(o, &why);
	archive_say(stderr, o->dir, &counts);
	unlink(o->recording);
	return got ? cmd_fail(&why) : 0;
}

/* Runs in the deputy, for --parquet. */
static int parquet_work(void *arg)
{
	const struct record_otf2 *o = arg;
	struct tables_conf conf = { .dir = o->dir, .writer = "iostrata version " IOSTRATA_VERSION };
	char *const files[] = { (char *)o->recording };
	struct tables_counts counts;
	struct reason why;
	int got = archive_tables(files, 1, &conf, &counts, &why);

	if (got < 0)
		return export_failed(o, &why);
	archive_tables_say(stderr, o->dir, &counts);
	unlink(o->recording);
	return got ? EXIT_FAILED : 0;
}

/* Runs in the deputy, for --html: the command report makes the page. */
static int html_work(void *arg)
{
	struct record_otf2 *o = arg;
	char *argv[] = { "report", "--html", (char *)o->dir, o->recording, NULL };
	char safe[TEXT_SAFE_CAP(256)];
	int status = cmd_report.run(4, argv);

	text_safe(safe, sizeof(safe), status ? o->recording : o->dir);
	if (status) {
		fprintf(stderr, "hint: '%s' is the recording: 'iostrata report' can read it\n",
			safe);
		return status;
	}
	unlink(o->recording);
	fprintf(stderr, "%s: a page for browsers\n", safe);
	return 0;
}

static const struct deputy_work otf2_deputy = { prepare, otf2_work, give_up, NULL, false },
				parquet_deputy = { prepare, parquet_work, give_up, NULL, false },
				html_deputy = { prepare_page, html_work, give_up_page, NULL,
						false };

/* Starts the deputy to make another format of the recording, if an option asks for it. Returns 0,
 * or -1 with @why. */
static int exporter_start(struct record_run *rec, struct reason *why)
{
	struct deputy_work work = rec->html      ? html_deputy
				  : rec->parquet ? parquet_deputy
						 : otf2_deputy;

	if (!rec->otf2.dir && !rec->parquet && !rec->html)
		return 0;
	work.arg = &rec->otf2;
	if (rec->html || rec->parquet)
		rec->otf2.dir = rec->html ? rec->html : rec->parquet;
	rec->file = rec->otf2.recording;
	return record_otf2_start(&rec->otf2, &work, rec->html ? ".ios" : "/recording.ios", why);
}

/* 1: all recordings of --runs are made; 0: go on; or -1 with @why. */
static int runs_make(struct record_run *rec, struct reason *why)
{
	struct record_runs *runs = &rec->runs;
	int got;

	runs->prefix = rec->file;
	runs->replace = rec->files.replace;
	if (record_runs_check(runs, &rec->io.run, why) || check_files(rec, why))
		return -1;
	got = runs->n ? record_runs_fork(runs, &rec->io.run, why) : 0;
	if (runs->n && !got)
		rec->file = runs->name;
	if (runs->header_words)
		rec->recorder.argv = runs->header_words;
	return got;
}

static void on_stack(void *arg, const struct sent_stack *s, unsigned int number, int fs_slot)
{
	struct record_run *rec = arg;

	if (!rec->stacks_written) {
		recorder_stack(&rec->recorder, s, number, fs_slot);
	} else if (s->start_ns + s->total_ns <= rec->recorder.intake.end_ns) {
		/* not of an operation that ended while names were looked up: it is not recorded */
		rec->stacks_late++;
		rec->stacks_late_ns += s->total_ns;
	}
}

/* Sets up user stacks, if they are wanted. Returns 0, or -1 with @why. */
static int resolve_stacks(struct record_run *rec, struct reason *why)
{
	struct session_conf *conf = &rec->io.conf;

	rec->stacks |= rec->all_stacks;
	if (!rec->stacks)
		return 0;
	if (!conf->sent_ops) {
		reason_set(why, EXIT_USAGE,
			   "user stacks are those of operations, which --requests leaves out");
		return reason_hint(why, "add --ops: with both, operations and requests are "
					"recorded");
	}
	if (rec->files.max_files) {
		reason_set(why, EXIT_USAGE, "--stacks and --max-files exclude one another");
		return reason_hint(why, "stacks are named when the run ends, in the last file");
	}
	conf->stacks = true;
	conf->uncounted = false; /* only counted operations have stacks */
	rec->io.stack_conf.sink = on_stack;
	rec->io.stack_conf.sink_arg = rec;
	if (!rec->all_stacks)
		rec->io.stack_conf.per_second = stacks_per_second();
	return 0;
}

static int resolve(struct run *r, struct reason *why)
{
	struct record_run *rec = record_run_of(r);
	struct session_conf *conf = &rec->io.conf;
	bool both = rec->ops == rec->requests;
	int got = runs_make(rec, why);

	if (got)
		return got;
	r->stdout_taken = rec->file && !strcmp(rec->file, "-");
	if (r->stdout_taken && isatty(STDOUT_FILENO)) {
		reason_set(why, EXIT_USAGE, "a recording cannot be written to a terminal");
		return reason_hint(why, "-o FILE writes to a file");
	}
	rec->breakdown |= !!breakdown_table_option(&rec->opts);
	if (r->stdout_taken && rec->breakdown)
		return reason_set(why, EXIT_USAGE, "--breakdown and -o - exclude one another");
	if (r->opts.json && !rec->breakdown)
		return reason_set(why, EXIT_USAGE,
				  "--json needs --breakdown: it prints these tables");
	if (rec->opts.by == BY_HOST)
		return breakdown_no_hosts(why);
	if (breakdown_check_recorded(rec->opts.by, why) ||
	    breakdown_no_stacks(rec->opts.by, "record", why))
		return -1;
	conf->layer = rec->ops || both ? LAYER_OPS : LAYER_BLK;
	if ((conf->layer == LAYER_BLK &&
	     filters_check_requests(&r->opts.filters, "--requests", why)) ||
	    breakdown_check(&rec->opts, conf->layer, r->opts.json, why))
		return -1;
	conf->sent_ops = conf->segments = rec->ops || both;
	conf->sent_requests = rec->requests || both;
	conf->commands = !rec->recorder.no_commands;
	conf->uncounted = !rec->breakdown;
	conf->by = breakdown_rows_by(&rec->opts);
	conf->meta_calls = breakdown_meta_calls(&rec->opts, conf->layer);
	conf->buffer_bytes = rec->buffer_kib * 1024;
	if (resolve_stacks(rec, why))
		return -1;
	r->usr1_ends = true;
	r->beat_ns = FIRST_FLUSH_NS;
	if (recorder_until(&rec->recorder, &rec->until, why))
		return -1;
	return exporter_start(rec, why);
}

/* The header of a file that begins at @begin_ns. The caller frees the result; NULL if out of
 * memory. */
static char *header_of(void *arg, uint64_t begin_ns)
{
	const struct record_run *rec = arg;

	return recorder_header(&rec->recorder, begin_ns, NULL, 0);
}

/* The ending of a file before the end of the run. */
static struct ending ending_of(void *arg)
{
	const struct record_run *rec = arg;
	struct ending so_far = { .duration_ns = clock_ns() - rec->start_ns };

	memcpy(so_far.lost, rec->recorder.lost, sizeof(so_far.lost));
	return so_far;
}

static int start(struct run *r, struct reason *why)
{
	struct record_run *rec = record_run_of(r);

	rec->files.max_bytes = rec->max_mib << 20;
	rec->start_ns = rec->recorder.flushed_ns = clock_ns();
	if (record_files_open(&rec->files, rec->file, rec->recorder.argv, why))
		return -1;
	recorder_begin(&rec->recorder, &rec->files.w);
	breakdown_view_fill(&rec->view, &rec->opts, rec->io.conf.layer, fileno(r->out));
	breakdown_view_run(&rec->view, &rec->io);
	uname(&rec->uts);
	rec->view.source.kernel = rec->uts.release;
	if (rec->ops == rec->requests)
		run_say_of_ops(rec->io.of_ops);
	recorder_say_times(&rec->recorder, "the recording ends");
	return 0;
}

static void say_met(const struct until_cond *c)
{
	bool is_one = c->asked.measure == CONDITION_TIME || c->asked.measure == CONDITION_USUAL;

	line_begin(stderr);
	fprintf(stderr, "%s %s: %s\n", is_one ? "one took" : "met, with", until_value(c).s,
		c->asked.text);
}

/* Says which condition of --until is met, once. */
static void look_until(struct record_run *rec, uint64_t now)
{
	const struct until *u = &rec->recorder.until;

	until_look(&rec->recorder.until, now);
	for (unsigned int i = 0; i < u->n && !rec->until_said; i++) {
		if (!u->conds[i].met)
			continue;
		say_met(&u->conds[i]);
		rec->until_said = true;
	}
}

/* Returns true if nothing more is to be recorded. */
static bool beat(struct run *r)
{
	struct record_run *rec = record_run_of(r);
	uint64_t now = clock_ns();

	if (now - rec->recorder.flushed_ns >= (r->beat_ns ? FIRST_FLUSH_NS : FLUSH_NS))
		recorder_flush(&rec->recorder, now);
	else if (now - rec->recorder.told_ns >= TELL_NS)
		recorder_tell_losses(&rec->recorder, now);
	if (rec->files.w.ops + rec->files.w.requests)
		r->beat_ns = 0; /* the first chunk is written: the usual time from now on */
	if (isatty(STDERR_FILENO) && now - rec->said_ns >= FLUSH_NS) {
		record_say_progress(stderr, &rec->files, rec->recorder.lost, now - rec->start_ns);
		rec->said_ns = now;
	}
	look_until(rec, now);
	return rec->until_said || (rec->files.w.err && !r->command);
}

/* Writes the ending. Returns 0, or -1 with @why. */
static int recording_end(struct record_run *rec, const struct snapshot *sn, struct reason *why)
{
	struct ending total = { .duration_ns = sn->duration_ns, .missed = sn->missed };

	intake_end(&rec->recorder.intake);
	if (sn->stacks)
		recorded_stacks_write(&rec->files.w, sn->stacks);
	recorder_tell_losses(&rec->recorder, clock_ns());
	recorder_tell_load(&rec->recorder);
	if (sn->stacks) {
		total.has_stacks = true;
		total.stacks_lost = sn->stacks->lost + rec->stacks_late;
		total.stacks_lost_ns = sn->stacks->lost_ns + rec->stacks_late_ns;
	}
	if (!rec->files.max_files && !rec->files.keep_ns && !rec->files.w.err) {
		total.servers = sn->servers;
		total.n_servers = sn->n_servers;
	}
	memcpy(total.lost, sn->lost, sizeof(total.lost));
	total.lost[LOST_NAMES] += rec->recorder.intake.unnamed;
	rec->ended = true;
	return record_files_end(&rec->files, &total, why);
}

static int report(struct run *r, struct snapshot *sn)
{
	struct record_run *rec = record_run_of(r);
	const struct breakdown_output out = { r->out, r->opts.json, &rec->view, NULL };
	struct reason why;

	rec->recorder.intake.end_ns = sn->taken_ns;
	rec->stacks_written = true;
	session_beat(rec->io.session); /* takes the records sent in the meantime */
	if (recording_end(rec, sn, &why)) {
		cmd_fail(&why);
		r->exit = r->command ? EXIT_TOOL : EXIT_FAILED;
	}
	run_count_lost(r, record_files_lost(&rec->files, r->opts.strict_but));
	record_say_end(stderr, &rec->files, sn, rec->otf2.dir);
	rec->view.interval.until_ns = clock_day_ns();
	if (!rec->breakdown) {
		if (sn->has_overhead)
			overhead_say(stderr, sn->bpf_run_ns, sn->bpf_run_cnt);
		return 0;
	}
	return breakdown_put(&out, sn, NULL, 0);
}

static const struct run_ops ops = {
	.source = &io_source,
	.resolve = resolve,
	.start = start,
	.beat = beat,
};

static int record(int argc, char **argv)
{
	struct record_run rec = {
		.io.report = report,
		.buffer_kib = BUFFER_KIB,
		.recorder = { .io = &rec.io, .argv = argv },
		.files = { .standard = stdout,
			   .header = header_of,
			   .ending = ending_of,
			   .arg = &rec },
	};
	int status, exported;

	rec.runs.words = calloc(argc + 1, sizeof(*argv));
	if (!rec.runs.words)
		return EXIT_FAILED;
	memcpy(rec.runs.words, argv, argc * sizeof(*argv));
	status = run_main(&rec.io.run, &ops, &cmd_record, argc, argv);
	record_runs_done(&rec.runs);
	recorder_done(&rec.recorder);
	exported = deputy_end(&rec.otf2.exporter, rec.ended);
	if (exported && !status)
		status = rec.io.run.command ? EXIT_TOOL : exported;
	record_files_close(&rec.files);
	return status;
}

const struct cmd cmd_record = { "record", &table, record, true };
