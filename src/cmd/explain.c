// SPDX-License-Identifier: GPL-2.0-only
/* explain.c - properties that slow operations of a recording share, and the others lack; of several
 * recordings see explain_hosts.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/text.h"
#include "capture/recording.h"
#include "cmd/explain.h"
#include "common/recorded_stacks.h"
#include "host/newfile.h"
#include "run/cmd.h"
#include "run/filters.h"
#include "run/run.h"
#include "show/explain.h"
#include "trace/syscalls.h"

enum { SLOWEST_SHOWN = 5 };

static const struct opt form_opts[] = {
	{ 'v', "verbose", OPT_TIMES(struct explain_cmd, detail),
	  .help = "numbers about chance, all properties of the same operations, and the ten "
		  "nearest "
		  "if nothing is found" },
	{ 'j', "json", OPT_FLAG(struct explain_cmd, json), .help = "one JSON object, times in ns" },
	{ 'o', "output", OPT_STRING(struct explain_cmd, output), .arg = "FILE",
	  .help = "write to this new file; - is the standard output (default)" },
	{},
};

static const struct opt stack_opts[] = {
	{ 0, "hide", OPT_STRINGS(struct explain_cmd, hide), .arg = "LIB",
	  .help = "with user stacks: this library is not the program's own code: libsqlite3" },
	{ 0, "symbols", OPT_PATHS(struct explain_cmd, symbols.places), .arg = "DIR",
	  .help = SYMBOLS_HELP },
	{},
};

static const struct opt_group groups[] = {
	{ "Callers", stack_opts, 0 },
	{ "Time", recording_part_opts, offsetof(struct explain_cmd, part) },
	{ "Filters", filter_opts, offsetof(struct explain_cmd, filter.given) },
	{ "Format", form_opts, 0 },
	{},
};

static const struct opt args[] = {
	{ .arg = "FILE",
	  .type = OPT_TYPE_STRING,
	  .required = true,
	  .many = true,
	  .help = "a recording; or several, or directories with recordings, to find bad hosts" },
	{ .arg = "CONDITION",
	  OPT_STRING(struct explain_cmd, text),
	  .required = true,
	  .help = "which operations or requests are slow: 'fsync>p99', 'read>5ms', 'any>p99.9', "
		  "'request vda>p99'" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata explain trace.ios 'fsync>p99'", "the slowest hundredth of all fsyncs" },
	{ "iostrata explain trace.ios 'read>5ms' --file /srv", "slow reads of files below /srv" },
	{ "iostrata explain trace.ios 'any>p99.9' --from 10 --to 20",
	  "only ten seconds of the recording" },
	{ "iostrata explain trace.ios 'request vda>p99'", "slow requests of a disk" },
	{ "iostrata explain day/*.ios 'fsync>p99'",
	  "which host, disk model or kernel is worse than the others" },
	{ "iostrata explain day 'any>p99.9'", "likewise, all recordings in a directory" },
	{ "iostrata explain -j trace.ios 'fsync>p99' | jq '.findings[].text'", "for a program" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata explain",
	.summary = "tell what slow operations have in common, beyond chance",
	.about = "Looks for properties that set the slow operations apart from others of the same "
		 "kind: file, process, offset, other I/O at the same time, and more. A property is "
		 "shown only if chance does not explain how many slow operations have it. Each "
		 "finding ends with the command that shows such operations. Of several "
		 "recordings, looks for bad hosts, and for what bad hosts have in common: disk "
		 "model, firmware, kernel, mount option, cgroup and more.",
	.groups = groups,
	.args = args,
	.examples = examples,
};

static bool passes(void *arg, const struct recording *rec, struct stored_event *ev)
{
	struct explain_cmd *o = arg;

	return recording_filter_passes(&o->filter, rec, ev);
}

static void begins(void *arg)
{
	struct explain_cmd *o = arg;

	recording_filter_begin(&o->filter);
}

static int own_frame(void *arg, const struct catalog *c, const struct catalog_stack *s)
{
	struct explain_cmd *o = arg;

	return recorded_own_frame(&o->hide, c, s);
}

static bool goes_on(void *arg, uint64_t bytes)
{
	struct explain_cmd *o = arg;

	progress_show(&o->progress, bytes);
	return !interrupt_came();
}

/* Also of '<(command)' in a shell. */
static bool is_pipe(const char *file)
{
	struct stat st;

	return !strcmp(file, "-") || (!stat(file, &st) && S_ISFIFO(st.st_mode));
}

