// SPDX-License-Identifier: GPL-2.0-only
/* Comparisons: runs become sums by interval and lose nothing; strata add up; what is planted is
 * found, and what is not is not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyse/compare.h"
#include "analyse/fail_if.h"
#include "analyse/stats.h"
#include "base/reason.h"
#include "base/text.h"
#include "capture/catalog.h"
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
		sum.samples += c->samples;
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
	assert_string_equal(s.options, "-d vda -- CMD");
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

	*c = (struct compare){ .runs = { runs[BASE], runs[NEW] },
			       .n_runs = { n, n },
			       .parts = n == 1 };
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
		struct compare_range range;
		char *answer;

		made_compare(&c, runs, 1, 13, usual, slower, &r);
		assert_int_equal(c.method, COMPARE_BLOCKS);
		assert_true(row_of(&c, "fsync")->figures[FIG_BESIDE].value[NEW] == 1);
		device = &row_of(&c, "fsync")->figures[FIG_STRATA + ST_DEVICE];
		answer = compare_answer(&c);
		range = compare_range(device);
		found += device->verdict == VERDICT_DIFFERS && !strncmp(answer, "differs: ", 9) &&
			 strstr(answer, "fsync on ext4: time each +") &&
			 strstr(answer, " us device)");
		covered += range.low <= 90000 && range.high >= 90000;
		others += row_of(&c, "read")->figures[FIG_MEAN].verdict > VERDICT_NOT_SURE;
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
		claims += c.n_claims > 0;
		assert_true(!c.n_claims ==
			    !strcmp(answer, "no difference beyond chance within the run"));
		free(answer);
		runs_done(&c);
	}
	assert_true(claims <= 1);
}

/* With three runs on each side it is they that are compared, however many events each has. */
static void runs_are_compared(void **state)
{
	struct made slower[] = { usual[0], usual[1] };
	static struct series runs[SIDES][16];
	struct stats_random r = { 7 };
	struct compare c;
	char *answer;

	(void)state;
	slower[1].device_ns *= 1.5;
	made_compare(&c, runs, 3, 2, usual, slower, &r);
	assert_int_equal(c.method, COMPARE_STUDENT);
	assert_int_equal(row_of(&c, "fsync")->figures[FIG_MEAN].verdict, VERDICT_SURE);
	assert_int_equal(row_of(&c, "read")->figures[FIG_MEAN].verdict, VERDICT_NOT_SURE);
	/* what is below the mean is judged only if something in the row has moved */
	assert_int_equal(row_of(&c, "fsync")->figures[FIG_P99].verdict, VERDICT_SURE);
	assert_int_equal(row_of(&c, "read")->figures[FIG_P99].verdict, VERDICT_NONE);
	assert_int_equal(row_of(&c, "read")->count[BASE], 3 * 320);
	assert_true(row_of(&c, "read")->figures[FIG_COUNT].value[BASE] == 320);
	answer = compare_answer(&c);
	assert_true(!strncmp(answer, "sure: all operations: I/O time a second +", 41));
	assert_true(strstr(answer, "; fsync on ext4: time each +"));
	free(answer);
	runs_done(&c);
	made_compare(&c, runs, 10, 1, usual, usual, &r);
	assert_int_equal(c.n_claims, 0);
	answer = compare_answer(&c);
	assert_true(!strncmp(answer, "no difference shown: these runs would have shown +", 50));
	assert_true(strstr(answer, "\nto see +50 % in I/O time a second: 3 runs a side"));
	free(answer);
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

/* Runs of one operation with these numbers and mean times, and when they began. */
struct simple {
	uint64_t number[SIDES][8], mean_ns[SIDES][8], began_ns[SIDES][8], bytes[SIDES][8];
	size_t n[SIDES];
	bool of_command;
};

static void simple_compare(struct compare *c, struct series runs[SIDES][8], const struct simple *s)
{
	struct reason why;

	*c = (struct compare){ .runs = { runs[BASE], runs[NEW] },
			       .n_runs = { s->n[BASE], s->n[NEW] } };
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < s->n[side]; i++) {
			uint64_t number = s->number[side][i];

			runs[side][i] = (struct series){ .name = strdup("run"),
							 .began_ns = s->began_ns[side][i],
							 .of_command = s->of_command };
			sums_make(&runs[side][i], "fsync", number, number * s->mean_ns[side][i], 0);
			runs[side][i].rows[0].cells[0].bytes = s->bytes[side][i];
		}
	}
	assert_int_equal(compare_runs(c, &why), 0);
}

