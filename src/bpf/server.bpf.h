/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server.bpf.h - requests of file systems to a server or a daemon: NFS by the events of SunRPC,
 * FUSE, virtiofs, 9p and SMB by their own. An answer is announced as the completion of a block
 * request is, so wait.bpf.h cuts the sleeps that the answer ends. Nothing here runs for other file
 * systems.
 *
 * The times of such a request: Q the thread made it; G nothing holds it back any more (a slot of
 * the session or of the connection is free); D it is sent; C its answer is there. The time from D
 * to C is the server's.
 */
#ifndef IOSTRATA_SERVER_BPF_H
#define IOSTRATA_SERVER_BPF_H

#include "completion.bpf.h"
#include "daemon.bpf.h"
#include "function.bpf.h"
#include "row.bpf.h"
#include "send.bpf.h"
#include "task.bpf.h"

static __always_inline u64 word_at(u64 address)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* Current makes a request. If current is in no operation, its next sleep may be for the answer. */
static __always_inline void outside_asks(void)
{
	struct task_state *t = current_lookup();

	if (t && !t->op.stage)
		t->asked = 1;
}

/* Notes in @r that current makes the request at @now. From now on r->task says that @r is complete.
 */
static __always_inline void server_request_fill(struct server_request *r, u64 now)
{
	u64 id = bpf_get_current_pid_tgid();

	r->q = r->g = r->d = now;
	r->tid = id;
	r->counted = CONF(servers) && current_wanted(id);
	if (CONF(outside))
		outside_asks();
	barrier();
	r->task = current_task();
}

/* Current's request reads from a server. */
static __always_inline void server_read(void)
{
	struct task_state *t = current_lookup();

	if (!t || !t->op.stage)
		return;
	op_asked_server(&t->op);
	t->op.own_reads = 1;
}

/* Current makes the request @req; @r has the server, and whether the request reads. */
static __always_inline void server_request_made(u64 req, struct server_request *r)
{
	server_request_fill(r, bpf_ktime_get_ns());
	if (bpf_map_update_elem(&server_requests, &req, r, BPF_ANY))
		count_lost(LOST_MAP_FULL);
	if (r->is_read)
		server_read();
}

/* The note of the request @req, or NULL if there is none. */
static __always_inline struct server_request *server_request_noted(u64 req)
{
	struct server_request *r = bpf_map_lookup_elem(&server_requests, &req);

	return r && r->task ? r : NULL;
}

/* At @now, the answer to a request came, or the request may go on, as @times says. @r: the request,
 * or NULL if it was made before tracing began. */
static __always_inline void server_announce(const struct server_request *r, struct rq_times *times,
					    u64 now, bool level_known)
{
	u64 until = now + REQUEST_END_NS;

	times->held = times->q;
	times->server = 1;
	completion_announce(times, r ? r->tid : 0, r && r->is_read, until, level_known);
}

/* Whether the request has a row. Without a note of its thread, filters reject it. */
static __always_inline bool server_request_counts(const struct server_request *r)
{
	return CONF(servers) && (r ? r->counted : !CONF(process_filter));
}

/* The row of @key. Returns NULL if there is no room, or the row is refused, as in row_hashed(). */
static __always_inline struct server_sums *server_row(const struct server_key *key)
{
	bool even = !live.epoch;
	struct server_sums *sums = ROWS_LOOKUP(even, server_rows, key);

	if (sums)
		return sums;
	if (!ROWS_INSERT(even, server_rows, key))
		row_made(&live.server_rows_made[!even], CONF(server_rows_limit));
	sums = ROWS_LOOKUP(even, server_rows, key);
	if (!sums)
		count_lost(LOST_MAP_FULL);
	return sums;
}

/* How a request ended: all but its times. */
struct server_end {
	u64 sent_bytes, received_bytes;
	u32 resent;
	bool failed;
};

