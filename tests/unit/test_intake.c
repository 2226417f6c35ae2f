// SPDX-License-Identifier: GPL-2.0-only
/* A recording has the records which the programs send, with the best name of each file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/reason.h"
#include "capture/intake.h"
#include "capture/recording.h"
#include "host/limits.h"
#include "cell.h"

enum { DEV = 8 << 20 | 1, INO = 99 };

/* A recording in the making, and what is read of it. */
struct fixture {
	FILE *f;
	struct writer w;
	struct intake in;
	const struct sent_file *late; /* the name that is there when it is asked for */
	unsigned int probed;
	struct recording rec;
	struct stored_event events[24];
	size_t n;
};

static void names(void *arg)
{
	struct fixture *f = arg;

	if (f->late)
		intake_name(&f->in, f->late, sizeof(*f->late));
}

static bool fs(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN], unsigned int *ret_probed)
{
	const struct fixture *f = arg;

	assert_int_equal(slot, 3);
	strcpy(ret_name, "ext4");
	*ret_probed = f->probed;
	return true;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){
		.f = tmpfile(),
		.in = { .w = &f->w, .names = names, .fs = fs, .arg = f, .end_ns = UINT64_MAX }
	};
	assert_non_null(f->f);
	assert_int_equal(writer_begin(&f->w, fileno(f->f),
				      "{\"monotonic_ns\":0,"
				      "\"realtime_ns\":0,\"ops\":true,\"requests\":true}"),
			 0);
}

static void read_back(struct fixture *f)
{
	struct reason why;

	intake_end(&f->in);
	writer_close(&f->w);
	assert_true(writer_end(&f->w, "{\"ended\":\"ended\"}"));
	writer_done(&f->w);
	intake_done(&f->in);
	rewind(f->f);
	assert_int_equal(recording_open(&f->rec, f->f, "test", &why), 0);
	while (recording_next(&f->rec, &f->events[f->n], &why) > 0)
		assert_true(++f->n < 24);
	assert_true(f->rec.reader.ended);
}

/* Two of all records are calls about descriptors, and one of these comes first. */
static void handles_read(struct fixture *f)
{
	struct reason why;
	struct stored_event ev;
	size_t handles = 0;

	rewind(f->f);
	assert_int_equal(recording_open(&f->rec, f->f, "test", &why), 0);
	for (f->n = 0; recording_next(&f->rec, &ev, &why) > 0; f->n++) {
		assert_true(f->n || ev.kind == CHUNK_HANDLES);
		assert_int_equal(ev.op.kind, ev.kind == CHUNK_HANDLES ? OP_HANDLE : OP_READ);
		assert_int_equal(ev.op.strata[ST_N - 1], 100 + ST_N - 1);
		handles += ev.kind == CHUNK_HANDLES;
	}
	assert_int_equal(handles, 2);
}

static void end(struct fixture *f)
{
	recording_close(&f->rec);
	fclose(f->f);
}

static struct sent_op_waited an_op(void);

static char *command(void *arg, const struct sent_who *who)
{
	(void)arg;
	return who->pid ? strdup("cp 'a file' b") : NULL;
}

/* Intake: a process has its command line in a recording, unless this is not wanted. */
static void processes_have_command_lines(void **state)
{
	struct sent_op_waited sent = an_op();
	const struct catalog_thread *t;
	struct fixture f;

	(void)state;
	sent.op.who = (struct sent_who){ getpid(), getpid(), 0, "first" };
	for (int wanted = 0; wanted < 2; wanted++) {
		begin(&f);
		f.in.command = wanted ? command : NULL;
		intake_record(&f.in, &sent, sizeof(sent));
		sent.op.who.tid++; /* another thread has it, too */
		intake_record(&f.in, &sent, sizeof(sent));
		sent.op.who.tid--;
		read_back(&f);
		for (size_t i = 0; i < 2; i++) {
			t = catalog_thread(&f.rec.catalog, f.events[i].op.owner);
			assert_int_equal(t->pid, getpid());
			assert_int_equal(!!t->command, wanted);
			assert_true(!wanted || !strcmp(t->command, "cp 'a file' b"));
		}
		end(&f);
	}
}

static struct sent_op_waited an_op(void)
{
	struct sent_op_waited w = { .op = {
					    .what = SENT_OP_WAITED,
					    .kind = OP_READ,
					    .cache = CACHE_MISS,
					    .fs = SENT_FS_FIRST + 3,
					    .call = 17,
					    .open_flags = 2,
					    .who = { 12, 13, 1ULL << 40, "dd" },
					    .file = { FILE_KEY(DEV, 0, 3), INO },
					    .start_ns = 1000,
					    .offset = 8192,
					    .len = 4096,
					    .ret = -5,
					    .requests = 7,
					    .fd = -1,
				    } };

