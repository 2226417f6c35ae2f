// SPDX-License-Identifier: GPL-2.0-only
#include "serve/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/devices.h"
#include "base/hist.h"
#include "base/text.h"

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

/* Length of the control character at @s: C0, DEL, or C1, which has two bytes in UTF-8; 0: none. */
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
	*s = (struct totals){ .by = by, .keys_max = keys_max, .last_id = KEY_OTHER };
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

void totals_done(struct totals *s)
{
	struct disk_total *disk, *next_disk;
	struct busy_total *busy, *next_busy;
	struct key *key, *next_key;

	totals_remove(&s->ops, true);
	totals_remove(&s->rqs, true);
	HASH_ITER (hh, s->disks, disk, next_disk) {
		HASH_DEL(s->disks, disk);
		free(disk);
	}
	HASH_ITER (hh, s->busy, busy, next_busy) {
		HASH_DEL(s->busy, busy);
		free(busy);
	}
	HASH_ITER (hh, s->keys, key, next_key) {
		HASH_DEL(s->keys, key);
		free(key);
	}
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

/* The labels of a row's key, each with its NUL, in @text. Returns their length. */
static unsigned int labels_of(const struct totals *s, const char *by, bool contained,
			      char text[KEY_LABELS * LABEL_CAP])
{
	const struct container *c = container_of_row(by, contained);
	const char *values[KEY_LABELS] = { by ? by : unknown_text };
	size_t lens[KEY_LABELS] = { LABEL_CAP, LABEL_CAP, LABEL_CAP };
	unsigned int n = 0, labels = 1;

	if (s->by == BY_CONTAINER) {
		labels = KEY_LABELS;
		values[0] = values[1] = "";
		values[2] = c ? c->id : !by ? unknown_text : strcmp(by, CONTAINER_NONE) ? by : "";
		if (c && c->name[0]) {
			values[0] = c->space;
			values[1] = c->pod_name;
			values[2] = c->name;
		} else if (c) {
			lens[2] = c->shown;
		}
	}
	for (unsigned int i = 0; i < labels; i++) {
		text_label(text + n, LABEL_CAP, values[i], lens[i]);
		n += strlen(text + n) + 1;
	}
	return n;
}

/* Sets key->labels, which point into key->text. */
static void key_set_labels(struct key *key)
{
	const char *at = key->text;

	for (int i = 0; i < KEY_LABELS; i++) {
		key->labels[i] = at < key->text + key->text_len ? at : "";
		at += strlen(key->labels[i]) + 1;
	}
}

/* The key of a row; with @make it is made if need be. NULL: the row counts in KEY_OTHER. */
static struct key *key_find(struct totals *s, const char *by, bool contained, bool make)
{
	char text[KEY_LABELS * LABEL_CAP];
	unsigned int len = labels_of(s, by, contained, text);
	struct key *key;

	if (s->by == BY_CONTAINER ? !memcmp(text, "\0\0other", sizeof("\0\0other"))
				  : !strcmp(text, other_text))
		return NULL;
	HASH_FIND(hh, s->keys, text, len, key);
	if (key || !make)
		return key;
	key = calloc(1, sizeof(*key) + len);
	if (!key)
		return NULL;
	memcpy(key->text, text, len);
	key->text_len = len;
	key_set_labels(key);
	HASH_ADD(hh, s->keys, text, len, key);
	return key;
}

static void key_forget(struct totals *s, struct key *key)
{
	HASH_DEL(s->keys, key);
	free(key);
}

/* Fades the use of keys, and removes keys which have left. */
static void keys_age(struct totals *s, uint64_t now)
{
	unsigned int leaving = s->n_leaving;
	struct key *key, *next;

	for (key = s->keys; key; key = key->hh.next) {
		key->use -= key->use * KEY_FADES / 1000;
		if (key->state != KEY_LEAVES || now - key->left_ns < KEY_LEAVES_NS)
			continue;
		key->state = KEY_GONE;
		s->n_leaving--;
	}
	if (s->n_leaving == leaving)
		return;
	totals_remove(&s->ops, false);
	totals_remove(&s->rqs, false);
	HASH_ITER (hh, s->keys, key, next)
		if (key->state == KEY_GONE)
			key_forget(s, key);
}

static void keys_use(struct totals *s, const struct snapshot *sn)
{
	struct key *key;

	for (size_t i = 0; i < sn->n_ops; i++) {
		key = key_find(s, sn->ops[i].by, sn->ops[i].contained, true);
		if (key)
			key->use += sn->ops[i].total_ns + 1;
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		key = key_find(s, sn->rqs[i].by, sn->rqs[i].contained, true);
		if (key)
			key->use += sn->rqs[i].device_ns + 1;
	}
}

static int more_used_first(const struct key *a, const struct key *b)
{
	return (a->use < b->use) - (a->use > b->use);
}

/* The least used key. NULL: there is none. */
static struct key *key_last(const struct totals *s)
{
	return s->keys ? ELMT_FROM_HH(s->keys->hh.tbl, s->keys->hh.tbl->tail) : NULL;
}

/* A leaving key may come back, with its sums as they were. */
static void key_show(struct totals *s, struct key *key)
{
	if (!key->id)
		key->id = ++s->last_id;
	s->n_leaving -= key->state == KEY_LEAVES;
	key->state = KEY_SHOWN;
	s->n_shown++;
}

static void key_leave(struct totals *s, struct key *key, uint64_t now)
{
	key->state = KEY_LEAVES;
	key->left_ns = now;
	s->n_leaving++;
	s->n_shown--;
}

/* A key takes the place of another if it was used twice as much: places do not change all the
 * time. Keys are in the order of their use. */
static void keys_choose(struct totals *s, uint64_t now)
{
	struct key *key, *least = NULL;

	for (key = s->keys; key && key->use >= 1; key = key->hh.next) {
		if (key->state == KEY_SHOWN)
			continue;
		if (s->n_shown >= s->keys_max) {
			least = least ? least : key_last(s);
			while (least && least->state != KEY_SHOWN)
				least = least->hh.prev;
			if (!least || key->use < 2 * least->use || s->n_leaving >= s->keys_max)
				return;
			key_leave(s, least, now);
		}
		key_show(s, key);
	}
}

/* Forgets the least used of the keys that wait: all that are not used any more, and those beyond
 * the limit. So a busy key finds its place however many others come and go. */
static void keys_limit(struct totals *s)
{
	struct key *key, *before;

	for (key = key_last(s); key; key = before) {
		before = key->hh.prev;
		if (key->use >= 1 && HASH_COUNT(s->keys) <= (KEYS_WAIT + 1) * s->keys_max)
			return;
		if (key->state == KEY_WAITS)
			key_forget(s, key);
	}
}

/* The key whose labels a row counts under; NULL: it has none, or they are of KEY_OTHER. */
static const struct key *owner_of(struct totals *s, const char *by, bool contained)
{
	const struct key *key = s->by == BY_NONE ? NULL : key_find(s, by, contained, false);

	return key && key->state == KEY_SHOWN ? key : NULL;
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

/* The entry of @disk (hostile), made if need be. NULL: out of memory. */
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

/* The same for operations @op on @fs that wait for @disk, both hostile. */
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

/* The sums of @key in @list, all 0 if new. NULL: out of memory. */
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
	t->count += row->count;
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
	t->count += row->count;
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

int totals_add(struct totals *s, const struct snapshot *sn, unsigned int measured)
{
	int err = 0;

	if (s->by != BY_NONE) {
		keys_age(s, sn->taken_ns);
		keys_use(s, sn);
		HASH_SORT(s->keys, more_used_first);
		keys_choose(s, sn->taken_ns);
		keys_limit(s);
	}
	gauges_reset(s);
	costs_add(s, sn);
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		if (sn->ops[i].key.op != OP_MINOR_FAULT && sn->ops[i].count)
			err = op_add(s, &sn->ops[i], measured);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		if (sn->rqs[i].count)
			err = rq_add(s, &sn->rqs[i]);
	for (size_t i = 0; i < sn->n_unfinished && !err; i++)
		err = unfinished_add(s, &sn->unfinished[i], sn->devices);
	return err;
}
