// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_requests.c - the requests that an operation's thread submitted while the operation ran:
 * their disks, and the number of the first one among all requests of its disk.
 *
 * The numbers are exact or useless, so all requests are in memory, or none if there are too many.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "base/text.h"

enum {
	REQUESTS_MOST = 524288,
	SLOW_LOOKED_AT = 16384, /* numbers of slow ones, for the search */
	SLOW_LEAST = 20,
	MODULUS_MOST = 1024,
	TIMES_LEAST = 4, /* as many slow ones in a class as by chance, at least */
};

#define PART_LEAST 0.3 /* of the slow ones are in the class */

void explain_requests_done(struct own_requests *o)
{
	free(o->list);
	o->list = NULL;
	o->n = 0;
}

static int disk_index(struct own_requests *o, unsigned int dev)
{
	for (unsigned int i = 0; i < o->n_disks; i++)
		if (o->disks[i] == dev)
			return i;
	if (o->n_disks == BESIDE_DISKS)
		return -1;
	o->disks[o->n_disks] = dev;
	return o->n_disks++;
}

int explain_requests_add(struct own_requests *o, const struct stored_request *rq)
{
	struct own_request *list;
	int disk;

	if (o->too_many)
		return 0;
	disk = disk_index(o, rq->dev);
	if (disk < 0 || rq->owner > UINT32_MAX)
		return 0;
	if (o->n == REQUESTS_MOST) {
		explain_requests_done(o);
		o->too_many = true;
		return 0;
	}
	if (!(o->n & (o->n - 1))) {
		list = reallocarray(o->list, o->n ? 2 * o->n : 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		o->list = list;
	}
	o->list[o->n++] =
		(struct own_request){ .q_ns = rq->q_ns, .owner = rq->owner, .disk = disk };
	return 0;
}

static int compare_disks(const void *a, const void *b)
{
	const struct own_request *x = a, *y = b;

	if (x->disk != y->disk)
		return x->disk < y->disk ? -1 : 1;
	return (x->q_ns > y->q_ns) - (x->q_ns < y->q_ns);
}

static int compare_owners(const void *a, const void *b)
{
	const struct own_request *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return (x->q_ns > y->q_ns) - (x->q_ns < y->q_ns);
}

void explain_requests_finish(struct own_requests *o)
{
	if (!o->n)
		return;
	qsort(o->list, o->n, sizeof(*o->list), compare_disks);
	for (size_t i = 0, number = 0; i < o->n; i++, number++) {
		if (i && o->list[i].disk != o->list[i - 1].disk)
			number = 0;
		o->list[i].number = number;
	}
	qsort(o->list, o->n, sizeof(*o->list), compare_owners);
}

struct own_request *explain_requests_of(const struct own_requests *o, const struct scan_item *item,
					uint64_t most_ns, size_t *ret_n)
{
	uint64_t length = item->total_ns < most_ns ? item->total_ns : most_ns,
		 end = item->start_ns + (item->op ? length : 0);
	size_t low = 0, high = o->n, middle, n = 0;

	*ret_n = 0;
	if (!o->n || !item->owner ||
	    (item->op && (!item->op->requests || async_is_request(item->op->kind, item->op->call))))
		return NULL;
	while (low < high) {
		const struct own_request *one = &o->list[middle = (low + high) / 2];

		if (one->owner < item->owner ||
		    (one->owner == item->owner && one->q_ns < item->start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < o->n && o->list[low + n].owner == item->owner &&
	       o->list[low + n].q_ns <= end)
		n++;
	*ret_n = n;
	return n ? &o->list[low] : NULL;
}

/* Every @modulus th request of a disk, the first of them @rest. */
struct sequence {
	unsigned int disk, modulus, rest;
	double gain; /* logarithm of the likelihood */
};

static bool has_sequence(const struct own_request *rq, const struct sequence *q)
{
	return rq->disk == q->disk && rq->number % q->modulus == q->rest;
}

/* The class of numbers that is least probable to hold so many of @numbers by chance. */
static struct sequence sequence_find(const uint32_t *numbers, size_t n, unsigned int disk)
{
	struct sequence best = {};
	unsigned int counts[MODULUS_MOST], most;
	double gain, usual;

	for (unsigned int m = 2; m <= MODULUS_MOST; m++) {
		memset(counts, 0, m * sizeof(*counts));
		for (size_t i = 0; i < n; i++)
			counts[numbers[i] % m]++;
		most = 0;
		for (unsigned int r = 1; r < m; r++)
			most = counts[r] > counts[most] ? r : most;
		usual = (double)n / m;
		if (counts[most] < EXPLAIN_LEAST || counts[most] < PART_LEAST * n ||
		    counts[most] <= TIMES_LEAST * usual)
			continue;
		gain = counts[most] * (log(counts[most] / usual) - 1) + usual;
		if (gain <= best.gain)
			continue;
		best = (struct sequence){ disk, m, most, gain };
	}
	return best;
}

/* Numbers of the first requests of slow ones on @disk: SLOW_LOOKED_AT at most. */
static size_t numbers_list(const struct scan *s, unsigned int disk, uint32_t *ret)
{
	size_t n = 0, step = s->n_list / SLOW_LOOKED_AT + 1;

	for (size_t i = 0; i < s->n_list; i += step) {
		const struct own_request *rq = s->list[i].request;

		if (rq && rq->disk == disk)
			ret[n++] = rq->number;
	}
	return n;
}

/* Counts the operations that have @q, and judges them. */
static int sequence_judge(const struct scan *s, const struct sequence *q,
			  struct explain_finding *ret)
{
	struct counted c = {};
	double part = (double)s->e->n_slow / s->n_list; /* above 1 if the list is a sample */
	unsigned int slow[SCAN_CELLS] = {};

	c.order = calloc(STARTS_CELLS, sizeof(*c.order));
	ret->has = calloc(bits_words(s->n_list) + 1, sizeof(*ret->has));
	if (!c.order || !ret->has) {
		free(c.order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->own.n; i++) {
		const struct own_request *rq = &s->own.list[i];

		if (!rq->is_first || !has_sequence(rq, q))
			continue;
		c.all[explain_scan_cell(s, rq->q_ns)]++;
		c.order[starts_part(starts_place(&s->starts, rq->q_ns), s->starts.cells)]++;
	}
	for (size_t i = 0; i < s->n_list; i++) {
		if (!s->list[i].request || !has_sequence(s->list[i].request, q))
			continue;
		bit_set(ret->has, i);
		slow[explain_scan_cell(s, s->list[i].request->q_ns)]++;
	}
	for (int cell = 0; cell < SCAN_CELLS; cell++) {
		c.slow[cell] = slow[cell] * part;
		c.slow[cell] = c.slow[cell] < c.all[cell] ? c.slow[cell] : c.all[cell];
	}
	ret->attribute = ATTR_SEQUENCE;
	explain_chance_judge(&s->population, &c, ret);
	ret->raw_p *= (double)(MODULUS_MOST - 1) * q->modulus;
	ret->raw_p = ret->raw_p < 1 ? ret->raw_p : 1;
	free(c.order);
	return 0;
}

/* "1st", "2nd", "64th" */
static const char *ordinal_end(unsigned int n)
{
	static const char *const ends[] = { "th", "st", "nd", "rd" };

	return n / 10 % 10 != 1 && n % 10 < 4 ? ends[n % 10] : "th";
}

int explain_requests_sequence(const struct scan *s, struct explain_finding *ret)
{
	uint32_t *numbers = calloc(SLOW_LOOKED_AT + 1, sizeof(*numbers));
	struct sequence best = {}, one;
	char *disk;
	size_t n;

	if (!numbers)
		return -ENOMEM;
	for (unsigned int d = 0; d < s->own.n_disks && s->own.n; d++) {
		n = numbers_list(s, d, numbers);
		if (n < SLOW_LEAST || s->is_cached)
			continue;
		one = sequence_find(numbers, n, d);
		if (one.gain > best.gain)
			best = one;
	}
	free(numbers);
	if (!best.modulus)
		return 0;
	disk = explain_disk_text(s, s->own.disks[best.disk]);
	if (asprintf(&ret->text, "every %u%s request of %s", best.modulus,
		     ordinal_end(best.modulus), disk ? disk : "?") < 0)
		ret->text = NULL;
	free(disk);
	return ret->text && !sequence_judge(s, &best, ret) ? 1 : -ENOMEM;
}
