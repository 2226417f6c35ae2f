// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/record_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reason.h"
#include "run/cmd.h"
#include "run/several.h"

#define PREFIX "runs"

static const char *const sides[] = { "base", "new" };

int record_runs_check(const struct record_runs *runs, const struct run *r, struct reason *why)
{
	if (r->n_rest && !runs->alternate) {
		reason_set(why, EXIT_USAGE, "unexpected argument '%.100s'", r->rest[0]);
		return reason_hint(why, "put -- before a command to run");
	}
	if (!runs->n && !runs->alternate)
		return 0;
	if (!runs->n)
		return reason_set(why, EXIT_USAGE, "--alternate needs --runs N");
	if (!runs->alternate && !r->command)
		return reason_set(why, EXIT_USAGE, "--runs needs a command after --");
	if (runs->alternate && (r->command || r->n_rest != 2)) {
		reason_set(why, EXIT_USAGE, "--alternate takes two commands of the shell");
		return reason_hint(why, "iostrata record --runs 5 --alternate 'OLD' 'NEW'");
	}
	if (runs->prefix && !strcmp(runs->prefix, "-"))
		return reason_set(why, EXIT_USAGE, "--runs and -o - exclude one another");
	return 0;
}

/* One recording of several. */
struct one_run {
	uint64_t round; /* from 0 */
	int side;
};

/* In turn: base, new, new, base. A steady change over time then touches both sides alike. */
static struct one_run run_at(const struct record_runs *runs, uint64_t at)
{
	uint64_t round = runs->alternate ? at / 2 : at;

	return (struct one_run){ round, runs->alternate ? (at + round) % 2 : 0 };
}

static uint64_t number_of_runs(const struct record_runs *runs)
{
	return runs->alternate ? 2 * runs->n : runs->n;
}

/* "PREFIX-base-01.ios"; without two commands "PREFIX-01.ios". Returns false if it is too long. */
static bool name_set(struct record_runs *runs, const struct one_run *one)
{
	int digits = snprintf(NULL, 0, "%llu", (unsigned long long)runs->n);

	return snprintf(runs->name, sizeof(runs->name), "%s%s%s-%0*llu.ios",
			runs->prefix ? runs->prefix : PREFIX, runs->alternate ? "-" : "",
			runs->alternate ? sides[one->side] : "", digits,
			(unsigned long long)one->round + 1) < (int)sizeof(runs->name);
}

/* Sets what the process of a recording needs. Returns 0 or -ENOMEM. */
static int command_set(struct record_runs *runs, struct run *r, const struct one_run *one)
{
	size_t n = 0, at = 0;

	if (!runs->alternate)
		return 0;
	memcpy(runs->shell, ((char *[4]){ "/bin/sh", "-c", r->rest[one->side], NULL }),
	       sizeof(runs->shell));
	while (runs->words[n])
		n++;
	runs->header_words = calloc(n + 5, sizeof(*runs->header_words));
	if (!runs->header_words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (runs->words[i] != r->rest[0] && runs->words[i] != r->rest[1])
			runs->header_words[at++] = runs->words[i];
	runs->header_words[at++] = "--";
	memcpy(runs->header_words + at, runs->shell, sizeof(runs->shell));
	r->command = runs->shell;
	r->follow = true;
	return 0;
}

/* Refuses a file that exists, before the first recording. Returns 0, or -1 with @why. */
static int files_check(struct record_runs *runs, struct reason *why)
{
	struct stat st;

	for (uint64_t at = 0; at < number_of_runs(runs); at++) {
		struct one_run one = run_at(runs, at);

		if (!name_set(runs, &one))
			return reason_set(why, EXIT_USAGE, "the name '%.60s' is too long",
					  runs->prefix);
		if (runs->replace || lstat(runs->name, &st))
			continue;
		reason_set(why, EXIT_FAILED, "'%.200s' exists", runs->name);
		return reason_hint(why, "--force replaces it");
	}
	return 0;
}

static void say_command(const struct record_runs *runs)
{
	const char *prefix = runs->prefix ? runs->prefix : PREFIX;

	if (runs->alternate)
		cmd_say("to compare: iostrata compare --base '%.100s-base-*.ios' --new "
			"'%.100s-new-*.ios'",
			prefix, prefix);
}

int record_runs_fork(struct record_runs *runs, struct run *r, struct reason *why)
{
	uint64_t all = number_of_runs(runs), at;
	struct one_run one;
	int got;

	if (files_check(runs, why))
		return -1;
	got = several_fork(all, &at, &r->exit, why);
	if (got < 0)
		return -1;
	one = run_at(runs, at);
	name_set(runs, &one);
	if (!got)
		return command_set(runs, r, &one) ? reason_no_memory(why) : 0;
	if (at < all) {
		cmd_say("recording %llu of %llu, '%.100s', ended with exit code %d: no further one "
			"is made",
			(unsigned long long)at + 1, (unsigned long long)all, runs->name, r->exit);
		cmd_say("hint: if the command may fail: -- sh -c 'COMMAND; true'");
	} else {
		say_command(runs);
	}
	return 1;
}

void record_runs_done(struct record_runs *runs)
{
	free(runs->header_words);
	free(runs->words);
}
