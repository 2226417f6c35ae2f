/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * row.bpf.h - finds or makes the row to which an operation or a timed function call is added. Also
 * the rows of helpers and of sleep sites, and the functions of file systems.
 *
 * Without --by there are few rows. Each takes a slot near the one to which its key hashes, with a
 * cell per CPU and epoch. A thread remembers the slot used last. A row without a free slot goes
 * into a hash, as do all rows with --by. The hash has an entry per bucket of a row's histogram, so
 * a row of few operations is small. User space drains the hash long before it is full.
 */
#ifndef IOSTRATA_ROW_BPF_H
#define IOSTRATA_ROW_BPF_H

#include "function.bpf.h"
#include "name.bpf.h"

enum { SLOT_NEW = 1 << 16 };

/* The slot of file system type @fs, or FS_SLOTS if no slot is free. The slot also has the name of
 * the type. */
static __always_inline u64 fs_slot(u64 fs)
{
	u64 slot = low_half(fs) / 64; /* the least distance of such objects */
	u32 key;

	for (u32 i = 0; i < SLOT_SEARCH; i++, slot++) {
		barrier_var(slot);
		slot %= FS_SLOTS; /* for the verifier */
		if (live.fs_types[slot].fs == fs)
			return slot;
		key = ROW_SLOTS + slot;
		if (live.fs_types[slot].fs ||
		    bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST))
			continue;
		bpf_probe_read_kernel_str((char *)live.fs_types[slot].name, FS_NAME_LEN,
					  BPF_CORE_READ((struct file_system_type *)fs, name));
		live.fs_types[slot].fs = fs;
		return slot;
	}
	return FS_SLOTS;
}

/* Notes the name of file system type @fs, and its functions from @operations, if @mode is a regular
 * file's. */
GLOBAL int fs_note(u64 fs, u64 operations, u32 mode)
{
	struct file_operations *fop = (void *)operations;
	volatile struct fs_entry *seen;
	u64 slot;

	if (!op_may_end() || fs <= FS_UNKNOWN)
		return 0;
	slot = fs_slot(fs);
	if (slot >= FS_SLOTS) {
		count_lost(LOST_MAP_FULL);
		return 0;
	}
	seen = &live.fs_types[slot];
	if (seen->read_iter || !fop || (mode & S_IFMT) != S_IFREG)
		return 0;
	seen->write_iter = (u64)BPF_CORE_READ(fop, write_iter);
	seen->fsync = (u64)BPF_CORE_READ(fop, fsync);
	seen->open = (u64)BPF_CORE_READ(fop, open);
	seen->read_iter = (u64)BPF_CORE_READ(fop, read_iter); /* last: now all are valid */
	return 0;
}

static __always_inline void file_note_fs(const struct file_info *f)
{
	struct file *file = (void *)f->file;

	fs_note(number(f->fs), file ? (u64)BPF_CORE_READ(file, f_op) : 0, f->mode);
}

/* Whether row slot @slot is for @fs and @what. While a slot is being taken, another CPU may see
 * only one of the two. The other CPU does not mistake the slot for its own: neither is ever 0 in a
 * taken slot, and no slot is taken twice. */
static __always_inline bool slot_is_of(u64 slot, u64 fs, u32 what)
{
	return live.rows[slot].what == what && live.rows[slot].fs == fs;
}

/* The slot in which a row is looked for first, and usually found. */
static __always_inline u64 slot_first(u64 fs, u32 what)
{
	return (what ^ what >> 14 ^ fs ^ fs >> 6) % ROW_SLOTS;
}

/* The slot of a row, | SLOT_NEW if the row has just got the slot. Returns ROW_SLOTS if the row has
 * none, and none is free. Two CPUs meeting a row for the first time may give it two slots: the
 * reader of the cells adds both up. */
GLOBAL u32 slot_find(u64 fs, u32 what)
{
	u64 slot = slot_first(fs, what);
	u32 key;

	if (!op_may_end())
		return ROW_SLOTS;
	for (u32 i = 0; i < SLOT_SEARCH; i++, slot = (slot + 1) % ROW_SLOTS) {
		barrier_var(slot);
		slot %= ROW_SLOTS; /* for the verifier */
		if (slot_is_of(slot, fs, what))
			return slot;
		key = slot;
		if (live.rows[slot].what ||
		    bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST))
			continue;
		live.rows[slot].fs = fs;
		live.rows[slot].what = what;
		return slot | SLOT_NEW;
	}
	return ROW_SLOTS;
}

/* The cell of a row for this CPU and epoch, and its SLOT_CELL() in @ret_index. @slot is a guess,
 * and is corrected. Returns NULL if the row has no slot and must be looked up in the hash. */
