// SPDX-License-Identifier: GPL-2.0-only
#include "trace/configure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/protocols.h"
#include "host/pidns.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/kallsyms.h"
#include "trace/load.h"
#include "trace/maps.h"
#include "trace/plan.h"
#include "trace/session.h"
#include "trace/stream.h"
#include "trace/syscalls.h"

static unsigned char arg_of(struct feature *f, const char *tracepoint, const char *type)
{
	int arg = feature_tracepoint_arg(f, tracepoint, type);

	return arg < 0 ? 0 : arg;
}

/* Sets the arguments of tracepoints that the programs need, on this kernel. */
static void conf_set_args(struct bpf_conf *c, struct feature *f)
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
	c->result_told = feature_tracepoint_arg_named(f, "io_uring_complete", "res") == 3;
	c->rqf_flush_seq = feature_enumerator(f, "__RQF_FLUSH_SEQ", 4);
}

/* Offsets of the device of a btrfs subvolume (stat(2) distinguishes files by it), and of the upper
 * layer's file in overlayfs. */
static void conf_set_identity(struct bpf_conf *c, struct feature *f)
{
	int inode = feature_member(f, "btrfs", "btrfs_inode", "vfs_inode");
	int root = feature_member(f, "btrfs", "btrfs_inode", "root");
	int dev = feature_member(f, "btrfs", "btrfs_root", "anon_dev");
	int overlay_inode = feature_member(f, "overlay", "ovl_inode", "vfs_inode");
	int upper = feature_member(f, "overlay", "ovl_inode", "__upperdentry");

	if (root >= 0 && inode > root && dev > 0) {
		c->btrfs_root = inode - root;
		c->btrfs_dev = dev;
	}
	if (overlay_inode >= 0 && upper > overlay_inode)
		c->overlay_upper = upper - overlay_inode;
	c->overlay_file = feature_member(f, "overlay", "ovl_file", "realfile") >= 0;
}

/* Address of the preemption count, for kernels whose programs may not refer to the variable. */
static void conf_set_level(struct bpf_conf *c)
{
	FILE *f = kallsyms_open();
	unsigned long long at;
	char name[32], type;

	while (f && (!c->preempt_count || !c->cpu_offsets) &&
	       fscanf(f, "%llx %c %31s%*[^\n]", &at, &type, name) > 0) {
		if (!strcmp(name, "__preempt_count"))
			c->preempt_count = at;
		else if (!strcmp(name, "__per_cpu_offset"))
			c->cpu_offsets = at;
	}
	if (f)
		fclose(f);
	kallsyms_forget(); /* more modules may be loaded before functions are looked up */
	if (!c->cpu_offsets)
		c->preempt_count = 0;
}

/* The functions that complete reads and writes of io_uring and libaio, if the programs trace these
 * completions. */
static void conf_set_completes(struct bpf_conf *c, struct feature *f)
{
	static const struct {
		const char *name;
		bool aio;
	} all[] = { { "io_complete_rw", false },
		    { "io_complete_rw_iopoll", false },
		    { "aio_complete_rw", true } };
	bool uring = feature_uring(f), aio = feature_aio(f);
	unsigned long long at;
	int n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		at = (all[i].aio ? aio : uring) ? kallsyms_cached(all[i].name) : 0;
		if (at)
			c->completes[n++] = at;
	}
}

/* The functions in which threads sleep for a known kind of somebody else, and the one in which
 * connect() does. */
static void conf_set_sleeps(struct bpf_conf *c)
{
#define WHO_SITE(number, id, name, before, after, functions, strata) { functions, number },

#define LIMIT_SITE(number, id, name, functions) { functions, WHO_LIMIT | (number) << 8 },
	static const struct {
		const char *functions;
		unsigned int who;
	} all[] = { { "unix_wait_for_peer", SITE_CONNECT },
		    WHO_LIST(WHO_SITE) LIMIT_LIST(LIMIT_SITE) };
#undef WHO_SITE
#undef LIMIT_SITE
	struct sleep_site *site = c->sleep_sites;
	const char *name;
	size_t len;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (name = all[i].functions; *name; name += len + !!name[len]) {
			len = strcspn(name, " ");
			memcpy(site->name, name, len);
			site++->who = all[i].who;
		}
}

