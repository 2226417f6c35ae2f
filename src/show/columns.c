// SPDX-License-Identifier: GPL-2.0-only
/* columns.c - the columns of all tables of breakdown. One file: the tables share their figures and
 * their words. */
#include "show/columns.h"

#include <stddef.h>
#include <string.h>

#include "base/hist.h"
#include "base/names.h"
#include "base/protocols.h"
#include "host/container.h"
#include "host/processes.h"
#include "show/view_parts.h"

enum { BAR_COLUMNS = 13 };

static const struct breakdown_whole *whole_of(const void *ctx)
{
	return ctx;
}

/* The columns of a row's container; @of: op, rq. */
#define GET_CONTAINER(of, name, what)                                                              \
	GETTER(of##_##name, of##_row,                                                              \
	       const struct container *c = container_of_row(r->by, r->contained);                  \
	       v->text = c ? (what) : NULL)

#define GETS_CONTAINER(of)                                                                         \
	GET_CONTAINER(of, container, c->id)                                                        \
	GET_CONTAINER(of, container_name, *c->title ? c->title : NULL)                             \
	GET_CONTAINER(of, runtime, c->runtime)                                                     \
	GET_CONTAINER(of, pod, *c->pod ? c->pod : NULL)

#define COLUMNS_CONTAINER(of)                                                                      \
	{ "container",                                                                             \
	  NULL,                                                                                    \
	  VALUE_TEXT,                                                                              \
	  .get = of##_container,                                                                   \
	  .help = "with --by container: id or name of the container",                              \
	  .null = "outside of containers, or not known" },                                         \
		{ "container_name",                                                                \
		  NULL,                                                                            \
		  VALUE_TEXT,                                                                      \
		  .get = of##_container_name,                                                      \
		  .help = "with --by container: name of the container when it was traced, of a "   \
			  "pod's with namespace and pod before: shop/web-1/nginx",                 \
		  .null = "outside of containers, or not known" },                                 \
		{ "runtime",                                                                       \
		  "runtime",                                                                       \
		  VALUE_TEXT,                                                                      \
		  .get = of##_runtime,                                                             \
		  .max = 10,                                                                       \
		  .rank = 16,                                                                      \
		  .optional = true,                                                                \
		  .help = "with --by container: runtime of the container: docker, containerd, "    \
			  "cri-o, podman, lxc or systemd",                                         \
		  .null = "the cgroup's path does not tell",                                       \
		  .json.words = &runtime_words },                                                  \
	{                                                                                          \
		"pod", "pod", VALUE_TEXT,                                                          \
			.get = of##_pod, .max = 36, .rank = 21, .optional = true,                  \
			.help = "with --by container: id of the pod of the container",             \
			.null = "in no pod, or not known", .json.ascii = true                      \
	}

/* The figures of a row's pattern. */

static void size_mean(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.bytes / p->access.count;
}

static void size_p50(struct value *ret, const struct access_pattern *p)
{
	ret->n = access_pattern_median(p);
}

static void size_max(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.max_bytes;
}

static void pattern_count(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.count;
}

static void sequential(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.sequential;
	ret->of = p->access.count;
}

static void strided(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.strided;
	ret->of = p->access.count;
}

static void random_share(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.count - p->access.sequential - p->access.strided;
	ret->of = p->access.count;
}

static void seek_mean(struct value *ret, const struct access_pattern *p)
{
	ret->n = p->access.count > 1 ? p->access.distance / (p->access.count - 1) : 0;
	ret->unknown = p->access.count < 2;
}

static void pattern_value(struct value *v, const struct access_pattern *p,
			  void (*set)(struct value *v, const struct access_pattern *p))
{
	v->unknown = !p;
	if (p)
		set(v, p);
}

/* The columns of a row's pattern; @of: op, rq. */
#define GET_PATTERN(of, name) GETTER(of##_##name, of##_row, pattern_value(v, r->pattern, name))

#define GETS_PATTERN(of)                                                                           \
	GET_PATTERN(of, size_mean)                                                                 \
	GET_PATTERN(of, size_p50)                                                                  \
	GET_PATTERN(of, size_max)                                                                  \
	GET_PATTERN(of, pattern_count)                                                             \
	GET_PATTERN(of, sequential)                                                                \
	GET_PATTERN(of, strided)                                                                   \
	GET_PATTERN(of, random_share)                                                              \
	GET_PATTERN(of, seek_mean)

GETS_PATTERN(op)
GETS_PATTERN(rq)

