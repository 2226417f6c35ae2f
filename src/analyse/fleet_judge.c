// SPDX-License-Identifier: GPL-2.0-only
/*
 * fleet_judge.c - tells bad hosts, and properties of hosts, from chance. Hosts are the unit of
 * chance: ten thousand slow operations of one host are one host.
 *
 * The figure of a host is the logarithm of its slow operations relative to their number if all
 * hosts were equal. Student's test compares figures, so hosts may differ among themselves. A second
 * test asks whether so many of the slow ones can be there by chance if hosts do not differ: figures
 * of hosts with few or no slow ones tell too little. Both must agree. Slow ones that come together
 * count as fewer: see together_of().
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/fleet.h"
#include "analyse/stats.h"

#define LEAST_VARIANCE 0.01 /* hosts whose figures differ by 10 % are alike */

enum {
	ROUNDS = 20000,     /* exchanges of hosts */
	ALONE_SHOWN = 3,    /* properties that only one host has, in a sentence */
	SAME_SHOWN = 3,     /* properties of the same hosts, in a sentence */
	OUTLIERS_PART = 5,  /* at most each fifth host is an outlier */
	TOGETHER_LEAST = 5, /* slow ones, to see whether they come together */
};

/* A value's operations on a host. */
struct place {
	uint32_t value, host;
	uint64_t n, slow;
};

/* A value, or several of the same hosts, that may be a finding. */
struct candidate {
	uint32_t value;
	const struct place *places; /* n_places of them */
	size_t n_places;
	uint64_t hash; /* of its hosts, or of its counts within hosts */
	size_t hosts;
	bool is_within, used;
	unsigned char *member; /* of each host; owned; NULL: within hosts */
	uint32_t *same;        /* other values of the same hosts; owned */
	size_t n_same;
};

struct judge {
	struct fleet *f;
	struct place *places; /* by value, then host */
	size_t n_places;
	struct candidate *list;
	size_t n;
	double *rest;  /* of each host: its figure less the effects of findings */
	bool *gone;    /* hosts that are findings */
	size_t *order; /* room for one number of a host */
	size_t n_left; /* hosts that are not gone */
	double share;  /* of slow ones */
	double limit;  /* for a single p */
};

/* The result of a test: Student's t, and the probability of at least this t by chance. */
struct verdict {
	double t, p;
};

static bool member_of(const struct candidate *c, size_t host)
{
	return c->member && c->member[host];
}

/*
 * How many slow ones come together, on average, in groups of @joined slots: the variance of their
 * numbers in groups, relative to that of independent ones.
 */
static double together_at(const struct fleet_host *h, unsigned int joined)
{
	double share = (double)h->slow / h->n, sum = 0, expected, slow, ops;
	unsigned int groups = 0;

	for (unsigned int i = 0; i <= h->slot; i += joined) {
		slow = ops = 0;
		for (unsigned int s = i; s < i + joined && s <= h->slot; s++) {
			slow += h->slots[s];
			ops += s < h->slot ? h->slot_ops : h->in_slot;
		}
		expected = ops * share;
		if (expected <= 0)
			continue;
		sum += (slow - expected) * (slow - expected) / expected;
		groups++;
	}
	return groups > 2 ? sum / (groups - 1) : 1;
}

/* The largest of together_at(), at least 1. */
static double together_of(const struct fleet_host *h)
{
	double most = 1, one;

	for (unsigned int joined = 1; joined <= FLEET_SLOTS / 4; joined *= 2) {
		one = together_at(h, joined);
		most = one > most ? one : most;
	}
	return most;
}

/* Sets the figure of each host. Where slow ones come together on some hosts, they may on others,
 * even if that cannot be seen: so at least the mean of all hosts holds. */
static void figures_set(struct judge *j)
{
	double sum = 0, weight = 0, mean;

	for (size_t i = 0; i < j->f->n_hosts; i++) {
		struct fleet_host *h = &j->f->hosts[i];

		if (h->slow < TOGETHER_LEAST)
			continue;
		sum += h->slow * together_of(h);
		weight += h->slow;
	}
	mean = weight > 0 ? sum / weight : 1;
	for (size_t i = 0; i < j->f->n_hosts; i++) {
		struct fleet_host *h = &j->f->hosts[i];

		h->together = h->slow < TOGETHER_LEAST ? mean : fmax(mean, together_of(h));
		j->rest[i] =
			log((h->slow / h->together + 0.5) / (h->n * j->share / h->together + 0.5));
	}
}

/* Figures of hosts that are not gone: of those of a candidate, or of all others. */
struct side {
	double n, mean, squares; /* squares: sum of squared differences from the mean */
	double ops, slow;        /* slow: those that come together are one */
};

