/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring_done.bpf.h - the completion of a request of io_uring, which ends its operation (see
 * uring.bpf.h), and the programs on io_uring's tracepoints.
 */
#ifndef IOSTRATA_URING_DONE_BPF_H
#define IOSTRATA_URING_DONE_BPF_H

#include "backup.bpf.h"
#include "uring.bpf.h"

/* What a request did from when it was parked until its last bio was submitted. If that is vague,
 * its thread was about to submit it. The mask is for the verifier: ST_SYSCALL to ST_FS fit. */
static __always_inline u32 uring_before_bio(const struct uring_op *u)
{
	if (u->queued)
		return ST_HELPER;
	return u->vague ? u->op.layer & 3 : ST_SLEEP;
}

/* Charges the time since a request was parked by the times of its last bio. */
static __always_inline void uring_charge_bio(struct op *op, const struct rq_times *c, u32 before,
					     u64 now)
{
	op_charge(op, before, c->held ? c->held : c->q);
	op_charge(op, ST_DEVICE, c->q);
	op_charge(op, ST_TAG, c->g);
	op_charge(op, ST_QUEUE, c->d);
	op_charge(op, ST_DEVICE, c->c);
	op_charge(op, ST_COMPLETE, now);
}

/* Charges the time since a request was left to a worker, which is current, by that one's waits. */
static __always_inline void uring_charge_worker(struct op *op, u64 now)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct helper *h = bpf_map_lookup_elem(&helpers, &tid);
	struct waking w = {};

	if (h)
		helper_split(h, &w, op->at[AT_CHARGED], now);
	split_charge(op, &w.split, now);
	op->waited_read |= w.is_read;
	op_charge(op, ST_HELPER, now);
}

/*
 * Charges the rest of @req, which completes now. If it is vague when its thread stopped to execute
 * it (a thread that polls for requests or for their completion does not show it), and the request
 * waits for its own bios, that was when it had submitted the last of them.
 */
static __always_inline void uring_charge(struct uring_op *u, u64 req, bool same_batch, u64 now)
{
	bool bios, waits;
	struct done last = u->last;
	struct op *op = &u->op;

	barrier(); /* from now on the copy */
	bios = last.whose && last.check == done_check(&last) && last.times.c >= op->start;
	waits = bios && (op->file.direct || u->polls || !same_batch);
	op->own_reads |= u->worker_reads;
	if (u->worker_bios) {
		op->requests = (op->submitted ? op->requests : 0) + u->worker_bios;
		op->submitted = 1;
	}
	if (!op->settled || !u->vague || !waits)
		op_settle(op, op->layer, u->parked);
	if (u->queued && current_flags() & PF_IO_WORKER && uring_worker_request() == req) {
		uring_charge_worker(op, now);
	} else if (waits) {
		op->waited_read |= !!(last.whose & DONE_READ);
		uring_charge_bio(op, &last.times, uring_before_bio(u), now);
	} else if (u->queued) {
		op_charge(op, ST_HELPER, now);
	} else if (same_batch) {
		op_charge(op, ST_COMPLETE, now);
	} else {
		/* a read that nobody saw wait for its own bio waited for that of another */
		op->waited_read |= op->acts == OP_READ && !u->linked && !op->file.direct;
		op_charge(op, ST_SLEEP, now);
	}
}

static __always_inline int uring_result(u64 req)
{
	return BPF_CORE_READ((struct io_kiocb *)req, cqe.res);
}

/* The end of @req, whose entry is @u. */
static __always_inline void uring_ends(struct uring_op *u, u64 req, bool same_batch, u64 now)
{
	struct op *op = &u->op;
	struct op_end end = {};
	u8 slot = op->call;

	if (!uring_learn_file(op, req, uring_result(req)))
		return;
	uring_charge(u, req, same_batch, now);
	/* read (again) from here on: to the verifier it is all one, whatever came before */
	end.cpu = op->strata; /* it begins with them */
	end.ret = uring_result(req);
	end.acts = *(volatile u8 *)&op->acts;
	end.total = *(volatile u64 *)&op->at[AT_CHARGED] - op->start;
	end.who = CONF(op_owner) ? &u->who : NULL;
	end.what = ROW_WHAT(op->call, OP_URING, 0);
	op_keep(op, &end, &slot, false);
}

/* @req completes; 0: a completion before the last of a request, or of none. What its thread
 * executed before it completes requests is over. */
static __always_inline void uring_completed(u64 req)
{
	u64 now = bpf_ktime_get_ns(), task = current_task();
	struct task_state *t = task_lookup(task);
	struct uring_op *u;

	if (uring_executes(t))
		uring_park(t, now, true);
	if (t)
		t->uring_ends = 1;
	if (t && t->uring == req)
		t->uring = 0;
	u = uring_find(req);
	if (!u)
		return;
	if (u->op.stage)
		uring_ends(u, req, t && u->task == task && u->batch == t->uring_batch, now);
	bpf_map_delete_elem(&uring_ops, &req);
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
		uring_linked(ctx[0], ctx[1]);
	return 0;
}

SEC("?tp_btf/io_uring_queue_async_work")
int on_uring_queue(u64 *ctx)
{
	if (first_to_see(ctx, EV_URING_QUEUE, (void *)ctx[0]))
		uring_queued(ctx[0]);
	return 0;
}

SEC("?tp_btf/io_uring_cqring_wait")
int on_uring_wait(u64 *ctx)
{
	if (first_to_see(ctx, EV_URING_WAIT, (void *)ctx[0]))
		uring_batch_ends();
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

#endif
