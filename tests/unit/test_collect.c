// SPDX-License-Identifier: GPL-2.0-only
/* The contents of maps, slots and hashes become rows and names, once. The maps are made here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/conf.h"
#include "trace/collect.h"

enum { CPUS = RQ_CPUS + 3, EXT4 = 1000, XFS = 2000, ROWS = 1201, BATCHES_OF = 500 };
enum { SDA = 8 << 20, SDB = SDA | 16, MD = 9 << 20 | 0xfffff };

/* A hash: what is in it, and how far it was read. */
struct made_map {
	const void *keys, *values;
	size_t key_size, value_size;
	unsigned int n, at;
	int err; /* what reading it fails with */
	bool read;
};

enum { OPS, RQS, HELPERS, WHYS, FILES, TASKS, SIZES, SERVERS, MAPS };

static struct made_map maps[MAPS];

/* Instead of libbpf's. The last batch ends with ENOENT, as in the kernel. */
int bpf_map_lookup_and_delete_batch(int fd, void *in, void *out, void *keys, void *values,
				    __u32 *count, const struct bpf_map_batch_opts *opts)
{
	struct made_map *m = &maps[fd];
	unsigned int n = m->n - m->at < BATCHES_OF ? m->n - m->at : BATCHES_OF;

	assert_in_range(fd, 0, MAPS - 1);
	assert_null(opts);
	assert_true(*count >= BATCHES_OF);
	assert_int_equal(!in, !m->at);
	if (in)
		assert_int_equal(*(unsigned int *)in, m->at);
	*count = 0;
	m->read = true;
	if (m->err) {
		errno = m->err;
		return -errno;
	}
	if (n) {
		memcpy(keys, (const char *)m->keys + m->at * m->key_size, n * m->key_size);
		memcpy(values, (const char *)m->values + m->at * m->value_size, n * m->value_size);
	}
	m->at += n;
	*(unsigned int *)out = m->at;
	*count = n;
	errno = ENOENT;
	return m->at == m->n ? -ENOENT : 0;
}

static unsigned int looked_up, met, aged;
static bool has_mounts;

/* Instead of what asks this machine for names. */
void lookup_dev(const struct mounts *mounts, unsigned int dev, char *name, size_t cap)
{
	looked_up++;
	has_mounts = mounts->n;
	memset(name, '#', cap);
	snprintf(name, cap, "disk %x", dev);
}

char *lookup_cgroup(unsigned long long id)
{
	char *text = NULL;

	return asprintf(&text, "cgroup %llx", id) < 0 ? NULL : text;
}

enum { DEV_GONE = 0x7700077 };

void devices_meet(struct devices *d, unsigned int dev)
{
	(void)d;
	met += dev;
}

/* A disk that is gone is known by its former name. */
const struct device *devices_find(const struct devices *d, unsigned int dev)
{
	static const struct device gone = { .name = "gone", .dev = DEV_GONE };

	(void)d;
	return dev == DEV_GONE ? &gone : NULL;
}

void devices_age(struct devices *d)
{
	(void)d;
	aged++;
}

struct run {
	struct live live;
	struct cell_maps maps;
	struct collected to;
	struct snapshot sn;
};

static void fill_map(struct run *r, int which, const void *keys, size_t key_size,
		     const void *values, size_t value_size, unsigned int n)
{
	maps[which] = (struct made_map){ keys, values, key_size, value_size, n, 0, 0, false };
	if (which == OPS)
		r->live.op_rows_made[1] = n;
	else if (which == RQS)
		r->live.rq_rows_made[1] = n;
	else if (which == HELPERS)
		r->live.helper_rows_made[1] = n;
	else if (which == WHYS)
		r->live.site_rows_made[1] = n;
	else if (which == SIZES)
		r->live.access_sizes_made[1] = n;
	else if (which == SERVERS)
		r->live.server_rows_made[1] = n;
}

static struct run *run_new(enum by_key by)
{
	struct run *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	memset(maps, 0, sizeof(maps));
	looked_up = met = aged = 0;
	has_mounts = false;
	/* epoch 1 is read, the other has no maps */
	r->maps = (struct cell_maps){ .ops = { -1, OPS },
				      .rqs = { -1, RQS },
				      .helpers = { -1, HELPERS },
				      .sites = { -1, WHYS },
				      .servers = { -1, SERVERS },
				      .file_names = { -1, FILES },
				      .thread_names = { -1, TASKS },
				      .access_sizes = { -1, SIZES },
				      .n_cpus = CPUS,
				      .live = &r->live,
				      .by = by };
	r->live.op_rows_made[0] = r->live.rq_rows_made[0] = r->live.helper_rows_made[0] = 7;
	r->live.site_rows_made[0] = r->live.access_sizes_made[0] = 7;
	r->live.fs_types[3] = (struct fs_entry){ .fs = EXT4, .name = "ext4" };
	r->live.fs_types[FS_SLOTS - 1] = (struct fs_entry){ .fs = XFS };
	memset(r->live.fs_types[FS_SLOTS - 1].name, 'x', FS_NAME_LEN);
	return r;
}

