// SPDX-License-Identifier: GPL-2.0-only
/* When rows are drained, of which epoch, into what; and how large the maps of rows are. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "bpf/conf.h"
#include "trace/drain.h"
#include "trace/maps.h"

static struct live live;
static uint64_t now_ns;
static int waited, wait_err, collected, collect_err, devices_were_read, devices_done_with, closed;
static unsigned int last_epoch;

/* Instead of the kernel's, and of what the programs count. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = (struct timespec){ now_ns / NS_PER_S, now_ns % NS_PER_S };
	return 0;
}

int grace_open(struct grace *g)
{
	*g = (struct grace){ 1, 2 };
	return 0;
}

void grace_done(struct grace *g)
{
	assert_int_equal(g->outer, 1);
	*g = (struct grace){ -1, -1 };
	closed++;
}

/* Programs use the other epoch by now, whose counters begin at 0. */
int grace_wait(const struct grace *g)
{
	assert_int_equal(g->outer, 1);
	assert_int_equal(live.drain_wanted, 0);
	assert_int_equal(live.op_rows_made[live.epoch], 0);
	assert_int_equal(live.rq_rows_made[live.epoch], 0);
	assert_int_equal(live.helper_rows_made[live.epoch], 0);
	assert_int_equal(live.site_rows_made[live.epoch], 0);
	assert_int_equal(live.access_sizes_made[live.epoch], 0);
	assert_int_equal(live.op_rows_made[!live.epoch], 7);
	waited++;
	return wait_err;
}

int collect(const struct cell_maps *maps, unsigned int epoch, struct collected *to)
{
	struct op_key op = { .by = { 3 } };
	struct rq_key rq = { .dev = 8 << 20, .by = { 3 } };
	struct file_name file = { .nameless = 1 };
	struct thread_name task = { .comm = "dd" };

	assert_int_equal(waited, collected + 1);
	assert_int_equal(epoch, !live.epoch);
	collected++;
	last_epoch = epoch;
	if (collect_err)
		return collect_err;
	rows_op(&to->rows, &op)->count++;
	rows_rq(&to->rows, &rq)->count++;
	if (maps->by == BY_FILE)
		return filenames_add(&to->files, (unsigned long long[]){ 3, 4 }, &file);
	return BY_NAMES_THREADS(maps->by) ? threadnames_add(&to->threads, 3, &task) : 0;
}

void devices_read(struct devices *d)
{
	(void)d;
	devices_were_read++;
}

void devices_done(struct devices *d)
{
	(void)d;
	devices_done_with++;
}

static void fresh(struct drain *d, struct cell_maps maps)
{
	waited = wait_err = collected = collect_err = devices_were_read = 0;
	live = (struct live){ .op_rows_made = { 7, 7 },
			      .rq_rows_made = { 7, 7 },
			      .helper_rows_made = { 7, 7 },
			      .site_rows_made = { 7, 7 },
			      .access_sizes_made = { 7, 7 } };
	now_ns = 1000 * (uint64_t)NS_PER_S;
	assert_int_equal(drain_open(d, &maps, &live), 0);
	assert_int_equal(d->drained_ns, now_ns);
	assert_int_equal(devices_were_read, maps.requests);
}

/* How many seconds without a map that fills up until it drains by itself. */
static int drains_after(struct cell_maps maps)
{
	struct drain d;
	int s = 0;

	fresh(&d, maps);
	for (; s < 1000 && !collected; s++) {
		now_ns += NS_PER_S - 1;
		drain_beat(&d);
		assert_int_equal(collected, 0);
		now_ns++;
		drain_beat(&d);
	}
	assert_int_equal(d.drained_ns, now_ns);
	drain_done(&d);
	return s;
}

static void it_drains_before_a_counter_can_wrap(void **state)
{
	struct op_cell cell;

	(void)state;
	assert_int_equal(drains_after((struct cell_maps){ .slots = &cell }), 10);
	assert_int_equal(drains_after((struct cell_maps){ .requests = true }), 300);
	assert_int_equal(drains_after((struct cell_maps){ .slots = &cell, .by = BY_CGROUP }), 1);
}

