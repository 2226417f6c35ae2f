// SPDX-License-Identifier: GPL-2.0-only
#include "trace/plan.h"

#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "trace/feature_types.h"
#include "trace/hung.h"
#include "trace/maps.h"
#include "trace/session.h"

#include "trace.skel.h"

struct bpf_program *program_of(const struct trace_bpf *obj, const struct program *prog)
{
	return *(struct bpf_program *const *)((const char *)obj + prog->at);
}

const struct program *program_row(const struct trace_bpf *obj, const struct bpf_program *prog)
{
	for (size_t i = 0; i < programs_n; i++)
		if (program_of(obj, &programs[i]) == prog)
			return &programs[i];
	return NULL;
}

void program_hook_text(const struct program *prog, char *text, size_t cap)
{
	static const char *const kinds[] = {
		[HOOK_TP_BTF] = "tp_btf", [HOOK_TP] = "tp",
		[HOOK_ITER] = "iter",     [HOOK_FAULTS] = "perf_event",
		[HOOK_FENTRY] = "fentry", [HOOK_FEXIT] = "fexit",
		[HOOK_KPROBE] = "kprobe", [HOOK_KRETPROBE] = "kretprobe",
	};

	snprintf(text, cap, "%s/%s", kinds[prog->hook],
		 prog->is_template ? "<function>" : prog->target);
}

/* Whether calls by path have a file. A layer traced alone needs it only for rows or filters. */
static bool paths_wanted(const struct session_conf *conf)
{
	const struct filter_lists *l = &conf->lists;

	if (!(conf->kinds & (1U << OP_META | 1U << OP_OPEN | 1U << OP_EXEC)))
		return false;
	return conf->layer == LAYER_OPS ||
	       (conf->layer == LAYER_SYSCALL &&
		(conf->by == BY_FILE || conf->by == BY_DEV || conf->by == BY_SERVER || l->n_files ||
		 l->n_devs || l->n_fs));
}

bool plan_has_files(const struct session_conf *conf)
{
	const struct filter_lists *l = &conf->lists;

	return conf->by == BY_FILE || conf->by == BY_DEV || conf->by == BY_SERVER ||
	       conf->by == BY_CACHE || conf->records || conf->sent_ops || l->n_files || l->n_devs;
}

unsigned int plan_asked(const struct session_conf *conf)
{
	static const unsigned int of_layer[] = {
		[LAYER_OPS] = ASK_CALLS | ASK_WAITS | ASK_LOCKS | ASK_REQUESTS | ASK_VFS | ASK_FS |
			      ASK_SERVERS,
		[LAYER_SYSCALL] = ASK_CALLS | ASK_CALL_FILES,
		[LAYER_VFS] = ASK_VFS,
		[LAYER_FS] = ASK_FS | ASK_QUEUED,
		[LAYER_BLK] = ASK_REQUESTS,
	};
	const struct filter_lists *l = &conf->lists;
	unsigned int asks = ASK_THREADS | of_layer[conf->layer];

	if (conf->cpu_whole && conf->layer == LAYER_OPS)
		asks = (asks & ~(ASK_VFS | ASK_FS)) | ASK_CALL_FILES;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_URING)
		asks |= ASK_URING;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_AIO)
		asks |= ASK_AIO;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_FAULT)
		asks |= ASK_FAULTS;
	if (conf->layer == LAYER_OPS && conf->kinds & OUTSIDE_KINDS)
		asks |= ASK_OUTSIDE;
	if (conf->layer == LAYER_OPS && conf->kinds & 1U << OP_SERVED)
		asks |= ASK_SERVED;
	if (conf->layer == LAYER_OPS && (conf->records || conf->sent_ops) &&
	    conf->kinds & (1U << OP_OPEN | 1U << OP_META))
		asks |= ASK_COPIED_UP;
	if (conf->stacks)
		asks |= ASK_STACKS;
	if (paths_wanted(conf))
		asks |= plan_has_files(conf) ? ASK_PATHS | ASK_FOUND : ASK_PATHS;
	if (conf->follow || conf->children)
		asks |= ASK_CHILD;
	if (hung_wanted(conf))
		asks |= ASK_HUNG;
	if (conf->by == BY_THREAD || conf->helpers)
		asks |= ASK_BEHALF;
	if (conf->by == BY_CGROUP)
		asks |= ASK_CGROUPS;
	if (conf->commands)
		asks |= ASK_COMMANDS;
	if ((asks & ASK_REQUESTS) && (conf->follow || l->n_pids || l->n_comms || l->n_cgroups ||
				      rowmaps_rq_by(conf->by) || conf->sent_requests))
		asks |= ASK_ISSUERS;
	if ((asks & ASK_REQUESTS) && !conf->tag_in_queue)
		asks |= ASK_TAG;
	return asks;
}

