// SPDX-License-Identifier: GPL-2.0-only
/*
 * caller: makes every system call of the tool's table, one after the other, each several times.
 *
 *   caller      those of 64-bit programs (built for 32 bits: of such)
 *   caller 32   on x86, those of 32-bit programs, by int $0x80
 *
 * All arguments are -1, so that nearly all fail at once. Like tests/workload.c with -w it prints
 * "ready", calls when a line arrives on stdin, and prints a line of JSON: of each call how often it
 * was made, and how often it failed. Without 32-bit calls it says so instead, and ends with 77.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include "trace/calls_x86_64.h"
#define CALLS CALLS_X86_64
#else
#include "trace/calls_aarch64.h"
#define CALLS CALLS_AARCH64
#endif

#define ROW(name, nr, nr32) { #name, nr, nr32 },

static const struct call {
	const char *name;
	int nr, nr32;
} calls[] = { CALLS(ROW) };

enum { N = sizeof(calls) / sizeof(*calls) };

#ifdef __x86_64__
static long call32(int nr)
{
	long ret;

	__asm__ volatile("push %%rbp\n\tmov $-1, %%ebp\n\tint $0x80\n\tpop %%rbp"
			 : "=a"(ret)
			 : "0"((long)nr), "b"(~0u), "c"(~0u), "d"(~0u), "S"(~0u), "D"(~0u)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}
#else
static long call32(int nr)
{
	return syscall(nr, -1, -1, -1, -1, -1, -1);
}
#endif

static void no_calls32(int signo)
{
	(void)signo;
	_exit(write(1, "no 32-bit calls\n", 16) == 16 ? 77 : 1);
}

/* 1 to 7 times, so that few neighbours are made as often; calls that write to all disks, once;
 * calls that are operations by their arguments only, never (see checks_mapped.py). */
static int times(int i)
{
	if (!strcmp(calls[i].name, "mmap") || !strcmp(calls[i].name, "madvise"))
		return 0;
	return strcmp(calls[i].name, "sync") ? 1 + i % 7 : 1;
}

int main(int argc, char **argv)
{
	int failed[N] = {}, bits32 = sizeof(long) == 4 || (argc == 2 && !strcmp(argv[1], "32"));
	const char *comma = "";
	static char out[8192];
	char line[16];

	setvbuf(stdout, out, _IOFBF, sizeof(out)); /* without a call about it */
	if (bits32) {
		signal(SIGSEGV, no_calls32);
		call32(20); /* getpid */
		signal(SIGSEGV, SIG_DFL);
	}
	if (write(1, "ready\n", 6) != 6 || read(0, line, sizeof(line)) <= 0)
		return 1;
	for (int i = 0; i < N; i++)
		for (int n = 0; n < times(i); n++)
			if (bits32 && calls[i].nr32 >= 0)
				failed[i] += call32(calls[i].nr32) < 0;
			else if (!bits32 && calls[i].nr >= 0)
				failed[i] += syscall(calls[i].nr, -1L, -1L, -1L, -1L, -1L, -1L) < 0;
	printf("{");
	for (int i = 0; i < N; i++) {
		if ((bits32 ? calls[i].nr32 : calls[i].nr) < 0 || !times(i))
			continue;
		printf("%s\"%s\":[%d,%d]", comma, calls[i].name, times(i), failed[i]);
		comma = ",";
	}
	printf("}\n");
	return 0;
}
