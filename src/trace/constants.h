/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * constants.h - the configuration, written into the instructions of a program (bpf/conf.h).
 */
#ifndef IOSTRATA_CONSTANTS_H
#define IOSTRATA_CONSTANTS_H

#include <stddef.h>

struct bpf_insn;
struct bpf_program;
struct conf;

/* Puts the numbers of @conf where @prog, not loaded yet, names them. 0, -ENOMEM, or -EINVAL: it
 * names what is no number of struct conf. */
int constants_write(struct bpf_program *prog, const struct conf *conf);

/* The same in @n instructions; 0 or -EINVAL. */
int constants_fill(struct bpf_insn *insns, size_t n, const struct conf *conf);

#endif
