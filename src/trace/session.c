// SPDX-License-Identifier: GPL-2.0-only
/*
 * session.c - opens, configures, loads and attaches the programs, each on its own: one that this
 * kernel has no hook for, or refuses, is left out and what it would have measured is missing.
 *
 * Owns: the skeletons and all links. Must not: print, or know of options.
 */
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collect.h"
#include "constants.h"
#include "feature.h"
#include "fsprobes.h"
#include "links.h"
#include "privilege.h"
#include "reason.h"
#include "syscalls.h"
#include "twins.h"

#include "trace.skel.h"

enum { MAX_REFUSED = 32, MAX_HOOKS = 128, NAME_LEN = PROGRAM_NAME_LEN };

struct session {
	struct session_conf conf;
	struct conf told;		/* to the programs */
	struct feature feat;
	struct trace_bpf *trace;
	struct live *live;		/* of all programs */
	struct op_cell *direct;		/* mapped, direct_len bytes; NULL: not in use */
	size_t direct_len;
	struct rq_cell *direct_rqs;	/* likewise */
	size_t direct_rqs_len;
	struct links links;
	struct twins twins;
	unsigned int vfs_kinds;		/* of operations whose VFS functions are probed, 1 << op */
	int attach_err;			/* of the first program that could not be attached */
	struct fsprobes *fs;		/* NULL: functions of file systems are not probed */
	char module_gone[FUNC_NAME_LEN];
	char refused[MAX_REFUSED][NAME_LEN];	/* programs that the kernel does not take */
	int n_refused;
	struct ring_buffer *ring;
	session_record_fn *on_record;
	void *on_record_arg;
	int stats_fd;
	uint64_t since_ns;
	uint64_t lost[LOST_N];		/* reported so far */
	uint64_t missed;
	struct missing missing;
	char why_layer[2][200];
};

/* libbpf's print callback has no argument of its own, so the name of the program that it complains
 * about goes through here; a load is a matter of one thread. */
static char refused_name[NAME_LEN];

