// SPDX-License-Identifier: GPL-2.0-only
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/conf.h"
#include "path.h"

#define DEV_MAJOR(dev) ((dev) >> 20)
#define DEV_MINOR(dev) ((dev) & 0xfffffU)

void collect_fs_name(const struct fs_seen *seen, unsigned long long fs, char ret_name[FS_NAME_LEN])
{
	snprintf(ret_name, FS_NAME_LEN, "%s", fs == FS_BDEV ? "bdev" : "");
	for (int i = 0; i < FS_SLOTS && fs > FS_BDEV; i++) {
		if (seen[i].fs != fs)
			continue;
		memcpy(ret_name, seen[i].name, FS_NAME_LEN);
		ret_name[FS_NAME_LEN - 1] = '\0';
		return;
	}
}

void collect_dev_name(const struct mounts *mounts, unsigned int dev, char *name, size_t cap)
{
	char link[64], target[PATH_MAX];
	const struct mount *m;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
	n = readlink(link, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		snprintf(name, cap, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
		return;
	}
	m = mounts_by_dev(mounts, dev);
	if (m)
		snprintf(name, cap, "%s", m->point);
	else
		snprintf(name, cap, "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
}

/* A block device, not a file of the file system with that number; see key_set_by(). */
#define BY_BLOCK_DEVICE (1ULL << 32)

static char *file_path(const struct cell_maps *maps, const struct mounts *mounts,
		       const unsigned long long by[2])
{
	struct file_name name;
	struct path_file f = { .dev = by[0], .is_bdev = by[0] & BY_BLOCK_DEVICE, .ino = by[1] };

	if (!by[1])
		return strdup("(no file)");
	if (!bpf_map_lookup_elem(maps->file_names, by, &name))
		f.name = &name;
	return path_full(mounts, &f);
}

/* A kernfs file handle is the cgroup's id (type FILEID_KERNFS, include/linux/exportfs.h). */
static char *cgroup_path(unsigned long long id)
{
	struct {
		struct file_handle head;
		unsigned long long id;
	} handle = { .head = { .handle_bytes = 8, .handle_type = 0xfe } };
	const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char link[64], target[PATH_MAX], *text = NULL;
	ssize_t n = -1;
	int root, fd;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	for (size_t i = 0; i < 2 && n < 0; i++) {
		root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = root < 0 ? -1 : open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (fd >= 0)
			n = readlink(link, target, sizeof(target) - 1);
		if (n > 0) {
			target[n] = '\0';
			text = strdup(strlen(roots[i]) < (size_t)n ? target + strlen(roots[i]) :
								     target);
		}
		if (fd >= 0)
			close(fd);
		if (root >= 0)
			close(root);
	}
	if (!text && asprintf(&text, "cgroup %llu", id) < 0)
		text = NULL;
	return text;
}

static char *by_text(const struct cell_maps *maps, const struct mounts *mounts,
		     const struct op_key *key)
{
	char text[PATH_MAX];

	switch (maps->by) {
	case BY_PID:
		snprintf(text, sizeof(text), "%llu", key->by[0]);
		return strdup(text);
	case BY_COMM:
		memcpy(text, key->by, COMM_LEN);
		text[COMM_LEN] = '\0';
		return strdup(text);
	case BY_FILE:
		return file_path(maps, mounts, key->by);
	case BY_CGROUP:
		return cgroup_path(key->by[0]);
	case BY_DEV:
		collect_dev_name(mounts, key->by[0], text, sizeof(text));
		return strdup(key->by[0] ? text : "(no file)");
	default:
		return NULL;
	}
}

static void op_row_add(struct op_row *row, const struct op_cell *c)
{
	row->count += c->count;
	row->errors += c->errors;
	row->bytes += c->bytes;
	row->total_ns += c->total_ns;
	if (row->max_ns < c->max_ns)
		row->max_ns = c->max_ns;
	for (int i = 0; i < ST_N; i++)
		row->strata[i] += c->strata[i];
	for (int i = 0; i < HIST_N; i++)
		row->hist[i] += c->hist[i];
}

static void rq_row_add(struct rq_row *row, const struct rq_cell *c)
{
	row->count += c->count;
	row->errors += c->errors;
	row->bytes += c->bytes;
	row->requeues += c->requeues;
	row->unqueued += c->unqueued;
	row->tag_ns += c->tag_ns;
	row->queue_ns += c->queue_ns;
	row->device_ns += c->device_ns;
	if (row->max_ns < c->max_ns)
		row->max_ns = c->max_ns;
	for (int i = 0; i < HIST_N; i++)
		row->hist[i] += c->hist[i];
}

/* All keys of a map, @key_size bytes each; the caller frees. */
static int map_keys(int fd, size_t key_size, void **ret_keys, size_t *ret_n)
{
	size_t n = 0, cap = 0;
	char *keys = NULL, *more;

	for (;;) {
		if (n == cap) {
			cap = cap ? 2 * cap : 64;
			more = reallocarray(keys, cap, key_size);
			if (!more) {
				free(keys);
				return -ENOMEM;
			}
			keys = more;
		}
		if (bpf_map_get_next_key(fd, n ? keys + (n - 1) * key_size : NULL,
					 keys + n * key_size))
			break;
		n++;
	}
	*ret_keys = keys;
	*ret_n = n;
	return 0;
}

static int collect_op(const struct cell_maps *maps, const struct mounts *mounts,
		      const struct op_key *key, struct op_cell *cells, struct op_row *row)
{
	int n = maps->per_cpu ? maps->n_cpus : 1;

	if (bpf_map_lookup_elem(maps->ops, key, cells))
		return -errno;
	row->key = *key;
	for (int i = 0; i < n; i++)
		op_row_add(row, &cells[i]);
	collect_fs_name(maps->fs_seen, key->fs, row->fs);
	row->by = by_text(maps, mounts, key);
	bpf_map_delete_elem(maps->ops, key);
	return 0;
}

/* The row of a slot, a new one if there is none. */
static struct op_row *row_of(const struct cell_maps *maps, struct snapshot *sn,
			     const struct row_slot *slot)
{
	struct op_key key = { .fs = slot->fs, .call = WHAT_CALL(slot->what),
			      .op = WHAT_OP(slot->what), .cache = WHAT_CACHE(slot->what) };
	struct op_row *row;

	for (size_t i = 0; i < sn->n_ops; i++) {
		row = &sn->ops[i];
		if (row->key.fs == key.fs && row->key.call == key.call && row->key.op == key.op &&
		    row->key.cache == key.cache)
			return row;
	}
	row = &sn->ops[sn->n_ops++];
	row->key = key;
	collect_fs_name(maps->fs_seen, key.fs, row->fs);
	return row;
}

/* Adds the cells of slots to the rows. */
static void collect_direct(const struct cell_maps *maps, unsigned char epoch, struct snapshot *sn)
{
	struct op_cell *cell;

	for (int cpu = 0; cpu < maps->n_cpus; cpu++) {
		for (int slot = 0; slot < ROW_SLOTS; slot++) {
			cell = &maps->direct[DIRECT_CELL(cpu, epoch, slot)];
			if (!cell->count)
				continue;
			op_row_add(row_of(maps, sn, &maps->slots[slot]), cell);
			memset(cell, 0, sizeof(*cell));
		}
	}
}

static int collect_ops(const struct cell_maps *maps, const struct mounts *mounts,
		       unsigned char epoch, struct snapshot *sn)
{
	struct op_cell *cells = NULL;
	void *keys = NULL;
	size_t n = 0;
	int err;

	if (maps->ops < 0)
		return 0;
	err = map_keys(maps->ops, maps->op_key_size, &keys, &n);
	if (err)
		return err;
	cells = calloc(maps->per_cpu ? maps->n_cpus : 1, sizeof(*cells));
	sn->ops = calloc(n + ROW_SLOTS, sizeof(*sn->ops));
	if (!cells || !sn->ops)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct op_key key = {};

		memcpy(&key, (char *)keys + i * maps->op_key_size, maps->op_key_size);
		if (key.epoch != epoch)
			continue;
		if (!collect_op(maps, mounts, &key, cells, &sn->ops[sn->n_ops]))
			sn->n_ops++;
	}
	if (!err && maps->direct)
		collect_direct(maps, epoch, sn);
	free(cells);
	free(keys);
	return err;
}

/* The row of @key, a new one if there is none. */
static struct rq_row *rq_row_of(const struct mounts *mounts, struct snapshot *sn,
				const struct rq_key *key)
{
	struct rq_row *row;

	for (size_t i = 0; i < sn->n_rqs; i++) {
		row = &sn->rqs[i];
		if (!memcmp(&row->key, key, sizeof(*key)))
			return row;
	}
	row = &sn->rqs[sn->n_rqs++];
	row->key = *key;
	row->major = DEV_MAJOR(key->dev);
	row->minor = DEV_MINOR(key->dev);
	collect_dev_name(mounts, key->dev, row->disk, sizeof(row->disk));
	return row;
}

static void collect_direct_rqs(const struct cell_maps *maps, const struct mounts *mounts,
			       unsigned char epoch, struct snapshot *sn)
{
	struct rq_cell *cell;
	struct rq_key key;

	for (int cpu = 0; cpu < maps->n_cpus && cpu < RQ_CPUS; cpu++) {
		for (int slot = 0; slot < ROW_SLOTS; slot++) {
			cell = &maps->direct_rqs[DIRECT_CELL(cpu, epoch, slot)];
			if (!cell->count)
				continue;
			key = (struct rq_key){ .dev = maps->slots[slot].fs, .epoch = epoch,
					       .op = WHAT_OP(maps->slots[slot].what),
					       .bio_based = WHAT_IS_BIO(maps->slots[slot].what) };
			rq_row_add(rq_row_of(mounts, sn, &key), cell);
			memset(cell, 0, sizeof(*cell));
		}
	}
}

static int collect_rqs(const struct cell_maps *maps, const struct mounts *mounts,
		       unsigned char epoch, struct snapshot *sn)
{
	struct rq_cell cell;
	struct rq_key *keys;
	size_t n;
	int err;

	if (maps->rqs < 0)
		return 0;
	err = map_keys(maps->rqs, sizeof(*keys), (void **)&keys, &n);
	if (err)
		return err;
	sn->rqs = calloc(n + ROW_SLOTS, sizeof(*sn->rqs));
	for (size_t i = 0; sn->rqs && i < n; i++) {
		if (keys[i].epoch != epoch || bpf_map_lookup_elem(maps->rqs, &keys[i], &cell))
			continue;
		rq_row_add(rq_row_of(mounts, sn, &keys[i]), &cell);
		bpf_map_delete_elem(maps->rqs, &keys[i]);
	}
	if (sn->rqs && maps->direct_rqs)
		collect_direct_rqs(maps, mounts, epoch, sn);
	free(keys);
	return sn->rqs ? 0 : -ENOMEM;
}

int collect(const struct cell_maps *maps, unsigned char epoch, struct snapshot *sn)
{
	struct mounts mounts = {};
	int err;

	mounts_read(&mounts); /* without it names are numbers */
	err = collect_ops(maps, &mounts, epoch, sn);
	if (!err)
		err = collect_rqs(maps, &mounts, epoch, sn);
	mounts_free(&mounts);
	return err;
}
