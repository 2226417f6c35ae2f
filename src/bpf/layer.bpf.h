/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * layer.bpf.h - entry and return of a function that bounds a layer (VFS or file system). Within an
 * operation they tell which layer is on the CPU. With -T of a layer, its function calls are timed
 * themselves, also those inside others. If the I/O outlives its function call, the time ends when
 * the I/O completes.
 */
#ifndef IOSTRATA_LAYER_BPF_H
#define IOSTRATA_LAYER_BPF_H

#include "async.bpf.h"
#include "op.bpf.h"

enum { EIOCBQUEUED = 529 };

/* Whether a function call is inside another for the same operation on the same file: they count
 * once. Example: ext4_file_read_iter() calls generic_file_read_iter(). Other file systems use the
 * latter directly. */
static __always_inline bool is_nested(const struct layer_frames *c, const struct frame *f,
				      u64 depth)
{
	const struct frame *outer;
	u64 below = depth - 1;

	barrier_var(below); /* the verifier must see the limit of this very register */
	if (below >= FRAMES)
		return false;
	outer = &c->frames[below];
	return outer->info.op == f->info.op && outer->info.file == f->info.file;
}

/*
 * Drops function calls whose return was not seen: the program was refused, or the kretprobes were
 * used up. (On a kernel that is not preemptible, a function has as many kretprobes as the machine
 * has CPUs, and each thread asleep in the function needs one.) A function call that encloses this
 * one began higher on the stack.
 */
static __always_inline void frames_drop_stale(struct layer_frames *c, const void *sp)
{
	u64 top;

	/* the verifier compares no pointer with a number; stored and read back, @sp is a number */
	*(volatile u64 *)&c->sp = (u64)sp;
	for (int i = 0; i < FRAMES && c->depth; i++) {
		top = c->depth - 1ULL;
		barrier_var(top);
		if (top >= FRAMES || c->frames[top].sp > *(volatile u64 *)&c->sp)
			return;
		c->depth = top;
		count_lost(LOST_UNMATCHED_START);
	}
}

/* Learns the file of a frame. Returns false if the file is not traced. File and mode are noted in
 * any case, for function calls inside this one and for its return. */
static __always_inline bool frame_learn(struct frame *f, struct file *file, bool typed)
{
	struct open_file look = file_look(file, typed);

	f->info.file = (u64)file;
	f->info.mode = look.mode;
	return mode_wanted(look.mode) && file_learn(&f->info, look, typed);
}

/* Opens a frame. @sp: something on the stack. @kiocb: as in struct frame. */
static __always_inline void frame_push(u8 op, struct file *file, bool typed, const void *sp,
				       u64 kiocb)
{
	struct task_state *t = task_get(current_task());
	struct layer_frames *c;
	struct frame *f;
	u64 depth;

	if (!t)
		return;
	c = &t->frames_in_layer;
	if (c->depth)
		frames_drop_stale(c, sp);
	depth = c->depth;
	c->depth = depth + 1;
	barrier_var(depth);
	if (depth >= FRAMES)
		return;
	f = &c->frames[depth];
	f->info.op = op;
	f->sp = (u64)sp;
	f->kiocb = kiocb;
	f->info.wanted = frame_learn(f, file, typed) && !is_nested(c, f, depth);
	f->start = bpf_ktime_get_ns();
}

/* Counts a function call on @f from @start to @now that returned @ret. @slot: a guess at the slot
 * of its row, corrected. @who: its thread; NULL: current. */
static __always_inline void frame_count(const struct file_info *f, u64 start, u64 now, long ret,
					u8 *slot, const struct sent_who *who)
{
	u64 total = now > start ? now - start : 0;
	u32 what = ROW_WHAT(0, (u32)f->op, 0);
	struct op_cell *cell = NULL;
	struct op_sums *sums;
	u32 index;

	if (CONF(min_ns) && total < CONF(min_ns))
		return;
	if (CONF(row_slots))
		cell = row_in_slot(f, what, slot, &index);
	if (likely(cell))
		row_hist_add(cell, &index, total, false);
	sums = likely(cell) ? &cell->sums : row_hashed(f, what, total, who, !live.epoch);
	if (sums)
		sums_add(sums, total, ret < 0 && ret >= -MAX_ERRNO ? ret : 0,
			 ret > 0 && returns_bytes(f->op) ? ret : 0, f->op, false);
}

