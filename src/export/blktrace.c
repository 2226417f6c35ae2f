// SPDX-License-Identifier: GPL-2.0-only
/*
 * blktrace.c - requests as events of the kernel's <linux/blktrace_api.h>; see blktrace.h.
 *
 * The events are submission (Q), allocation (G), dispatch (D) and completion (C). Insertion (I) and
 * merges (M) are not recorded: G2I and I2D are one time, and all bios of a request have one Q.
 */
#include "export/blktrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/blktrace_api.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/reason.h"
#include "cell.h"
#include "export/order.h"
#include "host/newfile.h"

enum { DISKS = 256, THREADS = 4096 };

struct disk {
	uint64_t dev;
	struct newfile out;
	uint32_t sequence;
	uint32_t said[THREADS]; /* threads whose names were written, by their number */
};

/* The allocation of a submitted request, written in its order of time. */
struct allocation {
	uint64_t at_ns;
	struct stored_request rq;
};

struct exporting {
	const char *dir;
	const struct recording *rec;
	struct blktrace_counts *counts;
	uint64_t first_ns;
	struct disk *disks[DISKS];
	size_t n_disks;
	struct allocation *waiting; /* the latest first */
	size_t n_waiting, waiting_cap;
	struct reason *why;
};

static int failed(struct exporting *x, int err)
{
	return reason_set(x->why, EXIT_FAILED, "cannot write into '%.200s': %s", x->dir,
			  strerror(err));
}

static int put(struct exporting *x, struct disk *d, const struct blk_io_trace *t, const void *data)
{
	if (fwrite(t, sizeof(*t), 1, d->out.f) != 1 ||
	    (t->pdu_len && fwrite(data, t->pdu_len, 1, d->out.f) != 1))
		return failed(x, errno ? errno : EIO);
	return 0;
}

/* Makes an event without its action. */
static struct blk_io_trace event_begin(struct exporting *x, struct disk *d, uint64_t ns)
{
	return (struct blk_io_trace){
		.magic = BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION,
		.sequence = d->sequence++,
		.time = ns - x->first_ns,
		.device = (uint32_t)d->dev,
	};
}

/* Writes the time of day, the first event of blktrace. */
static int clock_put(struct exporting *x, struct disk *d)
{
	struct blk_io_trace t = event_begin(x, d, x->first_ns);
	const struct header *h = &x->rec->header;
	uint64_t day_ns = h->realtime_ns + (x->first_ns - h->monotonic_ns);
	uint32_t when[] = { (uint32_t)(day_ns / NS_PER_S), (uint32_t)(day_ns % NS_PER_S) };

	t.action = BLK_TN_TIMESTAMP;
	t.pdu_len = sizeof(when);
	return put(x, d, &t, when);
}

/* Writes the name of a thread, once. */
static int thread_put(struct exporting *x, struct disk *d, const struct catalog_thread *who,
		      uint64_t ns)
{
	struct blk_io_trace t;
	char comm[COMM_LEN] = "";

	if (!who->tid || d->said[who->tid % THREADS] == who->tid)
		return 0;
	d->said[who->tid % THREADS] = who->tid;
	t = event_begin(x, d, ns);
	t.action = BLK_TN_PROCESS;
	t.pid = who->tid;
	t.pdu_len = COMM_LEN;
	memcpy(comm, who->comm, COMM_LEN - 1);
	return put(x, d, &t, comm);
}

/* The name of the file of a disk, without slashes. */
static int disk_open(struct exporting *x, struct disk *d)
{
	const char *name = catalog_device(&x->rec->catalog, d->dev);
	char safe[64] = "", file[sizeof(safe) + 16];
	size_t n = 0;

	for (; name && name[n] && n < sizeof(safe) - 1; n++)
		safe[n] = strchr("/.% \\", name[n]) || name[n] < 0x20 ? '_' : name[n];
	if (!n)
		snprintf(safe, sizeof(safe), "%u-%u", DEV_MAJOR(d->dev), DEV_MINOR(d->dev));
	snprintf(file, sizeof(file), "%s.blktrace.0", safe);
	return newfile_begin(&d->out, x->dir, file, x->why) ? -1 : clock_put(x, d);
}

/* NULL with x->why. */
static struct disk *disk_find(struct exporting *x, uint64_t dev)
{
	struct disk *d;

	for (size_t i = 0; i < x->n_disks; i++)
		if (x->disks[i]->dev == dev)
			return x->disks[i];
	d = x->n_disks < DISKS ? calloc(1, sizeof(*d)) : NULL;
	if (!d) {
		reason_set(x->why, EXIT_FAILED, "more than %d disks, or out of memory", DISKS);
		return NULL;
	}
	d->dev = dev;
	x->disks[x->n_disks++] = d;
	x->counts->disks++;
	return disk_open(x, d) ? NULL : d;
}

static uint32_t direction(const struct stored_request *rq)
{
	switch (rq->op) {
	case RQ_READ:
		return BLK_TC_ACT(BLK_TC_READ);
	case RQ_FLUSH:
		return BLK_TC_ACT(BLK_TC_FLUSH);
	case RQ_DISCARD:
	case RQ_SECURE_ERASE:
		return BLK_TC_ACT(BLK_TC_WRITE | BLK_TC_DISCARD);
	default:
		return BLK_TC_ACT(BLK_TC_WRITE);
	}
}

