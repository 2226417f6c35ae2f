/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen.h - the full screen of funcs: what is shown now, and how keys change it. Draws on
 * screen.h; does not know where the figures come from.
 */
#ifndef IOSTRATA_FUNCS_SCREEN_H
#define IOSTRATA_FUNCS_SCREEN_H

#include "funcs/columns.h"

struct funcs_ui {
	/* set by others */
	struct funcs_view *view;        /* keys change the order */
	const struct func_snapshot *sn; /* the last interval; NULL: it is not over */
	uint64_t day_ns;                /* when it ended, since 1970 */
	uint64_t interval_ns;           /* keys change it */
	/* what keys change */
	bool tree; /* shown instead of the table, if there is one */
	bool help, paused, quit;
	size_t first; /* the row at the top */
	/* what was drawn last */
	size_t rows, page_rows; /* how many there are, and fit */
};

/* Draws what is shown now. 0 or -ENOMEM. */
int funcs_ui_draw(struct funcs_ui *ui);

/* Handles the keys that were pressed. True: something has changed and must be drawn. */
bool funcs_ui_keys(struct funcs_ui *ui);

#endif
