// SPDX-License-Identifier: GPL-2.0-only
/*
 * stack_deputy.c - both ends of the pair of sockets. A question is a struct question; an answer is
 * a struct answer, then its rows or its name.
 */
#include "run/stack_deputy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/reason.h"
#include "host/memory_limit.h"
#include "host/privilege.h"
#include "run/copy.h"
#include "stacks/mapped_file.h"
#include "stacks/process_names.h"
#include "stacks/program_files.h"
#include "stacks/python_file.h"
#include "stacks/unwind_table.h"

enum {
	WAIT_BEGIN_MS = 5000, /* for the tables at the start */
	WAIT_MS = 10000,      /* for a name; a file may be slow to read */
	SEND_BYTES = 4 << 20,
};

/* What is asked for, and answered. The answer about the begin comes unasked, after all tables that
 * belong to it. A frame of a process is noted, without an answer. */
enum about { ABOUT_TABLE, ABOUT_NAME, ABOUT_BEGIN, ABOUT_PROCESS_FRAME };

struct question {
	enum about about;
	unsigned int number;         /* ABOUT_PROCESS_FRAME */
	unsigned long long frame;    /* ABOUT_NAME */
	struct sent_stack_file file; /* ABOUT_TABLE */
	struct process_frame of_process;
};

struct answer {
	enum about about;
	struct unwind_key key;
	unsigned int number;
	enum stack_file_state state;
	char path[FRAME_TEXT];
	struct unwind_python python;
	size_t n; /* rows that follow; with ABOUT_NAME, a struct frame_name follows */
};

/* The deputy's end. */

struct files {
	struct frame_file *at[STACK_FILES];
	struct unwind_key keys[STACK_FILES];
	unsigned int n; /* numbers given, from 1 on */
	struct process_names *of_processes;
};