static int note_refused(enum libbpf_print_level level, const char *fmt, va_list args)
{
	const char *name;

	if (getenv("IOSTRATA_LIBBPF_LOG")) { /* for those who work on the programs */
		va_list copy;

		va_copy(copy, args);
		vfprintf(stderr, fmt, copy);
		va_end(copy);
	}
	if (level == LIBBPF_WARN && strstr(fmt, "prog '%s': failed to load")) {
		name = va_arg(args, const char *);
		snprintf(refused_name, sizeof(refused_name), "%s", name);
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_refused(const struct session *s, const char *program)
{
	for (int i = 0; i < s->n_refused; i++)
		if (!strcmp(s->refused[i], program))
			return true;
	return false;
}

/* Whether a tracepoint's program has work to do in this run. */
static bool tracepoint_wanted(const struct session_conf *c, const char *hook)
{
	if (!strcmp(hook, "sched_process_fork"))
		return c->follow;
	if (!strcmp(hook, "sched_process_exit"))
		return true;
	if (starts_with(hook, "sys_"))
		return c->layer == LAYER_OPS || c->layer == LAYER_SYSCALL;
	if (starts_with(hook, "block_"))
		return c->layer == LAYER_OPS || c->layer == LAYER_BLK;
	return c->layer == LAYER_OPS;
}

/* Of the programs on sys_enter and sys_exit those that are not preempted, if there are any. */
static bool calls_fit(const struct session *s, const char *section)
{
	bool perf = starts_with(section, "tp/");

	if (!perf && strcmp(section, "tp_btf/sys_enter") && strcmp(section, "tp_btf/sys_exit"))
		return true;
	return perf == (s->feat.preemptible_tracepoints && s->feat.perf_calls);
}

/* A program at entry or return of a function, of the kind that this kernel has. */
static bool function_wanted(const struct session *s, const char *section)
{
	if (starts_with(section, "fentry") || starts_with(section, "fexit"))
		return s->feat.func == FUNC_FENTRY;
	return s->feat.func == FUNC_KPROBE;
}

/* Of twin programs the one that this kernel can have; see LEVEL_PROGRAMS() in trace.bpf.c. */
static bool level_fits(const struct session *s, const char *name)
{
	bool no_level = strstr(name, "_no_level"), has_twin;

	has_twin = no_level || !strcmp(name, "on_sched_waking") ||
		   !strcmp(name, "on_rq_complete") || !strcmp(name, "on_bio_complete");
	return !has_twin || no_level != s->feat.interrupt_level;
}

/* What system calls alone need of the VFS: to be told their file, which costs less than to look the
 * descriptor up. */
static bool learns_file(const char *program)
{
	const char *from_enter = strstr(program, "enter_");

	return from_enter && (!strcmp(from_enter, "enter_vfs_read") ||
			      !strcmp(from_enter, "enter_vfs_write"));
}

static bool has_fs_layer(const struct session *s)
{
	return s->feat.func != FUNC_NONE &&
	       (s->conf.layer == LAYER_OPS || s->conf.layer == LAYER_FS);
}

/* Templates of both kinds where functions of modules have no types to go by. */
static bool template_wanted(const struct session *s, const char *section)
{
	if (!has_fs_layer(s))
		return false;
	if (section[0] == 'f')
		return s->feat.func == FUNC_FENTRY;
	return !s->feat.no_kprobe[0] && (s->feat.func == FUNC_KPROBE || !s->feat.module_btf);
}

static bool program_wanted(struct session *s, const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);
	const char *hook = strchr(section, '/') ? strchr(section, '/') + 1 : "";

	if (is_refused(s, bpf_program__name(prog)) || !level_fits(s, bpf_program__name(prog)) ||
	    !calls_fit(s, section))
		return false;
	if (starts_with(section, "tp/"))
		return s->conf.layer == LAYER_OPS || s->conf.layer == LAYER_SYSCALL;
	if (starts_with(section, "tp_btf/"))
		return tracepoint_wanted(&s->conf, hook) && feature_has_tracepoint(&s->feat, hook);
	if (starts_with(section, "iter/"))
		return s->feat.task_iter && s->feat.func != FUNC_NONE &&
		       (s->conf.layer == LAYER_OPS || s->conf.layer == LAYER_FS);
	if (!*hook)
		return template_wanted(s, section);
	if (s->conf.layer == LAYER_SYSCALL && !learns_file(bpf_program__name(prog)))
		return false;
	return s->conf.layer != LAYER_FS && s->conf.layer != LAYER_BLK &&
	       function_wanted(s, section) && feature_has_function(&s->feat, hook);
}

static unsigned char arg_of(struct feature *f, const char *tracepoint, const char *type)
{
	int arg = feature_tracepoint_arg(f, tracepoint, type);

	return arg < 0 ? 0 : arg;
}

/* Where the hooks of this kernel have what the programs need. */
static void conf_set_args(struct conf *c, struct feature *f)
{
	int pause = feature_tracepoint_arg_named(f, "balance_dirty_pages", "pause");

	c->arg_bio_queue = arg_of(f, "block_bio_queue", "bio");
	c->arg_getrq = arg_of(f, "block_getrq", "bio");
	c->arg_backmerge = arg_of(f, "block_bio_backmerge", "bio");
	c->arg_frontmerge = arg_of(f, "block_bio_frontmerge", "bio");
	c->arg_split = arg_of(f, "block_split", "bio");
	c->arg_issue = arg_of(f, "block_rq_issue", "request");
	c->arg_requeue = arg_of(f, "block_rq_requeue", "request");
	c->arg_rq_merge = arg_of(f, "block_rq_merge", "request");
	c->arg_pause = pause == 6 || pause == 10 ? pause : 0;
	c->rqf_flush_seq = feature_enumerator(f, "__RQF_FLUSH_SEQ", 4);
	c->has_prev_state = feature_tracepoint_args(f, "sched_switch") > 3;
}

/* The tool's own pid namespace, unless it is the initial one (whose inode is PROC_PID_INIT_INO). */
static void conf_set_pidns(struct conf *c)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == 0xEFFFFFFCU)
		return;
	c->pidns_dev = st.st_dev;
	c->pidns_ino = st.st_ino;
}

/* Few enough rows to have a slot each. */
static bool rows_direct(const struct session_conf *sc)
{
	return (sc->by == BY_NONE || sc->by == BY_CACHE) && sc->layer != LAYER_BLK;
}

