// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/page_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/series.h"
#include "base/async.h"
#include "capture/replay.h"
#include "capture/segments.h"
#include "host/mounts.h"

/* The place of id @id, or NULL if out of memory. */
static uint32_t *ids_at(struct page_ids *ids, size_t id)
{
	size_t n = id + id / 4 + 64;
	uint32_t *row;

	if (id < ids->n)
		return &ids->row[id];
	row = reallocarray(ids->row, n, sizeof(*row));
	if (!row)
		return NULL;
	memset(row + ids->n, 0, (n - ids->n) * sizeof(*row));
	ids->row = row;
	ids->n = n;
	return &row[id];
}

static void ids_done(struct page_ids *ids)
{
	free(ids->row);
	*ids = (struct page_ids){};
}

/* Whether @key stands for all keys without a separate row. */
static bool is_others(const struct op_key *key)
{
	return key->by[0] == ~0ULL;
}

/* Whether the row @at (an index + 1; 0: none) is the row of one key. The row of all further keys
 * has no name. */
static bool has_row(const struct rows *rows, uint32_t at)
{
	return at && !is_others(&((const struct op_row *)rows->ops.rows)[at - 1].key);
}

/* The index + 1 of the row with @key; beyond PAGE_KEYS, of the shared row of further keys of the
 * disk @dev. Returns 0 if out of memory. */
static uint32_t row_find(struct rows *rows, const struct op_key *key, unsigned int dev)
{
	struct op_key others = { .fs = key->fs, .by = { ~0ULL, dev } };
	struct op_row *row = rows_op_find(rows, key);

	if (!row)
		row = rows_op(rows, rows->ops.n < PAGE_KEYS ? key : &others);
	return row ? row - (struct op_row *)rows->ops.rows + 1 : 0;
}

/* An operation, to be added to rows. */
struct page_op {
	const struct stored_op *op;
	struct op_sums sums;
	bool is_pseudo; /* on a pseudo file system */
	/* members of its key in the cube, and its thread */
	uint8_t fs;
	uint32_t file, thread, dev, tid;
};

/* Adds an operation to the row @at (an index + 1). Returns 0 or -ENOMEM. */
static int row_add(struct rows *rows, struct page_counts *counts, uint32_t at,
		   const struct page_op *add)
{
	struct op_row *row = (struct op_row *)rows->ops.rows + at - 1;
	unsigned int bucket = hist_bucket(add->sums.total_ns);
	uint64_t thread_ns =
		op_sums_thread_ns(&add->sums, async_is_request(add->op->kind, add->op->call));

	if (!at)
		return -ENOMEM;
	op_row_add(row, &add->sums);
	row->kinds |= op_kind_set(add->op->kind);
	row->thread_ns += thread_ns;
	row->pseudo_ns += add->is_pseudo ? thread_ns : 0;
	if (at > PAGE_COUNTED)
		return hist_add(&row->hist, bucket, 1);
	if (!counts->hist)
		counts->hist = calloc(PAGE_COUNTED, sizeof(*counts->hist));
	if (!counts->hist)
		return -ENOMEM;
	counts->hist[at - 1][bucket]++;
	return 0;
}

/* Moves the counts to the rows. Returns 0 or -ENOMEM. */
static int counts_take(struct rows *rows, struct page_counts *counts)
{
	struct op_row *list = (struct op_row *)rows->ops.rows;
	int err = 0;

	for (size_t i = 0; i < rows->ops.n && i < PAGE_COUNTED && counts->hist && !err; i++)
		err = hist_take(&list[i].hist, counts->hist[i]);
	return err;
}

static bool map_take(struct page_map *m)
{
	if (!m->map)
		m->map = calloc(1, sizeof(*m->map));
	return m->map;
}

static uint64_t row_count(const struct page_data *d, uint32_t at)
{
	return ((const struct op_row *)d->files.ops.rows)[at - 1].count;
}

/* Takes the map of the mapped file with fewest operations for the file in the row @at, from @at_ns
 * on. Returns NULL if each mapped file has as many operations as this file. */
static struct page_map *map_replace(struct page_data *d, uint32_t at, uint64_t at_ns)
{
	struct page_map *least = &d->file_maps[0];

