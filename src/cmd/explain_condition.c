// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/explain_condition.h"

#include <stdlib.h>
#include <string.h>

#include "base/opts.h"
#include "base/reason.h"
#include "event.h"
#include "run/filters.h"

static bool is_called(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

static int invalid(const char *text, const char *wrong, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid condition '%.60s': %s", text, wrong);
	return reason_hint(why, "KIND>LIMIT, KIND as for --op, or any, request or request DISK; "
				"LIMIT a time or a percentile: 'fsync>p99', 'read>5ms', "
				"'request vda>p99.9'");
}

/* "p99.9". False: it is no percentile. */
static bool percentile_parse(const char *text, double *ret_percentile)
{
	char *end;

	if (text[0] != 'p' || text[1] < '0' || text[1] > '9' || strlen(text) > 12 ||
	    strspn(text + 1, "0123456789.") + 1 != strlen(text))
		return false;
	*ret_percentile = strtod(text + 1, &end);
	return !*end && *ret_percentile > 0 && *ret_percentile < 100;
}

/* Sets the kind from @len bytes. NULL, or the mistake. */
static const char *kind_parse(const char *text, size_t len, struct condition *c)
{
	static const char request[] = "request";
	const size_t n = sizeof(request) - 1;

	for (const struct opt_choice *o = filter_ops; o->name; o++)
		if (is_called(o->name, text, len))
			c->kinds = 1U << o->value;
	if (is_called("any", text, len))
		c->kinds = ~0U;
	if (c->kinds || is_called(request, text, len))
		return NULL;
	if (len <= n + 1 || memcmp(text, request, n) != 0 || text[n] != ' ')
		return "no such operation";
	if (len - n - 1 >= sizeof(c->disk))
		return "no such disk";
	memcpy(c->disk, text + n + 1, len - n - 1);
	return NULL;
}

int condition_parse(const char *text, struct condition *ret_condition, struct reason *why)
{
	const char *above = strchr(text, '>'), *wrong;
	struct condition c = {};

	if (!above)
		return invalid(text, "no '>'", why);
	if (!percentile_parse(above + 1, &c.percentile) &&
	    opts_duration(above + 1, &c.above_ns, &wrong))
		return invalid(text, wrong, why);
	wrong = kind_parse(text, above - text, &c);
	if (wrong)
		return invalid(text, wrong, why);
	*ret_condition = c;
	return 0;
}

const char *condition_noun(const struct condition *c)
{
	static const char *const nouns[OP_N] = {
		[OP_READ] = "reads",
		[OP_WRITE] = "writes",
		[OP_OPEN] = "opens",
		[OP_CLOSE] = "closes",
		[OP_FSYNC] = "fsyncs",
		[OP_COPY] = "copies",
		[OP_META] = "metadata operations",
		[OP_URING] = "requests of io_uring",
		[OP_AIO] = "requests of libaio",
		[OP_FAULT] = "page faults",
	};

	if (!c->kinds)
		return "requests";
	for (int kind = 0; kind < OP_N; kind++)
		if (c->kinds == 1U << kind && nouns[kind])
			return nouns[kind];
	return "operations";
}
