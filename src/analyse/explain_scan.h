/* SPDX-License-Identifier: GPL-2.0-only */
/* explain_scan.h - shared by the parts of explain: the properties of an operation, and how often
 * each was seen in each part of the time. Only explain*.c include it. */
#ifndef IOSTRATA_ANALYSE_EXPLAIN_SCAN_H
#define IOSTRATA_ANALYSE_EXPLAIN_SCAN_H

#include "analyse/caller_names.h"
#include "analyse/explain.h"
#include "analyse/explain_starts.h"
#include "capture/recording.h"

enum {
	SCAN_CELLS = 192,  /* parts of the time */
	SCAN_BLOCK = 16,   /* cells of a block; a power of 2 */
	SCAN_FINE = 16,    /* parts of a cell */
	SCAN_VALUES = 512, /* values counted */
	SCAN_WORDS = SCAN_VALUES / 64,
	SCAN_BINS = 64,       /* of an attribute with an order, at most */
	SCAN_SLOWEST = 16384, /* operations from which values to count are taken */
	SCAN_CONTAINERS = 64,
	SCAN_SLOW = 131072, /* slow operations whose values stay in memory */
	TREND_GROUPS = 48,  /* of equally many operations, in their order */
	TREND_BINS = 1024,
	PHASE_CELLS = 65536, /* the same, for phases */
	PHASE_LEVELS = 4,
};

#define NO_VALUE UINT64_MAX

/* Requests in flight: their submitters, and their number on each disk. */

enum {
	BESIDE_SLOTS = 1 << 20,
	BESIDE_MAX = 64,
	BESIDE_PROCESSES = 24, /* of these by pid, at most */
	BESIDE_DISKS = 8,
	BESIDE_WEIGHED = 4096,
	BESIDE_GROUP_SHIFT = 8, /* slots of a group, as a power of 2 */
	BESIDE_GROUPS = BESIDE_SLOTS >> BESIDE_GROUP_SHIFT,
};

enum activity_kind {
	ACTIVITY_NAMED,   /* all threads of a name: the processes of a burst may be many */
	ACTIVITY_PROCESS, /* by pid: threads of others may have the same name */
	ACTIVITY_JOURNAL,
	ACTIVITY_WRITEBACK,
	ACTIVITY_FLUSH,
	ACTIVITY_DISCARD,
	ACTIVITY_OTHER, /* write zeroes, zones ... */
};

struct activity {
	enum activity_kind kind;
	unsigned int dev, pid; /* pid: of ACTIVITY_PROCESS */
	char comm[COMM_LEN];   /* of a thread with such requests; "": any; may lack a NUL */
};

/* An activity, and how long its requests were in flight, added up. */
struct beside_weight {
	struct activity activity;
	uint64_t ns;
};

/* Time is cut into slots of 1 << shift ns. They become longer with the recording. */
struct beside {
	uint64_t base_ns;
	unsigned int shift;
	size_t used;     /* slots */
	uint64_t *slots; /* set of 1 << activity; owned */
	struct beside_disk {
		unsigned int dev;
		/* By slot: how the depth changes; after explain_beside_finish(), the depth, or less
		 * than 0: so many slots have passed since the last request. Owned. */
		int32_t *depth;
		uint64_t *busy; /* a bit for each slot with a request; owned */
	} disks[BESIDE_DISKS];
	unsigned int n_disks;
	struct activity list[BESIDE_MAX];
	unsigned int n;
	uint64_t left_out;                /* requests of names without a place in the list */
	bool is_chosen;                   /* the list is complete, and depths are known */
	uint32_t (*begun)[BESIDE_GROUPS]; /* requests by activity and group of slots; owned */
	float (*flight)[BESIDE_GROUPS];   /* slots in which such requests are in flight; owned */
	struct beside_weight *weights;    /* owned */
	uint16_t *table;                  /* of weights by hash, + 1; 0: none; owned */
	unsigned int n_weights;
};

/* Returns 0 or -ENOMEM. */
int explain_beside_init(struct beside *b, uint64_t base_ns);
int explain_beside_add(struct beside *b, const struct recording *rec,
		       const struct stored_request *rq);

/*
 * Call after the last request. Returns true if heavier activities than the first ones have to be in
 * the list: then add all requests once more.
 */
bool explain_beside_choose(struct beside *b);

/* Call after the last request and explain_beside_choose(): from now on an activity is also found up
 * to @window_ns before it began, and slots have the number of requests. */
void explain_beside_finish(struct beside *b, uint64_t window_ns);

/* The activities on disk @dev and on the disks below: a set of 1 << activity. */
uint64_t explain_beside_below(const struct beside *b, const struct devices *d, unsigned int dev);

/* The activities at @ns, except for those of the process and the name of @t: a set of 1 <<
 * activity. */
