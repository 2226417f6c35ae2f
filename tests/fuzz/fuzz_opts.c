// SPDX-License-Identifier: GPL-2.0-only
/* Any command line: no overrun, values within their limits, or one complete line of error. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/until.h"
#include "base/opts.h"
#include "base/reason.h"
#include "base/text.h"
#include "host/devices.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

struct fuzz_opts {
	bool flag;
	uint64_t number, duration_ns;
	const char *string;
	int choice;
	struct opt_uints numbers;
	struct opt_strings strings, paths;
	unsigned int chosen;
	uint64_t interval_ns, count;
};

static const struct opt_choice choices[] = { { "one", 1 }, { "two", 2 }, {} };

static const struct opt options[] = {
	{ 'f', "flag", OPT_FLAG(struct fuzz_opts, flag), .help = "a flag" },
	{ 'n', "number", OPT_UINT(struct fuzz_opts, number), .arg = "N", .min = 3, .max = 1009,
	  .help = "a number" },
	{ 'd', "duration", OPT_DURATION(struct fuzz_opts, duration_ns), .arg = "DUR", .min = 1,
	  .max = 1000000000000, .help = "a duration" },
	{ 's', "string", OPT_STRING(struct fuzz_opts, string), .arg = "TEXT", .help = "a string" },
	{ 0, "choice", OPT_CHOICE(struct fuzz_opts, choice, choices), .arg = "NAME",
	  .help = "one of several" },
	{ 'N', "numbers", OPT_UINTS(struct fuzz_opts, numbers), .arg = "N", .min = 3, .max = 1009,
	  .help = "numbers" },
	{ 'S', "strings", OPT_STRINGS(struct fuzz_opts, strings), .arg = "TEXT",
	  .help = "strings" },
	{ 'P', "path", OPT_PATHS(struct fuzz_opts, paths), .arg = "PATH", .help = "paths" },
	{ 'C', "chosen", OPT_CHOICES(struct fuzz_opts, chosen, choices), .arg = "NAME",
	  .help = "some of several" },
	{}
};

static const struct opt_group groups[] = { { "All", options, 0 }, {} };

static const struct opt args[] = {
	{ .arg = "INTERVAL", OPT_DURATION(struct fuzz_opts, interval_ns), .help = "how often" },
	{ .arg = "COUNT", OPT_UINT(struct fuzz_opts, count), .help = "how many" },
	{}
};

static const struct opt many[] = {
	{ .arg = "PATTERN", .type = OPT_TYPE_STRING, .required = true, .many = true, .help = "x" },
	{}
};

static void check_values(const struct fuzz_opts *o)
{
	CHECK(!o->number || (o->number >= 3 && o->number <= 1009));
	CHECK(o->duration_ns <= 1000000000000);
	CHECK(!o->string || *o->string);
	CHECK(o->choice >= 0 && o->choice <= 2);
	CHECK(!(o->chosen & ~(1U << 1 | 1U << 2)));
	CHECK(o->numbers.n <= OPT_LIST_MAX);
	for (unsigned int i = 0; i < o->numbers.n; i++)
		CHECK(o->numbers.at[i] >= 3 && o->numbers.at[i] <= 1009);
	CHECK(o->strings.n <= OPT_LIST_MAX && o->paths.n <= OPT_LIST_MAX);
	for (unsigned int i = 0; i < o->strings.n; i++)
		CHECK(*o->strings.at[i] && !strchr(o->strings.at[i], ','));
	for (unsigned int i = 0; i < o->paths.n; i++)
		CHECK(*o->paths.at[i]);
}

static void check_parse(const struct opt_table *t, int argc, char **argv)
{
	struct fuzz_opts o = {};
	struct opts_result res;
	char safe[sizeof(res.error)];
	int err = opts_parse(t, argc, argv, &o, &res);

	CHECK(err == 0 || err == OPTS_HELP || err == OPTS_VERSION || err == -EINVAL);
	CHECK((err == -EINVAL) == (*res.error != '\0'));
	for (char *escape = res.error; (escape = strchr(escape, '\\'));)
		*escape = '/';
	text_safe(safe, sizeof(safe), res.error);
	CHECK(!strcmp(safe, res.error));
	check_values(&o);
	for (int i = 0; i < res.n_rest; i++)
		CHECK(res.rest[i] == res.rest[0] || strlen(res.rest[i]) < 4096);
}

/* A duration that is taken can be said in ns as well. */
static void check_numbers(const char *s)
{
	const char *why = NULL;
	uint64_t ns = 0, again = 0;
	char text[32];

	if (opts_uint(s, &ns, &why))
		CHECK(why && *why);
	if (opts_duration(s, &ns, &why))
		return;
	snprintf(text, sizeof(text), "%lluns", (unsigned long long)ns);
	CHECK(!opts_duration(text, &again, &why) && again == ns);
}

/* Any condition is refused, or met or not. */
static void check_until(const char *text)
{
	static const struct until_event events[] = {
		{ .kind = 5, .error = 5, .end_ns = 1000000000, .took_ns = UINT64_MAX },
		{ .is_request = true, .failed = true, .end_ns = UINT64_MAX, .took_ns = 1 },
	};
	struct devices none = {};
	struct reason why = {};
	struct until u = {};

	if (until_add(&u, text, &none, &why)) {
		CHECK(why.error[0] && (why.exit == EXIT_USAGE || why.exit == EXIT_FAILED));
	} else {
		CHECK(u.n == 1 && (u.ops || u.requests));
		until_see(&u, &events[0]);
		until_look(&u, 2000000000);
		until_see(&u, &events[1]);
		until_look(&u, UINT64_MAX);
		if (until_met(&u))
			CHECK(until_value(&u.conds[0]).s[0]);
	}
	until_done(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct opt_table tables[] = {
		{ .name = "fuzz", .summary = "x", .groups = groups, .args = args, .command = true },
		{ .name = "fuzz", .summary = "x", .groups = groups, .args = many },
	};
	char words[4097], *argv[64] = { "fuzz" };
	int argc = 1;
	size_t n = size < sizeof(words) - 1 ? size : sizeof(words) - 1;

	memcpy(words, data, n);
	words[n] = '\0';
	check_numbers(words);
	check_until(words);
	for (char *w = words, *end; w && argc < 63; w = end) {
		end = strchr(w, '\n');
		if (end)
			*end++ = '\0';
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	check_parse(&tables[size & 1], argc, argv);
	return 0;
}
