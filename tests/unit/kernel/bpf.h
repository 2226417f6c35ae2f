/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bpf.h - what the programs of src/bpf rest on, for a process without a kernel: maps, BPF helpers,
 * and the accessors of compat.bpf.h, which this takes the place of. A test says what the time is,
 * who is on which CPU, and what a kernel's structures contain, and calls the programs as the kernel
 * would.
 *
 * To be included before src/bpf/trace.bpf.c, once in a test.
 */
#ifndef IOSTRATA_TEST_BPF_H
#define IOSTRATA_TEST_BPF_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#ifdef __clang__ /* it knows the pragma, but the attribute for BPF alone */
#pragma clang diagnostic ignored "-Wunknown-attributes"
#endif
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
/* up to the end of the machine: an unused function of a test is a test that never runs */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

/* The headers of libbpf, and compat.bpf.h, are found to be included already. */
#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__
#define IOSTRATA_COMPAT_BPF_H

#undef __always_inline
#define __always_inline inline
#define SEC(name)       __attribute__((used))
#define __ksym
#define __weak           __attribute__((weak))
#define __uint(name, n)  int(*name)[n]
#define __type(name, t)  __typeof__(t) *name
#define __array(name, t) __typeof__(t) *name[]
#define barrier()        barrier_comes()
#define barrier_var(v)   asm volatile("" : "+r"(v))

/* A map of @max entries. Arrays are all 0, and lie in one piece. */
struct entry {
	UT_hash_handle hh;
	char *value;
	char key[];
};

struct kmap {
	const void *at;
	unsigned int key_size, value_size, max;
	struct entry *entries;
	char *array;
	unsigned int
		refusals; /* so many updates that would insert fail, as if the kernel refused */
	/* what another CPU does before the next one, if anything */
	void (*before_update)(void);
	void (*before_lookup)(void);
};

static struct kmap kmaps[64];
static unsigned int n_kmaps;

#define MAP(map, n)             map_add(&(map), sizeof(*(map).key), sizeof(*(map).value), n, false)
#define MAP_ARRAY(map, n)       map_add(&(map), sizeof(*(map).key), sizeof(*(map).value), n, true)
#define MAP_SIZED(map, size, n) map_add(&(map), sizeof(*(map).key), size, n, true)

static void map_add(const void *at, unsigned int key_size, unsigned int value_size,
		    unsigned int max, int is_array)
{
	struct kmap *m = &kmaps[n_kmaps++];

	*m = (struct kmap){ .at = at, .key_size = key_size, .value_size = value_size, .max = max };
	if (is_array)
		m->array = calloc(max, value_size);
}

static struct kmap *map_of(const void *at)
{
	for (unsigned int i = 0; i < n_kmaps; i++)
		if (kmaps[i].at == at)
			return &kmaps[i];
	fprintf(stderr, "a map that the test does not know\n");
	abort();
}

static void entry_free(struct kmap *m, struct entry *e)
{
	HASH_DEL(m->entries, e);
	free(e->value);
	free(e);
}

static void maps_free(void)
{
	struct entry *e, *next;

	for (unsigned int i = 0; i < n_kmaps; i++) {
		HASH_ITER (hh, kmaps[i].entries, e, next)
			entry_free(&kmaps[i], e);
		free(kmaps[i].array);
	}
	n_kmaps = 0;
}

static struct entry *entry_find(struct kmap *m, const void *key)
{
	struct entry *e;

	HASH_FIND(hh, m->entries, key, m->key_size, e);
	return e;
}

static void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct kmap *m = map_of(map);
	void (*before)(void) = m->before_lookup;
	unsigned int i;
	struct entry *e;

	m->before_lookup = NULL;
	if (before)
		before();
	if (m->array) {
		memcpy(&i, key, sizeof(i));
		return i < m->max ? m->array + (size_t)i * m->value_size : NULL;
	}
	e = entry_find(m, key);
	return e ? e->value : NULL;
}

static long bpf_map_delete_elem(const void *map, const void *key)
{
	struct kmap *m = map_of(map);
	struct entry *e = entry_find(m, key);

	if (!e)
		return -2; /* ENOENT */
	entry_free(m, e);
	return 0;
}

