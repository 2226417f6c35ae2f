/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * who.bpf.h - who an operation's wait was due to: the thread that ended the wait, or ran instead.
 * Each operation keeps its longest such wait, in its entry of op_segments.
 *
 * A wait for a CPU is due to the thread that ran there last for RUN_LEAST_NS, not to one that ran
 * for some microseconds just before the switch. A sleep in balance_dirty_pages() is due to the
 * process that made most pages dirty. A wait for a limit (blk-throttle, iocost ...) is due to
 * nobody: it has the limit, and the cgroup of the thread itself.
 *
 * Writers: the CPU that switches to the operation's thread. A record is made by the thread itself,
 * or by this CPU after the switch.
 */
#ifndef IOSTRATA_WHO_BPF_H
#define IOSTRATA_WHO_BPF_H

#include "completion.bpf.h"
#include "function.bpf.h"
#include "row.bpf.h"
#include "sleep_site.bpf.h"
#include "task.bpf.h"

/* Notes the waker of a thread, and its operation: current, unless an interrupt wakes the thread. */
static __always_inline void waker_note(struct waker *w, u32 level)
{
	struct task_state *t = current_lookup();
	u64 id = level ? 0 : current_pid_tgid();
	u32 stage = t && id ? t->op.stage : 0;

	__builtin_memset(w, 0, sizeof(*w));
	w->pid = id >> 32;
	w->tid = id;
	if (id)
		bpf_get_current_comm(w->comm, sizeof(w->comm));
	if (stage) {
		w->op = t->op.kind;
		w->stratum = stage >> 8;
	}
}

/* Whether a sleep of @ns is long enough to have a who. */
static __always_inline bool who_is_wanted(u64 ns)
{
	return CONF(who) && ns >= WHO_LEAST_NS;
}

static __always_inline struct op_list *op_list_find(const struct op *op)
{
	u32 at = op->segments;

	return CONF(segments) && at ? bpf_map_lookup_elem(&op_segments, &at) : NULL;
}

/* The place for a wait of @ns, if it is the longest of @op so far. Else NULL. */
static __always_inline struct sent_by *who_place(const struct op *op, u64 ns)
{
	struct op_list *list = op_list_find(op);

	if (!list || (list->by.start_ns == op->start && list->by.ns >= ns))
		return NULL;
	list->by.start_ns = op->start;
	list->by.ns = ns;
	return &list->by;
}

/* The sleep that ends by the switch on a CPU. Only this CPU writes it, and no switch interrupts
 * another. CPUs MARK_SLOTS apart share one, and may take each other's. */
struct cpu_sleep {
	u64 at[2];            /* where in the kernel the thread slept, if it is not known why */
	struct waker limited; /* the thread, if it waited for a limit */
};

static struct cpu_sleep cpu_sleeps[MARK_SLOTS] SEC(MORE_VARIABLES);

static __always_inline struct cpu_sleep *cpu_sleep(void)
{
	return &cpu_sleeps[current_cpu() % MARK_SLOTS];
}

/* The kind of somebody for whom a thread sleeps that slept at the addresses @at, as in struct
 * sleep_site. */
static __always_inline u32 who_at(const u64 at[2])
{
	u32 who = site_find(at[0]);

	if (!who)
		who = site_find(at[1]);
	return who && who != SITE_CONNECT ? who : WHO_WAKER;
}

/* Whether the noted thread is the waker. Where the kernel hides the interrupt level, it may be a
 * thread that the waking interrupt has interrupted, which is rarely in an operation. */
static __always_inline bool waker_is_sure(const struct waker *w)
{
	return !CONF(no_level) || w->op;
}

#define WHO_OF_LIMIT(limit) (WHO_LIMIT | (limit) << 8)

/* The kind of waker that ended the sleep of @t at @wake, as in struct sleep_site, by the rules of
 * task_charge_sleep(). @ret_ns: the part of the sleep that was due to this waker. */
static __always_inline u32 who_of_sleep(const struct task_state *t, u64 wake, u64 *ret_ns)
{
	const struct waking *w = &t->waking;
	const struct op *op = &t->op;
	u64 slept = positive(wake - op->at[AT_CHARGED]);
	u32 who;

	*ret_ns = slept;
	if (op->pauses == PAUSES_TAG) {
		who = who_at(cpu_sleep()->at);
		return who > WHO_N ? who : WHO_NONE;
	}
	if (op->pauses)
		return WHO_DIRTIER;
	if (op->locked)
		return op->locked == LOCKED_FROZEN ? WHO_FREEZE : WHO_LOCK;
	if (w->split.throttle) {
		*ret_ns = w->split.throttle;
		return WHO_OF_LIMIT(LIMIT_IO_MAX);
	}
	if (w->helped) {
		*ret_ns = positive(slept - w->unhelped);
		return w->completed ? WHO_NONE : WHO_HELPER;
	}
	if (w->completed) {
		*ret_ns = w->split.server;
		return WHO_SERVER;
	}
	if (op->submitted & SUBMITTED_ASKED)
		return WHO_SERVER;
	if (op->kind == OP_LOCK)
		return WHO_FILE_LOCK;
	who = who_at(cpu_sleep()->at);
	return who == WHO_WAKER && !waker_is_sure(&w->waker) ? WHO_NONE : who;
}

