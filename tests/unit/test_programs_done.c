// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations and requests which are done: the row of each, the additions to the row and to its
 * histogram, the name of the row, and the records which are sent.
 */
#include "kernel/machine.h"

enum { SIZE = 4096, NR_IO_SUBMIT = 209 };

static struct kfile file;
static struct page page;
static struct bio_vec vec = { &page };
static struct kdisk disk;
static struct ktask task, kworker;

struct kio {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static int start(void **state)
{
	unsigned short submit[] = { CALL_DESC(OP_AIO, FILE_NONE) };

	(void)state;
	machine_start();
	data_set(&calls[NR_IO_SUBMIT], submit, sizeof(submit));
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	page.mapping = &file.mapping;
	disk_init(&disk, 8, 0, true);
	task_init(&task, 1103, 1103, "old name", 0);
	task_init(&kworker, 2311, 2311, "kworker/1:1", PF_KTHREAD | PF_WQ_WORKER);
	task.fd[2] = &file.f;
	cpu_is(1, &task);
	return 0;
}

static void call(u64 nr, u64 ns, long ret)
{
	sys_enter(nr, 2, 0, SIZE, 0);
	tick(ns);
	sys_exit(ret);
}

/* The only row of operations of @kind, which is in a slot. */
static u32 row_of(u32 kind)
{
	u32 found = 0;

	for (int i = 0; i < ROW_SLOTS; i++) {
		u32 what = live.rows[i].what;

		if (what & ROW_REQUESTS || WHAT_OP(what) != kind)
			continue;
		assert_int_equal(found, 0);
		found = what;
	}
	assert_int_equal(map_count(&op_rows_even), 0);
	return found;
}

/* Errors are from -4095 on, as for the kernel; what is below that is a number. */
static void test_errors(void **state)
{
	struct op_sums s;

	(void)state;
	call(NR_READ, 5, -4095);
	call(NR_READ, 5, -1);
	call(NR_READ, 5, -4096);
	call(NR_READ, 5, 0);
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.errors, 2);
	assert_int_equal(s.bytes, 0);
}

/* Only operations that read, write or copy return bytes, be it one. */
static void test_bytes(void **state)
{
	(void)state;
	call(NR_READ, 5, 1);
	call(NR_WRITE, 5, 3);
	call(NR_FSYNC, 5, 7);
	call(NR_STAT, 5, 11);
	assert_int_equal(ops_counted(OP_READ, NULL).bytes, 1);
	assert_int_equal(ops_counted(OP_WRITE, NULL).bytes, 3);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).bytes, 0);
	assert_int_equal(ops_counted(OP_META, NULL).bytes, 0);
}

/* A layer alone has no strata, though a thread was off the CPU in it. */
static void test_no_strata_of_a_layer(void **state)
{
	struct op_sums s;

	(void)state;
	conf.layer = LAYER_SYSCALL;
	conf.op_extras = conf.call_noted = 1;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	tick(3);
	switch_to(&idle[1], true);
	tick(5);
	switch_to(&task, false);
	tick(7);
	sys_exit(0);
	s = ops_counted(OP_FSYNC, NULL);
	assert_int_equal(s.total_ns, 15);
	for (int i = 0; i < ST_N; i++)
		assert_int_equal(s.strata[i], 0);
}

/* Device bytes of an operation are not counted for the next operation of its thread. */
static void test_device_bytes(void **state)
{
	struct bio bio;

	(void)state;
	sys_enter(NR_READ, 2, 0, SIZE, 0);
	bio_init(&bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_queue, &bio);
	sys_exit(SIZE);
	call(NR_READ, 5, SIZE);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 2);
	assert_int_equal(ops_counted(OP_READ, NULL).device_bytes, SIZE);
}

/* Operations are counted rightly where several programs may add to a row at once. */
static void test_several_writers(void **state)
{
	u64 hist[HIST_N] = {};

	(void)state;
	conf.single_writer = 0;
	call(NR_READ, 601, SIZE);
	call(NR_READ, 601, SIZE);
	assert_int_equal(ops_counted(OP_READ, hist).count, 2);
	assert_int_equal(hist[hist_bucket(601)], 2);
	assert_int_equal(map_count(&op_rows_even), 0);
}

