// SPDX-License-Identifier: GPL-2.0-only
#include "serve/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utlist.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

enum {
	OWN_DESCRIPTORS = 32, /* for everything in this process other than connections */
	LINGER_S = 2,         /* for the client to close, after the answer */
	PAUSE_S = 1,          /* without accepting, if nothing can be closed to make room */
	/* Most bytes waiting in a stream in addition to the newest event. */
	STREAM_BEHIND = 1 << 20,
};

enum state { CLIENT_ASKS, CLIENT_TAKES, CLIENT_STREAMS, CLIENT_LEAVES };

struct http_client {
	struct http *http;
	struct bufferevent *bev;
	struct event *deadline;
	enum state state;
	bool head;
	struct http_client *prev, *next;
};

struct http {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *pause; /* ends a pause of the listener */
	http_serve_fn *serve;
	void *arg;
	struct http_client *clients; /* oldest first */
	unsigned int n_clients, clients_max, n_streams;
};

static void client_free(struct http_client *c)
{
	c->http->n_clients--;
	c->http->n_streams -= c->state == CLIENT_STREAMS;
	DL_DELETE(c->http->clients, c);
	if (c->deadline)
		event_free(c->deadline);
	bufferevent_free(c->bev);
	free(c);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	client_free(arg);
}

static void deadline_set(struct http_client *c, int seconds)
{
	const struct timeval time = { .tv_sec = seconds };

	evtimer_add(c->deadline, &time);
}

/* The value of header @name in @line, or NULL if it is another. */
static const char *header_value(char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncasecmp(line, name, len) || line[len] != ':')
		return NULL;
	line += len + 1;
	return line + strspn(line, " \t");
}

static int parse_header(char *line, struct http_request *rq)
{
	const struct {
		const char *name, **to;
	} known[] = {
		{ "Host", &rq->host },
		{ "Accept", &rq->accept },
		{ "Accept-Encoding", &rq->accept_encoding },
		{ "Authorization", &rq->authorization },
		{ "Cookie", &rq->cookie },
		{ "Origin", &rq->origin },
		{ "Sec-Fetch-Site", &rq->fetch_site },
		{ "X-Prometheus-Scrape-Timeout-Seconds", &rq->scrape_timeout },
	};
	const char *value;

	size_t name = strcspn(line, ": \t"), len = strlen(line);

	if (!name ||
	    line[name] != ':') /* "Host : a" is Host for some proxies, and not for others */
		return 400;
	while (strchr(" \t", line[len - 1]))
		line[--len] = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		value = header_value(line, known[i].name);
		if (!value)
			continue;
		if (*known[i].to) /* given twice: proxies and we might see different ones */
			return 400;
		*known[i].to = value;
	}
	return 0;
}

/* "GET /path?query HTTP/1.1" */
static int parse_first(char *line, struct http_request *rq)
{
	char *method = line, *target = strchr(line, ' '), *version;

	if (!target)
		return 400;
	*target++ = '\0';
	version = strchr(target, ' ');
	if (!version || strncmp(version, " HTTP/1.", 8) || *target != '/')
		return 400;
	*version = '\0';
	rq->head = !strcmp(method, "HEAD");
	if (!rq->head && strcmp(method, "GET") != 0)
		return 405;
	rq->path = target;
	target = strchr(target, '?');
	rq->query = target ? target + 1 : "";
	if (target)
		*target = '\0';
	return 0;
}

int http_parse(char *text, struct http_request *ret_rq)
{
	struct http_request rq = {};
	int status = 0;
	char *line, *end;

	for (line = text; !status && (end = strstr(line, "\r\n")); line = end + 2) {
		*end = '\0';
		if (line[strcspn(line, "\r\n")]) /* the end of a line for some proxies */
			status = 400;
		else if (line == text)
			status = parse_first(line, &rq);
		else if (*line)
			status = parse_header(line, &rq);
		else
			break;
	}
	if (!status && !rq.host)
		status = 400;
	if (!status)
		*ret_rq = rq;
	return status;
}

bool http_accepts(const char *list, const char *name)
{
	const char *at = list ? strcasestr(list, name) : NULL, *q;

	if (!at)
		return false;
	q = strstr(at, "q=");
	if (!q || q >= at + strcspn(at, ","))
		return true;
	q += strspn(q + 2, "0.") + 2;
	return *q >= '1' && *q <= '9';
}

