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

/* One operation or request, for .see. */
struct intake_event {
	bool is_request;
	unsigned int kind; /* enum op_kind of an operation */
	unsigned int dev;  /* of a request */
	unsigned int pid;
	bool failed; /* of a request */
	int error;   /* errno of a failed operation; else 0 */
	uint64_t end_ns, took_ns;
};

struct intake {
	struct writer *w;
	/* Delivers the names sent before the current record, by calling intake_name(). */
	void (*names)(void *arg);
	/* The name of a file system type, and operations with a probed layer. False: not known. */
	bool (*fs)(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		   unsigned int *ret_probed);
	void *arg;        /* of all three functions */
	uint64_t end_ns;  /* records that end later are ignored; UINT64_MAX: none */
	uint64_t unnamed; /* files so far without a name */
	/* Is shown each operation whose kind is in .see_ops (1 << kind), and with .see_requests
	 * each request. May be NULL. */
	void (*see)(void *arg, const struct intake_event *e);
	unsigned int see_ops;
	bool see_requests;
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
