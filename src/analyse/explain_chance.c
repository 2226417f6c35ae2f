// SPDX-License-Identifier: GPL-2.0-only
/* explain_chance.c - how many slow operations would have a property by chance. The formulas and
 * their sources are in docs/design/explain.md. */
#include <math.h>

#include "analyse/explain_scan.h"
#include "analyse/stats.h"

#define AT_MOST 0.01 /* more than finding.at_most have this probability by chance */

/* How many would have the property if slow ones and others were exchanged within blocks. */
static double expected(const struct scan *s, const uint32_t *all)
{
	double sum = 0, slow, with, n;

	for (int block = 0; block < SCAN_CELLS; block += SCAN_BLOCK) {
		slow = with = n = 0;
		for (int c = block; c < block + SCAN_BLOCK; c++) {
			slow += s->slow[c];
			with += all[c];
			n += s->all[c];
		}
		sum += n > 0 ? slow * with / n : 0;
	}
	return sum;
}

/* By how much operations that come together within @length cells count less than single ones, or 1
 * if there is no operations come together. */
static double effect_of(const struct scan *s, const uint32_t *all, int length, double share)
{
	double found = 0, pairs = 0, slow_pairs = 0, slow, with, n;

	for (int first = 0; first < SCAN_CELLS; first += length) {
		slow = with = n = 0;
		for (int c = first; c < first + length; c++) {
			slow += s->slow[c];
			with += all[c];
			n += s->all[c];
		}
		found += (with - n * share) * (with - n * share) - with * (1 - 2 * share) -
			 n * share * share;
		pairs += n * (n - 1) * share * (1 - share);
		slow_pairs += slow * (slow - 1);
	}
	return pairs > 0 ? 1 + found / pairs * slow_pairs / s->e->n_slow : 1;
}

/* The largest such effect, of lengths up to a block: 1 at least. */
static double effect(const struct scan *s, const uint32_t *all, double share)
{
	double largest = 1, e;

	for (int length = 1; length <= SCAN_BLOCK; length *= 2) {
		e = effect_of(s, all, length, share);
		largest = e > largest ? e : largest;
	}
	return largest < s->e->n_slow ? largest : s->e->n_slow;
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

void explain_chance_set(const struct scan *s, uint64_t slow, uint64_t all, double p,
			struct explain_finding *ret)
{
	double others = s->e->n - s->e->n_slow, share = (double)slow / s->e->n_slow;

	ret->slow = slow;
	ret->others = all - slow;
	ret->raw_p = p;
	ret->score = share - (others > 0 ? ret->others / others : 0);
	ret->rank = share > 0 ? ret->score * fabs(ret->score) / share : 0;
}

/* The probability by exchange within blocks, and by rotation in the order of operations. Either
 * misses causes that the other one finds, and neither is sure alone. */
static double least_p(const struct scan *s, const struct counted *c, double with, double together,
		      struct explain_finding *ret)
{
	double n = s->e->n_slow,
	       exchanged = with > ret->expected
				   ? stats_binomial_above(with / together, n / together,
							  ret->expected / n)
				   : 1,
	       least;

	ret->rotated_p = rotation_above(s->rotation, c->order, with);
	least = exchanged < ret->rotated_p ? exchanged : ret->rotated_p;
	return 2 * least < 1 ? 2 * least : 1;
}

void explain_chance_judge(const struct scan *s, const struct counted *c,
			  struct explain_finding *ret)
{
	double n = s->e->n_slow, with = 0, all_with = 0, together;

	for (int cell = 0; cell < SCAN_CELLS; cell++) {
		with += c->slow[cell];
		all_with += c->all[cell];
	}
	ret->expected = expected(s, c->all);
	together = effect(s, c->all, all_with / s->e->n);
	ret->at_most = at_most(n, ret->expected / n, together);
	explain_chance_set(s, with, all_with, least_p(s, c, with, together, ret), ret);
}