static void run_collect(struct run *r)
{
	assert_int_equal(collect(&r->maps, 1, &r->to), 0);
	assert_int_equal(aged, 1);
	rows_take(&r->to.rows, &r->sn);
}

static void run_free(struct run *r)
{
	snapshot_free(&r->sn);
	rows_done(&r->to.rows);
	filenames_done(&r->to.files);
	threadnames_done(&r->to.threads);
	free(r->maps.slots);
	free(r->maps.hists);
	free(r->maps.slot_rqs);
	free(r);
}

static void file_systems_have_names(void **state)
{
	struct run *r = run_new(BY_NONE);
	char name[FS_NAME_LEN] = "before";

	(void)state;
	collect_fs_name(r->live.fs_types, EXT4, name);
	assert_string_equal(name, "ext4");
	collect_fs_name(r->live.fs_types, XFS, name);
	assert_int_equal(strlen(name), FS_NAME_LEN - 1);
	collect_fs_name(r->live.fs_types, FS_BDEV, name);
	assert_string_equal(name, "bdev");
	collect_fs_name(r->live.fs_types, 77, name);
	assert_string_equal(name, "");
	r->live.fs_types[0] = (struct fs_entry){ .fs = 77, .name = "first" };
	collect_fs_name(r->live.fs_types, 77, name);
	assert_string_equal(name, "first");
	r->live.fs_types[0] = (struct fs_entry){ .fs = FS_UNKNOWN, .name = "none" };
	collect_fs_name(r->live.fs_types, FS_UNKNOWN, name);
	assert_string_equal(name, "");
	run_free(r);
}

static void a_hash_is_rows_with_histograms(void **state)
{
	struct op_key *keys = calloc(ROWS, sizeof(*keys));
	struct op_entry *entries = calloc(ROWS, sizeof(*entries));
	struct run *r = run_new(BY_NONE);

	(void)state;
	assert_true(keys && entries);
	for (unsigned int i = 0; i < ROWS; i++) {
		keys[i] = (struct op_key){ .fs = i % 2 ? EXT4 : FS_BDEV,
					   .op = OP_READ,
					   .bucket = i / 2 };
		entries[i].sums = (struct op_sums){ .count = i + 1, .bytes = 1, .max_ns = i };
	}
	fill_map(r, OPS, keys, sizeof(*keys), entries, sizeof(*entries), ROWS);
	run_collect(r);
	assert_int_equal(maps[OPS].at, ROWS);
	assert_false(maps[RQS].read || maps[HELPERS].read || maps[FILES].read || maps[TASKS].read);
	assert_int_equal(r->sn.n_ops, 2);
	assert_int_equal(r->sn.n_rqs + r->sn.n_helpers, 0);
	assert_string_equal(r->sn.ops[0].fs, "bdev");
	assert_string_equal(r->sn.ops[1].fs, "ext4");
	assert_null(r->sn.ops[0].by);
	assert_int_equal(r->sn.ops[0].bytes, ROWS / 2 + 1);
	assert_int_equal(r->sn.ops[1].bytes, ROWS / 2);
	assert_int_equal(r->sn.ops[0].max_ns, ROWS - 1);
	assert_int_equal(r->sn.ops[0].count + r->sn.ops[1].count, ROWS * (ROWS + 1) / 2);
	assert_int_equal(r->sn.ops[1].hist.n, ROWS / 2);
	for (unsigned int i = 0; i < ROWS / 2; i++) {
		assert_int_equal(r->sn.ops[1].hist.bins[i].bucket, i);
		assert_int_equal(r->sn.ops[1].hist.bins[i].count, 2 * i + 2);
	}
	run_free(r);
	free(entries);
	free(keys);
}

/* The rows of both kinds that one key makes. */
static struct run *run_by(enum by_key by, const void *by_words)
{
	static struct op_key keys[2];
	static struct rq_key rq_keys[2];
	static const struct op_entry entries[2] = { { .sums.count = 1 }, { .sums.count = 1 } };
	static const struct rq_sums rq_sums[2] = { { .count = 1 }, { .count = 2 } };
	struct run *r = run_new(by);

