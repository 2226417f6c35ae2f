// SPDX-License-Identifier: GPL-2.0-only
/* explain_starts.c - see explain_starts.h. */
#include "analyse/explain_starts.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stats.h"

#define SKEW_LEAST 0.05
#define SKEW_MOST  6.0

int starts_init(struct starts *o, uint64_t base_ns)
{
	*o = (struct starts){ .base_ns = base_ns, .shift = 10 };
	o->slots = calloc(STARTS_SLOTS, sizeof(*o->slots));
	return o->slots ? 0 : -ENOMEM;
}

void starts_done(struct starts *o)
{
	free(o->slots);
}

static uint64_t since(const struct starts *o, uint64_t ns)
{
	return ns > o->base_ns ? ns - o->base_ns : 0;
}

void starts_add(struct starts *o, uint64_t start_ns)
{
	uint64_t ns = since(o, start_ns);

	while (ns >> o->shift >= STARTS_SLOTS) {
		for (size_t i = 0; i < STARTS_SLOTS / 2; i++)
			o->slots[i] = o->slots[2 * i] + o->slots[2 * i + 1];
		memset(o->slots + STARTS_SLOTS / 2, 0, STARTS_SLOTS / 2 * sizeof(*o->slots));
		o->shift++;
	}
	o->slots[ns >> o->shift]++;
	o->n++;
}

void starts_finish(struct starts *o)
{
	uint32_t before = 0, here;

	for (size_t i = 0; i < STARTS_SLOTS; i++) {
		here = o->slots[i];
		o->slots[i] = before;
		before += here;
	}
	o->one = o->n ? 1.0 / o->n : 0;
	o->cells = STARTS_CELLS;
	while (o->cells > 1 && o->cells > o->n)
		o->cells /= 2;
}

/* How many begin before slot @i. */
static uint64_t before_slot(const struct starts *o, uint64_t i)
{
	return i < STARTS_SLOTS ? o->slots[i] : o->n;
}

uint64_t starts_rank(const struct starts *o, uint64_t ns)
{
	uint64_t at = since(o, ns), slot = at >> o->shift, here;

	if (slot >= STARTS_SLOTS)
		return o->n;
	here = before_slot(o, slot + 1) - o->slots[slot];
	/* a slot of more than 2^30 ns has less than 2^32 operations: no overflow */
	return o->slots[slot] +
	       (uint64_t)(ldexp((double)(at & ((1ULL << o->shift) - 1)), -(int)o->shift) * here);
}

uint64_t starts_time(const struct starts *o, uint64_t rank)
{
	uint64_t low = 0, high = STARTS_SLOTS, middle, here;

	while (high - low > 1) {
		middle = (low + high) / 2;
		if (before_slot(o, middle) <= rank)
			low = middle;
		else
			high = middle;
	}
	here = before_slot(o, low + 1) - o->slots[low];
	return o->base_ns + (low << o->shift) +
	       (here ? (uint64_t)ldexp((double)(rank - o->slots[low]) / here, o->shift) : 0);
}

/* Rotation. */

struct rotation {
	unsigned int cells;
	double width, n, n_slow; /* operations in a cell, in all */
	double slow_skew;        /* third moments in the cells, over the property's part */
	double complex *roots, *slow, *vary, *work;
};

void rotation_free(struct rotation *r)
{
	if (!r)
		return;
	free(r->roots);
	free(r->slow);
	free(r->vary);
	free(r->work);
	free(r);
}

/* The discrete Fourier transform in place, of a power of 2: Cooley and Tukey (1965). */
static void transform(const struct rotation *r, double complex *x)
{
	unsigned int n = r->cells;
	double complex even, odd;

	for (unsigned int i = 1, j = 0, bit; i < n; i++) {
		for (bit = n / 2; j & bit; bit /= 2)
			j ^= bit;
		j |= bit;
		if (i >= j)
			continue;
		even = x[i];
		x[i] = x[j];
		x[j] = even;
	}
	for (unsigned int half = 1; half < n; half *= 2) {
		for (unsigned int first = 0; first < n; first += 2 * half) {
			for (unsigned int k = 0; k < half; k++) {
				even = x[first + k];
				odd = x[first + k + half] * r->roots[k * (n / 2 / half)];
				x[first + k] = even + odd;
				x[first + k + half] = even - odd;
			}
		}
	}
}

