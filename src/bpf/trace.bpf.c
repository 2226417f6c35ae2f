// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace.bpf.c - the programs: thin, one per hook. What they do stands in the headers.
 *
 * All are optional ("?"): session.c loads those that are wanted and that the kernel has.
 */
#include "layer.bpf.h"
#include "request.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Low byte: the 64-bit call of that number, high byte: the 32-bit one. */
const volatile unsigned short calls[CALL_MAX];
/* Where its offset is: enum call_offset, likewise. */
const volatile unsigned short call_offsets[CALL_MAX];

/* Loads of arguments that a constant chooses must stay loads at fixed offsets of the context. */
#define CTX(n)                                                                                     \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                              \
			     : "=r"(value_)                                                        \
			     : "r"(ctx), "i"((n) * 8));                                            \
		value_;                                                                            \
	})
#define CTX_ARG(n)                                                                                 \
	({                                                                                         \
		u64 n_ = (n);                                                                      \
		n_ == 0 ? CTX(0) : n_ == 1 ? CTX(1) : CTX(2);                                      \
	})

/* @descs: of the 64-bit and the 32-bit call of one number. */
static __always_inline u32 call_desc(u32 descs, bool compat)
{
	return compat ? descs >> 8 : descs & 0xff;
}

static __always_inline u64 call_arg(struct pt_regs *regs, u32 n, bool compat)
{
	switch (n) {
	case 0:
		return compat ? (u32)regs->bx : regs->di;
	case 1:
		return compat ? (u32)regs->cx : regs->si;
	case 2:
		return compat ? (u32)regs->dx : regs->dx;
	default:
		/* the only use is an offset, which 32-bit calls split in two */
		return compat ? (u32)regs->si | (u64)(u32)regs->di << 32 : regs->r10;
	}
}

/* The file that a call names by its descriptor, if there is one. */
static __always_inline struct open_file call_file(struct pt_regs *regs, u32 desc, bool compat,
						  bool cast)
{
	u32 how = CALL_FILE(desc);
	struct open_file f;

	f = fd_look(call_arg(regs, how == FILE_ARG1, compat), cast);
	if (how == FILE_ARG0_OR_2 && (!f.file || !mode_is_storage(f.mode)))
		f = fd_look(call_arg(regs, 2, compat), cast);
	return f;
}

/* Whether a call may be asked for, as far as its file says that; without one (a bad descriptor, a
 * path) it is none of certain files. */
static __always_inline bool call_file_wanted(u32 desc, const struct open_file *f)
{
	if (CALL_FILE(desc) == FILE_RESULT)
		return true;
	return f->file ? mode_wanted(f->mode) : !file_filtered();
}

/* What only a record shows. */
static __always_inline void call_note_range(struct task_state *t, struct pt_regs *regs, u32 nr,
					    bool compat, bool begun)
{
	u32 where = compat ? call_offsets[nr] >> 8 : call_offsets[nr] & 0xff;
	struct file *file = (struct file *)t->row.file;

	__builtin_memset(t->strata, 0, sizeof(t->strata));
	t->offset = OFFSET_UNKNOWN;
	t->len = ~0ULL;
	if (!where)
		return;
	t->len = call_arg(regs, 2, compat);
	if (where == OFFSET_ARG3)
		t->offset = call_arg(regs, 3, compat);
	else if (begun)
		t->offset = OFFSET_LATER;
	else if (file)
		t->offset = BPF_CORE_READ(file, f_pos);
}

/* What not every run needs. */
static __always_inline void call_note(struct task_state *t, struct pt_regs *regs, u32 nr,
				      bool compat, bool begun)
{
	t->call = nr | (compat ? CALL_COMPAT : 0);
	if (CONF(records))
		call_note_range(t, regs, nr % CALL_MAX, compat, begun);
}

static __always_inline struct pt_regs *call_regs(void *ctx, bool perf)
{
	return perf ? current_regs() : (struct pt_regs *)((u64 *)ctx)[0];
}

/* A call whose file, if it has one, is looked for here. */
static __always_inline void call_begins_with_file(struct pt_regs *regs, u32 nr, u32 desc,
						  bool compat, u64 task, bool cast)
{
	struct open_file f = {};
	struct task_state *t;

	if (CALL_FILE(desc) != FILE_RESULT && CALL_FILE(desc) != FILE_NONE)
		f = call_file(regs, desc, compat, cast);
	if (!call_file_wanted(desc, &f)) {
		tid_add(&seen, bpf_get_current_pid_tgid());
		return;
	}
	t = task_get(task);
	if (!t)
		return;
	if (!f.file)
		row_clear(&t->row);
	else if (!file_learn(&t->row, f, cast))
		return;
	if (CONF(call_noted))
		call_note(t, regs, nr, compat, false);
	op_start(t, CALL_KIND(desc), OP_ACTIVE, bpf_ktime_get_ns());
}

