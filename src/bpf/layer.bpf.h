/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * layer.bpf.h - entry and return of a function that bounds a layer (VFS or file system): within an
 * operation it says which layer is on CPU; with -T it is timed by itself, nested calls too.
 */
#ifndef IOSTRATA_LAYER_BPF_H
#define IOSTRATA_LAYER_BPF_H

#include "op.bpf.h"

enum { EIOCBQUEUED = 529 };

/* The same operation on the same file, one function inside the other (ext4_file_read_iter calls
 * generic_file_read_iter, which other types have as theirs): it is one. */
static __always_inline bool is_nested(const struct task_state *t, const struct frame *f, u64 depth)
{
	const struct frame *outer;
	u64 below = depth - 1;

	barrier_var(below); /* the verifier must see the limit on the register that is used */
	if (below >= FRAMES)
		return false;
	outer = &t->frames[below];
	return outer->op == f->op && outer->row.file == f->row.file;
}

/*
 * Calls whose return was not seen: its program was refused, or the kretprobes were used up (a
 * function has as many as the machine has CPUs, if the kernel does not preempt itself, and each
 * thread that sleeps in it needs one). A call that encloses this one began higher on the stack.
 */
static __always_inline void frames_drop_stale(struct task_state *t, const void *sp)
{
	u64 top;

	/* a pointer is not compared with a number, but a number that was stored is one */
	*(volatile u64 *)&t->sp = (u64)sp;
	for (int i = 0; i < FRAMES && t->depth; i++) {
		top = t->depth - 1ULL;
		barrier_var(top);
		if (top >= FRAMES || t->frames[top].sp > *(volatile u64 *)&t->sp)
			return;
		t->depth = top;
		count_lost(LOST_UNMATCHED_START);
	}
}

/* What is known of its file; false: it is not asked for. Which one it is and of what kind is noted
 * anyway, for calls inside it and for its return. */
static __always_inline bool frame_learn(struct frame *f, struct file *file, bool typed)
{
	struct open_file look = file_look(file, typed);

	f->row.file = (u64)file;
	f->row.mode = look.mode;
	return mode_wanted(look.mode) && file_learn(&f->row, look, typed);
}

/* Opens a frame. @sp: something on the stack. */
static __always_inline void frame_push(u8 op, struct file *file, bool typed, const void *sp)
{
	struct task_state *t = task_get(current_task());
	struct frame *f;
	u64 depth;

	if (!t)
		return;
	if (t->depth)
		frames_drop_stale(t, sp);
	depth = t->depth;
	t->depth = depth + 1;
	barrier_var(depth);
	if (depth >= FRAMES)
		return;
	f = &t->frames[depth];
	f->op = op;
	f->sp = (u64)sp;
	f->wanted = frame_learn(f, file, typed) && !is_nested(t, f, depth);
	f->start = bpf_ktime_get_ns();
}

static __always_inline void frame_count(struct task_state *t, const struct frame *f, u64 now,
					long ret)
{
	u64 total = now > f->start ? now - f->start : 0;
	struct op_cell *cell;

	if (CONF(min_ns) && total < CONF(min_ns))
		return;
	cell = row_find(&f->row, ROW_WHAT(0, (u32)f->op, 0), &t->row_slot);
	if (cell)
		cell_add(cell, total, ret < 0 && ret >= -MAX_ERRNO ? -1 : 0,
			 ret > 0 && returns_bytes(f->op) ? ret : 0, false);
}

/* Closes the last frame at time @now. */
static __always_inline void frame_pop(u8 op, long ret, u64 now)
{
	struct task_state *t = current_lookup();
	struct frame *f;
	u64 depth;

	if (!t)
		return;
	if (!t->depth) {
		count_lost(LOST_UNMATCHED_END);
		return;
	}
	depth = t->depth - 1ULL;
	t->depth = depth;
	barrier_var(depth);
	if (depth >= FRAMES) {
		count_lost(LOST_UNMATCHED_START);
		return;
	}
	f = &t->frames[depth];
	if (f->op != op) {
		count_lost(LOST_UNMATCHED_END);
		t->depth = 0;
		return;
	}
	/* at the entry of vfs_open() the file has no inode yet */
	if (op == OP_OPEN && !f->row.mode && ret >= 0) {
		f->wanted = frame_learn(f, (struct file *)f->row.file, false) &&
			    !is_nested(t, f, depth);
	}
	/* EIOCBQUEUED: goes on without the caller, and ends elsewhere */
	if (f->wanted && ret != -EIOCBQUEUED)
		frame_count(t, f, now, ret);
}

