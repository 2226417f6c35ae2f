/* SPDX-License-Identifier: GPL-2.0-only */
/* top_who.h - the columns of top that say what a row stands for. */
#ifndef IOSTRATA_TOP_WHO_H
#define IOSTRATA_TOP_WHO_H

#include "show/top_columns.h"

/* For struct column; the row is a struct top_row. */
void top_get_pid(struct value *v, const void *row, const void *ctx);
void top_get_tid(struct value *v, const void *row, const void *ctx);
void top_get_comm(struct value *v, const void *row, const void *ctx);
void top_get_file(struct value *v, const void *row, const void *ctx);
void top_get_cgroup(struct value *v, const void *row, const void *ctx);
void top_get_container(struct value *v, const void *row, const void *ctx);	/* whole, or NULL */
void top_get_container_name(struct value *v, const void *row, const void *ctx);	/* for people */
void top_get_key(struct value *v, const void *row, const void *ctx);

/* What a row may stand for. */
#define TOP_WHO_COLUMNS(in_container)                                                              \
	{ .name = "pid", .title = "PID", .kind = VALUE_ID, .get = top_get_pid, .help = "its id" }, \
	{ .name = "tid", .title = "TID", .kind = VALUE_ID, .get = top_get_tid, .help = "its id" }, \
	{ .name = "comm", .title = "COMM", .kind = VALUE_TEXT, .get = top_get_comm, .max = 16,     \
	  .help = "its name" },                                                                    \
	{ .name = "cgroup", .title = "CGROUP", .kind = VALUE_TEXT, .get = top_get_cgroup,          \
	  .cut = TEXT_CUT_HEAD, .help = "its path" },                                              \
	{ .name = "container", .title = "CONTAINER", .kind = VALUE_TEXT,                           \
	  .get = top_get_##in_container, .max = 20, .help = "its id or name" },                    \
	{ .name = "file", .title = "FILE", .kind = VALUE_TEXT, .get = top_get_file,                \
	  .cut = TEXT_CUT_HEAD, .help = "its path" }

#endif
