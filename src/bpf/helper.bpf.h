/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * helper.bpf.h - with conf.helpers: the work of kernel helpers: how long it takes, and for which
 * thread it is done. behalf.bpf.h finds this thread as for BY_THREAD. A worker of io_uring works
 * for its own process.
 */
#ifndef IOSTRATA_HELPER_BPF_H
#define IOSTRATA_HELPER_BPF_H

#include "behalf.bpf.h"
#include "row.bpf.h"
#include "wait.bpf.h"

/* Sets the helper of @key, all 0 so far, to current. @flags: of current. */
static __always_inline void helper_identify(struct helper_key *key, u32 flags)
{
	struct task_struct *task = (void *)current_task();

	BPF_CORE_READ_STR_INTO(&key->comm, task, comm);
	key->tid = bpf_get_current_pid_tgid();
	if (flags & PF_WQ_WORKER)
		worker_queue(task, key->work, sizeof(key->work));
}

/* Current, helper @h, submits a bio. */
static __always_inline void helper_submits(struct helper *h)
{
	h->bios++;
	if (current_flags() & PF_WQ_WORKER)
		worker_queue((void *)current_task(), h->work, sizeof(h->work));
}

/* Sets the thread for which a helper works. @name may have remains of an older name after its
 * NUL. */
static __always_inline void helper_is_for(struct helper_key *key, u64 task,
					  const struct thread_name *name, enum behalf why)
{
	key->for_pid = task >> 32;
	bpf_probe_read_kernel_str(key->for_comm, sizeof(key->for_comm), name->comm);
	key->behalf = why;
}

/* Sets the client of current, a helper with @flags. Returns false if no client is known, or it
 * fails the filters. */
static __always_inline bool helper_set_client(struct helper_key *key, u32 flags)
{
	struct task_struct *task = (void *)current_task();
	struct client *c;

	if (flags & PF_IO_WORKER) {
		if (!current_wanted(bpf_get_current_pid_tgid()))
			return false;
		key->for_pid = current_pid_tgid() >> 32;
		BPF_CORE_READ_STR_INTO(&key->for_comm, task, group_leader, comm);
		key->behalf = BEHALF_HELPER;
		return true;
	}
	c = kthread_client();
	if (c)
		helper_is_for(key, c->task, &c->name, BEHALF_HELPER);
	return c;
}

/* Notes the helper submitting @bio, and the thread for which it works: the dirtier of the data,
 * else the helper's client. @flags: of current; 0 if current is not the submitter. Returns false if
 * the submitter is no helper, or no such thread is known to pass the filters. */
static __always_inline bool io_set_helper(struct io_state *io, struct bio *bio, u32 flags)
{
	struct helper_key *key = &io->helper;
	struct dirtier *d;

	key->tid = 0;
	if (!is_helper(flags))
		return false;
	__builtin_memset(key, 0, sizeof(*key));
	helper_identify(key, flags);
	d = io->op == RQ_WRITE ? bio_dirtier(bio) : NULL;
	if (!d)
		return helper_set_client(key, flags);
	helper_is_for(key, d->task, &d->name, BEHALF_WRITEBACK);
	return true;
}

/*
 * Current, helper @p, leaves its CPU at @now. Counts the stretch on the CPU, and the wait before,
 * if the helper had a client, submitted a bio, or waited for a request. Any other work of the
 * thread does not count. An idle worker does not show its last work, unless the work submitted a
 * bio.
 */
static __always_inline void helper_stretch(struct helper *h, struct task_struct *p, u64 now)
{
	const struct helper_wait *w = &h->waits[(h->n - 1) % HELPER_WAITS];
	bool submitted = h->bios != h->bios_before, waited = w->times.c && !h->idle;
	struct helper_key key = {};
	struct helper_sums *sums;

	helper_identify(&key, p->flags);
	h->bios_before = h->bios;
	h->idle = p->flags & PF_WQ_WORKER && !key.work[0];
	if (!h->n || h->wait.off) /* its switch to the CPU was missed */
		return;
	if (!helper_set_client(&key, p->flags) && (!(submitted || waited) || CONF(process_filter)))
		return;
	if (submitted && !key.work[0])
		__builtin_memcpy(key.work, h->work, sizeof(key.work));
	key.op = HELPER_TIME;
	sums = helper_row(&key, 1);
	if (!sums)
		return;
	atomic_add(&sums->count, 1);
	cell_sum(false, sums->cpu_ns, positive(now - w->in));
	cell_sum(false, sums->runq_ns, positive(w->in - w->wake));
	if (waited)
		cell_sum(false, sums->waited_ns,
			 overlap(w->out, w->wake, w->times.held, w->times.c));
}

/* Helper @p leaves its CPU at @now. */
static __always_inline void helper_off(struct helper *h, struct task_struct *p, bool asleep,
				       u64 now)
{
	if (CONF(helpers))
		helper_stretch(h, p, now);
	wait_begin(&h->wait, asleep, now);
}

#endif
