// SPDX-License-Identifier: GPL-2.0-only
/* otf2.c - maps the records of a recording to events of OTF2. */
#include "export/otf2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/names.h"
#include "base/reason.h"
#include "capture/segments.h"
#include "export/order.h"
#include "export/otf2_handles.h"

static bool is_io(uint64_t kind)
{
	return kind == OP_READ || kind == OP_WRITE || kind == OP_FSYNC || kind == OP_COPY ||
	       kind == OP_FAULT;
}

static bool is_async(const struct stored_op *op)
{
	return async_is_request(op->kind, op->call);
}

static uint32_t region_of(struct exporting *x, const struct stored_op *op)
{
	unsigned int table = op->call & CALL_COMPAT   ? 1
			     : op->call & CALL_URING  ? 2
			     : op->call & CALL_AIO    ? 3
			     : op->call & CALL_FAULT  ? 4
			     : op->call & CALL_SMB    ? 6
			     : op->call & CALL_SERVED ? 5
						      : 0;
	uint32_t *r = &x->regions[table][op->call % CALL_MAX];
	const char *name = x->call_name(op->call);
	char text[32];

	if (*r)
		return *r - 1;
	snprintf(text, sizeof(text), "call %u", (unsigned int)op->call);
	*r = 1 + otf2_region(&x->a, name ? name : text,
			     is_io(async_acts(op->kind, op->call))
				     ? OTF2_REGION_ROLE_FILE_IO
				     : OTF2_REGION_ROLE_FILE_IO_METADATA);
	return *r - 1;
}

static OTF2_IoOperationMode io_mode(const struct stored_op *op)
{
	switch (async_acts(op->kind, op->call)) {
	case OP_FSYNC:
		return OTF2_IO_OPERATION_MODE_FLUSH;
	case OP_WRITE:
		return OTF2_IO_OPERATION_MODE_WRITE;
	case OP_COPY: /* only one of two files is known: its open mode tells which one */
		return (op->open_flags & 3) == 1 ? OTF2_IO_OPERATION_MODE_WRITE
						 : OTF2_IO_OPERATION_MODE_READ;
	default:
		return OTF2_IO_OPERATION_MODE_READ;
	}
}

static void begin_put(struct exporting *x, size_t l, const struct stored_op *op, uint32_t handle,
		      uint64_t id)
{
	OTF2_EvtWriter *w = x->a.locations[l].w;
	uint64_t ns = otf2_time(&x->a, l, op->start_ns);
	bool flush = io_mode(op) == OTF2_IO_OPERATION_MODE_FLUSH, overlaps = order_has_steps(op);

	if (op->offset != ~0ULL)
		otf2_attr_u64(x, ATTR_OFFSET, op->offset);
	if (overlaps)
		otf2_note(&x->a, OTF2_AttributeList_AddRegionRef(x->list, x->attrs[ATTR_CALL],
								 region_of(x, op)));
	otf2_note(&x->a,
		  OTF2_EvtWriter_IoOperationBegin(w, x->list, ns, handle, io_mode(op),
						  overlaps ? OTF2_IO_OPERATION_FLAG_NON_BLOCKING
							   : OTF2_IO_OPERATION_FLAG_NONE,
						  flush ? OTF2_UNDEFINED_UINT64 : op->len, id));
	if (overlaps)
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationIssued(w, NULL, ns, handle, id));
}

static void end_put(struct exporting *x, size_t l, const struct stored_op *op, uint32_t handle,
		    uint64_t id)
{
	bool bytes = io_mode(op) != OTF2_IO_OPERATION_MODE_FLUSH && (int64_t)op->ret >= 0;
	uint64_t ns = otf2_time(&x->a, l, op->start_ns + stored_op_total(op));
	OTF2_EvtWriter *w = x->a.locations[l].w;

	otf2_attr_errno(x, op->ret);
	if (op->cache)
		otf2_attr_u64(x, ATTR_CACHE, op->cache);
	if (op->requests)
		otf2_attr_u64(x, ATTR_REQUESTS, op->requests);
	otf2_attr_strata(x, op->strata);
	if (order_has_steps(op) && (int64_t)op->ret == -ECANCELED)
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationCancelled(w, x->list, ns, handle, id));
	else
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationComplete(
					 w, x->list, ns, handle,
					 bytes ? op->ret : OTF2_UNDEFINED_UINT64, id));
}

