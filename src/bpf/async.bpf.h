/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * async.bpf.h - an operation that need not be a thread's: a request of io_uring or libaio, from its
 * submission to its completion, whoever works on it.
 *
 * While the thread that submits a request executes it, the operation is that thread's, as that of a
 * call would be, and its time is charged in the same way. When the thread goes on to something else
 * or leaves the request to a worker, the operation is parked in async_ops. What happened since then
 * is told by the times of its own last bio, or by the waits of the worker, and is charged when the
 * request completes.
 *
 * Who writes what. An operation has one owner at a time: the thread that executes it, or, while it
 * is parked, whoever resumes, queues or completes it, which io_uring and libaio order. A worker
 * that submits bios writes the members for that, and completions of bios, on any CPU, write @last.
 *
 * When it begins is in uring.bpf.h and aio.bpf.h, its end in async_done.bpf.h.
 */
#ifndef IOSTRATA_ASYNC_BPF_H
#define IOSTRATA_ASYNC_BPF_H

#include "async_bio.bpf.h"
#include "op.bpf.h"
#include "wait.bpf.h"

/* Whether @t executes a request. */
static __always_inline bool async_executes(const struct task_state *t)
{
	return t && t->op.progress == OP_ASYNC;
}

/* Current has stopped to execute its request; @vague: at some time before now. */
static __always_inline void async_park(struct task_state *t, u64 now, bool vague)
{
	struct async_op *u = async_find(t->async);
	u32 stage = t->op.stage;

	t->op.stage = 0;
	barrier();
	/* its end was not seen, and another's entry may be there by now */
	if (!u || u->task != t->task || u->begun != t->op.start) {
		count_lost(LOST_UNMATCHED_START);
		return;
	}
	u->op = t->op;
	u->parked = now;
	u->batch = t->async_batch;
	u->vague = vague;
	u->op.stage = stage;
}

/* Current, which has called io_uring_enter() or io_submit(), leaves it, or waits for
 * completions. */
GLOBAL int async_batch_ends(void)
{
	struct task_state *t = CONF(async) ? current_lookup() : NULL;

	if (async_executes(t))
		async_park(t, bpf_ktime_get_ns(), false);
	if (t)
		t->async_batch++;
	return 0;
}

/* Whose request it is: current's. Threads of io_uring are known by their process's name. */
static __always_inline void async_set_owner(struct sent_who *who)
{
	struct task_struct *task = (void *)current_task();

	if (!CONF(op_owner))
		return;
	who_set(who, NULL);
	if (CONF(by) == BY_PID || current_flags() & PF_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&who->comm, task, group_leader, comm);
}

/* Sets the file of an operation; false: it is not traced. NULL: it has none, or none is known. */
static __always_inline bool async_set_file(struct op *op, struct file *file)
{
	struct open_file f;

	if (!file)
		return !file_filtered();
	f = file_look(file, false);
	if (!mode_wanted(f.mode) || !file_learn(&op->file, f, false))
		return false;
	op->file.direct = !!(BPF_CORE_READ(file, f_flags) & O_DIRECT);
	return true;
}

/* An entry for @req, all 0; NULL: no room. One that is left at this address is of a request whose
 * end was not seen. */
static __always_inline struct async_op *async_new(u64 req)
{
	struct async_op *u;

	if (bpf_map_update_elem(&async_ops, &req, zeroes, BPF_NOEXIST)) {
		u = async_find(req);
		if (!u || u->task)
			count_lost(u ? LOST_UNMATCHED_START : LOST_MAP_FULL);
		if (!u || bpf_map_update_elem(&async_ops, &req, zeroes, BPF_EXIST))
			return NULL;
	}
	return async_find(req);
}

/* Current begins to execute request @key, whose entry is @u. It does what calls of kind @acts do;
 * the file is set. */
static __always_inline void async_begins(struct task_state *t, struct async_op *u, u64 key, u8 kind,
					 u8 acts, u16 call, u64 now)
{
	u->task = t->task;
	u->begun = now;
	async_set_owner(&u->who);
	t->op.acts = acts;
	t->op.call = call;
	t->async = key;
	op_start(&t->op, kind, OP_ASYNC, now);
}

#endif
