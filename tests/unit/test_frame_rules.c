// SPDX-License-Identifier: GPL-2.0-only
/* Rules of frames: each instruction on literals, wrong ones, and all places of this program as
 * libdw has them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stacks/frame_rules.h"

/* As compilers write it: the CFA is rsp+8, and the return address is right below. */
static const uint8_t usual[] = { DW_CFA_def_cfa, REG_SP, 8, DW_CFA_offset | REG_RETURN, 1 };

static bool common_of(const uint8_t *code, size_t len, struct frame_common *ret)
{
	const Dwarf_CIE cie = { .code_alignment_factor = 1,
				.data_alignment_factor = -8,
				.initial_instructions = code,
				.initial_instructions_end = code + len };

	return frame_common_read(&cie, ret);
}

static struct frame_common common;

static struct frame_walk walk(const uint8_t *code, size_t len)
{
	assert_true(common_of(usual, sizeof(usual), &common));
	return (struct frame_walk){
		.common = &common, .at = code, .end = code + len, .rules = common.rules
	};
}

/* Steps over @bytes of code, 0: to the end. */
static void steps(struct frame_walk *w, uint64_t bytes)
{
	uint64_t got;

	assert_true(frame_walk_step(w, &got));
	assert_int_equal(got, bytes);
}

static void cfa_is(const struct frame_walk *w, uint64_t reg, int64_t offset)
{
	assert_int_equal(w->rules.cfa, CFA_REGISTER);
	assert_int_equal(w->rules.cfa_register, reg);
	assert_int_equal(w->rules.cfa_offset, offset);
}

static void a_function_with_a_frame_pointer(void **state)
{
	const uint8_t code[] = { DW_CFA_advance_loc | 1,
				 DW_CFA_def_cfa_offset,
				 16,
				 DW_CFA_offset | REG_FP,
				 2,
				 DW_CFA_advance_loc1,
				 0, /* nothing: goes on */
				 DW_CFA_advance_loc | 3,
				 DW_CFA_def_cfa_register,
				 REG_FP,
				 DW_CFA_advance_loc2,
				 0x13,
				 1,
				 DW_CFA_remember_state,
				 DW_CFA_restore | REG_FP,
				 DW_CFA_def_cfa,
				 REG_SP,
				 8,
				 DW_CFA_advance_loc4,
				 1,
				 0,
				 1,
				 0,
				 DW_CFA_restore_state,
				 DW_CFA_nop };
	struct frame_walk w = walk(code, sizeof(code));

	(void)state;
	steps(&w, 1);
	cfa_is(&w, REG_SP, 8);
	assert_int_equal(w.rules.fp.saved, SAVED_SAME);
	assert_int_equal(w.rules.return_address.saved, SAVED_AT_CFA);
	assert_int_equal(w.rules.return_address.offset, -8);
	steps(&w, 3);
	cfa_is(&w, REG_SP, 16);
	assert_int_equal(w.rules.fp.saved, SAVED_AT_CFA);
	assert_int_equal(w.rules.fp.offset, -16);
	steps(&w, 0x113);
	cfa_is(&w, REG_FP, 16);
	steps(&w, 0x10001);
	cfa_is(&w, REG_SP, 8);
	assert_int_equal(w.rules.fp.saved, SAVED_SAME);
	steps(&w, 0);
	cfa_is(&w, REG_FP, 16);
	assert_int_equal(w.rules.fp.offset, -16);
}

