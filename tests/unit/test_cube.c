// SPDX-License-Identifier: GPL-2.0-only
/* Time spread over bins, and the sums of a page by combination and time: they lose nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analyse/cube.h"
#include "analyse/disk_times.h"
#include "analyse/latencies.h"

enum { OPS = 40009 };

static uint64_t seed;

static uint64_t some(uint64_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 20) % below;
}

static void shares_are(const uint64_t shares[SHARE_N], uint64_t cpu, uint64_t device, uint64_t runq)
{
	assert_int_equal(shares[SHARE_CPU], cpu);
	assert_int_equal(shares[SHARE_DEVICE], device);
	assert_int_equal(shares[SHARE_RUNQ], runq);
}

static void time_is_spread_in_the_order_of_the_segments(void **state)
{
	struct segments list = {
		.n = 3, .at = { SEGMENT(ST_VFS, 10), SEGMENT(ST_DEVICE, 80), SEGMENT(ST_VFS, 7) }
	};
	struct spread s = { .total_ns = 97, .segments = &list };
	uint64_t got[SHARE_N], done[SHARE_N] = {};

	(void)state;
	s.shares[SHARE_CPU] = 17;
	s.shares[SHARE_DEVICE] = 80;
	spread_until(&s, 0, got);
	shares_are(got, 0, 0, 0);
	spread_until(&s, 13, got);
	shares_are(got, 10, 3, 0);
	spread_until(&s, 93, got);
	shares_are(got, 13, 80, 0);
	spread_until(&s, 1000, got);
	shares_are(got, 17, 80, 0);
	spread_next(&s, 50, done, got);
	shares_are(got, 10, 40, 0);
	spread_next(&s, 97, done, got);
	shares_are(got, 7, 40, 0);
}

static void time_without_an_order_is_spread_in_proportion(void **state)
{
	struct segments list = { .n = 1, .merged = 2, .at = { SEGMENT(ST_DEVICE, 20) } };
	struct spread s = { .total_ns = 100 };
	uint64_t got[SHARE_N];

	(void)state;
	s.shares[SHARE_CPU] = 40;
	s.shares[SHARE_DEVICE] = 20;
	s.shares[SHARE_RUNQ] = 40;
	spread_until(&s, 50, got);
	shares_are(got, 20, 10, 20);
	/* after the segments, what is left of each share */
	s.segments = &list;
	spread_until(&s, 60, got);
	shares_are(got, 20, 20, 20);
	/* segments of a damaged recording, longer than their share */
	list.at[0] = SEGMENT(ST_DEVICE, 1ULL << 40);
	spread_until(&s, 60, got);
	shares_are(got, 20, 20, 20);
}

/* An operation at random; a tenth of them is long. */
static struct cube_op op_some(struct segments *segments, uint64_t end)
{
	struct cube_op op = { .end_ns = end, .bytes = some(4099), .errors = some(11) == 0 };
	uint64_t most = some(10) ? 1000 : 50000000;

	segments->n = 1 + some(7);
	for (unsigned int i = 0; i < segments->n; i++) {
		unsigned int stratum = some(ST_N);
		uint64_t ns = some(most);

		segments->at[i] = SEGMENT(stratum, ns);
		op.spread.shares[stratum_share(stratum)] += ns;
		op.spread.total_ns += ns;
	}
	op.spread.segments = some(2) ? segments : NULL;
	op.begin_ns = (int64_t)op.end_ns - (int64_t)op.spread.total_ns;
	return op;
}

/* The sums of all cells. */
static struct cube_cell sums_of(const struct cube *c)
{
	struct cube_cell all = {};
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		for (uint32_t k = 0; k < c->combos[i].n; k++) {
			const struct cube_cell *cell = &c->combos[i].cells[k];

			assert_true(!k || cell->bin > cell[-1].bin);
			assert_true(cell->bin <= CUBE_BINS);
			all.count += cell->count;
			all.errors += cell->errors;
			all.bytes += cell->bytes;
			all.ended_ns += cell->ended_ns;
			all.max_ns = cell->max_ns > all.max_ns ? cell->max_ns : all.max_ns;
			for (int s = 0; s < SHARE_N; s++)
				all.shares[s] += cell->shares[s];
			n++;
		}
	}
	assert_int_equal(n, c->n_cells);
	return all;
}