#define COLUMNS_PATTERN(of)                                                                        \
	{ "count",                                                                                 \
	  "count",                                                                                 \
	  VALUE_COUNT,                                                                             \
	  .get = of##_pattern_count,                                                               \
	  .max = 7,                                                                                \
	  .rank = 5,                                                                               \
	  .help = "number of reads or writes in the row with a known offset; the other figures "   \
		  "count only these",                                                              \
	  .json.least = 1 },                                                                       \
		{ "size_mean_bytes",     "size",   VALUE_BYTES,                                    \
		  .get = of##_size_mean, .max = 8, .help = "mean size" },                          \
		{ "size_p50_bytes",                                                                \
		  "p50",                                                                           \
		  VALUE_BYTES,                                                                     \
		  .get = of##_size_p50,                                                            \
		  .max = 8,                                                                        \
		  .rank = 3,                                                                       \
		  .help = "half of the sizes are at most this: exact for up to 8 sizes, "          \
			  "else within 1.6 %" },                                                   \
		{ "size_max_bytes",          "max",    VALUE_BYTES,                                \
		  .get = of##_size_max,      .max = 8, .rank = 4,                                  \
		  .help = "the largest size" },                                                    \
		{ "sequential",                                                                    \
		  "sequential",                                                                    \
		  VALUE_SHARE,                                                                     \
		  .get = of##_sequential,                                                          \
		  .max = 10,                                                                       \
		  .help = "share that begins where one of the last eight ended; the first one: "   \
			  "at 0" },                                                                \
		{ "strided",                                                                       \
		  "strided",                                                                       \
		  VALUE_SHARE,                                                                     \
		  .get = of##_strided,                                                             \
		  .max = 7,                                                                        \
		  .rank = 2,                                                                       \
		  .help = "share that was as far from the last one as the last one was from the "  \
			  "one before" },                                                          \
		{ "random",                                                                        \
		  "random",                                                                        \
		  VALUE_SHARE,                                                                     \
		  .get = of##_random_share,                                                        \
		  .max = 6,                                                                        \
		  .rank = 1,                                                                       \
		  .help = "share of all others" },                                                 \
	{                                                                                          \
		"seek_mean_bytes", "seek", VALUE_BYTES,                                            \
			.get = of##_seek_mean, .max = 8, .rank = 2,                                \
			.help = "mean distance from the end of the last one",                      \
			.null = "there is only one"                                                \
	}

static void set_key(struct value *ret, const char *by, bool contained)
{
	ret->text = breakdown_key(by, contained, &ret->max);
}

static void op_key(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;
	const struct op_row *r = row;

	if (r->by)
		set_key(ret, r->by, r->contained);
	else
		ret->text = whole->v->by == BY_CACHE ? cache_name(r->key.cache) : NULL;
}

GETTER(op_json_key, op_row, v->text = r->by)

GETS_CONTAINER(op)

static void op_operation(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;
	int others = r->kinds ? __builtin_popcount(r->kinds) - 1 : 0;
	const struct breakdown_whole *whole = ctx;

	if (others)
		snprintf(ret->buf, sizeof(ret->buf), "%s +%d kind%s", op_name(r->key.op), others,
			 text_plural(others));
	else
		ret->text = breakdown_op_name(whole->v, r, ret->buf);
}

/* The number of files made one after another at the path of the row, if there are several. */
static void op_files(struct value *ret, const void *row, const void *ctx)
{
	const struct snapshot *sn = ((const struct breakdown_whole *)ctx)->sn;
	size_t n;

	ret->unknown = !sn || !snapshot_files(sn, ((const struct op_row *)row)->key.by, &n);
	ret->n = ret->unknown ? 0 : n;
}

GETTER(op_kind, op_row, v->text = op_name(r->key.op))
GETTER(op_fs, op_row, value_text(v, r->fs, FS_NAME_LEN))
GETTER(op_cache, op_row, v->text = cache_known(r->key.cache))
GETTER(op_comm, op_row, value_text(v, *r->comm ? r->comm : NULL, sizeof(r->comm)))

void columns_op_name(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	op_comm(ret, row, ctx);
	if (r->command) {
		ret->text = r->command;
		ret->max = SIZE_MAX;
	}
}

/* A command line without the directory of its program, for which there is no room. */
static void op_name_short(struct value *ret, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	columns_op_name(ret, row, ctx);
	if (r->command)
		ret->text = process_command_short(r->command);
}

GETTER(op_title, op_row,
       value_text(v, r->command &&process_is_titled(r->command) ? r->command : NULL,
		  PROCESS_TITLE - 1))
GETTER(op_command, op_row, v->text = r->command)
GETTER(op_rate, op_row, v->n = r->count, v->of = whole_of(ctx)->duration_ns)

/* Whether the times of @r are in another row: those of a copy are in the row of the file read. */
static bool is_untimed(const struct op_row *r)
{
	return r->key.op == OP_COPY_TO;
}

static void time_value(struct value *v, const struct op_row *r, uint64_t ns)
{
	value_number(v, ns, !is_untimed(r));
}

GETTER(op_mean, op_row, time_value(v, r, r->count ? r->total_ns / r->count : 0))
GETTER(op_max, op_row, time_value(v, r, r->max_ns))
GETTER(op_total, op_row, time_value(v, r, r->total_ns))
GETTER(op_p50, op_row, time_value(v, r, hist_percentile(&r->hist, 50, r->max_ns)))
GETTER(op_p90, op_row, time_value(v, r, hist_percentile(&r->hist, 90, r->max_ns)))
GETTER(op_p99, op_row, time_value(v, r, hist_percentile(&r->hist, 99, r->max_ns)))
GETTER(op_p999, op_row, time_value(v, r, hist_percentile(&r->hist, 99.9, r->max_ns)))
GETTER(op_thread, op_row, time_value(v, r, breakdown_thread_ns(r)))

static void op_thread_share(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;

	ret->unknown = is_untimed(row);
	ret->n = breakdown_counted_ns(whole, row);
	ret->of = ret->n || !((const struct op_row *)row)->total_ns ? whole->thread_ns : 0;
}

GETTER(op_io_share, op_row, time_value(v, r, r->total_ns), v->of = whole_of(ctx)->io_ns)

/* Whether at least one stratum of @set was measured. */
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

GETTER(op_cpu, op_row, share_value(v, r, ctx, SHARE_CPU))
GETTER(op_device, op_row, share_value(v, r, ctx, SHARE_DEVICE))
GETTER(op_queue, op_row, share_value(v, r, ctx, SHARE_QUEUE))
GETTER(op_runq, op_row, share_value(v, r, ctx, SHARE_RUNQ))
GETTER(op_helper, op_row, share_value(v, r, ctx, SHARE_HELPER))
GETTER(op_lock, op_row, share_value(v, r, ctx, SHARE_LOCK))
GETTER(op_server, op_row, share_value(v, r, ctx, SHARE_SERVER))
GETTER(op_other, op_row, share_value(v, r, ctx, SHARE_OTHER))

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
	ret->buf[at] = '\0';
}

