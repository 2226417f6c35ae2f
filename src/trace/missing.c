// SPDX-License-Identifier: GPL-2.0-only
#include "trace/missing.h"

#include <stdio.h>

#include <bpf/libbpf.h>

#include "base/reason.h"
#include "bpf/conf.h"
#include "trace/attach.h"
#include "trace/feature.h"
#include "trace/fsprobes.h"
#include "trace/load.h"
#include "trace/plan.h"

#include "trace.skel.h"

/* Why a layer that needs function probes is missing. */
static const char *why_no_layer(const struct feature *f)
{
	return f->func == FUNC_NONE ? f->no_functions : "none of its functions could be probed";
}

static const char not_counted[] = "this run does not count them";
static const char not_split[] = "this run does not split the time on the CPU";

/* Each function has two programs, and one of them serves. */
static bool aio_is_probed(const struct trace_bpf *obj)
{
	const struct bpf_program *const pairs[][2] = {
		{ obj->progs.enter_aio_read, obj->progs.kenter_aio_read },
		{ obj->progs.leave_aio_read, obj->progs.kleave_aio_read },
		{ obj->progs.enter_aio_write, obj->progs.kenter_aio_write },
		{ obj->progs.leave_aio_write, obj->progs.kleave_aio_write },
		{ obj->progs.enter_aio_complete, obj->progs.kenter_aio_complete },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (bpf_program__fd(pairs[i][0]) < 0 && bpf_program__fd(pairs[i][1]) < 0)
			return false;
	return true;
}

/* The first reason stays: rows are ordered so that it says most. */
static void missing_add(struct missing *m, const struct program *row)
{
	for (int st = 0; st < ST_N; st++)
		if (row->strata >> st & 1 && !m->stratum[st])
			m->stratum[st] = row->without;
	if (row->requests)
		m->requests = row->without;
	if (row->caps & CAP_CALLS)
		m->calls = row->without;
	if (row->caps & CAP_URING)
		m->uring = row->without;
	if (row->caps & CAP_FAULTS)
		m->faults = row->without;
}

void missing_fill(struct missing *m, const struct plan *plan, const struct trace_bpf *obj,
		  const struct attached *a, const struct feature *f)
{
	for (const struct program *row = programs; row < programs + programs_n; row++)
		if (row->without && plan_is_for(plan, row) &&
		    bpf_program__fd(program_of(obj, row)) < 0)
			missing_add(m, row);
	m->device_bytes = m->stratum[ST_DEVICE];
	if (!obj->rodata->conf.minor_faults)
		m->minor_faults = not_counted;
	else if (bpf_program__fd(obj->progs.on_fault_handled) < 0)
		m->minor_faults = why_no_layer(f);
	if ((plan->asked & CAP_WAITS) && !obj->rodata->conf.cpu_split)
		m->stratum[ST_VFS] = m->stratum[ST_FS] = not_split;
	if ((plan->asked & CAP_VFS) && !a->vfs_kinds)
		m->stratum[ST_VFS] = why_no_layer(f);
	if ((plan->asked & CAP_FS) && !fsprobes_count(a->fs))
		m->stratum[ST_FS] = why_no_layer(f);
	if ((plan->asked & CAP_AIO) && !aio_is_probed(obj))
		m->aio = why_no_layer(f);
}

int missing_check(const struct missing *m, enum layer layer, const struct attached *a,
		  struct reason *why)
{
	const char *const missing[] = {
		[LAYER_OPS] = m->calls,		[LAYER_SYSCALL] = m->calls,
		[LAYER_VFS] = m->stratum[ST_VFS], [LAYER_FS] = m->stratum[ST_FS],
		[LAYER_BLK] = m->requests,
	};

	if (load_is_limit(a->err))
		return load_limit_reached(why, "attach", a->err);
	if (!missing[layer])
		return 0;
	reason_set(why, EXIT_KERNEL, "this layer cannot be traced: %s", missing[layer]);
	return reason_hint(why, "'iostrata doctor' tells what this kernel can");
}
