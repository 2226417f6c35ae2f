// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain.c - reads a recording twice: first how long operations take and what ran during them,
 * then the properties of the slow ones and of the others.
 */
#include "analyse/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "base/reason.h"
#include "base/snapshot.h"

enum {
	LOOK_EVENTS = 32768,
	/* times, each with so many leading bits: within 0.1 % */
	TIME_BITS = 10,
	TIMES = (64 - TIME_BITS + 1) << TIME_BITS,
	TABLE = 4 * SCAN_VALUES,
};

#define WAITS_LEAST 0.15 /* slow ones wait for less of their time: they are cached */

/* The first pass. */
struct first {
	uint64_t *times;              /* how many took so long; owned */
	struct stored_event *slowest; /* 2 * SCAN_SLOWEST; owned */
	size_t n_slowest;
	uint64_t floor_ns; /* as long ones only can be among the slowest */
	uint64_t last_ns;  /* the last beginning */
};

/* The second pass. */
struct second {
	uint16_t table[TABLE]; /* values by hash, + 1; 0: none */
	uint64_t seen;         /* slow ones, for the sample */
	uint64_t random;
	int err;
};

static unsigned int time_index(uint64_t ns)
{
	unsigned int shift;

	if (ns < 1 << TIME_BITS)
		return ns;
	shift = 63 - __builtin_clzll(ns) - TIME_BITS;
	return ((shift + 1) << TIME_BITS) + (ns >> shift) - (1 << TIME_BITS);
}

/* The longest time with this index. */
static uint64_t time_longest(unsigned int index)
{
	unsigned int shift;

	if (index < 1 << TIME_BITS)
		return index;
	shift = (index >> TIME_BITS) - 1;
	return (((index & ((1 << TIME_BITS) - 1)) + (1ULL << TIME_BITS) + 1) << shift) - 1;
}

/* Whether @ev is looked at. */
static bool is_meant(const struct scan *s, struct stored_event *ev)
{
	const struct explain_conf *conf = s->conf;
	uint64_t end = stored_event_end(ev);
	const char *disk;

	if (end < s->rec->from_ns || end >= s->rec->to_ns)
		return false;
	if (ev->kind == CHUNK_OPS) {
		if (ev->op.kind >= OP_N || !(conf->kinds >> ev->op.kind & 1))
			return false;
	} else {
		disk = conf->disk ? catalog_device(&s->rec->catalog, ev->request.dev) : NULL;
		if (conf->kinds || (conf->disk && (!disk || strcmp(disk, conf->disk) != 0)))
			return false;
	}
	return !conf->passes || conf->passes(conf->arg, s->rec, ev);
}

static int compare_slowest(const void *a, const void *b)
{
	uint64_t x = stored_event_total(a), y = stored_event_total(b);

	return (x < y) - (x > y);
}

static void slowest_add(struct first *p, const struct stored_event *ev, uint64_t total_ns)
{
	if (total_ns <= p->floor_ns)
		return;
	p->slowest[p->n_slowest++] = *ev;
	if (p->n_slowest < 2 * SCAN_SLOWEST)
		return;
	qsort(p->slowest, p->n_slowest, sizeof(*p->slowest), compare_slowest);
	p->n_slowest = SCAN_SLOWEST;
	p->floor_ns = stored_event_total(&p->slowest[SCAN_SLOWEST - 1]);
}

static int first_event(struct scan *s, void *pass, struct stored_event *ev)
{
	struct first *p = pass;
	uint64_t total = stored_event_total(ev), start, offset;
	int err = 0;

	if (ev->kind == CHUNK_REQUESTS)
		err = explain_beside_add(&s->beside, s->rec, &ev->request);
	if (err || !is_meant(s, ev))
		return err;
	s->e->n++;
	p->times[time_index(total)]++;
	start = ev->kind == CHUNK_OPS ? ev->op.start_ns : ev->request.q_ns;
	p->last_ns = start > p->last_ns ? start : p->last_ns;
	offset = ev->kind == CHUNK_REQUESTS  ? ev->request.sector * 512
		 : op_has_range(ev->op.kind) ? ev->op.offset
					     : UINT64_MAX;
	if (offset < INT64_MAX && offset > s->max_offset)
		s->max_offset = offset;
	slowest_add(p, ev, total);
	return 0;
}

