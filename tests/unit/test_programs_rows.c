// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rows that operations are counted in: where they are looked for, which key they have, and the
 * names that go with them. In a machine that is made up; see kernel/machine.h.
 */
#include "kernel/machine.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, DISK_DEV = 8 << MINOR_BITS | 17 };

static struct kfile ext4, disk_file, no_storage;
static struct ktask alice, leader;
static const struct sent_who bob = { 1301, 1303, 8301, "bob" };

static int start(void **state)
{
	(void)state;
	machine_start();
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG);
	file_init(&disk_file, "devtmpfs", 5, 41, S_IFBLK);
	file_init(&no_storage, "pipefs", 12, 31, 0010000);
	disk_file.inode.i_rdev = DISK_DEV;
	task_init(&alice, 1103, 1109, "alice", 0);
	task_init(&leader, 1103, 1103, "leader", 0);
	alice.t.group_leader = &leader.t;
	alice.fd[2] = &ext4.f;
	alice.fd[6] = &disk_file.f;
	conf.file_details = 1;
	cpu_is(1, &alice);
	return 0;
}

static struct file_info info_of(struct kfile *f)
{
	return (struct file_info){
		.file = (u64)&f->f,
		.fs = (u64)&f->type,
		.ino = f->inode.i_ino,
		.dev = f->sb.s_dev,
		.generation = f->inode.i_generation,
		.mode = f->inode.i_mode,
	};
}

static void read_file(struct kfile *f, u64 ns)
{
	alice.fd[2] = &f->f;
	sys_enter(NR_READ, 2, 0, 4096, 0);
	vfs_in(OP_READ, f);
	tick(ns);
	vfs_out(OP_READ, 1);
	sys_exit(1);
}

/* Other rows take @n slots from @first on. */
static void rows_taken(u64 first, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		live.rows[(first + i) % ROW_SLOTS].fs = 7001 + i;
		live.rows[(first + i) % ROW_SLOTS].what = 1;
	}
}

/* A row takes the first slot that is free of the eight from its own on, and keeps it. */
static void test_slot_of_row(void **state)
{
	u64 fs = (u64)&ext4.type;
	u32 what = ROW_WHAT(0, OP_READ, 0), first;

	(void)state;
	first = slot_first(fs, what);
	assert_int_equal(slot_find(fs, what), first | SLOT_NEW);
	assert_int_equal(slot_find(fs, what), first);
	start(NULL);
	rows_taken(first, SLOT_SEARCH - 1);
	assert_int_equal(slot_find(fs, what), (first + SLOT_SEARCH - 1) % ROW_SLOTS | SLOT_NEW);
	assert_int_equal(slot_find(fs, what), (first + SLOT_SEARCH - 1) % ROW_SLOTS);
	start(NULL);
	rows_taken(first, SLOT_SEARCH);
	assert_int_equal(slot_find(fs, what), ROW_SLOTS);
	/* another CPU has claimed the first, which nobody can see yet */
	start(NULL);
	assert_int_equal(bpf_map_update_elem(&slots_taken, &first, &first, BPF_NOEXIST), 0);
	assert_int_equal(slot_find(fs, what), (first + 1) % ROW_SLOTS | SLOT_NEW);
}

