/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * common.bpf.h - for all programs, on any kernel: the configuration, and macros to read memory.
 */
#ifndef IOSTRATA_COMMON_BPF_H
#define IOSTRATA_COMMON_BPF_H

#include "conf.h"

/* The filters. Such variables need an initializer: without one the compiler puts them in the order
 * of their first use. This order differs in the object with functions; see load_open(). */
const volatile struct filter_lists lists = {};

const volatile struct bpf_conf conf = {};
#define CONF(field) (conf.field)

/* Loops over the indexes of a list. Unrolled, these loops would be most of some programs. */
#define FOR_LISTED(i, n) _Pragma("clang loop unroll(disable)") for (u64 i = 0; i < CONF(n); i++)

/* A typed pointer is read directly, any other through a BPF helper. */
#define READ(typed, p, field) ((typed) ? (p)->field : BPF_CORE_READ(p, field))

/* Hints for the compiler: the usual branch. */
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define MINOR_BITS 20

/* bpf_get_smp_processor_id(), declared to return a u64: the compiler would truncate a u32 first. */
static u64 (*const current_cpu)(void) = (void *)8;

#endif
