/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watch_spool.h - calls the program of --run for each recording until it ends with 0.
 *
 * A recording that waits has a marker beside it, ".NAME.waits", a byte long for each failed call.
 * So a recording goes on waiting over restarts of watch. The program has one recording at a time,
 * the oldest first. The deputy calls all functions but the last.
 */
#ifndef IOSTRATA_CMD_WATCH_SPOOL_H
#define IOSTRATA_CMD_WATCH_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct reason;

/* A recording that waits. */
struct waiting {
	char name[NAME_MAX + 1]; /* "": none */
	uint64_t made_ns;        /* time of the file */
	uint64_t calls;          /* failed ones */
	int64_t called_s;        /* time of day of the last one */
};

struct spool {
	/* to be set by the caller */
	const char *dir;
	const char *run; /* the program; NULL: none, and nothing waits */
	int deletes;     /* a recording is removed when the program has ended with 0 for it */
	/* private */
	bool is_running;
	int marker;             /* of the running recording, locked; or 0 */
	struct waiting running; /* the recording that the program has */
	struct waiting after;   /* the last failed one in this round; the next is younger */
	unsigned int failures;  /* in this round */
	uint64_t pause_ns, next_ns;
};

/* Notes that the recording @name in @dir waits. Returns 0 or -errno; -EEXIST: it does already. */
int watch_spool_note(const char *dir, const char *name);

/* Forgets that @name waits. Returns whether it did. */
bool watch_spool_forget(const char *dir, const char *name);

/* A recording has been added: the pause is over. */
void watch_spool_added(struct spool *p);

/* Looks whether the program has ended, and starts it if it is due. Returns the time until the next
 * call, in ms; -1: nothing waits. */
int watch_spool_look(struct spool *p, uint64_t now);

/* Calls the program without pauses for what waits, until it fails. Then the next watch goes on. */
void watch_spool_end(struct spool *p);

/* Prints what waits in @dir. Returns 0, or -1 with @why. */
int watch_spool_status(const char *dir, struct reason *why);

#endif
