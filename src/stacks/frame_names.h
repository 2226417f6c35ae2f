/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frame_names.h - the function, the source and the line of a place in an ELF file. For the deputy:
 * the file is hostile. All text is hostile.
 */
#ifndef IOSTRATA_STACKS_FRAME_NAMES_H
#define IOSTRATA_STACKS_FRAME_NAMES_H

#include <stdint.h>

enum { FRAME_TEXT = 512 };

struct frame_name {
	unsigned int line;         /* 0: not known */
	char function[FRAME_TEXT]; /* "": not known */
	char source[FRAME_TEXT];   /* path as the compiler had it; "": not known */
};

struct frame_file;

/* Opens ELF file @fd, called @path, which may not lead there. Takes @fd in any case. NULL: it is no
 * ELF file, or out of memory. */
struct frame_file *frame_file_open(int fd, const char *path);
void frame_file_close(struct frame_file *f); /* NULL is fine */

/* Fills in the name of place @at in the file. A function that was inlined there is the function. */
void frame_file_name(struct frame_file *f, uint64_t at, struct frame_name *ret_name);

#endif
