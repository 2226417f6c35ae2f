// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/debug_link.h"

#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "host/regular_file.h"

enum { CRC_MOST = 256 << 20 }; /* bytes of a debug file without a build id */

static const char usual[] = "/usr/lib/debug";

static void id_text(char ret_text[BUILD_ID_TEXT], const unsigned char *bytes, ssize_t n)
{
	ret_text[0] = '\0';
	for (ssize_t i = 0; i < n && n <= BUILD_ID_MOST; i++)
		sprintf(ret_text + 2 * i, "%02x", bytes[i]);
}

bool build_id_read(int fd, char ret_text[BUILD_ID_TEXT])
{
	const unsigned char *bytes = NULL;
	Elf *elf = NULL;
	ssize_t n = 0;

	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		n = dwelf_elf_gnu_build_id(elf, (const void **)&bytes);
	id_text(ret_text, bytes, n);
	elf_end(elf);
	return *ret_text;
}

/* Opens @path, which is taken over, if it has the build id; or, with @build_id "", the sum @crc. A
 * path that was opened is *@ret_path. Returns a descriptor, or -1. */
static int path_open(char *path, const char *build_id, GElf_Word crc, char **ret_path)
{
	char found[BUILD_ID_TEXT];
	int fd = regular_file_open(path);

	if (fd >= 0 && (*build_id ? build_id_read(fd, found) && !strcmp(found, build_id)
				  : regular_file_has_crc(fd, crc, CRC_MOST))) {
		*ret_path = path;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

/* Moves *@at to the next of the directories between colons. Returns its length, or 0 at the end. */
static int next_place(const char **at)
{
	*at += strspn(*at, ":");
	return strcspn(*at, ":");
}

static int open_by_id(const char *search, const char *build_id, char **ret_path)
{
	char *path;
	int fd, n;

	if (strlen(build_id) < 4)
		return -1;
	for (const char *at = search; (n = next_place(&at)); at += n) {
		if (asprintf(&path, "%.*s/.build-id/%.2s/%s.debug", n, at, build_id, build_id + 2) <
		    0)
			return -1;
		fd = path_open(path, build_id, 0, ret_path);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* The debug file of @file, called @link, or as the file with ".debug" if NULL. */
static int open_by_name(const char *file, const char *link, const char *build_id, GElf_Word crc,
			char **ret_path)
{
	static const char *const places[][2] = { { "", "" }, { "", "/.debug" }, { usual, "" } };
	const char *slash = strrchr(file, '/'), *name = link ? link : slash ? slash + 1 : file;
	int fd = -1;
	char *path;

	if (!slash || strchr(name, '/') || (!link && !*build_id))
		return -1;
	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(*places); i++) {
		if (asprintf(&path, "%s%.*s%s/%s%s", places[i][0], (int)(slash - file), file,
			     places[i][1], name, link ? "" : ".debug") < 0)
			return -1;
		fd = path_open(path, build_id, crc, ret_path);
	}
	return fd;
}

int debug_link_find(Dwfl_Module *module, void **userdata, const char *module_name, Dwarf_Addr base,
		    const char *file_name, const char *link, GElf_Word crc, char **ret_path)
{
	const char *search = *userdata;
	const unsigned char *bytes = NULL;
	char build_id[BUILD_ID_TEXT];
	GElf_Addr bias, at;
	GElf_Word sum;
	Elf *elf = dwfl_module_getelf(module, &bias);
	int fd, n;

	(void)module_name;
	(void)base;
	/* asked for the shared file: see debug_link_shared() */
	if (!elf || link != dwelf_elf_gnu_debuglink(elf, &sum))
		return -1;
	n = dwfl_module_build_id(module, &bytes, &at);
	id_text(build_id, bytes, n);
	fd = open_by_id(search ? search : usual, build_id, ret_path);
	if (fd < 0 && !search && file_name)
		fd = open_by_name(file_name, link, build_id, crc, ret_path);
	return fd;
}

/* By its name, absolute as in the directories, or relative to @file. */
static int shared_by_name(const char *search, const char *file, const char *name,
			  const char *build_id, char **ret_path)
{
	const char *below = name, *slash = file ? strrchr(file, '/') : NULL;
	int fd = -1, n;
	char *path;

	if (*name != '/') {
		if (!slash || asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0)
			return -1;
		return path_open(path, build_id, 0, ret_path);
	}
	if (!strncmp(name, usual, sizeof(usual) - 1))
		below += sizeof(usual) - 1;
	for (const char *at = search; fd < 0 && (n = next_place(&at)); at += n) {
		if (asprintf(&path, "%.*s%s", n, at, below) < 0)
			return -1;
		fd = path_open(path, build_id, 0, ret_path);
	}
	return fd;
}

int debug_link_shared(Dwfl_Module *module, Dwarf *dwarf, const char *search)
{
	const char *name, *main_file = NULL, *debug_file = NULL;
	char build_id[BUILD_ID_TEXT], *path = NULL;
	const void *bytes;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);
	int fd;

	if (n <= 0)
		return -1;
	id_text(build_id, bytes, n);
	if (!*build_id)
		return -1;
	search = search ? search : usual;
	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	fd = open_by_id(search, build_id, &path);
	if (fd < 0)
		fd = shared_by_name(search, debug_file ? debug_file : main_file, name, build_id,
				    &path);
	free(path);
	return fd;
}
