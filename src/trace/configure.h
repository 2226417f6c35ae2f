/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configure.h - fills the programs' struct bpf_conf from the command's options and this kernel's
 * properties. Loads nothing.
 */
#ifndef IOSTRATA_CONFIGURE_H
#define IOSTRATA_CONFIGURE_H

#include "bpf/conf.h"

struct feature;
struct session_conf;

/* Looks up the arguments of tracepoints in @f. */
void configure(struct bpf_conf *c, const struct session_conf *sc, struct feature *f);

#endif
