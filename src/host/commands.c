// SPDX-License-Identifier: GPL-2.0-only
#include "host/commands.h"

#include <stdlib.h>
#include <string.h>

static void command_free(struct commands *c, struct command *one)
{
	HASH_DEL(c->by_pid, one);
	free(one->line);
	free(one);
}

void commands_begin(struct commands *c)
{
	struct command *one, *next;

	c->round++;
	HASH_ITER (hh, c->by_pid, one, next)
		if (c->round - one->round > 2)
			command_free(c, one);
}

static void executed_free(struct commands *c, struct command_executed *e)
{
	HASH_DEL(c->executed, e);
	free(e->line);
	free(e);
}

void commands_execute(struct commands *c, unsigned int pid, const char comm[COMM_LEN],
		      const char *text, size_t len)
{
	char copy[PROCESS_COMMAND + 1] = {};
	struct command_executed *e;

	HASH_FIND_INT(c->executed, &pid, e);
	if (e)
		executed_free(c, e);
	if (!len || len > PROCESS_COMMAND || !(e = calloc(1, sizeof(*e))))
		return;
	memcpy(copy, text, len);
	e->pid = pid;
	memcpy(e->comm, comm, COMM_LEN);
	e->line = process_command_text(copy, len);
	HASH_ADD_INT(c->executed, pid, e);
	if (HASH_COUNT(c->executed) > COMMANDS_EXECUTED)
		executed_free(c, c->executed);
}

char *commands_line(struct commands *c, unsigned int pid, const char *comm)
{
	struct command_executed *e;
	char *line = process_command(pid);

	if (line)
		return line;
	HASH_FIND_INT(c->executed, &pid, e);
	if (!e || !e->line || (comm && strncmp(e->comm, comm, COMM_LEN)))
		return NULL;
	return strdup(e->line);
}

static void command_read(struct commands *c, struct command *one, const char comm[COMM_LEN])
{
	char *line = commands_line(c, one->pid, comm);

	if (!line && !strncmp(one->comm, comm, COMM_LEN)) /* it has ended: what was known remains */
		return;
	free(one->line);
	one->line = line;
	memcpy(one->comm, comm, COMM_LEN);
}

const struct command *commands_find(struct commands *c, unsigned int pid, const char comm[COMM_LEN])
{
	struct command *one;

	HASH_FIND_INT(c->by_pid, &pid, one);
	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return NULL;
		one->pid = pid;
		HASH_ADD_INT(c->by_pid, pid, one);
	} else if (one->round == c->round) {
		return one;
	}
	one->round = c->round;
	command_read(c, one, comm);
	return one;
}

void commands_done(struct commands *c)
{
	struct command *one, *next;

	HASH_ITER (hh, c->by_pid, one, next)
		command_free(c, one);
	while (c->executed)
		executed_free(c, c->executed);
}
