// SPDX-License-Identifier: GPL-2.0-only
/*
 * top_screen.c - presses and pages of the full screen of top. Each drawing draws the whole screen.
 */
#include "top/top_screen.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/names.h"
#include "base/share.h"
#include "host/path.h"
#include "host/processes.h"
#include "show/screen.h"
#include "show/view_parts.h"

/* The snapshot shown. */
static const struct snapshot *snapshot_of(const struct top_ui *ui)
{
	return ui->mode == TOP_TOTAL ? ui->data.total : ui->data.interval;
}

struct top_row *top_ui_row(const struct top_ui *ui)
{
	return ui->has_selected ? top_table_find(&ui->table, &ui->selected) : NULL;
}

static void pins_set(struct top_ui *ui)
{
	for (size_t i = 0; i < ui->table.n; i++)
		ui->table.rows[i].pinned = false;
	for (int i = 0; i < ui->n_pins; i++) {
		struct top_row *r = top_table_find(&ui->table, &ui->pins[i]);

		if (r)
			r->pinned = true;
	}
}

/* Keeps the selected row selected; if it is gone, keeps its place. */
static void select_again(struct top_ui *ui)
{
	size_t i = 0;

	while (ui->has_selected && i < ui->list.n &&
	       memcmp(&ui->list.rows[i]->key, &ui->selected, sizeof(ui->selected)) != 0)
		i++;
	if (ui->has_selected && i < ui->list.n)
		ui->at = i;
	else if (ui->at >= ui->list.n)
		ui->at = ui->list.n ? ui->list.n - 1 : 0;
}

/* Call when the choice or the order of rows has changed. */
static void list_drop(struct top_ui *ui)
{
	top_list_done(&ui->list);
}

/* Between drawings there is no table: with 20,000 rows it takes 5 MB. */
static void table_drop(struct top_ui *ui)
{
	list_drop(ui);
	top_table_done(&ui->table);
}

static int list_make(struct top_ui *ui)
{
	struct top_order order = { .reverse = ui->reverse, .filter = ui->filter };
	int err;

	ui->figures = (struct top_figures){ .table = &ui->table };
	if (ui->mode == TOP_PER_SECOND)
		ui->figures.per_second_of = ui->table.sn->duration_ns;
	ui->columns = top_columns_whole(ui->view);
	order.by = columns_find(ui->columns.list, ui->sort);
	if (!order.by)
		order.by = columns_find(ui->columns.list, top_sort_usual(ui->view));
	pins_set(ui);
	err = top_list_init(&ui->list, &ui->figures, &order);
	if (!err)
		select_again(ui);
	return err;
}

/* Makes the table and the list of the snapshot shown, unless they are there: a press makes them,
 * and the drawing after it uses them. Returns 0 or -ENOMEM. */
static int table_make(struct top_ui *ui)
{
	const struct snapshot *sn = snapshot_of(ui);
	int err = 0;

	if (ui->table.sn != sn || ui->table.view != ui->view) {
		table_drop(ui);
		err = top_table_init(&ui->table, sn, ui->view, TOP_WHOLE, ui->data.names);
	}
	return err || ui->list.rows ? err : list_make(ui);
}

static struct top_ui *ui_of(struct presses *p)
{
	return (struct top_ui *)p; /* its first member */
}

/* Presses. */

static void on_back(struct presses *p)
{
	struct top_ui *ui = ui_of(p);

	if (ui->page == TOP_LIST_PAGE) {
		ui->filter[0] = '\0';
		list_drop(ui);
	}
	ui->page = TOP_LIST_PAGE;
}

/* The selection and the pins belong to a view. */
static void view_set(struct top_ui *ui, enum top_view view)
{
	list_drop(ui);
	ui->view = view;
	ui->presses.help = false;
	ui->page = TOP_LIST_PAGE;
	ui->has_selected = false;
	ui->n_pins = 0;
	ui->at = ui->first = 0;
	if (ui->replay)
		ui->replay->ops->view(ui->replay->arg);
}

