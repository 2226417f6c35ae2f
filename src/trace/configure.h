/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configure.h - fills the programs' struct bpf_conf from the settings of a session and from the
 * properties of this kernel. Loads nothing.
 */
#ifndef IOSTRATA_TRACE_CONFIGURE_H
#define IOSTRATA_TRACE_CONFIGURE_H

#include "bpf/conf.h"

struct feature;
struct session_conf;

/* Fills @c, all 0 so far. Looks up arguments of tracepoints and offsets of members in @f. */
void configure(struct bpf_conf *c, const struct session_conf *sc, struct feature *f);

#endif
