// SPDX-License-Identifier: GPL-2.0-only
#include "serve/totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/names.h"
#include "base/protocols.h"
#include "base/text.h"
#include "host/container.h"
#include "host/devices.h"
#include "host/mounts.h"

enum {
	KEY_FADES = 8,  /* thousandths in an interval: half remains after 87 intervals */
	KEYS_WAIT = 16, /* waiting keys for each one shown, at most: the least used are forgotten */
	LABEL_CAP = 1024,
};

static const char other_text[] = "other", unknown_text[] = "unknown";

void bounds_set(struct bounds *b, unsigned int buckets)
{
	bool coarse = buckets < 25;

	b->n = 0;
	for (int log2 = BOUNDS_FIRST_LOG2; log2 <= BOUNDS_LAST_LOG2; log2++) {
		uint64_t octave = 1ULL << log2;

		if (coarse && log2 % 3)
			continue;
		if (buckets > 25)
			b->ns[b->n++] = octave / 4 * 3 - 1;
		b->ns[b->n++] = octave - 1;
	}
	if (buckets > 25)
		b->ns[b->n++] = (1ULL << BOUNDS_LAST_LOG2) / 2 * 3 - 1;
}

unsigned int bounds_find(const struct bounds *b, unsigned int bucket)
{
	unsigned int i = 0;

	if (bucket >= HIST_N - 1)
		return b->n; /* it has no upper end */
	while (i < b->n && hist_low(bucket + 1) - 1 > b->ns[i])
		i++;
	return i;
}

/* Length of the control character at @s (C0, DEL, or C1 with two bytes in UTF-8), or 0 if there is
 * none. */
static size_t control_len(const unsigned char *s)
{
	if (s[0] < 0x20 || s[0] == 0x7f)
		return 1;
	return s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? 2 : 0;
}

void text_label(char *dst, size_t cap, const char *src, size_t len)
{
	char *utf8 = text_json_n(src, strnlen(src, len));
	size_t n = 0, control;

	for (const char *s = utf8; s && *s && n + 1 < cap; s += control ? control : 1) {
		control = control_len((const unsigned char *)s);
		dst[n++] = control ? '?' : *s;
	}
	if (utf8 && strlen(utf8) >= cap) /* may be cut inside of a character: remove its part */
		while (n && (dst[n - 1] & 0x80))
			n--;
	dst[n] = '\0';
	free(utf8);
}

/* The series of a row: all that metrics.c may write for it. */
static unsigned int row_cost(const struct totals *s, enum place_kind kind, unsigned int protocol)
{
	unsigned int hist = s->bounds.n + 1 + 2;
	const struct protocol *p;

	switch (kind) {
	case PLACE_OPS:
		return hist + __builtin_popcount(s->measured) + 3;
	case PLACE_RQS:
		return hist + 5;
	case PLACE_SERVERS:
		p = protocol_at(protocol);
		return hist + (p->has_waits ? 3 : 1) + (p->has_bytes ? 2 : 0) + 2;
	default: /* PLACE_BUSY, PLACE_DISK */
		return 2;
	}
}

/* The series of the rows of all others, which always have room. */
static unsigned int others_cost(const struct totals *s)
{
	unsigned int n = 0;

	for (int kind = 0; kind < PLACE_KINDS; kind++)
		if (kind != PLACE_SERVERS)
			n += row_cost(s, kind, 0);
	for (unsigned int protocol = 0; protocol < SERVER_PROTOCOLS; protocol++)
		n += row_cost(s, PLACE_SERVERS, protocol);
	return n;
}

unsigned int totals_series(const struct totals *s)
{
	return s->places.used + others_cost(s) + SERIES_OF_RUN;
}

