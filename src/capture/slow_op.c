// SPDX-License-Identifier: GPL-2.0-only
#include "capture/slow_op.h"

#include <stdlib.h>
#include <string.h>

#include "capture/segments.h"
#include "capture/stored.h"
#include "host/path.h"

void slow_op_set_sent(struct slow_op *ret, const struct sent_slow_op *s)
{
	const struct sent_op_waited *waited = &s->op.waited;
	const struct sent_op *op = &waited->op;

	*ret = (struct slow_op){
		.kind = op->kind,
		.call = op->call,
		.cache = op->cache,
		.start_ns = op->start_ns,
		.offset = op->offset,
		.len = sent_op_len(op, waited),
		.ret = op->ret,
		.n_requests = op->requests,
		.device_bytes = waited->device_bytes,
		.copied_up = waited->copied_up,
		.fs = s->fs,
		.who = op->who,
		.dev = FILE_KEY_DEV(op->file.key),
		.disk = s->disk,
		.ino = op->file.ino,
		.file = s->file,
		.lock_ns = s->lock_ns,
		.lock_holder = s->lock_holder,
		.slept_ns = s->slept_ns,
		.woken_by = s->woken_by,
		.helper = s->op.helper,
	};
	ret->by = s->op.by;
	ret->by.thread.who = sent_by_who(&s->op.by, op->start_ns, op->ret);
	path_split(&ret->file);
	for (int i = 0; i < ST_N; i++) {
		ret->strata[i] = i < SENT_ON_CPU ? op->on_cpu[i] : waited->waits[i - SENT_ON_CPU];
		ret->total_ns += ret->strata[i];
	}
	ret->has_segments = segments_unpack(&ret->segments, ret->strata, NULL, 0);
	if (s->op.segments.n && segments_add_up(&s->op.segments, ret->strata)) {
		ret->segments = s->op.segments;
		ret->has_segments = true;
	}
}

void slow_op_set_stored(struct slow_op *ret, const struct stored_op *s)
{
	*ret = (struct slow_op){
		.kind = s->kind,
		.call = s->call,
		.cache = s->cache,
		.start_ns = s->start_ns,
		.offset = s->offset,
		.len = s->len,
		.ret = s->ret,
		.n_requests = s->requests,
		.device_bytes = s->device_bytes,
		.copied_up = s->copied_up,
		.total_ns = stored_op_total(s),
	};
	memcpy(ret->strata, s->strata, sizeof(ret->strata));
}

void slow_op_done(struct slow_op *op)
{
	free(op->requests);
	free(op->command);
	free(op->by_command);
	free(op->by_limit);
	op->requests = NULL;
	op->command = op->by_command = op->by_limit = NULL;
}

struct slow_op *slowest_place(struct slow_op *list, size_t *n, size_t max, uint64_t total_ns)
{
	size_t i;

	if (*n == max && total_ns <= list[max - 1].total_ns)
		return NULL;
	if (*n < max)
		++*n;
	else
		slow_op_done(&list[max - 1]);
	for (i = *n - 1; i > 0 && list[i - 1].total_ns < total_ns; i--)
		list[i] = list[i - 1];
	return &list[i];
}
