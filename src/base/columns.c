// SPDX-License-Identifier: GPL-2.0-only
#include "base/columns.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	CELL = TEXT_SAFE_CAP(PATH_MAX),
	TITLE = 32,
	COLUMNS_MAX = 32,
	FLEXIBLE_LEAST = 4, /* least width of a column whose text may be cut */
	FLEXIBLE_GOOD = 20, /* other columns are left out before it gets narrower */
};

/* The columns shown of a list, and their widths. */
struct layout {
	const struct column *cols[COLUMNS_MAX];
	int widths[COLUMNS_MAX], n, gap;
};

static bool is_left(const struct column *c)
{
	return c->kind == VALUE_TEXT;
}

static bool is_ratio(const struct column *c)
{
	return c->kind == VALUE_RATE || c->kind == VALUE_SHARE || c->kind == VALUE_MEAN;
}

static inline void value_get(struct value *v, const struct columns *t, const struct column *c,
			     const void *row)
{
	v->unknown = false;
	v->n = v->of = 0;
	v->text = NULL;
	v->max = SIZE_MAX;
	v->buf[0] = '\0';
	if (c->get)
		c->get(v, row, t->ctx);
	else
		v->n = *(const uint64_t *)((const char *)row + c->at);
	if (c->kind == VALUE_TEXT) {
		v->text = v->text ? v->text : v->buf;
		v->max = strnlen(v->text, v->max);
		v->unknown = !v->max;
	}
	if (is_ratio(c) && !v->of)
		v->unknown = true;
}

void columns_value(struct value *v, const struct columns *t, const struct column *c,
		   const void *row)
{
	value_get(v, t, c, row);
}

static struct text_num number_text(const struct columns *t, const struct column *c,
				   const struct value *v)
{
	struct text_num num;

	switch (c->kind) {
	case VALUE_TIME:
		return t->milliseconds ? text_ms(v->n) : text_ns(v->n);
	case VALUE_BYTES:
		return v->n ? text_bytes(v->n) : (struct text_num){ "-" };
	case VALUE_RATE:
		return text_rate(v->n, v->of);
	case VALUE_SHARE:
		snprintf(num.s, sizeof(num.s), "%.0f%%", 100.0 * v->n / v->of);
		return num;
	case VALUE_MEAN:
		snprintf(num.s, sizeof(num.s), v->n < 10 * v->of ? "%.2f" : "%.1f",
			 (double)v->n / v->of);
		return num;
	case VALUE_ID:
		snprintf(num.s, sizeof(num.s), "%llu", (unsigned long long)v->n);
		return num;
	default:
		num = text_count7(v->n);
		return c->max && (int)strlen(num.s) > c->max ? text_short(v->n) : num;
	}
}

/* The cell as text safe for a terminal, in @dst of CELL bytes. */
static void cell_text(char *dst, const struct columns *t, const struct column *c, const void *row)
{
	struct value v;

	columns_value(&v, t, c, row);
	if (v.unknown)
		strcpy(dst, "-");
	else if (c->kind == VALUE_TEXT)
		text_safe_n(dst, CELL, v.text, v.max);
	else
		strcpy(dst, number_text(t, c, &v).s);
}

/* The title, with the unit where cells have none and the title does not end in one. May use @buf.
 * */
static const char *title_text(const struct columns *t, const struct column *c, char buf[TITLE])
{
	size_t len = strlen(c->title);

	if (!t->milliseconds || c->kind != VALUE_TIME ||
	    (len > 2 && !strcmp(c->title + len - 2, "ms")))
		return c->title;
	snprintf(buf, TITLE, "%s ms", c->title);
	return buf;
}

