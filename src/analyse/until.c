// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/until.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/reason.h"
#include "cell.h"
#include "event.h"
#include "host/devices.h"

/* Records come within this time. */
#define LATE_NS ((uint64_t)NS_PER_S)
/* Between two looks at a window, or two computations of a percentile. */
#define LOOK_NS  ((uint64_t)100 * NS_PER_MS)
#define USUAL_NS ((uint64_t)300 * NS_PER_S)

enum { USUAL_BEYOND = 10 }; /* a usual percentile needs so many values above it */

/* Sets the number of the disk that the condition names. Returns 0, or -1 with @why. */
static int disk_find(struct until_cond *c, const struct devices *devices, struct reason *why)
{
	const char *text = c->asked.text, *name = c->asked.disk;
	const struct device *d = devices_named(devices, name);

	if (!d) {
		reason_set(why, EXIT_FAILED, "invalid condition '%.60s': no disk '%.60s'", text,
			   name);
		return reason_hint(why, "'lsblk -d' lists the disks");
	}
	if (d->disk) {
		reason_set(why, EXIT_FAILED, "invalid condition '%.60s': '%.60s' is a partition",
			   text, name);
		return reason_hint(why, "requests belong to whole disks");
	}
	c->dev = d->dev;
	return 0;
}

int until_add(struct until *u, const char *text, const struct devices *devices, struct reason *why)
{
	struct until_cond *c;

	if (!u->conds)
		u->conds = calloc(UNTIL_MAX, sizeof(*u->conds));
	if (!u->conds)
		return reason_no_memory(why);
	if (u->n == UNTIL_MAX)
		return reason_set(why, EXIT_USAGE, "more than %d conditions", UNTIL_MAX);
	c = &u->conds[u->n];
	*c = (struct until_cond){ .usual.limit_ns = UINT64_MAX };
	if (condition_parse(text, CONDITION_LIVE, &c->asked, why) ||
	    (c->asked.disk[0] && disk_find(c, devices, why)))
		return -1;
	c->step_ns = c->asked.over_ns / UNTIL_STEPS;
	u->ops |= c->asked.ops;
	u->requests |= c->asked.requests;
	u->n++;
	return 0;
}

void until_done(struct until *u)
{
	for (unsigned int i = 0; i < u->n; i++) {
		struct until_cond *c = &u->conds[i];

		for (int s = 0; s < UNTIL_SLOTS; s++)
			free(c->slots[s].times.bins);
		free(c->usual.now.bins);
		free(c->usual.before.bins);
	}
	free(u->conds);
	*u = (struct until){};
}

/* Notes @ns as a time at which the condition is met. */
static void meet(struct until_cond *c, uint64_t ns, uint64_t value)
{
	if (!c->met) {
		c->met = true;
		c->first_ns = c->last_ns = ns;
		c->value = value;
		return;
	}
	c->first_ns = ns < c->first_ns ? ns : c->first_ns;
	c->last_ns = ns > c->last_ns ? ns : c->last_ns;
	c->value = value > c->value ? value : c->value;
}

static bool counts(const struct until_cond *c, const struct until_event *e)
{
	if (e->is_request)
		return c->asked.requests && (!c->dev || c->dev == e->dev);
	return c->asked.ops >> e->kind & 1;
}

/* The slot of @step, emptied of a former step. Returns NULL if the step has left the window. */
static struct until_slot *slot_of(struct until_cond *c, uint64_t step)
{
	struct until_slot *s = &c->slots[step % UNTIL_SLOTS];
	struct hist times = s->times;

	if (s->step > step)
		return NULL;
	if (s->step == step)
		return s;
	times.n = 0;
	*s = (struct until_slot){ .step = step, .times = times };
	return s;
}

static void window_see(struct until_cond *c, const struct until_event *e)
{
	struct until_slot *s = slot_of(c, e->end_ns / c->step_ns);

	if (!s)
		return;
	s->count++;
	s->errors += e->is_request ? e->failed : errno_is_io(e->error, e->kind);
	/* a request in flight for longer than the window was so for all of it */
	s->sum_ns += e->took_ns < c->asked.over_ns ? e->took_ns : c->asked.over_ns;
	s->max_ns = e->took_ns > s->max_ns ? e->took_ns : s->max_ns;
	if (c->asked.measure == CONDITION_PERCENTILE)
		hist_add(&s->times, hist_bucket(e->took_ns), 1); /* without memory: one less */
}

static void usual_see(struct until_cond *c, const struct until_event *e)
{
	struct until_usual *u = &c->usual;

	if (e->took_ns > u->limit_ns)
		meet(c, e->end_ns, e->took_ns);
	hist_add(&u->now, hist_bucket(e->took_ns), 1);
	u->count++;
	u->max_ns = e->took_ns > u->max_ns ? e->took_ns : u->max_ns;
}

