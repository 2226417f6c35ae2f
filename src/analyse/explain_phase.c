// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_phase.c - phases in which operations take longer than a level, and whose requests begin
 * and end with them. Operations are in the order of their beginnings.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/explain_scan.h"
#include "analyse/stats.h"
#include "base/text.h"

enum {
	PHASES_MOST = 256,
	ABOVE_LEAST = 4, /* operations above the level in a phase */
	GAPS_LEAST = 4,  /* between phases, for a period */
	TOLERANCES = 4,  /* tried: 1, 1/2, 1/4, 1/8 */
	MATCHES_LEAST = 2,
};

#define BURST_SCORE_LEAST  0.25
#define BURST_RANK_LEAST   0.2
#define PERIOD_NEAR        0.1  /* of the median gap */
#define PERIOD_CHANCE      0.07 /* that a gap is so near to the median */
#define PERIOD_P           1e-3
#define DURING_SCORE_LEAST 0.15
#define EPISODES_LONGEST   0.75 /* of the time: a longer activity has no episodes */
#define EPISODES_MATCHED   0.4  /* of its episodes match phases */

struct phase {
	unsigned int from, to; /* cells */
	uint64_t from_ns, to_ns;
	double score;
};

struct phases {
	struct phase of[PHASES_MOST];
	unsigned int n;
	double best; /* the largest score */
	uint64_t slow, all;
	double rank;
};

/* The probabilities of two states: in a phase, and outside. */
struct states {
	double above[2], below[2]; /* logarithms, [1]: in a phase */
	double change;
};

static double state_log(const struct phase_cell *c, int level, const struct states *st, int state)
{
	return c->above[level] * st->above[state] + (c->all - c->above[level]) * st->below[state];
}

/* The most probable path through the states: Viterbi (1967). Sets a byte for each cell: 1 in a
 * phase. @back: as many bytes. */
static void path_find(const struct scan *s, int level, const struct states *st, uint8_t *back,
		      uint8_t *ret_in)
{
	double out = 0, in = -st->change, was_out, was_in;
	int state;

	for (unsigned int c = 0; c < s->n_phases; c++) {
		was_out = out;
		was_in = in;
		back[c] = (was_in - st->change > was_out) | (was_in >= was_out - st->change) << 1;
		out = fmax(was_out, was_in - st->change) + state_log(&s->phases[c], level, st, 0);
		in = fmax(was_in, was_out - st->change) + state_log(&s->phases[c], level, st, 1);
	}
	state = in > out;
	for (unsigned int c = s->n_phases; c--;) {
		ret_in[c] = state;
		state = back[c] >> state & 1;
	}
}

static uint64_t cell_time(const struct scan *s, unsigned int cell)
{
	return starts_time(&s->starts, s->starts.n * cell / s->n_phases);
}

/* Adds the phase of the cells from @from on, if it is sure and there is room. */
static void phase_add(const struct scan *s, int level, double part, struct phase *p,
		      struct phases *ret)
{
	double within = fmin(0.9, (1 + part) / 2), above = 0, all = 0;

	p->to_ns = 0;
	for (unsigned int c = p->from; c < p->to; c++) {
		above += s->phases[c].above[level];
		all += s->phases[c].all;
		if (s->phases[c].end_ns > p->to_ns)
			p->to_ns = s->phases[c].end_ns;
	}
	p->score = above * log(within / part) + (all - above) * log((1 - within) / (1 - part));
	if (above < ABOVE_LEAST || p->score <= log(100.0 * s->e->n) || ret->n == PHASES_MOST)
		return;
	p->from_ns = cell_time(s, p->from);
	p->to_ns = p->to_ns > p->from_ns ? p->to_ns : p->from_ns + 1;
	ret->of[ret->n++] = *p;
	ret->best = fmax(ret->best, p->score);
}

static bool is_within(const struct phases *p, unsigned int cell)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (cell >= p->of[i].from && cell < p->of[i].to)
			return true;
	return false;
}

static unsigned int cell_of(const struct scan *s, uint64_t start_ns)
{
	return starts_part(starts_place(&s->starts, start_ns), s->n_phases);
}

