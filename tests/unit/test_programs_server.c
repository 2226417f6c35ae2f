// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on requests to servers: what a thread waits for that reads a file of NFS
 * or FUSE. In a machine that is made up; see kernel/machine.h.
 */
#include <stddef.h>

#include "kernel/fuse.h"
#include "kernel/machine.h"

enum { SIZE = 4096 };

/* Members of the kernel's structures which the programs read. */
struct procedure {
	u64 before;
	const char *name;
};

struct rpc_request {
	u64 before, sent, rtt;
	u32 received, transmits;
	u64 sent_bytes;
	u32 xid; /* in the order of the network */
	u32 pad;
};

struct transport {
	u64 before;
	const char *address;
	u64 backlog; /* the queue for a slot */
};

struct device_9p {
	u64 before;
	const char *tag;
};

struct transport_9p {
	u64 before;
	const char *name;
};

struct client_9p {
	u64 before;
	const struct transport_9p *module;
	const void *device;
};

struct smb_server {
	u64 before;
	const char *name;
};

struct smb_ids {
	u64 before[3];
	u64 message, tree, session;
};

struct smb_part {
	const struct smb_ids *header;
	u64 len;
};

struct smb_message {
	u64 before;
	const struct smb_part *parts;
};

struct rpc_call {
	u64 before;
	const struct procedure *procedure;
	struct rpc_request *request;
	const struct transport *transport;
	int status;
	u16 flags; /* 1: a worker goes on with the call; others have other meanings */
	u64 made;  /* 0: not known */
	u64 after; /* programs read whole words */
};

static const struct device_9p virtio_device = { .tag = "home" };
static const struct transport_9p virtio = { .name = "virtio\0" }, tcp = { .name = "tcp\0\0\0\0" };
static const struct client_9p client = { .module = &virtio, .device = &virtio_device },
			      client_of_tcp = { .module = &tcp, .device = &virtio_device };
static const struct smb_server nas = { .name = "nas.example" };
static struct ktask alice, bob, daemon_thread, xprtiod, rpciod;
static struct kfile file;
static const struct connection connection = { .dev = 23 };
static const struct fuse_mount_point mount_point = { .connection = &connection };
static const struct transport transport = { .address = "10.0.0.7" };
static struct fuse_request fuse_read, fuse_write;
/* The kernel's names lie among others: a word of eight bytes can be read. */
static const char read_name[8] = "READ", write_name[8] = "WRITE", readdir_name[8] = "READDIR",
		  read_plus_name[16] = "READ_PLUS", bind_name[24] = "BIND_CONN_TO_SESSION";
static const struct procedure read_procedure = { .name = read_name },
			      write_procedure = { .name = write_name },
			      readdir_procedure = { .name = readdir_name },
			      read_plus_procedure = { .name = read_plus_name },
			      bind_procedure = { .name = bind_name };

static int start(void **state)
{
	(void)state;
	machine_start();
	conf.by = BY_CACHE;
	conf.row_slots = 0;
	conf.file_details = conf.op_extras = 1;
	conf.servers = conf.transports_told = 1;
	fuse_offsets_set();
	conf.at.rpc_xprt = offsetof(struct rpc_call, transport);
	conf.at.rpc_status = offsetof(struct rpc_call, status);
	conf.at.rpc_flags = offsetof(struct rpc_call, flags);
	conf.at.rpc_start = offsetof(struct rpc_call, made);
	conf.at.rpc_address = offsetof(struct transport, address);
	conf.at.rpc_backlog = offsetof(struct transport, backlog);
	conf.at.rpc_transmits = offsetof(struct rpc_request, transmits);
	conf.at.rpc_sent_bytes = offsetof(struct rpc_request, sent_bytes);
	conf.at.rpc_msg = offsetof(struct rpc_call, procedure);
	conf.at.rpc_rqst = offsetof(struct rpc_call, request);
	conf.at.rpc_name = offsetof(struct procedure, name);
	conf.at.rpc_sent = offsetof(struct rpc_request, sent);
	conf.at.rpc_rtt = offsetof(struct rpc_request, rtt);
	conf.at.rpc_received = offsetof(struct rpc_request, received);
	conf.at.rpc_xid = offsetof(struct rpc_request, xid);
	conf.at.p9_module = offsetof(struct client_9p, module);
	conf.at.p9_trans = offsetof(struct client_9p, device);
	conf.at.p9_name = offsetof(struct transport_9p, name);
	conf.at.p9_tag = offsetof(struct device_9p, tag);
	conf.at.smb_host = offsetof(struct smb_server, name);
	conf.at.smb_iov = offsetof(struct smb_message, parts);
	file_init(&file, "fuse", 23, 29, S_IFREG);
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&bob, 1200, 1201, "bob", 0);
	task_init(&daemon_thread, 1300, 1301, "daemon", 0);
	task_init(&xprtiod, 300, 300, "kworker/0:1", PF_KTHREAD | PF_WQ_WORKER);
	task_init(&rpciod, 301, 301, "kworker/0:2", PF_KTHREAD | PF_WQ_WORKER);
	alice.fd[2] = bob.fd[2] = &file.f;
	fuse_read = (struct fuse_request){ .in = { 80, 15, 1 },
					   .out = { 16 + SIZE, 0 },
					   .mount = &mount_point };
	fuse_write = (struct fuse_request){ .in = { 80 + SIZE, 16, 2 },
					    .out = { 16, -5 },
					    .mount = &mount_point };
	cpu_is(2, &xprtiod);
	switch_to(&idle[2], true);
	cpu_is(3, &rpciod);
	switch_to(&idle[3], true);
	cpu_is(0, &alice);
	return 0;
}

static void reads(struct ktask *t, u32 cpu)
{
	cpu_is(cpu, t);
	sys_enter(NR_READ, 2, 0, SIZE, 0);
	vfs_in(OP_READ, &file);
}

static void returns(struct ktask *t, u32 cpu)
{
	cpu_is(cpu, t);
	vfs_out(OP_READ, SIZE);
	sys_exit(SIZE);
}

static void sleeps(struct ktask *t, u32 cpu)
{
	cpu_is(cpu, t);
	switch_to(&idle[cpu], true);
}

static void runs(struct ktask *t, u32 cpu)
{
	cpu_is(cpu, &idle[cpu]);
	switch_to(t, false);
}

/* The cache class of the rows of reads; CACHE_N: there are several. */
static u32 class_of_reads(void)
{
	u32 class = CACHE_NONE;
	struct entry *e;

	for (e = map_of(&op_rows_even)->entries; e; e = e->hh.next) {
		const struct op_key *key = (const void *)e->key;

		if (key->op == OP_READ)
			class = class == CACHE_NONE || class == key->cache ? key->cache : CACHE_N;
	}
	return class;
}

/* Adds the entry of the hash which the requests counted in @s would have without a slot. They all
 * took equally long. */
static void server_slot_fold(struct server_slot *s)
{
	struct server_cell *cell = &s->epochs[0];
	struct server_key key = { .protocol = SERVER_NFS };

	while (!cell->hist[key.bucket])
		key.bucket++;
	assert_int_equal(cell->hist[key.bucket], cell->sums.count);
	memcpy(key.server, s->server, sizeof(key.server));
	memcpy(key.op, s->op, sizeof(key.op));
	assert_int_equal(bpf_map_update_elem(&server_rows_even, &key, &cell->sums, BPF_NOEXIST), 0);
	memset(cell, 0, sizeof(*cell));
}

/* The number of rows of servers, which are all in the hash then. */
static unsigned int rows_counted(void)
{
	struct server_slot *s;

	for (u32 i = 0; i < SERVER_SLOTS; i++) {
		s = bpf_map_lookup_elem(&server_slots, &i);
		if (s->epochs[0].sums.count)
			server_slot_fold(s);
	}
	return map_count(&server_rows_even);
}

/* The only row of servers, and its key. */
static struct server_sums only_row(struct server_key *ret_key)
{
	struct kmap *rows = map_of(&server_rows_even);