static int resolve(struct explain_cmd *o, struct reason *why)
{
	struct filters *given = &o->filter.given;
	char looked_for[FILTERS_TEXT];

	if (condition_parse(o->text, CONDITION_RECORDED, &o->condition, why) ||
	    filters_ops(given, why) || recording_part_check(&o->part, why))
		return -1;
	if (recorded_symbols_check(&o->symbols.places, why))
		return -1;
	if ((o->hide.n || o->symbols.places.n) && !o->file)
		return reason_set(why, EXIT_USAGE, "%s is for one recording: hosts have no callers",
				  o->hide.n ? "--hide" : "--symbols");
	if (!o->condition.ops && filters_check_requests(given, "request", why))
		return -1;
	for (size_t i = 0; i < o->n_files; i++) {
		if (!is_pipe(o->files[i]))
			continue;
		reason_set(why, EXIT_USAGE,
			   "explain reads a recording twice, and a pipe can be read only once");
		return reason_hint(why, "write the recording to a file first: -o FILE");
	}
	o->out = newfile_output(o->output, stdout, why);
	if (!o->out)
		return -1;
	o->conf = (struct explain_conf){
		.kinds = o->condition.ops,
		.disk = o->condition.disk[0] ? o->condition.disk : NULL,
		.percentile = o->condition.percentile,
		.above_ns = o->condition.above,
		.from_ns = o->part.from_ns,
		.to_ns = o->part.to_ns,
		.begins = begins,
		.goes_on = goes_on,
		.own_frame = own_frame,
		.namer = recorded_symbols_namer(&o->symbols),
		.arg = o,
	};
	filters_text(given, looked_for, sizeof(looked_for));
	if (looked_for[0])
		o->conf.passes = passes;
	recording_filter_init(&o->filter);
	return 0;
}

void explain_put_filters(FILE *f, const struct explain_cmd *o, const char *option)
{
	struct filters given = o->filter.given;
	char text[FILTERS_TEXT];

	given.min_ns = 0;
	if (o->condition.ops != ~0U && !given.only.kinds)
		given.op_names.n = 0;
	if (option && !strcmp(option, "--file"))
		given.files.n = 0;
	if (option && !strcmp(option, "-d"))
		given.disks.n = 0;
	if (option && !strcmp(option, "-p"))
		given.pids.n = 0;
	if (option && !strcmp(option, "--comm"))
		given.comms.n = 0;
	if (option && !strcmp(option, "--cgroup"))
		given.cgroups.n = 0;
	if (option && !strcmp(option, "--fs"))
		given.fs.n = 0;
	filters_text(&given, text, sizeof(text));
	if (text[0])
		fprintf(f, " %s", text);
}

/* Requests are listed one by one: no table has single requests. */
static void put_form(FILE *f, const struct explain_cmd *o)
{
	for (const struct opt_choice *c = filter_ops; c->name; c++)
		if (o->condition.ops == 1U << c->value && !o->filter.given.only.kinds)
			fprintf(f, " --op %s", c->name);
	if (o->condition.ops)
		fprintf(f, " --min %lluus --slowest %d",
			(unsigned long long)o->result.threshold_ns / 1000, SLOWEST_SHOWN);
	else
		fprintf(f, " --events csv");
}

/* A time from the beginning of the recording, in ms. */
static void put_time(FILE *f, const char *option, uint64_t ns, uint64_t round_ns)
{
	uint64_t ms = (ns + round_ns) / 1000000;

	fprintf(f, " %s %llu.%03llus", option, (unsigned long long)ms / 1000,
		(unsigned long long)ms % 1000);
}

