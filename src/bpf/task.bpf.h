/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task.bpf.h - the running thread: its state, whether it passes the filters, and how time is
 * charged to its operation. No other header knows where the states of threads are.
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

/* Whether a thread with these flags is a helper: a kernel thread, or a worker of io_uring. */
static __always_inline bool is_helper(u32 flags)
{
	return flags & (PF_KTHREAD | PF_IO_WORKER);
}

/* Whether a thread with these flags may be in an operation. The only such helpers are threads of
 * nfsd, workers of ksmbd, and the thread with which io_uring polls for requests. */
static __always_inline bool may_have_op(u32 flags)
{
	return !is_helper(flags) || (CONF(uring) && flags & PF_IO_WORKER) ||
	       (CONF(served) && flags & PF_KTHREAD);
}

/* The state of @task in the map. Puts a copy of @task on the stack: the caller's stays in a
 * register. */
static __always_inline struct task_state *task_overflown(u64 task)
{
	u64 key = task;

	barrier_var(key);
	return bpf_map_lookup_elem(&tasks_overflown, &key);
}

/*
 * The state of a thread. The thread's identity is the address of its task_struct: nothing of
 * current is cheaper to get (its ids cost twice as much). The address hashes to the slot of the
 * state. Task storage costs a hundred instructions a look-up, and tracing programs cannot use it
 * before 5.12. The first thread that needs a slot owns it until the thread exits (task_owners
 * arbitrates). Other threads with the same slot have their state in a map. The map is searched only
 * if the slot has collisions.
 *
 * NULL if the thread has no state. Safe with the run-queue lock held.
 */
static __always_inline struct task_state *task_lookup(u64 task)
{
	struct task_state *t = &tasks[task_slot(task)];

	barrier_var(t); /* one address in a register, for all fields */
	if (likely(t->task == task))
		return t;
	return t->collisions ? task_overflown(task) : NULL;
}

static __always_inline u64 current_task(void)
{
	return bpf_get_current_task();
}

#define PF_WQ_WORKER 0x00000020

