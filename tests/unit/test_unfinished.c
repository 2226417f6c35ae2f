// SPDX-License-Identifier: GPL-2.0-only
/* Operations that have not ended: states of threads and requests are made here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "host/mounts.h"
#include "trace/unfinished.h"

enum { NOW = 1000, MAP_FD = 77, HASH_FD = 78, SERVED_FD = 79, AGAIN = 2 };

struct a_task {
	unsigned char progress, layer, kind, throttled, locked, submitted;
	unsigned short mode;
	unsigned int dev, generation, collisions, kernel_tid;
	uint64_t start, last_bio, fs, ino, file, id, task, off, asleep, waking_at, waking_asleep;
};

struct an_io {
	uint64_t key, q, g, d;
	unsigned char io_throttled, bio_based;
	unsigned int io_tid, io_dev;
};

struct a_request {
	uint64_t task;
	unsigned char queued, posted;
	struct a_task op;
};

static struct {
	struct a_task tasks[5];
	struct an_io ios[3];
} bss;
static struct an_io hashed;
static struct a_request requests[3];
static struct fs_entry types[FS_SLOTS];
static struct state_layout layout;
static struct snapshot sn;

/* libbpf's: two, then the last one. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	unsigned int at = in ? 2 : 0;

	(void)keys;
	(void)opts;
	assert_int_equal(fd, MAP_FD);
	*(unsigned int *)out = 2;
	*count = in ? 1 : 2;
	memcpy(values, &requests[at], *count * sizeof(*requests));
	errno = ENOENT;
	return in ? -1 : 0;
}

struct a_served {
	uint64_t task;
	unsigned int dev;
	char server[SERVER_LEN];
};

/* Three requests to servers, of keys 1 to 3. */
static struct a_served served[4];

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	uint64_t last = key ? *(const uint64_t *)key : 0;

	assert_int_equal(fd, SERVED_FD);
	*(uint64_t *)next = last + 1;
	return last < 3 ? 0 : -1;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	if (fd == SERVED_FD) {
		memcpy(value, &served[*(const uint64_t *)key], sizeof(*served));
		return *(const uint64_t *)key == 2 ? -1 : 0; /* it has just ended */
	}
	assert_int_equal(fd, HASH_FD);
	if (*(const uint64_t *)key != hashed.key)
		return -1;
	memcpy(value, &hashed, sizeof(hashed));
	return 0;
}

#define TASK(member) .member = offsetof(struct a_task, member)
#define IO(member)   .member = offsetof(struct an_io, member)

static int start(void **state)
{
	(void)state;
	memset(&bss, 0, sizeof(bss));
	memset(requests, 0, sizeof(requests));
	memset(served, 0, sizeof(served));
	hashed = (struct an_io){};
	memset(types, 0, sizeof(types));
	sn = (struct snapshot){};
	layout = (struct state_layout){
		.tasks = 0,
		.task_size = sizeof(struct a_task),
		.n_tasks = 5,
		.ios = offsetof(typeof(bss), ios),
		.io_size = sizeof(struct an_io),
		.n_ios = 3,
		TASK(progress),
		TASK(layer),
		TASK(kind),
		TASK(throttled),
		TASK(locked),
		TASK(submitted),
		TASK(start),
		TASK(last_bio),
		TASK(fs),
		TASK(dev),
		TASK(ino),
		TASK(mode),
		TASK(generation),
		TASK(file),
		TASK(id),
		TASK(kernel_tid),
		TASK(task),
		TASK(collisions),
		TASK(off),
		TASK(asleep),
		TASK(waking_at),
		TASK(waking_asleep),
		IO(key),
		IO(io_tid),
		IO(q),
		IO(g),
		IO(d),
		IO(io_throttled),
		IO(bio_based),
		IO(io_dev),
		.io_hash = HASH_FD,
		.async_size = sizeof(struct a_request),
		.async_task = offsetof(struct a_request, task),
		.async_op = offsetof(struct a_request, op),
		.queued = offsetof(struct a_request, queued),
		.posted = offsetof(struct a_request, posted),
		.async = -1,
		.served = -1,
		.served_size = sizeof(struct a_served),
		.server_task = offsetof(struct a_served, task),
		.server_dev = offsetof(struct a_served, dev),
		.server_name = offsetof(struct a_served, server),
	};
	types[3].fs = 900;
	strcpy((char *)types[3].name, "ext4");
	return 0;
}

