// SPDX-License-Identifier: GPL-2.0-only
#include "show/unfinished_text.h"

#include <limits.h>
#include <string.h>

#include "base/names.h"
#include "show/view_text.h"

enum { ROWS = 2, LONG_NS = 100000000 };
enum { FILE_COLUMNS = 16, FILE_CAP = TEXT_SAFE_CAP(PATH_MAX) };

/* Operations in progress for too long to be there by chance. */
static size_t long_ones(const struct snapshot *sn)
{
	size_t n = 0;

	while (n < sn->n_unfinished && sn->unfinished[n].age_ns >= LONG_NS)
		n++;
	return n;
}

/* Of the line about an operation in progress: on narrow terminals it is two. */
static int unfinished_columns(const struct breakdown_view *v)
{
	return view_is_narrow(v) ? 2 * view_width(v) - 16 : view_width(v);
}

/* ", on /a/b", cut in its middle to @columns; "" if they are too few to tell files apart. */
static void file_fit(char *text, size_t cap, const char *file, int columns)
{
	char safe[FILE_CAP];
	int n;

	text[0] = '\0';
	if (!file || columns < FILE_COLUMNS)
		return;
	text_safe_n(safe, sizeof(safe), file, strlen(file));
	n = snprintf(text, cap, ", on ");
	text_fit(text + n, cap - n, safe, columns - n, TEXT_CUT_MIDDLE);
}

/* "not finished: fsync ext4, for 12.0 s, in sleep, by dd (1234), on /a/b" */
static void put_unfinished(struct text_out *o, const struct breakdown_view *v,
			   const struct unfinished *u)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], comm[TEXT_SAFE_CAP(COMM_LEN)], text[320];
	char line[sizeof(text) + FILE_CAP];
	int columns = v->terminal ? unfinished_columns(v) : INT_MAX, used;
	size_t len;

	text_safe_n(fs, sizeof(fs), u->fs, strnlen(u->fs, sizeof(u->fs)));
	text_safe_n(comm, sizeof(comm), u->comm, strnlen(u->comm, sizeof(u->comm)));
	snprintf(text, sizeof(text), "not finished: %s%s%s, for %s, in %s, by %s (%u)",
		 op_name(u->op), *fs ? " " : "", fs, text_ns(u->age_ns).s,
		 stratum_label(u->stratum), *comm ? comm : "pid", u->pid);
	used = text_fit(line, sizeof(text), text, columns, TEXT_CUT_TAIL);
	len = strlen(line);
	file_fit(line + len, sizeof(line) - len, u->file, columns - used);
	text_wrap(o, line, 0, 2, view_cut(v));
}

void unfinished_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	size_t n = long_ones(sn), lines = n > ROWS ? ROWS : n;

	for (size_t i = 0; i < lines; i++)
		put_unfinished(o, v, &sn->unfinished[i]);
	if (lines < n)
		text_put(o, "and %s more\n", text_count(n - lines).s);
}
