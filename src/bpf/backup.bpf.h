/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * backup.bpf.h - decides which of two programs on a tracepoint handles an event. The kernel may
 * refuse to run the first.
 */
#ifndef IOSTRATA_BACKUP_BPF_H
#define IOSTRATA_BACKUP_BPF_H

#include "state.bpf.h"

/* Tracepoints with backups, whose programs must not handle an event twice. */
enum block_event {
	EV_BIO_QUEUE = 1,
	EV_GETRQ,
	EV_BACKMERGE,
	EV_FRONTMERGE,
	EV_RQ_MERGE,
	EV_SPLIT,
	EV_ISSUE,
	EV_REQUEUE,
	EV_COMPLETE,
	EV_BIO_COMPLETE,
	EV_FORK,
	EV_EXIT,
	EV_URING_SUBMIT,
	EV_URING_FAILED,
	EV_URING_LINK,
	EV_URING_QUEUE,
	EV_URING_WAIT,
	EV_URING_COMPLETE,
	EV_URING_OVERFLOW,
};

/* Notes of the events that the first program of a thread has handled; see first_to_see(). */
struct handled {
	u64 obj[2];
	u8 event[2]; /* 0: none. The second is for an interrupt between the two programs. */
	u32 tid;
};
static struct handled handled[HANDLED_SLOTS + IDLE_SLOTS] SEC(MORE_VARIABLES);

/*
 * Whether this program must handle the event @ev of @obj. Where programs can be preempted, each has
 * a backup that runs after it, with the cookie 1. The first program leaves a note under its thread.
 * The backup runs in the same thread. A backup without a note knows that the first program was
 * refused.
 */
static __always_inline bool first_to_see(void *ctx, enum block_event ev, const void *obj)
{
	struct handled *h;
	u32 tid, slot, i;

	if (!CONF(backups))
		return true;
	tid = bpf_get_current_pid_tgid();
	/* idle threads, one on each CPU, are all thread 0 */
	slot = tid ? tid % HANDLED_SLOTS : HANDLED_SLOTS + current_cpu() % IDLE_SLOTS;
	h = &handled[slot];
	if (!bpf_get_attach_cookie(ctx)) {
		if (h->tid != tid)
			h->event[0] = h->event[1] = 0;
		h->tid = tid;
		i = h->event[0] ? 1 : 0;
		h->obj[i] = (u64)obj;
		h->event[i] = ev;
		return true;
	}
	for (i = 0; i < 2; i++) {
		if (h->tid == tid && h->event[i] == ev && h->obj[i] == (u64)obj) {
			h->event[i] = 0;
			return false;
		}
	}
	return true;
}

#endif
