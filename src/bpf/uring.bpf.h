/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring.bpf.h - an operation of io_uring: a request from its submission to its completion, whoever
 * works on it.
 *
 * While the thread that submits a request executes it, the operation is that thread's, as that of a
 * call would be, and its time is charged in the same way. When the thread goes on to something else
 * (the next request, waiting for completions, the end of io_uring_enter()) or leaves the request to
 * a worker, the operation is parked in uring_ops. What happened since then is told by the times of
 * its own last bio, or by the waits of the worker, and is charged when the request completes.
 *
 * Who writes what. An operation has one owner at a time: the thread that executes it, or, while it
 * is parked, whoever resumes, queues or completes it, which io_uring orders. A worker that submits
 * bios writes the members for that, and completions of bios, on any CPU, write @last.
 *
 * Its end is in uring_done.bpf.h.
 */
#ifndef IOSTRATA_URING_BPF_H
#define IOSTRATA_URING_BPF_H

#include "uring_bio.bpf.h"
#include "wait.bpf.h"

/* By opcode: the kind of a call that does the same; 0: it is no operation on files. */
const volatile unsigned char uring_kinds[URING_OPS] = {};

#define REQ_F_CQE_SKIP       (1 << 6) /* IOSQE_CQE_SKIP_SUCCESS_BIT */
#define IORING_SETUP_IOPOLL  1
#define SPLICE_F_FD_IN_FIXED (1U << 31)

/* Whether @t executes a request. */
static __always_inline bool uring_executes(const struct task_state *t)
{
	return t && t->op.stage && t->op.kind == OP_URING;
}

/* Current has stopped to execute its request; @vague: at some time before now. */
static __always_inline void uring_park(struct task_state *t, u64 now, bool vague)
{
	struct uring_op *u = uring_find(t->uring);
	u32 stage = t->op.stage;

	t->op.stage = 0;
	barrier();
	if (!u) {
		count_lost(LOST_UNMATCHED_START);
		return;
	}
	u->op = t->op;
	u->parked = now;
	u->batch = t->uring_batch;
	u->vague = vague;
	u->op.stage = stage;
}

/* Current is in no operation, and has submitted a bio. True: it polls, and that is a further one
 * for its last request. */
static __always_inline bool uring_bio_follows(struct task_state *t, u64 bio)
{
	struct uring_op *u = t->uring_polls && t->uring ? uring_find(t->uring) : NULL;

	/* the request may be another by now, and so may the thread whose slot this is */
	if (!u || !u->op.stage || u->task != t->task)
		return false;
	op_settle(&u->op, u->op.layer, bpf_ktime_get_ns());
	u->op.requests++;
	uring_bio_add(bio, t->uring);
	return true;
}

/* Current, which has called io_uring_enter(), leaves it, or waits for completions. */
GLOBAL int uring_batch_ends(void)
{
	struct task_state *t = CONF(uring) ? current_lookup() : NULL;

	if (uring_executes(t))
		uring_park(t, bpf_ktime_get_ns(), false);
	if (t)
		t->uring_batch++;
	return 0;
}

/* Whose request it is: current's. Threads of io_uring are known by their process's name. */
static __always_inline void uring_set_owner(struct sent_who *who)
{
	struct task_struct *task = (void *)current_task();

	if (!CONF(op_owner))
		return;
	who_set(who, NULL);
	if (CONF(by) == BY_PID || current_flags() & PF_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&who->comm, task, group_leader, comm);
}

/* Notes what only records show. */
static __always_inline void uring_note_range(struct op *op, u64 req)
{
	struct io_rw *rw = (void *)req;
	s64 pos;

	op->fd = -1;
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	if (op->acts != OP_READ && op->acts != OP_WRITE)
		return;
	op->len = BPF_CORE_READ(rw, len);
	pos = BPF_CORE_READ(rw, kiocb.ki_pos);
	if (pos >= 0)
		op->offset = pos;
}

/* Sets the file of an operation; false: it is not traced. NULL: it has none, or none is known. */
static __always_inline bool uring_set_file(struct op *op, struct file *file)
{
	struct open_file f;

	if (!file)
		return !file_filtered();
	f = file_look(file, false);
	if (!mode_wanted(f.mode) || !file_learn(&op->file, f, false))
		return false;
	op->file.direct = !!(BPF_CORE_READ(file, f_flags) & O_DIRECT);
	return true;
}

/* The file behind a descriptor that is not among a ring's own ones; those have no name here. */
static __always_inline struct file *uring_fd(u32 fd, bool fixed)
{
	return fixed ? NULL : current_file(fd, false);
}

/*
 * Looks which file @req is for, which has begun to be executed; false: it is not traced. What is
 * closed was looked at before; what is opened is known when it returns @ret.
 */
static __always_inline bool uring_learn_file(struct op *op, u64 req, int ret)
{
	struct io_splice *splice = (void *)req;
	struct io_open *open = (void *)req;
	struct file *file = BPF_CORE_READ((struct io_kiocb *)req, file);

	if (op->file.file || op->acts == OP_CLOSE)
		return true;
	if (op->acts == OP_OPEN)
		file = uring_fd(ret, ret < 0 || BPF_CORE_READ(open, file_slot));
	else if (op->acts == OP_COPY && file && !mode_is_storage(file_look(file, false).mode))
		file = uring_fd(BPF_CORE_READ(splice, splice_fd_in),
				BPF_CORE_READ(splice, flags) & SPLICE_F_FD_IN_FIXED);
	return uring_set_file(op, file);
}

