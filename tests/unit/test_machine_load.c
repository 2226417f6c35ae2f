// SPDX-License-Identifier: GPL-2.0-only
/* How busy the machine was: from the texts of the kernel, through a recording, to the parts of its
 * time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "capture/machine_loads.h"
#include "capture/recording.h"
#include "capture/writer.h"
#include "host/machine_meter.h"

static const char header[] = "{\"monotonic_ns\":1000,\"realtime_ns\":5000,\"ops\":true}";

static void texts_of_the_kernel_are_parsed(void **state)
{
	const uint64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
	struct machine_load l = {};

	(void)state;
	assert_true(machine_meter_parse(
		MACHINE_CPU, "cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 7 7 7 7 7 7 7 7\n", &l));
	assert_int_equal(l.figure[MACHINE_CPU_NS], 255 * tick);
	assert_int_equal(l.figure[MACHINE_USER_NS], 3 * tick);
	assert_int_equal(l.figure[MACHINE_SYSTEM_NS], (4 + 32 + 64) * tick);
	assert_int_equal(l.figure[MACHINE_IOWAIT_NS], 16 * tick);
	assert_int_equal(l.figure[MACHINE_STEAL_NS], 128 * tick);
	assert_true(machine_meter_parse(MACHINE_IO_PRESSURE,
					"some avg10=0.00 avg60=1.29 avg300=1.34 total=929996415\n"
					"full avg10=12.50 avg60=0.00 avg300=0.05 total=23\n",
					&l));
	assert_int_equal(l.figure[MACHINE_IO_SOME_NS], 929996415000);
	assert_int_equal(l.figure[MACHINE_IO_FULL_NS], 23000);
	/* kernels before 5.13 have one line for the CPU */
	assert_true(machine_meter_parse(MACHINE_CPU_PRESSURE,
					"some avg10=0.00 avg60=0.00 avg300=0.00 total=101\n", &l));
	assert_int_equal(l.figure[MACHINE_CPU_SOME_NS], 101000);
	assert_true(machine_meter_parse(MACHINE_PAGES,
					"MemTotal:  16 kB\nDirty:     1009 kB\n"
					"WritebackTmp: 7 kB\nWriteback:   23 kB\n",
					&l));
	assert_int_equal(l.figure[MACHINE_DIRTY_BYTES], 1009 << 10);
	assert_int_equal(l.figure[MACHINE_WRITEBACK_BYTES], 23 << 10);
}

static void other_texts_have_no_figures(void **state)
{
	static const char *const texts[] = {
		"",          "cpu",          "cpu  1 2 3",
		"some",      "some avg10=x", "some avg10=0.0 avg60=0.0 avg300=0.0 total=",
		"Dirty: kB", "\n\n\n",       "Writeback: 1 kB"
	};
	struct machine_load l = {};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (unsigned int source = 0; source < MACHINE_FILES; source++)
			assert_false(machine_meter_parse(source, texts[i], &l));
	for (int i = 0; i < MACHINE_FIGURES; i++)
		assert_int_equal(l.figure[i], 0);
}

/* This machine's own files: what they have is known, and times are no longer than they can be. */
static void an_interval_of_this_machine(void **state)
{
	struct machine_meter m;
	struct machine_load l;

	(void)state;
	machine_meter_open(&m);
	usleep(23000);
	machine_meter_interval(&m, &l);
	assert_true(l.ns >= 23000000);
	assert_true(l.known >> MACHINE_CPU & 1);
	assert_true(l.known >> MACHINE_PAGES & 1);
	if (!access("/proc/pressure/io", R_OK))
		assert_true(machine_load_knows(&l, MACHINE_IO_SOME_NS) ||
			    !l.figure[MACHINE_IO_SOME_NS]);
	assert_true(l.figure[MACHINE_USER_NS] <= l.figure[MACHINE_CPU_NS]);
	for (int i = 0; i < MACHINE_FIGURES; i++)
		assert_true(machine_load_knows(&l, i) || !l.figure[i]);
	m.last.known = 0; /* a file could not be read at the beginning */
	machine_meter_interval(&m, &l);
	assert_int_equal(l.known, 0);
	for (int i = 0; i < MACHINE_FIGURES; i++)
		assert_int_equal(l.figure[i], 0);
	machine_meter_done(&m);
}

static struct stored_machine_load load_make(uint64_t from, uint64_t to, uint64_t n)
{
	struct stored_machine_load one = { .from_ns = from, .to_ns = to, .known = 31 };

	for (int i = 0; i < MACHINE_FIGURES; i++)
		one.figure[i] = n + i;
	return one;
}

