// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_judge FILE CONDITION CAUSE SEED [TIMES]: what explain says of a recording in which some
 * operations are slower for one known reason, or for none. Prints a line for each finding.
 *
 * CAUSE "rotate" gives each operation the times of another one, some way on in the order of their
 * beginnings, TIMES times by different ways: nothing explains these times, but slow ones come
 * together as they did. A program that runs in a loop has the same property so many operations on:
 * then "rotate-parts" rotates each of 24 parts by a different way. Any other cause makes about a
 * hundredth of the operations slower.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/condition.h"
#include "analyse/explain.h"
#include "analyse/stats.h"
#include "base/reason.h"
#include "capture/recording.h"

enum { ROTATED_PARTS = 24 };

struct one {
	struct stored_op op;
	uint64_t total, directory, first_request, idle_ns, rank;
	uint32_t tid, pid;
	uint64_t strata[ST_N]; /* given instead */
};

struct request {
	uint64_t q_ns, end_ns, owner, number, idle_ns;
	unsigned int dev;
};

struct judged {
	struct one *list;
	struct request *requests;
	size_t n, n_requests, next;
	struct explain_conf conf;
	struct stats_random random;
	uint64_t from_ns, to_ns, chosen;
	unsigned int rest;
};

static double uniform(struct judged *j)
{
	return (stats_random(&j->random) >> 11) * 0x1p-53;
}

static int by_start(const void *a, const void *b)
{
	const struct one *const *x = a, *const *y = b;

	return ((*x)->op.start_ns > (*y)->op.start_ns) - ((*x)->op.start_ns < (*y)->op.start_ns);
}

static int by_disk(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->q_ns > y->q_ns) - (x->q_ns < y->q_ns);
}

static int by_owner(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return (x->q_ns > y->q_ns) - (x->q_ns < y->q_ns);
}