	for (size_t i = 1; i < PAGE_FILE_MAPS; i++)
		if (row_count(d, d->file_maps[i].row) < row_count(d, least->row))
			least = &d->file_maps[i];
	if (row_count(d, least->row) >= row_count(d, at))
		return NULL;
	d->map_of[least->row - 1] = 0;
	memset(least->map, 0, sizeof(*least->map));
	least->row = at;
	least->since_ns = at_ns;
	return least;
}

/* The map of the file in the row @at, or NULL if the file has no map. Looks for a free map, or for
 * one to take, only when the number of the file's operations is a power of two. */
static struct page_map *file_map(struct page_data *d, uint32_t at, uint64_t at_ns)
{
	uint64_t count = row_count(d, at);
	struct page_map *m = NULL;

	if (at > PAGE_KEYS)
		return NULL;
	if (d->map_of[at - 1])
		return &d->file_maps[d->map_of[at - 1] - 1];
	if (d->n_file_maps < PAGE_FILE_MAPS) {
		m = &d->file_maps[d->n_file_maps];
		if (!map_take(m))
			return NULL;
		*m = (struct page_map){ .row = at, .map = m->map };
		d->n_file_maps++;
	} else if (!(count & (count - 1))) {
		m = map_replace(d, at, at_ns);
	}
	if (m)
		d->map_of[at - 1] = m - d->file_maps + 1;
	return m;
}

/* Adds a read or write to the map of its file in the row @at. */
static void file_map_add(struct page_data *d, const struct stored_op *op, uint32_t at,
			 uint64_t at_ns)
{
	unsigned int acts = async_acts(op->kind, op->call);
	int64_t bytes = op->ret;
	struct page_map *m;

	if ((acts != OP_READ && acts != OP_WRITE) || bytes <= 0 || op->offset == ~0ULL)
		return;
	m = file_map(d, at, at_ns);
	if (m)
		offset_map_add(m->map, at_ns, acts == OP_WRITE, op->offset, bytes);
}

static void disk_map_add(struct page_data *d, const struct stored_request *rq, uint64_t at_ns)
{
	struct page_map *m = d->disk_maps, *end = m + d->n_disk_maps;

	if ((rq->op != RQ_READ && rq->op != RQ_WRITE) || !rq->bytes)
		return;
	while (m < end && (m->dev != rq->dev || m->host != d->host))
		m++;
	if (m == d->disk_maps + PAGE_DISK_MAPS || (m == end && !map_take(m)))
		return;
	m->dev = rq->dev;
	m->host = d->host;
	d->n_disk_maps += m == end;
	offset_map_add(m->map, at_ns, rq->op == RQ_WRITE, rq->sector << 9, rq->bytes);
}

/* The index + 1 of the row of @f, whose id is new: one for all files made one after another at one
 * path. Returns 0 if out of memory. */
static uint32_t file_row(struct page_data *d, const struct catalog_file *f)
{
	const struct op_key key = { .fs = d->host, .by = { f->key, f->ino } };
	uint32_t at = page_places_find(&d->places, d->host, f);
	size_t before = d->files.ops.n;

	if (at)
		return at;
	at = row_find(&d->files, &key, FILE_KEY_DEV(f->key));
	if (d->files.ops.n > before && has_row(&d->files, at) &&
	    page_places_add(&d->places, d->host, f, at))
		return 0;
	return at;
}

/* Adds to the row of its file; sets add->file and add->dev. Returns 0 or -ENOMEM. */
static int file_add(struct page_data *d, const struct recording *rec, struct page_op *add,
		    uint64_t at_ns)
{
	const struct stored_op *op = add->op;
	size_t id = op->file < rec->catalog.n_files ? op->file : 0;
	uint32_t *at = ids_at(&d->file_ids, id);
	const struct catalog_file *f = catalog_file(&rec->catalog, id);

	if (at && !*at)
		*at = file_row(d, f);
	if (!at || !*at || row_add(&d->files, &d->file_counts, *at, add))
		return -ENOMEM;
	add->file = has_row(&d->files, *at) ? *at : 0;
	add->dev = FILE_KEY_DEV(f->key);
	if (f->ino)
		file_map_add(d, op, *at, at_ns);
	return 0;
}

