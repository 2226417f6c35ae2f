/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fleet.h - properties of hosts that have far more slow operations or requests than other hosts.
 * docs/design/explain.md has the method.
 *
 * Memory grows with hosts and the names of their properties, never with operations. All text is
 * hostile.
 */
#ifndef IOSTRATA_ANALYSE_FLEET_H
#define IOSTRATA_ANALYSE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/explain.h"

struct reason;

enum {
	FLEET_HOSTS = 10000,  /* at most */
	FLEET_VALUES = 16384, /* properties, at most: later ones are counted */
	FLEET_FINDINGS = 5,
	FLEET_LEAST_HOSTS = 4, /* fewer are not judged */
	FLEET_LEAST_PAIRS = 5, /* hosts with both sorts of operations, to judge within hosts */
	FLEET_SLOTS = 64,      /* groups of operations of a host, in order */
};

#define FLEET_FALSE 0.005 /* at most this share of answers about equal hosts names anything */

/* A host itself, properties of hosts and their disks, and of operations on all hosts. */
enum fleet_attribute {
	FLEET_HOST,
	FLEET_MODEL,
	FLEET_FIRMWARE,
	FLEET_SCHEDULER,
	FLEET_KERNEL,
	FLEET_MACHINE,
	FLEET_OPTION,
	FLEET_FS,
	FLEET_TEMPERATURE,
	FLEET_CGROUP,
	FLEET_COMM,
	FLEET_ATTRIBUTES
};

/* "host", "model": in JSON. */
const char *fleet_attribute_name(enum fleet_attribute attribute);

struct fleet_value {
	enum fleet_attribute attribute;
	char *text; /* owned */
};

/* Operations of a host with a value. */
struct fleet_cell {
	uint32_t value;
	uint64_t n, slow;
};

struct fleet_host {
	char *name; /* owned */
	uint64_t n, slow;
	unsigned int recordings;
	size_t worst; /* the recording with most slow ones */
	uint64_t worst_slow;
	struct fleet_cell *cells; /* owned */
	size_t n_cells, cells_cap;
	/* Slow ones in groups of slot_ops operations, one group after the other. */
	uint64_t slots[FLEET_SLOTS], slot_ops;
	unsigned int slot;
	uint64_t in_slot;
	double together; /* so many slow ones come together; see fleet_judge.c */
};

struct fleet_finding {
	enum fleet_attribute attribute;
	char *text;       /* "on host db17", after "slow ones were"; owned */
	char *note;       /* a sentence more, or NULL; owned */
	size_t host;      /* of FLEET_HOST */
	uint32_t value;   /* of the others */
	bool is_within;   /* operations with it are compared with others of the same hosts */
	size_t hosts, of; /* with the property, of so many judged */
	uint64_t slow, n; /* operations with the property */
	uint64_t others_slow, others_n; /* operations without */
	double p;                       /* by chance, corrected for all tests */
	size_t worst;                   /* the recording with most of these slow ones */
	/* private */
	double t;
};

struct fleet {
	struct explain sums;      /* counts, limits, strata and losses of all recordings together */
	struct fleet_host *hosts; /* owned; after fleet_judge() the one with most slow ones first */
	size_t n_hosts, hosts_cap;
	struct fleet_value *values; /* owned */
	size_t n_values, values_cap;
	uint64_t values_left_out;
	size_t n_recordings, n_damaged;
	bool lacks_disks, lacks_options; /* a recording does not tell these */
	struct fleet_finding findings[FLEET_FINDINGS];
	size_t n_findings;
	struct fleet_finding nearest; /* .text NULL: none */
	size_t tests;
	uint32_t *table; /* values by hash; owned */
};

struct fleet_conf {
	struct explain_conf explain;
	/* Reports a damaged recording. */
	void (*damaged)(void *arg, const struct reason *why);
};

/* Reads the @n recordings @names, twice if the limit is a percentile, and judges. A damaged one is
 * counted as far as it can be read. Returns 0, or -1 with @why; fleet_done() in any case. */
int fleet_read(struct fleet *f, char *const *names, size_t n, const struct fleet_conf *conf,
	       struct reason *why);
void fleet_done(struct fleet *f);

/* For fleet_read(), and for tests. */

/* The host @name, added if it is new. Returns NULL if out of memory, or above FLEET_HOSTS. */
struct fleet_host *fleet_host(struct fleet *f, const char *name);

/* Notes the next operation of a host. */
void fleet_host_count(struct fleet_host *h, bool is_slow);

/* The number of a value, added if it is new. Returns FLEET_VALUES if there is no room. */
uint32_t fleet_value(struct fleet *f, enum fleet_attribute attribute, const char *text);

/* Adds @n operations with @value, @slow of them slow. Returns 0 or -ENOMEM. */
int fleet_cell_add(struct fleet_host *h, uint32_t value, uint64_t n, uint64_t slow);

/* Sets the findings. Returns 0 or -ENOMEM. */
int fleet_judge(struct fleet *f);

/* The words of a finding about @value: "with disk model X". For free(); NULL if out of memory. */
char *fleet_value_text(const struct fleet_value *value);

#endif
