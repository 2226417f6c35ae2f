// SPDX-License-Identifier: GPL-2.0-only
#include "show/events.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "capture/event_row.h"
#include "capture/recording.h"
#include "host/path.h"
#include "show/breakdown_members.h"

/* Text: one line. The last column is the name of a file or disk; the columns before have a fixed
 * width. */
enum {
	NARROW_COLUMNS = 15 + 1 + 7 + 1 + 9 + 1 + 7 + 1 + 7 + 1 + 15 + 1, /* before the name */
	WIDE_COLUMNS = NARROW_COLUMNS + 1 + 14 + 1 + 9 + 1 + 7,
	NAME_LEAST = 14,
};

static bool is_wide(const struct events_form *form)
{
	return !form->columns || form->columns >= WIDE_COLUMNS + NAME_LEAST;
}

static void text_head(struct text_out *o, const struct events_form *form)
{
	text_put(o, "%15s %-7s %-9s %7s %7s", "TIME", "WHAT", "OP", "TOOK", "BYTES");
	if (is_wide(form))
		text_put(o, " %14s %9s %7s", "OFFSET", "RESULT", "TID");
	text_put(o, " %-15s %s\n", "COMM", "FILE OR DISK");
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

static void text_name(struct text_out *o, const struct events_form *form, const char *name)
{
	char safe[TEXT_SAFE_CAP(PATH_CAP + 64)], fit[sizeof(safe)];
	int width = form->columns - (is_wide(form) ? WIDE_COLUMNS : NARROW_COLUMNS);

	text_safe(safe, sizeof(safe), name);
	if (form->columns)
		text_fit(fit, sizeof(fit), safe, width > NAME_LEAST ? width : NAME_LEAST,
			 TEXT_CUT_MIDDLE);
	text_put(o, "%s\n", form->columns ? fit : safe);
}

static void text_event(struct text_out *o, const struct events_form *form,
		       const struct event_row *s)
{
	int64_t since = s->start_ns - s->rec->header.monotonic_ns;
	uint64_t ns = since < 0 ? -since : since; /* the event may have begun before this file */
	char comm[TEXT_SAFE_CAP(COMM_LEN)] = "-", fit[64], when[32];
	const char *subject = s->op ? s->path : event_row_disk(s);

	if (s->who && s->who->tid)
		text_safe_n(comm, sizeof(comm), s->who->comm, strnlen(s->who->comm, COMM_LEN));
	snprintf(when, sizeof(when), "%s%llu.%09llu", since < 0 ? "-" : "",
		 (unsigned long long)ns / 1000000000, (unsigned long long)ns % 1000000000);
	text_put(o, "%15s %-7s %-9s %7s", when, s->op ? "op" : "request", s->op_name,
		 text_ns(s->total_ns).s);
	text_put_number(o, 7, s->len, s->len != ~0ULL);
	if (is_wide(form)) {
		text_put_number(o, 14, s->offset, s->offset != ~0ULL);
		text_result(o, s);
		text_put_number(o, 7, s->who ? s->who->tid : 0, s->who && s->who->tid);
	}
	text_fill(o, ' ', 1);
	text_put(o, "%s", (text_fit(fit, sizeof(fit), comm, 15, TEXT_CUT_TAIL), fit));
	text_fill(o, ' ', 16 - text_width(fit));
	text_name(o, form, subject ? subject : "-");
}

static const struct columns columns = { .list = event_columns };

int events_head(FILE *f, const struct events_form *form)
{
	struct json j = { .out = { .f = f } };

	if (form->format == EVENTS_TEXT) {
		text_head(&j.out, form);
	} else if (form->format == EVENTS_CSV) {
		columns_csv_titles(&j.out, &columns);
	} else {
		json_put_begin(&j, NULL, '{');
		json_put_string(&j, "schema", events_schema.id);
		json_put_end(&j, '}');
		text_put(&j.out, "\n");
	}
	return j.out.err;
}

static void json_event(struct json *j, const struct event_row *s)
{
	struct text_buffer buffer;

	buffer.n = 0;
	j->out.buffer = &buffer;
	json_put_begin(j, NULL, '{');
	columns_json(j, &columns, s);
	json_put_end(j, '}');
	text_write(&j->out, "\n", 1);
	text_flush(&j->out);
	j->out.buffer = NULL;
}

int events_put(FILE *f, const struct events_form *form, const struct recording *rec,
	       const struct stored_event *ev, const char *(*call_name)(unsigned short call),
	       struct event_names *names)
{
	struct json j = { .out = { .f = f } };
	struct event_row s;

	event_row_fill(&s, names, rec, ev, call_name);
	if (form->format == EVENTS_TEXT)
		text_event(&j.out, form, &s);
	else if (form->format == EVENTS_CSV)
		columns_csv(&j.out, &columns, &s);
	else
		json_event(&j, &s);
	return j.out.err;
}
