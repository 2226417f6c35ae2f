// SPDX-License-Identifier: GPL-2.0-only
/*
 * intruder.c - actions left to somebody who has taken over iostrata while it traces.
 *
 * intruder [cgroups]: makes attempts as it is, then once more after privilege_drop(). Two lines of
 * JSON on stdout: for each attempt the errno that it came to, 0 if it was let. Nothing stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "host/privilege.h"

static char made[] = "/tmp/intruder-made-XXXXXX", other[64];
static int made_fd;
static pid_t victim;

static int closed(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

/* The result of an attempt in process @pid: 0, or -1 with errno; EINTR if a signal ended the
 * process. */
static int ended(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno ? -1 : 0;
}

static int core_pattern(void)
{
	return closed(open("/proc/sys/kernel/core_pattern", O_WRONLY));
}

static int shadow_append(void)
{
	return closed(open("/etc/shadow", O_WRONLY | O_APPEND));
}

static int shadow_read(void)
{
	return closed(open("/etc/shadow", O_RDONLY));
}

static int tmp_file(void)
{
	int fd = open(other, O_CREAT | O_EXCL | O_WRONLY, 0600);

	return fd < 0 ? -1 : close(fd) | unlink(other);
}

static int tmp_file_openat2(void)
{
	struct open_how how = { .flags = O_CREAT | O_EXCL | O_WRONLY, .mode = 0600 };
	int fd = syscall(SYS_openat2, AT_FDCWD, other, &how, sizeof(how));

	return fd < 0 ? -1 : close(fd) | unlink(other);
}

static int tmp_dir(void)
{
	return mkdir(other, 0700) ? -1 : rmdir(other);
}

static int tmp_link(void)
{
	return symlink("/etc/shadow", other) ? -1 : unlink(other);
}

/* The tool's own file, in a directory to which all may write. */
static int tmp_write(void)
{
	return closed(open(made, O_WRONLY));
}

static int tmp_truncate(void)
{
	return truncate(made, 0);
}

static int tmp_setuid(void)
{
	return chmod(made, 04777) ? -1 : chmod(made, 0666);
}

static int shell(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 0", NULL);
		_exit(errno);
	}
	return ended(pid);
}

static int root_again(void)
{
	return setresuid(0, 0, 0);
}

static int other_root(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) ? errno : 0);
	return ended(pid);
}

static int service(void)
{
	return closed(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int other_process(void)
{
	if (ptrace(PTRACE_ATTACH, victim, NULL, NULL))
		return -1;
	waitpid(victim, NULL, 0);
	return ptrace(PTRACE_DETACH, victim, NULL, NULL);
}

static int proc_read(void)
{
	return closed(open("/proc/kallsyms", O_RDONLY));
}

static int sys_read(void)
{
	return closed(open("/sys/kernel/btf/vmlinux", O_RDONLY));
}

static int open_write(void)
{
	return write(made_fd, "x", 1) == 1 ? 0 : -1;
}

static const struct {
	const char *name;
	int (*make)(void);
} attempts[] = {
	{ "core_pattern", core_pattern },
	{ "shadow_append", shadow_append },
	{ "shadow_read", shadow_read },
	{ "tmp_file", tmp_file },
	{ "openat2", tmp_file_openat2 },
	{ "tmp_dir", tmp_dir },
	{ "tmp_link", tmp_link },
	{ "tmp_write", tmp_write },
	{ "truncate", tmp_truncate },
	{ "chmod", tmp_setuid },
	{ "shell", shell },
	{ "root_again", root_again },
	{ "other_root", other_root },
	{ "service", service },
	{ "other_process", other_process },
	/* what the tool itself does */
	{ "proc_read", proc_read },
	{ "sys_read", sys_read },
	{ "open_write", open_write },
};

static void attempt_all(void)
{
	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		int err = attempts[i].make() ? errno : 0;

		printf("%s\"%s\": %d", i ? ", " : "{", attempts[i].name, err);
	}
	/* not tried by one who may: it types into the terminal */
	printf(", \"type\": %d}\n", ioctl(0, TIOCSTI, "") ? errno : 0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct reason why;
	bool cgroups = argc > 1 && !strcmp(argv[1], "cgroups");

	snprintf(other, sizeof(other), "/tmp/intruder-other-%d", getpid());
	made_fd = mkstemp(made);
	if (made_fd < 0 || fchmod(made_fd, 0666))
		return 1;
	victim = fork();
	if (victim == 0)
		for (;;)
			pause();
	attempt_all();
	if (fork() == 0) {
		if (privilege_drop(cgroups, &why))
			fprintf(stderr, "%s\n", why.error);
		attempt_all();
		_exit(0);
	}
	wait(NULL);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	return unlink(made);
}
