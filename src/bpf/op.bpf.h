/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * op.bpf.h - an operation from its beginning to its end: which layer is on the CPU, and the time in
 * each. Waits are charged elsewhere.
 */
#ifndef IOSTRATA_OP_BPF_H
#define IOSTRATA_OP_BPF_H

#include "done.bpf.h"
#include "file.bpf.h"
#include "restart.bpf.h"

/* Starts an operation. The caller has set its file, unless @progress is OP_BEGUN. The stage is
 * written last: until then no switch reads the other members. */
static __always_inline void op_start(struct op *op, u32 kind, enum op_progress progress, u64 now)
{
	if (op->stage) {
		if (op->progress == OP_RESTARTS && progress == OP_FAULTS)
			return;
		if (op->progress != OP_RESTARTS && (!CONF(faults) || op->progress != OP_FAULTS))
			count_lost(LOST_UNMATCHED_START);
		op->stage = 0;
		barrier();
	}
	op->start = now;
	op->flags = 0;
	op->kind = kind;
	barrier();
	op->stage = STAGE(progress, ST_SYSCALL, 0, 0);
}

/* Whether the run needs the offsets of operations: for records, or for patterns. */
static __always_inline bool offsets_wanted(void)
{
	return CONF(records) || CONF(sent_ops) || CONF(op_accesses);
}

/* Sets the offset of a call of kind @acts now that its @file is known. An append has none before
 * its end, and the offset argument of an append says nothing: Linux appends all the same. */
static __always_inline void op_learn_offset(struct op *op, u8 acts, struct file *file, bool typed)
{
	u64 offset = op->offset;
	struct inode *inode;

	if (acts == OP_WRITE && (offset == OFFSET_END || READ(typed, file, f_flags) & O_APPEND)) {
		if (offset == OFFSET_LATER)
			return;
		op->offset = OFFSET_END;
		inode = READ(typed, file, f_inode);
		op->size = READ(typed, inode, i_size);
	} else if (offset == OFFSET_LATER) {
		op->offset = READ(typed, file, f_pos);
	}
}

/* Sets the file of an operation that began without one. Returns false if the file is not traced. */
static __always_inline bool op_learn_file(struct op *op, u8 acts, struct file *file, bool typed)
{
	struct open_file f;

	if (CONF(call_noted))
		op_learn_offset(op, acts, file, typed);
	f = file_look(file, typed);
	return mode_wanted(f.mode) && file_learn(&op->file, f, typed);
}

/*
 * The usual path of an operation through the layers. A boundary is two stores: the time, then the
 * stage. Nothing is charged here: op_settle() charges from the times. So where programs can be
 * preempted, a switch may come before, between or after the two stores.
 */
#define IN_SYSCALL STAGE(OP_ACTIVE, ST_SYSCALL, 0, 0)
#define IN_VFS     STAGE(OP_ACTIVE, ST_VFS, 1, 0)
#define IN_FS      STAGE(OP_ACTIVE, ST_FS, 1, 1)
#define LEFT_FS    STAGE(OP_RETURNS, ST_VFS, 1, 0)
#define LEFT_VFS   STAGE(OP_RETURNS, ST_SYSCALL, 0, 0)

/* A request of io_uring or libaio goes through no VFS function. */
#define IN_FS_ASYNC   STAGE(OP_ASYNC, ST_FS, 0, 1)
#define LEFT_FS_ASYNC STAGE(OP_ASYNC, ST_SYSCALL, 0, 0)

static __always_inline void op_cross(struct op *op, enum op_time boundary, u32 stage)
{
	op->at[boundary] = bpf_ktime_get_ns();
	barrier();
	op->stage = stage;
}

/* op_cross() for a request of io_uring or libaio. Such a request crosses the boundaries of VFS and
 * file system at once. */
static __always_inline void op_cross_async(struct op *op, enum op_time vfs, enum op_time fs,
					   u32 stage)
{
	op->at[vfs] = op->at[fs] = bpf_ktime_get_ns();
	barrier();
	op->stage = stage;
}

/* Any other path: charges all time until now, then changes the layer. A switch meanwhile charges
 * nothing: time off the CPU then counts as time in the layer. */
static __always_inline void op_change_layer(struct op *op, u32 layer)
{
	op->charging = 1;
	barrier();
	op_settle(op, op->layer, bpf_ktime_get_ns());
	op->layer = layer;
	if (op->progress == OP_RETURNS)
		op->progress = OP_ACTIVE;
	barrier();
	op->charging = 0;
}

/* The same, but the layer stays, and the program has read the time before. If a switch since then
 * has charged more, this charges nothing. */
static __always_inline void op_charge_layer(struct op *op, u64 now)
{
	op->charging = 1;
	barrier();
	op_settle(op, op->layer, now);
	barrier();
	op->charging = 0;
}

