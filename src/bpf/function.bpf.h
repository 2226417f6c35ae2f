/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * function.bpf.h - GLOBAL: functions which programs call, for work that is rare or dear to verify.
 * All other functions are inlined.
 *
 * The verifier walks a GLOBAL function once, on its own, and assumes nothing of its result. It
 * would walk an inlined one, and all code after it, once for each state which it cannot merge. A
 * GLOBAL function takes numbers or memory, which it checks for NULL, and returns a number.
 *
 * Kernels which do not bear such functions (see load_open()) get the same programs with all
 * inlined.
 */
#ifndef IOSTRATA_FUNCTION_BPF_H
#define IOSTRATA_FUNCTION_BPF_H

#include "compat.bpf.h"
#include "insn.bpf.h"

/* BIO_STEP: bios which one loop visits, of BIO_WALK. The verifier is slow in long loops: at the
 * head it compares each round with all rounds before. So a loop's body has BIO_UNROLL rounds. */
#ifdef FUNCTIONS
#define GLOBAL __attribute__((noinline))
enum { BIO_STEP = 16 };
#else
#define GLOBAL static __always_inline
enum { BIO_STEP = BIO_WALK };
#endif
#define BIO_UNROLL 16

#endif
