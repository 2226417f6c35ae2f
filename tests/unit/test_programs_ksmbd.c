// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages which ksmbd serves, by the programs of src/bpf in a machine that is made up: which
 * command an operation has, on which file, for which client, and for how long.
 */
#include <stddef.h>

#include "kernel/machine.h"

enum { SIZE = 4096, READ_COMMAND = 8, END_OF_FILE = 0xc0000011, NO_NAME = 0xc0000034 };

/* Members of the kernel's structures which the programs read. */
struct connection {
	u64 before;
	u8 client[128]; /* struct sockaddr_storage */
	u8 address[16]; /* of IPv4 or IPv6 */
};

/* The first header of a message, behind its length. */
struct packet {
	u32 length;
	struct smb_header header;
} __attribute__((packed));

struct smb_message {
	u64 before;
	const struct connection *connection;
	const struct packet *request, *response;
	u64 work;
};

struct opened {
	u64 before;
	struct file *file;
};

static struct ktask worker, client_thread;
static struct kfile file, other, pipe_end;
static struct connection connection;
static struct packet request, response;
static struct smb_message message;
static struct opened opened;

static void start(void)
{
	machine_start();
	conf.served = 1;
	conf.at.ksmbd_work = offsetof(struct smb_message, work);
	conf.at.ksmbd_conn = offsetof(struct smb_message, connection);
	conf.at.ksmbd_request = offsetof(struct smb_message, request);
	conf.at.ksmbd_response = offsetof(struct smb_message, response);
	conf.at.ksmbd_client = offsetof(struct connection, client);
	conf.at.ksmbd_address = offsetof(struct connection, address);
	conf.at.ksmbd_file = offsetof(struct opened, file);
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	file_init(&other, "xfs", 8 << MINOR_BITS | 2, 29, S_IFREG);
	file_init(&pipe_end, "pipefs", 11, 31, 0010000);
	task_init(&worker, 1103, 1103, "kworker/0:1", PF_KTHREAD);
	task_init(&client_thread, 1200, 1200, "client", 0);
	connection = (struct connection){};
	request.header = (struct smb_header){ .protocol = 0x424d53fe, .command = READ_COMMAND };
	response.header = request.header;
	message = (struct smb_message){ .connection = &connection,
					.request = &request,
					.response = &response };
	opened = (struct opened){ .file = &file.f };
	cpu_is(1, &worker);
}

static void begins(void)
{
	EVENT(on_ksmbd, &message.work);
	tick(3);
}

static void answers(void)
{
	EVENT(on_ksmbd_answer, &message);
	tick(2);
}

static void ends(void)
{
	tick(5);
	EVENT(on_ksmbd_done, &message.work);
}

static void looks_up(const struct opened *what)
{
	RUN(on_ksmbd_file, ((u64[8]){ (u64)&message, 0, 0, (u64)what }));
}

static void has_read(int bytes)
{
	RUN(on_ksmbd_read, ((u64[8]){ (u64)&message, (u64)&opened, SIZE, 0, 0, (u32)bytes }));
}

static void has_written(s64 bytes)
{
	RUN(on_ksmbd_wrote, ((u64[8]){ (u64)&file.f, 0, SIZE, 0, bytes }));
}

static void serves(void)
{
	begins();
	answers();
	ends();
}

/* A worker reads as a call does; its waits have their strata. */
static void test_read(void **state)
{
	(void)state;
	start();
	begins();
	looks_up(&opened);
	fs_in(OP_READ, &file);
	tick(13);
	switch_to(&idle[1], true);
	tick(17);
	machine.level = 0x10000;
	wake(&worker);
	machine.level = 0;
	tick(19);
	switch_to(&worker, false);
	tick(23);
	fs_out(OP_READ, SIZE);
	has_read(SIZE);
	answers();
	ends();
	assert_ops(OP_SERVED, 1, 3 + 13 + 17 + 19 + 23 + 2 + 5,
		   (u64[ST_N]){ [ST_SYSCALL] = 3 + 2 + 5,
				[ST_FS] = 13 + 23,
				[ST_SLEEP] = 17,
				[ST_RUNQ] = 19 });
	assert_int_equal(ops_counted(OP_SERVED, NULL).bytes, SIZE);
	assert_int_equal(ops_counted(OP_SERVED, NULL).errors, 0);
	assert_int_equal(lost_all(), 0);
}

