/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stack.bpf.h - the user stack of an operation: the functions of the program that made the call.
 * docs/design/stacks.md has the decisions.
 *
 * on_sys_exit() goes on with on_stack() at the end of an operation whose stack is taken: a separate
 * program, so that all others stay as they are. on_submissions(), behind on_sys_exit(), does so for
 * requests that the call has submitted. on_fault_handled() goes on with on_fault_stack() in the
 * same way.
 *
 * on_stack() walks the stack by the rows of .eh_frame that user space has made for each mapped file
 * (@unwind_files, @unwind_rows), and by frame pointers where a file has no rows. A frame of the
 * function that executes Python code is replaced by the frames of this Python code. A file without
 * an entry gets one here, and user space is told: this stack ends there. All pointers that the
 * kernel checks for on_stack() are valid: see the test "programs call no BPF functions".
 * No frame is guessed: where the caller is not known, the stack ends, with the reason.
 */
#ifndef IOSTRATA_STACK_BPF_H
#define IOSTRATA_STACK_BPF_H

#include "call.bpf.h"
#include "mapping.bpf.h"
#include "python.bpf.h"

enum {
	STACK_MOST = 1 << 20, /* bytes of a frame; a larger distance is no frame pointer */
	/* frames, and calls of functions that have frames of Python in their place */
	WALK_STEPS = 2 * STACK_FRAMES,
};

/* A walk, at one frame. */
struct stack_walk {
	u64 ip, sp, fp;
	struct sent_stack *to;
	/* the mapping looked up last; len 0: none */
	u64 start, len, offset;
	u64 has_file;
	struct unwind_key key;
	struct unwind_file file;
	u32 version;      /* of Python while the walk is in Python's frames, else 0 */
	u32 python_known; /* whether .python was looked up */
	u64 python;       /* address of the next Python frame, or 0 if there is none */
};

static long walk_note_mapping(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct stack_walk *w = arg;
	struct file *file = vma->vm_file;
	struct inode *inode;

	w->start = vma->vm_start;
	w->len = vma->vm_end - vma->vm_start;
	w->offset = vma->vm_pgoff << CONF(page_shift);
	w->has_file = !!file;
	if (!file)
		return 0;
	inode = file->f_inode;
	w->key.ino = inode->i_ino;
	w->key.dev = inode->i_sb->s_dev;
	w->key.generation = inode->i_generation;
	return 0;
}

/* A file met for the first time: user space is told. */
static __always_inline void stack_walk_tell(const struct stack_walk *w)
{
	struct unwind_file none = {};
	struct sent_stack_file *s;

	if (bpf_map_update_elem(&unwind_files, &w->key, &none, BPF_NOEXIST))
		return; /* another program has told */
	s = bpf_ringbuf_reserve(&stacks, sizeof(*s), 0);
	if (!s) {
		bpf_map_delete_elem(&unwind_files, &w->key); /* the next stack may find room */
		return;
	}
	__builtin_memset(s, 0, sizeof(*s));
	s->what = SENT_STACK_FILE;
	s->pid = w->to->who.pid;
	s->key = w->key;
	s->start = w->start;
	s->end = w->start + w->len;
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
}

/* Looks up the mapping at @ip, and the table of its file. Returns STACK_WHOLE, or why the stack
 * ends here. */
static __always_inline u32 stack_walk_find(struct stack_walk *w, u64 ip)
{
	struct unwind_file *file;
	long err;

	w->len = 0;
	err = bpf_find_vma(bpf_get_current_task_btf(), ip, walk_note_mapping, w, 0);
	if (err == -ERROR_BUSY)
		return STACK_BUSY;
	if (err || !w->len)
		return STACK_OUTSIDE;
	if (!w->has_file) {
		w->file = (struct unwind_file){};
		return STACK_WHOLE;
	}
	file = bpf_map_lookup_elem(&unwind_files, &w->key);
	if (file) {
		w->file = *file;
		/* the kernel may have used the entry again, for another file, before or during the
		 * copy: then it is not found again with this number */
		file = bpf_map_lookup_elem(&unwind_files, &w->key);
	} else {
		stack_walk_tell(w);
	}
	if (!file || !file->number || file->number != w->file.number) {
		w->len = 0;
		return STACK_NOT_READY;
	}
	return STACK_WHOLE;
}

/* All bits if @a < @b, else none; both below 2^63. The compiler makes no branch of it. */
static __always_inline u64 mask_less(u64 a, u64 b)
{
	s64 sign = (s64)(a - b) >> 63;

	barrier_var(sign);
	return sign;
}

/* The last row at or before place @at of the file, or NULL. The bounds are chosen without branches:
 * else the verifier of 7.2 walks each way of the search. */