	assert_int_equal(rows_counted(), 1);
	memcpy(ret_key, rows->entries->key, sizeof(*ret_key));
	return *(struct server_sums *)rows->entries->value;
}

/* There is one row: @count requests to @server, each answered after 100, one with an error. Returns
 * its sums. */
static struct server_sums assert_all_took_100(const char *server, u32 protocol, u32 opcode,
					      u64 count)
{
	struct server_key key;
	struct server_sums sums = only_row(&key);

	assert_string_equal(key.server, server);
	assert_int_equal(key.protocol, protocol);
	assert_int_equal(key.opcode, opcode);
	assert_int_equal(key.bucket, hist_bucket(100));
	assert_int_equal(key.pid | key.dev, 0);
	assert_int_equal(sums.count, count);
	assert_int_equal(sums.errors, 1);
	assert_int_equal(sums.server_ns, 100 * count);
	assert_int_equal(sums.max_ns, 100);
	assert_int_equal(sums.tag_ns + sums.queue_ns + sums.resent, 0);
	return sums;
}

/* The requests with a note, beside kept places of requests that are over. */
static unsigned int requests_noted(void)
{
	unsigned int n = 0;
	struct entry *e;

	for (e = map_of(&server_requests)->entries; e; e = e->hh.next)
		n += !!((const struct server_request *)e->value)->task;
	return n;
}

#define STRATA(...) ((u64[ST_N]){ __VA_ARGS__ })

/* The daemon's thread, on CPU 1, answers 7 ns after it has begun to, and wakes @waiter 3 ns later.
 */
static void daemon_answers(struct fuse_request *req, struct ktask *waiter)
{
	cpu_is(1, &daemon_thread);
	tick(7);
	EVENT(on_fuse_end, req);
	tick(3);
	wake(waiter);
}

static void test_fuse(void **state)
{
	(void)state;
	reads(&alice, 0);
	tick(2);
	EVENT(on_fuse_send, &fuse_read);
	tick(5);
	sleeps(&alice, 0);
	tick(1000);
	daemon_answers(&fuse_read, &alice);
	tick(11);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 7 + 1000 + 7 + 3 + 11,
		   STRATA([ST_VFS] = 7, [ST_SERVER] = 1007, [ST_COMPLETE] = 3, [ST_RUNQ] = 11));
	assert_int_equal(class_of_reads(), CACHE_MISS);
	assert_int_equal(ops_counted(OP_READ, NULL).device_bytes, 0);
	assert_int_equal(map_count(&server_requests), 0);
	assert_int_equal(lost_all(), 0);
}

/* A request of before the tracing, or whose beginning no event tells. */
static void test_fuse_beginning_unseen(void **state)
{
	(void)state;
	reads(&alice, 0);
	sleeps(&alice, 0);
	tick(1000);
	daemon_answers(&fuse_read, &alice);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1010, STRATA([ST_SERVER] = 1007, [ST_COMPLETE] = 3));
	/* whether it read is not known */
	assert_int_equal(class_of_reads(), CACHE_UNKNOWN);
}

/* Bob waits for the answer to what alice reads ahead, from before she asks. */
static void test_fuse_of_another(void **state)
{
	(void)state;
	reads(&bob, 2);
	sleeps(&bob, 2);
	tick(100);
	reads(&alice, 0);
	RUN(on_fuse_queue, ((u64[8]){ 0, (u64)&fuse_read }));
	returns(&alice, 0);
	assert_int_equal(class_of_reads(), CACHE_HIT);
	tick(1000);
	daemon_answers(&fuse_read, &bob);
	runs(&bob, 2);
	returns(&bob, 2);
	assert_ops(OP_READ, 2, 1110,
		   STRATA([ST_SLEEP] = 100, [ST_SERVER] = 1007, [ST_COMPLETE] = 3));
}

/* A write asks for nothing. */
static void test_fuse_write(void **state)
{
	(void)state;
	reads(&alice, 0);
	EVENT(on_fuse_send, &fuse_write);
	sleeps(&alice, 0);
	tick(10);
	daemon_answers(&fuse_write, &alice);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_int_equal(class_of_reads(), CACHE_UNKNOWN);
	assert_int_equal(ops_counted(OP_READ, NULL).strata[ST_SERVER], 17);
}

/* A later wake-up by the daemon is not of the request. */
static void test_fuse_daemon_goes_on(void **state)
{
	(void)state;
	EVENT(on_fuse_send, &fuse_read);
	reads(&bob, 2);
	sleeps(&bob, 2);
	tick(100);
	cpu_is(1, &daemon_thread);
	EVENT(on_fuse_end, &fuse_read);
	EVENT(on_fuse_over, &fuse_read);
	tick(1);
	wake(&bob);
	runs(&bob, 2);
	returns(&bob, 2);
	assert_ops(OP_READ, 1, 101, STRATA([ST_SLEEP] = 101));
}

/* A later wake-up by the daemon is not of the request, even if the end of the answer was missed. */
static void test_fuse_daemon_goes_on_long(void **state)
{
	(void)state;
	EVENT(on_fuse_send, &fuse_read);
	reads(&bob, 2);
	sleeps(&bob, 2);
	tick(100);
	cpu_is(1, &daemon_thread);
	EVENT(on_fuse_end, &fuse_read);
	tick(REQUEST_END_NS + 1);
	wake(&bob);
	runs(&bob, 2);
	returns(&bob, 2);
	assert_ops(OP_READ, 1, 101 + REQUEST_END_NS, STRATA([ST_SLEEP] = 101 + REQUEST_END_NS));
}

/* The answer to @call comes from the network after @rtt ns: xprtiod wakes @waiter, 2 ns later. */
static void answer_comes(struct rpc_call *call, u64 rtt, struct ktask *waiter)
{
	cpu_is(2, &idle[2]);
	machine.level = 0x100;
	wake(&xprtiod);
	machine.level = 0;
	runs(&xprtiod, 2);
	call->request->rtt = rtt;
	call->request->received = SIZE;
	EVENT(on_rpc_wakeup, call);
	tick(2);
	wake(waiter);
	sleeps(&xprtiod, 2);
}

/* rpciod is done with @call, and wakes @waiter 5 ns later. */
static void rpc_call_ends(struct rpc_call *call, u64 begun, struct ktask *waiter)
{
	cpu_is(3, &rpciod);
	RUN(on_rpc_done, ((u64[8]){ (u64)call, call->request->sent - begun, call->request->rtt,
				    machine.now - begun }));
	tick(5);
	wake(waiter);
	sleeps(&rpciod, 3);
}

/* Alice's thread makes a call; a worker sends it, and another ends it. */
static void test_nfs(void **state)
{
	struct rpc_request request = {};
	struct rpc_call call = { .procedure = &read_procedure };
	u64 begun;

	(void)state;
	reads(&alice, 0);
	begun = machine.now;
	EVENT(on_rpc_begin, &call);
	tick(3);
	wake(&rpciod);
	sleeps(&alice, 0);
	tick(13);
	runs(&rpciod, 3);
	tick(17);
	request.sent = machine.now;
	call.request = &request;
	sleeps(&rpciod, 3);
	tick(1000);
	answer_comes(&call, 1000, &rpciod);
	tick(19);
	runs(&rpciod, 3);
	tick(23);
	rpc_call_ends(&call, begun, &alice);
	tick(29);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 3 + 13 + 17 + 1000 + 2 + 19 + 23 + 5 + 29,
		   STRATA([ST_VFS] = 3, [ST_QUEUE] = 13 + 17, [ST_SERVER] = 1000,
			  [ST_COMPLETE] = 2 + 19 + 23 + 5, [ST_RUNQ] = 29));
	assert_int_equal(class_of_reads(), CACHE_MISS);
	assert_int_equal(requests_noted(), 0);
}

#define ORDER(...)                                                                                 \
	assert_order((u64[]){ __VA_ARGS__ }, sizeof((u64[]){ __VA_ARGS__ }) / sizeof(u64))

