// SPDX-License-Identifier: GPL-2.0-only
/*
 * feature.c - finds out what this kernel can do: looks into its BTF, sysfs and configuration, and
 * tries small programs.
 */
#include "trace/feature.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/reason.h"
#include "host/privilege.h"
#include "host/rlimits.h"
#include "trace/feature_types.h"

static enum preemption_model model_named(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum preemption_model model;
	} models[] = {
		{ "none", PREEMPTION_NONE },
		{ "voluntary", PREEMPTION_NONE },
		{ "full", PREEMPTION_FULL },
		{ "lazy", PREEMPTION_FULL },
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (strlen(models[i].name) == len && !memcmp(models[i].name, name, len))
			return models[i].model;
	return PREEMPTION_UNKNOWN;
}

enum preemption_model preemption_of_debugfs(const char *text)
{
	const char *name = strchr(text, '('), *end = name ? strchr(name, ')') : NULL;

	return end ? model_named(name + 1, end - name - 1) : PREEMPTION_UNKNOWN;
}

enum preemption_model preemption_of_cmdline(const char *text)
{
	enum preemption_model model = PREEMPTION_UNKNOWN, got;
	size_t len;

	for (text += strspn(text, " \n"); *text; text += len, text += strspn(text, " \n")) {
		len = strcspn(text, " \n");
		if (len == 2 && !memcmp(text, "--", 2))
			break; /* init gets the rest */
		if (len <= 8 || memcmp(text, "preempt=", 8))
			continue;
		got = model_named(text + 8, len - 8);
		if (got)
			model = got; /* the kernel ignores unknown models */
	}
	return model;
}

enum preemption_model preemption_of_config_line(const char *line)
{
	static const struct {
		const char *line;
		enum preemption_model model;
	} lines[] = {
		{ "CONFIG_PREEMPT_NONE=y\n", PREEMPTION_NONE },
		{ "CONFIG_PREEMPT_VOLUNTARY=y\n", PREEMPTION_NONE },
		{ "CONFIG_PREEMPT=y\n", PREEMPTION_FULL },
		{ "CONFIG_PREEMPT_LAZY=y\n", PREEMPTION_FULL },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (!strcmp(line, lines[i].line))
			return lines[i].model;
	return PREEMPTION_UNKNOWN;
}

/* A kernel built with one model names it here (init/Makefile, preempt-flag); PREEMPT_DYNAMIC
 * chooses at boot. */
enum preemption_model preemption_of_version(const char *version)
{
	if (strstr(version, "PREEMPT_DYNAMIC"))
		return PREEMPTION_UNKNOWN;
	return strstr(version, "PREEMPT") ? PREEMPTION_FULL : PREEMPTION_NONE;
}

/* The beginning of a file as text; "" if the file cannot be read. */
static const char *file_text(const char *path, char *text, size_t cap)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, cap - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

static enum preemption_model model_of_config(const char *path)
{
	enum preemption_model model = PREEMPTION_UNKNOWN;
	gzFile f = gzopen(path, "re");
	char line[256];

	while (f && !model && gzgets(f, line, sizeof(line)))
		model = preemption_of_config_line(line);
	if (f)
		gzclose(f);
	return model;
}

/* The model in force, and the source of this answer. */
static enum preemption_model model_in_force(const char **ret_source)
{
	static char boot_config[sizeof(struct utsname) + 16];
	enum preemption_model model;
	struct utsname uts;
	char text[4096];

