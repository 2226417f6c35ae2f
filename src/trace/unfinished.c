// SPDX-License-Identifier: GPL-2.0-only
#include "trace/unfinished.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "host/mounts.h"
#include "host/path.h"
#include "host/processes.h"
#include "trace/collect.h"

/* Finds member @name of the struct or union @type, or of an anonymous one inside it, and adds its
 * offset to @at. Returns the type of the member, or 0. */
static unsigned int member_find(const struct btf *btf, unsigned int type, const char *name,
				size_t *at)
{
	const struct btf_type *t = btf__type_by_id(btf, type);
	const struct btf_member *m = btf_members(t);

	for (int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++) {
		const char *found = btf__name_by_offset(btf, m[i].name_off);
		size_t inner = *at + btf_member_bit_offset(t, i) / 8;
		unsigned int member = m[i].type;

		if (strcmp(found, name) != 0)
			member = *found ? 0 : member_find(btf, member, name, &inner);
		if (!member)
			continue;
		*at = inner;
		return member;
	}
	return 0;
}

/* Finds the offset of a path such as "op.file.fs" in @type. */
static int path_find(const struct btf *btf, unsigned int type, const char *path, size_t *ret_at)
{
	char name[32];
	size_t at = 0;

	while (*path) {
		int len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", len, path);
		type = member_find(btf, type, name, &at);
		if (!type)
			return -ENOENT;
		path += len + (path[len] == '.');
	}
	*ret_at = at;
	return 0;
}

/* Finds array variable @name in .bss. Returns the type of its elements, or 0. */
static unsigned int array_find(const struct btf *btf, const char *name, size_t *ret_at,
			       size_t *ret_size, size_t *ret_n)
{
	int section = btf__find_by_name_kind(btf, ".bss", BTF_KIND_DATASEC);
	const struct btf_type *t = section < 0 ? NULL : btf__type_by_id(btf, section), *var, *array;
	const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		var = btf__type_by_id(btf, v[i].type);
		array = btf__type_by_id(btf, var->type);
		if (strcmp(btf__name_by_offset(btf, var->name_off), name) || !btf_is_array(array))
			continue;
		*ret_at = v[i].offset;
		*ret_n = btf_array(array)->nelems;
		*ret_size = v[i].size / *ret_n;
		return btf_array(array)->type;
	}
	return 0;
}

/* Where a member of the programs' state is noted. */
struct member_at {
	const char *path;
	size_t *ret_at;
};

/* Finds the offsets of all members in @list. The list ends with an empty row. */
static int members_find(const struct btf *btf, unsigned int type, const struct member_at *list)
{
	int err = 0;

	for (; list->path && !err; list++)
		err = path_find(btf, type, list->path, list->ret_at);
	return err;
}

static int threads_layout(struct state_layout *l, const struct btf *btf)
{
	unsigned int type = array_find(btf, "tasks", &l->tasks, &l->task_size, &l->n_tasks);
	const struct member_at list[] = {
		{ "op.progress", &l->progress },
		{ "op.layer", &l->layer },
		{ "op.kind", &l->kind },
		{ "op.pauses", &l->throttled },
		{ "op.locked", &l->locked },
		{ "op.submitted", &l->submitted },
		{ "op.start", &l->start },
		{ "op.last_bio", &l->last_bio },
		{ "op.file.fs", &l->fs },
		{ "op.file.dev", &l->dev },
		{ "op.file.ino", &l->ino },
		{ "op.file.mode", &l->mode },
		{ "op.file.generation", &l->generation },
		{ "op.file.file", &l->file },
		{ "id", &l->id },
		{ "kernel_tid", &l->kernel_tid },
		{ "task", &l->task },
		{ "collisions", &l->collisions },
		{ "wait.off", &l->off },
		{ "wait.asleep", &l->asleep },
		{ "waking.at", &l->waking_at },
		{ "waking.asleep", &l->waking_asleep },
		{},
	};

	return type ? members_find(btf, type, list) : -ENOENT;
}

static int bios_layout(struct state_layout *l, const struct bpf_object *obj, const struct btf *btf)
{
	const struct bpf_map *hash = bpf_object__find_map_by_name(obj, "ios");
	unsigned int type = array_find(btf, "io_slots", &l->ios, &l->io_size, &l->n_ios);
	const struct member_at list[] = {
		{ "key", &l->key },
		{ "tid", &l->io_tid },
		{ "q", &l->q },
		{ "g", &l->g },
		{ "d", &l->d },
		{ "throttled", &l->io_throttled },
		{ "bio_based", &l->bio_based },
		{ "dev", &l->io_dev },
		{},
	};

	if (!type || !hash)
		return -ENOENT;
	l->io_hash = bpf_map__fd(hash);
	return members_find(btf, type, list);
}

