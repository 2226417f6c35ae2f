// SPDX-License-Identifier: GPL-2.0-only
/* top_keys.c - what each key does; the help page is the same table. See top_ui.h. */
#include <limits.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "show/screen.h"
#include "show/top_ui.h"

static void on_quit(struct top_ui *ui)
{
	ui->quit = true;
}

static void on_help(struct top_ui *ui)
{
	if (ui->page == TOP_HELP_PAGE) {
		ui->page = ui->before_help;
		return;
	}
	ui->before_help = ui->page;
	ui->page = TOP_HELP_PAGE;
}

static void on_back(struct top_ui *ui)
{
	if (ui->page == TOP_LIST_PAGE)
		ui->filter[0] = '\0';
	ui->page = ui->page == TOP_HELP_PAGE ? ui->before_help : TOP_LIST_PAGE;
}

/* Rows of one view mean nothing in another. */
static void view_set(struct top_ui *ui, enum top_view view)
{
	top_list_done(&ui->list);
	ui->view = view;
	ui->page = TOP_LIST_PAGE;
	ui->has_selected = false;
	ui->n_marks = 0;
	ui->at = ui->first = 0;
}

static bool view_possible(const struct top_ui *ui, enum top_view view)
{
	return view == TOP_DISK || (view == TOP_FILE) == ui->by_file;
}

static void view_move(struct top_ui *ui, int step)
{
	enum top_view view = ui->view;

	do
		view = (view + TOP_VIEWS + step) % TOP_VIEWS;
	while (!view_possible(ui, view));
	view_set(ui, view);
}

static void on_next_view(struct top_ui *ui)
{
	view_move(ui, 1);
}

static void on_previous_view(struct top_ui *ui)
{
	view_move(ui, -1);
}

static void sort_move(struct top_ui *ui, int step)
{
	const struct column *list = ui->columns.list, *now = columns_find(list, ui->sort);
	int n = 0, at;

	while (column_is(&list[n]))
		n++;
	if (!n)
		return;
	at = now ? (int)(now - list) : 0;
	at = (at + n + step) % n;
	snprintf(ui->sort, sizeof(ui->sort), "%s", list[at].name);
}

static void on_sort_left(struct top_ui *ui)
{
	sort_move(ui, -1);
}

static void on_sort_right(struct top_ui *ui)
{
	sort_move(ui, 1);
}

static void on_reverse(struct top_ui *ui)
{
	ui->reverse = !ui->reverse;
}

static void on_filter(struct top_ui *ui)
{
	ui->page = TOP_LIST_PAGE;
	ui->typing = true;
}

static void on_pause(struct top_ui *ui)
{
	ui->paused = !ui->paused;
}

static void on_mode(struct top_ui *ui)
{
	ui->mode = (ui->mode + 1) % TOP_MODES;
}

static void on_faster(struct top_ui *ui)
{
	ui->interval_ns = interval_faster(ui->interval_ns);
}

static void on_slower(struct top_ui *ui)
{
	ui->interval_ns = interval_slower(ui->interval_ns);
}

static void on_mark(struct top_ui *ui)
{
	for (int i = 0; i < ui->n_marks && ui->has_selected; i++) {
		if (memcmp(&ui->marks[i], &ui->selected, sizeof(ui->selected)) != 0)
			continue;
		ui->marks[i] = ui->marks[--ui->n_marks];
		return;
	}
	if (ui->has_selected && ui->n_marks < TOP_MARKS)
		ui->marks[ui->n_marks++] = ui->selected;
}

