/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring_done.bpf.h - the completion of a request of io_uring, which ends its operation (see
 * uring.bpf.h), and the programs on io_uring's tracepoints.
 */
#ifndef IOSTRATA_URING_DONE_BPF_H
#define IOSTRATA_URING_DONE_BPF_H

#include "backup.bpf.h"
#include "async_done.bpf.h"
#include "uring.bpf.h"

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
		req = i || !(current_flags() & PF_IO_WORKER) ? uring_of_node(node) :
							       uring_worker_request();
		if (uring_answers(req, ctx, user_data, res))
			return req;
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

/* The programs; thin, as those of trace.bpf.c. */

SEC("?tp_btf/io_uring_submit_req")
int on_uring_submit(u64 *ctx)
{
	struct io_kiocb *req = (void *)ctx[0];

	if (first_to_see(ctx, EV_URING_SUBMIT, req))
		uring_submitted(req, false);
	return 0;
}

/* The same before 6.4. */
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

SEC("?tp_btf/io_uring_cqring_wait")
int on_uring_wait(u64 *ctx)
{
	if (first_to_see(ctx, EV_URING_WAIT, (void *)ctx[0]))
		async_batch_ends();
	return 0;
}

/* io_uring_complete(ring, req, ...) */
SEC("?tp_btf/io_uring_complete")
int on_uring_complete(u64 *ctx)
{
	if (first_to_see(ctx, EV_URING_COMPLETE, (void *)ctx[1]))
		uring_completed(ctx[1]);
	return 0;
}

/* io_uring_cqe_overflow(ring, user_data, res, flags, entry): later kernels raise it instead of
 * io_uring_complete, others after that. */
SEC("?tp_btf/io_uring_cqe_overflow")
int on_uring_overflow(u64 *ctx)
{
	u64 req;

	if (!first_to_see(ctx, EV_URING_OVERFLOW, (void *)ctx[4]))
		return 0;
	req = uring_overflown(ctx[0], ctx[1], ctx[2]);
	if (req)
		uring_completed(req);
	return 0;
}

#endif
