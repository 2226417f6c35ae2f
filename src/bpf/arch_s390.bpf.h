/* SPDX-License-Identifier: GPL-2.0-only */
/* arch_s390.bpf.h - what programs need to know of s390x; see arch.bpf.h. */
#ifndef IOSTRATA_ARCH_S390_BPF_H
#define IOSTRATA_ARCH_S390_BPF_H

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
	unsigned long mask, addr;
} psw_t;

struct pt_regs {
	psw_t psw;
	unsigned long gprs[16];
	unsigned long orig_gpr2;
	unsigned int int_code;
};

struct thread_info {
	unsigned long flags;
};
#pragma clang attribute pop

#define O_DIRECT	     00040000
#define RECORDED_FLAGS(flags) (flags)

#define REGS_CALL(regs) ((regs)->int_code & 0xffff)
#define REGS_SP(regs)   ((regs)->gprs[15])

static __always_inline u64 kprobe_arg(struct pt_regs *ctx, u32 n)
{
	return n == 0 ? ctx->gprs[2] : ctx->gprs[3];
}

static __always_inline long kprobe_ret(struct pt_regs *ctx)
{
	return ctx->gprs[2];
}

#define FAULT_ADDRESS(at) (at)

/* PSW_MASK_PSTATE: the problem state, as it is called there. */
static __always_inline bool regs_are_user(struct pt_regs *regs)
{
	return regs->psw.mask & 1UL << 48;
}

/* Addresses have 31 bits without PSW_MASK_EA. (The bit TIF_31BIT is another one in newer kernels,
 * and BTF does not tell.) */
static __always_inline bool regs_are_compat(struct pt_regs *regs)
{
	return !(regs->psw.mask & 1UL << 32);
}

/* The result takes the first argument's register. */
static __always_inline u64 call_arg(struct pt_regs *regs, u32 n, bool compat)
{
	switch (n) {
	case 0:
		return compat ? (u32)regs->orig_gpr2 : regs->orig_gpr2;
	case 1:
		return compat ? (u32)regs->gprs[3] : regs->gprs[3];
	case 2:
		return compat ? (u32)regs->gprs[4] : regs->gprs[4];
	default:
		/* only used for an offset, which 31-bit calls split in two, the high half first */
		return compat ? (u32)regs->gprs[6] | (u64)(u32)regs->gprs[5] << 32 : regs->gprs[5];
	}
}

/* The one argument of this call is where all of them are. */
static __always_inline u64 mmap_arg(struct pt_regs *regs, u32 n)
{
	u64 arg = 0;

	bpf_probe_read_user(&arg, sizeof(arg), (u64 *)regs->orig_gpr2 + n);
	return arg;
}

static __always_inline u64 mmap_flags(struct pt_regs *regs)
{
	return mmap_arg(regs, 3);
}

static __always_inline u32 mmap_fd(struct pt_regs *regs)
{
	return mmap_arg(regs, 4);
}

/* It is in the lowcore, at an address that programs cannot read: feature.c finds that it is not
 * known. */
static __always_inline u32 cpu_preempt_count(void)
{
	return 0;
}

#endif
