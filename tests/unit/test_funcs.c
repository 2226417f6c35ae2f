// SPDX-License-Identifier: GPL-2.0-only
/* Patterns of functions, sums of calls, the order of a tree. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "bpf/func.h"
#include "funcs/func_columns.h"
#include "funcs/func_print.h"
#include "funcs/func_rows.h"
#include "funcs/func_session.h"
#include "json_seen.h"
#include "show/presses.h"

static struct pattern *open_pattern(const char *text)
{
	struct reason why = {};
	struct pattern *p = NULL;

	assert_int_equal(pattern_open(text, &p, &why), 0);
	return p;
}

static bool matches(const char *text, const char *name)
{
	struct pattern *p = open_pattern(text);
	bool is = pattern_matches(p, name);

	pattern_free(p);
	return is;
}

static void patterns_match(void **state)
{
	(void)state;
	assert_true(matches("ext4_*", "ext4_sync_file"));
	assert_false(matches("ext4_*", "xext4_sync_file"));
	assert_true(matches("vfs_?ead", "vfs_read"));
	assert_true(matches("vfs_[rw]*", "vfs_write"));
	assert_true(matches("vfs_read", "vfs_read"));
	assert_false(matches("vfs_read", "vfs_readv"));
	assert_false(matches("vfs_read*", "vfs_rea"));
	assert_true(matches("*_link*", "bpf_link_get"));
	assert_true(matches("**_link", "bpf_link"));
	assert_false(matches("*_link", "bpf_link_get"));
	assert_false(matches("*_link*", "bpf_lin"));
	assert_true(matches("*?link", "bpf_link"));
	assert_true(matches("*[_.]link\\*", "bpf_link*"));
	assert_false(matches("*_lin\\k", "bpf_lin\\k"));
	assert_true(matches("/^vfs_(read|write)$/", "vfs_write"));
	assert_false(matches("/^vfs_(read|write)$/", "vfs_writev"));
	assert_true(matches("/write/", "ext4_file_write_iter"));
	assert_true(matches("xfs:*", "anything"));
	assert_true(matches("xfs:/^x.s/", "xfs_read"));
}

/* The next text of at most @max of @letters; false: it was the last. */
static bool text_next(char *text, const char *letters, size_t max)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		const char *next = strchr(letters, text[i]) + 1;

		text[i] = *next ? *next : letters[0];
		if (*next)
			return true;
	}
	if (len == max)
		return false;
	text[len] = letters[0];
	text[len + 1] = '\0';
	return true;
}

/* Globs match as fnmatch() does, whatever cases are handled before. */
static void globs_match_as_ever(void **state)
{
	char glob[8] = "", name[8];

	(void)state;
	do {
		name[0] = '\0';
		do {
			if (glob_matches(glob, name) == !!fnmatch(glob, name, 0))
				fail_msg("glob '%s', name '%s'", glob, name);
		} while (text_next(name, "a.*\\", 3));
	} while (text_next(glob, "a.*?[]\\", 4));
}

static void a_pattern_knows_whether_it_matched(void **state)
{
	struct pattern *p = open_pattern("vfs_*");

	(void)state;
	assert_false(pattern_has_matched(p));
	assert_false(pattern_matches(p, "ext4_sync_file"));
	assert_false(pattern_has_matched(p));
	assert_true(pattern_matches(p, "vfs_read"));
	assert_false(pattern_matches(p, "ext4_sync_file"));
	assert_true(pattern_has_matched(p));
	pattern_free(p);
}

static void check_scope(const char *text, const char *scope, const char *name, bool user,
			bool excludes)
{
	struct pattern *p = open_pattern(text);

	assert_string_equal(pattern_scope(p), scope);
	assert_string_equal(pattern_name(p), name);
	assert_int_equal(pattern_is_user(p), user);
	assert_int_equal(pattern_excludes(p), excludes);
	pattern_free(p);
}

