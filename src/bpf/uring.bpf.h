/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring.bpf.h - an operation of io_uring (see async.bpf.h): when it begins, and who executes it.
 *
 * io_uring has no event for the end of execution: the thread goes on to the next request, completes
 * one, waits for completions, leaves io_uring_enter(), or leaves the request to a worker.
 */
#ifndef IOSTRATA_URING_BPF_H
#define IOSTRATA_URING_BPF_H

#include "async.bpf.h"
#include "backup.bpf.h"

/* By opcode: the kind of a call that does the same; 0: it is no operation on files. */
const volatile unsigned char uring_kinds[URING_OPS] = {};

#define REQ_F_CQE_SKIP       (1 << 6) /* IOSQE_CQE_SKIP_SUCCESS_BIT */
#define IORING_SETUP_IOPOLL  1
#define SPLICE_F_FD_IN_FIXED (1U << 31)

/* The request that current executes, if it is a worker of io_uring; else of no meaning. */
static __always_inline u64 uring_worker_request(void)
{
	struct io_worker *worker = (void *)task_kthread((void *)current_task());
	u64 work = (u64)BPF_CORE_READ(worker, cur_work);

	return work - bpf_core_field_offset(struct io_kiocb, work);
}

/* Notes what only records show. */
static __always_inline void uring_note_range(struct op *op, u64 req, u8 acts)
{
	struct io_rw *rw = (void *)req;
	s64 pos;

	op->fd = -1;
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	if (acts != OP_READ && acts != OP_WRITE)
		return;
	op->len = BPF_CORE_READ(rw, len);
	pos = BPF_CORE_READ(rw, kiocb.ki_pos);
	if (pos >= 0)
		op->offset = pos;
}

/* The file behind a descriptor that is not among a ring's own ones; those have no name here. */
static __always_inline struct file *uring_fd(u32 fd, bool fixed)
{
	return fixed ? NULL : current_file(fd, false);
}

/*
 * Looks which file @req is for, which has begun to be executed; false: it is not traced. What is
 * closed was looked at before; what is opened is known when it returns @ret (until then -1).
 */
static __always_inline bool uring_learn_file(struct op *op, u64 req, int ret)
{
	struct io_splice *splice = (void *)req;
	struct io_open *open = (void *)req;
	struct file *file;

	if (op->file.file || op->acts == OP_CLOSE)
		return true;
	file = BPF_CORE_READ((struct io_kiocb *)req, file);
	if (op->acts == OP_OPEN)
		file = uring_fd(ret, ret < 0 || BPF_CORE_READ(open, file_slot));
	else if (op->acts == OP_COPY && file && !mode_is_storage(file_look(file, false).mode))
		file = uring_fd(BPF_CORE_READ(splice, splice_fd_in),
				BPF_CORE_READ(splice, flags) & SPLICE_F_FD_IN_FIXED);
	return async_set_file(op, file);
}

/* Current, which executes a request, has submitted a bio. This may be the end of its work, so all
 * time until now is charged; a thread that polls goes on to that without being seen. */
static __always_inline u32 async_executed_bio(struct task_state *t, u64 private)
{
	struct async_op *u;

	op_change_layer(&t->op, t->op.layer);
	if (t->op.kind != OP_URING)
		return t->async_at;
	if (!uring_learn_file(&t->op, t->async, -1))
		t->op.file.file = 0; /* or its completion would take it for known, and traced */
	if (!t->uring_polls)
		return t->async_at;
	async_park(t, t->op.at[AT_CHARGED], true);
	u = async_at(t->async_at);
	if (u) {
		u->private = private;
		u->strays = 0;
	}
	return t->async_at;
}

/* Current is a worker, and has submitted a bio; 0: it does not work on an operation. */
static __always_inline u32 uring_worker_bio(u64 read_bytes)
{
	u64 req = uring_worker_request();
	u32 at = async_index(req);
	struct async_op *u = async_at(at);

	if (!u || !u->task)
		return 0;
	u->worker_bios++;
	u->worker_reads += read_bytes;
	/* since 5.18 it has a file only when it is executed */
	if (!uring_learn_file(&u->op, req, -1))
		u->op.file.file = 0; /* as above */
	return at;
}

/* blk-throttle keeps back a bio of the request in slot @at, which current has submitted. The time
 * of one that waited for a worker is known until now; what that waits for itself tells more. */
