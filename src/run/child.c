// SPDX-License-Identifier: GPL-2.0-only
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <nss.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "host/privilege.h"

static int find_groups(struct caller *c)
{
	int n = 0;

	getgrouplist(c->name, c->gid, NULL, &n);
	c->groups = calloc(n, sizeof(*c->groups));
	if (!c->groups || getgrouplist(c->name, c->gid, c->groups, &n) < 0)
		return -ENOMEM;
	c->n_groups = n;
	return 0;
}

/* Finds name, home and shell as login(1) does. A user without an entry gets "/" and the usual
 * shell. */
static int find_home(struct caller *c, const char *user)
{
	const struct passwd *pw = getpwuid(c->uid);
	char number[16];

	snprintf(number, sizeof(number), "%u", c->uid);
	c->name = strdup(user ? user : pw ? pw->pw_name : number);
	c->home = strdup(pw && *pw->pw_dir ? pw->pw_dir : "/");
	c->shell = strdup(pw && *pw->pw_shell ? pw->pw_shell : "/bin/sh");
	return c->name && c->home && c->shell ? 0 : -ENOMEM;
}

/* Reads the files of users and groups, which caller_become() then need not do. 0, or -1 with @why.
 */
static int caller_find(struct caller *c, struct reason *why)
{
	const char *user = getenv("SUDO_USER");
	int by_sudo, err;

#ifdef STATIC /* a static glibc can only load modules of its own version */
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
#endif
	*c = (struct caller){};
	by_sudo = privilege_sudo_ids(&c->uid, &c->gid, why);
	if (by_sudo <= 0)
		return by_sudo;
	c->is_other = true;
	err = find_home(c, user);
	if (!err)
		err = find_groups(c);
	if (err)
		return reason_set(why, EXIT_TOOL, "cannot look up who called sudo: %s",
				  strerror(-err));
	return 0;
}

/* Becomes the caller for good, without reading a file. Without sudo, drops those privileges of this
 * process which its user does not have. 0, or -1 with errno. */
static int caller_become(const struct caller *c)
{
	if (!c->is_other)
		return geteuid() ? privilege_clear() : 0;
	if (setgroups(c->n_groups, c->groups) || setresgid(c->gid, c->gid, c->gid) ||
	    setresuid(c->uid, c->uid, c->uid))
		return -1;
	if (setenv("HOME", c->home, 1) || setenv("SHELL", c->shell, 1) ||
	    setenv("USER", c->name, 1) || setenv("LOGNAME", c->name, 1))
		return -1;
	return 0;
}

static void caller_done(struct caller *c)
{
	free(c->groups);
	free(c->name);
	free(c->home);
	free(c->shell);
	*c = (struct caller){};
}

enum { WIDE_GAP = 1024 };

/*
 * The child is traced already. Until exec, any I/O of the child, even a read or a close of a pipe,
 * would count as the command's. So the child polls, and closes nothing.
 */
