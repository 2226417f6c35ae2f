/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2.h - recordings as an OTF2 archive: threads, disks and servers as locations, calls as regions
 * with I/O operations, requests as non-blocking operations of their disk or server, waits for
 * servers as regions of their server, strata as attributes.
 */
#ifndef IOSTRATA_EXPORT_OTF2_H
#define IOSTRATA_EXPORT_OTF2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct reason;

struct otf2_counts {
	uint64_t ops, requests, server_requests; /* in the archive */
	uint64_t locations, handles, lost;
};

/* A recording: a seekable file, called @name in messages. @call_name gives the name of a system
 * call, or NULL. */
struct otf2_input {
	FILE *f;
	const char *name;
	const char *(*call_name)(unsigned short call);
};

struct otf2_conf {
	const char *dir; /* an empty directory */
	bool lean;       /* no strata, and of requests only their operation */
};

/*
 * Writes the archive "traces" into the directory. The times of one recording are its
 * CLOCK_MONOTONIC. The times of several are CLOCK_REALTIME, and the archive has a machine for each
 * recording. Returns 0, 1 with @why if a recording is cut off (the archive has all before the
 * damage), or -1 with @why.
 */
int otf2_export(const struct otf2_input *inputs, size_t n, const struct otf2_conf *conf,
		struct otf2_counts *ret_counts, struct reason *why);

#endif