/* The newest record has these @n segments. */
static void assert_order(const u64 *segments, u32 n)
{
	const struct slow_op *r = newest_record();

	assert_non_null(r);
	assert_true(r->has_segments);
	assert_int_equal(r->segments.n, n);
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(SEGMENT_STRATUM(r->segments.at[i]), SEGMENT_STRATUM(segments[i]));
		assert_int_equal(SEGMENT_NS(r->segments.at[i]), SEGMENT_NS(segments[i]));
	}
}

/* The time with the server stands where the time in a device would. */
static void test_order_of_fuse(void **state)
{
	(void)state;
	conf.records = conf.segments = 1;
	reads(&alice, 0);
	EVENT(on_fuse_send, &fuse_read);
	tick(5);
	sleeps(&alice, 0);
	tick(1000);
	daemon_answers(&fuse_read, &alice);
	tick(11);
	runs(&alice, 0);
	tick(13);
	returns(&alice, 0);
	ORDER(SEGMENT(ST_VFS, 5), SEGMENT(ST_SERVER, 1007), SEGMENT(ST_COMPLETE, 3),
	      SEGMENT(ST_RUNQ, 11), SEGMENT(ST_VFS, 13));
}

/* A worker whom the network wakes did nothing before: that time is no kernel thread's, and first.
 */
static void test_order_of_idle_worker(void **state)
{
	(void)state;
	conf.records = conf.segments = 1;
	reads(&alice, 0);
	tick(5);
	sleeps(&alice, 0);
	tick(500);
	cpu_is(2, &idle[2]);
	machine.level = 0x100;
	wake(&xprtiod);
	machine.level = 0;
	tick(7);
	runs(&xprtiod, 2);
	tick(70);
	wake(&alice);
	sleeps(&xprtiod, 2);
	runs(&alice, 0);
	returns(&alice, 0);
	ORDER(SEGMENT(ST_VFS, 5), SEGMENT(ST_SLEEP, 500), SEGMENT(ST_RUNQ, 7),
	      SEGMENT(ST_HELPER, 70));
	/* the worker is the helper, not the waker */
	assert_int_equal(newest_record()->slept_ns, 500);
	assert_int_equal(newest_record()->woken_by.tid, 0);
}

/* The end of a request is a better reason than the thread which woke. */
static void test_sleep_before_request(void **state)
{
	(void)state;
	conf.records = conf.segments = 1;
	reads(&bob, 2);
	sleeps(&bob, 2);
	tick(300);
	cpu_is(0, &alice);
	EVENT(on_fuse_send, &fuse_read);
	tick(100);
	daemon_answers(&fuse_read, &bob);
	runs(&bob, 2);
	returns(&bob, 2);
	ORDER(SEGMENT(ST_SLEEP, 300), SEGMENT(ST_SERVER, 107), SEGMENT(ST_COMPLETE, 3));
	assert_int_equal(newest_record()->slept_ns, 300);
	assert_int_equal(newest_record()->woken_by.tid, 0);
}

/* Her thread sends the call itself, after it waited for a slot. */
static void test_nfs_slot(void **state)
{
	struct rpc_request request = {};
	struct rpc_call call = { .procedure = &readdir_procedure };

	(void)state;
	reads(&alice, 0);
	EVENT(on_rpc_begin, &call);
	sleeps(&alice, 0);
	tick(300);
	cpu_is(3, &rpciod); /* which ends another call, and has a slot for this one */
	EVENT(on_rpc_wakeup, &call);
	tick(1);
	wake(&alice);
	runs(&alice, 0);
	tick(7);
	call.request = &request;
	request.sent = machine.now;
	sleeps(&alice, 0);
	tick(1000);
	answer_comes(&call, 1000, &alice);
	tick(11);
	runs(&alice, 0);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 308, 1000, 1321 }));
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 300 + 1 + 7 + 1000 + 2 + 11,
		   STRATA([ST_TAG] = 300, [ST_COMPLETE] = 1 + 2, [ST_VFS] = 7, [ST_SERVER] = 1000,
			  [ST_RUNQ] = 11));
	assert_int_equal(class_of_reads(), CACHE_UNKNOWN);
}

/* A call waits for a slot of the connection: the one who frees the slot has put it into the call
 * when the wait ends. */
static void test_nfs_slot_of_connection(void **state)
{
	struct rpc_request request = {};
	struct rpc_call call = { .procedure = &read_procedure, .transport = &transport };
	struct server_sums sums;
	struct server_key key;

	(void)state;
	reads(&alice, 0);
	EVENT(on_rpc_begin, &call);
	sleeps(&alice, 0);
	tick(300);
	cpu_is(3, &rpciod);
	call.request = &request;
	RUN(on_rpc_wakeup, ((u64[8]){ (u64)&call, (u64)&transport.backlog }));
	wake(&alice);
	runs(&alice, 0);
	tick(7);
	request.sent = machine.now;
	sleeps(&alice, 0);
	tick(1000);
	answer_comes(&call, 1000, &alice);
	runs(&alice, 0);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 307, 1000, 1309 }));
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1309,
		   STRATA([ST_TAG] = 300, [ST_VFS] = 7, [ST_SERVER] = 1000, [ST_COMPLETE] = 2));
	sums = only_row(&key);
	assert_int_equal(sums.tag_ns, 300);
	assert_int_equal(sums.queue_ns, 7);
}

/* Calls with which workers go on: the thread which made one sleeps until it ends. */
struct direct_read {
	struct rpc_request request;
	struct rpc_call call;
	u64 begun;
};

/* @reader begins to sleep for @r, which is sent at once. */
static void reads_direct(struct ktask *reader, u32 cpu, struct direct_read *r)
{
	*r = (struct direct_read){
		.call = { .procedure = &read_procedure, .transport = &transport, .flags = 1 }
	};
	reads(reader, cpu);
	r->begun = machine.now;
	EVENT(on_rpc_begin, &r->call);
	r->request.sent = machine.now;
	r->call.request = &r->request;
	sleeps(reader, cpu);
}

/* rpciod, which runs, finds @r answered just now. */
static void direct_ends(struct direct_read *r)
{
	r->request.rtt = machine.now - r->request.sent;
	r->request.received = SIZE;
	RUN(on_rpc_done, ((u64[8]){ (u64)&r->call, r->request.sent - r->begun, r->request.rtt,
				    machine.now - r->begun }));
}

/* The worker which ends a call gives the slot to another call before it wakes the reader. */
static void test_nfs_gives_slot(void **state)
{
	struct rpc_call next = { .procedure = &read_procedure, .flags = 1 };
	struct direct_read r;

	(void)state;
	cpu_is(1, &daemon_thread);
	EVENT(on_rpc_begin, &next);
	tick(10);
	reads(&bob, 2); /* waits for what alice reads */
	sleeps(&bob, 2);
	reads_direct(&alice, 0, &r);
	tick(1000);
	runs(&rpciod, 3);
	direct_ends(&r);
	EVENT(on_rpc_wakeup, &next);
	tick(5);
	wake(&alice);
	wake(&bob);
	sleeps(&rpciod, 3);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1005, STRATA([ST_SERVER] = 1000, [ST_COMPLETE] = 5));
	runs(&bob, 2);
	returns(&bob, 2);
	assert_ops(OP_READ, 2, 1005, STRATA([ST_SERVER] = 2000, [ST_COMPLETE] = 10));
}

/* The worker ends another reader's call first. */
static void test_nfs_mark_of_another(void **state)
{
	struct direct_read r[2];

	(void)state;
	reads_direct(&bob, 2, &r[1]);
	tick(400);
	reads_direct(&alice, 0, &r[0]);
	tick(600);
	runs(&rpciod, 3);
	direct_ends(&r[0]);
	tick(50);
	direct_ends(&r[1]);
	tick(5);
	wake(&alice);
	wake(&bob);
	sleeps(&rpciod, 3);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 655, STRATA([ST_SERVER] = 600, [ST_COMPLETE] = 55));
	assert_int_equal(class_of_reads(), CACHE_MISS);
	runs(&bob, 2);
	returns(&bob, 2);
	assert_ops(OP_READ, 2, 1055, STRATA([ST_SERVER] = 600 + 1050, [ST_COMPLETE] = 60));
}

