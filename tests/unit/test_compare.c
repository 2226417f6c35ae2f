// SPDX-License-Identifier: GPL-2.0-only
/* Comparisons: runs become sums by interval and lose nothing; strata add up; what is planted is
 * found, and what is not is not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyse/compare.h"
#include "analyse/fail_if.h"
#include "analyse/stats.h"
#include "base/reason.h"
#include "capture/writer.h"
#include "cmd/compare_inputs.h"
#include "show/compare.h"

enum { MS = 1000000, DEV = 7 << 20 | 3 };

static const char header[] = "{\"kernel\":\"6.1\",\"host\":\"a\",\"monotonic_ns\":1000,"
			     "\"realtime_ns\":5000,\"ops\":true,\"requests\":true,"
			     "\"argv\":[\"record\",\"-o\",\"x\",\"-d\",\"vda\","
			     "\"--output=y\",\"--\",\"cmd\"]}";

static void name_put(struct writer *w, struct stored_name n, const char *text, size_t len)
{
	n.text_len = len;
	writer_name(w, &n, text);
}

static FILE *recording_begin(struct writer *w, int files)
{
	FILE *f = tmpfile();
	char text[64];

	*w = (struct writer){};
	assert_int_equal(writer_begin(w, fileno(f), header), 0);
	name_put(w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 0 }, "ext4", 4);
	name_put(w, (struct stored_name){ NAME_DEVICE, DEV, 0, 0, 0, 0 }, "loop3", 5);
	name_put(w, (struct stored_name){ NAME_THREAD, 1, 100, 101, 42, 0 }, "one", 3);
	for (int i = 1; i <= files; i++) {
		int len = snprintf(text, sizeof(text), "f%d%cdir", i, 0) + 1;

		name_put(w,
			 (struct stored_name){ NAME_FILE, i, FILE_KEY(DEV, 0, 0), 10 + i,
					       STORED_FILE_COMPLETE, 0 },
			 text, len);
	}
	return f;
}

static void op_put(struct writer *w, uint64_t start_ns, unsigned int kind, uint64_t file,
		   uint64_t fs_ns, uint64_t device_ns)
{
	struct stored_op op = { .start_ns = start_ns,
				.owner = 1,
				.file = file,
				.kind = kind,
				.fs = STORED_FS_FIRST,
				.ret = 100,
				.requests = !!device_ns };

	op.strata[ST_FS] = fs_ns;
	op.strata[ST_DEVICE] = device_ns;
	writer_op(w, &op);
}

/* Ends the file and reads it into @s. */
static void recording_read(struct writer *w, FILE *f, uint64_t duration_ns, struct series *s,
			   const struct series_conf *conf)
{
	struct reason why;
	char end[128];

	writer_close(w);
	snprintf(end, sizeof(end), "{\"duration_ns\":%llu}", (unsigned long long)duration_ns);
	assert_true(writer_end(w, end));
	writer_done(w);
	rewind(f);
	*s = (struct series){};
	assert_int_equal(series_read(s, f, "made", conf, &why), 0);
	fclose(f);
}

/* Sums of all intervals of a row. */
static struct series_cell whole(const struct series *s, const struct series_row *row)
{
	struct series_cell sum = {};

	for (unsigned int i = 0; i < s->intervals; i++) {
		const struct series_cell *c = &row->cells[i];

		sum.count += c->count;
		sum.errors += c->errors;
		sum.bytes += c->bytes;
		sum.total_ns += c->total_ns;
		sum.beside += c->beside;
		for (int st = 0; st < ST_N; st++)
			sum.strata[st] += c->strata[st];
		for (unsigned int b = 0; b < c->hist.n; b++)
			sum.hist.cap += c->hist.bins[b].count; /* as a number */
	}
	return sum;
}

