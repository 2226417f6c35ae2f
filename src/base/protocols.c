// SPDX-License-Identifier: GPL-2.0-only
/* protocols.c - see protocols.h. */
#include "base/protocols.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Numbers of enum fuse_opcode. They are never changed. */
static const char *const fuse_ops[] = {
	[1] = "LOOKUP",        [3] = "GETATTR",        [4] = "SETATTR",
	[5] = "READLINK",      [6] = "SYMLINK",        [8] = "MKNOD",
	[9] = "MKDIR",         [10] = "UNLINK",        [11] = "RMDIR",
	[12] = "RENAME",       [13] = "LINK",          [14] = "OPEN",
	[15] = "READ",         [16] = "WRITE",         [17] = "STATFS",
	[18] = "RELEASE",      [20] = "FSYNC",         [21] = "SETXATTR",
	[22] = "GETXATTR",     [23] = "LISTXATTR",     [24] = "REMOVEXATTR",
	[25] = "FLUSH",        [26] = "INIT",          [27] = "OPENDIR",
	[28] = "READDIR",      [29] = "RELEASEDIR",    [30] = "FSYNCDIR",
	[31] = "GETLK",        [32] = "SETLK",         [33] = "SETLKW",
	[34] = "ACCESS",       [35] = "CREATE",        [37] = "BMAP",
	[38] = "DESTROY",      [39] = "IOCTL",         [40] = "POLL",
	[41] = "NOTIFY_REPLY", [43] = "FALLOCATE",     [44] = "READDIRPLUS",
	[45] = "RENAME2",      [46] = "LSEEK",         [47] = "COPY_FILE_RANGE",
	[48] = "SETUPMAPPING", [49] = "REMOVEMAPPING", [50] = "SYNCFS",
	[51] = "TMPFILE",      [52] = "STATX",
};

/* Numbers of messages in include/net/9p/9p.h. They are never changed. */
static const char *const p9_ops[] = {
	[8] = "Tstatfs",   [12] = "Tlopen",     [14] = "Tlcreate",     [16] = "Tsymlink",
	[18] = "Tmknod",   [20] = "Trename",    [22] = "Treadlink",    [24] = "Tgetattr",
	[26] = "Tsetattr", [30] = "Txattrwalk", [32] = "Txattrcreate", [40] = "Treaddir",
	[50] = "Tfsync",   [52] = "Tlock",      [54] = "Tgetlock",     [70] = "Tlink",
	[72] = "Tmkdir",   [74] = "Trenameat",  [76] = "Tunlinkat",    [100] = "Tversion",
	[102] = "Tauth",   [104] = "Tattach",   [108] = "Tflush",      [110] = "Twalk",
	[112] = "Topen",   [114] = "Tcreate",   [116] = "Tread",       [118] = "Twrite",
	[120] = "Tclunk",  [122] = "Tremove",   [124] = "Tstat",       [126] = "Twstat",
};

/* The commands of the specification [MS-SMB2], 2.2.1: as a client asks for them, and as the calls
 * of served operations. */
#define SMB_COMMANDS_EACH(X)                                                                       \
	X("NEGOTIATE", "smb_negotiate")                                                            \
	X("SESSION_SETUP", "smb_session_setup")                                                    \
	X("LOGOFF", "smb_logoff")                                                                  \
	X("TREE_CONNECT", "smb_tree_connect")                                                      \
	X("TREE_DISCONNECT", "smb_tree_disconnect")                                                \
	X("CREATE", "smb_create")                                                                  \
	X("CLOSE", "smb_close")                                                                    \
	X("FLUSH", "smb_flush")                                                                    \
	X("READ", "smb_read")                                                                      \
	X("WRITE", "smb_write")                                                                    \
	X("LOCK", "smb_lock")                                                                      \
	X("IOCTL", "smb_ioctl")                                                                    \
	X("CANCEL", "smb_cancel")                                                                  \
	X("ECHO", "smb_echo")                                                                      \
	X("QUERY_DIRECTORY", "smb_query_directory")                                                \
	X("CHANGE_NOTIFY", "smb_change_notify")                                                    \
	X("QUERY_INFO", "smb_query_info")                                                          \
	X("SET_INFO", "smb_set_info")                                                              \
	X("OPLOCK_BREAK", "smb_oplock_break")

#define ASKED(asked, served)  asked,
#define SERVED(asked, served) served,

