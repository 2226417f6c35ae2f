// SPDX-License-Identifier: GPL-2.0-only
#include "host/devices.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/list.h"
#include "cell.h"
#include "host/mounts.h"

#define SYS_BLOCK "/sys/dev/block"

enum {
	SYS_PATH = 64 + NAME_MAX,
	SUSPENDED_LEVELS = 8, /* so many devices below one another are looked at */
};

static void sys_path(char path[SYS_PATH], unsigned int dev, const char *what)
{
	snprintf(path, SYS_PATH, SYS_BLOCK "/%u:%u/%s", DEV_MAJOR(dev), DEV_MINOR(dev), what);
}

/* Reads "254:0"; 0: not a device number. */
static unsigned int dev_parse(const char *text)
{
	unsigned int major, minor;

	if (sscanf(text, "%u:%u", &major, &minor) != 2 || major > 0xfff || minor > 0xfffff)
		return 0;
	return major << 20 | minor;
}

/* The first line of sysfs attribute @what of @dev. Returns false if there is no such attribute. */
static bool attribute_read(unsigned int dev, const char *what, char *dst, size_t cap)
{
	char path[SYS_PATH];
	ssize_t n = -1;
	int fd;

	sys_path(path, dev, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, dst, cap - 1);
		close(fd);
	}
	dst[n > 0 ? n : 0] = '\0';
	dst[strcspn(dst, "\n")] = '\0';
	return n > 0;
}

static unsigned int attribute_dev(unsigned int dev, const char *what)
{
	char text[32];

	return attribute_read(dev, what, text, sizeof(text)) ? dev_parse(text) : 0;
}

/* The block device of the device file @path; 0: not a block device. */
static unsigned int dev_of_node(const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return 0;
	return DEV_OF(major(st.st_rdev), minor(st.st_rdev));
}

/* The device of a file's file system, or of a device file, or 0 if not known. Works without search
 * permission on the file's directories. */
static unsigned int dev_below_file(const char *path)
{
	unsigned int dev = dev_of_node(path);
	struct mounts mounts = {};
	const struct mount *m;

	if (dev || mounts_read(&mounts))
		return dev;
	m = mounts_by_path(&mounts, path);
	if (m)
		dev = DEV_MAJOR(m->dev) ? m->dev : dev_of_node(m->source);
	mounts_free(&mounts);
	return dev;
}

void devices_add(struct devices *d, const struct device *device)
{
	if (!list_reserve((void **)&d->list, &d->cap, d->n, sizeof(*d->list)))
		d->list[d->n++] = *device;
}

static int by_dev(const void *a, const void *b)
{
	unsigned int x = ((const struct device *)a)->dev, y = ((const struct device *)b)->dev;

	return (x > y) - (x < y);
}

void devices_sort(struct devices *d)
{
	if (d->n)
		qsort(d->list, d->n, sizeof(*d->list), by_dev);
}

/* Makes room for a device at its place in the sorted list, unless it is there. */
static void device_put(struct devices *d, const struct device *device)
{
	size_t low = 0, high = d->n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (d->list[middle].dev == device->dev)
			return;
		if (d->list[middle].dev < device->dev)
			low = middle + 1;
		else
			high = middle;
	}
	if (list_reserve((void **)&d->list, &d->cap, d->n, sizeof(*d->list)))
		return;
	memmove(d->list + low + 1, d->list + low, (d->n++ - low) * sizeof(*d->list));
	d->list[low] = *device;
}

void devices_note(struct devices *d, const struct device *device)
{
	if (d->n < DEVICES_NOTED)
		device_put(d, device);
}

static int link_compare(const struct device_link *l, unsigned int upper, unsigned int lower)
{
	if (l->upper != upper)
		return l->upper < upper ? -1 : 1;
	return (l->lower > lower) - (l->lower < lower);
}

/* Links are sorted by device numbers, so that equal devices give equal lists. */
void devices_link(struct devices *d, unsigned int upper, unsigned int lower)
{
	const struct device_link link = { upper, lower, 0 };
	size_t low = 0, high = d->n_links, middle;
	int order;

	if (!upper || !lower || upper == lower || d->n_links >= DEVICE_LINKS ||
	    list_reserve((void **)&d->links, &d->links_cap, d->n_links, sizeof(link)))
		return;
	while (low < high) {
		middle = (low + high) / 2;
		order = link_compare(&d->links[middle], upper, lower);
		if (!order) {
			d->links[middle].looks_without = 0;
			return;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(d->links + low + 1, d->links + low, (d->n_links++ - low) * sizeof(link));
	d->links[low] = link;
}

/* Before a look at @upper: drops the links that the last two looks did not find. */
static void links_age(struct devices *d, unsigned int upper)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_links; i++) {
		if (d->links[i].upper == upper && d->links[i].looks_without == 2)
			continue;
		d->links[i].looks_without += d->links[i].upper == upper;
		d->links[n++] = d->links[i];
	}
	d->n_links = n;
}

