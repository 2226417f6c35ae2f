// SPDX-License-Identifier: GPL-2.0-only
/* Requests to the listener of `serve`: who may ask, and what must be refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "serve/guard.h"
#include "serve/http.h"

/* The status of the request @text. */
static int status_of(const struct guard *g, const char *text)
{
	struct http_request rq;
	char copy[512];
	int status;

	snprintf(copy, sizeof(copy), "%s", text);
	status = http_parse(copy, &rq);
	return status ? status : guard_check(g, &rq);
}

#define HOST  "Host: 127.0.0.1:9740\r\n"
#define TOKEN "0123456789abcdef"

static void test_requests(void **state)
{
	static const struct {
		const char *text;
		int status;
	} asked[] = {
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "HEAD /metrics?a=b HTTP/1.0\r\nhost:localhost\r\n\r\n", 0 },
		{ "GET /metrics HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", 0 },
		{ "GET /metrics HTTP/1.1\r\nHost: \t127.9.8.7:1 \t\r\n\r\n", 0 },
		{ "GET /metrics HTTP/1.1\r\nHost: [0:0::1]\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "nocolon\r\n\r\n", 400 },
		/* lines and names that proxies read in other ways */
		{ "GET / HTTP/1.1\r\n" HOST "Host : evil.example\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST ": a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "X: a\nHost: evil.example\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "X: a\rHost: evil.example\r\n\r\n", 400 },
		{ "GET /\r\n" HOST "\r\n", 400 },
		{ "GET http://127.0.0.1/ HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/2.0\r\n" HOST "\r\n", 400 },
		{ "\r\n", 400 },
		{ "", 400 },
		{ "POST / HTTP/1.1\r\n" HOST "\r\n", 405 },
		{ "get / HTTP/1.1\r\n" HOST "\r\n", 405 },
		/* another name for this machine: DNS rebinding */
		{ "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:80.evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: 128.0.0.1\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: [::2]\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: [::1].evil.example\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", 421 },
		/* another site asks through a browser */
		{ "GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 0 },
		{ "GET /events HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 403 },
		{ "GET /events HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-site\r\n\r\n", 403 },
		{ "GET /events HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n", 403 },
		{ "GET / HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:9740\r\n\r\n", 0 },
	};
	const struct guard none = {};

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		if (status_of(&none, asked[i].text) != asked[i].status)
			fail_msg("%s: %d", asked[i].text, status_of(&none, asked[i].text));
}

static void test_accepts(void **state)
{
	(void)state;
	assert_true(http_accepts("gzip", "gzip"));
	assert_true(http_accepts("br, GZIP;q=0.001", "gzip"));
	assert_true(http_accepts("gzip, br;q=0", "gzip"));
	assert_false(http_accepts("gzip; q=0", "gzip"));
	assert_false(http_accepts("gzip;q=0.000, br", "gzip"));
	assert_false(http_accepts("br", "gzip"));
	assert_false(http_accepts(NULL, "gzip"));
}

static void test_token(void **state)
{
	static const struct {
		const char *text;
		int status;
	} asked[] = {
		{ "GET /?token=" TOKEN " HTTP/1.1\r\nHost: node1\r\n\r\n", 0 },
		{ "GET /metrics?a=b&token=" TOKEN "&c HTTP/1.1\r\nHost: node1\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " TOKEN "\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nCookie: x=y; iostrata=" TOKEN "; z\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", 401 },
		{ "GET /?token= HTTP/1.1\r\nHost: a\r\n\r\n", 401 },
		{ "GET /?token=" TOKEN "0 HTTP/1.1\r\nHost: a\r\n\r\n", 401 },
		{ "GET /?token=0123456789abcdeg HTTP/1.1\r\nHost: a\r\n\r\n", 401 },
		{ "GET /?xtoken=" TOKEN " HTTP/1.1\r\nHost: a\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " TOKEN "\r\n\r\n", 401 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nCookie: xiostrata=" TOKEN "\r\n\r\n", 401 },
		{ "GET /?token=" TOKEN " HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n\r\n", 403 },
	};
	const struct guard g = { TOKEN };
	char made[TOKEN_CAP], again[TOKEN_CAP];

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		if (status_of(&g, asked[i].text) != asked[i].status)
			fail_msg("%s: %d", asked[i].text, status_of(&g, asked[i].text));
	assert_int_equal(guard_new_token(made), 0);
	assert_int_equal(guard_new_token(again), 0);
	assert_true(guard_is_token(made) && strlen(made) == TOKEN_LEN);
	assert_string_not_equal(made, again);
	assert_false(guard_is_token("short"));
	assert_false(guard_is_token("0123456789abcdef\r\nSet-Cookie: a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_accepts),
		cmocka_unit_test(test_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
