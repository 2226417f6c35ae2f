// SPDX-License-Identifier: GPL-2.0-only
/*
 * records.c - makes a recording without a kernel: for what needs a long one, or a small one of
 * every kind of record.
 *
 * records [-h HOST] [-k KERNEL] [-d MODEL] [-s SEED] [-g GAP] [-r SECONDS] [-x] [-o] [-t] FILE N
 * records [-h HOST] [-k KERNEL] [-d MODEL] FILE N SEED [OP STRATUM PERCENT]
 * records -c CAUSE [-s SEED] [-m] FILE N
 * records -n SIDE [-h HOST] [-r SECONDS] [-x] FILE N
 *
 * N operations of THREADS threads in FILES files, the kinds and the times all over the place, and a
 * request for each tenth. Always the same for the same arguments. FILE must not exist. -g makes the
 * times between operations GAP times as long. -r sets the clock of the day SECONDS later. -x gives
 * files, the container and servers hostile names. -d gives the disk a model. -o makes the strata of
 * an operation take turns. -t gives operations user stacks.
 *
 * With SEED: a steady load, whose times wander together for some 50 ms as on a real machine, with a
 * request for each operation; STRATUM of operations OP is longer by PERCENT, and if that is
 * "device", so is the request.
 *
 * With -c: the load of planted.h, some of it slow because of CAUSE, which may be "none". -m: mixes
 * the times afterwards, so that nothing explains them.
 *
 * With -n: N requests of NFS; SIDE is client or server. Every 101st is to a server elsewhere, and
 * is served by none.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/names.h"
#include "capture/segments.h"
#include "capture/writer.h"
#include "cell.h"
#include "host/mounts.h"
#include "planted.h"

enum { THREADS = 7, FILES = 61, DEV = 7 << 20 | 3, FLUSH_ROWS = 40009 };

static const char header[] =
	"{\"schema\":\"iostrata.capture/1\",\"version\":\"0\",\"argv\":[\"record\"],"
	"\"kernel\":\"%s\",\"machine\":\"x86_64\",\"host\":\"%s\",\"boot_id\":\"boot of %s\","
	"\"monotonic_ns\":1000000,\"realtime_ns\":%llu,\"cpus\":2,\"ops\":true,\"requests\":true,"
	"\"device_bytes\":false,\"stacks\":%s,\"server\":true,\"reap\":true,\"missing\":{},\"vfs_"
	"ops\":[\"read\","
	"\"write\","
	"\"open\",\"fsync\"],"
	"\"devices\":[{\"name\":\"loop3\",\"dev\":\"7:3\",\"on\":[]}],\"mounts\":[{\"dev\":\"7:3\","
	"\"type\":\"ext4\",\"source\":\"/dev/loop3\",\"root\":\"/\",\"point\":\"/"
	"made\",\"options\":\"rw,noatime\"}],\"disks\":[%s]}";

/* Names that a careless format would take for more than text. */
static const char *const hostile[] = {
	"\xff\xfe",
	"'; drop table ops; --",
	"=cmd()|' /C calc'!A0",
	"a\\b",
	"say \"hi\"",
	"a,b",
	"a\nb",
	"\033[31mred",
	"\xc3\xa9t\xc3\xa9",
	"\xf0\x9f\x92\xbe",
	"<script>",
	"\xe2\x80\xae-abc",
	" ",
	"%s%n",
};

/* A difference to plant. */
struct planted {
	const char *op, *stratum;
	double by; /* a factor */
};

/* The recording to make. */
struct made {
	const char *host, *kernel;
	const char *model; /* of the disk; NULL: none */
	const char *cause; /* NULL: not the load of planted.h */
	const char *side;  /* of NFS; NULL: none */
	uint64_t seed, gap, later_s;
	bool hostile, mixed, ordered, stacks;
	bool steady;
	struct planted planted; /* in a steady load */
};

static uint64_t random_state = 4711;

