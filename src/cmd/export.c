// SPDX-License-Identifier: GPL-2.0-only
/* export.c - recordings in the formats of other tools. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reason.h"
#include "base/rlimits.h"
#include "base/text.h"
#include "cmd.h"
#include "export/otf2.h"
#include "trace/syscalls.h"

enum format { FORMAT_NONE, FORMAT_OTF2 };

struct export {
	const char *file, *output;
	int format;
};

static const struct opt_choice formats[] = { { "otf2", FORMAT_OTF2 }, {} };

static const struct opt opts[] = {
	{ 0, "to", OPT_CHOICE(struct export, format, formats), .arg = "FORMAT",
	  .help = "otf2: Open Trace Format 2, for Vampir, Score-P's tools and others" },
	{ 'o', "output", OPT_STRING(struct export, output), .arg = "DIR",
	  .help = "make this directory and write into it" },
	{},
};

static const struct opt_group groups[] = { { "Options", opts, 0 }, {} };

static const struct opt args[] = {
	{ .arg = "FILE", OPT_STRING(struct export, file), .required = true,
	  .help = "a recording" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata export trace.ios --to otf2 -o trace", "an archive, trace/traces.otf2" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata export",
	.summary = "write a recording in another format",
	.about = "OTF2: a location for each thread and each disk; calls are regions with their I/O "
		 "operations, requests non-blocking operations of their disk, strata attributes of "
		 "both. A recording that is cut off is exported up to there; then the exit code "
		 "is 1.",
	.groups = groups,
	.args = args,
	.examples = examples,
};

static int resolve(const struct export *e, struct reason *why)
{
	if (!e->format || !e->output) {
		reason_set(why, EXIT_USAGE, "%s is missing", e->format ? "-o DIR" : "--to FORMAT");
		return reason_hint(why, "iostrata export FILE --to otf2 -o DIR");
	}
	if (!strcmp(e->file, "-")) {
		reason_set(why, EXIT_USAGE, "a recording is read twice, which a pipe cannot be");
		return reason_hint(why, "record it into a file");
	}
	return 0;
}

/* 0; 1 with @why, though there is an archive; -1 with @why. */
static int export_file(const struct export *e, struct otf2_counts *counts, struct reason *why)
{
	FILE *f = fopen(e->file, "re");
	struct rlimits limits;
	int got;

	if (!f)
		return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", e->file,
				  strerror(errno));
	rlimits_raise(&limits); /* each location has a file */
	/* it must be new: the library overwrites an existing archive */
	if (mkdir(e->output, 0700))
		got = reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", e->output,
				 strerror(errno));
	else
		got = otf2_export(f, e->file, e->output, syscall_name, counts, why);
	fclose(f);
	return got;
}

static int export(int argc, char **argv)
{
	struct otf2_counts counts = {};
	struct export e = {};
	struct opts_result res;
	struct reason why;
	char safe[TEXT_SAFE_CAP(256)];
	int got = cmd_parse(&cmd_export, argc, argv, &e, &res);

	if (got >= 0)
		return got;
	if (resolve(&e, &why))
		return cmd_fail(&why);
	got = export_file(&e, &counts, &why);
	if (got < 0)
		return cmd_fail(&why);
	text_safe(safe, sizeof(safe), e.output);
	fprintf(stderr, "%s: %llu operations, %llu requests, %llu locations, %llu handles\n", safe,
		(unsigned long long)counts.ops, (unsigned long long)counts.requests,
		(unsigned long long)counts.locations, (unsigned long long)counts.handles);
	if (counts.uring)
		fprintf(stderr, "%s: %llu operations of io_uring are left out: they overlap\n",
			safe, (unsigned long long)counts.uring);
	return got ? cmd_fail(&why) : 0;
}

const struct cmd cmd_export = { "export", &table, export };
