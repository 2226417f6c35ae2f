// SPDX-License-Identifier: GPL-2.0-only
/* explain_attribute.c - the properties of an operation or request: their values, and words for
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "base/limit_text.h"
#include "base/names.h"
#include "base/text.h"
#include "capture/replay.h"
#include "host/container.h"
#include "host/limits.h"
#include "host/path.h"

enum { ALIGN_LEAST = 9, ALIGN_MOST = 12 }; /* sectors to pages, as powers of 2 */
enum { CROSSING_LEAST = 12, CROSSING_MOST = 30 };

static const struct {
	const char *name;
	unsigned int bins; /* 0: values have no order */
	unsigned int most; /* number of values; 0: that of the names in the recording, or bins */
	double weight;
	enum explain_class class;
} attributes[ATTR_N] = {
	[ATTR_BESIDE] = { "beside", 0, BESIDE_MAX, 1, CLASS_CAUSE },
	[ATTR_DURING] = { "during", 0, EPISODE_GAPS *BESIDE_MAX, 1, CLASS_CAUSE },
	[ATTR_HOLDER] = { "holder", 0, 0, 1, CLASS_CAUSE },
	[ATTR_SEQUENCE] = { "sequence", 0, 1, 1, CLASS_CAUSE },
	[ATTR_MEMBER] = { "member", 0, BESIDE_DISKS, 1, CLASS_CAUSE },
	[ATTR_FILE] = { "file", 0, 0, 1, CLASS_CAUSE },
	[ATTR_DIRECTORY] = { "directory", 0, 0, 1, CLASS_CAUSE },
	[ATTR_DISK] = { "disk", 0, 16, 1, CLASS_CAUSE },
	[ATTR_CROSSING] = { "crossing", CROSSING_MOST - CROSSING_LEAST + 2, 0, 1, CLASS_CAUSE },
	[ATTR_OFFSET] = { "offset", SCAN_BINS, 0, 1, CLASS_CAUSE },
	[ATTR_SIZE] = { "size", 41, 0, 1, CLASS_CAUSE },
	[ATTR_ALIGNMENT] = { "alignment", ALIGN_MOST - ALIGN_LEAST + 2, 0, 1, CLASS_CAUSE },
	[ATTR_PROCESS] = { "process", 0, 0, 1, CLASS_CAUSE },
	[ATTR_THREAD] = { "thread", 0, 0, 1, CLASS_CAUSE },
	[ATTR_COMM] = { "comm", 0, 0, 1, CLASS_CAUSE },
	[ATTR_CGROUP] = { "cgroup", 0, 0, 1, CLASS_CAUSE },
	[ATTR_CONTAINER] = { "container", 0, 0, 1, CLASS_CAUSE },
	[ATTR_FUNCTION] = { "function", 0, 0, 1, CLASS_CAUSE },
	[ATTR_LINE] = { "line", 0, 0, 1, CLASS_CAUSE },
	[ATTR_LIBRARY] = { "library", 0, 0, 1, CLASS_CAUSE },
	[ATTR_WHO] = { "who", 0, 0, 1, CLASS_CAUSE },
	[ATTR_IDLE] = { "idle", 18, 0, 0.8, CLASS_CAUSE },
	[ATTR_DEPTH] = { "depth", 17, 0, 0.5, CLASS_SYMPTOM },
	[ATTR_KIND] = { "kind", 0, OP_N, 0.9, CLASS_WAY },
	[ATTR_FS] = { "fs", 0, 16, 1, CLASS_CAUSE },
	[ATTR_CALL] = { "call", 0, 64, 0.9, CLASS_WAY },
	[ATTR_MODE] = { "mode", 0, 4, 0.9, CLASS_WAY },
	[ATTR_RESULT] = { "result", 0, 16, 0.9, CLASS_WAY },
	[ATTR_CACHE] = { "cache", 0, CACHE_N, 0.75, CLASS_WAY },
	[ATTR_REQUESTS] = { "requests", 17, 0, 0.5, CLASS_SYMPTOM },
	[ATTR_MERGES] = { "merges", 17, 0, 0.9, CLASS_WAY },
	[ATTR_REQUEUES] = { "requeues", 9, 0, 0.9, CLASS_WAY },
	[ATTR_STRATUM] = { "stratum", 0, ST_N, 0.4, CLASS_SYMPTOM },
	[ATTR_TIME] = { "time", 0, 2, 0.75, CLASS_TIME },
	[ATTR_PERIOD] = { "period", 0, 1, 0.85, CLASS_TIME },
	[ATTR_STEP] = { "step", 0, 1, 0.75, CLASS_TIME },
	[ATTR_GROWTH] = { "growth", 0, 1, 0.75, CLASS_TIME },
};

