// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests which nfsd serves, by the programs of src/bpf in a machine that is made up: which are
 * operations, on which file, for which client, and for how long.
 */
#include <stddef.h>

#include "kernel/machine.h"

enum { SIZE = 4096, LOCK_PROGRAM = 100021 };

/* Members of the kernel's structures which the programs read. */
struct reply {
	u32 status; /* in the order of the network */
	u32 pad;
};

struct served_request {
	u64 before;
	u8 client[128]; /* struct sockaddr_storage */
	u32 program, version;
	u32 xid, pad; /* in the order of the network */
	const struct reply *reply;
	u64 after;
};

struct opened {
	u64 before;
	struct file *file;
};

static struct ktask nfsd, client_thread;
static struct kfile file, other, pipe_end;
static struct served_request rqst;
static struct reply reply;
static struct opened opened;

static void start(void)
{
	machine_start();
	conf.served = 1;
	conf.at.svc_program = offsetof(struct served_request, program);
	conf.at.svc_version = offsetof(struct served_request, version);
	conf.at.svc_result = offsetof(struct served_request, reply);
	conf.at.svc_client = offsetof(struct served_request, client);
	conf.at.nfsd_file = offsetof(struct opened, file);
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	file_init(&other, "xfs", 8 << MINOR_BITS | 2, 29, S_IFREG);
	file_init(&pipe_end, "pipefs", 11, 31, 0010000);
	task_init(&nfsd, 1103, 1103, "nfsd", PF_KTHREAD);
	task_init(&client_thread, 1200, 1200, "client", 0);
	reply = (struct reply){ 0 };
	rqst = (struct served_request){ .program = NFS_PROGRAM, .version = 3, .reply = &reply };
	opened = (struct opened){ .file = &file.f };
	cpu_is(1, &nfsd);
}

static void begins(void)
{
	EVENT(on_serve, &rqst);
	tick(3);
}

static void ends(void)
{
	tick(5);
	EVENT(on_served, &rqst);
}

static void moved(int (*program)(u64 *ctx), u32 bytes)
{
	RUN(program, ((u64[8]){ (u64)&rqst, 0, 0, bytes }));
}

static void opens(int (*program)(u64 *ctx), const void *what)
{
	RUN(program, ((u64[8]){ (u64)&rqst, 0, (u64)what }));
}

/* Whether a slot is of a row of the file system of @f. */
static bool has_slot(const struct kfile *f)
{
	for (int i = 0; i < ROW_SLOTS; i++)
		if (live.rows[i].fs == (u64)&f->type)
			return true;
	return false;
}

/* A kernel thread writes as a call does; its waits have their strata. */
static void test_write(void **state)
{
	struct op_sums s;

	(void)state;
	start();
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	tick(7);
	opens(on_nfsd_vfs_write, &opened);
	vfs_in(OP_WRITE, &file);
	tick(11);
	fs_in(OP_WRITE, &file);
	tick(13);
	switch_to(&idle[1], true);
	tick(17);
	machine.level = 0x10000;
	wake(&nfsd);
	machine.level = 0;
	tick(19);
	switch_to(&nfsd, false);
	tick(23);
	fs_out(OP_WRITE, SIZE);
	tick(29);
	vfs_out(OP_WRITE, SIZE);
	moved(on_nfsd_wrote, SIZE);
	ends();
	assert_ops(OP_SERVED, 1, 3 + 7 + 11 + 13 + 17 + 19 + 23 + 29 + 5,
		   (u64[ST_N]){ [ST_SYSCALL] = 3 + 7 + 5,
				[ST_VFS] = 11 + 29,
				[ST_FS] = 13 + 23,
				[ST_SLEEP] = 17,
				[ST_RUNQ] = 19 });
	s = ops_counted(OP_SERVED, NULL);
	assert_int_equal(s.bytes, SIZE);
	assert_int_equal(s.errors, 0);
	assert_int_equal(lost_all(), 0);
	assert_true(has_slot(&file));
}

/* Another service, and a request which nfsd is not asked to execute, are no operations. */
static void test_not_nfsd(void **state)
{
	(void)state;
	start();
	rqst.program = LOCK_PROGRAM;
	begins();
	ends();
	ends();
	rqst.program = NFS_PROGRAM;
	begins();
	ends();
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 0);
	assert_int_equal(lost_all(), 0);
}

/* Whether a row of requests is of the file system of @f. */
static bool has_fs(const struct kfile *f)
{
	struct kmap *hashes[] = { map_of(&op_rows_even), map_of(&op_rows_odd) };

	for (int h = 0; h < 2; h++)
		for (struct entry *e = hashes[h]->entries; e; e = e->hh.next)
			if (((const struct op_key *)e->key)->fs == (u64)&f->type)
				return true;
	return false;
}

/* The first file counts, if it is one at all. */
static void test_file(void **state)
{
	(void)state;
	start();
	conf.row_slots = 0;
	conf.by = BY_FILE;
	conf.file_details = 1;
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	opens(on_nfsd_splice_read, &pipe_end.f);
	opens(on_nfsd_readv, &other.f);
	opens(on_nfsd_commit, &opened);
	ends();
	assert_true(has_fs(&other));
	assert_false(has_fs(&file));
	opened.file = &other.f;
	opens(on_nfsd_iter_read, &opened); /* in no request */
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	ends();
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 2);
}