/* The worker wakes the reader long after the call ended. Until then it has waited for the call of
 * another, which says nothing about the reader's. */
static void test_nfs_late(void **state)
{
	struct direct_read r[2];
	u64 late = REQUEST_END_NS + 1;

	(void)state;
	reads_direct(&bob, 2, &r[1]);
	reads_direct(&alice, 0, &r[0]);
	tick(600);
	answer_comes(&r[1].call, 600, &rpciod);
	tick(7);
	runs(&rpciod, 3);
	direct_ends(&r[0]);
	tick(late);
	wake(&alice);
	sleeps(&rpciod, 3);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 609 + late, STRATA([ST_SERVER] = 609, [ST_HELPER] = late));
}

/* An answer leaves a mark for any thread which it wakes, though a worker goes on with the call. */
static void test_nfs_answer_for_another(void **state)
{
	struct direct_read r;

	(void)state;
	reads(&bob, 2);
	sleeps(&bob, 2);
	reads_direct(&alice, 0, &r);
	tick(1000);
	answer_comes(&r.call, 1000, &bob);
	runs(&bob, 2);
	returns(&bob, 2);
	assert_ops(OP_READ, 1, 1002, STRATA([ST_SERVER] = 1000, [ST_COMPLETE] = 2));
}

/* The own request to a disk is no better reason than the mark of who wakes. */
static void test_nfs_after_own_disk(void **state)
{
	struct rq_times disk = { .held = machine.now, .q = machine.now, .g = machine.now };
	struct direct_read r;

	(void)state;
	reads_direct(&bob, 2, &r);
	reads(&alice, 0);
	sleeps(&alice, 0);
	tick(400);
	disk.d = machine.now - 300;
	disk.c = machine.now;
	done_note(alice.t.pid, &disk, true);
	tick(100);
	runs(&rpciod, 3);
	direct_ends(&r);
	tick(5);
	wake(&alice);
	sleeps(&rpciod, 3);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 505, STRATA([ST_SERVER] = 500, [ST_COMPLETE] = 5));
}

/* After the own answer the thread waits for what another writes. */
static void test_nfs_then_of_another(void **state)
{
	u64 late = REQUEST_END_NS + 1;
	struct direct_read r[2];

	(void)state;
	reads_direct(&alice, 0, &r[0]);
	tick(200);
	reads_direct(&bob, 2, &r[1]);
	r[1].call.procedure = &write_procedure;
	EVENT(on_rpc_begin, &r[1].call); /* again, with its name */
	tick(400);
	runs(&rpciod, 3);
	direct_ends(&r[0]);
	sleeps(&rpciod, 3);
	tick(late);
	runs(&rpciod, 3);
	direct_ends(&r[1]);
	tick(5);
	wake(&alice);
	sleeps(&rpciod, 3);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 605 + late, STRATA([ST_SERVER] = 600 + late, [ST_COMPLETE] = 5));
	assert_int_equal(class_of_reads(), CACHE_MISS);
}

/* READ_PLUS reads, too. */
static void test_nfs_read_plus(void **state)
{
	struct direct_read r;

	(void)state;
	reads_direct(&alice, 0, &r);
	r.call.procedure = &read_plus_procedure;
	EVENT(on_rpc_begin, &r.call); /* again, with its name */
	tick(1000);
	runs(&rpciod, 3);
	direct_ends(&r);
	wake(&alice);
	sleeps(&rpciod, 3);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_int_equal(class_of_reads(), CACHE_MISS);
}

/* A call that ends without a slot has no statistics, but is forgotten. */
static void test_nfs_never_sent(void **state)
{
	struct rpc_request request = {};
	struct rpc_call call = { .procedure = &read_procedure };

	(void)state;
	EVENT(on_rpc_begin, &call);
	assert_int_equal(requests_noted(), 1);
	call.request = &request;
	EVENT(on_rpc_end, &call); /* statistics follow */
	assert_int_equal(requests_noted(), 1);
	call.request = NULL;
	EVENT(on_rpc_end, &call);
	assert_int_equal(requests_noted(), 0);
	assert_int_equal(rows_counted(), 0);
}

/* A call begins, and ends after @ns. */
static void call_answered(struct rpc_call *call, u64 ns)
{
	EVENT(on_rpc_begin, call);
	tick(ns);
	RUN(on_rpc_done, ((u64[8]){ (u64)call, 0, ns, ns }));
}

/* The kernel's memory of a call is used again: nothing is left of the names of the call before. The
 * place of its note is kept. */
static void test_rows_of_same_place(void **state)
{
	static const struct transport other = { .address = "::1" };
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &bind_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_key keys[2] = { { .server = "10.0.0.7", .op = "BIND_CONN_TO_SESSION" },
				      { .server = "::1", .op = "READ" } };

	(void)state;
	call_answered(&call, 1000);
	assert_int_equal(requests_noted(), 0);
	assert_int_equal(map_count(&server_requests), 1);
	call.procedure = &read_procedure;
	call.transport = &other;
	call_answered(&call, 1000);
	assert_int_equal(requests_noted(), 0);
	assert_int_equal(map_count(&server_requests), 1);
	assert_int_equal(rows_counted(), 2);
	for (int i = 0; i < 2; i++) {
		keys[i].bucket = hist_bucket(1000);
		assert_non_null(bpf_map_lookup_elem(&server_rows_even, &keys[i]));
	}
	assert_int_equal(lost_all(), 0);
}

/* Without room for a note, a call is lost, and the loss is counted. */
static void test_places_refused(void **state)
{
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &read_procedure, .request = &request };

	(void)state;
	map_of(&server_requests)->refusals = 2; /* when it begins, and when it ends */
	call_answered(&call, 10);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	assert_int_equal(rows_counted(), 0);
	call_answered(&call, 10);
	call_answered(&call, 10);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	assert_int_equal(map_count(&server_requests), 1);
	assert_int_equal(only_row(&(struct server_key){}).count, 2);
}

/* The end of a call was missed, and another begins in its memory; or one of before the tracing ends
 * in the memory of one that is over. */
static void test_rows_of_missed(void **state)
{
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &write_procedure, .transport = &transport };
	struct server_key key;
	struct server_sums sums;

	(void)state;
	EVENT(on_rpc_begin, &call);
	tick(30);
	EVENT(on_rpc_wakeup, &call); /* it gets a slot */
	tick(70);
	call.request = &request;
	call_answered(&call, 1000);
	conf.process_filter = 1;
	tick(5);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 1000, 2000 })); /* no note */
	conf.process_filter = 0;
	sums = only_row(&key);
	assert_string_equal(key.op, "WRITE");
	assert_int_equal(sums.count, 1);
	assert_int_equal(sums.server_ns, 1000);
	assert_int_equal(sums.tag_ns + sums.queue_ns, 0);
	EVENT(on_rpc_wakeup, &call);
	assert_int_equal(requests_noted(), 0);
}

/* A call goes on with another procedure, at another server. */
static void test_rows_of_changed(void **state)
{
	static const struct transport other = { .address = "10.0.0.23" };
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &read_plus_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_key key;

	(void)state;
	EVENT(on_rpc_begin, &call);
	tick(10);
	call.procedure = &read_procedure;
	call.transport = &other;
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 }));
	only_row(&key);
	assert_string_equal(key.server, "10.0.0.23");
	assert_string_equal(key.op, "READ");
}

/* The rows of requests to @server with procedure @op which took 10 ns. */
static u64 calls_counted(const char *server, const char *op)
{
	struct server_key key = { .bucket = hist_bucket(10) };
	const struct server_sums *sums;

	strcpy(key.server, server);
	strcpy(key.op, op);
	rows_counted();
	sums = bpf_map_lookup_elem(&server_rows_even, &key);
	return sums ? sums->count : 0;
}

