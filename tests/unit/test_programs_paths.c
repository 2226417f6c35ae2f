// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on calls by path: which file a call has, by what the kernel's look-up
 * tells, or by the path as given where nothing tells. In a machine that is made up; see
 * kernel/machine.h.
 */
#include "host/path.h"
#include "kernel/machine.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, XFS_DEV = 8 << MINOR_BITS | 17 };
enum {
	NR_CONNECT = 42,
	NR_BIND = 49,
	NR_EXECVE = 59,
	NR_UNLINK = 87,
	NR_NEWFSTATAT = 262,
	CWD = -100
};
enum { NO_ENT = -2, ACCES = -13 };

static struct kfile ext4, xfs;
static struct inode ext4_root;
static struct ktask alice;
static struct fs_struct alice_fs;
static struct filename filename;
static struct nameidata nd;

/* Thread alice works in /mnt, the root of ext4, whose inode is 19. */
static int start(void **state)
{
	unsigned short made[CALL_MAX] = {
		[NR_STAT] = CALL_DESC(OP_META, FILE_NONE),
		[NR_OPEN] = CALL_DESC(OP_OPEN, FILE_RESULT),
		[NR_EXECVE] = CALL_DESC(OP_EXEC, FILE_RESULT),
		[NR_UNLINK] = CALL_DESC(OP_META, FILE_NONE),
		[NR_NEWFSTATAT] = CALL_DESC(OP_META, FILE_NONE),
		[NR_CONNECT] = CALL_DESC(OP_META, FILE_BY_ARGS),
		[NR_BIND] = CALL_DESC(OP_META, FILE_BY_ARGS),
	};
	unsigned short where[CALL_MAX] = {
		[NR_STAT] = OFFSET_PATH,          [NR_OPEN] = OFFSET_AT_PATH,
		[NR_EXECVE] = OFFSET_PATH,        [NR_UNLINK] = OFFSET_PARENT,
		[NR_NEWFSTATAT] = OFFSET_AT_PATH, [NR_CONNECT] = OFFSET_SOCKET_PATH,
		[NR_BIND] = OFFSET_SOCKET_PARENT,
	};

	(void)state;
	machine_start();
	data_set(calls, made, sizeof(made));
	data_set(call_offsets, where, sizeof(where));
	conf.records = conf.call_noted = conf.file_details = conf.rings = conf.paths = 1;
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG);
	file_init(&xfs, "xfs", XFS_DEV, 29, S_IFREG);
	ext4_root = (struct inode){ .i_mode = S_IFDIR, .i_sb = &ext4.sb, .i_ino = 19 };
	ext4.root.d_inode = &ext4_root;
	ext4.root.d_name.hash = 1009;
	ext4.dentry.d_name.hash = 1013;
	task_init(&alice, 1100, 1101, "alice", 0);
	alice.fd[3] = &xfs.f;
	alice_fs = root_fs;
	alice_fs.pwd = (struct path){ &ext4.mount.mnt, &ext4.root };
	alice.t.fs = &alice_fs;
	cpu_is(1, &alice);
	return 0;
}

/* The look-up of @path is at @d, of ext4; the last name that it looked up is @last, a part of
 * @path, or of a link. */
static void walk_is(const char *path, struct dentry *d, const char *last, u32 hash)
{
	filename.name = path;
	nd = (struct nameidata){ .path = { &ext4.mount.mnt, d },
				 .last = { .hash = hash, .name = (const u8 *)last },
				 .inode = d->d_inode,
				 .name = &filename };
}

static void found(void)
{
	if (conf.file_details)
		on_walk_found((u64[]){ (u64)&nd });
	nd.path = (struct path){};
	on_walk_over((u64[]){ (u64)&nd });
}

static void failed(void)
{
	on_walk_over((u64[]){ (u64)&nd });
}

/* Current's call returns @ret. Asserts that its file is @path on @dev, and that @ino is its inode,
 * or that it has none (0). Returns the record. */
static const struct slow_op *ended(long ret, const char *path, u32 dev, u64 ino)
{
	const struct slow_op *op;
	char text[1024];

	tick(7);
	sys_exit(ret);
	op = newest_record();
	assert_int_equal(op->total_ns, 7);
	path_join(text, sizeof(text), &op->file);
	assert_string_equal(text, path);
	assert_int_equal(op->dev, dev);
	if (ino)
		assert_int_equal(op->ino, ino);
	else
		assert_true(op->ino > 1000);
	assert_int_equal(op->fs, dev == EXT4_DEV ? (u64)&ext4.type
				 : dev           ? (u64)&xfs.type
						 : FS_UNKNOWN);
	return op;
}

/* A file that was found: the first one, if the call looks up several. */
static void test_found(void **state)
{
	static const char path[] = "/mnt/../mnt/file";

	(void)state;
	sys_enter(NR_STAT, (u64)path, 0, 0, 0);
	walk_is(path, &ext4.dentry, path + 12, 1013);
	found();
	walk_is(path, &ext4.root, path + 8, 1009);
	found();
	failed();
	assert_int_equal(ended(0, "/mnt/file", EXT4_DEV, 23)->file.complete, 1);
	/* nothing remains for the next call */
	sys_enter(NR_STAT, (u64) "/other", 0, 0, 0);
	ended(0, "/other", 0, 0);
	/* a thread in no call looks up nothing */
	walk_is(path, &ext4.dentry, path + 12, 1013);
	found();
	assert_int_equal(ops_counted(OP_META, NULL).count, 2);
	assert_int_equal(lost_all(), 0);
}

