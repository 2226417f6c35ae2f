// SPDX-License-Identifier: GPL-2.0-only
/* explain_text.c - findings for people, in 80 columns; see explain.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "show/explain.h"

enum {
	WIDTH = 80,
	STRATA_SHOWN = 3,
	STRATUM_PERCENT = 5, /* a smaller part of the difference is not told */
};

#define GREY  "\033[90m"
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

struct explain_out {
	struct text_out out;
	const struct explain_view *v;
};

static const char *paint(const struct explain_out *t, const char *sgr)
{
	return t->v->color ? sgr : "";
}

/* Writes raw text in lines of WIDTH from column @at on, and frees it. */
static void put_owned(struct explain_out *t, char *raw, int at, int indent)
{
	size_t cap = TEXT_SAFE_CAP(raw ? strlen(raw) : 0);
	char *safe = raw ? malloc(cap) : NULL;

	if (!safe) {
		t->out.err = t->out.err ? t->out.err : -ENOMEM;
		free(raw);
		return;
	}
	text_safe(safe, cap, raw);
	text_wrap_whole(&t->out, safe, at, indent, WIDTH);
	free(safe);
	free(raw);
}

static uint64_t others_of(const struct explain *e)
{
	return e->n - e->n_slow;
}

/* "33 times as often", "1.7 times as often"; no other has it: "never among the others". */
static struct text_num lift_text(const struct explain *e, const struct explain_finding *f)
{
	double lift = f->others ? (double)f->slow / e->n_slow * others_of(e) / f->others : 0;
	struct text_num t;

	if (f->others && lift >= 999.5)
		snprintf(t.s, sizeof(t.s), "%.7s times as often", text_short(lift).s);
	else if (f->others)
		snprintf(t.s, sizeof(t.s), "%.*f times as often", lift < 9.95 ? 1 : 0, lift);
	else
		snprintf(t.s, sizeof(t.s), "no other was");
	return t;
}

/* "0.6 %", "33 %" */
static struct text_num share_text(uint64_t part, uint64_t whole)
{
	return part * 10 < whole ? text_percent(part, whole) : text_percent_whole(part, whole);
}

static struct text_num expected_text(double n)
{
	struct text_num t;

	if (n >= 9.5)
		return text_count(llround(n));
	snprintf(t.s, sizeof(t.s), "%.1f", n);
	return t;
}

/* The mean of a sum, or 0. */
static double mean_of(uint64_t sum, uint64_t n)
{
	return n ? (double)sum / n : 0;
}

static double more_of(const struct explain *e, int st)
{
	return mean_of(e->slow_ns[st], e->n_slow) - mean_of(e->others_ns[st], others_of(e));
}

/* The stratum with the largest difference below @below, or ST_N if there is none. */
static int stratum_next(const struct explain *e, double below)
{
	double most = 0, more;
	int best = ST_N;

	for (int st = 0; st < ST_N; st++) {
		more = more_of(e, st);
		if (more >= below || more <= most)
			continue;
		most = more;
		best = st;
	}
	return best;
}

/* How many are slow, and how long these took. */
static void say_slow(FILE *f, const struct explain_view *v)
{
	const struct explain *e = v->e;
	double slow = 0, others = 0;

	if (!e->n) {
		fprintf(f, "%s no matching %s%s%s.",
			e->name ? "This recording has" : "These recordings have", v->noun,
			v->conf->disk ? " of " : "", v->conf->disk ? v->conf->disk : "");
		return;
	}
	if (!e->n_slow) {
		if (v->conf->percentile > 0 && e->n * (100 - v->conf->percentile) < 100)
			fprintf(f, "There are too few %s for this percentile: %s.", v->noun,
				text_count(e->n).s);
		else
			fprintf(f, "None of %s %s took more than %s.", text_count(e->n).s, v->noun,
				text_ns(e->threshold_ns).s);
		return;
	}
	for (int st = 0; st < ST_N; st++) {
		slow += mean_of(e->slow_ns[st], e->n_slow);
		others += mean_of(e->others_ns[st], others_of(e));
	}
	fprintf(f, "%s of %s %s took more than %s: on average %s", text_count(e->n_slow).s,
		text_count(e->n).s, v->noun, text_ns(e->threshold_ns).s, text_ns(slow).s);
	if (others_of(e))
		fprintf(f, ", the others %s", text_ns(others).s);
	fprintf(f, ".");
}

