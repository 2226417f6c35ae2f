// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as a recording: read to the end, or to one error. */
#include "made.h"

#include "analyse/join.h"
#include "analyse/page_data.h"
#include "base/reason.h"
#include "capture/event_row.h"
#include "capture/replay.h"
#include "common/recorded_stacks.h"
#include "show/events.h"
#include "show/page.h"
#include "show/stacks_text.h"
#include "stacks/stack_join.h"

/* Any records make a page. */
static void page_make(FILE *out, struct page_data *d, const struct machine_loads *loads,
		      uint64_t across_ns)
{
	const struct breakdown_view view = { .missing = &(struct missing){} };
	const struct page_compared none = {};
	struct snapshot sn = { .duration_ns = across_ns };
	const struct page p = {
		.view = &view, .sn = &sn, .data = d, .compared = &none, .loads = loads
	};

	page_data_measure(d, across_ns);
	CHECK(!page_put(out, &p));
	snapshot_free(&sn);
}

/* Parts of how busy the machine was add up to the whole. */
static void loads_check(const struct machine_loads *l)
{
	struct machine_load whole, sum = {}, part;
	uint64_t half;

	CHECK(l->n <= MACHINE_LOADS);
	machine_loads_between(l, 0, UINT64_MAX, &whole);
	for (size_t i = 0; i < l->n && l->n == 1; i++) {
		half = l->list[i].from_ns + (l->list[i].to_ns - l->list[i].from_ns) / 3;
		machine_loads_between(l, 0, half, &part);
		machine_load_add(&sum, &part);
		machine_loads_between(l, half, UINT64_MAX, &part);
		machine_load_add(&sum, &part);
		CHECK(!memcmp(&sum, &whole, sizeof(sum)));
	}
}

/* Any records are joined, whose parts add up. */
static void sides_join(struct join *j)
{
	uint64_t sum;

	CHECK(!join_make(j));
	for (size_t i = 0; i < j->n_rows; i++) {
		sum = j->rows[i].tag_ns + j->rows[i].queue_ns + j->rows[i].network_ns;
		for (int st = 0; st < ST_N; st++)
			sum += j->rows[i].strata[st];
		CHECK(sum == j->rows[i].total_ns);
	}
	join_done(j);
}

/* Any stacks are shown. */
static void stacks_show(FILE *out, struct recorded_stacks *s, const struct replay *r)
{
	const struct breakdown_view view = { .form.stacks = true, .form.detail = 1 };
	struct text_out o = { .f = out };
	struct snapshot sn = {};

	CHECK(!recorded_stacks_take(s, r, &sn));
	CHECK(!stacks_put(&o, &view, &sn) && !stacks_folded(out, &sn));
	CHECK(!stack_join(&sn, BY_LINE));
	snapshot_free(&sn);
	recorded_stacks_done(s);
}

static void recording_read(FILE *f, bool pages)
{
	struct replay r = { .conf = { .by = BY_FILE, .slowest_max = 3, .every_ns = 1 << 30 } };
	static struct event_names names;
	static FILE *out;
	struct recording rec;
	struct stored_event ev;
	struct events_form form;
	struct machine_loads loads = {};
	struct page_data page = {};
	struct recorded_stacks stacks = {};
	struct join join = {};
	struct snapshot sn;
	struct reason why;
	int got = recording_open(&rec, f, "fuzz", &why), n = 0;

	if (!out)
		out = fopen("/dev/null", "w");
	if (!got) {
		CHECK(!page_data_begin(&page, &rec) && !join_begin(&join, &rec));
		rec.server_requests = rec.stacks = true;
		while ((got = recording_next(&rec, &ev, &why)) > 0 && n++ < 2000) {
			CHECK(!join_add(&join, &rec, &ev));
			if (ev.kind == CHUNK_STACKS)
				CHECK(!recorded_stacks_add(&stacks, &r, &rec, &ev));
			if (ev.kind == CHUNK_SERVER_REQUESTS || ev.kind == CHUNK_STACKS)
				continue;
			form = (struct events_form){ EVENTS_TEXT + n % 3, n % 160 };
			events_put(out, &form, &rec, &ev, no_call, &names);
			if (pages && (ev.kind == CHUNK_OPS || ev.kind == CHUNK_REQUESTS))
				CHECK(!page_data_add(&page, &rec, &ev, stored_event_end(&ev)));
			if (replay_add(&r, &rec, &ev, &why))
				break;
		}
		CHECK(!page_data_end(&page, &rec) && !recorded_stacks_end(&stacks, &rec));
		join_end(&join, &rec);
		replay_end(&r, &rec, &why); /* it may have too many intervals */
	}
	CHECK(got >= 0 || (why.exit == EXIT_FAILED && why.error[0]));
	event_names_done(&names);
	loads = rec.loads;
	rec.loads = (struct machine_loads){};
	recording_close(&rec);
	loads_check(&loads);
	sides_join(&join);
	stacks_show(out, &stacks, &r);
	for (size_t i = 0; i < r.n_intervals; i++) {
		CHECK(!replay_take(&r, i, &sn));
		snapshot_free(&sn);
	}
	replay_done(&r);
	if (pages)
		page_make(out, &page, &loads, rec.last_ns);
	page_data_done(&page);
	machine_loads_done(&loads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f;

	if (!size)
		return 0;
	f = recording_make(data, size);
	recording_read(f, size % 8 == 0); /* a page takes as long as all else together */
	fclose(f);
	return 0;
}
