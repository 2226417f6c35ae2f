// SPDX-License-Identifier: GPL-2.0-only
#include "host/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "host/privilege.h"

/* A new descriptor if @path is /dev/null, or names an open descriptor: /dev/stderr or /dev/fd/N.
 * -1 with errno ENOENT: @path is another file. */
static int special_open(const char *path)
{
	static const char fds[] = "/dev/fd/";
	const char *number = path + sizeof(fds) - 1;
	int fd, flags;

	if (!strcmp(path, "/dev/null"))
		return open(path, O_WRONLY | O_CLOEXEC);
	if (!strcmp(path, "/dev/stderr"))
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	errno = ENOENT;
	if (strncmp(path, fds, sizeof(fds) - 1) || !*number || strlen(number) > 5 ||
	    number[strspn(number, "0123456789")])
		return -1;
	fd = atoi(number);
	flags = fcntl(fd, F_GETFD);
	if (flags >= 0 && !(flags & FD_CLOEXEC)) /* inherited, and none of our own */
		return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	errno = EBADF;
	return -1;
}

static FILE *cannot_create(const char *path, int err, struct reason *why)
{
	struct stat st;

	reason_set(why, EXIT_FAILED, "cannot create '%.200s': %s", path, strerror(err));
	if (err == EEXIST && !lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		err = ENOTSUP; /* nobody should remove a device or a directory for this */
	reason_hint(why, err == EEXIST    ? "remove it, or choose another name"
			 : err == ENOTSUP ? "choose another name: this one is no file"
			 : err == EBADF   ? "no file is open under this number"
					  : "choose a directory that exists and is writable");
	return NULL;
}

/* Opens an existing file to write at its end: a regular file with a single name, owned by the user
 * who runs the tool. Returns -1 with errno; ENOENT: there is none. */
static int end_open(const char *path, uid_t user)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == user)
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

FILE *newfile_append(const char *path, struct reason *why)
{
	uid_t uid = geteuid();
	gid_t gid;
	int fd;

	if (privilege_sudo_ids(&uid, &gid, why) < 0)
		return NULL;
	fd = end_open(path, uid);
	if (fd >= 0)
		return fdopen(fd, "a");
	if (errno == ENOENT)
		return newfile_open(path, why);
	reason_set(why, EXIT_FAILED, "cannot append to '%.200s': %s", path, strerror(errno));
	reason_hint(why, "--append takes a regular file that belongs to the user of iostrata");
	return NULL;
}

FILE *newfile_open(const char *path, struct reason *why)
{
	int by_sudo, err, fd = special_open(path);
	uid_t uid;
	gid_t gid;

	if (fd >= 0)
		return fdopen(fd, "w");
	if (errno != ENOENT)
		return cannot_create(path, errno, why);
	by_sudo = privilege_sudo_ids(&uid, &gid, why);
	if (by_sudo < 0)
		return NULL;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || (by_sudo && fchown(fd, uid, gid))) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return cannot_create(path, err, why);
	}
	return fdopen(fd, "w");
}

int newfile_dir(const char *path, struct reason *why)
{
	uid_t uid;
	gid_t gid;
	int by_sudo = privilege_sudo_ids(&uid, &gid, why);

	if (by_sudo < 0)
		return -1;
	if (!mkdir(path, 0700) && (!by_sudo || !lchown(path, uid, gid)))
		return 0;
	if (errno == EEXIST)
		return 1;
	return reason_set(why, EXIT_FAILED, "cannot make '%.200s': %s", path, strerror(errno));
}

int newfile_rename(const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* the file system lacks RENAME_NOREPLACE */
	if (lstat(from, &st))
		return -errno;
	if (S_ISDIR(st.st_mode)) /* replaces an empty directory: it must be a new one */
		return mkdir(to, 0700) || rename(from, to) ? -errno : 0;
	return link(from, to) || unlink(from) ? -errno : 0;
}

static void newfile_free(struct newfile *n)
{
	free(n->hidden);
	free(n->path);
	*n = (struct newfile){};
}

int newfile_begin(struct newfile *n, const char *dir, const char *name, struct reason *why)
{
	*n = (struct newfile){};
	if (asprintf(&n->hidden, "%s/.%s.tmp", dir, name) < 0)
		n->hidden = NULL;
	if (asprintf(&n->path, "%s/%s", dir, name) < 0)
		n->path = NULL;
	if (n->hidden && n->path)
		n->f = newfile_open(n->hidden, why);
	else
		reason_no_memory(why);
	if (n->f)
		return 0;
	newfile_free(n);
	return -1;
}

int newfile_end(struct newfile *n, bool complete)
{
	int err = 0;

	if (!n->f)
		return 0;
	if (fclose(n->f))
		err = errno ? -errno : -EIO;
	if (!err && complete)
		err = newfile_rename(n->hidden, n->path);
	if (err || !complete)
		unlink(n->hidden);
	newfile_free(n);
	return err;
}

bool newfile_is_standard(const char *path)
{
	return !path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

FILE *infile_open(const char *name, struct reason *why)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "re") : stdin;

	if (!f)
		reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", name, strerror(errno));
	return f;
}

void infile_close(FILE *f)
{
	if (f != stdin)
		fclose(f);
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
	if (give_up && !fflush(f) && !fstat(fileno(f), &ours) && S_ISREG(ours.st_mode) &&
	    !ours.st_size && !lstat(path, &there) && ours.st_dev == there.st_dev &&
	    ours.st_ino == there.st_ino)
		unlink(path);
	fclose(f);
}