/* Adds to the row of its thread; sets add->thread and add->tid. Returns 0 or -ENOMEM. */
static int thread_add(struct page_data *d, const struct recording *rec, struct page_op *add)
{
	size_t id = add->op->owner < rec->catalog.n_threads ? add->op->owner : 0;
	uint32_t *at = ids_at(&d->thread_ids, id);
	const struct catalog_thread *t = catalog_thread(&rec->catalog, id);
	struct op_key key = { .fs = d->host, .by = { t->pid, t->cgroup } };

	if (at && !*at)
		*at = row_find(&d->threads, &key, 0);
	if (!at || row_add(&d->threads, &d->thread_counts, *at, add))
		return -ENOMEM;
	add->thread = has_row(&d->threads, *at) ? *at : 0;
	add->tid = t->tid;
	return 0;
}

/* Joins bins until a time is in one. */
static void bins_reach(struct page_data *d, uint64_t at_ns)
{
	if (!d->cube.shift)
		d->cube.shift = CUBE_FIRST_SHIFT;
	while (at_ns >> d->cube.shift >= CUBE_BINS) {
		cube_halve(&d->cube);
		latencies_halve(&d->latencies);
		disks_halve(&d->disks);
		loss_times_halve(&d->losses);
	}
}

/* The number of a file system type; 0: not known, or one too many. */
static uint8_t fs_number(struct page_data *d, const struct recording *rec, uint64_t fs)
{
	const char *name = catalog_fs(&rec->catalog, fs);
	size_t at = 0;

	if (fs < CATALOG_FS && d->fs_of[fs])
		return d->fs_of[fs];
	if (!*name)
		return 0;
	while (at < d->n_fs && strncmp(d->fs[at].name, name, FS_NAME_LEN))
		at++;
	if (at == PAGE_FS)
		return 0;
	if (at == d->n_fs) {
		strncpy(d->fs[at].name, name, FS_NAME_LEN);
		d->fs[at].is_pseudo = mounts_fs_is_pseudo(name, FS_NAME_LEN);
		d->n_fs++;
	}
	if (fs < CATALOG_FS)
		d->fs_of[fs] = at + 1;
	return at + 1;
}

/* The member .call of keys: calls above 16 bits are of damaged recordings. */
static uint16_t call_number(const struct stored_op *op)
{
	return op->call <= UINT16_MAX ? op->call : 0;
}

static void shares_set(uint64_t shares[SHARE_N], const uint64_t strata[ST_N])
{
	memset(shares, 0, SHARE_N * sizeof(*shares));
	for (int i = 0; i < ST_N; i++)
		shares[stratum_share(i)] += strata[i];
}

/* Adds an operation to the cube and to the latencies. Returns 0 or -ENOMEM. */
static int times_add(struct page_data *d, const struct stored_event *ev, const struct page_op *add,
		     uint64_t at_ns)
{
	const struct stored_op *op = add->op;
	struct cube_op one = { .begin_ns = (int64_t)(at_ns - add->sums.total_ns),
			       .end_ns = at_ns,
			       .bytes = add->sums.bytes,
			       .errors = add->sums.errors };
	struct example example = { .key = { .file = add->file,
					    .thread = add->thread,
					    .dev = add->dev,
					    .call = call_number(op),
					    .kind = op->kind < OP_N ? op->kind : OP_NONE,
					    .fs = add->fs },
				   .begin_ns = one.begin_ns,
				   .total_ns = add->sums.total_ns,
				   .tid = add->tid,
				   .error = add->sums.errors ? -op->ret : 0 };
	struct latency_key row = { .kind = example.key.kind, .fs = add->fs };
	struct segments segments;

	if (async_is_by_call(op->kind, op->call))
		row.call = example.key.call;
	shares_set(one.spread.shares, op->strata);
	memcpy(example.shares, one.spread.shares, sizeof(example.shares));
	one.spread.total_ns = add->sums.total_ns;
	if ((one.begin_ns < 0 ||
	     (uint64_t)one.begin_ns >> d->cube.shift != at_ns >> d->cube.shift) &&
	    segments_unpack(&segments, op->strata, ev->segments, op->segments))
		one.spread.segments = &segments;
	if (cube_add(&d->cube, &example.key, &one))
		return -ENOMEM;
	return latencies_op(&d->latencies, &row, &example, at_ns >> d->cube.shift);
}

