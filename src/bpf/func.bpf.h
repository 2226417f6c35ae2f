/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func.bpf.h - entry and return of a traced function.
 *
 * A thread has a stack of frames, one for each traced function call in progress. A call is charged
 * with the time since its entry. The self time of a call is this time less the time charged to the
 * traced calls directly below.
 *
 * A program may be interrupted between any two instructions by other programs for the same thread:
 * in an interrupt, or because the program called a traced function itself. The other programs add
 * frames and take them away again. So a frame is reserved before it is written, and is not used
 * after it is given up.
 *
 * The return of a call may be missed, or the function may never return to its caller. The call's
 * place on the stack tells; see func_frames_outlive() and func_frames_unwind().
 */
#ifndef IOSTRATA_FUNC_BPF_H
#define IOSTRATA_FUNC_BPF_H

#include "compat.bpf.h"
#include "../cell.h"
#include "func.h"

/*
 * The threads whose function calls are counted, and the state of each: the calls in progress.
 */

const volatile struct func_conf func_conf;
#define FUNC_CONF(field) (func_conf.field)

struct func_live func_live;
struct func_thread func_threads[1 << FUNC_THREADS_LOG2];

/* Slots of func_threads with an owner. A thread keeps its slot for as long as it lives. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << FUNC_THREADS_LOG2);
	__type(key, u32);
	__type(value, u32);
} func_owners SEC(".maps");

/* Threads whose slot belongs to another thread, while they are in a traced function. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, u64);
	__type(value, struct func_thread);
} func_others SEC(".maps");

/* The initial state of a thread in func_others; too large for the stack of a program. */
const struct func_thread func_nobody = { .filling = 1 };

/* A bit per thread group: the tool's child and its descendants. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PID_LIMIT / 64);
	__type(key, u32);
	__type(value, u64);
} func_tracked SEC(".maps");

static __always_inline void func_count_lost(enum func_lost what)
{
	atomic_add(&func_live.lost[what], 1);
}

/* The thread groups to trace. */

static __always_inline u64 func_pid_tgid(void)
{
	struct bpf_pidns_info ns;

	if (!FUNC_CONF(pidns_ino))
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(FUNC_CONF(pidns_dev), FUNC_CONF(pidns_ino), &ns,
					sizeof(ns)))
		return 0;
	return (u64)ns.tgid << 32 | ns.pid;
}

static __always_inline u64 *func_tracked_word(u32 tgid)
{
	u32 word = tgid / 64;

	return bpf_map_lookup_elem(&func_tracked, &word);
}

static __always_inline bool func_group_tracked(u32 tgid)
{
	u64 *word = func_tracked_word(tgid);

	return word && *word >> tgid % 64 & 1;
}

/* Adds or subtracts the bit: addition is atomic on kernels before 5.12, too. A bit has one writer
 * at a time. */
static __always_inline void func_group_track(u32 tgid, bool on)
{
	u64 *word = func_tracked_word(tgid), bit = 1ULL << tgid % 64;

	if (word && on != !!(*word & bit))
		atomic_add(word, on ? bit : -bit);
}

static __always_inline bool func_group_listed(void)
{
	u32 tgid = func_pid_tgid() >> 32;

#pragma clang loop unroll(disable)
	for (u64 i = 0; i < FUNC_CONF(n_pids) && i < MAX_PIDS; i++)
		if (FUNC_CONF(pids[i]) == tgid)
			return true;
	return false;
}

/* Whether this call is counted. The probes themselves are measured in the tool only, whichever
 * threads are traced. */
static __always_inline bool func_passes(u32 func)
{
	if (func >= FUNC_CONF(n_funcs))
		return func_pid_tgid() >> 32 == FUNC_CONF(tool_tgid);
	if (FUNC_CONF(tracked))
		return func_group_tracked(bpf_get_current_pid_tgid() >> 32);
	return !FUNC_CONF(n_pids) || func_group_listed();
}

/* Threads. */

static __always_inline u32 func_slot(u64 task)
{
	return (u32)task * 0x9e3779b1U >> (32 - FUNC_THREADS_LOG2);
}