static __always_inline struct op_cell *row_in_slot(const struct file_info *f, u32 what, u8 *slot,
						   u32 *ret_index)
{
	u64 i = *slot % ROW_SLOTS;
	u32 found;

	if (!slot_is_of(i, f->fs, what)) {
		found = slot_find(number(f->fs), what);
		if (found == ROW_SLOTS)
			return NULL;
		i = found % ROW_SLOTS;
		*slot = i;
		if (found & SLOT_NEW)
			file_note_fs(f);
	}
	*ret_index = SLOT_CELL(current_cpu(), live.epoch, i);
	return bpf_map_lookup_elem(&slot_cells, ret_index);
}

/*
 * Counts an operation of @total ns in its row's histogram. Machines with more than HIST_CPUS
 * possible CPUs have fewer histograms than sums, since a histogram takes 4.7 KB. CPUs whose numbers
 * differ by a multiple of HIST_CPUS share a histogram.
 */
static __always_inline void row_hist_add(struct op_cell *cell, const u32 *index, u64 total,
					 bool single_writer)
{
	struct slot_hist *hist;
	u32 i;

	if (!CONF(hists_apart)) {
		cell_sum(single_writer, cell->hist[hist_bucket(total)], 1);
		return;
	}
	i = *index % SLOT_CELLS(HIST_CPUS);
	hist = bpf_map_lookup_elem(&slot_hists, &i);
	if (hist)
		atomic_add(&hist->n[hist_bucket(total)], 1);
}

/*
 * hist_bucket() as a separate function: if it were inlined, the verifier would walk all later code
 * once for each power of two.
 */
GLOBAL u32 bucket_of(u64 ns)
{
	return hist_bucket(ns);
}

/* Sets @by to the address of the client whose request current has served; else @by stays 0. */
static __always_inline void key_set_client(u64 by[2])
{
	struct task_state *t = current_lookup();

	if (!t || t->op.kind != OP_SERVED)
		return;
	by[0] = t->client[0];
	by[1] = t->client[1];
}

/* Sets @by, all 0 so far, to the row's key for an operation of current on @f. */
static __always_inline void key_set_by(u64 by[2], const struct file_info *f)
{
	switch (CONF(by)) {
	case BY_PID:
		by[0] = current_pid_tgid() >> 32;
		break;
	case BY_TID:
		by[0] = (u32)current_pid_tgid();
		break;
	case BY_THREAD:
		by[0] = current_pid_tgid();
		break;
	case BY_COMM:
		bpf_get_current_comm(by, 2 * sizeof(*by));
		break;
	case BY_FILE:
		by[0] = FILE_KEY(f->dev, (f->mode & S_IFMT) == S_IFBLK, f->generation);
		by[1] = f->ino;
		break;
	case BY_CGROUP:
		by[0] = bpf_get_current_cgroup_id();
		break;
	case BY_DEV:
		by[0] = f->dev;
		break;
	case BY_CLIENT:
		key_set_client(by);
		break;
	}
}

/* Like key_set_by(), for an operation of @who. Returns false if the key does not depend on the
 * thread. */
static __always_inline bool key_set_owner(u64 by[2], const struct sent_who *who)
{
	switch (CONF(by)) {
	case BY_PID:
		by[0] = who->pid;
		return true;
	case BY_TID:
		by[0] = who->tid;
		return true;
	case BY_THREAD:
		by[0] = (u64)who->pid << 32 | who->tid;
		return true;
	case BY_COMM:
		__builtin_memcpy(by, who->comm, COMM_LEN);
		return true;
	case BY_CGROUP:
		by[0] = who->cgroup;
		return true;
	}
	return false;
}