static int request_add(struct page_data *d, const struct stored_request *rq, uint64_t at_ns)
{
	uint64_t total = rq->tag_ns + rq->queue_ns + rq->device_ns;
	bool in_parts = rq->flags & STORED_RQ_BIO_BASED && rq->merges < UINT32_MAX;
	const struct disk_request one = { .dev = rq->dev,
					  .n = in_parts ? 1 + rq->merges : 1, /* as in replay.c */
					  .host = d->host,
					  .op = rq->op < RQ_N ? rq->op : RQ_OTHER,
					  .failed = rq->flags & STORED_RQ_FAILED,
					  .begin_ns = (int64_t)(at_ns - total),
					  .end_ns = at_ns,
					  .total_ns = total,
					  .bytes = rq->flags & STORED_RQ_FAILED ? 0 : rq->bytes };
	const struct latency_key row = {
		.dev = rq->dev, .host = d->host, .kind = one.op, .is_request = true
	};

	if (disks_add(&d->disks, &one, d->cube.shift))
		return -ENOMEM;
	return latencies_request(&d->latencies, &row, rq->device_ns, at_ns >> d->cube.shift);
}

void page_data_losses(struct page_data *d, const struct recording *rec, uint64_t begin_ns)
{
	uint64_t end = rec->header.monotonic_ns + recording_covers(rec);

	end = end < rec->to_ns ? end : rec->to_ns;
	for (size_t i = 0; i < rec->losses.n; i++) {
		struct stored_loss loss = rec->losses.list[i];
		uint64_t from = loss.from_ns, to = loss.to_ns;

		/* times of a hostile file may be anywhere; the page may begin before this boot */
		if (from > to || from > end || (int64_t)(to - begin_ns) < 0)
			continue;
		if ((int64_t)(from - begin_ns) < 0)
			from = begin_ns;
		if (to > end)
			to = end;
		if (from != loss.from_ns || to != loss.to_ns)
			loss.count = loss_part(&loss, from, to);
		loss.from_ns = from - begin_ns;
		loss.to_ns = to - begin_ns;
		bins_reach(d, loss.to_ns);
		d->last_ns = loss.to_ns > d->last_ns ? loss.to_ns : d->last_ns;
		loss_times_add(&d->losses, &loss, d->cube.shift);
	}
}

void page_data_measure(struct page_data *d, uint64_t duration_ns)
{
	d->duration_ns = duration_ns > d->last_ns ? duration_ns : d->last_ns + 1;
	bins_reach(d, d->duration_ns - 1);
}

struct page_thread page_data_thread(const struct page_data *d, uint32_t thread)
{
	const struct op_key *key = &((const struct op_row *)d->threads.ops.rows)[thread - 1].key;

	return (struct page_thread){ key->by[0], key->by[1], key->fs };
}