/* Requests of io_uring and libaio not executed by any thread. */
static int parked_layout(struct state_layout *l, const struct bpf_object *obj,
			 const struct btf *btf, bool async)
{
	const struct bpf_map *parked = bpf_object__find_map_by_name(obj, "async_ops");
	int type = btf__find_by_name_kind(btf, "async_op", BTF_KIND_STRUCT);
	const struct member_at list[] = {
		{ "task", &l->async_task },
		{ "queued", &l->queued },
		{ "posted", &l->posted },
		{ "op", &l->async_op },
		{},
	};

	if (type <= 0 || !parked)
		return -ENOENT;
	l->async = async ? bpf_map__fd(parked) : -1;
	l->async_size = bpf_map__value_size(parked);
	return members_find(btf, type, list);
}

static int servers_layout(struct state_layout *l, const struct bpf_object *obj,
			  const struct btf *btf)
{
	const struct bpf_map *served = bpf_object__find_map_by_name(obj, "server_requests");
	int type = btf__find_by_name_kind(btf, "server_request", BTF_KIND_STRUCT);
	const struct member_at list[] = {
		{ "task", &l->server_task },
		{ "dev", &l->server_dev },
		{ "server", &l->server_name },
		{},
	};

	if (type <= 0 || !served)
		return -ENOENT;
	l->served = bpf_map__fd(served);
	l->served_size = bpf_map__value_size(served);
	return members_find(btf, type, list);
}

int state_layout_init(struct state_layout *l, const struct bpf_object *obj,
		      const struct bpf_conf *conf)
{
	const struct btf *btf = bpf_object__btf(obj);
	int err = threads_layout(l, btf);

	l->has_file = conf->file_details;
	l->has_names = conf->by == BY_FILE;
	if (!err)
		err = bios_layout(l, obj, btf);
	if (!err)
		err = parked_layout(l, obj, btf, conf->async);
	return err ? err : servers_layout(l, obj, btf);
}

/* Only the oldest operations get the names of their thread and file. */
enum { NAMED_MOST = 64 };

