// SPDX-License-Identifier: GPL-2.0-only
/*
 * func_find_kernel.c - reads the kernel's functions from /proc/kallsyms.
 *
 * A BPF program at the entry of a function would recurse if it calls the function itself, and only
 * some kernels prevent this. So functions called by our programs and by the probes are never
 * traced, even if asked for.
 */
#include "funcs/func_find_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "base/reason.h"
#include "funcs/func_rows.h"

/* NAME_LEN is KSYM_NAME_LEN since 6.1; LINE_LEN is for a line with such a name, NAME for its
 * scanf(). */
enum { MAX_NEAREST = 3, NAME_LEN = 512, LINE_LEN = NAME_LEN + 128 };
#define NAME "%511s"

/* Functions run by our programs or by the probes. */
static const char *const ours[] = {
	/* BPF itself, its maps and the BPF helpers */
	"bpf_*",
	"__bpf_*",
	"___bpf_*",
	"*_map_lookup_elem*",
	"*_map_update_elem*",
	"htab_*",
	"__htab_*",
	"array_map_*",
	"*pcpu_freelist_*",
	"percpu_array_*",
	"trace_call_bpf*",
	"btf_*",
	"ktime_get*",
	"timekeeping_*",
	"get_current_*",
	"cgroup_id*",
	"this_cpu_*",
	"*bpf_link*",
	"bstr_*",
	"copy_from_kernel_nofault*",
	"*probe_read*",
	"task_active_pid_ns",
	"ns_match",
	"pid_nr_ns",
	"__task_pid_nr_ns",
	"read_tsc",
	"kvm_clock_*",
	"pvclock_*",
	"sched_clock*",
	"native_sched_clock*",
	"_raw_*",
	"__raw_*",
	"queued_spin_*",
	"native_queued_*",
	"lock_acquire*",
	"lock_release*",
	"lock_is_held*",
	"__pv_*",
	"jhash*",
	"memcpy*",
	"memset*",
	"__memcpy*",
	"__memset*",
	"memcmp",
	"strncpy*",
	"strscpy*",
	"__get_task_comm",
	/* code that runs programs */
	"kprobe*",
	"kretprobe*",
	"__kretprobe*",
	"opt_pre_handler*",
	"optimized_callback*",
	"arch_rethook*",
	"rethook_*",
	"fprobe_*",
	"__fprobe_*",
	"ftrace_*",
	"__ftrace_*",
	"function_graph_*",
	"arch_ftrace_*",
	"prepare_ftrace_*",
	"perf_*",
	"__perf_*",
	"trace_*",
	"__trace_*",
	"tracing_*",
	"ring_buffer_*",
	"aggr_*",
	"get_kprobe*",
	"uprobe*",
	"uretprobe*",
	"handler_chain*",
	"return_to_handler*",
	"prepare_uretprobe*",
	/* entry, interrupts, and the counters of RCU and preemption */
	"rcu_*",
	"__rcu_*",
	"srcu_*",
	"__srcu_*",
	"ct_*",
	"context_tracking_*",
	"preempt_*",
	"migrate_enable*",
	"migrate_disable*",
	"irqentry_*",
	"*_entry_from_*",
	"*_exit_to_*",
	"exc_*",
	"asm_*",
	"do_int3*",
	"do_error_trap*",
	"fixup_*",
	"search_*extable*",
	"search_exception_*",
	"nmi_*",
	"do_nmi*",
	"default_do_nmi*",
	"poke_int3_*",
	"text_poke*",
	"smp_text_poke*",
	"notify_die*",
	"atomic_notifier_*",
	"notifier_call_*",
	"lockdep_*",
	"in_*_section",
	"core_kernel_text",
	"kernel_text_address*",
	"__kernel_text_address*",
	"is_*_kprobe*",
	"__x86_*",
	"__sanitizer_*",
	"__kcsan_*",
	"__asan_*",
	"stack_trace_*",
	"unwind_*",
	"mcount*",
	"__fentry__",
	"this_cpu_in_panic",
	"panic*",
	"debug_smp_processor_id",
	"check_preemption_disabled",
	/* entry, interrupts and time on */
	"arch_counter_*",
	"arch_timer_read_*",
	"__pi_*",
	"el0_*",
	"el0t_*",
	"el1_*",
	"el1h_*",
	"el1t_*",
	"do_el0_*",
	"do_el1_*",
	"enter_from_*",
	"exit_to_*",
	"arm64_enter_*",
	"arm64_exit_*",
	"do_mem_abort",
	"do_sp_pc_abort",
	"do_debug_exception*",
	"debug_exception_*",
	"brk_handler*",
	"single_step_handler*",
	"call_break_hook*",
	"call_step_hook*",
	"aarch64_insn_*",
	"__aarch64_insn_*",
	"simulate_*",
	"caches_clean_inval_*",
	"*return_address",
};

