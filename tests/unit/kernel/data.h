/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * data.h - read-only data of the programs, which user space fills in before they are loaded. To be
 * included after the programs, whose names for the kernel's numbers are macros here.
 */
#ifndef IOSTRATA_TEST_DATA_H
#define IOSTRATA_TEST_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

static void data_set(const volatile void *at, const void *from, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *begin = (char *)((uintptr_t)at / page * page);

	assert_int_equal(mprotect(begin, (char *)at + len - begin, PROT_READ | PROT_WRITE), 0);
	memcpy((void *)at, from, len);
}

#endif