/* The handle used by a call. */
static uint32_t op_handle(struct exporting *x, const struct stored_op *op, unsigned int pid)
{
	if (!is_io(op->kind))
		return NO_HANDLE;
	if (op->kind == OP_FAULT) /* the mapping outlives the descriptor */
		return op->file ? otf2_handle_of_file(x, op, pid) : NO_HANDLE;
	return op->kind == OP_FSYNC && (int64_t)op->fd < 0 ? otf2_handle_of_everything(x)
							   : otf2_handle_of(x, op, pid);
}

static int no_room_for(const struct exporting *x, const struct catalog_thread *t,
		       struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "no room for thread %u: %s", t->tid,
			  OTF2_Error_GetDescription(x->a.err));
}

static uint32_t stratum_region(struct exporting *x, unsigned int st)
{
	char name[48];

	if (!x->st_regions[st]) {
		snprintf(name, sizeof(name), "stratum %s", stratum_name(st));
		x->st_regions[st] = 1 + otf2_region(&x->a, name, OTF2_REGION_ROLE_ARTIFICIAL);
	}
	return x->st_regions[st] - 1;
}

static uint32_t wait_region(struct exporting *x, uint64_t kind)
{
	unsigned int op = kind < OP_N ? kind : OP_NONE;
	char name[48];

	if (!x->wait_regions[op]) {
		snprintf(name, sizeof(name), "server %s", op_name(op));
		x->wait_regions[op] = 1 + otf2_region(&x->a, name, OTF2_REGION_ROLE_FILE_IO);
	}
	return x->wait_regions[op] - 1;
}

/* @op waited for a server for @ns from @from_ns: writes this as a region of the server. */
static void server_put(struct exporting *x, const struct stored_op *op, uint64_t from_ns,
		       uint64_t ns)
{
	size_t l = otf2_server_location(x, op, from_ns);
	uint32_t region = wait_region(x, op->kind);

	if (l == SIZE_MAX)
		return; /* the archive has the error */
	otf2_note(&x->a, OTF2_EvtWriter_Enter(x->a.locations[l].w, NULL,
					      otf2_time(&x->a, l, from_ns), region));
	otf2_note(&x->a, OTF2_EvtWriter_Leave(x->a.locations[l].w, NULL,
					      otf2_time(&x->a, l, from_ns + ns), region));
}

/* Writes the segments of a call, if they are recorded, as regions; times with a server also at this
 * server. @ret_merged: the number of segments without a region. */
static void segments_put(struct exporting *x, size_t l, const struct stored_event *ev,
			 unsigned int *ret_merged)
{
	uint64_t ns = ev->op.start_ns;
	OTF2_EvtWriter *w;
	struct segments s;
	uint32_t region;

	*ret_merged = 0;
	if (x->lean || !ev->op.segments ||
	    !segments_unpack(&s, ev->op.strata, ev->segments, ev->op.segments))
		return;
	for (unsigned int i = 0; i < s.n; i++) {
		region = stratum_region(x, SEGMENT_STRATUM(s.at[i]));
		if (SEGMENT_STRATUM(s.at[i]) == ST_SERVER) /* may add a location */
			server_put(x, &ev->op, ns, SEGMENT_NS(s.at[i]));
		w = x->a.locations[l].w;
		otf2_note(&x->a, OTF2_EvtWriter_Enter(w, NULL, otf2_time(&x->a, l, ns), region));
		ns += SEGMENT_NS(s.at[i]);
		otf2_note(&x->a, OTF2_EvtWriter_Leave(w, NULL, otf2_time(&x->a, l, ns), region));
	}
	*ret_merged = s.merged;
}