	keys[0] = (struct op_key){ .fs = FS_UNKNOWN };
	rq_keys[0] = rq_keys[1] = (struct rq_key){ .dev = SDA };
	memcpy(keys[0].by, by_words, sizeof(keys[0].by));
	memcpy(rq_keys[0].by, by_words, sizeof(keys[0].by));
	keys[1] = keys[0];
	keys[1].bucket = 7; /* the same row, named once */
	fill_map(r, OPS, keys, sizeof(*keys), entries, sizeof(*entries), 2);
	fill_map(r, RQS, rq_keys, sizeof(*rq_keys), rq_sums, sizeof(*rq_sums), 2);
	run_collect(r);
	assert_int_equal(r->sn.n_ops, 1);
	assert_string_equal(r->sn.ops[0].fs, "");
	return r;
}

static void check_by(enum by_key by, const void *by_words, const char *text, const char *rq_text)
{
	struct run *r = run_by(by, by_words);
	const struct rq_row *known = &r->sn.rqs[r->sn.rqs[0].count == 2];

	if (text)
		assert_string_equal(r->sn.ops[0].by, text);
	else
		assert_null(r->sn.ops[0].by);
	if (rq_text)
		assert_string_equal(known->by, rq_text);
	else
		assert_null(known->by);
	if (r->sn.n_rqs == 2)
		assert_null(r->sn.rqs[known == r->sn.rqs].by);
	assert_int_equal(has_mounts, by == BY_DEV || by == BY_SERVER);
	assert_int_equal(maps[FILES].read, by == BY_FILE);
	assert_int_equal(maps[TASKS].read, by == BY_PID || by == BY_TID || by == BY_THREAD);
	run_free(r);
}

static void keys_become_text(void **state)
{
	static const unsigned long long pid[2] = { 4194304, 7 }, dev[2] = { SDA, 0 }, none[2];

	(void)state;
	check_by(BY_NONE, none, NULL, NULL);
	check_by(BY_CACHE, pid, NULL, NULL);
	check_by(BY_PID, pid, "4194304", "4194304");
	check_by(BY_TID, pid, "4194304", "4194304");
	check_by(BY_THREAD, pid, NULL, NULL);
	check_by(BY_DEV, dev, "disk 800000", NULL);
	check_by(BY_SERVER, dev, "(no server)", NULL);
	check_by(BY_COMM, "dd\0\0\0\0\0\0\0\0\0\0\0\0\0", "dd", "dd");
	check_by(BY_COMM, "sixteen-letters-", "sixteen-letters-", "sixteen-letters-");
	check_by(BY_CGROUP, pid, "cgroup 400000", "cgroup 400000");
	check_by(BY_FILE, pid, NULL, NULL);
	check_by(BY_DEV, none, "(no file)", NULL);
}

/* Requests of 9p and SMB are told by name, those of FUSE and NFS by what the programs have. */
static void requests_to_servers_are_named(void **state)
{
	static const struct server_key keys[] = {
		{ .server = "nas", .protocol = SERVER_SMB, .opcode = 8, .bucket = 1 },
		{ .server = "nas", .protocol = SERVER_SMB, .opcode = 8, .bucket = 2 },
		{ .server = "nas", .protocol = SERVER_SMB, .opcode = 0 },
		{ .server = "nas", .protocol = SERVER_SMB, .opcode = 19 },
		{ .server = "home", .protocol = SERVER_9P, .opcode = 116 },
		{ .server = "home", .protocol = SERVER_9P, .opcode = 117 },
		{ .server = "home", .protocol = SERVER_9P, .opcode = 255 },
		{ .server = "sshfs", .protocol = SERVER_FUSE, .opcode = 15, .pid = 7 },
		{ .server = "10.0.0.7", .op = "GETATTR" },
	};
	static const char *const ops[] = { "READ",       "NEGOTIATE",  "opcode 19", "Tread",
					   "opcode 117", "opcode 255", "",          "GETATTR" };
	struct server_sums sums[9];
	struct run *r = run_new(BY_NONE);

	(void)state;
	for (int i = 0; i < 9; i++)
		sums[i] = (struct server_sums){ .count = i + 1, .server_ns = 10 };
	fill_map(r, SERVERS, keys, sizeof(*keys), sums, sizeof(*sums), 9);
	run_collect(r);
	assert_int_equal(r->sn.n_servers, 8);
	for (int i = 0; i < 8; i++) {
		assert_string_equal(r->sn.servers[i].key.op, ops[i]);
		assert_int_equal(r->sn.servers[i].key.opcode, i == 6 ? 15 : 0);
	}
	assert_int_equal(r->sn.servers[0].sums.count, 1 + 2);
	assert_int_equal(r->sn.servers[0].hist.n, 2);
	assert_string_equal(r->sn.servers[0].key.server, "nas");
	assert_int_equal(r->sn.servers[0].key.protocol, SERVER_SMB);
	run_free(r);
}

