/* SPDX-License-Identifier: GPL-2.0-only */
/* func_row.bpf.h - where calls are summed up: by function, by the calls above, or by a key. */
#ifndef IOSTRATA_FUNC_ROW_BPF_H
#define IOSTRATA_FUNC_ROW_BPF_H

#include "func_task.bpf.h"

/* FUNC_ROWS: by CPU and function. User space sets the size of this map and of those below. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__type(key, u32);
	__type(value, struct func_sums);
} func_cells SEC(".maps");

/* Else: rows by key. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct func_key);
	__type(value, struct func_sums);
} func_rows SEC(".maps");

/* Histograms by function, in conf.hists copies. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__type(key, u32);
	__type(value, unsigned int[HIST_N]);
} func_hists SEC(".maps");

/* By function: calls that were not seen to return. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1 << 10 /* BPF_F_MMAPABLE */);
	__type(key, u32);
	__type(value, u64);
} func_unreturned SEC(".maps");

static __always_inline void func_count_unreturned(u32 func)
{
	u64 *n = bpf_map_lookup_elem(&func_unreturned, &func);

	if (n)
		atomic_add(n, 1);
}

/* Identifies a function below the functions that called it: mixes the path above with the function
 * (splitmix64). Never 0, which stands for no path. */
static __always_inline u64 func_path(u64 above, u32 func)
{
	u64 x = above + (func + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) | 1;
}

static __always_inline void func_key_by(struct func_key *k)
{
	u64 id;

	switch (FUNC_CONF(rows)) {
	case FUNC_ROWS_PID:
		k->by[0] = func_pid_tgid() >> 32;
		break;
	case FUNC_ROWS_TID:
		id = func_pid_tgid();
		k->by[0] = (u32)id;
		k->by[1] = id >> 32;
		break;
	case FUNC_ROWS_COMM:
		bpf_get_current_comm(k->by, sizeof(k->by));
		break;
	case FUNC_ROWS_CGROUP:
		k->by[0] = bpf_get_current_cgroup_id();
		break;
	}
}

/* A call that returned, and where it is counted. */
struct func_call {
	u64 dur, self, path, parent;
	u32 func, bucket;
};

static __always_inline struct func_sums *func_row_find(const struct func_call *c)
{
	struct func_key key = { .func = c->func, .path = c->path };
	struct func_sums *s, zero = { .parent = c->parent };

	if (FUNC_CONF(rows) != FUNC_ROWS_TREE) {
		key.bucket = c->bucket;
		func_key_by(&key);
	}
	s = bpf_map_lookup_elem(&func_rows, &key);
	if (likely(s))
		return s;
	/* another CPU may have been first */
	bpf_map_update_elem(&func_rows, &key, &zero, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&func_rows, &key);
	if (!s)
		func_count_lost(FUNC_LOST_ROWS);
	return s;
}

/* In func_cells, and in func_hists where each CPU has its own. */
static __always_inline u32 func_index(u32 cpu, u32 func)
{
	/* one more than there are functions, for measuring the probes */
	return cpu * (FUNC_CONF(n_funcs) + 1) + func;
}

static __always_inline void func_hist_add(u32 i, u32 bucket)
{
	unsigned int *hist = bpf_map_lookup_elem(&func_hists, &i);

	if (hist)
		atomic_add(&hist[bucket], 1);
}

static __always_inline u32 func_hist_index(u32 func)
{
	return func_index(current_cpu() & (FUNC_CONF(hists) - 1), func);
}

/* A program that interrupts this one may add to the same cell, so additions are atomic. */
static __always_inline void func_sums_add(struct func_sums *s, const struct func_call *c)
{
	atomic_add(&s->total_ns, c->dur);
	atomic_add(&s->self_ns, c->self);
	cell_max(&s->max_ns, c->dur);
	cell_max(&s->min_inverse, ~c->dur);
}

static __always_inline void func_cell_add(const struct func_call *c)
{
	u32 i = func_index(current_cpu(), c->func);
	struct func_sums *s = bpf_map_lookup_elem(&func_cells, &i);

	if (!s)
		return;
	func_sums_add(s, c);
	if (FUNC_CONF(hists_shared))
		i = func_hist_index(c->func);
	func_hist_add(i, c->bucket);
}

static __always_inline void func_call_add(struct func_call *c)
{
	struct func_sums *s;

	c->bucket = hist_bucket(c->dur);
	if (FUNC_CONF(rows) == FUNC_ROWS || c->func >= FUNC_CONF(n_funcs)) {
		func_cell_add(c);
		return;
	}
	s = func_row_find(c);
	if (!s)
		return;
	atomic_add(&s->count, 1);
	func_sums_add(s, c);
	if (FUNC_CONF(rows) == FUNC_ROWS_TREE)
		func_hist_add(func_hist_index(c->func), c->bucket);
}

#endif
