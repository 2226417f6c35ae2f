// SPDX-License-Identifier: GPL-2.0-only
#include "show/stacks_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/columns.h"
#include "base/share.h"
#include "base/stacks.h"
#include "show/view_parts.h"

enum {
	NAME_BYTES = 600,
	BUILD_ID_BYTES = 129, /* as text; tools make 20 or 32 bytes, two digits each */
	TREES_MOST = 3,       /* operations with a tree, without -v */
	LINES_MOST = 12,      /* of a tree, likewise */
	BAR = 12,             /* letters */
	NAME_COLUMNS = 52,
	INDENT_MOST = 24,
};

#define LEAST_SHARE 0.01 /* smaller callers are in the line about the rest, without -v */

/* A caller in the tree: all stacks with the same frames up to here. */
struct node {
	char *name;
	unsigned int times; /* that many frames in a row have this name */
	uint64_t total_ns, strata[ST_N];
	struct node *callers, *next; /* the first caller; the next of the same frame */
};

static void nodes_free(struct node *n)
{
	struct node *next;

	for (; n; n = next) {
		next = n->next;
		nodes_free(n->callers);
		free(n->name);
		free(n);
	}
}

/* The caller called @name below @to. Returns NULL if out of memory. */
static struct node *node_below(struct node *to, const char *name, unsigned int times)
{
	struct node *n;

	for (n = to->callers; n; n = n->next)
		if (n->times == times && !strcmp(n->name, name))
			return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->name = strdup(name);
	if (!n->name) {
		free(n);
		return NULL;
	}
	n->times = times;
	n->next = to->callers;
	to->callers = n;
	return n;
}

static void node_add(struct node *n, const struct op_row *r)
{
	n->total_ns += r->total_ns;
	for (int st = 0; st < ST_N; st++)
		n->strata[st] += r->strata[st];
}

static const struct stack *stack_of(const struct stacks *s, const struct op_row *r)
{
	unsigned long long number = r->key.by[0];

	return number && number <= s->n ? &s->stacks[number - 1] : NULL;
}

bool stacks_end_caller(char *dst, size_t cap, const struct stack *s)
{
	const char *why = s->own < 0 && s->n ? stack_unknown_reason(s) : stack_end_reason(s->end);

	if (why)
		snprintf(dst, cap, "(caller unknown: %s)", why);
	return why;
}

/* Adds the frames of a stack below @root: from the program's own code outwards. */
static int tree_add(struct node *root, const struct stack *s, const struct op_row *r)
{
	unsigned int i = s->own < 0 ? s->n : (unsigned int)s->own, times;
	char name[NAME_BYTES], next[NAME_BYTES];
	struct node *n = root;

	node_add(root, r);
	for (; i < s->n && n; i += times) {
		stack_frame_text(name, sizeof(name), s->frames[i], FRAME_LINE);
		for (times = 1; i + times < s->n; times++) {
			stack_frame_text(next, sizeof(next), s->frames[i + times], FRAME_LINE);
			if (strcmp(name, next))
				break;
		}
		if (s->frames[i]->hidden && i != (unsigned int)s->own)
			continue; /* the C library calls main() */
		n = node_below(n, name, times);
		if (n)
			node_add(n, r);
	}
	if (n && stacks_end_caller(name, sizeof(name), s)) {
		n = node_below(n, name, 1);
		if (n)
			node_add(n, r);
	}
	return n ? 0 : -ENOMEM;
}

static int node_order(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;

	return compare_u64(y->total_ns, x->total_ns);
}

/* The callers of @n, widest first, then NULL; freed by the caller. NULL: out of memory. */
static struct node **callers_of(const struct node *n, size_t *ret_n)
{
	struct node **list, *c;
	size_t len = 0;

	for (c = n->callers; c; c = c->next)
		len++;
	list = calloc(len + 1, sizeof(*list));
	*ret_n = list ? len : 0;
	for (c = n->callers, len = 0; list && c; c = c->next)
		list[len++] = c;
	if (list)
		qsort(list, len, sizeof(*list), node_order);
	return list;
}

