/* SPDX-License-Identifier: GPL-2.0-only */
/* header_disks.h - what sysfs tells of the disks, at the beginning and the end of a recording. */
#ifndef IOSTRATA_CAPTURE_HEADER_DISKS_H
#define IOSTRATA_CAPTURE_HEADER_DISKS_H

#include <jansson.h>
#include <stddef.h>

#include "base/schema.h"
#include "host/disk_facts.h"

struct json;

/* Facts about disks. Initially all 0. */
struct header_disks {
	struct disk_facts *list; /* owned */
	size_t n;
};

/* Writes the member "disks": of each disk of this machine, all facts, or its temperature only. */
void header_put_disks(struct json *j);
void ending_put_disks(struct json *j);

/* Reads facts from the hostile @list, which may be NULL. Returns 0 or -ENOMEM. */
int header_parse_disks(struct header_disks *d, const json_t *list);
void header_disks_done(struct header_disks *d);

/* The facts about @dev, or NULL if there are none. */
const struct disk_facts *header_disk(const struct header_disks *d, unsigned int dev);

extern const struct object header_disk_object, ending_disk_object;

#endif
