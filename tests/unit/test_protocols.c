// SPDX-License-Identifier: GPL-2.0-only
/* The table of protocols: its rows are complete, and what names protocols elsewhere agrees with it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/columns.h"
#include "base/protocols.h"
#include "show/columns.h"
#include "trace/plan.h"

static void rows_of_traced_protocols_are_complete(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++) {
		const struct protocol *p = protocol_at(i);

		assert_non_null(p->name);
		assert_non_null(p->title);
		assert_non_null(p->module);
		assert_non_null(p->hooks);
		assert_non_null(p->fs[0]);
		assert_int_equal(protocol_named(p->name), i);
		assert_int_equal(!p->ops, !p->n_ops);
		for (unsigned int op = 0; op < p->n_ops; op++)
			assert_true(!p->ops[op] || strlen(p->ops[op]) < SERVER_OP_LEN);
	}
	assert_int_equal(protocol_named("gopher"), SERVER_PROTOCOLS);
}

/* Without a program in the plan, a protocol has no rows. */
static void each_protocol_has_programs(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++) {
		unsigned int n = 0;

		for (const struct program *row = programs; row < programs + programs_n; row++)
			n += row->module && row->asks & ASK_SERVERS &&
			     !strcmp(row->module, protocol_at(i)->module);
		assert_true(n);
	}
}

static bool is_hook(const char *name)
{
	for (const struct program *row = programs; row < programs + programs_n; row++)
		if (!strcmp(row->target, name))
			return true;
	return false;
}

/* doctor looks for these hooks in the plan. */
static void hooks_of_daemons_and_servers_are_in_the_plan(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++) {
		const struct protocol *p = protocol_at(i);

		assert_true(!p->answer_hook || is_hook(p->answer_hook));
		assert_true(!p->served_hook || is_hook(p->served_hook));
	}
	assert_string_equal(protocol_at(SERVER_FUSE)->answer_hook, "fuse_dev_do_read");
	assert_string_equal(protocol_at(SERVER_NFS)->served_hook, "nfsd_dispatch");
	assert_string_equal(protocol_at(SERVER_SMB)->served_hook, "handle_ksmbd_work");
}

/* The manual lists the protocols: an element of a list ends with a comma, "or" or the text. */
static void the_help_of_the_column_names_all_protocols(void **state)
{
	const struct column *c = server_columns;
	char want[128] = "";

	(void)state;
	while (column_is(c) && (!c->name || strcmp(c->name, "protocol") != 0))
		c++;
	assert_true(column_is(c));
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++) {
		const char *before = !i ? "" : i + 1 < SERVER_PROTOCOLS ? ", " : " or ";

		strcat(strcat(want, before), protocol_at(i)->name);
	}
	assert_string_equal(c->help, want);
}

static void file_systems_have_their_protocol(void **state)
{
	static const struct {
		const char *fs;
		unsigned int protocol;
	} known[] = {
		{ "nfs", SERVER_NFS },       { "nfs4", SERVER_NFS },        { "fuse", SERVER_FUSE },
		{ "fuseblk", SERVER_FUSE },  { "fuse.sshfs", SERVER_FUSE }, { "9p", SERVER_9P },
		{ "virtiofs", SERVER_FUSE }, { "cifs", SERVER_SMB },        { "smb3", SERVER_SMB },
	};
	static const char *const untraced[] = {
		"ceph", "afs", "coda", "lustre", "beegfs", "pvfs2"
	};
	static const char *const none[] = { "",      "ext4", "nfsd",  "nfs44", "fusectl",
					    "fuse4", "cif",  "cifs2", "9" };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		assert_int_equal(protocol_of_fs(known[i].fs), known[i].protocol);
		assert_true(fs_has_server(known[i].fs) && fs_server_is_traced(known[i].fs));
	}
	for (size_t i = 0; i < sizeof(untraced) / sizeof(*untraced); i++)
		assert_true(fs_has_server(untraced[i]) && !fs_server_is_traced(untraced[i]));
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_int_equal(protocol_of_fs(none[i]), protocols_n);
		assert_false(fs_has_server(none[i]) || fs_server_is_traced(none[i]));
	}
}

/* A name from a recording may fill all of its bytes, without an end. */
static void a_file_system_type_may_lack_its_end(void **state)
{
	char fs[FS_NAME_LEN + 8];

	(void)state;
	memset(fs, 'x', sizeof(fs));
	assert_false(fs_has_server(fs));
	memcpy(fs, "nfs4", 5);
	assert_true(fs_has_server(fs));
}

static void what_is_known_of_requests(void **state)
{
	static const bool waits[SERVER_PROTOCOLS] = { [SERVER_NFS] = true };
	static const bool bytes[SERVER_PROTOCOLS] = { [SERVER_NFS] = true, [SERVER_FUSE] = true };

	(void)state;
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++) {
		assert_int_equal(protocol_at(i)->has_waits, waits[i]);
		assert_int_equal(protocol_at(i)->has_bytes, bytes[i]);
	}
	/* one client of NFS or SMB has many mounts of a server */
	assert_int_equal(protocol_at(SERVER_NFS)->mount, MOUNT_NONE);
	assert_int_equal(protocol_at(SERVER_FUSE)->mount, MOUNT_BY_DEV);
	assert_int_equal(protocol_at(SERVER_9P)->mount, MOUNT_BY_SOURCE);
	assert_int_equal(protocol_at(SERVER_SMB)->mount, MOUNT_NONE);
	assert_string_equal(protocol_at(SERVER_PROTOCOLS)->name, "?");
	assert_false(protocol_at(~0U)->has_waits || protocol_at(~0U)->has_bytes);
}

static void kinds_of_requests_have_names(void **state)
{
	struct server_key nfs = { .op = "GETATTR", .protocol = SERVER_NFS };
	struct server_key fuse = { .opcode = 15, .protocol = SERVER_FUSE };
	struct server_key smb = { .opcode = SMB_COMMANDS, .protocol = SERVER_SMB };
	struct server_key p9 = { .op = "Tread", .protocol = SERVER_9P };
	char buf[SERVER_OP_LEN];

	(void)state;
	assert_string_equal(server_op_name(&nfs, buf), "GETATTR");
	assert_string_equal(server_op_name(&fuse, buf), "READ");
	fuse.opcode = 65535;
	assert_string_equal(server_op_name(&fuse, buf), "opcode 65535");
	assert_string_equal(server_op_name(&smb, buf), "opcode 19");
	smb.opcode = 8;
	assert_string_equal(server_op_name(&smb, buf), "READ");
	assert_string_equal(server_op_name(&p9, buf), "Tread"); /* as recordings have it */
	nfs.op[0] = '\0';
	assert_string_equal(server_op_name(&nfs, buf), "");
	assert_string_equal(protocol_op_name(SERVER_9P, 116), "Tread");
	assert_null(protocol_op_name(SERVER_9P, 117));
	assert_null(protocol_op_name(SERVER_9P, 255));
	assert_null(protocol_op_name(SERVER_NFS, 0));
	assert_null(protocol_op_name(SERVER_PROTOCOLS, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_traced_protocols_are_complete),
		cmocka_unit_test(each_protocol_has_programs),
		cmocka_unit_test(hooks_of_daemons_and_servers_are_in_the_plan),
		cmocka_unit_test(the_help_of_the_column_names_all_protocols),
		cmocka_unit_test(file_systems_have_their_protocol),
		cmocka_unit_test(a_file_system_type_may_lack_its_end),
		cmocka_unit_test(what_is_known_of_requests),
		cmocka_unit_test(kinds_of_requests_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