GETTER(op_device_bytes, op_row,
       value_number(v, r->device_bytes, breakdown_fs_has_device_bytes(whole_of(ctx)->v, r->fs)))

GETTER(op_amplification, op_row, v->n = r->device_bytes,
       v->of = breakdown_row_reads(whole_of(ctx)->v, r) ? r->bytes : 0)

/* The amplification, but only where part of the bytes came from the device. */
static void op_from_device(struct value *ret, const void *row, const void *ctx)
{
	op_amplification(ret, row, ctx);
	ret->unknown = !ret->n || ret->n == ret->of;
	ret->n = ret->unknown ? 0 : ret->n;
}

#define OP_SUM(field, kind_) .kind = kind_, .at = offsetof(struct op_row, field)

const struct column op_columns[] = {
	{ NULL, "key", VALUE_TEXT, .get = op_key, .cut = TEXT_CUT_MIDDLE, .optional = true,
	  .help = "key of --by" },
	{ "comm", NULL, VALUE_TEXT, .get = op_comm,
	  .help = "with --by pid and tid: name of the process or thread", .null = "not known" },
	{ "title", NULL, VALUE_TEXT, .get = op_title,
	  .help = "with --by pid: title that the process gave itself (postgres: checkpointer)",
	  .null = "none" },
	{ "command", NULL, VALUE_TEXT, .get = op_command,
	  .help = "with --by pid: command line of the process, each argument as a shell takes it; "
		  "after 1,024 bytes, ... follows",
	  .null = "the process ended before it was looked up, or has none, or a page leaves it "
		  "out" },
	{ NULL, "name", VALUE_TEXT, .get = op_name_short, .max = 24, .rank = 7, .optional = true,
	  .cut = TEXT_CUT_MIDDLE,
	  .help = "title of the process, or else its command line (whole with -v), or else the "
		  "name of the process or thread" },
	COLUMNS_CONTAINER(op),
	{ NULL, "operation", VALUE_TEXT, .get = op_operation, .max = 16,
	  .help = "kind of the operation" },
	{ "op", NULL, VALUE_TEXT, .get = op_kind,
	  .help = "kind of the operation; copy_to: the file or disk to which copies wrote, with "
		  "their bytes, while their times are in the row of what they read",
	  .json.words = &row_words },
	{ "fs", "fs", VALUE_TEXT, .get = op_fs, .max = 9, .rank = 3,
	  .help = "type of the file system; bdev: a block device itself", .null = "not known" },
	{ "cache", NULL, VALUE_TEXT, .get = op_cache,
	  .help = "with --by cache: hit, hit_ahead (a hit on a page from readahead), miss (it "
		  "waited for its own read), readahead (it waited for the read of another "
		  "thread) or direct (O_DIRECT)",
	  .null = "without --by cache, or no read, write or page fault, or not known",
	  .json.words = &cache_words },
	{ "key", NULL, VALUE_TEXT, .get = op_json_key, .help = "value of the key of --by, as text",
	  .null = "without --by, or not known" },
	{ "count", "count", OP_SUM(count, VALUE_COUNT), .max = 7,
	  .help = "number of finished operations", .json.least = 1 },
	{ "rate", "rate", VALUE_RATE, .get = op_rate, .max = 7, .rank = 17,
	  .help = "operations per second", .null = "the interval has no length" },
	{ NULL, "files", VALUE_COUNT, .get = op_files, .max = 6, .rank = 17, .optional = true,
	  .help = "with --by file: number of files made one after another at this path, if there "
		  "are several" },
	{ "errors", "failed", OP_SUM(errors, VALUE_COUNT), .max = 6, .rank = 6, .optional = true,
	  .help = "number of failed operations" },
	{ "bytes", "bytes", OP_SUM(bytes, VALUE_BYTES), .max = 8, .rank = 14,
	  .help = "bytes read or written" },
	{ "device_bytes", NULL, VALUE_BYTES, .get = op_device_bytes,
	  .help = "bytes that these operations read from devices, readahead included",
	  .null = "not known, as on NFS and FUSE" },
	{ "amplification", NULL, VALUE_SHARE, .get = op_amplification,
	  .help = "for reads: device_bytes divided by bytes; 0: all bytes were cached, or another "
		  "thread had begun to read them; above 1: more was read than asked for",
	  .null = "no reads, or no bytes, or not known" },
	{ NULL, "read in", VALUE_SHARE, .get = op_from_device, .max = 7, .rank = 15,
	  .optional = true,
	  .help = "bytes read from devices divided by bytes returned, if it is neither 0 nor 1" },
	{ "mean_ns", "mean", VALUE_TIME, .get = op_mean, .max = 7, .rank = 9,
	  .help = "mean time of an operation", .null = "of copy_to" },
	{ "p50_ns", "p50", VALUE_TIME, .get = op_p50, .max = 7, .rank = 18,
	  .help = "half of the operations took at most this long, within 3.2 %",
	  .null = "of copy_to" },
	{ "p90_ns", NULL, VALUE_TIME, .get = op_p90,
	  .help = "90 % of the operations took at most this long, within 3.2 %",
	  .null = "of copy_to" },
	{ "p99_ns", "p99", VALUE_TIME, .get = op_p99, .max = 7, .rank = 12,
	  .help = "99 % of the operations took at most this long, within 3.2 %",
	  .null = "of copy_to" },
	{ "p999_ns", "p99.9", VALUE_TIME, .get = op_p999, .max = 7, .rank = 19,
	  .help = "99.9 % of the operations took at most this long, within 3.2 %",
	  .null = "of copy_to" },
	{ "max_ns", "max", VALUE_TIME, .get = op_max, .max = 7, .rank = 13,
	  .help = "time of the longest operation", .null = "of copy_to" },
	{ "total_ns", "total", VALUE_TIME, .get = op_total, .max = 7,
	  .help = "time of all operations together", .null = "of copy_to" },
	{ "io_share", NULL, VALUE_SHARE, .get = op_io_share,
	  .help = "total_ns divided by the time of all operations shown",
	  .null = "of copy_to, or all took no time" },
	{ "thread_ns", NULL, VALUE_TIME, .get = op_thread,
	  .help = "the part of total_ns in which threads ran or were blocked; for requests of "
		  "io_uring and libaio, only their time on the CPU",
	  .null = "of copy_to" },
	{ "thread_share", "I/O", VALUE_SHARE, .get = op_thread_share, .max = 4, .rank = 8,
	  .help = "share of the time in which threads ran or were blocked in operations; none on "
		  "proc, sysfs and similar file systems, unless --fs asks for them",
	  .null = "of copy_to, on such a file system, or all took no time" },
	{ NULL, "cpu", VALUE_SHARE, .get = op_cpu, .max = 4, .rank = 20,
	  .help = "share of the strata syscall, vfs and fs; only on long lines" },
	{ NULL, "queue", VALUE_SHARE, .get = op_queue, .max = 5, .rank = 20,
	  .help = "share of the strata tag and queue" },
	{ NULL, "device", VALUE_SHARE, .get = op_device, .max = 6, .rank = 20,
	  .help = "share of the stratum device" },
	{ NULL, "waiting for a CPU", VALUE_SHARE, .get = op_runq, .max = 17, .rank = 20,
	  .was = "run queue", .help = "share of the strata run queue and preempted" },
	{ NULL, "kernel thread", VALUE_SHARE, .get = op_helper, .max = 13, .rank = 20,
	  .help = "share of the stratum kernel thread" },
	{ NULL, "lock", VALUE_SHARE, .get = op_lock, .max = 4, .rank = 20,
	  .help = "share of the stratum lock" },
	{ NULL, "server", VALUE_SHARE, .get = op_server, .max = 6, .rank = 20, .optional = true,
	  .help = "share of the stratum server" },
	{ NULL, "other", VALUE_SHARE, .get = op_other, .max = 5, .rank = 20,
	  .help = "share of the strata throttle, wake-up, sleep and reap" },
	{ NULL, "where it went", VALUE_TEXT, .get = op_bar, .max = BAR_COLUMNS, .rank = 11,
	  .optional = true,
	  .help = "bar of the shares, biggest first; the lines above the table explain the "
		  "letters" },
	{}
};

