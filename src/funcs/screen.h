/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen.h - the full screen of funcs: what it shows now, and how keys of the keyboard change this.
 * Draws with show/screen.h. Does not know where the figures come from.
 */
#ifndef IOSTRATA_FUNCS_SCREEN_H
#define IOSTRATA_FUNCS_SCREEN_H

#include "funcs/columns.h"

struct funcs_ui {
	/* set by the command */
	struct funcs_view *view;        /* keys change its order */
	const struct func_snapshot *sn; /* the last interval; NULL: the first is not over */
	uint64_t day_ns;                /* end of the interval, since 1970 */
	uint64_t interval_ns;           /* keys change it */
	/* what keys change */
	bool tree; /* show the tree instead of the table */
	bool help, paused, quit;
	size_t first; /* first row on the screen */
	/* set by funcs_ui_draw() */
	size_t rows, page_rows; /* number of all rows, and of those on a page */
};

/* Draws the screen. 0 or -ENOMEM. */
int funcs_ui_draw(struct funcs_ui *ui);

/* Handles the keys pressed since the last call. True: the screen must be drawn. */
bool funcs_presses(struct funcs_ui *ui);

#endif