/* Writes the events of a call with an operation on @handle. */
static void io_put(struct exporting *x, size_t l, const struct stored_event *ev, uint32_t handle)
{
	uint64_t id = 2 * x->a.operations++; /* operations with steps have odd ids */
	unsigned int merged;

	begin_put(x, l, &ev->op, handle, id);
	segments_put(x, l, ev, &merged);
	if (merged)
		otf2_attr_u64(x, ATTR_MERGED, merged);
	end_put(x, l, &ev->op, handle, id);
}

/* Writes the events of a call without an operation, up to the attributes of its end. A close
 * changes its descriptor at its beginning, other calls at their end. */
static void call_put(struct exporting *x, size_t l, const struct stored_event *ev, unsigned int pid)
{
	uint64_t end = stored_event_end(ev);
	const struct stored_op *op = &ev->op;
	unsigned int merged;

	if (otf2_handle_closes_first(x, op))
		otf2_handle_put(x, l, op, pid, end);
	segments_put(x, l, ev, &merged);
	if (!otf2_handle_closes_first(x, op))
		otf2_handle_put(x, l, op, pid, end);
	otf2_attr_errno(x, op->ret);
	otf2_attr_strata(x, op->strata);
	if (merged)
		otf2_attr_u64(x, ATTR_MERGED, merged);
}

static int op_put(void *arg, const struct recording *rec, const struct stored_event *ev,
		  struct reason *why)
{
	struct exporting *x = arg;
	const struct stored_op *op = &ev->op;
	const struct catalog_thread *t = catalog_thread(&rec->catalog, op->owner);
	uint32_t region, handle;
	size_t l;

	x->rec = rec;
	l = is_async(op) ? otf2_strand_location(x, t, op->start_ns) : otf2_thread_location(x, t);
	if (l == SIZE_MAX)
		return no_room_for(x, t, why);
	region = region_of(x, op);
	otf2_note(&x->a, OTF2_EvtWriter_Enter(x->a.locations[l].w, NULL,
					      otf2_time(&x->a, l, op->start_ns), region));
	handle = op_handle(x, op, t->pid);
	if (handle != NO_HANDLE)
		io_put(x, l, ev, handle);
	else
		call_put(x, l, ev, t->pid);
	otf2_note(&x->a,
		  OTF2_EvtWriter_Leave(x->a.locations[l].w, handle == NO_HANDLE ? x->list : NULL,
				       otf2_time(&x->a, l, stored_event_end(ev)), region));
	x->counts->ops += op->kind != OP_HANDLE;
	return 0;
}

/* The matching id of a step's request, unique in all recordings. */
static uint64_t step_id(struct exporting *x, const struct step_event *ev)
{
	uint64_t number = x->numbers + ev->number;

	if (number >= x->next_number)
		x->next_number = number + 1;
	return 2 * number + 1;
}

static int async_put(struct exporting *x, const struct step_event *ev, struct reason *why)
{
	const struct catalog_thread *t = catalog_thread(&x->rec->catalog, ev->op.owner);
	uint64_t id = step_id(x, ev);
	size_t l = otf2_async_location(x, t);
	uint32_t handle = l == SIZE_MAX ? NO_HANDLE : otf2_handle_of_file(x, &ev->op, t->pid);

	if (handle == NO_HANDLE)
		return no_room_for(x, t, why);
	if (ev->step == STEP_BEGIN) {
		begin_put(x, l, &ev->op, handle, id);
		return 0;
	}
	end_put(x, l, &ev->op, handle, id);
	x->counts->ops++;
	return 0;
}

