// SPDX-License-Identifier: GPL-2.0-only
#include "top/top_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "show/stacks_text.h"

static bool has_text(const char *text, size_t max, const char *part)
{
	char copy[TOP_LINE];

	snprintf(copy, sizeof(copy), "%.*s", (int)(max < TOP_LINE ? max : TOP_LINE - 1),
		 text ? text : "");
	return strcasestr(copy, part);
}

/* Whether @filter is in the name, ids, disk or cgroup of @r. */
static bool passes(const struct top_table *t, const struct top_row *r, const char *filter)
{
	char ids[48] = "";

	if (!filter || !*filter)
		return true;
	if (r->thread && t->view <= TOP_THREAD)
		snprintf(ids, sizeof(ids), "%llu %llu", r->thread->id >> 32,
			 r->thread->id & 0xffffffff);
	if (r->server && has_text(r->server->mount, SIZE_MAX, filter))
		return true;
	return has_text(top_row_name(t->view, r), SIZE_MAX, filter) ||
	       has_text(ids, sizeof(ids), filter) || has_text(r->disk, SIZE_MAX, filter) ||
	       (t->view <= TOP_THREAD && has_text(r->cgroup, SIZE_MAX, filter));
}

/* Breaks ties by key, so that rows do not jump. */
static int key_compare(const struct top_key *a, const struct top_key *b)
{
	int order = compare_u64(a->who[0], b->who[0]);

	order = order ? order : compare_u64(a->who[1], b->who[1]);
	order = order ? order : compare_u64(a->dev, b->dev);
	return order ? order : compare_u64(a->op, b->op);
}

/* A row with its figure in the sort column. The figure is read once per row. */
struct sorted {
	struct top_row *row;
	struct value value;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct sorted *x = *(struct sorted *const *)a, *y = *(struct sorted *const *)b;
	const struct top_order *o = arg;
	int order;

	if (x->row->pinned != y->row->pinned)
		return y->row->pinned - x->row->pinned;
	order = columns_order(o->by, &x->value, &y->value);
	if (order) /* unknown figures are last in both directions */
		return o->reverse && x->value.unknown == y->value.unknown ? -order : order;
	/* without requests to disks, rows with more time in operations come first */
	order = compare_u64(y->row->ops.total_ns, x->row->ops.total_ns);
	if (order)
		return o->reverse ? -order : order;
	return key_compare(&x->row->key, &y->row->key);
}

/* Whether the text of column @by says only why @r has no name. */
static bool is_nameless(const struct top_table *t, const struct top_row *r, const struct column *by)
{
	return t->view <= TOP_COMM && !r->thread && by->name && !strcmp(by->name, "comm");
}

static size_t sorted_fill(struct sorted *all, const struct top_figures *f,
			  const struct top_order *order)
{
	const struct columns columns = { .ctx = f };
	size_t n = 0;

	for (size_t i = 0; i < f->table->n; i++) {
		if (!passes(f->table, &f->table->rows[i], order->filter))
			continue;
		all[n].row = &f->table->rows[i];
		columns_value(&all[n].value, &columns, order->by, all[n].row);
		if (is_nameless(f->table, all[n].row, order->by))
			all[n].value = (struct value){ .unknown = true };
		n++;
	}
	return n;
}

int top_list_init(struct top_list *l, const struct top_figures *f, const struct top_order *order)
{
	size_t cap = f->table->n + 1;
	struct sorted *all = malloc(cap * sizeof(*all));
	struct sorted **by = malloc(cap * sizeof(*by)); /* a value may point into itself */

	*l = (struct top_list){ .rows = malloc(cap * sizeof(*l->rows)) };
	if (all && by && l->rows) {
		l->n = sorted_fill(all, f, order);
		for (size_t i = 0; i < l->n; i++)
			by[i] = &all[i];
		qsort_r(by, l->n, sizeof(*by), compare, (void *)order);
		for (size_t i = 0; i < l->n; i++)
			l->rows[i] = by[i]->row;
	}
	if (!all || !by)
		top_list_done(l);
	free(all);
	free(by);
	return l->rows ? 0 : -ENOMEM;
}

void top_list_done(struct top_list *l)
{
	free(l->rows);
	*l = (struct top_list){};
}

/* Appends text to a line, cut at TOP_LINE. */
static void __attribute__((format(printf, 2, 3))) add(char dst[TOP_LINE], const char *fmt, ...)
{
	size_t len = strlen(dst);
	va_list args;

	va_start(args, fmt);
	vsnprintf(dst + len, TOP_LINE - len, fmt, args);
	va_end(args);
}

void top_cut_figures(char *text, size_t width)
{
	static const char more[] = " ...";
	size_t end = width;

	if (strlen(text) <= width || width < sizeof(more))
		return;
	end = width - strlen(more);
	while (end && text[end - 1] != ',' && text[end - 1] != ';')
		end--;
	strcpy(text + end, more);
}

static void add_servers(char dst[TOP_LINE], const struct snapshot *sn, uint64_t per_second_of)
{
	uint64_t count = 0, bytes = 0;

	for (size_t i = 0; i < sn->n_servers; i++) {
		count += sn->servers[i].sums.count;
		bytes += sn->servers[i].sums.sent_bytes + sn->servers[i].sums.received_bytes;
	}
	if (count)
		add(dst, ";  servers: %s requests, %s",
		    text_count(top_per_second(per_second_of, count)).s,
		    text_bytes(top_per_second(per_second_of, bytes)).s);
}

