/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * condition.h - reads conditions on operations and requests: the one grammar of explain, and of
 * --until of record and watch.
 *
 *	SUBJECT [DISK] [MEASURE] > LIMIT [over DUR]
 *
 *	fsync>100ms                   an operation took longer
 *	request vda>50ms              a request of this disk took longer
 *	fsync>p99                     it took longer than a percentile of a recording
 *	request>p99.9x3               it took three times as long as usual
 *	fsync p99>50ms over 10s       a percentile of the last ten seconds was longer
 *	errors>0                      operations or requests failed
 *	queue vda>64 over 5s          so many requests were in flight, on average
 */
#ifndef IOSTRATA_ANALYSE_CONDITION_H
#define IOSTRATA_ANALYSE_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

struct reason;

/* The figure that is compared with the limit. */
enum condition_measure {
	CONDITION_TIME,       /* the time of one operation or request */
	CONDITION_SLOWEST,    /* this time; the limit is a percentile of all of them */
	CONDITION_USUAL,      /* this time; the limit is a multiple of a percentile */
	CONDITION_PERCENTILE, /* a percentile of a window */
	CONDITION_ERRORS,     /* failures in a window */
	CONDITION_QUEUE,      /* requests in flight, the mean of a window */
};

/* The commands that ask. Each judges only some measures, and has its own messages. */
enum condition_use {
	CONDITION_LIVE,     /* --until: operations come one after the other */
	CONDITION_RECORDED, /* explain: all operations are known */
};

struct condition {
	const char *text; /* as given; not owned; hostile */
	enum condition_measure measure;
	unsigned int ops;  /* set of 1 << enum op_kind; 0: none */
	bool requests;     /* with ops: only of CONDITION_ERRORS */
	char disk[64];     /* requests of this disk, without /dev/; "": of all disks */
	uint64_t above;    /* ns; of CONDITION_ERRORS and CONDITION_QUEUE a number */
	double percentile; /* above 0, below 100; where the measure has one */
	double times;      /* of CONDITION_USUAL: from 1 on */
	uint64_t over_ns;  /* length of the window, 1 s to 1 h; 0: no window */
};

/* Reads @text. It must outlive @ret. Returns 0, or -1 with @why, .exit EXIT_USAGE. */
int condition_parse(const char *text, enum condition_use use, struct condition *ret,
		    struct reason *why);

/* Whether the figure is computed over a window of time. */
bool condition_has_window(const struct condition *c);

/* The noun of @n operations or requests: "fsync", "fsyncs", "requests". */
const char *condition_noun(const struct condition *c, uint64_t n);

#endif