/* Four runs a side, of which the new ones do a quarter of the work in a quarter of the time; and
 * the verdict on its number. */
static enum verdict less_work(bool of_command)
{
	static const double lengths[SIDES][4] = { { 0.8, 1.1, 0.95, 1.15 },
						  { 1.1, 0.85, 1, 1.05 } };
	static struct series runs[SIDES][4];
	struct compare c = { .runs = { runs[BASE], runs[NEW] }, .n_runs = { 4, 4 } };
	enum verdict verdict;
	struct reason why;
	char *answer;

	for (int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < 4; i++) {
			struct series *s = &runs[side][i];
			unsigned int part = side == BASE ? 1 : 4;

			*s = (struct series){ .name = strdup("run"), .of_command = of_command };
			sums_make(s, "fsync", 4000 / part + i % 3, 8000000 / part + i * 99991, 0);
			s->length_ns[0] = s->duration_ns = lengths[side][i] * 10000000000 / part;
		}
	}
	assert_int_equal(compare_runs(&c, &why), 0);
	verdict = c.rows[0].figures[of_command ? FIG_COUNT : FIG_RATE].verdict;
	assert_int_equal(c.rows[0].figures[of_command ? FIG_RATE : FIG_COUNT].verdict,
			 VERDICT_NONE);
	answer = compare_answer(&c);
	assert_true(of_command == !!strstr(answer, "fsync: number -75.0 % (-75.0 % to "));
	free(answer);
	runs_done(&c);
	return verdict;
}

/* Runs of a command end when its work is done; how long others were says nothing. */
static void commands_may_do_less(void **state)
{
	(void)state;
	assert_int_equal(less_work(true), VERDICT_SURE);
	assert_int_equal(less_work(false), VERDICT_NOT_SURE);
}

/* The verdict on the number of operations: 101 in base, @n in new. */
static enum verdict number_verdict(uint64_t n)
{
	struct simple s = { .n = { 3, 3 }, .of_command = true };
	static struct series runs[SIDES][8];
	enum verdict verdict;
	struct compare c;

	for (int side = 0; side < SIDES; side++) {
		for (int i = 0; i < 3; i++) {
			s.number[side][i] = side == BASE ? 101 : n;
			s.mean_ns[side][i] = 1000;
		}
	}
	simple_compare(&c, runs, &s);
	assert_true(c.method == COMPARE_STUDENT && compare_is_between_runs(&c));
	assert_true(c.rows[0].figures[FIG_COUNT].tested);
	verdict = c.rows[0].figures[FIG_COUNT].verdict;
	runs_done(&c);
	return verdict;
}

/* One operation more in each run is nothing, however equal the runs are. */
static void equal_runs_may_differ_by_one(void **state)
{
	(void)state;
	assert_int_equal(number_verdict(101), VERDICT_NOT_SURE);
	assert_int_equal(number_verdict(102), VERDICT_NOT_SURE);
	assert_int_equal(number_verdict(151), VERDICT_SURE);
}

/* A run's own figure counts, not that of all runs of a side together: one long run of many
 * operations does not outweigh the others. */
static void each_run_counts_once(void **state)
{
	struct simple s = {
		.number = { { 100, 100, 100, 100 }, { 100, 100, 100, 9000 } },
		.mean_ns = { { 1000, 1010, 990, 1000 }, { 1005, 1000, 995, 3000 } },
		.n = { 4, 4 },
		.of_command = true,
	};
	static struct series runs[SIDES][8];
	const struct compare_figure *f;
	struct compare c;

	(void)state;
	simple_compare(&c, runs, &s);
	f = &c.rows[0].figures[FIG_MEAN];
	assert_true(f->value[NEW] > 2900 && f->typical[NEW] < 1350);
	assert_int_equal(f->verdict, VERDICT_NOT_SURE);
	runs_done(&c);
}

/* Ten runs that take 8 % longer each, one side after the other: a drift. The same figures in turn,
 * or in an order that is not known, are a difference or none. */
