/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trials.h - tries every program of the table, for 'doctor --probes'.
 */
#ifndef IOSTRATA_TRIALS_H
#define IOSTRATA_TRIALS_H

#include <stdbool.h>
#include <stddef.h>

struct feature;

struct trial {
	char program[64];
	char hook[80];   /* "tp_btf/sys_enter"; "fentry/<function>" for templates */
	size_t insns;    /* before the kernel's rewriting */
	bool other;      /* this kernel uses another program for the hook */
	int err;         /* 0: it loads here; else why not (-errno) */
	const char *why; /* a better reason than err's, or NULL */
};

/* Tries all together, then without those that the kernel refused. 0 or -errno. */
int trials_run(void (*fn)(void *arg, const struct trial *t), void *arg, struct feature *f);

#endif
