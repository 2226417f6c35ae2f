// SPDX-License-Identifier: GPL-2.0-only
/* top_pages.c - the list of rows, and the page of one row. See top_ui.h. */
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/path.h"
#include "show/parts.h"
#include "show/screen.h"
#include "show/top_ui.h"

enum { WIDE = 120, HEAT_LINES = 8, SLOWEST_LINES = 5, FOOT_LINES = 1 };

static int lines_left(int y)
{
	int left = screen_height() - FOOT_LINES - y;

	return left > 0 ? left : 0;
}

/* Marks the column that rows are sorted by in its title, and has it shown however narrow it is. */
static void mark_sorted(struct top_columns *c, const char *sort, char title[16])
{
	const struct column *by = columns_find(c->list, sort);

	if (!by)
		by = columns_find(c->list, "bytes");
	snprintf(title, 16, "%s*", by->title);
	c->list[by - c->list].title = title;
	c->list[by - c->list].rank = 0;
	c->list[by - c->list].optional = false;
}

/* Scrolls so that the selected row is visible. Returns the number of rows that fit. */
static size_t scroll(struct top_ui *ui)
{
	size_t n = ui->list.n, rows = ui->page_rows;

	if (ui->has_selected && ui->at < ui->first)
		ui->first = ui->at;
	if (ui->has_selected && ui->at >= ui->first + rows)
		ui->first = ui->at - rows + 1;
	if (ui->first + rows > n)
		ui->first = n > rows ? n - rows : 0;
	return n - ui->first < rows ? n - ui->first : rows;
}

/* How line @i below the titles looks. */
static enum screen_style row_style(const void *ctx, size_t i)
{
	const struct top_ui *ui = ctx;
	const struct top_row *r = ui->list.rows[ui->first + i];

	if (ui->has_selected && !memcmp(&r->key, &ui->selected, sizeof(r->key)))
		return STYLE_SELECTED;
	return r->marked ? STYLE_BOLD : STYLE_NORMAL;
}

void top_page_list(struct top_ui *ui, int y)
{
	struct top_columns c = ui->columns;
	struct columns t = { .list = c.list, .ctx = &ui->figures, .width = screen_width() };
	char title[16];
	size_t n;

	ui->page_rows = lines_left(y + 1);
	n = scroll(ui);
	mark_sorted(&c, ui->sort, title);
	screen_table(y, &t, (const void *const *)ui->list.rows + ui->first, n, row_style, ui);
	if (!n)
		screen_put(y + 1, 0, screen_width(), STYLE_DIM,
			   *ui->filter ? "no row has this text" : "no I/O");
}

static enum screen_style stratum_style(int st)
{
	switch (st) {
	case ST_SYSCALL:
	case ST_VFS:
	case ST_FS:
		return STYLE_CPU;
	case ST_TAG:
	case ST_QUEUE:
		return STYLE_QUEUE;
	case ST_DEVICE:
		return STYLE_DEVICE;
	default:
		return STYLE_OTHER;
	}
}

static void put_bar(int y, int x, uint64_t part, uint64_t whole, enum screen_style style)
{
	char bar[256];
	int room = screen_width() - x, n;

	room = room < (int)sizeof(bar) - 1 ? room : (int)sizeof(bar) - 1;
	n = room > 0 ? (int)((double)part / whole * room + 0.5) : 0;
	memset(bar, '#', n);
	bar[n] = '\0';
	screen_put(y, x, room, style, bar);
}

/* Where the time of the row's operations went. Returns the next line. */
static int put_strata(int y, const struct top_row *r, struct top_strata strata)
{
	char text[64];

	for (int st = 0; st < ST_N && lines_left(y); st++) {
		if (!strata.ns[st])
			continue;
		snprintf(text, sizeof(text), "%-9s %7s %9s ", stratum_name(st),
			 text_percent(strata.ns[st], r->ops.total_ns).s,
			 text_ns(strata.ns[st] / r->ops.count).s);
		screen_put(y, 0, screen_width(), STYLE_NORMAL, text);
		put_bar(y++, 28, strata.ns[st], r->ops.total_ns, stratum_style(st));
	}
	return y;
}

static int put_slow(int y, const struct op_record *r)
{
	struct path_file file = { r->dev, r->ino, &r->file };
	char *path = r->ino ? path_full(&file) : NULL, safe[TOP_LINE], text[64];

	snprintf(text, sizeof(text), "%-6s%9s ", op_name(r->kind), text_ns(r->total_ns).s);
	text_safe(safe, sizeof(safe), path ? path : "");
	screen_put(y, 0, 16, STYLE_NORMAL, text);
	screen_put(y, 16, screen_width() - 16, STYLE_NORMAL, safe);
	free(path);
	return y + 1;
}