static void drift_is_told(void **state)
{
	static const int turns[] = { 0, 1, 1, 0, 0, 1, 1, 0, 0, 1 };
	struct simple s = { .n = { 5, 5 }, .of_command = true };
	static struct series runs[SIDES][8];
	struct compare c;
	int at[SIDES] = {};
	char *answer;

	(void)state;
	for (int i = 0; i < 10; i++) {
		s.number[i / 5][i % 5] = 100;
		s.mean_ns[i / 5][i % 5] = 10000 + 1600 * i + 130 * (i % 3);
		s.began_ns[i / 5][i % 5] = 1000 + i;
	}
	simple_compare(&c, runs, &s);
	assert_true(compare_is_one_after_the_other(&c) && fabs(c.blocked - 0.7576) < 1e-4);
	assert_int_equal(c.rows[0].figures[FIG_MEAN].verdict, VERDICT_DRIFT);
	answer = compare_answer(&c);
	assert_non_null(strstr(answer, "drift: all operations: I/O time of a run +"));
	assert_non_null(strstr(answer, "record them in turn"));
	free(answer);
	runs_done(&c);
	for (int i = 0; i < 10; i++)
		s.began_ns[i / 5][i % 5] = 0;
	simple_compare(&c, runs, &s);
	assert_true(c.blocked < 0 && c.rows[0].figures[FIG_MEAN].verdict >= VERDICT_LIKELY);
	runs_done(&c);
	for (int i = 0; i < 10; i++) {
		int side = turns[i], n = at[side]++;

		s.mean_ns[side][n] = 10000 + 1600 * i + 130 * (i % 3);
		s.began_ns[side][n] = 1000 + i;
	}
	simple_compare(&c, runs, &s);
	assert_true(c.blocked < 0.1 && c.rows[0].figures[FIG_MEAN].verdict == VERDICT_NOT_SURE);
	runs_done(&c);
}

/* One run a side: its work is told, and its times are not judged. */
static void one_run_tells_its_work(void **state)
{
	struct simple s = {
		.number = { { 4000 }, { 600 } },
		.mean_ns = { { 1000 }, { 9000 } },
		.n = { 1, 1 },
		.of_command = true,
	};
	static struct series runs[SIDES][8];
	struct compare c;
	char *answer;

	(void)state;
	simple_compare(&c, runs, &s);
	assert_int_equal(c.method, COMPARE_NONE);
	assert_int_equal(c.n_work, 1);
	assert_int_equal(c.n_claims, 0);
	answer = compare_answer(&c);
	assert_true(
		!strncmp(answer,
			 "other work: 600 operations instead of 4,000 (-85.0 %): fsync 4,000 -> "
			 "600\ntimes: not judged with 1 and 1 runs. ",
			 110));
	free(answer);
	runs_done(&c);
	s.number[NEW][0] = 4203; /* less than a tenth more */
	simple_compare(&c, runs, &s);
	answer = compare_answer(&c);
	assert_true(!strncmp(answer, "same work: 4,203 operations instead of 4,000", 44));
	free(answer);
	runs_done(&c);
	s.of_command = false;
	s.number[NEW][0] = 600;
	simple_compare(&c, runs, &s);
	answer = compare_answer(&c);
	assert_true(!strncmp(answer, "work: 600/s operations instead of 4.00k/s; ", 43));
	free(answer);
	runs_done(&c);
}

/* An operation of one side only: its number is 0 on the other, and judged. */
static void lone_rows_are_judged(void **state)
{
	static struct series runs[SIDES][3];
	struct compare c = { .runs = { runs[BASE], runs[NEW] }, .n_runs = { 3, 3 } };
	struct fail_if limit;
	struct reason why;
	char *answer;

	(void)state;
	for (int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < 3; i++) {
			struct series *s = &runs[side][i];

			*s = (struct series){ .name = strdup("run"), .of_command = true };
			sums_make(s, "read", 101, 101000 + i, 0);
			if (side == NEW)
				sums_make(s, "write", 23, 23000 + i, 0);
			assert_int_equal(series_unite(s), 0);
		}
	}
	assert_int_equal(compare_runs(&c, &why), 0);
	assert_int_equal(c.n_lone, 1);
	assert_int_equal(c.lone[0].number.verdict, VERDICT_SURE);
	answer = compare_answer(&c);
	assert_non_null(strstr(answer, "write: number 0 -> 23"));
	free(answer);
	assert_int_equal(fail_if_parse("any count +0%", &limit, &why), 0);
	assert_int_equal(fail_if_judge(&limit, &c), 0);
	assert_int_equal(limit.result.state, FAIL_IF_BROKEN);
	assert_string_equal(limit.result.key->what, "write");
	assert_int_equal(limit.result.way, FAIL_IF_BY_VALUES);
	runs_done(&c);
}

