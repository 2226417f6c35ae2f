/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * events.h - the records of a recording one by one: as aligned text, CSV, or a JSON object per line
 * (a line before the first names the schema, "iostrata.events/1"). CSV and JSON have the columns of
 * event_columns: what does not apply, or is not known, is empty or null.
 */
#ifndef IOSTRATA_EVENTS_H
#define IOSTRATA_EVENTS_H

#include <stdio.h>

#include "base/columns.h"

struct cap_event;

struct recording;

extern const struct column event_columns[];

enum events_format { EVENTS_NONE, EVENTS_TEXT, EVENTS_CSV, EVENTS_JSON };

/* Writes what comes before the first event. 0 or -errno. */
int events_head(FILE *f, enum events_format format);

/* Writes one event. 0 or -errno. */
int events_put(FILE *f, enum events_format format, const struct recording *rec,
	       const struct cap_event *ev, const char *(*call_name)(unsigned short call));

#endif
