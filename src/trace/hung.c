// SPDX-License-Identifier: GPL-2.0-only
#include "trace/hung.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/list.h"
#include "base/machine.h"
#include "base/names.h"
#include "base/protocols.h"
#include "bpf/conf.h"
#include "event.h"
#include "host/mounts.h"
#include "host/pidns.h"
#include "host/processes.h"
#include "trace/session.h"
#include "trace/sites.h"
#include "trace/syscalls.h"
#include "trace/unfinished.h"

const struct hung_places hung_places = { "/proc", "/sys/fs/fuse/connections" };

enum {
	EXITING = 0x4,            /* flags of a thread: PF_EXITING of the kernel */
	KERNEL_THREAD = 0x200000, /* PF_KTHREAD */
	LINE_CAP = 1024,
	ARGS = 6,
};

/* A thread's line in /proc/PID/task/TID/stat. */
struct thread_stat {
	char state;
	char comm[COMM_LEN];
	unsigned int flags;
	unsigned long long began; /* in ticks after boot: tells apart threads with the same id */
	unsigned long long code;  /* where its program is in memory; 0: in no memory yet, or in none
				   * any more; 1: not for us to know */
};

struct waiting_thread {
	struct hung row; /* without .age_ns */
	struct thread_stat stat;
	unsigned long long switches; /* how often it has gone to sleep */
	bool traced;  /* the programs see the end of its call, and the beginning of another */
	bool refused; /* its call is not known, for lack of rights */
};

/* The call of a thread: its line in /proc/PID/task/TID/syscall. */
struct thread_call {
	enum { CALL_REFUSED, CALL_UNKNOWN, CALL_IS_FAULT, CALL_KNOWN } how;
	unsigned short nr; /* | CALL_COMPAT */
	unsigned long long args[ARGS];
};

/* A process that waits for a lock of a file, and the process that the kernel calls its owner: it
 * took the lock, and others may have inherited that. 0: not known. */
struct lock_waiter {
	unsigned int pid, holder;
};

enum { LOCK_WAITERS = 4096 }; /* more are not looked at */

/* State of one hung_look(). */
struct looking {
	const struct hung_places *at;
	const struct session_conf *conf;
	const struct hung_list *listed;
	bool fuse;                                   /* some request waits for a FUSE daemon */
	uint16_t calls[CALL_MAX], offsets[CALL_MAX]; /* as in syscalls_fill() */
	struct processes below;                      /* --children */
	struct mounts mounts, others; /* of the tool's namespace; of process .others_pid */
	unsigned int others_pid;
	struct lock_waiter *waiters; /* by process; owned */
	size_t n_waiters, cap_waiters;
	bool locks_only; /* the other threads are known */
	struct hung_threads *h;
};

/* Reads the beginning of a file, with a NUL. The length, or -errno. */
static ssize_t text_read(int dir, const char *path, char *dst, size_t cap)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -errno : read(fd, dst, cap - 1);

	if (fd >= 0 && len < 0)
		len = -errno;
	if (fd >= 0)
		close(fd);
	dst[len > 0 ? len : 0] = '\0';
	return len;
}

/* Parses "12 (comm) S ...". The name may have blanks, brackets and ends of lines: what follows the
 * last bracket is no part of it. */
static bool stat_parse(const char *text, struct thread_stat *ret_stat)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	struct thread_stat s = {};
	size_t len;

	if (!name || !end || end < name ||
	    sscanf(end,
		   ") %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu %*u %*d %*u %llu",
		   &s.state, &s.flags, &s.began, &s.code) != 4)
		return false;
	len = end - name - 1;
	memcpy(s.comm, name + 1, len < sizeof(s.comm) ? len : sizeof(s.comm) - 1);
	*ret_stat = s;
	return true;
}

/* The state alone: it rules out most threads. Returns '\0' if the text has none. */
static char stat_state(const char *text)
{
	const char *end = strrchr(text, ')');

	return end && end[1] == ' ' ? end[2] : '\0';
}

