// SPDX-License-Identifier: GPL-2.0-only
#include "show/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/container.h"
#include "base/json.h"
#include "base/names.h"
#include "base/path.h"
#include "base/text.h"
#include "capture/reader.h"
#include "cell.h"

/* One event with its names looked up, for all three formats. */
struct shown {
	const struct recording *rec;
	const struct stored_op *op;       /* or NULL */
	const struct stored_request *rq;  /* or NULL */
	const struct catalog_thread *who; /* NULL: not known */
	const char *op_name, *disk, *call;
	uint64_t start_ns, total_ns;
	unsigned int dev;
	uint64_t offset, len;       /* ~0: not known */
	char *path;                 /* owned; NULL: none */
	uint64_t ino;               /* 0: none */
	struct container container; /* its id is "": none */
};

/* The path of a block device that no process opened by name: its pages were faulted in, or its file
 * system read its own data. NULL: not known. */
static char *disk_path(const struct shown *s, const struct catalog_file *f)
{
	const char *disk = catalog_device(&s->rec->catalog, FILE_KEY_DEV(f->key));
	char *path;

	return disk && asprintf(&path, "/dev/%s", disk) >= 0 ? path : NULL;
}

static const struct catalog_file *shown_file(struct shown *s, uint64_t id)
{
	const struct catalog_file *f = catalog_file(&s->rec->catalog, id);
	struct file_name name;
	struct path_file file = { FILE_KEY_DEV(f->key), f->ino, &name };

	s->ino = f->ino;
	if (!f->ino)
		return f;
	catalog_file_name(f, &name);
	if (name.nameless && FILE_KEY_IS_BDEV(f->key))
		s->path = disk_path(s, f);
	if (!s->path)
		s->path = path_full(&file);
	return f;
}

static void shown_op(struct shown *s, const struct stored_op *op)
{
	s->op = op;
	s->op_name = op_name(op->kind);
	s->start_ns = op->start_ns;
	s->total_ns = stored_op_total(op);
	s->dev = FILE_KEY_DEV(shown_file(s, op->file)->key);
	s->offset = op->offset;
	s->len = op->len;
}

static void shown_request(struct shown *s, const struct stored_request *rq)
{
	s->rq = rq;
	shown_file(s, rq->file);
	s->op_name = rq_op_code(rq->op);
	s->disk = catalog_device(&s->rec->catalog, rq->dev);
	s->start_ns = rq->q_ns;
	s->total_ns = rq->tag_ns + rq->queue_ns + rq->device_ns;
	s->dev = rq->dev;
	s->offset = rq->sector * 512;
	s->len = rq->bytes;
}

static void shown_container(struct shown *s)
{
	const char *cgroup = NULL;

	if (s->who)
		cgroup = catalog_cgroup(&s->rec->catalog, s->who->cgroup);
	if (cgroup)
		container_find(cgroup, &s->container);
}

static void shown_fill(struct shown *s, const struct recording *rec, const struct stored_event *ev,
		       const char *(*call_name)(unsigned short call))
{
	uint64_t owner = ev->kind == CHUNK_OPS ? ev->op.owner : ev->request.owner;

	*s = (struct shown){ .rec = rec };
	if (owner)
		s->who = catalog_thread(&rec->catalog, owner);
	if (ev->kind == CHUNK_OPS) {
		shown_op(s, &ev->op);
		s->call = call_name(ev->op.call);
	} else {
		shown_request(s, &ev->request);
	}
}

static const char *op_error(const struct stored_op *op)
{
	int64_t ret = op->ret;

	return ret < 0 && ret >= -4095 ? strerrorname_np(-ret) : NULL;
}

/* Text: one line; the last column can have any length. */

static void text_head(struct text_out *o)
{
	text_put(o, "%15s %-8s %-5s %9s %7s %14s %9s %7s %-15s %s\n", "TIME", "WHAT", "OP", "TOOK",
		 "BYTES", "OFFSET", "RESULT", "TID", "COMM", "FILE OR DISK");
}

