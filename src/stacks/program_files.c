// SPDX-License-Identifier: GPL-2.0-only
/*
 * program_files.c - paths wait in a queue, each once. A file that is read adds the files that it
 * names: a script its interpreter, a program or a library its dynamic linker and its libraries.
 * All files are hostile: bytes read, files, and paths tried are bounded.
 */
#include "stacks/program_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>

#include "host/regular_file.h"

enum {
	PROGRAM_FILES = 128,
	NAMES_MOST = 1024,       /* of libraries, in a file */
	TRIES_MOST = 1 << 16,    /* of paths, for all files together */
	DYNAMIC_BYTES = 1 << 20, /* of a section with names of libraries */
	LIST_BYTES = 1 << 16,    /* of a list of directories */
	SCRIPT_BYTES = 256,      /* of the first line of a script: BINPRM_BUF_SIZE of the kernel */
	CACHE_BYTES = 16 << 20,  /* of /etc/ld.so.cache */
	CACHE_X86_64 = 0x0303,   /* FLAG_ELF_LIBC6 | FLAG_X8664_LIB64, as tables are for these */
};

/* /etc/ld.so.cache: struct cache_file_new of glibc. Places of strings count from the start of the
 * file. */
struct cache_head {
	char magic[20];
	uint32_t n, strings;
	uint32_t unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path;
	uint32_t unused[3];
};

static const char cache_magic[] = "glibc-ld.so.cache1.1";

struct search {
	const char *root;
	program_file_fn *fn;
	void *arg;
	char *paths[PROGRAM_FILES]; /* owned */
	unsigned int n, tries;
	char *cache; /* of the dynamic linker, ended by '\0'; NULL: there is none */
	size_t cache_len;
};

static void path_add(struct search *s, const char *path)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (!strcmp(s->paths[i], path))
			return;
	if (s->n < PROGRAM_FILES && (s->paths[s->n] = strdup(path)))
		s->n++;
}

/* Adds @path if a regular file is there. @rights: which its mode must have. */
static bool path_try(struct search *s, const char *path, mode_t rights)
{
	char name[PATH_MAX];
	struct stat st;

	if (path[0] != '/' || s->tries == TRIES_MOST)
		return false;
	s->tries++;
	if (snprintf(name, sizeof(name), "%s%s", s->root, path) >= (int)sizeof(name) ||
	    stat(name, &st) || !S_ISREG(st.st_mode) || (st.st_mode & rights) != rights)
		return false;
	path_add(s, path);
	return true;
}

/* The directory of @path without the last slash. */
static int dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

/* Makes the name of directory @dir, of @len bytes, absolute. "" is the working directory. Returns
 * false if it has a word that only the dynamic linker knows. */
static bool dir_name(const char *dir, size_t len, const char *origin, char ret[PATH_MAX])
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
	char here[PATH_MAX] = "";

	for (size_t i = 0; i < 2; i++) {
		size_t word = strlen(words[i]);

		if (len < word || strncmp(dir, words[i], word) != 0)
			continue;
		return !memchr(dir + word, '$', len - word) &&
		       snprintf(ret, PATH_MAX, "%.*s%.*s", dir_len(origin), origin,
				(int)(len - word), dir + word) < PATH_MAX;
	}
	if (memchr(dir, '$', len))
		return false;
	if ((!len || dir[0] != '/') && !getcwd(here, sizeof(here)))
		return false;
	return snprintf(ret, PATH_MAX, "%s%s%.*s", here, *here && len ? "/" : "", (int)len, dir) <
	       PATH_MAX;
}

/* Looks for @name in the directories of list @dirs, which may be NULL. @origin: the file that has
 * the list. */
static bool dirs_try(struct search *s, const char *dirs, const char *origin, const char *name,
		     mode_t rights)
{
	char dir[PATH_MAX], path[2 * PATH_MAX];
	size_t len;

	for (; dirs && s->tries < TRIES_MOST; dirs = dirs[len] ? dirs + len + 1 : NULL) {
		len = strcspn(dirs, ":");
		if (!dir_name(dirs, len, origin, dir)) {
			s->tries++;
			continue;
		}
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (path_try(s, path, rights))
			return true;
	}
	return false;
}

/* A string of the cache; "" if it is none. */
static const char *cache_string(const struct search *s, uint32_t at)
{
	return at < s->cache_len ? s->cache + at : "";
}

/* Adds all libraries of this name: for some processors, there are others. */
static bool cache_try(struct search *s, const char *name)
{
	struct cache_entry e;
	struct cache_head h;
	bool found = false;

	if (!s->cache)
		return false;
	memcpy(&h, s->cache, sizeof(h));
	for (uint32_t i = 0; i < h.n && sizeof(h) + (i + 1) * sizeof(e) <= s->cache_len; i++) {
		memcpy(&e, s->cache + sizeof(h) + i * sizeof(e), sizeof(e));
		if (e.flags == CACHE_X86_64 && !strcmp(cache_string(s, e.name), name))
			found |= path_try(s, cache_string(s, e.path), 0);
	}
	return found;
}

static void cache_read(struct search *s)
{
	char name[PATH_MAX];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s/etc/ld.so.cache", s->root);
	fd = regular_file_open(name);
	if (fd < 0)
		return;
	s->cache = malloc(CACHE_BYTES + 1);
	n = s->cache ? read(fd, s->cache, CACHE_BYTES) : -1;
	close(fd);
	if (n < (ssize_t)sizeof(struct cache_head) ||
	    memcmp(s->cache, cache_magic, sizeof(cache_magic) - 1) != 0) {
		free(s->cache);
		s->cache = NULL;
		return;
	}
	s->cache[n] = '\0';
	s->cache_len = n;
}

