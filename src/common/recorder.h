/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recorder.h - the way of records from the session of a run to a writer, with the losses in
 * between: the same for record and watch. Knows no files.
 */
#ifndef IOSTRATA_COMMON_RECORDER_H
#define IOSTRATA_COMMON_RECORDER_H

#include <stdint.h>
#include <sys/types.h>

#include "analyse/until.h"
#include "capture/header.h"
#include "capture/intake.h"
#include "host/machine_meter.h"
#include "run/io.h"

/* The help of the option for .no_commands. */
#define RECORDER_NO_COMMANDS_HELP                                                                  \
	"write no command lines of processes, because they may hold secrets"

struct recorder {
	/* to be set by the caller */
	struct io_run *io;
	char *const *argv; /* the command line */
	pid_t deputy;      /* a process whose I/O meets no condition; 0: none */
	pid_t copy;        /* another one */
	bool no_commands;  /* option: recordings have no command lines */
	bool for_ever;     /* names are written anew now and then: see struct intake */
	/* for the caller */
	struct until until; /* the conditions */
	struct intake intake;
	struct machine_meter meter;
	uint64_t lost[LOST_N]; /* as told to the writer last */
	uint64_t told_ns;      /* until then, losses are told */
	uint64_t flushed_ns;   /* until then, records are written; set it before recorder_begin() */
};

/* Adds the conditions of --until, in the order of @texts. The members of the run's configuration
 * about sent records are set already. Returns 0, or -1 with @why. */
int recorder_until(struct recorder *r, const struct opt_strings *texts, struct reason *why);

/* Says the time for which the conditions ask: a number without a unit is in seconds, and not
 * everybody expects that. @then: what follows. */
void recorder_say_times(const struct recorder *r, const char *then);

/* Lets the records of the open session go to @w. They are its first. */
void recorder_begin(struct recorder *r, struct writer *w);

/* Takes an operation with its user stack: see stack_sink. */
void recorder_stack(struct recorder *r, const struct sent_stack *s, unsigned int number,
		    int fs_slot);

/* The header of a recording that begins at @begin_ns, CLOCK_MONOTONIC; @triggers: of watch. The
 * caller frees the result; NULL if out of memory. */
char *recorder_header(const struct recorder *r, uint64_t begin_ns,
		      const struct header_trigger *triggers, unsigned int n_triggers);

/* Writes the losses since the last call between the records, where they happened. @now:
 * clock_ns(). */
void recorder_tell_losses(struct recorder *r, uint64_t now);

/* Writes how busy the machine was since the last call. */
void recorder_tell_load(struct recorder *r);

/* Writes losses and records so far. @now: clock_ns(). */
void recorder_flush(struct recorder *r, uint64_t now);

void recorder_done(struct recorder *r);

#endif
