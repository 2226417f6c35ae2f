// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/fail_if.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/reason.h"

enum { WORDS = 4, WORD = 64 };

static int invalid(const char *text, const char *what, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid value '%.60s' for --fail-if: %s", text, what);
	return reason_hint(why, "an operation, any or request; a figure (mean, p50, p99, p99.9, "
				"rate, total); a change: 'fsync p99 +10%%'");
}

/* "+10%", "-5%", "+2.5%". Returns false if it is no such thing. */
static bool share_parse(const char *text, double *ret_share)
{
	char *end;

	if ((text[0] != '+' && text[0] != '-') || text[1] < '0' || text[1] > '9' ||
	    strspn(text + 1, "0123456789.") + 2 != strlen(text))
		return false;
	*ret_share = strtod(text, &end) / 100;
	return !strcmp(end, "%") && *ret_share != 0;
}

static bool figure_parse(const char *text, enum figure *ret_figure)
{
	static const struct {
		const char *name;
		enum figure figure;
	} names[] = {
		{ "mean", FIG_MEAN },  { "p50", FIG_P50 },   { "p99", FIG_P99 },
		{ "p99.9", FIG_P999 }, { "rate", FIG_RATE }, { "total", FIG_TOTAL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i].name, text) != 0)
			continue;
		*ret_figure = names[i].figure;
		return true;
	}
	return false;
}

static bool is_kind(const char *text)
{
	return op_called(text) || !strcmp(text, "any") || !strcmp(text, "request");
}

/* Words between blanks. Returns how many; more than WORDS: too many, or one is too long. */
static int words_of(const char *text, char words[WORDS][WORD])
{
	size_t len;
	int n = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		len = strcspn(text, " ");
		if (n == WORDS || len >= WORD)
			return WORDS + 1;
		memcpy(words[n], text, len);
		words[n++][len] = '\0';
		text += len;
	}
	return n;
}

int fail_if_parse(const char *text, struct fail_if *ret_limit, struct reason *why)
{
	struct fail_if limit = { .text = text, .what = "any" };
	char words[WORDS][WORD];
	int n = words_of(text, words);

	if (n > WORDS)
		return invalid(text, "too many words", why);
	if (n < 2)
		return invalid(text, "a figure and a change at least", why);
	if (!share_parse(words[n - 1], &limit.share))
		return invalid(text, "the change is like +10% or -5%", why);
	if (!figure_parse(words[n - 2], &limit.figure))
		return invalid(text, "no such figure", why);
	if (n > 2 && !is_kind(words[0]))
		return invalid(text, "no such operation", why);
	if (n > 2)
		snprintf(limit.what, sizeof(limit.what), "%.31s", words[0]);
	if (n > 3)
		memcpy(limit.where, words[1], WORD);
	*ret_limit = limit;
	return 0;
}

static bool is_meant(const struct fail_if *limit, const struct compare_row *row)
{
	if (limit->where[0] && strcmp(limit->where, row->key->where) != 0)
		return false;
	if (row->key->is_request)
		return !strcmp(limit->what, "request");
	return !strcmp(limit->what, "any") || !strcmp(limit->what, op_name(row->kind));
}

static enum fail_if_state judge(const struct fail_if *limit, const struct compare_row *row)
{
	const struct compare_figure *f = &row->figures[limit->figure];
	double change = f->value[NEW] - f->value[BASE];

	if (!f->tested)
		return FAIL_IF_FEW;
	if (limit->share < 0)
		change = -change;
	if (!f->sure || change <= 0 || change < f->value[BASE] * __builtin_fabs(limit->share))
		return FAIL_IF_HELD;
	return FAIL_IF_FAILED;
}

void fail_if_judge(struct fail_if *limit, const struct compare *c)
{
	enum fail_if_state state;

	limit->state = FAIL_IF_ABSENT;
	limit->row = NULL;
	for (size_t i = 0; i < c->n_rows; i++) {
		state = is_meant(limit, &c->rows[i]) ? judge(limit, &c->rows[i]) : FAIL_IF_ABSENT;
		if (state <= limit->state)
			continue;
		limit->state = state;
		limit->row = state == FAIL_IF_FAILED ? &c->rows[i] : NULL;
	}
}
