/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device_chain.h - a file system's disk, the disks that it lies on, those that these lie on, and so
 * on: a level each. All names are hostile.
 */
#ifndef IOSTRATA_DEVICE_CHAIN_H
#define IOSTRATA_DEVICE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

struct devices;
struct json;

/* "loop0, on dm-0, on sda and sdb", safe. False: the disk of @dev is not known, or lies on none. */
bool device_chain_text(const struct devices *d, unsigned int dev, char *ret_text, size_t cap);

/* Member "disks": a list of levels, each a list of names; null: not known. */
void device_chain_json(struct json *j, const struct devices *d, unsigned int dev);

#endif
