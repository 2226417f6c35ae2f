// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_incident.c - who made far more requests during an incident than at other times. An
 * incident happened once, so this is a description: no probability belongs to it.
 */
#include <errno.h>
#include <stdio.h>

#include "analyse/explain_scan.h"
#include "base/text.h"

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

/* Times, as groups of slots. */
struct then {
	bool is_in[BESIDE_GROUPS];
	size_t first, length; /* of the longest time */
	size_t all, in;       /* groups */
};

/* Requests from a group on. */
static uint64_t sum_of(const uint32_t *begun, size_t from, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = from; i < from + n; i++)
		sum += begun[i];
	return sum;
}

static uint64_t sum_then(const uint32_t *begun, const struct then *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->all; i++)
		sum += t->is_in[i] ? begun[i] : 0;
	return sum;
}

/* Whether at most PART_OTHERS of the other times as long as the longest have as many requests. */
static bool is_rare(const uint32_t *begun, const struct then *t)
{
	uint64_t most = sum_of(begun, t->first, t->length), sum = sum_of(begun, 0, t->length);
	size_t times = 0, as_many = 0, in = 0;

	for (size_t i = 0; i < t->length; i++)
		in += t->is_in[i];
	for (size_t i = 0; i + t->length <= t->all; i++) {
		times += !in;
		as_many += !in && sum >= most;
		if (i + t->length == t->all)
			break;
		sum = sum + begun[i + t->length] - begun[i];
		in = in + t->is_in[i + t->length] - t->is_in[i];
	}
	return as_many <= PART_OTHERS * times;
}

/* Sets @ret if activity @a was different then, when the disks had @of_disks requests. */
static bool was_different(const struct scan *s, unsigned int a, const struct then *t,
			  uint64_t of_disks, struct explain_then *ret)
{
	const uint32_t *begun = s->beside.begun[a];
	uint64_t n = sum_then(begun, t), all = sum_of(begun, 0, t->all);
	double usual = all - n, others = t->all - t->in;

	*ret = (struct explain_then){ .requests = n, .all = all };
	if (n < REQUESTS_LEAST || n < PART_THEN * all || n < PART_OF_DISK * of_disks)
		return false;
	if (others > 0 && (double)n / t->in < TIMES_LEAST * usual / others)
		return false;
	return is_rare(begun, t);
}

/* When the first request of activity @a in the longest time came: the beginning of its group, or
 * NO_VALUE if none came. */
static uint64_t first_of(const struct beside *b, unsigned int a, const struct then *t)
{
	for (size_t i = t->first; i < t->first + t->length; i++)
		if (b->begun[a][i])
			return b->base_ns + ((uint64_t)i << BESIDE_GROUP_SHIFT << b->shift);
	return NO_VALUE;
}

/* A time begins somewhat earlier than the slow ones. Returns when the longest one begins. */
static uint64_t then_set(const struct beside *b, const struct time_span *spans, size_t n,
			 struct then *ret)
{
	uint64_t pad, begins = 0;
	size_t from, to;

	ret->all = (b->used >> BESIDE_GROUP_SHIFT) + 1;
	for (size_t i = 0; i < n; i++) {
		pad = (spans[i].to_ns - spans[i].from_ns) / 10;
		pad = (pad < PAD_MOST ? pad : PAD_MOST) + PAD_LEAST;
		from = explain_beside_group(b, spans[i].from_ns > pad ? spans[i].from_ns - pad : 0);
		to = explain_beside_group(b, spans[i].to_ns) + 1;
		ret->all = ret->all > to ? ret->all : to;
		for (size_t k = from; k < to; k++)
			ret->is_in[k] = true;
		if (to - from <= ret->length)
			continue;
		ret->first = from;
		ret->length = to - from;
		begins = spans[i].from_ns;
	}
	for (size_t k = 0; k < ret->all; k++)
		ret->in += ret->is_in[k];
	return begins;
}

/* Whether @a may be told: of processes only those with the name of most operations, since of these
 * the name tells nothing. A process that made most of the operations does not explain them. */
static bool may_be_told(const struct scan *s, unsigned int a)
{
	const struct activity *of = &s->beside.list[a];
	bool sibling = explain_activity_is_sibling(s, of);

	if (of->kind == ACTIVITY_PROCESS)
		return sibling && !explain_process_is_usual(s, of->pid);
	return !sibling;
}

int explain_incidents_tell(const struct scan *s, const struct time_span *spans, size_t n)
{
	const struct beside *b = &s->beside;
	uint64_t of_disks = 0, begins, first_ns;
	struct explain_then then;
	struct then t = {};

	begins = then_set(b, spans, n, &t);
	for (unsigned int a = 0; a < b->n; a++)
		if (s->hindering >> a & 1 && b->list[a].kind != ACTIVITY_PROCESS)
			of_disks += sum_then(b->begun[a], &t);
	for (unsigned int a = 0; a < b->n && s->e->n_then < EXPLAIN_THEN; a++) {
		if (!(s->hindering >> a & 1) || !may_be_told(s, a) ||
		    !was_different(s, a, &t, of_disks, &then))
			continue;
		first_ns = first_of(b, a, &t);
		then.before_ns = first_ns < begins ? begins - first_ns : 0;
		then.text = explain_activity_text(s, &b->list[a]);
		if (!then.text)
			return -ENOMEM;
		s->e->then[s->e->n_then++] = then;
	}
	return 0;
}

int explain_incident_set(const struct scan *s, uint64_t from_ns, uint64_t to_ns,
			 struct explain_finding *ret)
{
	const struct time_span span = { from_ns, to_ns };
	uint64_t before = s->base_ns - s->conf->from_ns;

	ret->is_incident = true;
	if (asprintf(&ret->text, "in one incident, %s to %s after the beginning",
		     text_ns(from_ns - before).s, text_ns(to_ns - before).s) < 0) {
		ret->text = NULL;
		return -ENOMEM;
	}
	return explain_incidents_tell(s, &span, 1);
}