/* Calls have rows of their own if all have, or those of kind meta, or libaio's. */
static void test_rows_of_calls(void **state)
{
	conf.op_extras = conf.call_noted = 1;
	call(NR_STAT, 5, 0);
	call(NR_IO_SUBMIT, 5, 0);
	assert_int_equal(row_of(OP_META), ROW_WHAT(0, OP_META, 0));
	assert_int_equal(row_of(OP_AIO), ROW_WHAT(0, OP_AIO, 0));

	start(state);
	conf.op_extras = conf.call_noted = conf.meta_calls = 1;
	call(NR_STAT, 5, 0);
	call(NR_READ, 5, 0);
	assert_int_equal(row_of(OP_META), ROW_WHAT(NR_STAT, OP_META, 0));
	assert_int_equal(row_of(OP_READ), ROW_WHAT(0, OP_READ, 0));

	start(state);
	conf.op_extras = conf.call_noted = conf.aio_calls = 1;
	call(NR_IO_SUBMIT, 5, 0);
	call(NR_READ, 5, 0);
	assert_int_equal(row_of(OP_AIO), ROW_WHAT(NR_IO_SUBMIT, OP_AIO, 0));
	assert_int_equal(row_of(OP_READ), ROW_WHAT(0, OP_READ, 0));

	start(state);
	conf.op_extras = conf.call_noted = 1;
	conf.layer = LAYER_SYSCALL;
	call(NR_WRITE, 5, 0);
	assert_int_equal(row_of(OP_WRITE), ROW_WHAT(NR_WRITE, OP_WRITE, 0));
}

/* --by cache: rows by class, whatever the call. */
static void test_rows_by_cache(void **state)
{
	(void)state;
	conf.by = BY_CACHE;
	conf.op_extras = 1;
	call(NR_READ, 5, 0);
	assert_int_equal(row_of(OP_READ), ROW_WHAT(0, OP_READ, CACHE_HIT));
}

/* A slow operation's record has nothing in it that was in the ring before, and wakes user space
 * as the ring does by itself. */
static void test_record(void **state)
{
	const struct slow_op *r;

	(void)state;
	conf.records = conf.call_noted = conf.file_details = 1;
	call(NR_READ, 601, SIZE);
	r = newest_record();
	assert_non_null(r);
	assert_int_equal(r->total_ns, 601);
	assert_int_equal(r->disk, 0);
	assert_int_equal(messages->flags, 0);
	assert_int_equal(lost_all(), 0);
}

/* Current submits a bio; its request goes through: 3 ns until it is allocated, 5 in the queue, 7 in
 * the device. */
static void submits(struct kio *io, u32 op)
{
	bio_init(&io->bio, &disk, op, 8, SIZE);
	io->bio.bi_io_vec = &vec;
	EVENT(on_bio_queue, &io->bio);
}

static void goes_through(struct kio *io)
{
	request_init(&io->rq, &io->mq_ctx, &disk, &io->bio);
	tick(3);
	EVENT(on_getrq, &io->bio);
	tick(5);
	EVENT(on_rq_issue, &io->rq);
	tick(7);
	complete_bytes(&io->rq, 0, SIZE);
	completion_is_over();
}

static void request(u32 op)
{
	struct kio io;

	submits(&io, op);
	goes_through(&io);
}

/* The histogram of the disk's requests that are in slots. */
static void hist_of_slots(u64 ret_hist[HIST_N])
{
	memset(ret_hist, 0, HIST_N * sizeof(*ret_hist));
	for (u32 i = 0; i < requests_cells(); i++)
		for (u32 b = 0; b < HIST_N && live.rows[i % ROW_SLOTS].what & ROW_REQUESTS; b++)
			ret_hist[b] += requests_cell(i)->hist[b];
}

static void assert_hist(u32 bucket, u64 count)
{
	u64 hist[HIST_N];

	hist_of_slots(hist);
	for (u32 b = 0; b < HIST_N; b++)
		assert_int_equal(hist[b], b == bucket ? count : 0);
	assert_int_equal(map_count(&rq_rows_even), 0);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).count, count);
}

/* A request's histogram is of its time in the device, or of all of its time, or there is none: then
 * the first bucket counts it. */
static void test_request_hist(void **state)
{
	request(REQ_OP_READ);
	request(REQ_OP_READ);
	assert_hist(hist_bucket(7), 2);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).max_ns, 7);
	assert_int_equal(live.rq_rows_made[0], 0);

	start(state);
	conf.queued = 1;
	request(REQ_OP_READ);
	conf.rq_in_cells = 0; /* where the cells of operations have no histograms */
	assert_hist(hist_bucket(15), 0);
	request(REQ_OP_READ);
	assert_hist(hist_bucket(15), 1);
	conf.rq_in_cells = 1;
	assert_hist(hist_bucket(15), 1);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).max_ns, 15);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).device_ns, 7);

	start(state);
	conf.rq_sums_only = 1;
	request(REQ_OP_READ);
	assert_hist(0, 1);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).max_ns, 7);
}

/* If all slots are others', a row is in the hash, and others' are left alone. A helper's I/O has a
 * row of its own, and does not tell the rows of requests apart. */
static void test_no_slot(void **state)
{
	(void)state;
	for (int i = 0; i < ROW_SLOTS; i++) {
		live.rows[i].fs = 1;
		live.rows[i].what = 1;
	}
	conf.helpers = conf.issuers = conf.behalf = 1;
	request(REQ_OP_READ);
	cpu_is(1, &kworker);
	request(REQ_OP_READ);
	assert_int_equal(requests_of(disk.dev, RQ_READ, (u64[2]){}).count, 2);
	assert_int_equal(map_count(&rq_rows_even), 1);
	assert_int_equal(live.rq_rows_made[0], 1);
	for (u32 i = 0; i < requests_cells(); i++)
		assert_int_equal(requests_cell(i)->sums.count, 0);
}

