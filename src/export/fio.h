/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fio.h - the I/O of a process or a disk as a job for fio(1): DIR/replay.fio, and its iolog
 * (version 3), DIR/replay.log. Files are called file-1 and so on, so a replay writes to no file
 * that was recorded.
 */
#ifndef IOSTRATA_EXPORT_FIO_H
#define IOSTRATA_EXPORT_FIO_H

#include <stdint.h>
#include <stdio.h>

struct reason;

struct fio_conf {
	const char *dir;  /* an existing directory */
	uint64_t pid;     /* the process; 0: a disk */
	const char *disk; /* the name of the disk; NULL: a process */
};

/* Why a call or request cannot be replayed. */
enum fio_reason {
	FIO_FAILED,
	FIO_NOTHING,  /* no bytes were transferred */
	FIO_NO_FILE,  /* the file is not known */
	FIO_APPENDED, /* the offset is not known: the file was open with O_APPEND */
	FIO_NO_OFFSET,
	FIO_OTHER, /* fio has no such action */
	FIO_REASONS
};

/* "that failed": words about calls or requests. */
const char *fio_reason_words(enum fio_reason reason);

struct fio_counts {
	uint64_t actions, files;
	uint64_t left_out; /* calls or requests that cannot be replayed */
	/* by the reason */
	struct {
		uint64_t n, bytes;
	} reasons[FIO_REASONS];
};

/* Exports the recording @f, called @name in messages. Returns 0, 1 with @why if the recording is
 * cut off (the job has all before the damage), or -1 with @why. Memory grows by 40 bytes with each
 * action. */
int fio_export(FILE *f, const char *name, const struct fio_conf *conf,
	       struct fio_counts *ret_counts, struct reason *why);

#endif
