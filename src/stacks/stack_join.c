// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/stack_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/rows.h"
#include "base/snapshot.h"
#include "base/stack_numbers.h"
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

/* Sets the number of operations of @r, at least 1; what goes with the number follows it. */
static void row_set(struct op_row *r, uint64_t n)
{
	double scale = (double)n / r->count;

	r->errors = stack_times(r->errors, scale);
	r->io_errors = stack_times(r->io_errors, scale);
	r->bytes = stack_times(r->bytes, scale);
	r->device_bytes = stack_times(r->device_bytes, scale);
	r->count = n;
	hist_scale(&r->hist, n, r->certain);
}

/* The rows with stacks, as numbers; freed by the caller. Returns NULL if out of memory. */
static struct stack_number *numbers_of(const struct snapshot *sn, size_t *ret_n)
{
	struct stack_number *list = calloc(sn->n_ops + 1, sizeof(*list));

	*ret_n = 0;
	for (size_t i = 0; i < sn->n_ops && list; i++) {
		struct op_row *r = &sn->ops[i];

		if (has_stacks(r))
			list[(*ret_n)++] = (struct stack_number){ .fs = r->key.fs,
								  .kind = r->key.op,
								  .n = r->count,
								  .certain = r->certain,
								  .caller = r->by ? r->by : "",
								  .row = r };
	}
	return list;
}

/*
 * Brings the numbers of the rows by caller to those in @counted. Times stay: the drawing estimates
 * them best. Returns 0 or -ENOMEM.
 */
static int numbers_scale(struct snapshot *sn, const struct stack_number *counted, size_t n_counted)
{
	bool has_all = !sn->stacks->lost && !sn->stacks->dropped;
	struct stack_number *rows;
	size_t n;
	int err;

	rows = numbers_of(sn, &n);
	if (!rows)
		return -ENOMEM;
	err = stack_numbers_scale(rows, n, counted, n_counted, has_all);
	for (size_t i = 0; i < n && !err; i++) {
		struct op_row *r = rows[i].row;

		if (rows[i].n != r->count)
			row_set(r, rows[i].n);
	}
	free(rows);
	return err;
}

/* Puts the rows by stack, with their keys, in place of those of kinds that have stacks. Returns 0
 * or -ENOMEM. */
static int rows_replace(struct snapshot *sn, enum by_key by)
{
	struct snapshot old = { .ops = sn->ops, .n_ops = sn->n_ops };
	struct stacks *s = sn->stacks;
	size_t n = s->n_ops, out = 0;
	int err;

	sn->ops = calloc(old.n_ops + n + 1, sizeof(*sn->ops));
	if (!sn->ops) {
		sn->ops = old.ops;
		return -ENOMEM;
	}
	err = stacks_key(s, by);
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
	return err;
}

int stack_join(struct snapshot *sn, enum by_key by)
{
	struct stack_number *counted;
	size_t n;
	int err;

	if (!sn->stacks)
		return 0;
	counted = numbers_of(sn, &n);
	if (!counted)
		return -ENOMEM;
	err = rows_replace(sn, by);
	err = err ? err : rows_join(sn);
	if (!err && sn->stacks->sampled)
		err = numbers_scale(sn, counted, n);
	free(counted);
	return err;
}
