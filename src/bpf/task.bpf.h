/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task.bpf.h - who runs: the state of a thread, whether its I/O is traced, and how time is charged
 * to its operation. The only place that knows where states are kept.
 */
#ifndef IOSTRATA_TASK_BPF_H
#define IOSTRATA_TASK_BPF_H

#include "state.bpf.h"

static __always_inline u64 task_slot(u64 task)
{
	return low_half(task) * HASH_FACTOR >> (32 - TASK_SLOTS_LOG2);
}

#define PF_EXITING   0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD   0x00200000

/* A thread that works for others: kernel threads, and io_uring's workers. */
static __always_inline bool is_helper(u32 flags)
{
	return flags & (PF_KTHREAD | PF_IO_WORKER);
}

/* Whether such a thread may be in an operation: io_uring's thread that polls for requests may. */
static __always_inline bool may_have_op(u32 flags)
{
	return !is_helper(flags) || (CONF(uring) && flags & PF_IO_WORKER);
}

/* Puts a copy of the key on the stack, so that the caller's can stay in a register. */
static __always_inline struct task_state *task_overflown(u64 task)
{
	u64 key = task;

	barrier_var(key);
	return bpf_map_lookup_elem(&tasks_overflown, &key);
}

/*
 * A thread is identified by the address of its task_struct: nothing of current is cheaper to get
 * (its ids cost as much again). Its state is in the slot that the address hashes to; task storage
 * costs a hundred instructions a look-up, and tracing programs cannot use it before 5.12. The first
 * thread that needs a slot owns it until it exits (task_owners arbitrates). Others that hash to
 * that slot have their state in a map, which is looked at only if the slot has such collisions.
 *
 * NULL if the thread has no state. Safe with the run-queue lock held.
 */
static __always_inline struct task_state *task_lookup(u64 task)
{
	struct task_state *t = &tasks[task_slot(task)];

	barrier_var(t); /* one address, from which all fields are reached */
	if (likely(t->task == task))
		return t;
	return t->collisions ? task_overflown(task) : NULL;
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

/* The top bit of the lowest byte of @eight that is 0, and nothing else; 0: none is. */
static __always_inline u64 first_nul(u64 eight)
{
	u64 nuls = (eight - 0x0101010101010101ULL) & ~eight & 0x8080808080808080ULL;

	return nuls & -nuls;
}

/* The comm of current, read directly where that can be: the BPF helper takes 100 instructions.
 * Some kernels leave remains of an older one beyond its NUL. */
static __always_inline void current_comm_raw(u64 ret[COMM_LEN / 8])
{
	const u64 *comm;

	if (have_current_btf()) {
		comm = (const u64 *)bpf_get_current_task_btf()->comm;
		ret[0] = comm[0];
		ret[1] = comm[1];
	} else {
		bpf_core_read(ret, COMM_LEN, &((struct task_struct *)current_task())->comm);
	}
}

/* The same as a key: zeroes beyond its NUL. */
static __always_inline void current_comm(u64 ret[COMM_LEN / 8])
{
	u64 nul;

	current_comm_raw(ret);
	nul = first_nul(ret[0]);
	ret[0] &= (nul - 1);
	ret[1] = nul ? 0 : ret[1] & (first_nul(ret[1]) - 1);
}

/* The same, with its cgroup, at @now. */
static __always_inline void current_name(struct task_name *ret, u64 now)
{
	*ret = (struct task_name){ .cgroup = bpf_get_current_cgroup_id(), .at = now };
	current_comm((u64 *)ret->comm);
}

/* A name as a number, to see whether it has changed. */
static __always_inline u64 comm_number(const char comm[COMM_LEN])
{
	const u64 *half = (const u64 *)comm;

	return half[0] * 31 + half[1];
}

/* The tool's own I/O is not traced: its threads have no state. */
static __always_inline bool is_tool(u64 id)
{
	return (u32)((CONF(pidns_ino) ? current_pid_tgid() : id) >> 32) == CONF(tool_tgid);
}

/*
 * Creates a state for current, which is @task. Never where the run-queue lock is held: it
 * allocates.
 *
 * Only the thread, the CPUs that switch to it or from it, and its wakers look up a state: the
 * scheduler's own locks let them see what the thread wrote before, and no other ordering is needed.
 * Earlier waits and wakings in it mean nothing, see wait.bpf.h.
 */
static __always_inline struct task_state *task_create(u64 task)
{
	u32 slot = task_slot(task);
	struct task_state *t;

	if (is_tool(bpf_get_current_pid_tgid()))
		return NULL;
	t = &tasks[task_slot(task)];
	if (!bpf_map_update_elem(&task_owners, &slot, &slot, BPF_NOEXIST)) {
		t->busy = 0;
		t->id = current_pid_tgid();
		barrier();
		t->task = task;
		return t;
	}
	if (!bpf_map_update_elem(&tasks_overflown, &task, zeroes, BPF_NOEXIST))
		atomic_add(&t->collisions, 1);
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
	} else if (t->collisions && !bpf_map_delete_elem(&tasks_overflown, &task)) {
		atomic_add(&t->collisions, -1);
	}
}