/* However long a run is, its intervals are few, and nothing is lost when they are joined. */
static void intervals_are_joined(void **state)
{
	const struct series_conf conf = {};
	uint64_t lengths = 0, step = 7 * MS;
	struct series_cell sum;
	struct series s;
	struct writer w;
	FILE *f = recording_begin(&w, 1);

	(void)state;
	for (uint64_t i = 0; i < 5003; i++)
		op_put(&w, 1000 + i * step, OP_FSYNC, 1, 1000 + i, i % 3 ? 5000 : 0);
	op_put(&w, 0, OP_FSYNC, 1, 1, 0); /* it ended before the recording began */
	recording_read(&w, f, 5003 * step, &s, &conf);
	assert_true(s.intervals > SERIES_INTERVALS / 2 && s.intervals <= SERIES_INTERVALS);
	assert_int_equal(s.n_rows, 1);
	assert_string_equal(s.rows[0].key.what, "fsync");
	assert_string_equal(s.rows[0].key.where, "ext4");
	assert_null(s.rows[0].key.by);
	sum = whole(&s, &s.rows[0]);
	assert_int_equal(sum.count, 5004);
	assert_int_equal(sum.hist.cap, 5004);
	assert_int_equal(sum.strata[ST_FS], 5003 * 1000 + 5002ULL * 5003 / 2 + 1);
	assert_int_equal(sum.strata[ST_DEVICE], 3335 * 5000);
	assert_int_equal(sum.total_ns, sum.strata[ST_FS] + sum.strata[ST_DEVICE]);
	assert_int_equal(sum.beside, 3335);
	assert_int_equal(sum.bytes, 0);
	for (unsigned int i = 0; i < s.intervals; i++)
		lengths += s.length_ns[i];
	assert_int_equal(lengths, s.duration_ns);
	assert_string_equal(s.options, "-d vda --");
	assert_int_equal(series_join(&s, 1), 0);
	assert_int_equal(s.intervals, 1);
	assert_int_equal(s.length_ns[0], s.duration_ns);
	assert_int_equal(s.rows[0].cells[0].count, 5004);
	series_done(&s);
}

static void parts_are_read(void **state)
{
	const struct series_conf before = { .to_ns = 50 * MS }, after = { .from_ns = 50 * MS };
	struct series s;

	(void)state;
	for (int part = 0; part < 2; part++) {
		struct writer w;
		FILE *f = recording_begin(&w, 1);

		for (uint64_t i = 0; i < 101; i++)
			op_put(&w, 1000 + i * MS, OP_READ, 1, 500, 0);
		recording_read(&w, f, 101 * MS, &s, part ? &after : &before);
		assert_int_equal(s.ops, part ? 51 : 50);
		assert_int_equal(s.duration_ns, part ? 51 * MS : 50 * MS);
		series_done(&s);
	}
}

/* Keys beyond the limit share a row for each operation, and are counted. */
static void keys_have_a_limit(void **state)
{
	const struct series_conf conf = { .by = BY_FILE };
	struct series s;
	uint64_t all = 0;
	struct writer w;
	FILE *f = recording_begin(&w, 1501);

	(void)state;
	for (uint64_t i = 0; i < 3002; i++)
		op_put(&w, 1000 + i * MS, OP_READ, 1 + i % 1501, 500, 0);
	recording_read(&w, f, 3002ULL * MS, &s, &conf);
	assert_int_equal(s.n_rows, SERIES_KEYS + 1);
	assert_int_equal(s.more_keys, 2 * 501);
	for (size_t i = 0; i < s.n_rows; i++) {
		struct series_cell sum = whole(&s, &s.rows[i]);

		all += sum.count;
		if (!strcmp(s.rows[i].key.by, SERIES_OTHERS))
			assert_int_equal(sum.count, 2 * 501);
		else
			assert_int_equal(sum.count, 2);
	}
	assert_int_equal(all, 3002);
	series_done(&s);
}

static int json_read(struct series *s, const char *text, struct reason *why)
{
	const struct series_conf conf = {};
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	int got;

	*s = (struct series){};
	got = series_read(s, f, "made", &conf, why);
	fclose(f);
	return got;
}