/* Whether the end of I/O by @kiocb is traced: the I/O is a request of io_uring or libaio. */
static __always_inline bool kiocb_end_is_traced(u64 kiocb)
{
	u64 complete = (u64)BPF_CORE_READ((struct kiocb *)kiocb, ki_complete);

	for (int i = 0; i < KIOCB_COMPLETES; i++)
		if (complete && complete == CONF_AT(completes, i))
			return true;
	return false;
}

/* The I/O of @f goes on after its function call: a completion ends it. Other users of struct kiocb,
 * such as loop devices and overlayfs, tell no end. */
static __always_inline void frame_queue(const struct frame *f)
{
	struct queued_call q = { .start = f->start, .info = f->info };
	u64 kiocb = f->kiocb;

	if (!kiocb || !kiocb_end_is_traced(kiocb)) {
		count_lost(LOST_UNMATCHED_START);
		return;
	}
	async_set_owner(&q.who);
	if (!bpf_map_update_elem(&queued_calls, &kiocb, &q, BPF_NOEXIST))
		atomic_add(&live.queued_calls, 1);
	else if (bpf_map_update_elem(&queued_calls, &kiocb, &q, BPF_EXIST))
		count_lost(LOST_MAP_FULL);
	else
		count_lost(LOST_UNMATCHED_START); /* of the former I/O at this address */
}

/* The I/O at @kiocb did not outlive its function call. If there is an entry, it belongs to former
 * I/O at this address: the end of that I/O was missed. */
static __always_inline void frame_not_queued(u64 kiocb)
{
	if (!kiocb || !live.queued_calls || bpf_map_delete_elem(&queued_calls, &kiocb))
		return;
	atomic_add(&live.queued_calls, -1);
	count_lost(LOST_UNMATCHED_START);
}

/* io_uring or libaio completes the I/O at @kiocb with the result @ret. For CONF_AT() see
 * async_index(): it is for the verifier. */
GLOBAL int queued_call_ends(u64 kiocb, u64 ret)
{
	struct queued_call *q, ended;
	u8 slot;

	if (!CONF_AT(completes, 0) || !live.queued_calls)
		return 0;
	q = bpf_map_lookup_elem(&queued_calls, &kiocb);
	if (!q)
		return 0;
	ended = *q;
	if (bpf_map_delete_elem(&queued_calls, &kiocb))
		return 0;
	atomic_add(&live.queued_calls, -1);
	slot = ended.info.op;
	frame_count(&ended.info, ended.start, bpf_ktime_get_ns(), ret, &slot,
		    CONF(op_owner) ? &ended.who : NULL);
	return 0;
}

/* Closes the last frame at time @now. */
static __always_inline void frame_pop(u8 op, long ret, u64 now)
{
	struct task_state *t = current_lookup();
	struct layer_frames *c;
	struct frame *f;
	u64 depth;

	if (!t)
		return;
	c = &t->frames_in_layer;
	if (!c->depth) {
		count_lost(LOST_UNMATCHED_END);
		return;
	}
	depth = c->depth - 1ULL;
	c->depth = depth;
	barrier_var(depth);
	if (depth >= FRAMES) {
		count_lost(LOST_UNMATCHED_START);
		return;
	}
	f = &c->frames[depth];
	if (f->info.op != op) {
		count_lost(LOST_UNMATCHED_END);
		c->depth = 0;
		return;
	}
	/* at the entry of vfs_open() the file has no inode yet */
	if (op == OP_OPEN && !f->info.mode && ret >= 0) {
		f->info.wanted = frame_learn(f, (struct file *)f->info.file, false) &&
				 !is_nested(c, f, depth);
	}
	if (!f->info.wanted)
		return;
	if (CONF(layer) == LAYER_FS && ret == -EIOCBQUEUED) {
		frame_queue(f);
		return;
	}
	if (CONF(layer) == LAYER_FS)
		frame_not_queued(f->kiocb);
	frame_count(&f->info, f->start, now, ret, &t->row_slot, NULL);
}

