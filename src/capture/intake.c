// SPDX-License-Identifier: GPL-2.0-only
#include "capture/intake.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/protocols.h"
#include "capture/batch.h"
#include "capture/recording.h"
#include "capture/segments.h"
#include "cell.h"
#include "host/container.h"
#include "host/devices.h"
#include "host/limits.h"
#include "host/lookup.h"
#include "host/mounts.h"
#include "host/path.h"

/* Fewer operations than this are not worth a span. */
enum { SPAN_MIN = 8 };

/* Without memory for an entry, records refer to id 0: no thread, no file. */
struct intake_file {
	struct sent_file_id id;
	uint64_t number;
	bool named;
	bool has_ops; /* operations named it, not only requests or calls about descriptors */
	struct file_name *name; /* with .renew, if named; without unused bytes; owned */
	UT_hash_handle hh;
};

struct intake_thread {
	struct sent_who who;
	uint64_t number;
	UT_hash_handle hh;
};

struct intake_known {
	uint64_t id;
	UT_hash_handle hh;
};

/* A cgroup of a container whose name is not known. */
struct intake_container {
	uint64_t cgroup;
	struct container container;
	struct intake_container *next;
};

/* Adds @id to a set. False: already in the set, or out of memory. */
static bool known_add(struct intake_known **set, uint64_t id)
{
	struct intake_known *k;

	HASH_FIND(hh, *set, &id, sizeof(id), k);
	if (k || !(k = calloc(1, sizeof(*k))))
		return false;
	k->id = id;
	HASH_ADD(hh, *set, id, sizeof(id), k);
	return true;
}

static void known_free(struct intake_known **set)
{
	struct intake_known *k, *next;

	HASH_ITER (hh, *set, k, next) {
		HASH_DEL(*set, k);
		free(k);
	}
}

static void file_free(struct intake_file *f)
{
	free(f->name);
	free(f);
}

static void files_free(struct intake_file **files)
{
	struct intake_file *f, *next;

	HASH_ITER (hh, *files, f, next) {
		HASH_DEL(*files, f);
		file_free(f);
	}
}

static void containers_forget(struct intake *in)
{
	struct intake_container *one;

	while ((one = in->unnamed_containers)) {
		in->unnamed_containers = one->next;
		free(one);
	}
}

/* Forgets all names but those of files. */
static void names_forget(struct intake *in)
{
	struct intake_thread *t, *next;

	HASH_ITER (hh, in->threads, t, next) {
		HASH_DEL(in->threads, t);
		free(t);
	}
	containers_forget(in);
	known_free(&in->cgroups);
	known_free(&in->devices);
	known_free(&in->texts);
	known_free(&in->limits);
	known_free(&in->processes);
	memset(in->fs_probed, 0, sizeof(in->fs_probed));
	in->last_thread = NULL;
	in->last_who = (struct sent_who){};
	in->last_file = NULL;
}

void intake_done(struct intake *in)
{
	names_forget(in);
	files_free(&in->files);
	files_free(&in->old_files);
	mounts_free(&in->mounts);
	container_names_done(&in->container_names);
}

/* Generations of names. Each has a separate range of ids, so that a recording can have records of
 * several generations. A range is used again when no record in memory refers to it. */

static bool names_are_many(const struct intake *in)
{
	return in->n_files - in->base >= INTAKE_NAMES || in->n_threads - in->base >= INTAKE_NAMES;
}

/* The last @living generations use these ranges, as bits. */
static uint64_t ranges_used(const struct intake *in, unsigned int living)
{
	uint64_t used = 0;

	for (unsigned int i = 0; i < living && i <= in->renewals; i++)
		used |= 1ULL << in->ranges[(in->renewals - i) % INTAKE_GENERATIONS];
	return used;
}

/* Begins a generation. Files of the last generation keep their names, for records on their way. */
static void names_renew(struct intake *in)
{
	unsigned int living = writer_generations(in->w), range = 0;
	uint64_t used = ranges_used(in, living);

	if (living >= INTAKE_GENERATIONS)
		return;
	while (used >> range & 1)
		range++;
	writer_names_renew(in->w);
	files_free(&in->old_files);
	in->old_files = in->files;
	in->files = NULL;
	names_forget(in);
	in->renewals++;
	in->ranges[in->renewals % INTAKE_GENERATIONS] = range;
	in->base = (uint64_t)range * INTAKE_IDS;
	in->n_files = in->n_threads = in->base;
	in->renew(in->arg);
}