/* Variables of the environment are those of the command. A process elsewhere has others. */
static const char *variable(const struct search *s, const char *name)
{
	return *s->root ? NULL : getenv(name);
}

/* Adds the library. @rpath, @runpath: lists of directories in @origin, the file that needs it; may
 * be NULL. */
static bool library_add(struct search *s, const char *name, const char *rpath, const char *runpath,
			const char *origin)
{
	if (s->tries == TRIES_MOST)
		return false;
	if (strchr(name, '/'))
		return path_try(s, name, 0);
	return dirs_try(s, runpath ? NULL : rpath, origin, name, 0) ||
	       dirs_try(s, variable(s, "LD_LIBRARY_PATH"), origin, name, 0) ||
	       dirs_try(s, runpath, origin, name, 0) || cache_try(s, name) ||
	       dirs_try(s, "/lib64:/usr/lib64:/lib:/usr/lib", origin, name, 0);
}

static void command_add(struct search *s, const char *name)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];

	if (!strchr(name, '/'))
		dirs_try(s, dirs ? dirs : "/bin:/usr/bin", "", name, 0111);
	else if (dir_name(name, strlen(name), "", path))
		path_try(s, path, 0);
}

/* A script: "#!PROGRAM ARGUMENT". env(1) starts another program. */
static bool script_read(struct search *s, int fd)
{
	char line[SCRIPT_BYTES + 1], *word, *left;
	ssize_t n = pread(fd, line, SCRIPT_BYTES, 0);

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &left);
	if (!word)
		return true;
	path_try(s, word, 0);
	if (strcmp(word + dir_len(word), "/env") != 0)
		return true;
	while ((word = strtok_r(NULL, " \t", &left)))
		if (word[0] != '-' && !strchr(word, '=')) {
			command_add(s, word);
			break;
		}
	return true;
}

/* What a file says of the files that it needs. Strings belong to the file. */
struct needs {
	const char *names[NAMES_MOST], *rpath, *runpath;
	size_t n;
};

static void needs_note(struct needs *needs, const GElf_Dyn *dyn, const char *text)
{
	size_t most = dyn->d_tag == DT_NEEDED ? PATH_MAX : LIST_BYTES;

	if (!text || strnlen(text, most) == most)
		return;
	if (dyn->d_tag == DT_NEEDED && needs->n < NAMES_MOST)
		needs->names[needs->n++] = text;
	else if (dyn->d_tag == DT_RPATH)
		needs->rpath = text;
	else if (dyn->d_tag == DT_RUNPATH)
		needs->runpath = text;
}

static void section_read(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct needs *needs)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
		if (dyn.d_tag == DT_NEEDED || dyn.d_tag == DT_RPATH || dyn.d_tag == DT_RUNPATH)
			needs_note(needs, &dyn, elf_strptr(elf, header->sh_link, dyn.d_un.d_val));
}

/* A file has one such section. More could be the same bytes, in memory again and again. */
static void needs_read(Elf *elf, struct needs *needs)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		if (header.sh_size <= DYNAMIC_BYTES)
			section_read(elf, section, &header, needs);
		return;
	}
}

/* Adds the dynamic linker. */
static void linker_add(struct search *s, Elf *elf, int fd)
{
	char path[PATH_MAX];
	GElf_Phdr header;
	ssize_t len;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && s->tries < TRIES_MOST; i++) {
		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_INTERP ||
		    header.p_filesz >= sizeof(path))
			continue;
		len = pread(fd, path, header.p_filesz, header.p_offset);
		path[len > 0 ? len : 0] = '\0';
		path_try(s, path, 0);
	}
}

static void elf_read(struct search *s, int fd, const char *path)
{
	struct needs needs = {};
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		linker_add(s, elf, fd);
		needs_read(elf, &needs);
		for (size_t i = 0; i < needs.n; i++)
			library_add(s, needs.names[i], needs.rpath, needs.runpath, path);
	}
	elf_end(elf);
}

/* LD_PRELOAD: libraries that the dynamic linker maps first. */
static void preloaded_add(struct search *s)
{
	const char *list = variable(s, "LD_PRELOAD");
	char *copy = list ? strdup(list) : NULL, *left, *word;

	for (word = copy ? strtok_r(copy, " :", &left) : NULL; word;
	     word = strtok_r(NULL, " :", &left))
		library_add(s, word, NULL, NULL, "");
	free(copy);
}

void program_files_each(const char *program, const char *root, program_file_fn *fn, void *arg)
{
	struct search *s = calloc(1, sizeof(*s));
	bool go_on = true;
	char name[PATH_MAX];
	int fd;

	if (!s)
		return;
	*s = (struct search){ .root = root, .fn = fn, .arg = arg };
	cache_read(s);
	if (program)
		command_add(s, program);
	preloaded_add(s);
	library_add(s, "libc.so.6", NULL, NULL, "");
	for (unsigned int i = 0; i < s->n; i++) {
		snprintf(name, sizeof(name), "%s%s", root, s->paths[i]);
		fd = go_on ? regular_file_open(name) : -1;
		if (fd >= 0 && !script_read(s, fd))
			elf_read(s, fd, s->paths[i]);
		if (fd >= 0)
			go_on = fn(arg, fd, s->paths[i]);
	}
	for (unsigned int i = 0; i < s->n; i++)
		free(s->paths[i]);
	free(s->cache);
	free(s);
}
