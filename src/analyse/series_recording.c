// SPDX-License-Identifier: GPL-2.0-only
/* series_recording.c - reads a recording into sums by key and interval, in one pass. */
#include "analyse/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/list.h"
#include "base/names.h"
#include "base/reason.h"
#include "base/stack_numbers.h"
#include "capture/recording.h"
#include "capture/replay.h"
#include "host/container.h"
#include "host/path.h"

enum { LOOK_EVENTS = 32768 };

/* The key of operations that have no stack, other than numbers of callers. */
#define NO_STACK (1ULL << 32)

/* The key of rows. Several may have the same text of @by. */
static enum by_key rows_by(enum by_key by)
{
	return by == BY_CONTAINER ? BY_CGROUP : by == BY_SERVER ? BY_DEV : by;
}

static void op_id(struct series_id *ret_id, const struct recording *rec, const struct stored_op *op,
		  enum by_key by)
{
	const struct catalog *c = &rec->catalog;
	unsigned long long key[2] = {};

	*ret_id = (struct series_id){ .fs = op->fs < CATALOG_FS ? op->fs : 0,
				      .kind = op->kind < OP_N ? op->kind : OP_NONE };
	ret_id->acts = ret_id->kind;
	if (op->kind == OP_URING || op->kind == OP_AIO)
		ret_id->acts = async_acts(op->kind, op->call);
	if (by == BY_FILE)
		key[0] = catalog_file(c, op->file)->path;
	else if (by == BY_CACHE)
		key[0] = op->cache;
	else if (BY_NEEDS_STACKS(by))
		key[0] = NO_STACK;
	else if (by != BY_NONE)
		row_key_set(key, rows_by(by), catalog_thread(c, op->owner),
			    catalog_file(c, op->file));
	ret_id->by[0] = key[0];
	ret_id->by[1] = key[1];
}

/* @at: the interval; negative: out of memory. */
static int op_add(struct series *s, const struct recording *rec, const struct stored_op *op,
		  enum by_key by, int at)
{
	int64_t ret = op->ret;
	struct series_cell *cell;
	struct series_row *row;
	struct series_id id;

	op_id(&id, rec, op, by);
	row = at < 0 ? NULL : series_row(s, &id);
	if (!row)
		return -ENOMEM;
	row->file = op->file;
	cell = &row->cells[at];
	cell->count++;
	cell->errors += ret < 0 && ret >= -MAX_ERRNO;
	if (ret > 0 && op_returns_bytes(id.acts))
		cell->bytes += ret;
	cell->total_ns += stored_op_total(op);
	for (int i = 0; i < ST_N; i++)
		cell->strata[i] += op->strata[i];
	cell->beside += op->requests;
	s->ops++;
	return hist_add(&cell->hist, hist_bucket(stored_op_total(op)), 1);
}

static bool can_have_stack(const struct stored_event *ev)
{
	return ev->op.kind < OP_N && STACK_KINDS >> ev->op.kind & 1;
}

/* Adds an operation with its user stack, for all those which the stack stands for: it was drawn
 * with the probability 1 / scale. @at: as in op_add(). */
static int stack_add(struct series *s, const struct stored_event *ev, int at)
{
	const struct stored_op *op = &ev->op;
	uint64_t total = stored_op_total(op), count;
	double scale = stack_stands_for(ev->threshold_ns, total);
	struct series_id id = { .fs = op->fs < CATALOG_FS ? op->fs : 0,
				.kind = op->kind,
				.acts = op->kind,
				.by = { caller_number(&s->callers, ev->stack) } };
	int64_t ret = op->ret;
	struct series_cell *cell;
	struct series_row *row;

	if (!can_have_stack(ev))
		return 0;
	s->stacks.taken++;
	stacks_draw_add(&s->stacks, scale, total);
	if (!ev->stack) {
		s->stacks.dropped++;
		return 0;
	}
	row = at < 0 ? NULL : series_row(s, &id);
	if (!row)
		return -ENOMEM;
	cell = &row->cells[at];
	count = stack_whole(scale, &s->carry);
	cell->count += count;
	cell->samples++;
	cell->certain += scale <= 1;
	cell->errors += ret < 0 && ret >= -MAX_ERRNO ? count : 0;
	if (ret > 0 && op_returns_bytes(op->kind))
		cell->bytes += stack_times(ret, scale);
	for (int i = 0; i < ST_N; i++) {
		cell->strata[i] += stack_times(op->strata[i], scale);
		cell->total_ns += stack_times(op->strata[i], scale);
	}
	return hist_add(&cell->hist, hist_bucket(total), count);
}

