// SPDX-License-Identifier: GPL-2.0-only
/*
 * func_session.c - one run of probes on functions: finds the functions, chooses how to probe them,
 * attaches, reads the counters, detaches. Owns everything the run has in the kernel. Prints
 * nothing.
 */
#include "funcs/func_session.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/reason.h"
#include "bpf/func.h"
#include "func.skel.h"
#include "funcs/func_attach.h"
#include "funcs/func_collect.h"
#include "funcs/func_cost.h"
#include "funcs/func_find.h"
#include "funcs/func_load.h"
#include "funcs/func_rows.h"
#include "host/pidns.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/load.h"

/* Returns without a traced beginning. A call without room for its thread is lost at its beginning
 * already. If its return is traced, the programs cannot tell whether its beginning was counted as
 * lost, so such losses are subtracted. */
static uint64_t ends_unmatched(const struct func_losses *l, const struct func_live *live,
			       bool sessions)
{
	uint64_t n = live->lost[FUNC_LOST_END];
	uint64_t counted = live->lost[FUNC_LOST_THREADS] - l->threads_before;

	if (!sessions)
		n = n > counted ? n - counted : 0;
	return n > l->last[FUNC_LOSS_END] ? n : l->last[FUNC_LOSS_END];
}

void func_losses_take(struct func_losses *l, const struct func_live *live, uint64_t missed,
		      bool sessions, uint64_t ret_lost[FUNC_LOSS_N])
{
	const uint64_t now[FUNC_LOSS_N] = {
		[FUNC_LOSS_THREADS] = live->lost[FUNC_LOST_THREADS],
		[FUNC_LOSS_ROWS] = live->lost[FUNC_LOST_ROWS],
		[FUNC_LOSS_DEPTH] = live->lost[FUNC_LOST_DEPTH],
		[FUNC_LOSS_END] = ends_unmatched(l, live, sessions),
		[FUNC_LOSS_RETURN] = live->lost[FUNC_LOST_RETURN],
		[FUNC_LOSS_MISSED] = missed,
	};

	if (!live->since_ns)
		l->threads_before = live->lost[FUNC_LOST_THREADS];
	for (int i = 0; i < FUNC_LOSS_N; i++)
		ret_lost[i] = now[i] - l->last[i];
	memcpy(l->last, now, sizeof(now));
}

static void refuse_all(struct func_list *l, const char *refused)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->at[i].refused)
			l->at[i].refused = refused;
}

/* Refuses functions without a type if --probe names a way with types; without --probe another way
 * is used. */
static void untyped_refuse(struct func_list *l, struct feature *f)
{
	const char **names = calloc(l->n, sizeof(*names));
	unsigned int type;
	int n = 0, fd;

	for (size_t i = 0; names && i < l->n; i++)
		if (!*l->at[i].where)
			names[n++] = l->at[i].name;
	if (names)
		feature_look_for(f, names, n);
	free(names);
	for (size_t i = 0; i < l->n; i++) {
		struct func *fn = &l->at[i];

		if (!fn->refused && feature_function(f, fn->name, fn->where, &type, &fd))
			fn->refused = func_why_refused(-ENOENT);
	}
}

/* Refuses kernel functions that cannot be probed here. Says nothing if the user may not use BPF. */
static void kernel_explain(struct func_list *l, const char *probe)
{
	const struct func_method *how = probe ? func_method_find(probe) : NULL;
	struct feature f = {};
	struct reason why;

	if (feature_probe(&f, &why)) {
		feature_done(&f);
		return;
	}
	if (f.no_functions[0])
		refuse_all(l, func_list_place(l, f.no_functions, strlen(f.no_functions)));
	else if (how && how->attach_type && func_is_each(how))
		untyped_refuse(l, &f);
	feature_done(&f);
}

int func_session_list(const struct func_session_conf *conf, struct func_list *ret_list,
		      struct reason *why)
{
	struct func_list l = {};
	bool user;

	if (func_find(conf, true, &l, &user, why)) {
		func_list_free(&l);
		return -1;
	}
	if (!user)
		kernel_explain(&l, conf->probe);
	else if (access("/sys/bus/event_source/devices/uprobe/type", F_OK))
		refuse_all(&l, "this kernel has no uprobes");
	*ret_list = l;
	return 0;
}

enum {
	ROWS_MAX = 16384, /* entries of the hash of rows */
	HISTS_BYTES =
		32 << 20, /* bytes of all histograms, unless one shared by all CPUs takes more */
	COLLECT_S = 30,
	FEW_FUNCS = 16,
};

