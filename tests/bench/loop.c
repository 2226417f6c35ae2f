// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop.c - does one kind of I/O again and again, and says what one costs.
 *
 * loop KIND FILE N
 *
 * FILE is made, and given SIZE bytes, if need be. N operations are done in BATCHES batches, after a
 * warm-up of one more. The preparation of a batch is not timed. One line on stdout:
 *
 *   KIND N MEDIAN MEAN BEST READS WRITES OPENS FSYNCS URINGS
 *
 * are ns per operation (of the batch in the middle, of all, of the fastest batch), and how many
 * calls it has made altogether, for those who count them.
 *
 * In a guest whose clock advances 1 ns per instruction, these are instructions; "clock" shows
 * whether it does: it executes 1000 of them per operation, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A fault maps all of AROUND that is cached (fault_around_bytes). */
enum { PAGE = 4096, SIZE = 8 << 20, RECORD = 8, BATCHES = 20, AROUND = 65536 };

static char *page; /* aligned, for O_DIRECT */
static volatile char *mapped;
static const char *path;
static int fd;
static struct {
	long reads, writes, opens, fsyncs, urings;
} calls;

static int file_read(off_t at)
{
	calls.reads++;
	return pread(fd, page, PAGE, at) == PAGE ? 0 : -1;
}

static int file_write(off_t at, size_t len)
{
	calls.writes++;
	return pwrite(fd, page, len, at) == (ssize_t)len ? 0 : -1;
}

static int file_open(int flags)
{
	calls.opens++;
	return open(path, flags, 0600);
}

static int file_sync(void)
{
	calls.fsyncs++;
	return fsync(fd);
}

static int do_pread(long i)
{
	(void)i;
	return file_read(0);
}

/* Read on from where the last one ended: lseek_start() went back to the start. */
static int do_read(long i)
{
	(void)i;
	calls.reads++;
	return read(fd, page, PAGE) == PAGE ? 0 : -1;
}

static int do_write(long i)
{
	(void)i;
	return file_write(0, PAGE);
}

/* Pages that no request has two of; pages_write() ends the batch. */
static int do_wback(long i)
{
	return file_write(2 * i * PAGE, PAGE);
}

