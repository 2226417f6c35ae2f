// SPDX-License-Identifier: GPL-2.0-only
/* explain_time.c - when slow operations come: in bursts, or at a period. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "analyse/stats.h"
#include "base/text.h"

enum {
	EXPECTED_LEAST = 5, /* slow ones in a group of cells, on average */
	BURST_TIMES = 4,    /* so many times as many as on average are a burst */
	BURSTS_LEAST = 6,   /* for a period */
	BURST_SIZE = 4,     /* slow ones in a burst, if single ones are noise */
	PERIOD_FINE = 8,    /* the shortest period, in fine cells */
};

#define PERIOD_NEAR 0.15 /* a gap is a period if it differs by at most this part of it */
#define PERIOD_MOST 0.6  /* of the gaps are so */
#define PERIOD_HELD 0.8  /* so many of the slow ones define the phase */

/* Neighbouring cells, so that each group has enough slow ones for the test. */
struct groups {
	int cells; /* of a group */
	int n;     /* groups with any operation */
	double squares;
};

static struct groups groups_make(const struct scan *s)
{
	double share = (double)s->e->n_slow / s->e->n, slow, n, off;
	struct groups g = { .cells = 1 };

	while (g.cells < SCAN_CELLS && s->e->n_slow * g.cells < EXPECTED_LEAST * SCAN_CELLS)
		g.cells *= 2;
	for (int first = 0; first < SCAN_CELLS; first += g.cells) {
		slow = n = 0;
		for (int c = first; c < first + g.cells && c < SCAN_CELLS; c++) {
			slow += s->slow[c];
			n += s->all[c];
		}
		if (!n || share >= 1)
			continue;
		off = slow - n * share;
		g.squares += off * off / (n * share * (1 - share));
		g.n++;
	}
	return g;
}

/* Finds the cells of groups with far more slow ones than on average. Returns the number of bursts:
 * runs of such cells. */
static int burst_cells_find(const struct scan *s, const struct groups *g, bool *ret_in_burst)
{
	double share = (double)s->e->n_slow / s->e->n, slow, n;
	bool before = false, is_burst;
	int bursts = 0;

	for (int first = 0; first < SCAN_CELLS; first += g->cells) {
		slow = n = 0;
		for (int c = first; c < first + g->cells && c < SCAN_CELLS; c++) {
			slow += s->slow[c];
			n += s->all[c];
		}
		is_burst = slow >= EXPLAIN_LEAST && slow >= BURST_TIMES * n * share;
		for (int c = first; c < first + g->cells && c < SCAN_CELLS; c++)
			ret_in_burst[c] = is_burst;
		bursts += is_burst && !before;
		before = is_burst;
	}
	return bursts;
}

/*
 * Finds the neighbouring cells, a block at most, with the least probable number of slow ones: a few
 * slow ones may be a burst, too. Returns an upper limit of the probability that chance has such
 * cells somewhere: 1 if there are none. Naus, "The distribution of the size of the maximum cluster
 * of points on a line" (1965), with the bound of Bonferroni.
 */
static double window_find(const struct scan *s, bool *ret_in_burst)
{
	double share = (double)s->e->n_slow / s->e->n, best = 1, slow, n, p;
	int tries = 0, from = 0, to = 0;

	for (int cells = 1; cells <= SCAN_BLOCK; cells *= 2) {
		for (int first = 0; first + cells <= SCAN_CELLS; first++, tries++) {
			slow = n = 0;
			for (int c = first; c < first + cells; c++) {
				slow += s->slow[c];
				n += s->all[c];
			}
			if (slow < EXPLAIN_LEAST || slow < BURST_TIMES * n * share)
				continue;
			p = stats_binomial_above(slow, s->e->n_slow, n / s->e->n);
			if (p >= best)
				continue;
			best = p;
			from = first;
			to = first + cells;
		}
	}
	for (int c = 0; c < SCAN_CELLS; c++)
		ret_in_burst[c] = c >= from && c < to;
	return best * tries < 1 ? best * tries : 1;
}

/* The slow ones in the cells of bursts, and all operations there. */
static void cells_count(const struct scan *s, const bool *in_burst, uint64_t *ret_slow,
			uint64_t *ret_all)
{
	*ret_slow = *ret_all = 0;
	for (int c = 0; c < SCAN_CELLS; c++) {
		*ret_slow += in_burst[c] ? s->slow[c] : 0;
		*ret_all += in_burst[c] ? s->all[c] : 0;
	}
}

/* The time of the slow ones in the cells of an incident: from the first beginning to the last end.
 */
static void incident_find(const struct scan *s, const bool *in_burst, uint64_t *ret_from,
			  uint64_t *ret_to)
{
	*ret_from = UINT64_MAX;
	*ret_to = s->base_ns;
	for (size_t i = 0; i < s->n_list; i++) {
		const struct scan_slow *slow = &s->list[i];

		if (!in_burst[explain_scan_cell(s, slow->start_ns)])
			continue;
		*ret_from = slow->start_ns < *ret_from ? slow->start_ns : *ret_from;
		*ret_to = slow->end_ns > *ret_to ? slow->end_ns : *ret_to;
	}
	if (*ret_from > *ret_to)
		*ret_from = *ret_to;
}

