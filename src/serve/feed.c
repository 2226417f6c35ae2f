// SPDX-License-Identifier: GPL-2.0-only
#include "serve/feed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/container.h"

void feed_self(struct feed_self *ret, int statm)
{
	char text[64] = "";
	unsigned long long pages = 0;

	if (statm < 0 || pread(statm, text, sizeof(text) - 1, 0) < 0 ||
	    sscanf(text, "%*u %llu", &pages) != 1)
		pages = 0;
	ret->until_ns = clock_day_ns();
	ret->cpu_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	ret->resident_bytes = pages * sysconf(_SC_PAGESIZE);
}

/* All members of struct missing are texts or NULL. */
enum { MISSING_TEXTS = sizeof(struct missing) / sizeof(const char *) };

/* A length, then as many bytes; NULL has the length ~0. */
static void put_bytes(FILE *f, const void *data, uint64_t len)
{
	len = data ? len : ~0ULL;
	fwrite(&len, sizeof(len), 1, f);
	if (data)
		fwrite(data, 1, len, f);
}

static void put_text(FILE *f, const char *text)
{
	put_bytes(f, text, text ? strlen(text) : 0);
}

/* The key of --by: a text, or a struct container. */
static void put_by(FILE *f, const char *by, bool contained)
{
	if (contained)
		put_bytes(f, by, sizeof(struct container));
	else
		put_text(f, by);
}

static void put_hist(FILE *f, const struct hist *h)
{
	put_bytes(f, h->n ? h->bins : NULL, h->n * sizeof(*h->bins));
}

static void put_rows(FILE *f, const struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		fwrite(&sn->ops[i], sizeof(sn->ops[i]), 1, f);
		put_by(f, sn->ops[i].by, sn->ops[i].contained);
		put_hist(f, &sn->ops[i].hist);
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		fwrite(&sn->rqs[i], sizeof(sn->rqs[i]), 1, f);
		put_by(f, sn->rqs[i].by, sn->rqs[i].contained);
		put_hist(f, &sn->rqs[i].hist);
	}
	for (size_t i = 0; i < sn->n_unfinished; i++) {
		fwrite(&sn->unfinished[i], sizeof(sn->unfinished[i]), 1, f);
		put_text(f, sn->unfinished[i].file);
		put_text(f, sn->unfinished[i].server);
	}
	for (size_t i = 0; i < sn->n_servers; i++) {
		fwrite(&sn->servers[i], sizeof(sn->servers[i]), 1, f);
		put_text(f, sn->servers[i].mount);
		put_hist(f, &sn->servers[i].hist);
	}
}

static void put_missing(FILE *f, const struct missing *missing)
{
	const char *texts[MISSING_TEXTS];

	memcpy(texts, missing, sizeof(texts));
	for (int i = 0; i < MISSING_TEXTS; i++)
		put_text(f, texts[i]);
}

char *feed_pack(const struct snapshot *sn, const struct missing *missing,
		const struct feed_self *self, size_t *ret_len)
{
	const struct devices *d = sn->devices;
	uint64_t whole = 0;
	char *frame = NULL;
	FILE *f = open_memstream(&frame, ret_len);
	int err;

	if (!f)
		return NULL;
	fwrite(&whole, sizeof(whole), 1, f);
	fwrite(sn, sizeof(*sn), 1, f);
	fwrite(self, sizeof(*self), 1, f);
	put_missing(f, missing);
	put_rows(f, sn);
	put_bytes(f, sn->disks, sn->n_disks * sizeof(*sn->disks));
	put_bytes(f, d ? d->list : NULL, d ? d->n * sizeof(*d->list) : 0);
	put_bytes(f, d ? d->links : NULL, d ? d->n_links * sizeof(*d->links) : 0);
	err = ferror(f);
	if (fclose(f) || err) {
		free(frame);
		return NULL;
	}
	whole = *ret_len;
	memcpy(frame, &whole, sizeof(whole));
	return frame;
}

