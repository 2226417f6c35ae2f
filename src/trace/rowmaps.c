// SPDX-License-Identifier: GPL-2.0-only
#include "trace/rowmaps.h"

#include <bpf/libbpf.h>

#include "bpf/conf.h"
#include "cell.h"

/* Entries are some 200 bytes. A hash is drained once it is a quarter full: it takes some 20 ms
 * until programs use the other epoch, and meanwhile they must not fill the rest. */
enum {
	BY_ROWS = 32768,
	CALL_ROWS = 2048,	/* -T syscall: more rows than slots */
	OP_ROWS = 1024,
	FILE_NAMES = BY_ROWS / 4,
	TASK_NAMES = BY_ROWS / 4,
	DIRTIERS = BY_ROWS,	/* files, and pages of metadata: the oldest go */
	RQ_ROWS = 512,
	HELPER_ROWS = 8192,
	WHY_ROWS = 4096,
	DISKS_WITH_SLOTS = ROW_SLOTS / 4,
	ROWS_PER_DISK = 64,
};

bool rowmaps_in_slots(const struct rowmaps *r)
{
	return r->ops && (r->by == BY_NONE || r->by == BY_CACHE);
}

bool rowmaps_rq_by(enum by_key by)
{
	return BY_NAMES_TASKS(by) || by == BY_COMM || by == BY_FILE || by == BY_CGROUP;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

void rowmaps_size(const struct rowmaps *r, struct rowmaps_size *ret_size)
{
	struct rowmaps_size z = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, false };

	if (r->ops)
		z.op_rows = !rowmaps_in_slots(r) ? BY_ROWS : r->calls ? CALL_ROWS : OP_ROWS;
	if (r->by == BY_FILE)
		z.file_names = FILE_NAMES;
	if (BY_NAMES_TASKS(r->by))
		z.task_names = r->by == BY_TASK ? BY_ROWS : TASK_NAMES;
	if (r->by == BY_TASK || r->helpers)
		z.dirtiers = DIRTIERS;
	if (r->helpers)
		z.helper_rows = HELPER_ROWS;
	if (r->why)
		z.why_rows = WHY_ROWS;
	if (r->requests && rowmaps_rq_by(r->by)) {
		z.rq_rows = BY_ROWS;
	} else if (r->requests) {
		z.rq_rows = RQ_ROWS;
		if (r->disks > DISKS_WITH_SLOTS)
			z.rq_rows += least((r->disks - DISKS_WITH_SLOTS) * ROWS_PER_DISK, BY_ROWS);
		z.slot_rq_cells = SLOT_CELLS(least(r->cpus, RQ_CPUS));
	}
	if (rowmaps_in_slots(r)) {
		z.slot_cells = SLOT_CELLS(r->cpus);
		z.hists_apart = r->cpus > HIST_CPUS;
	}
	if (z.hists_apart)
		z.slot_hists = SLOT_CELLS(HIST_CPUS);
	*ret_size = z;
}

void rowmaps_conf(const struct rowmaps_size *size, struct bpf_conf *c)
{
	c->op_rows_limit = size->op_rows / 4;
	if (size->file_names > 1) /* each row may be for a file of its own */
		c->op_rows_limit = least(c->op_rows_limit, size->file_names / 2);
	c->rq_rows_limit = size->rq_rows / 4;
	c->helper_rows_limit = size->helper_rows / 4;
	c->why_rows_limit = size->why_rows / 4;
	c->hists_apart = size->hists_apart;
}

static void resize(struct bpf_object *obj, const char *name, unsigned int entries)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, name), entries);
}

void rowmaps_resize(const struct rowmaps_size *size, struct bpf_object *obj)
{
	resize(obj, "op_rows_even", size->op_rows);
	resize(obj, "op_rows_odd", size->op_rows);
	resize(obj, "rq_rows_even", size->rq_rows);
	resize(obj, "rq_rows_odd", size->rq_rows);
	resize(obj, "helper_rows_even", size->helper_rows);
	resize(obj, "helper_rows_odd", size->helper_rows);
	resize(obj, "why_rows_even", size->why_rows);
	resize(obj, "why_rows_odd", size->why_rows);
	resize(obj, "file_names_even", size->file_names);
	resize(obj, "file_names_odd", size->file_names);
	resize(obj, "task_names_even", size->task_names);
	resize(obj, "task_names_odd", size->task_names);
	resize(obj, "dirtiers", size->dirtiers);
	resize(obj, "slot_cells", size->slot_cells);
	resize(obj, "slot_hists", size->slot_hists);
	resize(obj, "slot_rq_cells", size->slot_rq_cells);
	if (size->hists_apart)
		bpf_map__set_value_size(bpf_object__find_map_by_name(obj, "slot_cells"),
					sizeof(struct op_sums));
}
