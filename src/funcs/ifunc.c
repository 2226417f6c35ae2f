// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/ifunc.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "funcs/elf_file.h"
#include "funcs/func_rows.h"
#include "funcs/maps.h"

enum { MOST_EXPLAINED = 8, MOST_NAMES = 4 };

const char *const ifunc_unknown = "its implementation is chosen at run time (IFUNC) and not known "
				  "here: debug symbols of the library may name it";

/* Whether the mapping of this program is of the file @st. */
static bool is_mapping_of(const struct mapping *m, const struct stat *st)
{
	struct stat is;

	return m->ino == st->st_ino && m->path[0] == '/' && !stat(m->path, &is) &&
	       is.st_dev == st->st_dev && is.st_ino == st->st_ino;
}

/* How far this program has loaded the file from the addresses in it. Returns false if it has
 * not. */
static bool is_loaded(const struct elf_file *f, const struct stat *st, uint64_t *ret_distance)
{
	FILE *maps = maps_open(0);
	struct mapping m;
	uint64_t address;
	bool found = false;

	while (maps && !found && maps_next(maps, &m))
		found = is_mapping_of(&m, st) && elf_file_address(f, m.offset, &address);
	if (maps)
		fclose(maps);
	if (found)
		*ret_distance = m.from - address;
	return found;
}

/* Reads a pointer of this program. Returns false if there is no memory. */
static bool pointer_read(uint64_t address, uint64_t *ret_pointer)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t len = mem < 0 ? -1 : pread(mem, ret_pointer, sizeof(*ret_pointer), address);

	if (mem >= 0)
		close(mem);
	return len == sizeof(*ret_pointer);
}

/* Offset in the file @st of @address in this program, or 0 if it is not code of the file. */
static uint64_t code_offset(const struct stat *st, uint64_t address)
{
	FILE *maps = maps_open(0);
	struct mapping m;
	uint64_t offset = 0;

	while (maps && !offset && maps_next(maps, &m))
		if (m.executable && address >= m.from && address < m.to && is_mapping_of(&m, st))
			offset = address - m.from + m.offset;
	if (maps)
		fclose(maps);
	return offset;
}

/* Only files that this program has loaded are searched for the place: hostile ones are not. */
uint64_t ifunc_chosen(const struct elf_file *f, int fd, uint64_t resolver)
{
	uint64_t distance, place, choice;
	struct stat st;

	if (fstat(fd, &st) || !is_loaded(f, &st, &distance))
		return 0;
	place = elf_file_choice(f, resolver);
	if (!place || !pointer_read(distance + place, &choice))
		return 0;
	return code_offset(&st, choice);
}

/* Functions to explain, and names of their implementations. */
struct explained {
	struct func *funcs[MOST_EXPLAINED];
	char names[MOST_EXPLAINED][256];
	int n_names[MOST_EXPLAINED];
	size_t n;
};

/* Implementations of strlen() are named __strlen_avx2 and so on. */
static bool is_implementation(const char *name, const char *of)
{
	size_t len = strcspn(of, "@");

	return !strncmp(name, "__", 2) && !strncmp(name + 2, of, len) && name[2 + len] == '_';
}

static int implementation_look(void *arg, const struct elf_symbol *s)
{
	struct explained *e = arg;

	for (size_t i = 0; s->type == STT_FUNC && s->offset && i < e->n; i++) {
		char *names = e->names[i];
		size_t len = strlen(names);

		if (!is_implementation(s->name, e->funcs[i]->name) || strlen(s->name) > 48 ||
		    e->n_names[i]++ >= MOST_NAMES)
			continue;
		snprintf(names + len, sizeof(e->names[i]) - len, "%s%s", len ? ", " : "", s->name);
	}
	return 0;
}

int ifunc_explain(struct func_list *l, size_t from, struct elf_file *f, const char *path)
{
	struct explained e = {};
	char text[512];
	int err = 0;

	for (size_t i = from; i < l->n && e.n < MOST_EXPLAINED; i++)
		if (l->at[i].refused == ifunc_unknown)
			e.funcs[e.n++] = &l->at[i];
	if (e.n)
		err = elf_file_best_symbols(f, path, implementation_look, &e);
	for (size_t i = 0; i < e.n && err >= 0; i++) {
		if (!e.n_names[i])
			continue;
		snprintf(text, sizeof(text),
			 "its implementation is chosen at run time (IFUNC) from %s%s; name one of "
			 "these",
			 e.names[i], e.n_names[i] > MOST_NAMES ? " ..." : "");
		e.funcs[i]->refused = func_list_place(l, text, strlen(text));
		err = e.funcs[i]->refused ? 0 : -ENOMEM;
	}
	return err < 0 ? err : 0;
}