/* The sums of an epoch in a slot are added to the row of the same name in the hash, and the slot is
 * emptied. */
static void slots_of_servers_are_emptied(void **state)
{
	static const struct server_key key = { .server = "10.0.0.7", .op = "GETATTR", .bucket = 3 };
	const struct server_sums in_hash = { .count = 2, .server_ns = 6 };
	struct server_slot *slots = calloc(SERVER_SLOTS, sizeof(*slots));
	struct run *r = run_new(BY_NONE);

	(void)state;
	for (int epoch = 0; epoch < 2; epoch++) {
		struct server_cell *last = &slots[SERVER_SLOTS - 1].epochs[epoch];
		struct server_cell *first = &slots[0].epochs[epoch];

		first->sums = (struct server_sums){ .count = 5, .errors = 1, .server_ns = 40 };
		first->hist[3] = 1;
		first->hist[9] = 4;
		last->sums = (struct server_sums){ .count = 7, .max_ns = 11 };
		last->hist[11] = 7;
	}
	strcpy(slots[0].server, "10.0.0.7");
	strcpy(slots[0].op, "GETATTR");
	memset(slots[SERVER_SLOTS - 1].server, 'x', SERVER_LEN - 1);
	strcpy(slots[SERVER_SLOTS - 1].op, "BIND_CONN_TO_SESSION");
	slots[7].hash = 1; /* no requests in this epoch */
	r->maps.server_slots = slots;
	fill_map(r, SERVERS, &key, sizeof(key), &in_hash, sizeof(in_hash), 1);
	run_collect(r);
	assert_int_equal(r->sn.n_servers, 2);
	assert_string_equal(r->sn.servers[0].key.op, "GETATTR");
	assert_int_equal(r->sn.servers[0].sums.count, 2 + 5);
	assert_int_equal(r->sn.servers[0].sums.errors, 1);
	assert_int_equal(r->sn.servers[0].sums.server_ns, 6 + 40);
	assert_int_equal(r->sn.servers[0].hist.n, 2);
	assert_int_equal(strlen(r->sn.servers[1].key.server), SERVER_LEN - 1);
	assert_string_equal(r->sn.servers[1].key.op, "BIND_CONN_TO_SESSION");
	assert_int_equal(r->sn.servers[1].key.protocol, SERVER_NFS);
	assert_int_equal(r->sn.servers[1].sums.max_ns, 11);
	assert_int_equal(r->sn.servers[1].hist.n, 1);
	for (int i = 0; i < SERVER_SLOTS; i += SERVER_SLOTS - 1) {
		assert_int_equal(slots[i].epochs[1].sums.count, 0);
		assert_int_equal(slots[i].epochs[1].hist[i ? 11 : 9], 0);
		assert_int_equal(slots[i].epochs[0].sums.count, i ? 7 : 5);
		assert_int_equal(slots[i].epochs[0].hist[i ? 11 : 9], i ? 7 : 4);
	}
	run_free(r);
	free(slots);
}

static void disks_are_named_once(void **state)
{
	static const struct rq_key keys[] = {
		{ .dev = SDA, .op = RQ_READ },
		{ .dev = SDA, .op = RQ_WRITE, .bucket = 7 },
		{ .dev = MD, .op = RQ_READ, .bio_based = 1 },
		{ .dev = SDA, .op = RQ_READ },
		{ .dev = 0, .op = RQ_READ },
		{ .dev = 0, .op = RQ_WRITE },
		{ .dev = DEV_GONE, .op = RQ_WRITE },
	};
	struct rq_sums sums[7];
	struct run *r = run_new(BY_NONE);

	(void)state;
	for (int i = 0; i < 7; i++)
		sums[i] = (struct rq_sums){ .count = i + 1, .device_ns = 10 + i };
	fill_map(r, RQS, keys, sizeof(*keys), sums, sizeof(*sums), 7);
	run_collect(r);
	assert_int_equal(r->sn.n_rqs, 6);
	assert_int_equal(r->sn.rqs[0].count, 1 + 4);
	assert_int_equal(r->sn.rqs[0].device_ns, 10 + 13);
	assert_string_equal(r->sn.rqs[0].disk, "disk 800000");
	assert_string_equal(r->sn.rqs[1].disk, "disk 800000");
	assert_int_equal(r->sn.rqs[1].hist.bins[0].bucket, 7);
	assert_int_equal(r->sn.rqs[1].hist.bins[0].count, 2);
	assert_string_equal(r->sn.rqs[2].disk, "disk 9fffff");
	assert_int_equal(r->sn.rqs[2].major, 9);
	assert_int_equal(r->sn.rqs[2].minor, 0xfffff);
	assert_string_equal(r->sn.rqs[3].disk, "(no disk)");
	assert_string_equal(r->sn.rqs[5].disk, "gone");
	assert_int_equal(looked_up, 2);
	assert_int_equal(met, SDA + MD + DEV_GONE);
	run_free(r);
}

