// SPDX-License-Identifier: GPL-2.0-only
#include "capture/replay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/async.h"
#include "base/names.h"
#include "base/protocols.h"
#include "base/reason.h"
#include "capture/segments.h"
#include "host/limits.h"

/* The keys of the rows of a replay, and the names of the keys. */

void row_key_set(unsigned long long by[2], enum by_key what, const struct catalog_thread *t,
		 const struct catalog_file *f)
{
	switch (what) {
	case BY_PID:
		by[0] = t->pid;
		break;
	case BY_TID:
		by[0] = t->tid;
		break;
	case BY_THREAD:
		by[0] = (uint64_t)t->pid << 32 | t->tid;
		break;
	case BY_COMM:
		memcpy(by, t->comm, COMM_LEN);
		break;
	case BY_FILE:
		by[0] = f->key;
		by[1] = f->ino;
		break;
	case BY_CGROUP:
		by[0] = t->cgroup;
		break;
	case BY_DEV:
		by[0] = FILE_KEY_DEV(f->key);
		break;
	default:
		break;
	}
}

char *device_text(const struct recording *rec, uint64_t dev)
{
	const struct device *known = devices_find(&rec->header.devices, dev);
	const char *name = catalog_device(&rec->catalog, dev);
	char number[24];

	snprintf(number, sizeof(number), "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
	if (!dev)
		return strdup("(no disk)");
	if (!name || !strcmp(name, number)) /* the disk was gone when its name was looked up */
		name = known && known->name[0] ? known->name : number;
	return strdup(name);
}

static char *cgroup_name(const struct recording *rec, uint64_t id)
{
	const char *name = catalog_cgroup(&rec->catalog, id);
	char *text;

	if (name)
		return strdup(name);
	return asprintf(&text, "cgroup %llu", (unsigned long long)id) < 0 ? NULL : text;
}

char *row_key_text(const struct recording *rec, enum by_key what, const unsigned long long by[2])
{
	char *text = NULL;

	switch (what) {
	case BY_PID:
	case BY_TID:
		return asprintf(&text, "%llu", by[0]) < 0 ? NULL : text;
	case BY_COMM:
		return strndup((const char *)by, COMM_LEN);
	case BY_CGROUP:
		return cgroup_name(rec, by[0]);
	case BY_DEV:
		return by[0] ? device_text(rec, by[0]) : strdup("(no file)");
	default:
		return NULL;
	}
}

/* The name of a thread or process. */
struct known_name {
	uint64_t id;
	const struct catalog_thread *t;
	UT_hash_handle hh;
};

/* The last name of each thread or process; a process has the name of its first thread. NULL may
 * mean out of memory. */
static struct known_name *threads_of(const struct catalog *c, enum by_key by)
{
	struct known_name *threads = NULL, *k;
	const struct catalog_thread *t;
	uint64_t id;

	for (size_t i = 1; i < c->n_threads; i++) {
		t = &c->threads[i];
		id = by == BY_TID ? t->tid : t->pid;
		HASH_FIND(hh, threads, &id, sizeof(id), k);
		if (k && by == BY_PID && k->t->tid == k->t->pid && t->tid != t->pid)
			continue;
		if (!k && (k = calloc(1, sizeof(*k)))) {
			k->id = id;
			HASH_ADD(hh, threads, id, sizeof(id), k);
		}
		if (k)
			k->t = t;
	}
	return threads;
}

/* Sets the name of @id. Returns its thread. Returns NULL if not known. */
static const struct catalog_thread *row_name(struct known_name *threads, uint64_t id,
					     char ret_comm[COMM_LEN])
{
	struct known_name *k;

	HASH_FIND(hh, threads, &id, sizeof(id), k);
	if (!k || !id)
		return NULL;
	memcpy(ret_comm, k->t->comm, COMM_LEN);
	return k->t;
}

/* @commands: the rows are of processes, and have their command lines. */
static void rows_name(struct rows *rows, struct known_name *threads, bool commands)
{
	const struct catalog_thread *t;
	struct op_row *ops = (struct op_row *)rows->ops.rows;
	struct rq_row *rqs = (struct rq_row *)rows->rqs.rows;

	for (size_t n = 0; n < rows->ops.n; n++) {
		t = row_name(threads, ops[n].key.by[0], ops[n].comm);
		if (!t || !t->command || !commands)
			continue;
		free(ops[n].command);
		ops[n].command = strdup(t->command);
	}
	for (size_t n = 0; n < rows->rqs.n; n++)
		row_name(threads, rqs[n].key.by[0], rqs[n].comm);
}

/* The number of the host of @rec, from 1 on; 0 if hosts are together; -ENOMEM. */
static ssize_t host_number(struct replay *r, const struct recording *rec)
{
	const char *name = rec->header.host ? rec->header.host : "(host not known)";
	char **list;

	if (!r->conf.hosts && r->conf.by != BY_HOST)
		return 0;
	for (size_t i = 1; i < r->n_hosts; i++)
		if (!strcmp(r->hosts[i], name))
			return i;
	list = reallocarray(r->hosts, r->n_hosts + 2, sizeof(*list));
	if (!list)
		return -ENOMEM;
	r->hosts = list;
	if (!r->n_hosts)
		list[r->n_hosts++] = NULL;
	list[r->n_hosts] = strdup(name);
	return list[r->n_hosts] ? (ssize_t)r->n_hosts++ : -ENOMEM;
}

/* Whether operations of several hosts have separate rows. */
static bool ops_are_apart(enum by_key by)
{
	return by != BY_NONE && by != BY_COMM && by != BY_CACHE && by != BY_SERVER;
}

/* The rows for operations or requests of @rec. Returns NULL if out of memory. */
static struct replay_rows *rows_of(struct replay *r, struct replay_interval *iv,
				   const struct recording *rec, bool are_ops)
{
	ssize_t host = are_ops && !ops_are_apart(r->conf.by) ? 0 : host_number(r, rec);
	struct replay_rows *list;

	if (host < 0)
		return NULL;
	if ((size_t)host < iv->n_hosts)
		return &iv->hosts[host];
	list = reallocarray(iv->hosts, host + 1, sizeof(*list));
	if (!list)
		return NULL;
	memset(list + iv->n_hosts, 0, (host + 1 - iv->n_hosts) * sizeof(*list));
	iv->hosts = list;
	iv->n_hosts = host + 1;
	return &list[host];
}

/* Names the rows of processes or threads. */
static void replay_name_threads(struct replay *r, const struct recording *rec)
{
	struct known_name *threads = threads_of(&rec->catalog, r->conf.by), *k, *next;
	ssize_t host = host_number(r, rec);

	for (size_t i = 0; i < r->n_intervals && host >= 0; i++) {
		struct replay_interval *iv = &r->intervals[i];

		if (iv->n_hosts > (size_t)host)
			rows_name(&iv->hosts[host].rows, threads,
				  r->conf.commands && r->conf.by == BY_PID);
	}
	HASH_ITER (hh, threads, k, next) {
		HASH_DEL(threads, k);
		free(k);
	}
}

/* A file system type; in keys it is FS_KEY_FIRST + its number. */
struct replay_fs {
	char name[FS_NAME_LEN];
	unsigned int probed; /* in all recordings */
};

enum { FS_KEY_FIRST = 16 };

uint64_t replay_fs_key(struct replay *r, const struct recording *rec, uint64_t fs)
{
	const char *name = catalog_fs(&rec->catalog, fs);
	struct replay_fs *list;
	size_t i;

	if (fs == STORED_FS_BDEV)
		return FS_BDEV;
	if (!name[0])
		return FS_UNKNOWN;
	for (i = 0; i < r->n_fs; i++)
		if (!strcmp(r->fs[i].name, name))
			return FS_KEY_FIRST + i;
	list = reallocarray(r->fs, r->n_fs + 1, sizeof(*list));
	if (!list)
		return 0;
	r->fs = list;
	list[r->n_fs].probed = ~0U;
	memcpy(list[r->n_fs].name, name, FS_NAME_LEN);
	return FS_KEY_FIRST + r->n_fs++;
}

/* The interval for a record that ended at @ns. Real time puts several recordings on one timeline.
 * */
static struct replay_interval *interval_at(struct replay *r, const struct recording *rec,
					   uint64_t ns, struct reason *why)
{
	uint64_t real_ns = ns - rec->header.monotonic_ns + rec->header.realtime_ns, i = 0;
	struct replay_interval *list;

	if (r->conf.every_ns && real_ns > r->conf.first_ns)
		i = (real_ns - r->conf.first_ns) / r->conf.every_ns;
	if (i >= REPLAY_INTERVALS) {
		reason_set(why, EXIT_FAILED, "more than %d intervals", REPLAY_INTERVALS);
		reason_hint(why, "choose a longer one, or a part by --from and --to");
		return NULL;
	}
	if (i < r->n_intervals)
		return &r->intervals[i];
	list = reallocarray(r->intervals, i + 1, sizeof(*list));
	if (!list) {
		reason_no_memory(why);
		return NULL;
	}
	memset(list + r->n_intervals, 0, (i + 1 - r->n_intervals) * sizeof(*list));
	r->intervals = list;
	r->n_intervals = i + 1;
	return &list[i];
}

/* Starts a row with key @by: sets its text, or keeps the name of @f for later. Returns 0 or
 * -ENOMEM. */
static int row_begin(struct replay *r, struct replay_rows *of, const struct recording *rec,
		     const struct catalog_file *f, const unsigned long long by[2], char **ret_by)
{
	enum by_key what = r->conf.by;
	struct file_name name;

	if (what == BY_SERVER) {
		*ret_by = strdup(r->server);
		return *ret_by ? 0 : -ENOMEM;
	}
	*ret_by = row_key_text(rec, what, by);
	if (what == BY_FILE && f->ino && !(f->flags & STORED_FILE_NAMELESS)) {
		catalog_file_name(f, &name);
		return filenames_add(&of->names, by, &name);
	}
	return *ret_by || what == BY_NONE || what == BY_FILE || what == BY_CACHE ||
			       what == BY_HOST || what == BY_THREAD
		       ? 0
		       : -ENOMEM;
}

/* Adds a read or write of a file, whose offset is known, to the pattern of its row. Returns 0 or
 * -ENOMEM.
 */
static int op_pattern_add(struct op_row *row, const struct stored_op *op)
{
	unsigned int acts = async_acts(op->kind, op->call);
	int64_t bytes = op->ret;

	if ((acts != OP_READ && acts != OP_WRITE) || bytes <= 0 || op->offset == ~0ULL ||
	    !row->key.by[1])
		return 0;
	if (!row->pattern)
		row->pattern = calloc(1, sizeof(*row->pattern));
	return row->pattern ? access_pattern_add(row->pattern, op->offset, bytes) : -ENOMEM;
}

/* The number of the operation's server, whose name is then in r->server. */
static unsigned long long server_find(struct replay *r, const struct recording *rec, uint64_t fs,
				      const struct catalog_file *f)
{
	header_server(&rec->header, FILE_KEY_DEV(f->key), catalog_fs(&rec->catalog, fs), r->server);
	return mount_server_number(r->server);
}

/* Sets the part of a row's key for which rows are summed up. */
static void op_key_by(struct replay *r, const struct recording *rec, uint64_t owner, uint64_t fs,
		      const struct catalog_file *f, unsigned long long ret_by[2])
{
	if (r->conf.by == BY_SERVER)
		ret_by[0] = server_find(r, rec, fs, f);
	else
		row_key_set(ret_by, r->conf.by, catalog_thread(&rec->catalog, owner), f);
}

/* Adds a copy of two files to the row of the file to which it wrote, unless this is @from, the row
 * of the other file; see OP_COPY_TO. Returns 0 or -ENOMEM. */
static int copy_add(struct replay *r, struct replay_rows *of, const struct recording *rec,
		    const struct stored_op *op, const struct op_key *from)
{
	const struct catalog_file *f = catalog_file(&rec->catalog, op->copied_to);
	struct op_key key = { .fs = replay_fs_key(r, rec, op->copied_fs), .op = OP_COPY_TO };
	struct op_sums sums = { .count = 1, .bytes = op->ret };
	struct op_row *row;

	op_key_by(r, rec, op->owner, op->copied_fs, f, key.by);
	if (key.fs == from->fs && !memcmp(key.by, from->by, sizeof(key.by)))
		return 0;
	row = key.fs ? rows_op(&of->rows, &key) : NULL;
	if (!row || (!row->count && row_begin(r, of, rec, f, row->key.by, &row->by)))
		return -ENOMEM;
	if (!row->count)
		snprintf(row->fs, sizeof(row->fs), "%s", catalog_fs(&rec->catalog, op->copied_fs));
	op_row_add(row, &sums);
	return 0;
}

/* Adds the longest wait of @op for somebody else. A wait in a submission is part of its request,
 * whose record has it, too. Returns 0 or -ENOMEM. */
static int who_add(struct replay *r, struct replay_rows *of, const struct recording *rec,
		   const struct stored_op *op)
{
	const struct catalog_thread *t = catalog_thread(&rec->catalog, op->who_thread);
	bool limited = op->who == WHO_LIMIT;
	struct who_key key = { .pid = t->pid,
			       .op = op->kind,
			       .who = op->who,
			       .limit = limited ? limit_of_id(op->who_limit) : LIMIT_NONE };
	const char *limit = limited ? catalog_limit(&rec->catalog, op->who_limit) : NULL;
	const struct who_sums sums = { 1, op->who_ns, op->who_ns };
	struct who_row *row;

	if (!op->who || op->who >= WHO_N || op->kind == OP_SUBMIT || r->conf.layer != LAYER_OPS)
		return 0;
	if (limited)
		key.cgroup = t->cgroup;
	else
		memcpy(key.comm, t->comm, COMM_LEN);
	row = rows_who(&of->rows, &key);
	if (!row)
		return -ENOMEM;
	if (limit && !row->limit)
		row->limit = strdup(limit);
	if (r->conf.commands && t->command && !row->command)
		row->command = strdup(t->command);
	who_row_add(row, &sums);
	return 0;
}

static int op_add(struct replay *r, struct replay_interval *iv, const struct recording *rec,
		  const struct stored_op *op)
{
	struct replay_rows *of = rows_of(r, iv, rec, true);
	const struct catalog_file *f = catalog_file(&rec->catalog, op->file);
	struct op_key key = { .fs = replay_fs_key(r, rec, op->fs), .op = op->kind };
	struct op_sums sums;
	struct op_row *row;

	if (r->conf.layer == LAYER_SYSCALL || async_is_by_call(op->kind, op->call) ||
	    r->conf.calls || (r->conf.meta_calls && (op->kind == OP_META || op->kind == OP_FSYNC)))
		key.call = op->call;
	if (r->conf.by == BY_CACHE)
		key.cache = op->cache;
	op_key_by(r, rec, op->owner, op->fs, f, key.by);
	row = key.fs && of ? rows_op(&of->rows, &key) : NULL;
	if (!row || (!row->count && row_begin(r, of, rec, f, row->key.by, &row->by)))
		return -ENOMEM;
	if (!row->count)
		snprintf(row->fs, sizeof(row->fs), "%s", catalog_fs(&rec->catalog, op->fs));
	stored_op_sums(op, &sums);
	if (r->conf.layer != LAYER_OPS) {
		memset(sums.strata, 0, sizeof(sums.strata));
		sums.device_bytes = 0;
	}
	op_row_add(row, &sums);
	if (r->conf.patterns && r->conf.by == BY_FILE && op_pattern_add(row, op))
		return -ENOMEM;
	if (hist_add(&row->hist, hist_bucket(sums.total_ns), 1) || who_add(r, of, rec, op))
		return -ENOMEM;
	return op->copied_to && r->conf.layer == LAYER_OPS ? copy_add(r, of, rec, op, &key) : 0;
}

/* Requests can have a row for each submitter, but not for the device of their file system. */
static bool requests_are_by(enum by_key by)
{
	return by != BY_NONE && by != BY_DEV && by != BY_CACHE && by != BY_HOST && by != BY_SERVER;
}

static int request_row_begin(struct replay *r, struct replay_rows *of, const struct recording *rec,
			     const struct stored_request *rq, struct rq_row *row)
{
	const struct catalog_file *f = catalog_file(&rec->catalog, rq->file);
	char *name = device_text(rec, row->key.dev);

	if (!name)
		return -ENOMEM;
	row->major = DEV_MAJOR(row->key.dev);
	row->minor = DEV_MINOR(row->key.dev);
	snprintf(row->disk, sizeof(row->disk), "%s", name);
	free(name);
	if (!requests_are_by(r->conf.by) || !row->key.by[0])
		return 0;
	return row_begin(r, of, rec, f, row->key.by, &row->by);
}

/* Adds a read or write to the pattern of its row. Returns 0 or -ENOMEM. */
static int request_pattern_add(struct rq_row *row, const struct stored_request *rq)
{
	if ((rq->op != RQ_READ && rq->op != RQ_WRITE) || !rq->bytes)
		return 0;
	if (!row->pattern)
		row->pattern = calloc(1, sizeof(*row->pattern));
	return row->pattern ? access_pattern_add(row->pattern, rq->sector << 9, rq->bytes)
			    : -ENOMEM;
}

static int request_add(struct replay *r, struct replay_interval *iv, const struct recording *rec,
		       const struct stored_request *rq)
{
	struct replay_rows *of = rows_of(r, iv, rec, false);
	struct rq_key key = { .dev = rq->dev,
			      .op = rq->op,
			      .bio_based = !!(rq->flags & STORED_RQ_BIO_BASED) };
	bool failed = rq->flags & STORED_RQ_FAILED;
	/* see request_done(); merges is 32 bits in the programs */
	uint32_t n = key.bio_based && rq->merges < UINT32_MAX ? 1 + rq->merges : 1;
	struct rq_sums sums = {
		.count = n,
		.errors = failed ? n : 0,
		.bytes = failed ? 0 : rq->bytes,
		.requeues = rq->requeues,
		.unqueued = rq->flags & STORED_RQ_UNQUEUED ? n : 0,
		.outside = rq->flags & STORED_RQ_OUTSIDE ? n : 0,
		.tag_ns = n * rq->tag_ns,
		.queue_ns = n * rq->queue_ns,
		.device_ns = n * rq->device_ns,
	};
	struct rq_row *row;

	if (requests_are_by(r->conf.by))
		row_key_set(key.by, r->conf.by, catalog_thread(&rec->catalog, rq->owner),
			    catalog_file(&rec->catalog, rq->file));
	row = of ? rows_rq(&of->rows, &key) : NULL;
	if (!row || (!row->count && request_row_begin(r, of, rec, rq, row)))
		return -ENOMEM;
	sums.max_ns = rq->device_ns + (r->conf.queued ? rq->tag_ns + rq->queue_ns : 0);
	rq_row_add(row, &sums);
	if (r->conf.patterns && !requests_are_by(r->conf.by) && request_pattern_add(row, rq))
		return -ENOMEM;
	return hist_add(&row->hist, hist_bucket(sums.max_ns), n);
}

/* Sets who the longest wait of @op for somebody else was due to. */
static void slow_who_fill(const struct replay *r, struct slow_op *ret, const struct recording *rec,
			  const struct stored_op *op)
{
	const struct catalog_thread *t = catalog_thread(&rec->catalog, op->who_thread);

	if (!op->who || op->who >= WHO_N)
		return;
	ret->by = (struct sent_by){ .ns = op->who_ns,
				    .thread = { .pid = t->pid,
						.tid = t->tid,
						.op = op->who_op < OP_N ? op->who_op : OP_NONE,
						.who = op->who,
						.limit = limit_of_id(op->who_limit) } };
	memcpy(ret->by.thread.comm, t->comm, COMM_LEN);
	if (r->conf.commands && t->command)
		ret->by_command = strdup(t->command);
	if (op->who == WHO_LIMIT && catalog_limit(&rec->catalog, op->who_limit))
		ret->by_limit = strdup(catalog_limit(&rec->catalog, op->who_limit));
}

static void slow_op_fill(struct replay *r, struct slow_op *ret, const struct recording *rec,
			 const struct stored_event *ev)
{
	const struct stored_op *op = &ev->op;
	const struct catalog_thread *t = catalog_thread(&rec->catalog, op->owner);
	const struct catalog_file *f = catalog_file(&rec->catalog, op->file);

	slow_op_set_stored(ret, op);
	ret->fs = replay_fs_key(r, rec, op->fs);
	ret->who = (struct sent_who){ .pid = t->pid, .tid = t->tid, .cgroup = t->cgroup };
	ret->dev = FILE_KEY_DEV(f->key);
	ret->ino = f->ino;
	ret->recording = r->recording;
	ret->real_ns = op->start_ns - rec->header.monotonic_ns + rec->header.realtime_ns;
	if (op->start_ns > rec->header.monotonic_ns)
		ret->at_ns = op->start_ns - rec->header.monotonic_ns;
	memcpy(ret->who.comm, t->comm, COMM_LEN);
	if (r->conf.commands && t->command)
		ret->command = strdup(t->command);
	t = catalog_thread(&rec->catalog, op->helper);
	ret->helper.pid = t->pid;
	ret->helper.tid = t->tid;
	memcpy(ret->helper.comm, t->comm, COMM_LEN);
	slow_who_fill(r, ret, rec, op);
	ret->has_segments = segments_unpack(&ret->segments, op->strata, ev->segments, op->segments);
	catalog_file_name(f, &ret->file);
}

/* Keeps the slowest operations, biggest first. */
static int slowest_add(struct replay *r, struct replay_interval *iv, const struct recording *rec,
		       const struct stored_event *ev)
{
	size_t max = r->conf.slowest_max;
	uint64_t end = stored_event_end(ev);
	struct slow_op *place, *last;

	if (!opt_strings_pass(r->conf.slowest_fs, catalog_fs(&rec->catalog, ev->op.fs),
			      FS_NAME_LEN))
		return 0;
	if (!iv->slowest)
		iv->slowest = calloc(max, sizeof(*iv->slowest));
	if (!iv->slowest)
		return -ENOMEM;
	last = iv->n_slowest == max ? &iv->slowest[max - 1] : NULL;
	if (last && stored_op_total(&ev->op) <= last->total_ns)
		return 0;
	place = slowest_place(iv->slowest, &iv->n_slowest, max, stored_op_total(&ev->op));
	slow_op_fill(r, place, rec, ev);
	iv->slow_end_ns = end > iv->slow_end_ns ? end : iv->slow_end_ns;
	return slow_requests_find(place, rec, &r->recent);
}

/* Adds a request in the interval @iv to those of the slowest operations. An operation may have come
 * before its requests. */
static int slow_requests_add(struct replay *r, const struct replay_interval *iv,
			     const struct recording *rec, const struct stored_request *rq)
{
	int err = recent_add(&r->recent, rq);

	for (; iv < r->intervals + r->n_intervals; iv++) {
		if (rq->q_ns >= iv->slow_end_ns)
			continue;
		for (size_t i = 0; i < iv->n_slowest && !err; i++)
			if (iv->slowest[i].recording == r->recording)
				err = slow_request_add(&iv->slowest[i], rec, rq);
	}
	return err;
}

int replay_add(struct replay *r, const struct recording *rec, const struct stored_event *ev,
	       struct reason *why)
{
	bool is_op = ev->kind == CHUNK_OPS;
	struct replay_interval *iv;
	uint64_t end;
	int err = 0;

	if (!is_op && ev->kind != CHUNK_REQUESTS)
		return 0;
	end = stored_event_end(ev);
	if (end < rec->from_ns || end >= rec->to_ns)
		return 0;
	iv = interval_at(r, rec, end, why);
	if (!iv)
		return -1;
	if (is_op && async_is_request(ev->op.kind, ev->op.call) && r->conf.layer != LAYER_OPS)
		return 0; /* not a system call */
	if (is_op && stored_op_outside(ev->op.kind) && r->conf.layer != LAYER_OPS)
		return 0;
	if (is_op && r->conf.layer != LAYER_BLK)
		err = op_add(r, iv, rec, &ev->op);
	if (is_op && r->conf.slowest_max && !err)
		err = slowest_add(r, iv, rec, ev);
	if (!is_op && r->conf.layer != LAYER_SYSCALL)
		err = request_add(r, iv, rec, &ev->request);
	if (!is_op && r->conf.slowest_max && !err)
		err = slow_requests_add(r, iv, rec, &ev->request);
	return err ? reason_no_memory(why) : 0;
}

/* The end of the interval in which @ns is, in the time of @rec. */
static uint64_t interval_end(const struct replay *r, const struct recording *rec, uint64_t ns)
{
	uint64_t first = r->conf.first_ns - rec->header.realtime_ns + rec->header.monotonic_ns;

	if (!r->conf.every_ns)
		return UINT64_MAX;
	return ns < first ? first + r->conf.every_ns
			  : ns + r->conf.every_ns - (ns - first) % r->conf.every_ns;
}

/* Spreads @loss over the intervals of its time. Losses after the end of @rec count in its last
 * interval. Returns 0, or -1 with @why. */
static int loss_spread(struct replay *r, const struct recording *rec,
		       const struct stored_loss *loss, struct reason *why)
{
	uint64_t to = loss->to_ns < rec->to_ns ? loss->to_ns + 1 : rec->to_ns, ns, end;
	uint64_t last = rec->header.monotonic_ns + recording_covers(rec);
	struct replay_interval *iv;

	ns = loss->from_ns < loss->to_ns ? loss->from_ns : loss->to_ns;
	ns = ns > rec->from_ns ? ns : rec->from_ns;
	last = last > rec->from_ns ? last - 1 : rec->from_ns;
	for (; ns < to; ns = end) {
		end = interval_end(r, rec, ns);
		end = end > ns && end < to && end <= last ? end : to;
		iv = interval_at(r, rec, ns < last ? ns : last, why);
		if (!iv)
			return -1;
		iv->lost[loss->kind] += loss_part(loss, ns, end);
	}
	return 0;
}

int replay_end(struct replay *r, const struct recording *rec, struct reason *why)
{
	uint64_t key;

	for (size_t i = 0; i < rec->losses.n; i++)
		if (loss_spread(r, rec, &rec->losses.list[i], why))
			return -1;

	r->recording++;
	r->recent.n = 0;
	for (size_t i = 0; i < r->n_intervals; i++)
		r->intervals[i].slow_end_ns = 0;
	if (r->conf.by == BY_PID || r->conf.by == BY_TID)
		replay_name_threads(r, rec);

	r->vfs_kinds |= rec->header.vfs_kinds;
	for (int fs = STORED_FS_FIRST; fs < CATALOG_FS; fs++) {
		key = rec->catalog.fs[fs].name[0] ? replay_fs_key(r, rec, fs) : 0;
		if (key >= FS_KEY_FIRST)
			r->fs[key - FS_KEY_FIRST].probed &= rec->catalog.fs[fs].probed;
	}
	return 0;
}

unsigned int replay_missing_layers(const struct replay *r, const struct op_row *row)
{
	unsigned int probed = 0, set = 0;

	if (row->key.fs >= FS_KEY_FIRST)
		probed = r->fs[row->key.fs - FS_KEY_FIRST].probed;
	if (row->key.op >= OP_N || !(r->vfs_kinds >> row->key.op & 1))
		set |= 1U << ST_VFS;
	if (row->key.op >= OP_N || !(probed >> async_layers(row->key.op, row->key.call) & 1))
		set |= 1U << ST_FS;
	if (fs_has_server(row->fs) && !fs_server_is_traced(row->fs))
		set |= 1U << ST_SERVER;
	return set | async_unmeasured(row->key.op, row->key.call);
}

/* Puts @host before the key @by, or in its place. Returns 0 or -ENOMEM. */
static int host_put(enum by_key what, const char *host, char **by)
{
	char *text = NULL;

	if (what == BY_HOST)
		text = strdup(host);
	else if (!*by || what == BY_COMM || what == BY_SERVER)
		return 0;
	else if (asprintf(&text, "%s:%s", host, *by) < 0)
		text = NULL;
	free(*by);
	*by = text;
	return text ? 0 : -ENOMEM;
}

/* All rows of @sn belong to host number @number. Names the host in them, and makes their keys
 * different from those of other hosts. Returns 0 or -ENOMEM. */
static int host_name(const struct replay *r, size_t number, struct snapshot *sn)
{
	const char *host = r->hosts[number];
	char disk[sizeof(sn->rqs->disk)];
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++) {
		sn->ops[i].key.by[1] ^= (unsigned long long)number << 48;
		err = host_put(r->conf.by, host, &sn->ops[i].by);
	}
	for (size_t i = 0; i < sn->n_files; i++)
		sn->files[i].row[1] ^= (unsigned long long)number << 48;
	for (size_t i = 0; i < sn->n_rqs && !err; i++) {
		memcpy(disk, sn->rqs[i].disk, sizeof(disk));
		if (r->conf.hosts)
			snprintf(sn->rqs[i].disk, sizeof(disk), "%.*s:%.15s",
				 (int)sizeof(disk) - 17, host, disk);
		err = host_put(r->conf.by, host, &sn->rqs[i].by);
	}
	return err;
}

