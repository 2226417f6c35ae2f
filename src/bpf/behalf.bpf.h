/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * behalf.bpf.h - with conf.behalf: I/O that one thread submits on behalf of another. With BY_THREAD
 * the I/O counts for the other thread; helper.bpf.h has the second use.
 *
 * Writeback counts for the dirtier, no matter which thread writes the page back: a kernel thread,
 * sync(1), or a thread in need of memory. The last dirtier of each inode is noted, unless the
 * filters reject it. The pages of a block device belong to many files, so the dirtier of each page
 * is noted there. A write to an already dirty page is not seen.
 *
 * All other I/O of a kernel thread (of a journal, a log, a loop device, swap ...) counts for its
 * client: the thread that woke the kernel thread or, for a worker (kworker), queued its work. If
 * this was a kernel thread, too, its own client counts, over at most CLIENT_STEPS steps. A kernel
 * thread keeps its client while it waits for its own requests. A kernel thread woken by an
 * interrupt (a timer, say) has no client, and neither has a worker whose work an interrupt queued.
 * The I/O of these counts as their own.
 */
#ifndef IOSTRATA_BEHALF_BPF_H
#define IOSTRATA_BEHALF_BPF_H

#include "completion.bpf.h"
#include "owner.bpf.h"

/* The client of current, a kernel thread, or NULL if it has none. */
static __always_inline struct client *kthread_client(void)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct client *c = bpf_map_lookup_elem(&clients, &tid);

	return c && c->task ? c : NULL;
}

/* The client of current, or NULL if current has none, or is no kernel thread. */
static __always_inline struct client *current_client(void)
{
	return current_flags() & PF_KTHREAD ? kthread_client() : NULL;
}

/* The per-CPU offsets read so far. CPUs beyond the array read their offset each time. */
static u64 cpu_offsets[MARK_SLOTS];

/* interrupt_level() for kernels where programs may not refer to the level's variable, but know its
 * address. */
static __always_inline u32 interrupt_level_read(void)
{
	u64 cpu = current_cpu(), at = cpu_offsets[cpu % MARK_SLOTS];
	u32 count = 0;

	if (!at || cpu >= MARK_SLOTS) {
		bpf_probe_read_kernel(&at, sizeof(at), (void *)(CONF(cpu_offsets) + cpu * 8));
		if (cpu < MARK_SLOTS)
			cpu_offsets[cpu % MARK_SLOTS] = at;
	}
	bpf_probe_read_kernel(&count, sizeof(count), (void *)(at + CONF(preempt_count)));
	return count & (HARD_INTERRUPT | SOFT_INTERRUPT);
}

/* Whether current can be the waker, and not a thread that the waking interrupt has interrupted. If
 * the interrupt level cannot be read at all, current counts as the waker if it is in an operation:
 * an interrupted thread rarely is. */
static __always_inline bool current_may_wake(bool level_known)
{
	struct task_state *t;

	if (level_known)
		return true;
	if (CONF(preempt_count))
		return !interrupt_level_read();
	t = CONF(waits) ? current_lookup() : NULL;
	return t && t->op.stage;
}

/* Sets @ret, all 0 so far, to the client of a kernel thread when current wakes this thread. @ret
 * stays 0 if current is the tool or does not pass the filters. */
static __always_inline void client_of_waker(struct client *ret, bool level_known)
{
	u64 id = bpf_get_current_pid_tgid();
	struct client *mine;

	if (current_flags() & PF_KTHREAD) {
		mine = kthread_client();
		if (!mine || mine->steps >= CLIENT_STEPS)
			return;
		*ret = *mine;
		ret->steps++;
		ret->taken = 0;
	} else if (current_wanted(id) && current_may_wake(level_known)) {
		ret->task = current_pid_tgid();
		current_name(&ret->name, bpf_ktime_get_ns());
		ret->steps = 1;
	}
}

/* Whether client_of_waker() would return @c again: current, with its present name. */
static __always_inline bool client_stays(const struct client *c, bool level_known)
{
	struct thread_name now;

	if (CONF(process_filter) || c->task != current_pid_tgid() || c->steps != 1 ||
	    !current_may_wake(level_known))
		return false;
	current_name(&now, 0);
	return now.cgroup == c->name.cgroup && comm_number(now.comm) == comm_number(c->name.comm);
}

/* ksoftirqd works for no thread, nor does ktimers of PREEMPT_RT: both do the work of interrupts. */
static __always_inline bool is_for_interrupts(struct task_struct *p)
{
	if (p->comm[0] != 'k')
		return false;
	return p->comm[1] == 's' ? p->comm[2] == 'o' && p->comm[5] == 'i'
				 : p->comm[1] == 't' && p->comm[2] == 'i' && p->comm[3] == 'm';
}

/* Current, at interrupt level @level, wakes kernel thread @tid, or queues work for any worker (@tid
 * 0). Sets @ret, all 0 so far, to the resulting client. False: the client stays. A thread
 * completing requests wakes the threads waiting for them, or queues work for them; neither changes
 * a client. */
static __always_inline bool client_find(struct client *ret, u32 tid, u32 level, bool level_known)
{
	struct mark *m = mark_of_current(level);
	u64 until;

	if (m) {
		/* without conf.waits no thread switch clears the mark: it lasts longer only for the
		 * submitter of the completed request, and not if current itself wakes the
		 * submitter */
		until = m->times.c + BIO_END_NS;
		if (CONF(waits) ||
		    (tid && m->tid == tid && (level || !current_may_wake(level_known))))
			until = m->until;
		if (bpf_ktime_get_ns() <= until)
			return false;
	}
	if (!level)
		client_of_waker(ret, level_known);
	return true;
}