void totals_init(struct totals *s, enum by_key by, unsigned int buckets, unsigned int keys_max,
		 unsigned int series)
{
	*s = (struct totals){
		.by = by,
		.keys = { .max = keys_max, .last_id = KEY_OTHER },
		.servers = { .max = SERVERS_MAX, .last_id = KEY_OTHER },
		.measured = (1U << ST_N) - 1,
	};
	bounds_set(&s->bounds, buckets);
	s->places.budget = series - others_cost(s) - SERIES_OF_RUN;
}

/* Removes the sums of all keys, or only of those that are gone, with their places in @places. */
static void totals_remove(struct total **list, struct places *places, bool all)
{
	struct total *t, *next;

	HASH_ITER (hh, *list, t, next) {
		if (!all && (!t->owner || t->owner->state != KEY_GONE))
			continue;
		places_remove(places, &t->key);
		HASH_DEL(*list, t);
		free(t);
	}
}

static void total_remove(struct total **list, const struct total_key *key)
{
	struct total *t;

	HASH_FIND(hh, *list, key, sizeof(*key), t);
	if (!t)
		return;
	HASH_DEL(*list, t);
	free(t);
}

/* Removes the row of a disk, or of operations in progress. */
static void gauge_remove(struct totals *s, const struct total_key *key)
{
	struct disk_total *disk;
	struct busy_total *busy;

	HASH_FIND(hh, s->disks, key, sizeof(*key), disk);
	HASH_FIND(hh, s->busy, key, sizeof(*key), busy);
	if (disk)
		HASH_DEL(s->disks, disk);
	if (busy)
		HASH_DEL(s->busy, busy);
	free(disk);
	free(busy);
}

static void keys_done(struct keys *k)
{
	struct key *key, *next;

	HASH_ITER (hh, k->list, key, next) {
		HASH_DEL(k->list, key);
		free(key);
	}
}

void totals_done(struct totals *s)
{
	struct disk_total *disk, *next_disk;
	struct busy_total *busy, *next_busy;

	totals_remove(&s->ops, &s->places, true);
	totals_remove(&s->rqs, &s->places, true);
	totals_remove(&s->to_servers, &s->places, true);
	HASH_ITER (hh, s->disks, disk, next_disk) {
		HASH_DEL(s->disks, disk);
		free(disk);
	}
	HASH_ITER (hh, s->busy, busy, next_busy) {
		HASH_DEL(s->busy, busy);
		free(busy);
	}
	keys_done(&s->keys);
	keys_done(&s->servers);
	places_done(&s->places);
}

const char *const *key_label_names(enum by_key by)
{
	static const char *const none[] = { NULL }, *const comm[] = { "comm", NULL };
	static const char *const cgroup[] = { "cgroup", NULL };
	static const char *const container[] = { "namespace", "pod", "container", NULL };

	return by == BY_COMM        ? comm
	       : by == BY_CGROUP    ? cgroup
	       : by == BY_CONTAINER ? container
				    : none;
}

const char *const server_label_names[] = { "mount", "server", NULL };

/* Values of labels, not safe yet. */
struct labels {
	const char *values[KEY_LABELS];
	size_t lens[KEY_LABELS]; /* at most so many bytes of each */
	unsigned int n;
};

/* The labels of --by of a row. */
static struct labels row_labels(const struct totals *s, const char *by, bool contained)
{
	const struct container *c = container_of_row(by, contained);
	struct labels l = { { by ? by : unknown_text }, { LABEL_CAP, LABEL_CAP, LABEL_CAP }, 1 };

	if (s->by != BY_CONTAINER)
		return l;
	l.n = KEY_LABELS;
	l.values[0] = l.values[1] = "";
	l.values[2] = c ? c->id : !by ? unknown_text : strcmp(by, CONTAINER_NONE) ? by : "";
	if (c && c->name[0]) {
		l.values[0] = c->space;
		l.values[1] = c->pod_name;
		l.values[2] = c->name;
	} else if (c) {
		l.lens[2] = c->shown;
	}
	return l;
}

static struct labels server_labels(const struct server_row *row)
{
	return (struct labels){ { row->mount ? row->mount : "", row->key.server },
				{ LABEL_CAP, SERVER_LEN },
				2 };
}

