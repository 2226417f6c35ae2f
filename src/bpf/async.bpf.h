/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * async.bpf.h - an operation not bound to one thread: a request of io_uring or libaio, from its
 * submission to its completion, no matter which thread works on the request.
 *
 * While the submitting thread executes the request, the operation is in the thread's state, and its
 * time is charged as in a system call. When the thread turns to something else, or leaves the
 * request to a worker, the operation is parked in async_ops. The time since then is charged when
 * the request completes: by the times of the request's last bio, or by the waits of the worker.
 *
 * Writers: an operation has one owner at a time, the executing thread. While the operation is
 * parked, its owner is the code that resumes, queues or completes the request; io_uring and libaio
 * order these. A worker submitting bios writes @worker_bios and @worker_reads. Completions of bios,
 * on any CPU, write @last.
 *
 * uring.bpf.h and aio.bpf.h begin an operation; async_ends() ends it.
 */
#ifndef IOSTRATA_ASYNC_BPF_H
#define IOSTRATA_ASYNC_BPF_H

#include "async_bio.bpf.h"
#include "op.bpf.h"
#include "submission.bpf.h"
#include "wait.bpf.h"

/* Whether @t is executing a request of io_uring or libaio right now. */
static __always_inline bool async_executes(const struct task_state *t)
{
	return t && t->op.progress == OP_ASYNC;
}

/* Current has stopped executing its request, at @now. @vague: at an unknown time before @now. */
static __always_inline void async_park(struct task_state *t, u64 now, bool vague)
{
	struct async_op *u = async_at(t->async_at);
	u32 stage = t->op.stage;

	t->op.stage = 0;
	barrier();
	/* the end of the request was missed, and its slot may hold another by now */
	if (!u || u->task != t->task || u->begun != t->op.start) {
		count_lost(LOST_UNMATCHED_START);
		return;
	}
	op_move(&u->op, &t->op);
	u->parked = now;
	u->batch = t->async_batch;
	u->vague = vague;
	u->op.stage = stage;
}

/* op_charge(). Returns how much it has charged. */
static __always_inline u64 op_charged(struct op *op, u32 stratum, u64 to)
{
	u64 from = op->at[AT_CHARGED];

	op_charge(op, stratum, to);
	return op->at[AT_CHARGED] - from;
}

/* Current leaves io_uring_enter() or io_submit(), or waits for completions: a batch of submissions
 * ends. */
GLOBAL int async_batch_ends(void)
{
	struct task_state *t = CONF(async) ? current_lookup() : NULL;

	if (async_executes(t))
		async_park(t, bpf_ktime_get_ns(), false);
	if (t)
		t->async_batch++;
	return 0;
}

/* Sets the owner of a request, @who, to current. An io_uring thread gets the name of its
 * process. */
static __always_inline void async_set_owner(struct sent_who *who)
{
	struct task_struct *task = (void *)current_task();

	if (!CONF(op_owner))
		return;
	who_set(who, NULL);
	if (CONF(by) == BY_PID || current_flags() & PF_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&who->comm, task, group_leader, comm);
}

/* Flags of one write, as in include/uapi/linux/fs.h. */
enum { RWF_APPEND = 0x10, RWF_NOAPPEND = 0x20 };

/* Notes the flags of an operation's open file. An append has no known offset: its argument says
 * nothing. */
static __always_inline void async_set_flags(struct op *op, u32 flags)
{
	op->file.direct = !!(flags & O_DIRECT);
	if (offsets_wanted() && flags & O_APPEND && op->acts == OP_WRITE)
		op->offset = OFFSET_UNKNOWN;
}

/* Sets the file of an operation. Returns false if the file is not traced. @file NULL: the operation
 * has no file, or none is known. */
static __always_inline bool async_set_file(struct op *op, struct file *file)
{
	struct open_file f;

	if (!file)
		return !file_filtered();
	f = file_look(file, false);
	if (!mode_wanted(f.mode) || !file_learn(&op->file, f, false))
		return false;
	async_set_flags(op, BPF_CORE_READ(file, f_flags));
	return true;
}

/* Whether slot @u may be claimed: no thread owns the slot, or it was idle for ASYNC_IDLE_NS. (The
 * former request may return at this very moment. Its program then finds another request in the
 * slot, and counts its own as lost.) */
static __always_inline bool async_free(const struct async_op *u, u64 now)
{
	return u->req <= ASYNC_GONE || (!u->task && (s64)(now - u->parked) > ASYNC_IDLE_NS);
}

