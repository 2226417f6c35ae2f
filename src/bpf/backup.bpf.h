/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * backup.bpf.h - which of the two programs on a block tracepoint handles an event, where the first
 * may be refused.
 */
#ifndef IOSTRATA_BACKUP_BPF_H
#define IOSTRATA_BACKUP_BPF_H

#include "maps.bpf.h"

/* Tracepoints whose programs have backups, and must not handle an event twice. */
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
};

/* The places that thread @tid may have its notes in, unless it is idle. */
static __always_inline struct handled *handled_at(u32 tid, u32 i)
{
	return &handled[(tid + i * (HANDLED_SLOTS / HANDLED_TRIES)) % HANDLED_SLOTS];
}

/* The place of thread @tid, current; NULL: it has none. */
static __always_inline struct handled *handled_find(u32 tid)
{
	/* idle threads, one on each CPU, are all thread 0 */
	if (!tid)
		return &handled[HANDLED_SLOTS + current_cpu() % IDLE_SLOTS];
	for (u32 i = 0; i < HANDLED_TRIES; i++)
		if (handled_at(tid, i)->tid == tid)
			return handled_at(tid, i);
	return NULL;
}

/* Gives thread @tid a place: if possible that of a thread that is not between its programs now. */
static __always_inline struct handled *handled_take(u32 tid)
{
	struct handled *h;

	for (u32 i = 0; i < HANDLED_TRIES; i++) {
		h = handled_at(tid, i);
		if (!h->event[0] && !h->event[1])
			break;
	}
	h->event[0] = h->event[1] = 0;
	h->tid = tid;
	return h;
}

/*
 * Whether this program must handle the event @ev of @obj. Where programs can be preempted, each has
 * a backup after it, with the cookie 1. The first leaves a note under the thread that both run in;
 * a backup that finds no note knows that the first was refused. A backup that is refused leaves the
 * note: it is then that of the next such event, so that it stands for no event twice.
 */
static __always_inline bool first_to_see(void *ctx, enum block_event ev, const void *obj)
{
	bool is_first;
	struct handled *h;
	u32 tid, i;

	if (!CONF(backups))
		return true;
	tid = bpf_get_current_pid_tgid();
	is_first = !bpf_get_attach_cookie(ctx);
	h = handled_find(tid);
	if (!h && !is_first)
		return true;
	if (!h)
		h = handled_take(tid);
	for (i = 0; i < 2; i++)
		if (h->event[i] == ev && h->obj[i] == (u64)obj)
			break;
	if (!is_first) {
		if (i < 2)
			h->event[i] = 0;
		return i == 2;
	}
	if (i == 2)
		i = h->event[0] ? 1 : 0;
	h->obj[i] = (u64)obj;
	h->event[i] = ev;
	return true;
}

#endif