struct func_session {
	struct func_session_conf conf;
	struct feature feat;
	struct func_list list;
	struct func_conf bpf_conf;
	struct func_bpf *obj;
	struct bpf_link *on_exit, *on_free, *on_exec, *on_fork;
	struct func_attached attached;
	struct func_cost cost;
	char probe_name[64];
	struct func_live *live;
	struct func_memory mem;
	struct func_collect *collect;
	int stats_fd;
	uint64_t since_ns, collected_ns;
	struct func_losses losses;
};

static int limit_check(const struct func_session *s, struct reason *why)
{
	size_t n = 0;

	for (size_t i = 0; i < s->list.n; i++)
		n += !s->list.at[i].refused;
	if (!n) {
		const struct func *f = &s->list.at[0];

		if (s->list.n == 1)
			return reason_set(why, EXIT_FAILED, "%s cannot be traced: %s", f->name,
					  f->refused);
		reason_set(why, EXIT_FAILED, "none of the %zu functions can be traced: %s: %s",
			   s->list.n, f->name, f->refused);
		return reason_hint(why, "'funcs --list' shows the reason for each");
	}
	if (!s->conf.max || n <= s->conf.max)
		return 0;
	reason_set(why, EXIT_USAGE, "%zu functions match, more than %zu", n, s->conf.max);
	return reason_hint(why, "'--max %zu' traces them all; '--list' shows them", n);
}

static void conf_fill(struct func_session *s, bool user)
{
	struct func_conf *c = &s->bpf_conf;
	unsigned int cpus = libbpf_num_possible_cpus();

	c->n_funcs = s->list.n;
	for (c->hists = 1;
	     c->hists < cpus &&
	     2ULL * c->hists * (c->n_funcs + 1) * HIST_N * sizeof(int) <= HISTS_BYTES;)
		c->hists *= 2;
	c->hists_shared = c->hists < cpus;
	/* kernel stacks have 16 KB and are aligned to 16 KB (THREAD_SIZE_ORDER); stacks of programs
	 * grow, and a longer jump means another stack */
	c->user_stacks = user;
	c->rows = s->conf.rows;
	c->subtract = s->conf.subtract;
	c->tracked = s->conf.follow;
	c->counted_only = s->list.no_times != NULL;
	c->n_pids = s->conf.n_pids;
	memcpy(c->pids, s->conf.pids, s->conf.n_pids * sizeof(*c->pids));
	c->tool_tgid = getpid();
	pidns_below_first(&c->pidns_dev, &c->pidns_ino);
}

static int try_load(struct func_session *s, const struct func_method *how,
		    const struct func_method *second)
{
	struct func_sizes sizes = {
		.cells = libbpf_num_possible_cpus() * (s->list.n + 1),
		.hists = s->bpf_conf.hists * (s->list.n + 1),
		.funcs = s->list.n + 1,
		.rows = s->conf.rows == FUNC_ROWS ? 1 : ROWS_MAX,
	};
	int err = func_load(how, second, &s->bpf_conf, &sizes, &s->feat, &s->obj);

	if (err)
		return err;
	s->attached = (struct func_attached){ .obj = s->obj,
					      .feat = &s->feat,
					      .entries_only = s->bpf_conf.counted_only };
	s->live = (struct func_live *)&s->obj->bss->func_live;
	return func_memory_open(&s->mem, s->obj);
}

static void try_undo(struct func_session *s)
{
	func_detach(&s->attached, 0);
	func_memory_done(&s->mem);
	func_bpf__destroy(s->obj);
	s->obj = NULL;
}

static int cost_measure(struct func_session *s, const struct func_method *how)
{
	s->attached.probe = how;
	return func_cost_measure(&s->attached, s->live, s->list.n, &s->mem, &s->cost);
}

/* Loads the programs of one way to probe, and tries them on an empty function. */
static int try_method(struct func_session *s, const struct func_method *how,
		      const struct func_method *second)
{
	int err = try_load(s, how, second);

	/* measure the second way first, to learn its distance; the cost of the best way is shown */
	if (!err && second)
		err = cost_measure(s, second);
	if (!err)
		err = cost_measure(s, how);
	s->attached.second = second;
	if (err)
		try_undo(s);
	return err;
}