/* Adds a request with @times to the sums of its row. */
static __always_inline void server_sums_add(struct server_sums *sums, const struct rq_times *times,
					    const struct server_end *end)
{
	u64 server = times->c - times->d;

	atomic_add(&sums->count, 1);
	atomic_add(&sums->server_ns, server);
	cell_max(&sums->max_ns, server);
	cell_sum(false, sums->tag_ns, times->g - times->q);
	cell_sum(false, sums->queue_ns, times->d - times->g);
	cell_sum(false, sums->sent_bytes, end->sent_bytes);
	cell_sum(false, sums->received_bytes, end->received_bytes);
	cell_sum(false, sums->resent, end->resent);
	if (end->failed)
		atomic_add(&sums->errors, 1);
}

/* Adds a request with @times to the row of @key. @key has no bucket yet. NULL: see server_row().
 */
static __always_inline struct server_sums *server_request_done(struct server_key *key,
							       const struct rq_times *times,
							       const struct server_end *end)
{
	struct server_sums *sums;

	key->bucket = hist_bucket(times->c - times->d);
	sums = server_row(key);
	if (sums)
		server_sums_add(sums, times, end);
	return sums;
}

/* Sends a request as a record. @key: its row. Nothing held it back from @q on, when it was made;
 * its answer came at @c. */
GLOBAL u32 server_send(const struct server_key *key, u64 q, u64 c)
{
	struct sent_server_request *s;
	void *ring;

	if (!key || !CONF(sent_ops))
		return 0;
	ring = ring_here();
	s = ring ? bpf_ringbuf_reserve(ring, sizeof(*s), 0) : NULL;
	if (!s) {
		count_lost(LOST_RING);
		return 0;
	}
	s->what = SENT_SERVER_REQUEST;
	s->protocol = key->protocol;
	s->opcode = key->opcode;
	s->dev = key->dev;
	s->xid = 0;
	s->q = s->g = s->d = q;
	s->c = c;
	__builtin_memcpy(s->server, key->server, sizeof(s->server));
	__builtin_memset(s->op, 0, sizeof(s->op));
	sent_submit(s, sizeof(*s));
	return 0;
}

/*
 * FUSE and virtiofs. The daemon answers in one of its threads. This thread wakes the waiting
 * thread. The event of a request's beginning is the moment at which the daemon can read the
 * request.
 */

/* As user programs see it: the opcode follows the length in struct fuse_in_header. */
enum { FUSE_IN_OPCODE = 4, FUSE_READ = 15 };

/* The device number of the request's file system. */
static __always_inline u32 fuse_dev(u64 req)
{
	u64 mount = word_at(req + CONF(at.fuse_mount));

	return word_at(word_at(mount + CONF(at.fuse_conn)) + CONF(at.fuse_dev));
}

static __always_inline int fuse_sent(u64 req)
{
	u32 opcode = word_at(req + CONF(at.fuse_in) + FUSE_IN_OPCODE);
	struct server_request r = { .is_read = opcode == FUSE_READ, .dev = fuse_dev(req) };

	server_request_made(req, &r);
	return 0;
}

enum { ERROR_ABORTED = 103 };

/* Counts @req on file system @dev. The daemon's thread answers it: current, in @turn, or a kernel
 * thread for virtiofs. If the connection is aborted (umount, the file "abort", the daemon's end),
 * its requests fail in the thread that aborts it. A header begins with the length; the answer's has
 * the error next. */
static __always_inline void fuse_count(u64 req, u32 dev, const struct rq_times *times,
				       const struct turn *turn)
{
	u64 in = word_at(req + CONF(at.fuse_in)), out = word_at(req + CONF(at.fuse_out));
	struct task_struct *task = (void *)current_task();
	struct server_key key = { .dev = dev, .opcode = in >> 32, .protocol = SERVER_FUSE };
	struct server_end end = { .sent_bytes = (u32)in, .received_bytes = (u32)out };
	struct server_sums *sums;

	end.failed = out >> 32;
	if ((int)(out >> 32) == -ERROR_ABORTED) {
		key.pid = 0; /* current may be anybody */
	} else if (current_flags() & PF_KTHREAD) {
		__builtin_memcpy(key.server, "virtiofs", sizeof("virtiofs"));
	} else {
		key.pid = current_pid_tgid() >> 32;
		bpf_probe_read_kernel_str(key.server, COMM_LEN,
					  BPF_CORE_READ(task, group_leader)->comm);
	}
	if (CONF(sent_ops))
		server_send(&key, times->q, times->c);
	sums = server_request_done(&key, times, &end);
	if (sums && turn)
		turn_add(sums, turn, times);
}

