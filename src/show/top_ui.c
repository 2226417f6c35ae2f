// SPDX-License-Identifier: GPL-2.0-only
/*
 * top_ui.c - what is shown, drawn as a whole each time; see top_ui.h. Keys are in top_keys.c, the
 * pages in top_pages.c.
 */
#include "show/top_ui.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "show/screen.h"

const struct snapshot *top_ui_snapshot(const struct top_ui *ui)
{
	return ui->mode == TOP_TOTAL ? ui->data.total : ui->data.interval;
}

struct top_row *top_ui_row(const struct top_ui *ui)
{
	return ui->has_selected ? top_table_find(&ui->table, &ui->selected) : NULL;
}

static void marks_set(struct top_ui *ui)
{
	for (int i = 0; i < ui->n_marks; i++) {
		struct top_row *r = top_table_find(&ui->table, &ui->marks[i]);

		if (r)
			r->marked = true;
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

/* Between drawings there is none: with 20,000 rows it takes 5 MB. */
static void table_drop(struct top_ui *ui)
{
	top_list_done(&ui->list);
	top_table_done(&ui->table);
}

int top_ui_table(struct top_ui *ui)
{
	const struct snapshot *sn = top_ui_snapshot(ui);
	struct top_order order = { .reverse = ui->reverse, .filter = ui->filter };
	int err;

	table_drop(ui);
	err = top_table_init(&ui->table, sn, ui->view, TOP_WHOLE, ui->data.names);
	if (err)
		return err;
	ui->figures = (struct top_figures){ .table = &ui->table };
	if (ui->mode == TOP_PER_SECOND)
		ui->figures.per_second_of = sn->duration_ns;
	ui->columns = top_columns_whole(ui->view);
	order.by = columns_find(ui->columns.list, ui->sort);
	if (!order.by)
		order.by = columns_find(ui->columns.list, "bytes");
	marks_set(ui);
	err = top_list_init(&ui->list, &ui->figures, &order);
	if (!err)
		select_again(ui);
	return err;
}

static const char *mode_text(const struct top_ui *ui, char buf[48])
{
	const struct snapshot *sn = top_ui_snapshot(ui);
	static const char *const what[TOP_MODES] = { "in", "per second of", "total of" };
	uint64_t shown = sn->duration_ns, next = ui->interval_ns;
	int len = snprintf(buf, 48, "%s %s", what[ui->mode], text_ns(shown).s);

	/* a key has changed it: that is seen when the interval is over, which may be long */
	if (ui->mode != TOP_TOTAL && (next < shown / 5 * 4 || next > shown / 4 * 5))
		snprintf(buf + len, 48 - len, ", next %s", text_ns(next).s);
	return buf;
}

static void put_head(const struct top_ui *ui)
{
	char text[TOP_LINE], rest[TOP_LINE - 96], mode[48], filter[TEXT_SAFE_CAP(TOP_FILTER)];
	struct text_num clock = text_clock(ui->data.day_ns, ui->interval_ns);
	int width = screen_width();

	text_safe(filter, sizeof(filter), ui->filter);
	snprintf(rest, sizeof(rest), "by %s %s%s%s%s%s%s", top_view_name(ui->view),
		 mode_text(ui, mode), ui->paused ? ", paused" : "", *filter ? ", with " : "",
		 filter, *ui->data.of_ops ? "; requests are not chosen by " : "",
		 ui->data.of_ops);
	snprintf(text, sizeof(text), "%s load %s %s", clock.s, ui->data.load, rest);
	if (strlen(text) > (size_t)width) /* the rest is more important */
		snprintf(text, sizeof(text), "%s %s", clock.s, rest);
	screen_put(0, 0, width, STYLE_BOLD, text);
	top_sum_text(text, top_ui_snapshot(ui), ui->figures.per_second_of, width);
	screen_put(1, 0, width, STYLE_NORMAL, text);
}

static void put_foot(const struct top_ui *ui)
{
	const char *said = said_last();
	int y = screen_height() - 1;
	char foot[TOP_LINE] = "", text[2 * TOP_LINE];

	if (ui->typing) {
		char filter[TEXT_SAFE_CAP(TOP_FILTER)];

		text_safe(filter, sizeof(filter), ui->filter);
		snprintf(text, sizeof(text), "rows with: %s_  (Enter keeps, Esc clears)", filter);
		screen_put(y, 0, screen_width(), STYLE_BOLD, text);
		return;
	}
	if (*said) {
		screen_put(y, 0, screen_width(), STYLE_BOLD, said);
		return;
	}
	if (ui->data.interval)
		top_foot_text(foot, ui->by_file ? TOP_FILE : ui->view, top_ui_snapshot(ui),
			      ui->data.missing);
	snprintf(text, sizeof(text), "%s%s%s", ui->data.gone,
		 *ui->data.gone && *foot ? "; " : "", foot);
	screen_put(y, 0, screen_width(), *ui->data.gone ? STYLE_BOLD : STYLE_DIM,
		   *text ? text : "q quit  h help  v view  < > sort  / filter  Enter look into");
}

int top_ui_draw(struct top_ui *ui)
{
	int err = 0;

	screen_begin();
	err = ui->data.interval ? top_ui_table(ui) : 0;
	if (err)
		return err;
	if (ui->page == TOP_HELP_PAGE) {
		top_page_help(0);
	} else if (!ui->data.interval) {
		screen_put(0, 0, screen_width(), STYLE_BOLD, "the first interval is not over yet");
		put_foot(ui);
	} else {
		put_head(ui);
		(ui->page == TOP_ROW_PAGE ? top_page_row : top_page_list)(ui, 2);
		put_foot(ui);
	}
	screen_show();
	table_drop(ui);
	return 0;
}

bool top_ui_row_open(const struct top_ui *ui)
{
	return (ui->page == TOP_HELP_PAGE ? ui->before_help : ui->page) == TOP_ROW_PAGE;
}

/* Adds the latencies of the row whose page is open to its map. */
void top_ui_new(struct top_ui *ui)
{
	struct hist ops = {}, rqs = {};
	struct top_table table;
	const struct top_row *r;

	if (!top_ui_row_open(ui) || !ui->has_selected ||
	    top_table_init(&table, ui->data.interval, ui->view, TOP_WHOLE, ui->data.names))
		return;
	r = top_table_find(&table, &ui->selected);
	if (!r || !top_row_hists(&table, r, &ops, &rqs))
		heat_add(&ui->heat, ops.n ? &ops : &rqs);
	free(ops.bins);
	free(rqs.bins);
	top_table_done(&table);
}

bool top_ui_record_wanted(const struct top_ui *ui, const struct op_record *r)
{
	const struct top_name *name;

	if (!top_ui_row_open(ui) || !ui->has_selected)
		return false;
	switch (ui->view) {
	case TOP_PROCESS:
		return ui->selected.who[0] == r->pid;
	case TOP_THREAD:
		return (uint32_t)ui->selected.who[0] == r->tid;
	case TOP_COMM:
		return !strncmp((const char *)ui->selected.who, r->comm, COMM_LEN);
	case TOP_CGROUP:
		return ui->selected.who[0] == r->cgroup;
	case TOP_CONTAINER:
		name = top_names_find(ui->data.names, r->cgroup);
		return name && ui->selected.who[0] == name->owner;
	case TOP_FILE:
		return ui->selected.who[1] == r->ino &&
		       FILE_KEY_DEV(ui->selected.who[0]) == r->dev;
	default:
		return false;
	}
}

void top_ui_done(struct top_ui *ui)
{
	table_drop(ui);
}
