// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/stack_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/list.h"
#include "base/rows.h"
#include "base/snapshot.h"
#include "base/stacks.h"

enum { KEY_TEXT = 8192 };

static bool has_stacks(const struct op_row *r)
{
	return r->key.op < OP_N && STACK_KINDS >> r->key.op & 1;
}

/* The caller is not known: the reason. */
static void unknown_text(char *dst, size_t cap, const struct stack *s)
{
	snprintf(dst, cap, "(caller unknown: %s)", stack_unknown_reason(s));
}

/* All frames, the outermost first. */
static void whole_text(char *dst, size_t cap, const struct stack *s)
{
	size_t n = 0;

	*dst = '\0';
	for (unsigned int i = s->n; i-- && n < cap - 1;) {
		stack_frame_text(dst + n, cap - n, s->frames[i], FRAME_NAME);
		n += strlen(dst + n);
		if (i && n < cap - 1)
			dst[n++] = ';';
		dst[n] = '\0';
	}
}

static void key_text(char *dst, size_t cap, const struct stack *s, enum by_key by)
{
	const struct stack_frame *f = s->own < 0 ? NULL : s->frames[s->own];

	if (by == BY_STACK && s->n)
		whole_text(dst, cap, s);
	else if (!f)
		unknown_text(dst, cap, s);
	else if (by == BY_LIBRARY)
		snprintf(dst, cap, "%s", f->library ? f->library : "(no file)");
	else
		stack_frame_text(dst, cap, f, by == BY_LINE ? FRAME_LINE : FRAME_LIBRARY);
}

/* Two numbers of texts, for a key. */
struct key {
	unsigned long long a, b;
};

static void key_add(struct key *k, const char *text)
{
	for (const char *c = text; *c; c++) {
		k->a = (k->a ^ (unsigned char)*c) * 0x100000001b3ULL;
		k->b = k->b * 33 + (unsigned char)*c;
	}
}

/* @rest: the frames for which the text has no room, or NULL. */
static int row_key(struct op_row *r, const char *text, const struct stack *rest)
{
	struct key k = { .a = 0xcbf29ce484222325ULL, .b = 5381 };
	char frame[KEY_TEXT];

	free(r->by);
	r->by = strdup(text);
	key_add(&k, text);
	for (unsigned int i = 0; rest && i < rest->n; i++) {
		stack_frame_text(frame, sizeof(frame), rest->frames[i], FRAME_NAME);
		key_add(&k, frame);
	}
	r->key.by[0] = k.a;
	r->key.by[1] = k.b | 1;
	return r->by ? 0 : -ENOMEM;
}

/* Gives the rows made of stacks their keys. */
static int stacks_key(struct stacks *s, enum by_key by)
{
	const struct stack *stack;
	char text[KEY_TEXT];
	bool is_cut;
	int err = 0;

	for (size_t i = 0; i < s->n_ops && !err; i++) {
		unsigned long long number = s->ops[i].key.by[0];

		if (!number || number > s->n)
			continue;
		stack = &s->stacks[number - 1];
		key_text(text, sizeof(text), stack, by);
		is_cut = by == BY_STACK && strlen(text) == sizeof(text) - 1;
		err = row_key(&s->ops[i], text, is_cut ? stack : NULL);
	}
	return err;
}

/* A kind of operation on a file system type. */
struct group {
	unsigned long long fs;
	unsigned int op;
	uint64_t counted;       /* operations */
	uint64_t certain;       /* of them, those whose stack had to be taken */
	uint64_t drawn;         /* estimated from the stacks that were drawn */
	double carry;           /* of rounding */
	uint64_t n;             /* operations of its rows, once they are scaled */
	struct op_row *largest; /* the row with most of them */
};

struct groups {
	struct group *list;
	size_t n, cap;
};

/* The group of @r, or NULL if memory is out. */
static struct group *group_of(struct groups *all, const struct op_row *r)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].op == r->key.op && all->list[i].fs == r->key.fs)
			return &all->list[i];
	if (list_reserve((void **)&all->list, &all->cap, all->n, sizeof(*all->list)))
		return NULL;
	all->list[all->n] = (struct group){ .fs = r->key.fs, .op = r->key.op, .carry = 0.5 };
	return &all->list[all->n++];
}

