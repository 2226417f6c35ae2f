// SPDX-License-Identifier: GPL-2.0-only
#include "capture/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/encode.h"
#include "base/list.h"
#include "base/stacks.h"
#include "capture/stored.h"
#include "host/container.h"
#include "host/container_names.h"
#include "host/processes.h"

struct catalog_text {
	uint64_t id;
	uint64_t slide; /* of a code */
	char *text;     /* of a code: its name, NUL, its build id */
	UT_hash_handle hh;
};

/* Names of files, one behind the other: allocated one by one, each would take 32 bytes at least. */
struct catalog_block {
	struct catalog_block *next;
	char bytes[];
};

enum { BLOCK_BYTES = 1 << 16 };

/* @len bytes that live as long as the catalog. Returns NULL if out of memory. */
static char *block_room(struct catalog *c, size_t len)
{
	struct catalog_block *block = c->blocks;

	_Static_assert((int)PATH_BYTES <= (int)BLOCK_BYTES, "each name has room in a block");
	if (!block || c->block_left < len) {
		block = malloc(sizeof(*block) + BLOCK_BYTES);
		if (!block)
			return NULL;
		block->next = c->blocks;
		c->blocks = block;
		c->block_left = BLOCK_BYTES;
	}
	c->block_left -= len;
	return block->bytes + BLOCK_BYTES - c->block_left - len;
}

static void blocks_free(struct catalog *c)
{
	struct catalog_block *next;

	for (; c->blocks; c->blocks = next) {
		next = c->blocks->next;
		free(c->blocks);
	}
}

int catalog_init(struct catalog *c)
{
	*c = (struct catalog){ .n_files = 1, .n_threads = 1, .n_frames = 1, .n_stacks = 1 };
	if (list_reserve((void **)&c->files, &c->files_cap, 1, sizeof(*c->files)) ||
	    list_reserve((void **)&c->threads, &c->threads_cap, 1, sizeof(*c->threads)))
		return -ENOMEM;
	c->files[0] = (struct catalog_file){ .flags = STORED_FILE_NAMELESS };
	c->threads[0] = (struct catalog_thread){};
	strcpy(c->fs[STORED_FS_BDEV].name, "bdev");
	return 0;
}

static void texts_free(struct catalog_text **texts)
{
	struct catalog_text *t, *next;

	HASH_ITER (hh, *texts, t, next) {
		HASH_DEL(*texts, t);
		free(t->text);
		free(t);
	}
}

void catalog_done(struct catalog *c)
{
	blocks_free(c);
	free(c->files);
	free(c->threads);
	texts_free(&c->cgroups);
	texts_free(&c->devices);
	devices_done(&c->disks);
	texts_free(&c->containers);
	texts_free(&c->texts);
	texts_free(&c->codes);
	texts_free(&c->limits);
	for (size_t i = 1; i < c->n_frames; i++)
		free(c->frames[i].text);
	for (size_t i = 1; i < c->n_stacks; i++)
		free(c->stacks[i].frames);
	free(c->frames);
	free(c->stacks);
	texts_free(&c->commands);
	for (size_t i = 0; i < c->n_old; i++)
		free(c->old_commands[i]);
	free(c->old_commands);
	*c = (struct catalog){};
}

