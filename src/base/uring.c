// SPDX-License-Identifier: GPL-2.0-only
#include "base/uring.h"

#include <stddef.h>
#include <string.h>

struct request {
	unsigned char opcode;	/* enum io_uring_op of linux/io_uring.h, which only grows */
	unsigned char kind;	/* of a call that does the same */
	const char *name;
};

/* Not among them: sockets, polls, timeouts, the ring's own affairs, and commands of drivers. */
static const struct request list[] = {
	{ 1, OP_READ, "readv" },
	{ 2, OP_WRITE, "writev" },
	{ 3, OP_FSYNC, "fsync" },
	{ 4, OP_READ, "read_fixed" },
	{ 5, OP_WRITE, "write_fixed" },
	{ 8, OP_FSYNC, "sync_file_range" },
	{ 17, OP_META, "fallocate" },
	{ 18, OP_OPEN, "openat" },
	{ 19, OP_CLOSE, "close" },
	{ 21, OP_META, "statx" },
	{ 22, OP_READ, "read" },
	{ 23, OP_WRITE, "write" },
	{ 24, OP_META, "fadvise" },
	{ 28, OP_OPEN, "openat2" },
	{ 30, OP_COPY, "splice" },
	{ 35, OP_META, "renameat" },
	{ 36, OP_META, "unlinkat" },
	{ 37, OP_META, "mkdirat" },
	{ 38, OP_META, "symlinkat" },
	{ 39, OP_META, "linkat" },
	{ 41, OP_META, "fsetxattr" },
	{ 42, OP_META, "setxattr" },
	{ 43, OP_META, "fgetxattr" },
	{ 44, OP_META, "getxattr" },
	{ 55, OP_META, "ftruncate" },
	{ 60, OP_READ, "readv_fixed" },
	{ 61, OP_WRITE, "writev_fixed" },
};

enum { LIST_N = sizeof(list) / sizeof(*list) };

static const struct request *find(unsigned short call)
{
	for (size_t i = 0; call & CALL_URING && i < LIST_N; i++)
		if (list[i].opcode == (call & ~CALL_URING))
			return &list[i];
	return NULL;
}

void uring_fill(unsigned char kinds[URING_OPS])
{
	memset(kinds, OP_NONE, URING_OPS);
	for (size_t i = 0; i < LIST_N; i++)
		kinds[list[i].opcode] = list[i].kind;
}

unsigned int uring_acts(unsigned int kind, unsigned short call)
{
	const struct request *r = kind == OP_URING ? find(call) : NULL;

	return r ? r->kind : kind;
}

unsigned int uring_layers(unsigned int kind, unsigned short call)
{
	unsigned int acts = uring_acts(kind, call);

	return kind != OP_URING || acts == OP_READ || acts == OP_WRITE ? acts : OP_NONE;
}

const char *uring_call_name(unsigned short call)
{
	const struct request *r = find(call);

	return r ? r->name : NULL;
}