static const char *status_text(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 421:
		return "Misdirected Request";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	default:
		return "Bad Request";
	}
}

/* Other origins can neither read, embed nor frame an answer. Nothing stores the answer, or its
 * address: it may have a token. */
static const char headers_of_all[] = "Cache-Control: no-store\r\n"
				     "X-Content-Type-Options: nosniff\r\n"
				     "X-Frame-Options: DENY\r\n"
				     "Referrer-Policy: no-referrer\r\n"
				     "Cross-Origin-Resource-Policy: same-origin\r\n"
				     "Connection: close\r\n";

/* Headers that an answer with this status must have (RFC 9110, 15.5.2 and 15.5.6). */
static const char *headers_of_status(int status)
{
	if (status == 401)
		return "WWW-Authenticate: Bearer\r\n";
	return status == 405 ? "Allow: GET, HEAD\r\n" : "";
}

void http_answer(struct http_client *c, const struct http_answer *a)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	size_t len = a->shared ? evbuffer_get_length(a->shared) : a->len;

	evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", a->status,
			    status_text(a->status),
			    a->type ? a->type : "text/plain; charset=utf-8");
	if (!a->stream)
		evbuffer_add_printf(out, "Content-Length: %zu\r\n", len);
	evbuffer_add_printf(out, "%s%s%s%s\r\n", headers_of_all, a->headers ? a->headers : "",
			    a->gzip ? "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n" : "",
			    headers_of_status(a->status));
	if (a->stream && !c->head) {
		c->state = CLIENT_STREAMS;
		c->http->n_streams++;
		evtimer_del(c->deadline);
		return;
	}
	if (!c->head && a->shared)
		evbuffer_add_buffer_reference(out, a->shared);
	else if (!c->head)
		evbuffer_add(out, a->body, a->len);
	c->state = CLIENT_TAKES;
	deadline_set(c, HTTP_TAKE_S);
}

static void refuse(struct http_client *c, int status)
{
	char body[64];
	int len = snprintf(body, sizeof(body), "%s\n", status_text(status));

	http_answer(c, &(struct http_answer){ .status = status, .body = body, .len = len });
}

/* Only the empty line ends a request: a client who sends more than HTTP_REQUEST_MAX without one is
 * refused. */
static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct http_client *c = arg;
	struct http_request rq = {};
	char text[HTTP_REQUEST_MAX + 1];
	struct evbuffer_ptr end;
	int status = 431;

	if (c->state != CLIENT_ASKS) {
		evbuffer_drain(in, evbuffer_get_length(in));
		return;
	}
	end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	if (end.pos < 0 && evbuffer_get_length(in) < HTTP_REQUEST_MAX)
		return;
	if (end.pos >= 0 && end.pos + 4 <= HTTP_REQUEST_MAX) {
		evbuffer_remove(in, text, end.pos + 4);
		text[end.pos + 4] = '\0';
		status = strlen(text) == (size_t)end.pos + 4 ? http_parse(text, &rq) : 400;
	}
	evbuffer_drain(in, evbuffer_get_length(in));
	c->head = rq.head;
	if (status)
		refuse(c, status);
	else
		c->http->serve(c->http->arg, &rq, c);
}

/* The answer is with the kernel. Closing now could destroy it, if the client has sent more. */
static void on_written(struct bufferevent *bev, void *arg)
{
	struct http_client *c = arg;

	if (c->state != CLIENT_TAKES)
		return;
	c->state = CLIENT_LEAVES;
	shutdown(bufferevent_getfd(bev), SHUT_WR);
	if (bufferevent_get_enabled(bev) & EV_READ)
		deadline_set(c, LINGER_S);
	else /* the client has closed its side already */
		client_free(c);
}

/* The client has closed, or its connection broke. */
static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct http_client *c = arg;

	(void)bev;
	/* a client may close its side and still take the answer */
	if (what & BEV_EVENT_EOF && c->state == CLIENT_TAKES)
		return;
	client_free(c);
}

