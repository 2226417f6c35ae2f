/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuse_server.h - what the FUSE servers of the tests have in common: a root directory with one
 * file, mounted without libfuse. Included by one program each.
 */
#ifndef IOSTRATA_TESTS_FUSE_SERVER_H
#define IOSTRATA_TESTS_FUSE_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOT = 1, FILE_NODE = 2, MAX_IO = 1 << 17 };

static struct {
	int fd;
	const char *file; /* its name */
	size_t bytes;     /* its size */
} server;

/* Mounts a server called @name at @dir. Returns 0, or -1 with errno. */
static int server_mount(const char *name, const char *dir)
{
	char options[64];

	server.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", server.fd);
	return server.fd < 0 ? -1 : mount(name, dir, "fuse", MS_NOSUID | MS_NODEV, options);
}

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = sizeof(out) + len,
				       .error = -error,
				       .unique = in->unique };
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)data, len } };

	if (writev(server.fd, iov, len ? 2 : 1) < 0 && errno != ENOENT)
		perror("writev");
}

static struct fuse_attr attributes(unsigned long node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644;
	a.size = node == ROOT ? 0 : server.bytes;
	return a;
}

static void greet(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = init->max_readahead,
				     .flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES,
				     .max_background = 12,
				     .max_write = MAX_IO };

	answer(in, 0, &out, sizeof(out));
	printf("ready\n");
	fflush(stdout);
}

static void lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.entry_valid = 60,
					.attr_valid = 60,
					.attr = attributes(FILE_NODE) };
	int found = !strcmp(name, server.file);

	answer(in, found ? 0 : ENOENT, &entry, found ? sizeof(entry) : 0);
}

/* Answers a request @in that neither reads nor writes. @open_flags: of an open file, FOPEN_... */
static void serve_other(const struct fuse_in_header *in, unsigned int open_flags)
{
	struct fuse_attr_out attr = { .attr_valid = 60, .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = { .open_flags = open_flags };
	const void *args = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		greet(in, args);
		break;
	case FUSE_LOOKUP:
		lookup(in, args);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

#endif
