/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_pack.h - numbers in a page's JSON, packed: each in LEB128, and all of them in base64. A
 * number takes a third of its digits.
 */
#ifndef IOSTRATA_SHOW_PAGE_PACK_H
#define IOSTRATA_SHOW_PAGE_PACK_H

#include <stddef.h>
#include <stdint.h>

struct json;

/* At first all 0. */
struct pack {
	char *bytes; /* owned */
	size_t n, cap;
	int err; /* -ENOMEM */
};

void pack_uint(struct pack *p, uint64_t n);

/* Zigzag: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
void pack_int(struct pack *p, int64_t n);

/* Writes all numbers as the member @name, and forgets them. Returns 0 or -ENOMEM. */
int pack_put(struct pack *p, struct json *j, const char *name);

#endif
