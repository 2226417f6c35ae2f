/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server.bpf.h - requests of file systems to a server or a daemon: NFS by the events of SunRPC,
 * FUSE and virtiofs by their own. An answer is announced as the completion of a block request is,
 * so wait.bpf.h cuts the sleeps which the answer ends. Nothing here runs for other file systems.
 *
 * The times of such a request: Q the thread made it; G nothing holds it back any more (a slot of
 * the session or of the connection is free); D it is sent; C its answer is there. The time from D
 * to C is the server's.
 */
#ifndef IOSTRATA_SERVER_BPF_H
#define IOSTRATA_SERVER_BPF_H

#include "completion.bpf.h"
#include "task.bpf.h"

static __always_inline u64 word_at(u64 address)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* Current makes the request @req. */
static __always_inline void server_request_made(u64 req, bool is_read)
{
	struct task_state *t = current_lookup();
	u64 now = bpf_ktime_get_ns();
	struct server_request r = {
		.task = current_task(),
		.q = now,
		.g = now,
		.d = now,
		.tid = bpf_get_current_pid_tgid(),
		.is_read = is_read,
	};

	if (bpf_map_update_elem(&server_requests, &req, &r, BPF_ANY))
		count_lost(LOST_MAP_FULL);
	if (is_read && t && t->op.stage)
		op_reads_from_server(&t->op);
}

/* The answer to a request came, or the request may go on, as @times says. @r: the request; NULL: it
 * was made before tracing began. */
static __always_inline void server_announce(const struct server_request *r, struct rq_times *times,
					    bool level_known)
{
	u64 until = bpf_ktime_get_ns() + REQUEST_END_NS;

	times->held = times->q;
	times->server = 1;
	completion_announce(times, r ? r->tid : 0, r && r->is_read, until, level_known);
}

/*
 * FUSE and virtiofs. The daemon answers in a thread of its own, which wakes the waiting thread. The
 * event of a request's beginning is the moment at which the daemon can read the request.
 */

/* As user programs see it: the opcode follows the length in struct fuse_in_header. */
enum { FUSE_IN_OPCODE = 4, FUSE_READ = 15 };

static __always_inline int fuse_sent(u64 req)
{
	u32 opcode = word_at(req + CONF(fuse_in) + FUSE_IN_OPCODE);

	server_request_made(req, opcode == FUSE_READ);
	return 0;
}

/* The daemon's thread, which is current, answers @req. If its beginning was not seen, the waiting
 * thread has slept for the answer all the time. */
static __always_inline int fuse_answered(u64 req, bool level_known)
{
	struct server_request *r = bpf_map_lookup_elem(&server_requests, &req);
	struct rq_times times = { .q = 1, .g = 1, .d = 1 };

	if (r) {
		times.q = r->q;
		times.g = r->g;
		times.d = r->d;
	}
	times.c = bpf_ktime_get_ns();
	server_announce(r, &times, level_known);
	bpf_map_delete_elem(&server_requests, &req);
	return 0;
}

/*
 * NFS. A worker (xprtiod) or a softirq finds the task of an answer and wakes its thread, or another
 * worker (rpciod), which completes the task.
 */

/* The name of the task's procedure begins with "READ", and ends there. */
static __always_inline bool rpc_reads(u64 task)
{
	u64 name = word_at(word_at(word_at(task + CONF(rpc_msg)) + CONF(rpc_name)));

	return (name & 0xffffffffff) == 0x44414552;
}

static __always_inline int rpc_begins(u64 task)
{
	server_request_made(task, rpc_reads(task));
	return 0;
}

/* Something for which @task waited has come. The answer, if one was received. Before @task is sent,
 * it waits for a slot; with a slot, for the connection. */
static __always_inline int rpc_woken(u64 task, bool level_known)
{
	struct server_request *r = bpf_map_lookup_elem(&server_requests, &task);
	u64 rqst = word_at(task + CONF(rpc_rqst)), sent, now = bpf_ktime_get_ns();
	struct rq_times times = {};

	if (r && !rqst)
		r->g = now;
	sent = rqst ? word_at(rqst + CONF(rpc_sent)) : 0;
	if (sent && !(u32)word_at(rqst + CONF(rpc_received)))
		return 0; /* it will be sent again */
	if (!sent && !r)
		return 0;
	times.d = sent ? sent : now;
	times.c = sent ? sent + word_at(rqst + CONF(rpc_rtt)) : now;
	times.q = r ? r->q : times.d;
	times.g = r ? r->g : times.d;
	server_announce(r, &times, level_known);
	return 0;
}

/* @task is done, as its statistics say: it was sent @backlog ns after its beginning, which was
 * @execute ns ago, and was answered after @rtt ns (0: never). Its waiters are woken next. */
static __always_inline int rpc_done(u64 task, u64 backlog, u64 rtt, u64 execute, bool level_known)
{
	struct server_request *r = bpf_map_lookup_elem(&server_requests, &task);
	u64 now = bpf_ktime_get_ns();
	struct rq_times times = { .q = now - execute };

	times.d = times.q + backlog;
	times.g = r && r->g > times.q && r->g < times.d ? r->g : times.q;
	times.c = rtt ? times.d + rtt : now;
	server_announce(r, &times, level_known);
	bpf_map_delete_elem(&server_requests, &task);
	return 0;
}

#endif
