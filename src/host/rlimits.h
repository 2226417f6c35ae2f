/* SPDX-License-Identifier: GPL-2.0-only */
/* rlimits.h - limits of this process that can prevent tracing. */
#ifndef IOSTRATA_HOST_RLIMITS_H
#define IOSTRATA_HOST_RLIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

struct rlimits {
	struct rlimit files, locked;
};

/* Raises the limits on open files and on locked memory (kernels before 5.11 charge maps to it) as
 * far as this process may. Failure is no error. @ret_old: the old limits. */
void rlimits_raise(struct rlimits *ret_old);

/* Restores the limits for a child. Returns 0, or -1 with errno. */
int rlimits_restore(const struct rlimits *old);

/* Whether the limit on open files is too low for libbpf to probe features of the kernel. */
bool rlimits_few_files(void);

/* The hint for error @err (positive) of a call that needs descriptors or memory; NULL if no limit
 * explains the error. */
const char *rlimits_hint(int err);

#endif