static char *command(const void *arg, const struct explain_finding *found)
{
	const struct explain_cmd *o = arg;
	const char *option = found->option;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (option && !o->condition.ops && (!strcmp(option, "--file") || !strcmp(option, "--fs")))
		option = NULL; /* these choose no requests */
	fprintf(f, "iostrata report");
	text_shell_word(f, o->file);
	explain_put_filters(f, o, option);
	if (o->conf.disk && !(option && !strcmp(option, "-d"))) {
		fprintf(f, " -d");
		text_shell_word(f, o->conf.disk);
	}
	if (option) {
		fprintf(f, " %s", option);
		text_shell_word(f, found->value);
	}
	put_time(f, "--from", found->from_ns, 0);
	put_time(f, "--to", found->to_ns, 1000000);
	put_form(f, o);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static int print(struct explain_cmd *o)
{
	const struct explain_view v = {
		.e = &o->result,
		.conf = &o->conf,
		.condition = o->text,
		.noun = condition_noun(&o->condition, 2),
		.detail = o->detail,
		.color = cmd_wants_color(fileno(o->out)),
		.command = command,
		.arg = o,
	};

	return cmd_written(o->json ? explain_json(o->out, &v) : explain_text(o->out, &v));
}

/* Sets the names of system calls of the machine in the recording. */
static void calls_set(struct explain_cmd *o, FILE *f)
{
	struct recording rec;
	struct reason why;

	if (!recording_open(&rec, f, o->file, &why)) /* else explain_read() fails in the same way */
		o->conf.call_name = syscall_names(rec.header.machine);
	recording_close(&rec);
}

/* The exit code. */
static int explain_file(struct explain_cmd *o)
{
	struct reason why;
	struct stat st;
	FILE *f = infile_open(o->file, &why);
	int got, status = 0;

	if (!f)
		return cmd_fail(&why);
	calls_set(o, f);
	progress_begin(&o->progress, stderr, fstat(fileno(f), &st) ? 0 : 2UL * st.st_size);
	got = explain_read(&o->result, f, o->file, &o->conf, &why);
	progress_end(&o->progress);
	infile_close(f);
	if (got)
		status = cmd_fail(&why);
	if (got < 0)
		return status;
	if (o->part.from_ns && !o->result.duration_ns) {
		recording_part_past(&o->part, o->file, &why);
		return cmd_fail(&why);
	}
	got = print(o);
	return got ? got : status;
}

/* The condition comes last. */
static int given_check(const struct explain_cmd *o, const struct opts_result *res,
		       struct reason *why)
{
	for (int i = 0; i < res->n_rest && !strchr(o->text, '>'); i++)
		if (strchr(res->rest[i], '>'))
			return reason_set(why, EXIT_USAGE,
					  "'%.60s' is a condition: FILE stands before it",
					  res->rest[i]);
	return 0;
}

static int explain(int argc, char **argv)
{
	struct explain_cmd o = {};
	struct opts_result res;
	struct reason why;
	int status = cmd_parse(&cmd_explain, argc, argv, &o, &res);

	if (status >= 0)
		return status;
	interrupt_catch();
	if (given_check(&o, &res, &why) || explain_files_set(&o, res.rest, res.n_rest, &why) ||
	    resolve(&o, &why))
		status = cmd_fail(&why);
	else
		status = o.file ? explain_file(&o) : explain_hosts(&o);
	if (!status && o.is_refused)
		status = EXIT_FAILED;
	explain_done(&o.result);
	explain_files_done(&o);
	recording_filter_done(&o.filter);
	recorded_symbols_done(&o.symbols);
	if (o.out)
		newfile_close(o.out, o.output, status == EXIT_FAILED || status == EXIT_USAGE);
	return status;
}

const struct cmd cmd_explain = { "explain", &table, explain, false };
