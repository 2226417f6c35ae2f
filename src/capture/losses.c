// SPDX-License-Identifier: GPL-2.0-only
#include "capture/losses.h"

#include <stdlib.h>

#include "base/list.h"

int losses_add(struct losses *l, const struct stored_loss *loss)
{
	int err;

	if (loss->kind >= LOST_N || l->n == LOSSES_TIMED)
		return 0;
	err = list_reserve((void **)&l->list, &l->cap, l->n, sizeof(*l->list));
	if (err)
		return err;
	l->list[l->n++] = *loss;
	l->told[loss->kind] += loss->count;
	return 0;
}

/* How many of @loss happened before @ns. */
static uint64_t before(const struct stored_loss *loss, uint64_t ns)
{
	uint64_t len = loss->to_ns - loss->from_ns;

	if (ns > loss->to_ns)
		return loss->count;
	if (loss->from_ns >= loss->to_ns || ns <= loss->from_ns)
		return 0;
	return (unsigned __int128)loss->count * (ns - loss->from_ns) / len;
}

uint64_t loss_part(const struct stored_loss *loss, uint64_t from_ns, uint64_t to_ns)
{
	return before(loss, to_ns) - before(loss, from_ns);
}

void losses_between(const struct losses *l, uint64_t from_ns, uint64_t to_ns, uint64_t lost[LOST_N])
{
	for (size_t i = 0; i < l->n; i++)
		lost[l->list[i].kind] += loss_part(&l->list[i], from_ns, to_ns);
}

void losses_untimed(const struct losses *l, const uint64_t total[LOST_N], uint64_t lost[LOST_N])
{
	for (int i = 0; i < LOST_N; i++)
		lost[i] += total[i] > l->told[i] ? total[i] - l->told[i] : 0;
}

void losses_done(struct losses *l)
{
	free(l->list);
	*l = (struct losses){};
}