static __always_inline struct func_thread *func_thread_elsewhere(u64 task)
{
	u64 key = task;

	return bpf_map_lookup_elem(&func_others, &key);
}

/* The state of @task, or NULL if it has none. */
static __always_inline struct func_thread *func_thread_find(u64 task)
{
	struct func_thread *t = &func_threads[func_slot(task)];

	barrier_var(t); /* one address, from which all members are reached */
	if (likely(t->task == task))
		return t;
	return t->crowd ? func_thread_elsewhere(task) : NULL;
}

/* Takes the slot of @task if the slot is free; else creates a state in func_others. Each CPU has an
 * idle thread. All have pid 0, but their addresses differ. */
static __always_inline struct func_thread *func_thread_make(u64 task)
{
	struct func_thread *t = &func_threads[func_slot(task)];
	u32 slot = func_slot(task);

	barrier_var(t);
	if (!t->task && !bpf_map_update_elem(&func_owners, &slot, &slot, BPF_NOEXIST)) {
		t->task = task; /* the slot's former owner left no frames */
		return t;
	}
	if (unlikely(t->task == task)) /* an interrupting program took the slot */
		return t;
	atomic_add(&t->crowd, 1); /* first: an interrupting program must find the state */
	if (bpf_map_update_elem(&func_others, &task, &func_nobody, BPF_NOEXIST))
		atomic_add(&t->crowd, -1);
	t = func_thread_elsewhere(task);
	if (!t)
		func_count_lost(FUNC_LOST_THREADS);
	return t;
}

/* The state of @task, found or made. @was_filling: this program interrupted another while it filled
 * a frame. */
static __always_inline struct func_thread *func_thread_get(u64 task, u64 *was_filling)
{
	struct func_thread *t = func_thread_find(task);

	if (likely(t)) {
		*was_filling = t->filling;
		return t;
	}
	*was_filling = 0;
	return func_thread_make(task);
}

/* A thread in no traced function any more frees its state in func_others. So there is a limit of
 * threads at one time, not of all threads ever seen. But an interrupt must not free a state that
 * the interrupted program is about to use, and may have made just now. */
static __always_inline void func_thread_leave(u64 task, struct func_thread *t)
{
	struct func_thread *slot = &func_threads[func_slot(task)];
	u64 key = task;

	barrier_var(slot);
	if (unlikely(slot->task != task) && !t->filling && !bpf_map_delete_elem(&func_others, &key))
		atomic_add(&slot->crowd, -1);
}

static __always_inline struct func_frame *func_frame_at(struct func_thread *t, u64 i)
{
	barrier_var(i); /* the compiler may know the limit, and leave the mask out */
	i &= FUNC_FRAMES - 1;
	barrier_var(i); /* the verifier must see the mask on the index itself */
	return &t->frames[i];
}

/* The sums of function calls: by function, by the calls above, or by a key. */

/* With FUNC_ROWS: sums by CPU and function. User space sets the size of this map and of the maps
 * below. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__type(key, u32);
	__type(value, struct func_sums);
} func_cells SEC(".maps");

/* Without FUNC_ROWS: rows by key. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct func_key);
	__type(value, struct func_sums);
} func_rows SEC(".maps");

/* Histograms by function, in conf.hists copies. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__type(key, u32);
	__type(value, unsigned int[HIST_N]);
} func_hists SEC(".maps");

/* By function: unreturned calls. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__type(key, u32);
	__type(value, u64);
} func_unreturned SEC(".maps");

static __always_inline void func_count_unreturned(u32 func)
{
	u64 *n = bpf_map_lookup_elem(&func_unreturned, &func);

	if (n)
		atomic_add(n, 1);
}

/* Identifies a function below its callers: mixes the path above with the function (the finalizer of
 * splitmix64). Never 0: this stands for no path. */
static __always_inline u64 func_path(u64 above, u32 func)
{
	u64 x = above + (func + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) | 1;
}

