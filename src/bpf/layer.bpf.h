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

static __always_inline void frame_push(u8 op, struct file *file, bool typed, const void *sp)
{
	struct file_info fi = {};
	u64 id = bpf_get_current_pid_tgid(), depth;
	struct task_state *t;
	struct frame *f;

	if (!current_passes(id))
		return;
	t = task_get(id);
	if (!t)
		return;
	if (t->depth)
		frames_drop_stale(t, sp);
	depth = t->depth;
	t->depth = depth + 1;
	barrier_var(depth);
	if (depth >= FRAMES)
		return;
	file_info(file, typed, &fi);
	f = &t->frames[depth];
	f->op = op;
	f->sp = (u64)sp;
	f->row = fi.row;
	f->wanted = file_wanted(&fi) && !is_nested(t, f, depth);
	f->start = bpf_ktime_get_ns();
}

static __always_inline void frame_count(struct task_state *t, const struct frame *f, u64 now,
					long ret)
{
	u64 total = now > f->start ? now - f->start : 0;
	u64 bytes = 0;
	struct op_cell *cell;

	if (total < CONF(min_ns))
		return;
	if (ret > 0 && returns_bytes(f->op))
		bytes = ret;
	cell = row_find(&f->row, f->op, 0, 0, &t->row_slot);
	if (cell)
		cell_add(cell, total, ret < 0 && ret >= -MAX_ERRNO ? -1 : 0, bytes);
}

static __always_inline void frame_pop(u8 op, long ret)
{
	u64 now = bpf_ktime_get_ns();
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
		struct file_info fi = {};

		file_info((struct file *)f->row.file, false, &fi);
		f->row = fi.row;
		f->wanted = file_wanted(&fi) && !is_nested(t, f, depth);
	}
	/* EIOCBQUEUED: goes on without the caller, and ends elsewhere */
	if (f->wanted && ret != -EIOCBQUEUED)
		frame_count(t, f, now, ret);
}

/* Entry of a function of a layer. A function of the VFS knows the file that a system call names.
 * @sp: something on the stack: a trampoline's arguments are there, too. */
static __always_inline void layer_enter(u32 stratum, u8 op, struct file *file, bool typed,
					const void *sp)
{
	u64 layer = CONF(layer);
	struct task_state *t;

	if (layer == LAYER_VFS || layer == LAYER_FS) {
		frame_push(op, file, typed, sp);
		return;
	}
	t = current_lookup();
	if (!t || !t->active)
		return;
	if (stratum == ST_VFS && t->file_pending && !op_learn_file(t, file, typed))
		return;
	if (layer == LAYER_OPS)
		op_enter_layer(t, stratum);
}

/* Return from one, within an operation. */
static __always_inline void layer_leave(u32 stratum)
{
	struct task_state *t = current_lookup();

	if (t && t->active)
		op_leave_layer(t, stratum);
}

/*
 * The four programs of one function: fentry and fexit, or kprobe and kretprobe. @fentry_file and
 * @kprobe_file are its file, made from ctx, @typed whether the former can be read without a helper;
 * @n_args is the number of all arguments.
 */
#define FUNCTION_PROBES(tag, target, stratum, op, fentry_file, typed, kprobe_file, n_args)         \
	SEC("?fentry" target)                                                                      \
	int enter_##tag(u64 *ctx)                                                                  \
	{                                                                                          \
		preemption_off();                                                                  \
		layer_enter(stratum, op, fentry_file, typed, ctx);                                 \
		preemption_on();                                                                   \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?fexit" target)                                                                       \
	int leave_##tag(u64 *ctx)                                                                  \
	{                                                                                          \
		preemption_off();                                                                  \
		if (CONF(layer) == LAYER_OPS)                                                       \
			layer_leave(stratum);                                                      \
		else                                                                               \
			frame_pop(op, (long)ctx[n_args]);                                          \
		preemption_on();                                                                   \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kprobe" target)                                                                      \
	int kenter_##tag(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		layer_enter(stratum, op, kprobe_file, false, (void *)ctx->sp);                     \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kretprobe" target)                                                                   \
	int kleave_##tag(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		if (CONF(layer) == LAYER_OPS)                                                       \
			layer_leave(stratum);                                                      \
		else                                                                               \
			frame_pop(op, kprobe_ret(ctx));                                            \
		return 0;                                                                          \
	}

/* The same of a function whose argument number @file_arg is the struct file *. */
#define LAYER_PROBES(tag, target, stratum, op, file_arg, n_args)                                   \
	FUNCTION_PROBES(tag, target, stratum, op, (struct file *)ctx[file_arg], true,              \
			(struct file *)kprobe_arg(ctx, file_arg), n_args)

#endif
