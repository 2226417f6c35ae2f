/* SPDX-License-Identifier: GPL-2.0-only */
/* hung.bpf.h - lists threads that wait, before anything is known of them by events. */
#ifndef IOSTRATA_HUNG_BPF_H
#define IOSTRATA_HUNG_BPF_H

#include "sleep_site.bpf.h"
#include "wait.bpf.h"

#define TASK_UNINTERRUPTIBLE 2 /* as in task_state_bits() */

/* Whether @task waits in connect() for the listener of a unix socket. The kernel leaves functions
 * of the scheduler out of the stack. */
static __always_inline bool task_connects(struct task_struct *task)
{
	u64 at = 0;

	if (!sites_are_known() || !(task_state_bits(task) & TASK_INTERRUPTIBLE))
		return false;
	bpf_get_task_stack(task, &at, sizeof(at), 0);
	return site_find(at) == SITE_CONNECT;
}

/* The call in which @task is, as in struct listed_task. */
static __always_inline int task_call(struct task_struct *task)
{
	struct pt_regs *regs;
	bool compat;
	u32 nr;

	if (!have_task_regs())
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = REGS_CALL(regs);
#ifdef COMPAT_FIELD
	compat = task->COMPAT_FIELD & COMPAT_BIT;
#else
	compat = regs_are_compat(regs);
#endif
	return nr < CALL_MAX ? (int)(nr | (compat ? CALL_COMPAT : 0)) : -1;
}

/* Whether @task has an operation in progress that the programs have seen begin. */
static __always_inline bool task_is_seen(struct task_struct *task)
{
	struct task_state *t = task_lookup((u64)task);

	return t && t->op.stage;
}

/*
 * Writes a struct listed_task for @task, if it is a thread of user space in an uninterruptible
 * wait, or in any wait while it looks up a path: FUSE lets its waits be interrupted. During a
 * look-up, the kernel has the path in task_struct.nameidata. Nothing is locked: a thread that goes
 * on meanwhile may have any path. A thread in connect() is listed, too, and so is one with an
 * operation in progress.
 */
static __always_inline void task_list(struct seq_file *seq, struct task_struct *task)
{
	struct listed_task listed = { .pid = task->tgid, .tid = task->pid };
	struct nameidata *lookup = BPF_CORE_READ(task, nameidata);
	u32 waits = TASK_UNINTERRUPTIBLE | (lookup ? TASK_INTERRUPTIBLE : 0);

	if (task->flags & PF_KTHREAD ||
	    (!(task_state_bits(task) & waits) && !task_connects(task) && !task_is_seen(task)))
		return;
	listed.call = task_call(task);
	if (lookup) {
		listed.dev = BPF_CORE_READ(lookup, path.mnt, mnt_sb, s_dev);
		bpf_probe_read_kernel_str(listed.path, sizeof(listed.path),
					  BPF_CORE_READ(lookup, name, name));
	}
	bpf_seq_write(seq, &listed, sizeof(listed));
}

#endif