/* Makes @l safe: in @text, each with its NUL. Returns the length of all. */
static unsigned int labels_put(const struct labels *l, char text[KEY_LABELS * LABEL_CAP])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->n; i++) {
		text_label(text + n, LABEL_CAP, l->values[i], l->lens[i]);
		n += strlen(text + n) + 1;
	}
	return n;
}

/* Whether labels are those of KEY_OTHER: the last one alone has a value. */
static bool labels_are_other(const char *text, unsigned int n)
{
	for (; n > 1; n--, text++)
		if (*text)
			return false;
	return !strcmp(text, other_text);
}

/* Sets key->labels. They point into key->text. */
static void key_set_labels(struct key *key)
{
	const char *at = key->text;

	for (int i = 0; i < KEY_LABELS; i++) {
		key->labels[i] = at < key->text + key->text_len ? at : "";
		at += strlen(key->labels[i]) + 1;
	}
}

/* The key with the labels @l; with @make it is made if need be. NULL: KEY_OTHER. */
static struct key *key_find(struct keys *k, const struct labels *l, bool make)
{
	char text[KEY_LABELS * LABEL_CAP];
	unsigned int len = labels_put(l, text);
	struct key *key;

	if (labels_are_other(text, l->n))
		return NULL;
	HASH_FIND(hh, k->list, text, len, key);
	if (key || !make)
		return key;
	key = calloc(1, sizeof(*key) + len);
	if (!key)
		return NULL;
	memcpy(key->text, text, len);
	key->text_len = len;
	key_set_labels(key);
	HASH_ADD(hh, k->list, text, len, key);
	return key;
}

static void key_use(struct keys *k, const struct labels *l, uint64_t ns, uint64_t now)
{
	struct key *key = key_find(k, l, true);

	if (!key)
		return;
	key->use += ns + 1;
	key->used_ns = now;
}

static void key_forget(struct keys *k, struct key *key)
{
	HASH_DEL(k->list, key);
	free(key);
}

/* Fades the use of keys. Returns whether some have left: they are KEY_GONE now. */
static bool keys_age(struct keys *k, uint64_t now)
{
	unsigned int leaving = k->n_leaving;

	for (struct key *key = k->list; key; key = key->hh.next) {
		key->use -= key->use * KEY_FADES / 1000;
		if (key->state != KEY_LEAVES || now - key->left_ns < KEY_LEAVES_NS)
			continue;
		key->state = KEY_GONE;
		k->n_leaving--;
	}
	return k->n_leaving != leaving;
}

static void keys_remove_gone(struct keys *k)
{
	struct key *key, *next;

	HASH_ITER (hh, k->list, key, next)
		if (key->state == KEY_GONE)
			key_forget(k, key);
}

static void rows_use(struct totals *s, const struct snapshot *sn)
{
	struct labels l;

	for (size_t i = 0; i < sn->n_ops; i++) {
		l = row_labels(s, sn->ops[i].by, sn->ops[i].contained);
		key_use(&s->keys, &l, sn->ops[i].total_ns, sn->taken_ns);
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		l = row_labels(s, sn->rqs[i].by, sn->rqs[i].contained);
		key_use(&s->keys, &l, sn->rqs[i].device_ns, sn->taken_ns);
	}
}

static void servers_use(struct totals *s, const struct snapshot *sn)
{
	struct labels l;

	for (size_t i = 0; i < sn->n_servers; i++) {
		l = server_labels(&sn->servers[i]);
		key_use(&s->servers, &l, sn->servers[i].sums.server_ns, sn->taken_ns);
	}
}

static int more_used_first(const struct key *a, const struct key *b)
{
	return (a->use < b->use) - (a->use > b->use);
}

/* The least used key. Returns NULL if there is none. */
static struct key *key_last(const struct keys *k)
{
	return k->list ? ELMT_FROM_HH(k->list->hh.tbl, k->list->hh.tbl->tail) : NULL;
}