/* The code of these functions, for programs that cannot name them. */
static void conf_set_sleep_code(struct bpf_conf *c)
{
	struct kallsyms_function list[SLEEP_SITES];

	for (size_t i = 0; i < SLEEP_SITES; i++)
		list[i].name = (const char *)c->sleep_sites[i].name;
	kallsyms_cached_functions(list, SLEEP_SITES);
	for (size_t i = 0; i < SLEEP_SITES; i++) {
		c->sleep_sites[i].from = list[i].from;
		c->sleep_sites[i].to = list[i].to;
	}
}

static void conf_set_symbols(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	bool queued = plan_asked(sc) & ASK_QUEUED;
	FILE *symbols;

	conf_set_sleeps(c);
	/* connect()'s function is not worth reading all symbols */
	if (!queued && (!c->who || c->names_functions))
		return;
	symbols = kallsyms_open();
	if (symbols)
		fclose(symbols);
	if (queued)
		conf_set_completes(c, f);
	if (!c->names_functions)
		conf_set_sleep_code(c);
	kallsyms_forget();
}

_Static_assert(offsetof(struct filter_lists, pids) == 6 * sizeof(unsigned int),
	       "a list of filters has no length in the programs: set it in conf_set_lists()");

static void conf_set_lists(struct bpf_conf *c, const struct filter_lists *l)
{
	c->n_pids = l->n_pids;
	c->n_comms = l->n_comms;
	c->n_cgroups = l->n_cgroups;
	c->n_files = l->n_files;
	c->n_devs = l->n_devs;
	c->n_fs = l->n_fs;
	for (unsigned int i = 0; i < l->n_files; i++)
		c->has_dirs |= l->files[i].is_dir;
}

/* Slots for requests of io_uring and libaio in flight: more CPUs, more slots. */
static unsigned int async_slots(unsigned int cpus)
{
	unsigned int slots = cpus ? 2048 : 1;

	while (cpus > 2 && slots < 8192) {
		slots *= 2;
		cpus /= 2;
	}
	return slots;
}

/* The number of io_submit() on this machine. */
static unsigned short io_submit_number(void)
{
	unsigned short nr = 0;

	while (nr < CALL_MAX && strcmp(syscall_names(MACHINE_OWN)(nr), "io_submit") != 0)
		nr++;
	return nr;
}

static void conf_set_async(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	c->uring = plan_asked(sc) & ASK_URING && feature_uring(f);
	c->aio = plan_asked(sc) & ASK_AIO && feature_aio(f);
	c->aio_calls = plan_asked(sc) & ASK_AIO && !c->aio;
	c->async = c->uring || c->aio;
	c->async_slots = async_slots(c->async ? c->cpus : 0);
	c->reap_rings = c->uring ? REAP_RINGS : 0;
	c->ring_waits = c->uring && sc->kinds >> OP_GETEVENTS & 1;
	c->submit_waits = c->async && sc->kinds >> OP_SUBMIT & 1;
	if (c->submit_waits && c->aio)
		c->io_submit = io_submit_number();
}

/* The protocols whose requests @module tells of, a set of 1 << enum server_protocol. */
static unsigned int protocols_in(const char *module)
{
	unsigned int set = 0;

	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++)
		set |= (unsigned int)!strcmp(protocols[i].module, module) << i;
	return set;
}

