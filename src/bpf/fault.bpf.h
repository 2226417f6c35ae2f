/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault.bpf.h - a page fault on a mapped file as an operation. It lasts from the
 * exception to the return of handle_mm_fault(), or to a signal: SIGBUS if the fault failed.
 * handle_mm_fault() knows the mapping and its file.
 *
 * The exception tells neither whether the memory belongs to a file nor whether the page was
 * present, so every fault begins as an operation. A fault that found its page and never slept (a
 * minor fault) is no operation, unless conf.all_faults: it is counted in a row for minor faults of
 * its file.
 *
 * Where functions cannot be probed, the kernel's software event of a fault is the end. Then the
 * mapping must be looked up (bpf_find_vma()). The look-up costs as much as all the rest, so minor
 * faults are not counted there. A fault that has unlocked its mapping needs the look-up, too, and
 * so does every fault that a signal ends. The look-up calls a function of the program;
 * function.bpf.h says why other programs do not. Its pointers are all valid: they come from
 * current, or from a locked mapping.
 *
 * A fault while the kernel copies is part of the call that copies. If that call is no operation,
 * as a write to a pipe, the fault is one once it has waited. Such minor faults are not counted.
 *
 * When a signal is pending and a fault has waited, the kernel does not map the page: it delivers
 * the signal, and the instruction faults again. So a fault that waited also ends when
 * handle_mm_fault() returns with a signal pending. Where handle_mm_fault() cannot be probed, the
 * delivery of the signal ends the fault; if several tools look up mappings at that time, only one
 * of them learns the file (see fault_not_handled()). Work done instead of a signal (completions of
 * io_uring) raises no event: then the fault goes on.
 *
 * A fault that ends in none of these ways is forgotten when the thread begins its next operation.
 *
 * Where programs can be preempted, a program that ends a fault can be preempted by another that
 * ends a fault on the same CPU: rows then have more than one writer.
 */
#ifndef IOSTRATA_FAULT_BPF_H
#define IOSTRATA_FAULT_BPF_H

#include "call.bpf.h"
#include "function.bpf.h"
#include "mapping.bpf.h"
#include "op.bpf.h"
#include "stack.bpf.h"

enum { SIGNAL_BUS = 7, ERROR_IO = 5 };

/* Flags and results of handle_mm_fault() (include/linux/mm_types.h). With RETRY and UNLOCKED the
 * mapping is unlocked. */
enum {
	BY_USER = 0x40,              /* FAULT_FLAG_USER */
	BUS_ERROR = 2,               /* VM_FAULT_SIGBUS */
	RETRY = 0x400,               /* VM_FAULT_RETRY */
	NOT_HANDLED = 0x873 | RETRY, /* VM_FAULT_ERROR and VM_FAULT_RETRY */
	UNLOCKED = 0x4000            /* VM_FAULT_COMPLETED: handled like any other */
};

/* How a fault ends. */
enum fault_end { FAULT_HANDLED, FAULT_INTERRUPTED, FAULT_FAILED };

/* In place of a struct file *: the file must be looked up. */
#define FILE_UNKNOWN (~0ULL)

/* Whether current's fault read something or slept. */
static __always_inline bool fault_waited(const struct op *op)
{
	u64 slept = 0;

	if (op->own_reads || !op->settled)
		return op->own_reads;
	for (u32 st = ST_THROTTLE; st < ST_N; st++)
		slept |= st == ST_PREEMPT ? 0 : op->strata[st];
	return slept;
}

/* Whether current's fault on memory without a file waited for a page that others read, or for I/O
 * with which the kernel frees memory. */
static __always_inline u32 fault_swaps(const struct op *op)
{
	const u64 *st = op->strata;

	if (op->own_reads | op->waited_read)
		return FAULT_SWAPS_IN;
	return op->settled && st[ST_THROTTLE] | st[ST_TAG] | st[ST_QUEUE] | st[ST_DEVICE] |
				       st[ST_COMPLETE]
		       ? FAULT_SWAPS_OUT
		       : 0;
}

/* Looks up the mapping of current's fault, at @place->address. False: not found, and counted as
 * lost if the fault would have been an operation. */
static __always_inline bool fault_find_mapping(const struct op *op, struct mapping *place,
					       bool handled)
{
	mapping_find(place);
	if (!place->err)
		return true;
	if (handled || place->err == -ERROR_BUSY || op->own_reads | op->waited_read)
		count_lost(LOST_UNATTRIBUTED);
	return false;
}

/* Learns the file of current's fault. Returns false if the fault is not traced. A fault without a
 * file is traced if it swapped. @place has the address and, unless FILE_UNKNOWN, the file. */