const struct column minor_columns[] = {
	{ "comm", NULL, VALUE_TEXT, .get = op_comm,
	  .help = "with --by pid and tid: name of the process or thread", .null = "not known" },
	COLUMNS_CONTAINER(op),
	{ "fs", NULL, VALUE_TEXT, .get = op_fs,
	  .help = "type of the file system; bdev: a block device itself", .null = "not known" },
	{ "key", NULL, VALUE_TEXT, .get = op_json_key, .help = "value of the key of --by, as text",
	  .null = "without --by and with --by cache, or not known" },
	{ "count", NULL, OP_SUM(count, VALUE_COUNT),
	  .help = "number of page faults that found their page in memory and did not wait",
	  .json.least = 1 },
	{}
};

GETTER(rq_disk, rq_row, value_text(v, r->disk, sizeof(r->disk)))

/* In the tree of --by dev, lower disks are indented. */
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
	ret->max = blanks + sizeof(r->disk);
}

GETTER(rq_major, rq_row, v->n = r->major)
GETTER(rq_minor, rq_row, v->n = r->minor)
GETTER(rq_code, rq_row, v->text = rq_op_code(r->key.op))
GETTER(rq_operation, rq_row, v->text = rq_op_name(r->key.op))
GETTER(rq_key, rq_row, set_key(v, r->by, r->contained))
GETTER(rq_json_key, rq_row, v->text = r->by)

