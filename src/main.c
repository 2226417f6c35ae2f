// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - the table of commands, general help, and the state of the process before a command runs:
 * standard descriptors, privileges of the file, locale, failed writes. Only main.c calls exit().
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opts.h"
#include "base/reason.h"
#include "base/text.h"
#include "host/privilege.h"
#include "run/cmd.h"

const struct cmd *const commands_all[] = {
	&cmd_breakdown, &cmd_top,    &cmd_funcs,   &cmd_serve,   &cmd_record,
	&cmd_watch,     &cmd_report, &cmd_compare, &cmd_explain, &cmd_export,
	&cmd_doctor,    &cmd_schema, &cmd_mcp,     NULL,
};

enum { COMMANDS_N = sizeof(commands_all) / sizeof(*commands_all) - 1 };

static void help(FILE *f)
{
	fprintf(f, "Usage: iostrata COMMAND [OPTIONS]\n\n"
		   "Shows where every nanosecond of an I/O operation went, layer by layer.\n\n"
		   "Commands:\n");
	for (int i = 0; i < COMMANDS_N; i++)
		fprintf(f, "  %-12s %s\n", commands_all[i]->name, commands_all[i]->table->summary);
	fprintf(f,
		"\n'iostrata help COMMAND' opens the manual page of a command,\n"
		"'iostrata COMMAND --help' lists its options.\n\n"
		"Examples:\n"
		"  iostrata breakdown                 all I/O until Ctrl-C\n"
		"  iostrata breakdown -- make         where the I/O time of a build goes\n"
		"  iostrata top                       which processes make the I/O, live\n"
		"  iostrata funcs 'ext4_*'            count and time of kernel functions\n"
		"  iostrata doctor                    features of this kernel, what is missing\n");
}

/* Prints the completions of a command line for a shell; see completion/. */
static int complete(char **words, int n)
{
	const struct opt_table *tables[COMMANDS_N];

	for (int i = 0; i < COMMANDS_N; i++)
		tables[i] = commands_all[i]->table;
	return cmd_written(opts_complete(stdout, tables, COMMANDS_N, words, n));
}

static int unknown(const char *name)
{
	struct nearest meant = { .typed = name };
	char safe[128];

	for (int i = 0; i < COMMANDS_N; i++)
		nearest_try(&meant, commands_all[i]->name);
	text_safe(safe, sizeof(safe), name);
	cmd_say("error: no command '%s'", safe);
	if (meant.name)
		cmd_say("hint: did you mean 'iostrata %s'?", meant.name);
	else if (*name == '-')
		cmd_say("hint: options follow the command: 'iostrata breakdown %s'", safe);
	else
		cmd_say("hint: 'iostrata --help' lists the commands");
	return EXIT_USAGE;
}

static const struct cmd *find(const char *name)
{
	for (int i = 0; i < COMMANDS_N; i++)
		if (!strcmp(name, commands_all[i]->name))
			return commands_all[i];
	return NULL;
}

/* Opens the manual page of command @name, or else prints its --help. NULL: prints general help. */
static int help_of(const char *name)
{
	const struct cmd *cmd = name ? find(name) : NULL;
	char *argv[] = { (char *)name, "--help", NULL };

	if (cmd) {
		cmd_open_manual(name);
		return cmd->run(2, argv);
	}
	if (name)
		return unknown(name);
	help(stdout);
	return cmd_written(0);
}

/* 'iostrata help', with @argc - 2 arguments: one command at most. */
static int help_command(int argc, char **argv)
{
	char safe[128];

	if (argc <= 3)
		return help_of(argc > 2 ? argv[2] : NULL);
	text_safe(safe, sizeof(safe), argv[3]);
	cmd_say("error: unexpected argument '%s'", safe);
	cmd_say("hint: 'iostrata help' takes the name of one command");
	return EXIT_USAGE;
}

/* Prints a part of the manual page of command @name; see the Makefile. */
static int scdoc(const char *name, const char *part)
{
	const struct cmd *cmd = find(name);

	return cmd ? cmd_written(opts_scdoc(stdout, cmd->table, part)) : unknown(name);
}

/*
 * If a standard descriptor is closed, the next opened file would get its number, and output to
 * stdout would go into this file. So /dev/null takes its place, opened in a mode that makes this
 * I/O fail.
 */
static void keep_standard_descriptors(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			exit(EXIT_FAILED);
}

static int refuse_file(char **argv, enum privilege_file by)
{
	if (by == PRIVILEGE_ID) {
		cmd_say("error: refusing to run as a setuid or setgid program");
		cmd_say("hint: use sudo, or give the file capabilities and a group: see SECURITY "
			"in the manual");
	} else {
		cmd_say("error: refusing capabilities of a file that everybody may execute");
		cmd_say("hint: let a group alone execute it: chgrp, chmod 0750, then setcap again");
	}
	while (*argv && strcmp(*argv, "--") != 0)
		argv++;
	return *argv ? EXIT_TOOL : EXIT_PERMISSION;
}

/*
 * Users who may execute a file with capabilities see the file names of all users, so the mode of
 * the file must restrict them to a group. A command without tracing drops the capabilities.
 * Descriptions of terminals named in the user's environment are not read with the rights of the
 * tool.
 */
static bool file_is_safe(const struct cmd *cmd, enum privilege_file by)
{
	if (by != PRIVILEGE_CAPABILITIES)
		return by == PRIVILEGE_NONE;
	unsetenv("TERMINFO");
	unsetenv("TERMINFO_DIRS");
	unsetenv("TERMCAP");
	return (cmd && cmd->traces) || !privilege_clear();
}

static void on_failed_write(int signo)
{
	(void)signo;
}

/* Writes to a closed pipe, or to a file that may not grow, must fail with an error: it is then
 * reported. A signal that is ignored already stays ignored, for a command run by the tool; exec
 * undoes a handler. */
static void handle_failed_writes(void)
{
	static const int signals[] = { SIGPIPE, SIGXFSZ };
	struct sigaction was, act = { .sa_handler = on_failed_write, .sa_flags = SA_RESTART };

	for (int i = 0; i < 2; i++)
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler == SIG_DFL)
			sigaction(signals[i], &act, NULL);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	enum privilege_file by = privilege_by_file();

	keep_standard_descriptors();
	clock_init();
	if (!file_is_safe(find(name), by))
		return refuse_file(argv, by);
	setlocale(LC_CTYPE, "C.UTF-8");
	if (!text_locale_is_utf8() && (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO)))
		text_ascii_only();
	handle_failed_writes();
	if (find(name))
		return find(name)->run(argc - 1, argv + 1);
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return help_of(NULL);
	if (!strcmp(name, "help"))
		return help_command(argc, argv);
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return cmd_written(printf("iostrata " IOSTRATA_VERSION "\n") < 0 ? -EIO : 0);
	if (!strcmp(name, "--scdoc"))
		return scdoc(argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : NULL);
	if (!strcmp(name, "--complete"))
		return complete(argv + 2, argc - 2);
	if (argc > 1)
		return unknown(name);
	help(stderr);
	return EXIT_USAGE;
}