static void add_busiest(char dst[TOP_LINE], const struct snapshot *sn)
{
	const struct disk_busy *most = NULL;
	char disk[TEXT_SAFE_CAP(sizeof(most->disk))];

	for (size_t i = 0; i < sn->n_disks; i++)
		if (sn->disks[i].busy_ns && sn->disks[i].busy_ns != BUSY_UNKNOWN &&
		    (!most || sn->disks[i].busy_ns > most->busy_ns))
			most = &sn->disks[i];
	if (!most)
		return;
	text_safe(disk, sizeof(disk), most->disk);
	add(dst, ";  %s %.0f%% busy", disk, 100.0 * most->busy_ns / sn->disks_ns);
}

void top_busy_text(char dst[TOP_LINE], const struct snapshot *sn)
{
	char disk[TEXT_SAFE_CAP(sizeof(sn->disks->disk))];

	dst[0] = '\0';
	for (size_t i = 0; i < sn->n_disks; i++) {
		const struct disk_busy *d = &sn->disks[i];

		if (!d->busy_ns && !d->requests_ns)
			continue;
		text_safe(disk, sizeof(disk), d->disk);
		add(dst, "%s%s ", *dst ? "; " : "", disk);
		if (d->busy_ns != BUSY_UNKNOWN)
			add(dst, "%.0f%% busy, ", 100.0 * d->busy_ns / sn->disks_ns);
		add(dst, "mean depth %.2f", snapshot_disk_depth(sn, d));
	}
}

void top_sum_text(char dst[TOP_LINE], const struct snapshot *sn, uint64_t per_second_of,
		  size_t width)
{
	uint64_t counts[RQ_N] = {}, bytes[RQ_N] = {}, ops = 0, data = 0;
	bool *stacked = top_stacked(sn);

	for (size_t i = 0; i < sn->n_ops; i++) {
		ops += sn->ops[i].count;
		data += sn->ops[i].bytes;
	}
	for (size_t i = 0; stacked && i < sn->n_rqs; i++) {
		unsigned int op = sn->rqs[i].key.op < RQ_N ? sn->rqs[i].key.op : RQ_OTHER;

		if (stacked[i])
			continue;
		counts[op] += sn->rqs[i].count;
		bytes[op] += sn->rqs[i].bytes;
	}
	dst[0] = '\0';
	add(dst, "files: %s ops, %s;  disks:", text_count(top_per_second(per_second_of, ops)).s,
	    text_bytes(top_per_second(per_second_of, data)).s);
	for (int op = 0; op < RQ_N; op++) {
		if (op > RQ_WRITE && !counts[op])
			continue;
		add(dst, "%s %s %s", op ? "," : "",
		    text_count(top_per_second(per_second_of, counts[op])).s, rq_op_code(op));
		if (bytes[op])
			add(dst, " %s", text_bytes(top_per_second(per_second_of, bytes[op])).s);
	}
	add_servers(dst, sn, per_second_of);
	add_busiest(dst, sn);
	top_cut_figures(dst, width);
	free(stacked);
}

static void add_lost(char dst[TOP_LINE], const struct snapshot *sn)
{
	const char *before = "lost: ";

	for (unsigned int i = 0; i <= LOST_N; i++) {
		uint64_t n = i < LOST_N ? sn->lost[i] : sn->missed;

		if (!n || !lost_what(i, n))
			continue;
		add(dst, "%s%s %s", before, text_count(n).s, lost_what(i, n));
		before = ", ";
	}
	if (before[0] == ',')
		add(dst, "; ");
	if (sn->lost[LOST_UNMATCHED_END])
		add(dst, "%s operation%s had begun before; ",
		    text_count(sn->lost[LOST_UNMATCHED_END]).s,
		    text_plural(sn->lost[LOST_UNMATCHED_END]));
}

/* Cuts off the "; " at the end. */
static void end_cut(char *dst)
{
	size_t len = strlen(dst);

	if (len > 1)
		dst[len - 2] = '\0';
}

void top_stacks_text(char dst[TOP_LINE], const struct stacks *s)
{
	dst[0] = '\0';
	if (s->sampled)
		add(dst, "estimated from %s of %s operations, half is right within %.1f %%; ",
		    text_count(s->taken).s, text_count(s->of).s, stacks_error(s, 0.5));
	if (s->lost + s->dropped)
		add(dst, "%s stack%s without room; ", text_count(s->lost + s->dropped).s,
		    text_plural(s->lost + s->dropped));
	if (s->nameless)
		add(dst, "names are missing: %s; ", s->nameless);
	end_cut(dst);
}

void top_foot_text(char dst[TOP_LINE], enum top_view view, const struct snapshot *sn,
		   const struct missing *m)
{
	uint64_t behalf = 0, reads = 0, nobody = 0;

	dst[0] = '\0';
	add_lost(dst, sn);
	for (size_t i = 0; i < sn->n_rqs && view < TOP_SERVER; i++) {
		const struct rq_row *r = &sn->rqs[i];

		if (view != TOP_FILE && r->key.by[1]) {
			behalf += r->bytes;
			reads += r->key.op == RQ_READ ? r->bytes : 0;
		}
		if (!r->key.by[0])
			nobody += r->bytes;
	}
	if (behalf)
		add(dst, "%s %s by kernel threads for these processes; ", text_bytes(behalf).s,
		    reads ? "read and written" : "written");
	if (nobody)
		add(dst, "%s of %s; ", text_bytes(nobody).s,
		    view == TOP_FILE ? "no file" : "unknown processes");
	if (m && m->requests)
		add(dst, "no requests: %s; ", m->requests);
	if (m && m->syscalls)
		add(dst, "no operations: %s; ", m->syscalls);
	end_cut(dst);
}