static __always_inline void func_key_by(struct func_key *k)
{
	u64 id;

	switch (FUNC_CONF(rows)) {
	case FUNC_ROWS_PID:
		k->by[0] = func_pid_tgid() >> 32;
		break;
	case FUNC_ROWS_TID:
		id = func_pid_tgid();
		k->by[0] = (u32)id;
		k->by[1] = id >> 32;
		break;
	case FUNC_ROWS_COMM:
		bpf_get_current_comm(k->by, sizeof(k->by));
		break;
	case FUNC_ROWS_CGROUP:
		k->by[0] = bpf_get_current_cgroup_id();
		break;
	}
}

/* A function call after its return, and its row. */
struct func_call {
	u64 dur, self, path, parent, probe, preempted;
	u32 func, bucket;
};

static __always_inline struct func_sums *func_row_find(const struct func_call *c)
{
	struct func_key key = { .func = c->func, .path = c->path };
	struct func_sums *s, zero = { .parent = c->parent };

	if (FUNC_CONF(rows) != FUNC_ROWS_TREE) {
		key.bucket = c->bucket;
		func_key_by(&key);
	}
	s = bpf_map_lookup_elem(&func_rows, &key);
	if (likely(s))
		return s;
	/* another CPU may have been first */
	bpf_map_update_elem(&func_rows, &key, &zero, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&func_rows, &key);
	if (!s)
		func_count_lost(FUNC_LOST_ROWS);
	return s;
}

/* The index in func_cells, and in func_hists where each CPU has its own. */
static __always_inline u32 func_index(u32 cpu, u32 func)
{
	/* one more than there are functions: the last is for measuring the probes */
	return cpu * (FUNC_CONF(n_funcs) + 1) + func;
}

static __always_inline void func_hist_add(u32 i, u32 bucket)
{
	unsigned int *hist = bpf_map_lookup_elem(&func_hists, &i);

	if (hist)
		atomic_add(&hist[bucket], 1);
}

static __always_inline u32 func_hist_index(u32 func)
{
	return func_index(current_cpu() & (FUNC_CONF(hists) - 1), func);
}

/* An interrupting program may add to the same cell, so additions are atomic. */
static __always_inline void func_sums_add(struct func_sums *s, const struct func_call *c)
{
	atomic_add(&s->total_ns, c->dur);
	atomic_add(&s->self_ns, c->self);
	cell_max(&s->max_ns, c->dur);
	cell_max(&s->min_inverse, ~c->dur);
	if (FUNC_CONF(subtract)) {
		atomic_add(&s->probe_ns, c->probe);
		atomic_add(&s->preempted_ns, c->preempted);
	}
}

static __always_inline void func_cell_add(const struct func_call *c)
{
	u32 i = func_index(current_cpu(), c->func);
	struct func_sums *s = bpf_map_lookup_elem(&func_cells, &i);

	if (!s)
		return;
	func_sums_add(s, c);
	if (FUNC_CONF(hists_shared))
		i = func_hist_index(c->func);
	func_hist_add(i, c->bucket);
}

static __always_inline void func_call_add(struct func_call *c)
{
	struct func_sums *s;

	c->bucket = hist_bucket(c->dur);
	if (FUNC_CONF(rows) == FUNC_ROWS || c->func >= FUNC_CONF(n_funcs)) {
		func_cell_add(c);
		return;
	}
	s = func_row_find(c);
	if (!s)
		return;
	atomic_add(&s->count, 1);
	func_sums_add(s, c);
	if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
		func_hist_add(func_hist_index(c->func), c->bucket);
}

/* Kernel stacks are aligned to their size, or to more. The stacks of user programs are not, and are
 * larger. */
enum { KERNEL_STACK_SHIFT = 14, USER_STACK_SHIFT = 23 };

/* The place of a call on the stack, and the thread's stack for signals. Calls on the signal stack
 * have interrupted the others, and are over when a call runs elsewhere. */
struct func_place {
	u64 sp, signals, signals_len;
};

static __always_inline struct func_place func_place_at(u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct func_place at = { .sp = sp };

	if (FUNC_CONF(user_stacks)) {
		at.signals = BPF_CORE_READ(task, sas_ss_sp);
		at.signals_len = BPF_CORE_READ(task, sas_ss_size);
	}
	return at;
}

