// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/stack_rows.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/stack_numbers.h"
#include "stacks/own_code.h"

/* What tells two stacks apart: cut off after the last frame. */
struct stack_key {
	unsigned int end;
	unsigned int by_frame_pointers;
	unsigned long long frames[STACK_FRAMES];
};

struct stack_entry {
	unsigned int number; /* from 1 on */
	unsigned int n;
	uint64_t count; /* operations */
	struct stack_key key;
	UT_hash_handle hh;
};

struct known_frame {
	unsigned long long frame;
	struct stack_frame name;
	UT_hash_handle hh;
};

static size_t key_len(unsigned int n)
{
	return offsetof(struct stack_key, frames) + n * sizeof(unsigned long long);
}

/* Copies the @n frames; those that a process alone can name get their numbers. Returns 0 or
 * -ENOMEM. */
static int frames_take(struct stack_rows *r, const struct sent_stack *s, unsigned int n,
		       unsigned long long *to)
{
	struct process_frame f = { .process_start = s->process_start, .pid = s->who.pid };
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		to[i] = f.frame = s->frames[i];
		if (process_frame_is(f.frame))
			err = process_frames_number(&r->of_processes, &f, &to[i]);
	}
	return err;
}

/* Returns 0, -ENOMEM, or -E2BIG: there are too many. */
static int entry_of(struct stack_rows *r, const struct sent_stack *s, struct stack_entry **ret)
{
	unsigned int n = s->n < STACK_FRAMES ? s->n : STACK_FRAMES;
	struct stack_key key = { .end = s->end, .by_frame_pointers = s->by_frame_pointers };
	struct stack_entry *e;

	if (frames_take(r, s, n, key.frames))
		return -ENOMEM;
	HASH_FIND(hh, r->stacks, &key, key_len(n), e);
	if (!e) {
		if (r->n == STACKS_MOST)
			return -E2BIG;
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->key = key;
		e->n = n;
		e->number = ++r->n;
		HASH_ADD_KEYPTR(hh, r->stacks, &e->key, key_len(n), e);
	}
	*ret = e;
	return 0;
}

static void sums_of(const struct sent_stack *s, double scale, double *carry, struct op_sums *ret)
{
	bool failed = s->ret < 0 && s->ret >= -MAX_ERRNO;

	*ret = (struct op_sums){ .count = stack_whole(scale, carry) };
	ret->errors = failed ? ret->count : 0;
	ret->io_errors = failed && errno_is_io(-s->ret, s->kind) ? ret->count : 0;
	if (!failed && (s->kind <= OP_WRITE || s->kind == OP_COPY))
		ret->bytes = stack_times(s->ret, scale);
	ret->device_bytes = stack_times(s->device_bytes, scale);
	for (int st = 0; st < ST_N; st++) {
		ret->strata[st] = stack_times(s->strata[st], scale);
		ret->total_ns += ret->strata[st];
	}
}

static void sums_note(struct stack_rows *r, const struct sent_stack *s, double scale)
{
	r->sums.taken++;
	r->sums.ended[s->end < STACK_END_N ? s->end : 0]++;
	r->sums.by_frame_pointers += s->by_frame_pointers;
	stacks_draw_add(&r->sums, scale, s->total_ns);
}

int stack_rows_sum(struct stack_rows *r, const struct sent_stack *s, const struct op_key *key,
		   const char *fs)
{
	double scale = stack_stands_for(s->threshold_ns, s->total_ns);
	struct op_row *row = rows_op(&r->rows, key);
	struct op_sums sums;

	sums_note(r, s, scale);
	if (!row)
		return -ENOMEM;
	if (!row->count)
		strncpy(row->fs, fs, sizeof(row->fs) - 1);
	sums_of(s, scale, &r->carry, &sums);
	op_row_add(row, &sums);
	row->certain += scale <= 1;
	row->max_ns = row->max_ns > s->total_ns ? row->max_ns : s->total_ns;
	return hist_add(&row->hist, hist_bucket(s->total_ns), sums.count);
}