/* A bar of letters of shares, the biggest first. */
static void bar_text(char dst[BAR + 1], const struct node *n)
{
	enum share s = share_next(n->strata, SHARE_N);
	int len = 0, width;

	for (; s < SHARE_N && len < BAR; s = share_next(n->strata, s)) {
		width = n->total_ns ? (double)share_ns(s, n->strata) * BAR / n->total_ns + 0.5 : 0;
		for (; width > 0 && len < BAR; width--)
			dst[len++] = share_letter(s);
	}
	dst[len] = '\0';
}

/* A tree being printed. */
struct printing {
	struct text_out *o;
	const struct breakdown_view *v;
	uint64_t total_ns;
	int lines;
	int err;
};

static void put_node(struct printing *p, const struct node *n, int indent)
{
	char safe[TEXT_SAFE_CAP(NAME_BYTES)], name[sizeof(safe) + 64], fit[sizeof(name)];
	char bar[BAR + 1], times[24] = "";
	int columns;

	text_safe(safe, sizeof(safe), n->name);
	if (n->times > 1)
		snprintf(times, sizeof(times), " x%u", n->times);
	snprintf(name, sizeof(name), "%*s%s%s", indent, "", safe, times);
	columns = text_fit(fit, sizeof(fit), name,
			   p->v->form.terminal ? NAME_COLUMNS : (int)sizeof(fit), TEXT_CUT_MIDDLE);
	bar_text(bar, n);
	text_put(p->o, "%7s  %s", text_percent(n->total_ns, p->total_ns).s, fit);
	text_fill(p->o, ' ', columns < NAME_COLUMNS ? NAME_COLUMNS - columns : 0);
	text_put(p->o, "  %s\n", bar);
	p->lines++;
}

/* A chain of only callers stays at one indent: most frames have one caller. */
static void put_callers(struct printing *p, const struct node *n, int indent)
{
	size_t len, i;
	struct node **list = callers_of(n, &len);
	uint64_t rest_ns = 0;
	int deeper = indent < INDENT_MOST && len > 1 ? 2 : 0;

	if (!list)
		p->err = -ENOMEM;
	for (i = 0; i < len; i++) {
		if (!p->v->form.detail &&
		    (list[i]->total_ns < LEAST_SHARE * p->total_ns || p->lines >= LINES_MOST))
			break;
		put_node(p, list[i], indent);
		put_callers(p, list[i], indent + (len > 1 || n->callers->next ? deeper : 0));
	}
	if (i < len) {
		for (size_t rest = i; rest < len; rest++)
			rest_ns += list[rest]->total_ns;
		text_put(p->o, "%7s  %*s%s more; %s\n", text_percent(rest_ns, p->total_ns).s,
			 indent, "", text_count(len - i).s, view_more(p->v));
	}
	free(list);
}

/* The operations on one file system, with all their stacks. */
struct group {
	const struct op_row *first;
	uint64_t total_ns;
};

static int group_order(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return compare_u64(y->total_ns, x->total_ns);
}

static bool in_group(const struct op_row *a, const struct op_row *b)
{
	return a->key.op == b->key.op && a->key.fs == b->key.fs;
}

/* The groups of the rows that the view shows, most time first; freed by the caller. */
static struct group *groups_of(const struct breakdown_view *v, const struct stacks *s,
			       size_t *ret_n)
{
	struct group *list = calloc(s->n_ops + 1, sizeof(*list));
	size_t n = 0, g;

	for (size_t i = 0; list && i < s->n_ops; i++) {
		const struct op_row *r = &s->ops[i];

		if (!opt_strings_pass(&v->chosen.fs, r->fs, sizeof(r->fs)))
			continue;
		for (g = 0; g < n && !in_group(list[g].first, r); g++)
			;
		if (g == n)
			list[n++].first = r;
		list[g].total_ns += r->total_ns;
	}
	if (list)
		qsort(list, n, sizeof(*list), group_order);
	*ret_n = n;
	return list;
}

