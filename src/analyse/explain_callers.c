// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_callers.c - the functions, lines and libraries that made the calls, as properties. Long
 * operations have a stack more often than short ones. So from the slow ones, and from the others,
 * as many stacks are left out by chance as make all operations of a group equally probable: these
 * are judged as all operations are. docs/design/explain.md has the reasons.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "base/list.h"
#include "base/text.h"

enum {
	CALLERS_MOST = 1 << 19, /* stacks of a group in memory */
	CALLER_ATTRIBUTES = ATTR_LIBRARY - ATTR_FUNCTION + 1,
	OTHERS_LEAST = 20, /* equally probable ones */
	CELL_LEAST = 8,    /* stacks in a cell of the order */
};

#define CUT_MOST     0.005 /* of all weight: what single heavy stacks may lack */
#define UNKNOWN_MOST 0.1   /* operations of durations that no stack has */
#define LOST_MOST    0.1   /* stacks */

struct caller_stack {
	uint64_t start_ns, end_ns;
	uint64_t random;
	double weight; /* how many operations it stands for */
	uint32_t stack;
	uint32_t is_slow;
};

/* SplitMix64, of G. Steele, D. Lea and C. Flood (2014). The same recording gives the same numbers.
 */
static uint64_t random_of(uint64_t n)
{
	n += 0x9e3779b97f4a7c15ULL;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ULL;
	n = (n ^ n >> 27) * 0x94d049bb133111ebULL;
	return n ^ n >> 31;
}

/* A bin for each power of 2: within it, stacks are about equally probable. */
static unsigned int bin_of(uint64_t ns)
{
	return ns ? 63 - __builtin_clzll(ns) : 0;
}

static bool stays(const struct caller_group *g, const struct caller_stack *one)
{
	return !(one->random & ((1ULL << g->shift) - 1));
}

/* Leaves out every second stack, by chance. */
static void halve(struct caller_group *g)
{
	size_t n = 0;

	g->shift++;
	for (size_t i = 0; i < g->n; i++)
		if (stays(g, &g->list[i]))
			g->list[n++] = g->list[i];
	g->n = n;
}

void explain_callers_op(struct callers *c, const struct scan_item *item, bool is_slow)
{
	if (item->op && STACK_KINDS >> item->op->kind & 1)
		c->groups[is_slow].ops[bin_of(item->total_ns)]++;
}

int explain_callers_stack(struct callers *c, const struct scan_item *item,
			  const struct stored_event *ev, bool is_slow)
{
	struct caller_group *g = &c->groups[is_slow];
	struct caller_stack one = {
		.start_ns = item->start_ns,
		.end_ns = item->start_ns + item->total_ns,
		.random = random_of(item->start_ns ^ item->owner << 48),
		.weight = 1,
		.stack = ev->stack < UINT32_MAX ? ev->stack : 0,
		.is_slow = is_slow,
	};

	if (!(STACK_KINDS >> item->op->kind & 1))
		return 0;
	if (ev->threshold_ns > item->total_ns && item->total_ns)
		one.weight = (double)ev->threshold_ns / item->total_ns;
	c->unnamed += !one.stack;
	g->stacks[bin_of(item->total_ns)]++;
	if (!stays(g, &one))
		return 0;
	if (g->n >= CALLERS_MOST) { /* all random numbers are alike: the recording is forged */
		c->unnamed++;
		return 0;
	}
	if (list_reserve((void **)&g->list, &g->cap, g->n, sizeof(*g->list)))
		return -ENOMEM;
	g->list[g->n++] = one;
	while (g->n >= CALLERS_MOST && g->shift < 32)
		halve(g);
	return 0;
}

void explain_callers_done(struct callers *c)
{
	for (int i = 0; i < CALLER_ATTRIBUTES && c->names; i++)
		caller_names_done(&c->names[i]);
	free(c->names);
	free(c->groups[0].list);
	free(c->groups[1].list);
}

uint64_t explain_callers_values(const struct callers *c, enum explain_attribute attribute)
{
	return c->names ? c->names[attribute - ATTR_FUNCTION].n : 0;
}

static uint64_t sum_of(const uint64_t bins[CALLER_BINS])
{
	uint64_t sum = 0;

	for (int i = 0; i < CALLER_BINS; i++)
		sum += bins[i];
	return sum;
}

