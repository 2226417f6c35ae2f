/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watch_store.h - the directory of watch: the caller, a deputy (run/deputy.h), writes the
 * recordings there while the run goes on, removes the oldest, and starts the program of --run.
 *
 * A recording comes to the deputy through a pipe, from a copy of the tool. So the tool waits for no
 * disk, and has lost its privileges long before.
 */
#ifndef IOSTRATA_CMD_WATCH_STORE_H
#define IOSTRATA_CMD_WATCH_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/watch_files.h"
#include "cmd/watch_spool.h"
#include "run/copy.h"
#include "run/deputy.h"

struct reason;

struct store {
	/* to be set by the caller */
	const char *dir;
	uint64_t budget;    /* bytes of all recordings in the directory; 0: no limit */
	bool tables;        /* write Parquet tables instead of recordings */
	struct spool spool; /* .run and .deletes */
	/* private */
	struct deputy deputy;
	int control, theirs; /* the tool's end of the socket, and the deputy's */
	bool made;           /* the deputy has made the directory */
	pid_t copy;          /* the copy that writes a recording; 0: none */
	bool failed;         /* for the deputy: the last recording could not be written */
};

/* One recording, as plain data. */
struct shot {
	char name[SHOT_NAME]; /* of the file, without .ios; of letters, digits and ".-+_" */
	uint64_t ops, requests, lost, duration_ns; /* lost: operations and requests */
	uint64_t before_ns, keep_ns; /* how long it begins before its condition; --keep */
	bool complete;               /* the copy has written all of it */
};

/* Makes the directory, unless it exists, and starts the deputy. Returns 0, or -1 with @why. Call
 * watch_store_close() after it has succeeded. */
int watch_store_open(struct store *s, struct reason *why);

/* Lets the deputy work. Without this call, watch_store_close() removes an empty directory. */
void watch_store_go(struct store *s);

/* Process id of the deputy, for its I/O is no incident. */
pid_t watch_store_pid(const struct store *s);

/* Process id of the copy that writes a recording. Returns 0 if there is none. */
pid_t watch_store_copy(const struct store *s);

/* Whether the deputy has ended: it was killed, and no recording can be written. */
bool watch_store_has_ended(struct store *s);

/* Whether a recording is being written. Looks at the copy; call it now and then. */
bool watch_store_is_busy(struct store *s);

/* Waits until the copy has ended. */
void watch_store_wait(struct store *s);

/*
 * Forks a copy. The copy writes a recording by @write to the descriptor @fd, and ends. Not while
 * the store is busy. Returns 0 or -errno.
 */
typedef int store_write_fn(void *arg, int fd);
int watch_store_begin(struct store *s, const struct shot *shot, store_write_fn *write, void *arg);

/* Waits until all is written, and ends the deputy. Returns its exit code: EXIT_FAILED if a
 * recording could not be written. */
int watch_store_close(struct store *s);

#endif
