// SPDX-License-Identifier: GPL-2.0-only
/*
 * session.c - one tracing run from its configuration to its rows: has it planned, loaded, attached,
 * drained and detached.
 *
 * Owns everything the run has in the kernel. Must not print, and does not know command line
 * options.
 */
#include "host/devices.h"
#include "host/limits.h"
#include "trace/session.h"

#include <errno.h>
#include <glob.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/async.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/protocols.h"
#include "base/reason.h"
#include "base/snapshot.h"
#include "bpf/conf.h"
#include "event.h"
#include "trace/attach.h"
#include "trace/collect.h"
#include "trace/configure.h"
#include "trace/drain.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/fsprobes.h"
#include "trace/hung.h"
#include "trace/load.h"
#include "trace/maps.h"
#include "trace/plan.h"
#include "trace/sites.h"
#include "trace/stream.h"
#include "trace/threads.h"
#include "trace/track.h"
#include "trace/unfinished.h"
#include "trace/unwind.h"

#include "trace.skel.h"

/* Losses reported so far; a snapshot has the difference from these. */
struct counters {
	uint64_t lost[LOST_N];
	uint64_t missed;
	uint64_t unreaped; /* no loss */
};

/* Adds the kernel's statistics of the program @fd to @sn. Returns how many hits the program missed.
 */
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

/* Adds the misses of a program since it was loaded. */
static void program_stats(void *arg, int fd)
{
	struct snapshot *sn = arg;

	sn->missed += run_stats(sn, fd);
}

/* Adds the misses of program @fd. An event is lost only if the backup missed it, too: at most the
 * smaller number. */
static void backed_stats(const struct backups *backups, struct snapshot *sn, int fd)
{
	uint64_t missed = run_stats(sn, fd), by_backup;
	int backup = backups_of(backups, fd);

	if (backup >= 0) {
		by_backup = run_stats(sn, backup);
		missed = by_backup < missed ? by_backup : missed;
	}
	sn->missed += missed;
}

/* Starts counting. Losses until now do not count, as probes were attached one by one. */
static void counters_begin(struct counters *c, const struct live *live)
{
	for (int i = 0; i < LOST_N; i++)
		c->lost[i] = live->lost[i];
	c->missed = live->returns_missed;
	c->unreaped = live->unreaped;
}

/* Fills in the losses of @sn, and the run time of our programs if the kernel measures it. */
static void counters_read(struct counters *c, const struct live *live, const struct trace_bpf *obj,
			  const struct attached *a, struct snapshot *sn)
{
	struct bpf_program *prog;
	uint64_t missed, lost;

	bpf_object__for_each_program (prog, obj->obj)
		backed_stats(&a->backups, sn, bpf_program__fd(prog));
	if (a->fs)
		fsprobes_programs(a->fs, program_stats, sn);
	missed = sn->missed + links_missed(&a->links) + fsprobes_missed(a->fs) +
		 live->returns_missed;
	sn->missed = missed - c->missed;
	c->missed = missed;
	for (int l = 0; l < LOST_N; l++) {
		lost = live->lost[l];
		sn->lost[l] += lost - c->lost[l];
		c->lost[l] = lost;
	}
	sn->has_unreaped = obj->rodata->conf.reap_rings;
	sn->unreaped = live->unreaped - c->unreaped;
	c->unreaped += sn->unreaped;
}

/* Why a layer that needs function probes is missing. */
static const char *why_no_layer(const struct feature *f)
{
	return f->func == FUNC_NONE ? f->no_functions : "none of its functions could be probed";
}

static const char not_in_vfs[] = "reads and writes of io_uring and libaio call their file system "
				 "without the VFS; '-T FSTYPE' measures them";
static const char not_counted[] = "this run does not count them";
static const char not_split[] = "this run does not split the time on the CPU";

