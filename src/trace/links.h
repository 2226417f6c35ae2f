/* SPDX-License-Identifier: GPL-2.0-only */
/* links.h - what is attached, to be detached together. */
#ifndef IOSTRATA_LINKS_H
#define IOSTRATA_LINKS_H

#include <stdbool.h>

struct bpf_link;
struct bpf_object;
struct bpf_program;

enum { MAX_LINKS = 256, PROGRAM_NAME_LEN = 64 };

struct links {
	struct bpf_link *list[MAX_LINKS];
	int n;
};

/* Takes @link; false (and destroyed) if there is no room, false if it is NULL. */
bool links_add(struct links *l, struct bpf_link *link);

/* Both or neither: a function's entry without its return, or the other way round, is of no use. */
bool links_add_pair(struct links *l, struct bpf_link *leave, struct bpf_link *enter);

/* Detaches all, the last first. */
void links_done(struct links *l);

/* The program called @prefix@tag. */
struct bpf_program *links_program(struct bpf_object *obj, const char *prefix, const char *tag);

#endif