/* A row without a free slot is in the hash. A thread remembers the slot of its last operation. */
static void test_row_without_slot(void **state)
{
	u64 fs = (u64)&ext4.type;
	u32 what = ROW_WHAT(0, OP_READ, 0), first;

	(void)state;
	first = slot_first(fs, what);
	rows_taken(first, 3);
	read_file(&ext4, 600);
	assert_int_equal(current_lookup()->row_slot, (first + 3) % ROW_SLOTS);
	assert_int_equal(map_count(&op_rows_even), 0);
	start(NULL);
	rows_taken(first, SLOT_SEARCH);
	read_file(&ext4, 600);
	assert_int_equal(map_count(&op_rows_even), 1);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

static u64 types_known(void)
{
	u64 n = 0;

	for (u32 i = 0; i < FS_SLOTS; i++)
		n += live.fs_types[i].fs != 0;
	return n;
}

static void types_taken(u64 first, u32 n)
{
	for (u32 i = 0; i < n; i++)
		live.fs_types[(first + i) % FS_SLOTS].fs = 7001 + i;
}

/* A file system type takes the first slot that is free of the eight from its own on. */
static void test_slot_of_type(void **state)
{
	u64 fs = (u64)&ext4.type, first;
	u32 key;

	(void)state;
	first = fs_slot(fs);
	assert_true(first < FS_SLOTS);
	assert_int_equal(fs_slot(fs), first);
	start(NULL);
	types_taken(first, SLOT_SEARCH - 1);
	assert_int_equal(fs_slot(fs), (first + SLOT_SEARCH - 1) % FS_SLOTS);
	assert_int_equal(fs_slot(fs), (first + SLOT_SEARCH - 1) % FS_SLOTS);
	start(NULL);
	types_taken(first, SLOT_SEARCH);
	assert_int_equal(fs_slot(fs), FS_SLOTS);
	start(NULL);
	key = ROW_SLOTS + first; /* claimed by another CPU just now */
	assert_int_equal(bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST), 0);
	assert_int_equal(fs_slot(fs), (first + 1) % FS_SLOTS);
}

/* A block device is of no type, nor is what has no file. */
static void test_no_type(void **state)
{
	(void)state;
	read_file(&disk_file, 60);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 1);
	assert_int_equal(ops_counted(OP_META, NULL).count, 1);
	assert_int_equal(types_known(), 0);
	assert_int_equal(map_count(&slots_taken), 2);
}

/* The functions of a type are those of the first regular file that is seen of it: all four of the
 * same file. */
static void test_functions_of_type(void **state)
{
	struct kfile another, directory;
	struct file_info f;
	volatile struct fs_entry *e;

	(void)state;
	file_init(&directory, "ext4", EXT4_DEV, 2, S_IFDIR);
	file_init(&another, "ext4", EXT4_DEV, 29, S_IFREG);
	another.fop = (struct file_operations){ (void *)0x50000, (void *)0x60000, (void *)0x70000,
						(void *)0x80000 };
	f = info_of(&directory);
	f.fs = (u64)&ext4.type;
	file_note_fs(&f);
	e = &live.fs_types[fs_slot(f.fs)];
	assert_int_equal(e->read_iter, 0);
	f.file = 0; /* as of a call that has no file, but tells the type */
	f.mode = S_IFREG;
	file_note_fs(&f);
	assert_int_equal(e->read_iter, 0);
	f = info_of(&ext4);
	file_note_fs(&f);
	assert_int_equal(e->read_iter, 0x10000);
	f.file = (u64)&another.f;
	file_note_fs(&f);
	assert_int_equal(e->read_iter, 0x10000);
	assert_int_equal(e->write_iter, 0x20000);
	assert_int_equal(e->fsync, 0x30000);
	assert_int_equal(e->open, 0x40000);
}

/* A type that finds no room is told once for each of its rows, not for each operation. */
static void test_no_room_for_type(void **state)
{
	(void)state;
	types_taken(0, FS_SLOTS);
	for (int i = 0; i < 3; i++) {
		read_file(&ext4, 60);
		sys_enter(NR_FSYNC, 2, 0, 0, 0);
		sys_exit(0);
	}
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 3);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).count, 3);
}

static void array_resize(struct kmap *m, u32 max)
{
	free(m->array);
	m->array = calloc(max, m->value_size);
	m->max = max;
}

/* CPUs whose numbers differ by HIST_CPUS share a histogram apart; the sums are each one's own. */
static void test_shared_histogram(void **state)
{
	struct slot_hist *h;

	(void)state;
	conf.hists_apart = 1;
	array_resize(map_of(&slot_cells), SLOT_CELLS(HIST_CPUS + 2));
	array_resize(map_of(&slot_hists), SLOT_CELLS(HIST_CPUS));
	read_file(&ext4, 600);
	cpu_is(HIST_CPUS + 1, &alice);
	read_file(&ext4, 600);
	h = (struct slot_hist *)map_of(&slot_hists)->array +
	    SLOT_CELL(1, 0, current_lookup()->row_slot);
	assert_int_equal(h->n[hist_bucket(600)], 2);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 2);
}