/* Whether libaio is traced: each function has two programs, and one of them must be loaded. */
static bool aio_is_probed(const struct trace_bpf *obj)
{
	const struct bpf_program *const pairs[][2] = {
		{ obj->progs.enter_aio_read, obj->progs.kenter_aio_read },
		{ obj->progs.leave_aio_read, obj->progs.kleave_aio_read },
		{ obj->progs.enter_aio_write, obj->progs.kenter_aio_write },
		{ obj->progs.leave_aio_write, obj->progs.kleave_aio_write },
		{ obj->progs.enter_aio_complete, obj->progs.kenter_aio_complete },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (bpf_program__fd(pairs[i][0]) < 0 && bpf_program__fd(pairs[i][1]) < 0)
			return false;
	return true;
}

/* Notes the figures missing without the program of @row. The first reason for a stratum stays: rows
 * are ordered by how much their reason explains. */
static void missing_add(struct missing *m, const struct program *row)
{
	for (int st = 0; st < ST_N; st++)
		if (row->strata >> st & 1 && !m->stratum[st])
			m->stratum[st] = row->without;
	if (row->requests)
		m->requests = row->without;
	if (row->asks & ASK_CALLS)
		m->syscalls = row->without;
	if (row->asks & (ASK_URING | ASK_QUEUED))
		m->uring = row->without;
	if (row->asks & ASK_FAULTS)
		m->faults = row->without;
	if (row->pages)
		m->pages = row->without;
}

/* Whether there are disks whose driver may take pages without a bio. */
static bool memory_disks_exist(void)
{
	glob_t found;
	bool any = !glob("/sys/block/{zram,ram,pmem}[0-9]*", GLOB_BRACE, NULL, &found);

	if (any)
		globfree(&found);
	return any;
}

static bool has_file_filters(const struct bpf_conf *c)
{
	return c->n_files || c->n_devs || c->n_fs;
}

/* Fills in what was asked for but cannot be measured, and why, from programs[] and from the
 * attached programs. The texts live as long as @f. */
static void missing_fill(struct missing *m, const struct plan *plan, const struct trace_bpf *obj,
			 const struct attached *a, const struct feature *f)
{
	for (const struct program *row = programs; row < programs + programs_n; row++)
		if (row->without && plan_is_for(plan, row) &&
		    bpf_program__fd(program_of(obj, row)) < 0)
			missing_add(m, row);
	if (m->pages && !memory_disks_exist())
		m->pages = NULL;
	m->device_bytes = m->stratum[ST_DEVICE];
	if (!obj->rodata->conf.minor_faults)
		m->minor_faults = not_counted;
	else if (bpf_program__fd(obj->progs.on_fault_handled) < 0)
		m->minor_faults = why_no_layer(f);
	if ((plan->asked & ASK_WAITS) && !obj->rodata->conf.cpu_split)
		m->stratum[ST_VFS] = m->stratum[ST_FS] = not_split;
	if ((plan->asked & ASK_VFS) && !a->vfs_kinds)
		m->stratum[ST_VFS] = why_no_layer(f);
	if ((plan->asked & ASK_FS) && !fsprobes_count(a->fs))
		m->stratum[ST_FS] = why_no_layer(f);
	if ((plan->asked & ASK_AIO) && !aio_is_probed(obj))
		m->aio = why_no_layer(f);
	if ((plan->asked & ASK_QUEUED) && bpf_program__fd(obj->progs.enter_aio_complete) < 0 &&
	    bpf_program__fd(obj->progs.kenter_aio_complete) < 0)
		m->aio = why_no_layer(f);
	if (obj->rodata->conf.layer == LAYER_VFS)
		m->uring = m->aio = not_in_vfs;
	if ((plan->asked & ASK_PATHS) && has_file_filters(&obj->rodata->conf) &&
	    bpf_program__fd(obj->progs.on_walk_over) < 0)
		m->paths = why_no_layer(f);
}

/* Checks that user stacks can be taken: 0, or -1 with @why. */
static int stacks_check(const struct trace_bpf *obj, struct reason *why)
{
	const struct bpf_program *progs[] = { obj->progs.on_stack, obj->progs.on_stack_perf };

	for (size_t i = 0; i < sizeof(progs) / sizeof(*progs); i++)
		if (bpf_program__fd(progs[i]) >= 0)
			return 0;
	return reason_set(why, EXIT_KERNEL, "user stacks cannot be taken: %s",
			  program_row(obj, progs[0])->without);
}

/* Checks that the layer the user asked for is measured: 0, or -1 with @why. */
static int missing_check(const struct missing *m, enum layer layer, const struct attached *a,
			 struct reason *why)
{
	const char *const missing[] = {
		[LAYER_OPS] = m->syscalls,        [LAYER_SYSCALL] = m->syscalls,
		[LAYER_VFS] = m->stratum[ST_VFS], [LAYER_FS] = m->stratum[ST_FS],
		[LAYER_BLK] = m->requests,
	};

	if (load_is_limit(a->err))
		return load_limit_reached(why, "attach", a->err);
	if (!missing[layer])
		return 0;
	reason_set(why, EXIT_KERNEL, "this layer cannot be traced: %s", missing[layer]);
	return reason_hint(why, "'iostrata doctor' shows what this kernel supports");
}

struct session {
	struct session_conf conf;
	struct feature feat;
	struct plan plan;
	struct trace_bpf *trace;
	struct live *live;     /* variables of all programs */
	struct op_cell *slots; /* mapped, slots_len bytes; NULL: not in use */
	size_t slots_len;
	struct access_slot *accesses; /* mapped, accesses_len bytes; NULL: not in use */
	size_t accesses_len;
	unsigned int *hists; /* mapped, hists_len bytes; NULL: not in use */
	size_t hists_len;
	struct rq_cell *slot_rqs;
	size_t slot_rqs_len;
	struct server_slot *server_slots; /* mapped, server_slots_len bytes; NULL: not in use */
	size_t server_slots_len;
	struct attached attached;
	char module_gone[FUNC_NAME_LEN];
	struct ring_buffer *ring;
	struct ring_buffer *commands; /* NULL: not asked for */
	struct stream stream;         /* receives sent records; all 0 if none are sent */
	struct stream_target sent;
	int epoll;             /* of ring and stream */
	uint64_t lost[LOST_N]; /* losses when the probes went live */
	session_slow_op_fn *on_slow_op;
	void *on_slow_op_arg;
	struct unwind unwind;
	const struct session_stacks *on_stacks; /* NULL: no stacks are taken */
	uint64_t stacks_lost;                   /* until the last session_stacks_lost() */
	uint64_t stacks_lost_ns;
	int stats_fd;
	uint64_t since_ns;
	struct drain drain;
	struct counters counters;
	struct missing missing;
	struct state_layout layout;
	struct hung_threads hung;
	struct symbols symbols; /* looked up symbols */
	uint64_t threads_ns;    /* time of threads until the last snapshot */
};

static int ring_record(void *ctx, void *data, size_t len)
{
	struct session *s = ctx;

	if (len >= sizeof(struct sent_slow_op) && s->on_slow_op)
		s->on_slow_op(s->on_slow_op_arg, data);
	return 0;
}

/* A stack, or a part of one, or a file that a stack has met. */
static int stack_record(void *ctx, void *data, size_t len)
{
	struct session *s = ctx;
	const struct session_stacks *to = s->on_stacks;
	const struct sent_stack *stack = data;
	const struct sent_stack_file *file = data;

	if (!to)
		return 0;
	if (len >= sizeof(*stack) && (stack->what == SENT_STACK || stack->what == SENT_SUBMISSION))
		unwind_use(&s->unwind, stack);
	if (len >= sizeof(*stack) && stack->what == SENT_STACK)
		to->stack(to->arg, stack);
	else if (len >= sizeof(*stack) && stack->what == SENT_SUBMISSION)
		to->submission(to->arg, stack);
	else if (len >= offsetof(struct sent_stack, frames) && stack->what == SENT_SUBMITTED)
		to->request(to->arg, stack);
	else if (len >= sizeof(*file) && file->what == SENT_STACK_FILE)
		to->file(to->arg, file);
	return 0;
}

/* A new cgroup, or a disk with its first request. Or rows must be drained: session_beat() checks
 * this itself, so such a record only wakes the poller. */
static int wake_record(void *ctx, void *data, size_t len)
{
	const struct made_cgroup *made = data;
	const struct met_disk *met = data;
	struct session *s = ctx;

	if (len == sizeof(*met))
		devices_around(&s->drain.got.devices, met->dev);
	if (len >= sizeof(*made))
		cgroups_note(&s->drain.got.cgroups, made->id, made->path);
	return 0;
}

static int command_record(void *ctx, void *data, size_t len)
{
	const struct executed *e = data;
	struct session *s = ctx;

	if (len >= sizeof(*e) && e->len <= sizeof(e->text))
		commands_execute(&s->drain.commands, e->pid, e->comm, e->text, e->len);
	return 0;
}

static int rings_open(struct session *s, struct reason *why)
{
	const struct trace_bpf *t = s->trace;

	s->ring = ring_buffer__new(bpf_map__fd(t->maps.wakes), wake_record, s, NULL);
	if (s->conf.commands)
		s->commands =
			ring_buffer__new(bpf_map__fd(t->maps.commands), command_record, s, NULL);
	if (!s->ring || (s->conf.commands && !s->commands) ||
	    (s->conf.records &&
	     ring_buffer__add(s->ring, bpf_map__fd(t->maps.ring), ring_record, s)) ||
	    (s->conf.stacks &&
	     ring_buffer__add(s->ring, bpf_map__fd(t->maps.stacks), stack_record, s)))
		return load_is_limit(errno)
			       ? load_limit_reached(why, "attach", errno)
			       : reason_set(why, EXIT_FAILED, "cannot read the ring buffer: %s",
					    strerror(errno));
	return 0;
}

static int streams_open(struct session *s, const struct bpf_conf *conf, struct reason *why)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err = 0;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, ring_buffer__epoll_fd(s->ring), &ev))
		err = -errno;
	if (!err && s->commands &&
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, ring_buffer__epoll_fd(s->commands), &ev))
		err = -errno;
	if (!err && (s->conf.sent_ops || s->conf.sent_requests)) {
		if (stream_open(&s->stream, s->trace, conf, s->conf.buffer_bytes, &s->sent, why))
			return -1;
		err = stream_watch(&s->stream, s->epoll);
	}
	if (load_is_limit(-err))
		return load_limit_reached(why, "attach", -err);
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot wait for the ring buffers: %s",
				  strerror(-err));
	return 0;
}