static void conf_fill(struct conf *c, struct session *s)
{
	const struct session_conf *sc = &s->conf;
	unsigned int cpus = libbpf_num_possible_cpus();

	c->tgid = sc->pid;
	c->tool_tgid = getpid();
	conf_set_pidns(c);
	c->cgroup = sc->cgroup;
	c->cgroup_level = sc->cgroup_level;
	c->tracked = sc->follow;
	c->has_comm = sc->comm != NULL;
	if (sc->comm)
		memcpy(c->comm, sc->comm, strnlen(sc->comm, COMM_LEN - 1));
	c->all_files = sc->all_files;
	c->rdonly_cast = s->feat.rdonly_cast;
	c->guarded = s->feat.preemptible && s->feat.preempt_disable;
	c->min_ns = sc->min_ns;
	c->file_ino = sc->file_ino;
	c->file_dev = sc->file_dev;
	c->n_devs = sc->n_devs;
	for (c->io_row_len = IO_SLOTS; c->io_row_len > 1 && cpus * c->io_row_len > IO_SLOTS;)
		c->io_row_len /= 2;
	c->io_rows = cpus > MAX_SEARCH ? MAX_SEARCH : cpus;
	c->layer = sc->layer;
	c->by = sc->by;
	c->direct = rows_direct(sc);
	/* such a row is of one CPU, and written to at the end of a system call, which no interrupt
	 * has; up to 6.19 the tracepoint or BPF itself forbids preemption there (4aadde89d81f) */
	c->alone = c->direct && !s->feat.preemptible_tracepoints;
	c->queued = sc->queued;
	c->records = sc->records;
	c->call_noted = sc->records || sc->layer == LAYER_SYSCALL;
	c->waits = sc->layer == LAYER_OPS;
	c->twins = s->feat.preemptible_tracepoints;
	c->process_filter = c->tgid || c->cgroup || c->has_comm || c->tracked;
	c->file_filter = c->file_ino || c->n_devs;
	c->file_details = c->file_filter || c->records || c->by == BY_FILE || c->by == BY_DEV ||
			  c->by == BY_CACHE;
	conf_set_args(c, &s->feat);
}

/* Maps that this run does not need are not made; programs mention them in dead code only. */
static bool map_wanted(const struct session *s, const char *name)
{
	if (!strcmp(name, "tracked"))
		return s->conf.follow;
	if (!strcmp(name, "file_names"))
		return s->conf.by == BY_FILE;
	return strcmp(name, "ring") || s->conf.records;
}

static bool has_requests(const struct session *s)
{
	return s->conf.layer == LAYER_OPS || s->conf.layer == LAYER_BLK;
}

static void map_resize(struct bpf_object *obj, const char *name, unsigned int entries)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, name), entries);
}

/* Rows of requests, in both epochs, of the disks that may find no slot; allocated at once. */
static unsigned int hashed_request_rows(void)
{
	enum { DISKS_WITH_SLOTS = ROW_SLOTS / 4, OPS = 4 };
	unsigned int disks = 0;
	DIR *dir = opendir("/sys/block");

	while (dir && readdir(dir))
		disks++;
	if (dir)
		closedir(dir);
	return 32 + (disks > DISKS_WITH_SLOTS ? (disks - DISKS_WITH_SLOTS) * 2 * OPS : 0);
}

/* What is in flight grows with the CPUs; these maps are allocated at once. */
static void maps_resize(const struct session *s, struct bpf_object *obj)
{
	unsigned int cpus = libbpf_num_possible_cpus();
	bool waits = s->conf.layer == LAYER_OPS;

	cpus = cpus < 2 ? 2 : cpus > 256 ? 256 : cpus;
	map_resize(obj, "helpers", waits ? 512 + 128 * cpus : 1);
	map_resize(obj, "ios", 2048 * (cpus > 32 ? 32 : cpus));
	map_resize(obj, "rq_cells", hashed_request_rows());
	if (rows_direct(&s->conf))
		map_resize(obj, "direct_cells", DIRECT_CELLS(libbpf_num_possible_cpus()));
	if (has_requests(s))
		map_resize(obj, "direct_rq_cells", DIRECT_CELLS(cpus > RQ_CPUS ? RQ_CPUS : cpus));
}

/* Kernels before 6.1 warn in their log when a kprobe's program uses a map that grows; those that
 * need kprobes for modules are among them. */
static void maps_preallocate(struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		if (!(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC))
			continue;
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~BPF_F_NO_PREALLOC);
		if (bpf_map__max_entries(map) > 2048)
			bpf_map__set_max_entries(map, 2048);
	}
}

