// SPDX-License-Identifier: GPL-2.0-only
/* program.c - a row of the table in plan.c, and which program of an object it is. */
#include <stdio.h>

#include <bpf/libbpf.h>

#include "trace/plan.h"
#include "trace/session.h"

#include "trace.skel.h"

struct bpf_program *program_of(const struct trace_bpf *obj, const struct program *prog)
{
	return *(struct bpf_program *const *)((const char *)obj + prog->at);
}

const struct program *program_row(const struct trace_bpf *obj, const struct bpf_program *prog)
{
	for (size_t i = 0; i < programs_n; i++)
		if (program_of(obj, &programs[i]) == prog)
			return &programs[i];
	return NULL;
}

void program_hook_text(const struct program *prog, char *text, size_t cap)
{
	static const char *const kinds[] = {
		[HOOK_TP_BTF] = "tp_btf",     [HOOK_TP] = "tp",	      [HOOK_ITER] = "iter",
		[HOOK_FAULTS] = "perf_event",
		[HOOK_FENTRY] = "fentry",     [HOOK_FEXIT] = "fexit", [HOOK_KPROBE] = "kprobe",
		[HOOK_KRETPROBE] = "kretprobe",
	};

	snprintf(text, cap, "%s/%s", kinds[prog->hook],
		 prog->is_template ? "<function>" : prog->target);
}