/* The only row in the hash. */
static const struct op_key *only_key(void)
{
	assert_int_equal(map_count(&op_rows_even), 1);
	return (const void *)map_of(&op_rows_even)->entries->key;
}

/* The key, with conf.by = @by, of an operation of bob's that current completes. */
static const struct op_key *key_of_bobs(enum by_key by)
{
	struct file_info f;

	start(NULL);
	conf.by = by;
	ext4.inode.i_generation = 31;
	f = info_of(&ext4);
	assert_non_null(row_hashed(&f, ROW_WHAT(17, OP_URING, CACHE_MISS), 600, &bob, !live.epoch));
	return only_key();
}

static void assert_key(const struct op_key *key, u64 by, u64 by2)
{
	assert_int_equal(key->by[0], by);
	assert_int_equal(key->by[1], by2);
}

static const struct thread_name *name_of(u64 id)
{
	assert_int_equal(map_count(&thread_names_even), 1);
	return bpf_map_lookup_elem(&thread_names_even, &id);
}

/* A request which another thread completes is in its submitter's row. A row for a file alone is the
 * file's. */
static void test_key_of_owner(void **state)
{
	u64 comm[2] = {};

	(void)state;
	memcpy(comm, "bob", 3);
	assert_key(key_of_bobs(BY_PID), 1301, 0);
	assert_string_equal(name_of(1301)->comm, "bob");
	assert_key(key_of_bobs(BY_TID), 1303, 0);
	assert_string_equal(name_of(1303)->comm, "bob");
	assert_key(key_of_bobs(BY_THREAD), 1301ULL << 32 | 1303, 0);
	assert_string_equal(name_of(1301ULL << 32 | 1303)->comm, "bob");
	assert_int_equal(name_of(1301ULL << 32 | 1303)->cgroup, 8301);
	assert_key(key_of_bobs(BY_COMM), comm[0], comm[1]);
	assert_key(key_of_bobs(BY_CGROUP), 8301, 0);
	assert_key(key_of_bobs(BY_DEV), EXT4_DEV, 0);
	assert_key(key_of_bobs(BY_FILE), 31ULL << 32 | EXT4_DEV, 23);
	assert_key(key_of_bobs(BY_NONE), 0, 0);
}

/* A row in the hash has all of the key, and a bucket of the histogram. */
static void test_whole_key(void **state)
{
	const struct op_key *key;

	(void)state;
	key = key_of_bobs(BY_TID);
	assert_int_equal(key->fs, (u64)&ext4.type);
	assert_int_equal(key->call, 17);
	assert_int_equal(key->op, OP_URING);
	assert_int_equal(key->cache, CACHE_MISS);
	assert_int_equal(key->bucket, hist_bucket(600));
}

/* Only rows of threads and processes need the names of threads, and only rows of files those of
 * files; a cgroup goes only with --by task. */
static void test_which_names(void **state)
{
	struct thread_name *n;

	(void)state;
	for (int by = BY_NONE; by <= BY_THREAD; by++) {
		start(NULL);
		conf.by = by;
		conf.row_slots = 0;
		read_file(&ext4, 600);
		assert_int_equal(map_count(&op_rows_even), 1);
		assert_int_equal(map_count(&file_names_even), by == BY_FILE);
		assert_int_equal(map_count(&thread_names_even), BY_NAMES_THREADS(by));
		if (!BY_NAMES_THREADS(by))
			continue;
		n = (void *)map_of(&thread_names_even)->entries->value;
		assert_string_equal(n->comm, by == BY_PID ? "leader" : "alice");
		assert_int_equal(n->cgroup, by == BY_THREAD ? 8103 : 0);
	}
}

