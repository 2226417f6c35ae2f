// SPDX-License-Identifier: GPL-2.0-only
/*
 * The patterns of files and disks, by the programs of src/bpf in a machine that is made up (see
 * kernel/machine.h): the same as those which a report of the same accesses has.
 */
#include "kernel/machine.h"

#include "base/access.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, SIZES = 23 };

static struct kfile ext4, xfs;
static struct kdisk disk;
static struct ktask alice;
static struct bio bio;

struct block_io {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static int start(void **state)
{
	unsigned short where[CALL_MAX] = { [NR_READ] = OFFSET_ARG3, [NR_WRITE] = OFFSET_POS };

	(void)state;
	machine_start();
	data_set(call_offsets, where, sizeof(where));
	conf.by = BY_FILE;
	conf.rq_by = 1;
	conf.row_slots = conf.rq_in_cells = 0;
	conf.file_details = conf.call_noted = conf.op_accesses = conf.issuers = 1;
	conf.access_slots = ACCESS_SLOTS;
	conf.access_sizes_limit = 100;
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG);
	file_init(&xfs, "xfs", 77, 29, S_IFREG);
	disk_init(&disk, 8, 0, true);
	task_init(&alice, 1100, 1101, "alice", 0);
	alice.fd[2] = &ext4.f;
	alice.fd[3] = &xfs.f;
	cpu_is(1, &alice);
	return 0;
}

static struct access_slot *slot(u32 i)
{
	return bpf_map_lookup_elem(&access_slots, &i);
}

/* The only slot of @what; NULL: none. @ret_i: its number. */
static struct access_slot *slot_of(u32 what, u64 ino, u32 *ret_i)
{
	struct access_slot *found = NULL;

	for (u32 i = 0; i < ACCESS_SLOTS; i++) {
		if (slot(i)->what != what || slot(i)->by[1] != ino)
			continue;
		assert_null(found);
		found = slot(i);
		*ret_i = i;
	}
	return found;
}

/* The pattern of slot @i over both epochs, as user space makes it. */
static struct access_pattern *pattern_of(u32 i)
{
	struct access_pattern *p = calloc(1, sizeof(*p));
	const void *sizes[] = { &access_sizes_even, &access_sizes_odd };
	struct access_size key = { .slot = i };
	u64 *n;

	for (int epoch = 0; epoch < 2; epoch++) {
		access_pattern_add_sums(p, &slot(i)->sums[epoch], slot(i)->sizes);
		for (key.bucket = 0; key.bucket < HIST_N; key.bucket++) {
			n = bpf_map_lookup_elem(sizes[epoch], &key);
			if (n)
				hist_add(&p->sizes, key.bucket, *n);
		}
	}
	return p;
}

static void assert_same(const struct access_pattern *is, const struct access_pattern *want)
{
	const struct access *a = &is->access, *b = &want->access;
	uint64_t n, n_want;

	assert_int_equal(a->count, b->count);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->max_bytes, b->max_bytes);
	assert_int_equal(a->sequential, b->sequential);
	assert_int_equal(a->strided, b->strided);
	assert_int_equal(a->distance, b->distance);
	assert_int_equal(access_size(a, &n), access_size(b, &n_want));
	assert_int_equal(n, n_want);
	assert_int_equal(access_pattern_median(is), access_pattern_median(want));
	assert_int_equal(is->sizes.n, want->sizes.n);
	assert_memory_equal(is->sizes.bins, want->sizes.bins,
			    is->sizes.n * sizeof(*is->sizes.bins));
}

/* A read of @bytes bytes at @offset of the file @ino, in the current epoch. */
static void note_read(u64 ino, u64 offset, u32 bytes)
{
	access_count(access_slot_find(4096, 8, ino, ROW_WHAT(0, OP_READ, 0)), offset, bytes,
		     !live.epoch);
}

static u64 seed;

/* xorshift64* */
static u64 random_up_to(u64 n)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * 0x2545f4914f6cdd1dULL >> 33) % n;
}

