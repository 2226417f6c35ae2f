// SPDX-License-Identifier: GPL-2.0-only
/*
 * workload: exactly N operations of each kind, and a count of every call that was made.
 *
 *   workload [-cw] [-t THREADS] [-l LOOPS | -d SECONDS] [-s SIZE] FILE KIND=N[,size=BYTES]...
 *
 *   -t  that many threads, each doing everything (the process's first thread is one of them)
 *   -l  go through the list so often
 *   -d  go through the list until so many seconds have passed
 *   -s  make FILE exactly this big, filled (default: 1 MiB, or as it is when it is big enough);
 *       a block device is taken as it is
 *   -c  drop FILE from the page cache before the start
 *   -w  print "ready", and start when a line arrives on stdin
 *
 * The steps run in the order given. At the end one line of JSON says what was called between
 * "ready" and that line: by class (read, write, open, close, fsync, copy, meta), by call ("calls"),
 * on pipes ("pipe"), and what no I/O tracer should count ("untraced"). "setup" are the calls on
 * files that this process made before that (opening its descriptors). bytes are what read, write
 * and copy calls returned. elapsed_ns is the time of the steps.
 *
 * Exit status: 0; 1 if a call did not return what it should, or a preparation failed; 2 usage.
 *
 * One operation of a kind, unless it is just the call of its name:
 *
 *   read, readv,          and an lseek (untraced) when the end of FILE is reached; what is
 *   write, writev         written is always overwritten
 *   open .. creat         and a close_range (close)
 *   open_fail             an openat that fails with ENOENT
 *   close                 of a dup (untraced), so that there is no open
 *   msync                 of a clean mapping, so that there is no page fault
 *   sendfile              from FILE to another regular file, and an lseek
 *   splice                from FILE to a pipe, and a read of the pipe ("pipe")
 *   getdents              of FILE.d, and an lseek, so that there is something to read again
 *   truncate, ftruncate,  of another regular file
 *   fallocate
 *   dread, rand_dread     pread64 from an O_DIRECT descriptor, in order or at random places
 *   dwrite, osync         pwrite64 to an O_DIRECT or an O_SYNC descriptor
 *   short_read            pread64 100 bytes before the end: returns 100
 *   eof_read              pread64 at the end: returns 0
 *   bad_read              read of descriptor -1: EBADF; counted as a read all the same
 *   pipe_read, pipe_write a write to and a read from a pipe ("pipe")
 *   getppid               untraced
 *
 * The size of an operation is 4 KiB unless given. Also in "pipe": the read of stdin that -w makes.
 * stdin and stdout should not be regular files.
 *
 * FILE, and a directory FILE.d with names to unlink, rename and so on, are made and removed by
 * processes of their own that end before "ready" or start after the JSON line. Calls are made
 * through syscall(2), because the C library may choose another call than the one asked for. The C
 * library itself makes a few when a program starts, and the dynamic linker many: trace from
 * "ready" on.
 *
 * Newer machines do not have all of these calls: then it is one of the same class that begins at a
 * directory.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_STEPS   64
#define MAX_THREADS 256
#define MIN_FILE    4096
#define BLOCK       4096

enum class { READ, WRITE, OPEN, CLOSE, FSYNC, COPY, META, UNTRACED, N_CLASSES };

static const char *const class_names[] = {
	"read", "write", "open", "close", "fsync", "copy", "meta", "untraced",
};

/* Every call that is ever made while it counts, and its class. */
/* clang-format off */
#define CALLS(X)                                                                                   \
	X(read, READ) X(pread64, READ) X(readv, READ) X(preadv, READ) X(preadv2, READ)             \
	X(write, WRITE) X(pwrite64, WRITE) X(writev, WRITE) X(pwritev, WRITE) X(pwritev2, WRITE)   \
	X(open, OPEN) X(openat, OPEN) X(openat2, OPEN) X(creat, OPEN)                              \
	X(close, CLOSE) X(close_range, CLOSE)                                                      \
	X(fsync, FSYNC) X(fdatasync, FSYNC) X(sync_file_range, META) X(syncfs, FSYNC)             \
	X(sync, FSYNC) X(msync, FSYNC)                                                             \
	X(sendfile, COPY) X(splice, COPY) X(copy_file_range, COPY)                                 \
	X(stat, META) X(fstat, META) X(statx, META) X(getdents64, META) X(unlink, META)            \
	X(rename, META) X(mkdir, META) X(rmdir, META) X(truncate, META) X(ftruncate, META)         \
	X(fallocate, META) X(link, META) X(symlink, META) X(newfstatat, META) X(unlinkat, META)    \
	X(renameat, META) X(mkdirat, META) X(linkat, META) X(symlinkat, META)                      \
	X(lseek, UNTRACED) X(dup, UNTRACED) X(getppid, UNTRACED)
