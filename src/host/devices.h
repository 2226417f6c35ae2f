/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * devices.h - the block devices of a machine as a graph: partitions and their disks, and the lower
 * devices of device mapper, md, loop and zram. Read from /sys, or from a recording.
 *
 * A dev_t is major << 20 | minor. All names are hostile.
 */
#ifndef IOSTRATA_HOST_DEVICES_H
#define IOSTRATA_HOST_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	DEVICE_NAME = 32,      /* the kernel's DISK_NAME_LEN */
	DEVICE_LINKS = 16384,  /* at most: later ones are left out */
	DEVICES_NOTED = 16384, /* likewise, by devices_note() */
};

struct device {
	char name[DEVICE_NAME]; /* the kernel's */
	unsigned int dev;
	unsigned int disk; /* of a partition: its disk; else 0 */
	bool fresh;        /* see devices_meet() */
};

/* @upper lies on @lower; either may be a partition. */
struct device_link {
	unsigned int upper, lower;
	unsigned int looks_without; /* looks at @upper that did not find it; the third drops it */
};

/* Initially all 0. If memory runs out, devices or links are missing. */
struct devices {
	struct device *list; /* by dev */
	size_t n, cap;
	struct device_link *links;
	size_t n_links, links_cap;
	bool live; /* of this machine, not of a recording */
};

/* Adds all block devices of this machine. */
void devices_read(struct devices *d);

/* Reads @dev and its lower devices again, once after each devices_age(). A device that is gone
 * stays as it was. A lower device that was replaced stays for a while: its requests may have been
 * before. */
void devices_meet(struct devices *d, unsigned int dev);

/* Reads @dev, its lower devices, and those that lie on @dev itself: pvmove adds a lower device to
 * one that is known. */
void devices_around(struct devices *d, unsigned int dev);
void devices_age(struct devices *d);

void devices_done(struct devices *d);

/* For a recording: add devices in any order, then sort, then link. */
void devices_add(struct devices *d, const struct device *device);
void devices_sort(struct devices *d);
void devices_link(struct devices *d, unsigned int upper, unsigned int lower);

/* For a recording: adds a device that it notes after its header, unless the device is known. The
 * list stays sorted. */
void devices_note(struct devices *d, const struct device *device);

/* Adds the devices and links of @from, of a later file of the same run. */
void devices_merge(struct devices *d, const struct devices *from);

/* Returns NULL if there is none. */
const struct device *devices_find(const struct devices *d, unsigned int dev);
const struct device *devices_named(const struct devices *d, const char *name);

/* The name of @dev, or "8:16" if no name is known; "" for 0. @d may be NULL. */
void devices_label(const struct devices *d, unsigned int dev, char ret_label[DEVICE_NAME]);

/* The disk of the partition @dev, else @dev. */
unsigned int devices_disk(const struct devices *d, unsigned int dev);

/*
 * The next disk above, or below, @disk or one of its partitions. Each disk once, or 0 if there is
 * no more. @at is 0 at first.
 */
unsigned int devices_above(const struct devices *d, unsigned int disk, size_t *at);
unsigned int devices_below(const struct devices *d, unsigned int disk, size_t *at);

/* If @dev or a device below it is a suspended device of device mapper, sets @ret_text to its name,
 * "dm-0 (vg-home)", cut to @cap bytes, and returns true. Reads sysfs. Hostile text. */
bool devices_suspended(unsigned int dev, char *ret_text, size_t cap);

/* The same for the file @path, or a device file. Goes by the mounts: no other path is looked up,
 * since whoever looks it up may have to wait for the device. */
bool devices_suspended_below(const char *path, char *ret_text, size_t cap);

/* Reads a device number from @dir/@entry/dev in sysfs. Returns false if there is no such file. */
bool devices_sysfs(const char *dir, const char *entry, unsigned int *ret_dev);

/* The devices of the btrfs volume to which block device @dev belongs, @dev among them. Returns how
 * many, at most @cap, or 0 if it belongs to none. */
size_t devices_of_volume(unsigned int dev, unsigned int *ret_devs, size_t cap);

/* The devices of the btrfs volume whose device number, while mounted, is @dev. Returns how many, at
 * most @cap. Returns 0 if @dev is no such volume, or if @d is from a recording: recordings do not
 * have these devices.
 */
size_t devices_mounted(const struct devices *d, unsigned int dev, unsigned int *ret_devs,
		       size_t cap);

#endif