static int wait_for_release(const struct child *c)
{
	struct pollfd fds[] = { { .fd = c->go, .events = POLLIN },
				{ .fd = c->self, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return -1;
	return fds[0].revents & POLLIN ? 0 : -1;
}

static void child_run(const struct child *c, char **argv, int failed)
{
	int err;

	if (wait_for_release(c))
		_exit(EXIT_TOOL);
	if (c->output_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(EXIT_TOOL);
	if (!rlimits_restore(&c->limits) && !caller_become(&c->caller))
		execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(EXIT_TOOL);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* Whether @name is a command that only a shell has. */
static bool is_of_shells(const char *name)
{
	static const char *const names[] = { "alias", "cd",     "exec",   "export", "for",
					     "if",    "source", "ulimit", "umask",  "while" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int cannot_execute(const struct child *c, int err, struct reason *why)
{
	reason_set(why, err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
		   "cannot execute '%.200s': %s", c->name, strerror(err));
	if (err == ENOENT && is_of_shells(c->name))
		return reason_hint(why, "only a shell has this command: -- sh -c '...'");
	if (err == ENOENT && strpbrk(c->name, " ;|&<>"))
		return reason_hint(why, "a command line in quotes needs a shell: -- sh -c '...'");
	return -1;
}

/* Whether @name is the path of a file without any x, which execve(2) refuses to root, too. A name
 * without a slash is looked up in $PATH, so the answer is no. */
static bool nobody_may_execute(const char *name)
{
	struct stat st;

	return strchr(name, '/') && !stat(name, &st) &&
	       (S_ISDIR(st.st_mode) || !(st.st_mode & 0111));
}

/* Whether execvp(3) would find a file called @name, of any kind. */
static bool is_found(const char *name)
{
	char path[PATH_MAX], standard[PATH_MAX] = "";
	const char *dir = getenv("PATH");
	int len;

	if (!dir && confstr(_CS_PATH, standard, sizeof(standard)))
		dir = standard;
	if (strchr(name, '/') || !dir)
		return !access(name, F_OK) || errno != ENOENT;
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", len, dir, len ? "/" : "", name);
		if (!access(path, F_OK) || errno != ENOENT)
			return true;
		if (!dir[len])
			return false;
	}
}

int program_check(const char *file)
{
	return !is_found(file) ? -ENOENT : nobody_may_execute(file) ? -EACCES : 0;
}

static int cannot(struct reason *why, const char *verb, int err)
{
	return reason_set(why, EXIT_TOOL, "cannot %s the command: %s", verb, strerror(err));
}

int child_prepare(struct child *c, const char *name, struct reason *why)
{
	int err = program_check(name);

	c->name = name;
	if (err)
		return cannot_execute(c, -err, why);
	if (caller_find(&c->caller, why))
		return -1;
	c->go = eventfd(0, EFD_CLOEXEC);
	c->self = syscall(SYS_pidfd_open, getpid(), 0);
	if (c->go < 0 || c->self < 0)
		return cannot(why, "prepare", errno);
	return 0;
}

int child_start(struct child *c, char **argv, struct reason *why)
{
	int failed[2];

	if (pipe2(failed, O_CLOEXEC))
		return cannot(why, "start", errno);
	c->pid = fork();
	if (c->pid == 0)
		child_run(c, argv, failed[1]);
	c->failed = failed[0];
	if (c->pid > 0)
		c->ended = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->ended < 0)
		cannot(why, "start", errno);
	close(failed[1]);
	return c->ended < 0 ? -1 : 0;
}

void child_release(struct child *c)
{
	c->released = true;
	eventfd_write(c->go, 1); /* the counter has room for it */
}

int child_executed(struct child *c, struct reason *why)
{
	int err = 0;
	ssize_t n = read(c->failed, &err, sizeof(err));

	close(c->failed);
	c->failed = -1;
	if (n != sizeof(err))
		return 0;
	waitpid(c->pid, NULL, 0);
	return cannot_execute(c, err, why);
}

/* The exit code for a status of waitpid(2). */
static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_reap(struct child *c, int if_0)
{
	int status;

	if (waitpid(c->pid, &status, 0) < 0)
		return EXIT_TOOL;
	return status ? status_of(status) : if_0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void child_done(struct child *c)
{
	/* the waiting child holds our pipes open; readers would hang */
	if (c->pid > 0 && !c->released && !kill(c->pid, SIGKILL))
		waitpid(c->pid, NULL, 0);
	caller_done(&c->caller);
	close_fd(&c->self);
	close_fd(&c->go);
	close_fd(&c->ended);
	close_fd(&c->failed);
}

static void deputy_signals(void (*action)(int))
{
	signal(SIGINT, action);
	signal(SIGTERM, action);
	signal(SIGHUP, action);
}

/* SIGUSR1 is for the tool, but 'pkill -USR1' and 'systemctl kill' send it to all its processes. */
static void usr1_ignore(void)
{
	signal(SIGUSR1, SIG_IGN);
}

static void deputy_run(const struct deputy_work *w, int go, int ready)
{
	struct caller caller = {};
	struct reason why;
	ssize_t n;
	int err;
	char any;

	deputy_signals(SIG_IGN);
	usr1_ignore();
	err = caller_find(&caller, &why) ? -EPERM : caller_become(&caller) ? -errno : 0;
	if (!err)
		err = w->prepare(w->arg);
	if (write(ready, &err, sizeof(err)) < 0 || err)
		_exit(EXIT_TOOL);
	close(ready);
	while ((n = read(go, &any, 1)) < 0 && errno == EINTR)
		;
	if (!w->stays || n != 1)
		deputy_signals(SIG_DFL);
	if (n == 1)
		_exit(w->work(w->arg));
	w->give_up(w->arg);
	_exit(0);
}

int deputy_start(struct deputy *h, const struct deputy_work *work)
{
	int go[2], ready[2], err = -EIO;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(ready, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	h->pid = fork();
	if (!h->pid) {
		close(go[1]);
		close(ready[0]);
		deputy_run(work, go[0], ready[1]);
	}
	if (h->pid < 0)
		err = -errno;
	close(go[0]);
	close(ready[1]);
	if (h->pid > 0 && read(ready[0], &err, sizeof(err)) != sizeof(err))
		err = -EIO;
	close(ready[0]);
	h->go = go[1];
	if (err)
		deputy_end(h, false);
	return err;
}

void deputy_go(struct deputy *h)
{
	if (write(h->go, "", 1) == 1) {
		close(h->go);
		h->go = -1;
	}
}

bool deputy_has_ended(struct deputy *h)
{
	if (h->pid <= 0 || waitpid(h->pid, NULL, WNOHANG) != h->pid)
		return false;
	h->pid = 0;
	return true;
}

int deputy_end(struct deputy *h, bool work)
{
	int status = 0;

	if (h->pid <= 0)
		return 0;
	if (work && h->go >= 0)
		deputy_go(h);
	if (h->go >= 0)
		close(h->go);
	while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_TOOL;
}

/* Closes all descriptors but the standard ones, @a and @b. */
static void close_but(unsigned int a, unsigned int b)
{
	unsigned int low = a < b ? a : b, high = a < b ? b : a;

	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

pid_t copy_start(int (*work)(void *arg), void *arg, const int keep[2])
{
	pid_t pid = fork();

	if (!pid) {
		close_but(keep[0], keep[1]);
		_exit(work(arg) ? EXIT_FAILED : 0);
	}
	return pid < 0 ? -errno : pid;
}

enum copy_state copy_look(pid_t pid, bool wait)
{
	int status;
	pid_t ended;

	while ((ended = waitpid(pid, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	if (!ended)
		return COPY_RUNS;
	return ended == pid && !status ? COPY_WORKED : COPY_FAILED;
}

int program_start(const char *file, const char *arg)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : 0;
	deputy_signals(SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	execlp(file, file, arg, (char *)NULL);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int program_ended(bool wait)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	return pid > 0 ? status_of(status) : -1;
}

/* The feed is a pair of sockets, since a write to a socket can time out. Only one direction is
 * open. */
static int feed_open(int ret_ends[2])
{
	struct timeval wait = { .tv_sec = FEED_WAIT_S };
	int err = 0, bytes = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_ends))
		return -errno;
	if (shutdown(ret_ends[0], SHUT_RD) ||
	    setsockopt(ret_ends[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)))
		err = -errno;
	/* fewer wake-ups of the server; the kernel's limit may be less */
	setsockopt(ret_ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (err) {
		close(ret_ends[0]);
		close(ret_ends[1]);
	}
	return err;
}

int listener_start(struct listener *s, int (*serve)(void *arg, int feed), void *arg)
{
	int ends[2], err = feed_open(ends);

	if (err)
		return err;
	s->pid = fork();
	if (!s->pid) {
		close(ends[0]);
		deputy_signals(SIG_IGN);
		usr1_ignore();
		_exit(serve(arg, ends[1]));
	}
	err = s->pid < 0 ? -errno : 0;
	close(ends[1]);
	s->feed = ends[0];
	if (err)
		close(ends[0]);
	return err;
}

bool listener_has_ended(struct listener *s)
{
	if (s->pid <= 0 || waitpid(s->pid, NULL, WNOHANG) != s->pid)
		return false;
	close(s->feed);
	s->pid = 0;
	return true;
}

/* A server that is stopped would not see the end of its feed. */
void listener_end(struct listener *s)
{
	if (s->pid <= 0)
		return;
	close(s->feed);
	if (!kill(s->pid, SIGKILL))
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	s->pid = 0;
}

/*
 * Closes all descriptors with a type of file; programs, links, maps and events have none, and
 * stay. An open output would make its readers wait for the end of this process. New descriptors
 * take the lowest free number, so after a wide gap of numbers there are no more.
 */
static void close_files(int except)
{
	struct stat st;

	for (int fd = 0, gap = 0; gap < WIDE_GAP; fd++) {
		if (fstat(fd, &st)) {
			gap++;
			continue;
		}
		gap = 0;
		if (fd != except && st.st_mode & S_IFMT)
			close(fd);
	}
}

/* Leaves the terminal, and holds the programs open until the tool closes its end of @parent. */
static void hold_open(int parent)
{
	char none;

	setsid();
	close_files(parent);
	while (read(parent, &none, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/*
 * Not in a pid namespace, which may end with the tool. There the first process waits for the end of
 * the others, in a state for which the detaching process waits in turn. Neither can be killed (seen
 * on 6.1).
 */
int child_hold_open(void)
{
	int ends[2];
	pid_t pid;

	if (!pidns_is_first() || pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		hold_open(ends[0]);
	}
	close(ends[0]);
	if (pid >= 0)
		return ends[1];
	close(ends[1]);
	return -1;
}

void child_let_go(int hold)
{
	if (hold >= 0)
		close(hold);
}
