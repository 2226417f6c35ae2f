// SPDX-License-Identifier: GPL-2.0-only
/* fleet_text.c - bad hosts for people, in 80 columns; see fleet.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "show/fleet.h"

enum { WIDTH = 80, HOSTS_SHOWN = 10, HOST_WIDTH = 40 };

#define GREY  "\033[90m"
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

struct fleet_out {
	struct text_out out;
	const struct fleet_view *v;
};

static const char *paint(const struct fleet_out *t, const char *sgr)
{
	return t->v->sums.color ? sgr : "";
}

/* Writes raw text in lines of WIDTH from column @at on, and frees it. */
static void put_owned(struct fleet_out *t, char *raw, int at, int indent)
{
	size_t cap = TEXT_SAFE_CAP(raw ? strlen(raw) : 0);
	char *safe = raw ? malloc(cap) : NULL;

	if (safe) {
		text_safe(safe, cap, raw);
		text_wrap_whole(&t->out, safe, at, indent, WIDTH);
	} else {
		t->out.err = t->out.err ? t->out.err : -ENOMEM;
	}
	free(safe);
	free(raw);
}

/* "none", "0.6 %", "33 %" */
static struct text_num share_text(uint64_t part, uint64_t whole)
{
	if (!part)
		return (struct text_num){ "none" };
	return part * 10 < whole ? text_percent(part, whole) : text_percent_whole(part, whole);
}

static void say_hosts(FILE *f, const struct fleet_view *v)
{
	fprintf(f, "%s host%s, %s recording%s", text_count(v->f->n_hosts).s,
		text_plural(v->f->n_hosts), text_count(v->f->n_recordings).s,
		text_plural(v->f->n_recordings));
	if (v->f->n_damaged)
		fprintf(f, ", %s of them damaged", text_count(v->f->n_damaged).s);
	fprintf(f, ".");
}

static void say_found(FILE *f, const struct fleet_view *v)
{
	const struct fleet_finding *first = v->f->findings;
	const struct explain *e = &v->f->sums;

	if (!e->n_slow || e->n_slow == e->n)
		return;
	if (v->f->n_hosts < FLEET_LEAST_HOSTS)
		fprintf(f, " To tell a bad host from chance needs %d hosts.", FLEET_LEAST_HOSTS);
	else if (!v->f->n_findings)
		fprintf(f, " Of %s hosts and properties none is worse than chance allows.",
			text_count(v->f->tests).s);
	else
		fprintf(f, " %s of the slow ones were %s, %s of the others were.",
			share_text(first->slow, e->n_slow).s, first->text,
			share_text(first->n - first->slow, e->n - e->n_slow).s);
}

char *fleet_answer(const struct fleet_view *v)
{
	char *text = NULL, *one;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	say_hosts(f, v);
	for (int i = 0; i < EXPLAIN_OPENING; i++) {
		one = explain_opening(&v->sums, i);
		fprintf(f, "%s%s", one && *one ? " " : "", one ? one : "");
		free(one);
	}
	say_found(f, v);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* What came nearest, if nothing is found. */
static void put_nearest(struct fleet_out *t)
{
	const struct fleet_finding *n = &t->v->f->nearest;
	char *text;

	if (!n->text || t->v->f->n_findings)
		return;
	if (asprintf(&text, "Nearest: %s (%s of these slow, %s of the others), not certain.",
		     n->text, share_text(n->slow, n->n).s,
		     share_text(n->others_slow, n->others_n).s) < 0)
		text = NULL;
	put_owned(t, text, 0, 0);
}

static void say_finding(FILE *f, const struct fleet_view *v, const struct fleet_finding *found)
{
	const struct explain *e = &v->f->sums;

	fprintf(f, "%s of %s slow ones (%s)", text_count(found->slow).s, text_count(e->n_slow).s,
		share_text(found->slow, e->n_slow).s);
	if (found->attribute != FLEET_HOST)
		fprintf(f, ", on %zu of %zu hosts", found->hosts, found->of);
	fprintf(f, ": %s of these %s are slow, %s of %s", share_text(found->slow, found->n).s,
		v->sums.noun, share_text(found->others_slow, found->others_n).s,
		found->is_within ? "the others" : "those on other hosts");
	if (!v->sums.detail)
		return;
	if (found->p < 1e-9)
		fprintf(f, "; p < 1e-9");
	else
		fprintf(f, "; p = %.1g", found->p);
}

static void put_finding(struct fleet_out *t, size_t i)
{
	const struct fleet_finding *found = &t->v->f->findings[i];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		say_finding(f, t->v, found);
		if (fclose(f)) {
			free(text);
			text = NULL;
		}
	}
	text_put(&t->out, "\n%s%zu. ", paint(t, BOLD), i + 1);
	put_owned(t, strdup(found->text), 3, 3);
	text_put(&t->out, "%s   ", paint(t, PLAIN));
	put_owned(t, text, 3, 3);
	if (found->note) {
		text_put(&t->out, "   ");
		put_owned(t, strdup(found->note), 3, 3);
	}
	text_put(&t->out, "   ");
	put_owned(t, t->v->command(t->v->arg, found), 3, 3);
}

