// SPDX-License-Identifier: GPL-2.0-only
/* compare_inputs.c - the files read by compare, and the moment of --at; see compare_inputs.h. */
#include "cmd/compare_inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "capture/recording.h"

const struct opt compare_inputs_opts[] = {
	{ 0, "base", OPT_PATHS(struct compare_inputs, base), .arg = "FILES", .more_words = true,
	  .help = "the old runs: files, or a pattern like 'old-*.ios'" },
	{ 0, "new", OPT_PATHS(struct compare_inputs, new), .arg = "FILES", .more_words = true,
	  .help = "the new runs, likewise" },
	{ 0, "at", OPT_STRING(struct compare_inputs, at), .arg = "TIME",
	  .help = "compare a recording before and after this moment: a time of day "
		  "(12:30:05), or a duration from its beginning" },
	{},
};

/* Adds the files matched by patterns. Returns 0, or -1 with @why. */
static int patterns_add(struct compare_inputs *in, enum compare_side side,
			const struct opt_strings *patterns, struct reason *why)
{
	glob_t *g = &in->globs[side];
	int err;

	for (unsigned int i = 0; i < patterns->n; i++) {
		err = glob(patterns->at[i], i ? GLOB_APPEND : 0, NULL, g);
		if (err == GLOB_NOMATCH) {
			reason_set(why, EXIT_FAILED, "no file matches '%.200s'", patterns->at[i]);
			return strchr(patterns->at[i], ',')
				       ? reason_hint(why, "between several files are blanks")
				       : -1;
		}
		if (err)
			return reason_set(why, EXIT_FAILED, "cannot look for '%.200s'",
					  patterns->at[i]);
	}
	in->names[side] = (const char *const *)g->gl_pathv;
	in->n[side] = g->gl_pathc;
	return 0;
}

/* Adds the files that match the patterns of both sides: if no file matches on either, @why names
 * both. */
static int patterns_both(struct compare_inputs *in, struct reason *why)
{
	struct reason new_why;
	int err = patterns_add(in, BASE, &in->base, why);

	if (!patterns_add(in, NEW, &in->new, &new_why))
		return err;
	if (err)
		return reason_set(why, EXIT_FAILED, "no file matches '%.100s' and '%.100s'",
				  in->base.at[0], in->new.at[0]);
	*why = new_why;
	return -1;
}

/* Sets the files of each side. Returns 0, or -1 with @why. */
static int sides_set(struct compare_inputs *in, char **rest, int n, struct reason *why)
{
	const bool patterns = in->base.n || in->new.n;

	if (patterns && n) {
		reason_set(why, EXIT_USAGE, "unexpected argument '%.100s' with --base and --new",
			   rest[0]);
		return reason_hint(why, "files follow --base or --new");
	}
	if (patterns && in->at)
		return reason_set(why, EXIT_USAGE,
				  "--at cuts one recording, --base and --new "
				  "name several: choose one");
	if (patterns && (!in->base.n || !in->new.n))
		return reason_set(why, EXIT_USAGE, "--base needs --new, and --new needs --base");
	if (patterns)
		return patterns_both(in, why);
	if (n != (in->at ? 1 : 2)) {
		reason_set(why, EXIT_USAGE, "%s, %d given",
			   in->at ? "--at cuts one recording"
				  : "two files are compared, BASE and NEW",
			   n);
		return reason_hint(
			why, "for several runs on each side: --base 'old-*.ios' --new 'new-*.ios'");
	}
	if (in->at && !strcmp(rest[0], "-"))
		return reason_set(why, EXIT_USAGE,
				  "--at reads its recording twice, and cannot "
				  "read the standard input");
	in->names[BASE] = (const char *const *)rest;
	in->names[NEW] = (const char *const *)(in->at ? rest : rest + 1);
	in->n[BASE] = in->n[NEW] = 1;
	return 0;
}

/* The @i-th file of both sides. */
static const char *file_name(const struct compare_inputs *in, size_t i)
{
	return i < in->n[BASE] ? in->names[BASE][i] : in->names[NEW][i - in->n[BASE]];
}

