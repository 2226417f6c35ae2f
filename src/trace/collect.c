// SPDX-License-Identifier: GPL-2.0-only
#include "trace/collect.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <bpf/bpf.h>

#include "base/names.h"
#include "base/protocols.h"
#include "bpf/conf.h"
#include "cell.h"
#include "host/lookup.h"
#include "host/mounts.h"
#include "trace/maps.h"

void collect_fs_name(const struct fs_entry *seen, unsigned long long fs, char ret_name[FS_NAME_LEN])
{
	snprintf(ret_name, FS_NAME_LEN, "%s", fs == FS_BDEV ? "bdev" : "");
	for (int i = 0; i < FS_SLOTS && fs > FS_UNKNOWN; i++) {
		if (seen[i].fs != fs)
			continue;
		memcpy(ret_name, seen[i].name, FS_NAME_LEN);
		ret_name[FS_NAME_LEN - 1] = '\0';
		return;
	}
}

/* State of one collect(). */
struct collecting {
	const struct cell_maps *maps;
	struct mounts mounts;
	unsigned int epoch;
	struct collected *to;
	unsigned int disk_dev; /* device of the last row of requests; 0: none */
	char disk[sizeof(((struct rq_row *)0)->disk)];
	char server[SERVER_TEXT]; /* with BY_SERVER: of the last row of operations */
};

/* The address @by, as in struct op_key; an address of IPv4 as such. */
static void address_text(const unsigned long long by[2], char ret[PATH_MAX])
{
	struct in6_addr address;
	bool is_v4;

	memcpy(&address, by, sizeof(address));
	is_v4 = IN6_IS_ADDR_V4MAPPED(&address);
	inet_ntop(is_v4 ? AF_INET : AF_INET6, address.s6_addr + (is_v4 ? 12 : 0), ret, PATH_MAX);
}

static char *by_text(struct collecting *c, const unsigned long long by[2])
{
	char text[PATH_MAX];

	switch (c->maps->by) {
	case BY_PID:
	case BY_TID:
		snprintf(text, sizeof(text), "%llu", by[0]);
		return strdup(text);
	case BY_COMM:
		memcpy(text, by, COMM_LEN);
		text[COMM_LEN] = '\0';
		return strdup(text);
	case BY_FILE: /* filenames_name() names files once all their names are known */
		return NULL;
	case BY_CGROUP:
		return cgroups_path(&c->to->cgroups, by[0]);
	case BY_SERVER:
		return strdup(c->server);
	case BY_DEV:
		lookup_dev(&c->mounts, by[0], text, sizeof(text));
		return strdup(by[0] ? text : "(no file)");
	case BY_CLIENT:
		address_text(by, text);
		return strdup(by[0] | by[1] ? text : "(no client)");
	default:
		return NULL;
	}
}

/* The number of the server of @key's file system. Its name is then in c->server. */
static unsigned long long server_find(struct collecting *c, const struct op_key *key)
{
	const struct mount *m = mounts_by_dev(&c->mounts, key->by[0]);
	char fs[FS_NAME_LEN];

	collect_fs_name(c->maps->live->fs_types, key->fs, fs);
	mount_server(c->server, fs, m ? m->type : NULL, m ? m->source : NULL);
	return mount_server_number(c->server);
}

static struct op_row *op_row(struct collecting *c, const struct op_key *of)
{
	struct op_key key = *of;
	struct op_row *row;

	if (c->maps->by == BY_SERVER)
		key.by[0] = server_find(c, of);
	row = rows_op(&c->to->rows, &key);
	if (!row || row->count)
		return row;
	collect_fs_name(c->maps->live->fs_types, key.fs, row->fs);
	row->by = by_text(c, key.by);
	return row;
}

static void disk_name(struct collecting *c, unsigned int dev, char ret_name[sizeof(c->disk)])
{
	const struct device *known;

	if (dev != c->disk_dev || !c->disk_dev) {
		devices_meet(&c->to->devices, dev);
		known = devices_find(&c->to->devices, dev); /* also of a disk that is gone */
		if (!dev)
			snprintf(c->disk, sizeof(c->disk), "(no disk)");
		else if (known && known->name[0])
			snprintf(c->disk, sizeof(c->disk), "%.31s", known->name);
		else
			lookup_dev(&c->mounts, dev, c->disk, sizeof(c->disk));
	}
	c->disk_dev = dev;
	memcpy(ret_name, c->disk, sizeof(c->disk));
}

static struct rq_row *rq_row(struct collecting *c, const struct rq_key *key)
{
	struct rq_row *row = rows_rq(&c->to->rows, key);

	if (!row || row->count)
		return row;
	row->major = DEV_MAJOR(key->dev);
	row->minor = DEV_MINOR(key->dev);
	disk_name(c, key->dev, row->disk);
	if (!rowmaps_rq_by(c->maps->by))
		return row;
	if (key->by[0])
		row->by = by_text(c, key->by);
	return row;
}