/* The longest time of the fastest @part of all. */
static uint64_t time_within(const struct first *p, uint64_t n, double part)
{
	double beyond = (1 - part) * n + 1e-6;
	uint64_t above = 0;

	for (unsigned int i = TIMES; i--;) {
		above += p->times[i];
		if (above > beyond)
			return time_longest(i);
	}
	return 0;
}

static uint64_t value_hash(enum explain_attribute attribute, uint64_t key)
{
	return (key ^ (uint64_t)attribute << 56) * 0x9e3779b97f4a7c15ULL >> 40;
}

/* The value of this key, or NULL. */
static struct scan_value *value_find(const struct scan *s, const struct second *p,
				     enum explain_attribute attribute, uint64_t key)
{
	struct scan_value *v;

	for (uint64_t at = value_hash(attribute, key);; at++) {
		if (!p->table[at % TABLE])
			return NULL;
		v = &s->values[p->table[at % TABLE] - 1];
		if (v->key == key && v->attribute == attribute)
			return v;
	}
}

static struct scan_value *value_add(struct scan *s, struct second *p,
				    enum explain_attribute attribute, uint64_t key)
{
	uint64_t at = value_hash(attribute, key);
	struct scan_value *v;

	if (s->n_values == SCAN_VALUES)
		return NULL;
	v = &s->values[s->n_values++];
	v->attribute = attribute;
	v->key = key;
	while (p->table[at % TABLE])
		at++;
	p->table[at % TABLE] = s->n_values;
	return v;
}

/* A value of one of the slowest operations. */
struct seen_value {
	uint64_t key, owner, file;
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen_value *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Adds the values that are frequent among @n slow operations. */
static void frequent_add(struct scan *s, struct second *p, enum explain_attribute attribute,
			 struct seen_value *list, size_t n, size_t least)
{
	struct scan_value *v;
	size_t same;

	qsort(list, n, sizeof(*list), compare_seen);
	for (size_t i = 0; i < n; i += same) {
		same = 1;
		while (i + same < n && list[i + same].key == list[i].key)
			same++;
		if (same < least || list[i].key == NO_VALUE)
			continue;
		v = value_add(s, p, attribute, list[i].key);
		if (!v)
			return;
		v->owner = list[i].owner;
		v->file = list[i].file;
	}
}

/* Chooses the values to count. Returns 0 or -ENOMEM. */
static int values_choose(struct scan *s, struct second *p, const struct first *first)
{
	size_t n = first->n_slowest < SCAN_SLOWEST ? first->n_slowest : SCAN_SLOWEST, least;
	struct seen_value *list = calloc(n + 1, sizeof(*list));
	struct scan_item item;

	if (!list)
		return -ENOMEM;
	for (unsigned int a = 0; a < s->beside.n; a++)
		value_add(s, p, ATTR_BESIDE, a);
	for (int attribute = ATTR_FILE; attribute < ATTR_TIME; attribute++) {
		s->first_bin[attribute] = s->n_values;
		for (unsigned int bin = 0; bin < explain_attribute_bins(attribute); bin++)
			value_add(s, p, attribute, bin);
	}
	least = n * EXPLAIN_LEAST_PERCENT / 100;
	least = least > EXPLAIN_LEAST ? least : EXPLAIN_LEAST;
	for (int attribute = ATTR_FILE; attribute < ATTR_TIME; attribute++) {
		if (explain_attribute_bins(attribute))
			continue;
		for (size_t i = 0; i < n; i++) {
			explain_scan_item_fill(&item, s, &first->slowest[i]);
			list[i].key = explain_attribute_value(s, &item, attribute);
			list[i].owner = item.owner;
			list[i].file = item.file;
		}
		frequent_add(s, p, attribute, list, n, least);
	}
	free(list);
	return 0;
}

/* The part of a cell that contains @ns. */
static unsigned int fine_of(const struct scan *s, uint64_t ns)
{
	uint64_t fine = ns > s->base_ns ? (ns - s->base_ns) / (s->cell_ns / SCAN_FINE) : 0;

	return fine < SCAN_CELLS * SCAN_FINE ? fine : SCAN_CELLS * SCAN_FINE - 1;
}

/* A place for the values of a slow operation, or NULL if it is not in the sample. */
static struct scan_slow *slow_place(struct scan *s, struct second *p)
{
	uint64_t at;