static bool is_large(const struct group *g, const struct group *largest)
{
	return g->total_ns >= LEAST_SHARE * largest->total_ns;
}

static int put_tree(struct text_out *o, const struct breakdown_view *v, const struct stacks *s,
		    const struct group *g)
{
	struct printing p = { .o = o, .v = v };
	struct node root = {};
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)];
	int err = 0;

	for (size_t i = 0; i < s->n_ops && !err; i++)
		if (in_group(&s->ops[i], g->first) && stack_of(s, &s->ops[i]))
			err = tree_add(&root, stack_of(s, &s->ops[i]), &s->ops[i]);
	text_safe_n(fs, sizeof(fs), g->first->fs, strnlen(g->first->fs, FS_NAME_LEN));
	text_put(o, "\n%scalled by: %s%s%s, %s%s\n", view_paint(v, PAINT_TITLE).s,
		 op_name(g->first->key.op), *fs ? " " : "", fs, text_ns(g->total_ns).s,
		 view_paint(v, PAINT_OFF).s);
	p.total_ns = root.total_ns;
	if (!err)
		put_callers(&p, &root, 0);
	nodes_free(root.callers);
	return err ? err : p.err;
}

void stacks_taken_text(char *dst, size_t cap, const struct stacks *s)
{
	int n;

	if (!s->sampled)
		n = snprintf(dst, cap, "the stacks of %s operations were taken",
			     text_count(s->taken).s);
	else
		n = snprintf(dst, cap,
			     "functions are estimated from the stacks of %s of %s operations: a "
			     "share of half is right within %.1f %%",
			     text_count(s->taken).s, text_count(s->of).s, stacks_error(s, 0.5));
	if (s->by_frame_pointers)
		n += snprintf(dst + n, cap - n, "; %s by frame pointers in part",
			      text_count(s->by_frame_pointers).s);
	if (s->lost)
		n += snprintf(dst + n, cap - n, "; %s stack%s %s lost", text_count(s->lost).s,
			      text_plural(s->lost), s->lost == 1 ? "was" : "were");
	if (s->lost && s->lost_ns)
		n += snprintf(dst + n, cap - n, ", of operations with %s", text_ns(s->lost_ns).s);
	if (s->dropped)
		n += snprintf(dst + n, cap - n, "; %s in no row: too many are different",
			      text_count(s->dropped).s);
	if (s->nameless)
		snprintf(dst + n, cap - n, "; names are missing: %s", s->nameless);
}

bool stacks_ended_text(char *dst, size_t cap, const struct stacks *s, unsigned int end)
{
	if (!stack_end_reason(end) || !s->ended[end])
		return false;
	snprintf(dst, cap, "%s stack%s ended early: %s", text_count(s->ended[end]).s,
		 text_plural(s->ended[end]), stack_end_reason(end));
	return true;
}

bool stacks_unnamed_text(char *dst, size_t cap, const struct stacks *s)
{
	const struct stack_frame *f = s->unnamed;
	char name[NAME_BYTES], safe[80], build_id[BUILD_ID_BYTES] = "";

	if (!f || s->nameless)
		return false;
	stack_frame_text(name, sizeof(name), f, FRAME_LIBRARY);
	text_safe_utf8(safe, sizeof(safe), name, strnlen(name, NAME_BYTES));
	if (f->build_id)
		text_safe(build_id, sizeof(build_id), f->build_id);
	snprintf(dst, cap,
		 "%s has no symbol: install the debug symbols of this file%s%s%s, and trace "
		 "again, or give their directory to report --symbols",
		 safe, *build_id ? " (build id " : "", build_id, *build_id ? ")" : "");
	return true;
}