static void helpers_have_disks_but_for_their_time(void **state)
{
	static const struct helper_key keys[] = {
		{ .comm = "kworker", .op = RQ_READ, .dev = SDB },
		{ .comm = "kworker", .op = HELPER_TIME, .dev = SDB },
		{ .comm = "kworker", .op = RQ_READ, .dev = MD },
		{ .comm = "kworker", .op = RQ_READ, .dev = SDB },
	};
	static const struct helper_sums sums[] = {
		{ .count = 1 }, { .cpu_ns = 5 }, { .count = 3 }, { .count = 7 }
	};
	struct run *r = run_new(BY_NONE);

	(void)state;
	fill_map(r, HELPERS, keys, sizeof(*keys), sums, sizeof(*sums), 4);
	run_collect(r);
	assert_int_equal(r->sn.n_helpers, 3);
	assert_string_equal(r->sn.helpers[0].disk, "disk 800010");
	assert_int_equal(r->sn.helpers[0].sums.count, 8);
	assert_string_equal(r->sn.helpers[1].disk, "");
	assert_int_equal(r->sn.helpers[1].sums.cpu_ns, 5);
	assert_string_equal(r->sn.helpers[2].disk, "disk 9fffff");
	assert_int_equal(looked_up, 2);
	run_free(r);
}

static void places_have_file_systems(void **state)
{
	static const struct site_key keys[] = {
		{ .fs = EXT4, .at = { 0x1000, 0x2000 }, .op = OP_READ },
		{ .fs = EXT4, .at = { 0x1000 }, .op = OP_READ },
		{ .fs = EXT4, .at = { 0x1000, 0x2000 }, .op = OP_READ },
		{ .fs = FS_BDEV, .at = { 0x1000 }, .op = OP_WRITE },
	};
	static const struct site_sums sums[] = {
		{ 2, 11, 7 }, { 3, 13, 13 }, { 5, 17, 5 }, { 7, 19, 19 }
	};
	struct run *r = run_new(BY_NONE);

	(void)state;
	fill_map(r, WHYS, keys, sizeof(*keys), sums, sizeof(*sums), 4);
	run_collect(r);
	assert_int_equal(maps[WHYS].at, 4);
	assert_int_equal(r->sn.n_sites, 3);
	assert_string_equal(r->sn.sites[0].fs, "ext4");
	assert_int_equal(r->sn.sites[0].sums.count, 7);
	assert_int_equal(r->sn.sites[0].sums.total_ns, 11 + 17);
	assert_int_equal(r->sn.sites[0].sums.max_ns, 7);
	assert_string_equal(r->sn.sites[1].fs, "ext4");
	assert_int_equal(r->sn.sites[1].sums.count, 3);
	assert_int_equal(r->sn.sites[1].sums.max_ns, 13);
	assert_string_equal(r->sn.sites[2].fs, "bdev");
	assert_int_equal(r->sn.sites[2].sums.total_ns, 19);
	run_free(r);
	/* a file system whose name is learned later: the row keeps what was known */
	r = run_new(BY_NONE);
	fill_map(r, WHYS, keys, sizeof(*keys), sums, sizeof(*sums), 1);
	assert_int_equal(collect(&r->maps, 1, &r->to), 0);
	r->live.fs_types[3].name[0] = 'E';
	fill_map(r, WHYS, keys, sizeof(*keys), sums, sizeof(*sums), 1);
	assert_int_equal(collect(&r->maps, 1, &r->to), 0);
	rows_take(&r->to.rows, &r->sn);
	assert_string_equal(r->sn.sites[0].fs, "ext4");
	assert_int_equal(r->sn.sites[0].sums.count, 4);
	run_free(r);
}

/* A row has its names from its first entry on. */
static void rows_have_names_from_the_first_on(void **state)
{
	static const struct op_key key = { .fs = EXT4, .op = OP_READ, .by = { 4194303 } };
	static const struct op_entry entry = { .sums.count = 1 };
	struct run *r = run_new(BY_PID);

	(void)state;
	fill_map(r, OPS, &key, sizeof(key), &entry, sizeof(entry), 1);
	run_collect(r);
	assert_int_equal(r->sn.n_ops, 1);
	assert_string_equal(r->sn.ops[0].fs, "ext4");
	assert_string_equal(r->sn.ops[0].by, "4194303");
	run_free(r);
}

