// SPDX-License-Identifier: GPL-2.0-only
/*
 * elf_file.c - reads symbols from ELF files with libelf.
 *
 * A file may be written by anybody, and may change while it is read. So it is read, not mapped: a
 * mapping of a file that shrinks kills its reader. Tables, names and their sum have limits.
 */
#include "funcs/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <lzma.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "host/regular_file.h"

enum {
	MAX_SEGMENTS = 64, /* executable; linkers make one or two */
	MAX_TABLE = 1 << 30,
	MAX_NAME = 64 << 10,
	MAX_DEBUGDATA = 256 << 20,
	MAX_DEBUGDATA_GROWTH = 64,
	MAX_BUILD_ID = 64,
	MAX_NOTES = 64 << 10,
};

/* A debug file is read whole for its checksum. Those of browsers have some 5 GiB; a file with holes
 * may say any size. */
static const off_t max_debug_file = 16LL << 30;

struct segment {
	uint64_t address, offset, len;
};

struct elf_file {
	int fd;
	Elf *elf;
	struct segment code[MAX_SEGMENTS];
	size_t n_code;
};

/* Whether the header of a file counts its sections itself. Files with 65,280 sections and more
 * count them elsewhere, and libelf believes any number there. No linker makes such a file of a
 * program.
 */
static bool is_usual(const void *head, size_t len)
{
	const unsigned char *id = head;
	Elf32_Ehdr h32;
	Elf64_Ehdr h64;

	if (len < sizeof(h64) || memcmp(head, ELFMAG, SELFMAG))
		return false;
	memcpy(&h32, head, sizeof(h32));
	memcpy(&h64, head, sizeof(h64));
	if (id[EI_CLASS] == ELFCLASS64)
		return h64.e_shnum || !h64.e_shoff;
	return id[EI_CLASS] == ELFCLASS32 && (h32.e_shnum || !h32.e_shoff);
}

static bool is_usual_file(int fd)
{
	char head[sizeof(Elf64_Ehdr)];
	ssize_t len = pread(fd, head, sizeof(head), 0);

	return len > 0 && is_usual(head, len);
}

static void segments_read(struct elf_file *f)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(f->elf, &n))
		return;
	for (size_t i = 0; i < n && f->n_code < MAX_SEGMENTS; i++)
		if (gelf_getphdr(f->elf, i, &ph) && ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			f->code[f->n_code++] = (struct segment){ .address = ph.p_vaddr,
								 .offset = ph.p_offset,
								 .len = ph.p_filesz };
}

int elf_file_open(int fd, struct elf_file **ret_file)
{
	struct elf_file *f;

	if (!is_usual_file(fd))
		return -ENOEXEC;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	f->fd = fd;
	f->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF) {
		elf_file_close(f);
		return -ENOEXEC;
	}
	segments_read(f);
	*ret_file = f;
	return 0;
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	elf_end(f->elf);
	free(f);
}

bool elf_file_is_foreign(const struct elf_file *f)
{
	GElf_Ehdr head;

	return gelf_getehdr(f->elf, &head) && !MACHINE_IS_OWN(head.e_machine);
}

/* File offset of @address in executable code, or 0 if there is none. */
static uint64_t file_offset(const struct elf_file *f, uint64_t address)
{
	const struct segment *s;

	for (size_t i = 0; i < f->n_code; i++) {
		s = &f->code[i];
		if (address >= s->address && address - s->address < s->len)
			return address - s->address + s->offset;
	}
	return 0;
}

/* The names of a table of sections or symbols: all end within the table. */
struct names {
	const char *at;
	size_t len;
	size_t left; /* of the sum of their lengths: names may share bytes, but not many */
};

static int names_open(Elf *elf, size_t section, struct names *ret_names)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	GElf_Shdr sh;
	Elf_Data *d;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB || sh.sh_size > MAX_TABLE)
		return -EBADMSG;
	d = elf_rawdata(scn, NULL);
	if (!d || !d->d_buf || !d->d_size || ((const char *)d->d_buf)[d->d_size - 1])
		return -EBADMSG;
	*ret_names = (struct names){ .at = d->d_buf, .len = d->d_size, .left = d->d_size * 4 };
	return 0;
}

/* The name at @offset, or NULL if there is none. Returns 0 or -EBADMSG. */
static int name_get(struct names *n, size_t offset, const char **ret_name)
{
	size_t len;

	*ret_name = NULL;
	if (offset >= n->len || !n->at[offset])
		return 0;
	len = strnlen(n->at + offset, MAX_NAME);
	if (len > n->left)
		return -EBADMSG;
	n->left -= len;
	if (len < MAX_NAME)
		*ret_name = n->at + offset;
	return 0;
}