static const char *const smb_ops[SMB_COMMANDS] = { SMB_COMMANDS_EACH(ASKED) };
static const char *const smb_served[SMB_COMMANDS] = { SMB_COMMANDS_EACH(SERVED) };

#define OPS(table) .ops = table, .n_ops = sizeof(table) / sizeof(*(table))

#define TITLE(text)                                                                                \
	.title = text, .folio_lock = text " server (folio lock)", .daemon = text " daemon",        \
	.server = text " server"

const struct protocol protocols[] = {
	[SERVER_NFS] = { .name = "nfs",
			 TITLE("NFS"),
			 .fs = { "nfs", "nfs4" },
			 .module = "sunrpc",
			 .hooks = "tracepoints of SunRPC",
			 .served_hook = "nfsd_dispatch",
			 .has_waits = true,
			 .has_bytes = true },
	[SERVER_FUSE] = { .name = "fuse",
			  TITLE("FUSE"),
			  .fs = { "fuse", "fuseblk", "virtiofs" },
			  .module = "fuse",
			  .hooks = "requests to the daemon, also of virtiofs",
			  .answer_hook = "fuse_dev_do_read",
			  OPS(fuse_ops),
			  .is_by_opcode = true,
			  .has_bytes = true,
			  .mount = MOUNT_BY_DEV },
	[SERVER_9P] = { .name = "9p",
			TITLE("9p"),
			.fs = { "9p" },
			.module = "9pnet",
			.hooks = "tracepoints of the client",
			OPS(p9_ops),
			.mount = MOUNT_BY_SOURCE },
	[SERVER_SMB] = { .name = "smb",
			 TITLE("SMB"),
			 .fs = { "cifs", "smb3" },
			 .module = "cifs",
			 .hooks = "tracepoints of the client",
			 .served_hook = "handle_ksmbd_work",
			 OPS(smb_ops) },
	{ TITLE("Ceph"), .fs = { "ceph" } },
	{ TITLE("AFS"), .fs = { "afs" } },
	{ TITLE("Coda"), .fs = { "coda" } },
	{ TITLE("Lustre"), .fs = { "lustre" } },
	{ TITLE("BeeGFS"), .fs = { "beegfs" } },
	{ TITLE("OrangeFS"), .fs = { "pvfs2" } },
};

const unsigned int protocols_n = sizeof(protocols) / sizeof(*protocols);

const struct protocol *protocol_at(unsigned int protocol)
{
	static const struct protocol unknown = { .name = "?", .title = "?" };

	return protocol < SERVER_PROTOCOLS ? &protocols[protocol] : &unknown;
}

static const char *protocol_name(unsigned int protocol)
{
	return protocols[protocol].name;
}

const struct word_list protocol_words = { protocol_name, .from = 0, .to = SERVER_PROTOCOLS };

unsigned int protocol_named(const char *name)
{
	unsigned int i = 0;

	while (i < SERVER_PROTOCOLS && strcmp(name, protocols[i].name) != 0)
		i++;
	return i;
}

unsigned int protocol_of_fs(const char *fs)
{
	if (!strncmp(fs, "fuse.", 5))
		return SERVER_FUSE;
	for (unsigned int i = 0; i < protocols_n; i++)
		for (const char *const *type = protocols[i].fs; *type; type++)
			if (!strncmp(*type, fs, FS_NAME_LEN))
				return i;
	return protocols_n;
}

bool fs_has_server(const char *fs)
{
	return protocol_of_fs(fs) < protocols_n;
}

bool fs_server_is_traced(const char *fs)
{
	return protocol_of_fs(fs) < SERVER_PROTOCOLS;
}

const char *protocol_op_name(unsigned int protocol, unsigned int opcode)
{
	const struct protocol *p = protocol_at(protocol);

	return opcode < p->n_ops ? p->ops[opcode] : NULL;
}

const char *server_op_name(const struct server_key *key, char buf[SERVER_OP_LEN])
{
	const char *name = protocol_op_name(key->protocol, key->opcode);

	if (key->op[0] || !protocol_at(key->protocol)->ops)
		return key->op;
	if (!name)
		snprintf(buf, SERVER_OP_LEN, "opcode %u", key->opcode);
	return name ? name : buf;
}

const char *served_call_name(unsigned short call)
{
	unsigned int command = call & ~(CALL_SERVED | CALL_SMB);

	if (!(call & CALL_SMB))
		return "nfs_request";
	return command < SMB_COMMANDS ? smb_served[command] : "smb_request";
}
