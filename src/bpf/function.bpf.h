/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * function.bpf.h - GLOBAL: functions that programs call, for work that is rare or dear to verify.
 * All other functions are inlined.
 *
 * The verifier walks a GLOBAL function once, on its own, and assumes nothing of its result. It
 * would walk an inlined one, and all code after it, once for each state that it cannot merge. A
 * GLOBAL function takes numbers or memory, checks the memory for NULL, and returns a number.
 *
 * Kernels that do not bear such functions (see load_open()) get the same programs with all inlined.
 */
#ifndef IOSTRATA_FUNCTION_BPF_H
#define IOSTRATA_FUNCTION_BPF_H

#include "compat.bpf.h"
#include "insn.bpf.h"

/* BIO_STEP: bios that one loop visits, out of BIO_WALK. The verifier is slow in long loops: at the
 * head it compares each round with all rounds before. So a loop's body has BIO_UNROLL rounds. */
#ifdef FUNCTIONS
#define GLOBAL __attribute__((noinline))
enum { BIO_STEP = 16 };
#else
#define GLOBAL static __always_inline
enum { BIO_STEP = BIO_WALK };
#endif
#define BIO_UNROLL 16

/*
 * Whether an operation may end in this program: not in those that only note that a layer is entered
 * or left. Before 6.8 the verifier walks each function of a program, also one that only dead code
 * calls. So the larger functions for ends begin with this.
 */
static __always_inline bool op_may_end(void)
{
	return TO_CHANGE(BLANK_ENDS);
}

#endif