/* Bytes are those of all commands of a message; an error moves none. */
static void test_bytes(void **state)
{
	(void)state;
	start();
	begins();
	has_read(17);
	has_read(-5);
	has_written(19);
	has_written(-28);
	answers();
	ends();
	has_read(23); /* in no message */
	has_written(29);
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 1);
	assert_int_equal(ops_counted(OP_SERVED, NULL).bytes, 17 + 19);
}

/* The functions of ksmbd are nothing to a request of nfsd. */
static void test_nfsd(void **state)
{
	(void)state;
	start();
	conf.sent_ops = conf.op_extras = conf.file_details = conf.rings = 1;
	EVENT(on_serve, &message);
	EVENT(on_nfsd_dispatch, &message);
	has_written(19);
	looks_up(&opened);
	answers();
	EVENT(on_served, &message);
	assert_int_equal(ops_counted(OP_SERVED, NULL).bytes, 0);
	assert_int_equal(newest_sent()->call, CALL_SERVED);
	assert_int_equal(newest_sent()->fs, 0);
}

/* Whether a row is of the file system of @f. */
static bool has_fs(const struct kfile *f)
{
	struct kmap *hashes[] = { map_of(&op_rows_even), map_of(&op_rows_odd) };

	for (int h = 0; h < 2; h++)
		for (struct entry *e = hashes[h]->entries; e; e = e->hh.next)
			if (((const struct op_key *)e->key)->fs == (u64)&f->type)
				return true;
	return false;
}

/* The first file counts, if it is one at all. */
static void test_file(void **state)
{
	const struct opened pipe = { .file = &pipe_end.f }, first = { .file = &other.f };

	(void)state;
	start();
	conf.row_slots = 0;
	conf.by = BY_FILE;
	conf.file_details = 1;
	begins();
	looks_up(NULL); /* a descriptor that is not there */
	looks_up(&pipe);
	looks_up(&first);
	looks_up(&opened);
	answers();
	ends();
	assert_true(has_fs(&other));
	assert_false(has_fs(&file));
	looks_up(&opened); /* in no message */
	serves();
	assert_false(has_fs(&file));
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 2);
}

static void test_file_filter(void **state)
{
	const struct opened wrong = { .file = &other.f };

	(void)state;
	start();
	conf.file_filter = conf.file_details = 1;
	conf.n_devs = lists.n_devs = 1;
	lists.devs[0] = file.sb.s_dev;
	for (int i = 0; i < 3; i++) {
		begins();
		if (i)
			looks_up(i == 1 ? &wrong : &opened);
		answers();
		ends();
	}
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

static void test_process_filter(void **state)
{
	(void)state;
	start();
	conf.process_filter = conf.thread_filter = conf.n_pids = lists.n_pids = 1;
	lists.pids[0] = 1200;
	serves();
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 0);
	assert_int_equal(lost_all(), 0);
}

/* A message was in progress when tracing began, or its end was missed. */
static void test_unmatched(void **state)
{
	(void)state;
	start();
	answers();
	ends();
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	begins();
	has_read(SIZE);
	serves();
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 1);
	assert_int_equal(ops_counted(OP_SERVED, NULL).bytes, 0);
}

static void start_records(void)
{
	start();
	conf.sent_ops = conf.op_extras = conf.file_details = conf.rings = 1;
}

static void assert_sent(u16 command, long ret)
{
	assert_int_equal(newest_sent()->call, CALL_SERVED | CALL_SMB | command);
	assert_int_equal(newest_sent()->ret, ret);
	assert_int_equal(newest_sent()->fd, -1);
	assert_true(newest_sent()->len == ~0ULL); /* no xid of NFS */
	assert_true(newest_sent()->offset == OFFSET_UNKNOWN);
}

static void test_commands(void **state)
{
	(void)state;
	start_records();
	for (u16 command = 0; command < SMB_COMMANDS + 2; command++) {
		request.header.command = command;
		serves();
		assert_sent(command < SMB_COMMANDS ? command : SMB_COMMANDS, 0);
	}
	request.header = (struct smb_header){ .protocol = 0x424d53ff, .command = READ_COMMAND };
	serves(); /* a negotiation of SMB1 */
	assert_sent(SMB_COMMANDS, 0);
	response.header = (struct smb_header){ .protocol = 0x424d53ff, .status = NO_NAME };
	serves();
	assert_sent(SMB_COMMANDS, 0);
	begins();
	ends(); /* without an answer */
	assert_sent(SMB_COMMANDS, -71);
}