static __always_inline u64 *tracked_word(u32 tgid)
{
	u32 word = tgid / 64;

	return bpf_map_lookup_elem(&tracked, &word);
}

static __always_inline bool group_tracked(u32 tgid)
{
	u64 *word = tracked_word(tgid);

	return word && *word >> tgid % 64 & 1;
}

/* Each bit has one writer at a time, see on_fork(), but its neighbours have others. So bits are set
 * and cleared by addition, which is an atomic on kernels before 5.12, too. */
static __always_inline void group_track(u32 tgid, bool on)
{
	u64 *word = tracked_word(tgid), bit = 1ULL << tgid % 64;

	if (word && on != !!(*word & bit))
		atomic_add(word, on ? bit : -bit);
}

/* A tracked thread begins or ends. Their time is kept in live.threads; see there. */
static __always_inline void thread_counts(bool begins)
{
	u64 at = (bpf_ktime_get_ns() - live.since_ns) >> THREAD_TIME_SHIFT;

	atomic_add(&live.threads, begins ? THREAD_ONE - at : at - THREAD_ONE);
}

/* A thread that io_uring created: no event reports its birth. Older kernels (6.1) have cleared
 * PF_IO_WORKER by the time it ends, so it is recognised by its name. */
static __always_inline bool is_io_thread(struct task_struct *p)
{
	char comm[COMM_LEN] = {};

	BPF_CORE_READ_STR_INTO(&comm, p, comm);
	return comm[0] == 'i' && comm[1] == 'o' && comm[2] == 'u' && comm[3] == '-';
}

static __always_inline bool tgid_listed(u32 tgid)
{
	FOR_LISTED(i, n_pids)
	if (lists.pids[i] == tgid)
		return true;
	return false;
}

static __always_inline bool current_comm_listed(void)
{
	u64 comm[COMM_LEN / 8] = {}; /* 6.1 writes no further than the NUL */
	struct task_struct *task = (void *)current_task();

	/* io_uring's threads have names of their own, but are their process's */
	if (current_flags() & PF_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&comm, task, group_leader, comm);
	else
		bpf_get_current_comm(comm, sizeof(comm));
	FOR_LISTED(i, n_comms)
	if (lists.comms[i][0] == comm[0] && lists.comms[i][1] == comm[1])
		return true;
	return false;
}

/* Looks from the root down to current's own cgroup: in a cgroup namespace user space cannot know at
 * which level the listed one is. */
static __always_inline bool current_cgroup_listed(void)
{
	u64 id;

#pragma clang loop unroll(disable)
	for (int level = 0; level < CGROUP_LEVELS; level++) {
		id = current_ancestor_cgroup(level);
		if (!id)
			return false;
		FOR_LISTED(i, n_cgroups)
		if (lists.cgroups[i] == id)
			return true;
	}
	return false;
}