/*
 * A layer traced alone counts each call that enters it first, so it needs all operations such a
 * call may come from.
 *
 * An open may do anything before it reaches the file's own function: overlayfs copies directories
 * up and syncs them, IMA reads the file. If a file of overlayfs was opened before it was copied up,
 * its next use opens it again.
 */
unsigned int plan_kinds(const struct session_conf *conf)
{
	static const unsigned int by[OP_N] = {
		[OP_READ] = 1U << OP_READ,
		[OP_WRITE] = 1U << OP_WRITE | 1U << OP_FSYNC, /* O_SYNC */
		[OP_OPEN] = ~0U,
		[OP_FSYNC] = 1U << OP_FSYNC,
		[OP_COPY] = 1U << OP_READ | 1U << OP_WRITE | 1U << OP_FSYNC | 1U << OP_COPY |
			    1U << OP_OPEN,
		[OP_META] = ~0U,
		[OP_URING] = ~0U,
		[OP_AIO] = 1U << OP_READ | 1U << OP_WRITE | 1U << OP_FSYNC,
		[OP_SERVED] = ~0U,
		[OP_EXEC] = ~0U,
	};
	unsigned int kinds = 0;

	if (conf->layer != LAYER_OPS || conf->helpers)
		return ~0U;
	for (unsigned int op = 0; op < OP_N; op++)
		kinds |= conf->kinds >> op & 1 ? by[op] : 0;
	return kinds;
}

#define PROG(name) offsetof(struct trace_bpf, progs.name)

/* A BPF helper of 5.17. Before 6.1, programs on events of perf must not use maps that allocate, so
 * the kernel refuses them. */
#define FIND_VMA "bpf_find_vma"

#define STRATA_BLOCK (1U << ST_TAG | 1U << ST_QUEUE | 1U << ST_DEVICE | 1U << ST_COMPLETE)
/* All but those on the CPU, server and reap. Switches alone tell nothing of server and reap. */
#define STRATA_WAITS                                                                               \
	((unsigned int)((1ULL << ST_N) - (1U << SENT_ON_CPU)) & ~(1U << ST_SERVER | 1U << ST_REAP))

static const char no_block[] = "this kernel does not allow tracing its block tracepoints";
static const char no_switch[] = "this kernel does not allow tracing sched_switch and sched_waking";
static const char no_locks[] =
	"this kernel does not report lock waits (5.19 and later do); their time is in sleep";

static const char no_pages[] =
	"before 6.3, such disks take pages without a bio, and fentry, which would tell, does not "
	"work here";

static const char no_uring[] = "this kernel's tracepoints do not identify their request";

static const char no_stacks[] = "this kernel cannot walk user stacks by the tables of programs "
				"(5.17 and later can, if not PREEMPT_RT)";
static const char no_faults[] = "this kernel does not tell programs the file of a page fault (6.1 "
				"and later do, if not PREEMPT_RT)";
static const char no_aborts[] =
	"this kernel does not tell programs where a page fault begins (on arm64, 6.4 and later "
	"do)";

#define TRACEPOINT(prog, name, ...)                                                                \
	{                                                                                          \
		.at = PROG(prog), .hook = HOOK_TP_BTF, .target = name, __VA_ARGS__                 \
	}

#define CALLS(prog, kind, name, need)                                                              \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = name, .asks = ASK_CALLS, .needs = need,  \
		.last = true, .without = "this kernel does not allow tracing system calls"         \
	}

#define MAPPING_CALLS(prog, kind, name, need)                                                      \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = name, .asks = ASK_CALLS,                 \
		.needs = NEED_FIND_VMA | (need), .called = true                                    \
	}

#define STACKS(prog, kind, name, need)                                                             \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = name, .asks = ASK_STACKS,                \
		.needs = NEED_FIND_VMA | (need), .called = true, .without = no_stacks              \
	}

/* After CALLS at the same hook. */
#define SUBMISSIONS(prog, kind, name, need)                                                        \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = name, .asks = ASK_STACKS,                \
		.needs = NEED_FIND_VMA | (need), .last = true                                      \
	}

/* Programs on block tracepoints. Further arguments are further members. */
#define BLOCK(prog, name, ...)                                                                     \
	TRACEPOINT(prog, name, .asks = ASK_REQUESTS, .backup = true, __VA_ARGS__)

/* Without these, neither the strata of the block layer nor requests are measured. */
#define BLOCK_VITAL(prog, name, ...)                                                               \
	BLOCK(prog, name, .strata = STRATA_BLOCK, .requests = true, .without = no_block,           \
	      ##__VA_ARGS__)

#define URING(prog, name, need)                                                                    \
	TRACEPOINT(prog, name, .asks = ASK_URING, .needs = NEED_URING | (need), .backup = true,    \
		   .without = no_uring)

#define FAULT(tag, kind, name, need, why)                                                          \
	{                                                                                          \
		.at = PROG(tag), .hook = kind, .target = name, .asks = ASK_FAULTS, .without = why, \
		.needs = NEED_FIND_VMA | (need), .backup = true, .alone = (kind) == HOOK_FENTRY    \
	}

#define THROTTLED(tag, need)                                                                       \
	{                                                                                          \
		.at = PROG(tag), .hook = HOOK_FENTRY, .target = "throtl_add_bio_tg",               \
		.needs = need, .asks = ASK_ISSUERS | ASK_WAITS, .alone = true                      \
	}

#define FUSE(prog, kind, name, need)                                                               \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = name, .module = "fuse",                  \
		.asks = ASK_SERVERS, .needs = need, .alone = (kind) >= HOOK_FENTRY                 \
	}