static void text_put_number(struct text_out *o, int width, uint64_t n, bool known)
{
	if (known)
		text_put(o, " %*llu", width, (unsigned long long)n);
	else
		text_put(o, " %*s", width, "-");
}

static void text_result(struct text_out *o, const struct shown *s)
{
	const char *error = s->op ? op_error(s->op) : NULL;

	if (error)
		text_put(o, " %9s", error);
	else if (s->op)
		text_put(o, " %9lld", (long long)s->op->ret);
	else if (s->rq->flags & STORED_RQ_FAILED)
		text_put(o, " %9s", "failed");
	else
		text_put(o, " %9s", "ok");
}

static void text_event(struct text_out *o, const struct shown *s)
{
	int64_t since = s->start_ns - s->rec->header.monotonic_ns;
	uint64_t ns = since < 0 ? -since : since; /* the event may have begun before this file */
	char comm[TEXT_SAFE_CAP(COMM_LEN)] = "-", fit[64], name[TEXT_SAFE_CAP(PATH_CAP + 64)];
	char when[32];
	const char *subject = s->op ? s->path : s->disk;

	if (s->who && s->who->tid)
		text_safe_n(comm, sizeof(comm), s->who->comm, strnlen(s->who->comm, COMM_LEN));
	text_safe(name, sizeof(name), subject ? subject : "-");
	snprintf(when, sizeof(when), "%s%llu.%09llu", since < 0 ? "-" : "",
		 (unsigned long long)ns / 1000000000, (unsigned long long)ns % 1000000000);
	text_put(o, "%15s %-8s %-5s %9s", when, s->op ? "op" : "request", s->op_name,
		 text_ns(s->total_ns).s);
	text_put_number(o, 7, s->len, s->len != ~0ULL);
	text_put_number(o, 14, s->offset, s->offset != ~0ULL);
	text_result(o, s);
	text_put_number(o, 7, s->who ? s->who->tid : 0, s->who && s->who->tid);
	text_fill(o, ' ', 1);
	text_put(o, "%s", (text_fit(fit, sizeof(fit), comm, 15, TEXT_CUT_TAIL), fit));
	text_fill(o, ' ', 16 - text_width(fit));
	text_put(o, "%s\n", name);
}

/* The columns of CSV and JSON. */

static void get_text(struct value *v, const char *text, size_t max)
{
	v->text = text;
	v->max = max;
}

static void get_number(struct value *v, uint64_t n, bool known)
{
	v->n = n;
	v->unknown = !known;
}

#define SHOWN(name, ...)                                                                           \
	static void get_##name(struct value *v, const void *row, const void *ctx)                  \
	{                                                                                          \
		const struct shown *s = row;                                                       \
                                                                                                   \
		(void)ctx;                                                                         \
		__VA_ARGS__;                                                                       \
	}

SHOWN(type, v->text = s->op ? "op" : "request")
SHOWN(start, v->n = s->start_ns)
SHOWN(total, v->n = s->total_ns)
SHOWN(op, v->text = s->op_name)
SHOWN(call, v->text = s->call)
SHOWN(
	dev, if (s->dev) {
		v->text = v->buf;
		snprintf(v->buf, sizeof(v->buf), "%u:%u", DEV_MAJOR(s->dev), DEV_MINOR(s->dev));
	})
SHOWN(disk, v->text = s->disk)
SHOWN(fs, v->text = s->op ? catalog_fs(&s->rec->catalog, s->op->fs) : NULL)
SHOWN(cache, v->text = s->op && s->op->cache ? cache_name(s->op->cache) : NULL)
SHOWN(path, v->text = s->path)
SHOWN(ino, get_number(v, s->ino, s->ino))
SHOWN(offset, get_number(v, s->offset, s->offset != ~0ULL))
SHOWN(len, get_number(v, s->len, s->len != ~0ULL))
SHOWN(result, get_number(v, s->op ? s->op->ret : 0, s->op))
SHOWN(error, v->text = s->op ? op_error(s->op) : NULL)
SHOWN(status, get_number(v, s->rq ? s->rq->error : 0, s->rq))
SHOWN(requests, get_number(v, s->op ? s->op->requests : 0, s->op))
SHOWN(device_bytes,
      get_number(v, s->op ? s->op->device_bytes : 0, s->op && s->rec->header.has_device_bytes))
