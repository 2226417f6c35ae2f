/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault.bpf.h - a page fault of user code on a mapped file as an operation: from the exception to
 * the kernel's software event that says it was handled, or to a signal: SIGBUS if it failed.
 *
 * The kernel tells neither whether the memory belongs to a file nor whether the page was there, so
 * every fault begins as one. When it ends, its mapping tells the file (bpf_find_vma()); that costs
 * as much as all the rest, so a fault that found its page and never slept is dropped before, unless
 * all are wanted. A fault while the kernel copies is part of the call that copies.
 *
 * That look-up calls a function of the program, which else none does where function.bpf.h says why.
 * All pointers in it are good: current's, and those of a mapping that is locked.
 *
 * When a signal is pending and a fault has waited, the kernel does not map the page: it delivers
 * the signal, and the instruction faults once more. So a signal ends a fault, too, if it waited.
 * What is done instead of a signal (io_uring's completions) no event tells: then the fault goes on.
 *
 * A fault that ends in none of these ways is forgotten when the thread begins anything else.
 */
#ifndef IOSTRATA_FAULT_BPF_H
#define IOSTRATA_FAULT_BPF_H

#include "function.bpf.h"
#include "op.bpf.h"

enum { SIGNAL_BUS = 7, ERROR_IO = 5, ERROR_BUSY = 16, PAGE_BITS = 12 };

/* How a fault ends. */
enum fault_end { FAULT_HANDLED, FAULT_INTERRUPTED, FAULT_FAILED };

/* How often a mapping is looked up while somebody else changes mappings of the process. */
enum { FIND_TRIES = 64 };

/* The mapping that a fault was in. */
struct fault_place {
	u64 address;
	u64 file, offset;	/* file 0: none, or not found */
	long err;
};

static long fault_learn(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct fault_place *place = arg;

	place->file = number((u64)vma->vm_file);
	place->offset = place->address - vma->vm_start + (vma->vm_pgoff << PAGE_BITS);
	return 0;
}

static long fault_look(u32 i, void *arg)
{
	struct fault_place *place = arg;

	place->err = bpf_find_vma(bpf_get_current_task_btf(), place->address, fault_learn, place,
				  0);
	return place->err != -ERROR_BUSY;
}

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

/* Learns which file a mapping is of, as it was opened: overlayfs maps the file of a layer below. */
static __always_inline bool fault_learn_file(struct file_info *info, struct file *file)
{
	struct open_file f = file_look(file, false);
	struct file *named = file_as_mapped(file);
	struct inode *inode = BPF_CORE_READ(named, f_path.dentry, d_inode);

	if (!mode_wanted(f.mode))
		return false;
	if (BPF_CORE_READ(inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC) {
		f.inode = inode;
		f.mode = 0; /* for fs_note(): its functions are those of another file system */
		file = named;
	}
	return file_learn_as(info, f, file, false);
}

/* Learns what current's fault was on; false: it is not traced. Without a file it is only if it
 * read: a page was swapped in. */
static __always_inline bool fault_find(struct op *op)
{
	struct fault_place place = {.address = op->offset};

	row_clear(&op->file);
	bpf_loop(FIND_TRIES, fault_look, &place, 0);
	if (place.file) {
		op->offset = place.offset;
		if (!fault_learn_file(&op->file, (struct file *)place.file))
			return false;
		op->file.direct = 0; /* whatever the file was opened with */
		return true;
	}
	op->offset = OFFSET_UNKNOWN;
	if (place.err == -ERROR_BUSY) {
		count_lost(LOST_UNATTRIBUTED);
		return false;
	}
	return (op->own_reads | op->waited_read) && !file_filtered();
}

/* Current's fault, if it is in one, ends. @end: enum fault_end. */
GLOBAL int fault_ends(u32 end)
{
	bool wanted = end == FAULT_FAILED || (CONF(all_faults) && end == FAULT_HANDLED);
	struct task_state *t = current_lookup();
	struct op *op;
	u64 now;

	if (!t || t->op.progress != OP_FAULTS)
		return 0;
	op = &t->op;
	if (!wanted && !fault_waited(op)) {
		op->stage = 0;
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (!fault_find(op)) {
		op->stage = 0;
		return 0;
	}
	op->call = CALL_FAULT;
	op->fd = -1;
	op->len = ~0ULL;
	op_finish(t, end == FAULT_FAILED ? -ERROR_IO : 0, now);
	return 0;
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

/* page_fault_user(address, ...) */
SEC("?tp_btf/page_fault_user")
int on_fault(u64 *ctx)
{
	return fault_begins(ctx);
}

/* do_mem_abort(address, syndrome, regs), where no tracepoint tells: also of the kernel's own. */
SEC("?fentry/do_mem_abort")
int on_fault_abort(u64 *ctx)
{
	return regs_are_user((struct pt_regs *)ctx[2]) ? fault_begins(ctx) : 0;
}

/* The kernel has handled a page fault: major or minor. */
SEC("?perf_event")
int on_fault_handled(void *ctx)
{
	fault_ends(FAULT_HANDLED);
	return 0;
}

/* signal_deliver(sig, ...): an I/O error of a fault is SIGBUS. */
SEC("?tp_btf/signal_deliver")
int on_signal(u64 *ctx)
{
	fault_ends((u32)ctx[0] == SIGNAL_BUS ? FAULT_FAILED : FAULT_INTERRUPTED);
	return 0;
}

#endif
