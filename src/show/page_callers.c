// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_callers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/columns.h"
#include "base/json.h"
#include "base/names.h"
#include "base/share.h"
#include "base/snapshot.h"
#include "base/text.h"
#include "show/page_json.h"
#include "show/page_pack.h"
#include "show/stacks_text.h"

static const struct member operation_members[] = {
	{ "op", MEMBER_ASCII, .what = "kind of the operations", .null = "all further kinds" },
	{ "fs", MEMBER_TEXT, .what = "type of their file system", .null = "not known" },
	{}
};
static const struct object operation_object = { NULL, "operations with stacks", operation_members };

static const struct member callers_members[] = {
	{ "words", MEMBER_ASCII,
	  .what = "how many stacks were taken, the error of shares, and how many ended early",
	  .list = 1, .item = "a sentence" },
	{ "operations", MEMBER_OBJECT, .what = "kinds of operations", .object = &operation_object,
	  .list = 1 },
	{ "names", MEMBER_TEXT, .what = "functions with their libraries", .list = 1,
	  .item = "a name; long ones are cut" },
	{ "nodes", MEMBER_ASCII,
	  .what = "the tree, callers before what they call, the first is the root: number less "
		  "that "
		  "of its caller; number of its name + 1, 0 for the root; number of kinds of "
		  "operations that it made itself, and for each the number of the kind, the set of "
		  "shares with time, and their times; number of functions that it calls and that "
		  "are not in the tree; unless it is 0, their operations in the same form; "
		  "packed" },
	{}
};
const struct object page_callers_object = { "callers", "functions of programs that made operations",
					    callers_members };

enum { NAME_BYTES = 600 };

/* A name, once for all frames that have it. */
struct frame_name {
	uint32_t id;
	UT_hash_handle hh;
	char text[];
};

/* Operations with one stack: the names of its frames, the outermost first. */
struct path {
	const uint32_t *names;
	uint32_t depth, operation;
	const struct op_row *row;
};

/* A function in the tree. All paths in [from, to) go through it. */
struct node {
	size_t from, to;
	uint64_t total_ns;
	uint32_t name, depth, caller;
	uint32_t first, n; /* its children in the tree */
	uint32_t more;     /* its children that are not */
	bool is_expanded;
};

struct tree {
	const struct stacks *s;
	struct frame_name *by_text;
	size_t n_names;
	uint32_t *frames;   /* the paths' names, of all stacks; owned */
	size_t *begins;     /* of each stack in @frames; owned */
	struct path *paths; /* owned */
	size_t n_paths;
	const struct op_row *operations[CALLERS_OPERATIONS]; /* one row of each kind */
	uint32_t n_operations;
	struct node nodes[CALLERS_MOST];
	uint32_t n;
};

/* Sets @ret to the number of a name. Returns 0 or -ENOMEM. */
static int name_id(struct tree *t, const char *text, uint32_t *ret)
{
	size_t len = strlen(text);
	struct frame_name *one;

	HASH_FIND(hh, t->by_text, text, len, one);
	if (!one) {
		one = malloc(sizeof(*one) + len + 1);
		if (!one)
			return -ENOMEM;
		memcpy(one->text, text, len + 1);
		one->id = t->n_names++;
		HASH_ADD(hh, t->by_text, text, len, one);
	}
	*ret = one->id;
	return 0;
}

/* The names of a stack go to @to. Returns how many there are, or -ENOMEM. */
static int stack_names(struct tree *t, const struct stack *s, uint32_t *to)
{
	char name[NAME_BYTES];
	int n = 0, err = 0;

	if (stacks_end_caller(name, sizeof(name), s))
		err = name_id(t, name, &to[n++]);
	for (unsigned int i = s->n; i-- && !err;) {
		stack_frame_text(name, sizeof(name), s->frames[i], FRAME_LIBRARY);
		err = name_id(t, name, &to[n++]);
	}
	return err ? err : n;
}

/* Names all frames of all stacks. Returns 0 or -ENOMEM. */
static int frames_name(struct tree *t)
{
	size_t all = 0;
	int n;

	for (size_t i = 0; i < t->s->n; i++)
		all += t->s->stacks[i].n + 1;
	t->frames = calloc(all + 1, sizeof(*t->frames));
	t->begins = calloc(t->s->n + 1, sizeof(*t->begins));
	if (!t->frames || !t->begins)
		return -ENOMEM;
	for (size_t i = 0; i < t->s->n; i++) {
		n = stack_names(t, &t->s->stacks[i], t->frames + t->begins[i]);
		if (n < 0)
			return n;
		t->begins[i + 1] = t->begins[i] + n;
	}
	return 0;
}