/* 1 if @sp is on the stack for signals; else 0. */
static __always_inline u64 func_is_for_signals(const struct func_place *at, u64 sp)
{
	u64 offset = sp - at->signals;

	return (~offset & (offset - at->signals_len)) >> 63;
}

/* Returns 1 if the frame @f, in use, is older than a call at @at or further up, else 0. There is no
 * branch, since the verifier follows both sides of each. Calls on another stack were
 * interrupted. */
static __always_inline u64 func_is_older(const struct func_frame *f, const struct func_place *at)
{
	u64 sp = at->sp, apart, older, f_signals, signals;

	if (FUNC_CONF(user_stacks))
		apart = (sp - f->sp + (1ULL << USER_STACK_SHIFT)) >> (USER_STACK_SHIFT + 1);
	else
		apart = (f->sp ^ sp) >> KERNEL_STACK_SHIFT;
	older = (apart | -apart | (sp - f->sp)) >> 63;
	if (!FUNC_CONF(user_stacks))
		return older;
	f_signals = func_is_for_signals(at, f->sp);
	signals = func_is_for_signals(at, sp);
	return (signals & ~f_signals) | (older & ~(signals ^ f_signals));
}

/* How many of @depth frames are older than a call at @sp. The stack grows down, so the frames are
 * in order. A binary search takes seven steps. One by one the search would take 64, and some 20 ms
 * of the verifier for each function, since the verifier looks at a copy for each. */
static __always_inline u64 func_frames_older(struct func_thread *t, u64 depth, u64 sp)
{
	struct func_place at = func_place_at(sp);
	u64 n = 0, next, below;

	_Static_assert(FUNC_FRAMES == 64, "steps");
#pragma clang loop unroll(full)
	for (u64 step = FUNC_FRAMES; step; step /= 2) {
		next = n + step;
		below = (next - depth - 1) >> 63;
		below &= func_is_older(func_frame_at(t, next - 1), &at);
		barrier_var(below); /* else the compiler makes branches */
		n += step * below;
	}
	return n;
}

/* Gives up the frames from @keep on: their calls are unreturned. The first FUNCS_COUNTED calls are
 * counted by function, the others only as lost. */
static __always_inline void func_frames_drop(struct func_thread *t, u64 depth, u64 keep)
{
	enum { FUNCS_COUNTED = 4 };

#pragma clang loop unroll(full)
	for (u64 i = 0; i < FUNCS_COUNTED && keep + i < depth; i++)
		func_count_unreturned(func_frame_at(t, keep + i)->func);
	if (keep + FUNCS_COUNTED < depth)
		atomic_add(&func_live.lost[FUNC_LOST_RETURN], depth - keep - FUNCS_COUNTED);
	t->depth = keep;
}

/* Gives up all frames of a thread that exits or executes another program. */
static __always_inline void func_frames_end(struct func_thread *t)
{
#pragma clang loop unroll(disable)
	for (u64 i = 0; i < FUNC_FRAMES && i < t->depth; i++)
		func_count_unreturned(func_frame_at(t, i)->func);
	t->depth = 0;
}

/* Notes that the thread was killed by a signal of a fault. A probed return may cause such a fault.
 * A thread without a state called no traced function. */
static __always_inline void func_killed_note(struct func_thread *t)
{
	const u64 faults = 1 << 4 /* SIGILL */ | 1 << 5 /* SIGTRAP */ | 1 << 6 /* SIGABRT */ |
			   1 << 7 /* SIGBUS */ | 1 << 11 /* SIGSEGV */;
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 by = BPF_CORE_READ(task, exit_code) & 0x7f;

	if (!t || !FUNC_CONF(user_stacks) || by > 11 || !(faults >> by & 1) || !func_passes(0) ||
	    func_live.killed_by)
		return;
	func_live.killed_tgid = func_pid_tgid() >> 32;
	func_live.killed_by = by;
}

static __always_inline void func_calls_end(u64 task)
{
	struct func_thread *t = func_thread_find(task);

	if (t && t->depth) {
		func_frames_end(t);
		func_thread_leave(task, t);
	}
}

