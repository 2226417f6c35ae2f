// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests and their bios: bios which are merged, split, passed on or cut short, and the marks
 * which completions leave for others. Single cases, each with its figures. test_programs_requests.c
 * does the same at random.
 */
#define FUNCTIONS /* as for kernels that bear them: bios are looked at in steps */
#include "kernel/machine.h"

enum { SIZE = 4096, LEVEL = 0x10000, MANY = 1 + ABSORB_WALK + BIO_WALK + 2 };

/* A bio, and the request whose first bio it is, if it is one. */
struct kio {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static struct kio io[MANY];
static struct kdisk disk, stacked, path; /* with requests; without; a hidden one below that */
static struct ktask first, second, kworker;
static struct ktask worker; /* of io_uring, for @first's process */
static struct io_worker io_worker;
static struct io_ring_ctx ring_ctx;
static struct io_kiocb req;
static struct kfile file;

static void start(void)
{
	machine_start();
	memset(io, 0, sizeof(io));
	disk_init(&disk, 8, 16, true);
	disk_init(&stacked, 259, 3, false);
	disk_init(&path, 0, 5, true);
	task_init(&first, 2101, 2103, "first", 0);
	task_init(&second, 2207, 2207, "second", 0);
	task_init(&kworker, 2311, 2311, "kworker/1:1", PF_KTHREAD | PF_WQ_WORKER);
	cpu_is(0, &first);
}

/* Requests count for the threads that submit them. */
static void start_by_tid(void)
{
	start();
	conf.by = BY_TID;
	conf.rq_by = conf.issuers = 1;
}

/* Current submits bio @i to @d. */
static void submits_to(struct kdisk *d, int i, u32 op)
{
	bio_init(&io[i].bio, d, op, 8 * i, SIZE);
	EVENT(on_bio_queue, &io[i].bio);
}

static void submits(int i, u32 op)
{
	submits_to(&disk, i, op);
}

/* Bio @i gets a request, of @d. */
static void gets_request_of(struct kdisk *d, int i)
{
	request_init(&io[i].rq, &io[i].mq_ctx, d, &io[i].bio);
	EVENT(on_getrq, &io[i].bio);
}

static void gets_request(int i)
{
	gets_request_of(&disk, i);
}

static void issue(int i)
{
	EVENT(on_rq_issue, &io[i].rq);
}

/* All of what is left of a request is done, and its completion is over. */
static void completes(int i)
{
	complete_bytes(&io[i].rq, 0, io[i].rq.__data_len);
	completion_is_over();
}

/* Bio @i is put before the first of request @r, which is a bio of its own. */
static void is_front_merged(int i, int r)
{
	EVENT(on_frontmerge, &io[i].bio);
	io[i].bio.bi_next = io[r].rq.bio;
	io[r].rq.bio = &io[i].bio;
	io[r].rq.__data_len += io[i].bio.bi_iter.bi_size;
}

/* Bio @i comes after bio @last, in request @r. */
static void is_behind(int i, int last, int r)
{
	io[last].bio.bi_next = &io[i].bio;
	io[r].rq.__data_len += io[i].bio.bi_iter.bi_size;
}

static void is_over(void)
{
	assert_nothing_kept();
	assert_int_equal(lost_all(), 0);
}

static struct rq_sums requests(u32 op)
{
	return requests_counted(disk.dev, op);
}

static u64 n_of(const struct ktask *t, u32 op)
{
	return requests_of(disk.dev, op, (u64[2]){ t->t.pid }).count;
}

/* The times that a thread woken by the completion in progress learns. */
static const struct rq_times *marked(void)
{
	struct mark *m = mark_current(machine.now, machine.level);

	return m ? &m->times : NULL;
}

/* The first submitter owns a request, be it by 1 ns. After two submissions at the same time, the
 * owner is the submitter of the bio that is first now. */
static void test_owner_by_time(void **state)
{
	(void)state;
	start_by_tid();
	submits(1, REQ_OP_READ);
	gets_request(1);
	tick(1);
	cpu_is(0, &second);
	submits(0, REQ_OP_READ);
	is_front_merged(0, 1);
	tick(3);
	issue(1);
	tick(5);
	completes(1);
	assert_int_equal(n_of(&first, RQ_READ), 1);
	assert_int_equal(requests(RQ_READ).count, 1);
	assert_int_equal(requests(RQ_READ).queue_ns, 4);
	is_over();

	cpu_is(0, &first);
	submits(1, REQ_OP_WRITE);
	gets_request(1);
	cpu_is(0, &second);
	submits(0, REQ_OP_WRITE);
	is_front_merged(0, 1);
	issue(1);
	completes(1);
	assert_int_equal(n_of(&second, RQ_WRITE), 1);
	assert_int_equal(requests(RQ_WRITE).count, 1);
	is_over();
}

/* A request's first bio was submitted before the run: the other bios give the time at which the
 * request began. */
static void test_owner_of_unseen_first(void **state)
{
	(void)state;
	start_by_tid();
	bio_init(&io[0].bio, &disk, REQ_OP_DISCARD, 0, SIZE);
	request_init(&io[0].rq, &io[0].mq_ctx, &disk, &io[0].bio);
	submits(1, REQ_OP_DISCARD);
	is_behind(1, 0, 0);
	tick(3);
	EVENT(on_getrq, &io[1].bio);
	tick(5);
	issue(0);
	tick(7);
	completes(0);
	assert_int_equal(n_of(&first, RQ_DISCARD), 1);
	assert_int_equal(requests(RQ_DISCARD).tag_ns, 3);
	assert_int_equal(requests(RQ_DISCARD).queue_ns, 5);
	assert_int_equal(requests(RQ_DISCARD).unqueued, 0);
	is_over();
}

/* A throttled bio remains throttled when another bio is merged in front of it. */
static void test_throttled_and_merged(void **state)
{
	(void)state;
	start();
	strcpy(kworker.queue, "kthrotld");
	cpu_is(0, &kworker);
	submits(1, REQ_OP_READ);
	gets_request(1);
	tick(3);
	cpu_is(0, &second);
	submits(0, REQ_OP_READ);
	is_front_merged(0, 1);
	issue(1);
	complete_bytes(&io[1].rq, 0, 2 * SIZE);
	assert_non_null(marked());
	assert_int_equal(marked()->held, 0);
	assert_int_equal(marked()->q, machine.now - 3);
	is_over();
}

/* A helper that submitted first has the request in its row, whoever is before it. */
static void test_helper_and_merged(void **state)
{
	struct helper_key key = {
		.comm = "kworker/1:1", .tid = 2311, .dev = disk.dev, .op = RQ_READ
	};
	struct helper_sums *sums;

	(void)state;
	start();
	key.dev = disk.dev;
	conf.helpers = conf.issuers = conf.behalf = 1;
	cpu_is(0, &kworker);
	submits(1, REQ_OP_READ);
	gets_request(1);
	tick(3);
	cpu_is(0, &second);
	submits(0, REQ_OP_READ);
	is_front_merged(0, 1);
	tick(5);
	issue(1);
	tick(7);
	completes(1);
	sums = bpf_map_lookup_elem(&helper_rows_even, &key);
	assert_non_null(sums);
	assert_int_equal(sums->count, 1);
	assert_int_equal(sums->queue_ns, 8);
	assert_int_equal(sums->device_ns, 7);
	assert_int_equal(sums->bytes, 2 * SIZE);
	is_over();
}

/* A request of more discards than programs look at. The last was submitted first; of those after
 * the first bio eight tell since when the request is, and 256 more are ended. */
static void test_many_discards(void **state)
{
	(void)state;
	start();
	conf.sent_requests = conf.issuers = conf.rings = 1;
	for (int i = MANY - 1; i >= 0; i--) {
		submits(i, REQ_OP_DISCARD);
		tick(1);
	}
	gets_request(0);
	for (int i = 1; i < MANY; i++)
		is_behind(i, i - 1, 0);
	issue(0);
	assert_int_equal(live.hashed, 1 + 2);
	assert_null(io_hashed((u64)&io[MANY - 3].bio));
	assert_non_null(io_hashed((u64)&io[MANY - 2].bio));
	completes(0);
	assert_int_equal(requests(RQ_DISCARD).count, 1);
	assert_int_equal(requests(RQ_DISCARD).tag_ns, ABSORB_WALK + 1);
	assert_int_equal(((const struct sent_request *)newest_of_records())->merges, BIO_WALK);
	assert_int_equal(lost_all(), 0);
}

/* All are ended that are there, if they are fewer. */
static void test_some_discards(void **state)
{
	enum { SOME = ABSORB_WALK + 2 * BIO_STEP + 3 };

	(void)state;
	start();
	for (int i = 0; i < SOME; i++)
		submits(i, REQ_OP_DISCARD);
	gets_request(0);
	for (int i = 1; i < SOME; i++)
		is_behind(i, i - 1, 0);
	issue(0);
	assert_int_equal(live.hashed, 1);
	completes(0);
	is_over();
}

/* A multipath device passes its bios on to hidden disks. Requests of a hidden disk's own count for
 * the device, too, as soon as the disk's device is known. */
static void test_request_of_a_path(void **state)
{
	struct request flush = { .q = &path.q, .mq_ctx = &io[0].mq_ctx, .cmd_flags = REQ_OP_FLUSH };

	(void)state;
	start();
	EVENT(on_rq_issue, &flush);
	complete_bytes(&flush, 0, 0);
	assert_int_equal(requests_counted(path.dev, RQ_FLUSH).count, 1);
	for (int i = 0; i < 2; i++) {
		submits_to(&stacked, 0, REQ_OP_WRITE);
		gets_request_of(&path, 0);
		issue(0);
		completes(0);
		EVENT(on_rq_issue, &flush);
		tick(3);
		complete_bytes(&flush, 0, 0);
		assert_int_equal(requests_counted(stacked.dev, RQ_WRITE).count, 1 + i);
		assert_int_equal(requests_counted(stacked.dev, RQ_FLUSH).count, 1 + i);
		assert_int_equal(requests_counted(stacked.dev, RQ_FLUSH).device_ns, 3 + 3 * i);
	}
	assert_int_equal(requests_counted(path.dev, RQ_FLUSH).count, 1);
	is_over();
}

/* A path fails, and gives its bio back: the other path sends the bio again, and nothing is lost. */
static void test_failover(void **state)
{
	struct rq_sums s;

	(void)state;
	start();
	submits_to(&stacked, 0, REQ_OP_READ);
	tick(2);
	gets_request_of(&path, 0);
	tick(3);
	issue(0);
	tick(5);
	io[0].rq.bio = NULL;
	io[0].rq.__data_len = 0;
	completes(0);
	tick(7);
	gets_request_of(&path, 0);
	tick(11);
	issue(0);
	tick(13);
	completes(0);
	s = requests_counted(stacked.dev, RQ_READ);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.bytes, SIZE);
	assert_int_equal(s.requeues, 1);
	assert_int_equal(s.tag_ns, 2);
	assert_int_equal(s.queue_ns, 3 + 5 + 7 + 11);
	assert_int_equal(s.device_ns, 13);
	is_over();
}