/* The path of a socket stands in its address, behind two bytes. */
static void test_sockets(void **state)
{
	static const struct {
		unsigned short family;
		char path[30];
	} address = { 1, "d/.//mnt/file" };

	(void)state;
	sys_enter(NR_CONNECT, 3, (u64)&address, sizeof(address), 0);
	walk_is(address.path, &ext4.dentry, address.path + 9, 1013);
	found();
	ended(-11 /* EAGAIN */, "/mnt/file", EXT4_DEV, 23);
	/* without a look-up, the path as given */
	sys_enter(NR_CONNECT, 3, (u64)&address, sizeof(address), 0);
	ended(0, "/mnt/d/mnt/file", EXT4_DEV, 0);
	sys_enter(NR_BIND, 3, (u64)&address, sizeof(address), 0);
	walk_is(address.path, &ext4.root, address.path + 9, 1009);
	found();
	ended(0, "/mnt/file", EXT4_DEV, 0);
}

/* Calls that make or remove a name: it is below the directory that was found, also if both have the
 * same name. */
static void test_parent(void **state)
{
	static const char path[] = "d/.//mnt/";
	const struct slow_op *op;

	(void)state;
	sys_enter(NR_UNLINK, (u64)path, 0, 0, 0);
	walk_is(path, &ext4.root, path + 5, 1009);
	found();
	op = ended(0, "/mnt/mnt", EXT4_DEV, 0);
	assert_int_equal(op->file.deleted, 0);
	assert_int_equal(op->file.directory, inode_hash(19));
}

/* A file that is not there has the rest of the path, below the directory that was found last. */
static void test_missing(void **state)
{
	static const char path[] = "/link/no/such";
	u64 kinds[] = { NR_STAT, NR_OPEN, NR_EXECVE }, first = 0;
	const struct slow_op *op;

	(void)state;
	for (int i = 0; i < 3; i++) {
		if (kinds[i] == NR_OPEN)
			sys_enter(NR_OPEN, CWD, (u64)path, 0, 0);
		else
			sys_enter(kinds[i], (u64)path, 0, 0, 0);
		walk_is(path, &ext4.root, path + 6, 1019);
		failed();
		op = ended(NO_ENT, "/mnt/no/such", EXT4_DEV, 0);
		assert_int_equal(op->file.deleted, NAME_MISSING);
		first = first ? first : op->ino;
		assert_int_equal(op->ino, first);
	}
	/* another path is another file, and so is one that is there by now */
	sys_enter(NR_STAT, (u64) "/link/no/such2", 0, 0, 0);
	walk_is(path, &ext4.root, path + 6, 1019);
	failed();
	assert_int_not_equal(ended(NO_ENT, "/mnt/no/such2", EXT4_DEV, 0)->ino, first);
	sys_enter(NR_UNLINK, (u64)path, 0, 0, 0);
	walk_is(path, &ext4.root, path + 6, 1019);
	found();
	assert_int_not_equal(ended(0, "/mnt/no/such", EXT4_DEV, 0)->ino, first);
}

/* A file that refuses to be opened is the one where the look-up ended. */
static void test_refused(void **state)
{
	static const char path[] = "/mnt/file";

	(void)state;
	sys_enter(NR_OPEN, CWD, (u64)path, 0, 0);
	walk_is(path, &ext4.dentry, path + 5, 1013);
	failed();
	ended(ACCES, "/mnt/file", EXT4_DEV, 23);
}

/* A link that leads nowhere: the path as given, on the file system where its look-up ended. */
static void test_link(void **state)
{
	static const struct {
		char path[PATH_MAX], link[16];
	} in = { "link", "/mnt/nowhere" };

	(void)state;
	sys_enter(NR_OPEN, CWD, (u64)in.path, 0, 0);
	walk_is(in.path, &ext4.root, in.link + 5, 1019);
	failed();
	assert_int_equal(ended(NO_ENT, "/mnt/link", EXT4_DEV, 0)->file.deleted, NAME_MISSING);
}

/* Where no function tells: the path as given, below its directory; an empty path is that. */
static void test_as_given(void **state)
{
	static char is_long[PATH_BYTES + 11];

	(void)state;
	sys_enter(NR_OPEN, CWD, (u64) "./a//b/", 0, 0);
	ended(NO_ENT, "/mnt/a/b", EXT4_DEV, 0);
	sys_enter(NR_OPEN, 3, (u64) "../b", 0, 0);
	ended(NO_ENT, "/mnt/file/../b", XFS_DEV, 0);
	sys_enter(NR_OPEN, 3, (u64) "/etc/b", 0, 0);
	ended(NO_ENT, "/etc/b", 0, 0);
	sys_enter(NR_NEWFSTATAT, 3, (u64) "", 0, 0);
	ended(0, "/mnt/file", XFS_DEV, 29);
	sys_enter(NR_STAT, (u64) "/", 0, 0, 0);
	ended(0, "/", 0, 0);
	/* no path that can be read, and one that is too long: no name */
	sys_enter(NR_STAT, 7, 0, 0, 0);
	tick(7);
	sys_exit(-14);
	assert_int_equal(newest_record()->ino, 0);
	memset(is_long, 'x', sizeof(is_long) - 1);
	sys_enter(NR_STAT, (u64)is_long, 0, 0, 0);
	ended(NO_ENT, "", EXT4_DEV, 0);
	assert_int_equal(newest_record()->file.nameless, 1);
}

