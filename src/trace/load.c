// SPDX-License-Identifier: GPL-2.0-only
#include "trace/load.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zstd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/async.h"
#include "base/reason.h"
#include "host/privilege.h"
#include "host/rlimits.h"
#include "trace/core_types.h"
#include "trace/feature.h"
#include "trace/feature_types.h"
#include "trace/maps.h"
#include "trace/plan.h"
#include "trace/session.h"
#include "trace/syscalls.h"

#include "trace.skel.h"
#include "trace_functions.skel.h"

/* Embeds a packed object file, between the symbols name_begin and name_end. */
#define PACKED(name)                                                                               \
	__asm__(".section .rodata\n" #name "_begin: .incbin \"" OBJECTS_DIR #name                  \
		".bpf.o.zst\"\n" #name "_end:\n.previous\n");                                      \
	extern const char name##_begin[], name##_end[]

PACKED(trace);
PACKED(trace_functions);
PACKED(func);

static const struct {
	const char *begin, *end;
} packed[] = {
	[OBJECT_TRACE] = { trace_begin, trace_end },
	[OBJECT_TRACE_FUNCTIONS] = { trace_functions_begin, trace_functions_end },
	[OBJECT_FUNC] = { func_begin, func_end },
};

int objects_open(struct bpf_object_skeleton *s, enum object_file which, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	const char *from = packed[which].begin;
	size_t len = packed[which].end - from, plain = ZSTD_getFrameContentSize(from, len);
	void *file = malloc(plain);
	int err = -ENOMEM;

	if (file && ZSTD_decompress(file, plain, from, len) == plain) {
		s->data = file;
		s->data_sz = plain;
		err = bpf_object__open_skeleton(s, &opts);
		s->data = NULL;
	}
	free(file);
	return err;
}

/* How a program is loaded, in addition to its instructions. This is not struct bpf_prog_load_opts,
 * whose size may differ between the installed library and its header. */
struct types {
	enum bpf_attach_type attach;
	unsigned int hook;
	int btf_fd; /* owned by the object, as are the members below */
	const void *funcs;
	unsigned int func_size, funcs_n;
};

/* A load in progress. libbpf calls before_load() for each program, with this as the cookie. Only
 * one thread loads. */
static struct loading {
	struct trace_bpf *obj;
	struct feature *feat;
	const struct program *prog;       /* the program being loaded */
	int core_fd;                      /* file with the types for relocations; -1: none */
	struct types types[MAX_PROGRAMS]; /* by row of programs[], for load_copy() */
} loading;

/* Type id of a hook of a file system. If the file system is a module, sets the module's
 * descriptor. */
static unsigned int module_hook_type(const struct program *prog, struct feature *f,
				     struct bpf_prog_load_opts *opts)
{
	unsigned int id;
	char name[96];
	int fd;

	snprintf(name, sizeof(name), "%s%s", prog->hook == HOOK_TP_BTF ? "btf_trace_" : "",
		 prog->target);
	if (feature_hook(f, name, prog->module, &id, &fd))
		return 0;
	if (fd)
		opts->attach_btf_obj_fd = fd;
	return id;
}

/* Type id of a hook, or 0 if it has none. If not told, libbpf would search all types for each
 * program. */
static unsigned int hook_type(const struct program *prog, struct feature *f)
{
	char name[96];

	switch (prog->hook) {
	case HOOK_TP_BTF:
		snprintf(name, sizeof(name), "btf_trace_%s", prog->target);
		return feature_type(f, name);
	case HOOK_ITER:
		snprintf(name, sizeof(name), "bpf_iter_%s", prog->target);
		return feature_type(f, name);
	case HOOK_FENTRY:
	case HOOK_FEXIT:
		return feature_type(f, prog->target);
	default:
		return 0;
	}
}

/* The type of a program. libbpf learns it only when it loads the program: for a TRACING program it
 * would read all of the kernel's types beforehand. */
static enum bpf_prog_type type_of(const struct program *prog)
{
	switch (prog->hook) {
	case HOOK_TP:
		return BPF_PROG_TYPE_TRACEPOINT;
	case HOOK_FAULTS:
		return BPF_PROG_TYPE_PERF_EVENT;
	case HOOK_KPROBE:
	case HOOK_KRETPROBE:
		return BPF_PROG_TYPE_KPROBE;
	default:
		return BPF_PROG_TYPE_TRACING;
	}
}

/* Fills in the blank of op_may_end(). */
static void ends_fill(struct bpf_program *prog, bool may_end)
{
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++)
		if (insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_K) && insns[i].imm == BLANK_ENDS)
			insns[i].imm = may_end;
}