/* How many stacks were taken, how they ended, and why a caller has no name. */
static void put_words(struct text_out *o, const struct breakdown_view *v, const struct stacks *s)
{
	char text[STACKS_WORDS];

	stacks_taken_text(text, sizeof(text), s);
	text_put(o, "\n");
	view_wrap(o, v, text);
	for (unsigned int end = 0; end < STACK_END_N; end++)
		if (stacks_ended_text(text, sizeof(text), s, end))
			view_wrap(o, v, text);
	if (v->by != BY_LIBRARY && stacks_unnamed_text(text, sizeof(text), s))
		view_wrap(o, v, text);
}

int stacks_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	const struct stacks *s = sn->stacks;
	struct group *groups;
	size_t n;
	int err = 0;

	if (!s)
		return 0;
	if (v->form.stacks) {
		groups = groups_of(v, s, &n);
		if (!groups)
			return -ENOMEM;
		for (size_t i = 0; i < n && !err; i++)
			if (v->form.detail || (i < TREES_MOST && is_large(&groups[i], groups)))
				err = put_tree(o, v, s, &groups[i]);
		free(groups);
	}
	put_words(o, v, s);
	return err;
}

/* A frame as a part of a folded line, in which ';' and the line end have a meaning. */
static void put_part(struct text_out *o, const char *text)
{
	char safe[TEXT_SAFE_CAP(NAME_BYTES)];

	text_safe_utf8(safe, sizeof(safe), text, strnlen(text, NAME_BYTES));
	for (char *c = safe; *c; c++)
		*c = *c == ';' ? ':' : *c;
	text_put(o, "%s;", safe);
}

static void put_folded(struct text_out *o, const struct stack *s, const struct op_row *r,
		       unsigned int st)
{
	char name[NAME_BYTES];

	if (stacks_end_caller(name, sizeof(name), s))
		put_part(o, name);
	for (unsigned int i = s->n; i--;) {
		stack_frame_text(name, sizeof(name), s->frames[i], FRAME_NAME);
		put_part(o, name);
	}
	snprintf(name, sizeof(name), "%s%s%.*s", op_name(r->key.op), *r->fs ? " " : "", FS_NAME_LEN,
		 r->fs);
	put_part(o, name);
	text_put(o, "%s %llu\n", stratum_name(st), (unsigned long long)r->strata[st]);
}

int stacks_folded(FILE *f, const struct snapshot *sn)
{
	struct text_out o = { .f = f };
	const struct stacks *s = sn->stacks;

	for (size_t i = 0; s && i < s->n_ops; i++)
		for (unsigned int st = 0; st < ST_N; st++)
			if (s->ops[i].strata[st] && stack_of(s, &s->ops[i]))
				put_folded(&o, stack_of(s, &s->ops[i]), &s->ops[i], st);
	return text_end(&o);
}

void stacks_caller(char *dst, size_t cap, const struct snapshot *sn, const struct op_row *r)
{
	const struct stacks *s = sn->stacks;
	const struct node *most = NULL;
	char name[NAME_BYTES], safe[TEXT_SAFE_CAP(NAME_BYTES)];
	struct node root = {}, *n;

	*dst = '\0';
	for (size_t i = 0; s && i < s->n_ops; i++) {
		const struct stack *stack = stack_of(s, &s->ops[i]);

		if (!stack || !in_group(&s->ops[i], r))
			continue;
		node_add(&root, &s->ops[i]);
		if (stack->own < 0)
			continue;
		stack_frame_text(name, sizeof(name), stack->frames[stack->own], FRAME_LINE);
		n = node_below(&root, name, 1);
		if (n)
			node_add(n, &s->ops[i]);
	}
	for (n = root.callers; n; n = n->next)
		most = !most || n->total_ns > most->total_ns ? n : most;
	if (most) {
		text_safe(safe, sizeof(safe), most->name);
		snprintf(dst, cap, ", %s of it called by %s",
			 text_percent_whole(most->total_ns, root.total_ns).s, safe);
	}
	nodes_free(root.callers);
}
