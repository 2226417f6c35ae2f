// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm: every kind of I/O at once, by many more threads than there are CPUs, while processes and
 * threads come and go in every way there is.
 *
 *   storm DIR SECONDS PROCESSES THREADS   with files in DIR, that many processes of so many threads
 *   storm workers FILE N                  N rings, one after the other, each of which has FILE read
 *                                         by workers of io_uring: kernel threads that end with it
 *
 * Like tests/workload.c with -w it prints "ready", begins when a line arrives on stdin, and prints
 * a line of JSON: the calls of each class that were begun and that were seen to end. The others are
 * of threads that were killed, in the call or right before or after it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum class { READ, WRITE, OPEN, CLOSE, FSYNC, COPY, META, N_CLASSES };

static const char *const class_names[] = {
	"read", "write", "open", "close", "fsync", "copy", "meta",
};

enum { PAGE = 4096, FILE_SIZE = 128 << 10, SHARED_SIZE = 1 << 20, MAX_SLOTS = 1024 };
enum { OPS_OF_A_THREAD = 97, STACK = 64 << 10 };

/* One for each thread that there is at a time; whoever comes next adds to it. Shared by all. */
struct slot {
	uint64_t begun[N_CLASSES], ended[N_CLASSES], threads, moves;
};

static struct slot *slots;
static const char *dir;
static uint64_t end_ns;
static long n_cpus;

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* ---- one thread ---- */

struct worker {
	struct slot *slot;
	int index;
	uint32_t seed;
	int own, direct, shared, out; /* descriptors */
	char *page;
	char name[96], other[96];
};

static long counted(struct worker *w, enum class class, long nr, long a, long b, long c, long d,
		    long e, long f)
{
	long ret;

	w->slot->begun[class]++;
	atomic_signal_fence(memory_order_seq_cst);
	ret = syscall(nr, a, b, c, d, e, f);
	atomic_signal_fence(memory_order_seq_cst);
	w->slot->ended[class]++;
	return ret;
}

#define CALL6(w, class, name, a, b, c, d, e, f, ...)                                               \
	counted(w, class, SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),       \
		(long)(f))
#define CALL(w, class, ...) CALL6(w, class, __VA_ARGS__, 0, 0, 0, 0, 0, 0)

static int file_open(struct worker *w, const char *name, int flags)
{
	return CALL(w, OPEN, openat, AT_FDCWD, name, flags | O_CREAT | O_CLOEXEC, 0600);
}

static void read_or_write(struct worker *w, uint32_t r)
{
	int fd = r & 1 ? w->shared : r & 2 ? w->direct : w->own;
	off_t at = (r >> 4) % ((fd == w->shared ? SHARED_SIZE : FILE_SIZE) / PAGE) * PAGE;

	if (r & 4)
		CALL(w, READ, pread64, fd, w->page, PAGE, at);
	else
		CALL(w, WRITE, pwrite64, fd, w->page, PAGE, at);
}

static void sync_somehow(struct worker *w, uint32_t r)
{
	int fd = r & 1 ? w->shared : w->own;

	switch (r >> 4 & 3) {
	case 0:
		CALL(w, FSYNC, fsync, fd);
		break;
	case 1:
		CALL(w, FSYNC, fdatasync, fd);
		break;
	default:
		CALL(w, META, sync_file_range, fd, 0, FILE_SIZE,
		     SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			     SYNC_FILE_RANGE_WAIT_AFTER);
	}
}

static void allocate(struct worker *w, uint32_t r)
{
	off_t at = (r >> 4) % (FILE_SIZE / PAGE) * PAGE;

	switch (r & 7) {
	case 0:
		CALL(w, META, ftruncate, w->own, at);
		break;
	case 1:
	case 2:
		CALL(w, META, fallocate, w->own, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
		     4 * PAGE);
		break;
	default:
		CALL(w, META, fallocate, w->own, 0, 0, FILE_SIZE);
	}
}

static void copy(struct worker *w, uint32_t r)
{
	off_t from = (r >> 4) % (FILE_SIZE / PAGE) * PAGE, to = 0;

	if (r & 1) {
		lseek(w->out, 0, SEEK_SET);
		CALL(w, COPY, sendfile, w->out, w->shared, &from, 4 * PAGE);
	} else {
		CALL(w, COPY, copy_file_range, w->shared, &from, w->out, &to, 4 * PAGE, 0);
	}
}

static void use_names(struct worker *w, uint32_t r)
{
	struct stat st;
	int fd;

	switch (r >> 4 & 7) {
	case 0:
		CALL(w, META, renameat, AT_FDCWD, w->name, AT_FDCWD, w->other);
		break;
	case 1:
		CALL(w, META, unlinkat, AT_FDCWD, w->other);
		break;
	case 2:
		CALL(w, META, fstat, w->shared, &st);
		break;
	case 3:
		CALL(w, META, newfstatat, AT_FDCWD, w->name, &st);
		break;
	default:
		fd = file_open(w, w->name, O_RDWR);
		if (fd >= 0)
			CALL(w, CLOSE, close, fd);
	}
}

