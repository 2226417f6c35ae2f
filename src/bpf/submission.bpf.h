/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * submission.bpf.h - which requests of io_uring and libaio have their stack taken. The stack is
 * that of the call that submitted them: a thread's stack in user space stands still in a call, so
 * on_stack() takes it once, as the call ends. A request is told when it is done; user space brings
 * both together.
 *
 * Nobody knows at the submission how long a request will take. So each is drawn with the same
 * probability, and stands for the inverse of it. Only its thread writes @submits, @only_submits and
 * @submission of a thread's state, in its call.
 */
#ifndef IOSTRATA_SUBMISSION_BPF_H
#define IOSTRATA_SUBMISSION_BPF_H

#include "op.bpf.h"

static __always_inline void stack_count_lost(u64 total)
{
	atomic_add(&live.stacks_lost, 1);
	atomic_add(&live.stacks_lost_ns, total);
}

/* Fills the members that belong to the operation. */
static __always_inline void stack_fill_op(struct sent_stack *s, const struct op *op,
					  const struct op_taken *taken)
{
	s->kind = op->kind;
	s->call = op->call;
	s->file.key = file_key_of(&op->file);
	s->file.ino = op->file.ino;
	s->fs = op->file.fs;
	s->start_ns = op->start;
	s->total_ns = taken->total;
	s->threshold_ns = taken->threshold;
	s->ret = taken->ret;
	s->device_bytes = op->own_reads ? op->device_bytes : 0;
	for (u32 st = 0; st < ST_N; st++)
		s->strata[st] = op->strata[st];
}

/* Current begins to execute the request in slot @u, which it submits: draws it. A worker or a
 * polling thread of io_uring has no stack. */
static __always_inline void submission_draw(struct task_state *t, struct async_op *u)
{
	u32 each = live.stack_requests;

	u->stack_weight = 0;
	u->submission = 0;
	if ((u64)bpf_get_prandom_u32() * each >> 32)
		return;
	u->stack_weight = each ?: 1;
	if (current_flags() & PF_IO_WORKER)
		return;
	u->submission = t->submission + 1;
	t->submits += t->submits < 0xffff;
}

/* The call that submitted drawn requests ends; its stack was taken, or found no room. */
static __always_inline void submission_over(struct task_state *t)
{
	t->submits = 0;
	t->submission++;
}

/* Sends the drawn request in slot @u, which is done. It took @total ns and returns @ret. */
static __always_inline void submission_send_request(const struct async_op *u, u64 total, long ret)
{
	struct op_taken taken = { total, total * u->stack_weight, ret };
	struct sent_stack *s;

	s = bpf_ringbuf_reserve(&stacks, __builtin_offsetof(struct sent_stack, frames), 0);
	if (!s) {
		stack_count_lost(total);
		return;
	}
	s->what = SENT_SUBMITTED;
	s->end = u->submission ? STACK_WHOLE : STACK_BY_KERNEL;
	s->by_frame_pointers = 0;
	s->n = 0;
	s->who = u->who;
	s->submission = u->submission;
	s->submitted = 0;
	s->process_start = 0;
	stack_fill_op(s, &u->op, &taken);
	bpf_ringbuf_submit(s, 0);
}

#endif
