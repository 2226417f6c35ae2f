// SPDX-License-Identifier: GPL-2.0-only
/* record.c - every operation and request into a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/newfile.h"
#include "base/reason.h"
#include "base/text.h"
#include "breakdown_opts.h"
#include "capture/header.h"
#include "capture/intake.h"
#include "run.h"
#include "run_say.h"
#include "show/breakdown_json.h"
#include "show/breakdown_text.h"

enum { BUFFER_KIB = 8192, FLUSH_NS = 1000000000 };

struct record {
	struct run run;
	/* options */
	const char *file;
	uint64_t buffer_kib, max_mib, keep_ns;
	bool ops, requests, force, breakdown;
	struct breakdown_opts opts;
	/* state */
	int argc;
	char **argv;
	char name[256];			/* of the file; hostile */
	FILE *out;			/* the file; writes go to its descriptor */
	struct writer writer;
	struct intake intake;
	uint64_t lost[LOST_N];		/* as last written to the file */
	uint64_t start_ns, flushed_ns, said_ns;
	struct breakdown_view view;
	struct utsname uts;
};

static const struct opt file_opts[] = {
	{ 'o', "output", OPT_STRING(struct record, file), .arg = "FILE",
	  .help = "write this file (default: iostrata-COMMAND-TIME.ios); - is the standard "
		  "output" },
	{ 0, "force", OPT_FLAG(struct record, force), .help = "replace a file that exists" },
	{ 0, "max-size", OPT_UINT(struct record, max_mib), .arg = "MIB", .min = 1,
	  .max = 1 << 30, .help = "end when the file has this size" },
	{ 0, "keep", OPT_DURATION(struct record, keep_ns), .arg = "DUR", .min = 1000000000,
	  .help = "keep in memory, and write at the end, only what happened last" },
	{},
};

static const struct opt what_opts[] = {
	{ 0, "ops", OPT_FLAG(struct record, ops), .help = "operations, not requests" },
	{ 0, "requests", OPT_FLAG(struct record, requests), .help = "requests, not operations" },
	{ 0, "breakdown", OPT_FLAG(struct record, breakdown),
	  .help = "print breakdown's tables of the same run, too; so do the options about them" },
	{ 0, "by", OPT_CHOICE(struct record, opts.by, breakdown_by_choices), .arg = "KEY",
	  .help = "the same with a row per key" },
	{ 0, "buffer", OPT_UINT(struct record, buffer_kib), .arg = "KIB", .min = 4,
	  .max = 4 << 20,
	  .help = "memory for what is not yet written (default: 8192)" },
	{},
};

static const struct opt_group groups[] = {
	{ "What to record", what_opts, 0 },
	{ "The file", file_opts, 0 },
	{ "Of --breakdown", breakdown_table_opts, offsetof(struct record, opts) },
	RUN_GROUPS,
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata record -- make -j8", "of a command and all that it starts" },
	{ "iostrata record -o trace.ios -D 10", "everybody's I/O, for 10 seconds" },
	{ "iostrata record --requests -d nvme0n1", "a disk's requests" },
	{ "iostrata record --keep 60 -o last.ios", "the last minute, until Ctrl-C" },
	{ "iostrata record -o - -- dd if=a of=b | iostrata report -", "through a pipe" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata record",
	.summary = "record every operation and request in a file",
	.about = "Writes a record of each operation and each block request when it is over: who, "
		 "which file or disk, when, how long, and in which layer. 'iostrata report' shows "
		 "the file. What cannot be recorded is counted, in the file, too.",
	.groups = groups,
	.command = true,
	.examples = examples,
};

static struct record *record_of(struct run *r)
{
	return (struct record *)r; /* its first member */
}

static int resolve(struct run *r, struct reason *why)
{
	struct record *rec = record_of(r);
	bool both = rec->ops == rec->requests;

	if (rec->file && !strcmp(rec->file, "-") && isatty(STDOUT_FILENO)) {
		reason_set(why, EXIT_USAGE, "a recording is not for a terminal");
		return reason_hint(why, "-o FILE writes a file");
	}
	rec->breakdown |= !!breakdown_table_option(&rec->opts);
	if (rec->file && !strcmp(rec->file, "-") && rec->breakdown)
		return reason_set(why, EXIT_USAGE, "--breakdown and -o - exclude one another");
	if (r->opts.json && !rec->breakdown)
		return reason_set(why, EXIT_USAGE, "--json is the form of --breakdown's tables");
	r->conf.layer = rec->ops || both ? LAYER_OPS : LAYER_BLK;
	if (r->conf.layer == LAYER_BLK &&
	    filters_check_requests(&r->opts.filters, "--requests", why))
		return -1;
	if (breakdown_check(&rec->opts, r->conf.layer, r->opts.json, why))
		return -1;
	r->conf.sent_ops = rec->ops || both;
	r->conf.sent_requests = rec->requests || both;
	r->conf.record_fs = r->opts.filters.fs;
	r->conf.uncounted = !rec->breakdown;
	r->conf.by = rec->opts.by;
	r->conf.meta_calls = breakdown_meta_calls(&rec->opts, r->conf.layer);
	r->conf.buffer_bytes = rec->buffer_kib * 1024;
	return 0;
}

/* "iostrata-dd-20260131-120000.ios" */
static void name_make(struct record *rec)
{
	const char *comm = "system", *slash;
	char when[32];
	time_t now = time(NULL);

	for (int i = 1; i < rec->argc; i++) {
		if (strcmp(rec->argv[i - 1], "--") != 0)
			continue;
		slash = strrchr(rec->argv[i], '/');
		comm = slash && slash[1] ? slash + 1 : rec->argv[i];
		break;
	}
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime(&now));
	snprintf(rec->name, sizeof(rec->name), "iostrata-%.100s-%s.ios", comm, when);
}

