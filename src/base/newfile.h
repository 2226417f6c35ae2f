/* SPDX-License-Identifier: GPL-2.0-only */
/* newfile.h - creates an output file: it must not exist yet, and only its user can access it. */
#ifndef IOSTRATA_NEWFILE_H
#define IOSTRATA_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct reason;

/*
 * Creates @path, mode 0600; under sudo it belongs to the user who called sudo. An existing file is
 * not touched, and no link is followed. The caller closes the stream; NULL with @why.
 */
FILE *newfile_open(const char *path, struct reason *why);

/* Whether @path, which was given for output or is NULL, means the standard output. */
bool newfile_is_standard(const char *path);

/* Where output goes: @standard, or else newfile_open(). */
FILE *newfile_output(const char *path, FILE *standard, struct reason *why);

/* Closes @f, if it was created as @path. If it is to be given up and nothing was written, removes
 * it, so that the next try can create it. */
void newfile_close(FILE *f, const char *path, bool give_up);

#endif
