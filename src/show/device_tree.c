// SPDX-License-Identifier: GPL-2.0-only
#include "show/device_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "host/devices.h"

static struct tree_disk *disk_of(const struct device_tree *t, unsigned int dev)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->disks[i].dev == dev)
			return &t->disks[i];
	return NULL;
}

/* Whether a disk above @dev has rows, but no place yet. */
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

/* Adds the rows of @disk at @n, then rows of disks below. Returns the new number of rows. */
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
	/* only a recording can have disks in a circle, or more levels */
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

unsigned int device_tree_above_text(const struct device_tree *t, const struct tree_disk *disk,
				    char *ret_text, size_t cap)
{
	char name[DEVICE_NAME], safe[TEXT_SAFE_CAP(DEVICE_NAME)];
	unsigned int upper, n = 0;
	size_t at = 0, len = 0;

	ret_text[0] = '\0';
	while ((upper = devices_above(t->devices, disk->dev, &at))) {
		if (!disk_of(t, upper))
			continue;
		devices_label(t->devices, upper, name);
		text_safe_n(safe, sizeof(safe), name, strlen(name));
		if (len < cap)
			len += snprintf(ret_text + len, cap - len, "%s%s", n ? " and " : "", safe);
		n++;
	}
	return n;
}

static bool has_rows(const struct device_tree *t, unsigned int dev)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (t->rows[i]->key.dev == dev)
			return true;
	return false;
}

/* Writes the disks below @dev if none of them has rows. Returns the length. */
static size_t below_text(const struct device_tree *t, unsigned int dev, char *text, size_t cap)
{
	char name[DEVICE_NAME], safe[TEXT_SAFE_CAP(DEVICE_NAME)];
	unsigned int lower;
	size_t at = 0, len = 0;

	while ((lower = devices_below(t->devices, dev, &at)) && len < cap) {
		if (has_rows(t, lower))
			return 0;
		devices_label(t->devices, lower, name);
		text_safe_n(safe, sizeof(safe), name, strlen(name));
		len += snprintf(text + len, cap - len, "%s%s", len ? " and " : "", safe);
	}
	return len;
}

bool device_tree_without_rows_text(const struct device_tree *t, char *ret_text, size_t cap)
{
	char name[DEVICE_NAME], safe[TEXT_SAFE_CAP(DEVICE_NAME)], below[512];
	size_t len = 0;

	for (size_t i = 0; t->devices && i < t->n_rows && len < cap; i++) {
		unsigned int dev = t->rows[i]->key.dev;
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = t->rows[k]->key.dev == dev;
		if (again || !below_text(t, dev, below, sizeof(below)))
			continue;
		devices_label(t->devices, dev, name);
		text_safe_n(safe, sizeof(safe), name, strlen(name));
		len += snprintf(ret_text + len, cap - len, "%s%s, below %s", len ? "; " : "", below,
				safe);
	}
	return len;
}

/* Sums of the requests of the disks below with the same operation as @r. */
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

enum { LEVEL_DISKS = 64 }; /* further disks of a level are left out */

struct level {
	unsigned int disks[LEVEL_DISKS];
	size_t n;
	unsigned int depth;
};

static void level_add(struct level *level, unsigned int disk)
{
	for (size_t i = 0; i < level->n; i++)
		if (level->disks[i] == disk)
			return;
	if (level->n < LEVEL_DISKS)
		level->disks[level->n++] = disk;
}

/* The disk of @dev as a level, or the disks of the btrfs volume @dev; empty if not known. */
static struct level level_first(const struct devices *d, unsigned int dev)
{
	unsigned int volume[LEVEL_DISKS];
	struct level level = {};
	size_t n;

	if (d && devices_find(d, dev)) {
		level_add(&level, devices_disk(d, dev));
		return level;
	}
	n = d ? devices_mounted(d, dev, volume, LEVEL_DISKS) : 0;
	for (size_t i = 0; i < n; i++)
		level_add(&level, devices_disk(d, volume[i]));
	return level;
}

/* The disks directly below @level; empty beyond TREE_DEPTH (only a recording gets there). */
static struct level level_below(const struct devices *d, const struct level *level)
{
	struct level below = { .depth = level->depth + 1 };
	unsigned int lower;
	size_t at;

	for (size_t i = 0; i < level->n && below.depth < TREE_DEPTH; i++) {
		at = 0;
		while ((lower = devices_below(d, level->disks[i], &at)))
			level_add(&below, lower);
	}
	return below;
}

static const char *disk_name(const struct devices *d, unsigned int dev)
{
	const struct device *disk = devices_find(d, dev);

	return disk ? disk->name : "?";
}

bool device_chain_text(const struct devices *d, unsigned int dev, char *ret_text, size_t cap)
{
	struct level level = level_first(d, dev);
	bool several = level.n > 1;
	char safe[TEXT_SAFE_CAP(DEVICE_NAME)];
	unsigned int levels = 0;
	FILE *f = fmemopen(ret_text, cap, "w");

	if (!f)
		return false;
	for (; level.n; level = level_below(d, &level), levels++)
		for (size_t i = 0; i < level.n; i++) {
			const char *name = disk_name(d, level.disks[i]);

			text_safe_n(safe, sizeof(safe), name, strlen(name));
			fprintf(f, "%s%s", i ? " and " : levels ? ", on " : "", safe);
		}
	fclose(f);
	return levels > 1 || several;
}

void device_chain_json(struct json *j, const struct devices *d, unsigned int dev)
{
	struct level level = level_first(d, dev);

	if (!level.n) {
		json_put_null(j, "disks");
		return;
	}
	json_put_begin(j, "disks", '[');
	for (; level.n; level = level_below(d, &level)) {
		json_put_begin(j, NULL, '[');
		for (size_t i = 0; i < level.n; i++)
			json_put_string(j, NULL, disk_name(d, level.disks[i]));
		json_put_end(j, ']');
	}
	json_put_end(j, ']');
}
