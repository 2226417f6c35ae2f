// SPDX-License-Identifier: GPL-2.0-only
/* compare_doubts.c - the reasons why a comparison may mislead, in words. */
#include "analyse/compare.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/names.h"
#include "base/text.h"

static const char *const side_names[SIDES] = { "base", "new" };

static int doubt(struct compare *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int doubt(struct compare *c, const char *fmt, ...)
{
	char **list = reallocarray(c->doubts, c->n_doubts + 1, sizeof(*list));
	va_list ap;
	int n;

	if (!list)
		return -ENOMEM;
	c->doubts = list;
	va_start(ap, fmt);
	n = vasprintf(&list[c->n_doubts], fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	c->n_doubts++;
	return 0;
}

typedef const char *run_text_fn(const struct series *run);

static const char *kernel_of(const struct series *run)
{
	return run->kernel;
}

static const char *host_of(const struct series *run)
{
	return run->host;
}

static const char *machine_of(const struct series *run)
{
	return run->is_recording ? machine_name(run->machine) : NULL;
}

static const char *options_of(const struct series *run)
{
	return run->options;
}

/* The first run, of either side, whose text differs from that of base's first run, or NULL if there
 * is none. An unknown text differs from no other. */
static const struct series *odd_one(const struct compare *c, run_text_fn *text)
{
	const char *first = text(&c->runs[BASE][0]), *other;

	for (int side = 0; side < SIDES && first; side++) {
		for (size_t i = 0; i < c->n_runs[side]; i++) {
			other = text(&c->runs[side][i]);
			if (other && strcmp(first, other) != 0)
				return &c->runs[side][i];
		}
	}
	return NULL;
}

static int texts_doubt(struct compare *c)
{
	static const struct {
		run_text_fn *text;
		const char *what;
	} texts[] = {
		{ kernel_of, "other kernel" },
		{ host_of, "other machine" },
		{ machine_of, "other architecture" },
		{ options_of, "recorded with other options" },
	};
	const struct series *odd;
	int err = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !err; i++) {
		odd = odd_one(c, texts[i].text);
		if (odd)
			err = doubt(c, "%s: '%s' in %s, '%s' in %s", texts[i].what,
				    texts[i].text(&c->runs[BASE][0]), c->runs[BASE][0].name,
				    texts[i].text(odd), odd->name);
	}
	return err;
}

/* "vfs, fs" of a set of strata. */
static void strata_text(char *dst, size_t cap, unsigned int set)
{
	size_t n = 0;

	dst[0] = '\0';
	for (int i = 0; i < ST_N; i++)
		if (set >> i & 1)
			n += snprintf(dst + n, cap - n, "%s%s", n ? ", " : "", stratum_name(i));
}

static int strata_doubt(struct compare *c)
{
	unsigned int first = c->runs[BASE][0].strata_missing, odd;
	char text[256];
	int err = 0;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < c->n_runs[side] && !err; i++) {
			odd = c->runs[side][i].strata_missing ^ first;
			if (!odd)
				continue;
			strata_text(text, sizeof(text), odd);
			return doubt(c,
				     "not compared, because only one side measures them: %s; on "
				     "the other side their time is in other strata",
				     text);
		}
	}
	return err;
}

/* "old.ios", or "3 runs of base", of @n runs whose first is @first. */
static const char *runs_text(char dst[256], const struct compare *c, enum compare_side side,
			     size_t n, const struct series *first)
{
	if (c->n_runs[side] == 1)
		snprintf(dst, 256, "%s", first->name);
	else
		snprintf(dst, 256, "%zu run%s of %s", n, text_plural(n), side_names[side]);
	return dst;
}

/* Tells how much was lost on a side, if anything was. */
static int losses_doubt(struct compare *c, enum compare_side side)
{
	uint64_t lost = 0;
	const struct series *first = NULL;
	char runs[256];
	size_t n = 0;

	for (size_t i = 0; i < c->n_runs[side]; i++) {
		const struct series *run = &c->runs[side][i];

		lost += run->lost;
		n += run->lost > 0;
		first = run->lost && !first ? run : first;
	}
	if (!lost)
		return 0;
	return doubt(c, "%s event%s lost in %s", text_count(lost).s, text_plural(lost),
		     runs_text(runs, c, side, n, first));
}

/* Tells which runs are not whole. */
static int parts_doubt(struct compare *c, enum compare_side side)
{
	int err = 0;

	for (size_t i = 0; i < c->n_runs[side] && !err; i++) {
		const struct series *run = &c->runs[side][i];

		if (run->is_cut_off)
			err = doubt(c,
				    "%s is cut off or damaged: compared as far as it can be "
				    "read",
				    run->name);
		if (run->more_keys && !err)
			err = doubt(c,
				    "%s operation%s in %s beyond the first %d keys: " SERIES_OTHERS,
				    text_count(run->more_keys).s, text_plural(run->more_keys),
				    run->name, SERIES_KEYS);
	}
	return err;
}