/* A path that finds no room is told. */
static void test_no_room_for_paths(void **state)
{
	(void)state;
	start();
	map_of(&paths)->refusals = 1;
	submits_to(&stacked, 0, REQ_OP_WRITE);
	gets_request_of(&path, 0);
	issue(0);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	completes(0);
	assert_int_equal(requests_counted(stacked.dev, RQ_WRITE).count, 1);
	assert_nothing_kept();
}

/* A queue that has no disk: its requests are of device 0. */
static void test_no_disk(void **state)
{
	(void)state;
	start();
	io[0].rq = (struct request){ .mq_ctx = &io[0].mq_ctx, .cmd_flags = REQ_OP_DRV };
	issue(0);
	tick(3);
	completes(0);
	assert_int_equal(requests_counted(0, RQ_OTHER).count, 1);
	assert_int_equal(requests_counted(0, RQ_OTHER).device_ns, 3);
	is_over();
}

/* A driver command is of the thread which gives it to the driver; not of a worker, which does that
 * for others. */
static void test_command(void **state)
{
	(void)state;
	for (int by_worker = 0; by_worker < 2; by_worker++) {
		start_by_tid();
		cpu_is(1, by_worker ? &kworker : &second);
		request_init(&io[0].rq, &io[0].mq_ctx, &disk, &io[0].bio);
		io[0].rq.cmd_flags = REQ_OP_DRV + 2;
		io[0].rq.bio = NULL;
		issue(0);
		tick(3);
		cpu_is(0, &first);
		completes(0);
		assert_int_equal(
			requests_of(disk.dev, RQ_OTHER, (u64[2]){ by_worker ? 0 : second.t.pid })
				.count,
			1);
		is_over();
	}
}

/* The filters by process choose driver commands. */
static void test_command_filtered(void **state)
{
	(void)state;
	for (int of_first = 0; of_first < 2; of_first++) {
		start();
		conf.process_filter = conf.thread_filter = conf.issuers = conf.n_pids = 1;
		lists.pids[0] = first.t.tgid;
		cpu_is(1, of_first ? &first : &second);
		request_init(&io[0].rq, &io[0].mq_ctx, &disk, &io[0].bio);
		io[0].rq.cmd_flags = REQ_OP_DRV;
		io[0].rq.bio = NULL;
		issue(0);
		completes(0);
		assert_int_equal(requests_counted(disk.dev, RQ_OTHER).count, of_first);
		is_over();
	}
}

/* Requests that are merged, each for another request of libaio: all three know when their bio was
 * done, also that of a bio which had one put before it. */
static void test_merged_for_others(void **state)
{
	static struct ktask tasks[3];

	(void)state;
	start();
	conf.async = conf.aio = 1;
	for (u32 i = 0; i < 3; i++) {
		task_init(&tasks[i], 2503 + i, 2503 + i, "aio", 0);
		cpu_is(0, &tasks[i]);
		assert_int_not_equal(async_new(0x5000 + 64 * i, machine.now), 0);
		async_begins(task_get(current_task()), 0x5000 + 64 * i,
			     async_index(0x5000 + 64 * i), OP_AIO, OP_READ, CALL_AIO, machine.now);
		submits(i, REQ_OP_READ);
		if (i < 2)
			gets_request(i);
	}
	is_front_merged(2, 1);
	EVENT(on_rq_merge, &io[1].rq);
	is_behind(2, 0, 0);
	io[0].rq.__data_len += SIZE;
	assert_int_equal(live.async_bios, 2);
	issue(0);
	tick(7);
	completes(0);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(async_at(async_index(0x5000 + 64 * i))->last.times.c, machine.now);
	is_over();
	/* the merged one is itself the first bio's alone */
	cpu_is(0, &tasks[0]);
	submits(0, REQ_OP_READ);
	gets_request(0);
	cpu_is(0, &tasks[1]);
	submits(1, REQ_OP_READ);
	gets_request(1);
	EVENT(on_rq_merge, &io[1].rq);
	is_behind(1, 0, 0);
	assert_int_equal(live.async_bios, 1);
	issue(0);
	tick(5);
	completes(0);
	assert_int_equal(async_at(async_index(0x5000 + 64))->last.times.c, machine.now);
	is_over();
}

/* The flush that was sent when a write in a flush sequence got its request is the one before it;
 * one that was sent earlier is another's. */
static void test_flush_at_the_same_time(void **state)
{
	struct request flush = { .q = &disk.q, .mq_ctx = &io[1].mq_ctx, .cmd_flags = REQ_OP_FLUSH };

	(void)state;
	for (u32 before = 0; before < 2; before++) {
		start();
		submits(0, REQ_OP_WRITE);
		tick(2);
		if (before)
			EVENT(on_rq_issue, &flush);
		tick(3);
		gets_request(0);
		if (!before)
			EVENT(on_rq_issue, &flush);
		tick(5);
		complete_bytes(&flush, 0, 0);
		io[0].rq.rq_flags = 1;
		issue(0);
		tick(7);
		completes(0);
		io[0].rq.rq_flags = 0;
		completes(0);
		assert_int_equal(requests(RQ_WRITE).count, 1);
		assert_int_equal(requests(RQ_WRITE).tag_ns, 5);
		assert_int_equal(requests(RQ_WRITE).queue_ns, before ? 5 : 0);
		assert_int_equal(requests(RQ_WRITE).device_ns, before ? 7 : 12);
		is_over();
	}
}