#define LINE(count, fs_ns, total)                                                                  \
	"{\"schema\":\"iostrata.breakdown/1\",\"kernel\":\"6.1\",\"duration_ns\":1000,"            \
	"\"missing\":[\"vfs\"],\"ops\":[{\"op\":\"read\",\"fs\":\"ext4\",\"key\":null,"            \
	"\"count\":" #count ",\"errors\":0,\"bytes\":10,\"total_ns\":" #total                      \
	",\"strata\":{\"vfs\":null,\"fs\":" #fs_ns "},\"hist\":[[100,103," #count "]]}],"          \
	"\"requests\":null,\"lost\":{\"ring\":2,\"missed\":1}}\n"

static void breakdowns_are_read(void **state)
{
	struct series_cell sum;
	struct reason why;
	struct series s;

	(void)state;
	assert_int_equal(json_read(&s, LINE(3, 301, 301) LINE(5, 500, 500), &why), 0);
	assert_int_equal(s.intervals, 2);
	assert_int_equal(s.duration_ns, 2000);
	assert_int_equal(s.strata_missing, 1 << ST_VFS);
	assert_int_equal(s.lost, 6);
	assert_int_equal(s.ops, 8);
	sum = whole(&s, &s.rows[0]);
	assert_int_equal(sum.total_ns, 801);
	assert_int_equal(sum.hist.cap, 8);
	series_done(&s);
	assert_int_equal(json_read(&s, LINE(3, 301, 302), &why), -1); /* it does not add up */
	assert_non_null(strstr(why.error, "makes no sense in object 1"));
	series_done(&s);
	assert_int_equal(json_read(&s, "{\"schema\":\"iostrata.top/1\"}", &why), -1);
	assert_non_null(strstr(why.error, "neither a recording nor"));
	series_done(&s);
	assert_int_equal(json_read(&s, LINE(3, 301, 301) "{\"schema\":", &why), 1);
	assert_non_null(strstr(why.error, "cut off in object 2"));
	assert_int_equal(s.ops, 3);
	series_done(&s);
}

/* One file system, so many operations of a kind at a time. */
struct made {
	unsigned int kind;
	const char *what;
	double fs_ns, device_ns; /* means */
};

/* About normal, within 3 standard deviations. */
static double normal(struct stats_random *r)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (stats_random(r) >> 40) / (double)(1 << 24);
	return sum < -3 ? -3 : sum > 3 ? 3 : sum;
}

static void cell_put(struct series_cell *c, uint64_t fs_ns, uint64_t device_ns)
{
	c->count++;
	c->strata[ST_FS] += fs_ns;
	c->strata[ST_DEVICE] += device_ns;
	c->total_ns += fs_ns + device_ns;
	c->beside++;
	assert_int_equal(hist_add(&c->hist, hist_bucket(fs_ns + device_ns), 1), 0);
}

/* A run of 160 intervals with @each operations of every kind in each. */
static void run_make(struct series *s, const struct made *kinds, size_t n, unsigned int each,
		     struct stats_random *r)
{
	*s = (struct series){ .name = strdup("made"),
			      .kernel = strdup("6.1"),
			      .has_ops = true,
			      .is_recording = true };
	for (uint64_t at = 0; at < 160; at++) {
		assert_int_equal(series_interval(s, at << 16), at);
		s->length_ns[at] = 1 << 16;
		s->duration_ns += 1 << 16;
	}
	for (size_t k = 0; k < n; k++) {
		struct series_id id = { .kind = kinds[k].kind };
		struct series_row *row = series_row(s, &id);

		snprintf(row->key.what, sizeof(row->key.what), "%s", kinds[k].what);
		strcpy(row->key.where, "ext4");
		for (unsigned int i = 0; i < 160 * each; i++)
			cell_put(&row->cells[i / each], kinds[k].fs_ns * (1 + normal(r) / 10) + 0.5,
				 kinds[k].device_ns * (1 + normal(r) / 4) + 0.5);
		s->ops += 160 * each;
	}
	assert_int_equal(series_unite(s), 0);
}