/* A number below @n. */
static uint64_t any(uint64_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

/* The names of file @i and of its directories; returns their length. */
static size_t file_names(char *text, size_t cap, const struct made *m, int i)
{
	const char *bad = hostile[i % (sizeof(hostile) / sizeof(*hostile))];
	size_t n;

	if (m->hostile && i == FILES) { /* the longest possible */
		memset(text, 'x', cap);
		for (n = 255; n < cap; n += 256)
			text[n] = 0;
		return n - 256 + 1;
	}
	if (m->hostile)
		return 1 + snprintf(text, cap, "%s %d%cmade", bad, i, 0);
	return snprintf(text, cap, "file-%d%cmade%c", i, 0, 0);
}

static void names_put(struct writer *w, const struct made *m)
{
	struct stored_name n = { NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 4 };
	char text[PATH_BYTES];

	writer_name(w, &n, "ext4");
	n = (struct stored_name){ NAME_DEVICE, DEV, 0, 0, 0, 5 };
	writer_name(w, &n, "loop3");
	n = (struct stored_name){ NAME_CGROUP, 42, 0, 0, 0, 5 };
	writer_name(w, &n, "/made");
	n = (struct stored_name){ NAME_CONTAINER, 42, 0, 0, 0, 0 };
	n.text_len =
		snprintf(text, sizeof(text), "shop/cart-1/%s", m->hostile ? "a,\xff\n" : "php");
	writer_name(w, &n, text);
	for (int i = 1; i <= THREADS; i++) {
		n = (struct stored_name){ NAME_THREAD, i, 100 + i / 2, 100 + i, 42, 0 };
		n.text_len = snprintf(text, sizeof(text), "thread-%d%s", i,
				      m->hostile && i == THREADS ? "<b>\xff" : "");
		writer_name(w, &n, text);
	}
	for (int i = 1; i <= FILES; i++) {
		n = (struct stored_name){
			NAME_FILE, i, FILE_KEY(DEV, 0, 1), 1000 + i, STORED_FILE_COMPLETE, 0
		};
		n.text_len = file_names(text, sizeof(text), m, i);
		writer_name(w, &n, text);
	}
}

/* An operation that begins at @ns. */
static struct stored_op op_make(uint64_t ns)
{
	static const unsigned short calls[OP_N] = {
		[OP_READ] = 17,      [OP_WRITE] = 18,      [OP_OPEN] = 257,
		[OP_CLOSE] = 3,      [OP_FSYNC] = 74,      [OP_COPY] = 40,
		[OP_META] = 262,     [OP_URING] = 0x4016,  [OP_AIO] = 0x2001,
		[OP_FAULT] = 0x1000, [OP_SERVED] = 0x0800, [OP_EXEC] = 59,
		[OP_LOCK] = 73,      [OP_EXIT] = 4,        [OP_CORE] = 6,
		[OP_OUTSIDE] = 166,  [OP_GETEVENTS] = 426, [OP_SUBMIT] = 209,
	};
	uint64_t one = any(4) ? OP_READ : 1 + any(OP_N - 1), file = 1 + any(FILES);
	uint64_t kind = one == OP_HANDLE ? OP_READ : one;
	struct stored_op op = {
		.start_ns = ns,
		.owner = 1 + any(THREADS),
		.file = file,
		.kind = kind,
		.call = calls[kind],
		.fs = STORED_FS_FIRST,
		.open_flags = 2,
		.len = 4096,
		.offset = 4096 * any(1 << 20),
		.ret = any(101) ? 4096 : (uint64_t)-5,
		.fd = 3 + file,
		.cache = kind <= OP_WRITE ? CACHE_HIT : CACHE_NONE,
	};

	for (int i = 0; i <= ST_FS; i++)
		op.strata[i] = 100 + any(300);
	if (any(10))
		return op;
	op.cache = kind <= OP_WRITE ? CACHE_MISS : CACHE_NONE;
	op.requests = 1;
	for (int i = ST_FS + 1; i < ST_N; i++)
		op.strata[i] = any(3) ? 0 : any(50000);
	return op;
}

/* Half of the time in layers, the waits, the other half. Or two strata take turns, more often than
 * there is room for. */
static void segments_in_turns(struct segments *s, const uint64_t *strata, bool many)
{
	*s = (struct segments){};
	if (many && strata[ST_SYSCALL] > SEGMENTS_MAX && strata[ST_DEVICE] > SEGMENTS_MAX) {
		for (; s->n < SEGMENTS_MAX; s->n++)
			s->at[s->n] = SEGMENT(s->n % 2 ? ST_DEVICE : ST_SYSCALL, 1);
		s->merged = 7;
		return;
	}
	for (int st = 0; st < ST_N; st++) {
		uint64_t half = st <= ST_FS ? strata[st] / 2 : strata[st];

		if (half)
			s->at[s->n++] = SEGMENT(st, half);
	}
	for (int st = ST_FS; st >= 0; st--)
		s->at[s->n++] = SEGMENT(st, strata[st] - strata[st] / 2);
}

static struct stored_request request_make(const struct stored_op *op)
{
	return (struct stored_request){
		.q_ns = op->start_ns + 300,
		.tag_ns = any(100),
		.queue_ns = any(3000),
		.device_ns = 1000 + any(90000),
		.owner = op->owner,
		.file = op->file,
		.dev = DEV,
		.sector = 8 * any(1 << 22),
		.bytes = 4096 * (1 + any(8)),
		.op = any(6),
		.cmd_flags = (op->start_ns % 3 ? 0 : 1 << 17) | (op->start_ns % 5 ? 0 : 1 << 18),
		.flags = any(101) ? 0 : STORED_RQ_FAILED,
		.error = 0,
		.merges = any(3),
	};
}

/* Writes an operation; if it waited, with its helper, and with a segment for each stratum, or with
 * several. @m: NULL with SEED. */
static void op_put(struct writer *w, const struct stored_op *op, const struct made *m)
{
	struct stored_op *room = writer_op_room(w);
	struct segments s = {};
	bool waited = false;

	if (!room)
		return;
	*room = *op;
	for (unsigned int st = 0; st < ST_N; st++) {
		waited |= st >= SENT_ON_CPU && op->strata[st];
		if (op->strata[st])
			s.at[s.n++] = SEGMENT(st, op->strata[st]);
	}
	if (m && m->ordered && op->requests)
		segments_in_turns(&s, op->strata, op->file % 2);
	if (op->strata[ST_HELPER]) /* the last thread is the hostile one */
		room->helper = m && m->hostile ? THREADS : 1 + op->owner % THREADS;
	else
		room->helper = 0;
	room->segments = waited ? segments_pack(writer_op_text(w), &s, op->strata) : 0;
	writer_op_added(w, op->start_ns + stored_op_total(op), room->segments);
}

enum { FRAMES = 23, STACKS = 11 };

/* Names the frames of user stacks, the last one without a file, and the stacks of 0 to 10 frames.
 */
static void stacks_name(struct writer *w, const struct made *m)
{
	struct stored_name n = { NAME_CODE, 1, 0, 0, 0, 0 };
	uint8_t frames[4 * STACKS];
	char text[256];

	n.text_len = snprintf(text, sizeof(text), "prog%s", m->hostile ? hostile[7] : "");
	writer_name(w, &n, text);
	for (unsigned int i = 1; i <= FRAMES; i++) {
		const char *bad = hostile[i % (sizeof(hostile) / sizeof(*hostile))];

		n = (struct stored_name){ NAME_FRAME, i, i < FRAMES, 16 * i, i, 0 };
		n.text_len = snprintf(text, sizeof(text), "function-%u;%s%c%s%u.c", i,
				      m->hostile ? bad : "", 0, m->hostile ? bad : "", i);
		writer_name(w, &n, text);
	}
	for (unsigned int i = 0; i < STACKS; i++) {
		n = (struct stored_name){ NAME_STACK, i + 1, i % 3, i % 2, 0, 4 * i };
		for (unsigned int at = 0; at < i; at++)
			put_u32(frames + 4 * at, 1 + (i * at) % FRAMES);
		writer_name(w, &n, (const char *)frames);
	}
}

/* Writes an operation with its stack; the last one has no name. */
static void stack_put(struct writer *w, const struct stored_op *op)
{
	struct stored_stack s = { .start_ns = op->start_ns,
				  .owner = op->owner,
				  .file = op->file,
				  .kind = op->kind,
				  .call = op->call,
				  .fs = op->fs,
				  .ret = op->ret,
				  .stack = any(STACKS + 2),
				  .threshold_ns = any(10000) };

	memcpy(s.strata, op->strata, sizeof(s.strata));
	writer_stack(w, &s, stored_op_total(op));
}

enum { LOAD_NS = 1300021 };

/* Writes how busy the machine was in each interval that ends between @before and @ns. */
static void loads_put(struct writer *w, const struct made *m, uint64_t before, uint64_t ns)
{
	const uint64_t each = m->gap * LOAD_NS;
	struct stored_machine_load load = { .known = 31 };

	for (uint64_t i = before / each; i < ns / each; i++) {
		load.from_ns = 1000000 + i * each;
		load.to_ns = load.from_ns + each;
		for (uint64_t k = 0; k < MACHINE_FIGURES; k++)
			load.figure[k] = (i * 7919 + k * 104729) % 101 * each / 103;
		load.figure[MACHINE_CPU_NS] = 2 * each;
		writer_machine_load(w, &load);
	}
}

static void records_put(struct writer *w, const struct made *m, uint64_t n)
{
	struct stored_loss loss = { 2000000, 2001700, LOST_OPS, 11 };
	struct stored_request rq;
	struct stored_op op;

	uint64_t before = 0;

	for (uint64_t i = 0, ns = 2000000; i < n; i++, ns += m->gap * (200 + any(1000))) {
		loads_put(w, m, before, ns - 1000000);
		before = ns - 1000000;
		op = op_make(ns);
		op_put(w, &op, m);
		if (m->stacks)
			stack_put(w, &op);
		rq = request_make(&op);
		if (i % 10 == 0)
			writer_request(w, &rq);
		if (i % FLUSH_ROWS == 0)
			writer_flush(w);
	}
	writer_loss(w, &loss);
	if (m->stacks)
		stacks_name(w, m);
}

/* Around @mean: the sum of three numbers, so that far ones are rare, times what all have in
 * common. */
static uint64_t around(double mean, double common)
{
	return mean * common * (0.4 + (any(4001) + any(4001) + any(4001)) / 10000.0);
}

static struct stored_op steady_make(uint64_t ns, double common, const struct planted *p)
{
	static const struct {
		unsigned int kind, call;
		double fs_ns, device_ns, runq_ns, helper_ns;
	} of[] = {
		{ OP_READ, 17, 3000, 80000, 4000, 0 },
		{ OP_WRITE, 18, 5000, 0, 300, 0 },
		{ OP_FSYNC, 74, 9000, 900000, 20000, 60000 },
	};
	unsigned int which = any(10), i = which < 6 ? 0 : which < 8 ? 1 : 2;
	struct stored_op op = {
		.start_ns = ns,
		.owner = 1 + any(THREADS),
		.file = 1 + any(FILES),
		.kind = of[i].kind,
		.call = of[i].call,
		.fs = STORED_FS_FIRST,
		.open_flags = 2,
		.len = 4096,
		.offset = 4096 * any(1 << 20),
		.ret = i == 2 ? 0 : 4096,
		.fd = 3,
		.cache = i == 0 ? CACHE_MISS : CACHE_NONE,
		.requests = i != 1,
	};

	op.strata[ST_SYSCALL] = around(700, 1);
	op.strata[ST_VFS] = around(300, 1);
	op.strata[ST_FS] = around(of[i].fs_ns, 1);
	op.strata[ST_DEVICE] = around(of[i].device_ns, common);
	op.strata[ST_RUNQ] = around(of[i].runq_ns, 1) * any(3);
	op.strata[ST_HELPER] = around(of[i].helper_ns, common);
	for (int st = 0; st < ST_N; st++)
		if (p->op && !strcmp(p->op, op_name(op.kind)) &&
		    !strcmp(p->stratum, stratum_name(st)))
			op.strata[st] *= p->by;
	return op;
}

static void steady_put(struct writer *w, uint64_t n, const struct planted *p)
{
	double common = 1;
	struct stored_request rq;
	struct stored_op op;

	for (uint64_t i = 0, ns = 2000000; i < n; i++, ns += 300000 + any(400000)) {
		/* after 100 operations, 50 ms, a third of it is left */
		common += (1 - common) / 100 + ((int)any(2001) - 1000) / 1e5;
		op = steady_make(ns, common, p);
		op_put(w, &op, NULL);
		if (op.requests) {
			rq = request_make(&op);
			rq.device_ns = op.strata[ST_DEVICE];
			rq.op = op.kind == OP_READ ? RQ_READ : RQ_WRITE;
			writer_request(w, &rq);
		}
		if (i % FLUSH_ROWS == 0)
			writer_flush(w);
	}
}

static uint64_t text_put(struct writer *w, const char *text)
{
	struct stored_name n = { .type = NAME_TEXT,
				 .id = mount_server_number(text),
				 .text_len = strlen(text) };

	writer_name(w, &n, text);
	return n.id;
}

/* The request with number @i, of 1 ms, or its operation, of 0.6 ms. */
static void nfs_put(struct writer *w, const struct made *m, uint64_t i)
{
	uint64_t at_ns = 2000000 + 700 * i;
	const char *op = i % 3 ? "READ" : "WRITE";
	struct stored_server_request rq = {
		.q_ns = at_ns, .tag_ns = 7, .queue_ns = 11, .server_ns = 1000000 + i, .xid = i + 1
	};
	struct stored_op served = { .start_ns = at_ns + 500,
				    .kind = OP_SERVED,
				    .call = CALL_SERVED,
				    .len = ~0ULL,
				    .offset = ~0ULL,
				    .fd = ~0ULL,
				    .xid = i + 1 };

	if (m->hostile)
		op = hostile[i % (sizeof(hostile) / sizeof(*hostile))];
	if (!strcmp(m->side, "client")) {
		rq.server = text_put(w, i % 101 == 100 ? "10.0.0.8" : "10.0.0.7");
		rq.op = m->hostile && i == 7 ? 4711 : text_put(w, op);
		writer_server_request(w, &rq);
	} else if (i % 101 != 100) {
		served.strata[ST_FS] = 100000 + i;
		served.strata[ST_DEVICE] = 500000;
		writer_op(w, &served);
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: records [-h HOST] [-k KERNEL] [-d MODEL] [-s SEED] [-g GAP] [-r "
			"SECONDS] [-x] "
			"[-o] FILE N\n"
			"       records FILE N SEED [OP STRATUM PERCENT]\n"
			"       records -c CAUSE [-s SEED] [-m] FILE N\n"
			"       records -n SIDE [-h HOST] [-r SECONDS] [-x] FILE N\n");
	return 2;
}

/* A server or daemon as JSON, with @n requests of 1 ms, one of which took 9 ms. */
static int server_text(char *text, size_t cap, const char *names, uint64_t n)
{
	return snprintf(text, cap,
			"{%s,\"count\":%lu,\"errors\":%lu,\"resent\":%lu,\"sent_bytes\":%lu,"
			"\"received_bytes\":%lu,\"tag_ns\":%lu,\"queue_ns\":%lu,\"server_ns\":%lu,"
			"\"max_ns\":9000000,\"hist\":[[%u,%lu],[%u,1]]}",
			names, n, n / 7, n / 3, 160 * n, 4220 * n, 11 * n, 501 * n,
			1000000 * (n + 8), hist_bucket(1000000), n - 1, hist_bucket(9000000));
}

/* Requests to servers and daemons, as the end of a recording has them. */
static void servers_text(char *text, size_t cap)
{
	static const char *const names[] = {
		"\"server\":\"10.0.0.7\",\"op\":\"READ\"",
		"\"server\":\"<script>\\u001b\",\"op\":\"a,\\\"b\\\"\"",
		"\"server\":\"sshfs<b>\",\"mount\":\"/mnt/<i>\\n\",\"pid\":1103,\"opcode\":15",
		"\"server\":\"sshfs<b>\",\"mount\":\"/mnt/<i>\\n\",\"pid\":1103,\"opcode\":999",
	};
	size_t n = snprintf(text, cap, ",\"servers\":[");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		n += snprintf(text + n, cap - n, "%s", i ? "," : "");
		n += server_text(text + n, cap - n, names[i], 1009 >> 2 * i);
	}
	snprintf(text + n, cap - n, "]");
}

/* All losses of the vocabulary: @ops operations, and none of the other kinds. */
static void losses_text(char *text, size_t cap, int ops)
{
	size_t n = 0;

	for (int i = 0; i < LOST_N; i++)
		n += snprintf(text + n, cap - n, "\"%s\":%d,", lost_name(i),
			      i == LOST_OPS ? ops : 0);
	snprintf(text + n, cap - n, "\"missed\":0");
}

static void end_put(struct writer *w, const struct made *m, uint64_t n)
{
	char end[4096], servers[3072] = "", losses[512];

	losses_text(losses, sizeof(losses), m->steady || m->cause ? 0 : 11);
	if (m->hostile)
		servers_text(servers, sizeof(servers));
	snprintf(end, sizeof(end),
		 "{\"ended\":\"ended\",\"duration_ns\":%llu,\"ops\":%llu,"
		 "\"requests\":%llu,\"lost\":{%s},"
		 "\"dropped_ops\":0,\"dropped_requests\":0%s}",
		 (m->steady || m->cause ? 500000ULL : 700ULL * m->gap) * n, w->ops + 0ULL,
		 w->requests + 0ULL, losses, servers);
	while (!writer_end(w, end))
		;
}

static int make(const struct made *m, const char *file, uint64_t n)
{
	struct writer w = {};
	char begin[1536], disk[256] = "";
	int fd;

	if (m->model)
		snprintf(disk, sizeof(disk),
			 "{\"dev\":\"7:3\",\"model\":\"%s\",\"firmware\":\"1.0\","
			 "\"scheduler\":\"none\",\"celsius\":41,\"celsius_limit\":70}",
			 m->model);
	snprintf(begin, sizeof(begin), header, m->kernel, m->host, m->host,
		 (1700000000ULL + m->later_s) * 1000000000, m->stacks ? "true" : "false", disk);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || writer_begin(&w, fd, m->cause ? planted_header : begin)) {
		perror(file);
		return 1;
	}
	if (!m->cause)
		names_put(&w, m);
	if (m->cause)
		planted_put(&w, m->cause, m->mixed, m->seed, n);
	else if (m->side)
		for (uint64_t i = 0; i < n; i++)
			nfs_put(&w, m, i);
	else if (m->steady)
		steady_put(&w, n, &m->planted);
	else
		records_put(&w, m, n);
	writer_close(&w);
	end_put(&w, m, n);
	writer_done(&w);
	return w.err || close(fd) ? 1 : 0;
}

