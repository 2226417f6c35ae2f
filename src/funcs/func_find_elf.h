/* SPDX-License-Identifier: GPL-2.0-only */
/* func_find_elf.h - the functions of a program or library, from its symbols, and whether their
 * returns may be probed. Probes nothing. */
#ifndef IOSTRATA_FUNCS_FUNC_FIND_ELF_H
#define IOSTRATA_FUNCS_FUNC_FIND_ELF_H

#include <stdbool.h>
#include <stddef.h>

struct func_list;
struct pattern;
struct reason;

struct func_elf_conf {
	bool risk_exceptions;     /* see func_signs_refuse() */
	const unsigned int *pids; /* the processes to trace */
	unsigned int n_pids;      /* 0: all */
	unsigned int pid;         /* the only one of @pids: c: means its C library. 0: there is none
				   * or several, and c: means that of this program */
	void (*unused)(unsigned int pid, const char *path); /* as in func_session_conf */
};

/*
 * Adds to @l the functions matched and not excluded by @patterns, all for programs and libraries.
 * Sets l->no_times if calls can only be counted. Returns 0, or -1 with @why: a file does not exist,
 * has no symbols, or is not safe to probe.
 */
int func_elf_list(struct func_list *l, struct pattern *const patterns[], size_t n,
		  const struct func_elf_conf *conf, struct reason *why);

/* Whether process @pid maps the file @path, or another with its inode number: the device in maps is
 * not always that of stat(2), as with btrfs and overlayfs. True if this is not known. */
bool func_elf_is_used(const char *path, unsigned int pid);

#endif
