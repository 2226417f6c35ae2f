/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filters.h - the options that say whose and which I/O, the same in every command, and what they
 * mean to the kernel.
 */
#ifndef IOSTRATA_FILTERS_H
#define IOSTRATA_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "opts.h"
#include "session.h"

struct filters {
	uint64_t pid;		/* 0: not given */
	const char *comm, *cgroup, *disk, *fs, *file;
	int op;			/* enum op_kind, OP_NONE: all */
	uint64_t min_ns;
	bool all_files, system;
};

extern const struct opt filter_opts[];	/* over struct filters */

/* Translates into @conf; looks things up in /proc and /sys. 0, or -1 with @why. */
int filters_resolve(const struct filters *f, struct session_conf *conf, struct reason *why);

/* Whether the kernel, as it is now, knows file system type @type. */
bool filters_fs_type_known(const char *type);

/* Writes them as they were given, for messages: "-p 12 --comm dd"; raw, hostile. */
void filters_text(const struct filters *f, char *text, size_t cap);

#endif
