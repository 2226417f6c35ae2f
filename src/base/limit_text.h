/* SPDX-License-Identifier: GPL-2.0-only */
/* limit_text.h - limits of I/O for which operations waited, in words and as JSON. */
#ifndef IOSTRATA_BASE_LIMIT_TEXT_H
#define IOSTRATA_BASE_LIMIT_TEXT_H

#include <stddef.h>

#include "event.h"

struct json;

enum { LIMIT_TEXT = 1024 };

/* "the limit of cgroup /x: 1.00 MiB/s of writes on sda (io.max)". @found: as in limits.h; NULL: not
 * known. The text is safe. */
void limit_text(char dst[LIMIT_TEXT], enum io_limit limit, const char *found);

/* Member "limit" of somebody; null: not WHO_LIMIT. */
void json_put_limit(struct json *j, enum io_limit limit, const char *found);

#endif
