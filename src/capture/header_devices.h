/* SPDX-License-Identifier: GPL-2.0-only */
/* header_devices.h - the devices of the machine in the header of a capture file. */
#ifndef IOSTRATA_HEADER_DEVICES_H
#define IOSTRATA_HEADER_DEVICES_H

#include <jansson.h>

struct devices;
struct json;

/* Disks and partitions of this machine: what each is part of, and what it lies on. */
void header_put_devices(struct json *j);

/* Reads them again from the hostile @list, which may be NULL. @d is all 0 before. */
void header_parse_devices(struct devices *d, const json_t *list);

#endif
