// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/frame_names.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "funcs/demangle.h"
#include "stacks/debug_link.h"
#include "stacks/go_names.h"

struct frame_file {
	const char *search;
	Dwfl *dwfl;
	Dwfl_Module *module;
	/* after dwarf_of(): */
	bool is_looked_at;
	Dwarf *dwarf;  /* belongs to @module; NULL: none, or it must not be read */
	Dwarf *shared; /* with other debug files; NULL: none */
	int shared_fd;
};

static no_memory_fn no_memory;

void frame_files_no_memory(no_memory_fn handler)
{
	no_memory = handler;
}

static void handler_set(Dwarf *dwarf)
{
	if (dwarf && no_memory)
		dwarf_new_oom_handler(dwarf, no_memory);
}

struct frame_file *frame_file_open(int fd, const char *path)
{
	return frame_file_open_with(fd, path, NULL);
}

struct frame_file *frame_file_open_with(int fd, const char *path, const char *search)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = debug_link_find,
		.section_address = dwfl_offline_section_address,
	};
	struct frame_file *f = calloc(1, sizeof(*f));
	void **userdata;

	if (f) {
		f->search = search;
		f->dwfl = dwfl_begin(&callbacks);
	}
	if (f && f->dwfl) {
		dwfl_report_begin(f->dwfl);
		f->module = dwfl_report_offline(f->dwfl, path, path, fd);
		dwfl_report_end(f->dwfl, NULL, NULL);
	}
	if (f && f->module) {
		dwfl_module_info(f->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = (char *)search;
		return f; /* the module has the descriptor */
	}
	close(fd);
	frame_file_close(f);
	return NULL;
}

void frame_file_close(struct frame_file *f)
{
	if (f && f->dwfl)
		dwfl_end(f->dwfl);
	if (f && f->shared) {
		dwarf_end(f->shared);
		close(f->shared_fd);
	}
	free(f);
}

/* Opens the file that @dwarf shares with others. Returns false if there should be one, but is not:
 * libdw would open whatever has its name. */
static bool shared_open(struct frame_file *f, Dwarf *dwarf)
{
	const void *id;
	const char *name;

	if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) <= 0)
		return true;
	f->shared_fd = debug_link_shared(f->module, dwarf, f->search);
	f->shared = f->shared_fd < 0 ? NULL : dwarf_begin(f->shared_fd, DWARF_C_READ);
	handler_set(f->shared);
	if (f->shared && dwelf_dwarf_gnu_debugaltlink(f->shared, &name, &id) <= 0) {
		dwarf_setalt(dwarf, f->shared);
		return true;
	}
	if (!f->shared && f->shared_fd >= 0)
		close(f->shared_fd);
	return false;
}

/* NULL: there is no DWARF that may be read. */
static Dwarf *dwarf_of(struct frame_file *f)
{
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (f->is_looked_at)
		return f->dwarf;
	f->is_looked_at = true;
	dwarf = dwfl_module_getdwarf(f->module, &bias);
	handler_set(dwarf);
	if (dwarf && shared_open(f, dwarf))
		f->dwarf = dwarf;
	return f->dwarf;
}

/* The address of place @at in the file's own addresses. Returns false if the file does not load the
 * place. */
static bool address_of(struct frame_file *f, uint64_t at, uint64_t *ret_address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(f->module, &bias);
	GElf_Phdr header;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD ||
		    at - header.p_offset >= header.p_filesz)
			continue;
		*ret_address = at - header.p_offset + header.p_vaddr;
		return true;
	}
	return false;
}

/* Rust adds a hash to each name: "::h" and 16 digits. */
static void hash_cut(char *name)
{
	char *hash = strrchr(name, ':');

	if (hash && hash > name && !strncmp(hash - 1, "::h", 3) && strlen(hash + 1) == 17 &&
	    strspn(hash + 2, "0123456789abcdef") == 16)
		hash[-1] = '\0';
}

static void text_set(char to[FRAME_TEXT], const char *text)
{
	size_t len = strnlen(text, FRAME_TEXT - 1);

	memcpy(to, text, len);
	to[len] = '\0';
}

static void name_set(char name[FRAME_TEXT], const char *symbol)
{
	char text[DEMANGLED_LEN];

	text_set(name,
		 demangle_rust(symbol, text) || demangle(symbol, false, text) ? text : symbol);
	hash_cut(name);
	name[strcspn(name, "@")] = '\0'; /* the version of a symbol */
}

/* The text @attribute of @die or of what it comes from, or NULL if there is none. The function of
 * libdw for that would also open the file of a split unit, even a FIFO. */