static long bpf_map_update_elem(const void *map, const void *key, const void *value,
				unsigned long long flags)
{
	struct kmap *m = map_of(map);
	void (*before)(void) = m->before_update;
	struct entry *e;

	m->before_update = NULL;
	if (before)
		before();
	e = entry_find(m, key);
	if (e && flags == 1)
		return -17; /* BPF_NOEXIST, EEXIST */
	if (!e && flags == 2)
		return -2; /* BPF_EXIST, ENOENT */
	if (!e) {
		if (HASH_COUNT(m->entries) >= m->max || (m->refusals && m->refusals--))
			return -7; /* E2BIG */
		e = calloc(1, sizeof(*e) + m->key_size);
		e->value = malloc(m->value_size);
		memcpy(e->key, key, m->key_size);
		HASH_ADD_KEYPTR(hh, m->entries, e->key, m->key_size, e);
	}
	memcpy(e->value, value, m->value_size);
	return 0;
}

static unsigned int map_count(const void *map)
{
	return HASH_COUNT(map_of(map)->entries);
}

#define bpf_this_cpu_ptr(p) ((void *)(p))
#define on_exit             on_thread_exit /* the C library has one, too */

/* Structures whose members the programs find by their offsets in the kernel, not by those here. */
#define io_kiocb  io_kiocb___vmlinux
#define io_open   io_open___vmlinux
#define io_close  io_close___vmlinux
#define io_splice io_splice___vmlinux
#define aio_kiocb aio_kiocb___vmlinux
#undef NULL
#include "bpf/vmlinux.h"
#undef io_kiocb
#undef io_open
#undef io_close
#undef io_splice
#undef aio_kiocb
#include "bpf/conf.h"
#include "cell.h"

struct io_open {
	struct file *file;
	u32 file_slot;
};

struct io_close {
	struct file *file;
	int fd;
	u32 file_slot;
};

struct io_splice {
	struct file *file;
	int splice_fd_in;
	unsigned int flags;
};

struct io_kiocb {
	union {
		struct file *file;
		struct io_rw rw;
		struct io_open open;
		struct io_close close;
		struct io_splice splice;
	};
	u8 opcode;
	u32 flags;
	struct io_ring_ctx *ctx;
	struct io_cqe cqe;
	struct io_wq_work_node comp_list;
	struct io_wq_work work;
};

struct aio_kiocb {
	struct kiocb rw;
	struct io_event ki_res;
};

struct bpf_conf conf;

/* A barrier: writes above precede writes below, since a switch to another thread may come in
 * between. */
static inline void barrier_comes(void);

/* The state of the machine, set by the test. */
struct ktask;
static struct {
	u64 now;
	u32 cpu;
	u32 level; /* of interrupts: HARD_INTERRUPT ... */
	struct ktask *current;
	u64 cookie;                 /* of the program that runs: 1 for a backup */
	struct vm_area_struct *vma; /* of every address; NULL: none */
	u32 random;                 /* what bpf_get_prandom_u32() returns */
	u32 vma_busy;               /* so many look-ups of it fail first */
	struct file *opened;        /* instead of the file of a layer below that overlayfs maps */
	int fd_offset;
	struct cgroup *bio_cgroup;        /* of every bio */
	int cgroups_between;              /* levels between the root and each thread's cgroup */
	struct page *tail;                /* not the first page of its folio, but the second */
	bool no_current_btf;              /* a kernel that has no bpf_get_current_task_btf() */
	bool names_nothing;               /* a kernel that is naming other functions */
	u64 names;                        /* functions that it has named */
	int (*goes_on)(void *ctx, u32 i); /* in another program; not 0: there is none */
	u64 printed[8], prints;           /* by an iterator: the last line's, and how many */
	struct listed_task listed;        /* likewise: the last thread; and how many */
	int lists;
	void (*at_barrier)(void); /* what comes between, if anything does */
} machine;

static inline void barrier_comes(void)
{
	asm volatile("" ::: "memory");
	if (machine.at_barrier)
		machine.at_barrier();
}

/* A thread, beside what programs see of it: first, so that they have the same address. */
struct ktask {
	struct task_struct t;
	unsigned int state; /* 0: runnable */
	u64 cgroup;
	char queue[24]; /* of a worker: its workqueue */
	struct pt_regs regs;
	struct signal_struct signal;
	struct sighand_struct sighand;
	struct files_struct files;
	struct fdtable fdt;
	struct file *fd[8];
	u64 stack[SITE_CALLERS];
};

