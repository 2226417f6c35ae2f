/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * owner.bpf.h - the owner of a bio, and the file for which the bio is.
 *
 * blk-throttle holds back a bio over a limit (io.max) before the bio is queued. Later kthrotld, the
 * worker of blk-throttle, queues the bio. Only throtl_add_bio_tg() sees the submitter. Where this
 * function cannot be probed, only the cgroup of a throttled bio is known.
 */
#ifndef IOSTRATA_OWNER_BPF_H
#define IOSTRATA_OWNER_BPF_H

#include "async_bio.bpf.h"
#include "row.bpf.h"

/* The file whose data a bio carries: the inode's address, the mode, and the first page of the folio
 * in which the bio begins. @inode 0: the bio belongs to no file. */
struct bio_data {
	u64 inode, head;
	u16 mode;
};

/*
 * Finds the file of page @head, the first of its folio. A page outside the page cache may have
 * anything in its mapping field, but not a mapping whose inode points back to the mapping.
 */
static __always_inline void data_of_page(struct bio_data *d, struct page *head, bool typed)
{
	const u64 not_file = 3; /* PAGE_MAPPING_FLAGS, include/linux/page-flags.h */
	struct address_space *mapping = READ(typed, head, mapping);
	struct inode *inode;

	if (!mapping || number((u64)mapping) & not_file)
		return;
	inode = READ(typed, mapping, host);
	if (!inode || READ(typed, inode, i_mapping) != mapping)
		return;
	d->inode = number((u64)inode);
	d->head = number((u64)head);
	d->mode = READ(typed, inode, i_mode);
	/* else one load would serve both cases: the verifier forbids this */
	if (typed)
		barrier();
}

/* The file of the data of @bio. Most bios are at their first page, and this page is the first of
 * its folio. Then all data are read directly: before 6.1 this costs half as much as six BPF
 * helpers. */
static __always_inline struct bio_data bio_data(struct bio *bio)
{
	struct bio_vec *vec = bio_untrusted(bio)->bi_io_vec;
	struct bio_data d = {};
	struct page *page;

	if (!bio->bi_iter.bi_size || !vec)
		return d;
	if (likely(!bio->bi_iter.bi_idx)) {
		page = vec->bv_page;
		if (likely(!(number(page_info(page, true)) & 1))) {
			data_of_page(&d, page, true);
			return d;
		}
	}
	vec = BPF_CORE_READ(bio, bi_io_vec);
	page = BPF_CORE_READ(vec + bio->bi_iter.bi_idx, bv_page);
	data_of_page(&d, page_head(page), false);
	return d;
}

static __always_inline bool op_file(const struct op *op, struct file_info *f)
{
	if (!op->stage || !op->file.ino)
		return false;
	*f = op->file;
	return true;
}

/* The file of the operation for which current submits @bio. Returns false if not known. @async: as
 * in struct io_state. */
static __always_inline bool submitter_file(struct bio *bio, u32 async, struct file_info *f)
{
	struct task_state *t = current_lookup();
	struct async_op *u;

	if (t && (t->op.progress == OP_ASYNC || t->op.progress > OP_BEGUN))
		return op_file(&t->op, f);
	/* the operation is parked, or current is a worker; for further bios see
	 * uring_bio_follows() */
	u = CONF(async) && async ? async_at(async) : NULL;
	if (!u || (t && u->op.requests > 1 && !bio->bi_private))
		return false;
	return op_file(&u->op, f);
}

/* The file of @bio: the file of its operation, or else of its data. @async: as in struct io_state.
 * Returns false if not known. */
static __always_inline bool bio_file(struct bio *bio, u32 async, struct file_info *f)
{
	struct inode *inode;
	struct bio_data d;
	bool bdev;

	if (CONF(layer) == LAYER_OPS && submitter_file(bio, async, f))
		return true;
	d = bio_data(bio);
	inode = (struct inode *)d.inode;
	if (!inode)
		return false;
	f->mode = d.mode;
	bdev = (f->mode & S_IFMT) == S_IFBLK;
	f->dev = bdev ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	f->ino = BPF_CORE_READ(inode, i_ino);
	if (bdev && !f->ino) /* 0 before 5.11; later the device's number, as here */
		f->ino = f->dev;
	f->generation = BPF_CORE_READ(inode, i_generation);
	if (CONF(file_identity))
		file_identify(f, BPF_CORE_READ(inode, i_sb, s_magic), (u64)inode);
	return true;
}

/* Id of the cgroup to which @bio is charged, or 0 if there is none. */
static __always_inline u64 bio_cgroup_id(struct bio *bio)
{
	struct cgroup *cgroup = bio_cgroup(bio);

	return cgroup ? BPF_CORE_READ(cgroup, kn, id) : 0;
}

/*
 * The key of @bio's row: the key of the operation that queues the bio. Bios of a kernel thread
 * count as its own (writeback is kworker's), except that cgroup and file are the bio's. @known:
 * current is the submitter.
 */
static __always_inline void bio_key_by(u64 by[2], struct bio *bio, bool known, u32 async)
{
	struct file_info f = {};
	u64 cgroup = 0;

	if (CONF(by) == BY_FILE) {
		if (bio_file(bio, async, &f))
			key_set_by(by, &f);
		return;
	}
	if (CONF(by) == BY_CGROUP && (!known || current_flags() & PF_KTHREAD))
		cgroup = bio_cgroup_id(bio);
	if (cgroup) {
		by[0] = cgroup;
	} else if (known) {
		key_set_by(by, &f);
		if (BY_NAMES_THREADS(CONF(by)) && CONF(by) != BY_THREAD)
			row_name_submitter(by[0]);
	}
}

