// SPDX-License-Identifier: GPL-2.0-only
/*
 * debug_files.c - a directory may be laid out as /usr/lib/debug (.build-id/12/34....debug), be the
 * root of unpacked packages with such a directory in it, or have plain files. Plain files are
 * opened once to read their build ids.
 */
#include "stacks/debug_files.h"

#include <elf.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uthash.h>

#include "host/regular_file.h"
#include "stacks/debug_link.h"

enum {
	SCANNED_MOST = 100000, /* files below all directories */
	DEPTH_MOST = 16,
};

struct debug_file {
	char build_id[BUILD_ID_TEXT];
	char *path;              /* NULL: there is none; owned */
	struct frame_file *file; /* NULL: not open, or it cannot be */
	bool is_opened;
	UT_hash_handle hh;
};

static struct debug_file *file_find(const struct debug_files *s, const char *build_id)
{
	struct debug_file *f;

	HASH_FIND_STR(s->files, build_id, f);
	return f;
}

/* Adds the file with @build_id at @path, which is taken over. NULL: out of memory. */
static struct debug_file *file_add(struct debug_files *s, const char *build_id, char *path)
{
	struct debug_file *f = calloc(1, sizeof(*f));

	if (!f) {
		free(path);
		return NULL;
	}
	snprintf(f->build_id, sizeof(f->build_id), "%s", build_id);
	f->path = path;
	HASH_ADD_STR(s->files, build_id, f);
	return f;
}

/* The build id of ELF file @path. Returns false if it has none. */
static bool path_build_id(const char *path, char ret_text[BUILD_ID_TEXT])
{
	int fd = regular_file_open(path);
	bool has = fd >= 0 && build_id_read(fd, ret_text);

	if (fd >= 0)
		close(fd);
	return has;
}

/* A debug file takes precedence over a file that has code, but no names. */
static bool is_better(const char *path, const struct debug_file *than)
{
	size_t len = strlen(path);

	return !than->path || (len > 6 && !strcmp(path + len - 6, ".debug"));
}

void debug_files_add(struct debug_files *s, const char *path)
{
	char build_id[BUILD_ID_TEXT];
	struct debug_file *f;

	if (!path_build_id(path, build_id))
		return;
	f = file_find(s, build_id);
	if (!f) {
		file_add(s, build_id, strdup(path));
		return;
	}
	if (f->is_opened || !is_better(path, f))
		return;
	free(f->path);
	f->path = strdup(path);
}

/* Reads the build ids of all files below @place, or of @place itself. */
static void place_scan(struct debug_files *s, const char *place, unsigned int *left)
{
	char *places[] = { (char *)place, NULL };
	FTS *tree = fts_open(places, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *at;

	while (tree && *left && (at = fts_read(tree))) {
		if (at->fts_info == FTS_D && at->fts_level > DEPTH_MOST)
			fts_set(tree, at, FTS_SKIP);
		if (at->fts_info != FTS_F || at->fts_statp->st_size < (off_t)sizeof(Elf32_Ehdr))
			continue;
		debug_files_add(s, at->fts_path);
		--*left;
	}
	if (tree)
		fts_close(tree);
}

/* Where libdwfl looks for the debug file of a file without names, and for what debug files share.
 * Returns NULL if out of memory. */
static char *search_text(const struct opt_strings *places)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (unsigned int i = 0; f && i < places->n; i++)
		if (!strchr(places->at[i], ':'))
			fprintf(f, "%s%s:%s/usr/lib/debug", i ? ":" : "", places->at[i],
				places->at[i]);
	if (f)
		fclose(f);
	return text;
}

static void scan(struct debug_files *s)
{
	unsigned int left = SCANNED_MOST;

	s->scanned = true;
	for (unsigned int i = 0; i < s->places.n; i++)
		place_scan(s, s->places.at[i], &left);
}

/* The path of the debug file by its name, for free(). NULL: there is none. */
static char *named_path(const struct debug_files *s, const char *build_id)
{
	static const char *const below[] = { "", "/usr/lib/debug" };
	char found[BUILD_ID_TEXT], *path;

	for (unsigned int i = 0; i < s->places.n; i++) {
		for (size_t b = 0; b < sizeof(below) / sizeof(*below); b++) {
			if (asprintf(&path, "%s%s/.build-id/%.2s/%s.debug", s->places.at[i],
				     below[b], build_id, build_id + 2) < 0)
				return NULL;
			if (path_build_id(path, found) && !strcmp(found, build_id))
				return path;
			free(path);
		}
	}
	return NULL;
}

/* The file that was opened first is closed, and may be opened again. */
static void open_note(struct debug_files *s, struct debug_file *f)
{
	struct debug_file **place = &s->open[s->n_opened++ % DEBUG_FILES_OPEN];

	if (*place) {
		frame_file_close((*place)->file);
		(*place)->file = NULL;
		(*place)->is_opened = false;
	}
	*place = f;
}

static void file_open(struct debug_files *s, struct debug_file *f)
{
	int fd;

	f->is_opened = true;
	if (!s->search)
		s->search = search_text(&s->places);
	fd = f->path ? regular_file_open(f->path) : -1;
	if (fd >= 0)
		f->file = frame_file_open_with(fd, f->path, s->search);
	if (f->file)
		open_note(s, f);
}

/* The open file with @build_id; its .file may be NULL. NULL: out of memory. */
static struct debug_file *file_of(struct debug_files *s, const char *build_id)
{
	struct debug_file *f = file_find(s, build_id);
	char *path;

	if (f && f->is_opened)
		return f;
	path = named_path(s, build_id);
	if (path && f) {
		free(f->path);
		f->path = path;
	}
	if (!path && !s->scanned) {
		scan(s);
		f = file_find(s, build_id);
	}
	if (!f)
		f = file_add(s, build_id, path);
	if (f)
		file_open(s, f);
	return f;
}

bool is_build_id(const char *text)
{
	size_t len = strlen(text);

	return len >= 4 && len < BUILD_ID_TEXT && strspn(text, "0123456789abcdef") == len;
}

bool debug_files_name(struct debug_files *s, const char *build_id, uint64_t address,
		      struct frame_name *ret_name)
{
	struct debug_file *f;

	if (!is_build_id(build_id))
		return false;
	f = file_of(s, build_id);
	if (!f || !f->file)
		return false;
	frame_file_name_address(f->file, address, ret_name);
	return true;
}

void debug_files_done(struct debug_files *s)
{
	struct debug_file *f, *next;

	HASH_ITER (hh, s->files, f, next) {
		HASH_DEL(s->files, f);
		frame_file_close(f->file);
		free(f->path);
		free(f);
	}
	free(s->search);
	memset(s->open, 0, sizeof(s->open));
	s->search = NULL;
	s->scanned = false;
}
