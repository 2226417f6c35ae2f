// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watch_at_most.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/opts.h"
#include "base/reason.h"

int watch_at_most_parse(struct at_most *a, const char *text, struct reason *why)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = { 1, 60, 3600, 86400 };
	const char *slash = strchr(text, '/'), *unit = NULL, *wrong;
	char number[16];
	uint64_t n;

	if (slash && slash - text < (int)sizeof(number) && slash[1] && !slash[2])
		unit = strchr(units, slash[1]);
	if (unit) {
		snprintf(number, sizeof(number), "%.*s", (int)(slash - text), text);
		if (!opts_uint(number, &n, &wrong) && n && n <= AT_MOST_MAX) {
			a->n = n;
			a->each_ns = seconds[unit - units] * NS_PER_S;
			return 0;
		}
	}
	reason_set(why, EXIT_USAGE, "invalid --at-most '%.60s'", text);
	return reason_hint(why, "N/TIME is like 10/h: N is at most %d, TIME is s, m, h or d",
			   AT_MOST_MAX);
}

bool watch_at_most_allows(struct at_most *a, uint64_t now)
{
	uint64_t *oldest = &a->times_ns[a->n ? a->written % a->n : 0];

	if (!a->n)
		return true;
	if (a->written >= a->n && now - *oldest < a->each_ns) {
		a->left_out++;
		return false;
	}
	*oldest = now;
	a->written++;
	return true;
}
