// SPDX-License-Identifier: GPL-2.0-only
/* The architecture whose numbers system calls have, live and in a recording. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/syscall.h>

#include "base/machine.h"
#include "bpf/conf.h"
#include "capture/header.h"
#include "trace/syscalls.h"

static void test_names(void **state)
{
	(void)state;
	for (enum machine m = 0; m < MACHINES; m++)
		assert_int_equal(machine_find(machine_name(m)), m);
	assert_int_equal(machine_find("s390"), MACHINES);
	assert_int_equal(machine_find(""), MACHINES);
}

static void test_calls(void **state)
{
	static const struct {
		enum machine machine;
		unsigned short call;
		const char *name;
	} known[] = {
		{ MACHINE_X86_64, 0, "read" },
		{ MACHINE_X86_64, 3, "close" },
		{ MACHINE_X86_64, 3 | CALL_COMPAT, "read" },
		{ MACHINE_X86_64, 221 | CALL_COMPAT, "fcntl" },
		{ MACHINE_X86_64, 39, "?" },
		{ MACHINE_AARCH64, 63, "read" },
		{ MACHINE_AARCH64, 56, "openat" },
		{ MACHINE_AARCH64, 3 | CALL_COMPAT, "read" },
		{ MACHINE_AARCH64, 322 | CALL_COMPAT, "openat" },
		{ MACHINE_AARCH64, 0, "io_setup" },
		{ MACHINE_AARCH64, 172, "?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_string_equal(syscall_names(known[i].machine)(known[i].call), known[i].name);
	assert_null(syscall_names(MACHINES)(63));
}

/* Own calls: a number has the kind that its name is for, and -1 is none. */
static void test_fill(void **state)
{
	uint16_t calls[CALL_MAX] = {}, offsets[CALL_MAX] = {};
	const struct syscall_choice all = {};
	unsigned int n = 0;

	(void)state;
	syscalls_fill(calls, offsets, 1U << OP_FSYNC, &all, false);
	for (unsigned int nr = 0; nr < CALL_MAX; nr++) {
		const char *name = syscall_names(MACHINE_OWN)(nr);

		if (!(calls[nr] & 0xff))
			continue;
		assert_int_equal(CALL_KIND(calls[nr] & 0xff), OP_FSYNC);
		assert_non_null(strstr("fsync fdatasync sync syncfs msync", name));
		n++;
	}
	assert_int_equal(n, 5);
}

/* What ioctl() is: two kinds, as its command says. */
static void assert_ioctl(unsigned int kinds, const char *name, bool is_traced, enum clones clones)
{
	uint16_t calls[CALL_MAX] = {}, offsets[CALL_MAX] = {};
	struct syscall_choice only = {};

	if (name)
		assert_int_not_equal(syscalls_choose(&only, name), OP_NONE);
	syscalls_fill(calls, offsets, kinds | only.kinds, &only, false);
	assert_int_equal(calls[__NR_ioctl] & 0xff,
			 is_traced ? CALL_DESC(OP_META, FILE_BY_ARGS) : 0);
	assert_int_equal(syscalls_clones(kinds | only.kinds, &only), clones);
}

static void test_ioctl(void **state)
{
	(void)state;
	assert_ioctl(~0U, NULL, true, CLONES_TOO);
	assert_ioctl(1U << OP_META, NULL, true, CLONES_NONE);
	assert_ioctl(1U << OP_COPY, NULL, true, CLONES_ONLY);
	assert_ioctl(1U << OP_READ, NULL, false, CLONES_NONE);
	assert_ioctl(0, "ioctl", true, CLONES_TOO);
	assert_ioctl(0, "sendfile", false, CLONES_NONE);
	assert_ioctl(0, "stat", false, CLONES_NONE);
}

/* The calls chosen by @name, in the order of their numbers, each with a blank. */
static const char *chosen(const char *name, enum op_kind kind)
{
	static char text[256];
	uint16_t calls[CALL_MAX] = {}, offsets[CALL_MAX] = {};
	struct syscall_choice only = {};
	size_t n = 0;

	text[0] = '\0';
	assert_int_equal(syscalls_choose(&only, name), kind);
	syscalls_fill(calls, offsets, ~(1U << OP_WRITE), &only, false);
	for (unsigned int nr = 0; nr < CALL_MAX; nr++)
		if (calls[nr] & 0xff && CALL_KIND(calls[nr] & 0xff) == kind)
			n += snprintf(text + n, sizeof(text) - n, "%s ",
				      syscall_names(MACHINE_OWN)(nr));
	return text;
}

static void test_choice(void **state)
{
	struct syscall_choice only = {};

	(void)state;
	assert_string_equal(chosen("fdatasync", OP_FSYNC), "fdatasync ");
	assert_string_equal(chosen("sync", OP_FSYNC), "sync ");
	assert_string_equal(chosen("pread", OP_READ), "pread64 ");
	assert_non_null(strstr(chosen("stat", OP_META), "newfstatat "));
	assert_non_null(strstr(chosen("stat", OP_META), "statx "));
	assert_null(strstr(chosen("stat", OP_META), "statfs"));
	assert_non_null(strstr(chosen("rename", OP_META), "renameat2 "));
	assert_null(strstr(chosen("mount", OP_META), "umount"));
	assert_null(strstr(chosen("link", OP_META), "symlink"));
	assert_int_equal(syscalls_choose(&only, "dup"), OP_NONE);
	assert_int_equal(syscalls_choose(&only, "ink"), OP_NONE);
	assert_int_equal(syscalls_choose(&only, ""), OP_NONE);
	assert_int_equal(syscalls_choose(&only, "nosuch"), OP_NONE);
	assert_int_equal(only.kinds, 0);
	assert_true(syscalls_same("fstatat64", "stat") && syscalls_same("oldlstat", "stat"));
	assert_false(syscalls_same("fsync", "sync") || syscalls_same("syncfs", "sync"));
}

static enum machine machine_of(const char *text)
{
	enum machine machine;
	struct header h;

	assert_int_equal(header_parse(&h, text, strlen(text)), 0);
	machine = h.machine;
	header_done(&h);
	return machine;
}

static void test_header(void **state)
{
	(void)state;
	assert_int_equal(machine_of("{}"), MACHINE_X86_64);
	assert_int_equal(machine_of("{\"machine\":\"x86_64\"}"), MACHINE_X86_64);
	assert_int_equal(machine_of("{\"machine\":\"aarch64\"}"), MACHINE_AARCH64);
	assert_int_equal(machine_of("{\"machine\":\"vax\"}"), MACHINES);
	assert_int_equal(machine_of("{\"machine\":7}"), MACHINE_X86_64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_calls),
		cmocka_unit_test(test_fill),   cmocka_unit_test(test_ioctl),
		cmocka_unit_test(test_choice), cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
