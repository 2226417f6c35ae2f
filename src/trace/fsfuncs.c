// SPDX-License-Identifier: GPL-2.0-only
#include "trace/fsfuncs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/kallsyms.h"

enum { PATTERNS = 3 };

static const char *const patterns[FS_METHODS][PATTERNS] = {
	[FS_READ] = { "%s_file_read_iter", "%s_read_iter", "%s_file_read" },
	[FS_WRITE] = { "%s_file_write_iter", "%s_write_iter", "%s_file_write" },
	[FS_FSYNC] = { "%s_sync_file", "%s_file_fsync", "%s_fsync" },
	[FS_OPEN] = { "%s_file_open", "%s_open", "%s_open_file" },
};

/* Prefix of the functions of file system @type: its name, with some exceptions. */
static const char *prefix_of(const char *type)
{
	static const char *const other[][2] = {
		{ "overlay", "ovl" },   { "fuseblk", "fuse" }, { "nfs4", "nfs" },
		{ "tmpfs", "shmem" },   { "vfat", "fat" },     { "msdos", "fat" },
		{ "9p", "v9fs" },       { "bdev", "blkdev" },  { "virtiofs", "fuse" },
		{ "smb3", "cifs" },     { "ntfs3", "ntfs" },   { "nilfs2", "nilfs" },
		{ "bcachefs", "bch2" },
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (!strcmp(type, other[i][0]))
			return other[i][1];
	return type;
}

/* A symbol to look up by name or by address. */
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

static void usual_name(char name[FUNC_NAME_LEN], int method, int pattern, const struct fs_type *t)
{
	/* the format is always one of patterns[] */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, FUNC_NAME_LEN, patterns[method][pattern], prefix_of(t->name));
#pragma GCC diagnostic pop
}

static int want_name(struct wanted_list *l, int method, int pattern, const struct fs_type *t)
{
	struct wanted *w, *old;

	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	usual_name(w->name, method, pattern, t);
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
			err = want_name(l, m, p, t);
	}
	return err;
}

static void wanted_free(struct wanted_list *l)
{
	struct wanted *w, *next;

	HASH_ITER (by_name, l->names, w, next) {
		HASH_DELETE(by_name, l->names, w);
		free(w);
	}
	HASH_ITER (by_addr, l->addrs, w, next) {
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

/* Parses "ffffffff81234567 t name [module]", or with name+0x0/0x10. */
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
	name[strcspn(name, "+ \t\n")] = '\0';
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
		usual_name(name, method, p, t);
		HASH_FIND(by_name, l->names, name, strlen(name), w);
		if (w && w->found) {
			strcpy(t->func[method], name);
			strcpy(t->module[method], w->module);
			return;
		}
	}
}

static int want_types(struct wanted_list *l, const struct fs_type *types, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = want_type(l, &types[i]);
	return err;
}

static void look_at_lines(struct wanted_list *l, FILE *f)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, f) >= 0)
		look_at_line(l, line);
	free(line);
}

static void answer_all(struct wanted_list *l, struct fs_type *types, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int m = 0; m < FS_METHODS; m++)
			answer(l, &types[i], m);
}

int fsfuncs_resolve_from(FILE *f, struct fs_type *types, size_t n)
{
	struct wanted_list l = {};
	int err = want_types(&l, types, n);

	if (!err) {
		look_at_lines(&l, f);
		answer_all(&l, types, n);
	}
	wanted_free(&l);
	return err;
}

static bool addresses_are_found(const struct wanted_list *l)
{
	for (const struct wanted *w = l->addrs; w; w = w->by_addr.next)
		if (!w->found)
			return false;
	return true;
}

/* Whether @module, called like a file system, has the function. */
static bool module_has(struct feature *f, const char *module, const char *function)
{
	char path[sizeof("/sys/module/") + FS_NAME_LEN];
	unsigned int id;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !access(path, F_OK) && !feature_function(f, function, module, &id, &fd);
}

/* Whether the kernel, or a module called like the file system type, has the function. Sets
 * w->module. */
static bool is_there(struct wanted *w, const struct fs_type *t, struct feature *f)
{
	const char *const modules[] = { t->name, prefix_of(t->name) };

	w->found = feature_has_function(f, w->name);
	for (int i = 0; i < 2 && !w->found; i++) {
		w->found = module_has(f, modules[i], w->name);
		if (w->found)
			strcpy(w->module, modules[i]);
	}
	return w->found;
}

/* Looks for the usual names of the functions of a type, until one is found for each method. */
static void look_for_usual(struct wanted_list *l, const struct fs_type *t, struct feature *f)
{
	char name[FUNC_NAME_LEN];
	struct wanted *w;

	for (int m = 0; m < FS_METHODS; m++) {
		bool has = t->addr[m];

		for (int p = 0; p < PATTERNS && !has; p++) {
			usual_name(name, m, p, t);
			HASH_FIND(by_name, l->names, name, strlen(name), w);
			has = w && is_there(w, t, f);
		}
	}
}

/* Looks up all names in one pass over the kernel's types, then those of each file system in the
 * types of its modules. */
static void look_for_names(struct wanted_list *l, const struct fs_type *types, size_t n,
			   struct feature *f)
{
	const char **names = calloc(HASH_CNT(by_name, l->names) + 1, sizeof(*names));
	int n_names = 0;

	if (!names)
		return;
	for (const struct wanted *w = l->names; w; w = w->by_name.next)
		names[n_names++] = w->name;
	feature_look_for(f, names, n_names);
	free(names);
	for (size_t i = 0; i < n; i++)
		look_for_usual(l, &types[i], f);
}

int fsfuncs_resolve(struct fs_type *types, size_t n, FILE *symbols, struct feature *f)
{
	struct wanted_list l = {};
	int err = want_types(&l, types, n);
	FILE *all = NULL;

	if (!err && symbols)
		look_at_lines(&l, symbols);
	/* fentry cannot probe functions without a type anyway */
	if (!err && f->func == FUNC_FENTRY && !f->no_module_btf && addresses_are_found(&l))
		look_for_names(&l, types, n, f);
	else if (!err && !(all = kallsyms_open()))
		err = -errno;
	if (all) {
		look_at_lines(&l, all);
		fclose(all);
	}
	if (!err)
		answer_all(&l, types, n);
	wanted_free(&l);
	return err;
}
