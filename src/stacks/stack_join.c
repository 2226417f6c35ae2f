// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/stack_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Two numbers of a text, for a key. */
static void key_set(unsigned long long by[2], const char *text)
{
	unsigned long long a = 0xcbf29ce484222325ULL, b = 5381;

	for (const char *c = text; *c; c++) {
		a = (a ^ (unsigned char)*c) * 0x100000001b3ULL;
		b = b * 33 + (unsigned char)*c;
	}
	by[0] = a;
	by[1] = b | 1;
}

static int row_key(struct op_row *r, const char *text)
{
	free(r->by);
	r->by = strdup(text);
	key_set(r->key.by, text);
	return r->by ? 0 : -ENOMEM;
}

/* Gives the rows made of stacks their keys. */
static int stacks_key(struct stacks *s, enum by_key by)
{
	char text[KEY_TEXT];
	int err = 0;

	for (size_t i = 0; i < s->n_ops && !err; i++) {
		unsigned long long number = s->ops[i].key.by[0];

		if (!number || number > s->n)
			continue;
		key_text(text, sizeof(text), &s->stacks[number - 1], by);
		err = row_key(&s->ops[i], text);
	}
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
	err = stacks_key(s, by);
	for (size_t i = 0; i < old.n_ops && !err; i++) {
		if (has_stacks(&old.ops[i]))
			continue;
		err = old.ops[i].key.op < OP_N ? row_key(&old.ops[i], "(no stack)") : 0;
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
