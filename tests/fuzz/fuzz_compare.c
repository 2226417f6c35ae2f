// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as two runs, recordings or lines of breakdown: compared, or one error; no figure is
 * NaN. */
#include "made.h"

#include <math.h>

#include "analyse/compare.h"
#include "base/reason.h"
#include "common/recorded_stacks.h"
#include "show/compare.h"

static int own_frame(void *arg, const struct catalog *c, const struct catalog_stack *s)
{
	const struct opt_strings hide = {};

	(void)arg;
	return recorded_own_frame(&hide, c, s);
}

/* Reads @size bytes, those of JSON as they are. False: they are no run. */
static bool run_read(struct series *s, const uint8_t *data, size_t size)
{
	struct series_conf conf = {};
	struct reason why = {};
	FILE *f;
	int got;

	if (!size)
		return false;
	f = data[0] == '{' ? fmemopen((void *)data, size, "r") : recording_make(data, size);
	conf.by = data[0] == '{' || size % 2 ? BY_NONE
		  : size % 3 == 0            ? BY_FUNCTION
		  : size % 4                 ? BY_FILE
					     : BY_CONTAINER;
	conf.own_frame = own_frame;
	got = series_read(s, f, "fuzz", &conf, &why);
	CHECK(!got || (why.exit && why.error[0]));
	fclose(f);
	return got >= 0;
}

static void row_check(const struct compare_row *row)
{
	int64_t sum = 0;

	for (int f = 0; f < FIG_N; f++) {
		const struct compare_figure *v = &row->figures[f];

		CHECK(isfinite(v->value[BASE]) && isfinite(v->value[NEW]));
		CHECK(!v->tested || (isfinite(v->error) && v->p >= 0 && v->p <= 1));
		CHECK(isfinite(compare_range(v).low) && isfinite(compare_range(v).high));
		if (f >= FIG_STRATA)
			sum += compare_difference(row, f);
	}
	CHECK(sum == compare_difference(row, FIG_MEAN));
}

static void compare(struct series *base, struct series *new)
{
	struct compare c = { .runs = { base, new }, .n_runs = { 1, 1 }, .parts = base->ops % 2 };
	struct compare_view v = { .c = &c, .rows_max = 10, .detail = true };
	struct reason why = {};
	static FILE *out;

	if (!out)
		out = fopen("/dev/null", "w");
	if (compare_runs(&c, &why)) {
		CHECK(why.exit == EXIT_FAILED && why.error[0]);
	} else {
		for (size_t i = 0; i < c.n_rows; i++)
			row_check(&c.rows[i]);
		CHECK(!compare_text(out, &v) && !compare_json(out, &v) && !compare_csv(out, &v));
	}
	compare_done(&c);
}

/* The first byte says where the first run ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series base = {}, new = {};
	size_t half = size > 1 ? (size - 1) * data[0] / 256 : 0;

	if (half && run_read(&base, data + 1, half) &&
	    run_read(&new, data + 1 + half, size - 1 - half))
		compare(&base, &new);
	series_done(&base);
	series_done(&new);
	return 0;
}
