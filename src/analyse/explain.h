/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explain.h - properties that the slow operations or requests of a recording have far more often
 * than the others of the same kind. docs/design/explain.md has the method.
 *
 * Memory grows only with the names in the recording. All text is hostile.
 */
#ifndef IOSTRATA_ANALYSE_EXPLAIN_H
#define IOSTRATA_ANALYSE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyse/caller_names.h"
#include "event.h"

struct reason;
struct recording;
struct stored_event;

enum {
	EXPLAIN_LEAST = 5,         /* fewer slow ones with a property are not judged */
	EXPLAIN_LEAST_PERCENT = 5, /* so many more of the slow ones than of the others have it */
	EXPLAIN_WEAK_PERCENT = 25, /* the same for strata and times, which are no causes */
	EXPLAIN_FINDINGS = 5,      /* at most */
	EXPLAIN_THEN = 3,          /* named for an incident, at most */
	EXPLAIN_NEAREST = 10,      /* properties that chance may explain, at most */
};

#define EXPLAIN_LEAST_LIFT 1.5  /* a property is so many times as frequent among the slow ones */
#define EXPLAIN_FALSE      0.01 /* at most this share of all findings is chance */

/* Properties of operations. Where several explain as much, the first in this order is named. */
enum explain_attribute {
	ATTR_DURING,   /* slow moments begin and end with somebody's requests */
	ATTR_BESIDE,   /* requests of somebody else in flight */
	ATTR_HOLDER,   /* another thread's operation on the same file was under way */
	ATTR_SEQUENCE, /* every n-th request of the disk */
	ATTR_MEMBER,   /* requests on a disk below */
	ATTR_FILE,
	ATTR_DIRECTORY,
	ATTR_DISK,
	ATTR_CROSSING, /* the largest power of 2 whose multiple lies within */
	ATTR_OFFSET,
	ATTR_SIZE,
	ATTR_ALIGNMENT,
	ATTR_PROCESS,
	ATTR_THREAD,
	ATTR_COMM,
	ATTR_CGROUP,
	ATTR_CONTAINER,
	ATTR_FUNCTION, /* of the program, that made the call */
	ATTR_LINE,
	ATTR_LIBRARY,
	ATTR_WHO,  /* somebody else to whom the longest wait was due */
	ATTR_IDLE, /* how long the disk had nothing to do before */
	ATTR_DEPTH,
	ATTR_KIND,
	ATTR_FS,
	ATTR_CALL,
	ATTR_MODE,
	ATTR_RESULT,
	ATTR_CACHE,
	ATTR_REQUESTS,
	ATTR_MERGES,
	ATTR_REQUEUES,
	ATTR_STRATUM,
	ATTR_TIME,
	ATTR_PERIOD,
	ATTR_STEP,   /* all are slower from a moment on */
	ATTR_GROWTH, /* all become slower bit by bit */
	ATTR_N,
};

/* The classes of properties. Findings are in this order, except for those that lead; see
 * explain_choose.c. */
enum explain_class {
	CLASS_CAUSE,   /* who, what, or where */
	CLASS_WAY,     /* how the operation was done */
	CLASS_TIME,    /* when */
	CLASS_SYMPTOM, /* what the same cause also does */
};

/* "beside", "file", "size": in JSON. */
const char *explain_attribute_name(enum explain_attribute attribute);

struct explain_conf {
	unsigned int kinds; /* of operations: set of 1 << enum op_kind; 0: requests */
	const char *disk;   /* requests of this disk only; NULL: of all */
	double percentile;  /* slow: longer than this percentile; 0: than above_ns */
	uint64_t above_ns;
	uint64_t from_ns, to_ns; /* this part, from the recording's beginning; to 0: its end */
	/* Whether an operation or request is looked at, or NULL if all are. */
	bool (*passes)(void *arg, const struct recording *rec, struct stored_event *ev);
	/* Called before each pass over the file. */
	void (*begins)(void *arg);
	/* Called now and then with the bytes read in all passes. False: stop. NULL:
	 * nothing is called. */
	bool (*goes_on)(void *arg, uint64_t bytes);
	void *arg;
	const char *(*call_name)(unsigned short call); /* of a system call of this machine */
	own_frame_fn *own_frame;                       /* NULL: callers are not looked at */
	const struct frame_namer *namer;               /* as in struct recording */
};