static void maps_configure(const struct session *s, struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
		bpf_map__set_autocreate(map, map_wanted(s, bpf_map__name(map)));
	maps_resize(s, obj);
	map = bpf_object__find_map_by_name(obj, "op_cells");
	if (s->conf.by == BY_NONE || s->conf.by == BY_CACHE) {
		/* few rows, but every CPU writes them: one each, allocated at once */
		bpf_map__set_map_flags(map, 0);
		bpf_map__set_max_entries(map, s->conf.layer == LAYER_SYSCALL ? 256 : 64);
		bpf_map__set_key_size(map, offsetof(struct op_key, by));
	} else {
		bpf_map__set_type(map, BPF_MAP_TYPE_HASH);
		bpf_map__set_max_entries(map, 16384);
	}
	if (!s->feat.module_btf)
		maps_preallocate(obj);
}

/* All hooks of our programs, to be looked for at once. */
static void look_for_hooks(struct session *s)
{
	const char *names[MAX_HOOKS], *section, *hook;
	char texts[MAX_HOOKS][NAME_LEN];
	struct bpf_program *prog;
	int n = 0;

	bpf_object__for_each_program(prog, s->trace->obj) {
		section = bpf_program__section_name(prog);
		hook = strchr(section, '/');
		if (!hook || n == MAX_HOOKS)
			continue;
		snprintf(texts[n], NAME_LEN, "%s%s",
			 starts_with(section, "tp_btf/") ? "btf_trace_" : "", hook + 1);
		names[n] = texts[n];
		n++;
	}
	feature_look_for(&s->feat, names, n);
}

static int trace_configure(struct session *s)
{
	struct bpf_program *prog;
	const char *target;
	int err = 0;

	look_for_hooks(s);
	conf_fill(&s->told, s);
	for (unsigned int i = 0; i < s->conf.n_devs; i++)
		s->trace->rodata->devs[i] = s->conf.devs[i];
	syscalls_fill(s->trace->rodata->calls, s->trace->rodata->call_offsets, s->conf.kinds,
		      s->feat.func != FUNC_NONE);
	maps_configure(s, s->trace->obj);
	bpf_object__for_each_program(prog, s->trace->obj) {
		bpf_program__set_autoload(prog, program_wanted(s, prog));
		target = fsprobes_template_target(prog);
		if (target && bpf_program__autoload(prog))
			bpf_program__set_attach_target(prog, 0, target);
		if (!err)
			err = constants_write(prog, &s->told);
	}
	return err;
}

/* A limit of this process, which says nothing of the kernel. EBADF is what libbpf makes of a
 * descriptor that it could not duplicate. */
static bool is_limit(int err)
{
	return err == EMFILE || err == EBADF || err == ENFILE || err == ENOMEM;
}

static int limit_reached(struct reason *why, const char *what, int err)
{
	reason_set(why, EXIT_FAILED, "cannot %s BPF programs: %s", what, strerror(err));
	if (err == EMFILE || err == EBADF)
		return reason_hint(why, "raise the limit of open files: ulimit -n 1024");
	return -1;
}

static int load_failed(struct reason *why, int err)
{
	if (is_limit(-err))
		return limit_reached(why, "load", -err);
	if (err == -EPERM || err == -EACCES || !privilege_is_admin()) {
		reason_set(why, EXIT_PERMISSION, "cannot load BPF programs: %s", strerror(-err));
		return reason_hint(why, PRIVILEGE_HINT);
	}
	reason_set(why, EXIT_KERNEL, "cannot load BPF programs: %s", strerror(-err));
	return reason_hint(why, "'iostrata doctor --probes' tells which programs load here");
}

/* libbpf has copied what it needs of the object file: its pages, 1 MB, need not stay. */
static void object_file_release(void)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from, to;
	size_t len;

	from = (uintptr_t)trace_bpf__elf_bytes(&len);
	to = (from + len) / page * page;
	from = (from + page - 1) / page * page;
	madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Loads what the kernel takes: a program that is refused is left out, and all is tried again. */
static int trace_load(struct session *s, struct reason *why)
{
	int err = 0;

	for (int try = 0; try < MAX_REFUSED; try++) {
		s->trace = trace_bpf__open();
		if (!s->trace)
			return load_failed(why, -errno);
		object_file_release();
		refused_name[0] = '\0';
		err = trace_configure(s);
		feature_forget_types(&s->feat);
		if (!err)
			err = trace_bpf__load(s->trace);
		if (!err)
			return 0;
		trace_bpf__destroy(s->trace);
		s->trace = NULL;
		if (refused_name[0] && !is_limit(-err) && s->n_refused < MAX_REFUSED &&
		    !is_refused(s, refused_name))
			snprintf(s->refused[s->n_refused++], NAME_LEN, "%s", refused_name);
		else
			break;
	}
	return load_failed(why, err);
}

