/* SPDX-License-Identifier: GPL-2.0-only */
/* processes.h - the processes of the machine and their descent, as /proc shows them. */
#ifndef IOSTRATA_HOST_PROCESSES_H
#define IOSTRATA_HOST_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct process {
	unsigned int pid, parent; /* parent 0: none, or outside of this pid namespace */
	uint64_t began_ticks;     /* start after boot, as in /proc/PID/stat: in ticks of clock(3) */
	bool had_children;        /* some of its children have ended, and were waited for */
};

struct processes {
	struct process *list; /* by pid */
	size_t n;
};

/* Reads all processes of the tool's pid namespace. The caller frees them. Returns 0 or -errno. */
int processes_read(struct processes *ret_all);
void processes_free(struct processes *p);

/*
 * The descendants of the processes @roots, in @all: their children, the children of these and so
 * on. The roots are no descendants, even of one another. Returns 0 with @ret_below, freed by the
 * caller, or -ENOMEM.
 */
int processes_below(const struct processes *all, const unsigned int *roots, unsigned int n_roots,
		    struct processes *ret_below);

/*
 * The command line of process @pid: its arguments as a shell takes them, with blanks between them.
 * A title stays as it is. After PROCESS_COMMAND bytes, "..." follows. Hostile. The caller frees it.
 * Returns NULL if the process is gone, has none (kernel threads), command lines are hidden, or
 * memory is out.
 */
enum { PROCESS_COMMAND = 1024 };
char *process_command(unsigned int pid);

/* The same for the @len bytes of /proc/PID/cmdline at @text. A NUL follows them. */
char *process_command_text(const char *text, size_t len);

/* Whether command lines are hidden, because they may hold secrets: the environment has the variable
 * PROCESS_HIDES_COMMANDS. If so, neither /proc, an exec nor a recording tells any. */
#define PROCESS_HIDES_COMMANDS "IOSTRATA_NO_COMMANDS"
bool process_hides_commands(void);

/* Whether @command is a title that the process gave itself: one word of the command line with a
 * colon and a blank, as in "postgres: checkpointer". Programs agree on that. Titles are shown up to
 * PROCESS_TITLE bytes, with their NUL. */
enum { PROCESS_TITLE = 32 };
bool process_is_titled(const char *command);

/* @command from the name of its program on, without the directory. */
const char *process_command_short(const char *command);

/* Sets @ret_comm to the name of thread @tid of process @pid; "" if it is gone. Hostile. */
void process_thread_name(unsigned int pid, unsigned int tid, char ret_comm[COMM_LEN]);

#endif
