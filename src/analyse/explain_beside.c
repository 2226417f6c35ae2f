// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_beside.c - the submitters of other requests in flight during an operation, and the number
 * of requests in flight on each disk.
 *
 * Records come in no order, so time is cut into slots. An operation is looked up at its beginning:
 * a window as long as the operation would meet more others if the operation is slower.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"

int explain_beside_init(struct beside *b, uint64_t base_ns)
{
	*b = (struct beside){ .base_ns = base_ns, .shift = 10 };
	b->slots = calloc(BESIDE_SLOTS, sizeof(*b->slots));
	return b->slots ? 0 : -ENOMEM;
}

void explain_beside_done(struct beside *b)
{
	free(b->slots);
	for (unsigned int i = 0; i < b->n_disks; i++)
		free(b->disks[i].depth);
}

/* A change within the new slot counts from the next one on: its request
 * is not in flight when the slot begins. */
static void depths_halve(int32_t *depth)
{
	for (size_t i = 1; i < BESIDE_SLOTS / 2; i++)
		depth[i] = depth[2 * i - 1] + depth[2 * i];
	depth[BESIDE_SLOTS / 2] = depth[BESIDE_SLOTS - 1];
	memset(depth + BESIDE_SLOTS / 2 + 1, 0, (BESIDE_SLOTS / 2 - 1) * sizeof(*depth));
}

/* Makes slots twice as long. */
static void slots_halve(struct beside *b)
{
	for (size_t i = 0; i < BESIDE_SLOTS / 2; i++)
		b->slots[i] = b->slots[2 * i] | b->slots[2 * i + 1];
	memset(b->slots + BESIDE_SLOTS / 2, 0, BESIDE_SLOTS / 2 * sizeof(*b->slots));
	for (unsigned int d = 0; d < b->n_disks; d++)
		depths_halve(b->disks[d].depth);
	b->used = (b->used + 1) / 2;
	b->shift++;
}

static uint64_t slot_of(const struct beside *b, uint64_t ns)
{
	return ns > b->base_ns ? (ns - b->base_ns) >> b->shift : 0;
}

static bool begins_with(const struct catalog_thread *t, const char *text)
{
	return !strncmp(t->comm, text, strlen(text));
}

static enum activity_kind kind_of(const struct catalog_thread *t, const struct stored_request *rq)
{
	if (rq->op == RQ_FLUSH)
		return ACTIVITY_FLUSH;
	if (rq->op == RQ_DISCARD || rq->op == RQ_SECURE_ERASE)
		return ACTIVITY_DISCARD;
	if (rq->op != RQ_READ && rq->op != RQ_WRITE)
		return ACTIVITY_OTHER;
	if (begins_with(t, "jbd2/") || begins_with(t, "xfsaild/") || begins_with(t, "xfs-") ||
	    begins_with(t, "btrfs-transac") || begins_with(t, "f2fs_ckpt"))
		return ACTIVITY_JOURNAL;
	if (begins_with(t, "kworker/") && rq->op == RQ_WRITE)
		return ACTIVITY_WRITEBACK;
	return ACTIVITY_NAMED;
}

/* The place of @a in the list, or BESIDE_MAX if there is none. */
static unsigned int activity_find(struct beside *b, const struct activity *a)
{
	unsigned int processes = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		const struct activity *have = &b->list[i];

		if (have->kind == a->kind && have->dev == a->dev && have->pid == a->pid &&
		    (a->kind == ACTIVITY_PROCESS || !memcmp(have->comm, a->comm, COMM_LEN)))
			return i;
		processes += have->kind == ACTIVITY_PROCESS;
	}
	if (b->n == BESIDE_MAX || (a->kind == ACTIVITY_PROCESS && processes == BESIDE_PROCESSES))
		return BESIDE_MAX;
	b->list[b->n] = *a;
	return b->n++;
}

