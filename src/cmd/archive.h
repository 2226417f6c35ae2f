/* SPDX-License-Identifier: GPL-2.0-only */
/* archive.h - turns a recording into an OTF2 archive: for the commands export and record. */
#ifndef IOSTRATA_CMD_ARCHIVE_H
#define IOSTRATA_CMD_ARCHIVE_H

#include "export/otf2.h"

/* Exports the recording @file to the existing directory @dir. 0; 1 with @why: the archive is
 * incomplete; -1 with @why: there is no archive. */
int archive_write(const char *file, const char *dir, struct otf2_counts *counts,
		  struct reason *why);

/* Prints the counts of the archive in @dir, for people. */
void archive_say(FILE *f, const char *dir, const struct otf2_counts *counts);

#endif
