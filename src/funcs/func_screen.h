/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_screen.h - the full screen of funcs: its state, its presses and its pages. Draws with
 * show/screen.h; does not know where the figures come from.
 */
#ifndef IOSTRATA_FUNCS_FUNC_SCREEN_H
#define IOSTRATA_FUNCS_FUNC_SCREEN_H

#include "funcs/func_columns.h"
#include "show/presses.h"

struct funcs_ui {
	struct presses presses;
	/* set by the command */
	struct funcs_view *view;        /* presses change its order */
	const struct func_snapshot *sn; /* the last interval; NULL: the first is not over */
	uint64_t day_ns;                /* end of the interval, since 1970 */
	/* changed by presses */
	bool tree;    /* show the tree instead of the table */
	size_t first; /* first row on the screen */
};

/* Begins with the table, and an interval of @interval_ns. */
void func_ui_init(struct funcs_ui *ui, struct funcs_view *view, uint64_t interval_ns);

/* Draws the screen. Returns 0 or -ENOMEM. */
int func_ui_draw(struct funcs_ui *ui);
#endif
