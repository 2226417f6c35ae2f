/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * text.h - makes text safe for a terminal or a JSON reader, and formats numbers for people.
 *
 * All text from the kernel or a file (comm, path, cgroup, file system, device) is hostile, and
 * leaves the program only through text_safe(), text_json(), text_html() or text_base64(). Text is
 * UTF-8; the tool's own text is ASCII.
 */
#ifndef IOSTRATA_BASE_TEXT_H
#define IOSTRATA_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/*
 * Makes @src safe for a terminal. Printable well-formed UTF-8 stays, but a backslash becomes two.
 * Control characters (C0, DEL, C1), bytes that are not UTF-8, bidirectional and zero-width controls
 * become \xNN, one group per byte. The original bytes can be recovered from the result. Writes at
 * most @cap bytes (at least 1), whole characters or escapes only, and always a NUL. Do not apply
 * twice. Returns the length written, without the NUL.
 */
size_t text_safe(char *dst, size_t cap, const char *src);
size_t text_safe_n(char *dst, size_t cap, const char *src, size_t len);

/* Makes @src safe for a file as text_safe() does, but UTF-8 is not escaped, even after
 * text_ascii_only(). */
size_t text_safe_utf8(char *dst, size_t cap, const char *src, size_t len);

/* Whether the caller's locale, by its environment, is a UTF-8 one, even if it is not installed. */
bool text_locale_is_utf8(void);

/* For a terminal without UTF-8: from now on only ASCII is printable. Such a terminal takes some
 * bytes of UTF-8 characters for controls. */
void text_ascii_only(void);

/* Most bytes that text_safe_n() writes for @len bytes, NUL included. */
#define TEXT_SAFE_CAP(len) (4 * (len) + 1)

/* Terminal columns of safe text: 2 for East Asian wide, 0 for combining marks. */
int text_width(const char *safe);

/* The part of a long text that "..." replaces: a name's tail, a path's head, or a path's middle.
 * The middle is for paths, so that files with the same name can be told apart. */
enum text_cut { TEXT_CUT_TAIL, TEXT_CUT_HEAD, TEXT_CUT_MIDDLE };

/*
 * Copies @safe, cut to at most @width columns and to @cap bytes, never inside a character or an
 * escape. Below 4 columns, cuts without dots. @dst may not overlap @safe. Returns the columns used.
 */
int text_fit(char *dst, size_t cap, const char *safe, int width, enum text_cut cut);

/*
 * Makes any bytes well-formed UTF-8 for JSON: each byte that is not part of a well-formed sequence
 * becomes U+FFFD, all else stays (json_put_text() escapes controls). The caller frees the result.
 * Returns NULL if out of memory.
 */
char *text_json(const char *src);
char *text_json_n(const char *src, size_t len);

/* Whether text_json_n() leaves @src unchanged. */
bool text_is_utf8(const char *src, size_t len);

/* Any bytes in base64 (RFC 4648, padded). The caller frees it. Returns NULL if out of memory. */
char *text_base64(const char *src, size_t len);

/* A number as text, returned by value so that it can be an argument of printf: text_ns(t).s */
struct text_num {
	char s[24];
};

/* Writes the digits of @n before @end, and returns the first digit. There are 20 bytes before @end.
 * No NUL follows. */
char *text_digits(char *end, uint64_t n);

/* Three significant digits and the unit that fits: "690 ns", "55.3 us", "99999 s", "27.8 h",
 * "585 y". At most 7 columns. */
struct text_num text_ns(uint64_t ns);

/* Milliseconds without a unit: "0.0553", "1234"; at most 7 columns (1.8e+13). */
struct text_num text_ms(uint64_t ns);

/* "512 B", "4.00 KiB", "1023 MiB"; at most 8 columns. */
struct text_num text_bytes(uint64_t bytes);

/* "999", "1.23k", "12.3M"; at most 5 columns. */
struct text_num text_short(uint64_t n);