/* Current's operation, at @stage, enters a layer. Only the outermost entry counts. */
static __always_inline void op_enter_layer(struct op *op, u32 stratum, u32 stage)
{
	u8 *depth = stratum == ST_FS ? &op->fs_depth : &op->vfs_depth;

	if (stratum == ST_VFS && likely(stage == IN_SYSCALL)) {
		op_cross(op, AT_VFS_IN, IN_VFS);
		return;
	}
	if (stratum == ST_FS && likely(stage == IN_VFS)) {
		op_cross(op, AT_FS_IN, IN_FS);
		return;
	}
	/* only the first entry: the times of an earlier one are still to be charged */
	if (stratum == ST_FS && stage == LEFT_FS_ASYNC && op->at[AT_FS_IN] < op->start) {
		op_cross_async(op, AT_VFS_IN, AT_FS_IN, IN_FS_ASYNC);
		return;
	}
	op->stage = stage;
	if (!stage || (*depth)++ || op->layer >= stratum)
		return;
	op_change_layer(op, stratum);
}

static __always_inline void op_leave_layer(struct op *op, u32 stratum)
{
	u8 *depth = stratum == ST_FS ? &op->fs_depth : &op->vfs_depth;
	u32 stage = op->stage;

	if (stratum == ST_FS && likely(stage == IN_FS)) {
		op_cross(op, AT_FS_OUT, LEFT_FS);
		return;
	}
	if (stratum == ST_VFS && likely(stage == LEFT_FS)) {
		op_cross(op, AT_VFS_OUT, LEFT_VFS);
		return;
	}
	if (stratum == ST_FS && stage == IN_FS_ASYNC) {
		op_cross_async(op, AT_VFS_OUT, AT_FS_OUT, LEFT_FS_ASYNC);
		return;
	}
	/* the functions of this file system are not probed */
	if (stratum == ST_VFS && stage == IN_VFS) {
		op->at[AT_FS_IN] = op->at[AT_FS_OUT] = bpf_ktime_get_ns();
		op_cross(op, AT_VFS_OUT, LEFT_VFS);
		return;
	}
	if (!stage)
		return;
	if (!*depth) {
		/* the entry was missed: no operation is lost, and the kernel may count the miss; or
		 * the function was probed since the operation began */
		if (!CONF(misses_counted) && op->start > live.layers_ns)
			count_lost(LOST_UNMATCHED_END);
		return;
	}
	if (--*depth || op->layer > stratum)
		return;
	op_change_layer(op, stratum == ST_FS && op->vfs_depth ? ST_VFS : ST_SYSCALL);
}

/*
 * The elapsed time, ns, of an operation at @stage that ends at @now. @cpu gets its strata on the
 * CPU. The usual operation has crossed all boundaries once, or none, and never left the CPU: then
 * it has no other strata. If the clock stepped back, op_settle() does the work.
 */
static __always_inline u64 op_times(struct op *op, u32 stage, u64 now, u64 cpu[ST_FS + 1])
{
	u64 total = now - op->start, below = 0, fs = 0;

	if (likely(!op->settled && (stage == LEFT_VFS || stage == IN_SYSCALL))) {
		if (likely(stage == LEFT_VFS)) {
			below = op->at[AT_VFS_OUT] - op->at[AT_VFS_IN];
			fs = op->at[AT_FS_OUT] - op->at[AT_FS_IN];
		}
		cpu[ST_SYSCALL] = total - below;
		cpu[ST_VFS] = below - fs;
		cpu[ST_FS] = fs;
		if (likely((s64)(cpu[ST_SYSCALL] | cpu[ST_VFS] | cpu[ST_FS]) >= 0))
			return total;
	}
	/* the return of a function was not seen: the layer since then is not known */
	if (stage >> 16 && !CONF(misses_counted))
		atomic_add(&live.returns_missed, 1);
	op_settle(op, stage >> 8, now);
	cpu[ST_SYSCALL] = op->strata[ST_SYSCALL];
	cpu[ST_VFS] = op->strata[ST_VFS];
	cpu[ST_FS] = op->strata[ST_FS];
	return op->at[AT_CHARGED] - op->start;
}

/* Ends current's operation, with the result @ret. Once the stage is 0, no switch reads the
 * operation.
 * @call, and the result: see op_done(). @single_writer: see op_keep(). */
static __always_inline bool op_finish(struct task_state *t, long ret, u64 now, u32 call,
				      bool single_writer)
{
	u64 cpu[ST_FS + 1] = {}, total;
	struct op *op = &t->op;
	u32 stage = op->stage;

	op->stage = 0;
	barrier();
	if (CONF(layer) == LAYER_OPS)
		total = op_times(op, stage, now, cpu);
	else
		total = positive(now - op->start);
	return op_done(t, total, cpu, ret, call, single_writer);
}

#endif
