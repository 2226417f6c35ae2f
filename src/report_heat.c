// SPDX-License-Identifier: GPL-2.0-only
#include "report_heat.h"

#include "base/text.h"

void report_heat_add(struct report_heat *h, const struct recording *rec,
		     const struct cap_event *ev, uint64_t first_ns)
{
	uint64_t real_ns = cap_event_end(ev) - rec->header.monotonic_ns + rec->header.realtime_ns;
	int64_t at = real_ns - first_ns;

	heat_add_at(ev->kind == CHUNK_OPS ? &h->ops : &h->requests, at < 0 ? 0 : at,
		    cap_event_total(ev));
}

int report_heat_print(FILE *out, struct report_heat *h, const char *of_ops,
		      uint64_t end_ns)
{
	struct text_out o = { .f = out };
	int err = heat_text(out, &h->ops, "operations", end_ns);

	if (err || !*of_ops)
		return err ? err : heat_text(out, &h->requests, "requests", end_ns);
	text_put(&o, "requests: not shown, %s cannot choose them\n", of_ops);
	return text_end(&o);
}