/* How operations use the page cache and wait for the disk. */
enum { COMMAND_SHOWN = 80 }; /* bytes of a command line */

enum mode { MODE_BUFFERED, MODE_DIRECT, MODE_SYNC };

const char *explain_attribute_name(enum explain_attribute attribute)
{
	return attributes[attribute].name;
}

unsigned int explain_attribute_bins(enum explain_attribute attribute)
{
	return attributes[attribute].bins;
}

enum explain_class explain_attribute_class(enum explain_attribute attribute)
{
	return attributes[attribute].class;
}

double explain_attribute_weight(enum explain_attribute attribute)
{
	return attributes[attribute].weight;
}

uint64_t explain_attribute_values(const struct scan *s, enum explain_attribute attribute)
{
	if (attributes[attribute].bins)
		return 1;
	if (attributes[attribute].most)
		return attributes[attribute].most;
	if (attribute == ATTR_FILE || attribute == ATTR_DIRECTORY)
		return s->rec->catalog.n_files;
	if (attribute >= ATTR_FUNCTION && attribute <= ATTR_LIBRARY)
		return explain_callers_values(&s->callers, attribute);
	return s->rec->catalog.n_threads;
}

/* FNV-1a, of G. Fowler, L. C. Noll and K.-P. Vo. */
static uint64_t hash_bytes(const char *bytes, size_t n, uint64_t hash)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ULL;
	return hash;
}

static uint64_t hash_number(uint64_t n)
{
	uint64_t hash = hash_bytes((const char *)&n, sizeof(n), 0xcbf29ce484222325ULL);

	return hash == NO_VALUE ? 0 : hash;
}

/* @comm may lack a NUL. */
static uint64_t hash_name(const char comm[COMM_LEN])
{
	return hash_bytes(comm, strnlen(comm, COMM_LEN), hash_number(1));
}

/* The disk of the file system @dev, by the devices in the recording. A file system without a
 * separate device number (btrfs) is found by its mounted disk. */
static unsigned int disk_of(struct scan *s, unsigned int dev)
{
	const struct header *h = &s->rec->header;
	const struct header_mount *m;
	const struct device *d;

	if (dev == s->last_dev)
		return s->last_disk;
	d = devices_find(&h->devices, dev);
	m = d ? NULL : header_mount(h, dev);
	if (m && !strncmp(m->source, "/dev/", 5))
		d = devices_named(&h->devices, m->source + 5);
	s->last_dev = dev;
	s->last_disk = d ? devices_disk(&h->devices, d->dev) : dev;
	return s->last_disk;
}

void explain_scan_item_fill(struct scan_item *ret, struct scan *s, const struct stored_event *ev)
{
	const struct catalog *c = &s->rec->catalog;
	const struct stored_request *rq = &ev->request;
	bool is_op = ev->kind == CHUNK_OPS || ev->kind == CHUNK_STACKS,
	     ranged = is_op && op_has_range(ev->op.kind);

	if (is_op) {
		*ret = (struct scan_item){ .op = &ev->op,
					   .owner = ev->op.owner,
					   .file = ev->op.file,
					   .start_ns = ev->op.start_ns,
					   .total_ns = stored_op_total(&ev->op),
					   .offset = ranged ? ev->op.offset : NO_VALUE,
					   .len = ranged ? ev->op.len : NO_VALUE };
		ret->disk = disk_of(s, FILE_KEY_DEV(catalog_file(c, ret->file)->key));
	} else {
		*ret = (struct scan_item){ .rq = rq,
					   .owner = rq->owner,
					   .file = rq->file,
					   .start_ns = rq->q_ns,
					   .total_ns = stored_event_total(ev),
					   .offset = rq->sector == NO_VALUE || !rq->bytes
							     ? NO_VALUE
							     : rq->sector * 512,
					   .len = rq->bytes,
					   .disk = rq->dev };
	}
	ret->thread = catalog_thread(c, ret->owner);
	ret->by = ret->op ? catalog_thread(c, ret->op->who_thread) : NULL;
}

/* 0, 1, 2 to 3, 4 to 7 ... have a bin each. */
static uint64_t bin_of(uint64_t n, unsigned int bins)
{
	unsigned int bin = n ? 64 - __builtin_clzll(n) : 0;

	return bin < bins ? bin : bins - 1;
}

