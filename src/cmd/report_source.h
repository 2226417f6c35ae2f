/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report_source.h - what the recordings say of themselves: host and run, names, what is missing.
 * The header of the first one counts for all.
 */
#ifndef IOSTRATA_CMD_REPORT_SOURCE_H
#define IOSTRATA_CMD_REPORT_SOURCE_H

#include <stdbool.h>

#include "base/snapshot.h"
#include "capture/recording.h"
#include "host/container_names.h"

struct breakdown_view;
struct reason;

/* Whether several recordings are from one run of record, from one host, or from several. */
enum report_together { OF_ONE_RUN, OF_RUNS, OF_HOSTS };

/* Starts as all 0. */
struct report_source {
	int n_read; /* number of recordings read, damaged ones included */
	enum report_together together;
	bool of_commands;                  /* of several commands */
	struct header header;              /* of the first recording, without its mounts */
	struct missing missing;            /* a figure missing in one recording is missing in all */
	struct container_names containers; /* of all recordings */
};

/* Whether a recording was opened: its header could be read. */
bool report_source_is_known(const struct report_source *s);

/* Adds @rec, which was opened. Moves parts of its header if @rec is the first. Returns 0, or -1
 * with @why if it does not fit to the first. */
int report_source_add(struct report_source *s, struct recording *rec, struct reason *why);

/* Adds the disks and names of @rec, after its last record was read. */
void report_source_end(struct report_source *s, struct recording *rec);

/* Sets what @v shows of the source. @s has to last as long as @v. */
void report_source_view(const struct report_source *s, struct breakdown_view *v);

void report_source_done(struct report_source *s);

#endif
