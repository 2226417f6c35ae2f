// SPDX-License-Identifier: GPL-2.0-only
#include "base/stack_numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/* A recording may have any number; sums of some thousand forged ones must not come around to 0. */
double stack_stands_for(uint64_t threshold_ns, uint64_t total_ns)
{
	const double most = 1e12;
	double scale = total_ns ? (double)threshold_ns / total_ns : 1;

	return scale < 1 ? 1 : scale < most ? scale : most;
}

uint64_t stack_whole(double x, double *carry)
{
	uint64_t n;

	x += *carry;
	n = x > 0 ? (uint64_t)x : 0;
	*carry = x - n;
	return n;
}

uint64_t stack_times(uint64_t n, double scale)
{
	const double most = 1e15;

	return n * scale < most ? (uint64_t)(n * scale) : (uint64_t)most;
}

/* A kind of operation on a file system type. */
struct group {
	unsigned long long fs;
	unsigned int kind;
	uint64_t counted;             /* operations */
	uint64_t certain;             /* operations whose stack had to be taken */
	uint64_t drawn;               /* estimated from the stacks that were drawn */
	double carry;                 /* what rounding has left */
	uint64_t n;                   /* operations of its rows, once they are scaled */
	struct stack_number *largest; /* the row with most of them */
};

struct groups {
	struct group *list;
	size_t n, cap;
};

/* The group of @r, or NULL if memory is out. */
static struct group *group_of(struct groups *all, const struct stack_number *r)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].kind == r->kind && all->list[i].fs == r->fs)
			return &all->list[i];
	if (list_reserve((void **)&all->list, &all->cap, all->n, sizeof(*all->list)))
		return NULL;
	all->list[all->n] = (struct group){ .fs = r->fs, .kind = r->kind, .carry = 0.5 };
	return &all->list[all->n++];
}

static void row_scale(struct group *g, struct stack_number *r)
{
	uint64_t drawn = r->n - r->certain, n;
	double x = 0;

	if (!r->n)
		return;
	if (g->counted > g->certain)
		x = drawn * ((double)(g->counted - g->certain) / g->drawn);
	n = drawn ? stack_whole(x, &g->carry) : 0;
	if (!n && !r->certain) {
		n = 1;
		g->carry--;
	}
	r->n = r->certain + n;
	g->n += r->n;
	if (!g->largest || r->n > g->largest->n)
		g->largest = r;
}

static int by_caller(const void *a, const void *b)
{
	const struct stack_number *x = a, *y = b;

	return strcmp(x->caller, y->caller);
}

/* Adds up what was counted, and the rows. Returns 0 or -ENOMEM. */
static int groups_sum(struct groups *all, const struct stack_number *rows, size_t n_rows,
		      const struct stack_number *counted, size_t n_counted)
{
	struct group *g;

	for (size_t i = 0; i < n_counted; i++) {
		g = group_of(all, &counted[i]);
		if (!g)
			return -ENOMEM;
		g->counted += counted[i].n;
	}
	for (size_t i = 0; i < n_rows; i++) {
		g = group_of(all, &rows[i]);
		if (!g)
			return -ENOMEM;
		g->certain += rows[i].certain;
		g->drawn += rows[i].n - rows[i].certain;
	}
	return 0;
}

int stack_numbers_scale(struct stack_number *rows, size_t n_rows,
			const struct stack_number *counted, size_t n_counted, bool has_all)
{
	struct groups all = {};
	int err = groups_sum(&all, rows, n_rows, counted, n_counted);

	if (n_rows)
		qsort(rows, n_rows, sizeof(*rows), by_caller);
	for (size_t i = 0; i < n_rows && !err; i++) {
		struct group *g = group_of(&all, &rows[i]);

		if (g->drawn && g->counted && (has_all || g->certain + g->drawn > g->counted))
			row_scale(g, &rows[i]);
	}
	for (struct group *g = all.list; g < all.list + all.n && !err; g++)
		if (g->n > g->counted && g->largest->n > g->n - g->counted)
			g->largest->n -= g->n - g->counted;
	free(all.list);
	return err;
}
