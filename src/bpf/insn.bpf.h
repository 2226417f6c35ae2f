/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * insn.bpf.h - where the programs need certain instructions, for the verifier's sake. Compiled for
 * anything but BPF, as unit tests do, each is what it computes.
 */
#ifndef IOSTRATA_INSN_BPF_H
#define IOSTRATA_INSN_BPF_H

#ifdef __bpf__
/* Argument @n of a tracepoint: where a constant chooses it, the load must still be at a fixed
 * offset of the context. */
#define CTX(n)                                                                                     \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value_) : "r"(ctx), "i"((n)*8));      \
		value_;                                                                            \
	})
/* A number in an instruction of its own, which the tool changes before it loads the program. */
#define TO_CHANGE(n)                                                                               \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = %1" : "=r"(value_) : "i"(n));                                   \
		value_;                                                                            \
	})
#define ASM(insns, ...) asm volatile(insns : __VA_ARGS__)
#else
#define CTX(n)          (ctx[n])
#define TO_CHANGE(n)    (n)
#define ASM(insns, ...) (void)0
#endif

/* What may be a pointer, as a number: the verifier forbids most arithmetic on it, but not this. */
static __always_inline u64 number(u64 key)
{
	ASM("%0 = -%0; %0 = -%0", "+r"(key));
	return key;
}

/* Its low half, which a program may do any arithmetic on. */
static __always_inline u32 low_half(u64 key)
{
	u32 half = key;

	ASM("%0 = %1", "=w"(half) : "w"((u32)key));
	return half;
}

/* @v, or 0 if it is negative. By arithmetic: the verifier follows both sides of each branch, and
 * there would be dozens in a row. */
static __always_inline u64 positive(s64 v)
{
	s64 sign = v >> 63;

	barrier_var(sign); /* the compiler would make a branch of it */
	return v & ~sign;
}

#endif