/* A flush without data is never dispatched itself; the block layer's own flush request is. */
static void test_flush_alone_after_another(void **state)
{
	struct request flush = { .q = &disk.q, .mq_ctx = &io[1].mq_ctx, .cmd_flags = REQ_OP_FLUSH };

	(void)state;
	start();
	submits(0, REQ_OP_WRITE);
	tick(2);
	EVENT(on_rq_issue, &flush);
	tick(3);
	gets_request(0);
	tick(5);
	complete_bytes(&flush, 0, 0);
	tick(7);
	completes(0);
	assert_int_equal(requests(RQ_WRITE).count, 1);
	assert_int_equal(requests(RQ_WRITE).tag_ns, 5);
	assert_int_equal(requests(RQ_WRITE).queue_ns, 12);
	assert_int_equal(requests(RQ_WRITE).device_ns, 0);
	is_over();
}

/* A flush without data of a device that has no requests counts on the one that it is passed on to.
 */
static void test_flush_passed_on(void **state)
{
	(void)state;
	start();
	conf.n_devs = 1;
	lists.devs[0] = disk.dev;
	submits_to(&stacked, 0, REQ_OP_WRITE);
	tick(3);
	gets_request(0);
	tick(5);
	completes(0);
	assert_int_equal(requests(RQ_WRITE).count, 1);
	assert_int_equal(requests(RQ_WRITE).tag_ns, 3);
	assert_int_equal(requests(RQ_WRITE).queue_ns, 5);
	assert_int_equal(requests_counted(stacked.dev, RQ_WRITE).count, 0);
	is_over();
}

/* A filter for a partition passes the partition's flushes without data. */
static void test_flush_of_a_partition(void **state)
{
	struct block_device part = { .bd_dev = disk.dev + 1, .bd_disk = &disk.d };

	(void)state;
	start();
	part.bd_dev = disk.dev + 1;
	conf.n_devs = 1;
	lists.devs[0] = disk.dev + 1;
	bio_init(&io[0].bio, &disk, REQ_OP_WRITE, 0, 0);
	io[0].bio.bi_bdev = &part;
	EVENT(on_bio_queue, &io[0].bio);
	gets_request(0);
	tick(3);
	completes(0);
	assert_int_equal(requests(RQ_WRITE).count, 1);
	is_over();
}

/* A flush without data is a flush of a device without requests, and a write of no bytes of the
 * request to which the device passes it on. */
static void test_flush_of_a_device_without_requests(void **state)
{
	(void)state;
	for (u32 passed_on = 0; passed_on < 2; passed_on++) {
		start();
		bio_init(&io[0].bio, &stacked, REQ_OP_WRITE, 0, 0);
		EVENT(on_bio_queue, &io[0].bio);
		tick(7);
		if (passed_on) {
			gets_request(0);
			issue(0);
			completes(0);
		} else {
			bio_ends(&io[0].bio);
		}
		assert_int_equal(requests_counted(stacked.dev, RQ_FLUSH).count, !passed_on);
		assert_int_equal(requests_counted(stacked.dev, RQ_FLUSH).device_ns,
				 passed_on ? 0 : 7);
		assert_int_equal(requests_counted(stacked.dev, RQ_WRITE).count, 0);
		assert_int_equal(requests_counted(disk.dev, RQ_WRITE).count, passed_on);
		submits_to(&stacked, 0, REQ_OP_WRITE);
		bio_ends(&io[0].bio);
		assert_int_equal(requests_counted(stacked.dev, RQ_WRITE).count, 1);
		is_over();
	}
}

/* A bio of a device without requests is split, and the device passes both parts on. The first has
 * no submission of its own, and counts since that of the whole, also if its allocation was not
 * seen. */
static void test_split_and_passed_on(void **state)
{
	(void)state;
	for (u32 allocated = 0; allocated < 2; allocated++) {
		start();
		submits_to(&stacked, 0, REQ_OP_READ);
		tick(2);
		bio_init(&io[1].bio, &stacked, REQ_OP_READ, 0, 512);
		io[1].bio.bi_private = &io[0].bio;
		EVENT(on_split, &io[1].bio);
		tick(3);
		request_init(&io[1].rq, &io[1].mq_ctx, &disk, &io[1].bio);
		if (allocated)
			EVENT(on_getrq, &io[1].bio);
		tick(5);
		issue(1);
		tick(7);
		completes(1);
		assert_int_equal(requests(RQ_READ).count, 1);
		assert_int_equal(requests(RQ_READ).bytes, 512);
		assert_int_equal(requests(RQ_READ).tag_ns, allocated ? 5 : 0);
		assert_int_equal(requests(RQ_READ).queue_ns, allocated ? 5 : 10);
		assert_int_equal(requests(RQ_READ).device_ns, 7);
		bio_ends(&io[0].bio);
		assert_int_equal(map_count(&splits), 0);
		is_over();
	}
}

/* Device mapper cuts parts off the front of a bio, and tells of the bio, which is private to its
 * submitter or to nobody. Each part is a request, and all end with the bio. */
static void test_parts_cut_off_in_front(void **state)
{
	u64 sizes = 0;

	(void)state;
	for (int private = 0; private < 2; private ++) {
		start();
		submits(2, REQ_OP_READ); /* something else, in a slot */
		submits_to(&stacked, 0, REQ_OP_READ);
		io[0].bio.bi_private = private ? &io[2].bio : NULL;
		sizes = io[0].bio.bi_iter.bi_size;
		for (int part = 0; part < 3; part++) {
			io[0].bio.bi_iter.bi_size -= 512;
			tick(2);
			EVENT(on_split, &io[0].bio);
		}
		tick(5);
		bio_ends(&io[0].bio);
		assert_int_equal(requests_counted(stacked.dev, RQ_READ).count, 4);
		assert_int_equal(requests_counted(stacked.dev, RQ_READ).bytes, sizes);
		assert_int_equal(requests_counted(stacked.dev, RQ_READ).device_ns, 4 * 11);
		assert_int_equal(requests_counted(stacked.dev, RQ_READ).max_ns, 11);
		gets_request(2);
		issue(2);
		completes(2);
		assert_int_equal(requests(RQ_READ).count, 1);
		is_over();
	}
}

/* A bio of a device without requests, split into @parts, for which there is no room. */
static void split_into(u32 parts)
{
	submits_to(&stacked, 0, REQ_OP_READ);
	for (u32 i = 1; i < parts; i++) {
		io[0].bio.bi_iter.bi_size -= 512;
		EVENT(on_split, &io[0].bio);
	}
	bio_ends(&io[0].bio);
}

/* A bio that is split counts as many requests, also where they are lost. */
/* A disk in memory takes a page without a bio: a request of the thread that asked for it. A page
 * that the driver refuses gets a bio, and counts as that. */
static void test_page_without_a_bio(void **state)
{
	struct page page;

	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		start_by_tid();
		RUN(on_page_read, ((u64[8]){ (u64)&stacked.whole, 8, (u64)&page }));
		tick(7);
		RUN(on_page_was_read, ((u64[8]){ 0, 8, (u64)&page, refused ? -95 : 0 }));
		RUN(on_page_write, ((u64[8]){ (u64)&stacked.whole, 8, (u64)&page }));
		tick(5);
		RUN(on_page_written, ((u64[8]){ 0, 8, (u64)&page, 0, refused ? -95 : 0 }));
		for (u32 op = RQ_READ; op <= RQ_WRITE; op++) {
			struct rq_sums s = requests_of(stacked.dev, op, (u64[2]){ first.t.pid });

			assert_int_equal(s.count, !refused);
			assert_int_equal(s.bytes, refused ? 0 : SIZE);
			assert_int_equal(s.device_ns, refused ? 0 : op == RQ_READ ? 7 : 5);
		}
		is_over();
	}
}