uint64_t intake_unnamed_ids(const struct intake *in)
{
	uint64_t used = ranges_used(in, writer_generations(in->w));
	unsigned int range = 0;

	if (used == 1)
		return 0;
	while (used >> range > 1)
		range++;
	return (uint64_t)(range + 1) * INTAKE_IDS;
}

/* Whether the generation has no id left; then records refer to id 0. */
static bool ids_are_used_up(const struct intake *in, uint64_t n)
{
	return in->renew && n - in->base >= INTAKE_IDS;
}

static void write_text(struct intake *in, enum stored_name_type type, uint64_t id, uint64_t a,
		       const char *text)
{
	struct stored_name n = { .type = type, .id = id, .a = a, .text_len = strlen(text) };

	writer_name(in->w, &n, text);
}

/* Writes the disk @dev, and what lies below and above: the header has only those of the start. */
static void disks_note(struct intake *in, unsigned int dev)
{
	struct devices around = {};
	uint64_t now = clock_ns();

	if (!DEV_MAJOR(dev))
		return;
	devices_around(&around, dev);
	for (size_t i = 0; i < around.n; i++)
		if (around.list[i].name[0])
			write_text(in, NAME_DISK, (uint64_t)around.list[i].dev << 32, now,
				   around.list[i].name);
	for (size_t i = 0; i < around.n_links; i++)
		write_text(in, NAME_DISK,
			   (uint64_t)around.links[i].upper << 32 | around.links[i].lower, now,
			   devices_find(&around, around.links[i].upper)->name);
	devices_done(&around);
}

static void device_meet(struct intake *in, unsigned int dev)
{
	char name[PATH_BYTES];

	if (!dev || !known_add(&in->devices, dev))
		return;
	if (!in->mounts.text)
		mounts_read(&in->mounts); /* on failure, some names are numbers */
	lookup_dev(&in->mounts, dev, name, sizeof(name));
	write_text(in, NAME_DEVICE, dev, 0, name);
	disks_note(in, dev);
}

/* Writes the name of the container of @cgroup. Returns false if the name is not known. */
static bool container_write(struct intake *in, uint64_t cgroup, struct container *c)
{
	container_names_find(&in->container_names, c);
	if (c->title[0])
		write_text(in, NAME_CONTAINER, cgroup, 0, c->title);
	return c->title[0];
}

/* The files of runtimes may have the name only after the first I/O: intake_end() looks again. */
static void container_meet(struct intake *in, uint64_t cgroup, const char *path)
{
	struct intake_container *one = calloc(1, sizeof(*one));

	if (!one || !container_find(path, &one->container) ||
	    container_write(in, cgroup, &one->container)) {
		free(one);
		return;
	}
	one->cgroup = cgroup;
	one->next = in->unnamed_containers;
	in->unnamed_containers = one;
}

static void containers_look(struct intake *in)
{
	struct intake_container **at = &in->unnamed_containers, *one;

	while ((one = *at)) {
		if (container_write(in, one->cgroup, &one->container)) {
			*at = one->next;
			free(one);
		} else {
			at = &one->next;
		}
	}
}

/* The id of @text, at most @max bytes: the address of a server, or a procedure. */
static uint64_t text_id(struct intake *in, const char *text, size_t max)
{
	char copy[SERVER_LEN + 1] = "";
	uint64_t id;

	memcpy(copy, text, strnlen(text, max));
	id = mount_server_number(copy);
	if (known_add(&in->texts, id))
		write_text(in, NAME_TEXT, id, 0, copy);
	return id;
}

static void cgroup_meet(struct intake *in, uint64_t id)
{
	char *path;

	if (!id || !known_add(&in->cgroups, id))
		return;
	path = lookup_cgroup(id);
	if (path) {
		write_text(in, NAME_CGROUP, id, 0, path);
		container_meet(in, id, path);
	}
	free(path);
}

