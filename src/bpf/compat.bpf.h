/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.bpf.h - every difference between kernels, one accessor each: WHAT differs, since WHEN,
 * and when to DROP it. No other BPF file asks whether a type or field exists.
 */
#ifndef IOSTRATA_COMPAT_BPF_H
#define IOSTRATA_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "conf.h"

/* dev_t of files' file systems and of disks that are asked for; CONF(n_devs) of them. */
const volatile unsigned int devs[MAX_DEVS];

/* A number of struct conf. Volatile: to have it once more is cheaper than to keep it. */
#define CONF(field)                                                                                \
	({                                                                                         \
		u64 value_;                                                                        \
		asm volatile("%0 = %1 ll"                                                          \
			     : "=r"(value_)                                                        \
			     : "i"((u64)CONF_MARK << 32 | CONF_WHERE(field)));                     \
		value_;                                                                            \
	})

/* Which way is the straight one. */
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define MINOR_BITS 20

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___pre_5_14 {
	long state;
};
struct task_struct___5_14 {
	unsigned int __state;
};
struct bio___pre_5_12 {
	struct gendisk *bi_disk;
};
struct request_queue___5_15 {
	struct gendisk *disk;
};
struct request___pre_5_16 {
	struct gendisk *rq_disk;
};
struct pcpu_hot___6_2 {
	int preempt_count;
};
#pragma clang attribute pop

enum bpf_func_id___any {
	BPF_FUNC_get_current_task_btf___any = 158,
};

/*
 * WHAT  task_struct.state became task_struct.__state, and narrower
 * WHEN  5.14
 * DROP  with the last kernel before it in tests/vm/kernels.txt
 */
static __always_inline unsigned int task_state_bits(struct task_struct *p)
{
	struct task_struct___5_14 *now = (void *)p;

	if (bpf_core_field_exists(now->__state))
		return now->__state;
	return (unsigned int)((struct task_struct___pre_5_14 *)p)->state;
}

/*
 * WHAT  bio.bi_disk became bio.bi_bdev->bd_disk; before, a bio does not know its partition's dev_t
 * WHEN  5.12
 * DROP  with the last kernel before it in tests/vm/kernels.txt
 */
static __always_inline struct gendisk *bio_disk(struct bio *bio)
{
	struct bio___pre_5_12 *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return old->bi_disk;
	return bio->bi_bdev->bd_disk;
}

static __always_inline u32 disk_dev(struct gendisk *disk)
{
	return (u32)disk->major << MINOR_BITS | (u32)disk->first_minor;
}

/* The partition's dev_t, or the disk's where a bio does not say (see bio_disk()). */
static __always_inline u32 bio_part_dev(struct bio *bio)
{
	struct bio___pre_5_12 *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return disk_dev(old->bi_disk);
	return bio->bi_bdev->bd_dev;
}

/*
 * WHAT  request.rq_disk is gone, request_queue.disk is new
 * WHEN  5.15 (queue.disk), 5.17 (rq_disk gone)
 * DROP  with the last kernel before 5.15 in tests/vm/kernels.txt
 */
static __always_inline u32 request_dev(struct request *rq)
{
	struct request_queue___5_15 *q = (void *)rq->q;
	struct request___pre_5_16 *old = (void *)rq;
	struct gendisk *disk;

	if (bpf_core_field_exists(q->disk))
		disk = q->disk;
	else
		disk = old->rq_disk;
	return disk ? disk_dev(disk) : 0;
}

/*
 * WHAT  RQF_FLUSH_SEQ was a macro (bit 4), became a value of an enum and moved; the enum had no
 *       name at first, so that CO-RE cannot find it: session.c looks it up
 * WHEN  6.11
 * DROP  with the last kernel before it in tests/vm/kernels.txt
 */
static __always_inline bool request_in_flush_sequence(struct request *rq)
{
	return rq->rq_flags >> CONF(rqf_flush_seq) & 1;
}

/* bpf_get_smp_processor_id(), declared as wide as it returns: a u32 would first be cut to size. */
static u64 (*const current_cpu)(void) = (void *)8;

/*
 * WHAT  bpf_get_current_task_btf(), whose result can be read without a helper call
 * WHEN  5.11
 * DROP  with the last kernel before it in tests/vm/kernels.txt
 */
static __always_inline bool have_current_btf(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___any,
					  BPF_FUNC_get_current_task_btf___any);
}

static __always_inline u32 current_flags(void)
{
	if (have_current_btf())
		return bpf_get_current_task_btf()->flags;
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags);
}