/* To a CPU of its own choice, if that is there, until it chooses again. */
static void move(struct worker *w)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(random_next(&w->seed) % n_cpus, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		w->slot->moves++;
}

static void do_something(struct worker *w)
{
	uint32_t r = random_next(&w->seed), kind = r % 16;

	r >>= 4;
	if (kind < 6)
		read_or_write(w, r);
	else if (kind < 8)
		sync_somehow(w, r);
	else if (kind < 10)
		allocate(w, r);
	else if (kind < 12)
		copy(w, r);
	else if (kind < 15)
		use_names(w, r);
	else if (r & 2)
		move(w);
	else /* so that there is something to read and to wait for */
		CALL(w, META, fadvise64, r & 1 ? w->shared : w->own, 0, 0, POSIX_FADV_DONTNEED);
}

static void on_signal(int signo)
{
	(void)signo;
}

/*
 * Signals for this thread alone, at times that fit nothing else: each is taken by the handler, so a
 * call that it ends returns EINTR. A signal that another thread took would make the call begin
 * again.
 */
static timer_t take_signals(uint32_t seed)
{
	long ns = 700000 + random_next(&seed) % 3000000;
	struct itimerspec every = { { 0, ns }, { 0, ns } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	timer_t timer;

	event._sigev_un._tid = gettid();
	check(!timer_create(CLOCK_MONOTONIC, &event, &timer), "timer");
	check(!timer_settime(timer, 0, &every, NULL), "timer");
	return timer;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	timer_t timer = take_signals(w->seed);
	char name[96];

	w->slot->threads++;
	snprintf(w->name, sizeof(w->name), "%s/%d.a", dir, w->index);
	snprintf(w->other, sizeof(w->other), "%s/%d.b", dir, w->index);
	w->own = file_open(w, w->name, O_RDWR);
	w->direct = file_open(w, w->name, O_RDWR | O_DIRECT);
	snprintf(name, sizeof(name), "%s/%d.out", dir, w->index);
	w->out = file_open(w, name, O_RDWR);
	snprintf(name, sizeof(name), "%s/shared%d", dir, w->index % 2);
	w->shared = file_open(w, name, O_RDWR);
	for (int i = 0; i < OPS_OF_A_THREAD && now_ns() < end_ns; i++)
		do_something(w);
	CALL(w, CLOSE, close, w->own);
	CALL(w, CLOSE, close, w->direct);
	CALL(w, CLOSE, close, w->out);
	CALL(w, CLOSE, close, w->shared);
	timer_delete(timer);
	return NULL;
}

/* ---- one process ---- */

enum fate { ENDS, IS_KILLED, EXITS_IN_A_CALL, EXECS, THREAD_EXECS, N_FATES };

static void become_another(void)
{
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static void *exec_in_thread(void *arg)
{
	become_another();
	return arg;
}

/* Meets its fate while its threads are in the middle of something. */
static void end_somehow(enum fate fate)
{
	pthread_t thread;

	if (fate == IS_KILLED)
		kill(getpid(), SIGKILL);
	if (fate == EXITS_IN_A_CALL)
		_exit(0);
	if (fate == EXECS)
		become_another();
	if (fate == THREAD_EXECS) {
		pthread_create(&thread, NULL, exec_in_thread, NULL);
		pthread_join(thread, NULL);
	}
}

/* Threads that are followed by others when they have done their share. */
static int process(int first, int n, uint32_t seed)
{
	enum fate fate = random_next(&seed) % N_FATES;
	uint64_t until = now_ns() + (20 + random_next(&seed) % 300) * 1000000ull;
	struct worker *workers = calloc(n, sizeof(*workers));
	pthread_t *threads = calloc(n, sizeof(*threads));
	char *pages = aligned_alloc(PAGE, (size_t)n * PAGE);
	struct sigaction act = { .sa_handler = on_signal };
	pthread_attr_t attr;

	check(workers && threads && pages && !pthread_attr_init(&attr) &&
		      !pthread_attr_setstacksize(&attr, STACK),
	      "memory");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGALRM, &act, NULL);
	for (int i = 0; i < n; i++) {
		workers[i] = (struct worker){ .slot = slots + first + i,
					      .index = first + i,
					      .page = pages + (size_t)i * PAGE };
		workers[i].seed = random_next(&seed);
		check(!pthread_create(&threads[i], &attr, work, &workers[i]), "thread");
	}
	for (int i = 0; now_ns() < until && now_ns() < end_ns; i = (i + 1) % n) {
		pthread_join(threads[i], NULL);
		check(!pthread_create(&threads[i], &attr, work, &workers[i]), "thread");
	}
	if (now_ns() < end_ns)
		end_somehow(fate);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* ---- all ---- */

static pid_t process_start(int first, int n, uint32_t seed)
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (!pid)
		_exit(process(first, n, seed));
	return pid;
}

static void files_make(void)
{
	static char zeroes[SHARED_SIZE];
	char name[96];
	int fd;

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/shared%d", dir, i);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		check(fd >= 0 && write(fd, zeroes, SHARED_SIZE) == SHARED_SIZE && !close(fd), name);
	}
}

