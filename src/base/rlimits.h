/* SPDX-License-Identifier: GPL-2.0-only */
/* rlimits.h - limits of this process that can prevent tracing. */
#ifndef IOSTRATA_RLIMITS_H
#define IOSTRATA_RLIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

struct rlimits {
	struct rlimit files, locked;
};

/* Raises the limits on open files and on locked memory (kernels before 5.11 charge maps to it) as
 * far as this process may; it is no error if it may not. @ret_old: the old limits. */
void rlimits_raise(struct rlimits *ret_old);

/* Restores the limits for a child. 0, or -1 with errno. */
int rlimits_restore(const struct rlimits *old);

/* Whether so few files can be open that libbpf cannot try what the kernel can. */
bool rlimits_few_files(void);

/* What to do about error @err (positive) of a call that takes descriptors or memory; NULL if no
 * limit explains it. */
const char *rlimits_hint(int err);

#endif