/* The daemon's thread, current, answers @req. If its beginning was not seen, the waiting thread has
 * slept for the answer all the time. */
static __always_inline int fuse_answered(u64 req, bool level_known)
{
	struct server_request *r = server_request_noted(req);
	struct rq_times times = { .q = 1, .g = 1, .d = 1 };
	struct turn *turn = turn_ends(req, r ? r->d : 0);

	if (r) {
		times.q = r->q;
		times.g = r->g;
		times.d = r->d;
	}
	times.c = bpf_ktime_get_ns();
	server_announce(r, &times, times.c, level_known);
	if (r && server_request_counts(r))
		fuse_count(req, r->dev, &times, turn);
	bpf_map_delete_elem(&server_requests, &req);
	return 0;
}

/*
 * 9p and SMB. A thread makes a request, and its events tell of the beginning and the end. So a
 * sleep in between is for the server, but for those whose cause is known. The answer to a request
 * that nobody waits for comes to another thread (cifsd): this is a completion. Neither slots nor
 * the sending have events, so all the time of a request is the server's.
 */

/* Current makes the request @req. */
static __always_inline int server_asked(u64 req, bool is_read)
{
	struct task_state *t = current_lookup();
	struct server_request r = { .is_read = is_read };

	server_request_made(req, &r);
	if (t && t->op.stage) {
		op_asked_server(&t->op);
		t->op.submitted |= SUBMITTED_ASKED;
	}
	return 0;
}

/* Current has the answer to its request. */
static __always_inline void server_told(void)
{
	struct task_state *t = current_lookup();

	if (t && t->op.stage)
		t->op.submitted &= ~SUBMITTED_ASKED;
}

/* The answer to the request @req, whose row has @key but for what was noted of the server. */
static __always_inline int server_answered(u64 req, struct server_key *key, bool failed,
					   bool level_known)
{
	struct server_request *r = server_request_noted(req);
	struct server_end end = { .failed = failed };
	struct rq_times times = {};

	if (!r)
		return 0;
	times.q = r->q;
	times.g = r->g;
	times.d = r->d;
	times.c = bpf_ktime_get_ns();
	if (r->task == current_task())
		server_told();
	else
		server_announce(r, &times, times.c, level_known);
	if (server_request_counts(r)) {
		if (key->protocol == SERVER_SMB)
			__builtin_memcpy(key->server, r->server, SERVER_LEN);
		if (CONF(sent_ops))
			server_send(key, times.q, times.c);
		server_request_done(key, &times, &end);
	}
	bpf_map_delete_elem(&server_requests, &req);
	return 0;
}

/* The number of a 9p request: no two clients differ in the upper bits of their addresses alone. */
static __always_inline u64 p9_number(u64 client, u64 tag)
{
	return client ^ (tag & 0xffff) << 48;
}

/* The name of the virtio device of @client: the source of its mount. Other transports note no
 * name. */
static __always_inline void p9_server(char ret[SERVER_LEN], u64 client)
{
	u64 module = word_at(client + CONF(at.p9_module));
	u64 name = word_at(word_at(module + CONF(at.p9_name)));
	u64 device = word_at(client + CONF(at.p9_trans));

	/* seven bytes: "virtio", and its end */
	if ((name & 0xffffffffffffff) == 0x6f6974726976 && CONF(at.p9_tag))
		bpf_probe_read_kernel_str(ret, SERVER_LEN,
					  (void *)word_at(device + CONF(at.p9_tag)));
}