/* Filters by disk and by directory choose calls by path. */
static void test_filters(void **state)
{
	static const char path[] = "/mnt/no";
	u64 chosen[][2] = { { EXT4_DEV, 19 }, { XFS_DEV, 19 }, { EXT4_DEV, 17 } };

	(void)state;
	conf.file_filter = conf.n_files = conf.has_dirs = 1;
	for (u64 i = 0; i < 3; i++) {
		lists.files[0] = (struct filter_file){ chosen[i][1], chosen[i][0], 1 };
		sys_enter(NR_STAT, (u64)path, 0, 0, 0);
		walk_is(path, &ext4.root, path + 5, 1019);
		failed();
		sys_exit(NO_ENT);
		assert_int_equal(ops_counted(OP_META, NULL).count, 1);
	}
	conf.n_files = 0;
	conf.n_devs = 1;
	for (u64 i = 0; i < 2; i++) {
		lists.devs[0] = chosen[i][0];
		sys_enter(NR_UNLINK, (u64)path, 0, 0, 0);
		walk_is(path, &ext4.root, path + 5, 1019);
		found();
		sys_exit(0);
		/* where it is not known, it is not on the disk asked for */
		sys_enter(NR_STAT, (u64)path, 0, 0, 0);
		sys_exit(0);
		assert_int_equal(ops_counted(OP_META, NULL).count, 2);
	}
	assert_int_equal(lost_all(), 0);
}

/* Current's call returns @ret. Returns the number of operations of @kind on @fs. */
static u64 counted(long ret, u32 kind, u64 fs)
{
	struct kmap *cells = map_of(&slot_cells);
	u64 n = 0;

	tick(7);
	sys_exit(ret);
	for (u32 i = 0; i < cells->max; i++)
		if (live.rows[i % ROW_SLOTS].fs == fs &&
		    WHAT_OP(live.rows[i % ROW_SLOTS].what) == kind)
			n += ((struct op_cell *)cells->array)[i].sums.count;
	return n;
}

/* Without rows, names and filters of files the file system is known, by one program. */
static void test_file_system_alone(void **state)
{
	static const char path[] = "/mnt/file";

	const u64 on_ext4 = (u64)&ext4.type, on_xfs = (u64)&xfs.type;

	(void)state;
	conf.records = conf.file_details = 0;
	sys_enter(NR_STAT, (u64)path, 0, 0, 0);
	walk_is(path, &xfs.dentry, path + 5, 1013); /* has to begin again, as after -ECHILD */
	failed();
	walk_is(path, &ext4.dentry, path + 5, 1013);
	found();
	walk_is(path, &xfs.dentry, path + 5, 1013);
	found();
	failed();
	assert_int_equal(counted(0, OP_META, on_ext4), 1);
	/* the directory at which a look-up failed */
	sys_enter(NR_OPEN, CWD, (u64)path, 0, 0);
	walk_is(path, &ext4.root, path + 5, 1019);
	failed();
	assert_int_equal(counted(NO_ENT, OP_OPEN, on_ext4), 1);
	/* an open has no place only if its look-up did not begin */
	sys_enter(NR_OPEN, 3, (u64) "file", 0, 0);
	walk_is(path, &ext4.root, path + 5, 1019);
	found();
	assert_int_equal(counted(NO_ENT, OP_OPEN, on_xfs), 1);
	/* no look-up, or one below what is no directory: by the path as given */
	sys_enter(NR_STAT, (u64) "/other", 0, 0, 0);
	assert_int_equal(counted(NO_ENT, OP_META, FS_UNKNOWN), 1);
	sys_enter(NR_NEWFSTATAT, 3, (u64) "file", 0, 0);
	walk_is(path, &ext4.root, path + 5, 1019);
	found();
	assert_int_equal(counted(-20, OP_META, on_xfs), 1);
	sys_enter(NR_NEWFSTATAT, 3, (u64) "file", 0, 0);
	walk_is(path, &ext4.root, path + 5, 1019);
	found();
	assert_int_equal(counted(-9, OP_META, on_xfs), 2);
	sys_enter(NR_NEWFSTATAT, 3, (u64) "", 0, 0);
	assert_int_equal(counted(0, OP_META, on_xfs), 3);
	assert_int_equal(lost_all(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_sockets, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_parent, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_missing, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_refused, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_link, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_as_given, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_filters, start, machine_stop),
		cmocka_unit_test_setup_teardown(test_file_system_alone, start, machine_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