/* Claims a slot for @req. It has none so far. Returns 0 if all slots open to @req are in use. If
 * two programs claim one slot at the same time, the map slots_taken refuses the second. */
GLOBAL u64 async_claim(u64 req, u64 now)
{
	struct async_op *u;
	bool claimed;
	u32 at, key;

	for (u32 try = 0; try < ASYNC_TRIES; try++) {
		at = async_place(req, try) + 1;
		u = async_at(at);
		key = ROW_SLOTS + FS_SLOTS + at;
		if (!u || !async_free(u, now) ||
		    bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST))
			continue;
		claimed = async_free(u, now);
		if (claimed) {
			u->parked = now;
			u->req = req;
		}
		bpf_map_delete_elem(&slots_taken, &key);
		if (claimed)
			return at;
	}
	return 0;
}

/* The slot for @req, beginning at @now, or 0 if none is free. If a request is still in progress in
 * the slot, its end was missed. */
static __always_inline u32 async_new(u64 req, u64 now)
{
	u32 at = async_slot(req);
	struct async_op *u;

	if (unlikely(!at))
		at = async_claim(req, now);
	u = async_at(at);
	if (!u || u->req != req) {
		count_lost(LOST_MAP_FULL);
		return 0;
	}
	if (unlikely(u->task))
		count_lost(LOST_UNMATCHED_START);
	u->op.stage = 0;
	if (CONF(segments) && !u->op.segments)
		u->op.segments = TASK_SLOTS + at;
	u->flags = 0;
	u->slept = u->helped = 0;
	u->worker_bios = 0;
	u->worker_reads = 0;
	u->last.thread = 0;
	return at;
}

/* The request in slot @u is over. */
static __always_inline void async_over(struct async_op *u, u64 now)
{
	u->op.stage = 0;
	u->parked = now;
	barrier();
	u->task = 0;
}

/* Current begins to execute request @key, in slot @at. @acts: the kind of the equivalent system
 * call. The caller has set the file of @t->op. */
static __always_inline void async_begins(struct task_state *t, u64 key, u32 at, u8 kind, u8 acts,
					 u16 call, u64 now)
{
	struct async_op *u = async_at(at);

	if (!u)
		return;
	u->begun = now;
	u->polls = t->uring_polls;
	async_set_owner(&u->who);
	u->task = t->task;
	if (CONF(stacks))
		submission_draw(t, u);
	t->op.acts = acts;
	t->op.call = call;
	t->async = key;
	t->async_at = at;
	op_start(&t->op, kind, OP_ASYNC, now);
}

/*
 * The completion of a request of io_uring or libaio: its operation ends.
 */

/* The stratum for the time between parking a request and the submission of its last bio. If the
 * time of parking is vague, the thread was about to submit the bio. The mask is for the verifier:
 * ST_SYSCALL to ST_FS fit. */
static __always_inline u32 async_before_bio(const struct async_op *u)
{
	if (u->queued)
		return ST_HELPER;
	return u->vague ? u->op.layer & 3 : ST_SLEEP;
}

/* Charges the time from parking a request to the completion of its last bio, by the times of this
 * bio. A throttled bio counts as held back since its submission. */
static __always_inline void async_charge_bio(struct op *op, const struct rq_times *c, u32 before)
{
	op_charge(op, c->held ? before : ST_THROTTLE, c->held ? c->held : c->q);
	op_charge(op, ST_DEVICE, c->q);
	op_charge(op, ST_TAG, c->g);
	op_charge(op, ST_QUEUE, c->d);
	op_charge(op, ST_DEVICE, c->c);
}

/* The stratum of a wait for a CPU. The mask is for the verifier. */
static __always_inline u32 cpu_wait_stratum(const struct cpu_wait *w)
{
	u32 stratum = ST_PREEMPT - !!w->asleep;

	barrier_var(stratum);
	return stratum & 15;
}

_Static_assert(ST_RUNQ == ST_PREEMPT - 1, "cpu_wait_stratum");

/* Charges the time from the completion of the last bio of a request of thread @thread to its end,
 * at
 * @now. If its thread ends it, the thread may have waited for a CPU meanwhile. */