/* @client has the answer to its message of @type. */
static __always_inline int p9_answered(u64 client, u64 type, u64 tag, s64 err, bool level_known)
{
	struct server_key key = { .protocol = SERVER_9P, .opcode = (u8)type };

	if (CONF(servers))
		p9_server(key.server, client);
	return server_answered(p9_number(client, tag), &key, err < 0, level_known);
}

/* The number of an SMB request: the answer has the session's id and the request's, too. */
static __always_inline u64 smb_number(u64 session, u64 mid)
{
	return session ^ mid * HASH_FACTOR;
}

/* @rqst is ready to be sent to @server, whose name is noted. Its parts begin with the header. */
static __always_inline int smb_setup(u64 server, u64 rqst)
{
	enum { MESSAGE_ID = 24, SESSION_ID = 40 }; /* of a header of SMB2 */
	u64 header = word_at(word_at(rqst + CONF(at.smb_iov)));
	u64 req = smb_number(word_at(header + SESSION_ID), word_at(header + MESSAGE_ID));
	struct server_request *r = server_request_noted(req);

	if (r)
		bpf_probe_read_kernel_str(r->server, SERVER_LEN,
					  (void *)word_at(server + CONF(at.smb_host)));
	return 0;
}

/* The answer to @command, with @status. */
static __always_inline int smb_answered(const u64 *ctx, u32 status, bool level_known)
{
	enum { FAILED = 3, END_OF_FILE = 0xc0000011, MORE_PROCESSING_REQUIRED = 0xc0000016 };
	struct server_key key = { .protocol = SERVER_SMB, .opcode = (u16)ctx[2] };
	bool failed = status >> 30 == FAILED && status != END_OF_FILE &&
		      status != MORE_PROCESSING_REQUIRED;

	return server_answered(smb_number(ctx[1], ctx[3]), &key, failed, level_known);
}

/*
 * NFS. A worker (xprtiod) or a softirq finds the task of an answer and wakes its thread, or another
 * worker (rpciod). The latter completes the task. Here @task is a typed pointer: its members are
 * read without a BPF helper, saving a hundred instructions each. The verifier (since 6.12) takes it
 * for NULL, as any argument of a tracepoint of a module, until it is compared.
 */

/* A member, whose offset is conf.at.@member, of what the typed pointer @p points to. Returns 0 if
 * @p is NULL, or the kernel has no such member. */
#define MEMBER(type, p, member)                                                                    \
	({                                                                                         \
		u64 offset_ = CONF(at.member);                                                     \
		offset_ ? TYPED_READ(type, p, offset_) : 0;                                        \
	})

/* Where the kernel has the name of @task's procedure. */
static __always_inline u64 rpc_op_at(u64 task)
{
	return MEMBER(u64, MEMBER(u64, task, rpc_msg), rpc_name);
}

/* Where the kernel has the address of @task's server, as text. */
static __always_inline u64 rpc_server_at(u64 task)
{
	return MEMBER(u64, MEMBER(u64, task, rpc_xprt), rpc_address);
}

/* When the kernel made @task, or 0 if the kernel does not tell. */
static __always_inline u64 rpc_made(u64 task)
{
	return MEMBER(u64, task, rpc_start);
}

/* Copies the text at @at; all bytes after its end are 0, as keys of rows need them. */
#define TEXT_COPY(ret, at)                                                                         \
	do {                                                                                       \
		__builtin_memset(ret, 0, sizeof(ret));                                             \
		bpf_probe_read_kernel_str(ret, sizeof(ret), (void *)(at));                         \
	} while (0)

/* The procedure's name is "READ", or begins with "READ_PLU" (of 4.2). */
static __always_inline bool op_reads(const char op[SERVER_OP_LEN])
{
	u64 name;

	__builtin_memcpy(&name, op, sizeof(name));
	return name == 0x44414552 || name == 0x554c505f44414552;
}

/* A transport of SunRPC was made, or may have got another address. */
static __always_inline int transports_change(void)
{
	atomic_add(&live.transports, 1);
	return 0;
}