static enum explain_callers state_of(const struct scan *s)
{
	const struct callers *c = &s->callers;
	uint64_t taken = sum_of(c->groups[0].stacks) + sum_of(c->groups[1].stacks),
		 lost = s->rec->ending.stacks_lost + c->unnamed;

	if (!s->conf->kinds)
		return CALLERS_NOT_ASKED;
	if (!s->conf->own_frame || !s->rec->header.has_stacks)
		return CALLERS_NONE;
	if (lost > LOST_MOST * (taken + s->rec->ending.stacks_lost))
		return CALLERS_LOST;
	return c->groups[1].n < EXPLAIN_LEAST || c->groups[0].n < OTHERS_LEAST ? CALLERS_TOO_FEW
									       : CALLERS_LOOKED_AT;
}

int explain_callers_name(struct scan *s)
{
	static const enum by_key by[] = { BY_FUNCTION, BY_LINE, BY_LIBRARY };
	struct callers *c = &s->callers;
	int err = 0;

	s->e->callers = state_of(s);
	if (s->e->callers != CALLERS_LOOKED_AT)
		return 0;
	c->names = calloc(CALLER_ATTRIBUTES, sizeof(*c->names));
	if (!c->names)
		return -ENOMEM;
	for (int i = 0; i < CALLER_ATTRIBUTES && !err; i++)
		err = caller_names_make(&c->names[i], &s->rec->catalog, by[i], FRAME_LIBRARY,
					s->conf->own_frame, s->conf->arg);
	return err;
}

/* Stacks of which each operation of a group was equally probable. */

static int compare_weight(const void *a, const void *b)
{
	const struct caller_stack *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

/* The weight to which all stacks are brought: a few heavier ones may lack CUT_MOST of the whole
 * weight. *@ret_cut: what they lack. Orders the list. */
static double weight_limit(struct caller_group *g, double *ret_cut)
{
	double all = 0, above = 0, limit, cut = 0;

	if (!g->n)
		return 1;
	qsort(g->list, g->n, sizeof(*g->list), compare_weight);
	for (size_t i = 0; i < g->n; i++)
		all += g->list[i].weight;
	limit = g->list[0].weight;
	for (size_t i = 1; i < g->n; i++) {
		above += g->list[i - 1].weight;
		cut = above - i * g->list[i].weight;
		if (cut > CUT_MOST * all)
			break;
		limit = g->list[i].weight;
		*ret_cut = cut / all;
	}
	return limit;
}

/* The part of the group's operations of which no stack tells anything. */
static double unknown_part(const struct caller_group *g, double cut)
{
	double unknown = 0, all = 0;

	for (int i = 0; i < CALLER_BINS; i++) {
		all += g->ops[i];
		unknown += g->stacks[i] ? 0 : g->ops[i];
	}
	return all > 0 ? unknown / all + cut : 0;
}

/* Moves the stacks of @g that stay to @to. Returns how many. */
static size_t sample_take(struct caller_group *g, double limit, struct caller_stack *to)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		double share = (random_of(g->list[i].random) >> 11) * 0x1p-53;

		if (share * limit < g->list[i].weight)
			to[n++] = g->list[i];
	}
	return n;
}

/* What the callers are judged among. */
struct sample {
	struct caller_stack *list; /* by their beginning; owned */
	size_t n, n_slow;
	double unknown[2];
	uint32_t slow[SCAN_CELLS], all[SCAN_CELLS], order_slow[STARTS_CELLS];
	struct starts order;
	struct population population;
	/* of an attribute, by value */
	double *weight[2];   /* owned */
	uint32_t *slow_with; /* owned */
	double weight_sum[2];
};