static __always_inline void async_charge_complete(struct op *op, u64 thread, u64 now)
{
	struct task_state *t = current_lookup();

	if (t && t->task == thread) {
		op_charge(op, ST_COMPLETE, t->cpu_wait.from);
		op_charge(op, cpu_wait_stratum(&t->cpu_wait), t->cpu_wait.to);
	}
	op_charge(op, ST_COMPLETE, now);
}

/* Charges the rest of a request by the waits of current, the worker that executed the request. */
static __always_inline void async_charge_worker(struct op *op, u64 now)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct helper *h = bpf_map_lookup_elem(&helpers, &tid);
	/* a struct waking without its waker: the stack has little room */
	u64 room[(__builtin_offsetof(struct waking, waker) + 7) / 8] = {};
	struct waking *w = (void *)room;

	if (h)
		helper_split(h, w, op->at[AT_CHARGED], now);
	split_charge(op, &w->split, now);
	op->waited_read |= w->is_read;
	op_charge(op, ST_HELPER, now);
}

/* Whether a server or a daemon has the files of file system type @fs, whose requests are traced. */
GLOBAL u64 fs_has_server(u64 fs)
{
	u64 name[FS_NAME_LEN / 8] = {};

	if (!CONF(n_server_fs) || fs <= FS_UNKNOWN)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ((struct file_system_type *)fs, name));
	for (u32 i = 0; i < SERVER_FS; i++)
		if (i < CONF(n_server_fs) && CONF_AT(server_fs, i) == name[0])
			return 1;
	return 0;
}

/* How a request ended. */
enum async_end {
	ENDS_LATER,     /* its thread has turned to something else */
	ENDS_AT_ONCE,   /* its thread has done nothing else since */
	ENDS_IN_BATCH,  /* along with the requests submitted with it */
	ENDS_BY_WORKER, /* current, a worker, executed the request, or the work after its bios */
};

/*
 * Charges the rest of a request that completes now. A thread polling for requests, or for their
 * completion, does not show when it stops executing a request (@u->vague). If such a request waits
 * for its own bios, the thread is taken to have stopped when it had submitted the last bio. @how:
 * enum async_end. (A separate function: programs that end requests have no stack left for its
 * variables.)
 */
GLOBAL int async_charge(u32 at, u32 how, u64 now)
{
	struct async_op *u = CONF(async) ? async_at(at) : NULL;
	bool bios, waits, worked;
	struct done last;
	struct op *op;

	if (!u)
		return 0;
	op = &u->op;
	last = u->last;
	barrier(); /* use only the copy from here on */
	worked = how == ENDS_BY_WORKER && u->queued;
	bios = last.thread && last.check == done_check(&last) && last.times.c >= op->start &&
	       (!(last.thread & DONE_EARLIER) || (op->acts == OP_READ && !op->file.direct));
	waits = bios && !worked && (op->file.direct || u->polls || how == ENDS_LATER);
	op->own_reads |= !!u->worker_reads;
	if (u->worker_bios) {
		op->requests = (op->submitted ? op->requests : 0) + u->worker_bios;
		op->device_bytes = (op->submitted ? op->device_bytes : 0) + u->worker_reads;
		op->submitted = 1;
	}
	if (!op->settled || !u->vague || !waits)
		op_settle(op, op->layer, u->parked);
	if (waits) {
		op->waited_read |= !!(last.thread & DONE_READ);
		async_charge_bio(op, &last.times, async_before_bio(u));
		worked = how == ENDS_BY_WORKER;
	}
	if (worked) {
		async_charge_worker(op, now);
	} else if (waits) {
		async_charge_complete(op, u->task, now);
	} else if (u->queued && !fs_has_server(op->file.fs)) {
		op_charge(op, ST_HELPER, now);
	} else if (!u->queued && how == ENDS_IN_BATCH) {
		op_charge(op, ST_COMPLETE, now);
	} else if (!u->queued && how == ENDS_AT_ONCE) {
		op_charge(op, ST_SYSCALL, now);
	} else if (u->queued || fs_has_server(op->file.fs)) {
		/* its file system asked the server, and nobody waited for the answer */
		op_charge(op, ST_SERVER, now);
	} else {
		/* a read not seen to wait for its own bio waited for the bio of another read */
		op->waited_read |= op->acts == OP_READ && !u->linked && !op->file.direct;
		op_charge(op, ST_SLEEP, now);
	}
	return 0;
}

/* Hands the finished request in slot @at to op_keep(). Its time is charged; it returns @ret.
 * Returns whether it counts in a row. */