/* A page of a disk, or of a process, that is not traced counts nowhere. */
static void test_page_not_traced(void **state)
{
	struct page page;

	(void)state;
	start_by_tid();
	conf.n_devs = 1;
	lists.devs[0] = disk.dev;
	RUN(on_page_read, ((u64[8]){ (u64)&stacked.whole, 8, (u64)&page }));
	RUN(on_page_was_read, ((u64[8]){ 0, 8, (u64)&page, 0 }));
	conf.n_devs = 0;
	conf.process_filter = conf.thread_filter = conf.n_pids = 1;
	lists.pids[0] = first.t.tgid + 1;
	RUN(on_page_read, ((u64[8]){ (u64)&stacked.whole, 8, (u64)&page }));
	RUN(on_page_was_read, ((u64[8]){ 0, 8, (u64)&page, 0 }));
	assert_int_equal(requests_counted(stacked.dev, RQ_READ).count, 0);
	is_over();
}

/* md counts @b in the statistics. */
static void md_counts(struct bio *b)
{
	EVENT(on_bio_account, b);
}

/* md counts each part, also of a part, whether the block layer told of it or not. */
static void test_parts_of_md(void **state)
{
	(void)state;
	for (int told = 0; told < 2; told++) {
		start();
		submits_to(&stacked, 0, REQ_OP_READ);
		for (int i = 1; i < 3; i++) {
			bio_init(&io[i].bio, &stacked, REQ_OP_READ, 0, SIZE / 4);
			io[i].bio.bi_private = &io[i - 1].bio;
			if (told)
				EVENT(on_split, &io[i].bio);
		}
		md_counts(&io[2].bio);
		md_counts(&io[1].bio);
		if (told)
			EVENT(on_split, &io[1].bio);
		md_counts(&io[0].bio);
		tick(7);
		bio_ends(&io[0].bio);
		assert_int_equal(requests_counted(stacked.dev, RQ_READ).count, 3);
		assert_int_equal(requests_counted(stacked.dev, RQ_READ).bytes, SIZE);
	}
}

/* What md counts at another array, or for a bio whose submission was not seen, is no part. */
static void test_parts_of_another_array(void **state)
{
	(void)state;
	start();
	submits_to(&stacked, 0, REQ_OP_READ);
	bio_init(&io[1].bio, &disk, REQ_OP_READ, 0, SIZE / 4);
	io[1].bio.bi_private = &io[0].bio;
	md_counts(&io[1].bio);
	md_counts(&io[1].bio);
	bio_init(&io[2].bio, &stacked, REQ_OP_READ, 0, SIZE / 4);
	md_counts(&io[2].bio);
	bio_ends(&io[0].bio);
	assert_int_equal(requests_counted(stacked.dev, RQ_READ).count, 1);
	is_over();
}

static void test_split_and_lost(void **state)
{
	(void)state;
	start_by_tid();
	map_of(&rq_rows_even)->refusals = map_of(&rq_rows_odd)->refusals = 1;
	split_into(5);
	assert_int_equal(live.lost[LOST_MAP_FULL], 5);
	assert_int_equal(lost_all(), 5);
	start();
	conf.sent_requests = conf.issuers = conf.uncounted = conf.rings = 1;
	ring_room = 0;
	split_into(7);
	assert_int_equal(live.lost[LOST_REQUESTS], 7);
	assert_int_equal(lost_all(), 7);
}

/* A request whose end was not seen, after a part of it, is dispatched with such a bio. */
static void test_split_after_unseen_end(void **state)
{
	(void)state;
	start();
	submits(1, REQ_OP_READ);
	gets_request(1);
	issue(1);
	complete_bytes(&io[1].rq, 0, 512);
	submits_to(&stacked, 0, REQ_OP_READ);
	bio_init(&io[2].bio, &stacked, REQ_OP_READ, 0, 512);
	io[2].bio.bi_private = &io[0].bio;
	EVENT(on_split, &io[2].bio);
	request_init(&io[1].rq, &io[1].mq_ctx, &disk, &io[2].bio);
	tick(3);
	issue(1);
	assert_int_equal(live.lost[LOST_UNMATCHED_REQUESTS], 1);
	tick(5);
	completes(1);
	bio_ends(&io[0].bio);
	assert_int_equal(requests(RQ_READ).count, 1);
	assert_int_equal(requests(RQ_READ).queue_ns, 3);
	assert_int_equal(requests(RQ_READ).device_ns, 5);
	assert_nothing_kept();
}

/* A bio that blk-throttle kept back, whose submission was missed: it has a request, but nothing
 * tells since when it waited for that. */
static void test_missed_after_throttle(void **state)
{
	u64 d = 1000000 + 3 + 5;
	struct rq_times times = { d, d, d, d, d + 7, 0 };

	(void)state;
	start_by_tid();
	bio_init(&io[0].bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_throttled, &io[0].bio);
	tick(3);
	gets_request(0);
	tick(5);
	issue(0);
	tick(7);
	complete_bytes(&io[0].rq, 0, SIZE);
	assert_memory_equal(marked(), &times, sizeof(times));
	is_over();
}

/* The clock of the CPU that dispatches is behind that of the one that allocates. */
static void test_clock_behind(void **state)
{
	(void)state;
	start();
	submits(0, REQ_OP_READ);
	gets_request(0);
	tick(-3);
	issue(0);
	tick(10);
	completes(0);
	assert_int_equal(requests(RQ_READ).queue_ns, 0);
	assert_int_equal(requests(RQ_READ).device_ns, 7);
	is_over();
}

/* A part of a request is done. For that nobody is woken but by requests of io_uring and libaio,
 * which look at their bios, and only until the completion of that part is over. */
static void test_part_wakes_nobody(void **state)
{
	(void)state;
	for (u32 async = 0; async < 2; async++) {
		start();
		conf.async = conf.aio = async;
		submits(0, REQ_OP_READ);
		gets_request(0);
		issue(0);
		tick(3);
		complete_bytes(&io[0].rq, 0, 512);
		assert_null(marked());
		io[0].rq.__data_len -= 512;
		tick(5);
		complete_bytes(&io[0].rq, 0, SIZE - 512);
		assert_non_null(marked());
		assert_int_equal(requests(RQ_READ).bytes, SIZE);
		is_over();
	}
}

/* A part of a request whose beginning was not seen is done within the completion of another, which
 * goes on after that. */
static void test_unseen_part_within_completion(void **state)
{
	(void)state;
	start();
	conf.async = conf.aio = 1;
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	tick(3);
	complete_bytes(&io[0].rq, 0, SIZE);
	bio_init(&io[1].bio, &disk, REQ_OP_READ, 0, SIZE);
	request_init(&io[1].rq, &io[1].mq_ctx, &disk, &io[1].bio);
	complete_bytes(&io[1].rq, 0, 512);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	assert_non_null(marked());
	assert_int_equal(marked()->d, machine.now - 3);
	assert_nothing_kept();
}

/* A data step of a flush sequence is done in parts: they wake nobody either. */
static void test_part_of_a_sequence(void **state)
{
	(void)state;
	start();
	conf.async = conf.aio = 1;
	submits(0, REQ_OP_WRITE);
	gets_request(0);
	io[0].rq.rq_flags = 1;
	issue(0);
	tick(3);
	complete_bytes(&io[0].rq, 0, 512);
	assert_null(marked());
	io[0].rq.__data_len -= 512;
	tick(5);
	complete_bytes(&io[0].rq, 0, SIZE - 512);
	assert_null(marked());
	io[0].rq.rq_flags = 0;
	io[0].rq.__data_len = 0;
	tick(7);
	complete_bytes(&io[0].rq, 0, 0);
	assert_non_null(marked());
	assert_int_equal(requests(RQ_WRITE).device_ns, 15);
	assert_int_equal(requests(RQ_WRITE).bytes, SIZE);
	is_over();
}

/* Each CPU has a row of slots, all of which it uses, and no other. */
static void test_rows_of_slots(void **state)
{
	bool used[IO_SLOTS] = {};
	u32 n = 0;

	(void)state;
	start();
	for (u64 cpu = 0; cpu < CPUS; cpu++) {
		for (u64 key = 64; key < 64 * 4096; key += 64) {
			u64 at = io_slot(key, cpu) - io_slots;

			assert_int_equal(at / CONF(io_slots_per_cpu), cpu);
			n += !used[at];
			used[at] = true;
		}
	}
	assert_int_equal(n, CPUS * CONF(io_slots_per_cpu));
}

/* An address is used again though the end of its bio was not seen. If that had not been dispatched,
 * nothing is lost. */