static void it_drains_when_a_map_fills_up(void **state)
{
	struct snapshot sn = {};
	struct drain d;

	(void)state;
	fresh(&d, (struct cell_maps){ .by = BY_PID });
	drain_beat(&d);
	assert_int_equal(waited, 0);
	for (unsigned int i = 0; i < 3; i++) {
		live.drain_wanted = 1;
		live.op_rows_made[live.epoch] = 7;
		drain_beat(&d);
		drain_beat(&d);
		assert_int_equal(collected, i + 1);
		assert_int_equal(last_epoch, i & 1);
	}
	live.op_rows_made[live.epoch] = 7;
	assert_int_equal(drain_take(&d, &sn), 0);
	assert_int_equal(collected, 4);
	assert_int_equal(sn.n_ops, 1);
	assert_int_equal(sn.ops[0].count, 4);
	assert_int_equal(sn.rqs[0].count, 4);
	assert_string_equal(sn.ops[0].comm, "dd");
	assert_ptr_equal(sn.devices, &d.got.devices);
	snapshot_free(&sn);
	drain_done(&d);
}

static void names_are_those_of_the_key(void **state)
{
	static const enum by_key by[] = { BY_NONE, BY_COMM, BY_PID, BY_TID, BY_THREAD, BY_FILE };
	struct drain d;

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct snapshot sn = {};

		fresh(&d, (struct cell_maps){ .by = by[i] });
		assert_int_equal(drain_take(&d, &sn), 0);
		assert_int_equal(!!sn.ops[0].comm[0], by[i] == BY_PID || by[i] == BY_TID);
		assert_int_equal(!!sn.ops[0].by, by[i] == BY_FILE);
		assert_int_equal(sn.n_threads, by[i] == BY_THREAD);
		snapshot_free(&sn);
		drain_done(&d);
	}
}

/* Nothing is left in memory, not even rows that nobody took. */
static void nothing_is_left(void **state)
{
	static const enum by_key by[] = { BY_TID, BY_THREAD, BY_FILE };
	struct drain d;

	(void)state;
	for (int i = 0; i < 3; i++) {
		closed = devices_done_with = 0;
		fresh(&d, (struct cell_maps){ .by = by[i] });
		live.drain_wanted = 1;
		drain_beat(&d);
		assert_int_equal(collected, 1);
		drain_done(&d);
		drain_done(&d);
		assert_int_equal(closed, 1);
		assert_int_equal(devices_done_with, 1);
	}
}

/* An error in between is told with the next snapshot; what was drained is in the one after it. */
static void errors_are_told_once(void **state)
{
	struct snapshot sn = { .n_ops = 77 };
	struct drain d;

	(void)state;
	fresh(&d, (struct cell_maps){});
	live.drain_wanted = 1;
	collect_err = -ENOMEM;
	drain_beat(&d);
	collect_err = 0;
	live.drain_wanted = 1;
	live.op_rows_made[live.epoch] = 7;
	drain_beat(&d);
	assert_int_equal(collected, 2);
	assert_int_equal(drain_take(&d, &sn), -ENOMEM);
	assert_int_equal(sn.n_ops, 77);
	live.op_rows_made[live.epoch] = 7;
	wait_err = -EPERM;
	assert_int_equal(drain_take(&d, &sn), -EPERM);
	assert_int_equal(sn.n_ops, 77);
	assert_int_equal(collected, 2);
	wait_err = 0;
	waited = collected;
	live.op_rows_made[live.epoch] = 7;
	assert_int_equal(drain_take(&d, &sn), 0);
	assert_int_equal(sn.ops[0].count, 2);
	snapshot_free(&sn);
	drain_done(&d);
	assert_int_equal(d.live == NULL, 1);
	drain_done(&d);
	drain_done(&(struct drain){ .grace = { 5, 6 } });
}

