// SPDX-License-Identifier: GPL-2.0-only
#include "show/device_chain.h"

#include <stdio.h>
#include <string.h>

#include "base/devices.h"
#include "base/json.h"
#include "base/text.h"
#include "show/device_tree.h"

enum { LEVEL_DISKS = 64 }; /* more are left out */

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

/* The disk of @dev; none if it is not known. */
static struct level level_first(const struct devices *d, unsigned int dev)
{
	struct level level = {};

	if (d && devices_find(d, dev))
		level_add(&level, devices_disk(d, dev));
	return level;
}

/* What those of @level lie on; none where it is too deep, as only a recording can be. */
static struct level level_below(const struct devices *d, const struct level *level)
{
	struct level below = {.depth = level->depth + 1};
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
	return levels > 1;
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