static bool view_possible(const struct top_ui *ui, enum top_view view)
{
	if (view == TOP_SERVER)
		return !ui->no_servers;
	if (ui->replay)
		return !top_view_callers(view) || !ui->no_stacks;
	if (view == TOP_DISK)
		return true;
	if (top_view_callers(view) || ui->callers)
		return view == ui->callers;
	return (view == TOP_FILE) == ui->by_file;
}

static void view_move(struct top_ui *ui, int step)
{
	enum top_view view = ui->view;

	do
		view = (view + TOP_VIEWS + step) % TOP_VIEWS;
	while (!view_possible(ui, view));
	view_set(ui, view);
}

static void on_next_view(struct presses *p)
{
	view_move(ui_of(p), 1);
}

static void on_previous_view(struct presses *p)
{
	view_move(ui_of(p), -1);
}

static void sort_move(struct presses *p, int step)
{
	struct top_ui *ui = ui_of(p);
	const struct column *list = ui->columns.list, *now = columns_find(list, ui->sort);
	int n = 0, at;

	while (column_is(&list[n]))
		n++;
	if (!n)
		return;
	at = now ? (int)(now - list) : 0;
	at = (at + n + step) % n;
	snprintf(ui->sort, sizeof(ui->sort), "%s", list[at].name);
	list_drop(ui);
}

static void reverse(struct presses *p)
{
	ui_of(p)->reverse = !ui_of(p)->reverse;
	list_drop(ui_of(p));
}

static void on_filter(struct presses *p)
{
	p->help = false;
	ui_of(p)->page = TOP_LIST_PAGE;
	ui_of(p)->typing = true;
}

static void on_mode(struct presses *p)
{
	struct top_ui *ui = ui_of(p);

	ui->mode = (ui->mode + 1) % TOP_MODES;
	list_drop(ui);
}

static void on_pin(struct presses *p)
{
	struct top_ui *ui = ui_of(p);

	list_drop(ui);
	for (int i = 0; i < ui->n_pins && ui->has_selected; i++) {
		if (memcmp(&ui->pins[i], &ui->selected, sizeof(ui->selected)) != 0)
			continue;
		ui->pins[i] = ui->pins[--ui->n_pins];
		return;
	}
	if (ui->has_selected && ui->n_pins < TOP_PINS)
		ui->pins[ui->n_pins++] = ui->selected;
}

static void on_unpin(struct presses *p)
{
	ui_of(p)->n_pins = 0;
	list_drop(ui_of(p));
}

static void select_at(struct top_ui *ui, size_t at)
{
	ui->has_selected = ui->list.n > 0;
	if (!ui->has_selected)
		return;
	ui->at = at < ui->list.n ? at : ui->list.n - 1;
	if (!memcmp(&ui->selected, &ui->list.rows[ui->at]->key, sizeof(ui->selected)))
		return;
	ui->selected = ui->list.rows[ui->at]->key;
	ui->heat = (struct heat){};
	ui->title[0] = '\0';
}

static void select_move(struct presses *p, long step)
{
	struct top_ui *ui = ui_of(p);
	size_t back = -(size_t)step;
	bool to_end = step == LONG_MIN || step == LONG_MAX;

	if (!ui->has_selected && !to_end)
		select_at(ui, ui->first);
	else if (step < 0)
		select_at(ui, ui->at < back ? 0 : ui->at - back);
	else
		select_at(ui, ui->at + step);
}

static bool is_listed(const struct top_ui *ui)
{
	return ui->at < ui->list.n &&
	       !memcmp(&ui->list.rows[ui->at]->key, &ui->selected, sizeof(ui->selected));
}

static void on_enter(struct presses *p)
{
	struct top_ui *ui = ui_of(p);

	if (p->help || ui->page != TOP_LIST_PAGE)
		return;
	/* the selected row may not be in the list */
	if (!ui->has_selected || !is_listed(ui))
		select_at(ui, ui->has_selected ? ui->at : ui->first);
	if (!ui->has_selected)
		return;
	ui->heat = (struct heat){};
	ui->page = TOP_ROW_PAGE;
}

static void on_click(struct presses *p)
{
	struct top_ui *ui = ui_of(p);
	int line = screen_clicked() - 3; /* lines of the head and the titles */

	if (!p->help && ui->page == TOP_LIST_PAGE && line >= 0 && (size_t)line < p->page_rows)
		select_at(ui, ui->first + line);
}

