/* SPDX-License-Identifier: GPL-2.0-only */
/* replay_names.h - the keys of the rows of a replay, and the names of the keys. */
#ifndef IOSTRATA_REPLAY_NAMES_H
#define IOSTRATA_REPLAY_NAMES_H

#include "capture/replay.h"

/* Sets the key for thread @t and file @f; @by must be all 0. */
void row_key_set(unsigned long long by[2], enum by_key what, const struct catalog_thread *t,
		 const struct catalog_file *f);

/* The text of a key; for free(). NULL: out of memory, no key, or a file: files are named once all
 * names are known. */
char *row_key_text(const struct recording *rec, enum by_key what, const unsigned long long by[2]);

/* The name of a disk, or "major:minor". For free(); NULL: out of memory. */
char *device_text(const struct recording *rec, uint64_t dev);

/* Names the rows of processes or threads. */
void replay_name_tasks(struct replay *r, const struct catalog *c);

#endif