/* A leaving key may come back, with its sums as they were. */
static void key_show(struct keys *k, struct key *key)
{
	if (!key->id)
		key->id = ++k->last_id;
	k->n_leaving -= key->state == KEY_LEAVES;
	key->state = KEY_SHOWN;
	k->n_shown++;
}

static void key_leave(struct keys *k, struct key *key, uint64_t now)
{
	key->state = KEY_LEAVES;
	key->left_ns = now;
	k->n_leaving++;
	k->n_shown--;
}

/* Whether @key may take the place of @least. A key that counts keeps its place unless the other one
 * was used a hundred times as much. A key that no longer counts gives its place up to any that was
 * used twice as much. So places do not change all the time. */
static bool key_may_take(const struct key *key, const struct key *least, uint64_t now)
{
	bool counts = now < least->used_ns || now - least->used_ns < KEY_COUNTS_NS;

	return key->use >= (counts ? 100 : 2) * least->use;
}

/* Keys are in the order of their use. */
static void keys_choose(struct keys *k, uint64_t now)
{
	struct key *key, *least = NULL;

	for (key = k->list; key && key->use >= 1; key = key->hh.next) {
		if (key->state == KEY_SHOWN)
			continue;
		if (k->n_shown >= k->max) {
			least = least ? least : key_last(k);
			while (least &&
			       (least->state != KEY_SHOWN || !key_may_take(key, least, now)))
				least = least->hh.prev;
			if (!least || least->use > key->use)
				return;
			/* a key that comes back leaves no more: as many leave as before */
			if (k->n_leaving >= k->max && key->state != KEY_LEAVES)
				continue;
			key_leave(k, least, now);
		}
		key_show(k, key);
	}
}

/* Forgets the least used of the keys that wait: all that are not used any more, and those beyond
 * the limit. So a busy key finds its place however many others come and go. */
static void keys_limit(struct keys *k)
{
	struct key *key, *before;

	for (key = key_last(k); key; key = before) {
		before = key->hh.prev;
		if (key->use >= 1 && HASH_COUNT(k->list) <= (KEYS_WAIT + 1) * k->max)
			return;
		if (key->state == KEY_WAITS)
			key_forget(k, key);
	}
}

/* Chooses the keys of an interval, by the use of all up to its end. */
static void keys_settle(struct keys *k, uint64_t now)
{
	HASH_SORT(k->list, more_used_first);
	keys_choose(k, now);
	keys_limit(k);
}

/* The key whose labels a row with the labels @l counts under; NULL: those of KEY_OTHER. */
static const struct key *key_shown(struct keys *k, const struct labels *l)
{
	const struct key *key = key_find(k, l, false);

	return key && key->state == KEY_SHOWN ? key : NULL;
}

/* The key whose labels a row of operations or requests counts under; NULL: without --by, or those
 * of KEY_OTHER. */
static const struct key *owner_of(struct totals *s, const char *by, bool contained)
{
	struct labels l;

	if (s->by == BY_NONE)
		return NULL;
	l = row_labels(s, by, contained);
	return key_shown(&s->keys, &l);
}

/* Whether a row counts as an operation here. Minor faults and copies to a file do not. */
static bool op_counts(const struct op_row *row)
{
	return row->key.op != OP_MINOR_FAULT && row->key.op != OP_COPY_TO && row->count;
}

enum { OF_CAP = sizeof(((struct total_key *)0)->of) };

/* text_label() as a part of a key: all bytes after the text are 0. */
static void key_text(char dst[OF_CAP], const char *src, size_t len)
{
	char text[OF_CAP] = "";

	text_label(text, sizeof(text), src, len);
	memset(dst, 0, OF_CAP);
	strcpy(dst, text);
}

/* Sets the operation and type of file system of @key. Types that only show the kernel's state have
 * no rows. */