/* What is not attached counts as not there. */
static bool attach(struct session *s, struct bpf_program *prog)
{
	if (links_add(&s->links, bpf_program__attach(prog)))
		return true;
	if (!s->attach_err)
		s->attach_err = errno;
	bpf_program__unload(prog);
	return false;
}

/* Kind of the operations that go through function @name of the VFS, all of them or, OP_NONE, only
 * some. */
static enum op_kind vfs_kind(const char *name)
{
	static const struct {
		const char *part;
		enum op_kind kind;
	} kinds[] = { { "read", OP_READ },   { "write", OP_WRITE },   { "open", OP_OPEN },
		      { "fsync", OP_FSYNC }, { "copy_file", OP_COPY } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strstr(name, kinds[i].part))
			return kinds[i].kind;
	return OP_NONE;
}

/* A template's section has no function. */
static void vfs_attach(struct session *s)
{
	struct bpf_program *prog, *leave;
	unsigned int failed = 0, kind;
	const char *name;

	bpf_object__for_each_program(prog, s->trace->obj) {
		name = bpf_program__name(prog);
		if (bpf_program__fd(prog) < 0 ||
		    !strchr(bpf_program__section_name(prog), '/') ||
		    !(starts_with(name, "enter_") || starts_with(name, "kenter_")))
			continue;
		leave = links_program(s->trace->obj, *name == 'k' ? "kleave_" : "leave_",
			     strchr(name, '_') + 1);
		kind = 1U << vfs_kind(name);
		if (s->conf.layer == LAYER_SYSCALL)
			attach(s, prog);
		else if (bpf_program__fd(leave) >= 0 &&
			 links_add_pair(&s->links, bpf_program__attach(leave),
					bpf_program__attach(prog)))
			s->vfs_kinds |= kind;
		else
			failed |= kind;
	}
	s->vfs_kinds &= ~failed;
}

static void tracepoint_attach(struct session *s, struct bpf_program *prog)
{
	const char *hook = strchr(bpf_program__section_name(prog), '/') + 1;

	if (attach(s, prog) && s->told.twins && starts_with(hook, "block_"))
		twins_add(&s->twins, &s->feat, prog, hook);
}

/* Tracepoints in an order in which nothing is missed that others rely on: calls are seen to begin
 * last, when all that happens inside them is seen. */
static void tracepoints_attach(struct session *s)
{
	struct bpf_program *prog, *last[] = { s->trace->progs.on_sys_exit,
					      s->trace->progs.on_sys_exit_perf,
					      s->trace->progs.on_sys_enter,
					      s->trace->progs.on_sys_enter_perf };

	bpf_object__for_each_program(prog, s->trace->obj) {
		if (bpf_program__fd(prog) < 0 || strstr(bpf_program__name(prog), "on_sys_e") ||
		    !starts_with(bpf_program__section_name(prog), "tp_btf/"))
			continue;
		tracepoint_attach(s, prog);
	}
	for (int i = 0; i < 4; i++)
		if (bpf_program__fd(last[i]) >= 0)
			attach(s, last[i]);
}

static bool program_live(struct bpf_program *prog)
{
	return bpf_program__fd(prog) >= 0;
}

static bool either_live(struct bpf_program *prog, struct bpf_program *twin)
{
	return program_live(prog) || program_live(twin);
}

/* Why a layer that needs function probes is missing. */
static const char *why_no_layer(struct session *s, int layer)
{
	struct feature *f = &s->feat;

	if (f->func == FUNC_NONE)
		snprintf(s->why_layer[layer], sizeof(s->why_layer[layer]),
			 "functions cannot be probed: %.80s; %.80s", f->no_fentry, f->no_kprobe);
	else
		snprintf(s->why_layer[layer], sizeof(s->why_layer[layer]),
			 "none of its functions could be probed");
	return s->why_layer[layer];
}

