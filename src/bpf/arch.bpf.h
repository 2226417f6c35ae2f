/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arch.bpf.h - the differences between architectures, a file for each. (For user space:
 * base/machine.h and trace/calls_*.h.) Each file defines:
 *
 *   struct pt_regs, struct thread_info	the fields that programs read
 *   O_DIRECT
 *   RECORDED_FLAGS(flags)	flags of an open file, as in asm-generic/fcntl.h, for recordings
 *   COMPAT_FIELD, COMPAT_BIT	in task_struct: whether a thread's call is a 32-bit one
 *   or regs_are_compat()	the same, from the registers of the call
 *   PREEMPT_COUNT_FIELD or cpu_preempt_count()	the preempt count of the thread, or of the CPU
 *   REGS_CALL(regs), call_arg()	number and arguments of a system call
 *   mmap_flags(), mmap_fd()	arguments of a 64-bit mmap(), from its registers
 *   kprobe_arg(), kprobe_ret()	the first two arguments, and the result, of a function
 *   REGS_SP(regs)	the stack pointer
 *   REGS_IP(regs), REGS_FP(regs)	the instruction and the frame pointer
 *   THREAD_POINTER(task)	where the running @task has its data, or 0 if it cannot be read
 *   FAULT_ADDRESS(), regs_are_user()	the address of a page fault; whether user code raised it
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
