/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.h - one run of a tracing command: shared options, signals, the command after "--",
 * processes that end, duration and intervals, exit codes. It knows no programs and no tables: a
 * source (struct run_source) traces and reports.
 *
 * A tracing command has a struct with its options and its state. The first member is a struct run,
 * or a struct io_run (run/io.h) to trace I/O. The option tables of the command end with RUN_GROUPS.
 * Its arguments are run_args or its own. Its functions are in a struct run_ops.
 */
#ifndef IOSTRATA_RUN_RUN_H
#define IOSTRATA_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/child.h"
#include "run/cmd.h"
#include "run/filters.h"

struct reason;
struct run;

/* The options given. */
struct run_opts {
	struct filters filters;
	uint64_t duration_ns; /* 0: not given, as with the next two */
	uint64_t interval_ns;
	uint64_t count;
	bool json;
	bool strict;
	unsigned int strict_but; /* not for these losses: 1 << enum lost */
	bool overhead;
};

struct run {
	struct run_opts opts;
	/* set from the options before .resolve is called */
	struct filter_lists lists;     /* the filters as programs get them */
	char looked_for[FILTERS_TEXT]; /* the filters as text; hostile */
	char **command;                /* the command to run and trace; NULL: none */
	bool follow;                   /* trace only this command and its descendants */
	char **rest;                   /* arguments of a list, inside argv */
	int n_rest;
	/* set by .resolve of the command, or by .open of the source */
	bool own_stdout;    /* the tool prints elsewhere: the command keeps stdout */
	bool stdout_taken;  /* the tool writes data for a program to stdout */
	bool names_cgroups; /* names of cgroups are looked up after privileges are dropped */
	bool usr1_ends;     /* SIGUSR1 ends the run, too, even if the command goes on */
	bool usr1_asks;     /* SIGUSR1 ends nothing: run_asked() tells that it came */
	FILE *out;        /* for tables and data: stdout; with a command in need of stdout, stderr.
			     Set before .start is called */
	bool keyboard;    /* the run waits for keys of the keyboard on stdin; set by .start */
	uint64_t beat_ns; /* longest time between two calls of .beat; 0: half a second */
	int exit;         /* exit code of the run, unless it fails */
	bool no_reader;   /* the pipe for the output was closed by its reader */
	/* private to run.c */
	const struct run_ops *ops;
	struct child child;
	int pidfds[MAX_PIDS]; /* running processes of --pid */
	int n_pidfds;
	int answered; /* signals already handled */
};

/* Traces, and reports the results: the I/O session (run/io.h) or the functions of `funcs`. */
struct run_source {
	/* All probes are live on return. Returns 0, or -1 with @why. */
	int (*open)(struct run *r, struct reason *why);
	/* .open is slow and looks at run_interrupted(), so a first signal only sets this flag. If
	 * false, signals have their default actions while .open runs. */
	bool open_sees_signals;
	/* Prints warnings about the opened source, once, when nothing can fail any more. May be
	 * NULL. */
	void (*say)(struct run *r);
	/* A descriptor, readable when .beat has work to do. May be NULL. */
	int (*poll_fd)(struct run *r);
	/* Periodic work, called at least every second. */
	void (*beat)(struct run *r);
	/* Prints the results since the last call, with run_count_lost() and run_written(). Returns
	 * 0, or -1 with @why. */
	int (*report)(struct run *r, struct reason *why);
	/* Called even if .open was not. */
	void (*close)(struct run *r);
};

/* A command's part in a run. Each function may be NULL. */
struct run_ops {
	const struct run_source *source;
	/* Checks and translates the command's options. 0; 1: all is done, there is nothing to
	 * trace; or -1 with @why. */
	int (*resolve)(struct run *r, struct reason *why);
	/* The probes are live, nothing is printed, and no privilege is dropped yet. Output files
	 * are opened here. Returns 0, or -1 with @why. */
	int (*start)(struct run *r, struct reason *why);
	/* Called at least every second, and for each key press. Returns true if the run is over. */
	bool (*beat)(struct run *r);
};

extern const struct opt scope_opts[]; /* further I/O to trace; over struct run */
#define scope_opts_without_command (scope_opts + 1)
extern const struct opt run_opts[]; /* over struct run */
extern const struct opt run_args[]; /* INTERVAL COUNT; over struct run */
#define run_opts_without_json     (run_opts + 1)
#define run_opts_without_duration (run_opts + 2)

#define RUN_GROUPS                                                                                 \
	{ "Filters", filter_opts, offsetof(struct run, opts.filters) },                            \
		{ "Scope", scope_opts, 0 },                                                        \
	{                                                                                          \
		"Run", run_opts, 0                                                                 \
	}

/*
 * Parses the command line, traces, and returns the exit code. @r is the first member of the
 * command's struct. The struct is zero except for the defaults of its options.
 */
int run_main(struct run *r, const struct run_ops *ops, const struct cmd *cmd, int argc,
	     char **argv);

/* Whether a signal asked the run to end; for a source while it opens. */
bool run_interrupted(void);

/* Whether SIGUSR1 came since the last call; for runs with .usr1_asks, in .beat. */
bool run_asked(void);

/* The help of the option for .strict_but */
#define STRICT_BUT_HELP                                                                            \
	"exit with code 5 if anything was lost other than these kinds, as JSON names them"

/* For reports: with --strict, sets the exit code EXIT_INCOMPLETE if @lost is not 0. */
void run_count_lost(struct run *r, uint64_t lost);

/* For reports: takes the result of printing, 0 or -errno. A pipe without a reader is noted in
 * .no_reader and is no error. Returns 0, or -1 with @why. */
int run_written(struct run *r, int err, struct reason *why);

/* Warns that the filters @of_ops, if there are any, do not choose requests. For live I/O and for
 * recordings. */
void run_say_of_ops(const char *of_ops);

/* For commands without a run. From this call on, the first INT or TERM asks them to print what
 * they have and end; a read in progress then fails with EINTR. The second ends the process. */
void interrupt_catch(void);

/* Whether the first INT or TERM came. */
bool interrupt_came(void);

/* Waits for a press of the keyboard or a signal, at most @ms. Returns false if the terminal is
 * gone.
 */
bool keyboard_wait(unsigned int ms);

#endif