static const char *text_of(const Dwarf_Die *die, unsigned int attribute)
{
	enum { LINKS_MOST = 16 };
	Dwarf_Die at = *die, next;
	Dwarf_Attribute a;

	for (int i = 0; i < LINKS_MOST; i++, at = next) {
		if (dwarf_attr(&at, attribute, &a))
			return dwarf_formstring(&a);
		if ((!dwarf_attr(&at, DW_AT_abstract_origin, &a) &&
		     !dwarf_attr(&at, DW_AT_specification, &a)) ||
		    !dwarf_formref_die(&a, &next))
			break;
	}
	return NULL;
}

/* Finds the child of @parent with the code at @address. Returns false if there is none. */
static bool child_find(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *ret_child)
{
	Dwarf_Die die;
	int err = dwarf_child(parent, &die);

	for (; !err; err = dwarf_siblingof(&die, &die)) {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
		case DW_TAG_entry_point:
		case DW_TAG_module:
			if (dwarf_haspc(&die, address) <= 0)
				break;
			*ret_child = die;
			return true;
		}
	}
	return false;
}

/* The name of the innermost inlined function at @address, or NULL. The function of libdw for that
 * calls itself for each level, and a file can have any number of levels. */
static const char *inlined_name(const Dwarf_Die *unit, Dwarf_Addr address)
{
	enum { LEVELS_MOST = 1024 };
	const char *name = NULL, *inner;
	Dwarf_Die at;

	if (!unit)
		return NULL;
	at = *unit;
	for (int i = 0; i < LEVELS_MOST && child_find(&at, address, &at); i++) {
		if (dwarf_tag(&at) == DW_TAG_subprogram)
			name = NULL;
		if (dwarf_tag(&at) != DW_TAG_inlined_subroutine)
			continue;
		inner = text_of(&at, DW_AT_linkage_name);
		inner = inner ? inner : text_of(&at, DW_AT_name);
		name = inner ? inner : name;
	}
	return name;
}

/* The unit of compilation with the code at @address, or NULL. Compilers such as clang write no
 * .debug_aranges, by which libdw before 0.191 finds the unit: then all units are asked. */
static Dwarf_Die *unit_of(struct frame_file *f, Dwarf_Addr address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(f->module, address, ret_bias);

	if (unit)
		return unit;
	while ((unit = dwfl_module_nextcu(f->module, unit, ret_bias)))
		if (dwarf_haspc(unit, address - *ret_bias) > 0)
			return unit;
	return NULL;
}

static void line_set(struct frame_name *name, Dwarf_Die *unit, Dwarf_Addr address)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	const char *source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number;

	if (!source)
		return;
	text_set(name->source, source);
	name->line = !dwarf_lineno(line, &number) && number > 0 ? number : 0;
}

void frame_file_build_id(struct frame_file *f, char ret_text[BUILD_ID_TEXT])
{
	const unsigned char *bytes;
	GElf_Addr bias, at;
	int n = 0;

	if (dwfl_module_getelf(f->module, &bias))
		n = dwfl_module_build_id(f->module, &bytes, &at);
	ret_text[0] = '\0';
	for (int i = 0; i < n && n <= BUILD_ID_MOST; i++)
		sprintf(ret_text + (ptrdiff_t)2 * i, "%02x", bytes[i]);
}

void frame_file_name(struct frame_file *f, uint64_t at, struct frame_name *ret_name)
{
	uint64_t address;

	*ret_name = (struct frame_name){};
	if (address_of(f, at, &address))
		frame_file_name_address(f, address, ret_name);
}

void frame_file_name_address(struct frame_file *f, uint64_t address, struct frame_name *ret_name)
{
	Dwarf_Addr bias = 0;
	const char *name;
	Dwarf_Die *unit;
	GElf_Off offset;
	GElf_Sym symbol;
	Elf *elf;

	*ret_name = (struct frame_name){ .address = address };
	frame_file_build_id(f, ret_name->build_id);
	elf = dwfl_module_getelf(f->module, &bias);
	if (!elf)
		return;
	address += bias;
	unit = dwarf_of(f) ? unit_of(f, address, &bias) : NULL;
	name = inlined_name(unit, address - bias);
	if (!name)
		name = dwfl_module_addrinfo(f->module, address, &offset, &symbol, NULL, NULL, NULL);
	if (!name)
		name = go_name(elf, ret_name->address);
	if (name)
		name_set(ret_name->function, name);
	if (unit)
		line_set(ret_name, unit, address - bias);
}
