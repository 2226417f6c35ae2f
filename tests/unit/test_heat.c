// SPDX-License-Identifier: GPL-2.0-only
/* Maps of latencies, and the line that says how far something is. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "show/heat.h"
#include "show/progress.h"

static void columns_get_wider(void **state)
{
	struct heat *h = calloc(1, sizeof(*h));
	struct heat_rows rows;
	uint64_t sum = 0;

	(void)state;
	for (uint64_t i = 0; i < 10007; i++) /* 100 s */
		heat_add_at(h, i * 10000000, i % 7 ? 1500 : 3000000);
	assert_int_equal(h->column_ns, 2048000000);
	assert_int_equal(h->n, 49);
	for (int c = 0; c < HEAT_COLUMNS; c++)
		for (int i = 0; i < HEAT_LOG2; i++)
			sum += h->counts[c][i];
	assert_int_equal(sum, 10007);
	assert_true(heat_rows(h, 4, &rows));
	assert_int_equal(rows.low, 10);
	assert_int_equal(rows.high, 21);
	assert_int_equal(rows.step, 3);
	heat_add_at(h, 0, UINT64_MAX);
	heat_add_at(h, 1ULL << 62, 0); /* however long */
	assert_true(h->n <= HEAT_COLUMNS);
	free(h);
}

static void a_map_as_text(void **state)
{
	struct heat *h = calloc(1, sizeof(*h));
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(heat_text(f, h, "nothing", 1), 0);
	for (int i = 0; i < 100; i++)
		heat_add_at(h, 0, 1000);
	heat_add_at(h, 2000000, 2100);
	assert_int_equal(heat_text(f, h, "things", 3000000), 0);
	fclose(f);
	assert_string_equal(text, "nothing: none\n\n"
				  "things: each column is 1.00 ms; the densest place has 100\n"
				  " 2.05 us |  :\n"
				  " 1.02 us |   \n"
				  "  512 ns |@  \n"
				  "         0    3.00 ms\n\n");
	free(text);
	free(h);
}

/* Events of a run's first ms are at the left of the run's whole time, in both maps alike. */
static void the_axis_is_of_all_the_time(void **state)
{
	struct heat *h = calloc(1, sizeof(*h));
	char *text = NULL, *row, *end;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	heat_add_at(h, 0, 1000);
	heat_add_at(h, 9999999, 1000); /* ten columns of 1 ms; the run is 1.01 s */
	assert_int_equal(heat_text(f, h, "things", 1010000000), 0);
	fclose(f);
	assert_int_equal(h->column_ns, 32000000);
	assert_int_equal(h->n, 32);
	assert_non_null(strstr(text, "things: each column is 32.0 ms; the densest place has 2\n"));
	row = strstr(text, "  512 ns |@  ");
	assert_non_null(row);
	end = strstr(text, "1.01 s\n");
	assert_non_null(end);
	assert_int_equal(strchr(row, '\n') - row, 10 + 32);
	assert_int_equal(end + 6 - (strchr(row, '\n') + 1), 10 + 32);
	free(text);
	free(h);
}

/* 60 columns are too few for what ends with the 60th. */
static void columns_that_just_do_not_fit(void **state)
{
	struct heat *h = calloc(1, sizeof(*h));
	FILE *f = fopen("/dev/null", "w");

	(void)state;
	heat_add_at(h, 0, 1000);
	assert_int_equal(heat_text(f, h, "things", 59999999), 0);
	assert_int_equal(h->column_ns, 1000000);
	assert_int_equal(h->n, 60);
	assert_int_equal(heat_text(f, h, "things", 60000000), 0);
	assert_int_equal(h->column_ns, 2000000);
	assert_int_equal(h->n, 30);
	fclose(f);
	free(h);
}

static void how_far(void **state)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	struct progress p;
	char shown[256] = "";
	FILE *f;

	(void)state;
	assert_true(terminal >= 0 && !grantpt(terminal) && !unlockpt(terminal));
	f = fopen(ptsname(terminal), "w");
	setbuf(f, NULL);
	progress_begin(&p, f, 200);
	progress_show(&p, 50);
	assert_int_equal(read(terminal, shown, sizeof(shown)), -1); /* not yet a second */
	p.start_ns -= 2000000000;
	progress_show(&p, 50);
	assert_true(read(terminal, shown, sizeof(shown) - 1) > 0);
	assert_non_null(strstr(shown, "[##########..............................] 25 %, 6 s left"));
	progress_end(&p);
	fclose(f);
	close(terminal);
	f = fopen("/dev/null", "w");
	progress_begin(&p, f, 200);
	assert_null(p.terminal);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_get_wider),
		cmocka_unit_test(a_map_as_text),
		cmocka_unit_test(the_axis_is_of_all_the_time),
		cmocka_unit_test(columns_that_just_do_not_fit),
		cmocka_unit_test(how_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
