// SPDX-License-Identifier: GPL-2.0-only
#include "show/breakdown_columns.h"

#include <stddef.h>

#include "base/names.h"

#define KEY(row) (&((const struct helper_row *)(row))->key)

static void get_pid(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = KEY(row)->tid;
}

static void get_comm(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = KEY(row)->comm;
	ret->max = COMM_LEN;
}

static void get_work(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = KEY(row)->work;
	ret->max = COMM_LEN;
}

static void get_for_pid(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = KEY(row)->for_pid;
	ret->unknown = !KEY(row)->behalf;
}

static void get_for_comm(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = KEY(row)->for_comm;
	ret->max = COMM_LEN;
}

static void get_on_behalf(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = behalf_name(KEY(row)->behalf);
}

static void get_disk(struct value *ret, const void *row, const void *ctx)
{
	const struct helper_row *r = row;

	(void)ctx;
	ret->text = r->disk;
	ret->max = sizeof(r->disk);
}

static void get_code(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = rq_op_code(KEY(row)->op);
}

static void get_operation(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = rq_op_name(KEY(row)->op);
}

static void get_total(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = breakdown_helper_ns(row);
}

static void get_tag(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct helper_row *)row)->sums.tag_ns;
	ret->unknown = KEY(row)->bio_based;
}

static void get_queue(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct helper_row *)row)->sums.queue_ns;
	ret->unknown = KEY(row)->bio_based;
}

static void mean_of(struct value *ret, const void *row)
{
	ret->n /= ((const struct helper_row *)row)->sums.count;
}

static void get_tag_mean(struct value *ret, const void *row, const void *ctx)
{
	get_tag(ret, row, ctx);
	mean_of(ret, row);
}

static void get_queue_mean(struct value *ret, const void *row, const void *ctx)
{
	get_queue(ret, row, ctx);
	mean_of(ret, row);
}

static void get_device_mean(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct helper_row *)row)->sums.device_ns;
	mean_of(ret, row);
}

#define SUM(field, kind_) .kind = kind_, .at = offsetof(struct helper_row, sums.field)

/* In text a row is of all workers that do the same for the same process. */
#define COLUMNS_WHO                                                                                \
	{ "pid", NULL, VALUE_ID, .get = get_pid,                                                   \
	  .help = "of the helper, as the kernel numbers it" },                                     \
	{ "comm", NULL, VALUE_TEXT, .get = get_comm, .help = "its name" },                         \
	{ "work", "helper", VALUE_TEXT, .get = get_work, .max = 16,                                \
	  .help = "of a worker (kworker): the workqueue that it worked for, at most 16 bytes; "    \
		  "null: it is none, or that is not known. In text the helper's name if it is "    \
		  "null" },                                                                        \
	{ "for_comm", "for", VALUE_TEXT, .get = get_for_comm, .max = 15,                           \
	  .help = "for whom: the thread's name; null: not known" },                                \
	{ "for_pid", "pid", VALUE_ID, .get = get_for_pid,                                          \
	  .help = "and its process; null: not known" },                                            \
	{ "on_behalf", NULL, VALUE_TEXT, .get = get_on_behalf,                                     \
	  .help = "how that is known: \"writeback\", it made the data dirty; \"helper\", it woke " \
		  "the helper, or another that did; null: it is not" }

const struct column helper_columns[] = {
	COLUMNS_WHO,
	{ "dev", "disk", VALUE_TEXT, .get = get_disk, .rank = 5, .help = "the disk" },
	{ "op", NULL, VALUE_TEXT, .get = get_code, .help = "as of requests" },
	{ NULL, "requests", VALUE_TEXT, .get = get_operation, .max = 8 },
	{ "count", "count", SUM(count, VALUE_COUNT), .max = 7, .help = "how many are done" },
	{ "errors", NULL, SUM(errors, VALUE_COUNT), .help = "how many failed" },
	{ "bytes", "bytes", SUM(bytes, VALUE_BYTES), .max = 8, .help = "of them all" },
	{ "total_ns", NULL, VALUE_TIME, .get = get_total, .help = "the sum of the next three" },
	{ "tag_ns", NULL, VALUE_TIME, .get = get_tag, .help = "as of requests" },
	{ "queue_ns", NULL, VALUE_TIME, .get = get_queue, .help = "likewise" },
	{ "device_ns", NULL, SUM(device_ns, VALUE_TIME), .help = "likewise" },
	{ NULL, "tag", VALUE_TIME, .get = get_tag_mean, .max = 7, .rank = 7 },
	{ NULL, "queue", VALUE_TIME, .get = get_queue_mean, .max = 7, .rank = 6 },
	{ NULL, "device", VALUE_TIME, .get = get_device_mean, .max = 7 },
	{}
};

const struct column helper_time_columns[] = {
	COLUMNS_WHO,
	{ "cpu_ns", "on CPU", SUM(cpu_ns, VALUE_TIME), .max = 7,
	  .help = "it was on the CPU, up to the last time that it left it" },
	{ "runq_ns", "run queue", SUM(runq_ns, VALUE_TIME), .max = 9,
	  .help = "it waited for the CPU before that" },
	{ "waited_ns", "requests", SUM(waited_ns, VALUE_TIME), .max = 8,
	  .help = "it was asleep until a request was done" },
	{}
};