static const struct made usual[] = { { OP_READ, "read", 3000, 80000 },
				     { OP_FSYNC, "fsync", 9000, 900000 } };

static void runs_done(struct compare *c)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			series_done(&c->runs[side][i]);
	compare_done(c);
}

/* Differences of strata add up to that of the mean, and the three parts to that of the total. */
static void sums_check(const struct compare *c)
{
	const struct compare_change *ch = &c->change;

	for (size_t i = 0; i < c->n_rows; i++) {
		int64_t sum = 0;

		for (int f = FIG_STRATA; f < FIG_N; f++)
			sum += compare_difference(&c->rows[i], f);
		assert_int_equal(sum, compare_difference(&c->rows[i], FIG_MEAN));
	}
	if (ch->known)
		assert_int_equal(ch->more_ns + ch->mix_ns + ch->slower_ns,
				 ch->total_ns[NEW] - ch->total_ns[BASE]);
}

static const struct compare_row *row_of(const struct compare *c, const char *what)
{
	for (size_t i = 0; i < c->n_rows; i++)
		if (!strcmp(c->rows[i].key->what, what))
			return &c->rows[i];
	fail_msg("no row %s", what);
	return NULL;
}

/* Compares @n runs of @each made as @base with as many made as @new. */
static void made_compare(struct compare *c, struct series runs[SIDES][16], size_t n,
			 unsigned int each, const struct made *base, const struct made *new,
			 struct stats_random *r)
{
	struct reason why;

	*c = (struct compare){ .runs = { runs[BASE], runs[NEW] }, .n_runs = { n, n } };
	for (size_t i = 0; i < n; i++) {
		run_make(&runs[BASE][i], base, 2, each, r);
		run_make(&runs[NEW][i], new, 2, each, r);
	}
	assert_int_equal(compare_runs(c, &why), 0);
	sums_check(c);
}

/* 2,080 operations a side, 10 % more in a stratum: it is found, and has the right name. How often
 * of many is in tests/cli/compare.bats. */
static void planted_is_found(void **state)
{
	struct made slower[] = { usual[0], usual[1] };
	unsigned int found = 0, covered = 0, others = 0;
	static struct series runs[SIDES][16];
	struct stats_random r = { 5 };
	struct compare c;

	(void)state;
	slower[1].device_ns *= 1.1;
	for (int i = 0; i < 10; i++) {
		const struct compare_figure *device;
		char *answer;

		made_compare(&c, runs, 1, 13, usual, slower, &r);
		assert_int_equal(c.method, COMPARE_BLOCKS);
		assert_true(row_of(&c, "fsync")->figures[FIG_BESIDE].value[NEW] == 1);
		device = &row_of(&c, "fsync")->figures[FIG_STRATA + ST_DEVICE];
		answer = compare_answer(&c);
		found += device->sure && strstr(answer, "longer per fsync on ext4") &&
			 strstr(answer, " device");
		covered += fabs(device->value[NEW] - device->value[BASE] - 90000) <=
			   compare_half(device);
		others += row_of(&c, "read")->figures[FIG_MEAN].sure;
		free(answer);
		runs_done(&c);
	}
	assert_true(found >= 9 && covered >= 8 && others == 0);
}

static void nothing_is_claimed_of_chance(void **state)
{
	static struct series runs[SIDES][16];
	struct stats_random r = { 6 };
	struct compare c;
	unsigned int claims = 0;
	char *answer;

	(void)state;
	for (int i = 0; i < 12; i++) {
		made_compare(&c, runs, 1, 3, usual, usual, &r);
		answer = compare_answer(&c);
		claims += c.n_sure > 0;
		assert_true(!c.n_sure == !!strstr(answer, "no difference that these runs can show: "
							  "one of "));
		free(answer);
		runs_done(&c);
	}
	assert_true(claims <= 1);
}