/* Calls @fn for the sections until its result is not 0. */
static int sections_look(Elf *elf,
			 int (*fn)(void *arg, Elf_Scn *scn, const GElf_Shdr *sh, const char *name),
			 void *arg)
{
	struct names names;
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t at;
	int err = 0;

	if (elf_getshdrstrndx(elf, &at) || names_open(elf, at, &names))
		names = (struct names){};
	while (!err && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && !name_get(&names, sh.sh_name, &name))
			err = fn(arg, scn, &sh, name ? name : "");
	return err;
}

/* A section to look for. */
struct wanted {
	const char *name, *part; /* NULL: any */
	GElf_Word type;          /* SHT_NULL: any */
	Elf_Scn *scn;
	GElf_Shdr sh;
};

static int section_check(void *arg, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	struct wanted *w = arg;

	if ((w->type != SHT_NULL && w->type != sh->sh_type) || (w->name && strcmp(w->name, name)) ||
	    (w->part && !strstr(name, w->part)))
		return 0;
	w->scn = scn;
	w->sh = *sh;
	return 1;
}

static bool section_find(Elf *elf, struct wanted *w)
{
	return sections_look(elf, section_check, w) > 0;
}

bool elf_file_has_section(const struct elf_file *f, const char *part)
{
	struct wanted w = { .part = part };

	return section_find(f->elf, &w);
}

bool elf_file_is_debug_file(const struct elf_file *f)
{
	struct wanted w = { .name = ".text", .type = SHT_NOBITS };

	return section_find(f->elf, &w);
}

/* A symbol table of @elf. The code is in @f, perhaps another file. */
static int table_read(const struct elf_file *f, Elf *elf, const struct wanted *table,
		      elf_symbol_fn *fn, void *arg)
{
	struct elf_symbol s = {};
	struct names names;
	Elf_Data *data;
	GElf_Sym sym;
	int err;

	if (table->sh.sh_size > MAX_TABLE)
		return -EBADMSG;
	err = names_open(elf, table->sh.sh_link, &names);
	data = err ? NULL : elf_getdata(table->scn, NULL);
	for (int i = 0; data && !err && gelf_getsym(data, i, &sym); i++) {
		err = name_get(&names, sym.st_name, &s.name);
		if (err || !s.name)
			continue;
		s.type = GELF_ST_TYPE(sym.st_info);
		s.is_import = sym.st_shndx == SHN_UNDEF;
		s.address = sym.st_value;
		s.offset = s.is_import ? 0 : file_offset(f, sym.st_value);
		err = fn(arg, &s);
	}
	return err;
}

/* Reads the first symbol table of @type. 0, 1: there is none, the result of @fn, or -EBADMSG. */
static int tables_read(const struct elf_file *f, Elf *elf, GElf_Word type, elf_symbol_fn *fn,
		       void *arg)
{
	struct wanted table = { .type = type };

	return section_find(elf, &table) ? table_read(f, elf, &table, fn, arg) : 1;
}

int elf_file_symbols(struct elf_file *f, elf_symbol_fn *fn, void *arg)
{
	int err = tables_read(f, f->elf, SHT_SYMTAB, fn, arg);

	if (err == 0 || err == 1)
		err = tables_read(f, f->elf, SHT_DYNSYM, fn, arg);
	return err == 1 ? 0 : err;
}

struct choice {
	const struct elf_file *f;
	uint64_t resolver, place;
};

/* R_X86_64_IRELATIVE and R_AARCH64_IRELATIVE: the addend is the resolver. */
static bool is_irelative(const struct elf_file *f, const GElf_Rela *rela)
{
	GElf_Ehdr head;
	unsigned int type = GELF_R_TYPE(rela->r_info);

	if (!gelf_getehdr(f->elf, &head))
		return false;
	return (head.e_machine == EM_X86_64 && type == R_X86_64_IRELATIVE) ||
	       (head.e_machine == EM_AARCH64 && type == R_AARCH64_IRELATIVE);
}

static int relocations_look(void *arg, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	struct choice *c = arg;
	GElf_Rela rela;
	Elf_Data *data;

	(void)name;
	if (sh->sh_type != SHT_RELA || sh->sh_size > MAX_TABLE)
		return 0;
	data = elf_getdata(scn, NULL);
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		if ((uint64_t)rela.r_addend != c->resolver || !is_irelative(c->f, &rela))
			continue;
		c->place = rela.r_offset;
		return 1;
	}
	return 0;
}