static __always_inline bool fault_find(struct op *op, struct mapping *place, bool handled)
{
	row_clear(&op->file);
	if (place->file == FILE_UNKNOWN && !fault_find_mapping(op, place, handled))
		return false;
	if (!place->file) {
		op->offset = OFFSET_UNKNOWN;
		op->call |= fault_swaps(op);
		return op->call & (FAULT_SWAPS_IN | FAULT_SWAPS_OUT) && !file_filtered();
	}
	op->offset = place->offset;
	if (!mapping_learn_file(&op->file, (struct file *)place->file))
		return false;
	op->file.direct = 0; /* even if the file was opened with O_DIRECT */
	return true;
}

/* The call of the row of a fault of this @call: 0 for a usual one, without a branch. */
static __always_inline u32 fault_row_call(u32 call)
{
	u32 bits = call & (FAULT_CALLS - 1);

	return call & (0 - (bits + FAULT_CALLS - 1) / FAULT_CALLS);
}

/* Ends current's fault, if current is in one. Returns whether its user stack is to be taken. @end:
 * enum fault_end. @file, @offset: the struct file and the place of the fault; FILE_UNKNOWN: to be
 * looked up. */
GLOBAL int fault_ends(u32 end, u64 file, u64 offset)
{
	struct mapping place = { .file = file, .offset = offset };
	struct task_state *t = current_lookup();
	struct op *op;
	u64 now;
	int ret;

	if (!t || t->op.progress != OP_FAULTS)
		return 0;
	op = &t->op;
	if (end == FAULT_INTERRUPTED && !fault_waited(op)) {
		op->stage = 0;
		return 0;
	}
	place.address = op->offset;
	op->call = CALL_FAULT | (op->acts ? FAULT_OF_KERNEL : 0);
	now = bpf_ktime_get_ns();
	if (!fault_find(op, &place, end == FAULT_HANDLED)) {
		op->stage = 0;
		return 0;
	}
	op->fd = end == FAULT_FAILED ? -ERROR_IO : 0;
	op->len = ~0ULL;
	barrier(); /* read the result again: the verifier walks the rest once, not once for each end
		    */
	ret = *(volatile int *)&op->fd;
	op->fd = -1;
	return op_finish(t, ret, now, fault_row_call(op->call), CONF(fault_single_writer));
}

/* Ends current's fault where no program can take its stack. */
static __always_inline void fault_ends_alone(u32 end)
{
	if (fault_ends(end, FILE_UNKNOWN, 0) && CONF(stacks))
		stack_send_none();
}

/* Learns the file of current's minor fault. Returns false if the fault is not traced. @file: of the
 * mapping; NULL: to be looked up. */
static __always_inline bool fault_learn_found(struct op *op, struct file *file)
{
	struct mapping place = { .address = op->offset, .file = FILE_UNKNOWN };
	struct open_file f;

	if (likely(file)) {
		f = file_look(file, true);
		if (!mode_wanted(f.mode))
			return false;
		if (likely(!file_may_be_layer(file, true)))
			return file_learn(&op->file, f, true);
		place.file = number((u64)file);
	}
	return fault_find(op, &place, true);
}

/* The row of minor faults, without their file system. */
#define FOUND_ROW ROW_WHAT(0, (u32)OP_MINOR_FAULT, 0)

/* Counts current's last fault, a minor one, in a row without a slot. */
GLOBAL int fault_count_hashed(void)
{
	struct task_state *t = current_lookup();
	struct op_sums *sums = t ? row_hashed(&t->op.file, FOUND_ROW, 0, NULL, !live.epoch) : NULL;

	if (sums)
		atomic_add(&sums->count, 1);
	return 0;
}

/* Counts the last fault of @t, a minor one. */
static __always_inline void fault_count(struct task_state *t)
{
	struct op_cell *cell = NULL;
	u32 index;

	if (CONF(row_slots))
		cell = row_in_slot(&t->op.file, FOUND_ROW, &t->fault_slot, &index);
	if (likely(cell))
		atomic_add(&cell->sums.count, 1);
	else
		fault_count_hashed();
}

/* Whether a fault of the kernel in @op is no part of that. A call whose file is not known yet ends
 * as an operation if its file is not traced, as a pipe. */
static __always_inline bool call_leaves_fault(struct op *op)
{
	struct open_file f;

	if (!op->stage || op->progress == OP_FAULTS)
		return true;
	if (op->progress != OP_BEGUN)
		return false;
	f = fd_look(call_first_arg(current_regs()), false);
	if (!f.file || mode_wanted(f.mode))
		return false;
	op->stage = 0;
	barrier();
	return true;
}