static uint64_t align_bin(uint64_t offset, uint64_t len)
{
	unsigned int zeroes = offset | len ? __builtin_ctzll(offset | len) : ALIGN_MOST;

	if (zeroes < ALIGN_LEAST)
		return 0;
	return 1 + (zeroes < ALIGN_MOST ? zeroes : ALIGN_MOST) - ALIGN_LEAST;
}

static uint64_t directory_make(const struct catalog_file *f)
{
	size_t name = f->names ? strnlen(f->names, f->len) + 1 : 0;

	if (!f->ino || f->flags & STORED_FILE_NAMELESS || name >= f->len)
		return NO_VALUE;
	return hash_bytes(f->names + name, f->len - name, hash_number(FILE_KEY_DEV(f->key)));
}

/* The bin of the largest power of 2 with a multiple inside the range, or 0 if there is none. A
 * range of more than half of the power has no choice, so it does not count. */
static uint64_t crossing_bin(uint64_t offset, uint64_t len)
{
	uint64_t unit;

	for (int k = CROSSING_MOST; k >= CROSSING_LEAST; k--) {
		unit = 1ULL << k;
		if (len > unit / 2)
			break;
		if ((offset & (unit - 1)) + len > unit)
			return 1 + k - CROSSING_LEAST;
	}
	return 0;
}

/* The hash of the directory's path. A name that the recording replaces later stays as it was. */
static uint64_t directory_of(struct scan *s, uint64_t id)
{
	const struct catalog *c = &s->rec->catalog;
	uint64_t *list;

	if (id >= c->n_files)
		return NO_VALUE;
	if (id >= s->n_directories) {
		list = reallocarray(s->directories, 2 * c->n_files, sizeof(*list));
		if (!list)
			return NO_VALUE;
		memset(list + s->n_directories, 0,
		       (2 * c->n_files - s->n_directories) * sizeof(*list));
		s->directories = list;
		s->n_directories = 2 * c->n_files;
	}
	if (!s->directories[id])
		s->directories[id] = directory_make(&c->files[id]);
	return s->directories[id];
}

static uint64_t file_of(const struct scan *s, uint64_t id)
{
	const struct catalog_file *f = catalog_file(&s->rec->catalog, id);

	return f->ino ? f->path : NO_VALUE;
}

static uint64_t container_make(const struct scan *s, uint64_t cgroup)
{
	const char *path = catalog_cgroup(&s->rec->catalog, cgroup);
	struct container c;

	if (!path || !container_is_path(path))
		return NO_VALUE;
	if (!container_find(path, &c))
		return 0;
	return hash_bytes(c.id, strlen(c.id), hash_number(0));
}

/* The container of a cgroup, from a direct-mapped cache. */
static uint64_t container_of(struct scan *s, uint64_t cgroup)
{
	struct scan_container *c = &s->containers[cgroup % SCAN_CONTAINERS];
	uint64_t version = s->rec->catalog.version;

	if (!cgroup)
		return NO_VALUE;
	if (c->cgroup != cgroup || c->version != version)
		*c = (struct scan_container){ cgroup, version, container_make(s, cgroup) };
	return c->key;
}

static uint64_t stratum_of(const struct scan_item *item)
{
	const struct stored_request *rq = item->rq;
	uint64_t most = 0, st = NO_VALUE, ns;

	if (rq)
		return rq->tag_ns > rq->queue_ns && rq->tag_ns > rq->device_ns ? ST_TAG
		       : rq->queue_ns > rq->device_ns                          ? ST_QUEUE
									       : ST_DEVICE;
	for (int i = 0; i < ST_N; i++) {
		ns = item->op->strata[i];
		if (ns <= most)
			continue;
		most = ns;
		st = i;
	}
	return st;
}

static uint64_t mode_of(const struct scan_item *item)
{
	uint64_t flags = item->op ? item->op->open_flags : 0;

	if (!item->op || item->op->kind > OP_WRITE)
		return NO_VALUE;
	if (item->op->cache == CACHE_DIRECT)
		return MODE_DIRECT;
	return flags & O_DSYNC && item->op->kind == OP_WRITE ? MODE_SYNC : MODE_BUFFERED;
}

