/* SPDX-License-Identifier: GPL-2.0-only */
/* export_dir.h - a recording into an archive in a directory of its own. */
#ifndef IOSTRATA_CMD_EXPORT_DIR_H
#define IOSTRATA_CMD_EXPORT_DIR_H

#include "export/otf2.h"

/* Exports the recording @file to directory @dir, which is there. 0; 1 with @why, though there is an
 * archive; -1 with @why. */
int export_dir(const char *file, const char *dir, struct otf2_counts *counts, struct reason *why);

/* Writes what came of it, for people. */
void export_dir_say(FILE *f, const char *dir, const struct otf2_counts *counts);

#endif
