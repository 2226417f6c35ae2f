// SPDX-License-Identifier: GPL-2.0-only
#include "common/recorded_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/encode.h"
#include "base/list.h"
#include "base/snapshot.h"
#include "stacks/own_code.h"

/* Into a recording. */

/* A frame or a library that was written. */
struct written {
	void *key; /* owned: the pointer to a frame, or the text and the slide of a library */
	unsigned int id;
	UT_hash_handle hh;
};

struct writing {
	struct writer *w;
	struct written *frames, *codes; /* frames by address, libraries by text and slide */
	unsigned int n_frames, n_codes;
};

/* The id of @key, which has @len bytes; *@ret_is_new: it gets one now. Returns 0 if out of
 * memory. */
static unsigned int written_id(struct written **all, unsigned int *n, const void *key, size_t len,
			       bool *ret_is_new)
{
	struct written *one;

	HASH_FIND(hh, *all, key, len, one);
	*ret_is_new = !one;
	if (one)
		return one->id;
	one = calloc(1, sizeof(*one));
	if (one)
		one->key = malloc(len);
	if (!one || !one->key) {
		free(one);
		return 0;
	}
	memcpy(one->key, key, len);
	one->id = ++*n;
	HASH_ADD_KEYPTR(hh, *all, one->key, len, one);
	return one->id;
}

static void written_free(struct written **all)
{
	struct written *one, *next;

	HASH_ITER (hh, *all, one, next) {
		HASH_DEL(*all, one);
		free(one->key);
		free(one);
	}
}

/* Writes the file of @frame. One with code in two segments is written twice, since their places
 * have different distances to their addresses. */
static unsigned int code_write(struct writing *w, const struct stack_frame *frame)
{
	uint64_t slide = frame->build_id ? frame->address - frame->at : 0;
	struct stored_name n = { .type = NAME_CODE, .a = slide };
	char key[2 * FRAME_TEXT];
	bool is_new;
	size_t len;

	if (!frame->library || !*frame->library)
		return 0;
	n.text_len = snprintf(key, FRAME_TEXT, "%s", frame->library);
	n.text_len = n.text_len < FRAME_TEXT ? n.text_len : FRAME_TEXT - 1;
	if (frame->build_id)
		n.text_len +=
			1 + snprintf(key + n.text_len + 1, BUILD_ID_TEXT, "%s", frame->build_id);
	len = n.text_len;
	memcpy(key + len, &slide, sizeof(slide));
	n.id = written_id(&w->codes, &w->n_codes, key, len + sizeof(slide), &is_new);
	if (n.id && is_new)
		writer_name(w->w, &n, key);
	return n.id;
}

/* Returns the id of the frame, or 0 if out of memory. */
static unsigned int frame_write(struct writing *w, const struct stack_frame *const *f)
{
	const struct stack_frame *frame = *f;
	const char *function = frame->function ? frame->function : "";
	const char *source = frame->source ? frame->source : "";
	struct stored_name n = { .type = NAME_FRAME, .b = frame->at, .c = frame->line };
	char text[2 * FRAME_TEXT];
	bool is_new;

	n.id = written_id(&w->frames, &w->n_frames, f, sizeof(*f), &is_new);
	if (!n.id || !is_new)
		return n.id;
	n.a = code_write(w, frame);
	n.text_len = snprintf(text, sizeof(text), "%s", function) + 1;
	n.text_len += snprintf(text + n.text_len, sizeof(text) - n.text_len, "%s", source);
	writer_name(w->w, &n, text);
	return n.id;
}

void recorded_stacks_write(struct writer *w, const struct stacks *s)
{
	struct writing to = { .w = w };
	uint8_t text[4 * STACK_FRAMES];
	unsigned int id = 1;

	for (size_t i = 0; i < s->n && id; i++) {
		const struct stack *stack = &s->stacks[i];
		struct stored_name n = { .type = NAME_STACK,
					 .id = i + 1,
					 .a = stack->end,
					 .b = stack->by_frame_pointers };

		for (unsigned int at = 0; at < stack->n && id; at++) {
			id = frame_write(&to, &stack->frames[at]);
			put_u32(text + 4 * at, id);
		}
		n.text_len = 4 * stack->n;
		if (id)
			writer_name(w, &n, (const char *)text);
	}
	written_free(&to.frames);
	written_free(&to.codes);
}

/* Out of recordings. */

/* The frames of a recording; [0] is none. */
struct recorded_frames {
	struct recorded_frames *next;
	size_t n;
	struct stack_frame list[];
};

/* A larger id or threshold is damage. */
enum { STACK_IDS = STACKS_MOST + 1 };
#define THRESHOLD_MOST (1ULL << 60)

int recorded_stacks_add(struct recorded_stacks *s, struct replay *replay,
			const struct recording *rec, const struct stored_event *ev)
{
	const struct stored_op *op = &ev->op;
	struct op_key key = { .fs = replay_fs_key(replay, rec, op->fs), .op = op->kind };
	uint64_t threshold = ev->threshold_ns, id = ev->stack;
	struct sent_stack one = { .kind = op->kind,
				  .ret = op->ret,
				  .total_ns = stored_op_total(op),
				  .device_bytes = op->device_bytes };

	if (op->kind >= OP_N || !(STACK_KINDS >> op->kind & 1) || id >= STACK_IDS)
		return 0;
	if (!key.fs)
		return -ENOMEM;
	one.threshold_ns = threshold < THRESHOLD_MOST ? threshold : THRESHOLD_MOST;
	for (int st = 0; st < ST_N; st++)
		one.strata[st] = op->strata[st];
	if (!id) {
		stack_rows_drop(&s->rows, &one);
		return 0;
	}
	while (s->n_counts <= id) {
		if (list_reserve((void **)&s->counts, &s->counts_cap, s->n_counts,
				 sizeof(*s->counts)))
			return -ENOMEM;
		s->counts[s->n_counts++] = 0;
	}
	s->counts[id]++;
	key.by[0] = s->n + id;
	return stack_rows_sum(&s->rows, &one, &key, catalog_fs(&rec->catalog, op->fs));
}

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* Sets the build id, a copy, and the address. */
static void frame_address_set(struct stack_frame *f, const struct catalog *c, size_t id)
{
	struct stack_frame of;

	catalog_stack_frame(c, id, &of);
	f->address = of.address;
	f->build_id = copy_of(of.build_id);
}

