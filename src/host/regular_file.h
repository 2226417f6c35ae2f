/* SPDX-License-Identifier: GPL-2.0-only */
/* regular_file.h - opens files that others name. */
#ifndef IOSTRATA_HOST_REGULAR_FILE_H
#define IOSTRATA_HOST_REGULAR_FILE_H

/* Opens a regular file for reading. Nothing else is opened: it could be a device, of a process that
 * has replaced its file by a link, and opening may act on a device. Returns a descriptor, or
 * -errno: -EINVAL if it is not a regular file. */
int regular_file_open(const char *path);

#endif
