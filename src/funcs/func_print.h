/* SPDX-License-Identifier: GPL-2.0-only */
/* func_print.h - snapshots of function calls as text, as lines for other programs, and as JSON.
 * Knows nothing of the kernel. */
#ifndef IOSTRATA_FUNCS_FUNC_PRINT_H
#define IOSTRATA_FUNCS_FUNC_PRINT_H

#include <stdio.h>

#include "funcs/func_columns.h"

/* Writes a snapshot as text. This and the next three: 0, or -errno of a failed write. */
int func_text(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Writes lines "name(),count,total_us". */
int func_csv(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Writes lines "a;b;c N", the input for flame graphs: N is the self time in ns of c, called by b,
 * called by a. */
int func_folded(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

extern const struct schema funcs_schema;

/* Writes one line of JSON. */
int func_json(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Lists the matching functions, and why some would not be traced. Returns 0, or -errno of a failed
 * write.
 * */
int func_list_text(FILE *f, const struct func_list *l);

#endif
