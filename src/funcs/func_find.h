/* SPDX-License-Identifier: GPL-2.0-only */
/* func_find.h - from patterns to functions. Probes nothing. */
#ifndef IOSTRATA_FUNCS_FUNC_FIND_H
#define IOSTRATA_FUNCS_FUNC_FIND_H

#include <stdbool.h>

struct func_list;
struct func_session_conf;
struct reason;

/*
 * Adds to @l the functions matched by the patterns of @conf. @ret_user: they are of programs and
 * libraries, not of the kernel. For @explain see func_kernel_list(). Returns 0, or -1 with @why: no
 * function matches, or a pattern is wrong.
 */
int func_find(const struct func_session_conf *conf, bool explain, struct func_list *l,
	      bool *ret_user, struct reason *why);

#endif