/* Sets the client of kernel thread @tid to @found. @c: its present entry, or NULL. */
static __always_inline void client_change(struct client *c, u32 tid, const struct client *found)
{
	if (c)
		*c = *found;
	else if (found->task && bpf_map_update_elem(&clients, &tid, found, BPF_NOEXIST))
		count_lost(LOST_MAP_FULL);
}

/* Kernel thread @p is woken. A worker is left alone: its client is the thread that queued the work,
 * not the one that wakes the worker. */
static __always_inline void client_set(struct task_struct *p, bool level_known)
{
	u32 level = interrupt_level(level_known), tid = p->pid;
	struct client *c, found = {};

	if (p->flags & PF_WQ_WORKER || is_for_interrupts(p))
		return;
	c = bpf_map_lookup_elem(&clients, &tid);
	if (c && !level && client_stays(c, level_known))
		return;
	if (client_find(&found, tid, level, level_known))
		client_change(c, tid, &found);
}

/* Work is queued. Any worker may take the work, even one that is awake. Work queued by a completion
 * keeps its client. */
static __always_inline int work_queued(u64 work, bool level_known)
{
	struct client *c = bpf_map_lookup_elem(&works, &work), found = {};
	u32 level = interrupt_level(level_known);
	bool stays = c && !level && !mark_of_current(level) && client_stays(c, level_known);

	if (!stays)
		stays = !client_find(&found, 0, level, level_known);
	if (!c)
		bpf_map_update_elem(&works, &work, &found, BPF_ANY);
	else if (stays)
		c->taken = 0;
	else
		*c = found;
	return 0;
}

/* Current, a worker, takes @work. Work in a softirq (there are such workqueues since 6.9) has no
 * client. */
static __always_inline int work_begins(u64 work, bool level_known)
{
	struct client *found = bpf_map_lookup_elem(&works, &work);
	u32 tid = bpf_get_current_pid_tgid();

	if (!found || found->taken)
		return 0;
	/* before @found is read: work_queued() clears this if the work is queued again meanwhile */
	found->taken = 1;
	if (!interrupt_level(level_known))
		client_change(bpf_map_lookup_elem(&clients, &tid), tid, found);
	return 0;
}

static __always_inline struct dirty_key dirty_key(u64 head, u64 inode, u16 mode)
{
	bool is_device = (mode & S_IFMT) == S_IFBLK;

	return (struct dirty_key){ inode, is_device ? head : 0 };
}

/* Whether @client (NULL: current) still has the name noted for it in @d. */
static __always_inline bool dirtier_named(const struct dirtier *d, const struct client *client)
{
	u64 now[COMM_LEN / 8];

	if (client)
		return comm_number(d->name.comm) == comm_number(client->name.comm);
	current_comm(now);
	return comm_number(d->name.comm) == comm_number((const char *)now);
}

/* Current makes a clean page of @mapping dirty. The dirtier is the client of current, or current
 * itself. The verifier assumes that @mapping may be NULL. */
static __always_inline void page_dirtied(struct page *head, struct address_space *mapping)
{
	struct client *client = current_client();
	struct dirtier *was, d = {};
	struct dirty_key key;
	u64 task;

	if (!mapping)
		return;
	key = dirty_key((u64)head, (u64)mapping->host, mapping->host->i_mode);
	task = client ? client->task : current_pid_tgid();
	was = bpf_map_lookup_elem(&dirtiers, &key);
	if (was && was->task == task && dirtier_named(was, client))
		return;
	if (!client && !current_wanted(bpf_get_current_pid_tgid())) {
		if (was) /* from now on the data is no longer that thread's */
			bpf_map_delete_elem(&dirtiers, &key);
		return;
	}
	d.task = task;
	if (client)
		d.name = client->name;
	else
		current_name(&d.name, bpf_ktime_get_ns());
	if (bpf_map_update_elem(&dirtiers, &key, &d, BPF_ANY))
		count_lost(LOST_MAP_FULL);
}

/* The dirtier of the first page of @bio, or NULL if the page belongs to no file, or its dirtier was
 * not seen. */
static __always_inline struct dirtier *bio_dirtier(struct bio *bio)
{
	struct bio_data d = bio_data(bio);
	struct dirty_key key;

	if (!d.inode)
		return NULL;
	key = dirty_key(d.head, d.inode, d.mode);
	return bpf_map_lookup_elem(&dirtiers, &key);
}

static __always_inline void io_charge(struct io_state *io, u64 task, const struct thread_name *name,
				      enum behalf why)
{
	io->by[0] = task;
	io->by[1] = why;
	io->name = *name;
}

/* Makes @io, whose key by submitter is set, count for the dirtier of its data, if the dirtier is in
 * another process. If the data has no dirtier, @io counts for the client of the submitting kernel
 * thread. True if @io counts for either. Only threads that pass the filters are known. @flags: of
 * current. */
static __always_inline bool io_set_behalf(struct io_state *io, struct bio *bio, u32 flags)
{
	struct dirtier *d = io->op == RQ_WRITE ? bio_dirtier(bio) : NULL;
	struct client *c = NULL;

	if (d) {
		if (d->task >> 32 == io->by[0] >> 32)
			return false;
		io_charge(io, d->task, &d->name, BEHALF_WRITEBACK);
		return true;
	}
	/* if an interrupt or kthrotld submits the bio, the key is not of current */
	if (flags & PF_KTHREAD && io->by[0] == current_pid_tgid())
		c = kthread_client();
	if (c)
		io_charge(io, c->task, &c->name, BEHALF_HELPER);
	return c;
}

#endif
