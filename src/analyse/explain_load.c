// SPDX-License-Identifier: GPL-2.0-only
/* explain_load.c - whose requests were in flight when slow operations began, and when the others
 * did: the queue depth by owner. */
#include <errno.h>
#include <stdlib.h>

#include "analyse/explain_scan.h"
#include "base/text.h"

enum { OWNERS_TOLD = 3 };

#define PART_LEAST    0.08 /* of the difference: a smaller one is not told */
#define PART_HEADLINE 0.3

/* The mean number of requests in flight of one activity. */
struct load {
	unsigned int activity;
	double slow, others;
};

static int compare_loads(const void *a, const void *b)
{
	const struct load *x = a, *y = b;
	double more = x->slow - x->others, than = y->slow - y->others;

	return (more < than) - (more > than);
}

static struct load load_of(const struct scan *s, unsigned int activity)
{
	const float *flight = s->beside.flight[activity];
	struct load l = { .activity = activity };
	double others = s->e->n - s->e->n_slow;

	for (size_t g = 0; g < BESIDE_GROUPS; g++) {
		double depth = flight[g] / (1 << BESIDE_GROUP_SHIFT);

		l.slow += depth * s->group_slow[g] / s->e->n_slow;
		l.others += others > 0 ? depth * (s->group_all[g] - s->group_slow[g]) / others : 0;
	}
	return l;
}

/* All owners of requests on the disks, the largest difference first. Sets the sum. */
static unsigned int loads_list(const struct scan *s, struct load *ret, struct load *ret_sum)
{
	unsigned int n = 0;

	*ret_sum = (struct load){};
	for (unsigned int a = 0; a < s->beside.n; a++) {
		if (!(s->hindering >> a & 1) || s->beside.list[a].kind == ACTIVITY_PROCESS)
			continue;
		ret[n] = load_of(s, a);
		ret_sum->slow += ret[n].slow;
		ret_sum->others += ret[n].others;
		n++;
	}
	if (n)
		qsort(ret, n, sizeof(*ret), compare_loads);
	return n;
}

static void put_owners(FILE *f, const struct scan *s, const struct load *list, unsigned int n,
		       const struct load *sum)
{
	double more = sum->slow - sum->others, part;

	fprintf(f, "on average %.1f requests in flight, for the others %.1f; of the difference ",
		sum->slow, sum->others);
	for (unsigned int i = 0; i < n && i < OWNERS_TOLD; i++) {
		char *text = explain_activity_text(s, &s->beside.list[list[i].activity]);

		part = (list[i].slow - list[i].others) / more;
		if (part >= PART_LEAST)
			fprintf(f, "%s%.0f %% is %s", i ? ", " : "", 100 * part, text ? text : "?");
		free(text);
	}
}

/* Names in the text of @f who has most of the difference, if these are others. */
static int headline_set(const struct scan *s, const struct load *l, double part,
			struct explain_finding *f)
{
	const struct activity *a = &s->beside.list[l->activity];
	char *who, *text;
	int len;

	if (part < PART_HEADLINE || explain_activity_is_sibling(s, a))
		return 0;
	who = explain_activity_text(s, a);
	len = who ? asprintf(&text, "%s, more than usual %s", f->text, who) : -1;
	free(who);
	if (len < 0)
		return -ENOMEM;
	free(f->text);
	f->text = text;
	return 0;
}

int explain_load_tell(const struct scan *s, struct explain_finding *f)
{
	struct load list[BESIDE_MAX], sum;
	unsigned int n = loads_list(s, list, &sum);
	size_t len;
	FILE *out;

	if (!n || sum.slow <= sum.others)
		return 0;
	out = open_memstream(&f->note, &len);
	if (!out)
		return -ENOMEM;
	put_owners(out, s, list, n, &sum);
	if (fclose(out))
		return -ENOMEM;
	return headline_set(s, &list[0], (list[0].slow - list[0].others) / (sum.slow - sum.others),
			    f);
}
