/* SPDX-License-Identifier: GPL-2.0-only */
/* joined.h - requests of NFS with the operations of the server that served them, as text and as
 * JSON. */
#ifndef IOSTRATA_SHOW_JOINED_H
#define IOSTRATA_SHOW_JOINED_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/join.h"
#include "base/columns.h"
#include "base/json.h"
#include "base/text.h"
#include "show/breakdown.h"

extern const struct column joined_columns[]; /* of struct join_row */

/* The procedure with most time in a sentence, a table of all, and what is not joined. */
void joined_put(struct text_out *o, const struct breakdown_view *v, const struct join *joined);

enum joined_side { JOINED_REQUESTS, JOINED_SERVED, JOINED_SIDES };

/* A sentence about what is not joined on a side, and why. Returns false if all is joined, or there
 * is nothing. */
bool joined_rest(char *dst, size_t cap, const struct join *joined, enum joined_side side);

/* Writes the member "joined" into the open object. */
void joined_json(struct json *j, const struct join *joined);

#endif