static int end(void **state)
{
	(void)state;
	snapshot_free(&sn);
	return 0;
}

static void read_them(uint64_t min_ns)
{
	assert_int_equal(unfinished_read(&layout, &bss, types, NOW, min_ns, &sn), 0);
}

static struct a_task reading(uint64_t since, unsigned int tid)
{
	return (struct a_task){ .progress = OP_ACTIVE,
				.kind = OP_READ,
				.start = since,
				.fs = 900,
				.id = 4000000ULL << 32 | tid,
				.task = 0xa00 + tid };
}

#define WAITS                                                                                      \
	{                                                                                          \
		.asleep = 50, .submitted = 1, .last_bio = 9                                        \
	}

/* The waits of a sleep before its waking: only a waking of this very sleep has ended the sleep. */
static void what_it_waits_for(void **state)
{
	static const struct {
		struct a_task t;
		struct an_io io;
		enum stratum want;
	} cases[] = {
		{ { .layer = ST_FS }, {}, ST_FS },
		{ { .layer = ST_FS + 1 }, {}, ST_SYSCALL },
		{ { .layer = ST_FS, .off = 50 }, {}, ST_PREEMPT },
		{ { .asleep = 50, .waking_asleep = 50, .waking_at = 60 }, {}, ST_RUNQ },
		{ { .asleep = 50, .waking_asleep = 50, .waking_at = 49 }, {}, ST_SLEEP },
		{ { .asleep = 50, .waking_asleep = 30, .waking_at = 60 }, {}, ST_SLEEP },
		{ { .asleep = 50, .throttled = 1, .locked = 1 }, {}, ST_THROTTLE },
		{ { .asleep = 50, .locked = 1, .submitted = 1, .last_bio = 9 },
		  { 9, 1, 0, 0, 0, 0, 0, 0 },
		  ST_LOCK },
		{ WAITS, { 9, 1, 0, 0, 0, 0, 0, 0 }, ST_TAG },
		{ WAITS, { 9, 1, 1, 0, 0, 0, 0, 0 }, ST_QUEUE },
		{ WAITS, { 9, 1, 1, 1, 0, 0, 0, 0 }, ST_DEVICE },
		{ WAITS, { 9, 1, 0, 0, 1, 0, 0, 0 }, ST_TAG },
		{ WAITS, { 9, 1, 0, 0, AGAIN, 0, 0, 0 }, ST_THROTTLE },
		{ WAITS, { 9, 0, 1, 0, 0, 0, 0, 0 }, ST_THROTTLE },
		{ WAITS, { 9, 0, 1, 1, 0, 0, 0, 0 }, ST_DEVICE }, /* queued without an event */
		{ WAITS, { 9, 1, 0, 0, 0, 1, 0, 0 }, ST_DEVICE },
		{ WAITS, { 9, 1, 1, 0, 0, 1, 0, 0 }, ST_QUEUE },
		{ WAITS, { 8, 1, 1, 1, 0, 0, 0, 0 }, ST_SLEEP },
		{ { .asleep = 50, .last_bio = 9 }, { 9, 1, 1, 1, 0, 0, 0, 0 }, ST_SLEEP },
		/* its bio is done, and another thread uses the address */
		{ WAITS, { 9, 1, 1, 1, 0, 0, 31, 0 }, ST_SLEEP },
	};

	struct an_io *io;
	bool waits;

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		start(state);
		bss.tasks[1] = cases[i / 2].t;
		bss.tasks[1].off |= cases[i / 2].t.asleep;
		bss.tasks[1].progress = OP_ACTIVE;
		bss.tasks[1].start = 7;
		bss.tasks[1].task = 0xa00;
		hashed.io_dev = bss.ios[2].io_dev = 0;
		io = i % 2 ? &hashed : &bss.ios[2];
		*io = cases[i / 2].io;
		io->io_dev = 8 << 20;
		read_them(0);
		assert_int_equal(sn.n_unfinished, 1);
		if (sn.unfinished[0].stratum != cases[i / 2].want)
			fail_msg("case %zu.%zu: %u", i / 2, i % 2, sn.unfinished[0].stratum);
		/* a disk if it waits for a bio of its own, and then only */
		waits = sn.unfinished[0].stratum >= ST_THROTTLE &&
			sn.unfinished[0].stratum <= ST_DEVICE && !bss.tasks[1].throttled;
		assert_int_equal(sn.unfinished[0].dev, waits ? 8 << 20 : 0);
		snapshot_free(&sn);
	}
}

