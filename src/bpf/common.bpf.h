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

/* A setting that is an array stays in memory. */
#define CONF_AT(array, i) (conf.array[i])

/*
 * Any other setting is a blank in an instruction: with the value read from @conf it would be two.
 * Where all functions are inlined it is read: 5.10 would walk more than a million instructions of
 * on_sys_exit().
 */
#ifdef FUNCTIONS
#define CONF_BLANK(field) BLANK_CONF(__builtin_offsetof(struct bpf_conf, field), sizeof(conf.field))
#define CONF_SHORT(field)                                                                          \
	({                                                                                         \
		u32 value_;                                                                        \
		asm volatile("%0 = %1" : "=w"(value_) : "i"(CONF_BLANK(field)));                   \
		value_;                                                                            \
	})
#define CONF_LONG(field)                                                                           \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = %1 ll" : "=r"(value_) : "i"(CONF_BLANK(field)));                \
		value_;                                                                            \
	})
#define CONF(field)                                                                                \
	__builtin_choose_expr(sizeof(conf.field) == 8, CONF_LONG(field), CONF_SHORT(field))
#else
#define CONF(field) (conf.field)
#endif

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
