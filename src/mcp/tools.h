/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tools.h - what an agent may ask: commands of this program over the recordings in the working
 * directory, read only. A caller gives names of recordings there, and values of a few options:
 * never a path, an option or a command. All arguments are hostile, and so are names in the answers.
 */
#ifndef IOSTRATA_MCP_TOOLS_H
#define IOSTRATA_MCP_TOOLS_H

#include <jansson.h>
#include <stdbool.h>

struct tools {
	bool live; /* may trace this host */
};

/* The list of tools, as tools/list has it. Returns NULL if out of memory. */
json_t *tools_list(const struct tools *t);

/* Calls the tool @name (hostile; NULL: none was given) with the object @args (hostile; NULL: none).
 * The result of tools/call. NULL with *ret_refusal: there is no such tool, or an argument is
 * wrong. */
json_t *tools_call(const struct tools *t, const char *name, const json_t *args,
		   const char **ret_refusal);

#endif
