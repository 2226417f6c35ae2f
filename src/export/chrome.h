/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * chrome.h - a recording as trace events in JSON, packed by gzip, for ui.perfetto.dev, speedscope
 * and chrome://tracing: trace.json.gz in the directory, and trace-2.json.gz and so on for a long
 * recording.
 *
 * A thread is a track of its calls, with strata as arguments. If the order of a call's time is
 * recorded, each segment is a slice in the slice of the call. Requests are asynchronous slices of
 * their disk, with an arrow from the call that submitted each request. Counters have the requests
 * and bytes in flight of each disk. Requests to servers are asynchronous slices of their server.
 */
#ifndef IOSTRATA_EXPORT_CHROME_H
#define IOSTRATA_EXPORT_CHROME_H

#include <stdint.h>
#include <stdio.h>

struct reason;

struct chrome_counts {
	uint64_t ops, requests, server_requests, files;
};

/* Writes into the existing directory @dir, from the seekable @f, called @name in messages. A file
 * has at most @max_bytes before packing. @call_name: see syscall_names(). Returns 0, 1 with @why if
 * the recording is cut off (the files have all before the damage), or -1 with @why. */
int chrome_export(FILE *f, const char *name, const char *dir, uint64_t max_bytes,
		  const char *(*call_name)(unsigned short call), struct chrome_counts *ret_counts,
		  struct reason *why);

#endif
