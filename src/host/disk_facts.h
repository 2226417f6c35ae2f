/* SPDX-License-Identifier: GPL-2.0-only */
/* disk_facts.h - what sysfs tells of a disk: model, firmware, scheduler, temperature. All text is
 * hostile. */
#ifndef IOSTRATA_HOST_DISK_FACTS_H
#define IOSTRATA_HOST_DISK_FACTS_H

#include <stdbool.h>

enum { DISK_FACT = 64, CELSIUS_UNKNOWN = -1000 };

struct disk_facts {
	unsigned int dev;
	char model[DISK_FACT]; /* "": not known, as for virtio */
	char firmware[DISK_FACT];
	char scheduler[DISK_FACT]; /* "none", "mq-deadline" ...; "": a device without requests */
	int celsius;               /* of the drive, or CELSIUS_UNKNOWN */
	int celsius_limit;         /* from which the drive may throttle, or CELSIUS_UNKNOWN */
};

/* Reads the facts about @dev. Returns false if sysfs has none. */
bool disk_facts_read(unsigned int dev, struct disk_facts *ret_facts);

#endif