static void key_set_op(const struct totals *s, struct total_key *key, unsigned int op,
		       const char *fs)
{
	bool folded = !s->shows_pseudo && mounts_fs_is_pseudo(fs, FS_NAME_LEN);

	key->op = folded ? OPS_OTHER : op;
	key_text(key->of, folded ? other_text : fs, FS_NAME_LEN);
}

/* A row, and the coarser rows in which it counts if it has no place. The last one is the row of all
 * others, and needs no place. */
enum { RUNGS_MAX = 5 };

struct rung {
	struct total_key key;
	const struct key *owner; /* NULL: without labels of its own */
	unsigned int cost;       /* 0: the row is not made for others */
};

struct ladder {
	struct rung rungs[RUNGS_MAX];
	unsigned int n;
};

static void ladder_add(struct ladder *l, const struct total_key *key, const struct key *owner,
		       unsigned int cost)
{
	if (!l->n || memcmp(&l->rungs[l->n - 1].key, key, sizeof(*key)) != 0)
		l->rungs[l->n++] = (struct rung){ *key, owner, cost };
}

/* The ladder of @key, a row of @owner (NULL: none). @op_other is the op of rows of several, and
 * @base the id of rows without an owner. */
static void ladder_fill(const struct totals *s, struct ladder *ret, const struct total_key *key,
			const struct key *owner, unsigned int op_other, unsigned int base)
{
	unsigned int cost = row_cost(s, key->kind, key->op);
	struct total_key other = *key;

	ret->n = 0;
	ladder_add(ret, key, owner, 0);
	memset(other.of, 0, sizeof(other.of));
	strcpy(other.of, other_text);
	other.op = op_other;
	if (owner) {
		ladder_add(ret, &other, owner, cost);
		other = *key;
		other.id = base;
		ladder_add(ret, &other, NULL, 0);
	}
	if (key->kind != PLACE_SERVERS) {
		other = *key;
		other.id = base;
		other.op = op_other;
		ladder_add(ret, &other, NULL, cost);
	}
	other.id = base;
	other.op = op_other;
	memset(other.of, 0, sizeof(other.of));
	strcpy(other.of, other_text);
	ladder_add(ret, &other, NULL, 0);
}

static unsigned int base_id(const struct totals *s)
{
	return s->by == BY_NONE ? 0 : KEY_OTHER;
}

static void op_ladder(struct totals *s, const struct op_row *row, struct ladder *ret)
{
	const struct key *owner = owner_of(s, row->by, row->contained);
	struct total_key key = { .kind = PLACE_OPS, .id = owner ? owner->id : base_id(s) };

	key_set_op(s, &key, row->key.op, row->fs);
	ladder_fill(s, ret, &key, owner, OPS_OTHER, base_id(s));
}

static void rq_ladder(struct totals *s, const struct rq_row *row, struct ladder *ret)
{
	const struct key *owner = owner_of(s, row->by, row->contained);
	struct total_key key = { .kind = PLACE_RQS,
				 .id = owner ? owner->id : base_id(s),
				 .op = row->key.op };

	key_text(key.of, row->disk, sizeof(row->disk));
	ladder_fill(s, ret, &key, owner, RQ_OTHER, base_id(s));
}

/* Names the kind of a request as the protocol does. */
static void server_ladder(struct totals *s, const struct server_row *row, struct ladder *ret)
{
	struct labels l = server_labels(row);
	const struct key *owner = key_shown(&s->servers, &l);
	struct total_key key = { .kind = PLACE_SERVERS,
				 .id = owner ? owner->id : KEY_OTHER,
				 .op = row->key.protocol };
	char buf[SERVER_OP_LEN];

	key_text(key.of, server_op_name(&row->key, buf), sizeof(row->key.op));
	ladder_fill(s, ret, &key, owner, row->key.protocol, KEY_OTHER);
}

/* The entry of @disk (hostile), made if it has a place; the row of other disks if it has none.
 * Returns NULL if out of memory. */