/* Entry of a function of a layer, within an operation. One of the VFS knows the file that the call
 * names; with @only_file that is all that is asked of it. */
static __always_inline void layer_enter(u32 stratum, struct file *file, bool typed, bool only_file)
{
	struct task_state *t = current_lookup();
	u32 stage;

	if (!t)
		return;
	stage = t->stage;
	if (stratum == ST_VFS && likely(stage == STAGE(OP_BEGUN, ST_SYSCALL, 0, 0)))
		stage = op_learn_file(t, file, typed) ? stage_before(ST_VFS) : 0;
	if (only_file)
		t->stage = stage;
	else
		op_enter_layer(t, stratum, stage);
}

/* Return from one. */
static __always_inline void layer_leave(u32 stratum)
{
	struct task_state *t = current_lookup();

	if (t)
		op_leave_layer(t, stratum);
}

/*
 * What a run makes of a function's entry and return. @sp: something on the stack; a trampoline's
 * arguments are there, too. The branches must not begin alike: the compiler would do that part
 * before them, and what the others need later would have to be kept in registers meanwhile.
 */
#define FUNCTION_ENTERED(stratum, op, its_file, typed, sp)                                         \
	do {                                                                                       \
		struct file *file_ = NULL;                                                         \
		                                                                                   \
		if (CONF(layer) == LAYER_OPS) {                                                    \
			if (stratum == ST_VFS)                                                     \
				file_ = its_file;                                                  \
			preemption_off();                                                          \
			layer_enter(stratum, file_, typed, false);                                 \
			preemption_on();                                                           \
		} else if (CONF(layer) == LAYER_SYSCALL) {                                         \
			layer_enter(stratum, its_file, typed, true);                               \
		} else if (current_passes()) {                                                     \
			file_ = its_file;                                                          \
			preemption_off();                                                          \
			frame_push(op, file_, typed, sp);                                          \
			preemption_on();                                                           \
		}                                                                                  \
	} while (0)

#define FUNCTION_LEFT(stratum, op, result)                                                         \
	do {                                                                                       \
		u64 now_;                                                                          \
		long ret_;                                                                         \
		                                                                                   \
		if (CONF(layer) == LAYER_OPS) {                                                    \
			preemption_off();                                                          \
			layer_leave(stratum);                                                      \
			preemption_on();                                                           \
		} else {                                                                           \
			ret_ = result;                                                             \
			now_ = bpf_ktime_get_ns();                                                 \
			preemption_off();                                                          \
			frame_pop(op, ret_, now_);                                                 \
			preemption_on();                                                           \
		}                                                                                  \
	} while (0)

/*
 * The four programs of one function: fentry and fexit, or kprobe and kretprobe. @fentry_file and
 * @kprobe_file are its file, made from ctx, @typed whether the former can be read without a helper;
 * @n_args is the number of all arguments.
 */
#define FUNCTION_PROBES(tag, target, stratum, op, fentry_file, typed, kprobe_file, n_args)         \
	SEC("?fentry" target)                                                                      \
	int enter_##tag(u64 *ctx)                                                                  \
	{                                                                                          \
		FUNCTION_ENTERED(stratum, op, fentry_file, typed, ctx);                            \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?fexit" target)                                                                       \
	int leave_##tag(u64 *ctx)                                                                  \
	{                                                                                          \
		FUNCTION_LEFT(stratum, op, (long)ctx[n_args]);                                     \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kprobe" target)                                                                      \
	int kenter_##tag(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		FUNCTION_ENTERED(stratum, op, kprobe_file, false, (void *)ctx->sp);                \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kretprobe" target)                                                                   \
	int kleave_##tag(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		FUNCTION_LEFT(stratum, op, kprobe_ret(ctx));                                       \
		return 0;                                                                          \
	}

/* The same of a function whose argument number @file_arg is the struct file *. */
#define LAYER_PROBES(tag, target, stratum, op, file_arg, n_args)                                   \
	FUNCTION_PROBES(tag, target, stratum, op, (struct file *)ctx[file_arg], true,              \
			(struct file *)kprobe_arg(ctx, file_arg), n_args)

#endif
