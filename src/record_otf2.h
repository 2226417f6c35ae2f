/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_otf2.h - the option --otf2: a recording inside of the directory, which is exported there
 * when it is complete. The run gives up what it takes to write an archive, so a process of its own
 * waits for that.
 */
#ifndef IOSTRATA_RECORD_OTF2_H
#define IOSTRATA_RECORD_OTF2_H

#include "run/child.h"

struct reason;

struct record_otf2 {
	const char *dir;		/* NULL: no such option */
	char recording[256];		/* the file to be exported */
	struct helper exporter;		/* to be ended by helper_end() */
};

/* Makes the directory, sets .recording, and starts the process that is to do @work, with @o. 0, or
 * -1 with @why. */
int record_otf2_start(struct record_otf2 *o, int (*work)(void *o), struct reason *why);

#endif