	p->seen++;
	if (s->n_list < SCAN_SLOW)
		return &s->list[s->n_list++];
	/* Vitter, "Random sampling with a reservoir" (1985), algorithm R */
	p->random = p->random * 6364136223846793005ULL + 1442695040888963407ULL;
	at = (p->random >> 20) % p->seen;
	return at < SCAN_SLOW ? &s->list[at] : NULL;
}

static void value_count(struct scan *s, struct scan_value *v, unsigned int cell,
			struct scan_slow *slow, bool is_slow)
{
	v->all[cell]++;
	v->slow[cell] += is_slow;
	if (slow)
		bit_set(slow->bits, v - s->values);
}

/* The activities beside @item that may hinder it: a set of 1 << activity. */
static uint64_t beside_of(struct scan *s, const struct scan_item *item, bool is_slow)
{
	const struct devices *d = &s->rec->header.devices;

	if (s->is_cached)
		return 0;
	if (!item->disk || item->disk != s->below_disk) {
		s->below_disk = item->disk;
		s->below = devices_find(d, item->disk) || item->rq
				   ? explain_beside_below(&s->beside, d, item->disk)
				   : UINT64_MAX;
	}
	s->hindering |= is_slow ? s->below : 0;
	return s->below & explain_beside_at(&s->beside, item->start_ns, item->thread);
}

/* Counts all values of an operation. @slow: the place of a slow one, or NULL. */
static void values_count(struct scan *s, struct second *p, const struct scan_item *item,
			 struct scan_slow *slow, bool is_slow)
{
	unsigned int cell = explain_scan_cell(s, item->start_ns);
	struct scan_value *v;
	uint64_t key, beside = beside_of(s, item, is_slow);

	for (; beside; beside &= beside - 1)
		value_count(s, &s->values[__builtin_ctzll(beside)], cell, slow, is_slow);
	for (int attribute = ATTR_FILE; attribute < ATTR_TIME; attribute++) {
		key = explain_attribute_value(s, item, attribute);
		if (key == NO_VALUE)
			continue;
		v = explain_attribute_bins(attribute) ? &s->values[s->first_bin[attribute] + key]
						      : value_find(s, p, attribute, key);
		if (v)
			value_count(s, v, cell, slow, is_slow);
	}
}

static void strata_add(uint64_t sums[ST_N], const struct scan_item *item)
{
	if (item->rq) {
		sums[ST_TAG] += item->rq->tag_ns;
		sums[ST_QUEUE] += item->rq->queue_ns;
		sums[ST_DEVICE] += item->rq->device_ns;
		return;
	}
	for (int st = 0; st < ST_N; st++)
		sums[st] += item->op->strata[st];
}

static int second_event(struct scan *s, void *pass, struct stored_event *ev)
{
	struct scan_slow *slow = NULL;
	struct scan_item item;
	bool is_slow;

	if (!is_meant(s, ev))
		return 0;
	explain_scan_item_fill(&item, s, ev);
	is_slow = item.total_ns > s->e->threshold_ns;
	strata_add(is_slow ? s->e->slow_ns : s->e->others_ns, &item);
	s->all[explain_scan_cell(s, item.start_ns)]++;
	s->fine[fine_of(s, item.start_ns)]++;
	if (is_slow) {
		s->slow[explain_scan_cell(s, item.start_ns)]++;
		s->e->n_slow++;
		slow = slow_place(s, pass);
	}
	if (slow)
		*slow = (struct scan_slow){
			.start_ns = item.start_ns > s->base_ns ? item.start_ns : s->base_ns,
			.end_ns = item.start_ns + item.total_ns,
		};
	values_count(s, pass, &item, slow, is_slow);
	return 0;
}

static char *text_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void describe(struct explain *e, const struct recording *rec)
{
	e->kernel = text_copy(rec->header.kernel);
	e->host = text_copy(rec->header.host);
	e->strata_missing = rec->strata_missing;
	e->has_requests = rec->header.has_requests;
}

static uint64_t duration_of(const struct recording *rec, const struct explain_conf *conf)
{
	uint64_t begin = rec->header.monotonic_ns, end = rec->ending.duration_ns;

	if (!rec->reader.ended)
		end = rec->last_ns > begin ? rec->last_ns - begin : 0;
	if (conf->to_ns && conf->to_ns < end)
		end = conf->to_ns;
	return end > conf->from_ns ? end - conf->from_ns : 0;
}

typedef int event_fn(struct scan *s, void *pass, struct stored_event *ev);

/* Calls @each for all operations and requests. 0; 1 with @why: damaged; -1 with @why. @before:
 * bytes of the passes before. */
static int events_read(struct scan *s, event_fn *each, void *pass, uint64_t before,
		       struct reason *why)
{
	const struct explain_conf *conf = s->conf;
	struct stored_event ev;
	unsigned int n = 0;
	int got, err = 0;

