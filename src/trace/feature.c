// SPDX-License-Identifier: GPL-2.0-only
#include "feature.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <uthash.h>

#include "privilege.h"
#include "reason.h"

/* The kernel's types; they were there when feature_probe() looked. */
static const struct btf *types(struct feature *f)
{
	if (!f->btf)
		f->btf = btf__load_vmlinux_btf();
	return f->btf;
}

/* A name that was looked for, and the type that has it; 0: none. */
struct known_name {
	char name[96];
	__u32 id;
	UT_hash_handle hh;
};

static void name_add(struct feature *f, const char *name)
{
	struct known_name *k;

	HASH_FIND_STR(f->known, name, k);
	if (k || strlen(name) >= sizeof(k->name))
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	strcpy(k->name, name);
	HASH_ADD_STR(f->known, name, k);
}

void feature_look_for(struct feature *f, const char *const names[], int n)
{
	const struct btf *btf = types(f);
	const struct btf_type *t;
	struct known_name *k;

	for (int i = 0; i < n; i++)
		name_add(f, names[i]);
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		if (!btf_is_func(t) && !btf_is_typedef(t) && !btf_is_var(t))
			continue;
		HASH_FIND_STR(f->known, btf__name_by_offset(btf, t->name_off), k);
		if (k)
			k->id = id;
	}
}

unsigned int feature_type(struct feature *f, const char *name)
{
	struct known_name *k;

	HASH_FIND_STR(f->known, name, k);
	if (k)
		return k->id;
	feature_look_for(f, &name, 1);
	HASH_FIND_STR(f->known, name, k);
	return k ? k->id : 0;
}

/* The types of a module, by name. */
struct module_types {
	char name[64];
	int fd;
	struct btf *btf;
	UT_hash_handle hh;
};

/* Descriptor of the types that are called @name, and their id; -ENOENT if there are none. */
static int module_types_open(const char *name, __u32 *ret_id)
{
	struct bpf_btf_info info;
	__u32 id = 0, len;
	char text[64];
	int fd;

	while (!bpf_btf_get_next_id(id, &id)) {
		fd = bpf_btf_get_fd_by_id(id);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		info.name = (uintptr_t)text;
		info.name_len = sizeof(text);
		len = sizeof(info);
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf &&
		    !strcmp(text, name)) {
			*ret_id = id;
			return fd;
		}
		close(fd);
	}
	return -ENOENT;
}

static struct module_types *module_types(struct feature *f, const char *name)
{
	struct module_types *m;
	__u32 id;
	int fd;

	HASH_FIND_STR(f->modules, name, m);
	if (m || strlen(name) >= sizeof(m->name))
		return m;
	fd = module_types_open(name, &id);
	m = fd < 0 ? NULL : calloc(1, sizeof(*m));
	if (!m) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	strcpy(m->name, name);
	m->fd = fd;
	m->btf = btf__load_from_kernel_by_id_split(id, (struct btf *)types(f));
	HASH_ADD_STR(f->modules, name, m);
	return m;
}

int feature_function(struct feature *f, const char *function, const char *module,
		     unsigned int *ret_id, int *ret_btf_fd)
{
	struct module_types *m = NULL;
	int id;

	if (*module) {
		m = module_types(f, module);
		id = m && m->btf ? btf__find_by_name_kind(m->btf, function, BTF_KIND_FUNC) : -1;
	} else {
		id = feature_type(f, function);
	}
	if (id <= 0)
		return -ENOENT;
	*ret_id = id;
	*ret_btf_fd = m ? m->fd : 0;
	return 0;
}

/* The prototype behind typedef btf_trace_<name>, whose first argument is the tracepoint's data. */
static const struct btf_type *tracepoint_proto(struct feature *f, const char *name)
{
	char type_name[96];
	const struct btf_type *t;
	__u32 id;

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	id = feature_type(f, type_name);
	if (!id)
		return NULL;
	t = btf__type_by_id(types(f), btf__type_by_id(types(f), id)->type);
	if (!t || !btf_is_ptr(t))
		return NULL;
	t = btf__type_by_id(types(f), t->type);
	return t && btf_is_func_proto(t) ? t : NULL;
}

bool feature_has_tracepoint(struct feature *f, const char *name)
{
	return tracepoint_proto(f, name);
}

bool feature_has_function(struct feature *f, const char *name)
{
	return feature_type(f, name);
}

int feature_tracepoint_args(struct feature *f, const char *name)
{
	const struct btf_type *proto = tracepoint_proto(f, name);

	return proto ? btf_vlen(proto) - 1 : -1;
}

