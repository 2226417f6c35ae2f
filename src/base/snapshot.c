// SPDX-License-Identifier: GPL-2.0-only
#include "base/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opts.h"
#include "base/stacks.h"

static void op_row_free(struct op_row *r)
{
	free(r->by);
	free(r->command);
	access_pattern_free(r->pattern);
	free(r->hist.bins);
}

static void rq_row_free(struct rq_row *r)
{
	free(r->by);
	access_pattern_free(r->pattern);
	free(r->hist.bins);
}

static int row_file_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct row_file));
}

void snapshot_files_sort(struct snapshot *sn)
{
	if (sn->n_files)
		qsort(sn->files, sn->n_files, sizeof(*sn->files), row_file_order);
}

static int who_order(const void *a, const void *b)
{
	const struct who_row *x = a, *y = b;

	if (x->sums.total_ns != y->sums.total_ns)
		return x->sums.total_ns > y->sums.total_ns ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

void snapshot_whos_sort(struct snapshot *sn)
{
	if (sn->n_whos)
		qsort(sn->whos, sn->n_whos, sizeof(*sn->whos), who_order);
}

/* Compares a key with the row of a struct row_file, for bsearch(). */
static int row_file_compare(const void *by, const void *file)
{
	return memcmp(by, ((const struct row_file *)file)->row,
		      sizeof(((struct row_file *)0)->row));
}

const struct row_file *snapshot_files(const struct snapshot *sn, const unsigned long long by[2],
				      size_t *ret_n)
{
	const struct row_file *first, *end, *at;

	if (!sn->n_files)
		return NULL;
	end = sn->files + sn->n_files;
	first = bsearch(by, sn->files, sn->n_files, sizeof(*sn->files), row_file_compare);
	if (!first)
		return NULL;
	while (first > sn->files && !row_file_compare(by, first - 1))
		first--;
	for (at = first; at < end && !row_file_compare(by, at);)
		at++;
	*ret_n = at - first;
	return first;
}

const struct disk_busy *snapshot_disk(const struct snapshot *sn, const char *disk)
{
	for (size_t i = 0; i < sn->n_disks; i++)
		if (!strncmp(sn->disks[i].disk, disk, sizeof(sn->disks[i].disk)))
			return &sn->disks[i];
	return NULL;
}

int snapshot_disks_sum(struct snapshot *sn)
{
	struct disk_busy *disk;

	sn->disks = sn->n_rqs ? calloc(sn->n_rqs, sizeof(*sn->disks)) : NULL;
	if (sn->n_rqs && !sn->disks)
		return -ENOMEM;
	sn->disks_ns = sn->duration_ns;
	for (size_t i = 0; i < sn->n_rqs; i++) {
		const struct rq_row *r = &sn->rqs[i];

		disk = (struct disk_busy *)snapshot_disk(sn, r->disk);
		if (!disk) {
			disk = &sn->disks[sn->n_disks++];
			snprintf(disk->disk, sizeof(disk->disk), "%.*s", (int)sizeof(r->disk) - 1,
				 r->disk);
			disk->busy_ns = BUSY_UNKNOWN;
		}
		disk->requests_ns += r->queue_ns + r->device_ns;
	}
	return 0;
}

double snapshot_disk_depth(const struct snapshot *sn, const struct disk_busy *disk)
{
	return sn->disks_ns ? (double)disk->requests_ns / sn->disks_ns : 0;
}

void snapshot_forget_commands(struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		free(sn->ops[i].command);
		sn->ops[i].command = NULL;
	}
	for (size_t i = 0; i < sn->n_whos; i++) {
		free(sn->whos[i].command);
		sn->whos[i].command = NULL;
	}
}

static void unfinished_free(struct unfinished *u)
{
	free(u->file);
	free(u->server);
}

uint64_t lost_sum_but(const uint64_t lost[LOST_N], uint64_t missed, unsigned int but)
{
	uint64_t sum = but >> LOST_N & 1 ? 0 : missed;

	for (int i = 0; i < LOST_N; i++)
		sum += i == LOST_UNMATCHED_END || but >> i & 1 ? 0 : lost[i];
	return sum;
}

uint64_t lost_sum(const uint64_t lost[LOST_N], uint64_t missed)
{
	return lost_sum_but(lost, missed, 0);
}

static void hung_free(struct hung *h)
{
	free(h->file);
	free(h->server);
}

void snapshot_keep_fs(struct snapshot *sn, const struct opt_strings *fs)
{
	size_t n = 0;

	for (size_t i = 0; i < sn->n_ops; i++) {
		if (opt_strings_pass(fs, sn->ops[i].fs, FS_NAME_LEN))
			sn->ops[n++] = sn->ops[i];
		else
			op_row_free(&sn->ops[i]);
	}
	sn->n_ops = n;
	n = 0;
	for (size_t i = 0; i < sn->n_unfinished; i++) {
		if (opt_strings_pass(fs, sn->unfinished[i].fs, FS_NAME_LEN))
			sn->unfinished[n++] = sn->unfinished[i];
		else
			unfinished_free(&sn->unfinished[i]);
	}
	sn->n_unfinished = n;
	n = 0;
	for (size_t i = 0; i < sn->n_hung; i++) {
		if (opt_strings_pass(fs, sn->hung[i].fs, FS_NAME_LEN))
			sn->hung[n++] = sn->hung[i];
		else
			hung_free(&sn->hung[i]);
	}
	sn->n_hung = n;
}

void snapshot_keep_rqs(struct snapshot *sn, snapshot_rq_fn *wanted, const void *ctx)
{
	size_t n = 0;

	for (size_t i = 0; i < sn->n_rqs; i++) {
		if (wanted(ctx, &sn->rqs[i].key))
			sn->rqs[n++] = sn->rqs[i];
		else
			rq_row_free(&sn->rqs[i]);
	}
	sn->n_rqs = n;
}

/* The kind of operations that a row tells of. */
static unsigned int op_kind_of_row(unsigned int op)
{
	return op == OP_MINOR_FAULT ? OP_FAULT : op == OP_COPY_TO ? OP_COPY : op;
}

void snapshot_keep_ops(struct snapshot *sn, unsigned int ops)
{
	size_t n = 0;

	if (!ops)
		return;
	for (size_t i = 0; i < sn->n_ops; i++) {
		unsigned int op = sn->ops[i].key.op;

		if (ops & 1U << op_kind_of_row(op))
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
	for (size_t i = 0; i < sn->n_rqs; i++)
		rq_row_free(&sn->rqs[i]);
	for (size_t i = 0; i < sn->n_servers; i++) {
		free(sn->servers[i].mount);
		free(sn->servers[i].hist.bins);
	}
	for (size_t i = 0; i < sn->n_unfinished; i++)
		unfinished_free(&sn->unfinished[i]);
	for (size_t i = 0; i < sn->n_hung; i++)
		hung_free(&sn->hung[i]);
	for (size_t i = 0; i < sn->n_whos; i++) {
		free(sn->whos[i].command);
		free(sn->whos[i].limit);
	}
	free(sn->whos);
	stacks_free(sn->stacks);
	free(sn->disks);
	free(sn->files);
	free(sn->unfinished);
	free(sn->hung);
	free(sn->servers);
	free(sn->helpers);
	free(sn->sites);
	free(sn->threads);
	free(sn->ops);
	free(sn->rqs);
	*sn = (struct snapshot){};
}
