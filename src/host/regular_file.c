// SPDX-License-Identifier: GPL-2.0-only
#include "host/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

int regular_file_open(const char *path)
{
	int place = open(path, O_PATH | O_CLOEXEC), fd;
	char again[64];
	struct stat st;

	if (place < 0)
		return -errno;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	fd = fstat(place, &st) || !S_ISREG(st.st_mode)
		     ? -EINVAL
		     : open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	fd = fd == -1 ? -errno : fd;
	close(place);
	return fd;
}

bool regular_file_has_crc(int fd, uint32_t crc, off_t most)
{
	unsigned char bytes[1 << 14];
	uLong sum = crc32(0, NULL, 0);
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || st.st_size > most)
		return false;
	for (off_t at = 0; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		sum = crc32(sum, bytes, n);
	return !n && sum == crc;
}