/* User space is woken when the hash has as many rows as it may have; one that finds no room is
 * told, and is none. */
static void test_drain_of_requests(void **state)
{
	(void)state;
	conf.by = BY_TID;
	conf.rq_by = conf.issuers = 1;
	conf.rq_rows_limit = 3;
	for (u32 i = 0; i < 4; i++) {
		task.t.pid = 1201 + i;
		request(REQ_OP_READ);
		request(REQ_OP_READ);
		assert_int_equal(live.rq_rows_made[0], 1 + i);
		assert_int_equal(live.drain_wanted, i >= 2);
	}
	assert_int_equal(lost_all(), 0);
	map_of(&rq_rows_even)->refusals = 1;
	task.t.pid = 1301;
	request(REQ_OP_READ);
	assert_int_equal(live.rq_rows_made[0], 4);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).count, 8);
}

/* A request that is only recorded is in no row. */
static void test_uncounted(void **state)
{
	(void)state;
	conf.uncounted = conf.sent_requests = conf.issuers = conf.rings = 1;
	request(REQ_OP_READ);
	assert_int_equal(*(const char *)newest_of_records(), SENT_REQUEST);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).count, 0);
	assert_int_equal(map_count(&rq_rows_even), 0);
}

static void start_by_task(void)
{
	conf.by = BY_THREAD;
	conf.rq_by = conf.issuers = conf.behalf = 1;
	conf.row_slots = 0;
}

static const char *name(void)
{
	u64 id = (u64)1103 << 32 | 1103;
	struct thread_name *n = bpf_map_lookup_elem(&thread_names_even, &id);

	return n ? n->comm : "(none)";
}

/* A thread that is renamed has the new name from the next request on that it submits. A request
 * which the thread submitted before does not bring the old name back, if the new name is known by
 * then. */
static void test_renamed(void **state)
{
	struct kio io;

	(void)state;
	start_by_task();
	request(REQ_OP_READ);
	assert_string_equal(name(), "old name");
	strcpy(task.t.comm, "new name");
	request(REQ_OP_READ);
	assert_string_equal(name(), "new name");
	submits(&io, REQ_OP_READ);
	strcpy(task.t.comm, "newest name");
	call(NR_READ, 5, 0);
	assert_string_equal(name(), "newest name");
	goes_through(&io);
	assert_string_equal(name(), "newest name");
}

/* Writeback for a thread brings no name that is older than the name with the thread's own requests.
 * The older name is used if no other is known. */
static void test_named_by_others(void **state)
{
	(void)state;
	start_by_task();
	page_dirtied(&page, &file.mapping);
	tick(1);
	strcpy(task.t.comm, "new name");
	request(REQ_OP_READ);
	assert_string_equal(name(), "new name");
	cpu_is(1, &kworker);
	request(REQ_OP_WRITE);
	assert_int_equal(requests_of(disk.dev, RQ_WRITE,
				     (u64[2]){ (u64)1103 << 32 | 1103, BEHALF_WRITEBACK })
				 .count,
			 1);
	assert_string_equal(name(), "new name");
	start(state);
	start_by_task();
	page_dirtied(&page, &file.mapping);
	cpu_is(1, &kworker);
	request(REQ_OP_WRITE);
	assert_string_equal(name(), "old name");
}

/* Writeback brings no name that is older than the name of a later dirty page, whichever is written
 * first: a shell makes a page dirty and becomes another program, which writes. */
static void test_named_by_others_twice(void **state)
{
	static struct kfile second;
	static struct page later;

	for (int first = 0; first < 2; first++) {
		start(state);
		start_by_task();
		second = file;
		later.mapping = &second.mapping;
		second.mapping.host = &second.inode;
		second.inode.i_mapping = &second.mapping;
		page_dirtied(&page, &file.mapping);
		tick(1);
		strcpy(task.t.comm, "new name");
		page_dirtied(&later, &second.mapping);
		cpu_is(1, &kworker);
		vec.bv_page = first ? &later : &page;
		request(REQ_OP_WRITE);
		assert_string_equal(name(), first ? "new name" : "old name");
		vec.bv_page = first ? &page : &later;
		request(REQ_OP_WRITE);
		assert_string_equal(name(), "new name");
	}
	vec.bv_page = &page;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, machine_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_errors),
		TEST(test_bytes),
		TEST(test_no_strata_of_a_layer),
		TEST(test_device_bytes),
		TEST(test_several_writers),
		TEST(test_rows_of_calls),
		TEST(test_rows_by_cache),
		TEST(test_record),
		TEST(test_request_hist),
		TEST(test_no_slot),
		TEST(test_drain_of_requests),
		TEST(test_uncounted),
		TEST(test_renamed),
		TEST(test_named_by_others),
		TEST(test_named_by_others_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