static void patterns_have_scopes(void **state)
{
	(void)state;
	check_scope("vfs_read", "", "vfs_read", false, false);
	check_scope("xfs:xfs_*", "xfs", "xfs_*", false, false);
	check_scope("!xfs:xfs_*", "xfs", "xfs_*", false, true);
	check_scope("c:p*", "c", "p*", true, false);
	check_scope("/bin/sh:main", "/bin/sh", "main", true, false);
	check_scope("./a:b:main", "./a:b", "main", true, false);
	check_scope("/a:b/", "", "/a:b/", false, false);
	check_scope("/bin/sh:/^m/", "/bin/sh", "/^m/", true, false);
	check_scope("/nowhere:/^m/", "", "/nowhere:/^m/", false, false);
	check_scope("/", "", "/", false, false);
}

static void patterns_refused(void **state)
{
	static const char *const texts[] = { "", "!", ":x", "xfs:", "c:", "/(/", "c:/[a/" };
	struct pattern *untouched = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct reason why = {};

		assert_int_equal(pattern_open(texts[i], &untouched, &why), -1);
		assert_int_equal(why.exit, EXIT_USAGE);
		assert_null(untouched);
	}
}

static unsigned int distance(const char *text, const char *name)
{
	struct pattern *p = open_pattern(text);
	unsigned int d = pattern_distance(p, name);

	pattern_free(p);
	return d;
}

static void patterns_near(void **state)
{
	char name[600];

	(void)state;
	assert_int_equal(distance("vfs_read", "vfs_read"), 0);
	assert_int_equal(distance("vfs_raed", "vfs_read"), 2);
	assert_int_equal(distance("vfs_reat", "vfs_read"), 1);
	assert_int_equal(distance("vfs_red", "vfs_read"), 1);
	assert_int_equal(distance("ext4_*_wirte", "ext4_buffered_write"), 2);
	assert_int_equal(distance("vfs_?ead", "vfs_read"), 0);
	assert_int_equal(distance("/read/", "read"), PATTERN_FAR);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(distance("a*", name), PATTERN_FAR);
	name[512] = '\0';
	assert_int_equal(distance("a*", name), 0);
}

static void figures_add_up(void **state)
{
	struct func_figures sum = {};

	(void)state;
	func_figures_add(
		&sum,
		&(struct func_figures){
			.count = 2, .total_ns = 30, .self_ns = 20, .min_ns = 10, .max_ns = 20 });
	func_figures_add(
		&sum, &(struct func_figures){
			      .count = 1, .total_ns = 5, .self_ns = 5, .min_ns = 5, .max_ns = 5 });
	func_figures_add(&sum, &(struct func_figures){});
	assert_int_equal(sum.count, 3);
	assert_int_equal(sum.total_ns, 35);
	assert_int_equal(sum.self_ns, 25);
	assert_int_equal(sum.min_ns, 5);
	assert_int_equal(sum.max_ns, 20);
}

/* a calls b, which calls a; b is also called by nobody; d by one that has not returned. */
static struct func_row tree_rows[] = {
	{ .func = 1,
	  .path = 22,
	  .parent = 11,
	  .sum = { .count = 2, .total_ns = 40, .self_ns = 30 } },
	{ .func = 0,
	  .path = 33,
	  .parent = 22,
	  .sum = { .count = 1, .total_ns = 10, .self_ns = 10 } },
	{ .func = 0, .path = 11, .sum = { .count = 1, .total_ns = 100, .self_ns = 60 } },
	{ .func = 1, .path = 44, .sum = { .count = 5, .total_ns = 500, .self_ns = 500 } },
	{ .func = 2, .path = 55, .parent = 99, .sum = { .count = 1, .total_ns = 7, .self_ns = 7 } },
};
static struct func functions[] = { { .name = "a", .where = "" },
				   { .name = "b;c", .where = "" },
				   { .name = "d e", .where = "" } };
static const struct func_list function_list = { .at = functions, .n = 3 };
static const struct func_cost no_cost;
static const struct funcs_view view = { .funcs = &function_list,
					.cost = &no_cost,
					.sort = "total",
					.tree = true,
					.probe = "kprobe",
					.kernel = "6.1.0" };

