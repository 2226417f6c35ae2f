// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/json.h"
#include "base/names.h"
#include "capture/stored.h"
#include "host/container.h"
#include "host/container_names.h"
#include "show/page_pack.h"

#define MEMBER_NAMES(member, text)                                                                 \
	{                                                                                          \
		member, MEMBER_TEXT, .what = text, .list = 1, .item = "a name",                    \
				     .item_null = "not known"                                      \
	}
#define MEMBER_PACKED(member, text)                                                                \
	{                                                                                          \
		member, MEMBER_ASCII, .what = text "; packed", .null = "there is none"             \
	}

static const struct member op_members[] = {
	{ "name", MEMBER_TEXT, .what = "the operation, 'uring read'", .null = "not known" },
	{ "fs", MEMBER_TEXT, .what = "type of the file system", .null = "not known" },
	{ "is_async", MEMBER_BOOL, .what = "whether it is a request of io_uring or libaio" },
	{ "is_pseudo", MEMBER_BOOL, .what = "whether the file system is a pseudo one, as proc" },
	{ "p99_ns", MEMBER_TIME, .what = "99 % took less", .null = "not known" },
	{}
};
static const struct object op_object = { "operation", "a kind of operation", op_members };

const struct member page_index_members[] = {
	{ "operations", MEMBER_OBJECT, .what = "kinds of operations", .object = &op_object,
	  .list = 1 },
	MEMBER_NAMES("calls", "names of calls"),
	MEMBER_PACKED("call_p99", "p99 of each call in ns, + 1; 0: not known"),
	MEMBER_NAMES("disks", "names of disks"),
	MEMBER_PACKED("disk_p99", "p99 of operations on each disk, as call_p99"),
	MEMBER_NAMES("directories", "directories"),
	MEMBER_NAMES("files", "names of files, without their directory, from number 1 on"),
	MEMBER_PACKED("file_directories", "the number of each file's directory, + 1; 0: it has "
					  "none"),
	MEMBER_PACKED("file_p99", "p99 of operations on each file, as call_p99"),
	MEMBER_NAMES("pids", "ids of processes"),
	MEMBER_NAMES("processes", "names of these processes"),
	MEMBER_PACKED("pid_p99", "p99 of operations of each process, as call_p99"),
	MEMBER_NAMES("cgroups", "paths of cgroups"),
	MEMBER_NAMES("containers", "for each cgroup the name or id of its container"),
	MEMBER_PACKED("cgroup_p99", "p99 of operations of each cgroup, as call_p99"),
	MEMBER_PACKED("threads", "for each thread from number 1 on: the numbers of its process "
				 "and of its cgroup"),
	{}
};

static size_t hash_of(const uint64_t key[2])
{
	uint64_t h = (key[0] + 1) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ key[1]) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

static uint32_t *place_find(const struct index_list *l, const uint64_t key[2])
{
	for (size_t i = hash_of(key);; i++) {
		uint32_t *place = &l->places[i & (l->n_places - 1)];

		if (!*place || !memcmp(l->keys[*place - 1], key, sizeof(*l->keys)))
			return place;
	}
}