/* Offsets of the members that tell of requests to servers. */
static void conf_set_servers(struct server_members *at, struct feature *f)
{
	/* a request of FUSE leads to the connection by its mount, or (7.2) by its channel */
	bool mount = feature_member(f, "fuse", "fuse_req", "fm") >= 0;
	const struct {
		const char *module, *type, *member;
		unsigned short *at;
	} all[] = {
		{ "fuse", "fuse_req", "in", &at->fuse_in },
		{ "fuse", "fuse_req", "out", &at->fuse_out },
		{ "fuse", "fuse_req", mount ? "fm" : "chan", &at->fuse_mount },
		{ "fuse", mount ? "fuse_mount" : "fuse_chan", mount ? "fc" : "conn",
		  &at->fuse_conn },
		{ "fuse", "fuse_conn", "dev", &at->fuse_dev },
		{ "fuse", "fuse_copy_state", "req", &at->fuse_copy_req },
		{ "sunrpc", "rpc_task", "tk_msg", &at->rpc_msg },
		{ "sunrpc", "rpc_task", "tk_rqstp", &at->rpc_rqst },
		{ "sunrpc", "rpc_task", "tk_xprt", &at->rpc_xprt },
		{ "sunrpc", "rpc_task", "tk_status", &at->rpc_status },
		{ "sunrpc", "rpc_task", "tk_flags", &at->rpc_flags },
		{ "sunrpc", "rpc_task", "tk_start", &at->rpc_start },
		{ "sunrpc", "rpc_procinfo", "p_name", &at->rpc_name },
		{ "sunrpc", "rpc_xprt", "address_strings", &at->rpc_address },
		{ "sunrpc", "rpc_xprt", "backlog", &at->rpc_backlog },
		{ "sunrpc", "rpc_rqst", "rq_xtime", &at->rpc_sent },
		{ "sunrpc", "rpc_rqst", "rq_ntrans", &at->rpc_transmits },
		{ "sunrpc", "rpc_rqst", "rq_rtt", &at->rpc_rtt },
		{ "sunrpc", "rpc_rqst", "rq_xmit_bytes_sent", &at->rpc_sent_bytes },
		{ "sunrpc", "rpc_rqst", "rq_reply_bytes_recvd", &at->rpc_received },
		{ "sunrpc", "rpc_rqst", "rq_xid", &at->rpc_xid },
		{ "sunrpc", "svc_rqst", "rq_prog", &at->svc_program },
		{ "sunrpc", "svc_rqst", "rq_vers", &at->svc_version },
		{ "sunrpc", "svc_rqst", "rq_resp", &at->svc_result },
		{ "sunrpc", "svc_rqst", "rq_addr", &at->svc_client },
		{ "sunrpc", "svc_rqst", "rq_xid", &at->svc_xid },
		{ "nfsd", "nfsd_file", "nf_file", &at->nfsd_file },
		{ "ksmbd", "ksmbd_work", "work", &at->ksmbd_work },
		{ "ksmbd", "ksmbd_work", "conn", &at->ksmbd_conn },
		{ "ksmbd", "ksmbd_work", "request_buf", &at->ksmbd_request },
		{ "ksmbd", "ksmbd_work", "response_buf", &at->ksmbd_response },
		{ "ksmbd", "ksmbd_conn", "peer_addr", &at->ksmbd_client },
		{ "ksmbd", "ksmbd_conn", "inet_addr", &at->ksmbd_address },
		{ "ksmbd", "ksmbd_file", "filp", &at->ksmbd_file },
		{ "9pnet", "p9_client", "trans", &at->p9_trans },
		{ "9pnet", "p9_client", "trans_mod", &at->p9_module },
		{ "9pnet", "p9_trans_module", "name", &at->p9_name },
		{ "9pnet_virtio", "virtio_chan", "tag", &at->p9_tag },
		{ "cifs", "TCP_Server_Info", "hostname", &at->smb_host },
		{ "cifs", "smb_rqst", "rq_iov", &at->smb_iov },
	};
	int member;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		member = feature_member(f, all[i].module, all[i].type, all[i].member);
		*all[i].at = member > 0 ? member : 0;
		if (member > 0)
			at->protocols |= protocols_in(all[i].module);
	}
}

/* The types of file systems whose requests to servers are traced. Needs conf_set_servers(). */
static void conf_set_server_fs(struct bpf_conf *c)
{
	for (unsigned int p = 0; p < SERVER_PROTOCOLS; p++)
		for (const char *const *fs = protocols[p].fs; *fs && c->at.protocols >> p & 1; fs++)
			if (c->n_server_fs < SERVER_FS)
				memcpy(&c->server_fs[c->n_server_fs++], *fs, strnlen(*fs, 8));
}