GLOBAL int async_bio_throttled(u32 at)
{
	struct async_op *u = CONF(async) ? async_at(at) : NULL;

	if (!u || !u->queued || !u->op.file.direct)
		return 0;
	op_settle(&u->op, u->op.layer, u->parked);
	op_charge(&u->op, ST_HELPER, bpf_ktime_get_ns());
	return 0;
}

/*
 * Current is in no operation, and has submitted a bio. If it polls, that is a further one for its
 * last request, or for another, which it goes on with, or for whatever else it does: the bios of a
 * direct read or write are private to the same, and no others; or it has only one, and that is
 * private to nothing. What a device passes on is for what the bio above is for.
 */
static __always_inline u32 uring_bio_follows(struct task_state *t, u64 private, u64 read_bytes)
{
	struct async_op *u = t->uring_polls && t->async ? async_at(t->async_at) : NULL;

	/* the request may be another by now, and so may the thread whose slot this is */
	if (!u || !u->op.stage || u->req != t->async || u->task != t->task)
		return 0;
	if (!bio_is_passed_on())
		u->strays = private != u->private || (!private && u->op.file.direct);
	if (u->strays)
		return 0;
	op_settle(&u->op, u->op.layer, bpf_ktime_get_ns());
	u->op.requests++;
	u->op.device_bytes += read_bytes;
	return t->async_at;
}

/* Current, a worker or a thread that submitted requests, has submitted a bio that is private to
 * @private, by which they read so many bytes. The slot of its request; 0: it is for none. */
GLOBAL u64 async_bio_queued(u64 private, u64 read_bytes)
{
	struct task_state *t;

	if (!CONF(async))
		return 0;
	t = current_lookup();
	if (!t)
		return CONF(uring) ? uring_worker_bio(read_bytes) : 0;
	if (!t->op.stage)
		return CONF(uring) ? uring_bio_follows(t, private, read_bytes) : 0;
	return async_executes(t) ? async_executed_bio(t, private) : 0;
}

/* Current submits @req, which has @opcode and does what calls of kind @acts do; @ring_polls: for
 * its completion. */
static __always_inline void uring_begins(u64 req, u32 opcode, u8 acts, bool ring_polls)
{
	u64 now = bpf_ktime_get_ns();
	struct io_close *close = (void *)req;
	struct task_state *t = task_get(current_task());
	u32 at;

	if (!t)
		return;
	row_clear(&t->op.file);
	if (acts == OP_CLOSE && !async_set_file(&t->op, uring_fd(BPF_CORE_READ(close, fd),
								 BPF_CORE_READ(close, file_slot))))
		return;
	at = async_new(req, now);
	if (!at)
		return;
	if (t->uring_ended) {
		t->uring_ended = 0;
		t->async_batch++;
	}
	if (CONF(records) || CONF(sent_ops))
		uring_note_range(&t->op, req, acts);
	t->uring_polls = ring_polls || current_flags() & PF_IO_WORKER;
	async_begins(t, req, at, OP_URING, acts, CALL_URING | opcode, now);
}

/*
 * A request is submitted. A successful one with IOSQE_CQE_SKIP_SUCCESS has no completion, so it is
 * counted as lost at once. @failed: already, before anything else was seen of it.
 */
static __always_inline void uring_submitted(struct io_kiocb *req, bool failed)
{
	struct task_state *t = current_lookup();
	u32 opcode = req->opcode;
	u8 acts = opcode < URING_OPS ? uring_kinds[opcode] : 0;

	if (failed && async_find(number((u64)req)))
		return;
	if (async_executes(t))
		async_park(t, bpf_ktime_get_ns(), false);
	if (t)
		t->async = 0; /* what bios are for from now on is not the last request */
	if (!acts || !current_wanted(bpf_get_current_pid_tgid()))
		return;
	if (!failed && uring_flags(req) & REQ_F_CQE_SKIP)
		count_lost(LOST_UNMATCHED_START);
	else
		uring_begins(number((u64)req), opcode, acts, req->ctx->flags & IORING_SETUP_IOPOLL);
}

/* @req, which current has just submitted, comes after others, of which @head is the first. That is
 * what current executes after it has submitted the last of them. */
