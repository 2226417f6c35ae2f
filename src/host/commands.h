/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * commands.h - the command lines of processes, looked up once an interval. A process that has ended
 * keeps the command line of its last look-up, unless its name is another since then. In that case
 * it executed another program, or another process has its id. A process that ended before it was
 * looked up has that of its exec, if somebody told it.
 */
#ifndef IOSTRATA_HOST_COMMANDS_H
#define IOSTRATA_HOST_COMMANDS_H

#include <uthash.h>

#include "host/processes.h"

/* The last exec of a process. */
struct command_executed {
	unsigned int pid;
	char comm[COMM_LEN]; /* its name since then */
	char *line;
	UT_hash_handle hh;
};

enum { COMMANDS_EXECUTED = 1 << 12 }; /* so many are remembered */

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
	struct command_executed *executed; /* private: by pid, the oldest first */
};

/* Begins an interval, in which each process is looked up anew. Forgets processes that were in
 * neither of the last two. */
void commands_begin(struct commands *c);

/* The command of process @pid, whose first thread has the name @comm, or NULL if out of memory.
 * Valid until the next interval. */
const struct command *commands_find(struct commands *c, unsigned int pid,
				    const char comm[COMM_LEN]);

/* Process @pid has executed a program, and has the name @comm since: @len bytes of arguments at
 * @text, each ending with a NUL; at most PROCESS_COMMAND. Hostile. Without memory, nothing is
 * remembered. */
void commands_execute(struct commands *c, unsigned int pid, const char comm[COMM_LEN],
		      const char *text, size_t len);

/* The command line of process @pid: as it is now or, if the process has ended, as at its last exec.
 * @comm: the name of its first thread, for this exec; NULL: any. The caller frees it. Returns NULL
 * if it is not known. */
char *commands_line(struct commands *c, unsigned int pid, const char *comm);

void commands_done(struct commands *c);

#endif