/* After a mount has gone, the memory of its names is another's. Until a transport is made, or gets
 * another address, names are read once. */
static void test_rows_of_new_transport(void **state)
{
	char address[16] = "10.0.0.7", name[16] = "WRITE";
	const struct transport own = { .address = address };
	const struct procedure procedure = { .name = name };
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &procedure, .request = &request, .transport = &own };

	(void)state;
	call_answered(&call, 10);
	strcpy(address, "::1");
	strcpy(name, "COMMIT");
	call_answered(&call, 10);
	assert_int_equal(calls_counted("10.0.0.7", "WRITE"), 2);
	EVENT(on_xprt_create, &own);
	call_answered(&call, 10);
	assert_int_equal(calls_counted("::1", "COMMIT"), 1);
	strcpy(address, "10.0.0.9");
	EVENT(on_xprt_disconnect, &own);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 })); /* of before the tracing */
	assert_int_equal(calls_counted("10.0.0.9", "COMMIT"), 1);
	EVENT(on_rpc_begin, &call);
	strcpy(address, "10.0.0.8");
	EVENT(on_xprt_create, &own);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 }));
	assert_int_equal(calls_counted("10.0.0.8", "COMMIT"), 1);
	conf.transports_told = 0;
	strcpy(address, "::2");
	call_answered(&call, 10);
	assert_int_equal(calls_counted("::2", "COMMIT"), 1);
	assert_int_equal(rows_counted(), 5);
}

/* A note with these names. */
static struct server_request named(const char *server, const char *op)
{
	struct server_request r = {};

	strcpy(r.server, server);
	strcpy(r.op, op);
	return r;
}

/* Each name has one slot, however little it differs from others. Where a part of a name is still to
 * be written, the slot is not for a shorter name. */
static void test_slots_by_name(void **state)
{
	struct server_request names[] = {
		named("10.0.0.1", "READ"),
		named("10.0.0.12", "READ"),
		named("10.0.0.1", "READ_PLUS"),
		named("10.0.0.1", "READ_PLUX"),
		named("", ""),
		named("1234567812345678123456781234567812345678abcdefg", "BIND_CONN_TO_SESSION"),
	};
	u32 slots[6], first;
	struct server_slot *s;

	(void)state;
	for (int i = 0; i < 6; i++) {
		slots[i] = server_slot_find(&names[i]);
		assert_in_range(slots[i], 1, SERVER_SLOTS);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(slots[i], slots[j]);
	}
	for (int i = 0; i < 6; i++)
		assert_int_equal(server_slot_find(&names[i]), slots[i]);
	first = slots[0] - 1;
	s = bpf_map_lookup_elem(&server_slots, &first);
	s->hash = name_hash(&names[1]); /* its last word is not there yet */
	assert_int_equal(server_slot_find(&names[1]), slots[1]);
	assert_int_not_equal(server_slot_find(&names[0]), slots[0]);
}

static void call_of_another_cpu(void)
{
	static struct rpc_request request = { .sent = 1, .received = 8 };
	static struct rpc_call call;

	call = (struct rpc_call){ .procedure = &write_procedure,
				  .request = &request,
				  .transport = &transport };
	machine.at_barrier = NULL;
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 }));
}

/* Two CPUs meet a name for the first time, the second while the first writes it. */
static void test_slots_at_once(void **state)
{
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &write_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_slot *s;
	u64 counts = 0;
	int used = 0;

	(void)state;
	machine.at_barrier = call_of_another_cpu;
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 }));
	for (u32 i = 0; i < SERVER_SLOTS; i++) {
		s = bpf_map_lookup_elem(&server_slots, &i);
		if (!s->hash)
			continue;
		used++;
		counts += s->epochs[0].sums.count;
		assert_string_equal(s->server, "10.0.0.7");
		assert_string_equal(s->op, "WRITE");
	}
	assert_int_equal(used, 2);
	assert_int_equal(counts, 2);
	assert_int_equal(map_count(&server_rows_even), 0);
}

/* Without a free slot, rows are in the hash. A note does not look again. */
static void test_slots_full(void **state)
{
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &write_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_slot *s;

	(void)state;
	for (u32 i = 0; i < SERVER_SLOTS; i++)
		((struct server_slot *)bpf_map_lookup_elem(&server_slots, &i))->hash = 1;
	call_answered(&call, 10);
	assert_int_equal(map_count(&server_rows_even), 1);
	for (u32 i = 0; i < SERVER_SLOTS; i++)
		((struct server_slot *)bpf_map_lookup_elem(&server_slots, &i))->hash = 0;
	call_answered(&call, 10);
	assert_int_equal(map_count(&server_rows_even), 1);
	assert_int_equal(calls_counted("10.0.0.7", "WRITE"), 2);
	call.procedure = &read_procedure;
	live.epoch = 1;
	call_answered(&call, 10); /* another name */
	assert_int_equal(map_count(&server_rows_even), 1);
	assert_int_equal(map_count(&server_rows_odd), 0);
	for (u32 i = 0; i < SERVER_SLOTS; i++) {
		s = bpf_map_lookup_elem(&server_slots, &i);
		assert_int_equal(s->epochs[0].sums.count, 0);
		assert_int_equal(s->epochs[1].sums.count, s->hash ? 1 : 0);
		assert_int_equal(s->epochs[1].hist[hist_bucket(10)], s->hash ? 1 : 0);
	}
}

/* At a barrier: the only note is being written, and does not count yet. */
static void note_is_no_note(void)
{
	assert_int_equal(requests_noted(), 0);
}

/* Nothing of a call is left for the next one in its memory: who made it, whether it reads, whether
 * it counts. While a note is written, it is nobody's. Names are read once, when the call begins. */
static void test_nfs_note_written_anew(void **state)
{
	char name[8] = "WRITE";
	const struct procedure procedure = { .name = name };
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &read_procedure, .transport = &transport };
	struct server_key key;

	(void)state;
	EVENT(on_rpc_begin, &call); /* alice's; its end is missed */
	call.procedure = &procedure;
	cpu_is(2, &bob);
	conf.process_filter = conf.thread_filter = conf.n_pids = 1;
	machine.at_barrier = note_is_no_note;
	EVENT(on_rpc_begin, &call);
	machine.at_barrier = NULL;
	conf.process_filter = conf.thread_filter = conf.n_pids = 0;
	reads(&alice, 0);
	sleeps(&alice, 0);
	call.request = &request;
	strcpy(name, "OTHER");
	tick(10);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 }));
	assert_int_equal(rows_counted(), 0); /* bob did not pass the filter */
	wake(&alice);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_int_equal(class_of_reads(), CACHE_UNKNOWN);
	strcpy(name, "WRITE");
	EVENT(on_rpc_begin, &call);
	strcpy(name, "OTHER");
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 0, 10, 10 }));
	only_row(&key);
	assert_string_equal(key.op, "WRITE");
}

/* The kernel's own times count, though the programs run later. */
static void test_rows_by_kernel_time(void **state)
{
	struct rpc_request request = { .transmits = 1 };
	struct rpc_call call = { .procedure = &read_procedure, .made = machine.now };
	struct server_key key;
	struct server_sums sums;

	(void)state;
	tick(7);
	EVENT(on_rpc_begin, &call);
	call.request = &request;
	tick(3000); /* no answer: the request's time is until its end */
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 300, 0, 2000 }));
	sums = only_row(&key);
	assert_int_equal(sums.tag_ns, 0);
	assert_int_equal(sums.queue_ns, 300);
	assert_int_equal(sums.server_ns, 1700);
	assert_int_equal(sums.max_ns, 1700);
}