/* Numbers requests by disk, and gives each operation its first one. */
static void requests_join(struct judged *j)
{
	uint64_t end = 0;

	qsort(j->requests, j->n_requests, sizeof(*j->requests), by_disk);
	for (size_t i = 0; i < j->n_requests; i++) {
		struct request *rq = &j->requests[i];

		if (!i || rq->dev != rq[-1].dev)
			end = rq->q_ns;
		rq->number = i && rq->dev == rq[-1].dev ? rq[-1].number + 1 : 0;
		rq->idle_ns = rq->q_ns > end ? rq->q_ns - end : 0;
		end = rq->end_ns > end ? rq->end_ns : end;
	}
	qsort(j->requests, j->n_requests, sizeof(*j->requests), by_owner);
	for (size_t i = 0; i < j->n; i++) {
		struct request key = { .owner = j->list[i].op.owner,
				       .q_ns = j->list[i].op.start_ns };
		size_t low = 0, high = j->n_requests;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (by_owner(&j->requests[middle], &key) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		j->list[i].first_request = UINT64_MAX;
		if (low == j->n_requests || j->requests[low].owner != key.owner ||
		    j->requests[low].q_ns > key.q_ns + j->list[i].total)
			continue;
		j->list[i].first_request = j->requests[low].number;
		j->list[i].idle_ns = j->requests[low].idle_ns;
	}
}

static int load(struct judged *j, FILE *f, const char *name, struct reason *why)
{
	struct recording rec = {};
	struct stored_event ev;
	int got = recording_open(&rec, f, name, why);

	while (!got && recording_next(&rec, &ev, why) > 0) {
		if (ev.kind == CHUNK_REQUESTS) {
			j->requests =
				reallocarray(j->requests, j->n_requests + 1, sizeof(*j->requests));
			j->requests[j->n_requests++] =
				(struct request){ .q_ns = ev.request.q_ns,
						  .end_ns = stored_request_end(&ev.request),
						  .owner = ev.request.owner,
						  .dev = ev.request.dev };
		}
		if (ev.kind != CHUNK_OPS || !(j->conf.kinds >> ev.op.kind & 1))
			continue;
		j->list = reallocarray(j->list, j->n + 1, sizeof(*j->list));
		j->list[j->n] = (struct one){ .op = ev.op, .total = stored_op_total(&ev.op) };
		j->list[j->n].tid = catalog_thread(&rec.catalog, ev.op.owner)->tid;
		j->list[j->n].pid = catalog_thread(&rec.catalog, ev.op.owner)->pid;
		j->n++;
	}
	recording_close(&rec);
	if (!got)
		requests_join(j);
	return got;
}

static void begins(void *arg)
{
	((struct judged *)arg)->next = 0;
}

static bool passes(void *arg, const struct recording *rec, struct stored_event *ev)
{
	struct judged *j = arg;

	(void)rec;
	if (j->next < j->n)
		memcpy(ev->op.strata, j->list[j->next].strata, sizeof(ev->op.strata));
	j->next++;
	return true;
}

/* The operations in the order of their beginnings. */
static struct one **ordered(struct judged *j)
{
	struct one **order = calloc(j->n + 1, sizeof(*order));

	for (size_t i = 0; i < j->n; i++)
		order[i] = &j->list[i];
	qsort(order, j->n, sizeof(*order), by_start);
	for (size_t i = 0; i < j->n; i++)
		order[i]->rank = i;
	j->from_ns = order[0]->op.start_ns;
	j->to_ns = order[j->n - 1]->op.start_ns;
	return order;
}

/* Rotates the times of @n operations, the first at @from in the order. */
static void rotate_part(struct judged *j, struct one **order, size_t from, size_t n)
{
	size_t by = n * (0.1 + 0.8 * uniform(j));

	for (size_t i = 0; i < n; i++)
		memcpy(order[from + i]->strata, order[from + (i + by) % n]->op.strata,
		       sizeof(order[from]->strata));
}

static void rotate(struct judged *j, unsigned int parts)
{
	struct one **order = ordered(j);

	for (unsigned int p = 0; p < parts; p++)
		rotate_part(j, order, j->n * p / parts, j->n * (p + 1) / parts - j->n * p / parts);
	free(order);
}

static uint64_t value_of(const struct judged *j, const char *cause, const struct one *o)
{
	uint64_t length = j->to_ns - j->from_ns + 1, at = o->op.start_ns - j->from_ns;

	if (!strcmp(cause, "file"))
		return o->op.file;
	if (!strcmp(cause, "process"))
		return o->pid;
	if (!strcmp(cause, "thread"))
		return o->tid;
	if (!strcmp(cause, "size"))
		return o->op.len && ~o->op.len ? 64 - __builtin_clzll(o->op.len) : 0;
	if (!strcmp(cause, "call"))
		return o->op.call;
	if (!strcmp(cause, "cache"))
		return o->op.cache;
	if (!strcmp(cause, "offset"))
		return o->op.offset >> 22;
	if (!strcmp(cause, "crossing"))
		return o->op.len <= 1 << 17 &&
		       (o->op.offset & ((1 << 18) - 1)) + o->op.len > 1 << 18;
	if (!strcmp(cause, "sequence"))
		return o->first_request == UINT64_MAX ? 1000 : o->first_request % 64;
	if (!strcmp(cause, "idle"))
		return o->idle_ns > 4000000;
	if (!strcmp(cause, "period"))
		return at * 20 % length < length / 12;
	if (!strcmp(cause, "time"))
		return o->rank * 40 / j->n == 17;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The value that about a twentieth of the operations have; of yes and no: yes. */
static uint64_t value_choose(struct judged *j, const char *cause, double *ret_share)
{
	uint64_t *values = calloc(j->n + 1, sizeof(*values)), best = 1;
	double off, least = INFINITY;
	size_t same;

	for (size_t i = 0; i < j->n; i++)
		values[i] = value_of(j, cause, &j->list[i]);
	qsort(values, j->n, sizeof(*values), by_number);
	*ret_share = 0;
	for (size_t i = 0; i < j->n; i += same) {
		for (same = 1; i + same < j->n && values[i + same] == values[i];)
			same++;
		off = fabs(log((double)same / j->n / 0.05));
		if ((!values[i] && strcmp(cause, "sequence")) || values[i] == 1000 || off >= least)
			continue;
		least = off;
		best = values[i];
		*ret_share = (double)same / j->n;
	}
	free(values);
	return best;
}

static uint64_t total_at(struct judged *j, double part)
{
	uint64_t *totals = calloc(j->n + 1, sizeof(*totals)), t;

	for (size_t i = 0; i < j->n; i++)
		totals[i] = j->list[i].total;
	qsort(totals, j->n, sizeof(*totals), by_number);
	t = totals[(size_t)(part * (j->n - 1))];
	free(totals);
	return t;
}

static int plant(struct judged *j, const char *cause)
{
	struct one **order = ordered(j);
	double more = 3 * total_at(j, 0.99), usual = total_at(j, 0.5), share, factor, chance;
	uint64_t value = value_choose(j, cause, &share);
	bool trend = !strcmp(cause, "step") || !strcmp(cause, "growth");

	free(order);
	if (!trend && (share < 0.002 || share > 0.2))
		return -1;
	chance = 0.012 / share;
	for (size_t i = 0; i < j->n; i++) {
		struct one *o = &j->list[i];
		double at = (double)o->rank / j->n,
		       logs = uniform(j) + uniform(j) + uniform(j) - 1.5;

		memcpy(o->strata, o->op.strata, sizeof(o->strata));
		factor = !strcmp(cause, "step") ? (at > 0.63 ? 3 : 0) : 4 * at;
		if (trend)
			o->strata[ST_DEVICE] += factor * usual * (0.7 + 0.6 * uniform(j));
		else if (value_of(j, cause, o) == value && uniform(j) < chance)
			o->strata[ST_DEVICE] += more * exp(logs);
	}
	return 0;
}

static void tell(const struct explain *e)
{
	for (size_t i = 0; i < e->n_findings; i++)
		printf("%s\t%zu\t%s\t%.3f\t%.3f\t%.2g\t%s\n", i < e->n_chosen ? "chosen" : "same",
		       i + 1, explain_attribute_name(e->findings[i].attribute),
		       (double)e->findings[i].slow / e->n_slow,
		       (double)e->findings[i].others / (e->n - e->n_slow), e->findings[i].p,
		       e->findings[i].text);
	printf("end\t%llu\t%llu\n", (unsigned long long)e->n_slow, (unsigned long long)e->n);
}

int main(int argc, char **argv)
{
	struct judged j = { .random = { argc > 4 ? strtoull(argv[4], NULL, 10) : 1 } };
	struct condition asked;
	struct reason why = {};
	FILE *f = argc > 4 ? fopen(argv[1], "r") : NULL;
	long times = argc > 5 ? atol(argv[5]) : 1;

	if (!f || condition_parse(argv[2], CONDITION_RECORDED, &asked, &why) || !asked.ops) {
		fprintf(stderr, "usage: explain_judge FILE CONDITION CAUSE SEED [TIMES]\n");
		return 2;
	}
	j.conf = (struct explain_conf){ .kinds = asked.ops,
					.percentile = asked.percentile,
					.above_ns = asked.above,
					.passes = passes,
					.begins = begins,
					.arg = &j };
	if (load(&j, f, argv[1], &why) || !j.n)
		return 1;
	for (long i = 0; i < times; i++) {
		struct explain e = {};

		if (!strncmp(argv[3], "rotate", 6))
			rotate(&j, argv[3][6] ? ROTATED_PARTS : 1);
		else if (plant(&j, argv[3]))
			return 3;
		if (explain_read(&e, f, argv[1], &j.conf, &why) < 0)
			return 1;
		tell(&e);
		explain_done(&e);
	}
	return 0;
}
