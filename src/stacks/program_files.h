/* SPDX-License-Identifier: GPL-2.0-only */
/* program_files.h - the files that a program will map: for tables before the program begins. */
#ifndef IOSTRATA_STACKS_PROGRAM_FILES_H
#define IOSTRATA_STACKS_PROGRAM_FILES_H

#include <stdbool.h>

/* Closes @fd. @path is absolute, in the root directory of the program. Returns false: no further.
 */
typedef bool program_file_fn(void *arg, int fd, const char *path);

/*
 * Calls @fn for each file that @program maps when it starts: the program, its interpreter, and
 * their libraries, found as the dynamic linker finds them. The C library of most programs is the
 * last. Each path comes once, and leads to a regular file. Nothing is executed. Libraries that a
 * program loads later are not among them.
 *
 * @program: a command, as execvp(3) finds it, or NULL: only the C library.
 * @root: "", or the root directory of the program, in which all paths are looked up.
 */
void program_files_each(const char *program, const char *root, program_file_fn *fn, void *arg);

#endif
