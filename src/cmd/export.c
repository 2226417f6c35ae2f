// SPDX-License-Identifier: GPL-2.0-only
/* export.c - writes recordings in formats of other tools; see src/export/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/text.h"
#include "capture/recording.h"
#include "capture/server_request_row.h"
#include "common/archive.h"
#include "common/recorded_symbols.h"
#include "export/blktrace.h"
#include "export/chrome.h"
#include "export/fio.h"
#include "export/pprof.h"
#include "export/speedscope.h"
#include "host/newfile.h"
#include "run/cmd.h"
#include "run/run.h"
#include "trace/syscalls.h"

/* The formats, as --to names them; several: whether its function takes several recordings,
 * and then no open one. */
#define FORMATS(X)                                                                                 \
	X(OTF2, otf2, true, "archive for Vampir and Score-P's tools")                              \
	X(PARQUET, parquet, true, "tables for DuckDB and other engines")                           \
	X(CHROME, chrome, false, "events for ui.perfetto.dev and speedscope")                      \
	X(SPEEDSCOPE, speedscope, false, "profiles of threads for speedscope")                     \
	X(PPROF, pprof, false, "user stacks for pprof and speedscope")                             \
	X(FIO, fio, false, "job for fio")                                                          \
	X(BLKTRACE, blktrace, false, "files for blkparse and btt")

#define FORMAT_ID(id, name, several, what)     FORMAT_##id,
#define FORMAT_CHOICE(id, name, several, what) { #name, FORMAT_##id },
#define FORMAT_HELP(id, name, several, what)   #name ": " what "; "
#define FORMAT_ROW(id, name, several, what)    [FORMAT_##id] = { to_##name, several },

enum format { FORMAT_NONE, FORMATS(FORMAT_ID) };

enum { SPLIT_HOST = 1, SPLIT_HOUR = 2 };

struct export
{
	const char *output, *disk;
	uint64_t pid;
	int format, partition;
	bool append, lean;
	struct recorded_symbols symbols;
	const struct frame_namer *namer;
	char **files;
	int n_files;
};

static const struct opt_choice formats[] = { FORMATS(FORMAT_CHOICE){} };

static const struct opt_choice partitions[] = {
	{ "host", SPLIT_HOST }, { "hour", SPLIT_HOUR }, { "host,hour", SPLIT_HOST | SPLIT_HOUR }, {}
};

static const struct opt opts[] = {
	{ 0, "to", OPT_CHOICE(struct export, format, formats), .arg = "FORMAT",
	  .help = FORMATS(FORMAT_HELP) "one of" },
	{ 'o', "output", OPT_STRING(struct export, output), .arg = "DIR",
	  .help = "make this directory and write into it" },
	{},
};

static const struct opt parquet_opts[] = {
	{ 0, "partition", OPT_CHOICE(struct export, partition, partitions), .arg = "BY",
	  .help = "write a file for each host, each hour (UTC) or both, in directories that "
		  "engines read as partitions" },
	{ 0, "append", OPT_FLAG(struct export, append),
	  .help = "add files to an existing directory, and change no file in it" },
	{},
};

static const struct opt otf2_opts[] = {
	{ 0, "lean", OPT_FLAG(struct export, lean),
	  .help = "write a smaller archive: no strata, and requests as operations only" },
	{},
};

static const struct opt pprof_opts[] = {
	{ 0, "symbols", OPT_PATHS(struct export, symbols.places), .arg = "DIR",
	  .help = SYMBOLS_HELP },
	{},
};

static const struct opt fio_opts[] = {
	{ 'p', "pid", OPT_UINT(struct export, pid), .arg = "PID", .min = 1, .max = 1 << 22,
	  .help = "replay the reads, writes and syncs of this process" },
	{ 'd', "disk", OPT_STRING(struct export, disk), .arg = "DISK",
	  .help = "replay the requests of this disk" },
	{},
};

static const struct opt_group groups[] = { { "Options", opts, 0 },
					   { "Options of --to otf2", otf2_opts, 0 },
					   { "Options of --to parquet", parquet_opts, 0 },
					   { "Options of --to pprof", pprof_opts, 0 },
					   { "Options of --to fio", fio_opts, 0 },
					   {} };

