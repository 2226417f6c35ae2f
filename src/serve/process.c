// SPDX-License-Identifier: GPL-2.0-only
#include "serve/process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/reason.h"
#include "host/privilege.h"
#include "serve/feed.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/totals.h"
#include "show/breakdown_json.h"
#include "show/page.h"

/* After this time without a snapshot the figures are too old. */
#define STALE_NS (10ULL * NS_PER_S)

enum { GZIP = 16 }; /* for deflateInit2(): a header of gzip */

/* Most bytes of old figures that wait for slow clients. */
enum { HELD_MAX = 32 << 20 };

/* Memory of this size and more is given back when it is freed. */
enum { LARGE = 128 << 10 };

/* Bytes made once in an interval, when they are first asked for. */
struct made {
	char *data; /* NULL: not made */
	size_t len;
	struct evbuffer *shared; /* owns @data, once it was sent */
};

enum { METRICS_PLAIN, METRICS_OPEN, METRICS_N };

struct process {
	const struct serve_conf *conf;
	struct event_base *base;
	struct http *http;
	struct bufferevent *feed_bev;
	int statm;
	uint64_t start_ns;
	struct breakdown_view view;
	struct totals totals;
	struct feed last; /* of the last interval */
	uint64_t fed_ns;  /* when it came, CLOCK_MONOTONIC; 0: never */
	char *page;       /* the live page */
	size_t page_len;
	struct made json, metrics[METRICS_N], zipped[METRICS_N];
	size_t held; /* bytes made and sent, as long as a client or .json etc. has them */
	int err;     /* of the feed */
};

static void made_free(struct made *m)
{
	if (m->shared)
		evbuffer_free(m->shared);
	else
		free(m->data);
	*m = (struct made){};
}

static void on_last_sent(const void *data, size_t len, void *arg)
{
	struct process *p = arg;

	p->held -= len;
	free((void *)data);
}

/* A reply made once and sent to many. Returns NULL if it could not be made. */
static struct evbuffer *made_share(struct process *p, struct made *m)
{
	if (m->shared || !m->data)
		return m->shared;
	m->shared = evbuffer_new();
	if (m->shared && evbuffer_add_reference(m->shared, m->data, m->len, on_last_sent, p)) {
		evbuffer_free(m->shared);
		m->shared = NULL;
	}
	if (m->shared)
		p->held += m->len;
	return m->shared;
}

/* Slow clients take the figures of many seconds, one after the other: they must not fill the
 * memory. */
static void made_forget(struct process *p)
{
	made_free(&p->json);
	for (int i = 0; i < METRICS_N; i++) {
		made_free(&p->metrics[i]);
		made_free(&p->zipped[i]);
	}
	while (p->held > HELD_MAX && http_drop_slow(p->http))
		;
}

/* Closes the stream @f, whose bytes are in @m. Forgets them after an error. */
static void made_close(FILE *f, int err, struct made *m)
{
	if ((f && fclose(f)) || err)
		made_free(m);
}

static struct made *json_made(struct process *p)
{
	FILE *f;

	if (p->json.data)
		return &p->json;
	f = open_memstream(&p->json.data, &p->json.len);
	made_close(f, f ? breakdown_json(f, &p->view, &p->last.sn, NULL, 0) : -ENOMEM, &p->json);
	return &p->json;
}

static struct made *metrics_made(struct process *p, int format)
{
	struct made *m = &p->metrics[format];
	struct feed_self self;
	struct metrics metrics = {
		.totals = &p->totals,
		.version = p->conf->version,
		.view = &p->view,
		.start_ns = p->start_ns,
		.series = p->conf->series,
	};
	FILE *f;

	if (m->data)
		return m;
	feed_self(&self, p->statm);
	metrics.cpu_ns = self.cpu_ns + p->last.self.cpu_ns;
	if (self.resident_bytes && p->last.self.resident_bytes)
		metrics.resident_bytes = self.resident_bytes + p->last.self.resident_bytes;
	f = open_memstream(&m->data, &m->len);
	made_close(f, f ? metrics_write(f, &metrics, format == METRICS_OPEN) : -ENOMEM, m);
	return m;
}