/* Room for a further name. Returns 0 or -ENOMEM. */
static int list_grow(struct index_list *l)
{
	size_t cap = 2 * l->cap + 32;
	uint64_t(*keys)[2] = reallocarray(l->keys, cap, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	l->keys = keys;
	l->cap = cap;
	free(l->places);
	for (l->n_places = 64; l->n_places < 2 * cap; l->n_places *= 2)
		;
	l->places = calloc(l->n_places, sizeof(*l->places));
	for (size_t i = 0; i < l->n && l->places; i++)
		*place_find(l, l->keys[i]) = i + 1;
	return l->places ? 0 : -ENOMEM;
}

/* The number of @key, from 0 on. */
static uint32_t number(struct page_index *x, struct index_list *l, uint64_t a, uint64_t b)
{
	const uint64_t key[2] = { a, b };
	uint32_t *place;

	if (x->err || (l->n == l->cap && list_grow(l))) {
		x->err = -ENOMEM;
		return 0;
	}
	place = place_find(l, key);
	if (!*place) {
		memcpy(l->keys[l->n], key, sizeof(key));
		*place = ++l->n;
	}
	return *place - 1;
}

static uint32_t thread_number(struct page_index *x, uint32_t thread)
{
	struct page_thread t;

	if (!thread)
		return 0;
	t = page_data_thread(x->data, thread);
	number(x, &x->processes, t.pid, t.host);
	number(x, &x->cgroups, t.cgroup, t.host);
	return number(x, &x->threads, thread, 0) + 1;
}

uint32_t page_index_disk(struct page_index *x, uint64_t dev, uint64_t host)
{
	return number(x, &x->disks, dev, host);
}

uint32_t page_index_op(struct page_index *x, unsigned int kind, unsigned int call, unsigned int fs)
{
	return number(x, &x->ops, (uint64_t)kind << 16 | call, fs);
}

struct page_numbers page_index_key(struct page_index *x, const struct cube_key *key)
{
	uint16_t call = async_is_by_call(key->kind, key->call) ? key->call : 0;
	uint64_t host = key->thread ? page_data_thread(x->data, key->thread).host : 0;

	return (struct page_numbers){
		.op = page_index_op(x, key->kind, call, key->fs),
		.call = number(x, &x->calls, key->call, stored_op_outside(key->kind)),
		.disk = page_index_disk(x, key->dev, host),
		.file = key->file ? number(x, &x->files, key->file, 0) + 1 : 0,
		.thread = thread_number(x, key->thread),
	};
}

/* Text as a string of a list, made safe; null: not known. */
static void put_safe(struct json *j, const char *name, const char *text, size_t max)
{
	size_t len = text ? strnlen(text, max) : 0;
	char *safe = len ? malloc(TEXT_SAFE_CAP(len)) : NULL;

	if (safe)
		text_safe_utf8(safe, TEXT_SAFE_CAP(len), text, len);
	json_put_string(j, name, safe);
	free(safe);
}

/* The row of @list with this key and host, or NULL if there is none. */
static const struct op_row *row_of(const struct snapshot *list, uint64_t by, uint64_t host)
{
	for (size_t i = 0; i < list->n_ops; i++)
		if (list->ops[i].key.by[0] == by && list->ops[i].key.fs == host)
			return &list->ops[i];
	return NULL;
}

static void pack_p99(struct pack *p, const struct op_row *r)
{
	pack_uint(p, r && r->hist.n ? hist_percentile(&r->hist, 99, r->max_ns) + 1 : 0);
}

/* Writes the texts of the rows of all keys in @l. */
static void put_rows(struct json *j, const char *name, const struct index_list *l,
		     const struct snapshot *rows)
{
	json_put_begin(j, name, '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct op_row *r = row_of(rows, l->keys[i][0], l->keys[i][1]);

		put_safe(j, NULL, r ? r->by : NULL, SIZE_MAX);
	}
	json_put_end(j, ']');
}

static int put_rows_p99(struct json *j, const char *name, const struct index_list *l,
			const struct snapshot *rows)
{
	struct pack p = {};

	for (size_t i = 0; i < l->n; i++)
		pack_p99(&p, row_of(rows, l->keys[i][0], l->keys[i][1]));
	return pack_put(&p, j, name);
}

/* The row of the operations of @kind, with @call if they have a row for each call, on @fs. */
static const struct op_row *op_row_of(const struct snapshot *sn, unsigned int kind,
				      unsigned int call, const char *fs)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		const struct op_row *r = &sn->ops[i];

		if (r->key.op == kind && (!call || r->key.call == call) &&
		    !strncmp(r->fs, fs, FS_NAME_LEN))
			return r;
	}
	return NULL;
}

