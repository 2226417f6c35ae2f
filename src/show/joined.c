// SPDX-License-Identifier: GPL-2.0-only
#include "show/joined.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/columns.h"
#include "base/names.h"
#include "show/view_parts.h"

enum {
	PARTS = 3 + SHARE_N,
	LEAST_PERCENT = 1, /* of the time at the client; smaller parts go into the rest */
	SENTENCE = 1024,
};

#define JOINED_SUM(field) .kind = VALUE_TIME, .at = offsetof(struct join_row, field)
#define JOINED_MEAN(i)    .kind = VALUE_TIME, .at = offsetof(struct join_row, mean_ns[i])
#define STRATUM_COLUMN(id, name, label, letter, share, rank_, ...)                                 \
	{ NULL,                                                                                    \
	  "s." #name,                                                                              \
	  JOINED_MEAN(4 + ST_##id),                                                                \
	  .max = 7,                                                                                \
	  .rank = rank_,                                                                           \
	  .optional = true,                                                                        \
	  .help = "mean time of the server's operation in the stratum " #name },

GETTER(joined_op, join_row, v->text = r->op)

const struct column joined_columns[] = {
	{ "op", "request", VALUE_TEXT, .get = joined_op, .max = 20,
	  .help = "kind of the request, as NFS calls it", .null = "not known" },
	{ "count", "count", VALUE_COUNT, offsetof(struct join_row, count), .max = 7,
	  .help = "number of requests whose operation of the server is known" },
	{ "total_ns", NULL, JOINED_SUM(total_ns),
	  .help = "time of these requests at the client, to the answer" },
	{ "tag_ns", NULL, JOINED_SUM(tag_ns), .help = "part of it until a slot was free" },
	{ "queue_ns", NULL, JOINED_SUM(queue_ns),
	  .help = "part of it from the slot until the requests were sent" },
	{ "network_ns", NULL, JOINED_SUM(network_ns),
	  .help = "part of it from the sending to the answer, without the time of the server's "
		  "operations: the network, and queues of both hosts' network stacks and of nfsd" },
	{ NULL, "client", JOINED_MEAN(0), .max = 7, .help = "mean time at the client" },
	{ NULL, "tag", JOINED_MEAN(1), .max = 7, .rank = 12, .optional = true,
	  .help = "mean part of it until a slot was free" },
	{ NULL, "queue", JOINED_MEAN(2), .max = 7, .rank = 2, .optional = true,
	  .help = "mean part of it from the slot until the request was sent" },
	{ NULL, "network", JOINED_MEAN(3), .max = 7, .help = "mean part of it in the network" },
	STRATUM_LIST(STRATUM_COLUMN){}
};

/* A part of the mean time of a request at the client. */
struct part {
	const char *whose, *name;
	uint64_t ns;
};

static int part_compare(const void *a, const void *b)
{
	return compare_u64(((const struct part *)b)->ns, ((const struct part *)a)->ns);
}

static void parts_fill(struct part parts[PARTS], const struct join_row *r)
{
	int n = 0;

	parts[n++] = (struct part){ "", "tag", r->tag_ns };
	parts[n++] = (struct part){ "", "queue", r->queue_ns };
	parts[n++] = (struct part){ "", "network", r->network_ns };
	for (int s = 0; s < SHARE_N; s++)
		parts[n++] = (struct part){ "server's ",
					    s == SHARE_OTHER ? "other waits" : share_name(s),
					    share_ns(s, r->strata) };
	qsort(parts, PARTS, sizeof(*parts), part_compare);
}

/* "NFS READ takes 12.1 ms at the client: 10.2 ms server's device, 1.00 ms network, rest 0.9 ms" */
static void put_answer(struct text_out *o, const struct breakdown_view *v, const struct join_row *r)
{
	struct part parts[PARTS];
	char text[SENTENCE], op[TEXT_SAFE_CAP(SERVER_OP_LEN)];
	uint64_t rest = 0;
	size_t len;

	parts_fill(parts, r);
	text_safe(op, sizeof(op), *r->op ? r->op : "request");
	len = snprintf(text, sizeof(text), "NFS %s takes %s at the client", op,
		       view_time(v, r->total_ns / r->count).s);
	for (int i = 0; i < PARTS; i++) {
		if (parts[i].ns < r->total_ns / 100 * LEAST_PERCENT || !parts[i].ns) {
			rest += parts[i].ns;
			continue;
		}
		len += snprintf(text + len, sizeof(text) - len, "%s %s %s%s", i ? "," : ":",
				view_time(v, parts[i].ns / r->count).s, parts[i].whose,
				parts[i].name);
	}
	if (rest)
		snprintf(text + len, sizeof(text) - len, ", rest %s",
			 view_time(v, rest / r->count).s);
	text_put(o, "%s", view_paint(v, PAINT_TITLE).s);
	view_wrap(o, v, text);
	text_put(o, "%s", view_paint(v, PAINT_OFF).s);
}

static void put_table(struct text_out *o, const struct breakdown_view *v, const struct join *joined)
{
	const struct columns t = { .list = joined_columns,
				   .width = view_width(v),
				   .uncut = !v->form.terminal,
				   .milliseconds = v->form.milliseconds };
	size_t n = v->form.rows_max && v->form.rows_max < joined->n_rows ? v->form.rows_max
									 : joined->n_rows;
	const void **rows = calloc(n + 1, sizeof(*rows));

	if (!rows) {
		o->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++)
		rows[i] = &joined->rows[i];
	columns_text(o, &t, rows, n);
	free(rows);
	if (n < joined->n_rows)
		text_put(o, "%s more; %s\n", text_count(joined->n_rows - n).s, view_more(v));
	view_wrap(o, v,
		  "times are means of the joined requests; s. marks a stratum of the server's "
		  "operations");
}

/* "not joined: 3 of 11 requests of the client (2 to other servers, 1 ...)" */
bool joined_rest(char *dst, size_t cap, const struct join *joined, enum joined_side which)
{
	static const char *const names[JOINED_SIDES] = { "NFS request", "served operation" };
	static const char *const whys[JOINED_SIDES][JOIN_WHYS] = {
		{
			[JOIN_NO_XID] = "without an xid from the kernel",
			[JOIN_ELSEWHERE] = "to other servers",
			[JOIN_OUTSIDE] = "outside the recorded time of the server",
			[JOIN_ALONE] = "not recorded by the server",
			[JOIN_LONGER] = "answered before the server's operation ended",
		},
		{
			[JOIN_NO_XID] = "without an xid from the kernel",
			[JOIN_ELSEWHERE] = "", /* only requests can be so */
			[JOIN_OUTSIDE] = "outside the recorded time of the client",
			[JOIN_ALONE] = "for other clients or programs",
			[JOIN_LONGER] = "ended after their answer",
		},
	};
	const struct join_side *side =
		which == JOINED_REQUESTS ? &joined->requests : &joined->served;
	uint64_t sum = 0;
	size_t len;

	for (int i = 0; i < JOIN_WHYS; i++)
		sum += side->unjoined[i];
	if (!sum)
		return false;
	len = snprintf(dst, cap, "not joined: %s of %s %s%s", text_count(sum).s,
		       text_count(side->count).s, names[which], text_plural(side->count));
	for (int i = 0, n = 0; i < JOIN_WHYS && len < cap; i++)
		if (side->unjoined[i])
			len += snprintf(dst + len, cap - len, "%s%s %s", n++ ? ", " : " (",
					text_count(side->unjoined[i]).s, whys[which][i]);
	if (len < cap)
		snprintf(dst + len, cap - len, ")");
	return true;
}

void joined_put(struct text_out *o, const struct breakdown_view *v, const struct join *joined)
{
	char text[SENTENCE];

	text_put(o, "\n");
	if (joined->n_rows) {
		put_answer(o, v, &joined->rows[0]);
		put_table(o, v, joined);
	}
	for (int side = 0; side < JOINED_SIDES; side++)
		if (joined_rest(text, sizeof(text), joined, side))
			view_wrap(o, v, text);
}

static void json_side(struct json *j, const char *name, const struct join_side *side)
{
	static const char *const whys[JOIN_WHYS] = { "no_xid", "elsewhere", "outside", "alone",
						     "longer" };

	json_put_begin(j, name, '{');
	json_put_uint(j, "count", side->count);
	for (int i = 0; i < JOIN_WHYS; i++)
		json_put_uint(j, whys[i], side->unjoined[i]);
	json_put_end(j, '}');
}

static void json_row(struct json *j, const struct join_row *r, unsigned int missing)
{
	const struct columns columns = { .list = joined_columns };

	json_put_begin(j, NULL, '{');
	columns_json(j, &columns, r);
	json_put_begin(j, "strata", '{');
	for (int i = 0; i < ST_N; i++)
		if (r->strata[i] || !(missing >> i & 1))
			json_put_uint(j, stratum_name(i), r->strata[i]);
		else
			json_put_null(j, stratum_name(i));
	json_put_end(j, '}');
	json_put_end(j, '}');
}

void joined_json(struct json *j, const struct join *joined)
{
	json_put_begin(j, "joined", '{');
	json_put_begin(j, "rows", '[');
	for (size_t i = 0; i < joined->n_rows; i++)
		json_row(j, &joined->rows[i], joined->missing);
	json_put_end(j, ']');
	json_side(j, "requests", &joined->requests);
	json_side(j, "served", &joined->served);
	json_put_end(j, '}');
}