/*
 * Gives up frames of calls that cannot be in progress any more when @func is entered at @sp.
 * Returns how many remain. Another function at the same place may have called @func in its last
 * statement (a jump). If the same function is at this place, its return was missed.
 */
static __always_inline u64 func_frames_outlive(struct func_thread *t, u64 depth, u32 func, u64 sp)
{
	u64 keep = func_frames_older(t, depth, sp - 1);
	struct func_frame *f = func_frame_at(t, keep - 1);

	if (keep && f->sp == sp && f->func == func)
		keep--;
	if (keep < depth)
		func_frames_drop(t, depth, keep);
	return keep;
}

/* Counts a call without a time, where returns are not probed. */
static __always_inline void func_count_call(u32 func)
{
	struct func_call c = { .func = func };
	struct func_sums *s;

	if (FUNC_CONF(rows) == FUNC_ROWS || func >= FUNC_CONF(n_funcs)) {
		func_count_unreturned(func);
		return;
	}
	s = func_row_find(&c);
	if (s)
		atomic_add(&s->count, 1);
}

/* Time in which the current thread was ready, but not on a CPU, since it began. 0 if the kernel
 * does not count it. */
static __always_inline u64 func_preempted(void)
{
	return task_run_delay((void *)bpf_get_current_task());
}

/* @func is entered at @sp. Returns false if the call is not counted, or counted already, and its
 * return need not be seen. */
static __always_inline bool func_enter(u32 func, u64 sp)
{
	u64 path = 0, was, depth;
	struct func_thread *t;
	struct func_frame *f;

	if (!func_passes(func))
		return false;
	if (FUNC_CONF(counted_only)) {
		func_count_call(func);
		return false;
	}
	t = func_thread_get(bpf_get_current_task(), &was);
	if (!t)
		return false;
	t->filling = 1;
	barrier();
	depth = t->depth;
	if (depth && likely(!was)) {
		f = func_frame_at(t, depth - 1);
		if (unlikely(f->sp <= sp))
			depth = func_frames_outlive(t, depth, func, sp);
	}
	if (unlikely(depth >= FUNC_FRAMES)) {
		func_count_lost(FUNC_LOST_DEPTH);
		t->filling = was;
		return false;
	}
	if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
		path = func_path(depth ? func_frame_at(t, depth - 1)->path : 0, func);
	f = func_frame_at(t, depth);
	t->depth = depth + 1;
	barrier();
	/* first, for programs interrupting the rest */
	if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
		f->path = path;
	barrier();
	f->func = func;
	f->sp = sp;
	f->nested_ns = 0;
	if (FUNC_CONF(subtract)) {
		f->below = 0;
		f->preempted_ns = func_preempted();
	}
	f->start = bpf_ktime_get_ns();
	barrier();
	t->filling = was;
	return true;
}

static __always_inline bool func_frame_is(struct func_frame *f, u32 func, u64 sp)
{
	return f->func == func && f->sp == sp;
}

/* @func returns at @sp: gives up the frames above its own. Returns how many remain. If @func has no
 * frame, returns 0 and changes nothing. The last frames may be of an interrupt on another stack. If
 * @func was interrupted by this interrupt, the interrupt is over. */
static __always_inline u64 func_frames_unwind(struct func_thread *t, u32 func, u64 sp)
{
	u64 depth = t->depth, last = func_frame_at(t, depth - 1)->sp, n;

	if (!FUNC_CONF(user_stacks) && (last ^ sp) >> KERNEL_STACK_SHIFT)
		depth = func_frames_older(t, depth, last | ((1ULL << KERNEL_STACK_SHIFT) - 1));
	n = func_frames_older(t, depth, sp);

	/* if several functions at one place jumped to one another, the last returns first */
	if (n + 1 < depth && func_frame_is(func_frame_at(t, n + 1), func, sp))
		n++;
	if (n >= depth || !func_frame_is(func_frame_at(t, n), func, sp))
		return 0;
	func_frames_drop(t, t->depth, n + 1);
	return n + 1;
}

/* Learns where a function returns on the stack, relative to its entry: this depends on the kernel.
 * The first calls of a function without callees tell, before anything is traced. */
