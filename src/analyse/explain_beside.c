// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_beside.c - the submitters of other requests in flight during an operation, and the number
 * of requests in flight on each disk.
 *
 * Records come in no order, so time is cut into slots. An operation is looked up at its beginning:
 * a window as long as the operation would meet more others if the operation is slower.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "host/devices.h"

enum {
	TABLE = 4 * BESIDE_WEIGHED,
	DISKS_BELOW = 64, /* looked at, of one disk */
};

int explain_beside_init(struct beside *b, uint64_t base_ns)
{
	*b = (struct beside){ .base_ns = base_ns, .shift = 10 };
	b->slots = calloc(BESIDE_SLOTS, sizeof(*b->slots));
	b->weights = calloc(BESIDE_WEIGHED, sizeof(*b->weights));
	b->table = calloc(TABLE, sizeof(*b->table));
	b->begun = calloc(BESIDE_MAX, sizeof(*b->begun));
	b->flight = calloc(BESIDE_MAX, sizeof(*b->flight));
	return b->slots && b->weights && b->table && b->begun && b->flight ? 0 : -ENOMEM;
}

void explain_beside_done(struct beside *b)
{
	free(b->slots);
	free(b->weights);
	free(b->begun);
	free(b->flight);
	free(b->table);
	for (unsigned int i = 0; i < b->n_disks; i++) {
		free(b->disks[i].depth);
		free(b->disks[i].busy);
	}
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

/* The bits of two slots become one. */
static void bits_halve(uint64_t *bits)
{
	for (size_t i = 0; i < BESIDE_SLOTS / 2; i++) {
		bool any = bit_is_set(bits, 2 * i) || bit_is_set(bits, 2 * i + 1);

		bits[i / 64] = (bits[i / 64] & ~(1ULL << i % 64)) | (uint64_t)any << i % 64;
	}
	memset(bits + BESIDE_SLOTS / 128, 0, BESIDE_SLOTS / 128 * sizeof(*bits));
}

/* Makes slots twice as long. */
static void slots_halve(struct beside *b)
{
	for (size_t i = 0; i < BESIDE_SLOTS / 2; i++)
		b->slots[i] = b->slots[2 * i] | b->slots[2 * i + 1];
	memset(b->slots + BESIDE_SLOTS / 2, 0, BESIDE_SLOTS / 2 * sizeof(*b->slots));
	for (unsigned int d = 0; d < b->n_disks; d++) {
		depths_halve(b->disks[d].depth);
		bits_halve(b->disks[d].busy);
	}
	for (unsigned int a = 0; a < b->n; a++) {
		uint32_t *begun = b->begun[a];
		float *flight = b->flight[a];

		for (size_t i = 0; i < BESIDE_GROUPS / 2; i++) {
			begun[i] = begun[2 * i] + begun[2 * i + 1];
			flight[i] = (flight[2 * i] + flight[2 * i + 1]) / 2;
		}
		memset(begun + BESIDE_GROUPS / 2, 0, BESIDE_GROUPS / 2 * sizeof(*begun));
		memset(flight + BESIDE_GROUPS / 2, 0, BESIDE_GROUPS / 2 * sizeof(*flight));
	}
	b->used = (b->used + 1) / 2;
	b->shift++;
}

static uint64_t slot_of(const struct beside *b, uint64_t ns)
{
	return ns > b->base_ns ? (ns - b->base_ns) >> b->shift : 0;
}

size_t explain_beside_group(const struct beside *b, uint64_t ns)
{
	uint64_t slot = slot_of(b, ns);

	return (slot < BESIDE_SLOTS ? slot : BESIDE_SLOTS - 1) >> BESIDE_GROUP_SHIFT;
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

static bool activity_is(const struct activity *a, const struct activity *b)
{
	return a->kind == b->kind && a->dev == b->dev && a->pid == b->pid &&
	       (a->kind == ACTIVITY_PROCESS || !memcmp(a->comm, b->comm, COMM_LEN));
}

/* The place of @a in the list, or BESIDE_MAX if there is none. */
static unsigned int activity_find(struct beside *b, const struct activity *a)
{
	unsigned int processes = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		if (activity_is(&b->list[i], a))
			return i;
		processes += b->list[i].kind == ACTIVITY_PROCESS;
	}
	if (b->is_chosen || b->n == BESIDE_MAX ||
	    (a->kind == ACTIVITY_PROCESS && processes == BESIDE_PROCESSES))
		return BESIDE_MAX;
	b->list[b->n] = *a;
	return b->n++;
}

/* The place of @a in the table, or a free one. FNV-1a, of G. Fowler, L. C. Noll and K.-P. Vo. */
static uint16_t *weight_place(const struct beside *b, const struct activity *a)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ a->kind ^ (uint64_t)a->dev << 8;
	uint16_t *place;

	hash = (hash ^ (uint64_t)a->pid << 32) * 0x100000001b3ULL;
	for (int i = 0; i < COMM_LEN && a->kind != ACTIVITY_PROCESS; i++)
		hash = (hash ^ (unsigned char)a->comm[i]) * 0x100000001b3ULL;
	for (hash ^= hash >> 32;; hash++) {
		place = &b->table[hash % TABLE];
		if (!*place || activity_is(&b->weights[*place - 1].activity, a))
			return place;
	}
}