/* The number of the kind of operations of @r. */
static uint32_t operation_of(struct tree *t, const struct op_row *r)
{
	uint32_t i;

	for (i = 0; i < t->n_operations; i++)
		if (t->operations[i] && t->operations[i]->key.op == r->key.op &&
		    !strncmp(t->operations[i]->fs, r->fs, FS_NAME_LEN))
			return i;
	if (i == CALLERS_OPERATIONS)
		return i - 1;
	t->n_operations++;
	if (i < CALLERS_OPERATIONS - 1) /* the last one has no kind */
		t->operations[i] = r;
	return i;
}

static int path_order(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	for (uint32_t i = 0; i < x->depth && i < y->depth; i++)
		if (x->names[i] != y->names[i])
			return x->names[i] < y->names[i] ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* Makes the paths, those with the same begin in a row. Returns 0 or -ENOMEM. */
static int paths_make(struct tree *t)
{
	t->paths = calloc(t->s->n_ops + 1, sizeof(*t->paths));
	if (!t->paths)
		return -ENOMEM;
	for (size_t i = 0; i < t->s->n_ops; i++) {
		const struct op_row *r = &t->s->ops[i];
		unsigned long long number = r->key.by[0];

		if (!number || number > t->s->n)
			continue;
		t->paths[t->n_paths++] = (struct path){
			.names = t->frames + t->begins[number - 1],
			.depth = t->begins[number] - t->begins[number - 1],
			.operation = operation_of(t, r),
			.row = r,
		};
	}
	if (t->n_paths)
		qsort(t->paths, t->n_paths, sizeof(*t->paths), path_order);
	return 0;
}

static int node_order(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int order = compare_u64(y->total_ns, x->total_ns);

	return order ? order : compare_u64(x->from, y->from);
}

/* The functions called by @of, widest first, for free(); NULL if out of memory. */
static struct node *node_children(const struct tree *t, uint32_t of, size_t *ret_n)
{
	const struct node *caller = &t->nodes[of];
	struct node *list = calloc(caller->to - caller->from + 1, sizeof(*list)), *last = NULL;
	size_t n = 0;

	for (size_t i = caller->from; list && i < caller->to; i++) {
		const struct path *p = &t->paths[i];

		if (p->depth == caller->depth)
			continue;
		if (!last || last->name != p->names[caller->depth]) {
			last = &list[n++];
			*last = (struct node){ .from = i,
					       .name = p->names[caller->depth],
					       .depth = caller->depth + 1,
					       .caller = of };
		}
		last->to = i + 1;
		last->total_ns += p->row->total_ns;
	}
	if (n)
		qsort(list, n, sizeof(*list), node_order);
	*ret_n = n;
	return list;
}

/* Adds the functions that node @of calls, as far as there is room. Returns 0 or -ENOMEM. */
static int node_expand(struct tree *t, uint32_t of)
{
	struct node *caller = &t->nodes[of], *list;
	size_t n, fit;

	list = node_children(t, of, &n);
	if (!list)
		return -ENOMEM;
	fit = n < CALLERS_MOST - t->n ? n : CALLERS_MOST - t->n;
	memcpy(t->nodes + t->n, list, fit * sizeof(*list));
	free(list);
	caller->first = t->n;
	caller->n = fit;
	caller->more = n - fit;
	caller->is_expanded = true;
	t->n += fit;
	return 0;
}

/* Makes the nodes: the widest ones first get what they call. Returns 0 or -ENOMEM. */
static int nodes_make(struct tree *t)
{
	uint32_t widest = 0;
	int err = 0;

	t->nodes[0] = (struct node){ .to = t->n_paths };
	t->n = 1;
	while (widest < t->n && !err) {
		err = node_expand(t, widest);
		widest = t->n;
		for (uint32_t i = 0; i < t->n; i++)
			if (!t->nodes[i].is_expanded &&
			    (widest == t->n || t->nodes[i].total_ns > t->nodes[widest].total_ns))
				widest = i;
	}
	return err;
}

/* Times by kind of operations and share. */
struct times {
	uint64_t of[CALLERS_OPERATIONS][SHARE_N];
};

static void times_add(struct times *to, const struct tree *t, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		const struct path *p = &t->paths[i];

		for (int s = 0; s < SHARE_N; s++)
			to->of[p->operation][s] += share_ns(s, p->row->strata);
	}
}

static void times_pack(struct pack *p, const struct tree *t, const struct times *times)
{
	static const uint64_t none[SHARE_N];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_operations; i++)
		n += memcmp(times->of[i], none, sizeof(none)) != 0;
	pack_uint(p, n);
	for (uint32_t i = 0; i < t->n_operations; i++) {
		if (!memcmp(times->of[i], none, sizeof(none)))
			continue;
		pack_uint(p, i);
		page_shares_pack(p, times->of[i]);
	}
}