static void fs_meet(struct intake *in, unsigned int fs)
{
	char name[FS_NAME_LEN] = "";
	unsigned int probed = 0;

	if (fs < SENT_FS_FIRST || !in->fs(in->arg, fs - SENT_FS_FIRST, name, &probed) ||
	    in->fs_probed[fs] == probed + 1)
		return;
	in->fs_probed[fs] = probed + 1;
	write_text(in, NAME_FS, fs, probed, name);
}

/* Writes the command line of the process of @who once, and again if its first thread has another
 * name: it is another program. */
static void command_meet(struct intake *in, const struct sent_who *who)
{
	char *command;

	if (!in->command || !who->pid ||
	    (!known_add(&in->processes, who->pid) && who->tid != who->pid))
		return;
	command = in->command(in->arg, who);
	if (command)
		write_text(in, NAME_COMMAND, who->pid, 0, command);
	free(command);
}

static struct intake_thread *thread_meet(struct intake *in, const struct sent_who *who)
{
	struct stored_name n = { .type = NAME_THREAD,
				 .a = who->pid,
				 .b = who->tid,
				 .c = who->cgroup,
				 .text_len = strnlen(who->comm, COMM_LEN) };
	struct intake_thread *t = ids_are_used_up(in, in->n_threads) ? NULL : calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->who = *who;
	t->number = n.id = ++in->n_threads;
	HASH_ADD(hh, in->threads, who, sizeof(t->who), t);
	cgroup_meet(in, who->cgroup);
	command_meet(in, who);
	writer_name(in->w, &n, who->comm);
	return t;
}

/* The id of a thread, or 0 if not known. */
static uint64_t thread_id(struct intake *in, const struct sent_who *who)
{
	struct intake_thread *t = in->last_thread;
	struct sent_who key = *who;
	size_t len = strnlen(key.comm, COMM_LEN);

	if (t && !memcmp(&in->last_who, who, sizeof(*who)))
		return t->number;
	if (!who->tid && !who->pid && !who->cgroup)
		return 0;
	memset(key.comm + len, 0, COMM_LEN - len);
	HASH_FIND(hh, in->threads, &key, sizeof(key), t);
	if (!t)
		t = thread_meet(in, &key);
	in->last_thread = t;
	in->last_who = *who;
	return t ? t->number : 0;
}

static void file_write(struct intake *in, const struct intake_file *f, const struct file_name *name)
{
	struct stored_name n = {
		.type = NAME_FILE, .id = f->number, .a = f->id.key, .b = f->id.ino
	};

	if (!name) {
		n.c = STORED_FILE_NAMELESS;
		writer_name(in->w, &n, "");
		return;
	}
	n.c = (name->complete ? STORED_FILE_COMPLETE : 0) |
	      (name->unmounted ? STORED_FILE_UNMOUNTED : 0) |
	      (name->deleted == 1 ? STORED_FILE_DELETED : 0) |
	      (name->deleted == NAME_MISSING ? STORED_FILE_MISSING : 0) |
	      (name->nameless ? STORED_FILE_NAMELESS : 0) |
	      (uint64_t)name->directory << STORED_FILE_DIRECTORY;
	n.text_len = name->len < PATH_BYTES ? name->len : PATH_BYTES;
	writer_name(in->w, &n, name->names);
}

/* Gives a file of the generation before an id of this one, and writes its name again. */
static struct intake_file *file_carry(struct intake *in, const struct sent_file_id *id)
{
	struct intake_file *f;

	HASH_FIND(hh, in->old_files, id, sizeof(*id), f);
	if (!f || ids_are_used_up(in, in->n_files))
		return NULL;
	HASH_DEL(in->old_files, f);
	f->number = ++in->n_files;
	HASH_ADD(hh, in->files, id, sizeof(f->id), f);
	device_meet(in, FILE_KEY_DEV(id->key));
	file_write(in, f, f->name);
	return f;
}

static struct intake_file *file_find(struct intake *in, const struct sent_file_id *id)
{
	struct intake_file *f = in->last_file;

	if (f && f->id.ino == id->ino && f->id.key == id->key)
		return f;
	HASH_FIND(hh, in->files, id, sizeof(*id), f);
	if (!f && in->old_files)
		f = file_carry(in, id);
	if (f)
		in->last_file = f;
	return f;
}

