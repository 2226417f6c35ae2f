// SPDX-License-Identifier: GPL-2.0-only
/* explain_judge.c - makes findings of what was counted in the second pass. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"

#define HELD_LEAST 0.25 /* so much of the time above the median is waiting for locks, or asleep */

/* The part of the time that contains many operations of @f. */
static void span_set(const struct scan *s, struct explain_finding *f)
{
	unsigned int cells[SCAN_CELLS] = {}, best = 0, cell;
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < s->n_list; i++) {
		if (!bit_is_set(f->has, i))
			continue;
		cell = explain_scan_cell(s, s->list[i].start_ns);
		if (++cells[cell] > cells[best])
			best = cell;
	}
	for (size_t i = 0; i < s->n_list; i++) {
		const struct scan_slow *slow = &s->list[i];

		if (!bit_is_set(f->has, i) || explain_scan_cell(s, slow->start_ns) != best)
			continue;
		from = slow->start_ns < from ? slow->start_ns : from;
		to = slow->end_ns > to ? slow->end_ns : to;
	}
	if (from > to)
		return;
	f->from_ns = from - s->base_ns + s->conf->from_ns;
	f->to_ns = to - s->base_ns + s->conf->from_ns;
}

struct explain_finding *explain_finding_add(const struct scan *s,
					    const struct explain_finding *judged)
{
	struct explain_finding *list = reallocarray(s->e->findings, s->e->n_findings + 1,
						    sizeof(*list)),
			       f = *judged;

	if (list)
		s->e->findings = list;
	f.has = list ? calloc(bits_words(s->n_list) + 1, sizeof(*f.has)) : NULL;
	if (!f.has) {
		explain_finding_done(&f);
		return NULL;
	}
	list[s->e->n_findings] = f;
	return &list[s->e->n_findings++];
}

/* Adds a finding about the values from @first to @last. */
static int finding_add(const struct scan *s, unsigned int first, unsigned int last,
		       const struct explain_finding *judged)
{
	struct explain_finding *f = explain_finding_add(s, judged);

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_list; i++)
		for (unsigned int v = first; v <= last; v++)
			if (bit_is_set(s->list[i].bits, v))
				bit_set(f->has, i);
	return explain_attribute_describe(s, &s->values[first], &s->values[last], f);
}

/* The neighbouring bins that tell slow ones and others apart best: the largest sum in a row
 * (Kadane's algorithm). A disk wakes up after any time from some time on: for it, up to the last
 * bin. */
static void range_find(const struct scan *s, unsigned int first, unsigned int bins,
		       unsigned int *ret_from, unsigned int *ret_to)
{
	double others = s->e->n - s->e->n_slow, sum = 0, best = 0, slow, all;
	bool to_end = s->values[first].attribute == ATTR_IDLE;
	unsigned int from = 0;

	*ret_from = *ret_to = 0;
	for (unsigned int bin = 0; bin < bins; bin++) {
		slow = all = 0;
		for (int c = 0; c < SCAN_CELLS; c++) {
			slow += s->values[first + bin].slow[c];
			all += s->values_all[c][first + bin];
		}
		if (sum <= 0) {
			sum = 0;
			from = bin;
		}
		sum += slow / s->e->n_slow - (others > 0 ? (all - slow) / others : 0);
		if (sum <= best || (to_end && bin + 1 < bins))
			continue;
		best = sum;
		*ret_from = from;
		*ret_to = bin;
	}
}

/* Adds the counts of value @v. */
static void counted_add(const struct scan *s, unsigned int v, struct counted *c)
{
	for (int cell = 0; cell < SCAN_CELLS; cell++) {
		c->slow[cell] += s->values[v].slow[cell];
		c->all[cell] += s->values_all[cell][v];
	}
	for (unsigned int i = 0; i < s->starts.cells; i++)
		c->order[i] += s->order_all[i][v];
}