/* Whether current passes the filters by process, except the one by cgroup. */
static __always_inline bool current_thread_passes(u64 id)
{
	if (CONF(tracked) && !group_tracked(id >> 32))
		return false;
	if (CONF(n_pids) && !tgid_listed((CONF(pidns_ino) ? current_pid_tgid() : id) >> 32))
		return false;
	return !CONF(n_comms) || current_comm_listed();
}

/* Whether current passes the filters by process, if there are any. */
static __always_inline bool current_filtered(void)
{
	return current_thread_passes(bpf_get_current_pid_tgid()) &&
	       (!CONF(n_cgroups) || current_cgroup_listed());
}

static __always_inline bool current_passes(void)
{
	if (likely(!CONF(process_filter)))
		return true;
	return current_filtered();
}

static __always_inline bool current_wanted(u64 id)
{
	return current_passes() && !is_tool(id);
}

/* Current existed before tracing began, so it may be in a call whose entry was not seen. */
static __always_inline bool current_is_older(void)
{
	return current_start_time() < live.since_ns;
}

/* Whether @dev is traced: the dev_t of a file system or of a disk. */
static __always_inline bool dev_wanted(u32 dev)
{
	if (!CONF(n_devs))
		return true;
	FOR_LISTED(i, n_devs)
	if (lists.devs[i] == dev)
		return true;
	return false;
}

/*
 * Adds the time from @from to @to to @sum. Returns the end of what is charged now: @to, or @from if
 * that is later. The clock is CLOCK_MONOTONIC as NMIs read it, which may step back a little around
 * an update. And where programs can be preempted, a boundary may be noted after a later switch.
 */
static __always_inline u64 time_add(u64 *sum, u64 from, u64 to)
{
	u64 len = positive(to - from);

	*sum += len;
	return from + len;
}

/* Charges all time up to @to to @stratum: nothing else is known of it. */
static __always_inline void op_charge(struct op *op, u32 stratum, u64 to)
{
	op->at[AT_CHARGED] = time_add(&op->strata[stratum], op->at[AT_CHARGED], to);
}

/* Whether current, which submits a bio, is still submitting another, to a device that lies on the
 * one of this. */
static __always_inline bool bio_is_passed_on(void)
{
	if (have_current_btf())
		return task_untrusted(bpf_get_current_task_btf())->bio_list;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), bio_list);
}

/* Current's operation has submitted a bio, on @cpu, which reads so many bytes. They are counted
 * once, on the uppermost device. */
static __always_inline void op_submitted(struct op *op, u64 bio, u32 cpu, u32 read_bytes)
{
	op->last_bio = bio;
	op->bio_cpu = cpu;
	if (likely(!op->submitted)) {
		op->submitted = 1;
		op->requests = 1;
		op->device_bytes = read_bytes;
	} else {
		op->requests++;
		if (read_bytes && !bio_is_passed_on())
			op->device_bytes += read_bytes;
	}
	if (read_bytes)
		op->own_reads = 1;
}

/*
 * Charges the time on the CPU up to @now, when @layer is running. A boundary that was not crossed
 * since the last time has an earlier time, of this operation or of one before, and adds nothing.
 * Whatever is charged is added to one stratum and moves at[AT_CHARGED] by as much, so the strata
 * always add up to the time that has passed.
 */
static __always_inline void op_settle(struct op *op, u32 layer, u64 now)
{
	u64 *strata = op->strata, end = op->at[AT_CHARGED];

	if (!op->settled) {
		op->settled = 1;
		__builtin_memset(strata, 0, sizeof(op->strata));
		end = op->start;
	}
	end = time_add(&strata[ST_SYSCALL], end, op->at[AT_VFS_IN]);
	end = time_add(&strata[ST_VFS], end, op->at[AT_FS_IN]);
	end = time_add(&strata[ST_FS], end, op->at[AT_FS_OUT]);
	end = time_add(&strata[ST_VFS], end, op->at[AT_VFS_OUT]);
	/* for the verifier: ST_SYSCALL to ST_FS fit */
	op->at[AT_CHARGED] = time_add(&strata[layer & 3], end, now);
}

#endif