static int drain_start(struct session *s, struct reason *why)
{
	const struct trace_bpf *t = s->trace;
	struct cell_maps maps = {
		.ops = { bpf_map__fd(t->maps.op_rows_even), bpf_map__fd(t->maps.op_rows_odd) },
		.rqs = { bpf_map__fd(t->maps.rq_rows_even), bpf_map__fd(t->maps.rq_rows_odd) },
		.helpers = { bpf_map__fd(t->maps.helper_rows_even),
			     bpf_map__fd(t->maps.helper_rows_odd) },
		.sites = { bpf_map__fd(t->maps.site_rows_even),
			   bpf_map__fd(t->maps.site_rows_odd) },
		.whos = { bpf_map__fd(t->maps.who_rows_even), bpf_map__fd(t->maps.who_rows_odd) },
		.servers = { bpf_map__fd(t->maps.server_rows_even),
			     bpf_map__fd(t->maps.server_rows_odd) },
		.file_names = { bpf_map__fd(t->maps.file_names_even),
				bpf_map__fd(t->maps.file_names_odd) },
		.thread_names = { bpf_map__fd(t->maps.thread_names_even),
				  bpf_map__fd(t->maps.thread_names_odd) },
		.access_sizes = { bpf_map__fd(t->maps.access_sizes_even),
				  bpf_map__fd(t->maps.access_sizes_odd) },
		.accesses = s->accesses,
		.n_accesses = t->rodata->conf.access_slots,
		.n_cpus = t->rodata->conf.cpus,
		.requests = maps_have_requests(&s->conf),
		.slots = s->slots,
		.hists = s->hists,
		.slot_rqs = s->slot_rqs,
		.server_slots = s->server_slots,
		.live = s->live,
		.by = s->conf.by,
	};
	int err = drain_open(&s->drain, &maps, s->live);

	if (load_is_limit(-err))
		return load_limit_reached(why, "attach", -err);
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot wait for the BPF programs to end: %s",
				  strerror(-err));
	return 0;
}

