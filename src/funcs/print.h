/* SPDX-License-Identifier: GPL-2.0-only */
/* print.h - snapshots of function calls as text, as lines for other programs, and as JSON. Knows
 * nothing of the kernel. */
#ifndef IOSTRATA_FUNCS_PRINT_H
#define IOSTRATA_FUNCS_PRINT_H

#include <stdio.h>

#include "funcs/columns.h"

/* Writes a snapshot as text. This and the next three: 0, or -errno of a failed write. */
int funcs_text(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Writes lines "name(),count,total_us". */
int funcs_csv(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Writes lines "a;b;c N", the input for flame graphs: N is the self time in ns of c, called by b,
 * called by a. */
int funcs_folded(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Writes one line of JSON, schema "iostrata.funcs/1". */
int funcs_json(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn);

/* Lists the matching functions, and why some would not be traced. 0, or -errno of a failed write.
 *  */
int funcs_list_text(FILE *f, const struct func_list *l);

#endif
