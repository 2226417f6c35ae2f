/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault.bpf.h - a page fault of user code on a mapped file as an operation: from the exception to
 * the return of handle_mm_fault(), which knows its mapping and with it the file; or to a signal:
 * SIGBUS if it failed.
 *
 * The exception tells neither whether the memory belongs to a file nor whether the page was there,
 * so every fault begins as an operation. One that found its page and never slept is no operation,
 * unless all are wanted: it is counted in a row for such faults of its file.
 *
 * Where functions cannot be probed, the kernel's software event of a fault is the end. Then the
 * mapping must be looked up (bpf_find_vma()), which costs as much as all the rest, so a fault that
 * found its page is not counted. The same look-up serves a fault that has unlocked its mapping and,
 * in a signal, any. It calls a function of the program, which else none does where function.bpf.h
 * says why. All pointers in it are good: current's, and those of a mapping that is locked.
 *
 * A fault while the kernel copies is part of the call that copies.
 *
 * When a signal is pending and a fault has waited, the kernel does not map the page: it delivers
 * the signal, and the instruction faults once more. So a signal ends a fault, too, if it waited:
 * where handle_mm_fault() returns, if it is pending by then. Where that cannot be probed, of
 * several tools only one learns what such a fault was on, or one that is SIGBUS; see below.
 * What is done instead of a signal (io_uring's completions) no event tells: then the fault goes on.
 *
 * A fault that ends in none of these ways is forgotten when the thread begins anything else.
 *
 * Where programs can be preempted, one that ends a fault can be so, too, by another that does on
 * the same CPU: so there is more than one writer.
 */
#ifndef IOSTRATA_FAULT_BPF_H
#define IOSTRATA_FAULT_BPF_H

#include "function.bpf.h"
#include "mapping.bpf.h"
#include "op.bpf.h"

enum { SIGNAL_BUS = 7, ERROR_IO = 5 };

/* Of handle_mm_fault(): FAULT_FLAG_USER; and of its result VM_FAULT_SIGBUS, VM_FAULT_RETRY, these
 * and the rest of VM_FAULT_ERROR, and VM_FAULT_COMPLETED, which is as good as any. With RETRY and
 * COMPLETED the mapping is unlocked (mm_types.h). */
enum {
	BY_USER = 0x40,
	BUS_ERROR = 2,
	RETRY = 0x400,
	NOT_HANDLED = 0x873 | RETRY,
	UNLOCKED = 0x4000
};

/* How a fault ends. */
enum fault_end { FAULT_HANDLED, FAULT_INTERRUPTED, FAULT_FAILED };

/* Instead of a file: it is not known. */
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

/* Looks up the mapping of current's fault. False: it is not found, which is told as a loss. */
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

/* Learns what current's fault was on; false: it is not traced. Without a file it is only if it
 * read: a page was swapped in. @place has the address and, unless FILE_UNKNOWN, the file. */
static __always_inline bool fault_find(struct op *op, struct mapping *place, bool handled)
{
	row_clear(&op->file);
	if (place->file == FILE_UNKNOWN && !fault_find_mapping(op, place, handled))
		return false;
	if (!place->file) {
		op->offset = OFFSET_UNKNOWN;
		return (op->own_reads | op->waited_read) && !file_filtered();
	}
	op->offset = place->offset;
	if (!mapping_learn_file(&op->file, (struct file *)place->file))
		return false;
	op->file.direct = 0; /* whatever the file was opened with */
	return true;
}

/* Current's fault, if it is in one, ends. @end: enum fault_end; @file, a struct file *, is what it
 * was on, at @offset; FILE_UNKNOWN: that must be looked up. */
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
	now = bpf_ktime_get_ns();
	if (!fault_find(op, &place, end == FAULT_HANDLED)) {
		op->stage = 0;
		return 0;
	}
	op->call = CALL_FAULT;
	op->fd = end == FAULT_FAILED ? -ERROR_IO : 0;
	op->len = ~0ULL;
	barrier(); /* read again: the verifier walks what follows once, not for each end */
	ret = *(volatile int *)&op->fd;
	op->fd = -1;
	op_finish(t, ret, now, CONF(fault_single_writer));
	return 0;
}

