// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/columns.h"
#include "base/encode.h"
#include "base/list.h"
#include "capture/batch.h"

/* How far the difference of two clocks may be from the usual one: they drift by up to 1/1000, as
 * both may be adjusted by 1/2000 (adjtimex(2)). */
#define DRIFT_NS(since_ns) (10000000ULL + (since_ns) / 1000)

/* The address of a server, or the name of a procedure with the sums of its row. */
struct join_text {
	char text[SERVER_LEN]; /* hostile */
	bool joined;           /* the address of a joined request */
	struct join_row row;
	UT_hash_handle hh;
};

struct join_span {
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;     /* the begin by CLOCK_MONOTONIC */
	char *host;                /* hostile; owned */
	unsigned int missing;      /* strata, as 1 << stratum */
	/* the first ones of join.request and join.serve, after they are sorted, and how many */
	size_t requests, n_requests, served, n_served;
};

/* The members that a request and an operation have in common. */
struct join_one {
	uint64_t xid;   /* + 1; 0: not known */
	uint64_t at_ns; /* sent, or begun; CLOCK_REALTIME of its host */
	unsigned int recording;
	bool joined, inside; /* inside: in the time of a recording of the other side */
	bool longer;         /* only joined if the operation had taken as long as the request */
};

struct join_request {
	struct join_one one;
	uint64_t tag_ns, queue_ns, server_ns;
	struct join_text *op, *server;
};

struct join_served {
	struct join_one one;
	uint64_t total_ns;
	size_t strata; /* place in join.strata */
};

/* The requests of one recording and the operations of another, those not yet joined, by xid and
 * time. */
struct pair {
	struct join_request **requests;
	struct join_served **served;
	size_t n_requests, n_served;
	uint64_t begin_ns; /* of the requests' recording */
	/* the clock of the server's host is so much later; only in known: without it, that of the
	 * recordings is taken */
	int64_t offset_ns;
	bool known;
};

static uint64_t real_ns(const struct recording *rec, uint64_t ns)
{
	return ns - rec->header.monotonic_ns + rec->header.realtime_ns;
}

int join_begin(struct join *j, const struct recording *rec)
{
	struct join_span *span;

	if (list_reserve((void **)&j->spans, &j->spans_cap, j->n_spans, sizeof(*j->spans)))
		return -ENOMEM;
	span = &j->spans[j->n_spans++];
	*span = (struct join_span){ .begin_ns = rec->header.realtime_ns,
				    .monotonic_ns = rec->header.monotonic_ns,
				    .host = strdup(rec->header.host ? rec->header.host : ""),
				    .missing = rec->strata_missing };
	return span->host ? 0 : -ENOMEM;
}

void join_end(struct join *j, const struct recording *rec)
{
	struct join_span *span = &j->spans[j->n_spans - 1];

	span->end_ns = span->begin_ns + recording_covers(rec);
	if (span->n_served)
		j->missing |= span->missing;
}

/* The entry of @text. Returns NULL if out of memory. */
static struct join_text *text_find(struct join *j, const char *text, size_t max)
{
	struct join_text *t;
	size_t len = strnlen(text, max - 1);