int page_data_begin(struct page_data *d, const struct recording *rec)
{
	const char *name = rec->header.host ? rec->header.host : "(host not known)";
	struct page_host *list;

	memset(d->fs_of, 0, sizeof(d->fs_of));
	for (d->host = 0; d->host < d->n_hosts; d->host++)
		if (!d->hosts || !strcmp(d->host_list[d->host].name, name))
			return 0;
	list = reallocarray(d->host_list, d->n_hosts + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	d->host_list = list;
	list[d->n_hosts] = (struct page_host){ .name = d->hosts ? strdup(name) : NULL };
	return list[d->n_hosts++].name || !d->hosts ? 0 : -ENOMEM;
}

/* If there are several hosts, puts the name of @host before @text. Frees @text. Returns NULL if out
 * of memory.
 */
static char *host_put(const struct page_data *d, unsigned int host, char *text)
{
	const char *name = d->host_list[host].name;
	char *named = NULL;

	if (!name || !text)
		return text;
	if (asprintf(&named, "%s:%s", name, text) < 0)
		named = NULL;
	free(text);
	return named;
}

int page_data_add(struct page_data *d, const struct recording *rec, const struct stored_event *ev,
		  uint64_t at_ns)
{
	struct page_op add = { .op = &ev->op };

	if (ev->kind != CHUNK_OPS && ev->kind != CHUNK_REQUESTS)
		return 0;
	bins_reach(d, at_ns);
	d->last_ns = at_ns > d->last_ns ? at_ns : d->last_ns;
	if (ev->kind == CHUNK_REQUESTS) {
		disk_map_add(d, &ev->request, at_ns);
		return request_add(d, &ev->request, at_ns);
	}
	stored_op_sums(&ev->op, &add.sums);
	add.fs = fs_number(d, rec, ev->op.fs);
	add.is_pseudo = add.fs && d->fs[add.fs - 1].is_pseudo;
	if (file_add(d, rec, &add, at_ns) || thread_add(d, rec, &add))
		return -ENOMEM;
	return times_add(d, ev, &add, at_ns);
}

/* An empty row for key @id of the host, named @text. The row owns @text from now on. Returns 0 or
 * -ENOMEM. */
static int name_add(const struct page_data *d, struct rows *names, unsigned long long id,
		    char *text)
{
	struct op_key key = { .fs = d->host, .by = { id } };
	struct op_row *row;

	text = host_put(d, d->host, text);
	row = text ? rows_op(names, &key) : NULL;
	if (!row) {
		free(text);
		return -ENOMEM;
	}
	free(row->by);
	row->by = text;
	return 0;
}

static int process_name(struct page_data *d, const struct recording *rec,
			const struct catalog_thread *t)
{
	unsigned long long pid[2] = { t->pid }, cgroup[2] = { t->cgroup };
	struct op_key key = { .fs = d->host, .by = { t->pid } };
	struct op_row *row;
	int err = name_add(d, &d->processes, t->pid, row_key_text(rec, BY_PID, pid));

	if (!err)
		err = name_add(d, &d->cgroups, t->cgroup, row_key_text(rec, BY_CGROUP, cgroup));
	row = err ? NULL : rows_op_find(&d->processes, &key);
	if (row && t->pid)
		memcpy(row->comm, t->comm, COMM_LEN);
	if (row && d->commands && t->command && !row->command)
		row->command = strdup(t->command);
	return err;
}

/* Keeps the names of all processes with operations. A process has the name of its first thread,
 * whether it had operations or not. */
static int processes_name(struct page_data *d, const struct recording *rec)
{
	const struct catalog *c = &rec->catalog;
	struct op_row *row;
	int err = 0;

	for (size_t i = 0; i < d->thread_ids.n && !err; i++)
		if (has_row(&d->threads, d->thread_ids.row[i]))
			err = process_name(d, rec, catalog_thread(c, i));
	for (size_t i = 1; i < c->n_threads && !err; i++) {
		struct op_key key = { .fs = d->host, .by = { c->threads[i].pid } };

		row = c->threads[i].tid == c->threads[i].pid ? rows_op_find(&d->processes, &key)
							     : NULL;
		if (row)
			memcpy(row->comm, c->threads[i].comm, COMM_LEN);
	}
	return err;
}

/* Names the row of file @id. Returns 0 or -ENOMEM. */
static int file_name(struct page_data *d, const struct recording *rec, size_t id)
{
	const struct catalog_file *f = catalog_file(&rec->catalog, id);
	uint32_t at = d->file_ids.row[id];
	unsigned long long by[2] = {};
	struct file_name name;
	int err;

	row_key_set(by, BY_DEV, catalog_thread(&rec->catalog, 0), f);
	err = name_add(d, &d->devices, by[0], row_key_text(rec, BY_DEV, by));
	if (err || !has_row(&d->files, at) || !f->ino || f->flags & STORED_FILE_NAMELESS)
		return err;
	catalog_file_name(f, &name);
	return filenames_add(&d->host_list[d->host].files,
			     ((const struct op_row *)d->files.ops.rows)[at - 1].key.by, &name);
}

/* Files with an inode come first: their place is known. Returns 0 or -ENOMEM. */
static int files_name(struct page_data *d, const struct recording *rec)
{
	int err = 0;

	for (int by_path = 0; by_path < 2; by_path++)
		for (size_t i = 0; i < d->file_ids.n && !err; i++)
			if (d->file_ids.row[i] &&
			    FILE_KEY_IS_PATH(catalog_file(&rec->catalog, i)->key) == by_path)
				err = file_name(d, rec, i);
	return err;
}

int page_data_end(struct page_data *d, const struct recording *rec)
{
	int err = processes_name(d, rec);

	if (!err)
		err = files_name(d, rec);
	for (size_t i = 0; i < d->n_disk_maps && !err; i++)
		if (d->disk_maps[i].host == d->host)
			err = name_add(d, &d->devices, d->disk_maps[i].dev,
				       device_text(rec, d->disk_maps[i].dev));
	for (size_t i = 0; i < d->disks.n && !err; i++)
		if (d->disks.rows[i].host == d->host && !d->disks.rows[i].is_others)
			err = name_add(d, &d->devices, d->disks.rows[i].dev,
				       device_text(rec, d->disks.rows[i].dev));
	ids_done(&d->file_ids);
	ids_done(&d->thread_ids);
	return err;
}

/* Adds the rows of @from to rows with the keys from @key_of. Returns 0 or -ENOMEM. */
static int rows_add(struct rows *to, const struct rows *from,
		    unsigned long long (*key_of)(const struct op_key *key))
{
	const struct op_row *list = (const struct op_row *)from->ops.rows;
	int err = 0;

	for (size_t i = 0; i < from->ops.n && !err; i++) {
		struct op_key key = { .fs = list[i].key.fs, .by = { key_of(&list[i].key) } };
		struct op_row *row = rows_op(to, &key);

		err = row ? op_row_merge(row, &list[i]) : -ENOMEM;
		if (err)
			return err;
		row->kinds |= list[i].kinds;
		row->thread_ns += list[i].thread_ns;
		row->pseudo_ns += list[i].pseudo_ns;
	}
	return err;
}

static unsigned long long key_pid(const struct op_key *key)
{
	return key->by[0];
}

static unsigned long long key_cgroup(const struct op_key *key)
{
	return is_others(key) ? ~0ULL : key->by[1];
}

static unsigned long long key_disk(const struct op_key *key)
{
	return is_others(key) ? key->by[1] : FILE_KEY_DEV(key->by[0]);
}

/* Names the rows of all further keys. */
static int others_name(struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (!is_others(&sn->ops[i].key))
			continue;
		free(sn->ops[i].by);
		sn->ops[i].by = strdup(SERIES_OTHERS);
		if (!sn->ops[i].by)
			return -ENOMEM;
	}
	return 0;
}

