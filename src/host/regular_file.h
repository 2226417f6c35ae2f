/* SPDX-License-Identifier: GPL-2.0-only */
/* regular_file.h - opens files that others name, and checks their sum. */
#ifndef IOSTRATA_HOST_REGULAR_FILE_H
#define IOSTRATA_HOST_REGULAR_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a regular file for reading. Nothing else is opened: a process may have replaced its file by
 * a link to a device, and opening may act on a device; or by a link to a file of procfs, which has
 * no end. Returns a descriptor, or -errno: -EINVAL if it is not a regular file, or empty. */
int regular_file_open(const char *path);

/* Whether the CRC-32 of all of @fd is @crc, as .gnu_debuglink has it. A file above @most bytes is
 * not read: a sparse one may have any size. Nor is more read than it had when this began. */
bool regular_file_has_crc(int fd, uint32_t crc, off_t most);

#endif
