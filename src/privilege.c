// SPDX-License-Identifier: GPL-2.0-only
#include "privilege.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

static const cap_value_t needed[] = { CAP_BPF, CAP_PERFMON, CAP_SYSLOG, CAP_DAC_READ_SEARCH };

enum { NEEDED_N = sizeof(needed) / sizeof(*needed) };

/* Before 5.8 there is no CAP_BPF, and only CAP_SYS_ADMIN will do. */
static int keep(cap_t caps, cap_t now)
{
	cap_value_t admin = CAP_SYS_ADMIN;
	cap_flag_value_t have;
	int err = 0;

	if (!CAP_IS_SUPPORTED(CAP_BPF))
		return cap_set_flag(caps, CAP_PERMITTED, 1, &admin, CAP_SET) |
		       cap_set_flag(caps, CAP_EFFECTIVE, 1, &admin, CAP_SET);
	for (int i = 0; i < NEEDED_N; i++) {
		if (cap_get_flag(now, needed[i], CAP_PERMITTED, &have) || have != CAP_SET)
			continue;
		err |= cap_set_flag(caps, CAP_PERMITTED, 1, &needed[i], CAP_SET);
		err |= cap_set_flag(caps, CAP_EFFECTIVE, 1, &needed[i], CAP_SET);
	}
	return err;
}

int privilege_drop(void)
{
	cap_t now = cap_get_proc(), caps = cap_init();
	int err = 0;

	if (!now || !caps || keep(caps, now) || cap_set_proc(caps) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = errno ? -errno : -EPERM;
	cap_free(caps);
	cap_free(now);
	return err;
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
