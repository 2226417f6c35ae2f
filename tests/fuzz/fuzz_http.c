// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a request to `serve`: nobody gets in without the token, or by another name; and as
 * the name of something: the label of a series stays one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "serve/guard.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/totals.h"

#define TOKEN "0123456789abcdef"

static void check(int ok)
{
	if (!ok)
		abort();
}

static void check_inside(const char *text, size_t size, const char *at)
{
	check(!at || (at >= text && at + strlen(at) <= text + size));
}

static void check_request(const char *whole, size_t size)
{
	const struct guard none = {}, token = { TOKEN };
	struct http_request rq = {};
	char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, whole, size + 1);
	if (!http_parse(text, &rq)) {
		check(rq.path && rq.query && rq.host && rq.path[0] == '/');
		check_inside(text, size, rq.path);
		check_inside(text, size, *rq.query ? rq.query : NULL);
		check_inside(text, size, rq.host);
		check_inside(text, size, rq.cookie);
		check_inside(text, size, rq.authorization);
		if (!guard_check(&token, &rq))
			check(strstr(whole, TOKEN) != NULL);
		if (!guard_check(&none, &rq))
			check(strcasestr(whole, "localhost") || strstr(whole, "127.") ||
			      strstr(whole, "["));
	}
	free(text);
}

static void check_label(const char *text, size_t size)
{
	size_t cap = size ? (unsigned char)text[0] + 2 : 2;
	char *safe = malloc(cap), *label = malloc(cap);

	check(safe && label);
	text_label(safe, cap, text, size);
	check(strlen(safe) < cap && text_is_utf8(safe, strlen(safe)));
	for (const char *s = safe; *s; s++)
		check((unsigned char)*s >= 0x20 && *s != 0x7f);
	metrics_escape(label, cap, safe);
	check(strlen(label) < cap);
	for (const char *s = label; *s; s++) {
		check(*s != '"');
		if (*s == '\\')
			check(*++s == '"' || *s == '\\');
	}
	free(safe);
	free(label);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (strlen(text) == size)
		check_request(text, size);
	check_label(text, size);
	free(text);
	return 0;
}