static __always_inline void uring_linked(u64 req, u64 head)
{
	struct task_state *t = current_lookup();
	struct async_op *u = async_find(req);
	u32 stage, at;

	if (u)
		u->linked = 1;
	if (async_executes(t))
		async_park(t, bpf_ktime_get_ns(), false);
	at = async_index(head);
	u = async_at(at);
	if (!t || t->op.stage || !u || !u->task || !u->op.stage)
		return;
	stage = u->op.stage;
	u->op.stage = 0;
	t->op = u->op;
	t->async = head;
	t->async_at = at;
	barrier();
	t->op.stage = stage;
}

/* @req is left to a worker. */
static __always_inline void uring_queued(u64 req)
{
	struct task_state *t = current_lookup();
	struct async_op *u = async_find(req);
	u64 now = bpf_ktime_get_ns();

	if (!u)
		return;
	if (async_executes(t) && t->async == req) {
		async_park(t, now, false);
	} else if (u->op.stage) {
		/* nobody saw who took it up again */
		op_settle(&u->op, u->op.layer, u->parked);
		op_charge(&u->op, ST_SLEEP, now);
	}
	u->parked = now;
	u->queued = 1;
	if (!uring_learn_file(&u->op, req, -1))
		u->op.file.file = 0; /* as above */
}

/*
 * The completion of a request of io_uring, which ends its operation.
 */

static __always_inline int uring_result(u64 req)
{
	return BPF_CORE_READ((struct io_kiocb *)req, cqe.res);
}

/* How @req ends, whose entry is @u. @same_batch: current, which completes it, submitted it, and did
 * not begin to submit others since. */
static __always_inline enum async_end uring_how(const struct async_op *u, u64 req, bool same_batch)
{
	if (u->queued && current_flags() & PF_IO_WORKER && uring_worker_request() == req)
		return ENDS_BY_WORKER;
	return same_batch ? ENDS_IN_BATCH : ENDS_LATER;
}

/* @req completes; 0: a completion before the last of a request, or of none. What its thread
 * executed before it completes requests is over. */
static __always_inline void uring_completed(u64 req)
{
	u64 now = bpf_ktime_get_ns(), task = current_task();
	struct task_state *t = task_lookup(task);
	struct async_op *u;
	bool same;
	u32 at;
	int res;

	if (async_executes(t))
		async_park(t, now, true);
	if (t)
		t->uring_ended = req;
	if (t && t->async == req)
		t->async = 0;
	at = async_slot(req);
	u = async_find_at(req, at);
	if (!u)
		return;
	same = t && u->task == task && u->batch == t->async_batch;
	res = uring_result(req);
	if (u->op.stage && uring_learn_file(&u->op, req, res))
		async_ends(u, at, uring_how(u, req, same), (int)number(res), now);
	async_over(u, now);
}

/* How many completions of a batch are looked at: after the last one, and from the first on. */
enum { URING_NEXT = 4, URING_BATCH = 8 };

static __always_inline u64 uring_of_node(struct io_wq_work_node *node)
{
	return (u64)node - bpf_core_field_offset(struct io_kiocb, comp_list);
}

/* Whether @req is in ring @ctx, waits for its completion, and completes with these. */
static __always_inline bool uring_answers(u64 req, u64 ctx, u64 user_data, int res)
{
	struct io_kiocb *r = (void *)req;

	return BPF_CORE_READ(r, cqe.user_data) == user_data && uring_result(req) == res &&
	       (u64)BPF_CORE_READ(r, ctx) == ctx && async_find(req);
}

/*
 * The request whose completion, of which these are known, finds no room in ring @ctx. It is the one
 * that current executes as a worker, or one of the batch that current completes, in the order of
 * the events: the next after the last one, or the first that was not seen to end. 0: not found.
 */
GLOBAL u64 uring_overflown(u64 ctx, u64 user_data, int res)
{
	struct task_state *t = current_lookup();
	u64 last = t ? t->uring_ended : 0, req;
	struct io_wq_work_node *node;

	node = BPF_CORE_READ((struct io_kiocb *)last, comp_list.next);
	for (int i = 0; i < URING_NEXT + URING_BATCH; i++) {
		if (i == URING_NEXT)
			node = BPF_CORE_READ((struct io_ring_ctx *)ctx,
					     submit_state.compl_reqs.first);
		req = i || !(current_flags() & PF_IO_WORKER) ? uring_of_node(node)
							     : uring_worker_request();
		if (uring_answers(req, ctx, user_data, res))
			return req;
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

#endif
