/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * served.bpf.h - a request that the kernel's NFS server (nfsd) serves, as an operation of the
 * thread of nfsd. The operation lasts as long as svc_process() of SunRPC: the request has been
 * received, and is decoded, authenticated and executed; then the reply is sent.
 *
 * Other services of SunRPC (locks, callbacks to a client) pass through svc_process(), too. Only a
 * request that reaches nfsd_dispatch() is an operation. The kernel counts these requests in line
 * "rpc" of /proc/net/rpc/nfsd. A request has the first file that nfsd reads, writes or syncs for
 * it. Bytes are those read and written, as in line "io".
 *
 * Until the operation ends, op.len has its bytes and op.fd the status of its reply. In its record,
 * the length is its xid, by which the client's request is found.
 */
#ifndef IOSTRATA_SERVED_BPF_H
#define IOSTRATA_SERVED_BPF_H

#include "op.bpf.h"

/* Numbers of services (RFC 1813 and 7530; the list of access rights has no RFC). */
enum { NFS_PROGRAM = 100003, NFS_ACL_PROGRAM = 100227 };

/* The operation of current if this is a request that nfsd serves, or NULL if it is none. */
static __always_inline struct op *op_served(void)
{
	struct task_state *t = current_lookup();

	return t && t->op.stage && t->op.kind == OP_SERVED ? &t->op : NULL;
}

/* Current begins an operation served, with @call and @status. Its state, or NULL if it does not
 * pass the filters, or there is no room. */
static __always_inline struct task_state *served_start(u16 call, u32 status)
{
	struct task_state *t = current_passes() ? task_get(current_task()) : NULL;
	struct op *op;

	if (!t)
		return NULL;
	op = &t->op;
	row_clear(&op->file);
	op->call = call;
	op->fd = status;
	op->offset = OFFSET_UNKNOWN;
	op->len = 0;
	op_start(op, OP_SERVED, OP_ACTIVE, bpf_ktime_get_ns());
	return t;
}

/* Current begins to process a request of some service. */
static __always_inline int served_begins(void)
{
	served_start(0, 0);
	return 0;
}

/* The service is nfsd. */
static __always_inline int served_dispatched(void)
{
	struct op *op = op_served();

	if (op)
		op->call = CALL_SERVED;
	return 0;
}

/* Current reads, writes or syncs @file for its request. */
static __always_inline int served_on(struct file *file)
{
	struct op *op = op_served();
	struct open_file f;

	if (!op || op->file.file)
		return 0;
	f = file_look(file, false);
	if (!mode_wanted(f.mode) || !file_learn(&op->file, f, false))
		row_clear(&op->file);
	return 0;
}

/* Current has read or written @bytes for its request. */
static __always_inline int served_moved(u32 bytes)
{
	struct op *op = op_served();

	if (op)
		op->len += bytes;
	return 0;
}

/* The reply to a request of version 4 has @status, in the order of the network. */
static __always_inline int served_status(u32 status)
{
	struct op *op = op_served();

	if (op)
		op->fd = __builtin_bswap32(status);
	return 0;
}

/* The error, below 0, of a reply with @status, or 0 for success. NFS defines numbers where systems
 * differ (RFC 1813, 2.6; RFC 7530, 13.1). */
static __always_inline long served_error(u32 status)
{
	enum { TRY_AGAIN = 10008 };

	switch (status) {
	case 63: /* the name is too long */
		return -36;
	case 66: /* the directory is not empty */
		return -39;
	case 69: /* quota */
		return -122;
	case 70: /* the file is gone */
		return -116;
	case TRY_AGAIN:
		return -11;
	}
	return status < 10000 ? -(long)status : -71; /* EPROTO: only NFS has such an error */
}

/* The status of the reply in @rqst. Results of versions 2 and 3 begin with it; for version 4, an
 * event told it. */
static __always_inline u32 served_result(u64 rqst, const struct op *op)
{
	u64 version = read_u64(rqst + CONF(at.svc_version));

	if ((u32)version > 3)
		return op->fd;
	return __builtin_bswap32(read_u64(read_u64(rqst + CONF(at.svc_result))));
}

/* Notes the client of current, whose struct sockaddr_storage is at @address. An address of IPv4 is
 * mapped to one of IPv6 (RFC 4291, 2.5.5.2). */
static __always_inline void served_note_client(struct task_state *t, u64 address)
{
	enum { FAMILY_4 = 2, FAMILY_6 = 10 }; /* struct sockaddr_in, sockaddr_in6 */
	u16 family = read_u64(address);

	t->client[0] = t->client[1] = 0;
	if (family == FAMILY_4)
		t->client[1] = read_u64(address + 4) << 32 | 0xffff0000;
	else if (family == FAMILY_6)
		bpf_probe_read_kernel(t->client, sizeof(t->client), (void *)(address + 8));
}

/* The number that the client gave the request in @rqst, or ~0 if not known. */
static __always_inline u64 served_xid(u64 rqst)
{
	u64 xid = ~0ULL;

	if (CONF(at.svc_xid))
		xid = __builtin_bswap32(read_u64(rqst + CONF(at.svc_xid)));
	return xid;
}

/* Whether the request in @rqst, of current, was for nfsd. */
static __always_inline bool served_by_nfsd(u64 rqst)
{
	u32 program = read_u64(rqst + CONF(at.svc_program));

	return program == NFS_PROGRAM || program == NFS_ACL_PROGRAM;
}

/* Ends current's operation, whose reply has @error, below 0, or 0. @number: of its request, or ~0
 * if not known. */
static __always_inline void served_finish(struct task_state *t, long error, u64 number)
{
	struct op *op = &t->op;
	long ret;

	op->fd = error; /* what comes from memory, the verifier does not walk once for each value */
	barrier();
	ret = op->fd ? op->fd : (long)op->len;
	op->fd = -1;
	op->len = number;
	op_finish(t, ret, bpf_ktime_get_ns(), 0, CONF(fault_single_writer));
}

/* Current is done with the request in @rqst. */
static __always_inline int served_ends(u64 rqst)
{
	struct task_state *t = current_lookup();
	struct op *op;

	if (!t || !t->op.stage || t->op.kind != OP_SERVED) {
		if (served_by_nfsd(rqst) && current_wanted(bpf_get_current_pid_tgid()))
			count_lost(LOST_UNMATCHED_END);
		return 0;
	}
	op = &t->op;
	if (op->call != CALL_SERVED || (file_filtered() && !op->file.file)) {
		op->stage = 0;
		return 0;
	}
	if (CONF(by) == BY_CLIENT)
		served_note_client(t, rqst + CONF(at.svc_client));
	served_finish(t, served_error(served_result(rqst, op)), served_xid(rqst));
	return 0;
}

#endif
