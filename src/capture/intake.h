/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * intake.h - turns what the programs send into records of a capture file. Whatever is seen for the
 * first time gets an id and a name there.
 *
 * Knows neither rings nor maps; their owner calls it.
 */
#ifndef IOSTRATA_INTAKE_H
#define IOSTRATA_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mounts.h"
#include "capture/writer.h"

struct intake_file;
struct intake_known;
struct intake_thread;

/* Looks out for one that took longer. */
struct intake_until {
	unsigned int kinds; /* operations, 1 << kind; 0: none */
	bool requests;
	uint64_t above_ns;
	uint64_t met_ns; /* how long the first one took; 0: none yet */
};

struct intake {
	struct writer *w;
	/* Delivers the names that were sent before the current record, by calling
	 * intake_name(). */
	void (*names)(void *arg);
	/* What is known of a file system type. False: nothing. */
	bool (*fs)(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		   unsigned int *ret_probed);
	void *arg;
	uint64_t end_ns;  /* what ends later is left out; UINT64_MAX: nothing is */
	uint64_t unnamed; /* files so far without a name */
	struct intake_until until;
	/* private */
	struct mounts mounts;
	struct intake_file *files, *last_file;
	struct intake_thread *threads, *last_thread;
	struct sent_who last_who; /* that thread, as it was sent */
	struct intake_known *cgroups, *devices;
	uint64_t n_files, n_threads;
	unsigned int fs_probed[256]; /* as last written, + 1; 0: not written */
};

void intake_done(struct intake *in);

/* Takes a record of @len bytes, or several of struct sent_op, one behind the other; hostile or not:
 * what makes no sense is left out. */
void intake_record(struct intake *in, const void *data, size_t len);
void intake_name(struct intake *in, const void *data, size_t len);

/* Call at the end: writes again what is known better now than when it was first seen. */
void intake_end(struct intake *in);

#endif