/* Begins a fault of user code, or of the kernel. The first argument of the event is the address. */
static __always_inline int fault_begins(const u64 *ctx, bool by_kernel)
{
	struct task_state *t = current_passes() ? task_get(current_task()) : NULL;
	struct op *op;

	if (!t)
		return 0;
	op = &t->op;
	if (by_kernel && !call_leaves_fault(op))
		return 0;
	if (op->progress == OP_FAULTS && op->acts == by_kernel &&
	    op->offset == FAULT_ADDRESS(ctx[0]))
		return 0;
	op->offset = FAULT_ADDRESS(ctx[0]);
	op->acts = by_kernel;
	op_start(op, OP_FAULT, OP_FAULTS, bpf_ktime_get_ns());
	return 0;
}

/* Whether the kernel handles its own fault at @address: of a page of the process, with the right to
 * sleep. The right is missing in interrupts, and in BPF helpers: so no helper reads whether. */
static __always_inline bool fault_of_kernel_counts(u64 address)
{
	return !(address >> 55 & 1) && !is_helper(current_flags()) &&
	       !bpf_get_current_task_btf()->pagefault_disabled;
}

/* Begins a fault of the kernel. It may make the state of current. Then the end of its call finds a
 * state, so the call is counted here if its entry was not seen. */
static __always_inline int kernel_fault_begins(u64 *ctx)
{
	struct pt_regs *regs = current_regs();

	if (!fault_of_kernel_counts(ctx[0]))
		return 0;
	if (!current_lookup())
		call_unmatched(regs, REGS_CALL(regs));
	return fault_begins(ctx, true);
}

/* Whether a signal is about to be delivered to current. */
static __always_inline bool signal_is_pending(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (task->pending.signal.sig[0] |
		task_untrusted(task)->signal->shared_pending.signal.sig[0]) &
	       ~task->blocked.sig[0];
}

/* How a fault that handle_mm_fault() did not handle ends; 0: not yet, the kernel tries again. The
 * end is not left to the delivery of the signal: interrupts are off there, and a look-up would
 * leave it to an irq_work to unlock all mappings. Until the CPU has run this irq_work, the kernel
 * refuses the look-ups of other programs (bpf_mmap_unlock_get_irq_work()). */
static __always_inline u32 fault_not_handled(u64 result)
{
	if (result & RETRY)
		return signal_is_pending() ? FAULT_INTERRUPTED : 0;
	return result & BUS_ERROR ? FAULT_FAILED : 0;
}

/* Whether current's fault, which found its page, is an operation. */
static __always_inline bool fault_counts(const struct op *op)
{
	return (CONF(all_faults) && !op->acts) || fault_waited(op);
}

/* handle_mm_fault(mapping, address, flags, regs) returns. Without regs the kernel looked up a page
 * for itself: this is no fault. Returns whether its user stack is to be taken. */
static __always_inline bool fault_looked_at(const u64 *ctx)
{
	struct vm_area_struct *vma = (void *)ctx[0];
	u64 result = ctx[4], file = FILE_UNKNOWN, offset = 0;
	u32 end = FAULT_HANDLED;
	struct task_state *t;

	if (!ctx[3])
		return false;
	if (result & NOT_HANDLED) {
		end = fault_not_handled(result);
		if (!end)
			return false;
	}
	t = current_lookup();
	if (!t || t->op.progress != OP_FAULTS || t->op.acts != !(ctx[2] & BY_USER))
		return false;
	if (end || fault_counts(&t->op)) {
		if (!(result & (UNLOCKED | RETRY))) {
			file = number((u64)vma->vm_file);
			offset = mapping_offset(vma, t->op.offset);
		}
		return fault_ends(end, file, offset) && CONF(stacks);
	}
	t->op.stage = 0;
	if (!CONF(minor_faults) || t->op.acts || (!(result & UNLOCKED) && !vma->vm_file))
		return false;
	if (fault_learn_found(&t->op, result & UNLOCKED ? NULL : vma->vm_file))
		fault_count(t);
	return false;
}

/* The kernel's software event: current's fault was handled. */
static __always_inline int fault_counted(void)
{
	struct task_state *t = current_lookup();

	if (!t || t->op.progress != OP_FAULTS)
		return 0;
	if (fault_counts(&t->op))
		fault_ends_alone(FAULT_HANDLED);
	else
		t->op.stage = 0;
	return 0;
}

/* A fault is over: goes on with the program that takes its stack. */
static __always_inline void fault_stack_take(void *ctx)
{
	bpf_tail_call(ctx, &fault_stack_calls, 0);
	stack_send_none();
}

#endif