/* No operation that the bench counts: a call of kind meta. */
static int pages_write(void)
{
	return sync_file_range(fd, 0, SIZE, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static int do_openclose(long i)
{
	int other = file_open(O_RDONLY);

	(void)i;
	return other < 0 ? -1 : close(other);
}

/* The file grows, so there always is something for the journal to commit. */
static int do_fsync(long i)
{
	return file_write(SIZE + i * RECORD, RECORD) || file_sync() ? -1 : 0;
}

static int do_getppid(long i)
{
	(void)i;
	return syscall(SYS_getppid) < 0 ? -1 : 0;
}

/* A page that is cached, but not mapped. */
static int do_fault(long i)
{
	(void)mapped[i * AROUND];
	return 0;
}

/* A page of memory of no file. */
static int do_anon(long i)
{
	mapped[i * PAGE] = 1;
	return 0;
}

static int map_anew(int flags, int of)
{
	if (mapped)
		munmap((void *)mapped, SIZE);
	mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, of, 0);
	return mapped == MAP_FAILED ? -1 : madvise((void *)mapped, SIZE, MADV_NOHUGEPAGE);
}

static int map_file(void)
{
	return map_anew(MAP_SHARED, fd);
}

static int map_anon(void)
{
	return map_anew(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* A ring for one request at a time. */
static struct {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;

static int ring_open(void)
{
	struct io_uring_params p = {};
	char *sq, *cq;

	if (ring.sqes)
		return 0;
	ring.fd = syscall(SYS_io_uring_setup, 4, &p);
	if (ring.fd < 0)
		return -1;
	sq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
		  IORING_OFF_SQ_RING);
	cq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
		  IORING_OFF_CQ_RING);
	ring.sqes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			 IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqes == MAP_FAILED)
		return -1;
	ring.sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	ring.sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (unsigned int *)(sq + p.sq_off.array);
	ring.cq_head = (unsigned int *)(cq + p.cq_off.head);
	ring.cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return 0;
}

/* Submits a read and waits for it, in one call. */
static int do_uring(long i)
{
	unsigned int at = *ring.sq_tail & *ring.sq_mask;
	const struct io_uring_cqe *done = &ring.cqes[*ring.cq_head & *ring.cq_mask];

	(void)i;
	ring.sqes[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = fd, .len = PAGE, .addr = (unsigned long)page
	};
	ring.sq_array[at] = at;
	__atomic_store_n(ring.sq_tail, *ring.sq_tail + 1, __ATOMIC_RELEASE);
	calls.urings++;
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -1;
	__atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
	return done->res == PAGE ? 0 : -1;
}

static int do_clock(long i)
{
	long n = 499;

	(void)i;
#ifdef __x86_64__
	asm volatile("1: dec %0\n\tjnz 1b\n\tnop\n\tnop" : "+r"(n) : : "cc");
#endif
	return n;
}

static int lseek_start(void)
{
	return lseek(fd, 0, SEEK_SET);
}

/*
 * Cuts the appended data off, and writes the cut to disk: the next batch has nothing of it to do.
 */
static int cut_appended(void)
{
	return ftruncate(fd, SIZE) || file_sync() ? -1 : 0;
}

static const struct kind {
	const char *name;
	int (*run)(long i);
	int (*before)(void);
	int (*after)(void); /* is of the batch's time */
	int flags;
	long max; /* operations in a batch, 0: any */
} kinds[] = {
	{ "pread", .run = do_pread },
	{ "read", .run = do_read, .before = lseek_start, .max = SIZE / PAGE },
	{ "write", .run = do_write },
	{ "wback", .run = do_wback, .after = pages_write, .max = SIZE / PAGE / 2 },
	{ "openclose", .run = do_openclose },
	{ "fsync", .run = do_fsync, .before = cut_appended },
	{ "dread", .run = do_pread, .flags = O_DIRECT },
	{ "uring", .run = do_uring, .before = ring_open, .flags = O_DIRECT },
	{ "fault", .run = do_fault, .before = map_file, .max = SIZE / AROUND },
	{ "anon", .run = do_anon, .before = map_anon, .max = SIZE / PAGE },
	{ "getppid", .run = do_getppid },
	{ "clock", .run = do_clock },
	{},
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int file_prepare(int flags)
{
	struct stat st;

	fd = file_open(O_RDWR | O_CREAT);
	if (fd < 0 || fstat(fd, &st))
		return -1;
	if (st.st_size != SIZE && ftruncate(fd, 0))
		return -1;
	for (off_t at = 0; at < SIZE; at += PAGE) /* or else read them, to have them cached */
		if (st.st_size == SIZE ? file_read(at) : file_write(at, PAGE))
			return -1;
	if (file_sync())
		return -1;
	return flags ? fcntl(fd, F_SETFL, flags) : 0;
}

static int batch_run(const struct kind *k, long n, double *ret_ns)
{
	double start;

	if (k->before && k->before() < 0)
		return -1;
	start = now_ns();
	for (long i = 0; i < n; i++)
		if (k->run(i))
			return -1;
	if (k->after && k->after())
		return -1;
	*ret_ns = now_ns() - start;
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int run(const struct kind *k, long n)
{
	double ns[BATCHES], sum = 0;
	long each = n / BATCHES ? n / BATCHES : 1;

	if (k->max && each > k->max)
		each = k->max;
	if (batch_run(k, each, &ns[0]))
		return -1;
	for (int b = 0; b < BATCHES; b++) {
		if (batch_run(k, each, &ns[b]))
			return -1;
		sum += ns[b];
	}
	qsort(ns, BATCHES, sizeof(ns[0]), compare);
	printf("%s %ld %f %f %f %ld %ld %ld %ld %ld\n", k->name, each * BATCHES,
	       (ns[BATCHES / 2 - 1] + ns[BATCHES / 2]) / 2 / each, sum / BATCHES / each,
	       ns[0] / each, calls.reads, calls.writes, calls.opens, calls.fsyncs, calls.urings);
	return 0;
}

int main(int argc, char **argv)
{
	const struct kind *k = kinds;
	char *end;
	long n;

	if (argc != 4) {
		fprintf(stderr, "usage: loop KIND FILE N\n");
		return 2;
	}
	while (k->name && strcmp(k->name, argv[1]))
		k++;
	n = strtol(argv[3], &end, 10);
	if (!k->name || *end || n < 1) {
		fprintf(stderr, "loop: no such kind, or not a number\n");
		return 2;
	}
	path = argv[2];
	page = aligned_alloc(PAGE, PAGE);
	if (!page || !memset(page, 1, PAGE) || file_prepare(k->flags) || run(k, n)) {
		fprintf(stderr, "loop: cannot do '%s' on '%s': %s\n", k->name, path,
			strerror(errno));
		return 1;
	}
	return 0;
}