static void test_file_filter(void **state)
{
	(void)state;
	start();
	conf.file_filter = conf.file_details = 1;
	conf.n_devs = lists.n_devs = 1;
	lists.devs[0] = file.sb.s_dev;
	for (int i = 0; i < 3; i++) {
		begins();
		EVENT(on_nfsd_dispatch, &rqst);
		if (i)
			opens(on_nfsd_splice_read, i == 1 ? &other.f : &file.f);
		ends();
	}
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

static void test_process_filter(void **state)
{
	(void)state;
	start();
	conf.process_filter = conf.thread_filter = conf.n_pids = lists.n_pids = 1;
	lists.pids[0] = 1200;
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	ends();
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 0);
	assert_int_equal(lost_all(), 0);
}

/* A request was in progress when tracing began, or its end was missed. */
static void test_unmatched(void **state)
{
	(void)state;
	start();
	EVENT(on_nfsd_dispatch, &rqst);
	moved(on_nfsd_read, 17);
	RUN(on_nfsd_status, ((u64[8]){ 1, 1, 0x05000000 }));
	ends();
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	begins();
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	ends();
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 1);
	assert_int_equal(ops_counted(OP_SERVED, NULL).bytes, 0);
}

static u32 network(u32 v)
{
	return __builtin_bswap32(v);
}

/* The error of a record of a request of @version which is answered with @status. */
static long ret_of(u32 version, u32 status)
{
	rqst.version = version;
	reply.status = version == 4 ? 0x12345678 : network(status);
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	if (version == 4) {
		RUN(on_nfsd_status, ((u64[8]){ 2, 1, 0 }));
		RUN(on_nfsd_status, ((u64[8]){ 2, 2, network(status) }));
	}
	ends();
	assert_int_equal(newest_sent()->fd, -1);
	assert_true(newest_sent()->len == (conf.at.svc_xid ? 0xfffffffeULL : ~0ULL));
	assert_true(newest_sent()->offset == OFFSET_UNKNOWN);
	assert_int_equal(newest_sent()->call, CALL_SERVED);
	return newest_sent()->ret;
}

static void test_errors(void **state)
{
	static const struct {
		u32 status;
		long ret;
	} all[] = { { 0, 0 },       { 2, -2 },      { 5, -5 },     { 28, -28 },
		    { 63, -36 },    { 66, -39 },    { 69, -122 },  { 70, -116 },
		    { 10008, -11 }, { 10001, -71 }, { 10036, -71 } };

	(void)state;
	start();
	conf.sent_ops = conf.op_extras = conf.file_details = conf.rings = 1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (u32 version = 2; version <= 4; version++) {
			conf.at.svc_xid = version == 2 ? 0 : offsetof(struct served_request, xid);
			rqst.xid = network(0xfffffffe);
			assert_int_equal(ret_of(version, all[i].status), all[i].ret);
		}
	assert_int_equal(ops_counted(OP_SERVED, NULL).errors, 3 * 10);
	assert_int_equal(lost_all(), 0);
}

/* Whether a row has the key @by. */
static bool has_key(const u8 by[16])
{
	struct kmap *hashes[] = { map_of(&op_rows_even), map_of(&op_rows_odd) };

	for (int h = 0; h < 2; h++)
		for (struct entry *e = hashes[h]->entries; e; e = e->hh.next)
			if (!memcmp(((const struct op_key *)e->key)->by, by, 16))
				return true;
	return false;
}

static void serves(void)
{
	begins();
	EVENT(on_nfsd_dispatch, &rqst);
	ends();
}

static void test_clients(void **state)
{
	static const u8 v4[] = { 2, 0, 3, 255, 10, 99, 0, 2 },
			v6[] = { 10, 0, 3, 255, 0, 0, 0, 0, 0x20, 1,  0xd, 0xb8,
				 1,  2, 3, 4,   5, 6, 7, 8, 9,    10, 11,  12 },
			v4_key[16] = { [10] = 0xff, 0xff, 10, 99, 0, 2 }, none[16] = {};

	(void)state;
	start();
	conf.row_slots = 0;
	conf.by = BY_CLIENT;
	memcpy(rqst.client, v4, sizeof(v4));
	serves();
	assert_true(has_key(v4_key));
	assert_false(has_key(none));
	memcpy(rqst.client, v6, sizeof(v6));
	serves();
	assert_true(has_key(v6 + 8));
	rqst.client[0] = 1; /* a socket of this machine */
	serves();
	assert_true(has_key(none));
	cpu_is(1, &client_thread);
	client_thread.fd[2] = &file.f;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 3);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).count, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),          cmocka_unit_test(test_not_nfsd),
		cmocka_unit_test(test_file),           cmocka_unit_test(test_file_filter),
		cmocka_unit_test(test_process_filter), cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_errors),         cmocka_unit_test(test_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