static struct disk_total *disk_total(struct totals *s, const char *disk)
{
	struct total_key key = { .kind = PLACE_DISK };
	struct disk_total *t;

	key_text(key.of, disk, DEVICE_NAME);
	if (!places_find(&s->places, &key, row_cost(s, PLACE_DISK, 0)))
		key_text(key.of, other_text, DEVICE_NAME);
	HASH_FIND(hh, s->disks, &key, sizeof(key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	HASH_ADD(hh, s->disks, key, sizeof(key), t);
	return t;
}

static bool has_place(struct totals *s, const struct total_key *key)
{
	return places_find(&s->places, key, row_cost(s, key->kind, 0));
}

/* The key of the total of operations @op on @fs that wait for @disk, both hostile. Without a place
 * the disk is left out, then the kind, then the file system. */
static struct total_key busy_key(struct totals *s, unsigned int op, const char *fs,
				 const char *disk)
{
	struct total_key key = { .kind = PLACE_BUSY };

	key_set_op(s, &key, op, fs);
	key_text(key.disk, disk, DEVICE_NAME);
	if (has_place(s, &key))
		return key;
	memset(key.disk, 0, sizeof(key.disk));
	if (has_place(s, &key))
		return key;
	key.op = OPS_OTHER;
	if (!has_place(s, &key))
		key_text(key.of, other_text, FS_NAME_LEN);
	return key;
}

/* The total of busy_key(), or NULL if out of memory. */
static struct busy_total *busy_total(struct totals *s, unsigned int op, const char *fs,
				     const char *disk)
{
	struct total_key key = busy_key(s, op, fs, disk);
	struct busy_total *t;

	HASH_FIND(hh, s->busy, &key, sizeof(key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	HASH_ADD(hh, s->busy, key, sizeof(t->key), t);
	return t;
}

/* The sums of @key in @list, all 0 if new. Returns NULL if out of memory. */
static struct total *total_find(struct total **list, const struct total_key *key,
				const struct key *owner)
{
	struct total *t;

	HASH_FIND(hh, *list, key, sizeof(*key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = *key;
	t->owner = owner;
	HASH_ADD(hh, *list, key, sizeof(*key), t);
	return t;
}

/* The sums in which the row of @l counts. A row has to be shown with 0 before it counts. Without
 * --by, rows of operations and requests do not come and go: they wait, and metrics.c shows them
 * with 0 once. Others count in a coarser row until then, so the sum of all is the whole at any
 * time. Returns NULL if out of memory. */
static struct total *ladder_total(struct totals *s, struct total **list, const struct ladder *l,
				  unsigned int measured)
{
	bool waits = s->by == BY_NONE && l->rungs[0].key.kind != PLACE_SERVERS;

	for (unsigned int i = 0; i < l->n; i++) {
		const struct rung *r = &l->rungs[i];
		const struct place *place = NULL;
		bool last = i + 1 == l->n;
		struct total *t;

		if (!last)
			place = places_find(&s->places, &r->key, r->cost);
		if (!last && !place)
			continue;
		t = total_find(list, &r->key, r->owner);
		if (!t)
			return NULL;
		t->place = place;
		if (r->key.kind == PLACE_OPS)
			t->measured |= measured;
		if (last || place->counts || waits)
			return t;
	}
	return NULL;
}

static void hist_sum(const struct bounds *b, const struct hist *h, uint64_t *buckets)
{
	for (unsigned int i = 0; i < h->n; i++)
		buckets[bounds_find(b, h->bins[i].bucket)] += h->bins[i].count;
}

/* Notes the use of the row of @l, unless it is that of all others. */
static bool row_use(struct totals *s, const struct ladder *l, uint64_t ns)
{
	const struct total_key *key = &l->rungs[0].key;

	return l->n == 1 || places_use(&s->places, key, row_cost(s, key->kind, key->op), ns);
}

static int op_add(struct totals *s, const struct op_row *row)
{
	struct ladder l;
	struct total *t;

	op_ladder(s, row, &l);
	t = ladder_total(s, &s->ops, &l, s->measured & ~row->missing_layers);
	if (!t)
		return -ENOMEM;
	t->errors += row->errors;
	t->io_errors += row->io_errors;
	t->bytes += row->bytes;
	t->total_ns += row->total_ns;
	for (int i = 0; i < ST_N; i++) {
		t->strata[i] += row->strata[i];
		if (row->strata[i])
			t->measured |= 1U << i;
	}
	hist_sum(&s->bounds, &row->hist, t->buckets);
	return 0;
}

static int rq_add(struct totals *s, const struct rq_row *row)
{
	struct disk_total *disk = disk_total(s, row->disk);
	struct ladder l;
	struct total *t;

	rq_ladder(s, row, &l);
	t = ladder_total(s, &s->rqs, &l, 0);
	if (!t || !disk)
		return -ENOMEM;
	disk->device_ns += row->device_ns;
	t->errors += row->errors;
	t->bytes += row->bytes;
	t->tag_ns += row->tag_ns;
	t->queue_ns += row->queue_ns;
	t->device_ns += row->device_ns;
	hist_sum(&s->bounds, &row->hist, t->buckets);
	return 0;
}

/* Operations in progress have no key of --by. */
static int unfinished_add(struct totals *s, const struct unfinished *u, const struct devices *d)
{
	struct busy_total *t;
	char disk[DEVICE_NAME];

	devices_label(d, u->dev, disk);
	t = busy_total(s, u->op, u->fs, disk);
	if (!t)
		return -ENOMEM;
	t->count++;
	if (t->oldest_ns < u->age_ns)
		t->oldest_ns = u->age_ns;
	return 0;
}

static int server_add(struct totals *s, const struct server_row *row)
{
	struct ladder l;
	struct total *t;

	server_ladder(s, row, &l);
	t = ladder_total(s, &s->to_servers, &l, 0);
	if (!t)
		return -ENOMEM;
	t->errors += row->sums.errors;
	t->bytes += row->sums.sent_bytes;
	t->served.received_bytes += row->sums.received_bytes;
	t->served.resent += row->sums.resent;
	t->served.tag_ns += row->sums.tag_ns;
	t->served.queue_ns += row->sums.queue_ns;
	t->served.server_ns += row->sums.server_ns;
	hist_sum(&s->bounds, &row->hist, t->buckets);
	return 0;
}

/* Adds how long disks were busy to those with rows. Names of partitions are not among these. */
static void disks_add(struct totals *s, const struct snapshot *sn)
{
	struct total_key key = { .kind = PLACE_DISK };
	struct disk_total *t;

	for (size_t i = 0; i < sn->n_disks; i++) {
		key_text(key.of, sn->disks[i].disk, DEVICE_NAME);
		HASH_FIND(hh, s->disks, &key, sizeof(key), t);
		if (!t)
			continue;
		t->has_busy = true;
		t->busy_ns += sn->disks[i].busy_ns;
	}
}

/* Gauges are of the last interval. */
static void gauges_reset(struct totals *s)
{
	for (struct busy_total *t = s->busy; t; t = t->hh.next)
		t->count = t->oldest_ns = 0;
	for (struct disk_total *t = s->disks; t; t = t->hh.next)
		t->device_ns = 0;
}

static void costs_add(struct totals *s, const struct snapshot *sn)
{
	for (int i = 0; i < LOST_N; i++)
		s->lost[i] += sn->lost[i];
	s->missed += sn->missed;
	/* the kernel counts these since the programs were loaded */
	s->has_overhead = sn->has_overhead;
	s->bpf_run_ns = sn->bpf_run_ns;
	s->bpf_run_cnt = sn->bpf_run_cnt;
	s->duration_ns = sn->duration_ns;
}

/* Decides which keys have separate labels in this interval. */
static void keys_turn(struct totals *s, const struct snapshot *sn)
{
	if (keys_age(&s->keys, sn->taken_ns)) {
		totals_remove(&s->ops, &s->places, false);
		totals_remove(&s->rqs, &s->places, false);
		keys_remove_gone(&s->keys);
	}
	if (keys_age(&s->servers, sn->taken_ns)) {
		totals_remove(&s->to_servers, &s->places, false);
		keys_remove_gone(&s->servers);
	}
	if (s->by != BY_NONE)
		rows_use(s, sn);
	servers_use(s, sn);
	keys_settle(&s->keys, sn->taken_ns);
	keys_settle(&s->servers, sn->taken_ns);
}

/* The strata measured by this run: a set of 1 << stratum. */
static unsigned int strata_measured(const struct missing *m)
{
	unsigned int set = 0;

	for (int i = 0; i < ST_N; i++)
		set |= m->stratum[i] ? 0 : 1U << i;
	return set;
}

static void place_gone(void *arg, const struct total_key *key)
{
	struct totals *s = arg;

	switch (key->kind) {
	case PLACE_OPS:
		total_remove(&s->ops, key);
		break;
	case PLACE_RQS:
		total_remove(&s->rqs, key);
		break;
	case PLACE_SERVERS:
		total_remove(&s->to_servers, key);
		break;
	default:
		gauge_remove(s, key);
	}
}

/* Decides which rows have series in this interval. */
static int places_choose(struct totals *s, const struct snapshot *sn)
{
	struct ladder l;
	bool ok = true;

	places_turn(&s->places, sn->taken_ns);
	for (size_t i = 0; i < sn->n_ops && ok; i++) {
		if (!op_counts(&sn->ops[i]))
			continue;
		op_ladder(s, &sn->ops[i], &l);
		ok = row_use(s, &l, sn->ops[i].total_ns);
	}
	for (size_t i = 0; i < sn->n_rqs && ok; i++) {
		if (!sn->rqs[i].count)
			continue;
		rq_ladder(s, &sn->rqs[i], &l);
		ok = row_use(s, &l, sn->rqs[i].device_ns);
	}
	for (size_t i = 0; i < sn->n_servers && ok; i++) {
		server_ladder(s, &sn->servers[i], &l);
		ok = row_use(s, &l, sn->servers[i].sums.server_ns);
	}
	places_settle(&s->places, place_gone, s);
	return ok ? 0 : -ENOMEM;
}

int totals_show_others(struct totals *s)
{
	struct total_key key = { .kind = PLACE_OPS, .id = base_id(s), .op = OPS_OTHER };
	struct total *ops, *rqs;

	strcpy(key.of, other_text);
	ops = total_find(&s->ops, &key, NULL);
	key.kind = PLACE_RQS;
	key.op = RQ_OTHER;
	rqs = total_find(&s->rqs, &key, NULL);
	if (!ops || !rqs)
		return -ENOMEM;
	ops->measured = s->measured;
	return 0;
}

void totals_scraped(struct totals *s, bool first_is_0)
{
	if (first_is_0)
		places_scraped(&s->places, s->places.now);
}

int totals_add(struct totals *s, const struct snapshot *sn, const struct missing *missing)
{
	int err;

	s->measured = strata_measured(missing);
	keys_turn(s, sn);
	err = places_choose(s, sn);
	gauges_reset(s);
	costs_add(s, sn);
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		if (op_counts(&sn->ops[i]))
			err = op_add(s, &sn->ops[i]);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		if (sn->rqs[i].count)
			err = rq_add(s, &sn->rqs[i]);
	disks_add(s, sn);
	for (size_t i = 0; i < sn->n_servers && !err; i++)
		err = server_add(s, &sn->servers[i]);
	for (size_t i = 0; i < sn->n_unfinished && !err; i++)
		err = unfinished_add(s, &sn->unfinished[i], sn->devices);
	return err;
}
