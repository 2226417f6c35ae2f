/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frame_rules.h - evaluates the call frame instructions of .eh_frame (DWARF 5, 6.4.2) for what rows
 * need: the CFA, and where the frame pointer and the return address of the caller are saved.
 *
 * libdw can do it, but begins anew at the start of the function for each place, and takes seven
 * times as long. Stacks that meet a file while its table is made have no callers.
 */
#ifndef IOSTRATA_STACKS_FRAME_RULES_H
#define IOSTRATA_STACKS_FRAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

/* Registers of x86-64 in DWARF. */
enum { REG_FP = 6, REG_SP = 7, REG_RETURN = 16 };

enum frame_cfa {
	CFA_UNKNOWN,
	CFA_REGISTER,   /* a register and an offset */
	CFA_EXPRESSION, /* anything else */
};

enum frame_saved {
	SAVED_NOWHERE, /* undefined: no caller uses it */
	SAVED_SAME,    /* in the register itself */
	SAVED_AT_CFA,  /* in memory, @offset from the CFA */
	SAVED_ELSEWHERE,
};

struct frame_register {
	enum frame_saved saved;
	int64_t offset;
};

struct frame_rules {
	enum frame_cfa cfa;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct frame_register fp, return_address;
};

/* What a common entry (CIE) says. */
struct frame_common {
	uint64_t code_factor, data_factor;
	struct frame_rules rules; /* at the start of each function */
};

/* Returns false if the entry has wrong instructions. */
bool frame_common_read(const Dwarf_CIE *cie, struct frame_common *ret);

enum { FRAME_REMEMBERED = 16 };

/* A walk through the instructions from @at to @end. */
struct frame_walk {
	const struct frame_common *common;
	const uint8_t *at, *end;
	struct frame_rules rules;
	struct frame_rules remembered[FRAME_REMEMBERED];
	unsigned int n_remembered;
};

/* Evaluates the instructions up to the next place: @w->rules hold for the next @ret_bytes of code,
 * or up to the end of the function if these are 0. Returns false if an instruction is wrong. */
bool frame_walk_step(struct frame_walk *w, uint64_t *ret_bytes);

/* Reads an unsigned number (LEB128) from @at on, and moves @at behind it. Returns false if it has
 * no end before @end. */
bool frame_number_read(const uint8_t **at, const uint8_t *end, uint64_t *ret);

#endif