void devices_merge(struct devices *d, const struct devices *from)
{
	size_t known = d->n;

	if (!from->n)
		return;
	for (size_t i = 0; i < from->n; i++) {
		const struct device key = { .dev = from->list[i].dev };

		if (!known || !bsearch(&key, d->list, known, sizeof(key), by_dev))
			devices_add(d, &from->list[i]);
	}
	devices_sort(d);
	for (size_t i = 0; i < from->n_links; i++)
		devices_link(d, from->links[i].upper, from->links[i].lower);
}

static struct device *device_of(const struct devices *d, unsigned int dev)
{
	const struct device key = { .dev = dev };

	return d->n ? bsearch(&key, d->list, d->n, sizeof(key), by_dev) : NULL;
}

const struct device *devices_find(const struct devices *d, unsigned int dev)
{
	return device_of(d, dev);
}

const struct device *devices_named(const struct devices *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->list[i].name, name))
			return &d->list[i];
	return NULL;
}

void devices_label(const struct devices *d, unsigned int dev, char ret_label[DEVICE_NAME])
{
	const struct device *known = d ? devices_find(d, dev) : NULL;

	if (!dev)
		ret_label[0] = '\0';
	else if (known && known->name[0])
		memcpy(ret_label, known->name, DEVICE_NAME);
	else
		snprintf(ret_label, DEVICE_NAME, "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
}

static void link_slaves(struct devices *d, unsigned int dev)
{
	char path[SYS_PATH], what[SYS_PATH];
	struct dirent *e;
	DIR *dir;

	sys_path(path, dev, "slaves");
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(what, sizeof(what), "slaves/%s/dev", e->d_name);
		devices_link(d, dev, attribute_dev(dev, what));
	}
	if (dir)
		closedir(dir);
}

/* Reads the name, disk and lower devices of @e. */
static void device_look(struct devices *d, struct device *e)
{
	char path[SYS_PATH], text[PATH_MAX], *slash;
	ssize_t n;

	e->fresh = true;
	sys_path(path, e->dev, "");
	path[strlen(path) - 1] = '\0'; /* the link, not its target */
	n = readlink(path, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	slash = strrchr(text, '/');
	snprintf(e->name, sizeof(e->name), "%.31s", slash ? slash + 1 : text);
	e->disk = attribute_read(e->dev, "partition", text, sizeof(text))
			  ? attribute_dev(e->dev, "../dev")
			  : 0; /* a partition's directory is in its disk's */
	links_age(d, e->dev);
	link_slaves(d, e->dev);
	if (attribute_read(e->dev, "loop/backing_file", text, sizeof(text)) ||
	    attribute_read(e->dev, "backing_dev", text, sizeof(text)))
		devices_link(d, e->dev, dev_below_file(text));
}

void devices_read(struct devices *d)
{
	DIR *dir = opendir(SYS_BLOCK);
	struct device device = {};
	struct dirent *e;

	d->live = true;
	while (dir && (e = readdir(dir))) {
		device.dev = dev_parse(e->d_name);
		if (device.dev)
			devices_add(d, &device);
	}
	if (dir)
		closedir(dir);
	devices_sort(d);
	for (size_t i = 0; i < d->n; i++)
		device_look(d, &d->list[i]);
}

/* The entry of @dev, made if missing, with its attributes read. Returns NULL if out of memory. */
static struct device *device_meet(struct devices *d, unsigned int dev)
{
	struct device *e = device_of(d, dev);

	if (!e) {
		device_put(d, &(struct device){ .dev = dev });
		e = device_of(d, dev);
	}
	if (e && !e->fresh)
		device_look(d, e);
	return e;
}

void devices_meet(struct devices *d, unsigned int dev)
{
	struct device *e = device_of(d, dev);

	if (!dev || (e && e->fresh) || !device_meet(d, dev))
		return;
	/* a new partition knows its disk */
	for (size_t i = 0; i < d->n_links; i++)
		if (d->links[i].upper == dev && !device_of(d, d->links[i].lower))
			device_meet(d, d->links[i].lower);
}

void devices_around(struct devices *d, unsigned int dev)
{
	char path[SYS_PATH], what[SYS_PATH];
	struct dirent *e;
	DIR *dir;

	devices_meet(d, dev);
	sys_path(path, dev, "holders");
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(what, sizeof(what), "holders/%s/dev", e->d_name);
		devices_meet(d, attribute_dev(dev, what));
	}
	if (dir)
		closedir(dir);
}

void devices_age(struct devices *d)
{
	for (size_t i = 0; i < d->n; i++)
		d->list[i].fresh = false;
}

void devices_done(struct devices *d)
{
	free(d->list);
	free(d->links);
	*d = (struct devices){};
}

unsigned int devices_disk(const struct devices *d, unsigned int dev)
{
	const struct device *e = devices_find(d, dev);

	return e && e->disk ? e->disk : dev;
}

/* The disk at the other end of link @i. Returns 0 if neither @disk nor one of its partitions is at
 * the upper end (@upper) or lower end. */
