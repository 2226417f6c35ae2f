/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_task.bpf.h - whose calls are counted, and the state of each thread: the calls of traced
 * functions that it is in.
 */
#ifndef IOSTRATA_FUNC_TASK_BPF_H
#define IOSTRATA_FUNC_TASK_BPF_H

#include "compat.bpf.h"
#include "../cell.h"
#include "func.h"

const volatile struct func_conf func_conf;
#define FUNC_CONF(field) (func_conf.field)

struct func_live func_live;
struct func_thread func_threads[1 << FUNC_THREADS_LOG2];

/* Slots of func_threads that have an owner: a thread keeps its slot for as long as it lives. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << FUNC_THREADS_LOG2);
	__type(key, u32);
	__type(value, u32);
} func_owners SEC(".maps");

/* Threads whose slot belongs to another, while they are in a traced function. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, u64);
	__type(value, struct func_thread);
} func_others SEC(".maps");

/* The initial state of a thread elsewhere; too large for the stack of a program. */
const struct func_thread func_nobody = { .filling = 1 };

/* A bit per thread group: the tool's child and its descendants. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PID_LIMIT / 64);
	__type(key, u32);
	__type(value, u64);
} func_tracked SEC(".maps");

static __always_inline void func_count_lost(enum func_lost what)
{
	atomic_add(&func_live.lost[what], 1);
}

/* The thread groups to trace. */

static __always_inline u64 func_pid_tgid(void)
{
	struct bpf_pidns_info ns;

	if (!FUNC_CONF(pidns_ino))
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(FUNC_CONF(pidns_dev), FUNC_CONF(pidns_ino), &ns,
					sizeof(ns)))
		return 0;
	return (u64)ns.tgid << 32 | ns.pid;
}

static __always_inline u64 *func_tracked_word(u32 tgid)
{
	u32 word = tgid / 64;

	return bpf_map_lookup_elem(&func_tracked, &word);
}

static __always_inline bool func_group_tracked(u32 tgid)
{
	u64 *word = func_tracked_word(tgid);

	return word && *word >> tgid % 64 & 1;
}

/* By addition, which is an atomic on kernels before 5.12, too; a bit has one writer at a time. */
static __always_inline void func_group_track(u32 tgid, bool on)
{
	u64 *word = func_tracked_word(tgid), bit = 1ULL << tgid % 64;

	if (word && on != !!(*word & bit))
		atomic_add(word, on ? bit : -bit);
}

static __always_inline bool func_group_listed(void)
{
	u32 tgid = func_pid_tgid() >> 32;

#pragma clang loop unroll(disable)
	for (u64 i = 0; i < FUNC_CONF(n_pids) && i < MAX_PIDS; i++)
		if (FUNC_CONF(pids[i]) == tgid)
			return true;
	return false;
}

/* Only the tool measures the probes, whoever is traced. */
static __always_inline bool func_passes(u32 func)
{
	if (func >= FUNC_CONF(n_funcs))
		return func_pid_tgid() >> 32 == FUNC_CONF(tool_tgid);
	if (FUNC_CONF(tracked))
		return func_group_tracked(bpf_get_current_pid_tgid() >> 32);
	return !FUNC_CONF(n_pids) || func_group_listed();
}

/* Threads. */

static __always_inline u32 func_slot(u64 task)
{
	return (u32)task * 0x9e3779b1U >> (32 - FUNC_THREADS_LOG2);
}

static __always_inline struct func_thread *func_thread_elsewhere(u64 task)
{
	u64 key = task;

	return bpf_map_lookup_elem(&func_others, &key);
}

/* NULL if the thread has no state. */
static __always_inline struct func_thread *func_thread_find(u64 task)
{
	struct func_thread *t = &func_threads[func_slot(task)];

	barrier_var(t); /* one address, from which all fields are reached */
	if (likely(t->task == task))
		return t;
	return t->crowd ? func_thread_elsewhere(task) : NULL;
}

/* Takes the slot of @task if it is nobody's; else creates a state elsewhere. Each CPU has an idle
 * thread of its own: all have pid 0, but their addresses differ. */
static __always_inline struct func_thread *func_thread_make(u64 task)
{
	struct func_thread *t = &func_threads[func_slot(task)];
	u32 slot = func_slot(task);

	barrier_var(t);
	if (!t->task && !bpf_map_update_elem(&func_owners, &slot, &slot, BPF_NOEXIST)) {
		t->task = task; /* who had it left no frames */
		return t;
	}
	if (unlikely(t->task == task)) /* who interrupted this took it */
		return t;
	atomic_add(&t->crowd, 1); /* before: who interrupts this must find the state */
	if (bpf_map_update_elem(&func_others, &task, &func_nobody, BPF_NOEXIST))
		atomic_add(&t->crowd, -1);
	t = func_thread_elsewhere(task);
	if (!t)
		func_count_lost(FUNC_LOST_THREADS);
	return t;
}

/* @was_filling: whether this interrupts who fills a frame. */
static __always_inline struct func_thread *func_thread_get(u64 task, u64 *was_filling)
{
	struct func_thread *t = func_thread_find(task);

	if (likely(t)) {
		*was_filling = t->filling;
		return t;
	}
	*was_filling = 0;
	return func_thread_make(task);
}

/* A thread that is in no traced function any more frees its state elsewhere: there is room for so
 * many threads at a time, not for all that ever were. But not in an interrupt of who is about to
 * use it, and may even have made it just now. */
static __always_inline void func_thread_leave(u64 task, struct func_thread *t)
{
	struct func_thread *slot = &func_threads[func_slot(task)];
	u64 key = task;

	barrier_var(slot);
	if (unlikely(slot->task != task) && !t->filling && !bpf_map_delete_elem(&func_others, &key))
		atomic_add(&slot->crowd, -1);
}

static __always_inline struct func_frame *func_frame_at(struct func_thread *t, u64 i)
{
	barrier_var(i); /* the compiler may know the limit, and leave the mask out */
	i &= FUNC_FRAMES - 1;
	barrier_var(i); /* the verifier must see it on what is used as index */
	return &t->frames[i];
}

#endif