/* The hosts with most slow ones. */
static void put_hosts(struct fleet_out *t)
{
	const struct fleet *f = t->v->f;
	size_t shown = t->v->sums.detail || f->n_hosts <= HOSTS_SHOWN ? f->n_hosts : HOSTS_SHOWN;
	char safe[TEXT_SAFE_CAP(256)], cut[sizeof(safe)];
	int width;

	text_put(&t->out, "\n%s%-*s %11s %11s %8s%s\n", paint(t, GREY), HOST_WIDTH, "HOST", "COUNT",
		 "SLOW", "SHARE", paint(t, PLAIN));
	for (size_t i = 0; i < shown; i++) {
		const struct fleet_host *h = &f->hosts[i];

		text_safe(safe, sizeof(safe), h->name);
		width = text_fit(cut, sizeof(cut), safe, HOST_WIDTH, TEXT_CUT_MIDDLE);
		text_put(&t->out, "%s%*s %11s %11s %8s\n", cut, HOST_WIDTH - width, "",
			 text_count(h->n).s, text_count(h->slow).s,
			 h->n ? share_text(h->slow, h->n).s : "-");
	}
	if (shown < f->n_hosts)
		text_put(&t->out, "%s%zu more hosts: -v shows all%s\n", paint(t, GREY),
			 f->n_hosts - shown, paint(t, PLAIN));
}

char *fleet_missing(const struct fleet *f, size_t i)
{
	char *text = NULL;

	if (f->lacks_disks && !i--)
		return strdup("disk models, firmware, schedulers and temperatures");
	if (f->lacks_options && !i--)
		return strdup("mount options");
	if (f->values_left_out && !i--)
		return asprintf(&text, "%s cgroups and names beyond the first %d",
				text_count(f->values_left_out).s, FLEET_VALUES) < 0
			       ? NULL
			       : text;
	for (int st = 0; st < ST_N; st++)
		if (f->sums.strata_missing >> st & 1 && !i--)
			return asprintf(&text, "time in stratum %s", stratum_label(st)) < 0 ? NULL
											    : text;
	return NULL;
}

static void put_missing(struct fleet_out *t)
{
	char *text = NULL, *one;
	size_t len, n = 0;
	FILE *f = open_memstream(&text, &len);

	for (; f && (one = fleet_missing(t->v->f, n)); n++) {
		fprintf(f, "%s%s", n ? ", " : "not in all of these recordings: ", one);
		free(one);
	}
	if (!f || fclose(f) || !n) {
		free(text);
		return;
	}
	text_put(&t->out, "%s", paint(t, GREY));
	put_owned(t, text, 0, 2);
	text_put(&t->out, "%s", paint(t, PLAIN));
}

static void put_doubts(struct fleet_out *t)
{
	const struct explain *e = &t->v->f->sums;

	if (e->lost)
		put_owned(t, explain_lost(e, "these recordings"), 0, 2);
}

int fleet_text(FILE *f, const struct fleet_view *v)
{
	struct fleet_out t = { .out = { .f = f }, .v = v };

	put_doubts(&t);
	put_owned(&t, fleet_answer(v), 0, 0);
	put_nearest(&t);
	for (size_t i = 0; i < v->f->n_findings; i++)
		put_finding(&t, i);
	if (v->f->n_hosts)
		put_hosts(&t);
	put_missing(&t);
	return text_end(&t.out);
}