static int incident_set(const struct scan *s, const bool *in_burst, struct explain_finding *ret)
{
	uint64_t from, to;

	incident_find(s, in_burst, &from, &to);
	return explain_incident_set(s, from, to, ret);
}

static char *bursts_text(const struct scan *s, const bool *in_burst, int bursts)
{
	uint64_t cells = 0;
	char *text = NULL;
	int len;

	for (uint64_t c = 0; c < SCAN_CELLS; c++)
		cells += in_burst[c];
	len = asprintf(&text, "in %d bursts, together %s of %s", bursts,
		       text_ns(cells * s->cell_ns).s, text_ns(SCAN_CELLS * s->cell_ns).s);
	return len < 0 ? NULL : text;
}

/* Room for the bits of a finding. */
static int has_make(const struct scan *s, struct explain_finding *ret)
{
	ret->has = calloc(bits_words(s->n_list) + 1, sizeof(*ret->has));
	return ret->has ? 0 : -ENOMEM;
}

int explain_time_bursts(const struct scan *s, struct explain_finding *ret)
{
	struct groups g = groups_make(s);
	bool in_burst[SCAN_CELLS] = {};
	double p = g.n > 1 ? stats_chi_squared_above(g.squares, g.n - 1) : 1;
	int bursts = burst_cells_find(s, &g, in_burst);
	uint64_t slow, all;

	cells_count(s, in_burst, &slow, &all);
	if (g.n < 2 || slow * 100 < EXPLAIN_WEAK_PERCENT * s->e->n_slow) {
		p = window_find(s, in_burst);
		bursts = 1;
		cells_count(s, in_burst, &slow, &all);
	}
	if (slow * 100 < EXPLAIN_WEAK_PERCENT * s->e->n_slow)
		return 0;
	*ret = (struct explain_finding){ .attribute = ATTR_TIME,
					 .expected = (double)all * s->e->n_slow / s->e->n };
	explain_chance_set(&s->population, slow, all, p, ret);
	ret->at_most = ceil(ret->expected + 3 * sqrt(ret->expected));
	if (bursts == 1) {
		if (incident_set(s, in_burst, ret))
			return -ENOMEM;
	} else {
		ret->text = bursts_text(s, in_burst, bursts);
	}
	if (!ret->text || has_make(s, ret))
		return -ENOMEM;
	for (size_t i = 0; i < s->n_list; i++)
		if (in_burst[explain_scan_cell(s, s->list[i].start_ns)])
			bit_set(ret->has, i);
	return 1;
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How bursts are told apart. */
struct burst_form {
	double gap;        /* ns between two bursts, at least */
	unsigned int size; /* slow ones, at least: single ones may be noise */
};

/* Bursts of slow ones: when they begin. Returns how many. */
static size_t bursts_find(const double *starts, size_t n, const struct burst_form *form,
			  double *ret_bursts)
{
	size_t bursts = 0, first = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && starts[i] - starts[i - 1] <= form->gap)
			continue;
		if (i - first >= form->size)
			ret_bursts[bursts++] = starts[first];
		first = i;
	}
	return bursts;
}

struct period {
	double ns, begin_ns; /* length, and a moment at which it begins */
	double least_ns;     /* shorter ones cannot be seen */
	double p;
};

/* The probability of so many nearly equal gaps between @n bursts by chance. Nothing but the least
 * gap @least keeps bursts apart, so the gaps above it are exponential. */
static double period_test(const double *bursts, size_t n, double least, double *gaps,
			  double *ret_ns)
{
	double median, rate, low, high, hits = 0, sum = 0;

	for (size_t i = 0; i + 1 < n; i++)
		gaps[i] = bursts[i + 1] - bursts[i];
	qsort(gaps, n - 1, sizeof(*gaps), compare_numbers);
	median = gaps[(n - 1) / 2];
	low = median * (1 - PERIOD_NEAR);
	high = median * (1 + PERIOD_NEAR);
	for (size_t i = 0; i + 1 < n; i++) {
		if (gaps[i] < low || gaps[i] > high)
			continue;
		hits++;
		sum += gaps[i];
	}
	if (hits < PERIOD_MOST * (n - 1) || median <= least)
		return 1;
	*ret_ns = sum / hits;
	rate = M_LN2 / (median - least);
	low = low > least ? low - least : 0;
	return stats_binomial_above(hits, n - 1, exp(-rate * low) - exp(-rate * (high - least)));
}

