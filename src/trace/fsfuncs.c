// SPDX-License-Identifier: GPL-2.0-only
#include "trace/fsfuncs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

enum { PATTERNS = 3 };

static const char *const patterns[FS_METHODS][PATTERNS] = {
	[FS_READ] = { "%s_file_read_iter", "%s_read_iter", "%s_file_read" },
	[FS_WRITE] = { "%s_file_write_iter", "%s_write_iter", "%s_file_write" },
	[FS_FSYNC] = { "%s_sync_file", "%s_file_fsync", "%s_fsync" },
	[FS_OPEN] = { "%s_file_open", "%s_open", "%s_open_file" },
};

/* The prefix of a type's functions, where it is not the type's name. */
static const char *prefix_of(const char *type)
{
	static const char *const other[][2] = {
		{ "overlay", "ovl" }, { "fuseblk", "fuse" }, { "nfs4", "nfs" },
		{ "tmpfs", "shmem" }, { "vfat", "fat" },     { "msdos", "fat" },
		{ "9p", "v9fs" },     { "bdev", "blkdev" },
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (!strcmp(type, other[i][0]))
			return other[i][1];
	return type;
}

/* A symbol to look up, by name or by address. */
struct wanted {
	char name[FUNC_NAME_LEN];
	char module[FUNC_NAME_LEN];
	uint64_t addr;
	bool found;
	UT_hash_handle by_name, by_addr;
};

struct wanted_list {
	struct wanted *names, *addrs;
};

static int want_name(struct wanted_list *l, const char *pattern, const char *prefix)
{
	struct wanted *w, *old;

	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	/* a pattern is one of the constants above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(w->name, sizeof(w->name), pattern, prefix);
#pragma GCC diagnostic pop
	HASH_FIND(by_name, l->names, w->name, strlen(w->name), old);
	if (old)
		free(w);
	else
		HASH_ADD(by_name, l->names, name, strlen(w->name), w);
	return 0;
}

static int want_addr(struct wanted_list *l, uint64_t addr)
{
	struct wanted *w;

	HASH_FIND(by_addr, l->addrs, &addr, sizeof(addr), w);
	if (!addr || w)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->addr = addr;
	HASH_ADD(by_addr, l->addrs, addr, sizeof(addr), w);
	return 0;
}

static int want_type(struct wanted_list *l, const struct fs_type *t)
{
	int err = 0;

	for (int m = 0; m < FS_METHODS && !err; m++) {
		err = want_addr(l, t->addr[m]);
		for (int p = 0; p < PATTERNS && !err; p++)
			err = want_name(l, patterns[m][p], prefix_of(t->name));
	}
	return err;
}

static void wanted_free(struct wanted_list *l)
{
	struct wanted *w, *next;

	HASH_ITER(by_name, l->names, w, next) {
		HASH_DELETE(by_name, l->names, w);
		free(w);
	}
	HASH_ITER(by_addr, l->addrs, w, next) {
		HASH_DELETE(by_addr, l->addrs, w);
		free(w);
	}
}

static void found(struct wanted *w, const char *name, char *module)
{
	if (module)
		module[strcspn(module, "]\n")] = '\0';
	if (strlen(name) >= FUNC_NAME_LEN || (module && strlen(module) > FUNC_NAME_LEN))
		return;
	memmove(w->name, name, strlen(name) + 1);
	strcpy(w->module, module ? module + 1 : "");
	w->found = true;
}

/* "ffffffff81234567 t name [module]" */
static void look_at_line(struct wanted_list *l, char *line)
{
	char *end, *name, *module, type;
	struct wanted *w;
	uint64_t addr;

	addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	type = end[1] | 0x20;
	if (type != 't' && type != 'w')
		return;
	name = end + 3;
	module = strchr(name, '[');
	name[strcspn(name, " \t\n")] = '\0';
	HASH_FIND(by_name, l->names, name, strlen(name), w);
	if (w)
		found(w, name, module);
	HASH_FIND(by_addr, l->addrs, &addr, sizeof(addr), w);
	if (w && !w->found)
		found(w, name, module);
}

static void answer(struct wanted_list *l, struct fs_type *t, int method)
{
	char name[FUNC_NAME_LEN];
	struct wanted *w;

	HASH_FIND(by_addr, l->addrs, &t->addr[method], sizeof(uint64_t), w);
	if (w && w->found) {
		strcpy(t->func[method], w->name);
		strcpy(t->module[method], w->module);
		return;
	}
	for (int p = 0; p < PATTERNS; p++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof(name), patterns[method][p], prefix_of(t->name));
#pragma GCC diagnostic pop
		HASH_FIND(by_name, l->names, name, strlen(name), w);
		if (w && w->found) {
			strcpy(t->func[method], name);
			strcpy(t->module[method], w->module);
			return;
		}
	}
}

int fsfuncs_resolve_from(FILE *f, struct fs_type *types, size_t n)
{
	struct wanted_list l = {};
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = want_type(&l, &types[i]);
	while (!err && getline(&line, &cap, f) >= 0)
		look_at_line(&l, line);
	for (size_t i = 0; i < n && !err; i++)
		for (int m = 0; m < FS_METHODS; m++)
			answer(&l, &types[i], m);
	free(line);
	wanted_free(&l);
	return err;
}

int fsfuncs_resolve(struct fs_type *types, size_t n)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	int err;

	if (!f)
		return -errno;
	err = fsfuncs_resolve_from(f, types, n);
	fclose(f);
	return err;
}