	for (int i = 0; i < ST_N; i++)
		*(i < SENT_ON_CPU ? &w.op.on_cpu[i] : &w.waits[i - SENT_ON_CPU]) = 100 + i;
	w.device_bytes = 12288;
	return w;
}

static struct sent_file a_name(unsigned int generation, const char *leaf)
{
	struct sent_file s = { .what = SENT_FILE,
			       .id = { FILE_KEY(DEV, 0, generation), INO },
			       .name = { .nameless = !leaf } };

	if (leaf) {
		strcpy(s.name.names, leaf);
		s.name.len = strlen(leaf) + 1;
		s.name.complete = 1;
	}
	return s;
}

static void assert_named(const struct fixture *f, uint64_t id, const char *leaf)
{
	const struct catalog_file *file = catalog_file(&f->rec.catalog, id);

	assert_int_equal(file->ino, INO);
	assert_int_equal(file->flags, leaf ? STORED_FILE_COMPLETE : STORED_FILE_NAMELESS);
	assert_int_equal(file->len, leaf ? strlen(leaf) + 1 : 0);
	if (leaf)
		assert_string_equal(file->names, leaf);
}

static void operations_are_as_they_were_sent(void **state)
{
	struct sent_op_waited sent = an_op();
	const struct catalog_thread *t;
	const struct stored_op *op;
	struct fixture f;

	(void)state;
	begin(&f);
	intake_record(&f.in, &sent, sizeof(sent));
	sent.op.what = SENT_OP; /* the same, never off the CPU */
	intake_record(&f.in, &sent, sizeof(sent.op));
	intake_record(&f.in, &sent, sizeof(sent.op) - 1); /* cut off */
	f.probed = 1 << OP_READ;                          /* known better at the end */
	read_back(&f);
	assert_int_equal(f.n, 2);
	op = &f.events[0].op;
	assert_int_equal(op->start_ns, 1000);
	assert_int_equal(op->kind, OP_READ);
	assert_int_equal(op->call, 17);
	assert_int_equal(op->cache, CACHE_MISS);
	assert_int_equal(op->open_flags, 2);
	assert_int_equal(op->offset, 8192);
	assert_int_equal(op->len, 4096);
	assert_int_equal((int64_t)op->ret, -5);
	assert_int_equal((int64_t)op->fd, -1);
	assert_int_equal(op->requests, 7);
	assert_int_equal(op->device_bytes, 12288);
	assert_int_equal(f.events[1].op.device_bytes, 0);
	for (int i = 0; i < ST_N; i++) {
		assert_int_equal(op->strata[i], 100 + i);
		assert_int_equal(f.events[1].op.strata[i], i < SENT_ON_CPU ? 100 + i : 0);
	}
	t = catalog_thread(&f.rec.catalog, op->owner);
	assert_int_equal(t->pid, 12);
	assert_int_equal(t->tid, 13);
	assert_int_equal(t->cgroup, 1ULL << 40);
	assert_string_equal(t->comm, "dd");
	assert_string_equal(catalog_fs(&f.rec.catalog, op->fs), "ext4");
	assert_int_equal(f.rec.catalog.fs[op->fs].probed, 1 << OP_READ);
	end(&f);
}

/* A part of the recording, which begins while its operation runs, has that operation. */
static void segments_are_no_more_than_the_record_has(void **state)
{
	struct sent_op_ordered sent = { .waited = an_op() };
	const size_t none = offsetof(struct sent_op_ordered, segments.at);
	const size_t one = sizeof(sent.segments.at[0]);
	struct stored_event ev;
	struct reason why;
	struct fixture f;

	(void)state;
	begin(&f);
	memset(sent.waited.waits, 0, sizeof(sent.waited.waits));
	memset(sent.waited.op.on_cpu, 0, sizeof(sent.waited.op.on_cpu));
	sent.waited.waits[ST_DEVICE - SENT_ON_CPU] = 3000;
	sent.waited.waits[ST_RUNQ - SENT_ON_CPU] = 70;
	sent.waited.op.what = SENT_OP_ORDERED;
	sent.segments.n = 2;
	sent.segments.at[0] = SEGMENT(ST_DEVICE, 3000);
	sent.segments.at[1] = SEGMENT(ST_RUNQ, 70);
	intake_record(&f.in, &sent, none + 2 * one);
	intake_record(&f.in, &sent, none + 2 * one - 1);
	intake_record(&f.in, &sent, none - 1);
	sent.segments.n = SEGMENTS_MAX + 1;
	intake_record(&f.in, &sent, sizeof(sent));
	read_back(&f);
	assert_int_equal(f.n, 1);
	assert_true(f.events[0].op.segments);

	recording_close(&f.rec);
	rewind(f.f);
	assert_int_equal(recording_open(&f.rec, f.f, "test", &why), 0);
	f.rec.from_ns = 1001;
	assert_int_equal(recording_next(&f.rec, &ev, &why), 1);
	end(&f);
}