static int compare_start(const void *a, const void *b)
{
	const struct caller_stack *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static unsigned int order_cell(const struct sample *p, size_t i)
{
	return i * p->order.cells / p->n;
}

static void sample_done(struct sample *p)
{
	free(p->list);
	rotation_free(p->population.rotation);
}

/* Returns 0 or -ENOMEM. */
static int sample_make(struct scan *s, struct sample *p)
{
	struct caller_group *groups = s->callers.groups;
	double limit, cut;

	p->list = calloc(groups[0].n + groups[1].n + 1, sizeof(*p->list));
	if (!p->list)
		return -ENOMEM;
	for (int slow = 1; slow >= 0; slow--) {
		cut = 0;
		limit = weight_limit(&groups[slow], &cut);
		p->unknown[slow] = unknown_part(&groups[slow], cut);
		p->n += sample_take(&groups[slow], limit, p->list + p->n);
		p->n_slow = slow ? p->n : p->n_slow;
		s->callers.are_estimated |= limit > 1 || groups[slow].shift ||
					    sum_of(groups[slow].ops) != sum_of(groups[slow].stacks);
	}
	qsort(p->list, p->n, sizeof(*p->list), compare_start);
	p->order = (struct starts){ .n = p->n, .cells = STARTS_CELLS };
	while (p->order.cells > 1 && CELL_LEAST * p->order.cells > p->n)
		p->order.cells /= 2;
	for (size_t i = 0; i < p->n; i++) {
		unsigned int cell = explain_scan_cell(s, p->list[i].start_ns);

		p->all[cell]++;
		p->slow[cell] += p->list[i].is_slow;
		p->order_slow[order_cell(p, i)] += p->list[i].is_slow;
	}
	p->population = (struct population){ .n = p->n,
					     .n_slow = p->n_slow,
					     .slow = p->slow,
					     .all = p->all,
					     .rotation = rotation_make(&p->order, p->order_slow) };
	return p->population.rotation ? 0 : -ENOMEM;
}

/* Adds up weights by caller. Returns 0 or -ENOMEM. */
static int weights_sum(const struct callers *c, const struct caller_names *names, struct sample *p)
{
	for (int slow = 0; slow < 2; slow++) {
		p->weight_sum[slow] = 0;
		p->weight[slow] = calloc(names->n + 1, sizeof(*p->weight[slow]));
		if (!p->weight[slow])
			return -ENOMEM;
		for (size_t i = 0; i < c->groups[slow].n; i++) {
			const struct caller_stack *one = &c->groups[slow].list[i];

			p->weight[slow][caller_number(names, one->stack)] += one->weight;
			p->weight_sum[slow] += one->weight;
		}
	}
	p->slow_with = calloc(names->n + 1, sizeof(*p->slow_with));
	if (!p->slow_with)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].is_slow)
			p->slow_with[caller_number(names, p->list[i].stack)]++;
	return 0;
}

static void counted_fill(const struct scan *s, const struct sample *p,
			 const struct caller_names *names, uint32_t value, struct counted *ret)
{
	double with = 0;

	for (size_t i = 0; i < p->n; i++) {
		unsigned int cell = explain_scan_cell(s, p->list[i].start_ns);

		if (caller_number(names, p->list[i].stack) != value)
			continue;
		ret->all[cell]++;
		ret->slow[cell] += p->list[i].is_slow;
		ret->order[order_cell(p, i)]++;
		with += p->list[i].is_slow;
	}
	/* as if all of the unknown others had the property, and none of the unknown slow ones */
	ret->doubtful = p->unknown[0] * p->n_slow + p->unknown[1] * with;
}

static int compare_slow(const void *a, const void *b)
{
	const struct scan_slow *const *x = a, *const *y = b;

	if ((*x)->start_ns != (*y)->start_ns)
		return (*x)->start_ns < (*y)->start_ns ? -1 : 1;
	return ((*x)->end_ns > (*y)->end_ns) - ((*x)->end_ns < (*y)->end_ns);
}

/* Sets the bits of slow operations that have the caller @value. */
static void has_set(const struct scan *s, const struct scan_slow **by_time,
		    const struct caller_names *names, uint32_t value, uint64_t *has)
{
	const struct caller_group *g = &s->callers.groups[1];

	for (size_t i = 0; i < g->n; i++) {
		const struct caller_stack *one = &g->list[i];
		struct scan_slow key = { .start_ns = one->start_ns, .end_ns = one->end_ns };
		const struct scan_slow *at = &key, **found;

		if (caller_number(names, one->stack) != value)
			continue;
		key.start_ns = key.start_ns > s->base_ns ? key.start_ns : s->base_ns;
		found = bsearch(&at, by_time, s->n_list, sizeof(*by_time), compare_slow);
		if (found)
			bit_set(has, *found - s->list);
	}
}

