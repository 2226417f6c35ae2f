/* SPDX-License-Identifier: GPL-2.0-only */
/* watch_files.h - the recordings in the directory of watch: known by their names, so that no other
 * file is ever counted, run or removed. A recording is a file, or a directory of tables. */
#ifndef IOSTRATA_CMD_WATCH_FILES_H
#define IOSTRATA_CMD_WATCH_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHOT_NAME = 160, STORE_PATH = PATH_MAX + SHOT_NAME };

/* Whether @name is like "watch-20260131T120000Z-fsync-over-100ms.ios", as watch makes names. */
bool watch_file_is_ours(const char *name);

/* Bytes of the file or the directory of tables @path. Returns 0 if there is none. */
uint64_t watch_file_bytes(const char *path);

/* Removes the file or the directory of tables @path. Follows no link. Returns 0 or -errno. */
int watch_file_remove(const char *path);

#endif
