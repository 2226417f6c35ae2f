/* SPDX-License-Identifier: GPL-2.0-only */
/* limit_text.h - limits of I/O for which operations waited, in words and as JSON. */
#ifndef IOSTRATA_BASE_LIMIT_TEXT_H
#define IOSTRATA_BASE_LIMIT_TEXT_H

#include <stddef.h>

#include "base/text.h"
#include "event.h"

struct json;

enum { LIMIT_TEXT_RAW = 1024, LIMIT_TEXT = TEXT_SAFE_CAP(LIMIT_TEXT_RAW) };

/* "the limit of cgroup /x: 1.00 MiB/s of writes on sda (io.max)". @found: as in limits.h; NULL: not
 * known. The text is raw; with limit_text(), safe. */
void limit_text_raw(char dst[LIMIT_TEXT_RAW], enum io_limit limit, const char *found);
void limit_text(char dst[LIMIT_TEXT], enum io_limit limit, const char *found);

/* Member "limit" of somebody; null: not WHO_LIMIT. */
void json_put_limit(struct json *j, enum io_limit limit, const char *found);

#endif