/* Removes a file or a symbolic link, nothing else; the target of a link stays. */
static void file_remove(const char *name)
{
	struct stat st;

	if (!lstat(name, &st) && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		unlink(name);
}

/* A new file of the caller's own. 0, or -1 with @why. */
static int file_create(struct record *rec, struct reason *why)
{
	struct stat st;

	if (rec->force)
		file_remove(rec->name);
	rec->out = newfile_open(rec->name, why);
	if (rec->out)
		return 0;
	return lstat(rec->name, &st) ? -1 : reason_hint(why, "--force replaces it");
}

static void names_come(void *arg)
{
	const struct record *rec = arg;

	session_sent_names(rec->run.session);
}

static bool fs_known(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		     unsigned int *ret_probed)
{
	const struct record *rec = arg;

	return session_fs(rec->run.session, slot, ret_name, ret_probed);
}

static void on_sent(void *arg, const void *data, size_t len)
{
	struct record *rec = arg;

	intake_record(&rec->intake, data, len);
}

static void on_sent_name(void *arg, const void *data, size_t len)
{
	struct record *rec = arg;

	intake_name(&rec->intake, data, len);
}

static int begin_failed(const struct record *rec, int err, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "cannot write '%.200s': %s", rec->name,
			  strerror(-err));
}

static int writer_start(struct record *rec, int fd, struct reason *why)
{
	const struct run *r = &rec->run;
	struct header_run run = {
		.version = IOSTRATA_VERSION, .argv = rec->argv,
		.missing = session_missing(r->session),
		.vfs_kinds = session_vfs_kinds(r->session),
		.has_ops = r->conf.sent_ops, .has_requests = r->conf.sent_requests,
	};
	char *header = header_text(&run);
	int err = header ? 0 : -ENOMEM;

	rec->writer.max_bytes = rec->max_mib << 20;
	rec->writer.keep_ns = rec->keep_ns;
	if (!err)
		err = writer_begin(&rec->writer, fd, header);
	free(header);
	return err ? begin_failed(rec, err, why) : 0;
}

static int start(struct run *r, struct reason *why)
{
	struct record *rec = record_of(r);
	bool is_stdout = rec->file && !strcmp(rec->file, "-");

	if (rec->file)
		snprintf(rec->name, sizeof(rec->name), "%s", rec->file);
	else
		name_make(rec);
	if (is_stdout)
		rec->out = stdout;
	else if (file_create(rec, why))
		return -1;
	if (writer_start(rec, fileno(rec->out), why))
		return -1;
	rec->intake = (struct intake){ .w = &rec->writer, .names = names_come, .fs = fs_known,
				       .arg = rec };
	session_on_sent(r->session, on_sent, on_sent_name, rec);
	rec->start_ns = rec->flushed_ns = clock_ns();
	breakdown_view_fill(&rec->view, &rec->opts, r->conf.layer, STDOUT_FILENO);
	breakdown_view_run(&rec->view, r);
	uname(&rec->uts);
	rec->view.kernel = rec->uts.release;
	if (rec->ops == rec->requests)
		run_say_of_ops(r->of_ops);
	return 0;
}

/* Notes what was lost since the last call at the place in the file where it happened. */
static void losses_tell(struct record *rec, uint64_t now)
{
	struct cap_loss loss = { .from_ns = rec->flushed_ns, .to_ns = now };
	uint64_t lost;

	for (int i = 0; i < LOST_N; i++) {
		lost = session_lost(rec->run.session, i);
		if (lost == rec->lost[i])
			continue;
		loss.kind = i;
		loss.count = lost - rec->lost[i];
		rec->lost[i] = lost;
		writer_loss(&rec->writer, &loss);
	}
}