static __always_inline void call_begins(void *ctx, bool perf, u32 nr, u32 descs)
{
	struct task_state *t;
	bool compat;
	u64 task = current_caller(&compat);
	u32 desc = call_desc(descs, compat);

	if (!desc || !current_passes())
		return;
	if (desc < CALL_THROUGH_VFS) {
		if (CONF(rdonly_cast))
			call_begins_with_file(call_regs(ctx, perf), nr, desc, compat, task, true);
		else
			call_begins_with_file(call_regs(ctx, perf), nr, desc, compat, task, false);
		return;
	}
	t = task_get(task);
	if (!t)
		return;
	if (CONF(call_noted))
		call_note(t, call_regs(ctx, perf), nr, compat, true);
	op_start(t, CALL_KIND(desc), OP_BEGUN, bpf_ktime_get_ns());
}

SEC("?tp_btf/sys_enter")
int on_sys_enter(u64 *ctx)
{
	u64 nr = ctx[1];
	u32 descs = nr < CALL_MAX ? calls[nr] : 0;

	if (descs)
		call_begins(ctx, false, nr, descs);
	return 0;
}

SEC("?tp/raw_syscalls/sys_enter")
int on_sys_enter_perf(struct perf_sys_event *ctx)
{
	u64 nr = ctx->nr;
	u32 descs = nr < CALL_MAX ? calls[nr] : 0;

	if (descs)
		call_begins(ctx, true, nr, descs);
	return 0;
}

/* The file that current's @fd is, learnt; false: it is not asked for. */
static __always_inline bool fd_learn(struct task_state *t, u32 fd, bool cast)
{
	struct open_file f = fd_look(fd, cast);

	if (f.file)
		return mode_wanted(f.mode) && file_learn(&t->row, f, cast);
	row_clear(&t->row);
	return !file_filtered();
}

/* A call that ended, but was not seen to begin: was it one to be counted? */
static __always_inline void call_unmatched(struct pt_regs *regs)
{
	bool compat = current_is_compat();
	u32 desc = call_desc(calls[regs->orig_ax % CALL_MAX], compat);
	u64 id = bpf_get_current_pid_tgid();
	struct open_file f = {};
	struct row_file row;

	if (!desc || CONF(tracked) || !current_wanted(id))
		return;
	/* it was seen to begin, and found not to be asked for */
	if (tid_in(&seen, id))
		return;
	tid_add(&seen, id);
	if (CALL_FILE(desc) != FILE_RESULT && CALL_FILE(desc) != FILE_NONE)
		f = call_file(regs, desc, compat, false);
	if (call_file_wanted(desc, &f) && (!f.file || file_learn(&row, f, false)))
		count_lost(LOST_UNMATCHED_END);
}

static __always_inline void call_ends(void *ctx, bool perf, long ret)
{
	struct task_state *t = current_lookup();
	bool late, wanted = true;
	u32 stage, fd;
	u64 now;

	if (!t) {
		call_unmatched(call_regs(ctx, perf));
		return;
	}
	stage = t->stage;
	if (!stage)
		return;
	now = bpf_ktime_get_ns();
	/* a call that never came to vfs_read or vfs_write has a bad descriptor, or nothing to do;
	 * an open's file is the descriptor that it returns */
	late = unlikely(stage != STAGE(OP_ACTIVE, ST_SYSCALL, 0, 0)) && t->progress == OP_BEGUN;
	if (unlikely(late || t->kind == OP_OPEN)) {
		fd = late ? call_arg(call_regs(ctx, perf), 0, current_is_compat()) : ret;
		wanted = CONF(rdonly_cast) ? fd_learn(t, fd, true) : fd_learn(t, fd, false);
	}
	if (likely(wanted))
		op_finish(t, stage, ret, now);
	else
		t->stage = 0;
}

SEC("?tp_btf/sys_exit")
int on_sys_exit(u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	u64 nr = regs->orig_ax;

	if (nr < CALL_MAX && calls[nr])
		call_ends(ctx, false, ctx[1]);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_sys_exit_perf(struct perf_sys_event *ctx)
{
	u64 nr = ctx->nr;

	if (nr < CALL_MAX && calls[nr])
		call_ends(ctx, true, ctx->ret);
	return 0;
}

/* sched_switch(preempt, prev, next[, prev_state]) */
SEC("?tp_btf/sched_switch")
int on_sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u64 now = bpf_ktime_get_ns();
	bool asleep = !ctx[0] && (CONF(has_prev_state) ? (u32)CTX(3) : task_state_bits(prev));
	struct task_state *t;
	struct helper *h;
	u32 tid;

	mark_clear();
	if (!is_helper(prev->flags)) {
		t = task_lookup((u64)prev);
		if (t && t->stage)
			task_off(t, asleep, now);
	} else if (prev->pid) {
		tid = prev->pid;
		h = bpf_map_lookup_elem(&helpers, &tid);
		if (!h) {
			if (bpf_map_update_elem(&helpers, &tid, zeroes, BPF_NOEXIST))
				count_lost(LOST_MAP_FULL);
			h = bpf_map_lookup_elem(&helpers, &tid);
		}
		if (h)
			helper_off(h, asleep, now);
	}
	if (!is_helper(next->flags)) {
		t = task_lookup((u64)next);
		if (t && t->stage)
			task_on_cpu(t, next->pid, now);
	} else if (next->pid) {
		tid = next->pid;
		h = bpf_map_lookup_elem(&helpers, &tid);
		if (h)
			helper_on_cpu(h, tid, now);
	}
	return 0;
}

