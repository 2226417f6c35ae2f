/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recording_filter.h - applies the filters of run/filters.h to recordings. It compares with the
 * names and ids in the recording, since the machine may be another one, or have changed.
 */
#ifndef IOSTRATA_COMMON_RECORDING_FILTER_H
#define IOSTRATA_COMMON_RECORDING_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/recording.h"
#include "common/recording_files.h"
#include "run/filters.h"

struct reason;

struct recording_filter {
	struct filters given; /* options; recording_filter_init() shortens cgroups and disks */
	bool by_file;         /* given.files choose requests, too */
	/* private */
	bool has_file; /* a file in a recording is at or below one of given.files */
	char *real_files[OPT_LIST_MAX]; /* real paths of given.files on this machine; owned */
	struct local_file local_files[OPT_LIST_MAX];
	char boot_id[48]; /* the inodes of local_files are known during this boot */
	struct files_alike alike;
	unsigned char *files; /* by id: 0 not checked yet, 1 no, 2 yes; owned */
	size_t n_files;
	uint64_t dev;    /* the device checked last */
	bool dev_wanted; /* the result of this check */
	bool call_known; /* a call was checked; the last is @call */
	bool call_wanted;
	unsigned short call;
};

/* Call after the options are parsed, and after filters_ops(). */
void recording_filter_init(struct recording_filter *f);

/* Whether @ev, an event of @rec, is an operation or request, and passes the filters. A copy of two
 * files then has only those that pass. */
bool recording_filter_passes(struct recording_filter *f, const struct recording *rec,
			     struct stored_event *ev);

/* Call before the first event of each recording, since ids differ between recordings. */
void recording_filter_begin(struct recording_filter *f);

/* Call after the last event of each recording, for recording_filter_hint(). */
void recording_filter_end(struct recording_filter *f, const struct recording *rec);

/* Says where files with the names of given.files are, if recordings have no file that --file names.
 * Returns false if there is nothing to say. */
bool recording_filter_hint(const struct recording_filter *f, char *text, size_t cap);

void recording_filter_done(struct recording_filter *f);

/* The part of a recording to look at: options --from and --to. */
struct recording_part {
	uint64_t from_ns, to_ns; /* since the beginning; 0: not given */
};

extern const struct opt recording_part_opts[]; /* over struct recording_part */

/* Fails if --to is not after --from. Returns 0, or -1 with @why. */
int recording_part_check(const struct recording_part *part, struct reason *why);

/* Sets @why: the recording @file ends before --from. Returns -1. */
int recording_part_past(const struct recording_part *part, const char *file, struct reason *why);

#endif