static unsigned int other_end(const struct devices *d, size_t i, unsigned int disk, bool upper)
{
	const struct device_link *l = &d->links[i];

	if (devices_disk(d, upper ? l->upper : l->lower) != disk)
		return 0;
	return devices_disk(d, upper ? l->lower : l->upper);
}

static unsigned int next_end(const struct devices *d, unsigned int disk, bool upper, size_t *at)
{
	unsigned int end;
	size_t before;

	while (*at < d->n_links) {
		size_t i = (*at)++;

		end = other_end(d, i, disk, upper);
		for (before = 0; end && before < i; before++)
			if (other_end(d, before, disk, upper) == end)
				break;
		if (end && before == i)
			return end;
	}
	return 0;
}

unsigned int devices_above(const struct devices *d, unsigned int disk, size_t *at)
{
	return next_end(d, disk, false, at);
}

unsigned int devices_below(const struct devices *d, unsigned int disk, size_t *at)
{
	return next_end(d, disk, true, at);
}

bool devices_sysfs(const char *dir, const char *entry, unsigned int *ret_dev)
{
	unsigned int major, minor;
	char path[PATH_MAX];
	int got;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/dev", dir, entry);
	f = fopen(path, "re");
	if (!f)
		return false;
	got = fscanf(f, "%u:%u", &major, &minor);
	fclose(f);
	if (got != 2)
		return false;
	*ret_dev = major << 20 | minor;
	return true;
}

/* Whether @dev itself is suspended. */
static bool is_suspended(unsigned int dev, char *ret_text, size_t cap)
{
	char state[4], name[128], link[PATH_MAX], path[SYS_PATH];
	ssize_t n;

	if (!attribute_read(dev, "dm/suspended", state, sizeof(state)) || strcmp(state, "1") != 0)
		return false;
	sys_path(path, dev, "");
	path[strlen(path) - 1] = '\0'; /* without the slash */
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	attribute_read(dev, "dm/name", name, sizeof(name));
	snprintf(ret_text, cap, "%.32s%s%s%s", basename(link), *name ? " (" : "", name,
		 *name ? ")" : "");
	return true;
}

/* Devices lie on one another; a circle cannot be. */
static bool suspended_from(unsigned int dev, int levels, char *ret_text, size_t cap)
{
	char path[SYS_PATH];
	bool found = dev && is_suspended(dev, ret_text, cap);
	struct dirent *e;
	unsigned int low;
	DIR *dir;

	if (!dev || found || !levels)
		return found;
	sys_path(path, dev, "slaves");
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir)))
		if (e->d_name[0] != '.' && devices_sysfs(path, e->d_name, &low))
			found = suspended_from(low, levels - 1, ret_text, cap);
	if (dir)
		closedir(dir);
	return found;
}

bool devices_suspended(unsigned int dev, char *ret_text, size_t cap)
{
	return suspended_from(dev, SUSPENDED_LEVELS, ret_text, cap);
}

bool devices_suspended_below(const char *path, char *ret_text, size_t cap)
{
	struct mounts mounts = {};
	const struct mount *m;
	unsigned int dev = 0;

	if (mounts_read(&mounts))
		return false;
	m = mounts_by_path(&mounts, path);
	if (m && !strcmp(m->type, "devtmpfs"))
		dev = dev_of_node(path);
	else if (m && DEV_MAJOR(m->dev))
		dev = m->dev;
	mounts_free(&mounts);
	return suspended_from(dev, SUSPENDED_LEVELS, ret_text, cap);
}

/* The devices in directory @volume of sysfs, if @dev is one of them. */
static size_t volume_read(const char *volume, unsigned int dev, unsigned int *ret_devs, size_t cap)
{
	DIR *dir = opendir(volume);
	unsigned int found;
	bool has = false;
	struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || !devices_sysfs(volume, e->d_name, &found))
			continue;
		has |= found == dev;
		if (n < cap)
			ret_devs[n++] = found;
	}
	if (dir)
		closedir(dir);
	return has ? n : 0;
}

size_t devices_of_volume(unsigned int dev, unsigned int *ret_devs, size_t cap)
{
	static const char volumes[] = "/sys/fs/btrfs";
	DIR *dir = opendir(volumes);
	char volume[PATH_MAX];
	struct dirent *e;
	size_t n = 0;

	while (dir && !n && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(volume, sizeof(volume), "%s/%s/devices", volumes, e->d_name);
		n = volume_read(volume, dev, ret_devs, cap);
	}
	if (dir)
		closedir(dir);
	return n;
}

size_t devices_mounted(const struct devices *d, unsigned int dev, unsigned int *ret_devs,
		       size_t cap)
{
	struct mounts mounts = {};
	const struct mount *m;
	size_t n = 0;

	if (!d->live || !dev || DEV_MAJOR(dev) || mounts_read(&mounts))
		return 0;
	m = mounts_by_dev(&mounts, dev);
	if (m && !strcmp(m->type, "btrfs"))
		n = devices_of_volume(dev_of_node(m->source), ret_devs, cap);
	mounts_free(&mounts);
	return n;
}
