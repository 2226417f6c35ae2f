/* SPDX-License-Identifier: GPL-2.0-only */
/* mounts.h - the mounts of the tool's mount namespace, and kinds of file systems. All text is
 * hostile. */
#ifndef IOSTRATA_HOST_MOUNTS_H
#define IOSTRATA_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct mount {
	unsigned int id;
	unsigned int dev; /* kernel dev_t: major << 20 | minor */
	const char *root; /* of the mount, inside its file system */
	const char *point;
	const char *type;
	const char *source;
	const char *options;    /* of the mount, as "rw,noatime" */
	const char *fs_options; /* of its file system, as "rw,data=ordered" */
};

struct mounts {
	struct mount *list;
	size_t n;
	char *text; /* the members of list point into this */
};

/* Returns 0 or -errno; @ret_mounts is untouched on failure. */
int mounts_read(struct mounts *ret_mounts);

/* The same from the file @path, /proc/PID/mountinfo of another mount namespace. */
int mounts_read_from(const char *path, struct mounts *ret_mounts);

void mounts_free(struct mounts *m);

/* Whether file systems of @type need a block device, by /proc/filesystems. */
enum fs_kind { FS_KIND_UNKNOWN, FS_KIND_DISK, FS_KIND_NO_DISK };
enum fs_kind mounts_fs_kind(const char *type);

/* Whether file systems of @type (@cap bytes or a NUL) only show the kernel's state: proc, sysfs ...
 * Their files are neither on storage nor in memory. */
bool mounts_fs_is_pseudo(const char *type, size_t cap);

/* Whether files on a file system of @type can be on one of @devs. Never false by mistake: a file
 * system without a disk may give true. */
bool mounts_may_be_on(const struct mounts *m, const char *type, const unsigned int *devs,
		      unsigned int n_devs);

/* The first mount of the root of a file system of @protocol from @source; NULL if there is none. */
const struct mount *mounts_by_source(const struct mounts *m, unsigned int protocol,
				     const char *source);

/* The mount with this id, as in fdinfo; NULL if none. No two mounts of a machine have the same. */
const struct mount *mounts_by_id(const struct mounts *m, unsigned int id);

/* A mount of file system @dev, preferably of its root; NULL if none. */
const struct mount *mounts_by_dev(const struct mounts *m, unsigned int dev);

/*
 * Names the server of a file system that operations call @fs: "10.0.0.7" of a mount from
 * "10.0.0.7:/home" or "//10.0.0.7/share", "sshfs ann@host" of type "fuse.sshfs" from "ann@host:".
 * Without a server "(no server)". @type and @source as in struct mount, or NULL if it is not known
 * where the file system is mounted.
 */
enum { SERVER_TEXT = 128 };
void mount_server(char dst[SERVER_TEXT], const char *fs, const char *type, const char *source);

/* Whether @name is the point, the source or the server of a mount. A slash at the end of @name does
 * not matter. */
bool mount_is_named(const char *name, const char *type, const char *point, const char *source);

/* A number for a server's name: different names have different numbers, but for chance (64 bits).
 */
unsigned long long mount_server_number(const char *name);

/* The mount of an absolute @path without symbolic links; NULL if none. */
const struct mount *mounts_by_path(const struct mounts *m, const char *path);

#endif