#define ROW_PRESSES                                                                                \
	{ on_mode, 't', "t", "figures of the interval, per second, total" },                       \
		{ on_pin, 'm', "m M", "pin the row to the top; unpin all" },                       \
		{ on_unpin, 'M', NULL, NULL }, { on_click, SCREEN_CLICK, NULL, NULL },             \
		{ on_enter, SCREEN_ENTER, "Enter",                                                 \
		  "open the row: strata, latencies, slowest operations" },                         \
		{ on_back, SCREEN_ESCAPE, "Esc", "back; in the list: show all rows again" },       \
	{                                                                                          \
		on_back, SCREEN_BACKSPACE, NULL, NULL                                              \
	}

static const struct press own_presses[] = {
	{ on_next_view, 'v', "v V", "next, previous view: process, thread, comm, disk ..." },
	{ on_previous_view, 'V', NULL, NULL },
	{ on_filter, '/', "/", "show only rows with the typed text" },
	ROW_PRESSES,
	{},
};

/* The presses for the time are top_replay_press()'s, which takes them before. */
static const struct press replay_presses[] = {
	TOP_REPLAY_PRESSES,
	{ on_next_view, 'v', "v V", "next, previous view: process, thread, comm, file, disk ..." },
	{ on_previous_view, 'V', NULL, NULL },
	{ on_filter, 'f', "f", "show only rows with the typed text" },
	ROW_PRESSES,
	{},
};

/* Appends a character to the filter, in UTF-8 as in the names. */
static void filter_add(struct top_ui *ui, wchar_t c)
{
	size_t len = strlen(ui->filter), n;
	mbstate_t state = {};
	char text[MB_LEN_MAX];

	n = wcrtomb(text, c, &state);
	if (n == (size_t)-1 || len + n >= sizeof(ui->filter))
		return;
	memcpy(ui->filter + len, text, n);
	ui->filter[len + n] = '\0';
}

/* Handles a press while the filter is typed. */
static void filter_press(struct top_ui *ui, int key)
{
	size_t len = strlen(ui->filter);

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
		ui->typing = false;
	if (key == SCREEN_ESCAPE)
		ui->filter[0] = '\0';
	while (key == SCREEN_BACKSPACE && len && (ui->filter[len - 1] & 0xc0) == 0x80)
		len--;
	if (key == SCREEN_BACKSPACE && len)
		ui->filter[len - 1] = '\0';
	if (key >= ' ' && key < SCREEN_RESIZED && !iswcntrl(key))
		filter_add(ui, key);
	list_drop(ui);
}

/* Makes the table, because a press refers to its rows, for example the next one. While the filter
 * is typed, it takes every press. */
static bool press_take(struct presses *p, int key)
{
	struct top_ui *ui = ui_of(p);

	if (ui->replay && !ui->typing && top_replay_press(ui->replay, p, key))
		return true;
	if (ui->data.interval)
		table_make(ui);
	if (!ui->typing)
		return false;
	filter_press(ui, key);
	return true;
}

static const struct press_view press_view = {
	.title = "iostrata top: keys",
	.sort = sort_move,
	.reverse = reverse,
	.move = select_move,
	.take = press_take,
	.own = own_presses,
};

static const struct press_view replay_view = {
	.title = "iostrata top: keys for a recording",
	.sort = sort_move,
	.reverse = reverse,
	.move = select_move,
	.take = press_take,
	.own = replay_presses,
};

void top_ui_replay(struct top_ui *ui, struct top_replay *replay)
{
	ui->replay = replay;
	ui->no_servers = true; /* their requests have no time in a recording */
	ui->presses.view = &replay_view;
	ui->presses.paused = true;
}

void top_ui_init(struct top_ui *ui, uint64_t interval_ns)
{
	*ui = (struct top_ui){ .presses = { .view = &press_view, .interval_ns = interval_ns } };
}

/* Pages: the list of rows, and a single row. */

enum {
	WIDE = 120,        /* the heat map stands beside the histogram from this number of columns
			    * on */
	HEAT_LINES = 8,    /* of the heat map, at most */
	SLOWEST_LINES = 5, /* slowest operations shown of a row, at most */
	FOOT_LINES = 1,
};

