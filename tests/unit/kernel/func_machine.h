/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_machine.h - entry and return of functions, and what the programs of func.bpf.c are told of
 * them. Includes the programs themselves. A test calls funcs_start(), then lets functions be
 * entered and return, each at machine.now on machine.cpu, where machine.current is, at a place on a
 * stack.
 */
#ifndef IOSTRATA_TEST_FUNC_MACHINE_H
#define IOSTRATA_TEST_FUNC_MACHINE_H

#define __TARGET_ARCH_x86
#include "bpf.h"

/* An interrupt that comes on top of a program at its @in_steps-th call of the kernel, or barrier,
 * from now on. Nothing comes on top of an interrupt. */
static struct {
	void (*comes)(void);
	u32 in_steps;
} interrupt;

static void step_on(void)
{
	void (*comes)(void) = interrupt.comes;

	if (!comes || --interrupt.in_steps)
		return;
	interrupt.comes = NULL;
	comes();
}

#undef barrier
#define barrier()                    step_on()
#define bpf_ktime_get_ns()           (step_on(), machine.now)
#define bpf_map_lookup_elem(m, k)    (step_on(), (bpf_map_lookup_elem)(m, k))
#define bpf_map_delete_elem(m, k)    (step_on(), (bpf_map_delete_elem)(m, k))
#define bpf_map_update_elem(m, k...) (step_on(), (bpf_map_update_elem)(m, k))

/* The probed function: the copy of the program that runs, where each function has one; whether a
 * session's program runs for the return; and the function's address. */
static struct {
	u32 copy;
	bool returns;
	u64 ip;
} probed;

static u64 session_is_return(void *ctx)
{
	return probed.returns;
}

static u64 bpf_get_func_ip(void *ctx)
{
	return probed.ip;
}

#include "bpf/func.h"
#define FUNC_ID_MARK        probed.copy
#define FUNC_IS_RETURN_MARK session_is_return
#include "bpf/func.bpf.c"

#include "data.h"

enum { A, B, C, D, E, FUNCS, NOTHING = FUNCS }; /* the last is for measuring probes */
enum { CPUS = 4, TOOL = 1709, TASKS = 32768 };

/* How functions are probed. */
enum way { KPROBE, FENTRY, FSESSION, MULTI, SESSION, WAYS };
static enum way way;

/* From the stack at the entry to that at the return, for ways that are given registers. */
enum { POPPED = 8 };

/* Threads; some have the same slot. */
static struct ktask threads[TASKS];

/* A thread's stack, those of interrupts (lower, and higher), that of NMIs: multiples of 16 KB. */
#define STACK      0xffffc90000100000ULL
#define IRQ_BELOW  0xffffc90000040000ULL
#define IRQ_ABOVE  0xffffc90000340000ULL
#define NMI        0xffffc90000380000ULL
#define USER_STACK 0x7ffffff00000ULL

static void funcs_conf(struct func_conf c)
{
	c.n_funcs = FUNCS;
	c.tool_tgid = TOOL;
	if (!c.hists)
		c.hists = CPUS;
	data_set(&func_conf, &c, sizeof(c));
}

static void thread_init(struct ktask *t, u32 tgid, u32 pid, const char *comm)
{
	*t = (struct ktask){ .t = { .pid = pid, .tgid = tgid }, .cgroup = 7000 + tgid };
	snprintf(t->t.comm, sizeof(t->t.comm), "%s", comm);
}

/* Clears a thread's slot if it was used: all slots are 3 MB. */
static void slot_clear(struct func_thread *t)
{
	if (t->task || t->depth || t->filling || t->crowd || t->frames[0].sp)
		memset(t, 0, sizeof(*t));
}

/* Nothing is known yet; all probes are live. Thread 0 runs, 2003 of process 2003. */
static void funcs_start(struct func_conf c)
{
	for (u32 i = 0; i < 1 << FUNC_THREADS_LOG2; i++)
		slot_clear(&func_threads[i]);
	memset(func_ids, 0, sizeof(func_ids));
	memset(&func_live, 0, sizeof(func_live));
	memset(&machine, 0, sizeof(machine));
	memset(&probed, 0, sizeof(probed));
	memset(&interrupt, 0, sizeof(interrupt));
	maps_free();
	funcs_conf(c);
	conf.pidns_dev = c.pidns_dev; /* the namespace that the machine knows */
	conf.pidns_ino = c.pidns_ino;
	MAP(func_owners, 1 << FUNC_THREADS_LOG2);
	MAP(func_others, 2048);
	MAP(func_rows, 64);
	MAP_ARRAY(func_cells, CPUS * (FUNCS + 1));
	MAP_ARRAY(func_hists, FUNC_CONF(hists) * (FUNCS + 1));
	MAP_ARRAY(func_unreturned, FUNCS + 1);
	MAP_ARRAY(func_tracked, PID_LIMIT / 64);
	way = KPROBE;
	machine.now = 1000003;
	func_live.since_ns = machine.now;
	func_live.sp_shift = -POPPED;
	thread_init(&threads[0], 2003, 2003, "thread");
	machine.current = &threads[0];
}

static int funcs_stop(void **state)
{
	(void)state;
	maps_free();
	return 0;
}

static void tick(u64 ns)
{
	machine.now += ns;
}