void until_see(struct until *u, const struct until_event *e)
{
	for (unsigned int i = 0; i < u->n; i++) {
		struct until_cond *c = &u->conds[i];

		if (!counts(c, e))
			continue;
		if (condition_has_window(&c->asked))
			window_see(c, e);
		else if (c->asked.measure == CONDITION_USUAL)
			usual_see(c, e);
		else if (e->took_ns > c->asked.above)
			meet(c, e->end_ns, e->took_ns);
	}
}

/* The percentile of the steps after @from up to @to. Returns 0 if there is no values. */
static uint64_t window_percentile(const struct until_cond *c, uint64_t from, uint64_t to)
{
	struct hist all = {};
	uint64_t max_ns = 0, value;
	int err = 0;

	for (int i = 0; i < UNTIL_SLOTS && !err; i++) {
		const struct until_slot *s = &c->slots[i];

		if (s->step <= from || s->step > to)
			continue;
		err = hist_merge(&all, &s->times);
		max_ns = s->max_ns > max_ns ? s->max_ns : max_ns;
	}
	value = err ? 0 : hist_percentile(&all, c->asked.percentile, max_ns);
	free(all.bins);
	return value;
}

static uint64_t window_value(const struct until_cond *c, uint64_t from, uint64_t to)
{
	uint64_t errors = 0, sum_ns = 0;

	if (c->asked.measure == CONDITION_PERCENTILE)
		return window_percentile(c, from, to);
	for (int i = 0; i < UNTIL_SLOTS; i++) {
		const struct until_slot *s = &c->slots[i];

		if (s->step <= from || s->step > to)
			continue;
		errors += s->errors;
		sum_ns += s->sum_ns;
	}
	return c->asked.measure == CONDITION_ERRORS ? errors : sum_ns / c->asked.over_ns;
}

/* Looks at the window of steps up to @to. */
static void window_look_at(struct until_cond *c, uint64_t now, uint64_t to)
{
	uint64_t value = window_value(c, to - UNTIL_STEPS, to);

	if (value > c->asked.above)
		meet(c, now, value);
}

/* Looks at the window of whole steps whose records have all come. */
static void window_look(struct until_cond *c, uint64_t now)
{
	if (!c->began_ns)
		c->began_ns = now;
	/* errors count from the first on; other figures need a whole window */
	if (now < LATE_NS + c->asked.over_ns || (c->asked.measure != CONDITION_ERRORS &&
						 now - LATE_NS - c->asked.over_ns < c->began_ns))
		return;
	window_look_at(c, now, (now - LATE_NS) / c->step_ns - 1);
}

/* Forgets the older half after USUAL_NS. */
static void usual_age(struct until_usual *u, uint64_t now)
{
	struct hist oldest = u->before;

	if (now - u->since_ns < USUAL_NS)
		return;
	u->before = u->now;
	u->count_before = u->count;
	oldest.n = 0;
	u->now = oldest;
	u->count = 0;
	u->since_ns = now;
}

static void usual_look(struct until_cond *c, uint64_t now)
{
	struct until_usual *u = &c->usual;
	uint64_t count;
	struct hist all = {};

	if (!u->since_ns)
		u->since_ns = now;
	usual_age(u, now);
	count = u->count + u->count_before;
	u->limit_ns = UINT64_MAX;
	if (count * (100 - c->asked.percentile) / 100 < USUAL_BEYOND)
		return;
	if (!hist_merge(&all, &u->before) && !hist_merge(&all, &u->now))
		u->limit_ns =
			c->asked.times * hist_percentile(&all, c->asked.percentile, u->max_ns);
	free(all.bins);
}

void until_look(struct until *u, uint64_t now)
{
	for (unsigned int i = 0; i < u->n; i++) {
		struct until_cond *c = &u->conds[i];

		if (now - c->looked_ns < LOOK_NS)
			continue;
		c->looked_ns = now;
		if (condition_has_window(&c->asked))
			window_look(c, now);
		else if (c->asked.measure == CONDITION_USUAL)
			usual_look(c, now);
	}
}

void until_end(struct until *u, uint64_t now)
{
	for (unsigned int i = 0; i < u->n; i++) {
		struct until_cond *c = &u->conds[i];

		if (c->asked.measure == CONDITION_ERRORS && now >= c->asked.over_ns)
			window_look_at(c, now, now / c->step_ns);
	}
}

bool until_met(const struct until *u)
{
	for (unsigned int i = 0; i < u->n; i++)
		if (u->conds[i].met)
			return true;
	return false;
}

struct text_num until_value(const struct until_cond *c)
{
	if (c->asked.measure == CONDITION_ERRORS || c->asked.measure == CONDITION_QUEUE)
		return text_count(c->value);
	return text_ns(c->value);
}
