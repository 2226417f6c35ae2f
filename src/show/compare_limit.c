// SPDX-License-Identifier: GPL-2.0-only
/* compare_limit.c - a limit of --fail-if and its result, in a sentence; see compare.h. */
#include "show/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"

static const char *const states[] = { "not judged", "held", "undecided", "BROKEN" };

static struct text_num value(const struct compare *c, const struct fail_if *l,
			     enum compare_side side)
{
	double v = l->result.figure.typical[side];

	return l->whole ? compare_whole_value(c, l->which, v) : compare_value(l->which, v);
}

/* "+58 %, 95 % sure above +32.4 %" */
static void put_decided(FILE *f, const struct fail_if *l)
{
	const struct fail_if_result *r = &l->result;
	bool above = (r->state == FAIL_IF_BROKEN) != l->less;

	fprintf(f, "%s, 95 %% sure %s %s", compare_ratio(r->figure.change).s,
		above ? "above" : "below", compare_ratio(above ? r->low : r->high).s);
}

/* "+64.3 %, between +3.75 % and +160 %. 7 runs a side would decide it ..." */
static void put_undecided(FILE *f, const struct fail_if *l)
{
	const struct fail_if_result *r = &l->result;

	fprintf(f, "%s, between %s and %s. ", compare_ratio(r->figure.change).s,
		compare_ratio(r->low).s, compare_ratio(r->high).s);
	if (r->runs_needed)
		fprintf(f, "%u runs a side would decide it, if this is the change", r->runs_needed);
	else
		fprintf(f, "No number of runs up to %d would decide it: the change is at the limit",
			COMPARE_RUNS_MOST);
	fprintf(f, "; these runs can hold limits from %s on",
		compare_ratio(log1p(fail_if_holds(l))).s);
}

static void put_reason(FILE *f, const struct compare *c)
{
	if (compare_is_between_runs(c))
		fprintf(f, "fewer than %d runs of a side have enough of these operations",
			COMPARE_RUNS);
	else if (c->parts)
		fprintf(f, "two parts of one run do not decide a limit");
	else
		fprintf(f, "%zu and %zu runs; this figure needs %d on each side", c->n_runs[BASE],
			c->n_runs[NEW], COMPARE_RUNS);
}

static void put_result(FILE *f, const struct compare *c, const struct fail_if *l)
{
	switch (l->result.way) {
	case FAIL_IF_BY_VALUES:
		fprintf(f, "%s -> %s, the same in every run of a side", value(c, l, BASE).s,
			value(c, l, NEW).s);
		break;
	case FAIL_IF_AS_COUNTED:
		fprintf(f, "%s -> %s in %zu and %zu runs, as counted; runs may differ",
			value(c, l, BASE).s, value(c, l, NEW).s, c->n_runs[BASE], c->n_runs[NEW]);
		break;
	case FAIL_IF_BY_NOTHING:
		put_reason(f, c);
		break;
	case FAIL_IF_BY_TEST:
		if (l->result.state == FAIL_IF_UNDECIDED)
			put_undecided(f, l);
		else
			put_decided(f, l);
	}
}

char *compare_limit(const struct compare *c, const struct fail_if *limit)
{
	char *text = NULL, name[COMPARE_NAME];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "%s: %s", limit->text, states[limit->result.state]);
	if (limit->result.state == FAIL_IF_ABSENT) {
		fprintf(f, ": no such row is on both sides");
	} else {
		if (limit->rows > 1 && limit->result.key) {
			compare_name(name, sizeof(name), limit->result.key);
			fprintf(f, ", %s", name);
		}
		fprintf(f, ": ");
		put_result(f, c, limit);
	}
	if (limit->few && limit->few < limit->rows)
		fprintf(f, "; %u of %u rows have too few operations", limit->few, limit->rows);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}