static struct made *zipped_made(struct process *p, int format)
{
	const struct made *plain = metrics_made(p, format);
	struct made *m = &p->zipped[format];
	z_stream z = {};

	if (m->data || !plain->data ||
	    deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY))
		return m;
	m->len = deflateBound(&z, plain->len);
	m->data = malloc(m->len);
	z.next_in = (Bytef *)plain->data;
	z.avail_in = plain->len;
	z.next_out = (Bytef *)m->data;
	z.avail_out = m->len;
	if (!m->data || deflate(&z, Z_FINISH) != Z_STREAM_END)
		made_free(m);
	else
		m->len = z.total_out;
	deflateEnd(&z);
	return m;
}

static void answer_text(struct http_client *c, int status, const char *text)
{
	http_answer(c,
		    &(struct http_answer){ .status = status, .body = text, .len = strlen(text) });
}

static void answer_made(struct process *p, struct http_client *c, struct made *m, const char *type,
			bool gzip)
{
	struct evbuffer *shared = made_share(p, m);

	if (!shared)
		answer_text(c, 503, "out of memory\n");
	else
		http_answer(c,
			    &(struct http_answer){
				    .status = 200, .type = type, .shared = shared, .gzip = gzip });
}

/* Old figures would be taken for present ones. */
static bool is_fresh(const struct process *p)
{
	return p->fed_ns && clock_ns() - p->fed_ns < STALE_NS;
}

static void answer_metrics(struct process *p, const struct http_request *rq, struct http_client *c)
{
	static const char *const types[METRICS_N] = {
		"text/plain; version=0.0.4; charset=utf-8",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
	};
	bool gzip = http_accepts(rq->accept_encoding, "gzip");
	int format = http_accepts(rq->accept, "application/openmetrics-text") ? METRICS_OPEN
									      : METRICS_PLAIN;

	answer_made(p, c, gzip ? zipped_made(p, format) : metrics_made(p, format), types[format],
		    gzip);
	/* Prometheus, and others that compute as it does, send this */
	totals_scraped(&p->totals, rq->scrape_timeout);
}

/* If the address has the token, the browser stores it for the requests of the page. */
static void answer_page(struct process *p, const struct http_request *rq, struct http_client *c)
{
	char headers[TOKEN_CAP + 256];
	int n = snprintf(headers, sizeof(headers),
			 "Content-Security-Policy: frame-ancestors 'none'; base-uri 'none'; "
			 "form-action 'none'\r\n");

	if (guard_in_query(&p->conf->guard, rq))
		snprintf(headers + n, sizeof(headers) - n,
			 "Set-Cookie: iostrata=%s; HttpOnly; SameSite=Strict; Path=/\r\n",
			 p->conf->guard.token);
	http_answer(c, &(struct http_answer){ .status = 200,
					      .type = "text/html; charset=utf-8",
					      .headers = headers,
					      .body = p->page,
					      .len = p->page_len });
}

static void answer_events(struct process *p, struct http_client *c)
{
	if (!http_may_stream(p->http))
		answer_text(c, 503, "too many pages are open\n");
	else
		http_answer(c, &(struct http_answer){ .status = 200,
						      .type = "text/event-stream",
						      .stream = true });
}

static const char *refusal(int status)
{
	if (status == 401)
		return "the token is missing or wrong: the tool printed it at its start, or read "
		       "it from --token-file\n";
	if (status == 421)
		return "only requests to localhost, 127.0.0.1 or [::1] are answered\n";
	return "requests from pages of other web sites are refused\n";
}