/* Keeps the name of @f for the next generation; without memory, the file is nameless there. */
static void name_keep(const struct intake *in, struct intake_file *f, const struct file_name *name)
{
	size_t len = name->len < PATH_BYTES ? name->len : PATH_BYTES;

	if (!in->renew || f->name)
		return;
	f->name = malloc(offsetof(struct file_name, names) + len);
	if (f->name)
		memcpy(f->name, name, offsetof(struct file_name, names) + len);
}

/*
 * Whether the name of @f is lost. It is not for a block device, which has the disk's name; nor for
 * a file known only by requests, as the metadata of btrfs: that may have no name. Live tables count
 * in the same way.
 */
static bool is_unnamed(const struct intake_file *f)
{
	return f->has_ops && !f->named && !FILE_KEY_IS_BDEV(f->id.key);
}

/* Adds a new file, with its @name if known. Returns NULL if out of memory. */
static struct intake_file *file_meet(struct intake *in, const struct sent_file_id *id,
				     const struct file_name *name)
{
	struct intake_file *f = ids_are_used_up(in, in->n_files) ? NULL : calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->id = *id;
	f->number = ++in->n_files;
	f->named = name && !name->nameless;
	if (f->named)
		name_keep(in, f, name);
	HASH_ADD(hh, in->files, id, sizeof(f->id), f);
	device_meet(in, FILE_KEY_DEV(id->key));
	file_write(in, f, name);
	return f;
}

/* The file that a record names, or NULL if it names none or memory is out. */
static struct intake_file *file_get(struct intake *in, const struct sent_file_id *id)
{
	struct intake_file *f;

	if (!id->ino)
		return NULL;
	f = file_find(in, id);
	if (!f) {
		in->names(in->arg);
		f = file_find(in, id);
	}
	return f ? f : file_meet(in, id, NULL);
}

/* The id of a file, or 0 if there is none. */
static uint64_t file_id(struct intake *in, const struct sent_file_id *id)
{
	const struct intake_file *f = file_get(in, id);

	return f ? f->number : 0;
}

/* The same for the file of an operation, which a table has in a row. */
static uint64_t op_file_id(struct intake *in, const struct sent_file_id *id)
{
	struct intake_file *f = file_get(in, id);

	if (!f)
		return 0;
	if (!f->has_ops) {
		f->has_ops = true;
		in->unnamed += is_unnamed(f);
	}
	return f->number;
}

void intake_name(struct intake *in, const void *data, size_t len)
{
	const struct sent_file *s = data;
	struct intake_file *f;
	struct file_name name;

	if (len < sizeof(*s) || s->what != SENT_FILE || !s->id.ino)
		return;
	name = s->name;
	path_split(&name);
	f = file_find(in, &s->id);
	if (!f) {
		file_meet(in, &s->id, &name);
	} else if (!f->named && !name.nameless) {
		in->unnamed -= is_unnamed(f);
		f->named = true;
		name_keep(in, f, &name);
		file_write(in, f, &name);
	}
}

static void op_show(struct intake *in, const struct sent_op *s, uint64_t total)
{
	in->see(in->arg, &(struct intake_event){
				 .kind = s->kind,
				 .pid = s->who.pid,
				 .error = s->ret < 0 && s->ret >= -MAX_ERRNO ? -s->ret : 0,
				 .end_ns = s->start_ns + total,
				 .took_ns = total,
			 });
}

static void request_show(struct intake *in, const struct sent_request *s,
			 const struct stored_request *rq)
{
	in->see(in->arg, &(struct intake_event){
				 .is_request = true,
				 .dev = s->dev,
				 .pid = s->who.pid,
				 .failed = s->flags & SENT_FAILED,
				 .end_ns = stored_request_end(rq),
				 .took_ns = stored_request_end(rq) - rq->q_ns,
			 });
}

/* Whether operations of @kind are shown. */
static inline bool is_shown(const struct intake *in, unsigned int kind)
{
	return kind < OP_N && in->see_ops >> kind & 1;
}