/* Whether programs are told of all changes of SunRPC's transports. */
static bool transports_told(struct feature *f)
{
	unsigned int id;
	int btf_fd;

	return !feature_hook(f, "btf_trace_xprt_create", "sunrpc", &id, &btf_fd) &&
	       !feature_hook(f, "btf_trace_xprt_disconnect_force", "sunrpc", &id, &btf_fd);
}

/* Sets the filters: the threads, processes and files that are traced. */
static void conf_set_filters(struct bpf_conf *c, const struct session_conf *sc)
{
	c->tool_tgid = getpid();
	pidns_below_first(&c->pidns_dev, &c->pidns_ino);
	c->tracked = sc->follow || sc->children;
	c->all_young = sc->follow;
	conf_set_lists(c, &sc->lists);
	if (sc->children)
		c->n_pids = 0; /* these processes are tracked */
	c->all_files = sc->all_files;
	c->min_ns = sc->min_ns;
	c->thread_filter = c->n_pids || c->n_comms || c->tracked;
	c->process_filter = c->thread_filter || c->n_cgroups;
	c->file_filter = c->n_files || c->n_devs;
}

/* The abilities of this kernel. */
static void conf_set_kernel(struct bpf_conf *c, struct feature *f)
{
	c->rdonly_cast = f->rdonly_cast;
	c->names_functions = f->names_functions;
	/* a system call never ends in an interrupt; and up to 6.19 the tracepoint or BPF itself
	 * disables preemption while such a program runs (4aadde89d81f) */
	c->single_writer = !f->preemptible_tracepoints;
	c->fault_single_writer = !f->preemptible;
	c->misses_counted = f->preemptible && f->func == FUNC_FENTRY;
	c->backups = f->preemptible_tracepoints;
	conf_set_args(c, f);
}

/* Sizes of maps, and of the kernel's pages. */
static void conf_set_sizes(struct bpf_conf *c, const struct session_conf *sc,
			   const struct feature *f)
{
	unsigned int cpus = libbpf_num_possible_cpus();
	struct rowmaps_size rows;

	c->cpus = maps_cpus();
	c->io_slots_per_cpu = IO_SLOTS;
	while (c->io_slots_per_cpu > 1 && cpus * c->io_slots_per_cpu > IO_SLOTS)
		c->io_slots_per_cpu /= 2;
	c->io_cpus = cpus > MAX_SEARCH ? MAX_SEARCH : cpus;
	maps_rows_size(sc, f, c->cpus, &rows);
	rowmaps_conf(&rows, c);
	c->row_slots = rows.slot_cells > 1;
	c->page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
}

/* The records sent to user space. */
static void conf_set_records(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	c->records = sc->records;
	c->sent_ops = sc->sent_ops;
	c->sent_requests = sc->sent_requests;
	c->uncounted = sc->uncounted;
	c->stacks = sc->stacks && plan_finds_mappings(f);
	c->segments = sc->segments && sc->layer == LAYER_OPS;
	/* at the time of a wait, it is not known whether its operation will pass these filters */
	c->who_rows =
		sc->whos && sc->layer == LAYER_OPS && !c->min_ns && !c->file_filter && !c->n_fs;
	c->who = c->segments || c->who_rows;
}

static void conf_set_faults(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	if (plan_asked(sc) & ASK_OUTSIDE && !c->file_filter && plan_finds_mappings(f))
		c->outside = (sc->kinds & OUTSIDE_KINDS) >> OP_EXIT;
	c->faults = !!(plan_asked(sc) & ASK_FAULTS);
	c->all_faults = sc->all_faults;
	c->minor_faults = c->faults && sc->minor_faults && !sc->all_faults;
}

