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
#include "analyse/time_counts.h"
#include "base/reason.h"
#include "base/snapshot.h"

enum {
	LOOK_EVENTS = 32768,
	TABLE_BITS = 11,
	TABLE = 1 << TABLE_BITS, /* four places for each value */
};

enum { REQUESTS_LOOKED_AT = 64 }; /* of one operation, for their disks */

#define HOLDER_SHORTEST 5000 /* ns */

#define WAITS_LEAST 0.15 /* slow ones wait for less of their time: they are cached */

/* The first pass. */
struct first {
	struct time_counts times;
	struct stored_event *slowest; /* 2 * SCAN_SLOWEST; owned */
	size_t n_slowest;
	uint64_t floor_ns; /* as long ones only can be among the slowest */
	uint64_t last_ns;  /* the last beginning */
};

/* The second pass. */
struct second {
	/* Values by hash; value: the index + 1, or 0. With their keys, since values are far apart.
	 */
	struct {
		uint64_t key;
		uint16_t attribute, value;
	} table[TABLE];
	/* Attributes that have any value. */
	struct {
		unsigned char attribute;
		bool is_ordered; /* has bins */
	} used[ATTR_N];
	unsigned int n_used;
	uint64_t seen; /* slow ones, for the sample */
	uint64_t random;
	int err;
};

bool explain_means(const struct explain_conf *conf, const struct recording *rec,
		   struct stored_event *ev)
{
	uint64_t end = stored_event_end(ev);
	const char *disk;

	if (end < rec->from_ns || end >= rec->to_ns)
		return false;
	if (ev->kind == CHUNK_OPS || ev->kind == CHUNK_STACKS) {
		if (ev->op.kind >= OP_N || !(conf->kinds >> ev->op.kind & 1))
			return false;
	} else {
		disk = conf->disk ? catalog_device(&rec->catalog, ev->request.dev) : NULL;
		if (conf->kinds || (conf->disk && (!disk || strcmp(disk, conf->disk) != 0)))
			return false;
	}
	return !conf->passes || conf->passes(conf->arg, rec, ev);
}

/* Whether @ev is looked at. */
static bool is_meant(const struct scan *s, struct stored_event *ev)
{
	return explain_means(s->conf, s->rec, ev);
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
	uint64_t total, start, offset;
	int err = 0;

	if (ev->kind == CHUNK_REQUESTS)
		err = explain_beside_add(&s->beside, s->rec, &ev->request);
	if (ev->kind == CHUNK_REQUESTS && !err)
		err = explain_requests_add(&s->own, &ev->request);
	if (ev->kind == CHUNK_OPS && s->conf->kinds)
		explain_holders_add(&s->holders, s->rec, &ev->op, stored_event_total(ev));
	if (err || !is_meant(s, ev))
		return err;
	total = stored_event_total(ev); /* the filter may have changed it */
	s->e->n++;
	time_counts_add(&p->times, total);
	start = ev->kind == CHUNK_OPS ? ev->op.start_ns : ev->request.q_ns;
	p->last_ns = start > p->last_ns ? start : p->last_ns;
	starts_add(&s->starts, start);
	offset = ev->kind == CHUNK_REQUESTS  ? ev->request.sector * 512
		 : op_has_range(ev->op.kind) ? ev->op.offset
					     : UINT64_MAX;
	if (offset < INT64_MAX && offset > s->max_offset)
		s->max_offset = offset;
	slowest_add(p, ev, total);
	return 0;
}

/* The highest bits: only these depend on the attribute, too. */
static uint64_t value_hash(enum explain_attribute attribute, uint64_t key)
{
	return ((key ^ (uint64_t)attribute << 56) * 0x9e3779b97f4a7c15ULL) >> (64 - TABLE_BITS);
}

/* The value of this key, or NULL. */
static struct scan_value *value_find(const struct scan *s, const struct second *p,
				     enum explain_attribute attribute, uint64_t key)
{
	for (uint64_t at = value_hash(attribute, key);; at++) {
		unsigned int i = at % TABLE;

		if (!p->table[i].value)
			return NULL;
		if (p->table[i].key == key && p->table[i].attribute == attribute)
			return &s->values[p->table[i].value - 1];
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
	while (p->table[at % TABLE].value)
		at++;
	p->table[at % TABLE].key = key;
	p->table[at % TABLE].attribute = attribute;
	p->table[at % TABLE].value = s->n_values;
	return v;
}

/* A value of one of the slowest operations. */
struct seen_value {
	uint64_t key, owner, file, by;
	unsigned int who;
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
		v->by = list[i].by;
		v->who = list[i].who;
	}
}

