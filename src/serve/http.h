/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * http.h - answers HTTP/1.1 requests without a body (GET, HEAD), one on each connection; and
 * streams server-sent events. Owns the connections: how many, and for how long.
 *
 * A client has HTTP_ASK_S from its connection to the end of its request, however fast its bytes
 * come, and HTTP_TAKE_S to take the answer. If there is no room for a new connection, the oldest
 * connection without a request is closed. If all have one, it is the oldest that takes its answer.
 * So neither slow nor many clients keep others away.
 */
#ifndef IOSTRATA_SERVE_HTTP_H
#define IOSTRATA_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

struct evbuffer;
struct event_base;
struct http;
struct http_client;

enum {
	HTTP_ASK_S = 5,
	HTTP_TAKE_S = 30,
	HTTP_CLIENTS_MAX = 1024, /* connections; less if there are fewer descriptors */
	HTTP_STREAMS_MAX = 64,
	HTTP_REQUEST_MAX = 8192, /* bytes of a request */
};

/* A request as it came: hostile. A header is NULL if it was not given. */
struct http_request {
	bool head;         /* HEAD: the answer has no body */
	const char *path;  /* without the query */
	const char *query; /* "" if there is none */
	const char *host, *accept, *accept_encoding, *authorization, *cookie, *origin, *fetch_site;
	const char *scrape_timeout; /* a scraper has sent the request */
};

struct http_answer {
	int status;
	const char *type;    /* of the body; NULL: plain text */
	const char *headers; /* further lines, each with its "\r\n"; NULL: none */
	const char *body;    /* copied; NULL: it is in @shared */
	size_t len;
	struct evbuffer *shared; /* all who get it share its memory; it may be freed at once */
	bool gzip;               /* the body is compressed */
	bool stream;             /* the client gets events from now on; then there is no body */
};

/* Answers @rq: calls http_answer() once before it returns. */
typedef void http_serve_fn(void *arg, const struct http_request *rq, struct http_client *client);

/* Serves connections to the listening socket @listener. http_free() closes it. Returns NULL if out
 * of memory. */
struct http *http_open(struct event_base *base, int listener, http_serve_fn *serve, void *arg);
void http_free(struct http *h);

void http_answer(struct http_client *client, const struct http_answer *a);

/* Whether another stream has room, and whether there is any. */
bool http_may_stream(const struct http *h);
bool http_has_streams(const struct http *h);

/* Closes the client that has waited longest of those with bytes of an answer or of events before
 * them. Returns false if there is none. */
bool http_drop_slow(struct http *h);

/* Sends an event to all streams, with the data @line: one line, with its newline, shared as in an
 * answer. A client who did not take the events before is closed. */
void http_send_event(struct http *h, struct evbuffer *line);

/* Whether @list, the value of an Accept or Accept-Encoding header ("gzip, br;q=0", or NULL if it
 * was not given), names @name with a quality that is not 0. */
bool http_accepts(const char *list, const char *name);

/* Parses a request up to its empty line, in place: @rq points into @text. 0, or the status of the
 * refusal. */
int http_parse(char *text, struct http_request *ret_rq);

#endif