/* Width of the widest cell or title, in terminal columns. */
static int natural_width(const struct columns *t, const struct column *c, const void *const *rows,
			 size_t n_rows)
{
	char cell[CELL], title[TITLE];
	int widest = 0, least = text_width(title_text(t, c, title));

	for (size_t i = 0; i < n_rows; i++) {
		int width;

		cell_text(cell, t, c, rows[i]);
		width = text_width(cell);
		widest = width > widest ? width : widest;
	}
	widest = c->max && widest > c->max ? c->max : widest;
	least = c->min > least ? c->min : least;
	return widest > least ? widest : least;
}

static bool says_something(const struct columns *t, const struct column *c, const void *const *rows,
			   size_t n_rows)
{
	struct value v;

	for (size_t i = 0; i < n_rows && c->optional; i++) {
		columns_value(&v, t, c, rows[i]);
		if (!v.unknown && (v.n || c->kind == VALUE_TEXT))
			return true;
	}
	return !c->optional;
}

/* Width of a line in terminal columns, with @gap between cells and flexible columns at their least.
 * */
static int least_width(const struct layout *l, int gap)
{
	int sum = (l->n - 1) * gap;

	for (int i = 0; i < l->n; i++)
		sum += l->cols[i]->max || l->widths[i] < FLEXIBLE_GOOD ? l->widths[i]
								       : FLEXIBLE_GOOD;
	return sum;
}

static int whole_width(const struct layout *l, int gap)
{
	int sum = (l->n - 1) * gap;

	for (int i = 0; i < l->n; i++)
		sum += l->widths[i];
	return sum;
}

/* Leaves out the column with the highest rank; false if none may go. */
static bool leave_out(struct layout *l)
{
	int last = -1;

	for (int i = 0; i < l->n; i++)
		if (l->cols[i]->rank && (last < 0 || l->cols[i]->rank >= l->cols[last]->rank))
			last = i;
	if (last < 0)
		return false;
	l->n--;
	memmove(l->cols + last, l->cols + last + 1, (l->n - last) * sizeof(*l->cols));
	memmove(l->widths + last, l->widths + last + 1, (l->n - last) * sizeof(*l->widths));
	return true;
}

static void layout_init(struct layout *l, const struct columns *t, const void *const *rows,
			size_t n_rows)
{
	*l = (struct layout){};
	for (const struct column *c = t->list; column_is(c) && l->n < COLUMNS_MAX; c++) {
		if (!c->title || !says_something(t, c, rows, n_rows))
			continue;
		l->widths[l->n] = natural_width(t, c, rows, n_rows);
		l->cols[l->n++] = c;
	}
	while (least_width(l, 1) > t->width && leave_out(l))
		;
	for (int i = 0; i < l->n; i++) {
		int excess = whole_width(l, 1) - t->width, spare = l->widths[i] - FLEXIBLE_LEAST;

		if (!t->uncut && !l->cols[i]->max && excess > 0 && spare > 0)
			l->widths[i] -= excess < spare ? excess : spare;
	}
	l->gap = whole_width(l, 2) <= t->width ? 2 : 1;
}

/* Writes @owed blanks, then one cell. Returns the blanks to write before the next cell: no line
 * ends in blanks. */
static int put_cell(struct text_out *o, const struct column *c, const char *text, int width,
		    int owed)
{
	char fit[CELL];
	int pad = width - text_fit(fit, sizeof(fit), text, width, c->cut);

	text_fill(o, ' ', owed + (is_left(c) ? 0 : pad));
	text_put(o, "%s", fit);
	return is_left(c) ? pad : 0;
}

void columns_text(struct text_out *o, const struct columns *t, const void *const *rows,
		  size_t n_rows)
{
	char cell[CELL], title[TITLE];
	struct layout l;
	int owed = 0;

	layout_init(&l, t, rows, n_rows);
	for (int c = 0; c < l.n; c++)
		owed = put_cell(o, l.cols[c], title_text(t, l.cols[c], title), l.widths[c], owed) +
		       l.gap;
	text_put(o, "\n");
	for (size_t i = 0; i < n_rows; i++) {
		owed = 0;
		for (int c = 0; c < l.n; c++) {
			cell_text(cell, t, l.cols[c], rows[i]);
			owed = put_cell(o, l.cols[c], cell, l.widths[c], owed) + l.gap;
		}
		text_put(o, "\n");
	}
}