/* The id of the limit for which @s waited. What the limit was, is written once. */
static uint64_t limit_meet(struct intake *in, const struct sent_op *s, enum io_limit limit)
{
	enum limit_side side = limit_side(s->kind);
	uint64_t id = limit_id(s->who.cgroup, side, limit);
	char *text;

	if (!known_add(&in->limits, id))
		return id;
	text = limit_of_cgroup(s->who.cgroup, side, limit);
	if (text)
		write_text(in, NAME_LIMIT, id, 0, text);
	free(text);
	return id;
}

/* Inlined into the loop over operations. */
#define INLINE static inline __attribute__((always_inline))

/* stored_op_set(), with the ids of the thread and the file. */
INLINE uint64_t op_fill(struct stored_op *op, const struct sent_op *s,
			const struct sent_op_waited *waited, uint64_t owner, uint64_t file)
{
	op->owner = owner;
	op->file = file;
	op->helper = op->copied_to = 0;
	op->who = op->who_ns = op->who_thread = op->who_op = op->who_limit = 0;
	return stored_op_set(op, s, waited);
}

static void handle_take(struct intake *in, const struct sent_op *s,
			const struct sent_op_waited *waited, uint64_t owner, uint64_t file)
{
	struct stored_op op;

	op_fill(&op, s, waited, owner, file);
	writer_handle(in->w, &op);
}

/* The id of another thread, or 0 if there is none. */
static uint64_t waker_id(struct intake *in, const struct waker *thread)
{
	struct sent_who who = { .pid = thread->pid, .tid = thread->tid };

	memcpy(who.comm, thread->comm, COMM_LEN);
	return thread->tid ? thread_id(in, &who) : 0;
}

INLINE void op_take(struct intake *in, const struct sent_op *s, const struct sent_op_waited *waited,
		    const struct sent_op_ordered *ordered)
{
	uint64_t owner = thread_id(in, &s->who), total;
	uint64_t file = s->kind == OP_HANDLE ? file_id(in, &s->file) : op_file_id(in, &s->file);
	uint64_t helper = ordered ? waker_id(in, &ordered->helper) : 0;
	unsigned int who = ordered ? sent_by_who(&ordered->by, s->start_ns, s->ret) : WHO_NONE;
	uint64_t by = who && who != WHO_LIMIT ? waker_id(in, &ordered->by.thread) : 0;
	uint64_t copied_to = waited ? op_file_id(in, &waited->copied_to) : 0;
	struct stored_op *op;

	if (copied_to && waited->copied_fs >= SENT_FS_FIRST && !in->fs_probed[waited->copied_fs])
		fs_meet(in, waited->copied_fs);
	if (s->fs >= SENT_FS_FIRST && !in->fs_probed[s->fs])
		fs_meet(in, s->fs);
	if (s->kind == OP_HANDLE) {
		handle_take(in, s, waited, owner, file);
		return;
	}
	op = writer_op_room(in->w);
	if (!op)
		return;
	total = op_fill(op, s, waited, owner, file);
	op->helper = helper;
	op->copied_to = copied_to;
	if (who == WHO_LIMIT) {
		op->who = who;
		op->who_ns = ordered->by.ns;
		op->who_thread = owner;
		op->who_limit = limit_meet(in, s, ordered->by.thread.limit);
	} else if (by) {
		op->who = who;
		op->who_ns = ordered->by.ns;
		op->who_thread = by;
		op->who_op = ordered->by.thread.op < OP_N ? ordered->by.thread.op : OP_NONE;
	}
	if (s->start_ns + total > in->end_ns)
		return;
	if (is_shown(in, s->kind))
		op_show(in, s, total);
	if (ordered && ordered->segments.n) {
		op->segments = segments_pack(writer_op_text(in->w), &ordered->segments, op->strata);
	}
	writer_op_added(in->w, s->start_ns + total, op->segments);
}

/* Takes @n consecutive operations like @s. */
static void span_take(struct intake *in, const struct sent_op *s, const struct span *span)
{
	uint64_t owner = thread_id(in, &s->who), file = op_file_id(in, &s->file);
	struct batch_span batch;
	struct stored_op same;

	if (s->fs >= SENT_FS_FIRST && !in->fs_probed[s->fs])
		fs_meet(in, s->fs);
	op_fill(&same, s, NULL, owner, file);
	span_batch(span, s, &same, &batch);
	writer_ops(in->w, &batch);
}