uint64_t feed_frame_len(const void *head)
{
	uint64_t len;

	memcpy(&len, head, sizeof(len));
	return len;
}

/* The rest of a frame. The first error stays. */
struct reader {
	const char *at;
	size_t left;
	int err;
};

static void take(struct reader *r, void *to, size_t len)
{
	if (r->left < len)
		r->err = r->err ? r->err : -EBADMSG;
	if (r->err)
		return;
	memcpy(to, r->at, len);
	r->at += len;
	r->left -= len;
}

/* Checks a bool that was read as part of a struct: in C, bytes other than 0 and 1 are not a bool.
 */
static void check_bool(struct reader *r, bool *b)
{
	unsigned char byte;

	memcpy(&byte, b, sizeof(byte));
	if (byte > 1 && !r->err)
		r->err = -EBADMSG;
	*b = byte == 1;
}

/* Reads bytes of put_bytes(), and adds a NUL. Returns NULL if NULL was written, or an error. */
static void *take_bytes(struct reader *r, uint64_t *ret_len)
{
	uint64_t len = ~0ULL;
	char *data;

	*ret_len = 0;
	take(r, &len, sizeof(len));
	if (r->err || len == ~0ULL)
		return NULL;
	if (r->left < len) {
		r->err = -EBADMSG;
		return NULL;
	}
	data = malloc(len + 1);
	if (!data) {
		r->err = -ENOMEM;
		return NULL;
	}
	take(r, data, len);
	data[len] = '\0';
	*ret_len = len;
	return data;
}

static char *take_text(struct reader *r)
{
	uint64_t len;

	return take_bytes(r, &len);
}

/* The key of --by, as put_by() wrote it. */
static char *take_by(struct reader *r, bool contained)
{
	uint64_t len;
	char *by = take_bytes(r, &len);

	if (contained && len != sizeof(struct container))
		r->err = r->err ? r->err : -EBADMSG;
	return by;
}

static void take_hist(struct reader *r, struct hist *ret)
{
	uint64_t len;

	ret->bins = take_bytes(r, &len);
	len /= sizeof(*ret->bins);
	if (len > HIST_N) {
		r->err = -EBADMSG;
		return;
	}
	ret->n = ret->cap = len;
	for (unsigned int i = 0; i < ret->n; i++)
		if (ret->bins[i].bucket >= HIST_N)
			r->err = -EBADMSG;
}

/* Room for @n rows of @size bytes, all 0. NULL with r->err: the frame has not so many. */
static void *rows_alloc(struct reader *r, size_t n, size_t size)
{
	void *rows;

	if (n > r->left / size) {
		r->err = -EBADMSG;
		return NULL;
	}
	rows = calloc(n + 1, size);
	if (!rows)
		r->err = -ENOMEM;
	return rows;
}

/* Reads as many rows as the snapshot @from of the frame says. The rows read are counted in @to, so
 * it is whole after an error. */
static void take_rows(struct reader *r, const struct snapshot *from, struct snapshot *to)
{
	for (; !r->err && to->n_ops < from->n_ops; to->n_ops++) {
		struct op_row *row = &to->ops[to->n_ops];

		take(r, row, sizeof(*row));
		check_bool(r, &row->contained);
		row->command = NULL; /* no row of this command has these */
		row->pattern = NULL;
		row->by = take_by(r, row->contained);
		take_hist(r, &row->hist);
	}
	for (; !r->err && to->n_rqs < from->n_rqs; to->n_rqs++) {
		struct rq_row *row = &to->rqs[to->n_rqs];

		take(r, row, sizeof(*row));
		check_bool(r, &row->contained);
		row->pattern = NULL;
		row->by = take_by(r, row->contained);
		take_hist(r, &row->hist);
	}
	for (; !r->err && to->n_unfinished < from->n_unfinished; to->n_unfinished++) {
		struct unfinished *u = &to->unfinished[to->n_unfinished];

		take(r, u, sizeof(*u));
		check_bool(r, &u->frozen);
		check_bool(r, &u->in_call);
		u->suspended[SUSPENDED_LEN - 1] = '\0';
		u->call[CALL_NAME_LEN - 1] = '\0';
		u->file = take_text(r);
		u->server = take_text(r);
	}
	for (; !r->err && to->n_servers < from->n_servers; to->n_servers++) {
		struct server_row *row = &to->servers[to->n_servers];

		take(r, row, sizeof(*row));
		row->mount = take_text(r);
		take_hist(r, &row->hist);
	}
}