/* A thread outside of the tool's pid namespace has the id 0 there, and no name. */
static void test_names_outside(void **state)
{
	struct ktask outside;

	(void)state;
	conf.by = BY_TID;
	conf.row_slots = 0;
	conf.pidns_ino = 1;
	task_init(&outside, 911, 919, "outside", 0);
	outside.fd[2] = &ext4.f;
	cpu_is(1, &outside);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	sys_exit(0);
	assert_key(only_key(), 0, 0);
	assert_int_equal(map_count(&thread_names_even), 0);
	cpu_is(1, &alice);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	sys_exit(0);
	assert_string_equal(name_of(109)->comm, "alice");
}

/* The names of threads are in the epoch that is current. */
static void test_names_by_epoch(void **state)
{
	u64 id = 1109;

	(void)state;
	conf.by = BY_TID;
	live.epoch = 1;
	row_name_submitter(id);
	assert_int_equal(map_count(&thread_names_even), 0);
	assert_non_null(bpf_map_lookup_elem(&thread_names_odd, &id));
	strcpy(alice.t.comm, "renamed");
	row_name_submitter(id);
	assert_int_equal(map_count(&thread_names_even), 0);
	assert_string_equal(
		((struct thread_name *)bpf_map_lookup_elem(&thread_names_odd, &id))->comm,
		"renamed");
}

/* An epoch keeps the first name of a process that it saw. */
static void test_name_of_process(void **state)
{
	(void)state;
	conf.by = BY_PID;
	row_name_submitter(1103);
	strcpy(leader.t.comm, "renamed");
	strcpy(alice.t.comm, "other");
	row_name_submitter(1103);
	assert_string_equal(name_of(1103)->comm, "leader");
}

/* A row for a file of which nothing is known has no name that could be read. */
static void test_no_file_to_name(void **state)
{
	struct file_info f;

	(void)state;
	conf.by = BY_FILE;
	f = info_of(&ext4);
	f.file = 0;
	assert_non_null(row_hashed(&f, ROW_WHAT(0, OP_READ, 0), 600, NULL, !live.epoch));
	assert_int_equal(map_count(&file_names_even), 0);
	f = info_of(&ext4);
	f.ino = 0;
	assert_non_null(row_hashed(&f, ROW_WHAT(0, OP_READ, 0), 600, NULL, !live.epoch));
	assert_int_equal(map_count(&file_names_even), 0);
	assert_int_equal(map_count(&op_rows_even), 2);
}

/* An inode, and what lies before and after it where a file system has more. */
struct around {
	u64 root;
	struct inode inode;
	struct dentry *upper;
};

static struct file_info identified(u64 magic, struct around *a)
{
	struct file_info f = { .dev = 7, .generation = 31 };

	file_identify(&f, magic, (u64)&a->inode);
	return f;
}

/* A file of btrfs is known by its subvolume's device, one of overlayfs by the generation of the
 * upper layer's inode; of any other file system that memory is something else. */
static void test_identities(void **state)
{
	struct {
		u64 pad, dev;
	} subvolume = { .dev = 4211 };
	struct inode upper_inode = { .i_generation = 37 };
	struct dentry upper = { .d_inode = &upper_inode };
	struct around a = { .root = (u64)&subvolume, .upper = &upper };

	(void)state;
	conf.btrfs_root = offsetof(struct around, inode);
	conf.btrfs_dev = 8;
	conf.overlay_upper = offsetof(struct around, upper) - offsetof(struct around, inode);
	assert_int_equal(identified(0xef53, &a).dev, 7);
	assert_int_equal(identified(0xef53, &a).generation, 31);
	assert_int_equal(identified(BTRFS_SUPER_MAGIC, &a).dev, 4211);
	assert_int_equal(identified(BTRFS_SUPER_MAGIC, &a).generation, 31);
	assert_int_equal(identified(OVERLAYFS_SUPER_MAGIC, &a).dev, 7);
	assert_int_equal(identified(OVERLAYFS_SUPER_MAGIC, &a).generation, 37);
	a.upper = NULL; /* it is in a lower layer only */
	assert_int_equal(identified(OVERLAYFS_SUPER_MAGIC, &a).generation, 0);
	/* where the kernel's types do not tell where that is, it is not looked for */
	a.upper = &upper;
	conf.btrfs_dev = conf.overlay_upper = 0;
	assert_int_equal(identified(BTRFS_SUPER_MAGIC, &a).dev, 7);
	assert_int_equal(identified(OVERLAYFS_SUPER_MAGIC, &a).generation, 31);
}

