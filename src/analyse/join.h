/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * join.h - joins the requests of NFS in the recording of a client with the operations in the
 * recording of its server that served them. So the time of a request at the client is known by
 * parts: slot, queue, network, and the strata of the server.
 *
 * A request and its operation have the same xid, a number of 32 bits. Only durations of the two
 * hosts are put together, so their clocks may differ. Times of day choose among equal xids: the
 * difference of the clocks is the usual one between xids that occur once on each side.
 *
 * Recordings are hostile. All requests and served operations are kept until join_done().
 */
#ifndef IOSTRATA_ANALYSE_JOIN_H
#define IOSTRATA_ANALYSE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/recording.h"

struct join_text;

/* The joined requests with the same procedure. The times after @total_ns add up to it. */
struct join_row {
	const char *op; /* the procedure, hostile; "": not known */
	uint64_t count;
	uint64_t total_ns;          /* at the client, from the request's begin to its answer */
	uint64_t tag_ns, queue_ns;  /* until a slot was free, until the request was sent */
	uint64_t network_ns;        /* with the server, but in no operation there */
	uint64_t strata[ST_N];      /* of the operations that served them */
	uint64_t mean_ns[4 + ST_N]; /* of total, tag, queue, network and the strata */
};

/* Why a request, or a served operation, is not joined. */
enum join_why {
	JOIN_NO_XID,    /* the kernel did not tell its xid */
	JOIN_ELSEWHERE, /* sent to an address without a joined request */
	JOIN_OUTSIDE,   /* no recording of the other side has its time */
	JOIN_ALONE,     /* none of the others: the other side has no such record */
	JOIN_LONGER, /* the operation took longer than the request: nfsd has sent the answer before
		      * the operation ends */
	JOIN_WHYS,
};

struct join_side {
	uint64_t count; /* of requests, or of served operations */
	uint64_t unjoined[JOIN_WHYS];
};

/* A request with the operation that served it. Texts are hostile; "": not known. Each host has its
 * own CLOCK_MONOTONIC. */
struct joined {
	const char *client, *served_by; /* names of the hosts */
	const char *server, *op;        /* the address that the client asked, and the procedure */
	uint64_t xid;
	uint64_t start_ns;       /* of the request, CLOCK_MONOTONIC of the client */
	uint64_t since_ns;       /* the same, counted from the beginning of the recording */
	uint64_t served_from_ns; /* of the operation, CLOCK_MONOTONIC of the server */
	/* the request's time; the times after the first add up to it */
	uint64_t total_ns, tag_ns, queue_ns, network_ns, served_ns;
	uint64_t strata[ST_N]; /* of the operation; their sum is @served_ns */
	unsigned int missing;  /* strata, as 1 << stratum, not measured on the server */
};

struct join {
	/* before join_make(): is told each joined request, in the order of recordings and xids; may
	 * be NULL. Texts of @one are valid until join_done(). */
	void (*tell)(void *arg, const struct joined *one);
	void *tell_arg;
	/* after join_make() */
	struct join_row *rows; /* most time first */
	size_t n_rows;
	uint64_t joined;
	struct join_side requests, served;
	unsigned int missing; /* strata, as 1 << stratum, not measured on a server */
	/* private */
	struct join_request *request;
	struct join_served *serve;
	struct join_span *spans; /* of the recordings */
	uint8_t *strata;         /* of the operations, packed */
	struct join_text *texts; /* addresses and procedures */
	size_t n_requests, requests_cap, n_served, served_cap, n_spans, spans_cap;
	size_t strata_len, strata_cap;
};

/* Records of @rec follow. Returns 0 or -ENOMEM. */
int join_begin(struct join *j, const struct recording *rec);

/* Adds @ev if it is a request to a server, or an operation that served one. Returns 0 or
 * -ENOMEM. */
int join_add(struct join *j, const struct recording *rec, const struct stored_event *ev);

/* All records of @rec are added. */
void join_end(struct join *j, const struct recording *rec);

/* Joins what was added. Returns 0 or -ENOMEM. */
int join_make(struct join *j);

/* Whether there are both requests and served operations. */
bool join_has_both(const struct join *j);

void join_done(struct join *j);

#endif