GETS_CONTAINER(rq)

GETTER(rq_comm, rq_row, value_text(v, *r->comm ? r->comm : NULL, sizeof(r->comm)))
GETTER(rq_rate, rq_row, v->n = r->count, v->of = whole_of(ctx)->duration_ns)

GETTER(rq_outside, rq_row, value_number(v, r->outside, breakdown_has_ops(whole_of(ctx)->v)))

GETTER(rq_tag, rq_row, value_number(v, r->tag_ns, !r->key.bio_based))
GETTER(rq_queue, rq_row, value_number(v, r->queue_ns, !r->key.bio_based))

/* Mean over the requests whose submission was traced. */
static void queued_mean(struct value *ret, const struct rq_row *r, uint64_t ns)
{
	uint64_t seen = r->count > r->unqueued ? r->count - r->unqueued : 0;

	ret->unknown = r->key.bio_based || !seen;
	ret->n = seen ? ns / seen : 0;
}

GETTER(rq_tag_mean, rq_row, queued_mean(v, r, r->tag_ns))
GETTER(rq_queue_mean, rq_row, queued_mean(v, r, r->queue_ns))
GETTER(rq_device_mean, rq_row, v->n = r->device_ns / r->count)

static void rq_own_mean(struct value *ret, const void *row, const void *ctx)
{
	const struct breakdown_whole *whole = ctx;
	enum by_key by = whole->v->by;

	ret->unknown = (by != BY_NONE && by != BY_DEV && by != BY_CACHE && by != BY_CLIENT) ||
		       !device_tree_own(&whole->tree, row, &ret->n);
}

GETTER(rq_p99, rq_row, v->n = hist_percentile(&r->hist, 99, r->max_ns))

#define NO_REQUESTS   "a device without requests (device mapper, md, zram)"
#define NO_SUBMISSION "a device without requests, or no submission was traced"

#define RQ_SUM(field, kind_) .kind = kind_, .at = offsetof(struct rq_row, field)

const struct column rq_columns[] = {
	{ NULL, "key", VALUE_TEXT, .get = rq_key, .cut = TEXT_CUT_MIDDLE, .optional = true,
	  .help = "key of --by" },
	{ "key", NULL, VALUE_TEXT, .get = rq_json_key,
	  .help = "with --by pid, tid, comm, cgroup, container and file: submitter of the "
		  "requests, as text",
	  .null = "without, or not known" },
	{ "comm", "name", VALUE_TEXT, .get = rq_comm, .max = 15, .rank = 8, .optional = true,
	  .help = "with --by pid and tid: name of the process or thread", .null = "not known" },
	COLUMNS_CONTAINER(rq),
	{ NULL, "disk", VALUE_TEXT, .get = rq_place, .help = "name of the disk" },
	{ "dev", NULL, VALUE_TEXT, .get = rq_disk, .help = "name of the disk" },
	{ "major", NULL, VALUE_ID, .get = rq_major, .help = "major device number of the disk" },
	{ "minor", NULL, VALUE_ID, .get = rq_minor, .help = "minor device number of the disk" },
	{ "op", NULL, VALUE_TEXT, .get = rq_code,
	  .help = "operation, as in blkparse: R, W, F (flush), D (discard), DE (secure erase), "
		  "WZ (write zeroes), Z (zones), N (other)",
	  .json.words = &rq_words },
	{ NULL, "requests", VALUE_TEXT, .get = rq_operation, .max = 8,
	  .help = "operation of the requests: read, write, flush ..." },
	{ "count", "count", RQ_SUM(count, VALUE_COUNT), .max = 7,
	  .help = "number of finished requests", .json.least = 1 },
	{ "rate", "rate", VALUE_RATE, .get = rq_rate, .max = 7, .rank = 6,
	  .help = "requests per second", .null = "the interval has no length" },
	{ "errors", NULL, RQ_SUM(errors, VALUE_COUNT), .help = "number of failed requests" },
	{ "bytes", "bytes", RQ_SUM(bytes, VALUE_BYTES), .max = 8, .rank = 7,
	  .help = "bytes read or written; a failed request counts only what it moved, while the "
		  "disk's statistics count all of it" },
	{ "requeues", NULL, RQ_SUM(requeues, VALUE_COUNT),
	  .help = "how often the driver or the scheduler put a request back" },
	{ "unqueued", NULL, RQ_SUM(unqueued, VALUE_COUNT),
	  .help = "number of requests without a traced submission: they have no time in tag and "
		  "queue" },
	{ "outside", NULL, VALUE_COUNT, .get = rq_outside,
	  .help = "number of requests submitted outside all operations (writeback, the journal "
		  "...)",
	  .null = "operations are not traced" },
	{ "tag_ns", NULL, VALUE_TIME, .get = rq_tag,
	  .help = "time from the submission to the allocation of the request",
	  .null = NO_REQUESTS },
	{ "queue_ns", NULL, VALUE_TIME, .get = rq_queue,
	  .help = "time from the allocation of the request to the driver", .null = NO_REQUESTS },
	{ "device_ns", NULL, RQ_SUM(device_ns, VALUE_TIME),
	  .help = "time from the driver to the completion" },
	{ "tag_mean_ns", "tag", VALUE_TIME, .get = rq_tag_mean, .max = 7, .rank = 5,
	  .help = "mean of tag_ns", .null = NO_SUBMISSION },
	{ "queue_mean_ns", "queue", VALUE_TIME, .get = rq_queue_mean, .max = 7, .rank = 2,
	  .help = "mean of queue_ns", .null = NO_SUBMISSION },
	{ "device_mean_ns", "device", VALUE_TIME, .get = rq_device_mean, .max = 7,
	  .help = "mean of device_ns" },
	{ "own_mean_ns", "own", VALUE_TIME, .get = rq_own_mean, .max = 7, .rank = 1,
	  .optional = true, .help = "mean time in the disk without the time in the disks below",
	  .null = "no request "
		  "of the disks below was traced, or the disks below took longer, or requests have "
		  "keys" },
	{ "p99_ns", "p99", VALUE_TIME, .get = rq_p99, .max = 7, .rank = 3,
	  .help = "99 % of the requests took at most this long in the device (with -Q: in tag, "
		  "queue and device)" },
	{ "max_ns", "max", RQ_SUM(max_ns, VALUE_TIME), .max = 7, .rank = 4,
	  .help = "the longest time in the device (with -Q: in tag, queue and device)" },
	{ NULL, "failed", RQ_SUM(errors, VALUE_COUNT), .max = 6, .optional = true,
	  .help = "number of failed requests" },
	{}
};

