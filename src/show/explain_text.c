// SPDX-License-Identifier: GPL-2.0-only
/* explain_text.c - findings for people, in 80 columns; see explain.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "show/explain.h"

enum { WIDTH = 80, SAME_SHOWN = 3, STRATA_SHOWN = 3 };

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

static int answer_found(char **ret, const struct explain_view *v, const char *begin)
{
	const struct explain *e = v->e;
	const struct explain_finding *f = &e->findings[0];

	return asprintf(ret,
			"%s %s of these were %s, %s of the others were (%s; chance would give %s, "
			"at most %s).",
			begin, share_text(f->slow, e->n_slow).s, f->text,
			share_text(f->others, others_of(e)).s, lift_text(e, f).s,
			expected_text(f->expected).s, text_count(f->at_most).s);
}

char *explain_answer(const struct explain_view *v)
{
	const struct explain *e = v->e;
	char begin[160], *text = NULL;
	int len;

	snprintf(begin, sizeof(begin), "%s of %s %s took more than %s.", text_count(e->n_slow).s,
		 text_count(e->n).s, v->noun, text_ns(e->threshold_ns).s);
	if (!e->n)
		len = asprintf(&text, "This recording has no matching %s%s%s.", v->noun,
			       v->conf->disk ? " of " : "", v->conf->disk ? v->conf->disk : "");
	else if (!e->n_slow && v->conf->percentile > 0 && e->n * (100 - v->conf->percentile) < 100)
		len = asprintf(&text, "There are too few %s for this percentile: %s.", v->noun,
			       text_count(e->n).s);
	else if (!e->n_slow)
		len = asprintf(&text, "None of %s %s took more than %s.", text_count(e->n).s,
			       v->noun, text_ns(e->threshold_ns).s);
	else if (!others_of(e))
		len = asprintf(&text, "%s All of them did, so there are no others to compare with.",
			       begin);
	else if (e->n_slow < EXPLAIN_LEAST)
		len = asprintf(&text, "%s These are too few to tell a cause from chance.", begin);
	else if (!e->n_chosen)
		len = asprintf(&text,
			       "%s These have nothing in common that chance does not explain.",
			       begin);
	else
		len = answer_found(&text, v, begin);
	return len < 0 ? NULL : text;
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

/* Where slow operations spent more time than the others. */
static void put_where(struct explain_out *t)
{
	const struct explain *e = t->v->e;
	double slow = 0, others = 0, below = INFINITY;
	char *text = NULL;
	size_t len;
	FILE *f;
	int st;

	if (!e->n_slow || !others_of(e))
		return;
	for (st = 0; st < ST_N; st++) {
		slow += mean_of(e->slow_ns[st], e->n_slow);
		others += mean_of(e->others_ns[st], others_of(e));
	}
	f = open_memstream(&text, &len);
	if (f) {
		fprintf(f, "On average the slow ones took %s, the others %s", text_ns(slow).s,
			text_ns(others).s);
		for (int i = 0; i < STRATA_SHOWN && (st = stratum_next(e, below)) < ST_N; i++) {
			below = more_of(e, st);
			fprintf(f, "%s +%s %s", i ? "," : ":", text_ns(below).s, stratum_label(st));
		}
		fprintf(f, ".");
		if (fclose(f)) {
			free(text);
			text = NULL;
		}
	}
	put_owned(t, text, 0, 0);
}

static void put_counts(struct explain_out *t, const struct explain_finding *f)
{
	const struct explain *e = t->v->e;
	char p[32], *text;

	if (f->p < 1e-9)
		strcpy(p, "p < 1e-9");
	else
		snprintf(p, sizeof(p), "p = %.1g", f->p);
	if (asprintf(&text,
		     "%s of %s slow ones (%s), %s of %s others (%s): %s, chance would give %s, at "
		     "most %s; %s",
		     text_count(f->slow).s, text_count(e->n_slow).s,
		     share_text(f->slow, e->n_slow).s, text_count(f->others).s,
		     text_count(others_of(e)).s, share_text(f->others, others_of(e)).s,
		     lift_text(e, f).s, expected_text(f->expected).s, text_count(f->at_most).s,
		     p) < 0)
		text = NULL;
	text_put(&t->out, "   ");
	put_owned(t, text, 3, 3);
}

/* Other findings on the operations of the chosen finding @chosen. */
static void put_same(struct explain_out *t, size_t chosen)
{
	const struct explain *e = t->v->e;
	size_t n = 0, shown = t->v->detail ? SIZE_MAX : SAME_SHOWN;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = e->n_chosen; i < e->n_findings && f; i++) {
		const struct explain_finding *same = &e->findings[i];

		if (e->same[i] != chosen || n++ >= shown)
			continue;
		fprintf(f, "%s%s (%s, others %s)",
			n == 1 ? "the same operations were also: " : "; ", same->text,
			share_text(same->slow, e->n_slow).s,
			share_text(same->others, others_of(e)).s);
	}
	if (f && n > shown)
		fprintf(f, "; %zu more, -v shows them", n - shown);
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

static void put_finding(struct explain_out *t, size_t i)
{
	const struct explain_finding *f = &t->v->e->findings[i];

	text_put(&t->out, "\n%s%zu. ", paint(t, BOLD), i + 1);
	put_owned(t, strdup(f->text), 3, 3);
	text_put(&t->out, "%s", paint(t, PLAIN));
	put_counts(t, f);
	put_same(t, i);
	put_command(t, f);
}

char *explain_missing(const struct explain *e, size_t i)
{
	static const char *const always[] = { "the CPU", "who woke the thread", "who held a lock" };
	const size_t n = sizeof(always) / sizeof(*always);
	char *text = NULL;

	if (i < n)
		return strdup(always[i]);
	i -= n;
	if (!e->has_requests && !i--)
		return strdup(
			"requests (not recorded), so also I/O at the same time, and queue depths");
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

static void put_lost(struct explain_out *t)
{
	const struct explain *e = t->v->e;
	char *text;

	if (e->lost)
		put_owned(t,
			  asprintf(&text, "doubtful: %s event%s lost in %s", text_count(e->lost).s,
				   e->lost == 1 ? " was" : "s were", e->name) < 0
				  ? NULL
				  : text,
			  0, 2);
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
	put_owned(&t, explain_answer(v), 0, 0);
	put_where(&t);
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
