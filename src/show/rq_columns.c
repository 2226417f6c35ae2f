// SPDX-License-Identifier: GPL-2.0-only
#include "show/breakdown_columns.h"

#include <stddef.h>
#include <string.h>

#include "base/hist.h"
#include "base/names.h"

static void rq_disk(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->text = r->disk;
	ret->max = sizeof(r->disk);
}

/* In the tree of --by dev what lies below is indented. */
static void rq_place(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;
	unsigned int blanks = 2 * device_tree_depth(&whole->tree, row);
	const struct rq_row *r = row;

	rq_disk(ret, row, ctx);
	if (!blanks)
		return;
	_Static_assert(sizeof(ret->buf) > 2 * TREE_DEPTH + sizeof(r->disk), "it fits");
	memset(ret->buf, ' ', blanks);
	memcpy(ret->buf + blanks, r->disk, sizeof(r->disk));
	ret->text = ret->buf;
	ret->max = sizeof(ret->buf);
}

static void rq_major(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct rq_row *)row)->major;
}

static void rq_minor(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct rq_row *)row)->minor;
}

static void rq_code(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = rq_op_code(((const struct rq_row *)row)->key.op);
}

static void rq_operation(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = rq_op_name(((const struct rq_row *)row)->key.op);
}

static void rq_key(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->text = r->by;
	ret->max = breakdown_key_len(r->by, r->contained);
}

static void rq_json_key(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct rq_row *)row)->by;
}

GETS_CONTAINER(rq)

static void rq_comm(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->text = *r->comm ? r->comm : NULL;
	ret->max = sizeof(r->comm);
}

static void rq_rate(struct value *ret, const void *row, const void *ctx)
{
	ret->n = ((const struct rq_row *)row)->count;
	ret->of = ((const struct breakdown_whole *)ctx)->duration_ns;
}

static void rq_outside(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;

	ret->n = ((const struct rq_row *)row)->outside;
	ret->unknown = !breakdown_has_ops(whole->v);
}

static void rq_tag(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->n = r->tag_ns;
	ret->unknown = r->key.bio_based;
}

static void rq_queue(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->n = r->queue_ns;
	ret->unknown = r->key.bio_based;
}

/* Mean over the requests whose submission was seen. */
static void queued_mean(struct value *ret, const struct rq_row *r, uint64_t ns)
{
	uint64_t seen = r->count > r->unqueued ? r->count - r->unqueued : 0;

	ret->unknown = r->key.bio_based || !seen;
	ret->n = seen ? ns / seen : 0;
}

static void rq_tag_mean(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	queued_mean(ret, row, ((const struct rq_row *)row)->tag_ns);
}

static void rq_queue_mean(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	queued_mean(ret, row, ((const struct rq_row *)row)->queue_ns);
}

static void rq_device_mean(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->n = r->device_ns / r->count;
}

static void rq_own_mean(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;
	enum by_key by = whole->v->by;

	ret->unknown = (by != BY_NONE && by != BY_DEV && by != BY_CACHE) ||
		       !device_tree_own(&whole->tree, row, &ret->n);
}

static void rq_p99(struct value *ret, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	ret->n = hist_percentile(&r->hist, 99, r->max_ns);
}

#define RQ_SUM(field, kind_) .kind = kind_, .at = offsetof(struct rq_row, field)

const struct column rq_columns[] = {
	{ NULL, "key", VALUE_TEXT, .get = rq_key, .cut = TEXT_CUT_MIDDLE, .optional = true },
	{ "key", NULL, VALUE_TEXT, .get = rq_json_key,
	  .help = "with --by pid, tid, comm, cgroup, container and file: who submitted them, as "
		  "text; null if that is not known" },
	{ "comm", "name", VALUE_TEXT, .get = rq_comm, .max = 15, .rank = 8, .optional = true,
	  .help = "with --by pid and tid: its name" },
	COLUMNS_CONTAINER(rq),
	{ NULL, "disk", VALUE_TEXT, .get = rq_place },
	{ "dev", NULL, VALUE_TEXT, .get = rq_disk, .help = "the disk" },
	{ "major", NULL, VALUE_ID, .get = rq_major, .help = "its device number" },
	{ "minor", NULL, VALUE_ID, .get = rq_minor, .help = "likewise" },
	{ "op", NULL, VALUE_TEXT, .get = rq_code,
	  .help = "as blkparse: R, W, F (flush), D (discard), DE (secure erase), WZ (write "
		  "zeroes), Z (zones), N (other)" },
	{ NULL, "requests", VALUE_TEXT, .get = rq_operation, .max = 8 },
	{ "count", "count", RQ_SUM(count, VALUE_COUNT), .max = 7, .help = "how many are done" },
	{ "rate", "rate", VALUE_RATE, .get = rq_rate, .max = 7, .rank = 6, .help = "per second" },
	{ "errors", NULL, RQ_SUM(errors, VALUE_COUNT), .help = "how many failed" },
	{ "bytes", "bytes", RQ_SUM(bytes, VALUE_BYTES), .max = 8, .rank = 7,
	  .help = "of them all" },
	{ "requeues", NULL, RQ_SUM(requeues, VALUE_COUNT), .help = "how often they were put back" },
	{ "unqueued", NULL, RQ_SUM(unqueued, VALUE_COUNT),
	  .help = "how many were submitted unseen: they have no time in tag and queue" },
	{ "outside", NULL, VALUE_COUNT, .get = rq_outside,
	  .help = "how many were submitted outside of any operation (writeback, the "
		  "journal ...); null where operations are not traced" },
	{ "tag_ns", NULL, VALUE_TIME, .get = rq_tag,
	  .help = "from submission to the request; null for devices without requests (device "
		  "mapper, md, zram)" },
	{ "queue_ns", NULL, VALUE_TIME, .get = rq_queue,
	  .help = "from there to the driver; likewise" },
	{ "device_ns", NULL, RQ_SUM(device_ns, VALUE_TIME), .help = "from there to completion" },
	{ "tag_mean_ns", "tag", VALUE_TIME, .get = rq_tag_mean, .max = 7, .rank = 5,
	  .help = "mean of tag_ns" },
	{ "queue_mean_ns", "queue", VALUE_TIME, .get = rq_queue_mean, .max = 7, .rank = 2,
	  .help = "mean of queue_ns" },
	{ "device_mean_ns", "device", VALUE_TIME, .get = rq_device_mean, .max = 7,
	  .help = "mean of device_ns" },
	{ "own_mean_ns", "own", VALUE_TIME, .get = rq_own_mean, .max = 7, .rank = 1,
	  .optional = true,
	  .help = "of it, without the time in the disks below; null if none of those was seen, or "
		  "they took longer, and where requests have keys" },
	{ "p99_ns", "p99", VALUE_TIME, .get = rq_p99, .max = 7, .rank = 3,
	  .help = "99 % were at most this long in the device (with -Q: in all three)" },
	{ "max_ns", "max", RQ_SUM(max_ns, VALUE_TIME), .max = 7, .rank = 4,
	  .help = "the longest, likewise" },
	{ NULL, "failed", RQ_SUM(errors, VALUE_COUNT), .max = 6, .optional = true },
	{}
};