static bool read_all(int fd, void *to, size_t len)
{
	char *at = to;
	ssize_t n;

	for (; len; at += n, len -= n) {
		n = read(fd, at, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

static bool write_all(int fd, const void *from, size_t len)
{
	const char *at = from;
	ssize_t n;

	for (; len; at += n, len -= n) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return false;
	}
	return true;
}

/* Returns the number of the file that was read, or 0. */
static unsigned int number_of(const struct files *files, const struct unwind_key *key)
{
	for (unsigned int i = 1; i <= files->n; i++)
		if (files->keys[i].ino == key->ino && files->keys[i].dev == key->dev &&
		    files->keys[i].generation == key->generation)
			return i;
	return 0;
}

/* Reads the file @fd, which is closed, or an error. Gives it a number, or the one that it had: a
 * file whose rows had to leave comes back, and stacks have its number. */
static void file_read(struct files *files, int fd, struct answer *a, struct unwind_table *t)
{
	unsigned int number = number_of(files, &a->key);

	a->state = fd == -ESTALE ? STACK_FILE_GONE : STACK_FILE_REFUSED;
	if (fd == -ESTALE || (!number && files->n + 1 >= STACK_FILES)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	a->number = number ? number : ++files->n;
	files->keys[a->number] = a->key;
	if (fd < 0)
		return;
	if (!unwind_table_make(t, fd))
		a->state = STACK_FILE_READ;
	a->n = t->n;
	python_file_find(fd, &a->python);
	if (files->at[a->number])
		close(fd);
	else
		files->at[a->number] = frame_file_open(fd, a->path);
}

/* Answers to @to. */
static bool answer_file(struct files *files, int file, struct answer *a, int to)
{
	struct unwind_table t = {};
	bool sent;

	file_read(files, file, a, &t);
	sent = write_all(to, a, sizeof(*a)) && write_all(to, t.rows, a->n * sizeof(*t.rows));
	unwind_table_done(&t);
	return sent;
}

static bool answer_table(struct files *files, const struct sent_stack_file *of, int fd)
{
	struct answer a = { .key = of->key };

	return answer_file(files, mapped_file_open(of, a.path, sizeof(a.path)), &a, fd);
}

/* Files that are being read before they are asked for. */
struct reading {
	struct files *files;
	int fd;
	bool sent;
};

/* Each file has one table, whichever process or program has mapped it. */
static bool file_early(struct reading *r, const struct unwind_key *key, int fd, const char *path)
{
	struct answer a = { .key = *key };

	if (number_of(r->files, key)) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	snprintf(a.path, sizeof(a.path), "%s", path);
	r->sent = answer_file(r->files, fd, &a, r->fd);
	return r->sent;
}

static bool mapped_early(void *arg, const struct sent_stack_file *of, int fd, const char *path)
{
	return file_early(arg, &of->key, fd, path);
}

static bool program_early(void *arg, int fd, const char *path)
{
	struct unwind_key key;

	if (mapped_file_key(fd, &key))
		return file_early(arg, &key, fd, path);
	close(fd);
	return true;
}

static bool begin(struct files *files, const struct stack_begin *b, int fd)
{
	const struct answer end = { .about = ABOUT_BEGIN };
	struct reading r = { files, fd, true };

	for (unsigned int i = 0; i < b->n_pids && r.sent; i++)
		mapped_files_each(b->pids[i], mapped_early, &r);
	if (r.sent)
		program_files_each(b->command, "", program_early, &r);
	return r.sent && write_all(fd, &end, sizeof(end));
}

static bool answer_name(const struct files *files, unsigned long long frame, int fd)
{
	unsigned int number = STACK_FRAME_FILE(frame);
	struct answer a = { .about = ABOUT_NAME };
	struct frame_name name = {};

	if (number == STACK_OF_PROCESS)
		process_names_name(files->of_processes, STACK_FRAME_AT(frame), &name);
	else if (number < STACK_FILES && files->at[number])
		frame_file_name(files->at[number], STACK_FRAME_AT(frame), &name);
	return write_all(fd, &a, sizeof(a)) && write_all(fd, &name, sizeof(name));
}

static bool answer(struct files *files, const struct question *q, int fd)
{
	switch (q->about) {
	case ABOUT_NAME:
		return answer_name(files, q->frame, fd);
	case ABOUT_PROCESS_FRAME:
		process_names_note(files->of_processes, q->number, &q->of_process);
		return true;
	default:
		return answer_table(files, &q->file, fd);
	}
}

static void work(const struct stack_begin *b, int fd)
{
	struct files *files = calloc(1, sizeof(*files));
	struct question q;
	struct reason why;

	close_range(STDERR_FILENO + 1, fd - 1, 0); /* nobody waits for their end */
	close_range(fd + 1, ~0U, 0);
	memory_limit(); /* a hostile file may want any */
	frame_files_no_memory(copy_end_no_memory);
	unsetenv("DEBUGINFOD_URLS"); /* nothing is fetched from the network */
	if (privilege_drop_but_reading(&why))
		_exit(EXIT_PERMISSION); /* it reads hostile files: not with more privileges */
	if (files)
		files->of_processes = process_names_new();
	if (files && files->of_processes && begin(files, b, fd))
		while (read_all(fd, &q, sizeof(q)) && answer(files, &q, fd))
			;
	_exit(0);
}

/* The tool's end. */

int stack_deputy_start(struct stack_deputy *d, const struct stack_begin *b)
{
	int ends[2], bytes = SEND_BYTES, err;

	*d = (struct stack_deputy){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	/* tables are ready before the programs are; the kernel's limit may be less */
	if (setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	d->pid = fork();
	if (!d->pid) {
		close(ends[0]);
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		signal(SIGUSR1, SIG_IGN);
		work(b, ends[1]);
	}
	err = d->pid < 0 ? -errno : 0;
	close(ends[1]);
	d->fd = ends[0];
	if (err) {
		d->pid = 0;
		stack_deputy_end(d);
	}
	return err;
}

void stack_deputy_end(struct stack_deputy *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	if (d->pid > 0 && !kill(d->pid, SIGKILL))
		d->had_no_memory = copy_had_no_memory(d->pid);
	d->pid = 0;
	free(d->got);
	d->got = NULL;
	d->got_n = d->got_cap = 0;
}

static int gone(const struct stack_deputy *d)
{
	return d->had_no_memory ? -ENOMEM : d->was_slow ? -ETIMEDOUT : -EPIPE;
}

static int failed(struct stack_deputy *d)
{
	stack_deputy_end(d);
	return gone(d);
}

/* Never waits: the deputy may itself wait until its answers are read. A question is shorter than a
 * page, so a stream socket takes all of it or nothing. -EAGAIN: too many have no answer yet. */
static int ask(struct stack_deputy *d, const struct question *q)
{
	ssize_t n;

	if (d->pid <= 0)
		return gone(d);
	n = send(d->fd, q, sizeof(*q), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return n == sizeof(*q) ? 0 : failed(d);
}

int stack_deputy_ask(struct stack_deputy *d, const struct sent_stack_file *file)
{
	struct question q = { .file = *file };

	return ask(d, &q);
}

int stack_deputy_note(struct stack_deputy *d, unsigned int number,
		      const struct process_frame *frame)
{
	struct question q = { .about = ABOUT_PROCESS_FRAME,
			      .number = number,
			      .of_process = *frame };

	return ask(d, &q);
}

/* Bytes of the answer that is coming; 0: it is wrong. */
static size_t answer_len(const struct stack_deputy *d)
{
	const struct answer *a = (const void *)d->got;

	if (d->got_n < sizeof(*a))
		return sizeof(*a);
	if (a->n > UNWIND_ROWS || a->number >= STACK_FILES)
		return 0;
	return sizeof(*a) + (a->about == ABOUT_NAME ? sizeof(struct frame_name)
						    : a->n * sizeof(struct unwind_row));
}

/* Reads what has come of an answer, waiting for at most @ms. 1: it is whole; 0: it is not; or
 * -errno. */
static int answer_read(struct stack_deputy *d, int ms)
{
	size_t len;
	ssize_t n;
	char *got;

	while (d->pid > 0) {
		len = answer_len(d);
		if (!len)
			return failed(d);
		if (d->got_n == len && len == answer_len(d))
			return 1;
		if (len > d->got_cap) {
			got = realloc(d->got, len);
			if (!got)
				return failed(d);
			d->got = got;
			d->got_cap = len;
		}
		if (poll(&(struct pollfd){ .fd = d->fd, .events = POLLIN }, 1, ms) <= 0)
			return 0;
		n = recv(d->fd, d->got + d->got_n, len - d->got_n, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return failed(d);
		d->got_n += n > 0 ? n : 0;
	}
	return gone(d);
}

/* Hands out the answer, unless it is a name. Returns what it is about. */
static enum about answer_take(struct stack_deputy *d, stack_table_fn *fn, void *arg)
{
	const struct answer *a = (const void *)d->got;
	struct stack_table t = { .key = a->key,
				 .number = a->number,
				 .state = a->state,
				 .python = a->python,
				 .rows = (const void *)(a + 1),
				 .n = a->n };

	d->got_n = 0;
	if (a->about == ABOUT_TABLE) {
		memcpy(t.path, a->path, sizeof(t.path) - 1);
		fn(arg, &t);
	}
	if (a->about == ABOUT_BEGIN)
		d->begun = true;
	return a->about;
}

int stack_deputy_tables(struct stack_deputy *d, stack_table_fn *fn, void *arg)
{
	int res;

	while ((res = answer_read(d, 0)) > 0)
		answer_take(d, fn, arg);
	return res;
}

int stack_deputy_wait_begin(struct stack_deputy *d, stack_table_fn *fn, void *arg)
{
	uint64_t until = clock_ns() + (uint64_t)WAIT_BEGIN_MS * NS_PER_MS, now;
	int res = 1;

	while (!d->begun && res > 0 && (now = clock_ns()) < until) {
		res = answer_read(d, (until - now) / NS_PER_MS);
		if (res > 0)
			answer_take(d, fn, arg);
	}
	return res < 0 ? res : 0;
}

int stack_deputy_name(struct stack_deputy *d, unsigned long long frame, struct frame_name *ret_name,
		      stack_table_fn *fn, void *arg)
{
	struct question q = { .about = ABOUT_NAME, .frame = frame };
	bool named = false;
	int asked = -EAGAIN, res;

	while (!named) {
		if (asked)
			asked = ask(d, &q);
		if (asked && asked != -EAGAIN)
			return asked;
		res = answer_read(d, WAIT_MS);
		if (res < 0)
			return res;
		d->was_slow = !res;
		if (!res)
			return failed(d);
		named = answer_take(d, fn, arg) == ABOUT_NAME;
		if (named)
			memcpy(ret_name, d->got + sizeof(struct answer), sizeof(*ret_name));
	}
	ret_name->function[FRAME_TEXT - 1] = ret_name->source[FRAME_TEXT - 1] = '\0';
	return 0;
}