/* Maps the cells into our memory. */
static int cells_open(struct session *s, const struct bpf_conf *conf, struct reason *why)
{
	const struct trace_bpf *t = s->trace;

	if (conf->row_slots && maps_map(t->maps.slot_cells, (void **)&s->slots, &s->slots_len, why))
		return -1;
	if (conf->hists_apart &&
	    maps_map(t->maps.slot_hists, (void **)&s->hists, &s->hists_len, why))
		return -1;
	if (conf->access_slots &&
	    maps_map(t->maps.access_slots, (void **)&s->accesses, &s->accesses_len, why))
		return -1;
	if (maps_server_slots(conf) &&
	    maps_map(t->maps.server_slots, (void **)&s->server_slots, &s->server_slots_len, why))
		return -1;
	if (!maps_have_requests(&s->conf) || conf->rq_in_cells)
		return 0;
	return maps_map(t->maps.slot_rq_cells, (void **)&s->slot_rqs, &s->slot_rqs_len, why);
}

/* Looks for threads that wait already. Returns 0, or -1 with @why. */
static int hung_begin(struct session *s, struct reason *why)
{
	struct hung_list listed = {};
	int err;

	if (!hung_wanted(&s->conf))
		return 0;
	err = hung_list_read(s->trace->progs.on_task, &listed);
	if (!err)
		err = hung_look(&hung_places, &s->conf, &listed, s->since_ns, &s->hung);
	free(listed.list);
	return err ? reason_no_memory(why) : 0;
}