/*
 * The process that made most pages of a device dirty. The kernel lets all writers sleep, those who
 * write much and those who write little. Each stay of a thread in balance_dirty_pages() tells how
 * many pages the thread has made dirty since its last stay. All writers wait for the process that
 * made more than half of the pages: in this window of time, or in the window before if that has
 * more pages.
 */
enum { DIRTY_WINDOW_BITS = 32 /* of a clock in ns: 4.3 s */, DIRTY_SLOTS = 64 };

/* The device @bdi in window @window and in the one before. Threads in balance_dirty_pages() write
 * on any CPU; a lost update makes a figure somewhat smaller. */
struct dirty_device {
	u64 bdi;
	u32 window;
	u32 pid, pid_before; /* who made most pages dirty */
	u32 pad;
	u64 most, most_before; /* pages of this process */
	u64 all, all_before;   /* pages of all */
};

static struct dirty_device dirty_devices[DIRTY_SLOTS] SEC(MORE_VARIABLES);

static __always_inline struct dirty_device *dirty_device(u64 bdi)
{
	return &dirty_devices[bdi / 1024 % DIRTY_SLOTS];
}

/* The window of @now begins for @d: the last one is the one before, if it was. */
static __always_inline void dirty_window(struct dirty_device *d, u64 bdi, u32 window)
{
	bool next = d->bdi == bdi && d->window + 1 == window;

	d->pid_before = next ? d->pid : 0;
	d->most_before = next ? d->most : 0;
	d->all_before = next ? d->all : 0;
	d->pid = d->most = d->all = 0;
	d->bdi = bdi;
	d->window = window;
}

/* Current has made @pages pages of @bdi dirty when its stay begins at @start. It is told again and
 * again during one stay. */
GLOBAL int dirtied_note(u64 bdi, u64 pages, u64 start, u64 now)
{
	struct dirty_device *d = dirty_device(bdi);
	struct dirtied_key key = { .bdi = bdi, .window = now >> DIRTY_WINDOW_BITS };
	struct dirtied *of;

	if (!CONF(who))
		return 0;
	key.pid = current_pid_tgid() >> 32;
	if (d->bdi != bdi || d->window != key.window)
		dirty_window(d, bdi, key.window);
	of = bpf_map_lookup_elem(&dirtied_pages, &key);
	if (!of) {
		bpf_map_update_elem(&dirtied_pages, &key, zeroes, BPF_NOEXIST);
		of = bpf_map_lookup_elem(&dirtied_pages, &key);
	}
	if (!of || (of->start == start && of->dirtier.tid == (u32)current_pid_tgid()))
		return 0;
	waker_note(&of->dirtier, 0);
	of->start = start;
	of->pages += pages;
	d->all += pages;
	if (of->pages > d->most || d->pid == key.pid) {
		d->most = of->pages;
		d->pid = key.pid;
	}
	return 0;
}

/* The process that made most pages of @bdi dirty, or NULL if none made more than half of them. */
static __always_inline struct waker *dirtier_find(u64 bdi, u64 now)
{
	struct dirty_device *d = dirty_device(bdi);
	struct dirtied_key key = { .bdi = bdi, .window = d->window };
	bool before = d->all_before > d->all;
	struct dirtied *of;

	if (d->bdi != bdi || (u32)(now >> DIRTY_WINDOW_BITS) - d->window > 1)
		return NULL;
	key.window -= before;
	key.pid = before ? d->pid_before : d->pid;
	if (2 * (before ? d->most_before : d->most) <= (before ? d->all_before : d->all))
		return NULL;
	of = bpf_map_lookup_elem(&dirtied_pages, &key);
	return of && of->dirtier.tid ? &of->dirtier : NULL;
}

/* Adds a wait of @ns in @op to the row of @by, to whom it was due as @who says. */
static __always_inline void who_row_add(const struct op *op, const struct waker *by, u32 who,
					u64 ns)
{
	struct who_key key = { .pid = by->pid, .op = op->kind, .who = who, .limit = by->limit };
	bool even = !live.epoch;
	struct who_sums *sums;

	if (op->progress == OP_SLEEPS || op->progress == OP_AWAITS) /* it may be none */
		return;
	__builtin_memcpy(key.comm, by->comm, sizeof(key.comm));
	sums = ROWS_LOOKUP(even, who_rows, &key);
	if (!sums) {
		if (!ROWS_INSERT(even, who_rows, &key))
			row_made(&live.who_rows_made[!even], CONF(who_rows_limit));
		sums = ROWS_LOOKUP(even, who_rows, &key);
	}
	if (!sums) {
		count_lost(LOST_MAP_FULL);
		return;
	}
	atomic_add(&sums->count, 1);
	atomic_add(&sums->total_ns, ns);
	cell_max(&sums->max_ns, ns);
}

