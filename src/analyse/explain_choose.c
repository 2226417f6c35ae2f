// SPDX-License-Identifier: GPL-2.0-only
/* explain_choose.c - which findings are told, in which order, and which are about the same
 * operations as another one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"

/* Listed separately only if at least this share of its operations is in no earlier finding. */
#define OWN_PART         0.2
#define OWN_PART_SYMPTOM 0.5

/* Ranks so close are equal. */
#define RANK_NEAR 0.04

/* A way or a time, or a symptom, leads if its rank is so many times that of the best cause. The
 * weight of symptoms halves their ranks. */
#define LEAD         2
#define LEAD_SYMPTOM 1.25

static uint64_t bits_count(const uint64_t *a, const uint64_t *b, size_t words)
{
	uint64_t n = 0;

	for (size_t i = 0; i < words; i++)
		n += __builtin_popcountll(a[i] & b[i]);
	return n;
}

static int compare_p(const void *a, const void *b)
{
	const struct explain_finding *x = a, *y = b;

	return (x->raw_p > y->raw_p) - (x->raw_p < y->raw_p);
}

/* Corrects all probabilities for @tests tests: Benjamini and Hochberg (1995), as adjusted by
 * Yekutieli and Benjamini (1999). */
static void correct(struct explain_finding *list, size_t n, double tests)
{
	double least = 1, p;

	if (n)
		qsort(list, n, sizeof(*list), compare_p);
	for (size_t i = n; i--;) {
		p = list[i].raw_p * tests / (i + 1);
		least = p < least ? p : least;
		list[i].p = least;
	}
}

/* Whether a finding is sure, and large enough to be told. */
static bool is_told(const struct explain *e, const struct explain_finding *f)
{
	double others = e->n - e->n_slow, share = (double)f->slow / e->n_slow;
	int least = f->attribute < ATTR_STRATUM ? EXPLAIN_LEAST_PERCENT : EXPLAIN_WEAK_PERCENT;

	return f->p <= EXPLAIN_FALSE && f->rotated_p <= EXPLAIN_FALSE && f->slow >= EXPLAIN_LEAST &&
	       f->score * 100 >= least && share * others >= EXPLAIN_LEAST_LIFT * f->others;
}

void explain_finding_done(struct explain_finding *f)
{
	free(f->text);
	free(f->note);
	free(f->value);
	free(f->has);
}

/* Whether chance alone keeps @f from being told. */
static bool is_near(const struct explain *e, const struct explain_finding *f)
{
	struct explain_finding sure = *f;

	sure.p = sure.rotated_p = 0;
	return !is_told(e, f) && is_told(e, &sure);
}

/* Takes findings that are not shown from the list, which is in the order of p. */
static void drop_untold(struct explain *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_findings; i++) {
		if (is_told(e, &e->findings[i]))
			e->findings[n++] = e->findings[i];
		else if (e->n_nearest < EXPLAIN_NEAREST && is_near(e, &e->findings[i]))
			e->nearest[e->n_nearest++] = e->findings[i];
		else
			explain_finding_done(&e->findings[i]);
	}
	e->n_findings = n;
}

/* Whether @f stands before causes: its rank is far above @top, that of the best cause. */
static bool leads(const struct explain_finding *f, double top)
{
	switch (f->class) {
	case CLASS_WAY:
	case CLASS_TIME:
		return f->rank > LEAD * top;
	case CLASS_SYMPTOM:
		return f->attribute != ATTR_STRATUM && f->rank > LEAD_SYMPTOM * top;
	default:
		return top <= 0;
	}
}

/* Best first; equally good findings are in the order of attributes. @top: the rank of the best
 * cause. */
static int compare_findings(const struct explain_finding *x, const struct explain_finding *y,
			    double top)
{
	bool first = leads(x, top);

	if (first != leads(y, top))
		return first ? -1 : 1;
	if (!first && x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->rank - y->rank < RANK_NEAR && y->rank - x->rank < RANK_NEAR &&
	    x->attribute != y->attribute)
		return x->attribute < y->attribute ? -1 : 1;
	return (x->rank < y->rank) - (x->rank > y->rank);
}

/*
 * Whether most of the slow ones that @f is about began within one block of time. Whatever is in
 * flight while a disk stalls is a victim as well, and one coincidence tells no victim from a cause.
 */
static bool is_of_one_moment(const struct scan *s, const struct explain_finding *f)
{
	unsigned int cells[SCAN_CELLS] = {}, all = 0, within = 0, most = 0;

	for (size_t i = 0; i < s->n_list; i++) {
		if (!bit_is_set(f->has, i))
			continue;
		cells[explain_scan_cell(s, s->list[i].start_ns)]++;
		all++;
	}
	for (int c = 0; c < SCAN_CELLS; c++) {
		within += cells[c] - (c >= SCAN_BLOCK ? cells[c - SCAN_BLOCK] : 0);
		most = within > most ? within : most;
	}
	return 2 * most > all;
}