static OTF2_IoOperationMode request_mode(const struct stored_request *rq)
{
	switch (rq->op) {
	case RQ_READ:
		return OTF2_IO_OPERATION_MODE_READ;
	case RQ_FLUSH:
		return OTF2_IO_OPERATION_MODE_FLUSH;
	default: /* also discards and write zeroes, told apart by flags */
		return OTF2_IO_OPERATION_MODE_WRITE;
	}
}

/* OTF2 counts only bytes read or written. */
static uint64_t request_bytes(const struct stored_request *rq)
{
	bool data = rq->op == RQ_READ || rq->op == RQ_WRITE;

	return data && !(rq->flags & STORED_RQ_FAILED) ? rq->bytes : OTF2_UNDEFINED_UINT64;
}

static void begin_attrs(struct exporting *x, const struct stored_request *rq)
{
	const struct catalog_thread *t = catalog_thread(&x->rec->catalog, rq->owner);
	size_t issuer = rq->owner && t->pid ? otf2_thread_location(x, t) : SIZE_MAX;

	if (rq->sector != ~0ULL)
		otf2_attr_u64(x, ATTR_OFFSET, rq->sector * 512);
	if (rq->cmd_flags)
		otf2_attr_u64(x, ATTR_BLOCK_FLAGS, rq->cmd_flags);
	if (rq->owner && !(x->lean && issuer != SIZE_MAX)) /* the issuer has its id in its name */
		otf2_attr_u64(x, ATTR_THREAD, t->tid);
	if (issuer != SIZE_MAX)
		otf2_note(&x->a, OTF2_AttributeList_AddLocationRef(x->list, x->attrs[ATTR_ISSUER],
								   issuer));
}

static void end_attrs(struct exporting *x, const struct stored_request *rq)
{
	const uint64_t strata[ST_N] = {
		[ST_TAG] = rq->tag_ns, [ST_QUEUE] = rq->queue_ns, [ST_DEVICE] = rq->device_ns
	};

	if (rq->flags & STORED_RQ_FAILED)
		otf2_attr_errno(x, rq->error ? -(int64_t)rq->error : -EIO);
	if (rq->merges)
		otf2_attr_u64(x, ATTR_MERGES, rq->merges);
	if (rq->requeues)
		otf2_attr_u64(x, ATTR_REQUEUES, rq->requeues);
	otf2_attr_strata(x, strata);
}

static uint32_t request_region(struct exporting *x, const struct stored_request *rq)
{
	unsigned int op = rq->op < RQ_N ? rq->op : RQ_OTHER;
	char name[48];

	if (!x->rq_regions[op]) {
		snprintf(name, sizeof(name), "request %s", rq_op_name(op));
		x->rq_regions[op] = 1 + otf2_region(&x->a, name, OTF2_REGION_ROLE_FILE_IO);
	}
	return x->rq_regions[op] - 1;
}

/* Writes a completed request as a region in addition to its operation: some readers know only
 * regions. Returns false if there is no room for a location. */
static bool request_region_put(struct exporting *x, const struct known *disk,
			       const struct stored_request *rq)
{
	size_t l = otf2_disk_strand_location(x, disk, rq->q_ns);
	uint32_t region = request_region(x, rq);

	if (l == SIZE_MAX)
		return false;
	otf2_note(&x->a, OTF2_EvtWriter_Enter(x->a.locations[l].w, NULL,
					      otf2_time(&x->a, l, rq->q_ns), region));
	otf2_note(&x->a, OTF2_EvtWriter_Leave(x->a.locations[l].w, NULL,
					      otf2_time(&x->a, l, stored_request_end(rq)), region));
	return true;
}

static int no_room_for_disk(const struct exporting *x, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "no room for a disk: %s",
			  OTF2_Error_GetDescription(x->a.err));
}