static void node_pack(struct pack *p, const struct tree *t, uint32_t i, uint32_t name)
{
	const struct node *node = &t->nodes[i];
	struct times own = {}, more = {};
	size_t at = node->from;

	for (; at < node->to && t->paths[at].depth == node->depth; at++)
		;
	times_add(&own, t, node->from, at);
	if (node->more)
		times_add(&more, t, at, node->to);
	for (uint32_t k = 0; node->more && k < node->n; k++) {
		const struct node *child = &t->nodes[node->first + k];
		struct times there = {};

		times_add(&there, t, child->from, child->to);
		for (uint32_t o = 0; o < t->n_operations; o++)
			for (int s = 0; s < SHARE_N; s++)
				more.of[o][s] -= there.of[o][s];
	}
	pack_uint(p, i - node->caller);
	pack_uint(p, name);
	times_pack(p, t, &own);
	pack_uint(p, node->more);
	if (node->more)
		times_pack(p, t, &more);
}

/* Writes a name that is hostile, made safe and cut. */
static void name_put(struct json *j, const char *text)
{
	char safe[TEXT_SAFE_CAP(NAME_BYTES)], fit[sizeof(safe)];

	text_safe_utf8(safe, sizeof(safe), text, strnlen(text, NAME_BYTES));
	text_fit(fit, sizeof(fit), safe, CALLERS_NAME_COLUMNS, TEXT_CUT_MIDDLE);
	json_put_string(j, NULL, fit);
}

/* Writes the names of the nodes, and the nodes. Returns 0 or -ENOMEM. */
static int nodes_put(struct json *j, const struct tree *t)
{
	const struct frame_name **names = calloc(t->n_names + 1, sizeof(*names));
	uint32_t *numbers = calloc(t->n_names + 1, sizeof(*numbers)), n = 0;
	struct pack nodes = {};
	int err = names && numbers ? 0 : -ENOMEM;

	for (const struct frame_name *one = t->by_text; one && !err; one = one->hh.next)
		names[one->id] = one;
	json_put_begin(j, "names", '[');
	for (uint32_t i = 0; i < t->n && !err; i++) {
		uint32_t *number = &numbers[t->nodes[i].name];

		if (i && !*number) {
			*number = ++n;
			name_put(j, names[t->nodes[i].name]->text);
		}
		node_pack(&nodes, t, i, i ? *number : 0);
	}
	json_put_end(j, ']');
	free(names);
	free(numbers);
	return pack_put(&nodes, j, "nodes") ? -ENOMEM : err;
}

static void words_put(struct json *j, const struct stacks *s)
{
	char text[STACKS_WORDS];

	json_put_begin(j, "words", '[');
	stacks_taken_text(text, sizeof(text), s);
	json_put_string(j, NULL, text);
	for (unsigned int end = 0; end < STACK_END_N; end++)
		if (stacks_ended_text(text, sizeof(text), s, end))
			json_put_string(j, NULL, text);
	if (stacks_unnamed_text(text, sizeof(text), s))
		json_put_string(j, NULL, text);
	json_put_end(j, ']');
}

static void operations_put(struct json *j, const struct tree *t)
{
	json_put_begin(j, "operations", '[');
	for (uint32_t i = 0; i < t->n_operations; i++) {
		const struct op_row *r = t->operations[i];
		char safe[TEXT_SAFE_CAP(FS_NAME_LEN)] = "";

		if (r)
			text_safe_utf8(safe, sizeof(safe), r->fs, strnlen(r->fs, FS_NAME_LEN));
		json_put_begin(j, NULL, '{');
		json_put_string(j, "op", r ? op_name(r->key.op) : NULL);
		json_put_string(j, "fs", *safe ? safe : NULL);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void tree_free(struct tree *t)
{
	struct frame_name *one, *next;

	HASH_ITER (hh, t->by_text, one, next) {
		HASH_DEL(t->by_text, one);
		free(one);
	}
	free(t->frames);
	free(t->begins);
	free(t->paths);
	free(t);
}

int page_callers_put(struct json *j, const struct stacks *s)
{
	struct tree *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->s = s;
	err = frames_name(t);
	err = err ? err : paths_make(t);
	err = err ? err : nodes_make(t);
	if (!err) {
		json_put_begin(j, "callers", '{');
		words_put(j, s);
		operations_put(j, t);
		err = nodes_put(j, t);
		json_put_end(j, '}');
	}
	tree_free(t);
	return err;
}
