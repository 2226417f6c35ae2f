// SPDX-License-Identifier: GPL-2.0-only
#include "export/otf2_handles.h"

#include <string.h>

/* @open_flags as in asm-generic/fcntl.h. */
static OTF2_IoStatusFlag status_flags(uint64_t open_flags)
{
	return (open_flags & 02000 ? OTF2_IO_STATUS_FLAG_APPEND : 0) |
	       (open_flags & 04000 ? OTF2_IO_STATUS_FLAG_NON_BLOCKING : 0) |
	       (open_flags & 010000 ? OTF2_IO_STATUS_FLAG_DATA_SYNC : 0) |
	       (open_flags & 040000 ? OTF2_IO_STATUS_FLAG_AVOID_CACHING : 0);
}

/* Commands of fcntl(), and types of locks. */
enum {
	DUPFD = 0,
	SETFL = 4,
	SETLK = 6,
	SETLKW = 7,
	SETLK64 = 13,
	SETLKW64 = 14, /* of 32-bit calls */
	OFD_SETLK = 37,
	OFD_SETLKW = 38,
	DUPFD_CLOEXEC = 1030,
	RDLCK = 0,
	UNLCK = 2, /* types of locks */
};

/* Operations of flock(). */
enum { FLOCK_SH = 1, FLOCK_UN = 8 };

static void destroy_put(struct exporting *x, size_t l, uint32_t handle, uint64_t ns)
{
	if (handle == NO_HANDLE)
		return;
	otf2_note(&x->a, OTF2_EvtWriter_IoDestroyHandle(x->a.locations[l].w, NULL,
							otf2_time(&x->a, l, ns), handle));
}

static void open_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid,
		     uint64_t end_ns)
{
	uint32_t handle;

	/* the close of the old handle was not recorded, or has not returned */
	destroy_put(x, l, otf2_handle_end(x, pid, op->fd), end_ns);
	handle = otf2_handle_begin(x, op, pid, end_ns);
	otf2_note(&x->a, OTF2_EvtWriter_IoCreateHandle(
				 x->a.locations[l].w, NULL, otf2_time(&x->a, l, end_ns), handle,
				 otf2_access_mode(op->open_flags), OTF2_IO_CREATION_FLAG_NONE,
				 status_flags(op->open_flags)));
}

static void close_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid)
{
	if (!otf2_handle_is_newer(x, op, pid) && otf2_handle_of(x, op, pid) != NO_HANDLE)
		destroy_put(x, l, otf2_handle_end(x, pid, op->fd), op->start_ns);
}

/* The returned descriptor is closed first if open. */
static void dup_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid,
		    uint64_t end_ns)
{
	uint32_t from = otf2_handle_of(x, op, pid), to;
	struct stored_op made = *op;

	made.fd = op->ret;
	if (from == NO_HANDLE || made.fd == op->fd)
		return;
	destroy_put(x, l, otf2_handle_end(x, pid, made.fd), end_ns);
	to = otf2_handle_begin(x, &made, pid, end_ns);
	otf2_note(&x->a, OTF2_EvtWriter_IoDuplicateHandle(x->a.locations[l].w, NULL,
							  otf2_time(&x->a, l, end_ns), from, to,
							  status_flags(op->open_flags)));
}

/* The same for a call that closes the file of the returned descriptor, and is an operation on that
 * file. The descriptor's own file is known if one of its operations was recorded. */
static void dup_over_put(struct exporting *x, size_t l, const struct stored_op *op,
			 unsigned int pid, uint64_t end_ns)
{
	struct stored_op from = *op;

	from.file = otf2_handle_file(x, pid, op->fd);
	if (from.file)
		dup_put(x, l, &from, pid, end_ns);
	else
		destroy_put(x, l, otf2_handle_end(x, pid, op->ret), end_ns);
}

static void seek_put(struct exporting *x, size_t l, const struct stored_op *op, uint32_t handle,
		     uint64_t end_ns)
{
	static const OTF2_IoSeekOption whence[] = {
		OTF2_IO_SEEK_FROM_START, OTF2_IO_SEEK_FROM_CURRENT, OTF2_IO_SEEK_FROM_END,
		OTF2_IO_SEEK_DATA,       OTF2_IO_SEEK_HOLE,
	};

	if (handle == NO_HANDLE || op->offset >= sizeof(whence) / sizeof(*whence))
		return;
	otf2_note(&x->a,
		  OTF2_EvtWriter_IoSeek(x->a.locations[l].w, NULL, otf2_time(&x->a, l, end_ns),
					handle, op->len, whence[op->offset], op->ret));
}