static void side_add(struct side *s, double y)
{
	double before = s->mean;

	s->n++;
	s->mean += (y - before) / s->n;
	s->squares += (y - before) * (y - s->mean);
}

static void host_add(struct side *s, const struct judge *j, size_t host)
{
	const struct fleet_host *h = &j->f->hosts[host];

	side_add(s, j->rest[host]);
	s->ops += h->n;
	s->slow += h->slow < TOGETHER_LEAST ? h->slow : h->slow / h->together;
}

/* The probability that so many of all slow ones are on side @in, if hosts do not differ. */
static double by_chance(const struct side *in, const struct side *out)
{
	return stats_binomial_above(in->slow, in->slow + out->slow, in->ops / (in->ops + out->ops));
}

static struct verdict verdict_of(double difference, double variance, double df)
{
	struct verdict v = { .p = 1 };

	if (df < 1)
		return v;
	v.t = difference / sqrt(variance);
	v.p = v.t > 0 ? stats_t_p(v.t, df) / 2 : 1;
	return v;
}

/* Student's test of the hosts of @c against the others. */
static struct verdict between(const struct judge *j, const struct candidate *c)
{
	struct side in = {}, out = {};
	struct verdict v;
	double pooled, df;

	for (size_t i = 0; i < j->f->n_hosts; i++)
		if (!j->gone[i])
			host_add(member_of(c, i) ? &in : &out, j, i);
	df = in.n + out.n - 2;
	if (in.n < 2 || out.n < 2)
		return (struct verdict){ .p = 1 };
	pooled = fmax((in.squares + out.squares) / df, LEAST_VARIANCE);
	v = verdict_of(in.mean - out.mean, pooled / in.n + pooled / out.n, df);
	v.p = fmax(v.p, by_chance(&in, &out));
	return v;
}

/* Paired, of operations with the value and others of the same hosts. */
static struct verdict within(const struct judge *j, const struct candidate *c)
{
	double with = 0, all = 0, expected = 0;
	struct side d = {};
	struct verdict v;

	for (size_t i = 0; i < c->n_places; i++) {
		const struct place *at = &c->places[i];
		const struct fleet_host *h = &j->f->hosts[at->host];
		double slow = h->slow - at->slow, n = h->n - at->n;

		if (!n)
			continue;
		side_add(&d, log((at->slow + 0.5) / (at->n * j->share + 0.5)) -
				     log((slow + 0.5) / (n * j->share + 0.5)));
		with += at->slow;
		all += h->slow;
		expected += (double)h->slow * at->n / h->n;
	}
	if (d.n < FLEET_LEAST_PAIRS || all <= 0)
		return (struct verdict){ .p = 1 };
	v = verdict_of(d.mean, fmax(d.squares / (d.n - 1), LEAST_VARIANCE) / d.n, d.n - 1);
	v.p = fmax(v.p, stats_binomial_above(with, all, expected / all));
	return v;
}

/* The number of ways to choose @k of @n, as a logarithm. */
static double ways_log(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Whether all hosts of @c that are left lie above all others. */
static bool is_apart(const struct judge *j, const struct candidate *c)
{
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < j->f->n_hosts; i++) {
		if (j->gone[i])
			continue;
		if (member_of(c, i))
			least = fmin(least, j->rest[i]);
		else
			most = fmax(most, j->rest[i]);
	}
	return least > most;
}

/*
 * The probability that @c's hosts are as bad if hosts are exchanged at random, or 0 if that is less
 * than ROUNDS can tell. If there are too few ways to exchange them, the hosts must lie apart.
 */
static double exchanged(const struct judge *j, const struct candidate *c)
{
	struct stats_random random = { 4711 };
	size_t n = 0, k = 0, at, same;
	double sum = 0, one;
	unsigned int above = 0;

	for (size_t i = 0; i < j->f->n_hosts; i++) {
		if (j->gone[i])
			continue;
		j->order[n++] = i;
		k += member_of(c, i);
		sum += member_of(c, i) ? j->rest[i] : 0;
	}
	if (-ways_log(n, k) > log(j->limit / 2))
		return is_apart(j, c) ? 0 : 1;
	for (unsigned int r = 0; r < ROUNDS; r++) {
		one = 0;
		for (size_t i = 0; i < k; i++) { /* Fisher and Yates */
			at = i + stats_random_below(&random, n - i);
			same = j->order[i];
			j->order[i] = j->order[at];
			j->order[at] = same;
			one += j->rest[j->order[i]];
		}
		above += one >= sum - 1e-9;
	}
	return above ? (above + 1.0) / (ROUNDS + 1) : 0;
}