/* Whether current, with these @flags, works for a workqueue whose name begins with @name. */
static __always_inline bool current_works_in(u32 flags, const char name[8])
{
	u64 queue;

	if (!(flags & PF_WQ_WORKER))
		return false;
	worker_queue((void *)current_task(), &queue, sizeof(queue));
	return !__builtin_memcmp(&queue, name, sizeof(queue));
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

/* The top bit of the lowest byte of @eight that is 0, and nothing else, or 0 if none is. */
static __always_inline u64 first_nul(u64 eight)
{
	u64 nuls = (eight - 0x0101010101010101ULL) & ~eight & 0x8080808080808080ULL;

	return nuls & -nuls;
}

/* The comm of current, read directly where the kernel allows: the BPF helper takes 100
 * instructions. Some kernels leave remains of an older comm beyond the NUL. */
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

/* The comm of current as a key: zeroes beyond its NUL. */
static __always_inline void current_comm(u64 ret[COMM_LEN / 8])
{
	u64 nul;

	current_comm_raw(ret);
	nul = first_nul(ret[0]);
	ret[0] &= (nul - 1);
	ret[1] = nul ? 0 : ret[1] & (first_nul(ret[1]) - 1);
}

/* The comm of current and its cgroup, at time @now. */
static __always_inline void current_name(struct thread_name *ret, u64 now)
{
	*ret = (struct thread_name){ .cgroup = bpf_get_current_cgroup_id(), .at = now };
	current_comm((u64 *)ret->comm);
}

/* A hash of a name, to see whether the name has changed. */
static __always_inline u64 comm_number(const char comm[COMM_LEN])
{
	const u64 *half = (const u64 *)comm;

	return half[0] * 31 + half[1];
}

/* Whether the thread with this id is the tool's, whose I/O is not traced: it has no state. */
static __always_inline bool is_tool(u64 id)
{
	return (u32)((CONF(pidns_ino) ? current_pid_tgid() : id) >> 32) == CONF(tool_tgid);
}

/* Notes the ids of current in its state @t. */
static __always_inline void task_set_id(struct task_state *t)
{
	t->id = current_pid_tgid();
	t->kernel_tid = bpf_get_current_pid_tgid();
}

/*
 * Creates a state for current, @task. Returns NULL if it is the tool's thread, or if there is no
 * room: this is counted. Allocates, so the run-queue lock must not be held.
 *
 * Only the thread, the CPUs that switch to or from it, and its wakers look up a state. The locks of
 * the scheduler let them see the thread's earlier writes; no other ordering is needed. Waits and
 * wakings left in the state by a former owner have no effect: see the head of wait.bpf.h.
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
		t->io_ns = 0;
		t->ring_entered = t->rings = t->interrupted = 0;
		if (CONF(stacks)) /* a former owner may have ended in its call */
			t->submits = 0;
		if (CONF(segments) && !t->op.segments)
			t->op.segments = slot + 1;
		task_set_id(t);
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

/* Notes current's time in operations of this interval, if no other thread on this CPU had more.
 * @gone: current ends. */
static __always_inline void busy_note(const struct task_state *t, u32 interval, bool gone)
{
	u32 slot = interval & 1;
	struct busy_thread *b = bpf_map_lookup_elem(&busiest, &slot);
	u64 born, end = gone ? bpf_ktime_get_ns() : 0;

	if (!b || (b->interval == interval && b->io_ns > t->io_ns))
		return;
	born = current_start_time();
	b->interval = interval;
	b->io_ns = t->io_ns;
	b->id = t->id;
	b->born_ns = born;
	b->gone_ns = end;
	b->check = t->io_ns ^ t->id ^ born ^ end;
	if (gone)
		bpf_get_current_comm(b->comm, sizeof(b->comm));
}

/* Current has spent @ns in an operation. */
static __always_inline void busy_add(struct task_state *t, u64 ns)
{
	u32 interval = live.interval;

	if (t->io_interval != (u16)interval) {
		t->io_interval = interval;
		t->io_ns = 0;
	}
	t->io_ns += ns;
	busy_note(t, interval, false);
}

/* Current, a thread with operations in this interval, ends. */
static __always_inline void busy_ends(const struct task_state *t)
{
	u32 interval = live.interval;

	if (t->io_ns && t->io_interval == (u16)interval)
		busy_note(t, interval, true);
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

/* Sets or clears the bit of a thread group. Each bit has one writer at a time (see on_fork()), but
 * its neighbours have other writers. So a bit is changed by addition: this is atomic on kernels
 * before 5.12, too. */
static __always_inline void group_track(u32 tgid, bool on)
{
	u64 *word = tracked_word(tgid), bit = 1ULL << tgid % 64;

	if (word && on != !!(*word & bit))
		atomic_add(word, on ? bit : -bit);
}

/* A tracked thread begins or ends at @now. */
static __always_inline void thread_counts(bool begins, u64 now)
{
	u64 at = now - live.since_ns;

	atomic_add(&live.threads.begun, 1);
	atomic_add(&live.threads.living, begins ? 1 : -1);
	atomic_add(&live.threads.time, begins ? -at : at);
	atomic_add(&live.threads.done, 1);
}

/* Whether @tgid is the tool's child, and has not executed the command yet. */
static __always_inline bool is_child(u32 tgid)
{
	return CONF(all_young) && live.child && live.child == tgid;
}

/* Whether io_uring created the thread: no event reports its birth. Older kernels (6.1) have cleared
 * PF_IO_WORKER by the time the thread ends, so its name decides. */
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
	u64 comm[COMM_LEN / 8] = {}; /* Linux 6.1 writes nothing beyond the NUL */
	struct task_struct *task = (void *)current_task();

	/* the names of io_uring's threads tell nothing; take the name of the process */
	if (current_flags() & PF_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&comm, task, group_leader, comm);
	else
		bpf_get_current_comm(comm, sizeof(comm));
	FOR_LISTED(i, n_comms)
	if (lists.comms[i][0] == comm[0] && lists.comms[i][1] == comm[1])
		return true;
	return false;
}

/* Compares each cgroup from the root down to current's own: in a cgroup namespace, user space
 * cannot know the level of a listed cgroup. */
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

/* Whether current is older than the tracing: then its call may have no entry event. */
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
 * Adds the time from @from to @to to @sum. Returns the later of the two: all time before it is
 * charged. @to may be earlier: the clock is CLOCK_MONOTONIC as NMIs read it, and may step back a
 * little around an update. And where programs can be preempted, a boundary may be noted after a
 * later switch.
 */
static __always_inline u64 time_add(u64 *sum, u64 from, u64 to)
{
	u64 len = positive(to - from);

	*sum += len;
	return from + len;
}

/* The list of an operation's segments, or NULL if there is none. */
static __always_inline struct segments *op_segment_list(const struct op *op)
{
	u32 at = op->segments;

	struct op_list *list = CONF(segments) && at ? bpf_map_lookup_elem(&op_segments, &at) : NULL;

	return list ? &list->segments : NULL;
}

/* Adds a segment. Without a place for it, its time is in the strata alone. @list: NULL: none. */
static __always_inline void segment_add(struct segments *list, u32 stratum, u64 ns)
{
	u64 *last;
	u32 n;

	if (!CONF(segments) || !list || !ns)
		return;
	n = list->n;
	last = &list->at[(n - 1) % SEGMENTS_MAX];
	if (n && !list->merged && SEGMENT_STRATUM(*last) == stratum) {
		*last += SEGMENT(0, ns);
	} else if (n < SEGMENTS_MAX) {
		list->at[n % SEGMENTS_MAX] = SEGMENT(stratum, ns);
		list->n = n + 1;
	} else {
		list->merged++;
	}
}

/* Moves an operation. The lists of segments change places, so each has one owner. If only one of
 * the two has a list, the order of the operation's time is not known. */
static __always_inline void op_move(struct op *to, struct op *from)
{
	u32 list = to->segments;
	struct segments *s;

	*to = *from;
	if (!CONF(segments))
		return;
	if (list && from->segments) {
		from->segments = list;
		return;
	}
	to->segments = list;
	s = op_segment_list(to);
	if (s)
		s->n = s->merged = 0;
}

/* Adds the time from @from to @to to @stratum. Returns the later of the two. */
static __always_inline u64 stratum_add(struct op *op, struct segments *list, u32 stratum, u64 from,
				       u64 to)
{
	u64 end = time_add(&op->strata[stratum], from, to);

	segment_add(list, stratum, end - from);
	return end;
}

/* op_charge() and op_settle() with conf.segments. For CONF(segments) see async_index(): it is for
 * the verifier. */
GLOBAL int op_charge_in_order(struct op *op, u32 stratum, u64 to)
{
	if (!op || stratum >= ST_N || !CONF(segments)) /* the limit is for the verifier */
		return 0;
	op->at[AT_CHARGED] = stratum_add(op, op_segment_list(op), stratum, op->at[AT_CHARGED], to);
	return 0;
}

GLOBAL int op_settle_in_order(struct op *op, u32 layer, u64 now)
{
	struct segments *list;
	u64 end;

	if (!op || !CONF(segments))
		return 0;
	list = op_segment_list(op);
	end = op->at[AT_CHARGED];
	if (!op->settled) {
		op->settled = 1;
		__builtin_memset(op->strata, 0, sizeof(op->strata));
		end = op->start;
		if (list)
			list->n = list->merged = 0;
	}
	end = stratum_add(op, list, ST_SYSCALL, end, op->at[AT_VFS_IN]);
	end = stratum_add(op, list, ST_VFS, end, op->at[AT_FS_IN]);
	end = stratum_add(op, list, ST_FS, end, op->at[AT_FS_OUT]);
	end = stratum_add(op, list, ST_VFS, end, op->at[AT_VFS_OUT]);
	op->at[AT_CHARGED] = stratum_add(op, list, layer & 3, end, now);
	return 0;
}

/* Charges all time up to @to to @stratum. */
static __always_inline void op_charge(struct op *op, u32 stratum, u64 to)
{
	if (CONF(segments))
		op_charge_in_order(op, stratum, to);
	else
		op->at[AT_CHARGED] = time_add(&op->strata[stratum], op->at[AT_CHARGED], to);
}

/* Whether the bio that current submits was passed on: current is still submitting another bio, to a
 * device on top of this bio's device. */
static __always_inline bool bio_is_passed_on(void)
{
	if (have_current_btf())
		return task_untrusted(bpf_get_current_task_btf())->bio_list;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), bio_list);
}

