// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/screen.h"

enum { HEAD_LINES = 2, FOOT_LINES = 1, LINE = 256, COLUMNS_MAX = 16 };

/* Whether rows can be sorted by @c: the column is shown if the screen is wide enough. */
static bool is_sortable(const struct funcs_ui *ui, const struct column *c)
{
	return c->title && (ui->view->by || strcmp(c->title, "key") != 0);
}

static struct funcs_ui *ui_of(struct presses *p)
{
	return (struct funcs_ui *)p; /* its first member */
}

static void sort_move(struct presses *p, int step)
{
	struct funcs_ui *ui = ui_of(p);
	const struct column *list = funcs_columns, *now = columns_find(list, ui->view->sort);
	int n = 0, at = now ? (int)(now - list) : 0;

	while (column_is(&list[n]))
		n++;
	do
		at = (at + n + step) % n;
	while (!is_sortable(ui, &list[at]));
	ui->view->sort = list[at].title;
}

static void reverse(struct presses *p)
{
	ui_of(p)->view->reverse = !ui_of(p)->view->reverse;
}

static void scroll(struct presses *p, long rows)
{
	struct funcs_ui *ui = ui_of(p);
	size_t back = -(size_t)rows;

	if (rows < 0)
		ui->first = ui->first < back ? 0 : ui->first - back;
	else
		ui->first += rows; /* put_rows() ends it at the last page */
}

static void on_tree(struct presses *p)
{
	struct funcs_ui *ui = ui_of(p);

	ui->tree = ui->view->tree && !ui->tree;
	ui->first = 0;
}

static const struct press own_presses[] = {
	{ on_tree, 't', "t", "with --tree: switch between the tree of calls and the table" },
	{},
};

static const struct press_view press_view = {
	.title = "iostrata funcs: keys",
	.sort = sort_move,
	.reverse = reverse,
	.move = scroll,
	.own = own_presses,
};

void func_ui_init(struct funcs_ui *ui, struct funcs_view *view, uint64_t interval_ns)
{
	*ui = (struct funcs_ui){ .presses = { .view = &press_view, .interval_ns = interval_ns },
				 .view = view };
}

static void put_head(const struct funcs_ui *ui, uint64_t self_ns)
{
	const struct funcs_view *v = ui->view;
	size_t n = func_traced(v->funcs);
	char text[LINE];

	snprintf(text, sizeof(text), "%s %s function%s by %s in %s%s",
		 text_clock(ui->day_ns, ui->presses.interval_ns).s, text_count(n).s, text_plural(n),
		 v->probe, text_ns(ui->sn->duration_ns).s, ui->presses.paused ? ", paused" : "");
	screen_put(0, 0, screen_width(), STYLE_BOLD, text);
	if (v->funcs->no_times)
		snprintf(text, sizeof(text), "calls are only counted; a probe costs %s a call",
			 text_ns(v->cost->call_ns).s);
	else
		snprintf(text, sizeof(text), "self time of all: %s; a probe costs %s a call%s",
			 text_ns(self_ns).s, text_ns(v->cost->call_ns).s,
			 v->subtract ? ", which is subtracted" : "");
	screen_put(1, 0, screen_width(), STYLE_NORMAL, text);
}

/* Puts the message of the last command, or else the losses, or else the keys. */
static void put_foot(const struct funcs_ui *ui)
{
	const char *said = said_last();
	int y = screen_height() - FOOT_LINES;
	char text[LINE] = "";

	for (int i = 0; i < FUNC_LOSS_N && !*text; i++)
		if (ui->sn->lost[i])
			snprintf(text, sizeof(text), "lost: %s %s", text_count(ui->sn->lost[i]).s,
				 func_loss_text(i));
	if (*said)
		screen_put(y, 0, screen_width(), STYLE_BOLD, said);
	else
		screen_put(y, 0, screen_width(), STYLE_DIM,
			   *text ? text : "q quit  h help  < > sort  r reverse  space pause");
}

/* Draws the rows from ui->first on, as many as fit. */
static void put_rows(struct funcs_ui *ui, const struct columns *t, const void *const *rows,
		     size_t n)
{
	int left = screen_height() - HEAD_LINES - 1 - FOOT_LINES;
	struct screen_rows shown = {};

	ui->presses.page_rows = left > 0 ? left : 0;
	if (ui->presses.page_rows > n || ui->first > n - ui->presses.page_rows)
		ui->first = n > ui->presses.page_rows ? n - ui->presses.page_rows : 0;
	n -= ui->first;
	shown.list = rows + ui->first;
	shown.n = n < ui->presses.page_rows ? n : ui->presses.page_rows;
	screen_table(HEAD_LINES, t, &shown);
}

/* Puts the table; the title of the sort column has a "*". */
static void put_table(struct funcs_ui *ui, const struct funcs_rows *rows)
{
	struct column list[COLUMNS_MAX] = {};
	const struct columns t = { .list = list,
				   .ctx = ui->view,
				   .width = screen_width(),
				   .milliseconds = ui->view->milliseconds };
	const struct column *by = columns_find(funcs_columns, ui->view->sort);
	char title[16];

	for (int i = 0; i < COLUMNS_MAX - 1 && column_is(&funcs_columns[i]); i++)
		list[i] = funcs_columns[i];
	snprintf(title, sizeof(title), "%s*", by->title);
	list[by - funcs_columns].title = title;
	put_rows(ui, &t, (const void *const *)rows->at, rows->n);
}

static int put_tree(struct funcs_ui *ui)
{
	const struct columns t = { .list = funcs_tree_columns,
				   .ctx = ui->view,
				   .width = screen_width(),
				   .milliseconds = ui->view->milliseconds };
	struct funcs_tree tree;
	const void **rows;
	int err = func_tree_init(&tree, ui->view, ui->sn);

	if (err)
		return err;
	rows = calloc(tree.n + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < tree.n; i++)
		rows[i] = &tree.at[i];
	if (rows)
		put_rows(ui, &t, rows, tree.n);
	free(rows);
	func_tree_done(&tree);
	return rows ? 0 : -ENOMEM;
}

static int put_page(struct funcs_ui *ui)
{
	struct funcs_rows rows;
	int err = func_rows_init(&rows, ui->view, ui->sn);

	if (err)
		return err;
	put_head(ui, rows.self_ns);
	if (ui->tree)
		err = put_tree(ui);
	else
		put_table(ui, &rows);
	put_foot(ui);
	func_rows_done(&rows);
	return err;
}

int func_ui_draw(struct funcs_ui *ui)
{
	int err = 0;

	screen_begin();
	if (ui->presses.help)
		presses_put_help(&ui->presses);
	else if (ui->sn)
		err = put_page(ui);
	else
		screen_put(0, 0, screen_width(), STYLE_BOLD, "the first interval is not over yet");
	screen_show();
	return err;
}