/* Notes in @r the names that the kernel has at @op_at and @server_at. */
GLOBAL int rpc_names_read(struct server_request *r, u64 op_at, u64 server_at)
{
	u32 transports = live.transports;
	bool known;

	if (!r)
		return 0;
	known = CONF(transports_told) && r->transports == transports;
	if (!known || r->op_at != op_at) {
		r->op_at = op_at;
		r->slot = 0;
		TEXT_COPY(r->op, op_at);
		r->is_read = op_reads(r->op);
	}
	if (CONF(servers) && (!known || r->server_at != server_at)) {
		r->server_at = server_at;
		r->slot = 0;
		TEXT_COPY(r->server, server_at);
	}
	r->transports = transports;
	return 0;
}

/* Notes in @r, the place of @task, its server and procedure. A place keeps the names for the next
 * request there. They are read again if the kernel has them at another address, or if a transport
 * was made since: a text of the former transport, or of its module, may have stood at this
 * address. */
static __always_inline void rpc_names_note(struct server_request *r, u64 task)
{
	u64 op_at = number(rpc_op_at(task));
	u64 server_at = CONF(servers) ? number(rpc_server_at(task)) : 0;

	if (!CONF(transports_told) || r->transports != live.transports || r->op_at != op_at ||
	    r->server_at != server_at)
		rpc_names_read(r, op_at, server_at);
}

/* A place for a note of the request @req, or NULL if there is no room. The request may have a note
 * already. */
static __always_inline struct server_request *rpc_place(u64 req)
{
	struct server_request *r = bpf_map_lookup_elem(&server_requests, &req);

	if (r)
		return r;
	if (bpf_map_update_elem(&server_requests, &req, zeroes, BPF_NOEXIST)) {
		count_lost(LOST_MAP_FULL);
		return NULL;
	}
	return bpf_map_lookup_elem(&server_requests, &req);
}

/* The request noted in @r is over. Its place is kept. */
static __always_inline void rpc_forget(struct server_request *r)
{
	r->task = 0;
}

static __always_inline int rpc_begins(u64 task)
{
	struct server_request *r = task ? rpc_place(number(task)) : NULL;
	u64 made;

	if (!r)
		return 0;
	r->task = 0; /* it may be of a request whose end was missed */
	barrier();
	rpc_names_note(r, task);
	made = rpc_made(task);
	server_request_fill(r, made ? made : bpf_ktime_get_ns());
	if (r->is_read)
		server_read();
	return 0;
}

/* Whether a worker goes on with @task, not the thread that made it. */
static __always_inline bool rpc_is_async(u64 task)
{
	enum { RPC_TASK_ASYNC = 1 };

	return MEMBER(u16, task, rpc_flags) & RPC_TASK_ASYNC;
}

/* @task waited for a slot of the session, or of the connection, in @queue. The wait ends with the
 * slot, @rqst. */
static __always_inline bool rpc_had_no_slot(u64 task, u64 queue, u64 rqst)
{
	return !rqst || queue == number(MEMBER(u64, task, rpc_xprt)) + CONF(at.rpc_backlog);
}

/* A worker goes on with a task whose answer came @rtt ns after the task was sent at @sent. The
 * worker is woken. rpc_done() will tell the thread, so the mark needs no note. */
static __always_inline void rpc_answered(u64 sent, u64 rtt, bool level_known)
{
	struct rq_times times = { .q = sent, .g = sent, .d = sent, .c = sent + rtt };

	server_announce(NULL, &times, times.c, level_known);
}

/* @task waited in @queue for something that has come: the answer, if one was received, else a
 * timeout. After a timeout, @task is sent again. Before @task is sent, it waits for a slot; with a
 * slot, for the connection. r->d is r->q until a timeout, then the time at which @task was sent
 * first. Before the answer, no thread is woken for a task with which a worker goes on: current may
 * be in the middle of the end of another task, whose mark stays. */
