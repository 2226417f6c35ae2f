/* SPDX-License-Identifier: GPL-2.0-only */
/* archive.h - a recording into an archive in a directory of its own. */
#ifndef IOSTRATA_CMD_ARCHIVE_H
#define IOSTRATA_CMD_ARCHIVE_H

#include "export/otf2.h"

/* Exports the recording @file to directory @dir, which is there. 0; 1 with @why, though there is an
 * archive; -1 with @why. */
int archive_write(const char *file, const char *dir, struct otf2_counts *counts,
		  struct reason *why);

/* Writes what came of it, for people. */
void archive_say(FILE *f, const char *dir, const struct otf2_counts *counts);

#endif