static void serve(void *arg, const struct http_request *rq, struct http_client *c)
{
	struct process *p = arg;
	int status = guard_check(&p->conf->guard, rq);

	if (status)
		answer_text(c, status, refusal(status));
	else if (!strcmp(rq->path, "/"))
		answer_page(p, rq, c);
	else if (!strcmp(rq->path, "/events"))
		answer_events(p, c);
	else if (strcmp(rq->path, "/metrics") != 0 && strcmp(rq->path, "/api/breakdown") != 0)
		answer_text(
			c, 404,
			"no such page: the pages are /, /metrics, /api/breakdown and /events\n");
	else if (!is_fresh(p))
		answer_text(c, 503,
			    p->fed_ns ? "no figures came for 10 seconds\n"
				      : "the first second is not over yet\n");
	else if (!strcmp(rq->path, "/metrics"))
		answer_metrics(p, rq, c);
	else
		answer_made(p, c, json_made(p), "application/json", false);
}

static void events_send(struct process *p)
{
	struct evbuffer *line = made_share(p, json_made(p));

	if (line)
		http_send_event(p->http, line);
}

static int frame_take(struct process *p, const void *frame, size_t len)
{
	struct feed next;
	int err = feed_unpack(frame, len, &next);

	if (err)
		return err;
	feed_done(&p->last);
	p->last = next;
	if (p->last.sn.devices)
		p->last.sn.devices = &p->last.devices;
	p->view.interval.until_ns = p->last.self.until_ns;
	p->fed_ns = clock_ns();
	made_forget(p);
	err = totals_add(&p->totals, &p->last.sn, &p->last.missing);
	if (!err && http_has_streams(p->http))
		events_send(p);
	return err;
}

static void on_feed(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct process *p = arg;
	char head[FEED_HEAD];
	const void *frame;
	uint64_t len;

	while (!p->err && evbuffer_copyout(in, head, sizeof(head)) == sizeof(head)) {
		len = feed_frame_len(head);
		if (len < FEED_HEAD || len > FEED_MAX)
			p->err = -EBADMSG;
		if (p->err || evbuffer_get_length(in) < len)
			break;
		frame = evbuffer_pullup(in, len);
		p->err = frame ? frame_take(p, frame, len) : -ENOMEM;
		evbuffer_drain(in, len);
	}
	if (p->err)
		event_base_loopbreak(p->base);
}

/* The tracing process has ended. */
static void on_feed_end(struct bufferevent *bev, short what, void *arg)
{
	struct process *p = arg;

	(void)bev, (void)what;
	event_base_loopbreak(p->base);
}

static int process_open(struct process *p, int feed)
{
	p->page = page_live(&p->page_len);
	p->base = event_base_new();
	if (p->page && p->base)
		p->http = http_open(p->base, p->conf->listener, serve, p);
	if (!p->http || evutil_make_socket_nonblocking(feed))
		return -ENOMEM;
	p->feed_bev = bufferevent_socket_new(p->base, feed, BEV_OPT_CLOSE_ON_FREE);
	if (!p->feed_bev)
		return -ENOMEM;
	bufferevent_setcb(p->feed_bev, on_feed, NULL, on_feed_end, p);
	bufferevent_enable(p->feed_bev, EV_READ);
	p->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	return 0;
}

static void process_done(struct process *p)
{
	if (p->feed_bev)
		bufferevent_free(p->feed_bev);
	made_forget(p);
	http_free(p->http);
	free(p->page);
	if (p->base)
		event_base_free(p->base);
	feed_done(&p->last);
	totals_done(&p->totals);
}

int serve_process(const struct serve_conf *conf, int feed, void (*warn)(const struct reason *why),
		  struct reason *why)
{
	struct process p = { .conf = conf, .view = conf->view, .start_ns = clock_day_ns() };
	int err;

	/* else glibc keeps the memory of texts of megabytes, in pieces, when they are freed */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	p.view.missing = &p.last.missing;
	totals_init(&p.totals, conf->view.by, conf->buckets, conf->keys_max, conf->series);
	p.totals.shows_pseudo = conf->view.chosen.fs.n;
	tzset(); /* reads a file */
	err = process_open(&p, feed);
	err = err ? err : totals_show_others(&p.totals);
	if (!err) {
		if (privilege_drop_all(why))
			warn(why);
		event_base_dispatch(p.base);
		err = p.err;
	}
	process_done(&p);
	return err ? reason_set(why, EXIT_FAILED, "cannot serve: %s", strerror(-err)) : 0;
}