static uint64_t hash_add(uint64_t hash, uint64_t n)
{
	hash = (hash ^ n) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* The member .path of a file, a hash. */
static uint64_t file_path(const struct catalog_file *f)
{
	bool whole = f->len && f->flags & STORED_FILE_COMPLETE;
	uint64_t hash = hash_add(whole, whole ? (unsigned int)f->key : f->key);

	hash = hash_add(hash,
			whole ? (uint64_t)f->directory << 16 | (f->flags & ~STORED_FILE_MISSING)
			      : f->ino);
	for (unsigned int i = 0; whole && i < f->len; i++)
		hash = hash_add(hash, (unsigned char)f->names[i]);
	return hash;
}

/* Sets f->names to room for @len bytes. Names that replace each other get twice as much room each
 * time, so that all of them take at most three times the room of the last. Returns 0 or -ENOMEM. */
static int names_reserve(struct catalog *c, struct catalog_file *f, bool is_new, size_t len)
{
	size_t room = is_new ? len : 64;
	char *names;

	if (!is_new && f->room >= len)
		return 0;
	while (room < len)
		room *= 2;
	names = block_room(c, room);
	if (!names)
		return -ENOMEM;
	f->names = names;
	f->room = room;
	return 0;
}

/* Ids are assigned in sequence: an id above the next one is damage. */
static int file_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	bool is_new = n->id == c->n_files;
	struct catalog_file *f;

	if (!n->id || n->id > c->n_files || n->text_len > PATH_BYTES)
		return -EBADMSG;
	if (list_reserve((void **)&c->files, &c->files_cap, n->id, sizeof(*c->files)))
		return -ENOMEM;
	f = &c->files[n->id];
	if (names_reserve(c, f, is_new, n->text_len))
		return -ENOMEM;
	if (n->text_len)
		memcpy(f->names, text, n->text_len);
	c->n_files += is_new;
	*f = (struct catalog_file){ .key = n->a,
				    .ino = n->b,
				    .flags = n->c,
				    .len = n->text_len,
				    .room = f->room,
				    .names = f->names,
				    .directory = n->c >> STORED_FILE_DIRECTORY };
	f->path = file_path(f);
	return 0;
}

static const char *text_find(const struct catalog_text *texts, uint64_t id)
{
	const struct catalog_text *t;

	HASH_FIND(hh, texts, &id, sizeof(id), t);
	return t ? t->text : NULL;
}

static int thread_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	struct catalog_thread t = { .pid = n->a, .tid = n->b, .cgroup = n->c };

	if (!n->id || n->id > c->n_threads || n->text_len > COMM_LEN)
		return -EBADMSG;
	if (list_reserve((void **)&c->threads, &c->threads_cap, n->id, sizeof(*c->threads)))
		return -ENOMEM;
	memcpy(t.comm, text, n->text_len);
	t.command = text_find(c->commands, n->a);
	c->threads[n->id] = t;
	if (n->id == c->n_threads)
		c->n_threads++;
	return 0;
}

static int text_add(struct catalog_text **texts, const struct stored_name *n, const char *text)
{
	struct catalog_text *t;
	char *copy = strndup(text, n->text_len);

	HASH_FIND(hh, *texts, &n->id, sizeof(n->id), t);
	if (!t && copy && (t = calloc(1, sizeof(*t)))) {
		t->id = n->id;
		HASH_ADD(hh, *texts, id, sizeof(t->id), t);
	}
	if (!t || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(t->text);
	t->text = copy;
	return 0;
}

static int code_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	struct catalog_text *t;
	char *copy = calloc(1, n->text_len + 2);
	int err = copy ? text_add(&c->codes, n, text) : -ENOMEM;

	if (err) {
		free(copy);
		return err;
	}
	memcpy(copy, text, n->text_len);
	HASH_FIND(hh, c->codes, &n->id, sizeof(n->id), t);
	free(t->text);
	t->text = copy;
	t->slide = n->a;
	return 0;
}

/* The command line before stays, for threads that have it. */
static int command_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	struct catalog_text *t;

	if (process_hides_commands())
		return 0;
	if (list_reserve((void **)&c->old_commands, &c->old_cap, c->n_old,
			 sizeof(*c->old_commands)))
		return -ENOMEM;
	HASH_FIND(hh, c->commands, &n->id, sizeof(n->id), t);
	if (t) {
		c->old_commands[c->n_old++] = t->text;
		t->text = NULL;
	}
	return text_add(&c->commands, n, text);
}