/* The next access of a process which mostly goes on, at times by equal steps, at times anywhere. */
static u64 offset_next(const struct access *a, u32 way)
{
	u64 recent = a->past.not_ends[random_up_to(ACCESS_STREAMS)];

	if (way < 3 && recent)
		return ~recent;
	return way < 6 ? a->past.last + a->past.stride : random_up_to(64) << 12;
}

/* Sequences that are drawn: of few sizes or many, of one row or several by turns, in two epochs. */
static void test_same_as_report(void **state)
{
	enum { ROWS = 5 };
	struct access_pattern *want[ROWS], *is;
	u32 i, n_sizes;

	(void)state;
	for (seed = 1; seed < 1 + 23 * 2; seed += 2) {
		start(NULL);
		n_sizes = 1 + random_up_to(SIZES);
		for (u32 row = 0; row < ROWS; row++)
			want[row] = calloc(1, sizeof(*want[row]));
		for (int step = 0; step < 1009; step++) {
			u32 row = random_up_to(ROWS);
			u64 offset = offset_next(&want[row]->access, random_up_to(8));
			u32 bytes = (1 + random_up_to(n_sizes)) * 512;

			live.epoch = step / 500 % 2;
			access_pattern_add(want[row], offset, bytes);
			note_read(100 + row, offset, bytes);
		}
		for (u32 row = 0; row < ROWS; row++) {
			assert_non_null(slot_of(ROW_WHAT(0, OP_READ, 0), 100 + row, &i));
			is = pattern_of(i);
			assert_same(is, want[row]);
			assert_true(is->access.sequential && is->access.strided);
			access_pattern_free(is);
			access_pattern_free(want[row]);
		}
		assert_int_equal(live.unpatterned, 0);
		assert_int_equal(lost_all(), 0);
		machine_stop(NULL);
	}
	start(NULL);
}

static void read_at(u32 fd, u64 offset, long ret)
{
	struct kfile *f = (struct kfile *)alice.fd[fd];

	sys_enter(NR_READ, fd, 0, 4096, offset);
	vfs_in(OP_READ, f);
	tick(600);
	vfs_out(OP_READ, ret);
	sys_exit(ret);
}

/* Calls count for their file: only those which read or wrote something, at a known place. */
static void test_calls(void **state)
{
	struct access_slot *s;
	u32 i;

	(void)state;
	read_at(2, 8192, 4096);
	read_at(2, 12288, 4096);
	read_at(3, 16384, 100);
	read_at(2, 16384, 0);
	read_at(2, 16384, -5);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	sys_exit(0);
	s = slot_of(ROW_WHAT(0, OP_READ, 0), 23, &i);
	assert_non_null(s);
	assert_int_equal(s->by[0], FILE_KEY(EXT4_DEV, 0, 0));
	assert_int_equal(s->fs, (u64)&ext4.type);
	assert_int_equal(access_sums_count(&s->sums[0]), 2);
	assert_int_equal(s->sums[0].of_size[0] * s->sizes[0], 8192);
	assert_int_equal(s->sums[0].sequential, 1);
	live.epoch = 1;
	read_at(2, 16384, 4096);
	assert_int_equal(access_sums_count(&s->sums[0]), 2);
	assert_int_equal(s->sums[1].sequential, 1);
	s = slot_of(ROW_WHAT(0, OP_READ, 0), 29, &i);
	assert_non_null(s);
	assert_int_equal(s->sizes[0], 100);
	assert_int_equal(map_count(&slots_taken), 2 + 2 /* types of file systems */);
}

/* The first read of a file is sequential if it begins at 0; another one at 0 is not. */
static void test_first(void **state)
{
	static const struct {
		u64 offsets[2];
		u64 sequential;
	} files[] = { { { 0, 0 }, 1 }, { { 4096, 0 }, 0 }, { { 0, 100 }, 2 }, { { 512, 612 }, 1 } };
	u32 i;

	(void)state;
	for (u64 n = 0; n < sizeof(files) / sizeof(*files); n++) {
		note_read(100 + n, files[n].offsets[0], 100);
		note_read(100 + n, files[n].offsets[1], 100);
		assert_int_equal(slot_of(ROW_WHAT(0, OP_READ, 0), 100 + n, &i)->sums[0].sequential,
				 files[n].sequential);
	}
}

