// SPDX-License-Identifier: GPL-2.0-only
/*
 * func_find_elf.c - finds the functions of programs and libraries that the patterns match.
 */
#include "funcs/func_find_elf.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/demangle.h"
#include "funcs/elf_file.h"
#include "funcs/func_rows.h"
#include "funcs/func_unsafe.h"
#include "funcs/ifunc.h"
#include "funcs/maps.h"
#include "host/regular_file.h"

/* A file being read, and its patterns. */
struct reading {
	struct func_list *l;
	struct pattern *const *patterns;
	size_t n;
	const char *scope, *path;
	const struct func_elf_conf *conf;
	const struct elf_file *file;
	int fd;
	size_t seen;
	char demangled[DEMANGLED_LEN]; /* of the symbol looked at last; "": it is not of C++ */
};

/* Whether the patterns match a name: as it is in the file, or that of C++, with or without its
 * parameters. Sets r->demangled. */
static bool is_meant(struct reading *r, const char *name)
{
	char plain[DEMANGLED_LEN];
	const char *const names[] = { name, r->demangled, plain };

	if (!demangle(name, true, r->demangled))
		r->demangled[0] = '\0';
	if (!r->demangled[0] || !demangle(name, false, plain))
		return patterns_mean_any(r->patterns, r->n, r->scope, names,
					 r->demangled[0] ? 2 : 1);
	return patterns_mean_any(r->patterns, r->n, r->scope, names, 3);
}

/* Why the function at @offset of the file must not be probed, or NULL if it may be. */
static const char *refused_reason(const struct reading *r, const char *name, uint64_t offset)
{
	unsigned char code[ENTRY_LEN];
	ssize_t n = pread(r->fd, code, sizeof(code), offset);
	const char *why = func_entry_unsafe(code, n > 0 ? n : 0);

	return why ? why : func_unsafe(name);
}

static int function_add(void *arg, const struct elf_symbol *s)
{
	bool ifunc = s->type == STT_GNU_IFUNC;
	struct reading *r = arg;
	uint64_t chosen = 0;
	struct func *f;
	int err;

	if ((s->type != STT_FUNC && !ifunc) || !s->offset)
		return 0;
	r->seen++;
	if (!is_meant(r, s->name))
		return 0;
	if (ifunc)
		chosen = ifunc_chosen(r->file, r->fd, s->address);
	err = func_list_add(r->l, s->name, r->path, chosen ? chosen : s->offset);
	if (err)
		return err;
	f = &r->l->at[r->l->n - 1];
	f->refused = ifunc && !chosen ? ifunc_unknown : refused_reason(r, s->name, f->addr);
	f->demangled = r->demangled[0] ? strdup(r->demangled) : NULL;
	return r->demangled[0] && !f->demangled ? -ENOMEM : 0;
}

/* Copy of @path as process @pid sees it, perhaps in a container. */
static const char *path_of(struct func_list *l, const char *path, unsigned int pid)
{
	char its[PATH_MAX + 32];
	struct stat here, there;

	snprintf(its, sizeof(its), "/proc/%u/root%s", pid, path);
	if (!pid || stat(its, &there) ||
	    (!stat(path, &here) && here.st_dev == there.st_dev && here.st_ino == there.st_ino))
		return func_list_place(l, path, strlen(path));
	return func_list_place(l, its, strlen(its));
}

bool func_elf_is_used(const char *path, unsigned int pid)
{
	struct mapping m;
	bool found = false;
	struct stat st;
	FILE *maps;

	maps = stat(path, &st) ? NULL : maps_open(pid);
	if (!maps)
		return true; /* not known */
	while (!found && maps_next(maps, &m))
		found = m.ino == st.st_ino;
	fclose(maps);
	return found;
}

/* Path of the C library of process @pid; 0: of this program. Returns NULL if it has none. */
static const char *libc_path(struct func_list *l, unsigned int pid)
{
	const char *found = NULL;
	struct mapping m;
	FILE *maps = maps_open(pid);

	while (maps && !found && maps_next(maps, &m))
		if (func_is_libc(m.path))
			found = path_of(l, m.path, pid);
	if (maps)
		fclose(maps);
	return found;
}

static int file_failed(const char *path, int err, struct reason *why)
{
	if (err == 1) {
		reason_set(why, EXIT_FAILED, "'%.200s' has no symbols", path);
		return reason_hint(why,
				   "install its debug symbols, in packages named -dbgsym, -dbg "
				   "or -debuginfo, or trace a build that is not stripped");
	}
	if (err == -ENOEXEC)
		return reason_set(why, EXIT_FAILED, "'%.200s' is no program or library", path);
	if (err == -ELIBBAD)
		return reason_set(why, EXIT_FAILED, "'%.200s' is for another architecture", path);
	if (err == -ENOTSUP) {
		reason_set(why, EXIT_FAILED, "'%.200s' is a debug file, which no process executes",
			   path);
		return reason_hint(why, "name its program or library: symbols are read from debug "
					"files in /usr/lib/debug, and next to the program");
	}
	if (err == -EBADMSG)
		return reason_set(why, EXIT_FAILED, "'%.200s' has a damaged table of symbols",
				  path);
	return reason_set(why, EXIT_FAILED, "cannot read '%.200s': %s", path, strerror(-err));
}

