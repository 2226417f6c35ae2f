// SPDX-License-Identifier: GPL-2.0-only
#include "trace/feature.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/privilege.h"
#include "base/reason.h"
#include "trace/blanks.h"
#include "trace/preemption.h"

/* Tries an empty program at the entry of a function that every kernel has. */
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
		snprintf(f->no_fentry, sizeof(f->no_fentry),
			 "fentry programs are refused: %s", strerror(err));
	if (link >= 0)
		close(link);
	if (prog >= 0)
		close(prog);
}

/* Whether a program may have the address of per-CPU variable @name: BTF may know it, and the kernel
 * hide it all the same (no CONFIG_KALLSYMS_ALL). */
static bool probe_variable(struct feature *f, const char *name)
{
	int id = feature_type(f, name), fd;
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_BTF_ID,
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

/* Whether BPF is allowed at all; tells lack of permission from lack of BPF. */
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
	return reason_hint(why, "'iostrata doctor' tells what this kernel can");
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
	/* libbpf returns ESRCH, whatever the cause */
	f->btf = btf__parse(path, NULL);
	if (f->btf)
		return 0;
	err = errno;
	hint = rlimits_hint(err);
	reason_set(why, EXIT_FAILED, "cannot read '%s': %s", path, strerror(err));
	return hint ? reason_hint(why, "%s", hint) : -1;
}

/* What feature_probe() and its callers will look up. */
static const char *const looked_for[] = {
	"vfs_read", "bpf_rdonly_cast", "bpf_iter_task_file", "btf_module_notify", "__preempt_count",
	"pcpu_hot", "btf_trace_sys_enter", "btf_trace_block_io_done",
	"__traceiter_balance_dirty_pages",
};

/* Only those who work on the programs ask for them. */
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

int feature_probe(struct feature *f, struct reason *why)
{
	memset(f, 0, sizeof(*f));
	libbpf_set_print(print_if_asked);
	if (probe_permission(why) || probe_btf(f, why))
		return -1;
	feature_look_for(f, looked_for, sizeof(looked_for) / sizeof(*looked_for));
	feature_look_for(f, blank_names, BLANKS_N);
	f->rdonly_cast = feature_has_function(f, "bpf_rdonly_cast");
	f->task_iter = feature_has_function(f, "bpf_iter_task_file");
	f->interrupt_level = probe_variable(f, "__preempt_count") ||
			     probe_variable(f, "pcpu_hot") ||
			     feature_field_offset(f, "thread_info", "preempt_count") >= 0;
	if (!feature_has_function(f, "btf_module_notify"))
		f->no_module_btf = "modules have no BTF";
	else if (!privilege_is_admin())
		f->no_module_btf = "modules' BTF takes CAP_SYS_ADMIN to read";
	probe_fentry(f);
	probe_kprobe(f);
	preemption_probe(f);
	f->func = !f->no_fentry[0] ? FUNC_FENTRY : !f->no_kprobe[0] ? FUNC_KPROBE : FUNC_NONE;
	if (f->func == FUNC_NONE)
		snprintf(f->no_functions, sizeof(f->no_functions),
			 "functions cannot be probed: %.70s; %.70s", f->no_fentry, f->no_kprobe);
	return 0;
}
