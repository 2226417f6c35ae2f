/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * presses.h - what a press does on a full screen: the keys of every view, the keys of one view, and
 * the page that lists both.
 */
#ifndef IOSTRATA_SHOW_PRESSES_H
#define IOSTRATA_SHOW_PRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct presses;

/* A press of a view, or of every view. */
struct press {
	void (*act)(struct presses *p);
	int key;                   /* a character, or an enum screen_press */
	const char *shown, *about; /* on the page of keys; NULL: described by the row above */
};

/* How a view does the presses that every view has. */
struct press_view {
	const char *title; /* of the page of keys */
	/* Sorts by the column @step to the right; a negative @step is to the left. */
	void (*sort)(struct presses *p, int step);
	void (*reverse)(struct presses *p);
	/* Goes @rows down; LONG_MIN: to the first row, LONG_MAX: to the last one. */
	void (*move)(struct presses *p, long rows);
	/* Takes each press before all else. Returns true if nothing else is done. NULL: takes
	 * none. */
	bool (*take)(struct presses *p, int key);
	const struct press *own; /* ends with an empty row */
};

/* The state that presses change; the first member of the view's own state. */
struct presses {
	/* set by the view */
	const struct press_view *view;
	uint64_t interval_ns;
	size_t page_rows; /* rows on a page */
	/* changed by presses */
	bool help, paused, quit;
};

/* Handles the presses since the last call. Returns true if there was one, so the screen must be
 * drawn. */
bool presses_handle(struct presses *p);

/* Draws the page of keys, while p->help. */
void presses_put_help(const struct presses *p);

/* The next shorter and longer interval to choose from, from a tenth of a second to a minute;
 * @interval_ns itself if there is none. */
uint64_t interval_faster(uint64_t interval_ns);
uint64_t interval_slower(uint64_t interval_ns);

#endif
