/* SPDX-License-Identifier: GPL-2.0-only */
/* blanks.h - puts what only the running kernel knows where programs have blanks for it; see enum
 * blank. */
#ifndef IOSTRATA_BLANKS_H
#define IOSTRATA_BLANKS_H

struct bpf_program;
struct feature;

/* Before @prog is loaded. What this kernel does not have must then be in code that is never
 * reached, but for variables, whose address is 0. */
void blanks_fill(struct bpf_program *prog, struct feature *f);

/* The names to be looked up for that, BLANKS_N of them. */
enum { BLANKS_N = 7 };
extern const char *const blank_names[BLANKS_N];

#endif