/* Adds up the rows that were counted, and those by stack. Returns 0 or -ENOMEM. */
static int groups_sum(struct groups *all, const struct snapshot *counted, const struct stacks *s)
{
	struct group *g = NULL;

	for (size_t i = 0; i < counted->n_ops; i++) {
		if (!has_stacks(&counted->ops[i]))
			continue;
		g = group_of(all, &counted->ops[i]);
		if (!g)
			return -ENOMEM;
		g->counted += counted->ops[i].count;
	}
	for (size_t i = 0; i < s->n_ops; i++) {
		g = group_of(all, &s->ops[i]);
		if (!g)
			return -ENOMEM;
		g->certain += s->ops[i].certain;
		g->drawn += s->ops[i].count - s->ops[i].certain;
	}
	return 0;
}

/* A recording may have any number. */
static uint64_t scaled(uint64_t n, double scale)
{
	const double most = 1e18;

	return n * scale < most ? (uint64_t)(n * scale) : (uint64_t)most;
}

/* Sets the number of operations of @r, at least 1; what goes with the number follows it. */
static void row_set(struct op_row *r, uint64_t n)
{
	double scale = (double)n / r->count;

	r->errors = scaled(r->errors, scale);
	r->io_errors = scaled(r->io_errors, scale);
	r->bytes = scaled(r->bytes, scale);
	r->device_bytes = scaled(r->device_bytes, scale);
	r->count = n;
	hist_scale(&r->hist, n, r->certain);
}

static void row_scale(struct group *g, struct op_row *r)
{
	uint64_t drawn = r->count - r->certain, n;
	double x = g->carry;

	if (!r->count)
		return;
	if (g->counted > g->certain)
		x += drawn * ((double)(g->counted - g->certain) / g->drawn);
	n = drawn && x > 0 ? scaled(1, x) : 0;
	n += !n && !r->certain;
	g->carry = x - n;
	row_set(r, r->certain + n);
	g->n += r->count;
	if (!g->largest || r->count > g->largest->count)
		g->largest = r;
}

/*
 * Brings the estimated numbers of each kind of operation on a file system type to the number that
 * was counted, in proportion (a ratio estimate): one stack drawn of short operations can stand for
 * more than there were. Operations whose stack had to be taken are counted, and stay. So do times,
 * which the drawing estimates best. If stacks were lost, the numbers of other callers do not grow.
 */
static int numbers_scale(struct stacks *s, const struct snapshot *counted)
{
	bool grow = !s->lost && !s->dropped;
	struct groups all = {};
	int err = groups_sum(&all, counted, s);

	for (size_t i = 0; i < s->n_ops && !err; i++) {
		struct group *g = group_of(&all, &s->ops[i]);

		if (g->drawn && g->counted && (grow || g->certain + g->drawn > g->counted))
			row_scale(g, &s->ops[i]);
	}
	for (struct group *g = all.list; g < all.list + all.n && !err; g++)
		if (g->n > g->counted && g->largest->count > g->n - g->counted)
			row_set(g->largest, g->largest->count - (g->n - g->counted));
	free(all.list);
	return err;
}

int stack_join(struct snapshot *sn, enum by_key by)
{
	struct snapshot old = { .ops = sn->ops, .n_ops = sn->n_ops };
	struct stacks *s = sn->stacks;
	size_t n = s ? s->n_ops : 0, out = 0;
	int err = 0;

	if (!s)
		return 0;
	sn->ops = calloc(old.n_ops + n + 1, sizeof(*sn->ops));
	if (!sn->ops) {
		sn->ops = old.ops;
		return -ENOMEM;
	}
	err = s->sampled ? numbers_scale(s, &old) : 0;
	err = err ? err : stacks_key(s, by);
	for (size_t i = 0; i < old.n_ops && !err; i++) {
		if (has_stacks(&old.ops[i]))
			continue;
		err = old.ops[i].key.op < OP_N ? row_key(&old.ops[i], "(no stack)", NULL) : 0;
		sn->ops[out++] = old.ops[i];
		old.ops[i] = (struct op_row){};
	}
	if (n)
		memcpy(sn->ops + out, s->ops, n * sizeof(*s->ops));
	sn->n_ops = out + n;
	s->n_ops = 0; /* moved */
	snapshot_free(&old);
	return err ? err : rows_join(sn);
}
