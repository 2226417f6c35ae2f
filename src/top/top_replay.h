/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_replay.h - the presses of top's screen that move in the time of a recording. Does not read
 * the recording: the owner moves, by the functions of struct top_replay_ops.
 */
#ifndef IOSTRATA_TOP_TOP_REPLAY_H
#define IOSTRATA_TOP_TOP_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "show/presses.h"
#include "show/screen.h"

/* Each is called while a press is handled. What it tells goes into top_replay.said. */
struct top_replay_ops {
	void (*step)(void *arg, int intervals);     /* negative: back */
	void (*go)(void *arg, const char *time);    /* as typed */
	void (*find)(void *arg, const char *text);  /* a condition, as typed */
	void (*incident)(void *arg, int direction); /* 1: the next, -1: the one before */
	void (*view)(void *arg);                    /* the view has changed */
};

enum { TOP_TYPED = 128, TOP_SAID = 256 };

/* What is being typed. */
enum top_typing { TOP_TYPES_NOTHING, TOP_TYPES_TIME, TOP_TYPES_CONDITION };

struct top_replay {
	const struct top_replay_ops *ops;
	void *arg;
	char where[64];      /* "+12.0 s of 60.0 s"; safe */
	char said[TOP_SAID]; /* the answer to the last press, or ""; safe */
	/* private */
	enum top_typing typing;
	char typed[TOP_TYPED];
};

/* The rows of these presses on the page of keys; they do nothing there. */
#define TOP_REPLAY_PRESSES                                                                         \
	{ top_replay_nothing, SCREEN_NO_PRESS, "space",                                            \
	  "play the recording, or stop; + and - change the interval" },                            \
		{ top_replay_nothing, SCREEN_NO_PRESS, "< >",                                      \
		  "sort; left and right arrow: an interval back, on" },                            \
		{ top_replay_nothing, SCREEN_NO_PRESS, "g", "go to a time: 12.5, 2m, 14:05:09" },  \
		{ top_replay_nothing, SCREEN_NO_PRESS, "/",                                        \
		  "a condition, as 'fsync>100ms': its incidents" },                                \
	{                                                                                          \
		top_replay_nothing, SCREEN_NO_PRESS, "J K", "the next incident, the one before"    \
	}

void top_replay_nothing(struct presses *p);

/* Takes a press for the time, or while something is typed. Returns false if it is another press. */
bool top_replay_press(struct top_replay *r, struct presses *p, int key);

/* What is typed, or the last answer. Returns false, and leaves @dst alone, if there is none. */
bool top_replay_text(const struct top_replay *r, char *dst, size_t cap);

#endif
