/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen.h - the only owner of the terminal: nothing else queries it, changes it or writes to it.
 *
 * There is one terminal, so there is no handle. From screen_open() to screen_close() the whole
 * screen is ours. The terminal is restored however the process ends, except by SIGKILL, and while
 * the process is stopped. What others write to stderr in the meantime does not reach the screen: it
 * is kept, and printed when the screen is closed (said.h).
 *
 * All text passed in must be safe (text_safe()); it is cut here to what fits. If the caller's
 * locale is not UTF-8, characters beyond ASCII are shown as "?".
 */
#ifndef IOSTRATA_SCREEN_H
#define IOSTRATA_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

struct reason;

/* How text looks. The colours differ in brightness, too, and colour alone never carries meaning. */
enum screen_style {
	STYLE_NORMAL,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_TITLES,		/* a line in reverse */
	STYLE_SELECTED,
	STYLE_CPU,
	STYLE_QUEUE,
	STYLE_DEVICE,
	STYLE_OTHER,
	STYLE_N,
};

/* Keys that are not characters. */
enum screen_key {
	SCREEN_NO_KEY = -1,
	SCREEN_RESIZED = 0x110000,	/* beyond Unicode; or resumed: draw again */
	SCREEN_UP, SCREEN_DOWN, SCREEN_LEFT, SCREEN_RIGHT,
	SCREEN_PAGE_UP, SCREEN_PAGE_DOWN, SCREEN_HOME, SCREEN_END,
	SCREEN_ENTER, SCREEN_ESCAPE, SCREEN_BACKSPACE,
	SCREEN_CLICK,			/* see screen_clicked() */
	SCREEN_WHEEL_UP, SCREEN_WHEEL_DOWN,
};

/* Whether @in and @out are a terminal that a full screen can be shown on. */
bool screen_possible(FILE *in, FILE *out);

/* Takes the terminal; reads the files that this needs. 0, or -1 with @why and nothing changed. */
int screen_open(FILE *in, FILE *out, bool color, struct reason *why);

/* Gives it back, and prints what was kept to stderr. Does nothing if it is not open. */
void screen_close(void);

int screen_height(void);
int screen_width(void);

/* A frame starts empty, is written to, and is shown as a whole. */
void screen_begin(void);
void screen_show(void);

/* Writes @safe at line @y, column @x (0 is the first), at most @width columns; what is outside the
 * screen is left out. Returns the columns used. */
int screen_put(int y, int x, int width, enum screen_style style, const char *safe);

/* The same, padded with blanks to @width; @right: before the text. */
void screen_cell(int y, int x, int width, bool right, enum screen_style style, const char *safe);

/* The next key that was pressed: a character, or an enum screen_key; does not wait. */
int screen_key(void);

/* Line of the last SCREEN_CLICK. */
int screen_clicked(void);

#endif
