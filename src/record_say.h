/* SPDX-License-Identifier: GPL-2.0-only */
/* record_say.h - what record says of what it has recorded. */
#ifndef IOSTRATA_RECORD_SAY_H
#define IOSTRATA_RECORD_SAY_H

#include <stdint.h>
#include <stdio.h>

#include "event.h"

struct record_files;

/* How far it is @took_ns after its beginning; @lost: what the programs lost so far. */
void record_say_progress(FILE *f, const struct record_files *files, const uint64_t lost[LOST_N],
			 uint64_t took_ns);

/* What there is at the end, and what is not. */
void record_say_end(FILE *f, const struct record_files *files, const uint64_t lost[LOST_N]);

#endif