/* @at: as in op_add(). */
static int request_add(struct series *s, const struct stored_request *rq, int at)
{
	struct series_id id = { .is_request = true,
				.kind = rq->op < RQ_N ? rq->op : RQ_OTHER,
				.by = { rq->dev } };
	struct series_row *row;
	struct series_cell *cell;

	id.acts = id.kind;
	row = at < 0 ? NULL : series_row(s, &id);
	if (!row)
		return -ENOMEM;
	cell = &row->cells[at];
	cell->count++;
	if (rq->flags & STORED_RQ_FAILED)
		cell->errors++;
	else
		cell->bytes += rq->bytes;
	cell->total_ns += rq->tag_ns + rq->queue_ns + rq->device_ns;
	cell->strata[ST_TAG] += rq->tag_ns;
	cell->strata[ST_QUEUE] += rq->queue_ns;
	cell->strata[ST_DEVICE] += rq->device_ns;
	cell->beside += rq->merges;
	s->requests++;
	return hist_add(&cell->hist, hist_bucket(rq->device_ns), 1);
}

int series_add(struct series *s, const struct recording *rec, const struct stored_event *ev,
	       enum by_key by, uint64_t at_ns)
{
	int at = series_interval(s, at_ns);

	if (ev->kind == CHUNK_STACKS)
		return stack_add(s, ev, at);
	if (ev->kind == CHUNK_OPS)
		return op_add(s, rec, &ev->op, by, at);
	return request_add(s, &ev->request, at);
}

/* Counts an operation that is in no row, since it can have a stack. Returns 0 or -ENOMEM. */
static int counted_add(struct series *s, const struct stored_op *op)
{
	uint64_t fs = op->fs < CATALOG_FS ? op->fs : 0;
	size_t i = 0;

	s->ops++;
	s->stacks.of++;
	while (i < s->n_counted && (s->counted[i].kind != op->kind || s->counted[i].fs != fs))
		i++;
	if (i == s->n_counted) {
		if (list_reserve((void **)&s->counted, &s->counted_cap, i, sizeof(*s->counted)))
			return -ENOMEM;
		s->counted[s->n_counted++] = (struct stack_number){ .fs = fs, .kind = op->kind };
	}
	s->counted[i].n++;
	return 0;
}

static int event_add(struct series *s, const struct recording *rec, struct stored_event *ev,
		     const struct series_conf *conf)
{
	uint64_t end;

	if (ev->kind != CHUNK_OPS && ev->kind != CHUNK_REQUESTS && ev->kind != CHUNK_STACKS)
		return 0;
	end = stored_event_end(ev);
	if (end < rec->from_ns || end >= rec->to_ns)
		return 0;
	if (conf->passes && !conf->passes(conf->arg, rec, ev))
		return 0;
	/* an operation with a stack comes once more, with the stack */
	if (ev->kind == CHUNK_OPS && BY_NEEDS_STACKS(conf->by) && can_have_stack(ev))
		return counted_add(s, &ev->op);
	return series_add(s, rec, ev, conf->by, end > s->from_ns ? end - s->from_ns : 0);
}

/* The container of a cgroup, or CONTAINER_NONE. */
static char *container_text(char *cgroup)
{
	struct container c;
	char *text;

	if (!cgroup || !container_is_path(cgroup))
		return cgroup; /* "cgroup 12": it is gone */
	text = strdup(container_find(cgroup, &c) ? c.id : CONTAINER_NONE);
	free(cgroup);
	return text;
}

static char *server_text(const struct recording *rec, uint64_t dev, uint64_t fs)
{
	char text[SERVER_TEXT];

	header_server(&rec->header, dev, catalog_fs(&rec->catalog, fs), text);
	return strdup(text);
}

static char *file_text(const struct recording *rec, uint64_t id)
{
	const struct catalog_file *f = catalog_file(&rec->catalog, id);
	struct file_name name;
	struct path_file file = { FILE_KEY_DEV(f->key), f->ino, &name };

	if (!f->ino)
		return strdup("(no file)");
	catalog_file_name(f, &name);
	return path_full(&file);
}

static char *caller_row_text(const struct series *s, uint64_t number)
{
	if (number == NO_STACK)
		return strdup("(no stack)");
	return strdup(number ? caller_text(&s->callers, number) : "(caller unknown)");
}

/* The text of a key. The caller frees the result; NULL if out of memory. */
static char *by_text(const struct series *s, const struct recording *rec,
		     const struct series_row *row, enum by_key by)
{
	unsigned long long key[2] = { row->id.by[0], row->id.by[1] };

	if (series_is_others(&row->id))
		return strdup(SERIES_OTHERS);
	if (BY_NEEDS_STACKS(by))
		return caller_row_text(s, key[0]);
	if (by == BY_FILE)
		return file_text(rec, row->file);
	if (by == BY_CACHE)
		return strdup(key[0] == CACHE_NONE ? "neither read nor write" : cache_name(key[0]));
	if (by == BY_CONTAINER)
		return container_text(row_key_text(rec, BY_CGROUP, key));
	if (by == BY_SERVER)
		return server_text(rec, key[0], row->id.fs);
	return row_key_text(rec, by, key);
}