/* In which strata slow ones spent more time than the others, and which part of the difference that
 * is. */
static void say_waited(FILE *f, const struct explain_view *v)
{
	const struct explain *e = v->e;
	double all = 0, below = INFINITY, part;
	int st;

	if (!e->n_slow || !others_of(e))
		return;
	for (st = 0; st < ST_N; st++)
		all += more_of(e, st);
	for (int i = 0; i < STRATA_SHOWN && (st = stratum_next(e, below)) < ST_N; i++) {
		below = more_of(e, st);
		part = all > below ? below / all : 1;
		if (i && part * 100 < STRATUM_PERCENT)
			break;
		fprintf(f, "%s %s +%s (%.0f %%)", i ? "," : "They waited for:", stratum_label(st),
			text_ns(below).s, part * 100);
	}
	if (below < INFINITY)
		fprintf(f, ".");
}

/* What the slow ones have in common. */
static void say_common(FILE *f, const struct explain_view *v)
{
	const struct explain *e = v->e;
	const struct explain_finding *first = e->findings;

	if (!e->n_slow)
		return;
	if (!others_of(e))
		fprintf(f, "All of them did, so there are no others to compare with.");
	else if (e->n_slow < EXPLAIN_LEAST)
		fprintf(f, "These are too few to tell a cause from chance.");
	else if (!e->n_chosen)
		fprintf(f, "Of %s properties none is more frequent among them than chance allows.",
			text_count(e->tests).s);
	else
		fprintf(f, "%s of these were %s, %s of the others were.",
			share_text(first->slow, e->n_slow).s, first->text,
			share_text(first->others, others_of(e)).s);
}

typedef void say_fn(FILE *f, const struct explain_view *v);

static say_fn *const answer_says[] = { say_slow, say_waited, say_common };

enum { ANSWER_SENTENCES = sizeof(answer_says) / sizeof(*answer_says) };

/* What @say writes, for free(). Returns NULL if out of memory. */
static char *said(say_fn *say, const struct explain_view *v)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	say(f, v);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

char *explain_opening(const struct explain_view *v, int i)
{
	return said(answer_says[i], v);
}

char *explain_answer(const struct explain_view *v)
{
	char *text = strdup(""), *one, *both;

	for (int i = 0; i < ANSWER_SENTENCES && text; i++) {
		one = said(answer_says[i], v);
		if (!one || asprintf(&both, "%s%s%s", text, *text && *one ? " " : "", one) < 0)
			both = NULL;
		free(one);
		free(text);
		text = both;
	}
	return text;
}

/* The answer, each sentence on new lines. The findings tell what they have in common. */
static void put_answer(struct explain_out *t)
{
	int n = ANSWER_SENTENCES - (t->v->e->n_chosen ? 1 : 0);
	char *one;

	for (int i = 0; i < n; i++) {
		one = said(answer_says[i], t->v);
		if (one && !*one)
			free(one);
		else
			put_owned(t, one, 0, 0);
	}
}

/* How many have the property; with -v, what chance would give. */
static void say_counts(FILE *f, const struct explain_view *v, const struct explain_finding *found)
{
	const struct explain *e = v->e;

	fprintf(f, "%s of %s slow ones (%s), %s of %s others (%s)", text_count(found->slow).s,
		text_count(e->n_slow).s, share_text(found->slow, e->n_slow).s,
		text_count(found->others).s, text_count(others_of(e)).s,
		share_text(found->others, others_of(e)).s);
	if (!v->detail || found->is_incident)
		return;
	fprintf(f, ": %s, chance would give %s, at most %s; ", lift_text(e, found).s,
		expected_text(found->expected).s, text_count(found->at_most).s);
	if (found->p < 1e-9)
		fprintf(f, "p < 1e-9");
	else
		fprintf(f, "p = %.1g", found->p);
}

static void put_counts(struct explain_out *t, const struct explain_finding *found)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		say_counts(f, t->v, found);
		if (fclose(f)) {
			free(text);
			text = NULL;
		}
	}
	text_put(&t->out, "   ");
	put_owned(t, text, 3, 3);
}

