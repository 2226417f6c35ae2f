// SPDX-License-Identifier: GPL-2.0-only
/*
 * go_names.c - the table of functions that Go's runtime has for its own stack traces: a header,
 * an array of (place of the function, place of its description), and names. All places are offsets.
 * The layout is that of `runtime/symtab.go` and `debug/gosym/pclntab.go` in Go.
 */
#include "stacks/go_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The header, as it is in the file. */
struct header {
	uint32_t magic;
	uint8_t pad[2], instruction_bytes, pointer_bytes;
	uint64_t n_functions, n_files, text, names, units, files, places, functions;
};

/* @place and @description of a function; one more at the end has no function. */
struct function {
	uint32_t place, description;
};

enum { GO_1_18 = 0xfffffff0, GO_1_20 = 0xfffffff1 };

static bool read_at(const Elf_Data *d, uint64_t at, void *to, size_t len)
{
	if (at > d->d_size || d->d_size - at < len)
		return false;
	memcpy(to, (const char *)d->d_buf + at, len);
	return true;
}

static Elf_Data *table_find(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && !strcmp(name, ".gopclntab"))
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

/* Finds the last function that begins at or before @place. Returns false if there is none. */
static bool function_find(const Elf_Data *d, const struct header *h, uint64_t place,
			  struct function *ret)
{
	uint64_t low = 0, high = h->n_functions, middle;
	struct function f;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (!read_at(d, h->functions + middle * sizeof(f), &f, sizeof(f)))
			return false;
		if (f.place <= place)
			low = middle + 1;
		else
			high = middle;
	}
	/* the place behind the last function has no description */
	return low && read_at(d, h->functions + low * sizeof(f), &f, sizeof(f.place)) &&
	       place < f.place &&
	       read_at(d, h->functions + (low - 1) * sizeof(f), ret, sizeof(*ret));
}

/* A program whose addresses are chosen when it starts may have no start of the code in the table:
 * then no name is guessed. */
const char *go_name(Elf *elf, GElf_Addr address)
{
	Elf_Data *d = table_find(elf);
	struct function f, described;
	struct header h;
	const char *name;
	uint64_t at;

	if (!d || !d->d_buf || !read_at(d, 0, &h, sizeof(h)) ||
	    (h.magic != GO_1_18 && h.magic != GO_1_20) || h.pointer_bytes != 8 || !h.text ||
	    h.functions > d->d_size || h.names > d->d_size ||
	    h.n_functions > d->d_size / sizeof(f) || address < h.text)
		return NULL;
	/* a description has the place once more, and then the place of the name */
	if (!function_find(d, &h, address - h.text, &f) ||
	    !read_at(d, h.functions + f.description, &described, sizeof(described)) ||
	    described.place != f.place)
		return NULL;
	at = h.names + described.description;
	if (at >= d->d_size)
		return NULL;
	name = (const char *)d->d_buf + at;
	return *name && memchr(name, '\0', d->d_size - at) ? name : NULL;
}