static int no_probe(const struct func_session *s, bool user, int err, struct reason *why)
{
	if (load_is_limit(-err))
		return load_limit_reached(why, "load", -err);
	if (s->conf.probe) {
		reason_set(why, EXIT_KERNEL, "this kernel cannot probe functions by %s: %s",
			   s->conf.probe, strerror(-err));
		return reason_hint(why, "without --probe the best way of this kernel is used");
	}
	if (user) {
		reason_set(why, EXIT_KERNEL, "functions of programs cannot be probed: %s",
			   strerror(-err));
		return reason_hint(why, "use a kernel built with CONFIG_UPROBE_EVENTS");
	}
	reason_set(why, EXIT_KERNEL, "%s",
		   s->feat.no_functions[0] ? s->feat.no_functions
					   : "functions of the kernel cannot be probed");
	return reason_hint(why, "use a kernel built with CONFIG_KPROBE_EVENTS or CONFIG_FPROBE; "
				"functions of programs can be traced: 'c:pread*'");
}

/* Tries a way together with kprobe as second way. fentry cannot probe functions of modules without
 * types, nor functions with many arguments; the second way may. */
static int try_with_second(struct func_session *s, const struct func_method *how)
{
	bool may_mix = !s->conf.probe && func_is_each(how) && how->attach_type;
	const struct func_method *second = may_mix ? func_method_find("kprobe") : NULL;
	int err = try_method(s, how, second);

	return err && second ? try_method(s, how, NULL) : err;
}

/* For few functions, fentry runs cheaper than probes on all at once, and attaches as fast. But some
 * kernels preempt its program. Then the program misses other calls on the CPU. */
static bool is_first_choice(const struct func_session *s, const struct func_method *m)
{
	return func_is_each(m) && m->attach_type && s->list.n <= FEW_FUNCS && !s->feat.preemptible;
}

static bool is_candidate(const struct func_session *s, const struct func_method *m, bool user)
{
	return s->conf.probe ? !strcmp(s->conf.probe, m->name) : m->user == user;
}

static int probe_choose(struct func_session *s, bool user, struct reason *why)
{
	int err = -EOPNOTSUPP;

	for (int choice = 1; choice <= 2 && err && !load_is_limit(-err); choice++)
		for (const struct func_method *m = func_methods; m->name && err; m++)
			if (is_candidate(s, m, user) && (choice == 2 || is_first_choice(s, m)) &&
			    !load_is_limit(-err))
				err = try_with_second(s, m);
	if (err)
		return no_probe(s, user, err, why);
	s->cost.preempted_known = s->live->preempted_known;
	s->live->call_ns = s->cost.call_ns + 0.5;
	s->live->inside_ns = s->cost.inside_ns + 0.5;
	return 0;
}

static int probe_check(const struct func_session *s, bool user, struct reason *why)
{
	const struct func_method *p = s->conf.probe ? func_method_find(s->conf.probe) : NULL;

	if (p && p->user != user)
		return reason_set(why, EXIT_USAGE, "%s does not probe functions of %s", p->name,
				  user ? "programs" : "the kernel");
	return 0;
}

static int tracepoints_attach(struct func_session *s, struct reason *why)
{
	s->on_exit = bpf_program__attach_trace(s->obj->progs.func_on_exit);
	s->on_free = bpf_program__attach_trace(s->obj->progs.func_on_free);
	if (s->bpf_conf.user_stacks)
		s->on_exec = bpf_program__attach_trace(s->obj->progs.func_on_exec);
	if (s->conf.follow)
		s->on_fork = bpf_program__attach_trace(s->obj->progs.func_on_fork);
	if (s->on_exit && s->on_free && (s->on_exec || !s->bpf_conf.user_stacks) &&
	    (s->on_fork || !s->conf.follow))
		return 0;
	if (load_is_limit(errno))
		return load_limit_reached(why, "attach", errno);
	return reason_set(why, EXIT_KERNEL, "cannot trace threads: %s", strerror(errno));
}

/* A tree of calls is made of their returns. */
static int tree_check(const struct func_session *s, struct reason *why)
{
	if (!s->list.no_times || s->conf.rows != FUNC_ROWS_TREE)
		return 0;
	return reason_set(why, EXIT_FAILED, "there is no tree if calls are only counted: %.200s",
			  s->list.no_times);
}

static void probe_name_set(struct func_session *s, size_t n_live)
{
	const struct func_attached *a = &s->attached;

	snprintf(s->probe_name, sizeof(s->probe_name), "%s%s%s",
		 a->n_second < n_live ? a->probe->name : "",
		 a->n_second && a->n_second < n_live ? " and " : "",
		 a->n_second ? a->second->name : "");
}