/* Sets the key of @io's row. Its @bio is queued in the context of thread @id (0: of an interrupt).
 * @throttled: kthrotld queues the bio. Returns true with BY_THREAD if the key is current, and the
 * name of current is not set yet. */
static __always_inline bool io_set_by(struct io_state *io, struct bio *bio, u64 id, bool throttled)
{
	struct io_state *before = throttled ? io_hashed(bio_key(bio)) : NULL;

	io->by[0] = io->by[1] = 0;
	if (before) {
		io->by[0] = before->by[0];
		io->by[1] = before->by[1];
		if (CONF(by) == BY_THREAD)
			io->name = before->name;
		return false;
	}
	if (!is_tool(id))
		bio_key_by(io->by, bio, id && !throttled, io->async);
	return CONF(by) == BY_THREAD && io->by[0];
}

/* Notes the submitter and the file of @bio for its record, by the rules for the key of its row. */
static __always_inline void bio_note_who(struct io_state *io, struct bio *bio, bool known)
{
	u64 id = current_pid_tgid();
	struct file_info f = {};

	if (bio_file(bio, io->async, &f)) {
		io->file.key = FILE_KEY(f.dev, (f.mode & S_IFMT) == S_IFBLK, f.generation);
		io->file.ino = f.ino;
	}
	if (!known || current_flags() & PF_KTHREAD)
		io->who.cgroup = bio_cgroup_id(bio);
	if (!known)
		return;
	if (!io->who.cgroup)
		io->who.cgroup = bpf_get_current_cgroup_id();
	io->who.pid = id >> 32;
	io->who.tid = id;
	bpf_get_current_comm(io->who.comm, COMM_LEN);
}

static __always_inline void io_note_who(struct io_state *io, struct bio *bio, u64 id,
					bool throttled)
{
	struct io_state *before = throttled ? io_hashed(bio_key(bio)) : NULL;

	__builtin_memset(&io->who, 0, sizeof(io->who));
	io->file.key = io->file.ino = 0;
	if (before) {
		io->who = before->who;
		io->file = before->file;
	} else if (!is_tool(id)) {
		bio_note_who(io, bio, id && !throttled);
	}
}

/* Whether current, with these @flags, is kthrotld: the worker that queues throttled bios. */
static __always_inline bool current_is_kthrotld(u32 flags)
{
	return current_works_in(flags, "kthrotld");
}

/* Whether the filter lists @cgroup or a cgroup above it. */
static __always_inline bool cgroup_listed(struct cgroup *cgroup)
{
	u64 id;

#pragma clang loop unroll(disable)
	for (int level = 0; level < CGROUP_LEVELS && cgroup; level++) {
		id = BPF_CORE_READ(cgroup, kn, id);
		FOR_LISTED(i, n_cgroups)
		if (lists.cgroups[i] == id)
			return true;
		cgroup = BPF_CORE_READ(cgroup, self.parent, cgroup);
	}
	return false;
}

enum verdict { NO, YES, UNKNOWN };

/* Whether the cgroup of @bio passes the filter. This is the nearest cgroup with the io controller
 * on; the process may be in a cgroup below. */
static __always_inline enum verdict bio_cgroup_passes(struct bio *bio)
{
	struct cgroup *cgroup;

	if (!CONF(n_cgroups))
		return YES;
	cgroup = bio_cgroup(bio);
	if (!cgroup)
		return UNKNOWN;
	if (cgroup_listed(cgroup))
		return YES;
	return BPF_CORE_READ(cgroup, nr_descendants) ? UNKNOWN : NO;
}

/* Whether a bio queued by kthrotld is traced, although its submission was not seen. */
static __always_inline bool throttled_bio_wanted(struct bio *bio)
{
	enum verdict in_cgroup = bio_cgroup_passes(bio);

	if (in_cgroup == YES && !CONF(thread_filter))
		return true;
	if (in_cgroup != NO)
		count_lost(LOST_UNATTRIBUTED);
	return false;
}

/* Whether a bio of current that was not throttled passes the filters by process. Kernel threads
 * submit bios of other threads, but in the bio's cgroup. */
static __always_inline bool own_bio_wanted(struct bio *bio, u64 id)
{
	if (!CONF(n_cgroups) || !(current_flags() & PF_KTHREAD))
		return current_wanted(id);
	return bio_cgroup_passes(bio) == YES && current_thread_passes(id);
}

/* The slot of the request of io_uring or libaio in the note of the throttled bio @key. 0: none, or
 * another request began in the slot since. */
static __always_inline u32 throttled_async(u64 key)
{
	struct io_state *io = io_hashed(key);
	struct async_op *u = io ? async_at(io->async) : NULL;

	return u && u->begun <= io->g ? io->async : 0;
}

/* kthrotld queues the throttled bio @key: ends the bio's note. Returns false if there is none.
 * @tid: the submitter. */
static __always_inline bool throttled_end(u64 key, u32 *tid, bool *counted)
{
	struct io_state *io = io_hashed(key);

	if (!io)
		return false;
	*tid = io->tid;
	*counted = io->counted;
	io_unhash(key);
	return true;
}

/* Current queues @bio. Whether the bio passes the filters by process, or is written on @behalf of a
 * thread that does. @throttled: current is kthrotld; then sets @tid to the submitter, if known. */
static __always_inline bool bio_wanted(struct bio *bio, u64 id, bool throttled, bool behalf,
				       u32 *tid)
{
	bool counted;

	if (!throttled)
		return behalf || own_bio_wanted(bio, id);
	if (!throttled_end(bio_key(bio), tid, &counted))
		return behalf || throttled_bio_wanted(bio);
	return behalf || counted;
}

#endif
