/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring.bpf.h - an operation of io_uring (see async.bpf.h): its beginning, the thread executing the
 * request, and its end.
 *
 * io_uring has no event for the moment when a thread stops executing a request. The thread then
 * goes on to the next request, completes one, waits for completions, leaves io_uring_enter(), or
 * leaves the request to a worker.
 */
#ifndef IOSTRATA_URING_BPF_H
#define IOSTRATA_URING_BPF_H

#include "async.bpf.h"
#include "backup.bpf.h"
#include "reap.bpf.h"

/* By opcode: the kind of the equivalent system call, or 0 if there is no operation on files. */
const volatile unsigned char uring_kinds[URING_OPS] = {};

#define REQ_F_CQE_SKIP       (1 << 6) /* IOSQE_CQE_SKIP_SUCCESS_BIT */
#define IORING_SETUP_IOPOLL  1
#define SPLICE_F_FD_IN_FIXED (1U << 31)

/* The request executed by current, a worker of io_uring. Meaningless in any other thread. */
static __always_inline u64 uring_worker_request(void)
{
	struct io_worker *worker = (void *)task_kthread((void *)current_task());
	u64 work = (u64)BPF_CORE_READ(worker, cur_work);

	return work - bpf_core_field_offset(struct io_kiocb, work);
}

/* Whether the length in a request with @opcode is a number of buffers, not of bytes. */
static __always_inline bool uring_is_vectored(u32 opcode)
{
	const u64 opcodes = 1ULL << 1 | 1ULL << 2 | 1ULL << 60 | 1ULL << 61;

	return opcodes >> (opcode % 64) &
	       1; /* IORING_OP_READV, WRITEV, READV_FIXED, WRITEV_FIXED */
}

/* Notes descriptor, offset and length. Only records and patterns need them. */
static __always_inline void uring_note_range(struct op *op, u64 req, u32 opcode, u8 acts)
{
	struct io_rw *rw = (void *)req;
	s64 pos;

	op->fd = -1;
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	if (acts != OP_READ && acts != OP_WRITE)
		return;
	if (!uring_is_vectored(opcode))
		op->len = BPF_CORE_READ(rw, len);
	pos = BPF_CORE_READ(rw, kiocb.ki_pos);
	if (pos >= 0 && !(acts == OP_WRITE && BPF_CORE_READ(rw, flags) & RWF_APPEND))
		op->offset = pos;
}

/* The file of descriptor @fd. NULL for a @fixed one, an index among the ring's own files: these
 * have no name here. */
static __always_inline struct file *uring_fd(u32 fd, bool fixed)
{
	return fixed ? NULL : current_file(fd, false);
}

/*
 * Finds the file of @req. Its execution has begun. Returns false if the file is not traced. The
 * file of a close was looked at before. The file of an open is known when the open returns @ret;
 * until then @ret is -1.
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

/* Current executes a request, and has submitted a bio at @now. All time until now is charged, since
 * this may be the end of current's work on the request. A polling thread begins to poll without any
 * event. */
