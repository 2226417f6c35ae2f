/* SPDX-License-Identifier: GPL-2.0-only */
/* cli.h - what a command is to main.c. */
#ifndef IOSTRATA_RUN_CLI_H
#define IOSTRATA_RUN_CLI_H

#include <stdbool.h>

#include "base/opts.h"

struct reason;

#define IOSTRATA_VERSION "0.1"

struct cmd {
	const char *name;
	const struct opt_table *table;
	/* Returns the exit code. argv[0] is the command's name. */
	int (*run)(int argc, char **argv);
	bool traces; /* and needs privileges */
};

extern const struct cmd cmd_breakdown, cmd_compare, cmd_doctor, cmd_export, cmd_funcs, cmd_record,
	cmd_report, cmd_top;

/*
 * The start of every command: parses, and answers --help, --version and mistakes itself. Returns -1
 * if the command is to go on, else the exit code.
 */
int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *out, struct opts_result *res);

/* Turns the result of printing to stdout, 0 or -errno, into an exit code; flushes, and reports an
 * error. */
int cmd_written(int err);

/* Becomes man(1) with the manual page of command @name. If this fails, warns on stderr and
 * returns. */
void cmd_open_manual(const char *name);

/* Prints a message, safe already, on stderr. */
void cmd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "error: ..." and "hint: ..." of @why on stderr and returns its exit code. */
int cmd_fail(const struct reason *why);

/* The same as "warning: ...", for a failure that does not stop the command. */
void cmd_warn(const struct reason *why);

#endif
