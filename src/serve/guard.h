/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard.h - who may ask. On a loopback address, only requests to "localhost" and to loopback
 * addresses count, so no web page reaches the tool under another name (DNS rebinding). On any other
 * address, a request needs the token. No other web site may ask through a user's browser.
 */
#ifndef IOSTRATA_SERVE_GUARD_H
#define IOSTRATA_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct http_request;

enum { TOKEN_LEN = 32, TOKEN_CAP = 256 };

struct guard {
	char token[TOKEN_CAP]; /* ""; none is needed, the address is a loopback one */
};

/* Returns 0 if @rq may go on; or the status of the refusal. */
int guard_check(const struct guard *g, const struct http_request *rq);

/* Whether the query of @rq has the token: then the browser is given a cookie with it. */
bool guard_in_query(const struct guard *g, const struct http_request *rq);

/* A random token: TOKEN_LEN hexadecimal digits. Returns 0 or -errno. */
int guard_new_token(char ret_token[TOKEN_CAP]);

/* Whether @token may stand in URLs, headers and cookies: of letters, digits, - and _, 16 to
 * TOKEN_CAP - 1 of them. */
bool guard_is_token(const char *token);

#endif
