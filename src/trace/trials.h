/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trials.h - tries to load every program of the table, for 'doctor --probes'. Attaches nothing.
 */
#ifndef IOSTRATA_TRACE_TRIALS_H
#define IOSTRATA_TRACE_TRIALS_H

#include <stdbool.h>
#include <stddef.h>

struct feature;

struct trial {
	char program[64];
	char hook[80];   /* "tp_btf/sys_enter"; "fentry/<function>" for templates */
	size_t insns;    /* instructions before the kernel rewrites them */
	bool other;      /* this kernel uses another program for the hook */
	int err;         /* 0: it loads on this kernel; else -errno */
	const char *why; /* a better reason than err, or NULL */
};

/* Tries all programs together, then without the refused ones. Calls @fn for each row of programs[].
 * Returns 0 or -errno. */
int trials_run(void (*fn)(void *arg, const struct trial *t), void *arg, struct feature *f);

#endif