#define RPC(prog, name, need)                                                                      \
	TRACEPOINT(prog, name, .module = "sunrpc", .asks = ASK_SERVERS, .needs = need)

#define P9(prog, name, need)                                                                       \
	TRACEPOINT(prog, name, .module = "9pnet", .asks = ASK_SERVERS, .needs = need)

#define SMB(prog, name, need)                                                                      \
	TRACEPOINT(prog, name, .module = "cifs", .asks = ASK_SERVERS, .needs = need)

/* The name of the server of a request. */
#define SMB_SETUP(prog, func)                                                                      \
	{                                                                                          \
		.at = PROG(prog), .hook = HOOK_FEXIT, .target = func, .module = "cifs",            \
		.asks = ASK_SERVERS, .alone = true                                                 \
	}

#define SERVED_IF(prog, kind, name, in, need)                                                      \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = name, .module = in, .asks = ASK_SERVED,  \
		.needs = need, .alone = (kind) >= HOOK_FENTRY                                      \
	}

/* Requests to nfsd. They begin and end in SunRPC. */
#define SERVED(prog, kind, name, in) SERVED_IF(prog, kind, name, in, NEED_NFSD)

#define NFSD(func) SERVED(on_##func, HOOK_FENTRY, #func, "nfsd")

#define KSMBD(prog, kind, func) SERVED_IF(prog, kind, func, "ksmbd", NEED_KSMBD)