/* The time of an answer is the kernel's, and so is the time until which its mark is valid. */
static void test_nfs_by_kernel_time(void **state)
{
	struct rpc_request request = { .sent = machine.now, .rtt = 100, .received = 8 };
	struct rpc_call call = { .procedure = &readdir_procedure, .request = &request };
	struct mark *m;

	(void)state;
	call.made = machine.now - 30;
	cpu_is(0, &alice);
	EVENT(on_rpc_begin, &call);
	tick(150);
	for (call.flags = 0; call.flags <= 1; call.flags++) {
		cpu_is(2, &xprtiod);
		EVENT(on_rpc_wakeup, &call);
		m = mark_of_current(0);
		assert_non_null(m);
		assert_int_equal(m->times.q, call.flags ? request.sent : call.made);
		assert_int_equal(m->times.d, request.sent);
		assert_int_equal(m->times.c, request.sent + 100);
		assert_int_equal(m->until, request.sent + 100 + REQUEST_END_NS);
		assert_int_equal(m->tid, call.flags ? 0 : alice.t.pid);
		mark_clear(0);
	}
}

/* Bytes beyond 64 KiB, and an error of the server. */
static void test_rows_of_wide_figures(void **state)
{
	struct rpc_request request = { .sent = 1, .received = 1 << 20, .sent_bytes = 1 << 17 };
	struct rpc_call call = { .procedure = &read_procedure, .request = &request, .status = -5 };
	struct server_sums sums;
	struct server_key key;

	(void)state;
	call_answered(&call, 10);
	call.status = 1 << 15;
	call_answered(&call, 10);
	sums = only_row(&key);
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.errors, 1);
	assert_int_equal(sums.received_bytes, 2 << 20);
	assert_int_equal(sums.sent_bytes, 2 << 17);
}

/* The answer to a request of FUSE whose beginning was missed, where a call of NFS was. */
static void test_fuse_in_place_of_nfs(void **state)
{
	union {
		struct rpc_call call;
		struct fuse_request fuse;
	} memory = { .call = { .procedure = &read_procedure, .transport = &transport } };
	struct rpc_request request = { .sent = 1, .received = 8 };

	(void)state;
	memory.call.request = &request;
	call_answered(&memory.call, 10);
	memory.fuse = fuse_read;
	cpu_is(1, &daemon_thread);
	EVENT(on_fuse_end, &memory.fuse);
	assert_int_equal(rows_counted(), 1);
}

/* The longest name of NFS is whole. */
static void test_rows_of_long_name(void **state)
{
	struct rpc_request request = { .sent = 1, .received = 8 };
	struct rpc_call call = { .procedure = &bind_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_key key;

	(void)state;
	EVENT(on_rpc_begin, &call);
	tick(1000);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 37, 900, 1000 }));
	only_row(&key);
	assert_string_equal(key.op, "BIND_CONN_TO_SESSION");
}

/* A call that waits for the connection, though it has a slot; and is sent twice. */
static void test_nfs_resent(void **state)
{
	struct rpc_request request = {};
	struct rpc_call call = { .procedure = &write_procedure, .request = &request, .flags = 2 };

	(void)state;
	reads(&alice, 0);
	EVENT(on_rpc_begin, &call);
	sleeps(&alice, 0);
	tick(300);
	cpu_is(3, &rpciod);
	EVENT(on_rpc_wakeup, &call);
	wake(&alice);
	runs(&alice, 0);
	assert_int_equal(current_lookup()->op.strata[ST_QUEUE], 300);
	request.sent = machine.now;
	sleeps(&alice, 0);
	tick(500);
	cpu_is(2, &idle[2]);
	machine.level = 0x100;
	EVENT(on_rpc_wakeup, &call); /* a timeout */
	wake(&alice);
	machine.level = 0;
	runs(&alice, 0);
	assert_int_equal(current_lookup()->op.strata[ST_SERVER], 500);
	request.sent = machine.now;
	sleeps(&alice, 0);
	tick(70);
	answer_comes(&call, 70, &alice);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 300 + 500 + 72,
		   STRATA([ST_QUEUE] = 300, [ST_SERVER] = 500 + 70, [ST_COMPLETE] = 2));
}

/* A call that began before the tracing. */
static void test_nfs_of_before(void **state)
{
	struct rpc_request request = { .sent = 1000000 - 50 };
	struct rpc_call call = { .procedure = &read_procedure, .request = &request };

	(void)state;
	reads(&alice, 0);
	sleeps(&alice, 0);
	tick(100);
	EVENT(on_rpc_wakeup, &call); /* a timeout */
	answer_comes(&call, 150, &alice);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 102, STRATA([ST_SERVER] = 100, [ST_COMPLETE] = 2));
}

/* The newest record of a request; NULL: none. */
static const struct sent_server_request *newest_request(void)
{
	for (struct message *m = messages; m; m = m->next)
		if (m->data[0] == SENT_SERVER_REQUEST)
			return (const void *)m->data;
	return NULL;
}

/* Alice's call is a record with the times of its row, the server and the xid, if that is known. */
static void test_nfs_sent(void **state)
{
	struct rpc_request request = { .xid = 0x78563412 };
	struct rpc_call call = { .procedure = &write_procedure, .transport = &transport };
	const struct sent_server_request *s;
	u64 begun;

	(void)state;
	conf.sent_ops = conf.rings = 1;
	for (int known = 1; known >= 0; known--) {
		conf.at.rpc_xid = known ? offsetof(struct rpc_request, xid) : 0;
		cpu_is(0, &alice);
		call.request = NULL;
		begun = machine.now;
		EVENT(on_rpc_begin, &call);
		tick(300);
		EVENT(on_rpc_wakeup, &call); /* a slot */
		tick(7);
		call.request = &request;
		request.sent = machine.now;
		tick(1000);
		request.rtt = 1000;
		tick(11);
		RUN(on_rpc_done, ((u64[8]){ (u64)&call, 307, 1000, machine.now - begun }));
		s = newest_request();
		assert_non_null(s);
		assert_true(s->what == SENT_SERVER_REQUEST);
		assert_true(s->xid == (known ? 0x12345678 + 1ULL : 0));
		assert_true(s->q == begun && s->g - s->q == 300 && s->d - s->g == 7);
		assert_true(s->c - s->d == 1000);
		assert_string_equal(s->server, "10.0.0.7");
		assert_string_equal(s->op, "WRITE");
	}
	assert_int_equal(only_row(&(struct server_key){}).count, 2);
	assert_int_equal(lost_all(), 0);
}

/* Without a record of all operations, or with filters which reject its thread, nothing is sent. */
static void test_nfs_not_sent(void **state)
{
	struct rpc_request request = { .sent = 1000000 - 50 };
	struct rpc_call call = { .procedure = &write_procedure,
				 .request = &request,
				 .transport = &transport };

	(void)state;
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 1, 2, 3 }));
	assert_null(newest_request());
	conf.sent_ops = conf.rings = conf.process_filter = 1;
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 1, 2, 3 }));
	assert_null(newest_request());
	assert_int_equal(lost_all(), 0);
}

#define ASK(client, type, tag)  RUN(on_9p_ask, ((u64[8]){ (u64)(client), type, tag }))
#define TELL(client, type, tag) ANSWER(client, type, tag, 0)
#define ANSWER(client, type, tag, error)                                                           \
	RUN(on_9p_answer, ((u64[8]){ (u64)(client), type, tag, (u64)(s64)(error) }))

enum { TREAD = 116, TWRITE = 118 };

/* The answer wakes alice from an interrupt, which no event tells. */
static void answered_by_interrupt(u64 ns)
{
	sleeps(&alice, 0);
	tick(ns);
	cpu_is(2, &idle[2]);
	machine.level = 0x100;
	wake(&alice);
	machine.level = 0;
	tick(11);
	runs(&alice, 0);
}

static void test_9p(void **state)
{
	(void)state;
	reads(&alice, 0);
	ASK(&client, TREAD, 3);
	answered_by_interrupt(1000);
	TELL(&client, TREAD, 4); /* to another thread's request */
	tick(5);
	answered_by_interrupt(70); /* a signal woke it the first time */
	TELL(&client, TREAD, 3);
	answered_by_interrupt(300); /* for something else */
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1000 + 11 + 5 + 70 + 11 + 300 + 11,
		   STRATA([ST_VFS] = 5, [ST_SERVER] = 1070, [ST_SLEEP] = 300, [ST_RUNQ] = 33));
	assert_int_equal(class_of_reads(), CACHE_MISS);
	assert_int_equal(map_count(&server_requests), 0);
}