	while ((got = recording_next(s->rec, &ev, why)) > 0 && !err) {
		if (n++ % LOOK_EVENTS == 0 && conf->goes_on &&
		    !conf->goes_on(conf->arg, before + s->rec->reader.bytes))
			return reason_set(why, EXIT_FAILED, "interrupted");
		if (ev.kind == CHUNK_OPS || ev.kind == CHUNK_REQUESTS)
			err = each(s, pass, &ev);
	}
	if (err)
		return reason_no_memory(why);
	return got < 0;
}

/* Opens the recording at its beginning. */
static int pass_begin(struct scan *s, FILE *f, const char *name, struct reason *why)
{
	const struct explain_conf *conf = s->conf;

	rewind(f);
	if (recording_open(s->rec, f, name, why))
		return -1;
	if (conf->from_ns)
		s->rec->from_ns = s->rec->header.monotonic_ns + conf->from_ns;
	if (conf->to_ns)
		s->rec->to_ns = s->rec->header.monotonic_ns + conf->to_ns;
	s->base_ns = s->rec->header.monotonic_ns + conf->from_ns;
	if (conf->begins)
		conf->begins(conf->arg);
	return 0;
}

/*
 * Whether the slow ones hardly wait for anything that others may hold up, as reads of cached pages:
 * for these, other requests at the same time are a coincidence.
 */
static bool is_cached(const struct scan *s, const struct first *p)
{
	static const enum stratum waits[] = { ST_THROTTLE, ST_TAG,      ST_QUEUE,
					      ST_DEVICE,   ST_COMPLETE, ST_HELPER,
					      ST_SLEEP,    ST_LOCK,     ST_SERVER };
	unsigned int needed = 1U << ST_DEVICE | 1U << ST_SLEEP;
	double waited = 0, all = 0;

	if (!s->conf->kinds || s->rec->strata_missing & needed)
		return false;
	for (size_t i = 0; i < p->n_slowest; i++) {
		for (size_t w = 0; w < sizeof(waits) / sizeof(*waits); w++)
			waited += p->slowest[i].op.strata[waits[w]];
		all += stored_event_total(&p->slowest[i]);
	}
	return waited < WAITS_LEAST * all;
}

/* Sets the limits, cells and values for the second pass. */
static int first_end(struct scan *s, struct first *p, struct second *second)
{
	struct explain *e = s->e;
	uint64_t length = p->last_ns > s->base_ns ? p->last_ns - s->base_ns : 0;
	size_t n = 0;

	e->threshold_ns = s->conf->percentile > 0 && e->n
				  ? time_within(p, e->n, s->conf->percentile / 100)
				  : s->conf->above_ns;
	e->window_ns = e->n ? time_within(p, e->n, 0.5) : 0;
	explain_beside_finish(&s->beside, e->window_ns);
	s->cell_ns = length / (SCAN_CELLS * SCAN_FINE) * SCAN_FINE + SCAN_FINE;
	e->block_ns = s->cell_ns * SCAN_BLOCK;
	while (s->max_offset >> s->offset_shift >= SCAN_BINS)
		s->offset_shift++;
	qsort(p->slowest, p->n_slowest, sizeof(*p->slowest), compare_slowest);
	while (n < p->n_slowest && stored_event_total(&p->slowest[n]) > e->threshold_ns)
		n++;
	p->n_slowest = n;
	s->is_cached = is_cached(s, p);
	return values_choose(s, second, p);
}

static int beside_event(struct scan *s, void *pass, struct stored_event *ev)
{
	(void)pass;
	return ev->kind == CHUNK_REQUESTS ? explain_beside_add(&s->beside, s->rec, &ev->request)
					  : 0;
}

/* Reads the requests once more if the heaviest activities were not the first ones. As
 * events_read(). */
static int beside_pass(struct scan *s, FILE *f, const char *name, struct reason *why)
{
	uint64_t before = s->rec->reader.bytes;

	if (!explain_beside_choose(&s->beside))
		return s->e->is_cut_off;
	recording_close(s->rec);
	if (pass_begin(s, f, name, why))
		return -1;
	return events_read(s, beside_event, NULL, before, why);
}

static int first_pass(struct scan *s, struct second *second, FILE *f, const char *name,
		      struct reason *why)
{
	struct first p = {
		.times = calloc(TIMES, sizeof(*p.times)),
		.slowest = calloc(2UL * SCAN_SLOWEST, sizeof(*p.slowest)),
	};
	int got = pass_begin(s, f, name, why);