static double ratio(const struct column *c, const struct value *v)
{
	return (c->kind == VALUE_RATE ? 1e9 : 1) * v->n / v->of;
}

void columns_json(struct json *j, const struct columns *t, const void *row)
{
	for (const struct column *c = t->list; column_is(c); c++) {
		struct value v;

		if (!c->name)
			continue;
		value_get(&v, t, c, row);
		if (v.unknown)
			json_put_null(j, c->name);
		else if (c->kind == VALUE_TEXT)
			json_put_bytes(j, c->name, v.text, v.max);
		else if (is_ratio(c))
			json_put_real(j, c->name, ratio(c, &v));
		else if (c->kind == VALUE_SIGNED)
			json_put_int(j, c->name, v.n);
		else
			json_put_uint(j, c->name, v.n);
	}
}

/* A line of CSV, buffered for @o. text_put() would take ten times as long for a number. */
struct csv_line {
	struct text_out *o;
	size_t n;
	char s[4096];
};

enum { CSV_SHORT = 1024 }; /* a text of this length fits in a line */

static void csv_write(struct csv_line *l)
{
	text_write(l->o, l->s, l->n);
	l->n = 0;
}

/* Makes room for @n bytes, fewer than the size of a line; returns the place for them. */
static char *csv_room(struct csv_line *l, size_t n)
{
	char *at;

	if (l->n + n > sizeof(l->s))
		csv_write(l);
	at = l->s + l->n;
	l->n += n;
	return at;
}

static void csv_char(struct csv_line *l, char c)
{
	*csv_room(l, 1) = c;
}

/* How many decimal digits @n has: its binary digits times log10(2), or one more. */
static size_t digits_of(uint64_t n)
{
	static const uint64_t least[] = { 0,
					  10,
					  100,
					  1000,
					  10000,
					  100000,
					  1000000,
					  10000000,
					  100000000,
					  1000000000,
					  10000000000,
					  100000000000,
					  1000000000000,
					  10000000000000,
					  100000000000000,
					  1000000000000000,
					  10000000000000000,
					  100000000000000000,
					  1000000000000000000,
					  10000000000000000000ULL };
	unsigned int at = (64 - __builtin_clzll(n | 1)) * 1233 >> 12;

	return at + (n >= least[at] || !at);
}

static void csv_uint(struct csv_line *l, uint64_t n)
{
	size_t digits;

	if (n < 10) { /* most times of strata are 0 */
		csv_char(l, (char)('0' + n));
		return;
	}
	digits = digits_of(n);
	text_digits(csv_room(l, digits) + digits, n);
}

