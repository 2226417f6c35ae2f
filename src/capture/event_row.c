// SPDX-License-Identifier: GPL-2.0-only
#include "capture/event_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/protocols.h"
#include "base/schema.h"
#include "cell.h"
#include "host/limits.h"
#include "host/path.h"

void event_names_done(struct event_names *n)
{
	for (int i = 0; i < EVENT_FILES; i++)
		free(n->files[i].path);
	free(n->copied_to.path);
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
 * system read its own data. Returns NULL if not known. */
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

/* The path of file @id, which is kept in @slot. */
static const char *path_find(struct event_file *slot, const struct catalog *c, uint64_t id)
{
	const struct catalog_file *f = catalog_file(c, id);

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

/* Whether the call @name seeks. @name may be NULL. Its offset and length are its arguments. */
static bool is_seek(const char *name)
{
	return name && !strcmp(name, "lseek");
}

static void fill_op(struct event_row *s, struct event_names *n, const struct stored_op *op,
		    const char *(*call_name)(unsigned short call))
{
	const struct catalog *c = &s->rec->catalog;
	const struct catalog_file *f = catalog_file(c, op->file);
	bool ranged;

	s->op = op;
	s->op_name = op_name(op->kind);
	s->call = call_find(n, op->call, call_name);
	s->start_ns = op->start_ns;
	s->total_ns = stored_op_total(op);
	s->dev = dev_find(n, c, FILE_KEY_DEV(f->key));
	s->ino = f->ino;
	s->path = path_find(&n->files[op->file % EVENT_FILES], c, op->file);
	s->copied_to = path_find(&n->copied_to, c, op->copied_to);
	ranged = op_has_range(op->kind) && !is_seek(s->call);
	s->offset = ranged ? op->offset : ~0ULL;
	s->len = ranged ? op->len : ~0ULL;
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
	s->path = path_find(&n->files[rq->file % EVENT_FILES], c, rq->file);
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
	if (ev->kind == CHUNK_OPS && ev->op.who && ev->op.who_thread)
		ret->by = catalog_thread(&rec->catalog, ev->op.who_thread);
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

/* A request has three strata; tag and queue are known only if its submission was traced. */
static void stratum_value(struct value *v, const struct event_row *r, unsigned int st)
{
	bool queued = r->rq && !(r->rq->flags & (STORED_RQ_UNQUEUED | STORED_RQ_BIO_BASED));

	if (r->op)
		value_number(v, r->op->strata[st], !(r->rec->strata_missing >> st & 1));
	else if (st == ST_TAG)
		value_number(v, r->rq->tag_ns, queued);
	else if (st == ST_QUEUE)
		value_number(v, r->rq->queue_ns, queued);
	else
		value_number(v, r->rq->device_ns, st == ST_DEVICE);
}

static void segments_value(struct value *v, const struct event_row *r)
{
	struct segments segments;

	if (!r->op || !r->op->segments ||
	    !segments_unpack(&segments, r->op->strata, r->segments, r->op->segments))
		return;
	segments_text(r->text, &segments);
	v->text = r->text;
}

static void device_bytes_value(struct value *v, const struct event_row *r)
{
	value_number(v, r->op ? r->op->device_bytes : 0,
		     r->op && r->rec->header.has_device_bytes &&
			     !fs_has_server(catalog_fs(&r->rec->catalog, r->op->fs)));
}

static void who_value(struct value *v, const struct event_row *r, uint64_t n)
{
	value_number(v, n, r->who && n);
}

/*
 * The columns of events; they are only appended. A row has its name, the events that have it, its
 * kind, how its value @v is set from @r, a struct event_row, the help, and further members of the
 * column. STRATUM is the column of
 * a stratum's time, @name_ns, with more words for the help.
 */
/* clang-format off */
#define EVENT_COLUMNS(COLUMN, STRATUM)                                                             \
	COLUMN(type, BOTH, TEXT, v->text = r->op ? "op" : "request", "op or request",              \
	       .json.words = &type_words)                                                          \
	COLUMN(start_ns, BOTH, TIME, v->n = r->start_ns,                                           \
	       "beginning, or submission of a request, by CLOCK_MONOTONIC")                        \
	COLUMN(total_ns, BOTH, TIME, v->n = r->total_ns, "time from beginning to end")             \
	COLUMN(op, BOTH, TEXT, v->text = r->op_name,                                               \
	       "kind of the operation, or code of the request (R, W, F ...)",                      \
	       .json.words = &op_or_request)                                                       \
	COLUMN(call, OPS, TEXT, v->text = r->call,                                                 \
	       "system call, or opcode of a request of io_uring or libaio; a "                     \
	       "served operation has nfs_request, or the command of SMB, such as smb_read",        \
	       OF_REQUEST, .json.ascii = true)                                                     \
	COLUMN(dev, BOTH, TEXT, v->text = r->dev ? r->dev->text : NULL,                            \
	       "device of the file system, or the disk, \"major:minor\"",                          \
	       NOT_KNOWN, .json.pattern = PATTERN_DEVICE)                                          \
	COLUMN(disk, REQUESTS, TEXT, v->text = event_row_disk(r),                                  \
	       "name of a request's disk", .null = "an operation, or not known")                   \
	COLUMN(fs, OPS, TEXT,                                                                      \
	       v->text = r->op ? catalog_fs(&r->rec->catalog, r->op->fs) : NULL,                   \
	       "type of the file system", OF_REQUEST)                                              \
	COLUMN(cache, OPS, TEXT, v->text = r->op ? cache_known(r->op->cache) : NULL,               \
	       "use of the page cache: hit, hit_ahead, miss, readahead or direct",                 \
	       .null = "a request, or no read, write or page fault, or not known",                 \
	       .json.words = &cache_words)                                                         \
	COLUMN(path, BOTH, TEXT, v->text = r->path,                                                \
	       "path of the file as the process saw it; for a request, of the "                    \
	       "file with the data", NONE)                                                         \
	COLUMN(ino, BOTH, ID, value_number(v, r->ino, r->ino), "inode of the file",                \
	       NONE, .json.huge = true)                                                            \
	COLUMN(offset, BOTH, ID, value_number(v, r->offset, r->offset != ~0ULL),                   \
	       "position in the file, or on the disk, in bytes",                                   \
	       NONE, .json = { .huge = true, .unit = "bytes" })                                    \
	COLUMN(len, BOTH, ID, value_number(v, r->len, r->len != ~0ULL),                            \
	       "bytes asked for; bytes done by a request",                                         \
	       NONE, .json = { .huge = true, .unit = "bytes" })                                    \
	COLUMN(result, OPS, SIGNED, value_number(v, r->op ? r->op->ret : 0, r->op),                \
	       "return value of the call",                                                         \
	       .null = "a request", .json.unit = "as of the call")                                 \
	COLUMN(error, OPS, TEXT, v->text = event_row_error(r),                                     \
	       "name of the error that the call returned, ENOENT for example",                     \
	       .null = "no error, or a request", .json.ascii = true)                               \
	COLUMN(status, REQUESTS, ID, value_number(v, r->rq ? r->rq->error : 0, r->rq),             \
	       "status of the request; 0: no error", OF_OPERATION, .json.unit = "errno")           \
	COLUMN(requests, OPS, COUNT, value_number(v, r->op ? r->op->requests : 0, r->op),          \
	       "bios that the operation submitted", .null = "a request")                           \
	COLUMN(pid, BOTH, ID, who_value(v, r, r->who ? r->who->pid : 0),                           \
	       "process that made the call, or submitted the request", NOT_KNOWN)                  \
	COLUMN(tid, BOTH, ID, who_value(v, r, r->who ? r->who->tid : 0),                           \
	       "thread of the call or request", NOT_KNOWN)                                         \
	COLUMN(comm, BOTH, TEXT, value_text(v, r->who ? r->who->comm : NULL, COMM_LEN),            \
	       "name of the thread", NOT_KNOWN)                                                    \
	COLUMN(cgroup, BOTH, ID, who_value(v, r, r->who ? r->who->cgroup : 0),                     \
	       "id of the cgroup of the thread", NOT_KNOWN, .json.huge = true)                     \
	COLUMN(sector, REQUESTS, ID,                                                               \
	       value_number(v, r->rq ? r->rq->sector : 0, r->rq && r->rq->sector != ~0ULL),        \
	       "first sector of the request, on the whole disk",                                   \
	       .null = "an operation, or none", .json.unit = "sectors of 512 bytes")               \
	COLUMN(cmd_flags, REQUESTS, ID,                                                            \
	       value_number(v, r->rq ? r->rq->cmd_flags : 0, r->rq),                               \
	       "flags of the request, as the kernel has them",                                     \
	       OF_OPERATION, .json.unit = "bits")                                                  \
	COLUMN(requeues, REQUESTS, COUNT,                                                          \
	       value_number(v, r->rq ? r->rq->requeues : 0, r->rq),                                \
	       "how often the request was put back", OF_OPERATION)                                 \
	COLUMN(merges, REQUESTS, COUNT, value_number(v, r->rq ? r->rq->merges : 0, r->rq),         \
	       "bios of the request after the first", OF_OPERATION)                                \
	STRATUM(syscall, OPS, "")                                                                  \
	STRATUM(vfs, OPS, "")                                                                      \
	STRATUM(fs, OPS, "")                                                                       \
	STRATUM(throttle, OPS, "")                                                                 \
	STRATUM(tag, BOTH, ", or of the request")                                                  \
	STRATUM(queue, BOTH, ", or of the request")                                                \
	STRATUM(device, BOTH, ", or of the request")                                               \
	STRATUM(complete, OPS, "")                                                                 \
	STRATUM(runq, OPS, "")                                                                     \
	STRATUM(preempt, OPS, "")                                                                  \
	STRATUM(helper, OPS, "")                                                                   \
	STRATUM(sleep, OPS, "")                                                                    \
	STRATUM(lock, OPS, "")                                                                     \
	COLUMN(container, BOTH, TEXT, v->text = r->cgroup ? r->cgroup->container.id : NULL,        \
	       "id or name of the container of the cgroup",                                        \
	       .null = "in none, or not known")                                                    \
	COLUMN(device_bytes, OPS, BYTES, device_bytes_value(v, r),                                 \
	       "bytes that the operation read from devices", OF_REQUEST)                           \
	COLUMN(segments, OPS, TEXT, segments_value(v, r),                                          \
	       "strata in their order, each with its ns, of an operation that "                    \
	       "waited; merged: the later ones",                                                   \
	       .null = "a request, or never waited, or not known",                                 \
	       .json.pattern = "^([a-z]+:[0-9]+( |$))+$")                                          \
	STRATUM(server, OPS, "")                                                                   \
	COLUMN(container_name, BOTH, TEXT, v->text = r->cgroup ? r->cgroup->name : NULL,           \
	       "name of the container as people gave it; in a pod NAMESPACE/POD/NAME",             \
	       .null = "in none, or not known")                                                    \
	STRATUM(reap, OPS, "")                                                                     \
	COLUMN(copied_to, OPS, TEXT, v->text = r->copied_to,                                       \
	       "path of the file to which a copy wrote; path has the file that the copy read",     \
	       .null = "no copy of two files, or not known")                                       \
	COLUMN(who, OPS, TEXT, v->text = r->op ? who_known(r->op->who) : NULL,                     \
	       "kind of somebody else to whom the longest such wait was due: lock, file_lock, "    \
	       "cpu, scanner ...",                                                                 \
	       NOBODY, .json.words = &who_words)                                                   \
	COLUMN(who_ns, OPS, TIME, value_number(v, r->op ? r->op->who_ns : 0, r->by),               \
	       "length of this wait", NOBODY)                                                      \
	COLUMN(who_pid, OPS, ID, value_number(v, r->by ? r->by->pid : 0, r->by),                   \
	       "process of this somebody", NOBODY)                                                 \
	COLUMN(who_tid, OPS, ID, value_number(v, r->by ? r->by->tid : 0, r->by),                   \
	       "thread of this somebody", NOBODY)                                                  \
	COLUMN(who_comm, OPS, TEXT, value_text(v, r->by ? r->by->comm : NULL, COMM_LEN),           \
	       "name of this thread", NOBODY)                                                      \
	COLUMN(who_limit, OPS, TEXT,                                                               \
	       v->text = r->op ? limit_known(limit_of_id(r->op->who_limit)) : NULL,                \
	       "who is limit: the limit, such as io.max; process and thread are those that waited",\
	       .null = "of another kind", .json.words = &limit_words) \
	COLUMN(copied_up, OPS, BYTES,                                                              \
	       value_number(v, r->op ? r->op->copied_up : 0, r->op && r->op->copied_up),           \
	       "bytes of files that overlayfs copied to its upper layer in the operation",         \
	       .null = "none, or not known")
/* clang-format on */

enum {
	OF_OPS = EVENT_OF_OPS,
	OF_REQUESTS = EVENT_OF_REQUESTS,
	OF_BOTH = EVENT_OF_OPS | EVENT_OF_REQUESTS,
};

#define STRATUM_CALLED(id, name, ...) stratum_##name = ST_##id,
enum { STRATUM_LIST(STRATUM_CALLED) };

#define COLUMN_GETTER(name, of, kind, set, ...) GETTER(get_##name, event_row, set)
#define STRATUM_GETTER(name, of, more)                                                             \
	GETTER(get_##name##_ns, event_row, stratum_value(v, r, stratum_##name))

EVENT_COLUMNS(COLUMN_GETTER, STRATUM_GETTER)

#define NOT_KNOWN    .null = "not known"
#define OF_REQUEST   .null = "a request, or not known"
#define OF_OPERATION .null = "an operation"
#define NOBODY       .null = "a request, or no such wait lasted for 100 us, or not known"
#define NONE         .null = "none, or not known"
#define MISSING_OPS  .null = "a request, or not measured"
#define MISSING_BOTH .null = "not measured"

static const char *const types[] = { "op", "request" };
static const struct word_list type_words = { .list = types, .to = 2 };
static const struct word_list op_or_request = { op_known, .from = OP_READ, .to = OP_N,
						.more = &rq_words };

#define COLUMN_ROW(name_, of_, kind_, set, help_, ...)                                             \
	{ .name = #name_,                                                                          \
	  .title = #name_,                                                                         \
	  .kind = VALUE_##kind_,                                                                   \
	  .get = get_##name_,                                                                      \
	  .help = help_,                                                                           \
	  .of = OF_##of_,                                                                          \
	  __VA_ARGS__ },
#define STRATUM_ROW(name, of, more)                                                                \
	COLUMN_ROW(name##_ns, of, TIME, , "time in the stratum " #name more, MISSING_##of)

const struct column event_columns[] = { EVENT_COLUMNS(COLUMN_ROW, STRATUM_ROW){} };

#define COLUMN_BIT(...)
#define STRATUM_BIT(name, ...) | 1ULL << stratum_##name

_Static_assert((0 EVENT_COLUMNS(COLUMN_BIT, STRATUM_BIT)) == (1ULL << ST_N) - 1,
	       "a stratum has no column of events: append STRATUM(...) to EVENT_COLUMNS");