/* One host against the others that are left, without those of @out. */
static struct verdict alone(const struct judge *j, size_t host, const bool *out)
{
	struct side others = {}, one = {};
	struct verdict v;

	for (size_t i = 0; i < j->f->n_hosts; i++)
		if (!j->gone[i] && i != host && !out[i])
			host_add(&others, j, i);
	if (others.n < FLEET_LEAST_HOSTS - 1)
		return (struct verdict){ .p = 1 };
	host_add(&one, j, host);
	v = verdict_of(one.mean - others.mean,
		       fmax(others.squares / (others.n - 1), LEAST_VARIANCE) * (1 + 1 / others.n),
		       others.n - 1);
	v.p = fmax(v.p, by_chance(&one, &others));
	return v;
}

/*
 * The host furthest out, if it is an outlier. Bad hosts hide one another, so they are removed one
 * by one, and as many are outliers as the last significant test says: Rosner, "Percentage points
 * for a generalized ESD many-outlier procedure" (1983). Returns -ENOMEM, or 0 with @ret_host.
 */
static int outlier_find(const struct judge *j, size_t *ret_host, struct verdict *ret)
{
	size_t n = j->f->n_hosts, most = j->n_left / OUTLIERS_PART, worst, first = 0, found = 0;
	bool *out = calloc(n, sizeof(*out)), *outliers = calloc(n, sizeof(*outliers));
	struct verdict v;

	*ret = (struct verdict){ .p = 1 };
	for (size_t r = 0; out && outliers && r < (most ? most : 1) && r < j->n_left; r++) {
		worst = n;
		for (size_t i = 0; i < n; i++)
			if (!j->gone[i] && !out[i] && (worst == n || j->rest[i] > j->rest[worst]))
				worst = i;
		v = alone(j, worst, out);
		out[worst] = true;
		first = r ? first : worst;
		if (!r)
			*ret = v;
		if (v.p < j->limit) {
			memcpy(outliers, out, n * sizeof(*outliers));
			found = r + 1;
		}
	}
	if (found)
		*ret = alone(j, first, outliers);
	*ret_host = first;
	free(outliers);
	free(out);
	return out && outliers ? 0 : -ENOMEM;
}

/* Whether enough operations are slow, and far more than elsewhere. */
static bool is_worth(const struct fleet_finding *found)
{
	double rate = found->n ? (double)found->slow / found->n : 0;
	double others = found->others_n ? (double)found->others_slow / found->others_n : 0;

	return found->slow >= EXPLAIN_LEAST && rate >= EXPLAIN_LEAST_LIFT * others;
}

/* Sets the counts of a finding about host @host. */
static void host_counts(const struct judge *j, size_t host, struct fleet_finding *found)
{
	const struct fleet_host *h = &j->f->hosts[host];

	found->hosts = 1;
	found->of = j->f->n_hosts;
	found->slow = h->slow;
	found->n = h->n;
	found->others_slow = j->f->sums.n_slow - h->slow;
	found->others_n = j->f->sums.n - h->n;
	found->worst = h->worst;
	found->host = host;
}

/* Sets the counts of a finding about candidate @c. Hosts that are gone count with the others. */
static void candidate_counts(const struct judge *j, const struct candidate *c,
			     struct fleet_finding *found)
{
	const struct fleet_host *worst = NULL;
	uint64_t most = 0;

	found->of = j->f->n_hosts;
	found->value = c->value;
	found->is_within = c->is_within;
	for (size_t i = 0; i < c->n_places; i++) {
		const struct place *at = &c->places[i];
		const struct fleet_host *h = &j->f->hosts[at->host];

		if (c->member && !c->member[at->host])
			continue;
		found->hosts++;
		found->n += c->is_within ? at->n : h->n;
		found->slow += c->is_within ? at->slow : h->slow;
		if (!worst || at->slow > most) {
			worst = h;
			most = at->slow;
		}
	}
	found->worst = worst ? worst->worst : 0;
	found->others_slow = j->f->sums.n_slow - found->slow;
	found->others_n = j->f->sums.n - found->n;
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

static int places_make(struct judge *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->f->n_hosts; i++)
		n += j->f->hosts[i].n_cells;
	j->places = calloc(n + 1, sizeof(*j->places));
	if (!j->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->f->n_hosts; i++)
		for (size_t k = 0; k < j->f->hosts[i].n_cells; k++) {
			const struct fleet_cell *c = &j->f->hosts[i].cells[k];

			j->places[j->n_places++] = (struct place){ c->value, i, c->n, c->slow };
		}
	qsort(j->places, j->n_places, sizeof(*j->places), place_compare);
	return 0;
}