/* An append is where the file's position was before. */
static void test_append(void **state)
{
	struct access_slot *s;
	u32 i;

	(void)state;
	ext4.f.f_flags = O_APPEND;
	for (u64 at = 1000; at < 1300; at += 100) {
		sys_enter(NR_WRITE, 2, 0, 100, 0);
		vfs_in(OP_WRITE, &ext4);
		ext4.f.f_pos = at + 100;
		vfs_out(OP_WRITE, 100);
		sys_exit(100);
	}
	s = slot_of(ROW_WHAT(0, OP_WRITE, 0), 23, &i);
	assert_non_null(s);
	assert_int_equal(access_sums_count(&s->sums[0]), 3);
	assert_int_equal(s->sums[0].sequential, 2);
	assert_int_equal(s->past.last, 1200);
}

static void request(u32 op, u64 sector, u32 bytes)
{
	struct block_io io = {};

	bio_init(&io.bio, &disk, op, sector, bytes);
	EVENT(on_bio_queue, &io.bio);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_getrq, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	tick(1000);
	complete_bytes(&io.rq, 0, bytes);
	completion_is_over();
}

/* Requests count for their disk. */
static void test_requests(void **state)
{
	struct access_slot *s;
	u32 i;

	(void)state;
	conf.rq_by = conf.op_accesses = conf.issuers = 0;
	conf.rq_accesses = 1;
	for (u64 at = 0; at < 23; at++)
		request(REQ_OP_READ, 1000 * at, 4096);
	request(REQ_OP_WRITE, 8, 4096);
	request(REQ_OP_FLUSH, 0, 0);
	s = slot_of(REQUESTS_WHAT(RQ_READ, 0), 0, &i);
	assert_non_null(s);
	assert_int_equal(s->fs, SLOT_OF_DEV | 8 << MINOR_BITS);
	assert_int_equal(access_sums_count(&s->sums[0]), 23);
	assert_int_equal(s->sums[0].strided, 21);
	assert_int_equal(s->sums[0].sequential, 1); /* the first, at 0 */
	assert_int_equal(s->sums[0].distance, 22 * (512000 - 4096));
	assert_int_equal(s->sums[0].of_size[0], 23);
	assert_int_equal(s->sizes[0], 4096);
	s = slot_of(REQUESTS_WHAT(RQ_WRITE, 0), 0, &i);
	assert_non_null(s);
	assert_int_equal(access_sums_count(&s->sums[0]), 1);
	assert_null(slot_of(REQUESTS_WHAT(RQ_FLUSH, 0), 0, &i));
	assert_int_equal(lost_all(), 0);
	/* a device without requests */
	disk_init(&disk, 9, 0, false);
	bio_init(&bio, &disk, REQ_OP_READ, 16, 4096);
	EVENT(on_bio_queue, &bio);
	tick(1000);
	bio_ends(&bio);
	s = slot_of(REQUESTS_WHAT(RQ_READ, 1), 0, &i);
	assert_non_null(s);
	assert_int_equal(s->past.last, 16 << 9);
	assert_int_equal(s->sizes[0], 4096);
}

/* Without room for another row its accesses are counted, and in no pattern. */
static void test_no_slot(void **state)
{
	u64 taken = 0;

	(void)state;
	for (u32 row = 0; row < 3 * ACCESS_SLOTS; row++)
		note_read(1 + row, 0, 512);
	for (u32 i = 0; i < ACCESS_SLOTS; i++)
		taken += access_sums_count(&slot(i)->sums[0]);
	assert_true(taken > ACCESS_SLOTS / 2);
	assert_int_equal(live.unpatterned, 3 * ACCESS_SLOTS - taken);
}

/* A slot that another CPU takes at this moment is left to it. */
static void test_claimed(void **state)
{
	u32 what = ROW_WHAT(0, OP_READ, 0), i, key;

	(void)state;
	key = CLAIM_ACCESS + access_slot_first(4096, 8, 23, what);
	bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST);
	note_read(23, 0, 512);
	assert_non_null(slot_of(what, 23, &i));
	assert_int_equal(i, (key - CLAIM_ACCESS + 1) % ACCESS_SLOTS);
}