/* The error returned, or 0 if there is none. */
static uint64_t result_of(const struct scan_item *item)
{
	int64_t ret = item->op ? (int64_t)item->op->ret : 0;

	if (item->rq)
		return !!(item->rq->flags & STORED_RQ_FAILED);
	return ret < 0 && ret >= -MAX_ERRNO ? -ret : 0;
}

static uint64_t who_value(struct scan *s, const struct scan_item *item,
			  enum explain_attribute attribute)
{
	const struct catalog_thread *t = item->thread;

	if (!item->owner)
		return NO_VALUE;
	switch (attribute) {
	case ATTR_PROCESS:
		return t->pid ? t->pid : NO_VALUE;
	case ATTR_THREAD:
		return t->tid ? t->tid : NO_VALUE;
	case ATTR_COMM:
		return hash_name(t->comm);
	case ATTR_CGROUP:
		return t->cgroup ? t->cgroup : NO_VALUE;
	default:
		return container_of(s, t->cgroup);
	}
}

/* The kind of somebody else, and the name: a lock may have several holders with one name. */
static uint64_t by_value(const struct scan_item *item)
{
	if (!item->op || !item->op->who || !item->op->who_thread)
		return NO_VALUE;
	if (item->op->who == WHO_LIMIT)
		return hash_number(item->op->who_limit);
	return hash_bytes(item->by->comm, strnlen(item->by->comm, COMM_LEN),
			  hash_number(item->op->who));
}

static uint64_t of_op(const struct scan_item *item, enum explain_attribute attribute)
{
	const struct stored_op *op = item->op;

	switch (attribute) {
	case ATTR_FS:
		return op->fs;
	case ATTR_CALL:
		return op->call;
	case ATTR_CACHE:
		return op->cache ? op->cache : NO_VALUE;
	case ATTR_REQUESTS:
		return bin_of(op->requests, attributes[attribute].bins);
	default:
		return NO_VALUE;
	}
}

static uint64_t of_request(const struct scan_item *item, enum explain_attribute attribute)
{
	switch (attribute) {
	case ATTR_MERGES:
		return bin_of(item->rq->merges, attributes[attribute].bins);
	case ATTR_REQUEUES:
		return bin_of(item->rq->requeues, attributes[attribute].bins);
	default:
		return NO_VALUE;
	}
}

static uint64_t where_value(struct scan *s, const struct scan_item *item,
			    enum explain_attribute attribute)
{
	bool sized = item->len != NO_VALUE;

	switch (attribute) {
	case ATTR_FILE:
		return file_of(s, item->file);
	case ATTR_DIRECTORY:
		return directory_of(s, item->file);
	case ATTR_DISK:
		return item->disk ? item->disk : NO_VALUE;
	case ATTR_CROSSING:
		return sized && item->len && item->offset != NO_VALUE
			       ? crossing_bin(item->offset, item->len)
			       : NO_VALUE;
	case ATTR_OFFSET:
		if (item->offset == NO_VALUE || item->offset > s->max_offset)
			return NO_VALUE;
		return item->offset >> s->offset_shift;
	case ATTR_SIZE:
		return sized ? bin_of(item->len, attributes[attribute].bins) : NO_VALUE;
	case ATTR_ALIGNMENT:
		return sized && item->offset != NO_VALUE ? align_bin(item->offset, item->len)
							 : NO_VALUE;
	default:
		return NO_VALUE;
	}
}

static uint64_t idle_bin(struct scan *s, const struct scan_item *item)
{
	uint64_t idle = s->is_cached ? NO_VALUE
				     : explain_beside_idle(&s->beside, item->disk, item->start_ns);

	if (idle == NO_VALUE || idle < s->idle_unit_ns)
		return NO_VALUE;
	return bin_of(idle / s->idle_unit_ns, attributes[ATTR_IDLE].bins);
}

/* Name, kind and size of the operation that held the file. */
static uint64_t holder_value(const struct scan *s, const struct scan_item *item)
{
	const struct holder *h = explain_holder_find(&s->holders, s->rec, item);

	if (!h)
		return NO_VALUE;
	return hash_name(catalog_thread(&s->rec->catalog, h->owner)->comm) << 16 | h->kind << 8 |
	       h->size;
}

uint64_t explain_attribute_value(struct scan *s, const struct scan_item *item,
				 enum explain_attribute attribute)
{
	uint64_t depth;