uint64_t elf_file_choice(const struct elf_file *f, uint64_t resolver)
{
	struct choice c = { .f = f, .resolver = resolver };

	sections_look(f->elf, relocations_look, &c);
	return c.place;
}

bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *ret_address)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(f->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f->elf, i, &ph) || ph.p_type != PT_LOAD || offset < ph.p_offset ||
		    offset - ph.p_offset >= ph.p_filesz)
			continue;
		*ret_address = offset - ph.p_offset + ph.p_vaddr;
		return true;
	}
	return false;
}

/* Unpacks xz data; the caller frees the result. NULL: not xz, too large, or out of memory. */
static char *unpack(const void *from, size_t len, size_t *ret_len)
{
	uint64_t limit = 64 << 20;
	size_t in = 0, out = 0, cap = len * MAX_DEBUGDATA_GROWTH;
	char *to;
	lzma_ret err;

	if (len > MAX_DEBUGDATA / MAX_DEBUGDATA_GROWTH)
		cap = MAX_DEBUGDATA;
	to = malloc(cap);
	if (!to)
		return NULL;
	err = lzma_stream_buffer_decode(&limit, 0, NULL, from, &in, len, (uint8_t *)to, &out, cap);
	if (err != LZMA_OK) {
		free(to);
		return NULL;
	}
	*ret_len = out;
	return to;
}

/* Reads the small symbol table of a stripped file, as distributions make it (.gnu_debugdata).
 * Results as tables_read(). */
static int debugdata_read(const struct elf_file *f, elf_symbol_fn *fn, void *arg)
{
	struct wanted w = { .name = ".gnu_debugdata", .type = SHT_PROGBITS };
	Elf_Data *data = section_find(f->elf, &w) && w.sh.sh_size <= MAX_DEBUGDATA
				 ? elf_rawdata(w.scn, NULL)
				 : NULL;
	Elf *inner;
	char *image;
	size_t len;
	int err = 1;

	image = data && data->d_buf ? unpack(data->d_buf, data->d_size, &len) : NULL;
	if (!image)
		return 1;
	inner = is_usual(image, len) ? elf_memory(image, len) : NULL;
	if (inner)
		err = tables_read(f, inner, SHT_SYMTAB, fn, arg);
	elf_end(inner);
	free(image);
	return err;
}

/* A build id: its bytes are the same in a program and in its debug file. */
struct build_id {
	unsigned char at[MAX_BUILD_ID];
	size_t len; /* 0: there is none */
};

static void build_id_read(Elf *elf, struct build_id *ret_id)
{
	struct wanted w = { .name = ".note.gnu.build-id", .type = SHT_NOTE };
	size_t at = 0, name_at, bytes_at;
	GElf_Nhdr note;
	Elf_Data *data;

	ret_id->len = 0;
	data = section_find(elf, &w) && w.sh.sh_size <= MAX_NOTES ? elf_getdata(w.scn, NULL) : NULL;
	while (data && (at = gelf_getnote(data, at, &note, &name_at, &bytes_at))) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_descsz > MAX_BUILD_ID)
			continue;
		ret_id->len = note.n_descsz;
		memcpy(ret_id->at, (const char *)data->d_buf + bytes_at, ret_id->len);
		return;
	}
}

/* The section .gnu_debuglink: a file name, zeroes up to a multiple of 4, and the file's checksum.
 */
struct debug_link {
	char name[NAME_MAX + 1]; /* "": there is none */
	uint32_t crc;
};

static void debug_link_read(const struct elf_file *f, struct debug_link *ret_link)
{
	struct wanted w = { .name = ".gnu_debuglink", .type = SHT_PROGBITS };
	Elf_Data *data;
	size_t len;

	ret_link->name[0] = '\0';
	data = section_find(f->elf, &w) && w.sh.sh_size <= sizeof(ret_link->name) + 8
		       ? elf_rawdata(w.scn, NULL)
		       : NULL;
	if (!data || !data->d_buf)
		return;
	len = strnlen(data->d_buf, data->d_size);
	if (len > NAME_MAX || (len + 4) / 4 * 4 + sizeof(ret_link->crc) > data->d_size ||
	    memchr(data->d_buf, '/', len))
		return;
	memcpy(ret_link->name, data->d_buf, len + 1);
	memcpy(&ret_link->crc, (const char *)data->d_buf + (len + 4) / 4 * 4,
	       sizeof(ret_link->crc));
}

