/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * common.bpf.h - what all programs use, whatever the kernel: the configuration, and how to read.
 */
#ifndef IOSTRATA_COMMON_BPF_H
#define IOSTRATA_COMMON_BPF_H

#include "conf.h"

/* Whose and which I/O to trace. Such variables have an initializer, or the compiler puts them in
 * the order of their first use, which functions change; see load.c. */
const volatile struct filter_lists lists = {};

const volatile struct bpf_conf conf = {};
#define CONF(field) (conf.field)

/* Each index of one of the lists. Unrolled, the loops would be most of some programs. */
#define FOR_LISTED(i, n) _Pragma("clang loop unroll(disable)") for (u64 i = 0; i < CONF(n); i++)

/* A typed pointer is read directly, any other through a BPF helper. */
#define READ(typed, p, field) ((typed) ? (p)->field : BPF_CORE_READ(p, field))

/* Which branch is the usual one. */
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define MINOR_BITS 20

/* bpf_get_smp_processor_id(), declared as wide as it returns: a u32 would first be truncated. */
static u64 (*const current_cpu)(void) = (void *)8;

#endif