static void names_come_with_rows(void **state)
{
	static const unsigned long long ids[2][2] = { { 5, 6 | FILE_ID_AGAIN }, { 7, 8 } };
	static struct file_name files[2] = {
		{ .len = 3, .complete = 1, .unmounted = 1, .names = "f\0" },
		{ .len = 3, .complete = 1, .unmounted = 1, .names = "g\0" }
	};
	static const struct thread_name tasks[2] = { { 3, "dd", 0 }, { 4, "sixteen-letters-", 0 } };
	static const struct op_key keys[2] = { { .op = OP_READ, .by = { 5, 6 } },
					       { .op = OP_READ, .by = { 7, 8 } } };
	static const struct op_entry entries[2] = { { .sums.count = 1 }, { .sums.count = 1 } };
	struct run *r = run_new(BY_FILE);

	(void)state;
	fill_map(r, OPS, keys, sizeof(*keys), entries, sizeof(*entries), 2);
	fill_map(r, FILES, ids, sizeof(*ids), files, sizeof(*files), 2);
	run_collect(r);
	assert_int_equal(filenames_name(&r->to.files, &r->sn), 0);
	assert_string_equal(r->sn.ops[0].by, "<0:5>/f");
	assert_string_equal(r->sn.ops[1].by, "<0:7>/g");
	run_free(r);

	r = run_new(BY_TID);
	fill_map(r, OPS, keys, sizeof(*keys), entries, sizeof(*entries), 2);
	fill_map(r, TASKS, (const unsigned long long[]){ 5, 7 }, 8, tasks, sizeof(*tasks), 2);
	run_collect(r);
	threadnames_name(&r->to.threads, &r->sn);
	assert_string_equal(r->sn.ops[0].comm, "dd");
	assert_memory_equal(r->sn.ops[1].comm, "sixteen-letters", COMM_LEN);
	run_free(r);
}

/* Fills what CPUs counted in @slot of both epochs; the numbers tell the CPU. */
static void fill_slots(struct run *r, int slot)
{
	size_t size = r->maps.hists ? sizeof(struct op_sums) : sizeof(struct op_cell);

	for (int epoch = 0; epoch < 2; epoch++)
		for (int cpu = 0; cpu < CPUS; cpu += 2) {
			size_t i = SLOT_CELL((size_t)cpu, epoch, slot);
			struct op_cell *c = (void *)((char *)r->maps.slots + i * size);

			c->sums.count = 1 + cpu + 1000 * (1 - epoch);
			c->sums.max_ns = 7;
			if (r->maps.hists) {
				i = SLOT_CELL(cpu % HIST_CPUS, epoch, slot);
				r->maps.hists[i * HIST_N + 3] = c->sums.count;
			} else {
				c->hist[3] = c->sums.count;
			}
		}
}

static uint64_t in_slots(const struct run *r, int epoch, int slot)
{
	size_t size = r->maps.hists ? sizeof(struct op_sums) : sizeof(struct op_cell);
	uint64_t n = 0;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		size_t i = SLOT_CELL((size_t)cpu, epoch, slot);
		const struct op_cell *c = (void *)((char *)r->maps.slots + i * size);

		n += c->sums.count + c->sums.max_ns;
		if (!r->maps.hists)
			n += c->hist[3];
		else if (cpu < HIST_CPUS)
			n += r->maps.hists[SLOT_CELL(cpu, epoch, slot) * HIST_N + 3];
	}
	return n;
}

static void slots_are_emptied(void **state)
{
	static const int slots[] = { 0, 9, ROW_SLOTS - 1 };

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		struct run *r = run_new(BY_CACHE);
		uint64_t want = 0;

		r->live.op_rows_made[1] = 0;
		r->maps.slots = calloc(SLOT_CELLS((size_t)CPUS), sizeof(struct op_cell));
		if (apart)
			r->maps.hists = calloc(SLOT_CELLS((size_t)HIST_CPUS) * HIST_N, 4);
		for (int i = 0; i < 3; i++) {
			r->live.rows[slots[i]].fs = i ? EXT4 : FS_BDEV;
			r->live.rows[slots[i]].what = 17 | OP_WRITE << 16 | i << 24;
			fill_slots(r, slots[i]);
		}
		fill_slots(r, 4); /* nobody's */
		for (int cpu = 0; cpu < CPUS; cpu += 2)
			want += 1 + cpu;
		run_collect(r);
		assert_false(maps[OPS].read);
		assert_int_equal(r->sn.n_ops, 3);
		for (int i = 0; i < 3; i++) {
			const struct op_row *row = &r->sn.ops[i];

			assert_string_equal(row->fs, i ? "ext4" : "bdev");
			assert_int_equal(row->key.fs, i ? EXT4 : FS_BDEV);
			assert_int_equal(row->key.call, 17);
			assert_int_equal(row->key.op, OP_WRITE);
			assert_int_equal(row->key.cache, i);
			assert_int_equal(row->count, want);
			assert_int_equal(row->max_ns, 7);
			assert_int_equal(row->hist.n, 1);
			assert_int_equal(row->hist.bins[0].bucket, 3);
			assert_int_equal(row->hist.bins[0].count, want);
			assert_int_equal(in_slots(r, 1, slots[i]), 0);
			assert_true(in_slots(r, 0, slots[i]) > want);
		}
		assert_true(in_slots(r, 1, 4) > want);
		run_free(r);
	}
}