/* A size without a place and without room in the hash is lost. */
static void test_no_room_for_size(void **state)
{
	struct access_slot *s;
	u32 i;

	(void)state;
	map_of(&access_sizes_even)->max = 1;
	for (i = 1; i <= ACCESS_SIZES + 3; i++)
		note_read(23, 0, i * 512);
	assert_int_equal(live.access_sizes_made[0], 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	conf.access_sizes_limit = 1;
	live.epoch = 1;
	note_read(23, 0, 1 << 20);
	assert_int_equal(live.drain_wanted, 1);
	s = slot_of(ROW_WHAT(0, OP_READ, 0), 23, &i);
	assert_non_null(s);
	assert_int_equal(s->sums[0].others, 3);
	assert_int_equal(s->sums[1].others, 1);
}

/* While another CPU gives a place of the slot to a size, a new size goes without one. */
static void test_size_claimed(void **state)
{
	u32 i, key;
	struct access_slot *s;

	(void)state;
	note_read(23, 0, 512);
	s = slot_of(ROW_WHAT(0, OP_READ, 0), 23, &i);
	assert_non_null(s);
	key = CLAIM_ACCESS_SIZE + i;
	bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST);
	note_read(23, 0, 512);
	note_read(23, 0, 1024);
	note_read(23, 0, 2048);
	assert_int_equal(s->sums[0].of_size[0], 2);
	assert_int_equal(s->sizes[1], 0);
	assert_int_equal(s->sums[0].others, 2);
	assert_int_equal(s->sums[0].others_bytes, 3072);
	assert_int_equal(s->sums[0].others_max, 2048);
	assert_int_equal(map_count(&access_sizes_even), 2);
	bpf_map_delete_elem(&slots_taken, &key);
	note_read(23, 0, 1024);
	assert_int_equal(s->sizes[1], 1024);
	assert_int_equal(s->sums[0].of_size[1], 1);
	assert_int_equal(map_count(&slots_taken), 1);
	/* another CPU gave the place to a size meanwhile */
	assert_false(access_size_take(&s->sizes[1], i, 4096));
	assert_true(access_size_take(&s->sizes[1], i, 1024));
	assert_int_equal(s->sizes[1], 1024);
}

/* A row remembers its slot, which a row of the other epoch finds again. */
static void test_row_remembers(void **state)
{
	struct op_entry *entry;
	u32 i;

	(void)state;
	read_at(2, 8192, 4096);
	assert_non_null(slot_of(ROW_WHAT(0, OP_READ, 0), 23, &i));
	assert_int_equal(map_count(&op_rows_even), 1);
	entry = (void *)map_of(&op_rows_even)->entries->value;
	assert_int_equal(entry->access, i + 1);
	entry->access = i ? 1 : 2; /* another one: it is used */
	read_at(2, 12288, 4096);
	assert_int_equal(access_sums_count(&slot(i)->sums[0]), 1);
	assert_int_equal(access_sums_count(&slot(i ? 0 : 1)->sums[0]), 1);
	live.epoch = 1;
	read_at(2, 16384, 4096);
	assert_int_equal(access_sums_count(&slot(i)->sums[1]), 1);
}

/* A run without patterns has none, and does not touch their maps. */
static void test_off(void **state)
{
	(void)state;
	conf.access_slots = conf.op_accesses = 0;
	read_at(2, 8192, 4096);
	request(REQ_OP_READ, 8, 4096);
	for (u32 i = 0; i < ACCESS_SLOTS; i++)
		assert_int_equal(slot(i)->what, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_same_as_report),   TEST(test_calls),   TEST(test_append),
		TEST(test_requests),         TEST(test_no_slot), TEST(test_claimed),
		TEST(test_no_room_for_size), TEST(test_off),     TEST(test_size_claimed),
		TEST(test_row_remembers),    TEST(test_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
