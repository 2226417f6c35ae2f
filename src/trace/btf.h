/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * btf.h - the kernel's types by name, and their ids in programs. Does not load programs.
 */
#ifndef IOSTRATA_TRACE_BTF_H
#define IOSTRATA_TRACE_BTF_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct feature;

/*
 * A filter for names, by their first three characters. The kernel has 100,000 names of types:
 * hashing each of them would take five times as long.
 */
enum { NAME_FILTER_LOG2 = 14 };

struct name_filter {
	uint8_t set[1 << NAME_FILTER_LOG2];
};

static inline uint32_t name_filter_slot(const char *name)
{
	uint32_t start = (uint8_t)name[0];

	if (name[0])
		start |= (uint32_t)(uint8_t)name[1] << 8;
	if (name[0] && name[1])
		start |= (uint32_t)(uint8_t)name[2] << 16;
	return start * 2654435761U >> (32 - NAME_FILTER_LOG2);
}

static inline void name_filter_add(struct name_filter *f, const char *name)
{
	f->set[name_filter_slot(name)] = 1;
}

static inline bool name_filter_passes(const struct name_filter *f, const char *name)
{
	return f->set[name_filter_slot(name)];
}

/*
 * Fills in the blanks of @prog: ids and addresses known only to the running kernel, see enum blank.
 * Call it before @prog is loaded. A program must not reach code whose type or function this kernel
 * lacks. A missing variable has address 0.
 */
void blanks_fill(struct bpf_program *prog, struct feature *f);

/* Names for blanks_fill() to look up, BLANKS_N of them. */
enum { BLANKS_N = 7 };
extern const char *const blank_names[BLANKS_N];

#endif