/* libbpf's: the size of a map is kept by its name. */
static char resized[1024];

struct bpf_map *bpf_object__find_map_by_name(const struct bpf_object *obj, const char *name)
{
	(void)obj;
	return (struct bpf_map *)(uintptr_t)name;
}

int bpf_map__set_max_entries(struct bpf_map *map, __u32 n)
{
	size_t len = strlen(resized);

	snprintf(resized + len, sizeof(resized) - len, "%s %u\n", (const char *)map, n);
	return 0;
}

int bpf_map__set_value_size(struct bpf_map *map, __u32 size)
{
	size_t len = strlen(resized);

	snprintf(resized + len, sizeof(resized) - len, "%s of %u\n", (const char *)map, size);
	return 0;
}

static void check_size(struct rowmaps r, struct rowmaps_size want, unsigned int op_limit,
		       unsigned int rq_limit)
{
	struct bpf_conf conf = {};
	struct rowmaps_size z;

	rowmaps_size(&r, &z);
	assert_int_equal(z.op_rows, want.op_rows);
	assert_int_equal(z.rq_rows, want.rq_rows);
	assert_int_equal(z.helper_rows, want.helper_rows);
	assert_int_equal(z.site_rows, want.site_rows);
	assert_int_equal(z.file_names, want.file_names);
	assert_int_equal(z.thread_names, want.thread_names);
	assert_int_equal(z.dirtiers, want.dirtiers);
	assert_int_equal(z.slot_cells, want.slot_cells);
	assert_int_equal(z.slot_hists, want.slot_hists);
	assert_int_equal(z.slot_rq_cells, want.slot_rq_cells);
	assert_int_equal(z.hists_apart, want.hists_apart);
	assert_int_equal(z.rq_in_cells, want.rq_in_cells);
	rowmaps_conf(&z, &conf);
	assert_int_equal(conf.op_rows_limit, op_limit);
	assert_int_equal(conf.rq_rows_limit, rq_limit);
	assert_int_equal(conf.helper_rows_limit, want.helper_rows / 4);
	assert_int_equal(conf.site_rows_limit, want.site_rows / 4);
	assert_int_equal(conf.hists_apart, want.hists_apart);
	assert_int_equal(conf.rq_in_cells, want.rq_in_cells);
}

static void maps_are_as_large_as_a_run_needs(void **state)
{
	(void)state;
	check_size((struct rowmaps){ .cpus = 2 },
		   (struct rowmaps_size){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }, 0, 0);
	check_size((struct rowmaps){ .ops = true, .requests = true, .cpus = 2, .disks = 16 },
		   (struct rowmaps_size){ 1024, 512, 1, 1, 1, 1, 1, 256, 1, 1, 0, 1 }, 256, 128);
	check_size(
		(struct rowmaps){ .ops = true, .by_call = true, .cpus = HIST_CPUS, .by = BY_CACHE },
		(struct rowmaps_size){ 2048, 1, 1, 1, 1, 1, 1, 4096, 1, 1, 0, 0 }, 512, 0);
	check_size(
		(struct rowmaps){
			.ops = true, .requests = true, .cpus = HIST_CPUS + 1, .disks = 18 },
		(struct rowmaps_size){ 1024, 512 + 128, 1, 1, 1, 1, 1, 33 * 128, 4096, 2048, 1, 0 },
		256, 160);
	check_size((struct rowmaps){ .ops = true, .requests = true, .cpus = 2, .by = BY_PID },
		   (struct rowmaps_size){ 32768, 8192, 1, 1, 1, 8192, 1, 1, 1, 1, 0, 0 }, 8192,
		   2048);
	check_size((struct rowmaps){ .ops = true, .requests = true, .cpus = 2, .by = BY_DEV },
		   (struct rowmaps_size){ 32768, 512, 1, 1, 1, 1, 1, 1, 1, 256, 0, 0 }, 8192, 128);
	check_size((struct rowmaps){ .ops = true, .requests = true, .cpus = 64, .by = BY_FILE },
		   (struct rowmaps_size){ 32768, 32768, 1, 1, 8192, 1, 1, 1, 1, 1, 0, 0 }, 4096,
		   8192);
	check_size(
		(struct rowmaps){ .requests = true, .cpus = 2, .by = BY_THREAD, .disks = 1 << 20 },
		(struct rowmaps_size){ 1, 8192, 1, 1, 1, 32768, 32768, 1, 1, 1, 0, 0 }, 0, 2048);
	check_size((struct rowmaps){ .requests = true, .cpus = 7, .by = BY_TID, .allocates = true },
		   (struct rowmaps_size){ 1, 28672, 1, 1, 1, 32768, 1, 1, 1, 1, 0, 0 }, 0, 7168);
	check_size((struct rowmaps){ .ops = true, .cpus = 2, .by = BY_FILE, .allocates = true },
		   (struct rowmaps_size){ 32768, 1, 1, 1, 32768, 1, 1, 1, 1, 1, 0, 0 }, 8192, 0);
	check_size((struct rowmaps){ .ops = true, .cpus = 2, .sites = true },
		   (struct rowmaps_size){ 1024, 1, 1, 4096, 1, 1, 1, 256, 1, 1, 0, 0 }, 256, 0);
	check_size(
		(struct rowmaps){ .requests = true, .cpus = 2, .helpers = true, .disks = 1 << 20 },
		(struct rowmaps_size){ 1, 512 + 32768, 8192, 1, 1, 1, 32768, 1, 1, 256, 0, 0 }, 0,
		8320);
}