/* "in file /a (25 %, others 3.7 %)" */
static void say_shares(FILE *f, const struct explain *e, const struct explain_finding *found)
{
	fprintf(f, "%s (%s, others %s)", found->text, share_text(found->slow, e->n_slow).s,
		share_text(found->others, others_of(e)).s);
}

/* Other findings on the operations of the chosen finding @chosen, with -v; else how many. */
static void put_same(struct explain_out *t, size_t chosen)
{
	const struct explain *e = t->v->e;
	char *text = NULL;
	size_t len, n = 0;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = e->n_chosen; i < e->n_findings && f; i++) {
		if (e->same[i] != chosen)
			continue;
		n++;
		if (!t->v->detail)
			continue;
		fprintf(f, "%s", n == 1 ? "the same operations were also: " : "; ");
		say_shares(f, e, &e->findings[i]);
	}
	if (f && n && !t->v->detail)
		fprintf(f, "-v shows %zu more propert%s of the same operations", n,
			n == 1 ? "y" : "ies");
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	if (f && !n) {
		free(text);
		return;
	}
	text_put(&t->out, "%s   ", paint(t, GREY));
	put_owned(t, text, 3, 3);
	text_put(&t->out, "%s", paint(t, PLAIN));
}

/* If nothing is found: what came nearest to it. */
static void put_nearest(struct explain_out *t)
{
	const struct explain *e = t->v->e;
	size_t n = t->v->detail ? e->n_nearest : 1, len;
	char *text = NULL;
	FILE *f;

	if (e->n_chosen || !e->n_nearest)
		return;
	f = open_memstream(&text, &len);
	for (size_t i = 0; i < n && f; i++) {
		fprintf(f, "%s", i ? "; " : "Nearest: ");
		say_shares(f, e, &e->nearest[i]);
	}
	if (f)
		fprintf(f, ", not certain.%s",
			e->n_nearest > n ? " -v shows the ten nearest." : "");
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	put_owned(t, text, 0, 0);
}

static void put_command(struct explain_out *t, const struct explain_finding *f)
{
	char *command = t->v->command(t->v->arg, f), *safe;
	size_t cap = TEXT_SAFE_CAP(command ? strlen(command) : 0);

	safe = command ? malloc(cap) : NULL;
	if (safe) {
		text_safe(safe, cap, command);
		text_put(&t->out, "   %s\n", safe);
	} else {
		t->out.err = t->out.err ? t->out.err : -ENOMEM;
	}
	free(safe);
	free(command);
}

static const char *then_words(const struct explain *e, const struct explain_finding *f)
{
	if (!f->is_incident)
		return "what was different then (a coincidence, no proof):";
	if (e->n_then)
		return "what was different then (it happened once: a coincidence, no proof):";
	return "it happened once, and no neighbour in the recording was different then";
}

/* Who was different in an incident, or in bursts. */
static void put_then(struct explain_out *t, const struct explain_finding *f)
{
	const struct explain *e = t->v->e;
	char *text;

	text_put(&t->out, "   ");
	put_owned(t, strdup(then_words(e, f)), 3, 3);
	for (size_t i = 0; i < e->n_then; i++) {
		const struct explain_then *then = &e->then[i];

		if (asprintf(&text, "%s: %s of %s%s%s%s", then->text, text_count(then->requests).s,
			     text_count(then->all).s,
			     then->before_ns ? "; the first came about " : "",
			     then->before_ns ? text_ns(then->before_ns).s : "",
			     then->before_ns ? " before" : "") < 0)
			text = NULL;
		text_put(&t->out, "   - ");
		put_owned(t, text, 5, 5);
	}
}

static void put_finding(struct explain_out *t, size_t i)
{
	const struct explain_finding *f = &t->v->e->findings[i];

	text_put(&t->out, "\n%s%zu. ", paint(t, BOLD), i + 1);
	put_owned(t, strdup(f->text), 3, 3);
	text_put(&t->out, "%s", paint(t, PLAIN));
	put_counts(t, f);
	if (f->note) {
		text_put(&t->out, "   ");
		put_owned(t, strdup(f->note), 3, 3);
	}
	if (f->is_incident || (f->attribute == ATTR_TIME && t->v->e->n_then))
		put_then(t, f);
	put_same(t, i);
	put_command(t, f);
}