/* Learns the file of current's fault, which found its page. @file is that of its mapping; NULL: it
 * must be looked up. */
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

/* A row for faults that found their page. */
#define FOUND_ROW ROW_WHAT(0, (u32)OP_MINOR_FAULT, 0)

/* Counts current's last fault, which found its page, in a row that has no slot. */
GLOBAL int fault_count_hashed(void)
{
	struct task_state *t = current_lookup();
	struct op_sums *sums = t ? row_hashed(&t->op.file, FOUND_ROW, 0, NULL) : NULL;

	if (sums)
		atomic_add(&sums->count, 1);
	return 0;
}

/* Counts a fault of @t, which found its page. */
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

/* The first argument of the event is the address. */
static __always_inline int fault_begins(const u64 *ctx)
{
	struct task_state *t = current_passes() ? task_get(current_task()) : NULL;

	if (!t || (t->op.progress == OP_FAULTS && t->op.offset == FAULT_ADDRESS(ctx[0])))
		return 0;
	t->op.offset = FAULT_ADDRESS(ctx[0]);
	op_start(&t->op, OP_FAULT, OP_FAULTS, bpf_ktime_get_ns());
	return 0;
}

/* Whether a signal is about to be delivered to current. */
static __always_inline bool signal_is_pending(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (task->pending.signal.sig[0] |
		task_untrusted(task)->signal->shared_pending.signal.sig[0]) &
	       ~task->blocked.sig[0];
}

/* How a fault of user code ends that was not handled; 0: not yet, it is tried again. It is not left
 * to the delivery of the signal, where interrupts are off: a look-up there leaves it to an irq_work
 * to unlock all mappings, and until the CPU has done that, others' look-ups are refused
 * (bpf_mmap_unlock_get_irq_work()). */
static __always_inline u32 fault_not_handled(u64 result)
{
	if (result & RETRY)
		return signal_is_pending() ? FAULT_INTERRUPTED : 0;
	return result & BUS_ERROR ? FAULT_FAILED : 0;
}

/* handle_mm_fault(mapping, address, flags, regs) returns, on current's fault if it has one. It has
 * no regs where the kernel looks for a page itself. */
static __always_inline int fault_looked_at(const u64 *ctx)
{
	struct vm_area_struct *vma = (void *)ctx[0];
	u64 result = ctx[4], file = FILE_UNKNOWN, offset = 0;
	u32 end = FAULT_HANDLED;
	struct task_state *t;

	if (!ctx[3] || !(ctx[2] & BY_USER))
		return 0;
	if (result & NOT_HANDLED) {
		end = fault_not_handled(result);
		if (!end)
			return 0;
	}
	t = current_lookup();
	if (!t || t->op.progress != OP_FAULTS)
		return 0;
	if (end || CONF(all_faults) || fault_waited(&t->op)) {
		if (!(result & (UNLOCKED | RETRY))) {
			file = number((u64)vma->vm_file);
			offset = mapping_offset(vma, t->op.offset);
		}
		fault_ends(end, file, offset);
		return 0;
	}
	t->op.stage = 0;
	if (!CONF(minor_faults) || (!(result & UNLOCKED) && !vma->vm_file))
		return 0;
	if (fault_learn_found(&t->op, result & UNLOCKED ? NULL : vma->vm_file))
		fault_count(t);
	return 0;
}

/* Current's fault was handled, as the kernel's software event says. */
static __always_inline int fault_counted(void)
{
	struct task_state *t = current_lookup();

	if (!t || t->op.progress != OP_FAULTS)
		return 0;
	if (CONF(all_faults) || fault_waited(&t->op))
		fault_ends(FAULT_HANDLED, FILE_UNKNOWN, 0);
	else
		t->op.stage = 0;
	return 0;
}

#endif
