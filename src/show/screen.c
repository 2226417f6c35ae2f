// SPDX-License-Identifier: GPL-2.0-only
/*
 * screen.c - ncurses, the signals that end or stop the process, and the messages kept from stderr.
 *
 * Every signal that ends the process restores the terminal first. The run takes over INT, TERM and
 * HUP later, and gives them back to these handlers when it cannot respond. SIGTSTP is only noted,
 * and handled where presses are read, because ncurses may be in the middle of drawing. ncurses
 * handles SIGWINCH itself.
 */
#include "show/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <locale.h>
#include <term.h>
#undef columns /* a macro of term.h */

#include "base/clock.h"
#include "base/reason.h"
#include "base/text.h"

enum {
	SAID_LINE = 512,     /* bytes of a message shown, NUL included */
	SAID_MAX = 64 << 10, /* bytes of messages printed at the end, at most */
	SAID_S = 10,         /* seconds that the last message is shown */
};

/* Global, as stderr is: the descriptor in memory in place of stderr, or -1; and the original. */
static int said = -1, real = -1;

/* Size of the kept messages at the last look, and time of the last change. */
static off_t seen;
static uint64_t seen_ns;

/* Starts to keep messages in memory, if stderr is a terminal. */
static void said_keep(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	said = memfd_create("said", MFD_CLOEXEC);
	real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (said >= 0 && real >= 0)
		dup2(said, STDERR_FILENO);
}

/* Stops, and writes the kept messages to the original stderr. */
static void said_give_back(void)
{
	char text[4096];
	off_t at = 0;
	ssize_t n;

	if (real >= 0)
		dup2(real, STDERR_FILENO);
	while (said >= 0 && at < SAID_MAX && (n = pread(said, text, sizeof(text), at)) > 0) {
		n = write(STDERR_FILENO, text, n);
		at += n > 0 ? n : SAID_MAX;
	}
	close(said);
	close(real);
	said = real = -1;
	seen = 0;
}