static void flags_put(struct exporting *x, size_t l, const struct stored_op *op, uint32_t handle,
		      uint64_t end_ns)
{
	if (handle == NO_HANDLE)
		return;
	otf2_note(&x->a, OTF2_EvtWriter_IoChangeStatusFlags(x->a.locations[l].w, NULL,
							    otf2_time(&x->a, l, end_ns), handle,
							    status_flags(op->offset)));
}

/* A lock of kind @wanted, or for NO_LOCK the release of a lock. The release is written with the
 * kind of its lock. */
static void lock_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid,
		     uint64_t end_ns, OTF2_LockType wanted)
{
	uint32_t handle = otf2_handle_of(x, op, pid);
	OTF2_LockType *held;
	OTF2_EvtWriter *w = x->a.locations[l].w;
	uint64_t ns = otf2_time(&x->a, l, end_ns);
	bool failed = (int64_t)op->ret < 0;

	held = otf2_handle_lock(x, pid, op->fd);
	if (handle == NO_HANDLE || !held || (failed && wanted == NO_LOCK))
		return;
	if (failed) {
		otf2_note(&x->a, OTF2_EvtWriter_IoTryLock(w, NULL, ns, handle, wanted));
		return;
	}
	if (*held != NO_LOCK)
		otf2_note(&x->a, OTF2_EvtWriter_IoReleaseLock(w, NULL, ns, handle, *held));
	if (wanted != NO_LOCK)
		otf2_note(&x->a, OTF2_EvtWriter_IoAcquireLock(w, NULL, ns, handle, wanted));
	*held = wanted;
}

/* The kind of the lock by the type of fcntl(2). */
static OTF2_LockType fcntl_lock(uint64_t type)
{
	if (type == UNLCK)
		return NO_LOCK;
	return type == RDLCK ? OTF2_LOCK_SHARED : OTF2_LOCK_EXCLUSIVE;
}

/* The kind of the lock by the operation of flock(2). */
static OTF2_LockType flock_lock(uint64_t operation)
{
	if (operation & FLOCK_UN)
		return NO_LOCK;
	return operation & FLOCK_SH ? OTF2_LOCK_SHARED : OTF2_LOCK_EXCLUSIVE;
}

static void fcntl_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid,
		      uint64_t end_ns)
{
	switch (op->len) {
	case SETLK:
	case SETLKW:
	case SETLK64:
	case SETLKW64:
	case OFD_SETLK:
	case OFD_SETLKW:
		if (op->offset != ~0ULL) /* else the type of the lock is not known */
			lock_put(x, l, op, pid, end_ns, fcntl_lock(op->offset));
		break;
	case DUPFD:
	case DUPFD_CLOEXEC:
		if ((int64_t)op->ret >= 0)
			dup_put(x, l, op, pid, end_ns);
		break;
	case SETFL:
		if ((int64_t)op->ret >= 0)
			flags_put(x, l, op, otf2_handle_of(x, op, pid), end_ns);
		break;
	}
}

bool otf2_handle_closes_first(struct exporting *x, const struct stored_op *op)
{
	const char *call = op->kind == OP_CLOSE ? x->call_name(op->call) : "dup";

	return !call || strncmp(call, "dup", 3) != 0;
}

void otf2_handle_put(struct exporting *x, size_t l, const struct stored_op *op, unsigned int pid,
		     uint64_t end_ns)
{
	bool changes = op->kind == OP_HANDLE || op->kind == OP_LOCK || op->kind == OP_META;
	const char *call = changes ? x->call_name(op->call) : NULL;

	if (call && !strcmp(call, "fcntl"))
		fcntl_put(x, l, op, pid, end_ns);
	else if (call && !strcmp(call, "flock"))
		lock_put(x, l, op, pid, end_ns, flock_lock(op->len));
	else if ((int64_t)op->ret < 0)
		return;
	else if (op->kind == OP_OPEN && op->file)
		open_put(x, l, op, pid, end_ns);
	else if (otf2_handle_closes_first(x, op))
		close_put(x, l, op, pid);
	else if (op->kind == OP_CLOSE)
		dup_over_put(x, l, op, pid, end_ns);
	else if (call && !strcmp(call, "lseek"))
		seek_put(x, l, op, otf2_handle_of(x, op, pid), end_ns);
	else if (op->kind == OP_HANDLE)
		dup_put(x, l, op, pid, end_ns);
}