/* Notes the attributes to look at for each operation. */
static void used_note(const struct scan *s, struct second *p)
{
	bool has[ATTR_N] = {};

	for (unsigned int i = 0; i < s->n_values; i++)
		has[s->values[i].attribute] = true;
	for (int attribute = ATTR_HOLDER; attribute < ATTR_TIME; attribute++) {
		if (!has[attribute])
			continue;
		p->used[p->n_used].attribute = attribute;
		p->used[p->n_used++].is_ordered = explain_attribute_bins(attribute);
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
	for (unsigned int d = 0; d < s->own.n_disks && s->own.n_disks > 1; d++)
		value_add(s, p, ATTR_MEMBER, s->own.disks[d]);
	for (int attribute = ATTR_HOLDER; attribute < ATTR_TIME; attribute++) {
		s->first_bin[attribute] = s->n_values;
		for (unsigned int bin = 0; bin < explain_attribute_bins(attribute); bin++)
			value_add(s, p, attribute, bin);
	}
	least = n * EXPLAIN_LEAST_PERCENT / 100;
	least = least > EXPLAIN_LEAST ? least : EXPLAIN_LEAST;
	for (int attribute = ATTR_HOLDER; attribute < ATTR_TIME; attribute++) {
		if (explain_attribute_bins(attribute))
			continue;
		for (size_t i = 0; i < n; i++) {
			const struct holder *h = NULL;

			explain_scan_item_fill(&item, s, &first->slowest[i]);
			if (attribute == ATTR_HOLDER)
				h = explain_holder_find(&s->holders, s->rec, &item);
			list[i].key = explain_attribute_value(s, &item, attribute);
			list[i].owner = h ? h->owner : item.owner;
			list[i].file = item.file;
			list[i].who = item.op ? item.op->who : WHO_NONE;
			list[i].by = explain_by(&item);
		}
		frequent_add(s, p, attribute, list, n, least);
	}
	free(list);
	used_note(s, p);
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

/* Where an operation is counted. */
struct place {
	unsigned int cell, of_order;
	struct scan_slow *slow; /* the place of a slow one in the sample, or NULL */
	bool is_slow;
};

static void value_count(struct scan *s, struct scan_value *v, const struct place *at)
{
	size_t i = v - s->values;

	s->values_all[at->cell][i]++;
	s->order_all[at->of_order][i]++;
	if (at->is_slow)
		v->slow[at->cell]++;
	if (at->slow)
		bit_set(at->slow->bits, i);
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

/* How long a slow operation waited behind a holder. */
static void holder_note(struct scan *s, const struct scan_item *item, struct scan_value *v)
{
	const struct holder *h = explain_holder_find(&s->holders, s->rec, item);
	uint64_t end = item->start_ns + item->total_ns, above = item->total_ns - s->e->window_ns,
		 soon = item->total_ns / 2;

	v->waited_ns += item->op->strata[ST_LOCK] + item->op->strata[ST_SLEEP];
	v->above_ns += item->total_ns > s->e->window_ns ? above : 0;
	soon = soon > s->e->threshold_ns ? soon : s->e->threshold_ns;
	v->soon += h && end > h->end_ns && end - h->end_ns < soon;
}

/* Counts the disks of an operation's requests, and notes the first request. */
static void own_requests_count(struct scan *s, struct second *p, const struct scan_item *item,
			       const struct place *at)
{
	size_t n;
	struct own_request *first = explain_requests_of(&s->own, item, s->e->window_ns, &n);
	unsigned int disks = 0;
	struct scan_value *v;

	if (!first)
		return;
	first->is_first = true;
	if (at->slow)
		at->slow->request = first;
	for (size_t i = 0; i < n && i < REQUESTS_LOOKED_AT; i++)
		disks |= 1U << first[i].disk;
	for (unsigned int d = 0; d < s->own.n_disks && item->op; d++) {
		if (!(disks >> d & 1) || s->own.disks[d] == item->disk)
			continue;
		v = value_find(s, p, ATTR_MEMBER, s->own.disks[d]);
		if (v)
			value_count(s, v, at);
	}
}

/* Counts all values of an operation. */
static void values_count(struct scan *s, struct second *p, const struct scan_item *item,
			 const struct place *at)
{
	struct scan_value *v;
	uint64_t key, beside = beside_of(s, item, at->is_slow);

	for (; beside; beside &= beside - 1)
		value_count(s, &s->values[__builtin_ctzll(beside)], at);
	for (unsigned int i = 0; i < p->n_used; i++) {
		enum explain_attribute attribute = p->used[i].attribute;

		key = explain_attribute_value(s, item, attribute);
		if (key == NO_VALUE)
			continue;
		v = p->used[i].is_ordered ? &s->values[s->first_bin[attribute] + key]
					  : value_find(s, p, attribute, key);
		if (v)
			value_count(s, v, at);
		if (v && at->is_slow && attribute == ATTR_HOLDER)
			holder_note(s, item, v);
	}
	own_requests_count(s, p, item, at);
}

/* Counts how long an operation took, in the order of operations. */
static void duration_count(struct scan *s, const struct scan_item *item, double place, bool is_slow)
{
	struct phase_cell *c = &s->phases[starts_part(place, s->n_phases)];
	unsigned int group = explain_beside_group(&s->beside, item->start_ns);

	s->trend[starts_part(place, s->n_trend)][explain_trend_bin(item->total_ns)]++;
	s->group_all[group]++;
	s->group_slow[group] += is_slow;
	c->all++;
	for (int level = 0; level < PHASE_LEVELS; level++)
		c->above[level] += item->total_ns > s->levels_ns[level];
	if (item->total_ns > s->levels_ns[0] && item->start_ns + item->total_ns > c->end_ns)
		c->end_ns = item->start_ns + item->total_ns;
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

static int stack_event(struct scan *s, const struct stored_event *ev)
{
	struct scan_item item;

	explain_scan_item_fill(&item, s, ev);
	return explain_callers_stack(&s->callers, &item, ev, item.total_ns > s->e->threshold_ns);
}

static int second_event(struct scan *s, void *pass, struct stored_event *ev)
{
	struct place at = {};
	struct scan_item item;
	double place;

	if (!is_meant(s, ev))
		return 0;
	if (ev->kind == CHUNK_STACKS)
		return stack_event(s, ev);
	explain_scan_item_fill(&item, s, ev);
	at.cell = explain_scan_cell(s, item.start_ns);
	place = starts_place(&s->starts, item.start_ns);
	at.of_order = starts_part(place, s->starts.cells);
	at.is_slow = item.total_ns > s->e->threshold_ns;
	strata_add(at.is_slow ? s->e->slow_ns : s->e->others_ns, &item);
	s->all[at.cell]++;
	s->fine[fine_of(s, item.start_ns)]++;
	duration_count(s, &item, place, at.is_slow);
	if (at.is_slow) {
		s->slow[at.cell]++;
		s->order_slow[at.of_order]++;
		s->e->n_slow++;
		at.slow = slow_place(s, pass);
	}
	if (at.slow)
		*at.slow = (struct scan_slow){
			.start_ns = item.start_ns > s->base_ns ? item.start_ns : s->base_ns,
			.end_ns = item.start_ns + item.total_ns,
		};
	values_count(s, pass, &item, &at);
	explain_callers_op(&s->callers, &item, at.is_slow);
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
		if (ev.kind == CHUNK_OPS || ev.kind == CHUNK_REQUESTS || ev.kind == CHUNK_STACKS)
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

/* The processes of the name of activity @a, except for the heaviest: a set of 1 << activity. */
static uint64_t lighter_processes(const struct beside *b, unsigned int a)
{
	unsigned int heaviest = BESIDE_MAX;
	double most = 0, weight;
	uint64_t set = 0;

	for (unsigned int i = 0; i < b->n && b->list[a].kind == ACTIVITY_NAMED; i++) {
		if (b->list[i].kind != ACTIVITY_PROCESS || b->list[i].dev != b->list[a].dev ||
		    memcmp(b->list[i].comm, b->list[a].comm, COMM_LEN) != 0)
			continue;
		set |= 1ULL << i;
		weight = 0;
		for (size_t g = 0; g < BESIDE_GROUPS; g++)
			weight += b->flight[i][g];
		if (weight <= most)
			continue;
		most = weight;
		heaviest = i;
	}
	return heaviest < BESIDE_MAX ? set & ~(1ULL << heaviest) : 0;
}

/* The episodes of all activities, while slots have only what was in flight. */
static int episodes_note(struct scan *s)
{
	static const unsigned int parts[EPISODE_GAPS] = { 200, 60, 24 };

	s->episodes = calloc(2 * BESIDE_MAX, sizeof(*s->episodes));
	if (!s->episodes)
		return -ENOMEM;
	for (unsigned int a = 0; a < s->beside.n; a++) {
		uint64_t lighter = lighter_processes(&s->beside, a);

		for (int g = 0; g < EPISODE_GAPS; g++) {
			explain_episodes_find(&s->beside, 1ULL << a, s->beside.used / parts[g],
					      &s->episodes[a][g]);
			if (lighter)
				explain_episodes_find(&s->beside, lighter,
						      s->beside.used / parts[g],
						      &s->episodes[BESIDE_MAX + a][g]);
		}
	}
	return 0;
}

/* Sets the limits, cells and values for the second pass. */
static int first_end(struct scan *s, struct first *p, struct second *second)
{
	static const double levels[] = { 0.5, 0.75, 0.9 };
	struct explain *e = s->e;
	uint64_t length = p->last_ns > s->base_ns ? p->last_ns - s->base_ns : 0;
	size_t n = 0;

	e->threshold_ns = s->conf->percentile > 0 && e->n
				  ? time_counts_within(&p->times, s->conf->percentile / 100)
				  : s->conf->above_ns;
	e->window_ns = e->n ? time_counts_within(&p->times, 0.5) : 0;
	if (episodes_note(s))
		return -ENOMEM;
	explain_beside_finish(&s->beside, e->window_ns);
	starts_finish(&s->starts);
	explain_requests_finish(&s->own);
	e->too_many_requests = s->own.too_many;
	explain_holders_finish(&s->holders, e->threshold_ns / 4 > HOLDER_SHORTEST
						    ? e->threshold_ns / 4
						    : HOLDER_SHORTEST);
	s->idle_unit_ns = 1ULL << s->beside.shift;
	if (s->idle_unit_ns < e->window_ns / 8)
		s->idle_unit_ns = e->window_ns / 8;
	for (int i = 0; i < PHASE_LEVELS; i++)
		s->levels_ns[i] = e->n && i + 1 < PHASE_LEVELS
					  ? time_counts_within(&p->times, levels[i])
					  : e->threshold_ns;
	s->n_phases = e->n < PHASE_CELLS ? e->n : PHASE_CELLS;
	s->n_phases = s->n_phases ? s->n_phases : 1;
	s->n_trend = explain_trend_groups(e->n);
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
		.slowest = calloc(2UL * SCAN_SLOWEST, sizeof(*p.slowest)),
	};
	int got = pass_begin(s, f, name, why);

	if (!got) {
		describe(s->e, s->rec);
		if (time_counts_init(&p.times) || !p.slowest ||
		    explain_beside_init(&s->beside, s->base_ns) ||
		    starts_init(&s->starts, s->base_ns) || explain_holders_init(&s->holders))
			got = reason_no_memory(why);
	}
	if (!got)
		got = events_read(s, first_event, &p, 0, why);
	if (got >= 0) {
		s->e->is_cut_off = got;
		got = beside_pass(s, f, name, why);
	}
	if (got >= 0) {
		explain_lost_add(s->e, s->rec);
		s->e->duration_ns = duration_of(s->rec, s->conf);
		if (first_end(s, &p, second))
			got = reason_no_memory(why);
	}
	time_counts_done(&p.times);
	free(p.slowest);
	return got;
}

void explain_lost_add(struct explain *e, const struct recording *rec)
{
	uint64_t all = recording_lost(rec, 0);

	e->lost += all;
	e->lost_names += all - recording_lost(rec, 1U << LOST_NAMES);
	if (rec->reader.ended && !recording_is_part(rec))
		e->recorded += rec->ending.ops + rec->ending.requests;
	else
		e->is_recorded_unknown = true;
}

static int second_pass(struct scan *s, struct second *p, FILE *f, const char *name,
		       struct reason *why)
{
	uint64_t before = s->rec->reader.bytes;
	int got;

	recording_close(s->rec);
	got = pass_begin(s, f, name, why);
	s->last_dev = s->last_disk = 0;
	s->rec->stacks = s->conf->own_frame != NULL;
	s->rec->namer = s->conf->namer;
	if (!got)
		got = events_read(s, second_event, p, before, why);
	if (got >= 0 && explain_judge(s))
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
		.values_all = calloc(SCAN_CELLS, sizeof(*s.values_all)),
		.list = calloc(SCAN_SLOW, sizeof(*s.list)),
		.order_all = calloc(STARTS_CELLS, sizeof(*s.order_all)),
		.trend = calloc(TREND_GROUPS, sizeof(*s.trend)),
		.phases = calloc(PHASE_CELLS, sizeof(*s.phases)),
	};
	struct second *second = calloc(1, sizeof(*second));
	int got = 0;

	e->name = strdup(name);
	if (!e->name || !s.values || !s.values_all || !s.list || !s.order_all || !s.trend ||
	    !s.phases || !second)
		got = reason_no_memory(why);
	if (!got)
		got = first_pass(&s, second, f, name, why);
	if (got >= 0)
		got = second_pass(&s, second, f, name, why);
	recording_close(&rec);
	explain_beside_done(&s.beside);
	explain_holders_done(&s.holders);
	explain_requests_done(&s.own);
	explain_callers_done(&s.callers);
	starts_done(&s.starts);
	rotation_free(s.rotation);
	free(s.episodes);
	free(s.order_all);
	free(s.trend);
	free(s.phases);
	free(s.values);
	free(s.values_all);
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