static void sums_are(const struct cube *c, const struct cube_cell *wanted)
{
	struct cube_cell all = sums_of(c);

	assert_memory_equal(&all, wanted, sizeof(all));
}

/* Adds OPS operations of @files files; @wanted gets their sums. */
static void cube_fill(struct cube *c, struct cube_cell *wanted, unsigned int files)
{
	c->shift = CUBE_FIRST_SHIFT;
	for (uint64_t i = 0; i < OPS; i++) {
		struct cube_key key = { .file = 1 + some(files),
					.thread = 1 + some(7),
					.kind = some(5) };
		struct segments segments = {};
		struct cube_op op = op_some(&segments, i * 100003);

		while (op.end_ns >> c->shift >= CUBE_BINS)
			cube_halve(c);
		assert_int_equal(cube_add(c, &key, &op), 0);
		wanted->count++;
		wanted->errors += op.errors;
		wanted->bytes += op.bytes;
		wanted->ended_ns += op.spread.total_ns;
		wanted->max_ns =
			op.spread.total_ns > wanted->max_ns ? op.spread.total_ns : wanted->max_ns;
		for (int s = 0; s < SHARE_N; s++)
			wanted->shares[s] += op.spread.shares[s];
		assert_true(c->n_cells <= CUBE_CELLS + CUBE_BINS && c->n <= CUBE_COMBOS + 1);
	}
}

static void cubes_keep_all_sums_to_the_nanosecond(void **state)
{
	static const unsigned int files[] = { 1, 61, 30011 };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct cube_cell wanted = {};
		struct cube c = {};

		cube_fill(&c, &wanted, files[i]);
		sums_are(&c, &wanted);
		assert_int_equal(cube_limit(&c, 3001, 211), 0);
		assert_true(c.n_cells <= 3001 && c.n <= 211);
		sums_are(&c, &wanted);
		/* with nothing left to be joined, there is a cell for each kind and 16 bins */
		assert_int_equal(cube_limit(&c, 1, 1), 0);
		assert_true(c.n <= 5);
		sums_are(&c, &wanted);
		cube_done(&c);
	}
}

static void busy_combinations_stay_fine_and_keep_their_file(void **state)
{
	struct cube c = { .shift = CUBE_FIRST_SHIFT };
	struct cube_op op = { .spread = { .total_ns = 100 } };
	uint64_t busy = 0;

	(void)state;
	op.spread.shares[SHARE_CPU] = 100;
	for (uint64_t i = 0; i < 10007; i++) {
		struct cube_key key = { .file = i % 3 ? 1 : 2 + i };

		op.end_ns = i * 1601 + 200;
		op.begin_ns = op.end_ns - 100;
		assert_int_equal(cube_add(&c, &key, &op), 0);
	}
	assert_int_equal(cube_limit(&c, 1009, 101), 0);
	for (size_t i = 0; i < c.n; i++) {
		if (c.combos[i].key.file != 1)
			continue;
		busy = c.combos[i].total_ns;
		assert_int_equal(c.combos[i].level, 0);
		assert_true(c.combos[i].n > 200);
	}
	assert_int_equal(busy, 100 * (10007 - 3336));
	cube_done(&c);
}

static void an_operation_counts_at_its_end_and_its_time_where_it_lived(void **state)
{
	struct cube c = { .shift = 10 };
	const struct cube_key key = { .file = 1 };
	struct cube_op op = { .begin_ns = -1024, .end_ns = 2048, .spread = { .total_ns = 3072 } };
	const struct cube_cell *cells;

	(void)state;
	op.spread.shares[SHARE_DEVICE] = 3072;
	assert_int_equal(cube_add(&c, &key, &op), 0);
	cells = c.combos[0].cells;
	assert_int_equal(c.combos[0].n, 4);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(cells[i].bin, i);
		assert_int_equal(cells[i].shares[SHARE_DEVICE], 1024);
		assert_int_equal(cells[i].count, 0);
	}
	/* it ended as bin 2 began, of which it has no time */
	assert_int_equal(cells[3].bin, 3);
	assert_int_equal(cells[3].shares[SHARE_DEVICE], 0);
	assert_int_equal(cells[3].count, 1);
	assert_int_equal(cells[3].max_ns, 3072);
	cube_done(&c);
}