static int session_start(struct session *s, struct reason *why)
{
	struct bpf_conf conf = {};
	int err;

	/* for a moment, libbpf holds the kernel's types twice, 5 MB each; without this setting,
	 * glibc would keep the memory (it raises its threshold to the size last freed) */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (feature_probe(&s->feat, why))
		return -1;
	plan_init(&s->plan, &s->feat, plan_asked(&s->conf), plan_kinds(&s->conf));
	configure(&conf, &s->conf, &s->feat);
	if (load(&s->plan, &s->conf, &conf, &s->feat, &s->trace, why))
		return -1;
	if (s->feat.func == FUNC_NONE)
		feature_forget_types(&s->feat); /* nothing more will be looked up */
	s->live = (struct live *)&s->trace->bss->live;
	if (state_layout_init(&s->layout, s->trace->obj, &conf))
		return reason_set(why, EXIT_FAILED,
				  "cannot find the states of threads in the BPF programs");
	s->layout.files = s->conf.lists.files;
	s->layout.file_names = s->conf.file_names;
	s->layout.n_files = s->conf.lists.n_files;
	if (s->conf.stacks && (stacks_check(s->trace, why) ||
			       unwind_open(&s->unwind, s->trace, &s->drain.grace, why)))
		return -1;
	if (cells_open(s, &conf, why) || rings_open(s, why) || streams_open(s, &conf, why) ||
	    drain_start(s, why))
		return -1;
	if (s->conf.stats)
		s->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (s->conf.prepare && s->conf.prepare(s, s->conf.prepare_arg, why))
		return -1;
	attach_all(&s->attached, s->trace, &s->plan, &s->conf, &s->feat, s->live->fs_types);
	feature_forget_types(&s->feat);
	malloc_trim(0); /* the free pages between what libbpf keeps */
	missing_fill(&s->missing, &s->plan, s->trace, &s->attached, &s->feat);
	if (missing_check(&s->missing, s->conf.layer, &s->attached, why))
		return -1;
	err = s->conf.children ? track_older(bpf_map__fd(s->trace->maps.tracked),
					     s->conf.lists.pids, s->conf.lists.n_pids)
			       : 0;
	if (err)
		return reason_set(why, EXIT_FAILED, "cannot look for the children: %s",
				  strerror(-err));
	counters_begin(&s->counters, s->live);
	for (int i = 0; i < LOST_N; i++)
		s->lost[i] = s->live->lost[i];
	s->live->since_ns = s->since_ns = clock_ns();
	return hung_begin(s, why);
}

