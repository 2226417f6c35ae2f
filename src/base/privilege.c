// SPDX-License-Identifier: GPL-2.0-only
#include "base/privilege.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/reason.h"
#include "base/rlimits.h"
#include "base/sudo.h"

enum { NOBODY = 65534 };	/* uid and gid that own nothing; the kernel's overflowuid */

const struct privilege privileges[] = {
	{ "CAP_SYS_ADMIN", "functions of modules (file systems) are probed by kprobe, or "
	  "not at all, as where kernel.perf_event_paranoid is 3 (Debian)", CAP_SYS_ADMIN },
	{ "CAP_SYSLOG", "--why has no names, where kernel.kptr_restrict or "
	  "kernel.perf_event_paranoid hides addresses of functions", CAP_SYSLOG },
	{ "CAP_DAC_READ_SEARCH", "cgroups have a number and no name, and tracefs and debugfs "
	  "cannot be read", CAP_DAC_READ_SEARCH },
	{ "CAP_SYS_PTRACE", "funcs cannot find the programs and libraries of other users' "
	  "processes (-p)", CAP_SYS_PTRACE },
	{},
};

bool privilege_has(int cap)
{
	cap_flag_value_t have = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now)
		cap_get_flag(now, cap, CAP_EFFECTIVE, &have);
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
	return !access("/proc/self/uid_map", F_OK) &&
	       !line_has("/proc/self/uid_map", "4294967295");
}

int privilege_refused(struct reason *why)
{
	if (in_user_namespace())
		return reason_hint(why, "root of a user namespace (a rootless container) may not "
					"trace: start it outside");
	if (line_has("/sys/kernel/security/lockdown", "[confidentiality]"))
		return reason_hint(why, "the kernel is locked down (confidentiality): BPF may not "
					"read it");
	return reason_hint(why, "a seccomp filter (a container's, a service's) or a security "
				"module forbids it%s",
			   rlimits_hint(EPERM) ? ", or, before Linux 5.11, the limit of locked "
						 "memory: ulimit -l unlimited" : "");
}

/* Keeps a capability that the process has. */
static int keep(cap_t caps, cap_t now, cap_value_t cap)
{
	cap_flag_value_t have;

	if (cap_get_flag(now, cap, CAP_PERMITTED, &have) || have != CAP_SET)
		return 0;
	return cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET) |
	       cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET);
}

/* Before 5.8 there is no CAP_BPF, and CAP_SYS_ADMIN is needed. */
static int keep_needed(cap_t caps, cap_t now, bool names_cgroups)
{
	int err = 0;

	if (!CAP_IS_SUPPORTED(CAP_BPF))
		return keep(caps, now, CAP_SYS_ADMIN);
	err |= keep(caps, now, CAP_BPF);
	err |= keep(caps, now, CAP_PERFMON);
	err |= keep(caps, now, CAP_SYSLOG);
	if (names_cgroups)
		err |= keep(caps, now, CAP_DAC_READ_SEARCH);
	return err;
}

static int caps_drop(bool names_cgroups)
{
	cap_t now = cap_get_proc(), caps = cap_init();
	int err = 0;

	if (!now || !caps || keep_needed(caps, now, names_cgroups) || cap_set_proc(caps))
		err = errno ? -errno : -EPERM;
	cap_free(caps);
	cap_free(now);
	return err;
}

/* Files of root stay accessible to root without capabilities, too: /etc/shadow, most of
 * /proc/sys. */
static int root_leave(void)
{
	uid_t uid = NOBODY;
	gid_t gid = NOBODY;
	struct reason why;

	if (geteuid() != 0)
		return 0;
	if (sudo_ids(&uid, &gid, &why) > 0 && uid == 0)
		uid = gid = NOBODY;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

/* Nobody may trace or dump this process, not even its own user; and no setuid program helps it. */
static int close_up(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return 0;
}

/* Records the first failure. */
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
	why->error[0] = '\0';
	note(root_leave(), "become another user", why);
	note(caps_drop(names_cgroups), "drop capabilities", why);
	note(close_up(), "set no_new_privs", why);
	note(confine_files(), "use Landlock", why);
	note(confine_calls(), "use seccomp", why);
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
 * AT_SECURE is set for who gains something by the file. A security module may ask for it, too, when
 * root starts a service, but root gains nothing then.
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
	return stat("/proc/self/exe", &st) || st.st_mode & S_IXOTH ? PRIVILEGE_CAPS_ALL :
								     PRIVILEGE_CAPS;
}
