/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arch.bpf.h - what differs between architectures, a file for each (base/machine.h and
 * trace/calls_... are the same for user space):
 *
 *   struct pt_regs, struct thread_info	the fields that are used
 *   O_DIRECT
 *   RECORDED_FLAGS(flags)	of an open file: as in asm-generic/fcntl.h, which recordings have
 *   COMPAT_FIELD, COMPAT_BIT	of a thread: whether its call is a 32-bit one
 *   or regs_are_compat()	the same, of the call's registers
 *   PREEMPT_COUNT_FIELD or cpu_preempt_count()	of the thread, or of the CPU
 *   REGS_CALL(regs), call_arg()	number and arguments of a system call
 *   mmap_flags(), mmap_fd()	of a 64-bit mmap(), from the same registers
 *   kprobe_arg(), kprobe_ret()	the first two arguments, and the result, of a function
 *   REGS_SP(regs)	the stack pointer
 *   FAULT_ADDRESS(), regs_are_user()	of a page fault: where, and whether it is one of user code
 */
#ifndef IOSTRATA_ARCH_BPF_H
#define IOSTRATA_ARCH_BPF_H

#if defined(__TARGET_ARCH_x86)
#include "arch_x86.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "arch_arm64.bpf.h"
#else
#error "no arch_....bpf.h for this architecture"
#endif

#endif