/* Current, which executes a request, has submitted @bio. This may be the end of its work, so all
 * time until now is charged; a thread that polls goes on to that without being seen. */
static __always_inline void uring_executed_bio(struct task_state *t, u64 bio)
{
	op_change_layer(&t->op, t->op.layer);
	uring_bio_add(bio, t->uring);
	if (CONF(by) == BY_FILE || CONF(sent_requests))
		uring_learn_file(&t->op, t->uring, 0);
	if (t->uring_polls)
		uring_park(t, t->op.at[AT_CHARGED], true);
}

/* Current, a worker or a thread that submitted requests, has submitted @bio; false: for none of
 * these. */
GLOBAL int uring_bio_queued(u64 bio, u32 is_read)
{
	struct task_state *t;

	if (!CONF(uring))
		return 0;
	t = current_lookup();
	if (!t)
		return uring_worker_bio(bio, is_read);
	if (!t->op.stage)
		return uring_bio_follows(t, bio);
	if (t->op.kind == OP_URING)
		uring_executed_bio(t, bio);
	return 0;
}

/* Whether who submits @req polls for its completion. */
static __always_inline bool uring_ring_polls(u64 req)
{
	return BPF_CORE_READ((struct io_kiocb *)req, ctx, flags) & IORING_SETUP_IOPOLL;
}

/* An entry for @req, all 0; NULL: no room. One that is left at this address is of a request whose
 * end was not seen. */
static __always_inline struct uring_op *uring_new(u64 req)
{
	struct uring_op *u;

	if (bpf_map_update_elem(&uring_ops, &req, zeroes, BPF_NOEXIST)) {
		u = uring_find(req);
		count_lost(u ? LOST_UNMATCHED_START : LOST_MAP_FULL);
		if (!u || bpf_map_update_elem(&uring_ops, &req, zeroes, BPF_EXIST))
			return NULL;
	}
	return uring_find(req);
}

/* Current submits @req, which has @opcode and does what calls of kind @acts do. */
static __always_inline void uring_begins(u64 req, u32 opcode, u8 acts)
{
	u64 task = current_task(), now = bpf_ktime_get_ns();
	struct io_close *close = (void *)req;
	struct task_state *t = task_get(task);
	struct uring_op *u;

	if (!t)
		return;
	row_clear(&t->op.file);
	if (acts == OP_CLOSE && !uring_set_file(&t->op, uring_fd(BPF_CORE_READ(close, fd),
								 BPF_CORE_READ(close, file_slot))))
		return;
	u = uring_new(req);
	if (!u)
		return;
	u->task = task;
	uring_set_owner(&u->who);
	if (t->uring_ends) {
		t->uring_ends = 0;
		t->uring_batch++;
	}
	t->op.acts = acts;
	t->op.call = CALL_URING | opcode;
	if (CONF(records) || CONF(sent_ops))
		uring_note_range(&t->op, req);
	t->uring = req;
	t->uring_polls = current_flags() & PF_IO_WORKER || uring_ring_polls(req);
	u->polls = t->uring_polls;
	op_start(&t->op, OP_URING, OP_ASYNC, now);
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

	if (failed && uring_find((u64)req))
		return;
	if (uring_executes(t))
		uring_park(t, bpf_ktime_get_ns(), false);
	if (!acts || !current_wanted(bpf_get_current_pid_tgid()))
		return;
	if (!failed && uring_flags(req) & REQ_F_CQE_SKIP)
		count_lost(LOST_UNMATCHED_START);
	else
		uring_begins((u64)req, opcode, acts);
}

/* @req, which current has just submitted, comes after others, of which @head is the first. That is
 * what current executes after it has submitted the last of them. */
static __always_inline void uring_linked(u64 req, u64 head)
{
	struct task_state *t = current_lookup();
	struct uring_op *u = uring_find(req);
	u32 stage;

	if (u)
		u->linked = 1;
	if (uring_executes(t))
		uring_park(t, bpf_ktime_get_ns(), false);
	u = uring_find(head);
	if (!t || t->op.stage || !u || !u->op.stage)
		return;
	stage = u->op.stage;
	u->op.stage = 0;
	t->op = u->op;
	t->uring = head;
	barrier();
	t->op.stage = stage;
}

/* @req is left to a worker. */
static __always_inline void uring_queued(u64 req)
{
	struct task_state *t = current_lookup();
	struct uring_op *u = uring_find(req);
	u64 now = bpf_ktime_get_ns();

	if (!u)
		return;
	if (uring_executes(t) && t->uring == req) {
		uring_park(t, now, false);
	} else if (u->op.stage) {
		/* nobody saw who took it up again */
		op_settle(&u->op, u->op.layer, u->parked);
		op_charge(&u->op, ST_SLEEP, now);
	}
	u->parked = now;
	u->queued = 1;
}

#endif
