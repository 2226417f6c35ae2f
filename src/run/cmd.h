/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd.h - a command as main.c sees it, and the messages of commands on stderr. Commands print and
 * return exit codes; only main.c calls exit().
 */
#ifndef IOSTRATA_RUN_CMD_H
#define IOSTRATA_RUN_CMD_H

#include <stdbool.h>

#include "base/opts.h"

struct reason;
struct schema;

#define IOSTRATA_VERSION "0.2"

struct cmd {
	const char *name;
	const struct opt_table *table;
	/* Returns the exit code. argv[0] is the command's name. */
	int (*run)(int argc, char **argv);
	bool traces; /* needs the privileges to trace */
};

extern const struct cmd cmd_breakdown, cmd_compare, cmd_doctor, cmd_explain, cmd_export, cmd_funcs,
	cmd_mcp, cmd_record, cmd_report, cmd_schema, cmd_serve, cmd_top, cmd_watch;

/* All of them, and NULL: the table of main.c, which tests of parts do not have. */
extern const struct cmd *const commands_all[] __attribute__((weak));

/* The description of the JSON of doctor. */
extern const struct schema doctor_schema;

/*
 * The start of every command: parses the options into @out, and answers --help, --version and wrong
 * options itself. Returns -1 if the command has to go on, else the exit code.
 */
int cmd_parse(const struct cmd *cmd, int argc, char **argv, void *out, struct opts_result *res);

/* Flushes stdout, and turns the result @err of printing (0 or -errno) into an exit code. Reports an
 * error on stderr; a pipe without a reader is none. */
int cmd_written(int err);

/* Whether output to @fd is coloured: it is a terminal that can, and NO_COLOR is not set or empty
 * (no-color.org). */
bool cmd_wants_color(int fd);

/* Becomes man(1) with the manual page of command @name. If this fails, warns on stderr and
 * returns. */
void cmd_open_manual(const char *name);

/* Prints a message on stderr. Hostile text must be escaped by the caller: text_safe(). */
void cmd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "error: ..." and "hint: ..." of @why on stderr and returns its exit code. */
int cmd_fail(const struct reason *why);

/* Prints "warning: ..." and "hint: ..." of @why on stderr, for a failure after which the command
 * goes on. */
void cmd_warn(const struct reason *why);

#endif