static void check_slots_of_requests(int cpus, int have)
{
	struct run *r = run_new(BY_NONE);
	struct rq_cell *c;
	uint64_t want = 0;

	r->maps.n_cpus = cpus;
	r->live.rq_rows_made[1] = 0;
	r->maps.slot_rqs = calloc(SLOT_CELLS(have), sizeof(*c));
	for (int slot = 6; slot < 8; slot++) {
		r->live.rows[slot] =
			(struct row_slot){ .fs = SDB, .what = REQUESTS_WHAT(RQ_WRITE, slot & 1) };
		for (int epoch = 0; epoch < 2; epoch++)
			for (int cpu = 0; cpu < have; cpu += 3) {
				c = &r->maps.slot_rqs[SLOT_CELL(cpu, epoch, slot)];
				c->sums.count = c->hist[5] = 1 + cpu + 1000 * (1 - epoch);
				c->sums.device_ns = 10;
			}
	}
	r->live.rows[8].what = OP_READ << 16; /* of operations, which have no slots here */
	for (int cpu = 0; cpu < have; cpu += 3)
		want += 1 + cpu;
	run_collect(r);
	assert_int_equal(r->sn.n_rqs, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r->sn.rqs[i].count, want);
		assert_int_equal(r->sn.rqs[i].hist.bins[0].count, want);
		assert_int_equal(r->sn.rqs[i].device_ns, 10 * ((have + 2) / 3));
		assert_int_equal(r->sn.rqs[i].key.op, RQ_WRITE);
		assert_int_equal(r->sn.rqs[i].key.bio_based, i);
		assert_int_equal(r->sn.rqs[i].major, 8);
		assert_int_equal(r->sn.rqs[i].minor, 16);
		assert_string_equal(r->sn.rqs[i].disk, "disk 800010");
		c = &r->maps.slot_rqs[SLOT_CELL(0, 1, 6 + i)];
		assert_int_equal(c->sums.count + c->sums.device_ns + c->hist[5], 0);
		c = &r->maps.slot_rqs[SLOT_CELL(0, 0, 6 + i)];
		assert_int_equal(c->sums.count, 1001);
	}
	run_free(r);
}

/* Rows of requests may have their cells among those of operations. */
static void one_array_has_both_kinds_of_slots(void **state)
{
	struct run *r = run_new(BY_NONE);
	struct rq_cell *c;

	(void)state;
	r->maps.n_cpus = 2;
	r->live.rq_rows_made[1] = 0;
	r->maps.slots = calloc(SLOT_CELLS(2), sizeof(*r->maps.slots));
	r->live.rows[6] = (struct row_slot){ .fs = SDB, .what = REQUESTS_WHAT(RQ_WRITE, 0) };
	r->live.rows[7] = (struct row_slot){ .fs = EXT4, .what = ROW_WHAT(0, OP_READ, 0) };
	r->maps.slots[SLOT_CELL(1, 1, 7)].sums = (struct op_sums){ .count = 3, .total_ns = 9 };
	r->maps.slots[SLOT_CELL(1, 1, 7)].hist[4] = 3;
	c = (struct rq_cell *)&r->maps.slots[SLOT_CELL(1, 1, 6)];
	c->sums.count = c->hist[HIST_N - 1] = 5;
	c->sums.device_ns = 50;
	run_collect(r);
	assert_int_equal(r->sn.n_rqs, 1);
	assert_int_equal(r->sn.rqs[0].count, 5);
	assert_int_equal(r->sn.rqs[0].device_ns, 50);
	assert_int_equal(r->sn.rqs[0].hist.bins[0].count, 5);
	assert_int_equal(r->sn.n_ops, 1);
	assert_int_equal(r->sn.ops[0].count, 3);
	assert_int_equal(c->sums.count + c->sums.device_ns + c->hist[HIST_N - 1], 0);
	run_free(r);
}