/* Flags of requests, the same from Linux 5.10 to 7.2: enum req_flag_bits, <linux/blk_types.h>. */
enum {
	FLAG_SYNC = 1 << 11,
	FLAG_META = 1 << 12,
	FLAG_FUA = 1 << 17,
	FLAG_PREFLUSH = 1 << 18,
	FLAG_RAHEAD = 1 << 19,
};

/* The letters that blkparse puts before and after that of the direction: F, F, S, M, A. */
static uint32_t categories(uint64_t flags)
{
	return (flags & FLAG_PREFLUSH ? BLK_TC_ACT(BLK_TC_FLUSH) : 0) |
	       (flags & FLAG_FUA ? BLK_TC_ACT((uint32_t)BLK_TC_FUA) : 0) |
	       (flags & FLAG_SYNC ? BLK_TC_ACT(BLK_TC_SYNC) : 0) |
	       (flags & FLAG_META ? BLK_TC_ACT(BLK_TC_META) : 0) |
	       (flags & FLAG_RAHEAD ? BLK_TC_ACT(BLK_TC_AHEAD) : 0);
}

static int event_put(struct exporting *x, const struct stored_request *rq, uint32_t action,
		     uint64_t ns)
{
	const struct catalog_thread *who = catalog_thread(&x->rec->catalog, rq->owner);
	struct disk *d = disk_find(x, rq->dev);
	struct blk_io_trace t;

	if (!d || thread_put(x, d, who, ns))
		return -1;
	t = event_begin(x, d, ns);
	t.action = action | direction(rq) | categories(rq->cmd_flags) | BLK_TC_ACT(BLK_TC_FS);
	t.sector = rq->sector == ~0ULL ? 0 : rq->sector;
	t.bytes = rq->sector == ~0ULL ? 0 : (uint32_t)rq->bytes;
	t.pid = who->tid;
	if (action == BLK_TA_COMPLETE && rq->flags & STORED_RQ_FAILED)
		t.error = (uint16_t)(rq->error ? rq->error : EIO);
	x->counts->events++;
	return put(x, d, &t, NULL);
}

/* Writes the allocations up to @ns. */
static int allocations_put(struct exporting *x, uint64_t ns)
{
	int err = 0;

	while (x->n_waiting && x->waiting[x->n_waiting - 1].at_ns <= ns && !err) {
		const struct allocation *a = &x->waiting[--x->n_waiting];

		err = event_put(x, &a->rq, BLK_TA_GETRQ, a->at_ns);
	}
	return err;
}

static int allocation_wait(struct exporting *x, const struct stored_request *rq)
{
	struct allocation a = { rq->q_ns + rq->tag_ns, *rq };
	size_t i = x->n_waiting;

	if (list_reserve((void **)&x->waiting, &x->waiting_cap, i, sizeof(a)))
		return reason_no_memory(x->why);
	for (; i && x->waiting[i - 1].at_ns <= a.at_ns; i--)
		x->waiting[i] = x->waiting[i - 1];
	x->waiting[i] = a;
	x->n_waiting++;
	return 0;
}

static int step_put(void *arg, const struct recording *rec, const struct step_event *ev,
		    struct reason *why)
{
	struct exporting *x = arg;
	const struct stored_request *rq = &ev->rq;
	int err;

	if (ev->kind != CHUNK_REQUESTS)
		return 0;
	x->rec = rec;
	x->why = why;
	err = allocations_put(x, ev->at_ns);
	if (err || (ev->step == STEP_BEGIN && rq->flags & STORED_RQ_UNQUEUED))
		return err;
	if (ev->step == STEP_ISSUED)
		return event_put(x, rq, BLK_TA_ISSUE, ev->at_ns);
	if (ev->step == STEP_END) {
		x->counts->requests++;
		return event_put(x, rq, BLK_TA_COMPLETE, ev->at_ns);
	}
	err = event_put(x, rq, BLK_TA_QUEUE, ev->at_ns);
	if (err || rq->flags & STORED_RQ_BIO_BASED)
		return err;
	return allocation_wait(x, rq);
}

static int op_skip(void *arg, const struct recording *rec, const struct stored_event *ev,
		   struct reason *why)
{
	(void)arg;
	(void)rec;
	(void)ev;
	(void)why;
	return 0;
}

static int loss_skip(void *arg, const struct stored_loss *loss, struct reason *why)
{
	(void)arg;
	(void)loss;
	(void)why;
	return 0;
}

/* Completes the files, or removes them. Returns 0, or -1 with @why. */
static int disks_close(struct exporting *x, bool complete, struct reason *why)
{
	int err = 0, one;

	x->why = why;
	for (size_t i = 0; i < x->n_disks; i++) {
		one = newfile_end(&x->disks[i]->out, complete && !err);
		err = one ? failed(x, -one) : err;
		free(x->disks[i]);
	}
	free(x->waiting);
	return err;
}

int blktrace_export(FILE *f, const char *name, const char *dir, struct blktrace_counts *ret_counts,
		    struct reason *why)
{
	struct exporting x = { .dir = dir, .counts = ret_counts };
	const struct order_target to = { op_skip, step_put, loss_skip, &x, false };
	struct recording rec;
	struct order order;
	struct reason closing;
	int got = order_learn(&order, f, name, why);

	*ret_counts = (struct blktrace_counts){};
	if (!got) {
		rewind(f);
		x.first_ns = order.span.first_ns;
		got = recording_open(&rec, f, name, why);
		if (!got)
			got = order_deliver(&order, &rec, &to, why);
		recording_close(&rec);
	}
	order_done(&order);
	if (!disks_close(&x, got >= 0, &closing) || got < 0)
		return got;
	*why = closing;
	return -1;
}
