// SPDX-License-Identifier: GPL-2.0-only
/* main.c - the command table, nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "reason.h"
#include "text.h"

static const struct cmd *const commands[] = { &cmd_breakdown, &cmd_doctor };

enum { COMMANDS_N = sizeof(commands) / sizeof(*commands) };

static void help(FILE *f)
{
	fprintf(f, "Usage: iostrata COMMAND [OPTIONS]\n\n"
		   "Shows where every nanosecond of an I/O operation went, layer by layer.\n\n"
		   "Commands:\n");
	for (int i = 0; i < COMMANDS_N; i++)
		fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->table->summary);
	fprintf(f, "\n'iostrata COMMAND --help' tells about a command, with examples.\n\n"
		   "Examples:\n"
		   "  iostrata breakdown                 everybody's I/O until Ctrl-C\n"
		   "  iostrata breakdown -- make         where the I/O time of a build goes\n"
		   "  iostrata doctor                    what this kernel can, what is missing\n");
}

/* The manual's sections about commands; see the Makefile. */
static int scdoc(void)
{
	for (int i = 0; i < COMMANDS_N; i++)
		if (opts_scdoc(stdout, commands[i]->table))
			return EXIT_FAILED;
	return cmd_written(0);
}

static int unknown(const char *name)
{
	char safe[128];

	text_safe(safe, sizeof(safe), name);
	fprintf(stderr, "error: no command '%s'\n", safe);
	fprintf(stderr, "hint: 'iostrata --help' lists the commands\n");
	return EXIT_USAGE;
}

/*
 * A standard descriptor that is closed would be given to the next file that is opened, and what is
 * written to stdout would go there. Its place is taken by something that refuses.
 */
static void keep_standard_descriptors(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	keep_standard_descriptors();
	setlocale(LC_CTYPE, "C.UTF-8");
	signal(SIGPIPE, SIG_IGN); /* a closed output is an error that is told */
	for (int i = 0; i < COMMANDS_N; i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i]->run(argc - 1, argv + 1);
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		help(stdout);
		return cmd_written(0);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return cmd_written(printf("iostrata " IOSTRATA_VERSION "\n") < 0 ? -EIO : 0);
	if (!strcmp(name, "--scdoc"))
		return scdoc();
	if (argc > 1)
		return unknown(name);
	help(stderr);
	return EXIT_USAGE;
}