/* With three runs on each side it is they that are compared; with eight they can be exchanged. */
static void runs_are_compared(void **state)
{
	struct made slower[] = { usual[0], usual[1] };
	static struct series runs[SIDES][16];
	struct stats_random r = { 7 };
	struct compare c;

	(void)state;
	slower[1].device_ns *= 1.5;
	made_compare(&c, runs, 3, 2, usual, slower, &r);
	assert_int_equal(c.method, COMPARE_WELCH);
	assert_true(row_of(&c, "fsync")->figures[FIG_MEAN].sure);
	assert_true(!row_of(&c, "read")->figures[FIG_MEAN].sure);
	assert_int_equal(row_of(&c, "read")->count[BASE], 3 * 320);
	assert_true(row_of(&c, "read")->figures[FIG_COUNT].value[BASE] == 320);
	runs_done(&c);
	made_compare(&c, runs, 10, 1, usual, slower, &r);
	assert_int_equal(c.method, COMPARE_PERMUTATION);
	assert_true(row_of(&c, "fsync")->figures[FIG_STRATA + ST_DEVICE].sure);
	runs_done(&c);
}

/* A run with the sums of one operation: @n of them, in all @fs_ns and @device_ns. */
static void sums_make(struct series *s, const char *what, uint64_t n, uint64_t fs_ns,
		      uint64_t device_ns)
{
	struct series_id id = { .kind = OP_READ, .by = { s->n_rows } };
	struct series_row *row;

	assert_int_equal(series_interval(s, 0), 0);
	s->length_ns[0] = s->duration_ns = 1000000000;
	s->ops += n;
	row = series_row(s, &id);
	snprintf(row->key.what, sizeof(row->key.what), "%s", what);
	row->cells[0] = (struct series_cell){ .count = n, .total_ns = fs_ns + device_ns };
	row->cells[0].strata[ST_FS] = fs_ns;
	row->cells[0].strata[ST_DEVICE] = device_ns;
	assert_int_equal(hist_add(&row->cells[0].hist, 10, n), 0);
}

/* Four runs a side, of which the new ones do a quarter of the work in a quarter of the time; and
 * whether its count is sure. */
static bool less_is_sure(const char *options)
{
	static const double lengths[SIDES][4] = { { 0.8, 1.1, 0.95, 1.15 },
						  { 1.1, 0.85, 1, 1.05 } };
	static struct series runs[SIDES][4];
	struct compare c = { .runs = { runs[BASE], runs[NEW] }, .n_runs = { 4, 4 } };
	struct reason why;
	char *answer;
	bool sure;

	for (int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < 4; i++) {
			struct series *s = &runs[side][i];
			unsigned int part = side == BASE ? 1 : 4;

			*s = (struct series){ .name = strdup("run"), .options = strdup(options) };
			sums_make(s, "fsync", 4000 / part + i % 3, 8000000 / part + i * 99991, 0);
			s->length_ns[0] = s->duration_ns = lengths[side][i] * 10000000000 / part;
		}
	}
	assert_int_equal(compare_runs(&c, &why), 0);
	sure = c.rows[0].figures[FIG_COUNT].sure;
	assert_true(!c.rows[0].figures[FIG_RATE].sure);
	answer = compare_answer(&c);
	assert_true(!sure == !strstr(answer, "4,001 in base, 1,001 in new"));
	free(answer);
	runs_done(&c);
	return sure;
}

/* Runs of a command end when its work is done; how long others were says nothing. */
static void commands_may_do_less(void **state)
{
	(void)state;
	assert_true(less_is_sure("-d vda --"));
	assert_true(!less_is_sure("-d vda"));
}

/*
 * The sentence if only figure @fig of the reads has changed, from 4 to @value, or to as many ns if
 * it is a stratum; the caller frees it.
 */