static __always_inline int rpc_woken(u64 task, u64 queue, bool level_known)
{
	u64 rqst, sent, now;
	struct rq_times times = {};
	struct server_request *r;
	bool received, is_async;

	if (!task)
		return 0;
	rqst = MEMBER(u64, task, rpc_rqst);
	sent = rqst ? MEMBER(u64, rqst, rpc_sent) : 0;
	received = sent && MEMBER(u32, rqst, rpc_received);
	is_async = rpc_is_async(task);
	if (received && is_async) {
		rpc_answered(sent, MEMBER(u64, rqst, rpc_rtt), level_known);
		return 0;
	}
	now = received ? sent + MEMBER(u64, rqst, rpc_rtt) : bpf_ktime_get_ns();
	r = server_request_noted(number(task));
	if (r && rpc_had_no_slot(task, queue, rqst))
		r->g = now;
	if (!sent && !r)
		return 0;
	times.d = sent ? sent : now;
	times.c = now;
	if (!received && sent && r && r->d == r->q)
		r->d = sent;
	if (is_async)
		return 0;
	if (sent && r && r->d != r->q)
		times.d = r->d;
	times.q = r ? r->q : times.d;
	times.g = r ? r->g : times.d;
	server_announce(r, &times, now, level_known);
	return 0;
}

/* Sends @task as a record; @r has its names. */
static __always_inline void rpc_send(u64 task, const struct server_request *r,
				     const struct rq_times *times)
{
	u32 xid = MEMBER(u32, MEMBER(u64, task, rpc_rqst), rpc_xid);
	void *ring = ring_here();
	struct sent_server_request *s = ring ? bpf_ringbuf_reserve(ring, sizeof(*s), 0) : NULL;

	if (!s) {
		count_lost(LOST_RING);
		return;
	}
	s->what = SENT_SERVER_REQUEST;
	s->protocol = SERVER_NFS;
	s->opcode = 0;
	s->dev = 0;
	s->xid = CONF(at.rpc_xid) ? 1ULL + __builtin_bswap32(xid) : 0;
	s->q = times->q;
	s->g = times->g;
	s->d = times->d;
	s->c = times->c;
	__builtin_memcpy(s->server, r->server, sizeof(s->server));
	__builtin_memcpy(s->op, r->op, sizeof(s->op));
	sent_submit(s, sizeof(*s));
}

/* Word @i of the names in @p, a struct server_request or server_slot. */
enum { NAME_WORDS = (SERVER_LEN + SERVER_OP_LEN) / 8 };
#define NAME_WORD(p, i)                                                                            \
	((i) < SERVER_LEN / 8 ? ((const u64 *)(p)->server)[i]                                      \
			      : ((const u64 *)(p)->op)[(i)-SERVER_LEN / 8])

/* A number of the names in @r, never 0. */
static __always_inline u64 name_hash(const struct server_request *r)
{
	u64 hash = 0;

#pragma clang loop unroll(full)
	for (u32 i = 0; i < NAME_WORDS; i++)
		hash = (hash ^ hash >> 32 ^ NAME_WORD(r, i)) * NAME_FACTOR;
	return hash | 1;
}

/* Whether @s is the slot for the names in @r, whose number is @hash. Another CPU may be writing the
 * names: what is there so far has another number. */
static __always_inline bool server_slot_is_for(const struct server_slot *s,
					       const struct server_request *r, u64 hash)
{
	u64 differs = s->hash ^ hash;

#pragma clang loop unroll(full)
	for (u32 i = 0; i < NAME_WORDS; i++)
		differs |= NAME_WORD(s, i) ^ NAME_WORD(r, i);
	return !differs;
}

/* Finds the slot for the names in @r, or takes a free one: its number, + 1. SERVER_SLOTS + 1: no
 * slot is free. Two CPUs that meet a name for the first time may give it two slots: user space adds
 * both up. */