void stack_rows_drop(struct stack_rows *r, const struct sent_stack *s)
{
	sums_note(r, s, stack_stands_for(s->threshold_ns, s->total_ns));
	r->sums.dropped++;
}

int stack_rows_add(struct stack_rows *r, const struct sent_stack *s, const char *fs,
		   unsigned int *ret_number)
{
	struct op_key key = { .fs = s->fs, .op = s->kind };
	struct stack_entry *e;
	int err = entry_of(r, s, &e);

	*ret_number = 0;
	if (err) {
		stack_rows_drop(r, s);
		return err == -E2BIG ? 0 : err;
	}
	e->count++;
	key.by[0] = *ret_number = e->number;
	return stack_rows_sum(r, s, &key, fs);
}

void stack_rows_file(struct stack_rows *r, unsigned int number, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (number < STACK_FILES && !r->libraries[number] && *path)
		r->libraries[number] = strdup(slash ? slash + 1 : path);
}

static char *text_or_null(const char *text)
{
	return *text ? strdup(text) : NULL;
}

/* Fills in what is known of frame @number of a process. */
static void process_frame_set(const struct process_frames *p, unsigned long long number,
			      const struct frame_name *text, struct stack_frame *to)
{
	const struct process_frame *f = process_frames_get(p, number);
	const char *slash = strrchr(text->source, '/');

	to->library = text_or_null(slash ? slash + 1 : text->source);
	to->at =
		f ? f->frame & STACK_PYTHON ? STACK_PYTHON_CODE(f->frame) : STACK_FRAME_AT(f->frame)
		  : 0;
	if (!to->function && f && f->frame & STACK_PYTHON)
		to->function = strdup("(function of Python that is gone)");
}

/* Keeps the build id of file @number, once. The deputy may have been taken over by a file. */
static void build_id_set(struct stack_rows *r, unsigned int number, const struct frame_name *text,
			 struct stack_frame *to)
{
	size_t len = strnlen(text->build_id, sizeof(text->build_id));

	if (!len || len == sizeof(text->build_id) ||
	    strspn(text->build_id, "0123456789abcdef") != len)
		return;
	if (!r->build_ids[number])
		r->build_ids[number] = strdup(text->build_id);
	to->build_id = r->build_ids[number];
	to->address = text->address;
}

/* Why a name could not be looked up. */
static const char *reason_of(int err)
{
	return err == -ENOMEM      ? "no memory was left to read programs"
	       : err == -ETIMEDOUT ? "a program took too long to read"
				   : "the process that reads programs has ended";
}

/* The first reason stays. */
static void nameless_set(struct stack_rows *r, const char *why)
{
	if (!r->sums.nameless)
		r->sums.nameless = why;
}

/* The name of @frame. A name that could not be looked up is not asked for again. Returns NULL if
 * out of memory. */
