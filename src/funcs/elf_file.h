/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elf_file.h - the symbols of an ELF file: from its tables, from .gnu_debugdata, and from its debug
 * file. The files are hostile: each look at them is bounded. Knows no patterns, and probes nothing.
 */
#ifndef IOSTRATA_FUNCS_ELF_FILE_H
#define IOSTRATA_FUNCS_ELF_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

struct elf_symbol {
	const char *name;   /* not empty; lives until the symbol function returns */
	uint64_t address;   /* in the file's own addresses */
	uint64_t offset;    /* of the address in the file, in executable code; 0: none */
	unsigned char type; /* STT_FUNC, STT_GNU_IFUNC ... */
	bool is_import;     /* another file has the symbol */
};

/* Receives a symbol; a result other than 0 ends the search. */
typedef int elf_symbol_fn(void *arg, const struct elf_symbol *s);

/*
 * Opens the ELF file @fd. The caller frees the result with elf_file_close(), before closing @fd. 0,
 * -ENOMEM, or -ENOEXEC: it is no ELF file, or its header is wrong.
 */
int elf_file_open(int fd, struct elf_file **ret_file);
void elf_file_close(struct elf_file *f); /* NULL is fine */

/* Whether the file is for another architecture and runs in an emulator. A probe would patch
 * instructions of this machine into it. */
bool elf_file_is_foreign(const struct elf_file *f);

/* Whether the file has a section with @part in its name. */
bool elf_file_has_section(const struct elf_file *f, const char *part);

/* Whether the file has only symbols for a program, whose code is in another file. */
bool elf_file_is_debug_file(const struct elf_file *f);

/* Calls @fn for all symbols of the file's own tables, imports too. 0, the result of @fn, or
 * -EBADMSG: a table is wrong or too large. */
int elf_file_symbols(struct elf_file *f, elf_symbol_fn *fn, void *arg);

/* The address at which the dynamic linker stores the function chosen by the IFUNC resolver at
 * address @resolver, or 0 if the file has no such place. */
uint64_t elf_file_choice(const struct elf_file *f, uint64_t resolver);

/* Address of @offset in the file, if the file is loaded where it says. Returns false if it is not
 * loaded. */
bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *ret_address);

/*
 * Calls @fn for the symbols of the best tables: .symtab; or else .dynsym, with .symtab of the debug
 * file or of .gnu_debugdata. @path is the file's, for the search of the debug file. 0, 1: there is
 * no table, the result of @fn, or -EBADMSG: a table is wrong or too large.
 */
int elf_file_best_symbols(struct elf_file *f, const char *path, elf_symbol_fn *fn, void *arg);

#endif