/* Finds the phases above a level. Returns 0 or -ENOMEM. */
static int phases_find(const struct scan *s, int level, struct phases *ret)
{
	uint8_t *back = calloc(2UL * s->n_phases + 1, 1), *in = back + s->n_phases;
	double above = 0, part, slow = 0;
	struct states st;

	ret->n = 0;
	ret->best = ret->rank = 0;
	ret->slow = ret->all = 0;
	if (!back)
		return -ENOMEM;
	for (unsigned int c = 0; c < s->n_phases; c++)
		above += s->phases[c].above[level];
	part = above / s->e->n;
	if (part <= 0 || part >= 0.9) {
		free(back);
		return 0;
	}
	st.above[1] = log(fmin(0.9, (1 + part) / 2));
	st.below[1] = log1p(-fmin(0.9, (1 + part) / 2));
	st.above[0] = log(fmax(0.01, part / 4));
	st.below[0] = log1p(-fmax(0.01, part / 4));
	st.change = 2 * log(s->e->n);
	path_find(s, level, &st, back, in);
	for (unsigned int c = 0; c < s->n_phases; c++) {
		struct phase p = { .from = c };

		while (c < s->n_phases && in[c])
			c++;
		p.to = c;
		if (p.to > p.from)
			phase_add(s, level, part, &p, ret);
	}
	free(back);
	for (unsigned int i = 0; i < ret->n; i++)
		for (unsigned int c = ret->of[i].from; c < ret->of[i].to; c++)
			ret->all += s->phases[c].all;
	for (size_t i = 0; i < s->n_list && ret->n; i++)
		slow += is_within(ret, cell_of(s, s->list[i].start_ns));
	ret->slow = s->n_list ? slow * ((double)s->e->n_slow / s->n_list) : 0;
	ret->slow = ret->slow < ret->all ? ret->slow : ret->all;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of @n gaps, which it sorts, if most are near to it; else 0. */
static double period_of(double *gaps, unsigned int n)
{
	unsigned int near = 0;
	double median;

	if (n < GAPS_LEAST)
		return 0;
	qsort(gaps, n, sizeof(*gaps), compare_numbers);
	median = gaps[n / 2];
	for (unsigned int i = 0; i < n; i++)
		near += fabs(gaps[i] - median) < PERIOD_NEAR * median;
	return near > 2 && stats_binomial_above(near - 1, n - 1, PERIOD_CHANCE) < PERIOD_P ? median
											   : 0;
}

/* ", one every 2.0 s", or nothing. */
static void period_text(const struct phases *p, char *ret, size_t cap)
{
	double gaps[PHASES_MOST], period;

	for (unsigned int i = 0; i + 1 < p->n; i++)
		gaps[i] = p->of[i + 1].from_ns - p->of[i].from_ns;
	period = period_of(gaps, p->n ? p->n - 1 : 0);
	ret[0] = '\0';
	if (period > 0)
		snprintf(ret, cap, ", one every %s", text_ns(period).s);
}

static int bursts_text(const struct scan *s, const struct phases *p, struct explain_finding *ret)
{
	struct time_span spans[PHASES_MOST];
	uint64_t together = 0;
	char period[64];

	for (unsigned int i = 0; i < p->n; i++) {
		spans[i] = (struct time_span){ p->of[i].from_ns, p->of[i].to_ns };
		together += p->of[i].to_ns - p->of[i].from_ns;
	}
	if (explain_incidents_tell(s, spans, p->n))
		return -ENOMEM;
	period_text(p, period, sizeof(period));
	return asprintf(&ret->text, "in %u bursts, together %s of %s%s", p->n, text_ns(together).s,
			text_ns(s->cell_ns * SCAN_CELLS).s, period) < 0
		       ? -ENOMEM
		       : 0;
}

/* One phase happened once: its slow ones tell from when to when. */
static int one_text(const struct scan *s, const struct phases *p, struct explain_finding *ret)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < s->n_list; i++) {
		if (!is_within(p, cell_of(s, s->list[i].start_ns)))
			continue;
		from = s->list[i].start_ns < from ? s->list[i].start_ns : from;
		to = s->list[i].end_ns > to ? s->list[i].end_ns : to;
	}
	return explain_incident_set(s, from < to ? from : to, to, ret);
}