/* Intake: a wait of another operation is left out, as is one for nobody. */
static void waits_have_somebody_to_whom_they_were_due(void **state)
{
	static const struct {
		unsigned int who, tid, op;
		uint64_t start_ns;
		int64_t ret;
		unsigned int stored, stored_op;
	} cases[] = {
		{ WHO_LOCK, 77, OP_WRITE, 1000, 0, WHO_LOCK, OP_WRITE },
		{ WHO_FILE_LOCK, 77, OP_N, 1000, 0, WHO_FILE_LOCK, OP_NONE },
		{ WHO_FILE_LOCK, 77, OP_NONE, 1000, -4, WHO_WAKER, OP_NONE },
		{ WHO_LOCK, 77, OP_WRITE, 1001, 0, WHO_NONE, 0 },
		{ WHO_LOCK, 0, OP_WRITE, 1000, 0, WHO_NONE, 0 },
		{ WHO_N, 77, OP_WRITE, 1000, 0, WHO_NONE, 0 },
	};
	enum { N = sizeof(cases) / sizeof(*cases) };
	struct fixture f;

	(void)state;
	begin(&f);
	for (size_t i = 0; i < N; i++) {
		struct sent_op_ordered sent = {
			.waited = an_op(),
			.by = { 10007,
				cases[i].start_ns,
				{ 70, cases[i].tid, cases[i].op, .who = cases[i].who } },
		};

		sent.waited.op.what = SENT_OP_ORDERED;
		sent.waited.op.ret = cases[i].ret;
		strcpy(sent.by.thread.comm, "owner");
		intake_record(&f.in, &sent, offsetof(struct sent_op_ordered, segments.at));
	}
	read_back(&f);
	assert_int_equal(f.n, N);
	for (size_t i = 0; i < N; i++) {
		const struct stored_op *op = &f.events[i].op;
		const struct catalog_thread *t = catalog_thread(&f.rec.catalog, op->who_thread);

		assert_int_equal(op->who, cases[i].stored);
		assert_int_equal(op->who_ns, cases[i].stored ? 10007 : 0);
		assert_int_equal(op->who_op, cases[i].stored_op);
		assert_int_equal(!!op->who_thread, cases[i].stored != WHO_NONE);
		assert_true(!op->who_thread || (t->pid == 70 && !strcmp(t->comm, "owner")));
	}
	end(&f);
}

/* Intake: a wait for a limit has the thread that waited, and the side that its kind is on. */
static void a_wait_for_a_limit_is_the_threads_own(void **state)
{
	static const unsigned int kinds[] = { OP_READ, OP_WRITE, OP_WRITE };
	static const enum limit_side sides[] = { LIMIT_READS, LIMIT_WRITES, LIMIT_WRITES };
	struct sent_op_ordered sent = {
		.waited = an_op(),
		.by = { 10007, 1000, { 12, 13, .who = WHO_LIMIT, .limit = LIMIT_IO_MAX } },
	};
	struct fixture f;

	(void)state;
	sent.by.thread.cgroup = 1ULL << 40;
	sent.waited.op.what = SENT_OP_ORDERED;
	begin(&f);
	for (size_t i = 0; i < 3; i++) {
		sent.waited.op.kind = kinds[i];
		intake_record(&f.in, &sent, offsetof(struct sent_op_ordered, segments.at));
	}
	read_back(&f);
	assert_int_equal(f.n, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct stored_op *op = &f.events[i].op;

		assert_int_equal(op->who, WHO_LIMIT);
		assert_int_equal(op->who_ns, 10007);
		assert_true(op->who_thread && op->who_thread == op->owner);
		assert_true(op->who_limit == limit_id(1ULL << 40, sides[i], LIMIT_IO_MAX));
	}
	/* the thread itself, whose name is no cgroup */
	assert_int_equal(f.rec.catalog.n_threads, 2);
	end(&f);
}

