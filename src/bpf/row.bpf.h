/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * row.bpf.h - which row an operation or a timed call is added to, found or made.
 *
 * Without --by there are few rows. Each takes one of the slots near the one that its key hashes to,
 * and has a cell per CPU and interval there; a thread remembers its last. A row that finds no slot
 * free is in a hash, as are all with --by.
 */
#ifndef IOSTRATA_ROW_BPF_H
#define IOSTRATA_ROW_BPF_H

#include "task.bpf.h"

#define S_IFMT	0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000

/* The high bit of a file's device: it is that block device, not a file on it. */
static __always_inline u64 file_dev(u32 dev, u16 mode)
{
	return dev | ((mode & S_IFMT) == S_IFBLK ? 1ULL << 32 : 0);
}

/* Names of @file from the leaf up, each ended by a NUL. */
static __always_inline void file_name_read(struct file_name *name, u64 file, u64 ino)
{
	struct dentry *d = BPF_CORE_READ((struct file *)file, f_path.dentry), *up;
	u32 off = 0;
	long n;

	name->len = 0;
	name->complete = 0;
	if (BPF_CORE_READ(d, d_inode, i_ino) != ino)
		return;
	for (int i = 0; i < PATH_DEPTH; i++) {
		up = BPF_CORE_READ(d, d_parent);
		if (up == d) {
			name->complete = 1;
			break;
		}
		if (off > PATH_BYTES / 2 - 1)
			break;
		n = bpf_probe_read_kernel_str(name->names + (off & (PATH_BYTES / 2 - 1)),
					      PATH_BYTES / 2, BPF_CORE_READ(d, d_name.name));
		if (n <= 0)
			break;
		off += n;
		d = up;
	}
	name->len = off;
}

/* The slot of a file system type, with its name; FS_SLOTS if there is none. */
static __always_inline u64 fs_slot(u64 fs)
{
	u64 slot = low_half(fs) / 64; /* how far such objects are apart */
	u32 key;

	for (u32 i = 0; i < SLOT_SEARCH; i++, slot++) {
		barrier_var(slot);
		slot %= FS_SLOTS; /* for the verifier */
		if (live.fs_seen[slot].fs == fs)
			return slot;
		key = ROW_SLOTS + slot;
		if (live.fs_seen[slot].fs ||
		    bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST))
			continue;
		bpf_probe_read_kernel_str((char *)live.fs_seen[slot].name, FS_NAME_LEN,
					  BPF_CORE_READ((struct file_system_type *)fs, name));
		live.fs_seen[slot].fs = fs;
		return slot;
	}
	return FS_SLOTS;
}

/* Remembers what a file system type is called and which functions it reads and writes with. */
static __always_inline void fs_note(u64 fs, u64 file, u16 mode)
{
	struct file_operations *fop;
	volatile struct fs_seen *seen;
	u64 slot;

	if (fs <= FS_BDEV)
		return;
	slot = fs_slot(fs);
	if (slot >= FS_SLOTS) {
		count_lost(LOST_MAP_FULL);
		return;
	}
	seen = &live.fs_seen[slot];
	if (seen->read_iter || !file || (mode & S_IFMT) != S_IFREG)
		return;
	fop = BPF_CORE_READ((struct file *)file, f_op);
	seen->write_iter = (u64)BPF_CORE_READ(fop, write_iter);
	seen->fsync = (u64)BPF_CORE_READ(fop, fsync);
	seen->open = (u64)BPF_CORE_READ(fop, open);
	seen->read_iter = (u64)BPF_CORE_READ(fop, read_iter); /* last: now they are valid */
}

static __always_inline bool slot_is_of(u64 slot, u64 fs, u32 what)
{
	return live.rows[slot].what == what && live.rows[slot].fs == fs;
}

/*
 * The slot of a row; ROW_SLOTS if it has none and gets none. Two CPUs that meet a row for the first
 * time may give it two slots: whoever reads the cells adds them up.
 */
static __always_inline u64 slot_find(u64 fs, u32 what, bool *ret_new)
{
	u64 slot = (what ^ what >> 14 ^ fs ^ fs >> 6) % ROW_SLOTS;
	u32 key;

	*ret_new = false;
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
		live.rows[slot].what = what; /* last: now it is valid */
		*ret_new = true;
		return slot;
	}
	return ROW_SLOTS;
}

/* @slot is a guess, and is set right. NULL if the row must be looked for in the hash. */
static __always_inline struct op_cell *row_direct(const struct row_file *f, u32 what, u8 *slot)
{
	u64 i = *slot % ROW_SLOTS;
	bool is_new;
	u32 cell;

	if (!slot_is_of(i, f->fs, what)) {
		i = slot_find(f->fs, what, &is_new);
		if (i >= ROW_SLOTS)
			return NULL;
		*slot = i;
		if (is_new)
			fs_note(f->fs, f->file, f->mode);
	}
	cell = DIRECT_CELL(current_cpu(), live.epoch, i);
	return bpf_map_lookup_elem(&direct_cells, &cell);
}

static __always_inline void key_set_by(struct op_key *key, const struct row_file *f)
{
	switch (CONF(by)) {
	case BY_PID:
		key->by[0] = current_pid_tgid() >> 32;
		break;
	case BY_COMM:
		bpf_get_current_comm(key->by, sizeof(key->by));
		break;
	case BY_FILE:
		key->by[0] = file_dev(f->dev, f->mode);
		key->by[1] = f->ino;
		break;
	case BY_CGROUP:
		key->by[0] = bpf_get_current_cgroup_id();
		break;
	case BY_DEV:
		key->by[0] = f->dev;
		break;
	}
}

/* A new row, and what user space needs to name it. */
static __always_inline struct op_cell *row_create(const struct op_key *key,
						  const struct row_file *f)
{
	struct file_id id = { file_dev(f->dev, f->mode), f->ino };
	struct file_name *name;

	fs_note(f->fs, f->file, f->mode);
	bpf_map_update_elem(&op_cells, key, zeroes, BPF_NOEXIST);
	if (CONF(by) == BY_FILE && f->file && f->ino &&
	    !bpf_map_update_elem(&file_names, &id, zeroes, BPF_NOEXIST)) {
		name = bpf_map_lookup_elem(&file_names, &id);
		if (name)
			file_name_read(name, f->file, f->ino);
	}
	return bpf_map_lookup_elem(&op_cells, key);
}

static __always_inline struct op_cell *row_hashed(const struct row_file *f, u32 what)
{
	struct op_key key = {};
	struct op_cell *cell;

	key.fs = f->fs;
	key.call = WHAT_CALL(what);
	key.op = WHAT_OP(what);
	key.cache = WHAT_CACHE(what);
	key.epoch = live.epoch;
	key_set_by(&key, f);
	cell = bpf_map_lookup_elem(&op_cells, &key);
	if (!cell)
		cell = row_create(&key, f);
	if (!cell)
		count_lost(LOST_MAP_FULL);
	return cell;
}

/* The row of an operation, which is of ROW_WHAT() @what. NULL: no room. */
static __always_inline struct op_cell *row_find(const struct row_file *f, u32 what, u8 *slot)
{
	struct op_cell *cell = NULL;

	if (CONF(direct))
		cell = row_direct(f, what, slot);

	return likely(cell) ? cell : row_hashed(f, what);
}

#endif
