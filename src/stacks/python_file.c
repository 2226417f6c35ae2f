// SPDX-License-Identifier: GPL-2.0-only
/*
 * python_file.c - Python exports the function that runs its code, its state, and from 3.11 on its
 * version, also in a program that is stripped.
 */
#include "stacks/python_file.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { SYMBOLS_MOST = 64 << 20 /* bytes of a table; libelf has all of it in memory */ };

/* Symbols that are looked for. */
enum wanted { RUN, STATE, VERSION, WITHOUT_LOCK, WANTED_N };

static const char *const wanted[WANTED_N] = {
	[RUN] = "_PyEval_EvalFrameDefault",
	[STATE] = "_PyRuntime",
	[VERSION] = "Py_Version",
	/* only in builds without the lock of the interpreter, whose objects are others */
	[WITHOUT_LOCK] = "_Py_MergeZeroLocalRefcount",
};

struct symbols {
	Elf *elf;
	GElf_Sym at[WANTED_N]; /* .st_value 0: there is none */
};

static void symbol_take(struct symbols *s, const GElf_Sym *symbol, const char *name)
{
	for (int i = 0; i < WANTED_N; i++)
		if (!strcmp(name, wanted[i]))
			s->at[i] = *symbol;
}

static void section_look(struct symbols *s, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	const char *name;
	GElf_Sym symbol;

	for (size_t i = 0; data && i < n; i++) {
		if (!gelf_getsym(data, i, &symbol))
			return;
		if (symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
			continue;
		name = elf_strptr(s->elf, header->sh_link, symbol.st_name);
		if (name && name[0] == (name[1] == 'P' ? '_' : name[0]) && strchr("_P", name[0]))
			symbol_take(s, &symbol, name);
	}
}

/* A file has one such table. More could be the same bytes, in memory again and again. */
static void symbols_look(struct symbols *s)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(s->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		if (header.sh_size <= SYMBOLS_MOST)
			section_look(s, section, &header);
		return;
	}
}

/* The segment that has @address and is in the file. */
static bool segment_of(Elf *elf, GElf_Addr address, GElf_Phdr *ret)
{
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, i, ret) && ret->p_type == PT_LOAD &&
		    address - ret->p_vaddr < ret->p_filesz)
			return true;
	return false;
}

static unsigned int version_of(const struct symbols *s, int fd)
{
	const GElf_Sym *symbol = &s->at[VERSION];
	uint64_t hex = 0;
	GElf_Phdr segment;

	if (!symbol->st_value || s->at[WITHOUT_LOCK].st_value ||
	    !segment_of(s->elf, symbol->st_value, &segment) ||
	    pread(fd, &hex, sizeof(hex), symbol->st_value - segment.p_vaddr + segment.p_offset) !=
		    sizeof(hex))
		return PYTHON_UNKNOWN;
	switch (hex >> 16) {
	case 0x030b:
		return PYTHON_3_11;
	case 0x030c:
		return PYTHON_3_12;
	case 0x030d:
		return PYTHON_3_13;
	default:
		return PYTHON_UNKNOWN;
	}
}

void python_file_find(int fd, struct unwind_python *ret_python)
{
	struct symbols s = {};
	const GElf_Sym *run = &s.at[RUN];
	GElf_Phdr segment;
	uint64_t from;

	*ret_python = (struct unwind_python){};
	elf_version(EV_CURRENT);
	s.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!s.elf)
		return;
	symbols_look(&s);
	if (run->st_value && segment_of(s.elf, run->st_value, &segment)) {
		from = run->st_value - segment.p_vaddr + segment.p_offset;
		if (from < UINT32_MAX && run->st_size < UINT32_MAX - from) {
			ret_python->from = from;
			ret_python->to = from + run->st_size;
			ret_python->runtime =
				s.at[STATE].st_value - segment.p_vaddr + segment.p_offset;
			ret_python->version =
				s.at[STATE].st_value ? version_of(&s, fd) : PYTHON_UNKNOWN;
		}
	}
	elf_end(s.elf);
}
