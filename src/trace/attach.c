// SPDX-License-Identifier: GPL-2.0-only
#include "trace/attach.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "trace/feature.h"
#include "trace/fsprobes.h"
#include "trace/links.h"
#include "trace/load.h"
#include "trace/plan.h"
#include "trace/session.h"

#include "trace.skel.h"

/* Opens software event @event on @cpu and attaches @prog to it. Returns 0 or -errno. The result is
 * 0 for an offline CPU, which has no events. */
static int attach_one(struct fault_links *l, struct bpf_program *prog, int cpu,
		      unsigned long long event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;
	int err;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	l->list[l->n++] = link; /* the link owns the event */
	return 0;
}

static void faults_done(struct fault_links *l)
{
	while (l->n)
		bpf_link__destroy(l->list[--l->n]);
	free(l->list);
	l->list = NULL;
}

/* Attaches @prog to the page fault events of every CPU. Returns 0, or -errno: then nothing is
 * attached. */
static int faults_attach(struct fault_links *l, struct bpf_program *prog)
{
	static const unsigned long long events[] = { PERF_COUNT_SW_PAGE_FAULTS_MAJ,
						     PERF_COUNT_SW_PAGE_FAULTS_MIN };
	int cpus = libbpf_num_possible_cpus(), err = 0;

	if (cpus < 0)
		return cpus;
	l->list = calloc(2 * cpus, sizeof(struct bpf_link *));
	if (!l->list)
		return -ENOMEM;
	for (int i = 0; i < 2 * cpus && !err; i++)
		err = attach_one(l, prog, i / 2, events[i % 2]);
	if (err)
		faults_done(l);
	return err;
}

/* libbpf 1.1 cannot attach a tracepoint with a cookie. Links on functions have no cookie before
 * 5.19, and their backups need none. */