static int functions_attach(struct func_session *s, struct reason *why)
{
	int got;

	if (s->conf.n_pids == 1)
		func_only_in(&s->attached, s->conf.pids[0]);
	got = func_attach(&s->attached, s->list.at, s->list.n, 0, s->conf.progress);
	if (got == -EINTR)
		return reason_set(why, EXIT_FAILED, "interrupted before anything was traced");
	if (got == -ESRCH)
		return reason_set(why, EXIT_FAILED, "process %u has ended", s->attached.pid);
	if (got < 0)
		return load_limit_reached(why, "attach", -got);
	if (!got)
		return limit_check(s, why);
	probe_name_set(s, got);
	return 0;
}

static void losses_take(struct func_session *s, struct func_snapshot *sn)
{
	func_losses_take(&s->losses, s->live, func_missed(&s->attached),
			 s->attached.probe->way == FUNC_SESSION, sn->lost);
}

/* Discards the counts from while probes were attached. */
static int baseline_take(struct func_session *s)
{
	struct func_snapshot before = {};

	if (func_collect_take(s->collect, &before))
		return -ENOMEM;
	losses_take(s, &before);
	func_snapshot_free(&before);
	return 0;
}

static int session_start(struct func_session *s, struct reason *why)
{
	bool user;

	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (func_find(&s->conf, false, &s->list, &user, why) || limit_check(s, why) ||
	    tree_check(s, why) || probe_check(s, user, why) || feature_probe(&s->feat, why))
		return -1;
	conf_fill(s, user);
	if (probe_choose(s, user, why) || tracepoints_attach(s, why) || functions_attach(s, why))
		return -1;
	if (s->conf.stats)
		s->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	feature_forget_types(&s->feat);
	s->collect = func_collect_open(&s->mem);
	if (!s->collect)
		return reason_no_memory(why);
	if (baseline_take(s))
		return reason_no_memory(why);
	s->live->since_ns = s->since_ns = s->collected_ns = clock_ns();
	return 0;
}

int func_session_open(const struct func_session_conf *conf, struct func_session **ret_session,
		      struct reason *why)
{
	struct func_session *s = calloc(1, sizeof(*s));

	if (!s)
		return reason_no_memory(why);
	s->conf = *conf;
	s->stats_fd = -1;
	*ret_session = s;
	return session_start(s, why);
}

void func_session_close(struct func_session *s)
{
	if (!s)
		return;
	bpf_link__destroy(s->on_fork);
	bpf_link__destroy(s->on_exec);
	bpf_link__destroy(s->on_free);
	bpf_link__destroy(s->on_exit);
	func_detach(&s->attached, 0);
	func_collect_free(s->collect);
	func_memory_done(&s->mem);
	func_bpf__destroy(s->obj);
	if (s->stats_fd >= 0)
		close(s->stats_fd);
	func_list_free(&s->list);
	feature_done(&s->feat);
	free(s);
}

const struct func_list *func_session_funcs(const struct func_session *s)
{
	return &s->list;
}

const char *func_session_probe(const struct func_session *s)
{
	return s->probe_name;
}

bool func_session_is_slow_to_close(const struct func_session *s)
{
	return s && s->attached.n;
}

const struct func_cost *func_session_cost(const struct func_session *s)
{
	return &s->cost;
}

void func_session_beat(struct func_session *s)
{
	if (clock_ns() - s->collected_ns < (uint64_t)COLLECT_S * NS_PER_S)
		return;
	func_collect_more(s->collect);
	s->collected_ns = clock_ns();
}

static void overhead_take(const struct func_session *s, struct func_snapshot *sn)
{
	unsigned long long ns, cnt;

	func_run_time(&s->attached, &ns, &cnt);
	sn->bpf_run_ns = ns;
	sn->bpf_run_cnt = cnt;
}

int func_session_snapshot(struct func_session *s, struct func_snapshot *ret_sn, struct reason *why)
{
	struct func_snapshot sn = {};
	uint64_t now;
	int err = func_collect_take(s->collect, &sn);

	if (err) {
		func_snapshot_free(&sn);
		return reason_set(why, EXIT_FAILED, "cannot read the counters: %s", strerror(-err));
	}
	now = clock_ns();
	sn.duration_ns = now - s->since_ns;
	s->since_ns = s->collected_ns = now;
	losses_take(s, &sn);
	sn.killed_tgid = s->live->killed_tgid;
	sn.killed_by = s->bpf_conf.counted_only ? 0 : s->live->killed_by;
	sn.has_overhead = s->stats_fd >= 0;
	if (sn.has_overhead)
		overhead_take(s, &sn);
	*ret_sn = sn;
	return 0;
}