const struct column op_pattern_columns[] = { { NULL, "file", VALUE_TEXT, .get = op_key,
					       .cut = TEXT_CUT_MIDDLE, .help = "the file" },
					     { NULL, "operation", VALUE_TEXT, .get = op_operation,
					       .max = 16, .help = "kind of the operation" },
					     COLUMNS_PATTERN(op),
					     {} };

const struct column rq_pattern_columns[] = {
	{ NULL, "disk", VALUE_TEXT, .get = rq_disk, .help = "the disk" },
	{ NULL, "requests", VALUE_TEXT, .get = rq_operation, .max = 8, .help = "read or write" },
	COLUMNS_PATTERN(rq),
	{}
};

GETTER(get_pid, helper_row, v->n = r->key.tid)
GETTER(get_comm, helper_row, value_text(v, r->key.comm, COMM_LEN))
GETTER(get_work, helper_row, value_text(v, r->key.work, COMM_LEN))
GETTER(get_for_pid, helper_row, value_number(v, r->key.for_pid, r->key.behalf))
GETTER(get_for_comm, helper_row, value_text(v, r->key.for_comm, COMM_LEN))
GETTER(get_on_behalf, helper_row, v->text = behalf_name(r->key.behalf))
GETTER(get_disk, helper_row, value_text(v, r->disk, sizeof(r->disk)))
GETTER(get_code, helper_row, v->text = rq_op_code(r->key.op))
GETTER(get_operation, helper_row, v->text = rq_op_name(r->key.op))
GETTER(get_total, helper_row, v->n = breakdown_helper_ns(r))
GETTER(get_tag, helper_row, value_number(v, r->sums.tag_ns, !r->key.bio_based))
GETTER(get_queue, helper_row, value_number(v, r->sums.queue_ns, !r->key.bio_based))

static void mean_of(struct value *ret, const void *row)
{
	ret->n /= ((const struct helper_row *)row)->sums.count;
}

GETTER(get_tag_mean, helper_row, get_tag(v, r, ctx), mean_of(v, r))
GETTER(get_queue_mean, helper_row, get_queue(v, r, ctx), mean_of(v, r))
GETTER(get_device_mean, helper_row, v->n = r->sums.device_ns, mean_of(v, r))

#define HELPER_SUM(field, kind_) .kind = kind_, .at = offsetof(struct helper_row, sums.field)

/* In text, a row sums up all workers with the same work for the same process. */
#define COLUMNS_WHO                                                                                \
	{ "pid", NULL, VALUE_ID, .get = get_pid, .help = "thread id of the helper" },              \
		{ "comm", NULL, VALUE_TEXT, .get = get_comm, .help = "name of the helper" },       \
		{ "work",                                                                          \
		  "helper",                                                                        \
		  VALUE_TEXT,                                                                      \
		  .get = get_work,                                                                 \
		  .max = 16,                                                                       \
		  .help = "workqueue of a worker (kworker), at most 16 bytes; text shows the "     \
			  "name of the helper if there is none",                                   \
		  .null = "no worker, or not known" },                                             \
		{ "for_comm",         "for",                                                       \
		  VALUE_TEXT,         .get = get_for_comm,                                         \
		  .max = 15,          .help = "name of the thread that the helper works for",      \
		  .null = "not known" },                                                           \
		{ "for_pid",                                                                       \
		  "pid",                                                                           \
		  VALUE_ID,                                                                        \
		  .get = get_for_pid,                                                              \
		  .help = "process that the helper works for",                                     \
		  .null = "not known" },                                                           \
	{                                                                                          \
		"on_behalf", NULL, VALUE_TEXT, .get = get_on_behalf,                               \
					       .help = "how this is known: \"writeback\": the "    \
						       "process made the data dirty; "             \
						       "\"helper\", the process, or another "      \
						       "helper for it, woke the helper",           \
					       .null = "not known", .json.words = &behalf_words    \
	}

