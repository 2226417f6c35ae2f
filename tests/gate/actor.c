// SPDX-License-Identifier: GPL-2.0-only
/*
 * actor: I/O that tests/workload.c cannot do. As tests/workload.c with -w, actor prints "ready",
 * acts when a line arrives on stdin, and prints a line of JSON.
 *
 *   actor int80 FILE     32-bit system calls (int $0x80, or as a program of 32-bit ARM), exact
 *                        numbers of them: the JSON has per class count, bytes and errors
 *   actor die FILE N     N processes, named "gate-die", that read FILE three times, and are killed
 *                        when all of them sleep in the read of a pipe
 *   actor forks FILE N   N processes, one after the other, each of which reads FILE once
 *   actor keys FILE N    N reads of FILE, each under another name of the thread
 *   actor together DIR N two threads that read the files DIR/0 to DIR/N-1, each at the same time
 *   actor hogs CPU N     N processes that use CPU from "ready" to the line, and go behind the
 *                        kernel's own threads
 *   actor late FILE N    N direct writes to FILE, each followed by 15 ms of nothing but CPU, before
 *                        a process named "gate-late", which sleeps in the read of a pipe all the
 *                        time, is woken; of which so many without leaving the CPU meanwhile
 *
 * FILE has 4 KiB or more.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 4096 };

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void wait_for_line(void)
{
	char line[16];

	check(write(1, "ready\n", 6) == 6, "stdout");
	check(read(0, line, sizeof(line)) > 0, "stdin");
}

/* ---- 32-bit calls: syscall_32.tbl of arch/x86, syscall.tbl of arch/arm ---- */

#ifdef __arm__
enum { CALL_OPENAT = 322, MAP_LOW = 0 };
#else
enum { CALL_OPENAT = 295, MAP_LOW = 0x40 /* MAP_32BIT */ };
#endif

static long call32(long nr, long a, long b, long c, long d, long e)
{
#ifdef __x86_64__
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
#else
	return syscall(nr, a, b, c, d, e, 0);
#endif
}

static void no_calls32(int signo)
{
	(void)signo;
	_exit(write(1, "no 32-bit calls\n", 16) == 16 ? 77 : 1);
}

static int int80(const char *file)
{
	char *low = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOW, -1, 0);
	long bytes_read = 0, bytes_written = 0, errors = 0, fd, buf, name;
	int own = open(file, O_RDWR);

	check(low != MAP_FAILED && own >= 0, file);
	buf = (long)low;
	name = buf + SIZE;
	strncpy((char *)name, file, SIZE - 1);
	signal(SIGSEGV, no_calls32);
	call32(20, 0, 0, 0, 0, 0); /* getpid */
	signal(SIGSEGV, SIG_DFL);
	wait_for_line();
	for (int i = 0; i < 11; i++)
		bytes_read += call32(180, own, buf, SIZE, 0, 0); /* pread64 */
	for (int i = 0; i < 23; i++) {
		call32(19, own, 0, SEEK_SET, 0, 0); /* lseek */
		bytes_read += call32(3, own, buf, SIZE, 0, 0);
	}
	for (int i = 0; i < 101; i++) {
		call32(19, own, 0, SEEK_SET, 0, 0);
		bytes_written += call32(4, own, buf, SIZE, 0, 0);
	}
	for (int i = 0; i < 7; i++) {
		fd = call32(CALL_OPENAT, AT_FDCWD, name, O_RDONLY, 0, 0); /* openat */
		call32(6, fd, 0, 0, 0, 0);
	}
	for (int i = 0; i < 5; i++)
		call32(118, own, 0, 0, 0, 0); /* fsync */
	for (int i = 0; i < 3; i++)
		call32(197, own, buf, 0, 0, 0); /* fstat64 */
	for (int i = 0; i < 2; i++)
		errors += call32(3, -1, buf, SIZE, 0, 0) < 0;
	printf("{\"read\":{\"count\":36,\"bytes\":%ld,\"errors\":%ld},"
	       "\"write\":{\"count\":101,\"bytes\":%ld,\"errors\":0},"
	       "\"open\":{\"count\":7,\"bytes\":0,\"errors\":0},"
	       "\"close\":{\"count\":7,\"bytes\":0,\"errors\":0},"
	       "\"fsync\":{\"count\":5,\"bytes\":0,\"errors\":0},"
	       "\"meta\":{\"count\":3,\"bytes\":0,\"errors\":0},"
	       "\"copy\":{\"count\":0,\"bytes\":0,\"errors\":0}}\n",
	       bytes_read, errors, bytes_written);
	return 0;
}

/* ---- processes that are killed in a call ---- */

static void read_and_sleep(int file, int asleep, int never)
{
	char buf[SIZE];

	prctl(PR_SET_NAME, "gate-die");
	for (int i = 0; i < 3; i++)
		check(pread(file, buf, SIZE, 0) == SIZE, "read");
	check(write(asleep, "", 1) == 1, "pipe");
	check(read(never, buf, 1) == 1, "killed");
}