static void put_op(const struct page_index *x, struct json *j, const uint64_t key[2])
{
	const struct page_fs *fs = key[1] ? &x->data->fs[key[1] - 1] : NULL;
	struct op_row name = { .key = { .op = key[0] >> 16, .call = key[0] & 0xffff } };
	const struct op_row *r;
	char buf[32];

	r = op_row_of(x->names->ops, name.key.op, name.key.call, fs ? fs->name : "");
	json_put_begin(j, NULL, '{');
	json_put_string(j, "name", breakdown_op_name(x->view, &name, buf));
	put_safe(j, "fs", fs ? fs->name : NULL, FS_NAME_LEN);
	json_put_bool(j, "is_async", async_is_request(name.key.op, name.key.call));
	json_put_bool(j, "is_pseudo", fs && fs->is_pseudo);
	if (r && r->hist.n)
		json_put_uint(j, "p99_ns", hist_percentile(&r->hist, 99, r->max_ns));
	else
		json_put_null(j, "p99_ns");
	json_put_end(j, '}');
}

/* The percentile of a call on all file systems. Returns 0 or -ENOMEM. */
static int pack_call(struct pack *p, const struct snapshot *calls, const uint64_t call[2])
{
	struct op_row all = {};
	int err = 0;

	for (size_t i = 0; i < calls->n_ops && !err; i++)
		if (calls->ops[i].key.by[0] == call[0] &&
		    stored_op_outside(calls->ops[i].key.by[1]) == call[1])
			err = op_row_merge(&all, &calls->ops[i]);
	pack_p99(p, &all);
	free(all.hist.bins);
	return err;
}

/* "umount2"; "outside umount2" for a sleep in no operation. */
static void put_call_name(const struct page_index *x, struct json *j, const uint64_t call[2])
{
	char buf[16], name[64];

	snprintf(name, sizeof(name), "%s%s%s", call[1] ? op_name(call[1]) : "", call[1] ? " " : "",
		 breakdown_call_name(x->view, call[0], buf));
	json_put_string(j, NULL, name);
}

static int put_calls(const struct page_index *x, struct json *j)
{
	struct pack p = {};
	int err = 0;

	json_put_begin(j, "calls", '[');
	for (size_t i = 0; i < x->calls.n && !err; i++) {
		put_call_name(x, j, x->calls.keys[i]);
		err = pack_call(&p, x->names->calls, x->calls.keys[i]);
	}
	json_put_end(j, ']');
	return err ? err : pack_put(&p, j, "call_p99");
}

/* The length of the directory in a path, or -1 if it has none. */
static int directory_len(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash - path : -1;
}

/* The path of a file's number. */
static const char *path_of(const struct page_index *x, size_t i)
{
	return x->names->files->ops[x->files.keys[i][0] - 1].by;
}

/* A file, to be sorted by its directory. */
struct sorted_file {
	const char *path;
	size_t number;
	int directory; /* length; -1: none */
};

static int directory_order(const void *a, const void *b)
{
	const struct sorted_file *x = a, *y = b;
	int least = x->directory < y->directory ? x->directory : y->directory;
	int order = least > 0 ? memcmp(x->path, y->path, least) : 0;

	return order ? order : x->directory - y->directory;
}

/* Writes all directories, and sets @of to the number of each file's + 1. Returns 0 or -ENOMEM. */
static int put_directories(const struct page_index *x, struct json *j, uint32_t *of)
{
	struct sorted_file *files = calloc(x->files.n + 1, sizeof(*files)), *last = NULL;
	uint32_t n = 0;

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < x->files.n; i++)
		files[i] = (struct sorted_file){ path_of(x, i), i, directory_len(path_of(x, i)) };
	qsort(files, x->files.n, sizeof(*files), directory_order);
	json_put_begin(j, "directories", '[');
	for (size_t i = 0; i < x->files.n; i++) {
		if (files[i].directory < 0)
			continue;
		if (!last || directory_order(last, &files[i])) {
			put_safe(j, NULL, files[i].directory ? files[i].path : "/",
				 files[i].directory ? files[i].directory : 1);
			n++;
		}
		last = &files[i];
		of[files[i].number] = n;
	}
	json_put_end(j, ']');
	free(files);
	return 0;
}

