/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * protocol.h - the Model Context Protocol over two streams: a JSON-RPC message a line. Versions up
 * to 2025-11-25 begin with a handshake; with 2026-07-28 each request names its version.
 */
#ifndef IOSTRATA_MCP_PROTOCOL_H
#define IOSTRATA_MCP_PROTOCOL_H

#include <stdio.h>

struct tools;

/* Answers requests from @in on @out until the end of @in. @version: of this program. Returns 0 or
 * -errno of a failed write. */
int protocol_serve(const struct tools *t, const char *version, FILE *in, FILE *out);

#endif