static char *answer_of(enum figure fig, double value)
{
	static struct series runs[SIDES][3];
	struct compare c = { .runs = { runs[BASE], runs[NEW] }, .n_runs = { 3, 3 } };
	struct compare_figure *f;
	struct reason why;
	char *answer;

	for (int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < 3; i++) {
			runs[side][i] = (struct series){ .name = strdup("run") };
			sums_make(&runs[side][i], "read", 101, 101000, 0);
		}
	}
	assert_int_equal(compare_runs(&c, &why), 0);
	assert_int_equal(c.n_sure, 0);
	f = &c.rows[0].figures[fig];
	f->value[BASE] = 4;
	f->value[NEW] = value;
	f->sure = true;
	if (fig >= FIG_STRATA) {
		c.rows[0].strata_ns[BASE][fig - FIG_STRATA] = 4;
		c.rows[0].strata_ns[NEW][fig - FIG_STRATA] = llround(value);
	}
	c.n_sure = 1;
	c.identical = false;
	answer = compare_answer(&c);
	runs_done(&c);
	return answer;
}

/* Where no mean has changed, the sentence names another figure which has. */
static void other_figures_are_named(void **state)
{
	static const struct {
		enum figure fig;
		double value;
		const char *says;
	} is[] = {
		{ FIG_RATE, 2, "read: lower rate in new (-50 %)" },
		{ FIG_P50, 6, "read: higher p50 in new (+50 %)" },
		{ FIG_P99, 2, "read: lower p99 in new (-50 %)" },
		{ FIG_P999, 6, "read: higher p99.9 in new (+50 %)" },
		{ FIG_BYTES, 6, "read: larger mean size in new (+50 %)" },
		{ FIG_BESIDE, 6, "read: more requests each in new (+50 %)" },
		{ FIG_BESIDE, 2, "read: fewer requests each in new (-50 %)" },
		{ FIG_STRATA + ST_DEVICE, 4.2, "no difference that these runs can show" },
		{ FIG_STRATA + ST_DEVICE, 2, "read: less time in device in new (-50 %)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		char *answer = answer_of(is[i].fig, is[i].value);

		if (strncmp(answer, is[i].says, strlen(is[i].says)))
			fail_msg("%s, not %s", answer, is[i].says);
		free(answer);
	}
}

/* Whether three runs of @n operations each differ for sure from three of 101. */
static bool equal_runs_differ(uint64_t n)
{
	static struct series runs[SIDES][3];
	struct compare c = { .runs = { runs[BASE], runs[NEW] }, .n_runs = { 3, 3 } };
	struct reason why;
	bool sure;

	for (int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < 3; i++) {
			struct series *s = &runs[side][i];
			uint64_t count = side == BASE ? 101 : n;

			*s = (struct series){ .name = strdup("run") };
			sums_make(s, "open", count, 1000 * count, 0);
		}
	}
	assert_int_equal(compare_runs(&c, &why), 0);
	assert_true(c.method == COMPARE_WELCH && compare_is_between_runs(&c));
	assert_true(c.rows[0].figures[FIG_COUNT].tested);
	sure = c.rows[0].figures[FIG_COUNT].sure;
	runs_done(&c);
	return sure;
}

/* One operation more in each run is nothing, however equal the runs are. */
static void equal_runs_may_differ_by_one(void **state)
{
	(void)state;
	assert_true(!equal_runs_differ(101));
	assert_true(!equal_runs_differ(102));
	assert_true(equal_runs_differ(151));
}