static int fs_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	if (n->id < STORED_FS_FIRST || n->id >= CATALOG_FS || n->text_len >= FS_NAME_LEN)
		return -EBADMSG;
	memset(c->fs[n->id].name, 0, FS_NAME_LEN);
	memcpy(c->fs[n->id].name, text, n->text_len);
	c->fs[n->id].probed = n->a;
	return 0;
}

static int disk_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	struct device device = { .dev = n->id >> 32 };

	if (!device.dev || n->text_len >= DEVICE_NAME)
		return -EBADMSG;
	memcpy(device.name, text, n->text_len);
	devices_note(&c->disks, &device);
	devices_link(&c->disks, device.dev, (unsigned int)n->id);
	return 0;
}

static int frame_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	size_t function = strnlen(text, n->text_len);
	struct catalog_frame *f;

	if (n->id != c->n_frames || n->c > UINT32_MAX)
		return -EBADMSG;
	if (list_reserve((void **)&c->frames, &c->frames_cap, n->id, sizeof(*c->frames)))
		return -ENOMEM;
	f = &c->frames[n->id];
	*f = (struct catalog_frame){ .code = n->a, .at = n->b, .line = n->c };
	c->n_frames++;
	f->text = malloc(n->text_len + 2);
	if (!f->text)
		return -ENOMEM;
	memcpy(f->text, text, n->text_len);
	f->text[n->text_len] = f->text[n->text_len + 1] = '\0';
	f->function = function ? f->text : NULL;
	f->source = f->text[function + 1] ? f->text + function + 1 : NULL;
	return 0;
}

int catalog_frame_name(struct catalog *c, size_t id, const char *function, const char *source,
		       unsigned int line)
{
	size_t len = strlen(function) + 1, source_len = strlen(source) + 1;
	struct catalog_frame *f = &c->frames[id];
	char *text = malloc(len + source_len);

	if (!text)
		return -ENOMEM;
	memcpy(text, function, len);
	memcpy(text + len, source, source_len);
	free(f->text);
	f->text = text;
	f->function = *function ? text : NULL;
	f->source = *source ? text + len : NULL;
	f->line = line;
	return 0;
}

static int stack_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	size_t frames = n->text_len / 4;
	struct catalog_stack *s;

	if (n->id != c->n_stacks || n->text_len % 4 || frames > STACK_FRAMES || n->a >= STACK_END_N)
		return -EBADMSG;
	if (list_reserve((void **)&c->stacks, &c->stacks_cap, n->id, sizeof(*c->stacks)))
		return -ENOMEM;
	s = &c->stacks[n->id];
	*s = (struct catalog_stack){ .end = n->a, .by_frame_pointers = n->b };
	c->n_stacks++;
	s->frames = calloc(frames + 1, sizeof(*s->frames));
	if (!s->frames)
		return -ENOMEM;
	for (; s->n < frames; s->n++) {
		s->frames[s->n] = get_u32((const uint8_t *)text + 4 * s->n);
		if (!s->frames[s->n] || s->frames[s->n] >= c->n_frames)
			return -EBADMSG;
	}
	return 0;
}

static int name_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	switch (n->type) {
	case NAME_THREAD:
		return thread_add(c, n, text);
	case NAME_FILE:
		return file_add(c, n, text);
	case NAME_CGROUP:
		return text_add(&c->cgroups, n, text);
	case NAME_DEVICE:
		return text_add(&c->devices, n, text);
	case NAME_CONTAINER:
		return text_add(&c->containers, n, text);
	case NAME_TEXT:
		return text_add(&c->texts, n, text);
	case NAME_COMMAND:
		return command_add(c, n, text);
	case NAME_DISK:
		return disk_add(c, n, text);
	case NAME_FS:
		return fs_add(c, n, text);
	case NAME_CODE:
		return code_add(c, n, text);
	case NAME_LIMIT:
		return text_add(&c->limits, n, text);
	case NAME_FRAME:
		return frame_add(c, n, text);
	case NAME_STACK:
		return stack_add(c, n, text);
	default:
		return 0; /* from a later minor version */
	}
}

