/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * insn.bpf.h - certain instructions that the programs need for the verifier. Compiled for anything
 * but BPF, as by unit tests, each is plain C with the same result.
 */
#ifndef IOSTRATA_INSN_BPF_H
#define IOSTRATA_INSN_BPF_H

#ifdef __bpf__
/* Argument @n of a tracepoint. The load must be at a fixed offset of the context, also where conf
 * chooses the argument. */
#define CTX(n)                                                                                     \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value_) : "r"(ctx), "i"((n)*8));      \
		value_;                                                                            \
	})
/* A blank: a number alone in an instruction. User space fills the number in before it loads the
 * program. See enum blank. */
#define TO_CHANGE(n)                                                                               \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = %1" : "=r"(value_) : "i"(n));                                   \
		value_;                                                                            \
	})
#define ASM(insns, ...) asm volatile(insns : __VA_ARGS__)
/* The member of type @type at @offset, a known number, in the object to which the typed pointer @p
 * points. It is 0 if @p is NULL or cannot be read. The kernel's types have a member there of this
 * size, or a larger number: else the verifier refuses the program. Not for fields of bits. A member
 * that is a pointer to a structure is a typed pointer, too. */
#define TYPED_READ(type, p, offset) (*(volatile type *)((void *)(p) + (offset)))
#else
#define CTX(n)          (ctx[n])
#define TO_CHANGE(n)    (n)
#define ASM(insns, ...) (void)0
#define TYPED_READ(type, p, offset)                                                                \
	({                                                                                         \
		type value_ = 0;                                                                   \
		bpf_probe_read_kernel(&value_, sizeof(value_), (void *)(p) + (offset));            \
		value_;                                                                            \
	})
#endif

/* @key as a number. It may be a pointer. The verifier forbids most arithmetic on pointers, but not
 * negation. */
static __always_inline u64 number(u64 key)
{
	ASM("%0 = -%0; %0 = -%0", "+r"(key));
	return key;
}

/* The low half of @key, a number for any arithmetic. */
static __always_inline u32 low_half(u64 key)
{
	u32 half = key;

	ASM("%0 = %1", "=w"(half) : "w"((u32)key));
	return half;
}

/* @v, or 0 if @v is negative, without a branch: the verifier follows both sides of each, and there
 * would be dozens in a row. */
static __always_inline u64 positive(s64 v)
{
	s64 sign = v >> 63;

	barrier_var(sign); /* else the compiler makes a branch */
	return v & ~sign;
}

#endif
