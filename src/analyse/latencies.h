/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * latencies.h - how many operations or requests took how long, by row and by interval of time; and
 * examples of the operations: the longest of each row and bin, of each row, 16 bins and half
 * octave, and of all. Fixed memory. Knows no names.
 */
#ifndef IOSTRATA_ANALYSE_LATENCIES_H
#define IOSTRATA_ANALYSE_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/cube.h"
#include "cell.h"

enum {
	LATENCY_HALF_LOG2 = HIST_SUB_BITS - 1,
	LATENCY_HALVES = HIST_N >> LATENCY_HALF_LOG2, /* half octaves */
	LATENCY_OPS = 48,      /* rows of operations; further ones share the last */
	LATENCY_REQUESTS = 48, /* rows of requests; likewise */
	LATENCY_ROWS = LATENCY_OPS + LATENCY_REQUESTS,
	LATENCY_JOINED_LOG2 = 4, /* 16 bins have an example for each half octave */
	LATENCY_JOINED = CUBE_BINS >> LATENCY_JOINED_LOG2,
	LATENCY_LONGEST = 1000,
};

/* One operation as an example. */
struct example {
	struct cube_key key; /* with all members, also those that the cube has folded */
	int64_t begin_ns;    /* as in struct cube_op */
	uint64_t total_ns;   /* 0: no example */
	uint64_t shares[SHARE_N];
	uint32_t tid;
	uint32_t error; /* errno; 0: it did not fail */
};

/* A row. Without padding: compared as bytes. */
struct latency_key {
	uint32_t dev, host; /* of requests */
	uint16_t call;      /* of asynchronous requests, else 0 */
	uint8_t kind;       /* enum op_kind, of requests enum rq_op */
	uint8_t fs;         /* as in struct cube_key */
	bool is_request, is_others;
	uint8_t pad[2];
};

struct latency_row {
	struct latency_key key;
	uint64_t count, total_ns;
	uint32_t (*heat)[LATENCY_HALVES];         /* CUBE_BINS of them; owned */
	struct example *longest;                  /* by bin; NULL for requests; owned */
	struct example (*halves)[LATENCY_HALVES]; /* by 16 bins; likewise */
};

/* At first all 0. */
struct latencies {
	struct latency_row rows[LATENCY_ROWS];
	size_t n;
	struct example *all; /* the longest of all: the shortest of them first, as a heap; owned */
	size_t n_all;
	/* private */
	size_t n_ops, n_requests;
	uint8_t recent[64]; /* rows + 1, by a hash of the key */
};

/* The half octave of a time: 2^(n/2 + 4) ns begins the even n, 1.5 times that the odd one. */
unsigned int latency_half(uint64_t ns);

/* Adds an operation that ended in @bin. Returns 0 or -ENOMEM. */
int latencies_op(struct latencies *l, const struct latency_key *key, const struct example *op,
		 unsigned int bin);

/* Adds a request. Returns 0 or -ENOMEM. */
int latencies_request(struct latencies *l, const struct latency_key *key, uint64_t ns,
		      unsigned int bin);

/* Joins bins in pairs. */
void latencies_halve(struct latencies *l);

void latencies_done(struct latencies *l);

#endif