#define FUNCTION(tag, func, kind, entry_asks)                                                      \
	{ .at = PROG(leave_##tag),                                                                 \
	  .hook = HOOK_FEXIT,                                                                      \
	  .target = func,                                                                          \
	  .asks = ASK_VFS,                                                                         \
	  .op = kind },                                                                            \
		{ .at = PROG(enter_##tag),                                                         \
		  .hook = HOOK_FENTRY,                                                             \
		  .target = func,                                                                  \
		  .asks = entry_asks,                                                              \
		  .op = kind },                                                                    \
		{ .at = PROG(kleave_##tag),                                                        \
		  .hook = HOOK_KRETPROBE,                                                          \
		  .target = func,                                                                  \
		  .asks = ASK_VFS,                                                                 \
		  .op = kind },                                                                    \
	{                                                                                          \
		.at = PROG(kenter_##tag), .hook = HOOK_KPROBE, .target = func, .asks = entry_asks, \
		.op = kind                                                                         \
	}

#define AIO(tag, func, kind)                                                                       \
	{                                                                                          \
		.at = PROG(tag), .hook = kind, .target = func, .asks = ASK_AIO, .needs = NEED_AIO  \
	}

#define AIO_FUNCTION(func)                                                                         \
	AIO(leave_##func, #func, HOOK_FEXIT), AIO(enter_##func, #func, HOOK_FENTRY),               \
		AIO(kleave_##func, #func, HOOK_KRETPROBE), AIO(kenter_##func, #func, HOOK_KPROBE)

#define AIO_END(tag, kind, ...)                                                                    \
	{                                                                                          \
		.at = PROG(tag), .hook = kind, .target = "aio_complete",                           \
		.asks = ASK_AIO | ASK_QUEUED, .needs = NEED_AIO, .alone = true, ##__VA_ARGS__      \
	}

#define WALK(prog, func, ask)                                                                      \
	{                                                                                          \
		.at = PROG(prog), .hook = HOOK_FENTRY, .target = func, .asks = ask,                \
		.needs = NEED_FIND_VMA, .alone = true                                              \
	}

#define TEMPLATE_OF(tag, type, stand_in, which)                                                    \
	{                                                                                          \
		.at = PROG(tag), .hook = type, .target = stand_in, .asks = ASK_FS,                 \
		.is_template = true, .method = FS_##which, .op = OP_##which                        \
	}

#define TEMPLATE(tag, stand_in, which)                                                             \
	TEMPLATE_OF(leave_##tag, HOOK_FEXIT, stand_in, which),                                     \
		TEMPLATE_OF(enter_##tag, HOOK_FENTRY, stand_in, which),                            \
		TEMPLATE_OF(kleave_##tag, HOOK_KRETPROBE, stand_in, which),                        \
		TEMPLATE_OF(kenter_##tag, HOOK_KPROBE, stand_in, which)

/* The end first: a page whose beginning was not seen is not counted. */
#define PAGE_IO(prog, kind, func)                                                                  \
	{                                                                                          \
		.at = PROG(prog), .hook = kind, .target = func, .asks = ASK_REQUESTS,              \
		.needs = NEED_PAGE_IO, .alone = true, .pages = true, .without = no_pages           \
	}

const struct program programs[] = {
	TRACEPOINT(on_fork, "sched_process_fork", .asks = ASK_CHILD, .backup = true),
	TRACEPOINT(on_dirty_folio, "writeback_dirty_folio", .asks = ASK_BEHALF),
	TRACEPOINT(on_dirty_page, "writeback_dirty_page", .asks = ASK_BEHALF),
	TRACEPOINT(on_work_queued, "workqueue_queue_work", .asks = ASK_BEHALF, .needs = NEED_LEVEL),
	TRACEPOINT(on_work_queued_no_level, "workqueue_queue_work", .asks = ASK_BEHALF,
		   .needs = NEED_NO_LEVEL),
	TRACEPOINT(on_work_begins, "workqueue_execute_start", .asks = ASK_BEHALF,
		   .needs = NEED_LEVEL),
	TRACEPOINT(on_work_begins_no_level, "workqueue_execute_start", .asks = ASK_BEHALF,
		   .needs = NEED_NO_LEVEL),
	TRACEPOINT(on_cgroup_made, "cgroup_mkdir", .asks = ASK_CGROUPS),
	TRACEPOINT(on_exec, "sched_process_exec", .asks = ASK_CALLS | ASK_CHILD, .backup = true),
	/* after on_exec(): it tracks the process */
	TRACEPOINT(on_command, "sched_process_exec", .asks = ASK_COMMANDS),
	/* before on_exit(): it gives up the state of the thread */
	URING(on_uring_exit, "sched_process_exit", 0),
	TRACEPOINT(on_free, "sched_process_free", .asks = ASK_OUTSIDE, .needs = NEED_FIND_VMA),
	TRACEPOINT(on_exit, "sched_process_exit", .asks = ASK_THREADS, .backup = true),

	TRACEPOINT(on_sched_switch, "sched_switch", .asks = ASK_WAITS, .strata = STRATA_WAITS,
		   .without = no_switch),
	TRACEPOINT(on_sched_waking, "sched_waking", .asks = ASK_WAITS | ASK_BEHALF,
		   .needs = NEED_LEVEL, .strata = STRATA_WAITS, .without = no_switch),
	TRACEPOINT(on_sched_waking_no_level, "sched_waking", .asks = ASK_WAITS | ASK_BEHALF,
		   .needs = NEED_NO_LEVEL, .strata = STRATA_WAITS, .without = no_switch),
	TRACEPOINT(on_throttle, "balance_dirty_pages", .asks = ASK_WAITS, .needs = NEED_PAUSE,
		   .strata = 1U << ST_THROTTLE,
		   .without = "balance_dirty_pages is not traced here; its time is in sleep"),

	TRACEPOINT(on_lock_wanted, "contention_begin", .asks = ASK_LOCKS, .backup = true,
		   .strata = 1U << ST_LOCK, .without = no_locks),
	TRACEPOINT(on_lock_taken, "contention_end", .asks = ASK_LOCKS, .backup = true,
		   .strata = 1U << ST_LOCK, .without = no_locks),

	FUSE(on_fuse_send, HOOK_TP_BTF, "fuse_request_send", NEED_FUSE_EVENTS),
	FUSE(on_fuse_end, HOOK_TP_BTF, "fuse_request_end", NEED_FUSE_EVENTS | NEED_LEVEL),
	FUSE(on_fuse_end_no_level, HOOK_TP_BTF, "fuse_request_end",
	     NEED_FUSE_EVENTS | NEED_NO_LEVEL),
	FUSE(on_fuse_read, HOOK_FEXIT, "fuse_dev_do_read", 0),
	FUSE(on_fuse_over, HOOK_FEXIT, "fuse_request_end", NEED_LEVEL),
	FUSE(on_fuse_over_no_level, HOOK_FEXIT, "fuse_request_end", NEED_NO_LEVEL),
	FUSE(on_fuse_queue, HOOK_FENTRY, "queue_request_and_unlock", NEED_FUSE_FUNCTIONS),
	FUSE(on_fuse_ended, HOOK_FENTRY, "fuse_request_end", NEED_FUSE_FUNCTIONS | NEED_LEVEL),
	FUSE(on_fuse_ended_no_level, HOOK_FENTRY, "fuse_request_end",
	     NEED_FUSE_FUNCTIONS | NEED_NO_LEVEL),
	{ .at = PROG(on_copied_up),
	  .hook = HOOK_FENTRY,
	  .target = "ovl_copy_up_end",
	  .module = "overlay",
	  .asks = ASK_COPIED_UP,
	  .alone = true },
	/* before on_rpc_begin(): it keeps names */
	RPC(on_xprt_create, "xprt_create", 0),
	RPC(on_xprt_disconnect, "xprt_disconnect_force", 0),
	RPC(on_rpc_begin, "rpc_task_begin", 0),
	RPC(on_rpc_wakeup, "rpc_task_wakeup", NEED_LEVEL),
	RPC(on_rpc_wakeup_no_level, "rpc_task_wakeup", NEED_NO_LEVEL),
	RPC(on_rpc_done, "rpc_stats_latency", NEED_LEVEL),
	RPC(on_rpc_done_no_level, "rpc_stats_latency", NEED_NO_LEVEL),
	RPC(on_rpc_end, "rpc_task_end", 0),

	P9(on_9p_ask, "9p_client_req", 0),
	P9(on_9p_answer, "9p_client_res", NEED_LEVEL),
	P9(on_9p_answer_no_level, "9p_client_res", NEED_NO_LEVEL),
	SMB_SETUP(on_smb_setup, "smb2_setup_request"),
	SMB_SETUP(on_smb_setup_async, "smb2_setup_async_request"),
	SMB(on_smb_ask, "smb3_cmd_enter", 0),
	SMB(on_smb_done, "smb3_cmd_done", NEED_LEVEL),
	SMB(on_smb_done_no_level, "smb3_cmd_done", NEED_NO_LEVEL),
	SMB(on_smb_err, "smb3_cmd_err", NEED_LEVEL),
	SMB(on_smb_err_no_level, "smb3_cmd_err", NEED_NO_LEVEL),

	SERVED(on_served, HOOK_FEXIT, "svc_process", "sunrpc"),
	NFSD(nfsd_dispatch),
	NFSD(nfsd_splice_read),
	NFSD(nfsd_readv),
	NFSD(nfsd_iter_read),
	NFSD(nfsd_vfs_write),
	NFSD(nfsd_commit),
	SERVED(on_nfsd_read, HOOK_TP_BTF, "nfsd_read_io_done", "nfsd"),
	SERVED(on_nfsd_wrote, HOOK_TP_BTF, "nfsd_write_io_done", "nfsd"),
	SERVED(on_nfsd_status, HOOK_TP_BTF, "nfsd_compound_status", "nfsd"),
	SERVED(on_serve, HOOK_FENTRY, "svc_process", "sunrpc"),
	KSMBD(on_ksmbd_done, HOOK_FEXIT, "handle_ksmbd_work"),
	KSMBD(on_ksmbd_answer, HOOK_FENTRY, "smb3_preauth_hash_rsp"),
	KSMBD(on_ksmbd_file, HOOK_FEXIT, "ksmbd_lookup_fd_slow"),
	KSMBD(on_ksmbd_read, HOOK_FEXIT, "ksmbd_vfs_read"),
	SERVED_IF(on_ksmbd_wrote, HOOK_FEXIT, "kernel_write", NULL, NEED_KSMBD),
	KSMBD(on_ksmbd, HOOK_FENTRY, "handle_ksmbd_work"),

	BLOCK_VITAL(on_bio_queue, "block_bio_queue", .needs = NEED_LEVEL),
	BLOCK_VITAL(on_bio_queue_no_level, "block_bio_queue", .needs = NEED_NO_LEVEL),
	BLOCK_VITAL(on_rq_issue, "block_rq_issue"),
	BLOCK_VITAL(on_rq_complete, "block_rq_complete", .needs = NEED_LEVEL),
	BLOCK_VITAL(on_rq_complete_no_level, "block_rq_complete", .needs = NEED_NO_LEVEL),
	TRACEPOINT(on_getrq, "block_getrq", .asks = ASK_TAG, .backup = true, .strata = 1U << ST_TAG,
		   .without = "block_getrq is not traced here; its time is in queue"),
	BLOCK(on_backmerge, "block_bio_backmerge"),
	BLOCK(on_frontmerge, "block_bio_frontmerge"),
	BLOCK(on_rq_merge, "block_rq_merge"),
	BLOCK(on_split, "block_split"),
	PAGE_IO(on_page_was_read, HOOK_FEXIT, "bdev_read_page"),
	PAGE_IO(on_page_read, HOOK_FENTRY, "bdev_read_page"),
	PAGE_IO(on_page_written, HOOK_FEXIT, "bdev_write_page"),
	PAGE_IO(on_page_write, HOOK_FENTRY, "bdev_write_page"),
	{ .at = PROG(on_bio_account),
	  .hook = HOOK_FENTRY,
	  .target = "bio_start_io_acct",
	  .asks = ASK_REQUESTS,
	  .needs = NEED_MD,
	  .alone = true },
	BLOCK(on_rq_requeue, "block_rq_requeue"),
	BLOCK(on_bio_complete, "block_bio_complete", .needs = NEED_LEVEL),
	BLOCK(on_bio_complete_no_level, "block_bio_complete", .needs = NEED_NO_LEVEL),
	BLOCK(on_io_done, "block_io_done", .needs = NEED_LEVEL),
	BLOCK(on_io_done_no_level, "block_io_done", .needs = NEED_NO_LEVEL),
	TRACEPOINT(on_uring_complete, "io_uring_complete", .asks = ASK_URING | ASK_QUEUED,
		   .needs = NEED_URING, .backup = true, .strata = 1U << ST_REAP,
		   .without = no_uring),
	TRACEPOINT(on_uring_overflow, "io_uring_cqe_overflow", .asks = ASK_URING,
		   .needs = NEED_URING, .backup = true),
	URING(on_uring_wait, "io_uring_cqring_wait", 0),
	URING(on_uring_queue, "io_uring_queue_async_work", 0),
	URING(on_uring_link, "io_uring_link", 0),
	URING(on_uring_failed, "io_uring_req_failed", 0),
	URING(on_uring_submit, "io_uring_submit_req", NEED_URING_REQ),
	URING(on_uring_submit_sqe, "io_uring_submit_sqe", NEED_URING_SQE),
	FAULT(on_fault_handled, HOOK_FEXIT, "handle_mm_fault", NEED_FAULT_EXIT, no_faults),
	FAULT(on_fault_event, HOOK_FAULTS, "page-faults", NEED_FAULT_EVENT, no_faults),
	FAULT(on_fault, HOOK_TP_BTF, "page_fault_user", NEED_EXCEPTION, no_faults),
	FAULT(on_kernel_fault, HOOK_TP_BTF, "page_fault_kernel", NEED_EXCEPTION, NULL),
	FAULT(on_fault_abort, HOOK_FENTRY, "do_mem_abort", NEED_ABORT, no_aborts),
	TRACEPOINT(on_signal, "signal_deliver", .asks = ASK_FAULTS, .needs = NEED_FIND_VMA),
	THROTTLED(on_bio_throttled, NEED_LEVEL),
	THROTTLED(on_bio_throttled_no_level, NEED_NO_LEVEL),

	WALK(on_walk_found, "complete_walk", ASK_FOUND),
	WALK(on_walk_over, "terminate_walk", ASK_PATHS),

	FUNCTION(vfs_read, "vfs_read", OP_READ, ASK_VFS | ASK_CALL_FILES),
	FUNCTION(vfs_readv, "vfs_readv", OP_READ, ASK_VFS),
	FUNCTION(vfs_iter_read, "vfs_iter_read", OP_READ, ASK_VFS),
	FUNCTION(vfs_write, "vfs_write", OP_WRITE, ASK_VFS | ASK_CALL_FILES),
	FUNCTION(vfs_writev, "vfs_writev", OP_WRITE, ASK_VFS),
	FUNCTION(vfs_iter_write, "vfs_iter_write", OP_WRITE, ASK_VFS),
	FUNCTION(vfs_open, "vfs_open", OP_OPEN, ASK_VFS),
	FUNCTION(vfs_fsync_range, "vfs_fsync_range", OP_FSYNC, ASK_VFS),
	FUNCTION(do_fsync, "do_fsync", OP_FSYNC, ASK_VFS),
	FUNCTION(vfs_copy_file_range, "vfs_copy_file_range", OP_COPY, ASK_VFS),
	/* some operations of kind meta call these functions, others call none */
	FUNCTION(vfs_fallocate, "vfs_fallocate", OP_NONE, ASK_VFS),
	FUNCTION(iterate_dir, "iterate_dir", OP_NONE, ASK_VFS),

	AIO_FUNCTION(aio_read),
	AIO_FUNCTION(aio_write),
	AIO_FUNCTION(aio_fsync),
	AIO_END(enter_aio_complete, HOOK_FENTRY, .backup = true),
	AIO_END(kenter_aio_complete, HOOK_KPROBE),

	{ .at = PROG(on_task),
	  .hook = HOOK_ITER,
	  .target = "task",
	  .asks = ASK_HUNG,
	  .needs = NEED_TASK_ITER },
	{ .at = PROG(on_task_file),
	  .hook = HOOK_ITER,
	  .target = "task_file",
	  .asks = ASK_FS,
	  .needs = NEED_FILE_ITER },
	TEMPLATE(read, "generic_file_read_iter", READ),
	TEMPLATE(write, "generic_file_write_iter", WRITE),
	TEMPLATE(fsync, "vfs_fsync_range", FSYNC),
	TEMPLATE(open, "generic_file_open", OPEN),

	/* System calls come last: once the beginning of a call is traced, so is everything inside
	 * the call. */
	CALLS(on_sys_exit, HOOK_TP_BTF, "sys_exit", NEED_TP_CALLS),
	CALLS(on_sys_exit_perf, HOOK_TP, "raw_syscalls/sys_exit", NEED_PERF_CALLS),
	SUBMISSIONS(on_submissions, HOOK_TP_BTF, "sys_exit", NEED_TP_CALLS),
	SUBMISSIONS(on_submissions_perf, HOOK_TP, "raw_syscalls/sys_exit", NEED_PERF_CALLS),
	MAPPING_CALLS(on_mapping_call, HOOK_TP_BTF, "sys_enter", NEED_TP_CALLS),
	MAPPING_CALLS(on_mapping_call_perf, HOOK_TP, "raw_syscalls/sys_enter", NEED_PERF_CALLS),
	STACKS(on_stack, HOOK_TP_BTF, "sys_exit", NEED_TP_CALLS),
	STACKS(on_stack_perf, HOOK_TP, "raw_syscalls/sys_exit", NEED_PERF_CALLS),
	STACKS(on_fault_stack, HOOK_FEXIT, "handle_mm_fault", NEED_FAULT_EXIT),
	CALLS(on_sys_enter, HOOK_TP_BTF, "sys_enter", NEED_TP_CALLS),
	CALLS(on_sys_enter_perf, HOOK_TP, "raw_syscalls/sys_enter", NEED_PERF_CALLS),
};

const size_t programs_n = sizeof(programs) / sizeof(*programs);

_Static_assert(sizeof(programs) / sizeof(*programs) <= MAX_PROGRAMS, "plan.why_not");

static bool is_function(const struct program *prog)
{
	return prog->hook >= HOOK_FENTRY;
}

bool program_bounds_layer(const struct program *prog)
{
	return is_function(prog) && prog->asks & (ASK_VFS | ASK_FS);
}

static bool is_kprobe(const struct program *prog)
{
	return prog->hook == HOOK_KPROBE || prog->hook == HOOK_KRETPROBE;
}

/* Name of a hook in the kernel's types. Returns false if the hook needs no type. */
static bool hook_type_name(const struct program *prog, char *name, size_t cap)
{
	if (prog->hook == HOOK_TP_BTF)
		snprintf(name, cap, "btf_trace_%s", prog->target);
	else if (is_function(prog))
		snprintf(name, cap, "%s", prog->target);
	else
		return false;
	return true;
}

/* Looks up all hooks in one pass over the kernel's types. */
static void look_for_hooks(struct feature *f)
{
	enum { HOOK_NAME_LEN = 64 };
	char texts[MAX_PROGRAMS][HOOK_NAME_LEN];
	const char *names[MAX_PROGRAMS + 1];
	int n = 0;

	for (size_t i = 0; i < programs_n; i++) {
		if (!hook_type_name(&programs[i], texts[n], HOOK_NAME_LEN))
			continue;
		names[n] = texts[n];
		n++;
	}
	names[n++] = FIND_VMA;
	feature_look_for(f, names, n);
}

/* PREEMPT_RT has other semaphores (member rwbase) and does not let programs lock the mappings. */
bool plan_finds_mappings(struct feature *f)
{
	return feature_has_function(f, FIND_VMA) &&
	       feature_field_offset(f, "rw_semaphore", "rwbase") < 0;
}

static bool has_hook(struct feature *f, const char *name, const char *module)
{
	unsigned int id;
	int btf_fd;

	return !feature_hook(f, name, module, &id, &btf_fd);
}

/* Why a hook of a file system is not there, or NULL if it is. A module may have the file system. */
static const char *why_no_module_hook(struct feature *f, const struct program *prog)
{
	char name[96];

	if (!hook_type_name(prog, name, sizeof(name)))
		return NULL;
	if (is_function(prog) && f->no_fentry[0])
		return f->no_fentry;
	return has_hook(f, name, prog->module) ? NULL
					       : "no such hook, or its module is not loaded now";
}

static unsigned int needs_met(struct feature *f)
{
	bool perf = f->preemptible_tracepoints && f->perf_calls;
	int pause = feature_tracepoint_arg_named(f, "balance_dirty_pages", "pause");

	return (f->interrupt_level ? NEED_LEVEL : NEED_NO_LEVEL) |
	       (has_hook(f, "btf_trace_fuse_request_send", "fuse") ? NEED_FUSE_EVENTS
								   : NEED_FUSE_FUNCTIONS) |
	       (perf ? NEED_PERF_CALLS : NEED_TP_CALLS) | (f->file_iter ? NEED_FILE_ITER : 0) |
	       (f->task_iter ? NEED_TASK_ITER : 0) | (pause == 6 || pause == 10 ? NEED_PAUSE : 0) |
	       (feature_uring(f) ? NEED_URING : 0) | (feature_aio(f) ? NEED_AIO : 0) |
	       (feature_nfsd(f) ? NEED_NFSD : 0) | (feature_ksmbd(f) ? NEED_KSMBD : 0) |
	       (plan_finds_mappings(f) ? NEED_FIND_VMA : 0) |
	       (feature_has_function(f, "bdev_read_page") ? NEED_PAGE_IO : 0) |
	       (has_hook(f, "md_account_bio", "md_mod") ? NEED_MD : 0) |
	       (feature_has_function(f, "do_mem_abort") ? NEED_ABORT : NEED_EXCEPTION) |
	       (f->func == FUNC_FENTRY && feature_has_function(f, "handle_mm_fault")
			? NEED_FAULT_EXIT
			: NEED_FAULT_EVENT) |
	       (feature_has_tracepoint(f, "io_uring_submit_sqe") ? NEED_URING_SQE : NEED_URING_REQ);
}

static const char other_fits[] = "another program fits this kernel";

static const char *why_unmet(unsigned int needs)
{
	if (needs & (NEED_FILE_ITER | NEED_TASK_ITER))
		return "this kernel has no such iterator";
	if (needs & NEED_PAUSE)
		return "this kernel's tracepoint does not report the pause";
	if (needs & NEED_URING)
		return "this kernel's tracepoint does not identify its request";
	if (needs & NEED_FIND_VMA)
		return no_faults;
	if (needs & NEED_NFSD)
		return "nfsd is not loaded now, or its functions cannot be probed";
	if (needs & NEED_MD)
		return "md is not loaded now, and other devices tell of all parts of a bio";
	if (needs & NEED_KSMBD)
		return "ksmbd is not loaded now, or its functions cannot be probed";
	if (needs & NEED_AIO)
		return "this kernel has no such functions, or they are inlined";
	return other_fits;
}

static const char *why_no_function(struct feature *f, const struct program *prog)
{
	if (is_kprobe(prog) && f->no_kprobe[0])
		return f->no_kprobe;
	if (!is_kprobe(prog) && f->no_fentry[0])
		return f->no_fentry;
	if (!feature_has_function(f, prog->target))
		return "this kernel has no such function, or it is inlined";
	return NULL;
}

static const char *why_no_hook(struct feature *f, const struct program *prog, unsigned int met)
{
	if (prog->needs & ~met & NEED_ALTERNATIVES)
		return other_fits;
	if (prog->hook == HOOK_TP_BTF && !prog->module && !feature_has_tracepoint(f, prog->target))
		return "this kernel has no such tracepoint";
	if (prog->needs & ~met)
		return why_unmet(prog->needs & ~met);
	if (prog->module)
		return why_no_module_hook(f, prog);
	return is_function(prog) ? why_no_function(f, prog) : NULL;
}

void plan_init(struct plan *p, struct feature *feat, unsigned int asked, unsigned int kinds)
{
	/* if functions cannot be probed, still ask for the layers, so that they are reported as
	 * missing */
	unsigned int left_out = kinds || feat->func == FUNC_NONE ? 0 : ASK_VFS | ASK_FS, met;

	*p = (struct plan){ .asked = asked & ~left_out,
			    .kinds = kinds,
			    .func = feat->func,
			    .module_btf = !feat->no_module_btf };
	look_for_hooks(feat);
	met = needs_met(feat);
	for (size_t i = 0; i < programs_n; i++)
		p->why_not[i] = why_no_hook(feat, &programs[i], met);
}

const char *plan_why_not(const struct plan *p, const struct program *prog)
{
	return p->why_not[prog - programs];
}

/* Whether this run probes functions by the method of @prog. */
static bool probe_fits(const struct plan *p, const struct program *prog)
{
	if (prog->hook == HOOK_ITER && prog->asks & ASK_FS)
		return p->func != FUNC_NONE; /* the iterator finds functions to probe */
	if (!is_function(prog))
		return true;
	/* without types of modules, fentry cannot probe their functions; kprobes can */
	if (prog->is_template && is_kprobe(prog) && !p->module_btf)
		return p->func != FUNC_NONE;
	return p->func == (is_kprobe(prog) ? FUNC_KPROBE : FUNC_FENTRY);
}

/* Whether the run needs what @prog provides. */
static bool is_asked(const struct plan *p, const struct program *prog)
{
	bool called = !(prog->asks & (ASK_VFS | ASK_FS)) || prog->hook == HOOK_ITER ||
		      p->kinds >> prog->op & 1;

	return called && (prog->asks & p->asked);
}

bool plan_is_for(const struct plan *p, const struct program *prog)
{
	return is_asked(p, prog) && plan_why_not(p, prog) != other_fits;
}

bool plan_wants(const struct plan *p, const struct program *prog)
{
	for (int i = 0; i < p->n_refused; i++)
		if (p->refused[i] == prog)
			return false;
	return is_asked(p, prog) && probe_fits(p, prog) && !plan_why_not(p, prog);
}

bool plan_refuse(struct plan *p, const struct program *prog)
{
	if (!prog || !plan_wants(p, prog) || p->n_refused == MAX_REFUSED)
		return false;
	p->refused[p->n_refused++] = prog;
	return true;
}