GLOBAL u32 server_slot_find(const struct server_request *r)
{
	u32 slot, claim;
	struct server_slot *s;
	u64 hash;

	if (!r || !CONF(servers))
		return SERVER_SLOTS + 1;
	hash = name_hash(r);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < SLOT_SEARCH; i++) {
		slot = ((hash >> 32) + i) % SERVER_SLOTS;
		s = bpf_map_lookup_elem(&server_slots, &slot);
		if (!s)
			break;
		if (server_slot_is_for(s, r, hash))
			return slot + 1;
		claim = CLAIM_SERVER | slot;
		if (s->hash || bpf_map_update_elem(&slots_taken, &claim, &claim, BPF_NOEXIST))
			continue;
		__builtin_memcpy(s->server, r->server, sizeof(s->server));
		__builtin_memcpy(s->op, r->op, sizeof(s->op));
		barrier();
		s->hash = hash;
		return slot + 1;
	}
	return SERVER_SLOTS + 1;
}

/* The cell of the row for the names in @r, or NULL if the row is in the hash. */
static __always_inline struct server_cell *rpc_cell(struct server_request *r)
{
	struct server_slot *s;
	u32 slot;

	if (!r->slot)
		r->slot = server_slot_find(r);
	slot = r->slot - 1;
	s = bpf_map_lookup_elem(&server_slots, &slot);
	return s ? &s->epochs[live.epoch & 1] : NULL;
}

/* Counts @task, as the kernel does for /proc/self/mountstats. @r: its note, or its place, if there
 * is no note. The names may have changed since the beginning. */
static __always_inline void rpc_count(u64 task, struct server_request *r,
				      const struct rq_times *times)
{
	u64 rqst = MEMBER(u64, task, rpc_rqst);
	u32 transmits = MEMBER(u32, rqst, rpc_transmits);
	struct server_key key;
	struct server_cell *cell;
	struct server_end end = {
		.sent_bytes = MEMBER(u32, rqst, rpc_sent_bytes),
		.received_bytes = MEMBER(u32, rqst, rpc_received),
		.resent = transmits > 1 ? transmits - 1 : 0,
		.failed = (int)MEMBER(u32, task, rpc_status) < 0,
	};

	rpc_names_note(r, task);
	if (CONF(sent_ops))
		rpc_send(task, r, times);
	cell = rpc_cell(r);
	if (cell) {
		atomic_add(&cell->hist[hist_bucket(times->c - times->d)], 1);
		server_sums_add(&cell->sums, times, &end);
		return;
	}
	__builtin_memset(&key, 0, sizeof(key));
	__builtin_memcpy(key.server, r->server, sizeof(key.server));
	__builtin_memcpy(key.op, r->op, sizeof(key.op));
	server_request_done(&key, times, &end);
}

/* @task is done, as its statistics say: it began @execute ns ago, was sent @backlog ns later, and
 * was answered after another @rtt ns (0: never). Its waiters are woken next. */
static __always_inline int rpc_done(u64 task, u64 backlog, u64 rtt, u64 execute, bool level_known)
{
	struct rq_times times = {};
	struct server_request *r;
	u64 made, now;
	bool counts;

	if (!task)
		return 0;
	r = server_request_noted(number(task));
	made = rpc_made(task);
	now = made ? made + execute : bpf_ktime_get_ns();
	times.q = now - execute;
	times.d = times.q + backlog;
	/* the kernel means the last time at which it was sent */
	if (r && r->d != r->q && r->d < times.d)
		times.d = r->d;
	times.g = r && r->g > times.q && r->g < times.d ? r->g : times.q;
	times.c = rtt ? times.q + backlog + rtt : now;
	server_announce(r, &times, now, level_known);
	counts = server_request_counts(r);
	if (!r && counts)
		r = rpc_place(number(task));
	if (r && counts)
		rpc_count(task, r, &times);
	if (r)
		rpc_forget(r);
	return 0;
}

/* @task ends. Without a slot it was never sent, as when its thread was killed: then no statistics
 * follow. */
static __always_inline int rpc_ends(u64 task)
{
	struct server_request *r;

	if (!task || MEMBER(u64, task, rpc_rqst))
		return 0;
	r = server_request_noted(number(task));
	if (r)
		rpc_forget(r);
	return 0;
}

#endif
