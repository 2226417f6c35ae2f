/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func.bpf.h - entry and return of a traced function.
 *
 * A thread has a stack of frames, one for each call of a traced function that it is in. A call is
 * charged with the time since its entry; its self time is that less what the calls below it were
 * charged with.
 *
 * A program may be interrupted between any two instructions by others for the same thread, in an
 * interrupt or because it called a traced function itself. Those add frames and take them away
 * again; so a frame is reserved before it is written, and is not used after it is given up.
 *
 * The return of a call may not be seen: it was missed, or the function never returned to its
 * caller. Its place on the stack tells: see func_frames_outlive() and func_frames_unwind().
 */
#ifndef IOSTRATA_FUNC_BPF_H
#define IOSTRATA_FUNC_BPF_H

#include "func_row.bpf.h"

/* Kernel stacks are aligned to their size, or to more; a program's are not, and are larger. */
enum { KERNEL_STACK_SHIFT = 14, USER_STACK_SHIFT = 23 };

/* Where a call is, and the thread's stack for signals: what runs on that has interrupted the rest,
 * and is over when something runs elsewhere. */
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

/* 1 or 0. */
static __always_inline u64 func_is_for_signals(const struct func_place *at, u64 sp)
{
	u64 offset = sp - at->signals;

	return (~offset & (offset - at->signals_len)) >> 63;
}

/* 1 if @f, which is in use, is older than a call at @at or further up; else 0. Without a branch:
 * the verifier follows both sides of each. Calls on another stack were interrupted. */
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

/* How many of @depth frames are older than a call at @sp: the stack grows down, so they are in
 * order. A binary search takes six steps; one by one would take 64, and cost some 20 ms of the
 * verifier for each function, since it looks at a copy for each. */
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
		barrier_var(below); /* or the compiler makes branches of it */
		n += step * below;
	}
	return n;
}

/* Gives up the frames from @keep on: their calls did not return, or were not seen to. The first
 * FUNCS_COUNTED are counted by function, the others only as lost. */
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

/* Gives up all frames of a thread that ends, or whose program does. */
static __always_inline void func_frames_end(struct func_thread *t)
{
#pragma clang loop unroll(disable)
	for (u64 i = 0; i < FUNC_FRAMES && i < t->depth; i++)
		func_count_unreturned(func_frame_at(t, i)->func);
	t->depth = 0;
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
 * statement (a jump); the same function there is one whose return was missed.
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

/* False: the call is not counted, and its return need not be seen. */
static __always_inline bool func_enter(u32 func, u64 sp)
{
	u64 path = 0, was, depth;
	struct func_thread *t;
	struct func_frame *f;

	if (!func_passes(func))
		return false;
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
	/* first, for who interrupts the rest */
	if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
		f->path = path;
	barrier();
	f->func = func;
	f->sp = sp;
	f->nested_ns = 0;
	if (FUNC_CONF(subtract))
		f->below = 0;
	f->start = bpf_ktime_get_ns();
	barrier();
	t->filling = was;
	return true;
}

static __always_inline bool func_frame_is(struct func_frame *f, u32 func, u64 sp)
{
	return f->func == func && f->sp == sp;
}

/* @func returns at @sp: gives up the frames above its own. Returns how many remain; 0: it has none,
 * and nothing is changed. The last frames may be of an interrupt on another stack: if @func was
 * interrupted by that, it is over. */
static __always_inline u64 func_frames_unwind(struct func_thread *t, u32 func, u64 sp)
{
	u64 depth = t->depth, last = func_frame_at(t, depth - 1)->sp, n;

	if (!FUNC_CONF(user_stacks) && (last ^ sp) >> KERNEL_STACK_SHIFT)
		depth = func_frames_older(t, depth, last | ((1ULL << KERNEL_STACK_SHIFT) - 1));
	n = func_frames_older(t, depth, sp);

	/* of several at one place, which jumped to one another, the last returns first */
	if (n + 1 < depth && func_frame_is(func_frame_at(t, n + 1), func, sp))
		n++;
	if (n >= depth || !func_frame_is(func_frame_at(t, n), func, sp))
		return 0;
	func_frames_drop(t, t->depth, n + 1);
	return n + 1;
}

/* How far from its entry a function returns on the stack depends on the kernel. It is learned from
 * the first calls of a function that calls no other, before anything is traced. */
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

/* Calls that were in progress when tracing began count, too: they cannot be told apart. */
static __always_inline void func_unmatched(u32 func)
{
	if (func_live.since_ns && func_passes(func))
		func_count_lost(FUNC_LOST_END);
}

/* What the probes of a call and of all below it add to its time. */
static __always_inline u64 func_cost(const struct func_frame *f)
{
	return func_live.inside_ns + f->below * func_live.call_ns;
}

/* Charges @f, the frame of the call that returned, the last of @depth, and gives it up. */
static __always_inline void func_frame_end(struct func_thread *t, u64 task, u64 depth,
					   struct func_frame *f)
{
	struct func_frame *above;
	struct func_call c = { .func = f->func };

	/* the clock is one that NMIs can read: it may step back a little around an update */
	c.dur = func_positive(bpf_ktime_get_ns() - f->start);
	if (FUNC_CONF(subtract))
		c.dur = func_positive(c.dur - func_cost(f));
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

/* Whether a call at @sp was made from within the last frame that there is room for, @f: it was
 * counted as lost when it began. */
static __always_inline bool func_is_too_deep(struct func_thread *t, struct func_frame *f, u64 sp)
{
	struct func_place at = func_place_at(sp - 1);

	return t->depth == FUNC_FRAMES && func_is_older(f, &at);
}

/* The call of @func that was entered at @sp returns. */
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

/* The same where a return is seen only if its entry was. Then @sp identifies the call; to find out
 * the function would cost a search. False: use func_leave(). */
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