int session_open(const struct session_conf *conf, struct session **ret_session, struct reason *why)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return reason_no_memory(why);
	s->conf = *conf;
	s->stats_fd = s->epoll = -1;
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
	attach_done(&s->attached);
	if (s->slots)
		munmap(s->slots, s->slots_len);
	if (s->hists)
		munmap(s->hists, s->hists_len);
	if (s->accesses)
		munmap(s->accesses, s->accesses_len);
	if (s->slot_rqs)
		munmap(s->slot_rqs, s->slot_rqs_len);
	if (s->server_slots)
		munmap(s->server_slots, s->server_slots_len);
	unwind_close(&s->unwind);
	hung_done(&s->hung);
	drain_done(&s->drain);
	symbols_done(&s->symbols);
	stream_close(&s->stream);
	ring_buffer__free(s->ring);
	ring_buffer__free(s->commands);
	if (s->epoll >= 0)
		close(s->epoll);
	trace_bpf__destroy(s->trace);
	if (s->stats_fd >= 0)
		close(s->stats_fd);
	feature_done(&s->feat);
	free(s);
}

bool session_is_slow_to_close(const struct session *s)
{
	return s && s->attached.links.n && s->feat.func != FUNC_NONE;
}

int session_refused(const struct session *s, const char **ret_first)
{
	*ret_first = s->plan.n_refused ? bpf_program__name(program_of(s->trace, s->plan.refused[0]))
				       : NULL;
	return s->plan.n_refused;
}

const struct missing *session_missing(const struct session *s)
{
	return &s->missing;
}

/* Whether requests to the server of file system type @fs are traced. True if there is no server. */
static bool server_is_traced(const struct session *s, const char *fs)
{
	const char *module;

	if (!fs_has_server(fs))
		return true;
	module = protocol_at(protocol_of_fs(fs))->module;
	for (const struct program *row = programs; module && row < programs + programs_n; row++)
		if (row->module && !strcmp(row->module, module) &&
		    bpf_program__fd(program_of(s->trace, row)) >= 0)
			return true;
	return false;
}

/* Layers whose functions are not probed for operations of @row: set of 1 << stratum. */
static unsigned int missing_layers(const struct session *s, const struct op_row *row)
{
	unsigned int set = 0;

	if (row->key.op >= OP_N || !(s->attached.vfs_kinds >> row->key.op & 1))
		set |= 1U << ST_VFS;
	if (!s->attached.fs ||
	    !fsprobes_can_tell(s->attached.fs, row->fs, async_layers(row->key.op, row->key.call)))
		set |= 1U << ST_FS;
	if (!server_is_traced(s, row->fs))
		set |= 1U << ST_SERVER;
	return set | async_unmeasured(row->key.op, row->key.call);
}

/* Lifetimes of the tracked threads since the last call, in ns, added up. */
static uint64_t threads_time(struct session *s, uint64_t now)
{
	uint64_t before = s->threads_ns;

	threads_total(&s->live->threads, now - s->live->since_ns, &s->threads_ns);
	return s->threads_ns - before;
}

/* Reads the busiest thread of the interval that has ended; no program writes it any more. */
static void busiest_read(const struct session *s, struct snapshot *sn)
{
	int n = libbpf_num_possible_cpus();
	struct busy_thread *of_cpus = n > 0 ? calloc(n, sizeof(*of_cpus)) : NULL;
	unsigned int interval = s->live->interval - 1, slot = interval & 1;

	if (of_cpus && !bpf_map_lookup_elem(bpf_map__fd(s->trace->maps.busiest), &slot, of_cpus))
		threads_busiest(of_cpus, n, interval, sn->taken_ns - sn->duration_ns, sn->taken_ns,
				&sn->busiest);
	free(of_cpus);
}

/* Names the calls in progress for long. Where hung threads are not looked for, there is no program
 * for it. Returns 0 or -ENOMEM. */
static int calls_name(struct session *s, struct snapshot *sn)
{
	struct hung_list listed = {};
	int err = 0;

	if (hung_wanted(&s->conf) && hung_has_unnamed(sn))
		err = hung_list_read(s->trace->progs.on_task, &listed);
	if (!err && listed.n)
		err = hung_name_calls(&s->conf, &listed, sn);
	free(listed.list);
	return err;
}

