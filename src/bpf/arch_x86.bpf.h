/* SPDX-License-Identifier: GPL-2.0-only */
/* arch_x86.bpf.h - x86-64 for programs; arch.bpf.h says which definitions each architecture has. */
#ifndef IOSTRATA_ARCH_X86_BPF_H
#define IOSTRATA_ARCH_X86_BPF_H

#include "conf.h"

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, bx, cx, bp, ax, orig_ax, ip, sp;
};

struct thread_info {
	u32 status;
};

struct thread_struct {
	unsigned long fsbase;
};

struct pcpu_hot___6_2 {
	int preempt_count;
};
#pragma clang attribute pop

#define O_DIRECT              00040000
#define RECORDED_FLAGS(flags) (flags)

#define COMPAT_FIELD thread_info.status
#define COMPAT_BIT   2 /* TS_COMPAT */

#define REGS_CALL(regs) ((regs)->orig_ax)
#define REGS_SP(regs)   ((regs)->sp)
#define REGS_IP(regs)   ((regs)->ip)
#define REGS_FP(regs)   ((regs)->bp)

#define THREAD_POINTER(task) ((task)->thread.fsbase)

static __always_inline u64 kprobe_arg(struct pt_regs *ctx, u32 n)
{
	return n == 0 ? ctx->di : ctx->si;
}

static __always_inline long kprobe_ret(struct pt_regs *ctx)
{
	return ctx->ax;
}

#define FAULT_ADDRESS(at) (at)

/* Only faults of user code raise the tracepoint. */
static __always_inline bool regs_are_user(struct pt_regs *regs)
{
	return true;
}

static __always_inline u64 call_arg(struct pt_regs *regs, u32 n, bool compat)
{
	switch (n) {
	case 0:
		return compat ? (u32)regs->bx : regs->di;
	case 1:
		return compat ? (u32)regs->cx : regs->si;
	case 2:
		return compat ? (u32)regs->dx : regs->dx;
	case 5:
		return compat ? (u32)regs->bp : regs->r9;
	default:
		/* only read for an offset: 32-bit calls split it in two */
		return compat ? (u32)regs->si | (u64)(u32)regs->di << 32 : regs->r10;
	}
}

static __always_inline u64 mmap_flags(struct pt_regs *regs)
{
	return regs->r10;
}

static __always_inline u32 mmap_fd(struct pt_regs *regs)
{
	return regs->r8;
}

/*
 * WHAT  the preempt count was in __preempt_count, then in pcpu_hot, then in __preempt_count again
 * WHEN  6.2, 6.15
 * DROP  never
 *
 * Without CONFIG_KALLSYMS_ALL, programs may not refer to these variables, even in code that never
 * runs. User space then loads the variants of the programs (_no_level) without a reference.
 */
#define CPU_VARIABLE(blank)                                                                        \
	({                                                                                         \
		const void *at_;                                                                   \
		asm("%0 = %1 ll" : "=r"(at_) : "i"(blank));                                        \
		at_;                                                                               \
	})

static __always_inline u32 cpu_preempt_count(void)
{
	const void *count = CPU_VARIABLE(BLANK_PREEMPT_COUNT);
	const void *hot = CPU_VARIABLE(BLANK_PCPU_HOT);

	if (count)
		return *(int *)bpf_this_cpu_ptr(count);
	if (hot)
		return ((struct pcpu_hot___6_2 *)bpf_this_cpu_ptr(hot))->preempt_count;
	return 0;
}

#endif
