/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * completion.bpf.h - a completion leaves a mark for the threads that it wakes itself, and a note
 * for its submitter: another thread may wake the submitter. Knows nothing of rows.
 */
#ifndef IOSTRATA_COMPLETION_BPF_H
#define IOSTRATA_COMPLETION_BPF_H

#include "state.bpf.h"

/* The longest duration of a completion, if no event tells its end. Waiters are woken when all pages
 * of a bio, or of all bios of a request, are done. A hypervisor may take the CPU meanwhile, so the
 * submitter of the request may be woken late (REQUEST_END_LATE_NS). */
enum { BIO_END_NS = 50000, REQUEST_END_NS = 4000000, REQUEST_END_LATE_NS = 100000000 };

/* The number of the mark of @cpu and @level. An interrupted level keeps its own mark. */
static __always_inline u64 mark_number(u64 cpu, u32 level)
{
	/* 0, 1 or 2, without branches: the verifier would follow both sides of each to the end */
	u32 soft = (0 - (u64)(level & SOFT_INTERRUPT)) >> 63;
	u32 hard = (0 - (u64)(level & HARD_INTERRUPT)) >> 63;

	barrier_var(soft);
	barrier_var(hard);
	return cpu % MARK_SLOTS * MARK_LEVELS + ((hard << 1 | (soft & ~hard)) & 3);
}

static __always_inline struct mark *mark_at(u64 nr)
{
	barrier_var(nr); /* the compiler knows the limit of @nr, the verifier of 6.1 does not */
	return &marks[nr % (MARK_SLOTS * MARK_LEVELS)];
}

static __always_inline struct mark *mark_here(u64 cpu, u32 level)
{
	return mark_at(mark_number(cpu, level));
}

/* The mark that current left on this CPU at @level, or NULL if there is none. Its completion may be
 * over. */
static __always_inline struct mark *mark_of_current(u32 level)
{
	u64 cpu = current_cpu();
	struct mark *m = mark_here(cpu, level);

	if (!m->times.c || m->cpu != cpu || m->pid != (u32)bpf_get_current_pid_tgid())
		return NULL;
	return m;
}

/*
 * The mark of the completion to which the running code belongs at @now, or NULL. No event tells
 * when the completion of a bio without a request is over. For requests, block_io_done does since
 * 6.5. The same interrupt level on top of the same thread may be another interrupt, and a thread
 * that completes bios goes on to other work. So a mark is valid for a limited time only.
 */
static __always_inline struct mark *mark_current(u64 now, u32 level)
{
	struct mark *m = mark_of_current(level);

	return m && now <= m->until ? m : NULL;
}

/* Whether this CPU is, at any level, in the completion of the request that was done at @done. */
static __always_inline bool mark_is_of(u64 done, u64 now)
{
	struct mark *m;

	for (u32 i = 0; i < MARK_LEVELS - 1; i++) {
		m = mark_at(current_cpu() * MARK_LEVELS + i);
		if (done && m->times.c == done && now <= m->until)
			return true;
	}
	return false;
}

static __always_inline void mark_set(const struct rq_times *times, u32 tid, bool is_read, u64 until,
				     u32 level)
{
	u64 cpu = current_cpu();
	struct mark *m = mark_here(cpu, level);

	m->times = *times;
	m->until = until;
	m->cpu = cpu;
	m->pid = bpf_get_current_pid_tgid();
	m->tid = tid;
	m->is_read = is_read;
}

/* The completion at @level is over. A completion that it interrupted is not. */
static __always_inline void mark_clear(u32 level)
{
	mark_here(current_cpu(), level)->times.c = 0;
}

/* The completions at all levels are over: a CPU that switches threads is in no interrupt. */
static __always_inline void marks_clear(void)
{
	u64 slot = current_cpu() % MARK_SLOTS;

	for (int i = 0; i < MARK_LEVELS; i++)
		marks[slot * MARK_LEVELS + i].times.c = 0;
}

static __always_inline u64 done_check(const struct done *d)
{
	const struct rq_times *c = &d->times;

	return d->thread ^ c->held ^ c->q ^ c->g ^ c->d ^ c->c ^ c->server;
}

/* A request that thread @tid submitted is done. */
static __always_inline void done_note(u32 tid, const struct rq_times *times, bool is_read)
{
	struct done *d = &dones[tid % DONE_SLOTS], done = {
		.thread = tid | (is_read ? DONE_READ : 0),
		.times = *times,
	};

	done.check = done_check(&done);
	*d = done;
}

/* Copies the note of thread @tid. Returns false if there is none. */
static __always_inline bool done_get(u32 tid, struct done *ret_done)
{
	*ret_done = dones[tid % DONE_SLOTS];
	barrier(); /* from now on read the copy */
	return (u32)ret_done->thread == tid && ret_done->check == done_check(ret_done);
}

/* The request @io is merged into another. The times of the other will count for it. */
static __always_inline void merged_note(const struct io_state *io)
{
	struct rq_times times = { .q = io->q, .g = io->g };

	if (CONF(waits) && io->tid)
		done_note(io->tid, &times, false);
}

/* Whether the last request of thread @tid, submitted at @since or later, was merged into another.
 * False as well if another of the thread's requests was done since then. */
static __always_inline bool merged_get(u32 tid, u64 since, struct done *ret_merged)
{
	return done_get(tid, ret_merged) && !ret_merged->times.c && ret_merged->times.q >= since;
}

/* A request of thread @tid is done (0: submitter not known). Marks the completion for the threads
 * that it wakes. It is over at @until. Leaves a note for the submitter, in case another wakes
 * it. */
static __always_inline void completion_announce(const struct rq_times *times, u32 tid, bool is_read,
						u64 until, bool level_known)
{
	if (!CONF(marks))
		return;
	mark_set(times, tid, is_read, until, interrupt_level(level_known));
	if (CONF(waits) && tid)
		done_note(tid, times, is_read);
}

#endif