/* Time that one side did not measure is in other strata there. */
static void strata_of_one_side_are_not_compared(void **state)
{
	struct series base = { .name = strdup("b") };
	struct series new = { .name = strdup("n"), .strata_missing = 1 << ST_FS };
	struct compare c = { .runs = { &base, &new }, .n_runs = { 1, 1 } };
	struct reason why;

	(void)state;
	sums_make(&base, "read", 300, 1000, 1000);
	sums_make(&new, "read", 300, 0, 2000);
	assert_int_equal(compare_runs(&c, &why), 0);
	assert_true(!c.rows[0].figures[FIG_STRATA + ST_FS].known);
	assert_true(c.rows[0].figures[FIG_STRATA + ST_DEVICE].known);
	assert_true(c.n_doubts == 1 && strstr(c.doubts[0], "only one side measures them: "));
	runs_done(&c);
}

/* Means are rounded so that they add up, and the change of the total is split exactly. */
static void figures_add_up(void **state)
{
	struct series base = { .name = strdup("b") }, new = { .name = strdup("n") };
	struct compare c = { .runs = { &base, &new }, .n_runs = { 1, 1 } };
	const struct compare_row *row;
	struct reason why;

	(void)state;
	sums_make(&base, "read", 3, 10, 10); /* 3 1/3 and 3 1/3 of 6 2/3 */
	sums_make(&base, "write", 10, 500, 0);
	sums_make(&base, "open", 1, 7, 0);
	sums_make(&new, "read", 7, 25, 33); /* 3 4/7 and 4 5/7 of 8 2/7 */
	sums_make(&new, "write", 20, 1400, 0);
	sums_make(&new, "close", 2, 4, 0);
	assert_int_equal(series_unite(&base) | series_unite(&new), 0);
	assert_int_equal(compare_runs(&c, &why), 0);
	sums_check(&c);
	row = row_of(&c, "read");
	assert_int_equal(row->mean_ns[BASE], 6);
	assert_int_equal(row->mean_ns[NEW], 8);
	assert_int_equal(row->strata_ns[BASE][ST_FS], 3);
	assert_int_equal(row->strata_ns[NEW][ST_FS] + row->strata_ns[NEW][ST_DEVICE], 8);
	assert_int_equal(row->strata_ns[NEW][ST_DEVICE], 5); /* its remainder is larger */
	/* base 14 operations in 527 ns, new 29 in 1462: 15 more at 527 / 14 are 564; slower are
	 * 58 - 7 * 20 / 3 = 12 and 1400 - 20 * 50 = 400 */
	assert_true(c.change.known);
	assert_int_equal(c.change.more_ns, 564);
	assert_int_equal(c.change.slower_ns, 412);
	assert_int_equal(c.change.mix_ns, 1462 - 527 - 564 - 412);
	assert_int_equal(c.n_rows, 2);
	assert_int_equal(c.n_lone, 2);
	assert_string_equal(c.lone[0].key->what, "open");
	assert_int_equal(c.lone[0].side, BASE);
	assert_int_equal(c.n_tests, 0);
	runs_done(&c);
}

/* Sums that are damaged are refused, and none is NaN. */
static void damage_is_refused(void **state)
{
	struct series base = { .name = strdup("b") }, new = { .name = strdup("n") };
	struct compare c = { .runs = { &base, &new }, .n_runs = { 1, 1 } };
	struct reason why;

	(void)state;
	sums_make(&base, "read", 3, 10, 10);
	sums_make(&new, "read", 3, UINT64_MAX, 5);
	assert_int_equal(series_unite(&base) | series_unite(&new), 0);
	assert_int_equal(compare_runs(&c, &why), -1);
	assert_non_null(strstr(why.error, "make no sense"));
	runs_done(&c);
}