/* An operation that differs from the one before in some way, often in nothing but its times. */
static struct sent_op another_op(struct sent_op op, unsigned int i)
{
	op.start_ns += 1000 + i % 3;
	op.on_cpu[ST_FS] = i % 50 ? 100 : 100 + i;
	op.on_cpu[ST_SYSCALL] = i > 500 ? 1 << 30 : 7;
	op.offset += i > 300 ? 4096 : 0;
	op.ret = i % 70 ? 4096 : -(long long)i;
	op.len = i % 90 ? 4096 : 512;
	if (i % 97 < 10) /* sometimes often */
		op.file.ino = INO + i % 3;
	if (!(i % 101))
		op.who.tid++;
	op.kind = i % 113 ? OP_READ : OP_HANDLE;
	op.fd = i / 64;
	return op;
}

/* Writes @ops to a recording, @together or each alone, and reads its records except handles;
 * returns their number. */
static size_t events_of(const struct sent_op *ops, size_t n, bool together,
			struct stored_event *ret_events)
{
	struct recording *rec;
	struct reason why;
	struct fixture f;
	size_t got = 0;

	begin(&f);
	for (size_t i = 0; i < n; i += together ? n : 1)
		intake_record(&f.in, ops + i, (together ? n : 1) * sizeof(*ops));
	intake_end(&f.in);
	writer_close(&f.w);
	assert_true(writer_end(&f.w, "{\"ended\":\"ended\"}"));
	writer_done(&f.w);
	intake_done(&f.in);
	rewind(f.f);
	rec = &f.rec;
	assert_int_equal(recording_open(rec, f.f, "test", &why), 0);
	while (recording_next(rec, &ret_events[got], &why) > 0) {
		got += ret_events[got].kind == CHUNK_OPS;
		assert_true(got <= n);
	}
	assert_true(rec->reader.ended);
	end(&f);
	return got;
}

static void many_operations_are_what_each_alone_is(void **state)
{
	enum { N = 20000 };
	struct stored_event *alone = calloc(N + 1, sizeof(*alone));
	struct stored_event *together = calloc(N + 1, sizeof(*together));
	struct sent_op *ops = calloc(N, sizeof(*ops));
	size_t n;

	(void)state;
	assert_true(alone && together && ops);
	ops[0] = an_op().op;
	ops[0].what = SENT_OP;
	ops[0].requests = 0;
	for (unsigned int i = 1; i < N; i++)
		ops[i] = another_op(ops[i - 1], i);
	n = events_of(ops, N, false, alone);
	assert_int_equal(n, N - N / 113); /* the others are handles */
	assert_int_equal(events_of(ops, N, true, together), n);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(&together[i].op, &alone[i].op, sizeof(alone[i].op));
	free(ops);
	free(together);
	free(alone);
}

/* Some kernels send what is left of an older one. */
static void what_is_behind_a_comm_is_no_other_thread(void **state)
{
	struct sent_op_waited sent = an_op();
	struct fixture f;

	(void)state;
	begin(&f);
	intake_record(&f.in, &sent, sizeof(sent));
	sent.op.who.comm[3] = 'x';
	intake_record(&f.in, &sent, sizeof(sent));
	sent.op.who.comm[2] = 'x'; /* it has another name now */
	intake_record(&f.in, &sent, sizeof(sent));
	read_back(&f);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.events[1].op.owner, f.events[0].op.owner);
	assert_string_equal(catalog_thread(&f.rec.catalog, f.events[1].op.owner)->comm, "dd");
	assert_string_equal(catalog_thread(&f.rec.catalog, f.events[2].op.owner)->comm, "ddxx");
	end(&f);
}

static void calls_about_descriptors_are_not_counted(void **state)
{
	struct sent_op_waited sent = an_op();
	struct fixture f;

	(void)state;
	begin(&f);
	sent.op.kind = OP_HANDLE;
	intake_record(&f.in, &sent, sizeof(sent));
	assert_int_equal(f.w.batches[CHUNK_OPS].columns.rows, 0);
	assert_int_equal(f.w.batches[CHUNK_HANDLES].columns.rows, 1);
	sent.op.kind = OP_READ;
	for (int i = 0; i <= CHUNK_ROWS; i++) /* a chunk, and what is written with it */
		intake_record(&f.in, &sent, sizeof(sent));
	assert_int_equal(f.w.ops, CHUNK_ROWS);
	assert_int_equal(f.w.batches[CHUNK_HANDLES].columns.rows, 0);
	sent.op.kind = OP_HANDLE;
	intake_record(&f.in, &sent, sizeof(sent));
	intake_end(&f.in);
	writer_close(&f.w);
	assert_int_equal(f.w.ops, CHUNK_ROWS + 1);
	assert_true(writer_end(&f.w, "{\"ended\":\"ended\"}"));
	writer_done(&f.w);
	intake_done(&f.in);
	handles_read(&f);
	assert_int_equal(f.n, CHUNK_ROWS + 3);
	end(&f);
}