static int range_judge(const struct scan *s, enum explain_attribute attribute, uint32_t *order)
{
	unsigned int bins = explain_attribute_bins(attribute), first = s->first_bin[attribute],
		     from, to;
	struct counted c = { .order = order };
	struct explain_finding f = {};

	range_find(s, first, bins, &from, &to);
	memset(order, 0, STARTS_CELLS * sizeof(*order));
	for (unsigned int v = first + from; v <= first + to; v++)
		counted_add(s, v, &c);
	explain_chance_judge(&s->population, &c, &f);
	f.raw_p *= bins * (bins + 1) / 2;
	f.raw_p = f.raw_p < 1 ? f.raw_p : 1;
	return f.slow < EXPLAIN_LEAST ? 0 : finding_add(s, first + from, first + to, &f);
}

/* Whether slow ones waited behind a holder: else it is a coincidence. */
static bool may_hold(const struct scan_value *v)
{
	return v->attribute != ATTR_HOLDER || v->waited_ns >= HELD_LEAST * v->above_ns;
}

static int values_judge(const struct scan *s)
{
	uint32_t *order = calloc(STARTS_CELLS, sizeof(*order));
	struct explain_finding f;
	int err = order ? 0 : -ENOMEM;

	for (unsigned int v = 0; v < s->n_values && !err; v++) {
		struct counted c = { .order = order };

		if (explain_attribute_bins(s->values[v].attribute) || !may_hold(&s->values[v]))
			continue;
		memset(order, 0, STARTS_CELLS * sizeof(*order));
		counted_add(s, v, &c);
		f = (struct explain_finding){};
		explain_chance_judge(&s->population, &c, &f);
		if (f.slow >= EXPLAIN_LEAST)
			err = finding_add(s, v, v, &f);
	}
	for (int attribute = 0; attribute < ATTR_TIME && !err; attribute++)
		if (explain_attribute_bins(attribute))
			err = range_judge(s, attribute, order);
	free(order);
	return err;
}

/* Adds the finding of @judge. Returns 1, or 0 if there is none, or -ENOMEM. */
static int time_judge(const struct scan *s,
		      int (*judge)(const struct scan *s, struct explain_finding *ret))
{
	struct explain_finding f = {}, *list;
	int got = judge(s, &f);

	list = got > 0 ? reallocarray(s->e->findings, s->e->n_findings + 1, sizeof(*list)) : NULL;
	if (!list) {
		explain_finding_done(&f);
		return got > 0 ? -ENOMEM : got;
	}
	s->e->findings = list;
	list[s->e->n_findings++] = f;
	return 1;
}

/* A step and a growth are phases, too; and phases tell bursts more finely than cells do. */
static int times_judge(const struct scan *s)
{
	int got = time_judge(s, explain_requests_sequence);

	if (got >= 0)
		got = time_judge(s, explain_phases_during);
	if (got >= 0)
		got = time_judge(s, explain_time_period);
	if (got >= 0)
		got = time_judge(s, explain_trend_tell);
	if (!got)
		got = time_judge(s, explain_phases_bursts);
	if (!got)
		got = time_judge(s, explain_time_bursts);
	return got < 0 ? got : 0;
}

int explain_judge(struct scan *s)
{
	struct explain *e = s->e;
	int err = explain_callers_name(s);

	if (err)
		return err;
	for (int attribute = 0; attribute < ATTR_N; attribute++)
		e->tests += explain_attribute_values(s, attribute);
	e->requests_left_out = s->beside.left_out;
	if (!e->n_slow || e->n_slow == e->n)
		return 0;
	s->rotation = rotation_make(&s->starts, s->order_slow);
	s->population = (struct population){
		.n = e->n,
		.n_slow = e->n_slow,
		.slow = s->slow,
		.all = s->all,
		.rotation = s->rotation,
	};
	err = s->rotation ? values_judge(s) : -ENOMEM;
	if (!err)
		err = explain_callers_judge(s);
	if (!err)
		err = times_judge(s);
	if (!err)
		err = explain_findings_choose(s);
	for (size_t i = 0; i < e->n_findings && !err; i++)
		if (e->findings[i].attribute == ATTR_DEPTH)
			err = explain_load_tell(s, &e->findings[i]);
	for (size_t i = 0; i < e->n_findings && !err; i++)
		span_set(s, &e->findings[i]);
	for (size_t i = 0; i < e->n_nearest && !err; i++)
		span_set(s, &e->nearest[i]);
	return err;
}
