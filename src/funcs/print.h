/* SPDX-License-Identifier: GPL-2.0-only */
/* print.h - calls of functions as text, in lines for other programs, and as JSON. */
#ifndef IOSTRATA_FUNCS_PRINT_H
#define IOSTRATA_FUNCS_PRINT_H

#include <stdio.h>

#include "funcs/columns.h"

/* Each writes one snapshot; 0 or -errno of a failed write. */
int funcs_text(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* "name(),count,total_us" */
int funcs_csv(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* "a;b;c N", where N is the self time in ns of c, called by b, called by a: input for flame
 * graphs. */
int funcs_folded(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* One line of JSON, schema "iostrata.funcs/1". */
int funcs_json(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* The functions that match, and why some of them would not be traced. */
int funcs_list_text(FILE *f, const struct func_list *l);

#endif
