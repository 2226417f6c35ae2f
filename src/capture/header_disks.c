// SPDX-License-Identifier: GPL-2.0-only
#include "capture/header_disks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cell.h"
#include "host/devices.h"

enum { DISKS_MAX = 4096 }; /* later ones are left out */

static const struct member ending_disk_members[] = {
	{ "dev", MEMBER_ASCII, .what = "number of the disk, \"major:minor\"",
	  .pattern = PATTERN_DEVICE },
	{ "celsius", MEMBER_COUNT, .what = "temperature of the drive", .unit = "°C",
	  .negative = true, .null = "sysfs has no sensor of the drive" },
	{}
};
const struct object ending_disk_object = { NULL, "a disk", ending_disk_members };

static const struct member header_disk_members[] = {
	{ .also = ending_disk_members },
	{ "celsius_limit", MEMBER_COUNT,
	  .what = "temperature from which the drive warns, and may throttle", .unit = "°C",
	  .negative = true, .null = "the drive does not tell" },
	{ "model", MEMBER_TEXT, .what = "model of the drive", .null = "virtual disks have none" },
	{ "firmware", MEMBER_TEXT, .what = "revision of the drive's firmware",
	  .null = "the drive does not tell" },
	{ "scheduler", MEMBER_TEXT, .what = "I/O scheduler of the disk",
	  .null = "the device has no requests" },
	{}
};
const struct object header_disk_object = { NULL, "what sysfs tells of a disk",
					   header_disk_members };

static void put_celsius(struct json *j, const char *name, int celsius)
{
	if (celsius == CELSIUS_UNKNOWN)
		json_put_null(j, name);
	else
		json_put_int(j, name, celsius);
}

static void put_text(struct json *j, const char *name, const char *text)
{
	json_put_string(j, name, *text ? text : NULL);
}

/* The beginning of a disk's object, the same at both ends. */
static void put_begin(struct json *j, const struct disk_facts *f)
{
	char dev[24];

	snprintf(dev, sizeof(dev), "%u:%u", DEV_MAJOR(f->dev), DEV_MINOR(f->dev));
	json_put_begin(j, NULL, '{');
	json_put_string(j, "dev", dev);
	put_celsius(j, "celsius", f->celsius);
}

static void put_facts(struct json *j, const struct disk_facts *f)
{
	put_begin(j, f);
	put_celsius(j, "celsius_limit", f->celsius_limit);
	put_text(j, "model", f->model);
	put_text(j, "firmware", f->firmware);
	put_text(j, "scheduler", f->scheduler);
	json_put_end(j, '}');
}

static void put_temperature(struct json *j, const struct disk_facts *f)
{
	if (f->celsius == CELSIUS_UNKNOWN)
		return;
	put_begin(j, f);
	json_put_end(j, '}');
}

static void put_disks(struct json *j, void (*put)(struct json *j, const struct disk_facts *f))
{
	struct devices d = {};
	struct disk_facts f;

	devices_read(&d);
	json_put_begin(j, "disks", '[');
	for (size_t i = 0; i < d.n && i < DISKS_MAX; i++)
		if (!d.list[i].disk && disk_facts_read(d.list[i].dev, &f))
			put(j, &f);
	json_put_end(j, ']');
	devices_done(&d);
}

void header_put_disks(struct json *j)
{
	put_disks(j, put_facts);
}

void ending_put_disks(struct json *j)
{
	put_disks(j, put_temperature);
}

static void text_parse(char dst[DISK_FACT], const json_t *one, const char *name)
{
	const char *text = json_string_value(json_object_get(one, name));

	snprintf(dst, DISK_FACT, "%s", text ? text : "");
}

static int celsius_parse(const json_t *one, const char *name)
{
	const json_t *value = json_object_get(one, name);
	json_int_t celsius = json_integer_value(value);

	return json_is_integer(value) && celsius > -300 && celsius < 1000 ? celsius
									  : CELSIUS_UNKNOWN;
}

int header_parse_disks(struct header_disks *d, const json_t *list)
{
	size_t n = json_array_size(list), i;
	unsigned int major, minor;
	const char *dev;
	json_t *one;

	n = n < DISKS_MAX ? n : DISKS_MAX;
	d->list = calloc(n + 1, sizeof(*d->list));
	if (!d->list)
		return -ENOMEM;
	json_array_foreach(list, i, one)
	{
		struct disk_facts *f = &d->list[d->n];

		dev = json_string_value(json_object_get(one, "dev"));
		if (d->n == n || !dev || sscanf(dev, "%u:%u", &major, &minor) != 2)
			continue;
		f->dev = DEV_OF(major, minor);
		text_parse(f->model, one, "model");
		text_parse(f->firmware, one, "firmware");
		text_parse(f->scheduler, one, "scheduler");
		f->celsius = celsius_parse(one, "celsius");
		f->celsius_limit = celsius_parse(one, "celsius_limit");
		d->n++;
	}
	return 0;
}

void header_disks_done(struct header_disks *d)
{
	free(d->list);
	*d = (struct header_disks){};
}

const struct disk_facts *header_disk(const struct header_disks *d, unsigned int dev)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->list[i].dev == dev)
			return &d->list[i];
	return NULL;
}
