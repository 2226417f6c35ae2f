// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace.bpf.c - every program of I/O, in the order of the layers: calls, layers, waits, kernel
 * threads, block, async, faults, threads and open files. A program reads its arguments, drops an
 * event that its backup has seen, and calls the header that does the work. It decides nothing else.
 * All stand in one file: a program is a few lines, and the order of the layers is read at once.
 *
 * All programs are optional ("?"): plan_wants() says which to load, by what the run asks for and
 * what the kernel has.
 */
#include "aio.bpf.h"
#include "backup.bpf.h"
#include "call.bpf.h"
#include "daemon.bpf.h"
#include "fault.bpf.h"
#include "hung.bpf.h"
#include "outside.bpf.h"
#include "row.bpf.h"
#include "layer.bpf.h"
#include "request.bpf.h"
#include "ksmbd.bpf.h"
#include "page_io.bpf.h"
#include "server.bpf.h"
#include "bio.bpf.h"
#include "stack.bpf.h"
#include "uring.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define CTX_ARG(n)                                                                                 \
	({                                                                                         \
		u64 n_ = (n);                                                                      \
		n_ == 0 ? CTX(0) : n_ == 1 ? CTX(1) : CTX(2);                                      \
	})

/* A program that reads the interrupt level has a variant for kernels that hide the level. */
#define LEVEL_PROGRAMS(name, hook, func)                                                           \
	SEC("?" hook) int name(u64 *ctx)                                                           \
	{                                                                                          \
		return func(ctx, true);                                                            \
	}                                                                                          \
	SEC("?" hook) int name##_no_level(u64 *ctx)                                                \
	{                                                                                          \
		return func(ctx, false);                                                           \
	}

/*
 * Calls.
 */

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