const struct column helper_columns[] = {
	COLUMNS_WHO,
	{ "dev", "disk", VALUE_TEXT, .get = get_disk, .rank = 5, .help = "name of the disk" },
	{ "op", NULL, VALUE_TEXT, .get = get_code, .help = "operation, as in requests",
	  .json.words = &rq_words },
	{ NULL, "requests", VALUE_TEXT, .get = get_operation, .max = 8,
	  .help = "operation of the requests" },
	{ "count", "count", HELPER_SUM(count, VALUE_COUNT), .max = 7,
	  .help = "number of finished requests", .json.least = 1 },
	{ "errors", NULL, HELPER_SUM(errors, VALUE_COUNT), .help = "number of failed requests" },
	{ "bytes", "bytes", HELPER_SUM(bytes, VALUE_BYTES), .max = 8,
	  .help = "bytes of all requests" },
	{ "total_ns", NULL, VALUE_TIME, .get = get_total,
	  .help = "sum of tag_ns, queue_ns and device_ns" },
	{ "tag_ns", NULL, VALUE_TIME, .get = get_tag, .help = "as in requests",
	  .null = NO_REQUESTS },
	{ "queue_ns", NULL, VALUE_TIME, .get = get_queue, .help = "as in requests",
	  .null = NO_REQUESTS },
	{ "device_ns", NULL, HELPER_SUM(device_ns, VALUE_TIME), .help = "as in requests" },
	{ NULL, "tag", VALUE_TIME, .get = get_tag_mean, .max = 7, .rank = 7,
	  .help = "mean time from the submission to the allocation of a request" },
	{ NULL, "queue", VALUE_TIME, .get = get_queue_mean, .max = 7, .rank = 6,
	  .help = "mean time from the allocation of a request to the driver" },
	{ NULL, "device", VALUE_TIME, .get = get_device_mean, .max = 7,
	  .help = "mean time from the driver to the completion" },
	{}
};

const struct column helper_time_columns[] = {
	COLUMNS_WHO,
	{ "cpu_ns", "on CPU", HELPER_SUM(cpu_ns, VALUE_TIME), .max = 7,
	  .help = "time on the CPU, up to the last time that the helper left the CPU" },
	{ "runq_ns", "run queue", HELPER_SUM(runq_ns, VALUE_TIME), .max = 9,
	  .help = "time that the helper, ready to run, waited for a CPU" },
	{ "waited_ns", "requests", HELPER_SUM(waited_ns, VALUE_TIME), .max = 8,
	  .help = "time asleep until a request was done" },
	{}
};

GETTER(get_op, site_row, v->text = op_name(r->key.op))
GETTER(get_fs, site_row, value_text(v, r->fs, FS_NAME_LEN))
GETTER(get_symbol, site_row, v->text = r->symbol)
GETTER(get_what, site_row, v->text = r->what)

GETTER(get_mean, site_row, v->n = r->sums.total_ns / r->sums.count)

#define WHY_SUM(field, kind_) .kind = kind_, .at = offsetof(struct site_row, sums.field)

const struct column site_columns[] = {
	{ "op", "operation", VALUE_TEXT, .get = get_op, .max = 10, .help = "kind of the operation",
	  .json.words = &op_words },
	{ "fs", "fs", VALUE_TEXT, .get = get_fs, .max = 15, .rank = 1,
	  .help = "type of the file system", .null = "not known when the thread slept" },
	{ "symbol", "where", VALUE_TEXT, .get = get_symbol, .cut = TEXT_CUT_TAIL,
	  .help = "function of the kernel: the first on the stack outside of scheduler and "
		  "locks",
	  .null = "not known", .json.ascii = true },
	{ "what", "for", VALUE_TEXT, .get = get_what, .help = "object that the function waits for",
	  .null = "iostrata does not know the function", .json.ascii = true },
	{ "count", "count", WHY_SUM(count, VALUE_COUNT), .max = 7, .help = "number of sleeps",
	  .json.least = 1 },
	{ "total_ns", "total", WHY_SUM(total_ns, VALUE_TIME), .max = 7,
	  .help = "time of all sleeps, counted only while in the stratum sleep" },
	{ NULL, "mean", VALUE_TIME, .get = get_mean, .max = 7, .rank = 3,
	  .help = "mean time of a sleep" },
	{ "max_ns", "max", WHY_SUM(max_ns, VALUE_TIME), .max = 7, .rank = 2,
	  .help = "the longest sleep" },
	{}
};