SHOWN(pid, get_number(v, s->who ? s->who->pid : 0, s->who && s->who->pid))
SHOWN(tid, get_number(v, s->who ? s->who->tid : 0, s->who && s->who->tid))
SHOWN(comm, get_text(v, s->who ? s->who->comm : NULL, COMM_LEN))
SHOWN(cgroup, get_number(v, s->who ? s->who->cgroup : 0, s->who && s->who->cgroup))
SHOWN(container, v->text = *s->container.id ? s->container.id : NULL)
SHOWN(sector, get_number(v, s->rq ? s->rq->sector : 0, s->rq && s->rq->sector != ~0ULL))
SHOWN(cmd_flags, get_number(v, s->rq ? s->rq->cmd_flags : 0, s->rq))
SHOWN(requeues, get_number(v, s->rq ? s->rq->requeues : 0, s->rq))
SHOWN(merges, get_number(v, s->rq ? s->rq->merges : 0, s->rq))

/* A request has three strata; tag and queue are known only if its submission was traced. */
static void get_stratum(struct value *v, const struct shown *s, enum stratum st)
{
	bool queued = s->rq && !(s->rq->flags & (STORED_RQ_UNQUEUED | STORED_RQ_BIO_BASED));

	if (s->op)
		get_number(v, s->op->strata[st], !(s->rec->strata_missing >> st & 1));
	else if (st == ST_TAG)
		get_number(v, s->rq->tag_ns, queued);
	else if (st == ST_QUEUE)
		get_number(v, s->rq->queue_ns, queued);
	else
		get_number(v, s->rq->device_ns, st == ST_DEVICE);
}

#define STRATUM(name, st) SHOWN(name, get_stratum(v, s, st))

STRATUM(syscall, ST_SYSCALL)
STRATUM(vfs, ST_VFS)
STRATUM(fs_ns, ST_FS)
STRATUM(throttle, ST_THROTTLE)
STRATUM(tag, ST_TAG)
STRATUM(queue, ST_QUEUE)
STRATUM(device, ST_DEVICE)
STRATUM(complete, ST_COMPLETE)
STRATUM(runq, ST_RUNQ)
STRATUM(preempt, ST_PREEMPT)
STRATUM(helper, ST_HELPER)
STRATUM(sleep, ST_SLEEP)
STRATUM(lock, ST_LOCK)

_Static_assert(ST_LOCK == ST_N - 1, "each stratum has a column");

#define COLUMN(col, which, what, text)                                                             \
	{                                                                                          \
		.name = col, .title = col, .kind = which, .get = get_##what, .help = text          \
	}

