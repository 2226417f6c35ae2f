/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.bpf.h - every difference between kernels that the programs meet, one accessor each. WHAT
 * differs, WHEN it changed, when to DROP the accessor. SAME names the accessor that says so. Only
 * this file and arch_*.bpf.h ask whether a type or field exists.
 */
#ifndef IOSTRATA_COMPAT_BPF_H
#define IOSTRATA_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "common.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___pre_5_14 {
	long state;
};
struct task_struct___5_14 {
	unsigned int __state;
};
struct task_struct___5_17 {
	void *worker_private;
};
struct workqueue_struct___pre_6_9 {
	char name[24];
};
struct bio___with_cgroups {
	struct blkcg_gq *bi_blkg;
};
struct bio___pre_5_12 {
	struct gendisk *bi_disk;
};
struct device___any {
	unsigned int devt;
};
struct hd_struct___pre_5_11 {
	struct device___any __dev;
};
struct gendisk___pre_5_11 {
	struct hd_struct___pre_5_11 part0;
};
struct block_device___5_11 {
	struct device___any bd_device;
};
struct gendisk___5_11 {
	struct block_device___5_11 *part0;
};
struct request_queue___5_15 {
	struct gendisk *disk;
};
struct request___pre_5_16 {
	struct gendisk *rq_disk;
};
struct cgroup___pre_6_1 {
	u64 ancestor_ids[1];
};
struct page___pre_7_1 {
	unsigned long compound_head;
};
struct page___7_1 {
	unsigned long compound_info;
};
struct io_kiocb___6_9 {
	u64 flags;
};
#pragma clang attribute pop

enum bpf_func_id___any {
	BPF_FUNC_get_current_task_btf___any = 158,
	BPF_FUNC_task_pt_regs___any = 175,
};

/*
 * WHAT  task_struct.state became task_struct.__state, and narrower
 * WHEN  5.14
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static __always_inline unsigned int task_state_bits(struct task_struct *p)
{
	struct task_struct___5_14 *now = (void *)p;

	if (bpf_core_field_exists(now->__state))
		return now->__state;
	return (unsigned int)((struct task_struct___pre_5_14 *)p)->state;
}

/*
 * WHAT  a task's time of waiting for a CPU is counted only with CONFIG_SCHED_INFO
 * WHEN  every version: an option of the kernel's configuration
 * DROP  never
 *
 * ns since the task began; without the option has_run_delay() is false, and the time 0.
 */
static __always_inline bool has_run_delay(void)
{
	struct task_struct *p = NULL;

	return bpf_core_field_exists(p->sched_info.run_delay);
}

static __always_inline u64 task_run_delay(struct task_struct *p)
{
	return has_run_delay() ? BPF_CORE_READ(p, sched_info.run_delay) : 0;
}

/*
 * WHAT  bio.bi_disk became bio.bi_bdev->bd_disk; older bios do not know their partition's dev_t
 * WHEN  5.12
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static __always_inline struct gendisk *bio_disk(struct bio *bio)
{
	struct bio___pre_5_12 *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return old->bi_disk;
	return bio->bi_bdev->bd_disk;
}

/*
 * WHAT  a bio has a cgroup only with CONFIG_BLK_CGROUP
 * WHEN  every version: an option of the kernel's configuration
 * DROP  never
 *
 * NULL without the option, or if the io controller belongs to cgroup v1.
 */
static __always_inline struct cgroup *bio_cgroup(struct bio *bio)
{
	struct bio___with_cgroups *with = (void *)bio;
	struct cgroup *cgroup;

	if (!bpf_core_field_exists(with->bi_blkg))
		return NULL;
	cgroup = BPF_CORE_READ(with, bi_blkg, blkcg, css.cgroup);
	/* number 0 is the default hierarchy: cgroup v2 */
	return cgroup && !BPF_CORE_READ(cgroup, root, hierarchy_id) ? cgroup : NULL;
}