/* Somebody who made far more requests during an incident than at other times. */
struct explain_then {
	char *text;             /* "requests of threads named dd on vda"; owned */
	uint64_t requests, all; /* during the incident, and in the recording */
	uint64_t before_ns;     /* from the first request to the incident, or 0 if it came later */
};

struct explain_finding {
	enum explain_attribute attribute;
	char *text;              /* "in the file /a/b", after "these were"; owned */
	const char *option;      /* report's option that chooses these: "--file"; NULL: none does */
	char *value;             /* of this option; owned */
	uint64_t slow;           /* slow ones with this property */
	uint64_t others;         /* others with this property */
	double expected;         /* so many slow ones would have it by chance */
	uint64_t at_most;        /* in 99 of 100 cases */
	double p;                /* probability of so many by chance, corrected for all tests */
	uint64_t from_ns, to_ns; /* where many are, from the recording's beginning */
	bool is_incident;        /* it happened once: p is about the moment, not about its cause */
	char *note;              /* a sentence more, or NULL; owned */
	bool is_estimated;       /* slow and others are, from the user stacks that were taken */
	/* private */
	double raw_p, score, rank;
	double rotated_p; /* by rotation alone; 0: not asked */
	enum explain_class class;
	uint64_t *has; /* a bit for each of the slow ones in memory; owned */
	bool is_of_moment;
};

/* Why callers are not looked at. */
enum explain_callers {
	CALLERS_LOOKED_AT,
	CALLERS_NOT_ASKED, /* requests */
	CALLERS_NONE,      /* the recording has no user stacks */
	CALLERS_LOST,      /* too many stacks were lost */
	CALLERS_TOO_FEW,   /* stacks of slow ones, or of others */
};

struct explain {
	char *name, *kernel, *host; /* of the recording; NULL: not known; owned */
	bool is_cut_off;
	uint64_t lost, lost_names, duration_ns; /* names are counted among the lost, too */
	uint64_t recorded;                      /* operations and requests */
	bool is_recorded_unknown;               /* how many there are in some of the recordings */
	uint64_t n, n_slow; /* of these operations or requests, and the slow ones among them */
	uint64_t threshold_ns;
	uint64_t window_ns; /* how long after its beginning others are beside an operation */
	uint64_t block_ns;  /* chance exchanges slow ones and others within blocks of time */
	uint64_t tests;     /* properties judged */
	uint64_t slow_ns[ST_N], others_ns[ST_N]; /* sums of time in strata */
	unsigned int strata_missing;             /* set of 1 << stratum */
	bool has_requests;                       /* requests are in the recording */
	uint64_t requests_left_out;              /* requests whose submitters are not looked at */
	bool too_many_requests;                  /* to look at those of single operations */
	enum explain_callers callers;
	struct explain_finding *findings; /* the chosen ones first, best first; owned */
	size_t n_findings, n_chosen;
	/* The properties with the least p that are not sure, the first is the nearest; owned. */
	struct explain_finding nearest[EXPLAIN_NEAREST];
	size_t n_nearest;
	struct explain_then then[EXPLAIN_THEN]; /* of the incident */
	size_t n_then;
	size_t *same;       /* of each finding after the chosen ones: which of these has most of its
			       operations; owned */
	uint64_t uncovered; /* slow ones in none of the chosen findings */
	bool is_sampled;    /* uncovered is from a sample of the slow ones */
};

/* Whether @ev, an event of @rec, is of the kind and in the part of time to look at, and passes the
 * filter. */
bool explain_means(const struct explain_conf *conf, const struct recording *rec,
		   struct stored_event *ev);

/*
 * Reads @f, a recording called @name in messages, twice. 0; 1 with @why: it is damaged, and @e is
 * about the part before; -1 with @why. @e is all 0 at first; explain_done() in any case.
 */
int explain_read(struct explain *e, FILE *f, const char *name, const struct explain_conf *conf,
		 struct reason *why);
void explain_done(struct explain *e);

/* Adds what @rec lost and has, when all of @rec is read. */
void explain_lost_add(struct explain *e, const struct recording *rec);

#endif