#define bpf_core_field_offset(t, f) __builtin_offsetof(t, f)
#define bpf_core_type_size(t)       sizeof(t)

/* Up to four members; a null pointer on the way gives 0. */
#define READ_1(p, a)                                                                               \
	({                                                                                         \
		__typeof__(p) p1_ = (p);                                                           \
		__typeof__(p1_->a) v1_;                                                            \
		__builtin_memset((void *)&v1_, 0, sizeof(v1_));                                    \
		if (is_pointer(p1_))                                                               \
			__builtin_memcpy((void *)&v1_, (const void *)&p1_->a, sizeof(v1_));        \
		v1_;                                                                               \
	})
#define READ_2(p, a, b)                                                                            \
	({                                                                                         \
		__typeof__(p) p2_ = (p);                                                           \
		READ_1(READ_1(p2_, a), b);                                                         \
	})
#define READ_3(p, a, b, c)                                                                         \
	({                                                                                         \
		__typeof__(p) p3_ = (p);                                                           \
		READ_1(READ_2(p3_, a, b), c);                                                      \
	})
#define READ_4(p, a, b, c, d)                                                                      \
	({                                                                                         \
		__typeof__(p) p4_ = (p);                                                           \
		READ_1(READ_3(p4_, a, b, c), d);                                                   \
	})
#define READ_N(_1, _2, _3, _4, n, ...) READ_##n
#define BPF_CORE_READ(p, ...)          READ_N(__VA_ARGS__, 4, 3, 2, 1, 0)(p, __VA_ARGS__)
#define BPF_CORE_READ_STR_INTO(dst, p, ...)                                                        \
	bpf_probe_read_kernel_str(dst, sizeof(*(dst)), STR_AT(__VA_ARGS__, 2, 1, 0)(p, __VA_ARGS__))
#define STR_AT(_1, _2, n, ...) STR_AT_##n
#define STR_AT_1(p, a)         ((const void *)&(p)->a)
#define STR_AT_2(p, a, b)      ((const void *)&(p)->a->b)
/* Where a program goes on in another, it is as if that were not loaded, unless the test has one. */
#define bpf_tail_call(ctx, map, i)                                                                 \
	do {                                                                                       \
		if (machine.goes_on && !machine.goes_on(ctx, i))                                   \
			return;                                                                    \
	} while (0)
#define BPF_SEQ_PRINTF(seq, ...)      seq_print(seq, __VA_ARGS__)
#define bpf_core_read(dst, size, src) bpf_probe_read_kernel(dst, size, src)

static bool is_pointer(const void *p)
{
	return (unsigned long)p + 4096 >= 2 * 4096; /* nor near the end, as a NULL's container */
}

static long bpf_probe_read_kernel(void *dst, u32 size, const void *src)
{
	if (!is_pointer(src)) {
		memset(dst, 0, size);
		return -14; /* EFAULT */
	}
	memcpy(dst, src, size);
	return 0;
}

#define bpf_probe_read_user     bpf_probe_read_kernel
#define bpf_probe_read_user_str bpf_probe_read_kernel_str

static long bpf_probe_read_kernel_str(void *dst, u32 size, const void *src)
{
	char *to = dst;
	u32 n;

	if (!is_pointer(src))
		return -14;
	for (n = 0; n < size - 1 && ((const char *)src)[n]; n++)
		to[n] = ((const char *)src)[n];
	to[n] = 0;
	return n + 1;
}

static u64 bpf_ktime_get_ns(void)
{
	return machine.now;
}

static u64 bpf_get_current_task(void)
{
	return (u64)machine.current;
}

static struct task_struct *bpf_get_current_task_btf(void)
{
	if (machine.no_current_btf)
		abort();
	return &machine.current->t;
}

static u64 bpf_get_current_pid_tgid(void)
{
	return (u64)(u32)machine.current->t.tgid << 32 | (u32)machine.current->t.pid;
}

static u64 bpf_get_current_cgroup_id(void)
{
	return machine.current->cgroup;
}

static long bpf_get_current_comm(void *buf, u32 size)
{
	strncpy(buf, machine.current->t.comm, size);
	return 0;
}