/* "12,345"; from 10^9 on as text_short(); at most 11 columns. */
struct text_num text_count(uint64_t n);

/* As text_count(), in 7 columns: from 10^6 on as text_short(). */
struct text_num text_count7(uint64_t n);

/* The plural ending of a noun for @n things: "s", or "" for 1. */
const char *text_plural(uint64_t n);

/* The first character of a sentence that begins with @text: a capital, unless the first word is the
 * name of a member (total_ns). */
char text_capital(const char *text);

/* Events per second: "4.60/s", "12.3k/s", "<0.01/s"; "-" if the duration is 0; at most 7
 * columns. */
struct text_num text_rate(uint64_t n, uint64_t duration_ns);

/* Time of day at @day_ns since 1970, "14:05:09"; for times less than a second apart, with enough
 * digits to tell them apart: "14:05:09.3". */
struct text_num text_clock(uint64_t day_ns, uint64_t apart_ns);

/* "33.0 %", "<0.1 %" for a small share above 0, "-" if @whole is 0; at most 7 columns. */
struct text_num text_percent(uint64_t part, uint64_t whole);

/* "33 %"; small shares as text_percent(): "0.5 %", "<0.1 %". "0 %" is exactly 0. */
/* "of 51,000 (0.014 %)": the share of @part in a @whole. Returns the length. */
int text_share(char *dst, size_t cap, uint64_t part, uint64_t whole);

struct text_num text_percent_whole(uint64_t part, uint64_t whole);

/* Gathers short texts for one write. */
struct text_buffer {
	size_t n;
	char s[8192];
};

/* An output of text. The first error stays, and ends all writing. With a buffer, text_flush() or
 * text_end() comes last. */
struct text_out {
	FILE *f;
	int err;                    /* 0 or -errno */
	struct text_buffer *buffer; /* or NULL */
};

void text_put(struct text_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes @n bytes unchanged; much faster than text_put(). */
void text_write(struct text_out *o, const char *data, size_t n);

/* The place for the next @n bytes in the buffer, where the caller writes up to @n bytes and adds
 * their number to .n. Returns NULL if there is no such buffer. */
char *text_room(struct text_out *o, size_t n);

/* Writes what is in the buffer. */
void text_flush(struct text_out *o);

/* Copies the first characters of @text, of at most @len, that neither text_safe(), JSON nor CSV
 * escapes. Returns their number. @to needs room for @len bytes. */
size_t text_copy_plain(char *to, const char *text, size_t len);

/* Writes any bytes as the text of an HTML element, or as the value of a quoted attribute. They are
 * made safe as by text_safe(), but UTF-8 is never escaped. Then "&", "<", ">" and quotes become
 * references.
 */
void text_html(struct text_out *o, const char *src, size_t len);

/* Writes text that is safe already as the text of an HTML element, or as the value of a quoted
 * attribute. */
void text_html_safe(struct text_out *o, const char *safe);

/* Writes JSON as the text of a script element: "<", ">" and "&" (only strings have them) become
 * \uNNNN. */
void text_script(struct text_out *o, const char *json, size_t len);

/* Writes @c @n times. */
void text_fill(struct text_out *o, char c, int n);

/*
 * Writes @text word by word in lines of at most @width columns. The first line continues at column
 * @at; the others are indented to @indent. Ends with a newline. A word longer than a line is cut.
 */
void text_wrap(struct text_out *o, const char *text, int at, int indent, int width);

/* Writes @text as text_wrap() does, but cuts no word. */
void text_wrap_whole(struct text_out *o, const char *text, int at, int indent, int width);

/* Writes the message @text, safe, as one line; on a terminal in lines of at most 80 columns, where
 * no word is cut. */
void text_message(FILE *f, const char *text);

/* Flushes; 0 or the first error. */
int text_end(struct text_out *o);

/* Writes a blank and @word, in quotes if the shell would change it. Not made safe. */
void text_shell_word(FILE *f, const char *word);

#endif
