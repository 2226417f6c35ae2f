/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.h - runs every command that traces: shared options, signals, the command after "--",
 * processes that end, duration and intervals, messages, exit codes.
 *
 * A command that traces has a struct for its options and its state, whose first member is a struct
 * run; option tables that end with RUN_GROUPS, and run_args or arguments of its own; and a struct
 * run_ops. It decides what is traced and how it is shown; the rest is here.
 */
#ifndef IOSTRATA_RUN_RUN_H
#define IOSTRATA_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "run/child.h"
#include "run/cli.h"
#include "run/filters.h"
#include "trace/session.h"

struct reason;
struct run;

/* What a command traces if it has no session; called in place of one. */
struct run_source {
	/* All probes are live on return. Signals are only noted meanwhile: what takes long looks
	 * at run_interrupted(). 0, or -1 with @why. */
	int (*open)(struct run *r, struct reason *why);
	/* Periodic work, called at least every second. */
	void (*tick)(struct run *r);
	/* Prints what was seen since the last call. With opts.strict, any loss sets run->exit to
	 * EXIT_INCOMPLETE. 0, or -1 with @why. */
	int (*report)(struct run *r, struct reason *why);
	/* Called even if it was never opened. */
	void (*close)(struct run *r);
};

/* Each may be NULL except the last, which is not called if there is a source. */
struct run_ops {
	const struct run_source *source;
	/* Translates the options: adds to run->conf, which has the filters. 0, 1: all is done,
	 * nothing to trace; or -1 with @why. */
	int (*resolve)(struct run *r, struct reason *why);
	/* The probes are live; nothing is printed and no privilege given up yet. Files to be
	 * written are opened here. 0, or -1 with @why. */
	int (*start)(struct run *r, struct reason *why);
	/* Called at least every second, and for each key. True: the run is over. */
	bool (*tick)(struct run *r);
	/* An interval or the run is over: prints it. It may take what @sn has and leave @sn empty.
	 * 0 or -errno of a failed write. */
	int (*report)(struct run *r, struct snapshot *sn);
};

/* The options given. */
struct run_opts {
	struct filters filters;
	uint64_t duration_ns, interval_ns, count; /* 0: not given */
	bool json, strict, overhead;
};

struct run {
	struct run_opts opts;
	struct session_conf conf;
	struct session *session;
	char looked_for[FILTERS_TEXT]; /* the filters as text; hostile */
	char of_ops[64];               /* those that do not choose requests: "--op, --min" */
	char **command;                /* the command to run and trace; NULL: none */
	bool own_stdout;               /* output goes elsewhere, so stdout is the command's; set by
					* .resolve */
	bool stdout_taken;             /* by output that is not for people; set by .resolve */
	bool usr1_ends;                /* SIGUSR1 ends the run, too, but not a command; set by
					* .resolve */
	uint64_t tick_ns;              /* how often .tick is called at least, if not every half
					* second */
	int exit;                      /* exit code of the run, unless it fails */
	char **rest;                   /* arguments of a list, inside argv */
	int n_rest;
	bool keyboard; /* the run waits for keys on stdin; set by start() */
	/* private to run.c */
	const struct run_ops *ops;
	bool no_reader; /* the output's pipe was closed */
	struct child child;
	int pidfds[MAX_PIDS], n_pidfds; /* of --pid; those that have not ended */
	int answered;                   /* signals already handled */
};

extern const struct opt scope_opts[]; /* what else counts, over struct run */
extern const struct opt run_opts[];   /* over struct run */
extern const struct opt run_args[];   /* INTERVAL COUNT, over struct run */

#define RUN_GROUPS                                                                                 \
	{ "Whose I/O", filter_opts, offsetof(struct run, opts.filters) },                          \
		{ "What else", scope_opts, 0 },                                                    \
	{                                                                                          \
		"The run", run_opts, 0                                                             \
	}

/*
 * Parses the command line, traces, and returns the exit code. @r is the first member of the
 * command's own struct, which is zeroes but for the defaults of its options.
 */
int run_main(struct run *r, const struct run_ops *ops, const struct cmd *cmd, int argc,
	     char **argv);

/* Whether a signal asked to end; for a source, while it opens. */
bool run_interrupted(void);

/* For commands that do not trace: the first INT or TERM asks them to end with what
 * they have, the second ends the process. */

/* From now on; a read in progress then fails with EINTR. */
void interrupt_catch(void);

bool interrupt_came(void);

/* The messages of a run on stderr. */

/* That the kernel refused programs, if it did. */
void run_say_refused(const struct run *r);

/* That a module with a file system that was probed is gone, if one is. */
void run_say_module_gone(const struct run *r);

/* That a process of --pid is a kernel thread, which has no operations. */
void run_say_kernel_threads(const struct run *r);

/* That rows by process or thread have all processes outside of our pid namespace in one. */
void run_say_outsiders(const struct run *r);

/* That the filters @of_ops, if there are any, do not choose requests. */
void run_say_of_ops(const char *of_ops);

/* A bar on a terminal, if there are many probes; gone when all are there. */
void run_say_attaching(size_t done, size_t all);

/* The line that all probes are live. @interruptible: SIGINT ends it. */
void run_say_tracing(const struct run *r, bool interruptible);

/* That intervals took longer than requested, if they did: a report waits until all programs in
 * progress have ended, some 10 ms or more. */
void run_say_interval_reached(const struct run *r, uint64_t intervals, uint64_t took_ns);

/* All processes of --pid have ended. */
void run_say_ended(const struct run *r);

/* A signal ends the run. */
void run_say_interrupted(int signo);

#endif
