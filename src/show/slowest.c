// SPDX-License-Identifier: GPL-2.0-only
/*
 * slowest.c - prints records of single operations. No text in a record is trusted.
 */
#include "show/slowest.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "cell.h"
#include "show/devices.h"
#include "show/parts.h"

/* Writes a line of safe text; on a terminal, cut to its width. */
static void put_line(struct text_out *o, const struct breakdown_view *v, const char *line)
{
	char fit[TEXT_SAFE_CAP(PATH_MAX)];

	text_fit(fit, sizeof(fit), line, v->terminal ? view_width(v) - 3 : (int)sizeof(fit),
		 TEXT_CUT_MIDDLE);
	text_put(o, "   %s\n", fit);
}

static void put_path(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char *path = breakdown_record_path(r), safe[TEXT_SAFE_CAP(PATH_MAX)];

	if (!path)
		return;
	text_safe_n(safe, sizeof(safe), path, strlen(path));
	put_line(o, v, safe);
	free(path);
}

static void put_who(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char comm[TEXT_SAFE_CAP(COMM_LEN)], line[128];

	text_safe_n(comm, sizeof(comm), r->who.comm, strnlen(r->who.comm, sizeof(r->who.comm)));
	snprintf(line, sizeof(line), "pid %u  tid %u  %s", r->who.pid, r->who.tid, comm);
	put_line(o, v, line);
}

/* "4,096", or the name of the error. */
static struct text_num result_text(long long ret)
{
	const char *name = ret < 0 && ret >= -MAX_ERRNO ? strerrorname_np(-ret) : NULL;
	struct text_num t;

	if (ret >= 0)
		return text_count(ret);
	if (name)
		snprintf(t.s, sizeof(t.s), "%.20s", name);
	else
		snprintf(t.s, sizeof(t.s), "%lld", ret);
	return t;
}

static void put_range(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char line[160];
	int n = 0;

	if (r->op.offset != ~0ULL)
		n = snprintf(line, sizeof(line), "offset %" PRIu64 "  ", r->op.offset);
	if (r->op.len != ~0ULL)
		n += snprintf(line + n, sizeof(line) - n, "length %s  ", text_count(r->op.len).s);
	n += snprintf(line + n, sizeof(line) - n, "result %s  %" PRIu64 " request%s",
		      result_text(r->op.ret).s, r->op.requests, text_plural(r->op.requests));
	if (r->op.cache != CACHE_NONE)
		n += snprintf(line + n, sizeof(line) - n, "  %s", cache_name(r->op.cache));
	if (r->op.device_bytes && breakdown_has_device_bytes(v))
		snprintf(line + n, sizeof(line) - n, "  read in %s",
			 text_count(r->op.device_bytes).s);
	put_line(o, v, line);
}

/* "disk loop0, on dm-0, on sda and sdb" */
static void put_disks(struct text_out *o, const struct breakdown_view *v, const struct devices *d,
		      const struct slow_op *r)
{
	char chain[512], line[sizeof(chain) + 8];

	if (!device_chain_text(d, r->dev, chain, sizeof(chain)))
		return;
	snprintf(line, sizeof(line), "disk %s", chain);
	put_line(o, v, line);
}

/* "1. read (pread64): 780 us on ext4" */
static void put_title(struct text_out *o, const struct breakdown_view *v, const char *fs,
		      const struct slow_op *r, size_t number)
{
	char safe[TEXT_SAFE_CAP(FS_NAME_LEN)], text[192], fit[192], buf[16];

	text_safe_n(safe, sizeof(safe), fs, strnlen(fs, FS_NAME_LEN));
	snprintf(text, sizeof(text), "%zu. %s (%s): %s%s%s", number, op_name(r->op.kind),
		 breakdown_call_name(v, r->op.call, buf), view_time(v, r->total_ns).s,
		 *safe ? " on " : "", safe);
	text_fit(fit, sizeof(fit), text, view_cut(v), TEXT_CUT_TAIL);
	text_put(o, "\n%s%s%s\n", view_paint(v, PAINT_TITLE), fit, view_paint(v, PAINT_OFF));
}

/* "waited 20.1 ms for a lock that dd had (pid 100, tid 101, in write)" */
static void put_lock(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	const struct waker *h = &r->lock_holder;
	char comm[TEXT_SAFE_CAP(COMM_LEN)], line[192];
	int n;

	if (!r->lock_ns)
		return;
	text_safe_n(comm, sizeof(comm), h->comm, strnlen(h->comm, sizeof(h->comm)));
	n = snprintf(line, sizeof(line), "waited %s for a lock", view_time(v, r->lock_ns).s);
	if (h->tid)
		n += snprintf(line + n, sizeof(line) - n, " that %s had (pid %u, tid %u%s%s)", comm,
			      h->pid, h->tid, h->op ? ", in " : "", h->op ? op_name(h->op) : "");
	put_line(o, v, line);
}

static void put_record(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct slow_op *r, size_t number)
{
	const char *fs = breakdown_fs_name(sn, r->fs);
	/* by size: the record does not have the order of its waits */
	struct waterfall w = {
		.fs = fs, .total_ns = r->total_ns, .count = 1, .indent = 2, .by_size = true
	};
	uint64_t strata[ST_N];

	for (int i = 0; i < ST_N; i++)
		strata[i] = r->op.strata[i];
	w.strata = strata;
	put_title(o, v, fs, r, number);
	put_path(o, v, r);
	put_disks(o, v, sn->devices, r);
	put_range(o, v, r);
	put_who(o, v, r);
	put_lock(o, v, r);
	waterfall_put(o, v, &w);
}

void slowest_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		 const struct slow_op *slowest, size_t n)
{
	if (!n)
		return;
	text_put(o, "\nslowest operations, strata by size\n");
	for (size_t i = 0; i < n; i++)
		put_record(o, v, sn, &slowest[i], i + 1);
}
