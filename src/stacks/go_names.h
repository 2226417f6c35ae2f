/* SPDX-License-Identifier: GPL-2.0-only */
/* go_names.h - names of functions from .gopclntab, which programs in Go have even when they are
 * stripped (Go 1.18 or later). */
#ifndef IOSTRATA_STACKS_GO_NAMES_H
#define IOSTRATA_STACKS_GO_NAMES_H

#include <gelf.h>

/* The name of the function with the code at @address, or NULL. It stays the file's, which is
 * hostile. A function that was inlined is part of the other. */
const char *go_name(Elf *elf, GElf_Addr address);

#endif
