// SPDX-License-Identifier: GPL-2.0-only
/*
 * unwind_table.c - libdw finds the entry of each function (FDE); a row is a place from which on the
 * rule is another. A place without a function has a row that says so: no caller is guessed.
 */
#include "stacks/unwind_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include "base/clock.h"
#include "stacks/frame_rules.h"

enum {
	ROWS_MOST = UNWIND_ROWS / 2,
	SEGMENTS_MOST = 16,
	COMMON_MOST = 4096,       /* common entries (CIE) */
	LOOK_ENTRIES = 256,       /* between two looks at the time */
	SYMBOLS_MOST = 256 << 20, /* bytes of a table; libelf has all of it in memory */
	/* of the code at an entry point: the dynamic linker calls constructors 43 bytes after it */
	ENTRY_BYTES = 64,
	/* of the start of a function: relative to its own place, signed, 4 bytes */
	ENCODING = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
};

#define TIME_MOST_NS (2ULL * NS_PER_S)

/* A common entry (CIE) whose functions have the usual encoding. */
struct usual {
	Dwarf_Off offset;
	struct frame_common common;
};

/* A file on its way to a table. */
struct making {
	struct unwind_table *to;
	Elf *elf;
	Elf_Data *data; /* .eh_frame, at @address */
	GElf_Addr address, plt, plt_end;
	GElf_Phdr segments[SEGMENTS_MOST]; /* with code */
	int n_segments;
	struct usual *usual; /* ascending; owned */
	size_t n_usual;
	uint64_t until_ns;
};

/* The place in the file of @address. Returns false if it is in no code. */
static bool place_of(const struct making *m, GElf_Addr address, GElf_Addr *ret_at)
{
	for (int i = 0; i < m->n_segments; i++) {
		const GElf_Phdr *s = &m->segments[i];

		if (address - s->p_vaddr < s->p_filesz) {
			*ret_at = address - s->p_vaddr + s->p_offset;
			return *ret_at <= UINT32_MAX;
		}
	}
	return false;
}

static int row_add(struct unwind_table *t, struct unwind_row row)
{
	size_t cap = t->cap ? 2 * t->cap : 1024;
	struct unwind_row *rows;

	if (t->n == ROWS_MOST)
		return -E2BIG;
	if (t->n == t->cap) {
		rows = realloc(t->rows, cap * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		t->rows = rows;
		t->cap = cap;
	}
	t->rows[t->n++] = row;
	return 0;
}

static bool same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->rule == b->rule && a->cfa == b->cfa && a->fp == b->fp;
}

static void set_cfa(const struct making *m, const struct frame_rules *r, GElf_Addr at,
		    struct unwind_row *row)
{
	if (r->cfa == CFA_EXPRESSION && at >= m->plt && at < m->plt_end)
		row->rule = UNWIND_PLT;
	if (r->cfa != CFA_REGISTER || r->cfa_offset % 8 || r->cfa_offset / 8 < INT16_MIN ||
	    r->cfa_offset / 8 > INT16_MAX)
		return;
	if (r->cfa_register != REG_SP && r->cfa_register != REG_FP)
		return;
	row->rule = r->cfa_register == REG_SP ? UNWIND_SP : UNWIND_FP;
	row->cfa = r->cfa_offset / 8;
}

/* Where the caller's frame pointer is saved. If no row can say it, neither can the rule. */
static void set_fp(const struct frame_register *fp, struct unwind_row *row)
{
	if (fp->saved == SAVED_NOWHERE || fp->saved == SAVED_SAME)
		return;
	if (fp->saved == SAVED_AT_CFA && !(fp->offset % 8) && fp->offset / 8 >= INT8_MIN &&
	    fp->offset < 0)
		row->fp = fp->offset / 8;
	else
		row->rule = UNWIND_UNKNOWN;
}

/* The return address is where rows say, right below the CFA; or there is none: the outermost. */
static void set_return(const struct frame_register *address, struct unwind_row *row)
{
	if (address->saved == SAVED_NOWHERE)
		row->rule = UNWIND_LAST;
	else if (address->saved != SAVED_AT_CFA || address->offset != -8)
		row->rule = UNWIND_UNKNOWN;
}

/* The rows of the function from @at to @to, whose rules @w has. */
static int function_add(struct making *m, struct frame_walk *w, GElf_Addr at, GElf_Addr to)
{
	GElf_Addr place;
	uint64_t bytes;
	int err = 0;

	while (!err && frame_walk_step(w, &bytes) && place_of(m, at, &place)) {
		struct unwind_row row = { .at = place };

		set_cfa(m, &w->rules, at, &row);
		set_fp(&w->rules.fp, &row);
		set_return(&w->rules.return_address, &row);
		err = row_add(m->to, row);
		if (!bytes || bytes >= to - at)
			break;
		at += bytes;
	}
	if (!err && place_of(m, to - 1, &place) && place < UINT32_MAX)
		err = row_add(m->to, (struct unwind_row){ .at = place + 1 });
	return err;
}

static size_t encoded_len(unsigned char encoding)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return SIZE_MAX;
	}
}