/* Too few to be judged, but much of the time: told, if nothing else is. */
static void a_lone_row_with_much_time_is_told(void **state)
{
	static const uint64_t read_ns[SIDES][3] = { { 50000000, 160000000, 90000000 },
						    { 90000000, 50000000, 160000000 } };
	static struct series runs[SIDES][3];
	struct reason why;

	(void)state;
	for (int few = 0; few < 2; few++) {
		struct compare c = { .runs = { runs[BASE], runs[NEW] }, .n_runs = { 3, 3 } };
		char *answer;

		for (int side = 0; side < SIDES; side++) {
			for (unsigned int i = 0; i < 3; i++) {
				struct series *s = &runs[side][i];

				*s = (struct series){ .name = strdup("run"), .of_command = true };
				sums_make(s, "read", 10007, read_ns[side][i], 0);
				if (side == NEW)
					sums_make(s, "write", 23, few ? 2000000 : 20000000, 0);
				assert_int_equal(series_unite(s), 0);
			}
		}
		assert_int_equal(compare_runs(&c, &why), 0);
		assert_int_equal(c.n_claims, 0);
		answer = compare_answer(&c);
		assert_true(!strncmp(answer, "no difference shown: ", 21));
		if (few)
			assert_true(!strstr(answer, "only in"));
		else
			assert_true(
				strstr(answer, "\nonly in new: write (69, 60.0 ms): not judged"));
		free(answer);
		runs_done(&c);
	}
}