int explain_phases_bursts(const struct scan *s, struct explain_finding *ret)
{
	struct phases *p = calloc(2, sizeof(*p)), *best = p + 1;
	double score;
	int err = p ? 0 : -ENOMEM;

	for (int level = 0; level < PHASE_LEVELS && !err; level++) {
		if (level + 1 < PHASE_LEVELS && s->levels_ns[level] >= s->e->threshold_ns)
			continue;
		err = phases_find(s, level, p);
		if (err || !p->n)
			continue;
		explain_chance_set(&s->population, p->slow, p->all, s->e->n * exp(-p->best), ret);
		p->rank = ret->rank;
		if (p->rank > best->rank)
			*best = *p;
	}
	if (err || !best->n) {
		free(p);
		return err;
	}
	*ret = (struct explain_finding){ .attribute = ATTR_TIME,
					 .expected = (double)best->all * s->e->n_slow / s->e->n,
					 .has = calloc(bits_words(s->n_list) + 1,
						       sizeof(*ret->has)) };
	explain_chance_set(&s->population, best->slow, best->all,
			   fmin(1, s->e->n * exp(-best->best)), ret);
	ret->at_most = ceil(ret->expected + 3 * sqrt(ret->expected));
	score = ret->score;
	if (!ret->has)
		err = -ENOMEM;
	for (size_t i = 0; i < s->n_list && !err; i++)
		if (is_within(best, cell_of(s, s->list[i].start_ns)))
			bit_set(ret->has, i);
	if (!err && score >= BURST_SCORE_LEAST && ret->rank >= BURST_RANK_LEAST)
		err = (best->n == 1 ? one_text(s, best, ret) : bursts_text(s, best, ret)) ? -ENOMEM
											  : 1;
	free(p);
	return err;
}

/* During the requests of somebody. */

/* An activity's episodes, in ns. */
struct owner {
	unsigned int activity;
	bool others; /* of the name of the activity, but not its heaviest process */
	const struct episodes *e;
	double from_ns[EPISODES_MOST], to_ns[EPISODES_MOST];
};

static bool owner_set(const struct scan *s, unsigned int index, int gap, struct owner *ret)
{
	double length = (double)s->cell_ns * SCAN_CELLS, together = 0;
	const struct beside *b = &s->beside;

	*ret = (struct owner){ .activity = index % BESIDE_MAX,
			       .others = index >= BESIDE_MAX,
			       .e = &s->episodes[index][gap] };
	for (unsigned int i = 0; i < ret->e->n; i++) {
		ret->from_ns[i] = b->base_ns + ((double)ret->e->of[i].from * (1ULL << b->shift));
		ret->to_ns[i] = b->base_ns + ((double)ret->e->of[i].to * (1ULL << b->shift));
		together += ret->to_ns[i] - ret->from_ns[i];
	}
	return ret->e->n >= MATCHES_LEAST && together <= EPISODES_LONGEST * length;
}

/* Counts the phases that begin and end with an episode, and the episodes that do. Returns the
 * probability of so many by chance. @fraction: of the tolerance. */
static double matches_count(const struct scan *s, const struct owner *o, const struct phases *p,
			    double fraction, unsigned int *ret_phases, unsigned int *ret_episodes)
{
	double all = (double)s->cell_ns * SCAN_CELLS, med = s->e->window_ns, chance = 0;
	uint64_t hit = 0;

	*ret_phases = 0;
	for (unsigned int i = 0; i < p->n; i++) {
		double from = p->of[i].from_ns, to = p->of[i].to_ns, length = to - from,
		       near = fraction * fmin(0.3 * length, all / 50) + med * fmin(1, 2 * fraction),
		       near_end = fraction == 1 ? near : 2 * near,
		       at_end = fraction == 1 ? fmax(near, 0.3 * length) : near_end;
		bool found = false;

		chance = fmax(chance, fmin(1, o->e->n * 1.5 * near / all) *
					      fmin(1, 2 * near_end / (length + 2 * near_end) +
							      0.1 * fraction));
		for (unsigned int k = 0; k < o->e->n && !found; k++) {
			found = o->from_ns[k] > from - near && o->from_ns[k] < from + near / 2 &&
				fabs(o->to_ns[k] - to) < at_end;
			hit |= (uint64_t)found << k;
		}
		*ret_phases += found;
	}
	*ret_episodes = __builtin_popcountll(hit);
	return *ret_phases ? stats_binomial_above(*ret_phases, p->n, fmin(chance, 1)) : 1;
}

/* Sets has, and the counts, of a finding about operations during the episodes of @o. */
static int during_set(const struct scan *s, const struct owner *o, double p,
		      struct explain_finding *ret)
{
	uint64_t all = 0, slow = 0, from, to, before = 0;