static int lines_left(int y)
{
	int left = screen_height() - FOOT_LINES - y;

	return left > 0 ? left : 0;
}

/* Puts a "*" after the title of the sort column, and always shows this column. */
static void title_sorted(struct top_columns *c, const struct top_ui *ui, char title[16])
{
	const struct column *by = columns_find(c->list, ui->sort);

	if (!by)
		by = columns_find(c->list, top_sort_usual(ui->view));
	snprintf(title, 16, "%s*", by->title);
	c->list[by - c->list].title = title;
	c->list[by - c->list].rank = 0;
	c->list[by - c->list].optional = false;
}

/* Scrolls until the selected row is visible. Returns the number of rows to show. */
static size_t scroll(struct top_ui *ui)
{
	size_t n = ui->list.n, rows = ui->presses.page_rows;

	if (ui->has_selected && ui->at < ui->first)
		ui->first = ui->at;
	if (ui->has_selected && ui->at >= ui->first + rows)
		ui->first = ui->at - rows + 1;
	if (ui->first + rows > n)
		ui->first = n > rows ? n - rows : 0;
	return n - ui->first < rows ? n - ui->first : rows;
}

/* The style of line @i below the titles. */
static enum screen_style row_style(const void *ctx, size_t i)
{
	const struct top_ui *ui = ctx;
	const struct top_row *r = ui->list.rows[ui->first + i];

	if (ui->has_selected && !memcmp(&r->key, &ui->selected, sizeof(r->key)))
		return STYLE_SELECTED;
	return r->pinned ? STYLE_BOLD : STYLE_NORMAL;
}

