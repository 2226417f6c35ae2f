/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * series.h - one run as sums and histograms by key and by interval of time.
 *
 * Memory does not grow with the run: intervals are joined in pairs whenever there would be more
 * than SERIES_INTERVALS, or too many bytes; keys beyond SERIES_KEYS share a row per operation. All
 * text is hostile.
 */
#ifndef IOSTRATA_ANALYSE_SERIES_H
#define IOSTRATA_ANALYSE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyse/caller_names.h"
#include "base/hist.h"
#include "base/snapshot.h"
#include "base/stacks.h"

struct reason;
struct stack_number;
struct recording;
struct stored_event;

enum {
	SERIES_INTERVALS = 192,      /* at most; more than half as many, if the run is long */
	SERIES_INTERVALS_LEAST = 24, /* joined to so few, if memory is short */
	SERIES_KEYS = 1000,
	SERIES_BYTES = 18 << 20, /* of cells and histograms, of one run */
	SERIES_NAME = 64,
	SERIES_RECENT = 2048,
};

/* Sums of a key's operations or requests in one interval. */
struct series_cell {
	uint64_t count, errors, bytes;
	uint64_t samples; /* stacks from which the count is estimated, or 0 if it was counted */
	uint64_t certain; /* stacks that had to be taken: each is one operation */
	uint64_t total_ns;
	uint64_t strata[ST_N]; /* add up to total_ns; of requests tag, queue and device */
	uint64_t beside; /* of operations: requests submitted by them; of requests: bios merged into
			    them */
	struct hist hist; /* of operations: whole time; of requests: in the device */
};

struct series_index;

/* A key is text: ids differ between runs. */
struct series_key {
	bool is_request;
	char what[32];           /* "fsync", "uring read"; of requests "write" */
	char where[SERIES_NAME]; /* file system type or disk; "": not known */
	char *by;                /* value of --by; NULL: none; owned by its series */
	char comm[COMM_LEN + 1]; /* name of the process or thread in .by, no part of the key */
};

struct series_row {
	struct series_key key;
	unsigned int kind;         /* enum op_kind or enum rq_op */
	struct series_cell *cells; /* an array of intervals_max; owned */
	/* private, until the row has its names */
	struct series_id {
		uint64_t by[2];
		uint16_t fs;
		uint8_t is_request, kind, acts, pad[3];
	} id;
	uint64_t file; /* in the recording's catalog */
};

/* A run. At first all 0; series_done() in any case. */
struct series {
	char *name;           /* of its file; owned */
	char *kernel, *host;  /* NULL: not known; owned */
	char *options;        /* it was recorded with; NULL: not known */
	unsigned int machine; /* enum machine */
	bool is_recording;
	bool of_command; /* a command was traced: the length is a result */
	bool hosts; /* recordings of several hosts are added: disks have the host before the name */
	bool has_ops, has_requests;
	struct stacks stacks;        /* from which rows by caller come; only its sums */
	unsigned int strata_missing; /* set of 1 << stratum */
	bool is_cut_off;
	uint64_t began_ns; /* CLOCK_REALTIME; 0: not known */
	uint64_t duration_ns;
	uint64_t lost, dropped;
	uint64_t ops, requests; /* read, and not left out by a filter */
	uint64_t more_keys;     /* operations whose keys have no separate row */
	unsigned int intervals; /* in use */
	uint64_t length_ns[SERIES_INTERVALS];
	struct series_row *rows; /* owned */
	size_t n_rows;
	/* private */
	unsigned int intervals_max;
	unsigned int shift;           /* an interval is 1 << shift ns */
	uint64_t from_ns;             /* where the first begins, CLOCK_MONOTONIC */
	double carry;                 /* of rounded estimates */
	struct stack_number *counted; /* operations that can have stacks; owned */
	size_t n_counted, counted_cap;
	struct caller_names callers;
	size_t rows_cap;
	struct series_index *index; /* rows by id */
	/* by hash of an id: one more than the number of the row found last, or 0 if none was */
	uint32_t recent[SERIES_RECENT];
};