static const struct opt args[] = {
	{ .arg = "FILE",
	  .type = OPT_TYPE_STRING,
	  .required = true,
	  .many = true,
	  .help = "recordings: parquet and otf2 take several" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata export trace.ios --to otf2 -o trace", "write the archive trace/traces.otf2" },
	{ "iostrata export n*.ios --to otf2 -o job", "the nodes of a cluster on one clock" },
	{ "iostrata export *.ios --to parquet -o tables", "many machines in three tables" },
	{ "iostrata export a.ios --to parquet --append --partition host,hour -o fleet",
	  "add files for each host and hour" },
	{ "iostrata export trace.ios --to pprof -o p && go tool pprof p/profile.pb.gz",
	  "callers, with the time in each stratum" },
	{ "iostrata export trace.ios --to fio -p 1234 -o replay", "the I/O of a process as a job" },
	{},
};

static const struct opt_columns columns[] = {
	{ "Requests to servers", server_request_columns },
	{},
};

static const struct opt_table table = {
	.name = "iostrata export",
	.summary = "write recordings in another format",
	.about = "OTF2: each thread and each disk has a location. Calls are regions with their I/O "
		 "operations. Requests are non-blocking operations of their disk. Both have their "
		 "strata as attributes. Parquet: operations.parquet, requests.parquet and "
		 "losses.parquet have the columns of the CSV of 'iostrata report', and host, "
		 "boot_id and time. Recorded requests to servers are in server_requests.parquet, "
		 "and on locations of their server. A truncated recording is exported as far as it "
		 "can be read; "
		 "then the exit code is 1.",
	.groups = groups,
	.args = args,
	.columns = columns,
	.examples = examples,
};

static const char *format_name(int format)
{
	for (const struct opt_choice *c = formats; c->name; c++)
		if (c->value == format)
			return c->name;
	return "FORMAT";
}

static int resolve(const struct export *e, struct reason *why)
{
	if (!e->format || !e->output) {
		reason_set(why, EXIT_USAGE, "%s is missing", e->format ? "-o DIR" : "--to FORMAT");
		return reason_hint(why, "iostrata export FILE --to %s -o DIR",
				   e->format ? format_name(e->format) : "parquet");
	}
	if (e->format == FORMAT_FIO ? !e->pid == !e->disk : e->pid || e->disk) {
		reason_set(why, EXIT_USAGE,
			   "--to fio needs one of -p PID and -d DISK; other formats take neither");
		return reason_hint(why, "iostrata export FILE --to fio -p PID -o DIR");
	}
	if (e->lean && e->format != FORMAT_OTF2)
		return reason_set(why, EXIT_USAGE, "--lean is for --to otf2 only");
	if (e->symbols.places.n && e->format != FORMAT_PPROF)
		return reason_set(why, EXIT_USAGE, "--symbols is for --to pprof only");
	if (e->format == FORMAT_PARQUET)
		return 0;
	if (e->append || e->partition)
		return reason_set(why, EXIT_USAGE, "%s is for --to parquet only",
				  e->append ? "--append" : "--partition");
	if (e->n_files > 1 && e->format != FORMAT_OTF2)
		return reason_set(why, EXIT_USAGE,
				  "only --to parquet and --to otf2 take several recordings");
	for (int i = 0; i < e->n_files; i++) {
		if (strcmp(e->files[i], "-"))
			continue;
		reason_set(why, EXIT_USAGE,
			   "export reads a recording twice, and a pipe can be read only once");
		return reason_hint(why, "write the recording to a file first: -o FILE");
	}
	return 0;
}

/* Makes the output directory. An archive needs a new one, because the OTF2 library overwrites an
 * existing archive. 0; 1: the directory existed, and --append allows that; -1 with @why. */
static int dir_make(const struct export *e, struct reason *why)
{
	int got = newfile_dir(e->output, why);

	if (got <= 0 || e->append)
		return got;
	reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", e->output, strerror(EEXIST));
	return reason_hint(why, e->format == FORMAT_PARQUET ? "--append adds to the directory"
							    : "-o DIR must not exist yet");
}

static int to_parquet(const struct export *e, FILE *none, struct reason *why)
{
	struct tables_conf conf = {
		.dir = e->output,
		.writer = "iostrata version " IOSTRATA_VERSION,
		.by_host = e->partition & SPLIT_HOST,
		.by_hour = e->partition & SPLIT_HOUR,
		.stop = interrupt_came,
	};
	struct tables_counts counts;
	int got;

	(void)none;
	interrupt_catch();
	got = archive_tables(e->files, e->n_files, &conf, &counts, why);
	if (got == 0 || (got > 0 && counts.files)) /* else no recording was one */
		archive_tables_say(stderr, e->output, &counts);
	return got < 0 ? -1 : got ? EXIT_FAILED : 0;
}

static int to_otf2(const struct export *e, FILE *none, struct reason *why)
{
	const struct otf2_conf conf = { .dir = e->output, .lean = e->lean };
	struct otf2_counts counts = {};
	int got = archive_write(e->files, e->n_files, &conf, &counts, why);

	(void)none;
	if (got < 0)
		return -1;
	archive_say(stderr, e->output, &counts);
	return got ? cmd_fail(why) : 0;
}

static int to_blktrace(const struct export *e, FILE *f, struct reason *why)
{
	struct blktrace_counts c;
	int got = blktrace_export(f, e->files[0], e->output, &c, why);

	if (got >= 0)
		cmd_say("%s request%s of %s disk%s", text_count(c.requests).s,
			text_plural(c.requests), text_count(c.disks).s, text_plural(c.disks));
	return got;
}

/* Some viewers refuse a file of 1 GB. */
enum { CHROME_BYTES = 900000000 };

/* The names of system calls of the machine in the recording. */
static syscall_name_fn *calls_of(const struct export *e, FILE *f)
{
	enum machine machine = MACHINES;
	struct recording rec;
	struct reason why;

	if (!recording_open(&rec, f, e->files[0], &why)) /* else the export fails in the same way */
		machine = rec.header.machine;
	recording_close(&rec);
	rewind(f);
	return syscall_names(machine);
}

static int to_chrome(const struct export *e, FILE *f, struct reason *why)
{
	struct chrome_counts c;
	char servers[64];
	int got = chrome_export(f, e->files[0], e->output, CHROME_BYTES, calls_of(e, f), &c, why);

	if (got >= 0)
		cmd_say("%s operation%s, %s request%s%s, %s file%s", text_count(c.ops).s,
			text_plural(c.ops), text_count(c.requests).s, text_plural(c.requests),
			archive_to_servers(servers, c.server_requests), text_count(c.files).s,
			text_plural(c.files));
	return got;
}

/* speedscope loads this many beginnings and ends, some 25 MB, in seconds. */
enum { SPEEDSCOPE_EVENTS = 600000 };

static int to_speedscope(const struct export *e, FILE *f, struct reason *why)
{
	struct speedscope_counts c;
	int got = speedscope_export(f, e->files[0], e->output, SPEEDSCOPE_EVENTS, calls_of(e, f),
				    &c, why);

	if (got < 0)
		return got;
	cmd_say("%s operation%s, %s request%s, %s profile%s", text_count(c.ops).s,
		text_plural(c.ops), text_count(c.requests).s, text_plural(c.requests),
		text_count(c.profiles).s, text_plural(c.profiles));
	if (c.lost)
		cmd_say("%s event%s lost in this recording: the file has no place for losses",
			text_count(c.lost).s, c.lost == 1 ? " was" : "s were");
	if (c.is_summed)
		cmd_say("too many operations for their order: the profiles have sums, by call and "
			"stratum");
	return got;
}

static int to_pprof(const struct export *e, FILE *f, struct reason *why)
{
	struct pprof_counts c;
	const struct pprof_conf conf = { f, e->files[0], e->output, e->namer };
	int got = pprof_export(&conf, &c, why);

	if (got < 0)
		return got;
	cmd_say("%s user stack%s, %s different%s", text_count(c.stacks).s, text_plural(c.stacks),
		text_count(c.samples).s,
		c.is_estimated ? ": the values are estimates for all operations" : "");
	if (c.lost)
		cmd_say("%s user stack%s lost: the values lack these", text_count(c.lost).s,
			c.lost == 1 ? " was" : "s were");
	return got;
}

static int to_fio(const struct export *e, FILE *f, struct reason *why)
{
	struct fio_conf conf = { .dir = e->output, .pid = e->pid, .disk = e->disk };
	struct fio_counts c;
	int got = fio_export(f, e->files[0], &conf, &c, why);

	if (got >= 0)
		cmd_say("%s action%s in %s file%s; %s cannot be replayed", text_count(c.actions).s,
			text_plural(c.actions), text_count(c.files).s, text_plural(c.files),
			text_count(c.left_out).s);
	for (int i = 0; i < FIO_REASONS && got >= 0; i++)
		if (c.reasons[i].n)
			cmd_say("not replayed: %s with %s %s", text_count(c.reasons[i].n).s,
				text_bytes(c.reasons[i].bytes).s, fio_reason_words(i));
	return got;
}

static const struct {
	int (*export)(const struct export *e, FILE *f, struct reason *why);
	bool several;
} format_rows[] = { FORMATS(FORMAT_ROW) };

/* Returns the exit code, or -1 with @why. */
static int format_write(const struct export *e, struct reason *why)
{
	FILE *f;
	int got;

	if (format_rows[e->format].several)
		return format_rows[e->format].export(e, NULL, why);
	f = fopen(e->files[0], "re");
	if (!f)
		return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", e->files[0],
				  strerror(errno));
	got = format_rows[e->format].export(e, f, why);
	fclose(f);
	return got > 0 ? cmd_fail(why) : got;
}

/* Whether the recordings can be opened: checked before the directory is made. */
static int files_check(const struct export *e, struct reason *why)
{
	for (int i = 0; i < e->n_files; i++)
		if (strcmp(e->files[i], "-") && access(e->files[i], R_OK))
			return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", e->files[i],
					  strerror(errno));
	return 0;
}

static int export(int argc, char **argv)
{
	struct export e = {};
	struct opts_result res;
	struct reason why;
	int status = cmd_parse(&cmd_export, argc, argv, &e, &res), made;

	if (status >= 0)
		return status;
	e.files = res.rest;
	e.n_files = res.n_rest;
	if (resolve(&e, &why) || files_check(&e, &why) ||
	    recorded_symbols_check(&e.symbols.places, &why))
		return cmd_fail(&why);
	made = dir_make(&e, &why);
	if (made < 0)
		return cmd_fail(&why);
	e.namer = recorded_symbols_namer(&e.symbols);
	status = format_write(&e, &why);
	recorded_symbols_say(&e.symbols);
	recorded_symbols_done(&e.symbols);
	if (status && !made)
		rmdir(e.output); /* fails if the directory has files */
	return status < 0 ? cmd_fail(&why) : status;
}

const struct cmd cmd_export = { "export", &table, export, false };
