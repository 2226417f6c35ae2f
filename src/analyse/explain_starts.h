/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explain_starts.h - the place of operations in the order of their beginnings, though records come
 * in no order; and how probable an overlap is if the slow ones are rotated in this order.
 * docs/design/explain.md has the formulas. Only explain*.c include it.
 */
#ifndef IOSTRATA_ANALYSE_EXPLAIN_STARTS_H
#define IOSTRATA_ANALYSE_EXPLAIN_STARTS_H

#include <stdint.h>

enum {
	STARTS_SLOTS = 1 << 18, /* of time; they become longer with the recording */
	STARTS_CELLS = 4096,    /* parts of the order with equally many operations; a power of 2 */
};

struct starts {
	uint64_t base_ns;
	unsigned int shift; /* a slot is 1 << shift ns long */
	uint32_t *slots;    /* how many begin; after starts_finish(): in earlier ones; owned */
	uint64_t n;
	double one;         /* 1 / n */
	unsigned int cells; /* STARTS_CELLS, or fewer if there are fewer operations */
};

/* Returns 0 or -ENOMEM. */
int starts_init(struct starts *o, uint64_t base_ns);
void starts_done(struct starts *o);

void starts_add(struct starts *o, uint64_t start_ns);

/* Call after the last starts_add(), before the functions below. */
void starts_finish(struct starts *o);

/* How many begin before @ns, about: within a slot they are taken to be spread evenly. */
uint64_t starts_rank(const struct starts *o, uint64_t ns);

/* The place in the order of what begins at @ns, from 0 to below 1. */
static inline double starts_place(const struct starts *s, uint64_t ns)
{
	return starts_rank(s, ns) * s->one;
}

/* The part of the order with @place, of @parts. */
static inline unsigned int starts_part(double place, unsigned int parts)
{
	unsigned int part = place * parts;

	return part < parts ? part : parts - 1;
}

/* The time at which operation @rank begins, about. */
uint64_t starts_time(const struct starts *o, uint64_t rank);

struct rotation;

/* @slow: slow ones by cell, of @o. Returns NULL if out of memory; rotation_free() takes NULL. */
struct rotation *rotation_make(const struct starts *o, const uint32_t *slow);
void rotation_free(struct rotation *r);

/* How probable it is that at least @together slow ones have a property after a rotation. @with: all
 * operations with the property, by cell. */
double rotation_above(struct rotation *r, const uint32_t *with, uint64_t together);

#endif