static void parts_add_up_to_the_whole(void **state)
{
	struct stored_machine_load one = load_make(1000, 1997, 4711);
	struct machine_loads l = {};
	struct machine_load sum = {}, part, whole;

	(void)state;
	assert_int_equal(machine_loads_add(&l, &one), 0);
	one = load_make(1997, 3001, 101);
	assert_int_equal(machine_loads_add(&l, &one), 0);
	one = load_make(5000, 4000, 7); /* it ends before it begins */
	assert_int_equal(machine_loads_add(&l, &one), 0);
	assert_int_equal(l.n, 2);
	for (uint64_t ns = 900; ns < 3100; ns += 23) {
		machine_loads_between(&l, ns, ns + 23, &part);
		machine_load_add(&sum, &part);
	}
	machine_loads_between(&l, 0, UINT64_MAX, &whole);
	assert_memory_equal(&sum, &whole, sizeof(sum));
	assert_int_equal(whole.ns, 2001);
	assert_int_equal(whole.figure[MACHINE_CPU_NS], 4711 + 101);
	assert_int_equal(whole.figure[MACHINE_DIRTY_BYTES], 4711 + MACHINE_DIRTY_BYTES);
	/* a figure that is not known of one interval is not known of both */
	l.list[1].known &= ~(1ULL << MACHINE_IO_PRESSURE);
	machine_loads_between(&l, 0, UINT64_MAX, &whole);
	assert_false(machine_load_knows(&whole, MACHINE_IO_FULL_NS));
	assert_true(machine_load_knows(&whole, MACHINE_MEMORY_FULL_NS));
	machine_loads_between(&l, 4000, UINT64_MAX, &whole);
	assert_false(machine_load_knows(&whole, MACHINE_CPU_NS));
	machine_loads_done(&l);
}

static void long_recordings_are_joined_in_pairs(void **state)
{
	enum { N = 5 * MACHINE_LOADS + 23 };
	struct machine_loads l = {};
	struct stored_machine_load one;
	struct machine_load whole;

	(void)state;
	for (int i = 0; i < N; i++) {
		one = load_make(100 * i, 100 * i + 100, 10);
		one.known = i == 101 ? 1 << MACHINE_CPU : 31;
		assert_int_equal(machine_loads_add(&l, &one), 0);
		assert_true(l.n <= MACHINE_LOADS);
	}
	machine_loads_between(&l, 0, UINT64_MAX, &whole);
	assert_int_equal(whole.ns, 100ULL * N);
	assert_int_equal(whole.figure[MACHINE_CPU_NS], 10ULL * N);
	machine_loads_between(&l, 10100, 10200, &whole); /* not all is known in the joined one */
	assert_true(machine_load_knows(&whole, MACHINE_CPU_NS));
	assert_false(machine_load_knows(&whole, MACHINE_DIRTY_BYTES));
	machine_loads_done(&l);
	/* those that do not follow each other are not joined, and find an end */
	for (int i = 0; i < N; i++) {
		one = load_make(200 * i, 200 * i + 100, 10);
		assert_int_equal(machine_loads_add(&l, &one), 0);
	}
	assert_int_equal(l.n, MACHINE_LOADS);
	machine_loads_done(&l);
}

/* Damage with millions of intervals, of which a few can be joined: the others are not looked at
 * again for each, which would take hours. */
static void intervals_of_damage_take_no_time(void **state)
{
	enum { N = 5000011 };
	struct machine_loads l = {};
	struct stored_machine_load one;

	(void)state;
	for (int i = 0; i < N; i++) {
		one = load_make(i < MACHINE_LOADS - 2 ? 200 * i : 100 * i + 10000000,
				i < MACHINE_LOADS - 2 ? 200 * i + 100 : 100 * i + 10000100, 10);
		assert_int_equal(machine_loads_add(&l, &one), 0);
	}
	assert_int_equal(l.n, MACHINE_LOADS);
	assert_true(l.is_full);
	machine_loads_done(&l);
}

/* With @keep_ns: only the last one is in the recording. */
static void recording_check(uint64_t keep_ns, size_t expected)
{
	struct stored_machine_load first = load_make(1000, 2000, 23);
	struct stored_machine_load last = load_make(2000, 2000007000, 101);
	struct writer w = { .keep_ns = keep_ns };
	struct recording rec;
	struct stored_event ev;
	struct reason why;
	FILE *f = tmpfile();

	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	writer_machine_load(&w, &first);
	writer_flush(&w);
	writer_machine_load(&w, &last);
	writer_flush(&w);
	if (keep_ns)
		writer_tail_begin(&w, header);
	writer_close(&w);
	assert_true(writer_end(&w, "{}"));
	writer_done(&w);
	rewind(f);
	assert_int_equal(recording_open(&rec, f, "test", &why), 0);
	assert_int_equal(recording_next(&rec, &ev, &why), 0); /* they are no events */
	assert_int_equal(rec.loads.n, expected);
	assert_memory_equal(&rec.loads.list[expected - 1], &last, sizeof(last));
	if (expected > 1)
		assert_memory_equal(&rec.loads.list[0], &first, sizeof(first));
	recording_close(&rec);
	fclose(f);
}

static void a_recording_has_them(void **state)
{
	(void)state;
	recording_check(0, 2);
	recording_check(1000000000, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_the_kernel_are_parsed),
		cmocka_unit_test(other_texts_have_no_figures),
		cmocka_unit_test(an_interval_of_this_machine),
		cmocka_unit_test(parts_add_up_to_the_whole),
		cmocka_unit_test(long_recordings_are_joined_in_pairs),
		cmocka_unit_test(intervals_of_damage_take_no_time),
		cmocka_unit_test(a_recording_has_them),
	};

	return cmocka_run_group_tests_name("machine load", tests, NULL, NULL);
}
