/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * planted_hosts.h - made-up hosts, of which some are bad for one known reason, for tests of explain
 * over hosts.
 *
 * They have 4 models, 3 kernels, 3 schedulers, 2 mount options, 5 cgroups and 6 names of threads. A
 * host's share of slow operations is 1 % times a log-normal effect of its own. With bursts, half of
 * the slow ones come in groups of 100.
 */
#ifndef IOSTRATA_TESTS_PLANTED_HOSTS_H
#define IOSTRATA_TESTS_PLANTED_HOSTS_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/fleet.h"
#include "analyse/stats.h"

enum { HOSTS_CGROUPS = 5, HOSTS_COMMS = 6 };

struct world {
	unsigned int hosts, ops; /* of each host, on average */
	double unequal, more;    /* how many times as many are slow where it is planted */
	bool bursts;
	const char *cause; /* "": none; "host", "model", "kernel", "cgroup", "two" */
	unsigned int bad;  /* hosts with the bad model or kernel */
};

static struct stats_random rng;

static double uniform(void)
{
	return (stats_random(&rng) >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-300)) * cos(2 * M_PI * uniform());
}

static inline void cell(struct fleet *f, struct fleet_host *h, enum fleet_attribute a,
			const char *name, unsigned int nth, uint64_t n, uint64_t slow)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %u", name, nth);
	fleet_cell_add(h, fleet_value(f, a, text), n, slow);
}

struct drawn {
	uint64_t n[HOSTS_CGROUPS], slow[HOSTS_CGROUPS], comm_n[HOSTS_COMMS], comm_slow[HOSTS_COMMS],
		all, all_slow;
};

static void ops_draw(struct fleet_host *h, const struct world *w, double share, bool bad_cgroup,
		     struct drawn *d)
{
	unsigned int n = w->ops * (0.5 + uniform()), burst = 0;
	double one;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int cgroup = stats_random_below(&rng, HOSTS_CGROUPS);
		unsigned int comm = stats_random_below(&rng, HOSTS_COMMS);
		bool slow;

		one = share * (bad_cgroup && cgroup == 2 ? w->more : 1);
		if (w->bursts && uniform() < one / 200)
			burst = 100;
		slow = burst ? burst-- : uniform() < one / (w->bursts ? 2 : 1);
		fleet_host_count(h, slow);
		d->n[cgroup]++;
		d->slow[cgroup] += slow;
		d->comm_n[comm]++;
		d->comm_slow[comm] += slow;
		d->all++;
		d->all_slow += slow;
	}
}

static void host_draw(struct fleet *f, const struct world *w, unsigned int i)
{
	bool bad = i < w->bad;
	unsigned int model = stats_random_below(&rng, 4), kernel = stats_random_below(&rng, 3);
	double share = 0.01 * exp(w->unequal * normal());
	struct drawn d = {};
	struct fleet_host *h;
	char name[32];

	if (!strcmp(w->cause, "model"))
		model = bad ? 4 : model;
	if (!strcmp(w->cause, "kernel"))
		kernel = bad ? 4 : kernel;
	if (bad && *w->cause && strcmp(w->cause, "cgroup") != 0)
		share *= w->more;
	snprintf(name, sizeof(name), "h%u", i);
	h = fleet_host(f, name);
	ops_draw(h, w, share < 1 ? share : 1, !strcmp(w->cause, "cgroup"), &d);
	f->sums.n += d.all;
	f->sums.n_slow += d.all_slow;
	cell(f, h, FLEET_MODEL, "model", model, d.all, d.all_slow);
	cell(f, h, FLEET_KERNEL, "kernel", kernel, d.all, d.all_slow);
	cell(f, h, FLEET_SCHEDULER, "scheduler", stats_random_below(&rng, 3), d.all, d.all_slow);
	cell(f, h, FLEET_OPTION, "option", stats_random_below(&rng, 2), d.all, d.all_slow);
	for (int c = 0; c < HOSTS_CGROUPS; c++)
		cell(f, h, FLEET_CGROUP, "cgroup", c, d.n[c], d.slow[c]);
	for (int c = 0; c < HOSTS_COMMS; c++)
		cell(f, h, FLEET_COMM, "comm", c, d.comm_n[c], d.comm_slow[c]);
}

static bool is_right(const struct world *w, const char *text)
{
	if (!strcmp(w->cause, "model"))
		return !strcmp(text, "with disk model model 4");
	if (!strcmp(w->cause, "kernel"))
		return !strcmp(text, "with kernel kernel 4");
	if (!strcmp(w->cause, "cgroup"))
		return !strcmp(text, "in cgroup cgroup 2");
	if (!strcmp(w->cause, "two"))
		return !strcmp(text, "on host h0") || !strcmp(text, "on host h1");
	return !strcmp(w->cause, "host") && !strcmp(text, "on host h0");
}

/* The hosts of draw @nth, judged. */
static void world_draw(struct fleet *f, const struct world *w, unsigned int nth)
{
	rng.state = 1000003ULL * nth + 17;
	for (unsigned int i = 0; i < w->hosts; i++)
		host_draw(f, w, i);
	if (fleet_judge(f))
		abort();
}

#endif