static void tree_is_in_order(void **state)
{
	static const struct {
		unsigned int func;
		int depth;
	} want[] = {
		{ 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 2 }, { 2, 0 },
	};
	struct func_snapshot sn = { .tree = tree_rows, .n_tree = 5 };
	struct funcs_tree tree;

	(void)state;
	assert_int_equal(func_tree_init(&tree, &view, &sn), 0);
	assert_int_equal(tree.n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(tree.at[i].row->func, want[i].func);
		assert_int_equal(tree.at[i].depth, want[i].depth);
	}
	assert_string_equal(tree.at[3].label, "    a");
	func_tree_done(&tree);
}

/* A row that is its own parent, as no kernel makes them, is not followed. */
static void tree_without_a_top(void **state)
{
	struct func_row rows[] = { { .path = 1, .parent = 2 }, { .path = 2, .parent = 1 } };
	struct func_snapshot sn = { .tree = rows, .n_tree = 2 };
	struct funcs_tree tree;

	(void)state;
	assert_int_equal(func_tree_init(&tree, &view, &sn), 0);
	assert_true(tree.n <= 2);
	func_tree_done(&tree);
}

static char *printed(int (*fn)(FILE *, const struct funcs_view *, const struct func_snapshot *),
		     const struct funcs_view *v, const struct func_snapshot *sn)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(fn(f, v, sn), 0);
	fclose(f);
	if (fn == func_json)
		json_seen(text);
	return text;
}

static void lines_for_others(void **state)
{
	struct func_snapshot sn = {
		.tree = tree_rows, .n_tree = 5, .rows = tree_rows, .n_rows = 5
	};
	char *text = printed(func_folded, &view, &sn);

	(void)state;
	assert_string_equal(text, "b_c 500\na 60\na;b_c 30\na;b_c;a 10\nd_e 7\n");
	free(text);
	sn.n_rows = 1;
	text = printed(func_csv, &view, &sn);
	assert_string_equal(text, "b;c(),2,0.040\n");
	free(text);
}

static void unreturned_calls_count(void **state)
{
	struct func_row row = { .func = 0, .unreturned = 7 };
	struct func_snapshot sn = { .rows = &row, .n_rows = 1, .duration_ns = 1 };
	char *text = printed(func_json, &view, &sn);

	(void)state;
	assert_non_null(strstr(text, "\"count\":7,\"total_ns\":null"));
	assert_non_null(strstr(text, "\"unreturned\":7"));
	free(text);
	text = printed(func_text, &view, &sn);
	assert_non_null(strstr(text, "7 calls were not seen to return"));
	free(text);
}

/* A usual call of 30 ns, 20 ns of them the probe's; or 10 ns without the probe, which took 20. One
 * long call makes the sum so large that the row has its rank. */
static void rows_that_are_mostly_probes_are_named(void **state)
{
	static const struct func_cost cost = { .call_ns = 30, .inside_ns = 20 };
	struct func_row rows[] = {
		{ .func = 0, .sum = { .count = 7, .total_ns = 7 * 60, .max_ns = 240 } },
		{ .func = 1, .sum = { .count = 7, .total_ns = 7 * 60, .max_ns = 60 } },
	};
	struct func_snapshot sn = { .rows = rows, .n_rows = 2, .duration_ns = 1000 };
	struct funcs_view v = view;

	(void)state;
	v.cost = &cost;
	v.tree = false;
	for (int i = 0; i < 2; i++) {
		uint64_t usual_ns[] = { i ? 10 : 30, i ? 40 : 60 };
		char *text;

		v.subtract = i;
		for (int k = 0; k < 2; k++) {
			rows[k].hist = (struct hist){};
			assert_int_equal(hist_add(&rows[k].hist, hist_bucket(usual_ns[k]), 7), 0);
		}
		text = printed(func_text, &v, &sn);
		assert_non_null(strstr(text, "\nhalf or more of a usual call is the probe: a; "));
		free(text);
		for (int k = 0; k < 2; k++)
			free(rows[k].hist.bins);
	}
}