/* The frames of @rec. Returns NULL if out of memory. */
static struct recorded_frames *frames_take(struct recorded_stacks *s, const struct recording *rec)
{
	const struct catalog *c = &rec->catalog;
	struct recorded_frames *f = calloc(1, sizeof(*f) + c->n_frames * sizeof(*f->list));

	if (!f)
		return NULL;
	f->n = c->n_frames;
	f->next = s->frames;
	s->frames = f;
	for (size_t i = 1; i < c->n_frames; i++) {
		f->list[i] = (struct stack_frame){
			.function = copy_of(c->frames[i].function),
			.source = copy_of(c->frames[i].source),
			.library = copy_of(catalog_code(c, c->frames[i].code)),
			.line = c->frames[i].line,
			.at = c->frames[i].at,
		};
		frame_address_set(&f->list[i], c, i);
		f->list[i].hidden = frame_is_hidden(&f->list[i], &s->hide);
	}
	return f;
}

int recorded_own_frame(const struct opt_strings *hide, const struct catalog *c,
		       const struct catalog_stack *s)
{
	struct stack_frame frames[STACK_FRAMES];
	const struct stack_frame *list[STACK_FRAMES];
	struct stack stack = { .frames = list, .end = s->end };

	for (; stack.n < s->n && stack.n < STACK_FRAMES; stack.n++) {
		catalog_stack_frame(c, s->frames[stack.n], &frames[stack.n]);
		frames[stack.n].hidden = frame_is_hidden(&frames[stack.n], hide);
		list[stack.n] = &frames[stack.n];
	}
	return stack_own_frame(&stack);
}

/* Fills in stack @id of @rec. Returns 0 or -ENOMEM. */
static int stack_take(struct recorded_stacks *s, const struct recording *rec, size_t id,
		      const struct recorded_frames *frames, struct stack *to)
{
	const struct catalog_stack *from;
	unsigned int count = s->counts[id];

	*to = (struct stack){ .end = STACK_UNNAMED, .own = -1 };
	if (id < rec->catalog.n_stacks) {
		from = &rec->catalog.stacks[id];
		to->frames = calloc(from->n + 1, sizeof(*to->frames));
		if (!to->frames)
			return -ENOMEM;
		to->end = from->end;
		to->by_frame_pointers = from->by_frame_pointers;
		for (; to->n < from->n; to->n++)
			to->frames[to->n] = &frames->list[from->frames[to->n]];
		stack_end_judge(to);
		to->own = stack_own_frame(to);
	}
	s->ended[to->end] += count;
	s->by_frame_pointers += to->by_frame_pointers ? count : 0;
	return 0;
}

int recorded_stacks_end(struct recorded_stacks *s, const struct recording *rec)
{
	const struct recorded_frames *frames = s->n_counts ? frames_take(s, rec) : NULL;
	size_t n = s->n_counts;

	s->n_counts = 0;
	s->lost += rec->ending.stacks_lost;
	s->lost_ns += rec->ending.stacks_lost_ns;
	if (n && !frames)
		return -ENOMEM;
	for (size_t id = 1; id < n; id++) {
		if (list_reserve((void **)&s->stacks, &s->cap, s->n, sizeof(*s->stacks)) ||
		    stack_take(s, rec, id, frames, &s->stacks[s->n]))
			return -ENOMEM;
		s->n++;
	}
	return 0;
}

int recorded_stacks_take(struct recorded_stacks *s, const struct replay *replay,
			 struct snapshot *sn)
{
	struct stacks *to = calloc(1, sizeof(*to));

	if (!to)
		return -ENOMEM;
	to->stacks = s->stacks;
	to->n = s->n;
	s->stacks = NULL;
	s->n = s->cap = 0;
	stack_rows_take_sums(&s->rows, to);
	memcpy(to->ended, s->ended, sizeof(to->ended));
	to->by_frame_pointers = s->by_frame_pointers;
	to->lost = s->lost;
	to->lost_ns = s->lost_ns;
	to->of = stacks_ops(sn);
	for (size_t i = 0; i < to->n_ops; i++)
		to->ops[i].missing_layers = replay_missing_layers(replay, &to->ops[i]);
	stacks_unnamed_note(to);
	sn->stacks = to;
	return 0;
}

void recorded_stacks_done(struct recorded_stacks *s)
{
	struct recorded_frames *f;

	while ((f = s->frames)) {
		s->frames = f->next;
		for (size_t i = 1; i < f->n; i++) {
			free(f->list[i].function);
			free(f->list[i].source);
			free(f->list[i].library);
			free((char *)f->list[i].build_id);
		}
		free(f);
	}
	for (size_t i = 0; i < s->n; i++)
		free(s->stacks[i].frames);
	free(s->stacks);
	free(s->counts);
	stack_rows_done(&s->rows);
}