	if (!got) {
		describe(s->e, s->rec);
		if (!p.times || !p.slowest || explain_beside_init(&s->beside, s->base_ns))
			got = reason_no_memory(why);
	}
	if (!got)
		got = events_read(s, first_event, &p, 0, why);
	if (got >= 0) {
		s->e->is_cut_off = got;
		got = beside_pass(s, f, name, why);
	}
	if (got >= 0) {
		s->e->lost = recording_lost(s->rec, 0);
		s->e->duration_ns = duration_of(s->rec, s->conf);
		if (first_end(s, &p, second))
			got = reason_no_memory(why);
	}
	free(p.times);
	free(p.slowest);
	return got;
}

/* The part of the time that contains many operations of @f. */
static void span_set(const struct scan *s, struct explain_finding *f)
{
	unsigned int cells[SCAN_CELLS] = {}, best = 0, cell;
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < s->n_list; i++) {
		if (!bit_is_set(f->has, i))
			continue;
		cell = explain_scan_cell(s, s->list[i].start_ns);
		if (++cells[cell] > cells[best])
			best = cell;
	}
	for (size_t i = 0; i < s->n_list; i++) {
		const struct scan_slow *slow = &s->list[i];

		if (!bit_is_set(f->has, i) || explain_scan_cell(s, slow->start_ns) != best)
			continue;
		from = slow->start_ns < from ? slow->start_ns : from;
		to = slow->end_ns > to ? slow->end_ns : to;
	}
	if (from > to)
		return;
	f->from_ns = from - s->base_ns + s->conf->from_ns;
	f->to_ns = to - s->base_ns + s->conf->from_ns;
}

/* Adds a finding about the values from @first to @last. */
static int finding_add(const struct scan *s, unsigned int first, unsigned int last,
		       const struct explain_finding *judged)
{
	struct explain_finding *list = reallocarray(s->e->findings, s->e->n_findings + 1,
						    sizeof(*list)),
			       *f;

	if (!list)
		return -ENOMEM;
	s->e->findings = list;
	f = &list[s->e->n_findings++];
	*f = *judged;
	f->has = calloc(bits_words(s->n_list) + 1, sizeof(*f->has));
	if (!f->has)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_list; i++)
		for (unsigned int v = first; v <= last; v++)
			if (bit_is_set(s->list[i].bits, v))
				bit_set(f->has, i);
	return explain_attribute_describe(s, &s->values[first], &s->values[last], f);
}

/* The neighbouring bins that tell slow ones and others apart best: the largest sum in a row
 * (Kadane's algorithm). */
static void range_find(const struct scan *s, unsigned int first, unsigned int bins,
		       unsigned int *ret_from, unsigned int *ret_to)
{
	double others = s->e->n - s->e->n_slow, sum = 0, best = 0, slow, all;
	unsigned int from = 0;

	*ret_from = *ret_to = 0;
	for (unsigned int bin = 0; bin < bins; bin++) {
		slow = all = 0;
		for (int c = 0; c < SCAN_CELLS; c++) {
			slow += s->values[first + bin].slow[c];
			all += s->values[first + bin].all[c];
		}
		if (sum <= 0) {
			sum = 0;
			from = bin;
		}
		sum += slow / s->e->n_slow - (others > 0 ? (all - slow) / others : 0);
		if (sum <= best)
			continue;
		best = sum;
		*ret_from = from;
		*ret_to = bin;
	}
}

