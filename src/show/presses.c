// SPDX-License-Identifier: GPL-2.0-only
#include "show/presses.h"

#include <limits.h>

#include "base/clock.h"
#include "show/screen.h"

/* 1, 2, 5, 10 ... times a tenth of a second, up to a minute. */
static const uint64_t intervals_ms[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };

enum { INTERVALS = sizeof(intervals_ms) / sizeof(*intervals_ms) };

uint64_t interval_faster(uint64_t interval_ns)
{
	for (int i = INTERVALS - 1; i >= 0; i--)
		if (intervals_ms[i] * NS_PER_MS < interval_ns)
			return intervals_ms[i] * NS_PER_MS;
	return interval_ns;
}

uint64_t interval_slower(uint64_t interval_ns)
{
	for (int i = 0; i < INTERVALS; i++)
		if (intervals_ms[i] * NS_PER_MS > interval_ns)
			return intervals_ms[i] * NS_PER_MS;
	return interval_ns;
}

static void on_quit(struct presses *p)
{
	p->quit = true;
}

static void on_help(struct presses *p)
{
	p->help = !p->help;
}

static void on_sort_left(struct presses *p)
{
	p->view->sort(p, -1);
}

static void on_sort_right(struct presses *p)
{
	p->view->sort(p, 1);
}

static void on_reverse(struct presses *p)
{
	p->view->reverse(p);
}

static void on_pause(struct presses *p)
{
	p->paused = !p->paused;
}

static void on_faster(struct presses *p)
{
	p->interval_ns = interval_faster(p->interval_ns);
}

static void on_slower(struct presses *p)
{
	p->interval_ns = interval_slower(p->interval_ns);
}

static void on_up(struct presses *p)
{
	p->view->move(p, -1);
}

static void on_down(struct presses *p)
{
	p->view->move(p, 1);
}

static void on_page_up(struct presses *p)
{
	p->view->move(p, -(long)p->page_rows);
}

static void on_page_down(struct presses *p)
{
	p->view->move(p, (long)p->page_rows);
}

static void on_home(struct presses *p)
{
	p->view->move(p, LONG_MIN);
}

static void on_end(struct presses *p)
{
	p->view->move(p, LONG_MAX);
}

static const struct press common[] = {
	{ on_quit, 'q', "q", "quit" },
	{ on_help, 'h', "h ?", "show this list of keys, or close it" },
	{ on_help, '?', NULL, NULL },
	{ on_sort_left, '<', "< >", "sort by the column to the left, right" },
	{ on_sort_right, '>', NULL, NULL },
	{ on_sort_left, SCREEN_LEFT, NULL, NULL },
	{ on_sort_right, SCREEN_RIGHT, NULL, NULL },
	{ on_reverse, 'r', "r", "reverse the order" },
	{ on_pause, ' ', "space", "pause the screen, or continue" },
	{ on_faster, '+', "+ -", "shorter, longer interval" },
	{ on_slower, '-', NULL, NULL },
	{ on_up, SCREEN_UP, "arrows", "go up, down; also PgUp PgDn Home End, k j" },
	{ on_down, SCREEN_DOWN, NULL, NULL },
	{ on_up, 'k', NULL, NULL },
	{ on_down, 'j', NULL, NULL },
	{ on_up, SCREEN_WHEEL_UP, NULL, NULL },
	{ on_down, SCREEN_WHEEL_DOWN, NULL, NULL },
	{ on_page_up, SCREEN_PAGE_UP, NULL, NULL },
	{ on_page_down, SCREEN_PAGE_DOWN, NULL, NULL },
	{ on_home, SCREEN_HOME, NULL, NULL },
	{ on_end, SCREEN_END, NULL, NULL },
	{},
};

/* Whether @key is in @list; it is done. */
static bool press_do(struct presses *p, const struct press *list, int key)
{
	for (; list->act; list++) {
		if (list->key != key)
			continue;
		list->act(p);
		return true;
	}
	return false;
}

static void press_handle(struct presses *p, int key)
{
	if (p->view->take && p->view->take(p, key))
		return;
	if (p->help && (key == SCREEN_ESCAPE || key == SCREEN_BACKSPACE))
		p->help = false;
	else if (!press_do(p, common, key))
		press_do(p, p->view->own, key);
}

bool presses_handle(struct presses *p)
{
	bool any = false;
	int key;

	while (!p->quit && (key = screen_press()) != SCREEN_NO_PRESS) {
		press_handle(p, key);
		any = true;
	}
	return any;
}

static int put_list(int y, const struct press *list)
{
	for (; list->act; list++) {
		if (!list->shown)
			continue;
		screen_put(y, 1, 7, STYLE_BOLD, list->shown);
		screen_put(y++, 9, screen_width() - 9, STYLE_NORMAL, list->about);
	}
	return y;
}

void presses_put_help(const struct presses *p)
{
	screen_put(0, 0, screen_width(), STYLE_TITLES, p->view->title);
	put_list(put_list(1, p->view->own), common);
}
