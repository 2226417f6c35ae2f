// SPDX-License-Identifier: GPL-2.0-only
#include "record_until.h"

#include <string.h>

#include "base/reason.h"
#include "capture/intake.h"
#include "run/filters.h"

static bool is_called(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

static int invalid(const char *text, const char *what, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid --until '%.60s': %s", text, what);
	return reason_hint(why, "an operation as of --op, any or request: 'fsync>100ms'");
}

int record_until_parse(const char *text, struct intake_until *ret_until, struct reason *why)
{
	const char *above = strchr(text, '>'), *what;
	struct intake_until u = {};
	size_t len;

	if (!above)
		return invalid(text, "no '>'", why);
	if (opts_duration(above + 1, &u.above_ns, &what))
		return invalid(text, what, why);
	len = above - text;
	for (const struct opt_choice *c = filter_ops; c->name; c++)
		if (is_called(c->name, text, len))
			u.kinds = 1U << c->value;
	if (is_called("any", text, len))
		u.kinds = ~0U;
	u.requests = is_called("request", text, len);
	if (!u.kinds && !u.requests)
		return invalid(text, "no such operation", why);
	*ret_until = u;
	return 0;
}