int catalog_add(struct catalog *c, struct cursor *rows)
{
	const char *text = rows->tail ? (const char *)rows->tail : "";
	size_t left = rows->tail_len;
	struct stored_name n;
	int got, err = 0;

	c->version++;
	while ((got = cursor_next(rows, (uint64_t *)&n)) > 0 && !err) {
		if (n.text_len > left)
			return -EBADMSG;
		err = name_add(c, &n, text);
		left -= n.text_len;
		text += n.text_len;
	}
	return err ? err : got;
}

const struct catalog_file *catalog_file(const struct catalog *c, uint64_t id)
{
	return &c->files[id < c->n_files ? id : 0];
}

const struct catalog_thread *catalog_thread(const struct catalog *c, uint64_t id)
{
	return &c->threads[id < c->n_threads ? id : 0];
}

const char *catalog_cgroup(const struct catalog *c, uint64_t id)
{
	return text_find(c->cgroups, id);
}

const char *catalog_container(const struct catalog *c, uint64_t cgroup)
{
	return text_find(c->containers, cgroup);
}

const char *catalog_server_text(const struct catalog *c, uint64_t id)
{
	const char *text = text_find(c->texts, id);

	return text ? text : "";
}

const char *catalog_build_id(const struct catalog *c, uint64_t id)
{
	const char *text = text_find(c->codes, id);
	const char *build_id = text ? text + strlen(text) + 1 : "";

	return *build_id ? build_id : NULL;
}

const char *catalog_limit(const struct catalog *c, uint64_t id)
{
	return text_find(c->limits, id);
}

const char *catalog_code(const struct catalog *c, uint64_t id)
{
	return text_find(c->codes, id);
}

void catalog_container_names(const struct catalog *c, struct container_names *names)
{
	const struct catalog_text *t;
	struct container one;
	const char *path;

	for (t = c->containers; t; t = t->hh.next) {
		path = catalog_cgroup(c, t->id);
		if (path && container_find(path, &one))
			container_names_add(names, one.id, t->text);
	}
}

const char *catalog_device(const struct catalog *c, uint64_t dev)
{
	return text_find(c->devices, dev);
}

static uint64_t code_slide(const struct catalog *c, uint64_t id)
{
	const struct catalog_text *t;

	HASH_FIND(hh, c->codes, &id, sizeof(id), t);
	return t ? t->slide : 0;
}

void catalog_stack_frame(const struct catalog *c, unsigned int id, struct stack_frame *ret_frame)
{
	const struct catalog_frame *f = &c->frames[id];

	*ret_frame = (struct stack_frame){ .function = (char *)f->function,
					   .source = (char *)f->source,
					   .library = (char *)catalog_code(c, f->code),
					   .line = f->line,
					   .at = f->at };
	ret_frame->build_id = catalog_build_id(c, f->code);
	ret_frame->address = f->at + code_slide(c, f->code);
}

const char *catalog_fs(const struct catalog *c, uint64_t fs)
{
	return c->fs[fs < CATALOG_FS ? fs : STORED_FS_UNKNOWN].name;
}

void catalog_file_name(const struct catalog_file *f, struct file_name *ret_name)
{
	ret_name->len = f->len;
	ret_name->complete = !!(f->flags & STORED_FILE_COMPLETE);
	ret_name->unmounted = !!(f->flags & STORED_FILE_UNMOUNTED);
	ret_name->deleted =
		f->flags & STORED_FILE_MISSING ? NAME_MISSING : !!(f->flags & STORED_FILE_DELETED);
	ret_name->nameless = !!(f->flags & STORED_FILE_NAMELESS);
	ret_name->directory = f->directory;
	if (f->len)
		memcpy(ret_name->names, f->names, f->len);
}