/* Names the rows of files of @host in @sn, which are known by their numbers: none is joined.
 * Returns 0 or -ENOMEM. */
static int host_files_name(struct page_data *d, unsigned int host, struct snapshot *sn)
{
	struct snapshot own = { .ops = calloc(sn->n_ops + 1, sizeof(*own.ops)) };
	int err = own.ops ? 0 : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++)
		if (sn->ops[i].key.fs == host)
			own.ops[own.n_ops++] = sn->ops[i];
	if (!err)
		err = filenames_name_apart(&d->host_list[host].files, &own);
	for (size_t i = 0; i < sn->n_ops && own.ops; i++)
		if (sn->ops[i].key.fs == host)
			sn->ops[i].by = host_put(d, host, own.ops[n++].by);
	free(own.ops);
	return err;
}

int page_data_rows(struct page_data *d, enum by_key by, struct snapshot *ret)
{
	int err = counts_take(&d->files, &d->file_counts);
	struct rows *from = &d->files;

	*ret = (struct snapshot){};
	if (!err)
		err = counts_take(&d->threads, &d->thread_counts);
	if (!err && (by == BY_PID || by == BY_CGROUP)) {
		from = by == BY_PID ? &d->processes : &d->cgroups;
		err = rows_add(from, &d->threads, by == BY_PID ? key_pid : key_cgroup);
	}
	if (!err && by == BY_DEV) {
		from = &d->devices;
		err = rows_add(from, &d->files, key_disk);
	}
	if (err)
		return err;
	rows_take(from, ret);
	for (size_t i = 0; i < d->n_hosts && by == BY_FILE && !err; i++)
		err = host_files_name(d, i, ret);
	return err ? err : others_name(ret);
}

