/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * daemon.bpf.h - what a thread of a FUSE daemon does with a request: its turn, from the return of
 * the read that gave the thread the request to the answer. All waits of the thread in a turn are
 * charged to strata; the rest of the turn is its time on the CPU. So the parts add up.
 *
 * A wait in an operation has the strata that the operation gets. A wait outside of operations, or
 * in one that filters reject, is cut at the waking as a sleep in an operation is. Waits for locks
 * and in balance_dirty_pages() count as sleep there.
 *
 * A thread has one turn at most: the next read begins another, no matter who answers the former
 * request. The thread writes its turn, and so does the CPU that switches to or from the thread,
 * never at the same time. A switch may come between two instructions of the thread. So the turn's
 * members are only used while task_state.turn is TURN_NOW: this is written last, and reset first.
 */
#ifndef IOSTRATA_DAEMON_BPF_H
#define IOSTRATA_DAEMON_BPF_H

#include "wait.bpf.h"

/* The turn of @task, or NULL if there is none. The caller has seen that the thread is in a turn. */
static __always_inline struct turn *turn_find(u64 task)
{
	u64 key = task;

	return bpf_map_lookup_elem(&turns, &key);
}

/* @task, in a turn, leaves the CPU: notes its operation's strata so far. For CONF(daemons) see
 * async_index(). */
GLOBAL int turn_off(u64 task)
{
	struct task_state *t = task_lookup(task);
	struct turn *turn;

	if (!CONF(daemons) || !t || !t->op.stage)
		return 0;
	turn = turn_find(task);
	if (!turn)
		return 0;
	for (int i = ST_FS + 1; i < ST_N; i++)
		turn->before[i] = t->op.strata[i];
	return 0;
}

/* Charges a sleep outside of operations to @turn. The sleep began at @from. The rules are those of
 * task_charge_sleep(). */
static __always_inline void turn_charge_sleep(struct turn *turn, const struct task_state *t,
					      u64 from, u64 now)
{
	struct waking wk = {};
	u64 wake = now, slept, cut, unhelped;

	__builtin_memcpy(&wk, &t->waking, offsetof(struct waking, waker));
	barrier(); /* use only the copy from here on */
	if (wk.at != t->wait.woken)
		wake = earlier(from + positive(wk.at - from), now);
	else
		wk.asleep = 0;
	slept = wake - from;
	cut = split_sum(&wk.split);
	turn->waited[ST_RUNQ] += now - wake;
	if (wk.asleep != from || cut > slept) {
		turn->waited[ST_SLEEP] += slept;
		return;
	}
	turn->waited[ST_THROTTLE] += wk.split.throttle;
	turn->waited[ST_TAG] += wk.split.tag;
	turn->waited[ST_QUEUE] += wk.split.queue;
	turn->waited[ST_DEVICE] += wk.split.device;
	turn->waited[ST_COMPLETE] += wk.split.complete;
	turn->waited[ST_RUNQ] += wk.split.runq;
	turn->waited[ST_SERVER] += wk.split.server;
	unhelped = wk.helped ? earlier(wk.unhelped, slept - cut) : slept - cut;
	turn->waited[ST_SLEEP] += unhelped;
	turn->waited[ST_HELPER] += slept - cut - unhelped;
}

/* @task, in a turn, gets a CPU at @now. The wait is charged to the operation, if the thread is in
 * one. */
GLOBAL int turn_on(u64 task, u64 now)
{
	struct task_state *t = task_lookup(task);
	struct turn *turn;
	u64 from;

	if (!CONF(daemons) || !t)
		return 0;
	turn = turn_find(task);
	if (!turn)
		return 0;
	if (t->op.stage) {
		for (int i = ST_FS + 1; i < ST_N; i++)
			turn->waited[i] += t->op.strata[i] - turn->before[i];
		return 0;
	}
	from = t->wait.off;
	if (from && t->wait.asleep)
		turn_charge_sleep(turn, t, from, now);
	else if (from)
		turn->waited[ST_PREEMPT] += positive(now - from);
	cpu_wait_note(t, now);
	return 0;
}

/* Current has read the request in @copy, a struct fuse_copy_state; or read() returned @ret without
 * one. */
static __always_inline int turn_begins(u64 copy, long ret)
{
	u64 task = current_task(), req;
	struct task_state *t;
	struct turn *turn;

	if (!CONF(daemons) || ret <= 0 || !may_have_op(current_flags()))
		return 0;
	req = read_u64(copy + CONF(at.fuse_copy_req));
	t = req ? task_get(task) : NULL;
	if (!t)
		return 0;
	t->turn = TURN_OVER;
	barrier();
	turn = turn_find(task);
	if (!turn) {
		bpf_map_update_elem(&turns, &task, zeroes, BPF_NOEXIST);
		turn = turn_find(task);
	}
	if (!turn)
		return 0;
	__builtin_memset(turn->waited, 0, sizeof(turn->waited));
	turn->req = req;
	turn->since = bpf_ktime_get_ns();
	barrier();
	t->turn = TURN_NOW;
	return 0;
}

/* Ends current's turn, if the turn was for @req. This was sent at @sent. Returns NULL if another
 * thread had read @req. */
static __always_inline struct turn *turn_ends(u64 req, u64 sent)
{
	struct task_state *t = CONF(daemons) ? current_lookup() : NULL;
	struct turn *turn;

	if (!t || t->turn != TURN_NOW)
		return NULL;
	turn = turn_find(current_task());
	if (!turn || turn->req != req)
		return NULL;
	t->turn = TURN_OVER;
	barrier();
	/* an earlier turn is for another request with the same address */
	return turn->since < sent ? NULL : turn;
}

/* The thread @task, with the state @t, ends. */
static __always_inline void turn_forget(struct task_state *t, u64 task)
{
	if (t->turn)
		bpf_map_delete_elem(&turns, &task);
	t->turn = TURN_NONE;
}

/* Adds @turn to the row of its request. The request has these @times. */
static __always_inline void turn_add(struct server_sums *sums, const struct turn *turn,
				     const struct rq_times *times)
{
	u64 cpu = times->c - turn->since;

	for (int i = ST_FS + 1; i < ST_N; i++)
		cpu -= turn->waited[i];
	if ((s64)cpu < 0) /* the clock stepped back */
		return;
	atomic_add(&sums->split, 1);
	atomic_add(&sums->before_read_ns, turn->since - times->d);
	cell_sum(false, sums->daemon_ns[ST_SYSCALL], cpu);
	for (int i = ST_FS + 1; i < ST_N; i++)
		cell_sum(false, sums->daemon_ns[i], turn->waited[i]);
}

#endif