static const struct stack_frame *frame_named(struct stack_rows *r, unsigned long long frame,
					     const struct opt_strings *hide, frame_name_fn *name,
					     void *arg)
{
	unsigned int number = STACK_FRAME_FILE(frame);
	struct frame_name text = {};
	struct known_frame *k;
	int err;

	HASH_FIND(hh, r->frames, &frame, sizeof(frame), k);
	if (k)
		return &k->name;
	/* a program can have any number of functions, and each name is asked for */
	if (HASH_COUNT(r->frames) >= FRAMES_MOST) {
		r->too_many.function = "(too many functions)";
		nameless_set(r, "there are too many functions");
		return &r->too_many;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	err = number ? name(arg, frame, &text) : 0;
	if (err) {
		text = (struct frame_name){};
		nameless_set(r, reason_of(err));
	}
	k->frame = frame;
	k->name = (struct stack_frame){
		.function = text_or_null(text.function),
		.source = text_or_null(text.source),
		.line = text.line,
		.at = STACK_FRAME_AT(frame),
		.library = number < STACK_FILES && r->libraries[number]
				   ? strdup(r->libraries[number])
				   : NULL,
	};
	if (number == STACK_OF_PROCESS)
		process_frame_set(&r->of_processes, STACK_FRAME_AT(frame), &text, &k->name);
	if (number < STACK_FILES && number)
		build_id_set(r, number, &text, &k->name);
	k->name.hidden = frame_is_hidden(&k->name, hide);
	HASH_ADD(hh, r->frames, frame, sizeof(k->frame), k);
	return &k->name;
}

static void entries_free(struct stack_rows *r)
{
	struct stack_entry *e, *next;

	HASH_ITER (hh, r->stacks, e, next) {
		HASH_DEL(r->stacks, e);
		free(e);
	}
	r->n = 0;
}

void stack_rows_take_sums(struct stack_rows *r, struct stacks *to)
{
	struct snapshot rows = {};

	rows_take(&r->rows, &rows);
	to->ops = rows.ops;
	to->n_ops = rows.n_ops;
	to->taken = r->sums.taken;
	to->dropped = r->sums.dropped;
	to->by_frame_pointers = r->sums.by_frame_pointers;
	to->sampled = r->sums.sampled;
	to->nameless = r->sums.nameless;
	memcpy(to->ended, r->sums.ended, sizeof(to->ended));
	to->weight = r->sums.weight;
	to->variance = r->sums.variance;
	r->sums = (struct stacks){ .nameless = r->sums.nameless };
}

/* The frames of @s, which @count operations have, are named. */
static void end_judge(struct stack_rows *r, struct stack *s, uint64_t count)
{
	enum stack_end before = s->end;

	stack_end_judge(s);
	r->sums.ended[before < STACK_END_N ? before : 0] -= count;
	r->sums.ended[s->end < STACK_END_N ? s->end : 0] += count;
}

int stack_rows_take(struct stack_rows *r, const struct opt_strings *hide, frame_name_fn *name,
		    void *arg, struct stacks **ret_stacks)
{
	struct stacks *to = calloc(1, sizeof(*to));
	struct stack_entry *e;
	int err = 0;

	if (!to)
		return -ENOMEM;
	to->stacks = calloc(r->n + 1, sizeof(*to->stacks));
	to->n = to->stacks ? r->n : 0;
	err = to->stacks ? 0 : -ENOMEM;
	for (e = r->stacks; e && !err; e = e->hh.next) {
		struct stack *s = &to->stacks[e->number - 1];

		s->end = e->key.end;
		s->by_frame_pointers = e->key.by_frame_pointers;
		s->frames = calloc(e->n + 1, sizeof(*s->frames));
		for (unsigned int i = 0; i < e->n && s->frames && !err; i++) {
			s->frames[i] = frame_named(r, e->key.frames[i], hide, name, arg);
			err = s->frames[i] ? 0 : -ENOMEM;
			s->n = i + 1;
		}
		err = s->frames ? err : -ENOMEM;
		if (!err)
			end_judge(r, s, e->count);
		s->own = err ? -1 : stack_own_frame(s);
	}
	entries_free(r);
	stack_rows_take_sums(r, to);
	if (err) {
		stacks_free(to);
		return err;
	}
	stacks_unnamed_note(to);
	*ret_stacks = to;
	return 0;
}

void stack_rows_done(struct stack_rows *r)
{
	struct known_frame *k, *next;

	entries_free(r);
	HASH_ITER (hh, r->frames, k, next) {
		HASH_DEL(r->frames, k);
		free(k->name.function);
		free(k->name.library);
		free(k->name.source);
		free(k);
	}
	for (unsigned int i = 0; i < STACK_FILES; i++) {
		free(r->libraries[i]);
		free(r->build_ids[i]);
	}
	process_frames_done(&r->of_processes);
	rows_done(&r->rows);
	*r = (struct stack_rows){};
}