/* Takes @n consecutive operations without waits. */
static void ops_take(struct intake *in, const struct sent_op *s, size_t n)
{
	struct span span = {};

	for (; n; n -= span.n) {
		span.n = 1;
		if (n >= SPAN_MIN && !is_shown(in, s->kind) && in->end_ns == UINT64_MAX &&
		    s->kind != OP_HANDLE && s->kind != OP_SERVED)
			span_look(s, n, &span);
		if (span.n >= SPAN_MIN) {
			span_take(in, s, &span);
			s += span.n;
			continue;
		}
		for (unsigned int i = 0; i < span.n; i++)
			op_take(in, s++, NULL, NULL);
	}
}

static void request_take(struct intake *in, const struct sent_request *s)
{
	struct stored_request rq = { .owner = thread_id(in, &s->who),
				     .file = file_id(in, &s->file) };

	stored_request_set(&rq, s);
	if (stored_request_end(&rq) > in->end_ns)
		return;
	device_meet(in, s->dev);
	if (in->see_requests)
		request_show(in, s, &rq);
	writer_request(in->w, &rq);
}

static void server_request_take(struct intake *in, const struct sent_server_request *s)
{
	const char *op = protocol_op_name(s->protocol, s->opcode);
	struct stored_server_request rq = {
		.q_ns = s->q,
		.tag_ns = s->g - s->q,
		.queue_ns = s->d - s->g,
		.server_ns = s->c - s->d,
		.xid = s->xid,
		.server = text_id(in, s->server, sizeof(s->server)),
		.op = op ? text_id(in, op, SERVER_OP_LEN) : text_id(in, s->op, sizeof(s->op)),
		.protocol = s->protocol,
		.dev = s->dev,
	};

	if (s->c <= in->end_ns)
		writer_server_request(in->w, &rq);
}

/* Takes an operation with its segments: as many as the record has, at most. */
static void ordered_take(struct intake *in, const struct sent_op_ordered *s, size_t len)
{
	size_t room = len - offsetof(struct sent_op_ordered, segments.at);

	if (len >= offsetof(struct sent_op_ordered, segments.at) &&
	    s->segments.n <= room / sizeof(*s->segments.at))
		op_take(in, &s->waited.op, &s->waited, s);
}

void intake_record(struct intake *in, const void *data, size_t len)
{
	const struct sent_op_waited *waited = data;
	unsigned char what = len ? *(const unsigned char *)data : 0;

	if (in->renew && names_are_many(in))
		names_renew(in);
	if (what == SENT_OP)
		ops_take(in, data, len / sizeof(struct sent_op));
	else if (what == SENT_OP_WAITED && len >= sizeof(*waited))
		op_take(in, data, waited, NULL);
	else if (what == SENT_OP_ORDERED)
		ordered_take(in, data, len);
	else if (what == SENT_REQUEST && len >= sizeof(struct sent_request))
		request_take(in, data);
	else if (what == SENT_SERVER_REQUEST && len >= sizeof(struct sent_server_request))
		server_request_take(in, data);
}

void intake_stack(struct intake *in, const struct sent_stack *s, unsigned int stack, int fs)
{
	struct stored_stack to = { .start_ns = s->start_ns,
				   .owner = thread_id(in, &s->who),
				   .file = file_id(in, &s->file),
				   .kind = s->kind,
				   .call = s->call,
				   .fs = fs < 0 ? STORED_FS_UNKNOWN : SENT_FS_FIRST + fs,
				   .ret = s->ret,
				   .device_bytes = s->device_bytes,
				   .stack = stack,
				   .threshold_ns = s->threshold_ns };
	uint64_t total = 0;

	if (s->fs == FS_BDEV)
		to.fs = STORED_FS_BDEV;
	else if (fs >= 0 && to.fs < 256 && !in->fs_probed[to.fs])
		fs_meet(in, to.fs);
	for (int st = 0; st < ST_N; st++)
		total += to.strata[st] = s->strata[st];
	if (s->start_ns + total <= in->end_ns)
		writer_stack(in->w, &to, total);
}

void intake_end(struct intake *in)
{
	for (unsigned int fs = SENT_FS_FIRST; fs < 256; fs++)
		if (in->fs_probed[fs])
			fs_meet(in, fs);
	containers_look(in);
}