	*ret = (struct explain_finding){ .attribute = ATTR_DURING,
					 .has = calloc(bits_words(s->n_list) + 1,
						       sizeof(*ret->has)) };
	if (!ret->has)
		return -ENOMEM;
	for (unsigned int k = 0; k < o->e->n; k++) {
		from = starts_rank(&s->starts, fmax(0, o->from_ns[k] - s->e->window_ns));
		to = starts_rank(&s->starts, o->to_ns[k]);
		from = from > before ? from : before;
		all += to > from ? to - from : 0;
		before = to > before ? to : before;
	}
	for (size_t i = 0; i < s->n_list; i++) {
		for (unsigned int k = 0; k < o->e->n; k++) {
			if (s->list[i].start_ns + s->e->window_ns <= o->from_ns[k] ||
			    s->list[i].start_ns >= o->to_ns[k])
				continue;
			bit_set(ret->has, i);
			slow++;
			break;
		}
	}
	slow = slow * ((double)s->e->n_slow / s->n_list);
	ret->expected = (double)all * s->e->n_slow / s->e->n;
	explain_chance_set(&s->population, slow, all > slow ? all : slow, p, ret);
	ret->at_most = ceil(ret->expected + 3 * sqrt(ret->expected));
	return 0;
}

static int during_text(const struct scan *s, const struct owner *o, unsigned int matched,
		       struct explain_finding *ret)
{
	double gaps[EPISODES_MOST], period;
	char *who = explain_activity_text(s, &s->beside.list[o->activity]), every[64] = "";
	int len;

	for (unsigned int k = 0; k + 1 < o->e->n; k++)
		gaps[k] = o->from_ns[k + 1] - o->from_ns[k];
	period = period_of(gaps, o->e->n - 1);
	if (period > 0)
		snprintf(every, sizeof(every), ", one every %s", text_ns(period).s);
	len = who ? asprintf(&ret->text,
			     "during %s%s: %u of %u bursts begin and end with slow moments%s", who,
			     o->others ? ", other processes than the main one" : "", matched,
			     o->e->n, every)
		  : -1;
	free(who);
	if (len >= 0)
		return 0;
	ret->text = NULL;
	return -ENOMEM;
}

/* Whether others than those looked at are behind @o. */
static bool may_hinder(const struct scan *s, const struct owner *o)
{
	const struct activity *a = &s->beside.list[o->activity];

	return s->hindering >> o->activity & 1 && explain_activity_is_sibling(s, a) == o->others;
}

/* Replaces @best by a finding about @o if this one is better. Returns 0 or -ENOMEM. */
static int during_try(const struct scan *s, const struct owner *o, const struct phases *p,
		      struct explain_finding *best)
{
	unsigned int matched, episodes, of_best = 0;
	struct explain_finding f;
	double least = 1, chance, others = s->e->n - s->e->n_slow;

	for (int i = 0; i < TOLERANCES; i++) {
		chance = matches_count(s, o, p, ldexp(1, -i), &matched, &episodes);
		if (matched < MATCHES_LEAST || episodes < EPISODES_MATCHED * o->e->n ||
		    chance >= least)
			continue;
		least = chance;
		of_best = episodes;
	}
	if (!of_best)
		return 0;
	if (during_set(s, o, fmin(1, least * TOLERANCES * PHASE_LEVELS), &f))
		return -ENOMEM;
	if (f.score < DURING_SCORE_LEAST ||
	    (double)f.slow / s->e->n_slow * others < EXPLAIN_LEAST_LIFT * f.others ||
	    (best->has &&
	     (best->rank > f.rank || (best->rank == f.rank && best->raw_p <= f.raw_p)))) {
		explain_finding_done(&f);
		return 0;
	}
	explain_finding_done(best);
	*best = f;
	return during_text(s, o, of_best, best);
}

int explain_phases_during(const struct scan *s, struct explain_finding *ret)
{
	struct phases *p = calloc(1, sizeof(*p));
	struct owner o;
	int err = p ? 0 : -ENOMEM;

	for (int level = 0; level < PHASE_LEVELS && !err && !s->is_cached; level++) {
		if (level + 1 < PHASE_LEVELS && s->levels_ns[level] >= s->e->threshold_ns)
			continue;
		err = phases_find(s, level, p);
		for (unsigned int i = 0; i < 2 * BESIDE_MAX && !err && p->n >= MATCHES_LEAST; i++)
			for (int gap = 0; gap < EPISODE_GAPS && !err; gap++)
				if (i % BESIDE_MAX < s->beside.n && owner_set(s, i, gap, &o) &&
				    may_hinder(s, &o))
					err = during_try(s, &o, p, ret);
	}
	free(p);
	return err ? err : ret->has != NULL;
}