uint64_t explain_beside_at(const struct beside *b, uint64_t ns, const struct catalog_thread *t);

/* Requests in flight on disk @dev at the beginning of the slot of @ns. Returns NO_VALUE if not
 * known. */
uint64_t explain_beside_depth(const struct beside *b, unsigned int dev, uint64_t ns);

/* How long disk @dev had no request before @ns, in ns. Returns 0 if it had, or NO_VALUE if not
 * known. */
uint64_t explain_beside_idle(const struct beside *b, unsigned int dev, uint64_t ns);
void explain_beside_done(struct beside *b);

/* Episodes of an activity: its requests, joined over gaps. Times are slots. */

enum { EPISODES_MOST = 60, EPISODE_GAPS = 3 };

struct episodes {
	unsigned int n; /* 0: too many */
	struct {
		uint32_t from, to; /* slots, to: the first behind */
	} of[EPISODES_MOST];
};

/* Sets the episodes of the activities @set. Call before explain_beside_finish(). @gap: slots. */
void explain_episodes_find(const struct beside *b, uint64_t set, uint64_t gap,
			   struct episodes *ret);

/* An operation or a request. */
struct scan_item {
	const struct stored_op *op;      /* or NULL */
	const struct stored_request *rq; /* or NULL */
	const struct catalog_thread *thread;
	const struct catalog_thread *by; /* to whom the longest wait of @op was due */
	uint64_t owner, file;
	uint64_t start_ns, total_ns;
	uint64_t offset, len; /* NO_VALUE: not known */
	unsigned int disk;    /* dev_t of the whole disk; 0: not known */
};

/* To whom the longest wait of an operation was due: the thread, or the limit. 0: nobody. */
uint64_t explain_by(const struct scan_item *item);

/* A value of an attribute, and how many slow operations of each cell have it. */
struct scan_value {
	enum explain_attribute attribute;
	uint64_t key;         /* of an attribute with an order: the bin */
	uint64_t owner, file; /* of an operation with this value, for its name */
	uint64_t by;          /* likewise: to whom the longest wait was due, explain_by() */
	unsigned int who;     /* and its kind */
	uint32_t slow[SCAN_CELLS];
	/* of ATTR_HOLDER, for slow ones: their time in locks and asleep, their time above the
	 * median, and how many ended soon after the holder */
	double waited_ns, above_ns;
	uint64_t soon;
};

/* How many operations have a property: by cell, and by cell of the order. */
struct counted {
	uint32_t slow[SCAN_CELLS], all[SCAN_CELLS];
	uint32_t *order;
	double doubtful; /* so many of the slow ones are no evidence */
};

/* The operations among which a property is judged. */
struct population {
	uint64_t n, n_slow;
	const uint32_t *slow, *all; /* by cell */
	struct rotation *rotation;
};

/* A long operation on a file. */
struct holder {
	uint64_t start_ns, end_ns;
	uint64_t latest_ns; /* the latest end of those of this file from the first on */
	uint64_t file;      /* a number for the inode */
	uint64_t owner;
	unsigned int tid;
	unsigned char kind, size; /* size: bits of its length; 0: none */
};

struct holders {
	struct holder *list; /* owned */
	size_t n;
	uint64_t floor_ns;
	uint32_t *first; /* of each bucket of files, and the number of all; owned */
};

struct scan_item;

/* Returns 0 or -ENOMEM. */
int explain_holders_init(struct holders *h);
void explain_holders_done(struct holders *h);
void explain_holders_add(struct holders *h, const struct recording *rec, const struct stored_op *op,
			 uint64_t total_ns);

/* Call after the last one: shorter ones than @least_ns are dropped. */
void explain_holders_finish(struct holders *h, uint64_t least_ns);

/* The oldest operation of another thread on the file of @item that was under way when it began, or
 * NULL. */
const struct holder *explain_holder_find(const struct holders *h, const struct recording *rec,
					 const struct scan_item *item);

/* A request, and its number among those of its disk. */
struct own_request {
	uint64_t q_ns;
	uint32_t owner, number;
	unsigned char disk; /* an index */
	bool is_first;      /* of an operation looked at */
};

struct own_requests {
	struct own_request *list; /* owned */
	size_t n;
	unsigned int disks[BESIDE_DISKS], n_disks; /* dev_t */
	bool too_many;                             /* none is in the list */
};

/* Returns 0 or -ENOMEM. */
int explain_requests_add(struct own_requests *o, const struct stored_request *rq);
void explain_requests_finish(struct own_requests *o);
void explain_requests_done(struct own_requests *o);

/*
 * The @ret_n requests of the thread of @item that began while it ran, in their order, or NULL. Only
 * its first @most_ns count: a slow one would meet more requests of other operations of the thread.
 */