static void wait_for_line(void)
{
	char line[16];

	check(write(1, "ready\n", 6) == 6, "stdout");
	check(read(0, line, sizeof(line)) > 0, "stdin");
}

static void say(int n_processes, int n_slots)
{
	struct slot sum = {};

	for (int i = 0; i < n_slots; i++) {
		for (int c = 0; c < N_CLASSES; c++) {
			sum.begun[c] += slots[i].begun[c];
			sum.ended[c] += slots[i].ended[c];
		}
		sum.threads += slots[i].threads;
		sum.moves += slots[i].moves;
	}
	printf("{\"processes\":%d,\"threads\":%lu,\"moves\":%lu", n_processes, sum.threads,
	       sum.moves);
	for (int c = 0; c < N_CLASSES; c++)
		printf(",\"%s\":{\"begun\":%lu,\"ended\":%lu}", class_names[c], sum.begun[c],
		       sum.ended[c]);
	printf("}\n");
}

static int storm(int seconds, int n, int n_threads)
{
	pid_t *pids = calloc(n, sizeof(*pids)), pid;
	int started = 0;

	slots = mmap(NULL, MAX_SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(slots != MAP_FAILED && pids && n * n_threads <= MAX_SLOTS, "memory");
	files_make();
	wait_for_line();
	end_ns = now_ns() + seconds * 1000000000ull;
	for (int i = 0; i < n; i++)
		pids[i] = process_start(i * n_threads, n_threads, ++started);
	while ((pid = wait(NULL)) > 0)
		for (int i = 0; i < n && now_ns() < end_ns; i++)
			if (pids[i] == pid)
				pids[i] = process_start(i * n_threads, n_threads, ++started);
	say(started, n * n_threads);
	return 0;
}

/* ---- workers of io_uring, without its library ---- */

struct ring {
	int fd;
	uint32_t *tail, *mask, *array;
	struct io_uring_sqe *entries;
	size_t len;
	void *map;
};

static void ring_open(struct ring *r, unsigned int n)
{
	struct io_uring_params p = {};

	r->fd = syscall(SYS_io_uring_setup, n, &p);
	check(r->fd >= 0, "io_uring");
	r->len = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	r->map = mmap(NULL, r->len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->entries = mmap(NULL, p.sq_entries * sizeof(*r->entries), PROT_READ | PROT_WRITE,
			  MAP_SHARED, r->fd, IORING_OFF_SQES);
	check(r->map != MAP_FAILED && (void *)r->entries != MAP_FAILED, "io_uring");
	r->tail = (uint32_t *)((char *)r->map + p.sq_off.tail);
	r->mask = (uint32_t *)((char *)r->map + p.sq_off.ring_mask);
	r->array = (uint32_t *)((char *)r->map + p.sq_off.array);
}

/* @n reads, each to be made by a worker. */
static void ring_read(struct ring *r, int file, char *pages, unsigned int n)
{
	uint32_t tail = *r->tail, at;

	for (unsigned int i = 0; i < n; i++) {
		at = tail++ & *r->mask;
		r->entries[at] = (struct io_uring_sqe){
			.opcode = IORING_OP_READ,
			.flags = IOSQE_ASYNC,
			.fd = file,
			.len = PAGE,
			.addr = (uintptr_t)(pages + i * PAGE),
			.off = i * PAGE,
		};
		r->array[at] = at;
	}
	__atomic_store_n(r->tail, tail, __ATOMIC_RELEASE);
	check(syscall(SYS_io_uring_enter, r->fd, n, n, IORING_ENTER_GETEVENTS, NULL, 0) == n,
	      "io_uring_enter");
}

/* In a process of its own: its workers end with it. */
static void one_ring(int file, char *pages, unsigned int n)
{
	struct ring ring;

	ring_open(&ring, n);
	ring_read(&ring, file, pages, n);
	_exit(0);
}

static int workers(const char *name, int rings)
{
	enum { READS = 4 };
	int file = open(name, O_RDONLY), status, good = 0;
	char *pages = aligned_alloc(PAGE, READS * PAGE);

	check(file >= 0 && pages, name);
	wait_for_line();
	for (int i = 0; i < rings; i++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (!pid)
			one_ring(file, pages, READS);
		waitpid(pid, &status, 0);
		good += !status;
	}
	printf("{\"rings\":%d,\"good\":%d}\n", rings, good);
	return good != rings;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, PAGE);
	if (argc == 4 && !strcmp(argv[1], "workers"))
		return workers(argv[2], atoi(argv[3]));
	if (argc != 5) {
		fprintf(stderr, "usage: storm DIR SECONDS PROCESSES THREADS | workers FILE N\n");
		return 2;
	}
	dir = argv[1];
	n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	return storm(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
}