static int die(const char *name, int n)
{
	int file = open(name, O_RDONLY), asleep[2], never[2];
	pid_t *pids = calloc(n, sizeof(*pids));
	char byte;

	check(file >= 0 && pids && !pipe(asleep) && !pipe(never), name);
	wait_for_line();
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		check(pids[i] >= 0, "fork");
		if (!pids[i])
			read_and_sleep(file, asleep[1], never[0]);
	}
	for (int i = 0; i < n; i++)
		check(read(asleep[0], &byte, 1) == 1, "pipe");
	usleep(200000);
	for (int i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
	printf("{\"processes\":%d}\n", n);
	return 0;
}

static int forks(const char *name, int n)
{
	int file = open(name, O_RDONLY), status, reads = 0, highest = 0;
	char buf[SIZE];

	check(file >= 0, name);
	wait_for_line();
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (!pid)
			_exit(pread(file, buf, SIZE, 0) != SIZE);
		waitpid(pid, &status, 0);
		reads += status == 0;
		highest = pid > highest ? pid : highest;
	}
	printf("{\"reads\":%d,\"highest_pid\":%d}\n", reads, highest);
	return 0;
}

static int keys(const char *name, int n)
{
	int file = open(name, O_RDONLY), reads = 0;
	char buf[SIZE], key[16];

	check(file >= 0, name);
	wait_for_line();
	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "key-%d", i);
		check(!prctl(PR_SET_NAME, key), key);
		reads += pread(file, buf, SIZE, 0) == SIZE;
	}
	printf("{\"reads\":%d}\n", reads);
	return 0;
}

static const char *together_dir;
static int together_n, together_turn;

static void *read_together(void *cpu)
{
	char name[SIZE], byte;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((long)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* where there are two */
	for (int i = 0; i < together_n; i++) {
		int file;

		snprintf(name, sizeof(name), "%s/%d", together_dir, i);
		file = open(name, O_RDONLY);
		check(file >= 0, name);
		__atomic_add_fetch(&together_turn, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&together_turn, __ATOMIC_SEQ_CST) < 2 * (i + 1))
			sched_yield();
		check(pread(file, &byte, 1, 0) == 1, "read");
		close(file);
	}
	return NULL;
}

static int together(const char *dir, int n)
{
	pthread_t threads[2];

	together_dir = dir;
	together_n = n;
	wait_for_line();
	for (long i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, read_together, (void *)i), "thread");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"files\":%d}\n", n);
	return 0;
}

static void use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check(!sched_setaffinity(0, sizeof(set), &set) && nice(5) >= 0, "CPU");
	for (;;)
		__asm__ volatile("");
}

static int hogs(int cpu, int n)
{
	pid_t *pids = calloc(n, sizeof(*pids));

	check(pids != NULL, "memory");
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		check(pids[i] >= 0, "fork");
		if (!pids[i])
			use_cpu(cpu);
	}
	wait_for_line();
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	printf("{\"processes\":%d}\n", n);
	return 0;
}

/* ---- a thread that goes on for long after its I/O was completed ---- */

static long switches(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nvcsw + use.ru_nivcsw;
}

static void spin_ms(long ms)
{
	struct timespec now, from;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static int late(const char *name, int n)
{
	char *page = aligned_alloc(SIZE, SIZE), byte;
	int file = open(name, O_WRONLY | O_DIRECT), wake[2], unswitched = 0;
	struct sched_param first = { .sched_priority = 1 };
	long before;
	pid_t pid;

	check(file >= 0 && page && !pipe(wake), name);
	memset(page, 1, SIZE);
	pid = fork();
	check(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_NAME, "gate-late");
		close(wake[1]);
		while (read(wake[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	sched_setscheduler(0, SCHED_FIFO, &first); /* if it may */
	wait_for_line();
	for (int i = 0; i < n; i++) {
		usleep(5000);
		before = switches();
		check(pwrite(file, page, SIZE, 0) == SIZE, "write");
		spin_ms(15);
		unswitched += switches() == before;
		check(write(wake[1], "", 1) == 1, "pipe");
	}
	close(wake[1]);
	waitpid(pid, NULL, 0);
	printf("{\"rounds\":%d,\"unswitched\":%d}\n", n, unswitched);
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, SIZE);
	if (argc == 3 && !strcmp(argv[1], "int80"))
		return int80(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "die"))
		return die(argv[2], atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "forks"))
		return forks(argv[2], atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "keys"))
		return keys(argv[2], atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "together"))
		return together(argv[2], atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "hogs"))
		return hogs(atoi(argv[2]), atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "late"))
		return late(argv[2], atoi(argv[3]));
	fprintf(stderr, "usage: actor int80 FILE | die FILE N | forks FILE N | keys FILE N |\n"
			"             together DIR N | hogs CPU N | late FILE N\n");
	return 2;
}
