/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine_meter.h - reads how busy the machine is: /proc/stat, /proc/pressure, /proc/meminfo. Once
 * open, it needs no privilege. A file that is not there, or that the kernel refuses to read, leaves
 * its figures unknown.
 */
#ifndef IOSTRATA_HOST_MACHINE_METER_H
#define IOSTRATA_HOST_MACHINE_METER_H

#include <stdint.h>

#include "base/machine_load.h"

enum { MACHINE_FILES = MACHINE_PAGES + 1 }; /* one for each source */

struct machine_meter {
	int fds[MACHINE_FILES];   /* -1: not there; all 0: never opened */
	struct machine_load last; /* sums since the boot, and the last levels */
	uint64_t last_ns;         /* when they were read, CLOCK_MONOTONIC */
};

/* Opens the files and reads them: the first interval begins. */
void machine_meter_open(struct machine_meter *m);
void machine_meter_done(struct machine_meter *m);

/* The interval since the last call, or since the opening. Its end is m->last_ns. */
void machine_meter_interval(struct machine_meter *m, struct machine_load *ret);

/* Parses the @text of the file of @source, and sets its figures: sums since the boot. Returns false
 * if the text does not have them. */
bool machine_meter_parse(enum machine_source source, const char *text, struct machine_load *l);

#endif