static void check_rows(const struct funcs_view *v, struct func_row *rows, const char *order)
{
	struct func_snapshot sn = { .rows = rows, .n_rows = strlen(order) };
	struct funcs_rows r;

	assert_int_equal(func_rows_init(&r, v, &sn), 0);
	assert_int_equal(r.n, sn.n_rows);
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.at[i]->by[0], order[i]);
	func_rows_done(&r);
}

/* Half of the first row's measured time is the probes', half of the second's waits for a CPU; of
 * the third's, 1 ns less than half. */
static void times_of_probes_have_no_rank(void **state)
{
	static const struct func_cost cost = { .call_ns = 30,
					       .inside_ns = 20,
					       .preempted_known = true };
	struct func_row rows[] = {
		{ .func = 0, .by = "a", .sum = { .count = 7, .total_ns = 900, .probe_ns = 900 } },
		{ .func = 0,
		  .by = "b",
		  .sum = { .count = 3, .total_ns = 800, .probe_ns = 400, .preempted_ns = 200 } },
		{ .func = 0,
		  .by = "c",
		  .sum = { .count = 5, .total_ns = 700, .probe_ns = 100, .preempted_ns = 299 } },
		{ .func = 0, .by = "d", .unreturned = 2 },
	};
	struct func_snapshot sn = { .rows = rows, .n_rows = 4, .duration_ns = 1000 };
	struct funcs_view v = view;
	char *text;

	(void)state;
	v.cost = &cost;
	v.subtract = true;
	v.tree = false;
	check_rows(&v, rows, "cdab");
	text = printed(func_text, &v, &sn);
	assert_non_null(strstr(text,
			       "\nhalf or more of the time measured in these was the probes', "
			       "or spent waiting for\n  a CPU; they are not ranked"));
	free(text);
	text = printed(func_json, &v, &sn);
	assert_non_null(
		strstr(text, "\"probe_ns\":100,\"preempted_ns\":299,\"mostly_probe\":false"));
	assert_non_null(
		strstr(text, "\"probe_ns\":null,\"preempted_ns\":null,\"mostly_probe\":false"));
	assert_non_null(strstr(text, "\"probe_ns\":900,\"preempted_ns\":0,\"mostly_probe\":true"));
	free(text);
	v.reverse = true; /* they are last in either order */
	check_rows(&v, rows, "dcba");
	v.reverse = false;
	v.sort = "count"; /* counts are right */
	check_rows(&v, rows, "acbd");
	v.sort = "total";
	v.subtract = false; /* then the probe of the call itself is known: 140, 60 and 100 ns */
	rows[1].sum = (struct func_figures){ .count = 3, .total_ns = 120 };
	rows[2].sum.preempted_ns = 0;
	check_rows(&v, rows, "acdb");
}

static void rows_are_in_order(void **state)
{
	struct func_row rows[] = {
		{ .func = 1, .by = "c", .sum = { .count = 3, .total_ns = 5 } },
		{ .func = 0, .by = "b", .sum = { .count = 3, .total_ns = 9 } },
		{ .func = 0, .by = "a", .sum = { .count = 3, .total_ns = 7 } },
	};
	struct funcs_view v = view;

	(void)state;
	check_rows(&v, rows, "bac");
	v.reverse = true;
	check_rows(&v, rows, "cab");
	v.sort = "count"; /* the same: by function and key, in either direction */
	check_rows(&v, rows, "abc");
	v.reverse = false;
	check_rows(&v, rows, "abc");
}

static void intervals_have_steps(void **state)
{
	(void)state;
	assert_int_equal(interval_faster(1000000000), 500000000);
	assert_int_equal(interval_slower(1000000000), 2000000000);
	assert_int_equal(interval_faster(1100000000), 1000000000);
	assert_int_equal(interval_slower(1), 100000000);
	assert_int_equal(interval_faster(100000000), 100000000);
	assert_int_equal(interval_slower(90000000000), 90000000000);
}