static void missing_fill(struct session *s)
{
	struct missing *m = &s->missing;
	const char *no_switch = "the kernel does not let sched_switch and sched_waking be traced";
	const char *no_block = "the kernel does not let its block tracepoints be traced";

	if (!s->vfs_kinds)
		m->stratum[ST_VFS] = why_no_layer(s, 0);
	if (!fsprobes_count(s->fs))
		m->stratum[ST_FS] = why_no_layer(s, 1);
	if (!program_live(s->trace->progs.on_throttle) ||
	    !s->told.arg_pause)
		m->stratum[ST_THROTTLE] = "balance_dirty_pages is not traced here; its time is in"
					  " sleep";
	if (!program_live(s->trace->progs.on_rq_issue) ||
	    !either_live(s->trace->progs.on_rq_complete,
			 s->trace->progs.on_rq_complete_no_level) ||
	    !program_live(s->trace->progs.on_bio_queue))
		m->requests = no_block;
	if (!program_live(s->trace->progs.on_getrq))
		m->stratum[ST_TAG] = "block_getrq is not traced here; its time is in queue";
	for (int st = ST_TAG; st <= ST_COMPLETE && m->requests; st++)
		m->stratum[st] = no_block;
	if (program_live(s->trace->progs.on_sched_switch) &&
	    either_live(s->trace->progs.on_sched_waking,
			s->trace->progs.on_sched_waking_no_level))
		return;
	for (int st = ST_THROTTLE; st < ST_N; st++)
		m->stratum[st] = no_switch;
}

/* A layer that was asked for by name must be there. */
static int layer_check(struct session *s, struct reason *why)
{
	const char *no = NULL;

	if (is_limit(s->attach_err))
		return limit_reached(why, "attach", s->attach_err);
	switch (s->conf.layer) {
	case LAYER_OPS:
	case LAYER_SYSCALL:
		if (!either_live(s->trace->progs.on_sys_enter,
				 s->trace->progs.on_sys_enter_perf) ||
		    !either_live(s->trace->progs.on_sys_exit, s->trace->progs.on_sys_exit_perf))
			no = "the kernel does not let system calls be traced";
		break;
	case LAYER_VFS:
		no = s->missing.stratum[ST_VFS];
		break;
	case LAYER_FS:
		no = s->missing.stratum[ST_FS];
		break;
	case LAYER_BLK:
		no = s->missing.requests;
		break;
	}
	if (!no)
		return 0;
	reason_set(why, EXIT_KERNEL, "this layer cannot be traced: %s", no);
	return reason_hint(why, "'iostrata doctor' tells what this kernel can");
}

static int ring_record(void *ctx, void *data, size_t len)
{
	struct session *s = ctx;

	if (len >= sizeof(struct op_record) && s->on_record)
		s->on_record(s->on_record_arg, data);
	return 0;
}

static void attach_all(struct session *s)
{
	vfs_attach(s);
	if (has_fs_layer(s))
		s->fs = fsprobes_new(s->trace->obj, &s->feat, s->live->fs_seen, s->conf.fs);
	if (s->fs)
		fsprobes_attach(s->fs);
	tracepoints_attach(s);
}

/* The kernel's array of rows is memory of ours, too. */
static int cells_map(const struct bpf_map *cells, void **ret_map, size_t *ret_len,
		     struct reason *why)
{
	size_t len = (size_t)bpf_map__max_entries(cells) * bpf_map__value_size(cells);
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(cells), 0);

	if (map == MAP_FAILED)
		return reason_set(why, EXIT_FAILED, "cannot map the counters: %s", strerror(errno));
	*ret_map = map;
	*ret_len = len;
	return 0;
}

static int session_start(struct session *s, struct reason *why)
{
	/* libbpf has the kernel's types twice for a moment, 5 MB each: without this, glibc would
	 * keep what was freed of them (it raises the threshold to what was freed last) */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (feature_probe(&s->feat, why) || trace_load(s, why))
		return -1;
	s->live = (struct live *)&s->trace->bss->live;
	if (rows_direct(&s->conf) &&
	    cells_map(s->trace->maps.direct_cells, (void **)&s->direct, &s->direct_len, why))
		return -1;
	if (has_requests(s) && cells_map(s->trace->maps.direct_rq_cells, (void **)&s->direct_rqs,
					 &s->direct_rqs_len, why))
		return -1;
	if (s->conf.stats)
		s->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	attach_all(s);
	missing_fill(s);
	if (layer_check(s, why))
		return -1;
	if (s->conf.records) {
		s->ring = ring_buffer__new(bpf_map__fd(s->trace->maps.ring), ring_record, s, NULL);
		if (!s->ring)
			return reason_set(why, EXIT_FAILED, "cannot read the ring buffer: %s",
					  strerror(errno));
	}
	/* what the probes lost while they were attached one by one is no loss of this run */
	for (int i = 0; i < LOST_N; i++)
		s->lost[i] = s->live->lost[i];
	s->since_ns = now_ns();
	return 0;
}

