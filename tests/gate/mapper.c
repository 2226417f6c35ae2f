// SPDX-License-Identifier: GPL-2.0-only
/*
 * mapper MODE FILE N: touches N pages of a shared mapping of FILE (opened for direct I/O), from its
 * second window on, one in each window that the kernel maps at once, and says how many faults that
 * was and how long it took.
 *
 * read: by reading; write: by writing; twice: by reading, and then once more, with a mapping of its
 * own; ahead: each after it has asked for it; alarm: by reading, with a signal every 3 ms; ring: by
 * reading, with a timeout of io_uring every 3 ms; gone: the file has been truncated, so each is
 * SIGBUS; anon: of memory without a file; threads: each of 8 threads so many pages, of its own;
 * again: each of 3, over and over, with pages that it unmaps; killed: the same as threads, in
 * processes that are killed meanwhile.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	STEP = 17 * PAGE,
	THREADS = 8,
	THREADS_AGAIN = 3,
	PROCESSES = 16,
	TURNS = 199,
	EVERY_US = 3000,
	TIMEOUTS = 256
};

static char *file_map;
static long pages, threads = THREADS, turns = 1;
static volatile char sink;
static long failed;
static long long spent;
static sigjmp_buf retry;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static char *map_file(int fd, long n)
{
	char *map = mmap(NULL, n * STEP, PROT_READ | PROT_WRITE,
			 fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, fd < 0 ? 0 : STEP);

	check(map != MAP_FAILED, "mmap");
	check(!madvise(map, n * STEP, fd < 0 ? MADV_NOHUGEPAGE : MADV_RANDOM), "madvise");
	return map;
}

static void touch(char *map, long first, long n, int writes)
{
	for (long i = first; i < first + n; i++) {
		long long begin = now();

		if (writes)
			map[i * STEP] = 1;
		else
			sink += map[i * STEP];
		__atomic_add_fetch(&spent, now() - begin, __ATOMIC_RELAXED);
	}
}

static void on_alarm(int signo)
{
	(void)signo;
}

static void interrupt(void)
{
	struct itimerval every = { { 0, EVERY_US }, { 0, EVERY_US } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	check(!sigaction(SIGALRM, &act, NULL), "sigaction");
	check(!setitimer(ITIMER_REAL, &every, NULL), "setitimer");
}

static void calm(void)
{
	struct itimerval never = {};

	check(!setitimer(ITIMER_REAL, &never, NULL), "setitimer");
}

/* Each runs in the thread that submitted it, which is interrupted for that. */
static void submit_timeouts(void)
{
	static struct __kernel_timespec times[TIMEOUTS];
	struct io_uring_params p = {};
	struct io_uring_sqe *sqes;
	unsigned int *array, *tail;
	char *ring;
	int fd;

	fd = (int)syscall(__NR_io_uring_setup, TIMEOUTS, &p);
	check(fd >= 0, "io_uring_setup");
	ring = mmap(NULL, p.sq_off.array + TIMEOUTS * sizeof(*array), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, TIMEOUTS * sizeof(*sqes), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	check(ring != MAP_FAILED && sqes != MAP_FAILED, "mmap of a ring");
	array = (unsigned int *)(ring + p.sq_off.array);
	tail = (unsigned int *)(ring + p.sq_off.tail);
	for (unsigned int i = 0; i < TIMEOUTS; i++) {
		times[i].tv_nsec = (i + 1) * EVERY_US * 1000LL;
		sqes[i].opcode = IORING_OP_TIMEOUT;
		sqes[i].fd = -1;
		sqes[i].addr = (unsigned long)&times[i];
		sqes[i].len = 1;
		array[i] = i;
	}
	__atomic_store_n(tail, TIMEOUTS, __ATOMIC_RELEASE);
	check(syscall(__NR_io_uring_enter, fd, TIMEOUTS, 0, 0, NULL, 0) == TIMEOUTS,
	      "io_uring_enter");
}

static void on_bus(int signo)
{
	(void)signo;
	failed++;
	siglongjmp(retry, 1);
}

static void touch_gone(char *map, long n)
{
	volatile long i = 0;

	check(signal(SIGBUS, on_bus) != SIG_ERR, "signal");
	while (i < n) {
		if (sigsetjmp(retry, 1))
			continue;
		sink += map[i++ * STEP];
	}
}

static void *thread(void *arg)
{
	long first = (long)arg * pages;

	touch(file_map, first, pages, 0);
	for (long i = 1; i < turns; i++) {
		check(!madvise(file_map + first * STEP, pages * STEP, MADV_DONTNEED), "madvise");
		touch(file_map, first, pages, 0);
	}
	return NULL;
}

static void touch_in_threads(void)
{
	pthread_t ids[THREADS];

	for (long i = 0; i < threads; i++)
		check(!pthread_create(&ids[i], NULL, thread, (void *)i), "pthread_create");
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

static void touch_and_die(int fd)
{
	pid_t pid;

	for (int i = 0; i < PROCESSES; i++) {
		pid = fork();
		if (!pid) {
			file_map = map_file(fd, THREADS * pages);
			touch_in_threads();
			_exit(0);
		}
		check(pid > 0, "fork");
		usleep(100000);
		kill(pid, SIGKILL);
		check(waitpid(pid, NULL, 0) == pid, "waitpid");
		check(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc == 4 ? argv[1] : "";
	int anonymous = !strcmp(mode, "anon"), again, many, fd;
	struct rusage before, after;
	char line[16];

	if (!*mode)
		return 2;
	again = !strcmp(mode, "again");
	many = again || !strcmp(mode, "threads") || !strcmp(mode, "killed");
	if (again) {
		threads = THREADS_AGAIN;
		turns = TURNS;
	}
	pages = atol(argv[3]);
	fd = open(argv[2], O_RDWR | O_DIRECT);
	check(fd >= 0, argv[2]);
	file_map = map_file(anonymous ? -1 : fd, many ? THREADS * pages : pages);
	check(write(1, "ready\n", 6) == 6, "stdout");
	check(read(0, line, sizeof(line)) > 0, "stdin");
	getrusage(RUSAGE_SELF, &before);
	if (again || !strcmp(mode, "threads")) {
		touch_in_threads();
	} else if (!strcmp(mode, "killed")) {
		touch_and_die(fd);
	} else if (!strcmp(mode, "gone")) {
		check(!ftruncate(fd, 0), "ftruncate");
		touch_gone(file_map, pages);
	} else if (!strcmp(mode, "ahead")) {
		for (long i = 0; i < pages; i++) {
			check(!posix_fadvise(fd, (i + 1) * STEP, PAGE, POSIX_FADV_WILLNEED),
			      "posix_fadvise");
			touch(file_map, i, 1, 0);
		}
	} else {
		if (!strcmp(mode, "alarm"))
			interrupt();
		if (!strcmp(mode, "ring"))
			submit_timeouts();
		touch(file_map, 0, pages, !strcmp(mode, "write"));
		if (!strcmp(mode, "alarm"))
			calm();
		if (!strcmp(mode, "twice"))
			touch(map_file(fd, pages), 0, pages, 0);
	}
	getrusage(RUSAGE_SELF, &after);
	printf("{\"major\": %ld, \"minor\": %ld, ", after.ru_majflt - before.ru_majflt,
	       after.ru_minflt - before.ru_minflt);
	printf("\"failed\": %ld, \"ns\": %lld}\n", failed, spent);
	return 0;
}