static void many_calls_about_descriptors_are_not_counted(void **state)
{
	enum { N = 101 };
	struct sent_op ops[N];
	struct fixture f;

	(void)state;
	begin(&f);
	ops[0] = an_op().op;
	ops[0].what = SENT_OP;
	ops[0].requests = 0;
	ops[0].kind = OP_HANDLE;
	for (int i = 1; i < N; i++)
		ops[i] = ops[0];
	intake_record(&f.in, ops, sizeof(ops));
	assert_int_equal(f.w.batches[CHUNK_OPS].columns.rows, 0);
	assert_int_equal(f.w.batches[CHUNK_HANDLES].columns.rows, N);
	intake_end(&f.in);
	writer_close(&f.w);
	assert_int_equal(f.w.ops, 0);
	writer_done(&f.w);
	intake_done(&f.in);
	fclose(f.f);
}

static void requests_are_as_they_were_sent(void **state)
{
	struct sent_request sent = {
		.what = SENT_REQUEST,
		.op = RQ_WRITE,
		.dev = DEV,
		.cmd_flags = 11,
		.error = -5,
		.requeues = 2,
		.merges = 3,
		.sector = 8,
		.flags = SENT_FAILED | SENT_OUTSIDE,
		.bytes = 4096,
		.q = 1000,
		.g = 1001,
		.d = 1003,
		.c = 1007,
		.who = { 12, 13, 0, "dd" },
	};
	const struct stored_request *rq;
	struct fixture f;

	(void)state;
	begin(&f);
	intake_record(&f.in, &sent, sizeof(sent));
	sent.q = 0; /* submission not seen, nobody's */
	sent.flags = 0;
	sent.bio_based = 1;
	sent.who = (struct sent_who){};
	intake_record(&f.in, &sent, sizeof(sent));
	read_back(&f);
	assert_int_equal(f.n, 2);
	rq = &f.events[0].request;
	assert_int_equal(rq->q_ns, 1000);
	assert_int_equal(rq->tag_ns, 1);
	assert_int_equal(rq->queue_ns, 2);
	assert_int_equal(rq->device_ns, 4);
	assert_int_equal(rq->dev, DEV);
	assert_int_equal(rq->op, RQ_WRITE);
	assert_int_equal(rq->sector, 8);
	assert_int_equal(rq->bytes, 4096);
	assert_int_equal(rq->cmd_flags, 11);
	assert_int_equal(rq->flags, STORED_RQ_FAILED | STORED_RQ_OUTSIDE);
	assert_int_equal(rq->requeues, 2);
	assert_int_equal(rq->merges, 3);
	assert_int_equal(rq->error, 5);
	assert_int_equal(catalog_thread(&f.rec.catalog, rq->owner)->tid, 13);
	assert_int_equal(rq->file, 0);
	rq = &f.events[1].request;
	assert_int_equal(rq->q_ns, 1001);
	assert_int_equal(rq->tag_ns, 0);
	assert_int_equal(rq->flags, STORED_RQ_UNQUEUED | STORED_RQ_BIO_BASED);
	assert_int_equal(rq->owner, 0);
	end(&f);
}

/* Readers get requests to servers only if they ask for them. A text is written once, and cut off at
 * its length. */