static void on_unmark(struct top_ui *ui)
{
	ui->n_marks = 0;
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

static void select_move(struct top_ui *ui, long step)
{
	size_t back = (size_t)-step;

	if (!ui->has_selected)
		select_at(ui, ui->first);
	else if (step < 0)
		select_at(ui, ui->at < back ? 0 : ui->at - back);
	else
		select_at(ui, ui->at + step);
}

static void on_up(struct top_ui *ui)
{
	select_move(ui, -1);
}

static void on_down(struct top_ui *ui)
{
	select_move(ui, 1);
}

static void on_page_up(struct top_ui *ui)
{
	select_move(ui, -(long)ui->page_rows);
}

static void on_page_down(struct top_ui *ui)
{
	select_move(ui, (long)ui->page_rows);
}

static void on_home(struct top_ui *ui)
{
	select_at(ui, 0);
}

static void on_end(struct top_ui *ui)
{
	select_at(ui, ui->list.n);
}

static bool is_listed(const struct top_ui *ui)
{
	return ui->at < ui->list.n &&
	       !memcmp(&ui->list.rows[ui->at]->key, &ui->selected, sizeof(ui->selected));
}

static void on_enter(struct top_ui *ui)
{
	if (ui->page != TOP_LIST_PAGE)
		return;
	/* a selected row that is not in the list cannot be seen */
	if (!ui->has_selected || !is_listed(ui))
		select_at(ui, ui->has_selected ? ui->at : ui->first);
	if (!ui->has_selected)
		return;
	ui->heat = (struct heat){};
	ui->page = TOP_ROW_PAGE;
}

static void on_click(struct top_ui *ui)
{
	int line = screen_clicked() - 3; /* head and titles */

	if (ui->page == TOP_LIST_PAGE && line >= 0 && (size_t)line < ui->page_rows)
		select_at(ui, ui->first + line);
}

static const struct action {
	void (*act)(struct top_ui *ui);
	int key;
	const char *shown, *help;	/* NULL: as the one above */
} actions[] = {
	{ on_quit, 'q', "q", "quit" },
	{ on_help, 'h', "h ?", "these keys, and back" },
	{ on_help, '?', NULL, NULL },
	{ on_next_view, 'v', "v V", "next, previous view: process, thread, comm, disk ..." },
	{ on_previous_view, 'V', NULL, NULL },
	{ on_sort_left, '<', "< >", "sort by the column to the left, right" },
	{ on_sort_right, '>', NULL, NULL },
	{ on_sort_left, SCREEN_LEFT, NULL, NULL },
	{ on_sort_right, SCREEN_RIGHT, NULL, NULL },
	{ on_reverse, 'r', "r", "reverse the order" },
	{ on_filter, '/', "/", "only rows with some text, as it is typed" },
	{ on_pause, ' ', "space", "pause: what is shown stays; and go on" },
	{ on_mode, 't', "t", "figures of the interval, per second, total" },
	{ on_faster, '+', "+ -", "interval faster, slower" },
	{ on_slower, '-', NULL, NULL },
	{ on_mark, 'm', "m M", "mark the row, which keeps it on top; unmark all" },
	{ on_unmark, 'M', NULL, NULL },
	{ on_up, SCREEN_UP, "arrows", "select a row; also PgUp PgDn Home End, j k" },
	{ on_down, SCREEN_DOWN, NULL, NULL },
	{ on_up, 'k', NULL, NULL },
	{ on_down, 'j', NULL, NULL },
	{ on_up, SCREEN_WHEEL_UP, NULL, NULL },
	{ on_down, SCREEN_WHEEL_DOWN, NULL, NULL },
	{ on_page_up, SCREEN_PAGE_UP, NULL, NULL },
	{ on_page_down, SCREEN_PAGE_DOWN, NULL, NULL },
	{ on_home, SCREEN_HOME, NULL, NULL },
	{ on_end, SCREEN_END, NULL, NULL },
	{ on_click, SCREEN_CLICK, NULL, NULL },
	{ on_enter, SCREEN_ENTER, "Enter", "look into the row: its strata, latencies, slowest" },
	{ on_back, SCREEN_ESCAPE, "Esc", "back; in the list: all rows again" },
	{ on_back, SCREEN_BACKSPACE, NULL, NULL },
};

enum { ACTIONS = sizeof(actions) / sizeof(*actions) };

void top_page_help(int y)
{
	screen_put(y++, 0, screen_width(), STYLE_TITLES, "iostrata top: keys");
	for (int i = 0; i < ACTIONS; i++) {
		if (!actions[i].shown)
			continue;
		screen_put(y, 1, 7, STYLE_BOLD, actions[i].shown);
		screen_put(y++, 9, screen_width() - 9, STYLE_NORMAL, actions[i].help);
	}
}

/* Appends a character to the filter, as the names have it. */
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

/* Handles a key while the filter is being typed. */
static void filter_key(struct top_ui *ui, int key)
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
}

static void key_do(struct top_ui *ui, int key)
{
	if (ui->typing) {
		filter_key(ui, key);
		return;
	}
	for (int i = 0; i < ACTIONS; i++)
		if (actions[i].key == key)
			actions[i].act(ui);
}

bool top_ui_keys(struct top_ui *ui)
{
	bool any = false;
	int key;

	while (!ui->quit && (key = screen_key()) != SCREEN_NO_KEY) {
		if (ui->data.interval) /* keys may come faster than they are shown */
			top_ui_table(ui);
		key_do(ui, key);
		any = true;
	}
	return any;
}