static int rows_append(void **to, size_t *n_to, void *from, size_t n, size_t size)
{
	char *list = reallocarray(*to, *n_to + n + 1, size);

	if (!list)
		return -ENOMEM;
	if (n)
		memcpy(list + *n_to * size, from, n * size);
	*to = list;
	*n_to += n;
	return 0;
}

/* Moves the rows @of host number @host (0: of all hosts) to @sn. Returns 0 or -ENOMEM. */
static int host_take(struct replay *r, struct replay_rows *of, size_t host, struct snapshot *sn)
{
	struct snapshot own = {};
	int err = 0;

	rows_take(&of->rows, &own);
	if (r->conf.by == BY_FILE)
		err = filenames_name(&of->names, &own);
	if (!err && host && (r->conf.hosts || r->conf.by == BY_HOST))
		err = host_name(r, host, &own);
	if (!err)
		err = rows_append((void **)&sn->ops, &sn->n_ops, own.ops, own.n_ops,
				  sizeof(*own.ops));
	if (!err)
		own.n_ops = 0; /* moved */
	if (!err)
		err = rows_append((void **)&sn->rqs, &sn->n_rqs, own.rqs, own.n_rqs,
				  sizeof(*own.rqs));
	if (!err)
		own.n_rqs = 0;
	if (!err)
		err = rows_append((void **)&sn->whos, &sn->n_whos, own.whos, own.n_whos,
				  sizeof(*own.whos));
	if (!err)
		own.n_whos = 0;
	if (!err)
		err = rows_append((void **)&sn->files, &sn->n_files, own.files, own.n_files,
				  sizeof(*own.files));
	snapshot_free(&own);
	return err;
}

