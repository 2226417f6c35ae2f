/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_json.h - a snapshot as one line of JSON, schema "iostrata.breakdown/1".
 *
 * A contract for other programs: members are added, never renamed, removed or given another
 * meaning. breakdown_members.c describes them.
 *
 * Times are integers in ns. In text that is not UTF-8, U+FFFD replaces each invalid byte, and a
 * second member, NAME_bytes, has all bytes in base64. Everything beyond ASCII is escaped, so the
 * line is safe on any terminal. A number above 2^63 - 1 (an ino, cgroup or len) is a string.
 */
#ifndef IOSTRATA_SHOW_BREAKDOWN_JSON_H
#define IOSTRATA_SHOW_BREAKDOWN_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "show/breakdown.h"

/* Writes the line and flushes. @slowest NULL: no member "slowest". Returns 0 or -errno. */
int breakdown_json(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct slow_op *slowest, size_t n_slowest);

/* Writes the member "disks" into the open object. */
void breakdown_json_disks(struct json *j, const struct snapshot *sn);

/* Writes the member "servers" into the open object. Returns 0 or -ENOMEM. */
int breakdown_json_servers(struct json *j, const struct snapshot *sn,
			   const struct missing *missing);

#endif