/* A bucket may begin below the shortest call in it. */
static void percentiles_are_of_calls(void **state)
{
	struct hist_bin bins[] = { { .bucket = hist_bucket(1055), .count = 1 },
				   { .bucket = hist_bucket(5000), .count = 1 } };
	struct func_row row = {
		.sum = { .count = 2, .total_ns = 6055, .min_ns = 1055, .max_ns = 5000 },
		.hist = { .bins = bins, .n = 2 }
	};
	struct func_snapshot sn = { .rows = &row, .n_rows = 1, .duration_ns = 1 };
	struct funcs_view v = view;
	char *text;

	(void)state;
	v.tree = false;
	text = printed(func_json, &v, &sn);
	assert_non_null(strstr(text, "\"min_ns\":1055,\"p50_ns\":1055,"));
	free(text);
}

/* A function call whose thread has no room is lost when the call begins. Only sessions see its end,
 * and do not count the loss again. */
static void a_loss_is_counted_once(void **state)
{
	struct func_live live = { .lost = { [FUNC_LOST_THREADS] = 3 } };
	struct func_losses pair = {}, session = {};
	uint64_t lost[FUNC_LOSS_N];

	(void)state;
	func_losses_take(&pair, &live, 0, false, lost);
	func_losses_take(&session, &live, 0, true, lost);
	live.since_ns = 1;
	live.lost[FUNC_LOST_END] = 5;
	func_losses_take(&pair, &live, 2, false, lost);
	assert_int_equal(lost[FUNC_LOSS_END], 5);
	assert_int_equal(lost[FUNC_LOSS_THREADS], 0);
	assert_int_equal(lost[FUNC_LOSS_MISSED], 2);
	live.lost[FUNC_LOST_THREADS] += 7; /* begin in this interval, end in the next */
	func_losses_take(&pair, &live, 2, false, lost);
	assert_int_equal(lost[FUNC_LOSS_END], 0);
	assert_int_equal(lost[FUNC_LOSS_THREADS], 7);
	live.lost[FUNC_LOST_END] += 7 + 1;
	func_losses_take(&pair, &live, 2, false, lost);
	assert_int_equal(lost[FUNC_LOSS_END], 1);
	func_losses_take(&session, &live, 2, true, lost);
	assert_int_equal(lost[FUNC_LOSS_END], 13);
}

static void an_interval_has_its_time(void **state)
{
	struct func_snapshot sn = { .duration_ns = 1000000000 };
	struct funcs_view v = view;
	char *text;

	(void)state;
	setenv("TZ", "UTC", 1);
	v.until_ns = 86399000000000;
	v.every_ns = 1000000000;
	v.kernel = "6.1";
	text = printed(func_text, &v, &sn);
	assert_int_equal(strncmp(text, "23:59:59, 1.00 s\n", 17), 0);
	free(text);
	text = printed(func_json, &v, &sn);
	assert_non_null(strstr(text, "\"time\":\"1970-01-01T23:59:59.000+00:00\""));
	free(text);
	v.every_ns = 0;
	text = printed(func_text, &v, &sn);
	assert_int_equal(strncmp(text, "traced 1.00 s on Linux 6.1\n", 27), 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(globs_match_as_ever),
		cmocka_unit_test(a_pattern_knows_whether_it_matched),
		cmocka_unit_test(patterns_have_scopes),
		cmocka_unit_test(patterns_refused),
		cmocka_unit_test(patterns_near),
		cmocka_unit_test(figures_add_up),
		cmocka_unit_test(a_loss_is_counted_once),
		cmocka_unit_test(tree_is_in_order),
		cmocka_unit_test(tree_without_a_top),
		cmocka_unit_test(lines_for_others),
		cmocka_unit_test(unreturned_calls_count),
		cmocka_unit_test(rows_that_are_mostly_probes_are_named),
		cmocka_unit_test(times_of_probes_have_no_rank),
		cmocka_unit_test(rows_are_in_order),
		cmocka_unit_test(intervals_have_steps),
		cmocka_unit_test(percentiles_are_of_calls),
		cmocka_unit_test(an_interval_has_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