static int range_judge(const struct scan *s, enum explain_attribute attribute)
{
	unsigned int bins = explain_attribute_bins(attribute), first = s->first_bin[attribute],
		     from, to;
	uint32_t slow[SCAN_CELLS] = {}, all[SCAN_CELLS] = {};
	struct explain_finding f = {};

	range_find(s, first, bins, &from, &to);
	for (unsigned int v = first + from; v <= first + to; v++) {
		for (int c = 0; c < SCAN_CELLS; c++) {
			slow[c] += s->values[v].slow[c];
			all[c] += s->values[v].all[c];
		}
	}
	explain_chance_judge(s, slow, all, &f);
	f.raw_p *= bins * (bins + 1) / 2;
	f.raw_p = f.raw_p < 1 ? f.raw_p : 1;
	return f.slow < EXPLAIN_LEAST ? 0 : finding_add(s, first + from, first + to, &f);
}

static int values_judge(const struct scan *s)
{
	struct explain_finding f;
	int err = 0;

	for (unsigned int v = 0; v < s->n_values && !err; v++) {
		if (explain_attribute_bins(s->values[v].attribute))
			continue;
		f = (struct explain_finding){};
		explain_chance_judge(s, s->values[v].slow, s->values[v].all, &f);
		if (f.slow >= EXPLAIN_LEAST)
			err = finding_add(s, v, v, &f);
	}
	for (int attribute = 0; attribute < ATTR_TIME && !err; attribute++)
		if (explain_attribute_bins(attribute))
			err = range_judge(s, attribute);
	return err;
}

static int time_judge(const struct scan *s,
		      int (*judge)(const struct scan *s, struct explain_finding *ret))
{
	struct explain_finding f = {}, *list;
	int got = judge(s, &f);

	list = got > 0 ? reallocarray(s->e->findings, s->e->n_findings + 1, sizeof(*list)) : NULL;
	if (!list) {
		explain_finding_done(&f);
		return got > 0 ? -ENOMEM : got;
	}
	s->e->findings = list;
	list[s->e->n_findings++] = f;
	return 0;
}

static int judge(const struct scan *s)
{
	struct explain *e = s->e;
	int err;

	for (int attribute = 0; attribute < ATTR_N; attribute++)
		e->tests += explain_attribute_values(s, attribute);
	e->requests_left_out = s->beside.left_out;
	if (!e->n_slow || e->n_slow == e->n)
		return 0;
	err = values_judge(s);
	if (!err)
		err = time_judge(s, explain_time_bursts);
	if (!err)
		err = time_judge(s, explain_time_period);
	if (!err)
		err = explain_findings_choose(s);
	for (size_t i = 0; i < e->n_findings && !err; i++)
		span_set(s, &e->findings[i]);
	for (size_t i = 0; i < e->n_nearest && !err; i++)
		span_set(s, &e->nearest[i]);
	return err;
}

static int second_pass(struct scan *s, struct second *p, FILE *f, const char *name,
		       struct reason *why)
{
	uint64_t before = s->rec->reader.bytes;
	int got;

	recording_close(s->rec);
	got = pass_begin(s, f, name, why);
	s->last_dev = s->last_disk = 0;
	if (!got)
		got = events_read(s, second_event, p, before, why);
	if (got >= 0 && judge(s))
		return reason_no_memory(why);
	return got;
}

int explain_read(struct explain *e, FILE *f, const char *name, const struct explain_conf *conf,
		 struct reason *why)
{
	struct recording rec = {};
	struct scan s = {
		.conf = conf,
		.e = e,
		.rec = &rec,
		.values = calloc(SCAN_VALUES, sizeof(*s.values)),
		.list = calloc(SCAN_SLOW, sizeof(*s.list)),
	};
	struct second *second = calloc(1, sizeof(*second));
	int got = 0;

	e->name = strdup(name);
	if (!e->name || !s.values || !s.list || !second)
		got = reason_no_memory(why);
	if (!got)
		got = first_pass(&s, second, f, name, why);
	if (got >= 0)
		got = second_pass(&s, second, f, name, why);
	recording_close(&rec);
	explain_beside_done(&s.beside);
	free(s.values);
	free(s.list);
	free(s.directories);
	free(second);
	return got;
}

void explain_done(struct explain *e)
{
	for (size_t i = 0; i < e->n_findings; i++)
		explain_finding_done(&e->findings[i]);
	for (size_t i = 0; i < e->n_nearest; i++)
		explain_finding_done(&e->nearest[i]);
	for (size_t i = 0; i < e->n_then; i++)
		free(e->then[i].text);
	free(e->findings);
	free(e->same);
	free(e->name);
	free(e->kernel);
	free(e->host);
}