/* Adds @from to the row of @key. Returns 0 or -ENOMEM. */
static int row_join(struct rows *to, const struct op_key *key, const struct op_row *from)
{
	struct op_row *row = rows_op(to, key);

	if (!row)
		return -ENOMEM;
	memcpy(row->fs, from->fs, sizeof(row->fs));
	row->missing_layers = from->missing_layers;
	return op_row_merge(row, from);
}

int page_data_calls(struct snapshot *sn, struct snapshot *ret_calls)
{
	struct snapshot old = { .ops = sn->ops, .n_ops = sn->n_ops }, joined;
	struct rows kinds = {}, calls = {};
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++) {
		const struct op_row *from = &sn->ops[i];
		struct op_key key = from->key, call = key;

		call.by[0] = key.call; /* its rows differ by file system only */
		call.by[1] = key.op;

		if (!async_is_by_call(key.op, key.call))
			key.call = 0;
		err = row_join(&kinds, &key, from);
		if (!err)
			err = row_join(&calls, &call, from);
	}
	*ret_calls = (struct snapshot){};
	rows_take(&calls, ret_calls);
	rows_take(&kinds, &joined);
	sn->ops = joined.ops;
	sn->n_ops = joined.n_ops;
	snapshot_free(&old);
	return err;
}

/* Adds the requests in @from to the row for their disk and kind. Returns 0 or -ENOMEM. */
static int requests_join(struct rows *to, const struct rq_row *from)
{
	struct rq_key key = from->key;
	struct rq_row *row;

	memset(key.by, 0, sizeof(key.by));
	row = rows_rq(to, &key);
	if (!row)
		return -ENOMEM;
	memcpy(row->disk, from->disk, sizeof(row->disk));
	row->major = from->major;
	row->minor = from->minor;
	return rq_row_merge(row, from);
}

int page_data_kinds(struct snapshot *sn, struct snapshot *ret_keys)
{
	struct snapshot keys = { .ops = sn->ops,
				 .n_ops = sn->n_ops,
				 .rqs = sn->rqs,
				 .n_rqs = sn->n_rqs },
			joined = {};
	struct rows rows = {};
	int err = 0;

	for (size_t i = 0; i < keys.n_ops && !err; i++) {
		struct op_key key = keys.ops[i].key;

		memset(key.by, 0, sizeof(key.by));
		key.cache = 0;
		err = row_join(&rows, &key, &keys.ops[i]);
	}
	for (size_t i = 0; i < keys.n_rqs && !err; i++)
		err = requests_join(&rows, &keys.rqs[i]);
	rows_take(&rows, &joined);
	sn->ops = joined.ops;
	sn->n_ops = joined.n_ops;
	sn->rqs = joined.rqs;
	sn->n_rqs = joined.n_rqs;
	*ret_keys = keys;
	return err;
}

void page_data_done(struct page_data *d)
{
	struct rows *all[] = { &d->files, &d->threads, &d->processes, &d->cgroups, &d->devices };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		rows_done(all[i]);
	for (size_t i = 0; i < d->n_hosts; i++) {
		filenames_done(&d->host_list[i].files);
		free(d->host_list[i].name);
	}
	free(d->host_list);
	for (size_t i = 0; i < d->n_file_maps; i++)
		free(d->file_maps[i].map);
	for (size_t i = 0; i < d->n_disk_maps; i++)
		free(d->disk_maps[i].map);
	free(d->file_counts.hist);
	free(d->thread_counts.hist);
	ids_done(&d->file_ids);
	ids_done(&d->thread_ids);
	page_places_done(&d->places);
	cube_done(&d->cube);
	latencies_done(&d->latencies);
	disks_done(&d->disks);
}
