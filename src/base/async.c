// SPDX-License-Identifier: GPL-2.0-only
#include "base/async.h"

#include <stddef.h>
#include <string.h>

#include "base/protocols.h"
#include "cell.h"

struct request {
	unsigned char opcode; /* of linux/io_uring.h or linux/aio_abi.h; never renumbered */
	unsigned char kind;   /* of a call that does the same */
	const char *name;
};

/* Left out: sockets, polls, timeouts, management of the ring, and commands of drivers. */
static const struct request uring_list[] = {
	{ 1, OP_READ, "readv" },          { 2, OP_WRITE, "writev" },
	{ 3, OP_FSYNC, "fsync" },         { 4, OP_READ, "read_fixed" },
	{ 5, OP_WRITE, "write_fixed" },   { 8, OP_META, "sync_file_range" },
	{ 17, OP_META, "fallocate" },     { 18, OP_OPEN, "openat" },
	{ 19, OP_CLOSE, "close" },        { 21, OP_META, "statx" },
	{ 22, OP_READ, "read" },          { 23, OP_WRITE, "write" },
	{ 24, OP_META, "fadvise" },       { 28, OP_OPEN, "openat2" },
	{ 30, OP_COPY, "splice" },        { 35, OP_META, "renameat" },
	{ 36, OP_META, "unlinkat" },      { 37, OP_META, "mkdirat" },
	{ 38, OP_META, "symlinkat" },     { 39, OP_META, "linkat" },
	{ 41, OP_META, "fsetxattr" },     { 42, OP_META, "setxattr" },
	{ 43, OP_META, "fgetxattr" },     { 44, OP_META, "getxattr" },
	{ 55, OP_META, "ftruncate" },     { 60, OP_READ, "readv_fixed" },
	{ 61, OP_WRITE, "writev_fixed" },
};

/* Numbers of IOCB_CMD_...; polls are no operations. */
static const struct request aio_list[] = {
	{ 0, OP_READ, "pread" },   { 1, OP_WRITE, "pwrite" }, { 2, OP_FSYNC, "fsync" },
	{ 3, OP_FSYNC, "fdsync" }, { 7, OP_READ, "preadv" },  { 8, OP_WRITE, "pwritev" },
};

enum {
	URING_N = sizeof(uring_list) / sizeof(*uring_list),
	AIO_N = sizeof(aio_list) / sizeof(*aio_list),
};

static const struct request *find_in(const struct request *list, size_t n, unsigned int opcode)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].opcode == opcode)
			return &list[i];
	return NULL;
}

static const struct request *find(unsigned short call)
{
	if (call & CALL_COMPAT)
		return NULL;
	if (call & CALL_URING)
		return find_in(uring_list, URING_N, call & ~CALL_URING);
	return call & CALL_AIO ? find_in(aio_list, AIO_N, call & ~CALL_AIO) : NULL;
}

void async_uring_kinds(unsigned char kinds[URING_OPS])
{
	memset(kinds, OP_NONE, URING_OPS);
	for (size_t i = 0; i < URING_N; i++)
		kinds[uring_list[i].opcode] = uring_list[i].kind;
}

unsigned int async_acts(unsigned int kind, unsigned short call)
{
	const struct request *r = async_is_request(kind, call) ? find(call) : NULL;

	return r ? r->kind : kind;
}

bool async_is_request(unsigned int kind, unsigned short call)
{
	return kind == OP_URING || (kind == OP_AIO && call & CALL_AIO);
}

bool async_is_by_call(unsigned int kind, unsigned short call)
{
	return kind == OP_URING || kind == OP_AIO || kind == OP_OUTSIDE ||
	       (kind == OP_FAULT && call != CALL_FAULT);
}

unsigned int async_layers(unsigned int kind, unsigned short call)
{
	unsigned int acts = async_acts(kind, call);

	if (async_is_request(kind, call) && acts != OP_READ && acts != OP_WRITE)
		return OP_NONE;
	return acts;
}

unsigned int async_unmeasured(unsigned int kind, unsigned short call)
{
	return kind == OP_AIO && call & CALL_AIO ? 1U << ST_REAP : 0;
}

/* Names of page faults, by the bits beside CALL_FAULT. */
static const char *const fault_names[FAULT_CALLS] = {
	"page_fault",   "swap_in",        "swap_out",        NULL,
	"kernel_fault", "kernel_swap_in", "kernel_swap_out", NULL,
};

const char *async_call_name(unsigned short call)
{
	const struct request *r = find(call);

	if ((call & ~(FAULT_CALLS - 1)) == CALL_FAULT)
		return fault_names[call & (FAULT_CALLS - 1)];
	if (call == CALL_URING_ENTER)
		return "io_uring_enter";
	if (call == CALL_SERVED || (call & ~0xff) == (CALL_SERVED | CALL_SMB))
		return served_call_name(call);
	return r ? r->name : NULL;
}
