// SPDX-License-Identifier: GPL-2.0-only
#include "capture/slow_op.h"

#include <stdlib.h>

#include "capture/segments.h"
#include "cell.h"

void slow_op_set_sent(struct slow_op *ret, const struct sent_slow_op *s)
{
	const struct sent_op_waited *waited = &s->op.waited;
	const struct sent_op *op = &waited->op;

	*ret = (struct slow_op){
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
	ret->total_ns = stored_op_set(&ret->op, op, waited);
	ret->has_segments = segments_unpack(&ret->segments, &ret->op, NULL, 0);
	if (s->op.segments.n && segments_add_up(&s->op.segments, ret->op.strata)) {
		ret->segments = s->op.segments;
		ret->has_segments = true;
	}
}

void slow_op_done(struct slow_op *op)
{
	free(op->requests);
	free(op->command);
	op->requests = NULL;
	op->command = NULL;
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