/* Reads the number after @name at the beginning of a line. Returns false if there is none. */
static bool number_read(int dir, const char *path, const char *name, unsigned long long *ret)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL, *end;
	size_t cap = 0, len = strlen(name);
	bool found = false;

	while (f && !found && getline(&line, &cap, f) >= 0) {
		if (strncmp(line, name, len) != 0)
			continue;
		*ret = strtoull(line + len, &end, 10);
		found = end > line + len;
	}
	free(line);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return found;
}

static bool switches_read(int dir, const char *path, unsigned long long *ret)
{
	return number_read(dir, path, "voluntary_ctxt_switches:", ret);
}

/* The number of a 32-bit call means another call. Only a 32-bit process has its stack below 4 GiB.
 */
static void call_parse(const char *text, struct thread_call *ret_call)
{
	struct thread_call c = { .how = CALL_UNKNOWN };
	unsigned long long sp = 0, *a = c.args;
	long nr = 0;
	int n = sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2],
		       &a[3], &a[4], &a[5], &sp);

	if (n >= 1 && nr == -1)
		c.how = CALL_IS_FAULT;
	if (n == ARGS + 2 && nr >= 0 && nr < CALL_MAX) {
		c.how = CALL_KNOWN;
		c.nr = nr | (sp <= UINT_MAX ? CALL_COMPAT : 0);
	}
	*ret_call = c;
}

/* Reads the function in which a thread waits, without a compiler's suffix. */
static void symbol_read(int task, unsigned int tid, char ret_symbol[SYMBOL_LEN])
{
	char path[64];

	snprintf(path, sizeof(path), "%u/wchan", tid);
	text_read(task, path, ret_symbol, SYMBOL_LEN);
	ret_symbol[strcspn(ret_symbol, ". \t\n")] = '\0';
	if (!strcmp(ret_symbol, "0"))
		ret_symbol[0] = '\0';
}

/*
 * Reads the call of a thread. The kernel first takes exec_update_lock. A thread in execve(2) holds
 * this lock while it closes files, even those of a dead server. Such a thread has no program in
 * memory yet.
 */
static void call_read(int task, unsigned int tid, unsigned long long code,
		      struct thread_call *ret_call)
{
	char path[64], text[LINE_CAP];
	ssize_t len;

	*ret_call = (struct thread_call){ .how = code == 1 ? CALL_REFUSED : CALL_UNKNOWN };
	if (code <= 1)
		return;
	snprintf(path, sizeof(path), "%u/syscall", tid);
	len = text_read(task, path, text, sizeof(text));
	call_parse(text, ret_call);
	if (len == -EPERM || len == -EACCES)
		ret_call->how = CALL_REFUSED;
}