/*
 * WHAT  page.compound_head (address of the first page | 1) became page.compound_info: a mask for
 *       the page's own address, if sizeof(struct page) is a power of two
 * WHEN  7.1
 * DROP  with the last older kernel in tests/vm/kernels.txt
 *
 * Bit 0: the page is not the first of its folio.
 */
static __always_inline u64 page_info(struct page *page, bool typed)
{
	struct page___pre_7_1 *before = (void *)page;
	struct page___7_1 *now = (void *)page;

	if (bpf_core_field_exists(now->compound_info))
		return READ(typed, now, compound_info);
	return READ(typed, before, compound_head);
}

/* The first page of @page's folio. page_info() is a mask if its upper half is all ones: no page has
 * such an address. */
static __always_inline struct page *page_head(struct page *page)
{
	u64 info = page_info(page, false);

	if (!(info & 1))
		return page;
	return (void *)(info >> 32 == 0xffffffff ? (u64)page & info : info - 1);
}

static __always_inline u32 disk_dev(struct gendisk *disk)
{
	return (u32)disk->major << MINOR_BITS | (u32)disk->first_minor;
}

/*
 * WHAT  gendisk.part0 was a struct hd_struct, and became a pointer to a struct block_device
 * WHEN  5.11
 * DROP  with the last older kernel in tests/vm/kernels.txt
 *
 * Whether @disk is a path of NVMe multipath: it has no device file. The flag GENHD_FL_HIDDEN says
 * so, too, but its value has changed. The first minor of such a disk is a number all the same.
 */
static __always_inline bool disk_is_hidden(struct gendisk *disk)
{
	struct gendisk___5_11 *now = (void *)disk;

	if (bpf_core_field_exists(now->part0))
		return !BPF_CORE_READ(now, part0, bd_device.devt);
	return !BPF_CORE_READ((struct gendisk___pre_5_11 *)disk, part0.__dev.devt);
}

/*
 * SAME  as bio_disk()
 *
 * The dev_t of the bio's partition, or of its disk on kernels whose bios do not know the partition.
 */
static __always_inline u32 bio_part_dev(struct bio *bio)
{
	struct bio___pre_5_12 *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return disk_dev(old->bi_disk);
	return bio->bi_bdev->bd_dev;
}

/*
 * WHAT  bpf_rdonly_cast(): any kernel pointer can be read as typed, without a BPF helper call for
 *       each field
 * WHEN  6.2; conf.rdonly_cast says whether the kernel has it
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static void *(*const rdonly_cast)(void *obj, u64 type) = (void *)BLANK_RDONLY_CAST;

/*
 * SAME  as rdonly_cast()
 *
 * Since 6.4 the verifier searches all types of the kernel for each pointer read through current, an
 * argument, or a pointer from there: several times, in a loop 64 times. It does not for a pointer
 * from bpf_rdonly_cast(). The cast costs ten instructions at run time: too much for fields that
 * each request reads.
 */
static __always_inline struct task_struct *task_untrusted(struct task_struct *task)
{
	if (!CONF(rdonly_cast))
		return task;
	return rdonly_cast(task, BLANK_TASK_STRUCT);
}

/* SAME  as rdonly_cast() */
static __always_inline struct request *request_untrusted(struct request *rq)
{
	if (!CONF(rdonly_cast))
		return rq;
	return rdonly_cast(rq, BLANK_REQUEST);
}

/* SAME  as rdonly_cast() */
static __always_inline struct bio *bio_untrusted(struct bio *bio)
{
	if (!CONF(rdonly_cast))
		return bio;
	return rdonly_cast(bio, BLANK_BIO);
}

/*
 * WHAT  request.rq_disk is gone, request_queue.disk is new
 * WHEN  5.15 (queue.disk), 5.17 (rq_disk gone)
 * DROP  with the last kernel before 5.15 in tests/vm/kernels.txt
 */
static __always_inline struct gendisk *request_disk(struct request *rq)
{
	struct request_queue___5_15 *q = (void *)request_untrusted(rq)->q;
	struct request___pre_5_16 *old = (void *)rq;

	if (bpf_core_field_exists(q->disk))
		return q->disk;
	return old->rq_disk;
}

