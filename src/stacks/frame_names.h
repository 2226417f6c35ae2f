/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frame_names.h - the function, the source and the line of a place in an ELF file. For the deputy:
 * the file is hostile. All text is hostile.
 */
#ifndef IOSTRATA_STACKS_FRAME_NAMES_H
#define IOSTRATA_STACKS_FRAME_NAMES_H

#include <stdint.h>

enum {
	FRAME_TEXT = 512,
	BUILD_ID_MOST = 64,                    /* bytes */
	BUILD_ID_TEXT = 2 * BUILD_ID_MOST + 1, /* digits, and NUL */
};

struct frame_name {
	unsigned int line;         /* 0: not known */
	char function[FRAME_TEXT]; /* "": not known */
	char source[FRAME_TEXT];   /* path as the compiler had it; "": not known */
	/* for a look at a debug file later: the place as an address of the file, and the file's
	 * build id in hexadecimal digits; "": it has none */
	uint64_t address;
	char build_id[BUILD_ID_TEXT];
};

struct frame_file;

/* Opens ELF file @fd, called @path, which may not lead there. Takes @fd in any case. NULL: it is no
 * ELF file, or out of memory. */
struct frame_file *frame_file_open(int fd, const char *path);
/* Likewise, but looks for its debug file by build id in @search alone: directories, between colons.
 * The text lives as long as the file. */
struct frame_file *frame_file_open_with(int fd, const char *path, const char *search);
void frame_file_close(struct frame_file *f); /* NULL is fine */

/* Has @handler called when memory for DWARF is out. It must not return. Without this, libdw prints
 * a message, and calls exit(). */
typedef void __attribute__((noreturn)) (*no_memory_fn)(void);
void frame_files_no_memory(no_memory_fn handler);

/* Fills in the name of place @at in the file. A function that was inlined there is the function. */
void frame_file_name(struct frame_file *f, uint64_t at, struct frame_name *ret_name);

/* Likewise of @address, as of struct frame_name. */
void frame_file_name_address(struct frame_file *f, uint64_t address, struct frame_name *ret_name);

/* The build id of the file, as of struct frame_name; "" if it has none. */
void frame_file_build_id(struct frame_file *f, char ret_text[BUILD_ID_TEXT]);

#endif
