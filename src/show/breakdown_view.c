// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown_view.c - chooses and orders the rows of a snapshot; see breakdown_view.h.
 */
#include "breakdown_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"

static bool op_shown(const struct breakdown_view *v, const struct op_row *r)
{
	if (v->layer == LAYER_BLK || !r->count)
		return false;
	return !v->fs_filter || !strncmp(r->fs, v->fs_filter, sizeof(r->fs));
}

static int by_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Biggest total first; equal ones by key, so that the order is the same in every run. */
static int op_order(const void *a, const void *b)
{
	const struct op_row *x = *(const struct op_row *const *)a;
	const struct op_row *y = *(const struct op_row *const *)b;
	int order = by_u64(y->total_ns, x->total_ns);

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

static uint64_t rq_whole(const struct rq_row *r)
{
	return r->tag_ns + r->queue_ns + r->device_ns;
}

static int rq_order(const void *a, const void *b)
{
	const struct rq_row *x = *(const struct rq_row *const *)a;
	const struct rq_row *y = *(const struct rq_row *const *)b;
	int order = by_u64(rq_whole(y), rq_whole(x));

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

int breakdown_rows_init(struct breakdown_rows *r, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	*r = (struct breakdown_rows){
		.ops = calloc(sn->n_ops + 1, sizeof(*r->ops)),
		.rqs = calloc(sn->n_rqs + 1, sizeof(*r->rqs)),
	};
	if (!r->ops || !r->rqs) {
		breakdown_rows_done(r);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (op_shown(v, &sn->ops[i]))
			r->ops[r->n_ops++] = &sn->ops[i];
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		if (sn->rqs[i].count)
			r->rqs[r->n_rqs++] = &sn->rqs[i];
	}
	qsort(r->ops, r->n_ops, sizeof(*r->ops), op_order);
	qsort(r->rqs, r->n_rqs, sizeof(*r->rqs), rq_order);
	return 0;
}

void breakdown_rows_done(struct breakdown_rows *r)
{
	free(r->ops);
	free(r->rqs);
	*r = (struct breakdown_rows){};
}

const char *breakdown_fs_name(const struct snapshot *sn, unsigned long long fs)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (fs && sn->ops[i].key.fs == fs)
			return sn->ops[i].fs;
	}
	return "";
}

unsigned int breakdown_untold(const struct snapshot *sn, const struct op_record *r)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (sn->ops[i].key.fs == r->fs && sn->ops[i].key.op == r->kind)
			return sn->ops[i].untold;
	}
	return 0;
}

char *breakdown_record_path(const struct breakdown_view *v, const struct op_record *r)
{
	struct path_file f = { r->dev, r->fs == FS_BDEV, r->ino, &r->file };

	return r->ino ? path_full(v->mounts, &f) : NULL;
}

uint64_t breakdown_rq_total(const struct breakdown_view *v, const struct rq_row *r)
{
	return v->queued ? rq_whole(r) : r->device_ns;
}

uint64_t breakdown_hist_high(unsigned int b, uint64_t max_ns)
{
	uint64_t high = hist_low(b + 1) - 1;

	return b == HIST_N - 1 && max_ns > high ? max_ns : high;
}

const char *breakdown_call_name(const struct breakdown_view *v, unsigned short call,
				char buf[16])
{
	const char *name = v->call_name ? v->call_name(call) : NULL;

	if (name)
		return name;
	snprintf(buf, 16, "call %u", call);
	return buf;
}