static int put_files(const struct page_index *x, struct json *j)
{
	uint32_t *of = calloc(x->files.n + 1, sizeof(*of));
	struct pack directories = {}, p99 = {};
	int err = of ? put_directories(x, j, of) : -ENOMEM;

	json_put_begin(j, "files", '[');
	for (size_t i = 0; i < x->files.n && !err; i++) {
		const char *path = path_of(x, i);

		put_safe(j, NULL, path ? path + directory_len(path) + 1 : NULL, SIZE_MAX);
		pack_uint(&directories, of[i]);
		pack_p99(&p99, &x->names->files->ops[x->files.keys[i][0] - 1]);
	}
	json_put_end(j, ']');
	free(of);
	if (pack_put(&directories, j, "file_directories"))
		err = -ENOMEM;
	return pack_put(&p99, j, "file_p99") ? -ENOMEM : err;
}

/* The name of the container of a cgroup. */
static void put_container(const struct page_index *x, struct json *j, const struct op_row *r)
{
	struct container c;

	if (!r || !r->by || !container_is_path(r->by) || !container_find(r->by, &c)) {
		json_put_null(j, NULL);
		return;
	}
	if (x->names->containers)
		container_names_find(x->names->containers, &c);
	put_safe(j, NULL, c.title[0] ? c.title : c.id, c.title[0] ? SIZE_MAX : c.shown);
}

static int put_threads(struct page_index *x, struct json *j)
{
	struct pack p = {};

	for (size_t i = 0; i < x->threads.n; i++) {
		struct page_thread t = page_data_thread(x->data, x->threads.keys[i][0]);

		pack_uint(&p, number(x, &x->processes, t.pid, t.host));
		pack_uint(&p, number(x, &x->cgroups, t.cgroup, t.host));
	}
	return pack_put(&p, j, "threads");
}

/* Names of processes: their command lines, if the page may have these. */
static void put_processes(const struct page_index *x, struct json *j)
{
	json_put_begin(j, "processes", '[');
	for (size_t i = 0; i < x->processes.n; i++) {
		const struct op_row *r = row_of(x->names->processes, x->processes.keys[i][0],
						x->processes.keys[i][1]);

		put_safe(j, NULL,
			 !r           ? NULL
			 : r->command ? r->command
				      : r->comm,
			 r && r->command ? SIZE_MAX : COMM_LEN);
	}
	json_put_end(j, ']');
}

static int put_owners(struct page_index *x, struct json *j)
{
	const struct page_names *names = x->names;
	int err;

	put_rows(j, "pids", &x->processes, names->processes);
	put_processes(x, j);
	err = put_rows_p99(j, "pid_p99", &x->processes, names->processes);
	put_rows(j, "cgroups", &x->cgroups, names->cgroups);
	json_put_begin(j, "containers", '[');
	for (size_t i = 0; i < x->cgroups.n; i++)
		put_container(x, j,
			      row_of(names->cgroups, x->cgroups.keys[i][0], x->cgroups.keys[i][1]));
	json_put_end(j, ']');
	err = err ? err : put_rows_p99(j, "cgroup_p99", &x->cgroups, names->cgroups);
	return err ? err : put_threads(x, j);
}

int page_index_put(struct page_index *x, struct json *j)
{
	int err = x->err;

	json_put_begin(j, "operations", '[');
	for (size_t i = 0; i < x->ops.n; i++)
		put_op(x, j, x->ops.keys[i]);
	json_put_end(j, ']');
	err = err ? err : put_calls(x, j);
	put_rows(j, "disks", &x->disks, x->names->disks);
	err = err ? err : put_rows_p99(j, "disk_p99", &x->disks, x->names->disks);
	err = err ? err : put_files(x, j);
	return err ? err : put_owners(x, j);
}

void page_index_done(struct page_index *x)
{
	struct index_list *all[] = { &x->ops,     &x->calls,     &x->disks,  &x->files,
				     &x->threads, &x->processes, &x->cgroups };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		free(all[i]->keys);
		free(all[i]->places);
	}
}