struct own_request *explain_requests_of(const struct own_requests *o, const struct scan_item *item,
					uint64_t most_ns, size_t *ret_n);

/* Callers: see explain_callers.c. */

enum { CALLER_BINS = 64 };

struct caller_stack;

/* Slow ones, or others, with a user stack. */
struct caller_group {
	struct caller_stack *list; /* owned */
	size_t n, cap;
	unsigned int shift; /* one in 1 << shift stays in the list */
	/* by duration: operations of kinds that have stacks, and stacks */
	uint64_t ops[CALLER_BINS], stacks[CALLER_BINS];
};

struct scan;

struct callers {
	struct caller_group groups[2]; /* others; slow ones */
	struct caller_names *names;    /* of function, line and library; owned */
	uint64_t unnamed;              /* stacks of which there were too many different ones */
	bool are_estimated;
};

/* Notes an operation, or one with its stack: @ev is of CHUNK_STACKS. Returns 0 or -ENOMEM. */
void explain_callers_op(struct callers *c, const struct scan_item *item, bool is_slow);
int explain_callers_stack(struct callers *c, const struct scan_item *item,
			  const struct stored_event *ev, bool is_slow);

/* Call when all are noted: names the callers, and sets s->e->callers. Returns 0 or -ENOMEM. */
int explain_callers_name(struct scan *s);

/* How many different callers there are. */
uint64_t explain_callers_values(const struct callers *c, enum explain_attribute attribute);

/* Adds the findings about callers. Returns 0 or -ENOMEM. */
int explain_callers_judge(struct scan *s);
void explain_callers_done(struct callers *c);

/* Adds @judged to e->findings, with all bits of .has clear; on failure frees what @judged owns.
 * Returns the finding, or NULL if out of memory. */
struct explain_finding *explain_finding_add(const struct scan *s,
					    const struct explain_finding *judged);

struct scan_slow {
	uint64_t start_ns, end_ns;
	const struct own_request *request; /* the first one, or NULL */
	uint64_t bits[SCAN_WORDS];         /* set of 1 << value */
};

struct scan {
	const struct explain_conf *conf;
	struct explain *e;
	struct recording *rec;
	struct beside beside;
	struct starts starts;
	struct holders holders;
	struct own_requests own;
	struct callers callers;
	/* By activity; from BESIDE_MAX on, of its name's processes but the heaviest. Owned. */
	struct episodes (*episodes)[EPISODE_GAPS];
	uint64_t base_ns, cell_ns;
	uint64_t max_offset;
	unsigned int offset_shift;
	uint32_t slow[SCAN_CELLS], all[SCAN_CELLS];
	uint32_t fine[SCAN_CELLS * SCAN_FINE]; /* all operations */
	struct scan_value *values;             /* owned */
	unsigned int n_values;
	/* All operations by cell and value: values of one cell are near. Owned. */
	uint32_t (*values_all)[SCAN_VALUES];
	/* in the order of operations: */
	uint32_t order_slow[STARTS_CELLS];
	uint32_t (*order_all)[SCAN_VALUES]; /* as values_all; owned */
	struct rotation *rotation;          /* owned */
	struct population population;       /* all operations */
	uint32_t (*trend)[TREND_BINS];      /* durations by group; owned */
	struct phase_cell {
		uint32_t all, above[PHASE_LEVELS];
		uint64_t end_ns; /* the latest end of those above the first level */
	} * phases;              /* owned */
	unsigned int n_phases, n_trend;
	uint64_t levels_ns[PHASE_LEVELS]; /* the last is the threshold */
	uint64_t idle_unit_ns;
	uint32_t group_slow[BESIDE_GROUPS], group_all[BESIDE_GROUPS]; /* by their beginning */
	unsigned int first_bin[ATTR_N]; /* of attributes with an order: the value of bin 0 */
	struct scan_slow *list;         /* slow ones, or a sample of them; owned */
	size_t n_list;
	/* caches of explain_attribute.c */
	uint64_t *directories; /* by file: hash, 0: not looked up; owned */
	size_t n_directories;
	unsigned int last_dev, last_disk;
	unsigned int below_disk; /* the disk of below, or 0 */
	uint64_t below;          /* explain_beside_below() */
	uint64_t hindering;      /* all activities that may hinder a slow one */
	bool is_cached;          /* slow ones wait for nothing: others cannot hinder them */
	struct scan_container {
		uint64_t cgroup, version, key; /* version: of the catalog */
	} containers[SCAN_CONTAINERS];
};

/* The cell with the time @ns: the first one for earlier times, the last one for later times. */
static inline unsigned int explain_scan_cell(const struct scan *s, uint64_t ns)
{
	uint64_t cell = ns > s->base_ns ? (ns - s->base_ns) / s->cell_ns : 0;

	return cell < SCAN_CELLS ? cell : SCAN_CELLS - 1;
}