/* Adds operations in progress, and threads waiting since before the start. Returns 0 or -errno.
 */
static int waiting_read(struct session *s, struct snapshot *sn)
{
	const struct hung_states states = { s->missing.syscalls ? NULL : &s->layout,
					    s->trace->bss };
	int err;

	err = unfinished_read(&s->layout, s->trace->bss, s->live->fs_types, clock_ns(),
			      s->conf.min_ns, sn);
	if (!err)
		err = calls_name(s, sn);
	if (!err)
		err = hung_read(&s->hung, &hung_places, &states, clock_ns(), s->conf.min_ns, sn);
	return err;
}

/* Tells which of the longest waits may be for a suspended device. */
static void suspended_read(struct snapshot *sn)
{
	enum { MOST = 16 };

	for (size_t i = 0; i < sn->n_unfinished && i < MOST; i++) {
		struct unfinished *u = &sn->unfinished[i];

		devices_suspended(u->dev     ? u->dev
				  : u->by[1] ? FILE_KEY_DEV(u->by[0])
					     : 0,
				  u->suspended, sizeof(u->suspended));
	}
	for (size_t i = 0; i < sn->n_hung && i < MOST; i++)
		if (sn->hung[i].file && !sn->hung[i].server)
			devices_suspended_below(sn->hung[i].file, sn->hung[i].suspended,
						sizeof(sn->hung[i].suspended));
}

/* The command lines of the processes to which most of the waits were due. */
static void whos_read(struct session *s, struct snapshot *sn)
{
	enum { MOST = 16 };

	sn->has_whos = s->trace->rodata->conf.who_rows;
	snapshot_whos_sort(sn);
	for (size_t i = 0; i < sn->n_whos && i < MOST; i++) {
		const struct who_key *key = &sn->whos[i].key;

		sn->whos[i].command = session_command(s, key->pid, NULL);
		if (key->who == WHO_LIMIT)
			sn->whos[i].limit =
				limit_of_cgroup(key->cgroup, limit_side(key->op), key->limit);
	}
}

int session_snapshot(struct session *s, struct snapshot *ret_sn, struct reason *why)
{
	struct snapshot sn = {};
	int err;

	s->live->interval++; /* programs with the old number end while rows are drained */
	if (s->commands)
		ring_buffer__consume(s->commands);
	err = drain_take(&s->drain, &sn);

	if (!err && s->conf.layer == LAYER_OPS)
		err = waiting_read(s, &sn);
	suspended_read(&sn);
	whos_read(s, &sn);
	if (!err && s->conf.sites)
		err = sites_name(&s->symbols, &sn);
	if (err) {
		snapshot_free(&sn);
		return reason_set(why, EXIT_FAILED, "cannot read the counters: %s", strerror(-err));
	}
	for (size_t i = 0; i < sn.n_ops; i++)
		sn.ops[i].missing_layers = missing_layers(s, &sn.ops[i]);
	sn.taken_ns = s->drain.drained_ns;
	sn.duration_ns = sn.taken_ns - s->since_ns;
	s->since_ns = sn.taken_ns;
	if (s->conf.follow)
		sn.threads_ns = threads_time(s, sn.taken_ns);
	if (s->trace->rodata->conf.busiest)
		busiest_read(s, &sn);
	counters_read(&s->counters, s->live, s->trace, &s->attached, &sn);
	sn.has_overhead = s->stats_fd >=
			  0; /* the kernel may also measure because another process asked for it */
	*ret_sn = sn;
	return 0;
}

void session_on_slow_op(struct session *s, session_slow_op_fn *fn, void *arg)
{
	s->on_slow_op = fn;
	s->on_slow_op_arg = arg;
}

void session_set_slow_ns(struct session *s, uint64_t threshold_ns)
{
	s->live->slow_ns = threshold_ns;
}

void session_on_stacks(struct session *s, const struct session_stacks *to)
{
	s->on_stacks = to;
}

int session_unwind_add(struct session *s, const struct unwind_key *key, unsigned int number,
		       const struct unwind_row *rows, size_t n, const struct unwind_python *python)
{
	return unwind_add(&s->unwind, key, number, rows, n, python);
}