void load_settings_fill(struct bpf_insn *insns, size_t n, const struct bpf_conf *conf)
{
	unsigned long long value;
	bool is_long;

	for (size_t i = 0; i < n; i++) {
		is_long = insns[i].code == (BPF_LD | BPF_DW | BPF_IMM);
		if (!BLANK_IS_CONF(insns[i].imm) || insns[i].src_reg ||
		    (!is_long && insns[i].code != (BPF_ALU | BPF_MOV | BPF_K)))
			continue;
		value = 0;
		memcpy(&value, (const char *)conf + BLANK_CONF_OFFSET(insns[i].imm),
		       BLANK_CONF_SIZE(insns[i].imm));
		insns[i].imm = value;
		if (is_long)
			insns[++i].imm = value >> 32;
	}
}

/* Whether this run loads a program with which @prog may go on. */
static bool goes_on(const struct loading *l, const struct program *prog)
{
	for (const struct program *p = programs; p < programs + programs_n; p++)
		if (p->called && p->hook == prog->hook && !strcmp(p->target, prog->target) &&
		    bpf_program__autoload(program_of(l->obj, p)))
			return true;
	return false;
}

/* Takes the tail calls out of @prog, none of which would find a program. The kernel gets each run
 * of a program ready for its tail calls, even if the verifier has removed them as dead code. */
static void tail_calls_remove(struct bpf_program *prog)
{
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm == BPF_FUNC_tail_call)
			insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
}

/* Notes which program libbpf is about to load; sets its type and the type id of its hook. */
static int before_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	struct loading *l = (struct loading *)cookie;

	l->prog = program_row(l->obj, prog);
	if (!l->prog)
		return -ENOENT;
	opts->attach_btf_id = l->prog->module ? module_hook_type(l->prog, l->feat, opts)
					      : hook_type(l->prog, l->feat);
	bpf_program__set_type(prog, type_of(l->prog));
	blanks_fill(prog, l->feat);
	load_settings_fill((struct bpf_insn *)bpf_program__insns(prog), bpf_program__insn_cnt(prog),
			   (const struct bpf_conf *)&l->obj->rodata->conf);
	ends_fill(prog, !program_bounds_layer(l->prog) || l->obj->rodata->conf.layer != LAYER_OPS);
	if (!goes_on(l, l->prog))
		tail_calls_remove(prog);
	if (!feature_logs())
		opts->line_info_cnt =
			0; /* the verifier checks each line, but only its log needs lines */
	l->types[l->prog - programs] = (struct types){
		.attach = opts->expected_attach_type,
		.hook = opts->attach_btf_id,
		.btf_fd = opts->prog_btf_fd,
		.funcs = opts->func_info,
		.func_size = opts->func_info_rec_size,
		.funcs_n = opts->func_info_cnt,
	};
	return 0;
}

int load_copy(const struct bpf_program *prog, const struct program *row)
{
	const struct types *t = &loading.types[row - programs];
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = t->attach,
		    .attach_btf_id = t->hook, .prog_btf_fd = t->btf_fd, .func_info = t->funcs,
		    .func_info_rec_size = t->func_size, .func_info_cnt = t->funcs_n);

	return bpf_prog_load(bpf_program__type(prog), bpf_program__name(prog), "GPL",
			     bpf_program__insns(prog), bpf_program__insn_cnt(prog), &opts);
}

/* Registers the handlers once for the process: libbpf keeps pointers to them in programs. */
static int handlers_register(void)
{
	static const struct {
		const char *section;
		enum bpf_attach_type attach;
	} sections[] = {
		{ "tp_btf+", BPF_TRACE_RAW_TP },
		{ "tp+", 0 },
		{ "iter+", BPF_TRACE_ITER },
		{ "fentry+", BPF_TRACE_FENTRY },
		{ "fexit+", BPF_TRACE_FEXIT },
		{ "kprobe+", 0 },
		{ "kretprobe+", 0 },
		{ "perf_event", 0 },
	};
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)&loading,
		    .prog_prepare_load_fn = before_load);
	static bool registered;
	int id;

	for (size_t i = 0; !registered && i < sizeof(sections) / sizeof(*sections); i++) {
		id = libbpf_register_prog_handler(sections[i].section, BPF_PROG_TYPE_RAW_TRACEPOINT,
						  sections[i].attach, &opts);
		if (id < 0)
			return id;
	}
	registered = true;
	return 0;
}

/* The number at the start of @text. Returns 0 if there is no number, or no patch level. */
static unsigned long patch_level(const char *text)
{
	unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, NULL, 10) : 0;

	return n < 1000 ? n : 0;
}

