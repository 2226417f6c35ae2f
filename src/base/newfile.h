/* SPDX-License-Identifier: GPL-2.0-only */
/* newfile.h - creates an output file: it must not exist yet, and only its user can access it. */
#ifndef IOSTRATA_NEWFILE_H
#define IOSTRATA_NEWFILE_H

#include <stdio.h>

struct reason;

/*
 * Creates @path, mode 0600; under sudo it belongs to the user who called sudo. An existing file is
 * not touched, and no link is followed. The caller closes the stream; NULL with @why.
 */
FILE *newfile_open(const char *path, struct reason *why);

#endif
