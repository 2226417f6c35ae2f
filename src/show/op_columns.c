// SPDX-License-Identifier: GPL-2.0-only
#include "show/breakdown_columns.h"

#include <stddef.h>
#include <string.h>

#include "base/hist.h"
#include "base/names.h"
#include "show/shares.h"

enum { BAR_COLUMNS = 13 };

static void op_key(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;
	const struct op_row *r = row;

	ret->text = r->by ? r->by : whole->v->by == BY_CACHE ? cache_name(r->key.cache) : NULL;
	if (r->by)
		ret->max = breakdown_key_len(r->by, r->contained);
}

static void op_json_key(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct op_row *)row)->by;
}

GETS_CONTAINER(op)

static void op_operation(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;
	int others = r->kinds ? __builtin_popcount(r->kinds) - 1 : 0;
	const struct breakdown_whole *whole = ctx;

	if (others)
		snprintf(ret->buf, sizeof(ret->buf), "%s +%d", op_name(r->key.op), others);
	else
		ret->text = breakdown_op_name(whole->v, r, ret->buf);
}

static void op_kind(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = op_name(((const struct op_row *)row)->key.op);
}

static void op_fs(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct op_row *)row)->fs;
	ret->max = FS_NAME_LEN;
}

static void op_cache(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->text = r->key.cache == CACHE_NONE ? NULL : cache_name(r->key.cache);
}

static void op_comm(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->text = *r->comm ? r->comm : NULL;
	ret->max = sizeof(r->comm);
}

static void op_rate(struct value *ret, const void *row, const void *ctx)
{
	ret->n = ((const struct op_row *)row)->count;
	ret->of = ((const struct breakdown_whole *)ctx)->duration_ns;
}

static void op_mean(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->n = r->total_ns / r->count;
}

static void op_p50(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->n = hist_percentile(&r->hist, 50, r->max_ns);
}

static void op_p90(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->n = hist_percentile(&r->hist, 90, r->max_ns);
}

static void op_p99(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->n = hist_percentile(&r->hist, 99, r->max_ns);
}

static void op_p999(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	ret->n = hist_percentile(&r->hist, 99.9, r->max_ns);
}

static void op_io_share(struct value *ret, const void *row, const void *ctx)
{
	ret->n = ((const struct op_row *)row)->total_ns;
	ret->of = ((const struct breakdown_whole *)ctx)->io_ns;
}

/* Whether any of the strata in @set was measured. */
static bool any_measured(const struct breakdown_view *v, unsigned int set)
{
	for (int i = 0; i < ST_N; i++)
		if (set & 1u << i && (!v->missing || !v->missing->stratum[i]))
			return true;
	return false;
}

static void share_value(struct value *ret, const struct op_row *r, const void *ctx, enum share s)
{
	const struct breakdown_whole *whole = ctx;

	ret->n = share_ns(s, r->strata);
	ret->of = any_measured(whole->v, share_strata(s)) ? r->total_ns : 0;
}

static void op_cpu(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_CPU);
}

static void op_device(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_DEVICE);
}

static void op_queue(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_QUEUE);
}

static void op_runq(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_RUNQ);
}

static void op_helper(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_HELPER);
}

static void op_lock(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_LOCK);
}

static void op_other(struct value *ret, const void *row, const void *ctx)
{
	share_value(ret, row, ctx, SHARE_OTHER);
}

/* A letter for each thirteenth of the time, the biggest share first. */
static void op_bar(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;
	uint64_t before = 0;
	int at = 0;

	(void)ctx;
	for (enum share s = share_next(r->strata, SHARE_N); s < SHARE_N && r->total_ns;
	     s = share_next(r->strata, s)) {
		int end;

		before += share_ns(s, r->strata);
		end = (double)before * BAR_COLUMNS / r->total_ns + 0.5;
		while (at < end && at < BAR_COLUMNS)
			ret->buf[at++] = share_letter(s);
	}
}

static void op_device_bytes(struct value *ret, const void *row, const void *ctx)
{
	ret->unknown = !breakdown_has_device_bytes(((const struct breakdown_whole *)ctx)->v);
	ret->n = ((const struct op_row *)row)->device_bytes;
}

static void op_amplification(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;
	const struct op_row *r = row;

	ret->n = r->device_bytes;
	ret->of = breakdown_row_reads(whole->v, r) ? r->bytes : 0;
}

/* Where it says more than what a read is: all of it was cached, or came from the device. */
static void op_from_device(struct value *ret, const void *row, const void *ctx)
{
	op_amplification(ret, row, ctx);
	ret->unknown = !ret->n || ret->n == ret->of;
	ret->n = ret->unknown ? 0 : ret->n;
}

#define OP_SUM(field, kind_) .kind = kind_, .at = offsetof(struct op_row, field)

