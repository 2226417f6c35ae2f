/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recorded.h - the filters of filters.h on recordings: by what is recorded there of processes,
 * cgroups, disks and files, since the machine may be another one, or have changed.
 */
#ifndef IOSTRATA_CMD_RECORDED_H
#define IOSTRATA_CMD_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/reader.h"
#include "run/filters.h"

struct report_filter {
	struct filters given; /* options; cgroups and disks are made simpler */
	/* private */
	char *real_files[OPT_LIST_MAX]; /* what given.files lead to here; owned */
	unsigned char *files;           /* by id: 0 not looked at, 1 no, 2 yes; owned */
	size_t n_files;
	uint64_t dev; /* the last one looked at */
	bool dev_wanted;
};

/* Call after the options are parsed. */
void report_filter_init(struct report_filter *f);

/* Whether @ev, an operation or a request of @rec, passes. */
bool report_filter_passes(struct report_filter *f, const struct recording *rec,
			  const struct cap_event *ev);

/* Call before the first event of each recording: ids are others there. */
void report_filter_begin(struct report_filter *f);

void report_filter_done(struct report_filter *f);

#endif