static void take_snapshot(struct reader *r, const struct snapshot *from, struct snapshot *to)
{
	*to = *from;
	to->n_ops = to->n_rqs = to->n_unfinished = 0;
	to->n_helpers = to->n_servers = to->n_sites = to->n_threads = 0;
	to->n_hung = 0;
	to->hung = NULL;
	to->helpers = NULL;
	to->sites = NULL;
	to->whos = NULL; /* likewise */
	to->n_whos = 0;
	to->has_whos = false;
	to->threads = NULL;
	to->disks = NULL;
	to->files = NULL; /* no row of this command has several */
	to->n_files = 0;
	to->stacks = NULL; /* this command takes none */
	to->ops = rows_alloc(r, from->n_ops, sizeof(*to->ops));
	to->rqs = rows_alloc(r, from->n_rqs, sizeof(*to->rqs));
	to->unfinished = rows_alloc(r, from->n_unfinished, sizeof(*to->unfinished));
	to->servers = rows_alloc(r, from->n_servers, sizeof(*to->servers));
	if (!r->err)
		take_rows(r, from, to);
}

/* Each reason is read twice: for its length, and into the text shared by all. */
static void take_missing(struct reader *r, struct feed *ret)
{
	const char *texts[MISSING_TEXTS] = {};
	char *text, *end;

	ret->text = end = malloc(r->left + MISSING_TEXTS);
	if (!end)
		r->err = -ENOMEM;
	for (int i = 0; i < MISSING_TEXTS && !r->err; i++) {
		text = take_text(r);
		if (!text)
			continue;
		texts[i] = end;
		end = stpcpy(end, text) + 1;
		free(text);
	}
	memcpy(&ret->missing, texts, sizeof(texts));
}

int feed_unpack(const void *frame, size_t len, struct feed *ret)
{
	struct reader r = { .at = frame, .left = len };
	struct snapshot from = {};
	struct feed f = {};
	uint64_t whole = 0, n;

	take(&r, &whole, sizeof(whole));
	take(&r, &from, sizeof(from));
	check_bool(&r, &from.has_overhead);
	check_bool(&r, &from.has_unreaped);
	check_bool(&r, &from.is_part);
	take(&r, &f.self, sizeof(f.self));
	if (whole != len)
		r.err = -EBADMSG;
	if (!r.err)
		take_missing(&r, &f);
	if (!r.err)
		take_snapshot(&r, &from, &f.sn);
	f.sn.disks = take_bytes(&r, &n);
	f.sn.n_disks = n / sizeof(*f.sn.disks);
	f.devices.list = take_bytes(&r, &n);
	f.devices.n = f.devices.cap = n / sizeof(*f.devices.list);
	for (size_t i = 0; i < f.devices.n; i++)
		check_bool(&r, &f.devices.list[i].fresh);
	f.devices.links = take_bytes(&r, &n);
	f.devices.n_links = f.devices.links_cap = n / sizeof(*f.devices.links);
	if (!r.err && r.left)
		r.err = -EBADMSG;
	if (r.err) {
		feed_done(&f);
		return r.err;
	}
	*ret = f;
	ret->sn.devices = from.devices ? &ret->devices : NULL;
	return 0;
}

void feed_done(struct feed *f)
{
	snapshot_free(&f->sn);
	devices_done(&f->devices);
	free(f->text);
	*f = (struct feed){};
}