GETTER(server_name, server_row, value_text(v, r->key.server, sizeof(r->key.server)))
GETTER(server_pid, server_row, value_number(v, r->key.pid, r->key.pid))
GETTER(server_mount, server_row, v->text = r->mount)

static void server_op(struct value *ret, const void *row, const void *ctx)
{
	const struct server_key *k = &((const struct server_row *)row)->key;

	(void)ctx;
	ret->max = sizeof(k->op);
	ret->text = server_op_name(k, ret->buf);
}

GETTER(server_protocol, server_row, v->text = protocol_at(r->key.protocol)->name)
GETTER(server_sent, server_row,
       value_number(v, r->sums.sent_bytes, protocol_at(r->key.protocol)->has_bytes))
GETTER(server_received, server_row,
       value_number(v, r->sums.received_bytes, protocol_at(r->key.protocol)->has_bytes))

/* Only the whole time is known, but for NFS. */
GETTER(server_tag, server_row,
       value_number(v, r->sums.tag_ns, protocol_at(r->key.protocol)->has_waits))
GETTER(server_queue, server_row,
       value_number(v, r->sums.queue_ns, protocol_at(r->key.protocol)->has_waits))
GETTER(server_tag_mean, server_row, server_tag(v, r, ctx), v->n /= r->sums.count)
GETTER(server_queue_mean, server_row, server_queue(v, r, ctx), v->n /= r->sums.count)
GETTER(server_mean, server_row, v->n = r->sums.server_ns / r->sums.count)
GETTER(server_p99, server_row, v->n = hist_percentile(&r->hist, 99, r->sums.max_ns))

#define SERVER_SUM(field, kind_) .kind = kind_, .at = offsetof(struct server_row, sums.field)

const struct column server_columns[] = {
	{ "server", "server", VALUE_TEXT, .get = server_name, .cut = TEXT_CUT_TAIL,
	  .help = "address of the NFS server; name of the SMB server or the FUSE daemon; virtiofs; "
		  "name of the 9p device",
	  .null = "not known" },
	{ "protocol", NULL, VALUE_TEXT, .get = server_protocol, .help = "nfs, fuse, 9p or smb",
	  .json.words = &protocol_words },
	{ "pid", "pid", VALUE_ID, .get = server_pid, .rank = 6, .optional = true,
	  .help = "process of the FUSE daemon", .null = "no process of this machine" },
	{ "mount", "mount", VALUE_TEXT, .get = server_mount, .cut = TEXT_CUT_MIDDLE, .rank = 7,
	  .optional = true, .help = "where the file system of FUSE or 9p is mounted",
	  .null = "for NFS or SMB, or not known" },
	{ "op", "request", VALUE_TEXT, .get = server_op, .max = 20,
	  .help = "kind of the request, as the protocol calls it", .null = "not known" },
	{ "count", "count", SERVER_SUM(count, VALUE_COUNT), .max = 7,
	  .help = "number of finished requests", .json.least = 1 },
	{ "errors", "failed", SERVER_SUM(errors, VALUE_COUNT), .max = 6, .rank = 8,
	  .optional = true, .help = "number of failed requests" },
	{ "resent", "resent", SERVER_SUM(resent, VALUE_COUNT), .max = 6, .rank = 9,
	  .optional = true, .help = "how often requests were sent again" },
	{ "sent_bytes", "sent", VALUE_BYTES, .get = server_sent, .max = 8, .rank = 4,
	  .optional = true, .help = "bytes of the requests, headers included",
	  .null = "not known for 9p and SMB" },
	{ "received_bytes", "received", VALUE_BYTES, .get = server_received, .max = 8, .rank = 5,
	  .optional = true, .help = "bytes of the answers, headers included",
	  .null = "not known for 9p and SMB" },
	{ "tag_ns", NULL, VALUE_TIME, .get = server_tag,
	  .help = "time that requests waited for a slot", .null = "only known for NFS" },
	{ "queue_ns", NULL, VALUE_TIME, .get = server_queue,
	  .help = "time from the slot until the requests were sent",
	  .null = "included in server_ns, except for NFS" },
	{ "server_ns", NULL, SERVER_SUM(server_ns, VALUE_TIME),
	  .help = "time from the sending to the answer" },
	{ "tag_mean_ns", "tag", VALUE_TIME, .get = server_tag_mean, .max = 7, .rank = 3,
	  .optional = true, .help = "mean time that a request waited for a slot",
	  .null = "only known for NFS" },
	{ "queue_mean_ns", "queue", VALUE_TIME, .get = server_queue_mean, .max = 7, .rank = 2,
	  .optional = true, .help = "mean time from the slot until the request was sent",
	  .null = "included in server_mean_ns, except for NFS" },
	{ "server_mean_ns", "mean", VALUE_TIME, .get = server_mean, .max = 7,
	  .help = "mean time from the sending to the answer" },
	{ "p99_ns", "p99", VALUE_TIME, .get = server_p99, .max = 7, .rank = 1,
	  .help = "99 % of the requests were answered in at most this long" },
	{ "max_ns", "max", SERVER_SUM(max_ns, VALUE_TIME), .max = 7, .rank = 10,
	  .help = "the longest time with the server" },
	{}
};
