/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * async_done.bpf.h - the completion of a request of io_uring or libaio, which ends its operation
 * (see async.bpf.h).
 */
#ifndef IOSTRATA_ASYNC_DONE_BPF_H
#define IOSTRATA_ASYNC_DONE_BPF_H

#include "async.bpf.h"

/* What a request did from when it was parked until its last bio was submitted. If that is vague,
 * its thread was about to submit it. The mask is for the verifier: ST_SYSCALL to ST_FS fit. */
static __always_inline u32 async_before_bio(const struct async_op *u)
{
	if (u->queued)
		return ST_HELPER;
	return u->vague ? u->op.layer & 3 : ST_SLEEP;
}

/* Charges the time since a request was parked by the times of its last bio, until that was done.
 * One that blk-throttle kept back was so since it was submitted. */
static __always_inline void async_charge_bio(struct op *op, const struct rq_times *c, u32 before)
{
	op_charge(op, c->held ? before : ST_THROTTLE, c->held ? c->held : c->q);
	op_charge(op, ST_DEVICE, c->q);
	op_charge(op, ST_TAG, c->g);
	op_charge(op, ST_QUEUE, c->d);
	op_charge(op, ST_DEVICE, c->c);
}

/* Charges the rest of a request, which current, a worker, has executed, by the waits of that. */
static __always_inline void async_charge_worker(struct op *op, u64 now)
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

/* How a request ended. */
enum async_end {
	ENDS_LATER,	/* its thread has gone on to something else */
	ENDS_AT_ONCE,	/* its thread has not */
	ENDS_IN_BATCH,	/* along with those submitted beside it */
	ENDS_BY_WORKER, /* current, which executed it, or what remained to do after its bios */
};

/*
 * Charges the rest of a request, which completes now. If it is vague when its thread stopped to
 * execute it (a thread that polls for requests or for their completion does not show it), and the
 * request waits for its own bios, that was when it had submitted the last of them.
 */
static __always_inline void async_charge(struct async_op *u, enum async_end how, u64 now)
{
	bool bios, waits, worked = how == ENDS_BY_WORKER && u->queued;
	struct done last = u->last;
	struct op *op = &u->op;

	barrier(); /* from now on the copy */
	bios = last.whose && last.check == done_check(&last) && last.times.c >= op->start &&
	       (!(last.whose & DONE_EARLIER) || (op->acts == OP_READ && !op->file.direct));
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
		op->waited_read |= !!(last.whose & DONE_READ);
		async_charge_bio(op, &last.times, async_before_bio(u));
		worked = how == ENDS_BY_WORKER;
	}
	if (worked) {
		async_charge_worker(op, now);
	} else if (waits) {
		op_charge(op, ST_COMPLETE, now);
	} else if (u->queued) {
		op_charge(op, ST_HELPER, now);
	} else if (how == ENDS_IN_BATCH) {
		op_charge(op, ST_COMPLETE, now);
	} else if (how == ENDS_AT_ONCE) {
		op_charge(op, ST_SYSCALL, now);
	} else {
		/* a read that nobody saw wait for its own bio waited for that of another */
		op->waited_read |= op->acts == OP_READ && !u->linked && !op->file.direct;
		op_charge(op, ST_SLEEP, now);
	}
}

/* Keeps the request in slot @at, whose time is charged, and which returns @ret. */
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
	end.cpu = op->strata; /* it begins with them */
	end.ret = ret;
	end.acts = op->acts;
	end.total = op->at[AT_CHARGED] - op->start;
	end.who = CONF(op_owner) ? &u->who : NULL;
	end.what = ROW_WHAT(op->call, (u32)op->kind, 0);
	op_keep(op, &end, &slot, false);
	return 0;
}

/* The end of the request in slot @at, with entry @u, which returns @ret. */
static __always_inline void async_ends(struct async_op *u, u32 at, enum async_end how, long ret,
				       u64 now)
{
	async_charge(u, number(how), now); /* to the verifier it is all one how it came to this */
	async_keep(at, ret);
}

#endif
