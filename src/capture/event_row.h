/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event_row.h - an operation or a request with all its names, and the table of its columns. CSV,
 * JSON and Parquet are written from this one table, so they cannot differ.
 */
#ifndef IOSTRATA_CAPTURE_EVENT_ROW_H
#define IOSTRATA_CAPTURE_EVENT_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/columns.h"
#include "capture/recording.h"
#include "capture/segments.h"
#include "host/container.h"

enum { EVENT_FILES = 4096, EVENT_CGROUPS = 64, EVENT_DEVS = 64, EVENT_CALLS = 256 };

/* A cache of names, direct-mapped by the id of the file, cgroup and so on, so the memory is
 * bounded. All 0 before the first use. */
struct event_names {
	uint64_t version; /* of the catalog when the names were looked up */
	struct event_file {
		uint64_t id;             /* 0: empty */
		char *path;              /* owned; NULL: none */
	} files[EVENT_FILES], copied_to; /* copied_to: of a copy, the last one */
	struct event_cgroup {
		uint64_t id;                /* 0: empty */
		const char *path;           /* in the catalog; NULL: not known */
		struct container container; /* its id is "": none */
		const char *name;           /* of the container, in the catalog; NULL: not known */
	} cgroups[EVENT_CGROUPS];
	struct event_dev {
		unsigned int dev; /* 0: empty */
		const char *disk; /* in the catalog; NULL: not known */
		char text[24];    /* "major:minor" */
	} devs[EVENT_DEVS];
	char text[SEGMENTS_TEXT]; /* of the segments of the last event */
	struct event_call {
		unsigned short call;
		const char *name; /* NULL: empty */
	} calls[EVENT_CALLS];
};

/* Frees the names in @n, and empties @n for the next recording. */
void event_names_done(struct event_names *n);

/* One event with its names looked up. The text is hostile, and valid until the next call of
 * event_row_fill(). */
struct event_row {
	const struct recording *rec;
	const struct stored_op *op;        /* or NULL */
	const struct stored_request *rq;   /* or NULL */
	const struct catalog_thread *by;   /* to whom its longest wait was due; NULL: nobody */
	const struct catalog_thread *who;  /* NULL: not known */
	const char *op_name, *call;        /* @call: NULL: a request */
	const struct event_dev *dev;       /* of the file system or disk; NULL: not known */
	const struct event_cgroup *cgroup; /* NULL: not known */
	const char *path;                  /* NULL: none */
	const char *copied_to;             /* of a copy; NULL: none */
	const uint8_t *segments;           /* of @op, op->segments bytes; hostile */
	char *text;                        /* room for SEGMENTS_TEXT bytes */
	uint64_t start_ns, total_ns;
	uint64_t offset, len; /* ~0: not known */
	uint64_t ino;         /* 0: none */
};

/* Looks up the names of @ev, an operation or a request of @rec. The row points into @ev, @names and
 * @rec. @call_name: see syscall_names(). */
void event_row_fill(struct event_row *ret, struct event_names *names, const struct recording *rec,
		    const struct stored_event *ev, const char *(*call_name)(unsigned short call));

/* Name of the error that an operation returned, or NULL if there is no error. */
const char *event_row_error(const struct event_row *s);

/* Name of a request's disk; NULL: not known, or an operation. */
const char *event_row_disk(const struct event_row *s);

/* The columns of a struct event_row. The member .of of a column is a set of EVENT_OF_*. */
enum { EVENT_OF_OPS = 1, EVENT_OF_REQUESTS = 2 };
extern const struct column event_columns[];

#endif