static int request_put(struct exporting *x, const struct step_event *ev, struct reason *why)
{
	uint64_t id = step_id(x, ev), bytes = request_bytes(&ev->rq), ns;
	struct known *disk = otf2_disk_known(x, ev->rq.dev);
	OTF2_EvtWriter *w;

	if (!disk)
		return no_room_for_disk(x, why);
	if (ev->step == STEP_BEGIN)
		begin_attrs(x, &ev->rq); /* may add a location */
	w = x->a.locations[disk->ref].w;
	ns = otf2_time(&x->a, disk->ref, ev->at_ns);
	if (ev->step == STEP_BEGIN) {
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationBegin(
					 w, x->list, ns, disk->handle, request_mode(&ev->rq),
					 OTF2_IO_OPERATION_FLAG_NON_BLOCKING, bytes, id));
		return 0;
	}
	if (ev->step == STEP_ISSUED) {
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationIssued(w, NULL, ns, disk->handle, id));
		return 0;
	}
	end_attrs(x, &ev->rq);
	otf2_note(&x->a,
		  OTF2_EvtWriter_IoOperationComplete(w, x->list, ns, disk->handle, bytes, id));
	x->counts->requests++;
	if (x->lean)
		return 0;
	return request_region_put(x, disk, &ev->rq) ? 0 : no_room_for_disk(x, why);
}

/* Whether a request to a server moves or syncs data, unlike GETATTR; @ret says how. */
static bool server_mode(const char *op, OTF2_IoOperationMode *ret)
{
	static const struct {
		const char *op;
		OTF2_IoOperationMode mode;
	} modes[] = {
		{ "READ_PLUS", OTF2_IO_OPERATION_MODE_READ },
		{ "READ", OTF2_IO_OPERATION_MODE_READ },
		{ "WRITE", OTF2_IO_OPERATION_MODE_WRITE },
		{ "COMMIT", OTF2_IO_OPERATION_MODE_FLUSH },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(op, modes[i].op) != 0)
			continue;
		*ret = modes[i].mode;
		return true;
	}
	return false;
}

static void server_strata(struct exporting *x, const struct stored_server_request *rq)
{
	const uint64_t strata[ST_N] = {
		[ST_TAG] = rq->tag_ns, [ST_QUEUE] = rq->queue_ns, [ST_SERVER] = rq->server_ns
	};

	otf2_attr_strata(x, strata);
}

/* Writes a step of a request that moves or syncs data as one of an operation. */
static void server_operation_put(struct exporting *x, const struct known *server,
				 const struct step_event *ev, OTF2_IoOperationMode mode)
{
	uint64_t id = step_id(x, ev), ns = otf2_time(&x->a, server->ref, ev->at_ns);
	OTF2_EvtWriter *w = x->a.locations[server->ref].w;

	if (ev->step == STEP_BEGIN) {
		otf2_note(&x->a,
			  OTF2_EvtWriter_IoOperationBegin(w, NULL, ns, server->handle, mode,
							  OTF2_IO_OPERATION_FLAG_NON_BLOCKING,
							  OTF2_UNDEFINED_UINT64, id));
	} else if (ev->step == STEP_ISSUED) {
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationIssued(w, NULL, ns, server->handle, id));
	} else {
		server_strata(x, &ev->server_rq);
		otf2_note(&x->a, OTF2_EvtWriter_IoOperationComplete(w, x->list, ns, server->handle,
								    OTF2_UNDEFINED_UINT64, id));
	}
}

/* Writes a request as a region of its server, with its strata if it has no operation. Returns false
 * if there is no room. */
static bool server_region_put(struct exporting *x, const struct known *server,
			      const struct stored_server_request *rq, bool has_operation)
{
	size_t l = otf2_asked_strand_location(x, server, rq->q_ns);
	uint32_t region = otf2_asked_region(x, rq);

	if (l == SIZE_MAX || region == OTF2_UNDEFINED_REGION)
		return false;
	otf2_note(&x->a, OTF2_EvtWriter_Enter(x->a.locations[l].w, NULL,
					      otf2_time(&x->a, l, rq->q_ns), region));
	if (!has_operation)
		server_strata(x, rq);
	otf2_note(&x->a,
		  OTF2_EvtWriter_Leave(x->a.locations[l].w, x->list,
				       otf2_time(&x->a, l, stored_server_request_end(rq)), region));
	return true;
}