/* Whether functions of this common entry (CIE) have the usual encoding. */
static bool is_usual(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	size_t left = cie->augmentation_data_size, skip;

	if (cie->augmentation[0] != 'z')
		return false;
	for (const char *c = cie->augmentation; *c; c++) {
		if (*c == 'z' || *c == 'S' || *c == 'B')
			continue;
		if (!data || !left)
			return false;
		if (*c == 'R')
			return *data == ENCODING;
		skip = *c == 'L' ? 1 : *c == 'P' ? 1 + encoded_len(*data) : SIZE_MAX;
		if (skip > left || !skip)
			return false;
		data += skip;
		left -= skip;
	}
	return false;
}

/* Notes a common entry, if it is usual. The others are few. */
static int common_add(struct making *m, Dwarf_Off offset, const Dwarf_CIE *cie)
{
	struct usual *usual, new = { .offset = offset };

	if (!is_usual(cie) || !frame_common_read(cie, &new.common))
		return 0;
	if (m->n_usual == COMMON_MOST)
		return -E2BIG;
	usual = realloc(m->usual, (m->n_usual + 1) * sizeof(*usual));
	if (!usual)
		return -ENOMEM;
	usual[m->n_usual++] = new;
	m->usual = usual;
	return 0;
}

static int offset_order(const void *a, const void *b)
{
	const struct usual *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The common entry of a function, or NULL. */
static const struct usual *common_of(const struct making *m, const Dwarf_FDE *fde)
{
	const struct usual wanted = { .offset = fde->CIE_pointer };

	return m->n_usual ? bsearch(&wanted, m->usual, m->n_usual, sizeof(wanted), offset_order)
			  : NULL;
}

/* An entry begins with the start of the function, its length, and data that is not for unwinding.
 */
static int entry_add(struct making *m, Dwarf_Off offset, const Dwarf_CFI_Entry *entry)
{
	const uint8_t *start = entry->fde.start, *data = m->data->d_buf;
	const struct usual *usual;
	struct frame_walk w;
	uint64_t skip;
	uint32_t len;
	int32_t from;
	GElf_Addr at;

	if (dwarf_cfi_cie_p((Dwarf_CFI_Entry *)entry))
		return common_add(m, offset, &entry->cie);
	usual = common_of(m, &entry->fde);
	if (!usual || entry->fde.end - start < (ptrdiff_t)(sizeof(from) + sizeof(len)))
		return 0;
	memcpy(&from, start, sizeof(from));
	memcpy(&len, start + sizeof(from), sizeof(len));
	at = m->address + (start - data) + from;
	w.common = &usual->common;
	w.at = start + sizeof(from) + sizeof(len);
	w.end = entry->fde.end;
	w.rules = w.common->rules;
	w.n_remembered = 0;
	if (!len || !frame_number_read(&w.at, w.end, &skip) || skip > (uint64_t)(w.end - w.at))
		return 0;
	w.at += skip;
	return function_add(m, &w, at, at + len);
}

/* A common entry comes before the functions that refer to it. */
static int entries_add(struct making *m)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(m->elf, NULL);
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	unsigned int n = 0;
	int res, err = 0;

	while (!err && (res = dwarf_next_cfi(ident, m->data, true, offset, &next, &entry)) != 1) {
		if (!res)
			err = entry_add(m, offset, &entry);
		if (!(++n % LOOK_ENTRIES) && clock_ns() > m->until_ns)
			err = -E2BIG;
		if (next == (Dwarf_Off)-1 || next <= offset)
			break;
		offset = next;
	}
	return err;
}

static bool sections_find(struct making *m)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(m->elf, &names))
		return false;
	while ((section = elf_nextscn(m->elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(m->elf, names, header.sh_name);
		if (!name || header.sh_type == SHT_NOBITS)
			continue;
		if (!strcmp(name, ".eh_frame") && !m->data) {
			m->data = elf_rawdata(section, NULL);
			m->address = header.sh_addr;
		} else if (!strcmp(name, ".plt")) {
			m->plt = header.sh_addr;
			m->plt_end = header.sh_addr + header.sh_size;
		}
	}
	return m->data && m->data->d_buf;
}

static void segments_find(struct making *m)
{
	GElf_Phdr header;
	size_t n;

	if (elf_getphdrnum(m->elf, &n))
		return;
	for (size_t i = 0; i < n && m->n_segments < SEGMENTS_MOST; i++)
		if (gelf_getphdr(m->elf, i, &header) && header.p_type == PT_LOAD &&
		    header.p_flags & PF_X)
			m->segments[m->n_segments++] = header;
}

/* Code that keeps frame pointers and has no rows. */
struct keeping {
	GElf_Addr from, to;
};

static bool section_named(const struct making *m, const char *wanted, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(m->elf, &names))
		return false;
	while ((section = elf_nextscn(m->elf, section))) {
		name = gelf_getshdr(section, ret_header)
			       ? elf_strptr(m->elf, names, ret_header->sh_name)
			       : NULL;
		if (name && !strcmp(name, wanted))
			return true;
	}
	return false;
}

