// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_sums.h"

#include <errno.h>
#include <string.h>

#include "base/reason.h"
#include "base/text.h"
#include "capture/recording.h"

/* Adds a row of requests to a server. Returns 0 or -ENOMEM. */
static int server_add(struct rows *rows, const struct server_row *from)
{
	struct server_key key = from->key;
	struct server_row *row;

	key.dev = from->mount ? mount_server_number(from->mount) : 0;
	row = rows_server(rows, &key);
	if (!row)
		return -ENOMEM;
	if (!row->mount && from->mount)
		row->mount = strdup(from->mount);
	server_row_add(row, &from->sums);
	return hist_merge(&row->hist, &from->hist) ? -ENOMEM : 0;
}

static int servers_add(struct report_sums *s, const struct ending *e, bool is_whole)
{
	int err = 0;

	for (size_t i = 0; i < e->n_servers && !err; i++) {
		if (is_whole)
			err = server_add(&s->servers, &e->servers[i]);
		else
			s->servers_hidden += e->servers[i].sums.count;
	}
	return err;
}

/* Adds how busy the machine was in the shown part of @rec. Returns 0 or -ENOMEM. */
static int loads_add(struct report_sums *s, const struct recording *rec)
{
	uint64_t begin = rec->header.monotonic_ns, end = begin + recording_covers(rec);
	uint64_t later = rec->header.realtime_ns - begin;
	struct stored_machine_load one;
	int err = 0;

	for (size_t i = 0; i < rec->loads.n && !err; i++) {
		/* in two steps: parts of the result are then equal to those of the whole */
		if (!machine_load_part(&rec->loads.list[i], begin, end, &one) ||
		    !machine_load_part(&one, rec->from_ns, rec->to_ns, &one))
			continue;
		one.from_ns += later;
		one.to_ns += later;
		err = machine_loads_add(&s->loads, &one);
	}
	return err;
}

int report_sums_end(struct report_sums *s, const struct recording *rec, bool is_whole,
		    struct reason *why)
{
	if (replay_end(&s->replay, rec, why))
		return -1;
	if (s->with_stacks && recorded_stacks_end(&s->stacks, rec))
		return reason_no_memory(why);
	losses_untimed(&rec->losses, rec->ending.lost, s->untimed.lost);
	s->untimed.missed += rec->ending.missed;
	for (int i = 0; i < LOST_N; i++)
		s->whole.lost[i] += rec->ending.lost[i];
	s->whole.missed += rec->ending.missed;
	s->lost += recording_lost(rec, s->lost_but);
	if (loads_add(s, rec))
		return reason_no_memory(why);
	return servers_add(s, &rec->ending, is_whole) ? reason_no_memory(why) : 0;
}

/* Moves the requests to servers to @sn. It has none so far. */
static void servers_take(struct report_sums *s, struct snapshot *sn)
{
	struct snapshot taken = {};

	rows_take(&s->servers, &taken);
	sn->servers = taken.servers;
	sn->n_servers = taken.n_servers;
}

/* Gives @sn the losses that are not of its time alone. A part of the time has those without a time
 * separately, and only once (@is_first). */
static void losses_put(const struct report_sums *s, struct snapshot *sn, bool is_first)
{
	if (sn->is_part && is_first)
		sn->untimed = s->untimed;
	if (sn->is_part)
		return;
	memcpy(sn->lost, s->whole.lost, sizeof(sn->lost));
	sn->missed = s->whole.missed;
}

static void load_take(const struct report_sums *s, size_t i, struct snapshot *sn)
{
	const struct replay_conf *c = &s->replay.conf;
	uint64_t from = c->every_ns ? c->first_ns + i * c->every_ns : 0;
	uint64_t to = c->every_ns ? from + c->every_ns : UINT64_MAX;

	machine_loads_between(&s->loads, from, to, &sn->machine);
}

int report_sums_take(struct report_sums *s, size_t i, bool is_part, struct snapshot *ret)
{
	int err = 0;

	*ret = (struct snapshot){};
	if (i < s->replay.n_intervals)
		err = replay_take(&s->replay, i, ret);
	if (!i)
		servers_take(s, ret);
	if (!err && s->with_stacks && s->has_stacks)
		err = recorded_stacks_take(&s->stacks, &s->replay, ret);
	ret->is_part = is_part;
	losses_put(s, ret, !i);
	load_take(s, i, ret);
	return err;
}

const struct slow_op *report_sums_slowest(const struct report_sums *s, size_t i, size_t *ret_n)
{
	const struct replay *r = &s->replay;

	*ret_n = i < r->n_intervals ? r->intervals[i].n_slowest : 0;
	return *ret_n ? r->intervals[i].slowest : NULL;
}

void report_sums_heat_add(struct report_sums *s, const struct recording *rec,
			  const struct stored_event *ev)
{
	uint64_t real_ns =
		stored_event_end(ev) - rec->header.monotonic_ns + rec->header.realtime_ns;
	int64_t at = real_ns - s->replay.conf.first_ns;

	heat_add_at(ev->kind == CHUNK_OPS ? &s->ops : &s->requests, at < 0 ? 0 : at,
		    stored_event_total(ev));
}

int report_sums_heat_print(FILE *out, struct report_sums *s, const char *of_ops, uint64_t end_ns)
{
	struct text_out o = { .f = out };
	int err = heat_text(out, &s->ops, "operations", end_ns);

	if (err || !*of_ops)
		return err ? err : heat_text(out, &s->requests, "requests", end_ns);
	text_put(&o, "requests: not shown, because only operations are filtered by %s\n", of_ops);
	return text_end(&o);
}

void report_sums_done(struct report_sums *s)
{
	replay_done(&s->replay);
	rows_done(&s->servers);
	machine_loads_done(&s->loads);
	recorded_stacks_done(&s->stacks);
}
