// SPDX-License-Identifier: GPL-2.0-only
#include "show/why_text.h"

#include <errno.h>
#include <stdlib.h>

#include "show/breakdown_columns.h"
#include "show/view_text.h"

enum { ROWS_MOST = 8 };

int why_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	const struct columns t = { .list = why_columns, .width = view_width(v),
				   .uncut = !v->terminal, .milliseconds = v->milliseconds };
	size_t most = v->rows_max ? v->rows_max : v->detail ? SIZE_MAX - 1 : ROWS_MOST;
	size_t n = sn->n_whys;
	const struct why_row **rows;

	if (!v->why)
		return 0;
	text_put(o, "\n");
	if (!n) {
		view_line(o, v, "no sleep for reasons that are not known");
		return 0;
	}
	rows = breakdown_whys(sn);
	if (!rows)
		return -ENOMEM;
	if (n > most + !v->rows_max)
		n = most;
	text_put(o, "%ssleep, by where%s\n", view_paint(v, PAINT_TITLE), view_paint(v, PAINT_OFF));
	columns_text(o, &t, (const void *const *)rows, n);
	if (n < sn->n_whys)
		text_put(o, "%s more; %s\n", text_count(sn->n_whys - n).s, view_more(v));
	free(rows);
	return 0;
}
