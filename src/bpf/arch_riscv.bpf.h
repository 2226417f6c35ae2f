/* SPDX-License-Identifier: GPL-2.0-only */
/* arch_riscv.bpf.h - what programs need to know of riscv64; see arch.bpf.h. */
#ifndef IOSTRATA_ARCH_RISCV_BPF_H
#define IOSTRATA_ARCH_RISCV_BPF_H

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long sp, a0, a1, a2, a3, a4, a7, status, orig_a0;
};

struct thread_info {
	int preempt_count;
};
#pragma clang attribute pop

#define O_DIRECT	     00040000
#define RECORDED_FLAGS(flags) (flags)

#define PREEMPT_COUNT_FIELD thread_info.preempt_count

#define REGS_CALL(regs) ((regs)->a7)
#define REGS_SP(regs)   ((regs)->sp)

static __always_inline u64 kprobe_arg(struct pt_regs *ctx, u32 n)
{
	return n == 0 ? ctx->a0 : ctx->a1;
}

static __always_inline long kprobe_ret(struct pt_regs *ctx)
{
	return ctx->a0;
}

#define FAULT_ADDRESS(at) (at)

/* Which mode was interrupted: SR_SPP is set if it was the kernel's. */
static __always_inline bool regs_are_user(struct pt_regs *regs)
{
	return !(regs->status & 0x100);
}

/* The width of user code's registers, SR_UXL: the kernel chooses the table of calls by it. (The bit
 * TIF_32BIT is another one in newer kernels, and BTF does not tell.) */
static __always_inline bool regs_are_compat(struct pt_regs *regs)
{
	return (regs->status >> 32 & 3) == 1;
}

/* The result takes the first argument's register. */
static __always_inline u64 call_arg(struct pt_regs *regs, u32 n, bool compat)
{
	switch (n) {
	case 0:
		return compat ? (u32)regs->orig_a0 : regs->orig_a0;
	case 1:
		return compat ? (u32)regs->a1 : regs->a1;
	case 2:
		return compat ? (u32)regs->a2 : regs->a2;
	default:
		/* only used for an offset, which 32-bit calls split in two */
		return compat ? (u32)regs->a3 | (u64)(u32)regs->a4 << 32 : regs->a3;
	}
}

static __always_inline u64 mmap_flags(struct pt_regs *regs)
{
	return regs->a3;
}

static __always_inline u32 mmap_fd(struct pt_regs *regs)
{
	return regs->a4;
}

#endif
