// SPDX-License-Identifier: GPL-2.0-only
/*
 * snapshot.c - lifetime of a snapshot; see snapshot.h.
 */
#include "base/snapshot.h"

#include <stdlib.h>
#include <string.h>

static void op_row_free(struct op_row *r)
{
	free(r->by);
	free(r->hist.bins);
}

uint64_t lost_sum(const uint64_t lost[LOST_N], uint64_t missed)
{
	uint64_t sum = missed;

	for (int i = 0; i < LOST_N; i++)
		sum += i == LOST_UNMATCHED_END ? 0 : lost[i];
	return sum;
}

void snapshot_keep_fs(struct snapshot *sn, const char *fs)
{
	size_t n = 0;

	if (!fs)
		return;
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (strncmp(sn->ops[i].fs, fs, FS_NAME_LEN))
			op_row_free(&sn->ops[i]);
		else
			sn->ops[n++] = sn->ops[i];
	}
	sn->n_ops = n;
	n = 0;
	for (size_t i = 0; i < sn->n_unfinished; i++) {
		if (strncmp(sn->unfinished[i].fs, fs, FS_NAME_LEN))
			free(sn->unfinished[i].file);
		else
			sn->unfinished[n++] = sn->unfinished[i];
	}
	sn->n_unfinished = n;
}

void snapshot_keep_ops(struct snapshot *sn, unsigned int ops)
{
	size_t n = 0;

	if (!ops)
		return;
	for (size_t i = 0; i < sn->n_ops; i++) {
		unsigned int op = sn->ops[i].key.op;

		if (ops & 1U << (op == OP_MINOR_FAULT ? OP_FAULT : op))
			sn->ops[n++] = sn->ops[i];
		else
			op_row_free(&sn->ops[i]);
	}
	sn->n_ops = n;
}

void snapshot_free(struct snapshot *sn)
{
	if (!sn)
		return;
	for (size_t i = 0; i < sn->n_ops; i++)
		op_row_free(&sn->ops[i]);
	for (size_t i = 0; i < sn->n_rqs; i++) {
		free(sn->rqs[i].by);
		free(sn->rqs[i].hist.bins);
	}
	for (size_t i = 0; i < sn->n_unfinished; i++)
		free(sn->unfinished[i].file);
	free(sn->unfinished);
	free(sn->helpers);
	free(sn->whys);
	free(sn->tasks);
	free(sn->ops);
	free(sn->rqs);
	*sn = (struct snapshot){};
}