static void examples_are_the_longest_of_their_cell_and_of_all(void **state)
{
	struct latencies l = {};
	uint64_t longest = 0, heap = UINT64_MAX;

	(void)state;
	for (unsigned int i = 0; i < OPS; i++) {
		struct latency_key key = { .kind = 1 + some(3), .fs = some(101) };
		struct example one = { .total_ns = 1 + some(1ULL << some(30)), .tid = i };

		assert_int_equal(latencies_op(&l, &key, &one, some(CUBE_BINS)), 0);
		longest = one.total_ns > longest ? one.total_ns : longest;
		if (i % 10007 == 0)
			latencies_halve(&l);
	}
	assert_int_equal(l.n, LATENCY_OPS);
	assert_int_equal(l.n_all, LATENCY_LONGEST);
	for (size_t i = 0; i < l.n_all; i++)
		heap = l.all[i].total_ns < heap ? l.all[i].total_ns : heap;
	assert_int_equal(l.all[0].total_ns, heap);
	for (size_t r = 0, count = 0, found = 0; r < l.n; r++) {
		for (size_t bin = 0; bin < CUBE_BINS; bin++) {
			uint64_t most = 0;

			for (size_t half = 0; half < LATENCY_HALVES; half++) {
				count += l.rows[r].heat[bin][half];
				most = l.rows[r].heat[bin][half] ? half + 1 : most;
			}
			if (most)
				assert_int_equal(latency_half(l.rows[r].longest[bin].total_ns) + 1,
						 most);
			else
				assert_int_equal(l.rows[r].longest[bin].total_ns, 0);
			found += l.rows[r].longest[bin].total_ns == longest;
		}
		if (r == l.n - 1) {
			assert_int_equal(count, OPS);
			assert_true(found > 0);
		}
	}
	latencies_done(&l);
}

static void requests_are_in_flight_in_all_bins_in_which_they_live(void **state)
{
	struct disks d = {};
	uint64_t flight = 0, wanted = 0, bytes = 0;
	const struct disk_request one = { .dev = 7,
					  .op = RQ_WRITE,
					  .n = 1,
					  .begin_ns = 500,
					  .end_ns = 3100,
					  .total_ns = 2600,
					  .bytes = 4096 };

	(void)state;
	assert_int_equal(disks_add(&d, &one, 10), 0);
	assert_int_equal(d.rows[0].cells[1].flight_ns, 524);
	assert_int_equal(d.rows[0].cells[2].flight_ns, 1024);
	assert_int_equal(d.rows[0].cells[4].flight_ns, 28);
	assert_int_equal(d.rows[0].cells[4].bytes, 4096);
	assert_int_equal(d.rows[0].cells[3].count, 0);
	disks_done(&d);
	for (unsigned int i = 0; i < OPS; i++) {
		uint64_t end = some(CUBE_BINS << 10), total = some(1 << 20);
		const struct disk_request rq = { .dev = some(101),
						 .n = 1 + i % 2,
						 .begin_ns = (int64_t)end - (int64_t)total,
						 .end_ns = end,
						 .total_ns = total,
						 .bytes = 512 };

		assert_int_equal(disks_add(&d, &rq, 10), 0);
		wanted += rq.n * total;
	}
	disks_halve(&d);
	assert_int_equal(d.n, DISK_TIMES);
	assert_true(d.rows[DISK_TIMES - 1].is_others);
	for (size_t i = 0; i < d.n; i++) {
		for (size_t bin = 0; bin <= CUBE_BINS; bin++) {
			flight += d.rows[i].cells[bin].flight_ns;
			bytes += d.rows[i].cells[bin].bytes;
		}
	}
	assert_int_equal(flight, wanted);
	assert_int_equal(bytes, 512 * OPS);
	disks_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_spread_in_the_order_of_the_segments),
		cmocka_unit_test(time_without_an_order_is_spread_in_proportion),
		cmocka_unit_test(cubes_keep_all_sums_to_the_nanosecond),
		cmocka_unit_test(busy_combinations_stay_fine_and_keep_their_file),
		cmocka_unit_test(an_operation_counts_at_its_end_and_its_time_where_it_lived),
		cmocka_unit_test(examples_are_the_longest_of_their_cell_and_of_all),
		cmocka_unit_test(requests_are_in_flight_in_all_bins_in_which_they_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