/* Fits a line through the bursts, by their number: errors of single gaps do not add up. */
static void period_fit(const double *bursts, size_t n, struct period *p)
{
	double x = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, y;

	for (size_t i = 0; i < n; i++) {
		x += i ? round((bursts[i] - bursts[i - 1]) / p->ns) : 0;
		y = bursts[i] - bursts[0];
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
	}
	if (n * sxx - sx * sx > 0)
		p->ns = (n * sxy - sx * sy) / (n * sxx - sx * sx);
	p->begin_ns = bursts[0] + (sy - p->ns * sx) / n;
}

/* The period of bursts of this form, if it is more probable than @best. Returns false if there are
 * too few bursts. */
static bool period_try(const double *starts, size_t n, const struct burst_form *form,
		       double *bursts, struct period *best)
{
	size_t found = bursts_find(starts, n, form, bursts);
	struct period p = {};

	if (found < BURSTS_LEAST)
		return false;
	p.p = period_test(bursts, found, form->gap, bursts + n, &p.ns);
	if (p.p >= best->p || p.ns < best->least_ns)
		return true;
	best->p = p.p;
	best->ns = p.ns;
	period_fit(bursts, found, best);
	return true;
}

/* The most probable period of the sorted @starts. p is 1 if there is none. @work: room for twice as
 * many. */
static struct period period_find(const struct scan *s, const double *starts, size_t n, double *work)
{
	double fine = (double)s->cell_ns / SCAN_FINE, all = fine * SCAN_CELLS * SCAN_FINE;
	struct period best = { .p = 1, .least_ns = PERIOD_FINE * fine };
	struct burst_form form;
	int tries = 0;

	for (form.size = 1; form.size <= BURST_SIZE; form.size += BURST_SIZE - 1)
		for (form.gap = fine; form.gap < all / BURSTS_LEAST; form.gap *= 2)
			tries += period_try(starts, n, &form, work, &best);
	best.p = best.p * tries < 1 ? best.p * tries : 1;
	return best;
}

/* When in the period @ns is, 0 to 1. */
static double phase_of(const struct period *p, double ns)
{
	double phase = (ns - p->begin_ns) / p->ns;

	return phase - floor(phase);
}

/* A part of the period: from a phase on, so long; may go on at phase 0. */
struct arc {
	double from, length;
};

static bool arc_has(const struct arc *a, double phase)
{
	double off = phase - a->from;

	return off - floor(off) <= a->length;
}

/* The shortest part of the period with PERIOD_HELD of the starts. Writes their phases to @phases.
 */
static struct arc arc_find(const struct period *p, const double *starts, size_t n, double *phases)
{
	size_t held = ceil(PERIOD_HELD * n), last;
	struct arc best = { 0, 1 };
	double length;

	for (size_t i = 0; i < n; i++)
		phases[i] = phase_of(p, starts[i]);
	qsort(phases, n, sizeof(*phases), compare_numbers);
	for (size_t i = 0; i < n; i++) {
		last = i + held - 1;
		length = phases[last % n] + (last >= n) - phases[i];
		if (length < best.length)
			best = (struct arc){ phases[i], length };
	}
	return best;
}

/* Counts slow ones and all within @a, and sets @ret. 1, or 0 if the slow ones do not keep to it. */
static int period_set(const struct scan *s, const struct period *p, const struct arc *a,
		      struct explain_finding *ret)
{
	double fine = (double)s->cell_ns / SCAN_FINE, part;
	uint64_t slow = 0, all = 0;

	for (size_t i = 0; i < s->n_list; i++) {
		if (!arc_has(a, phase_of(p, s->list[i].start_ns - s->base_ns)))
			continue;
		bit_set(ret->has, i);
		slow++;
	}
	for (int i = 0; i < SCAN_CELLS * SCAN_FINE; i++)
		all += arc_has(a, phase_of(p, (i + 0.5) * fine)) ? s->fine[i] : 0;
	part = (double)s->e->n_slow / s->n_list; /* above 1 if the list is a sample */
	slow = slow * part;
	all = all > slow ? all : slow;
	ret->expected = (double)all * s->e->n_slow / s->e->n;
	explain_chance_set(&s->population, slow, all, p->p, ret);
	ret->at_most = ceil(ret->expected + 3 * sqrt(ret->expected));
	return a->length < 0.5;
}

int explain_time_period(const struct scan *s, struct explain_finding *ret)
{
	size_t n = s->n_list;
	double *starts = calloc(3 * n + 1, sizeof(*starts));
	struct period p;
	struct arc a;
	int got = 0;

	*ret = (struct explain_finding){ .attribute = ATTR_PERIOD };
	if (!starts || has_make(s, ret)) {
		free(starts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		starts[i] = s->list[i].start_ns - s->base_ns;
	qsort(starts, n, sizeof(*starts), compare_numbers);
	p = period_find(s, starts, n, starts + n);
	if (p.p < 1) {
		a = arc_find(&p, starts, n, starts + n);
		got = period_set(s, &p, &a, ret);
	}
	free(starts);
	if (got && asprintf(&ret->text, "within %s of each period of %s",
			    text_ns(a.length * p.ns).s, text_ns(p.ns).s) < 0)
		return -ENOMEM;
	return got;
}