/* Look up or insert a key in the hash of the even or odd epoch. */
#define ROWS_LOOKUP(even, rows, key)                                                               \
	((even) ? (void *)bpf_map_lookup_elem(&rows##_even, key)                                   \
		: (void *)bpf_map_lookup_elem(&rows##_odd, key))
#define ROWS_INSERT(even, rows, key)                                                               \
	((even) ? bpf_map_update_elem(&rows##_even, key, zeroes, BPF_NOEXIST)                      \
		: bpf_map_update_elem(&rows##_odd, key, zeroes, BPF_NOEXIST))

/* A row was added to a hash. At @limit rows, user space is woken to drain the hash. There is still
 * room for more then. */
static __always_inline void row_made(volatile u32 *made, u32 limit)
{
	u32 nothing = 0;

	atomic_add(made, 1);
	if (*made < limit || live.drain_wanted)
		return;
	live.drain_wanted = 1;
	bpf_ringbuf_output(&wakes, &nothing, sizeof(nothing), 0);
}

static __always_inline void row_set_name(u64 id, const struct thread_name *name, bool even)
{
	if (CONF(pidns_ino) && !id) /* 0: all processes outside of the tool's pid namespace */
		return;
	if (even)
		bpf_map_update_elem(&thread_names_even, &id, name, BPF_ANY);
	else
		bpf_map_update_elem(&thread_names_odd, &id, name, BPF_ANY);
}

/* Notes the name of @who (NULL: of current, or of its process), for which the epoch has a row. @id:
 * as the tool sees it. */
static __always_inline void row_name_task(u64 id, const struct sent_who *who, bool even)
{
	struct task_struct *task = (void *)current_task();
	struct thread_name name = {};

	if (who) {
		name.cgroup = who->cgroup;
		__builtin_memcpy(name.comm, who->comm, COMM_LEN);
	} else {
		if (CONF(by) == BY_PID)
			task = BPF_CORE_READ(task, group_leader);
		if (CONF(by) == BY_THREAD)
			name.cgroup = bpf_get_current_cgroup_id();
		BPF_CORE_READ_STR_INTO(&name.comm, task, comm);
	}
	if (CONF(by) == BY_THREAD)
		name.at = bpf_ktime_get_ns();
	row_set_name(id, &name, even);
}

/* The same for the submitter @id, whose request gets into a row only when done. After exec the name
 * is the new one. */
static __always_inline void row_name_submitter(u64 id)
{
	bool even = !live.epoch;
	struct thread_name *name = ROWS_LOOKUP(even, thread_names, &id);

	if (!name)
		row_name_task(id, NULL, even);
	else if (CONF(by) != BY_PID) /* no other thread writes this name */
		bpf_get_current_comm(name->comm, sizeof(name->comm));
}

/*
 * Reads the name of a file for which the epoch has a row. Only the program making the entry reads
 * the name: two at once would mix their names. If the name cannot be read, the next program tries
 * again, with another entry. This happens when the close of a file is the first call seen on the
 * file.
 */
GLOBAL int row_name_file(const struct file_info *f, u64 key, u64 ino, bool even)
{
	struct file_id id = { key, ino };
	struct file_name *name;
	bool mine;

	if (!op_may_end() || !f || CONF(by) != BY_FILE || !f->file || !f->ino)
		return 0;
	mine = !ROWS_INSERT(even, file_names, &id);
	name = ROWS_LOOKUP(even, file_names, &id);
	if (!mine && name && name->nameless) {
		id.ino |= FILE_ID_AGAIN;
		mine = !ROWS_INSERT(even, file_names, &id);
		name = ROWS_LOOKUP(even, file_names, &id);
	}
	if (mine && name)
		file_name_read(name, f);
	return 0;
}

/* The sums in the struct op_entry of a row, in the hash of the @even epoch or of the odd one, for
 * an operation of @who (NULL: of current) that took @total ns. Returns NULL if there is no room, or
 * the kernel refused to make the entry (-EBUSY); then the operation is lost. */
static __always_inline struct op_sums *row_hashed(const struct file_info *f, u32 what, u64 total,
						  const struct sent_who *who, bool even)
{
	struct op_sums *sums;
	struct op_key key = {};

	key.fs = f->fs;
	key.call = WHAT_CALL(what);
	key.op = WHAT_OP(what);
	key.cache = WHAT_CACHE(what);
	key.bucket = bucket_of(total);
	if (!who || !key_set_owner(key.by, who))
		key_set_by(key.by, f);
	sums = ROWS_LOOKUP(even, op_rows, &key);
	if (sums)
		return sums;
	file_note_fs(f);
	if (CONF(by) == BY_FILE && f->ino)
		row_name_file(f, key.by[0], key.by[1], even);
	if (BY_NAMES_THREADS(CONF(by)))
		row_name_task(key.by[0], who, even);
	if (!ROWS_INSERT(even, op_rows, &key))
		row_made(&live.op_rows_made[!even], CONF(op_rows_limit));
	sums = ROWS_LOOKUP(even, op_rows, &key);
	if (!sums)
		count_lost(LOST_MAP_FULL);
	return sums;
}

/*
 * With conf.helpers: the rows of helpers, in addition to all others. Their keys contain all names,
 * so no names are noted for them.
 */

/* The row of @key. Returns NULL if there is no room, or the row is refused, as in row_hashed();
 * then @n requests or stretches are lost. */
static __always_inline struct helper_sums *helper_row(const struct helper_key *key, u32 n)
{
	bool even = !live.epoch;
	struct helper_sums *sums = ROWS_LOOKUP(even, helper_rows, key);

	if (sums)
		return sums;
	if (!ROWS_INSERT(even, helper_rows, key))
		row_made(&live.helper_rows_made[!even], CONF(helper_rows_limit));
	sums = ROWS_LOOKUP(even, helper_rows, key);
	if (!sums)
		count_lost_many(LOST_MAP_FULL, n);
	return sums;
}

/* A request submitted by a helper is done. */
static __always_inline void helper_request_done(const struct io_state *io, u64 tag, u64 queue,
						u64 device, u32 n)
{
	struct helper_key key = io->helper;
	struct helper_sums *sums;

	key.dev = io->dev;
	key.op = io->op;
	key.bio_based = io->bio_based;
	sums = helper_row(&key, n);
	if (!sums)
		return;
	atomic_add(&sums->count, n);
	atomic_add(&sums->device_ns, n * device);
	cell_sum(false, sums->queue_ns, n * queue);
	cell_sum(false, sums->tag_ns, n * tag);
	if (io->failed)
		atomic_add(&sums->errors, n);
	else
		cell_sum(false, sums->bytes, io->bytes);
}

/*
 * The functions of file systems, by name, for each file system with open files, now or since
 * tracing began. User space would have to read all of /proc/kallsyms for this.
 */

/* The file system types whose functions were printed, by slot; and the next slot to print. Only the
 * iterator's program writes these, and user space runs one iterator at a time. */
static bool fs_printed[FS_SLOTS];
static u32 fs_turn;

/* Prints the functions of the file system type in @slot, once. Returns false if there is nothing to
 * print. Before 5.13 bpf_seq_printf() does not know %pS, and prints nothing. */
static __always_inline bool fs_print(struct seq_file *seq, u64 slot)
{
	volatile struct fs_entry *seen;

	if (slot >= FS_SLOTS || fs_printed[slot])
		return false;
	seen = &live.fs_types[slot];
	if (!seen->read_iter)
		return false;
	fs_printed[slot] = true;
	BPF_SEQ_PRINTF(seq, "%llx t %pS\n%llx t %pS\n%llx t %pS\n%llx t %pS\n", seen->read_iter,
		       seen->read_iter, seen->write_iter, seen->write_iter, seen->fsync,
		       seen->fsync, seen->open, seen->open);
	return true;
}

/* Notes the functions of the file system of @file, and prints them once, in the format of
 * /proc/kallsyms. If these were printed before, prints those of the next slot. So FS_SLOTS open
 * files are enough to print also the functions noted by operations. */
static __always_inline void fs_of_file(struct file *file, struct seq_file *seq)
{
	u64 fs = (u64)BPF_CORE_READ(file, f_inode, i_sb, s_type);

	fs_note(fs, (u64)BPF_CORE_READ(file, f_op), file->f_inode->i_mode);
	if (fs <= FS_UNKNOWN || !fs_print(seq, fs_slot(fs)))
		fs_print(seq, fs_turn++ % FS_SLOTS);
}

/*
 * With conf.sites: the site in the kernel at which a thread slept, for otherwise unexplained
 * sleeps. The stack is read when the thread gets the CPU again: sleeps with a known reason cost
 * nothing, and the stack has not changed since the thread left the CPU.
 */

/* The row of @key. Returns NULL if there is no room, or the row is refused, as in row_hashed(). */
static __always_inline struct site_sums *site_row(const struct site_key *key)
{
	bool even = !live.epoch;
	struct site_sums *sums = ROWS_LOOKUP(even, site_rows, key);

	if (sums)
		return sums;
	if (!ROWS_INSERT(even, site_rows, key))
		row_made(&live.site_rows_made[!even], CONF(site_rows_limit));
	sums = ROWS_LOOKUP(even, site_rows, key);
	if (!sums)
		count_lost(LOST_MAP_FULL);
	return sums;
}

/* Thread @p, whose operation is @op, has slept @ns for an unknown reason. */
static __always_inline void site_note(const struct op *op, struct task_struct *p, u64 ns)
{
	struct site_key key = { .op = op->kind };
	struct site_sums *sums;

	if (op->progress != OP_BEGUN && op->progress != OP_FAULTS)
		key.fs = op->file.fs;
	/* the kernel leaves out functions of the scheduler and of locks (in_sched_functions()) */
	bpf_get_task_stack(p, key.at, sizeof(key.at), 0);
	sums = site_row(&key);
	if (!sums)
		return;
	atomic_add(&sums->count, 1);
	atomic_add(&sums->total_ns, ns);
	cell_max(&sums->max_ns, ns);
}

#endif
