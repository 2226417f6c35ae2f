/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * events.h - the events of a recording one by one: as aligned text, as CSV, or as a JSON object per
 * line, after a first line with the schema "iostrata.events/1". CSV and JSON have the columns of
 * event_columns (capture/event_row.h); a value is empty or null if it does not apply or is not
 * known.
 */
#ifndef IOSTRATA_SHOW_EVENTS_H
#define IOSTRATA_SHOW_EVENTS_H

#include <stdio.h>

struct stored_event;
struct event_names;
struct recording;

enum events_format { EVENTS_NONE, EVENTS_TEXT, EVENTS_CSV, EVENTS_JSON };

struct events_form {
	enum events_format format;
	/* For text: the terminal's width. Paths are cut in their middle to fit, and a narrow
	 * terminal shows no offset, result and thread. 0: paths are whole. */
	int columns;
};

/* Writes the titles of text and CSV, or the schema line of JSON. Returns 0 or -errno. */
int events_head(FILE *f, const struct events_form *form);

/* Writes one event. @names is all 0 before the first event of a recording; call event_names_done()
 * after the last. Returns 0 or -errno. */
int events_put(FILE *f, const struct events_form *form, const struct recording *rec,
	       const struct stored_event *ev, const char *(*call_name)(unsigned short call),
	       struct event_names *names);

#endif