struct rotation *rotation_make(const struct starts *o, const uint32_t *slow)
{
	struct rotation *r = calloc(1, sizeof(*r));
	unsigned int cells = o->cells;

	if (!r)
		return NULL;
	*r = (struct rotation){ .cells = cells, .width = (double)o->n / cells, .n = o->n };
	r->roots = calloc(cells, sizeof(*r->roots));
	r->slow = calloc(cells, sizeof(*r->slow));
	r->vary = calloc(cells, sizeof(*r->vary));
	r->work = calloc(cells, sizeof(*r->work));
	if (!r->roots || !r->slow || !r->vary || !r->work) {
		rotation_free(r);
		return NULL;
	}
	for (unsigned int c = 0; c < cells; c++) {
		double s = fmin(slow[c], r->width), w = r->width;

		r->roots[c] = cexp(-2 * M_PI * I * c / cells);
		r->n_slow += slow[c];
		r->slow[c] = slow[c];
		/* the factor of the slow ones in the variance of a hypergeometric number, and in
		 * its third moment */
		r->vary[c] = w > 1 ? s * (w - s) / (w - 1) : 0;
		r->slow_skew += w > 2 ? s * (w - s) * (w - 2 * s) / ((w - 1) * (w - 2)) : 0;
	}
	transform(r, r->slow);
	transform(r, r->vary);
	return r;
}

/* Fills r->work with all rotations: expected overlaps are real parts, and variances within cells
 * imaginary ones. Returns the mean third moment within cells. */
static double rotate(struct rotation *r, const uint32_t *with)
{
	double complex here, there, share, vary;
	unsigned int n = r->cells, other;
	double p, third = 0;

	for (unsigned int c = 0; c < n; c++) {
		p = fmin(with[c] / r->width, 1);
		r->work[c] = p + I * p * (1 - p);
		third += p * (1 - p) * (1 - 2 * p);
	}
	transform(r, r->work);
	for (unsigned int k = 0; k <= n / 2; k++) {
		other = (n - k) % n;
		here = r->work[k];
		there = r->work[other];
		/* the spectra of both parts; the conjugate of a spectrum runs through time
		 * backwards */
		share = (here + conj(there)) / 2;
		vary = (here - conj(there)) / (2 * I);
		r->work[k] = r->slow[k] * conj(share) + I * (r->vary[k] * conj(vary));
		r->work[other] = conj(r->slow[k]) * share + I * (conj(r->vary[k]) * vary);
	}
	transform(r, r->work);
	for (unsigned int k = 0; k < n; k++)
		r->work[k] /= n;
	return third * r->slow_skew / n;
}

double rotation_above(struct rotation *r, const uint32_t *with, uint64_t together)
{
	double all = 0, mean, variance = 0, third, off, skew, chance, exact;

	for (unsigned int c = 0; c < r->cells; c++)
		all += with[c];
	mean = r->n_slow * all / r->n;
	if (together <= mean)
		return 1;
	third = rotate(r, with);
	for (unsigned int k = 0; k < r->cells; k++) {
		off = creal(r->work[k]) - mean;
		variance += (off * off + cimag(r->work[k])) / r->cells;
		third += (off * off * off + 3 * off * cimag(r->work[k])) / r->cells;
	}
	exact = stats_hypergeometric_above(together, r->n_slow, all, r->n);
	if (variance < 1e-12)
		return 1;
	skew = third / (variance * sqrt(variance));
	skew = skew < SKEW_LEAST ? SKEW_LEAST : skew > SKEW_MOST ? SKEW_MOST : skew;
	chance = stats_pearson_above((together - 0.5 - mean) / sqrt(variance), skew);
	return chance > exact ? chance : exact;
}
