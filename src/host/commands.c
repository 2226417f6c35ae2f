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

static void command_read(struct command *one, const char comm[COMM_LEN])
{
	char *line = process_command(one->pid);

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
	command_read(one, comm);
	return one;
}

void commands_done(struct commands *c)
{
	struct command *one, *next;

	HASH_ITER (hh, c->by_pid, one, next)
		command_free(c, one);
}
