/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen.h - the only owner of the terminal: nothing else queries it, changes it or writes to it.
 *
 * There is one terminal, so there is no handle. From screen_open() to screen_close() the whole
 * screen is ours. The terminal is restored however the process ends, except by SIGKILL, and while
 * the process is stopped. Messages that others write to stderr in the meantime do not reach the
 * screen: they are kept, and printed when the screen is closed (said_last()).
 *
 * All text passed in must be safe (text_safe()); the functions cut it to fit. If the caller's
 * locale is not UTF-8, characters beyond ASCII are shown as "?".
 */
#ifndef IOSTRATA_SHOW_SCREEN_H
#define IOSTRATA_SHOW_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/columns.h"
#include "base/share.h"

struct reason;

/* How text looks. The colours differ in brightness, too, and colour alone never carries meaning. */
enum screen_style {
	STYLE_NORMAL,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_TITLES, /* a whole line in reverse */
	STYLE_SELECTED,
	STYLE_SHARE, /* + enum share: its colour */
	STYLE_N = STYLE_SHARE + SHARE_N,
};

/* Presses of keys without a character; see presses.h. */
enum screen_press {
	SCREEN_NO_PRESS = -1,
	SCREEN_RESIZED = 0x110000, /* beyond Unicode; also after SIGCONT: draw again */
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_ESCAPE,
	SCREEN_BACKSPACE,
	SCREEN_CLICK, /* see screen_clicked() */
	SCREEN_WHEEL_UP,
	SCREEN_WHEEL_DOWN,
};

/* Whether @in and @out are a terminal fit for a full screen. */
bool screen_possible(FILE *in, FILE *out);

/* Takes the terminal, and reads the terminfo files. Returns 0, or -1 with @why and nothing
 * changed. */
int screen_open(FILE *in, FILE *out, bool color, struct reason *why);

/* Gives the terminal back, and prints the kept messages to stderr. Does nothing if not open. */
void screen_close(void);

int screen_height(void);
int screen_width(void);

/* A frame starts empty, is written to, and is shown as a whole. */
void screen_begin(void);
void screen_show(void);

/* Writes @safe at line @y, column @x (0 is the first), at most @width columns; text outside the
 * screen is left out. Returns the columns used. */
int screen_put(int y, int x, int width, enum screen_style style, const char *safe);

/* Write as screen_put(), padded with blanks to @width: after the text, or before it. */
void screen_cell(int y, int x, int width, enum screen_style style, const char *safe);
void screen_cell_right(int y, int x, int width, enum screen_style style, const char *safe);

/* The next press: a character, or an enum screen_press. Does not wait. */
int screen_press(void);

/* Line of the last SCREEN_CLICK. */
int screen_clicked(void);

/* The last kept message, for 10 s from the first call that returned it; then "", until the next
 * message. The run wrote it, and made it safe. Valid until the next call. */
const char *said_last(void);

/* The rows of a table. */
struct screen_rows {
	const void *const *list;
	size_t n;
	enum screen_style (*style)(const void *ctx, size_t i); /* of row i; NULL: normal */
	const void *ctx;
};

/* Draws the titles at line @y and the rows below. */
void screen_table(int y, const struct columns *t, const struct screen_rows *rows);

#endif
