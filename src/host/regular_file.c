// SPDX-License-Identifier: GPL-2.0-only
#include "host/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

/* Whether @place is a regular file with content. Files of procfs and sysfs are none: one is
 * regular, but reading it takes messages of the kernel away, or has no end. Most say that they have
 * 0 bytes. */
static bool is_regular(int place)
{
	struct statfs fs;
	struct stat st;

	if (fstat(place, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return false;
	return !fstatfs(place, &fs) && fs.f_type != PROC_SUPER_MAGIC && fs.f_type != SYSFS_MAGIC;
}

int regular_file_open(const char *path)
{
	int place = open(path, O_PATH | O_CLOEXEC), fd = -EINVAL;
	char again[64];

	if (place < 0)
		return -errno;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	if (is_regular(place)) {
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		fd = fd < 0 ? -errno : fd;
	}
	close(place);
	return fd;
}

bool regular_file_has_crc(int fd, uint32_t crc, off_t most)
{
	unsigned char bytes[1 << 14];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || st.st_size > most)
		return false;
	for (; at <= st.st_size && (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		sum = crc32(sum, bytes, n);
	return at == st.st_size && sum == crc;
}
