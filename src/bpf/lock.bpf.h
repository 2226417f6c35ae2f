/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lock.bpf.h - waits for the kernel's own locks: of an inode, a journal, a frozen file system.
 *
 * Who writes what. The lock and the longest wait belong to the operation, so its thread writes
 * them, and the CPU that switches to it. The waker is part of the waking; see wait.bpf.h.
 */
#ifndef IOSTRATA_LOCK_BPF_H
#define IOSTRATA_LOCK_BPF_H

#include "task.bpf.h"

/* flags of contention_begin(); see include/trace/events/lock.h */
enum { LCB_F_SPIN = 1 };

/*
 * Current begins to wait for @lock: until it has it, it may sleep several times, and spin for locks
 * of the lock's own. What spins stays on its CPU and is of no interest.
 */
static __always_inline void lock_wanted(u64 lock, u32 flags)
{
	struct task_state *t;

	if (flags & LCB_F_SPIN)
		return;
	t = current_lookup();
	if (!t || !t->op.stage)
		return;
	t->op.lock = lock;
	barrier();
	t->op.locked = 1;
}

static __always_inline void lock_taken(u64 lock)
{
	struct task_state *t = current_lookup();

	if (t && t->op.stage && t->op.locked && t->op.lock == lock)
		t->op.locked = 0;
}

/* Notes who wakes a thread, and what it does itself: current, unless an interrupt came. */
static __always_inline void waker_note(struct waker *w, u32 level)
{
	struct task_state *t = current_lookup();
	u64 id = level ? 0 : current_pid_tgid();
	u32 stage = t && id ? t->op.stage : 0;

	__builtin_memset(w, 0, sizeof(*w));
	w->pid = id >> 32;
	w->tid = id;
	if (id)
		bpf_get_current_comm(w->comm, sizeof(w->comm));
	if (stage) {
		w->op = t->op.kind;
		w->stratum = stage >> 8;
	}
}

/* Charges the wait for a lock that @waker let go at @wake; its longest is kept for the record. */
static __always_inline void lock_waited(struct op *op, const struct waker *waker, u64 wake)
{
	u64 waited = positive(wake - op->at[AT_CHARGED]);

	op_charge(op, ST_LOCK, wake);
	if (!CONF(records) || (op->lock_held && op->lock_ns >= waited))
		return;
	op->lock_ns = waited;
	op->lock_holder = *waker;
	op->lock_held = 1;
}

#endif
