/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * commands.h - the command lines of processes, looked up once an interval. A process that
 * has ended keeps that of its last look-up, unless it has another name since: it executed another
 * program then, or another process has its id.
 */
#ifndef IOSTRATA_HOST_COMMANDS_H
#define IOSTRATA_HOST_COMMANDS_H

#include <uthash.h>

#include "host/processes.h"

struct command {
	unsigned int pid;
	unsigned int round;  /* private: of the last look-up */
	char *line;          /* NULL: it has none, or is gone */
	char comm[COMM_LEN]; /* private: the name of the process at that time */
	UT_hash_handle hh;
};

/* All 0 at first. */
struct commands {
	struct command *by_pid;
	unsigned int round;
};

/* Begins an interval, in which each process is looked up anew. Forgets processes that were in
 * neither of the last two. */
void commands_begin(struct commands *c);

/* The command of process @pid, whose first thread has the name @comm, or NULL if out of memory.
 * Valid until the next interval. */
const struct command *commands_find(struct commands *c, unsigned int pid,
				    const char comm[COMM_LEN]);

void commands_done(struct commands *c);

#endif