/* Current, and whether its call is a 32-bit one (x86: TS_COMPAT). */
static __always_inline u64 current_caller(bool *ret_compat)
{
	struct task_struct *task;

	if (have_current_btf()) {
		task = bpf_get_current_task_btf();
		*ret_compat = task->thread_info.status & 2;
	} else {
		task = (void *)bpf_get_current_task();
		*ret_compat = BPF_CORE_READ(task, thread_info.status) & 2;
	}
	return (u64)task;
}

static __always_inline bool current_is_compat(void)
{
	bool compat;

	current_caller(&compat);
	return compat;
}

/*
 * WHAT  bpf_rdonly_cast(): any kernel pointer can be read as typed, without a helper call a field
 * WHEN  6.2; conf.rdonly_cast tells
 * DROP  with the last kernel before it in tests/vm/kernels.txt
 */
extern void *bpf_rdonly_cast(void *obj, u32 btf_id) __ksym __weak;

/* The file that @from points to, typed: read as if it were the field of a structure. */
static __always_inline struct file *file_pointed_to(struct file **from)
{
	u64 base = (u64)from - bpf_core_field_offset(struct kiocb, ki_filp);
	struct kiocb *kiocb;

	kiocb = bpf_rdonly_cast((void *)base, bpf_core_type_id_kernel(struct kiocb));
	return kiocb->ki_filp;
}

/* For each pointer that is read through current, an argument, or a pointer from there, verifiers
 * since 6.4 search all types of the kernel several times: 64 times in a loop. They do not through
 * one that was cast; at run time that costs a few instructions. */
static __always_inline struct task_struct *task_untrusted(struct task_struct *task)
{
	if (!CONF(rdonly_cast))
		return task;
	return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
}

static __always_inline struct request *request_untrusted(struct request *rq)
{
	if (!CONF(rdonly_cast))
		return rq;
	return bpf_rdonly_cast(rq, bpf_core_type_id_kernel(struct request));
}

static __always_inline struct bio *bio_untrusted(struct bio *bio)
{
	if (!CONF(rdonly_cast))
		return bio;
	return bpf_rdonly_cast(bio, bpf_core_type_id_kernel(struct bio));
}

/*
 * WHAT  programs of tp_btf can be preempted, and a hit by another thread of that CPU meanwhile is
 *       refused as recursion; those of perf's tracepoints cannot, but see no registers
 * WHEN  7.0 (tracepoints are guarded by SRCU); session.c chooses
 * DROP  never
 */
struct perf_sys_event {
	u64 common;
	u64 nr;
	u64 ret;	/* sys_enter: the first argument */
};

static __always_inline struct pt_regs *current_regs(void)
{
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/*
 * WHAT  programs can forbid that they are preempted, which keeps a switch from coming between two
 *       writes to the state of a thread; not that they are refused (see above): the switch comes
 *       when they allow it again, still inside
 * WHEN  6.10; conf.guarded tells
 * DROP  never
 */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void preemption_off(void)
{
	if (CONF(guarded))
		bpf_preempt_disable();
}

static __always_inline void preemption_on(void)
{
	if (CONF(guarded))
		bpf_preempt_enable();
}

/* x86: the first two arguments, and the result, of the function that a kprobe is on. */
static __always_inline u64 kprobe_arg(struct pt_regs *ctx, u32 n)
{
	return n == 0 ? ctx->di : ctx->si;
}

static __always_inline long kprobe_ret(struct pt_regs *ctx)
{
	return ctx->ax;
}

/*
 * WHAT  where x86 keeps the preemption count: __preempt_count, in pcpu_hot, __preempt_count again
 * WHEN  6.2, 6.15
 * DROP  never; other architectures keep it in thread_info
 *
 * Which interrupt level this is: hard interrupt and NMI bits, and the bit of a softirq being
 * served (include/linux/preempt.h). A kernel without CONFIG_KALLSYMS_ALL does not let programs
 * have that variable, even unused: they must be loaded in the variant without it (@known false),
 * where every level is 0.
 */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot___6_2 pcpu_hot __ksym __weak;

static __always_inline u32 interrupt_level(bool known)
{
	const u32 mask = 0xff0000 | 0x100;

	if (!known)
		return 0;
	if (&__preempt_count)
		return *(int *)bpf_this_cpu_ptr(&__preempt_count) & mask;
	if (&pcpu_hot)
		return ((struct pcpu_hot___6_2 *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count & mask;
	return 0;
}

#endif
