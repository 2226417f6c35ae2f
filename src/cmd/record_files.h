/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_files.h - the files written by record: one file, or with --max-files a ring: the next file
 * replaces the oldest. All are created before the run, because later the tool has no privilege to
 * create files.
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
	struct ending end; /* valid after the file was ended */
	uint64_t bytes;    /* valid after the file was ended */
	bool used;         /* records were written to it */
};

struct record_files {
	/* to be set by the caller */
	uint64_t max_files;          /* size of the ring; 0: one file */
	uint64_t max_bytes, keep_ns; /* as in struct writer */
	bool replace;                /* replace existing files of these names */
	FILE *standard;              /* the output for the name "-" */
	char *(*header)(void *arg,
			uint64_t begin_ns); /* the header of a file; it begins at @begin_ns,
					     * CLOCK_MONOTONIC; for free(); NULL: no memory */
	struct ending (*ending)(void *arg); /* the run so far, without the writer's counts */
	void *arg;
	/* for the caller: reads both, and writes records to .w */
	struct writer w;
	char name[256]; /* hostile; files of a ring have a number behind it */
	/* private */
	struct record_file *list;
	unsigned int n, at;    /* number of files; index of the file being written */
	bool ended;            /* the file being written was ended */
	uint64_t began_ns;     /* when the first file began */
	struct ending closed;  /* sums over all ended files */
	struct ending removed; /* sums over the replaced files; part of .closed */
	uint64_t bytes;        /* size of all ended files, except those replaced */
};

/* Creates the files for the user who called sudo, and begins the first. @name: the file, "-" for
 * the standard output; NULL: a name made of the command in @argv and of the time. Returns 0, or -1
 * with @why; call record_files_close() in any case. */
int record_files_open(struct record_files *f, const char *name, char *const *argv,
		      struct reason *why);

/* Ends the recording. Returns 0, or -1 with @why. */
int record_files_end(struct record_files *f, const struct ending *whole, struct reason *why);

/* The number of operations, requests and bytes in the files. */
struct record_files_size {
	uint64_t ops, requests, bytes;
};
struct record_files_size record_files_size(const struct record_files *f);

/* The number of records without room in the files; records dropped with a replaced file of a ring
 * do not count. Without the kinds in @but, as for lost_sum_but(). */
uint64_t record_files_lost(const struct record_files *f, unsigned int but);

void record_files_close(struct record_files *f);

#endif
