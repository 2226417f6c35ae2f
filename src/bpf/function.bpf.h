/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * function.bpf.h - functions that the programs call: for what is rare, or dear to verify. All else
 * is inlined.
 *
 * The verifier walks a GLOBAL function once by itself, and knows nothing of its result afterwards.
 * Inlined, it would walk it, and what comes after it, once for each state that it cannot merge. A
 * GLOBAL function takes numbers, or memory that is only read, and returns a number.
 *
 * A kernel that does not bear functions (see load.c) gets the same programs with all inlined.
 */
#ifndef IOSTRATA_FUNCTION_BPF_H
#define IOSTRATA_FUNCTION_BPF_H

#include "compat.bpf.h"
#include "insn.bpf.h"

/* Bios in a loop, of BIO_WALK. The verifier is slow in long loops: at its head it compares each
 * round with all before; so the body of one is BIO_UNROLL rounds. */
#ifdef FUNCTIONS
#define GLOBAL __attribute__((noinline))
enum { BIO_STEP = 16 };
#else
#define GLOBAL static __always_inline
enum { BIO_STEP = BIO_WALK };
#endif
#define BIO_UNROLL 16

#endif