GLOBAL int async_keep(u32 at, u64 ret)
{
	struct async_op *u = CONF(async) ? async_at(at) : NULL;
	struct op_end end = {};
	struct op *op;
	u8 slot;

	if (!u)
		return 0;
	op = &u->op;
	slot = op->call;
	end.cpu = op->strata; /* the strata on the CPU come first */
	end.ret = ret;
	end.acts = op->acts;
	end.total = op->at[AT_CHARGED] - op->start;
	end.file = &op->file;
	end.who = CONF(op_owner) ? &u->who : NULL;
	end.what = ROW_WHAT(op->kind == OP_SUBMIT ? 0 : op->call, (u32)op->kind, 0);
	if (!op_keep(op, &end, &slot, false))
		return 0;
	if (CONF(stacks) && u->stack_weight)
		submission_send_request(u, end.total, ret);
	return 1;
}

/* The time that the operation has waited so far. */
static __always_inline u64 op_waited(const struct op *op)
{
	u64 ns = 0;

	for (u32 st = ST_FS + 1; st < ST_N; st++)
		ns += op->strata[st];
	return ns;
}

/*
 * The request in slot @at completes, and its file is known. Its thread's waits while it executed
 * the request are an operation of the thread, of kind submit. They are also part of the request,
 * whose waits do not count as time of a thread. A polling thread does not show when it stops
 * executing a request, so it has no such operation.
 *
 * Makes the request the operation of its waits: on no CPU, and without bios. (The order of the time
 * in its record does not add up, so user space ignores it.) Returns the time of the waits; with 0,
 * it changes nothing.
 */
GLOBAL u64 async_waits_begin(u32 at)
{
	struct async_op *u = CONF(submit_waits) ? async_at(at) : NULL;
	struct op *op;
	u64 waited;

	if (!u || u->polls)
		return 0;
	op = &u->op;
	waited = op->settled ? op_waited(op) - u->slept - u->helped : 0;
	if (!waited)
		return 0;
	op->strata[ST_SLEEP] -= u->slept;
	op->strata[ST_HELPER] -= u->helped;
	u->whole.charged = op->at[AT_CHARGED];
	u->whole.flags = op->flags;
	u->whole.call = op->call;
	u->whole.kind = op->kind;
	u->whole.acts = op->acts;
	__builtin_memcpy(u->whole.cpu, op->strata, sizeof(u->whole.cpu));
	__builtin_memset(op->strata, 0, sizeof(u->whole.cpu));
	op->at[AT_CHARGED] = op->start + waited;
	op->submitted = op->own_reads = 0;
	op->call = op->kind == OP_URING ? CALL_URING_ENTER : CONF(io_submit);
	op->kind = op->acts = OP_SUBMIT;
	return waited;
}

/* Makes the operation in slot @at the request again. Its thread was busy for @waited, if this
 * thread completes it. (In an interrupt of busy_add(), one of the two times is lost.) */
GLOBAL int async_waits_end(u32 at, u64 waited)
{
	struct async_op *u = CONF(submit_waits) ? async_at(at) : NULL;
	struct task_state *t;
	struct op *op;

	if (!u)
		return 0;
	op = &u->op;
	op->strata[ST_SLEEP] += u->slept;
	op->strata[ST_HELPER] += u->helped;
	op->at[AT_CHARGED] = u->whole.charged;
	op->flags = u->whole.flags;
	op->call = u->whole.call;
	op->kind = u->whole.kind;
	op->acts = u->whole.acts;
	__builtin_memcpy(op->strata, u->whole.cpu, sizeof(u->whole.cpu));
	t = CONF(busiest) && waited ? current_lookup() : NULL;
	if (t && t->task == u->task && record_fs_wanted(op->file.fs))
		busy_add(t, waited);
	return 0;
}

/* Hands the waits to op_keep(). In the program itself, because the stack has no room for another
 * call above async_keep(). */
static __always_inline void async_waits_keep(u32 at)
{
	u64 waited = CONF(submit_waits) ? async_waits_begin(at) : 0;

	if (!waited)
		return;
	if (!async_keep(at, 0))
		waited = 0;
	async_waits_end(at, waited);
}

/* Ends the request in slot @at, with the result @ret. */
static __always_inline void async_ends(u32 at, enum async_end how, long ret, u64 now)
{
	async_waits_keep(at);
	/* number(): then the verifier need not follow each value of @how */
	async_charge(at, number(how), now);
	async_keep(at, ret);
}

#endif