static void requests_to_servers_are_as_they_were_sent(void **state)
{
	struct sent_server_request sent = { .what = SENT_SERVER_REQUEST,
					    .xid = 1ULL << 32,
					    .q = 1000,
					    .g = 1001,
					    .d = 1003,
					    .c = 1007,
					    .server = "10.0.0.7",
					    .op = "SIXTEEN LETTERS!" };
	const struct stored_server_request *rq;
	struct stored_event ev;
	struct reason why;
	struct fixture f;

	(void)state;
	begin(&f);
	intake_record(&f.in, &sent, sizeof(sent));
	memset(sent.server, 'x', sizeof(sent.server));
	sent.xid = 0;
	intake_record(&f.in, &sent, sizeof(sent));
	intake_record(&f.in, &sent, sizeof(sent) - 1); /* cut off */
	sent = (struct sent_server_request){ .what = SENT_SERVER_REQUEST,
					     .protocol = SERVER_FUSE,
					     .opcode = 15,
					     .dev = 23,
					     .q = 1000,
					     .g = 1000,
					     .d = 1000,
					     .c = 1005,
					     .server = "sshfs" };
	intake_record(&f.in, &sent, sizeof(sent));
	sent.protocol = 255;
	intake_record(&f.in, &sent, sizeof(sent));
	f.in.end_ns = 1004;
	intake_record(&f.in, &sent, sizeof(sent)); /* ends later */
	read_back(&f);
	assert_int_equal(f.n, 0);
	assert_int_equal(f.rec.ending.ops, 0);
	recording_close(&f.rec);
	rewind(f.f);
	assert_int_equal(recording_open(&f.rec, f.f, "test", &why), 0);
	f.rec.server_requests = true;
	assert_int_equal(recording_next(&f.rec, &ev, &why), 1);
	assert_int_equal(ev.kind, CHUNK_SERVER_REQUESTS);
	rq = &ev.server_request;
	assert_true(rq->q_ns == 1000 && rq->tag_ns == 1 && rq->queue_ns == 2 && rq->server_ns == 4);
	assert_true(rq->xid == 1ULL << 32);
	assert_string_equal(catalog_server_text(&f.rec.catalog, rq->server), "10.0.0.7");
	assert_string_equal(catalog_server_text(&f.rec.catalog, rq->op), "SIXTEEN LETTERS!");
	assert_int_equal(recording_next(&f.rec, &ev, &why), 1);
	assert_int_equal(rq->xid, 0);
	assert_int_equal(strlen(catalog_server_text(&f.rec.catalog, rq->server)), SERVER_LEN);
	assert_string_equal(catalog_server_text(&f.rec.catalog, 4711), "");
	assert_int_equal(rq->protocol | rq->dev, 0);
	assert_int_equal(recording_next(&f.rec, &ev, &why), 1);
	assert_int_equal(rq->protocol, SERVER_FUSE);
	assert_int_equal(rq->dev, 23);
	assert_true(rq->tag_ns + rq->queue_ns == 0 && rq->server_ns == 5);
	assert_string_equal(catalog_server_text(&f.rec.catalog, rq->op), "READ");
	assert_int_equal(recording_next(&f.rec, &ev, &why), 1);
	assert_int_equal(rq->protocol, 255); /* its kind is not known */
	assert_string_equal(catalog_server_text(&f.rec.catalog, rq->op), "");
	assert_int_equal(recording_next(&f.rec, &ev, &why), 0);
	end(&f);
}

/* A request which nfsd served has its xid where others have a length, also if many are alike. */
static void served_operations_have_their_xid(void **state)
{
	struct sent_op sent[11];
	struct fixture f;

	(void)state;
	begin(&f);
	for (int i = 0; i < 11; i++) {
		sent[i] = an_op().op;
		sent[i].what = SENT_OP;
		sent[i].kind = OP_SERVED;
		sent[i].len = i ? 4711ULL + i : ~0ULL;
	}
	intake_record(&f.in, sent, sizeof(sent));
	sent[0].kind = OP_READ;
	intake_record(&f.in, sent, sizeof(*sent));
	read_back(&f);
	assert_int_equal(f.n, 12);
	for (int i = 0; i < 12; i++) {
		assert_true(f.events[i].op.len == ~0ULL);
		assert_int_equal(f.events[i].op.xid, i && i < 11 ? 4712 + i : 0);
	}
	end(&f);
}

static void what_ends_later_is_left_out(void **state)
{
	struct sent_request request = { .what = SENT_REQUEST,
					.op = RQ_READ,
					.dev = DEV,
					.q = 1000,
					.g = 1001,
					.d = 1003,
					.c = 1007 };
	struct sent_stack stack = { .kind = OP_READ, .start_ns = 1000, .strata[ST_FS] = 7 };
	struct sent_op ops[23] = {};
	struct stored_event ev;
	struct reason why;
	struct fixture f;

	(void)state;
	begin(&f);
	f.in.end_ns = 1006;
	intake_stack(&f.in, &stack, 1, -1);
	intake_record(&f.in, &request, sizeof(request));
	for (int i = 0; i < 23; i++)
		ops[i] = (struct sent_op){
			.what = SENT_OP, .kind = OP_READ, .start_ns = 987 + i, .on_cpu[0] = 1
		};
	intake_record(&f.in, ops, sizeof(ops));
	f.in.end_ns = 1007;
	intake_record(&f.in, &request, sizeof(request));
	stack.strata[ST_FS] = 6;
	stack.ret = -5;
	intake_stack(&f.in, &stack, 2, -1);
	read_back(&f);
	assert_int_equal(f.n, 1 + 1006 - 987);
	recording_close(&f.rec);
	rewind(f.f);
	assert_int_equal(recording_open(&f.rec, f.f, "test", &why), 0);
	f.rec.stacks = true;
	for (f.n = 0; recording_next(&f.rec, &ev, &why) > 0;) {
		if (ev.kind != CHUNK_STACKS)
			continue;
		f.n++;
		assert_true(ev.stack == 2 && ev.op.start_ns == 1000 && ev.op.kind == OP_READ);
		assert_true(ev.op.strata[ST_FS] == 6 && (int64_t)ev.op.ret == -5);
	}
	assert_int_equal(f.n, 1);
	end(&f);
}