static __always_inline int sched_waking(u64 *ctx, bool level_known)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *t;
	struct helper *h;
	u32 tid;

	if (!is_helper(p->flags)) {
		t = task_lookup((u64)p);
		if (t && t->stage)
			task_woken(t, p->pid, bpf_ktime_get_ns(), level_known);
		return 0;
	}
	tid = p->pid;
	h = bpf_map_lookup_elem(&helpers, &tid);
	if (h)
		helper_woken(h, bpf_ktime_get_ns(), level_known);
	return 0;
}

/* A program that looks at the interrupt level has a twin for kernels that hide it. */
#define LEVEL_PROGRAMS(name, hook, func)                                                           \
	SEC("?tp_btf/" hook) int name(u64 *ctx)                                                    \
	{                                                                                          \
		return func(ctx, true);                                                            \
	}                                                                                          \
	SEC("?tp_btf/" hook) int name##_no_level(u64 *ctx)                                         \
	{                                                                                          \
		return func(ctx, false);                                                           \
	}

LEVEL_PROGRAMS(on_sched_waking, "sched_waking", sched_waking)

/*
 * sched_process_fork(parent, child): the tool forks one child after its probes are live; that and
 * all its descendants are tracked.
 */
SEC("?tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];

	if (current_tracked() || current_pid_tgid() >> 32 == CONF(tool_tgid))
		tid_add(&tracked, child->pid);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 tid = p->pid;
	struct task_state *t = task_lookup((u64)p);

	if (t && (t->stage || t->depth))
		count_lost(LOST_UNMATCHED_START);
	if (t)
		task_forget((u64)p);
	if (CONF(tracked))
		tid_remove(&tracked, tid);
	if (is_helper(p->flags))
		bpf_map_delete_elem(&helpers, &tid);
	return 0;
}

/* Before it sleeps because it dirtied too much; a pause that is not positive is no sleep. */
SEC("?tp_btf/balance_dirty_pages")
int on_throttle(u64 *ctx)
{
	struct task_state *t;
	u64 arg = CONF(arg_pause);
	long pause = 0;

	if (arg == 6)
		pause = CTX(6);
	else if (arg == 10)
		pause = CTX(10);
	if (pause <= 0)
		return 0;
	t = current_lookup();
	if (t && t->stage)
		t->throttled = 1;
	return 0;
}

SEC("?tp_btf/block_bio_queue")
int on_bio_queue(u64 *ctx)
{
	struct bio *bio = (struct bio *)CTX_ARG(CONF(arg_bio_queue));

	if (first_to_see(ctx, EV_BIO_QUEUE, bio))
		bio_queued(bio);
	return 0;
}

SEC("?tp_btf/block_getrq")
int on_getrq(u64 *ctx)
{
	struct bio *bio = (struct bio *)CTX_ARG(CONF(arg_getrq));

	if (first_to_see(ctx, EV_GETRQ, bio))
		bio_got_request(bio);
	return 0;
}

SEC("?tp_btf/block_bio_backmerge")
int on_backmerge(u64 *ctx)
{
	struct bio *bio = (struct bio *)CTX_ARG(CONF(arg_backmerge));

	if (first_to_see(ctx, EV_BACKMERGE, bio))
		io_taken_in(bio_io(bio));
	return 0;
}

SEC("?tp_btf/block_bio_frontmerge")
int on_frontmerge(u64 *ctx)
{
	struct bio *bio = (struct bio *)CTX_ARG(CONF(arg_frontmerge));

	if (first_to_see(ctx, EV_FRONTMERGE, bio))
		bio_front_merged(bio);
	return 0;
}

SEC("?tp_btf/block_rq_merge")
int on_rq_merge(u64 *ctx)
{
	struct request *rq = (struct request *)CTX_ARG(CONF(arg_rq_merge));

	if (first_to_see(ctx, EV_RQ_MERGE, rq))
		io_taken_in(request_io_anywhere(rq, rq->bio));
	return 0;
}