static uint64_t lost_records(const struct record *rec)
{
	return rec->lost[LOST_OPS] + rec->lost[LOST_REQUESTS] + rec->writer.lost_ops +
	       rec->writer.lost_requests;
}

static void progress(struct record *rec, uint64_t now, const char *end)
{
	const struct writer *w = &rec->writer;
	uint64_t ops = w->ops + w->batches[CHUNK_OPS].columns.rows;
	uint64_t requests = w->requests + w->batches[CHUNK_REQUESTS].columns.rows;
	uint64_t took = now - rec->start_ns;

	fprintf(stderr, "%s%.1f s: %s ops, %s requests, %s, %s, %s lost%s",
		isatty(STDERR_FILENO) ? "\r\033[K" : "", took / 1e9, text_count(ops).s,
		text_count(requests).s, text_bytes(w->bytes).s, text_rate(ops, took).s,
		text_count(lost_records(rec)).s, end);
}

/* True if there is nothing more to record. */
static bool tick(struct run *r)
{
	struct record *rec = record_of(r);
	uint64_t now = clock_ns();

	if (now - rec->flushed_ns >= FLUSH_NS) {
		losses_tell(rec, now);
		writer_flush(&rec->writer);
		rec->flushed_ns = now;
	}
	if (isatty(STDERR_FILENO) && now - rec->said_ns >= FLUSH_NS) {
		progress(rec, now, "");
		rec->said_ns = now;
	}
	return rec->writer.err && !r->command;
}

static char *end_text(const struct record *rec, const struct snapshot *sn)
{
	const struct writer *w = &rec->writer;
	struct ending e = {
		.duration_ns = sn->duration_ns, .ops = w->ops, .requests = w->requests,
		.missed = sn->missed, .dropped_ops = w->dropped_ops,
		.dropped_requests = w->dropped_requests,
	};

	for (int i = 0; i < LOST_N; i++)
		e.lost[i] = sn->lost[i];
	e.lost[LOST_OPS] += w->lost_ops;
	e.lost[LOST_REQUESTS] += w->lost_requests;
	e.lost[LOST_NAMES] += rec->intake.unnamed;
	return ending_text(&e, w->err == -EFBIG ? "max-size" : w->err ? "full" : "ended");
}

/* 0, or -1 with @why. */
static int file_end(struct record *rec, const struct snapshot *sn, struct reason *why)
{
	struct writer *w = &rec->writer;
	bool done;
	char *text;

	intake_end(&rec->intake);
	losses_tell(rec, clock_ns());
	writer_close(w);
	do {
		text = end_text(rec, sn);
		done = !text || writer_end(w, text);
		free(text);
	} while (!done);
	if (rec->out != stdout && fclose(rec->out) && !w->err)
		w->err = -errno;
	return w->err && w->err != -EFBIG ? begin_failed(rec, w->err, why) : 0;
}

static void say_recorded(const struct record *rec, const struct snapshot *sn)
{
	const struct writer *w = &rec->writer;
	char safe[TEXT_SAFE_CAP(sizeof(rec->name))];

	text_safe(safe, sizeof(safe), w->fd == STDOUT_FILENO ? "the standard output" : rec->name);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	cmd_say("%s: %llu operations, %llu requests, %s", safe, (unsigned long long)w->ops,
		(unsigned long long)w->requests, text_bytes(w->bytes).s);
	if (sn->lost[LOST_OPS] + w->lost_ops + sn->lost[LOST_REQUESTS] + w->lost_requests)
		cmd_say("warning: lost %llu operations, %llu requests",
			(unsigned long long)(sn->lost[LOST_OPS] + w->lost_ops),
			(unsigned long long)(sn->lost[LOST_REQUESTS] + w->lost_requests));
}

static int report(struct run *r, struct snapshot *sn)
{
	struct record *rec = record_of(r);
	struct reason why;
	int err = 0;

	session_tick(r->session); /* what was counted in the meantime */
	if (file_end(rec, sn, &why)) {
		cmd_fail(&why);
		r->exit = r->command ? EXIT_TOOL : EXIT_FAILED;
	}
	say_recorded(rec, sn);
	rec->view.until = time(NULL);
	if (rec->breakdown)
		err = (r->opts.json ? breakdown_json : breakdown_text)(stdout, &rec->view, sn,
								       NULL, 0);
	return err;
}

static const struct run_ops ops = {
	.resolve = resolve, .start = start, .tick = tick, .report = report,
};

static int record(int argc, char **argv)
{
	struct record rec = { .buffer_kib = BUFFER_KIB, .argc = argc, .argv = argv };
	int status = run_main(&rec.run, &ops, &cmd_record, argc, argv);

	intake_done(&rec.intake);
	writer_done(&rec.writer);
	return status;
}

const struct cmd cmd_record = { "record", &table, record };