static int op_entry_add(struct collecting *c, const void *key, const void *entry)
{
	const struct op_sums *s = &((const struct op_entry *)entry)->sums;
	const struct op_key *k = key;
	struct op_row *row = op_row(c, k);

	if (!row)
		return -ENOMEM;
	op_row_add(row, s);
	return k->op == OP_COPY_TO ? 0 : hist_add(&row->hist, k->bucket, s->count);
}

static int rq_entry_add(struct collecting *c, const void *key, const void *sums)
{
	const struct rq_key *k = key;
	const struct rq_sums *s = sums;
	struct rq_row *row = rq_row(c, k);

	if (!row)
		return -ENOMEM;
	rq_row_add(row, s);
	return hist_add(&row->hist, k->bucket, s->count);
}

static int helper_entry_add(struct collecting *c, const void *key, const void *sums)
{
	const struct helper_key *k = key;
	struct helper_row *row = rows_helper(&c->to->rows, k);

	if (!row)
		return -ENOMEM;
	if (!row->sums.count && k->op != HELPER_TIME)
		disk_name(c, k->dev, row->disk);
	helper_row_add(row, sums);
	return 0;
}

static int site_entry_add(struct collecting *c, const void *key, const void *sums)
{
	const struct site_key *k = key;
	struct site_row *row = rows_site(&c->to->rows, k);

	if (!row)
		return -ENOMEM;
	if (!row->sums.count)
		collect_fs_name(c->maps->live->fs_types, k->fs, row->fs);
	site_row_add(row, sums);
	return 0;
}

static int who_entry_add(struct collecting *c, const void *key, const void *sums)
{
	struct who_row *row = rows_who(&c->to->rows, key);

	if (!row)
		return -ENOMEM;
	who_row_add(row, sums);
	return 0;
}

/* Names the mount of a row, if its protocol tells. If memory runs out, it has no name. */
static void mount_name(struct collecting *c, struct server_row *row)
{
	const struct mount *m = NULL;

	if (!c->mounts.n)
		mounts_read(&c->mounts);
	if (protocol_at(row->key.protocol)->mount == MOUNT_BY_SOURCE)
		m = mounts_by_source(&c->mounts, row->key.protocol, row->key.server);
	else if (row->key.dev)
		m = mounts_by_dev(&c->mounts, row->key.dev);
	row->mount = m ? strdup(m->point) : NULL;
}

/* Names the kind of a request by the number that programs have counted. */
static void op_name_set(struct server_key *key)
{
	char buf[SERVER_OP_LEN];

	snprintf(key->op, sizeof(key->op), "%s", server_op_name(key, buf));
	key->opcode = 0;
}

static struct server_row *server_row(struct collecting *c, const struct server_key *key)
{
	struct server_row *row = rows_server(&c->to->rows, key);

	if (row && !row->sums.count)
		mount_name(c, row);
	return row;
}

static int server_entry_add(struct collecting *c, const void *key, const void *sums)
{
	const struct server_sums *s = sums;
	struct server_key k = *(const struct server_key *)key;
	struct server_row *row;

	if (protocol_at(k.protocol)->ops && !protocol_at(k.protocol)->is_by_opcode)
		op_name_set(&k);
	row = server_row(c, &k);
	if (!row)
		return -ENOMEM;
	server_row_add(row, s);
	return hist_add(&row->hist, k.bucket, s->count);
}

/* Moves the cells of all slots of NFS to their rows. */
static int server_slots_empty(struct collecting *c)
{
	struct server_slot *slots = c->maps->server_slots;
	int err = 0;

	for (int i = 0; slots && i < SERVER_SLOTS && !err; i++) {
		struct server_cell *cell = &slots[i].epochs[c->epoch];
		struct server_key key = { .protocol = SERVER_NFS };
		struct server_row *row;

		if (!cell->sums.count)
			continue;
		memcpy(key.server, slots[i].server, sizeof(key.server));
		memcpy(key.op, slots[i].op, sizeof(key.op));
		row = server_row(c, &key);
		if (!row)
			return -ENOMEM;
		server_row_add(row, &cell->sums);
		memset(&cell->sums, 0, sizeof(cell->sums));
		err = hist_take(&row->hist, cell->hist);
	}
	return err;
}

static int name_entry_add(struct collecting *c, const void *key, const void *name)
{
	const unsigned long long *id = key, by[2] = { id[0], id[1] & ~FILE_ID_AGAIN };

	return filenames_add(&c->to->files, by, name);
}

