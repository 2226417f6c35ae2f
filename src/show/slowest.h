/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slowest.h - single operations as text, each with its strata, biggest first or in their order, and
 * the requests of recorded ones.
 */
#ifndef IOSTRATA_SHOW_SLOWEST_H
#define IOSTRATA_SHOW_SLOWEST_H

#include "base/text.h"
#include "show/breakdown.h"

/* Writes them in the order given; @sn has the names of the file systems. */
void slowest_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		 const struct slow_op *slowest, size_t n);

/* "read (pread64): 780 us on ext4"; safe. @fs: the type of its file system, hostile. 192 bytes are
 * enough. */
void slowest_title(char *dst, size_t cap, const struct breakdown_view *v, const char *fs,
		   const struct slow_op *r);

/* "waited 20.1 ms for a file lock that apt had (pid 12, tid 12, in write): apt update", safe; with
 * the command line only if @r has it. The caller frees it. Returns NULL if its wait was due to
 * nobody. */
char *slowest_who(const struct breakdown_view *v, const struct slow_op *r);

struct slow_request;

/* When a request was submitted, after the operation's beginning: "1.20 ms", "-3.00 us". */
struct text_num slowest_request_at(const struct breakdown_view *v, const struct slow_request *rq);

/* Lines of safe text: its path, disks, range and result, thread, the lock that it waited for, and
 * its helper. */
void slowest_details(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct slow_op *r);

#endif
