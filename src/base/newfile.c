// SPDX-License-Identifier: GPL-2.0-only
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "base/sudo.h"

FILE *newfile_open(const char *path, struct reason *why)
{
	int by_sudo, fd, err;
	uid_t uid;
	gid_t gid;

	by_sudo = sudo_ids(&uid, &gid, why);
	if (by_sudo < 0)
		return NULL;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || (by_sudo && fchown(fd, uid, gid))) {
		err = errno;
		reason_set(why, EXIT_FAILED, "cannot create '%.200s': %s", path, strerror(err));
		reason_hint(why, err == EEXIST ? "remove it, or choose another name" :
				 "choose a directory that exists and can be written to");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	return fdopen(fd, "w");
}

bool newfile_is_standard(const char *path)
{
	return !path || !strcmp(path, "-");
}

FILE *newfile_output(const char *path, FILE *standard, struct reason *why)
{
	return newfile_is_standard(path) ? standard : newfile_open(path, why);
}

void newfile_close(FILE *f, const char *path, bool give_up)
{
	struct stat ours, there;

	if (newfile_is_standard(path))
		return;
	if (give_up && !fflush(f) && !fstat(fileno(f), &ours) && !ours.st_size &&
	    !lstat(path, &there) && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlink(path);
	fclose(f);
}