static int waiter_order(const void *a, const void *b)
{
	const struct lock_waiter *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static const struct lock_waiter *waiter_find(const struct looking *l, unsigned int pid)
{
	const struct lock_waiter key = { .pid = pid };

	return l->n_waiters ? bsearch(&key, l->waiters, l->n_waiters, sizeof(key), waiter_order)
			    : NULL;
}

/* Takes a line of /proc/locks: "7: FLOCK ADVISORY WRITE 12 fe:00:99 0 EOF", or "7: -> FLOCK ..." of
 * a process that waits for the lock above. @holder: of this lock. Returns 0 or -ENOMEM. */
static int lock_line(struct looking *l, const char *line, unsigned int *holder)
{
	bool waits = strstr(line, "-> ");
	int pid;

	if (sscanf(waits ? strstr(line, "-> ") + 3 : line + strcspn(line, " "), "%*s %*s %*s %d",
		   &pid) != 1)
		return 0;
	pid = pid > 0 ? pid : 0; /* of an open file, not of a process */
	if (!waits)
		*holder = pid;
	if (!waits || !pid || l->n_waiters == LOCK_WAITERS)
		return 0;
	if (list_reserve((void **)&l->waiters, &l->cap_waiters, l->n_waiters, sizeof(*l->waiters)))
		return -ENOMEM;
	l->waiters[l->n_waiters++] = (struct lock_waiter){ pid, *holder };
	return 0;
}

/* Reads who waits for locks of files. Without the file, nobody is known to. Returns 0 or -ENOMEM.
 */
static int locks_read(struct looking *l)
{
	unsigned int holder = 0;
	char path[PATH_MAX], *line = NULL;
	size_t cap = 0, n = 0;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/locks", l->at->proc);
	f = fopen(path, "re");
	while (f && !err && getline(&line, &cap, f) >= 0)
		err = lock_line(l, line, &holder);
	free(line);
	if (f)
		fclose(f);
	if (!l->n_waiters)
		return err;
	qsort(l->waiters, l->n_waiters, sizeof(*l->waiters), waiter_order);
	for (size_t i = 0; i < l->n_waiters; i++)
		if (!n || l->waiters[n - 1].pid != l->waiters[i].pid)
			l->waiters[n++] = l->waiters[i];
	l->n_waiters = n;
	return err;
}

/* The mounts of the mount namespace of process @pid, for mounts outside of the tool's. */
static const struct mounts *mounts_of(struct looking *l, unsigned int pid)
{
	char path[PATH_MAX];

	if (l->others_pid == pid)
		return &l->others;
	mounts_free(&l->others);
	l->others_pid = pid;
	snprintf(path, sizeof(path), "%s/%u/mountinfo", l->at->proc, pid);
	mounts_read_from(path, &l->others); /* if this fails, no mount is known */
	return &l->others;
}

static bool dev_passes(const struct filter_lists *lists, unsigned int dev)
{
	bool passes = !lists->n_devs;

	for (unsigned int i = 0; i < lists->n_devs; i++)
		passes |= lists->devs[i] == dev;
	return passes;
}

/* Whether a daemon serves file systems of this type. */
static bool is_fuse(const char *type)
{
	return protocol_of_fs(type) == SERVER_FUSE;
}

/* Names file system and server of a mount. */
static void mount_name(struct hung *row, const struct mount *m)
{
	const char *type = m->type;
	/* "fuse.sshfs" is a fuse */
	snprintf(row->fs, sizeof(row->fs), "%.*s", (int)strcspn(type, "."), type);
	if (fs_has_server(row->fs))
		row->server = strdup(is_fuse(type) ? m->point : m->source);
}

/*
 * Whether the filters let the device file @file pass, descriptor @fd of a thread. Its reads are
 * those of the disk, not of /dev's mount. Only a file in memory is asked, so that no server can
 * hang the tool.
 */
static bool device_passes(struct looking *l, int task, unsigned int tid, int fd, const char *file,
			  unsigned int pid)
{
	const struct mount *m = mounts_by_path(mounts_of(l, pid), file);
	char path[64];
	struct statx st;

	if (!m || (strcmp(m->type, "devtmpfs") != 0 && strcmp(m->type, "tmpfs") != 0))
		return false;
	snprintf(path, sizeof(path), "%u/fd/%d", tid, fd);
	return !statx(task, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) && S_ISBLK(st.stx_mode) &&
	       dev_passes(&l->conf->lists, st.stx_rdev_major << 20 | st.stx_rdev_minor);
}

/* Looks at descriptor @fd, without its file. Returns false if it is no file, or the filters reject
 * it. */
static bool fd_look(struct looking *l, int task, unsigned int tid, int fd, struct hung *row)
{
	char path[64], file[PATH_MAX];
	const struct mount *m = NULL;
	unsigned long long id = 0;
	ssize_t len;

	snprintf(path, sizeof(path), "%u/fd/%d", tid, fd);
	len = readlinkat(task, path, file, sizeof(file));
	if (len > 0 && file[0] != '/')
		return false; /* "pipe:[12]" */
	row->file = len > 0 ? strndup(file, len) : NULL;
	snprintf(path, sizeof(path), "%u/fdinfo/%d", tid, fd);
	/* a driver may write to fdinfo, and take locks for it */
	if (len > 0 && strncmp(file, "/dev/", strlen("/dev/")) != 0 &&
	    number_read(task, path, "mnt_id:", &id))
		m = mounts_by_id(&l->mounts, id);
	if (!m && id)
		m = mounts_by_id(mounts_of(l, row->pid), id);
	if (m)
		mount_name(row, m);
	if (m || !l->conf->lists.n_devs)
		return !m || dev_passes(&l->conf->lists, m->dev);
	return row->file && device_passes(l, task, tid, fd, row->file, row->pid);
}

static int by_tid(const void *a, const void *b)
{
	const struct listed_task *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Thread @tid in the kernel's list, or NULL if it is not there. */
static const struct listed_task *listed_find(const struct looking *l, unsigned int tid)
{
	const struct listed_task key = { .tid = tid };

	return l->listed->n ? bsearch(&key, l->listed->list, l->listed->n, sizeof(key), by_tid)
			    : NULL;
}

/* Names the path that a thread looks up, and the path's file system. Returns false if the filters
 * reject it. */
static bool path_look(struct looking *l, struct hung *row)
{
	const struct listed_task *listed = listed_find(l, row->tid);
	const struct mount *m;

	if (!listed || !listed->dev)
		return !l->conf->lists.n_devs;
	row->file = listed->path[0] ? strndup(listed->path, sizeof(listed->path)) : NULL;
	m = mounts_by_dev(&l->mounts, listed->dev);
	if (!m)
		m = mounts_by_dev(mounts_of(l, row->pid), listed->dev);
	if (m)
		mount_name(row, m);
	return dev_passes(&l->conf->lists, listed->dev);
}

/* The descriptor of the call @name (NULL: not known); for a copy, the descriptor that is read.
 * Returns -1 if the call has none, or if it may be none of a file: splice(), ioctl(). */
static int call_fd(enum call_file file, const char *name, const struct thread_call *c)
{
	switch (file) {
	case FILE_ARG0:
		return (int)c->args[0];
	case FILE_ARG1:
		return (int)c->args[1];
	case FILE_ARG0_OR_2:
		return name && (!strcmp(name, "copy_file_range") || !strcmp(name, "fcntl"))
			       ? (int)c->args[0]
			       : -1;
	default:
		return -1;
	}
}

/* The stratum of a wait for @what. @what may be NULL. */
static enum stratum stratum_of(const char *what)
{
	if (what && strstr(what, "server"))
		return ST_SERVER;
	return what && !strcmp(what, "frozen file system") ? ST_LOCK : ST_SLEEP;
}

/* Whether a wait for @what is one for I/O. */
static bool is_for_io(const char *what)
{
	static const char *const others[] = { "pipe", "the other end of a FIFO", "freezer",
					      "time" };

	for (size_t i = 0; what && i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(what, others[i]))
			return false;
	return what;
}

/* Names call and file of a thread. Returns false if the filters reject it, or it is not in I/O. */
static bool call_name(struct looking *l, int task, unsigned int tid, const struct thread_call *c,
		      struct waiting_thread *t)
{
	const struct session_conf *conf = l->conf;
	unsigned short nr = c->nr & ~CALL_COMPAT;
	unsigned int desc = c->how == CALL_KNOWN ? l->calls[nr] : 0;
	struct hung *row = &t->row;
	int fd;

	desc = c->nr & CALL_COMPAT ? desc >> 8 : desc & 0xff;
	row->op = c->how == CALL_IS_FAULT ? OP_FAULT : CALL_KIND(desc);
	row->call = c->how == CALL_KNOWN ? syscall_names(MACHINE_OWN)(c->nr) : NULL;
	if (row->call && !strcmp(row->call, "?"))
		row->call = NULL;
	t->traced = desc && row->op != OP_HANDLE;
	fd = call_fd(CALL_FILE(desc), row->call, c);
	if (row->op == OP_META && CALL_FILE(desc) == FILE_BY_ARGS)
		t->traced = false; /* ioctl: of most commands of drivers */
	if (row->op == OP_HANDLE)
		row->op = OP_NONE;
	if (row->op == OP_NONE ? conf->kinds != ~0U : !(conf->kinds >> row->op & 1))
		return false;
	return fd >= 0 ? fd_look(l, task, tid, fd, row) : path_look(l, row);
}

static bool waits_for_lock(const struct hung *row)
{
	return row->what && !strcmp(row->what, "file lock");
}

/* Names the holder of the lock for which @row waits. */
static void holder_name(const struct looking *l, struct hung *row)
{
	const struct lock_waiter *w = waits_for_lock(row) ? waiter_find(l, row->pid) : NULL;
	struct thread_stat stat;
	char path[PATH_MAX], text[LINE_CAP];

	if (!w)
		return;
	row->holder_pid = w->holder;
	snprintf(path, sizeof(path), "%s/%u/stat", l->at->proc, w->holder);
	if (w->holder && text_read(AT_FDCWD, path, text, sizeof(text)) > 0 &&
	    stat_parse(text, &stat))
		memcpy(row->holder_comm, stat.comm, COMM_LEN);
}

/* Whether a wait for @what that signals may end is one for I/O. */
static bool sleeps_for_io(const char *what)
{
	return what && (!strncmp(what, "FUSE", 4) || !strncmp(what, "the unix socket", 15));
}

/* Fills in @t, whose state is known. Returns false if it is not in I/O, or the filters reject
 * it. */
static bool thread_fill(struct looking *l, int task, unsigned int tid, struct waiting_thread *t)
{
	struct thread_call call;
	char path[64];
	bool io;

	symbol_read(task, tid, t->row.symbol);
	t->row.what = wchan_what(t->row.symbol, false);
	if (t->stat.state == 'S' && !waits_for_lock(&t->row) &&
	    (l->locks_only || !sleeps_for_io(t->row.what)))
		return false;
	snprintf(path, sizeof(path), "%u/status", tid);
	if (!switches_read(task, path, &t->switches))
		return false; /* it has ended */
	call_read(task, tid, t->stat.code, &call);
	if (!call_name(l, task, tid, &call, t))
		return false;
	t->row.what = wchan_what_on(t->row.what, t->row.op, t->row.fs);
	t->row.stratum = stratum_of(t->row.what);
	holder_name(l, &t->row);
	io = is_for_io(t->row.what);
	t->refused = call.how == CALL_REFUSED && !io;
	return io || t->refused || (t->traced && !t->row.what);
}

static void row_free(struct hung *row)
{
	free(row->file);
	free(row->server);
}

static bool comm_passes(const struct filter_lists *lists, const char comm[COMM_LEN])
{
	bool passes = !lists->n_comms;

	for (unsigned int i = 0; i < lists->n_comms; i++)
		passes |= !memcmp(lists->comms[i], comm, COMM_LEN);
	return passes;
}

/* Looks at thread @tid, in the directory @task. Returns 0 or -ENOMEM. */
static int thread_look(struct looking *l, unsigned int pid, int task, unsigned int tid)
{
	struct waiting_thread t = { .row = { .pid = pid, .tid = tid } };
	char path[64], text[LINE_CAP], state;

	snprintf(path, sizeof(path), "%u/stat", tid);
	if (text_read(task, path, text, sizeof(text)) <= 0)
		return 0;
	state = stat_state(text);
	if (!((state == 'D' && !l->locks_only) ||
	      (state == 'S' && (l->fuse || listed_find(l, tid) || waiter_find(l, pid)))) ||
	    !stat_parse(text, &t.stat) || t.stat.flags & KERNEL_THREAD ||
	    !comm_passes(&l->conf->lists, t.stat.comm))
		return 0;
	memcpy(t.row.comm, t.stat.comm, COMM_LEN);
	if (list_reserve((void **)&l->h->list, &l->h->cap, l->h->n, sizeof(t)))
		return -ENOMEM;
	if (thread_fill(l, task, tid, &t))
		l->h->list[l->h->n++] = t;
	else
		row_free(&t.row);
	return 0;
}

static bool is_number(const char *name)
{
	return name[0] >= '1' && name[0] <= '9';
}

/* Looks at thread @tid of a process, or with 0 at all its threads. Returns 0 or -ENOMEM. */
static int process_look(struct looking *l, unsigned int pid, unsigned int tid)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;
	int err = 0;

	snprintf(path, sizeof(path), "%s/%u/task", l->at->proc, pid);
	dir = opendir(path);
	if (dir && tid)
		err = thread_look(l, pid, dirfd(dir), tid);
	while (dir && !tid && !err && (e = readdir(dir)))
		if (is_number(e->d_name))
			err = thread_look(l, pid, dirfd(dir), strtoul(e->d_name, NULL, 10));
	if (dir)
		closedir(dir);
	return err;
}

/* Whether --pid, with --children, chooses process @pid. @pid is not the tool. */
static bool pid_passes(const struct looking *l, unsigned int pid)
{
	const struct filter_lists *lists = &l->conf->lists;
	bool passes = !lists->n_pids;

	for (unsigned int i = 0; i < lists->n_pids; i++)
		passes |= lists->pids[i] == pid;
	for (size_t i = 0; i < l->below.n; i++)
		passes |= l->below.list[i].pid == pid;
	return passes && pid != (unsigned int)getpid();
}

/* Looks at the threads that wait, by the kernel's list. Returns 0 or -ENOMEM. */
static int listed_look(struct looking *l)
{
	const struct listed_task *list = l->listed->list;
	int err = 0;

	for (size_t i = 0; i < l->listed->n && !err; i++)
		if (pid_passes(l, list[i].pid))
			err = process_look(l, list[i].pid, list[i].tid);
	l->locks_only = true; /* these sleeps may be interrupted: they are not in the list */
	for (size_t i = 0; i < l->n_waiters && !err; i++)
		if (pid_passes(l, l->waiters[i].pid))
			err = process_look(l, l->waiters[i].pid, 0);
	return err;
}

/* Looks at all threads of all processes in /proc. Returns 0 or -ENOMEM. */
static int processes_look(struct looking *l)
{
	unsigned int pid;
	struct dirent *e;
	DIR *dir = opendir(l->at->proc);
	int err = 0;

	while (dir && !err && (e = readdir(dir))) {
		pid = is_number(e->d_name) ? strtoul(e->d_name, NULL, 10) : 0;
		err = pid && pid_passes(l, pid) ? process_look(l, pid, 0) : 0;
	}
	if (dir)
		closedir(dir);
	return err;
}

static bool fuse_is_mounted(const struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (is_fuse(m->list[i].type))
			return true;
	return false;
}

/* Whether a request may wait for a FUSE daemon. The files are the kernel's: no daemon is asked.
 * Where these files are not mounted, any FUSE file system will do. */
static bool fuse_waits(const struct looking *l)
{
	DIR *dir = opendir(l->at->fuse);
	bool waits = false, told = false;
	char path[300], text[32];
	struct dirent *e;

	while (dir && !waits && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/waiting", e->d_name);
		if (!is_number(e->d_name) || text_read(dirfd(dir), path, text, sizeof(text)) <= 0)
			continue;
		told = true;
		waits = atoi(text) > 0;
	}
	if (dir)
		closedir(dir);
	return waits || (!told && fuse_is_mounted(&l->mounts));
}

/* The descendants of the processes chosen by --pid. Returns 0 or -errno. */
static int below_read(const struct session_conf *conf, struct processes *ret_below)
{
	struct processes all;
	int err = processes_read(&all);

	if (err)
		return err;
	err = processes_below(&all, conf->lists.pids, conf->lists.n_pids, ret_below);
	processes_free(&all);
	return err;
}

/* Threads that wait for a server come first: others may wait for them. */
static int by_wait(const void *a, const void *b)
{
	const struct hung *x = &((const struct waiting_thread *)a)->row;
	const struct hung *y = &((const struct waiting_thread *)b)->row;

	if (x->stratum != y->stratum)
		return x->stratum < y->stratum ? 1 : -1;
	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
				: (x->tid > y->tid) - (x->tid < y->tid);
}

bool hung_wanted(const struct session_conf *conf)
{
	return conf->hung && conf->layer == LAYER_OPS && !conf->follow && !conf->lists.n_files &&
	       !conf->lists.n_cgroups;
}

/* Reads all that the iterator writes. Returns 0 or -ENOMEM. */
static int list_take(int fd, struct hung_list *list)
{
	char *text = NULL;
	size_t len = 0, cap = 0;
	ssize_t more = 1;

	while (more > 0) {
		if (len + sizeof(struct listed_task) > cap) {
			char *larger = realloc(text, 2 * cap + (64 << 10));

			if (!larger) {
				free(text);
				return -ENOMEM;
			}
			text = larger;
			cap = 2 * cap + (64 << 10);
		}
		more = read(fd, text + len, cap - len);
		len += more > 0 ? more : 0;
	}
	list->list = (struct listed_task *)text;
	list->n = len / sizeof(*list->list);
	list->known = !more;
	if (list->n)
		qsort(list->list, list->n, sizeof(*list->list), by_tid);
	return 0;
}

int hung_list_read(const struct bpf_program *prog, struct hung_list *ret_list)
{
	struct bpf_link *link;
	int fd, err = 0;

	if (bpf_program__fd(prog) < 0 || !pidns_is_first())
		return 0;
	link = bpf_program__attach_iter(prog, NULL);
	fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	if (fd >= 0)
		err = list_take(fd, ret_list);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

int hung_look(const struct hung_places *at, const struct session_conf *conf,
	      const struct hung_list *listed, uint64_t now, struct hung_threads *ret_threads)
{
	struct hung_threads h = { .since_ns = now };
	struct looking l = { .at = at, .conf = conf, .listed = listed, .h = &h };
	char path[PATH_MAX];
	int err = conf->children ? below_read(conf, &l.below) : 0;

	if (err && err != -ENOMEM)
		err = 0;
	syscalls_fill(l.calls, l.offsets, conf->kinds, &conf->only, false);
	snprintf(path, sizeof(path), "%s/self/mountinfo", at->proc);
	mounts_read_from(path, &l.mounts); /* if this fails, no mount is known */
	l.fuse = fuse_waits(&l);
	if (!err)
		err = locks_read(&l);
	if (!err)
		err = listed->known && !l.fuse ? listed_look(&l) : processes_look(&l);
	processes_free(&l.below);
	mounts_free(&l.mounts);
	mounts_free(&l.others);
	free(l.waiters);
	if (err) {
		hung_done(&h);
		return err;
	}
	if (h.n)
		qsort(h.list, h.n, sizeof(*h.list), by_wait);
	*ret_threads = h;
	return 0;
}

enum { LONG_CALL_NS = 1000000000 };

static bool is_unnamed(const struct unfinished *u)
{
	return u->in_call && u->age_ns >= LONG_CALL_NS;
}

bool hung_has_unnamed(const struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_unfinished; i++)
		if (is_unnamed(&sn->unfinished[i]))
			return true;
	return false;
}

/* The name of the call number @call, or NULL if it is not a call of kind @op: then the thread has
 * gone on since the operation was read. */
static const char *call_of_kind(const struct looking *l, int call, unsigned int op)
{
	unsigned int desc = call < 0 ? 0 : l->calls[call & ~CALL_COMPAT & (CALL_MAX - 1)];

	desc = call & CALL_COMPAT ? desc >> 8 : desc & 0xff;
	return desc && CALL_KIND(desc) == op ? syscall_names(MACHINE_OWN)(call) : NULL;
}

int hung_name_calls(const struct session_conf *conf, const struct hung_list *listed,
		    struct snapshot *sn)
{
	struct looking l = { .conf = conf, .listed = listed };

	syscalls_fill(l.calls, l.offsets, conf->kinds, &conf->only, false);
	for (size_t i = 0; i < sn->n_unfinished; i++) {
		struct unfinished *u = &sn->unfinished[i];
		const struct listed_task *t = is_unnamed(u) ? listed_find(&l, u->tid) : NULL;
		const char *name = t ? call_of_kind(&l, t->call, u->op) : NULL;

		if (!name)
			continue;
		snprintf(u->call, sizeof(u->call), "%s", name);
		if (u->file || !t->path[0])
			continue;
		u->file = strndup(t->path, sizeof(t->path));
		if (!u->file)
			return -ENOMEM;
	}
	return 0;
}

void hung_done(struct hung_threads *h)
{
	for (size_t i = 0; i < h->n; i++)
		row_free(&h->list[i].row);
	free(h->list);
	*h = (struct hung_threads){};
}

/* The result of a later look at a thread. HIDDEN: it lives, but /proc does not show it (hidepid).
 */
enum verdict { ENDED, WAITS, HIDDEN };

static bool is_in_progress(const struct snapshot *sn, unsigned int tid)
{
	for (size_t i = 0; i < sn->n_unfinished; i++)
		if (sn->unfinished[i].tid == tid)
			return true;
	return false;
}

/*
 * Whether the sleeping thread @t is in the same call as at the first look. It is if it has not gone
 * to sleep again. A thread with a request of NFS wakes up to send the request again. Its call still
 * lasts if the thread has no state then: programs give a thread a state at the end of a call
 * without a beginning, and at the beginning of the next call.
 */
static bool is_same_call(const struct waiting_thread *t, const struct hung_states *states,
			 unsigned long long switches)
{
	if (switches == t->switches)
		return true;
	return t->traced && t->stat.state == 'D' && states->layout &&
	       !unfinished_has_state(states->layout, states->bss, t->row.tid);
}

static enum verdict thread_verdict(const struct waiting_thread *t, const struct hung_places *at,
				   const struct hung_states *states, const struct snapshot *sn)
{
	char path[PATH_MAX], text[LINE_CAP];
	unsigned long long switches;
	struct thread_stat now;

	snprintf(path, sizeof(path), "%s/%u/task/%u/stat", at->proc, t->row.pid, t->row.tid);
	if (text_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return syscall(SYS_tgkill, t->row.pid, t->row.tid, 0) && errno == ESRCH ? ENDED
											: HIDDEN;
	if (!stat_parse(text, &now) || now.began != t->stat.began || now.state != t->stat.state ||
	    (now.flags ^ t->stat.flags) & EXITING || is_in_progress(sn, t->row.tid))
		return ENDED;
	snprintf(path, sizeof(path), "%s/%u/task/%u/status", at->proc, t->row.pid, t->row.tid);
	return switches_read(AT_FDCWD, path, &switches) && is_same_call(t, states, switches)
		       ? WAITS
		       : ENDED;
}

/* Adds a copy of @row. Returns 0 or -ENOMEM. */
static int row_add(struct snapshot *sn, const struct hung *row, uint64_t age_ns)
{
	struct hung *list = reallocarray(sn->hung, sn->n_hung + 1, sizeof(*list)), *copy;

	if (!list)
		return -ENOMEM;
	sn->hung = list;
	copy = &list[sn->n_hung++];
	*copy = *row;
	copy->age_ns = age_ns;
	copy->file = row->file ? strdup(row->file) : NULL;
	copy->server = row->server ? strdup(row->server) : NULL;
	return 0;
}

int hung_read(struct hung_threads *h, const struct hung_places *at,
	      const struct hung_states *states, uint64_t now, uint64_t min_ns, struct snapshot *sn)
{
	uint64_t age_ns = now - h->since_ns;
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < h->n; i++) {
		struct waiting_thread *t = &h->list[i];
		enum verdict verdict = thread_verdict(t, at, states, sn);

		if (verdict == ENDED) {
			row_free(&t->row);
			continue;
		}
		if (verdict == HIDDEN || t->refused)
			sn->hung_refused++;
		else if (!err && age_ns >= min_ns)
			err = row_add(sn, &t->row, age_ns);
		h->list[left++] = *t;
	}
	h->n = left;
	return err;
}
