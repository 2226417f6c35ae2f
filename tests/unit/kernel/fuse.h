/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuse.h - a FUSE connection of the made-up machine: the members of the kernel's structures which
 * the programs read, and where the programs find them.
 */
#ifndef IOSTRATA_TEST_FUSE_H
#define IOSTRATA_TEST_FUSE_H

#include <stddef.h>

#include "machine.h"

struct connection {
	u64 before;
	u32 dev;
};

struct fuse_mount_point {
	u64 before;
	const struct connection *connection;
};

struct fuse_request {
	u64 before;
	struct {
		u32 len, opcode;
		u64 unique;
	} in;
	struct {
		u32 len;
		int error;
	} out;
	const struct fuse_mount_point *mount;
};

/* To be called after machine_start(). */
static void fuse_offsets_set(void)
{
	conf.at.fuse_in = offsetof(struct fuse_request, in);
	conf.at.fuse_out = offsetof(struct fuse_request, out);
	conf.at.fuse_mount = offsetof(struct fuse_request, mount);
	conf.at.fuse_conn = offsetof(struct fuse_mount_point, connection);
	conf.at.fuse_dev = offsetof(struct connection, dev);
}

#endif
