/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * replay.h - sums up recordings into the rows of a live session, with the same code as the programs
 * (cell.h).
 */
#ifndef IOSTRATA_CAPTURE_REPLAY_H
#define IOSTRATA_CAPTURE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "capture/recording.h"
#include "capture/slow_op.h"
#include "capture/slow_requests.h"
#include "host/filenames.h"

struct reason;

struct replay_conf {
	enum layer layer; /* LAYER_OPS, LAYER_SYSCALL or LAYER_BLK */
	bool meta_calls;  /* operations of kind meta and fsync have a row for each call */
	bool calls;       /* all operations have */
	enum by_key by;
	bool queued;          /* request histograms from submission instead of dispatch */
	uint64_t every_ns;    /* length of an interval; 0: one for everything */
	uint64_t first_ns;    /* beginning of the first interval, CLOCK_REALTIME */
	uint64_t slowest_max; /* operations to keep */
	bool commands;        /* rows of processes, and the slowest, have command lines */
	bool patterns;        /* rows of a file's reads or writes, or of a disk's, have patterns */
	bool hosts; /* the recordings are from several hosts: requests and most keys name the host
		     */
	const struct opt_strings *slowest_fs; /* only on these file system types; NULL: all */
};

/* The rows of one host; or, with hosts together, all rows. */
struct replay_rows {
	struct rows rows;
	struct filenames names;
};

struct replay_interval {
	struct replay_rows *hosts; /* by number of the host; owned */
	size_t n_hosts;
	struct slow_op *slowest; /* biggest first, with their requests; owned */
	size_t n_slowest;
	uint64_t lost[LOST_N]; /* those with a time */
	uint64_t slow_end_ns;  /* the latest end of those of this recording; 0: there are none */
};

struct replay {
	struct replay_conf conf;
	/* private */
	struct replay_interval *intervals;
	size_t n_intervals;
	char **hosts; /* their names; the first are all hosts together, see rows_of() */
	size_t n_hosts;
	struct replay_fs *fs; /* file system types in all recordings */
	size_t n_fs;
	unsigned int vfs_kinds;
	unsigned int recording; /* number of recordings read before this one */
	struct recent_requests recent;
	char server[SERVER_TEXT]; /* with BY_SERVER: of the last operation */
};

enum { REPLAY_INTERVALS = 10000 };

/* Adds @ev of @rec. At first @r is all 0, except for its conf. Returns 0, or -1 with @why. */
int replay_add(struct replay *r, const struct recording *rec, const struct stored_event *ev,
	       struct reason *why);

/* Call after the last event of @rec: adds its losses that have a time, and its file system types.
 * Returns 0, or -1 with @why. */
int replay_end(struct replay *r, const struct recording *rec, struct reason *why);

/* Moves the rows of interval @i to @sn; the caller then owns its lists. Returns 0 or -ENOMEM. */
int replay_take(struct replay *r, size_t i, struct snapshot *sn);

void replay_done(struct replay *r);

/* The number of file system @fs of @rec in keys of rows, or 0 if out of memory; and as
 * op_row.missing_layers, for a row with such a key. */
uint64_t replay_fs_key(struct replay *r, const struct recording *rec, uint64_t fs);
unsigned int replay_missing_layers(const struct replay *r, const struct op_row *row);

/* The keys of rows, shared by all code that sums up recordings. */

/* Sets the key for thread @t and file @f; @by must be all 0. */
void row_key_set(unsigned long long by[2], enum by_key what, const struct catalog_thread *t,
		 const struct catalog_file *f);

/* The text of a key; for free(). NULL: out of memory, no key, or a file: files are named once all
 * names are known. */
char *row_key_text(const struct recording *rec, enum by_key what, const unsigned long long by[2]);

/* The name of a disk, or "major:minor". The caller frees the result; NULL if out of memory. */
char *device_text(const struct recording *rec, uint64_t dev);

#endif