static __always_inline u32 async_executed_bio(struct task_state *t, u64 private, u64 now)
{
	struct async_op *u;

	op_charge_layer(&t->op, now);
	if (t->op.kind != OP_URING)
		return t->async_at;
	if (!uring_learn_file(&t->op, t->async, -1))
		t->op.file.file = 0; /* else its completion takes the file as known and traced */
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

/* Current, a worker, has submitted a bio. The slot of its request, or 0 if it works on no
 * operation. */
static __always_inline u32 uring_worker_bio(u64 read_bytes)
{
	u64 req = uring_worker_request();
	u32 at = async_index(req);
	struct async_op *u = async_at(at);

	if (!u || !u->task)
		return 0;
	u->worker_bios++;
	u->worker_reads += read_bytes;
	/* since 5.18 a request has its file only when it is executed */
	if (!uring_learn_file(&u->op, req, -1))
		u->op.file.file = 0; /* see async_executed_bio() */
	return at;
}

/* blk-throttle holds back a bio that current has submitted for the request in slot @at. If the
 * request waited for a worker, the time until now is known to be the helper's. In other cases the
 * waits of the thread itself tell more. */
GLOBAL int async_bio_throttled(u32 at)
{
	struct async_op *u = CONF(async) ? async_at(at) : NULL;

	if (!u || !u->queued || !u->op.file.direct)
		return 0;
	op_settle(&u->op, u->op.layer, u->parked);
	u->helped += op_charged(&u->op, ST_HELPER, bpf_ktime_get_ns());
	return 0;
}

/*
 * Current is in no operation, and has submitted a bio at @now. If current polls, the bio is one of
 * three: a further bio of its last request, a bio of another request with which it goes on, or a
 * bio for something else. The bios of one direct read or write share a bi_private. No other bio has
 * it. A read or write of a single bio has no bi_private. A bio passed on by a device belongs to the
 * same request as the bio above.
 */
static __always_inline u32 uring_bio_follows(struct task_state *t, u64 private, u64 read_bytes,
					     u64 now)
{
	struct async_op *u = t->uring_polls && t->async ? async_at(t->async_at) : NULL;

	/* by now the slot may have another request, or a request of another thread */
	if (!u || !u->op.stage || u->req != t->async || u->task != t->task)
		return 0;
	if (!bio_is_passed_on())
		u->strays = private != u->private || (!private && u->op.file.direct);
	if (u->strays)
		return 0;
	op_settle(&u->op, u->op.layer, now);
	u->op.requests++;
	u->op.device_bytes += read_bytes;
	return t->async_at;
}

/* Current, a worker or a submitter of requests, has submitted a bio at @now with bi_private
 * @private, to read @read_bytes. Returns the slot of the bio's request, or 0 if it has none. */
GLOBAL u64 async_bio_queued(u64 private, u64 read_bytes, u64 now)
{
	struct task_state *t;

	if (!CONF(async))
		return 0;
	t = current_lookup();
	if (!t)
		return CONF(uring) ? uring_worker_bio(read_bytes) : 0;
	if (!t->op.stage)
		return CONF(uring) ? uring_bio_follows(t, private, read_bytes, now) : 0;
	return async_executes(t) ? async_executed_bio(t, private, now) : 0;
}

/* Current submits @req with @opcode, in a ring with @ring_flags. @acts: the kind of the equivalent
 * system call. (A separate function: ring_enters() needs the stack.) */
GLOBAL int uring_begins(u64 req, u32 opcode, u32 acts, u32 ring_flags)
{
	struct task_state *t = CONF(uring) ? task_get(current_task()) : NULL;
	struct io_close *close = (void *)req;
	u64 now = bpf_ktime_get_ns();
	u32 at;

	if (!t)
		return 0;
	row_clear(&t->op.file);
	if (acts == OP_CLOSE && !async_set_file(&t->op, uring_fd(BPF_CORE_READ(close, fd),
								 BPF_CORE_READ(close, file_slot))))
		return 0;
	at = async_new(req, now);
	if (!at)
		return 0;
	if (t->uring_ended) {
		t->uring_ended = 0;
		t->async_batch++;
	}
	if (offsets_wanted())
		uring_note_range(&t->op, req, opcode, acts);
	t->uring_polls = ring_flags & IORING_SETUP_IOPOLL || current_flags() & PF_IO_WORKER;
	async_begins(t, req, at, OP_URING, acts, CALL_URING | opcode, now);
	return 0;
}

/* Current submits a request in @ring: it has entered the ring, unless a thread of the kernel polls.
 */
static __always_inline void uring_entered(struct io_ring_ctx *ring)
{
	struct task_state *t = current_lookup();

	if (ring->flags & IORING_SETUP_SQPOLL) {
		ring_polled(number((u64)ring));
		return;
	}
	if (!t || t->ring_entered || current_flags() & PF_IO_WORKER)
		return;
	ring_enters(number((u64)ring), ring->rings->cq.head, ring->cached_cq_tail, ring->flags);
}

/*
 * Current submits @req. With IOSQE_CQE_SKIP_SUCCESS a successful request has no completion, so it
 * is counted as lost at once. @failed: the request has failed already, before any other event.
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
		t->async = 0; /* later bios are not of the last request */
	if (!acts || !current_wanted(bpf_get_current_pid_tgid()))
		return;
	if (!failed && uring_flags(req) & REQ_F_CQE_SKIP)
		count_lost(LOST_UNMATCHED_START);
	else
		uring_begins(number((u64)req), opcode, acts, req->ctx->flags);
	if (CONF(reap_rings))
		uring_entered(req->ctx);
}

