// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_presses.c - what presses do on a full screen, and the page that lists them. The terminal is
 * made up: presses come from a list, and lines go to another.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "show/presses.h"
#include "show/screen.h"

static const int *coming; /* ends with SCREEN_NO_PRESS */
static char lines[40][81];
static enum screen_style styles[40];
static int taken;

int screen_press(void)
{
	return *coming == SCREEN_NO_PRESS ? SCREEN_NO_PRESS : *coming++;
}

int screen_width(void)
{
	return 80;
}

int screen_put(int y, int x, int width, enum screen_style style, const char *safe)
{
	assert_in_range(y, 0, 39);
	styles[y] = x < 9 ? style : styles[y];
	assert_in_range(x, 0, 79);
	return snprintf(lines[y] + x, sizeof(lines[y]) - x, "%-*.*s", (int)strlen(safe), width,
			safe);
}

/* A view which notes what it is told. */
static struct view {
	struct presses presses;
	int sorted, reversed, own;
	long moved;
	bool takes;
} view;

static void sort(struct presses *p, int step)
{
	((struct view *)p)->sorted += step;
}

static void reverse(struct presses *p)
{
	((struct view *)p)->reversed++;
}

static void move(struct presses *p, long rows)
{
	((struct view *)p)->moved = rows;
}

static bool take(struct presses *p, int key)
{
	taken = key;
	return ((struct view *)p)->takes;
}

static void on_own(struct presses *p)
{
	((struct view *)p)->own++;
}

static const struct press own[] = {
	{ on_own, 'x', "x",
	  "a press of the view, told in more words than a terminal of 80 columns has room for: " },
	{ on_own, SCREEN_ESCAPE, NULL, NULL },
	{},
};

static const struct press_view the_view = { "test: keys", sort, reverse, move, take, own };

static void start(void)
{
	view = (struct view){
		.presses = { .view = &the_view, .interval_ns = 1000000000, .page_rows = 23 }
	};
	memset(lines, 0, sizeof(lines));
	taken = 0;
}

/* Presses @key. False: nothing came. */
static bool press(int key)
{
	const int keys[] = { key, SCREEN_NO_PRESS };

	coming = keys;
	return presses_handle(&view.presses);
}

static void test_common(void **state)
{
	static const struct {
		int key;
		long moved;
	} moves[] = {
		{ SCREEN_UP, -1 },
		{ 'k', -1 },
		{ SCREEN_WHEEL_UP, -1 },
		{ SCREEN_DOWN, 1 },
		{ 'j', 1 },
		{ SCREEN_WHEEL_DOWN, 1 },
		{ SCREEN_PAGE_UP, -23 },
		{ SCREEN_PAGE_DOWN, 23 },
		{ SCREEN_HOME, LONG_MIN },
		{ SCREEN_END, LONG_MAX },
	};

	(void)state;
	start();
	assert_false(press(SCREEN_NO_PRESS));
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		view.moved = 0;
		assert_true(press(moves[i].key));
		assert_int_equal(view.moved, moves[i].moved);
	}
	press('>');
	press(SCREEN_RIGHT);
	press('<');
	assert_int_equal(view.sorted, 1);
	press(SCREEN_LEFT);
	assert_int_equal(view.sorted, 0);
	press('r');
	assert_int_equal(view.reversed, 1);
	press(' ');
	assert_true(view.presses.paused);
	press(' ');
	assert_false(view.presses.paused);
	press('+');
	assert_int_equal(view.presses.interval_ns, 500000000);
	press('-');
	press('-');
	assert_int_equal(view.presses.interval_ns, 2000000000);
	press('Z'); /* no key */
	press('x');
	assert_int_equal(view.own, 1);
}

/* From each interval to the next, up and down, and no further; from others to the next one, too. */
static void test_intervals(void **state)
{
	static const uint64_t ms[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	enum { N = sizeof(ms) / sizeof(*ms) };

	(void)state;
	for (int i = 0; i < N; i++) {
		assert_int_equal(interval_faster(ms[i] * 1000000), ms[i - !!i] * 1000000);
		assert_int_equal(interval_slower(ms[i] * 1000000), ms[i + (i < N - 1)] * 1000000);
	}
	assert_int_equal(interval_faster(3000000000), 2000000000);
	assert_int_equal(interval_slower(3000000000), 5000000000);
	assert_int_equal(interval_faster(23), 23);
	assert_int_equal(interval_slower(61000000000), 61000000000);
}

/* The page of keys closes by h, ?, Esc and Backspace; on the page, Esc does nothing else. */
static void test_help(void **state)
{
	(void)state;
	start();
	press('h');
	assert_true(view.presses.help);
	press(SCREEN_ESCAPE);
	assert_false(view.presses.help);
	assert_int_equal(view.own, 0);
	press(SCREEN_ESCAPE);
	assert_int_equal(view.own, 1);
	press('?');
	assert_true(view.presses.help);
	press('h');
	assert_false(view.presses.help);
	press('h');
	press(SCREEN_BACKSPACE);
	assert_false(view.presses.help);

	presses_put_help(&view.presses);
	assert_string_equal(lines[0], "test: keys");
	assert_int_equal(styles[0], STYLE_TITLES);
	assert_int_equal(styles[1], STYLE_BOLD);
	assert_string_equal(lines[1] + 1, "x");
	/* cut to the width */
	assert_string_equal(lines[1] + 9,
			    "a press of the view, told in more words than a terminal of "
			    "80 columns h");
	assert_string_equal(lines[2] + 1, "q");
	assert_string_equal(lines[2] + 9, "quit");
	assert_string_equal(lines[8] + 1, "arrows");
	assert_string_equal(lines[9], "");
}

/* Presses after q are for whoever reads the terminal next. */
static void test_quit(void **state)
{
	const int keys[] = { 'r', 'q', 'r', SCREEN_NO_PRESS };

	(void)state;
	start();
	coming = keys;
	assert_true(presses_handle(&view.presses));
	assert_true(view.presses.quit);
	assert_int_equal(view.reversed, 1);
	assert_int_equal(*coming, 'r');
	assert_false(presses_handle(&view.presses));
}

/* A view may take each press before all else, q and the page of keys included; or none. */
static void test_take(void **state)
{
	static const struct press_view takes_none = {
		"test: keys", sort, reverse, move, NULL, own
	};

	(void)state;
	start();
	view.takes = true;
	press('q');
	press('h');
	press('x');
	assert_int_equal(taken, 'x');
	assert_false(view.presses.quit || view.presses.help || view.own);
	view.takes = false;
	press('h');
	assert_int_equal(taken, 'h');
	assert_true(view.presses.help);
	view.presses.view = &takes_none;
	press('q');
	assert_true(view.presses.quit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common), cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_help),   cmocka_unit_test(test_quit),
		cmocka_unit_test(test_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
