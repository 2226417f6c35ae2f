/* SPDX-License-Identifier: GPL-2.0-only */
/* pprof.h - the user stacks of a recording as a profile for pprof (profile.proto), with the time in
 * each stratum as a sample type. */
#ifndef IOSTRATA_EXPORT_PPROF_H
#define IOSTRATA_EXPORT_PPROF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct frame_namer;
struct reason;

struct pprof_counts {
	uint64_t stacks,
		samples;   /* taken; different ones in the profile, by kind and file system */
	uint64_t lost;     /* stacks that found no room */
	bool is_estimated; /* not all stacks were taken */
};

struct pprof_conf {
	FILE *f;
	const char *name;                /* of it, in messages */
	const char *dir;                 /* exists */
	const struct frame_namer *namer; /* as in struct recording */
};

/* Writes profile.pb.gz into the directory. Memory
 * grows with the number of different stacks. Returns 0, 1 with @why if the recording is cut off
 * (the file has all before the damage), or -1 with @why. */
int pprof_export(const struct pprof_conf *conf, struct pprof_counts *ret_counts,
		 struct reason *why);

#endif