static void page_list(struct top_ui *ui, int y)
{
	struct top_columns c = ui->columns;
	struct columns t = { .list = c.list, .ctx = &ui->figures, .width = screen_width() };
	struct screen_rows rows = { .style = row_style, .ctx = ui };
	char title[16];

	ui->presses.page_rows = lines_left(y + 1);
	rows.n = scroll(ui);
	rows.list = (const void *const *)ui->list.rows + ui->first;
	title_sorted(&c, ui, title);
	screen_table(y, &t, &rows);
	if (!rows.n)
		screen_put(y + 1, 0, screen_width(), STYLE_DIM,
			   *ui->filter ? "no row has this text" : "no I/O");
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

/* Draws the strata of the row's operations. Returns the next line. */
static int put_strata(int y, const struct top_row *r, struct top_strata strata)
{
	char text[64];

	for (int st = 0; st < ST_N && lines_left(y); st++) {
		if (!strata.ns[st])
			continue;
		snprintf(text, sizeof(text), "%-13s %7s %9s ", stratum_label(st),
			 text_percent(strata.ns[st], r->ops.total_ns).s,
			 text_ns(strata.ns[st] / r->ops.count).s);
		screen_put(y, 0, screen_width(), STYLE_NORMAL, text);
		put_bar(y++, 32, strata.ns[st], r->ops.total_ns, STYLE_SHARE + stratum_share(st));
	}
	return y;
}

static int put_slow(int y, const struct slow_op *r)
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

/* Draws the row's slowest operations since its page was opened, with their files. */
static int put_slowest(int y, const struct top_ui *ui)
{
	size_t n = ui->data.n_slowest < SLOWEST_LINES ? ui->data.n_slowest : SLOWEST_LINES;

	if (!n || lines_left(y) < 2)
		return y;
	screen_put(y++, 0, screen_width(), STYLE_BOLD, "slowest operations so far");
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

/* Draws latencies over time: beside the histogram, or above it if the screen is narrow. */
static int put_heat(int y, const struct top_ui *ui)
{
	int x = screen_width() < WIDE ? 0 : screen_width() / 2 + 2;
	int height = lines_left(y) - 1 < HEAT_LINES ? lines_left(y) - 1 : HEAT_LINES;

	if (height < 2)
		return y;
	screen_put(y, x, screen_width() - x, STYLE_BOLD, "latencies, a column per interval");
	heat_draw(&ui->heat, y + 1, x, screen_width() - x, height);
	return x ? y : y + 1 + height;
}

/* Sets the title of the page. It stays when the row has no I/O. */
static void title_set(struct top_ui *ui, const struct top_row *r)
{
	char name[TEXT_SAFE_CAP(TOP_LINE / 8)];

	text_safe_n(
		name, sizeof(name), top_row_name(ui->view, r),
		strnlen(top_row_name(ui->view, r), ui->view <= TOP_COMM ? COMM_LEN : TOP_LINE / 8));
	if (ui->view <= TOP_THREAD && r->thread)
		snprintf(ui->title, sizeof(ui->title), "%s %s, %llu", top_view_name(ui->view), name,
			 ui->view == TOP_THREAD ? r->thread->id & 0xffffffff : r->thread->id >> 32);
	else
		snprintf(ui->title, sizeof(ui->title), "%s %s", top_view_name(ui->view),
			 *name                  ? name
			 : ui->view == TOP_FILE ? "(no file)"
						: "-");
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

/* Draws the sums of operations and of requests, in one line if they fit. Returns the next line. */
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

/* Draws the command line of the row's process, as far as it fits into one line. Returns the next
 * line. */
static int put_command(int y, const struct top_ui *ui, const struct top_row *r)
{
	char safe[TEXT_SAFE_CAP(TOP_LINE / 4)];
	char *command = r->thread && !ui->replay ? process_command(r->thread->id >> 32) : NULL;

	if (!command)
		return y;
	text_safe_n(safe, sizeof(safe), command, strnlen(command, TOP_LINE / 4));
	screen_put(y++, 0, screen_width(), STYLE_NORMAL, safe);
	free(command);
	return y;
}

static void page_row(struct top_ui *ui, int y)
{
	const struct top_row *r = top_ui_row(ui);
	struct hist ops = {}, rqs = {};
	char title[TOP_LINE + 16];

	if (r)
		title_set(ui, r);
	snprintf(title, sizeof(title), "%s%s", ui->title, r ? "" : ": no I/O now");
	screen_cell(y++, 0, screen_width(), STYLE_TITLES, title);
	if (r && ui->view <= TOP_THREAD)
		y = put_command(y, ui, r);
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

static const char *mode_text(const struct top_ui *ui, char buf[48])
{
	const struct snapshot *sn = snapshot_of(ui);
	static const char *const what[TOP_MODES] = { "in", "per second of", "total of" };
	uint64_t shown = sn->duration_ns, next = ui->presses.interval_ns;
	int len = snprintf(buf, 48, "%s %s", what[ui->mode], text_ns(shown).s);

	/* changed by a press; the new length applies after this interval: it may be long */
	if (!ui->replay && ui->mode != TOP_TOTAL && (next < shown / 5 * 4 || next > shown / 4 * 5))
		snprintf(buf + len, 48 - len, ", next %s", text_ns(next).s);
	return buf;
}

static void put_head(const struct top_ui *ui)
{
	char text[TOP_LINE], rest[TOP_LINE - 96], mode[48], filter[TEXT_SAFE_CAP(TOP_FILTER)];
	struct text_num clock = text_clock(ui->data.day_ns, ui->presses.interval_ns);
	int width = screen_width();

	text_safe(filter, sizeof(filter), ui->filter);
	snprintf(rest, sizeof(rest), "by %s %s%s%s%s%s%s", top_view_name(ui->view),
		 mode_text(ui, mode),
		 !ui->presses.paused ? (ui->replay ? ", playing" : "")
		 : ui->replay        ? ""
				     : ", paused",
		 *filter ? ", with " : "", filter,
		 *ui->data.of_ops ? "; only operations are filtered by " : "", ui->data.of_ops);
	snprintf(text, sizeof(text), "%s %s%s %s", clock.s, ui->replay ? "" : "load ",
		 ui->replay ? ui->replay->where : ui->data.load, rest);
	if (strlen(text) > (size_t)width &&
	    !ui->replay) /* the load average is the least important */
		snprintf(text, sizeof(text), "%s %s", clock.s, rest);
	screen_put(0, 0, width, STYLE_BOLD, text);
	top_sum_text(text, snapshot_of(ui), ui->figures.per_second_of, width);
	screen_put(1, 0, width, STYLE_NORMAL, text);
}

static void put_foot(const struct top_ui *ui)
{
	const char *said = said_last();
	int y = screen_height() - 1;
	char foot[TOP_LINE] = "", stacks[TOP_LINE] = "", text[3 * TOP_LINE];

	if (ui->typing) {
		char filter[TEXT_SAFE_CAP(TOP_FILTER)];

		text_safe(filter, sizeof(filter), ui->filter);
		snprintf(text, sizeof(text), "rows with: %s_  (Enter keeps, Esc clears)", filter);
		screen_put(y, 0, screen_width(), STYLE_BOLD, text);
		return;
	}
	if (ui->replay && top_replay_text(ui->replay, text, sizeof(text)))
		said = text;
	if (*said) {
		screen_put(y, 0, screen_width(), STYLE_BOLD, said);
		return;
	}
	if (ui->data.interval && snapshot_of(ui)->stacks)
		top_stacks_text(stacks, snapshot_of(ui)->stacks);
	if (ui->data.interval)
		top_foot_text(foot, ui->by_file ? TOP_FILE : ui->view, snapshot_of(ui),
			      ui->data.missing);
	snprintf(text, sizeof(text), "%s%s%s%s%s", ui->data.gone,
		 *ui->data.gone && (*stacks || *foot) ? "; " : "", stacks,
		 *stacks && *foot ? "; " : "", foot);
	top_cut_figures(text, screen_width());
	screen_put(y, 0, screen_width(), *ui->data.gone ? STYLE_BOLD : STYLE_DIM,
		   *text        ? text
		   : ui->replay ? "q quit  h help  space plays  arrows step  g time  / condition  "
				  "J K incidents"
				: "q quit  h help  v view  < > sort  / filter  Enter open row");
}

int top_ui_draw(struct top_ui *ui)
{
	int err = 0;

	screen_begin();
	err = ui->data.interval ? table_make(ui) : 0;
	if (err)
		return err;
	if (ui->presses.help) {
		presses_put_help(&ui->presses);
	} else if (!ui->data.interval) {
		screen_put(0, 0, screen_width(), STYLE_BOLD, "the first interval is not over yet");
		put_foot(ui);
	} else {
		put_head(ui);
		(ui->page == TOP_ROW_PAGE ? page_row : page_list)(ui, 2);
		put_foot(ui);
	}
	screen_show();
	table_drop(ui);
	return 0;
}

bool top_ui_row_open(const struct top_ui *ui)
{
	return ui->page == TOP_ROW_PAGE;
}

/* Also adds the latencies of the row whose page is open to its heat map. */
void top_ui_new(struct top_ui *ui)
{
	struct hist ops = {}, rqs = {};
	const struct top_row *r;

	table_drop(ui); /* it may belong to an interval that is over */
	if (!top_ui_row_open(ui) || !ui->has_selected ||
	    top_table_init(&ui->table, ui->data.interval, ui->view, TOP_WHOLE, ui->data.names))
		return;
	r = top_ui_row(ui);
	if (!r || !top_row_hists(&ui->table, r, &ops, &rqs))
		heat_add(&ui->heat, ops.n ? &ops : &rqs);
	free(ops.bins);
	free(rqs.bins);
}

bool top_ui_record_wanted(const struct top_ui *ui, const struct slow_op *r)
{
	const struct top_name *name;

	if (!top_ui_row_open(ui) || !ui->has_selected)
		return false;
	switch (ui->view) {
	case TOP_PROCESS:
		return ui->selected.who[0] == r->who.pid;
	case TOP_THREAD:
		return (uint32_t)ui->selected.who[0] == r->who.tid;
	case TOP_COMM:
		return !strncmp((const char *)ui->selected.who, r->who.comm, COMM_LEN);
	case TOP_CGROUP:
		return ui->selected.who[0] == r->who.cgroup;
	case TOP_CONTAINER:
		name = top_names_find(ui->data.names, r->who.cgroup);
		return name && ui->selected.who[0] == name->owner;
	case TOP_FILE:
		return ui->selected.who[1] == r->ino && FILE_KEY_DEV(ui->selected.who[0]) == r->dev;
	default:
		return false;
	}
}

void top_ui_done(struct top_ui *ui)
{
	table_drop(ui);
}
