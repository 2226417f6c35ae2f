// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/condition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/opts.h"
#include "base/reason.h"
#include "event.h"

#define OVER_MIN ((uint64_t)NS_PER_S)
#define OVER_MAX ((uint64_t)3600 * NS_PER_S)

enum { WORD_CAP = 64, WORDS_MAX = 3 };

struct words {
	char at[WORDS_MAX][WORD_CAP];
	unsigned int n;
};

static const struct {
	const char *hint;
	const char *refusal; /* of a measure that is not among these: */
	unsigned int measures;
} uses[] = {
	[CONDITION_LIVE] = { "conditions are like 'fsync>100ms', 'any>1', 'request vda>p99.9x3', "
			     "'fsync p99>50ms over 10s', 'errors>0', 'queue vda>64 over 5s'",
			     "a percentile and its multiple are like p99.9x3",
			     ~(1U << CONDITION_SLOWEST) },
	[CONDITION_RECORDED] = { "conditions are like 'fsync>p99', 'read>5ms', 'any>p99.9', "
				 "'request vda>p99'",
				 "the limit is a time like 5ms, or a percentile like p99.9",
				 1U << CONDITION_TIME | 1U << CONDITION_SLOWEST },
};

/* A condition being read. */
struct parse {
	struct condition c;
	enum condition_use use;
};

static int invalid(const struct parse *p, const char *wrong, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid condition '%.60s': %s", p->c.text, wrong);
	return reason_hint(why, "%s", uses[p->use].hint);
}

/* Refuses a measure that is not for this use. Returns 0, or -1 with @why. */
static int measure_check(const struct parse *p, struct reason *why)
{
	if (uses[p->use].measures >> p->c.measure & 1)
		return 0;
	return invalid(p, uses[p->use].refusal, why);
}

/* Splits @len bytes at blanks. False: too many words, or one is too long. */
static bool words_split(struct words *w, const char *text, size_t len)
{
	const char *end = text + len;
	size_t n;

	w->n = 0;
	for (;; text += n) {
		text += strspn(text, " ");
		if (text >= end)
			return true;
		n = strcspn(text, " ");
		if (n > (size_t)(end - text))
			n = end - text;
		if (w->n == WORDS_MAX || n >= WORD_CAP)
			return false;
		memcpy(w->at[w->n], text, n);
		w->at[w->n++][n] = '\0';
	}
}

/* Sets the operations or requests called @name. */
static bool subject_find(struct condition *c, const char *name)
{
	unsigned int kind = op_called(name);

	c->ops = kind ? 1U << kind : strcmp(name, "any") ? 0 : ~0U;
	c->requests = !strcmp(name, "request") || !strcmp(name, "queue");
	if (!strcmp(name, "queue"))
		c->measure = CONDITION_QUEUE;
	if (!strcmp(name, "errors")) {
		c->measure = CONDITION_ERRORS;
		c->ops = ~0U;
		c->requests = true;
	}
	return c->ops || c->requests;
}

/* Reads decimal digits, with a point or without. Returns false if there are none. */
static bool decimal_parse(const char *text, double *ret_value, const char **ret_end)
{
	size_t n = strspn(text, "0123456789.");
	char digits[WORD_CAP], *end;

	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	*ret_value = strtod(digits, &end);
	*ret_end = text + n;
	return end != digits && !*end && n < sizeof(digits);
}

/* Reads "p99.9". */
static bool percentile_parse(const char *text, double *ret_pct, const char **ret_end)
{
	return text[0] == 'p' && decimal_parse(text + 1, ret_pct, ret_end) && *ret_pct > 0 &&
	       *ret_pct < 100;
}

static bool measure_parse(struct condition *c, const char *word)
{
	const char *end;

	if (!strcmp(word, "errors")) {
		c->measure = CONDITION_ERRORS;
		return true;
	}
	if (!percentile_parse(word, &c->percentile, &end) || *end)
		return false;
	c->measure = CONDITION_PERCENTILE;
	return true;
}

/* Sets the disk called @name, also as a path: /dev/vda. */
static void disk_set(struct condition *c, const char *name)
{
	if (!strncmp(name, "/dev/", 5))
		name += 5;
	snprintf(c->disk, sizeof(c->disk), "%.63s", name);
}