int session_open(const struct session_conf *conf, struct session **ret_session,
		 struct reason *why)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return reason_set(why, EXIT_FAILED, "out of memory");
	s->conf = *conf;
	s->stats_fd = -1;
	libbpf_set_print(note_refused);
	if (session_start(s, why)) {
		session_close(s);
		return -1;
	}
	*ret_session = s;
	return 0;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	twins_done(&s->twins);
	links_done(&s->links);
	fsprobes_free(s->fs);
	if (s->direct)
		munmap(s->direct, s->direct_len);
	if (s->direct_rqs)
		munmap(s->direct_rqs, s->direct_rqs_len);
	ring_buffer__free(s->ring);
	trace_bpf__destroy(s->trace);
	if (s->stats_fd >= 0)
		close(s->stats_fd);
	feature_done(&s->feat);
	free(s);
}

int session_refused(const struct session *s, const char **ret_first)
{
	*ret_first = s->n_refused ? s->refused[0] : NULL;
	return s->n_refused;
}

const struct missing *session_missing(const struct session *s)
{
	return &s->missing;
}

/* Waits until every program that runs now has ended: they run under RCU. */
static void wait_for_programs(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(50000);
}

/* Adds what the kernel knows of a program's runs. Returns how often it was refused. */
static uint64_t run_stats(struct snapshot *sn, int fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	sn->bpf_run_ns += info.run_time_ns;
	sn->bpf_run_cnt += info.run_cnt;
	return info.recursion_misses;
}

/* All misses so far, not only the interval's. */
static void program_stats(void *arg, int fd)
{
	struct snapshot *sn = arg;

	sn->missed += run_stats(sn, fd);
}

/* What a program missed was lost only if its twin missed it, too: at most the smaller number. */
static void twins_stats(const struct session *s, struct snapshot *sn, int fd)
{
	uint64_t missed = run_stats(sn, fd), by_twin;
	int twin = twins_of(&s->twins, fd);

	if (twin >= 0) {
		by_twin = run_stats(sn, twin);
		missed = by_twin < missed ? by_twin : missed;
	}
	sn->missed += missed;
}

static void snapshot_stats(struct session *s, struct snapshot *sn)
{
	struct bpf_program *prog;
	uint64_t missed, lost;

	bpf_object__for_each_program(prog, s->trace->obj)
		twins_stats(s, sn, bpf_program__fd(prog));
	if (s->fs)
		fsprobes_programs(s->fs, program_stats, sn);
	sn->has_overhead = sn->bpf_run_cnt;
	missed = sn->missed;
	sn->missed -= s->missed;
	s->missed = missed;
	for (int l = 0; l < LOST_N; l++) {
		lost = s->live->lost[l];
		sn->lost[l] = lost - s->lost[l];
		s->lost[l] = lost;
	}
}

static void cell_maps_fill(const struct session *s, struct cell_maps *maps)
{
	const struct trace_bpf *t = s->trace;
	bool blk = s->conf.layer == LAYER_BLK;

	maps->ops = blk ? -1 : bpf_map__fd(t->maps.op_cells);
	maps->rqs = has_requests(s) ? bpf_map__fd(t->maps.rq_cells) : -1;
	maps->fs_seen = s->live->fs_seen;
	maps->file_names = bpf_map__fd(t->maps.file_names);
	maps->by = s->conf.by;
	maps->op_key_size = bpf_map__key_size(t->maps.op_cells);
	maps->n_cpus = libbpf_num_possible_cpus();
	maps->per_cpu = bpf_map__type(t->maps.op_cells) == BPF_MAP_TYPE_PERCPU_HASH;
	maps->direct = s->direct;
	maps->direct_rqs = s->direct_rqs;
	maps->slots = s->live->rows;
}

/* Layers whose functions are not probed for operations like those of @row. */
static unsigned int untold(const struct session *s, const struct op_row *row)
{
	unsigned int set = 0;

	if (row->key.op >= OP_N || !(s->vfs_kinds >> row->key.op & 1))
		set |= 1U << ST_VFS;
	if (!s->fs || !fsprobes_can_tell(s->fs, row->fs, row->key.op))
		set |= 1U << ST_FS;
	return set;
}

/*
 * The rows of an interval carry its number. Programs that begin after the number was raised write
 * new rows, and when those that ran at that time have ended, nobody writes the old ones.
 */
