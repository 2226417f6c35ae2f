/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * aio.bpf.h - an operation of libaio (see async.bpf.h): an iocb, from io_submit() to its event.
 *
 * The thread executes it in aio_read(), aio_write() or aio_fsync(). If these return an error, the
 * iocb was not taken and there is no event. Else it is done when they return, or the completion of
 * its bios ends it, or, of an fsync, a kernel worker. io_submit() and whoever ends it each hold a
 * reference, and who drops the last calls aio_complete(): so that comes after the thread has parked
 * the operation, and the two never write at once.
 */
#ifndef IOSTRATA_AIO_BPF_H
#define IOSTRATA_AIO_BPF_H

#include "async.bpf.h"
#include "function.bpf.h"

enum { IOCB_CMD_PREAD = 0, IOCB_CMD_PWRITE = 1 };

/* Notes what only records show. Of vectors, the kernel's copy does not tell the length. */
static __always_inline void aio_note_range(struct op *op, const struct iocb *iocb, u32 opcode,
					   u8 acts)
{
	op->fd = BPF_CORE_READ(iocb, aio_fildes);
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	if (acts != OP_FSYNC)
		op->offset = BPF_CORE_READ(iocb, aio_offset);
	if (opcode <= IOCB_CMD_PWRITE)
		op->len = BPF_CORE_READ(iocb, aio_nbytes);
}

/* Current submits an iocb, whose copy in the kernel is at @copy, and its struct aio_kiocb at @key.
 * That begins with its file, whatever it does. What begins before all probes are live is left out,
 * since its end might not be seen. */
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
	if (async_executes(t)) /* the return of its function was not seen */
		async_park(t, now, false);
	row_clear(&t->op.file);
	if (!async_set_file(&t->op, BPF_CORE_READ((struct kiocb *)key, ki_filp)))
		return 0;
	at = async_new(key, now);
	if (!at)
		return 0;
	opcode = BPF_CORE_READ(iocb, aio_lio_opcode);
	if (CONF(records) || CONF(sent_ops))
		aio_note_range(&t->op, iocb, opcode, acts);
	t->uring_polls = 0;
	async_begins(t, key, at, OP_AIO, acts, CALL_AIO | opcode, now);
	return 0;
}

/* The iocb in slot @u is over, and the kernel gives its memory back. */
static __always_inline void aio_over(struct async_op *u, u64 now)
{
	async_over(u, now);
	u->req = ASYNC_GONE;
}

/* The function that current executes an iocb in returns @ret. */
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

/* How the iocb ends whose entry is @u, in any context. @same: current's last. A kernel thread that
 * is not completing its last bio right now had work to do after that: O_DSYNC, unwritten extents.
 */
static __always_inline enum async_end aio_how(const struct async_op *u, bool same, u64 now)
{
	if (is_helper(current_flags()) && (u->queued || !mark_is_of(u->last.times.c, now)))
		return ENDS_BY_WORKER;
	return same ? ENDS_AT_ONCE : ENDS_LATER;
}

/* The iocb behind @key completes. An interrupt may end one while a thread is in here to end
 * another, and then this program is refused. It has a backup on the same function, which otherwise
 * finds nothing left to do. */
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
	ret = BPF_CORE_READ((struct aio_kiocb *)key, ki_res.res);
	if (same && async_executes(t)) /* the return of its function was not seen */
		async_park(t, now, false);
	if (same)
		t->async = 0;
	if (u->op.stage)
		async_ends(u, at, aio_how(u, same, now), ret, now);
	aio_over(u, now);
}

#endif
