/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen.h - the full screen of top: what is shown now, and how keys change it. Draws on screen.h;
 * does not know where the figures come from.
 */
#ifndef IOSTRATA_TOP_SCREEN_H
#define IOSTRATA_TOP_SCREEN_H

#include "show/heat.h"
#include "top/list.h"

enum { TOP_FILTER = 64, TOP_MARKS = 64, TOP_SLOWEST = 16 };

enum top_page { TOP_LIST_PAGE, TOP_ROW_PAGE, TOP_HELP_PAGE };

/* What the figures cover. */
enum top_mode { TOP_INTERVAL, TOP_PER_SECOND, TOP_TOTAL, TOP_MODES };

/* What is shown, owned by others: the last interval, and all since the start. */
struct top_data {
	const struct snapshot *interval, *total;
	const struct missing *missing;
	struct top_names *names;
	const struct op_record *slowest; /* of the row whose page is open; biggest first */
	size_t n_slowest;
	const char *load;   /* the load average; safe */
	const char *of_ops; /* filters that choose operations only, or "" */
	const char *gone;   /* filter targets that are gone, else ""; safe */
	uint64_t day_ns;    /* when the interval ended, since 1970 */
};

struct top_ui {
	/* set by others beforehand; they may read it */
	enum top_view view;
	bool by_file;         /* only the views of files and disks are possible */
	char sort[16];        /* name of a column */
	uint64_t interval_ns; /* keys change it */
	struct top_data data;
	/* what keys change */
	enum top_page page, before_help;
	enum top_mode mode;
	bool reverse, paused, quit;
	bool typing; /* the filter */
	char filter[TOP_FILTER];
	struct top_key marks[TOP_MARKS];
	int n_marks;
	struct top_key selected; /* the row, with has_selected */
	bool has_selected;
	size_t at, first;     /* its place, and that of the first row on the screen */
	struct heat heat;     /* of the row whose page is open */
	char title[TOP_LINE]; /* what that is called; "": not known yet */
	/* what is being drawn, or what keys refer to */
	struct top_table table;
	struct top_figures figures;
	struct top_columns columns;
	struct top_list list;
	size_t page_rows; /* rows that the screen has room for */
};

/* Draws what is shown now. 0 or -ENOMEM. */
int top_ui_draw(struct top_ui *ui);

/* Call when an interval has ended: there are new figures. */
void top_ui_new(struct top_ui *ui);

/* Handles the keys that were pressed. True: something has changed and must be drawn. */
bool top_ui_keys(struct top_ui *ui);

/* Whether the page of a row is open, if only behind the help. */
bool top_ui_row_open(const struct top_ui *ui);

/* Whether operation @r belongs to the row whose page is open. */
bool top_ui_record_wanted(const struct top_ui *ui, const struct op_record *r);

void top_ui_done(struct top_ui *ui);

/* For the files of the screen: makes the table and the list of the snapshot that is shown, until
 * the next drawing, 0 or -ENOMEM; the selected row, or NULL; that snapshot. */
int top_ui_table(struct top_ui *ui);
struct top_row *top_ui_row(const struct top_ui *ui);
const struct snapshot *top_ui_snapshot(const struct top_ui *ui);

/* The pages. Each draws from line @y on. */
void top_page_list(struct top_ui *ui, int y);
void top_page_row(struct top_ui *ui, int y);
void top_page_help(int y);

#endif