static void ratios_have_three_digits(void **state)
{
	static const struct {
		double share;
		const char *text;
	} is[] = {
		{ 0, "+0 %" },         { 0.0031, "+0.31 %" }, { 0.58, "+58.0 %" },
		{ 1.5, "+150 %" },     { -0.856, "-85.6 %" }, { 3.99, "+399 %" },
		{ 18.9, "x19.9" },     { 199, "x200" },       { 1e9, "x1e+09" },
		{ -0.9999, "-100 %" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
		assert_string_equal(compare_ratio(log1p(is[i].share)).s, is[i].text);
	assert_string_equal(compare_ratio(1e300).s, "x3e+43");
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
		"fsync p98 +10%",
		"frob p99 +10%",
		"fsync ext4 x p99 +10%",
		"p99 +1e3%",
		"p99 +nan%",
		"p99 +1.2.3%",
		"p99 + 10%",
		"p99 +10%%",
		"p99 -100%",
		"all mean +1%",
		"all ext4 total +1%",
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
	assert_int_equal(limit.which, FIG_P999);
	assert_true(limit.share == 0.125);
	assert_int_equal(fail_if_parse(" rate   -5% ", &limit, &why), 0);
	assert_string_equal(limit.what, "any");
	assert_true(limit.share == -0.05 && limit.less && limit.which == FIG_RATE);
	assert_int_equal(fail_if_parse("fsync count -0%", &limit, &why), 0);
	assert_true(limit.share == 0 && limit.less);
	assert_int_equal(fail_if_parse("request vda device +50%", &limit, &why), 0);
	assert_true(limit.which == FIG_STRATA + ST_DEVICE && !limit.whole);
	assert_int_equal(fail_if_parse("all nowait +10%", &limit, &why), 0);
	assert_true(limit.which == WHOLE_NOWAIT && limit.whole);
}

/* Broken, held or undecided, each limit alone. */
static void limits_are_judged(void **state)
{
	static const struct {
		const char *text;
		enum fail_if_state state;
		enum fail_if_way way;
	} limits[] = {
		{ "fsync mean +10%", FAIL_IF_BROKEN, FAIL_IF_BY_TEST },
		{ "fsync mean +40%", FAIL_IF_HELD, FAIL_IF_BY_TEST },
		{ "fsync mean -10%", FAIL_IF_HELD, FAIL_IF_BY_TEST },
		{ "fsync mean +25%", FAIL_IF_UNDECIDED, FAIL_IF_BY_TEST },
		{ "read mean +1%", FAIL_IF_UNDECIDED, FAIL_IF_BY_TEST },
		{ "mean +10%", FAIL_IF_BROKEN, FAIL_IF_BY_TEST },
		{ "fsync device +10%", FAIL_IF_BROKEN, FAIL_IF_BY_TEST },
		{ "all total +10%", FAIL_IF_BROKEN, FAIL_IF_BY_TEST },
		{ "all count +0%", FAIL_IF_HELD, FAIL_IF_BY_VALUES },
		{ "fsync count +0%", FAIL_IF_HELD, FAIL_IF_BY_VALUES },
		{ "fsync requests -0%", FAIL_IF_HELD, FAIL_IF_BY_VALUES },
		{ "fsync p99.9 +10%", FAIL_IF_UNDECIDED, FAIL_IF_BY_NOTHING },
		{ "open mean +10%", FAIL_IF_ABSENT, FAIL_IF_BY_TEST },
		{ "fsync xfs mean +10%", FAIL_IF_ABSENT, FAIL_IF_BY_TEST },
		{ "request mean +10%", FAIL_IF_ABSENT, FAIL_IF_BY_TEST },
	};
	struct made slower[] = { usual[0], usual[1] };
	static struct series runs[SIDES][16];
	struct stats_random r = { 8 };
	struct fail_if limit;
	struct reason why;
	struct compare c;

	(void)state;
	slower[1].device_ns *= 1.25;
	made_compare(&c, runs, 5, 5, usual, slower, &r);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		assert_int_equal(fail_if_parse(limits[i].text, &limit, &why), 0);
		assert_int_equal(fail_if_judge(&limit, &c), 0);
		if (limit.result.state != limits[i].state || limit.result.way != limits[i].way)
			fail_msg("'%s': %d by %d", limits[i].text, limit.result.state,
				 limit.result.way);
		assert_int_equal(limit.few, limits[i].way == FAIL_IF_BY_NOTHING);
	}
	runs_done(&c);
}

/* The words of a limit that is broken, held or undecided, or was counted. */
static void limits_are_told(void **state)
{
	static const struct {
		const char *limit, *text;
	} told[] = {
		{ "mean +10%", "mean +10%: BROKEN: +20.0 %, 95 % sure above +18.9 %" },
		{ "mean +50%", "mean +50%: held: +20.0 %, 95 % sure below +21.1 %" },
		{ "mean -30%", "mean -30%: held: +20.0 %, 95 % sure above +18.9 %" },
		{ "mean +20%",
		  "mean +20%: undecided: +20.0 %, between +18.9 % and +21.1 %. No number of runs "
		  "up "
		  "to 300 would decide it: the change is at the limit; these runs can hold limits "
		  "from +21.1 % on" },
		{ "mean +19.5%",
		  "mean +19.5%: undecided: +20.0 %, between +18.9 % and +21.1 %. 72 runs a side "
		  "would decide it, if this is the change; these runs can hold limits from +21.1 % "
		  "on" },
		{ "count -1%", "count -1%: BROKEN: 100 -> 90, the same in every run of a side" },
	};
	struct simple s = { .n = { 8, 8 }, .of_command = true };
	static struct series runs[SIDES][8];
	struct fail_if limit;
	struct compare c;
	struct reason why;
	char *text;

	(void)state;
	for (int i = 0; i < 8; i++) {
		s.number[BASE][i] = 100;
		s.number[NEW][i] = 90;
		s.mean_ns[BASE][i] = 100000;
		s.mean_ns[NEW][i] = 120000;
	}
	simple_compare(&c, runs, &s);
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		assert_int_equal(fail_if_parse(told[i].limit, &limit, &why), 0);
		assert_int_equal(fail_if_judge(&limit, &c), 0);
		text = compare_limit(&c, &limit);
		assert_string_equal(text, told[i].text);
		free(text);
	}
	runs_done(&c);
	s.n[BASE] = s.n[NEW] = 1;
	simple_compare(&c, runs, &s);
	assert_int_equal(fail_if_parse("count +5%", &limit, &why), 0);
	assert_int_equal(fail_if_judge(&limit, &c), 0);
	text = compare_limit(&c, &limit);
	assert_string_equal(text, "count +5%: held: 100 -> 90 in 1 and 1 runs, as counted; runs "
				  "may differ");
	free(text);
	assert_int_equal(fail_if_parse("mean +5%", &limit, &why), 0);
	assert_int_equal(fail_if_judge(&limit, &c), 0);
	text = compare_limit(&c, &limit);
	assert_string_equal(text, "mean +5%: undecided: 1 and 1 runs; this figure needs 3 on "
				  "each side");
	free(text);
	runs_done(&c);
}