/* Closes the oldest client that has not asked yet, or has its answer. If there is none, closes the
 * oldest client that takes its answer. Returns false if there is none. */
static bool make_room(struct http *h)
{
	struct http_client *c, *oldest = NULL;

	for (c = h->clients; c; c = c->next) {
		if (c->state == CLIENT_TAKES && !oldest)
			oldest = c;
		if (c->state != CLIENT_ASKS && c->state != CLIENT_LEAVES)
			continue;
		oldest = c;
		break;
	}
	if (oldest)
		client_free(oldest);
	return oldest;
}

static void client_begin(struct http *h, int fd)
{
	struct http_client *c = calloc(1, sizeof(*c));

	if (c)
		c->bev = bufferevent_socket_new(h->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->bev) {
		free(c);
		evutil_closesocket(fd);
		return;
	}
	c->http = h;
	h->n_clients++;
	DL_APPEND(h->clients, c);
	c->deadline = evtimer_new(h->base, on_deadline, c);
	if (!c->deadline) {
		client_free(c);
		return;
	}
	deadline_set(c, HTTP_ASK_S);
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, HTTP_REQUEST_MAX);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len,
		      void *arg)
{
	struct http *h = arg;

	(void)l, (void)from, (void)len;
	if (h->n_clients >= h->clients_max && !make_room(h))
		evutil_closesocket(fd);
	else
		client_begin(h, fd);
}

/* Descriptors or memory are used up. Without a pause, libevent would try again at once, for
 * ever. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	const struct timeval time = { .tv_sec = PAUSE_S };
	struct http *h = arg;

	if (make_room(h))
		return;
	evconnlistener_disable(l);
	evtimer_add(h->pause, &time);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd, (void)what;
	evconnlistener_enable(h->listener);
}

/* As many connections as there are descriptors for. */
static unsigned int clients_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return HTTP_CLIENTS_MAX;
	if (limit.rlim_cur < HTTP_CLIENTS_MAX + OWN_DESCRIPTORS &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = HTTP_CLIENTS_MAX + OWN_DESCRIPTORS;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= HTTP_CLIENTS_MAX + OWN_DESCRIPTORS)
		return HTTP_CLIENTS_MAX;
	return limit.rlim_cur > 2 * OWN_DESCRIPTORS ? limit.rlim_cur - OWN_DESCRIPTORS
						    : OWN_DESCRIPTORS;
}

struct http *http_open(struct event_base *base, int listener, http_serve_fn *serve, void *arg)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	*h = (struct http){
		.base = base, .serve = serve, .arg = arg, .clients_max = clients_max()
	};
	h->pause = evtimer_new(base, on_pause_over, h);
	h->listener = evconnlistener_new(
		base, on_accept, h, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1, listener);
	if (!h->pause || !h->listener) {
		http_free(h);
		return NULL;
	}
	evconnlistener_set_error_cb(h->listener, on_accept_error);
	return h;
}

void http_free(struct http *h)
{
	struct http_client *c, *next;

	if (!h)
		return;
	for (c = h->clients; c; c = next) {
		next = c->next;
		client_free(c);
	}
	if (h->listener)
		evconnlistener_free(h->listener);
	if (h->pause)
		event_free(h->pause);
	free(h);
}

bool http_may_stream(const struct http *h)
{
	return h->n_streams < HTTP_STREAMS_MAX;
}

bool http_has_streams(const struct http *h)
{
	return h->n_streams > 0;
}

bool http_drop_slow(struct http *h)
{
	struct http_client *c = h->clients;

	while (c && !evbuffer_get_length(bufferevent_get_output(c->bev)))
		c = c->next;
	if (c)
		client_free(c);
	return c;
}

void http_send_event(struct http *h, struct evbuffer *line)
{
	struct http_client *c, *next;
	struct evbuffer *out;

	for (c = h->clients; c; c = next) {
		next = c->next;
		if (c->state != CLIENT_STREAMS)
			continue;
		out = bufferevent_get_output(c->bev);
		if (evbuffer_get_length(out) > STREAM_BEHIND) {
			client_free(c);
			continue;
		}
		evbuffer_add_printf(out, "data: ");
		evbuffer_add_buffer_reference(out, line);
		evbuffer_add(out, "\n", 1);
	}
}
