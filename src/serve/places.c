// SPDX-License-Identifier: GPL-2.0-only
#include "serve/places.h"

#include <stdlib.h>

enum {
	USE_FADES = 8,   /* thousandths in an interval, as for struct key */
	WAIT_MAX = 1000, /* rows that wait: the least used are forgotten */
	RARE = 1000,     /* a row with less than this part of all time is rare */
};

/* Percent of the budget that details may take. The rest is for rows of several: of keys and file
 * systems that come later. */
enum { DETAILS = 85, DETAILS_OF_KEYS = 60, DETAILS_RARE = 70 };

void places_done(struct places *p)
{
	struct place *place, *next;

	HASH_ITER (hh, p->list, place, next) {
		HASH_DEL(p->list, place);
		free(place);
	}
}

void places_turn(struct places *p, uint64_t now)
{
	p->now = now;
	p->use = 0;
	for (struct place *place = p->list; place; place = place->hh.next) {
		place->use -= place->use * USE_FADES / 1000;
		p->use += place->use;
	}
	if (p->scraped_ns && now > p->scraped_ns && now - p->scraped_ns > PLACE_IDLE_NS)
		p->scraped_ns = 0;
}

static struct place *place_make(struct places *p, const struct total_key *key, unsigned int cost)
{
	struct place *place;

	HASH_FIND(hh, p->list, key, sizeof(*key), place);
	if (place)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->key = *key;
	place->cost = cost;
	HASH_ADD(hh, p->list, key, sizeof(place->key), place);
	return place;
}

bool places_use(struct places *p, const struct total_key *key, unsigned int cost, uint64_t ns)
{
	struct place *place = place_make(p, key, cost);

	if (!place)
		return false;
	place->detail = true;
	place->use += ns + 1;
	place->used_ns = p->now;
	p->use += ns + 1;
	return true;
}

static void place_show(struct places *p, struct place *place)
{
	p->used += place->cost;
	place->state = PLACE_SHOWN;
	place->counts = !p->scraped_ns;
	place->used_ns = p->now;
}

static void place_free(struct places *p, struct place *place)
{
	if (place->state == PLACE_SHOWN)
		p->used -= place->cost;
	HASH_DEL(p->list, place);
	free(place);
}

static bool is_idle(const struct places *p, const struct place *place)
{
	return place->state == PLACE_SHOWN && p->now > place->used_ns &&
	       p->now - place->used_ns >= PLACE_IDLE_NS;
}

/* Percent of the budget up to which @place may have its series. */
static unsigned int place_share(const struct places *p, const struct place *place, bool by_key)
{
	if (place->use * RARE < p->use)
		return DETAILS_RARE;
	return by_key ? DETAILS_OF_KEYS : DETAILS;
}

/* Takes the places of idle rows: their sums have not changed for minutes, so each scraper has seen
 * their end. */
static void places_free_idle(struct places *p, place_gone_fn *gone, void *arg)
{
	struct place *place, *next;

	HASH_ITER (hh, p->list, place, next) {
		if (!is_idle(p, place))
			continue;
		gone(arg, &place->key);
		place_free(p, place);
	}
}

static int more_used_first(const struct place *a, const struct place *b)
{
	return (a->use < b->use) - (a->use > b->use);
}

/* Whether @place, which is a detail, fits. */
static bool place_fits(const struct places *p, const struct place *place)
{
	bool by_key = place->key.id > 1 && place->key.kind != PLACE_SERVERS;
	uint64_t most = (uint64_t)p->budget * place_share(p, place, by_key) / 100;

	return p->used + place->cost <= most;
}

/* Forgets rows that wait: those that are not used any more, and the least used beyond the limit. */
static void places_forget(struct places *p)
{
	struct place *place, *next;
	unsigned int waiting = 0;

	HASH_ITER (hh, p->list, place, next)
		if (place->state == PLACE_WAITS && (place->use < 1 || ++waiting > WAIT_MAX))
			place_free(p, place);
}

void places_settle(struct places *p, place_gone_fn *gone, void *arg)
{
	struct place *place;
	bool freed = false;

	HASH_SORT(p->list, more_used_first);
	for (place = p->list; place && place->use >= 1; place = place->hh.next) {
		if (place->state != PLACE_WAITS)
			continue;
		if (!place_fits(p, place) && !freed) {
			places_free_idle(p, gone, arg); /* none of them is @place */
			freed = true;
		}
		if (place_fits(p, place))
			place_show(p, place);
	}
	places_forget(p);
}

struct place *places_find(struct places *p, const struct total_key *key, unsigned int cost)
{
	struct place *place;

	HASH_FIND(hh, p->list, key, sizeof(*key), place);
	if (place && place->state == PLACE_SHOWN) {
		if (cost)
			place->used_ns = p->now;
		return place;
	}
	if (!cost || p->used + cost > p->budget)
		return NULL;
	place = place_make(p, key, cost);
	if (place)
		place_show(p, place);
	return place;
}

void places_remove(struct places *p, const struct total_key *key)
{
	struct place *place;

	HASH_FIND(hh, p->list, key, sizeof(*key), place);
	if (place)
		place_free(p, place);
}

void places_scraped(struct places *p, uint64_t now)
{
	p->scraped_ns = now;
	for (struct place *place = p->list; place; place = place->hh.next)
		place->counts = true;
}

unsigned int places_folded(const struct places *p, enum place_kind kind)
{
	unsigned int n = 0;

	for (const struct place *place = p->list; place; place = place->hh.next)
		n += place->state == PLACE_WAITS && place->key.kind == kind &&
		     p->now - place->used_ns < PLACE_IDLE_NS;
	return n;
}