static void test_address_again(void **state)
{
	(void)state;
	start();
	submits(0, REQ_OP_READ);
	gets_request(0);
	tick(3);
	submits(0, REQ_OP_READ);
	gets_request(0);
	tick(5);
	issue(0);
	completes(0);
	assert_int_equal(requests(RQ_READ).queue_ns, 5);
	is_over();
	/* the same in the hash, where discards are */
	submits(0, REQ_OP_DISCARD);
	tick(3);
	submits(0, REQ_OP_DISCARD);
	assert_int_equal(live.hashed, 1);
	gets_request(0);
	tick(5);
	issue(0);
	completes(0);
	assert_int_equal(requests(RQ_DISCARD).count, 1);
	assert_int_equal(requests(RQ_DISCARD).queue_ns, 5);
	is_over();
}

/* Current begins a request of libaio. Returns its slot. */
static u32 executes_aio(void)
{
	u64 req = 0x5000 + 64 * (u64)machine.current->t.pid;
	u32 at;

	conf.async = conf.aio = 1;
	at = async_new(req, machine.now);
	assert_int_not_equal(at, 0);
	async_begins(task_get(current_task()), req, at, OP_AIO, OP_READ, CALL_AIO, machine.now);
	return at;
}

/* An address is used again for a bio of another request of libaio; only an entry of a map has that
 * request. */
static void test_address_again_for_another(void **state)
{
	u32 at;

	(void)state;
	start();
	executes_aio();
	submits(0, REQ_OP_DISCARD);
	assert_int_equal(live.async_bios, 1);
	cpu_is(0, &second);
	at = executes_aio();
	submits(0, REQ_OP_DISCARD);
	assert_int_equal(live.async_bios, 1);
	gets_request(0);
	tick(3);
	issue(0);
	tick(5);
	completes(0);
	assert_int_equal(async_at(at)->last.times.c, machine.now);
	is_over();
	/* there is no room in that map */
	map_of(&async_bios)->refusals = 1;
	submits(0, REQ_OP_DISCARD);
	assert_int_equal(live.async_bios, 0);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* A bio whose beginning was not seen gets a request, and ends. */
static void test_unseen_bio(void **state)
{
	(void)state;
	start();
	bio_init(&io[0].bio, &disk, REQ_OP_READ, 0, SIZE);
	gets_request(0);
	bio_ends(&io[0].bio);
	is_over();
}

/* The end of a bio comes just before that of its request; the request's end counts. A request that
 * is not dispatched ends with its bio. */
static void test_bio_ends_first(void **state)
{
	(void)state;
	start();
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	tick(3);
	bio_ends(&io[0].bio);
	completes(0);
	assert_int_equal(requests(RQ_READ).count, 1);
	assert_int_equal(requests(RQ_READ).device_ns, 3);
	is_over();
	submits(0, REQ_OP_WRITE);
	gets_request(0);
	bio_ends(&io[0].bio);
	is_over();
	assert_int_equal(requests(RQ_WRITE).count, 0);
}

/* A bio that must not wait is refused and submitted again (io_uring on device mapper): both count,
 * as in the kernel's statistics, but none failed, and only the second has bytes. Other errors are
 * failures. */
static void test_bio_that_would_wait(void **state)
{
	struct rq_sums sums;

	(void)state;
	start();
	submits_to(&stacked, 0, REQ_OP_READ);
	io[0].bio.bi_status = BLK_STS_AGAIN;
	bio_ends(&io[0].bio);
	submits_to(&stacked, 0, REQ_OP_READ);
	bio_ends(&io[0].bio);
	sums = requests_counted(stacked.dev, RQ_READ);
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.errors, 0);
	assert_int_equal(sums.bytes, SIZE);
	submits_to(&stacked, 0, REQ_OP_READ);
	io[0].bio.bi_status = 10;
	bio_ends(&io[0].bio);
	assert_int_equal(requests_counted(stacked.dev, RQ_READ).errors, 1);
	assert_int_equal(requests_counted(stacked.dev, RQ_READ).bytes, SIZE);
	is_over();
}

/* State left by a request, such as its requeue, is not taken for the next request at the same
 * address. */
static void test_requeued_before(void **state)
{
	(void)state;
	start();
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	EVENT(on_rq_requeue, &io[0].rq);
	complete_bytes(&io[0].rq, -5, SIZE);
	submits(0, REQ_OP_READ);
	gets_request(0);
	tick(3);
	issue(0);
	tick(5);
	completes(0);
	assert_int_equal(requests(RQ_READ).count, 2);
	assert_int_equal(requests(RQ_READ).requeues, 1);
	assert_int_equal(requests(RQ_READ).bytes, SIZE);
	assert_int_equal(requests(RQ_READ).queue_ns, 3);
	is_over();
}

