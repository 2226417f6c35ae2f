// SPDX-License-Identifier: GPL-2.0-only
/*
 * confine.c - Landlock restricts files by path, and may be missing; seccomp restricts system calls,
 * and is always there. See confine.h.
 */
#include "base/confine.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/machine.h"

/* Rights on files by version of the interface, as bits from 0 on: REFER came with 2, TRUNCATE with
 * 3, IOCTL_DEV with 5. */
static uint64_t rights_of(int version)
{
	int bits = version < 2 ? 13 : version < 3 ? 14 : version < 5 ? 15 : 16;

	return (1ULL << bits) - 1;
}

static int allow_reading(int ruleset, const char *dir)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE };
	int err;

	rule.parent_fd = open(dir, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return -errno;
	err = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	err = err ? -errno : 0;
	close(rule.parent_fd);
	return err;
}

int confine_files(void)
{
	struct landlock_ruleset_attr attr = {};
	int version, ruleset, err;

	version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	attr.handled_access_fs = rights_of(version) & ~LANDLOCK_ACCESS_FS_READ_DIR;
	ruleset = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -errno;
	err = allow_reading(ruleset, "/proc");
	if (!err)
		err = allow_reading(ruleset, "/sys");
	if (!err && syscall(SYS_landlock_restrict_self, ruleset, 0))
		err = -errno;
	close(ruleset);
	return err;
}

/* Later kernels' calls are refused, since nobody has reviewed them. x32 calls are above this,
 * too. */
enum { CALLS_KNOWN = 450 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The low half of an argument, which has 64 bits. */
#define LOAD_LOW(field)                                                        \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define FAIL(err) RETURN(SECCOMP_RET_ERRNO | (err))

#define REFUSE(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), FAIL(EPERM)

/* Refuses @call with any of @flags (32 bits) in argument number @arg. */
#define REFUSE_FLAGS(call, arg, flags)                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4),                 \
	LOAD_LOW(args[arg]),                                                   \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),                     \
	FAIL(EPERM),                                                           \
	RETURN(SECCOMP_RET_ALLOW)

/* Refuses @call with @a or @b (32 bits) as argument number @arg. */
#define REFUSE_EITHER(call, arg, a, b)                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 5),                 \
	LOAD_LOW(args[arg]),                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a, 1, 0),                          \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, b, 0, 1),                          \
	FAIL(EPERM),                                                           \
	RETURN(SECCOMP_RET_ALLOW)

enum { CLONE_FLAGS_ARG = 0 };

enum { WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };

static const struct sock_filter filter[] = {
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE_AUDIT, 1, 0),
	FAIL(EPERM),
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALLS_KNOWN, 0, 1),
	FAIL(ENOSYS),
	/* files */
#ifdef SYS_open /* newer architectures have only the calls that begin at a directory */
	REFUSE_FLAGS(open, 1, WRITES), REFUSE(creat),
	REFUSE(mkdir), REFUSE(mknod), REFUSE(link), REFUSE(symlink), REFUSE(rename),
	REFUSE(unlink), REFUSE(rmdir), REFUSE(chmod), REFUSE(chown), REFUSE(lchown),
#endif
#ifdef SYS_renameat /* some have only renameat2() */
	REFUSE(renameat),
#endif
	REFUSE_FLAGS(openat, 2, WRITES),
	REFUSE_FLAGS(open_by_handle_at, 2, WRITES),
	REFUSE(openat2), REFUSE(truncate),
	REFUSE(mkdirat), REFUSE(mknodat), REFUSE(linkat), REFUSE(symlinkat),
	REFUSE(renameat2), REFUSE(unlinkat),
	REFUSE(fchmod), REFUSE(fchmodat), REFUSE(fchown), REFUSE(fchownat),
	REFUSE(setxattr), REFUSE(lsetxattr), REFUSE(fsetxattr),
	REFUSE(removexattr), REFUSE(lremovexattr), REFUSE(fremovexattr),
	/* running programs, and having other processes act for us */
	REFUSE(execve), REFUSE(execveat), REFUSE(socket),
#ifdef SYS_socketcall
	REFUSE(socketcall),
#endif
	REFUSE_EITHER(ioctl, 1, TIOCSTI, TIOCLINUX), /* would type into the caller's shell */
	REFUSE(ptrace), REFUSE(process_vm_writev), REFUSE(pidfd_getfd),
	/* detours: calls that somebody else makes for us, or that we make as another root */
	REFUSE(io_uring_setup), REFUSE(unshare), REFUSE(setns),
	REFUSE_FLAGS(clone, CLONE_FLAGS_ARG, CLONE_NEWUSER),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1), FAIL(ENOSYS), /* clone() will do */
	RETURN(SECCOMP_RET_ALLOW),
};

int confine_calls(void)
{
	const struct sock_fprog prog = { .len = sizeof(filter) / sizeof(*filter),
					 .filter = (struct sock_filter *)filter };

	/* without this flag, kernels before 5.16 slow down the whole process */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog))
		return -errno;
	return 0;
}
