/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slowest.h - single operations as text, each with its strata, biggest first: a record has sums per
 * stratum, not their order in time.
 */
#ifndef IOSTRATA_SHOW_SLOWEST_H
#define IOSTRATA_SHOW_SLOWEST_H

#include "base/text.h"
#include "show/view.h"

/* Writes them in the order given; @sn has the names of the file systems. */
void slowest_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		 const struct slow_op *slowest, size_t n);

/* "read (pread64): 780 us on ext4"; safe. @fs: the type of its file system, hostile. 192 bytes are
 * enough. */
void slowest_title(char *dst, size_t cap, const struct breakdown_view *v, const char *fs,
		   const struct slow_op *r);

/* Lines of safe text: its path, disks, range and result, thread, and the lock that it waited for.
 */
void slowest_details(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct slow_op *r);

#endif
