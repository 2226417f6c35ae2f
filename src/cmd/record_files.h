/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_files.h - the files that record writes: one, or with --max-files a ring, in which the next
 * one replaces the oldest. All are created before the run, since nothing can be afterwards.
 */
#ifndef IOSTRATA_CMD_RECORD_FILES_H
#define IOSTRATA_CMD_RECORD_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/header.h"
#include "capture/writer.h"

struct reason;

struct record_file {
	FILE *out;         /* written to by its descriptor */
	struct ending end; /* once it has been ended */
	uint64_t bytes;    /* then, too */
	bool used;
};

struct record_files {
	/* to be set by the caller */
	uint64_t max_files;                            /* 0: one */
	uint64_t max_bytes, keep_ns;                   /* as in struct writer */
	bool replace;                                  /* what has their names */
	FILE *standard;                                /* what "-" stands for */
	char *(*header)(void *arg, uint64_t begin_ns); /* for what begins then, CLOCK_MONOTONIC;
							* for free(); NULL: no memory */
	struct ending (*ending)(void *arg); /* of the run so far, but for what the writer knows */
	void *arg;
	/* for the caller to read, and to write records to */
	struct writer w;
	char name[256]; /* hostile; those of a ring have a number behind it */
	/* private */
	struct record_file *list;
	unsigned int n, at;    /* @at: the one being written */
	bool ended;            /* that one */
	uint64_t began_ns;     /* the first one */
	struct ending closed;  /* sums over all that have been ended */
	struct ending removed; /* of these, sums over those that were replaced */
	uint64_t bytes;        /* of those that have been ended and are still there */
};

/* Creates the files, the caller's own: @name, "-" for the standard output; or, if it is NULL, one
 * whose name says what is recorded, by the command line, and when; and begins the first. 0, or -1
 * with @why; call record_files_close() in any case. */
int record_files_open(struct record_files *f, const char *name, char *const *argv,
		      struct reason *why);

/* Ends the recording. 0, or -1 with @why. */
int record_files_end(struct record_files *f, const struct ending *whole, struct reason *why);

/* How many operations, requests and bytes there are in files. */
struct record_files_size {
	uint64_t ops, requests, bytes;
};
struct record_files_size record_files_size(const struct record_files *f);

/* How many records had no room in the files; not those that a ring has dropped. */
uint64_t record_files_lost(const struct record_files *f);

void record_files_close(struct record_files *f);

#endif