int session_snapshot(struct session *s, struct snapshot *ret_sn, struct reason *why)
{
	unsigned char epoch = s->live->epoch;
	struct snapshot sn = {};
	struct cell_maps maps;
	uint64_t now;
	int err;

	s->live->epoch = epoch + 1;
	now = now_ns();
	wait_for_programs();
	cell_maps_fill(s, &maps);
	err = collect(&maps, epoch, &sn);
	if (err) {
		snapshot_free(&sn);
		return reason_set(why, EXIT_FAILED, "cannot read the counters: %s", strerror(-err));
	}
	for (size_t i = 0; i < sn.n_ops; i++)
		sn.ops[i].untold = untold(s, &sn.ops[i]);
	sn.duration_ns = now - s->since_ns;
	s->since_ns = now;
	snapshot_stats(s, &sn);
	*ret_sn = sn;
	return 0;
}

void session_on_record(struct session *s, session_record_fn *fn, void *arg)
{
	s->on_record = fn;
	s->on_record_arg = arg;
}

void session_set_slow_ns(struct session *s, uint64_t threshold_ns)
{
	s->live->slow_ns = threshold_ns;
}

void session_fs_name(struct session *s, uint64_t fs, char ret_name[FS_NAME_LEN])
{
	collect_fs_name(s->live->fs_seen, fs, ret_name);
}

void session_tick(struct session *s)
{
	if (s->ring)
		ring_buffer__consume(s->ring);
	if (!s->fs)
		return;
	fsprobes_attach_new(s->fs);
	if (fsprobes_count(s->fs))
		s->missing.stratum[ST_FS] = NULL;
}

const char *session_module_gone(struct session *s)
{
	return s->fs && fsprobes_module_gone(s->fs, s->module_gone) ? s->module_gone : NULL;
}

int session_poll_fd(const struct session *s)
{
	return s->ring ? ring_buffer__epoll_fd(s->ring) : -1;
}

/* Why a program need not be tried, NULL if it is to be. */
static const char *not_to_try(struct session *s, const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);
	const char *hook = strchr(section, '/') ? strchr(section, '/') + 1 : NULL;

	if (starts_with(section, "tp_btf/") && !feature_has_tracepoint(&s->feat, hook))
		return "this kernel has no such tracepoint";
	if (!level_fits(s, bpf_program__name(prog)) || !calls_fit(s, section))
		return "its twin fits this kernel";
	if (starts_with(section, "iter/") && !s->feat.task_iter)
		return "this kernel has no such iterator";
	if ((starts_with(section, "kprobe") || starts_with(section, "kretprobe")) &&
	    s->feat.no_kprobe[0])
		return s->feat.no_kprobe;
	if (starts_with(section, "f") && s->feat.no_fentry[0])
		return s->feat.no_fentry;
	if (starts_with(section, "f") && hook && !feature_has_function(&s->feat, hook))
		return "this kernel has no such function, or has it inlined";
	return NULL;
}

/* Loads program number @n alone; a new object each time, since one that failed to load is of no
 * more use. -ENOENT: there is no such program. */
static int try_program(struct session *s, int n, struct session_probe *p)
{
	struct bpf_program *prog, *only = NULL;
	int i = 0, err;

	s->trace = trace_bpf__open();
	if (!s->trace)
		return -ENOMEM;
	err = trace_configure(s);
	if (err)
		return err;
	bpf_object__for_each_program(prog, s->trace->obj) {
		bpf_program__set_autoload(prog, i == n);
		if (i++ == n)
			only = prog;
	}
	if (!only)
		return -ENOENT;
	p->program = bpf_program__name(only);
	p->hook = bpf_program__section_name(only);
	p->insns = bpf_program__insn_cnt(only);
	p->why = not_to_try(s, only);
	if (!p->why)
		p->err = trace_bpf__load(s->trace);
	return 0;
}

static int try_programs(struct session *s, void (*fn)(void *, const struct session_probe *),
			void *arg)
{
	int err = 0;

	for (int n = 0; !err; n++) {
		struct session_probe p = {};

		err = try_program(s, n, &p);
		if (!err)
			fn(arg, &p);
		trace_bpf__destroy(s->trace);
		s->trace = NULL;
	}
	return err == -ENOENT ? 0 : err;
}

int session_try_probes(void (*fn)(void *arg, const struct session_probe *p), void *arg,
		       struct reason *why)
{
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return reason_set(why, EXIT_FAILED, "out of memory");
	s->stats_fd = -1;
	s->conf.follow = s->conf.records = true; /* so that no program's maps are missing */
	libbpf_set_print(note_refused);
	err = feature_probe(&s->feat, why);
	if (!err && try_programs(s, fn, arg))
		err = reason_set(why, EXIT_FAILED, "out of memory");
	session_close(s);
	return err;
}
