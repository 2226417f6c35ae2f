/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * totals.h - 64-bit sums since the start, by the labels of /metrics: the snapshots of all
 * intervals, added up. Decides which keys of --by have separate labels. Knows no format.
 */
#ifndef IOSTRATA_SERVE_TOTALS_H
#define IOSTRATA_SERVE_TOTALS_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "base/snapshot.h"
#include "serve/places.h"

/*
 * Upper bounds of Prometheus' buckets, inclusive. They are bounds of ours, less 1 ns: so each count
 * is exact. Every octave from 1.02 us to 8.59 s, or every half octave from 767 ns to 12.9 s, or
 * every third octave from 4.1 us to 8.59 s.
 */
enum { BOUNDS_FIRST_LOG2 = 10, BOUNDS_LAST_LOG2 = 33, BOUNDS_MAX = 49 };

struct bounds {
	uint64_t ns[BOUNDS_MAX]; /* ascending */
	unsigned int n;          /* the bucket "+Inf" is one more */
};

/* @buckets, "+Inf" included: 9, 25 or 50. */
void bounds_set(struct bounds *b, unsigned int buckets);

/* The first bound of @b not below the values of the bucket @bucket of hist.h; b->n: "+Inf". */
unsigned int bounds_find(const struct bounds *b, unsigned int bucket);

/*
 * A key of --by; or a file server, or the mount of a FUSE daemon. Up to .max keys of a struct keys
 * are shown: they have separate labels. The most used keys of the last minutes are shown, all
 * others count in KEY_OTHER. A key that loses its place counts in KEY_OTHER from then on. Its sums
 * stay as they are for KEY_LEAVES_NS, so that each scraper sees their end. Then they are removed.
 * So no sum ever decreases, and the additions to all sums in an interval are always the whole.
 */
enum key_state { KEY_WAITS, KEY_SHOWN, KEY_LEAVES, KEY_GONE };

#define KEY_LEAVES_NS (300ULL * 1000000000)

/* A key that counted in this time before keeps its place, unless another one counts for a hundred
 * times as much. */
#define KEY_COUNTS_NS (60ULL * 1000000000)

enum { KEY_OTHER = 1 }; /* an id; 0: without --by */

enum { OPS_OTHER = OP_N }; /* an op of struct total_key: kinds of operations without a row */

enum {
	KEY_LABELS = 3,
	SERVERS_MAX = 32, /* file servers and mounts of daemons with separate labels */
};

struct key {
	unsigned int id; /* 0: never shown */
	enum key_state state;
	double use;       /* ns of I/O, fading: by half in 87 intervals */
	uint64_t used_ns; /* when it last counted, CLOCK_MONOTONIC */
	uint64_t left_ns; /* with KEY_LEAVES: since when, CLOCK_MONOTONIC */
	/* Values of its labels, safe UTF-8 in @text; see key_label_names() and
	 * server_label_names. "" if it has none. */
	const char *labels[KEY_LABELS];
	unsigned int text_len;
	UT_hash_handle hh;
	char text[]; /* the labels, each with its NUL: two keys with the same labels are one */
};

struct keys {
	struct key *list; /* most used first, once they are chosen */
	unsigned int max, last_id, n_shown, n_leaving;
};

/* The sums of operations, of requests, or of requests to servers. */
struct total {
	struct total_key key;
	const struct key *owner;   /* NULL: without separate labels */
	const struct place *place; /* NULL: needs none */
	uint64_t errors, bytes;
	/* elapsed times, or device or server times; together they are the count */
	uint64_t buckets[BOUNDS_MAX + 1];
	UT_hash_handle hh;
	union {
		struct {
			uint64_t io_errors; /* of .errors */
			uint64_t total_ns, strata[ST_N];
			unsigned int measured; /* set of 1 << stratum: measured, at least once */
		};
		struct {
			uint64_t tag_ns, queue_ns, device_ns;
		};
		struct {
			/* .bytes: sent. Some protocols have no bytes, some no .tag_ns and
			 * .queue_ns: see struct protocol */
			uint64_t received_bytes, resent, tag_ns, queue_ns, server_ns;
		} served;
	};
};

/* A disk with requests. */
struct disk_total {
	struct total_key key;
	uint64_t device_ns; /* of the requests that ended in the last interval */
	bool has_busy;      /* the kernel has told the rest */
	uint64_t busy_ns;   /* with a request in progress, since the disk has this row */
	UT_hash_handle hh;
};

/* Operations in progress at the end of the last interval. Those that were there once stay, with 0.
 */
struct busy_total {
	struct total_key key; /* .disk: see struct unfinished */
	uint64_t count, oldest_ns;
	UT_hash_handle hh;
};

struct totals {
	/* set by totals_init(), and by its caller */
	enum by_key by;    /* BY_NONE, BY_COMM, BY_CGROUP or BY_CONTAINER */
	bool shows_pseudo; /* the user chose types of file systems; else proc, sysfs and others like
			    * them are one row */
	struct bounds bounds;
	/* the rest is private to totals.c, and read by metrics.c */
	struct keys keys, servers;            /* of --by; servers */
	struct total *ops, *rqs, *to_servers; /* in the order in which they came */
	struct disk_total *disks;
	struct busy_total *busy;
	struct places places;
	unsigned int measured; /* strata in the last interval: a set of 1 << stratum */
	uint64_t lost[LOST_N], missed;
	bool has_overhead;
	uint64_t bpf_run_ns, bpf_run_cnt;
	uint64_t duration_ns; /* of the last interval */
};

enum {
	SERIES_MIN = 500, /* of --series */
	/* series at most that no row has: of the run, of losses, of what is not measured */
	SERIES_OF_RUN = 32 + LOST_N + ST_N + 8 + 3 * SERVER_PROTOCOLS,
};

/* @series: the budget of all series. */
void totals_init(struct totals *s, enum by_key by, unsigned int buckets, unsigned int keys_max,
		 unsigned int series);
void totals_done(struct totals *s);

/* Adds an interval. Rows by container come from container_rows(). @missing: what this run does not
 * measure. Returns 0 or -ENOMEM: then the interval is there in part. */
int totals_add(struct totals *s, const struct snapshot *sn, const struct missing *missing);

/* Makes the rows of all others, with 0, so that they are there before they count. */
int totals_show_others(struct totals *s);

/* The figures have been sent to a scraper. One that does not count the first sample of a series
 * (@first_is_0) gets new rows with 0 first: until then they count in "other". */
void totals_scraped(struct totals *s, bool first_is_0);

/* The series of all rows, and those of the run. */
unsigned int totals_series(const struct totals *s);

/* Names of the labels of keys, then NULL; KEY_OTHER has only a value for the last one. */
const char *const *key_label_names(enum by_key by);
extern const char *const server_label_names[];

/* Hostile text of at most @len bytes as the value of a label: well-formed UTF-8, with '?' for
 * control characters. At most @cap bytes with the NUL, whole characters only. */
void text_label(char *dst, size_t cap, const char *src, size_t len);

#endif