/* ... when it was allocated, for the next one's thread waits for that again, ... */
static void test_allocated_before(void **state)
{
	struct op_sums s;

	(void)state;
	start();
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	completes(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	submits(0, REQ_OP_READ);
	switch_to(&idle[0], true);
	tick(7);
	wake(&first);
	switch_to(&first, false);
	sys_exit(0);
	s = ops_counted(OP_META, NULL);
	assert_int_equal(s.strata[ST_TAG], 7);
	assert_int_equal(s.total_ns, 7);
}

/* ... and what was merged into it: a flush, which is never dispatched itself, is sent with what its
 * bio says. */
static void test_merged_before(void **state)
{
	const struct sent_request *sent;

	(void)state;
	start();
	conf.sent_requests = conf.issuers = conf.rings = 1;
	submits(0, REQ_OP_READ);
	gets_request(0);
	submits(1, REQ_OP_READ);
	EVENT(on_backmerge, &io[1].bio);
	is_behind(1, 0, 0);
	issue(0);
	completes(0);
	sent = newest_of_records();
	assert_int_equal(sent->merges, 1);
	bio_init(&io[0].bio, &disk, REQ_OP_WRITE | 1 << 18, 41, 0);
	EVENT(on_bio_queue, &io[0].bio);
	gets_request(0);
	completes(0);
	sent = newest_of_records();
	assert_int_equal(sent->op, RQ_WRITE);
	assert_int_equal(sent->merges, 0);
	assert_int_equal(sent->sector, 41);
	assert_int_equal(sent->cmd_flags, REQ_OP_WRITE | 1 << 18);
	assert_int_equal(sent->bytes, 0);
	is_over();
}

/* A bio is put before one that was submitted before the run: since when the request is that one
 * tells. */
static void test_front_merged_into_unseen(void **state)
{
	(void)state;
	start();
	bio_init(&io[1].bio, &disk, REQ_OP_READ, 8, SIZE);
	request_init(&io[1].rq, &io[1].mq_ctx, &disk, &io[1].bio);
	submits(0, REQ_OP_READ);
	tick(3);
	is_front_merged(0, 1);
	tick(5);
	issue(1);
	tick(7);
	completes(1);
	assert_int_equal(requests(RQ_READ).count, 1);
	assert_int_equal(requests(RQ_READ).tag_ns, 3);
	assert_int_equal(requests(RQ_READ).queue_ns, 5);
	is_over();
}

/* A helper's write for a thread that passes the filters is in the helper's own row, and in no
 * other. */
static void test_helper_for_a_process(void **state)
{
	struct address_space mapping;
	struct inode inode = { .i_mode = S_IFREG, .i_mapping = &mapping };
	struct page page = { .mapping = &mapping };
	struct bio_vec vec = { &page };
	u64 n = 0;

	(void)state;
	start();
	mapping.host = &inode;
	conf.helpers = conf.issuers = conf.behalf = 1;
	conf.process_filter = conf.thread_filter = conf.n_pids = 1;
	lists.pids[0] = first.t.tgid;
	page_dirtied(&page, &mapping);
	cpu_is(0, &kworker);
	bio_init(&io[0].bio, &disk, REQ_OP_WRITE, 0, SIZE);
	io[0].bio.bi_io_vec = &vec;
	EVENT(on_bio_queue, &io[0].bio);
	gets_request(0);
	issue(0);
	completes(0);
	for (struct entry *e = map_of(&helper_rows_even)->entries; e; e = e->hh.next) {
		assert_int_equal(((struct helper_key *)e->key)->for_pid, first.t.tgid);
		n += ((struct helper_sums *)e->value)->count;
	}
	assert_int_equal(n, 1);
	assert_int_equal(requests(RQ_WRITE).count, 0);
	is_over();
}

/* Bios submitted by an interrupt, or queued by kthrotld, are not the helper's. */
static void test_not_the_helper(void **state)
{
	(void)state;
	start();
	conf.helpers = conf.issuers = conf.behalf = 1;
	cpu_is(0, &kworker);
	machine.level = LEVEL;
	submits(0, REQ_OP_READ);
	machine.level = 0;
	strcpy(kworker.queue, "kthrotld");
	submits(1, REQ_OP_READ);
	for (int i = 0; i < 2; i++) {
		gets_request(i);
		issue(i);
		completes(i);
	}
	assert_int_equal(requests(RQ_READ).count, 2);
	assert_int_equal(map_count(&helper_rows_even), 0);
	is_over();
}

/* Current is a thread of a program that uses io_uring, and a worker works on what it submits. */
static void start_uring(void)
{
	u8 kinds[URING_OPS] = { [22] = OP_READ };

	start();
	conf.async = conf.uring = 1;
	data_set(uring_kinds, kinds, sizeof(kinds));
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	ring_ctx = (struct io_ring_ctx){};
	req = (struct io_kiocb){ .opcode = 22, .ctx = &ring_ctx, .file = &file.f };
	io_worker = (struct io_worker){ .cur_work = &req.work };
	task_init(&worker, 2101, 2503, "iou-wrk", PF_IO_WORKER);
	worker.t.group_leader = &first.t;
	worker.t.set_child_tid = (void *)&io_worker;
	cpu_is(1, &first);
}

/* A kernel thread is no worker of io_uring, whatever its own structure looks like; what a worker
 * submits is for its request, and so in an operation. */
static void test_worker_of_uring(void **state)
{
	struct bio_list *list = (void *)&io;
	struct async_op *u;

	(void)state;
	start_uring();
	kworker.t.set_child_tid = worker.t.set_child_tid;
	uring_submit(&req);
	uring_queue(&req);
	u = async_find((u64)&req);
	assert_non_null(u);
	cpu_is(0, &kworker);
	submits(0, REQ_OP_READ);
	assert_int_equal(u->worker_bios, 0);
	cpu_is(0, &worker);
	submits(1, REQ_OP_READ);
	assert_int_equal(u->worker_bios, 1);
	assert_int_equal(u->worker_reads, SIZE);
	worker.t.bio_list = list; /* within its submission a device passes on another */
	submits(2, REQ_OP_READ);
	assert_int_equal(u->worker_bios, 2);
	assert_int_equal(u->worker_reads, SIZE);
	worker.t.bio_list = NULL;
	for (int i = 0; i < 3; i++) {
		gets_request(i);
		issue(i);
		completes(i);
		assert_int_equal(requests(RQ_READ).outside, 1);
	}
	is_over();
}

/* With --op-requests, a request submitted in no operation does not count. */
static void test_only_requests_of_operations(void **state)
{
	(void)state;
	for (conf.op_requests = 0; conf.op_requests < 2; conf.op_requests++) {
		unsigned char only = conf.op_requests;

		start_uring();
		conf.op_requests = only;
		kworker.t.set_child_tid = worker.t.set_child_tid;
		uring_submit(&req);
		uring_queue(&req);
		cpu_is(0, &kworker);
		submits(0, REQ_OP_READ);
		cpu_is(0, &worker);
		submits(1, REQ_OP_READ);
		for (int i = 0; i < 3; i++) { /* the submission of the last was not seen */
			gets_request(i);
			issue(i);
			completes(i);
		}
		assert_int_equal(requests(RQ_READ).count, only ? 1 : 3);
		assert_int_equal(requests(RQ_READ).outside, !only);
		is_over();
	}
}

/* A throttled bio counts for its submitter, even where no waits are traced. */
static void test_throttled_without_waits(void **state)
{
	(void)state;
	start_by_tid();
	conf.waits = conf.marks = 0;
	strcpy(kworker.queue, "kthrotld");
	bio_init(&io[0].bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_throttled, &io[0].bio);
	cpu_is(0, &kworker);
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	completes(0);
	assert_int_equal(n_of(&first, RQ_READ), 1);
	assert_int_equal(requests(RQ_READ).count, 1);
	is_over();
}

/* Bio @i is split: its first 512 bytes are bio @part. */
static void is_split(int i, int part)
{
	io[part].bio = io[i].bio;
	io[part].bio.bi_iter.bi_size = 512;
	io[part].bio.bi_private = &io[i].bio;
	EVENT(on_split, &io[part].bio);
	io[i].bio.bi_iter.bi_size -= 512;
}

/* When a device has passed on a part of a bio, that is done for its request of libaio only when all
 * of it is. */
static void test_part_passed_on_for_another(void **state)
{
	u32 at;

	(void)state;
	start();
	at = executes_aio();
	submits_to(&stacked, 0, REQ_OP_READ);
	is_split(0, 1);
	gets_request(1);
	issue(1);
	tick(3);
	completes(1);
	for (u32 i = 0; i <= ASYNC_SLOTS; i++)
		assert_int_equal(async_at(i)->last.thread, 0);
	tick(5);
	bio_ends(&io[0].bio);
	assert_int_equal(async_at(at)->last.times.c, machine.now);
	assert_int_equal(async_at(at)->last.times.q, machine.now - 8);
	is_over();
}

/* A part that another bio is put before is still for its request. */
static void test_part_and_merged(void **state)
{
	u32 at;

	(void)state;
	start();
	at = executes_aio();
	submits(0, REQ_OP_READ);
	is_split(0, 1);
	gets_request(1);
	cpu_is(0, &second);
	submits(2, REQ_OP_READ);
	is_front_merged(2, 1);
	issue(1);
	tick(3);
	completes(1);
	assert_int_equal(async_at(at)->last.times.c, machine.now);
	EVENT(on_getrq, &io[0].bio);
	request_init(&io[0].rq, &io[0].mq_ctx, &disk, &io[0].bio);
	issue(0);
	tick(5);
	completes(0);
	assert_int_equal(async_at(at)->last.times.c, machine.now);
	is_over();
}

/* A bio that found its slot taken is split: only the map gives the request of its part, too. A note
 * in the slot's place is not taken if it is of an earlier bio, whose end was not seen. */
static void test_part_of_a_hashed_bio(void **state)
{
	u32 at;

	(void)state;
	start();
	conf.io_slots_per_cpu = 1;
	submits(2, REQ_OP_READ);
	at = executes_aio();
	submits(0, REQ_OP_READ);
	assert_int_equal(live.async_bios, 1);
	is_split(0, 1);
	assert_int_equal(live.async_bios, 2);
	tick(3);
	for (int i = 1; i >= 0; i--) {
		request_init(&io[i].rq, &io[i].mq_ctx, &disk, &io[i].bio);
		EVENT(on_getrq, &io[i].bio);
		issue(i);
		tick(5);
		completes(i);
		assert_int_equal(async_at(at)->last.times.c, machine.now);
	}
	assert_int_equal(live.async_bios, 0);

	submits(0, REQ_OP_READ);
	assert_int_equal(live.async_bios, 1);
	tick(3);
	cpu_is(0, &second);
	submits(0, REQ_OP_READ);
	is_split(0, 1);
	assert_int_equal(live.async_bios, 1);
	assert_int_equal(lost_all(), 0);
}

/* A request that its path does not even dispatch: the end of its bio is told first, but that of the
 * request is what counts, once for each part of a bio. */
static void test_request_that_a_path_refuses(void **state)
{
	struct rq_sums sums;

	(void)state;
	start();
	submits_to(&stacked, 0, REQ_OP_WRITE);
	is_split(0, 1);
	for (int i = 1; i >= 0; i--) {
		gets_request_of(&path, i);
		bio_ends(&io[i].bio);
		complete_bytes(&io[i].rq, -5, io[i].rq.__data_len);
		sums = requests_counted(stacked.dev, RQ_WRITE);
		assert_int_equal(sums.count, 2 - i);
		assert_int_equal(sums.errors, 2 - i);
		assert_int_equal(sums.bytes, 0);
	}
	is_over();
}

/* A part that finds no room is told. */
static void test_no_room_for_splits(void **state)
{
	(void)state;
	start();
	submits_to(&stacked, 0, REQ_OP_READ);
	map_of(&splits)->refusals = 1;
	is_split(0, 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	bio_ends(&io[0].bio);
	assert_nothing_kept();
}

/* A device without requests: what its completion tells those that it wakes is believed for 50 us,
 * for no event tells when that is over. */
static void test_mark_of_a_bio(void **state)
{
	struct rq_times times;
	struct mark *m;

	(void)state;
	start();
	submits_to(&stacked, 0, REQ_OP_READ);
	tick(7);
	bio_ends(&io[0].bio);
	times = (struct rq_times){ .c = machine.now };
	times.held = times.q = times.g = times.d = machine.now - 7;
	m = mark_current(machine.now + BIO_END_NS, 0);
	assert_non_null(m);
	assert_memory_equal(&m->times, &times, sizeof(times));
	assert_true(m->is_read);
	assert_null(mark_current(machine.now + BIO_END_NS + 1, 0));
	/* nothing is known of since when blk-throttle had kept it back */
	strcpy(kworker.queue, "kthrotld");
	cpu_is(0, &kworker);
	submits_to(&stacked, 0, REQ_OP_READ);
	tick(7);
	bio_ends(&io[0].bio);
	times.c = machine.now;
	times.q = times.g = times.d = machine.now - 7;
	times.held = 0;
	assert_memory_equal(marked(), &times, sizeof(times));
	conf.arg_pause = 0; /* nothing tells of throttling there */
	submits_to(&stacked, 0, REQ_OP_READ);
	tick(7);
	bio_ends(&io[0].bio);
	assert_int_equal(marked()->held, machine.now - 7);
	is_over();
}

/* A device without requests works on a bio from its submission until the bio below is done. The bio
 * below is submitted @before ns later. If the bio ends within the completion below, the request
 * below has the rest of the times. */
static void stacked_on_request(u64 before, u64 after)
{
	start();
	submits_to(&stacked, 0, REQ_OP_READ);
	tick(before);
	submits(1, REQ_OP_READ);
	tick(3);
	gets_request(1);
	tick(5);
	issue(1);
	tick(7);
	complete_bytes(&io[1].rq, 0, SIZE);
	tick(after);
	bio_ends(&io[0].bio);
	assert_int_equal(requests_counted(stacked.dev, RQ_READ).device_ns, before + 15 + after);
}

static void test_mark_of_a_bio_on_a_request(void **state)
{
	struct rq_times times;
	struct mark *m;
	u64 c;

	(void)state;
	for (u64 before = 0; before < 3; before += 2) {
		stacked_on_request(before, 11);
		c = machine.now - 11;
		times = (struct rq_times){ c - 15 - before, c - 15, c - 12, c - 7, c, 0 };
		m = mark_current(c + REQUEST_END_NS, 0);
		assert_non_null(m);
		assert_memory_equal(&m->times, &times, sizeof(times));
		assert_null(mark_current(c + REQUEST_END_NS + 1, 0));
		is_over();
	}
	/* the completion of that is long over */
	stacked_on_request(2, REQUEST_END_NS + 1);
	assert_int_equal(marked()->c, machine.now);
	assert_int_equal(marked()->d, machine.now - 17 - REQUEST_END_NS - 1);
	is_over();
}

/* A request that was submitted before the bio is another's. */
static void test_mark_of_an_earlier_request(void **state)
{
	(void)state;
	start();
	submits(1, REQ_OP_READ);
	gets_request(1);
	issue(1);
	tick(3);
	submits_to(&stacked, 0, REQ_OP_READ);
	tick(5);
	complete_bytes(&io[1].rq, 0, SIZE);
	bio_ends(&io[0].bio);
	assert_int_equal(marked()->held, machine.now - 5);
	assert_int_equal(marked()->d, machine.now - 5);
	is_over();
}

/* Threads, software and hardware interrupts have a mark each, on each CPU; what interrupts a
 * software interrupt has that of hardware. */
static void test_number_of_a_mark(void **state)
{
	(void)state;
	for (u64 cpu = 0; cpu < 3; cpu++) {
		u64 n = (cpu ? MARK_SLOTS - 1 + cpu : 0) % MARK_SLOTS * MARK_LEVELS;
		u64 at = cpu ? MARK_SLOTS - 1 + cpu : 0;

		assert_int_equal(mark_number(at, 0), n);
		assert_int_equal(mark_number(at, SOFT_INTERRUPT), n + 1);
		assert_int_equal(mark_number(at, 0x10000), n + 2);
		assert_int_equal(mark_number(at, HARD_INTERRUPT), n + 2);
		assert_int_equal(mark_number(at, 0x10000 | SOFT_INTERRUPT), n + 2);
	}
}

static const struct rq_times some = { 2, 3, 5, 7, 11, 0 };

/* A completion is believed where it is: on its CPU, on top of the same thread, until it is over. */
static void test_whose_mark(void **state)
{
	u64 until;

	(void)state;
	start();
	assert_null(mark_of_current(0));
	until = machine.now + 17;
	mark_set(&some, 0, true, until, 0);
	assert_ptr_equal(mark_of_current(0), mark_here(0, 0));
	assert_ptr_equal(mark_current(until, 0), mark_here(0, 0));
	assert_null(mark_current(until + 1, 0));
	assert_non_null(mark_of_current(0)); /* which may be over */
	assert_null(mark_of_current(SOFT_INTERRUPT));
	assert_true(mark_is_of(some.c, until));
	assert_false(mark_is_of(some.c, until + 1));
	assert_false(mark_is_of(some.d, until));
	cpu_is(0, &second);
	assert_null(mark_of_current(0));
	assert_null(mark_current(until, 0));
	assert_true(mark_is_of(some.c, until));
	/* a CPU that shares the mark, as where there are very many */
	cpu_is(MARK_SLOTS, &first);
	assert_ptr_equal(mark_here(MARK_SLOTS, 0), mark_here(0, 0));
	assert_null(mark_of_current(0));
	assert_null(mark_current(until, 0));
	cpu_is(0, &first);
	mark_clear(0);
	assert_null(mark_of_current(0));
	assert_null(mark_current(until, 0));
	assert_false(mark_is_of(some.c, until));
	assert_false(mark_is_of(0, until));
	/* the neighbour's is not this CPU's */
	cpu_is(1, &first);
	mark_set(&some, 0, true, until, 0);
	cpu_is(0, &first);
	assert_false(mark_is_of(some.c, until));
}

/* A CPU that switches threads is in no completion at any level. Others may be. */
static void test_switch_ends_completions(void **state)
{
	static const u32 levels[] = { 0, SOFT_INTERRUPT, 0x10000 };

	(void)state;
	start();
	for (u32 cpu = 0; cpu < 3; cpu++) {
		cpu_is(cpu, &first);
		for (int i = 0; i < 3; i++)
			mark_set(&some, 0, true, machine.now, levels[i]);
	}
	cpu_is(1, &first);
	switch_to(&second, true);
	for (u32 cpu = 0; cpu < 3; cpu++) {
		for (int i = 0; i < 3; i++) {
			cpu_is(cpu, &first);
			if (cpu == 1)
				assert_null(mark_current(machine.now, levels[i]));
			else
				assert_non_null(mark_current(machine.now, levels[i]));
			assert_int_equal(mark_here(cpu, levels[i])->times.c, cpu == 1 ? 0 : some.c);
			assert_int_equal(mark_here(cpu, levels[i])->times.d, some.d);
		}
	}
}

/* Two CPUs may note what a thread submitted at once. A mixture of both is not believed, whichever
 * of its words is the other's. */
static void test_torn_note(void **state)
{
	struct done *d = &dones[2103], got;

	(void)state;
	start();
	done_note(2103, &some, true);
	assert_true(done_get(2103, &got));
	assert_memory_equal(&got.times, &some, sizeof(some));
	assert_int_equal(got.thread, 2103 | DONE_READ);
	assert_false(done_get(2103 + DONE_SLOTS, &got));
	for (size_t i = 0; i < sizeof(*d) / sizeof(u64); i++) {
		((u64 *)d)[i] ^= DONE_READ << 1;
		assert_false(done_get(2103, &got));
		((u64 *)d)[i] ^= DONE_READ << 1;
	}
	assert_true(done_get(2103, &got));
}

/* A request without a known submitter leaves no note, and replaces no thread's note. */
static void test_note_of_nobody(void **state)
{
	struct done got;

	(void)state;
	start();
	done_note(DONE_SLOTS, &some, false);
	machine.level = LEVEL;
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	completes(0);
	assert_int_equal(requests(RQ_READ).count, 1);
	assert_true(done_get(DONE_SLOTS, &got));
	assert_memory_equal(&got.times, &some, sizeof(some));
}

/* A request that has ended keeps its slot, and is not found as one in progress. */
static void test_request_that_has_ended(void **state)
{
	u64 req = 0x5000 + 64 * 2103;
	u32 at;

	(void)state;
	start();
	at = executes_aio();
	assert_ptr_equal(async_find(req), async_at(at));
	assert_null(async_find(req + 64));
	async_over(async_at(at), machine.now);
	assert_null(async_find(req));
	assert_int_equal(async_index(req), at);
}

#define STRATA(...) ((u64[ST_N]){ __VA_ARGS__ })

/* A request of io_uring waits for a device that holds its bio for some time before it passes that
 * on: that is time in the device, too. */
static void test_waits_for_stacked(void **state)
{
	(void)state;
	start_uring();
	uring_submit(&req);
	submits_to(&stacked, 0, REQ_OP_READ);
	uring_wait(&ring_ctx);
	tick(3);
	cpu_is(0, &kworker);
	submits(1, REQ_OP_READ);
	tick(5);
	gets_request(1);
	tick(7);
	issue(1);
	tick(11);
	complete_bytes(&io[1].rq, 0, SIZE);
	bio_ends(&io[0].bio);
	completion_is_over();
	tick(13);
	cpu_is(1, &first);
	uring_complete(&req, SIZE);
	assert_ops(OP_URING, 1, 39,
		   STRATA([ST_TAG] = 5, [ST_QUEUE] = 7, [ST_DEVICE] = 3 + 11, [ST_COMPLETE] = 13));
	is_over();
}

/* A request's bio is merged into the request of a throttled bio before that bio had this request.
 */
static void test_waits_for_throttled(void **state)
{
	(void)state;
	start_uring();
	strcpy(kworker.queue, "kthrotld");
	cpu_is(0, &kworker);
	submits(1, REQ_OP_READ);
	tick(2);
	cpu_is(1, &first);
	uring_submit(&req);
	submits(0, REQ_OP_READ);
	uring_wait(&ring_ctx);
	tick(3);
	cpu_is(0, &kworker);
	gets_request(1);
	cpu_is(1, &first);
	EVENT(on_backmerge, &io[0].bio);
	is_behind(0, 1, 1);
	tick(5);
	issue(1);
	tick(7);
	completes(1);
	tick(11);
	uring_complete(&req, SIZE);
	assert_ops(OP_URING, 1, 26,
		   STRATA([ST_TAG] = 3, [ST_QUEUE] = 5, [ST_DEVICE] = 7, [ST_COMPLETE] = 11));
	is_over();
}

/* A worker submits its bio, though nobody saw that it was left to one: until then it sleeps. */
static void test_worker_unseen(void **state)
{
	(void)state;
	start_uring();
	uring_submit(&req);
	uring_wait(&ring_ctx);
	tick(5);
	cpu_is(2, &worker);
	submits(0, REQ_OP_READ);
	tick(7);
	gets_request(0);
	tick(11);
	issue(0);
	tick(13);
	completes(0);
	tick(17);
	cpu_is(1, &first);
	uring_complete(&req, SIZE);
	assert_ops(OP_URING, 1, 53,
		   STRATA([ST_SLEEP] = 5, [ST_TAG] = 7, [ST_QUEUE] = 11, [ST_DEVICE] = 13,
			  [ST_COMPLETE] = 17));
	is_over();
}

/* A worker submits a bio of a thread that polls for requests. This thread is taken to have been in
 * the file system all the time until the last bio. */
static void test_worker_unseen_of_polling(void **state)
{
	struct ktask sq;

	(void)state;
	start_uring();
	task_init(&sq, 2101, 2507, "iou-sqp", PF_IO_WORKER);
	sq.t.group_leader = &first.t;
	cpu_is(1, &sq);
	uring_submit(&req);
	tick(2);
	EVENT(enter_read, &req);
	tick(3);
	submits(0, REQ_OP_READ);
	gets_request(0);
	issue(0);
	completes(0);
	tick(5);
	cpu_is(2, &worker);
	submits(1, REQ_OP_READ);
	tick(7);
	gets_request(1);
	tick(11);
	issue(1);
	tick(13);
	completes(1);
	tick(17);
	cpu_is(1, &sq);
	uring_complete(&req, SIZE);
	assert_ops(OP_URING, 1, 58,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 3 + 5, [ST_TAG] = 7, [ST_QUEUE] = 11,
			  [ST_DEVICE] = 13, [ST_COMPLETE] = 17));
	is_over();
}

/* A buffered read may wait for what the one before it had read ahead, which was dispatched by then:
 * if that is done just when it begins, or later. */
static void test_read_ahead_is_done(void **state)
{
	(void)state;
	for (u64 after = 0; after < 6; after += 3) {
		start_uring();
		uring_submit(&req);
		submits(0, REQ_OP_READ);
		gets_request(0);
		issue(0);
		tick(2);
		uring_complete(&req, SIZE);
		uring_submit(&req);
		uring_wait(&ring_ctx);
		tick(after);
		completes(0);
		tick(17);
		uring_complete(&req, SIZE);
		assert_ops(OP_URING, 2, 17 + after,
			   STRATA([ST_SYSCALL] = 2, [ST_DEVICE] = after, [ST_COMPLETE] = 17));
		is_over();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, machine_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_owner_by_time),
		TEST(test_owner_of_unseen_first),
		TEST(test_throttled_and_merged),
		TEST(test_helper_and_merged),
		TEST(test_many_discards),
		TEST(test_some_discards),
		TEST(test_request_of_a_path),
		TEST(test_request_that_a_path_refuses),
		TEST(test_failover),
		TEST(test_no_room_for_paths),
		TEST(test_no_disk),
		TEST(test_command),
		TEST(test_command_filtered),
		TEST(test_merged_for_others),
		TEST(test_flush_at_the_same_time),
		TEST(test_flush_alone_after_another),
		TEST(test_flush_passed_on),
		TEST(test_flush_of_a_partition),
		TEST(test_flush_of_a_device_without_requests),
		TEST(test_split_and_passed_on),
		TEST(test_parts_cut_off_in_front),
		TEST(test_page_without_a_bio),
		TEST(test_page_not_traced),
		TEST(test_parts_of_md),
		TEST(test_parts_of_another_array),
		TEST(test_split_and_lost),
		TEST(test_split_after_unseen_end),
		TEST(test_missed_after_throttle),
		TEST(test_clock_behind),
		TEST(test_part_wakes_nobody),
		TEST(test_unseen_part_within_completion),
		TEST(test_part_of_a_sequence),
		TEST(test_rows_of_slots),
		TEST(test_address_again),
		TEST(test_address_again_for_another),
		TEST(test_unseen_bio),
		TEST(test_bio_ends_first),
		TEST(test_bio_that_would_wait),
		TEST(test_requeued_before),
		TEST(test_allocated_before),
		TEST(test_merged_before),
		TEST(test_front_merged_into_unseen),
		TEST(test_helper_for_a_process),
		TEST(test_not_the_helper),
		TEST(test_worker_of_uring),
		TEST(test_only_requests_of_operations),
		TEST(test_throttled_without_waits),
		TEST(test_part_passed_on_for_another),
		TEST(test_part_and_merged),
		TEST(test_part_of_a_hashed_bio),
		TEST(test_no_room_for_splits),
		TEST(test_mark_of_a_bio),
		TEST(test_mark_of_a_bio_on_a_request),
		TEST(test_mark_of_an_earlier_request),
		TEST(test_number_of_a_mark),
		TEST(test_whose_mark),
		TEST(test_switch_ends_completions),
		TEST(test_torn_note),
		TEST(test_note_of_nobody),
		TEST(test_request_that_has_ended),
		TEST(test_waits_for_stacked),
		TEST(test_waits_for_throttled),
		TEST(test_worker_unseen),
		TEST(test_worker_unseen_of_polling),
		TEST(test_read_ahead_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