/* Bytes of requests are not recorded. A request without data is a region only, in a lean archive,
 * too. */
static int server_request_put(struct exporting *x, const struct step_event *ev, struct reason *why)
{
	const char *op = catalog_server_text(&x->rec->catalog, ev->server_rq.op);
	struct known *server = otf2_asked_known(x, &ev->server_rq);
	OTF2_IoOperationMode mode;
	bool has_data = server_mode(op, &mode), ok = server;

	if (ok && has_data)
		server_operation_put(x, server, ev, mode);
	if (ok && ev->step == STEP_END) {
		x->counts->server_requests++;
		if (!has_data || !x->lean)
			ok = server_region_put(x, server, &ev->server_rq, has_data);
	}
	if (ok)
		return 0;
	return reason_set(why, EXIT_FAILED, "no room for a server: %s",
			  OTF2_Error_GetDescription(x->a.err));
}

static int step_put(void *arg, const struct recording *rec, const struct step_event *ev,
		    struct reason *why)
{
	struct exporting *x = arg;

	x->rec = rec;
	if (ev->kind == CHUNK_SERVER_REQUESTS)
		return server_request_put(x, ev, why);
	return ev->kind == CHUNK_OPS ? async_put(x, ev, why) : request_put(x, ev, why);
}

/* The threads of lost records are not known: a separate location shows the times. */
static int loss_put(void *arg, const struct stored_loss *loss, struct reason *why)
{
	struct exporting *x = arg;
	struct otf2_location *l;

	(void)why;
	x->counts->lost += loss->count;
	if (!x->losses)
		x->losses =
			otf2_location(&x->a, "lost", otf2_group(&x->a, "iostrata", x->machine)) + 1;
	if (!x->losses)
		return reason_set(why, EXIT_FAILED, "no room for a location");
	l = &x->a.locations[x->losses - 1];
	if (loss->to_ns <= l->last_ns)
		return 0; /* already told for this moment, by a loss of the other kind */
	otf2_note(&x->a, OTF2_EvtWriter_MeasurementOnOff(
				 l->w, NULL, otf2_time(&x->a, x->losses - 1, loss->from_ns),
				 OTF2_MEASUREMENT_OFF));
	otf2_note(&x->a, OTF2_EvtWriter_MeasurementOnOff(
				 l->w, NULL, otf2_time(&x->a, x->losses - 1, loss->to_ns),
				 OTF2_MEASUREMENT_ON));
	return 0;
}

