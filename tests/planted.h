/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * planted.h - a load of which some operations are slow for one known reason, for tests of explain.
 *
 * 8 processes of 2 threads each read, write and sync 60 files on two disks. Times wander together,
 * and one operation in 200 is slow without a reason. The same arguments give the same records.
 */
#ifndef IOSTRATA_TESTS_PLANTED_H
#define IOSTRATA_TESTS_PLANTED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain.h"
#include "capture/writer.h"
#include "cell.h"

enum {
	PLANTED_THREADS = 16,
	PLANTED_FILES = 60,
	PLANTED_VDA_FILES = 45, /* the later ones are on vdb */
	PLANTED_WINDOWS = 400,
	PLANTED_VDA = 254 << 20,
	PLANTED_VDB = 254 << 20 | 16,
	PLANTED_MS = 1000000,
	PLANTED_JOURNAL = 17, /* threads by id */
	PLANTED_KWORKER,
	PLANTED_RIVAL,
};

#define PLANTED_CONTAINER "6666666666666666666666666666666666666666666666666666666666666666"

static const char planted_header[] =
	"{\"kernel\":\"6.1.0\",\"host\":\"made\",\"machine\":\"x86_64\",\"monotonic_ns\":1000000,"
	"\"realtime_ns\":1700000000000000000,\"ops\":true,\"requests\":true,\"devices\":["
	"{\"name\":\"vda\",\"dev\":\"254:0\",\"on\":[]},{\"name\":\"vdb\",\"dev\":\"254:16\","
	"\"on\":[]}],"
	"\"mounts\":[]}";

/* A cause, and the finding that it must give first. */
struct planted_cause {
	const char *name;
	const char *condition; /* explain is asked this */
	enum explain_attribute attribute;
	const char *text; /* a part of the finding's text */
};

static const struct planted_cause planted_causes[] = {
	{ "file", "read>p99", ATTR_FILE, "/d1/file-17" },
	{ "directory", "read>p99", ATTR_DIRECTORY, "/d2" },
	{ "disk", "read>p99", ATTR_DISK, "vdb" },
	{ "offset", "read>p99", ATTR_OFFSET, "from 256 MiB to 3" },
	{ "size", "write>p99", ATTR_SIZE, "of 1.00 MiB" },
	{ "alignment", "write>p99", ATTR_ALIGNMENT, "not aligned" },
	{ "process", "fsync>p99", ATTR_PROCESS, "(pid 103)" },
	{ "thread", "read>p99", ATTR_THREAD, "(tid 205)" },
	{ "comm", "read>p99", ATTR_COMM, "flusher" },
	{ "cgroup", "read>p99", ATTR_CGROUP, "/one" },
	{ "container", "read>p99", ATTR_CONTAINER, "666666666666" },
	{ "depth", "read>p99", ATTR_DEPTH, "in flight" },
	{ "discard", "fsync>p99", ATTR_BESIDE, "discards on vda" },
	{ "flush", "read>p99", ATTR_BESIDE, "flushes on vda" },
	{ "writeback", "read>p99", ATTR_BESIDE, "writeback on vda" },
	{ "journal", "fsync>p99", ATTR_BESIDE, "jbd2/vda-8" },
	{ "rival", "read>p99", ATTR_BESIDE, "named rival on vda" },
	{ "period", "any>p99", ATTR_PERIOD, "each period of" },
	{ "time", "read>p99", ATTR_TIME, "" },
	{ "lock", "fsync>p99", ATTR_STRATUM, "lock" },
	{ "runq", "read>p99", ATTR_STRATUM, "run queue" },
	{ "cache", "read>p99", ATTR_CACHE, "readahead" },
	{ "direct", "read>p99", ATTR_MODE, "direct" },
	{ "requests", "read>p99", ATTR_REQUESTS, "16" },
	{ "call", "write>p99", ATTR_CALL, "calls of" },
	{ "result", "read>p99", ATTR_RESULT, "EIO" },
	{ "kind", "any>p99", ATTR_KIND, "fsync" },
	{ "sector", "request vda>p99", ATTR_OFFSET, "from 256 MiB to 3" },
	{ "merges", "request vda>p99", ATTR_MERGES, "merged bio" },
	{ "requeues", "request vda>p99", ATTR_REQUEUES, "requeue" },
	{ "crossing", "read>p99", ATTR_CROSSING, "across a multiple of 1.00 MiB of the file" },
};

enum { PLANTED_CAUSES = sizeof(planted_causes) / sizeof(*planted_causes) };

struct planted_window {
	uint64_t from_ns, to_ns;
};

