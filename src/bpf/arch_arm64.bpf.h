/* SPDX-License-Identifier: GPL-2.0-only */
/* arch_arm64.bpf.h - arm64 for programs; arch.bpf.h says which definitions each architecture has.
 */
#ifndef IOSTRATA_ARCH_ARM64_BPF_H
#define IOSTRATA_ARCH_ARM64_BPF_H

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
	u64 orig_x0;
	int syscallno;
};

struct thread_info {
	unsigned long flags;
	u64 preempt_count; /* the low half; the high half is need_resched */
};
struct thread_struct {
	unsigned long fault_address;
};
#pragma clang attribute pop

/* O_DIRECT and O_LARGEFILE are two bits above those of asm-generic/fcntl.h. */
#define O_DIRECT              00200000
#define RECORDED_FLAGS(flags) (((flags)&037777) | ((flags)&0600000) >> 2)

#define COMPAT_FIELD thread_info.flags
#define COMPAT_BIT   (1UL << 22) /* TIF_32BIT */

#define PREEMPT_COUNT_FIELD thread_info.preempt_count

#define REGS_CALL(regs) ((regs)->syscallno)
#define REGS_SP(regs)   ((regs)->sp)
#define REGS_IP(regs)   ((regs)->pc)
#define REGS_FP(regs)   ((regs)->regs[29])

/* In a register of the CPU while the thread runs: programs cannot read it. */
#define THREAD_POINTER(task) 0

static __always_inline u64 kprobe_arg(struct pt_regs *ctx, u32 n)
{
	return n == 0 ? ctx->regs[0] : ctx->regs[1];
}

static __always_inline long kprobe_ret(struct pt_regs *ctx)
{
	return ctx->regs[0];
}

/* The highest byte of an address is a tag, of any value. */
#define FAULT_ADDRESS(at) ((at) << 8 >> 8)

/* User code runs at exception level 0, with 64 or 32 bits. */
static __always_inline bool regs_are_user(struct pt_regs *regs)
{
	return !(regs->pstate & 0xf);
}

/* The result is in the register of the first argument. */
static __always_inline u64 call_arg(struct pt_regs *regs, u32 n, bool compat)
{
	switch (n) {
	case 0:
		return compat ? (u32)regs->orig_x0 : regs->orig_x0;
	case 1:
		return compat ? (u32)regs->regs[1] : regs->regs[1];
	case 2:
		return compat ? (u32)regs->regs[2] : regs->regs[2];
	case 4: /* the offset of a vector, whose halves begin in any register */
		return compat ? (u32)regs->regs[3] | (u64)(u32)regs->regs[4] << 32 : regs->regs[3];
	case 5:
		return compat ? (u32)regs->regs[5] : regs->regs[5];
	default:
		/* only used for an offset: 32-bit calls split it in two, and its halves begin in an
		 * even register */
		return compat ? (u32)regs->regs[4] | (u64)(u32)regs->regs[5] << 32 : regs->regs[3];
	}
}

static __always_inline u64 mmap_flags(struct pt_regs *regs)
{
	return regs->regs[3];
}

static __always_inline u32 mmap_fd(struct pt_regs *regs)
{
	return regs->regs[4];
}

#endif