	uname(&uts);
	*ret_source = "the kernel's version line";
	model = preemption_of_version(uts.version);
	if (model)
		return model;
	*ret_source = "/sys/kernel/debug/sched/preempt";
	model = preemption_of_debugfs(file_text(*ret_source, text, sizeof(text)));
	if (model)
		return model;
	*ret_source = "/proc/cmdline";
	model = preemption_of_cmdline(file_text(*ret_source, text, sizeof(text)));
	if (model)
		return model;
	*ret_source = "/proc/config.gz";
	model = model_of_config(*ret_source);
	if (model)
		return model;
	snprintf(boot_config, sizeof(boot_config), "/boot/config-%s", uts.release);
	*ret_source = boot_config;
	return model_of_config(boot_config);
}

/* How deep preemption is disabled inside a program on sys_enter, or -1 if not known. Each of our
 * own system calls runs such a program. The kernel keeps the count at @offset in per-CPU
 * @variable. */
static int count_inside(struct feature *f, const char *variable, int offset)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = feature_type(f, "btf_trace_sys_enter"));
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 4, 1, NULL), prog = -1, link = -1;
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_BTF_ID,
		  .imm = feature_type(f, variable) },
		{},
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_this_cpu_ptr },
		{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 1, .src_reg = 0, .off = offset },
		{ .code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 1, .imm = 0xff },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 2,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map },
		{},
		{ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	__u32 key = 0, count = 0;

	if (map >= 0)
		prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", insns,
				     sizeof(insns) / sizeof(*insns), &opts);
	if (prog >= 0)
		link = bpf_raw_tracepoint_open(NULL, prog);
	if (link >= 0) {
		syscall(SYS_getppid);
		bpf_map_lookup_elem(map, &key, &count);
		close(link);
	}
	if (prog >= 0)
		close(prog);
	if (map >= 0)
		close(map);
	return (int)count - 1;
}

static int count_in_tracepoint(struct feature *f)
{
	int offset = feature_field_offset(f, "pcpu_hot", "preempt_count");

	if (!f->interrupt_level)
		return -1;
	return offset >= 0 ? count_inside(f, "pcpu_hot", offset)
			   : count_inside(f, "__preempt_count", 0);
}

/* Tracepoint programs run under SRCU since 7.0; before, preemption is disabled around them. */
static void probe_tracepoints(struct feature *f, const char *model)
{
	int count = count_in_tracepoint(f);
	const char *how;

	f->preemptible_tracepoints = count <= 0;
	how = count < 0 ? "not known whether in tracepoints, too"
	      : count   ? "not inside tracepoints"
			: "inside tracepoints, too";
	snprintf(f->preemption, sizeof(f->preemption), "%.100s; %s", model, how);
}

/* Fills in the preemption members of @f. */
static void preemption_probe(struct feature *f)
{
	enum preemption_model model;
	const char *source;
	char text[128];

	f->perf_calls = !access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", R_OK) ||
			!access("/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id", R_OK);
	model = model_in_force(&source);
	f->preemptible = model != PREEMPTION_NONE;
	if (model == PREEMPTION_NONE) {
		snprintf(f->preemption, sizeof(f->preemption),
			 "this kernel does not preempt programs (%.90s)", source);
		return;
	}
	if (model == PREEMPTION_UNKNOWN)
		snprintf(text, sizeof(text), "not known whether this kernel preempts programs");
	else
		snprintf(text, sizeof(text), "this kernel preempts programs (%.60s)", source);
	probe_tracepoints(f, text);
}

/* Tries an empty program at the entry of vfs_read(): every kernel has this function. */
static void probe_fentry(struct feature *f)
{
	const struct bpf_insn empty[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int prog, link = -1, err = 0;
	__u32 id = feature_type(f, "vfs_read");

	if (!id) {
		snprintf(f->no_fentry, sizeof(f->no_fentry), "vfs_read is not in the kernel's BTF");
		return;
	}
	opts.attach_btf_id = id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", empty, 2, &opts);
	if (prog < 0) {
		err = -prog;
	} else {
		link = bpf_raw_tracepoint_open(NULL, prog);
		if (link < 0)
			err = -link;
	}
	if (err)
		snprintf(f->no_fentry, sizeof(f->no_fentry), "fentry programs are refused: %s",
			 strerror(err));
	if (link >= 0)
		close(link);
	if (prog >= 0)
		close(prog);
}

/* Whether programs may use the address of per-CPU variable @name. A kernel without
 * CONFIG_KALLSYMS_ALL hides the address even if BTF lists the variable. */
static bool probe_variable(struct feature *f, const char *name)
{
	int id = feature_type(f, name), fd;
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_BTF_ID,
		  .imm = id },
		{},
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	if (!id)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "probe", "GPL", insns, 4, NULL);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void probe_kprobe(struct feature *f)
{
	if (access("/sys/bus/event_source/devices/kprobe/type", R_OK) == 0)
		return;
	snprintf(f->no_kprobe, sizeof(f->no_kprobe), "this kernel was built without kprobes");
}