/* Current has just submitted @req. It is linked behind other requests, the first of them @head.
 * Current executes @head after it has submitted the last request of the chain. */
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
	op_move(&t->op, &u->op);
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
		/* the thread going on with the request was not seen */
		op_settle(&u->op, u->op.layer, u->parked);
		u->slept += op_charged(&u->op, ST_SLEEP, now);
	}
	u->parked = now;
	u->queued = 1;
	if (!uring_learn_file(&u->op, req, -1))
		u->op.file.file = 0; /* see async_executed_bio() */
}

/*
 * The completion of a request of io_uring: its operation ends.
 */

static __always_inline int uring_result(u64 req)
{
	return BPF_CORE_READ((struct io_kiocb *)req, cqe.res);
}

/* How @req, with the entry @u, ends. @same_batch: current completes @req, also submitted it, and
 * has not begun another batch since. */
static __always_inline enum async_end uring_how(const struct async_op *u, u64 req, bool same_batch)
{
	if (u->queued && current_flags() & PF_IO_WORKER && uring_worker_request() == req)
		return ENDS_BY_WORKER;
	return same_batch ? ENDS_IN_BATCH : ENDS_LATER;
}

/* @req completes, with @res if the event told. @req 0: the completion belongs to no request, or is
 * not the last of its request. @ctx: its ring, or 0 if its completion has no room there. If current
 * was executing a request, this has stopped by now. */
static __always_inline void uring_completed(u64 req, u64 ctx, bool told, int res)
{
	u64 now = bpf_ktime_get_ns(), task = current_task();
	struct task_state *t = task_lookup(task);
	struct async_op *u;
	u32 at, ring = 0, put = 0;
	bool same;

	if (CONF(reap_rings))
		ring = ring_completes(ctx);
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
	if (!told)
		res = uring_result(req);
	if (u->op.stage && uring_learn_file(&u->op, req, res)) {
		async_waits_keep(at);
		/* number(): then the verifier need not follow each value */
		async_charge(at, number(uring_how(u, req, same)), now);
		if (CONF(reap_rings))
			put = ring && ring_put(at, ring, res, now);
		if (CONF(reap_rings) && !put)
			atomic_add(&live.unreaped, 1);
		if (!put)
			async_keep(at, (int)number(res));
	}
	async_over(u, now);
}

/* How many requests of a batch are looked at. */
enum {
	URING_NEXT = 4,  /* after the last completed one */
	URING_BATCH = 8, /* from the first on */
};

static __always_inline u64 uring_of_node(struct io_wq_work_node *node)
{
	return (u64)node - bpf_core_field_offset(struct io_kiocb, comp_list);
}

/* Whether @req is in ring @ctx, is in progress, and completes with @user_data and @res. */
static __always_inline bool uring_answers(u64 req, u64 ctx, u64 user_data, int res)
{
	struct io_kiocb *r = (void *)req;

	return BPF_CORE_READ(r, cqe.user_data) == user_data && uring_result(req) == res &&
	       (u64)BPF_CORE_READ(r, ctx) == ctx && async_find(req);
}

/*
 * Finds the request whose completion, with @user_data and @res, has no room in ring @ctx. A worker
 * completes its own request. Any other thread completes a batch, in the order of the events: the
 * request is the next after the last completed one, or the first still in progress. 0: not found.
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
