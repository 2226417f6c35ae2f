/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * name_filter.h - whether a name may be one of those that are looked for, told by its first three
 * characters. The kernel has 100,000 names of types: to hash each of them takes five times as long.
 */
#ifndef IOSTRATA_NAME_FILTER_H
#define IOSTRATA_NAME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

enum { NAME_FILTER_LOG2 = 14 };

struct name_filter {
	uint8_t set[1 << NAME_FILTER_LOG2];
};

static inline uint32_t name_filter_slot(const char *name)
{
	uint32_t start = (uint8_t)name[0];

	if (name[0])
		start |= (uint32_t)(uint8_t)name[1] << 8;
	if (name[0] && name[1])
		start |= (uint32_t)(uint8_t)name[2] << 16;
	return start * 2654435761U >> (32 - NAME_FILTER_LOG2);
}

static inline void name_filter_add(struct name_filter *f, const char *name)
{
	f->set[name_filter_slot(name)] = 1;
}

static inline bool name_filter_passes(const struct name_filter *f, const char *name)
{
	return f->set[name_filter_slot(name)];
}

#endif