static int attach_again(int prog_fd, const struct program *row)
{
	union bpf_attr attr = {
		.link_create = { .prog_fd = prog_fd,
				 .attach_type = BPF_TRACE_RAW_TP,
				 .tracing.cookie = 1 },
	};
	int fd;

	if (row->hook != HOOK_TP_BTF)
		fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	else
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* @prog is attached to the hook of @row. Loads a copy and attaches it after @prog; on a tracepoint,
 * with cookie 1. Returns 0, or -errno: the hook has only @prog. */
static int backups_add(struct backups *b, const struct bpf_program *prog, const struct program *row)
{
	int fd, link;

	if (b->n == MAX_BACKUPS)
		return -ENOSPC;
	fd = load_copy(prog, row);
	if (fd < 0)
		return fd;
	link = attach_again(fd, row);
	if (link < 0) {
		close(fd);
		return link;
	}
	b->at[b->n].original = bpf_program__fd(prog);
	b->at[b->n].prog = fd;
	b->at[b->n++].link = link;
	return 0;
}

int backups_of(const struct backups *b, int prog_fd)
{
	for (int i = 0; i < b->n; i++)
		if (b->at[i].original == prog_fd)
			return b->at[i].prog;
	return -1;
}

static void backups_done(struct backups *b)
{
	while (b->n) {
		b->n--;
		close(b->at[b->n].link);
		close(b->at[b->n].prog);
	}
}

static bool is_loaded(const struct bpf_program *prog)
{
	return bpf_program__fd(prog) >= 0;
}

static struct bpf_link *link_tracepoint(struct bpf_program *prog, const char *target)
{
	char group[64];
	const char *name = strchr(target, '/');

	snprintf(group, sizeof(group), "%.*s", (int)(name - target), target);
	return bpf_program__attach_tracepoint(prog, group, name + 1);
}

static struct bpf_link *link_program(struct bpf_program *prog, const struct program *row)
{
	switch (row->hook) {
	case HOOK_TP_BTF:
	case HOOK_FENTRY:
	case HOOK_FEXIT:
		return bpf_program__attach_trace(prog);
	case HOOK_TP:
		return link_tracepoint(prog, row->target);
	case HOOK_KPROBE:
	case HOOK_KRETPROBE:
		return kprobe_attach(prog, row->target, row->hook == HOOK_KRETPROBE);
	default:
		return NULL;
	}
}

static bool attach(struct attached *a, struct bpf_program *prog, const struct program *row)
{
	if (links_add(&a->links, link_program(prog, row)))
		return true;
	if (!a->err)
		a->err = errno;
	bpf_program__unload(prog);
	return false;
}

static bool is_entry(const struct program *row)
{
	return (row->hook == HOOK_FENTRY || row->hook == HOOK_KPROBE) && !row->is_template &&
	       !row->alone;
}

/* Attaches a function's entry, and its return if the return program is loaded. The entry alone
 * still gives the file of a system call. */
static bool function_attach(struct attached *a, const struct trace_bpf *obj,
			    const struct program *entry)
{
	const struct program *ret = entry - 1;
	struct bpf_program *prog = program_of(obj, entry), *leave = program_of(obj, ret);

	if (!is_loaded(leave))
		return attach(a, prog, entry);
	return links_add_pair(&a->links, link_program(leave, ret), link_program(prog, entry));
}

static void functions_attach(struct attached *a, const struct trace_bpf *obj,
			     const struct plan *plan)
{
	unsigned int failed = 0;

	for (const struct program *row = programs; row < programs + programs_n; row++) {
		if (!is_entry(row) || !is_loaded(program_of(obj, row)))
			continue;
		/* without its return program, no call would ever leave the function */
		if ((plan->asked & ASK_VFS) && !is_loaded(program_of(obj, row - 1)))
			failed |= 1U << row->op;
		else if (function_attach(a, obj, row))
			a->vfs_kinds |= 1U << row->op;
		else
			failed |= 1U << row->op;
	}
	/* some functions belong to no kind of operation */
	a->vfs_kinds &= ~(failed | 1U << OP_NONE);
	if (!(plan->asked & ASK_VFS))
		a->vfs_kinds = 0;
}

/* Whether the kernel may skip the program of @row because the same program is still running on this
 * CPU. */
static bool needs_backup(const struct program *row, const struct feature *f)
{
	if (row->hook == HOOK_FEXIT)
		return row->backup && f->preemptible;
	return row->backup && (f->preemptible_tracepoints || row->hook == HOOK_FENTRY);
}

static void attach_alone(struct attached *a, const struct trace_bpf *obj, const struct program *row,
			 const struct feature *f)
{
	struct bpf_program *prog = program_of(obj, row);

	if (is_loaded(prog) && attach(a, prog, row) && needs_backup(row, f))
		backups_add(&a->backups, prog, row);
}

static void tracepoints_attach(struct attached *a, const struct trace_bpf *obj,
			       const struct feature *f, bool last)
{
	for (const struct program *row = programs; row < programs + programs_n; row++)
		if ((row->hook <= HOOK_TP || row->alone) && !row->called && row->last == last)
			attach_alone(a, obj, row, f);
}

/* The map through which the program on the same hook tail-calls that of @row. */
static int calls_of(const struct trace_bpf *obj, const struct program *row)
{
	const struct bpf_map *map = !(row->asks & ASK_STACKS) ? obj->maps.mapping_calls
				    : row->hook == HOOK_FEXIT ? obj->maps.fault_stack_calls
							      : obj->maps.stack_calls;

	return bpf_map__fd(map);
}

/* Puts the programs that others tail-call into their maps. */
static void called_join(struct attached *a, struct trace_bpf *obj)
{
	int map, key = 0, fd;

	for (const struct program *row = programs; row < programs + programs_n; row++) {
		fd = row->called ? bpf_program__fd(program_of(obj, row)) : -1;
		map = calls_of(obj, row);
		if (fd >= 0 && bpf_map_update_elem(map, &key, &fd, BPF_ANY) && !a->err)
			a->err = errno;
	}
}

static struct fs_templates templates_of(const struct trace_bpf *obj)
{
	struct fs_templates t = {};
	struct bpf_program **at;

	for (const struct program *row = programs; row < programs + programs_n; row++) {
		if (!row->is_template)
			continue;
		at = row->hook == HOOK_FENTRY   ? t.fentry
		     : row->hook == HOOK_FEXIT  ? t.fexit
		     : row->hook == HOOK_KPROBE ? t.kprobe
						: t.kretprobe;
		at[row->method] = program_of(obj, row);
	}
	t.iter = obj->progs.on_task_file;
	return t;
}

/* Attaches the end of page faults: the return of handle_mm_fault(), or else perf's software events.
 * Returns false if neither could be attached. */
static bool fault_ends_attach(struct attached *a, const struct trace_bpf *obj,
			      const struct feature *f)
{
	struct bpf_program *handled = obj->progs.on_fault_handled;
	struct bpf_program *event = obj->progs.on_fault_event;
	int err;

	attach_alone(a, obj, program_row(obj, handled), f);
	if (is_loaded(handled))
		return true;
	if (!is_loaded(event))
		return false;
	err = faults_attach(&a->faults, event);
	if (!err)
		return true;
	if (!a->err)
		a->err = -err;
	bpf_program__unload(event);
	return false;
}

/* Attaches ends before beginnings. If no end could be attached, the programs for beginnings are
 * unloaded. */
static void faults_attach_all(struct attached *a, const struct trace_bpf *obj,
			      const struct feature *f)
{
	if (fault_ends_attach(a, obj, f))
		return;
	bpf_program__unload(obj->progs.on_fault);
	bpf_program__unload(obj->progs.on_kernel_fault);
	bpf_program__unload(obj->progs.on_fault_abort);
	bpf_program__unload(obj->progs.on_signal);
}

void attach_all(struct attached *a, struct trace_bpf *obj, const struct plan *plan,
		const struct session_conf *sc, struct feature *f, const struct fs_entry *seen)
{
	struct fs_templates templates = templates_of(obj);

	functions_attach(a, obj, plan);
	if ((plan->asked & ASK_FS) && f->func != FUNC_NONE)
		a->fs = fsprobes_new(&templates, f, seen, sc->fs, &sc->lists);
	if (a->fs)
		fsprobes_attach(a->fs);
	faults_attach_all(a, obj, f);
	called_join(a, obj);
	tracepoints_attach(a, obj, f, false);
	tracepoints_attach(a, obj, f, true);
}

void attach_done(struct attached *a)
{
	backups_done(&a->backups);
	links_done(&a->links);
	faults_done(&a->faults);
	fsprobes_free(a->fs);
	a->fs = NULL;
}