static int text_set(const struct scan *s, const char *name, struct explain_finding *f)
{
	static const char *const before[] = { "called by ", "called at ", "called by code of " };
	const struct caller_group *g = s->callers.groups;

	if (asprintf(&f->text, "%s%s", before[f->attribute - ATTR_FUNCTION], name) < 0)
		f->text = NULL;
	if (f->text && f->is_estimated &&
	    asprintf(&f->note, "estimated from user stacks of %s slow ones and %s others",
		     text_count(sum_of(g[1].stacks)).s, text_count(sum_of(g[0].stacks)).s) < 0)
		f->note = NULL;
	return f->text && (f->note || !f->is_estimated) ? 0 : -ENOMEM;
}

/* Figures of all operations instead of those of the sample. */
static void finding_scale(const struct scan *s, const struct sample *p, uint32_t value,
			  struct explain_finding *f)
{
	double of[2], scale;

	for (int slow = 0; slow < 2; slow++)
		of[slow] = p->weight[slow][value] / p->weight_sum[slow] *
			   sum_of(s->callers.groups[slow].ops);
	scale = (double)s->e->n_slow / p->n_slow;
	f->expected *= scale;
	f->at_most = llround(f->at_most * scale);
	explain_chance_set(&s->population, llround(of[1]), llround(of[1]) + llround(of[0]),
			   f->raw_p, f);
	f->is_estimated = s->callers.are_estimated;
}

static int value_judge(const struct scan *s, const struct sample *p,
		       const struct scan_slow **by_time, enum explain_attribute attribute,
		       uint32_t value)
{
	const struct caller_names *names = &s->callers.names[attribute - ATTR_FUNCTION];
	struct counted *c = calloc(1, sizeof(*c));
	struct explain_finding f = { .attribute = attribute }, *added;

	if (c)
		c->order = calloc(STARTS_CELLS, sizeof(*c->order));
	if (!c || !c->order) {
		free(c);
		return -ENOMEM;
	}
	counted_fill(s, p, names, value, c);
	explain_chance_judge(&p->population, c, &f);
	free(c->order);
	free(c);
	finding_scale(s, p, value, &f);
	if (text_set(s, caller_text(names, value), &f)) {
		explain_finding_done(&f);
		return -ENOMEM;
	}
	added = explain_finding_add(s, &f);
	if (added)
		has_set(s, by_time, names, value, added->has);
	return added ? 0 : -ENOMEM;
}

static int attribute_judge(const struct scan *s, struct sample *p, const struct scan_slow **by_time,
			   enum explain_attribute attribute)
{
	const struct caller_names *names = &s->callers.names[attribute - ATTR_FUNCTION];
	int err = weights_sum(&s->callers, names, p);

	for (uint32_t value = 1; value <= names->n && !err; value++)
		if (p->slow_with[value] >= EXPLAIN_LEAST &&
		    p->slow_with[value] * 100ULL >= EXPLAIN_LEAST_PERCENT * p->n_slow)
			err = value_judge(s, p, by_time, attribute, value);
	free(p->weight[0]);
	free(p->weight[1]);
	free(p->slow_with);
	p->weight[0] = p->weight[1] = NULL;
	p->slow_with = NULL;
	return err;
}

int explain_callers_judge(struct scan *s)
{
	const struct scan_slow **by_time;
	struct sample *p;
	int err;

	if (s->e->callers != CALLERS_LOOKED_AT)
		return 0;
	p = calloc(1, sizeof(*p));
	by_time = calloc(s->n_list + 1, sizeof(*by_time));
	err = p && by_time ? sample_make(s, p) : -ENOMEM;
	if (!err && (p->n_slow < EXPLAIN_LEAST || p->n - p->n_slow < OTHERS_LEAST ||
		     p->unknown[0] > UNKNOWN_MOST || p->unknown[1] > UNKNOWN_MOST))
		s->e->callers = CALLERS_TOO_FEW;
	for (size_t i = 0; i < s->n_list && !err; i++)
		by_time[i] = &s->list[i];
	if (!err)
		qsort(by_time, s->n_list, sizeof(*by_time), compare_slow);
	for (int i = ATTR_FUNCTION; i <= ATTR_LIBRARY && !err; i++)
		if (s->e->callers == CALLERS_LOOKED_AT)
			err = attribute_judge(s, p, by_time, i);
	if (p)
		sample_done(p);
	free(p);
	free(by_time);
	return err;
}