struct planted_load {
	const char *cause; /* "": none */
	uint64_t random;
	double common;
	struct planted_window windows[PLANTED_WINDOWS]; /* in which something runs beside */
	int n_windows;
};

/* A number below @n. */
static uint64_t planted_any(struct planted_load *p, uint64_t n)
{
	p->random = p->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (p->random >> 33) % n;
}

static bool planted_is(const struct planted_load *p, const char *cause)
{
	return !strcmp(p->cause, cause);
}

static void planted_name(struct writer *w, struct stored_name n, const char *text, size_t len)
{
	n.text_len = len;
	writer_name(w, &n, text);
}

static void planted_thread(struct writer *w, int id, unsigned int pid, unsigned int tid,
			   const char *comm)
{
	static const unsigned int cgroups[] = { 42, 43, 44, 45 };

	planted_name(w, (struct stored_name){ NAME_THREAD, id, pid, tid, cgroups[pid % 4], 0 },
		     comm, strlen(comm));
}

static void planted_names(struct writer *w)
{
	static const char *const comms[] = { "web", "db", "log", "cron" };
	static const char *const cgroups[] = { "/one", "/two", "/docker/" PLANTED_CONTAINER,
					       "/docker/" PLANTED_CONTAINER "/below" };
	char text[64];
	int len;

	planted_name(w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 0 }, "ext4", 4);
	planted_name(w, (struct stored_name){ NAME_DEVICE, PLANTED_VDA, 0, 0, 0, 0 }, "vda", 3);
	planted_name(w, (struct stored_name){ NAME_DEVICE, PLANTED_VDB, 0, 0, 0, 0 }, "vdb", 3);
	for (int i = 0; i < 4; i++)
		planted_name(w, (struct stored_name){ NAME_CGROUP, 42 + i, 0, 0, 0, 0 }, cgroups[i],
			     strlen(cgroups[i]));
	for (int i = 0; i < PLANTED_THREADS; i++)
		planted_thread(w, i + 1, 100 + i / 2, 200 + i,
			       i % 4 == 1 && i < 12 ? "flusher" : comms[i / 2 % 4]);
	planted_thread(w, PLANTED_JOURNAL, 800, 800, "jbd2/vda-8");
	planted_thread(w, PLANTED_KWORKER, 801, 801, "kworker/u8:3");
	planted_thread(w, PLANTED_RIVAL, 900, 900, "rival");
	for (int i = 1; i <= PLANTED_FILES; i++) {
		unsigned int dev = i <= PLANTED_VDA_FILES ? PLANTED_VDA : PLANTED_VDB;

		len = snprintf(text, sizeof(text), "file-%d%cd%d", i, 0, i / 10) + 1;
		planted_name(w,
			     (struct stored_name){ NAME_FILE, i, FILE_KEY(dev, 0, 1), 1000 + i,
						   STORED_FILE_COMPLETE, 0 },
			     text, len);
	}
}

/* Times of something beside: 25 of 20 ms each at random, ten at a period, or one of 300 ms. */
static void planted_windows_make(struct planted_load *p, uint64_t end_ns)
{
	bool regular = planted_is(p, "period") || planted_is(p, "journal");
	uint64_t from, length = (regular ? 30 : 20) * PLANTED_MS;

	p->n_windows = regular ? 10 : planted_is(p, "time") ? 1 : 25;
	for (int i = 0; i < p->n_windows; i++) {
		from = regular ? end_ns / p->n_windows * i + planted_any(p, 5 * PLANTED_MS)
			       : planted_any(p, end_ns);
		if (planted_is(p, "time"))
			length = 300 * PLANTED_MS;
		p->windows[i] = (struct planted_window){ from + 2 * PLANTED_MS,
							 from + 2 * PLANTED_MS + length };
	}
}

static bool planted_is_beside(const struct planted_load *p, uint64_t ns)
{
	for (int i = 0; i < p->n_windows; i++)
		if (ns >= p->windows[i].from_ns && ns < p->windows[i].to_ns)
			return true;
	return false;
}