static void csv_int(struct csv_line *l, int64_t n)
{
	if (n < 0)
		csv_char(l, '-');
	csv_uint(l, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

static void csv_real(struct csv_line *l, double v)
{
	csv_write(l);
	text_put(l->o, "%.6f", v);
}

/* Writes the rest of a text, from its first character that is not plain. Quotes are doubled. */
static void csv_escaped(struct csv_line *l, const char *text, size_t len)
{
	size_t cap = TEXT_SAFE_CAP(len);
	char *safe = malloc(cap);

	if (!safe) {
		l->o->err = l->o->err ? l->o->err : -ENOMEM;
		return;
	}
	text_safe_n(safe, cap, text, len);
	for (const char *s = safe; *s; s++) {
		if (*s == '"')
			csv_char(l, '"');
		csv_char(l, *s);
	}
	free(safe);
}

static void csv_text(struct csv_line *l, const struct value *v)
{
	size_t i, plain = v->max < CSV_SHORT ? v->max : CSV_SHORT;
	char *at = csv_room(l, plain + 1);

	*at++ = '"';
	i = text_copy_plain(at, v->text, plain);
	l->n -= plain - i;
	if (i < v->max)
		csv_escaped(l, v->text + i, v->max - i);
	csv_char(l, '"');
}

static void csv_value(struct csv_line *l, const struct column *c, const struct value *v)
{
	if (v->unknown)
		return;
	if (c->kind == VALUE_TEXT)
		csv_text(l, v);
	else if (is_ratio(c))
		csv_real(l, ratio(c, v));
	else if (c->kind == VALUE_SIGNED)
		csv_int(l, v->n);
	else
		csv_uint(l, v->n);
}

void columns_csv_titles(struct text_out *o, const struct columns *t)
{
	const char *comma = "";

	for (const struct column *c = t->list; column_is(c); c++) {
		if (!c->name)
			continue;
		text_put(o, "%s%s", comma, c->name);
		comma = ",";
	}
	text_put(o, "\n");
}

void columns_csv(struct text_out *o, const struct columns *t, const void *row)
{
	struct csv_line l;
	struct value v;
	bool comma = false;

	l.o = o;
	l.n = 0;
	for (const struct column *c = t->list; column_is(c); c++) {
		if (!c->name)
			continue;
		if (comma)
			csv_char(&l, ',');
		comma = true;
		value_get(&v, t, c, row);
		csv_value(&l, c, &v);
	}
	csv_char(&l, '\n');
	csv_write(&l);
}

void columns_html_titles(struct text_out *o, const struct columns *t)
{
	for (const struct column *c = t->list; column_is(c); c++) {
		if (!c->title)
			continue;
		text_put(o, "<th scope=col%s data-name=\"%s\" title=\"",
			 is_left(c) ? "" : " class=n", c->name ? c->name : "");
		text_html(o, c->help, strlen(c->help));
		text_put(o, "\">");
		text_html(o, c->title, strlen(c->title));
		text_put(o, "</th>");
	}
}

void columns_html(struct text_out *o, const struct columns *t, const void *row)
{
	for (const struct column *c = t->list; column_is(c); c++) {
		struct value v;

		if (!c->title)
			continue;
		columns_value(&v, t, c, row);
		if (is_left(c)) {
			text_put(o, "<td>");
			text_html(o, v.unknown ? "-" : v.text, v.unknown ? 1 : v.max);
		} else if (v.unknown) {
			text_put(o, "<td class=n>-");
		} else if (is_ratio(c)) {
			text_put(o, "<td class=n data-v=%.6f>%s", ratio(c, &v),
				 number_text(t, c, &v).s);
		} else {
			text_put(o, "<td class=n data-v=%llu>%s", (unsigned long long)v.n,
				 number_text(t, c, &v).s);
		}
		text_put(o, "</td>");
	}
}

const struct column *columns_find(const struct column *list, const char *name)
{
	for (const struct column *c = list; column_is(c); c++)
		if ((c->name && !strcmp(c->name, name)) || (c->title && !strcmp(c->title, name)) ||
		    (c->was && !strcmp(c->was, name)))
			return c;
	return NULL;
}

static int text_compare(const struct value *a, const struct value *b)
{
	int order = memcmp(a->text, b->text, a->max < b->max ? a->max : b->max);

	return order ? order : (a->max > b->max) - (a->max < b->max);
}

int columns_order(const struct column *c, const struct value *a, const struct value *b)
{
	if (a->unknown || b->unknown)
		return a->unknown - b->unknown;
	if (c->kind == VALUE_TEXT)
		return text_compare(a, b);
	if (is_ratio(c))
		return (ratio(c, b) > ratio(c, a)) - (ratio(c, b) < ratio(c, a));
	return (b->n > a->n) - (b->n < a->n);
}

int columns_compare(const struct columns *t, const struct column *c, const void *a, const void *b)
{
	struct value x, y;

	columns_value(&x, t, c, a);
	columns_value(&y, t, c, b);
	return columns_order(c, &x, &y);
}
