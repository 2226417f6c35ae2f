/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reader.h - reads a recording, from a file or a pipe: chunks, the names in them, and records one
 * by one. The input is hostile: numbers are checked against their limits, but names can be any
 * bytes.
 */
#ifndef IOSTRATA_CAPTURE_READER_H
#define IOSTRATA_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/header.h"
#include "capture/rowpack.h"
#include "capture/stored.h"

struct catalog_text;
struct container_names;
struct reason;

struct reader {
	FILE *f;                /* not owned */
	const char *name;       /* for messages; not owned, hostile */
	struct chunk_head head; /* of the last chunk read */
	bool ended;             /* the end was read: the recording is complete */
	uint64_t bytes;         /* read so far */
	/* private */
	uint8_t *packed, *raw;
	size_t packed_cap, raw_cap;
	bool unpacked;
	void *zstd;
};

/* Starts to read @f, called @name in messages. 0, or -1 with @why: not a recording, or of a later
 * version. Call reader_done() in any case. */
int reader_begin(struct reader *r, FILE *f, const char *name, struct reason *why);
void reader_done(struct reader *r);

/* Reads the next chunk, and its head into r->head. 1; 0 at the end of the file; -1 with @why if
 * damaged. */
int reader_next(struct reader *r, struct reason *why);

/* Records of a chunk, @columns numbers each; valid until the next chunk. 0, or -1 with @why. */
int reader_rows(struct reader *r, unsigned int columns, struct cursor *ret_rows,
		struct reason *why);

/*
 * The names in a recording, by the ids in records.
 *
 * Memory grows only with names actually read. All text is hostile.
 */

struct catalog_file {
	uint64_t key, ino;         /* FILE_KEY() */
	unsigned short flags, len; /* enum stored_file_flag; length of names */
	char *names;               /* as in struct file_name; owned */
};

struct catalog_thread {
	unsigned int pid, tid;
	uint64_t cgroup;
	char comm[COMM_LEN]; /* may lack a NUL */
};

enum { CATALOG_FS = 256 };

struct catalog {
	struct catalog_file *files;     /* [0]: no file */
	struct catalog_thread *threads; /* [0]: no thread */
	size_t n_files, n_threads, files_cap, threads_cap;
	struct catalog_text *cgroups, *devices, *containers, *texts;
	uint64_t version; /* grows with each chunk of names, which may replace names */
	struct {
		char name[FS_NAME_LEN];
		unsigned int probed; /* kinds of operations, 1 << kind */
	} fs[CATALOG_FS];
};

/* 0 or -ENOMEM. */
int catalog_init(struct catalog *c);
void catalog_done(struct catalog *c);

/* Adds the rows of a chunk of names. 0, -EBADMSG (not names) or -ENOMEM. */
int catalog_add(struct catalog *c, struct cursor *rows);

/* The file or thread of an id in a record; an unknown id gives the entry of id 0. */
const struct catalog_file *catalog_file(const struct catalog *c, uint64_t id);
const struct catalog_thread *catalog_thread(const struct catalog *c, uint64_t id);

/* Name of a cgroup, of its container or of a device; NULL: not known. */
const char *catalog_cgroup(const struct catalog *c, uint64_t id);
const char *catalog_container(const struct catalog *c, uint64_t cgroup);
const char *catalog_device(const struct catalog *c, uint64_t dev);

/* The text of an id in a request to a server; "": not known. */
const char *catalog_server_text(const struct catalog *c, uint64_t id);

/* Adds the names of all containers to @names. */
void catalog_container_names(const struct catalog *c, struct container_names *names);

/* Type of the file system @fs of a record; "": not known. */
const char *catalog_fs(const struct catalog *c, uint64_t fs);

/* Fills a struct file_name from @f. */
void catalog_file_name(const struct catalog_file *f, struct file_name *ret_name);

/*
 * The records of a recording, one by one, with the names known so far.
 */

struct stored_event {
	enum chunk_kind kind; /* selects one of the members below */
	const uint8_t
		*segments; /* of an operation, op.segments bytes, until the next record; hostile */
	union {
		struct stored_op op; /* of CHUNK_HANDLES, too */
		struct stored_request request;
		struct stored_server_request server_request;
		struct stored_loss loss;
	};
};

struct recording {
	struct reader reader;
	struct catalog catalog;
	struct header header;
	unsigned int strata_missing; /* set of 1 << stratum: strata not measured */
	struct ending ending;        /* records lost so far; the total once reader.ended */
	/* Records that ended before from_ns, or at or after to_ns, may be skipped. CLOCK_MONOTONIC.
	 * */
	uint64_t from_ns, to_ns;
	bool server_requests; /* records of requests to servers are wanted, too */
	uint64_t last_ns;     /* end of the last readable record */
	/* private */
	struct cursor rows;
	bool in_chunk;
};

/* Reads the header of @f, called @name in messages. 0, or -1 with @why; call recording_close() in
 * any case. @f stays the caller's. */
int recording_open(struct recording *r, FILE *f, const char *name, struct reason *why);
void recording_close(struct recording *r);

/*
 * The next record. 1; 0 at the end; -1 with @why if the file is damaged or has no end (for example,
 * the recorder was killed), after all readable records.
 */
int recording_next(struct recording *r, struct stored_event *ret_event, struct reason *why);

/* Time from the beginning of @r to its end; or, without an end or with an early one, to the end of
 * the last record. In ns; call it when all records are read. */
uint64_t recording_covers(const struct recording *r);

/* The end of an operation or request, and its duration, in ns. */
uint64_t stored_event_end(const struct stored_event *ev);
uint64_t stored_event_total(const struct stored_event *ev);

#endif