/* The last name of thread @id or, by process, of the first thread of the process, if the recording
 * has it. */
static void comm_find(char dst[COMM_LEN + 1], const struct recording *rec, enum by_key by,
		      uint64_t id)
{
	const struct catalog *c = &rec->catalog;
	const struct catalog_thread *t = NULL;

	for (size_t i = 1; i < c->n_threads; i++) {
		if ((by == BY_PID ? c->threads[i].pid : c->threads[i].tid) != id)
			continue;
		if (!t || t->tid != t->pid || c->threads[i].tid == t->tid)
			t = &c->threads[i];
	}
	if (t)
		snprintf(dst, COMM_LEN + 1, "%.*s", COMM_LEN, t->comm);
}

static int row_name(const struct series *s, struct series_row *row, const struct recording *rec,
		    enum by_key by)
{
	const struct series_id *id = &row->id;
	struct series_key *key = &row->key;
	char *disk;

	key->is_request = id->is_request;
	if (id->is_request) {
		disk = device_text(rec, id->by[0]);
		snprintf(key->what, sizeof(key->what), "%s", rq_op_name(id->kind));
		snprintf(key->where, sizeof(key->where), "%s%s%s",
			 s->hosts && rec->header.host ? rec->header.host : "", s->hosts ? ":" : "",
			 disk ? disk : "");
		free(disk);
		return disk ? 0 : -ENOMEM;
	}
	snprintf(key->what, sizeof(key->what), "%s%s%s", op_name(id->kind),
		 id->acts == id->kind ? "" : " ", id->acts == id->kind ? "" : op_name(id->acts));
	snprintf(key->where, sizeof(key->where), "%s", catalog_fs(&rec->catalog, id->fs));
	if (by == BY_NONE)
		return 0;
	key->by = by_text(s, rec, row, by);
	if (by == BY_PID || by == BY_TID)
		comm_find(key->comm, rec, by, id->by[0]);
	return key->by ? 0 : -ENOMEM;
}

static char *text_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void describe(struct series *s, const struct recording *rec)
{
	const struct header *h = &rec->header;

	s->kernel = text_copy(h->kernel);
	s->host = text_copy(h->host);
	s->options = text_copy(h->options);
	s->machine = h->machine;
	s->began_ns = h->realtime_ns;
	s->of_command = h->command;
	s->is_recording = true;
	s->has_ops = h->has_ops;
	s->has_requests = h->has_requests;
	s->strata_missing = rec->strata_missing;
}

/* The length of the part read. */
static uint64_t duration_of(const struct recording *rec, const struct series_conf *conf)
{
	uint64_t end = recording_covers(rec);

	if (conf->to_ns && conf->to_ns < end)
		end = conf->to_ns;
	return end > conf->from_ns ? end - conf->from_ns : 0;
}

int series_measure(struct series *s, uint64_t duration_ns)
{
	uint64_t at = 0;

	s->duration_ns = duration_ns;
	if (series_interval(s, duration_ns ? duration_ns - 1 : 0) < 0)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->intervals; i++) {
		s->length_ns[i] = 1ULL << s->shift;
		if (i == s->intervals - 1 && s->duration_ns > at)
			s->length_ns[i] = s->duration_ns - at;
		at += s->length_ns[i];
	}
	return 0;
}

int series_name(struct series *s, const struct recording *rec, enum by_key by)
{
	for (size_t i = 0; i < s->n_rows; i++)
		if (!s->rows[i].key.what[0] && row_name(s, &s->rows[i], rec, by))
			return -ENOMEM;
	return series_unite(s);
}

static int finish(struct series *s, const struct recording *rec, const struct series_conf *conf)
{
	s->lost = recording_lost(rec, 0);
	s->stacks.lost = BY_NEEDS_STACKS(conf->by) ? rec->ending.stacks_lost : 0;
	s->dropped = rec->ending.dropped_ops + rec->ending.dropped_requests;
	if (series_measure(s, duration_of(rec, conf)))
		return -ENOMEM;
	return series_name(s, rec, conf->by);
}

static int records_add(struct series *s, struct recording *rec, const struct series_conf *conf,
		       struct reason *why)
{
	unsigned int n = 0;
	struct stored_event ev;
	int got, err = 0;