/* Whether BPF is allowed at all. Distinguishes lack of permission from lack of BPF. */
static int probe_permission(struct reason *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int fd;

	if (privilege_check(why))
		return -1;
	fd = bpf_map_create(BPF_MAP_TYPE_HASH, "probe", 4, 4, 1, &opts);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM || fd == -EACCES) {
		reason_set(why, EXIT_PERMISSION, "cannot use BPF: %s", strerror(-fd));
		return privilege_refused(why);
	}
	reason_set(why, EXIT_KERNEL, "cannot use BPF: %s", strerror(-fd));
	return reason_hint(why, "'iostrata doctor' shows what this kernel supports");
}

static int probe_btf(struct feature *f, struct reason *why)
{
	const char *path = "/sys/kernel/btf/vmlinux", *hint;
	int err;

	f->btf = btf__load_vmlinux_btf();
	if (f->btf)
		return 0;
	if (access("/sys/kernel", F_OK)) {
		reason_set(why, EXIT_FAILED, "cannot read '%s': /sys is not mounted", path);
		return reason_hint(why, "mount -t sysfs sysfs /sys");
	}
	if (access(path, F_OK)) {
		reason_set(why, EXIT_KERNEL, "this kernel does not describe its types (no BTF)");
		return reason_hint(why, "use a kernel built with CONFIG_DEBUG_INFO_BTF, as "
					"distributions' kernels have been since 2020");
	}
	/* libbpf returns ESRCH for every cause; this call returns the real one */
	f->btf = btf__parse(path, NULL);
	if (f->btf)
		return 0;
	err = errno;
	hint = rlimits_hint(err);
	reason_set(why, EXIT_FAILED, "cannot read '%s': %s", path, strerror(err));
	return hint ? reason_hint(why, "%s", hint) : -1;
}

/* Names for feature_probe() and its callers to look up. */
static const char *const looked_for[] = {
	"vfs_read",
	"bpf_rdonly_cast",
	"bpf_snprintf",
	"bpf_iter_task_file",
	"bpf_iter_task",
	"struct bpf_mem_alloc",
	"btf_module_notify",
	"__preempt_count",
	"pcpu_hot",
	"btf_trace_sys_enter",
	"btf_trace_block_io_done",
	"__traceiter_balance_dirty_pages",
	"struct pcpu_hot",
	"struct thread_info",
	"struct rw_semaphore",
	"struct btrfs_inode",
	"struct btrfs_root",
	"struct ovl_inode",
	"struct ovl_file",
	"struct fuse_req",
	"struct fuse_mount",
	"struct fuse_conn",
	"struct fuse_copy_state",
	"struct fuse_chan",
	"struct rpc_task",
	"struct rpc_procinfo",
	"struct rpc_xprt",
	"struct rpc_rqst",
	"struct p9_client",
	"struct p9_trans_module",
	"struct virtio_chan",
	"struct TCP_Server_Info",
	"struct smb_rqst",
	"struct svc_rqst",
	"struct nfsd_file",
	"struct ksmbd_work",
	"struct ksmbd_conn",
	"struct ksmbd_file",
};