/* A write asks for no data; and a lock is a lock. */
static void test_9p_write(void **state)
{
	u64 lock[2] = { 0x77, 0 };

	(void)state;
	reads(&alice, 0);
	ASK(&client, TWRITE, 3);
	answered_by_interrupt(1000);
	on_lock_wanted(lock);
	answered_by_interrupt(20);
	on_lock_taken(lock);
	TELL(&client, TWRITE, 3);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1042, STRATA([ST_SERVER] = 1000, [ST_LOCK] = 20, [ST_RUNQ] = 22));
	assert_int_equal(class_of_reads(), CACHE_UNKNOWN);
}

/* Nobody waits for the request itself: the answer to it comes to another thread. */
static void test_smb_answered_by_another(void **state)
{
	u64 request[8] = { 1, 0x5555555555555555, 8, 23 };

	(void)state;
	reads(&alice, 0);
	RUN(on_smb_ask, request);
	tick(5);
	sleeps(&alice, 0);
	tick(1000);
	cpu_is(1, &daemon_thread);
	RUN(on_smb_done, request);
	tick(3);
	wake(&alice);
	tick(11);
	runs(&alice, 0);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1019,
		   STRATA([ST_VFS] = 5, [ST_SERVER] = 1000, [ST_COMPLETE] = 3, [ST_RUNQ] = 11));
	assert_int_equal(class_of_reads(), CACHE_MISS);
	assert_int_equal(map_count(&server_requests), 0);
}

static void test_smb_error(void **state)
{
	u64 request[8] = { 1, 0x5555555555555555, 5, 23 };

	(void)state;
	reads(&alice, 0);
	RUN(on_smb_ask, request);
	answered_by_interrupt(1000);
	RUN(on_smb_err, request);
	answered_by_interrupt(300);
	returns(&alice, 0);
	assert_ops(OP_READ, 1, 1322, STRATA([ST_SERVER] = 1000, [ST_SLEEP] = 300, [ST_RUNQ] = 22));
}

/* The figures of FUSE requests: daemon, file system, times. */
static void test_rows_of_fuse(void **state)
{
	struct server_sums sums;
	struct server_key key;

	(void)state;
	for (int i = 0; i < 2; i++) {
		cpu_is(0, &alice);
		EVENT(on_fuse_send, &fuse_write);
		tick(93);
		daemon_answers(&fuse_write, &alice);
	}
	sums = only_row(&key);
	assert_string_equal(key.server, "daemon");
	assert_int_equal(key.pid, 1300);
	assert_int_equal(key.dev, 23);
	assert_int_equal(key.opcode, 16);
	assert_int_equal(key.protocol, SERVER_FUSE);
	assert_int_equal(key.bucket, hist_bucket(100));
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.errors, 2);
	assert_int_equal(sums.sent_bytes, 2 * (80 + SIZE));
	assert_int_equal(sums.received_bytes, 2 * 16);
	assert_int_equal(sums.server_ns, 200);
	assert_int_equal(sums.max_ns, 100);
	assert_int_equal(sums.tag_ns + sums.queue_ns + sums.resent, 0);
}

/* The thread that aborts a connection is not the daemon. */
static void test_rows_of_fuse_aborted(void **state)
{
	struct server_sums sums;
	struct server_key key;

	(void)state;
	EVENT(on_fuse_send, &fuse_read);
	fuse_read.out.error = -103; /* ECONNABORTED */
	cpu_is(0, &bob);
	EVENT(on_fuse_end, &fuse_read);
	sums = only_row(&key);
	assert_string_equal(key.server, "");
	assert_int_equal(key.pid, 0);
	assert_int_equal(key.dev, 23);
	assert_int_equal(sums.errors, 1);
}

/* A daemon that is no process: the host of a virtual machine. */
static void test_rows_of_virtiofs(void **state)
{
	struct server_key key;

	(void)state;
	EVENT(on_fuse_send, &fuse_read);
	cpu_is(2, &xprtiod);
	EVENT(on_fuse_end, &fuse_read);
	only_row(&key);
	assert_string_equal(key.server, "virtiofs");
	assert_int_equal(key.pid, 0);
}

/* The figures of NFS requests are those of the kernel. */
static void test_rows_of_nfs(void **state)
{
	struct rpc_request request = { .received = 4200, .transmits = 3, .sent_bytes = 200 };
	struct rpc_call call = { .procedure = &read_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_sums sums;
	struct server_key key;

	(void)state;
	tick(1000);
	EVENT(on_rpc_begin, &call);
	tick(30);
	call.request = NULL;
	EVENT(on_rpc_wakeup, &call); /* it has got a slot */
	call.request = &request;
	tick(970);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 37, 900, 1000 }));
	sums = only_row(&key);
	assert_string_equal(key.server, "10.0.0.7");
	assert_string_equal(key.op, "READ");
	assert_int_equal(key.pid | key.dev | key.opcode, 0);
	assert_int_equal(sums.count, 1);
	assert_int_equal(sums.errors, 0);
	assert_int_equal(sums.resent, 2);
	assert_int_equal(sums.sent_bytes, 200);
	assert_int_equal(sums.received_bytes, 4200);
	assert_int_equal(sums.tag_ns, 30);
	assert_int_equal(sums.queue_ns, 7);
	assert_int_equal(sums.server_ns, 900);
}

/* The time with the server begins when the request was sent first. */
static void test_rows_of_resent(void **state)
{
	struct rpc_request request = { .sent_bytes = 200 };
	struct rpc_call call = { .procedure = &read_procedure,
				 .request = &request,
				 .transport = &transport };
	struct server_sums sums;
	struct server_key key;

	(void)state;
	tick(1000);
	EVENT(on_rpc_begin, &call);
	tick(30);
	for (int i = 0; i < 3; i++) {
		request.sent = machine.now;
		request.transmits++;
		tick(500);
		if (i < 2)
			EVENT(on_rpc_wakeup, &call); /* a timeout */
	}
	request.received = 4200;
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 1030, 470, 1530 }));
	sums = only_row(&key);
	assert_int_equal(sums.resent, 2);
	assert_int_equal(sums.tag_ns, 0);
	assert_int_equal(sums.queue_ns, 30);
	assert_int_equal(sums.server_ns, 2 * 500 + 470);
	assert_int_equal(sums.max_ns, 2 * 500 + 470);
}

/* The figures of 9p requests: device, kind, times. The requests' bytes are not known. */
static void test_rows_of_9p(void **state)
{
	struct server_sums sums;

	(void)state;
	for (int i = 0; i < 3; i++) {
		ASK(&client, TREAD, 3);
		tick(100);
		ANSWER(&client, TREAD, 3, i == 1 ? -2 : 0);
		ANSWER(&client, TREAD, 3, -2); /* to a request of before the tracing */
	}
	sums = assert_all_took_100("home", SERVER_9P, TREAD, 3);
	assert_int_equal(sums.sent_bytes + sums.received_bytes, 0);
}

/* Other transports have no name. */
static void test_rows_of_9p_by_tcp(void **state)
{
	struct server_key key;

	(void)state;
	ASK(&client_of_tcp, TWRITE, 3);
	TELL(&client_of_tcp, TWRITE, 3);
	only_row(&key);
	assert_string_equal(key.server, "");
	assert_int_equal(key.opcode, TWRITE);
}

enum { SMB_CREATE = 5, SMB_READ = 8 };