/* Notes that times of a program that switches stacks are not measured. Returns 0 or -ENOMEM. */
static int no_times(struct func_list *l, const char *fmt, ...)
{
	char *text;
	va_list args;
	int len;

	if (l->no_times)
		return 0;
	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		return -ENOMEM;
	l->no_times = func_list_place(l, text, len);
	free(text);
	return l->no_times ? 0 : -ENOMEM;
}

/* Looks for signs that returns must not be probed. Returns 0, or -1 with @why. */
static int signs_check(struct reading *r, struct elf_file *f, struct reason *why)
{
	struct func_signs signs;
	int err = func_signs_read(&signs, f);

	if (err)
		return file_failed(r->path, err, why);
	if (signs.go)
		err = no_times(r->l, "'%s' is a Go program: its stacks move", r->path);
	else if (func_signs_switch(&signs))
		err = no_times(r->l, "'%s' switches stacks (%s)", r->path,
			       func_signs_switch(&signs));
	else if (!r->conf->risk_exceptions && !r->l->no_times)
		return func_signs_refuse(&signs, r->path, why);
	return err ? reason_no_memory(why) : 0;
}

static int symbols_read(struct reading *r, struct elf_file *f, struct reason *why)
{
	size_t from = r->l->n;
	int err;

	if (elf_file_is_foreign(f))
		return file_failed(r->path, -ELIBBAD, why);
	if (elf_file_is_debug_file(f))
		return file_failed(r->path, -ENOTSUP, why);
	if (!func_is_libc(r->path) && signs_check(r, f, why))
		return -1;
	err = elf_file_best_symbols(f, r->path, function_add, r);
	if (!err && !r->seen)
		err = 1;
	if (!err)
		err = ifunc_explain(r->l, from, f, r->path);
	return err ? file_failed(r->path, err, why) : 0;
}

static int file_read(struct reading *r, int fd, struct reason *why)
{
	struct elf_file *f;
	int err = elf_file_open(fd, &f);

	if (err)
		return file_failed(r->path, err, why);
	r->file = f;
	r->fd = fd;
	err = symbols_read(r, f, why);
	elf_file_close(f);
	return err;
}

static int file_list(struct reading *r, struct reason *why)
{
	int fd, err;

	if (!strcmp(r->scope, "c"))
		r->path = libc_path(r->l, r->conf->pid);
	else
		r->path = path_of(r->l, r->scope, r->scope[0] == '/' ? r->conf->pid : 0);
	if (r->path && r->conf->pid && r->conf->unused && !func_elf_is_used(r->path, r->conf->pid))
		r->conf->unused(r->conf->pid, r->path);
	if (!r->path && r->conf->pid)
		return reason_set(why, EXIT_FAILED, "process %u uses no C library", r->conf->pid);
	if (!r->path)
		return reason_set(why, EXIT_FAILED, "cannot find the C library");
	fd = regular_file_open(r->path);
	if (fd < 0)
		return file_failed(r->path, fd == -EINVAL ? -ENOEXEC : fd, why);
	err = file_read(r, fd, why);
	close(fd);
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct func *x = a, *y = b;
	int by = strcmp(x->where, y->where);

	if (by)
		return by;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Keeps a function with several names once, under the first name. */
static void aliases_remove(struct func_list *l)
{
	size_t left = 0;

	qsort(l->at, l->n, sizeof(*l->at), by_place);
	for (size_t i = 0; i < l->n; i++) {
		struct func *last = left ? &l->at[left - 1] : NULL, *f = &l->at[i];

		if (!last || last->addr != f->addr || last->where != f->where) {
			l->at[left++] = *f;
			continue;
		}
		last->refused = last->refused ? last->refused : f->refused;
		free(f->name);
		free(f->demangled);
	}
	l->n = left;
}

/* Looks for code that switches stacks in the processes to trace. Returns 0 or -ENOMEM. */
static int processes_check(struct func_list *l, const struct func_elf_conf *conf)
{
	char sign[192];
	int err = 0;

	for (unsigned int i = 0; i < conf->n_pids && !err; i++)
		if (func_process_switches(conf->pids[i], sign, sizeof(sign)))
			err = no_times(l, "process %u switches stacks (%s)", conf->pids[i], sign);
	return err;
}

/* Where returns are not probed, all functions may be. */
static void unsafe_allow(struct func_list *l)
{
	for (size_t i = 0; i < l->n && l->no_times; i++)
		if (l->at[i].refused == func_unsafe(l->at[i].name))
			l->at[i].refused = NULL;
}

int func_elf_list(struct func_list *l, struct pattern *const patterns[], size_t n,
		  const struct func_elf_conf *conf, struct reason *why)
{
	if (processes_check(l, conf))
		return reason_no_memory(why);
	for (size_t i = 0; i < n; i++) {
		struct reading r = { .l = l,
				     .patterns = patterns,
				     .n = n,
				     .scope = pattern_scope(patterns[i]),
				     .conf = conf };
		bool again = pattern_excludes(patterns[i]);

		for (size_t k = 0; k < i; k++)
			again |= !pattern_excludes(patterns[k]) &&
				 !strcmp(pattern_scope(patterns[k]), r.scope);
		if (!again && file_list(&r, why))
			return -1;
	}
	unsafe_allow(l);
	aliases_remove(l);
	return 0;
}