static int left_parse(struct parse *p, const struct words *w, struct reason *why)
{
	struct condition *c = &p->c;
	unsigned int i = 1;

	if (!w->n || !subject_find(c, w->at[0]))
		return invalid(p, "no such operation", why);
	if (i < w->n && measure_parse(c, w->at[i]))
		return i + 1 < w->n ? invalid(p, "the disk comes first", why) : 0;
	if (i < w->n && !c->requests)
		return invalid(p, "neither a percentile nor 'errors'", why);
	if (i < w->n)
		disk_set(c, w->at[i++]);
	if (i < w->n && (c->measure == CONDITION_QUEUE || !measure_parse(c, w->at[i])))
		return invalid(p, "neither a percentile nor 'errors'", why);
	return 0;
}

/* Reads "p99.9", or "p99.9x3", relative to the usual time. */
static bool share_parse(struct condition *c, const char *limit)
{
	const char *end;

	if (!percentile_parse(limit, &c->percentile, &end))
		return false;
	c->measure = *end ? CONDITION_USUAL : CONDITION_SLOWEST;
	if (!*end)
		return true;
	return *end == 'x' && decimal_parse(end + 1, &c->times, &end) && !*end && c->times >= 1 &&
	       c->times <= 1e6;
}

static int limit_parse(struct parse *p, const char *limit, struct reason *why)
{
	struct condition *c = &p->c;
	bool is_number = c->measure == CONDITION_ERRORS || c->measure == CONDITION_QUEUE;
	const char *wrong;

	if (limit[0] == 'p' && c->measure == CONDITION_TIME)
		return share_parse(c, limit) ? measure_check(p, why)
					     : invalid(p, uses[p->use].refusal, why);
	if ((is_number ? opts_uint : opts_duration)(limit, &c->above, &wrong))
		return invalid(p, wrong, why);
	return 0;
}

bool condition_has_window(const struct condition *c)
{
	return c->measure == CONDITION_PERCENTILE || c->measure == CONDITION_ERRORS ||
	       c->measure == CONDITION_QUEUE;
}

/* The words behind the limit. */
static int window_parse(struct parse *p, const struct words *w, struct reason *why)
{
	struct condition *c = &p->c;
	bool has_window = condition_has_window(c);
	const char *wrong;

	if (w->n == 1) {
		if (has_window && c->measure != CONDITION_ERRORS)
			return invalid(p, "'over DUR' is missing", why);
		c->over_ns = has_window ? OVER_MIN : 0;
		return 0;
	}
	if (!has_window)
		return invalid(p,
			       strcmp(w->at[1], "over") != 0
				       ? "nothing may follow the limit"
				       : "a limit for single operations has no 'over DUR'",
			       why);
	if (w->n != 3 || strcmp(w->at[1], "over") != 0)
		return invalid(p, "only 'over DUR' may follow the limit", why);
	if (opts_duration(w->at[2], &c->over_ns, &wrong))
		return invalid(p, wrong, why);
	if (c->over_ns < OVER_MIN || c->over_ns > OVER_MAX)
		return invalid(p, "'over DUR' is from 1s to 1h", why);
	return 0;
}

int condition_parse(const char *text, enum condition_use use, struct condition *ret,
		    struct reason *why)
{
	struct parse p = { .c = { .text = text }, .use = use };
	const char *above = strchr(text, '>');
	struct words left, right;

	if (!above)
		return invalid(&p, "no '>'", why);
	if (!words_split(&left, text, above - text) ||
	    !words_split(&right, above + 1, strlen(above + 1)))
		return invalid(&p, "too many words", why);
	if (!right.n)
		return invalid(&p, "no limit behind '>'", why);
	if (left_parse(&p, &left, why) || measure_check(&p, why) ||
	    limit_parse(&p, right.at[0], why) || window_parse(&p, &right, why))
		return -1;
	*ret = p.c;
	return 0;
}

const char *condition_noun(const struct condition *c, uint64_t n)
{
	if (c->requests)
		return n == 1 ? "request" : "requests";
	for (unsigned int kind = OP_NONE; kind < OP_N; kind++)
		if (c->ops == 1U << kind)
			return op_noun(kind, n);
	return op_noun(OP_NONE, n);
}
