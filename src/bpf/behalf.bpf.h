/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * behalf.bpf.h - with BY_TASK: who a write counts for if another submits it. A page that is written
 * back counts for the thread that made it dirty, whoever writes it back: a kernel thread, sync(1),
 * or a thread that needs memory.
 *
 * The last such thread is kept for each inode, unless the filters reject it; for a block device,
 * whose pages belong to many files, for each page. A write to a page that is already dirty is not
 * seen.
 */
#ifndef IOSTRATA_BEHALF_BPF_H
#define IOSTRATA_BEHALF_BPF_H

#include "owner.bpf.h"

struct dirty_key {
	u64 inode, page;		/* page: of a block device only */
};

struct dirtier {
	u64 task;			/* current_pid_tgid() */
	struct task_name name;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct dirty_key);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

static __always_inline struct dirty_key dirty_key(struct page *head, struct inode *inode)
{
	bool is_device = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;

	return (struct dirty_key){ (u64)inode, is_device ? (u64)head : 0 };
}

/* Current makes a clean page of @mapping dirty. The verifier assumes that @mapping may be NULL. */
static __always_inline void page_dirtied(struct page *head, struct address_space *mapping)
{
	u64 id = bpf_get_current_pid_tgid(), task = current_pid_tgid();
	struct dirtier *was, d = {};
	struct dirty_key key;

	if (!mapping)
		return;
	key = dirty_key(head, BPF_CORE_READ(mapping, host));
	was = bpf_map_lookup_elem(&dirtiers, &key);
	if (was && was->task == task)
		return;
	if (!current_wanted(id)) {
		if (was) /* what is written now is no longer that thread's */
			bpf_map_delete_elem(&dirtiers, &key);
		return;
	}
	d.task = task;
	d.name.cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(d.name.comm, sizeof(d.name.comm));
	if (bpf_map_update_elem(&dirtiers, &key, &d, BPF_ANY))
		count_lost(LOST_MAP_FULL);
}

/* Who made the first page of @bio dirty; NULL: it belongs to no file, or nobody was seen. */
static __always_inline struct dirtier *bio_dirtier(struct bio *bio)
{
	struct inode *inode = bio_inode(bio);
	struct dirty_key key;

	if (!inode)
		return NULL;
	key = dirty_key(page_head(bio_page(bio)), inode);
	return bpf_map_lookup_elem(&dirtiers, &key);
}

/* Makes @io, whose key by submitter is set, count for the thread that made its data dirty, if that
 * is in another process; true if it does. Only threads that pass the filters are known. */
static __always_inline bool io_set_behalf(struct io_state *io, struct bio *bio)
{
	struct dirtier *d = io->op == RQ_WRITE ? bio_dirtier(bio) : NULL;

	if (!d || d->task >> 32 == io->by[0] >> 32)
		return false;
	io->by[0] = d->task;
	io->by[1] = BEHALF_WRITEBACK;
	if (live.epoch)
		bpf_map_update_elem(&task_names_odd, &io->by[0], &d->name, BPF_NOEXIST);
	else
		bpf_map_update_elem(&task_names_even, &io->by[0], &d->name, BPF_NOEXIST);
	return true;
}

#endif
