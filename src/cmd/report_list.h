/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report_list.h - the lists of report: each operation and request (--events), or each joined
 * request of NFS (--joined).
 */
#ifndef IOSTRATA_CMD_REPORT_LIST_H
#define IOSTRATA_CMD_REPORT_LIST_H

#include <stdbool.h>
#include <stdio.h>

#include "capture/event_row.h"

struct join;
struct reason;

struct report_list {
	int format;  /* option, enum events_format; 0: no list */
	bool joined; /* option: joined requests in place of records */
	int width;   /* columns of the terminal; 0: it is none */
	FILE *out;
	bool no_reader; /* the pipe of @out was closed: nothing more is to be written */
	/* private */
	struct event_names names; /* of the recording being read */
};

/* Writes the head, if there is one before the records. Returns 0 or -errno. */
int report_list_begin(const struct report_list *l);

/* Writes a line for @ev, an operation or request of @rec. Returns 0, or -1 with @why. */
int report_list_put(struct report_list *l, const struct recording *rec, struct stored_event *ev,
		    struct reason *why);

/* Forgets what was noted of the last recording. */
void report_list_end(struct report_list *l);

/* Joins the requests in @j, and lists them. Returns the exit code. */
int report_list_joined(const struct report_list *l, struct join *j);

#endif