static bool is_pointer_to(const struct btf *btf, unsigned int id, const char *type)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, t->type);
	while (t && btf_is_mod(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_struct(t) && !strcmp(btf__name_by_offset(btf, t->name_off), type);
}

int feature_tracepoint_arg(struct feature *f, const char *name, const char *type)
{
	const struct btf_type *proto = tracepoint_proto(f, name);

	for (int i = 1; proto && i < btf_vlen(proto); i++)
		if (is_pointer_to(types(f), btf_params(proto)[i].type, type))
			return i - 1;
	return -1;
}

/* The typedef's prototype has no names; the function that calls the probes has them. */
int feature_tracepoint_arg_named(struct feature *f, const char *name, const char *arg)
{
	char func[96];
	const struct btf_type *proto;
	__u32 id;

	snprintf(func, sizeof(func), "__traceiter_%s", name);
	id = feature_type(f, func);
	if (!id)
		return -1;
	proto = btf__type_by_id(types(f), btf__type_by_id(types(f), id)->type);
	for (int i = 1; proto && i < btf_vlen(proto); i++)
		if (!strcmp(btf__name_by_offset(types(f), btf_params(proto)[i].name_off), arg))
			return i - 1;
	return -1;
}

int feature_enumerator(struct feature *f, const char *name, int otherwise)
{
	for (__u32 id = 1; id < btf__type_cnt(types(f)); id++) {
		const struct btf_type *t = btf__type_by_id(types(f), id);

		if (!btf_is_enum(t))
			continue;
		for (int i = 0; i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(types(f), btf_enum(t)[i].name_off), name))
				return btf_enum(t)[i].val;
	}
	return otherwise;
}

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

/*
 * Whether the kernel preempts itself: a program that is preempted is busy on that CPU, and misses
 * what other threads do there. The guard's type came with tracepoints under SRCU, to kernels that
 * have only the models full and lazy. Where debugfs cannot be read, the model of a kernel with
 * PREEMPT_DYNAMIC is not known, and taken for distributions' default.
 */
static void probe_preemption(struct feature *f)
{
	const char *const model = "/sys/kernel/debug/sched/preempt";
	struct utsname uts;
	char text[64] = "";
	FILE *file = fopen(model, "re");

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	uname(&uts);
	f->preemptible_tracepoints = feature_type(f, "class_srcu_fast_notrace_t");
	f->preempt_disable = feature_has_function(f, "bpf_preempt_disable");
	f->preemptible = f->preemptible_tracepoints || !access("/sys/kernel/realtime", F_OK) ||
			 strstr(uts.version, " PREEMPT ") || strstr(text, "(full)") ||
			 strstr(text, "(lazy)");
	f->perf_calls = !access("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", R_OK) ||
			!access("/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id", R_OK);
}

/* Whether BPF is allowed at all; tells lack of permission from lack of BPF. */
static int probe_permission(struct reason *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "probe", 4, 4, 1, &opts);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM || fd == -EACCES) {
		reason_set(why, EXIT_PERMISSION, "cannot use BPF: %s", strerror(-fd));
		return reason_hint(why, PRIVILEGE_HINT);
	}
	reason_set(why, EXIT_KERNEL, "cannot use BPF: %s", strerror(-fd));
	return reason_hint(why, "'iostrata doctor' tells what this kernel can");
}

static int probe_btf(struct feature *f, struct reason *why)
{
	int err;

	f->btf = btf__load_vmlinux_btf();
	if (f->btf)
		return 0;
	err = errno;
	if (access("/sys/kernel/btf/vmlinux", F_OK) == 0)
		return reason_set(why, EXIT_FAILED, "cannot read '/sys/kernel/btf/vmlinux': %s",
				  strerror(err));
	reason_set(why, EXIT_KERNEL, "this kernel does not describe its types (no BTF)");
	return reason_hint(why, "use a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions'"
				" kernels have been since 2020");
}

/* What feature_probe() and its callers will ask for. */
static const char *const looked_for[] = {
	"vfs_read", "bpf_rdonly_cast", "bpf_iter_task_file", "btf_module_notify", "__preempt_count",
	"pcpu_hot", "class_srcu_fast_notrace_t", "bpf_preempt_disable",
	"__traceiter_balance_dirty_pages",
};

int feature_probe(struct feature *f, struct reason *why)
{
	memset(f, 0, sizeof(*f));
	if (probe_permission(why) || probe_btf(f, why))
		return -1;
	feature_look_for(f, looked_for, sizeof(looked_for) / sizeof(*looked_for));
	f->rdonly_cast = feature_has_function(f, "bpf_rdonly_cast");
	f->task_iter = feature_has_function(f, "bpf_iter_task_file");
	f->interrupt_level = probe_variable(f, "__preempt_count") ||
			     probe_variable(f, "pcpu_hot");
	f->module_btf = feature_has_function(f, "btf_module_notify");
	probe_fentry(f);
	probe_kprobe(f);
	probe_preemption(f);
	f->func = !f->no_fentry[0] ? FUNC_FENTRY : !f->no_kprobe[0] ? FUNC_KPROBE : FUNC_NONE;
	return 0;
}

void feature_forget_types(struct feature *f)
{
	struct module_types *m, *next;

	HASH_ITER(hh, f->modules, m, next) {
		HASH_DEL(f->modules, m);
		btf__free(m->btf);
		close(m->fd);
		free(m);
	}
	btf__free(f->btf);
	f->btf = NULL;
}

void feature_done(struct feature *f)
{
	struct known_name *k, *next;

	feature_forget_types(f);
	HASH_ITER(hh, f->known, k, next) {
		HASH_DEL(f->known, k);
		free(k);
	}
}
