// SPDX-License-Identifier: GPL-2.0-only
#include "capture/header_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/devices.h"
#include "base/json.h"

static void put_device(struct json *j, const struct devices *d, const struct device *device)
{
	const struct device *disk = devices_find(d, device->disk), *lower;
	char dev[24];

	snprintf(dev, sizeof(dev), "%u:%u", device->dev >> 20, device->dev & 0xfffff);
	json_put_begin(j, NULL, '{');
	json_put_string(j, "name", device->name);
	json_put_string(j, "dev", dev);
	json_put_begin(j, "on", '[');
	for (size_t i = 0; i < d->n_links; i++) {
		lower = devices_find(d, d->links[i].lower);
		if (d->links[i].upper == device->dev && lower)
			json_put_string(j, NULL, lower->name);
	}
	json_put_end(j, ']');
	if (disk)
		json_put_string(j, "part_of", disk->name);
	json_put_end(j, '}');
}

void header_put_devices(struct json *j)
{
	struct devices d = {};

	devices_read(&d);
	json_put_begin(j, "devices", '[');
	for (size_t i = 0; i < d.n; i++)
		put_device(j, &d, &d.list[i]);
	json_put_end(j, ']');
	devices_done(&d);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct device *)a)->name, ((const struct device *)b)->name);
}

/* The dev_t of the device that is called @name, in a list that is in the order of names; 0: there
 * is none. */
static unsigned int dev_named(const struct devices *d, const json_t *name)
{
	const char *s = json_string_value(name);
	struct device key = {}, *e;

	if (!s || !d->n)
		return 0;
	snprintf(key.name, sizeof(key.name), "%s", s);
	e = bsearch(&key, d->list, d->n, sizeof(key), by_name);
	return e ? e->dev : 0;
}

/* Sets what a device is part of and lies on; @named: all devices in the order of their names. */
static void device_link(struct devices *d, const struct devices *named, const json_t *one)
{
	unsigned int dev = dev_named(named, json_object_get(one, "name"));
	const struct device *e = devices_find(d, dev);
	json_t *lower;
	size_t i;

	if (!e)
		return;
	d->list[e - d->list].disk = dev_named(named, json_object_get(one, "part_of"));
	json_array_foreach(json_object_get(one, "on"), i, lower)
		devices_link(d, dev, dev_named(named, lower));
}

void header_parse_devices(struct devices *d, const json_t *list)
{
	struct devices named = {};
	unsigned int major, minor;
	const char *name, *dev;
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		struct device e = {};

		name = json_string_value(json_object_get(one, "name"));
		dev = json_string_value(json_object_get(one, "dev"));
		if (!name || !dev || sscanf(dev, "%u:%u", &major, &minor) != 2)
			continue;
		e.dev = major << 20 | (minor & 0xfffff);
		snprintf(e.name, sizeof(e.name), "%s", name);
		devices_add(d, &e);
		devices_add(&named, &e);
	}
	devices_sort(d);
	if (named.n)
		qsort(named.list, named.n, sizeof(*named.list), by_name);
	json_array_foreach(list, i, one)
		device_link(d, &named, one);
	devices_done(&named);
}