void session_unwind_forget(struct session *s, const struct unwind_key *key)
{
	unwind_forget(&s->unwind, key);
}

void session_set_stack_ns(struct session *s, uint64_t threshold_ns)
{
	s->live->stack_ns = threshold_ns;
}

void session_set_stack_requests(struct session *s, uint64_t each)
{
	s->live->stack_requests = each;
}

uint64_t session_stacks_lost(struct session *s, uint64_t *ret_ns)
{
	volatile struct live *live = s->live;
	uint64_t lost = live->stacks_lost, ns = live->stacks_lost_ns, n = lost - s->stacks_lost;

	*ret_ns = ns - s->stacks_lost_ns;
	s->stacks_lost = lost;
	s->stacks_lost_ns = ns;
	return n;
}

void session_fs_name(const struct session *s, unsigned long long fs, char ret_name[FS_NAME_LEN])
{
	collect_fs_name(s->live->fs_types, fs, ret_name);
}

unsigned int session_missing_layers(const struct session *s, const struct op_row *row)
{
	return missing_layers(s, row);
}

int session_fs_slot(const struct session *s, unsigned long long fs)
{
	for (int i = 0; i < FS_SLOTS && fs > FS_UNKNOWN; i++)
		if (s->live->fs_types[i].fs == fs)
			return i;
	return -1;
}

void session_take_stacks(struct session *s)
{
	ring_buffer__consume(s->ring);
}

int session_watch(struct session *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void session_on_sent(struct session *s, session_sent_fn *record, session_sent_fn *name, void *arg)
{
	s->sent = (struct stream_target){ record, name, arg, 0 };
}

void session_sent_names(struct session *s)
{
	stream_names(&s->stream);
}

char *session_command(struct session *s, unsigned int pid, const char *comm)
{
	if (s->commands)
		ring_buffer__consume(s->commands);
	return commands_line(&s->drain.commands, pid, comm);
}

void session_names_again(struct session *s)
{
	stream_names_again(s->trace);
}

bool session_fs(const struct session *s, unsigned int slot, char ret_name[FS_NAME_LEN],
		unsigned int *ret_probed)
{
	const struct fs_entry *seen = s->live->fs_types;

	if (slot >= FS_SLOTS || !seen[slot].fs)
		return false;
	collect_fs_name(seen, seen[slot].fs, ret_name);
	*ret_probed = 0;
	for (unsigned int op = 0; s->attached.fs && op < OP_N; op++)
		if (fsprobes_can_tell(s->attached.fs, ret_name, op))
			*ret_probed |= 1U << op;
	return true;
}

unsigned int session_vfs_kinds(const struct session *s)
{
	return s->attached.vfs_kinds;
}

uint64_t session_lost(const struct session *s, enum lost what)
{
	return ((volatile struct live *)s->live)->lost[what] - s->lost[what];
}

/* Probes functions of file systems met since the last look. The return of a function may be probed
 * before its entry, and long before an operation in progress returns. No entry is missing for
 * operations that began until now. */
static void functions_attach_new(struct session *s)
{
	volatile struct live *live = s->live;
	unsigned long long before = live->layers_ns;
	int probed = fsprobes_count(s->attached.fs);

	live->layers_ns = ~0ULL;
	fsprobes_attach_new(s->attached.fs);
	live->layers_ns = fsprobes_count(s->attached.fs) == probed ? before : clock_ns();
}

void session_beat(struct session *s)
{
	ring_buffer__consume(s->ring);
	if (s->commands)
		ring_buffer__consume(s->commands);
	stream_consume(&s->stream);
	drain_beat(&s->drain);
	if (!s->attached.fs)
		return;
	functions_attach_new(s);
	if (fsprobes_count(s->attached.fs))
		s->missing.stratum[ST_FS] = NULL;
}

const char *session_module_gone(struct session *s)
{
	if (!s->attached.fs || !fsprobes_module_gone(s->attached.fs, s->module_gone))
		return NULL;
	return s->module_gone;
}

int session_poll_fd(const struct session *s)
{
	return s->epoll;
}