	HASH_FIND(hh, j->texts, text, len, t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	memcpy(t->text, text, len);
	t->row.op = t->text;
	HASH_ADD_KEYPTR(hh, j->texts, t->text, len, t);
	return t;
}

static int request_add(struct join *j, const struct recording *rec,
		       const struct stored_server_request *rq)
{
	struct join_request *r;

	if (list_reserve((void **)&j->request, &j->requests_cap, j->n_requests, sizeof(*r)))
		return -ENOMEM;
	r = &j->request[j->n_requests];
	*r = (struct join_request){
		.one = { .xid = rq->xid,
			 .at_ns = real_ns(rec, rq->q_ns + rq->tag_ns + rq->queue_ns),
			 .recording = j->n_spans - 1 },
		.tag_ns = rq->tag_ns,
		.queue_ns = rq->queue_ns,
		.server_ns = rq->server_ns,
		.op = text_find(j, catalog_server_text(&rec->catalog, rq->op), SERVER_OP_LEN),
		.server = text_find(j, catalog_server_text(&rec->catalog, rq->server), SERVER_LEN),
	};
	if (!r->op || !r->server)
		return -ENOMEM;
	j->spans[j->n_spans - 1].n_requests++;
	j->n_requests++;
	return 0;
}

/* Packs the strata of @op: those that are not 0. Returns 0 or -ENOMEM. */
static int strata_pack(struct join *j, const struct stored_op *op)
{
	uint64_t set = 0;
	size_t need = j->strata_len + (1 + ST_N) * VARINT_MAX;
	uint8_t *p;

	if (need > j->strata_cap && bytes_reserve(&j->strata, &j->strata_cap, need + need / 2))
		return -ENOMEM;
	for (int i = 0; i < ST_N; i++)
		set |= (uint64_t) !!op->strata[i] << i;
	p = varint_put(j->strata + j->strata_len, set);
	for (int i = 0; i < ST_N; i++)
		if (op->strata[i])
			p = varint_put(p, op->strata[i]);
	j->strata_len = p - j->strata;
	return 0;
}

static int served_add(struct join *j, const struct recording *rec, const struct stored_op *op)
{
	struct join_served *s;
	size_t at = j->strata_len;

	if (list_reserve((void **)&j->serve, &j->served_cap, j->n_served, sizeof(*s)) ||
	    strata_pack(j, op))
		return -ENOMEM;
	s = &j->serve[j->n_served++];
	*s = (struct join_served){
		.one = { .xid = op->xid,
			 .at_ns = real_ns(rec, op->start_ns),
			 .recording = j->n_spans - 1 },
		.total_ns = stored_op_total(op),
		.strata = at,
	};
	j->spans[j->n_spans - 1].n_served++;
	return 0;
}

int join_add(struct join *j, const struct recording *rec, const struct stored_event *ev)
{
	if (ev->kind == CHUNK_SERVER_REQUESTS)
		return ev->server_request.protocol == SERVER_NFS
			       ? request_add(j, rec, &ev->server_request)
			       : 0;
	if (ev->kind == CHUNK_OPS && ev->op.kind == OP_SERVED && !(ev->op.call & CALL_SMB))
		return served_add(j, rec, &ev->op);
	return 0;
}

bool join_has_both(const struct join *j)
{
	return j->n_requests && j->n_served;
}

/* By recording, xid and time. */
static int one_compare(const struct join_one *a, const struct join_one *b)
{
	int by = compare_u64(a->recording, b->recording);

	by = by ? by : compare_u64(a->xid, b->xid);
	return by ? by : compare_u64(a->at_ns, b->at_ns);
}

static int request_compare(const void *a, const void *b)
{
	return one_compare(&((const struct join_request *)a)->one,
			   &((const struct join_request *)b)->one);
}

static int served_compare(const void *a, const void *b)
{
	return one_compare(&((const struct join_served *)a)->one,
			   &((const struct join_served *)b)->one);
}

static int row_compare(const void *a, const void *b)
{
	const struct join_row *x = a, *y = b;
	int by = compare_u64(y->total_ns, x->total_ns);

	return by ? by : strcmp(x->op, y->op);
}

static int offset_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Lists what is not joined yet, of the recordings @client and @server. */
static void pair_fill(struct pair *p, const struct join *j, const struct join_span *client,
		      const struct join_span *server)
{
	struct join_request *r = j->request + client->requests;
	struct join_served *s = j->serve + server->served;

	p->n_requests = p->n_served = 0;
	p->begin_ns = client->begin_ns;
	p->known = false;
	p->offset_ns = 0;
	for (size_t i = 0; i < client->n_requests; i++)
		if (!r[i].one.joined)
			p->requests[p->n_requests++] = &r[i];
	for (size_t i = 0; i < server->n_served; i++)
		if (!s[i].one.joined)
			p->served[p->n_served++] = &s[i];
}

/* How much later the operation began than the request was sent, as the clocks tell. */
static int64_t later_ns(const struct join_request *r, const struct join_served *s)
{
	return s->one.at_ns - r->one.at_ns;
}

/* The distance of the operation's begin from the request's, without the difference of the clocks.
 */
static uint64_t distance_ns(const struct pair *p, const struct join_request *r,
			    const struct join_served *s)
{
	int64_t ns = (uint64_t)later_ns(r, s) - (uint64_t)p->offset_ns;

	return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

/* Whether the operation may lie in the time of the request, as the clocks tell. */
static bool is_near(const struct pair *p, const struct join_request *r, const struct join_served *s)
{
	uint64_t most = r->server_ns + DRIFT_NS(r->one.at_ns - p->begin_ns);

	return !p->known || most < r->server_ns || distance_ns(p, r, s) <= most;
}

/* The time of a request with the server has room for the operation. */
static bool fits(const struct join_request *r, const struct join_served *s)
{
	return s->total_ns <= r->server_ns;
}

static size_t same_requests(const struct pair *p, size_t i)
{
	size_t n = 1;

	while (i + n < p->n_requests && p->requests[i + n]->one.xid == p->requests[i]->one.xid)
		n++;
	return n;
}

static size_t same_served(const struct pair *p, size_t i)
{
	size_t n = 1;

	while (i + n < p->n_served && p->served[i + n]->one.xid == p->served[i]->one.xid)
		n++;
	return n;
}

/* Calls @take for each xid on both sides, with its first request and its first operation. */
static void xids_walk(struct pair *p, void (*take)(struct pair *p, size_t i, size_t k, void *arg),
		      void *arg)
{
	size_t i = 0, k = 0;
	uint64_t a, b;

	while (i < p->n_requests && k < p->n_served) {
		a = p->requests[i]->one.xid;
		b = p->served[k]->one.xid;
		if (a == b && a)
			take(p, i, k, arg);
		if (a <= b)
			i += same_requests(p, i);
		if (b <= a)
			k += same_served(p, k);
	}
}

struct offsets {
	int64_t *list;
	size_t n;
};

static void offset_take(struct pair *p, size_t i, size_t k, void *arg)
{
	struct offsets *o = arg;

	if (same_requests(p, i) == 1 && same_served(p, k) == 1 &&
	    fits(p->requests[i], p->served[k]))
		o->list[o->n++] = later_ns(p->requests[i], p->served[k]);
}

/* The usual difference of the clocks. Returns 0 or -ENOMEM. */
static int offset_find(struct pair *p)
{
	size_t most = p->n_requests < p->n_served ? p->n_requests : p->n_served;
	struct offsets o = { .list = calloc(most + 1, sizeof(*o.list)) };

	if (!o.list)
		return -ENOMEM;
	xids_walk(p, offset_take, &o);
	if (o.n) {
		qsort(o.list, o.n, sizeof(*o.list), offset_compare);
		p->offset_ns = o.list[o.n / 2];
		p->known = true;
	}
	free(o.list);
	return 0;
}

/* Sets those of @strata that are not 0; before, all are 0. */
static void strata_unpack(const struct join *j, const struct join_served *s, uint64_t strata[ST_N])
{
	const uint8_t *at = j->strata + s->strata, *end = j->strata + j->strata_len;
	uint64_t set = 0;

	varint_get(&at, end, &set);
	for (int i = 0; i < ST_N; i++)
		if (set >> i & 1)
			varint_get(&at, end, &strata[i]);
}

static struct joined joined_make(const struct join *j, const struct join_request *r,
				 const struct join_served *s)
{
	const struct join_span *client = &j->spans[r->one.recording];
	const struct join_span *server = &j->spans[s->one.recording];
	uint64_t since = r->one.at_ns - r->tag_ns - r->queue_ns - client->begin_ns;
	struct joined one = {
		.client = client->host,
		.served_by = server->host,
		.server = r->server->text,
		.op = r->op->text,
		.xid = r->one.xid - 1,
		.start_ns = since + client->monotonic_ns,
		.since_ns = since,
		.served_from_ns = s->one.at_ns - server->begin_ns + server->monotonic_ns,
		.total_ns = r->tag_ns + r->queue_ns + r->server_ns,
		.tag_ns = r->tag_ns,
		.queue_ns = r->queue_ns,
		.network_ns = r->server_ns - s->total_ns,
		.served_ns = s->total_ns,
		.missing = server->missing,
	};

	strata_unpack(j, s, one.strata);
	return one;
}

static void row_add(struct join_row *row, const struct joined *one)
{
	row->count++;
	row->total_ns += one->total_ns;
	row->tag_ns += one->tag_ns;
	row->queue_ns += one->queue_ns;
	row->network_ns += one->network_ns;
	for (int i = 0; i < ST_N; i++)
		row->strata[i] += one->strata[i];
}

static void one_join(struct join *j, struct join_request *r, struct join_served *s)
{
	struct joined one = joined_make(j, r, s);

	r->one.joined = s->one.joined = r->server->joined = true;
	row_add(&r->op->row, &one);
	j->joined++;
	if (j->tell)
		j->tell(j->tell_arg, &one);
}

/* Joins the requests of an xid, from the first one, @i, with the operations from @k on, both in
 * order. A request or an operation without a partner is skipped. */
static void xid_join(struct pair *p, size_t i, size_t k, void *arg)
{
	size_t i_end = i + same_requests(p, i), k_end = k + same_served(p, k);
	struct join_request **r = p->requests;
	struct join_served **s = p->served;

	while (i < i_end && k < k_end) {
		bool near = is_near(p, r[i], s[k]);

		if (near && fits(r[i], s[k])) {
			one_join(arg, r[i++], s[k++]);
			continue;
		}
		r[i]->one.longer |= near;
		s[k]->one.longer |= near;
		if (later_ns(r[i], s[k]) < p->offset_ns)
			k++;
		else
			i++;
	}
}

/* Notes what is in the time of the other recording. */
static void pair_look(const struct pair *p, const struct join_span *client,
		      const struct join_span *server)
{
	uint64_t at;

	for (size_t i = 0; i < p->n_requests; i++) {
		at = p->requests[i]->one.at_ns + p->offset_ns;
		p->requests[i]->one.inside |= at >= server->begin_ns && at < server->end_ns;
	}
	for (size_t k = 0; k < p->n_served; k++) {
		at = p->served[k]->one.at_ns - p->offset_ns;
		p->served[k]->one.inside |= at >= client->begin_ns && at < client->end_ns;
	}
}

/* Joins what is in the recordings @client and @server. Returns 0 or -ENOMEM. */
static int pair_join(struct join *j, struct pair *p, const struct join_span *client,
		     const struct join_span *server)
{
	if (!client->n_requests || !server->n_served)
		return 0;
	pair_fill(p, j, client, server);
	if (offset_find(p))
		return -ENOMEM;
	xids_walk(p, xid_join, j);
	pair_look(p, client, server);
	return 0;
}

static void side_count(struct join_side *side, const struct join_one *one, bool elsewhere)
{
	side->count++;
	if (one->joined)
		return;
	side->unjoined[!one->xid      ? JOIN_NO_XID
		       : one->longer  ? JOIN_LONGER
		       : elsewhere    ? JOIN_ELSEWHERE
		       : !one->inside ? JOIN_OUTSIDE
				      : JOIN_ALONE]++;
}

static void sides_count(struct join *j)
{
	for (size_t i = 0; i < j->n_requests; i++)
		side_count(&j->requests, &j->request[i].one,
			   j->joined && !j->request[i].server->joined);
	for (size_t i = 0; i < j->n_served; i++)
		side_count(&j->served, &j->serve[i].one, false);
}

static void means_set(struct join_row *row)
{
	const uint64_t sums[] = { row->total_ns, row->tag_ns, row->queue_ns, row->network_ns };

	for (int i = 0; i < 4; i++)
		row->mean_ns[i] = sums[i] / row->count;
	for (int i = 0; i < ST_N; i++)
		row->mean_ns[4 + i] = row->strata[i] / row->count;
}

/* Returns 0 or -ENOMEM. */
static int rows_make(struct join *j)
{
	struct join_text *t, *next;

	j->rows = calloc(HASH_COUNT(j->texts) + 1, sizeof(*j->rows));
	if (!j->rows)
		return -ENOMEM;
	HASH_ITER (hh, j->texts, t, next) {
		if (!t->row.count)
			continue;
		means_set(&t->row);
		j->rows[j->n_rows++] = t->row;
	}
	qsort(j->rows, j->n_rows, sizeof(*j->rows), row_compare);
	return 0;
}

/* Puts all in order, and notes the places of the recordings. */
static void spans_sort(struct join *j)
{
	size_t requests = 0, served = 0;

	if (j->n_requests)
		qsort(j->request, j->n_requests, sizeof(*j->request), request_compare);
	if (j->n_served)
		qsort(j->serve, j->n_served, sizeof(*j->serve), served_compare);
	for (size_t i = 0; i < j->n_spans; i++) {
		j->spans[i].requests = requests;
		j->spans[i].served = served;
		requests += j->spans[i].n_requests;
		served += j->spans[i].n_served;
	}
}

int join_make(struct join *j)
{
	struct pair p = { .requests = calloc(j->n_requests + 1, sizeof(*p.requests)),
			  .served = calloc(j->n_served + 1, sizeof(*p.served)) };
	int err = p.requests && p.served ? 0 : -ENOMEM;

	spans_sort(j);
	for (size_t c = 0; c < j->n_spans; c++)
		for (size_t s = 0; s < j->n_spans && !err; s++)
			err = pair_join(j, &p, &j->spans[c], &j->spans[s]);
	free(p.requests);
	free(p.served);
	sides_count(j);
	return err ? err : rows_make(j);
}

void join_done(struct join *j)
{
	struct join_text *t, *next;

	HASH_ITER (hh, j->texts, t, next) {
		HASH_DEL(j->texts, t);
		free(t);
	}
	for (size_t i = 0; i < j->n_spans; i++)
		free(j->spans[i].host);
	free(j->request);
	free(j->serve);
	free(j->spans);
	free(j->strata);
	free(j->rows);
	*j = (struct join){};
}