/* The marks that show whether a debug file belongs to a program. */
struct debug_wanted {
	struct build_id id;
	struct debug_link link;
	bool by_id; /* else by the checksum of the link */
};

static bool debug_file_fits(int fd, Elf *elf, const struct debug_wanted *w)
{
	struct build_id id;

	if (!w->by_id)
		return regular_file_has_crc(fd, w->link.crc, max_debug_file);
	build_id_read(elf, &id);
	return id.len == w->id.len && !memcmp(id.at, w->id.at, id.len);
}

/* Reads the symbols of the debug file @path, if it fits. Results as tables_read(). */
static int debug_file_try(const struct elf_file *f, const char *path, const struct debug_wanted *w,
			  elf_symbol_fn *fn, void *arg)
{
	int fd = regular_file_open(path), err = 1;
	struct elf_file *debug;
	struct stat st;

	if (fd < 0)
		return 1;
	if (!fstat(fd, &st) && st.st_size <= max_debug_file && !elf_file_open(fd, &debug)) {
		if (debug_file_fits(fd, debug->elf, w))
			err = tables_read(f, debug->elf, SHT_SYMTAB, fn, arg);
		elf_file_close(debug);
	}
	close(fd);
	return err;
}

#define DEBUG_DIR "/usr/lib/debug"

/* Looks below @root, "" or "/proc/PID/root", by the build id. */
static int debug_file_by_id(const struct elf_file *f, const char *root, struct debug_wanted *w,
			    elf_symbol_fn *fn, void *arg)
{
	char path[PATH_MAX], hex[2 * MAX_BUILD_ID + 1] = "";

	if (w->id.len < 2)
		return 1;
	for (size_t i = 0; i < w->id.len; i++)
		sprintf(hex + 2 * i, "%02x", w->id.at[i]);
	snprintf(path, sizeof(path), "%s" DEBUG_DIR "/.build-id/%.2s/%s.debug", root, hex, hex + 2);
	w->by_id = true;
	return debug_file_try(f, path, w, fn, arg);
}

/* Looks where debuggers do, for the file @dir in the file system @root. */
static int debug_file_by_link(const struct elf_file *f, const char *root, const char *dir,
			      struct debug_wanted *w, elf_symbol_fn *fn, void *arg)
{
	static const char *const places[] = { "%s%s/%s", "%s%s/.debug/%s", "%s" DEBUG_DIR "%s/%s" };
	char path[PATH_MAX];
	int err = 1;

	w->by_id = false;
	for (size_t i = 0; i < 3 && err == 1 && w->link.name[0]; i++)
		if (snprintf(path, sizeof(path), places[i], root, dir, w->link.name) <
		    (int)sizeof(path))
			err = debug_file_try(f, path, w, fn, arg);
	return err;
}

/* Splits @path into the root of a process, or "", and the directory below it. */
static void path_split(const char *path, char root[64], char dir[PATH_MAX])
{
	char real[PATH_MAX];
	int pid, len = 0;

	root[0] = '\0';
	if (sscanf(path, "/proc/%d/root/%n", &pid, &len) == 1 && len) {
		snprintf(root, 64, "%.*s", len - 1, path);
		path += len - 1;
	} else if (realpath(path, real)) {
		path = real;
	}
	snprintf(dir, PATH_MAX, "%.*s", (int)(strrchr(path, '/') ? strrchr(path, '/') - path : 0),
		 path);
}

/* Reads the symbol table of the debug file. Results as tables_read(). */
static int debug_file_read(const struct elf_file *f, const char *path, elf_symbol_fn *fn, void *arg)
{
	char root[64], dir[PATH_MAX];
	struct debug_wanted w;
	int err;

	build_id_read(f->elf, &w.id);
	debug_link_read(f, &w.link);
	path_split(path, root, dir);
	err = debug_file_by_id(f, "", &w, fn, arg);
	if (err == 1 && root[0])
		err = debug_file_by_id(f, root, &w, fn, arg);
	return err == 1 ? debug_file_by_link(f, root, dir, &w, fn, arg) : err;
}

int elf_file_best_symbols(struct elf_file *f, const char *path, elf_symbol_fn *fn, void *arg)
{
	int err = tables_read(f, f->elf, SHT_SYMTAB, fn, arg), more;

	if (err != 1)
		return err;
	err = tables_read(f, f->elf, SHT_DYNSYM, fn, arg);
	if (err != 0 && err != 1)
		return err;
	more = debug_file_read(f, path, fn, arg);
	if (more == 1)
		more = debugdata_read(f, fn, arg);
	return more == 1 ? err : more;
}
