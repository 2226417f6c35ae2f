// SPDX-License-Identifier: GPL-2.0-only
#include "show/stacks_json.h"

#include "base/json.h"
#include "base/names.h"
#include "base/stacks.h"
#include "show/breakdown_members.h"
#include "show/stacks_text.h"

static const struct member end_members[] = {
	{ "end", MEMBER_ASCII, .what = "how the stacks ended; \"whole\": at the outermost frame" },
	{ "count", MEMBER_COUNT, .what = "number of such stacks", .least = 1 },
	{}
};
static const struct object end_object = { NULL, "stacks with one end", end_members };

static const struct member frame_members[] = {
	{ "function", MEMBER_TEXT, .what = "name of the function", .null = "not known" },
	{ "library", MEMBER_TEXT,
	  .what = "name of the program or library, or of the source of Python or JavaScript, "
		  "without directories",
	  .null = "the code is in memory without a file" },
	{ "source", MEMBER_TEXT, .what = "source, as the compiler had it", .null = "not known" },
	{ "line", MEMBER_ID, .what = "its line", .null = "not known" },
	{ "at", MEMBER_ID, .what = "place in the file, or address" },
	{ "hidden", MEMBER_BOOL, .what = "not the program's own code" },
	{}
};
static const struct object frame_object = { NULL, "a frame", frame_members };

static const struct member stack_members[] = {
	{ "op", MEMBER_ASCII, .what = "kind of the operations" },
	{ "fs", MEMBER_TEXT, .what = "type of their file system", .null = "not known" },
	{ "count", MEMBER_COUNT, .what = "number of the operations" },
	{ "total_ns", MEMBER_TIME, .what = "their elapsed time" },
	{ "strata", MEMBER_OBJECT, .what = "the same by stratum", .object = &strata_object },
	{ "end", MEMBER_ASCII, .what = "how the stack ended" },
	{ "by_frame_pointers", MEMBER_BOOL, .what = "some frames were found by frame pointers" },
	{ "own", MEMBER_ID, .what = "the frame that is the caller, from 0 on",
	  .null = "the caller is not known" },
	{ "frames", MEMBER_OBJECT, .what = "the frames, the innermost first",
	  .object = &frame_object, .list = 1 },
	{}
};
static const struct object stack_object = { "stack", "operations of one kind with one user stack",
					    stack_members };

static const struct member stacks_members[] = {
	{ "taken", MEMBER_COUNT, .what = "number of stacks" },
	{ "of", MEMBER_COUNT,
	  .what = "number of operations of kinds which have stacks. It is counted, not estimated" },
	{ "sampled", MEMBER_BOOL, .what = "not all stacks were taken: figures are estimates" },
	{ "error_percent", MEMBER_COUNT,
	  .what = "half the width of the 95 % interval around a share of one half",
	  .fraction = true },
	{ "by_frame_pointers", MEMBER_COUNT,
	  .what = "number of stacks with frames which were found by frame pointers" },
	{ "lost", MEMBER_COUNT, .what = "number of stacks which found no room" },
	{ "lost_ns", MEMBER_TIME, .what = "time of their operations" },
	{ "dropped", MEMBER_COUNT,
	  .what = "number of stacks in no row, since too many are different" },
	{ "ends", MEMBER_OBJECT, .what = "the ends of stacks", .object = &end_object, .list = 1 },
	{ "list", MEMBER_OBJECT,
	  .what = "a row for each kind, file system and stack; empty with --by",
	  .object = &stack_object, .list = 1 },
	{}
};
const struct object stacks_object = { "stacks", "user stacks", stacks_members };

static void put_frame(struct json *j, const struct stack_frame *f)
{
	json_put_begin(j, NULL, '{');
	json_put_string(j, "function", f->function);
	json_put_string(j, "library", f->library);
	json_put_string(j, "source", f->source);
	if (f->line)
		json_put_uint(j, "line", f->line);
	else
		json_put_null(j, "line");
	json_put_uint(j, "at", f->at);
	json_put_bool(j, "hidden", f->hidden);
	json_put_end(j, '}');
}

static void put_strata(struct json *j, const struct op_row *r, const struct missing *m)
{
	json_put_begin(j, "strata", '{');
	for (unsigned int st = 0; st < ST_N; st++) {
		if ((!m || !m->stratum[st]) && (r->strata[st] || !(r->missing_layers >> st & 1)))
			json_put_uint(j, stratum_name(st), r->strata[st]);
		else
			json_put_null(j, stratum_name(st));
	}
	json_put_end(j, '}');
}

static void put_stack(struct json *j, const struct op_row *r, const struct stack *s,
		      const struct missing *m)
{
	json_put_begin(j, NULL, '{');
	json_put_string(j, "op", op_name(r->key.op));
	json_put_text(j, "fs", r->fs, sizeof(r->fs));
	json_put_uint(j, "count", r->count);
	json_put_uint(j, "total_ns", r->total_ns);
	put_strata(j, r, m);
	json_put_string(j, "end", stack_end_name(s->end));
	json_put_bool(j, "by_frame_pointers", s->by_frame_pointers);
	if (s->own >= 0)
		json_put_uint(j, "own", s->own);
	else
		json_put_null(j, "own");
	json_put_begin(j, "frames", '[');
	for (unsigned int i = 0; i < s->n; i++)
		put_frame(j, s->frames[i]);
	json_put_end(j, ']');
	json_put_end(j, '}');
}

void stacks_json(struct json *j, const struct stacks *s, const struct missing *m)
{
	json_put_begin(j, "stacks", '{');
	json_put_uint(j, "taken", s->taken);
	json_put_uint(j, "of", s->of);
	json_put_bool(j, "sampled", s->sampled);
	json_put_real(j, "error_percent", stacks_error(s, 0.5));
	json_put_uint(j, "by_frame_pointers", s->by_frame_pointers);
	json_put_uint(j, "lost", s->lost);
	json_put_uint(j, "lost_ns", s->lost_ns);
	json_put_uint(j, "dropped", s->dropped);
	json_put_begin(j, "ends", '[');
	for (unsigned int end = 0; end < STACK_END_N; end++) {
		if (!s->ended[end])
			continue;
		json_put_begin(j, NULL, '{');
		json_put_string(j, "end", stack_end_name(end));
		json_put_uint(j, "count", s->ended[end]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	json_put_begin(j, "list", '[');
	for (size_t i = 0; i < s->n_ops; i++) {
		unsigned long long number = s->ops[i].key.by[0];

		if (number && number <= s->n)
			put_stack(j, &s->ops[i], &s->stacks[number - 1], m);
	}
	json_put_end(j, ']');
	json_put_end(j, '}');
}