/* clang-format on */

#define X(name, class) CALL_##name,
enum call { CALLS(X) N_CALLS };
#undef X

static const struct {
	const char *name;
	enum class class;
} calls[] = {
#define X(name, class) { #name, class },
	CALLS(X)
#undef X
};

struct count {
	uint64_t count, bytes, errors;
};

/* Descriptors that a kind needs; each thread opens its own before the start. */
enum fd { FD_FILE, FD_DIRECT, FD_SYNC, FD_OUT, FD_DIR, FD_PIPE_OUT, FD_PIPE_IN, N_FDS };

#define NEED(fd)  (1U << (fd))
#define NEED_PIPE (NEED(FD_PIPE_OUT) | NEED(FD_PIPE_IN))
#define NEED_MAP  (1U << N_FDS)

/* Names FILE.d/KIND.STEP.THREAD.I that must be there before the start. */
enum names { NO_NAMES, NEW_NAMES, ONE_FILE, ALL_FILES, ALL_DIRS };

struct step {
	const struct kind *kind;
	uint64_t n;
	size_t size;
	int index;
};

struct worker {
	int index;
	int fd[N_FDS];
	char *buf; /* of max_size bytes, page-aligned */
	void *map;
	uint64_t pos, random, unexpected;
	struct count counts[N_CALLS], pipe[N_CALLS];
	char from[PATH_MAX], to[PATH_MAX];
	pthread_t thread;
};

struct kind {
	const char *name;
	long (*run)(struct worker *w, const struct step *s, uint64_t i);
	unsigned int needs;
	enum names names;
	long gives; /* a result, -errno, or one of these: */
#define GIVES_SIZE LONG_MAX
#define GIVES_SOME (LONG_MAX - 1) /* anything above 0 */
};

static struct {
	const char *file;
	bool drop_cache, wait;
	unsigned int threads;
	uint64_t loops, seconds, file_size, wanted_size;
	struct step steps[MAX_STEPS];
	int n_steps;
	unsigned int needs;
	bool scratch; /* FILE.d is needed */
	size_t max_size;
} opt = { .threads = 1, .loops = 1, .max_size = BLOCK };

static struct worker workers[MAX_THREADS];
static pthread_barrier_t start;
static uint64_t deadline_ns;

