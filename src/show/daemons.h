/* SPDX-License-Identifier: GPL-2.0-only */
/* daemons.h - what FUSE daemons on this machine did with the time of requests, as text and JSON. */
#ifndef IOSTRATA_SHOW_DAEMONS_H
#define IOSTRATA_SHOW_DAEMONS_H

#include "base/json.h"
#include "base/snapshot.h"
#include "base/text.h"
#include "show/breakdown.h"

/* Members "daemon" and "daemon_missing" of a row of servers. @missing: of the run; may be NULL. */
void daemon_json(struct json *j, const struct server_row *row, const struct missing *missing);

/* A line for each daemon with a known part of its time, most time first. Returns 0 or -ENOMEM. */
int daemons_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

#endif