static void the_best_name_is_that_of_the_file(void **state)
{
	struct sent_file nameless = a_name(3, NULL), leaf = a_name(3, "a"), late = a_name(4, "b");
	struct sent_op_waited sent = an_op();
	struct fixture f;

	(void)state;
	begin(&f);
	intake_name(&f.in, &nameless, sizeof(nameless));
	intake_record(&f.in, &sent, sizeof(sent));
	intake_name(&f.in, &nameless, sizeof(nameless));
	assert_int_equal(f.in.unnamed, 1);
	intake_name(&f.in, &leaf, sizeof(leaf));
	assert_int_equal(f.in.unnamed, 0);
	intake_name(&f.in, &nameless, sizeof(nameless));
	assert_int_equal(f.in.unnamed, 0);
	/* the inode used again, by another thread; its name comes when it is asked for */
	f.late = &late;
	sent.op.file.key = FILE_KEY(DEV, 0, 4);
	sent.op.who.tid = 14;
	intake_record(&f.in, &sent, sizeof(sent));
	/* and again; this one has none */
	sent.op.file.key = FILE_KEY(DEV, 0, 5);
	intake_record(&f.in, &sent, sizeof(sent));
	assert_int_equal(f.in.unnamed, 1);
	/* a block device has its disk's */
	sent.op.file.key = FILE_KEY(DEV, 1, 0);
	intake_record(&f.in, &sent, sizeof(sent));
	assert_int_equal(f.in.unnamed, 1);
	read_back(&f);
	assert_int_equal(f.n, 4);
	assert_named(&f, f.events[0].op.file, "a");
	assert_named(&f, f.events[1].op.file, "b");
	assert_named(&f, f.events[2].op.file, NULL);
	assert_int_equal(catalog_thread(&f.rec.catalog, f.events[0].op.owner)->tid, 13);
	assert_int_equal(catalog_thread(&f.rec.catalog, f.events[1].op.owner)->tid, 14);
	end(&f);
}

/* As in live tables: metadata of btrfs is known by requests alone, and has no name. */
static void a_file_known_only_by_requests_is_no_lost_name(void **state)
{
	struct sent_request rq = { .what = SENT_REQUEST, .dev = DEV };
	struct sent_op_waited sent = an_op();
	struct fixture f;

	(void)state;
	begin(&f);
	rq.file = sent.op.file;
	intake_record(&f.in, &rq, sizeof(rq));
	assert_int_equal(f.in.n_files, 1);
	assert_int_equal(f.in.unnamed, 0);
	sent.op.kind = OP_HANDLE;
	intake_record(&f.in, &sent, sizeof(sent));
	assert_int_equal(f.in.unnamed, 0);
	for (int i = 0; i < 2; i++) {
		sent.op.kind = OP_READ;
		intake_record(&f.in, &sent, sizeof(sent));
		assert_int_equal(f.in.unnamed, 1);
	}
	assert_int_equal(f.in.n_files, 1);
	read_back(&f);
	end(&f);
}

/* The recorder that runs for ever. */

/* A file and a thread of their own for each number, a millisecond apart; every tenth operation is
 * on the same file by the same thread. */
static void unlike_op(struct fixture *f, uint64_t i, bool with_name)
{
	struct sent_op_waited sent = an_op();
	struct sent_file name = a_name(3, "f");
	uint64_t which = i % 10 ? i : 0;

	sent.op.file.ino = name.id.ino = INO + which;
	sent.op.who.tid = 13 + which;
	sent.op.start_ns = i * 1000000;
	snprintf(name.name.names, sizeof(name.name.names), "f%llu", (unsigned long long)which);
	name.name.len = strlen(name.name.names) + 1;
	f->late = with_name ? &name : NULL;
	intake_record(&f->in, &sent, sizeof(sent));
	f->late = NULL;
	if (i % 1000 == 0)
		writer_flush(&f->w);
}