static void fail(int status, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

static void fail(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("workload: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	_exit(status);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- counted calls: the result, or -errno ---- */

static long note(struct count *counts, enum call call, long ret)
{
	struct count *c = &counts[call];
	enum class class = calls[call].class;

	c->count++;
	if (ret < 0) {
		c->errors++;
		return -errno;
	}
	if (class == READ || class == WRITE || class == COPY)
		c->bytes += (uint64_t)ret;
	return ret;
}

#define CALL(w, name, ...) note((w)->counts, CALL_##name, syscall(SYS_##name, __VA_ARGS__))
/* The C library makes the second where the machine does not have the first. */
#ifdef SYS_open
#define CALL_OLD(w, name, instead, ...) CALL(w, name, __VA_ARGS__)
#else
#define CALL_OLD(w, name, instead, ...) note((w)->counts, CALL_##instead, name(__VA_ARGS__))
#endif
#define CALL_ON_PIPE(w, name, ...) note((w)->pipe, CALL_##name, syscall(SYS_##name, __VA_ARGS__))

/* ---- places, names ---- */

static off_t place(const struct step *s, uint64_t i)
{
	return (off_t)(i % (opt.file_size / s->size) * s->size);
}

static off_t random_place(struct worker *w, const struct step *s)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return place(s, w->random);
}

/* For calls that use the descriptor's position: go back when the next one would be cut short. */
static void go_back_at_end(struct worker *w, const struct step *s)
{
	if (w->pos + s->size > opt.file_size) {
		CALL(w, lseek, w->fd[FD_FILE], 0, SEEK_SET);
		w->pos = 0;
	}
	w->pos += s->size;
}

static void set_name(char *to, const struct step *s, int thread, uint64_t i)
{
	snprintf(to, PATH_MAX, "%s.d/%s.%d.%d.%llu", opt.file, s->kind->name, s->index, thread,
		 (unsigned long long)i);
}

static const char *name(struct worker *w, const struct step *s, uint64_t i)
{
	set_name(w->from, s, w->index, i);
	return w->from;
}

static struct iovec *halves(struct worker *w, const struct step *s, struct iovec iov[2])
{
	iov[0] = (struct iovec){ w->buf, s->size / 2 };
	iov[1] = (struct iovec){ w->buf + s->size / 2, s->size - s->size / 2 };
	return iov;
}

/* ---- one operation of each kind ---- */

#define RUN(kind) static long run_##kind(struct worker *w, const struct step *s, uint64_t i)
#define UNUSED    (void)w, (void)s, (void)i

RUN(read)
{
	UNUSED;
	go_back_at_end(w, s);
	return CALL(w, read, w->fd[FD_FILE], w->buf, s->size);
}

RUN(write)
{
	UNUSED;
	go_back_at_end(w, s);
	return CALL(w, write, w->fd[FD_FILE], w->buf, s->size);
}

RUN(readv)
{
	struct iovec iov[2];

	UNUSED;
	go_back_at_end(w, s);
	return CALL(w, readv, w->fd[FD_FILE], halves(w, s, iov), 2);
}

RUN(writev)
{
	struct iovec iov[2];

	UNUSED;
	go_back_at_end(w, s);
	return CALL(w, writev, w->fd[FD_FILE], halves(w, s, iov), 2);
}

RUN(pread)
{
	return CALL(w, pread64, w->fd[FD_FILE], w->buf, s->size, place(s, i));
}

RUN(pwrite)
{
	return CALL(w, pwrite64, w->fd[FD_FILE], w->buf, s->size, place(s, i));
}

RUN(preadv)
{
	struct iovec iov[2];

	return CALL(w, preadv, w->fd[FD_FILE], halves(w, s, iov), 2, place(s, i), 0);
}

RUN(pwritev)
{
	struct iovec iov[2];

	return CALL(w, pwritev, w->fd[FD_FILE], halves(w, s, iov), 2, place(s, i), 0);
}

RUN(preadv2)
{
	struct iovec iov[2];

	return CALL(w, preadv2, w->fd[FD_FILE], halves(w, s, iov), 2, place(s, i), 0, 0);
}

RUN(pwritev2)
{
	struct iovec iov[2];

	return CALL(w, pwritev2, w->fd[FD_FILE], halves(w, s, iov), 2, place(s, i), 0, 0);
}

RUN(dread)
{
	return CALL(w, pread64, w->fd[FD_DIRECT], w->buf, s->size, place(s, i));
}

RUN(rand_dread)
{
	UNUSED;
	return CALL(w, pread64, w->fd[FD_DIRECT], w->buf, s->size, random_place(w, s));
}

RUN(dwrite)
{
	return CALL(w, pwrite64, w->fd[FD_DIRECT], w->buf, s->size, place(s, i));
}

RUN(osync)
{
	return CALL(w, pwrite64, w->fd[FD_SYNC], w->buf, s->size, place(s, i));
}

RUN(short_read)
{
	UNUSED;
	return CALL(w, pread64, w->fd[FD_FILE], w->buf, s->size, opt.file_size - 100);
}

RUN(eof_read)
{
	UNUSED;
	return CALL(w, pread64, w->fd[FD_FILE], w->buf, s->size, opt.file_size);
}

RUN(bad_read)
{
	UNUSED;
	return CALL(w, read, -1, w->buf, s->size);
}

/* Give a descriptor back without the call close(). */
static long drop_fd(struct worker *w, long fd)
{
	if (fd >= 0)
		CALL(w, close_range, fd, fd, 0);
	return fd < 0 ? fd : 1;
}

RUN(open)
{
	UNUSED;
	return drop_fd(w, CALL_OLD(w, open, openat, opt.file, O_RDONLY));
}

RUN(openat)
{
	UNUSED;
	return drop_fd(w, CALL(w, openat, AT_FDCWD, opt.file, O_RDONLY));
}

RUN(openat2)
{
	struct open_how how = { .flags = O_RDONLY };

	UNUSED;
	return drop_fd(w, CALL(w, openat2, AT_FDCWD, opt.file, &how, sizeof(how)));
}

RUN(creat)
{
	return drop_fd(w, CALL_OLD(w, creat, openat, name(w, s, i), 0600));
}

RUN(open_fail)
{
	return CALL(w, openat, AT_FDCWD, name(w, s, i), O_RDONLY);
}

RUN(close)
{
	UNUSED;
	return CALL(w, close, CALL(w, dup, w->fd[FD_FILE]));
}

RUN(fsync)
{
	UNUSED;
	return CALL(w, fsync, w->fd[FD_FILE]);
}

RUN(fdatasync)
{
	UNUSED;
	return CALL(w, fdatasync, w->fd[FD_FILE]);
}

RUN(sync_file_range)
{
	unsigned int flags =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	UNUSED;
	return CALL(w, sync_file_range, w->fd[FD_FILE], 0, 0, flags);
}

RUN(syncfs)
{
	UNUSED;
	return CALL(w, syncfs, w->fd[FD_FILE]);
}

RUN(sync)
{
	UNUSED;
	return CALL(w, sync, 0);
}

RUN(msync)
{
	UNUSED;
	return CALL(w, msync, w->map, s->size, MS_SYNC);
}

RUN(sendfile)
{
	off_t from = place(s, i);

	CALL(w, lseek, w->fd[FD_OUT], 0, SEEK_SET);
	return CALL(w, sendfile, w->fd[FD_OUT], w->fd[FD_FILE], &from, s->size);
}

RUN(splice)
{
	off_t from = place(s, i);
	long n = CALL(w, splice, w->fd[FD_FILE], &from, w->fd[FD_PIPE_IN], NULL, s->size, 0);

	if (n > 0)
		CALL_ON_PIPE(w, read, w->fd[FD_PIPE_OUT], w->buf, s->size);
	return n;
}

RUN(copy_file_range)
{
	off_t from = place(s, i), to = 0;

	return CALL(w, copy_file_range, w->fd[FD_FILE], &from, w->fd[FD_OUT], &to, s->size, 0);
}

RUN(pipe)
{
	long n = CALL_ON_PIPE(w, write, w->fd[FD_PIPE_IN], w->buf, s->size);

	UNUSED;
	return n < 0 ? n : CALL_ON_PIPE(w, read, w->fd[FD_PIPE_OUT], w->buf, s->size);
}

RUN(stat)
{
	struct stat st;

	UNUSED;
	return CALL_OLD(w, stat, newfstatat, opt.file, &st);
}

RUN(fstat)
{
	struct stat st;

	UNUSED;
	return CALL(w, fstat, w->fd[FD_FILE], &st);
}

RUN(statx)
{
	struct statx st;

	UNUSED;
	return CALL(w, statx, AT_FDCWD, opt.file, 0, STATX_BASIC_STATS, &st);
}

RUN(getdents)
{
	UNUSED;
	CALL(w, lseek, w->fd[FD_DIR], 0, SEEK_SET);
	return CALL(w, getdents64, w->fd[FD_DIR], w->buf, s->size);
}

RUN(unlink)
{
	return CALL_OLD(w, unlink, unlinkat, name(w, s, i));
}

RUN(rename)
{
	set_name(w->to, s, w->index, i + 1);
	return CALL_OLD(w, rename, renameat, name(w, s, i), w->to);
}

RUN(mkdir)
{
	return CALL_OLD(w, mkdir, mkdirat, name(w, s, i), 0700);
}

RUN(rmdir)
{
	return CALL_OLD(w, rmdir, unlinkat, name(w, s, i));
}

RUN(truncate)
{
	return CALL(w, truncate, name(w, s, 0), i % 2 ? 0 : s->size);
}

RUN(ftruncate)
{
	return CALL(w, ftruncate, w->fd[FD_OUT], i % 2 ? 0 : s->size);
}

RUN(fallocate)
{
	UNUSED;
	return CALL(w, fallocate, w->fd[FD_OUT], 0, 0, s->size);
}

RUN(link)
{
	return CALL_OLD(w, link, linkat, opt.file, name(w, s, i));
}

RUN(symlink)
{
	return CALL_OLD(w, symlink, symlinkat, "target", name(w, s, i));
}

RUN(getppid)
{
	UNUSED;
	return CALL(w, getppid, 0);
}

static const struct kind kinds[] = {
	{ "read", run_read, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "pread", run_pread, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "readv", run_readv, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "preadv", run_preadv, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "preadv2", run_preadv2, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "write", run_write, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "pwrite", run_pwrite, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "writev", run_writev, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "pwritev", run_pwritev, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "pwritev2", run_pwritev2, NEED(FD_FILE), NO_NAMES, GIVES_SIZE },
	{ "dread", run_dread, NEED(FD_DIRECT), NO_NAMES, GIVES_SIZE },
	{ "rand_dread", run_rand_dread, NEED(FD_DIRECT), NO_NAMES, GIVES_SIZE },
	{ "dwrite", run_dwrite, NEED(FD_DIRECT), NO_NAMES, GIVES_SIZE },
	{ "osync", run_osync, NEED(FD_SYNC), NO_NAMES, GIVES_SIZE },
	{ "short_read", run_short_read, NEED(FD_FILE), NO_NAMES, 100 },
	{ "eof_read", run_eof_read, NEED(FD_FILE), NO_NAMES, 0 },
	{ "bad_read", run_bad_read, 0, NO_NAMES, -EBADF },
	{ "open", run_open, 0, NO_NAMES, GIVES_SOME },
	{ "openat", run_openat, 0, NO_NAMES, GIVES_SOME },
	{ "openat2", run_openat2, 0, NO_NAMES, GIVES_SOME },
	{ "creat", run_creat, 0, NEW_NAMES, GIVES_SOME },
	{ "open_fail", run_open_fail, 0, NEW_NAMES, -ENOENT },
	{ "close", run_close, NEED(FD_FILE), NO_NAMES, 0 },
	{ "fsync", run_fsync, NEED(FD_FILE), NO_NAMES, 0 },
	{ "fdatasync", run_fdatasync, NEED(FD_FILE), NO_NAMES, 0 },
	{ "sync_file_range", run_sync_file_range, NEED(FD_FILE), NO_NAMES, 0 },
	{ "syncfs", run_syncfs, NEED(FD_FILE), NO_NAMES, 0 },
	{ "sync", run_sync, 0, NO_NAMES, 0 },
	{ "msync", run_msync, NEED(FD_FILE) | NEED_MAP, NO_NAMES, 0 },
	{ "sendfile", run_sendfile, NEED(FD_FILE) | NEED(FD_OUT), NO_NAMES, GIVES_SIZE },
	{ "splice", run_splice, NEED(FD_FILE) | NEED_PIPE, NO_NAMES, GIVES_SOME },
	{ "copy_file_range", run_copy_file_range, NEED(FD_FILE) | NEED(FD_OUT), NO_NAMES,
	  GIVES_SIZE },
	{ "pipe_read", run_pipe, NEED_PIPE, NO_NAMES, GIVES_SIZE },
	{ "pipe_write", run_pipe, NEED_PIPE, NO_NAMES, GIVES_SIZE },
	{ "stat", run_stat, 0, NO_NAMES, 0 },
	{ "fstat", run_fstat, NEED(FD_FILE), NO_NAMES, 0 },
	{ "statx", run_statx, 0, NO_NAMES, 0 },
	{ "getdents", run_getdents, NEED(FD_DIR), NO_NAMES, GIVES_SOME },
	{ "unlink", run_unlink, 0, ALL_FILES, 0 },
	{ "rename", run_rename, 0, ONE_FILE, 0 },
	{ "mkdir", run_mkdir, 0, NEW_NAMES, 0 },
	{ "rmdir", run_rmdir, 0, ALL_DIRS, 0 },
	{ "truncate", run_truncate, 0, ONE_FILE, 0 },
	{ "ftruncate", run_ftruncate, NEED(FD_OUT), NO_NAMES, 0 },
	{ "fallocate", run_fallocate, NEED(FD_OUT), NO_NAMES, 0 },
	{ "link", run_link, 0, NEW_NAMES, 0 },
	{ "symlink", run_symlink, 0, NEW_NAMES, 0 },
	{ "getppid", run_getppid, 0, NO_NAMES, GIVES_SOME },
};

/* ---- the command line ---- */

static uint64_t number(const char *text, const char *what)
{
	static const char units[] = "kmg";
	char *end;
	uint64_t n;
	const char *unit;

	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		int shift = 10 * (int)(unit - units + 1);

		if (n > UINT64_MAX >> shift)
			errno = ERANGE;
		n <<= shift;
		end++;
	}
	if (errno || *end || *text < '0' || *text > '9' || n == 0)
		fail(2, "not a number: '%s' (%s)", text, what);
	return n;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	fail(2, "no such kind of operation: '%s'", name);
}

static void add_step(char *arg) /* KIND=N[,size=BYTES] */
{
	struct step *s = &opt.steps[opt.n_steps];
	char *count = strchr(arg, '='), *size;

	if (!count)
		fail(2, "not KIND=N: '%s'", arg);
	if (opt.n_steps == MAX_STEPS)
		fail(2, "more than %d steps", MAX_STEPS);
	*count++ = '\0';
	size = strchr(count, ',');
	if (size) {
		*size++ = '\0';
		if (strncmp(size, "size=", 5) != 0)
			fail(2, "not size=BYTES: '%s'", size);
	}
	s->kind = find_kind(arg);
	s->n = number(count, arg);
	s->size = size ? number(size + 5, "size") : BLOCK;
	s->index = opt.n_steps++;
	if (s->kind->run == run_pipe && s->size > BLOCK)
		fail(2, "a pipe may not hold more than %d bytes", BLOCK);
	if (s->size > opt.max_size)
		opt.max_size = s->size;
	opt.needs |= s->kind->needs;
	opt.scratch |= s->kind->names != NO_NAMES || s->kind->needs & (NEED(FD_OUT) | NEED(FD_DIR));
}

static void check_options(void)
{
	if (opt.threads > MAX_THREADS)
		fail(2, "more than %d threads", MAX_THREADS);
	for (int i = 0; opt.seconds && i < opt.n_steps; i++) {
		enum names names = opt.steps[i].kind->names;

		if (names == ALL_FILES || names == ALL_DIRS)
			fail(2, "-d cannot tell how many names '%s' needs",
			     opt.steps[i].kind->name);
	}
}

static void parse_options(int argc, char **argv)
{
	static const char usage[] =
		"usage: workload [-cw] [-t THREADS] [-l LOOPS | -d SECONDS] [-s SIZE] "
		"FILE KIND=N[,size=BYTES]...";
	int c;

	while ((c = getopt(argc, argv, "+cwt:l:d:s:")) != -1) {
		switch (c) {
		case 'c':
			opt.drop_cache = true;
			break;
		case 'w':
			opt.wait = true;
			break;
		case 't':
			opt.threads = (unsigned int)number(optarg, "-t");
			break;
		case 'l':
			opt.loops = number(optarg, "-l");
			break;
		case 'd':
			opt.seconds = number(optarg, "-d");
			break;
		case 's':
			opt.wanted_size = number(optarg, "-s");
			break;
		default:
			fail(2, "%s", usage);
		}
	}
	if (argc - optind < 2)
		fail(2, "%s", usage);
	opt.file = argv[optind];
	for (int i = optind + 1; i < argc; i++)
		add_step(argv[i]);
	check_options();
}

/* ---- before the start ---- */

/* Run F in a process of its own, so that what it calls is not ours. */
static void in_child(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		f();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		fail(1, "cannot start a process: %s", strerror(errno));
	if (status)
		_exit(1);
}

static void remove_scratch(void)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s.d", opt.file);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (unlinkat(dirfd(dir), e->d_name, 0) < 0)
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	rmdir(path);
}