	switch (attribute) {
	case ATTR_DURING:
	case ATTR_SEQUENCE:
	case ATTR_MEMBER:
	case ATTR_FUNCTION ... ATTR_LIBRARY:
		return NO_VALUE;
	case ATTR_HOLDER:
		return holder_value(s, item);
	case ATTR_IDLE:
		return idle_bin(s, item);
	case ATTR_FILE ... ATTR_ALIGNMENT:
		return where_value(s, item, attribute);
	case ATTR_PROCESS ... ATTR_CONTAINER:
		return who_value(s, item, attribute);
	case ATTR_WHO:
		return by_value(item);
	case ATTR_DEPTH:
		depth = s->is_cached ? NO_VALUE
				     : explain_beside_depth(&s->beside, item->disk, item->start_ns);
		return depth == NO_VALUE ? depth : bin_of(depth, attributes[attribute].bins);
	case ATTR_KIND:
		return item->op ? item->op->kind : item->rq->op;
	case ATTR_MODE:
		return mode_of(item);
	case ATTR_RESULT:
		return result_of(item);
	case ATTR_STRATUM:
		return stratum_of(item);
	default:
		return item->op ? of_op(item, attribute) : of_request(item, attribute);
	}
}

/* Words. Each function writes raw text. */

/* The name of a disk in the recording, or "major:minor". */
static void put_disk(FILE *f, const struct scan *s, unsigned int dev)
{
	char *name = device_text(s->rec, dev);

	fprintf(f, "%s", name ? name : "?");
	free(name);
}

char *explain_disk_text(const struct scan *s, unsigned int dev)
{
	return device_text(s->rec, dev);
}

static void put_comm(FILE *f, const struct catalog_thread *t)
{
	fprintf(f, "%.*s", (int)strnlen(t->comm, COMM_LEN), t->comm);
}

/* ", " and the command line of process @pid, if the recording has it. */
static void put_command(FILE *f, const struct scan *s, unsigned int pid)
{
	const struct catalog *c = &s->rec->catalog;

	for (size_t i = c->n_threads; i--;) {
		const char *command = c->threads[i].pid == pid ? c->threads[i].command : NULL;

		if (!command)
			continue;
		fprintf(f, ", %.*s%s", COMMAND_SHOWN, command,
			strlen(command) > COMMAND_SHOWN ? "..." : "");
		return;
	}
}

static void put_activity(FILE *f, const struct scan *s, const struct activity *a)
{
	static const char *const what[] = {
		[ACTIVITY_NAMED] = "requests of threads named ",
		[ACTIVITY_PROCESS] = "requests of ",
		[ACTIVITY_JOURNAL] = "requests of the journal ",
		[ACTIVITY_WRITEBACK] = "writeback",
		[ACTIVITY_FLUSH] = "flushes",
		[ACTIVITY_DISCARD] = "discards",
		[ACTIVITY_OTHER] = "other requests",
	};

	fprintf(f, "%s%.*s", what[a->kind], (int)strnlen(a->comm, COMM_LEN), a->comm);
	if (a->kind == ACTIVITY_PROCESS) {
		fprintf(f, " (pid %u", a->pid);
		put_command(f, s, a->pid);
		fprintf(f, ")");
	}
	fprintf(f, " on ");
	put_disk(f, s, a->dev);
}

static void put_beside(FILE *f, const struct scan *s, const struct activity *a)
{
	fprintf(f, "beside ");
	put_activity(f, s, a);
}

char *explain_activity_text(const struct scan *s, const struct activity *a)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	put_activity(f, s, a);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* The path of a file, of its directory if @up. The caller frees the result; NULL if out of
 * memory. */
static char *path_of(const struct scan *s, uint64_t id, bool up)
{
	const struct catalog_file *f = catalog_file(&s->rec->catalog, id);
	struct file_name name;
	struct path_file file = { FILE_KEY_DEV(f->key), f->ino, &name };
	char *path, *slash;

	catalog_file_name(f, &name);
	if (up)
		name.deleted = 0;
	path = path_full(&file);
	slash = path && up ? strrchr(path, '/') : NULL;
	if (slash)
		slash[slash == path] = '\0';
	return path;
}

/* Whether report finds the file by its path. */
static bool path_is_exact(const struct scan *s, uint64_t id)
{
	unsigned int flags = catalog_file(&s->rec->catalog, id)->flags;

	return (flags & STORED_FILE_COMPLETE) &&
	       !(flags & (STORED_FILE_UNMOUNTED | STORED_FILE_DELETED | STORED_FILE_NAMELESS));
}

