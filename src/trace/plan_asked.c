// SPDX-License-Identifier: GPL-2.0-only
/* plan_asked.c - what a run needs of the table in plan.c, by its settings. */
#include "trace/plan.h"
#include "trace/rowmaps.h"
#include "trace/session.h"

unsigned int plan_asked(const struct session_conf *conf)
{
	static const unsigned int of_layer[] = {
		[LAYER_OPS] = CAP_CALLS | CAP_WAITS | CAP_LOCKS | CAP_REQUESTS | CAP_VFS |
			     CAP_FS,
		[LAYER_SYSCALL] = CAP_CALLS | CAP_CALL_FILES,
		[LAYER_VFS] = CAP_VFS,
		[LAYER_FS] = CAP_FS,
		[LAYER_BLK] = CAP_REQUESTS,
	};
	const struct filter_lists *l = &conf->lists;
	unsigned int caps = CAP_THREADS | of_layer[conf->layer];

	if (conf->cpu_whole && conf->layer == LAYER_OPS)
		caps = (caps & ~(CAP_VFS | CAP_FS)) | CAP_CALL_FILES;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_URING)
		caps |= CAP_URING;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_AIO)
		caps |= CAP_AIO;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_FAULT)
		caps |= CAP_FAULTS;
	if (conf->follow)
		caps |= CAP_CHILD;
	if (conf->by == BY_TASK || conf->helpers)
		caps |= CAP_BEHALF;
	if ((caps & CAP_REQUESTS) && (conf->follow || l->n_pids || l->n_comms || l->n_cgroups ||
				      rowmaps_rq_by(conf->by) || conf->sent_requests))
		caps |= CAP_ISSUERS;
	if ((caps & CAP_REQUESTS) && !conf->tag_in_queue)
		caps |= CAP_TAG;
	return caps;
}

/*
 * A layer alone counts what comes into it first, so it needs all that others could come from. An
 * open may do anything before it comes to the file's own function: overlayfs copies directories up
 * and syncs them, IMA reads the file. A file of overlayfs that was opened before it was copied up
 * is opened once more when it is used.
 */
unsigned int plan_kinds(const struct session_conf *conf)
{
	static const unsigned int by[OP_N] = {
		[OP_READ] = 1U << OP_READ,
		[OP_WRITE] = 1U << OP_WRITE | 1U << OP_FSYNC, /* O_SYNC */
		[OP_OPEN] = ~0U,
		[OP_FSYNC] = 1U << OP_FSYNC,
		[OP_COPY] = 1U << OP_READ | 1U << OP_WRITE | 1U << OP_FSYNC | 1U << OP_COPY |
			    1U << OP_OPEN,
		[OP_META] = ~0U,
		[OP_URING] = ~0U,
		[OP_AIO] = 1U << OP_READ | 1U << OP_WRITE | 1U << OP_FSYNC,
	};
	unsigned int kinds = 0;

	if (conf->layer != LAYER_OPS || conf->helpers)
		return ~0U;
	for (unsigned int op = 0; op < OP_N; op++)
		kinds |= conf->kinds >> op & 1 ? by[op] : 0;
	return kinds;
}