static uint64_t mix(uint64_t hash, uint64_t n)
{
	hash = (hash ^ n) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* An equal candidate of the same sort, or NULL. */
static struct candidate *candidate_like(const struct judge *j, const struct candidate *c)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i].is_within == c->is_within && j->list[i].hash == c->hash &&
		    j->list[i].hosts == c->hosts)
			return &j->list[i];
	return NULL;
}

/* Adds @value to the values of an equal candidate. */
static int same_add(struct candidate *like, uint32_t value)
{
	uint32_t *grown = realloc(like->same, (like->n_same + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	like->same = grown;
	like->same[like->n_same++] = value;
	return 0;
}

/*
 * Adds the value of @n places as a candidate. Where most hosts have operations with and without the
 * value, these are compared within each host; else hosts with it, by most of their operations, are
 * compared with hosts without. A value of one host, or of all but one, is no candidate.
 */
static int candidate_add(struct judge *j, const struct place *at, size_t n)
{
	struct candidate c = { .value = at->value, .places = at, .n_places = n };
	size_t both = 0, hosts = j->f->n_hosts;
	struct candidate *like;

	for (size_t i = 0; i < n; i++)
		both += at[i].n < j->f->hosts[at[i].host].n;
	c.is_within = both >= FLEET_LEAST_PAIRS && 2 * both >= n;
	c.member = c.is_within ? NULL : calloc(hosts, 1);
	if (!c.is_within && !c.member)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct fleet_host *h = &j->f->hosts[at[i].host];

		if (!c.is_within && 2 * at[i].n <= h->n)
			continue;
		c.hosts++;
		c.hash = mix(mix(c.hash, at[i].host), c.is_within ? at[i].n : 0);
		c.hash = c.is_within ? mix(c.hash, at[i].slow) : c.hash;
		if (c.member)
			c.member[at[i].host] = 1;
	}
	like = candidate_like(j, &c);
	if (like || (!c.is_within && (c.hosts < 2 || c.hosts + 2 > hosts))) {
		free(c.member);
		return like ? same_add(like, c.value) : 0;
	}
	j->list[j->n++] = c;
	return 0;
}

static int candidates_make(struct judge *j)
{
	size_t same;
	int err = 0;

	j->list = calloc(j->f->n_values + 1, sizeof(*j->list));
	if (!j->list)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_places && !err; i += same) {
		same = 1;
		while (i + same < j->n_places && j->places[i + same].value == j->places[i].value)
			same++;
		err = candidate_add(j, &j->places[i], same);
	}
	return err;
}

/* "Only this host has kernel 6.5, with ...": properties of no other host. */
static char *alone_text(const struct judge *j, size_t host)
{
	const struct fleet_value *v;
	char *text = NULL, *one;
	size_t len, n = 0;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; f && i < j->n_places && n < ALONE_SHOWN; i++) {
		v = &j->f->values[j->places[i].value];
		if (j->places[i].host != host || v->attribute >= FLEET_CGROUP ||
		    (i && j->places[i - 1].value == j->places[i].value) ||
		    (i + 1 < j->n_places && j->places[i + 1].value == j->places[i].value))
			continue;
		one = fleet_value_text(v);
		fprintf(f, "%s%s", n++ ? ", " : "Only this host is ", one ? one : "");
		free(one);
	}
	if (f && n)
		fputc('.', f);
	if (f && (fclose(f) || !n)) {
		free(text);
		text = NULL;
	}
	return text;
}

/* "The same hosts are with kernel 6.5." */
static char *same_text(const struct judge *j, const struct candidate *c)
{
	char *text = NULL, *one;
	size_t len;
	FILE *f = c->n_same ? open_memstream(&text, &len) : NULL;

	for (size_t i = 0; f && i < c->n_same && i < SAME_SHOWN; i++) {
		one = fleet_value_text(&j->f->values[c->same[i]]);
		fprintf(f, "%s%s",
			i              ? ", "
			: c->is_within ? "The same were "
				       : "Exactly these hosts are also ",
			one ? one : "");
		free(one);
	}
	if (f && c->n_same > SAME_SHOWN)
		fprintf(f, ", and %zu more", c->n_same - SAME_SHOWN);
	if (f)
		fputc('.', f);
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	return text;
}