/* A number that is 0 in all runs of a side is judged, too. */
static void limits_of_zeros(void **state)
{
	struct simple s = { .n = { 3, 3 }, .of_command = true };
	static struct series runs[SIDES][8];
	static const char *const told[] = {
		"bytes +5%: held: 0 B -> 0 B, the same in every run of a side",
		"bytes +5%: BROKEN: 0 B -> 100 B, the same in every run of a side",
	};
	struct fail_if limit;
	struct compare c;
	struct reason why;
	char *text;

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int side = 0; side < SIDES; side++)
			s.number[side][i] = s.mean_ns[side][i] = 1000;
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		simple_compare(&c, runs, &s);
		assert_int_equal(fail_if_parse("bytes +5%", &limit, &why), 0);
		assert_int_equal(fail_if_judge(&limit, &c), 0);
		text = compare_limit(&c, &limit);
		assert_string_equal(text, told[i]);
		free(text);
		runs_done(&c);
		for (int n = 0; n < 3; n++)
			s.bytes[NEW][n] = 100000;
	}
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

/* Names of callers: two functions in one library, and a stack that was cut. */
static void callers_name(struct writer *w)
{
	static const char *const functions[] = { "save_rows\0store.c", "save_index\0store.c" };
	const uint8_t first[] = { 1, 0, 0, 0 }, second[] = { 2, 0, 0, 0 };

	name_put(w, (struct stored_name){ NAME_CODE, 1, 0, 0, 0, 0 }, "store", 5);
	name_put(w, (struct stored_name){ NAME_FRAME, 1, 1, 16, 10, 0 }, functions[0], 17);
	name_put(w, (struct stored_name){ NAME_FRAME, 2, 1, 32, 20, 0 }, functions[1], 18);
	name_put(w, (struct stored_name){ NAME_FRAME, 3, 1, 48, 0, 0 }, "", 0);
	name_put(w, (struct stored_name){ NAME_STACK, 1, STACK_WHOLE, 0, 0, 0 }, (char *)first, 4);
	name_put(w, (struct stored_name){ NAME_STACK, 2, STACK_WHOLE, 0, 0, 0 }, (char *)second, 4);
	name_put(w, (struct stored_name){ NAME_STACK, 3, STACK_NOT_READY, 0, 0, 0 }, "", 0);
	name_put(w, (struct stored_name){ NAME_STACK, 4, STACK_WHOLE, 0, 0, 0 }, "\x03\0\0", 4);
}

/* The stacks are so long apart. */
static unsigned int apart_ns;

static void stacks_put(struct writer *w, int n, struct stored_stack s)
{
	s.owner = 1;
	s.fs = STORED_FS_FIRST;
	s.strata[ST_FS] = 750;
	s.strata[ST_DEVICE] = 250;
	for (int i = 0; i < n; i++) {
		s.start_ns = 2000 + i * apart_ns;
		writer_stack(w, &s, 1000);
	}
}

static int own_innermost(void *arg, const struct catalog *c, const struct catalog_stack *s)
{
	(void)arg;
	(void)c;
	return s->n ? 0 : -1;
}

/* That many writes are counted. */
static int writes;

