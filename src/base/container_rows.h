/* SPDX-License-Identifier: GPL-2.0-only */
/* container_rows.h - rows by cgroup become rows by container: those of its cgroups, added up. */
#ifndef IOSTRATA_CONTAINER_ROWS_H
#define IOSTRATA_CONTAINER_ROWS_H

#include "base/snapshot.h"

/*
 * Joins the rows of @sn, which were collected with BY_CGROUP. All cgroups outside of containers are
 * one row, CONTAINER_NONE. A cgroup that was gone before it could be named has a row of its own,
 * "cgroup 12", and is counted in unnamed_cgroups. 0 or -ENOMEM; then @sn is as it was.
 */
int container_rows(struct snapshot *sn);

#endif