const struct column op_columns[] = {
	{ NULL, "key", VALUE_TEXT, .get = op_key, .cut = TEXT_CUT_MIDDLE, .optional = true },
	{ "comm", "name", VALUE_TEXT, .get = op_comm, .max = 15, .rank = 7, .optional = true,
	  .help = "with --by pid and tid: its name; null: not known" },
	COLUMNS_CONTAINER(op),
	{ NULL, "operation", VALUE_TEXT, .get = op_operation, .max = 16 },
	{ "op", NULL, VALUE_TEXT, .get = op_kind,
	  .help = "the operation; those of io_uring and libaio have a member call, too: the "
		  "request's opcode" },
	{ "fs", "fs", VALUE_TEXT, .get = op_fs, .max = 9, .rank = 3,
	  .help = "type of its file system; null: not known" },
	{ "cache", NULL, VALUE_TEXT, .get = op_cache,
	  .help = "with --by cache: hit, miss (it waited for its own read), readahead (it waited "
		  "for a read that somebody else had begun) or direct (O_DIRECT); null: no "
		  "read, write or page fault" },
	{ "key", NULL, VALUE_TEXT, .get = op_json_key,
	  .help = "what --by asks for, as text; null without" },
	{ "count", "count", OP_SUM(count, VALUE_COUNT), .max = 7, .help = "how many ended" },
	{ "rate", "rate", VALUE_RATE, .get = op_rate, .max = 7, .rank = 17, .help = "per second" },
	{ "errors", "failed", OP_SUM(errors, VALUE_COUNT), .max = 6, .rank = 6, .optional = true,
	  .help = "how many of them failed" },
	{ "bytes", "bytes", OP_SUM(bytes, VALUE_BYTES), .max = 8, .rank = 14,
	  .help = "bytes read or written" },
	{ "device_bytes", NULL, VALUE_BYTES, .get = op_device_bytes,
	  .help = "bytes read from devices by bios of these operations, what they read ahead "
		  "included; null if that is not known" },
	{ "amplification", NULL, VALUE_SHARE, .get = op_amplification,
	  .help = "of reads: device_bytes by bytes. 0: all was cached, or others had begun to "
		  "read it; above 1: more was read than was asked for; null: no bytes" },
	{ NULL, "read in", VALUE_SHARE, .get = op_from_device, .max = 7, .rank = 15,
	  .optional = true },
	{ "mean_ns", "mean", VALUE_TIME, .get = op_mean, .max = 7, .rank = 9,
	  .help = "mean time" },
	{ "p50_ns", "p50", VALUE_TIME, .get = op_p50, .max = 7, .rank = 18,
	  .help = "half took at most this long" },
	{ "p90_ns", NULL, VALUE_TIME, .get = op_p90, .help = "90 % took at most this long" },
	{ "p99_ns", "p99", VALUE_TIME, .get = op_p99, .max = 7, .rank = 12,
	  .help = "99 % took at most this long" },
	{ "p999_ns", "p99.9", VALUE_TIME, .get = op_p999, .max = 7, .rank = 19,
	  .help = "99.9 % took at most this long" },
	{ "max_ns", "max", OP_SUM(max_ns, VALUE_TIME), .max = 7, .rank = 13,
	  .help = "the longest" },
	{ "total_ns", "total", OP_SUM(total_ns, VALUE_TIME), .max = 7,
	  .help = "all of them together" },
	{ "io_share", "I/O", VALUE_SHARE, .get = op_io_share, .max = 4, .rank = 8,
	  .help = "their share of the time of all operations that are shown" },
	{ NULL, "cpu", VALUE_SHARE, .get = op_cpu, .max = 4, .rank = 20 },
	{ NULL, "queue", VALUE_SHARE, .get = op_queue, .max = 5, .rank = 20 },
	{ NULL, "device", VALUE_SHARE, .get = op_device, .max = 6, .rank = 20 },
	{ NULL, "run queue", VALUE_SHARE, .get = op_runq, .max = 9, .rank = 20 },
	{ NULL, "kernel thread", VALUE_SHARE, .get = op_helper, .max = 13, .rank = 20 },
	{ NULL, "lock", VALUE_SHARE, .get = op_lock, .max = 4, .rank = 20 },
	{ NULL, "other", VALUE_SHARE, .get = op_other, .max = 5, .rank = 20 },
	{ NULL, "where it went", VALUE_TEXT, .get = op_bar, .max = BAR_COLUMNS, .rank = 11,
	  .optional = true },
	{}
};

const struct column minor_columns[] = {
	{ "comm", NULL, VALUE_TEXT, .get = op_comm, .help = "as of operations" },
	{ "container", NULL, VALUE_TEXT, .get = op_container, .help = "likewise" },
	{ "runtime", NULL, VALUE_TEXT, .get = op_runtime, .help = "likewise" },
	{ "pod", NULL, VALUE_TEXT, .get = op_pod, .help = "likewise" },
	{ "fs", NULL, VALUE_TEXT, .get = op_fs, .help = "type of the file system" },
	{ "key", NULL, VALUE_TEXT, .get = op_json_key,
	  .help = "what --by asks for, as text; null without, and with cache" },
	{ "count", NULL, OP_SUM(count, VALUE_COUNT),
	  .help = "how many page faults found their page and did not wait" },
	{}
};
