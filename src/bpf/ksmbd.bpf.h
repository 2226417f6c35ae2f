/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksmbd.bpf.h - a message that the kernel's SMB server (ksmbd) serves, as an operation of the
 * worker that serves the message. The operation lasts as long as handle_ksmbd_work(): the message
 * has been received, and is decrypted, checked and executed; then the answer is sent.
 *
 * A client may send several commands in one message. They are one operation. It has the command and
 * the error of the first, the first file that any of them looks up, and the bytes of all.
 *
 * The connection may go with the end of its last message, so the client is noted at the beginning.
 * Command and status are read before the answer is encrypted, and after the message was decrypted.
 */
#ifndef IOSTRATA_KSMBD_BPF_H
#define IOSTRATA_KSMBD_BPF_H

#include "served.bpf.h"

/* The status of a message without an answer: the message cannot be decrypted, or there is no
 * memory. No status of NT has this value. */
#define SMB_UNANSWERED ~0U

/* The operation of current if this is a message that ksmbd serves, or NULL if it is none. */
static __always_inline struct op *op_of_ksmbd(void)
{
	struct op *op = op_served();

	return op && op->call & CALL_SMB ? op : NULL;
}

/* Notes the client of the struct ksmbd_conn at @connection. Some kernels (7.2) leave its struct
 * sockaddr_storage empty, but set a union of both kinds of address: one of IPv4 leaves the other 12
 * bytes 0, and no client has such an address of IPv6. */
static __always_inline void ksmbd_note_client(struct task_state *t, u64 connection)
{
	u64 address[2] = {};

	t->client[0] = t->client[1] = 0;
	if (CONF(at.ksmbd_client))
		served_note_client(t, connection + CONF(at.ksmbd_client));
	if (t->client[0] | t->client[1] || !CONF(at.ksmbd_address))
		return;
	bpf_probe_read_kernel(address, sizeof(address),
			      (void *)(connection + CONF(at.ksmbd_address)));
	if (address[0] >> 32 | address[1]) {
		t->client[0] = address[0];
		t->client[1] = address[1];
	} else if (address[0]) {
		t->client[1] = address[0] << 32 | 0xffff0000;
	}
}

/* Current, a worker, begins to process the message with the struct work_struct at @work. */
static __always_inline int ksmbd_begins(u64 work)
{
	struct task_state *t = served_start(CALL_SERVED | CALL_SMB | SMB_COMMANDS, SMB_UNANSWERED);
	u64 message = work - CONF(at.ksmbd_work);

	if (t && CONF(by) == BY_CLIENT)
		ksmbd_note_client(t, read_u64(message + CONF(at.ksmbd_conn)));
	return 0;
}

/* Current looks up the struct ksmbd_file at @open, a descriptor of the client, or 0 if there is
 * none. */
static __always_inline int ksmbd_looked_up(u64 open)
{
	if (open && op_of_ksmbd())
		served_on((struct file *)read_u64(open + CONF(at.ksmbd_file)));
	return 0;
}

/* Current has read or written @bytes for its message; below 0: an error. */
static __always_inline int ksmbd_moved(s64 bytes)
{
	struct op *op = op_of_ksmbd();

	if (op && bytes > 0)
		op->len += bytes;
	return 0;
}

/* The first 16 bytes of a header of SMB2 ([MS-SMB2], 2.2.1). It is little-endian. */
struct smb_header {
	u32 protocol;
	u32 credits;
	u32 status;
	u16 command, credits_granted;
};

/* Reads the first header of the message in @buffer, behind its length of 4 bytes. Returns false if
 * the message is not of SMB2. */
static __always_inline bool smb_header_read(struct smb_header *ret, u64 buffer)
{
	enum { SMB2 = 0x424d53fe };

	__builtin_memset(ret, 0, sizeof(*ret));
	bpf_probe_read_kernel(ret, sizeof(*ret), (void *)(buffer + 4));
	return ret->protocol == SMB2;
}

/* The answer to current's message, at @message, is complete. A negotiation may begin with SMB1: its
 * headers differ. */
static __always_inline int ksmbd_answers(u64 message)
{
	struct op *op = op_of_ksmbd();
	struct smb_header header;

	if (!op)
		return 0;
	if (smb_header_read(&header, read_u64(message + CONF(at.ksmbd_request))) &&
	    header.command < SMB_COMMANDS)
		op->call = CALL_SERVED | CALL_SMB | header.command;
	op->fd = smb_header_read(&header, read_u64(message + CONF(at.ksmbd_response)))
			 ? header.status
			 : 0;
	return 0;
}

/* The error, below 0, of an answer with @status ([MS-ERREF], 2.3), or 0 for success. The end of a
 * file and the next step of a logon are no errors, as for the client. */
static __always_inline long ksmbd_error(u32 status)
{
	enum { SEVERITY_ERROR = 3 };

	if (status >> 30 != SEVERITY_ERROR)
		return 0;
	switch (status) {
	case 0xc0000011: /* the end of the file */
	case 0xc0000016: /* more processing is required */
		return 0;
	case 0xc000000f: /* no such file */
	case 0xc0000034: /* no such name */
	case 0xc000003a: /* no such path */
		return -2;
	case 0xc0000008: /* invalid handle */
	case 0xc0000128: /* the file is closed */
		return -9;
	case 0xc0000017: /* no memory */
	case 0xc000009a: /* no resources */
		return -12;
	case 0xc0000022: /* access denied */
	case 0xc0000054: /* a lock forbids it */
	case 0xc0000055: /* the lock is not granted */
		return -13;
	case 0xc0000043: /* sharing violation */
		return -16;
	case 0xc0000035: /* the name is there already */
		return -17;
	case 0xc0000103: /* no directory */
		return -20;
	case 0xc00000ba: /* a directory */
		return -21;
	case 0xc000000d: /* invalid parameter */
		return -22;
	case 0xc000007f: /* the disk is full */
		return -28;
	case 0xc0000101: /* the directory is not empty */
		return -39;
	case 0xc0000002: /* not implemented */
	case 0xc0000010: /* invalid request for this device */
	case 0xc00000bb: /* not supported */
		return -95;
	case 0xc0000120: /* cancelled */
		return -125;
	}
	return -71; /* EPROTO: only SMB has such an error */
}

/* Current is done with a message. */
static __always_inline int ksmbd_ends(void)
{
	struct task_state *t = current_lookup();

	if (!t || !t->op.stage || t->op.kind != OP_SERVED) {
		if (current_wanted(bpf_get_current_pid_tgid()))
			count_lost(LOST_UNMATCHED_END);
		return 0;
	}
	if (file_filtered() && !t->op.file.file) {
		t->op.stage = 0;
		return 0;
	}
	served_finish(t, ksmbd_error(t->op.fd), ~0ULL);
	return 0;
}

#endif
