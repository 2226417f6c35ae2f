// SPDX-License-Identifier: GPL-2.0-only
#include "mcp/protocol.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/tools.h"

/* Codes of errors, by JSON-RPC and by the protocol. */
enum {
	NO_JSON = -32700,
	NO_REQUEST = -32600,
	NO_METHOD = -32601,
	WRONG_PARAMS = -32602,
	OTHER_VERSION = -32022,
};

enum { LINE_MAX_BYTES = 1 << 20, CACHED_MS = 3600000 };

#define MODERN "2026-07-28"

static const char *const handshakes[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
					  NULL };

static const char advice[] =
	"Latency of I/O on Linux hosts. Call list_recordings, then report: each answer says what "
	"to "
	"call next. Times in structuredContent are ns; the strata of an operation are disjoint and "
	"add up to its time; null is not measured, never 0.";

struct server {
	const struct tools *tools;
	const char *version;
	FILE *out;
	int err;     /* of a write; the first one stays */
	bool modern; /* the present request is of MODERN */
};

static void send(struct server *s, json_t *message)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	if (text && !s->err && (fprintf(s->out, "%s\n", text) < 0 || fflush(s->out)))
		s->err = errno ? -errno : -EIO;
	if (!text && !s->err)
		s->err = -ENOMEM;
	free(text);
	json_decref(message);
}

static void refuse(struct server *s, json_t *id, int code, const char *why)
{
	json_t *e = json_pack("{s:i,s:s}", "code", code, "message", why);

	if (code == OTHER_VERSION)
		json_object_set_new(e, "data",
				    json_pack("{s:[s,s]}", "supported", MODERN, handshakes[0]));
	send(s, json_pack("{s:s,s:O,s:o}", "jsonrpc", "2.0", "id", id, "error", e));
}

/* Answers with @result, which becomes its own. */
static void answer(struct server *s, json_t *id, json_t *result)
{
	if (s->modern)
		json_object_set_new(result, "resultType", json_string("complete"));
	send(s, json_pack("{s:s,s:O,s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

static json_t *about(const struct server *s, const char *version)
{
	return json_pack("{s:s*,s:{s:{}},s:{s:s,s:s},s:s}", "protocolVersion", version,
			 "capabilities", "tools", "serverInfo", "name", "iostrata", "version",
			 s->version, "instructions", advice);
}

static void initialize(struct server *s, json_t *id, const json_t *params)
{
	const char *asked = json_string_value(json_object_get(params, "protocolVersion"));
	int i = 0;

	while (handshakes[i] && (!asked || strcmp(asked, handshakes[i]) != 0))
		i++;
	answer(s, id, about(s, handshakes[i] ? handshakes[i] : handshakes[0]));
}

/* Says for how long an answer of MODERN stays the same. */
static json_t *cached(const struct server *s, json_t *result)
{
	if (s->modern) {
		json_object_set_new(result, "ttlMs", json_integer(CACHED_MS));
		json_object_set_new(result, "cacheScope", json_string("public"));
	}
	return result;
}

static void discover(struct server *s, json_t *id)
{
	json_t *r = about(s, NULL);

	json_object_set_new(r, "supportedVersions", json_pack("[s,s]", MODERN, handshakes[0]));
	answer(s, id, cached(s, r));
}

static void call(struct server *s, json_t *id, const json_t *params)
{
	const char *why = NULL;
	json_t *r = tools_call(s->tools, json_string_value(json_object_get(params, "name")),
			       json_object_get(params, "arguments"), &why);

	if (r)
		answer(s, id, r);
	else
		refuse(s, id, WRONG_PARAMS, why ? why : "out of memory");
}

static void request(struct server *s, json_t *id, const char *method, const json_t *params)
{
	if (!strcmp(method, "initialize") && !s->modern)
		initialize(s, id, params);
	else if (!strcmp(method, "server/discover") && s->modern)
		discover(s, id);
	else if (!strcmp(method, "ping"))
		answer(s, id, json_object());
	else if (!strcmp(method, "tools/list"))
		answer(s, id, cached(s, tools_list(s->tools)));
	else if (!strcmp(method, "tools/call"))
		call(s, id, params);
	else
		refuse(s, id, NO_METHOD, "no such method");
}

/* A message. Notifications, and answers to requests that were never made, are ignored. */
static void message(struct server *s, json_t *m)
{
	json_t *id = json_object_get(m, "id"), *params = json_object_get(m, "params"), *named;
	const char *method = json_string_value(json_object_get(m, "method")), *version;

	if (!json_is_object(m) || (id && !json_is_string(id) && !json_is_integer(id))) {
		refuse(s, json_null(), NO_REQUEST, "no request");
		return;
	}
	if (!id || json_object_get(m, "result") || json_object_get(m, "error"))
		return;
	named = json_object_get(json_object_get(params, "_meta"),
				"io.modelcontextprotocol/protocolVersion");
	version = json_string_value(named);
	s->modern = version && !strcmp(version, MODERN);
	if (!method)
		refuse(s, id, NO_REQUEST, "no method");
	else if (named && !s->modern)
		refuse(s, id, OTHER_VERSION, "unsupported protocol version");
	else
		request(s, id, method, params);
}

/* Reads a line, as much of it as @line has room for, and drops the rest. Returns the length of what
 * was read, or 0 at the end of the input. The peer may never end a line. */
static size_t line_read(FILE *in, char line[LINE_MAX_BYTES + 1])
{
	size_t n = 0;
	int c;

	do {
		c = getc_unlocked(in);
		if (c != EOF && n <= LINE_MAX_BYTES)
			line[n++] = (char)c;
	} while (c != EOF && c != '\n');
	return n;
}

int protocol_serve(const struct tools *t, const char *version, FILE *in, FILE *out)
{
	struct server s = { .tools = t, .version = version, .out = out };
	char *line = malloc(LINE_MAX_BYTES + 1);
	size_t len;
	json_t *m;

	if (!line)
		return -ENOMEM;
	while (!s.err && (len = line_read(in, line)) > 0) {
		m = len > LINE_MAX_BYTES ? NULL
					 : json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
		s.modern = false;
		if (m)
			message(&s, m);
		else
			refuse(&s, json_null(), NO_JSON, "no JSON, or too long");
		json_decref(m);
	}
	free(line);
	return s.err;
}