static void rare_instructions(void **state)
{
	const uint8_t code[] = { DW_CFA_def_cfa_sf, REG_FP, 0x7e, DW_CFA_offset_extended, REG_FP, 3,
				 DW_CFA_GNU_args_size, 0x80, 1, DW_CFA_advance_loc | 1,
				 DW_CFA_def_cfa_offset_sf, 0x7d, DW_CFA_offset_extended_sf, REG_FP,
				 0x7f, DW_CFA_advance_loc | 1, DW_CFA_GNU_negative_offset_extended,
				 REG_FP, 2, DW_CFA_undefined, REG_RETURN, DW_CFA_advance_loc | 1,
				 DW_CFA_restore_extended, REG_RETURN, DW_CFA_register, REG_FP, 3,
				 /* other registers change nothing */
				 DW_CFA_offset | 3, 7, DW_CFA_restore | 3, DW_CFA_same_value, 12,
				 DW_CFA_advance_loc | 1, DW_CFA_val_offset, REG_FP, 1,
				 DW_CFA_expression, REG_RETURN, 2, DW_OP_breg0, 8 };
	struct frame_walk w = walk(code, sizeof(code));

	(void)state;
	steps(&w, 1);
	cfa_is(&w, REG_FP, 16);
	assert_int_equal(w.rules.fp.offset, -24);
	steps(&w, 1);
	cfa_is(&w, REG_FP, 24);
	assert_int_equal(w.rules.fp.offset, 8);
	steps(&w, 1);
	assert_int_equal(w.rules.fp.offset, 16);
	assert_int_equal(w.rules.return_address.saved, SAVED_NOWHERE);
	steps(&w, 1);
	assert_int_equal(w.rules.fp.saved, SAVED_ELSEWHERE);
	assert_int_equal(w.rules.return_address.offset, -8);
	steps(&w, 0);
	assert_int_equal(w.rules.fp.saved, SAVED_ELSEWHERE);
	assert_int_equal(w.rules.return_address.saved, SAVED_ELSEWHERE);
}

static void expressions(void **state)
{
	const uint8_t code[] = { DW_CFA_def_cfa_expression,
				 3,
				 DW_OP_breg0 + REG_FP,
				 0xf0,
				 0x7e,
				 DW_CFA_advance_loc | 1,
				 DW_CFA_def_cfa_expression,
				 4,
				 DW_OP_bregx,
				 REG_SP,
				 0x90,
				 1,
				 DW_CFA_advance_loc | 1,
				 DW_CFA_def_cfa_expression,
				 3,
				 DW_OP_breg0 + REG_FP,
				 0x70,
				 DW_OP_deref };
	struct frame_walk w = walk(code, sizeof(code));

	(void)state;
	steps(&w, 1);
	cfa_is(&w, REG_FP, -144);
	steps(&w, 1);
	cfa_is(&w, REG_SP, 144);
	steps(&w, 0);
	assert_int_equal(w.rules.cfa, CFA_EXPRESSION);
}

static void wrong_instructions_are_refused(void **state)
{
	static const uint8_t wrong[][6] = {
		{ DW_CFA_set_loc, 1, 1, 1, 1, 1 }, /* compilers do not write it */
		{ 0x3f, 1, 1, 1, 1, 1 },
		{ DW_CFA_restore_state },
		{ DW_CFA_def_cfa_expression, 0 },
		{ DW_CFA_def_cfa_expression, 1, DW_OP_deref, DW_CFA_def_cfa_offset, 8 },
		{ DW_CFA_def_cfa_expression, 7, DW_OP_breg0, 1, 1, 1 },
		{ DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_offset | 6, 0x80 },
		{ DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_advance_loc4, 1, 1 },
	};
	uint8_t many[FRAME_REMEMBERED + 1];
	struct frame_common c;
	struct frame_walk w;
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		w = walk(wrong[i], sizeof(wrong[i]));
		assert_false(frame_walk_step(&w, &bytes));
		assert_false(common_of(wrong[i], sizeof(wrong[i]), &c));
	}
	memset(many, DW_CFA_remember_state, sizeof(many));
	w = walk(many, sizeof(many) - 1);
	steps(&w, 0);
	w = walk(many, sizeof(many));
	assert_false(frame_walk_step(&w, &bytes));
}