/* A function of a layer is entered within an operation. A VFS function knows the file of the call;
 * with @only_file only this file is noted. @acts: the kind of operations that call it. Returns
 * current's state if current executes a request of io_uring or libaio. */
static __always_inline struct task_state *layer_enter(u32 stratum, u8 acts, struct file *file,
						      bool typed, bool only_file)
{
	struct task_state *t = current_lookup();
	u32 stage;

	if (!t)
		return NULL;
	stage = t->op.stage;
	if (stratum == ST_FS && likely(stage == IN_VFS)) {
		op_enter_layer(&t->op, stratum, IN_VFS);
		return NULL;
	}
	if (stratum == ST_VFS && likely(stage == STAGE(OP_BEGUN, ST_SYSCALL, 0, 0)))
		stage = op_learn_file(&t->op, acts, file, typed) ? IN_SYSCALL : 0;
	if (only_file)
		t->op.stage = stage;
	else
		op_enter_layer(&t->op, stratum, stage);
	return (u8)stage == OP_ASYNC ? t : NULL;
}

/* Whether a function of a file system, with its arguments at @args, runs for a request of io_uring
 * whose file is not known. @t: current's state, if it executes a request. A request begins with its
 * struct kiocb. */
static __always_inline bool layer_wants_file(const struct task_state *t, const u64 *args)
{
	return CONF(uring) && t && !t->op.file.file && t->async == number(args[0]);
}

/* Learns @file as the file of the request that @t executes, without BPF helpers. */
static __always_inline void layer_learn_file(struct task_state *t, struct file *file)
{
	struct open_file f = file_look(file, true);
	struct op *op = &t->op;

	if (mode_wanted(f.mode) && file_learn(&op->file, f, true))
		async_set_flags(op, file->f_flags);
	else
		op->file.file = 0;
}

/* A function of a layer returns. */
static __always_inline void layer_leave(u32 stratum)
{
	struct task_state *t = current_lookup();

	if (t)
		op_leave_layer(&t->op, stratum);
}

/*
 * The work at entry and return of a function, depending on the run. @sp: an address on the stack;
 * the arguments that a trampoline stores are on the stack, too. The branches must not begin with
 * the same code: the compiler would move this code before them, and keep its results in registers.
 */
#define FUNCTION_ENTERED(stratum, op, its_file, typed, sp, kiocb)                                  \
	do {                                                                                       \
		struct file *file_ = NULL;                                                         \
		struct task_state *t_;                                                             \
                                                                                                   \
		if (CONF(cpu_split)) {                                                             \
			if (stratum == ST_VFS)                                                     \
				file_ = its_file;                                                  \
			t_ = layer_enter(stratum, op, file_, typed, false);                        \
			if (stratum == ST_FS && typed && layer_wants_file(t_, (void *)(sp)))       \
				layer_learn_file(t_, its_file);                                    \
		} else if (CONF(layer) <= LAYER_SYSCALL) {                                         \
			layer_enter(stratum, op, its_file, typed, true);                           \
		} else if (current_passes()) {                                                     \
			frame_push(op, its_file, typed, sp, kiocb);                                \
		}                                                                                  \
	} while (0)

#define FUNCTION_LEFT(stratum, op, result)                                                         \
	do {                                                                                       \
		u64 now_;                                                                          \
		long ret_;                                                                         \
                                                                                                   \
		if (CONF(layer) == LAYER_OPS) {                                                    \
			layer_leave(stratum);                                                      \
		} else {                                                                           \
			ret_ = result;                                                             \
			now_ = bpf_ktime_get_ns();                                                 \
			frame_pop(op, ret_, now_);                                                 \
		}                                                                                  \
	} while (0)

#endif
