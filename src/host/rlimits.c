// SPDX-License-Identifier: GPL-2.0-only
#include "host/rlimits.h"

#include <errno.h>
#include <stddef.h>

/* Raises a limit to infinity; without the privilege, to the hard limit. */
static void raise_one(int resource, struct rlimit *ret_old)
{
	struct rlimit raised = { RLIM_INFINITY, RLIM_INFINITY };

	getrlimit(resource, ret_old);
	if (!setrlimit(resource, &raised))
		return;
	raised.rlim_cur = raised.rlim_max = ret_old->rlim_max;
	setrlimit(resource, &raised);
}

void rlimits_raise(struct rlimits *ret_old)
{
	raise_one(RLIMIT_NOFILE, &ret_old->files); /* infinity is more than the kernel allows */
	raise_one(RLIMIT_MEMLOCK, &ret_old->locked);
}

int rlimits_restore(const struct rlimits *old)
{
	return setrlimit(RLIMIT_NOFILE, &old->files) || setrlimit(RLIMIT_MEMLOCK, &old->locked) ? -1
												: 0;
}

static bool is_limited(int resource)
{
	struct rlimit limit;

	return !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

bool rlimits_few_files(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < 64;
}

const char *rlimits_hint(int err)
{
	/* libbpf returns EBADF for a descriptor it could not duplicate */
	if (err == EMFILE || err == EBADF)
		return "raise the limit of open files: ulimit -n 1024";
	if (err == ENOMEM && (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)))
		return "raise the limit of memory: ulimit -v unlimited -d unlimited";
	/* the kernel also reports this limit as EPERM */
	if (err == EPERM && is_limited(RLIMIT_MEMLOCK))
		return "raise the limit of locked memory: ulimit -l unlimited";
	return NULL;
}