/* The row's slowest operations since its page was opened, with their files. */
static int put_slowest(int y, const struct top_ui *ui)
{
	size_t n = ui->data.n_slowest < SLOWEST_LINES ? ui->data.n_slowest : SLOWEST_LINES;

	if (!n || lines_left(y) < 2)
		return y;
	screen_put(y++, 0, screen_width(), STYLE_BOLD, "its slowest operations so far");
	for (size_t i = 0; i < n && lines_left(y); i++)
		y = put_slow(y, &ui->data.slowest[i]);
	return y;
}

static void put_hist(int y, const char *title, const struct hist *h, uint64_t max_ns)
{
	char *text = NULL, *save, *line;
	struct text_out o = {};
	size_t len;

	if (!h->n || lines_left(y) < 2)
		return;
	o.f = open_memstream(&text, &len);
	if (!o.f)
		return;
	hist_put(&o, h, max_ns, false, screen_width() < WIDE ? screen_width() : screen_width() / 2);
	fclose(o.f);
	screen_put(y++, 0, screen_width(), STYLE_BOLD, title);
	line = text ? strtok_r(text, "\n", &save) : NULL;
	for (; line && lines_left(y); line = strtok_r(NULL, "\n", &save))
		screen_put(y++, 0, screen_width(), STYLE_NORMAL, line);
	free(text);
}

/* Latencies over time, beside the histogram; below it, if both do not fit in a line. */
static int put_heat(int y, const struct top_ui *ui)
{
	int x = screen_width() < WIDE ? 0 : screen_width() / 2 + 2;
	int height = lines_left(y) - 1 < HEAT_LINES ? lines_left(y) - 1 : HEAT_LINES;

	if (height < 2)
		return y;
	screen_put(y, x, screen_width() - x, STYLE_BOLD, "latencies, an interval a column");
	heat_draw(&ui->heat, y + 1, x, screen_width() - x, height);
	return x ? y : y + 1 + height;
}

/* What the row is called, which is shown even when it has no I/O. */
static void title_set(struct top_ui *ui, const struct top_row *r)
{
	char name[TEXT_SAFE_CAP(TOP_LINE / 8)];

	text_safe_n(name, sizeof(name), top_row_name(ui->view, r),
		    strnlen(top_row_name(ui->view, r),
			    ui->view <= TOP_COMM ? COMM_LEN : TOP_LINE / 8));
	if (ui->view <= TOP_THREAD && r->task)
		snprintf(ui->title, sizeof(ui->title), "%s %s, %llu", top_view_name(ui->view), name,
			 ui->view == TOP_THREAD ? r->task->id & 0xffffffff : r->task->id >> 32);
	else
		snprintf(ui->title, sizeof(ui->title), "%s %s", top_view_name(ui->view),
			 *name ? name : ui->view == TOP_FILE ? "(no file)" : "-");
}

static void side_text(char dst[128], const struct top_ui *ui, const struct top_side *s,
		      const char *what)
{
	uint64_t per_second_of = ui->figures.per_second_of;
	uint64_t n = top_per_second(per_second_of, s->count);

	snprintf(dst, 128, "%s %s%s, %s, %s each", text_count(n).s, what, text_plural(n),
		 text_bytes(top_per_second(per_second_of, s->bytes)).s,
		 text_ns(s->total_ns / s->count).s);
}

/* The sides that it has, in a line if they fit. Returns the next line. */
static int put_sides(int y, const struct top_ui *ui, const struct top_row *r)
{
	char ops[128] = "", rqs[128] = "", both[TOP_LINE];

	if (r->ops.count)
		side_text(ops, ui, &r->ops, "operation");
	if (r->rqs.count)
		side_text(rqs, ui, &r->rqs, "request");
	snprintf(both, sizeof(both), "%s%s%s", ops, *ops && *rqs ? "; " : "", rqs);
	if (strlen(both) <= (size_t)screen_width()) {
		screen_put(y++, 0, screen_width(), STYLE_NORMAL, both);
		return y;
	}
	screen_put(y++, 0, screen_width(), STYLE_NORMAL, ops);
	screen_put(y++, 0, screen_width(), STYLE_NORMAL, rqs);
	return y;
}

void top_page_row(struct top_ui *ui, int y)
{
	const struct top_row *r = top_ui_row(ui);
	struct hist ops = {}, rqs = {};
	char title[TOP_LINE + 16];

	if (r)
		title_set(ui, r);
	snprintf(title, sizeof(title), "%s%s", ui->title, r ? "" : ": no I/O now");
	screen_cell(y++, 0, screen_width(), false, STYLE_TITLES, title);
	if (r) {
		y = put_sides(y, ui, r);
		y = put_strata(y, r, top_row_strata(&ui->table, r));
	}
	y = put_slowest(y, ui);
	y = put_heat(y, ui);
	if (!r || top_row_hists(&ui->table, r, &ops, &rqs))
		return;
	if (ops.n)
		put_hist(y, "times of operations", &ops, r->ops.max_ns);
	else
		put_hist(y, "times of requests", &rqs, r->rqs.max_ns);
	free(ops.bins);
	free(rqs.bins);
}