static void test_errors(void **state)
{
	static const struct {
		u32 status;
		long ret;
	} all[] = {
		{ 0, 17 },           { 0x103, 17 },       { 0x80000006, 17 },   { END_OF_FILE, 17 },
		{ 0xc0000016, 17 },  { 0x40000000, 17 },  { 0xc000000f, -2 },   { NO_NAME, -2 },
		{ 0xc000003a, -2 },  { 0xc0000008, -9 },  { 0xc0000128, -9 },   { 0xc0000017, -12 },
		{ 0xc000009a, -12 }, { 0xc0000022, -13 }, { 0xc0000054, -13 },  { 0xc0000055, -13 },
		{ 0xc0000043, -16 }, { 0xc0000035, -17 }, { 0xc0000103, -20 },  { 0xc00000ba, -21 },
		{ 0xc000000d, -22 }, { 0xc000007f, -28 }, { 0xc0000101, -39 },  { 0xc0000002, -95 },
		{ 0xc0000010, -95 }, { 0xc00000bb, -95 }, { 0xc0000120, -125 }, { 0xc0000001, -71 },
	};
	u64 errors = 0;

	(void)state;
	start_records();
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		response.header.status = all[i].status;
		begins();
		has_read(17);
		answers();
		ends();
		assert_sent(READ_COMMAND, all[i].ret);
		errors += all[i].ret < 0;
	}
	assert_int_equal(ops_counted(OP_SERVED, NULL).errors, errors);
	assert_int_equal(lost_all(), 0);
}

/* Whether a row has the key @by. */
static bool has_key(const u8 by[16])
{
	struct kmap *hashes[] = { map_of(&op_rows_even), map_of(&op_rows_odd) };

	for (int h = 0; h < 2; h++)
		for (struct entry *e = hashes[h]->entries; e; e = e->hh.next)
			if (!memcmp(((const struct op_key *)e->key)->by, by, 16))
				return true;
	return false;
}

/* The connection may be gone when its last message ends. */
static void test_clients(void **state)
{
	static const u8 v4[] = { 2, 0, 1, 189, 10, 98, 0, 2 },
			v6[] = { 10, 0, 1, 189, 0, 0, 0, 0, 0x20, 1,  0xd, 0xb8,
				 1,  2, 3, 4,   5, 6, 7, 8, 9,    10, 11,  12 },
			v4_key[16] = { [10] = 0xff, 0xff, 10, 98, 0, 2 }, none[16] = {};

	(void)state;
	start();
	conf.row_slots = 0;
	conf.by = BY_CLIENT;
	memcpy(connection.client, v4, sizeof(v4));
	begins();
	answers();
	memset(&connection, 0x55, sizeof(connection));
	ends();
	assert_true(has_key(v4_key));
	assert_false(has_key(none));
	memcpy(connection.client, v6, sizeof(v6));
	serves();
	assert_true(has_key(v6 + 8));
	memset(&connection, 0, sizeof(connection)); /* RDMA has no address there */
	serves();
	assert_true(has_key(none));
	assert_int_equal(ops_counted(OP_SERVED, NULL).count, 3);
}

/* Kernels which only set a union of both kinds of address. */
static void test_bare_addresses(void **state)
{
	static const u8 v4[16] = { 10, 98, 0, 3 }, v4_key[16] = { [10] = 0xff, 0xff, 10, 98, 0, 3 },
			v6[16] = { 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },
			mapped[16] = { [10] = 0xff, 0xff, 10, 98, 0, 4 }, none[16] = {};

	(void)state;
	start();
	conf.row_slots = 0;
	conf.by = BY_CLIENT;
	for (int has_both = 1; has_both >= 0; has_both--) {
		conf.at.ksmbd_client = has_both ? offsetof(struct connection, client) : 0;
		memcpy(connection.address, v4, sizeof(v4));
		serves();
		assert_true(has_key(v4_key));
		memcpy(connection.address, v6, sizeof(v6));
		serves();
		assert_true(has_key(v6));
		memcpy(connection.address, mapped, sizeof(mapped));
		serves();
		assert_true(has_key(mapped));
		connection.before = 2; /* no family: it is not looked for there */
	}
	assert_false(has_key(none));
	conf.at.ksmbd_address = 0;
	serves();
	assert_true(has_key(none));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),           cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_nfsd),           cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_filter),    cmocka_unit_test(test_process_filter),
		cmocka_unit_test(test_unmatched),      cmocka_unit_test(test_commands),
		cmocka_unit_test(test_errors),         cmocka_unit_test(test_clients),
		cmocka_unit_test(test_bare_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
