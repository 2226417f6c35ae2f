// SPDX-License-Identifier: GPL-2.0-only
/* export.c - writes recordings in formats of other tools; see src/export/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "cmd/archive.h"
#include "run/cli.h"

enum format { FORMAT_NONE, FORMAT_OTF2 };

struct export
{
	const char *file, *output;
	int format;
};

static const struct opt_choice formats[] = { { "otf2", FORMAT_OTF2 }, {} };

static const struct opt opts[] = {
	{ 0, "to", OPT_CHOICE(struct export, format, formats), .arg = "FORMAT",
	  .help = "format: Open Trace Format 2, for Vampir, Score-P's tools and others" },
	{ 'o', "output", OPT_STRING(struct export, output), .arg = "DIR",
	  .help = "make this directory and write into it" },
	{},
};

static const struct opt_group groups[] = { { "Options", opts, 0 }, {} };

static const struct opt args[] = {
	{ .arg = "FILE", OPT_STRING(struct export, file), .required = true, .help = "a recording" },
	{},
};

static const struct opt_example examples[] = {
	{ "iostrata export trace.ios --to otf2 -o trace", "write the archive trace/traces.otf2" },
	{},
};

static const struct opt_table table = {
	.name = "iostrata export",
	.summary = "write a recording in another format",
	.about = "OTF2: each thread and each disk has a location. Calls are regions with their I/O "
		 "operations. Requests are non-blocking operations of their disk. Both have their "
		 "strata as attributes. A truncated recording is exported as far as it can be "
		 "read; then the exit code is 1.",
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
		reason_set(why, EXIT_USAGE,
			   "export reads a recording twice, and a pipe can be read only once");
		return reason_hint(why, "write the recording to a file first: -o FILE");
	}
	return 0;
}

/* The directory must be new, because the OTF2 library overwrites an existing archive. */
static int dir_make(const char *path, struct reason *why)
{
	if (!mkdir(path, 0700))
		return 0;
	reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", path, strerror(errno));
	return errno == EEXIST ? reason_hint(why, "-o DIR must not exist yet") : -1;
}

static int export(int argc, char **argv)
{
	struct otf2_counts counts = {};
	struct export e = {};
	struct opts_result res;
	struct reason why;
	int got = cmd_parse(&cmd_export, argc, argv, &e, &res);
	bool made = false;

	if (got >= 0)
		return got;
	if (resolve(&e, &why))
		return cmd_fail(&why);
	if (access(e.file, R_OK))
		reason_set(&why, EXIT_FAILED, "cannot open '%.200s': %s", e.file, strerror(errno));
	else
		made = !dir_make(e.output, &why);
	if (made)
		got = archive_write(e.file, e.output, &counts, &why);
	if (got < 0) {
		if (made)
			rmdir(e.output); /* fails if the directory has files */
		return cmd_fail(&why);
	}
	archive_say(stderr, e.output, &counts);
	return got ? cmd_fail(&why) : 0;
}

const struct cmd cmd_export = { "export", &table, export, false };
