// SPDX-License-Identifier: GPL-2.0-only
/* explain_chance.c - how many slow operations would have a property by chance. The formulas and
 * their sources are in docs/design/explain.md. */
#include <math.h>

#include "analyse/explain_scan.h"
#include "analyse/stats.h"

#define OTHERS_FEW 4 /* so many times as many as slow ones, or fewer */

#define AT_MOST 0.01 /* more than finding.at_most have this probability by chance */

/* How many would have the property if slow ones and others were exchanged within blocks. */
static double expected(const struct population *p, const uint32_t *all)
{
	double sum = 0, slow, with, n;

	for (int block = 0; block < SCAN_CELLS; block += SCAN_BLOCK) {
		slow = with = n = 0;
		for (int c = block; c < block + SCAN_BLOCK; c++) {
			slow += p->slow[c];
			with += all[c];
			n += p->all[c];
		}
		sum += n > 0 ? slow * with / n : 0;
	}
	return sum;
}

/* A group of the population: slow ones, or the others. */
struct group {
	const struct population *p;
	bool is_slow;
	double n;
};

static uint32_t group_in(const struct group *g, int cell)
{
	return g->is_slow ? g->p->slow[cell] : g->p->all[cell] - g->p->slow[cell];
}

/* By how much those of @g that come together within @length cells count less than single ones, or 1
 * if no operations come together. */
static double effect_of(const struct group *g, const uint32_t *all, int length, double share)
{
	const struct population *p = g->p;
	double found = 0, pairs = 0, own_pairs = 0, own, with, n;

	for (int first = 0; first < SCAN_CELLS; first += length) {
		own = with = n = 0;
		for (int c = first; c < first + length; c++) {
			own += group_in(g, c);
			with += all[c];
			n += p->all[c];
		}
		found += (with - n * share) * (with - n * share) - with * (1 - 2 * share) -
			 n * share * share;
		pairs += n * (n - 1) * share * (1 - share);
		own_pairs += own * (own - 1);
	}
	return pairs > 0 ? 1 + found / pairs * own_pairs / g->n : 1;
}

/* The largest such effect, of lengths up to a block: 1 at least. */
static double effect(const struct group *g, const uint32_t *all, double share)
{
	double largest = 1, e;

	for (int length = 1; length <= SCAN_BLOCK; length *= 2) {
		e = effect_of(g, all, length, share);
		largest = e > largest ? e : largest;
	}
	return largest < g->n ? largest : g->n;
}

/* The largest number that chance exceeds in AT_MOST of all cases. */
static uint64_t at_most(double n, double share, double effect)
{
	uint64_t low = n * share, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (stats_binomial_above((middle + 1) / effect, n / effect, share) > AT_MOST)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void explain_chance_set(const struct population *of, uint64_t slow, uint64_t all, double p,
			struct explain_finding *ret)
{
	double others = of->n - of->n_slow, share = (double)slow / of->n_slow;

	ret->slow = slow;
	ret->others = all - slow;
	ret->raw_p = p;
	ret->score = share - (others > 0 ? ret->others / others : 0);
	ret->rank = share > 0 ? ret->score * fabs(ret->score) / share : 0;
}

/* How probable it is by exchange within blocks that so many slow ones have the property. */
static double slow_p(const struct population *p, double with, double together, double mean)
{
	double n = p->n_slow;

	return with > mean ? stats_binomial_above(with / together, n / together, mean / n) : 1;
}

/*
 * The same probability, bounded by the others without the property: there are too many of these.
 * If the others are few, this bound is the closer one.
 */
static double others_p(const struct population *p, const struct counted *c, double with,
		       double all_with, double mean)
{
	const struct group others = { .p = p, .n = p->n - p->n_slow };
	double n = others.n, without = n - (all_with - with),
	       counts = without - c->doubtful * n / p->n_slow, expected = n - (all_with - mean),
	       together;

	if (counts <= expected)
		return 1;
	together = effect(&others, c->all, all_with / p->n);
	return stats_binomial_above(floor(counts) / together, n / together, expected / n);
}

/* The probability by exchange within blocks, and by rotation in the order of operations. Either
 * misses causes that the other one finds, and neither is sure alone. */
static double least_p(const struct population *p, const struct counted *c, double with,
		      double all_with, double together, struct explain_finding *ret)
{
	double counts = with > c->doubtful ? floor(with - c->doubtful) : 0,
	       exchanged = slow_p(p, counts, together, ret->expected), others, least;

	if (p->n < OTHERS_FEW * p->n_slow) {
		others = others_p(p, c, with, all_with, ret->expected);
		exchanged = others < exchanged ? others : exchanged;
	}
	ret->rotated_p = rotation_above(p->rotation, c->order, counts);
	least = exchanged < ret->rotated_p ? exchanged : ret->rotated_p;
	return 2 * least < 1 ? 2 * least : 1;
}

void explain_chance_judge(const struct population *p, const struct counted *c,
			  struct explain_finding *ret)
{
	const struct group slow = { .p = p, .is_slow = true, .n = p->n_slow };
	double n = p->n_slow, with = 0, all_with = 0, together;

	for (int cell = 0; cell < SCAN_CELLS; cell++) {
		with += c->slow[cell];
		all_with += c->all[cell];
	}
	ret->expected = expected(p, c->all);
	together = effect(&slow, c->all, all_with / p->n);
	ret->at_most = at_most(n, ret->expected / n, together);
	explain_chance_set(p, with, all_with, least_p(p, c, with, all_with, together, ret), ret);
}