static void limits_are_parsed(void **state)
{
	static const char *const wrong[] = {
		"",
		"fsync",
		"fsync p99",
		"fsync p99 10%",
		"fsync p99 +10",
		"fsync p99 +%",
		"fsync p99 +0%",
		"fsync p98 +10%",
		"frob p99 +10%",
		"fsync ext4 x p99 +10%",
		"p99 +1e3%",
		"p99 +nan%",
		"p99 +1.2.3%",
		"p99 + 10%",
		"p99 +10%%",
	};
	struct fail_if limit;
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (!fail_if_parse(wrong[i], &limit, &why))
			fail_msg("'%s' was taken", wrong[i]);
		assert_int_equal(why.exit, EXIT_USAGE);
	}
	assert_int_equal(fail_if_parse("fsync ext4 p99.9 +12.5%", &limit, &why), 0);
	assert_string_equal(limit.what, "fsync");
	assert_string_equal(limit.where, "ext4");
	assert_int_equal(limit.figure, FIG_P999);
	assert_true(limit.share == 0.125);
	assert_int_equal(fail_if_parse(" rate   -5% ", &limit, &why), 0);
	assert_string_equal(limit.what, "any");
	assert_true(limit.share == -0.05 && limit.figure == FIG_RATE);
}

static void limits_are_judged(void **state)
{
	static const struct {
		const char *text;
		enum fail_if_state state;
	} limits[] = {
		{ "fsync mean +10%", FAIL_IF_FAILED },     { "fsync mean +40%", FAIL_IF_HELD },
		{ "fsync mean -10%", FAIL_IF_HELD },       { "read mean +1%", FAIL_IF_HELD },
		{ "mean +10%", FAIL_IF_FAILED },           { "open mean +10%", FAIL_IF_ABSENT },
		{ "fsync xfs mean +10%", FAIL_IF_ABSENT }, { "fsync p99.9 +10%", FAIL_IF_FEW },
		{ "request mean +10%", FAIL_IF_ABSENT },
	};
	struct made slower[] = { usual[0], usual[1] };
	static struct series runs[SIDES][16];
	struct stats_random r = { 8 };
	struct fail_if limit;
	struct reason why;
	struct compare c;

	(void)state;
	slower[1].device_ns *= 1.25;
	made_compare(&c, runs, 1, 5, usual, slower, &r);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		assert_int_equal(fail_if_parse(limits[i].text, &limit, &why), 0);
		fail_if_judge(&limit, &c);
		if (limit.state != limits[i].state)
			fail_msg("'%s': %d", limits[i].text, limit.state);
	}
	runs_done(&c);
}

static void times_of_day(void **state)
{
	static const char *const wrong[] = {
		"",       "12",    "24:00", "12:60", "12:00:60", "12:00:00:00",        "12:00:00.x",
		"12:00x", "-1:00", "12:",   ":30",   "1 2:00",   "12:00:00.1234567891"
	};
	const uint64_t s = 1000000000, day = 86400 * s;
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (compare_clock_parse(wrong[i], &ns))
			fail_msg("'%s' was taken", wrong[i]);
	assert_true(compare_clock_parse("00:00", &ns) && ns == 0);
	assert_true(compare_clock_parse("12:30:05", &ns) && ns == 45005 * s);
	assert_true(compare_clock_parse("23:59:59.25", &ns) && ns == day - s * 3 / 4);
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(compare_clock_after(20 * day + 45000 * s, 45005 * s), 5 * s);
	assert_int_equal(compare_clock_after(20 * day + 45000 * s + 1, 45000 * s), day - 1);
	assert_int_equal(compare_clock_after(20 * day + 45000 * s, 45000 * s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_joined),
		cmocka_unit_test(parts_are_read),
		cmocka_unit_test(keys_have_a_limit),
		cmocka_unit_test(breakdowns_are_read),
		cmocka_unit_test(planted_is_found),
		cmocka_unit_test(nothing_is_claimed_of_chance),
		cmocka_unit_test(runs_are_compared),
		cmocka_unit_test(commands_may_do_less),
		cmocka_unit_test(equal_runs_may_differ_by_one),
		cmocka_unit_test(other_figures_are_named),
		cmocka_unit_test(strata_of_one_side_are_not_compared),
		cmocka_unit_test(figures_add_up),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(limits_are_parsed),
		cmocka_unit_test(limits_are_judged),
		cmocka_unit_test(times_of_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