static int thread_entry_add(struct collecting *c, const void *key, const void *name)
{
	const unsigned long long *id = key;
	struct thread_name clean = *(const struct thread_name *)name;

	snprintf(clean.comm, sizeof(clean.comm), "%.*s", COMM_LEN - 1,
		 ((const struct thread_name *)name)->comm);
	return threadnames_add(&c->to->threads, *id, &clean);
}

typedef int entry_add_fn(struct collecting *c, const void *key, const void *sums);

/* Entries per batch. The kernel never splits a bucket of a hash over two batches, so a batch must
 * hold the largest bucket. */
enum { BATCH = 512 };

/* Moves all entries out of hash @fd: calls @add for each. */
static int hash_empty(struct collecting *c, int fd, size_t key_size, size_t value_size,
		      entry_add_fn *add)
{
	char *keys = malloc(BATCH * key_size), *values = malloc(BATCH * value_size);
	unsigned int at, n;
	bool first = true, last = false;
	int err = keys && values ? 0 : -ENOMEM;

	while (!err && !last) {
		n = BATCH;
		if (bpf_map_lookup_and_delete_batch(fd, first ? NULL : &at, &at, keys, values, &n,
						    NULL)) {
			last = errno == ENOENT;
			err = last ? 0 : -errno;
		}
		for (unsigned int i = 0; i < n && !err; i++)
			err = add(c, keys + i * key_size, values + i * value_size);
		first = false;
	}
	free(values);
	free(keys);
	return err;
}

/* The cell of one slot and CPU. With separate histograms (maps.hists) only its sums exist. */
static struct op_cell *slot_cell(const struct collecting *c, int cpu, int slot)
{
	size_t size = c->maps->hists ? sizeof(struct op_sums) : sizeof(struct op_cell);
	size_t i = SLOT_CELL((size_t)cpu, c->epoch, slot);

	return (struct op_cell *)((char *)c->maps->slots + i * size);
}

static int slot_hists_add(const struct collecting *c, int slot, struct op_row *row)
{
	unsigned int *counts;
	int err = 0;

	for (int cpu = 0; cpu < HIST_CPUS && !err; cpu++) {
		counts = c->maps->hists + (size_t)SLOT_CELL(cpu, c->epoch, slot) * HIST_N;
		err = hist_take(&row->hist, counts);
	}
	return err;
}

/* Moves the cells of one slot to its row. */
static int slot_add(struct collecting *c, int slot)
{
	const struct row_slot *s = &c->maps->live->rows[slot];
	struct op_key key = { .fs = s->fs,
			      .call = WHAT_CALL(s->what),
			      .op = WHAT_OP(s->what),
			      .cache = WHAT_CACHE(s->what) };
	struct op_row *row = NULL;
	struct op_cell *cell;
	int err = 0;

	for (int cpu = 0; cpu < c->maps->n_cpus && !err; cpu++) {
		cell = slot_cell(c, cpu, slot);
		if (!cell->sums.count)
			continue;
		row = op_row(c, &key);
		if (!row)
			return -ENOMEM;
		op_row_add(row, &cell->sums);
		memset(&cell->sums, 0, sizeof(cell->sums));
		if (!c->maps->hists)
			err = hist_take(&row->hist, cell->hist);
	}
	return c->maps->hists && row ? slot_hists_add(c, slot, row) : err;
}

/* The cell of a row of requests, in slot_rqs or among the others. */
static struct rq_cell *slot_rq_cell(const struct collecting *c, int cpu, int slot)
{
	if (!c->maps->slot_rqs)
		return (struct rq_cell *)slot_cell(c, cpu, slot);
	return &c->maps->slot_rqs[SLOT_CELL(cpu, c->epoch, slot)];
}

static int slot_rqs_add(struct collecting *c, int slot)
{
	const struct row_slot *s = &c->maps->live->rows[slot];
	struct rq_key key = { .dev = (unsigned int)s->fs,
			      .op = WHAT_OP(s->what),
			      .bio_based = WHAT_IS_BIO(s->what) };
	struct rq_cell *cell;
	struct rq_row *row;
	int err = 0;

	for (int cpu = 0; cpu < c->maps->n_cpus && cpu < RQ_CPUS && !err; cpu++) {
		cell = slot_rq_cell(c, cpu, slot);
		if (!cell->sums.count)
			continue;
		row = rq_row(c, &key);
		if (!row)
			return -ENOMEM;
		rq_row_add(row, &cell->sums);
		memset(&cell->sums, 0, sizeof(cell->sums));
		err = hist_take(&row->hist, cell->hist);
	}
	return err;
}

