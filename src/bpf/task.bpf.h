/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task.bpf.h - who runs: the state of a thread, whether its I/O is asked for, and how time is
 * charged to its operation. The only place that knows where states are kept.
 */
#ifndef IOSTRATA_TASK_BPF_H
#define IOSTRATA_TASK_BPF_H

#include "maps.bpf.h"

#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD   0x00200000

/* A thread that works for others: kernel threads, and io_uring's workers. */
static __always_inline bool is_helper(u32 flags)
{
	return flags & (PF_KTHREAD | PF_IO_WORKER);
}

/*
 * A thread's state is in the slot that its id's low bits name, which costs a few instructions; task
 * storage costs a hundred, and does not exist for tracing before 5.12. The first thread that needs
 * a slot owns it until it exits (task_owners arbitrates); another with the same low bits has its
 * state in a hash.
 *
 * NULL if the thread has no state. Safe with the run-queue lock held.
 */
static __always_inline struct task_state *task_lookup(u32 tid)
{
	struct task_state *t = &tasks[tid % TASK_SLOTS];

	if (t->tid == tid)
		return t;
	if (!live.overflown)
		return NULL;
	return bpf_map_lookup_elem(&tasks_overflown, &tid);
}

/* The same for current, whose id is @id: compared as a whole, which is less than with a half. */
static __always_inline struct task_state *task_of_id(u64 id)
{
	struct task_state *t = &tasks[id % TASK_SLOTS];

	return t->id == id ? t : task_lookup(id);
}

static __always_inline struct task_state *current_lookup(void)
{
	return task_of_id(bpf_get_current_pid_tgid());
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

/* Gives current, whose id is @id, a state. Never where the run-queue lock is held: it allocates. */
static __always_inline struct task_state *task_create(u64 id)
{
	u32 tid = id, slot = tid % TASK_SLOTS;
	struct task_state *t;

	if (is_tool(id))
		return NULL;
	if (!bpf_map_update_elem(&task_owners, &slot, &tid, BPF_NOEXIST)) {
		t = &tasks[tid % TASK_SLOTS];
		t->active = 0;
		t->depth = 0;
		t->id = id;
		return t;
	}
	if (!bpf_map_update_elem(&tasks_overflown, &tid, zeroes, BPF_NOEXIST))
		__sync_fetch_and_add(&live.overflown, 1);
	t = bpf_map_lookup_elem(&tasks_overflown, &tid);
	if (t)
		t->id = id;
	else
		count_lost(LOST_MAP_FULL);
	return t;
}

static __always_inline struct task_state *task_get(u64 id)
{
	struct task_state *t = task_of_id(id);

	if (!t)
		return task_create(id);
	if (t->id != id) {
		/* of a thread whose end was not seen, or that has another id since its exec() */
		t->active = 0;
		t->depth = 0;
		t->id = id;
	}
	return t;
}

static __always_inline void task_forget(u32 tid)
{
	u32 slot = tid % TASK_SLOTS;
	struct task_state *t = &tasks[tid % TASK_SLOTS];

	if (t->tid == tid) {
		t->id = 0;
		bpf_map_delete_elem(&task_owners, &slot);
	} else if (live.overflown && !bpf_map_delete_elem(&tasks_overflown, &tid)) {
		__sync_fetch_and_add(&live.overflown, -1);
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
		__sync_fetch_and_add(word, 1ULL << tid % 64);
}

static __always_inline void tid_remove(void *set, u32 tid)
{
	u64 *word = tid_word(set, tid);

	if (word && *word >> tid % 64 & 1)
		__sync_fetch_and_add(word, -(1ULL << tid % 64));
}

static __always_inline bool current_tracked(void)
{
	return tid_in(&tracked, bpf_get_current_pid_tgid());
}

/* Whether the filters by process let current, whose id is @id, through. */
static __always_inline bool current_passes(u64 id)
{
	u64 comm[COMM_LEN / 8] = {}; /* 6.1 writes no further than the NUL */
	u32 tgid;

	if (!CONF(process_filter))
		return true;
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

static __always_inline bool current_wanted(u64 id)
{
	return current_passes(id) && !is_tool(id);
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

#endif
