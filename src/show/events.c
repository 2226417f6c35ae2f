// SPDX-License-Identifier: GPL-2.0-only
#include "show/events.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "capture/event_row.h"
#include "capture/reader.h"

/* Text: one line; the last column can have any length. */

static void text_head(struct text_out *o)
{
	text_put(o, "%15s %-8s %-5s %9s %7s %14s %9s %7s %-15s %s\n", "TIME", "WHAT", "OP", "TOOK",
		 "BYTES", "OFFSET", "RESULT", "TID", "COMM", "FILE OR DISK");
}

static void text_put_number(struct text_out *o, int width, uint64_t n, bool known)
{
	if (known)
		text_put(o, " %*llu", width, (unsigned long long)n);
	else
		text_put(o, " %*s", width, "-");
}

static void text_result(struct text_out *o, const struct event_row *s)
{
	const char *error = event_row_error(s);

	if (error)
		text_put(o, " %9s", error);
	else if (s->op)
		text_put(o, " %9lld", (long long)s->op->ret);
	else if (s->rq->flags & STORED_RQ_FAILED)
		text_put(o, " %9s", "failed");
	else
		text_put(o, " %9s", "ok");
}

static void text_event(struct text_out *o, const struct event_row *s)
{
	int64_t since = s->start_ns - s->rec->header.monotonic_ns;
	uint64_t ns = since < 0 ? -since : since; /* the event may have begun before this file */
	char comm[TEXT_SAFE_CAP(COMM_LEN)] = "-", fit[64], name[TEXT_SAFE_CAP(PATH_CAP + 64)];
	char when[32];
	const char *subject = s->op ? s->path : event_row_disk(s);

	if (s->who && s->who->tid)
		text_safe_n(comm, sizeof(comm), s->who->comm, strnlen(s->who->comm, COMM_LEN));
	text_safe(name, sizeof(name), subject ? subject : "-");
	snprintf(when, sizeof(when), "%s%llu.%09llu", since < 0 ? "-" : "",
		 (unsigned long long)ns / 1000000000, (unsigned long long)ns % 1000000000);
	text_put(o, "%15s %-8s %-5s %9s", when, s->op ? "op" : "request", s->op_name,
		 text_ns(s->total_ns).s);
	text_put_number(o, 7, s->len, s->len != ~0ULL);
	text_put_number(o, 14, s->offset, s->offset != ~0ULL);
	text_result(o, s);
	text_put_number(o, 7, s->who ? s->who->tid : 0, s->who && s->who->tid);
	text_fill(o, ' ', 1);
	text_put(o, "%s", (text_fit(fit, sizeof(fit), comm, 15, TEXT_CUT_TAIL), fit));
	text_fill(o, ' ', 16 - text_width(fit));
	text_put(o, "%s\n", name);
}

static const struct columns columns = { .list = event_columns };

int events_head(FILE *f, enum events_format format)
{
	struct json j = { .out = { .f = f } };

	if (format == EVENTS_TEXT) {
		text_head(&j.out);
	} else if (format == EVENTS_CSV) {
		columns_csv_titles(&j.out, &columns);
	} else {
		json_put_begin(&j, NULL, '{');
		json_put_string(&j, "schema", "iostrata.events/1");
		json_put_end(&j, '}');
		text_put(&j.out, "\n");
	}
	return j.out.err;
}

static void json_event(struct json *j, const struct event_row *s)
{
	json_put_begin(j, NULL, '{');
	columns_json(j, &columns, s);
	json_put_end(j, '}');
	text_put(&j->out, "\n");
}

int events_put(FILE *f, enum events_format format, const struct recording *rec,
	       const struct stored_event *ev, const char *(*call_name)(unsigned short call),
	       struct event_names *names)
{
	struct json j = { .out = { .f = f } };
	struct event_row s;

	event_row_fill(&s, names, rec, ev, call_name);
	if (format == EVENTS_TEXT)
		text_event(&j.out, &s);
	else if (format == EVENTS_CSV)
		columns_csv(&j.out, &columns, &s);
	else
		json_event(&j, &s);
	return j.out.err;
}