int replay_take(struct replay *r, size_t i, struct snapshot *sn)
{
	struct replay_interval *iv = &r->intervals[i];
	int err = 0;

	*sn = (struct snapshot){};
	for (size_t h = 0; h < iv->n_hosts && !err; h++)
		err = host_take(r, &iv->hosts[h], h, sn);
	snapshot_files_sort(sn);
	snapshot_whos_sort(sn);
	sn->has_whos = r->conf.layer == LAYER_OPS;
	memcpy(sn->lost, iv->lost, sizeof(sn->lost));
	for (size_t n = 0; n < sn->n_ops; n++)
		sn->ops[n].missing_layers = replay_missing_layers(r, &sn->ops[n]);
	return err;
}

static void interval_done(struct replay_interval *iv)
{
	for (size_t h = 0; h < iv->n_hosts; h++) {
		rows_done(&iv->hosts[h].rows);
		filenames_done(&iv->hosts[h].names);
	}
	free(iv->hosts);
	for (size_t i = 0; i < iv->n_slowest; i++)
		slow_op_done(&iv->slowest[i]);
	free(iv->slowest);
}

void replay_done(struct replay *r)
{
	for (size_t i = 0; i < r->n_intervals; i++)
		interval_done(&r->intervals[i]);
	for (size_t h = 1; h < r->n_hosts; h++)
		free(r->hosts[h]);
	free(r->hosts);
	free(r->intervals);
	free(r->fs);
	recent_done(&r->recent);
	*r = (struct replay){};
}
