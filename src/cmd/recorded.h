/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recorded.h - applies the filters of run/filters.h to recordings. It compares with the names
 * and ids in the recording, since the machine may be another one, or have changed.
 */
#ifndef IOSTRATA_CMD_RECORDED_H
#define IOSTRATA_CMD_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/reader.h"
#include "run/filters.h"

struct reason;

struct report_filter {
	struct filters given; /* options; report_filter_init() shortens cgroups and disks */
	bool by_file;         /* given.files choose requests, too */
	/* private */
	char *real_files[OPT_LIST_MAX]; /* real paths of given.files on this machine; owned */
	unsigned char *files;           /* by id: 0 not checked yet, 1 no, 2 yes; owned */
	size_t n_files;
	uint64_t dev;    /* the device checked last */
	bool dev_wanted; /* the result of this check */
	bool call_known; /* a call was checked; the last is @call */
	bool call_wanted;
	unsigned short call;
};

/* Call after the options are parsed, and after filters_ops(). */
void report_filter_init(struct report_filter *f);

/* Whether @ev, an event of @rec, is an operation or request, and passes the filters. */
bool report_filter_passes(struct report_filter *f, const struct recording *rec,
			  const struct stored_event *ev);

/* Call before the first event of each recording, since ids differ between recordings. */
void report_filter_begin(struct report_filter *f);

void report_filter_done(struct report_filter *f);

/* The part of a recording to look at: options --from and --to. */
struct recorded_part {
	uint64_t from_ns, to_ns; /* since the beginning; 0: not given */
};

extern const struct opt recorded_part_opts[]; /* over struct recorded_part */

/* Fails if --to is not after --from. 0, or -1 with @why. */
int recorded_part_check(const struct recorded_part *part, struct reason *why);

/* Sets @why: the recording @file ends before --from. Returns -1. */
int recorded_part_past(const struct recorded_part *part, const char *file, struct reason *why);

#endif
