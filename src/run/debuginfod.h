/* SPDX-License-Identifier: GPL-2.0-only */
/* debuginfod.h - debug files from the servers of $DEBUGINFOD_URLS. elfutils' debuginfod-find(1)
 * asks them, and keeps the files in its cache. */
#ifndef IOSTRATA_RUN_DEBUGINFOD_H
#define IOSTRATA_RUN_DEBUGINFOD_H

struct caller;
struct reason;

/* Returns 0, or -1 with @why if no server is named, or the program is missing. */
int debuginfod_check(struct reason *why);

/* Fetches the debug file with @build_id (hexadecimal digits), as the user @c. Waits as long as
 * $DEBUGINFOD_TIMEOUT says. Returns its path, for free(), or NULL. The file is hostile. */
char *debuginfod_fetch(const struct caller *c, const char *build_id);

#endif
