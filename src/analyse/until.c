// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/until.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/devices.h"
#include "base/names.h"
#include "base/opts.h"
#include "base/reason.h"
#include "event.h"

/* Records come within this time. */
#define LATE_NS ((uint64_t)NS_PER_S)
/* Between two looks at a window, or two computations of a percentile. */
#define LOOK_NS  ((uint64_t)100 * NS_PER_MS)
#define USUAL_NS ((uint64_t)300 * NS_PER_S)
#define OVER_MIN ((uint64_t)NS_PER_S)
#define OVER_MAX ((uint64_t)3600 * NS_PER_S)

enum { USUAL_BEYOND = 10 }; /* a usual percentile needs so many values above it */

/*
 * Errors of I/O. Other failures answer a question of the process: no such file, no permission, try
 * again.
 */
static const int io_errors[] = { EIO,     ENOSPC, EROFS,     EDQUOT,  ETIMEDOUT, EUCLEAN,
				 EBADMSG, EILSEQ, EREMOTEIO, ENOLINK, ESTALE,    ENOMEDIUM };
/* These, too, where data is moved; elsewhere they mean a file without a device or attribute. */
static const int data_errors[] = { ENXIO, ENODEV, ENODATA };

static bool is_among(const int *list, size_t n, int err)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == err)
			return true;
	return false;
}

static bool is_io_error(unsigned int kind, int err)
{
	bool moves_data = kind != OP_META && kind != OP_OPEN && kind != OP_CLOSE;

	return is_among(io_errors, sizeof(io_errors) / sizeof(*io_errors), err) ||
	       (moves_data &&
		is_among(data_errors, sizeof(data_errors) / sizeof(*data_errors), err));
}

/* The grammar: SUBJECT [DISK] [MEASURE] > LIMIT [over DUR] */

enum { WORD_CAP = 64, WORDS_MAX = 3 };

struct words {
	char at[WORDS_MAX][WORD_CAP];
	unsigned int n;
};

static int invalid(const char *text, const char *wrong, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid --until '%.60s': %s", text, wrong);
	return reason_hint(why,
			   "conditions are like 'fsync>100ms', 'any>1', 'request vda>p99.9x3', "
			   "'fsync p99>50ms over 10s', 'errors>0', 'queue vda>64 over 5s'");
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
static bool subject_find(struct until_cond *c, const char *name)
{
	if (!strcmp(name, "any"))
		c->ops = ~0U;
	for (unsigned int kind = OP_NONE + 1; kind < OP_N; kind++)
		if (!strcmp(name, op_name(kind)))
			c->ops = 1U << kind;
	c->requests = !strcmp(name, "request") || !strcmp(name, "queue");
	if (!strcmp(name, "queue"))
		c->measure = UNTIL_QUEUE;
	if (!strcmp(name, "errors")) {
		c->measure = UNTIL_ERRORS;
		c->ops = ~0U;
		c->requests = true;
	}
	return c->ops || c->requests;
}

/* Reads decimal digits, with a point or without. False: there are none. */
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

static bool measure_parse(struct until_cond *c, const char *word)
{
	const char *end;

	if (!strcmp(word, "errors")) {
		c->measure = UNTIL_ERRORS;
		return true;
	}
	if (!percentile_parse(word, &c->percentile, &end) || *end)
		return false;
	c->measure = UNTIL_PERCENTILE;
	return true;
}

/* Sets the disk called @name, also as a path: /dev/vda. */
static int disk_find(struct until_cond *c, const char *name, const struct devices *devices,
		     struct reason *why)
{
	const struct device *d;

	if (!strncmp(name, "/dev/", 5))
		name += 5;
	d = devices_named(devices, name);
	if (!d) {
		reason_set(why, EXIT_FAILED, "invalid --until '%.60s': no disk '%.60s'", c->text,
			   name);
		return reason_hint(why, "'lsblk -d' lists the disks");
	}
	if (d->disk) {
		reason_set(why, EXIT_FAILED, "invalid --until '%.60s': '%.60s' is a partition",
			   c->text, name);
		return reason_hint(why, "requests are of whole disks");
	}
	c->dev = d->dev;
	return 0;
}

static int left_parse(struct until_cond *c, const struct words *w, const struct devices *devices,
		      struct reason *why)
{
	unsigned int i = 1;

	if (!w->n || !subject_find(c, w->at[0]))
		return invalid(c->text, "no such operation", why);
	if (i < w->n && measure_parse(c, w->at[i]))
		return i + 1 < w->n ? invalid(c->text, "the disk comes first", why) : 0;
	if (i < w->n && !c->requests)
		return invalid(c->text, "neither a percentile nor 'errors'", why);
	if (i < w->n && disk_find(c, w->at[i++], devices, why))
		return -1;
	if (i < w->n && (c->measure == UNTIL_QUEUE || !measure_parse(c, w->at[i])))
		return invalid(c->text, "neither a percentile nor 'errors'", why);
	return 0;
}

/* Reads "p99.9x3", relative to the usual latency. */
static bool usual_parse(struct until_cond *c, const char *limit)
{
	const char *end;

	if (!percentile_parse(limit, &c->percentile, &end) || *end != 'x' ||
	    !decimal_parse(end + 1, &c->times, &end))
		return false;
	c->measure = UNTIL_USUAL;
	return !*end && c->times >= 1 && c->times <= 1e6;
}

static int limit_parse(struct until_cond *c, const char *limit, struct reason *why)
{
	bool is_number = c->measure == UNTIL_ERRORS || c->measure == UNTIL_QUEUE;
	const char *wrong;

	if (limit[0] == 'p' && c->measure == UNTIL_TIME)
		return usual_parse(c, limit)
			       ? 0
			       : invalid(c->text, "a percentile and its multiple are like p99.9x3",
					 why);
	if ((is_number ? opts_uint : opts_duration)(limit, &c->above, &wrong))
		return invalid(c->text, wrong, why);
	return 0;
}

static bool has_window(const struct until_cond *c)
{
	return c->measure == UNTIL_PERCENTILE || c->measure == UNTIL_ERRORS ||
	       c->measure == UNTIL_QUEUE;
}

static int window_parse(struct until_cond *c, const struct words *w, struct reason *why)
{
	const char *wrong;

	if (w->n == 1) {
		if (has_window(c) && c->measure != UNTIL_ERRORS)
			return invalid(c->text, "'over DUR' is missing", why);
		c->over_ns = OVER_MIN;
	} else if (w->n != 3 || strcmp(w->at[1], "over") || !has_window(c)) {
		return invalid(c->text,
			       has_window(c) ? "behind the limit belongs 'over DUR'"
					     : "one operation has no 'over'",
			       why);
	} else if (opts_duration(w->at[2], &c->over_ns, &wrong)) {
		return invalid(c->text, wrong, why);
	}
	if (c->over_ns < OVER_MIN || c->over_ns > OVER_MAX)
		return invalid(c->text, "a window is of 1 s to 1 h", why);
	c->step_ns = c->over_ns / UNTIL_STEPS;
	return 0;
}

static int cond_parse(struct until_cond *c, const struct devices *devices, struct reason *why)
{
	const char *above = strchr(c->text, '>');
	struct words left, right;

	if (!above)
		return invalid(c->text, "no '>'", why);
	if (!words_split(&left, c->text, above - c->text) ||
	    !words_split(&right, above + 1, strlen(above + 1)))
		return invalid(c->text, "too many words", why);
	if (!right.n)
		return invalid(c->text, "no limit behind '>'", why);
	if (left_parse(c, &left, devices, why) || limit_parse(c, right.at[0], why))
		return -1;
	return window_parse(c, &right, why);
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
	c->text = text;
	c->usual.limit_ns = UINT64_MAX;
	if (cond_parse(c, devices, why))
		return -1;
	u->ops |= c->ops;
	u->requests |= c->requests;
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
		return c->requests && (!c->dev || c->dev == e->dev);
	return c->ops >> e->kind & 1;
}

/* The slot of @step, emptied of a former step. NULL: the step has left the window. */
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
	s->errors += e->is_request ? e->failed : is_io_error(e->kind, e->error);
	/* a request in flight for longer than the window was so for all of it */
	s->sum_ns += e->took_ns < c->over_ns ? e->took_ns : c->over_ns;
	s->max_ns = e->took_ns > s->max_ns ? e->took_ns : s->max_ns;
	if (c->measure == UNTIL_PERCENTILE)
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
		if (has_window(c))
			window_see(c, e);
		else if (c->measure == UNTIL_USUAL)
			usual_see(c, e);
		else if (e->took_ns > c->above)
			meet(c, e->end_ns, e->took_ns);
	}
}