SEC("?tp_btf/block_split")
int on_split(u64 *ctx)
{
	struct bio *bio = (struct bio *)CTX_ARG(CONF(arg_split));

	if (first_to_see(ctx, EV_SPLIT, bio))
		bio_split_off(bio);
	return 0;
}

SEC("?tp_btf/block_rq_issue")
int on_rq_issue(u64 *ctx)
{
	struct request *rq = (struct request *)CTX_ARG(CONF(arg_issue));

	if (first_to_see(ctx, EV_ISSUE, rq))
		request_issued(rq);
	return 0;
}

SEC("?tp_btf/block_rq_requeue")
int on_rq_requeue(u64 *ctx)
{
	struct request *rq = (struct request *)CTX_ARG(CONF(arg_requeue));

	if (first_to_see(ctx, EV_REQUEUE, rq))
		request_requeued(rq);
	return 0;
}

static __always_inline int rq_complete(u64 *ctx, bool level_known)
{
	struct request *rq = (void *)ctx[0];

	if (first_to_see(ctx, EV_COMPLETE, rq))
		request_completed(rq, (int)ctx[1], ctx[2], level_known);
	return 0;
}

LEVEL_PROGRAMS(on_rq_complete, "block_rq_complete", rq_complete)

/* block_bio_complete(q, bio) */
static __always_inline int bio_complete(u64 *ctx, bool level_known)
{
	struct bio *bio = (void *)ctx[1];

	if (first_to_see(ctx, EV_BIO_COMPLETE, bio))
		bio_completed(bio, level_known);
	return 0;
}

LEVEL_PROGRAMS(on_bio_complete, "block_bio_complete", bio_complete)

/* The completion is over. */
SEC("?tp_btf/block_io_done")
int on_io_done(u64 *ctx)
{
	mark_clear();
	return 0;
}

/* Every open file says which functions its file system reads and writes with. */
SEC("?iter/task_file")
int on_task_file(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;

	if (file)
		fs_note((u64)file->f_inode->i_sb->s_type, (u64)file, file->f_inode->i_mode);
	return 0;
}

/* Only for a layer by itself: an operation knows its file. */
#define FD_FILE(fd) (CONF(layer) == LAYER_OPS ? NULL : current_file(fd, false))

LAYER_PROBES(vfs_read, "/vfs_read", ST_VFS, OP_READ, 0, 4)
LAYER_PROBES(vfs_readv, "/vfs_readv", ST_VFS, OP_READ, 0, 5)
LAYER_PROBES(vfs_iter_read, "/vfs_iter_read", ST_VFS, OP_READ, 0, 4)
LAYER_PROBES(vfs_write, "/vfs_write", ST_VFS, OP_WRITE, 0, 4)
LAYER_PROBES(vfs_writev, "/vfs_writev", ST_VFS, OP_WRITE, 0, 5)
LAYER_PROBES(vfs_iter_write, "/vfs_iter_write", ST_VFS, OP_WRITE, 0, 4)
LAYER_PROBES(vfs_open, "/vfs_open", ST_VFS, OP_OPEN, 1, 2)
LAYER_PROBES(vfs_fsync_range, "/vfs_fsync_range", ST_VFS, OP_FSYNC, 0, 4)
/* do_fsync(int fd, int datasync), which has vfs_fsync_range() inlined since 7.x */
FUNCTION_PROBES(do_fsync, "/do_fsync", ST_VFS, OP_FSYNC, FD_FILE(ctx[0]), false,
		FD_FILE(kprobe_arg(ctx, 0)), 2)
LAYER_PROBES(vfs_copy_file_range, "/vfs_copy_file_range", ST_VFS, OP_COPY, 0, 6)
LAYER_PROBES(vfs_fallocate, "/vfs_fallocate", ST_VFS, OP_META, 0, 4)
LAYER_PROBES(iterate_dir, "/iterate_dir", ST_VFS, OP_META, 0, 2)

/*
 * Templates: the functions of the file systems that this machine has. session.c loads them as if
 * for functions that every kernel has, and then once more for each function of a file system.
 */

/* read_iter and write_iter: (struct kiocb *, struct iov_iter *) */
#define ITER_FILE(typed, arg) READ(typed, (struct kiocb *)(arg), ki_filp)

#define ITER_PROBES(tag, op)                                                                       \
	FUNCTION_PROBES(tag, "", ST_FS, op, ITER_FILE(true, ctx[0]), true,                         \
			ITER_FILE(false, kprobe_arg(ctx, 0)), 2)

ITER_PROBES(read, OP_READ)
ITER_PROBES(write, OP_WRITE)
/* fsync(struct file *, loff_t, loff_t, int); open(struct inode *, struct file *) */
LAYER_PROBES(fsync, "", ST_FS, OP_FSYNC, 0, 4)
LAYER_PROBES(open, "", ST_FS, OP_OPEN, 1, 2)