static void slots_of_requests_are_emptied(void **state)
{
	(void)state;
	check_slots_of_requests(2, 2);
	check_slots_of_requests(CPUS, RQ_CPUS);
}

/* The accesses of a slot are in the row with its key, and once. */
static void accesses_are_patterns_of_rows(void **state)
{
	const struct op_key file = { .fs = EXT4, .op = OP_READ, .by = { 8, 23 } };
	const struct op_entry ops = { .sums.count = 30 };
	const struct access_size size[] = { { 2, hist_bucket(9 << 10) }, { 7, 1 } };
	const unsigned long long n[] = { 5, 1 };
	struct access_slot slots[4] = {
		[2] = { .fs = EXT4, .by = { 8, 23 }, .what = ROW_WHAT(0, OP_READ, 0) },
		[3] = { .fs = SLOT_OF_DEV | SDB, .what = REQUESTS_WHAT(RQ_WRITE, 1) },
	};
	struct run *r = run_new(BY_FILE);
	const struct access *a;

	(void)state;
	slots[2].sizes[0] = 512;
	slots[2].sizes[1] = 4096;
	slots[2].sums[0].others = 1000; /* of the other epoch */
	slots[2].sums[1] = (struct access_sums){ { 3, 22 }, 5, 46080, 9300, 11, 7, 12345 };
	slots[3].sums[1].others = 1;
	r->live.rq_rows_made[1] = 0;
	r->maps.accesses = slots;
	r->maps.n_accesses = 4;
	fill_map(r, OPS, &file, sizeof(file), &ops, sizeof(ops), 1);
	fill_map(r, SIZES, size, sizeof(*size), n, sizeof(*n), 2);
	run_collect(r);
	assert_int_equal(r->sn.n_ops, 1);
	assert_int_equal(r->sn.ops->count, 30);
	a = &r->sn.ops->pattern->access;
	assert_int_equal(a->count, 30);
	assert_int_equal(a->bytes, 3 * 512 + 22 * 4096 + 46080);
	assert_int_equal(a->max_bytes, 9300);
	assert_int_equal(a->sequential, 11);
	assert_int_equal(a->strided, 7);
	assert_int_equal(a->distance, 12345);
	assert_int_equal(r->sn.ops->pattern->sizes.n, 3);
	assert_int_equal(access_pattern_median(r->sn.ops->pattern), 4096 + 64);
	assert_int_equal(r->sn.n_rqs, 1);
	assert_int_equal(r->sn.rqs->key.bio_based, 1);
	assert_int_equal(r->sn.rqs->pattern->access.count, 1);
	assert_int_equal(slots[2].sums[0].others, 1000);
	assert_int_equal(slots[2].sums[1].others + slots[2].sums[1].of_size[1], 0);
	run_free(r);
}

static void an_error_ends_it(void **state)
{
	struct run *r = run_new(BY_FILE);

	(void)state;
	for (int which = 0; which < TASKS; which++) {
		static const int order[] = { OPS, FILES, RQS, HELPERS, WHYS };
		int failing = order[which];

		for (int i = 0; i < MAPS; i++)
			fill_map(r, i, NULL, 8, NULL, 8, 0);
		r->live.op_rows_made[1] = r->live.rq_rows_made[1] = 1;
		r->live.helper_rows_made[1] = r->live.site_rows_made[1] = 1;
		maps[failing].err = EFAULT;
		assert_int_equal(collect(&r->maps, 1, &r->to), -EFAULT);
		for (int i = 0; i < TASKS; i++)
			assert_int_equal(maps[order[i]].read, i <= which);
	}
	r->maps.by = BY_TID;
	maps[TASKS].err = EPERM;
	assert_int_equal(collect(&r->maps, 1, &r->to), -EPERM);
	run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_systems_have_names),
		cmocka_unit_test(a_hash_is_rows_with_histograms),
		cmocka_unit_test(keys_become_text),
		cmocka_unit_test(requests_to_servers_are_named),
		cmocka_unit_test(slots_of_servers_are_emptied),
		cmocka_unit_test(disks_are_named_once),
		cmocka_unit_test(helpers_have_disks_but_for_their_time),
		cmocka_unit_test(places_have_file_systems),
		cmocka_unit_test(rows_have_names_from_the_first_on),
		cmocka_unit_test(names_come_with_rows),
		cmocka_unit_test(slots_are_emptied),
		cmocka_unit_test(slots_of_requests_are_emptied),
		cmocka_unit_test(one_array_has_both_kinds_of_slots),
		cmocka_unit_test(accesses_are_patterns_of_rows),
		cmocka_unit_test(an_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
