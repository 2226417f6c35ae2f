/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.h - the path of a file out of what the kernel side could copy of it.
 */
#ifndef IOSTRATA_PATH_H
#define IOSTRATA_PATH_H

#include "event.h"

#include <stddef.h>

/* Bytes that any path fits in. */
enum { PATH_CAP = 2 * PATH_BYTES + 8 };

/*
 * Writes "/a/b/c", relative to the root of its file system ("/" is that root), as raw bytes: still
 * hostile, for text_safe() or text_json(). If upper directories are not known or do not fit in
 * @cap (8 at least), "..." stands for them: ".../b/c". @fn may hold any bytes. Returns the length,
 * 0 (and "") if nothing is known of the file.
 */
size_t path_join(char *dst, size_t cap, const struct file_name *fn);

#endif