/*
 * WHAT  RQF_FLUSH_SEQ was a macro (bit 4), then became a value of an enum and moved; CO-RE cannot
 *       find it where the enum has no name, so user space looks it up (conf.rqf_flush_seq)
 * WHEN  6.11
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static __always_inline bool request_in_flush_sequence(struct request *rq)
{
	return rq->rq_flags >> CONF(rqf_flush_seq) & 1;
}

/*
 * WHAT  bpf_get_current_task_btf(), whose result can be read without a BPF helper call
 * WHEN  5.11
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static __always_inline bool have_current_btf(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___any,
					  BPF_FUNC_get_current_task_btf___any);
}

/* SAME  as have_current_btf() */
static __always_inline u32 current_flags(void)
{
	if (have_current_btf())
		return bpf_get_current_task_btf()->flags;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags);
}

/*
 * WHAT  the struct kthread of a kernel thread moved from task_struct.set_child_tid to
 *       task_struct.worker_private
 * WHEN  5.17
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static __always_inline struct kthread *task_kthread(struct task_struct *task)
{
	struct task_struct___5_17 *now = (void *)task;

	if (bpf_core_field_exists(now->worker_private))
		return BPF_CORE_READ(now, worker_private);
	return (void *)BPF_CORE_READ(task, set_child_tid);
}

/*
 * WHAT  workqueue_struct.name grew: its type has no size that fits all kernels
 * WHEN  6.9
 * DROP  with the last older kernel in tests/vm/kernels.txt
 *
 * The first @len bytes of the name of the workqueue for which @task, a worker, works now. All 0 if
 * the worker has no work.
 */
static __always_inline void worker_queue(struct task_struct *task, void *ret_name, u32 len)
{
	struct worker *worker = BPF_CORE_READ(task_kthread(task), data);
	struct workqueue_struct___pre_6_9 *wq;

	wq = (void *)BPF_CORE_READ(worker, current_pwq, wq);
	bpf_core_read(ret_name, len, &wq->name); /* fills with 0 if it cannot read */
}

/*
 * SAME  as have_current_btf()
 *
 * When current was born: CLOCK_MONOTONIC, ns.
 */
static __always_inline u64 current_start_time(void)
{
	if (have_current_btf())
		return bpf_get_current_task_btf()->start_time;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), start_time);
}

#ifdef COMPAT_FIELD
/*
 * SAME  as have_current_btf()
 *
 * The task_struct of current, and whether its system call is a 32-bit one.
 */
static __always_inline u64 current_caller(bool *ret_compat)
{
	struct task_struct *task;

	if (have_current_btf()) {
		task = bpf_get_current_task_btf();
		*ret_compat = task->COMPAT_FIELD & COMPAT_BIT;
	} else {
		task = (void *)bpf_get_current_task();
		*ret_compat = BPF_CORE_READ(task, COMPAT_FIELD) & COMPAT_BIT;
	}
	return (u64)task;
}
#endif

/*
 * WHAT  cgroup.ancestor_ids became cgroup.ancestors; with the former, tracing programs cannot call
 *       the BPF helper bpf_get_current_ancestor_cgroup_id()
 * WHEN  6.1
 * DROP  with the last older kernel in tests/vm/kernels.txt
 *
 * The id of the ancestor of current's cgroup at @level; of current's cgroup itself at its own
 * level; 0 below it.
 */
static __always_inline u64 current_ancestor_cgroup(int level)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cgroup___pre_6_1 *old = NULL;
	struct cgroup *cgrp;
	u64 id = 0;

	if (!bpf_core_field_exists(old->ancestor_ids))
		return bpf_get_current_ancestor_cgroup_id(level);
	cgrp = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	if (level > BPF_CORE_READ(cgrp, level))
		return 0;
	bpf_probe_read_kernel(&id, sizeof(id),
			      (void *)cgrp + level * sizeof(id) +
				      bpf_core_field_offset(old->ancestor_ids));
	return id;
}

