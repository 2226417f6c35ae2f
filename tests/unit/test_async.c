// SPDX-License-Identifier: GPL-2.0-only
/* Opcodes of io_uring and libaio: numbers and names are those of the kernel's headers, as far as
 * they go. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ctype.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/aio_abi.h>
#include <linux/io_uring.h>

#include "cell.h"

#include "base/async.h"
#include "base/names.h"
#include "base/protocols.h"

static const struct {
	unsigned int opcode, kind;
	const char *name;
} known[] = {
	{ IORING_OP_READV, OP_READ, "readv" },
	{ IORING_OP_WRITEV, OP_WRITE, "writev" },
	{ IORING_OP_FSYNC, OP_FSYNC, "fsync" },
	{ IORING_OP_READ_FIXED, OP_READ, "read_fixed" },
	{ IORING_OP_WRITE_FIXED, OP_WRITE, "write_fixed" },
	{ IORING_OP_SYNC_FILE_RANGE, OP_META, "sync_file_range" },
	{ IORING_OP_FALLOCATE, OP_META, "fallocate" },
	{ IORING_OP_OPENAT, OP_OPEN, "openat" },
	{ IORING_OP_CLOSE, OP_CLOSE, "close" },
	{ IORING_OP_STATX, OP_META, "statx" },
	{ IORING_OP_READ, OP_READ, "read" },
	{ IORING_OP_WRITE, OP_WRITE, "write" },
	{ IORING_OP_FADVISE, OP_META, "fadvise" },
	{ IORING_OP_OPENAT2, OP_OPEN, "openat2" },
	{ IORING_OP_SPLICE, OP_COPY, "splice" },
	{ IORING_OP_RENAMEAT, OP_META, "renameat" },
	{ IORING_OP_UNLINKAT, OP_META, "unlinkat" },
	{ IORING_OP_MKDIRAT, OP_META, "mkdirat" },
	{ IORING_OP_SYMLINKAT, OP_META, "symlinkat" },
	{ IORING_OP_LINKAT, OP_META, "linkat" },
	{ IORING_OP_FSETXATTR, OP_META, "fsetxattr" },
	{ IORING_OP_SETXATTR, OP_META, "setxattr" },
	{ IORING_OP_FGETXATTR, OP_META, "fgetxattr" },
	{ IORING_OP_GETXATTR, OP_META, "getxattr" },
};

enum { KNOWN_N = sizeof(known) / sizeof(*known) };

static void numbers_names_and_kinds(void **state)
{
	unsigned char kinds[URING_OPS];

	(void)state;
	async_uring_kinds(kinds);
	for (int i = 0; i < KNOWN_N; i++) {
		unsigned short call = CALL_URING | known[i].opcode;

		assert_int_equal(kinds[known[i].opcode], known[i].kind);
		assert_string_equal(async_call_name(call), known[i].name);
		assert_int_equal(async_acts(OP_URING, call), known[i].kind);
	}
}

static void all_else_is_no_operation(void **state)
{
	const int others[] = { IORING_OP_NOP,      IORING_OP_POLL_ADD, IORING_OP_SENDMSG,
			       IORING_OP_TIMEOUT,  IORING_OP_ACCEPT,   IORING_OP_ASYNC_CANCEL,
			       IORING_OP_URING_CMD };
	unsigned char kinds[URING_OPS];

	(void)state;
	async_uring_kinds(kinds);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_int_equal(kinds[others[i]], OP_NONE);
		assert_null(async_call_name(CALL_URING | others[i]));
	}
}

static void of_libaio(void **state)
{
	static const struct {
		unsigned int opcode, kind, layers;
		const char *name;
	} all[] = {
		{ IOCB_CMD_PREAD, OP_READ, OP_READ, "pread" },
		{ IOCB_CMD_PWRITE, OP_WRITE, OP_WRITE, "pwrite" },
		{ IOCB_CMD_FSYNC, OP_FSYNC, OP_NONE, "fsync" },
		{ IOCB_CMD_FDSYNC, OP_FSYNC, OP_NONE, "fdsync" },
		{ IOCB_CMD_PREADV, OP_READ, OP_READ, "preadv" },
		{ IOCB_CMD_PWRITEV, OP_WRITE, OP_WRITE, "pwritev" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		unsigned short call = CALL_AIO | all[i].opcode;

		assert_string_equal(async_call_name(call), all[i].name);
		assert_int_equal(async_acts(OP_AIO, call), all[i].kind);
		assert_int_equal(async_layers(OP_AIO, call), all[i].layers);
		assert_true(async_is_request(OP_AIO, call));
	}
	assert_null(async_call_name(CALL_AIO | IOCB_CMD_POLL));
	/* where its requests are not seen, the calls io_submit() and io_getevents() */
	assert_null(async_call_name(209));
	assert_int_equal(async_acts(OP_AIO, 209), OP_AIO);
	assert_false(async_is_request(OP_AIO, 209));
	assert_false(async_is_request(OP_AIO, CALL_COMPAT | 248));
}

/* A command to ksmbd has the name which the client's request has, but says whose it is. */
static void served_calls_have_names(void **state)
{
	char want[32];

	(void)state;
	assert_string_equal(async_call_name(CALL_FAULT), "page_fault");
	assert_string_equal(async_call_name(CALL_FAULT | FAULT_SWAPS_IN), "swap_in");
	assert_string_equal(async_call_name(CALL_FAULT | FAULT_SWAPS_OUT), "swap_out");
	assert_string_equal(async_call_name(CALL_FAULT | FAULT_OF_KERNEL), "kernel_fault");
	assert_null(async_call_name(CALL_FAULT | FAULT_CALLS));
	assert_string_equal(async_call_name(CALL_SERVED), "nfs_request");
	for (unsigned int command = 0; command < SMB_COMMANDS; command++) {
		const char *asked = protocol_op_name(SERVER_SMB, command);
		size_t len = strlen(asked);

		snprintf(want, sizeof(want), "smb_");
		for (size_t i = 0; i <= len; i++)
			want[4 + i] = tolower((unsigned char)asked[i]);
		assert_string_equal(async_call_name(CALL_SERVED | CALL_SMB | command), want);
	}
	assert_string_equal(async_call_name(CALL_SERVED | CALL_SMB | 8), "smb_read");
	assert_string_equal(async_call_name(CALL_SERVED | CALL_SMB | SMB_COMMANDS), "smb_request");
	assert_string_equal(async_call_name(CALL_SERVED | CALL_SMB | 0xff), "smb_request");
	assert_null(protocol_op_name(SERVER_SMB, SMB_COMMANDS));
	assert_null(async_call_name(CALL_SMB));
	assert_int_equal(async_acts(OP_SERVED, CALL_SERVED | CALL_SMB | 8), OP_SERVED);
}

static void a_call_is_what_it_was(void **state)
{
	(void)state;
	assert_null(async_call_name(IORING_OP_READ));
	assert_int_equal(async_acts(OP_WRITE, 1), OP_WRITE);
	assert_int_equal(async_layers(OP_FSYNC, 74), OP_FSYNC);
	assert_int_equal(async_layers(OP_URING, CALL_URING | IORING_OP_READ), OP_READ);
	assert_int_equal(async_layers(OP_URING, CALL_URING | IORING_OP_FSYNC), OP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_names_and_kinds),
		cmocka_unit_test(all_else_is_no_operation),
		cmocka_unit_test(of_libaio),
		cmocka_unit_test(served_calls_have_names),
		cmocka_unit_test(a_call_is_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