/* Reads the options. 0, or -1: an unknown option. */
static int options_read(struct made *m, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "h:k:d:s:g:r:xoc:mn:t")) != -1) {
		if (opt == 'h')
			m->host = optarg;
		else if (opt == 'n')
			m->side = optarg;
		else if (opt == 'k')
			m->kernel = optarg;
		else if (opt == 'd')
			m->model = optarg;
		else if (opt == 's')
			random_state += m->seed = strtoull(optarg, NULL, 10);
		else if (opt == 'g')
			m->gap = strtoull(optarg, NULL, 10);
		else if (opt == 'r')
			m->later_s = strtoull(optarg, NULL, 10);
		else if (opt == 'x')
			m->hostile = true;
		else if (opt == 'o')
			m->ordered = true;
		else if (opt == 't')
			m->stacks = true;
		else if (opt == 'c')
			m->cause = optarg;
		else if (opt == 'm')
			m->mixed = true;
		else
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct made m = { .host = "made", .kernel = "6.1.0", .gap = 1 };

	if (options_read(&m, argc, argv))
		return usage();
	argc -= optind;
	argv += optind;
	if (argc != 2 && argc != 3 && argc != 6)
		return usage();
	m.steady = argc > 2;
	if (m.steady)
		random_state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ULL;
	if (argc == 6)
		m.planted = (struct planted){ argv[3], argv[4], 1 + atof(argv[5]) / 100 };
	return make(&m, argv[0], strtoull(argv[1], NULL, 10));
}
