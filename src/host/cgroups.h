/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cgroups.h - paths of cgroups, once looked up. Without CAP_DAC_READ_SEARCH each look-up walks
 * through all cgroups; and the kernel gives no id a second time.
 */
#ifndef IOSTRATA_HOST_CGROUPS_H
#define IOSTRATA_HOST_CGROUPS_H

/* Initially all 0. */
struct cgroups {
	struct cgroup_known *known;
};

/* Notes the path of a container's cgroup, so that cgroups_path() has it when the cgroup is gone. */
void cgroups_note(struct cgroups *c, unsigned long long id, const char *path);

/* As lookup_cgroup(): the caller frees it. Returns NULL if out of memory. */
char *cgroups_path(struct cgroups *c, unsigned long long id);

void cgroups_done(struct cgroups *c);

#endif