/* What libdw says at a place, against @r. */
static void is_as_libdw(Dwarf_Frame *frame, const struct frame_rules *r)
{
	Dwarf_Op *ops, memory[3];
	size_t n;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
	if (r->cfa == CFA_REGISTER) {
		assert_int_equal(n, 1);
		assert_int_equal(ops[0].atom, DW_OP_bregx);
		assert_int_equal(ops[0].number, r->cfa_register);
		assert_int_equal(ops[0].number2, r->cfa_offset);
	} else {
		assert_in_range(n, 2, 1000);
	}
	assert_int_equal(dwarf_frame_register(frame, REG_FP, memory, &ops, &n), 0);
	if (r->fp.saved == SAVED_AT_CFA) {
		assert_int_equal(ops[0].atom, DW_OP_call_frame_cfa);
		assert_int_equal(n, 2);
		assert_int_equal(ops[1].number, r->fp.offset);
	} else if (r->fp.saved != SAVED_ELSEWHERE) {
		assert_int_equal(n, 0);
	}
	assert_int_equal(dwarf_frame_register(frame, REG_RETURN, memory, &ops, &n), 0);
	assert_int_equal(!n && ops == memory, r->return_address.saved == SAVED_NOWHERE);
	if (r->return_address.saved == SAVED_AT_CFA)
		assert_int_equal(ops[1].number, r->return_address.offset);
}

/* The entry of a function has 4 bytes of its start, relative to itself. Returns the places. */
static unsigned int function_is_as_libdw(Dwarf_CFI *cfi, const struct frame_common *c,
					 const Dwarf_FDE *fde, GElf_Addr entry)
{
	struct frame_walk w = { .common = c, .at = fde->start + 8, .end = fde->end };
	uint64_t bytes, skip;
	unsigned int places = 0;
	Dwarf_Frame *frame;
	int32_t from;
	GElf_Addr at;

	w.rules = c->rules;
	memcpy(&from, fde->start, sizeof(from));
	assert_true(frame_number_read(&w.at, w.end, &skip));
	w.at += skip;
	at = entry + from;
	do {
		assert_true(frame_walk_step(&w, &bytes));
		assert_int_equal(dwarf_cfi_addrframe(cfi, at, &frame), 0);
		is_as_libdw(frame, &w.rules);
		free(frame);
		at += bytes;
		places++;
	} while (bytes);
	return places;
}

static Elf_Data *eh_frame_of(Elf *elf, GElf_Addr *ret_address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    !strcmp(elf_strptr(elf, names, header.sh_name), ".eh_frame")) {
			*ret_address = header.sh_addr;
			return elf_rawdata(section, NULL);
		}
	return NULL;
}

/* All functions of this program that come after their common entry. */
static void all_places_are_as_libdw_has_them(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned int places = 0;
	struct frame_common c = {};
	Dwarf_Off offset = 0, next, common_at = 0;
	Dwarf_CFI_Entry entry;
	GElf_Addr address = 0;
	Elf_Data *data;
	Dwarf_CFI *cfi;
	Elf *elf;

	(void)state;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	data = eh_frame_of(elf, &address);
	cfi = dwarf_getcfi_elf(elf);
	assert_true(data && cfi);
	for (; dwarf_next_cfi((void *)elf_getident(elf, NULL), data, true, offset, &next, &entry) ==
	       0;
	     offset = next)
		if (dwarf_cfi_cie_p(&entry)) {
			common_at = offset;
			assert_string_equal(entry.cie.augmentation, "zR");
			assert_true(frame_common_read(&entry.cie, &c));
		} else if (entry.fde.CIE_pointer == common_at) {
			places += function_is_as_libdw(
				cfi, &c, &entry.fde,
				address + (entry.fde.start - (const uint8_t *)data->d_buf));
		}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	assert_in_range(places, 101, 1000003);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_with_a_frame_pointer),
		cmocka_unit_test(rare_instructions),
		cmocka_unit_test(expressions),
		cmocka_unit_test(wrong_instructions_are_refused),
		cmocka_unit_test(all_places_are_as_libdw_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