/* A recording with stacks, by @by; the second function has a quarter of the stacks. */
static void callers_read(struct series *s, enum by_key by, uint64_t threshold, uint64_t lost)
{
	const struct series_conf conf = { .by = by, .own_frame = own_innermost };
	static const char with_stacks[] = "{\"kernel\":\"6.1\",\"host\":\"a\",\"ops\":true,"
					  "\"monotonic_ns\":1000,\"stacks\":true}";
	struct writer w = {};
	struct reason why;
	FILE *f = tmpfile();
	char end[128];

	assert_int_equal(writer_begin(&w, fileno(f), with_stacks), 0);
	name_put(&w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 0 }, "ext4", 4);
	name_put(&w, (struct stored_name){ NAME_THREAD, 1, 100, 101, 42, 0 }, "one", 3);
	for (int i = 0; i < 7; i++)
		op_put(&w, 2000 + i, OP_SERVED, 0, 10, 20);
	op_put(&w, 2100, OP_FSYNC, 0, 10, 20); /* its stack counts, or none was taken */
	for (int i = 0; i < writes; i++)
		op_put(&w, 2200 + i, OP_WRITE, 0, 10, 20);
	stacks_put(&w, 101, (struct stored_stack){ .kind = OP_FSYNC, .stack = 1 });
	stacks_put(&w, 22,
		   (struct stored_stack){
			   .kind = OP_WRITE, .stack = 2, .ret = 100, .threshold_ns = threshold });
	stacks_put(&w, 2,
		   (struct stored_stack){
			   .kind = OP_WRITE, .stack = 2, .ret = -EIO, .threshold_ns = threshold });
	stacks_put(&w, 5, (struct stored_stack){ .kind = OP_FSYNC, .stack = 3 });
	stacks_put(&w, 3, (struct stored_stack){ .kind = OP_FSYNC, .stack = 4 });
	stacks_put(&w, 2, (struct stored_stack){ .kind = OP_FSYNC, .stack = 99 });
	stacks_put(&w, 11, (struct stored_stack){ .kind = OP_SERVED, .stack = 1 });
	writer_flush(&w);
	callers_name(&w);
	writer_close(&w);
	snprintf(end, sizeof(end), "{\"duration_ns\":5000,\"stacks_lost\":%llu}",
		 (unsigned long long)lost);
	assert_true(writer_end(&w, end));
	writer_done(&w);
	rewind(f);
	*s = (struct series){};
	assert_int_equal(series_read(s, f, "made", &conf, &why), 0);
	fclose(f);
}

/* The sums of a row; all 0 if there is none. */
static struct series_cell row_by(const struct series *s, const char *what, const char *by)
{
	for (size_t i = 0; i < s->n_rows; i++)
		if (!strcmp(s->rows[i].key.what, what) && !strcmp(s->rows[i].key.by, by))
			return whole(s, &s->rows[i]);
	return (struct series_cell){};
}

/* A stack counts for as many operations as it stands for; others than those of stacks stay. */
static void rows_by_caller(void **state)
{
	struct series_cell c;
	struct series s;

	(void)state;
	callers_read(&s, BY_FUNCTION, 1500, 3);
	assert_true(s.stacks.sampled);
	assert_int_equal(s.stacks.lost, 3);
	c = row_by(&s, "fsync", "save_rows");
	assert_int_equal(c.count, 101);
	assert_int_equal(c.total_ns, 101000);
	c = row_by(&s, "write", "save_index");
	assert_int_equal(c.count, 36); /* 24 stacks for one and a half each */
	assert_int_equal(c.samples, 24);
	assert_int_equal(c.total_ns, 36000);
	assert_int_equal(c.strata[ST_DEVICE], 24 * 375);
	assert_int_equal(c.strata[ST_FS], 24 * 1125);
	assert_int_equal(c.bytes, 22 * 150);
	assert_int_equal(c.errors, 3);
	assert_int_equal(c.hist.cap, 36);
	assert_int_equal(row_by(&s, "fsync", "(caller unknown)").count, 7);
	assert_int_equal(row_by(&s, "fsync", "0x30 [store]").count, 3);
	assert_int_equal(row_by(&s, "served", "(no stack)").count, 7);
	assert_int_equal(row_by(&s, "served", "save_rows").count, 0);
	series_done(&s);
	callers_read(&s, BY_LINE, 0, 0);
	assert_false(s.stacks.sampled);
	assert_int_equal(row_by(&s, "fsync", "save_rows (store.c:10)").count, 101);
	series_done(&s);
	callers_read(&s, BY_LIBRARY, 0, 0);
	assert_int_equal(row_by(&s, "fsync", "store").count, 104);
	series_done(&s);
}

/* The number counted takes the place of the one estimated, in proportion in each interval; times
 * stay. If stacks were lost, it does not grow. */
