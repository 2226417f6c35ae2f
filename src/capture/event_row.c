// SPDX-License-Identifier: GPL-2.0-only
#include "capture/event_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/protocols.h"
#include "base/schema.h"
#include "cell.h"
#include "host/path.h"

void event_names_done(struct event_names *n)
{
	for (int i = 0; i < EVENT_FILES; i++)
		free(n->files[i].path);
	memset(n, 0, sizeof(*n));
}

/* Empties the cache if the catalog has new names: a cached name may have been replaced. */
static void names_check(struct event_names *n, const struct catalog *c)
{
	if (n->version == c->version)
		return;
	event_names_done(n);
	n->version = c->version;
}

/* The path of a block device that no process opened by name: its pages were faulted in, or its file
 * system read its own data. NULL: not known. */
static char *disk_path(const struct catalog *c, const struct catalog_file *f)
{
	const char *disk = catalog_device(c, FILE_KEY_DEV(f->key));
	char *path;

	return disk && asprintf(&path, "/dev/%s", disk) >= 0 ? path : NULL;
}

/* The caller frees the path. NULL: no path, or out of memory. */
static char *path_make(const struct catalog *c, const struct catalog_file *f)
{
	struct file_name name;
	struct path_file file = { FILE_KEY_DEV(f->key), f->ino, &name };
	char *path = NULL;

	if (!f->ino)
		return NULL;
	catalog_file_name(f, &name);
	if (name.nameless && FILE_KEY_IS_BDEV(f->key))
		path = disk_path(c, f);
	return path ? path : path_full(&file);
}

static const char *path_find(struct event_names *n, const struct catalog *c, uint64_t id,
			     const struct catalog_file *f)
{
	struct event_file *slot = &n->files[id % EVENT_FILES];

	if (!id)
		return NULL;
	if (slot->id == id)
		return slot->path;
	free(slot->path);
	*slot = (struct event_file){ id, path_make(c, f) };
	return slot->path;
}

static const struct event_cgroup *cgroup_find(struct event_names *n, const struct catalog *c,
					      uint64_t id)
{
	struct event_cgroup *slot = &n->cgroups[id % EVENT_CGROUPS];

	if (!id)
		return NULL;
	if (slot->id == id)
		return slot;
	*slot = (struct event_cgroup){ .id = id, .path = catalog_cgroup(c, id) };
	if (slot->path)
		container_find(slot->path, &slot->container);
	slot->name = catalog_container(c, id);
	return slot;
}