/* Alice asks the server of SMB; 100 ns later the answer with @status comes to @to. */
static void smb_asked(u64 command, u64 message, struct ktask *to, u64 status)
{
	const u64 session = 0x5555555555555555;
	const struct smb_ids header = { .message = message, .session = session };
	const struct smb_part part = { .header = &header };
	const struct smb_message request = { .parts = &part };

	cpu_is(0, &alice);
	RUN(on_smb_ask, ((u64[8]){ 1, session, command, message }));
	if (command == SMB_READ)
		RUN(on_smb_setup_async, ((u64[8]){ (u64)&nas, (u64)&request }));
	else
		RUN(on_smb_setup, ((u64[8]){ 0, (u64)&nas, (u64)&request }));
	tick(100);
	cpu_is(1, to);
	if (status)
		RUN(on_smb_err, ((u64[8]){ 1, session, command, message, status, (u64)-5 }));
	else
		RUN(on_smb_done, ((u64[8]){ 1, session, command, message }));
}

static void assert_sent(u32 protocol, const char *server, u32 opcode, u32 dev)
{
	const struct sent_server_request *s = newest_request();

	assert_non_null(s);
	assert_int_equal(s->what, SENT_SERVER_REQUEST);
	assert_int_equal(s->protocol, protocol);
	assert_string_equal(s->server, server);
	assert_int_equal(s->opcode, opcode);
	assert_int_equal(s->dev, dev);
	assert_string_equal(s->op, "");
	assert_true(!s->xid && s->g == s->q && s->d == s->q && s->c - s->q == 100);
}

/* Makes a request of each protocol but NFS, each answered after 100, and asserts the record of
 * each, if @sent, or else that there is none. */
static void others_asked(bool sent)
{
	cpu_is(0, &alice);
	EVENT(on_fuse_send, &fuse_write);
	tick(100);
	cpu_is(1, &daemon_thread);
	EVENT(on_fuse_end, &fuse_write);
	if (sent)
		assert_sent(SERVER_FUSE, "daemon", 16, 23);
	cpu_is(0, &alice);
	ASK(&client, TREAD, 3);
	tick(100);
	ANSWER(&client, TREAD, 3, 0);
	if (sent)
		assert_sent(SERVER_9P, "home", TREAD, 0);
	smb_asked(SMB_CREATE, 7, &alice, 0);
	if (sent)
		assert_sent(SERVER_SMB, "nas.example", SMB_CREATE, 0);
	else
		assert_null(newest_request());
}

static void test_others_sent(void **state)
{
	(void)state;
	conf.sent_ops = conf.rings = 1;
	others_asked(true);
	assert_int_equal(rows_counted(), 3);
	assert_int_equal(lost_all(), 0);
	ring_room = 0;
	cpu_is(0, &alice);
	ASK(&client, TREAD, 3);
	ANSWER(&client, TREAD, 3, 0);
	assert_int_equal(live.lost[LOST_RING], 1);
	assert_int_equal(rows_counted(), 4); /* another bucket */
}

static void test_others_not_sent(void **state)
{
	(void)state;
	others_asked(false);
	conf.sent_ops = conf.rings = conf.process_filter = conf.thread_filter = conf.n_pids = 1;
	lists.pids[0] = 4711;
	others_asked(false);
}

/* The figures of SMB requests: server, kind, times. The end of a file is no error. */
static void test_rows_of_smb(void **state)
{
	static const u64 statuses[] = { 0, 0xc0000022, 0xc0000011, 0xc0000016, 0x80000006 };

	(void)state;
	for (int i = 0; i < 5; i++)
		smb_asked(SMB_CREATE, i, &alice, statuses[i]);
	assert_all_took_100("nas.example", SERVER_SMB, SMB_CREATE, 5);
	assert_int_equal(map_count(&server_requests), 0);
}

/* The answer to what nobody waits for comes to another thread. */
static void test_rows_of_smb_async(void **state)
{
	struct server_key key;

	(void)state;
	smb_asked(SMB_READ, 7, &daemon_thread, 0);
	assert_int_equal(only_row(&key).server_ns, 100);
	assert_string_equal(key.server, "nas.example");
	assert_int_equal(key.opcode, SMB_READ);
}

/* No name is noted of a request whose beginning was not seen, or without functions. */
static void test_rows_of_smb_without_name(void **state)
{
	const struct smb_ids header = { .message = 23, .session = 5 };
	const struct smb_part part = { .header = &header };
	const struct smb_message request = { .parts = &part };
	struct server_key key;

	(void)state;
	RUN(on_smb_setup, ((u64[8]){ 0, (u64)&nas, (u64)&request }));
	assert_int_equal(map_count(&server_requests), 0);
	RUN(on_smb_ask, ((u64[8]){ 1, 7, SMB_READ, 23 }));
	RUN(on_smb_setup, ((u64[8]){ 0, (u64)&nas, (u64)&request })); /* of another session */
	RUN(on_smb_done, ((u64[8]){ 1, 7, SMB_READ, 23 }));
	only_row(&key);
	assert_string_equal(key.server, "");
}

/* A filter passes the requests of threads that pass the filter. */
static void test_rows_of_filtered(void **state)
{
	struct rpc_request request = { .sent = 1 };
	struct rpc_call call = { .procedure = &read_procedure,
				 .request = &request,
				 .transport = &transport };

	(void)state;
	conf.process_filter = conf.thread_filter = 1;
	conf.n_pids = 1;
	lists.pids[0] = 1200;
	EVENT(on_fuse_send, &fuse_read);
	EVENT(on_fuse_end, &fuse_read);
	RUN(on_rpc_done, ((u64[8]){ (u64)&call, 37, 900, 1000 })); /* of whom, is not known */
	ASK(&client, TREAD, 3);
	TELL(&client, TREAD, 3);
	assert_int_equal(rows_counted(), 0);
	cpu_is(0, &bob);
	EVENT(on_fuse_send, &fuse_read);
	EVENT(on_fuse_end, &fuse_read);
	assert_int_equal(rows_counted(), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_fuse),
		TEST(test_fuse_beginning_unseen),
		TEST(test_fuse_of_another),
		TEST(test_fuse_write),
		TEST(test_fuse_daemon_goes_on),
		TEST(test_fuse_daemon_goes_on_long),
		TEST(test_nfs),
		TEST(test_order_of_fuse),
		TEST(test_order_of_idle_worker),
		TEST(test_sleep_before_request),
		TEST(test_nfs_slot),
		TEST(test_nfs_slot_of_connection),
		TEST(test_nfs_gives_slot),
		TEST(test_nfs_mark_of_another),
		TEST(test_nfs_late),
		TEST(test_nfs_then_of_another),
		TEST(test_nfs_answer_for_another),
		TEST(test_nfs_after_own_disk),
		TEST(test_nfs_read_plus),
		TEST(test_nfs_never_sent),
		TEST(test_rows_of_same_place),
		TEST(test_places_refused),
		TEST(test_rows_of_missed),
		TEST(test_rows_of_changed),
		TEST(test_rows_of_new_transport),
		TEST(test_slots_by_name),
		TEST(test_slots_at_once),
		TEST(test_slots_full),
		TEST(test_fuse_in_place_of_nfs),
		TEST(test_nfs_note_written_anew),
		TEST(test_rows_by_kernel_time),
		TEST(test_nfs_by_kernel_time),
		TEST(test_rows_of_wide_figures),
		TEST(test_rows_of_long_name),
		TEST(test_nfs_resent),
		TEST(test_rows_of_resent),
		TEST(test_nfs_of_before),
		TEST(test_nfs_sent),
		TEST(test_nfs_not_sent),
		TEST(test_others_sent),
		TEST(test_others_not_sent),
		TEST(test_9p),
		TEST(test_9p_write),
		TEST(test_smb_answered_by_another),
		TEST(test_smb_error),
		TEST(test_rows_of_fuse),
		TEST(test_rows_of_fuse_aborted),
		TEST(test_rows_of_virtiofs),
		TEST(test_rows_of_nfs),
		TEST(test_rows_of_9p),
		TEST(test_rows_of_9p_by_tcp),
		TEST(test_rows_of_smb),
		TEST(test_rows_of_smb_async),
		TEST(test_rows_of_smb_without_name),
		TEST(test_rows_of_filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