/* The activities of a request: a set of 1 << activity. */
static uint64_t activities_of(struct beside *b, const struct recording *rec,
			      const struct stored_request *rq)
{
	const struct catalog_thread *t = catalog_thread(&rec->catalog, rq->owner);
	struct activity a = { .kind = kind_of(t, rq), .dev = rq->dev };
	unsigned int place, process = BESIDE_MAX;

	if (a.kind == ACTIVITY_NAMED && !t->pid)
		return 0; /* nobody is known */
	if (a.kind <= ACTIVITY_JOURNAL)
		memcpy(a.comm, t->comm, COMM_LEN);
	place = activity_find(b, &a);
	b->left_out += place == BESIDE_MAX;
	if (a.kind == ACTIVITY_NAMED) {
		a.kind = ACTIVITY_PROCESS;
		a.pid = t->pid;
		process = activity_find(b, &a);
	}
	return (place < BESIDE_MAX ? 1ULL << place : 0) |
	       (process < BESIDE_MAX ? 1ULL << process : 0);
}

/* The disk @dev; a new one if there is room. Returns NULL if there is none, or with @ret_err out of
 * memory. */
static struct beside_disk *disk_find(struct beside *b, unsigned int dev, int *ret_err)
{
	struct beside_disk *d;

	for (unsigned int i = 0; i < b->n_disks; i++)
		if (b->disks[i].dev == dev)
			return &b->disks[i];
	if (b->n_disks == BESIDE_DISKS)
		return NULL;
	d = &b->disks[b->n_disks];
	*d = (struct beside_disk){ dev, calloc(BESIDE_SLOTS, sizeof(*d->depth)) };
	if (!d->depth) {
		*ret_err = -ENOMEM;
		return NULL;
	}
	b->n_disks++;
	return d;
}

int explain_beside_add(struct beside *b, const struct recording *rec,
		       const struct stored_request *rq)
{
	uint64_t end_ns = stored_request_end(rq), first, last;
	uint64_t activities = activities_of(b, rec, rq);
	struct beside_disk *disk;
	int err = 0;

	if (end_ns < rq->q_ns || end_ns < b->base_ns)
		return 0;
	while (slot_of(b, end_ns) >= BESIDE_SLOTS - 1)
		slots_halve(b);
	first = slot_of(b, rq->q_ns);
	last = slot_of(b, end_ns);
	if (last >= b->used)
		b->used = last + 1;
	for (uint64_t i = first; i <= last; i++)
		b->slots[i] |= activities;
	disk = disk_find(b, rq->dev, &err);
	if (disk && last > first) { /* it is in flight when these slots begin */
		disk->depth[first + 1]++;
		disk->depth[last + 1]--;
	}
	return err;
}

void explain_beside_finish(struct beside *b, uint64_t window_ns)
{
	uint64_t far = window_ns >> b->shift, next[BESIDE_MAX], now;

	for (unsigned int a = 0; a < BESIDE_MAX; a++)
		next[a] = UINT64_MAX;
	for (size_t i = b->used; i--;) {
		now = b->slots[i];
		for (unsigned int a = 0; a < b->n; a++) {
			if (now >> a & 1)
				next[a] = i;
			else if (next[a] != UINT64_MAX && next[a] - i <= far)
				b->slots[i] |= 1ULL << a;
		}
	}
	for (unsigned int d = 0; d < b->n_disks; d++)
		for (size_t i = 1; i <= b->used; i++)
			b->disks[d].depth[i] += b->disks[d].depth[i - 1];
}

uint64_t explain_beside_at(const struct beside *b, uint64_t ns, const struct catalog_thread *t)
{
	uint64_t slot = slot_of(b, ns), set = slot < b->used ? b->slots[slot] : 0;

	for (uint64_t left = set; left; left &= left - 1) {
		unsigned int i = __builtin_ctzll(left);
		const struct activity *a = &b->list[i];

		if (a->kind == ACTIVITY_PROCESS
			    ? a->pid == t->pid
			    : a->kind == ACTIVITY_NAMED && !memcmp(a->comm, t->comm, COMM_LEN))
			set &= ~(1ULL << i);
	}
	return set;
}

uint64_t explain_beside_depth(const struct beside *b, unsigned int dev, uint64_t ns)
{
	uint64_t slot = slot_of(b, ns);

	for (unsigned int i = 0; i < b->n_disks; i++)
		if (b->disks[i].dev == dev && dev)
			return slot < BESIDE_SLOTS && b->disks[i].depth[slot] > 0
				       ? b->disks[i].depth[slot]
				       : 0;
	return NO_VALUE;
}
