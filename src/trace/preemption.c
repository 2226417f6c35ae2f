// SPDX-License-Identifier: GPL-2.0-only
#include "trace/preemption.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include <bpf/bpf.h>

#include "trace/feature.h"

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
			break; /* the rest is for init */
		if (len <= 8 || memcmp(text, "preempt=", 8))
			continue;
		got = model_named(text + 8, len - 8);
		if (got)
			model = got; /* the kernel ignores models it does not know */
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

/* The beginning of a file as text, "" if it cannot be read. */
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

/* The model in force, and the source that reports it. */
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

/* How deep preemption is disabled inside a program on sys_enter, which each of our own calls runs;
 * -1: not known. @variable, @offset: where the kernel keeps the count. */
static int count_inside(struct feature *f, const char *variable, int offset)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = feature_type(f, "btf_trace_sys_enter"));
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 4, 1, NULL), prog = -1, link = -1;
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_BTF_ID,
		  .imm = feature_type(f, variable) },
		{},
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_this_cpu_ptr },
		{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 1, .src_reg = 0, .off = offset },
		{ .code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 1, .imm = 0xff },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_VALUE,
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
	return offset >= 0 ? count_inside(f, "pcpu_hot", offset) :
			     count_inside(f, "__preempt_count", 0);
}

/* Tracepoints are guarded by SRCU since 7.0, and by disabled preemption before. */
static void probe_tracepoints(struct feature *f, const char *model)
{
	int count = count_in_tracepoint(f);
	const char *how;

	f->preemptible_tracepoints = count <= 0;
	how = count < 0 ? "whether in tracepoints, too, is not known" :
	      count	? "not inside tracepoints" :
			  "inside tracepoints, too";
	snprintf(f->preemption, sizeof(f->preemption), "%.100s; %s", model, how);
}

void preemption_probe(struct feature *f)
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
		snprintf(text, sizeof(text), "whether this kernel preempts programs is not known");
	else
		snprintf(text, sizeof(text), "this kernel preempts programs (%.60s)", source);
	probe_tracepoints(f, text);
}