static uint64_t u64_at(const char *p, size_t at)
{
	uint64_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static unsigned int u32_at(const char *p, size_t at)
{
	unsigned int v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static uint16_t u16_at(const char *p, size_t at)
{
	uint16_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static unsigned char u8_at(const char *p, size_t at)
{
	return p[at];
}

/* The stratum of a thread waiting for the bio with state @io. A bio with unknown submission time is
 * a throttled bio: blk-throttle holds it back. */
static enum stratum io_stratum(const struct state_layout *l, const char *io)
{
	if (u64_at(io, l->d))
		return ST_DEVICE;
	if (!u64_at(io, l->q) || u8_at(io, l->io_throttled) == THROTTLED_AGAIN)
		return ST_THROTTLE;
	if (u64_at(io, l->g))
		return ST_QUEUE;
	return u8_at(io, l->bio_based) ? ST_DEVICE : ST_TAG;
}

/* The stratum for which an operation waits, and its disk. */
struct wait {
	enum stratum stratum;
	unsigned int dev;            /* as in struct unfinished */
	bool frozen;                 /* likewise */
	const struct served *served; /* its request to a server; NULL: none */
};

static struct wait io_wait(const struct state_layout *l, const char *io)
{
	return (struct wait){ .stratum = io_stratum(l, io), .dev = u32_at(io, l->io_dev) };
}

/* The wait of an operation for the last bio of its thread @tid. The bio may be done, and its
 * address be that of a bio of another thread. */
static struct wait bio_wait(const struct state_layout *l, const char *bss, uint64_t bio,
			    unsigned int tid)
{
	char hashed[l->io_size];

	if (!bio) /* the thread submitted none (perhaps it asked a server); 0 is the key of free
		     slots */
		return (struct wait){ .stratum = ST_SLEEP };
	for (size_t i = 0; i < l->n_ios; i++) {
		const char *io = bss + l->ios + i * l->io_size;

		if (u64_at(io, l->key) == bio && u32_at(io, l->io_tid) == tid)
			return io_wait(l, io);
	}
	if (!bpf_map_lookup_elem(l->io_hash, &bio, hashed) && u32_at(hashed, l->io_tid) == tid)
		return io_wait(l, hashed);
	return (struct wait){ .stratum = ST_SLEEP };
}

enum { SERVED_MOST = 512 };

/* A request to a server: the struct task_struct of the thread that made the request; the device
 * number of FUSE's file system, or the address of the server. */
struct served {
	uint64_t task;
	unsigned int dev;
	char address[SERVER_LEN];
};

/* State of one unfinished_read(). */
struct reading {
	const struct state_layout *l;
	const char *bss;
	const struct fs_entry *types;
	uint64_t now, min_ns;
	struct snapshot *sn;
	struct served served[SERVED_MOST];
	size_t n_served;
	struct mounts mounts; /* only if there are requests to servers */
};

/* The request of the thread in the state @task to a server or a daemon, or NULL if there is
 * none. */
static const struct served *served_for(const struct reading *r, const char *task)
{
	for (size_t i = 0; i < r->n_served; i++)
		if (r->served[i].task == u64_at(task, r->l->task))
			return &r->served[i];
	return NULL;
}

/* The only mount from the server at @address; NULL: none, or several. */
static const struct mount *mount_from(const struct mounts *mounts, const char *address)
{
	const struct mount *found = NULL;
	size_t len = strlen(address);

	for (size_t i = 0; i < mounts->n && len; i++) {
		const struct mount *m = &mounts->list[i];

		if (strncmp(m->source, address, len) || m->source[len] != ':')
			continue;
		if (found && found->dev != m->dev)
			return NULL;
		found = m;
	}
	return found;
}

/* The mount point of a daemon, or "10.0.0.7:/home" or "10.0.0.7" of a server. NULL if not known or
 * out of memory. The caller frees the text. */
static char *server_name(const struct reading *r, const struct served *s)
{
	const struct mount *m =
		s->dev ? mounts_by_dev(&r->mounts, s->dev) : mount_from(&r->mounts, s->address);

	if (m)
		return strdup(s->dev ? m->point : m->source);
	return s->address[0] ? strdup(s->address) : NULL;
}

/* The present stratum of a thread, as far as known before the wake-up. Returns ST_N if the thread
 * waits for a bio, whose state tells the stratum. */
static enum stratum stratum_now(const struct state_layout *l, const char *task)
{
	uint64_t asleep = u64_at(task, l->asleep);

	if (!u64_at(task, l->off))
		return u8_at(task, l->layer) <= ST_FS ? u8_at(task, l->layer) : ST_SYSCALL;
	if (!asleep)
		return ST_PREEMPT;
	if (u64_at(task, l->waking_asleep) == asleep && u64_at(task, l->waking_at) >= asleep)
		return ST_RUNQ;
	if (u8_at(task, l->throttled))
		return ST_THROTTLE;
	if (u8_at(task, l->locked))
		return ST_LOCK;
	return u8_at(task, l->submitted) ? ST_N : ST_SLEEP;
}

static struct wait wait_now(const struct reading *r, const char *task)
{
	const struct state_layout *l = r->l;
	struct wait now = { .stratum = stratum_now(l, task) };

	if (now.stratum == ST_N)
		now = bio_wait(l, r->bss, u64_at(task, l->last_bio), u32_at(task, l->kernel_tid));
	if (now.stratum == ST_SLEEP)
		now.served = served_for(r, task);
	if (now.served)
		now.stratum = ST_SERVER;
	now.frozen = now.stratum == ST_LOCK && u8_at(task, l->locked) == LOCKED_FROZEN;
	return now;
}

/* Sets the file of the operation in the state @task. */
static void file_read(const struct state_layout *l, const char *task, struct unfinished *op)
{
	if (!l->has_file)
		return;
	op->by[0] = FILE_KEY(u32_at(task, l->dev), S_ISBLK(u16_at(task, l->mode)),
			     l->has_names ? u32_at(task, l->generation) : 0);
	op->by[1] = u64_at(task, l->ino);
}

/* The name that the user gave to the operation's file, or NULL if there is none. */
static const char *user_name(const struct state_layout *l, const struct unfinished *op)
{
	for (size_t i = 0; i < l->n_files; i++)
		if (l->files[i].ino == op->by[1] && l->files[i].dev == FILE_KEY_DEV(op->by[0]))
			return l->file_names[i];
	return NULL;
}

/* Sets the path of the operation's file: that of its row, else the user's. If memory runs out, the
 * operation has no path. */
static void file_name(const struct state_layout *l, const struct snapshot *sn,
		      struct unfinished *op)
{
	static const struct file_name none = { .nameless = 1 };
	struct path_file file = { FILE_KEY_DEV(op->by[0]), op->by[1], &none };
	const char *named;

	for (size_t i = 0; l->has_names && i < sn->n_ops && op->by[1] && !op->file; i++)
		if (!memcmp(sn->ops[i].key.by, op->by, sizeof(op->by)) && sn->ops[i].by)
			op->file = strdup(sn->ops[i].by);
	if (op->by[1] && !op->file) {
		named = user_name(l, op);
		op->file = named ? strdup(named) : path_full(&file);
	}
}

static int older_first(const void *a, const void *b)
{
	const struct unfinished *x = a, *y = b;

	return (y->age_ns > x->age_ns) - (y->age_ns < x->age_ns);
}

static int add(struct snapshot *sn, const struct unfinished *op)
{
	struct unfinished *list = reallocarray(sn->unfinished, sn->n_unfinished + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	sn->unfinished = list;
	list[sn->n_unfinished++] = *op;
	return 0;
}

/*
 * Whether the operation at @op has begun and is traced.
 *
 * A request of io_uring counts if its file is known: then the request has submitted a bio or waits
 * for a worker. Without a file, the request may merely poll a pipe. A page fault counts if it has
 * submitted a bio: only its end tells whether the fault is on a file. So does a sleep in no call
 * that is traced, also if it has asked a server: else it may be for anything.
 */
static bool in_progress(const struct state_layout *l, const char *op)
{
	unsigned int progress = u8_at(op, l->progress);

	return progress >= OP_ACTIVE || progress == OP_EXECS ||
	       (progress == OP_ASYNC && u64_at(op, l->file)) ||
	       ((progress == OP_FAULTS || progress == OP_SLEEPS) && u8_at(op, l->submitted));
}

/* Whether the operation in the state @task is a call of its thread. */
static bool is_call(const struct state_layout *l, const char *task)
{
	unsigned int progress = u8_at(task, l->progress);

	return progress != OP_ASYNC && progress != OP_FAULTS && progress != OP_SLEEPS;
}

/* Adds the operation at @op, which belongs to thread @id (tgid << 32 | tid). Returns 0 or
 * -ENOMEM. */
static int op_add(const struct reading *r, const char *op, struct wait wait, uint64_t id,
		  bool in_call)
{
	uint64_t start = u64_at(op, r->l->start);
	struct unfinished u = {
		.op = u8_at(op, r->l->kind),
		.stratum = wait.stratum,
		.dev = wait.dev,
		.frozen = wait.frozen,
		.in_call = in_call,
		.pid = id >> 32,
		.tid = id,
	};

	if (start >= r->now || r->now - start < r->min_ns || u.op == OP_HANDLE)
		return 0;
	u.age_ns = r->now - start;
	/* the file of a page fault is looked up only when the fault ends */
	collect_fs_name(r->types, u.op == OP_FAULT ? FS_UNKNOWN : u64_at(op, r->l->fs), u.fs);
	if (u.op != OP_FAULT)
		file_read(r->l, op, &u);
	if (wait.served)
		u.server = server_name(r, wait.served);
	if (!add(r->sn, &u))
		return 0;
	free(u.server);
	return -ENOMEM;
}

/* State of the thread with struct task_struct @task, or NULL if the thread has ended, or has no
 * slot in tasks. */
static const char *thread_of(const struct reading *r, uint64_t task)
{
	const struct state_layout *l = r->l;

	for (size_t i = 0; i < l->n_tasks && task; i++) {
		const char *slot = r->bss + l->tasks + i * l->task_size;

		if (u64_at(slot, l->task) == task)
			return slot;
	}
	return NULL;
}

/* Adds the request in @async. No thread executes it now. */
static int parked_add(const struct reading *r, const char *async)
{
	const struct state_layout *l = r->l;
	const char *op = async + l->async_op;
	uint64_t task = u64_at(async, l->async_task);
	const char *thread = thread_of(r, task);
	struct wait now = { .stratum = ST_SLEEP };

	if (!task || !in_progress(l, op))
		return 0;
	if (u8_at(async, l->posted))
		now.stratum = ST_REAP;
	else if (u8_at(async, l->queued))
		now.stratum = ST_HELPER;
	else if (u8_at(op, l->submitted) && thread)
		now = bio_wait(l, r->bss, u64_at(op, l->last_bio), u32_at(thread, l->kernel_tid));
	return op_add(r, op, now, thread ? u64_at(thread, l->id) : 0, false);
}

enum { BATCH = 512 };

/* Adds the requests of io_uring and libaio not executed by any thread. */
static int parked_read(const struct reading *r)
{
	size_t size = r->l->async_size;
	unsigned int *keys = calloc(BATCH, sizeof(*keys));
	char *entries = calloc(BATCH, size);
	unsigned int at, n;
	bool first = true, last = false;
	int err = keys && entries ? 0 : -ENOMEM;

	while (!err && !last) {
		n = BATCH;
		if (bpf_map_lookup_batch(r->l->async, first ? NULL : &at, &at, keys, entries, &n,
					 NULL)) {
			last = errno == ENOENT;
			err = last ? 0 : -errno;
		}
		for (unsigned int i = 0; i < n && !err; i++)
			err = parked_add(r, entries + i * size);
		first = false;
	}
	free(entries);
	free(keys);
	return err;
}

static int threads_read(const struct reading *r)
{
	const struct state_layout *l = r->l;
	char task[l->task_size];
	int err = 0;

	for (size_t i = 0; i < l->n_tasks && !err; i++) {
		const char *slot = r->bss + l->tasks + i * l->task_size;

		r->sn->unfinished_lost += *(const unsigned int *)(slot + l->collisions);
		/* the last switch of a thread may begin a sleep that is none; then it gives up its
		 * slot */
		if (!in_progress(l, slot) || !u64_at(slot, l->task))
			continue;
		memcpy(task, slot, sizeof(task));
		/* while the state was copied, the operation may have ended and another begun */
		if (in_progress(l, slot) && u64_at(slot, l->start) == u64_at(task, l->start))
			err = op_add(r, task, wait_now(r, task), u64_at(task, l->id),
				     is_call(l, task));
	}
	return err;
}

int unfinished_has_state(const struct state_layout *l, const void *bss, unsigned int tid)
{
	const char *slot = (const char *)bss + l->tasks;
	int has = 0;

	for (size_t i = 0; i < l->n_tasks && has < 1; i++, slot += l->task_size) {
		if (u64_at(slot, l->task) && (uint32_t)u64_at(slot, l->id) == tid)
			has = 1;
		else if (*(const unsigned int *)(slot + l->collisions))
			has = -1;
	}
	return has;
}

/* Reads which threads have requests to servers. A request that ends meanwhile may let the walk
 * begin again. So the walk has a limit beyond all entries. */
static void served_read(struct reading *r)
{
	char request[r->l->served_size];
	uint64_t key, *last = NULL;
	struct served *s;

	for (int i = 0; i < 32 * SERVED_MOST && r->l->served >= 0 && r->n_served < SERVED_MOST &&
			!bpf_map_get_next_key(r->l->served, last, &key);
	     i++) {
		last = &key;
		if (bpf_map_lookup_elem(r->l->served, &key, request) ||
		    !u64_at(request, r->l->server_task)) /* it is over; its place is kept */
			continue;
		s = &r->served[r->n_served++];
		s->task = u64_at(request, r->l->server_task);
		s->dev = u32_at(request, r->l->server_dev);
		memcpy(s->address, request + r->l->server_name, SERVER_LEN - 1);
	}
	if (r->n_served)
		mounts_read(&r->mounts); /* if this fails, addresses are shown without paths */
}

int unfinished_read(const struct state_layout *l, const void *bss, const struct fs_entry *types,
		    uint64_t now, uint64_t min_ns, struct snapshot *sn)
{
	struct reading r = {
		.l = l, .bss = bss, .types = types, .now = now, .min_ns = min_ns, .sn = sn
	};
	int err;

	served_read(&r);
	/* in this order no operation is read twice */
	err = l->async < 0 ? 0 : parked_read(&r);

	if (!err)
		err = threads_read(&r);
	if (sn->n_unfinished)
		qsort(sn->unfinished, sn->n_unfinished, sizeof(*sn->unfinished), older_first);
	for (size_t i = 0; i < sn->n_unfinished && i < NAMED_MOST; i++) {
		process_thread_name(sn->unfinished[i].pid, sn->unfinished[i].tid,
				    sn->unfinished[i].comm);
		file_name(l, sn, &sn->unfinished[i]);
	}
	mounts_free(&r.mounts);
	return err;
}