/* In the tool's namespace every id is 1,000 less; those below are not in it. */
static long bpf_get_ns_current_pid_tgid(u64 dev, u64 ino, struct bpf_pidns_info *ns, u32 size)
{
	if (machine.current->t.pid < 1000 || dev != conf.pidns_dev || ino != conf.pidns_ino)
		return -22;
	ns->pid = machine.current->t.pid - 1000;
	ns->tgid = machine.current->t.tgid - 1000;
	return 0;
}

static void seq_print(struct seq_file *seq, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (size_t i = 0; i < sizeof(machine.printed) / sizeof(*machine.printed); i++)
		machine.printed[i] = va_arg(args, u64);
	va_end(args);
	machine.prints++;
}

static long bpf_seq_write(struct seq_file *seq, const void *data, u32 len)
{
	memcpy(&machine.listed, data, len == sizeof(machine.listed) ? len : 0);
	machine.lists++;
	return 0;
}

static u64 bpf_get_attach_cookie(void *ctx)
{
	return machine.cookie;
}

static long bpf_task_pt_regs(struct task_struct *task)
{
	return (long)&((struct ktask *)task)->regs;
}

static long bpf_get_task_stack(struct task_struct *task, void *buf, u32 size, u64 flags)
{
	const u64 *stack = ((struct ktask *)task)->stack;
	u32 skip = (flags & 0xff) * sizeof(*stack);

	memset(buf, 0, size);
	memcpy(buf, (const char *)stack + skip, size - skip);
	return size;
}

static long bpf_loop(u32 n, long (*func)(u32, void *), void *arg, u64 flags)
{
	if (flags)
		return -22; /* EINVAL */
	for (u32 i = 0; i < n; i++)
		if (func(i, arg))
			return i + 1;
	return n;
}

static u32 bpf_get_prandom_u32(void)
{
	return machine.random;
}

static long bpf_find_vma(struct task_struct *task, u64 address,
			 long (*func)(struct task_struct *, struct vm_area_struct *, void *),
			 void *arg, u64 flags)
{
	if (machine.vma_busy) {
		machine.vma_busy--;
		return -16; /* EBUSY */
	}
	if (flags)
		return -22;
	if (!machine.vma || address < machine.vma->vm_start)
		return -2;
	if (func(task, machine.vma, arg))
		abort(); /* the verifier wants 0 */
	return 0;
}

/* Sent records, the last first; at most ring_room of them fit. Bytes that no program writes are
 * whatever was there before. The counters have user space's wakings: forced ones, and usual ones,
 * which come only if user space waits. */
struct message {
	struct message *next;
	const void *ring;
	u64 flags; /* with which it was submitted: 0: user space is woken if it waits */
	u32 size;
	char data[] __attribute__((aligned(8)));
};
static struct message *messages;
static u32 ring_room = ~0U, wakeups_forced, wakeups_usual;

static void ringbuf_wake(u64 flags)
{
	wakeups_forced += !!(flags & BPF_RB_FORCE_WAKEUP);
	wakeups_usual += !flags;
}

static void *bpf_ringbuf_reserve(void *map, u64 size, u64 flags)
{
	struct message *s;

	if (!ring_room || flags)
		return NULL;
	ring_room--;
	s = malloc(sizeof(*s) + size);
	memset(s, 0xa5, sizeof(*s) + size);
	s->ring = map;
	s->size = size;
	return s->data;
}

static void bpf_ringbuf_submit(void *data, u64 flags)
{
	struct message *s = (void *)((char *)data - __builtin_offsetof(struct message, data));

	s->flags = flags;
	s->next = messages;
	messages = s;
	ringbuf_wake(flags);
}

static void bpf_ringbuf_discard(void *data, u64 flags)
{
	ringbuf_wake(flags);
	free((char *)data - __builtin_offsetof(struct message, data));
}

static long bpf_ringbuf_output(void *map, void *data, u64 size, u64 flags)
{
	void *to = bpf_ringbuf_reserve(map, size, 0);

	if (!to)
		return -11;
	memcpy(to, data, size);
	bpf_ringbuf_submit(to, flags);
	return 0;
}

static void messages_free(void)
{
	struct message *s;

	while ((s = messages)) {
		messages = s->next;
		free(s);
	}
}