static void losses_write(struct exporting *x)
{
	char name[64], value[24];

	for (int i = 0; i < LOST_N; i++) {
		if (!x->lost[i])
			continue;
		snprintf(name, sizeof(name), "IOSTRATA::LOST_%s", lost_name(i));
		for (char *c = name; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c;
		snprintf(value, sizeof(value), "%llu", x->lost[i] + 0ULL);
		otf2_note(&x->a, OTF2_Archive_SetProperty(x->a.a, name, value, true));
	}
}

/* The order and the clocks of a recording. */
struct source {
	struct order order;
	uint64_t apart_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC, modulo 2^64 */
};

static int source_learn(struct source *s, const struct otf2_input *in, struct reason *why)
{
	struct recording rec;
	int got = order_learn(&s->order, in->f, in->name, why);

	if (got)
		return got;
	rewind(in->f);
	got = recording_open(&rec, in->f, in->name, why);
	s->apart_ns = rec.header.realtime_ns - rec.header.monotonic_ns;
	recording_close(&rec);
	rewind(in->f);
	return got;
}

/* The clock's properties need the span of all recordings, and its start on the realtime clock. */
static void clock_write(struct exporting *x, const struct source *sources, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0, apart = n > 1 ? 0 : sources->apart_ns;

	for (size_t i = 0; i < n; i++) {
		uint64_t shift = n > 1 ? sources[i].apart_ns : 0;
		const struct order_span *s = &sources[i].order.span;

		first = s->first_ns + shift < first ? s->first_ns + shift : first;
		last = s->last_ns + shift > last ? s->last_ns + shift : last;
	}
	otf2_note(&x->a, OTF2_GlobalDefWriter_WriteClockProperties(
				 x->a.defs, 1000000000, first, last - first + 1, first + apart));
}

static int recording_put(struct exporting *x, const struct otf2_input *in, const struct source *s,
			 bool several, struct reason *why)
{
	const struct order_target to = { op_put, step_put, loss_put, x, true };
	struct recording rec;
	int got = recording_open(&rec, in->f, in->name, why);

	if (!got) {
		x->call_name = in->call_name;
		x->a.shift_ns = several ? s->apart_ns : 0;
		otf2_names_machine(x, rec.header.host ? rec.header.host : "machine");
		if (several)
			otf2_node_property(&x->a, x->machine, "IOSTRATA::CLOCK_OFFSET_NS",
					   (int64_t)s->apart_ns);
		got = order_deliver(&s->order, &rec, &to, why);
		for (int i = 0; i < LOST_N; i++)
			x->lost[i] += rec.ending.lost[i];
		x->numbers = x->next_number;
	}
	recording_close(&rec);
	return got;
}

/* Writes all recordings. Returns as otf2_export() does. */
static int archive_put(struct exporting *x, const struct otf2_input *inputs,
		       const struct source *sources, size_t n, struct reason *why)
{
	struct reason one;
	int got, all = 0;

	clock_write(x, sources, n);
	otf2_names_begin(x);
	for (size_t i = 0; i < n && all >= 0; i++) {
		got = recording_put(x, &inputs[i], &sources[i], n > 1, &one);
		if (got && (!all || got < 0)) {
			*why = one;
			all = got;
		}
	}
	losses_write(x);
	return all;
}

/* Opens, fills and closes the archive. Returns as otf2_export() does. */
static int archive_fill(struct exporting *x, const struct otf2_input *inputs,
			const struct source *sources, size_t n, const char *dir, struct reason *why)
{
	int got = 0;

	otf2_open(&x->a, dir);
	if (!x->a.err)
		got = archive_put(x, inputs, sources, n, why);
	x->counts->locations = x->a.n_locations;
	x->counts->handles = x->a.handles;
	/* the error of the archive is the cause of later ones */
	if (x->a.err)
		got = 0;
	if (otf2_close(&x->a) && got >= 0)
		got = reason_set(why, EXIT_FAILED, "cannot write '%.200s': %s", dir,
				 otf2_strerror(&x->a));
	if (x->a.err)
		otf2_remove(&x->a, dir);
	return got;
}

int otf2_export(const struct otf2_input *inputs, size_t n, const struct otf2_conf *conf,
		struct otf2_counts *ret_counts, struct reason *why)
{
	struct exporting *x = calloc(1, sizeof(*x));
	struct source *sources = calloc(n, sizeof(*sources));
	int got = x && sources ? 0 : reason_no_memory(why);

	for (size_t i = 0; i < n && !got; i++)
		got = source_learn(&sources[i], &inputs[i], why);
	if (!got) {
		x->counts = ret_counts;
		x->lean = conf->lean;
		got = archive_fill(x, inputs, sources, n, conf->dir, why);
		otf2_names_done(x);
	}
	for (size_t i = 0; i < n && sources; i++)
		order_done(&sources[i].order);
	free(sources);
	free(x);
	return got;
}