/* The pattern of the row to which the accesses of slot @s belong. Returns NULL if out of memory. */
static struct access_pattern *pattern_of(struct collecting *c, const struct access_slot *s)
{
	struct rq_key rq_key = { .dev = (unsigned int)s->fs,
				 .op = WHAT_OP(s->what),
				 .bio_based = WHAT_IS_BIO(s->what),
				 .by = { s->by[0], s->by[1] } };
	struct op_key op_key = { .fs = s->fs,
				 .call = WHAT_CALL(s->what),
				 .op = WHAT_OP(s->what),
				 .by = { s->by[0], s->by[1] } };
	struct access_pattern **pattern;
	struct rq_row *rq = NULL;
	struct op_row *op = NULL;

	if (s->what & ROW_REQUESTS)
		rq = rq_row(c, &rq_key);
	else
		op = op_row(c, &op_key);
	if (!rq && !op)
		return NULL;
	pattern = rq ? &rq->pattern : &op->pattern;
	if (!*pattern)
		*pattern = calloc(1, sizeof(**pattern));
	return *pattern;
}

static int accesses_empty(struct collecting *c)
{
	struct access_pattern *pattern;
	struct access_sums *sums;
	int err = 0;

	for (unsigned int i = 0; i < c->maps->n_accesses && !err; i++) {
		sums = &c->maps->accesses[i].sums[c->epoch];
		if (!access_sums_count(sums))
			continue;
		pattern = pattern_of(c, &c->maps->accesses[i]);
		err = pattern ? access_pattern_add_sums(pattern, sums, c->maps->accesses[i].sizes)
			      : -ENOMEM;
		*sums = (struct access_sums){};
	}
	return err;
}

/* Adds accesses whose size has no place in their slot. */
static int access_size_add(struct collecting *c, const void *key, const void *n)
{
	const struct access_size *k = key;
	struct access_pattern *pattern;

	if (k->slot >= c->maps->n_accesses)
		return 0;
	pattern = pattern_of(c, &c->maps->accesses[k->slot]);
	return pattern ? hist_add(&pattern->sizes, k->bucket, *(const unsigned long long *)n)
		       : -ENOMEM;
}

static int slots_empty(struct collecting *c)
{
	unsigned int what;
	int err = 0;

	for (int slot = 0; slot < ROW_SLOTS && !err; slot++) {
		what = c->maps->live->rows[slot].what;
		if (what & ROW_REQUESTS)
			err = slot_rqs_add(c, slot);
		else if (what && c->maps->slots)
			err = slot_add(c, slot);
	}
	return err;
}

int collect(const struct cell_maps *maps, unsigned int epoch, struct collected *to)
{
	struct collecting c = { .maps = maps, .epoch = epoch, .to = to };
	int err = 0;

	devices_age(&to->devices);
	if (maps->by == BY_DEV || maps->by == BY_SERVER)
		mounts_read(&c.mounts); /* if this fails, devices are shown by number */
	/* most runs have no such rows, and a map lookup keeps perf's tracepoints from running on
	 * this CPU */
	if (maps->live->op_rows_made[epoch])
		err = hash_empty(&c, maps->ops[epoch], sizeof(struct op_key),
				 sizeof(struct op_entry), op_entry_add);
	if (!err && maps->by == BY_FILE && maps->live->op_rows_made[epoch])
		err = hash_empty(&c, maps->file_names[epoch], 2 * sizeof(unsigned long long),
				 sizeof(struct file_name), name_entry_add);
	if (!err && BY_NAMES_THREADS(maps->by))
		err = hash_empty(&c, maps->thread_names[epoch], sizeof(unsigned long long),
				 sizeof(struct thread_name), thread_entry_add);
	if (!err && maps->live->rq_rows_made[epoch])
		err = hash_empty(&c, maps->rqs[epoch], sizeof(struct rq_key),
				 sizeof(struct rq_sums), rq_entry_add);
	if (!err && maps->live->helper_rows_made[epoch])
		err = hash_empty(&c, maps->helpers[epoch], sizeof(struct helper_key),
				 sizeof(struct helper_sums), helper_entry_add);
	if (!err && maps->live->site_rows_made[epoch])
		err = hash_empty(&c, maps->sites[epoch], sizeof(struct site_key),
				 sizeof(struct site_sums), site_entry_add);
	if (!err && maps->live->who_rows_made[epoch])
		err = hash_empty(&c, maps->whos[epoch], sizeof(struct who_key),
				 sizeof(struct who_sums), who_entry_add);
	if (!err && maps->live->server_rows_made[epoch])
		err = hash_empty(&c, maps->servers[epoch], sizeof(struct server_key),
				 sizeof(struct server_sums), server_entry_add);
	if (!err)
		err = slots_empty(&c);
	if (!err)
		err = server_slots_empty(&c);
	if (!err)
		err = accesses_empty(&c);
	if (!err && maps->n_accesses && maps->live->access_sizes_made[epoch])
		err = hash_empty(&c, maps->access_sizes[epoch], sizeof(struct access_size),
				 sizeof(unsigned long long), access_size_add);
	mounts_free(&c.mounts);
	return err;
}
