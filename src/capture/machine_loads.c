// SPDX-License-Identifier: GPL-2.0-only
#include "capture/machine_loads.h"

#include <stdlib.h>

#include "base/list.h"

enum { LEAST_PART = 16 }; /* joining that frees a smaller part of the room is not tried again */

static struct machine_load load_of(const struct stored_machine_load *one)
{
	struct machine_load load = { .ns = one->to_ns - one->from_ns, .known = one->known };

	memcpy(load.figure, one->figure, sizeof(load.figure));
	return load;
}

/* Joins two intervals that follow each other. */
static void join(struct stored_machine_load *to, const struct stored_machine_load *next)
{
	struct machine_load sum = load_of(to);
	const struct machine_load more = load_of(next);

	machine_load_add(&sum, &more);
	to->to_ns = next->to_ns;
	to->known = sum.known;
	memcpy(to->figure, sum.figure, sizeof(to->figure));
}

/* Joins in pairs those that follow each other without a gap. */
static void halve(struct machine_loads *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		l->list[n] = l->list[i];
		if (i + 1 < l->n && l->list[i + 1].from_ns == l->list[n].to_ns)
			join(&l->list[n], &l->list[++i]);
		n++;
	}
	l->n = n;
}

int machine_loads_add(struct machine_loads *l, const struct stored_machine_load *one)
{
	int err;

	if (one->from_ns >= one->to_ns)
		return 0;
	if (l->n == MACHINE_LOADS && !l->is_full) {
		halve(l);
		l->is_full = l->n > MACHINE_LOADS - MACHINE_LOADS / LEAST_PART;
	}
	if (l->n == MACHINE_LOADS)
		return 0;
	err = list_reserve((void **)&l->list, &l->cap, l->n, sizeof(*l->list));
	if (!err)
		l->list[l->n++] = *one;
	return err;
}

/* The part of a sum over @one before @ns, which is in @one. */
static uint64_t before(const struct stored_machine_load *one, uint64_t sum, uint64_t ns)
{
	return (unsigned __int128)sum * (ns - one->from_ns) / (one->to_ns - one->from_ns);
}

bool machine_load_part(const struct stored_machine_load *one, uint64_t from_ns, uint64_t to_ns,
		       struct stored_machine_load *ret)
{
	struct stored_machine_load part = *one;

	part.from_ns = from_ns > one->from_ns ? from_ns : one->from_ns;
	part.to_ns = to_ns < one->to_ns ? to_ns : one->to_ns;
	if (part.from_ns >= part.to_ns)
		return false;
	for (unsigned int i = 0; i < MACHINE_FIGURES; i++)
		if (!machine_figure_is_level(i))
			part.figure[i] = before(one, one->figure[i], part.to_ns) -
					 before(one, one->figure[i], part.from_ns);
	*ret = part;
	return true;
}

void machine_loads_between(const struct machine_loads *l, uint64_t from_ns, uint64_t to_ns,
			   struct machine_load *ret)
{
	struct stored_machine_load part;
	struct machine_load load;

	*ret = (struct machine_load){};
	for (size_t i = 0; i < l->n; i++) {
		if (!machine_load_part(&l->list[i], from_ns, to_ns, &part))
			continue;
		load = load_of(&part);
		machine_load_add(ret, &load);
	}
}

void machine_loads_done(struct machine_loads *l)
{
	free(l->list);
	*l = (struct machine_loads){};
}
