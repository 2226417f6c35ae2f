/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * protocols.h - one table of the protocols by which file systems ask file servers and daemons. The
 * row of each has what user space has to know of it. docs/ADD.md says what else a new protocol
 * needs.
 */
#ifndef IOSTRATA_BASE_PROTOCOLS_H
#define IOSTRATA_BASE_PROTOCOLS_H

#include <stdbool.h>

#include "base/words.h"
#include "cell.h"

/* How the mount of a row's file system is found. */
enum protocol_mount {
	MOUNT_NONE,      /* not at all: one server has many mounts */
	MOUNT_BY_DEV,    /* by server_key.dev */
	MOUNT_BY_SOURCE, /* server_key.server is the source of the mount */
};

struct protocol {
	const char *name;       /* in JSON, in recordings, and as label of metrics */
	const char *title;      /* in text */
	const char *fs[5];      /* types of its file systems; ends with NULL */
	const char *folio_lock; /* what a read waits for, if for the lock of a folio */
	const char *daemon;     /* in text: its daemon, its server */
	const char *server;

	/* The rest is not set for protocols whose requests are not traced. */

	const char *module;      /* kernel module whose hooks tell of requests */
	const char *hooks;       /* what is traced, in words */
	const char *answer_hook; /* hook in daemons of this machine; NULL: none */
	const char *served_hook; /* hook in the kernel's server; NULL: none */
	const char *const *ops;  /* names by opcode; NULL: programs send names */
	unsigned int n_ops;      /* length of ops */
	bool is_by_opcode;       /* its rows have the opcode, not the name */
	bool has_waits;          /* the waits for a slot and for the sending are known */
	bool has_bytes;          /* bytes of requests and answers are known */
	enum protocol_mount mount;
};

/* The rows of enum server_protocol; then, up to protocols_n, those that are not traced. */
extern const struct protocol protocols[];
extern const unsigned int protocols_n;

extern const struct word_list protocol_words; /* their names, of those that are traced */

/* The row of @protocol; one named "?", without figures, for a number out of range. */
const struct protocol *protocol_at(unsigned int protocol);

/* The number of the protocol called @name, or SERVER_PROTOCOLS if there is none. */
unsigned int protocol_named(const char *name);

/* The number in the table of the protocol of file system type @fs: up to FS_NAME_LEN bytes,
 * hostile; also "fuse.sshfs", as mounts have it. protocols_n: it has no server. */
unsigned int protocol_of_fs(const char *fs);

/* Whether files of file system type @fs are on a server, or with a daemon, and not on a block
 * device. What their reads brought from devices is not known here. */
bool fs_has_server(const char *fs);

/* Whether requests to the servers of file system type @fs are traced, if their module is loaded. */
bool fs_server_is_traced(const char *fs);

/* The kind of a request, by its number: Tread, READ. Returns NULL if not known. */
const char *protocol_op_name(unsigned int protocol, unsigned int opcode);

/* The kind of the requests of a row, as the protocol calls it. Up to SERVER_OP_LEN bytes, in @key,
 * in @buf or constant. */
const char *server_op_name(const struct server_key *key, char buf[SERVER_OP_LEN]);

/* Name of a served operation, by its call (CALL_SERVED): of nfsd nfs_request, of ksmbd smb_read. */
const char *served_call_name(unsigned short call);

#endif
