// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_incident.c - who made far more requests during an incident than at other times. An
 * incident happened once, so this is a description: no probability belongs to it.
 */
#include <errno.h>

#include "analyse/explain_scan.h"

#define MS 1000000

enum {
	REQUESTS_LEAST = 3,
	TIMES_LEAST = 3, /* as many requests in a time as usual */
	PAD_MOST = 200 * MS,
	PAD_LEAST = 30 * MS,
};

#define PART_THEN    0.5  /* of the requests of an activity are in the incident */
#define PART_OF_DISK 0.3  /* of the requests in the incident belong to the activity */
#define PART_OTHERS  0.05 /* of other times as long have as many requests, at most */

/* Groups of slots from @from to @to, the first behind. */
struct groups {
	size_t from, to, all;
};

static size_t group_of(const struct beside *b, uint64_t ns)
{
	uint64_t slot = ns > b->base_ns ? (ns - b->base_ns) >> b->shift : 0;

	return (slot < BESIDE_SLOTS ? slot : BESIDE_SLOTS - 1) >> BESIDE_GROUP_SHIFT;
}

static uint64_t sum_of(const uint32_t *begun, size_t from, size_t to)
{
	uint64_t sum = 0;

	for (size_t i = from; i < to; i++)
		sum += begun[i];
	return sum;
}

/* Whether at most PART_OTHERS of the other times as long as @g have @n requests. */
static bool is_rare(const uint32_t *begun, const struct groups *g, uint64_t n)
{
	size_t length = g->to - g->from, times = 0, as_many = 0;
	uint64_t sum = sum_of(begun, 0, length);

	for (size_t i = 0; i + length <= g->all; i++) {
		if (i + length <= g->from || i >= g->to) {
			times++;
			as_many += sum >= n;
		}
		if (i + length < g->all)
			sum = sum + begun[i + length] - begun[i];
	}
	return as_many <= PART_OTHERS * times;
}

/* Sets @ret if activity @a was different in @g, where the disks had @of_disks requests. */
static bool was_different(const struct scan *s, unsigned int a, const struct groups *g,
			  uint64_t of_disks, struct explain_then *ret)
{
	const uint32_t *begun = s->beside.begun[a];
	uint64_t n = sum_of(begun, g->from, g->to), all = sum_of(begun, 0, g->all);
	double length = g->to - g->from, usual = all - n;

	*ret = (struct explain_then){ .requests = n, .all = all };
	if (n < REQUESTS_LEAST || n < PART_THEN * all || n < PART_OF_DISK * of_disks)
		return false;
	if (g->all > length && n / length < TIMES_LEAST * usual / (g->all - length))
		return false;
	return is_rare(begun, g, n);
}

/* When the first request of activity @a in @g came: the beginning of its group. */
static uint64_t first_of(const struct beside *b, unsigned int a, const struct groups *g)
{
	size_t first = g->from;

	while (!b->begun[a][first])
		first++;
	return b->base_ns + ((uint64_t)first << BESIDE_GROUP_SHIFT << b->shift);
}

int explain_incident_tell(const struct scan *s, uint64_t from_ns, uint64_t to_ns)
{
	const struct beside *b = &s->beside;
	uint64_t pad = (to_ns - from_ns) / 10, of_disks = 0, first_ns;
	struct explain_then then;
	struct groups g;

	pad = (pad < PAD_MOST ? pad : PAD_MOST) + PAD_LEAST;
	g.from = group_of(b, from_ns > pad ? from_ns - pad : 0);
	g.to = group_of(b, to_ns) + 1;
	g.all = (b->used >> BESIDE_GROUP_SHIFT) + 1;
	g.all = g.all > g.to ? g.all : g.to;
	for (unsigned int a = 0; a < b->n; a++)
		if (s->hindering >> a & 1 && b->list[a].kind != ACTIVITY_PROCESS)
			of_disks += sum_of(b->begun[a], g.from, g.to);
	for (unsigned int a = 0; a < b->n && s->e->n_then < EXPLAIN_THEN; a++) {
		if (!(s->hindering >> a & 1) || b->list[a].kind == ACTIVITY_PROCESS ||
		    explain_activity_is_sibling(s, &b->list[a]) ||
		    !was_different(s, a, &g, of_disks, &then))
			continue;
		first_ns = first_of(b, a, &g);
		then.before_ns = first_ns < from_ns ? from_ns - first_ns : 0;
		then.text = explain_activity_text(s, &b->list[a]);
		if (!then.text)
			return -ENOMEM;
		s->e->then[s->e->n_then++] = then;
	}
	return 0;
}
