// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/frame_rules.h"

#include <string.h>

#include <dwarf.h>

/* An instruction with its operands. */
struct instruction {
	unsigned int what; /* DW_CFA_... */
	uint64_t number[2];
	const uint8_t *block; /* the expression at its end, block_len bytes */
	uint64_t block_len;
};

/* The operands of an instruction: u and s: LEB128, unsigned and signed; a figure: an unsigned
 * number with so many bytes; b: an expression. NULL: no instruction that is known here. */
static const char *const operands[64] = {
	[DW_CFA_nop] = "",
	[DW_CFA_advance_loc1] = "1",
	[DW_CFA_advance_loc2] = "2",
	[DW_CFA_advance_loc4] = "4",
	[DW_CFA_MIPS_advance_loc8] = "8",
	[DW_CFA_offset_extended] = "uu",
	[DW_CFA_restore_extended] = "u",
	[DW_CFA_undefined] = "u",
	[DW_CFA_same_value] = "u",
	[DW_CFA_register] = "uu",
	[DW_CFA_remember_state] = "",
	[DW_CFA_restore_state] = "",
	[DW_CFA_def_cfa] = "uu",
	[DW_CFA_def_cfa_register] = "u",
	[DW_CFA_def_cfa_offset] = "u",
	[DW_CFA_def_cfa_expression] = "b",
	[DW_CFA_expression] = "ub",
	[DW_CFA_offset_extended_sf] = "us",
	[DW_CFA_def_cfa_sf] = "us",
	[DW_CFA_def_cfa_offset_sf] = "s",
	[DW_CFA_val_offset] = "uu",
	[DW_CFA_val_offset_sf] = "us",
	[DW_CFA_val_expression] = "ub",
	[DW_CFA_GNU_args_size] = "u",
	[DW_CFA_GNU_negative_offset_extended] = "uu",
};