static void weigh(const struct scan *s, struct explain_finding *f)
{
	bool may_be_victim = f->attribute == ATTR_BESIDE || f->attribute == ATTR_DEPTH;
	double weight = explain_attribute_weight(f->attribute);

	if (f->class < explain_attribute_class(f->attribute))
		f->class = explain_attribute_class(f->attribute);
	else if (f->class > explain_attribute_class(f->attribute))
		weight = WEIGHT_OF_SIBLING;
	f->is_of_moment = may_be_victim && is_of_one_moment(s, f);
	if (f->is_of_moment && weight > WEIGHT_OF_MOMENT)
		weight = WEIGHT_OF_MOMENT;
	f->rank *= weight;
}

/* Properties of one moment are symptoms if the moment explains as much. */
static void victims_tell(struct explain_finding *list, size_t n)
{
	double moment = 0;

	for (size_t i = 0; i < n; i++)
		if (list[i].class == CLASS_TIME && list[i].rank > moment)
			moment = list[i].rank;
	for (size_t i = 0; i < n; i++)
		if (list[i].is_of_moment && list[i].rank < moment)
			list[i].class = CLASS_SYMPTOM;
}

/* Insertion sort: the order is not transitive where ranks are close. */
static void order(struct explain_finding *list, size_t n)
{
	struct explain_finding f;
	double top = 0;
	size_t to;

	for (size_t i = 0; i < n; i++)
		if (list[i].class == CLASS_CAUSE && list[i].rank > top)
			top = list[i].rank;
	for (size_t i = 1; i < n; i++) {
		f = list[i];
		for (to = i; to && compare_findings(&f, &list[to - 1], top) < 0; to--)
			list[to] = list[to - 1];
		list[to] = f;
	}
}

/* Whether many of the operations not in @covered have the property of @f, and more often than the
 * others. A symptom needs half of its operations: else it belongs to their cause. */
static bool has_own(const struct scan *s, const struct explain_finding *f, const uint64_t *covered,
		    size_t words)
{
	double part = f->class == CLASS_SYMPTOM ? OWN_PART_SYMPTOM : OWN_PART;
	double all = bits_count(f->has, f->has, words), left = s->n_list, own, others;

	own = all - bits_count(f->has, covered, words);
	left -= bits_count(covered, covered, words);
	others = s->e->n > s->e->n_slow ? (double)f->others / (s->e->n - s->e->n_slow) : 0;
	return own >= part * all && own * 100 >= EXPLAIN_LEAST_PERCENT * s->n_list &&
	       own >= EXPLAIN_LEAST && own >= EXPLAIN_LEAST_LIFT * left * others;
}

/* The chosen finding with which @f shares most operations. */
static size_t same_as(const struct explain *e, const struct explain_finding *f, size_t words)
{
	uint64_t most = 0, n;
	size_t best = 0;

	for (size_t i = 0; i < e->n_chosen; i++) {
		n = bits_count(f->has, e->findings[i].has, words);
		if (n <= most)
			continue;
		most = n;
		best = i;
	}
	return best;
}

/* Moves finding @i behind the chosen ones. */
static void choose(struct explain *e, size_t i)
{
	struct explain_finding f = e->findings[i];

	memmove(&e->findings[e->n_chosen + 1], &e->findings[e->n_chosen],
		(i - e->n_chosen) * sizeof(*e->findings));
	e->findings[e->n_chosen++] = f;
}

static void uncovered_set(const struct scan *s, const uint64_t *covered, size_t words)
{
	struct explain *e = s->e;
	uint64_t left = s->n_list - bits_count(covered, covered, words);

	e->is_sampled = s->n_list < e->n_slow;
	e->uncovered = e->is_sampled ? (double)left / s->n_list * e->n_slow : left;
}

int explain_findings_choose(const struct scan *s)
{
	struct explain *e = s->e;
	size_t words = bits_words(s->n_list);
	uint64_t *covered = calloc(words + 1, sizeof(*covered));

	e->same = calloc(e->n_findings + 1, sizeof(*e->same));
	if (!covered || !e->same) {
		free(covered);
		return -ENOMEM;
	}
	correct(e->findings, e->n_findings, e->tests);
	drop_untold(e);
	for (size_t i = 0; i < e->n_findings; i++)
		weigh(s, &e->findings[i]);
	victims_tell(e->findings, e->n_findings);
	order(e->findings, e->n_findings);
	for (size_t i = 0; i < e->n_findings && e->n_chosen < EXPLAIN_FINDINGS; i++) {
		if (!has_own(s, &e->findings[i], covered, words))
			continue;
		for (size_t w = 0; w < words; w++)
			covered[w] |= e->findings[i].has[w];
		choose(e, i);
	}
	for (size_t i = e->n_chosen; i < e->n_findings; i++)
		e->same[i] = same_as(e, &e->findings[i], words);
	uncovered_set(s, covered, words);
	free(covered);
	return 0;
}