char *explain_missing(const struct explain *e, size_t i)
{
	static const char *const always[] = { "the CPU" };
	static const char *const callers[] = {
		[CALLERS_NONE] = "callers (record --stacks)",
		[CALLERS_LOST] = "callers (too many user stacks were lost)",
		[CALLERS_TOO_FEW] = "callers (too few user stacks of the slow operations or of "
				    "the others: record for longer, or with --all-stacks)",
		[CALLERS_NOT_ASKED] = NULL,
	};
	const size_t n = sizeof(always) / sizeof(*always);
	char *text = NULL;

	if (i < n)
		return strdup(always[i]);
	i -= n;
	if (!e->has_requests && !i--)
		return strdup(
			"requests (not recorded), so also I/O at the same time, and queue depths");
	if (e->too_many_requests && !i--)
		return strdup("the requests of single operations: there are too many, so choose a "
			      "part of the time");
	if (callers[e->callers] && !i--)
		return strdup(callers[e->callers]);
	if (e->requests_left_out && !i--)
		return asprintf(&text, "%s requests of threads with rarer names",
				text_count(e->requests_left_out).s) < 0
			       ? NULL
			       : text;
	for (int st = 0; st < ST_N; st++)
		if (e->strata_missing >> st & 1 && !i--)
			return asprintf(&text, "time in stratum %s", stratum_label(st)) < 0 ? NULL
											    : text;
	return NULL;
}

static void put_missing(struct explain_out *t)
{
	char *text = NULL, *one;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; f && (one = explain_missing(t->v->e, i)); i++) {
		fprintf(f, "%s%s", i ? ", " : "not in this recording: ", one);
		free(one);
	}
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	text_put(&t->out, "%s", paint(t, GREY));
	put_owned(t, text, 0, 2);
	text_put(&t->out, "%s", paint(t, PLAIN));
}

char *explain_lost(const struct explain *e, const char *where)
{
	uint64_t names = e->lost_names, events = e->lost - names;
	char *text, names_text[64] = "", share[64] = "";
	int n = -1;

	if (names)
		snprintf(names_text, sizeof(names_text), "the name%s of %s file%s",
			 text_plural(names), text_count(names).s, text_plural(names));
	if (events && !e->is_recorded_unknown)
		text_share(share, sizeof(share), events, events + e->recorded);
	if (events)
		n = asprintf(&text, "doubtful: %s event%s lost%s%s%s%s in %s", text_count(events).s,
			     text_plural(events), *share ? " " : "", share, names ? ", and " : "",
			     names_text, where);
	else if (names)
		n = asprintf(&text, "%s %s lost in %s", names_text, names == 1 ? "was" : "were",
			     where);
	return n < 0 ? NULL : text;
}

static void put_lost(struct explain_out *t)
{
	const struct explain *e = t->v->e;
	char *text;

	if (e->lost)
		put_owned(t, explain_lost(e, e->name), 0, 2);
	if (e->is_cut_off)
		put_owned(t,
			  asprintf(&text, "doubtful: %s is cut off or damaged", e->name) < 0 ? NULL
											     : text,
			  0, 2);
}

int explain_text(FILE *f, const struct explain_view *v)
{
	struct explain_out t = { .out = { .f = f }, .v = v };
	const struct explain *e = v->e;

	put_lost(&t);
	put_answer(&t);
	put_nearest(&t);
	for (size_t i = 0; i < e->n_chosen; i++)
		put_finding(&t, i);
	if (e->n_chosen && !e->uncovered)
		text_put(&t.out, "\nEach slow one is in a finding.\n");
	else if (e->n_chosen)
		text_put(&t.out, "\n%s%s of %s slow ones (%s) are in no finding.\n",
			 e->is_sampled ? "About " : "", text_count(e->uncovered).s,
			 text_count(e->n_slow).s, share_text(e->uncovered, e->n_slow).s);
	if (e->n)
		put_missing(&t);
	return text_end(&t.out);
}
