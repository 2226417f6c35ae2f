/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * intake.h - turns the programs' records into records of a recording. Each thread, file, cgroup,
 * device and file system gets an id and a name at its first record.
 *
 * Knows neither rings nor maps; their owner calls it.
 */
#ifndef IOSTRATA_CAPTURE_INTAKE_H
#define IOSTRATA_CAPTURE_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/writer.h"
#include "host/container_names.h"
#include "host/mounts.h"

struct intake_container;
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

enum {
	INTAKE_NAMES = 1 << 14,      /* threads or files of a generation of names */
	INTAKE_IDS = 3 << 13,        /* ids for a generation; it may have some more names */
	INTAKE_GENERATIONS = 1 << 6, /* in memory at once, at most */
};

struct intake {
	struct writer *w;
	/* Delivers the names sent before the current record, by calling intake_name(). */
	void (*names)(void *arg);
	/* The name of a file system type, and operations with a probed layer. Returns false if not
	 * known. */
	bool (*fs)(void *arg, unsigned int slot, char ret_name[FS_NAME_LEN],
		   unsigned int *ret_probed);
	/*
	 * For a recorder that runs for ever: after INTAKE_NAMES threads or files, all names are
	 * written anew, so that the writer can drop former names with the records that need them.
	 * Called then: the names of files are to be sent again. NULL: names are written once.
	 */
	void (*renew)(void *arg);
	/* The command line of the process of @who, for the caller to free, or NULL if not known.
	 * NULL: command lines are not written. */
	char *(*command)(void *arg, const struct sent_who *who);
	void *arg;        /* of all these functions */
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
	struct intake_file *old_files; /* of the generation before */
	struct intake_thread *threads, *last_thread;
	struct sent_who last_who; /* the last thread, as sent */
	struct intake_known *cgroups, *devices, *texts, *limits, *processes;
	struct container_names container_names;
	struct intake_container *unnamed_containers;
	uint64_t n_files, n_threads; /* the last ids given */
	uint64_t base;               /* ids of this generation are above it */
	uint64_t renewals;
	unsigned char ranges[INTAKE_GENERATIONS]; /* of ids, by renewals: the last generations' */
	unsigned int fs_probed[256];              /* as last written, + 1; 0: not written */
};

void intake_done(struct intake *in);

/* Takes a record of @len hostile bytes, or several consecutive struct sent_op. Ignores malformed
 * records. */
void intake_record(struct intake *in, const void *data, size_t len);
void intake_name(struct intake *in, const void *data, size_t len);

/* Takes an operation with its user stack, number @stack, on the file system in the slot @fs of the
 * session; negative: not known. */
void intake_stack(struct intake *in, const struct sent_stack *s, unsigned int stack, int fs);

/* Ids up to this one may have no name in memory, and readers want a name for each id: the last
 * argument of writer_tail_copy(). Returns 0 if all have names. */
uint64_t intake_unnamed_ids(const struct intake *in);

/* Call at the end: writes names again if they are better known than at the first record. */
void intake_end(struct intake *in);

#endif