const struct column event_columns[] = {
	COLUMN("type", VALUE_TEXT, type, "op or request"),
	COLUMN("start_ns", VALUE_TIME, start,
	       "beginning, or submission of a request, by CLOCK_MONOTONIC"),
	COLUMN("total_ns", VALUE_TIME, total, "time from beginning to end"),
	COLUMN("op", VALUE_TEXT, op, "kind of the operation, or code of the request (R, W, F ...)"),
	COLUMN("call", VALUE_TEXT, call,
	       "system call, or opcode of a request of io_uring or libaio"),
	COLUMN("dev", VALUE_TEXT, dev, "device of the file system, or the disk, \"major:minor\""),
	COLUMN("disk", VALUE_TEXT, disk, "name of a request's disk"),
	COLUMN("fs", VALUE_TEXT, fs, "type of the file system"),
	COLUMN("cache", VALUE_TEXT, cache, "use of the page cache: hit, miss, readahead or direct"),
	COLUMN("path", VALUE_TEXT, path,
	       "path of the file, as its process saw it; of a request that of its data"),
	COLUMN("ino", VALUE_ID, ino, "inode of the file"),
	COLUMN("offset", VALUE_ID, offset, "position in the file, or on the disk, in bytes"),
	COLUMN("len", VALUE_ID, len, "bytes asked for; bytes done by a request"),
	COLUMN("result", VALUE_SIGNED, result, "return value of the call"),
	COLUMN("error", VALUE_TEXT, error, "name of the error that the call returned"),
	COLUMN("status", VALUE_ID, status, "status of the request; 0: no error"),
	COLUMN("requests", VALUE_COUNT, requests, "bios that the operation submitted"),
	COLUMN("pid", VALUE_ID, pid, "process that made the call, or submitted the request"),
	COLUMN("tid", VALUE_ID, tid, "thread that did so"),
	COLUMN("comm", VALUE_TEXT, comm, "name of the thread"),
	COLUMN("cgroup", VALUE_ID, cgroup, "id of the cgroup of the thread"),
	COLUMN("sector", VALUE_ID, sector, "first sector of the request, on the whole disk"),
	COLUMN("cmd_flags", VALUE_ID, cmd_flags, "flags of the request, as the kernel has them"),
	COLUMN("requeues", VALUE_COUNT, requeues, "how often the request was put back"),
	COLUMN("merges", VALUE_COUNT, merges, "bios of the request beside the first"),
	COLUMN("syscall_ns", VALUE_TIME, syscall, "time in the stratum syscall"),
	COLUMN("vfs_ns", VALUE_TIME, vfs, "time in the stratum vfs"),
	COLUMN("fs_ns", VALUE_TIME, fs_ns, "time in the stratum fs"),
	COLUMN("throttle_ns", VALUE_TIME, throttle, "time in the stratum throttle"),
	COLUMN("tag_ns", VALUE_TIME, tag, "time in the stratum tag, or of the request"),
	COLUMN("queue_ns", VALUE_TIME, queue, "time in the stratum queue, or of the request"),
	COLUMN("device_ns", VALUE_TIME, device, "time in the stratum device, or of the request"),
	COLUMN("complete_ns", VALUE_TIME, complete, "time in the stratum complete"),
	COLUMN("runq_ns", VALUE_TIME, runq, "time in the stratum runq"),
	COLUMN("preempt_ns", VALUE_TIME, preempt, "time in the stratum preempt"),
	COLUMN("helper_ns", VALUE_TIME, helper, "time in the stratum helper"),
	COLUMN("sleep_ns", VALUE_TIME, sleep, "time in the stratum sleep"),
	COLUMN("lock_ns", VALUE_TIME, lock, "time in the stratum lock"),
	COLUMN("container", VALUE_TEXT, container, "id or name of the container of the cgroup"),
	COLUMN("device_bytes", VALUE_BYTES, device_bytes,
	       "bytes that the operation read from devices"),
	{},
};

static const struct columns columns = { .list = event_columns };

int events_head(FILE *f, enum events_format format)
{
	struct json j = { .out = { .f = f } };

	if (format == EVENTS_TEXT) {
		text_head(&j.out);
	} else if (format == EVENTS_CSV) {
		columns_csv_titles(&j.out, &columns);
	} else {
		json_put_begin(&j, NULL, '{');
		json_put_string(&j, "schema", "iostrata.events/1");
		json_put_end(&j, '}');
		text_put(&j.out, "\n");
	}
	return j.out.err;
}

static void json_event(struct json *j, const struct shown *s)
{
	json_put_begin(j, NULL, '{');
	columns_json(j, &columns, s);
	json_put_end(j, '}');
	text_put(&j->out, "\n");
}

int events_put(FILE *f, enum events_format format, const struct recording *rec,
	       const struct stored_event *ev, const char *(*call_name)(unsigned short call))
{
	struct json j = { .out = { .f = f } };
	struct shown s;

	shown_fill(&s, rec, ev, call_name);
	if (format != EVENTS_TEXT) /* text has no column for it */
		shown_container(&s);
	if (format == EVENTS_TEXT)
		text_event(&j.out, &s);
	else if (format == EVENTS_CSV)
		columns_csv(&j.out, &columns, &s);
	else
		json_event(&j, &s);
	free(s.path);
	return j.out.err;
}