	while ((got = recording_next(rec, &ev, why)) > 0 && !err) {
		err = event_add(s, rec, &ev, conf);
		if (++n % LOOK_EVENTS == 0 && !err)
			err = conf->goes_on && !conf->goes_on(conf->arg, rec->reader.bytes)
				      ? -EINTR
				      : series_look(s);
	}
	if (err == -EINTR)
		return reason_set(why, EXIT_FAILED, "interrupted");
	s->is_cut_off = got < 0;
	if (!err)
		err = finish(s, rec, conf);
	return err ? reason_no_memory(why) : got < 0;
}

/* Names the callers, which are at the end of the recording, and goes back to its beginning. Returns
 * 0, or -1 with @why. */
static int callers_read(struct series *s, FILE *f, const char *name, const struct series_conf *conf,
			struct reason *why)
{
	struct reason damaged; /* told when the records are read */
	struct stored_event ev;
	struct recording rec;
	int err = recording_open(&rec, f, name, why);

	if (!err)
		err = recording_need_stacks(&rec, why);
	if (!err) {
		rec.from_ns = UINT64_MAX; /* only names */
		rec.namer = conf->namer;
		while (recording_next(&rec, &ev, &damaged) > 0)
			;
		/* without the program: the old one may have another name than the new one */
		if (caller_names_make(&s->callers, &rec.catalog, conf->by, FRAME_NAME,
				      conf->own_frame, conf->arg))
			err = reason_no_memory(why);
	}
	recording_close(&rec);
	if (!err && fseek(f, 0, SEEK_SET))
		return reason_set(why, EXIT_USAGE,
				  "'%.200s' is a pipe: --by %s reads a recording twice", name,
				  by_name(conf->by));
	return err;
}

/* The sums of a row by caller, over all intervals. */
static struct stack_number row_number(const struct series *s, struct series_row *row)
{
	struct stack_number n = { .fs = row->id.fs,
				  .kind = row->kind,
				  .caller = row->key.by ? row->key.by : "",
				  .row = row };

	for (unsigned int at = 0; at < s->intervals; at++) {
		n.n += row->cells[at].count;
		n.certain += row->cells[at].certain;
	}
	return n;
}

/* Sets the number of a row to @to; errors, bytes and histograms follow it. Over all intervals, all
 * add up to what they are for a single one. */
static void cells_scale(const struct series *s, struct series_row *row, uint64_t to)
{
	struct stack_number from = row_number(s, row);
	uint64_t certain = to < from.certain ? 0 : from.certain;
	double scale = (double)to / from.n, of_drawn = 0;
	double carry = 0.5, carry_errors = 0, carry_bytes = 0;

	if (to == from.n)
		return;
	if (from.n > certain)
		of_drawn = (double)(to - certain) / (from.n - certain);
	for (unsigned int at = 0; at < s->intervals; at++) {
		struct series_cell *cell = &row->cells[at];
		uint64_t stays = certain ? cell->certain : 0;

		cell->count = stays + stack_whole((cell->count - stays) * of_drawn, &carry);
		cell->errors = stack_whole(cell->errors * scale, &carry_errors);
		cell->bytes = stack_whole(cell->bytes * scale, &carry_bytes);
		hist_scale(&cell->hist, cell->count, stays);
	}
}

int series_callers_scale(struct series *s)
{
	/* the row of all other keys has no file system type */
	bool has_all = !s->stacks.lost && !s->stacks.dropped && !s->more_keys;
	struct stack_number *rows = calloc(s->n_rows + 1, sizeof(*rows));
	size_t n = 0;
	int err;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rows; i++) {
		struct series_row *row = &s->rows[i];

		if (!row->key.is_request && row->kind < OP_N && STACK_KINDS >> row->kind & 1 &&
		    !series_is_others(&row->id))
			rows[n++] = row_number(s, row);
	}
	err = stack_numbers_scale(rows, n, s->counted, s->n_counted, has_all);
	for (size_t i = 0; i < n && !err; i++)
		cells_scale(s, rows[i].row, rows[i].n);
	free(rows);
	return err;
}

int series_read_recording(struct series *s, FILE *f, const char *name,
			  const struct series_conf *conf, struct reason *why)
{
	struct recording rec;
	int err;

	if (BY_NEEDS_STACKS(conf->by) && callers_read(s, f, name, conf, why))
		return -1;
	err = recording_open(&rec, f, name, why);
	if (!err) {
		rec.stacks = BY_NEEDS_STACKS(conf->by);
		rec.from_ns = conf->from_ns ? rec.header.monotonic_ns + conf->from_ns : 0;
		if (conf->to_ns)
			rec.to_ns = rec.header.monotonic_ns + conf->to_ns;
		s->from_ns = rec.header.monotonic_ns + conf->from_ns;
		if (conf->begins)
			conf->begins(conf->arg);
		describe(s, &rec);
		err = records_add(s, &rec, conf, why);
	}
	recording_close(&rec);
	return err;
}