/* Whether a signal for @task is pending: then the holder of a file lock did not end its sleep. */
static __always_inline bool signal_has_come(const struct task_struct *task)
{
	u64 blocked = BPF_CORE_READ(task, blocked.sig[0]);
	u64 own = BPF_CORE_READ(task, pending.signal.sig[0]);
	u64 shared = BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]);

	return (own | shared) & ~blocked;
}

/* The thread of @t, which waited for @limit. */
static __always_inline const struct waker *limited_thread(const struct task_state *t, u32 limit)
{
	struct waker *w = &cpu_sleep()->limited;
	u64 task = t->task; /* local, or CO-RE would search the kernel for it */

	__builtin_memset(w, 0, sizeof(*w));
	w->pid = t->id >> 32;
	w->tid = t->id;
	w->limit = limit;
	w->cgroup = BPF_CORE_READ((struct task_struct *)task, cgroups, dfl_cgrp, kn, id);
	return w;
}

/* Notes who ended the sleep of @t at @wake, if no wait was longer. */
GLOBAL int who_of_sleep_note(struct task_state *t, u64 wake)
{
	const struct waker *thread = NULL;
	struct sent_by *by;
	u32 who;
	u64 ns;

	if (!t || !CONF(who))
		return 0;
	who = who_of_sleep(t, wake, &ns);
	if (!who || ns < WHO_LEAST_NS)
		return 0;
	if (who == WHO_DIRTIER)
		thread = dirtier_find(t->op.lock, wake);
	else if (who < WHO_N)
		thread = &t->waking.waker;
	if (!thread && who == WHO_DIRTIER)
		who = WHO_OF_LIMIT(LIMIT_DIRTY);
	if (who > WHO_N) {
		thread = limited_thread(t, who >> 8);
		who = WHO_LIMIT;
	}
	if (!thread || !thread->tid)
		return 0;
	if (CONF(who_rows))
		who_row_add(&t->op, thread,
			    who == WHO_FILE_LOCK && signal_has_come((void *)t->task) ? WHO_WAKER
										     : who,
			    ns);
	by = who_place(&t->op, ns);
	if (!by)
		return 0;
	by->thread = *thread;
	by->thread.who = who;
	return 0;
}

/* The same; @p is the thread, whose stack has not changed since it left its CPU. */
static __always_inline void who_note(struct task_state *t, struct task_struct *p, u64 wake)
{
	struct cpu_sleep *s = cpu_sleep();
	const struct waking *w = &t->waking;
	u8 pauses = t->op.pauses;

	if (!w->waker.tid && !pauses && !w->split.throttle)
		return;
	if (pauses == PAUSES_TAG || (!pauses && !t->op.locked && !w->helped && !w->completed))
		bpf_get_task_stack(p, s->at, sizeof(s->at), 0);
	who_of_sleep_note(t, wake);
}

enum { RUN_LEAST_NS = 500000 };

/* The last thread that ran on a CPU for RUN_LEAST_NS. Only switches on this CPU write it, and they
 * come one after the other. CPUs MARK_SLOTS apart share one, and may name each other's threads. */
struct cpu_run {
	u64 since; /* the last switch */
	u64 to;    /* the last run of RUN_LEAST_NS ended */
	struct waker thread;
};

static struct cpu_run cpu_runs[MARK_SLOTS] SEC(MORE_VARIABLES);

/* Current has run until @now for RUN_LEAST_NS, or was the idle thread. */
GLOBAL int cpu_run_note(u64 now)
{
	struct cpu_run *r = &cpu_runs[current_cpu() % MARK_SLOTS];

	if (!CONF(who) || !low_half(bpf_get_current_pid_tgid()))
		return 0;
	r->to = now;
	waker_note(&r->thread, 0);
	return 0;
}

/* Current leaves its CPU at @now. */
static __always_inline void cpu_run_ends(u64 now)
{
	struct cpu_run *r = &cpu_runs[current_cpu() % MARK_SLOTS];

	if (!CONF(who))
		return;
	if (now - r->since >= RUN_LEAST_NS)
		cpu_run_note(now);
	r->since = now;
}

/* @t waited until @now for this CPU. */
GLOBAL int who_of_cpu_note(struct task_state *t, u64 now)
{
	struct cpu_run *r = &cpu_runs[current_cpu() % MARK_SLOTS];
	struct sent_by *by;
	u64 ns;

	if (!t || !CONF(who) || r->to <= t->op.at[AT_CHARGED] || !r->thread.tid)
		return 0;
	ns = now - t->op.at[AT_CHARGED];
	if (CONF(who_rows))
		who_row_add(&t->op, &r->thread, WHO_CPU, ns);
	by = who_place(&t->op, ns);
	if (!by)
		return 0;
	by->thread = r->thread;
	by->thread.who = WHO_CPU;
	return 0;
}

/* @t has waited for a CPU since the time up to which all is charged. */
static __always_inline void who_ran_note(struct task_state *t, u64 now)
{
	if (CONF(who) && (s64)(now - t->op.at[AT_CHARGED]) >= CPU_TAKEN_LEAST_NS)
		who_of_cpu_note(t, now);
}

#endif
