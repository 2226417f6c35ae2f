// SPDX-License-Identifier: GPL-2.0-only
#include "capture/recording.h"

#include <errno.h>
#include <string.h>

#include "base/reason.h"
#include "base/snapshot.h"
#include "capture/batch.h"

uint64_t stored_event_end(const struct stored_event *ev)
{
	if (ev->kind == CHUNK_OPS || ev->kind == CHUNK_STACKS)
		return ev->op.start_ns + stored_op_total(&ev->op);
	return stored_request_end(&ev->request);
}

uint64_t stored_event_total(const struct stored_event *ev)
{
	if (ev->kind == CHUNK_OPS || ev->kind == CHUNK_STACKS)
		return stored_op_total(&ev->op);
	return stored_request_end(&ev->request) - ev->request.q_ns;
}

/* Sets @why for @err, from parsing the contents of a chunk. Returns -1. */
static int chunk_failed(const struct recording *r, int err, struct reason *why)
{
	if (err == -ENOMEM)
		return reason_no_memory(why);
	return reader_damaged(&r->reader, "the chunk before makes no sense", why);
}

static int header_read(struct recording *r, struct reason *why)
{
	const char *text;
	int got = reader_next(&r->reader, why), err;

	if (got <= 0)
		return got ? got : reader_cut_off(&r->reader, why);
	if (r->reader.head.kind != CHUNK_HEADER)
		return reader_damaged(&r->reader, "its header is missing", why);
	text = reader_text(&r->reader, why);
	if (!text)
		return -1;
	err = header_parse(&r->header, text, r->reader.head.raw);
	for (int st = 0; st < ST_N; st++)
		r->strata_missing |= (unsigned int)!!r->header.stratum[st] << st;
	return err ? chunk_failed(r, err, why) : 0;
}

int recording_open(struct recording *r, FILE *f, const char *name, struct reason *why)
{
	*r = (struct recording){ .to_ns = UINT64_MAX };
	if (catalog_init(&r->catalog))
		return reason_no_memory(why);
	if (reader_begin(&r->reader, f, name, why))
		return -1;
	return header_read(r, why);
}

void recording_close(struct recording *r)
{
	reader_done(&r->reader);
	catalog_done(&r->catalog);
	header_done(&r->header);
	ending_done(&r->ending);
	losses_done(&r->losses);
	machine_loads_done(&r->loads);
}

static int names_read(struct recording *r, struct reason *why)
{
	const struct devices *disks = &r->catalog.disks;
	size_t n = disks->n, n_links = disks->n_links;
	struct cursor rows;
	int err;

	if (reader_rows(&r->reader, STORED_COLUMNS(struct stored_name), &rows, why))
		return -1;
	err = catalog_add(&r->catalog, &rows);
	if (disks->n != n || disks->n_links != n_links)
		devices_merge(&r->header.devices, disks);
	return err ? chunk_failed(r, err, why) : 0;
}

static int machine_loads_read(struct recording *r, struct reason *why)
{
	struct stored_machine_load one;
	struct cursor rows;
	int got;

	if (reader_rows(&r->reader, STORED_COLUMNS(struct stored_machine_load), &rows, why))
		return -1;
	while ((got = cursor_next(&rows, (uint64_t *)&one)) > 0)
		if (machine_loads_add(&r->loads, &one))
			return reason_no_memory(why);
	return got < 0 ? chunk_failed(r, got, why) : 0;
}

static int ending_read(struct recording *r, struct reason *why)
{
	const char *text = reader_text(&r->reader, why);
	int err;

	if (!text)
		return -1;
	err = ending_parse(&r->ending, text, r->reader.head.raw);
	return err ? chunk_failed(r, err, why) : 0;
}

static int records_begin(struct recording *r, unsigned int columns, struct reason *why)
{
	const struct chunk_head *h = &r->reader.head;
	bool wanted =
		h->kind == CHUNK_LOSSES || (h->last_ns >= r->from_ns && h->first_ns < r->to_ns);

	if (wanted && reader_rows(&r->reader, columns, &r->rows, why))
		return -1;
	r->in_chunk = wanted;
	if (h->last_ns > r->last_ns)
		r->last_ns = h->last_ns;
	return 0;
}