/* Parts of functions, and symbols of no function. */
static const char *const no_functions[] = { "*.cold",   "*.cold.*",      "__pfx_*",
					    "__cfi_*",  "__SCT__*",      "__traceiter_*",
					    "__SCK__*", "__bpf_trace_*", "__ksymtab_*",
					    "*.llvm.*", "__crc_*" };

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static bool is_one_of(const char *name, const char *const list[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (glob_matches(list[i], name))
			return true;
	return false;
}

struct symbol {
	unsigned long long addr;
	char type;
	char name[NAME_LEN], module[64];
};

/* Address range of functions used at boot and then freed. */
struct init_text {
	unsigned long long from, to;
};

static bool is_code(const struct symbol *s)
{
	return strchr("tTwW", s->type) && strcmp(s->module, "bpf") &&
	       strncmp(s->module, "__builtin__", 11) != 0;
}

static bool is_function(const struct symbol *s)
{
	return is_code(s) && !is_one_of(s->name, no_functions, COUNT(no_functions));
}

static bool symbol_read(FILE *f, struct symbol *ret_s)
{
	char line[LINE_LEN];

	while (fgets(line, sizeof(line), f)) {
		ret_s->module[0] = '\0';
		if (sscanf(line, "%llx %c " NAME " [%63[^]]", &ret_s->addr, &ret_s->type,
			   ret_s->name, ret_s->module) >= 3)
			return true;
	}
	return false;
}

static FILE *symbols_open(struct reason *why)
{
	FILE *f = fopen("/proc/kallsyms", "re");

	if (f)
		return f;
	if (errno == ENOENT) {
		reason_set(why, EXIT_KERNEL, "this kernel does not list its functions");
		reason_hint(why, "use a kernel built with CONFIG_KALLSYMS");
	} else {
		reason_set(why, EXIT_FAILED, "cannot read '/proc/kallsyms': %s", strerror(errno));
	}
	return NULL;
}

static void init_note(struct init_text *init, const struct symbol *s)
{
	if (!strcmp(s->name, "_sinittext"))
		init->from = s->addr;
	else if (!strcmp(s->name, "_einittext"))
		init->to = s->addr;
}

static int symbols_add(struct func_list *l, FILE *f, struct pattern *const patterns[], size_t n,
		       struct init_text *init)
{
	const char *where;
	struct symbol s;

	while (symbol_read(f, &s)) {
		init_note(init, &s);
		/* in this order: telling functions from parts of functions takes longest */
		if (!is_code(&s) || !patterns_mean(patterns, n, s.module, s.name) ||
		    !is_function(&s))
			continue;
		where = func_list_place(l, s.module, strlen(s.module));
		if (!where || func_list_add(l, s.name, where, s.addr))
			return -ENOMEM;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct func *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Pointers to the functions, sorted by name; the caller frees the array. Returns NULL if out of
 * memory. */
static struct func **sorted(struct func_list *l)
{
	struct func **by = calloc(l->n ? l->n : 1, sizeof(*by));

	for (size_t i = 0; by && i < l->n; i++)
		by[i] = &l->at[i];
	if (by)
		qsort(by, l->n, sizeof(*by), by_name);
	return by;
}

static struct func **find(struct func **by, size_t n, const char *name)
{
	struct func key = { .name = (char *)name }, *p = &key;

	return bsearch(&p, by, n, sizeof(*by), by_name);
}

/* Refuses functions blacklisted by the kernel for all probes. */
static void blacklist_refuse(struct func **by, size_t n)
{
	FILE *f = fopen("/sys/kernel/debug/kprobes/blacklist", "re");
	char line[LINE_LEN], name[NAME_LEN];
	struct func **found;

	while (f && fgets(line, sizeof(line), f)) {
		found = sscanf(line, "%*s " NAME, name) == 1 ? find(by, n, name) : NULL;
		if (found && !(*found)->refused)
			(*found)->refused = "blacklisted by the kernel";
	}
	if (f)
		fclose(f);
}

static FILE *traceable_open(void)
{
	FILE *f = fopen("/sys/kernel/tracing/available_filter_functions", "re");

	return f ? f : fopen("/sys/kernel/debug/tracing/available_filter_functions", "re");
}

/* Refuses functions unknown to ftrace. Functions of the same name are neighbours, as @by is sorted.
 */
static void untraceable_refuse(struct func **by, size_t n)
{
	FILE *f = traceable_open();
	char line[LINE_LEN], name[NAME_LEN], *seen = calloc(n + 1, 1);
	struct func **found;

	while (f && seen && fgets(line, sizeof(line), f)) {
		found = sscanf(line, NAME, name) == 1 ? find(by, n, name) : NULL;
		if (found)
			seen[found - by] = 1;
	}
	for (size_t i = 0; f && seen && i < n; i++) {
		if (i && seen[i - 1] && !by_name(&by[i - 1], &by[i]))
			seen[i] = 1;
		if (!seen[i] && !by[i]->refused)
			by[i]->refused = "notrace: compiled without room for a probe";
	}
	free(seen);
	if (f)
		fclose(f);
}

static void refuse(struct func_list *l, struct func **by, const struct init_text *init,
		   bool explain)
{
	for (size_t i = 0; i < l->n; i++) {
		struct func *f = &l->at[i];

		if (is_one_of(f->name, ours, COUNT(ours)))
			f->refused = "BPF programs or probes run it themselves";
		else if (f->addr && f->addr >= init->from && f->addr < init->to)
			f->refused = "used at boot only";
	}
	blacklist_refuse(by, l->n);
	if (explain)
		untraceable_refuse(by, l->n);
}

int func_kernel_list_from(struct func_list *l, FILE *symbols, struct pattern *const patterns[],
			  size_t n, bool explain)
{
	struct init_text init = {};
	int err = symbols_add(l, symbols, patterns, n, &init);
	struct func **by = err ? NULL : sorted(l);

	if (!by)
		return -ENOMEM;
	refuse(l, by, &init, explain);
	free(by);
	return 0;
}

int func_kernel_list(struct func_list *l, struct pattern *const patterns[], size_t n, bool explain,
		     struct reason *why)
{
	FILE *f = symbols_open(why);
	int err;

	if (!f)
		return -1;
	err = func_kernel_list_from(l, f, patterns, n, explain);
	fclose(f);
	return err ? reason_no_memory(why) : 0;
}

struct near {
	char name[NAME_LEN];
	unsigned int distance;
};

static void near_add(struct near near[MAX_NEAREST], const char *name, unsigned int distance)
{
	int i = MAX_NEAREST;

	for (int k = 0; k < MAX_NEAREST; k++)
		if (!strcmp(near[k].name, name))
			return;
	while (i > 0 && distance < near[i - 1].distance) {
		if (i < MAX_NEAREST)
			near[i] = near[i - 1];
		i--;
	}
	if (i == MAX_NEAREST)
		return;
	near[i].distance = distance;
	snprintf(near[i].name, sizeof(near[i].name), "%s", name);
}

static size_t literal_len(const char *glob)
{
	size_t n = 0;

	for (; *glob; glob++)
		n += !strchr("*?[]", *glob);
	return n;
}

/* Distance to the nearest pattern. A distance of more than a third of the literal characters of a
 * pattern is not near. */
static unsigned int distance_of(struct pattern *const patterns[], size_t n, const char *name)
{
	unsigned int least = PATTERN_FAR, d;

	for (size_t i = 0; i < n; i++) {
		if (pattern_excludes(patterns[i]))
			continue;
		d = pattern_distance(patterns[i], name);
		if (d < least && 3 * d <= literal_len(pattern_name(patterns[i])))
			least = d;
	}
	return least;
}

void func_kernel_nearest(struct pattern *const patterns[], size_t n, char *dst, size_t cap)
{
	struct near near[MAX_NEAREST];
	struct reason why;
	FILE *f = symbols_open(&why);
	struct symbol s;
	size_t len = 0;

	dst[0] = '\0';
	for (int i = 0; i < MAX_NEAREST; i++)
		near[i] = (struct near){ .distance = PATTERN_FAR };
	while (f && symbol_read(f, &s))
		if (is_function(&s))
			near_add(near, s.name, distance_of(patterns, n, s.name));
	if (f)
		fclose(f);
	for (int i = 0; i < MAX_NEAREST && near[i].distance < PATTERN_FAR; i++)
		if (len + strlen(near[i].name) + 3 <= cap)
			len += sprintf(dst + len, "%s%s", len ? ", " : "", near[i].name);
}
