// SPDX-License-Identifier: GPL-2.0-only
#include "export/otf2_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "capture/server_request_row.h"
#include "cell.h"
#include "host/mounts.h"
#include "host/path.h"

enum { STRANDS = 16 };

static struct known *known_find(struct known **set, uint64_t a, uint64_t b)
{
	uint64_t key[2] = { a, b };
	struct known *k;

	HASH_FIND(hh, *set, key, sizeof(key), k);
	return k;
}

static struct known *known_new(struct exporting *x, struct known **set, uint64_t a, uint64_t b)
{
	struct known *k = calloc(1, sizeof(*k));

	if (!k) {
		otf2_note(&x->a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return NULL;
	}
	k->key[0] = a;
	k->key[1] = b;
	k->lock = NO_LOCK;
	HASH_ADD(hh, *set, key, sizeof(k->key), k);
	return k;
}

static void known_drop(struct known **set, struct known *k)
{
	HASH_DEL(*set, k);
	free(k);
}

static void known_free(struct known **set)
{
	struct known *k, *next;

	HASH_ITER (hh, *set, k, next)
		known_drop(set, k);
}

void otf2_attr_u64(struct exporting *x, int which, uint64_t v)
{
	otf2_note(&x->a, OTF2_AttributeList_AddUint64(x->list, x->attrs[which], v));
}

void otf2_attr_errno(struct exporting *x, int64_t ret)
{
	if (ret < 0)
		otf2_note(&x->a, OTF2_AttributeList_AddInt32(x->list, x->attrs[ATTR_ERRNO],
							     -(uint64_t)ret));
}

static void attrs_define(struct exporting *x)
{
	static const struct {
		int which;
		const char *name, *what;
		OTF2_Type type;
	} list[] = {
		{ ATTR_OFFSET, "Offset", "in the file, or on the disk", OTF2_TYPE_UINT64 },
		{ ATTR_ERRNO, "OTF2::IO_ERRNO", "error number", OTF2_TYPE_INT32 },
		{ ATTR_BLOCK_FLAGS, "OTF2::BLOCK_FLAGS", "the kernel's cmd_flags",
		  OTF2_TYPE_UINT64 },
		{ ATTR_THREAD, "ThreadId", "thread that submitted the request", OTF2_TYPE_UINT64 },
		{ ATTR_ISSUER, "OTF2::IO_ISSUER", "location of the submitting thread",
		  OTF2_TYPE_LOCATION },
		{ ATTR_CACHE, "IOSTRATA::CACHE",
		  "1 hit, 2 miss, 3 readahead, 4 direct, 5 not known, 6 hit after readahead",
		  OTF2_TYPE_UINT64 },
		{ ATTR_REQUESTS, "IOSTRATA::REQUESTS", "bios submitted by the operation",
		  OTF2_TYPE_UINT64 },
		{ ATTR_CALL, "IOSTRATA::CALL", "system call or request", OTF2_TYPE_REGION },
		{ ATTR_MERGES, "IOSTRATA::MERGES", "bios beside the first", OTF2_TYPE_UINT64 },
		{ ATTR_REQUEUES, "IOSTRATA::REQUEUES", "how often", OTF2_TYPE_UINT64 },
		{ ATTR_MERGED, "IOSTRATA::SEGMENTS_MERGED", "last segments, which have no region",
		  OTF2_TYPE_UINT64 },
	};
	char name[48];

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		x->attrs[list[i].which] =
			otf2_attribute(&x->a, list[i].name, list[i].what, list[i].type);
	for (int st = 0; st < ST_N; st++) {
		snprintf(name, sizeof(name), "IOSTRATA::%s_NS", stratum_name(st));
		for (char *c = name; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c;
		x->attrs[ATTR_STRATA + st] =
			otf2_attribute(&x->a, name, "a stratum of its time", OTF2_TYPE_UINT64);
	}
}

/* Names the process of @t as its leader is called, or as @t is if its leader is not known. */
static void process_name(struct exporting *x, struct known *k, const struct catalog_thread *t)
{
	bool leads = t->tid == t->pid;
	char name[64];

	if ((k->is_leaders && !leads) ||
	    (k->is_leaders == leads && !memcmp(k->comm, t->comm, COMM_LEN)))
		return;
	k->is_leaders = leads;
	memcpy(k->comm, t->comm, COMM_LEN);
	snprintf(name, sizeof(name), "%.*s (%u)", COMM_LEN, t->comm, t->pid);
	otf2_group_name(&x->a, k->ref, t->pid ? name : "not known");
}

static struct known *process_group(struct exporting *x, const struct catalog_thread *t)
{
	struct known *k = known_find(&x->processes, t->pid, 0);

	if (!k && (k = known_new(x, &x->processes, t->pid, 0)))
		k->ref = otf2_group(&x->a, "not known", x->machine);
	if (k)
		process_name(x, k, t);
	return k;
}

/* The location of a thread, by its key in @set; @suffix: what its name has after
 * comm and tid. A thread gets
 * another name when it executes a program: the last one counts. */
static size_t location_of(struct exporting *x, struct known **set, const uint64_t key[2],
			  const struct catalog_thread *t, const char *suffix)
{
	struct known *k = known_find(set, key[0], key[1]), *process;
	char name[64];
	size_t l;

	if (k && !memcmp(k->comm, t->comm, COMM_LEN))
		return k->ref;
	process = process_group(x, t);
	snprintf(name, sizeof(name), "%.*s (%u)%s", COMM_LEN, t->comm, t->tid, suffix);
	if (k) {
		otf2_location_name(&x->a, k->ref, name);
	} else {
		l = otf2_location(&x->a, name, process ? process->ref : 0);
		k = l == SIZE_MAX ? NULL : known_new(x, set, key[0], key[1]);
		if (!k)
			return SIZE_MAX;
		k->ref = l;
	}
	memcpy(k->comm, t->comm, COMM_LEN);
	return k->ref;
}

size_t otf2_thread_location(struct exporting *x, const struct catalog_thread *t)
{
	return location_of(x, &x->threads, (uint64_t[2]){ t->pid, t->tid }, t, "");
}

size_t otf2_async_location(struct exporting *x, const struct catalog_thread *t)
{
	return location_of(x, &x->asyncs, (uint64_t[2]){ t->pid, t->tid }, t, " asynchronous");
}

/*
 * The number in @set of a location of @of, a thread or disk. Its last event is before @start_ns. If
 * there is no such location, it is the next one to be made; if there are STRANDS already, the one
 * that is free first.
 */
static unsigned int strand_find(struct exporting *x, struct known **set, uint64_t of,
				uint64_t start_ns)
{
	unsigned int strand, free_first = 0;
	uint64_t last_ns, free_ns = 0;
	const struct known *k;

	for (strand = 0; strand < STRANDS && (k = known_find(set, of, strand)); strand++) {
		last_ns = x->a.locations[k->ref].last_ns;
		if (last_ns <= start_ns)
			return strand;
		if (!strand || last_ns < free_ns) {
			free_first = strand;
			free_ns = last_ns;
		}
	}
	return strand == STRANDS ? free_first : strand;
}

size_t otf2_strand_location(struct exporting *x, const struct catalog_thread *t, uint64_t start_ns)
{
	uint64_t thread = (uint64_t)t->pid << 32 | t->tid;
	unsigned int strand = strand_find(x, &x->strands, thread, start_ns);
	char suffix[48];

	snprintf(suffix, sizeof(suffix), " asynchronous call %u", strand + 1);
	return location_of(x, &x->strands, (uint64_t[2]){ thread, strand }, t, suffix);
}

/* A location in @set of @of that is free at @start_ns, in @group; named @name and its number. */
static size_t strand_of(struct exporting *x, struct known **set, uint64_t of, uint64_t start_ns,
			uint32_t group, const char *name)
{
	unsigned int strand = strand_find(x, set, of, start_ns);
	struct known *k = known_find(set, of, strand);
	char text[SERVER_TEXT + 32];
	size_t l;

	if (k)
		return k->ref;
	snprintf(text, sizeof(text), "%.*s %u", SERVER_TEXT + 16, name, strand + 1);
	l = otf2_location(&x->a, text, group);
	k = l == SIZE_MAX ? NULL : known_new(x, set, of, strand);
	if (!k)
		return SIZE_MAX;
	k->ref = l;
	return l;
}

size_t otf2_disk_strand_location(struct exporting *x, const struct known *disk, uint64_t start_ns)
{
	const char *disk_name = catalog_device(&x->rec->catalog, disk->key[0]);
	char name[96];

	snprintf(name, sizeof(name), "%.50s request", disk_name ? disk_name : "disk");
	return strand_of(x, &x->disk_strands, disk->key[0], start_ns, disk->group, name);
}

/* The group of the server called @name, whose number is @number, or NULL if there is no memory. */
static struct known *server_known(struct exporting *x, uint64_t number, const char *name)
{
	struct known *k = known_find(&x->servers, number, 0);

	if (!k && (k = known_new(x, &x->servers, number, 0)))
		k->group =
			otf2_group(&x->a, name, otf2_node(&x->a, name, "file server", x->machine));
	return k;
}

size_t otf2_server_location(struct exporting *x, const struct stored_op *op, uint64_t start_ns)
{
	unsigned int dev = FILE_KEY_DEV(catalog_file(&x->rec->catalog, op->file)->key);
	char server[SERVER_TEXT], name[SERVER_TEXT + 16];
	struct known *k;
	uint64_t number;

	header_server(&x->rec->header, dev, catalog_fs(&x->rec->catalog, op->fs), server);
	if (server[0] == '(') /* also a file on a loop device whose file is on NFS */
		snprintf(server, sizeof(server), "unknown server");
	number = mount_server_number(server);
	k = server_known(x, number, server);
	if (!k)
		return SIZE_MAX;
	snprintf(name, sizeof(name), "%s wait", server);
	return strand_of(x, &x->server_strands, number, start_ns, k->group, name);
}

struct known *otf2_disk_known(struct exporting *x, uint64_t dev)
{
	struct known *k = known_find(&x->disks, dev, 0);
	const char *name = catalog_device(&x->rec->catalog, dev);
	uint32_t group, file;
	char path[64];
	size_t l;

	if (k)
		return k;
	if (name)
		snprintf(path, sizeof(path), "/dev/%.50s", name);
	else
		snprintf(path, sizeof(path), "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
	group = otf2_group(&x->a, path, otf2_node(&x->a, path, "block device", x->machine));
	l = otf2_location(&x->a, path, group);
	k = l == SIZE_MAX ? NULL : known_new(x, &x->disks, dev, 0);
	if (!k)
		return NULL;
	file = otf2_file(&x->a, path, x->machine);
	k->ref = l;
	k->group = group;
	k->handle = otf2_handle_there(&x->a, path, file, x->block, OTF2_IO_HANDLE_FLAG_NONE,
				      OTF2_IO_ACCESS_MODE_READ_WRITE);
	return k;
}

/* The address of the server of @rq. Its number is that of mount_server_number(). */
static const char *asked_name(const struct exporting *x, uint64_t number)
{
	const char *name = catalog_server_text(&x->rec->catalog, number);

	return name[0] ? name : "unknown server";
}

struct known *otf2_asked_known(struct exporting *x, const struct stored_server_request *rq)
{
	const char *name = asked_name(x, rq->server);
	struct known *k = known_find(&x->asked, rq->server, 0);
	struct known *server = k ? NULL : server_known(x, rq->server, name);
	char text[SERVER_TEXT + 16];
	size_t l;

	if (!server)
		return k;
	snprintf(text, sizeof(text), "%.*s requests", SERVER_TEXT, name);
	l = otf2_location(&x->a, text, server->group);
	k = l == SIZE_MAX ? NULL : known_new(x, &x->asked, rq->server, 0);
	if (!k)
		return NULL;
	if (!x->server_paradigm)
		x->server_paradigm = 1 + otf2_paradigm(&x->a, "SERVER");
	k->ref = l;
	k->group = server->group;
	k->handle = otf2_handle_there(&x->a, name, OTF2_UNDEFINED_IO_FILE, x->server_paradigm - 1,
				      OTF2_IO_HANDLE_FLAG_NONE, OTF2_IO_ACCESS_MODE_READ_WRITE);
	return k;
}

size_t otf2_asked_strand_location(struct exporting *x, const struct known *server,
				  uint64_t start_ns)
{
	char name[SERVER_TEXT + 16];

	snprintf(name, sizeof(name), "%.*s request", SERVER_TEXT, asked_name(x, server->key[0]));
	return strand_of(x, &x->asked_strands, server->key[0], start_ns, server->group, name);
}

uint32_t otf2_asked_region(struct exporting *x, const struct stored_server_request *rq)
{
	struct known *k = known_find(&x->asked_regions, rq->op, 0);
	struct server_request_row row;
	char name[48];

	if (k)
		return k->ref;
	k = known_new(x, &x->asked_regions, rq->op, 0);
	if (!k)
		return OTF2_UNDEFINED_REGION;
	server_request_row_fill(&row, x->rec, rq);
	snprintf(name, sizeof(name), "%s %.*s", row.protocol, SERVER_OP_LEN,
		 row.op[0] ? row.op : "request");
	k->ref = otf2_region(&x->a, name, OTF2_REGION_ROLE_FILE_IO);
	return k->ref;
}

static char *file_path(const struct exporting *x, uint64_t id)
{
	const struct catalog_file *f = catalog_file(&x->rec->catalog, id);
	struct file_name name;
	struct path_file file = { FILE_KEY_DEV(f->key), f->ino, &name };

	catalog_file_name(f, &name);
	return path_full(&file);
}

static void file_properties(struct exporting *x, uint32_t ref, uint64_t id, uint64_t fs)
{
	unsigned int dev = FILE_KEY_DEV(catalog_file(&x->rec->catalog, id)->key);
	const struct header_mount *m = header_mount(&x->rec->header, dev);

	otf2_file_property(&x->a, ref, "File system", catalog_fs(&x->rec->catalog, fs));
	if (!m)
		return;
	otf2_file_property(&x->a, ref, "Mount Point", m->point);
	otf2_file_property(&x->a, ref, "Mount Source", m->source);
}

static uint32_t file_ref(struct exporting *x, uint64_t id, uint64_t fs)
{
	size_t cap;
	uint32_t *files;
	char *path;

	id = id < x->rec->catalog.n_files ? id : 0; /* the id comes from a file, hostile */
	cap = id + id / 2 + 64;
	if (id >= x->files_cap) {
		files = reallocarray(x->files, cap, sizeof(*files));
		if (!files) {
			otf2_note(&x->a, OTF2_ERROR_MEM_ALLOC_FAILED);
			return OTF2_UNDEFINED_UINT32;
		}
		memset(files + x->files_cap, 0, (cap - x->files_cap) * sizeof(*files));
		x->files = files;
		x->files_cap = cap;
	}
	if (!x->files[id]) {
		path = file_path(x, id);
		x->files[id] = otf2_file(&x->a, path ? path : "", x->machine) + 1;
		file_properties(x, x->files[id] - 1, id, fs);
		free(path);
	}
	return x->files[id] - 1;
}

OTF2_IoAccessMode otf2_access_mode(uint64_t open_flags)
{
	static const OTF2_IoAccessMode modes[] = {
		OTF2_IO_ACCESS_MODE_READ_ONLY,
		OTF2_IO_ACCESS_MODE_WRITE_ONLY,
		OTF2_IO_ACCESS_MODE_READ_WRITE,
		OTF2_IO_ACCESS_MODE_READ_WRITE,
	};

	return modes[open_flags & 3];
}

/* The handle of a descriptor whose open was not recorded: inherited, duplicated, or open when the
 * recording began. */
static uint32_t handle_inherited(struct exporting *x, const struct stored_op *op)
{
	char *path = file_path(x, op->file);
	uint32_t h =
		otf2_handle_there(&x->a, path ? path : "", file_ref(x, op->file, op->fs), x->posix,
				  OTF2_IO_HANDLE_FLAG_NONE, otf2_access_mode(op->open_flags));

	free(path);
	return h;
}

bool otf2_handle_is_newer(struct exporting *x, const struct stored_op *op, unsigned int pid)
{
	const struct known *k = known_find(&x->descriptors, pid, op->fd);

	return k && op->start_ns < k->since_ns;
}

uint64_t otf2_handle_file(struct exporting *x, unsigned int pid, uint64_t fd)
{
	struct known *k = known_find(&x->descriptors, pid, fd);

	return k ? k->file : 0;
}

uint32_t otf2_handle_of(struct exporting *x, const struct stored_op *op, unsigned int pid)
{
	struct known *k;

	if (!op->file)
		return NO_HANDLE;
	if (otf2_handle_is_newer(x, op, pid))
		return handle_inherited(x, op);
	k = known_find(&x->descriptors, pid, op->fd);
	if (k && k->file == op->file)
		return k->ref;
	/* the close was not recorded, and the number is in use again */
	if (!k)
		k = known_new(x, &x->descriptors, pid, op->fd);
	if (!k)
		return NO_HANDLE;
	k->file = op->file;
	k->lock = NO_LOCK;
	k->since_ns = 0;
	k->ref = handle_inherited(x, op);
	return k->ref;
}

uint32_t otf2_handle_of_file(struct exporting *x, const struct stored_op *op, unsigned int pid)
{
	struct known *k;

	if (!op->file)
		return NO_HANDLE;
	k = known_find(&x->async_files, pid, op->file);
	if (!k && (k = known_new(x, &x->async_files, pid, op->file)))
		k->ref = handle_inherited(x, op);
	return k ? k->ref : NO_HANDLE;
}

uint32_t otf2_handle_of_everything(struct exporting *x)
{
	if (!x->everything)
		x->everything = 1 + otf2_handle_there(&x->a, "everything", OTF2_UNDEFINED_UINT32,
						      x->posix, OTF2_IO_HANDLE_FLAG_ALL_PROXY,
						      OTF2_IO_ACCESS_MODE_READ_WRITE);
	return x->everything - 1;
}

void otf2_attr_strata(struct exporting *x, const uint64_t *strata)
{
	for (int st = 0; st < ST_N && !x->lean; st++)
		if (strata[st])
			otf2_attr_u64(x, ATTR_STRATA + st, strata[st]);
}

uint32_t otf2_handle_begin(struct exporting *x, const struct stored_op *op, unsigned int pid,
			   uint64_t end_ns)
{
	struct known *k = known_new(x, &x->descriptors, pid, op->fd);
	char *path;

	if (!k)
		return NO_HANDLE;
	path = file_path(x, op->file);
	k->file = op->file;
	k->since_ns = end_ns;
	k->ref = otf2_handle(&x->a, path ? path : "", file_ref(x, op->file, op->fs), x->posix);
	free(path);
	return k->ref;
}

OTF2_LockType *otf2_handle_lock(struct exporting *x, unsigned int pid, uint64_t fd)
{
	struct known *k = known_find(&x->descriptors, pid, fd);

	return k ? &k->lock : NULL;
}

uint32_t otf2_handle_end(struct exporting *x, unsigned int pid, uint64_t fd)
{
	struct known *k = known_find(&x->descriptors, pid, fd);
	uint32_t ref = k ? k->ref : NO_HANDLE;

	if (k)
		known_drop(&x->descriptors, k);
	return ref;
}

void otf2_names_begin(struct exporting *x)
{
	x->posix = otf2_paradigm(&x->a, "POSIX");
	x->block = otf2_paradigm(&x->a, "BLOCK");
	attrs_define(x);
	x->list = OTF2_AttributeList_New();
	if (!x->list)
		otf2_note(&x->a, OTF2_ERROR_MEM_ALLOC_FAILED);
}

static void names_forget(struct exporting *x)
{
	known_free(&x->threads);
	known_free(&x->processes);
	known_free(&x->disks);
	known_free(&x->descriptors);
	known_free(&x->asyncs);
	known_free(&x->strands);
	known_free(&x->disk_strands);
	known_free(&x->servers);
	known_free(&x->server_strands);
	known_free(&x->asked);
	known_free(&x->asked_strands);
	known_free(&x->asked_regions);
	known_free(&x->async_files);
	free(x->files);
	x->files = NULL;
	x->files_cap = 0;
	x->everything = 0;
	x->losses = 0;
	memset(x->regions, 0, sizeof(x->regions));
	memset(x->rq_regions, 0, sizeof(x->rq_regions));
	memset(x->st_regions, 0, sizeof(x->st_regions));
	memset(x->wait_regions, 0, sizeof(x->wait_regions));
}

void otf2_names_machine(struct exporting *x, const char *machine)
{
	names_forget(x);
	x->machine = otf2_node(&x->a, machine, "machine", OTF2_UNDEFINED_UINT32);
}

void otf2_names_done(struct exporting *x)
{
	names_forget(x);
	if (x->list)
		OTF2_AttributeList_Delete(x->list);
}