/* Reads a chunk: adds names, enters a chunk of records. Returns as reader_next(). */
static int chunk_read(struct recording *r, struct reason *why)
{
	int got = reader_next(&r->reader, why), err = 0;

	if (got < 0)
		return -1;
	if (!got && r->reader.ended)
		return 0;
	if (!got)
		return reader_cut_off(&r->reader, why);
	switch (r->reader.head.kind) {
	case CHUNK_NAMES:
		err = names_read(r, why);
		break;
	case CHUNK_OPS:
	case CHUNK_HANDLES:
		err = records_begin(r, STORED_COLUMNS(struct stored_op), why);
		break;
	case CHUNK_REQUESTS:
		err = records_begin(r, STORED_COLUMNS(struct stored_request), why);
		break;
	case CHUNK_SERVER_REQUESTS:
		if (r->server_requests)
			err = records_begin(r, STORED_COLUMNS(struct stored_server_request), why);
		break;
	case CHUNK_STACKS:
		if (r->stacks)
			err = records_begin(r, STORED_COLUMNS(struct stored_stack), why);
		break;
	case CHUNK_LOSSES:
		err = records_begin(r, STORED_COLUMNS(struct stored_loss), why);
		break;
	case CHUNK_MACHINE_LOADS:
		err = machine_loads_read(r, why);
		break;
	case CHUNK_END:
		err = ending_read(r, why);
		break;
	}
	return err ? err : 1;
}

/* Notes the loss of @ev. 1 or -ENOMEM. */
static int loss_take(struct recording *r, const struct stored_event *ev)
{
	if (!r->reader.ended && ev->loss.kind < LOST_N)
		r->ending.lost[ev->loss.kind] += ev->loss.count;
	return losses_add(&r->losses, &ev->loss) ? -ENOMEM : 1;
}

/* The next row of the chunk. Returns as cursor_next(). */
static int row_take(struct recording *r, struct stored_event *ev)
{
	struct stored_stack s;
	int got;

	if (ev->kind != CHUNK_STACKS)
		return cursor_next(&r->rows, (uint64_t *)&ev->op);
	got = cursor_next(&r->rows, (uint64_t *)&s);
	if (got <= 0)
		return got;
	ev->op = (struct stored_op){ .start_ns = s.start_ns,
				     .owner = s.owner,
				     .file = s.file,
				     .kind = s.kind,
				     .call = s.call,
				     .fs = s.fs,
				     .offset = ~0ULL,
				     .len = ~0ULL,
				     .fd = -1,
				     .ret = s.ret,
				     .device_bytes = s.device_bytes };
	memcpy(ev->op.strata, s.strata, sizeof(s.strata));
	ev->stack = s.stack;
	ev->threshold_ns = s.threshold_ns;
	return 1;
}

/* The segments of the operation in @ev, the next ones in the column of bytes. 1 or -EBADMSG. */
static int segments_take(struct recording *r, struct stored_event *ev)
{
	if (ev->op.segments > r->rows.tail_len)
		return -EBADMSG;
	ev->segments = r->rows.tail;
	if (ev->op.segments) {
		r->rows.tail += ev->op.segments;
		r->rows.tail_len -= ev->op.segments;
	}
	return 1;
}

/* All names of frames are there. Returns 0, or -1 with @why. */
static int frames_name(struct recording *r, struct reason *why)
{
	const struct frame_namer *namer = r->namer;

	r->namer = NULL;
	return namer && namer->name(namer->arg, &r->catalog) ? reason_no_memory(why) : 0;
}

int recording_next(struct recording *r, struct stored_event *ret_event, struct reason *why)
{
	int got;

	for (;;) {
		if (r->in_chunk) {
			ret_event->kind = r->reader.head.kind;
			got = row_take(r, ret_event);
			if (got > 0 && ret_event->kind == CHUNK_OPS)
				got = segments_take(r, ret_event);
			if (got > 0 && ret_event->kind == CHUNK_LOSSES)
				got = loss_take(r, ret_event);
			if (got < 0)
				return chunk_failed(r, got, why);
			if (got)
				return 1;
			r->in_chunk = false;
		}
		got = chunk_read(r, why);
		if (got <= 0)
			return frames_name(r, why) ? -1 : got;
	}
}

int recording_need_stacks(const struct recording *r, struct reason *why)
{
	if (r->header.has_stacks)
		return 0;
	reason_set(why, EXIT_FAILED, "'%.200s' has no user stacks", r->reader.name);
	return reason_hint(why, "'iostrata record --stacks' records them");
}

uint64_t recording_covers(const struct recording *r)
{
	uint64_t duration = r->ending.duration_ns, begin = r->header.monotonic_ns;
	uint64_t last = r->last_ns > begin ? r->last_ns - begin : 0;

	if (!r->reader.ended)
		return last ? last : duration;
	return r->ending.is_early && last && last < duration ? last : duration;
}

bool recording_is_part(const struct recording *r)
{
	return r->from_ns || r->to_ns != UINT64_MAX;
}

uint64_t recording_lost(const struct recording *r, unsigned int but)
{
	uint64_t lost[LOST_N] = {};

	if (!recording_is_part(r))
		return lost_sum_but(r->ending.lost, r->ending.missed, but);
	losses_between(&r->losses, r->from_ns, r->to_ns, lost);
	losses_untimed(&r->losses, r->ending.lost, lost);
	return lost_sum_but(lost, r->ending.missed, but);
}
