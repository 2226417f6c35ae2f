// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_time.h"

#include <errno.h>
#include <stdlib.h>

#include "base/reason.h"
#include "base/text.h"

/* When a recording began and ended, since the beginning of the timeline. */
struct report_span {
	uint64_t from_ns, to_ns;
};

void report_time_window(const struct report_time *t, struct recording *rec)
{
	uint64_t start = t->first_ns - rec->header.realtime_ns + rec->header.monotonic_ns;

	if (t->part.from_ns)
		rec->from_ns = start + t->part.from_ns;
	if (t->part.to_ns)
		rec->to_ns = start + t->part.to_ns;
}

int report_time_add(struct report_time *t, const struct recording *rec)
{
	struct report_span *list = reallocarray(t->spans, t->n_spans + 1, sizeof(*list)), *s;
	uint64_t duration = recording_covers(rec), real = rec->header.realtime_ns;

	if (!list)
		return -ENOMEM;
	t->spans = list;
	s = &list[t->n_spans++];
	if (rec->reader.ended)
		t->without_ns += rec->ending.duration_ns - duration;
	s->from_ns = real > t->first_ns ? real - t->first_ns : 0;
	s->to_ns = s->from_ns + duration;
	return 0;
}

void report_time_gaps(const struct report_time *t, uint64_t *ret_twice, uint64_t *ret_gap)
{
	uint64_t end = t->n_spans ? t->spans[0].to_ns : 0;

	for (size_t i = 1; i < t->n_spans; i++) {
		const struct report_span *s = &t->spans[i];
		uint64_t less = s->to_ns < end ? s->to_ns : end;

		if (s->from_ns > end)
			*ret_gap += s->from_ns - end;
		else
			*ret_twice += less - s->from_ns;
		end = s->to_ns > end ? s->to_ns : end;
	}
}

/* The end of the last recording, since the beginning of the timeline. */
static uint64_t last_end(const struct report_time *t)
{
	uint64_t end = 0;

	for (size_t i = 0; i < t->n_spans; i++)
		end = t->spans[i].to_ns > end ? t->spans[i].to_ns : end;
	return end;
}

uint64_t report_time_across(const struct report_time *t)
{
	uint64_t end = last_end(t);

	if (t->part.to_ns && t->part.to_ns < end)
		end = t->part.to_ns;
	return end > t->part.from_ns ? end - t->part.from_ns : 0;
}

int report_time_reached(const struct report_time *t, struct reason *why)
{
	uint64_t end = last_end(t);

	if (!t->part.from_ns || t->part.from_ns < end)
		return 0;
	reason_set(why, EXIT_FAILED, "--from %s is past the end: the recording%s %s long",
		   text_ns(t->part.from_ns).s, t->n_spans > 1 ? "s are" : " is", text_ns(end).s);
	return reason_hint(why, "--from counts from the beginning of the recording");
}

/* The time of @s between @from and @to. */
static uint64_t span_within(const struct report_span *s, uint64_t from, uint64_t to)
{
	from = s->from_ns > from ? s->from_ns : from;
	to = s->to_ns < to ? s->to_ns : to;
	return to > from ? to - from : 0;
}

uint64_t report_time_interval(const struct report_time *t, size_t i)
{
	uint64_t from = t->part.from_ns + i * t->every_ns, sum = 0;
	uint64_t to = t->every_ns ? from + t->every_ns : UINT64_MAX;

	if (t->part.to_ns && t->part.to_ns < to)
		to = t->part.to_ns;
	for (size_t s = 0; s < t->n_spans; s++)
		sum += span_within(&t->spans[s], from, to);
	return sum;
}

void report_time_done(struct report_time *t)
{
	free(t->spans);
}