/* A file of overlayfs is on the disk of the upper layer, or else of the layer that was opened. */
static void test_disk_of_overlayfs(void **state)
{
	struct inode upper_inode;
	struct dentry upper = { .d_inode = &upper_inode };
	struct around a = { .upper = &upper };
	struct kfile lower, over;
	struct file *opened[] = { &lower.f };
	struct super_block upper_sb = { .s_dev = DEV_OF(8, 17) };

	(void)state;
	upper_inode = (struct inode){ .i_sb = &upper_sb };
	file_init(&lower, "ext4", DEV_OF(8, 1), 23, S_IFREG);
	file_init(&over, "overlay", 55, 37, S_IFREG);
	over.sb.s_magic = OVERLAYFS_SUPER_MAGIC;
	over.f.private_data = &lower.f;
	assert_int_equal(overlay_disk((u64)&over.f, (u64)&over.inode, S_IFREG), DEV_OF(8, 1));
	assert_int_equal(overlay_disk((u64)&over.f, (u64)&over.inode, S_IFDIR), 0);
	over.f.private_data = opened;
	conf.overlay_file = 1;
	assert_int_equal(overlay_disk((u64)&over.f, (u64)&over.inode, S_IFREG), DEV_OF(8, 1));
	conf.overlay_upper = offsetof(struct around, upper) - offsetof(struct around, inode);
	assert_int_equal(overlay_disk((u64)&over.f, (u64)&a.inode, S_IFDIR), DEV_OF(8, 17));
	a.upper = NULL;
	assert_int_equal(overlay_disk((u64)&over.f, (u64)&a.inode, S_IFREG), DEV_OF(8, 1));
	/* the filter by device */
	conf.overlay_upper = 0;
	conf.n_devs = conf.file_filter = conf.file_details = 1;
	lists.devs[0] = DEV_OF(8, 1);
	assert_true(file_learn(&(struct file_info){}, file_look(&over.f, true), true));
	lists.devs[0] = DEV_OF(8, 17);
	assert_false(file_learn(&(struct file_info){}, file_look(&over.f, true), true));
	lists.devs[0] = 55;
	assert_true(file_learn(&(struct file_info){}, file_look(&over.f, true), true));
}

/* A row that the kernel refuses is none that has to be drained. */
static void test_refused_row(void **state)
{
	(void)state;
	conf.row_slots = 0;
	conf.op_rows_limit = 1;
	map_of(&op_rows_even)->refusals = 1;
	read_file(&ext4, 600);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(live.op_rows_made[0], 0);
	assert_int_equal(live.drain_wanted, 0);
	assert_int_equal(wakeups_usual, 0);
	read_file(&ext4, 600);
	assert_int_equal(live.op_rows_made[0], 1);
	assert_int_equal(live.drain_wanted, 1);
	assert_int_equal(wakeups_usual, 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_slot_of_row),       TEST(test_row_without_slot),
		TEST(test_slot_of_type),      TEST(test_no_type),
		TEST(test_functions_of_type), TEST(test_no_room_for_type),
		TEST(test_shared_histogram),  TEST(test_key_of_owner),
		TEST(test_whole_key),         TEST(test_which_names),
		TEST(test_names_outside),     TEST(test_names_by_epoch),
		TEST(test_name_of_process),   TEST(test_no_file_to_name),
		TEST(test_identities),        TEST(test_disk_of_overlayfs),
		TEST(test_refused_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
