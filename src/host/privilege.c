// SPDX-License-Identifier: GPL-2.0-only
#include "host/privilege.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/opts.h"
#include "base/reason.h"
#include "host/container_names.h"
#include "host/rlimits.h"

static int refuse(struct reason *why, const char *variable, const char *text, const char *what)
{
	reason_set(why, EXIT_TOOL, "cannot tell who called sudo: %s '%.40s': %s", variable, text,
		   what);
	return reason_hint(why, "to go on as root, unset SUDO_UID, SUDO_GID and SUDO_USER");
}

static int id_of(const char *variable, unsigned int *ret_id, struct reason *why)
{
	const char *text = getenv(variable), *what;
	uint64_t id;

	if (!text)
		return refuse(why, variable, "", "not set");
	if (opts_uint(text, &id, &what))
		return refuse(why, variable, text, what);
	if (id >= UINT_MAX) /* -1 means "do not change" to the kernel */
		return refuse(why, variable, text, "too large");
	*ret_id = id;
	return 0;
}

int privilege_sudo_ids(uid_t *ret_uid, gid_t *ret_gid, struct reason *why)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0 || !(getenv("SUDO_UID") || getenv("SUDO_GID") || getenv("SUDO_USER")))
		return 0;
	if (id_of("SUDO_UID", &uid, why) || id_of("SUDO_GID", &gid, why))
		return -1;
	*ret_uid = uid;
	*ret_gid = gid;
	return 1;
}

/*
 * Confinement. This process, run by any user, can no longer change or create files, start programs
 * or talk to services. Open descriptors stay usable. Confinement cannot be undone, and children
 * inherit it.
 */

/*
 * Landlock restricts files by path, and may be missing in the kernel; seccomp restricts system
 * calls, and is always there.
 */

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

/* A directory that is not there has nothing to be read. */
static int allow_reading_names(int ruleset)
{
	int err = 0;

	for (const char *const *dir = container_names_dirs; *dir && !err; dir++) {
		err = allow_reading(ruleset, *dir);
		err = err == -ENOENT || err == -EACCES || err == -ENOTDIR ? 0 : err;
	}
	return err;
}

/*
 * Both need no_new_privs, and return 0 or -errno.
 *
 * Landlock (5.13): only files below @dirs (a list that ends with NULL) can be read, with @names
 * also those with names of containers. None can be written, created, removed or executed. Returns 0
 * also if the kernel has no Landlock.
 */
static int confine_files(const char *const *dirs, bool names)
{
	struct landlock_ruleset_attr attr = {};
	int version, ruleset, err = 0;

	version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	attr.handled_access_fs = rights_of(version) & ~LANDLOCK_ACCESS_FS_READ_DIR;
	ruleset = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -errno;
	for (; *dirs && !err; dirs++)
		err = allow_reading(ruleset, *dirs);
	if (!err && names)
		err = allow_reading_names(ruleset);
	if (!err && syscall(SYS_landlock_restrict_self, ruleset, 0))
		err = -errno;
	close(ruleset);
	return err;
}

/* System calls of later kernels are refused: nobody has reviewed them. The numbers of x32 calls are
 * above this limit, too. */
enum { CALLS_KNOWN = 450 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The low half of a 64-bit argument. */
#define LOAD_LOW(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)    BPF_STMT(BPF_RET | BPF_K, what)
#define FAIL(err)       RETURN(SECCOMP_RET_ERRNO | (err))

#define REFUSE(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), FAIL(EPERM)

/* Refuses @call with any of @flags (32 bits) in argument number @arg. */
#define REFUSE_FLAGS(call, arg, flags)                                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD_LOW(args[arg]),                \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1), FAIL(EPERM),                    \
		RETURN(SECCOMP_RET_ALLOW)

/* Refuses @call with @a or @b (32 bits) as argument number @arg. */
#define REFUSE_EITHER(call, arg, a, b)                                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 5), LOAD_LOW(args[arg]),                \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a, 1, 0),                                      \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, b, 0, 1), FAIL(EPERM),                         \
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
#ifdef SYS_open /* newer architectures have only calls relative to a directory */
	REFUSE_FLAGS(open, 1, WRITES),
	REFUSE(creat),
	REFUSE(mkdir),
	REFUSE(mknod),
	REFUSE(link),
	REFUSE(symlink),
	REFUSE(rename),
	REFUSE(unlink),
	REFUSE(rmdir),
	REFUSE(chmod),
	REFUSE(chown),
	REFUSE(lchown),
#endif
#ifdef SYS_renameat /* some architectures have only renameat2() */
	REFUSE(renameat),
#endif
	REFUSE_FLAGS(openat, 2, WRITES),
	REFUSE_FLAGS(open_by_handle_at, 2, WRITES),
	REFUSE(openat2),
	REFUSE(truncate),
	REFUSE(mkdirat),
	REFUSE(mknodat),
	REFUSE(linkat),
	REFUSE(symlinkat),
	REFUSE(renameat2),
	REFUSE(unlinkat),
	REFUSE(fchmod),
	REFUSE(fchmodat),
	REFUSE(fchown),
	REFUSE(fchownat),
	REFUSE(setxattr),
	REFUSE(lsetxattr),
	REFUSE(fsetxattr),
	REFUSE(removexattr),
	REFUSE(lremovexattr),
	REFUSE(fremovexattr),
	/* start programs, or act through other processes */
	REFUSE(execve),
	REFUSE(execveat),
	REFUSE(socket),
#ifdef SYS_socketcall
	REFUSE(socketcall),
#endif
	REFUSE_EITHER(ioctl, 1, TIOCSTI, TIOCLINUX), /* would type into the caller's shell */
	REFUSE(ptrace),
	REFUSE(process_vm_writev),
	REFUSE(pidfd_getfd),
	/* detours: calls executed by io_uring, or in another namespace or root */
	REFUSE(io_uring_setup),
	REFUSE(unshare),
	REFUSE(setns),
	REFUSE_FLAGS(clone, CLONE_FLAGS_ARG, CLONE_NEWUSER),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
	FAIL(ENOSYS), /* the C library falls back to clone() */
	RETURN(SECCOMP_RET_ALLOW),
};