/* One file has both names. -1, with @why. */
static int file_twice(const struct compare_inputs *in, const char *first, const char *name,
		      struct reason *why)
{
	if (!strcmp(first, name))
		reason_set(why, EXIT_USAGE, "'%.200s' is given twice", name);
	else
		reason_set(why, EXIT_USAGE, "'%.100s' and '%.100s' are one file", first, name);
	if (in->base.n)
		return reason_hint(why, "each run is on one side only, and counts once");
	return reason_hint(why, "--at compares two parts of one recording");
}

/* Refuses a file given twice: it would look like two equal runs. Returns 0, or -1 with @why. */
static int files_check(const struct compare_inputs *in, struct reason *why)
{
	size_t n = in->n[BASE] + in->n[NEW];
	struct stat *list = calloc(n, sizeof(*list));
	int err = 0;

	if (!list)
		return reason_no_memory(why);
	for (size_t i = 0; i < n && !err; i++) {
		const char *name = file_name(in, i);

		if (strcmp(name, "-") ? stat(name, &list[i]) : fstat(STDIN_FILENO, &list[i]))
			continue; /* opening it will tell */
		for (size_t k = 0; k < i && !err; k++) {
			if (list[k].st_ino != list[i].st_ino || list[k].st_dev != list[i].st_dev)
				continue;
			err = file_twice(in, file_name(in, k), name, why);
		}
	}
	free(list);
	return err;
}

bool compare_clock_parse(const char *text, uint64_t *ret_ns)
{
	unsigned int h, m, s = 0;
	uint64_t part = 0;
	int len = 0, digits;
	const char *why;

	if (strspn(text, "0123456789:.") != strlen(text) ||
	    sscanf(text, "%2u:%2u%n", &h, &m, &len) != 2)
		return false;
	text += len;
	if (*text == ':' && sscanf(text, ":%2u%n", &s, &digits) == 1)
		text += digits;
	if (*text == '.' && opts_duration(text, &part, &why))
		return false;
	if (*text && *text != '.')
		return false;
	*ret_ns = (h * 3600ULL + m * 60 + s) * NS_PER_S + part;
	return h < 24 && m < 60 && s < 60;
}

uint64_t compare_clock_after(uint64_t real_ns, uint64_t clock_ns)
{
	const uint64_t day = 86400ULL * NS_PER_S;
	time_t begin = real_ns / NS_PER_S;
	struct tm tm;
	uint64_t now;

	localtime_r(&begin, &tm);
	now = (tm.tm_hour * 3600ULL + tm.tm_min * 60 + tm.tm_sec) * NS_PER_S + real_ns % NS_PER_S;
	return (clock_ns + day - now % day) % day;
}

static int at_invalid(const char *text, const char *what, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid value '%.60s' for --at: %s", text, what);
	return reason_hint(why, "a time of day like 12:30:05, or a duration from the beginning "
				"like 90s");
}

/* Looks where --at is in the recording @name. Returns 0, or -1 with @why. */
static int at_set(struct compare_inputs *in, const char *name, struct reason *why)
{
	uint64_t at, clock;
	struct recording rec;
	const char *what = "";
	struct stat st;
	FILE *f;
	int err;

	if (!stat(name, &st) && S_ISFIFO(st.st_mode))
		return reason_set(why, EXIT_USAGE,
				  "--at reads its recording twice, and cannot "
				  "read the pipe '%.100s'",
				  name);
	if (!strchr(in->at, ':') && opts_duration(in->at, &at, &what))
		return at_invalid(in->at, what, why);
	if (strchr(in->at, ':')) {
		if (!compare_clock_parse(in->at, &clock))
			return at_invalid(in->at, "no time of day", why);
		f = fopen(name, "re");
		if (!f)
			return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", name,
					  strerror(errno));
		err = recording_open(&rec, f, name, why);
		at = err ? 0 : compare_clock_after(rec.header.realtime_ns, clock);
		recording_close(&rec);
		fclose(f);
		if (err)
			return err;
	}
	if (!at)
		return reason_set(why, EXIT_FAILED,
				  "--at %.60s is where '%.100s' begins: there is nothing before",
				  in->at, name);
	in->at_ns = at;
	return 0;
}

int compare_inputs_set(struct compare_inputs *in, char **rest, int n, struct reason *why)
{
	if (sides_set(in, rest, n, why))
		return -1;
	return in->at ? at_set(in, rest[0], why) : files_check(in, why);
}

void compare_inputs_done(struct compare_inputs *in)
{
	for (int side = 0; side < SIDES; side++)
		globfree(&in->globs[side]);
}
