/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * places.h - which rows have series: at most as many as the budget of --series allows. All others
 * count in a coarser row, so that the sums of all series stay the whole. Knows no figures.
 */
#ifndef IOSTRATA_SERVE_PLACES_H
#define IOSTRATA_SERVE_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

enum place_kind { PLACE_OPS, PLACE_RQS, PLACE_SERVERS, PLACE_BUSY, PLACE_DISK, PLACE_KINDS };

/* The labels of a row. All bytes count, also those between and after the members. */
struct total_key {
	unsigned int kind; /* enum place_kind */
	unsigned int id;   /* of a struct key */
	unsigned int op;   /* enum op_kind or OPS_OTHER; enum rq_op; or enum server_protocol */
	char of[32];       /* file system or disk, or kind of requests to servers; safe UTF-8, as
			    * text_label() makes it */
	char disk[32];     /* with PLACE_BUSY: for which they wait; likewise */
};

enum place_state { PLACE_WAITS, PLACE_SHOWN };

struct place {
	struct total_key key;
	enum place_state state;
	bool counts;       /* the row has been shown at 0, so now it may count */
	bool detail;       /* of an operation on a file system, for example; else of several */
	unsigned int cost; /* series of the row */
	double use;        /* ns of I/O, fading as struct key has it */
	uint64_t used_ns;  /* when it last counted, CLOCK_MONOTONIC */
	UT_hash_handle hh;
};

struct places {
	unsigned int budget; /* for all rows together */
	unsigned int used;
	struct place *list; /* most used first, after places_settle() */
	uint64_t now;
	double use; /* of all */
	/* a scraper that counts from the first sample of a series on has come at this time; 0:
	 * never */
	uint64_t scraped_ns;
};

/* A row that did not count for so long may give up its place. */
#define PLACE_IDLE_NS (300ULL * 1000000000)

void places_done(struct places *p);

/* Begins an interval. */
void places_turn(struct places *p, uint64_t now);

/* Notes that the row @key, which needs @cost series, has @ns of I/O in this interval. Returns false
 * if out of memory. */
bool places_use(struct places *p, const struct total_key *key, unsigned int cost, uint64_t ns);

/* Gives places to the rows noted, the most used first, as far as the budget goes. A row with a
 * place keeps it as long as it counts. @gone is called for each row that loses its place. */
typedef void place_gone_fn(void *arg, const struct total_key *key);
void places_settle(struct places *p, place_gone_fn *gone, void *arg);

/* The place of @key, or NULL if it has none. With @cost, a row of several is given a place if
 * there is room. */
struct place *places_find(struct places *p, const struct total_key *key, unsigned int cost);

/* Takes the place of @key, whose row has been removed. */
void places_remove(struct places *p, const struct total_key *key);

/* All rows have been shown to a scraper that needs their first sample. */
void places_scraped(struct places *p, uint64_t now);

/* How many rows of @kind counted in the last minutes without a place. */
unsigned int places_folded(const struct places *p, enum place_kind kind);

#endif
