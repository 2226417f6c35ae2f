/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process.h - the listener: takes snapshots from its feed, adds them up, and answers clients. It
 * has no privilege, no file, and no way to tell the tracing process anything.
 */
#ifndef IOSTRATA_SERVE_PROCESS_H
#define IOSTRATA_SERVE_PROCESS_H

#include "serve/guard.h"
#include "show/breakdown.h"

struct reason;

struct serve_conf {
	int listener; /* a listening socket */
	struct guard guard;
	struct breakdown_view view; /* of /api/breakdown; .missing comes with the feed */
	unsigned int buckets, keys_max, series;
	const char *version;
};

/* Gives up all privileges, and serves until @feed ends. Returns 0, or -1 with @why. @warn tells of
 * a privilege that cannot be given up. */
int serve_process(const struct serve_conf *conf, int feed, void (*warn)(const struct reason *why),
		  struct reason *why);

#endif