static void the_last_cpu_of_a_list_counts(void **state)
{
	(void)state;
	assert_int_equal(maps_cpus_in("0-1\n"), 2);
	assert_int_equal(maps_cpus_in("0\n"), 1);
	assert_int_equal(maps_cpus_in("0-3,8-11\n"), 12);
	assert_int_equal(maps_cpus_in("0,2,255"), 256);
	assert_int_equal(maps_cpus_in(""), 0);
	assert_int_equal(maps_cpus_in("\n"), 0);
	assert_int_equal(maps_cpus_in("0-x"), 0);
}

static void every_map_gets_its_size(void **state)
{
	struct rowmaps_size z = { 2, 3, 4, 11, 5, 6, 7, 8, 9, 10, false, false };

	(void)state;
	resized[0] = '\0';
	rowmaps_resize(&z, NULL);
	assert_string_equal(
		resized, "op_rows_even 2\nop_rows_odd 2\nrq_rows_even 3\nrq_rows_odd 3\n"
			 "helper_rows_even 4\nhelper_rows_odd 4\n"
			 "site_rows_even 11\nsite_rows_odd 11\nfile_names_even 5\n"
			 "file_names_odd 5\nthread_names_even 6\nthread_names_odd 6\ndirtiers 7\n"
			 "slot_cells 8\nslot_hists 9\nslot_rq_cells 10\n");
	resized[0] = '\0';
	z.hists_apart = true;
	rowmaps_resize(&z, NULL);
	assert_non_null(strstr(resized, "slot_rq_cells 10\nslot_cells of "));
	assert_int_equal(atoi(strstr(resized, " of ") + 4), sizeof(struct op_sums));
}

static void requests_have_some_keys(void **state)
{
	(void)state;
	for (int by = BY_NONE; by <= BY_THREAD; by++)
		assert_int_equal(rowmaps_rq_by(by),
				 by != BY_NONE && by != BY_DEV && by != BY_CACHE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_drains_before_a_counter_can_wrap),
		cmocka_unit_test(it_drains_when_a_map_fills_up),
		cmocka_unit_test(names_are_those_of_the_key),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(errors_are_told_once),
		cmocka_unit_test(maps_are_as_large_as_a_run_needs),
		cmocka_unit_test(the_last_cpu_of_a_list_counts),
		cmocka_unit_test(every_map_gets_its_size),
		cmocka_unit_test(requests_have_some_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
