/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * intake.h - turns the programs' records into records of a recording. Each thread, file, cgroup,
 * device and file system gets an id and a name at its first record.
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

/* A condition: an operation or request took longer than a limit. */
struct intake_until {
	unsigned int kinds; /* operations, 1 << kind; 0: none */
	bool requests;
	uint64_t above_ns;
	uint64_t met_ns; /* duration of the first match; 0: none yet */
};

struct intake {
	struct writer *w;
	/* Delivers the names sent before the current record, by calling intake_name(). */
	void (*names)(void *arg);
	/* The name of a file system type, and operations with a probed layer. False: not known. */
	bool (*fs)(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		   unsigned int *ret_probed);
	void *arg;
	uint64_t end_ns;  /* records that end later are ignored; UINT64_MAX: none */
	uint64_t unnamed; /* files so far without a name */
	struct intake_until until;
	/* private */
	struct mounts mounts;
	struct intake_file *files, *last_file;
	struct intake_thread *threads, *last_thread;
	struct sent_who last_who; /* the last thread, as sent */
	struct intake_known *cgroups, *devices;
	uint64_t n_files, n_threads;
	unsigned int fs_probed[256]; /* as last written, + 1; 0: not written */
};

void intake_done(struct intake *in);

/* Takes a record of @len hostile bytes, or several consecutive struct sent_op. Ignores malformed
 * records. */
void intake_record(struct intake *in, const void *data, size_t len);
void intake_name(struct intake *in, const void *data, size_t len);

/* Call at the end: writes names again if they are better known than at the first record. */
void intake_end(struct intake *in);

#endif