/* compat.bpf.h: a kernel that has all that the latest one has. */
struct filter_lists lists;
#define CONF(field)           (conf.field)
#define CONF_AT(array, i)     (conf.array[i])
#define FOR_LISTED(i, n)      for (u64 i = 0; i < CONF(n); i++)
#define READ(typed, p, field) ((typed) ? (p)->field : BPF_CORE_READ(p, field))
#define likely(x)             (x)
#define unlikely(x)           (x)
#define MINOR_BITS            20
#define have_current_btf()    (!machine.no_current_btf)
#define task_untrusted(p)     (p)
#define request_untrusted(p)  (p)
#define bio_untrusted(p)      (p)
#define current_regs()        (&machine.current->regs)
#define have_task_regs()      (!machine.no_current_btf)
#define file_as_mapped(file)  (machine.opened ? machine.opened : (file))

/* Each page of the kernel has one function, "f0" in the first. */
static long function_name(u64 at, void *ret_name, u32 len)
{
	if (machine.names_nothing)
		return -16; /* EBUSY */
	machine.names++;
	return snprintf(ret_name, len, "f%lx", (unsigned long)(at >> 12));
}

enum { HARD_INTERRUPT = 0xff0000, SOFT_INTERRUPT = 0x100 };

struct perf_sys_event {
	u64 common, nr, ret;
};

struct kthread;
static struct kthread *task_kthread(struct task_struct *task)
{
	return (struct kthread *)task->set_child_tid;
}

static bool current_in_iowait(void)
{
	return machine.current->t.in_iowait;
}

static unsigned int task_state_bits(struct task_struct *p)
{
	return ((struct ktask *)p)->state;
}

static bool has_run_delay(void)
{
	return true;
}

static u64 task_run_delay(struct task_struct *p)
{
	return p->sched_info.run_delay;
}

static struct gendisk *bio_disk(struct bio *bio)
{
	return bio->bi_bdev->bd_disk;
}

static u32 disk_dev(struct gendisk *disk)
{
	return (u32)disk->major << MINOR_BITS | (u32)disk->first_minor;
}

static u32 bio_part_dev(struct bio *bio)
{
	return bio->bi_bdev->bd_dev;
}

static struct cgroup *bio_cgroup(struct bio *bio)
{
	return machine.bio_cgroup;
}

static u64 page_info(struct page *page, bool typed)
{
	return page == machine.tail;
}

static struct page *page_head(struct page *page)
{
	return page == machine.tail ? page - 1 : page;
}

/* A request's disk lies before its queue; see struct kdisk. */
static struct gendisk *request_disk(struct request *rq)
{
	return rq->q ? (struct gendisk *)rq->q - 1 : NULL;
}

/* Hidden disks have no number here. */
static bool disk_is_hidden(struct gendisk *disk)
{
	return !disk || !disk->major;
}

static bool request_in_flush_sequence(struct request *rq)
{
	return rq->rq_flags >> CONF(rqf_flush_seq) & 1;
}

static u64 current_cpu(void)
{
	return machine.cpu;
}

static u32 current_flags(void)
{
	return machine.current->t.flags;
}

static void worker_queue(struct task_struct *task, void *ret_name, u32 len)
{
	memcpy(ret_name, ((struct ktask *)task)->queue, len);
}

static u64 current_start_time(void)
{
	return machine.current->t.start_time;
}

static u64 current_caller(bool *ret_compat)
{
	*ret_compat = machine.current->t.thread_info.status & COMPAT_BIT;
	return (u64)machine.current;
}

/* Cgroups of current: 1 at level 0, others between, and its own at the lowest level. */
static u64 current_ancestor_cgroup(int level)
{
	int own = 1 + machine.cgroups_between;

	return level == 0     ? 1
	       : level < own  ? 9000 + level
	       : level == own ? machine.current->cgroup
			      : 0;
}

/* By bpf_rdonly_cast(): where the kernel has none, the program would not load. */
static struct file *file_pointed_to(struct file **from)
{
	if (!conf.rdonly_cast)
		abort();
	return *from;
}

static u32 uring_flags(struct io_kiocb *req)
{
	return req->flags;
}

static u32 interrupt_level(bool known)
{
	return known ? machine.level & (HARD_INTERRUPT | SOFT_INTERRUPT) : 0;
}

#endif
