/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stack_deputy.h - a process that reads mapped files of other processes for the tool, which has
 * dropped its privileges: makes the tables to unwind by, and names frames at the end.
 *
 * It is forked while the tool still has its privileges. It keeps no more than the capabilities to
 * find and read the mapped files of all processes, and can neither write a file nor start a program
 * nor open a socket. What it sends back comes from hostile files.
 */
#ifndef IOSTRATA_RUN_STACK_DEPUTY_H
#define IOSTRATA_RUN_STACK_DEPUTY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "event.h"
#include "stacks/frame_names.h"
#include "stacks/process_frames.h"

struct stack_deputy {
	pid_t pid; /* 0: it has ended */
	int fd;
	bool begun; /* all tables of the begin have come */
	/* after its end */
	bool had_no_memory, was_slow;
	char *got; /* the beginning of an answer, got_n bytes */
	size_t got_n, got_cap;
};

/* How a file could be read. */
enum stack_file_state {
	STACK_FILE_READ,
	STACK_FILE_GONE,    /* the process, or its mapping, is gone: another may be asked */
	STACK_FILE_REFUSED, /* no permission, or no ELF file: there are no rows and no names */
};

/* The table of a file. @number is also for names. */
struct stack_table {
	struct unwind_key key;
	unsigned int number; /* 0: not read */
	enum stack_file_state state;
	char path[FRAME_TEXT]; /* as its process sees it; hostile */
	struct unwind_python python;
	const struct unwind_row *rows;
	size_t n;
};

/* Files whose tables the deputy makes before a stack meets them: those of running processes, of a
 * command, and the C library. */
struct stack_begin {
	const unsigned int *pids;
	unsigned int n_pids;
	const char *command; /* NULL: none */
};

/* Forks it. Returns 0 or -errno. */
int stack_deputy_start(struct stack_deputy *d, const struct stack_begin *b);
void stack_deputy_end(struct stack_deputy *d);

/* Waits for the tables of the begin, but not for a file that is slow to read. Returns as
 * stack_deputy_tables(). */
typedef void stack_table_fn(void *arg, const struct stack_table *t);
int stack_deputy_wait_begin(struct stack_deputy *d, stack_table_fn *fn, void *arg);

/* Asks for the table of a file. Returns 0 or -errno; -EAGAIN: too many questions have no answer
 * yet. */
int stack_deputy_ask(struct stack_deputy *d, const struct sent_stack_file *file);

/* Has frame @number of a process noted, for stack_deputy_name(). Returns as stack_deputy_ask(). */
int stack_deputy_note(struct stack_deputy *d, unsigned int number,
		      const struct process_frame *frame);

/* Calls @fn for each table that has come. Does not wait. Returns 0 or -errno; then the deputy has
 * ended. */
int stack_deputy_tables(struct stack_deputy *d, stack_table_fn *fn, void *arg);

/* Names a frame of a file with a number. Waits for the answer, and hands tables that come before to
 * @fn. Returns 0 or -errno; then the deputy has ended. */
int stack_deputy_name(struct stack_deputy *d, unsigned long long frame, struct frame_name *ret_name,
		      stack_table_fn *fn, void *arg);

#endif