bool load_has_fix(const struct utsname *uts)
{
	static const char debian[] = "Debian 6.1.";
	const char *at = strstr(uts->version, debian);
	unsigned long patch;

	if (strncmp(uts->release, "6.1.", 4))
		return false;
	patch = patch_level(uts->release + 4);
	if (!patch && at)
		patch = patch_level(at + strlen(debian));
	return patch >= 36;
}

bool load_bears_functions(struct feature *f)
{
	struct utsname uts;

	uname(&uts);
	return feature_type(f, "btf_trace_block_io_done") || load_has_fix(&uts);
}

#define SAME_PLACE(section, member)                                                                \
	_Static_assert(offsetof(struct trace_bpf__##section, member) ==                            \
			       offsetof(struct trace_functions_bpf__##section, member),            \
		       #member)

SAME_PLACE(rodata, conf);
SAME_PLACE(rodata, lists);
SAME_PLACE(rodata, calls);
SAME_PLACE(rodata, call_offsets);
SAME_PLACE(rodata, uring_kinds);
SAME_PLACE(rodata, rq_ops);
SAME_PLACE(bss, live);
SAME_PLACE(bss, lanes);

/* Both objects have the same maps and programs, so one skeleton serves for both. */
struct trace_bpf *load_open(bool functions, const char *types)
{
	struct trace_bpf *obj = calloc(1, sizeof(*obj));
	int err = obj ? trace_bpf__create_skeleton(obj) : -ENOMEM;

	if (!err)
		err = objects_open(obj->skeleton, functions ? OBJECT_TRACE_FUNCTIONS : OBJECT_TRACE,
				   types);
	if (!err)
		return obj;
	trace_bpf__destroy(obj);
	errno = -err;
	return NULL;
}

/* Path of a file with the types, or NULL if libbpf reads the kernel's. */
static const char *core_file_open(void)
{
	static char path[32];
	struct rlimit size;

	loading.core_fd = -1;
	if (getrlimit(RLIMIT_FSIZE, &size) || size.rlim_cur != RLIM_INFINITY)
		return NULL; /* the limit applies to files in memory, too */
	loading.core_fd = memfd_create("types", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", loading.core_fd);
	return access(path, R_OK) ? NULL : path;
}

static int core_file_write(struct feature *f, const struct bpf_object *obj)
{
	const struct btf *kernel = feature_types(f);
	size_t len;
	void *made = kernel ? core_types_make(kernel, bpf_object__btf(obj), &len) : NULL;
	bool written = made && write(loading.core_fd, made, len) == (ssize_t)len;

	free(made);
	return written ? 0 : -ENOMEM;
}

static void core_file_close(void)
{
	if (loading.core_fd >= 0)
		close(loading.core_fd);
	loading.core_fd = -1;
}

/* Creates the map of the programs' variables, 3.8 MB, all 0. libbpf would fill the new map by way
 * of two copies, one here and one in the kernel. Returns 0 or -errno. */
static int variables_create(struct trace_bpf *obj)
{
	struct bpf_map *bss = obj->maps.bss;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, bpf_map__name(bss), sizeof(unsigned int),
				bpf_map__value_size(bss), 1, &opts);
	int err = fd < 0 ? -errno : bpf_map__reuse_fd(bss, fd);

	if (fd >= 0)
		close(fd);
	return err;
}

/* Maps these variables at obj->bss: libbpf since 1.5 maps only what it has created. */
static int variables_map(struct trace_bpf *obj)
{
	return mmap(obj->bss, sizeof(*obj->bss), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    bpf_map__fd(obj->maps.bss), 0) == MAP_FAILED
		       ? -errno
		       : 0;
}

/* A zone append writes data. Its number differs between kernels; before 5.8 there is none. */
static void zone_append_set(struct trace_bpf__rodata *data, struct feature *f)
{
	int op = feature_enumerator(f, "REQ_OP_ZONE_APPEND", -1);

	if (op > 0 && op < (int)sizeof(data->rq_ops))
		data->rq_ops[op] = RQ_WRITE;
}

/* Opens and configures the object. No program is in the kernel yet, and none is set to load. */
static struct trace_bpf *object_open(const struct session_conf *sc, const struct bpf_conf *conf,
				     struct feature *f)
{
	struct bpf_program *prog;
	const char *types;
	int err;

	err = handlers_register();
	if (err) {
		errno = -err;
		return NULL;
	}
	loading = (struct loading){ .feat = f };
	types = core_file_open();
	loading.obj = load_open(load_bears_functions(f), types);
	if (loading.obj && types && core_file_write(f, loading.obj->obj)) {
		trace_bpf__destroy(loading.obj);
		loading.obj = NULL;
		errno = ENOMEM;
	}
	if (!loading.obj) {
		err = errno;
		core_file_close();
		errno = err;
		return NULL;
	}
	memcpy((void *)&loading.obj->rodata->conf, conf, sizeof(*conf));
	loading.obj->rodata->lists = sc->lists;
	syscalls_fill(loading.obj->rodata->calls, loading.obj->rodata->call_offsets,
		      sc->kinds & ~(conf->aio ? 1U << OP_AIO : 0) &
			      ~(conf->sent_ops ? 0 : 1U << OP_HANDLE),
		      &sc->only, f->func != FUNC_NONE);
	syscalls_fill_returns(loading.obj->rodata->calls, loading.obj->rodata->call_offsets);
	async_uring_kinds(loading.obj->rodata->uring_kinds);
	zone_append_set(loading.obj->rodata, f);
	maps_configure(loading.obj->obj, sc, conf, f);
	bpf_object__for_each_program (prog, loading.obj->obj)
		bpf_program__set_autoload(prog, false);
	return loading.obj;
}

/* Gives back the first values of the variables that only programs see: the kernel has its copy. */
static void first_values_forget(const struct trace_bpf *obj)
{
	size_t len;
	void *values = (void *)bpf_map__initial_value(obj->maps.data_more, &len);

	if (values)
		madvise(values, len, MADV_REMOVE);
}

static int object_load(struct trace_bpf *obj)
{
	int err = variables_create(obj);

	if (!err)
		err = trace_bpf__load(obj);
	core_file_close();
	if (!err)
		first_values_forget(obj);
	return err ? err : variables_map(obj);
}

bool load_is_limit(int err)
{
	/* libbpf returns EBADF if it could not duplicate a descriptor */
	return err == EMFILE || err == EBADF || err == ENFILE || err == ENOMEM;
}

int load_limit_reached(struct reason *why, const char *what, int err)
{
	const char *hint = rlimits_hint(err);

	reason_set(why, EXIT_FAILED, "cannot %s BPF programs: %s", what, strerror(err));
	return hint ? reason_hint(why, "%s", hint) : -1;
}

static int load_failed(struct reason *why, int err)
{
	if (err == -ESRCH) /* libbpf could not read the types; feature_probe() could */
		err = -ENOMEM;
	/* libbpf returns EINVAL if it could not even try which features the kernel has */
	if (err == -EINVAL && rlimits_few_files())
		err = -EMFILE;
	if (load_is_limit(-err))
		return load_limit_reached(why, "load", -err);
	if (err == -EPERM || err == -EACCES) {
		reason_set(why, EXIT_PERMISSION, "cannot load BPF programs: %s", strerror(-err));
		return privilege_refused(why);
	}
	reason_set(why, EXIT_KERNEL, "cannot load BPF programs: %s", strerror(-err));
	return reason_hint(why,
			   "'iostrata doctor --probes' shows which programs load on this kernel");
}

int load(struct plan *plan, const struct session_conf *sc, const struct bpf_conf *conf,
	 struct feature *f, struct trace_bpf **ret_obj, struct reason *why)
{
	struct trace_bpf *obj;
	int err;

	do {
		obj = object_open(sc, conf, f);
		if (!obj)
			return load_failed(why, -errno);
		for (size_t i = 0; i < programs_n; i++)
			bpf_program__set_autoload(program_of(obj, &programs[i]),
						  plan_wants(plan, &programs[i]));
		err = object_load(obj);
		if (!err) {
			if (conf->aio && f->map_alloc)
				maps_fill_reserves(obj->obj);
			*ret_obj = obj;
			return 0;
		}
		trace_bpf__destroy(obj);
	} while (!load_is_limit(-err) && plan_refuse(plan, loading.prog));
	return load_failed(why, err);
}

int load_try(const bool *wanted, const struct session_conf *sc, const struct bpf_conf *conf,
	     struct feature *f, const struct program **ret_refused)
{
	struct trace_bpf *obj = object_open(sc, conf, f);
	int err;

	*ret_refused = NULL;
	if (!obj)
		return -errno;
	for (size_t i = 0; i < programs_n; i++)
		bpf_program__set_autoload(program_of(obj, &programs[i]), wanted[i]);
	err = object_load(obj);
	if (err && !load_is_limit(-err))
		*ret_refused = loading.prog;
	trace_bpf__destroy(obj);
	return err;
}