/*
 * SAME  as rdonly_cast()
 *
 * The file to which @from points, as a typed pointer: reads @from as if it were kiocb.ki_filp.
 */
static __always_inline struct file *file_pointed_to(struct file **from)
{
	u64 base = (u64)from - bpf_core_field_offset(struct kiocb, ki_filp);
	struct kiocb *kiocb;

	kiocb = rdonly_cast((void *)base, BLANK_KIOCB);
	return kiocb->ki_filp;
}

/*
 * WHAT  a program of tp_btf can be preempted; the kernel refuses, as recursion, to run it for
 *       another thread of this CPU meanwhile. Programs on perf's tracepoints cannot be preempted,
 *       but get no registers.
 * WHEN  7.0 (SRCU guards tracepoints); the plan chooses the programs to load
 * DROP  never
 */
struct perf_sys_event {
	u64 common;
	u64 nr;
	u64 ret; /* sys_enter: the first argument */
};

/* Whether the kernel says of current's sleep that it waits for I/O. */
static __always_inline bool current_in_iowait(void)
{
	return BPF_CORE_READ_BITFIELD_PROBED((struct task_struct *)bpf_get_current_task(),
					     in_iowait);
}

/*
 * WHAT  bpf_snprintf(), which names functions
 * WHEN  5.13; conf.names_functions says whether the kernel has it
 * DROP  with the last older kernel in tests/vm/kernels.txt
 *
 * Writes the name of the kernel's function with the address @at to @ret_name, and cuts it to @len
 * bytes with the 0. Returns a negative number if it cannot.
 */
static __always_inline long function_name(u64 at, void *ret_name, u32 len)
{
	static const char format[] = "%ps";

	return bpf_snprintf(ret_name, len, format, &at, sizeof(at));
}

/*
 * WHAT  bpf_task_pt_regs()
 * WHEN  5.15
 * DROP  with the last older kernel in tests/vm/kernels.txt
 */
static __always_inline bool have_task_regs(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___any, BPF_FUNC_task_pt_regs___any);
}

static __always_inline struct pt_regs *current_regs(void)
{
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/*
 * WHAT  a file that overlayfs maps has the path of the layer below in file.f_path; the path that
 *       the user opened is in backing_file.user_path
 * WHEN  6.7
 * DROP  with the last older kernel in tests/vm/kernels.txt
 *
 * A pointer through which f_path reads the path that the user opened. No other field of it is
 * valid.
 */
static __always_inline struct file *file_as_mapped(struct file *file)
{
	struct backing_file *backing = (void *)file;

	if (!bpf_core_field_exists(backing->user_path))
		return file;
	return (void *)file + bpf_core_field_offset(backing->user_path) -
	       bpf_core_field_offset(file->f_path);
}

/*
 * WHAT  io_kiocb.flags became wider
 * WHEN  6.9
 * DROP  never: the same code reads both
 */
static __always_inline u32 uring_flags(struct io_kiocb *req)
{
	return ((struct io_kiocb___6_9 *)req)->flags;
}

/*
 * SAME  as have_current_btf(), where the count is a field of the thread
 *
 * The interrupt level of the running code: the bits of hard interrupts and NMIs, and the bit of a
 * softirq being served (include/linux/preempt.h). 0 if the kernel hides the level: @known false.
 */
enum { HARD_INTERRUPT = 0xff0000, SOFT_INTERRUPT = 0x100 };

static __always_inline u32 interrupt_level(bool known)
{
	const u32 mask = HARD_INTERRUPT | SOFT_INTERRUPT;

	if (!known)
		return 0;
#ifndef PREEMPT_COUNT_FIELD
	return cpu_preempt_count() & mask;
#else
	if (have_current_btf())
		return bpf_get_current_task_btf()->PREEMPT_COUNT_FIELD & mask;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), PREEMPT_COUNT_FIELD) &
	       mask;
#endif
}

#endif