static bool leb_read(const uint8_t **at, const uint8_t *end, bool is_signed, uint64_t *ret)
{
	unsigned int shift = 0;
	uint64_t number = 0;
	uint8_t byte;

	do {
		if (*at == end)
			return false;
		byte = *(*at)++;
		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		number |= ~0ULL << shift;
	*ret = number;
	return true;
}

bool frame_number_read(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	return leb_read(at, end, false, ret);
}

static bool fixed_read(const uint8_t **at, const uint8_t *end, size_t len, uint64_t *ret)
{
	uint64_t number = 0;

	if ((size_t)(end - *at) < len)
		return false;
	memcpy(&number, *at, len); /* files of the other byte order are refused */
	*at += len;
	*ret = number;
	return true;
}

static bool block_read(const uint8_t **at, const uint8_t *end, struct instruction *i)
{
	if (!leb_read(at, end, false, &i->block_len) || i->block_len > (uint64_t)(end - *at))
		return false;
	i->block = *at;
	*at += i->block_len;
	return true;
}

static bool operand_read(struct frame_walk *w, char how, struct instruction *i, uint64_t *number)
{
	if (how == 'b')
		return block_read(&w->at, w->end, i);
	if (how == 'u' || how == 's')
		return leb_read(&w->at, w->end, how == 's', number);
	return fixed_read(&w->at, w->end, how - '0', number);
}

/* Three instructions have an operand in their low 6 bits. */
static bool instruction_read(struct frame_walk *w, struct instruction *i)
{
	uint8_t byte = *w->at++;
	const char *how = operands[byte & 0x3f];

	*i = (struct instruction){ .what = byte };
	if (byte & 0xc0) {
		i->what = byte & 0xc0;
		i->number[0] = byte & 0x3f;
		return i->what != DW_CFA_offset || operand_read(w, 'u', i, &i->number[1]);
	}
	for (unsigned int n = 0; how && how[n]; n++)
		if (!operand_read(w, how[n], i, &i->number[n]))
			return false;
	return how;
}

static struct frame_register *register_of(struct frame_rules *r, uint64_t number)
{
	return number == REG_FP ? &r->fp : number == REG_RETURN ? &r->return_address : NULL;
}

static void register_set(struct frame_walk *w, const struct instruction *i, enum frame_saved saved,
			 uint64_t offset)
{
	struct frame_register *reg = register_of(&w->rules, i->number[0]);

	if (reg)
		*reg = (struct frame_register){ saved, (int64_t)offset };
}

static void register_restore(struct frame_walk *w, uint64_t number)
{
	const struct frame_rules *start = &w->common->rules;

	if (number == REG_FP)
		w->rules.fp = start->fp;
	else if (number == REG_RETURN)
		w->rules.return_address = start->return_address;
}

/* Returns false if it is no instruction for a register. */
static bool register_obey(struct frame_walk *w, const struct instruction *i)
{
	uint64_t offset = i->number[1] * w->common->data_factor;

	switch (i->what) {
	case DW_CFA_offset:
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		register_set(w, i, SAVED_AT_CFA, offset);
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		register_set(w, i, SAVED_AT_CFA, -offset);
		return true;
	case DW_CFA_undefined:
		register_set(w, i, SAVED_NOWHERE, 0);
		return true;
	case DW_CFA_same_value:
		register_set(w, i, SAVED_SAME, 0);
		return true;
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_val_expression:
		register_set(w, i, SAVED_ELSEWHERE, 0);
		return true;
	case DW_CFA_restore:
	case DW_CFA_restore_extended:
		register_restore(w, i->number[0]);
		return true;
	default:
		return false;
	}
}

static bool cfa_set(struct frame_rules *r, uint64_t number, uint64_t offset)
{
	r->cfa = CFA_REGISTER;
	r->cfa_register = number;
	r->cfa_offset = (int64_t)offset;
	return true;
}

/* An expression that adds a number to a register is a rule as any. */
static bool cfa_set_expression(struct frame_rules *r, const struct instruction *i)
{
	const uint8_t *at = i->block, *end = at + i->block_len;
	uint64_t number, offset;
	bool is_read;

	r->cfa = CFA_EXPRESSION;
	if (at == end)
		return false;
	number = *at++ - DW_OP_breg0;
	is_read = number == DW_OP_bregx - DW_OP_breg0 ? leb_read(&at, end, false, &number)
						      : number <= DW_OP_breg31 - DW_OP_breg0;
	if (is_read && leb_read(&at, end, true, &offset) && at == end)
		cfa_set(r, number, offset);
	return true;
}

/* Returns false if the instruction is wrong. */
static bool cfa_obey(struct frame_walk *w, const struct instruction *i)
{
	struct frame_rules *r = &w->rules;

	switch (i->what) {
	case DW_CFA_def_cfa:
		return cfa_set(r, i->number[0], i->number[1]);
	case DW_CFA_def_cfa_sf:
		return cfa_set(r, i->number[0], i->number[1] * w->common->data_factor);
	case DW_CFA_def_cfa_register:
		return r->cfa == CFA_REGISTER && cfa_set(r, i->number[0], r->cfa_offset);
	case DW_CFA_def_cfa_offset:
		return r->cfa == CFA_REGISTER && cfa_set(r, r->cfa_register, i->number[0]);
	case DW_CFA_def_cfa_offset_sf:
		return r->cfa == CFA_REGISTER &&
		       cfa_set(r, r->cfa_register, i->number[0] * w->common->data_factor);
	case DW_CFA_def_cfa_expression:
		return cfa_set_expression(r, i);
	case DW_CFA_remember_state:
		if (w->n_remembered == FRAME_REMEMBERED)
			return false;
		w->remembered[w->n_remembered++] = *r;
		return true;
	case DW_CFA_restore_state:
		if (!w->n_remembered)
			return false;
		*r = w->remembered[--w->n_remembered];
		return true;
	default:
		return i->what == DW_CFA_nop || i->what == DW_CFA_GNU_args_size;
	}
}

static bool is_advance(unsigned int what)
{
	return what == DW_CFA_advance_loc || what == DW_CFA_MIPS_advance_loc8 ||
	       (what >= DW_CFA_advance_loc1 && what <= DW_CFA_advance_loc4);
}

bool frame_walk_step(struct frame_walk *w, uint64_t *ret_bytes)
{
	struct instruction i;

	*ret_bytes = 0;
	while (w->at < w->end && !*ret_bytes) {
		if (!instruction_read(w, &i))
			return false;
		if (is_advance(i.what))
			*ret_bytes = i.number[0] * w->common->code_factor;
		else if (!register_obey(w, &i) && !cfa_obey(w, &i))
			return false;
	}
	return true;
}

/* Where no instruction says otherwise, the caller's frame pointer is in the register: the ABI has
 * all functions keep it. */
bool frame_common_read(const Dwarf_CIE *cie, struct frame_common *ret)
{
	struct frame_common c = { cie->code_alignment_factor,
				  cie->data_alignment_factor,
				  { .fp.saved = SAVED_SAME } };
	struct frame_walk w = { .common = &c,
				.at = cie->initial_instructions,
				.end = cie->initial_instructions_end,
				.rules = c.rules };
	uint64_t bytes;

	if (!frame_walk_step(&w, &bytes) || bytes)
		return false;
	c.rules = w.rules;
	*ret = c;
	return true;
}
