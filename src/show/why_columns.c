// SPDX-License-Identifier: GPL-2.0-only
#include "show/breakdown_columns.h"

#include <stddef.h>

#include "base/names.h"

static void get_op(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = op_name(((const struct why_row *)row)->key.op);
}

static void get_fs(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct why_row *)row)->fs;
	ret->max = FS_NAME_LEN;
}

static void get_symbol(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct why_row *)row)->symbol;
}

static void get_what(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct why_row *)row)->what;
}

static void get_mean(struct value *ret, const void *row, const void *ctx)
{
	const struct why_sums *s = &((const struct why_row *)row)->sums;

	(void)ctx;
	ret->n = s->total_ns / s->count;
}

#define SUM(field, kind_) .kind = kind_, .at = offsetof(struct why_row, sums.field)

const struct column why_columns[] = {
	{ "op", "operation", VALUE_TEXT, .get = get_op, .max = 10, .help = "the operation" },
	{ "fs", "fs", VALUE_TEXT, .get = get_fs, .max = 15, .rank = 1,
	  .help = "file system type; null: not known yet when it slept" },
	{ "symbol", "where", VALUE_TEXT, .get = get_symbol, .cut = TEXT_CUT_TAIL,
	  .help = "the kernel's function: the first that is not of the scheduler or of a lock; "
		  "null: not known" },
	{ "what", "for", VALUE_TEXT, .get = get_what,
	  .help = "what is waited for there; null: iostrata does not know the function" },
	{ "count", "count", SUM(count, VALUE_COUNT), .max = 7, .help = "how many sleeps" },
	{ "total_ns", "total", SUM(total_ns, VALUE_TIME), .max = 7,
	  .help = "how long, as far as it is in the stratum sleep" },
	{ NULL, "mean", VALUE_TIME, .get = get_mean, .max = 7, .rank = 3 },
	{ "max_ns", "max", SUM(max_ns, VALUE_TIME), .max = 7, .rank = 2, .help = "the longest" },
	{}
};