/* "from 4 to 7", "0", "16 or more": the numbers in bins of bin_of(). */
static void put_bins(FILE *f, uint64_t low, uint64_t high, unsigned int bins)
{
	uint64_t from = low ? 1ULL << (low - 1) : 0, to = high ? (1ULL << high) - 1 : 0;

	if (high == bins - 1)
		fprintf(f, "%llu or more", (unsigned long long)from);
	else if (from == to)
		fprintf(f, "%llu", (unsigned long long)from);
	else
		fprintf(f, "%llu to %llu", (unsigned long long)from, (unsigned long long)to);
}

static void put_size(FILE *f, const struct scan *s, uint64_t low, uint64_t high)
{
	uint64_t from = low ? 1ULL << (low - 1) : 0;

	if (!high)
		fprintf(f, s->conf->kinds ? "of no bytes" : "of no bytes (flushes)");
	else if (high == attributes[ATTR_SIZE].bins - 1)
		fprintf(f, "of %s or more", text_bytes(from).s);
	else
		fprintf(f, "of %s to less than %s", text_bytes(from).s, text_bytes(1ULL << high).s);
}

static void put_align(FILE *f, uint64_t low, uint64_t high)
{
	if (high == ALIGN_MOST - ALIGN_LEAST + 1)
		fprintf(f, "aligned to %s or more",
			low ? text_bytes(256ULL << low).s : "any power of 2");
	else if (low && low == high)
		fprintf(f, "aligned to exactly %s", text_bytes(256ULL << low).s);
	else
		fprintf(f, "not aligned to %s", text_bytes(512ULL << high).s);
}

static void put_crossing(FILE *f, const struct scan *s, uint64_t low, uint64_t high)
{
	const char *where = s->conf->kinds ? "file" : "disk";

	if (low)
		fprintf(f, "across a multiple of %s of the %s",
			text_bytes(1ULL << (low - 1 + CROSSING_LEAST)).s, where);
	else
		fprintf(f, "across no multiple of %s of the %s",
			text_bytes(1ULL << (high + CROSSING_LEAST)).s, where);
	if (low && high < CROSSING_MOST - CROSSING_LEAST + 1)
		fprintf(f, ", but not of %s", text_bytes(1ULL << (high + CROSSING_LEAST)).s);
}

static void put_idle(FILE *f, const struct scan *s, uint64_t low)
{
	fprintf(f, "on a disk that had been idle for %s or more",
		text_ns(low ? s->idle_unit_ns << (low - 1) : 0).s);
}

static void put_range(FILE *f, const struct scan *s, enum explain_attribute attribute, uint64_t low,
		      uint64_t high)
{
	unsigned int bins = attributes[attribute].bins;

	switch (attribute) {
	case ATTR_CROSSING:
		put_crossing(f, s, low, high);
		break;
	case ATTR_OFFSET:
		fprintf(f, "at offsets from %s to %s", text_bytes(low << s->offset_shift).s,
			text_bytes((high + 1) << s->offset_shift).s);
		break;
	case ATTR_SIZE:
		put_size(f, s, low, high);
		break;
	case ATTR_ALIGNMENT:
		put_align(f, low, high);
		break;
	case ATTR_IDLE:
		put_idle(f, s, low);
		break;
	case ATTR_DEPTH:
		fprintf(f, "submitted with ");
		put_bins(f, low, high, bins);
		fprintf(f, " request%s in flight on their disk", low == 1 && high == 1 ? "" : "s");
		break;
	default:
		fprintf(f, "with ");
		put_bins(f, low, high, bins);
		fprintf(f, " %s%s%s",
			attribute == ATTR_REQUESTS ? "request"
			: attribute == ATTR_MERGES ? "merged bio"
						   : "requeue",
			low == 1 && high == 1 ? "" : "s",
			attribute == ATTR_REQUESTS ? " submitted by them" : "");
	}
}

static const char *article(const char *noun)
{
	return strchr("aeio", noun[0]) ? "an" : "a";
}

static void put_holder(FILE *f, const struct scan *s, const struct scan_value *v)
{
	unsigned int kind = v->key >> 8 & 0xff, size = v->key & 0xff;
	const char *noun = kind < OP_N ? op_name(kind) : "operation";

	fprintf(f, "behind %s %s", article(noun), noun);
	if (size)
		fprintf(f, " of %s or more", text_bytes(1ULL << (size - 1)).s);
	fprintf(f, " by ");
	put_comm(f, catalog_thread(&s->rec->catalog, v->owner));
	fprintf(f, " on the same file, under way when they began");
}

