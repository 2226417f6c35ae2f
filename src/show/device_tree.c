// SPDX-License-Identifier: GPL-2.0-only
#include "show/device_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/devices.h"

static struct tree_disk *disk_of(const struct device_tree *t, unsigned int dev)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->disks[i].dev == dev)
			return &t->disks[i];
	return NULL;
}

/* Whether a disk that lies on @dev has rows, but no place yet. */
static bool waits_for_above(const struct device_tree *t, unsigned int dev)
{
	const struct tree_disk *above;
	unsigned int upper;
	size_t at = 0;

	while ((upper = devices_above(t->devices, dev, &at))) {
		above = disk_of(t, upper);
		if (above && !above->placed)
			return true;
	}
	return false;
}

/* Adds the rows of @disk at @n, then those of the disks below. Returns how many there are. */
static size_t disk_place(struct device_tree *t, struct tree_disk *disk, unsigned int depth,
			 const struct rq_row **to, size_t n)
{
	struct tree_disk *below;
	unsigned int lower;
	size_t at = 0;

	disk->placed = true;
	disk->depth = depth;
	for (size_t i = 0; i < t->n_rows; i++)
		if (t->rows[i]->key.dev == disk->dev)
			to[n++] = t->rows[i];
	while (depth < TREE_DEPTH && (lower = devices_below(t->devices, disk->dev, &at))) {
		below = disk_of(t, lower);
		if (below && !below->placed && !waits_for_above(t, lower))
			n = disk_place(t, below, depth + 1, to, n);
	}
	return n;
}

static void disks_find(struct device_tree *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (!disk_of(t, t->rows[i]->key.dev))
			t->disks[t->n++].dev = t->rows[i]->key.dev;
}

int device_tree_order(struct device_tree *t)
{
	const struct rq_row **rows;
	size_t n = 0;

	if (!t->devices || !t->n_rows)
		return 0;
	t->disks = calloc(t->n_rows, sizeof(*t->disks));
	rows = calloc(t->n_rows, sizeof(*rows));
	if (!t->disks || !rows) {
		free(rows);
		return -ENOMEM;
	}
	disks_find(t);
	for (size_t i = 0; i < t->n; i++)
		if (!t->disks[i].placed && !waits_for_above(t, t->disks[i].dev))
			n = disk_place(t, &t->disks[i], 0, rows, n);
	/* only a recording can have them in a circle, or that deep */
	for (size_t i = 0; i < t->n; i++)
		if (!t->disks[i].placed)
			n = disk_place(t, &t->disks[i], TREE_DEPTH, rows, n);
	for (size_t i = 0; i < n; i++)
		t->rows[i] = rows[i];
	free(rows);
	return 0;
}

void device_tree_done(struct device_tree *t)
{
	free(t->disks);
	*t = (struct device_tree){};
}

unsigned int device_tree_depth(const struct device_tree *t, const struct rq_row *r)
{
	const struct tree_disk *disk = disk_of(t, r->key.dev);

	return disk ? disk->depth : 0;
}

/* The sums of the requests below that are of the same operation. */
static struct rq_sums sums_below(const struct device_tree *t, const struct rq_row *r)
{
	struct rq_sums sums = {};
	unsigned int lower;
	size_t at = 0;

	while (t->devices && (lower = devices_below(t->devices, r->key.dev, &at))) {
		for (size_t i = 0; i < t->n_rows; i++) {
			const struct rq_row *b = t->rows[i];

			if (b->key.dev != lower || b->key.op != r->key.op)
				continue;
			sums.count += b->count;
			sums.bytes += b->bytes;
			sums.device_ns += b->tag_ns + b->queue_ns + b->device_ns;
		}
	}
	return sums;
}

bool device_tree_own(const struct device_tree *t, const struct rq_row *r, uint64_t *ret_ns)
{
	struct rq_sums below = sums_below(t, r);
	double ns;

	if (!below.count)
		return false;
	ns = (double)below.device_ns / below.count;
	if (below.bytes < r->bytes)
		ns *= (double)below.bytes / r->bytes;
	ns = (double)r->device_ns / r->count - ns;
	if (ns < 0)
		return false;
	*ret_ns = ns;
	return true;
}