/* Attributes. */

/* The item of @ev; valid while @ev is. */
void explain_scan_item_fill(struct scan_item *ret, struct scan *s, const struct stored_event *ev);

/* The value of @item, or NO_VALUE. Not for ATTR_BESIDE, ATTR_TIME and ATTR_PERIOD. */
uint64_t explain_attribute_value(struct scan *s, const struct scan_item *item,
				 enum explain_attribute attribute);

/* How many bins an attribute with an order has, or 0 if it has no order. */
unsigned int explain_attribute_bins(enum explain_attribute attribute);

/* How many values there may be, for the number of tests. */
uint64_t explain_attribute_values(const struct scan *s, enum explain_attribute attribute);

enum explain_class explain_attribute_class(enum explain_attribute attribute);

/* A finding about a mechanism or a time weighs less than one about a cause. */
double explain_attribute_weight(enum explain_attribute attribute);

/* The weight of a property of one moment only: less than that of the moment. */
#define WEIGHT_OF_MOMENT 0.7

/* The weight of requests of threads that have the name of most operations looked at. */
#define WEIGHT_OF_SIBLING 0.5

/* Sets text, option and value of a finding about @v, or about the bins from @v to @last. Returns 0
 * or -ENOMEM. */
int explain_attribute_describe(const struct scan *s, const struct scan_value *v,
			       const struct scan_value *last, struct explain_finding *ret);

/* Chance. */

/* Sets slow, others, expected, at_most, raw_p, rotated_p, score and rank of a finding with these
 * counts. */
void explain_chance_judge(const struct population *p, const struct counted *c,
			  struct explain_finding *ret);

/* Sets the members above without cells, from the counts @slow and @all. */
void explain_chance_set(const struct population *of, uint64_t slow, uint64_t all, double p,
			struct explain_finding *ret);

/* Time. Each sets a finding with .has, n_list bits long. 1; 0: there is nothing to tell;
 * -ENOMEM. */
int explain_time_bursts(const struct scan *s, struct explain_finding *ret);
int explain_time_period(const struct scan *s, struct explain_finding *ret);

int explain_phases_bursts(const struct scan *s, struct explain_finding *ret);
int explain_phases_during(const struct scan *s, struct explain_finding *ret);

/* A step in all durations, or their growth. */
int explain_trend_tell(const struct scan *s, struct explain_finding *ret);
unsigned int explain_trend_groups(uint64_t n);
unsigned int explain_trend_bin(uint64_t ns);

/* Every n-th request of a disk. */
int explain_requests_sequence(const struct scan *s, struct explain_finding *ret);

/* Sets the note of @f, about the queue depth: whose requests were in flight; and names the owner of
 * the difference in its text. Returns 0 or -ENOMEM. */
int explain_load_tell(const struct scan *s, struct explain_finding *f);

/* The name of a disk, for free(); NULL if out of memory. */
char *explain_disk_text(const struct scan *s, unsigned int dev);

/* What a neighbour does: "writeback on vda". For free(); NULL if out of memory. */
char *explain_activity_text(const struct scan *s, const struct activity *a);

/* Whether most of the operations looked at belong to threads of the name in @a. */
bool explain_activity_is_sibling(const struct scan *s, const struct activity *a);

/* Whether most of the operations looked at belong to process @pid. */
bool explain_process_is_usual(const struct scan *s, unsigned int pid);

/* Makes @ret a finding about an incident from @from_ns to @to_ns, and sets e->then. Returns 0 or
 * -ENOMEM. */
int explain_incident_set(const struct scan *s, uint64_t from_ns, uint64_t to_ns,
			 struct explain_finding *ret);

struct time_span {
	uint64_t from_ns, to_ns;
};

/* Sets e->then for @n times, which do not overlap and are in order. Returns 0 or -ENOMEM. */
int explain_incidents_tell(const struct scan *s, const struct time_span *spans, size_t n);

/* The group of slots of @ns. */
size_t explain_beside_group(const struct beside *b, uint64_t ns);

/* Makes the findings of e->findings, when all is counted. Returns 0 or -ENOMEM. */
int explain_judge(struct scan *s);

void explain_finding_done(struct explain_finding *f);

/* The choice of findings: orders e->findings, sets n_chosen, same and uncovered. Returns 0 or
 * -ENOMEM. */
int explain_findings_choose(const struct scan *s);

/* Bits. */
static inline size_t bits_words(size_t n)
{
	return (n + 63) / 64;
}

static inline void bit_set(uint64_t *bits, size_t i)
{
	bits[i / 64] |= 1ULL << i % 64;
}

static inline bool bit_is_set(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

#endif
