/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * io.h - the source of I/O: owns the session (trace/session.h) of a run, its configuration, its
 * losses and its warnings. Commands choose what is traced, and print the snapshots.
 */
#ifndef IOSTRATA_RUN_IO_H
#define IOSTRATA_RUN_IO_H

#include "host/diskstats.h"
#include "host/machine_meter.h"
#include "run/run.h"
#include "run/io_stacks.h"
#include "trace/session.h"

/* The first member of the struct of a command with an I/O session. */
struct io_run {
	struct run run;
	/* Set by the command before run_main(). Prints the snapshot of an interval or of the run.
	 * May take the rows of @sn and leave @sn empty. Returns 0, or -errno of a failed write. */
	int (*report)(struct run *r, struct snapshot *sn);
	/* Set by .resolve of the command. Members derived from options of the run (filters,
	 * --overhead) are set when the source is opened. */
	struct session_conf conf;
	struct stack_conf stack_conf; /* with conf.stacks */
	/* Set when the source is opened. */
	struct session *session;
	struct stack_run *stacks;   /* NULL: no stacks are taken */
	struct machine_meter meter; /* of the intervals */
	struct diskstats diskstats; /* likewise */
	size_t children;   /* processes below those of --pid, when the source was opened; 0 with
			      --children */
	bool had_children; /* the only process of --pid had some that have ended */
	struct chosen_file
		*files;  /* with --file, and a row for each file: the files with operations */
	char of_ops[64]; /* filters of operations alone, not of requests: "--op, --min"; "": none */
};

/* The source for struct run_ops; run_main() gets a struct run inside of a struct io_run. */
extern const struct run_source io_source;

#endif