static __always_inline struct unwind_row *stack_walk_row(const struct stack_walk *w, u64 at)
{
	u64 first = w->file.first, low = first, high = low + w->file.n, middle, above;
	struct unwind_row *row;
	u32 key;

	for (int i = 0; i < UNWIND_SEARCH; i++) {
		if (low >= high)
			break;
		middle = low + (high - low) / 2;
		key = middle;
		row = bpf_map_lookup_elem(&unwind_rows, &key);
		if (!row)
			return NULL;
		above = mask_less(at, row->at);
		high = (high & ~above) | (middle & above);
		low = (low & above) | ((middle + 1) & ~above);
	}
	if (low == first)
		return NULL;
	key = low - 1;
	return bpf_map_lookup_elem(&unwind_rows, &key);
}

/* Goes on to the caller by the frame pointer, whose frame must be above and near. Returns 0, or 1
 * with the reason @without. */
static __always_inline long stack_walk_by_fp(struct stack_walk *w, u32 without)
{
	u64 saved[2];

	if (w->fp < w->sp || w->fp - w->sp > STACK_MOST || w->fp & 7 ||
	    bpf_probe_read_user(saved, sizeof(saved), (void *)w->fp)) {
		w->to->end = without;
		return 1;
	}
	w->to->by_frame_pointers = 1;
	w->sp = w->fp + sizeof(saved);
	w->fp = saved[0];
	w->ip = saved[1];
	return 0;
}

/* Goes on to the caller by a row. Returns 0, or 1 with the reason. */
static __always_inline long stack_walk_by_row(struct stack_walk *w, const struct unwind_row *row)
{
	u64 cfa = row->rule == UNWIND_FP ? w->fp : w->sp, ip = 0, fp = w->fp;
	s64 saved = row->fp;

	if (row->rule == UNWIND_LAST)
		return 1;
	if (row->rule == UNWIND_PLT)
		cfa += 8 + ((u64)((w->ip & 15) >= 11) << 3);
	else if (row->rule == UNWIND_SP || row->rule == UNWIND_FP)
		cfa += 8 * (s64)row->cfa;
	else {
		w->to->end = STACK_EXPRESSION;
		return 1;
	}
	if ((saved && bpf_probe_read_user(&fp, sizeof(fp), (void *)(cfa + 8 * saved))) ||
	    bpf_probe_read_user(&ip, sizeof(ip), (void *)(cfa - 8))) {
		w->to->end = STACK_MEMORY;
		return 1;
	}
	w->fp = fp;
	w->sp = cfa;
	w->ip = ip;
	return !ip;
}

/* Adds a frame. Returns false if there is no room: the stack ends. */
static __always_inline bool stack_walk_add(struct stack_walk *w, u64 frame)
{
	struct sent_stack *to = w->to;
	u32 n = to->n;

	if (n >= STACK_FRAMES) {
		to->end = STACK_DEEP;
		return false;
	}
	to->frames[n & (STACK_FRAMES - 1)] = frame;
	to->n = n + 1;
	return true;
}

/* This place of the file runs Python. Sets @w->version if its frames come instead of this one. */
static __always_inline void stack_walk_enter_python(struct stack_walk *w)
{
	u32 version = w->file.python.version;

	if (version && !w->python_known)
		w->python = python_innermost(python_layout(version),
					     w->start - w->offset + w->file.python.runtime);
	w->python_known = 1;
	if (version && w->python)
		w->version = version;
	else
		w->to->end = STACK_NO_PYTHON;
}

/* One frame of Python. */
static __always_inline long stack_walk_python(struct stack_walk *w)
{
	const struct python_layout *l = python_layout(w->version);
	u64 at = w->python, frame;
	u32 version = w->version;
	bool last;

	last = python_is_last(l, at);
	w->python = python_word(at + l->caller);
	if (last)
		w->version = 0;
	if (last && l->last_is_caller)
		return 0;
	frame = python_frame(l, version, at);
	if (frame && (last || w->python))
		return !stack_walk_add(w, frame);
	w->to->end = STACK_NO_PYTHON;
	w->version = 0;
	w->python = 0;
	return 0;
}

/* Goes on to the caller of the frame at place @at. Returns 0, or 1 with the reason. */
static __always_inline long stack_walk_up(struct stack_walk *w, u64 at)
{
	struct unwind_row *row = w->file.n ? stack_walk_row(w, at) : NULL;

	if (w->file.n && !row) {
		w->to->end = STACK_EXPRESSION;
		return 1;
	}
	if (row && row->rule != UNWIND_BY_FP)
		return stack_walk_by_row(w, row);
	return stack_walk_by_fp(w, w->file.full  ? STACK_NO_ROOM
				   : w->has_file ? STACK_NO_ROWS
						 : STACK_OUTSIDE);
}