static void put_where(FILE *f, const struct scan *s, const struct scan_value *v)
{
	char *path;

	if (v->attribute == ATTR_DISK || v->attribute == ATTR_MEMBER) {
		fprintf(f, v->attribute == ATTR_DISK ? "on disk " : "with requests on ");
		put_disk(f, s, v->key);
		return;
	}
	path = path_of(s, v->file, v->attribute == ATTR_DIRECTORY);
	fprintf(f, v->attribute == ATTR_FILE ? "in file %s" : "in directory %s", path ? path : "?");
	free(path);
}

static void put_who(FILE *f, const struct scan *s, const struct scan_value *v)
{
	const struct catalog_thread *t = catalog_thread(&s->rec->catalog, v->owner);
	const char *cgroup = catalog_cgroup(&s->rec->catalog, t->cgroup);
	struct container c;

	switch (v->attribute) {
	case ATTR_PROCESS:
	case ATTR_THREAD:
		fprintf(f, v->attribute == ATTR_PROCESS ? "of process " : "of thread ");
		put_comm(f, t);
		fprintf(f, v->attribute == ATTR_PROCESS ? " (pid %u" : " (tid %u",
			v->attribute == ATTR_PROCESS ? t->pid : t->tid);
		if (t->command)
			fprintf(f, ", %.*s%s", COMMAND_SHOWN, t->command,
				strlen(t->command) > COMMAND_SHOWN ? "..." : "");
		fprintf(f, ")");
		break;
	case ATTR_COMM:
		fprintf(f, "of threads named ");
		put_comm(f, t);
		break;
	case ATTR_CGROUP:
		fprintf(f, "of cgroup %s", cgroup ? cgroup : "");
		if (!cgroup)
			fprintf(f, "%llu", (unsigned long long)t->cgroup);
		break;
	default:
		if (cgroup && container_find(cgroup, &c))
			fprintf(f, "of container %.*s", (int)c.shown, c.id);
		else
			fprintf(f, "of no container");
	}
}

uint64_t explain_by(const struct scan_item *item)
{
	if (!item->op)
		return 0;
	return item->op->who == WHO_LIMIT ? item->op->who_limit : item->op->who_thread;
}

/* "waiting for a lock that hog had" */
static void put_by(FILE *f, const struct scan *s, const struct scan_value *v)
{
	char limit[LIMIT_TEXT_RAW];

	if (v->who == WHO_LIMIT) {
		limit_text_raw(limit, limit_of_id(v->by), catalog_limit(&s->rec->catalog, v->by));
		fprintf(f, "waiting %s %s", who_before(v->who), limit);
		return;
	}
	fprintf(f, "waiting %s ", who_before(v->who));
	put_comm(f, catalog_thread(&s->rec->catalog, v->by));
	fprintf(f, " %s", who_after(v->who));
}

static void put_result(FILE *f, const struct scan *s, uint64_t key)
{
	const char *error = key && s->conf->kinds ? strerrorname_np(key) : NULL;

	fprintf(f, "%s%s%s%s", key ? "failures" : "successes", error ? " (" : "",
		error ? error : "", error ? ")" : "");
}

static void put_how(FILE *f, const struct scan *s, const struct scan_value *v)
{
	static const char *const modes[] = { "buffered", "direct", "synchronous" };
	const char *call = NULL;

	switch (v->attribute) {
	case ATTR_KIND:
		fprintf(f, "of kind %s", s->conf->kinds ? op_name(v->key) : rq_op_name(v->key));
		break;
	case ATTR_FS:
		fprintf(f, "on file system %s", catalog_fs(&s->rec->catalog, v->key));
		break;
	case ATTR_CALL:
		call = s->conf->call_name ? s->conf->call_name(v->key) : NULL;
		fprintf(f, "calls of %s", call ? call : "a system call without a name");
		break;
	case ATTR_MODE:
		fprintf(f, "%s", modes[v->key % 3]);
		break;
	case ATTR_RESULT:
		put_result(f, s, v->key);
		break;
	case ATTR_CACHE:
		fprintf(f, "of cache class %s", cache_name(v->key));
		break;
	default:
		fprintf(f, "longest in stratum %s", stratum_label(v->key));
	}
}