static const struct event_dev *dev_find(struct event_names *n, const struct catalog *c,
					unsigned int dev)
{
	struct event_dev *slot = &n->devs[(dev ^ DEV_MAJOR(dev)) % EVENT_DEVS];

	if (!dev)
		return NULL;
	if (slot->dev == dev)
		return slot;
	*slot = (struct event_dev){ .dev = dev, .disk = catalog_device(c, dev) };
	snprintf(slot->text, sizeof(slot->text), "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
	return slot;
}

static const char *call_find(struct event_names *n, unsigned short call,
			     const char *(*call_name)(unsigned short call))
{
	struct event_call *slot = &n->calls[call % EVENT_CALLS];

	if (slot->call != call || !slot->name)
		*slot = (struct event_call){ call, call_name(call) };
	return slot->name;
}

static void fill_op(struct event_row *s, struct event_names *n, const struct stored_op *op,
		    const char *(*call_name)(unsigned short call))
{
	const struct catalog *c = &s->rec->catalog;
	const struct catalog_file *f = catalog_file(c, op->file);

	s->op = op;
	s->op_name = op_name(op->kind);
	s->call = call_find(n, op->call, call_name);
	s->start_ns = op->start_ns;
	s->total_ns = stored_op_total(op);
	s->dev = dev_find(n, c, FILE_KEY_DEV(f->key));
	s->ino = f->ino;
	s->path = path_find(n, c, op->file, f);
	s->offset = op->offset;
	s->len = op->len;
}

static void fill_request(struct event_row *s, struct event_names *n,
			 const struct stored_request *rq)
{
	const struct catalog *c = &s->rec->catalog;
	const struct catalog_file *f = catalog_file(c, rq->file);

	s->rq = rq;
	s->op_name = rq_op_code(rq->op);
	s->start_ns = rq->q_ns;
	s->total_ns = rq->tag_ns + rq->queue_ns + rq->device_ns;
	s->dev = dev_find(n, c, rq->dev);
	s->ino = f->ino;
	s->path = path_find(n, c, rq->file, f);
	s->offset = rq->sector == ~0ULL ? ~0ULL : rq->sector * 512; /* a flush has no sector */
	s->len = rq->bytes;
}

void event_row_fill(struct event_row *ret, struct event_names *names, const struct recording *rec,
		    const struct stored_event *ev, const char *(*call_name)(unsigned short call))
{
	uint64_t owner = ev->kind == CHUNK_OPS ? ev->op.owner : ev->request.owner;

	names_check(names, &rec->catalog);
	*ret = (struct event_row){ .rec = rec, .segments = ev->segments, .text = names->text };
	if (owner) {
		ret->who = catalog_thread(&rec->catalog, owner);
		ret->cgroup = cgroup_find(names, &rec->catalog, ret->who->cgroup);
	}
	if (ev->kind == CHUNK_OPS)
		fill_op(ret, names, &ev->op, call_name);
	else
		fill_request(ret, names, &ev->request);
}

const char *event_row_error(const struct event_row *s)
{
	int64_t ret = s->op ? s->op->ret : 0;

	return ret < 0 && ret >= -MAX_ERRNO ? strerrorname_np(-ret) : NULL;
}

const char *event_row_disk(const struct event_row *s)
{
	return s->rq && s->dev ? s->dev->disk : NULL;
}

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

#define GETTER(name, ...)                                                                          \
	static void get_##name(struct value *v, const void *row, const void *ctx)                  \
	{                                                                                          \
		const struct event_row *s = row;                                                   \
                                                                                                   \
		(void)ctx;                                                                         \
		__VA_ARGS__;                                                                       \
	}

GETTER(type, v->text = s->op ? "op" : "request")
GETTER(start, v->n = s->start_ns)
GETTER(total, v->n = s->total_ns)
GETTER(op, v->text = s->op_name)
GETTER(call, v->text = s->call)
GETTER(dev, v->text = s->dev ? s->dev->text : NULL)
GETTER(disk, v->text = event_row_disk(s))
GETTER(fs, v->text = s->op ? catalog_fs(&s->rec->catalog, s->op->fs) : NULL)
GETTER(cache, v->text = s->op ? cache_known(s->op->cache) : NULL)
GETTER(path, v->text = s->path)
GETTER(ino, get_number(v, s->ino, s->ino))
GETTER(offset, get_number(v, s->offset, s->offset != ~0ULL))
GETTER(len, get_number(v, s->len, s->len != ~0ULL))
GETTER(result, get_number(v, s->op ? s->op->ret : 0, s->op))
GETTER(error, v->text = event_row_error(s))
GETTER(status, get_number(v, s->rq ? s->rq->error : 0, s->rq))
GETTER(requests, get_number(v, s->op ? s->op->requests : 0, s->op))
GETTER(device_bytes, get_number(v, s->op ? s->op->device_bytes : 0,
				s->op && s->rec->header.has_device_bytes &&
					!fs_has_server(catalog_fs(&s->rec->catalog, s->op->fs))))
GETTER(pid, get_number(v, s->who ? s->who->pid : 0, s->who && s->who->pid))
GETTER(tid, get_number(v, s->who ? s->who->tid : 0, s->who && s->who->tid))
GETTER(comm, get_text(v, s->who ? s->who->comm : NULL, COMM_LEN))
GETTER(cgroup, get_number(v, s->who ? s->who->cgroup : 0, s->who && s->who->cgroup))
GETTER(container, v->text = s->cgroup ? s->cgroup->container.id : NULL)
GETTER(container_name, v->text = s->cgroup ? s->cgroup->name : NULL)
GETTER(sector, get_number(v, s->rq ? s->rq->sector : 0, s->rq && s->rq->sector != ~0ULL))
GETTER(cmd_flags, get_number(v, s->rq ? s->rq->cmd_flags : 0, s->rq))
GETTER(requeues, get_number(v, s->rq ? s->rq->requeues : 0, s->rq))
GETTER(merges, get_number(v, s->rq ? s->rq->merges : 0, s->rq))

/* A request has three strata; tag and queue are known only if its submission was traced. */
static void get_stratum(struct value *v, const struct event_row *s, enum stratum st)
{
	bool queued = s->rq && !(s->rq->flags & (STORED_RQ_UNQUEUED | STORED_RQ_BIO_BASED));

	if (s->op)
		get_number(v, stored_op_stratum(s->op, st), !(s->rec->strata_missing >> st & 1));
	else if (st == ST_TAG)
		get_number(v, s->rq->tag_ns, queued);
	else if (st == ST_QUEUE)
		get_number(v, s->rq->queue_ns, queued);
	else
		get_number(v, s->rq->device_ns, st == ST_DEVICE);
}

static void get_segments(struct value *v, const void *row, const void *ctx)
{
	const struct event_row *s = row;
	struct segments segments;

	(void)ctx;
	if (!s->op || !s->op->segments ||
	    !segments_unpack(&segments, s->op, s->segments, s->op->segments))
		return;
	segments_text(s->text, &segments);
	v->text = s->text;
}

#define STRATUM(name, st) GETTER(name, get_stratum(v, s, st))

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
STRATUM(server, ST_SERVER)
STRATUM(reap, ST_REAP)

_Static_assert(ST_REAP == ST_N - 1, "each stratum has a column");

/* Arguments after the help are further members of the column. */
#define COLUMN_OF(whose, col, which, what, text, ...)                                              \
	{                                                                                          \
		.name = col, .title = col, .kind = which, .get = get_##what, .help = text,         \
		.of = whose, __VA_ARGS__                                                           \
	}
#define COLUMN(...)    COLUMN_OF(EVENT_OF_OPS | EVENT_OF_REQUESTS, __VA_ARGS__)
#define OP_COLUMN(...) COLUMN_OF(EVENT_OF_OPS, __VA_ARGS__)
#define RQ_COLUMN(...) COLUMN_OF(EVENT_OF_REQUESTS, __VA_ARGS__)

#define NOT_KNOWN    .null = "not known"
#define OF_REQUEST   .null = "a request, or not known"
#define OF_OPERATION .null = "an operation"
#define NOT_MEASURED .null = "a request, or not measured"
#define NONE         .null = "none, or not known"

static const char *const types[] = { "op", "request" };
static const struct word_list type_words = { .list = types, .to = 2 };
static const struct word_list op_or_request = { op_name, .from = OP_READ, .to = OP_N,
						.more = &rq_words };

const struct column event_columns[] = {
	COLUMN("type", VALUE_TEXT, type, "op or request", .json.words = &type_words),
	COLUMN("start_ns", VALUE_TIME, start,
	       "beginning, or submission of a request, by CLOCK_MONOTONIC"),
	COLUMN("total_ns", VALUE_TIME, total, "time from beginning to end"),
	COLUMN("op", VALUE_TEXT, op, "kind of the operation, or code of the request (R, W, F ...)",
	       .json.words = &op_or_request),
	OP_COLUMN(
		"call", VALUE_TEXT, call,
		"system call, or opcode of a request of io_uring or libaio; a served operation has "
		"nfs_request, or the command of SMB, such as smb_read",
		OF_REQUEST, .json.ascii = true),
	COLUMN("dev", VALUE_TEXT, dev, "device of the file system, or the disk, \"major:minor\"",
	       NOT_KNOWN, .json.pattern = PATTERN_DEVICE),
	RQ_COLUMN("disk", VALUE_TEXT, disk, "name of a request's disk",
		  .null = "an operation, or not known"),
	OP_COLUMN("fs", VALUE_TEXT, fs, "type of the file system", OF_REQUEST),
	OP_COLUMN("cache", VALUE_TEXT, cache,
		  "use of the page cache: hit, hit_ahead, miss, readahead or direct",
		  .null = "a request, or no read, write or page fault, or not known",
		  .json.words = &cache_words),
	COLUMN("path", VALUE_TEXT, path,
	       "path of the file as the process saw it; for a request, of the file with the data",
	       NONE),
	COLUMN("ino", VALUE_ID, ino, "inode of the file", NONE, .json.huge = true),
	COLUMN("offset", VALUE_ID, offset, "position in the file, or on the disk, in bytes", NONE,
	       .json = { .huge = true, .unit = "bytes" }),
	COLUMN("len", VALUE_ID, len, "bytes asked for; bytes done by a request", NONE,
	       .json = { .huge = true, .unit = "bytes" }),
	OP_COLUMN("result", VALUE_SIGNED, result, "return value of the call", .null = "a request",
		  .json.unit = "as of the call"),
	OP_COLUMN("error", VALUE_TEXT, error,
		  "name of the error that the call returned, ENOENT for example",
		  .null = "no error, or a request", .json.ascii = true),
	RQ_COLUMN("status", VALUE_ID, status, "status of the request; 0: no error", OF_OPERATION,
		  .json.unit = "errno"),
	OP_COLUMN("requests", VALUE_COUNT, requests, "bios that the operation submitted",
		  .null = "a request"),
	COLUMN("pid", VALUE_ID, pid, "process that made the call, or submitted the request",
	       NOT_KNOWN),
	COLUMN("tid", VALUE_ID, tid, "thread of the call or request", NOT_KNOWN),
	COLUMN("comm", VALUE_TEXT, comm, "name of the thread", NOT_KNOWN),
	COLUMN("cgroup", VALUE_ID, cgroup, "id of the cgroup of the thread", NOT_KNOWN,
	       .json.huge = true),
	RQ_COLUMN("sector", VALUE_ID, sector, "first sector of the request, on the whole disk",
		  .null = "an operation, or none", .json.unit = "sectors of 512 bytes"),
	RQ_COLUMN("cmd_flags", VALUE_ID, cmd_flags, "flags of the request, as the kernel has them",
		  OF_OPERATION, .json.unit = "bits"),
	RQ_COLUMN("requeues", VALUE_COUNT, requeues, "how often the request was put back",
		  OF_OPERATION),
	RQ_COLUMN("merges", VALUE_COUNT, merges, "bios of the request after the first",
		  OF_OPERATION),
	OP_COLUMN("syscall_ns", VALUE_TIME, syscall, "time in the stratum syscall", NOT_MEASURED),
	OP_COLUMN("vfs_ns", VALUE_TIME, vfs, "time in the stratum vfs", NOT_MEASURED),
	OP_COLUMN("fs_ns", VALUE_TIME, fs_ns, "time in the stratum fs", NOT_MEASURED),
	OP_COLUMN("throttle_ns", VALUE_TIME, throttle, "time in the stratum throttle",
		  NOT_MEASURED),
	COLUMN("tag_ns", VALUE_TIME, tag, "time in the stratum tag, or of the request",
	       .null = "not measured"),
	COLUMN("queue_ns", VALUE_TIME, queue, "time in the stratum queue, or of the request",
	       .null = "not measured"),
	COLUMN("device_ns", VALUE_TIME, device, "time in the stratum device, or of the request",
	       .null = "not measured"),
	OP_COLUMN("complete_ns", VALUE_TIME, complete, "time in the stratum complete",
		  NOT_MEASURED),
	OP_COLUMN("runq_ns", VALUE_TIME, runq, "time in the stratum runq", NOT_MEASURED),
	OP_COLUMN("preempt_ns", VALUE_TIME, preempt, "time in the stratum preempt", NOT_MEASURED),
	OP_COLUMN("helper_ns", VALUE_TIME, helper, "time in the stratum helper", NOT_MEASURED),
	OP_COLUMN("sleep_ns", VALUE_TIME, sleep, "time in the stratum sleep", NOT_MEASURED),
	OP_COLUMN("lock_ns", VALUE_TIME, lock, "time in the stratum lock", NOT_MEASURED),
	COLUMN("container", VALUE_TEXT, container, "id or name of the container of the cgroup",
	       .null = "in none, or not known"),
	OP_COLUMN("device_bytes", VALUE_BYTES, device_bytes,
		  "bytes that the operation read from devices", OF_REQUEST),
	OP_COLUMN("segments", VALUE_TEXT, segments,
		  "strata in their order, each with its ns, of an operation that waited; merged: "
		  "the later ones",
		  .null = "a request, or never waited, or not known",
		  .json.pattern = "^([a-z]+:[0-9]+( |$))+$"),
	OP_COLUMN("server_ns", VALUE_TIME, server, "time in the stratum server", NOT_MEASURED),
	COLUMN("container_name", VALUE_TEXT, container_name,
	       "name of the container as people gave it; in a pod NAMESPACE/POD/NAME",
	       .null = "in none, or not known"),
	OP_COLUMN("reap_ns", VALUE_TIME, reap, "time in the stratum reap", NOT_MEASURED),
	{},
};
