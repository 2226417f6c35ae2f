/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * said.h - keeps what is written to stderr while the screen is ours; for screen.c, which starts and
 * ends this.
 */
#ifndef IOSTRATA_SAID_H
#define IOSTRATA_SAID_H

/* Starts to keep it in memory, if stderr is a terminal. */
void said_keep(void);

/* Stops: what was kept goes where it should have gone. */
void said_give_back(void);

/* The last line that was kept, in the first 10 s that it is asked for; later "", until there is
 * another. The run wrote it, and made it safe. Valid until the next call. */
const char *said_last(void);

#endif