/* Whether the cause is about what happens at a time. */
static bool planted_is_timely(const struct planted_load *p)
{
	static const char *const names[] = { "depth",   "discard", "flush",  "writeback",
					     "journal", "rival",   "period", "time" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (planted_is(p, names[i]))
			return true;
	return false;
}

/* Gives the property of the cause to @op, and tells whether it has it. */
static bool planted_property(struct planted_load *p, struct stored_op *op)
{
	bool some = !planted_any(p, 40);
	unsigned int thread = op->owner - 1;

	if (planted_is_timely(p)) {
		if (op->file > PLANTED_VDA_FILES && !planted_is(p, "period") &&
		    !planted_is(p, "time"))
			return false; /* requests on vda do not hinder those on vdb */
		return planted_is_beside(p, op->start_ns) && planted_any(p, 2);
	}
	if (planted_is(p, "file"))
		return op->file == 17;
	if (planted_is(p, "directory"))
		return op->file / 10 == 2 && !planted_any(p, 8);
	if (planted_is(p, "disk"))
		return op->file > PLANTED_VDA_FILES && !planted_any(p, 12);
	if (planted_is(p, "offset"))
		return op->offset >> 20 >= 256 && op->offset >> 20 < 304 && planted_any(p, 2);
	if (planted_is(p, "process"))
		return thread / 2 == 3 && !planted_any(p, 6);
	if (planted_is(p, "thread"))
		return thread == 5 && !planted_any(p, 3);
	if (planted_is(p, "comm"))
		return thread % 4 == 1 && thread < 12 && !planted_any(p, 8);
	if (planted_is(p, "cgroup"))
		return thread / 2 % 4 == 0 && !planted_any(p, 12);
	if (planted_is(p, "container"))
		return thread / 2 % 4 >= 2 && !planted_any(p, 24);
	if (planted_is(p, "kind"))
		return op->kind == OP_FSYNC && !planted_any(p, 10);
	if (planted_is(p, "crossing") && op->kind == OP_READ) {
		op->len = 16384;
		return op->offset % (1 << 20) + op->len > 1 << 20;
	}
	if (!some)
		return false;
	if (planted_is(p, "size"))
		op->len = 1 << 20;
	else if (planted_is(p, "alignment"))
		op->offset += 100;
	else if (planted_is(p, "cache"))
		op->cache = CACHE_READAHEAD;
	else if (planted_is(p, "direct"))
		op->cache = CACHE_DIRECT;
	else if (planted_is(p, "requests"))
		op->requests = 16;
	else if (planted_is(p, "call"))
		op->call = 328;
	else if (planted_is(p, "result"))
		op->ret = -5;
	else
		return planted_is(p, "lock") || planted_is(p, "runq");
	return true;
}

static uint64_t planted_around(struct planted_load *p, double mean, double common)
{
	uint64_t sum = planted_any(p, 4001) + planted_any(p, 4001) + planted_any(p, 4001);

	return mean * common * (0.4 + sum / 10000.0);
}

static struct stored_op planted_op(struct planted_load *p, uint64_t ns)
{
	static const struct {
		unsigned int kind, call;
		double fs_ns, device_ns, runq_ns;
	} of[] = {
		{ OP_READ, 17, 3000, 80000, 4000 },
		{ OP_WRITE, 18, 5000, 0, 300 },
		{ OP_FSYNC, 74, 9000, 900000, 20000 },
	};
	unsigned int which = planted_any(p, 10), i = which < 6 ? 0 : which < 8 ? 1 : 2;
	struct stored_op op = {
		.start_ns = ns,
		.owner = 1 + planted_any(p, PLANTED_THREADS),
		.file = 1 + planted_any(p, PLANTED_FILES),
		.kind = of[i].kind,
		.call = of[i].call,
		.fs = STORED_FS_FIRST,
		.len = i == 2 ? ~0ULL : 4096,
		.offset = i == 2 ? ~0ULL : 4096 * planted_any(p, 1 << 18),
		.ret = i == 2 ? 0 : 4096,
		.fd = 3,
		.cache = i == 0 ? CACHE_MISS : CACHE_NONE,
		.requests = i != 1,
	};
	enum stratum st = planted_is(p, "lock")   ? ST_LOCK
			  : planted_is(p, "runq") ? ST_RUNQ
						  : ST_DEVICE;

	op.strata[ST_SYSCALL] = planted_around(p, 700, 1);
	op.strata[ST_FS] = planted_around(p, of[i].fs_ns, 1);
	op.strata[ST_DEVICE] = planted_around(p, of[i].device_ns, p->common);
	op.strata[ST_RUNQ] = planted_around(p, of[i].runq_ns, 1) * planted_any(p, 3);
	if (planted_property(p, &op) && planted_any(p, 20))
		op.strata[st] += planted_around(p, 15 * PLANTED_MS, 1);
	else if (!planted_any(p, 200))
		op.strata[1 + planted_any(p, ST_LOCK)] += planted_around(p, 12 * PLANTED_MS, 1);
	return op;
}

static struct stored_request planted_request(struct planted_load *p, const struct stored_op *op)
{
	struct stored_request rq = {
		.q_ns = op->start_ns + 300,
		.tag_ns = planted_any(p, 100),
		.queue_ns = planted_any(p, 3000),
		.device_ns = op->strata[ST_DEVICE],
		.owner = op->owner,
		.file = op->file,
		.dev = op->file <= PLANTED_VDA_FILES ? PLANTED_VDA : PLANTED_VDB,
		.sector = 8 * planted_any(p, 1 << 18),
		.bytes = 4096,
		.op = op->kind == OP_READ ? RQ_READ : RQ_WRITE,
	};
	bool some = !planted_any(p, 40), slow = false;

	if (planted_is(p, "sector")) {
		slow = rq.sector >> 11 >= 256 && rq.sector >> 11 < 304;
	} else if (planted_is(p, "merges")) {
		slow = some;
		rq.merges = some ? 8 : planted_any(p, 3);
	} else if (planted_is(p, "requeues")) {
		slow = some;
		rq.requeues = some;
	}
	if (slow)
		rq.device_ns += planted_around(p, 15 * PLANTED_MS, 1);
	return rq;
}

/* The requests of somebody else, one after the other, while a window lasts. */
static void planted_rival(struct planted_load *p, struct writer *w,
			  const struct planted_window *window)
{
	struct stored_request rq = { .dev = PLANTED_VDA, .bytes = 4096, .op = RQ_WRITE };
	int at_once = planted_is(p, "depth") ? 24 : 1;

	if (planted_is(p, "discard"))
		rq.op = RQ_DISCARD;
	else if (planted_is(p, "flush"))
		rq.op = RQ_FLUSH;
	rq.owner = planted_is(p, "journal")     ? PLANTED_JOURNAL
		   : planted_is(p, "writeback") ? PLANTED_KWORKER
		   : planted_is(p, "rival")     ? PLANTED_RIVAL
						: 0;
	for (uint64_t ns = window->from_ns; ns < window->to_ns; ns += rq.device_ns) {
		rq.q_ns = ns;
		rq.device_ns = PLANTED_MS + planted_any(p, PLANTED_MS);
		rq.sector = 8 * planted_any(p, 1 << 18);
		for (int i = 0; i < at_once; i++) {
			rq.dev = i % 2 ? PLANTED_VDB : PLANTED_VDA;
			writer_request(w, &rq);
		}
	}
}

/* Makes an operation last @total_ns, with the same shares of its strata. */
static void planted_stretch(struct stored_op *op, uint64_t total_ns)
{
	double by = (double)total_ns / stored_op_total(op);
	unsigned int most = 0;
	uint64_t sum = 0;

	for (unsigned int st = 0; st < ST_N; st++) {
		op->strata[st] *= by;
		sum += op->strata[st];
		most = op->strata[st] > op->strata[most] ? st : most;
	}
	op->strata[most] += total_ns - sum;
}

/* Exchanges how long operations of a kind took: nothing explains these times any more. */
static void planted_shuffle(struct planted_load *p, struct stored_op *ops, uint64_t n)
{
	uint64_t other, mine, theirs;

	for (uint64_t i = n; i-- > 1;) {
		do {
			other = planted_any(p, n);
		} while (ops[other].kind != ops[i].kind);
		mine = stored_op_total(&ops[i]);
		theirs = stored_op_total(&ops[other]);
		planted_stretch(&ops[i], theirs);
		planted_stretch(&ops[other], mine);
	}
}

/* Writes @n operations and all requests, in 0.5 ms for each operation. @cause: a name in
 * planted_causes, "" for none. @shuffled: times are exchanged afterwards. */
static inline int planted_put(struct writer *w, const char *cause, bool shuffled, uint64_t seed,
			      uint64_t n)
{
	struct planted_load p = { .cause = cause,
				  .random = (seed + 1) * 0x9e3779b97f4a7c15ULL,
				  .common = 1 };
	struct stored_op *ops = calloc(n + 1, sizeof(*ops));
	struct stored_request rq;

	if (!ops)
		return -1;
	planted_names(w);
	planted_windows_make(&p, (n + 1) * 500000);
	for (uint64_t i = 0, ns = 2000000; i < n; i++, ns += 300000 + planted_any(&p, 400000)) {
		p.common += (1 - p.common) / 100 + ((int)planted_any(&p, 2001) - 1000) / 1e5;
		ops[i] = planted_op(&p, ns);
		rq = planted_request(&p, &ops[i]);
		if (ops[i].kind != OP_WRITE)
			writer_request(w, &rq);
	}
	for (int i = 0; i < p.n_windows && planted_is_timely(&p); i++)
		if (!planted_is(&p, "period") && !planted_is(&p, "time"))
			planted_rival(&p, w, &p.windows[i]);
	if (shuffled)
		planted_shuffle(&p, ops, n);
	for (uint64_t i = 0; i < n; i++)
		writer_op(w, &ops[i]);
	free(ops);
	return 0;
}

#endif
