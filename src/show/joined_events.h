/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * joined_events.h - requests of NFS joined with the operations that served them, one by one: as
 * aligned text, as CSV, or as a JSON object per line, after a first line with the schema
 * "iostrata.joined/1". CSV and JSON have the columns of joined_event_columns; a value is empty or
 * null if it is not known.
 */
#ifndef IOSTRATA_SHOW_JOINED_EVENTS_H
#define IOSTRATA_SHOW_JOINED_EVENTS_H

#include "analyse/join.h"
#include "base/columns.h"
#include "base/text.h"
#include "show/events.h"

extern const struct column joined_event_columns[]; /* of struct joined */

/* Writes the titles of text and CSV, or the schema line of JSON. An error of writing stays in
 * @o. */
void joined_events_head(struct text_out *o, enum events_format format);

/* Writes one request. An error of writing stays in @o, and nothing more is written then. */
void joined_events_put(struct text_out *o, enum events_format format, const struct joined *one);

#endif