/* The functions of V8 that are made while Node is built. */
static void builtins_find(const struct making *m, Elf_Scn *section, const GElf_Shdr *header,
			  struct keeping *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	static const char prefix[] = "Builtins_";
	const char *name;
	GElf_Sym symbol;

	for (size_t i = 0; data && i < n && gelf_getsym(data, i, &symbol); i++) {
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size)
			continue;
		name = elf_strptr(m->elf, header->sh_link, symbol.st_name);
		if (!name || strncmp(name, prefix, strlen(prefix)))
			continue;
		if (!ret->to || symbol.st_value < ret->from)
			ret->from = symbol.st_value;
		if (symbol.st_value + symbol.st_size > ret->to)
			ret->to = symbol.st_value + symbol.st_size;
	}
}

/* Go's code, or V8's. A file has one table of symbols. More could be the same bytes, in memory
 * again and again. */
static struct keeping keeping_find(const struct making *m)
{
	struct keeping k = {};
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (section_named(m, ".gopclntab", &header) && section_named(m, ".text", &header))
		return (struct keeping){ header.sh_addr, header.sh_addr + header.sh_size };
	while ((section = elf_nextscn(m->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		if (header.sh_size <= SYMBOLS_MOST)
			builtins_find(m, section, &header, &k);
		break;
	}
	return k;
}

/* Of two rows for one place, the one with the higher rank stays. */
static int rule_rank(unsigned int rule)
{
	return rule == UNWIND_UNKNOWN ? 0 : rule == UNWIND_BY_FP ? 1 : 2;
}

static int row_order(const void *a, const void *b)
{
	const struct unwind_row *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return rule_rank(x->rule) - rule_rank(y->rule);
}

/* Orders the rows, and drops those that say nothing new. Where the end of a function is the start
 * of the next, the start stays: it is the last of its place. */
static void rows_tidy(struct unwind_table *t)
{
	size_t n = 0;

	qsort(t->rows, t->n, sizeof(*t->rows), row_order);
	for (size_t i = 0; i < t->n; i++) {
		if (i + 1 < t->n && t->rows[i + 1].at == t->rows[i].at)
			continue;
		if (n && same_rule(&t->rows[n - 1], &t->rows[i]))
			continue;
		t->rows[n++] = t->rows[i];
	}
	t->n = n;
}

/* Where no row says how, code that keeps frame pointers is walked by them. */
static int keeping_mark(struct making *m)
{
	struct keeping k = keeping_find(m);
	struct unwind_table *t = m->to;
	GElf_Addr from, last;
	int err;

	if (k.to <= k.from || !place_of(m, k.from, &from) || !place_of(m, k.to - 1, &last) ||
	    last <= from || last >= UINT32_MAX)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].rule == UNWIND_UNKNOWN && t->rows[i].at >= from &&
		    t->rows[i].at <= last)
			t->rows[i].rule = UNWIND_BY_FP;
	err = row_add(t, (struct unwind_row){ .at = from, .rule = UNWIND_BY_FP });
	if (!err)
		err = row_add(t, (struct unwind_row){ .at = last + 1 });
	rows_tidy(t);
	return err;
}

/* Makes the code at the entry point of the file the outermost frame, if no row describes it: so it
 * is in the dynamic linker, which reads libraries from there. Nobody calls an entry point. */
static int entry_mark(struct making *m)
{
	struct unwind_table *t = m->to;
	GElf_Ehdr header;
	GElf_Addr at;
	size_t i = 0;
	int err;

	if (!gelf_getehdr(m->elf, &header) || !header.e_entry || !place_of(m, header.e_entry, &at))
		return 0;
	while (i < t->n && t->rows[i].at <= at)
		i++;
	if (!i || t->rows[i - 1].rule != UNWIND_UNKNOWN)
		return 0;
	err = row_add(t, (struct unwind_row){ .at = at, .rule = UNWIND_LAST });
	if (!err && (i + 1 == t->n || t->rows[i].at > at + ENTRY_BYTES))
		err = row_add(t, (struct unwind_row){ .at = at + ENTRY_BYTES });
	rows_tidy(t);
	return err;
}

static bool is_for_here(Elf *elf)
{
	GElf_Ehdr header;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS64;
}

int unwind_table_make(struct unwind_table *t, int fd)
{
	struct making m = { .to = t, .until_ns = clock_ns() + TIME_MOST_NS };
	int err = 0;

	*t = (struct unwind_table){};
	elf_version(EV_CURRENT);
	m.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!m.elf || !is_for_here(m.elf)) {
		elf_end(m.elf);
		return -ENOEXEC;
	}
	segments_find(&m);
	if (sections_find(&m))
		err = entries_add(&m);
	if (!err && t->n) {
		rows_tidy(t);
		err = keeping_mark(&m);
	}
	if (!err && t->n) {
		err = entry_mark(&m);
	}
	free(m.usual);
	elf_end(m.elf);
	if (err)
		unwind_table_done(t);
	return err;
}

void unwind_table_done(struct unwind_table *t)
{
	free(t->rows);
	*t = (struct unwind_table){};
}