/* Only developers of the BPF programs need these messages. */
bool feature_logs(void)
{
	static int asked = -1;

	if (asked < 0)
		asked = secure_getenv("IOSTRATA_LIBBPF_LOG") != NULL;
	return asked;
}

static int print_if_asked(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	if (feature_logs())
		vfprintf(stderr, fmt, args);
	return 0;
}

bool feature_uring(struct feature *f)
{
	return !feature_tracepoint_arg(f, "io_uring_submit_req", "io_kiocb") ||
	       !feature_tracepoint_arg(f, "io_uring_submit_sqe", "io_kiocb");
}

bool feature_aio(struct feature *f)
{
	return f->func != FUNC_NONE && feature_has_function(f, "aio_read") &&
	       feature_has_function(f, "aio_write") && feature_has_function(f, "aio_complete");
}

bool feature_nfsd(struct feature *f)
{
	unsigned int id;
	int btf_fd;

	return !f->no_fentry[0] && !feature_hook(f, "nfsd_dispatch", "nfsd", &id, &btf_fd) &&
	       !feature_hook(f, "svc_process", "sunrpc", &id, &btf_fd);
}

bool feature_ksmbd(struct feature *f)
{
	static const char *const functions[] = { "handle_ksmbd_work", "smb3_preauth_hash_rsp",
						 "ksmbd_lookup_fd_slow", "ksmbd_vfs_read" };
	bool there = !f->no_fentry[0] && feature_member(f, "ksmbd", "ksmbd_work", "work") >= 0;
	unsigned int id;
	int btf_fd;

	for (size_t i = 0; there && i < sizeof(functions) / sizeof(*functions); i++)
		there = !feature_hook(f, functions[i], "ksmbd", &id, &btf_fd);
	return there;
}

static void names_probe(struct feature *f)
{
	feature_look_for(f, looked_for, sizeof(looked_for) / sizeof(*looked_for));
	feature_look_for(f, blank_names, BLANKS_N);
	f->rdonly_cast = feature_has_function(f, "bpf_rdonly_cast");
	f->names_functions = feature_has_function(f, "bpf_snprintf");
	f->map_alloc = feature_type(f, "struct bpf_mem_alloc");
	f->file_iter = feature_has_function(f, "bpf_iter_task_file");
	f->task_iter = feature_has_function(f, "bpf_iter_task");
	f->interrupt_level = probe_variable(f, "__preempt_count") ||
			     probe_variable(f, "pcpu_hot") ||
			     feature_field_offset(f, "thread_info", "preempt_count") >= 0;
	if (!feature_has_function(f, "btf_module_notify"))
		f->no_module_btf = "modules have no BTF";
	else if (!privilege_is_admin())
		f->no_module_btf = "reading the BTF of modules takes CAP_SYS_ADMIN";
}

static void functions_decide(struct feature *f)
{
	f->func = !f->no_fentry[0] ? FUNC_FENTRY : !f->no_kprobe[0] ? FUNC_KPROBE : FUNC_NONE;
	if (f->func == FUNC_NONE)
		snprintf(f->no_functions, sizeof(f->no_functions),
			 "functions cannot be probed: %.70s; %.70s", f->no_fentry, f->no_kprobe);
}

int feature_probe(struct feature *f, struct reason *why)
{
	memset(f, 0, sizeof(*f));
	libbpf_set_print(print_if_asked);
	if (probe_permission(why) || probe_btf(f, why))
		return -1;
	names_probe(f);
	probe_fentry(f);
	probe_kprobe(f);
	preemption_probe(f);
	functions_decide(f);
	return 0;
}

int feature_look(struct feature *f, struct reason *why)
{
	memset(f, 0, sizeof(*f));
	libbpf_set_print(print_if_asked);
	if (probe_btf(f, why))
		return -1;
	names_probe(f);
	snprintf(f->no_fentry, sizeof(f->no_fentry), "not tried: only root can");
	probe_kprobe(f);
	preemption_probe(f);
	functions_decide(f);
	return 0;
}