SEC("?tp_btf/sys_exit")
int on_sys_exit(u64 *ctx)
{
	struct task_state *t = current_lookup();
	struct pt_regs *regs = (void *)ctx[0];

	if (!t)
		call_unmatched(regs, REGS_CALL(regs));
	else
		call_is_over(t, ctx, false, ctx[1]);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_sys_exit_perf(struct perf_sys_event *ctx)
{
	struct task_state *t = current_lookup();

	if (!t)
		call_unmatched(current_regs(), ctx->nr);
	else
		call_is_over(t, ctx, true, ctx->ret);
	return 0;
}

/* Runs after on_sys_exit(). Not a part of it: 5.10 would walk more than a million instructions. */
SEC("?tp_btf/sys_exit")
int on_submissions(u64 *ctx)
{
	submissions_end(ctx);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_submissions_perf(struct perf_sys_event *ctx)
{
	submissions_end(ctx);
	return 0;
}

SEC("?tp_btf/sys_exit")
int on_stack(u64 *ctx)
{
	stack_take(call_regs(ctx, false));
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_stack_perf(struct perf_sys_event *ctx)
{
	stack_take(call_regs(ctx, true));
	return 0;
}

SEC("?tp_btf/sys_enter")
int on_mapping_call(u64 *ctx)
{
	return mapping_call_begins(ctx, false, ctx[1]);
}

SEC("?tp/raw_syscalls/sys_enter")
int on_mapping_call_perf(struct perf_sys_event *ctx)
{
	return mapping_call_begins(ctx, true, ctx->nr);
}

/* complete_walk(struct nameidata *), terminate_walk(struct nameidata *) */
SEC("?fentry/complete_walk")
int on_walk_found(u64 *ctx)
{
	walk_note((struct nameidata *)ctx[0], true);
	return 0;
}

SEC("?fentry/terminate_walk")
int on_walk_over(u64 *ctx)
{
	if (CONF(file_details))
		walk_note((struct nameidata *)ctx[0], false);
	else
		walk_note_inode((struct nameidata *)ctx[0]);
	return 0;
}

/*
 * Layers.
 */

/*
 * The four programs of one function: fentry and fexit, or kprobe and kretprobe. @fentry_file and
 * @kprobe_file are expressions of ctx for the file. @typed: @fentry_file can be read without a BPF
 * helper. @kiocb: KIOCB if the first argument is a struct kiocb *, else NO_KIOCB. @n_args: the
 * number of arguments of the function.
 */
#define KIOCB(arg)    number(arg)
#define NO_KIOCB(arg) 0
#define FUNCTION_PROBES(tag, target, stratum, op, fentry_file, typed, kprobe_file, kiocb, n_args)  \
	SEC("?fentry" target)                                                                      \
	int enter_##tag(u64 *ctx)                                                                  \
	{                                                                                          \
		FUNCTION_ENTERED(stratum, op, fentry_file, typed, ctx, kiocb(ctx[0]));             \
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
		FUNCTION_ENTERED(stratum, op, kprobe_file, false, (void *)REGS_SP(ctx),            \
				 kiocb(kprobe_arg(ctx, 0)));                                       \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kretprobe" target)                                                                   \
	int kleave_##tag(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		FUNCTION_LEFT(stratum, op, kprobe_ret(ctx));                                       \
		return 0;                                                                          \
	}

/* The programs of a function whose argument number @file_arg is the struct file *. */
#define LAYER_PROBES(tag, target, stratum, op, file_arg, n_args)                                   \
	FUNCTION_PROBES(tag, target, stratum, op, (struct file *)ctx[file_arg], true,              \
			(struct file *)kprobe_arg(ctx, file_arg), NO_KIOCB, n_args)

/* The file of a descriptor, needed only when a layer is timed alone: an operation knows its file.
 */
#define FD_FILE(fd) (CONF(layer) == LAYER_OPS ? NULL : current_file(fd, false))

LAYER_PROBES(vfs_read, "/vfs_read", ST_VFS, OP_READ, 0, 4)
LAYER_PROBES(vfs_readv, "/vfs_readv", ST_VFS, OP_READ, 0, 5)
LAYER_PROBES(vfs_iter_read, "/vfs_iter_read", ST_VFS, OP_READ, 0, 4)
LAYER_PROBES(vfs_write, "/vfs_write", ST_VFS, OP_WRITE, 0, 4)
LAYER_PROBES(vfs_writev, "/vfs_writev", ST_VFS, OP_WRITE, 0, 5)
LAYER_PROBES(vfs_iter_write, "/vfs_iter_write", ST_VFS, OP_WRITE, 0, 4)
LAYER_PROBES(vfs_open, "/vfs_open", ST_VFS, OP_OPEN, 1, 2)
LAYER_PROBES(vfs_fsync_range, "/vfs_fsync_range", ST_VFS, OP_FSYNC, 0, 4)
/* do_fsync(int fd, int datasync): the compiler inlines vfs_fsync_range() into it since 7.x. */
FUNCTION_PROBES(do_fsync, "/do_fsync", ST_VFS, OP_FSYNC, FD_FILE(ctx[0]), false,
		FD_FILE(kprobe_arg(ctx, 0)), NO_KIOCB, 2)
LAYER_PROBES(vfs_copy_file_range, "/vfs_copy_file_range", ST_VFS, OP_COPY, 0, 6)
LAYER_PROBES(vfs_fallocate, "/vfs_fallocate", ST_VFS, OP_META, 0, 4)
LAYER_PROBES(iterate_dir, "/iterate_dir", ST_VFS, OP_META, 0, 2)

/* Templates for the functions of this machine's file systems. User space loads them once as they
 * are, and once more for each function of a file system. */

/* read_iter and write_iter: (struct kiocb *, struct iov_iter *) */
#define ITER_FILE(typed, arg) READ(typed, (struct kiocb *)(arg), ki_filp)

#define ITER_PROBES(tag, op)                                                                       \
	FUNCTION_PROBES(tag, "", ST_FS, op, ITER_FILE(true, ctx[0]), true,                         \
			ITER_FILE(false, kprobe_arg(ctx, 0)), KIOCB, 2)

ITER_PROBES(read, OP_READ)
ITER_PROBES(write, OP_WRITE)
/* fsync(struct file *, loff_t, loff_t, int); open(struct inode *, struct file *) */
LAYER_PROBES(fsync, "", ST_FS, OP_FSYNC, 0, 4)
LAYER_PROBES(open, "", ST_FS, OP_OPEN, 1, 2)

/*
 * Waits.
 */

/* sched_switch(preempt, prev, next, ...) */
SEC("?tp_btf/sched_switch")
int on_sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u64 now = bpf_ktime_get_ns();
	bool asleep = task_sleeps(prev, ctx[0]);
	struct task_state *t;
	struct helper *h;
	u32 tid;

	marks_clear();
	cpu_run_ends(now);
	if (may_have_op(prev->flags)) {
		t = task_lookup((u64)prev);
		if (t && t->op.stage)
			task_off(t, asleep, now);
		else if (t && (async_waits(t) || in_turn(t)))
			wait_begin(&t->wait, asleep, now);
		else if (t && asleep && outside_may_wait(t, prev))
			outside_begins(now);
		if (t && in_turn(t))
			turn_off(number((u64)prev));
	}
	if (is_helper(prev->flags) && prev->pid) {
		h = helper_get(prev);
		if (h)
			helper_off(h, prev, asleep, now);
	}
	if (may_have_op(next->flags)) {
		t = task_lookup((u64)next);
		if (t && t->op.stage) {
			task_on_cpu(t, next, now);
			if (CONF(outside) && t->op.progress == OP_SLEEPS)
				outside_ends(number((u64)next));
		} else if (t && async_waits(t) && !in_turn(t)) {
			cpu_wait_note(t, now);
		}
		if (t && in_turn(t))
			turn_on(number((u64)next), now);
	}
	if (is_helper(next->flags) && next->pid) {
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

	woken(p, level_known);
	if (CONF(behalf) && p->flags & PF_KTHREAD && (u64)p != current_task())
		client_set(p, level_known);
	return 0;
}

LEVEL_PROGRAMS(on_sched_waking, "tp_btf/sched_waking", sched_waking)

/*
 * sched_process_fork(parent, child): the tool forks one child after its probes are live. This child
 * is tracked when it has executed the command, since it is the tool until then, and so are all its
 * descendants. Its exec is the command's first operation.
 * With --children, processes are tracked whose bits the tool sets (`src/trace/track.c`), and their
 * descendants.
 *
 * The bit of a thread group is decided when its first thread is born, and holds for all its
 * threads. These include workers of io_uring, whose birth raises no event, and threads that remain
 * when the leader has exited or another thread took its id in execve(). The bit is not cleared at
 * the end of the group, since several last threads may exit at once. It is decided anew when the id
 * is used again.
 */
SEC("?tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];
	u64 id = bpf_get_current_pid_tgid();
	bool on = group_tracked(id >> 32);

	if (child->pid == child->tgid)
		group_track(child->tgid, on);
	if (CONF(all_young) && is_tool(id))
		live.child = child->tgid;
	if (on && first_to_see(ctx, EV_FORK, child))
		thread_counts(true, bpf_ktime_get_ns());
	return 0;
}

/* sched_process_exec(p, ...): current has executed a program. If it was not the leader of its
 * process, it has taken the id of the leader. */
SEC("?tp_btf/sched_process_exec")
int on_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct task_state *t = task_lookup((u64)p);

	if (t)
		task_set_id(t);
	if (is_child(p->tgid)) {
		live.child = 0; /* the backup finds it done */
		group_track(p->tgid, true);
		thread_counts(true,
			      t && t->op.progress == OP_EXECS ? t->op.start : bpf_ktime_get_ns());
	}
	return 0;
}

/*
 * The same event, after on_exec() has tracked the process: sends the command line, since the
 * process may be gone before user space looks for it. The arguments are in the pages that the exec
 * has just written. User space is woken each COMMANDS_WAKE bytes. Without room, and if the pages
 * cannot be read, user space looks for the command line all the same.
 */
SEC("?tp_btf/sched_process_exec")
int on_command(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	enum { COMMANDS_WAKE = 1 << 16 };
	struct executed *e;
	u64 from, len;
	u32 at;

	if (!current_passes())
		return 0;
	from = BPF_CORE_READ(p, mm, arg_start);
	len = BPF_CORE_READ(p, mm, arg_end) - from;
	e = bpf_ringbuf_reserve(&commands, sizeof(*e), 0);
	if (!e)
		return 0;
	e->pid = current_pid_tgid() >> 32;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	if (len > sizeof(e->text))
		len = sizeof(e->text);
	e->len = len;
	barrier_var(len);
	if (len > sizeof(e->text) || bpf_probe_read_user(e->text, len, (void *)from))
		e->len = 0;
	at = low_half((u64)e) & (COMMANDS_WAKE - 1);
	bpf_ringbuf_submit(e, at < sizeof(*e) + 8 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 tid = p->pid;
	struct task_state *t = task_lookup((u64)p);

	if (t && t->interrupted)
		interrupted_forget((u64)p);
	else if (t && t->busy && !(CONF(faults) && t->op.progress == OP_FAULTS))
		count_lost(LOST_UNMATCHED_START);
	if (t && CONF(busiest))
		busy_ends(t);
	if (t && CONF(daemons))
		turn_forget(t, (u64)p);
	if (t && CONF(outside))
		t->op.stage = 0;
	else if (t)
		task_forget((u64)p);
	/* no matter which flags: io_worker_exit() clears PF_IO_WORKER first (5.15, 6.1) */
	if (CONF(waits))
		bpf_map_delete_elem(&helpers, &tid);
	if (CONF(behalf))
		bpf_map_delete_elem(&clients, &tid);
	if (CONF(tracked) && group_tracked(p->tgid) && !is_io_thread(p) &&
	    first_to_see(ctx, EV_EXIT, p))
		thread_counts(false, bpf_ktime_get_ns());
	return 0;
}

/* sched_process_free(p): until now a thread may have slept, after its exit. */
SEC("?tp_btf/sched_process_free")
int on_free(u64 *ctx)
{
	if (task_lookup(ctx[0]))
		task_forget(ctx[0]);
	return 0;
}

/*
 * cgroup_mkdir(cgroup, path): a cgroup may be gone before user space looks for its name. Without
 * room, user space looks for it all the same.
 */
SEC("?tp_btf/cgroup_mkdir")
int on_cgroup_made(u64 *ctx)
{
	struct cgroup *cgroup = (void *)ctx[0];
	struct made_cgroup *m;

	if (cgroup->root->hierarchy_id)
		return 0;
	m = bpf_ringbuf_reserve(&wakes, sizeof(*m), 0);
	if (!m)
		return 0;
	m->id = cgroup->kn->id;
	bpf_probe_read_kernel_str(m->path, sizeof(m->path), (void *)ctx[1]);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Current dirtied too many pages, and will sleep if the pause is positive. */
SEC("?tp_btf/balance_dirty_pages")
int on_throttle(u64 *ctx)
{
	u64 arg = CONF(arg_pause), bdi = 0, pages = 0, start = 0;
	struct task_state *t;
	long pause = 0;

	if (arg == 6) {
		pages = CTX(4);
		pause = CTX(6);
		start = CTX(7);
	} else if (arg == 10) {
		pages = CTX(8);
		pause = CTX(10);
		start = CTX(11);
	}
	if (CONF(who)) {
		bdi = (u64)BPF_CORE_READ((struct bdi_writeback *)CTX(0), bdi);
		dirtied_note(bdi, pages, start, bpf_ktime_get_ns());
	}
	if (pause <= 0)
		return 0;
	t = current_lookup();
	if (t && t->op.stage) {
		t->op.pauses = PAUSES;
		t->op.lock = bdi;
	}
	return 0;
}

/* contention_begin(lock, flags), contention_end(lock, ret). Backups handle each event once more:
 * this changes nothing. */
SEC("?tp_btf/contention_begin")
int on_lock_wanted(u64 *ctx)
{
	lock_wanted(ctx[0], ctx[1]);
	return 0;
}

SEC("?tp_btf/contention_end")
int on_lock_taken(u64 *ctx)
{
	lock_taken(ctx[0]);
	return 0;
}

/*
 * Servers and daemons.
 */

/* fuse_request_send(req) */
SEC("?tp_btf/fuse_request_send")
int on_fuse_send(u64 *ctx)
{
	return fuse_sent(number(ctx[0]));
}

/* ovl_copy_up_end(dentry) of overlayfs */
SEC("?fentry/ovl_copy_up_end")
int on_copied_up(u64 *ctx)
{
	copied_up((struct dentry *)ctx[0]);
	return 0;
}

/* queue_request_and_unlock(iqueue, req), before 6.11 */
SEC("?fentry/queue_request_and_unlock")
int on_fuse_queue(u64 *ctx)
{
	return fuse_sent(number(ctx[1]));
}

/* fuse_dev_do_read(device, file, copy, size): a thread of the daemon has read. */
SEC("?fexit/fuse_dev_do_read")
int on_fuse_read(u64 *ctx)
{
	return turn_begins(number(ctx[2]), ctx[4]);
}

/* fuse_request_end(req): a tracepoint; before 6.11 a function. */
static __always_inline int fuse_end(u64 *ctx, bool level_known)
{
	return fuse_answered(number(ctx[0]), level_known);
}

LEVEL_PROGRAMS(on_fuse_end, "tp_btf/fuse_request_end", fuse_end)
LEVEL_PROGRAMS(on_fuse_ended, "fentry/fuse_request_end", fuse_end)

/* fuse_request_end() returns: whom the daemon's thread wakes next, it wakes for another reason. */
static __always_inline int fuse_over(u64 *ctx, bool level_known)
{
	mark_clear(interrupt_level(level_known));
	return 0;
}

LEVEL_PROGRAMS(on_fuse_over, "fexit/fuse_request_end", fuse_over)

/* 9p_client_req(client, type, tag) */
SEC("?tp_btf/9p_client_req")
int on_9p_ask(u64 *ctx)
{
	enum { P9_TREAD = 116 };

	return server_asked(p9_number(number(ctx[0]), ctx[2]), (u8)ctx[1] == P9_TREAD);
}

/* 9p_client_res(client, type, tag, error) */
static __always_inline int p9_answer(u64 *ctx, bool level_known)
{
	return p9_answered(number(ctx[0]), ctx[1], ctx[2], (int)ctx[3], level_known);
}

LEVEL_PROGRAMS(on_9p_answer, "tp_btf/9p_client_res", p9_answer)

/* smb3_cmd_enter(tree, session, command, mid) */
SEC("?tp_btf/smb3_cmd_enter")
int on_smb_ask(u64 *ctx)
{
	enum { SMB2_READ = 8 };

	return server_asked(smb_number(ctx[1], ctx[3]), (u16)ctx[2] == SMB2_READ);
}

/* smb2_setup_request(session, server, rqst) returns: after smb3_cmd_enter, before it is sent. */
SEC("?fexit/smb2_setup_request")
int on_smb_setup(u64 *ctx)
{
	return smb_setup(number(ctx[1]), number(ctx[2]));
}

/* The same for requests that no thread waits for: smb2_setup_async_request(server, rqst). */
SEC("?fexit/smb2_setup_async_request")
int on_smb_setup_async(u64 *ctx)
{
	return smb_setup(number(ctx[0]), number(ctx[1]));
}

/* smb3_cmd_done(tree, session, command, mid) */
static __always_inline int smb_done(u64 *ctx, bool level_known)
{
	return smb_answered(ctx, 0, level_known);
}

/* smb3_cmd_err(tree, session, command, mid, status, error) */
static __always_inline int smb_err(u64 *ctx, bool level_known)
{
	return smb_answered(ctx, ctx[4], level_known);
}

LEVEL_PROGRAMS(on_smb_done, "tp_btf/smb3_cmd_done", smb_done)
LEVEL_PROGRAMS(on_smb_err, "tp_btf/smb3_cmd_err", smb_err)

/* xprt_create(transport) */
SEC("?tp_btf/xprt_create")
int on_xprt_create(u64 *ctx)
{
	return transports_change();
}

/* xprt_disconnect_force(transport), also after a new address was written to its file dstaddr. */
SEC("?tp_btf/xprt_disconnect_force")
int on_xprt_disconnect(u64 *ctx)
{
	return transports_change();
}

/* rpc_task_begin(task, action) */
SEC("?tp_btf/rpc_task_begin")
int on_rpc_begin(u64 *ctx)
{
	return rpc_begins(CTX(0));
}

/* rpc_task_wakeup(task, queue) */
static __always_inline int rpc_wakeup(u64 *ctx, bool level_known)
{
	return rpc_woken(CTX(0), number(ctx[1]), level_known);
}

LEVEL_PROGRAMS(on_rpc_wakeup, "tp_btf/rpc_task_wakeup", rpc_wakeup)

/* rpc_stats_latency(task, backlog, rtt, execute) */
static __always_inline int rpc_stats(u64 *ctx, bool level_known)
{
	return rpc_done(CTX(0), ctx[1], ctx[2], ctx[3], level_known);
}

LEVEL_PROGRAMS(on_rpc_done, "tp_btf/rpc_stats_latency", rpc_stats)

/* rpc_task_end(task, action): before its statistics */
SEC("?tp_btf/rpc_task_end")
int on_rpc_end(u64 *ctx)
{
	return rpc_ends(CTX(0));
}

/*
 * Requests that nfsd serves.
 */

/* svc_process(rqst) */
SEC("?fentry/svc_process")
int on_serve(u64 *ctx)
{
	return served_begins();
}

SEC("?fexit/svc_process")
int on_served(u64 *ctx)
{
	return served_ends(number(ctx[0]));
}

/* nfsd_dispatch(rqst, ...) */
SEC("?fentry/nfsd_dispatch")
int on_nfsd_dispatch(u64 *ctx)
{
	return served_dispatched();
}

/* Functions of nfsd: (rqst, handle, file, ...) */
#define NFSD_FILE(func)                                                                            \
	SEC("?fentry/" #func) int on_##func(u64 *ctx)                                              \
	{                                                                                          \
		return served_on((struct file *)number(ctx[2]));                                   \
	}

NFSD_FILE(nfsd_splice_read)
NFSD_FILE(nfsd_readv)

/* The same with a struct nfsd_file. */
#define NFSD_OPEN_FILE(func)                                                                       \
	SEC("?fentry/" #func) int on_##func(u64 *ctx)                                              \
	{                                                                                          \
		return served_on((struct file *)read_u64(number(ctx[2]) + CONF(at.nfsd_file)));    \
	}

NFSD_OPEN_FILE(nfsd_iter_read)
NFSD_OPEN_FILE(nfsd_vfs_write)
NFSD_OPEN_FILE(nfsd_commit)

/* nfsd_read_io_done(rqst, handle, offset, bytes), and the same of a write. */
SEC("?tp_btf/nfsd_read_io_done")
int on_nfsd_read(u64 *ctx)
{
	return served_moved(ctx[3]);
}

SEC("?tp_btf/nfsd_write_io_done")
int on_nfsd_wrote(u64 *ctx)
{
	return served_moved(ctx[3]);
}

/* nfsd_compound_status(operations, done, status, name): the last one is the reply's. */
SEC("?tp_btf/nfsd_compound_status")
int on_nfsd_status(u64 *ctx)
{
	return served_status(ctx[2]);
}

/*
 * Messages that ksmbd serves.
 */

/* handle_ksmbd_work(work) */
SEC("?fentry/handle_ksmbd_work")
int on_ksmbd(u64 *ctx)
{
	return ksmbd_begins(number(ctx[0]));
}

SEC("?fexit/handle_ksmbd_work")
int on_ksmbd_done(u64 *ctx)
{
	return ksmbd_ends();
}

/* smb3_preauth_hash_rsp(message): the answer is complete, and is encrypted and sent next. */
SEC("?fentry/smb3_preauth_hash_rsp")
int on_ksmbd_answer(u64 *ctx)
{
	return ksmbd_answers(number(ctx[0]));
}

/* ksmbd_lookup_fd_slow(message, id, persistent) returns the open file. */
SEC("?fexit/ksmbd_lookup_fd_slow")
int on_ksmbd_file(u64 *ctx)
{
	return ksmbd_looked_up(number(ctx[3]));
}

/* ksmbd_vfs_read(message, file, count, offset, to) returns bytes. */
SEC("?fexit/ksmbd_vfs_read")
int on_ksmbd_read(u64 *ctx)
{
	return ksmbd_moved((int)ctx[5]);
}

/* kernel_write(file, from, count, offset) returns bytes. ksmbd_vfs_write() has more arguments than
 * a program can have before 6.6. */
SEC("?fexit/kernel_write")
int on_ksmbd_wrote(u64 *ctx)
{
	return ksmbd_moved(ctx[4]);
}

/*
 * For whom kernel threads work.
 */

/* workqueue_queue_work(cpu, pool, work) */
static __always_inline int work_queue(u64 *ctx, bool level_known)
{
	return work_queued(ctx[2], level_known);
}

LEVEL_PROGRAMS(on_work_queued, "tp_btf/workqueue_queue_work", work_queue)

/* workqueue_execute_start(work) */
static __always_inline int work_execute(u64 *ctx, bool level_known)
{
	return work_begins(ctx[0], level_known);
}

LEVEL_PROGRAMS(on_work_begins, "tp_btf/workqueue_execute_start", work_execute)

SEC("?tp_btf/writeback_dirty_folio")
int on_dirty_folio(u64 *ctx)
{
	page_dirtied((struct page *)CTX(0), (struct address_space *)CTX(1));
	return 0;
}

/* The event before 5.18, when no file system had folios of several pages in the page cache. */
SEC("?tp_btf/writeback_dirty_page")
int on_dirty_page(u64 *ctx)
{
	page_dirtied((struct page *)CTX(0), (struct address_space *)CTX(1));
	return 0;
}

/*
 * The block layer.
 */

/* throtl_add_bio_tg(bio, ...) runs with the queue locked: the bio cannot be released meanwhile. */
static __always_inline int bio_kept_back(u64 *ctx, bool level_known)
{
	bio_throttled((struct bio *)ctx[0], level_known);
	return 0;
}

LEVEL_PROGRAMS(on_bio_throttled, "fentry/throtl_add_bio_tg", bio_kept_back)

static __always_inline int bio_queue(u64 *ctx, bool level_known)
{
	struct bio *bio = (struct bio *)CTX_ARG(CONF(arg_bio_queue));

	if (first_to_see(ctx, EV_BIO_QUEUE, bio))
		bio_queued(bio, level_known);
	return 0;
}

LEVEL_PROGRAMS(on_bio_queue, "tp_btf/block_bio_queue", bio_queue)

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
		bio_back_merged(bio_io(bio));
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
		request_merged(rq);
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

/* Before 6.3: bdev_read_page(bdev, sector, page), bdev_write_page(bdev, sector, page, control). */
SEC("?fentry/bdev_read_page")
int on_page_read(u64 *ctx)
{
	return page_io_begins(number(ctx[0]), ctx[1], number(ctx[2]), RQ_READ);
}

SEC("?fexit/bdev_read_page")
int on_page_was_read(u64 *ctx)
{
	return page_io_ends(number(ctx[2]), (int)ctx[3]);
}

SEC("?fentry/bdev_write_page")
int on_page_write(u64 *ctx)
{
	return page_io_begins(number(ctx[0]), ctx[1], number(ctx[2]), RQ_WRITE);
}

SEC("?fexit/bdev_write_page")
int on_page_written(u64 *ctx)
{
	return page_io_ends(number(ctx[2]), (int)ctx[4]);
}

/* bio_start_io_acct(bio): a device without requests counts a bio in its statistics. */
SEC("?fentry/bio_start_io_acct")
int on_bio_account(u64 *ctx)
{
	bio_accounted(number(ctx[0]));
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
	enum covered covered;

	if (!first_to_see(ctx, EV_COMPLETE, (void *)ctx[0]))
		return 0;
	covered = request_completed((void *)ctx[0], (int)ctx[1], ctx[2], level_known);
	if (!covered || !CONF(async))
		return 0;
	barrier(); /* read both arguments again: one state for the verifier, no matter what came
		    * before */
	request_bios_done((struct request *)CTX(0), CTX(2), level_known);
	if (covered == COVERED_SOME) /* the mark of this completion was for these bios only */
		mark_clear(interrupt_level(level_known));
	return 0;
}

LEVEL_PROGRAMS(on_rq_complete, "tp_btf/block_rq_complete", rq_complete)

/* block_bio_complete(q, bio) */
static __always_inline int bio_complete(u64 *ctx, bool level_known)
{
	struct bio *bio = (void *)ctx[1];

	if (first_to_see(ctx, EV_BIO_COMPLETE, bio))
		bio_completed(bio, level_known);
	return 0;
}

LEVEL_PROGRAMS(on_bio_complete, "tp_btf/block_bio_complete", bio_complete)

/* block_io_done: the completion of a request is over. */
static __always_inline int io_done(u64 *ctx, bool level_known)
{
	mark_clear(interrupt_level(level_known));
	return 0;
}

LEVEL_PROGRAMS(on_io_done, "tp_btf/block_io_done", io_done)

/*
 * io_uring and libaio.
 */

SEC("?tp_btf/io_uring_submit_req")
int on_uring_submit(u64 *ctx)
{
	struct io_kiocb *req = (void *)ctx[0];

	if (first_to_see(ctx, EV_URING_SUBMIT, req))
		uring_submitted(req, false);
	return 0;
}

/* The name of io_uring_submit_req before 6.4. */
SEC("?tp_btf/io_uring_submit_sqe")
int on_uring_submit_sqe(u64 *ctx)
{
	struct io_kiocb *req = (void *)ctx[0];

	if (first_to_see(ctx, EV_URING_SUBMIT, req))
		uring_submitted(req, false);
	return 0;
}

/* io_uring_req_failed(sqe, req, error) */
SEC("?tp_btf/io_uring_req_failed")
int on_uring_failed(u64 *ctx)
{
	struct io_kiocb *req = (void *)ctx[1];

	if (first_to_see(ctx, EV_URING_FAILED, req))
		uring_submitted(req, true);
	return 0;
}

SEC("?tp_btf/io_uring_link")
int on_uring_link(u64 *ctx)
{
	if (first_to_see(ctx, EV_URING_LINK, (void *)ctx[0]))
		uring_linked(number(ctx[0]), number(ctx[1]));
	return 0;
}

SEC("?tp_btf/io_uring_queue_async_work")
int on_uring_queue(u64 *ctx)
{
	if (first_to_see(ctx, EV_URING_QUEUE, (void *)ctx[0]))
		uring_queued(number(ctx[0]));
	return 0;
}

/* A separate program: kernels without requests of io_uring as operations do not know all of its
 * instructions. */
SEC("?tp_btf/sched_process_exit")
int on_uring_exit(u64 *ctx)
{
	if (CONF(reap_rings))
		ring_exits(number(ctx[0]));
	return 0;
}

SEC("?tp_btf/io_uring_cqring_wait")
int on_uring_wait(u64 *ctx)
{
	if (!first_to_see(ctx, EV_URING_WAIT, (void *)ctx[0]))
		return 0;
	async_batch_ends();
	if (CONF(reap_rings))
		ring_waits(number(ctx[0]));
	return 0;
}

/* io_uring_complete(ring, req, ...) */
SEC("?tp_btf/io_uring_complete")
int on_uring_complete(u64 *ctx)
{
	const bool told = CONF(result_told);

	if (!first_to_see(ctx, EV_URING_COMPLETE, (void *)ctx[1]))
		return 0;
	if (CONF(layer) == LAYER_FS)
		queued_call_ends(number(ctx[1]), uring_result(ctx[1]));
	else
		uring_completed(ctx[1], number(ctx[0]), told, told ? CTX(3) : 0);
	return 0;
}

/* io_uring_cqe_overflow(ring, user_data, res, flags, entry): later kernels raise this event instead
 * of io_uring_complete, older ones after it. */
SEC("?tp_btf/io_uring_cqe_overflow")
int on_uring_overflow(u64 *ctx)
{
	u64 req;

	if (!first_to_see(ctx, EV_URING_OVERFLOW, (void *)ctx[4]))
		return 0;
	req = uring_overflown(ctx[0], ctx[1], ctx[2]);
	if (req)
		uring_completed(req, 0, false, 0);
	return 0;
}

#define AIO_PROBES(func, acts, n_args)                                                             \
	SEC("?fentry/" #func)                                                                      \
	int enter_##func(u64 *ctx)                                                                 \
	{                                                                                          \
		aio_begins(number(ctx[0]), number(ctx[1]), acts);                                  \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?fexit/" #func)                                                                       \
	int leave_##func(u64 *ctx)                                                                 \
	{                                                                                          \
		aio_executed(acts, ctx[n_args]);                                                   \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kprobe/" #func)                                                                      \
	int kenter_##func(struct pt_regs *ctx)                                                     \
	{                                                                                          \
		aio_begins(kprobe_arg(ctx, 0), kprobe_arg(ctx, 1), acts);                          \
		return 0;                                                                          \
	}                                                                                          \
	SEC("?kretprobe/" #func)                                                                   \
	int kleave_##func(struct pt_regs *ctx)                                                     \
	{                                                                                          \
		aio_executed(acts, kprobe_ret(ctx));                                               \
		return 0;                                                                          \
	}

AIO_PROBES(aio_read, OP_READ, 4)
AIO_PROBES(aio_write, OP_WRITE, 4)
AIO_PROBES(aio_fsync, OP_FSYNC, 3)

static __always_inline int aio_complete(u64 key)
{
	if (CONF(layer) == LAYER_FS)
		queued_call_ends(key, aio_result(key));
	else
		aio_completed(key);
	return 0;
}

SEC("?fentry/aio_complete")
int enter_aio_complete(u64 *ctx)
{
	return aio_complete(number(ctx[0]));
}

SEC("?kprobe/aio_complete")
int kenter_aio_complete(struct pt_regs *ctx)
{
	return aio_complete(kprobe_arg(ctx, 0));
}

/*
 * Page faults.
 */

/* page_fault_user(address, ...) */
SEC("?tp_btf/page_fault_user")
int on_fault(u64 *ctx)
{
	return fault_begins(ctx, false);
}

/* page_fault_kernel(address, ...) */
SEC("?tp_btf/page_fault_kernel")
int on_kernel_fault(u64 *ctx)
{
	return kernel_fault_begins(ctx);
}

/* do_mem_abort(address, syndrome, regs), on architectures without a tracepoint for faults. It also
 * handles faults of the kernel. */
SEC("?fentry/do_mem_abort")
int on_fault_abort(u64 *ctx)
{
	if (regs_are_user((struct pt_regs *)ctx[2]))
		return fault_begins(ctx, false);
	return kernel_fault_begins(ctx);
}

SEC("?fexit/handle_mm_fault")
int on_fault_handled(u64 *ctx)
{
	if (fault_looked_at(ctx))
		fault_stack_take(ctx);
	return 0;
}

SEC("?fexit/handle_mm_fault")
int on_fault_stack(u64 *ctx)
{
	stack_take(current_regs());
	return 0;
}

/* The kernel's software event of a handled fault, major or minor. */
SEC("?perf_event")
int on_fault_event(void *ctx)
{
	return fault_counted();
}

/* signal_deliver(sig, ...): a fault with an I/O error ends with SIGBUS. */
SEC("?tp_btf/signal_deliver")
int on_signal(u64 *ctx)
{
	fault_ends_alone((u32)ctx[0] == SIGNAL_BUS ? FAULT_FAILED : FAULT_INTERRUPTED);
	return 0;
}

/*
 * Threads and open files, before the first events.
 */

/* Visits every thread, to list those that wait. */
SEC("?iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		task_list(ctx->meta->seq, task);
	return 0;
}

/* Visits every open file, to learn the functions with which its file system reads and writes. */
SEC("?iter/task_file")
int on_task_file(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;

	if (file)
		fs_of_file(file, ctx->meta->seq);
	return 0;
}
