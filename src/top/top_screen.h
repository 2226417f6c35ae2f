/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_screen.h - the full screen of top: its state, its presses and its pages. Draws with
 * show/screen.h; does not know where the figures come from.
 */
#ifndef IOSTRATA_TOP_TOP_SCREEN_H
#define IOSTRATA_TOP_TOP_SCREEN_H

#include "capture/slow_op.h"
#include "show/heat.h"
#include "show/presses.h"
#include "top/top_list.h"
#include "top/top_replay.h"

enum {
	TOP_FILTER = 64,  /* bytes of the filter, NUL included */
	TOP_PINS = 64,    /* pins at most */
	TOP_SLOWEST = 16, /* slowest operations kept of a row */
};

enum top_page { TOP_LIST_PAGE, TOP_ROW_PAGE };

/* The time of the figures. */
enum top_mode { TOP_INTERVAL, TOP_PER_SECOND, TOP_TOTAL, TOP_MODES };

/* The data to show, owned by others: the last interval, and the sum since the start. */
struct top_data {
	const struct snapshot *interval, *total;
	const struct missing *missing;
	struct top_names *names;
	const struct slow_op *slowest; /* of the row whose page is open; slowest first */
	size_t n_slowest;
	const char *load;   /* the load average; safe */
	const char *of_ops; /* filters of operations only, or "" */
	const char *gone;   /* gone targets of filters (processes, disks, cgroups), else ""; safe */
	uint64_t day_ns;    /* when the interval ended, since 1970 */
};

struct top_ui {
	struct presses presses;
	/* set by the caller beforehand, who may read them later */
	enum top_view view;
	bool by_file;          /* only the views of files, disks and servers are possible */
	enum top_view callers; /* live: the view of callers for which the snapshots are; other
				* views than this, disks and servers are not possible. 0: none */
	bool no_stacks; /* a recording without user stacks: views of callers are not possible */
	/* a recording is replayed, all views but servers are possible; NULL: live. Owned by others
	 */
	struct top_replay *replay;
	bool no_servers; /* requests to servers are not counted: their view is not possible */
	char sort[16];   /* name of a column */
	struct top_data data;
	/* changed by presses */
	enum top_page page;
	enum top_mode mode;
	bool reverse;
	bool typing; /* the filter */
	char filter[TOP_FILTER];
	struct top_key pins[TOP_PINS];
	int n_pins;
	struct top_key selected; /* key of the selected row, if has_selected */
	bool has_selected;
	size_t at, first; /* its index in the list, and the index of the first row on the screen */
	struct heat heat; /* of the row whose page is open */
	char title[TOP_LINE]; /* title of this page; "": not known yet */
	/* the table and list of the snapshot shown, from a press until the drawing after it */
	struct top_table table;
	struct top_figures figures;
	struct top_columns columns;
	struct top_list list;
};

/* Begins with the list of processes, and an interval of @interval_ns. */
void top_ui_init(struct top_ui *ui, uint64_t interval_ns);

/* Makes it the screen of a recording, which begins paused. */
void top_ui_replay(struct top_ui *ui, struct top_replay *replay);

/* Draws the screen. Returns 0 or -ENOMEM. */
int top_ui_draw(struct top_ui *ui);

/* Call when data.interval or data.total has changed, before the next press is handled. */
void top_ui_new(struct top_ui *ui);

/* Whether the page of a row is open, or will be when the help is closed. */
bool top_ui_row_open(const struct top_ui *ui);

/* Whether operation @r belongs to the row whose page is open. */
bool top_ui_record_wanted(const struct top_ui *ui, const struct slow_op *r);

void top_ui_done(struct top_ui *ui);

/* The selected row while there is a table: after presses_handle() until the drawing; or NULL. */
struct top_row *top_ui_row(const struct top_ui *ui);

#endif
