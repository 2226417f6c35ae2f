// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes through everything that makes text safe: no overrun, and what comes out is safe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "text.h"

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

/* In @cap bytes: what is safe stays as it is, however often. */
static void check_safe(const char *src, size_t len, size_t cap)
{
	char *dst = malloc(cap), *again = malloc(cap);
	size_t n;

	CHECK(dst && again);
	n = text_safe_n(dst, cap, src, len);
	CHECK(n < cap && strlen(dst) == n);
	for (size_t i = 0; i < n; i++)
		CHECK((unsigned char)dst[i] >= 0x20 && dst[i] != 0x7f);
	CHECK(text_safe(again, cap, dst) == n && !strcmp(dst, again));
	check_fit(dst, len % 97, 1 + cap / 2, cap & 1);
	check_fit(dst, len % 7, cap, cap & 1);
	free(again);
	free(dst);
}

static void check_json(const char *src, size_t len)
{
	char *utf8 = text_json_n(src, len), *again;

	CHECK(utf8);
	again = text_json(utf8);
	CHECK(again && !strcmp(utf8, again));
	free(again);
	free(utf8);
}

static void check_path(const uint8_t *data, size_t size)
{
	char dst[PATH_CAP], small[8];
	struct file_name fn = {};
	size_t n;

	memcpy(&fn, data, size < sizeof(fn) ? size : sizeof(fn));
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
	return 0;
}
