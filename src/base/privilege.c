// SPDX-License-Identifier: GPL-2.0-only
#include "base/privilege.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/reason.h"
#include "base/sudo.h"

enum { NOBODY = 65534 };	/* uid and gid that own nothing; the kernel's overflowuid */

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

bool privilege_is_admin(void)
{
	cap_flag_value_t have = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (now)
		cap_get_flag(now, CAP_SYS_ADMIN, CAP_EFFECTIVE, &have);
	cap_free(now);
	return have == CAP_SET;
}

/* A security module may require the same care when root starts a service, but root gains nothing
 * then. */
bool privilege_by_file(void)
{
	return getauxval(AT_SECURE) && (getuid() || geteuid() || getgid() != getegid());
}
