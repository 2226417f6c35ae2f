/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapping_call.bpf.h - a system call whose file is that of a mapping: on_sys_enter() goes on here.
 * A program of its own, since kernels that cannot look up mappings do not bear what that takes.
 */
#ifndef IOSTRATA_MAPPING_CALL_BPF_H
#define IOSTRATA_MAPPING_CALL_BPF_H

#include "call.bpf.h"
#include "mapping.bpf.h"

/* Learns the file of the mapping that a call begins at; false: the call is not traced. Memory
 * without a file is not. Where nothing is mapped the call fails, as one with a bad descriptor. */
static __always_inline bool mapping_call_learn(struct op *op, struct mapping *m)
{
	mapping_find(m);
	if (!m->err)
		return m->file && mapping_learn_file(&op->file, (struct file *)m->file);
	row_clear(&op->file);
	if (file_filtered() && m->err == -ERROR_BUSY)
		count_lost(LOST_UNATTRIBUTED);
	return !file_filtered();
}

static __always_inline int mapping_call_begins(void *ctx, bool perf, u64 nr)
{
	bool compat;
	u64 task = call_task(ctx, perf, &compat);
	struct pt_regs *regs = call_regs(ctx, perf);
	struct mapping m = {.address = call_arg(regs, 0, compat)};
	struct task_state *t = task_get(task);
	u32 desc;

	if (!t || !mapping_call_learn(&t->op, &m))
		return 0;
	desc = call_desc(calls[nr % CALL_MAX], compat);
	if (CONF(call_noted)) {
		call_note(&t->op, regs, nr, desc, compat, false);
		t->op.offset = m.err ? OFFSET_UNKNOWN : m.offset;
		t->op.len = call_arg(regs, 1, compat);
	}
	op_start(&t->op, CALL_KIND(desc), OP_ACTIVE, bpf_ktime_get_ns());
	return 0;
}

SEC("?tp_btf/sys_enter")
int on_mapping_call(u64 *ctx)
{
	return mapping_call_begins(ctx, false, ctx[1]);
}

SEC("?tp/raw_syscalls/sys_enter")
int on_mapping_call_perf(struct perf_sys_event *ctx)
{
	return mapping_call_begins(ctx, true, ctx->nr);
}

#endif
