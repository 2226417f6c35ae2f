/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task.bpf.h - who runs: the state of a thread, whether its I/O is asked for, and how time is
 * charged to its operation. The only place that knows where states are kept.
 */
#ifndef IOSTRATA_TASK_BPF_H
#define IOSTRATA_TASK_BPF_H

#include "maps.bpf.h"

static __always_inline u64 task_slot(u64 task)
{
	return low_half(task) * HASH_FACTOR >> (32 - TASK_SLOTS_LOG2);
}

#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD   0x00200000

/* A thread that works for others: kernel threads, and io_uring's workers. */
static __always_inline bool is_helper(u32 flags)
{
	return flags & (PF_KTHREAD | PF_IO_WORKER);
}

/* A copy of the key is on the stack, not the caller's, which can stay in a register. */
static __always_inline struct task_state *task_overflown(u64 task)
{
	u64 key = task;

	barrier_var(key);
	return bpf_map_lookup_elem(&tasks_overflown, &key);
}

/*
 * A thread is known by the address of its task_struct, which is the cheapest thing to have of
 * current (its ids are as much again). Its state is in the slot that the address hashes to; task
 * storage costs a hundred instructions a look-up, and does not exist for tracing before 5.12. The
 * first thread that needs a slot owns it until it exits (task_owners arbitrates); others whose slot
 * that would be have their state in a hash, at which only such a crowd looks.
 *
 * NULL if the thread has no state. Safe with the run-queue lock held.
 */
static __always_inline struct task_state *task_lookup(u64 task)
{
	struct task_state *t = &tasks[task_slot(task)];

	barrier_var(t); /* one address, from which all fields are reached */
	if (likely(t->task == task))
		return t;
	return t->crowd ? task_overflown(task) : NULL;
}

static __always_inline u64 current_task(void)
{
	return bpf_get_current_task();
}

static __always_inline struct task_state *current_lookup(void)
{
	return task_lookup(current_task());
}

/* Thread group and thread as the tool's pid namespace numbers them. */
static __always_inline u64 current_pid_tgid(void)
{
	struct bpf_pidns_info ns;

	if (!CONF(pidns_ino))
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(CONF(pidns_dev), CONF(pidns_ino), &ns, sizeof(ns)))
		return 0;
	return (u64)ns.tgid << 32 | ns.pid;
}

/* The tool's own I/O is not traced: its threads have no state. */
static __always_inline bool is_tool(u64 id)
{
	return (u32)((CONF(pidns_ino) ? current_pid_tgid() : id) >> 32) == CONF(tool_tgid);
}

/* Gives current, which is @task, a state. Never where the run-queue lock is held: it allocates. */
static __always_inline struct task_state *task_create(u64 task)
{
	u32 slot = task_slot(task);
	struct task_state *t;

	if (is_tool(bpf_get_current_pid_tgid()))
		return NULL;
	t = &tasks[task_slot(task)];
	if (!bpf_map_update_elem(&task_owners, &slot, &slot, BPF_NOEXIST)) {
		t->stage = 0;
		t->depth = 0;
		t->task = task;
		return t;
	}
	if (!bpf_map_update_elem(&tasks_overflown, &task, zeroes, BPF_NOEXIST))
		atomic_add(&t->crowd, 1);
	t = bpf_map_lookup_elem(&tasks_overflown, &task);
	if (t)
		t->task = task;
	else
		count_lost(LOST_MAP_FULL);
	return t;
}

static __always_inline struct task_state *task_get(u64 task)
{
	struct task_state *t = task_lookup(task);

	return t ? t : task_create(task);
}

static __always_inline void task_forget(u64 task)
{
	struct task_state *t = &tasks[task_slot(task)];
	u32 slot = task_slot(task);

	if (t->task == task) {
		t->task = 0;
		bpf_map_delete_elem(&task_owners, &slot);
	} else if (t->crowd && !bpf_map_delete_elem(&tasks_overflown, &task)) {
		atomic_add(&t->crowd, -1);
	}
}

/* A set of thread ids, a bit each. */
static __always_inline u64 *tid_word(void *set, u32 tid)
{
	u32 word = tid / 64;

	return bpf_map_lookup_elem(set, &word);
}

static __always_inline bool tid_in(void *set, u32 tid)
{
	u64 *word = tid_word(set, tid);

	return word && *word >> tid % 64 & 1;
}

/* Bits are set and cleared by addition, which kernels before 5.12 have as an atomic. */
static __always_inline void tid_add(void *set, u32 tid)
{
	u64 *word = tid_word(set, tid);

	if (word && !(*word >> tid % 64 & 1))
		atomic_add(word, 1ULL << tid % 64);
}

static __always_inline void tid_remove(void *set, u32 tid)
{
	u64 *word = tid_word(set, tid);

	if (word && *word >> tid % 64 & 1)
		atomic_add(word, -(1ULL << tid % 64));
}

static __always_inline bool current_tracked(void)
{
	return tid_in(&tracked, bpf_get_current_pid_tgid());
}

/* Whether the filters by process, if there are any, let current through. */
static __always_inline bool current_filtered(void)
{
	u64 comm[COMM_LEN / 8] = {}; /* 6.1 writes no further than the NUL */
	u64 id = bpf_get_current_pid_tgid();
	u32 tgid;

	if (CONF(tracked) && !tid_in(&tracked, id))
		return false;
	if (CONF(tgid)) {
		tgid = (CONF(pidns_ino) ? current_pid_tgid() : id) >> 32;
		if (tgid != CONF(tgid))
			return false;
	}
	if (CONF(cgroup) &&
	    bpf_get_current_ancestor_cgroup_id(CONF(cgroup_level)) != CONF(cgroup))
		return false;
	if (CONF(has_comm)) {
		bpf_get_current_comm(comm, sizeof(comm));
		if (comm[0] != CONF(comm[0]) || comm[1] != CONF(comm[1]))
			return false;
	}
	return true;
}

static __always_inline bool current_passes(void)
{
	return !CONF(process_filter) || current_filtered();
}

static __always_inline bool current_wanted(u64 id)
{
	return current_passes() && !is_tool(id);
}

/* True if @dev is asked for; file systems' and disks' dev_t alike. */
static __always_inline bool dev_wanted(u32 dev)
{
	if (!CONF(n_devs))
		return true;
	for (u32 i = 0; i < MAX_DEVS && i < CONF(n_devs); i++)
		if (devs[i] == dev)
			return true;
	return false;
}

/*
 * Charges the time since the last mark to @stratum. The clock is CLOCK_MONOTONIC as NMIs read it,
 * which may step back by a little around an update: then nothing is charged and the mark stays.
 */
static __always_inline void task_charge(struct task_state *t, u32 stratum, u64 now)
{
	if (now <= t->mark)
		return;
	t->strata[stratum] += now - t->mark;
	t->mark = now;
}

/* The same for time on CPU; the mask is for the verifier, ST_SYSCALL to ST_FS fit it. */
static __always_inline void task_charge_cpu(struct task_state *t, u64 now)
{
	task_charge(t, t->layer & 3, now);
}

/* The same, at the end of an operation: usually in no layer below the system call. */
static __always_inline void task_charge_last(struct task_state *t, u32 stage, u64 now)
{
	if (stage == STAGE(OP_ACTIVE, ST_SYSCALL, 0, 0))
		task_charge(t, ST_SYSCALL, now);
	else
		task_charge_cpu(t, now);
}

#endif
