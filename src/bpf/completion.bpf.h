/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * completion.bpf.h - what a completion leaves for those who waited for it: a mark for those that it
 * wakes itself, and a note for its submitter, which another may wake.
 */
#ifndef IOSTRATA_COMPLETION_BPF_H
#define IOSTRATA_COMPLETION_BPF_H

#include "state.bpf.h"

/* How long a completion may take, if nothing tells when it is over: waiters are woken when all
 * pages of a bio, or of all bios of a request, are done. A hypervisor may take the CPU meanwhile:
 * who submitted the request may be woken late. */
enum { BIO_END_NS = 50000, REQUEST_END_NS = 4000000, REQUEST_END_LATE_NS = 100000000 };

/* The number of the mark of @cpu and @level: a level that was interrupted keeps its own. */
static __always_inline u64 mark_number(u64 cpu, u32 level)
{
	/* 0, 1 or 2; without branches, both sides of which the verifier would follow to the end */
	u32 soft = (0 - (u64)(level & SOFT_INTERRUPT)) >> 63;
	u32 hard = (0 - (u64)(level & HARD_INTERRUPT)) >> 63;

	barrier_var(soft);
	barrier_var(hard);
	return cpu % MARK_SLOTS * MARK_LEVELS + ((hard << 1 | (soft & ~hard)) & 3);
}

static __always_inline struct mark *mark_at(u64 nr)
{
	barrier_var(nr); /* its limit is clear to the compiler, but not to the verifier of 6.1 */
	return &marks[nr % (MARK_SLOTS * MARK_LEVELS)];
}

static __always_inline struct mark *mark_here(u64 cpu, u32 level)
{
	return mark_at(mark_number(cpu, level));
}

/* The mark that current left here at @level, which may be over; NULL: none. */
static __always_inline struct mark *mark_of_current(u32 level)
{
	u64 cpu = current_cpu();
	struct mark *m = mark_here(cpu, level);

	if (!m->times.c || m->cpu != cpu || m->pid != (u32)bpf_get_current_pid_tgid())
		return NULL;
	return m;
}

/*
 * The completion that the running code is part of at @now, or NULL. Nothing tells when the
 * completion of a bio without a request is over, or of a request before block_io_done (6.5). The
 * same interrupt level on top of the same thread may be another interrupt, and a thread that
 * completes bios goes on to other work. So a mark is believed only for some time.
 */
static __always_inline struct mark *mark_current(u64 now, u32 level)
{
	struct mark *m = mark_of_current(level);

	return m && now <= m->until ? m : NULL;
}

/* Whether this CPU is, at any level, in the completion of what was done at @done. */
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

/* The completion in progress at @level is over; one that it interrupted is not. */
static __always_inline void mark_clear(u32 level)
{
	mark_here(current_cpu(), level)->times.c = 0;
}

/* The same for all levels: a CPU that switches threads is in no interrupt. */
static __always_inline void marks_clear(void)
{
	u64 slot = current_cpu() % MARK_SLOTS;

	for (int i = 0; i < MARK_LEVELS; i++)
		marks[slot * MARK_LEVELS + i].times.c = 0;
}

static __always_inline u64 done_check(const struct done *d)
{
	const struct rq_times *c = &d->times;

	return d->whose ^ c->held ^ c->q ^ c->g ^ c->d ^ c->c;
}

/* A request that thread @tid submitted is done. */
static __always_inline void done_note(u32 tid, const struct rq_times *times, bool is_read)
{
	struct done *d = &dones[tid % DONE_SLOTS], done = {
		.whose = tid | (is_read ? DONE_READ : 0),
		.times = *times,
	};

	done.check = done_check(&done);
	*d = done;
}

/* Copies what was noted of thread @tid; false if there is nothing. */
static __always_inline bool done_get(u32 tid, struct done *ret_done)
{
	*ret_done = dones[tid % DONE_SLOTS];
	barrier(); /* from now on the copy */
	return (u32)ret_done->whose == tid && ret_done->check == done_check(ret_done);
}

/* The request @io is merged into another, whose times will be told instead of its own. */
static __always_inline void merged_note(const struct io_state *io)
{
	struct rq_times times = { .q = io->q, .g = io->g };

	if (CONF(waits) && io->tid)
		done_note(io->tid, &times, false);
}

/* Whether the last request that thread @tid submitted, at @since or later, was merged into another.
 * (If another of its requests was done since then, that is not known.) */
static __always_inline bool merged_get(u32 tid, u64 since, struct done *ret_merged)
{
	return done_get(tid, ret_merged) && !ret_merged->times.c && ret_merged->times.q >= since;
}

/* A request that thread @tid submitted is done (0: submitter not known). Marks the completion,
 * which is over at @until, for those that it wakes, and leaves a note for the thread in case
 * another wakes it. */
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