static void renewed(void *arg)
{
	struct fixture *f = arg;

	f->probed++; /* counts */
}

static bool no_fs(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		  unsigned int *ret_probed)
{
	(void)arg;
	(void)slot;
	(void)ret_name;
	(void)ret_probed;
	return false;
}

/* Reads a copy of what is in memory: each operation has the names of its own file and thread.
 * Returns how many there are. */
static uint64_t copy_check(const struct fixture *f)
{
	uint64_t ids = intake_unnamed_ids(&f->in), n = 0, i, which;
	FILE *file = tmpfile();
	struct recording rec;
	struct stored_event ev;
	struct reason why;
	char leaf[32];
	pid_t pid = fork();

	if (!pid) {
		struct writer copy = f->w;

		_exit(writer_tail_copy(&copy, fileno(file),
				       "{\"monotonic_ns\":0,\"realtime_ns\":0,\"ops\":true}",
				       "{\"ended\":\"ended\"}", ids)
			      ? 1
			      : 0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	rewind(file);
	assert_int_equal(recording_open(&rec, file, "test", &why), 0);
	for (; recording_next(&rec, &ev, &why) > 0; n++) {
		i = ev.op.start_ns / 1000000;
		which = i % 10 ? i : 0;
		assert_int_equal(catalog_thread(&rec.catalog, ev.op.owner)->tid, 13 + which);
		assert_int_equal(catalog_file(&rec.catalog, ev.op.file)->ino, INO + which);
		snprintf(leaf, sizeof(leaf), "f%llu", (unsigned long long)which);
		assert_string_equal(catalog_file(&rec.catalog, ev.op.file)->names, leaf);
	}
	assert_true(rec.reader.ended);
	recording_close(&rec);
	fclose(file);
	return n;
}

static void names_are_dropped_with_their_records(void **state)
{
	enum { N = 200009, KEEP = 30000 /* operations */ };
	FILE *none = fopen("/dev/null", "w");
	struct fixture f = { .w = { .keep_ns = KEEP * 1000000ULL } };
	size_t most = 0;

	(void)state;
	f.in = (struct intake){ .w = &f.w,
				.names = names,
				.fs = no_fs,
				.renew = renewed,
				.arg = &f,
				.end_ns = UINT64_MAX };
	assert_int_equal(writer_begin(&f.w, fileno(none), ""), 0);
	for (uint64_t i = 0; i < N; i++) {
		unlike_op(&f, i, true);
		if (i % 10 && f.in.n_files == f.in.base + 1) /* a generation begins: names that
								were sent before it */
			unlike_op(&f, i - i % 10, false);
		if (i > N / 2 && f.w.tail.bytes > most)
			most = f.w.tail.bytes;
		if (i % 50021 == 0 || i == INTAKE_NAMES + 5003) {
			writer_flush(&f.w);
			assert_true(copy_check(&f) >= (i < KEEP ? i : KEEP));
		}
	}
	assert_int_equal(f.probed, f.in.renewals);
	assert_true(f.in.renewals >= N * 9 / 10 / (INTAKE_IDS));
	assert_true(writer_generations(&f.w) <= 4);
	assert_true(f.in.n_files <= 5 * INTAKE_IDS); /* ids are used again */
	assert_true(most < 4 << 20);
	writer_done(&f.w);
	intake_done(&f.in);
	fclose(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_have_command_lines),
		cmocka_unit_test(waits_have_somebody_to_whom_they_were_due),
		cmocka_unit_test(a_wait_for_a_limit_is_the_threads_own),
		cmocka_unit_test(names_are_dropped_with_their_records),
		cmocka_unit_test(operations_are_as_they_were_sent),
		cmocka_unit_test(segments_are_no_more_than_the_record_has),
		cmocka_unit_test(many_operations_are_what_each_alone_is),
		cmocka_unit_test(what_is_behind_a_comm_is_no_other_thread),
		cmocka_unit_test(calls_about_descriptors_are_not_counted),
		cmocka_unit_test(many_calls_about_descriptors_are_not_counted),
		cmocka_unit_test(requests_are_as_they_were_sent),
		cmocka_unit_test(requests_to_servers_are_as_they_were_sent),
		cmocka_unit_test(served_operations_have_their_xid),
		cmocka_unit_test(what_ends_later_is_left_out),
		cmocka_unit_test(the_best_name_is_that_of_the_file),
		cmocka_unit_test(a_file_known_only_by_requests_is_no_lost_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