static void make_name(const struct step *s, int thread, uint64_t i)
{
	char path[PATH_MAX];
	int fd;

	set_name(path, s, thread, i);
	if (s->kind->names == ALL_DIRS) {
		if (mkdir(path, 0700) < 0)
			fail(1, "cannot make '%s': %s", path, strerror(errno));
		return;
	}
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		fail(1, "cannot make '%s': %s", path, strerror(errno));
	close(fd);
}

static void make_scratch(void)
{
	char path[PATH_MAX];

	remove_scratch();
	snprintf(path, sizeof(path), "%s.d", opt.file);
	if (mkdir(path, 0700) < 0)
		fail(1, "cannot make '%s': %s", path, strerror(errno));
	for (const struct step *s = opt.steps; s < opt.steps + opt.n_steps; s++) {
		uint64_t n = s->kind->names == ONE_FILE ? 1 : s->n * opt.loops;

		if (s->kind->names <= NEW_NAMES)
			continue;
		for (unsigned int thread = 0; thread < opt.threads; thread++)
			for (uint64_t i = 0; i < n; i++)
				make_name(s, (int)thread, i);
	}
}

/* Fill FILE up to SIZE, with bytes that do not compress to nothing. */
static void fill_file(int fd, uint64_t size)
{
	static unsigned char buf[1 << 20];
	uint64_t at = 0, random = 88172645463325252;

	for (size_t i = 0; i < sizeof(buf); i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		buf[i] = (unsigned char)random;
	}
	while (at < size) {
		size_t want = size - at < sizeof(buf) ? size - at : sizeof(buf);
		ssize_t n = pwrite(fd, buf, want, (off_t)at);

		if (n <= 0)
			fail(1, "cannot fill '%s': %s", opt.file, strerror(errno));
		at += (uint64_t)n;
	}
}