/* The best of what is left: a host, or a candidate in @ret_candidate. */
static int best_find(struct judge *j, struct fleet_finding *best, struct candidate **ret_candidate)
{
	struct fleet_finding found = { .attribute = FLEET_HOST };
	struct verdict v;
	size_t host;
	int err = outlier_find(j, &host, &v);

	*ret_candidate = NULL;
	if (err)
		return err;
	host_counts(j, host, &found);
	found.t = v.t;
	found.p = v.p;
	*best = found;
	if (!is_worth(best) || j->n_left < FLEET_LEAST_HOSTS) {
		best->t = 0;
		best->p = 1;
	}
	for (size_t i = 0; i < j->n; i++) {
		struct candidate *c = &j->list[i];

		v = c->used        ? (struct verdict){ .p = 1 }
		    : c->is_within ? within(j, c)
				   : between(j, c);
		if (v.t <= best->t)
			continue;
		found = (struct fleet_finding){ .attribute = j->f->values[c->value].attribute };
		candidate_counts(j, c, &found);
		if (!is_worth(&found))
			continue;
		if (!c->is_within && v.p < j->limit)
			v.p = fmax(v.p, exchanged(j, c));
		if (v.p >= j->limit && best->p < j->limit)
			continue;
		found.t = v.t;
		found.p = v.p;
		*best = found;
		*ret_candidate = c;
	}
	return 0;
}

/* Takes the effect of a finding away, so that the next one explains the rest. */
static void effect_remove(struct judge *j, size_t host, struct candidate *c)
{
	struct side in = {}, out = {};

	if (!c) {
		j->gone[host] = true;
		j->n_left--;
		return;
	}
	c->used = true;
	for (size_t i = 0; i < j->f->n_hosts && c->member; i++)
		if (!j->gone[i])
			side_add(c->member[i] ? &in : &out, j->rest[i]);
	for (size_t i = 0; i < j->f->n_hosts && c->member; i++)
		if (c->member[i])
			j->rest[i] -= in.mean - out.mean;
}

/* Sets the words of @found. */
static int finding_word(struct judge *j, struct fleet_finding *found, const struct candidate *c)
{
	const struct fleet_value host = { FLEET_HOST, j->f->hosts[found->host].name };

	found->text = fleet_value_text(c ? &j->f->values[c->value] : &host);
	found->note = c ? same_text(j, c) : alone_text(j, found->host);
	found->p = fmin(1, found->p * j->f->tests);
	return found->text ? 0 : -ENOMEM;
}

static int findings_find(struct judge *j)
{
	struct fleet_finding best;
	struct candidate *c;
	int err = 0;

	while (!err && j->f->n_findings < FLEET_FINDINGS) {
		err = best_find(j, &best, &c);
		if (err || (best.p >= j->limit && (j->f->n_findings || best.t <= 0)))
			break;
		if (best.p >= j->limit) {
			err = finding_word(j, &best, c);
			j->f->nearest = best;
			break;
		}
		err = finding_word(j, &best, c);
		j->f->findings[j->f->n_findings++] = best;
		effect_remove(j, best.host, c);
	}
	return err;
}

static int worst_first(const void *a, const void *b)
{
	const struct fleet_host *x = a, *y = b;

	if (x->slow != y->slow)
		return x->slow < y->slow ? 1 : -1;
	return strcmp(x->name, y->name);
}

int fleet_judge(struct fleet *f)
{
	size_t n = f->n_hosts;
	struct judge j = {
		.f = f,
		.rest = calloc(n + 1, sizeof(*j.rest)),
		.gone = calloc(n + 1, sizeof(*j.gone)),
		.order = calloc(n + 1, sizeof(*j.order)),
		.n_left = n,
		.share = f->sums.n ? (double)f->sums.n_slow / f->sums.n : 0,
	};
	int err = j.rest && j.gone && j.order ? 0 : -ENOMEM;

	if (n)
		qsort(f->hosts, n, sizeof(*f->hosts), worst_first);
	for (size_t i = 0; i < n && j.gone; i++) {
		j.gone[i] = !f->hosts[i].n;
		j.n_left -= j.gone[i];
	}
	if (!err)
		err = places_make(&j);
	if (!err)
		err = candidates_make(&j);
	f->tests = j.n + n;
	j.limit = FLEET_FALSE / (f->tests ? f->tests : 1);
	if (!err && f->sums.n_slow && f->sums.n_slow < f->sums.n && n >= FLEET_LEAST_HOSTS) {
		figures_set(&j);
		err = findings_find(&j);
	}
	for (size_t i = 0; i < j.n; i++) {
		free(j.list[i].member);
		free(j.list[i].same);
	}
	free(j.list);
	free(j.places);
	free(j.rest);
	free(j.gone);
	free(j.order);
	return err;
}