/* The figures of operations, and the key of their rows. Needs conf_set_async(). */
static void conf_set_ops(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	c->layer = sc->layer;
	c->busiest = sc->follow && sc->layer == LAYER_OPS && !sc->uncounted;
	c->by = sc->by == BY_SERVER ? BY_DEV : sc->by;
	c->meta_calls = sc->meta_calls;
	/* the verifier of 5.10 gives on_sys_exit() up with them, after a million instructions */
	c->paths = plan_asked(sc) & ASK_PATHS && plan_finds_mappings(f);
	c->call_noted = sc->records || sc->sent_ops || sc->meta_calls || c->aio_calls ||
			sc->layer == LAYER_SYSCALL;
	c->op_extras = sc->min_ns || sc->sent_ops || sc->uncounted || sc->by == BY_CACHE ||
		       sc->meta_calls || c->aio_calls || sc->layer == LAYER_SYSCALL;
	c->clones = syscalls_clones(sc->kinds, &sc->only);
	c->waits = sc->layer == LAYER_OPS;
	c->cpu_split = c->waits && !sc->cpu_whole;
	c->sites = sc->sites;
	c->marks = c->waits || sc->by == BY_THREAD;
	c->op_owner = sc->by == BY_PID || sc->by == BY_TID || sc->by == BY_THREAD ||
		      sc->by == BY_COMM || sc->by == BY_CGROUP || sc->records || sc->sent_ops ||
		      c->stacks;
}

/* The figures of requests, and their clients. Needs conf_set_filters(). */
static void conf_set_requests(struct bpf_conf *c, const struct session_conf *sc)
{
	c->queued = sc->queued;
	c->rq_sums_only = sc->rq_sums_only;
	c->rq_by = rowmaps_rq_by(sc->by);
	c->helpers = sc->helpers;
	c->op_requests = sc->op_requests;
	c->behalf = sc->by == BY_THREAD || sc->helpers;
	c->issuers = c->rq_by || c->process_filter || c->sent_requests || c->helpers;
}

/* The patterns of files and disks. Needs conf_set_ops() and conf_set_requests(). */
static void conf_set_patterns(struct bpf_conf *c, const struct session_conf *sc)
{
	if (!sc->patterns)
		return;
	c->access_slots = maps_access_slots(sc->by);
	c->access_sizes_limit = ACCESS_SIZE_ROWS / 4;
	c->op_accesses = sc->by == BY_FILE;
	c->rq_accesses = !c->rq_by;
	c->call_noted |= c->op_accesses;
}

/* How much of a file is noted. Needs conf_set_filters() and conf_set_ops(). */
static void conf_set_files(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	bool named = sc->by == BY_FILE || sc->records || sc->sent_ops;

	c->file_details = plan_has_files(sc);
	if (named || c->n_devs)
		conf_set_identity(c, f);
	if (named)
		c->file_identity = c->btrfs_dev || c->overlay_upper;
}

void configure(struct bpf_conf *c, const struct session_conf *sc, struct feature *f)
{
	conf_set_filters(c, sc);
	conf_set_kernel(c, f);
	conf_set_sizes(c, sc, f);
	conf_set_records(c, sc, f);
	conf_set_async(c, sc, f);
	conf_set_faults(c, sc, f);
	conf_set_ops(c, sc, f);
	conf_set_requests(c, sc);
	conf_set_patterns(c, sc);
	conf_set_files(c, sc, f);
	/* rows, names of files and lanes together are too much for the verifier of 5.10 */
	if (sc->sent_ops || sc->sent_requests)
		stream_conf(sc, c->uncounted || !c->file_details || load_bears_functions(f), c);
	if (plan_asked(sc) & ASK_SERVERS)
		conf_set_servers(&c->at, f);
	if (c->async)
		conf_set_server_fs(c);
	c->transports_told = c->at.rpc_msg && transports_told(f);
	/* programs for a module that is not loaded now are not loaded either */
	c->servers = c->waits && !c->n_devs && c->at.protocols;
	c->daemons = c->servers && feature_member(f, "fuse", "fuse_copy_state", "req") >= 0;
	c->served = plan_asked(sc) & ASK_SERVED && (feature_nfsd(f) || feature_ksmbd(f));
	c->no_level = !f->interrupt_level;
	if (c->behalf && c->no_level)
		conf_set_level(c);
	conf_set_symbols(c, sc, f);
}