/* One frame. The place of a caller is that of its call: a function may end with the call. */
static long walk_frame(u32 i, void *arg)
{
	struct stack_walk *w = arg;
	u64 ip = w->ip - !!i, at;
	u32 end;
	long over;

	if (!w->version && !w->ip)
		return 1;
	if (i == WALK_STEPS - 1) {
		w->to->end = STACK_DEEP;
		return 1;
	}
	if (w->version)
		return stack_walk_python(w);
	if (ip - w->start >= w->len) {
		end = stack_walk_find(w, ip);
		if (end != STACK_WHOLE) {
			w->to->end = end;
			return 1;
		}
	}
	at = w->has_file ? ip - w->start + w->offset : ip;
	if (at >= w->file.python.from && at < w->file.python.to)
		stack_walk_enter_python(w);
	if (!w->version && !stack_walk_add(w, STACK_FRAME((u64)w->file.number, STACK_FRAME_AT(at))))
		return 1;
	over = stack_walk_up(w, at);
	if (over && w->version) {
		w->ip = 0; /* the last one, but its frames of Python come */
		return 0;
	}
	return over;
}

/* Sets whose stack it is: current's. It has no frames yet. */
static __always_inline void stack_fill_who(struct sent_stack *s)
{
	s->end = STACK_WHOLE;
	s->by_frame_pointers = 0;
	s->n = 0;
	s->submission = 0;
	s->submitted = 0;
	who_set(&s->who, NULL);
	s->process_start = bpf_get_current_task_btf()->group_leader->start_time;
}

/* Fills all members but those of the stack. */
static __always_inline void stack_fill(struct sent_stack *s, const struct op *op)
{
	s->what = SENT_STACK;
	stack_fill_who(s);
	stack_fill_op(s, op, &op->taken);
}

/* Sends current's operation, which has ended, where no program can take its stack. */
static __always_inline void stack_send_none(void)
{
	struct task_state *t = current_lookup();
	struct sent_stack *s;

	if (!t)
		return;
	s = bpf_ringbuf_reserve(&stacks, sizeof(*s), 0);
	if (!s) {
		stack_count_lost(t->op.taken.total);
		return;
	}
	stack_fill(s, &t->op);
	s->end = STACK_NO_PROBE;
	bpf_ringbuf_submit(s, 0);
}

/* A call ends. Goes on with on_stack() if the stack of its operation is to be taken. */
static __always_inline void call_is_over(struct task_state *t, void *ctx, bool perf, long ret)
{
	if (call_ends(t, ctx, perf, ret))
		bpf_tail_call(ctx, &stack_calls, 0);
}

/* A call has ended. Goes on with on_stack() if the stack of requests that it has submitted is to be
 * taken, and was not taken with that of its operation. */
static __always_inline void submissions_end(void *ctx)
{
	struct task_state *t = current_lookup();

	if (!t || likely(!t->submits))
		return;
	t->only_submits = 1;
	bpf_tail_call(ctx, &stack_calls, 0);
	t->only_submits = 0;
}

/* Fills all members but those of the stack of a call in which no operation has ended. */
static __always_inline void stack_fill_submission(struct sent_stack *s)
{
	s->what = SENT_SUBMISSION;
	stack_fill_who(s);
	s->start_ns = bpf_ktime_get_ns();
	s->total_ns = 0;
}

/* Takes the stack of current's operation, which has ended, or of the requests that its call has
 * submitted, or of both. @regs: current's in user space. */
static __always_inline void stack_take(struct pt_regs *regs)
{
	struct task_state *t = current_lookup();
	struct stack_walk w = {};
	struct sent_stack *s;
	bool is_op;

	if (!t)
		return;
	is_op = !t->only_submits;
	t->only_submits = 0;
	s = bpf_ringbuf_reserve(&stacks, sizeof(*s), 0);
	if (!s) {
		if (is_op)
			stack_count_lost(t->op.taken.total);
		submission_over(t);
		return;
	}
	if (is_op)
		stack_fill(s, &t->op);
	else
		stack_fill_submission(s);
	if (t->submits) {
		s->submission = t->submission + 1;
		s->submitted = t->submits;
		submission_over(t);
	}
	w.to = s;
	w.ip = REGS_IP(regs);
	w.sp = REGS_SP(regs);
	w.fp = REGS_FP(regs);
	if (call_is_compat(regs))
		s->end = STACK_COMPAT;
	else
		bpf_loop(WALK_STEPS, walk_frame, &w, 0);
	bpf_ringbuf_submit(s, 0);
}

#endif