/* Tells if one run has operations, requests or single records, and another has none. */
static int kinds_doubt(struct compare *c)
{
	const struct series *first = &c->runs[BASE][0];
	int err = 0;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < c->n_runs[side] && !err; i++) {
			const struct series *run = &c->runs[side][i];

			if (run->has_requests != first->has_requests)
				err = doubt(c, "requests are in only one of %s and %s", first->name,
					    run->name);
			if (run->has_ops != first->has_ops && !err)
				err = doubt(c, "operations are in only one of %s and %s",
					    first->name, run->name);
			if (run->is_recording != first->is_recording && !err)
				err = doubt(c, "only one of %s and %s is a recording", first->name,
					    run->name);
		}
	}
	return err;
}

static int durations_doubt(struct compare *c)
{
	uint64_t a = c->duration_ns[BASE], b = c->duration_ns[NEW];

	if ((a - a / 10 <= b && b - b / 10 <= a) || compare_is_of_commands(c))
		return 0;
	return doubt(c, "base is %s long, new %s: look at rates, not at counts and totals",
		     text_ns(a).s, text_ns(b).s);
}

/* "none", "1.2 %" */
static struct text_num failed_text(const struct compare_row *row, enum compare_side side)
{
	struct text_num none = { "none" };

	return row->errors[side] ? text_percent(row->errors[side], row->count[side]) : none;
}

/* Tells if the shares of failed operations differ by a hundredth or more. */
static int errors_doubt(struct compare *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_rows && !err; i++) {
		const struct compare_row *row = &c->rows[i];
		const struct series_key *key = row->key;
		double more = (double)row->errors[NEW] / row->count[NEW] -
			      (double)row->errors[BASE] / row->count[BASE];

		if (row->count[BASE] < COMPARE_COUNT || row->count[NEW] < COMPARE_COUNT ||
		    compare_is_estimated(c, key) || (more < 0.01 && more > -0.01))
			continue;
		err = doubt(c, "%s%s%s%s failed: %s in base, %s in new", key->what,
			    key->is_request ? " requests" : "",
			    !key->where[0]    ? ""
			    : key->is_request ? " of "
					      : " on ",
			    key->where, failed_text(row, BASE).s, failed_text(row, NEW).s);
	}
	return err;
}

/* Disks with requests on one side only. Disks of rows need no look: rows have both sides. */
static int disks_doubt(struct compare *c)
{
	int err = 0;
	bool both;

	for (size_t i = 0; i < c->n_lone && !err; i++) {
		const struct compare_lone *l = &c->lone[i];

		both = !l->key->is_request;
		for (size_t r = c->n_ops; r < c->n_rows && !both; r++)
			both = !strcmp(c->rows[r].key->where, l->key->where);
		for (size_t o = 0; o < c->n_lone && !both; o++)
			both = !strcmp(c->lone[o].key->where, l->key->where) &&
			       c->lone[o].key->is_request && (c->lone[o].side != l->side || o < i);
		if (!both && c->runs[SIDES - 1 - l->side][0].has_requests)
			err = doubt(c, "other devices: only %s has requests of %s",
				    side_names[l->side], l->key->where);
	}
	return err;
}

/* Estimates, and lost stacks, of rows by caller. */
static int stacks_doubt(struct compare *c)
{
	struct stacks sums[SIDES] = {};
	uint64_t lost, dropped;
	int err = 0;

	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			stacks_sums_add(&sums[side], &c->runs[side][i].stacks);
	lost = sums[BASE].lost + sums[NEW].lost;
	dropped = sums[BASE].dropped + sums[NEW].dropped;
	for (int side = 0; side < SIDES && !err; side++)
		if (sums[side].sampled)
			err = doubt(c,
				    "numbers and times by caller in %s are estimated from the "
				    "stacks of %s of %s operations: a share of half is right "
				    "within %.1f %%",
				    side_names[side], text_count(sums[side].taken).s,
				    text_count(sums[side].of).s, stacks_error(&sums[side], 0.5));
	if (lost && !err)
		err = doubt(c, "%s user stack%s lost", text_count(lost).s,
			    lost == 1 ? " was" : "s were");
	if (dropped && !err)
		err = doubt(c, "%s user stack%s in no row: too many are different",
			    text_count(dropped).s, dropped == 1 ? " is" : "s are");
	return err;
}

int compare_doubt(struct compare *c)
{
	if (texts_doubt(c) || kinds_doubt(c) || strata_doubt(c) || losses_doubt(c, BASE) ||
	    losses_doubt(c, NEW) || parts_doubt(c, BASE) || parts_doubt(c, NEW) ||
	    durations_doubt(c) || errors_doubt(c) || disks_doubt(c) || stacks_doubt(c))
		return -ENOMEM;
	return 0;
}