/* A wait is told as one for a frozen file system only if it is for this lock, and only while the
 * thread waits. */
static void frozen_file_systems_are_told(void **state)
{
	static const struct {
		unsigned char locked, throttled;
		bool want;
	} cases[] = { { 0, 0, false }, { 1, 0, false }, { 2, 0, true }, { 2, 1, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		start(state);
		bss.tasks[1] = (struct a_task){ .asleep = 50,
						.off = 50,
						.progress = OP_ACTIVE,
						.start = 7,
						.task = 0xa00,
						.locked = cases[i].locked,
						.throttled = cases[i].throttled };
		read_them(0);
		assert_int_equal(sn.n_unfinished, 1);
		assert_int_equal(sn.unfinished[0].frozen, cases[i].want);
		snapshot_free(&sn);
	}
}

/* The last switch of a thread that has exited may look like a sleep. Then its state is given up. */
static void a_thread_that_is_gone_has_none(void **state)
{
	start(state);
	bss.tasks[1] = reading(20, 11);
	bss.tasks[2] = reading(30, 12);
	bss.tasks[1].task = 0;
	read_them(0);
	assert_int_equal(sn.n_unfinished, 1);
	assert_int_equal(sn.unfinished[0].tid, 12);
}

static void the_oldest_comes_first(void **state)
{
	(void)state;
	bss.tasks[0] = reading(NOW - 5, 11);
	bss.tasks[1] = reading(NOW - 70, 12);
	bss.tasks[2] = reading(NOW - 20, 13);
	bss.tasks[3] = reading(NOW - 90, 14);
	bss.tasks[3].kind = OP_HANDLE;
	bss.tasks[4] = reading(NOW, 15); /* begins right now */
	bss.tasks[1].collisions = 2;
	bss.tasks[4].collisions = 1;
	read_them(20);
	assert_int_equal(sn.n_unfinished, 2);
	assert_int_equal(sn.unfinished[0].tid, 12);
	assert_int_equal(sn.unfinished[0].pid, 4000000);
	assert_int_equal(sn.unfinished[0].age_ns, 70);
	assert_string_equal(sn.unfinished[0].fs, "ext4");
	assert_int_equal(sn.unfinished[1].tid, 13);
	assert_int_equal(sn.unfinished_lost, 3);
	assert_null(sn.unfinished[0].file);
}

/* A row's name is that of the file with the same generation. */
static void files_are_named_as_in_rows(void **state)
{
	(void)state;
	layout.has_file = layout.has_names = true;
	for (int i = 0; i < 3; i++) {
		bss.tasks[i] = reading(10 + i, 11 + i);
		bss.tasks[i].dev = 8 << 20 | 1;
		bss.tasks[i].mode = i == 2 ? S_IFBLK : S_IFREG;
		bss.tasks[i].generation = 5 + i;
		bss.tasks[i].ino = 23;
	}
	bss.tasks[3] = reading(13, 14); /* without a file */
	sn.n_ops = 3;
	sn.ops = calloc(3, sizeof(*sn.ops));
	assert_non_null(sn.ops);
	for (int i = 0; i < 3; i++) {
		sn.ops[i].key.by[0] = FILE_KEY(8 << 20 | 1, i == 2, i == 2 ? 7 : 6 - i);
		sn.ops[i].key.by[1] = 23;
		sn.ops[i].by = strdup(i == 2 ? "/dev/a" : i ? "/five" : "/six");
	}
	read_them(0);
	assert_int_equal(sn.n_unfinished, 4);
	assert_string_equal(sn.unfinished[0].file, "/five");
	assert_string_equal(sn.unfinished[1].file, "/six");
	assert_string_equal(sn.unfinished[2].file, "/dev/a");
	assert_null(sn.unfinished[3].file);
}

/* Without a row, a file has the name that the user gave it, or device and inode. */
static void files_have_the_names_of_users(void **state)
{
	static const struct filter_file files[] = {
		{ .dev = 8 << 20 | 2, .ino = 23 },
		{ .dev = 8 << 20 | 1, .ino = 29 },
		{ .dev = 8 << 20 | 1, .ino = 23 },
	};
	static const char *const names[] = { "/other/disk", "/other/inode", "its/name" };

	(void)state;
	layout.has_file = true;
	for (int i = 0; i < 2; i++) {
		bss.tasks[i] = reading(10 + i, 11 + i);
		bss.tasks[i].dev = 8 << 20 | 1;
		bss.tasks[i].mode = S_IFREG;
		bss.tasks[i].ino = 23 + 8 * i;
	}
	layout.files = files;
	layout.file_names = names;
	layout.n_files = 3;
	read_them(0);
	assert_string_equal(sn.unfinished[0].file, "its/name");
	assert_string_equal(sn.unfinished[1].file, "<8:1>/inode 31");
}

/* Requests that no thread executes, with the thread that submitted them; a fault, and a request
 * that is executed, are only known to be I/O by what they have done. */
static void requests_and_faults(void **state)
{
	(void)state;
	layout.async = MAP_FD;
	for (int i = 0; i < 3; i++) {
		requests[i].task = i == 2 ? 0 : 0xa00 + 12; /* 0: it has ended */
		requests[i].op = reading(10 + i, 0);
		requests[i].op.progress = OP_ASYNC;
		requests[i].op.kind = OP_URING;
		requests[i].op.file = 1;
	}
	requests[0].queued = 1;
	requests[1].op.submitted = 1;
	requests[1].op.last_bio = 9;
	bss.ios[0] = (struct an_io){ 9, 1, 1, 1, 0, 0, 0, 0 };
	for (int i = 0; i < 4; i++) {
		bss.tasks[i] = reading(20 + i, 11 + i);
		bss.tasks[i].progress = i < 2 ? OP_FAULTS : OP_ASYNC;
		bss.tasks[i].kind = i < 2 ? OP_FAULT : OP_URING;
	}
	bss.tasks[1].submitted = 1;
	bss.tasks[2].file = 1;
	read_them(0);
	assert_int_equal(sn.n_unfinished, 4);
	assert_int_equal(sn.unfinished[0].stratum, ST_HELPER);
	assert_int_equal(sn.unfinished[0].tid, 12);
	assert_int_equal(sn.unfinished[1].stratum, ST_DEVICE);
	assert_int_equal(sn.unfinished[2].tid, 12);
	assert_string_equal(sn.unfinished[2].fs, "");
	assert_int_equal(sn.unfinished[3].tid, 13);
	assert_string_equal(sn.unfinished[3].fs, "ext4");
}

/* An exec counts as it is; a call whose file is not known does not, nor does an operation that is
 * put aside. A sleep in no call counts if it is for storage. */
static void calls_without_a_file(void **state)
{
	static const unsigned char progress[] = { OP_EXECS, OP_BEGUN, OP_RESTARTS, OP_SLEEPS,
						  OP_SLEEPS };

	(void)state;
	for (int i = 0; i < 5; i++) {
		bss.tasks[i] = reading(20 + i, 11 + i);
		bss.tasks[i].progress = progress[i];
	}
	bss.tasks[4].submitted = 1;
	read_them(0);
	assert_int_equal(sn.n_unfinished, 2);
	assert_int_equal(sn.unfinished[0].tid, 11);
	assert_int_equal(sn.unfinished[1].tid, 15);
}

/* A sleeping thread with a request to a server waits for the request, unless the thread submitted a
 * bio. */
static void for_a_server(void **state)
{
	(void)state;
	layout.served = SERVED_FD;
	for (int i = 0; i < 4; i++) {
		bss.tasks[i] = reading(20 + i, 11 + i);
		bss.tasks[i].off = bss.tasks[i].asleep = 500;
		served[i].task = bss.tasks[i].task;
		strcpy(served[i].server, "203.0.113.7");
	}
	bss.tasks[1].submitted = 1; /* a read, which sets it */
	bss.tasks[3].submitted = 1;
	bss.tasks[3].last_bio = 9;
	bss.ios[0] = (struct an_io){ 9, 1, 1, 1, 0, 0, 0, 0 };
	read_them(0);
	assert_int_equal(sn.n_unfinished, 4);
	assert_int_equal(sn.unfinished[0].stratum, ST_SLEEP);
	assert_int_equal(sn.unfinished[1].stratum, ST_SERVER);
	assert_int_equal(sn.unfinished[2].stratum, ST_SLEEP);
	assert_int_equal(sn.unfinished[3].stratum, ST_DEVICE);
	assert_string_equal(sn.unfinished[1].server, "203.0.113.7");
	assert_null(sn.unfinished[0].server);
	assert_null(sn.unfinished[3].server); /* it waits for the device */
}

/* The note of a request that is over has no thread, and is nobody's. */
static void after_a_server(void **state)
{
	(void)state;
	layout.served = SERVED_FD;
	bss.tasks[0] = reading(20, 11);
	bss.tasks[0].off = bss.tasks[0].asleep = 500;
	strcpy(served[1].server, "203.0.113.7");
	read_them(0);
	assert_int_equal(sn.n_unfinished, 1);
	assert_int_equal(sn.unfinished[0].stratum, ST_SLEEP);
}

/* A request to a daemon is known by its file system. */
static void for_a_daemon(void **state)
{
	struct mounts mounts;
	unsigned int dev;

	(void)state;
	assert_int_equal(mounts_read(&mounts), 0);
	dev = mounts.list[mounts.n - 1].dev;
	layout.served = SERVED_FD;
	bss.tasks[1] = reading(21, 12);
	bss.tasks[1].off = bss.tasks[1].asleep = 500;
	served[1] = (struct a_served){ .task = bss.tasks[1].task, .dev = dev };
	read_them(0);
	assert_int_equal(sn.n_unfinished, 1);
	assert_string_equal(sn.unfinished[0].server, mounts_by_dev(&mounts, dev)->point);
	mounts_free(&mounts);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_it_waits_for),
		TEST(frozen_file_systems_are_told),
		TEST(a_thread_that_is_gone_has_none),
		TEST(files_are_named_as_in_rows),
		TEST(files_have_the_names_of_users),
		TEST(the_oldest_comes_first),
		TEST(files_are_named_as_in_rows),
		TEST(calls_without_a_file),
		TEST(requests_and_faults),
		TEST(for_a_server),
		TEST(after_a_server),
		TEST(for_a_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
