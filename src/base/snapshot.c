// SPDX-License-Identifier: GPL-2.0-only
/*
 * snapshot.c - lifetime of a snapshot; see snapshot.h.
 */
#include "base/snapshot.h"

#include <stdlib.h>

void snapshot_free(struct snapshot *sn)
{
	if (!sn)
		return;
	for (size_t i = 0; i < sn->n_ops; i++) {
		free(sn->ops[i].by);
		free(sn->ops[i].hist.bins);
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		free(sn->rqs[i].by);
		free(sn->rqs[i].hist.bins);
	}
	free(sn->unfinished);
	free(sn->tasks);
	free(sn->ops);
	free(sn->rqs);
	*sn = (struct snapshot){};
}
