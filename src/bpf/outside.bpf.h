/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * outside.bpf.h - sleeps for storage in no other operation: each is an operation. It has the time
 * from the switch away from the thread to the switch back.
 *
 * Examples are the closing of files and the end of memory when a thread exits, a core dump, the
 * work that a thread does after a call's exit event (the end of umount(): task work), and
 * calls that are in no table. The kernel tells the beginning of few of these, so every
 * uninterruptible sleep of a thread without an operation begins as one; so does a sleep after a
 * request to a server. The operation counts only if its sleep was for storage: the waker completed
 * a request, or worked for one, or wrote dirty pages back (the thread's own sync waits so in
 * umount()), or the kernel itself calls the sleep one for I/O (in_iowait).
 * Others are forgotten: of vfork(), and for semaphores and RCU.
 *
 * A thread that has exited keeps its state until the kernel frees its task_struct.
 *
 * All runs in sched_switch, with the run-queue lock held, and allocates nothing. The operation
 * begins while the thread is current, and ends while another is: the thread's own names come from
 * its task_struct.
 */
#ifndef IOSTRATA_OUTSIDE_BPF_H
#define IOSTRATA_OUTSIDE_BPF_H

#include "call.bpf.h"
#include "wait.bpf.h"

/* Bits of task_state_bits(), and of task_struct.flags. */
enum { SLEEP_NOT_INTERRUPTED = 2, SLEEP_NO_LOAD = 0x400 };
enum { PF_DUMPCORE = 0x200 };

/* Whether the sleep of current, which is @p and in no operation, may be for storage. */
static __always_inline bool outside_may_wait(const struct task_state *t, struct task_struct *p)
{
	u32 bits = task_state_bits(p) & (SLEEP_NOT_INTERRUPTED | SLEEP_NO_LOAD);

	return CONF(outside) && (bits == SLEEP_NOT_INTERRUPTED || t->asked);
}

/* The kind of a sleep of a thread with these flags. */
static __always_inline u32 outside_kind(u32 flags)
{
	if (flags & PF_DUMPCORE)
		return OP_CORE;
	return flags & PF_EXITING ? OP_EXIT : OP_OUTSIDE;
}

/* Current, which is in no operation, leaves its CPU at @now to sleep. */
GLOBAL int outside_begins(u64 now)
{
	struct task_state *t = CONF(outside) ? current_lookup() : NULL;
	u32 kind = outside_kind(current_flags());
	struct segments *list;
	struct pt_regs *regs;
	struct op *op;

	if (!t || t->op.stage || !(CONF(outside) >> (kind - OP_EXIT) & 1) || !current_passes())
		return 0;
	op = &t->op;
	regs = current_regs();
	op->call = (REGS_CALL(regs) % CALL_MAX) | (call_is_compat(regs) ? CALL_COMPAT : 0);
	op->kind = kind;
	op->acts = current_in_iowait();
	row_clear(&op->file);
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	op->fd = -1;
	op->start = op->at[AT_CHARGED] = now;
	op->flags = 0;
	op->settled = 1;
	__builtin_memset(op->strata, 0, sizeof(op->strata));
	list = op_segment_list(op);
	if (list)
		list->n = list->merged = 0;
	if (t->asked) {
		op_asked_server(op);
		t->asked = 0;
	}
	wait_begin(&t->wait, true, now);
	barrier();
	op->stage = STAGE(OP_SLEEPS, ST_SYSCALL, 0, 0);
	return 0;
}

/* Whether the sleep @op was for storage. */
static __always_inline bool outside_counts(const struct op *op)
{
	const u64 *st = op->strata;

	return st[ST_THROTTLE] | st[ST_TAG] | st[ST_QUEUE] | st[ST_DEVICE] | st[ST_COMPLETE] |
	       st[ST_SERVER] | op->acts;
}

/* The file of each such operation: a constant, or on_sched_switch() has no stack left for the
 * functions that name files. */
static const struct file_info no_file = { .fs = FS_UNKNOWN };

_Static_assert(sizeof(struct sent_who) <= sizeof(struct waker), "one has room for the other");

/* The sleep of the thread with the task_struct @task is over: the thread has its CPU again. */
GLOBAL int outside_ends(u64 task)
{
	struct task_state *t = CONF(outside) ? task_lookup(task) : NULL;
	struct task_struct *p = (struct task_struct *)task;
	struct op_end end = {};
	struct sent_who *who;
	struct op *op;

	if (!t || t->op.progress != OP_SLEEPS)
		return 0;
	op = &t->op;
	op->stage = 0;
	if (!outside_counts(op) && !t->waking.written)
		return 0;
	if (CONF(op_owner)) {
		/* not on the stack, which has no room: the operation waited for no known lock */
		who = (struct sent_who *)&op->lock_holder;
		who->pid = t->id >> 32;
		who->tid = t->id;
		who->cgroup = BPF_CORE_READ(p, cgroups, dfl_cgrp, kn, id);
		bpf_core_read(who->comm, sizeof(who->comm), &p->comm);
		end.who = who;
	}
	end.file = &no_file;
	end.cpu = op->strata;
	end.acts = op->kind;
	end.total = op->at[AT_CHARGED] - op->start;
	end.what = ROW_WHAT(op->kind == OP_OUTSIDE ? op->call : 0, (u32)op->kind, 0);
	op_keep(op, &end, &t->row_slot, false);
	return 0;
}

#endif