/* How recordings are read into a series. */
struct series_conf {
	enum by_key by;
	uint64_t from_ns, to_ns; /* this part, from the recording's begin; to 0: its end */
	bool whole;              /* joined to one interval */
	/* Whether an operation or request is to be counted, or NULL if all are. */
	bool (*passes)(void *arg, const struct recording *rec, struct stored_event *ev);
	own_frame_fn *own_frame;         /* for rows by caller; with .arg */
	const struct frame_namer *namer; /* likewise; as in struct recording */
	/* Called before the first of each file. */
	void (*begins)(void *arg);
	void *arg;
	/* Called now and then with the bytes of the file read so far; returns false to stop. NULL:
	 * nothing is called. */
	bool (*goes_on)(void *arg, uint64_t bytes);
};

/*
 * Reads @f, called @name in messages: a recording, or lines of `breakdown --json`, an interval
 * each. 0; 1 with @why: it is damaged, @s has the part before; -1 with @why.
 */
int series_read(struct series *s, FILE *f, const char *name, const struct series_conf *conf,
		struct reason *why);

/* Joins intervals until at most @most are left, 1 for the whole run. Returns 0 or -ENOMEM. */
int series_join(struct series *s, unsigned int most);

/* Joins the rows of keys refused by @is_known with the row of all other keys. Returns 0 or
 * -ENOMEM. */
int series_fold(struct series *s, bool (*is_known)(const struct series_key *key, const void *arg),
		const void *arg);

/* Returns 0 if both keys are the same text, without regard to .comm. For qsort(). */
int series_key_compare(const struct series_key *a, const struct series_key *b);

void series_done(struct series *s);

/*
 * For callers that read recordings themselves: one record at a time, and several recordings on one
 * timeline.
 */

/* Adds @ev, an operation or request of @rec. It ended @at_ns after the begin of @s. Returns 0 or
 * -ENOMEM. */
int series_add(struct series *s, const struct recording *rec, const struct stored_event *ev,
	       enum by_key by, uint64_t at_ns);

/* Names the new rows. Call after the last record of @rec: ids differ between recordings. Returns 0
 * or -ENOMEM. */
int series_name(struct series *s, const struct recording *rec, enum by_key by);

/* Sets the duration, and the length of each interval. Call after the last record of all. Returns 0
 * or -ENOMEM. */
int series_measure(struct series *s, uint64_t duration_ns);

/* For series_recording.c and series_json.c. */

/* The row of @id; a new one if there is none, or the row of all other keys. Returns NULL if out of
 * memory. */
struct series_row *series_row(struct series *s, const struct series_id *id);

/* Whether @id is that of the row for all keys beyond the limit. */
bool series_is_others(const struct series_id *id);

/* The interval of an operation or request with its end @ns after the begin. Negative: -ENOMEM. */
int series_interval(struct series *s, uint64_t ns);

/* Joins neighbours: half as many intervals are left. Returns 0 or -ENOMEM. */
int series_halve(struct series *s);

/* Call now and then: joins intervals if there are too many bytes. Returns 0 or -ENOMEM. */
int series_look(struct series *s);

/* Joins rows whose keys are the same text. Returns 0 or -ENOMEM. */
int series_unite(struct series *s);

/* Brings estimated numbers of operations by caller to those counted, as report does. Returns 0 or
 * -ENOMEM. */
int series_callers_scale(struct series *s);

int series_read_recording(struct series *s, FILE *f, const char *name,
			  const struct series_conf *conf, struct reason *why);
int series_read_json(struct series *s, FILE *f, const char *name, const struct series_conf *conf,
		     struct reason *why);

/* The key of the row for all keys without a separate row. */
#define SERIES_OTHERS "(other keys)"

#endif