const char *said_last(void)
{
	static char text[SAID_LINE];
	off_t size = said < 0 ? 0 : lseek(said, 0, SEEK_END);
	off_t at = size < SAID_LINE ? 0 : size - SAID_LINE + 1;
	ssize_t n = size ? pread(said, text, SAID_LINE - 1, at) : 0;
	char *line;

	if (size != seen)
		seen_ns = clock_ns();
	seen = size;
	if (clock_ns() - seen_ns > (uint64_t)SAID_S * NS_PER_S)
		return "";
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return "";
	text[n] = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* Descriptions of common terminals, for systems without terminfo. */

/* In terminfo's binary form as base64; ncurses takes this in TERMINFO in place of a directory. */
static const struct {
	const char *name, *base64;
} terms[] = {
#include "terminfo.h"
};

/* Makes ncurses use our description of the terminal @term. Returns false if there is none. */
static bool terms_use(const char *term)
{
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (!strcmp(terms[i].name, term))
			return !setenv("TERMINFO", terms[i].base64, 1);
	return false;
}

void screen_table(int y, const struct columns *t, const struct screen_rows *rows)
{
	char *text = NULL, *save, *line;
	struct text_out o = {};
	size_t len;

	o.f = open_memstream(&text, &len);
	if (!o.f)
		return;
	columns_text(&o, t, rows->list, rows->n);
	fclose(o.f);
	line = text ? strtok_r(text, "\n", &save) : NULL;
	screen_cell(y++, 0, screen_width(), STYLE_TITLES, line ? line : "");
	for (size_t i = 0; line && (line = strtok_r(NULL, "\n", &save)); i++)
		screen_cell(y++, 0, screen_width(),
			    rows->style ? rows->style(rows->ctx, i) : STYLE_NORMAL, line);
	free(text);
}

enum {
	LINE_CELLS = 1024,    /* cells of a line, at most */
	ESCAPE_MS = 25,       /* after Esc, a sequence of another key would go on in this time */
	ALT_STACK = 32 << 10, /* bytes of the signal handlers' stack */
};

static struct {
	SCREEN *curses;       /* NULL: not open */
	int in, out;          /* descriptors */
	struct termios modes; /* before screen_open() */
	char restore[256];    /* sequences to restore the terminal */
	size_t restore_len;
	bool utf8;
	int attributes[STYLE_N];
	int clicked;
} screen;

static volatile sig_atomic_t stop_asked;

/* Restores the terminal. Safe at any time, even in a signal handler. */
static void restore_now(void)
{
	ssize_t n = write(screen.out, screen.restore, screen.restore_len);

	(void)n;
	tcsetattr(screen.in, TCSANOW, &screen.modes);
}

static const int deadly[] = { SIGINT, SIGTERM, SIGHUP,  SIGQUIT, SIGSEGV, SIGBUS,
			      SIGILL, SIGFPE,  SIGABRT, SIGSYS,  SIGXCPU };

enum { DEADLY_N = sizeof(deadly) / sizeof(*deadly) };

static struct sigaction before[DEADLY_N], before_stop;

/* SA_RESETHAND: the raised signal ends the process when this returns. */
static void on_death(int signo)
{
	restore_now();
	raise(signo);
}

static void on_stop(int signo)
{
	(void)signo;
	stop_asked = 1;
}

/* Handlers have their own stack, since a stack overflow can be the reason for the signal. */
static void signals_take(void)
{
	static char stack[ALT_STACK];
	stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_handler = on_death, .sa_flags = SA_RESETHAND | SA_ONSTACK };

	sigaltstack(&alternative, NULL);
	for (int i = 0; i < DEADLY_N; i++) {
		sigaction(deadly[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(deadly[i], &act, NULL);
	}
	act = (struct sigaction){ .sa_handler = on_stop };
	sigaction(SIGTSTP, NULL, &before_stop);
	if (before_stop.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &act, NULL);
}

static void signals_give_back(void)
{
	for (int i = 0; i < DEADLY_N; i++)
		sigaction(deadly[i], &before[i], NULL);
	sigaction(SIGTSTP, &before_stop, NULL);
}

/* Stops the process with the terminal restored, until it is continued. */
static void stop(void)
{
	struct sigaction act;

	stop_asked = 0;
	def_prog_mode();
	endwin();
	sigaction(SIGTSTP, &(struct sigaction){ .sa_handler = SIG_DFL }, &act);
	raise(SIGTSTP);
	sigaction(SIGTSTP, &act, NULL);
	reset_prog_mode();
	clearok(curscr, TRUE);
}

static bool is_known(const char *term)
{
	int err;

	return setupterm(term, screen.out, &err) == OK && cursor_address &&
	       cursor_address != (char *)-1 && clear_screen;
}

bool screen_possible(FILE *in, FILE *out)
{
	const char *term = getenv("TERM");

	screen.in = fileno(in);
	screen.out = fileno(out);
	if (!isatty(screen.in) || !isatty(screen.out) || !term || !*term)
		return false;
	/* if the program's file gives privileges (setuid, capabilities), a description made by the
	 * user must not be read */
	if (!getauxval(AT_SECURE) && is_known(term))
		return true;
	return terms_use(term) && is_known(term);
}

static int restore_putc(int c)
{
	if (screen.restore_len < sizeof(screen.restore))
		screen.restore[screen.restore_len++] = (char)c;
	return c;
}

/* Prepares the sequences to restore the terminal: a signal handler cannot call ncurses. */
static void restore_prepare(void)
{
	const char *const ends[] = { exit_attribute_mode, orig_pair, cursor_normal, keypad_local,
				     exit_ca_mode };
	static const char mouse_off[] = "\033[?1000l\033[?1006l";

	screen.restore_len = 0;
	if (key_mouse) {
		memcpy(screen.restore, mouse_off, sizeof(mouse_off) - 1);
		screen.restore_len = sizeof(mouse_off) - 1;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends[i])
			tputs(ends[i], 1, restore_putc);
	if (!exit_ca_mode)
		restore_putc('\n');
}

/* The colours of shares: bright ones are bold where a terminal has eight colours. The text beside a
 * bar says the same as its colour. */
static void attributes_set(bool color)
{
	screen.attributes[STYLE_BOLD] = A_BOLD;
	screen.attributes[STYLE_DIM] = A_DIM;
	screen.attributes[STYLE_TITLES] = A_REVERSE;
	screen.attributes[STYLE_SELECTED] = A_REVERSE | A_BOLD;
	if (!color || !has_colors())
		return;
	start_color();
	use_default_colors();
	for (short i = 0; i < SHARE_N; i++) {
		short colour = share_colour(i);
		bool bold = colour >= 8 && COLORS < 16;

		init_pair(i + 1, bold ? colour - 8 : colour, -1);
		screen.attributes[STYLE_SHARE + i] = COLOR_PAIR(i + 1) | (bold ? A_BOLD : 0);
	}
}

int screen_open(FILE *in, FILE *out, bool color, struct reason *why)
{
	screen.in = fileno(in);
	screen.out = fileno(out);
	screen.utf8 = text_locale_is_utf8();
	tcgetattr(screen.in, &screen.modes);
	setlocale(LC_CTYPE, screen.utf8 ? "C.UTF-8" : "C");
	use_env(TRUE);
	screen.curses = newterm(NULL, out, in);
	if (!screen.curses)
		return reason_set(why, EXIT_FAILED, "cannot use the terminal");
	restore_prepare();
	signals_take();
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	attributes_set(color);
	said_keep();
	return 0;
}

void screen_close(void)
{
	if (!screen.curses)
		return;
	endwin();
	restore_now(); /* to be sure */
	signals_give_back();
	delscreen(screen.curses);
	screen.curses = NULL;
	said_give_back();
}

int screen_height(void)
{
	return getmaxy(stdscr);
}

int screen_width(void)
{
	return getmaxx(stdscr);
}

void screen_begin(void)
{
	erase();
}

void screen_show(void)
{
	refresh();
}

/* Converts text to cells of the terminal. wcwidth(3) decides what fits, as in ncurses. */
static int to_cells(wchar_t *dst, int max, const char *safe, int width)
{
	mbstate_t state = {};
	int used = 0, n = 0, cols;
	wchar_t c;
	size_t len;

	for (; *safe && n < max - 1; safe += len) {
		len = mbrtowc(&c, safe, strlen(safe), &state);
		if (len == (size_t)-1 || len == (size_t)-2 || (!screen.utf8 && c > 126)) {
			len = 1;
			while (!screen.utf8 && (safe[len] & 0xc0) == 0x80)
				len++;
			c = L'?';
			state = (mbstate_t){};
		}
		cols = wcwidth(c);
		if (cols < 0) {
			c = L'?';
			cols = 1;
		}
		if (used + cols > width)
			break;
		used += cols;
		dst[n++] = c;
	}
	dst[n] = L'\0';
	return used;
}

int screen_put(int y, int x, int width, enum screen_style style, const char *safe)
{
	wchar_t cells[LINE_CELLS];
	int used;

	if (width > screen_width() - x)
		width = screen_width() - x;
	if (y < 0 || y >= screen_height() || x < 0 || width <= 0)
		return 0;
	used = to_cells(cells, LINE_CELLS, safe, width);
	attrset(screen.attributes[style]);
	mvaddwstr(y, x, cells);
	attrset(A_NORMAL);
	return used;
}

/* A text cut to @width columns, and the blanks that it lacks. */
struct cell {
	char text[LINE_CELLS], blanks[LINE_CELLS];
	int pad;
};

static struct cell cell_of(int width, const char *safe)
{
	struct cell c;

	if (width >= LINE_CELLS)
		width = LINE_CELLS - 1;
	c.pad = width - text_fit(c.text, sizeof(c.text), safe, width, TEXT_CUT_TAIL);
	if (c.pad < 0)
		c.pad = 0;
	memset(c.blanks, ' ', c.pad);
	c.blanks[c.pad] = '\0';
	return c;
}

void screen_cell(int y, int x, int width, enum screen_style style, const char *safe)
{
	struct cell c = cell_of(width, safe);

	screen_put(y, x, width - c.pad, style, c.text);
	screen_put(y, x + width - c.pad, c.pad, style, c.blanks);
}

void screen_cell_right(int y, int x, int width, enum screen_style style, const char *safe)
{
	struct cell c = cell_of(width, safe);

	screen_put(y, x, c.pad, style, c.blanks);
	screen_put(y, x + c.pad, width - c.pad, style, c.text);
}

static int mouse_press(void)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return SCREEN_NO_PRESS;
	screen.clicked = event.y;
	if (event.bstate & BUTTON4_PRESSED)
		return SCREEN_WHEEL_UP;
	if (event.bstate & BUTTON5_PRESSED)
		return SCREEN_WHEEL_DOWN;
	return SCREEN_CLICK;
}

/* Translates ncurses' code of a special press; 0: not one of ours. */
static int special_press(wint_t key)
{
	static const struct {
		wint_t theirs;
		int ours;
	} keys[] = {
		{ KEY_UP, SCREEN_UP },          { KEY_DOWN, SCREEN_DOWN },
		{ KEY_LEFT, SCREEN_LEFT },      { KEY_RIGHT, SCREEN_RIGHT },
		{ KEY_PPAGE, SCREEN_PAGE_UP },  { KEY_NPAGE, SCREEN_PAGE_DOWN },
		{ KEY_HOME, SCREEN_HOME },      { KEY_END, SCREEN_END },
		{ KEY_ENTER, SCREEN_ENTER },    { KEY_BACKSPACE, SCREEN_BACKSPACE },
		{ KEY_RESIZE, SCREEN_RESIZED },
	};

	if (key == KEY_MOUSE)
		return mouse_press();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return 0;
}

static int character_press(wint_t c)
{
	switch (c) {
	case '\r':
	case '\n':
		return SCREEN_ENTER;
	case 27:
		return SCREEN_ESCAPE;
	case 8:
	case 127:
		return SCREEN_BACKSPACE;
	}
	return (int)c;
}

int screen_press(void)
{
	wint_t key;
	int got;

	if (stop_asked) {
		stop();
		return SCREEN_RESIZED;
	}
	got = get_wch(&key);
	if (got == ERR)
		return SCREEN_NO_PRESS;
	return got == KEY_CODE_YES ? special_press(key) : character_press(key);
}

int screen_clicked(void)
{
	return screen.clicked;
}