static void numbers_by_caller_are_those_counted(void **state)
{
	static const struct {
		int writes;
		uint64_t lost, count, errors, bytes;
	} cases[] = {
		{ 29, 0, 29, 3 * 29 / 36, 22 * 150 * 29 / 36 },
		{ 29, 7, 29, 3 * 29 / 36, 22 * 150 * 29 / 36 },
		{ 101, 0, 101, 3 * 101 / 36, 22 * 150 * 101 / 36 },
		{ 101, 7, 36, 3, 22 * 150 },
		{ 0, 0, 36, 3, 22 * 150 }, /* left out by a filter */
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		struct series_cell c;
		struct series s;

		apart_ns = i % 2 ? 100003 : 0;
		writes = cases[i / 2].writes;
		callers_read(&s, BY_FUNCTION, 1500, cases[i / 2].lost);
		assert_int_equal(s.intervals > 24, i % 2);
		c = row_by(&s, "write", "save_index");
		assert_int_equal(c.count, cases[i / 2].count);
		assert_int_equal(c.errors, cases[i / 2].errors);
		assert_int_equal(c.bytes, cases[i / 2].bytes);
		assert_int_equal(c.hist.cap, cases[i / 2].count);
		assert_int_equal(c.total_ns, 36000);
		assert_int_equal(row_by(&s, "fsync", "save_rows").count, 101);
		series_done(&s);
	}
	writes = apart_ns = 0;
}

/* 24 of 135 stacks stand for one and a half operations each: 1.96 / 2 * sqrt(24 / 3) * 1500 ns, in
 * 147 us. */
static const char *const callers_told[SIDES] = {
	"numbers and times by caller in base are estimated from the stacks of 135 of 1 operations: "
	"a share of half is right within 2.8 %",
	"numbers and times by caller in new are estimated from the stacks of 135 of 1 operations: "
	"a share of half is right within 2.8 %",
};

/* That figures by caller are estimates is told, of which side, and how far they are right. */
static void estimates_by_caller_are_told(void **state)
{
	static const struct {
		uint64_t threshold[SIDES];
		bool told[SIDES];
	} cases[] = {
		{ { 1500, 1500 }, { true, true } },
		{ { 1500, 0 }, { true, false } },
		{ { 0, 1500 }, { false, true } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct series runs[SIDES];
		struct compare c = {};
		bool told[SIDES] = {}, lost = false;

		for (int side = 0; side < SIDES; side++) {
			callers_read(&runs[side], BY_FUNCTION, cases[i].threshold[side], 3);
			assert_int_equal(series_join(&runs[side], 1), 0);
			c.runs[side] = &runs[side];
			c.n_runs[side] = 1;
		}
		assert_int_equal(compare_runs(&c, NULL), 0);
		for (size_t d = 0; d < c.n_doubts; d++) {
			for (int side = 0; side < SIDES; side++)
				told[side] |= !strcmp(c.doubts[d], callers_told[side]);
			lost |= !strcmp(c.doubts[d], "6 user stacks were lost");
		}
		assert_memory_equal(told, cases[i].told, sizeof(told));
		assert_true(lost);
		compare_done(&c);
		for (int side = 0; side < SIDES; side++)
			series_done(&runs[side]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_by_caller),
		cmocka_unit_test(numbers_by_caller_are_those_counted),
		cmocka_unit_test(estimates_by_caller_are_told),
		cmocka_unit_test(intervals_are_joined),
		cmocka_unit_test(parts_are_read),
		cmocka_unit_test(keys_have_a_limit),
		cmocka_unit_test(breakdowns_are_read),
		cmocka_unit_test(planted_is_found),
		cmocka_unit_test(nothing_is_claimed_of_chance),
		cmocka_unit_test(runs_are_compared),
		cmocka_unit_test(commands_may_do_less),
		cmocka_unit_test(equal_runs_may_differ_by_one),
		cmocka_unit_test(each_run_counts_once),
		cmocka_unit_test(drift_is_told),
		cmocka_unit_test(one_run_tells_its_work),
		cmocka_unit_test(lone_rows_are_judged),
		cmocka_unit_test(a_lone_row_with_much_time_is_told),
		cmocka_unit_test(ratios_have_three_digits),
		cmocka_unit_test(strata_of_one_side_are_not_compared),
		cmocka_unit_test(figures_add_up),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(limits_are_parsed),
		cmocka_unit_test(limits_are_judged),
		cmocka_unit_test(limits_are_told),
		cmocka_unit_test(limits_of_zeros),
		cmocka_unit_test(times_of_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