/* seccomp: forbidden system calls fail with EPERM, calls of later kernels with ENOSYS. */
static int confine_syscalls(void)
{
	const struct sock_fprog prog = { .len = sizeof(filter) / sizeof(*filter),
					 .filter = (struct sock_filter *)filter };

	/* without this flag, kernels before 5.16 slow down the whole process */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog))
		return -errno;
	return 0;
}

enum { NOBODY = 65534 }; /* uid and gid without files; the kernel's overflowuid */

const struct privilege privileges[] = {
	{ "CAP_SYS_ADMIN",
	  "functions of modules (file systems) are probed by kprobe; "
	  "not at all where kernel.perf_event_paranoid is 3 (Debian)",
	  CAP_SYS_ADMIN },
	{ "CAP_SYSLOG",
	  "--why has no names, where kernel.kptr_restrict or "
	  "kernel.perf_event_paranoid hides addresses of functions",
	  CAP_SYSLOG },
	{ "CAP_DAC_READ_SEARCH",
	  "names of containers of docker and podman, tracefs and debugfs "
	  "cannot be read",
	  CAP_DAC_READ_SEARCH },
	{ "CAP_SYS_PTRACE",
	  "funcs cannot find the programs and libraries of other users' "
	  "processes (-p), and breakdown does not name their threads that hung before the start",
	  CAP_SYS_PTRACE },
	{},
};

bool privilege_has(int capability)
{
	cap_flag_value_t have = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now)
		cap_get_flag(now, capability, CAP_EFFECTIVE, &have);
	cap_free(now);
	return have == CAP_SET;
}

bool privilege_is_admin(void)
{
	return privilege_has(CAP_SYS_ADMIN);
}

int privilege_check(struct reason *why)
{
	bool bpf = privilege_has(CAP_BPF), perfmon = privilege_has(CAP_PERFMON);

	if ((bpf && perfmon) || privilege_is_admin())
		return 0;
	reason_set(why, EXIT_PERMISSION, "cannot trace without %s%s%s", bpf ? "" : "CAP_BPF",
		   bpf || perfmon ? "" : " and ", perfmon ? "" : "CAP_PERFMON");
	if (geteuid() == 0)
		return reason_hint(why, "a container must be given both (docker run --cap-add): "
					"see CONTAINERS in the manual");
	return reason_hint(why, "run as root, or with both (setpriv --ambient-caps, setcap): see "
				"SECURITY in the manual");
}

/* Whether the first line of @path has @text. */
static bool line_has(const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	char line[128];
	bool has = f && fgets(line, sizeof(line), f) && strstr(line, text);

	if (f)
		fclose(f);
	return has;
}

/* A user namespace other than the first maps fewer ids than there are. */
static bool in_user_namespace(void)
{
	return !access("/proc/self/uid_map", F_OK) && !line_has("/proc/self/uid_map", "4294967295");
}

int privilege_refused(struct reason *why)
{
	if (in_user_namespace())
		return reason_hint(why, "root of a user namespace (a rootless container) may not "
					"trace: start it outside");
	if (line_has("/sys/kernel/security/lockdown", "[confidentiality]"))
		return reason_hint(why, "the kernel is locked down (confidentiality): BPF may not "
					"read it");
	return reason_hint(why,
			   "a seccomp filter (a container's, a service's) or a security "
			   "module forbids it%s",
			   rlimits_hint(EPERM) ? ", or, before Linux 5.11, the limit of locked "
						 "memory: ulimit -l unlimited"
					       : "");
}

/* Keeps a capability, if the process has it. */
static int keep(cap_t needed, cap_t now, cap_value_t capability)
{
	cap_flag_value_t have;

	if (cap_get_flag(now, capability, CAP_PERMITTED, &have) || have != CAP_SET)
		return 0;
	return cap_set_flag(needed, CAP_PERMITTED, 1, &capability, CAP_SET) |
	       cap_set_flag(needed, CAP_EFFECTIVE, 1, &capability, CAP_SET);
}