/* The percentile of the steps after @from up to @to. 0: no values. */
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
	value = err ? 0 : hist_percentile(&all, c->percentile, max_ns);
	free(all.bins);
	return value;
}

static uint64_t window_value(const struct until_cond *c, uint64_t from, uint64_t to)
{
	uint64_t errors = 0, sum_ns = 0;

	if (c->measure == UNTIL_PERCENTILE)
		return window_percentile(c, from, to);
	for (int i = 0; i < UNTIL_SLOTS; i++) {
		const struct until_slot *s = &c->slots[i];

		if (s->step <= from || s->step > to)
			continue;
		errors += s->errors;
		sum_ns += s->sum_ns;
	}
	return c->measure == UNTIL_ERRORS ? errors : sum_ns / c->over_ns;
}

/* Looks at the window of whole steps whose records have all come. */
static void window_look(struct until_cond *c, uint64_t now)
{
	uint64_t to, value;

	if (!c->began_ns)
		c->began_ns = now;
	/* errors count from the first on; other figures need a whole window */
	if (now < LATE_NS + c->over_ns ||
	    (c->measure != UNTIL_ERRORS && now - LATE_NS - c->over_ns < c->began_ns))
		return;
	to = (now - LATE_NS) / c->step_ns - 1;
	value = window_value(c, to - UNTIL_STEPS, to);
	if (value > c->above)
		meet(c, now, value);
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
	if (count * (100 - c->percentile) / 100 < USUAL_BEYOND)
		return;
	if (!hist_merge(&all, &u->before) && !hist_merge(&all, &u->now))
		u->limit_ns = c->times * hist_percentile(&all, c->percentile, u->max_ns);
	free(all.bins);
}

void until_look(struct until *u, uint64_t now)
{
	for (unsigned int i = 0; i < u->n; i++) {
		struct until_cond *c = &u->conds[i];

		if (now - c->looked_ns < LOOK_NS)
			continue;
		c->looked_ns = now;
		if (has_window(c))
			window_look(c, now);
		else if (c->measure == UNTIL_USUAL)
			usual_look(c, now);
	}
}

bool until_met(const struct until *u)
{
	for (unsigned int i = 0; i < u->n; i++)
		if (u->conds[i].met)
			return true;
	return false;
}

const char *until_noun(const struct until_cond *c)
{
	if (c->requests)
		return "request";
	return __builtin_popcount(c->ops) == 1 ? op_name(__builtin_ctz(c->ops)) : "operation";
}

struct text_num until_value(const struct until_cond *c)
{
	if (c->measure == UNTIL_ERRORS || c->measure == UNTIL_QUEUE)
		return text_count(c->value);
	return text_ns(c->value);
}
