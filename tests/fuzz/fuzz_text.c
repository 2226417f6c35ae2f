// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes through everything that makes text safe: no overrun, and what comes out is safe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/container.h"
#include "host/path.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static void check_fit(const char *safe, int width, size_t cap, enum text_cut cut)
{
	char *dst = malloc(cap);
	int cols;

	CHECK(dst);
	cols = text_fit(dst, cap, safe, width, cut);
	CHECK(strlen(dst) < cap && cols <= width && text_width(dst) == cols);
	free(dst);
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	CHECK(at);
	return at - digits;
}

/* The bytes that safe text stands for, in place; how many. */
static size_t unescape(char *safe)
{
	char *to = safe;

	for (const char *s = safe; *s; to++) {
		if (*s != '\\') {
			*to = *s++;
		} else if (s[1] == '\\') {
			*to = '\\';
			s += 2;
		} else {
			CHECK(s[1] == 'x');
			*to = (char)(hex_digit(s[2]) << 4 | hex_digit(s[3]));
			s += 4;
		}
	}
	return to - safe;
}

/* In @cap bytes: nothing but what is printable, and it stands for the bytes that fitted. */
static void check_safe(const char *src, size_t len, size_t cap)
{
	char *dst = malloc(cap);
	size_t n;

	CHECK(dst);
	n = text_safe_n(dst, cap, src, len);
	CHECK(n < cap && strlen(dst) == n);
	for (size_t i = 0; i < n; i++)
		CHECK((unsigned char)dst[i] >= 0x20 && dst[i] != 0x7f);
	check_fit(dst, len % 97, 1 + cap / 2, cap & 1);
	check_fit(dst, len % 7, cap, cap & 1);
	n = unescape(dst);
	CHECK(n <= len && !memcmp(dst, src, n) && (n == len || cap < TEXT_SAFE_CAP(len)));
	free(dst);
}

/* The bytes of base64 text, in place; how many. */
static size_t unbase64(char *text)
{
	const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at;
	unsigned int v = 0, bits = 0;
	char *to = text;

	CHECK(strlen(text) % 4 == 0);
	for (const char *s = text; *s && *s != '='; s++) {
		at = strchr(digits, *s);
		CHECK(at);
		v = v << 6 | (unsigned int)(at - digits);
		bits += 6;
		if (bits >= 8)
			*to++ = (char)(v >> (bits -= 8));
	}
	return to - text;
}

static void check_json(const char *src, size_t len)
{
	char *utf8 = text_json_n(src, len), *bytes = text_base64(src, len), *again;

	CHECK(utf8 && bytes);
	again = text_json(utf8);
	CHECK(again && !strcmp(utf8, again));
	CHECK(text_is_utf8(utf8, strlen(utf8)));
	CHECK(!text_is_utf8(src, len) || !memcmp(src, utf8, len));
	CHECK(unbase64(bytes) == len && !memcmp(bytes, src, len));
	free(again);
	free(bytes);
	free(utf8);
}

static void check_path(const uint8_t *data, size_t size)
{
	char dst[PATH_CAP], small[8];
	struct file_name fn = {};
	struct path_file f = { size, size, &fn };
	char *full;
	size_t n;

	memcpy(&fn, data, size < sizeof(fn) ? size : sizeof(fn));
	full = path_full(&f);
	CHECK(full && strlen(full) < sizeof(dst) + 64);
	free(full);
	n = path_join(dst, sizeof(dst), &fn);
	CHECK(n < sizeof(dst) && strlen(dst) == n);
	CHECK(!n || dst[0] == '/' || !strncmp(dst, ".../", 4));
	CHECK(path_join(small, sizeof(small), &fn) < sizeof(small));
	check_safe(dst, n, TEXT_SAFE_CAP(sizeof(dst)));
}

static void check_wrap(const char *src, size_t len)
{
	char *text = malloc(TEXT_SAFE_CAP(len));
	struct text_out o = { .f = fopen("/dev/null", "w") };

	CHECK(text && o.f);
	text_safe_n(text, TEXT_SAFE_CAP(len), src, len);
	text_wrap(&o, text, len % 30, 4, 40);
	CHECK(!text_end(&o));
	fclose(o.f);
	free(text);
}

/* Checks @src as the path of a cgroup. */
static void check_container(const char *src, size_t size)
{
	struct container c = { .shown = 0 };
	char *path = malloc(size + 2);

	CHECK(path);
	path[0] = '/';
	memcpy(path + 1, src, size);
	path[size + 1] = '\0';
	if (container_find(path, &c))
		CHECK(*c.id && c.shown && c.shown <= strlen(c.id) && strlen(c.id) < sizeof(c.id) &&
		      strlen(c.pod) < sizeof(c.pod));
	else
		CHECK(!*c.id && !*c.pod);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *src = (const char *)data;

	if (!size)
		return 0;
	check_safe(src, size, TEXT_SAFE_CAP(size));
	check_safe(src + 1, size - 1, 1 + data[0]);
	check_json(src, size);
	check_path(data, size);
	check_wrap(src, size);
	check_container(src, size);
	return 0;
}
