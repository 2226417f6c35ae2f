/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * aio.bpf.h - an operation of libaio (see async.bpf.h): an iocb, from io_submit() to its event.
 *
 * The submitting thread executes the iocb in aio_read(), aio_write() or aio_fsync(). If the
 * function returns an error, the kernel has not taken the iocb, and no event follows. Otherwise the
 * iocb is done when the function returns, or when its bios complete; a kernel worker completes an
 * fsync.
 *
 * io_submit() and the code ending the iocb each hold a reference. Whichever drops the last
 * reference calls aio_complete(). So aio_complete() runs after the thread has parked the operation,
 * and the two never write at the same time.
 */
#ifndef IOSTRATA_AIO_BPF_H
#define IOSTRATA_AIO_BPF_H

#include "async.bpf.h"
#include "function.bpf.h"

enum { IOCB_CMD_PREAD = 0, IOCB_CMD_PWRITE = 1 };

/* Notes descriptor, offset and length. Only records and patterns need them. The kernel's copy of a
 * vectored iocb has no length in bytes. */
static __always_inline void aio_note_range(struct op *op, const struct iocb *iocb, u32 opcode,
					   u8 acts)
{
	struct file *file = (struct file *)op->file.file;

	op->fd = BPF_CORE_READ(iocb, aio_fildes);
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	if (acts != OP_FSYNC)
		op->offset = BPF_CORE_READ(iocb, aio_offset);
	if (acts == OP_WRITE && (BPF_CORE_READ(file, f_flags) & O_APPEND ||
				 BPF_CORE_READ(iocb, aio_rw_flags) & RWF_APPEND))
		op->offset = OFFSET_UNKNOWN;
	if (opcode <= IOCB_CMD_PWRITE)
		op->len = BPF_CORE_READ(iocb, aio_nbytes);
}

/* Current submits an iocb. @copy: the kernel's copy of the iocb. @key: its struct aio_kiocb. For
 * any iocb, this begins with a pointer to the file. An iocb submitted before all probes are live is
 * ignored, since its end might be missed. */
GLOBAL int aio_begins(u64 key, u64 copy, u32 acts)
{
	const struct iocb *iocb = (const void *)copy;
	u64 now = bpf_ktime_get_ns();
	struct task_state *t;
	u32 opcode, at;

	if (!live.since_ns || !current_wanted(bpf_get_current_pid_tgid()))
		return 0;
	t = task_get(current_task());
	if (!t)
		return 0;
	if (async_executes(t)) /* the return of its function was missed */
		async_park(t, now, false);
	row_clear(&t->op.file);
	if (!async_set_file(&t->op, BPF_CORE_READ((struct kiocb *)key, ki_filp)))
		return 0;
	at = async_new(key, now);
	if (!at)
		return 0;
	opcode = BPF_CORE_READ(iocb, aio_lio_opcode);
	if (offsets_wanted())
		aio_note_range(&t->op, iocb, opcode, acts);
	t->uring_polls = 0;
	async_begins(t, key, at, OP_AIO, acts, CALL_AIO | opcode, now);
	return 0;
}

/* The iocb in slot @u is over, and the kernel frees its memory. */
static __always_inline void aio_over(struct async_op *u, u64 now)
{
	async_over(u, now);
	u->req = ASYNC_GONE;
}

/* Current executed an iocb in aio_read(), aio_write() or aio_fsync(), now returning @ret. */
GLOBAL int aio_executed(u32 acts, u32 ret)
{
	struct task_state *t = current_lookup();
	u64 now = bpf_ktime_get_ns();
	struct async_op *u;

	if (!async_executes(t) || t->op.kind != OP_AIO)
		return 0;
	if (!ret)
		async_park(t, now, false);
	t->op.stage = 0;
	u = async_find(t->async);
	if (u && ret)
		aio_over(u, now);
	else if (u && acts == OP_FSYNC)
		u->queued = 1;
	return 0;
}

/* How the iocb in slot @u ends, in any context. @same: current submitted this iocb last. A kernel
 * thread outside the completion of the iocb's last bio had work to do after that bio: O_DSYNC,
 * unwritten extents. */
static __always_inline enum async_end aio_how(const struct async_op *u, bool same, u64 now)
{
	if (is_helper(current_flags()) && (u->queued || !mark_is_of(u->last.times.c, now)))
		return ENDS_BY_WORKER;
	return same ? ENDS_AT_ONCE : ENDS_LATER;
}

/* The result of the completing iocb whose struct aio_kiocb is @key. */
static __always_inline long aio_result(u64 key)
{
	return BPF_CORE_READ((struct aio_kiocb *)key, ki_res.res);
}

/* The iocb whose struct aio_kiocb is @key completes. An interrupt may end an iocb while this
 * program runs in a thread to end another iocb. The kernel then refuses to run the program again,
 * and its backup on the same function runs instead. Otherwise the backup finds nothing left to
 * do. */
static __always_inline void aio_completed(u64 key)
{
	u32 at = async_slot(key);
	struct async_op *u = async_find_at(key, at);
	u64 now = bpf_ktime_get_ns();
	struct task_state *t;
	long ret;
	bool same;

	if (!u)
		return;
	t = current_lookup();
	same = t && t->async == key && u->task == t->task;
	ret = aio_result(key);
	if (same && async_executes(t)) /* the return of its function was missed */
		async_park(t, now, false);
	if (same)
		t->async = 0;
	if (u->op.stage)
		async_ends(at, aio_how(u, same, now), ret, now);
	aio_over(u, now);
}

#endif