static __always_inline bool func_learn(struct func_frame *f, u32 func, u64 sp)
{
	if (!func_live.learning || func < FUNC_CONF(n_funcs) || f->func != func)
		return false;
	func_live.learned = f->sp - sp + func_live.sp_shift;
	func_live.sp_seen = 1;
	return true;
}

static __always_inline u64 func_positive(s64 v)
{
	return v < 0 ? 0 : v;
}

/* Counts a return without an entry. Calls in progress when tracing began count, too: they cannot be
 * told apart. */
static __always_inline void func_unmatched(u32 func)
{
	if (func_live.since_ns && func_passes(func))
		func_count_lost(FUNC_LOST_END);
}

/* The time added to a call by its probes and those of all calls below. */
static __always_inline u64 func_cost(const struct func_frame *f)
{
	return func_live.inside_ns + f->below * func_live.call_ns;
}

/* Takes the time of the probes off @c, and notes how long its thread waited for a CPU. */
static __always_inline void func_subtract(struct func_call *c, const struct func_frame *f)
{
	u64 measured = c->dur;

	c->dur = func_positive(measured - func_cost(f));
	c->probe = measured - c->dur;
	c->preempted = func_preempted() - f->preempted_ns;
	if (c->preempted > c->dur)
		c->preempted = c->dur;
	if (!func_live.preempted_known)
		func_live.preempted_known = has_run_delay();
}

/* Charges @f, the frame of the call that returned and the last of @depth, and gives the frame
 * up. */
static __always_inline void func_frame_end(struct func_thread *t, u64 task, u64 depth,
					   struct func_frame *f)
{
	struct func_frame *above;
	struct func_call c = { .func = f->func };

	/* NMIs can read this clock: it may step back a little around an update */
	c.dur = func_positive(bpf_ktime_get_ns() - f->start);
	if (FUNC_CONF(subtract))
		func_subtract(&c, f);
	c.self = func_positive(c.dur - f->nested_ns);
	if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
		c.path = f->path;
	if (depth > 1) {
		above = func_frame_at(t, depth - 2);
		above->nested_ns += c.dur;
		if (FUNC_CONF(subtract))
			above->below += f->below + 1;
		if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
			c.parent = above->path;
	}
	barrier();
	t->depth = depth - 1;
	if (depth == 1)
		func_thread_leave(task, t);
	func_call_add(&c);
}

/* Whether a call at @sp was made from within @f, the last frame for which there is room. Such a
 * call was counted as lost at its entry. */
static __always_inline bool func_is_too_deep(struct func_thread *t, struct func_frame *f, u64 sp)
{
	struct func_place at = func_place_at(sp - 1);

	return t->depth == FUNC_FRAMES && func_is_older(f, &at);
}

/* The call of @func entered at @sp returns. */
static __always_inline void func_leave(u32 func, u64 sp)
{
	u64 task = bpf_get_current_task();
	struct func_thread *t = func_thread_find(task);
	struct func_frame *f;
	u64 depth, was;

	if (!t || !t->depth) {
		func_unmatched(func);
		return;
	}
	depth = t->depth;
	f = func_frame_at(t, depth - 1);
	if (unlikely(!func_frame_is(f, func, sp)) && !func_learn(f, func, sp)) {
		was = t->filling;
		t->filling = 1;
		barrier();
		depth = func_frames_unwind(t, func, sp);
		barrier();
		t->filling = was;
		if (!depth) {
			if (!func_is_too_deep(t, f, sp))
				func_unmatched(func);
			return;
		}
		f = func_frame_at(t, depth - 1);
	}
	func_frame_end(t, task, depth, f);
}

/* Like func_leave(), where a return is seen only if its entry was seen. Then @sp identifies the
 * call, and no costly search for the function is needed. False: use func_leave(). */
static __always_inline bool func_leave_paired(u64 sp)
{
	u64 task = bpf_get_current_task();
	struct func_thread *t = func_thread_find(task);
	u64 depth = t ? t->depth : 0;
	struct func_frame *f;

	if (!depth)
		return false;
	f = func_frame_at(t, depth - 1);
	if (f->sp != sp)
		return false;
	func_frame_end(t, task, depth, f);
	return true;
}

#endif