/* @func is entered at @sp. False: its return will not be seen. */
static bool enter(u32 func, u64 sp)
{
	struct pt_regs regs = { .sp = sp };
	bool skips = false;

	probed = (typeof(probed)){ .copy = func, .ip = 0x1000 + func };
	machine.cookie = func;
	if (way == KPROBE)
		assert_int_equal(func_kprobe(&regs), 0);
	else if (way == FENTRY)
		assert_int_equal(func_fentry((void *)sp), 0);
	else if (way == FSESSION)
		assert_int_equal(func_fsession((void *)sp), 0);
	else if (way == MULTI)
		assert_int_equal(func_multi(&regs), 0);
	else
		skips = func_session(&regs);
	return !skips;
}

static void leave(u32 func, u64 sp)
{
	struct pt_regs regs = { .sp = sp + POPPED };

	probed = (typeof(probed)){ .copy = func, .returns = true, .ip = 0x1000 + func };
	machine.cookie = func;
	if (way == KPROBE)
		assert_int_equal(func_kretprobe(&regs), 0);
	else if (way == FENTRY)
		assert_int_equal(func_fexit((void *)sp), 0);
	else if (way == FSESSION)
		assert_int_equal(func_fsession((void *)sp), 0);
	else if (way == MULTI)
		assert_int_equal(func_multi_return(&regs), 0);
	else
		assert_int_equal(func_session(&regs), 0);
}

/* A whole function call, which takes @ns. */
static void call(u32 func, u64 sp, u64 ns)
{
	assert_true(enter(func, sp));
	tick(ns);
	leave(func, sp);
}

static void thread_exits(struct ktask *t)
{
	assert_int_equal(func_on_exit((u64[1]){ (u64)t }), 0);
}

static void thread_executes(struct ktask *t)
{
	assert_int_equal(func_on_exec((u64[1]){ (u64)t }), 0);
}

static void thread_is_freed(struct ktask *t)
{
	assert_int_equal(func_on_free((u64[1]){ (u64)t }), 0);
}

static void forks(struct ktask *child)
{
	assert_int_equal(func_on_fork((u64[2]){ (u64)machine.current, (u64)child }), 0);
}

/* The sums of function calls. */
struct figures {
	u64 count, total, self, max, min;
};

static void figures_add(struct figures *f, const struct func_sums *s)
{
	f->count += s->count;
	f->total += s->total_ns;
	f->self += s->self_ns;
	if (s->max_ns > f->max)
		f->max = s->max_ns;
	if (~s->min_inverse < f->min)
		f->min = ~s->min_inverse;
}

/* Calls of @func that took as long as @ns, or as long as any; in all copies of the histograms. */
static u64 hist_count(u32 func, u64 ns, bool any)
{
	struct kmap *hists = map_of(&func_hists);
	u64 n = 0;

	for (u32 i = func; i < hists->max; i += FUNCS + 1)
		for (u32 b = 0; b < HIST_N; b++)
			if (any || b == hist_bucket(ns))
				n += ((u32 *)(hists->array + (size_t)i * hists->value_size))[b];
	return n;
}

/* The sums of @func on all CPUs, and in all rows; if @by is not NULL, in the rows of @by. */
static struct figures figures_by(u32 func, const u64 by[2])
{
	struct func_sums *cells = (void *)map_of(&func_cells)->array;
	struct figures f = { .min = ~0ULL };
	const struct func_key *key;

	for (u32 cpu = 0; cpu < CPUS && !by; cpu++)
		figures_add(&f, &cells[cpu * (FUNCS + 1) + func]);
	for (struct entry *e = map_of(&func_rows)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		if (key->func == func && (!by || !memcmp(by, key->by, sizeof(key->by))))
			figures_add(&f, (void *)e->value);
	}
	if (!f.count)
		f.count = by ? 0 : hist_count(func, 0, true);
	return f;
}

/* All calls of @func that returned. */
static void assert_calls(u32 func, u64 count, u64 total, u64 self)
{
	struct figures f = figures_by(func, NULL);

	assert_int_equal(f.count, count);
	assert_int_equal(f.total, total);
	assert_int_equal(f.self, self);
}

static void assert_by(u32 func, u64 by0, u64 by1, u64 count, u64 total)
{
	struct figures f = figures_by(func, (u64[2]){ by0, by1 });

	assert_int_equal(f.count, count);
	assert_int_equal(f.total, total);
}

static u64 unreturned(u32 func)
{
	return ((u64 *)map_of(&func_unreturned)->array)[func];
}

static u64 lost_all(void)
{
	u64 n = 0;

	for (int i = 0; i < FUNC_LOST_N; i++)
		n += func_live.lost[i];
	return n;
}

/* Nobody is in a call; no state is kept but those in slots. */
static void assert_nobody_inside(void)
{
	for (u32 i = 0; i < 1 << FUNC_THREADS_LOG2; i++) {
		assert_int_equal(func_threads[i].depth, 0);
		assert_int_equal(func_threads[i].filling, 0);
		assert_int_equal(func_threads[i].crowd, 0);
	}
	assert_int_equal(map_count(&func_others), 0);
}

/* One whose slot is that of thread 0. */
static struct ktask *thread_of_same_slot(u32 nth)
{
	for (u32 i = 1; i < TASKS; i++) {
		if (func_slot((u64)&threads[i]) != func_slot((u64)&threads[0]) || nth--)
			continue;
		thread_init(&threads[i], 3000 + i, 3000 + i, "other");
		return &threads[i];
	}
	abort();
}

#pragma GCC diagnostic pop

#endif
