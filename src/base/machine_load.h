/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine_load.h - how busy the machine was in an interval, as its kernel counts it: CPU time,
 * pressure (PSI), dirty pages. Recordings, JSON and pages follow from the list.
 */
#ifndef IOSTRATA_BASE_MACHINE_LOAD_H
#define IOSTRATA_BASE_MACHINE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"

/* Figures that are known together. Numbers in recordings: only appended. */
enum machine_source {
	MACHINE_CPU,
	MACHINE_CPU_PRESSURE,
	MACHINE_IO_PRESSURE,
	MACHINE_MEMORY_PRESSURE,
	MACHINE_PAGES,
};

/*
 * A row has: the name in JSON and in docs/FORMAT.md; the source; whether it is a LEVEL, bytes at
 * the end of the interval, or a SUM over it, ns; and its meaning. Rows are only appended.
 */
/* clang-format off */
#define MACHINE_LOAD_LIST(ROW)                                                                     \
	ROW(CPU_NS, cpu_ns, CPU, SUM, "time of all CPUs, idle time included")                      \
	ROW(USER_NS, user_ns, CPU, SUM, "time of all CPUs in user code, guests included")          \
	ROW(SYSTEM_NS, system_ns, CPU, SUM, "time of all CPUs in the kernel, interrupts included") \
	ROW(IOWAIT_NS, iowait_ns, CPU, SUM,                                                        \
	    "time of idle CPUs on which a thread had begun to wait for storage")                   \
	ROW(STEAL_NS, steal_ns, CPU, SUM, "time in which the hypervisor ran something else")       \
	ROW(CPU_SOME_NS, cpu_some_ns, CPU_PRESSURE, SUM,                                           \
	    "time in which a runnable thread had no CPU")                                          \
	ROW(IO_SOME_NS, io_some_ns, IO_PRESSURE, SUM, "time in which a thread waited for storage") \
	ROW(IO_FULL_NS, io_full_ns, IO_PRESSURE, SUM,                                              \
	    "time in which threads waited for storage, and no other thread ran")                   \
	ROW(MEMORY_SOME_NS, memory_some_ns, MEMORY_PRESSURE, SUM,                                  \
	    "time in which a thread waited for memory")                                            \
	ROW(MEMORY_FULL_NS, memory_full_ns, MEMORY_PRESSURE, SUM,                                  \
	    "time in which threads waited for memory, and no other thread ran")                    \
	ROW(DIRTY_BYTES, dirty_bytes, PAGES, LEVEL, "most dirty bytes in memory at a reading")     \
	ROW(WRITEBACK_BYTES, writeback_bytes, PAGES, LEVEL,                                        \
	    "most bytes under writeback at a reading")
/* clang-format on */

#define MACHINE_FIGURE(id, ...) MACHINE_##id,
enum machine_figure { MACHINE_LOAD_LIST(MACHINE_FIGURE) MACHINE_FIGURES };
#undef MACHINE_FIGURE

struct machine_load {
	uint64_t ns;    /* length of the interval; 0 if no figure of it is known */
	uint64_t known; /* set of 1 << enum machine_source */
	uint64_t figure[MACHINE_FIGURES]; /* 0 if its source is not in .known */
};

const char *machine_figure_name(unsigned int figure);

/* Whether the figure is a level: the value at the end, not a sum over the interval. */
bool machine_figure_is_level(unsigned int figure);

/* Whether @l has the figure. */
bool machine_load_knows(const struct machine_load *l, unsigned int figure);

/* Adds an interval: of levels the highest one. What is not known of one interval is not known of
 * both. */
void machine_load_add(struct machine_load *to, const struct machine_load *from);

/* The names of all figures, of the sums, which are ns, and of the levels, which are bytes; with
 * their meanings as help. */
extern const struct word_list machine_figure_words, machine_sum_words, machine_level_words;

#endif
