// SPDX-License-Identifier: GPL-2.0-only
/*
 * calls.c - calls its functions exactly so often, in every way in which a call can begin and end.
 *
 *	calls FILE
 *
 * Beside those named calls_*, it calls pread() on the first 4 MiB of FILE 1009 times. Prints one
 * line of JSON: the mean of these in ns, as it measured them itself.
 *
 *	calls_top	23	each calls mid, leaf, mid
 *	calls_mid	46	each calls leaf twice
 *	calls_leaf	233	115 by those above, 101 by calls_tail, 17 by itself in a loop
 *	calls_again	1111	101 times ten deep in itself
 *	calls_deep	100	once, a hundred deep in itself
 *	calls_tail	101	ends by a jump to leaf
 *	calls_throw	13	left by a jump out of it, to calls_catch, some over a MiB of stack
 *	calls_catch	13
 *	calls_die	7	each by a thread that ends inside
 */
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TRACED __attribute__((noinline, noclone)) void

TRACED calls_leaf(void);
TRACED calls_tail(void);

static jmp_buf caught;

static void work(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

TRACED calls_leaf(void)
{
	work(200);
}

TRACED calls_mid(void)
{
	calls_leaf();
	work(500);
	calls_leaf();
	__asm__ volatile("");
}

TRACED calls_top(void)
{
	calls_mid();
	calls_leaf();
	work(1000);
	calls_mid();
	__asm__ volatile("");
}

TRACED calls_again(int n)
{
	if (n)
		calls_again(n - 1);
	__asm__ volatile("");
}

TRACED calls_deep(int n)
{
	if (n > 1)
		calls_deep(n - 1);
	__asm__ volatile("");
}

#ifdef __aarch64__
#define JUMP "b"
#else
#define JUMP "jmp"
#endif

/* A jump, whatever the compiler makes of a call in a last statement. */
__asm__(".text\n.globl calls_tail\n.type calls_tail, @function\ncalls_tail:\n"
	"	nop\n	" JUMP " calls_leaf\n.size calls_tail, . - calls_tail\n");

TRACED calls_throw(void)
{
	longjmp(caught, 1);
}

TRACED calls_catch(void)
{
	if (!setjmp(caught))
		calls_throw();
	__asm__ volatile("");
}

/* Where the stack crosses a multiple of a MiB, 16 bytes further up for each @i. */
static __attribute__((noinline)) void catch_at_edge(int i)
{
	uintptr_t above = (uintptr_t)__builtin_frame_address(0) % (1 << 20);
	volatile char *room = alloca((1 << 20) + above - 16 * i);

	room[0] = 0;
	calls_catch();
}

TRACED calls_die(void)
{
	pthread_exit(NULL);
}

static void *die(void *arg)
{
	calls_die();
	return arg;
}

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static unsigned long long read_mean(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char buf[4 << 20];
	unsigned long long sum = 0, from;

	for (int i = 0; i < 1009; i++) {
		from = now_ns();
		if (pread(fd, buf, sizeof(buf), 0) < 0)
			exit(1);
		sum += now_ns() - from;
	}
	close(fd);
	return sum / 1009;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2)
		return 2;
	for (int i = 0; i < 23; i++)
		calls_top();
	for (int i = 0; i < 101; i++) {
		calls_again(10);
		calls_tail();
	}
	for (int i = 0; i < 17; i++)
		calls_leaf();
	calls_deep(100);
	for (int i = 0; i < 13; i++)
		catch_at_edge(i);
	for (int i = 0; i < 7; i++) {
		if (pthread_create(&thread, NULL, die, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("{\"pread_ns\":%llu}\n", read_mean(argv[1]));
	return 0;
}