/* Current's operation has submitted @bio on @cpu, to read @read_bytes. These bytes are counted
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

/* Current's operation has made a request to a server. */
static __always_inline void op_asked_server(struct op *op)
{
	if (op->submitted)
		return;
	op->submitted = 1;
	op->last_bio = 0;
	op->requests = 0;
	op->device_bytes = 0;
}

/*
 * Charges the time on the CPU up to @now. @layer is running then. A boundary that was not crossed
 * since the last call has an earlier time, of this operation or a former one, and adds nothing.
 * Each step adds time to one stratum and moves at[AT_CHARGED] by as much. So the strata always add
 * up to the elapsed time.
 */
static __always_inline void op_settle(struct op *op, u32 layer, u64 now)
{
	u64 *strata = op->strata, end = op->at[AT_CHARGED];

	if (CONF(segments)) {
		op_settle_in_order(op, layer, now);
		return;
	}
	if (!op->settled) {
		op->settled = 1;
		__builtin_memset(strata, 0, sizeof(op->strata));
		end = op->start;
	}
	end = time_add(&strata[ST_SYSCALL], end, op->at[AT_VFS_IN]);
	end = time_add(&strata[ST_VFS], end, op->at[AT_FS_IN]);
	end = time_add(&strata[ST_FS], end, op->at[AT_FS_OUT]);
	end = time_add(&strata[ST_VFS], end, op->at[AT_VFS_OUT]);
	/* the mask is for the verifier: @layer is ST_SYSCALL to ST_FS */
	op->at[AT_CHARGED] = time_add(&strata[layer & 3], end, now);
}

#endif
