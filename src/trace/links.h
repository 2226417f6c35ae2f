/* SPDX-License-Identifier: GPL-2.0-only */
/* links.h - the attached programs, to be detached together. */
#ifndef IOSTRATA_LINKS_H
#define IOSTRATA_LINKS_H

#include <stdbool.h>

struct bpf_link;

enum { MAX_LINKS = 256 };

struct links {
	struct bpf_link *list[MAX_LINKS];
	int n;
};

/* Takes @link; false if there is no room (@link is destroyed then) or if it is NULL. */
bool links_add(struct links *l, struct bpf_link *link);

/* Adds both or neither: a function's entry without its return, or the reverse, is useless. */
bool links_add_pair(struct links *l, struct bpf_link *leave, struct bpf_link *enter);

/* Detaches all, last first. */
void links_done(struct links *l);

/*
 * Hits that kprobes and kretprobes missed since they were attached: a kretprobe has as many
 * instances as the machine has CPUs (ten at least), and each thread inside the function needs one.
 * 0 before 6.7, which does not report them.
 */
unsigned long long links_missed(const struct links *l);

#endif