static char *text_of_value(const struct scan *s, const struct scan_value *v,
			   const struct scan_value *last)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (attributes[v->attribute].bins)
		put_range(f, s, v->attribute, v->key, last->key);
	else if (v->attribute == ATTR_BESIDE)
		put_beside(f, s, &s->beside.list[v->key]);
	else if (v->attribute == ATTR_HOLDER)
		put_holder(f, s, v);
	else if (v->attribute <= ATTR_DISK)
		put_where(f, s, v);
	else if (v->attribute <= ATTR_CONTAINER)
		put_who(f, s, v);
	else if (v->attribute == ATTR_WHO)
		put_by(f, s, v);
	else
		put_how(f, s, v);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The value of an option of report that chooses @v. For free(). Returns NULL if out of memory or
 * there is none. */
static char *option_value(const struct scan *s, const struct scan_value *v, const char **ret_option)
{
	const struct catalog_thread *t = catalog_thread(&s->rec->catalog, v->owner);
	const char *cgroup = catalog_cgroup(&s->rec->catalog, t->cgroup);
	char number[16];

	switch (v->attribute) {
	case ATTR_FILE:
	case ATTR_DIRECTORY:
		*ret_option = "--file";
		return path_is_exact(s, v->file)
			       ? path_of(s, v->file, v->attribute == ATTR_DIRECTORY)
			       : NULL;
	case ATTR_DISK:
		*ret_option = "-d";
		return device_text(s->rec, v->key);
	case ATTR_PROCESS:
		*ret_option = "-p";
		snprintf(number, sizeof(number), "%u", t->pid);
		return strdup(number);
	case ATTR_COMM:
		*ret_option = "--comm";
		return strndup(t->comm, COMM_LEN);
	case ATTR_CGROUP:
		*ret_option = "--cgroup";
		return cgroup && container_is_path(cgroup) ? strdup(cgroup) : NULL;
	case ATTR_FS:
		*ret_option = "--fs";
		return strdup(catalog_fs(&s->rec->catalog, v->key));
	default:
		return NULL;
	}
}

/* Whether most operations looked at have this value. */
static bool is_usual(const struct scan *s, enum explain_attribute attribute, uint64_t key)
{
	uint64_t all = 0;

	for (unsigned int v = 0; v < s->n_values; v++)
		if (s->values[v].attribute == attribute && s->values[v].key == key)
			for (int c = 0; c < SCAN_CELLS; c++)
				all += s->values_all[c][v];
	return 2 * all >= s->e->n;
}

/* Whether the holder is such an operation as those looked at: then all wait for one another. */
static bool holder_is_alike(const struct scan *s, const struct scan_value *v)
{
	const struct catalog_thread *t = catalog_thread(&s->rec->catalog, v->owner);
	unsigned int kind = v->key >> 8 & 0xff, size = v->key & 0xff;
	uint64_t alike = 0;

	if (!(s->conf->kinds >> kind & 1) || !is_usual(s, ATTR_COMM, hash_name(t->comm)))
		return false;
	for (unsigned int i = 0; i < s->n_values; i++)
		if (s->values[i].attribute == ATTR_SIZE && size <= s->values[i].key + 1 &&
		    s->values[i].key <= size + 1)
			for (int c = 0; c < SCAN_CELLS; c++)
				alike += s->values_all[c][i];
	return !size || 2 * alike >= s->e->n;
}

bool explain_process_is_usual(const struct scan *s, unsigned int pid)
{
	return is_usual(s, ATTR_PROCESS, pid);
}

bool explain_activity_is_sibling(const struct scan *s, const struct activity *a)
{
	return a->kind <= ACTIVITY_PROCESS && is_usual(s, ATTR_COMM, hash_name(a->comm));
}

int explain_attribute_describe(const struct scan *s, const struct scan_value *v,
			       const struct scan_value *last, struct explain_finding *ret)
{
	const char *option = NULL;

	ret->attribute = v->attribute;
	if (v->attribute == ATTR_BESIDE && explain_activity_is_sibling(s, &s->beside.list[v->key]))
		ret->class = CLASS_SYMPTOM;
	if (v->attribute == ATTR_HOLDER && holder_is_alike(s, v))
		ret->class = CLASS_SYMPTOM;
	ret->text = text_of_value(s, v, last);
	if (!ret->text)
		return -ENOMEM;
	if (v->attribute == ATTR_HOLDER && v->soon &&
	    asprintf(&ret->note, "%s of the %s slow ones ended soon after it did",
		     text_count(v->soon).s, text_count(ret->slow).s) < 0)
		return -ENOMEM;
	ret->value = option_value(s, v, &option);
	ret->option = ret->value && *ret->value ? option : NULL;
	return 0;
}
