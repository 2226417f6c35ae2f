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

enum {
	KEY_FADES = 8,  /* thousandths in an interval: half remains after 87 intervals */
	KEYS_WAIT = 16, /* waiting keys for each one shown, at most: the least used are forgotten */
	LABEL_CAP = 1024,
};

static const char other_text[] = "other", unknown_text[] = "unknown";

void bounds_set(struct bounds *b, unsigned int buckets)
{
	b->n = 0;
	for (int log2 = BOUNDS_FIRST_LOG2; log2 <= BOUNDS_LAST_LOG2; log2++) {
		uint64_t octave = 1ULL << log2;

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

void totals_init(struct totals *s, enum by_key by, unsigned int buckets, unsigned int keys_max)
{
	*s = (struct totals){
		.by = by,
		.keys = { .max = keys_max, .last_id = KEY_OTHER },
		.servers = { .max = SERVERS_MAX, .last_id = KEY_OTHER },
	};
	bounds_set(&s->bounds, buckets);
}

/* Removes the sums of all keys, or only of those that are gone. */
static void totals_remove(struct total **list, bool all)
{
	struct total *t, *next;

	HASH_ITER (hh, *list, t, next) {
		if (!all && (!t->owner || t->owner->state != KEY_GONE))
			continue;
		HASH_DEL(*list, t);
		free(t);
	}
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

	totals_remove(&s->ops, true);
	totals_remove(&s->rqs, true);
	totals_remove(&s->to_servers, true);
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

static void key_use(struct keys *k, const struct labels *l, uint64_t ns)
{
	struct key *key = key_find(k, l, true);

	if (key)
		key->use += ns + 1;
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
		key_use(&s->keys, &l, sn->ops[i].total_ns);
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		l = row_labels(s, sn->rqs[i].by, sn->rqs[i].contained);
		key_use(&s->keys, &l, sn->rqs[i].device_ns);
	}
}

static void servers_use(struct totals *s, const struct snapshot *sn)
{
	struct labels l;

	for (size_t i = 0; i < sn->n_servers; i++) {
		l = server_labels(&sn->servers[i]);
		key_use(&s->servers, &l, sn->servers[i].sums.server_ns);
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

/* A key takes the place of another if it was used twice as much: places do not change all the
 * time. Keys are in the order of their use. */
static void keys_choose(struct keys *k, uint64_t now)
{
	struct key *key, *least = NULL;

	for (key = k->list; key && key->use >= 1; key = key->hh.next) {
		if (key->state == KEY_SHOWN)
			continue;
		if (k->n_shown >= k->max) {
			least = least ? least : key_last(k);
			while (least && least->state != KEY_SHOWN)
				least = least->hh.prev;
			if (!least || key->use < 2 * least->use)
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

enum { OF_CAP = sizeof(((struct total_key *)0)->of) };

/* text_label() as a part of a key: all bytes after the text are 0. */
static void key_text(char dst[OF_CAP], const char *src, size_t len)
{
	char text[OF_CAP] = "";

	text_label(text, sizeof(text), src, len);
	memset(dst, 0, OF_CAP);
	strcpy(dst, text);
}

/* The key of the sums of @owner for @op and @of: hostile, at most @len bytes. */
static struct total_key total_key(const struct totals *s, const struct key *owner, unsigned int op,
				  const char *of, size_t len)
{
	struct total_key key = { .op = op };

	key.id = owner ? owner->id : s->by == BY_NONE ? 0 : KEY_OTHER;
	key_text(key.of, of, len);
	return key;
}

/* The entry of @disk (hostile), made if need be. Returns NULL if out of memory. */
static struct disk_total *disk_total(struct totals *s, const char *disk)
{
	struct disk_total *t, new = {};

	key_text(new.disk, disk, DEVICE_NAME);
	HASH_FIND_STR(s->disks, new.disk, t);
	if (t)
		return t;
	t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = new;
	HASH_ADD_STR(s->disks, disk, t);
	return t;
}

/* The total of operations @op on @fs that wait for @disk, both hostile, or NULL if out of
 * memory. */
static struct busy_total *busy_total(struct totals *s, unsigned int op, const char *fs,
				     const char *disk)
{
	struct busy_total *t, new = { .key.op = op };

	key_text(new.key.fs, fs, FS_NAME_LEN);
	key_text(new.key.disk, disk, DEVICE_NAME);
	HASH_FIND(hh, s->busy, &new.key, sizeof(new.key), t);
	if (t)
		return t;
	t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = new;
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

static void hist_sum(const struct bounds *b, const struct hist *h, uint64_t *buckets)
{
	for (unsigned int i = 0; i < h->n; i++)
		buckets[bounds_find(b, h->bins[i].bucket)] += h->bins[i].count;
}

static int op_add(struct totals *s, const struct op_row *row, unsigned int measured)
{
	const struct key *owner = owner_of(s, row->by, row->contained);
	struct total_key key = total_key(s, owner, row->key.op, row->fs, sizeof(row->fs));
	struct total *t = total_find(&s->ops, &key, owner);

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
	t->measured |= measured & ~row->missing_layers;
	if (!busy_total(s, row->key.op, row->fs, ""))
		return -ENOMEM;
	hist_sum(&s->bounds, &row->hist, t->buckets);
	return 0;
}

static int rq_add(struct totals *s, const struct rq_row *row)
{
	const struct key *owner = owner_of(s, row->by, row->contained);
	struct total_key key = total_key(s, owner, row->key.op, row->disk, sizeof(row->disk));
	struct total *t = total_find(&s->rqs, &key, owner);
	struct disk_total *disk = disk_total(s, row->disk);

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

/* Names the kind of a request as the protocol does. */
static struct total_key server_key(const struct server_key *of, const struct key *owner)
{
	struct total_key key = { .id = owner ? owner->id : KEY_OTHER, .op = of->protocol };
	char buf[SERVER_OP_LEN];

	key_text(key.of, server_op_name(of, buf), sizeof(of->op));
	return key;
}

static int server_add(struct totals *s, const struct server_row *row)
{
	struct labels l = server_labels(row);
	const struct key *owner = key_shown(&s->servers, &l);
	struct total_key key = server_key(&row->key, owner);
	struct total *t = total_find(&s->to_servers, &key, owner);

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

/* Gauges tell of the last interval. */
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
		totals_remove(&s->ops, false);
		totals_remove(&s->rqs, false);
		keys_remove_gone(&s->keys);
	}
	if (keys_age(&s->servers, sn->taken_ns)) {
		totals_remove(&s->to_servers, false);
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

int totals_add(struct totals *s, const struct snapshot *sn, const struct missing *missing)
{
	unsigned int measured = strata_measured(missing);
	int err = 0;

	keys_turn(s, sn);
	gauges_reset(s);
	costs_add(s, sn);
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		if (sn->ops[i].key.op != OP_MINOR_FAULT && sn->ops[i].key.op != OP_COPY_TO &&
		    sn->ops[i].count)
			err = op_add(s, &sn->ops[i], measured);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		if (sn->rqs[i].count)
			err = rq_add(s, &sn->rqs[i]);
	for (size_t i = 0; i < sn->n_servers && !err; i++)
		err = server_add(s, &sn->servers[i]);
	for (size_t i = 0; i < sn->n_unfinished && !err; i++)
		err = unfinished_add(s, &sn->unfinished[i], sn->devices);
	return err;
}