static int compare_weights(const void *a, const void *b)
{
	const struct beside_weight *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* The lighter half makes room for new activities. */
static void weights_halve(struct beside *b)
{
	qsort(b->weights, b->n_weights, sizeof(*b->weights), compare_weights);
	memset(b->table, 0, TABLE * sizeof(*b->table));
	b->n_weights /= 2;
	for (unsigned int i = 0; i < b->n_weights; i++)
		*weight_place(b, &b->weights[i].activity) = i + 1;
}

static void weight_add(struct beside *b, const struct activity *a, uint64_t ns)
{
	uint16_t *place = weight_place(b, a);

	if (!*place && b->n_weights == BESIDE_WEIGHED) {
		weights_halve(b);
		place = weight_place(b, a);
	}
	if (!*place) {
		b->weights[b->n_weights++] = (struct beside_weight){ .activity = *a };
		*place = b->n_weights;
	}
	b->weights[*place - 1].ns += ns;
}

/* The activities of a request, in flight for @ns: a set of 1 << activity. */
static uint64_t activities_of(struct beside *b, const struct recording *rec,
			      const struct stored_request *rq, uint64_t ns)
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
	if (!b->is_chosen)
		weight_add(b, &a, ns);
	if (a.kind == ACTIVITY_NAMED) {
		a.kind = ACTIVITY_PROCESS;
		a.pid = t->pid;
		process = activity_find(b, &a);
		if (!b->is_chosen)
			weight_add(b, &a, ns);
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
	*d = (struct beside_disk){ dev, calloc(BESIDE_SLOTS, sizeof(*d->depth)),
				   calloc(bits_words(BESIDE_SLOTS), sizeof(*d->busy)) };
	if (!d->depth || !d->busy) {
		free(d->depth);
		free(d->busy);
		*ret_err = -ENOMEM;
		return NULL;
	}
	b->n_disks++;
	return d;
}

/* Adds a request of activity @a to the groups of slots in which it is in flight. */
static void flight_add(struct beside *b, unsigned int a, uint64_t from_ns, uint64_t to_ns)
{
	unsigned int shift = b->shift + BESIDE_GROUP_SHIFT;
	uint64_t from = from_ns > b->base_ns ? from_ns - b->base_ns : 0, to = to_ns - b->base_ns,
		 end;

	for (; from < to; from = end) {
		end = ((from >> shift) + 1) << shift;
		end = end < to ? end : to;
		/* in slots, so that these stay numbers of slots when slots become longer */
		b->flight[a][from >> shift] += ldexp((double)(end - from), -(int)b->shift);
	}
}

int explain_beside_add(struct beside *b, const struct recording *rec,
		       const struct stored_request *rq)
{
	uint64_t end_ns = stored_request_end(rq), first, last;
	struct beside_disk *disk;
	uint64_t activities;
	int err = 0;

	if (end_ns < rq->q_ns || end_ns < b->base_ns)
		return 0;
	activities = activities_of(b, rec, rq, end_ns - rq->q_ns);
	while (slot_of(b, end_ns) >= BESIDE_SLOTS - 1)
		slots_halve(b);
	first = slot_of(b, rq->q_ns);
	last = slot_of(b, end_ns);
	if (last >= b->used)
		b->used = last + 1;
	for (uint64_t i = first; i <= last; i++)
		b->slots[i] |= activities;
	for (uint64_t left = activities; left; left &= left - 1) {
		b->begun[__builtin_ctzll(left)][first >> BESIDE_GROUP_SHIFT]++;
		flight_add(b, __builtin_ctzll(left), rq->q_ns, end_ns);
	}
	if (b->is_chosen)
		return 0;
	disk = disk_find(b, rq->dev, &err);
	for (uint64_t i = first; disk && i <= last; i++)
		bit_set(disk->busy, i);
	if (disk && last > first) { /* it is in flight when these slots begin */
		disk->depth[first + 1]++;
		disk->depth[last + 1]--;
	}
	return err;
}

bool explain_beside_choose(struct beside *b)
{
	struct activity list[BESIDE_MAX];
	unsigned int n = 0, processes = 0;

	b->is_chosen = true;
	if (b->n_weights <= b->n)
		return false;
	qsort(b->weights, b->n_weights, sizeof(*b->weights), compare_weights);
	for (unsigned int i = 0; i < b->n_weights && n < BESIDE_MAX; i++) {
		const struct activity *a = &b->weights[i].activity;

		if (a->kind == ACTIVITY_PROCESS && processes++ >= BESIDE_PROCESSES)
			continue;
		list[n++] = *a;
	}
	memcpy(b->list, list, n * sizeof(*list));
	b->n = n;
	memset(b->slots, 0, BESIDE_SLOTS * sizeof(*b->slots));
	memset(b->begun, 0, BESIDE_MAX * sizeof(*b->begun));
	memset(b->flight, 0, BESIDE_MAX * sizeof(*b->flight));
	b->left_out = 0;
	return true;
}

/* Adds @dev and the disks below to @list, each once. Returns how many there are. */
static unsigned int below_add(const struct devices *d, unsigned int dev, unsigned int *list,
			      unsigned int n)
{
	unsigned int lower;
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		if (list[i] == dev)
			return n;
	if (n == DISKS_BELOW)
		return n;
	list[n++] = dev;
	while ((lower = devices_below(d, dev, &at)))
		n = below_add(d, lower, list, n);
	return n;
}

uint64_t explain_beside_below(const struct beside *b, const struct devices *d, unsigned int dev)
{
	unsigned int list[DISKS_BELOW], n = below_add(d, dev, list, 0);
	uint64_t set = 0;

	for (unsigned int a = 0; a < b->n; a++)
		for (unsigned int i = 0; i < n; i++)
			set |= (uint64_t)(b->list[a].dev == list[i]) << a;
	return set;
}

/* Notes in slots without requests how many such slots have passed since the last request. */
static void idle_set(const struct beside *b, struct beside_disk *disk)
{
	bool was_busy = false;
	int32_t idle = 0;

	for (size_t i = 0; i <= b->used && i < BESIDE_SLOTS; i++) {
		if (disk->depth[i] <= 0)
			disk->depth[i] = -idle;
		was_busy = was_busy || bit_is_set(disk->busy, i);
		idle = bit_is_set(disk->busy, i) || !was_busy ? 0 : idle + 1;
	}
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
	for (unsigned int d = 0; d < b->n_disks; d++) {
		for (size_t i = 1; i <= b->used; i++)
			b->disks[d].depth[i] += b->disks[d].depth[i - 1];
		idle_set(b, &b->disks[d]);
	}
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

uint64_t explain_beside_idle(const struct beside *b, unsigned int dev, uint64_t ns)
{
	uint64_t slot = slot_of(b, ns);
	int32_t depth;

	for (unsigned int i = 0; i < b->n_disks; i++) {
		if (b->disks[i].dev != dev || !dev)
			continue;
		depth = slot < BESIDE_SLOTS ? b->disks[i].depth[slot] : 0;
		return depth < 0 ? (uint64_t)-depth << b->shift : 0;
	}
	return NO_VALUE;
}

void explain_episodes_find(const struct beside *b, uint64_t set, uint64_t gap, struct episodes *ret)
{
	uint64_t idle = gap + 1;

	ret->n = 0;
	for (size_t i = 0; i < b->used; i++) {
		if (!(b->slots[i] & set)) {
			idle++;
			continue;
		}
		if (idle > gap) {
			if (ret->n == EPISODES_MOST) {
				ret->n = 0;
				return;
			}
			ret->of[ret->n++].from = i;
		}
		ret->of[ret->n - 1].to = i + 1;
		idle = 0;
	}
}