static void make_file(void)
{
	struct stat st;
	int fd = open(opt.file, O_RDWR | O_CREAT, 0600);
	uint64_t size = opt.wanted_size;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(1, "cannot open '%s': %s", opt.file, strerror(errno));
	if (S_ISREG(st.st_mode)) {
		if (!size && (uint64_t)st.st_size < opt.max_size)
			size = opt.max_size > 1 << 20 ? opt.max_size : 1 << 20;
		if (size && size != (uint64_t)st.st_size) {
			if (ftruncate(fd, (off_t)size) < 0)
				fail(1, "cannot resize '%s': %s", opt.file, strerror(errno));
			fill_file(fd, size);
		}
	}
	if (fsync(fd) < 0)
		fail(1, "cannot sync '%s': %s", opt.file, strerror(errno));
	if (opt.drop_cache)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (opt.scratch)
		make_scratch();
}

static int open_fd(struct worker *w, enum fd fd, const char *path, int flags)
{
	long n;

	if (!(opt.needs & NEED(fd)))
		return -1;
	n = CALL(w, openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
	if (n < 0)
		fail(1, "cannot open '%s' as needed: %s", path, strerror((int)-n));
	return (int)n;
}

static void open_worker(struct worker *w)
{
	char path[PATH_MAX];

	w->random = 88172645463325252 + (uint64_t)w->index;
	if (posix_memalign((void **)&w->buf, BLOCK, opt.max_size))
		fail(1, "out of memory");
	memset(w->buf, 'w', opt.max_size);
	w->fd[FD_FILE] = open_fd(w, FD_FILE, opt.file, O_RDWR);
	w->fd[FD_DIRECT] = open_fd(w, FD_DIRECT, opt.file, O_RDWR | O_DIRECT);
	w->fd[FD_SYNC] = open_fd(w, FD_SYNC, opt.file, O_RDWR | O_SYNC);
	snprintf(path, sizeof(path), "%s.d", opt.file);
	w->fd[FD_DIR] = open_fd(w, FD_DIR, path, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s.d/out.%d", opt.file, w->index);
	w->fd[FD_OUT] = open_fd(w, FD_OUT, path, O_RDWR | O_CREAT);
	if (opt.needs & NEED_PIPE && pipe2(&w->fd[FD_PIPE_OUT], O_CLOEXEC) < 0)
		fail(1, "cannot make a pipe: %s", strerror(errno));
	if (opt.needs & NEED_MAP) {
		w->map = mmap(NULL, opt.max_size, PROT_READ, MAP_SHARED, w->fd[FD_FILE], 0);
		if (w->map == MAP_FAILED)
			fail(1, "cannot map '%s': %s", opt.file, strerror(errno));
	}
}

static void measure_file(struct worker *w)
{
	long fd = CALL(w, openat, AT_FDCWD, opt.file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(1, "cannot open '%s': %s", opt.file, strerror((int)-fd));
	opt.file_size = (uint64_t)CALL(w, lseek, fd, 0, SEEK_END);
	CALL(w, close, fd);
	if (opt.file_size < MIN_FILE || opt.file_size < opt.max_size)
		fail(1, "'%s' is too small: %llu bytes", opt.file,
		     (unsigned long long)opt.file_size);
}

/* ---- the counted part ---- */

static bool is_expected(const struct step *s, long ret)
{
	if (s->kind->gives == GIVES_SIZE)
		return ret == (long)s->size;
	if (s->kind->gives == GIVES_SOME)
		return ret > 0;
	return ret == s->kind->gives;
}

static void note_unexpected(struct worker *w, const struct step *s, long ret)
{
	if (w->unexpected++ == 0)
		dprintf(STDERR_FILENO, "workload: %s returned %ld (%s)\n", s->kind->name, ret,
			ret < 0 ? strerror((int)-ret) : "not what it should");
}

static bool run_step(struct worker *w, const struct step *s, uint64_t loop)
{
	for (uint64_t i = loop * s->n; i < (loop + 1) * s->n; i++) {
		long ret = s->kind->run(w, s, i);

		if (!is_expected(s, ret))
			note_unexpected(w, s, ret);
		if (deadline_ns && now_ns() >= deadline_ns)
			return false;
	}
	return true;
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&start);
	for (uint64_t loop = 0; opt.seconds || loop < opt.loops; loop++)
		for (const struct step *s = opt.steps; s < opt.steps + opt.n_steps; s++)
			if (!run_step(w, s, loop))
				return NULL;
	return NULL;
}

static void wait_for_line(struct worker *w)
{
	char c = 0;

	if (syscall(SYS_write, STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(1);
	while (c != '\n' && CALL_ON_PIPE(w, read, STDIN_FILENO, &c, 1) == 1)
		;
}

/* ---- what was called ---- */

static char text[16384];
static size_t text_len;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_len += (size_t)vsnprintf(text + text_len, sizeof(text) - text_len, format, args);
	va_end(args);
}

static void add_count(struct count *to, const struct count *c)
{
	to->count += c->count;
	to->bytes += c->bytes;
	to->errors += c->errors;
}

static void say_count(const char *name, const struct count *c)
{
	const char *comma = text[text_len - 1] == '{' ? "" : ",";

	say("%s\"%s\":{\"count\":%llu,\"bytes\":%llu,\"errors\":%llu}", comma, name,
	    (unsigned long long)c->count, (unsigned long long)c->bytes,
	    (unsigned long long)c->errors);
}

/* An object with the calls of the classes FIRST to LAST that were made at all. */
static void say_calls(const char *title, const struct count *counts, enum class first,
		      enum class last)
{
	say(",\"%s\":{", title);
	for (int call = 0; call < N_CALLS; call++)
		if (counts[call].count && calls[call].class >= first && calls[call].class <= last)
			say_count(calls[call].name, &counts[call]);
	say("}");
}

static void say_classes(const struct count *counts)
{
	struct count classes[N_CLASSES] = { 0 };

	for (int call = 0; call < N_CALLS; call++)
		add_count(&classes[calls[call].class], &counts[call]);
	for (int class = READ; class < UNTRACED; class ++)
		say_count(class_names[class], &classes[class]);
}

static int report(const struct count *setup, uint64_t elapsed_ns)
{
	struct count counts[N_CALLS] = { 0 }, pipe[N_CALLS] = { 0 };
	uint64_t unexpected = 0;

	for (unsigned int i = 0; i < opt.threads; i++) {
		for (int call = 0; call < N_CALLS; call++) {
			add_count(&counts[call], &workers[i].counts[call]);
			add_count(&pipe[call], &workers[i].pipe[call]);
		}
		unexpected += workers[i].unexpected;
	}
	say("{");
	say_classes(counts);
	say_calls("calls", counts, READ, META);
	say_calls("pipe", pipe, READ, META);
	say_calls("untraced", counts, UNTRACED, UNTRACED);
	say_calls("setup", setup, READ, META);
	say(",\"pid\":%d,\"threads\":%u,\"unexpected\":%llu,\"elapsed_ns\":%llu}\n", getpid(),
	    opt.threads, (unsigned long long)unexpected, (unsigned long long)elapsed_ns);
	if (syscall(SYS_write, STDOUT_FILENO, text, text_len) != (long)text_len)
		return 1;
	return unexpected ? 1 : 0;
}

/* Takes all calls so far for setup. */
static void take_setup(struct count *setup)
{
	for (unsigned int i = 0; i < opt.threads; i++)
		for (int call = 0; call < N_CALLS; call++) {
			add_count(&setup[call], &workers[i].counts[call]);
			workers[i].counts[call] = (struct count){ 0 };
		}
}

int main(int argc, char **argv)
{
	static struct count setup[N_CALLS];
	uint64_t begin;
	int status;

	parse_options(argc, argv);
	in_child(make_file);
	measure_file(&workers[0]);
	pthread_barrier_init(&start, NULL, opt.threads);
	for (unsigned int i = 0; i < opt.threads; i++) {
		workers[i].index = (int)i;
		open_worker(&workers[i]);
	}
	for (unsigned int i = 1; i < opt.threads; i++)
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
			fail(1, "cannot start %u threads", opt.threads);
	take_setup(setup);

	if (opt.wait)
		wait_for_line(&workers[0]);
	begin = now_ns();
	deadline_ns = opt.seconds ? begin + opt.seconds * 1000000000 : 0;
	run_worker(&workers[0]);
	for (unsigned int i = 1; i < opt.threads; i++)
		pthread_join(workers[i].thread, NULL);
	status = report(setup, now_ns() - begin);
	if (opt.scratch)
		in_child(remove_scratch);
	_exit(status);
}
