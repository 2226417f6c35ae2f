// SPDX-License-Identifier: GPL-2.0-only
#include "show/view_text.h"

#include <limits.h>
#include <string.h>

#include "base/names.h"
#include "show/breakdown_columns.h"

enum { LIST_MAX = 40, NARROW = 70 };

/* The title of the key column is the name of the key. The column that rows are sorted by is always
 * shown. */
static void columns_of(const struct breakdown_view *v, const struct column *from,
		       struct column list[LIST_MAX])
{
	int n = 0;

	for (; column_is(from) && n < LIST_MAX - 1; from++, n++) {
		list[n] = *from;
		if (from->title && !strcmp(from->title, "key"))
			list[n].title = by_name(v->by);
		if (from != v->sort)
			continue;
		list[n].title = list[n].title ? list[n].title : from->name;
		list[n].rank = 0;
		list[n].optional = false;
	}
	list[n] = (struct column){};
}

int view_width(const struct breakdown_view *v)
{
	return v->width ? v->width : 80;
}

int view_cut(const struct breakdown_view *v)
{
	return v->terminal ? view_width(v) : INT_MAX;
}

bool view_is_narrow(const struct breakdown_view *v)
{
	return view_width(v) < NARROW;
}

struct text_num view_time(const struct breakdown_view *v, uint64_t ns)
{
	struct text_num t = v->milliseconds ? text_ms(ns) : text_ns(ns);

	if (v->milliseconds)
		strcat(t.s, " ms");
	return t;
}

struct text_num view_clock(const struct breakdown_view *v)
{
	return text_clock(v->until_ns, v->every_ns);
}

const char *view_paint(const struct breakdown_view *v, enum paint p)
{
	static const char *const sgr[] = { "\033[0m",  "\033[1m",  "\033[32m", "\033[33m",
					   "\033[34m", "\033[35m", "\033[36m" };

	return v->color ? sgr[p] : "";
}

void view_line(struct text_out *o, const struct breakdown_view *v, const char *safe)
{
	char fit[1024];

	text_fit(fit, sizeof(fit), safe, view_cut(v), TEXT_CUT_TAIL);
	text_put(o, "%s\n", fit);
}

void view_wrap(struct text_out *o, const struct breakdown_view *v, const char *safe)
{
	(v->terminal ? text_wrap : text_wrap_whole)(o, safe, 0, 2, view_width(v));
}

const char *view_more(const struct breakdown_view *v)
{
	return v->rows_max ? "a larger -n shows them" : "-v shows them";
}

void view_row_name(char *dst, size_t cap, const struct breakdown_view *v,
		   const struct op_row *r, int columns)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], text[TEXT_SAFE_CAP(2 * PATH_MAX)];
	char comm[TEXT_SAFE_CAP(sizeof(r->comm))], op[32];

	text_safe_n(comm, sizeof(comm), r->comm, strnlen(r->comm, sizeof(r->comm)));
	text_safe_n(fs, sizeof(fs), r->fs, strnlen(r->fs, sizeof(r->fs)));
	if (v->by == BY_NONE)
		snprintf(text, sizeof(text), "%s%s%s", breakdown_op_name(v, r, op),
			 *fs ? " " : "", fs);
	else if (*r->comm)
		snprintf(text, sizeof(text), "%s %s", comm, r->by ? r->by : "");
	else if (v->by == BY_CACHE)
		snprintf(text, sizeof(text), "%s", r->key.cache == CACHE_NONE ?
			 "neither read nor write" : cache_name(r->key.cache));
	else
		text_safe_n(text, sizeof(text), r->by ? r->by : "",
			    breakdown_key_len(r->by, r->contained));
	text_fit(dst, cap, text, columns, TEXT_CUT_MIDDLE);
}

void view_ops(struct text_out *o, const struct breakdown_view *v, const struct breakdown_rows *rows,
	      size_t n)
{
	struct column list[LIST_MAX];
	const struct columns t = { .list = list, .ctx = &rows->whole, .width = view_width(v),
				   .uncut = !v->terminal, /* a key may be searched for */
				   .milliseconds = v->milliseconds };

	columns_of(v, op_columns, list);
	columns_text(o, &t, (const void *const *)rows->ops, n);
}

void view_figures(struct text_out *o, const struct breakdown_view *v,
		  const struct breakdown_whole *whole, const struct op_row *r)
{
	struct column list[LIST_MAX], *to = list;
	const struct columns t = { .list = list, .ctx = whole, .width = view_width(v),
				   .milliseconds = v->milliseconds };

	for (const struct column *c = op_columns; column_is(c); c++)
		if (c->kind != VALUE_TEXT && c->kind != VALUE_SHARE)
			*to++ = *c;
	*to = (struct column){};
	columns_text(o, &t, (const void *const *)&r, 1);
}

void view_requests(struct text_out *o, const struct breakdown_view *v,
		   const struct breakdown_rows *rows, size_t n)
{
	struct column list[LIST_MAX];
	const struct columns t = { .list = list, .ctx = &rows->whole, .width = view_width(v),
				   .uncut = !v->terminal, .milliseconds = v->milliseconds };

	columns_of(v, rq_columns, list);
	columns_text(o, &t, (const void *const *)rows->rqs, n);
}
