/* SPDX-License-Identifier: GPL-2.0-only */
/* opts_table.h - functions shared by parsing and printing of option tables; private to both. */
#ifndef IOSTRATA_BASE_OPTS_TABLE_H
#define IOSTRATA_BASE_OPTS_TABLE_H

#include "base/opts.h"

/* Options of every command: --help, then --version. */
extern const struct opt opts_builtin[];

/* Whether commas separate values of @o. */
bool opts_has_commas(const struct opt *o);

/* "a, b or c"; cut if it does not fit. */
void opts_list_choices(char *dst, size_t cap, const struct opt_choice *c);

#endif
