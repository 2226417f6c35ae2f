// SPDX-License-Identifier: GPL-2.0-only
#include "base/stacks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/snapshot.h"

#define END_NAME(id, name, reason)   [STACK_##id] = (name),
#define END_REASON(id, name, reason) [STACK_##id] = (reason),

const char *stack_end_name(unsigned int end)
{
	static const char *const names[STACK_END_N] = { STACK_END_LIST(END_NAME) };

	return end < STACK_END_N ? names[end] : "?";
}

const char *stack_end_reason(unsigned int end)
{
	static const char *const reasons[STACK_END_N] = { STACK_END_LIST(END_REASON) };

	return end < STACK_END_N ? reasons[end] : "an unknown reason";
}

const char *stack_unknown_reason(const struct stack *s)
{
	const char *why = stack_end_reason(s->end);

	return why ? why : s->n ? "libuv worker" : "the stack has no frame";
}

void stack_frame_text(char *dst, size_t cap, const struct stack_frame *f, enum frame_form form)
{
	const char *slash = f->source ? strrchr(f->source, '/') : NULL;
	const char *source = slash ? slash + 1 : f->source;
	char place[32] = "";
	int n;

	if (!f->function)
		snprintf(place, sizeof(place), "0x%llx", (unsigned long long)f->at);
	n = snprintf(dst, cap, "%s", f->function ? f->function : place);
	if (n < 0 || (size_t)n >= cap)
		return;
	if (form == FRAME_LINE && source && f->line)
		snprintf(dst + n, cap - n, " (%s:%u)", source, f->line);
	else if (form != FRAME_NAME && f->library)
		snprintf(dst + n, cap - n, " [%s]", f->library);
}

uint64_t stacks_ops(const struct snapshot *sn)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sn->n_ops; i++)
		if (sn->ops[i].key.op < OP_N && STACK_KINDS >> sn->ops[i].key.op & 1)
			n += sn->ops[i].count;
	return n;
}

/* The frame that called @r, if it has only an address in a file; else NULL. */
static const struct stack_frame *address_of(const struct stacks *s, const struct op_row *r)
{
	unsigned long long number = r->key.by[0];
	const struct stack *stack = number && number <= s->n ? &s->stacks[number - 1] : NULL;
	const struct stack_frame *f = stack && stack->own >= 0 ? stack->frames[stack->own] : NULL;

	return f && !f->function && f->library ? f : NULL;
}

void stacks_unnamed_note(struct stacks *s)
{
	const struct stack_frame *most = NULL, *f;
	uint64_t most_ns = 0, file_ns = 0, all_ns = 0;

	for (size_t i = 0; i < s->n_ops; i++) {
		all_ns += s->ops[i].total_ns;
		f = address_of(s, &s->ops[i]);
		if (!f || s->ops[i].total_ns <= most_ns)
			continue;
		most = f;
		most_ns = s->ops[i].total_ns;
	}
	for (size_t i = 0; i < s->n_ops && most; i++) {
		f = address_of(s, &s->ops[i]);
		if (f && !strcmp(f->library, most->library))
			file_ns += s->ops[i].total_ns;
	}
	s->unnamed = file_ns < all_ns / 20 ? NULL : most;
}

void stacks_draw_add(struct stacks *s, double scale, uint64_t total_ns)
{
	double weight = scale * total_ns;

	s->sampled |= scale > 1;
	s->weight += weight;
	/* what was certain to be drawn has none */
	s->variance += (1 - 1 / scale) * weight * weight;
}

double stacks_error(const struct stacks *s, double part)
{
	const double z = 1.96;

	if (!s->sampled || !(s->variance > 0))
		return 0;
	return 100 * z * sqrt(part * (1 - part) * s->variance) / s->weight;
}

void stacks_sums_add(struct stacks *to, const struct stacks *more)
{
	to->weight += more->weight;
	to->variance += more->variance;
	to->taken += more->taken;
	to->of += more->of;
	to->lost += more->lost;
	to->lost_ns += more->lost_ns;
	to->dropped += more->dropped;
	for (int end = 0; end < STACK_END_N; end++)
		to->ended[end] += more->ended[end];
	to->by_frame_pointers += more->by_frame_pointers;
	to->sampled |= more->sampled;
	to->nameless = to->nameless ? to->nameless : more->nameless;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->stacks[i].frames);
	for (size_t i = 0; i < s->n_ops; i++) {
		free(s->ops[i].by);
		free(s->ops[i].hist.bins);
	}
	free(s->stacks);
	free(s->ops);
	free(s);
}