/* Before 5.8 there is no CAP_BPF, and CAP_SYS_ADMIN is needed. */
static int keep_needed(cap_t needed, cap_t now, bool names_cgroups)
{
	int err = 0;

	if (!CAP_IS_SUPPORTED(CAP_BPF))
		return keep(needed, now, CAP_SYS_ADMIN);
	err |= keep(needed, now, CAP_BPF);
	err |= keep(needed, now, CAP_PERFMON);
	err |= keep(needed, now, CAP_SYSLOG);
	if (names_cgroups)
		err |= keep(needed, now, CAP_DAC_READ_SEARCH);
	return err;
}

static int capabilities_drop(bool names_cgroups)
{
	cap_t now = cap_get_proc(), needed = cap_init();
	int err = 0;

	if (!now || !needed || keep_needed(needed, now, names_cgroups) || cap_set_proc(needed))
		err = errno ? -errno : -EPERM;
	cap_free(needed);
	cap_free(now);
	return err;
}

/* Stops being root: even without capabilities, root can access files of root, such as /etc/shadow
 * and most of /proc/sys. */
static int root_leave(void)
{
	uid_t uid = NOBODY;
	gid_t gid = NOBODY;
	struct reason why;

	if (geteuid() != 0)
		return 0;
	if (privilege_sudo_ids(&uid, &gid, &why) > 0 && uid == 0)
		uid = gid = NOBODY;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

/* Prevents other processes of the same user from tracing or dumping this one, and setuid programs
 * from giving it privileges. */
static int close_up(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return 0;
}

/* Notes the first failure. */
static void note(int err, const char *what, struct reason *why)
{
	if (!err || why->error[0])
		return;
	reason_set(why, EXIT_PERMISSION, "more privileges are kept than needed: cannot %s: %s",
		   what, strerror(-err));
	reason_hint(why, "a container or a sandbox around it may forbid that");
}

int privilege_drop(bool names_cgroups, struct reason *why)
{
	static const char *const dirs[] = { "/proc", "/sys", NULL };

	why->error[0] = '\0';
	note(root_leave(), "become another user", why);
	note(capabilities_drop(names_cgroups), "drop capabilities", why);
	note(close_up(), "set no_new_privs", why);
	note(confine_files(dirs, names_cgroups), "use Landlock", why);
	note(confine_syscalls(), "use seccomp", why);
	return why->error[0] ? -1 : 0;
}

/* To find mapped files, to read them, and to open one whose path leads elsewhere (5.9). */
static int capabilities_drop_but_reading(void)
{
	cap_t now = cap_get_proc(), needed = cap_init();
	int err = !now || !needed;

	if (!err) {
		err |= keep(needed, now, CAP_SYS_PTRACE);
		err |= keep(needed, now, CAP_DAC_READ_SEARCH);
		if (CAP_IS_SUPPORTED(CAP_CHECKPOINT_RESTORE))
			err |= keep(needed, now, CAP_CHECKPOINT_RESTORE);
	}
	err = err || cap_set_proc(needed) ? -EPERM : 0;
	cap_free(needed);
	cap_free(now);
	return err;
}

int privilege_drop_but_reading(struct reason *why)
{
	why->error[0] = '\0';
	note(root_leave(), "become another user", why);
	note(capabilities_drop_but_reading(), "drop capabilities", why);
	note(close_up(), "set no_new_privs", why);
	note(confine_syscalls(), "use seccomp", why);
	return why->error[0] ? -1 : 0;
}

int privilege_drop_all(struct reason *why)
{
	static const char *const none[] = { NULL };

	why->error[0] = '\0';
	note(root_leave(), "become another user", why);
	note(privilege_clear() ? -errno : 0, "drop capabilities", why);
	note(close_up(), "set no_new_privs", why);
	note(confine_files(none, false), "use Landlock", why);
	note(confine_syscalls(), "use seccomp", why);
	return why->error[0] ? -1 : 0;
}

int privilege_clear(void)
{
	cap_t none = cap_init();
	int err = !none || cap_set_proc(none) ? -1 : 0;

	cap_free(none);
	return err ? err : prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/*
 * AT_SECURE is set if the file gives the process privileges. A security module may also set it when
 * root starts a service: then the file gives nothing.
 */
enum privilege_file privilege_by_file(void)
{
	struct stat st;

	if (!getauxval(AT_SECURE))
		return PRIVILEGE_NONE;
	if (getuid() != geteuid() || getgid() != getegid())
		return PRIVILEGE_ID;
	if (!getuid())
		return PRIVILEGE_NONE;
	return stat("/proc/self/exe", &st) || st.st_mode & S_IXOTH ? PRIVILEGE_CAPABILITIES_ALL
								   : PRIVILEGE_CAPABILITIES;
}
